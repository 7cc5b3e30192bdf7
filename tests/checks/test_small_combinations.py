"""No combination is certain to be small: what the claim proves against integer programs over all tables of base values.

Collections have three to five nonsensitive attributes with levels, circles, several sensitive attributes and impossible
pairs. A combination that is small in the real table is asked about, and so are all others of an attribute's values.
"""

import os
from collections import Counter
from math import inf
from time import process_time

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from checks import FULL, CriterionError, Question, Verdict, parse_claim
from drawn_margins import DrawnMargins
from filled_tables import apart, flat_domain
from models import Collection, ContradictionError, Deadline, TimeOverError

CASES = range(3_000 if "MARGINALS_TIMES" in os.environ else 20)


def verdict(
    collection: Collection,
    k: int,
    sensitive: tuple[str, ...] = (),
    seconds: float = inf,
    criterion: str = "no-small-certain",
) -> Verdict:
    question = Question(collection, sensitive, budget=FULL.until(Deadline.after(seconds, process_time)))
    return parse_claim({"criterion": criterion, "k": k}).check(question).verdict


def test_what_is_proven_no_table_contradicts() -> None:
    seen = Counter[str]()
    for seed in CASES:
        try:
            case = DrawnMargins(seed)
        except CriterionError:
            continue
        found = verdict(case.collection, case.k, case.sensitive)
        kind = f"{found.value}{' beside impossible pairs' if case.collection.supports else ''}"
        seen[kind] += 1
        if found is Verdict.HOLDS:
            assert not case.has_small_certain(case.k, case.sensitive), seed
    assert seen["holds"] > len(CASES) // 4, seen


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_counts_that_are_no_numbers_clear_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of matrices that gave NaN once cleared every combination that it should have counted."""
    case = next(case for case in map(DrawnMargins, CASES) if verdict(case.collection, case.k) is Verdict.HOLDS)
    monkeypatch.setattr("checks.small_combinations._products", lambda _, factors: np.full([*map(len, factors)], np.nan))
    assert verdict(case.collection, case.k) is not Verdict.HOLDS


def test_what_is_proven_of_sensitive_values_too_no_table_contradicts() -> None:
    seen = Counter[Verdict]()
    for seed in CASES:
        try:
            case = DrawnMargins(seed)
        except CriterionError:
            continue
        k = min(int(table.counts.min()) for table in case.collection.tables)
        found = verdict(case.collection, max(k, 2), case.sensitive, criterion="no-small-cell-certain")
        seen[found] += bool(case.sensitive)
        assert found is not Verdict.HOLDS or not case.has_small_certain(max(k, 2), ()), seed
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
