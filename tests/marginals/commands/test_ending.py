"""The program ends with one sentence and a status that says nothing wrong about privacy, whatever happens.

Seconds become a deadline, work that does not end is stopped, and several processes give what one gives.
"""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import forked
import marginals
from command_line import run
from marginals import InputError
from marginals.deadline import stopped_after
from marginals.errors import WorkerLostError
from marginals.jobs import in_processes
from models import Deadline, TimeOverError
from small_release import write_config

ROOT = Path(__file__).parents[3]
SECRET = "CANARY"


@pytest.fixture
def release(small_release: marginals.Release, tmp_path: Path) -> Path:
    small_release.write(tmp_path / "release")
    return tmp_path / "release"


def shell(line: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[bytes]":
    """A line of a shell in which `$M` is the command."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "M": f"{sys.executable} -m marginals"} | variables
    return subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, check=False)


ERRORS = [KeyError(SECRET), ValueError(SECRET), RecursionError(SECRET), EOFError(SECRET), AssertionError(SECRET),
          UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET), BufferError(SECRET), TypeError(SECRET)]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_unforeseen_error_is_a_sentence_with_status_70_and_without_a_value_unless_the_traceback_is_asked_for(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(marginals, "verify", fail)
    for arguments in (["verify", "release"], ["verify", "release", "--json"]):
        answer = run(*arguments, status=INTERNAL)
        assert answer.stderr.startswith(f"Error: internal error ({type(error).__name__} in marginals/commands/")
        assert answer.stderr.count("\n") == 1
        assert SECRET not in answer.output
        if "--json" in arguments:
            assert json.loads(answer.stdout) == {"error": answer.stderr.strip().removeprefix("Error: ")}
    for arguments in (["--traceback", "verify", "release"], ["verify", "release", "--traceback"]):
        answer = run(*arguments, status=INTERNAL)
        assert answer.stderr.startswith("Traceback")
        assert SECRET in answer.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["ledger", "books", "a\rb"], ["verify", "release", "--no\nsuch"], ["a\tb"]])
def test_a_usage_error_that_quotes_an_argument_is_one_line(arguments: list[str]) -> None:
    ended = run(*arguments, status=2)
    assert ended.output.splitlines()[-1].startswith("Error: ")


def test_an_argument_after_two_dashes_is_no_option() -> None:
    answer = run("verify", "--", "--traceback")
    assert (answer.exit_code, "--traceback" in answer.stderr) == (2, True)


INTERNAL, UNWRITTEN, INTERRUPTED = 70, 74, 130
"""Exit statuses that the page of the command line promises."""

LOST = "the output cannot be written: "


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("$M verify release > /dev/full", UNWRITTEN, LOST),
        ("$M verify release --json > /dev/full", UNWRITTEN, LOST),
        ("$M verify release >&-", UNWRITTEN, LOST),
        ("$M --help > /dev/full", UNWRITTEN, LOST),
        ("$M --version >&-", UNWRITTEN, LOST),
        ("$M verify --help >&- 2>&-", UNWRITTEN, ""),
        ("$M sample release -n 99999 > /dev/full", UNWRITTEN, LOST),
        ("$M verify release > /dev/full 2>&1", UNWRITTEN, ""),
        ("$M verify release > /dev/null 2> /dev/full", 0, ""),
        ("$M verify release > /dev/null 2>&-", 0, ""),
        ("$M verify release > /dev/null <&-", 0, ""),
        ("$M verify nothing 2>&-", 2, ""),
        ("$M verify nothing > /dev/full", 2, "nothing"),
        ("$M nonsense >&- 2>&-", 2, ""),
        ("$M sample release -n 5 -o rows.csv >&- 2>&- <&-; s=$?; grep -q , rows.csv && exit $s", UNWRITTEN, ""),
        ("set -o pipefail; $M sample release -n 99999 | head -c 1 > /dev/null", UNWRITTEN, ""),
        ("PYTHONIOENCODING=latin-1 $M query release sex=Ženský", 2, "'sex' has no published value"),
        ("PYTHONIOENCODING=ascii $M query release sex=Ženský --json", 2, "'sex' has no published value"),
        ("PYTHONIOENCODING=utf-16 $M verify release", 0, ""),
        ("LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0 $M query release $'sex=\\xff\\xfe'", 2, "is no text"),
    ],
)
def test_streams_that_are_closed_full_or_not_utf_8(release: Path, line: str, status: int, said: str) -> None:
    ran = shell(line, release.parent)
    assert ran.returncode == status, ran
    assert said.encode() in ran.stderr, ran
    assert b"Traceback" not in ran.stderr, ran
    assert b"Exception" not in ran.stderr, ran


def test_json_is_json_in_every_encoding(release: Path) -> None:
    for encoding in ("ascii", "latin-1", "cp1252", "utf-8"):
        ran = shell(f"PYTHONIOENCODING={encoding} $M query release sex=Ženský🧪 --json", release.parent)
        assert "Ženský" in json.loads(ran.stdout.decode("utf-8"))["error"], ran


def test_rows_that_an_encoding_lacks_are_not_printed_in_others(tmp_path: Path) -> None:
    config, people = write_config(tmp_path), tmp_path / "people.csv"
    people.write_text(people.read_text().replace("Ulm", "Źywiec"))
    assert forked.run(forked.COMMAND, "publish", config, "--out", tmp_path / "release").returncode == 0
    ran = shell("PYTHONIOENCODING=latin-1 $M sample release -n 500", tmp_path)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"--out FILE" in ran.stderr


def test_ctrl_c_at_any_time_is_one_sentence(release: Path) -> None:
    """SIGINT from the first moment in which the program itself runs, through its imports, to its end."""
    program = (
        "import sys; sys.orig_argv[:] = ['marginals']; sys.argv[:] = ['marginals', 'verify', sys.argv[1]]\n"
        "import os, signal, marginals\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell lets background jobs ignore\n"
        "os.write(2, b'.')\nfrom marginals.commands.main import main\nmain()"
    )
    statuses = set()
    for moment in range(24):
        command = [sys.executable, "-c", program, str(release)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        assert process.stderr.read(1) == b"."
        time.sleep(0.02 * moment)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
        process.stderr.close()
        statuses.add(process.wait())
        assert said in ("", "Error: interrupted; nothing is half written\n"), said
    # Python ends with SIGINT's own status where it is told after all is done.
    assert INTERRUPTED in statuses
    assert statuses <= {0, INTERRUPTED, -signal.SIGINT}


LOST = """
import os, signal, sys
from marginals.commands.main import main
from marginals.config.release_toml import Config

read_table = Config.read_table


def lost(config):
    table = read_table(config)
    try:
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    except KeyboardInterrupt:
        print("lost", flush=True)
    return table


Config.read_table = lost
main(sys.argv[2:], prog_name="marginals")
"""


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_is_lost_on_the_way_ends_the_command_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, lines: bool
) -> None:
    """As it is in NumPy's modules in C while they are imported: three of 800 searches went on and published."""
    if lines:
        monkeypatch.setenv("MARGINALS_PROGRESS", "lines")
    config = write_config(tmp_path)
    ran = forked.run(LOST, name, "publish", config, "--out", tmp_path / "release")
    assert "lost" in ran.stdout
    assert ran.returncode == 128 + getattr(signal, name)
    assert ran.stderr.endswith("Error: interrupted; nothing is half written\n")
    assert not (tmp_path / "release").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "release.toml"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("models", "", "marginals needs its own package 'models', but Python found "),
        ("click", "import nowhere", ""),
        ("pandas", "x = 1/0", ""),
        ("numpy", "import a b", ""),
    ],
)
def test_a_package_of_the_same_name_or_an_import_that_fails_is_one_sentence(
    tmp_path: Path, release: Path, name: str, content: str, said: str
) -> None:
    (tmp_path / "site" / name).mkdir(parents=True)
    (tmp_path / "site" / name / "__init__.py").write_text(content)
    ran = shell("$M sample release -n 3", release.parent, PYTHONPATH=f"{tmp_path / 'site'}:{ROOT}")
    assert ran.returncode == INTERNAL, ran
    assert ran.stderr.count(b"\n") == 1, ran
    assert ran.stderr.decode().startswith(f"Error: {said}")


def test_the_library_leaves_exceptions_to_whoever_imports_it() -> None:
    code = "import sys; before = sys.excepthook; import marginals; print(before is sys.excepthook)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"


@pytest.mark.parametrize("lines", ["lines", ""])
def test_progress_is_told_in_lines_of_json_if_asked_for_and_not_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str
) -> None:
    monkeypatch.setenv("MARGINALS_PROGRESS", lines)
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    ran = run("publish", write_config(tmp_path), "--out", tmp_path / "release", status=0)
    told = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith("{")]
    tasks = [line["task"] for line in told if line.keys() == {"task", "done", "total"}]
    assert bool(tasks) is bool(told) is bool(lines)
    assert all(task != after for task, after in pairwise(tasks))


def test_a_deadline_is_shared() -> None:
    now = [0.0]
    whole = Deadline(12.0, lambda: now[0])
    assert whole.share(3).left == 4
    now[0] = 1.0
    assert whole.share(2).at == 1 + 5.5
    assert whole.earlier(2).at == 3
    assert whole.earlier(20).at == 12
    assert whole.later(2).at == 14
    assert Deadline.after(2, whole.clock).at == 3
    assert not whole()
    now[0] = 12.0
    assert whole.left == 0
    assert whole.share(2).is_over
    assert whole()
    with pytest.raises(TimeOverError):
        whole.check()


def test_an_engine_that_makes_an_error_of_its_own_of_the_end_is_understood() -> None:
    def engine() -> None:
        try:
            while True:
                sum(range(100))
        except TimeOverError:
            raise RuntimeError("Query interrupted") from None

    with pytest.raises(TimeOverError, match="it took too long"):
        stopped_after(0.05, "it took too long", engine)

    def broken() -> None:
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        stopped_after(60, "it took too long", broken)


def test_work_is_stopped_again_where_it_goes_on() -> None:
    """Whoever catches the first error does not keep the command from ending."""
    before = signal.getsignal(signal.SIGALRM)
    caught = 0

    def stubborn() -> None:
        nonlocal caught
        while True:
            try:
                while True:
                    sum(range(100))
            except TimeOverError:
                caught += 1
                if caught == 2:
                    raise

    with pytest.raises(TimeOverError, match="over"):
        stopped_after(0.05, "over", stubborn)
    assert caught == 2
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_nothing_is_stopped_in_another_thread_or_without_seconds() -> None:
    ended = []

    def work() -> None:
        ended.append(signal.getitimer(signal.ITIMER_REAL))

    thread = threading.Thread(target=stopped_after, args=(0.001, "over", work))
    thread.start()
    thread.join()
    for seconds in (None, 3e10, float("inf")):
        stopped_after(seconds, "over", work)
    assert ended == [(0.0, 0.0)] * 4


forks = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no forks on this system")


def squared(number: int) -> int:
    return number * number


def refused(number: int) -> int:
    if number == 2:
        raise InputError("two is refused")
    if number > 2:  # others are at work until they are ended
        signal.pause()
    return number


def killed(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("count", [1, 2, 3])
def test_answers_come_in_the_order_of_the_parts(count: int) -> None:
    assert in_processes(count, squared, range(7)) == [0, 1, 4, 9, 16, 25, 36]
    assert in_processes(count, squared, []) == []


@pytest.fixture
def none_is_left() -> Iterator[None]:
    """Of the processes that a test starts; another test may have left some that wait for work."""
    before = set(multiprocessing.active_children())
    yield
    assert set(multiprocessing.active_children()) <= before


@forks
@pytest.mark.usefixtures("none_is_left")
def test_an_error_or_a_kill_in_one_process_is_told_at_once_and_no_process_is_left() -> None:
    with pytest.raises(InputError, match="two is refused"):
        in_processes(2, refused, range(9))
    with pytest.raises(WorkerLostError, match="killed, most likely for want of memory; use jobs = 1"):
        in_processes(2, killed, range(4))
