"""A Python that has already imported what commands need, and forks a process for each of them.

A fresh Python takes a second or more to import pandas and SciPy, and a fork takes none. So the window starts one Python
that only imports and waits. It reads no file of a project, so it holds nothing of a table, and it has one thread, so it can
be forked. It ends with the process of the window, however that ends. Where there is no safe fork, `start_python` starts a
fresh Python for each command.
"""

import atexit
import contextlib
import errno
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

_IMPORTED = (
    "marginals.commands.main",
    "marginals.publishing.publishing",
    "marginals.config.release_toml",
    "marginals.release.release",
    "marginals.release.verification",
    "checks.maxent.maxent_diversity",
    "models.inference.iterative_fitting",
    "pandas",
    "scipy.optimize",
    "networkx",
    "jinja2",
)

CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds") and sys.platform != "darwin"
"""Whether processes are forked here. Not on macOS, whose own libraries may fail in a fork."""

_SERVER = """
import sys
from marginals.window.starter import Ending, serve
with Ending():
    exec(serve(int(sys.argv[1])))
"""
"""The text of the program comes back in the fork alone, which so runs and reports its errors as a fresh Python would."""

_FILES = 2
"""Standard output and standard error."""


@dataclass(frozen=True)
class PythonCall:
    """A Python program, its arguments, the folder where it runs, its variables and the mask of its files (-1: as here)."""

    program: str
    arguments: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    umask: int = -1


class Process(Protocol):
    """A process at work with two streams to read, as `subprocess.Popen` and `ForkedProcess` are."""

    @property
    def pid(self) -> int:
        """Its number, which is that of its group, too."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """What it prints."""

    @property
    def stderr(self) -> IO[bytes] | None:
        """What it says beside that."""

    def wait(self) -> int:
        """The status of its exit; negative where a signal ended it."""

    def send_signal(self, number: int, /) -> None:
        """Send it a signal."""


def start_python(call: PythonCall) -> Process:
    """Start a Python program as the leader of a new group of processes, with pipes for what it prints and says."""
    if CAN_FORK:
        try:
            return _Starter.shared().start(call)
        except ConnectionError:  # the Python that forks has ended
            _Starter.forget()
    command = [sys.executable, "-P", "-c", call.program, *call.arguments]
    return start_program(command, call.folder, call.environment, call.umask)


def start_program(
    command: "list[str]", folder: Path, environment: Mapping[str, str], umask: int = -1
) -> "subprocess.Popen[bytes]":
    """Start a program as the leader of a new group of processes, with pipes for what it prints and says."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        umask=umask,
    )


def import_ahead() -> None:
    """Start the Python that forks, if it is not there yet, so that it has imported when the first command comes."""
    if CAN_FORK:
        with contextlib.suppress(OSError):  # the first command says why
            _Starter.shared()


class ForkedProcess:
    """A process that the starter has forked. It is kept until somebody waits for it, so no other one gets its number."""

    def __init__(self, pid: int, stdout: IO[bytes], stderr: IO[bytes], starter: "_Starter") -> None:
        self.pid = pid
        self.stdout: IO[bytes] | None = stdout
        self.stderr: IO[bytes] | None = stderr
        self._starter = starter
        self._status: int | None = None
        self._lock = threading.Lock()

    def wait(self) -> int:
        """The status of its exit; negative where a signal ended it. Wait for the end of its streams first."""
        with self._lock:
            if self._status is None:
                self._status = self._starter.status(self.pid)
            return self._status

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless somebody has waited for its end."""
        with self._lock:
            if self._status is None:
                os.kill(self.pid, number)


class _Starter:
    """The connection to the Python that forks. Methods raise ConnectionError if it has ended."""

    _shared: "_Starter | None" = None
    _sharing = threading.Lock()

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _SERVER, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=os.environ | {"PYTHONUTF8": "1"},
                start_new_session=True,  # Ctrl-C in the terminal is for the window, which then ends what is at work
            )
        atexit.register(self.close)

    @classmethod
    def shared(cls) -> "_Starter":
        """The one of this process, which is started if it is not there yet."""
        with cls._sharing:
            if cls._shared is None:
                cls._shared = cls()
            return cls._shared

    @classmethod
    def forget(cls) -> None:
        """Have the next command start another one."""
        with cls._sharing:
            if cls._shared is not None:
                cls._shared.close()
            cls._shared = None

    def start(self, call: PythonCall) -> ForkedProcess:
        """Fork a process for a program."""
        request = {
            "program": call.program,
            "arguments": call.arguments,
            "folder": str(call.folder),
            "environment": dict(call.environment),
            "umask": call.umask,
        }
        read_output, write_output = os.pipe()
        read_errors, write_errors = os.pipe()
        stdout, stderr = os.fdopen(read_output, "rb"), os.fdopen(read_errors, "rb")
        try:
            pid = self._answer(request, [write_output, write_errors])
        except OSError:
            stdout.close()
            stderr.close()
            raise
        finally:
            os.close(write_output)
            os.close(write_errors)
        return ForkedProcess(pid, stdout, stderr, self)

    def status(self, pid: int) -> int:
        """The status of the exit of a process, for which this waits; that of SIGKILL if nobody knows it any more."""
        try:
            return os.waitstatus_to_exitcode(self._answer({"wait": pid}, []))
        except OSError:
            return -signal.SIGKILL

    def close(self) -> None:
        """End the Python that forks, unless this process is itself a fork of the one that started it."""
        atexit.unregister(self.close)
        self._channel.close()
        if os.getpid() == self._owner:
            self._process.kill()  # it has nothing to finish
            self._process.wait()

    def _answer(self, request: "dict[str, object]", files: "list[int]") -> int:
        with self._lock:
            text = json.dumps(request).encode()
            socket.send_fds(self._channel, [len(text).to_bytes(4, "big")], files)
            self._channel.sendall(text)
            answer = int.from_bytes(_received(self._channel, 4), "big", signed=True)
        if answer < 0:
            raise OSError(-answer, os.strerror(-answer))
        return answer


def _received(channel: socket.socket, size: int) -> bytes:
    """So many bytes. Raises ConnectionError if the other side has ended."""
    text = b""
    while len(text) < size:
        part = channel.recv(size - len(text))
        if not part:
            raise ConnectionError("the other side has ended")
        text += part
    return text


class Ending:
    """Ends this process with the status of what runs within, and does not take apart the modules that were imported.

    A fresh Python does that last, which takes a fifth of a second here. All else that it does happens before: a message is
    printed, threads are waited for, and what was registered with `atexit` runs.
    """

    def __init__(self) -> None:
        self._status = 0
        atexit.register(self._end)  # registered first, so it runs last

    def __enter__(self) -> None:
        """Nothing has happened yet."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Remember the status that a fresh Python would end with, and let the error pass."""
        if isinstance(error, SystemExit):
            self._status = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            self._status = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1

    def _end(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                self._status = self._status or 120
        if self._status == -signal.SIGINT:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        os._exit(self._status & 0xFF)


def serve(number: int) -> str:
    """Import, then fork a process for each request on this socket; the program to run, which comes back in forks alone."""
    for name in _IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()  # what is imported stays shared with all forks
    channel = socket.socket(fileno=number)
    at_work: set[int] = set()
    while True:
        size, files, *_ = socket.recv_fds(channel, 4, _FILES)
        if not size:  # the window has ended, perhaps without ending its commands
            for pid in at_work:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGTERM)
            sys.exit()
        request = json.loads(_received(channel, int.from_bytes(size + _received(channel, 4 - len(size)), "big")))
        try:
            if "wait" in request:
                status = os.waitpid(request["wait"], 0)[1]
                at_work.discard(request["wait"])
                _say(channel, status)
            else:
                os.chdir(request["folder"])
                if not (pid := _fork()):
                    return _prepared(request, files, channel)
                at_work.add(pid)
        except OSError as error:
            _say(channel, -(error.errno or errno.EIO))
        finally:
            for file in files:
                os.close(file)


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork", category=DeprecationWarning)
        return os.fork()


def _prepared(request: "dict[str, Any]", files: "list[int]", channel: socket.socket) -> str:
    """The program of a request, in a fork that is prepared for it. The number is said last, so that no signal is lost."""
    os.setsid()
    for number, file in enumerate(files, start=1):
        os.dup2(file, number)
    if request["umask"] >= 0:
        os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["-c", *request["arguments"]]
    with channel:
        _say(channel, os.getpid())
    return str(request["program"])


def _say(channel: socket.socket, number: int) -> None:
    channel.sendall(number.to_bytes(4, "big", signed=True))
