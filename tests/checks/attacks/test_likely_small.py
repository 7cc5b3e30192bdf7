"""Small combinations as a model ranks them: by Poisson chances of what it expects, over all that no table shows."""

from itertools import combinations, product
from math import exp, factorial

import numpy as np
import pytest

from checks.attacks import likely_small as module
from checks.attacks.likely_small import likely_small
from models import NEVER, Collection, ContingencyTable, DataCube, Deadline, Domain, Hierarchy, MarginalModel

DOMAIN = Domain.of(
    {name: Hierarchy.flat([f"{value:02}" for value in range(size)]) for name, size in zip("abc", (9, 8, 7))}
)


def test_it_is_right_as_often_as_the_combinations_that_come_first() -> None:
    rng = np.random.default_rng(1)
    counts = rng.poisson(rng.gamma(0.4, 3.0, (9, 8, 7)))
    codes = dict(zip("abc", np.unravel_index(np.arange(counts.size), counts.shape)))
    table = ContingencyTable.from_cells(DOMAIN, dict.fromkeys("abc", 0), codes, counts.ravel())
    cube = DataCube([table])
    collection = Collection.of(cube, [DOMAIN.mask({"a": 0, "b": 0}), DOMAIN.mask({"c": 0})])

    def counted(margin: dict[str, int]) -> np.ndarray:
        return counts.sum(axis=tuple(i for i, name in enumerate("abc") if name not in margin)).ravel()

    found = likely_small(MarginalModel(collection), "abc", 4, NEVER, counted)
    ranked = []
    total = counts.sum()
    for names in (n for size in (2, 3) for n in combinations("abc", size)):
        if names == ("a", "b"):  # a table shows it
            continue
        for cell in product(*(range(dict(zip("abc", counts.shape))[name]) for name in names)):
            at = dict(zip(names, cell))
            rows = counts[tuple(at.get(name, slice(None)) for name in "abc")].sum()
            joint = counts[at.get("a", slice(None)), at.get("b", slice(None))].sum()
            expected = joint * counts[:, :, at["c"]].sum() / total
            ranked.append((-sum(exp(-expected) * expected**n / factorial(n) for n in (1, 2, 3)), 1 <= rows <= 3))
    ranked.sort(key=lambda pair: pair[0])
    (top,) = found.tops
    assert (top.number, found.combinations, found.unread) == (100, sum(chance < 0 for chance, _ in ranked), 0)
    assert top.expected == pytest.approx(-sum(chance for chance, _ in ranked[:100]) / 100)
    assert top.right == pytest.approx(sum(right for _, right in ranked[:100]) / 100, abs=0.02)  # ties
    one_way = [counts.sum(axis=tuple({0, 1, 2} - {axis})) for axis in range(3)]
    by_chance = []
    for names in (n for size in (2, 3) for n in combinations("abc", size) if n != ("a", "b")):
        expected = np.einsum(*(part for name in names for part in (one_way["abc".index(name)], ["abc".index(name)])))
        expected = (expected / total ** (len(names) - 1)).ravel()
        chances = sum(np.exp(-expected) * expected**n / factorial(n) for n in (1, 2, 3))
        by_chance += zip(chances.tolist(), counted(dict.fromkeys(names, 0)).tolist())
    by_chance.sort(key=lambda pair: -pair[0])
    less = {"the same": MarginalModel(collection)}
    beside = likely_small(MarginalModel(collection), "abc", 4, NEVER, counted, less).beside
    assert set(beside) == {"independence", "the same"}
    assert beside["the same"] == found.tops
    (independent,) = beside["independence"]
    assert independent.expected == pytest.approx(sum(chance for chance, _ in by_chance[:100]) / 100)
    assert independent.right == pytest.approx(sum(1 <= rows <= 3 for _, rows in by_chance[:100]) / 100, abs=0.03)
    assert independent.right < top.right
    alone = likely_small(MarginalModel(collection), "abc", 4, NEVER)
    assert [(t.number, t.expected, t.right) for t in alone.tops] == [(100, top.expected, None)]


def test_what_was_not_looked_at_in_time_is_counted() -> None:
    table = ContingencyTable.from_cells(DOMAIN, {"a": 0}, {"a": np.arange(9)}, np.full(9, 5))
    other = ContingencyTable.from_cells(DOMAIN, {"b": 0}, {"b": np.array([0])}, [45])
    collection = Collection.of(DataCube([table, other]), [table.mask, other.mask])
    found = likely_small(MarginalModel(collection), "abc", 4, Deadline.after(-1.0, lambda: 0.0))
    assert (found.unread, found.tops) == (1, ())


@pytest.mark.parametrize(
    ("limit", "most", "alone"),
    [("_MOST_MARGINS", 1, "ac"), ("_MOST_CELLS_IN_ALL", 63, "ac"), ("_MOST_CELLS", 60, "bc")],
)
def test_what_is_beyond_a_limit_is_counted_and_the_rest_ranked(
    limit: str, most: int, alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 63 cells of a and c, 56 of b and c, and 504 of all three, those of one margin are looked at."""
    counts = np.random.default_rng(2).poisson(2.0, (9, 8, 7))
    codes = dict(zip("abc", np.unravel_index(np.arange(counts.size), counts.shape)))
    table = ContingencyTable.from_cells(DOMAIN, dict.fromkeys("abc", 0), codes, counts.ravel())
    model = MarginalModel(Collection.of(DataCube([table]), [DOMAIN.mask({"a": 0, "b": 0}), DOMAIN.mask({"c": 0})]))
    rest = likely_small(model, alone, 4, NEVER)
    monkeypatch.setattr(module, limit, most)
    found = likely_small(model, "abc", 4, NEVER)
    assert (found.unread, found.combinations, found.tops) == (2, rest.combinations, rest.tops)
