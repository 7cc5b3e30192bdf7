"""k-combinatorial anonymity: verdicts and bounds are those of integer programming over all consistent tables."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Algorithm, Budget, Finding, SensitiveTree, Verdict, k_combinatorial, k_link, sensitive_tree
from checks import combinatorial as module
from checks.combinatorial import (
    by_join,
    by_search,
    by_vector_sets,
    minimal_of_equal_support,
    slice_factors,
    upper_bounds,
)
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, TooManyCellsError
from privacy_oracles import (
    cell_of,
    class_sizes,
    finest,
    is_k_combinatorial,
    largest_counts,
    places_within,
    possible_cells,
    without,
)
from privacy_strategies import sensitive_collections, tree_of_classes
from strategies import coarser_margins

Drawn = tuple[Collection, str]


@given(sensitive_collections(max_cells=36))
def test_the_verdict_is_that_of_integer_programming_for_every_k(drawn: Drawn) -> None:
    """KG06 Def. 4.2; the sensitive attribute at several levels in one collection, at times."""
    collection, sensitive = drawn
    if not collection.masks:
        return
    bounds = largest_counts(collection, [sensitive])
    least, smallest = int(bounds[bounds > 0].min()), min(class_sizes(collection, [sensitive]))
    for k in sorted({1, 2, least, least + 1, smallest, smallest + 1}):
        finding = k_combinatorial(collection, [sensitive], k)
        expected = is_k_combinatorial(bounds, k)
        assert finding.verdict is (Verdict.HOLDS if expected else Verdict.FAILS), k
        assert (finding.criterion, finding.parameters) == ("k-combinatorial", {"k": k})


@settings(max_examples=80)
@given(sensitive_collections(max_cells=36), st.booleans())
def test_the_cell_shown_is_one_with_the_smallest_count(drawn: Drawn, fails: bool) -> None:
    """Whether the check fails for it or holds, and that one is the nearest to failing."""
    collection, sensitive = drawn
    if not collection.masks:
        return
    bounds = largest_counts(collection, [sensitive])
    finding = k_combinatorial(collection, [sensitive], int(bounds[bounds > 0].min()) + fails)
    assert finding.verdict is (Verdict.FAILS if fails else Verdict.HOLDS)
    assert finding.worst is not None
    assert not finding.note
    fine = without(finest(collection.margins), [sensitive])
    margins = finding.worst_class.margins or [finding.worst_class.margin]
    shown = without(finest(margins), [sensitive])
    place = cell_of(collection.domain, shown, finding.worst_class.cell)
    within = np.ones(bounds.shape, dtype=bool)
    for axis, above in zip(places_within(collection.domain, fine, shown), place):
        within &= axis == above
    most = finding.worst_class.count
    assert bounds[within & (bounds > 0)].max() == most == bounds[bounds > 0].min()


@given(sensitive_collections(max_cells=36))
def test_the_closed_form_is_the_largest_count_of_every_cell(drawn: Drawn) -> None:
    """Design 4.5 for the cliques with the sensitive attribute: U(t) cell by cell, not the smallest alone."""
    collection, sensitive = drawn
    tree = sensitive_tree(collection, sensitive)
    if tree is None:
        return
    part = Collection.of(collection.cube, tree.tree.cliques)
    expected = largest_counts(part, [sensitive])
    fine = without(finest(part.margins), [sensitive])
    found = np.zeros_like(expected)
    for combinations, vectors in tree.combinations(slice_factors(tree), np.minimum):
        for combination, bound in zip(combinations.tolist(), upper_bounds(tree, vectors)):
            found[cell_of(collection.domain, fine, tree.cell(combination))] = bound
    np.testing.assert_array_equal(found, expected)


def test_a_vector_gives_way_only_to_a_smaller_one_of_its_own_block_and_support() -> None:
    """One that is smaller since it is 0 somewhere may end as U = 0, which is no finding, where the larger one is one."""
    vectors = np.array([[0.0, 2.0], [1.0, 2.0], [1.0, 3.0], [2.0, 2.0], [2.0, 2.0]])
    assert minimal_of_equal_support(vectors, np.array([0, 0, 0, 0, 1])).tolist() == [0, 1, 4]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_stars_that_show_the_sensitive_attribute_at_three_levels(seed: int) -> None:
    """More cliques and levels than Hypothesis draws often: what nests, and what siblings rule out, counts here."""
    rng = np.random.default_rng(seed)
    diseases = Hierarchy.from_rows(
        (f"s{i}", f"t{rng.integers(0, 3)}" if i > 2 else f"t{i}", "*") for i in range(int(rng.integers(4, 7)))
    )
    middle = [int(rng.integers(0, 2)) if i > 1 else i for i in range(diseases.size(1))]
    rows = [(value, parent, f"u{middle[int(parent[1:])]}", "*") for value, parent, _ in diseases.rows()]
    others = {name: Hierarchy.flat([f"{name}0", f"{name}1"]) for name in "abcd"}
    domain = Domain.of({**others, "s": Hierarchy.from_rows(rows)})
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    counts = rng.integers(1, 6, shape) * (rng.random(shape) < 0.3)
    counts.ravel()[0] += 1
    codes = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    table = ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, counts.ravel())
    levels = rng.permutation([0, 1, 2, int(rng.integers(0, 3))]).tolist()
    masks = [domain.mask({name: 0, "s": level}) for name, level in zip(others, levels)]
    collection = Collection.of(DataCube([table]), masks)
    tree = sensitive_tree(collection, "s")
    assert tree is not None
    bounds = largest_counts(collection, ["s"])
    found = np.concatenate([upper_bounds(tree, v) for _, v in tree.combinations(slice_factors(tree), np.minimum)])
    assert sorted(found[found > 0]) == sorted(bounds[bounds > 0])
    least = int(bounds[bounds > 0].min())
    for k in (least, least + 1, int(np.median(bounds[bounds > 0])) + 1):
        expected = Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS
        assert [find(tree, k).verdict for find in (by_search, by_vector_sets, by_join)] == [expected] * 3, k


@settings(max_examples=60)
@given(sensitive_collections(), st.integers(1, 6))
def test_it_implies_k_link_and_is_implied_by_it_with_one_sensitive_margin(drawn: Drawn, k: int) -> None:
    collection, sensitive = drawn
    finding, link = k_combinatorial(collection, [sensitive], k), k_link(collection, [sensitive], k)
    assert link.holds or not finding.holds
    tree = sensitive_tree(collection, sensitive)
    if tree is None or len(tree.classes) == 1:
        assert finding.verdict is link.verdict


@given(sensitive_collections(max_cells=36), st.data(), st.integers(1, 5))
def test_with_two_sensitive_attributes_the_verdict_is_that_of_integer_programming_too(
    drawn: Drawn, data: st.DataObject, k: int
) -> None:
    """Any two attributes of the collection."""
    collection, sensitive = drawn
    if not collection.masks:
        return
    other = data.draw(st.sampled_from([a for a in collection.domain.attributes if a != sensitive]))
    both = data.draw(st.permutations([sensitive, other]))
    finding = k_combinatorial(collection, both, k)
    expected = is_k_combinatorial(largest_counts(collection, both), k)
    assert finding.verdict is (Verdict.HOLDS if expected else Verdict.FAILS)


@settings(max_examples=40)
@given(sensitive_collections(max_cells=36), st.integers(1, 6))
def test_without_a_sensitive_attribute_it_is_k_link(drawn: Drawn, k: int) -> None:
    """All that is left to break it is a single cell of a margin (Dobra's bound, KG06 Eq. 7)."""
    collection, _ = drawn
    assert k_combinatorial(collection, [], k).verdict is k_link(collection, [], k).verdict
    if collection.masks:
        assert k_combinatorial(collection, [], k).holds is is_k_combinatorial(largest_counts(collection, []), k)


@settings(max_examples=60)
@given(sensitive_collections(max_cells=36), st.data(), st.integers(1, 4))
def test_implied_margins_change_nothing(drawn: Drawn, data: st.DataObject, k: int) -> None:
    collection, sensitive = drawn
    domain = collection.domain
    implied = [domain.mask(data.draw(coarser_margins(domain, margin))) for margin in collection.margins]
    more = Collection.of(collection.cube, [*collection.masks, *implied])
    assert k_combinatorial(more, [sensitive], k).verdict is k_combinatorial(collection, [sensitive], k).verdict


def chain(counts: dict[str, np.ndarray]) -> Collection:
    """The margins {a, s} and {b, s} of given cells, published without a base table."""
    domain = Domain.of({"a": Hierarchy.flat("xy"), "b": Hierarchy.flat("xy"), "s": Hierarchy.flat("uvw")})
    tables = []
    for name, table in counts.items():
        codes = dict(zip((name, "s"), map(np.ravel, np.indices(table.shape))))
        tables.append(ContingencyTable.from_cells(domain, {name: 0, "s": 0}, codes, table.ravel()))
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def test_a_cell_that_two_margins_pin_down_together_by_hand() -> None:
    """Each class has 6 rows or more; but x, x has min(1, 5) + min(5, 0) + min(0, 1) = 1 row at most, and can have it."""
    collection = chain({"a": np.array([[1, 5, 0], [4, 1, 3]]), "b": np.array([[5, 0, 1], [0, 6, 2]])})
    assert k_link(collection, ["s"], 6).holds
    finding = k_combinatorial(collection, ["s"], 2)
    assert finding.verdict is Verdict.FAILS
    assert finding.worst is not None
    assert finding.worst_class.cell == {"a": "x", "b": "x"}
    assert finding.worst_class.count == 1
    assert finding.worst_class.counts in ([{"u": 1, "v": 5}, {"u": 5, "w": 1}], [{"u": 5, "w": 1}, {"u": 1, "v": 5}])


def test_a_cell_that_cannot_be_filled_at_all_is_no_finding() -> None:
    """x, x has no common sensitive value: U = 0 links to nobody."""
    collection = chain({"a": np.array([[0, 6, 0], [6, 0, 6]]), "b": np.array([[6, 0, 6], [0, 6, 0]])})
    assert k_combinatorial(collection, ["s"], 6).holds


@pytest.mark.slow
def test_the_oracle_finds_what_enumerating_all_tables_finds() -> None:
    """Every nonnegative 2 x 2 x 2 table with the margins {a, s}, {b, s} of a given one."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abs"})
    counts = np.array([[[2, 0], [1, 1]], [[0, 1], [1, 0]]])
    codes = dict(zip("abs", np.indices(counts.shape).reshape(3, -1)))
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abs", 0), codes, counts.ravel())])
    collection = Collection.of(cube, [domain.mask({"a": 0, "s": 0}), domain.mask({"b": 0, "s": 0})])
    most = np.zeros((2, 2), dtype=int)
    for cells in product(range(4), repeat=8):
        table = np.reshape(cells, (2, 2, 2))
        if (table.sum(axis=1) == counts.sum(axis=1)).all() and (table.sum(axis=0) == counts.sum(axis=0)).all():
            most = np.maximum(most, table.sum(axis=2))
    assert largest_counts(collection, ["s"])[:, :, 0].tolist() == most.tolist()
    assert possible_cells(collection).shape == (2, 2, 2)


def test_nothing_published_is_anonymous() -> None:
    collection = chain({"a": np.array([[1, 5, 0], [4, 1, 3]]), "b": np.array([[5, 0, 1], [0, 6, 2]])})
    assert k_combinatorial(Collection.of(collection.cube, []), ["s"], 1000).holds


@pytest.mark.parametrize("arms", [5, 40])
def test_more_cells_than_can_be_enumerated_are_decided(arms: int) -> None:
    """Up to 3^40 cells, each of which 3 rows of either sensitive value can fill."""
    names = [f"q{arm}" for arm in range(arms)]
    domain = Domain.of({name: Hierarchy.flat("xyz") for name in names} | {"s": Hierarchy.flat("uv")})
    row = np.arange(18)
    codes = dict.fromkeys(names, row % 3) | {"s": row // 9}
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ones(18, dtype=np.int64))])
    collection = Collection.of(cube, [domain.mask({name: 0, "s": 0}) for name in names])
    assert k_combinatorial(collection, ["s"], 6).verdict is Verdict.HOLDS
    assert k_combinatorial(collection, ["s"], 7).verdict is Verdict.FAILS


def test_each_way_says_what_was_asked_and_looked_at_also_where_it_gives_up() -> None:
    tree = tree_of_classes((3, 2), (4, 1), (2, 2))
    for finding, verdict, algorithm, examined in (
        (by_join(tree, 4, limit=2), Verdict.UNDECIDED, Algorithm.JOIN, 0),
        (by_join(tree, 4, limit=3), Verdict.HOLDS, Algorithm.JOIN, 3),
        (by_join(tree, 5, limit=3), Verdict.FAILS, Algorithm.JOIN, 3),
        (by_search(tree, 4, budget=2), Verdict.UNDECIDED, Algorithm.BRANCH_AND_BOUND, 3),
        (by_search(tree, 4, budget=3), Verdict.HOLDS, Algorithm.BRANCH_AND_BOUND, 3),
        (by_search(tree, 5, budget=3), Verdict.FAILS, Algorithm.BRANCH_AND_BOUND, 3),
    ):
        assert finding.criterion == "k-combinatorial"
        assert finding.parameters == {"k": 5 if verdict is Verdict.FAILS else 4}
        assert (finding.verdict, finding.algorithms, finding.examined) == (verdict, (algorithm,), examined)


@pytest.mark.parametrize("place", [0, 1])
def test_where_one_part_is_undecided_so_is_the_whole(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sensitive attributes in pairs of their own; that the other part holds proves nothing."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abcdst"})
    codes = dict(zip("abcdst", np.indices((2,) * 6).reshape(6, -1)))
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abcdst", 0), codes, np.full(64, 5))
    pairs = [domain.mask(dict.fromkeys(pair, 0)) for pair in ("as", "bs", "ct", "dt")]
    collection = Collection.of(DataCube([table]), pairs)
    whole = k_combinatorial(collection, ["s", "t"], 3)
    assert whole.verdict is Verdict.HOLDS
    asked: list[Finding] = []
    as_it_is = module.of_part

    def of_part(part: SensitiveTree, k: int, budget: Budget) -> Finding:
        asked.append(as_it_is(part, k, budget))
        return replace(asked[-1], verdict=Verdict.UNDECIDED) if len(asked) == place + 1 else asked[-1]

    monkeypatch.setattr(module, "of_part", of_part)
    assert k_combinatorial(collection, ["s", "t"], 3).verdict is Verdict.UNDECIDED
    assert len(asked) == 2


def test_groups_with_too_many_cells_leave_it_undecided_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_many(*_: object) -> None:
        raise TooManyCellsError("there are too many cells")

    monkeypatch.setattr(module, "tree_of_group", too_many)
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abs"})
    codes = dict(zip("abs", np.indices((2,) * 3).reshape(3, -1)))
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abs", 0), codes, np.full(8, 5))
    pairs = [domain.mask(dict.fromkeys(pair, 0)) for pair in ("as", "bs")]
    finding = k_combinatorial(Collection.of(DataCube([table]), pairs), ["s"], 3)
    assert (finding.criterion, finding.verdict) == ("k-combinatorial", Verdict.UNDECIDED)
    assert (finding.parameters, finding.examined, finding.note) == ({"k": 3}, 0, "there are too many cells")


def test_one_group_that_fails_is_enough_where_another_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """S alone leaves 2 rows for (a0, b1), whatever of Q is too large to be laid out, before it or after it."""
    domain = Domain.of({name: Hierarchy.flat(f"{name}{n}" for n in range(2)) for name in "ABCDSQ"})
    counts = np.array([10, 1, 1, 10])
    tables = [
        ContingencyTable.from_cells(
            domain, dict.fromkeys(names, 0), dict(zip(names, np.array([[0, 0, 1, 1], [0, 1, 0, 1]]))), counts
        )
        for names in ("AS", "BS", "CQ", "DQ")
    ]
    collection = Collection.of(DataCube(tables), [table.mask for table in tables])
    tree_of_group = module.tree_of_group
    for large in "SQ":

        def some(of: Collection, group: module.SensitiveGroup, large: str = large) -> object:
            if group.attributes == (large,):
                raise TooManyCellsError("too large")
            return tree_of_group(of, group)

        monkeypatch.setattr(module, "tree_of_group", some)
        assert k_combinatorial(collection, "SQ", 3).verdict is Verdict.FAILS
        assert k_combinatorial(collection, "SQ", 2).verdict is Verdict.UNDECIDED
