"""Values stand in the order of what they are: numbers, bands, dates, times; else as texts."""

from itertools import permutations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginals import read_table
from marginals.tables.values import in_order

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


@pytest.mark.parametrize("kind", ORDERS)
def test_the_order(kind: str) -> None:
    for shuffled in permutations(ORDERS[kind]):
        assert in_order(shuffled) == ORDERS[kind]


@given(st.lists(st.text(max_size=8), unique=True))
def test_no_value_is_lost_and_the_order_is_that_of_the_set(texts: list[str]) -> None:
    assert in_order(texts) == in_order(reversed(texts))
    assert sorted(in_order(texts)) == sorted(texts)


@given(st.lists(st.decimals(-1000, 1000, places=2), unique=True, min_size=1))
def test_numbers_are_sorted_as_numbers(numbers: list[object]) -> None:
    assert in_order(map(str, numbers)) == [str(number) for number in sorted(numbers)]  # type: ignore[type-var]


def test_a_release_counts_bands_in_their_order() -> None:
    table = read_table(pd.DataFrame({"age": ["65+", "5-17", "18-64", "<5"]}), {"age": "quasi-identifier"})
    assert table.domain.hierarchy("age").labels[0] == ("<5", "5-17", "18-64", "65+")
