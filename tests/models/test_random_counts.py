"""Random counts: what is asked and answered is what somebody finds who walks over every cell."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_force import iterative_proportional_fitting, joint_array
from models import (
    Collection,
    ContingencyTable,
    Domain,
    DomainMismatchError,
    Hierarchy,
    MarginalModel,
    TooManyCellsError,
)
from models.accuracy import random_counts, random_tables
from privacy_oracles import base_table
from strategies import decomposable_collections


@given(decomposable_collections(max_cells=60), st.integers(0, 99))
def test_errors_are_those_of_counting_cell_by_cell(collection: Collection, seed: int) -> None:
    domain, table = collection.domain, base_table(collection.cube)
    rng = np.random.default_rng(seed)
    p = joint_array(table) / table.total
    q = iterative_proportional_fitting(p, domain, collection.margins)
    for attributes in random_tables(domain.attributes, 2, rng):
        margin = dict.fromkeys(attributes, 0)
        places = {a: rng.permutation(domain.hierarchy(a).size(0)) for a in attributes if rng.random() < 0.5}
        asked = random_counts(table.rolled_up(margin), 5, places, rng)
        assert len(asked) == 5
        real, expected = (_marginal(table.total * joint, domain, attributes) for joint in (p, q))
        errors = asked.relative_errors(MarginalModel(collection))
        for number in range(5):
            meant = [
                cell
                for cell in product(*map(range, real.shape))
                if all(asked.inside[a][number, value] for a, value in zip(asked.inside, cell))
            ]
            true = sum(real[cell] for cell in meant)
            assert asked.true[number] == pytest.approx(true)
            assert errors[number] == pytest.approx(abs(sum(expected[cell] for cell in meant) - true) / true, abs=1e-9)
        for attribute, inside in asked.inside.items():
            if attribute in places:
                for meant_values in inside:
                    own = np.sort(places[attribute][meant_values])
                    assert np.array_equal(own, np.arange(own[0], own[-1] + 1)), "a range of places"
            else:
                assert np.all(inside.sum(axis=1) == 1)


def test_what_is_asked_depends_on_the_table_and_the_seed_alone() -> None:
    names = list("abcdefgh")
    chosen = random_tables(names, 10, np.random.default_rng(3))
    assert chosen == random_tables(names, 10, np.random.default_rng(3))
    assert [len(table) for table in chosen] == [2] * 10 + [3] * 10
    assert len(set(chosen)) == 20
    assert random_tables(["a", "b"], 10, np.random.default_rng(3)) == [("a", "b")]
    assert random_tables(["a"], 10, np.random.default_rng(3)) == []
    assert len(random_tables(list("abc"), 10, np.random.default_rng(3))) == 4


def test_the_same_is_asked_however_values_are_numbered() -> None:
    """Else releases with other hierarchies of the same table could not be compared."""
    asked = []
    for order in (["x", "y", "z"], ["z", "x", "y"]):
        domain = Domain.of({"a": Hierarchy.flat(order), "b": Hierarchy.flat(order[::-1])})
        cells = [("x", "y", 5), ("y", "y", 3), ("z", "x", 9), ("x", "z", 1)]
        codes = {
            "a": np.array([order.index(a) for a, _, _ in cells]),
            "b": np.array([order[::-1].index(b) for _, b, _ in cells]),
        }
        table = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, [count for _, _, count in cells])
        asked.append(random_counts(table, 50, {}, np.random.default_rng(4)))
    assert asked[0].true.tolist() == asked[1].true.tolist()


@given(decomposable_collections(max_cells=60))
def test_tables_that_are_coarser_or_too_large_are_refused(collection: Collection) -> None:
    table = base_table(collection.cube)
    coarse = next((a for a, h in collection.domain.items() if h.height > 1), None)
    if coarse is not None:
        with pytest.raises(DomainMismatchError, match="at base values"):
            random_counts(table.rolled_up({coarse: 1}), 1, {}, np.random.default_rng(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.accuracy._CELLS", 0)
        asked = random_counts(table, 1, {}, np.random.default_rng(1))
        with pytest.raises(TooManyCellsError):
            asked.relative_errors(MarginalModel(collection))


def _marginal(joint: np.ndarray, domain: Domain, attributes: tuple[str, ...]) -> np.ndarray:
    """One axis an attribute."""
    return joint.sum(axis=tuple(axis for axis, name in enumerate(domain.attributes) if name not in attributes))
