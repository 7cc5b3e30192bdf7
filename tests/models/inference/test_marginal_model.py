"""What a model of marginals expects, bounds and draws, beside the dense joint, integer programs and published bounds."""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations, count, islice, product
from math import comb, exp, inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import chisquare

import marginals
from brute_force import (
    Array,
    dense_marginal,
    independent,
    iterative_proportional_fitting,
    joint_array,
    kl_divergence,
    places,
)
from filled_tables import counted, filled, flat_domain, of_rows, of_vectors, published
from marginals import Role
from models import (
    BoolArray,
    Collection,
    ContingencyTable,
    CountBounds,
    DataCube,
    Deadline,
    Domain,
    DomainMismatchError,
    FrechetBounds,
    Hierarchy,
    MarginalModel,
    PlausibleTables,
    TooManyCellsError,
)
from privacy_oracles import base_table
from shape_releases import release_of
from strategies import SHAPE_DOMAIN, SHAPES, data_cubes, decomposable_collections, margins, shape_cube
from written_bundles import bundle_content, write_bundle

ROWS = 200_000


def of_shape(shape: str) -> Collection:
    return Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))


def enumerated(collection: Collection) -> Array:
    counts = joint_array(base_table(collection.cube))
    p = counts / counts.sum()
    return counts.sum() * iterative_proportional_fitting(p, collection.domain, collection.margins, sweeps=4000)


def in_order(dense: Array, domain: Domain, margin: Mapping[str, int]) -> Array:
    """The axes of a dense marginal in the order of the margin, attributes left out dropped."""
    held = [a for a in domain.attributes if a in margin]
    laid_out = dense.reshape([domain.hierarchy(a).size(margin[a]) for a in held])
    return laid_out.transpose([held.index(a) for a in margin])


def weighted(joint: Array, domain: Domain, weights: Mapping[str, Array]) -> Array:
    for axis, attribute in enumerate(domain.attributes):
        weight = weights.get(attribute, np.ones(joint.shape[axis]))
        joint = joint * np.expand_dims(weight, [other for other in range(joint.ndim) if other != axis])
    return joint


@pytest.mark.parametrize("shape", SHAPES)
def test_every_margin_of_every_shape_and_its_information_equal_enumeration(shape: str) -> None:
    """What is kept from one question does not change the next."""
    model, joint = MarginalModel(of_shape(shape)), enumerated(of_shape(shape))
    q = joint / joint.sum()
    assert model.information == pytest.approx(kl_divergence(q, independent(q)), abs=1e-6)
    assert model.total_information == pytest.approx(kl_divergence(q, np.full(q.shape, 1 / q.size)), abs=1e-6)
    levels = [range(hierarchy.height + 1) for hierarchy in SHAPE_DOMAIN.hierarchies]
    for chosen in np.array(np.meshgrid(*levels)).reshape(len(levels), -1).T.tolist():
        margin = dict(zip(SHAPE_DOMAIN.attributes, chosen))
        found = model.expected(margin)
        np.testing.assert_allclose(found.ravel(), dense_marginal(joint, SHAPE_DOMAIN, margin).ravel(), atol=1e-7)
        assert found is model.expected(margin)


@pytest.mark.parametrize("looked_up", [0, 1 << 20])
@settings(max_examples=60)
@given(collection=decomposable_collections(max_cells=100), data=st.data())
def test_margins_and_boxes_at_any_levels_equal_enumeration(
    looked_up: int, collection: Collection, data: st.DataObject
) -> None:
    """Boxes by looking their margins up or along the tree; of the base table, or of the published marginals alone."""
    domain, joint, model = collection.domain, enumerated(collection), MarginalModel(collection)
    margin = dict(data.draw(st.permutations(list(data.draw(margins(domain)).items()))))
    found = model.expected(margin)
    np.testing.assert_allclose(found, in_order(dense_marginal(joint, domain, margin), domain, margin), atol=1e-8)
    occupied = np.count_nonzero(dense_marginal(joint, domain, model.finest_levels) > 1e-12)
    assert len(model.expected_cells(model.finest_levels, occupied)) == occupied
    if occupied > 1 and len(model.tree.cliques) > 1:
        with pytest.raises(TooManyCellsError, match="too many cells to be laid out"):
            model.expected_cells(model.finest_levels, 0)
    codes = [np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=3, max_size=3))) for n in found.shape]
    assert np.array_equal(model.expected_of(margin, codes), found[tuple(codes)])
    shares = st.sampled_from([[0.0, 1.0], [0.0, 0.25, 0.5, 1.0]])
    chosen, share = data.draw(st.sets(st.sampled_from(domain.attributes))), st.sampled_from(data.draw(shares))
    sizes = {a: domain.hierarchy(a).size(0) for a in sorted(chosen)}
    weights = {a: np.array(data.draw(st.lists(share, min_size=n, max_size=n))) for a, n in sizes.items()}
    within = weighted(joint, domain, weights)
    is_box = all(np.isin(weight, [0, 1]).all() for weight in weights.values())
    box = model.box({a: weight == 1 for a, weight in weights.items()}) if is_box else model.weighted(weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.inference.marginal_model._LOOKED_UP", looked_up)
        assert model.total == joint.sum().round()
        assert model.expected_in(box) == pytest.approx(within.sum(), abs=1e-8)
    expected = in_order(dense_marginal(within, domain, margin), domain, margin)
    assert model.expected_within(margin, box) == pytest.approx(expected, abs=1e-8)
    if collection.masks:
        alone = MarginalModel(Collection.of(DataCube(collection.tables), collection.masks))
        assert np.array_equal(alone.expected(margin), found)


@given(decomposable_collections(max_cells=200), st.data())
def test_published_counts_are_expected_as_they_were_counted_and_their_zeros_stay_zero(
    collection: Collection, data: st.DataObject
) -> None:
    """No cell below an empty published one is expected to have rows: nobody died alive."""
    domain, model = collection.domain, MarginalModel(collection)
    assume(collection.tables)
    published = data.draw(st.sampled_from(collection.tables))
    counts = in_order(
        dense_marginal(joint_array(base_table(collection.cube)), domain, published.margin),
        domain,
        dict(published.margin),
    )
    np.testing.assert_allclose(model.expected(published.margin), counts, rtol=1e-12)
    asked = {**published.margin, **{a: model.finest_levels[a] for a in data.draw(margins(domain))}}
    expected = model.expected(asked)
    above = np.ix_(*(domain.hierarchy(a).lift(asked[a], published.margin[a]) for a in published.margin))
    kept = expected.sum(axis=tuple(axis for axis, a in enumerate(asked) if a not in published.margin))
    assert (kept[counts[above] == 0] == 0).all()
    assert (expected >= 0).all()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if SHAPES[shape]])
def test_a_goodness_of_fit_test_accepts_samples_of_every_shape(shape: str, tmp_path: Path) -> None:
    """And rejects those of another model; base values are drawn evenly under what is published."""
    release, joint = release_of(shape, tmp_path), enumerated(of_shape(shape))
    rows, again = (release.rows(ROWS, seed=7, base_values=True) for _ in range(2))
    assert rows.equals(again)
    assert not rows.equals(release.rows(ROWS, seed=8, base_values=True))
    assert len(release.rows(0, base_values=True)) == 0
    codes = [[h.code(label, 0) for label in rows[a]] for a, h in SHAPE_DOMAIN.items()]
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(map(np.array, codes)), 1)
    possible = joint > 1e-7
    assert counts[~possible].sum() == 0
    expected = joint[possible] / joint[possible].sum() * ROWS
    assert chisquare(counts[possible], expected).pvalue > 0.001
    if shape == "chain":
        star = enumerated(of_shape("star"))
        kept = counts[star > 1e-7]
        assert chisquare(kept, star[star > 1e-7] / star[star > 1e-7].sum() * kept.sum()).pvalue < 1e-9


def test_the_same_seed_draws_the_same_rows_of_the_model() -> None:
    sampler, counts, joint = MarginalModel(of_shape("chain")), np.zeros((4, 3, 2, 2)), enumerated(of_shape("chain"))
    first, second = (sampler.draw(2_000, np.random.default_rng(1)) for _ in range(2))
    assert all(np.array_equal(first[a], second[a]) for a in first)
    np.add.at(counts, tuple(first[a] for a in SHAPE_DOMAIN.attributes), 1)
    possible = joint > 1e-7
    assert counts[~possible].sum() == 0
    assert chisquare(counts[possible], joint[possible] / joint[possible].sum() * 2_000).pvalue > 0.001


def test_cells_too_many_to_be_laid_out_are_expected_as_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty cells of nine hundred, and an attribute that is not published, of which one group has three values of four."""
    ladder = Hierarchy.from_rows([("w", "w-y", "*"), ("x", "w-y", "*"), ("y", "w-y", "*"), ("z", "z", "*")])
    flat = Hierarchy.flat(map(str, range(30)))
    domain = Domain.of({"a": flat, "x": ladder, "b": flat})
    table = counted(domain, {(n, 0, 29 - n): n + 5 for n in range(30)}).rolled_up({"a": 0, "b": 0})
    collection = Collection.of(DataCube([table]), [table.mask])
    write_bundle(bundle_content(collection, dict.fromkeys("axb", Role.QUASI_IDENTIFIER)), tmp_path)
    monkeypatch.setattr("marginals.estimates.CELL_LIMIT", 100)
    for level, shares in ((1, {"w-y": 0.75, "z": 0.25}), (0, dict.fromkeys("wxyz", 0.25))):
        cells = marginals.open_release(tmp_path).table({"a": 0, "b": 0, "x": level}).value
        found = {(int(a), int(b), x): weight for (a, b, x), weight in cells.items()}
        expected = {(a, 29 - a, x): (a + 5) * share for a in range(30) for x, share in shares.items()}
        assert found == pytest.approx(expected)


def test_margins_of_too_many_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = of_rows(flat_domain(a=300, b=300, c=300), [[number] * 3 for number in range(300)])
    model = MarginalModel(published(table, *"abc"))
    with pytest.raises(TooManyCellsError):
        model.expected(dict.fromkeys("abc", 0))
    for most in (300**2 - 1, 300**2):
        monkeypatch.setattr("models.inference.calibrated_tree.CELL_LIMIT", most)
        if most < 300**2:
            with pytest.raises(TooManyCellsError):
                model.expected(dict.fromkeys("ab", 0))
    assert model.expected(dict.fromkeys("ab", 0)).shape == (300, 300)


@pytest.mark.parametrize("masks", [[], [0b1], [0b1, 0b10]])
def test_nothing_is_expected_of_a_table_without_rows(masks: list[int]) -> None:
    model = MarginalModel(Collection.of(DataCube([filled(flat_domain(a=2, b=3), [0] * 6)]), masks))
    assert model.expected_in(model.box({"a": np.array([True, False])})) == 0
    assert model.expected({"a": 0}).tolist() == [0, 0]
    with pytest.raises(DomainMismatchError, match="no rows"):
        model.draw(1, np.random.default_rng(0))


def test_the_two_ends_of_a_chain_longer_than_python_can_recurse() -> None:
    """The product of all transition matrices; and Frechet's bounds hold for what is expected."""
    rng, length, rows = np.random.default_rng(0), 1200, 200
    names = [f"a{number:04}" for number in range(length + 1)]
    domain = Domain.of({name: Hierarchy.flat("xyz") for name in names})
    tables, expected = [], np.eye(3)
    before = rng.integers(0, 3, rows)
    start = np.bincount(before, minlength=3)
    for first, second in zip(names, names[1:]):
        after = np.where(rng.random(rows) < 0.01, rng.integers(0, 3, rows), before)
        pairs = np.bincount(before * 3 + after, minlength=9).reshape(3, 3)
        expected = expected @ (pairs / pairs.sum(axis=1, keepdims=True))
        cells = {first: before, second: after}
        tables.append(ContingencyTable.from_cells(domain, {first: 0, second: 0}, cells, np.ones(rows, dtype=np.int64)))
        before = after
    collection = Collection.of(DataCube(tables), [table.mask for table in tables])
    ends, model = {names[0]: 0, names[-1]: 0}, MarginalModel(collection)
    found = model.expected(ends)
    np.testing.assert_allclose(found, start[:, None] * expected, rtol=1e-9)
    box = model.box({name: np.array([True, False, False]) for name in ends})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.inference.marginal_model._LOOKED_UP", 0)
        assert model.expected_in(box) == pytest.approx(found[0, 0])
    bounds = FrechetBounds(collection).of_margin(ends)
    assert np.all(bounds.lower <= found)
    assert np.all(found <= bounds.upper)


def beside(collection: Collection, *further: Mapping[str, int]) -> MarginalModel:
    """The model of a release of a collection, and of further tables beside it."""
    masks = [collection.domain.mask(margin) for margin in further]
    cube = DataCube([*collection.tables, *map(collection.cube.table, masks)])
    roles = dict.fromkeys(collection.domain.attributes, Role.QUASI_IDENTIFIER)
    return bundle_content(Collection.of(cube, collection.masks), roles, further=tuple(masks)).model


@pytest.mark.parametrize("further", [[{"a": 0, "c": 0}], [{"c": 1, "a": 1}], [{"a": 1, "c": 0}, {"c": 1, "a": 0}]])
def test_further_tables_are_fitted_answered_and_drawn(further: list[dict[str, int]]) -> None:
    """Beside pairs of b with a and c: as the fit of all cells, nearly, and exactly what one of the tables shows."""
    domain = Domain.of({name: SHAPE_DOMAIN.hierarchy(name) for name in "cab"})
    table = filled(domain, np.random.default_rng(4).integers(0, 30, 24))
    everything = published(table, "ab", "bc", *further)
    model, joint, rows = beside(published(table, "ab", "bc"), *further), enumerated(everything), joint_of(everything)
    heights = [range(hierarchy.height + 1) for hierarchy in domain.hierarchies]
    for rng, levels in zip(map(np.random.default_rng, count()), product(*heights)):
        margin = dict(zip(domain.attributes, levels))
        shown = {a: level for a, level in margin.items() if level < domain.hierarchy(a).height}
        is_counted = any(all(own.get(a, inf) <= level for a, level in shown.items()) for own in everything.margins)
        whole = rows if is_counted else joint
        near = {"rel": 2e-2, "abs": 1e-2}
        within = {"rel": 1e-9} if is_counted else near
        told = in_order(dense_marginal(whole, domain, margin), domain, margin)
        assert model.expected(margin) == pytest.approx(told, **within)
        for shares in ([0, 1], [0, 0.25, 1]):
            of_values = {a: rng.choice(shares, domain.hierarchy(a).size(level)) for a, level in margin.items()}
            weights = {a: weight[domain.hierarchy(a).lift(0, margin[a])] for a, weight in of_values.items()}
            is_box = len(shares) == 2
            box = model.box({a: w == 1 for a, w in weights.items()}) if is_box else model.weighted(weights)
            told = weighted(whole if is_box else joint, domain, weights).sum()
            assert model.expected_in(box) == pytest.approx(told, **(within if is_box else near))
    drawn, other, nothing = (model.draw(n, np.random.default_rng(n)) for n in (4_000, 3_999, 0))
    assert [{len(codes) for codes in one.values()} for one in (drawn, other, nothing)] == [{4_000}, {3_999}, {0}]
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(drawn[a] for a in domain.attributes), 1)
    assert counts[joint < 1e-9].sum() == 0
    assert chisquare(counts[joint > 1e-9], joint[joint > 1e-9] / joint.sum() * 4_000).pvalue > 0.001


def test_what_is_too_large_to_be_fitted_is_answered_all_the_same() -> None:
    """Each b has one a and one c, so that the further table tells nothing new."""
    table = of_rows(flat_domain(a=60, b=60, c=60), [[n] * 3 for n in range(60)])
    model = beside(published(table, "ab", "bc"), {"a": 0, "c": 0})
    assert model.expected_in(model.box(dict.fromkeys("abc", np.arange(60) < 20))) == pytest.approx(20)


# Bounds of margins and boxes hold, are attained where they say so, and agree with what is published elsewhere.


def joint_of(collection: Collection) -> Array:
    return joint_array(collection.cube.table(sum(collection.domain.attribute_masks)))


def indicator(domain: Domain, box: Mapping[str, BoolArray]) -> Array:
    inside = np.ones([h.size(0) for h in domain.hierarchies])
    for axis, attribute in enumerate(domain.attributes):
        if attribute in box:
            others = [other for other in range(inside.ndim) if other != axis]
            inside = inside * np.expand_dims(box[attribute], others)
    return inside


def brute_force(collection: Collection, inside: Array) -> tuple[int, int]:
    """Least and largest number of rows inside by integer programming over all base cells."""
    rows, right, joint = [], [], joint_of(collection)
    for margin in ({}, *collection.margins):
        target = dense_marginal(joint, collection.domain, margin)
        index = np.broadcast_arrays(*places(collection.domain, margin))
        linear = np.ravel_multi_index(index, target.shape).ravel()
        rows.append((linear == np.arange(target.size)[:, None]).astype(float))
        right.append(target.ravel())
    exact = LinearConstraint(np.vstack(rows), np.concatenate(right), np.concatenate(right))
    found = [
        milp(s * inside.ravel(), constraints=exact, integrality=np.ones(joint.size), bounds=Bounds(0, np.inf)).fun * s
        for s in (1, -1)
    ]
    return round(found[0]), round(found[1])


def assert_as_close_as_each_table(bounds: CountBounds, collection: Collection, inside: Array) -> None:
    """What one table says by itself is the rows of its cells that may be inside, and of those that lie inside wholly."""
    for margin in collection.margins:
        rows, held, cells = (
            dense_marginal(joint, collection.domain, margin)
            for joint in (joint_of(collection), inside, np.ones_like(inside))
        )
        assert rows[held == cells].sum() <= bounds.lower
        assert bounds.upper <= rows[held > 0].sum()


def check_box(collection: Collection, box: Mapping[str, BoolArray], seconds: float) -> CountBounds:
    inside = indicator(collection.domain, box)
    low, high = brute_force(collection, inside)
    bounds = FrechetBounds(collection).of_box(box).bounds(seconds)
    assert bounds.lower <= low <= (joint_of(collection) * inside).sum() <= high <= bounds.upper
    if bounds.sharp:
        assert (bounds.lower, bounds.upper) == (low, high)
    assert_as_close_as_each_table(bounds, collection, inside)
    for looks in (0, 1, 3):
        counted = count()
        deadline = Deadline(float(looks), lambda counted=counted: float(next(counted)))  # type: ignore[misc]
        early = FrechetBounds(collection, deadline).of_box(box).bounds(seconds)
        assert early.lower <= low <= high <= early.upper
        if not looks:
            assert_as_close_as_each_table(early, collection, inside)
        if early.sharp:
            assert (early.lower, early.upper) == (low, high)
    return bounds


@st.composite
def boxes(draw: st.DrawFn, domain: Domain) -> dict[str, BoolArray]:
    """For some attributes a set of values of some level, as base values."""
    box = {}
    for attribute in sorted(draw(st.sets(st.sampled_from(domain.attributes)))):
        hierarchy = domain.hierarchy(attribute)
        level = draw(st.integers(0, hierarchy.height))
        chosen = draw(st.lists(st.booleans(), min_size=hierarchy.size(level), max_size=hierarchy.size(level)))
        box[attribute] = np.array(chosen)[hierarchy.lift(0, level)]
    return box


def collections_over(cube: DataCube) -> st.SearchStrategy[Collection]:
    masks = margins(cube.domain).map(cube.domain.mask)
    return st.lists(masks, min_size=1, max_size=4).map(lambda drawn: Collection.of(cube, drawn))


@settings(max_examples=80)
@given(decomposable_collections(), st.data())
def test_bounds_of_boxes_hold_and_are_attained_where_they_say_so(collection: Collection, data: st.DataObject) -> None:
    box = data.draw(boxes(collection.domain))
    bounds = check_box(collection, box, 0.0)
    model = MarginalModel(collection)
    expected = model.expected_in(model.box(box))
    assert bounds.lower - 1e-9 <= expected <= bounds.upper + 1e-9
    assert bounds.sharp or len(collection.junction_tree.cliques) > 2, "two published tables are glued freely"
    flows = FrechetBounds(collection).of_box(box).flow_bounds()
    low, high = brute_force(collection, indicator(collection.domain, box))
    assert flows.lower <= low <= high <= flows.upper
    if flows.sharp:  # along a chain of cliques
        assert (flows.lower, flows.upper) == (low, high)


@settings(max_examples=60)
@given(data_cubes(max_cells=100), st.data())
def test_bounds_hold_for_collections_of_any_shape(cube: DataCube, data: st.DataObject) -> None:
    collection, box = data.draw(collections_over(cube)), data.draw(boxes(cube.domain))
    for seconds in (0.0, 5.0):
        bounds = check_box(collection, box, seconds)
        if collection.masks:
            model = MarginalModel(collection)
            assert bounds.lower - 1e-6 <= model.expected_in(model.box(box)) <= bounds.upper + 1e-6


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if SHAPES[shape]])
def test_bounds_of_boxes_hold_in_every_shape_and_programs_make_them_sharp(shape: str) -> None:
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    rng = np.random.default_rng(0)
    for _ in range(6):
        box = {a: rng.random(h.size(0)) < 0.5 for a, h in SHAPE_DOMAIN.items() if rng.random() < 0.6}
        check_box(collection, box, 0.0)
        assert check_box(collection, box, 5.0).sharp


def test_programs_make_bounds_sharp_where_three_ways_meet() -> None:
    """No chain of cliques holds what is asked."""
    domain = flat_domain(**dict.fromkeys("abcdef", 2))
    table = of_rows(domain, np.random.default_rng(1).integers(0, 2, (40, 6)))
    collection, is_closer = published(table, "abc", "ad", "be", "cf"), 0
    for codes in product((0, 1), repeat=3):
        box = {a: np.arange(2) == code for a, code in zip("def", codes)}
        bounds = check_box(collection, box, 5.0)
        assert bounds.sharp
        is_closer += bounds != FrechetBounds(collection).of_box(box).bounds()
    assert is_closer


def test_bounds_are_never_looser_than_those_of_known_parts() -> None:
    """At the ends of a chain a-b-c-d: n(a) + n(d) - N <= n(a, d) <= n(a), n(d); and so in a ring of margins."""
    rng = np.random.default_rng(1)
    rows = np.stack([rng.random(1000) < 0.08, *rng.integers(0, 4, (2, 1000)), rng.random(1000) < 0.1], axis=1)
    table = of_rows(flat_domain(a=2, b=4, c=4, d=2), rows)
    ones = [np.bincount(rows[:, place].astype(int), minlength=2) for place in (0, 3)]
    for tables in (("ab", "bc", "cd"), ("ab", "bc", "cd", "da"), ("ab", "bc", "ca", "d")):
        source = FrechetBounds(published(table, *tables))
        ends = source.of_margin({"a": 0, "d": 0})
        for a, d in np.ndindex(2, 2):
            box = source.of_box({"a": np.arange(2) == a, "d": np.arange(2) == d}).bounds()
            for lower, upper in ((ends.lower[a, d], ends.upper[a, d]), (box.lower, box.upper)):
                assert lower >= ones[0][a] + ones[1][d] - 1000
                assert upper <= min(ones[0][a], ones[1][d])
    assert FrechetBounds(published(table, "ab", "bc", "cd")).of_margin({"a": 0, "d": 0}).lower[0, 0] == 808


@pytest.mark.parametrize("of_any_shape", [False, True])
@given(data=st.data())
def test_bounds_of_a_margin_hold_for_the_table_and_what_is_expected_of_it(
    of_any_shape: bool, data: st.DataObject
) -> None:
    """Of all rows, and of those in a box; one table that shows all of it is counted."""
    if of_any_shape:
        collection = data.draw(collections_over(data.draw(data_cubes(max_cells=100))))
    else:
        collection = data.draw(decomposable_collections())
    domain, source, model = collection.domain, FrechetBounds(collection), MarginalModel(collection)
    margin = dict(data.draw(st.permutations(list(data.draw(margins(domain)).items()))))
    whole = source.of_margin(margin)
    assert whole.sharp or of_any_shape or len(collection.junction_tree.cliques) > 2
    for box in ({}, data.draw(boxes(domain))):
        inside = indicator(domain, box)
        bounds = source.of_box(box).by(margin)
        true = in_order(dense_marginal(joint_of(collection) * inside, domain, margin), domain, margin)
        assert np.all((bounds.lower <= true) & (true <= bounds.upper) & (bounds.upper <= whole.upper))
        place = tuple(data.draw(st.integers(0, size - 1)) for size in true.shape)
        single = {a: domain.hierarchy(a).lift(0, margin[a]) == code for a, code in zip(margin, place)}
        low, high = brute_force(collection, indicator(domain, single) * inside)
        assert bounds.lower[place] <= low <= high <= bounds.upper[place]
        if bounds.sharp:
            assert (bounds.lower[place], bounds.upper[place]) == (low, high)
        asked = {**margin, **dict.fromkeys(box, 0)}
        if any(all(table.get(a, inf) <= level for a, level in asked.items()) for table in collection.margins):
            assert bounds.sharp
            assert np.array_equal(bounds.lower, true)
        if collection.masks:
            expected = model.expected_within(margin, model.box(box))
            assert np.all((bounds.lower <= expected + 1e-6) & (expected <= bounds.upper + 1e-6))
            assert np.all(bounds.upper[expected == 0] == 0), "cells that are expected to be empty are empty"
    assert np.array_equal(source.of_box({}).by(margin).lower, whole.lower)


def test_bounds_of_the_czech_autoworkers(shared_vectors: Path) -> None:
    """Dobra and Fienberg's bounds of the 2^6 table given BF, ABCE, ADE."""
    given_, table = of_vectors(shared_vectors, "autoworkers.json")
    collection = published(table, *("".join(clique) for clique in given_["cliques"]))
    for place in range(64):
        box = {name: np.arange(2) == (place >> axis & 1) for axis, name in enumerate(given_["vars"])}
        bounds = FrechetBounds(collection).of_box(box).bounds()
        assert bounds == CountBounds(given_["lower"][place], given_["upper"][place], sharp=True)


# Plausible tables keep every published count, and are drawn as the module says: by brute force on small ones.


DOMAIN = Domain.of(
    {
        "a": Hierarchy.from_rows([("0", "low", "*"), ("1", "low", "*"), ("2", "high", "*"), ("3", "high", "*")]),
        "b": Hierarchy.flat(["0", "1", "2"]),
        "c": Hierarchy.from_rows([("0", "x", "*"), ("1", "x", "*"), ("2", "y", "*")]),
        "d": Hierarchy.flat(["0", "1"]),
    }
)

MARGINS = [
    [{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"c": 1, "d": 0}],
    [{"a": 1, "b": 0}, {"a": 0}, {"c": 0, "d": 0}],
    [{"a": 0, "b": 0, "d": 0}, {"a": 1, "c": 0}],
    [{"a": 0}, {"b": 0}, {"c": 0}, {"d": 0}],
    [{"a": 1, "c": 1}, {"a": 0, "d": 0}, {"b": 0, "c": 0}],
]


@pytest.mark.parametrize("strength", [0.0, 0.6])
def test_tables_are_drawn_by_arrangements_and_interactions(monkeypatch: pytest.MonkeyPatch, strength: float) -> None:
    """The number of rows with both: how many arrangements have it, times exp of the interactions; 3 and 4 of 8 rows."""
    scores = np.array([strength, -strength, 0.0]), np.array([1.0, -1.0])
    monkeypatch.setattr(PlausibleTables, "_interactions", lambda *_: {("b", "d"): scores})
    data = np.zeros((8, 4), dtype=np.int64)
    data[:3, 1] = data[:4, 3] = 1
    collection = published(of_rows(DOMAIN, data), "b", "d")
    drawn = islice(PlausibleTables(collection).drawn(np.random.default_rng(5)), 4000)
    both = Counter(int(np.sum((table["b"] == 1) & (table["d"] == 1))) for table in drawn)
    weights = []
    for n in range(4):
        alike, unlike = n + (8 - 3 - 4 + n), 3 + 4 - 2 * n
        weights.append(comb(3, n) * comb(5, 4 - n) * exp(strength * (alike - unlike)))
    expected = 4000 * np.array(weights) / sum(weights)
    first, second = (next(PlausibleTables(collection).drawn(np.random.default_rng(2))) for _ in range(2))
    assert all((first[name] == second[name]).all() for name in first)
    observed = np.array([both[count] for count in range(4)])
    assert float(((observed - expected) ** 2 / expected).sum()) < 21.1  # chi2 of three degrees of freedom, 1 in 10,000


def test_pairs_that_no_table_shows_are_drawn_as_strong_as_one_that_is_published() -> None:
    """x beside a published pair y, z of correlation rho: of log-linear interactions rho / (1 - rho^2), of either sign."""
    for alike in (0.5, 0.7, 0.8):
        rows = np.array(
            [(y, z) for y, z, share in ((0, 0, alike), (0, 1, 1 - alike)) for _ in range(round(1000 * share))]
        )
        rows = np.array([(n % 2, *row) for n, row in enumerate(np.concatenate([rows, 1 - rows]))])
        plausible = PlausibleTables(published(of_rows(flat_domain(x=2, y=2, z=2), rows), "x", "yz"))
        (rho,) = plausible.correlations
        s = rho / (1 - rho**2)
        field = s * np.array([2, 0, 0, -2]), s * np.array([0, 2, -2, 0])
        shares = np.array([alike, 1 - alike, 1 - alike, alike]) / 2
        expected = [abs(shares @ (np.array([1, 1, -1, -1]) * np.tanh(own))) for own in field]
        for table in islice(plausible.drawn(np.random.default_rng(0)), 6):
            y, z = (np.corrcoef(table["x"], table[name])[0, 1] for name in "yz")
            assert (abs(y), abs(z)) == pytest.approx([expected[int(y * z < 0)]] * 2, abs=0.08)


@given(st.sampled_from(MARGINS), st.integers(0, 10_000))
@settings(deadline=None, max_examples=20)
def test_a_drawn_table_is_a_model_with_every_published_count_and_drawn_once(
    margins: list[dict[str, int]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sizes = [DOMAIN.hierarchy(name).size(0) for name in DOMAIN.attributes]
    data = of_rows(DOMAIN, np.stack([rng.integers(0, size, 30) for size in sizes], axis=1))
    collection = Collection.of(DataCube([data]), [DOMAIN.mask(margin) for margin in margins])
    levels, model = collection.finest_levels, MarginalModel(collection)
    together = [{a for a in margin if margin[a] == levels[a]} for margin in margins]
    parted = {pair for pair in combinations("abcd", 2) if not any(t >= {*pair} for t in together)}
    assert set(PlausibleTables(collection).parted) == parted
    first, again = (list(model.drawn_tables(number, seed)) for number in (3, 2))
    for one, other in zip(first, again):
        assert all(np.array_equal(one.codes[name], other.codes[name]) for name in one.codes)
    for table in first:
        for margin in margins:
            published = collection.cube.table(DOMAIN.mask(margin))
            order = {name: margin[name] for name in published.attributes}
            np.testing.assert_allclose(table.expected(order), published.dense())
        base = table.expected(dict.fromkeys(DOMAIN.attributes, 0))
        for axis, name in enumerate(DOMAIN.attributes):
            inside = rng.random(DOMAIN.hierarchy(name).size(0)) < 0.5
            counted = table.expected_in(model.box({name: inside}))
            assert counted == pytest.approx(np.moveaxis(base, axis, 0)[inside].sum())
