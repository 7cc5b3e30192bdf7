"""What stands before Publish, the list that is kept, and results as cards."""

from pathlib import Path

import pytest

import marginals
from marginals.errors import InputError
from marginals.example import release
from marginals.window.checklist import LOOKED, CheckedItem, Checklist, keep, kept_at
from marginals.window.preview import Preview
from marginals.window.result_cards import cards_of_attacks, cards_of_verdicts


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
        " attested  register diversity = entropy:2\n"
    )
    cards = cards_of_verdicts(printed)
    assert [(card.mark, card.look, card.sentence) for card in cards] == [
        ("holds", "holds", "k-link k = 10"),
        ("fails", "fails", "min-cell k = 3"),
        ("attested", "undecided", "register diversity = entropy:2"),
    ]
    assert cards[0].detail == ("closest case: count 14",)


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
