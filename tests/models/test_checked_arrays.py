"""What is taken for codes and counts: whole numbers in one dimension, in their range; everything else is refused by name."""

from decimal import Decimal

import numpy as np
import pytest

from models import DomainMismatchError
from models.arrays import value_codes, whole_counts, whole_numbers


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.5, 2.0], "counts must be whole numbers, got 1.5"),
        ([1.0, np.nan], "counts must be whole numbers, got nan"),
        ([np.inf], "counts must be whole numbers, got inf"),
        ([2.0**63], r"counts must be whole numbers, got 9.22337e\+18"),
        (np.array([2**63], dtype=np.uint64), "counts must be whole numbers"),
        ([True, False], "counts must be whole numbers, got bool"),
        (["3"], "counts must be whole numbers, got str"),
        (np.array([Decimal(3)], dtype=object), "counts must be whole numbers, got Decimal"),
        ([[1, 2]], r"one dimension, got the shape \(1, 2\)"),
        (3, r"one dimension, got the shape \(\)"),
        ([4, -1], "must not be negative, got -1"),
        ([2**62, 2**62], r"less than 2\^53"),
    ],
)
def test_what_is_no_count_of_rows_is_refused_with_the_number(values, message):
    with pytest.raises(DomainMismatchError, match=message):
        whole_counts(values)


@pytest.mark.parametrize("values", [[3, 0], [3.0, -0.0], np.array([3, 0], dtype=object), np.array([3, 0], np.uint64)])
def test_whole_numbers_of_any_dtype_are_counts(values):
    counts = whole_counts(values)
    assert counts.dtype == np.int64
    assert counts.tolist() == [3, 0]


def test_no_counts_at_all_are_counts():
    assert whole_counts([]).tolist() == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 2], r"the codes of 'sex' must lie in 0 .. 1"),
        ([-1], r"the codes of 'sex' must lie in 0 .. 1"),
        ([0.5], "the codes of 'sex' must be whole numbers, got 0.5"),
        ([[0], [1]], "the codes of 'sex' need one dimension"),
    ],
)
def test_codes_outside_an_attribute_are_refused_with_its_name(values, message):
    with pytest.raises(DomainMismatchError, match=message):
        value_codes(values, "sex", 2)


def test_arrays_of_integers_are_not_copied():
    codes = np.array([1, 0], dtype=np.uint8)
    assert value_codes(codes, "sex", 2) is codes
    assert whole_numbers(codes, "codes") is codes
