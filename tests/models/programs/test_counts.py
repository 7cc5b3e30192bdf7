"""Counts that sums determine: extremes, shares and exchanges are those of all tables, or of integer programs."""

import os
import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import factorial, inf, isnan, prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from brute_force import base_cells, iterative_proportional_fitting, joint_array
from dice import Dice, Thrown
from filled_tables import apart, filled, flat_domain, of_rows, published
from models import (
    Collection,
    ContingencyTable,
    ContradictionError,
    CountArray,
    CountBounds,
    DataCube,
    Domain,
    DomainMismatchError,
    FloatArray,
    FrechetBounds,
    Hierarchy,
    Mask,
    TooManyCellsError,
    all_tables,
    extreme_count,
    possible_cells,
)
from models.inference.calibrated_tree import CellExpectations
from models.inference.class_shares import ClassSums, SummedTable, counted_shares, fitted_shares
from models.inference.two_by_two import (
    ODDS_RATIO,
    RISK_DIFFERENCE,
    RISK_RATIO,
    Comparison,
    FourCounts,
    TwoByTwo,
    odds_ratio,
    risk_difference,
    risk_ratio,
    shares,
)
from models.programs import consistent_tables
from models.programs.cell_bounds import bounds_of_cells
from models.programs.consistent_tables import PossibleCells, RealNumbers, WholeNumbers, least, milp_until_killed
from models.programs.exchanges import ExchangedRows, Exchanges, Move
from models.programs.nested_counts import Bounded, NestedCounts, Range
from models.programs.packing import Packing
from strategies import (
    SHAPE_DOMAIN,
    SHAPES,
    Core,
    cores,
    decomposable_collections,
    further_masks,
    hierarchies,
    margins,
    shape_cube,
)

COSTS = st.integers(-3, 3)


@st.composite
def nested(draw: st.DrawFn) -> tuple[NestedCounts, list[tuple[int, ...]]]:
    """Five cells in three groups in one, and all their tables; bounds are around some table, so that there is one."""
    cells, groups = 5, [0, 0, 1, 1, 2]
    truth = np.array(draw(st.lists(st.integers(0, 3), min_size=cells, max_size=cells)))
    steps = [np.array(groups), np.array([0, 0, 0])]
    levels, counts = [], truth
    for step in [*steps, None]:
        slack = np.array(draw(st.lists(st.integers(0, 2), min_size=2 * len(counts), max_size=2 * len(counts))))
        levels.append(Bounded(np.maximum(counts - slack[::2], 0), counts + slack[1::2]))
        if step is not None:
            counts = np.bincount(step, counts).astype(np.int64)
    tables = []
    for table in product(*(range(low, high + 1) for low, high in zip(levels[0].lower, levels[0].upper))):
        sums, fits = np.array(table), True
        for step, bounds in zip(steps, levels[1:]):
            sums = np.bincount(step, sums).astype(np.int64)
            fits &= bool(np.all(bounds.lower <= sums) and np.all(sums <= bounds.upper))
        if fits:
            tables.append(table)
    return NestedCounts(tuple(levels), tuple(steps)), tables


@given(nested(), st.lists(COSTS, min_size=5, max_size=5), st.lists(st.booleans(), min_size=5, max_size=5))
def test_the_extremes_are_those_of_all_tables(
    given_counts: tuple[NestedCounts, list[tuple[int, ...]]], costs: list[int], counted: list[bool]
) -> None:
    counts, tables = given_counts
    cost = np.array(costs, dtype=np.float64)
    sums = np.array(tables) @ cost
    assert counts.extremes(cost) == (sums.min(), sums.max())
    weights = np.array(counted, dtype=np.float64)
    rows = np.array(tables) @ weights
    ratios = (np.array(tables) @ (cost * weights))[rows > 0] / rows[rows > 0]
    found = counts.extreme_ratios(cost * weights, weights)
    if not len(ratios):
        assert found is None
        return
    assert found == pytest.approx((ratios.min(), ratios.max()), abs=1e-12)


def test_bounds_that_no_table_meets_are_a_contradiction() -> None:
    few = NestedCounts(
        (Bounded(np.array([2, 2]), np.array([3, 3])), Bounded(np.array([9]), np.array([9]))), (np.zeros(2, int),)
    )
    with pytest.raises(ContradictionError):
        few.extremes(np.ones(2))


def test_numbers_that_do_not_fit_are_refused() -> None:
    one = Bounded(np.array([1]), np.array([2]))
    with pytest.raises(DomainMismatchError):
        NestedCounts((one, one), ())
    with pytest.raises(DomainMismatchError):
        NestedCounts((one, one), (np.array([1]),))
    with pytest.raises(DomainMismatchError):
        Bounded(np.array([1]), np.array([1, 2]))


SUMS = [(0, 1), (2, 3), (0, 2), (1, 3), (0, 1, 2, 3)]
ANYTHING = Range(0, 100)


def test_ratios_at_zeros() -> None:
    assert odds_ratio(FourCounts(2, 1, 3, 6)) == 4
    assert odds_ratio(FourCounts(2, 0, 3, 6)) == inf
    assert isnan(odds_ratio(FourCounts(0, 0, 3, 6)))
    assert risk_ratio(FourCounts(1, 1, 0, 3)) == inf
    assert isnan(risk_ratio(FourCounts(0, 0, 0, 3))), "nobody is in the first group"
    assert isnan(risk_ratio(FourCounts(0, 2, 0, 3))), "nobody has the outcome"
    assert isnan(risk_difference(FourCounts(0, 0, 1, 3)))


def possible(bounds: list[Range]) -> list[FourCounts]:
    """All tables of counts up to 5 within bounds of four cells and five sums."""
    cells, sums = bounds[:4], bounds[4:]
    tables = product(*(range(int(own.lower), int(min(own.upper, 5)) + 1) for own in cells))
    return [
        FourCounts(*table)
        for table in tables
        if all(own.lower <= sum(table[i] for i in parts) <= own.upper for own, parts in zip(sums, SUMS))
    ]


@pytest.mark.parametrize("comparison", [ODDS_RATIO, RISK_RATIO, RISK_DIFFERENCE])
@given(
    st.lists(st.integers(0, 5), min_size=4, max_size=4),
    st.lists(st.integers(0, 2), min_size=18, max_size=18),
    st.sampled_from(["all", "sums known", "no sums"]),
)
def test_every_table_within_the_bounds_lies_in_the_range(
    comparison: Comparison, counts: list[int], slack: list[int], known: str
) -> None:
    truth = [*counts, *(sum(counts[i] for i in parts) for parts in SUMS)]
    bounds = [Range(max(n - slack[2 * i], 0), n + slack[2 * i + 1]) for i, n in enumerate(truth)]
    if known == "sums known":
        bounds = bounds[:4] + [Range(n, n) for n in truth[4:]]
    if known == "no sums":
        bounds = bounds[:4] + [ANYTHING] * 5
    bounds = [Range(own.lower, min(own.upper, 5)) for own in bounds[:4]] + bounds[4:]
    values = [value for table in possible(bounds) if not isnan(value := comparison.of(table))]
    found = TwoByTwo(*bounds).extremes(comparison)
    assert all(found.lower <= value * (1 + 1e-12) + 1e-12 for value in values)
    assert all(value <= found.upper * (1 + 1e-12) + 1e-12 for value in values)
    if known == "sums known" and values and found != comparison.within:
        assert found == pytest.approx((min(values), max(values)))


def test_counts_that_no_table_has_are_a_contradiction() -> None:
    with pytest.raises(ContradictionError):
        TwoByTwo(Range(3, 4), Range(0, 9), ANYTHING, ANYTHING, Range(0, 2), *[ANYTHING] * 4).tightened()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=2))
def test_shares_are_the_extremes_over_part_and_rest(ends: list[tuple[int, int]]) -> None:
    part, rest = [(min(own), max(own)) for own in ends]
    values = [a / (a + b) for a in range(part[0], part[1] + 1) for b in range(rest[0], rest[1] + 1) if a + b]
    lower, upper = shares(*(tuple(map(np.array, own)) for own in (part, rest)))  # type: ignore[arg-type]
    if not values:
        assert np.isnan(lower)
        assert np.isnan(upper)
        return
    assert lower == pytest.approx(min(values))
    assert upper == pytest.approx(max(values))


UNLIMITED = WholeNumbers()
LADDER = Hierarchy.from_rows([("0", "low", "*"), ("1", "low", "*"), ("2", "high", "*")])


def full_cube(domain: Domain, keep: float = 1.0, seed: int = 0) -> DataCube:
    """One row in about that share of the cells."""
    counts = (np.random.default_rng(seed).random(domain.cell_count(sum(domain.attribute_masks))) < keep).astype(int)
    counts[0] = 1
    return DataCube([filled(domain, counts)])


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


@settings(max_examples=60)
@given(packings(), st.integers(1, 6))
def test_the_rows_that_fit_are_those_of_an_integer_program(drawn: tuple[Packing, np.ndarray], least: int) -> None:
    """By a flow where there is a chain, by programs whether there is one or not; limits stay as they were."""
    packing, limits = drawn
    expected, before = most_rows(packing, limits), limits.copy()
    for chain in (packing.chain, None):
        vars(packing)["chain"] = chain
        for enough in (1, max(expected, 1), expected + 1, 10_000):
            rows = packing.rows(limits, enough, UNLIMITED)
            assert rows.least <= expected <= rows.most
            assert rows.least == rows.most or rows.least >= enough or rows.most < enough
    without_time = packing.rows(limits, 10_000, WholeNumbers(seconds=0.0))
    assert without_time.least <= expected <= without_time.most
    several = np.stack([limits, np.minimum(limits, 1), np.zeros_like(limits)])
    screened, sharp = packing.screened(several, least), [most_rows(packing, each) for each in several]
    assert screened.possible.tolist() == [most > 0 for most in sharp]
    assert all(surely <= min(most, least) for surely, most in zip(screened.surely, sharp))
    assert all(most >= each for most, each in zip(packing.most_rows(several), sharp))
    assert len(packing.screened(several[:0], least).possible) == 0
    np.testing.assert_array_equal(limits, before)


def test_half_a_row_of_each_of_three_that_block_each_other_is_no_table() -> None:
    """Three-dimensional matching: 011, 101 and 110 are 1.5 rows by the linear program alone."""
    cube = DataCube([of_rows(flat_domain(s="01", r="01", q="01"), [[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]])])
    packing = packing_of(cube, [{"s": 0, "r": 0, "q": 0}, {"s": 0}, {"r": 0}, {"q": 0}])
    limits = np.ones(packing.width)
    for cell, label in enumerate(packing.tables[0].cells()):
        limits[cell] = label[0] != ("0", "0", "0")
    assert packing.rows(limits, 2, UNLIMITED)[:2] == (1, 1)


def test_too_many_joint_cells_are_refused() -> None:
    cube = full_cube(Domain.of(dict.fromkeys("abc", LADDER)))
    with pytest.raises(TooManyCellsError):
        Packing.of(cube, [cube.domain.mask({name: 0}) for name in "abc"], 26)


def rows_of(core: Core, masks: tuple[Mask, ...]) -> ExchangedRows:
    cube, domain = core.collection.cube, core.collection.domain
    levels = core.collection.of(cube, masks).finest_levels
    shown = {a: level for a, level in levels.items() if level < domain.hierarchy(a).height}
    table = cube.table(domain.mask(shown))
    codes = {a: np.repeat(table.column(a, level), table.counts) for a, level in shown.items()}
    return ExchangedRows(domain, shown, codes, [domain.margin(mask) for mask in masks])


@settings(max_examples=200)
@given(cores(max_cells=200), st.data())
def test_no_move_changes_a_table(core: Core, data: st.DataObject) -> None:
    own = core.collection.domain.mask(dict.fromkeys(core.nonsensitive, 0))
    masks = tuple({mask & own for mask in (*core.collection.masks, *data.draw(further_masks(core)))} - {0})
    rows = rows_of(core, masks)
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    domain, total = core.collection.domain, core.collection.cube.total
    for _ in range(20 if rows.moves else 0):
        rows.make(rows.moves[rng.integers(len(rows.moves))], rng)
        for mask in masks:
            margin = domain.margin(mask)
            now = {a: rows.column(a, level) for a, level in margin.items()}
            table, before = (
                ContingencyTable.from_cells(domain, margin, now, np.ones(total)),
                core.collection.cube.table(mask),
            )
            assert np.array_equal(table.counts, before.counts)
            assert all(np.array_equal(one, other) for one, other in zip(table.codes, before.codes))


@pytest.mark.parametrize("seed", range(4))
def test_three_tables_of_two_attributes_each_leave_what_exchanges_reach(seed: int) -> None:
    """Every table with these marginals is met: of three attributes of two values they differ by one move."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({name: Hierarchy.flat("01") for name in "abc"})
    cells = np.indices((2, 2, 2)).reshape(3, -1)
    counts = rng.integers(1, 4, 8)
    pairs = [{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"a": 0, "c": 0}]
    codes = {a: np.repeat(own, counts) for a, own in zip("abc", cells)}
    keys = [cells[0] * 2 + cells[1], cells[1] * 2 + cells[2], cells[0] * 2 + cells[2]]
    every = all_tables(keys, [np.bincount(key, counts).astype(np.int64) for key in keys])
    assert every is not None
    rows = ExchangedRows(domain, dict.fromkeys("abc", 0), codes, pairs)
    assert all(move.against is None or move.within == 1 for move in rows.moves)
    met = set()
    for _ in range(2000):
        rows.make(rows.moves[rng.integers(len(rows.moves))], rng)
        place = rows.codes["a"] * 4 + rows.codes["b"] * 2 + rows.codes["c"]
        met.add(tuple(np.bincount(place, minlength=8).tolist()))
    assert met == {tuple(own) for own in every.tolist()}


def test_rows_that_agree_on_all_but_one_attribute_take_any_order_of_it() -> None:
    domain = Domain.of({name: Hierarchy.flat("012") for name in "ab"})
    codes = {"a": np.array([0, 1, 2, 0]), "b": np.array([0, 0, 0, 1])}
    rows = ExchangedRows(domain, dict.fromkeys("ab", 0), codes, [{"a": 0, "b": 0}])
    seen = set()
    for seed in range(60):
        rows.make(Move("a", 1), np.random.default_rng(seed))
        seen.add(tuple(rows.codes["a"].tolist()))
    assert {own[3] for own in seen} == {0}
    assert len(seen) == 6


@pytest.mark.parametrize("seed", range(4))
def test_no_move_loses_what_is_preferred(seed: int) -> None:
    """Rows have a value in each cell of three attributes; three tables of two attributes each stay what they are."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({name: Hierarchy.flat("0123") for name in "abc"})
    codes = {name: rng.integers(0, 4, 300) for name in "abc"}
    worth = rng.integers(-3, 4, (4, 4, 4))
    rows = ExchangedRows(domain, dict.fromkeys("abc", 0), codes, [{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"a": 0, "c": 0}])

    def total() -> int:
        return int(worth[tuple(rows.codes.values())].sum())

    class Worth:
        def gains(self, exchanges: Exchanges) -> CountArray:
            codes, one, two = rows.codes, exchanges.one, exchanges.two
            exchanged = {a: code.copy() for a, code in codes.items()}
            exchanged[exchanges.attribute][one], exchanged[exchanges.attribute][two] = (
                exchanges.of_two,
                exchanges.of_one,
            )
            gained = worth[tuple(exchanged.values())] - worth[tuple(codes.values())]
            return (gained[one] + gained[two]).astype(np.int64)

        def follow(self, exchanges: Exchanges) -> None:
            made.append(len(exchanges.one))

    made: list[int] = []
    start = [total()]
    for _ in range(10):
        for move in rows.moves:
            assert rows.make(move, rng, Worth()) == 2 * made[-1]
            start.append(total())
    assert start == sorted(start)
    assert start[-1] > start[0]
    for a, b in ("ab", "bc", "ac"):
        assert np.array_equal(
            np.bincount(rows.codes[a] * 4 + rows.codes[b], minlength=16),
            np.bincount(codes[a] * 4 + codes[b], minlength=16),
        )


def check_cells(collection: Collection, levels: dict[str, int], rng: np.random.Generator) -> None:
    """Expected counts of six cells, weighted or not, and bounds, beside sums over the joint distribution."""
    domain, expectations = collection.domain, CellExpectations.of(collection)
    known = {a: level for a, level in levels.items() if level >= expectations.levels.get(a, 99)}
    codes = {a: rng.integers(0, domain.hierarchy(a).size(level), 6) for a, level in known.items()}
    tables = {a: rng.uniform(size=(6, domain.hierarchy(a).size(n))) for a, n in expectations.levels.items()}
    factors = {a: lambda cells, c, t=table: t[cells, c] for a, table in tables.items()}
    plain = expectations.expected_counts(known, codes, 6)
    weighted = expectations.expected_counts(known, codes, 6, factors)
    lower, upper = bounds_of_cells(collection, known, codes, 6)
    counts = joint_array(collection.cube.table(sum(domain.attribute_masks)))
    joint = iterative_proportional_fitting(counts / counts.sum(), domain, collection.margins) * counts.sum()
    above = {a: domain.hierarchy(a).lift(0, level) for a, level in known.items()}
    shown = {a: domain.hierarchy(a).lift(0, level) for a, level in expectations.levels.items()}
    for cell in range(6):
        box = {a: lift == codes[a][cell] for a, lift in above.items()}
        inside = joint[
            np.ix_(*(np.flatnonzero(box.get(a, np.ones(n))) for a, n in zip(domain.attributes, joint.shape)))
        ]
        assert plain[cell] == pytest.approx(inside.sum(), rel=1e-6, abs=1e-6)
        weight = joint
        for axis, (a, n) in enumerate(zip(domain.attributes, joint.shape)):
            own = box.get(a, np.ones(n)) * (tables[a][cell][shown[a]] if a in tables else 1)
            weight = weight * np.expand_dims(own, [other for other in range(joint.ndim) if other != axis])
        assert weighted[cell] == pytest.approx(weight.sum(), rel=1e-6, abs=1e-6)
        sharp = FrechetBounds.of(collection).of_box(box).bounds(10.0)
        assert lower[cell] <= sharp.lower <= sharp.upper <= upper[cell]
        assert lower[cell] - 1e-6 <= plain[cell] <= upper[cell] + 1e-6


@settings(max_examples=60)
@given(decomposable_collections(), st.data())
def test_expected_counts_and_bounds_of_many_cells_at_once(collection: Collection, data: st.DataObject) -> None:
    levels = {a: data.draw(st.integers(0, h.height)) for a, h in collection.domain.items() if data.draw(st.booleans())}
    check_cells(collection, levels, np.random.default_rng(data.draw(st.integers(0, 99))))


@pytest.mark.parametrize("shape", SHAPES)
def test_expected_counts_and_bounds_of_cells_in_every_shape(shape: str) -> None:
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    for seed, levels in enumerate(({}, {"a": 1, "b": 0}, {"a": 1, "b": 0, "c": 1, "d": 0}, {"a": 0, "d": 0, "c": 0})):
        check_cells(collection, levels, np.random.default_rng(seed))
    if shape == "chain":  # bounds are sharp where the cells fix all separators
        codes = base_cells(SHAPE_DOMAIN)
        lower, upper = bounds_of_cells(collection, dict.fromkeys("abcd", 0), codes, 48)
        for cell in range(48):
            box = {a: np.arange(SHAPE_DOMAIN.hierarchy(a).size(0)) == codes[a][cell] for a in "abcd"}
            bounds = FrechetBounds.of(collection).of_box(box).bounds(10.0)
            assert (bounds.lower, bounds.upper, bounds.sharp) == (lower[cell], upper[cell], True)
    if shape == "singleton":
        with pytest.raises(DomainMismatchError):
            CellExpectations.of(collection).expected_counts({"b": 0}, {"b": np.array([0])}, 1)


# Programs over possible cells: extremes are exact where they are called attained, and none is infeasible by mistake.


INFEASIBLE = SimpleNamespace(status=2, x=None, fun=None, mip_dual_bound=np.inf)
"""What scipy returns for such a program."""


def cycle(counts: list[int]) -> Collection:
    """The three pairs of three binary attributes; counts: of the eight cells."""
    return published(filled(flat_domain(a=2, b=2, c=2), counts), "ab", "bc", "ac")


def contradictory() -> PossibleCells:
    """Pairs of three binary attributes that no table has: a = b, b = c, and a differs from c."""
    counts = {"ab": [[2, 1], [0, 2]], "bc": [[2, 0], [0, 3]], "ac": [[0, 2], [3, 0]]}
    return possible_cells(apart(flat_domain(a=2, b=2, c=2), counts), 100)


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """HiGHS that calls programs infeasible with presolve on; `whole`, `real`: which ones."""
    solve = scipy.optimize.milp
    lies = {"whole": True, "real": True}

    def lying(objective: Any, **settings: Any) -> Any:
        kind = "whole" if np.any(settings["integrality"]) else "real"
        if settings["options"]["presolve"] and lies[kind]:
            return INFEASIBLE
        return solve(objective, **settings)

    monkeypatch.setattr(scipy.optimize, "milp", lying)
    return lies


@pytest.mark.parametrize("kinds", [("whole",), ("real",), ("whole", "real")])
def test_a_program_with_a_known_solution_is_never_called_infeasible(
    liar: dict[str, bool], kinds: tuple[str, ...]
) -> None:
    liar.update({kind: kind in kinds for kind in liar})
    counts = [1, 0, 0, 1, 0, 1, 1, 0]  # its relaxation has halves where the whole tables have 0 or 1
    for place, position in enumerate(np.ndindex(2, 2, 2)):
        cell = {name: np.arange(2) == code for name, code in zip("abc", position)}
        bounds = FrechetBounds.of(cycle(counts)).of_box(cell).bounds(10.0)
        assert bounds.lower <= counts[place] <= bounds.upper
        assert bounds == CountBounds(0, 1, sharp=True) or bounds.lower == bounds.upper


@settings(max_examples=40)
@given(st.lists(st.integers(0, 3), min_size=8, max_size=8).filter(any), st.integers(0, 255))
def test_extremes_are_those_of_all_tables_and_without_time_those_of_each_marginal(
    counts: list[int], chosen: int
) -> None:
    """What was not solved is not infeasible either."""
    cells = possible_cells(cycle(counts), 100)
    inside = np.array([chosen >> place & 1 for place in range(len(cells))], dtype=np.bool_)
    highest, lowest = (extreme_count(cells, inside, direction, seconds=0.0) for direction in (1, -1))
    most, fewest = (extreme_count(cells, inside, direction).bound for direction in (1, -1))
    assert 0 <= lowest.bound <= fewest <= most <= highest.bound <= sum(counts)
    keys = [cells.codes[a] * 2 + cells.codes[b] for a, b in ("ab", "bc", "ac")]
    own = np.array(counts).reshape(2, 2, 2)[tuple(cells.codes[a] for a in "abc")]
    every = all_tables(keys, [np.bincount(key, own, 4).astype(np.int64) for key in keys])
    sums = every[:, inside].sum(axis=1)
    assert (fewest, most) == (sums.min(), sums.max())
    if inside.sum() == 1:
        own = [int(table.counts_in(cells.coded_cells)[inside][0]) for table in cells.tables]
        assert highest.bound == min(own)
    assert highest.table is None
    assert lowest.table is None


@pytest.mark.parametrize("numbers", [RealNumbers(), WholeNumbers()])
def test_marginals_of_no_table_contradict_each_other(numbers: RealNumbers | WholeNumbers) -> None:
    cells = contradictory()
    with pytest.raises(ContradictionError, match="no table"):
        least(cells, np.zeros(len(cells)), numbers)


def test_bounds_of_millions_of_rows_are_not_rounded_to_what_a_solver_tolerates() -> None:
    """A consistent table of whole numbers has 12,716,158 rows there; a gap of a ten-thousandth hid it."""
    draw = random.Random(815160)
    counts = [draw.randint(1, 10**6) if draw.random() < 0.4 else 0 for _ in range(375)]
    table = filled(flat_domain(a=5, b=5, c=3, d=5), counts)
    cells = possible_cells(published(table, "ab", "bc", "ac", "cd", "ad", "bd"), 10**5)
    box = {"a": [1, 1, 0, 1, 1], "c": [1, 0, 0], "d": [1, 0, 0, 1, 1]}
    inside = np.all([np.array(meant, dtype=bool)[cells.codes[a]] for a, meant in box.items()], axis=0)
    least = extreme_count(cells, inside, -1, 60.0)
    assert least.bound == 12_716_158
    assert np.array_equal(cells.constraints @ least.table, cells.counts)
    assert least.table[inside].sum() == least.bound


def all_pairs(size: int) -> PossibleCells:
    """The three pairs of three attributes with so many values, of which all cells can be occupied."""
    counts = np.random.default_rng(size).integers(1, 9, size**3)
    return possible_cells(published(filled(flat_domain(a=size, b=size, c=size), counts), "ab", "bc", "ac"), size**3)


def test_the_solution_is_that_of_this_process() -> None:
    cells = all_pairs(3)
    program = {
        "constraints": [LinearConstraint(cells.constraints, cells.counts, cells.counts)],
        "bounds": Bounds(0, np.inf),
        "integrality": np.ones(27),
        "options": {"mip_rel_gap": 0.0},
    }
    objective = np.arange(27.0)
    here, there = milp(objective, **program), milp_until_killed(objective, seconds=60, **program)
    assert (there.status, there.fun, there.mip_dual_bound) == (here.status, here.fun, here.mip_dual_bound)
    assert np.array_equal(there.x, here.x)
    assert milp_until_killed("no numbers", seconds=60) is None


def test_the_process_is_kept_until_it_is_killed_and_nothing_is_told_then(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Counted(consistent_tables._Solver):
        def __init__(self) -> None:
            started.append(self)
            super().__init__()

    monkeypatch.setattr(consistent_tables, "_Solver", Counted)
    monkeypatch.setattr(consistent_tables, "_solver", None)
    slow = consistent_tables._PROGRAM.replace("    found =", "    __import__('time').sleep(60)\n    found =")
    with monkeypatch.context() as patched:
        patched.setattr(consistent_tables, "_PROGRAM", slow)
        assert milp_until_killed(np.ones(3), seconds=0.01) is None
    assert not started[0].is_ready()
    assert started[0]._process.poll() is not None, "it has ended"
    for _ in range(3):
        assert milp_until_killed(np.ones(3), seconds=60) is not None
    assert len(started) == 2
    started[1].end()


def test_a_fork_starts_a_process_of_its_own() -> None:
    assert milp_until_killed(np.ones(3), seconds=60) is not None
    solver = consistent_tables._solver
    assert solver.is_ready()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        found = milp_until_killed(np.ones(3), seconds=60)
        os.write(writing, b"same" if found is None or solver.is_ready() else b"own")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        assert answers.read() == b"own"
    os.waitpid(child, 0)
    assert solver.is_ready()


def test_no_program_that_lies_in_the_current_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may stand in a release by others, which may hold a `pickle.py`."""
    for name in ("pickle.py", "scipy.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(consistent_tables, "_solver", None)
    found = milp_until_killed(np.ones(3), seconds=60)
    assert found.fun == 0
    assert [path.name for path in tmp_path.iterdir() if path.name == "run"] == []


def test_integer_programs_with_many_cells_are_killed_where_their_time_is_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their bound is that of the linear program then."""
    given = []

    def killed(*_: object, seconds: float, **__: object) -> None:
        given.append(seconds)

    monkeypatch.setattr(consistent_tables, "milp_until_killed", killed)
    rng = np.random.default_rng(0)
    for size, expected in ((7, []), (9, [5])):
        cells = all_pairs(size)
        extreme = extreme_count(cells, rng.random(len(cells)) < 0.3, 1, seconds=5)
        assert given == expected
    assert not extreme.attained
    assert 0 < extreme.bound <= cells.total
    extreme_count(cells, rng.random(len(cells)) < 0.3, 1, seconds=np.inf, nodes=1)
    assert given == [5], "without a limit of time nothing is killed"


# All tables with given marginals: those that trying every number finds, in the same order, or none where they are many.


@st.composite
def marginals_of_a_table(draw: st.DrawFn) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """Places and counts of one to three marginals of a table of up to five cells, and its rows."""
    counts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
    keys, totals = [], []
    for _ in range(draw(st.integers(1, 3))):
        places = draw(st.integers(1, 3))
        key = np.array(draw(st.lists(st.integers(0, places - 1), min_size=len(counts), max_size=len(counts))))
        keys.append(key)
        totals.append(np.bincount(key, counts, minlength=places).astype(np.int64))
    return keys, totals, sum(counts)


@given(marginals_of_a_table())
def test_they_are_those_that_trying_every_number_finds(given_marginals: tuple) -> None:
    keys, totals, rows = given_marginals
    every = [
        list(counts)
        for counts in product(range(rows + 1), repeat=len(keys[0]))
        if all(
            np.array_equal(np.bincount(key, counts, minlength=len(total)), total) for key, total in zip(keys, totals)
        )
    ]
    found = all_tables(keys, totals)
    assert found.tolist() == every
    few = all_tables(keys, totals, len(every) - 1)
    assert few is None


def test_marginals_that_contradict_each_other_have_none() -> None:
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    found = all_tables([rows, columns], [np.array([2, 1]), np.array([1, 1])])
    assert len(found) == 0
    nobody = all_tables([np.array([0, 0])], [np.array([1, 2])])
    assert len(nobody) == 0


def test_what_is_too_much_is_given_up_at_the_same_place_always() -> None:
    key = np.zeros(3, dtype=np.intp)
    assert all_tables([key], [np.array([200])]) is None  # 20,301 tables
    found = all_tables([key], [np.array([198])])
    assert len(found) == 200 * 199 // 2
    assert all_tables([np.zeros(3_000_000, dtype=np.intp)], [np.array([1])]) is None
    with pytest.raises(ValueError, match="without a marginal"):
        all_tables([], [])


# Shares of values in classes, given sums: against listing every table, and against proportional fitting without end.


CASES = min(int(os.environ.get("MARGINALS_TRIALS", "60")), 5_000)


def random_sums(rng: np.random.Generator, most: int, rows: int) -> tuple[ClassSums, np.ndarray]:
    """Two or three tables over classes that are pairs (a, b), one maybe with coarser values; and a table with the sums."""
    sizes = rng.integers(2, most + 1, 2)
    a, b = (axis.ravel() for axis in np.meshgrid(range(sizes[0]), range(sizes[1]), indexing="ij"))
    values = int(rng.integers(2, 4))
    cells = rng.integers(0, rows + 1, (len(a), values)) * (rng.random((len(a), values)) < rng.choice([0.4, 0.7, 1]))
    cells[0, 0] += 1
    kept = cells.sum(axis=1) > 0
    cells, a, b = cells[kept], a[kept], b[kept]
    all_values, coarse = np.arange(values), np.minimum(np.arange(values), 1)
    groups = [(a, all_values), (b, coarse if rng.random() < 0.3 else all_values)]
    if rng.random() < 0.3:
        groups.append(((a + b) % 2, all_values))
    return ClassSums(cells.sum(axis=1), tuple(summed(cells, *own) for own in groups)), cells


def summed(cells: np.ndarray, class_of: np.ndarray, value_of: np.ndarray) -> SummedTable:
    class_of = np.unique(class_of, return_inverse=True)[1].reshape(-1)
    counts = np.zeros((class_of.max() + 1, value_of.max() + 1))
    np.add.at(counts, (class_of[:, None], value_of[None, :]), cells)
    return SummedTable(class_of, value_of, counts)


def listed_shares(sums: ClassSums) -> list[list[Fraction]]:
    """By trying every way to fill each class."""
    values = len(sums.tables[0].value_of)
    ways = [
        [own for own in product(range(int(size) + 1), repeat=values) if sum(own) == size]
        for size in sums.sizes.tolist()
    ]
    total, rows = 0, [[0] * values for _ in ways]
    for table in product(*ways):
        if all(np.array_equal(t.sums(np.array(table, dtype=float)), t.counts) for t in sums.tables):
            weight = prod(factorial(sum(own)) // prod(map(factorial, own)) for own in table)
            total += weight
            rows = [[r + weight * f for r, f in zip(*each)] for each in zip(rows, table)]
    return [[Fraction(r, total * int(n)) for r in own] for own, n in zip(rows, sums.sizes)]


def occupied(sums: ClassSums) -> np.ndarray:
    """The cells that some table of real numbers with the sums fills, by a linear program for each."""
    shape = len(sums.sizes), len(sums.tables[0].value_of)
    equations = [(np.arange(shape[0])[:, None] + 0 * np.arange(shape[1]), sums.sizes)]
    for table in sums.tables:
        equations.append((table.class_of[:, None] * table.counts.shape[1] + table.value_of, table.counts.ravel()))
    matrix = np.concatenate([(place.ravel() == np.arange(len(counts))[:, None]) for place, counts in equations])
    right = np.concatenate([counts for _, counts in equations])
    most = []
    for cell in range(shape[0] * shape[1]):
        found = linprog(-np.eye(shape[0] * shape[1])[cell], A_eq=matrix.astype(float), b_eq=right)
        most.append(-found.fun)
    return (np.array(most) > 1e-7).reshape(shape)


def fitted_without_end(sums: ClassSums, sweeps: int = 50_000) -> FloatArray:
    """Shares by iterative proportional fitting from the same in every cell that can be filled, which converges quickly."""
    cells = occupied(sums).astype(float)
    for _ in range(sweeps):
        before = cells
        for table in sums.tables:
            present = table.sums(cells)
            cells = cells * table.spread(
                np.divide(table.counts, present, out=np.zeros_like(present), where=present > 0)
            )
        cells = cells * (sums.sizes / cells.sum(axis=1))[:, None]
        if np.abs(cells - before).max() < 1e-14:
            break
    return np.asarray(cells / sums.sizes[:, None])


def test_counted_shares_are_those_of_all_tables() -> None:
    rng = np.random.default_rng(1)
    for _ in range(CASES):
        sums, _ = random_sums(rng, 2, 2)
        counted = counted_shares(sums)
        assert counted.exact == listed_shares(sums)
        assert counted.shares.tolist() == [list(map(float, shares)) for shares in counted.exact]


def test_shares_of_thousands_of_rows_are_the_nearest_floats() -> None:
    """Numbers of arrangements have thousands of digits there, of which 50 are counted."""
    cells = np.array([[900, 1100, 3000], [4, 3, 1], [5, 0, 2], [700, 2500, 1800]])
    tables = (summed(cells, np.array([0, 0, 1, 1]), np.arange(3)), summed(cells, np.array([0, 1, 0, 1]), np.arange(3)))
    counted = counted_shares(ClassSums(cells.sum(axis=1), tables))
    assert counted.shares.tolist() == [list(map(float, shares)) for shares in counted.exact]
    assert len(set(counted.shares[1].tolist())) == 3


def test_a_count_of_few_free_directions_is_begun_though_each_is_long() -> None:
    cells = np.full((3, 3), 8)
    counted = counted_shares(ClassSums(cells.sum(axis=1), (summed(cells, np.zeros(3, int), np.arange(3)),)))
    assert counted.shares == pytest.approx(np.full((3, 3), 1 / 3))


def test_a_count_that_is_too_long_is_none() -> None:
    cells = np.full((4, 3), 40)
    sums = ClassSums(cells.sum(axis=1), (summed(cells, np.array([0, 0, 1, 1]), np.arange(3)),))
    assert counted_shares(sums, most=1000) is None


def test_fitted_shares_are_as_near_as_they_say() -> None:
    """Also where sums force cells to be empty without a 0 that says so: scaling creeps up to those."""
    rng = np.random.default_rng(3)
    for _ in range(CASES):
        sums, _ = random_sums(rng, int(rng.integers(2, 7)), int(rng.choice([3, 40])))
        fit = fitted_shares(sums)
        assert fit.distance.max() < 1e-6
        oracle = fitted_without_end(sums)
        assert (np.abs(fit.shares - oracle).sum(axis=1) <= fit.distance + 1e-9).all()
        assert not (oracle[~fit.possible] > 0).any()


def test_bounds_hold_of_the_table_and_prove_what_is_forced() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        sums, cells = random_sums(rng, 4, 9)
        lower, upper = sums.bounds
        assert (lower <= cells).all()
        assert (cells <= upper).all()


def test_two_tables_can_make_a_value_certain() -> None:
    """The classes (a, b) of 100, 10, 10 and 100 people: design 4.18."""
    cells = np.array([[50, 50], [10, 0], [0, 10], [50, 50]])
    sums = ClassSums(
        cells.sum(axis=1), tuple(summed(cells, np.array(own), np.arange(2)) for own in ([0, 0, 1, 1], [0, 1, 0, 1]))
    )
    counted = counted_shares(sums)
    assert counted.exact == [[Fraction(own, sum(row)) for own in row] for row in cells.tolist()]
    assert np.allclose(fitted_shares(sums).shares, cells / cells.sum(axis=1, keepdims=True))
