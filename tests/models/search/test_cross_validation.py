"""Two-fold cross-validation: collections are judged by tables of two attributes of rows that they do not count."""

from importlib import import_module
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import dense_marginal, iterative_proportional_fitting, joint_array
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, MarginalModel
from models.search.cross_validation import errors_of_pairs
from privacy_oracles import base_table
from search_oracles import Countdown, never
from strategies import contingency_tables, decomposable_masks, domains

MODULE = import_module("models.search.cross_validation")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_errors_are_those_of_models_of_one_half_against_tables_of_the_other(data: st.DataObject) -> None:
    """By iterative fitting of the dense joint distribution of each half, at the finest level that either shows."""
    domain = data.draw(domains(max_cells=60))
    rows = data.draw(contingency_tables(domain))
    collections = [data.draw(decomposable_masks(domain)) for _ in range(2)]
    divided, divisions = MODULE._halves, []

    def recorded(rows: ContingencyTable, rng: np.random.Generator) -> tuple[DataCube, DataCube]:
        divisions.append(divided(rows, rng))
        return divisions[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "_halves", recorded)
        found = errors_of_pairs(collections, rows, 0, never)
    assert found is not None
    expected: list[list[float]] = [[], []]
    finest = [MarginalModel(Collection.of(DataCube([rows]), each)).finest_levels for each in collections]
    levels = {name: min(own[name] for own in finest) for name in domain.attributes}
    shown = [name for name, level in levels.items() if level < domain.hierarchy(name).height]
    for halves in divisions:
        joints = [joint_array(base_table(half)) for half in halves]
        assert (joints[0] + joints[1] == joint_array(rows)).all()
        if not all(joint.sum() for joint in joints):
            continue
        p, q = (joint / joint.sum() for joint in joints)
        for counted, judging in ((p, q), (q, p)):
            for place, collection in enumerate(collections):
                fitted = iterative_proportional_fitting(counted, domain, list(map(domain.margin, collection)))
                for pair in combinations(shown, 2):
                    margin = {name: levels[name] for name in pair}
                    one, other = (dense_marginal(joint, domain, margin) for joint in (judging, fitted))
                    expected[place].append(np.abs(one - other).sum() / 2)
    count = 2 * len(divisions) * max(len(list(combinations(shown, 2))), 1)
    assert found == pytest.approx([sum(errors) / count for errors in expected], abs=1e-9)


def table(rows: int, association: float, seed: int = 0) -> ContingencyTable:
    """Two attributes of eight values, of which a share of the rows has the same."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({name: Hierarchy.flat([f"{name}{v}" for v in range(8)]) for name in "ab"})
    a, b = rng.integers(0, 8, (2, rows))
    codes = {"a": a, "b": np.where(rng.random(rows) < association, a, b)}
    return ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, np.ones(rows, dtype=int))


@pytest.mark.parametrize(("association", "is_told"), [(0.0, False), (0.3, True)])
def test_what_chance_shows_is_no_merit_and_an_association_is(association: float, is_told: bool) -> None:
    """The table of both has no error in the rows that it counts, and is nearer to others only where they go together."""
    right = 0
    for seed in range(20):
        rows = table(1_000, association, seed)
        a, b = rows.domain.attribute_masks
        together, apart = errors_of_pairs([(a | b,), (a, b)], rows, seed, never)
        right += bool(together < apart) is is_told
    assert right == 20


def test_the_same_seed_divides_alike_and_all_is_over_when_it_is_time() -> None:
    rows = table(300, 0.3)
    a, b = rows.domain.attribute_masks
    first, again, other = (errors_of_pairs([(a | b,), (a, b)], rows, seed, never) for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()
    assert errors_of_pairs([(a | b,), (a, b)], rows, 1, Countdown(2)) is None


def test_tables_that_cannot_be_compared_have_no_error() -> None:
    """Of one attribute; of what is too large; of so few rows that a half has none."""
    rows = table(300, 0.3)
    a, b = rows.domain.attribute_masks
    assert errors_of_pairs([(a,), (0,)], rows, 0, never).tolist() == [0, 0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "_CELLS", 63)
        assert errors_of_pairs([(a | b,), (a, b)], rows, 0, never).tolist() == [0, 0]
    assert errors_of_pairs([(a | b,), (a, b)], table(1, 0.0), 0, never).tolist() == [0, 0]
