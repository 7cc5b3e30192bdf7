"""Possible tables: rows with every published count, made from these counts alone."""

import hashlib
import time
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from filled_tables import apart, filled, flat_domain, published
from models import (
    Cells,
    Collection,
    ContingencyTable,
    ContradictionError,
    DataCube,
    Deadline,
    Domain,
    Hierarchy,
    Support,
    TooManyCellsError,
    possible_table,
)
from models.inference.possible_tables import Bits, _Search


def rows_of(collection: Collection, seed: int = 0, seconds: float = 20.0) -> dict[str, np.ndarray] | None:
    return possible_table(collection, seed, Deadline.after(seconds, time.process_time))


def counts_of(
    collection: Collection, rows: dict[str, np.ndarray], table: ContingencyTable
) -> dict[tuple[int, ...], int]:
    hierarchy, finest = collection.domain.hierarchy, collection.finest_levels
    columns = (hierarchy(a).lift(finest[a], level)[rows[a]].tolist() for a, level in table.margin.items())
    return Counter(zip(*columns))


def has_every_count(collection: Collection, rows: dict[str, np.ndarray]) -> bool:
    """Whether the rows have all counts of all margins, counted row by row."""
    return all(
        counts_of(collection, rows, table)
        == dict(zip(zip(*map(np.ndarray.tolist, table.codes)), table.counts.tolist()))
        for table in collection.tables
    )


def random_collection(rng: np.random.Generator) -> Collection:
    """Margins of up to three of three to five attributes, at any of their levels: trees, circles and stairs."""
    hierarchies = {}
    for name in "abcde"[: rng.integers(3, 6)]:
        labels = [f"{name}{n}" for n in range(rng.integers(2, 5))]
        merged = [f"{name}{min(int(label[1:]), 1)}+" for label in labels]
        hierarchies[name] = Hierarchy.from_rows(list(zip(labels, merged, "*" * len(labels))))
    domain = Domain.of(hierarchies)
    cube = DataCube(
        [
            filled(
                domain,
                rng.poisson(
                    rng.choice([0.2, 1.0, 4.0]), domain.cell_count(domain.mask(dict.fromkeys(domain.attributes, 0)))
                ),
            )
        ]
    )
    shown = [*combinations(domain.attributes, 2), *combinations(domain.attributes, 3)]
    chosen = rng.choice(len(shown), rng.integers(2, len(shown)), replace=False)
    return Collection.of(cube, [domain.mask({a: int(rng.integers(0, 2)) for a in shown[i]}) for i in chosen])


def test_of_any_margins_a_table_with_every_count_is_found() -> None:
    rng = np.random.default_rng(1)
    for seed in range(150):
        collection = random_collection(rng)
        if collection.cube.total:
            rows = rows_of(collection, seed)
            assert rows is not None, (seed, collection)
            assert has_every_count(collection, rows), (seed, collection)


@pytest.mark.parametrize("values", [3, 5, 8])
def test_tables_that_no_bounded_exchange_connects_are_both_found(values: int) -> None:
    """Rows (0, i, i) and (1, i, i + 1), all pairs published: there are two possible tables, with no row in common."""
    domain = flat_domain(a=2, b=values, c=values)
    counts = np.zeros((2, values, values), dtype=int)
    for i in range(values):
        counts[0, i, i] = counts[1, i, (i + 1) % values] = 1
    collection = published(filled(domain, counts), "ab", "ac", "bc")
    found = set()
    for seed in range(12):
        rows = rows_of(collection, seed)
        assert rows is not None
        assert has_every_count(collection, rows)
        found.add(frozenset(zip(*(column.tolist() for column in rows.values()))))
    assert len(found) == 2


def test_where_there_is_no_such_table_none_is_found() -> None:
    """Pairs that agree on all counts they share: a = b and b = c, but a is not c."""
    domain = flat_domain(a=2, b=2, c=2)
    collection = apart(domain, {"ab": [5, 0, 0, 5], "bc": [5, 0, 0, 5], "ac": [0, 5, 5, 0]})
    assert possible_table(collection) is None


def test_a_search_that_stays_far_from_the_counts_ends_after_few_shakes(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = flat_domain(a=2, b=2, c=2)
    collection = apart(domain, {"ab": [500, 0, 0, 500], "bc": [500, 0, 0, 500], "ac": [0, 500, 500, 0]})
    tries, directed = [], _Search.directed
    monkeypatch.setattr(_Search, "directed", lambda search: tries.append(directed(search)))
    assert possible_table(collection) is None
    assert len(tries) < 3_000


def test_where_errors_fall_slowly_large_ones_weigh_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.inference.possible_tables._PATIENCE", 1)
    steep, sweep = set(), _Search.sweep

    def followed(search: _Search, weights: Bits) -> None:
        sweep(search, weights)
        assert search.distance == np.abs(search.off).sum()
        steep.add(search._is_steep and int(search.more.max()) > 1)

    monkeypatch.setattr(_Search, "sweep", followed)
    counts = np.random.default_rng(1).gamma(0.1, 600, (4,) * 4).astype(int)
    collection = published(filled(flat_domain(a=4, b=4, c=4, d=4), counts), *map("".join, combinations("abcd", 2)))
    rows = rows_of(collection)
    assert rows is not None
    assert has_every_count(collection, rows)
    assert True in steep


def test_impossible_combinations_have_no_rows() -> None:
    domain = flat_domain(a=2, b=2, c=2)
    tables = published(filled(domain, [3, 0, 2, 2, 0, 4, 2, 1]), "a", "b", "c")
    everything = Cells.of(domain, {"a": 0, "b": 0}, {"a": np.array([0, 1, 1]), "b": np.array([0, 0, 1])})
    for seed in range(20):
        collection = Collection.of(tables.cube, tables.masks, [Support(everything, np.ones(3))])
        rows = rows_of(collection, seed, seconds=0.2)
        expected = (
            tables.cube.table(domain.mask({"a": 0})).counts[0] <= tables.cube.table(domain.mask({"b": 0})).counts[0]
        )
        assert (rows is not None) == expected
        if rows is not None:
            assert has_every_count(collection, rows)
            assert not ((rows["a"] == 0) & (rows["b"] == 1)).any()


def test_the_same_counts_and_seed_give_the_same_table_everywhere() -> None:
    """Whatever the rows behind the counts; the digest is that of one machine."""
    domain = flat_domain(a=3, b=3, c=3)
    counts = np.random.default_rng(5).poisson(2, (3, 3, 3)) + 1
    other = counts.copy()  # all pairs of attributes have the same counts
    other[:2, :2, :2] += np.array([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]])
    digests = set()
    for seed in (0, 1):
        tables = [rows_of(published(filled(domain, of), "ab", "ac", "bc"), seed) for of in (counts, other)]
        bytes_of = [b"".join(column.tobytes() for column in rows.values()) for rows in tables if rows is not None]
        assert bytes_of[0] == bytes_of[1]
        digests.add(hashlib.sha256(bytes_of[0]).hexdigest()[:12])
    assert digests == {"21dabba29800", "46f3975bdb29"}


def test_what_a_search_takes_for_found_is_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = published(filled(flat_domain(a=3, b=3, c=3), np.arange(27)), "ab", "bc", "ac")
    monkeypatch.setattr("models.inference.possible_tables._Search.mend", lambda *_: True)
    with pytest.raises(ContradictionError, match="other counts"):
        possible_table(collection)


@pytest.mark.parametrize("things", ["cells", "rows"])
def test_margins_of_too_many_cells_or_rows_are_refused(things: str, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = published(filled(flat_domain(a=3, b=3), np.ones(9, dtype=int)), "ab")
    monkeypatch.setattr(f"models.inference.possible_tables._MOST_{things.upper()}", 8)
    with pytest.raises(TooManyCellsError, match=f"9 {things}"):
        rows_of(collection)


def test_counts_of_thousands_of_millions_of_people_are_refused_before_rows_are_made() -> None:
    """They ended in a MemoryError, also in `verify` of a bundle that somebody made up."""
    collection = published(filled(flat_domain(a=2, b=2, c=2), np.full(8, 10**9)), "ab", "bc", "ac")
    with pytest.raises(TooManyCellsError, match="rows"):
        rows_of(collection)
