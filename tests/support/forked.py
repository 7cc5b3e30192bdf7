"""Python programs run in processes of their own, forked from one Python that has imported what they need.

A fresh Python takes a second to import pandas and SciPy; a fork takes none. Each process of the tests starts one such
Python, when it first needs it, and it ends with the process.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any

from project import ROOT, environment

SERVER = """
import json, os, signal, socket, sys
from importlib import import_module

for name in ("marginals.commands.main", "marginals.publishing.publishing", "marginals.config.release_toml",
             "marginals.release.release", "marginals.release.verification", "pandas", "scipy.optimize", "jinja2"):
    import_module(name)
channel, seconds = socket.socket(fileno=int(sys.argv[1])), 0.0


def run(request, files):
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
    sys.stderr = open(2, "w", buffering=1, closefd=False)
    sys.argv = ["program", *request["arguments"]]
    signal.alarm(request["seconds"])
    status = 0
    try:
        exec(compile(request["program"], "program", "exec"), {"__name__": "__main__"})
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    try:
        sys.stdout.flush()
    finally:
        os._exit(status)


while True:
    message, files, *_ = socket.recv_fds(channel, 1 << 17, 3)
    if not message:
        break
    request = json.loads(message)
    if "wait" in request:
        _, answer, used = os.wait4(request["wait"], 0)
        seconds += used.ru_utime + used.ru_stime
    else:
        answer = os.fork()
        if not answer:
            channel.close()
            run(request, files)
    for file in files:
        os.close(file)
    channel.sendall(b"%d %f" % (answer, seconds))
"""
"""Starts processes and tells how they ended. One that has ended is kept until somebody asks how, so that a signal never
meets another one of its number."""

used = [0.0]
"""Seconds of a processor of all programs so far that have ended."""

SECONDS = 600
"""After which SIGALRM ends what hangs."""

COMMAND = "from marginals.commands.main import main; main()"


@cache
def _channel() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    found = os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "support")))
    variables = environment(OPENBLAS_NUM_THREADS="1", PYTHONPATH=found)
    command = [sys.executable, "-c", SERVER, str(theirs.fileno())]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env=variables)
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _ask(request: Mapping[str, object], files: list[int]) -> int:
    channel = _channel()
    socket.send_fds(channel, [json.dumps(request).encode()], files)
    answer = channel.recv(100)
    assert answer, "the Python that forks has ended"
    number, used[0] = int(answer.split()[0]), float(answer.split()[1])
    return number


class Forked:
    """A program that runs by itself. Give it files, pipes or terminals for its standard streams; else it has none."""

    def __init__(
        self,
        program: str,
        *arguments: object,
        streams: tuple[int | IO[Any] | None, ...] = (None, None, None),
        folder: Path | None = None,
    ) -> None:
        nothing = os.open(os.devnull, os.O_RDWR)
        files = [
            nothing if stream is None else stream if isinstance(stream, int) else stream.fileno() for stream in streams
        ]
        request = {
            "program": program,
            "arguments": [str(argument) for argument in arguments],
            "environment": dict(os.environ),
            "folder": str(folder or Path.cwd()),
            "seconds": SECONDS,
        }
        self.number = _ask(request, files)
        self.status: int | None = None
        os.close(nothing)

    def send_signal(self, number: int) -> None:
        os.kill(self.number, number)

    def wait(self) -> int:
        """The status with which it ended; negative where a signal ended it."""
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(_ask({"wait": self.number}, []))
        return self.status

    def kill(self) -> int:
        self.send_signal(signal.SIGKILL)
        return self.wait()


def run(
    program: str, *arguments: object, folder: Path | None = None, said: str = ""
) -> "subprocess.CompletedProcess[str]":
    """A program run to its end, with what it wrote. said: its standard input."""
    with (
        tempfile.TemporaryFile("w+") as standard,
        tempfile.TemporaryFile("w+") as errors,
        tempfile.TemporaryFile("w+") as typed,
    ):
        typed.write(said)
        typed.seek(0)
        status = Forked(program, *arguments, streams=(typed, standard, errors), folder=folder).wait()
        standard.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess([program, *map(str, arguments)], status, standard.read(), errors.read())
