"""Fitted ladders, as `init` writes them, beside hierarchies that a careful steward writes by hand, on five surveys.

    python experiments/ladders_by_hand.py [--folder FOLDER]

FOLDER holds HealthInsurance.csv (Medical Expenditure Panel Survey 1996), DoctorVisits.csv (Australian Health Survey 1977/78)
and NMES1988.csv (National Medical Expenditure Survey), as the package AER of R has them, and yrbss.csv (Youth Risk Behavior
Surveillance System) and acs12.csv (American Community Survey 2012), as the package openintro has them; those that are not
there are left out. Both configs have the roles that `init` guesses, but for the sensitive column of yrbss, and the same
policy. The hierarchies by hand know what is rare: ends are top-coded, and levels go up step by step; those of yrbss, acs12
and NMES1988 were drafted before anything was published, and then mended where levels did not nest. How `init` treats
decimals and long texts was changed after the first run on yrbss. What is printed are the figures of the steward's page,
smaller being better.
"""

import argparse
import csv
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import marginals
from marginals.config.first_config import initial_config

DATA = Path(os.environ.get("MARGINALS_DATA") or Path(__file__).parents[2] / "shared" / "data")

Level = Callable[[str], str]
"""What a value is called at a level."""


def bands(*cuts: float) -> Level:
    """Bands of numbers between cuts, the first and the last one open."""
    ends = [
        f"under {cuts[0]}",
        *(f"{low} to under {high}" for low, high in zip(cuts, cuts[1:])),
        f"{cuts[-1]} and over",
    ]
    return lambda value: ends[bisect_right(cuts, float(value))]


def top(most: int) -> Level:
    """Numbers as they are below one from which on all are put together."""
    return lambda value: value if float(value) < most else f"{most} and over"


def groups(*together: str) -> Level:
    """Values that are listed together, each list called after all of them."""
    name = {value: listed for listed in together for value in listed.split(" or ")}
    return name.__getitem__


BY_HAND: dict[str, dict[str, Sequence[Level]]] = {
    "HealthInsurance": {
        "age": [bands(20, 25, 30, 35, 40, 45, 50, 55, 60), bands(25, 35, 45, 55), bands(35, 55)],
        "family": [top(7), top(5), bands(2, 3, 5), bands(3)],
        "region": [groups("midwest or northeast", "south or west")],
        "ethnicity": [groups("cauc", "afam or other")],
        "education": [
            groups("none", "ged or highschool", "bachelor or master or phd", "other"),
            groups("none or ged or highschool or other", "bachelor or master or phd"),
        ],
    },
    "DoctorVisits": {
        "visits": [top(5), top(3), top(2), top(1)],
        "age": [bands(0.25, 0.35, 0.45, 0.55, 0.65), bands(0.35, 0.55), bands(0.55)],
        "reduced": [bands(1, 2, 3, 4, 5, 8, 14), bands(1, 4, 14), bands(1)],
    },
    "yrbss": {
        "age": [bands(14, 15, 16, 17, 18), bands(15, 17), bands(17)],
        "grade": [groups("9", "10", "11", "12 or other"), groups("9 or 10", "11 or 12 or other")],
        "race": [lambda value: "White" if value == "White" else "not White"],
        "height": [bands(*np.arange(1.45, 2.0, 0.05).round(2)), bands(*np.arange(1.5, 2.0, 0.1).round(1)), bands(1.7)],
        "weight": [bands(*range(40, 125, 5)), bands(*range(40, 120, 10)), bands(50, 70, 90), bands(70)],
        "helmet_12m": [
            groups("did not ride", "never", "rarely or sometimes", "most of time or always"),
            groups("did not ride", "never or rarely or sometimes or most of time or always"),
        ],
        "physically_active_7d": [bands(1, 3, 5, 7), bands(1, 5), bands(5)],
        "hours_tv_per_school_day": [
            groups("do not watch", "<1 or 1", "2 or 3", "4 or 5+"),
            groups("do not watch or <1 or 1", "2 or 3 or 4 or 5+"),
        ],
        "strength_training_7d": [bands(1, 3, 5, 7), bands(1, 5), bands(5)],
        "school_night_hours_sleep": [
            groups("<5 or 5", "6", "7", "8", "9 or 10+"),
            groups("<5 or 5 or 6", "7 or 8 or 9 or 10+"),
        ],
    },
    "acs12": {
        "employment": [groups("employed", "unemployed or not in labor force")],
        "hrs_work": [bands(10, 20, 30, 35, 40, 41, 50, 60), bands(20, 35, 41), bands(35)],
        "race": [groups("white", "black or asian or other")],
        "age": [bands(*range(5, 90, 5)), bands(*range(10, 90, 10)), bands(20, 40, 60), bands(40)],
        "time_to_work": [bands(5, 10, 15, 20, 25, 30, 45, 60), bands(15, 30, 60), bands(30)],
        "edu": [lambda value: "hs or lower" if value == "hs or lower" else "college or grad"],
        "birth_qrtr": [groups("jan thru mar or apr thru jun", "jul thru sep or oct thru dec")],
    },
    "NMES1988": {
        "visits": [bands(*range(1, 21), 25, 30, 40), bands(1, 2, 3, 5, 8, 12, 20, 30), bands(1, 5, 12), bands(5)],
        "nvisits": [bands(1, 2, 3, 5, 8, 12, 20), bands(1, 3, 12), bands(1)],
        "ovisits": [bands(1, 2, 3, 5, 8, 12), bands(1, 3), bands(1)],
        "novisits": [bands(1, 2, 3, 5, 8, 12), bands(1, 3), bands(1)],
        "emergency": [top(5), top(3), top(2), top(1)],
        "hospital": [top(5), top(3), top(2), top(1)],
        "chronic": [top(7), top(5), bands(1, 2, 3), bands(2)],
        "region": [groups("midwest or northeast", "west or other")],
        "age": [bands(*np.arange(6.7, 9.6, 0.1).round(1)), bands(7, 7.5, 8, 8.5, 9), bands(7.5, 8.5), bands(7.5)],
        "school": [bands(4, 7, 8, 9, 10, 11, 12, 13, 16), bands(8, 12, 13, 16), bands(8, 12), bands(12)],
    },
}

SENSITIVE = {"yrbss": "text_while_driving_30d"}
"""Where `init` guesses another column, the one that nobody shall learn about a person."""

MISSING = "missing"


def with_hierarchies(
    config: str, rows: Sequence[dict[str, str]], levels: dict[str, Sequence[Level]], folder: Path
) -> str:
    """The config with hierarchies by hand, which are written beside it, in place of fitted ladders."""
    for column, own in levels.items():
        values = sorted({r[column] for r in rows} - {""})
        lines = [";".join([value, *(level(value) for level in own), "*"]) for value in values]
        if any(not r[column] for r in rows):
            lines.append(";".join([MISSING] * (1 + len(own)) + ["*"]))
        (folder / f"{column}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        begin = config.index(f"[attributes.{column}]")
        end = config.find("\n[", begin)
        section = re.sub(r"(?m)^(ladder|intervals|dates|prefixes) *=.*\n?", "", config[begin:end]).rstrip()
        config = f'{config[:begin]}{section}\nhierarchy = "{column}.csv"\n{config[end:]}'
    return config


def with_sensitive(config: str, column: str) -> str:
    """The config with this column as the only sensitive one."""
    config = config.replace('role = "sensitive"', 'role = "quasi-identifier"')
    begin = config.index(f"[attributes.{column}]")
    return config[:begin] + config[begin:].replace('role = "quasi-identifier"', 'role = "sensitive"', 1)


def main() -> None:
    """Compare both on each table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=DATA / "AER", help="of the two tables (default: %(default)s)")
    folder = parser.parse_args().folder
    if lacking := [f"{name}.csv" for name in BY_HAND if not (folder / f"{name}.csv").is_file()]:
        print(
            f"not here: {', '.join(lacking)} in {folder}; name their folder by --folder, or that above it by MARGINALS_DATA"
        )
    for name, levels in BY_HAND.items():
        if f"{name}.csv" in lacking:
            continue
        content = (folder / f"{name}.csv").read_bytes()
        with TemporaryDirectory() as made:
            place = Path(made)
            (place / f"{name}.csv").write_bytes(content)
            rows = list(csv.DictReader(content.decode("utf-8").splitlines()))
            guessed = initial_config(place / f"{name}.csv", place / "fitted.toml").text
            fitted = with_sensitive(guessed, SENSITIVE[name]) if name in SENSITIVE else guessed
            configs = {"fitted, as init writes it": fitted, "by hand": with_hierarchies(fitted, rows, levels, place)}
            for what, text in configs.items():
                (place / "release.toml").write_text(text, encoding="utf-8")
                config = marginals.read_config(place / "release.toml")
                steward = marginals.publish(config.read_table(), config.policy).steward
                assert steward is not None
                print(f"\n{name}, {what}: KL divergence {steward.kl_divergence:.3f} nats")
                print(steward.comparison.summary().drop(columns="wanted").round(4).to_string())


if __name__ == "__main__":
    main()
