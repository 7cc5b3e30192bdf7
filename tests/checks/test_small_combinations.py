"""No combination is certain to be small: what the claim proves against integer programs over all tables of base values.

Collections have three to five nonsensitive attributes with levels, circles, several sensitive attributes and impossible
pairs. A combination that is small in the real table is asked about, and so are all others of an attribute's values.
"""

import os
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from math import inf
from time import process_time

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from checks import FULL, CriterionError, Question, Verdict, impossible, parse_claim
from filled_tables import apart, filled, flat_domain
from models import Collection, ContradictionError, DataCube, Deadline, Domain, Hierarchy, TimeOverError

CASES = range(3_000 if "MARGINALS_TIMES" in os.environ else 20)
Array = NDArray[np.int64]


def verdict(
    collection: Collection,
    k: int,
    sensitive: tuple[str, ...] = (),
    seconds: float = inf,
    criterion: str = "no-small-certain",
) -> Verdict:
    question = Question(collection, sensitive, budget=FULL.until(Deadline.after(seconds, process_time)))
    return parse_claim({"criterion": criterion, "k": k}).check(question).verdict


class Case:
    """Margins of a random table, and impossible pairs."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        names = "ABCDE"[: int(rng.choice([3, 3, 3, 4, 4, 5]))]
        hierarchies = {name: self._hierarchy(name, len(names)) for name in names}
        self.sensitive = tuple("ST"[: int(rng.choice([0, 1, 1, 2]))])
        self.domain = Domain.of(
            {**hierarchies, **{name: Hierarchy.flat([f"{name}0", f"{name}1"]) for name in self.sensitive}}
        )
        sizes = [hierarchy.size(0) for hierarchy in self.domain.hierarchies]
        self.cells = dict(zip(self.domain.attributes, np.indices(sizes).reshape(len(sizes), -1)))
        self.pairs, possible = list[dict[str, list[str]]](), np.ones(int(np.prod(sizes)), dtype=np.bool_)
        if rng.random() < 0.4:
            first, second = rng.choice(list(names), 2, replace=False).tolist()
            self.pairs = [{first: [f"{first}0"], second: [f"{second}1"]}]
            possible[(self.cells[first] == 0) & (self.cells[second] == 1)] = False
        self.upper = np.where(possible, np.inf, 0)
        pairs = [*combinations(names, 2)]
        shown = (
            pairs if rng.random() < 0.5 else [pairs[i] for i in rng.choice(len(pairs), rng.integers(2, len(pairs) + 1))]
        )
        shown = [*shown, *([tuple(names[:3])] if rng.random() < 0.1 else [])]
        for name in self.sensitive:
            for _ in range(int(rng.integers(1, 3))):
                shown.append((*rng.choice(list(names), rng.integers(1, 3), replace=False).tolist(), name))
        if len(self.sensitive) > 1 and rng.random() < 0.3:
            shown.append(self.sensitive)
        self.margins = [{a: int(rng.integers(self.domain.hierarchy(a).height)) for a in some} for some in shown]
        for _ in range(30):  # until each published class has two rows
            weights = rng.dirichlet(np.full(possible.sum(), rng.choice([0.1, 0.3, 1.0])))
            self.counts = np.zeros(len(possible), dtype=np.int64)
            self.counts[possible] = rng.multinomial(int(rng.choice([12, 40, 120, 400])), weights)
            cube = DataCube([filled(self.domain, self.counts)])
            masks = sorted(map(self.domain.mask, self.margins))
            self.k = max(int(min(cube.table(self._without_sensitive(mask)).counts.min() for mask in masks)), 2)
            if self.k > 2:
                break
        collection = Collection.of(cube, masks)
        self.collection = impossible.given_pairs(collection, self.pairs)

    def _hierarchy(self, name: str, attributes: int) -> Hierarchy:
        size = 2 if attributes > 4 or self.rng.random() < 0.4 else int(self.rng.integers(3, 4 + (attributes < 4)))
        if size == 2 or self.rng.random() < 0.4:
            return Hierarchy.flat([f"{name}{n}" for n in range(size)])
        return Hierarchy.from_rows([(f"{name}{n}", f"{name}{min(n, 1)}+", "*") for n in range(size)])

    def _without_sensitive(self, mask: int) -> int:
        return mask & ~sum(self.domain.attribute_masks[self.domain.index(name)] for name in self.sensitive)

    def inside(self, cell: dict[str, tuple[int, int]]) -> NDArray[np.bool_]:
        """The base cells with some values, by attribute a level and a code."""
        lifted = [self.domain.hierarchy(a).lift(0, level)[self.cells[a]] == code for a, (level, code) in cell.items()]
        return np.logical_and.reduce([np.ones(len(self.counts), dtype=np.bool_), *lifted])

    def cells_of(self, margin: dict[str, int]) -> Iterator[dict[str, tuple[int, int]]]:
        codes = product(*(range(self.domain.hierarchy(a).size(level)) for a, level in margin.items()))
        yield from (dict(zip(margin, zip(margin.values(), code))) for code in codes)

    def constraint(self) -> LinearConstraint:
        inside = [self.inside(cell) for margin in self.margins for cell in self.cells_of(margin)]
        totals = np.array([self.counts[cells].sum() for cells in inside])
        return LinearConstraint(np.array(inside) * 1.0, totals, totals)

    def combinations(self, aside: tuple[str, ...]) -> Iterator[NDArray[np.bool_]]:
        """The base cells of all combinations that the claim is about, and of their complements in each attribute."""
        shown = {
            a: sorted({margin[a] for margin in self.margins if a in margin})
            for a in self.domain.attributes
            if a not in aside and any(a in margin for margin in self.margins)
        }
        for number in range(1, len(shown) + 1):
            for some in combinations(shown, number):
                for levels in product(*(shown[a] if number <= 3 else shown[a][:1] for a in some)):
                    for cell in self.cells_of(dict(zip(some, levels))):
                        yield self.inside(cell)
                        for a in some if 1 < number <= 3 else ():
                            yield self.inside({b: at for b, at in cell.items() if b != a}) & ~self.inside({a: cell[a]})

    def certain(self, k: int, aside: tuple[str, ...]) -> bool:
        """Whether one of them has 1 to k - 1 rows in every table with the published counts and no impossible pair."""
        constraint, seen = self.constraint(), [self.counts]

        def extreme(inside: NDArray[np.bool_], sign: int) -> int:
            answer = milp(sign * inside.astype(float), constraints=constraint, bounds=Bounds(0, self.upper),
                          integrality=np.ones(len(inside)), options={"mip_rel_gap": 0.0})  # fmt: skip
            assert answer.success
            seen.append(np.rint(answer.x).astype(np.int64))
            return round(sign * answer.fun)

        for inside in self.combinations(aside):
            if any(not 0 < table[inside].sum() < k for table in seen):
                continue
            if extreme(inside, 1) > 0 and extreme(inside, -1) < k:
                return True
        return False


def test_what_is_proven_no_table_contradicts() -> None:
    seen = Counter[str]()
    for seed in CASES:
        try:
            case = Case(seed)
        except CriterionError:
            continue
        found = verdict(case.collection, case.k, case.sensitive)
        kind = f"{found.value}{' beside impossible pairs' if case.collection.supports else ''}"
        seen[kind] += 1
        if found is Verdict.HOLDS:
            assert not case.certain(case.k, case.sensitive), seed
    assert seen["holds"] > len(CASES) // 4, seen


def test_what_is_proven_of_sensitive_values_too_no_table_contradicts() -> None:
    seen = Counter[Verdict]()
    for seed in CASES:
        try:
            case = Case(seed)
        except CriterionError:
            continue
        k = min(int(table.counts.min()) for table in case.collection.tables)
        found = verdict(case.collection, max(k, 2), case.sensitive, criterion="no-small-cell-certain")
        seen[found] += bool(case.sensitive)
        assert found is not Verdict.HOLDS or not case.certain(max(k, 2), ()), seed
    assert seen[Verdict.HOLDS] > 0, seen


def test_counts_that_no_table_has_prove_nothing() -> None:
    """Pairs of which one was changed: a rectangle of it has one row more, and one fewer, so that all shared counts agree."""
    seen = Counter[bool]()
    for seed in CASES:
        rng = np.random.default_rng(seed)
        domain = flat_domain(A=2, B=int(rng.integers(2, 4)), C=3)
        sizes = [hierarchy.size(0) for hierarchy in domain.hierarchies]
        counts = rng.multinomial(int(rng.choice([10, 30])), rng.dirichlet(np.full(int(np.prod(sizes)), 0.2))).reshape(
            sizes
        )
        pairs = {"AB": counts.sum(2), "BC": counts.sum(0), "AC": counts.sum(1)}
        changed = pairs["AC"][:, :2] + int(rng.integers(1, 4)) * np.array([[1, -1], [-1, 1]])
        if changed.min() < 0:
            continue
        pairs["AC"] = np.hstack([changed, pairs["AC"][:, 2:]])
        cells = np.indices(sizes).reshape(3, -1)
        inside = [
            (cells["ABC".index(a)] == code) & (cells["ABC".index(b)] == other)
            for a, b in pairs
            for code, other in np.ndindex(*pairs[a + b].shape)
        ]
        totals = np.concatenate([own.ravel() for own in pairs.values()])
        answer = milp(np.zeros(cells.shape[1]), constraints=LinearConstraint(np.array(inside) * 1.0, totals, totals),
                      bounds=Bounds(0, np.inf), integrality=np.ones(cells.shape[1]))  # fmt: skip
        try:
            found = verdict(apart(domain, pairs), 2, seconds=0.2)
        except (ContradictionError, TimeOverError):
            found = Verdict.UNDECIDED
        seen[answer.success] += 1
        assert answer.success or found is not Verdict.HOLDS, seed
    assert seen[False] > 0, seen
