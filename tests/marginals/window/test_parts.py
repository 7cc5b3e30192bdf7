"""Parts of pages: the tree of levels, the preview before publishing, and results as cards."""

import numpy as np
import pytest

pytest.importorskip("werkzeug", reason="werkzeug is not installed")

from hypothesis import given

import marginals
from marginals.example import release
from marginals.window.level_tree import Group, level_tree
from marginals.window.preview import Preview
from marginals.window.result_cards import cards_of_attacks, cards_of_verdicts, in_groups
from models import Hierarchy
from strategies import hierarchies


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
    assert [title for title, _ in preview.guarantees] == [claim.title() for claim in release.claims]
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
