"""What a criterion writes is the number it means."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.diversity.spelling import spelled


@given(st.fractions() | st.decimals(allow_nan=False, allow_infinity=False, places=4).map(Fraction) | st.integers())
def test_reading_the_text_back_gives_the_number(value: Fraction | int) -> None:
    assert Fraction(spelled(value)) == value


@pytest.mark.parametrize(
    ("value", "text"), [("3", "3"), ("0.05", "0.05"), ("-5/4", "-1.25"), ("1/8", "0.125"), ("1/3", "1/3"), ("0", "0")]
)
def test_decimals_where_they_are_exact(value: str, text: str) -> None:
    assert spelled(Fraction(value)) == text
