"""k-combinatorial anonymity with two and three sensitive attributes that cliques show together."""

import os
from collections import Counter
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import FULL, Algorithm, PrivacyConstraint, Requirements, Verdict, k_combinatorial, k_link
from checks.combinatorial import GroupTree, group_by_search, group_by_vector_sets, sensitive_groups
from checks.finding import SEARCHING
from dice import Dice
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy
from privacy_oracles import finest, is_k_combinatorial, largest_counts, without
from privacy_strategies import several_sensitive

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "50"))

Drawn = tuple[Collection, list[str]]


def groups_of(collection: Collection, names: list[str]) -> list[GroupTree]:
    """Trees of the groups of several attributes that several cliques show."""
    groups = sensitive_groups(collection.domain, collection.junction_tree.cliques, names)
    return [GroupTree.of(collection.cube, g) for g in groups if len(g.attributes) > 1 and len(g.cliques) > 1]


def telling_counts(bounds: np.ndarray) -> list[int]:
    """Around the smallest count, where verdicts change."""
    least = int(bounds[bounds > 0].min())
    return sorted({2, 3, least, least + 1})


@pytest.mark.slow
@settings(max_examples=60)
@given(several_sensitive(48))
def test_the_verdict_is_that_of_integer_programming_over_the_whole_domain(drawn: Drawn) -> None:
    """KG06 Def. 4.2, with different levels per margin."""
    collection, names = drawn
    if not collection.masks:
        return
    bounds = largest_counts(collection, names)
    for k in telling_counts(bounds):
        finding = k_combinatorial(collection, names, k)
        assert finding.verdict is (Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS), k


@pytest.mark.slow
def test_many_collections_whose_cliques_hold_several_sensitive_attributes() -> None:
    """With a fixed seed; `MARGINALS_TRIALS=2000` looks at as many, which takes a quarter of an hour."""
    seen = Counter[str]()
    number = 0
    while seen["collections"] < TRIALS:
        rng = np.random.default_rng((19, number))
        number += 1
        collection, names = several_sensitive.of(Dice(lambda _, rng=rng: rng.bytes(64)))
        if not collection.masks or not (groups := groups_of(collection, names)):
            continue
        seen["collections"] += 1
        bounds = largest_counts(collection, names)
        k = int(rng.choice(telling_counts(bounds)))
        finding = k_combinatorial(collection, names, k)
        assert finding.verdict is (Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS), (number, k)
        seen[finding.verdict.value] += 1
        seen["no chain"] += any(group.packing.chain is None for group in groups)
    assert min(seen["holds"], seen["fails"], seen["no chain"]) >= TRIALS / 25, seen


@pytest.mark.slow
@settings(max_examples=30)
@given(several_sensitive(48))
def test_the_cell_shown_has_the_count_shown(drawn: Drawn) -> None:
    """Where it fails one below k, where it holds the smallest of all."""
    collection, names = drawn
    if not collection.masks:
        return
    bounds = largest_counts(collection, names)
    for k in telling_counts(bounds):
        finding = k_combinatorial(collection, names, k)
        worst = finding.worst_class
        assert worst.count is not None
        if finding.holds:
            assert finding.note or worst.count == bounds[bounds > 0].min()
        else:
            assert 0 < worst.count < k
        margins = worst.margins or [worst.margin or {}]
        shown = without(finest(margins), names)
        fine = without(finest(collection.margins), names)
        codes = {a: collection.domain.hierarchy(a).labels[level].index(worst.cell[a]) for a, level in shown.items()}
        within = np.ones(bounds.shape, dtype=bool)
        for attribute, code in codes.items():
            axis = collection.domain.attributes.index(attribute)
            lift = collection.domain.hierarchy(attribute).lift(fine[attribute], shown[attribute])
            index = [None] * bounds.ndim
            index[axis] = slice(None)
            within &= (lift == code)[tuple(index)]
        assert bounds[within].max() == worst.count


@pytest.mark.slow
@settings(max_examples=40)
@given(several_sensitive(48))
def test_search_and_vector_sets_agree(drawn: Drawn) -> None:
    collection, names = drawn
    for group in groups_of(collection, names):
        part = Collection.of(collection.cube, group.tree.cliques)
        bounds = largest_counts(part, names)
        for k in telling_counts(bounds):
            if not k_link(part, names, k).holds:
                continue
            expected = Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS
            assert group_by_search(group, k).verdict is expected
            assert group_by_vector_sets(group, k).verdict is expected


@settings(max_examples=60)
@given(several_sensitive(48), st.integers(2, 6), st.integers(0, 30), st.integers(0, 2))
def test_less_work_says_undecided_and_never_anything_false(drawn: Drawn, k: int, work: int, programs: int) -> None:
    collection, names = drawn
    budget = replace(FULL, cell_branches=work, cell_vectors=work, cell_programs=programs, proof=work)
    wanted = k_combinatorial(collection, names, k).verdict
    assert k_combinatorial(collection, names, k, budget).verdict in (wanted, Verdict.UNDECIDED)


@settings(max_examples=60)
@given(several_sensitive(48), st.integers(1, 5))
def test_a_search_is_allowed_what_verification_would_pass(drawn: Drawn, k: int) -> None:
    """The same judgement of the same cliques; that of a search is given up sooner, never the other way."""
    collection, names = drawn
    refusal = PrivacyConstraint(collection.cube, Requirements(tuple(names), k_combinatorial=k))(collection.masks, 0)
    assert (refusal is None) is k_combinatorial(collection, names, k, SEARCHING).holds
    assert refusal is not None or k_combinatorial(collection, names, k).holds


def random_rows(seed: int, number: int) -> list[str]:
    """So many random rows of six values, those that repeat once."""
    rows = np.random.default_rng(seed).integers(0, 2, (number, 6)).tolist()
    return sorted({"".join(map(str, row)) for row in rows})


def binary(rows: list[str], attributes: str, margins: list[str]) -> Collection:
    """Rows over attributes of two values."""
    domain = Domain.of({name: Hierarchy.flat("01") for name in attributes})
    codes = dict(zip(attributes, np.array([[int(value) for value in row] for row in rows]).T))
    table = ContingencyTable.from_cells(domain, dict.fromkeys(attributes, 0), codes, np.ones(len(rows), dtype=int))
    return Collection.of(DataCube([table]), [domain.mask(dict.fromkeys(margin, 0)) for margin in margins])


def test_linear_programming_alone_would_pass_what_fails() -> None:
    """Four rows, one in each cell of (X, Y, Z): with S, R and Q shown together U(000) is 1, the linear optimum 2."""
    rows = ["000000", "100011", "011101", "111110"]
    collection = binary(rows, "xyzsrq", ["srq", "xs", "yr", "zq"])
    assert collection.is_decomposable
    bounds = largest_counts(collection, ["s", "r", "q"])
    assert bounds.ravel()[0] == 1
    (group,) = groups_of(collection, ["s", "r", "q"])
    assert group.packing.chain is None
    finding = k_combinatorial(collection, ["s", "r", "q"], 2)
    assert finding.verdict is Verdict.FAILS
    assert finding.worst_class.count == 1


def test_attributes_that_are_published_apart_are_judged_apart() -> None:
    """Three margins with a sensitive attribute each around one without any: no junction tree by themselves."""
    collection = binary(random_rows(0, 60), "abcstu", ["abc", "abs", "bct", "acu"])
    names = ["s", "t", "u"]
    groups = sensitive_groups(collection.domain, collection.junction_tree.cliques, names)
    assert sorted(group.attributes for group in groups) == [("s",), ("t",), ("u",)]
    smallest = min(int(table.counts.min()) for table in collection.tables)
    k = k_link(collection, names, 1).worst_class.count or smallest
    assert k_combinatorial(collection, names, k).holds
    assert (
        PrivacyConstraint(collection.cube, Requirements(tuple(names), k_combinatorial=k))(collection.masks, 0) is None
    )


def test_pairs_along_a_path_need_flows_alone() -> None:
    """{S, T} and {T, U} at base values, each attribute with a margin of its own besides."""
    collection = binary(random_rows(1, 40), "abcstu", ["st", "tu", "as", "bt", "cu"])
    names = ["s", "t", "u"]
    bounds = largest_counts(collection, names)
    least = int(bounds[bounds > 0].min())
    finding = k_combinatorial(collection, names, least + 1)
    if k_link(collection, names, least + 1).holds:
        assert finding.verdict is Verdict.FAILS
        assert Algorithm.INTEGER_PROGRAMMING not in finding.algorithms
    assert k_combinatorial(collection, names, least).holds


@given(several_sensitive())
def test_linked_cliques_are_those_that_sensitive_attributes_connect(drawn: Drawn) -> None:
    """Against the connected components of cliques that show a common sensitive attribute."""
    collection, names = drawn
    domain, cliques = collection.domain, collection.junction_tree.cliques
    shown = {
        clique: {name for name in names if clique & domain.attribute_masks[domain.index(name)]} for clique in cliques
    }
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(clique for clique in cliques if shown[clique])
    graph.add_edges_from((a, b) for a in graph for b in graph if shown[a] & shown[b])
    groups = sensitive_groups(domain, cliques, names)
    assert {frozenset(group.cliques) for group in groups} == set(map(frozenset, nx.connected_components(graph)))
    for group in groups:
        assert set(group.attributes) == set().union(*map(shown.__getitem__, group.cliques))


@given(several_sensitive(), st.integers(0, 2))
def test_more_margins_with_a_sensitive_attribute_than_the_limit_are_refused(drawn: Drawn, limit: int) -> None:
    """Counted attribute by attribute; an attribute that is named twice counts once."""
    collection, names = drawn
    domain, cliques = collection.domain, collection.junction_tree.cliques
    most = max(sum(bool(c & domain.attribute_masks[domain.index(name)]) for c in cliques) for name in names)
    constraint = PrivacyConstraint(collection.cube, Requirements((*names, names[0])), limit)
    refusal = constraint(cliques, 0)
    assert (refusal is not None and refusal.reason.startswith("more than")) == (most > limit)
