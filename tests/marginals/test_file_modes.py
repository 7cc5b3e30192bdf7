"""What is for the steward alone only its owner can read, from the first byte on, whatever umask, file and folder there were.

A release is for others, as far as the umask lets them.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from command_line import main
from marginals import InputError, files
from marginals.files import PRIVATE, PUBLIC, fresh_file, made_folder, private_folder, replace_file, replace_folder
from marginals.ledger import Ledger
from small_release import write_config


@pytest.fixture(params=[0o022, 0o000, 0o077], ids="{:03o}".format)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


def refused(path: Path) -> InputError:
    with pytest.raises(InputError) as error:
        Ledger.read(path)
    return error.value


def wide(path: Path) -> Path:
    """A file that was there before, which everybody may read and write."""
    path.write_text("old")
    path.chmod(0o666)
    return path


def test_a_private_file_is_that_also_where_a_wide_one_or_a_wide_folder_was(tmp_path: Path, umask: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    replace_file(wide(shared / "old.html"), b"new", PRIVATE)
    replace_file(shared / "deep" / "er" / "new.html", b"new", PRIVATE)
    assert mode(shared / "old.html") == mode(shared / "deep" / "er" / "new.html") == 0o600
    assert mode(shared / "deep") == mode(shared / "deep" / "er") == 0o700
    replace_file(shared / "public" / "page.html", b"new", PUBLIC)
    assert mode(shared / "public" / "page.html") == 0o666 & ~umask
    assert mode(shared / "public") == 0o777 & ~umask


@pytest.mark.parametrize("nameless", [True, False])
def test_nothing_can_be_read_while_it_is_written(
    tmp_path: Path, umask: int, nameless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not nameless:
        monkeypatch.setattr(files, "are_possible", lambda: False)
    with fresh_file(tmp_path / "page.html", PRIVATE) as fresh:
        fresh.write_text("new")
        assert mode(fresh) == 0o600
        assert [mode(path) for path in tmp_path.iterdir()] == ([] if nameless else [0o600])
    seen: list[int] = []
    flushed = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda number: (seen.extend(map(mode, tmp_path.glob(".folder*"))), flushed(number))
    )
    replace_folder(tmp_path / "folder", {"a": b"1", "b/c": b"2"}, PRIVATE)
    assert set(seen) == {0o700}
    modes = {str(path.relative_to(tmp_path)): mode(path) for path in sorted((tmp_path / "folder").rglob("*"))}
    assert modes == {"folder/a": 0o600, "folder/b": 0o700, "folder/b/c": 0o600}
    assert mode(tmp_path / "folder") == 0o700
    assert os.umask(umask) == umask  # is as it was


def test_the_umask_is_found_where_the_system_does_not_tell_it(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_STATUS", tmp_path / "none")
    made_folder(tmp_path / "a" / "b")
    replace_file(tmp_path / "a" / "c", b"")
    assert (mode(tmp_path / "a" / "b"), mode(tmp_path / "a" / "c")) == (0o777 & ~umask, 0o666 & ~umask)


def test_a_release_is_for_others_and_its_stewards_page_is_not(tmp_path: Path, umask: int) -> None:
    config = write_config(tmp_path)
    run("publish", config, "--out", tmp_path / "new" / "release", "--ledger", tmp_path / "ledger")
    release = tmp_path / "new" / "release"
    for path in (release, *release.rglob("*")):
        assert mode(path) == (0o777 if path.is_dir() else 0o666) & ~umask, path
    assert mode(release.parent) == 0o777 & ~umask
    page = tmp_path / "new" / "release-steward.html"
    assert mode(page) == 0o600
    page.chmod(0o666)
    run("publish", config, "--out", release, "--steward", tmp_path / "steward.html")
    run("publish", config, "--out", release)
    assert mode(page) == mode(tmp_path / "steward.html") == 0o600
    ledger = tmp_path / "ledger"
    assert mode(ledger) == 0o700
    assert {mode(path) for path in ledger.rglob("*") if path.is_file()} == {0o600}
    assert {mode(path) for path in ledger.rglob("*") if path.is_dir()} == {0o700}


@pytest.mark.usefixtures("umask")
def test_a_ledger_that_begins_in_a_folder_that_is_there_makes_it_private(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    ledger.chmod(0o777)
    run("publish", write_config(tmp_path), "--out", tmp_path / "release", "--ledger", ledger)
    assert mode(ledger) == 0o700
    ledger.chmod(0o750)
    assert f"chmod 700 {ledger}" in str(refused(ledger))  # what others may have read, they have: it is said, not mended


RULES = """
[[risk.rules]]
attribute = "age"
"""


@pytest.mark.usefixtures("umask")
def test_what_is_measured_on_the_table_is_private(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    config = write_config(tmp_path)
    config.write_text(config.read_text() + RULES)
    made = [
        tmp_path / name for name in ("risk.html", "rows.csv", "plot.svg", "disclosed.csv", "frontier.svg", "audit.html")
    ]
    for path in made:
        wide(path)
    risk, rows, plot, disclosed, frontier, page = made
    run("risk", config, "--report", risk, "--out", rows, "--plot", plot, "--utility", 1, "--force")
    assert "only you may read the file" in run("disclose", config, "--out", disclosed, "--force")
    published = tmp_path / "table.csv"
    published.write_text("area,count\nUlm,9\nLinz,8\n")
    run("audit", published, "--report", page, "--force")
    table = marginals.read_config(config).read_table()
    grid = marginals.frontier(table, marginals.Policy(), k=[5, 9], jobs=1)
    marginals.plot_frontier(grid, frontier)
    assert {path.name: mode(path) for path in made} == {path.name: 0o600 for path in made}


@pytest.mark.usefixtures("umask")
def test_a_first_config_and_its_hierarchies_name_values_and_are_private(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [str(20 + n % 60) for n in range(600)], "job": [f"job {n % 7}" for n in range(600)]})
    frame.to_csv(tmp_path / "people.csv", index=False)
    wide(tmp_path / "release.toml")
    run("init", tmp_path / "people.csv", "--out", tmp_path / "release.toml", "--force")
    assert mode(tmp_path / "release.toml") == 0o600
    for path in (tmp_path / "hierarchies").glob("*"):
        assert mode(path) == 0o600
    if (tmp_path / "hierarchies").exists():
        assert mode(tmp_path / "hierarchies") == 0o700


@pytest.mark.usefixtures("umask")
def test_a_private_folder_is_that_also_where_a_wide_one_was_and_no_file_becomes_one(tmp_path: Path) -> None:
    (tmp_path / "wide").mkdir()
    (tmp_path / "wide").chmod(0o777)
    for folder in (tmp_path / "wide", tmp_path / "above" / "new", tmp_path / "above" / "new"):
        private_folder(folder)
        assert mode(folder) == 0o700
    assert mode(tmp_path / "above") == 0o700
    file = wide(tmp_path / "file")
    with pytest.raises(FileExistsError):
        private_folder(file)
    assert (file.read_text(), mode(file)) == ("old", 0o666)
