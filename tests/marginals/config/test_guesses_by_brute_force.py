"""Counts behind the guesses, against their definitions: codes, copies, sums, missing values, associations, people."""

import json
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import marginals
from first_configs import init
from marginals.config import beside, rules
from marginals.config.facts import likely_prefixes
from marginals.config.release_toml import KEYS
from marginals.keys import Key
from marginals.publishing.harmful import bounded_values, can_be_shown
from marginals.tables.people import worth_counting
from marginals.tables.relations import (
    Values,
    determines,
    structurally_missing,
    sums,
)
from marginals.tables.values import DECIMAL_SIGNS, NumberFormat
from project import ROOT


@given(st.sets(st.text("ab1", min_size=4, max_size=4), min_size=1), st.integers(1, 20))
def test_each_length_of_prefixes_merges_some_codes_and_keeps_some_apart(codes: set[str], rows: int) -> None:
    listed = sorted(codes)
    lengths = likely_prefixes(listed, np.full(len(listed), rows), 10)
    sizes = [len(codes), *(len({code[:length] for code in codes}) for length in lengths)]
    assert list(lengths) == sorted(set(lengths), reverse=True)
    assert all(coarse < fine for fine, coarse in zip(sizes, sizes[1:]))
    assert all(size > 1 for size in sizes[1:])
    merging = [n for n in range(1, 4) if 1 < len({code[:n] for code in codes}) < len(codes)]
    assert bool(lengths) == bool(merging)


def determined(pairs: list[tuple[int, int]]) -> bool:
    """By the definition: of each value one row is learnt from, of the other rows the share guessed right is counted."""
    known = [(a, b) for a, b in pairs if a >= 0 and b >= 0]
    groups: dict[int, Counter[int]] = defaultdict(Counter)
    for a, b in known:
        groups[a][b] += 1
    most = Counter(b for _, b in known).most_common(1)
    if len(known) < 50 or len(known) < 0.3 * len(pairs) or len(groups) < 2 or len(groups) == len(known):
        return False
    right = sum(group.most_common(1)[0][1] - 1 for group in groups.values()) / (len(known) - len(groups))
    without = most[0][1] / len(known)
    told = len({b for _, b in known}) - 1
    by_chance = without == 1 or chi2.sf(len(known) * told, (len(groups) - 1) * told) >= 3e-7
    return not by_chance and right - without >= 0.9 * (1 - without)


@given(
    st.integers(1, 12),
    st.integers(1, 6),
    st.integers(20, 200),
    st.sampled_from([0.0, 0.02, 0.3]),
    st.integers(0, 10**6),
)
@settings(max_examples=200)
def test_what_determines_what_is_as_the_definition_says(
    size: int, other: int, rows: int, noise: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(-1, size, rows)
    second = np.where(rng.random(rows) < noise, rng.integers(0, other, rows), first % other)
    expected = determined(list(zip(first.tolist(), second.tolist())))
    assert determines(first.astype(np.intp), second.astype(np.intp)) == expected


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([0.0, 0.1]))
@settings(max_examples=40, deadline=None)
def test_every_sum_is_found_whatever_is_missing_and_nothing_but_sums(seed: int, size: int, gone: float) -> None:
    """Each column that is found is what its parts add up to, with signs, in nearly all rows; the planted one is found."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(0, rng.uniform(1, 1000, (size + 3, 1)), (size + 3, 400))
    signs = rng.choice([-1.0, 1.0], size)
    total = signs @ drawn[:size]
    total[rng.random(400) < gone] = np.nan
    numbers = {f"c{place}": own for place, own in enumerate(drawn)} | {"total": total}
    columns = {name: Values(np.arange(400), own) for name, own in numbers.items()}
    found = sums(columns)
    assert found["total"] == tuple(f"c{place}" for place in range(size))
    assert set(found) <= {"total", *found["total"]}
    for name, parts in found.items():
        present = ~np.isnan(numbers[name])
        matrix = np.nan_to_num(np.array([numbers[part] for part in parts]))[:, present]
        ways = product([-1.0, 1.0], repeat=len(parts))
        assert any(np.mean(np.abs(np.array(way) @ matrix - numbers[name][present]) < 1e-6) >= 0.9 for way in ways)


@given(st.lists(st.tuples(st.integers(-1, 2), st.booleans()), min_size=1, max_size=12), st.integers(1, 4))
@example([(-1, True), (0, False), (1, False)], 1)
@example([(0, True), (0, False), (1, False)], 1)
def test_a_value_is_missing_exactly_where_another_column_says_so(rows: list[tuple[int, bool]], least: int) -> None:
    """Rows where the other lacks a value count for nothing, however many of both the same people skip."""
    codes, gone = np.array([code for code, _ in rows]), np.array([lacks for _, lacks in rows])
    by_value: dict[int, set[bool]] = {}
    known = [(code, lacks) for code, lacks in rows if code >= 0]
    for code, lacks in known:
        by_value.setdefault(code, set()).add(lacks)
    is_function = all(len(lacks) == 1 for lacks in by_value.values())
    number = sum(lacks for _, lacks in known)
    enough = least <= number <= len(known) - least and len(known) >= 0.3 * len(rows)
    found = structurally_missing({"x": gone}, {"by": codes}, least)
    assert found == ({"x": "by"} if is_function and enough else {})


@given(st.integers(0, 10**6), st.sampled_from([30, 80, 400]), st.sampled_from([0.0, 0.03, 0.2]))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_demanded_is_what_the_table_can_bear_that_publish_reads(
    tmp_path: Path, seed: int, rows: int, gone: float
) -> None:
    """Only sensitive columns are counted, numbers by their bands; the whole table, as publish reads it, says the same."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(18, 90, rows),
            "income": np.round(np.exp(rng.normal(8, 1, rows)) * rng.integers(0, 2, rows), rng.integers(0, 3)),
            "diagnosis": rng.choice(["flu", "gout", "asthma", "cancer"], rows, p=rng.dirichlet([1, 1, 1, 1])),
            "debt": rng.integers(-50, 50, rows),
            "salary": np.where(rng.random(rows) < 0.4, rng.choice([7, 40, 1000]), rng.integers(1, 4000, rows) / 4),
        }
    )
    for name in ("age", "income"):
        frame[name] = frame[name].astype(object).where(rng.random(rows) >= gone, "")
    first = init(frame, tmp_path)
    read = first.config().source.table(10)
    demanded = first.config().policy.requirements_of(read)
    assert all(can_be_shown(read, name, demanded) for name in read.sensitive)
    for name in read.sensitive:
        values = bounded_values(read, name)
        section = first.text.split(f"[attributes.{name}]\n")[1].split("\n\n")[0]
        comment = re.sub(r"\n#\s*", " ", section).partition("all have it: ")[2]
        for label, count, share in zip(values.hierarchy.labels[values.level], values.rows, values.shares):
            most = math.ceil(100 * max(Fraction(1, 10), 3 * share / (1 + 2 * share)))
            bound = "no bound" if most == 100 else str(most)
            of_all = "under 1" if 100 * share < 1 else str(min(99, round(100 * share)))
            assert (f'"{label}" {bound} ({of_all})' in comment) == (count >= 10 and len(values.rows) <= 12)
    incomplete = rows - read.rows - read.left_out
    assert f"count as a value: {'few' if 0 < incomplete < 10 else f'{incomplete:,}'} rows are left out" in first.text


@pytest.mark.parametrize("seed", [1, 7, 10])
def test_whatever_is_left_out_all_rows_that_count_then_satisfy_what_is_demanded(tmp_path: Path, seed: int) -> None:
    """Without a column that lacks values other rows of each person are drawn, of which another column can have too few."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"patient_id": np.arange(600) % 12, "sex": rng.choice(["f", "m"], 600)})
    for name in ("diagnosis", "religion", "convicted", "hiv"):
        frame[name] = rng.choice(["n", "y"], 600, p=[0.75, 0.25])
    frame.loc[rng.random(600) < 0.08, "diagnosis"] = ""
    frame.loc[rng.random(600) < 0.08, "religion"] = ""
    config = init(frame, tmp_path).config()
    table = config.read_table()
    demanded = config.policy.requirements_of(table)
    assert all(can_be_shown(table, name, demanded) for name in table.sensitive)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=60))
def test_several_rows_of_each_person_count_where_that_keeps_many_more_rows(each: list[int]) -> None:
    """By trying all: half again as many rows as people, classes at most twice as coarse, and the best number first."""
    kept = {r: sum(min(n, r) for n in each) for r in range(1, max(each) + 1)}
    enough = min(r for r in kept if kept[r] >= 0.95 * sum(each))
    worth = [r for r in kept if r <= enough and kept[r] >= 1.5 * len(each) and 2 * kept[r] >= r * len(each)]
    assert list(worth_counting(np.array(each))) == sorted(worth, reverse=True)


def rule_rows(table: Sequence[rules.Rule]) -> Iterator[str]:
    yield "| if | role | steps | asked |"
    yield "|---|---|---|---|"
    for rule in table:
        condition = rule.condition or re.sub(r"\{[^}]*\}", "…", rule.why)
        is_asked = rule.question or (table is rules.SENSITIVE_STEPS and not rule.role.is_used)
        steps = ", ".join([*(s for s in rule.steps if s not in ("start", "apart")), *["coarse"] * rule.is_coarse])
        yield f"| {condition} | {rule.role.value} | {steps} | {'yes' if is_asked else ''} |"


def test_the_page_of_init_shows_its_rules() -> None:
    """Renewed by MARGINALS_WORDS=renew."""
    page, beginning = (
        ROOT / "docs" / "init.md",
        "<!-- made by: tests/marginals/config/test_guesses_by_brute_force.py -->",
    )
    tables = {
        "The role of a column by itself": list(rule_rows(rules.ROLES)),
        "The steps of a quasi-identifier": list(rule_rows(rules.STEPS)),
        "The steps of a sensitive column": list(rule_rows(rules.SENSITIVE_STEPS)),
        "Columns beside each other": ["| if | then |", "|---|---|"]
        + [f"| {rule.condition} | {rule.result} |" for rule in beside.RULES],
    }
    made = "".join("\n".join([f"\n## {title}\n", *rows, ""]) for title, rows in tables.items())
    text = page.read_text(encoding="utf-8")
    current = f"{text.partition(beginning)[0]}{beginning}\n{made}\n<!-- end -->\n"
    if os.environ.get("MARGINALS_WORDS") == "renew":
        page.write_text(current, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == current


SETTINGS = {f"{section}.{name}": key for section, keys in KEYS.items() for name, key in keys.items()}
TAKEN = "<!-- made by: tests/marginals/config/test_guesses_by_brute_force.py -->"


def default_words(key: Key, words: str) -> str:
    """Spell a default as TOML does; where there is none, the page says what happens without the key."""
    if key.required:
        return "required"
    if key.default is None:
        return "none" if words.startswith("`") else words
    value = list(key.default) if isinstance(key.default, tuple) else key.default
    return f"`{json.dumps(value)}`"


def config_page(text: str) -> str:
    """The page on configs with the defaults of the table of settings, and with what each key takes."""

    def row(found: re.Match[str]) -> str:
        return f"| `{found[1]}` | {default_words(SETTINGS[found[1]], found[2])} |"

    head = re.sub(r"(?m)^\| `([a-zA-Z_.]+)` \| (.*?) \|", row, text.partition(TAKEN)[0])
    musts = {name: key.must.partition("; ")[0].replace("|", "\\|") for name, key in SETTINGS.items() if key.must}
    rows = "\n".join(f"| `{name}` | {must} |" for name, must in musts.items())
    rest = text.partition(TAKEN)[2].partition("<!-- end -->")[2]
    return f"{head}{TAKEN}\n\n| key | must |\n|---|---|\n{rows}\n\n<!-- end -->{rest}"


def test_the_page_on_configs_is_made_of_the_table_of_settings() -> None:
    """Renewed by MARGINALS_WORDS=renew; what keys mean is written there."""
    path = ROOT / "docs" / "config.md"
    text = path.read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([a-zA-Z_.]+)` \|", text.partition(TAKEN)[0], re.MULTILINE)
    assert sorted(explained) == sorted(SETTINGS)
    if os.environ.get("MARGINALS_WORDS") == "renew":
        path.write_text(config_page(text), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == config_page(text)


@pytest.mark.parametrize("section", ["", *KEYS])
def test_a_config_with_an_unknown_key_is_refused_by_naming_those_that_are_known(tmp_path: Path, section: str) -> None:
    file = tmp_path / "release.toml"
    head = f"[[{section}]]" if section in ("risk.interactions", "risk.rules") else f"[{section}]"
    before = "" if section == "data" else 'data.path = "t.csv"\n'
    before += "" if section == "attributes.NAME" else 'attributes.NAME.role = "sensitive"\n'
    file.write_text(f"{before}{head}\nunheard_of = 1" if section else "unheard_of = 1")
    with pytest.raises(marginals.InputError, match="unknown key") as refusal:
        marginals.read_config(file)
    known = set(str(refusal.value).split("; known are ")[1].split(", "))
    assert known == ({f"{section}.{name}" for name in KEYS[section]} if section else {s.split(".")[0] for s in KEYS})


def test_init_asks_few_times_what_the_numbers_of_a_column_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule read the texts of a column anew, of which there can be a hundred thousand."""
    asked, of = Counter[int](), NumberFormat.of

    def counted(texts: Collection[str], decimal: str = ".") -> NumberFormat | None:
        asked[len(texts)] += 1
        return of(texts, decimal)

    monkeypatch.setattr(NumberFormat, "of", counted)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.integers(0, 300, 5000), "part": rng.integers(0, 1000, 5000) / 8})
    init(frame, tmp_path)
    assert max(asked[frame[name].nunique()] for name in frame) <= 7


def test_whole_numbers_one_by_one_and_together_are_the_same_format() -> None:
    """A text with a line break is none, though it looks like two whole numbers beneath each other."""
    texts = ["0", "-0", "10", "-5", "007", "1E1", "9999999999", "99999999999", "1\n2", "", "1,5", "250.1", "250.10"]
    for some in chain.from_iterable(combinations(texts, size) for size in range(1, 4)):
        for decimal in DECIMAL_SIGNS:
            together = NumberFormat.of(some, decimal)
            with patch("marginals.tables.values._PLAIN_WHOLES", re.compile("(?!)")):
                assert NumberFormat.of(some, decimal) == together
