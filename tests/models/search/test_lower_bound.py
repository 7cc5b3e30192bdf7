"""The lower bound: no allowed collection is below it, and what it says of a part holds for all that go on from it."""

from dataclasses import replace
from functools import reduce
from importlib import import_module
from operator import or_

import numpy as np
from hypothesis import event, given, settings

from models.search import LikelihoodRatio, Problem, RefusalScope, forward, with_bound
from models.search.lower_bound import allowed_margins, lattice_size, lower_bound, score
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy
from search_oracles import Countdown, all_collections, allowed_values, goes_on_from, never
from search_strategies import private_problems, problems

any_problem = problems() | private_problems()


@given(any_problem)
def test_no_allowed_collection_is_below_the_bound(problem):
    best = min(allowed_values(problem).values())
    bound = lower_bound(problem, allowed_margins(problem, never)).value
    event("tight" if bound > best - 1e-9 else "not tight")
    assert 0 <= bound <= best + 1e-9


@settings(max_examples=40)
@given(any_problem)
def test_no_collection_that_goes_on_from_a_part_is_below_the_bound_of_the_part(problem):
    """What the exact search prunes by: the scores of the part, and the least that all the rest can cost."""
    bound = lower_bound(problem, allowed_margins(problem, never))
    values = allowed_values(problem)
    base = problem.cube.entropy(sum(problem.cube.domain.attribute_masks))
    for part in sorted(all_collections(problem.cube.domain), key=sorted)[::5]:
        vertices = reduce(or_, part, 0)
        at_least = cost(problem, part) + bound.to_go(vertices) - base
        assert all(v >= at_least - 1e-9 for cliques, v in values.items() if goes_on_from(cliques, part))


def cost(problem, part):
    """The scores of the cliques less those of the separators, the cliques one after another in perfect sequence."""
    shown, vertices, total = set(), 0, 0.0
    while rest := part - shown:
        new = max(rest, key=lambda m: max(((m & clique).bit_count() for clique in shown), default=0))
        total += score(problem, new) - score(problem, new & vertices)
        shown.add(new)
        vertices |= new
    return total


@settings(max_examples=60)
@given(any_problem)
def test_margins_are_allowed_unless_they_are_refused_for_good(problem):
    """With all that are coarser, whatever is asked first."""
    domain = problem.cube.domain
    allowed = allowed_margins(problem, never)
    assert next(iter(allowed)) == 0
    for mask in {margin for cliques in all_collections(domain) for margin in cliques}:
        refusal = problem.constraint([mask], mask)
        assert (mask in allowed) is (refusal is None or refusal.scope is not RefusalScope.FINER)
    for mask, node in allowed.items():
        assert node == tuple((mask & own).bit_count() for own in domain.attribute_masks)


@settings(max_examples=20)
@given(any_problem)
def test_a_bound_that_is_known_stays(problem):
    result = replace(forward(problem, never), bound=-1.0)
    assert with_bound(result, problem, never) is result


@settings(max_examples=20)
@given(any_problem)
def test_out_of_time_there_is_no_bound_and_no_gap(problem):
    result = with_bound(forward(problem, never), problem, Countdown(0))
    assert (result.bound, result.gap) == (None, None)


def cube_of(sizes, rows, seed=0):
    rng = np.random.default_rng(seed)
    domain = Domain.of({f"x{i:02}": Hierarchy.flat([str(v) for v in range(size)]) for i, size in enumerate(sizes)})
    columns = rng.integers(0, np.array(sizes)[:, None], (len(sizes), rows))
    codes = dict(zip(domain.attributes, columns))
    return DataCube([ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ones(rows, dtype=int))])


def test_a_rule_for_stopping_has_no_bound():
    cube = cube_of([2, 2], 20)
    problem = Problem(cube, objective=LikelihoodRatio(cube.total))
    assert with_bound(forward(problem, never), problem, never).bound is None


def test_beyond_the_largest_lattice_there_is_no_bound(monkeypatch):
    problem = Problem(cube_of([2, 2, 2], 20))
    assert lattice_size(problem) == 8
    monkeypatch.setattr(import_module("models.search.lower_bound"), "LARGEST_LATTICE", 7)
    assert with_bound(forward(problem, never), problem, never).bound is None


def test_time_is_looked_at_between_any_two_margins():
    """Counting the margins of a lattice can take longer than everything else."""
    problem = Problem(cube_of([2] * 8, 500))
    result = forward(problem, Countdown(0))
    known = []

    def recording():
        known.append(len(problem.cube._entropies))
        return False

    assert with_bound(result, problem, recording).bound == 0
    known.append(len(problem.cube._entropies))
    assert max(np.diff(known)) == 1
