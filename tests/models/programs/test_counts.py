"""Counts that nest, compare, pack and exchange: the extremes are those of all tables, or of integer programs."""

from collections.abc import Mapping
from itertools import product
from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

from brute_force import base_cells, iterative_proportional_fitting, joint_array
from dice import Dice, Thrown
from models import (
    Collection,
    ContingencyTable,
    ContradictionError,
    CountArray,
    DataCube,
    Domain,
    DomainMismatchError,
    FrechetBounds,
    Hierarchy,
    Mask,
    TooManyCellsError,
    all_tables,
)
from models.inference.calibrated_tree import CellExpectations
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
from models.programs.cell_bounds import bounds_of_cells
from models.programs.consistent_tables import WholeNumbers
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
    domain = Domain.of({name: Hierarchy.flat("01") for name in "srq"})
    codes = {"s": np.array([0, 1, 1, 0]), "r": np.array([1, 0, 1, 0]), "q": np.array([1, 1, 0, 0])}
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("srq", 0), codes, np.ones(4, dtype=int))])
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
