"""A bundle is read once: whatever happens to its folder meanwhile, a verdict is about one state of it."""

import hashlib
import json
import os
import shutil
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

import marginals
from marginals.errors import BundleError
from marginals.example import release
from signing_keys import Keys, write_keys
from small_release import contents
from written_bundles import DESCRIPTOR, SIGNATURE, Change, change_package, first_of, put_file

Exchange = Callable[[Path], object]
T = TypeVar("T")


_watchers: list[Callable[[Path], None]] = []


def _tell(event: str, arguments: tuple[object, ...]) -> None:
    if not _watchers or event not in ("open", "os.scandir", "os.listdir"):
        return
    path = arguments[0]
    if isinstance(path, str | bytes | os.PathLike):
        for watcher in tuple(_watchers):
            watcher(Path(os.fsdecode(path)))


# Audit events, which no way of opening a file gets around. A hook cannot be removed; without a watcher it does nothing.
sys.addaudithook(_tell)


@contextmanager
def watched(folder: Path, watcher: Callable[[Path], None]) -> Iterator[None]:
    """Meanwhile the watcher is told of each file or folder within a folder that is about to be opened or listed."""
    inside = folder.absolute()

    def tell(path: Path) -> None:
        if path.absolute().is_relative_to(inside):
            _watchers.remove(tell)  # What the watcher does itself is nobody's matter.
            try:
                watcher(path)
            finally:
                _watchers.append(tell)

    _watchers.append(tell)
    try:
        yield
    finally:
        _watchers.remove(tell)


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return write_keys(tmp_path, "ours")


@pytest.fixture
def genuine(tmp_path: Path, keys: Keys) -> Path:
    folder = release.write(tmp_path / "genuine", sign=keys.secret).path
    assert folder is not None
    assert marginals.verify(folder, key=keys.text).ok
    return folder


@pytest.fixture
def forged(genuine: Path, tmp_path: Path) -> Path:
    """The same with weaker claims and another cell and page, their hashes made right; seal and signature are as before."""
    folder = tmp_path / "forged"
    shutil.copytree(genuine, folder)
    package = json.loads((folder / DESCRIPTOR).read_bytes())
    package["release"]["privacy"] = [{"criterion": "k-link", "k": 1}]
    table = first_of(package, "marginal")
    put_file(folder, table, (folder / table["path"]).read_bytes().replace(b",5\n", b",6\n", 1))
    put_file(folder, package["release"]["report"], b"<!doctype html>All is well.")
    (folder / DESCRIPTOR).write_text(json.dumps(package))
    return folder


def accesses(place: Path, work: Callable[[], object]) -> list[Path]:
    """The files and folders of a bundle that something opens and lists, in order."""
    opened: list[Path] = []
    with watched(place, opened.append):
        work()
    return opened


def exchanging(place: Path, number: int, exchange: Exchange) -> Callable[[Path], None]:
    """A watcher that exchanges something just before the access of this number."""
    left = number

    def watcher(_: Path) -> None:
        nonlocal left
        if left == 0:
            exchange(place)
        left -= 1

    return watcher


def outcomes(start: Path, place: Path, exchange: Exchange, work: Callable[[], T]) -> list[T]:
    """The answers of some work when a bundle is exchanged just before its first, second, ... last access."""
    shutil.copytree(start, place)
    count = len(accesses(place, work))
    assert count > 6
    answers = []
    for number in range(count):
        shutil.rmtree(place)
        shutil.copytree(start, place)
        with watched(place, exchanging(place, number, exchange)):
            answers.append(work())
    shutil.rmtree(place)
    return answers


def folder_of(other: Path) -> Exchange:
    """The whole folder is exchanged for a copy of another, as a publisher replaces a release."""

    def exchange(place: Path) -> None:
        shutil.copytree(other, place.with_name("fresh"))
        place.rename(place.with_name("old"))
        place.with_name("fresh").rename(place)
        shutil.rmtree(place.with_name("old"))

    return exchange


def file_of(other: Path, path: str) -> Exchange:
    return lambda place: shutil.copy(other / path, place / path)


def exchanges(other: Path, start: Path) -> list[Exchange]:
    """All files at once, or one of those that differ."""
    files = contents(start)
    differ = [path for path, content in contents(other).items() if files.get(path) != content]
    assert len(differ) > 2
    return [folder_of(other), *(file_of(other, path) for path in differ)]


@pytest.mark.parametrize("with_key", [True, False])
@pytest.mark.parametrize("forged_first", [True, False])
def test_whatever_is_exchanged_while_a_bundle_is_verified_no_claim_passes_that_was_not_signed(
    genuine: Path, forged: Path, keys: Keys, tmp_path: Path, forged_first: bool, with_key: bool
) -> None:
    """Forged claims with the signature that was there a moment later, or a forged table beside the genuine descriptor."""
    start, other = (forged, genuine) if forged_first else (genuine, forged)
    key = keys.text if with_key else None
    right = marginals.verify(genuine, key=key).as_json()
    assert right["ok"]
    assert not marginals.verify(forged, key=key).checks[0].holds
    passed = 0
    for exchange in exchanges(other, start):
        for answer in outcomes(
            start, tmp_path / "place", exchange, lambda: marginals.verify(tmp_path / "place", key=key)
        ):
            assert not answer.checks[0].holds or answer.as_json() == right
            passed += answer.ok
    assert passed or forged_first, "what is exchanged after it was read is the genuine bundle"


def test_a_bundle_that_is_replaced_meanwhile_is_not_called_tampered_with(genuine: Path, tmp_path: Path) -> None:
    other = release.write(tmp_path / "other").path
    assert other is not None
    exchange = folder_of(other)
    for answer in outcomes(genuine, tmp_path / "place", exchange, lambda: marginals.verify(tmp_path / "place")):
        if not answer.ok:
            assert answer.checks[0].worst.file == "place"
            assert "replaced while it was read" in answer.checks[0].worst.problem


def test_each_file_is_opened_once(genuine: Path, keys: Keys) -> None:
    files = Counter({genuine / path: 1 for path in contents(genuine)})
    folders = [genuine, genuine / "hierarchies", genuine / "marginals"]
    for work in (
        lambda: marginals.verify(genuine, key=keys.text),
        lambda: marginals.verify(genuine),
        lambda: marginals.verify(genuine, claims=["k-link=2"]),
        lambda: marginals.open_release(genuine),
    ):
        opened = accesses(genuine, work)
        assert Counter(path for path in opened if path.is_file()) == files
        assert sorted(path for path in opened if path.is_dir()) == folders


def edit(folder: Path, change: Change) -> None:
    """Change what a descriptor says, which nobody seals or signs anew."""
    change_package(folder, change)
    (folder / SIGNATURE).unlink(missing_ok=True)


def problem(folder: Path) -> str:
    (finding,) = marginals.verify(folder).checks
    return f"{finding.worst.file}: {finding.worst.problem}"


def test_a_file_with_two_paths_is_one_file_read_once(genuine: Path) -> None:
    content = (genuine / "report.html").read_bytes()
    listed = {"path": "./report.html", "hash": "sha256:" + hashlib.sha256(content).hexdigest()}
    for size in (len(content), 1):
        edit(genuine, lambda package, size=size: package["resources"].append({**listed, "bytes": size}))  # type: ignore[misc]
        opened = accesses(genuine, lambda: marginals.verify(genuine))
        assert opened.count(genuine / "report.html") == 1
        judged = marginals.verify(genuine)
        assert not judged.ok  # a page by another path is not the one that is remade
        assert (judged.checks[0].verdict.value == "holds") is (size == len(content))
        edit(genuine, lambda package: package["resources"].pop())


def test_resources_that_claim_less_than_nothing_leave_no_room_for_more(genuine: Path) -> None:
    more = [{"path": f"{number}.bin", "bytes": 100 << 20, "hash": "sha256:0"} for number in range(3)]
    edit(genuine, lambda package: package["resources"].extend([*more, {"path": "x", "bytes": -(1 << 40)}]))
    assert "more than the 268435456 bytes that are read of a bundle" in problem(genuine)


def test_a_file_that_is_larger_than_it_says_is_not_read(genuine: Path) -> None:
    file = next((genuine / "marginals").iterdir())
    with file.open("ab") as stream:
        stream.truncate(1 << 32)
    tracemalloc.start()
    with pytest.raises(BundleError, match="4294967296 bytes") as error:
        marginals.open_release(genuine)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 27
    assert error.value.file == f"marginals/{file.name}"


def test_links_within_a_bundle_are_followed_and_those_out_of_it_are_not(genuine: Path, tmp_path: Path) -> None:
    file = next((genuine / "marginals").iterdir())
    kept = tmp_path / "kept.csv"
    shutil.copy(file, kept)
    # The copy in the folder is declared as well, by the hash that it has.
    listed = {"path": "table.csv"}
    put_file(genuine, listed, kept.read_bytes())
    edit(genuine, lambda package: package["resources"].append(listed))
    file.unlink()
    file.symlink_to(genuine / "table.csv")
    assert marginals.verify(genuine).ok
    for target, why in ((kept, "leads out"), (file, "to itself"), (genuine / "none.csv", "no such file")):
        file.unlink()
        file.symlink_to(target)
        assert problem(genuine).startswith(f"marginals/{file.name}: ")
        assert why in problem(genuine)


def test_nobody_waits_for_a_pipe_that_takes_the_place_of_a_file(genuine: Path) -> None:
    file = next((genuine / "marginals").iterdir())

    def pipe(path: Path) -> None:
        if path == file:
            file.unlink()
            os.mkfifo(file)

    with watched(genuine, pipe), pytest.raises(BundleError, match="it is not a file"):
        marginals.open_release(genuine)
