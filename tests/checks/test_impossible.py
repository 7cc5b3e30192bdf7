"""Claims given pairs of values that nobody has, against integer programs over the tables that are 0 there."""

import os
from collections import Counter
from collections.abc import Iterable
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from checks import Claim, CriterionError, Question, Verdict, impossible, parse_claim
from filled_tables import apart, flat_domain, of_rows
from models import Collection, DataCube, Domain, Hierarchy

given_pairs = impossible.given_pairs
CASES = 2_000 if "MARGINALS_TIMES" in os.environ else 40
SENSITIVE = "S"
Pairs = list[dict[str, list[str]]]
Cells = NDArray[np.intp]


def claims(k: int) -> list[Claim]:
    return [parse_claim({"criterion": name, "k": k}) for name in ("k-combinatorial", "min-cell", "no-small-certain")]


def sensitive_of(collection: Collection) -> tuple[str, ...]:
    return tuple(name for name in collection.domain.attributes if name == SENSITIVE)


def verdicts(collection: Collection, pairs: Pairs, k: int) -> list[Verdict]:
    question = Question(given_pairs(collection, pairs), sensitive_of(collection))
    return [claim.check(question).verdict for claim in claims(k)]


def test_two_one_way_tables_leak_where_first_values_exclude_each_other() -> None:
    collection = apart(flat_domain(A=2, B=2), {"A": [3, 4], "B": [3, 4]})
    assert verdicts(collection, [], 3) == [Verdict.HOLDS] * 3
    # A0 has B1 alone and B0 has A1 alone, so that one row is left for A1 and B1
    assert verdicts(collection, [{"A": ["A0"], "B": ["B0"]}], 3) == [Verdict.FAILS] * 3


def test_pairs_that_a_table_shows_as_empty_add_nothing() -> None:
    collection = apart(flat_domain(A=2, B=2, C=2), {"AB": [0, 3, 3, 4], "BC": [3, 0, 4, 3]})
    assert given_pairs(collection, [{"A": ["A0"], "B": ["B0"]}]) is collection
    assert verdicts(collection, [{"A": ["A0"], "B": ["B0"]}], 3) == [Verdict.HOLDS] * 3


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ({"A": ["A0"]}, "labels of two attributes"),
        ({"A": ["A0"], "Z": ["B0"]}, "labels of two attributes"),
        ({"A": ["A0"], "B": []}, "labels of two attributes"),
        ({"A": ["A0"], "B": ["b"]}, "'B' has no value or label 'b'"),
        ({"A": ["A0", "A1"], "B": ["B0", "B1"]}, "no row possible"),
    ],
)
def test_what_is_no_pair_is_refused(pair: dict[str, list[str]], message: str) -> None:
    with pytest.raises(CriterionError, match=message):
        given_pairs(apart(flat_domain(A=2, B=2), {"A": [3, 4], "B": [3, 4]}), [pair])


def test_values_below_published_ones_that_are_in_several_pairs_are_not_judged() -> None:
    domain = Domain.of({"A": Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*")]), "B": Hierarchy.flat("cd"),
                        "C": Hierarchy.flat("ef")})  # fmt: skip
    collection = Collection.of(
        DataCube([of_rows(domain, [[0, 0, 0]] * 5 + [[1, 1, 1]] * 5)]),
        [domain.mask({"A": 1, name: 0}) for name in "BC"],
    )
    pairs = [{"A": ["a"], "B": ["d"]}, {"A": ["b"], "C": ["e"]}]
    with pytest.raises(CriterionError, match="coarser"):
        given_pairs(collection, pairs)
    assert given_pairs(collection, pairs[:1]) is collection


class Case:
    """A random table without rows in some pairs, and margins of it at any levels."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        names = "ABCD"[: int(rng.choice([2, 3, 3, 3, 4]))]
        hierarchies = {name: self._hierarchy(name, len(names) < 4) for name in names}
        if len(names) < 4 and rng.random() < 0.3:
            hierarchies[SENSITIVE] = Hierarchy.flat("st")
        self.domain = Domain.of(hierarchies)
        self.cells = np.array(list(product(*(range(h.size(0)) for h in hierarchies.values()))))
        self.pairs = [self._pair(*rng.choice(list(names), 2, replace=False)) for _ in range(int(rng.integers(1, 4)))]
        self.possible = ~np.logical_or.reduce([self._inside(pair) for pair in self.pairs])
        rows = int(rng.integers(4, 40) if rng.random() < 0.3 else rng.integers(40, 400))
        self.counts = np.zeros(len(self.cells), dtype=np.int64)
        if self.possible.any():
            weights = rng.dirichlet(np.full(self.possible.sum(), 0.5))
            self.counts[self.possible] = rng.multinomial(rows, weights)
        cube = DataCube([of_rows(self.domain, np.repeat(self.cells, self.counts, axis=0))] if self.counts.any() else [])
        circle = [names[:2], names[1:3], names[0] + names[2]] if len(names) > 2 and rng.random() < 0.3 else []
        some = [self._some() for _ in range(int(rng.integers(1, 5)))]
        self.collection = Collection.of(cube, [self._mask(own) for own in circle or some])
        self.k = int(rng.integers(2, 5))

    def _hierarchy(self, name: str, may_have_three: bool) -> Hierarchy:
        size = int(self.rng.integers(2, 4)) if may_have_three else 2
        if size == 2 or self.rng.random() < 0.4:
            return Hierarchy.flat([f"{name}{n}" for n in range(size)])
        groups = [0, 0, 1] if self.rng.random() < 0.5 else [0, 1, 1]
        return Hierarchy.from_rows([(f"{name}{n}", f"{name}g{group}", "*") for n, group in enumerate(groups)])

    def _pair(self, *names: str) -> dict[str, list[str]]:
        pair = {}
        for name in map(str, names):
            hierarchy = self.domain.hierarchy(name)
            labels = hierarchy.labels[int(self.rng.integers(hierarchy.height)) if self.rng.random() < 0.3 else 0]
            number = int(self.rng.integers(1, max(len(labels), 2)))
            pair[name] = [str(label) for label in self.rng.choice(labels, number, replace=False)]
        return pair

    def _some(self) -> list[str]:
        number = min(len(self.domain.attributes), int(self.rng.integers(1, 4)))
        return [str(name) for name in self.rng.choice(self.domain.attributes, number, replace=False)]

    def _mask(self, names: Iterable[str]) -> int:
        heights = {name: self.domain.hierarchy(name).height for name in names}
        return self.domain.mask({name: int(self.rng.integers(height)) for name, height in heights.items()})

    def column(self, name: str, level: int) -> Cells:
        return self.domain.hierarchy(name).lift(0, level)[self.cells[:, self.domain.attributes.index(name)]]

    def _inside(self, pair: dict[str, list[str]]) -> NDArray[np.bool_]:
        inside = np.ones(len(self.cells), dtype=np.bool_)
        for name, labels in pair.items():
            levels = enumerate(self.domain.hierarchy(name).labels)
            inside &= np.logical_or.reduce([np.isin(np.array(own)[self.column(name, n)], labels) for n, own in levels])
        return inside

    def groups(self, levels: dict[str, int]) -> list[NDArray[np.bool_]]:
        keys = np.stack([self.column(name, level) for name, level in levels.items()], axis=1)
        return [(keys == key).all(axis=1) for key in np.unique(keys, axis=0)]

    def range_of(self, inside: NDArray[np.bool_]) -> tuple[int, int]:
        """The least and the largest count over all tables of base cells with the margins that are 0 at the pairs."""
        rows = [row for margin in self.collection.margins for row in self.groups(dict(margin))]
        rows.append(np.ones(len(self.cells), dtype=np.bool_))
        totals = [self.counts[row].sum() for row in rows]
        upper = np.where(self.possible, self.counts.sum(), 0)
        ends = []
        for sign in (1, -1):
            answer = milp(sign * inside.astype(float), constraints=LinearConstraint(np.array(rows) * 1.0, totals, totals),
                          bounds=Bounds(0, upper), integrality=np.ones(len(inside)),
                          options={"mip_rel_gap": 0.0})  # fmt: skip
            assert answer.success
            ends.append(round(sign * answer.fun))
        return ends[0], ends[1]

    def is_true(self, criterion: str) -> bool:
        """Whether no base cell, or no combination, has a count that the claim rules out."""
        aside = () if criterion == "min-cell" else (SENSITIVE,)
        names = [name for name in self.domain.attributes if name not in aside]
        if criterion != "no-small-certain":
            cells = self.groups(dict.fromkeys(names, 0))
            return all(not 0 < self.range_of(cell)[1] < self.k for cell in cells)
        for some in (some for number in range(1, len(names) + 1) for some in combinations(names, number)):
            heights = [self.domain.hierarchy(name).height for name in some]
            finest = [self.collection.finest_level(name) for name in some]
            for levels in product(*map(range, finest, heights)):
                for cell in self.groups(dict(zip(some, levels))):
                    least, most = self.range_of(cell)
                    if least > 0 and most < self.k:
                        return False
        return True


def test_what_holds_given_pairs_holds_of_all_tables_that_are_empty_there() -> None:
    """Of 2,000 cases 0 were wrong (seeds 0 to 1999); pairs are shown or not, tables form trees and circles."""
    seen = Counter[str]()
    for seed in range(CASES):
        try:
            case = Case(seed)
            given = given_pairs(case.collection, case.pairs)
        except (CriterionError, ValueError):
            continue
        for claim in claims(case.k):
            verdict = claim.check(Question(given, sensitive_of(given))).verdict
            seen[f"{verdict.value}{' beside supports' if given.supports else ''}"] += 1
            seen[f"{verdict.value}{'' if case.collection.is_decomposable else ' in circles'}"] += 1
            if verdict is Verdict.HOLDS:
                assert case.is_true(claim.criterion), (seed, claim)
    assert min(seen["holds"], seen["holds beside supports"], seen["fails beside supports"]) > CASES // 30, seen
