"""What labels tell of the values behind them, against every way to share rows out among these."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import MinCell, Question, Verdict
from checks.labels import LabelTells, crowded, label_counts
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy

JOBS = Hierarchy.from_rows(
    [
        ("clerk", "clerk", "*"),
        ("cook, driver", "cook, driver and other job", "*"),
        ("other job", "cook, driver and other job", "*"),
    ]
)


def published(*counts: int, levels: tuple[int, ...] = (0,)) -> Collection:
    domain = Domain.of({"job": JOBS})
    table = ContingencyTable.from_cells(domain, {"job": 0}, {"job": np.arange(len(counts))}, counts)
    masks = [domain.mask({"job": level}) for level in levels]
    return Collection.of(DataCube([table]), masks)


@given(st.integers(1, 4), st.integers(1, 10), st.integers(1, 6))
def test_a_small_count_is_certain_just_where_no_way_to_share_rows_out_gives_a_value_enough(
    occurring: int, rows: int, least: int
) -> None:
    shared = [counts for counts in product(range(1, rows + 1), repeat=occurring) if sum(counts) == rows]
    if shared:
        is_certain = all(counts[0] < least for counts in shared)
        assert (LabelTells(occurring).verdict(rows, least) is Verdict.FAILS) == is_certain


def test_nothing_is_told_by_a_label_that_names_none_or_of_which_nothing_is_known() -> None:
    collection = published(11, 12, 11)
    assert label_counts(collection, {}, 11).holds
    assert label_counts(collection, {"job": {"other job": LabelTells(0)}}, 11).holds
    assert label_counts(collection, {"job": {"another": LabelTells(9)}, "town": {"cook": LabelTells(9)}}, 11).holds


@pytest.mark.parametrize(("rows", "verdict"), [(12, Verdict.HOLDS), (11, Verdict.FAILS)])
def test_the_least_cell_is_about_labels_too(rows: int, verdict: Verdict) -> None:
    told = {"job": {"cook, driver": LabelTells(2)}}
    finding = MinCell(11).check(Question(published(30, rows, 15), labels=told))
    assert finding.verdict is verdict
    if verdict is Verdict.FAILS:
        assert finding.criterion == "min-cell"
        assert finding.worst_class.cell == {"job": "cook, driver"}
        assert finding.worst_class.count == 10
        assert "'cook, driver' of 'job' tells that 2 values occur, with 11 rows together" in finding.note


def test_a_count_that_is_published_comes_first() -> None:
    told = {"job": {"cook, driver": LabelTells(2)}}
    finding = MinCell(11).check(Question(published(30, 11, 3), labels=told))
    assert finding.worst_class.cell == {"job": "other job"}


def test_coarser_labels_are_looked_at_by_the_counts_below_them() -> None:
    """Design 4.17: of 12 rows of three values that occur none has more than 10, of 13 rows one can have 11."""
    told = {"job": {"cook, driver and other job": LabelTells(3)}}
    assert label_counts(published(30, 6, 6), told, 11).verdict is Verdict.FAILS
    assert label_counts(published(30, 6, 7), told, 11).verdict is Verdict.HOLDS


def test_fewer_than_no_values_cannot_occur() -> None:
    with pytest.raises(ValueError, match="-1 values cannot occur"):
        LabelTells(-1)


@given(st.lists(st.integers(0, 9), min_size=3, max_size=3), st.integers(1, 6))
def test_values_below_the_published_ones_are_crowded_where_each_with_a_row_would_be_small(
    counts: list[int], least: int
) -> None:
    collection = published(*counts, levels=(1,))
    if not any(counts):
        return
    shared = [own for own in product(range(1, 19), repeat=2) if sum(own) == counts[1] + counts[2]]
    expected = counts[1] + counts[2] > 0 and all(own[0] < least for own in shared)
    assert (crowded(collection, least) == ("job",)) == expected
