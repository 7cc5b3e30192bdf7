"""Sets of attributes that are counted at once are those of margins that are asked for one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from checks.claims.privacy_constraint import PrivacyConstraint
from checks.claims.requirements import Requirements
from models.search import KL, MarginLimits, Problem, Unconstrained
from models.search.bounds import attribute_sets as module
from models.search.bounds.attribute_sets import attribute_sets
from models.search.bounds.block_bound import block_bound, related_blocks
from models.search.bounds.last_steps import of_margins, of_sets
from models.search.bounds.lower_bound import allowed_margins, finest_alone
from models.search.constraint import ClassSize, class_size_of
from search_oracles import Countdown, equal_pairs, never
from search_strategies import private_problems

judged_by_classes = private_problems().filter(lambda problem: class_size_of(problem.constraint))
"""Problems under the constraint of a release without other limits on its margins."""


def two_resolutions(problem):
    """The grid that tells apart whether an attribute is shown."""
    return tuple((0, last) if last else (0,) for last in finest_alone(problem))


def counted(problem):
    """The entropies of the sets that may be shown."""
    found = attribute_sets(problem, finest_alone(problem), class_size_of(problem.constraint), never)
    if found is None:
        assert not any(finest_alone(problem))
        return {}
    return {tuple(s): h for sets in found for s, h in zip(sets.places.tolist(), sets.entropies.tolist())}


def one_by_one(problem):
    """The same, of each margin by itself."""
    allowed = allowed_margins(problem, never, two_resolutions(problem))
    return {tuple(np.flatnonzero(node).tolist()): problem.cube.entropy(mask) for mask, node in allowed.items() if mask}


@pytest.mark.parametrize(
    "how", ["as few as in practice", "each class by itself", "all classes at once", "some columns"]
)
@settings(max_examples=60)
@given(judged_by_classes)
def test_sets_are_those_of_margins_asked_one_by_one(how, problem):
    with pytest.MonkeyPatch.context() as patch:
        if how != "as few as in practice":
            patch.setattr(module, "_ALONE", 1e9)
            patch.setattr(module, "_KILLING", 2.0 if how == "each class by itself" else 0.0)
            patch.setattr(module, "_CHUNK", 3)
        if how == "some columns":
            patch.setattr(module, "_SPARSE", 0)
        found = counted(problem)
    expected = one_by_one(problem)
    event(f"{max(map(len, expected), default=0)} attributes")
    assert list(found) == sorted(expected, key=lambda places: (len(places), places))
    assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=60)
@given(judged_by_classes, st.integers(2, 16))
def test_the_bound_is_that_of_the_margins(problem, largest):
    problem = replace(problem, objective=KL)
    grid = two_resolutions(problem)
    found = attribute_sets(problem, finest_alone(problem), class_size_of(problem.constraint), never)
    both = [of_margins(problem, allowed_margins(problem, never, grid), grid), *([of_sets(found)] if found else [])]
    blocks = [related_blocks(problem, margins, grid, largest) for margins in both]
    bounds = [block_bound(problem, margins, grid, own).value for margins, own in zip(both, blocks)]
    event("above 0" if bounds[0] > 1e-9 else "0")
    assert blocks[1:] in ([], blocks[:1])
    assert bounds[1:] == pytest.approx(bounds[:1] * len(bounds[1:]), abs=1e-9)


@settings(max_examples=60)
@given(judged_by_classes, st.integers(0, 8))
def test_a_search_that_is_stopped_finds_nothing(problem, asked):
    looks = Countdown(asked)
    found = attribute_sets(problem, finest_alone(problem), class_size_of(problem.constraint), looks)
    whole = counted(problem)
    event("stopped" if found is None else "whole")
    assert found is None or sum(len(sets.places) for sets in found) == len(whole)


@pytest.mark.parametrize("name", ["_MOST_WORK", "_LARGEST_KEY", "_MOST_ROWS", "_MOST_INDICATORS"])
def test_what_is_too_large_is_given_up(name, monkeypatch):
    cube = equal_pairs(3)
    problem = Problem(cube, PrivacyConstraint(cube, Requirements((), k_link=2)))
    assert counted(problem) == pytest.approx(one_by_one(problem))
    monkeypatch.setattr(module, name, 1)
    assert attribute_sets(problem, finest_alone(problem), class_size_of(problem.constraint), never) is None


def test_limits_on_margins_are_not_judged_by_classes():
    cube = equal_pairs(3)
    private = PrivacyConstraint(cube, Requirements(("x00",), k_link=2))
    judged = ClassSize(2, sum(cube.domain.attribute_masks[1:]))
    assert class_size_of(private) == class_size_of(MarginLimits(cube.domain, then=private)) == judged
    for limits in ({"max_cells": 4}, {"max_attributes": 2}, {"withheld": (3,)}, {"envelope": (3,)}):
        assert class_size_of(MarginLimits(cube.domain, then=private, **limits)) is None
    assert class_size_of(Unconstrained()) is None
