"""Plausible tables keep every published count, and are drawn as the module says: by brute force on small ones."""

from collections import Counter
from itertools import islice
from math import comb, exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, PlausibleTables

DOMAIN = Domain.of(
    {
        "a": Hierarchy.from_rows([("0", "low", "*"), ("1", "low", "*"), ("2", "high", "*"), ("3", "high", "*")]),
        "b": Hierarchy.flat(["0", "1", "2"]),
        "c": Hierarchy.from_rows([("0", "x", "*"), ("1", "x", "*"), ("2", "y", "*")]),
        "d": Hierarchy.flat(["0", "1"]),
    }
)


MARGINS = [
    [{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"c": 1, "d": 0}],
    [{"a": 1, "b": 0}, {"a": 0}, {"c": 0, "d": 0}],
    [{"a": 0, "b": 0, "d": 0}, {"a": 1, "c": 0}],
    [{"a": 0}, {"b": 0}, {"c": 0}, {"d": 0}],
    [{"a": 1, "c": 1}, {"a": 0, "d": 0}, {"b": 0, "c": 0}],
]


def table_of(rows: np.ndarray) -> ContingencyTable:
    codes = {name: rows[:, place] for place, name in enumerate(DOMAIN.attributes)}
    return ContingencyTable.from_cells(DOMAIN, dict.fromkeys(DOMAIN.attributes, 0), codes, [1] * len(rows))


@settings(deadline=None)
@given(st.sampled_from(MARGINS), st.integers(1, 60), st.integers(0, 10_000))
def test_every_published_count_is_kept(margins: list[dict[str, int]], rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [DOMAIN.hierarchy(name).size(0) for name in DOMAIN.attributes]
    data = table_of(np.stack([rng.integers(0, size, rows) for size in sizes], axis=1))
    collection = Collection.of(DataCube([data]), [DOMAIN.mask(margin) for margin in margins])
    levels = collection.finest_levels
    for drawn in islice(PlausibleTables(collection).drawn(rng), 3):
        for margin in margins:
            lifted = [DOMAIN.hierarchy(a).lift(levels[a], level)[drawn[a]] for a, level in margin.items()]
            published = collection.cube.table(DOMAIN.mask(margin))
            columns = [published.column(a, level).tolist() for a, level in margin.items()]
            assert Counter(zip(*(column.tolist() for column in lifted))) == Counter(
                dict(zip(zip(*columns), published.counts.tolist()))
            )


def pair_of(*, ones_of_b: int, ones_of_d: int, rows: int) -> Collection:
    """b and d in tables of their own, b with two values."""
    data = np.zeros((rows, 4), dtype=np.int64)
    data[:ones_of_b, 1] = 1
    data[:ones_of_d, 3] = 1
    return Collection.of(DataCube([table_of(data)]), [DOMAIN.mask({"b": 0}), DOMAIN.mask({"d": 0})])


@pytest.mark.parametrize("strength", [0.0, 0.6])
def test_tables_are_drawn_by_arrangements_and_interactions(monkeypatch: pytest.MonkeyPatch, strength: float) -> None:
    """The number of rows with both: how many arrangements have it, times exp of the interactions; 3 and 4 of 8 rows."""
    scores = np.array([strength, -strength, 0.0]), np.array([1.0, -1.0])
    monkeypatch.setattr(PlausibleTables, "_interactions", lambda *_: {("b", "d"): scores})
    collection = pair_of(ones_of_b=3, ones_of_d=4, rows=8)
    drawn = islice(PlausibleTables(collection).drawn(np.random.default_rng(5)), 4000)
    both = Counter(int(np.sum((table["b"] == 1) & (table["d"] == 1))) for table in drawn)
    weights = []
    for count in range(4):
        alike, unlike = count + (8 - 3 - 4 + count), 3 + 4 - 2 * count
        weights.append(comb(3, count) * comb(5, 4 - count) * exp(strength * (alike - unlike)))
    expected = 4000 * np.array(weights) / sum(weights)
    first, second = (next(PlausibleTables(collection).drawn(np.random.default_rng(2))) for _ in range(2))
    assert all((first[name] == second[name]).all() for name in first)
    observed = np.array([both[count] for count in range(4)])
    assert float(((observed - expected) ** 2 / expected).sum()) < 21.1  # chi2 of three degrees of freedom, 1 in 10,000


def test_correlations_are_those_of_published_pairs() -> None:
    """Of two attributes with two values it is the correlation, less what chance shows; of independent ones 0."""
    rng = np.random.default_rng(1)
    data = rng.integers(0, 2, (5000, 4))
    data[:, 3] = np.where(rng.random(5000) < 0.75, data[:, 1], 1 - data[:, 1])
    for pair, expected in (("bd", abs(np.corrcoef(data[:, 1], data[:, 3])[0, 1])), ("ab", 0.025)):
        collection = Collection.of(DataCube([table_of(data)]), [DOMAIN.mask(dict.fromkeys(pair, 0))])
        assert PlausibleTables(collection).correlations == pytest.approx(
            [expected], abs=0.01 if pair == "bd" else 0.025
        )
