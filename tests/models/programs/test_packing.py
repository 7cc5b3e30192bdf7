"""Packings: by whatever way, the most rows are those of an integer program over the joint cells."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

from dice import Dice, Thrown
from models import ContingencyTable, DataCube, Domain, Hierarchy, TooManyCellsError
from models.programs.consistent_tables import WholeNumbers
from models.programs.packing import Packing
from strategies import hierarchies, margins

UNLIMITED = WholeNumbers()

LADDER = Hierarchy.from_rows([("0", "low", "*"), ("1", "low", "*"), ("2", "high", "*")])


def full_cube(domain: Domain, keep: float = 1.0, seed: int = 0) -> DataCube:
    """One row in about that share of the cells."""
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    codes = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    counts = (np.random.default_rng(seed).random(int(np.prod(shape))) < keep).astype(int)
    counts[0] = 1
    return DataCube([ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, counts)])


def packing_of(cube: DataCube, shown: list[Mapping[str, int]]) -> Packing:
    return Packing.of(cube, [cube.domain.mask(margin) for margin in shown], 1000)


@Thrown
def packings(dice: Dice) -> tuple[Packing, np.ndarray]:
    """Up to five margins of two or three attributes at any levels, with limits of 0 to 4 for their cells."""
    names = "abc"[: dice.between(2, 3)]
    domain = Domain.of({name: hierarchies.of(dice, 3, 3, min_values=2) for name in names})
    cube = full_cube(domain, dice.one_of([1.0, 0.7]), dice.below(1000))
    masks = {domain.mask(margins.of(dice, domain)) for _ in range(dice.between(1, 5))} - {0}
    packing = Packing.of(cube, dice.shuffled(sorted(masks or {domain.mask(dict.fromkeys(names, 0))})), 1000)
    return packing, np.array([float(dice.one_of([0, 1, 1, 2, 3, 4])) for _ in range(packing.width)])


def most_rows(packing: Packing, limits: np.ndarray) -> int:
    """By an integer program over all joint cells."""
    within = np.zeros((packing.width, packing.joint_cells))
    for places in packing.places:
        within[places, np.arange(packing.joint_cells)] = 1
    solution = milp(-np.ones(packing.joint_cells), integrality=1, constraints=LinearConstraint(within, ub=limits))
    assert solution.status == 0
    return round(-solution.fun)


@given(packings())
def test_the_rows_that_fit_are_those_of_an_integer_program(drawn: tuple[Packing, np.ndarray]) -> None:
    """By a flow where there is a chain, and by programs whether there is one or not; the limits stay as they were."""
    packing, limits = drawn
    expected, before = most_rows(packing, limits), limits.copy()
    for chain in (packing.chain, None):
        vars(packing)["chain"] = chain
        for enough in (1, max(expected, 1), expected + 1, 10_000):
            rows = packing.rows(limits, enough, UNLIMITED)
            assert rows.least <= expected <= rows.most
            assert rows.least == rows.most or rows.least >= enough or rows.most < enough
    np.testing.assert_array_equal(limits, before)


@given(packings(), st.integers(1, 6))
def test_what_fits_surely_fits_and_whether_any_row_does_is_exact(
    drawn: tuple[Packing, np.ndarray], enough: int
) -> None:
    packing, limits = drawn
    several = np.stack([limits, np.minimum(limits, 1), np.zeros_like(limits)])
    before = several.copy()
    screened = packing.screened(several, enough)
    expected = [most_rows(packing, each) for each in several]
    assert screened.possible.tolist() == [most > 0 for most in expected]
    assert all(surely <= min(most, enough) for surely, most in zip(screened.surely, expected))
    assert all(most >= sharp for most, sharp in zip(packing.most_rows(several), expected))
    np.testing.assert_array_equal(several, before)
    assert len(packing.screened(several[:0], enough).possible) == 0


@pytest.mark.parametrize(
    ("shown", "is_chain"),
    [
        ([{"a": 0}, {"a": 1}], True),
        ([{"a": 0}, {"b": 0}], True),
        ([{"a": 0, "b": 0}, {"b": 0}, {"a": 0}], True),
        ([{"a": 0}, {"a": 1}, {"b": 0}, {"b": 1}, {"a": 1, "b": 1}], True),
        ([{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"a": 0}, {"b": 0}, {"c": 0}], True),
        ([{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"a": 0}, {"b": 1}, {"c": 0}], False),
        ([{"a": 0, "b": 0, "c": 0}, {"a": 0, "b": 0}, {"a": 0}, {"c": 0}], True),
        ([{"a": 0, "b": 0, "c": 0}, {"a": 0}, {"b": 0}, {"c": 0}], False),
        ([{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"a": 0, "c": 0}], False),
        ([{"a": 0, "b": 1}, {"a": 1, "b": 0}, {"a": 0}, {"b": 0}], True),
        ([{"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 0}, {"b": 0}], False),
    ],
)
def test_which_margins_are_in_a_chain(shown: list[Mapping[str, int]], is_chain: bool) -> None:
    """Neighbours share what any margins on either side of them share."""
    packing = packing_of(full_cube(Domain.of(dict.fromkeys("abc", LADDER))), shown)
    assert (packing.chain is not None) is is_chain
    if packing.chain is not None:
        masks = [packing.masks[place] for place in packing.chain]
        for i, one in enumerate(masks):
            for j in range(i + 1, len(masks)):
                assert all(not one & masks[j] & ~between for between in masks[i:j])


def test_the_linear_program_alone_would_promise_too_much() -> None:
    """Three-dimensional matching: 011, 101 and 110 block each other, and half a row of each is no table."""
    domain = Domain.of({name: Hierarchy.flat("01") for name in "srq"})
    codes = {"s": np.array([0, 1, 1, 0]), "r": np.array([1, 0, 1, 0]), "q": np.array([1, 1, 0, 0])}
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("srq", 0), codes, np.ones(4, dtype=int))])
    packing = packing_of(cube, [{"s": 0, "r": 0, "q": 0}, {"s": 0}, {"r": 0}, {"q": 0}])
    limits = np.ones(packing.width)
    for cell, label in enumerate(packing.tables[0].cells()):
        limits[cell] = label[0] != ("0", "0", "0")
    assert packing.rows(limits, 2, UNLIMITED)[:2] == (1, 1)
    relaxed = milp(
        -np.ones(4),
        constraints=LinearConstraint(
            np.array([[float(place in column) for column in packing.places.T] for place in range(packing.width)]),
            ub=limits,
        ),
    )
    assert relaxed.fun == pytest.approx(-1.5)


def test_too_many_joint_cells_are_refused() -> None:
    cube = full_cube(Domain.of(dict.fromkeys("abc", LADDER)))
    with pytest.raises(TooManyCellsError):
        Packing.of(cube, [cube.domain.mask({name: 0}) for name in "abc"], 26)


@settings(max_examples=30)
@given(packings())
def test_without_time_or_programs_nothing_false_is_said(drawn: tuple[Packing, np.ndarray]) -> None:
    packing, limits = drawn
    vars(packing)["chain"] = None
    rows = packing.rows(limits, 10_000, WholeNumbers(seconds=0.0))
    assert rows.least <= most_rows(packing, limits) <= rows.most
