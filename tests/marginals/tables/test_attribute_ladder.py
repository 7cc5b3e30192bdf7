"""Ladders fitted to tables: what their levels are, what they are called, and that nothing else about a table changes."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from marginals import Attribute
from models import Hierarchy

TOWNS = Hierarchy.from_rows(
    [(town, country, "*") for town, country in zip("abcdefghi", ["north"] * 4 + ["south"] * 3 + ["far"] * 2)]
)
KINDS = {
    "towns": (Attribute("quasi-identifier", hierarchy=TOWNS, ladder="fitted"), st.sampled_from("abcdefghi")),
    "jobs": (Attribute("quasi-identifier", ladder="fitted"), st.sampled_from(["cook", "clerk", "smith", "nun"])),
    "towns that are alike": (
        Attribute("quasi-identifier", hierarchy=TOWNS, ladder="alike"),
        st.sampled_from("abcdefghi"),
    ),
    "ages": (Attribute("quasi-identifier", ladder="fitted"), st.integers(-2, 12).map(str)),
    "bands": (Attribute("quasi-identifier", ladder="fitted"), st.sampled_from(["<18", "18-24", "25-64", "65+"])),
    "codes": (
        Attribute("quasi-identifier", prefixes=[2, 1], ladder="fitted"),
        st.from_regex("[ab][12][34]", fullmatch=True),
    ),
    "bmi": (
        Attribute("quasi-identifier", intervals=[0.5, 1.0], ladder="fitted"),
        st.decimals(18, 30, places=1).map(str),
    ),
    "weights": (
        Attribute("quasi-identifier", ladder="fitted"),
        st.sampled_from(["58.97", "61.2", "61.24", "70.31", "-0.5"]),
    ),
    "days": (
        Attribute("quasi-identifier", dates=["month", "year"], ladder="fitted"),
        st.dates(pd.Timestamp(2020, 1, 1).date(), pd.Timestamp(2022, 1, 1).date()).map(str),
    ),
}


@st.composite
def columns(draw):
    """An attribute, and a column of its kind."""
    attribute, values = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    return attribute, draw(st.lists(values, min_size=1, max_size=40))


def read(attribute, column, k=3, **settings):
    frame = pd.DataFrame({"column": column, "ill": ["no"] * len(column)})
    return marginals.read_table(frame, {"column": attribute, "ill": "sensitive"}, k=k, **settings)


@given(columns(), st.integers(1, 6))
def test_each_level_has_larger_groups_under_names_of_their_own(column, k):
    attribute, values = column
    table = read(attribute, values, k)
    hierarchy = table.domain.hierarchy("column")
    given_one = attribute.hierarchy_of({attribute.base_value(value) for value in values})
    assert hierarchy.labels[0] == given_one.labels[0]
    smallest = []
    for level in range(2 if attribute.intervals or attribute.dates else 1, hierarchy.height):
        counts = table.counts.rolled_up({"column": level}).counts
        assert len(counts) > 1
        smallest.append(counts.min())
    assert smallest == sorted(smallest)
    assert all(rows >= k for rows in smallest)
    groups = {}
    for row in hierarchy.rows():
        for level, label in enumerate(row[1:-1], 1):
            groups.setdefault((level, label), set()).add(row[0])
    by_name = {}
    for (_, label), members in groups.items():
        by_name.setdefault(label, set()).add(frozenset(members))
    assert all(len(meanings) == 1 for label, meanings in by_name.items() if label not in hierarchy.labels[0])


@given(columns(), st.randoms())
def test_a_ladder_depends_on_no_order_of_rows(column, random):
    attribute, values = column
    shuffled = random.sample(values, len(values))
    assert read(attribute, values).domain == read(attribute, shuffled).domain


@given(st.lists(st.integers(0, 99), min_size=1, max_size=60), st.integers(2, 6))
def test_names_of_numbers_say_which_they_are(numbers, k):
    hierarchy = read(KINDS["ages"][0], list(map(str, numbers)), k).domain.hierarchy("column")
    for row in hierarchy.rows():
        number = int(row[0])
        for label in row[1:-1]:
            if match := re.fullmatch(r"(\d+)-(\d+)", label):
                assert int(match[1]) <= number <= int(match[2])
            elif match := re.fullmatch(r"under (\d+)", label):
                assert number < int(match[1])
            elif match := re.fullmatch(r"(\d+) and over", label):
                assert number >= int(match[1])
            else:
                assert label == row[0]


def test_open_ends_tell_neither_the_lowest_nor_the_highest_number():
    hierarchy = read(KINDS["ages"][0], ["3"] + ["20"] * 9 + ["21"] * 9 + ["97"] * 2, 5).domain.hierarchy("column")
    assert set(hierarchy.labels[1]) == {"under 21", "21 and over"}


def test_decimals_that_many_share_stand_by_themselves_and_others_between_round_numbers():
    """As people report their weight in pounds: 61.24 and 63.5 kg, and hardly anything between."""
    column = ["61.24"] * 30 + ["63.5"] * 20 + ["59.42", "60.1", "62.14"] * 3 + ["70.31", "81.65"] * 3
    ladder = read(Attribute("quasi-identifier", ladder="fitted"), column, 4).domain.hierarchy("column")
    assert ladder.labels[1:3] == (("under 61", "61.24", "62-<70", "70 and over"), ("under 62", "62 and over"))


def test_decimals_and_dates_are_merged_from_their_bands_on():
    bmi = read(KINDS["bmi"][0], ["18.2"] * 5 + ["19.7", "21.1"] + ["22.4"] * 6, 3).domain.hierarchy("column")
    assert bmi.labels[2] == ("under 22", "22-<22.5", "22.5-<23")
    days = read(KINDS["days"][0], ["2020-01-05"] * 5 + ["2020-03-01"] + ["2020-04-02"] * 6, 3)
    assert days.domain.hierarchy("column").labels[2][:3] == ("before 2020-04", "2020-04", "2020-05")


def test_a_ladder_of_people_begins_with_as_many_people():
    attributes = {"town": Attribute("quasi-identifier", ladder="fitted"), "ill": "sensitive"}
    frame = pd.DataFrame({"town": ["a"] * 30 + ["b"] * 6 + ["c"] * 12 + ["d"] * 3, "ill": ["no"] * 51})
    assert marginals.read_table(frame, attributes, k=5).domain.hierarchy("town").labels[1] == ("a", "other town", "c")
    counted = marginals.read_table(frame, attributes, k=5, rows_per_person=2)
    assert counted.domain.hierarchy("town").labels[1] == ("a", "other town")


def by_likeness(ladder="alike", hierarchy=None, ill=None, many=15):
    jobs = {
        "clerk": (20, 20),
        "cook": (18, 18),
        "nun": (4, 0),
        "smith": (0, 4),
        "nurse": (many, 0),
        "miner": (0, many - 1),
    }
    people = [(job, sex) for job, counts in jobs.items() for sex, count in zip("fm", counts) for _ in range(count)]
    frame = pd.DataFrame(people, columns=["job", "sex"])
    frame["ill"] = ill or "no"
    job = Attribute("quasi-identifier", hierarchy=hierarchy, ladder=ladder)
    roles = {"job": job, "sex": "quasi-identifier", "ill": "sensitive"}
    return marginals.read_table(frame, roles, k=5).domain.hierarchy("job")


def groups(hierarchy, level):
    values = hierarchy.labels[0]
    lifted = hierarchy.lift(0, level)
    return {frozenset(v for v, g in zip(values, lifted) if g == group) for group in set(lifted.tolist())}


def test_numbers_that_are_names_lie_in_no_order():
    """Codes 1 and 5 are alike, and 2 and 4; no code is made up between those that occur."""
    codes = {"1": (4, 0), "2": (0, 4), "4": (0, 9), "5": (9, 0), "9": (30, 30)}
    rows = [(code, sex) for code, own in codes.items() for sex, count in zip("fm", own) for _ in range(count)]
    roles = {"code": Attribute("quasi-identifier", ladder="alike", label_form="names"), "sex": "quasi-identifier"}
    hierarchy = marginals.read_table(pd.DataFrame(rows, columns=["code", "sex"]), roles, k=5).domain.hierarchy("code")
    assert groups(hierarchy, 1) == {frozenset({"1", "5"}), frozenset({"2", "4"}), frozenset({"9"})}
    assert hierarchy.has_names
    assert set(hierarchy.labels[1]) == {"9", "other code", "other code 2"}


OTHERS = [(job, "other", "*") for job in ("cook", "smith", "nurse", "miner")]
CHURCH = Hierarchy.from_rows([("nun", "church", "*"), ("clerk", "church", "*"), *OTHERS])


@pytest.mark.parametrize(
    ("settings", "group"),
    [
        ({}, {"nun", "nurse"}),
        ({}, {"smith", "miner"}),
        ({"ladder": "fitted"}, {"nun", "smith"}),
        ({"many": 40}, {"nun", "smith"}),  # beside 4 nuns 40 nurses would be named nowhere; 15 nurses are few
        ({"hierarchy": CHURCH}, {"nun", "clerk"}),
    ],
)
def test_rare_values_join_those_that_are_alike_unless_size_or_a_hierarchy_say_else(settings, group):
    assert group in groups(by_likeness(**settings), 1)


def test_levels_by_likeness_do_not_depend_on_what_is_sensitive():
    rng = np.random.default_rng(0)
    assert by_likeness().labels == by_likeness(ill=rng.choice(["yes", "no"], 113).tolist()).labels


def test_too_many_values_to_compare_are_refused():
    frame = pd.DataFrame({"code": [f"c{number}" for number in range(2001)], "sex": "f"})
    roles = {"code": Attribute("quasi-identifier", ladder="alike"), "sex": "quasi-identifier"}
    with pytest.raises(marginals.InputError, match=r"'code' .*2,001 values, .*2,000 at most; take \"fitted\""):
        marginals.read_table(frame, roles)


@pytest.mark.parametrize("how", [{"intervals": [0.5]}, {"intervals": [5]}, {"dates": ["month"]}, {"prefixes": [2]}, {}])
def test_a_column_of_which_all_rows_that_count_lack_a_value_has_no_groups(how: dict[str, Any]) -> None:
    """As a dose that is given after the first visit, where the first row of each counts."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 10, "dose": [""] * 20})
    dose = marginals.Attribute("quasi-identifier", missing="as a value", ladder="fitted", **how)
    table = marginals.read_table(frame, {"sex": "quasi-identifier", "dose": dose}, rows_per_person=1)
    assert table.domain.hierarchy("dose").labels == (("missing",), ("*",))
