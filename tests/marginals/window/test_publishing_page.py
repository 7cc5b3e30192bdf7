"""What stands before Publish, the list that is kept, and results as cards."""

from pathlib import Path

import pytest

import marginals
from marginals import InputError
from marginals.example import release
from marginals.window.checklist import LOOKED, CheckedItem, Checklist, keep, kept_at
from marginals.window.preview import Preview
from marginals.window.result_cards import cards_of_attacks, cards_of_verdicts, in_groups


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


def test_what_must_be_is_required_and_the_list_is_kept_for_the_steward_alone(tmp_path: Path) -> None:
    wrong = Checklist([CheckedItem("Nothing is demanded of income, so it cannot be published.", False)], [])
    with pytest.raises(InputError, match="Nothing is demanded of income"):
        wrong.require(looked=True)
    right = Checklist([CheckedItem("Each has a demand.")], [CheckedItem("There is no ledger.", False)])
    with pytest.raises(InputError, match="tick"):
        right.require(looked=False)
    right.require(looked=True)
    place = kept_at(tmp_path / "release")
    keep(right.text("release", "release.toml"), place)
    assert place.name == "release-checklist.txt"
    assert place.stat().st_mode & 0o077 == 0
    assert f"[x] {LOOKED}" in place.read_text()
    assert "[ ] There is no ledger." in place.read_text()
    assert kept_at(tmp_path / "release") == place  # the list of an earlier run is replaced


def test_another_file_is_not_replaced_by_the_list(tmp_path: Path) -> None:
    (tmp_path / "release-checklist.txt").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        kept_at(tmp_path / "release")


def test_verdicts_are_cards_with_their_detail() -> None:
    printed = (
        "    holds  k-link k = 10\n           closest case: count 14\n    fails  min-cell k = 3\n"
        " attested  register diversity = entropy:2, sensitive = disease, of people\n"
        "    holds  maxent-diversity of 3 sensitive attributes\n"
    )
    cards = cards_of_verdicts(printed)
    assert [(card.mark, card.look, card.sentence) for card in cards] == [
        ("holds", "holds", "Each group of a published table, sensitive columns aside, is as large as claimed."),
        ("fails", "fails", "No count smaller than claimed is published, and none can be worked out."),
        (
            "attested",
            "undecided",
            "To readers with a register of all nonsensitive values, values of disease are as varied as claimed.",
        ),
        (
            "holds",
            "holds",
            "To readers who combine all tables by maximum entropy, values of 3 sensitive columns are as varied as claimed.",
        ),
    ]
    assert cards[0].detail == ("k-link k = 10", "closest case: count 14")
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


def test_an_attested_verdict_has_its_reason_as_detail_and_a_heading_is_no_verdict() -> None:
    printed = (
        "    holds  k-link k = 10\nAttested by the publisher, and not verified:\n attested  register of 2 attributes\n"
        "           attested by the publisher, who has the table; the files cannot show it\n"
    )
    cards = cards_of_verdicts(printed)
    assert [(card.mark, len(card.detail)) for card in cards] == [("holds", 1), ("attested", 2)]


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
