"""Work in processes beside the window, which can be watched, ended with the best so far, and stopped."""

import json
import multiprocessing
import os
import runpy
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import IO, Any

from marginals.deadline import ENOUGH, PROGRESS_IN_LINES

_FORKS = sys.platform == "linux"
"""Whether processes are forked from one that has imported. Not on macOS, whose own libraries may fail in a fork."""

_CONTEXT: Any = multiprocessing.get_context("forkserver" if _FORKS else "spawn")

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
"""Modules that a fresh Python takes a second or more to import."""

SEARCH = "search"
"""The kind of job that looks for a release."""

_SEARCHING = "collections"
"""The task that ends when it is asked to, with the best that was found so far."""

_PATIENCE = 5.0
"""Seconds that a process has to end in order after it was asked to."""

_MOST_TEXT = 64_000_000


@dataclass
class Job:
    """A process at work, or done.

    shown: what does the same in a terminal, or in Python. progress: the task, how much of it is done and how much there is
    (0: unknown). status: of the exit; None while it runs. answer: the JSON object that it printed. sentence: why it failed.
    """

    number: int
    kind: str
    shown: str
    process: Any = field(default=None, repr=False)
    begun: float = field(default_factory=time.monotonic)
    progress: tuple[str, int, int] = ("starting", 0, 0)
    status: int | None = None
    seconds: float = 0.0
    answer: dict[str, Any] = field(default_factory=dict, repr=False)
    sentence: str = ""
    is_early: bool = False
    is_stopped: bool = False
    done: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def runs(self) -> bool:
        """Whether it is still at work."""
        return not self.done.is_set()

    @property
    def elapsed(self) -> float:
        """Seconds of its work, so far or in all."""
        return time.monotonic() - self.begun if self.runs else self.seconds

    @property
    def state(self) -> str:
        """Whether it runs, is done, failed or was stopped."""
        if self.status is None:
            return "runs"
        return "done" if self.status == 0 else "stopped" if self.is_stopped or self.status < 0 else "failed"

    @property
    def said(self) -> str:
        """The progress in words."""
        task, done, total = self.progress
        if not self.runs:
            return {"done": "done", "stopped": "stopped; nothing was written"}.get(self.state, self.sentence)
        return f"{task}: {done:,} of {total:,}" if total else f"{task}: {done:,}" if done else task

    @property
    def offers_best(self) -> bool:
        """Whether it is a search that can be asked for the best that it found so far, once it has begun to look."""
        return self.kind == SEARCH and ENOUGH is not None

    @property
    def can_keep(self) -> bool:
        """Whether it can be asked for that now."""
        return self.runs and self.offers_best and self.progress[0] == _SEARCHING

    def keep(self) -> None:
        """Ask a search for the best that it found so far, if it has begun to look."""
        if self.can_keep and ENOUGH is not None:
            self.is_early = True
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, ENOUGH)

    def stop(self) -> None:
        """Ask it to end, and make it end if it does not within some seconds."""
        if self.process is None or not self.runs:
            return
        self.is_stopped = True
        self._send(signal.SIGINT)

        def insist() -> None:
            if not self.done.wait(_PATIENCE):
                self._send(getattr(signal, "SIGKILL", signal.SIGTERM))

        threading.Thread(target=insist, daemon=True).start()

    def _send(self, number: int) -> None:
        """Send a signal to the processes of the job; to the first one alone if it has no group yet."""
        with suppress(ProcessLookupError, PermissionError):
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, AttributeError):
                os.kill(self.process.pid, number)


class JobList:
    """Jobs of a window, by number. folder: where they run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._jobs: dict[int, Job] = {}
        self._lock = threading.Lock()

    def command(self, kind: str, arguments: Sequence[str], then: Callable[[Job], None] | None = None) -> Job:
        """Start a command of this project with --json. then: is called with the job when it is done."""
        shown = shlex.join(["marginals", *arguments])
        return self.start(kind, shown, run_command, [*arguments, "--json"], then=then)

    def start(
        self,
        kind: str,
        shown: str,
        work: Callable[..., object],
        *arguments: object,
        then: Callable[[Job], None] | None = None,
    ) -> Job:
        """Start a function, which prints one JSON object, in a process of its own. work, arguments: can be pickled."""
        with self._lock, _apart():
            pipes = [_CONTEXT.Pipe(duplex=False) for _ in range(2)]
            streams = [writer for _, writer in pipes]
            process = _CONTEXT.Process(target=_work, args=(work, arguments, self.folder, streams))
            try:
                process.start()
            except (EOFError, OSError):  # the process that forks was just killed, and the next one is not there yet
                time.sleep(1)
                process.start()
            job = Job(len(self._jobs) + 1, kind, shown, process)
            self._jobs[job.number] = job
        for writer in streams:
            writer.close()
        read = [reader for reader, _ in pipes]
        threading.Thread(target=self._watch, args=(job, *read, then), daemon=True).start()
        return job

    def get(self, number: int) -> Job | None:
        """The job of this number, if there is one."""
        return self._jobs.get(number)

    def latest(self, kind: str) -> Job | None:
        """The job of a kind that was started last."""
        return next((job for job in reversed(list(self._jobs.values())) if job.kind == kind), None)

    def stop(self) -> None:
        """End all, and wait until they have ended."""
        running = [job for job in list(self._jobs.values()) if job.runs]
        for job in running:
            job.stop()
        for job in running:
            job.done.wait(_PATIENCE + 1)

    def _watch(self, job: Job, output: Any, errors: Any, then: Callable[[Job], None] | None) -> None:
        printed: list[bytes] = []

        def read() -> None:
            with _opened(output) as stream:
                printed.append(stream.read(_MOST_TEXT))

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        said = ""
        with _opened(errors) as stream:
            for line in stream:
                said = _heard(job, line.decode("utf-8", "replace").strip()) or said
        reader.join()
        connection.wait([job.process.sentinel])
        with self._lock:  # starting another process asks all of them for their status, too
            job.process.join()
            job.status = job.process.exitcode
        job.seconds = time.monotonic() - job.begun
        with suppress(ValueError):
            answer = json.loads(b"".join(printed))
            job.answer = answer if isinstance(answer, dict) else {}
        if job.status:
            reason = job.answer.get("error") or said.removeprefix("Error: ")
            job.sentence = str(reason or f"it ended with status {job.status}")
        try:
            if then is not None:
                then(job)
        finally:
            job.done.set()


def _heard(job: Job, line: str) -> str:
    try:
        told = json.loads(line)
        job.progress = (str(told["task"]), int(told["done"]), int(told["total"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return line
    return ""


def run_command(arguments: list[str]) -> None:
    """Run a command of this project."""
    sys.argv = ["marginals", *arguments]
    runpy.run_module("marginals", run_name="__main__")


def import_ahead() -> None:
    """Start the process that is forked, which imports before the first command comes and reads no file of a project."""
    if _FORKS:
        from multiprocessing import forkserver

        _CONTEXT.set_forkserver_preload(list(_IMPORTED))
        with _apart(), suppress(OSError):  # the first command says why
            forkserver.ensure_running()


_STARTING = threading.RLock()


@contextmanager
def _apart() -> Iterator[None]:
    """Have a process that begins take no module from the folder where it begins, and leave Ctrl-C to the window."""
    with _STARTING:
        before = os.environ.get("PYTHONSAFEPATH")
        os.environ["PYTHONSAFEPATH"] = "1"
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if _FORKS else set()
        try:
            yield
        finally:
            if _FORKS:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            if before is None:
                del os.environ["PYTHONSAFEPATH"]
            else:
                os.environ["PYTHONSAFEPATH"] = before


def _work(work: Callable[..., object], arguments: Sequence[object], folder: Path, streams: Sequence[Any]) -> None:
    if hasattr(os, "setsid"):
        os.setsid()
    for number, stream in enumerate(streams, start=1):
        os.dup2(_descriptor(stream, os.O_WRONLY), number)
        stream.close()
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - until the process ends
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.umask(0o077)
    name, value = PROGRESS_IN_LINES
    os.environ[name] = value
    if _FORKS:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    work(*arguments)


def _opened(stream: Any) -> IO[bytes]:
    descriptor = os.dup(_descriptor(stream, os.O_RDONLY))
    stream.close()
    return os.fdopen(descriptor, "rb")


def _descriptor(stream: Any, flags: int) -> int:
    """Return the file descriptor of an end of a pipe, of which Windows has a handle."""
    if sys.platform != "win32":
        return int(stream.fileno())
    import msvcrt

    return msvcrt.open_osfhandle(stream.fileno(), flags)
