"""Exact search: what it calls best is the best of all collections that the constraint allows, each looked at."""

from collections import Counter
from dataclasses import replace
from importlib import import_module
from random import Random

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from models import (
    KL,
    ContingencyTable,
    DataCube,
    Domain,
    Hierarchy,
    MarginLimits,
    NothingAllowedError,
    Problem,
    Refusal,
    Unconstrained,
    exact,
    forward,
)
from search_oracles import (
    Countdown,
    all_collections,
    allowed_values,
    by_antichains,
    by_moves,
    equal_pairs,
    is_finer,
    never,
)
from search_strategies import AtMost, Refused, private_problems, problems

HEIGHTS = [(1,), (1, 1), (3, 1), (2, 2), (3, 2), (1, 1, 1), (2, 1, 1), (2, 2, 1), (1, 1, 1, 1)]


@pytest.mark.parametrize("heights", HEIGHTS)
def test_moves_lead_to_exactly_the_sets_of_margins_that_have_a_junction_tree(heights):
    """Two ways to list the search space: KG06 6.2, and antichains of margins."""
    assert by_moves(heights) == by_antichains(heights)


def assert_is_best(problem):
    """The best value of all, proven, by a collection that is allowed and shows what must be kept."""
    values = allowed_values(problem)
    found = exact(problem, never)
    assert found.value == pytest.approx(min(values.values()), abs=1e-9)
    assert found.value == pytest.approx(values[frozenset(found.cliques)], abs=1e-9)
    assert (found.strategy, found.optimal, found.gap) == ("exact", True, 0.0)
    assert found.bound == pytest.approx(found.value, abs=1e-9)
    return found


def is_hard(problem, found):
    """Whether greedy search fails, and whether the constraint binds."""
    free = min(allowed_values(Problem(problem.cube, objective=problem.objective)).values())
    return forward(problem, never).value > found.value + 1e-9, found.value > free + 1e-9


def test_a_large_lattice_of_which_little_is_allowed_is_gone_through():
    """Sixteen attributes of four values, 43 million margins, of which no two attributes may be shown together."""
    problem = Problem(cube := equal_pairs(8), MarginLimits(cube.domain, max_attributes=1))
    found = exact(problem, never)
    assert found.optimal
    assert found.value == pytest.approx(problem.value(problem.position(cube.domain.attribute_masks)))
    more = Problem(cube, MarginLimits(cube.domain, max_cells=16))
    told = exact(more, Countdown(60_000))
    assert told.bound is not None
    assert not told.optimal
    assert told.gap < 0.05 * told.value


@given(problems() | private_problems(), st.sampled_from([1, 4, 12]))
def test_it_finds_the_best_of_all_collections_under_every_kind_of_constraint(problem, most):
    """Also block by block, as of a large lattice: with blocks of so many margins at most."""
    found = assert_is_best(problem)
    greedy_fails, binds = is_hard(problem, found)
    event("greedy fails" if greedy_fails else "greedy finds it")
    event("the constraint binds" if binds else "the constraint does not bind")
    assert exact(problem, never) == found
    with pytest.MonkeyPatch.context() as patch:
        for module in ("exact", "greedy"):
            patch.setattr(import_module(f"models.search.{module}"), "LARGEST_LATTICE", most)
        assert_is_best(problem)


def random_problem(rng):
    """Three attributes of three values, one with a hierarchy, and one of the kinds of constraints."""
    nested = Hierarchy.from_rows([("u", "w", "*"), ("v", "w", "*"), ("x", "x", "*")])
    domain = Domain.of({"a": nested, "b": Hierarchy.flat("xyz"), "c": Hierarchy.flat("xyz")})
    counts = rng.gamma(0.3, 5, (3, 3, 3)).astype(int) + (rng.random((3, 3, 3)) < 0.2)
    codes = dict(zip("abc", np.indices((3, 3, 3)).reshape(3, -1)))
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), codes, counts.ravel())])
    collections = sorted(by_antichains((2, 1, 1)) - {frozenset()}, key=sorted)
    refused = frozenset(c for c in collections if rng.random() < 0.6)
    constraint = [
        Unconstrained(),
        MarginLimits(domain, max_cells=int(rng.integers(3, 12))),
        AtMost(domain, 2, int(rng.integers(6, 20))),
        Refused(refused),
        MarginLimits(domain, max_attributes=2, then=AtMost(domain, 2, 99)),
    ][rng.integers(5)]
    return Problem(cube, constraint)


def test_the_cases_are_hard_enough_to_tell_an_exact_search_from_a_greedy_one():
    """Fixed seeds: greedy fails in some, constraints bind in most, and the exact search is right in all."""
    rng, seen = np.random.default_rng(0), Counter()
    for _ in range(60):
        problem = random_problem(rng)
        found = assert_is_best(problem)
        greedy_fails, binds = is_hard(problem, found)
        seen.update({"greedy fails": greedy_fails, "binds": binds})
    assert seen["greedy fails"] >= 5, seen
    assert seen["binds"] >= 30, seen


@settings(max_examples=60)
@given(problems(), st.integers(0, 30))
def test_told_to_stop_it_gives_back_an_allowed_collection_and_an_honest_gap(problem, turns):
    found = exact(problem, Countdown(turns))
    values = allowed_values(problem)
    best = min(values.values())
    assert found.value == pytest.approx(values[frozenset(found.cliques)], abs=1e-9)
    assert found.bound is None or found.bound <= best + 1e-9
    assert found.gap is None or found.value - found.gap <= best + 1e-9
    assert not found.optimal or found.value == pytest.approx(best, abs=1e-9)
    assert found.value <= forward(problem, Countdown(turns)).value + 1e-12


def test_where_more_may_be_allowed_than_it_can_look_at_it_gives_back_what_forward_search_finds(monkeypatch):
    """And claims nothing."""
    problem = random_problem(np.random.default_rng(0))
    monkeypatch.setattr(import_module("models.search.exact"), "_MOST_MARGINS", 5)
    found, greedy = exact(problem, never), forward(problem, never)
    assert (found.cliques, found.value) == (greedy.cliques, greedy.value)
    assert (found.optimal, found.bound, found.gap) == (False, None, None)


def with_pivot(domain, whole, pivot):
    """A constraint on whole collections with a pivot, as when that is copied from another; 0 says that it is one on each
    margin by itself.
    """

    class Own(MarginLimits):
        def __call__(self, cliques, new):
            return whole(cliques, new)

    Own.pivot = Own.jointly_judged = pivot
    return Own(domain)


@st.composite
def refusing_problems(draw):
    """Problems whose constraint refuses whole collections, from which nothing follows, the one they begin with too."""
    problem = draw(problems())
    collections = sorted(all_collections(problem.cube.domain), key=sorted)
    random = Random(draw(st.integers(0, 10_000)))
    share = draw(st.sampled_from([0.1, 0.5, 0.9]))
    refused = Refused(frozenset(c for c in collections if random.random() < share))
    return replace(problem, constraint=refused)


@pytest.mark.parametrize("way", ["a function", "no pivot", "the pivot of another", "one attribute's pivot"])
@settings(max_examples=40)
@given(problem=refusing_problems())
def test_a_constraint_of_the_users_own_is_kept_by_what_is_called_the_best(way, problem):
    """Also where its pivot is not true, and where the search begins at a refused collection."""
    whole = problem.constraint
    own = {
        "a function": lambda cliques, new: whole(cliques, new),
        "no pivot": MarginLimits(problem.cube.domain, then=lambda cliques, new: whole(cliques, new)),
        "the pivot of another": with_pivot(problem.cube.domain, whole, 0),
        "one attribute's pivot": with_pivot(problem.cube.domain, whole, 1 << problem.cube.domain.offsets[-1]),
    }[way]
    problem = replace(problem, constraint=own)
    if not allowed_values(problem):
        with pytest.raises(NothingAllowedError, match="weaken"):
            exact(problem, never)
    else:
        assert_is_best(problem)


@pytest.mark.parametrize("seed", range(12))
def test_a_pivot_that_is_not_true_hides_no_better_collection(seed):
    """The constraint demands certain margins, or several: what it refuses is allowed with more, which its pivot, the first
    step of an attribute, denies. A search that believed it called a worse one the best with the seeds 5 and 9.
    """
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    domain = problem.cube.domain
    collections = sorted(by_antichains((2, 1, 1)) - {frozenset()}, key=sorted)
    demanded = collections[rng.integers(len(collections))]
    least = int(rng.integers(2, 4))

    def demands(cliques, _):
        return None if (len(cliques) >= least if seed % 2 else is_finer(cliques, demanded)) else Refusal("too little")

    pivot = 1 << domain.offsets[rng.integers(3)]
    assert_is_best(replace(problem, constraint=with_pivot(domain, demands, pivot), objective=KL))
