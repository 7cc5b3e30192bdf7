"""Whatever happens to `publish`: the old bundle stands there, the new one, or none; and the ledger knows what is out.

MARGINALS_TRIALS sets how often it is killed (15 by default); at least 150 also tries a fault before every call of the system
while a release is entered in a ledger, otherwise before each move and every tenth.
"""

import os
import random
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import forked
import marginals
from marginals import InputError
from marginals.files import replace_file, replace_folder
from marginals.ledger import Ledger
from marginals.publishing.publishing import Publication
from marginals.steward import StewardFile
from small_release import contents, marginals_command, write_config

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "15"))
SEED = 20260101

BESIDE = ["release", "release-steward.html"]
"""A release, and the steward's page beside it."""

KILLED_AT = """
import os, signal, sys
place, moment = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
CALLS = {"open", "os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.scandir", "shutil.rmtree"}
calls = moves = 0


def hook(event, arguments):
    global calls, moves
    if event in CALLS and (calls or str(arguments[0]).startswith(place)):
        calls += 1
        moves += event == "os.rename"
        if moment in (calls, -moves if event == "os.rename" else 0) and moment:
            os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(hook)
from command_line import main
try:
    main()
finally:
    print(moves)
    print(calls)
"""
"""The command, which is killed before its call number `moment` of the system's about files, counted from the first in a
folder, or before moving something for the time `-moment`; with 0 it is not, and prints the numbers of moves and calls."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_pages_are_private(folder: Path) -> None:
    """Pages of a steward, also those that a killed run has left aside, are whole, and their owner alone may read them."""
    for page in (path for path in folder.iterdir() if "steward.html" in path.name):
        assert page.stat().st_mode & 0o777 == 0o600, page.name
        # Where files have no name, one that was killed while it was written has none either.
        assert not page.stat().st_size or page.read_bytes().rstrip().endswith(b"</html>"), page.name


def identity_on(page: Path) -> str:
    (said,) = re.findall('<meta name="marginals-release" content="([0-9a-f]{64})">', page.read_text())
    return str(said)


@pytest.fixture
def configs(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / name for name in ("one", "two")]
    for seed, folder in enumerate(folders):
        folder.mkdir()
        write_config(folder, seed)
    return [folder / "release.toml" for folder in folders]


def test_a_killed_publish_leaves_the_old_bundle_the_new_one_or_none(configs: list[Path], tmp_path: Path) -> None:
    """SIGKILL before each move, before calls that are drawn, and at any time; the bundles alternate.

    The older page of the steward is moved aside, the new one into its place, and then the folders likewise.
    """
    rng = random.Random(SEED)
    place = tmp_path / "place"
    place.mkdir()
    target, page = place / "release", place / "release-steward.html"
    found: Counter[str] = Counter()
    whole: list[dict[str, bytes]] = []
    pages: list[str] = []
    numbers: list[tuple[int, int]] = []
    seconds: list[float] = []
    for config in (*configs, *configs):
        start = time.monotonic()
        run = forked.run(KILLED_AT, place, 0, "publish", config, "--out", target)
        assert run.returncode == 0, run.stderr
        seconds.append(time.monotonic() - start)
        moves, calls = map(int, run.stdout.splitlines()[-2:])
        numbers.append((moves, calls))
        whole.append(contents(target))
        pages.append(identity_on(page))
    assert pages[0] != pages[1]
    assert whole[0] != whole[1]
    assert whole[:2] == whole[2:]
    assert numbers[2] == numbers[3]
    shutil.copytree(place, tmp_path / "begun")
    moments = [*(rng.randint(1, calls) for _ in range(TRIALS)), *(-1 - move for move in range(moves))]
    for trial, moment in enumerate([*moments, 0, 0, 0]):
        if moment < 0:  # what was left beside would be moved, too
            shutil.rmtree(place)
            shutil.copytree(tmp_path / "begun", place)
        killed = forked.Forked(KILLED_AT, place, moment, "publish", configs[trial % 2], "--out", target)
        if not moment:
            time.sleep(rng.uniform(0, min(seconds)))
        status = killed.wait() if moment else killed.kill()
        assert status == (-signal.SIGKILL if moment else status)
        found["killed" if status else "done before"] += 1
        if target.exists():
            now = contents(target)
            assert now in whole[:2], "half a bundle"
            found["new bundle" if now == whole[trial % 2] else "old bundle"] += 1
            if page.exists():
                is_of_other = pages[whole.index(now)] != identity_on(page)
                assert StewardFile(page, target).is_of_another_release is is_of_other
                found["page of a release that did not come"] += is_of_other
        else:
            found["no bundle"] += 1
        found["left something beside"] += any(".writing-" in name for name in names(place))
        assert_pages_are_private(place)
    assert found["left something beside"], "it was not killed while it wrote"
    assert moves == 4
    assert found["no bundle"], "it was not killed between the two moves"
    assert found["page of a release that did not come"], "it was not killed between the page and the release"
    found["verified"] = marginals.verify(target).ok if target.exists() else 0
    assert marginals_command("publish", configs[0], "--out", target).returncode == 0
    assert contents(target) == whole[0]
    assert names(place) == BESIDE, "the next writing leaves nothing else beside"
    print(f"\n{len(moments) + 3} kills, {calls} calls about files, {moves} moves, seed {SEED}: {dict(found)}")


@pytest.mark.parametrize("call", ["mkdir", "open", "fsync", "chmod", "rename"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_writing_that_fails_at_any_call_leaves_the_old_folder_and_nothing_beside(
    call: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "target"
    replace_folder(target, {"a/b": b"old"})
    owner = os if call == "fsync" else Path
    original = getattr(owner, call)
    for number in range(4):
        calls = iter(range(100))
        with monkeypatch.context() as patched:

            def failing(*given: object, calls: Iterator[int] = calls, number: int = number, **named: object) -> object:
                if next(calls) == number:
                    raise error
                return original(*given, **named)

            patched.setattr(owner, call, failing)
            try:
                replace_folder(target, {"a/b": b"new", "c": b"new"})
            except type(error):
                assert contents(target) == {"a/b": b"old"}
                replace_folder(target, {"a/b": b"old"})
        assert names(tmp_path) == ["target"]
        assert contents(target) in ({"a/b": b"old"}, {"a/b": b"new", "c": b"new"})
        replace_folder(target, {"a/b": b"old"})


def test_an_old_folder_that_was_already_moved_away_comes_back_where_the_next_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "target"
    replace_folder(tmp_path / ".target.writing-abcdefgh.old", {"a": b"old"})
    with pytest.raises(OSError, match="File name too long"):
        replace_folder(target, {"x" * 300: b"new"})
    assert names(tmp_path) == ["target"]
    assert contents(target) == {"a": b"old"}


def test_of_runs_that_write_one_release_at_once_each_is_whole_and_the_last_one_stays(tmp_path: Path) -> None:
    """With its page beside it, which is of no other release; nothing of any is left."""
    release = tmp_path / "release"
    mark = b'<meta name="marginals-page" content="steward">'

    def write(run: bytes) -> None:
        for turn in range(4):
            with StewardFile(tmp_path / "page.html", release).around(mark + run):
                replace_folder(release, {"datapackage.json": run * (turn + 1), "a/b": run})

    with ThreadPoolExecutor(4) as runs:
        for run in [runs.submit(write, bytes([number])) for number in b"abcd"]:
            run.result()
    assert names(tmp_path) == ["page.html", "release"]
    assert (tmp_path / "page.html").read_bytes() == mark + (release / "a" / "b").read_bytes()
    assert set((release / "datapackage.json").read_bytes()) == set((release / "a" / "b").read_bytes())


def test_only_what_was_left_for_this_target_is_swept_away(tmp_path: Path) -> None:
    """Names with the characters of patterns, and targets whose names begin alike, are kept apart."""
    for name in (".a.writing-b", ".a.writing-b.writing-abcdefgh", ".[ab].writing-abcdefgh"):
        (tmp_path / name).mkdir()
    (tmp_path / ".a.writing-abcdefgh").mkdir()
    (tmp_path / ".a.writing-file0000").write_text("half")
    replace_folder(tmp_path / "a", {"x": b"1"})
    assert set(names(tmp_path)) == {"a", ".a.writing-b", ".a.writing-b.writing-abcdefgh", ".[ab].writing-abcdefgh"}
    replace_folder(tmp_path / "[ab]", {"x": b"1"})
    assert ".[ab].writing-abcdefgh" not in names(tmp_path)
    (tmp_path / ".rows.csv.writing-abcdefgh").write_text("half")
    replace_file(tmp_path / "rows.csv", b"whole")
    assert ".rows.csv.writing-abcdefgh" not in names(tmp_path)


def test_a_linked_target_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "shelf" / "release", target_is_directory=True)
    for content in (b"old", b"new"):
        replace_folder(tmp_path / "link", {"a": content})
        assert (tmp_path / "link").is_symlink()
        assert contents(tmp_path / "shelf") == {"release/a": content}
    assert names(tmp_path / "shelf") == ["release"]


# Whatever happens between any two calls of the system while a release is entered: the ledger knows what is out.


EVERY = 1 if TRIALS >= 150 else 10
CALLS = {"open", "os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.scandir", "shutil.rmtree",
         "fcntl.flock"}  # fmt: skip
ATTRIBUTES = {
    "age": marginals.Attribute("quasi-identifier", intervals=[10, 20]),
    "sex": "quasi-identifier",
    "ill": "sensitive",
}
POLICY = marginals.Policy(k_link=5, k_combinatorial=5, diversity="distinct:2", base="none", max_waiting=1)


def table(number: int, where: str | None = None) -> marginals.Table:
    """The first so many of a thousand people, or a part of them."""
    rng = np.random.default_rng(1)
    columns = {"age": rng.integers(20, 60, 1000), "sex": rng.choice(["f", "m"], 1000)}
    frame = pd.DataFrame({**columns, "ill": rng.choice(["flu", "gout", "none"], 1000)})
    part = None if where is None else marginals.Part(where)
    return marginals.read_table(frame.iloc[:number], ATTRIBUTES, where=part)


def written(made: Publication, out: Path, moment: int, fault: str) -> int:
    """Write a publication in a process of its own, with a fault at a moment; its exit status.

    Moments are the moves and every tenth call, or every one. 0: done. 3: refused in a sentence. 9: killed. 4: there were
    fewer moments.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    calls = moments = 0

    def hook(event: str, _: object) -> None:
        nonlocal calls, moments
        if event in CALLS:
            calls += 1
            is_moment = event == "os.rename" or calls % EVERY == 0
            moments += is_moment
            if is_moment and moments == moment and fault == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if (is_moment and moments == moment) or (moments >= moment and fault == "full from then on"):
                raise OSError(28, "No space left on device")

    status = 5
    try:
        sys.addaudithook(hook)
        made.write(out)
        status = 4 if moments < moment else 0
    except InputError:
        status = 3
    finally:
        os._exit(status)


@pytest.mark.parametrize("where", [None, "sex == 'f'"])
@pytest.mark.parametrize("fault", ["killed", "full once", "full from then on"])
def test_at_any_move_and_call_of_the_system_a_fault_leaves_a_ledger_that_knows_what_is_out(
    fault: str, where: str | None, tmp_path: Path
) -> None:
    """Also where it is of a part: then everybody is in the entry, and the part in the bundle."""
    place, begun = tmp_path / "place", tmp_path / "begun"
    marginals.publish(table(400, where), POLICY, ledger=place / "ledger").write(place / "release")
    made = marginals.publish(table(1000, where), POLICY, ledger=place / "ledger")
    shutil.copytree(place, begun)
    old = contents(begun / "release")
    found: Counter[str] = Counter()
    for moment in range(1, 1000):
        shutil.rmtree(place)
        shutil.copytree(begun, place)
        status = written(made, place / "release", moment, fault)
        ledger = Ledger.read(place / "ledger")
        entered = [contents(place / "ledger" / f"{entry.number:04d}" / "release") for entry in ledger.entries]
        now = contents(place / "release") if (place / "release").exists() else None
        assert status in ((4, -signal.SIGKILL) if fault == "killed" else (0, 3, 4)), (moment, status)
        assert now is None or now in entered, f"at moment {moment}: a bundle that the ledger does not know"
        assert entered[0] == old
        assert [entry.where for entry in ledger.entries] == [where or ""] * len(entered)
        assert ledger.entries[0].table.total == 400
        if status in (0, 4):
            assert len(entered) == 2, f"at moment {moment}: said to be written, and not entered"
            assert now == entered[1]
        found["two entries" if len(entered) == 2 else "one entry"] += 1
        found["new bundle" if now not in (None, old) else "no new bundle"] += 1
        if status == 4:
            break
    assert found["one entry"]
    assert found["two entries"]
    assert found["new bundle"] <= found["two entries"]
    # The next release is entered as if nothing had happened.
    marginals.publish(table(1000), POLICY, ledger=place / "ledger").write(place / "release")
    assert Ledger.read(place / "ledger").entries[-1].is_out
    print(f"\n{fault}: {moment} moments, {dict(found)}")
