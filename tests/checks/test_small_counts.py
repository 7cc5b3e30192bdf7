"""k-anonymity, k-link, k-combinatorial anonymity and least cells: verdicts are those of integer programs and enumeration."""

import os
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from checks import (
    FULL,
    Algorithm,
    Budget,
    EquivalenceClasses,
    Finding,
    MinCell,
    Question,
    Requirements,
    Verdict,
    equivalence_classes,
    k_combinatorial,
    k_link,
    min_cell,
)
from dice import Dice
from filled_tables import apart, filled, flat_domain, of_labels, of_rows, published
from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    Hierarchy,
    TooManyCellsError,
)
from privacy_oracles import (
    cell_of,
    class_sizes,
    finest,
    is_k_combinatorial,
    largest_counts,
    marginal,
    places_within,
    possible_cells,
    without,
)
from privacy_strategies import sensitive_collections, several_sensitive
from strategies import contingency_tables, data_cubes, decomposable_masks, domains, margins
from table_enumeration import all_tables

Drawn = tuple[Collection, str]


@given(sensitive_collections(max_cells=36))
def test_the_verdict_is_that_of_integer_programming_for_every_k(drawn: Drawn) -> None:
    """KG06 Def. 4.2; the sensitive attribute at several levels in one collection, at times."""
    collection, sensitive = drawn
    if not collection.masks:
        return
    bounds, alone = largest_counts(collection, [sensitive]), largest_counts(collection, [])
    least, smallest = int(bounds[bounds > 0].min()), min(class_sizes(collection, [sensitive]))
    for k in sorted({1, 2, least, least + 1, smallest, smallest + 1}):
        expected = Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS
        finding = k_combinatorial(collection, [sensitive], k)
        assert finding.verdict is expected, k
        assert (finding.criterion, finding.parameters) == ("k-combinatorial", {"k": k})
        expected = Verdict.HOLDS if is_k_combinatorial(alone, k) else Verdict.FAILS
        for finding in (k_combinatorial(collection, [], k), min_cell(collection, k)):
            assert finding.verdict is expected, "of everybody's values"


@settings(max_examples=80)
@given(sensitive_collections(max_cells=36) | several_sensitive(48), st.booleans())
def test_the_cell_shown_is_one_with_the_smallest_count(drawn: tuple[Collection, str | list[str]], fails: bool) -> None:
    """Whether the check fails for it or holds, and that one is the nearest to failing."""
    collection, names = drawn[0], [drawn[1]] if isinstance(drawn[1], str) else drawn[1]
    if not collection.masks:
        return
    bounds = largest_counts(collection, names)
    finding = k_combinatorial(collection, names, int(bounds[bounds > 0].min()) + fails)
    assert finding.verdict is (Verdict.FAILS if fails else Verdict.HOLDS)
    assert not finding.note or len(names) > 1
    fine = without(finest(collection.margins), names)
    margins = finding.worst_class.margins or [finding.worst_class.margin or {}]
    shown = without(finest(margins), names)
    place = cell_of(collection.domain, shown, finding.worst_class.cell)
    within = np.ones(bounds.shape, dtype=bool)
    for axis, above in zip(places_within(collection.domain, fine, shown), place):
        within &= axis == above
    most = finding.worst_class.count
    assert bounds[within & (bounds > 0)].max() == most
    assert finding.note or most == bounds[bounds > 0].min()


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
    levels = rng.permutation([0, 1, 2, int(rng.integers(0, 3))]).tolist()
    collection = published(filled(domain, counts), *({name: 0, "s": level} for name, level in zip(others, levels)))
    bounds = largest_counts(collection, ["s"])
    least = int(bounds[bounds > 0].min())
    for k in (least, least + 1, int(np.median(bounds[bounds > 0])) + 1):
        expected = Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS
        assert k_combinatorial(collection, ["s"], k).verdict is expected, k


@pytest.mark.parametrize("arms", [5, 40])
def test_more_cells_than_can_be_enumerated_are_decided(arms: int) -> None:
    """Up to 3^40 cells, each of which 3 rows of either sensitive value can fill."""
    names = [f"q{arm}" for arm in range(arms)]
    rows = [[row % 3] * arms + [row // 9] for row in range(18)]
    table = of_rows(flat_domain(**dict.fromkeys(names, 3), s=2), rows)
    collection = published(table, *({name: 0, "s": 0} for name in names))
    assert k_combinatorial(collection, ["s"], 6).verdict is Verdict.HOLDS
    assert k_combinatorial(collection, ["s"], 7).verdict is Verdict.FAILS


def test_one_group_that_fails_is_enough_where_another_is_too_large_or_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S alone leaves 2 rows for (a0, b1), whatever of Q is too large to be laid out, before it or after it."""
    domain = flat_domain(**dict.fromkeys("ABCDSQ", 2))
    collection = apart(domain, {names: [10, 1, 1, 10] for names in ("AS", "BS", "CQ", "DQ")})
    module = import_module("checks.combinatorial")
    tree_of_group, by_search = module.tree_of_group, module.by_search
    assert k_combinatorial(collection, "SQ", 2).verdict is Verdict.HOLDS
    for large in "SQ":

        def some(of: Collection, group: Any, large: str = large) -> object:
            if group.attributes == (large,):
                raise TooManyCellsError("too large")
            return tree_of_group(of, group)

        def undecided(part: Any, k: int, budget: Budget, large: str = large) -> Finding:
            finding = by_search(part, k, budget)
            return replace(finding, verdict=Verdict.UNDECIDED) if part.sensitive == large else finding

        for name, patched in (("tree_of_group", some), ("by_search", undecided)):
            with monkeypatch.context() as patch:
                patch.setattr(module, name, patched)
                assert k_combinatorial(collection, "SQ", 3).verdict is Verdict.FAILS
                finding = k_combinatorial(collection, "SQ", 2)
                assert (finding.criterion, finding.verdict) == ("k-combinatorial", Verdict.UNDECIDED)
                assert finding.parameters == {"k": 2}


# Two and three sensitive attributes that cliques show together.


Several = tuple[Collection, list[str]]


@settings(max_examples=60)
@given(several_sensitive(48), st.integers(2, 6), st.integers(0, 30), st.integers(0, 2))
def test_less_work_says_undecided_and_never_anything_false(drawn: Several, k: int, work: int, programs: int) -> None:
    collection, names = drawn
    budget = replace(FULL, branches=5 * work, vectors=work, programs=programs, proof=work)
    wanted = k_combinatorial(collection, names, k).verdict
    assert k_combinatorial(collection, names, k, budget).verdict in (wanted, Verdict.UNDECIDED)


def test_linear_programming_alone_would_pass_what_fails() -> None:
    """Four rows, one in each cell of (X, Y, Z): with S, R and Q shown together U(000) is 1, the linear optimum 2."""
    rows = ["000000", "100011", "011101", "111110"]
    table = of_rows(flat_domain(**dict.fromkeys("xyzsrq", 2)), [list(map(int, row)) for row in rows])
    collection = published(table, "srq", "xs", "yr", "zq")
    assert collection.is_decomposable
    bounds = largest_counts(collection, ["s", "r", "q"])
    assert bounds.ravel()[0] == 1
    finding = k_combinatorial(collection, ["s", "r", "q"], 2)
    assert finding.verdict is Verdict.FAILS
    assert finding.worst_class.count == 1


# A least count of every cell: no set of cells at all has an upper bound from 1 to m - 1, by enumeration of all tables.


MOST_CELLS = 10
"""Possible cells of a collection of which every set is a target."""

MOST_TABLES = 20_000


def largest_of_sets(collection: Collection) -> NDArray[np.int64] | None:
    """U(S) for every set S of possible cells, over all nonnegative integer tables with the given marginals.

    None where there are too many cells or tables to try them all.
    """
    domain, fine, possible = collection.domain, finest(collection.margins), possible_cells(collection)
    cells = int(possible.sum())
    if cells > MOST_CELLS:
        return None
    members, sums = [], []
    for margin in collection.margins:
        counts = marginal(collection, margin).astype(int)
        where = np.arange(counts.size).reshape(counts.shape)[places_within(domain, fine, margin)][possible]
        members += [np.flatnonzero(where == place).tolist() for place in np.flatnonzero(counts)]
        sums += counts.ravel()[np.flatnonzero(counts)].tolist()
    tables = list(islice(all_tables(members, sums, cells), MOST_TABLES + 1))
    if len(tables) > MOST_TABLES:
        return None
    sets = np.arange(1 << cells)[:, None] >> np.arange(cells) & 1
    largest = np.zeros(1 << cells, dtype=np.int64)
    for some in np.array_split(np.array(tables), len(tables) // 2_000 + 1):
        largest = np.maximum(largest, (some @ sets.T).max(axis=0))
    return largest


def small_collections(seed: int, number: int) -> Iterator[tuple[Collection, NDArray[np.int64]]]:
    """Random collections, two thirds of them decomposable, at one or several levels, with U of every set of their cells."""
    rng = np.random.default_rng(seed)
    while number:
        dice = Dice(lambda _: rng.bytes(64))
        domain = domains.of(dice, max_cells=24, max_values=4)
        table = contingency_tables.of(dice, domain, int(rng.integers(2, 10)))
        codes = dict(zip(table.attributes, table.codes))
        table = ContingencyTable.from_cells(domain, table.margin, codes, table.counts + int(rng.integers(0, 3)))
        if rng.random() < 0.67:
            masks = decomposable_masks.of(dice, domain)
        else:
            levels = [{a: int(rng.integers(0, h.height)) for a, h in domain.items()} for _ in domain.attributes]
            masks = tuple(
                domain.mask({a: level for a, level in margin.items() if a != left_out})
                for margin, left_out in zip(levels, domain.attributes)
            )
        collection = Collection.of(DataCube([table]), masks)
        if collection.masks and (largest := largest_of_sets(collection)) is not None:
            number -= 1
            yield collection, largest


def smallest_published(collection: Collection) -> int:
    return min(int(table.counts.min()) for table in collection.tables)


def check_all(seed: int, number: int) -> dict[bool, int]:
    """Every verdict for every m that can matter; how many collections with and without a junction tree hold at their m."""
    held = {True: 0, False: 0}
    for collection, largest in small_collections(seed, number):
        smallest = smallest_published(collection)
        for least in {2, 3, smallest, smallest + 1}:
            expected = not ((largest > 0) & (largest < least)).any()
            finding = min_cell(collection, least)
            assert finding.verdict is (Verdict.HOLDS if expected else Verdict.FAILS), (collection, least)
            assert expected or smallest < least or not collection.is_decomposable, "the published counts decide"
            held[collection.is_decomposable] += expected and least > 1
    return held


@pytest.mark.parametrize("seed", range(5))
def test_the_verdict_is_that_of_every_set_of_cells_in_every_table(seed: int) -> None:
    held = check_all(seed, 700 if "MARGINALS_TIMES" in os.environ else 175)
    assert min(held.values()) >= 5, held


THREE = flat_domain(a=2, b=2, c=2)


@pytest.mark.parametrize("margins", [("ab", "bc"), ("ab", "bc", "ac")])
def test_of_a_table_without_rows_no_count_is_small(margins: tuple[str, ...]) -> None:
    collection = published(of_rows(flat_domain(a=2, b=2, c=2), []), *margins)
    assert min_cell(collection, 2).holds
    assert k_combinatorial(collection, [], 2).holds


def test_only_what_is_cyclic_is_programmed() -> None:
    """A tail of margins hangs on the cycle, with more combinations than any program takes; the 2 is found all the same."""
    names = ["a", "b", "c", *(f"x{number}" for number in range(20))]
    rows = np.repeat(np.arange(8), 400 * np.array([3, 0, 2, 3, 0, 0, 3, 0]))
    rng = np.random.default_rng(0)
    codes = dict(zip("abc", np.unravel_index(rows, (2, 2, 2)))) | {n: rng.integers(0, 2, len(rows)) for n in names[3:]}
    codes["x0"] = ((codes["c"] == 0) & (rng.random(len(rows)) < 0.6)).astype(np.int64)
    table = of_rows(flat_domain(**dict.fromkeys(names, 2)), np.column_stack([codes[name] for name in names]))
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "x0"), *((f"x{i}", f"x{i + 1}") for i in range(19))]
    collection = published(table, *(dict.fromkeys(pair, 0) for pair in pairs))
    assert smallest_published(collection) > 801
    finding = min_cell(collection, 801)
    assert (finding.verdict, finding.worst_class.count) == (Verdict.FAILS, 800)
    assert min_cell(collection, 800).holds


def test_what_programs_do_not_end_with_is_undecided() -> None:
    collection = published(filled(THREE, [5, 4, 4, 5, 4, 5, 5, 4]), "ab", "bc", "ac")
    assert min_cell(collection, 4).holds
    hurried = replace(FULL, programs=0)
    finding = min_cell(collection, 4, hurried)
    assert (finding.criterion, finding.verdict) == ("min-cell", Verdict.UNDECIDED)
    assert min_cell(collection, 10, hurried).verdict is Verdict.FAILS, "a published count needs no program"


def test_of_people_every_cell_needs_the_rows_that_so_many_can_have() -> None:
    """Six rows can be those of two people with three each."""
    collection = published(filled(flat_domain(a=2), [6, 9]), "a")
    assert MinCell(6).check(Question(collection, [])).holds
    assert MinCell(2, rows_per_person=3).check(Question(collection, [])).holds
    finding = MinCell(3, rows_per_person=3).check(Question(collection, []))
    assert finding.verdict is Verdict.FAILS
    assert finding.parameters == {"k": 3, "rows_per_person": 3}


# k-anonymity and k-link anonymity: the smallest class of the published tables is found, and monotone.


@st.composite
def collections(draw: st.DrawFn) -> tuple[Collection, list[str]]:
    cube = draw(data_cubes())
    drawn = [cube.domain.mask(draw(margins(cube.domain))) for _ in range(draw(st.integers(0, 4)))]
    return Collection.of(cube, drawn), draw(st.lists(st.sampled_from(cube.domain.attributes), unique=True))


@given(collections(), st.integers(1, 8))
def test_k_link_fails_where_some_marginal_has_a_class_below_k(drawn: tuple[Collection, list[str]], k: int) -> None:
    """KG06 Def. 4.1, by enumeration; shown is the smallest class of all."""
    collection, sensitive = drawn
    sizes = class_sizes(collection, sensitive)
    finding = k_link(collection, sensitive, k)
    assert finding.verdict is (Verdict.HOLDS if min(sizes, default=k) >= k else Verdict.FAILS)
    assert (finding.criterion, finding.parameters, finding.examined) == ("k-link", {"k": k}, len(sizes))
    assert finding.algorithms == (Algorithm.MINIMUM,)
    if finding.worst is None:
        assert not sizes
        return
    assert finding.worst_class.count == min(sizes)
    margin = finding.worst_class.margin
    assert margin in [dict(without(published, sensitive)) for published in collection.margins]
    table = marginal(collection, margin)
    assert table[cell_of(collection.domain, margin, finding.worst_class.cell)] == min(sizes)


@given(st.data(), st.integers(1, 8))
def test_k_anonymity_of_a_table_is_k_link_anonymity_of_it_alone(data: st.DataObject, k: int) -> None:
    collection, sensitive = data.draw(collections())
    for mask, table in zip(collection.masks, collection.tables):
        alone = Collection.of(collection.cube, [mask])
        assert Requirements(tuple(sensitive), k_link=1, k_combinatorial=k).of_table(table) == (
            Requirements(tuple(sensitive), k_link=k).of_table(table)
        ), "of several counts the largest is demanded"
        (finding, cells) = Requirements(tuple(sensitive), k_link=k, min_cell=k).of_table(table)
        assert (cells.criterion, cells.parameters) == ("min-cell", {"k": k})
        assert cells.holds is bool((table.counts >= k).all())
        assert cells.worst_class.count == table.counts.min()
        assert finding.verdict is (Verdict.HOLDS if min(class_sizes(alone, sensitive)) >= k else Verdict.FAILS)
        assert finding.worst == k_link(alone, sensitive, k).worst
        assert (finding.criterion, finding.parameters) == ("k-anonymity", {"k": k})
        assert finding.examined == len(class_sizes(alone, sensitive))


def test_the_4_anonymous_table_of_the_paper() -> None:
    """MKGV07 Fig. 2: three blocks of four, whatever their conditions."""
    table = filled(flat_domain(block=3, condition=3), [[2, 2, 0], [1, 2, 1], [0, 0, 4]])
    for sensitive, k, holds in ((("condition",), 4, True), (("condition",), 5, False), ((), 4, False)):
        (finding,) = Requirements(sensitive, k_link=k).of_table(table)
        assert finding.holds is holds


# Equivalence classes: they partition the rows by nonsensitive values, and count them by sensitive value.


def shown(classes: EquivalenceClasses) -> dict[frozenset[tuple[str, str]], dict[str, int]]:
    return {frozenset(classes.labels(i).items()): classes.distribution(i) for i in range(len(classes))}


def test_the_classes_of_the_4_anonymous_table_of_the_paper() -> None:
    """MKGV07 Figs. 1 and 2: the third block holds cancer alone."""
    rows = ["1305* <30 Heart"] * 2 + ["1305* <30 Viral"] * 2 + ["1485* >=40 Cancer", "1485* >=40 Heart"]
    rows += ["1485* >=40 Viral"] * 2 + ["1305* 3* Cancer"] * 4
    table = of_labels(("zip", "age", "condition"), [row.split() for row in rows])
    assert shown(equivalence_classes(table, "condition")) == {
        frozenset({("zip", "1305*"), ("age", "<30")}): {"Heart": 2, "Viral": 2},
        frozenset({("zip", "1485*"), ("age", ">=40")}): {"Cancer": 1, "Heart": 1, "Viral": 2},
        frozenset({("zip", "1305*"), ("age", "3*")}): {"Cancer": 4},
    }
