"""Numbers and dates are what they are, however they are spelled; values stand in the order of what they are."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginals import Attribute, InputError, read_table

UNITS = ("day", "month", "quarter", "year", "decade")
BANDS = Attribute("quasi-identifier", intervals=[0.5])
DAYS = Attribute("quasi-identifier", dates=["day"])
NOT_NUMBERS = ("", " ", "-", ".", "1.2.3", "1,5", "1,00", "1 00", "1,23,45", "0,123", "1.000,5", "inf", "nan", "0x1", "1e",
               "\u0661\u0662", "1e999")  # fmt: skip


def number_text(text: str, decimal: str = ".") -> str | None:
    return BANDS.base_value(text, BANDS.numbers([text], decimal))


def levels_of(days: Sequence[str], units: Sequence[str]) -> Any:
    return Attribute("quasi-identifier", dates=units).hierarchy_of(days)


@given(st.decimals(-(10**9), 10**9, places=4))
def test_a_number_is_what_it_is_however_it_is_spelled(number: Decimal) -> None:
    text = number_text(str(number))
    assert text is not None
    assert Fraction(text) == Fraction(number)
    assert "e" not in text.lower()
    assert text == "0" or not text.startswith("-0-")
    assert not text.endswith((".", "0")) or "." not in text
    for spelling in (str(number), f"{number:+}", f" {number} ", f"{number}0", f"{number:E}"):
        assert number_text(spelling) == text
        assert number_text(spelling.replace(".", ","), ",") == text


@given(st.floats(-1e15, 1e15).filter(lambda number: number != int(number) and abs(number) > 1e-9))
def test_a_fraction_is_read_to_fifteen_digits(number: float) -> None:
    assert Decimal(number_text(repr(number)) or "nan") == Decimal(f"{Decimal(repr(number)):.14e}")


@given(st.integers(-(10**40), 10**40))
def test_whole_numbers_are_read_as_they_are(number: int) -> None:
    assert number_text(str(number)) == number_text(f"{number}.0") == str(number)


@pytest.mark.parametrize(
    ("text", "decimal"),
    [*((text, ".") for text in NOT_NUMBERS), *((text, ",") for text in ("1.5", "1,234.5", "1.23,5", "1,2,3", ","))],
)
def test_what_is_no_number(text: str, decimal: str) -> None:
    assert number_text(text, decimal) is None


def test_the_noise_of_floating_point_is_in_no_label() -> None:
    frame = pd.DataFrame({"dose": [0.1 + 0.2, 0.3, 0.7, 0.1 * 3, 0.8 - 0.1]})
    table = read_table(frame, {"dose": Attribute("quasi-identifier", intervals=[0.1, 1])})
    assert dict(table.base_counts.cells()) == {("0.3",): 3, ("0.7",): 2}
    assert table.domain.hierarchy("dose").labels[0] == tuple(f"{n / 10:g}" for n in range(10))


@given(st.datetimes(datetime(1000, 1, 1)))
def test_a_time_is_what_it_is_however_it_is_spelled(when: datetime) -> None:
    expected = str(when.replace(microsecond=0)).removesuffix(" 00:00:00")
    for spelling in ("%Y-%m-%d %H:%M:%S", "%Y/%m/%dT%H:%M:%SZ", "%d.%m.%Y %H:%M:%S", "%Y.%m.%d %H:%M:%S.000+02:00"):
        assert DAYS.base_value(f" {when:{spelling}} ") == expected
    assert DAYS.base_value(f"{when.day}.{when.month}.{when.year}") == f"{when:%Y-%m-%d}"


@pytest.mark.parametrize(
    "text", ["2023", "2023-11", "11/12/2023", "31.11.2023", "2023-13-01", "12.11.23", "2023-11-12 25:00", "today"]
)
def test_what_is_no_date_is_refused_with_its_row(text: str) -> None:
    assert DAYS.base_value(text) is None
    with pytest.raises(InputError, match="row 2 is no date"):
        read_table(pd.DataFrame({"seen": ["2023-11-12", text]}), {"seen": DAYS}, missing=[])


@cache
def days_of(label: str) -> frozenset[date]:
    if "W" in label:
        monday = date.fromisocalendar(int(label[:4]), int(label[-2:]), 1)
        return frozenset(monday + timedelta(n) for n in range(7))
    if label.endswith("s"):
        years, months = range(int(label[:4]), int(label[:4]) + 10), range(1, 13)
    elif "Q" in label:
        years, months = range(int(label[:4]), int(label[:4]) + 1), range(3 * int(label[-1]) - 2, 3 * int(label[-1]) + 1)
    elif len(label) == 4:
        years, months = range(int(label), int(label) + 1), range(1, 13)
    elif len(label) == 7:
        years, months = range(int(label[:4]), int(label[:4]) + 1), range(int(label[-2:]), int(label[-2:]) + 1)
    else:
        return frozenset([date.fromisoformat(label)])
    begin = date(years[0], months[0], 1)
    end = date(years[-1], months[-1], 28)
    line = (begin + timedelta(n) for n in range((end - begin).days + 5))
    return frozenset(day for day in line if day.year in years and day.month in months)


ladders = st.sets(st.sampled_from(UNITS), min_size=1).map(lambda units: sorted(units, key=UNITS.index))


@given(
    st.lists(st.dates(date(2018, 1, 1), date(2021, 12, 31)), min_size=1, max_size=3), ladders | st.just(["day", "week"])
)
def test_each_day_lies_in_its_units_and_each_unit_is_full(days: list[date], units: list[str]) -> None:
    hierarchy = levels_of(list(map(str, days)), units)
    rows = hierarchy.rows()
    assert set(map(str, days)) <= {row[0] for row in rows}
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    for level in range(1, hierarchy.height):
        inside: dict[str, set[date]] = {}
        for row in rows:
            inside.setdefault(row[level], set()).add(date.fromisoformat(row[0]))
        assert all(members == days_of(label) for label, members in inside.items())


def test_times_are_those_given_and_lie_in_the_day_of_theirs() -> None:
    hierarchy = levels_of(["2020-02-29", "2020-02-29 12:30:00", "2020-01-01 00:00:01.5"], ["day", "month"])
    assert hierarchy.rows() == [
        ("2020-01-01 00:00:01.5", "2020-01-01", "2020-01", "*"),
        ("2020-02-29", "2020-02-29", "2020-02", "*"),
        ("2020-02-29 12:30:00", "2020-02-29", "2020-02", "*"),
    ]


def test_the_ends_of_the_calendar_and_days_far_apart() -> None:
    assert levels_of(["9999-12-31", "9999-12-01"], ["month", "decade"]).size(0) == 3652
    assert levels_of(["0001-01-01"], ["year"]).labels[1] == ("0001",)
    assert levels_of(["0001-01-01", "9999-12-31"], ["year"]).size(0) == 2


ORDERS = {
    "decimals": ["-1.5", "0", "9.5", "10.25"],
    "decimal commas": ["-1,5", "9,5", "10,25"],
    "whole numbers": ["1", "2", "10", "18"],
    "numbers as R writes them": ["50000", "75000", "1e+05", "120000"],
    "codes with leading zeros": ["009", "010", "10"],
    "numbers with a word among them": ["9", "10", "refused"],
    "whole numbers and others": ["1", "2", "10.0", "18"],
    "bands": ["0-4", "5-9", "10-14", "100-104"],
    "open bands": ["<5", "5-17", "18-64", "65+"],
    "thousands": ["<30k", "30k-50k", "50k-100k", "100k-1m", ">=1m"],
    "thousands by comma": ["$9,999-$10,000", "$10,000-$20,000", "$100,000+"],
    "shared unit": ["9-10k", "10-20k", "20-100k"],
    "words": ["under 18", "18 to 24", "25 to 64", "65 and over"],
    "years": ["5-9 years", "10-14 years"],
    "half-open": ["9.5-<10", "10-<10.5"],
    "brackets": ["(5, 10]", "(10, 100]"],
    "dashes": ["5\u20139", "10\u201314"],
    "bands with words among them": ["5-9", "10-14", "unknown"],
    "single numbers among bands": ["0", "1-9", "10+"],
    "negative": ["-10--6", "-5--1", "0-4"],
    "days": ["28.11.2023", "1.2.2024"],
    "days after the month": ["11/28/2023", "2/1/2024"],
    "days before the month": ["28/11/2023", "1/2/2024"],
    "days by the year": ["2023-9-30", "2023-11-01"],
    "times": ["9:30", "10:15"],
    "stamps": ["2023-11-12 9:30", "2023-11-12 10:30"],
    "iso weeks": ["2023-W09", "2023-W45", "2024-W01"],
    "months": ["2023-09", "2023-11", "2024-01"],
    "texts": ["10 a", "2 b", "Anna", "bert"],
    "days that may be months": ["01/02/2024", "02/01/2023"],
    "codes": ["A10", "A2", "B1"],
    "one band": ["10-14", "5"],
}


def in_order(texts: Sequence[str]) -> list[str]:
    return list(Attribute("quasi-identifier").hierarchy_of(texts).labels[0])


@pytest.mark.parametrize("kind", ORDERS)
def test_the_order(kind: str) -> None:
    for shuffled in permutations(ORDERS[kind]):
        assert in_order(shuffled) == ORDERS[kind]


@given(st.lists(st.text(max_size=8).filter(lambda text: text != "*"), unique=True, min_size=1))
def test_no_value_is_lost_and_the_order_is_that_of_the_set(texts: list[str]) -> None:
    assert in_order(texts) == in_order(texts[::-1])
    assert sorted(in_order(texts)) == sorted(texts)
