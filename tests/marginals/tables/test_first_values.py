"""What the first rows show decides how rows are counted, never what they are counted as."""

from collections import Counter
from datetime import date

import pytest

from marginals.tables import frames
from marginals.tables.distinct_rows import DistinctRows, text_of
from marginals.tables.frames import FewDistinctRows, counted_by_first_values

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

COLUMNS = {
    "text": ["b", "a", None, "it's", "", "c", "a\x1f"] * 6 + ["rare"],
    "whole": [3, 1, 2, 3, None, 1, 7] * 6 + [99],
    "real": [0.5, 0.1, 1.0, None, float("nan"), 2.0, 0.5] * 6 + [1e300],
    "day": [date(2024, 1, 1), None, date(2023, 5, 6)] * 14 + [date(1800, 1, 1)],
    "missing": [None] * 43,
}
EXPECTED = Counter(tuple(map(text_of, row)) for row in zip(*COLUMNS.values()))


def counted(most: int) -> FewDistinctRows | None:
    table = pa.table({f"v{place}": values for place, values in enumerate(COLUMNS.values())})
    connection = duckdb.connect()  # relations of older versions end with it
    return counted_by_first_values(connection.from_arrow(table), list(COLUMNS), most, "the table")


def all_of(up_to: FewDistinctRows | None) -> DistinctRows:
    assert up_to is not None
    assert up_to.rows is not None
    return up_to.rows


def rows_of(distinct: DistinctRows) -> Counter[tuple[str | None, ...]]:
    texts = [[distinct.values[column][code] for code in codes.tolist()] for column, codes in distinct.codes.items()]
    rows: Counter[tuple[str | None, ...]] = Counter()
    for row, count in zip(zip(*texts), distinct.counts.tolist()):
        assert row not in rows, "a distinct row comes once"
        rows[row] = count
    return rows


@pytest.mark.parametrize("first", [0, 1, 5, 30, 1000])
def test_rows_are_counted_alike_however_few_are_looked_at_first(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_FIRST", first)
    monkeypatch.setattr(frames, "_FEW", 1)
    assert rows_of(all_of(counted(1000))) == EXPECTED


@pytest.mark.parametrize("first", [1, 1000])
def test_more_rows_than_fit_are_none_and_as_many_as_fit_are_all(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_FIRST", first)
    monkeypatch.setattr(frames, "_FEW", 1)
    assert counted(len(EXPECTED) - 1) == FewDistinctRows(None)
    assert len(all_of(counted(len(EXPECTED)))) == len(EXPECTED)


def test_where_many_rows_have_other_values_or_a_column_has_many_it_is_left_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frames, "_FIRST", 1)
    assert counted(1000) is None
    monkeypatch.setattr(frames, "_FIRST", 1000)
    monkeypatch.setattr(frames, "_MOST_IN_LIST", 3)
    assert counted(1000) is None
