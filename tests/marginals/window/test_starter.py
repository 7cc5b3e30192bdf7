"""A command of the window runs in a fork of a Python that has imported, and behaves as in a fresh Python."""

import json
import os
import signal
import stat
from pathlib import Path

import pytest

import window_clients
from window_clients import starter


@pytest.fixture(params=[True, False], ids=["forked", "fresh"], autouse=True)
def is_forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the commands of the test are forked; if not, each is a fresh Python."""
    if request.param and not starter.CAN_FORK:
        pytest.skip("no process is forked on this system")
    monkeypatch.setattr(starter, "CAN_FORK", request.param)
    return bool(request.param)


def started(folder: Path, program: str, *arguments: str, umask: int = -1) -> starter.Process:
    return starter.start_python(starter.PythonCall(program, arguments, folder, {**os.environ, "SAID": "ä"}, umask))


def ended(process: starter.Process) -> tuple[int, str, str]:
    """The status of a process, what it printed and what it said."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        printed, said = process.stdout.read(), process.stderr.read()
    return process.wait(), printed.decode(), said.decode()


def test_arguments_folder_variables_and_streams_are_those_of_the_call(tmp_path: Path) -> None:
    program = (
        "import json, os, sys\n"
        "print(json.dumps([sys.argv, os.getcwd(), os.environ['SAID'], sys.stdin.read(), __name__]))\n"
        "print('ö', file=sys.stderr)\n"
        "print(json.dumps([os.getpid(), os.getpgid(0), os.getsid(0)]))"
    )
    process = started(tmp_path, program, "a b", "c")
    status, printed, said = ended(process)
    call, numbers = map(json.loads, printed.splitlines())
    assert (status, said) == (0, "ö\n")
    assert call == [["-c", "a b", "c"], str(tmp_path), "ä", "", "__main__"]
    assert numbers == [process.pid] * 3


@pytest.mark.parametrize(
    ("program", "status", "last"),
    [
        ("pass", 0, ""),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('why')", 1, "why"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero"),
        ("1 +", 1, "SyntaxError: invalid syntax"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
        ("import atexit, sys; atexit.register(print, 'end', file=sys.stderr); sys.exit(2)", 2, "end"),
        ("import sys, threading\nthreading.Thread(target=lambda: print('later', file=sys.stderr)).start()", 0, "later"),
    ],
)
def test_a_program_ends_with_its_status_and_its_message(tmp_path: Path, program: str, status: int, last: str) -> None:
    found, printed, said = ended(started(tmp_path, program))
    assert (found, printed, "".join(said.splitlines()[-1:])) == (status, "", last)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


def test_a_signal_reaches_a_process_as_soon_as_there_is_one(tmp_path: Path) -> None:
    for number in SIGNALS:
        process = started(tmp_path, "import time; time.sleep(600)")
        os.killpg(process.pid, number)
        assert ended(process)[0] == -number
        process.send_signal(number)  # there is nobody any more


def test_a_signal_reaches_the_whole_group(tmp_path: Path) -> None:
    """The streams end when the last process of the group does."""
    waiting = "import os, time\nos.fork()\nos.write(1, b'.')\ntime.sleep(600)"
    for number in SIGNALS:
        process = started(tmp_path, waiting)
        assert process.stdout is not None
        assert (process.stdout.read(1), process.stdout.read(1)) == (b".", b".")
        os.killpg(process.pid, number)
        assert ended(process)[0] == -number


def test_files_have_the_mask_of_the_call(tmp_path: Path) -> None:
    for umask, mode in ((0o077, 0o600), (0o027, 0o640)):
        assert ended(started(tmp_path, f"open('{umask}', 'w').close()", umask=umask))[0] == 0
        assert stat.S_IMODE((tmp_path / str(umask)).stat().st_mode) == mode


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        started(tmp_path / "nowhere", "pass")
    assert ended(started(tmp_path, "print(1)")) == (0, "1\n", "")


def test_several_run_at_once_and_each_has_its_own_answer(tmp_path: Path) -> None:
    """The first waits for what the last one does."""
    waiting = "import pathlib, time\nwhile not pathlib.Path('last').exists(): time.sleep(.01)\nprint('first')"
    processes = [started(tmp_path, waiting), *(started(tmp_path, f"print({n})") for n in range(3))]
    assert [ended(process)[1] for process in processes[1:]] == ["0\n", "1\n", "2\n"]
    (tmp_path / "last").touch()
    assert ended(processes[0]) == (0, "first\n", "")


def test_a_starter_that_was_killed_is_replaced(tmp_path: Path, is_forked: bool) -> None:
    if not is_forked:
        pytest.skip("there is no starter")
    parent = "import os\nprint(os.getppid())"
    _, first, _ = ended(started(tmp_path, parent))
    lost = started(tmp_path, "import time; time.sleep(600)")
    os.kill(int(first), signal.SIGKILL)
    assert ended(started(tmp_path, "print(1)")) == (0, "1\n", "")
    assert int(ended(started(tmp_path, parent))[1]) not in (int(first), os.getpid())
    os.killpg(lost.pid, signal.SIGKILL)
    assert ended(lost)[0] == -signal.SIGKILL


def test_the_starter_ends_with_the_process_that_started_it(tmp_path: Path, is_forked: bool) -> None:
    if not is_forked:
        pytest.skip("there is no starter")
    program = (
        "import os, signal, sys\n"
        "sys.path.append(sys.argv[1])\n"
        "from pathlib import Path\n"
        "from window_clients import starter\n"
        "call = starter.PythonCall('import os; print(os.getppid())', (), Path.cwd(), dict(os.environ))\n"
        "print(starter.start_python(call).stdout.read().decode(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    status, printed, _ = ended(started(tmp_path, program, str(Path(window_clients.__file__).parent)))
    assert status == -signal.SIGKILL
    parent = Path("/proc") / printed.strip() / "cmdline"
    while parent.exists() and b"serve" in parent.read_bytes():
        os.sched_yield()
