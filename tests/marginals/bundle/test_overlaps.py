"""Which values of two releases overlap is what their labels say, compared with who is counted where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dice import Dice, Thrown
from marginals.bundle.together import overlapping_values
from models import Hierarchy


def overlaps(one: list[str], other: list[str]) -> tuple[set[tuple[str, str]], bool]:
    pairs, is_clear = overlapping_values(Hierarchy.flat(one), Hierarchy.flat(other))
    return {(one[a], other[b]) for a, b in pairs.T.tolist()}, is_clear


@Thrown
def bands(dice: Dice) -> dict[str, set[int]]:
    """The numbers from 0 to 11 in bands, named as fitted levels name them."""
    ends = [0, *(n for n in range(1, 12) if dice.yes()), 12]
    named = {}
    for low, high in zip(ends, ends[1:]):
        name = str(low) if high == low + 1 else f"{low}-{high - 1}"
        name = f"under {high}" if low == 0 and high < 12 else f"{low} and over" if high == 12 and low else name
        named[name] = set(range(low, high))
    return named


@given(bands(), bands(), st.sets(st.integers(0, 11), min_size=1))
def test_bands_of_numbers_overlap_where_a_number_is_in_both(
    one: dict[str, set[int]], other: dict[str, set[int]], occurring: set[int]
) -> None:
    """Values of the first that nobody has are not named."""
    present = [label for label, own in one.items() if own & occurring]
    pairs, is_clear = overlaps(present, list(other))
    assert is_clear
    assert {(a, b) for a in present for b in other if one[a] & other[b]} == pairs


@pytest.mark.parametrize(
    ("one", "other", "pairs", "is_clear"),
    [
        ("a b", "a c b", "a:a b:b", True),  # nobody was at c
        ("a b other", "a c b other", "a:a b:b other:c other:other", False),
        ("a other", "other a", "a:a other:other", True),
        ("148** 15***", "14850 15*** 16***", "148**:14850 15***:15***", True),
        ("a b", "c d", "a:c a:d b:c b:d", False),
        ("1 2 missing", "1-2", "1:1-2 2:1-2", True),
    ],
)
def test_labels_tell_what_overlaps_or_not_at_all(one: str, other: str, pairs: str, is_clear: bool) -> None:
    expected = {(a, b) for a, _, b in (pair.partition(":") for pair in pairs.split())}
    assert overlaps(one.split(), other.split()) == (expected, is_clear)
    assert overlaps(other.split(), one.split()) == ({(b, a) for a, b in expected}, is_clear)


def test_a_list_of_labels_is_of_these() -> None:
    assert overlaps(["a", "b, c"], ["a", "b", "c"]) == ({("a", "a"), ("b, c", "b"), ("b, c", "c")}, True)


def test_a_label_of_a_higher_level_is_what_lies_below_it() -> None:
    fine = Hierarchy.from_rows([("Ulm", "Germany", "*"), ("Jena", "Germany", "*"), ("Ely", "England", "*")])
    pairs, is_clear = overlapping_values(fine, Hierarchy.flat(["England", "Germany", "Spain"]))
    assert sorted(map(tuple, pairs.T.tolist())) == [(0, 1), (1, 1), (2, 0)]
    assert is_clear
