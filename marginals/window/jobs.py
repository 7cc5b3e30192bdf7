"""Work in processes beside the window, which can be watched, ended with the best so far, and stopped."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marginals.deadline import ANSWERED, ENOUGH, PROGRESS_IN_LINES

WORKER = """
import json, runpy, sys
sys.path.append(sys.argv[1])
sys.argv = ["marginals", *json.loads(sys.stdin.readline())]
runpy.run_module("marginals", run_name="__main__")
"""
"""Program of a process, which reads the arguments of its command."""

_ROOT = Path(__file__).parents[2]
"""Where this program is, be it installed or not; the folder of a project is no place for modules."""

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
    asked: the questions of a search, in the order of their bits in `won`; None until something was found.
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
    asked: tuple[frozenset[str], ...] = ()
    won: int | None = None
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
    def answered(self) -> dict[frozenset[str], bool]:
        """Whether what a search found so far answers each question; empty until it found something."""
        return {} if self.won is None else {names: bool(self.won >> n & 1) for n, names in enumerate(self.asked)}

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
        self._lock = threading.RLock()

    def _process(self) -> "subprocess.Popen[bytes]":
        name, value = PROGRESS_IN_LINES
        return subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER, str(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env={**os.environ, name: value, "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,  # Ctrl-C is for the window, which stops its jobs
            umask=0o077,
        )

    def command(self, kind: str, arguments: Sequence[str], then: Callable[[Job], None] | None = None) -> Job:
        """Start a command of this project with --json. then: is called with the job when it is done."""
        with self._lock:
            job = Job(len(self._jobs) + 1, kind, shlex.join(["marginals", *arguments]), self._process())
            self._jobs[job.number] = job
        with suppress(OSError), job.process.stdin as stream:  # it may have ended
            stream.write(json.dumps([*arguments, "--json"]).encode())
        threading.Thread(target=self._watch, args=(job, then), daemon=True).start()
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

    def _watch(self, job: Job, then: Callable[[Job], None] | None) -> None:
        printed: list[bytes] = []

        def read() -> None:
            with job.process.stdout as stream:
                printed.append(stream.read(_MOST_TEXT))

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        said = ""
        with job.process.stderr as stream:
            for line in stream:
                said = _heard(job, line.decode("utf-8", "replace").strip()) or said
        reader.join()
        job.status = job.process.wait()
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
        task, done, total = str(told["task"]), int(told["done"]), int(told["total"])
        if task == ANSWERED:
            job.won = done
        else:
            job.progress = (task, done, total)
    except (ValueError, KeyError, TypeError, AttributeError):
        return line
    return ""
