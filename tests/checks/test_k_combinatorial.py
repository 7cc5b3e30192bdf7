"""k-combinatorial anonymity: verdicts and bounds are those of integer programming over all consistent tables."""

import os
from collections import Counter
from dataclasses import replace
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import (
    FULL,
    Algorithm,
    Budget,
    Finding,
    Verdict,
    k_combinatorial,
    k_link,
    sensitive_tree,
)
from dice import Dice
from filled_tables import apart, filled, flat_domain, of_rows, published
from models import Collection, Domain, Hierarchy, TooManyCellsError
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
from privacy_strategies import sensitive_collections, several_sensitive

Drawn = tuple[Collection, str]


VECTOR_SETS = replace(FULL, cell_branches=0)


"""Whatever a search would decide is left to vector sets."""


@given(sensitive_collections(max_cells=36))
def test_the_verdict_is_that_of_integer_programming_for_every_k(drawn: Drawn) -> None:
    """KG06 Def. 4.2; the sensitive attribute at several levels in one collection, at times."""
    collection, sensitive = drawn
    if not collection.masks:
        return
    bounds = largest_counts(collection, [sensitive])
    least, smallest = int(bounds[bounds > 0].min()), min(class_sizes(collection, [sensitive]))
    for k in sorted({1, 2, least, least + 1, smallest, smallest + 1}):
        expected = Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS
        for budget in (FULL, VECTOR_SETS):
            finding = k_combinatorial(collection, [sensitive], k, budget)
            assert finding.verdict is expected, k
            assert (finding.criterion, finding.parameters) == ("k-combinatorial", {"k": k})


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
    assert finding.worst is not None
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
        for budget in (FULL, VECTOR_SETS):
            assert k_combinatorial(collection, ["s"], k, budget).verdict is expected, k


@settings(max_examples=60)
@given(sensitive_collections(), st.integers(1, 6))
def test_it_implies_k_link_and_is_implied_by_it_with_one_sensitive_margin(drawn: Drawn, k: int) -> None:
    """Or without a sensitive attribute: a single cell of a margin is left to break it (Dobra's bound, KG06 Eq. 7)."""
    collection, sensitive = drawn
    finding, link = k_combinatorial(collection, [sensitive], k), k_link(collection, [sensitive], k)
    assert link.holds or not finding.holds
    tree = sensitive_tree(collection, sensitive)
    if tree is None or len(tree.classes) == 1:
        assert finding.verdict is link.verdict
    assert k_combinatorial(collection, [], k).verdict is k_link(collection, [], k).verdict


ABS = flat_domain(a="xy", b="xy", s="uvw")


def test_a_cell_that_two_margins_pin_down_together_by_hand() -> None:
    """Each class has 6 rows or more; but x, x has min(1, 5) + min(5, 0) + min(0, 1) = 1 row at most, and can have it."""
    collection = apart(ABS, {"as": np.array([[1, 5, 0], [4, 1, 3]]), "bs": np.array([[5, 0, 1], [0, 6, 2]])})
    assert k_link(collection, ["s"], 6).holds
    finding = k_combinatorial(collection, ["s"], 2)
    assert finding.verdict is Verdict.FAILS
    assert finding.worst is not None
    assert finding.worst_class.cell == {"a": "x", "b": "x"}
    assert finding.worst_class.count == 1
    assert finding.worst_class.counts in ([{"u": 1, "v": 5}, {"u": 5, "w": 1}], [{"u": 5, "w": 1}, {"u": 1, "v": 5}])


def test_a_class_that_lacks_a_value_hides_none_that_has_it() -> None:
    """Whoever is in x of b has u; of y in a that is 1 row at most, of x in a, which has less of all values, none."""
    a, b = [[0, 6], [1, 6], [11, 0]], [[6, 0], [6, 12]]
    for counts in ({"as": a, "bs": b}, {"as": b, "bs": a}):
        domain = flat_domain(a="xyz"[: len(counts["as"])], b="xyz"[: len(counts["bs"])], s="uv")
        for budget in (FULL, VECTOR_SETS):
            finding = k_combinatorial(apart(domain, counts), ["s"], 2, budget)
            assert (finding.verdict, finding.worst_class.count) == (Verdict.FAILS, 1)


def test_a_cell_that_cannot_be_filled_at_all_is_no_finding() -> None:
    """x, x has no common sensitive value: U = 0 links to nobody. And where nothing is published nobody is linked."""
    collection = apart(ABS, {"as": np.array([[0, 6, 0], [6, 0, 6]]), "bs": np.array([[6, 0, 6], [0, 6, 0]])})
    assert k_combinatorial(collection, ["s"], 6).holds
    assert k_combinatorial(Collection.of(collection.cube, []), ["s"], 1000).holds


def test_the_oracle_finds_what_enumerating_all_tables_finds() -> None:
    """Every nonnegative 2 x 2 x 2 table with the margins {a, s}, {b, s} of a given one."""
    counts = np.array([[[2, 0], [1, 1]], [[0, 1], [1, 0]]])
    collection = published(filled(flat_domain(a="xy", b="xy", s="xy"), counts), "as", "bs")
    most = np.zeros((2, 2), dtype=int)
    for cells in product(range(4), repeat=8):
        table = np.reshape(cells, (2, 2, 2))
        if (table.sum(axis=1) == counts.sum(axis=1)).all() and (table.sum(axis=0) == counts.sum(axis=0)).all():
            most = np.maximum(most, table.sum(axis=2))
    assert largest_counts(collection, ["s"])[:, :, 0].tolist() == most.tolist()
    assert possible_cells(collection).shape == (2, 2, 2)


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
    tree_of_group, of_part = module.tree_of_group, module.of_part
    assert k_combinatorial(collection, "SQ", 2).verdict is Verdict.HOLDS
    for large in "SQ":

        def some(of: Collection, group: Any, large: str = large) -> object:
            if group.attributes == (large,):
                raise TooManyCellsError("too large")
            return tree_of_group(of, group)

        def undecided(part: Any, k: int, budget: Budget, large: str = large) -> Finding:
            finding = of_part(part, k, budget)
            return replace(finding, verdict=Verdict.UNDECIDED) if part.sensitive == large else finding

        for name, patched in (("tree_of_group", some), ("of_part", undecided)):
            with monkeypatch.context() as patch:
                patch.setattr(module, name, patched)
                assert k_combinatorial(collection, "SQ", 3).verdict is Verdict.FAILS
                finding = k_combinatorial(collection, "SQ", 2)
                assert (finding.criterion, finding.verdict) == ("k-combinatorial", Verdict.UNDECIDED)
                assert finding.parameters == {"k": 2}


# Two and three sensitive attributes that cliques show together.


TRIALS = int(os.environ.get("MARGINALS_TRIALS", "50"))


Several = tuple[Collection, list[str]]


def telling_counts(bounds: np.ndarray) -> list[int]:
    """Around the smallest count, where verdicts change."""
    least = int(bounds[bounds > 0].min())
    return sorted({2, 3, least, least + 1})


@settings(max_examples=60)
@given(several_sensitive(48))
def test_with_several_sensitive_attributes_the_verdict_is_that_of_integer_programming(drawn: Several) -> None:
    """KG06 Def. 4.2, with different levels per margin."""
    collection, names = drawn
    if not collection.masks:
        return
    bounds = largest_counts(collection, names)
    for k in telling_counts(bounds):
        expected = Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS
        assert k_combinatorial(collection, names, k).verdict is expected, k
        with pytest.MonkeyPatch.context() as patch:  # what a search would decide is left to vector sets
            patch.setattr("checks.combinatorial.group_by_search", given_up)
            assert k_combinatorial(collection, names, k).verdict is expected, k


def given_up(_group: object, k: int, _budget: Budget) -> Finding:
    return Finding("k-combinatorial", Verdict.UNDECIDED, {"k": k}, None, (), 0)


def test_many_collections_whose_cliques_hold_several_sensitive_attributes() -> None:
    """With a fixed seed; `MARGINALS_TRIALS=2000` looks at as many, which takes a quarter of an hour."""
    seen = Counter[str]()
    number = 0
    while seen["collections"] < TRIALS:
        rng = np.random.default_rng((19, number))
        number += 1
        collection, names = several_sensitive.of(Dice(lambda _, rng=rng: rng.bytes(64)))
        if not any(sum(name in margin for name in names) > 1 for margin in collection.margins):
            continue
        seen["collections"] += 1
        bounds = largest_counts(collection, names)
        k = int(rng.choice(telling_counts(bounds)))
        finding = k_combinatorial(collection, names, k)
        assert finding.verdict is (Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS), (number, k)
        seen[finding.verdict.value] += 1
        seen["no chain"] += Algorithm.INTEGER_PROGRAMMING in finding.algorithms
    assert min(seen["holds"], seen["fails"], seen["no chain"]) >= TRIALS / 50, seen


@settings(max_examples=60)
@given(several_sensitive(48), st.integers(2, 6), st.integers(0, 30), st.integers(0, 2))
def test_less_work_says_undecided_and_never_anything_false(drawn: Several, k: int, work: int, programs: int) -> None:
    collection, names = drawn
    budget = replace(FULL, cell_branches=work, cell_vectors=work, cell_programs=programs, proof=work)
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
