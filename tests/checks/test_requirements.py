"""Requirements as a constraint: a collection is allowed exactly where all claims hold, and pruning loses nothing."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import (
    Budget,
    CriterionError,
    Entropy,
    Finding,
    Functional,
    KCombinatorial,
    KLink,
    MaxentDiversity,
    MinCell,
    PrivacyConstraint,
    Question,
    Recursive,
    Requirements,
    SensitiveTree,
    Verdict,
)
from filled_tables import filled, flat_domain, published
from models import (
    AddEdge,
    AddVertex,
    Collection,
    DataCube,
    InteractionGraph,
    MarginLimits,
    Mask,
    RefusalScope,
    allowed_moves,
)
from privacy_oracles import conditionals, finest, is_diverse, is_k_combinatorial, largest_counts
from privacy_strategies import diversities, functionals, sensitive_collections
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
    """Claim by claim on the whole collection, nothing remembered and nothing skipped."""
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
            for cell, count in table.cells():
                labels = dict(zip(table.attributes, cell))
                held = classes.setdefault(tuple(labels[a] for a in labels if a != name), {})
                held[labels[name]] = held.get(labels[name], 0) + count
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


@given(cases())
def test_with_one_sensitive_attribute_it_is_allowed_exactly_where_brute_force_says_so(case: Case) -> None:
    """The definitions over all published cells, without any of the claims' checks."""
    collection, requirements, _ = case
    if len(requirements.sensitive) != 1 or not collection.masks or isinstance(requirements.diversity, Functional):
        return
    (sensitive,) = requirements.sensitive
    k = requirements.k_combinatorial or 1
    link = Collection.of(collection.cube, collection.masks)
    allowed = is_k_combinatorial(largest_counts(collection, [sensitive]), k)
    if requirements.k_link is not None:
        # a single margin has one cell in each table, so that U is its count
        for mask in link.masks:
            alone = Collection.of(collection.cube, [mask])
            allowed = allowed and is_k_combinatorial(largest_counts(alone, [sensitive]), requirements.k_link)
    if requirements.min_cell is not None:
        allowed = allowed and is_k_combinatorial(largest_counts(collection, []), requirements.min_cell)
    if requirements.diversity is not None and sensitive in finest(collection.margins):
        vectors = conditionals(collection, sensitive).values()
        allowed = allowed and all(is_diverse(requirements.diversity, vector) for vector in vectors)
    refusal = PrivacyConstraint(collection.cube, requirements)(collection.masks, 0)
    assert (refusal is None) is allowed, refusal


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


@settings(max_examples=40)
@given(cases())
def test_too_small_a_class_is_refused_for_good_and_too_many_margins_for_now(case: Case) -> None:
    collection, _, _ = case
    if not collection.masks:
        return
    rows = collection.cube.total
    small = PrivacyConstraint(collection.cube, Requirements((), k_link=rows + 1))(collection.masks, 0)
    assert small is not None
    assert small.scope is RefusalScope.FINER
    assert PrivacyConstraint(collection.cube, Requirements(("s",)))(collection.masks, 0) is None
    many = PrivacyConstraint(collection.cube, Requirements(("s",)), 0)(collection.masks, 0)
    assert (many is None) is ("s" not in finest(collection.margins))
    assert many is None or many.scope is not RefusalScope.FINER


def agreeing() -> tuple[DataCube, list[Mask], list[Mask]]:
    """a and b always agree: {a, s} with {b, s}, from which both are 9 to 1, and the base table, where all are 3 to 1."""
    table = filled(flat_domain(a="xy", b="xy", s="xy"), [3, 1, 0, 0, 0, 0, 1, 3])
    return DataCube([table]), list(published(table, "as", "bs").masks), [table.mask]


@pytest.mark.parametrize(
    "requirements",
    [Requirements(("s",), k_combinatorial=3), Requirements(("s",), diversity=Recursive(Fraction(4), 2))],
    ids=["k-combinatorial", "diversity"],
)
def test_margins_that_fail_together_are_refused_for_now(requirements: Requirements) -> None:
    """A finer collection may pass (KG06 section 7), so that the search may not prune."""
    cube, apart, together = agreeing()
    refusal = PrivacyConstraint(cube, requirements)(apart, 0)
    assert refusal is not None
    assert refusal.scope is not RefusalScope.FINER
    assert PrivacyConstraint(cube, requirements)(together, 0) is None


def test_what_is_undecided_is_refused_for_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def undecided(_tree: SensitiveTree, k: int, _budget: Budget) -> Finding:
        return Finding("k-combinatorial", Verdict.UNDECIDED, {"k": k}, None, (), 0)

    monkeypatch.setattr("checks.claims.of_part", undecided)
    cube, apart, _ = agreeing()
    refusal = PrivacyConstraint(cube, Requirements(("s",), k_combinatorial=3))(apart, 0)
    assert refusal is not None
    assert refusal.scope is not RefusalScope.FINER
    assert "undecided" in refusal.reason


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


@pytest.mark.parametrize(
    "wrong",
    [{"k_link": 0}, {"k_combinatorial": -1}, {"min_cell": 0}, {"diversity": Entropy(Fraction(2))}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_requirements_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(CriterionError):
        Requirements(**wrong)  # type: ignore[arg-type]
