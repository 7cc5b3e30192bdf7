"""Requirements as a constraint: allowed is where all claims hold, refusals reach as far as they say, budgets are kept."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations, count
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import (
    FULL,
    Budget,
    Distinct,
    Diversity,
    Entropy,
    Functional,
    KCombinatorial,
    KLink,
    MaxentDiversity,
    MinCell,
    PrivacyConstraint,
    Question,
    Recursive,
    Requirements,
    Simple,
    Verdict,
    by_hull,
    k_combinatorial,
    maxent_diversity,
    parse_diversity,
    sensitive_tree,
)
from filled_tables import filled, flat_domain, of_rows, published
from models import (
    AddEdge,
    AddVertex,
    Collection,
    DataCube,
    Deadline,
    Domain,
    Hierarchy,
    InteractionGraph,
    MarginLimits,
    Mask,
    RefusalScope,
    TimeOverError,
    allowed_moves,
)
from privacy_oracles import (
    are_diverse,
    class_sizes,
    conditionals,
    finest,
    is_k_combinatorial,
    largest_counts,
    reached,
    reached_tau,
)
from privacy_strategies import diversities, functionals, random_star, sensitive_collections
from search_oracles import all_collections, goes_on_from, has_junction_tree
from strategies import maximal_cliques

Case = tuple[Collection, Requirements, int | None]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A collection, requirements of every combination, and a limit on the margins with a sensitive attribute."""
    collection, sensitive = draw(sensitive_collections())
    others = [a for a in collection.domain.attributes if a != sensitive]
    names = draw(st.sampled_from([(sensitive,), (sensitive,), (sensitive,), (), (sensitive, others[0])]))
    k = st.none() | st.integers(1, 4)
    diversity = draw(st.none() | diversities(3) | functionals(3)) if names else None
    requirements = Requirements(names, draw(k), draw(k), diversity, min_cell=draw(k))
    return collection, requirements, draw(st.none() | st.integers(0, 3))


def is_allowed(collection: Collection, requirements: Requirements, limit: int | None) -> bool:
    maximal = [m for m in collection.masks if not any(m != other and m & ~other == 0 for other in collection.masks)]
    margins = [collection.domain.margin(mask) for mask in maximal]
    with_sensitive = max((sum(a in margin for margin in margins) for a in requirements.sensitive), default=0)
    return all(claim.check(Question(collection, requirements.sensitive)).holds for claim in requirements.claims) and (
        limit is None or with_sensitive <= limit
    )


@given(cases())
def test_a_collection_is_allowed_exactly_where_all_claims_hold_and_the_limit_is_kept(case: Case) -> None:
    collection, requirements, limit = case
    constraint = PrivacyConstraint(collection.cube, requirements, limit)
    refusal = constraint(collection.masks, 0)
    assert (refusal is None) is is_allowed(collection, requirements, limit), refusal
    assert constraint(collection.masks, 0) == refusal


@given(cases())
def test_at_every_level_no_clique_has_a_class_with_one_value_that_the_criterion_refuses(case: Case) -> None:
    """By brute force on the published cells: classes by all other attributes, values as coarse as the clique shows them."""
    collection, requirements, limit = case
    if isinstance(requirements.diversity, Functional):
        return
    strict = replace(requirements, at_every_level=True)
    shares = False
    for table in collection.tables if requirements.diversity else ():
        for name in {*requirements.sensitive} & {*table.attributes}:
            classes: dict[tuple[str, ...], dict[str, int]] = {}
            for cell, rows in table.cells():
                labels = dict(zip(table.attributes, cell))
                held = classes.setdefault(tuple(labels[a] for a in labels if a != name), {})
                held[labels[name]] = held.get(labels[name], 0) + rows
            level = table.margin[name]
            size = collection.domain.hierarchy(name).size(level)
            shares |= level > 0 and any(
                not requirements.diversity.decide([*held.values(), *[0] * (size - 1)])
                for held in classes.values()
                if len(held) == 1
            )
    expected = is_allowed(collection, requirements, limit) and not shares
    maximal = [m for m in collection.masks if not any(m != other and m & ~other == 0 for other in collection.masks)]
    if len(maximal) == len(collection.masks):
        assert (PrivacyConstraint(collection.cube, strict, limit)(collection.masks, 0) is None) is expected


def grown(data: st.DataObject, graph: InteractionGraph) -> tuple[InteractionGraph, Mask]:
    """The graph after one adding move, with the clique that the move made; the same graph and 0 where there is none."""
    moves = [move for move in allowed_moves(graph) if isinstance(move, AddVertex | AddEdge)]
    if not moves:
        return graph, 0
    move = data.draw(st.sampled_from(moves))
    if isinstance(move, AddEdge):
        return move.apply(graph), move.clique(graph)
    return move.apply(graph), graph.domain.coarser_steps(move.vertex) | 1 << move.vertex


@given(cases())
def test_what_is_said_of_a_margin_by_itself_is_what_is_said_for_good_of_the_collection_of_it(case: Case) -> None:
    """What bounds ask, beneath limits and without."""
    collection, requirements, limit = case
    domain = collection.domain
    for limits in (MarginLimits(domain), MarginLimits(domain, max_cells=6, max_attributes=2)):
        asked, alone = (replace(limits, then=PrivacyConstraint(collection.cube, requirements, limit)) for _ in range(2))
        for mask in collection.masks:
            refusal = asked((mask,), mask)
            for_good = refusal is not None and refusal.scope is RefusalScope.FINER
            assert [one.of_margin(mask) is not None for one in (alone, asked)] == [for_good] * 2


@given(cases(), st.data())
def test_looking_at_the_new_margin_alone_says_the_same_on_the_way(case: Case, data: st.DataObject) -> None:
    """What a search asks, step by step from nothing; one constraint remembers, the other is new each time."""
    collection, requirements, limit = case
    remembering = PrivacyConstraint(collection.cube, requirements, limit)
    graph = InteractionGraph.of(collection.domain, [])
    for _ in range(8):
        after, new = grown(data, graph)
        cliques = maximal_cliques(after)
        expected = is_allowed(Collection.of(collection.cube, cliques), requirements, limit)
        assert (remembering(cliques, new) is None) is expected
        if expected:
            graph = after


@given(cases(), st.data())
def test_a_refusal_that_is_inherited_holds_for_every_refinement(case: Case, data: st.DataObject) -> None:
    """Or pruning would lose collections that are allowed."""
    collection, requirements, limit = case
    constraint = PrivacyConstraint(collection.cube, requirements, limit)
    refusal = constraint(collection.masks, 0)
    if refusal is None or refusal.scope is not RefusalScope.FINER:
        return
    graph = collection.interaction_graph
    for _ in range(6):
        graph, _ = grown(data, graph)
        assert constraint(maximal_cliques(graph), 0) is not None
        assert not is_allowed(Collection.of(collection.cube, maximal_cliques(graph)), requirements, limit)


def test_requirements_are_claimed_one_by_one() -> None:
    """Diversity for every sensitive attribute (MKGV07 Def. 4.6)."""
    diversity = Entropy(Fraction(2))
    requirements = Requirements(("s", "t"), 3, 2, diversity, min_cell=4)
    claims = (KLink(3), KCombinatorial(2), MinCell(4), MaxentDiversity(diversity, "s"), MaxentDiversity(diversity, "t"))
    assert requirements.claims == claims
    assert Requirements().claims == ()
    of_people = replace(requirements, rows_per_person=3, diversity=None)
    assert (of_people.class_size, of_people.cell_size) == (12, 12)
    assert (Requirements(k_link=3).cell_size, Requirements(min_cell=3).class_size) == (None, 3)


def test_several_sensitive_margins_need_no_program_for_a_least_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with a sensitive attribute form no junction tree by themselves; with the margin ABC, which has none, they do."""
    table = filled(flat_domain(**dict.fromkeys("abcstu", 2)), [2] * 64)
    domain = table.domain
    monkeypatch.setattr("checks.combinatorial.by_programming", None)
    masks = [domain.mask(dict.fromkeys(margin, 0)) for margin in ("abc", "abs", "bct", "acu")]
    constraint = PrivacyConstraint(DataCube([table]), Requirements(("s", "t", "u"), min_cell=16))
    assert constraint(masks, 0) is None
    assert constraint([domain.mask(dict.fromkeys("abcs", 0))], 0) is not None


# How far a refusal reaches: what it says of other collections, on which searches prune, is true of them all.


CRITERIA = ["distinct", "simple", "entropy", "recursive:2", "recursive:3", "functional"]

SHAPES = [(1, 1, 1), (1, 1, 1, 1), (2, 1, 1), (1, 1, 2), (2, 1, 2), (1, 1, 1, 2), (2, 1, 1, 1)]
"""Heights of the attributes, the sensitive one last."""

GENERALIZED = {1: Hierarchy.flat("xyz"), 2: Hierarchy.from_rows([("u", "w", "*"), ("v", "w", "*"), ("x", "x", "*")])}
Part = tuple[Collection, frozenset[Mask]]


def parts(rng: np.random.Generator, trials: int) -> Iterator[Part]:
    """Collections in which several margins show the attribute s, and some of their margins, from which they go on."""
    for _ in range(trials):
        heights = SHAPES[rng.integers(len(SHAPES))]
        domain = Domain.of({name: GENERALIZED[h] for name, h in zip([*"abc"[: len(heights) - 1], "s"], heights)})
        counts = rng.choice([0, 0, 1, 2, 3, 5, 8], size=[3] * len(heights)) * (rng.random([3] * len(heights)) < 0.9)
        cube = DataCube([filled(domain, counts)])
        first_step = domain.attribute_masks[-1] & -domain.attribute_masks[-1]
        candidates = [c for c in all_collections(domain) if sum(bool(m & first_step) for m in c) > 1]
        whole = sorted(candidates, key=sorted)[rng.integers(len(candidates))]
        part = frozenset(rng.permutation(sorted(whole))[: rng.integers(1, len(whole) + 1)].tolist())
        if has_junction_tree(domain, part) and goes_on_from(whole, part):
            yield Collection.of(cube, whole), part


def strongest(kind: str, collection: Collection, sensitive: str) -> Diversity:
    """About the strongest criterion of a kind that all margins with the base sensitive values satisfy alone.

    So that margins fail together where anything can.
    """
    base = collection.domain.mask({sensitive: 0})
    alone = [Collection.of(collection.cube, [mask]) for mask in collection.masks if not base & ~mask]
    vectors = [vector for one in alone for vector in conditionals(one, sensitive).values()]
    match kind.split(":"):
        case ["distinct"]:
            return Distinct(int(min((reached(Distinct(1), v) for v in vectors), default=2)))
        case ["simple"]:
            return Simple(min((Fraction(sum(v)) / max(v) for v in vectors), default=Fraction(3, 2)))
        case ["entropy"]:
            lowest = min((reached(Entropy(Fraction(1)), v) for v in vectors), default=1.5)
            return Entropy(max(Fraction(floor(lowest * 100), 100), Fraction(1)))
        case ["recursive", l]:
            ratios = [reached(Recursive(Fraction(1), int(l)), v) for v in vectors]
            most = max((ratio for ratio in ratios if np.isfinite(ratio)), default=1.0)
            return Recursive(Fraction(ceil(most * 100) + 1, 100), int(l))
        case ["functional"]:
            taus = [reached_tau(Functional(Fraction(1, 2), 3), v) for v in vectors]
            return Functional(Fraction(min(max(ceil(max(taus, default=0.5) * 100), 1), 99), 100), 3)
    raise AssertionError(kind)


def is_maxent_diverse(collection: Collection, sensitive: str, diversity: Diversity) -> bool:
    """KG06 Def. 4.3 over every published cell."""
    margin = finest(collection.margins)
    if sensitive not in margin:
        return True
    hierarchy, vectors = collection.domain.hierarchy(sensitive), conditionals(collection, sensitive).values()
    return are_diverse(diversity, hierarchy, margin[sensitive], vectors)


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("names", [("s",), ("s", "a")], ids=["one", "two"])
def test_what_is_not_diverse_together_is_not_so_in_any_longer_collection(kind: str, names: tuple[str, ...]) -> None:
    """KG06 Prop. 7.2: the exact search prunes by it, and its proof is only as good."""
    seen = Counter[str]()
    for whole, part in parts(np.random.default_rng(0), 120):
        diversity = strongest(kind, whole, "s")
        refusal = PrivacyConstraint(whole.cube, Requirements(names, diversity=diversity))(part, 0)
        if refusal is not None and refusal.scope is not RefusalScope.ITSELF:
            seen[refusal.scope.value] += 1
            assert not all(is_maxent_diverse(whole, attribute, diversity) for attribute in names), (whole, part)
    assert seen["longer"] >= 4, seen


@pytest.mark.parametrize("names", [("s",), ("s", "a")], ids=["one", "two"])
def test_what_is_not_k_combinatorial_together_is_not_so_in_any_longer_collection(names: tuple[str, ...]) -> None:
    """A table that has the part's marginals can be glued to one that has them all; by integer programming."""
    longer = 0
    for whole, part in parts(np.random.default_rng(1), 400):
        k = min(class_sizes(whole, names))
        refusal = PrivacyConstraint(whole.cube, Requirements(names, k_combinatorial=k))(part, 0)
        if refusal is not None:
            assert refusal.scope is RefusalScope.LONGER, "k is such that every margin has it alone"
            if (longer := longer + 1) > 10:
                break
            assert not is_k_combinatorial(largest_counts(whole, names), k), (whole, part)
    assert longer >= 5, longer


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_too_many_margins_are_too_many_in_any_longer_collection(limit: int) -> None:
    longer = 0
    for whole, part in parts(np.random.default_rng(2), 150):
        if refusal := PrivacyConstraint(whole.cube, Requirements(("s",)), limit)(part, 0):
            assert refusal.scope is RefusalScope.LONGER
            longer += 1
            assert sum("s" in margin for margin in whole.margins) > limit
    assert longer >= 5, longer


def crossed() -> tuple[DataCube, Mask, Mask]:
    """Two attributes s, t of two values over four: who knows one of their values knows two of the other's four.

    With {s fine, t coarse} and {s coarse, t fine} together all four stay possible, though coarse ones are two.
    """
    pairs = Hierarchy.from_rows([(f"v{i}", f"g{i // 2}", "*") for i in range(4)])
    domain = Domain.of({"s": pairs, "t": pairs})
    cube = DataCube([filled(domain, [[3, 0, 1, 0], [0, 1, 0, 3], [2, 0, 5, 0], [0, 6, 0, 1]])])
    return cube, domain.mask({"s": 0, "t": 1}), domain.mask({"s": 1, "t": 0})


def test_too_few_coarse_values_say_nothing_of_collections_that_show_finer_ones() -> None:
    """Each of the two margins shows only two values of one attribute; the two together show four of both."""
    cube, first, second = crossed()
    constraint = PrivacyConstraint(cube, Requirements(("s", "t"), diversity=Distinct(3)))
    for margin in (first, second):
        refusal = constraint([margin], margin)
        assert refusal.scope is RefusalScope.ITSELF
    assert constraint([first, second], 0) is None


# Budgets: a check does no more work than it may, says undecided then and never anything false, and always the same.


NOTHING = Budget(**{field.name: 0 for field in fields(Budget) if field.name != "deadline"})
PAIRS = ["ab", "cd", "ef", "gh", "ij", "kl"]


@pytest.mark.parametrize("wrong", [{"proof": -1}, {"seconds": -0.5}])
def test_a_budget_is_not_negative(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        replace(FULL, **wrong)


@settings(max_examples=60)
@given(sensitive_collections(), diversities() | functionals(), st.integers(1, 4), st.data())
def test_whatever_the_budget_a_verdict_is_true_or_undecided(
    drawn: tuple[Collection, str], diversity: Diversity, k: int, data: st.DataObject
) -> None:
    collection, sensitive = drawn
    tree = sensitive_tree(collection, sensitive)
    if tree is None:
        return
    work = {name: data.draw(st.sampled_from([0, 1, 20, 10**6])) for name in vars(NOTHING) if name != "deadline"}
    budget = Budget(**work)
    vectors = conditionals(collection, sensitive).values()
    expected = Verdict.HOLDS if all(diversity.decide(vector) for vector in vectors) else Verdict.FAILS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
        assert maxent_diversity(collection, sensitive, diversity, budget).verdict in (expected, Verdict.UNDECIDED)
        assert by_hull(tree, diversity, budget).verdict in (expected, Verdict.UNDECIDED)
    wanted = k_combinatorial(collection, [sensitive], k).verdict
    assert k_combinatorial(collection, [sensitive], k, budget).verdict in (wanted, Verdict.UNDECIDED)


def looks(number: int) -> Deadline:
    counted = count()
    return Deadline(float(number), lambda: float(next(counted)))


@settings(max_examples=60)
@given(
    sensitive_collections(),
    diversities() | functionals(),
    st.integers(1, 4),
    st.integers(0, 12),
    st.sampled_from([4_000_000, 0]),
)
def test_whenever_the_deadline_comes_a_verdict_is_true_or_undecided(
    drawn: tuple[Collection, str], diversity: Diversity, k: int, number: int, multiplied: int
) -> None:
    collection, sensitive = drawn
    for claim in (MaxentDiversity(diversity, sensitive), KCombinatorial(k), KLink(k)):
        whole = claim.check(Question(collection, [sensitive]))
        with pytest.MonkeyPatch.context() as patch, suppress(TimeOverError):
            patch.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
            patch.setattr("checks.maxent.maxent_diversity.MULTIPLIED", multiplied)
            cut = claim.check(Question(collection, [sensitive], FULL.until(looks(number))))
            assert cut.verdict in (whole.verdict, Verdict.UNDECIDED)
            assert (cut.criterion, dict(cut.parameters)) == (claim.criterion, dict(whole.parameters))


def test_integer_programs_end_with_the_deadline() -> None:
    """Six tables of pairs: 20,736 cells, and thousands of programs of seconds each."""
    rng = np.random.default_rng(0)
    values, names = 6, "abcs"
    table = of_rows(flat_domain(**dict.fromkeys(names, values)), rng.integers(values, size=(4, 300)).T)
    collection = published(table, *map("".join, combinations(names, 2)))
    finding = KCombinatorial(2).check(Question(collection, ["s"], replace(FULL, seconds=0.05).until(looks(8))))
    assert finding.verdict in (Verdict.UNDECIDED, Verdict.FAILS)
    assert finding.examined <= 8
    over = KCombinatorial(1).check(Question(collection, ["s"], FULL.until(looks(0))))
    assert over.verdict is Verdict.UNDECIDED
    assert "time" in over.note
    assert over.worst_class.count_between == (0, 5), "what a table shows needs no program"


@pytest.mark.parametrize("text", ["functional:1/2,6", "recursive:4,6", "entropy:5"])
def test_no_work_is_no_answer_but_for_what_is_found_at_once(text: str) -> None:
    """At 0.02 everything holds, which takes looking at every case."""
    assert (
        maxent_diversity(random_star(PAIRS[:4], 0.02, 14, 6), "s", parse_diversity(text), NOTHING).verdict
        is Verdict.UNDECIDED
    )


@pytest.mark.parametrize("effect", [0.02, 0.5])
@pytest.mark.parametrize("margins", [3, 6])
def test_functional_diversity_of_large_joins_is_decided_within_the_budget_of_a_search(
    margins: int, effect: float
) -> None:
    """No linear program is asked: hull pruning, which asks one for each of up to 10^5 vectors, takes minutes there."""
    searching = replace(FULL, branches=1_000_000, proof=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.maxent.maxent_diversity.JOINED", 0)
        patch.setattr(scipy.optimize, "linprog", None)
        finding = maxent_diversity(
            random_star(PAIRS[:margins], effect, 14, 6), "s", parse_diversity("functional:1/2,6"), searching
        )
    assert finding.verdict is (Verdict.HOLDS if effect == 0.02 else Verdict.FAILS)


def test_hull_pruning_solves_no_more_programs_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    solved, solve = 0, scipy.optimize.linprog

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal solved
        solved += 1
        return solve(*arguments, **options)

    monkeypatch.setattr(scipy.optimize, "linprog", counted)
    tree = sensitive_tree(random_star(PAIRS[:2], 0.3, 14, 4), "s")
    assert tree is not None
    monkeypatch.setattr("checks.maxent.hull._PROGRAM", FULL.vectors // 7)
    outcome = by_hull(tree, Functional(Fraction(9, 10), 3))
    assert outcome.verdict is Verdict.UNDECIDED
    assert solved == 7


def test_an_undecided_check_within_a_search_refuses_its_collection_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so it does each time it is asked."""
    collection, requirements = random_star(PAIRS[:4], 0.02, 14, 6), Requirements(("s",), diversity=Entropy(Fraction(5)))
    assert PrivacyConstraint(collection.cube, requirements)(collection.masks, 0) is None
    monkeypatch.setattr("checks.privacy_constraint.SEARCHING", NOTHING)
    for _ in range(2):
        refusal = PrivacyConstraint(collection.cube, requirements)(collection.masks, 0)
        assert refusal.scope is RefusalScope.ITSELF
        assert "undecided" in refusal.reason
