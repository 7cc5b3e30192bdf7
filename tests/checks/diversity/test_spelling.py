"""What a criterion writes is the number it means."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import spelled
from checks.diversity.criterion import MAY_DISCLOSE, MUST_PROTECT, OR_EQUAL, Phrase, spelled_labels

CONFUSING = ["of", "may disclose", "or equal", 'a "b"', "flu, cold", " ", '"', "\\", "a of b", "must protect x"]
"""Labels that read like something else."""


@given(st.fractions() | st.decimals(allow_nan=False, allow_infinity=False, places=4).map(Fraction) | st.integers())
def test_reading_the_text_back_gives_the_number(value: Fraction | int) -> None:
    assert Fraction(spelled(value)) == value


@pytest.mark.parametrize(
    ("value", "text"), [("3", "3"), ("0.05", "0.05"), ("-5/4", "-1.25"), ("1/8", "0.125"), ("1/3", "1/3"), ("0", "0")]
)
def test_decimals_where_they_are_exact(value: str, text: str) -> None:
    assert spelled(Fraction(value)) == text


labels = st.sets(st.text(st.characters(codec="utf-8"), min_size=1) | st.sampled_from(CONFUSING), min_size=1)
EVERY = (OR_EQUAL, MAY_DISCLOSE, MUST_PROTECT)


@given(labels, labels, st.booleans())
def test_labels_read_back_as_they_are_whatever_stands_in_them(free: set[str], kept: set[str], equal: bool) -> None:
    clauses = f"{MAY_DISCLOSE} {spelled_labels(sorted(free))} {MUST_PROTECT} {spelled_labels(sorted(kept))}"
    phrase = Phrase.read(f"2,3 {OR_EQUAL if equal else ''} {clauses}", EVERY)
    assert phrase is not None
    assert phrase.numbers == [2, 3]
    expected = {MAY_DISCLOSE: tuple(sorted(free)), MUST_PROTECT: tuple(sorted(kept))}
    assert phrase.clauses == expected | ({OR_EQUAL: ()} if equal else {})


@pytest.mark.parametrize(
    "text",
    [
        "2 may disclose",
        "2 may disclose ,",
        "2 may disclose a,,b",
        '2 may disclose "a',
        '2 may disclose a"b',
        '2 may disclose ""',
        '2 may disclose "a" b',
        "2 may disclose \ud800",
        "2 may disclose a may disclose b",
        "2 of a",
        "2 or equal a",
        "2 or equal ,",
    ],
)
def test_what_is_no_clause_is_refused(text: str) -> None:
    assert Phrase.read(text, EVERY) is None
