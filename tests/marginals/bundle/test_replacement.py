"""A release that a corrected one replaces: a note beside it, of which `verify` and the ledger tell; its files stay."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import marginals
from command_line import main
from marginals import InputError
from marginals.bundle.replacement import mark_replaced, note_beside, replacement_of
from marginals.example import release as another_release
from small_release import contents, write_config


@pytest.fixture
def both(tmp_path: Path, small_release: marginals.Release) -> tuple[Path, Path]:
    """An old release and a new one."""
    small_release.write(tmp_path / "old")
    another_release.write(tmp_path / "new")
    return tmp_path / "old", tmp_path / "new"


def test_verify_says_by_which_release_one_is_replaced_and_its_files_stay(both: tuple[Path, Path]) -> None:
    old, new = both
    before = contents(old), contents(new)
    answer = CliRunner().invoke(main, ["replace", str(old), str(new), "--date", "2026-05-04", "--json"])
    assert answer.exit_code == 0
    stated = json.loads(answer.stdout)
    assert stated == json.loads(note_beside(old).read_text()) | {"release": stated["release"]}
    assert (contents(old), contents(new)) == before
    verification = marginals.verify(old)
    assert verification.ok
    (warning,) = (text for text in verification.warnings if "replaced" in text)
    assert f"replaced since 2026-05-04 by a corrected release, new ({stated['replaced_by']})" in warning
    assert "which nobody signed" in warning
    assert not any("replaced" in text for text in marginals.verify(new).warnings)
    assert any("replaced" in text for text in marginals.verify(old, new).warnings)


def test_a_note_of_another_release_says_nothing(both: tuple[Path, Path]) -> None:
    old, new = both
    mark = mark_replaced(old, new)
    note_beside(old).rename(note_beside(new))
    assert replacement_of(new, mark.new) is None
    assert not any("replaced" in text for text in marginals.verify(new).warnings)


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"release": 3}', b"\xff", b"[" * 9000, b" " * 20_000])
def test_a_note_that_cannot_be_read_is_told_of(both: tuple[Path, Path], text: bytes) -> None:
    note_beside(both[0]).write_bytes(text)
    assert any("old-replaced.json beside it" in warning for warning in marginals.verify(both[0]).warnings)


def test_what_makes_no_sense_is_refused(both: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = both
    with pytest.raises(InputError, match="are the same"):
        mark_replaced(old, old)
    with pytest.raises(InputError, match="nowhere"):
        mark_replaced(old, tmp_path / "nowhere")
    mark_replaced(old, new)
    with pytest.raises(InputError, match="is itself noted as replaced"):
        mark_replaced(new, old)


def test_the_ledger_tells_of_it_and_counts_it_as_before(
    tmp_path: Path, small_release: marginals.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = write_config(tmp_path)
    command = ["publish", str(config), "--out", "out", "--ledger", "books", "--json"]
    assert CliRunner().invoke(main, command).exit_code == 0
    small_release.write(tmp_path / "corrected")
    mark_replaced(Path("out"), Path("corrected"), "2026-05-04")
    told = CliRunner().invoke(main, ["ledger", "books"]).stdout
    assert "replaced since 2026-05-04 by a corrected release, corrected" in " ".join(told.split())
    (entry,) = json.loads(CliRunner().invoke(main, ["ledger", "books", "--json"]).stdout)["releases"]
    assert entry["out"]
    assert entry["replaced_by"] == json.loads((tmp_path / "out-replaced.json").read_text())["replaced_by"]
