"""Whatever happens to `publish`: afterwards the old bundle stands there, the new one, or none, and never half of one.

MARGINALS_TRIALS sets how often it is killed (30 by default).
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest

import marginals
from marginals.files.atomic_file import replace_file
from marginals.files.atomic_folder import replace_folder
from small_release import COMMAND, contents, interruptible, marginals_command, write_config

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "30"))
SEED = 20260101

FORKING = """
import os, sys
from marginals.commands.main import main
for line in sys.stdin:
    child = os.fork()
    if not child:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        main(line.rstrip("\\n").split("\\t"))
    print(child, flush=True)
    sys.stdin.readline()
    print(os.waitpid(child, 0)[1], flush=True)
"""
"""Runs the command line again and again, each time in a process of its own, without importing everything anew.

A process that has ended is kept until somebody asks how, so that a kill never meets another one of its number.
"""


class Publisher:
    """`marginals publish`, started as often as wanted; what is killed is the process that runs the command."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def start(self, *arguments: object) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join(map(str, arguments)) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def wait(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def publisher() -> Iterator[Publisher]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", FORKING], stdin=pipe, stdout=pipe, text=True, env=environment) as run:
        yield Publisher(run)
        assert run.stdin is not None
        run.stdin.close()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def being_written(folder: Path) -> bool:
    return any(".writing-" in name for name in names(folder))


def wait_for_files(folder: Path, number: int, seconds: float) -> None:
    """Until so many files of the next bundle are there, or it has taken its place."""
    left, latest = set(names(folder)), time.monotonic() + seconds
    seen = False
    while time.monotonic() < latest:
        fresh = [folder / name for name in names(folder) if name not in left and ".writing-" in name]
        if (seen and not fresh) or (fresh and sum(len(files) for *_, files in os.walk(fresh[0])) >= number):
            return
        seen = bool(fresh)


@pytest.fixture
def configs(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / name for name in ("one", "two")]
    for seed, folder in enumerate(folders):
        folder.mkdir()
        write_config(folder, seed)
    return [folder / "release.toml" for folder in folders]


@pytest.mark.slow
def test_a_killed_publish_leaves_the_old_bundle_the_new_one_or_none(configs: list[Path], tmp_path: Path) -> None:
    """SIGKILL at random moments, three in four of them while files are written; the bundles alternate."""
    rng = random.Random(SEED)
    place = tmp_path / "place"
    place.mkdir()
    target = place / "release"
    found: Counter[str] = Counter()
    with publisher() as publish:
        whole, whole_times, writing_times = [], [], []
        for config in (*configs, *configs):
            start = time.monotonic()
            publish.start("publish", config, "--out", target)
            while not being_written(place):
                time.sleep(0.0002)
            begun = time.monotonic()
            assert publish.wait() == 0
            writing_times.append(time.monotonic() - begun)
            whole_times.append(time.monotonic() - start)
            whole.append(contents(target))
        assert whole[0] != whole[1]
        assert whole[:2] == whole[2:]
        for trial in range(TRIALS):
            child = publish.start("publish", configs[trial % 2], "--out", target)
            if trial % 4:
                wait_for_files(place, rng.randint(0, len(whole[0])), 2 * max(whole_times))
                time.sleep(rng.uniform(0, 0.003))
            else:
                time.sleep(rng.uniform(0, median(whole_times)))
            os.kill(child, signal.SIGKILL)
            found["killed" if publish.wait() == signal.SIGKILL else "done before"] += 1
            if target.exists():
                now = contents(target)
                assert now in whole[:2], "half a bundle"
                found["new bundle" if now == whole[trial % 2] else "old bundle"] += 1
            else:
                found["no bundle"] += 1
            found["left something beside"] += being_written(place)
    found["verified"] = marginals.verify(target).ok if target.exists() else 0
    assert marginals_command("publish", configs[0], "--out", target).returncode == 0
    assert contents(target) == whole[0]
    assert names(place) == ["release"], "the next writing leaves nothing beside"
    print(f"\n{TRIALS} kills, seed {SEED}, writing takes {median(writing_times):.3f} s: {dict(found)}")


FULL = """
import subprocess, sys
from pathlib import Path
from click.testing import CliRunner
from marginals.commands.main import main
config, place = sys.argv[1], Path(sys.argv[2])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)], check=True)
target = place / "release"
files = lambda: {str(p): p.read_bytes() for p in place.rglob("*") if p.is_file()}
runs = refused = 0
for old in (False, True):
    if old:
        assert CliRunner().invoke(main, ["publish", config, "--out", str(target)]).exit_code == 0
    for free in range(0, 128, 4):
        filler = place / "filler"
        with filler.open("wb", buffering=0) as stream:
            try:
                while stream.write(bytes(4096)) == 4096:
                    pass
            except OSError:
                pass
        with filler.open("r+b") as stream:
            stream.truncate(max(filler.stat().st_size // 4096 * 4096 - free * 1024, 0))
        before = files()
        result = CliRunner().invoke(main, ["publish", config, "--out", str(target)])
        runs += 1
        if result.exit_code:
            refused += 1
            assert result.exit_code == 2, result.output
            assert "cannot be written: No space left on device" in result.stderr, result.stderr
            assert isinstance(result.exception, SystemExit), result.exception
            assert files() == before
            assert {p.name for p in place.iterdir()} == {"filler"} | ({"release"} if old else set())
        elif not old:
            subprocess.run(["rm", "-r", str(target)], check=True)
        filler.unlink()
assert refused, "the disk was never full"
print(f"{runs} runs on a full disk, {refused} refused, nothing lost")
"""


@pytest.mark.slow
def test_a_full_disk_leaves_what_there_was(configs: list[Path], tmp_path: Path) -> None:
    """A file system of 512 kB in memory, filled up to so many bytes, in a name space of its own."""
    inside = ["unshare", "--user", "--map-root-user", "--mount"]
    try:
        allowed = subprocess.run([*inside, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("mounting a file system in memory is not permitted here")
    (tmp_path / "disk").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    command = [*inside, sys.executable, "-c", FULL, str(configs[0]), str(tmp_path / "disk")]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    print("\n" + run.stdout.strip())


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


@pytest.mark.slow
@pytest.mark.parametrize("target", ["/proc/release", "/dev/null/release", "/dev/null"])
def test_an_unwritable_target_is_one_sentence(configs: list[Path], target: str) -> None:
    run = marginals_command("publish", configs[0], "--out", target)
    assert run.returncode == 2, run.stderr
    assert run.stderr.splitlines()[-1].startswith(f"Error: {target} ")
    assert "Traceback" not in run.stderr


@pytest.mark.slow
def test_a_folder_without_write_permission_is_one_sentence(configs: list[Path], tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    shelf.chmod(0o500)
    try:
        (shelf / "probe").mkdir()
    except PermissionError:
        run = marginals_command("publish", configs[0], "--out", shelf / "release")
        assert run.returncode == 2
        assert "cannot be written: Permission denied" in run.stderr
    else:
        pytest.skip("this user may write everywhere")


@pytest.mark.slow
def test_an_output_that_cannot_be_written_is_one_sentence(configs: list[Path], tmp_path: Path) -> None:
    assert marginals_command("publish", configs[0], "--out", tmp_path / "release").returncode == 0
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    for arguments in (["verify", tmp_path / "release"], ["sample", tmp_path / "release", "-n", "9999"]):
        with Path("/dev/full").open("w") as full:
            command = [*COMMAND, *map(str, arguments)]
            run = subprocess.run(command, stdout=full, stderr=-1, text=True, env=environment, check=False)
        assert run.returncode == 2
        assert run.stderr == "Error: the output cannot be read or written: No space left on device\n"


@pytest.mark.slow
def test_ctrl_c_is_one_sentence_and_leaves_the_old_bundle(configs: list[Path], tmp_path: Path) -> None:
    """SIGINT once the table is read, at five moments of search and writing."""
    place = tmp_path / "place"
    assert marginals_command("publish", configs[0], "--out", place / "release").returncode == 0
    old = contents(place / "release")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    interrupted = 0
    for moment in range(5):
        command = [*COMMAND, "publish", str(configs[1]), "--out", str(place / "release")]
        with subprocess.Popen(
            command, stdout=-1, stderr=-1, text=True, env=environment, preexec_fn=interruptible
        ) as process:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("Read 600 rows")
            time.sleep(0.004 * moment)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate()
        assert names(place) == ["release"]
        if process.returncode:
            interrupted += 1
            assert process.returncode == 130
            assert said.strip() == "Error: interrupted; nothing is half written"
            assert contents(place / "release") == old
        else:
            replaced = contents(place / "release")
            assert replaced != old
            old = replaced
    assert interrupted
    print(f"\n{interrupted} of 5 interrupted")
