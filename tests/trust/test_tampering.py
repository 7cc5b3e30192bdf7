"""Every single changed byte, in any file of a bundle, is noticed by `verify`."""

import os
import random
from pathlib import Path
from typing import Any

import pytest

import marginals
from written_bundles import change_package, put_file

SEED = 20260102
TRIALS = int(os.environ.get("MARGINALS_TRIALS", "15"))
"""Positions of which all bits are tried; from 500 on, no position is left out of the rest either."""


@pytest.fixture
def bundle(tmp_path: Path, small_release: marginals.Release) -> Path:
    folder = small_release.write(tmp_path / "release").path
    assert folder is not None
    assert marginals.verify(folder).ok
    return folder


def is_noticed(bundle: Path, file: Path, content: bytes, position: int, changed: int) -> bool:
    """Whether integrity fails with one byte xored; the privacy checks, which take longest, are not asked for."""
    file.write_bytes(content[:position] + bytes([content[position] ^ changed]) + content[position + 1 :])
    try:
        return not marginals.verify(bundle, claims=["k-link=2"]).checks[0].holds
    finally:
        file.write_bytes(content)


def problem(bundle: Path) -> Any:
    """What is wrong with the files, which is all that verifying says then."""
    (finding,) = marginals.verify(bundle).checks
    assert (finding.criterion, finding.holds) == ("integrity", False)
    assert finding.worst is not None
    return finding.worst


def test_every_changed_byte_is_noticed(bundle: Path) -> None:
    """One random change at every position of every file (every twentieth of a short run), and every bit at some."""
    rng = random.Random(SEED)
    files = {file: file.read_bytes() for file in sorted(bundle.rglob("*")) if file.is_file()}
    assert len(files) > 6
    places = [(file, position) for file, content in files.items() for position in range(len(content))]
    changes = [(file, position, rng.randrange(1, 256)) for file, position in places[:: 1 if TRIALS >= 500 else 20]]
    changes += [(file, position, 1 << bit) for file, position in rng.sample(places, TRIALS) for bit in range(8)]
    missed = [change for change in changes if not is_noticed(bundle, change[0], files[change[0]], *change[1:])]
    print(
        f"\n{len(changes)} changed bytes in {len(files)} files of {len(places)} bytes, seed {SEED}: {len(missed)} missed"
    )
    assert not missed, missed[:5]
    assert marginals.verify(bundle).ok


@pytest.mark.parametrize("make", [lambda p: p.mkdir(), lambda p: p.symlink_to(p), lambda p: p.write_bytes(b"")])
def test_a_seal_that_is_none_is_refused(bundle: Path, make: object) -> None:
    (bundle / "datapackage.json.sha256").unlink()
    make(bundle / "datapackage.json.sha256")  # type: ignore[operator]
    assert not marginals.verify(bundle).ok


def test_a_changed_file_of_another_kind_is_noticed(bundle: Path) -> None:
    """Whatever the descriptor gives a hash for is looked at, whether or not it is a table."""
    notes = {"name": "notes", "path": "notes.txt"}
    put_file(bundle, notes, b"as is")
    change_package(bundle, lambda package: package["resources"].append(notes))
    verification = marginals.verify(bundle)
    assert verification.ok
    assert any(warning.endswith("look at it yourself: the file notes.txt") for warning in verification.warnings)
    (bundle / "notes.txt").write_text("as it")
    assert not marginals.verify(bundle).ok


@pytest.mark.parametrize(
    "path",
    ["marginals/ward.0.csv", "report2.html", ".hidden", "more/deep/table.csv", ".DS_Store", "marginals/Thumbs.db",
     "hierarchies/desktop.ini", "datapackage.json.bak"],
)  # fmt: skip
def test_a_file_that_is_not_declared_is_named(bundle: Path, path: str) -> None:
    """Who reads all files of the folder would take it for published; rows can stand in a file of any name."""
    (bundle / path).parent.mkdir(parents=True, exist_ok=True)
    (bundle / path).write_text("ward,count\nA,7\n")
    found = problem(bundle)
    assert found.file in (path, path.split("/")[0])
    assert "does not declare it" in found.problem
    assert marginals.open_release(bundle).model.total


def test_many_undeclared_files_are_one_sentence_in_a_moment(bundle: Path) -> None:
    """Not every one is looked at; the one that is named is the same each time."""
    for number in range(1200):
        (bundle / "marginals" / f"{number}.csv").touch()
    assert "nor 999 others" in problem(bundle).problem


def test_an_undeclared_link_is_named_and_not_followed(bundle: Path) -> None:
    (bundle / "loop").symlink_to(bundle)
    assert problem(bundle).file == "loop"


@pytest.mark.parametrize("more", [b"0", b"0" * 5000])
def test_a_longer_file_is_named_with_both_sizes(bundle: Path, more: bytes) -> None:
    file = next((bundle / "marginals").iterdir())
    size = file.stat().st_size
    file.write_bytes(file.read_bytes() + more)
    assert problem(bundle).problem == f"it has {size + len(more)} bytes where the descriptor says {size}"
