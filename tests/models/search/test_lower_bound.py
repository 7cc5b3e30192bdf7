"""The lower bound: no allowed collection is below it, and what it says of a part holds for all that go on from it."""

from dataclasses import replace
from functools import reduce
from importlib import import_module
from operator import or_

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from models import (
    KL,
    ContingencyTable,
    DataCube,
    Deadline,
    Domain,
    Hierarchy,
    LikelihoodRatio,
    MarginLimits,
    Problem,
    RefusalScope,
    forward,
    with_bound,
)
from models.search.lower_bound import (
    allowed_margins,
    coarse_grid,
    finest_alone,
    lower_bound,
    of_finest_levels,
    score,
    whole_grid,
)
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
    assert with_bound(result, problem) is result


@settings(max_examples=20)
@given(any_problem)
def test_out_of_time_there_is_no_bound_and_no_gap(problem):
    result = with_bound(forward(problem, never), problem, Deadline(0.0))
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
    assert with_bound(forward(problem, never), problem).bound is None


@given(any_problem, st.data())
def test_no_allowed_collection_is_below_the_bound_of_a_grid(problem, data):
    """Whatever resolutions are told apart, and the table of the finest levels is below that."""
    best, finest = min(allowed_values(problem).values()), finest_alone(problem)
    grid = tuple(
        (0, *sorted(data.draw(st.sets(st.integers(1, last - 1))) if last > 1 else ()), *([last] if last else []))
        for last in finest
    )
    unpriced = replace(problem, objective=KL)
    bound = lower_bound(unpriced, allowed_margins(unpriced, never, grid), grid).value
    event("not the whole lattice" if grid != whole_grid(problem) else "the whole lattice")
    event("above 0" if bound > 1e-9 else "0")
    event("tight" if bound > best - 1e-9 else "not tight")
    assert of_finest_levels(problem, finest) - 1e-9 <= bound <= best + 1e-9


@settings(max_examples=40)
@given(any_problem)
def test_each_attribute_is_allowed_as_finely_as_said_and_no_finer(problem):
    alone = [node for node in allowed_margins(problem, never).values() if sum(map(bool, node)) == 1]
    expected = [max((node[i] for node in alone), default=0) for i in range(len(problem.cube.domain.attributes))]
    assert finest_alone(problem) == tuple(expected)


@given(any_problem, st.integers(1, 30))
def test_a_grid_has_so_many_margins_at_most_and_the_finest_of_each_attribute(problem, most):
    finest = finest_alone(problem)
    grid = coarse_grid(problem, finest, most)
    if grid is None:
        assert 2 ** sum(map(bool, finest)) > most
        return
    assert np.prod([len(resolutions) for resolutions in grid]) <= most
    assert [(r[0], r[-1]) for r in grid] == [(0, last) for last in finest]
    assert all(list(r) == sorted(set(r)) for r in grid)


@settings(max_examples=60)
@given(any_problem, st.integers(1, 20))
def test_beyond_the_largest_lattice_not_all_margins_are_told_apart(problem, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("models.search.lattice_bounds"), "LARGEST_LATTICE", 1)
        patch.setattr(import_module("models.search.lattice_bounds"), "LARGEST_GRID", most)
        result = with_bound(forward(problem, never), problem)
        assert result.bound is not None
        assert 0 <= result.bound <= min(allowed_values(problem).values()) + 1e-9
        patch.setattr(DataCube, "holds", lambda *_: False)
        without_table = with_bound(forward(problem, never), problem)
        assert without_table.bound <= result.bound + 1e-9
        assert with_bound(forward(problem, never), problem, Deadline(0.0)).bound is None


def test_with_more_margins_told_apart_the_bound_of_a_wide_table_is_above_0():
    """Two pairs of equal attributes of which each pair is published as its halves at most."""
    halves = Hierarchy.from_rows([(str(v), str(v // 2), str(v // 4), "*") for v in range(8)])
    domain = Domain.of(dict.fromkeys("abcd", halves))
    codes = {name: np.repeat(np.arange(8), 8) if name in "ab" else np.tile(np.arange(8), 8) for name in "abcd"}
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, np.full(64, 5))])
    problem = Problem(cube, MarginLimits(domain, max_cells=8))
    finest = finest_alone(problem)
    bounds = []
    for most in (16, 81, 256):
        grid = coarse_grid(problem, finest, most)
        bounds.append(lower_bound(problem, allowed_margins(problem, never, grid), grid).value)
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(lower_bound(problem, allowed_margins(problem, never)).value)
    assert 0 < bounds[-1] <= forward(problem, never).value


def test_time_is_looked_at_between_any_two_margins():
    """Counting the margins of a lattice can take longer than everything else."""
    problem = Problem(cube_of([2] * 8, 500))
    result = forward(problem, Countdown(0))
    known = []

    def recording():
        known.append(len(problem.cube._entropies))
        return 0.0

    assert with_bound(result, problem, Deadline(1.0, recording)).bound == 0
    known.append(len(problem.cube._entropies))
    assert max(np.diff(known)) == 1
