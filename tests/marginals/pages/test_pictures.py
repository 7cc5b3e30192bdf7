"""Parts of pages show what the collection, the table and the risks say: pictures, trees, previews, results as cards."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marginals
from checks.risk.disclosure import Frontier
from marginals.claims_in_words import claim_title
from marginals.example import release
from marginals.pages.release_page import WIDTH, finest_pairs, interaction_picture, pairs_shown, tree_picture
from marginals.pages.risk_page import Plot, frontier_picture, loss_histogram, releases_picture
from marginals.risk.assessment import BundleRisk, are_comparable
from marginals.window.level_tree import Group, level_tree
from marginals.window.preview import Preview
from marginals.window.result_cards import cards_of_attacks, cards_of_verdicts, in_groups
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy
from strategies import decomposable_collections, hierarchies


@given(decomposable_collections())
@settings(max_examples=60)
def test_pairs_are_what_the_margins_show(collection: Collection) -> None:
    """Published where one margin has as many values of both as any has, supported where it has several of both at least;
    linked through others, by trying every chain.
    """
    shown = pairs_shown(collection)
    values = [{a: collection.domain.hierarchy(a).size(level) for a, level in m.items()} for m in collection.margins]
    most = {a: max((own[a] for own in values if a in own), default=0) for a in collection.domain.attributes}
    telling = [{a for a, number in own.items() if number > 1 or most[a] == 1} for own in values]

    def reached(start: str) -> set[str]:
        known = {start}
        for _ in telling:
            known |= {name for margin in telling if margin & known for name in margin}
        return known

    assert [pair.names for pair in shown.listed] == list(combinations(collection.domain.attributes, 2))
    for pair in shown.listed:
        a, b = pair.names
        assert shown.kinds[a, b] == shown.kinds[b, a] == pair.kind
        if not (most[a] and most[b]):
            assert pair.kind == "unpublished"
        elif any({a, b} <= own.keys() and (own[a], own[b]) == (most[a], most[b]) for own in values):
            assert pair.kind == "published"
        elif any({a, b} <= margin for margin in telling):
            assert pair.kind == "supported"
        else:
            assert pair.kind == "assumed"
            assert pair.is_linked == (b in reached(a))
        assert bool(pair.shown) == (pair.kind in ("published", "supported"))
    names = len(collection.domain.attributes)
    assert shown.total == names * (names - 1) // 2
    assert all(shown.numbers[kind] == len(shown.of_kind(kind)) for kind in shown.numbers)


def chain(length: int) -> Collection:
    """The pairs of neighbours of so many attributes with one row in all."""
    names = [f"a{i:03}" for i in range(length)]
    domain = Domain.of({name: Hierarchy.flat(["no", "yes"]) for name in names})
    tables = [
        ContingencyTable.from_cells(domain, {a: 0, b: 0}, {a: np.zeros(1, int), b: np.zeros(1, int)}, [1])
        for a, b in zip(names, names[1:])
    ]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def test_a_crowd_of_attributes_is_placed_without_minimizing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kamada and Kawai's method took most of half a minute for a chain of 199 tables."""
    monkeypatch.delattr(nx, "kamada_kawai_layout")
    picture = interaction_picture(chain(80))
    assert len({(capsule.x, capsule.y) for capsule in picture.capsules}) == 80
    assert all(c.x >= 0 and c.x + c.width <= WIDTH for c in picture.capsules)
    assert all(c.y >= 0 and c.y + c.height <= picture.height for c in picture.capsules)
    assert len(picture.edges) == 79
    assert interaction_picture(chain(80)) == picture


@given(decomposable_collections())
@settings(max_examples=40)
def test_pictures_show_what_the_collection_says(collection: Collection) -> None:
    """Capsules hold the levels shown, edges the pairs with all coarser ones make the graph, boxes are the tree's."""
    if not collection.masks:
        return
    picture = interaction_picture(collection)
    beads = {(capsule.attribute, bead.level) for capsule in picture.capsules for bead in capsule.beads}
    assert beads == {item for margin in collection.margins for item in margin.items()}
    graph = collection.interaction_graph.to_networkx()
    coarser = {
        frozenset([(a, k), (b, m)])
        for a, i, b, j in finest_pairs(collection.margins)
        for k in range(i, collection.domain.hierarchy(a).height)
        for m in range(j, collection.domain.hierarchy(b).height)
    }
    assert coarser == {frozenset([tuple(u), tuple(v)]) for u, v in graph.edges if u.attribute != v.attribute}
    assert len(picture.edges) == len(finest_pairs(collection.margins))
    for one in picture.capsules:
        assert one.x >= 0
        assert one.x + one.width <= 380
        for other in picture.capsules:
            apart = abs(one.x - other.x) >= min(one.width, other.width) or abs(one.y - other.y) >= one.height
            assert one is other or apart
    tree = tree_picture(collection)
    assert len(tree.boxes) == len(collection.junction_tree.cliques)
    assert sum(box.elbow is not None for box in tree.boxes) == collection.junction_tree.graph().number_of_edges()
    assert all(box.x + box.width <= 380 for box in tree.boxes)


def inside(plot: Plot) -> bool:
    places = [(d.x, d.y) for d in plot.dots] + list(plot.line)
    places += [(c.x, c.y) for c in plot.columns] + [(c.x + c.width, c.y + c.height) for c in plot.columns]
    places += [(t.place, plot.bottom) for t in plot.x_ticks] + [(plot.left, t.place) for t in plot.y_ticks]
    return all(plot.left - 1 <= x <= plot.right + 1 and plot.top - 1 <= y <= plot.bottom + 1 for x, y in places)


AMOUNTS = st.one_of(st.sampled_from([0.0, np.inf, 1.0]), st.floats(1e-6, 1e6))


@given(st.lists(AMOUNTS, min_size=1, max_size=50))
def test_a_histogram_counts_everybody_with_a_finite_loss(losses: list[float]) -> None:
    plot = loss_histogram(np.array(losses))
    finite = [loss for loss in losses if np.isfinite(loss)]
    assert (plot is None) is not any(loss > 0 for loss in finite)
    if plot is not None:
        assert inside(plot)
        assert sum(int(column.description.split()[0].replace(",", "")) for column in plot.columns) == len(finite)


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=2, max_size=6))
def test_points_and_lines_lie_inside_their_axes(pairs: list[tuple[float, float]]) -> None:
    informations, risks = zip(*pairs)
    known = [None if np.isinf(information) else information for information in informations]
    releases = [BundleRisk(str(i), 1, risk, (0, 1), 0.5, told, 7.0) for i, (told, risk) in enumerate(zip(known, risks))]
    plot = releases_picture(releases)
    finite = [pair for pair in pairs if np.isfinite(pair).all()]
    assert (plot is None) is (len(finite) < 2)
    if plot is not None:
        assert inside(plot)
        across = [dot.x for dot in plot.dots]
        assert np.all(np.diff(np.array(across)[np.argsort([told for told, _ in finite], kind="stable")]) >= 0)
    told = [information for information in informations if np.isfinite(information)]
    edge = Frontier(np.sort(told), np.sort(risks)[: len(told)], np.zeros(len(told)))
    line = frontier_picture(edge, [("best", 1.0, 1.0)])
    assert line is None or inside(line)


def test_releases_over_different_base_values_are_not_drawn_together() -> None:
    """Ages up to 149 instead of 119 add ln(150 / 120) to what is told of everybody, which says nothing about usefulness."""
    known = [(2.5, 10.510), (2.7, 10.733)]
    releases = [BundleRisk(str(i), 1, 0.1 * i, (0, 1), 0.5, *each) for i, each in enumerate(known)]
    assert not are_comparable(releases)
    assert releases_picture(releases) is None
    assert are_comparable(releases[:1] * 2)
    assert releases_picture(releases[:1] * 2) is not None


def test_the_line_is_drawn_through_all_vertices_and_never_above_them(monkeypatch: pytest.MonkeyPatch) -> None:
    few = frontier_picture(Frontier(np.arange(4.0), np.arange(4.0) ** 2, np.array([1.0, 3.0, 5.0, np.inf])), [])
    assert few is not None
    assert len(few.line) == 4
    utility = np.sort(np.random.default_rng(1).random(4000))
    steep = Frontier(utility, utility**3, np.r_[np.diff(utility**3) / np.diff(utility), np.inf])
    monkeypatch.setattr("marginals.pages.risk_page._VERTICES", 30)
    many = frontier_picture(steep, [])
    assert many is not None
    assert len(many.line) <= 30
    x, y = np.array(many.line).T
    across = many.left + (utility - utility[0]) / (utility[-1] - utility[0]) * (many.right - many.left)
    up = many.bottom - utility**3 / (1.05 * utility[-1] ** 3) * (many.bottom - many.top)
    drawn = np.interp(across, x, y)
    assert np.all(drawn >= up - 0.02)
    assert np.all(drawn <= up + 0.5)


def leaves(group: Group) -> list[Group]:
    return [leaf for part in group.parts for leaf in leaves(part)] or [group]


@given(hierarchies())
def test_the_tree_has_all_values_with_rows_and_each_group_the_rows_of_its_parts(hierarchy: Hierarchy) -> None:
    counts = np.arange(hierarchy.size(0), dtype=np.int64)
    tree = level_tree(hierarchy, counts)
    assert tree.rows == counts.sum()

    def check(group: Group) -> None:
        assert not group.parts or sum(part.rows for part in group.parts) == group.rows
        assert [part.label for part in group.parts] != [group.label]
        for part in group.parts:
            check(part)

    check(tree)
    values = sorted((leaf.rows for leaf in leaves(tree)), reverse=True)
    assert values == [count for count in sorted(counts.tolist(), reverse=True) if count] or counts.sum() == 0


def test_of_very_many_values_some_are_drawn_and_the_others_counted() -> None:
    rows = [(f"{value}", f"{value // 100}x", "*") for value in range(5000)]
    tree = level_tree(Hierarchy.from_rows(rows), np.ones(5000, dtype=np.int64))
    assert tree.others == 0
    assert len(tree.parts) == 50
    assert len(leaves(tree)) <= 450
    assert all(len(part.parts) + part.others == 100 for part in tree.parts)


def test_a_preview_shows_every_published_table_with_its_smallest_count() -> None:
    preview = Preview.of(release, {})
    assert [table.counted for table in preview.tables] == [len(table) for table in release.everything.tables]
    assert [table.smallest for table in preview.tables] == [table.counts.min() for table in release.everything.tables]
    assert {table.sensitive for table in preview.tables} == {("diagnosis",)}
    assert [title for title, _ in preview.guarantees] == [claim_title(claim) for claim in release.claims]
    assert "age and sex" not in preview.apart or release.counts(["age", "sex"]).attrs["kind"] == "assumed"


def test_a_column_without_any_table_is_lacking_with_its_reason() -> None:
    policy = marginals.Policy(k_link=40, diversity="distinct:2")
    publication = marginals.publish(marginals.example.table, policy)
    lacking = Preview.of(publication.release, publication.steward.unpublished).lacking
    assert set(lacking) == set(publication.release.published.unpublished)
    assert all(lacking.values())


def test_verdicts_are_cards_with_their_detail() -> None:
    printed = (
        "    holds  k-link k = 10\n           closest case: count 14\n    fails  min-cell k = 3\n"
        " attested  register diversity = entropy:2, sensitive = disease, of people\n"
        "           attested by the publisher, who has the table; the files cannot show it\n"
        "Attested by the publisher, and not verified:\n    holds  maxent-diversity of 3 sensitive attributes\n"
    )
    cards = cards_of_verdicts(printed)
    marks = [("holds", "holds"), ("fails", "fails"), ("attested", "undecided"), ("holds", "holds")]
    assert [(card.mark, card.look) for card in cards] == marks
    assert "values of disease" in cards[2].sentence
    assert "3 sensitive columns" in cards[3].sentence
    assert cards[0].detail == ("k-link k = 10", "closest case: count 14")
    assert [len(card.detail) for card in cards] == [2, 1, 2, 1]
    assert [card.sentence for card in cards_of_verdicts("    holds  another k = 2\n")] == ["another k = 2"]


def test_what_readers_conclude_is_marked_and_never_as_nothing_where_it_was_not_examined() -> None:
    printed = (
        "Published as they are: 5 of 633 counts are below 10\n  with diagnosis: 5 of 270\n"
        "diagnosis: Of the 9 possible combinations of sex and diagnosis, none has a count that readers can determine.\n"
        "Readers with a register: not examined, none of it\nage: none is hidden, and 3 are certain\n"
        "diagnosis: Of the 9 possible combinations of sex and diagnosis, none has a count that readers can determine.\n"
        "  but one of them is certain to have rows\n"
    )
    cards = cards_of_attacks(printed)
    assert [card.mark for card in cards] == ["look", "nothing found", "not examined", "look", "look"]
    assert cards[0].detail == ("with diagnosis: 5 of 270",)


def test_what_readers_conclude_is_whole_sentences_in_groups_by_who_concludes_it() -> None:
    printed = (
        "Published as they are: 5 of 633 counts are below 10\nk-link 10 of people: the smallest count is 18; not binding\n"
        "Readers who learn across classes, of disease:\n  deFinetti: not examined without the table (--truth CONFIG).\n"
        "Readers who know the algorithm, conclude:\n  Finer values:\n    not examined\n"
        "Readers who learn across classes, of town:\n  deFinetti: not examined without the table (--truth CONFIG).\n"
    )
    groups = in_groups(cards_of_attacks(printed))
    assert [(group.title, group.tally) for group in groups] == [
        ("Readers of the tables alone", "1 look, 1 nothing found"),
        ("Readers who learn across classes", "2 not examined"),
        ("Readers who know the algorithm", "1 look"),
    ]
    assert (
        groups[1].cards[0].sentence.endswith("of disease: deFinetti: not examined without the table (--truth CONFIG).")
    )
    assert all(group.is_short for group in groups)
