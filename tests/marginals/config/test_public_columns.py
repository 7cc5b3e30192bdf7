"""Columns of public data sets with the role and kind that a person would give them: most are guessed right.

Each is a stand-in, made from the quantiles, or the shares of the values, of a real column, whose package and data set it
names (those of pydataset by the set alone); names of people and dates are made up. What is right was written down before any
guess was made.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from first_configs import guessed
from marginals import Role

FEWEST_RIGHT = 36
"""Of the forty; some cannot be told without a codebook."""

FEWEST_HELD_OUT_RIGHT = 8
"""Of the nine."""


@dataclass(frozen=True)
class Public:
    """A column of a data set: its right role and kind, percent missing, rows, and what its values are like.

    shares: values, each with its share of the rows. numbers: with these quantiles (0, 5, 25, 50, 75, 95, 100 percent),
    rounded to some decimals, and maybe written as floats. keys: so many numbers of somebody, each in as many rows, or
    between two numbers of rows. days: from the first on, so many, spelled in a way. names: made-up ones of so many people.
    steps: so many numbers, so many rows each, the first and the distance.
    """

    source: str
    name: str
    role: str
    kind: str
    missing: str
    rows: str
    values: str

    def texts(self) -> list[str]:
        rng, rows = np.random.default_rng(0), int(self.rows)
        form, _, told = self.values.partition(" ")
        if form == "shares":
            share = {value: float(own) for value, _, own in (each.rpartition(" ") for each in told.split("; "))}
            whole = sum(share.values())
            return [value for value, own in share.items() for _ in range(max(1, round(own / whole * rows)))]
        if form == "numbers":
            quantiles, (decimals, *end) = told.partition("; ")[0].split(), told.partition("; ")[2].split()
            shares = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
            drawn = np.interp([0, 1, *rng.random(rows - 2)], shares, [float(own) for own in quantiles])
            return [f"{value:.{decimals}f}" + "".join(end) for value in drawn]
        if form == "keys":
            keys, least, most = map(int, told.split())
            each = rng.integers(least, most + 1, keys)
            return [str(key + 13) for key, times in enumerate(each.tolist()) for _ in range(times)]
        if form == "days":
            first, span, spelled = told.split(" ", 2)
            start = date.fromisoformat(first)
            return [spelled.format(start + timedelta(days=int(n))) for n in rng.integers(0, int(span), rows)]
        if form == "steps":
            number, times, low, step = map(float, told.split())
            return [f"{low + n * step:.3f}" for n in range(int(number)) for _ in range(int(times))]
        letters = list("aeioulmnrst")
        return ["".join(rng.choice(letters, 7)).title() + f" {chr(65 + n % 26)}." for n in range(int(told))]


FILE = Path(__file__).with_name("public_columns.txt")
COLUMNS, HELD_OUT = (
    [Public(*line.split(" | ")) for line in block.splitlines()]
    for block in FILE.read_text(encoding="utf-8").split("\n\n")
)
"""No guess was improved for those held out."""


@cache
def guess_of(public: Public) -> dict[str, Any]:
    texts = public.texts()
    gone = round(float(public.missing) / (100 - float(public.missing)) * len(texts))
    return guessed(public.name, [*texts, *[""] * gone])


def kind_of(found: dict[str, Any]) -> str:
    if not Role(found["role"]).is_used:
        return "none"
    if found["why"].startswith("dates"):
        return "dates"
    if "intervals" in found or "in bands" in found["why"]:
        return "numbers"
    return "codes" if "prefixes" in found else "categories"


def is_right(public: Public) -> bool:
    found = guess_of(public)
    return found["role"] == public.role and kind_of(found) in public.kind.split(" or ")


@pytest.mark.parametrize(
    ("columns", "number", "fewest"), [(COLUMNS, 40, FEWEST_RIGHT), (HELD_OUT, 9, FEWEST_HELD_OUT_RIGHT)]
)
def test_most_roles_and_kinds_are_guessed_right(columns: list[Public], number: int, fewest: int) -> None:
    wrong = [f"{public.source} {public.name}" for public in columns if not is_right(public)]
    assert len(columns) == number
    assert len(columns) - len(wrong) >= fewest, wrong


@pytest.mark.parametrize("public", COLUMNS, ids=lambda public: f"{public.source}-{public.name}")
def test_each_guess_has_a_reason_and_bands_that_a_person_would_choose(public: Public) -> None:
    found = guess_of(public)
    assert found["why"]
    if public.name == "age":
        assert found["ladder"] == "fitted"
        assert found.get("intervals", []) in ([], [1])
    assert (found.get("missing") == "as a value") == (Role(found["role"]).is_used and float(public.missing) > 5)
