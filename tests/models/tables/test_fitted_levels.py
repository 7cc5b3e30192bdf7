"""Partitions that grow coarser: what they promise of their groups, whatever the counts."""

from collections.abc import Iterator

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from models import partitions_in_order, partitions_in_tree
from models.tables.fitted_levels import SEVERAL, WITH_APART, Partition

COUNTS = st.lists(st.one_of(st.integers(0, 4), st.integers(0, 30)), min_size=2, max_size=9).filter(any)


def made(counts: list[int], k: int, apart: bool, in_order: bool) -> Iterator[Partition]:
    """Partitions for two sizes, of values in an order or in a tree of pairs, the last one apart."""
    values, last = np.arange(len(counts)), len(counts) - 1 if apart else None
    if in_order:
        return partitions_in_order(np.array(counts), [k, 2 * k], last)
    paths = np.array([values, values // 2, 0 * values])
    return partitions_in_tree(np.array(counts), paths, [k, 2 * k], apart=last)


@given(COUNTS, st.integers(2, 9), st.booleans(), st.booleans())
@example(counts=[2, 2, 11], k=4, apart=True, in_order=True)
def test_groups_of_several_values_have_rows_to_spare_so_that_names_can_tell(
    counts: list[int], k: int, apart: bool, in_order: bool
) -> None:
    """Of two values that occur, each can have k rows; so can missing ones beside three others."""
    rows = np.array(counts)
    before = np.arange(len(counts))
    for size, partition in zip((k, 2 * k), made(counts, k, apart, in_order)):
        assert all(len(np.unique(partition[before == group])) == 1 for group in np.unique(before)), "they nest"
        before = partition
        sizes = np.bincount(partition, rows)
        if np.count_nonzero(sizes) < 2:
            return
        for group in np.flatnonzero(sizes):
            with_rows = np.flatnonzero((partition == group) & (rows > 0))
            assert sizes[group] >= size
            if len(with_rows) > 1:
                holds_apart = apart and len(counts) - 1 in with_rows
                assert sizes[group] >= k + (WITH_APART if holds_apart else SEVERAL)


@given(COUNTS, st.integers(2, 9), st.booleans(), st.booleans())
def test_what_is_merged_holds_a_value_with_few_rows(counts: list[int], k: int, apart: bool, in_order: bool) -> None:
    rows = np.array(counts)
    for size, partition in zip((k, 2 * k), made(counts, k, apart, in_order)):
        for group in np.unique(partition):
            own = rows[(partition == group) & (rows > 0)]
            assert len(own) < 2 or own.min() < size
