"""Commands that run in processes of their own, so that pages stay quick, and each can be watched and stopped.

What takes no time is done at once, and is told of in the same way.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marginals.timing import PROGRESS_IN_LINES
from models.errors import MarginalsError

_COMMAND = "from marginals.commands.main import main; main(prog_name='marginals')"
"""What runs a command of this project, without looking for modules in the folder where it runs."""

_RUN = (sys.executable, "-P", "-c", _COMMAND)

_PATIENCE = 5.0
"""Seconds that a process has to end in order after it was asked to."""

_MOST_TEXT = 64_000_000

INTERRUPTED = 130
"""Exit status of a command that was stopped."""


@dataclass
class Job:
    """A process at work, or done.

    shown: what does the same in a terminal, or in Python. progress: the task, how much of it is done and how much there is
    (0: unknown). status: of the exit; None while it runs. answer: the JSON object that it printed; printed: the text,
    where it printed none. sentence: why it failed. process: None of what was done at once.
    """

    number: int
    kind: str
    shown: str
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)
    begun: float = field(default_factory=time.monotonic)
    progress: tuple[str, int, int] = ("starting", 0, 0)
    status: int | None = None
    seconds: float = 0.0
    answer: dict[str, Any] = field(default_factory=dict, repr=False)
    printed: str = field(default="", repr=False)
    sentence: str = ""
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
        return "done" if self.status == 0 else "stopped" if self.status in (INTERRUPTED, -2, -9, -15, 143) else "failed"

    @property
    def said(self) -> str:
        """What it is at, for people."""
        task, done, total = self.progress
        if not self.runs:
            return {"done": "done", "stopped": "stopped; nothing was written"}.get(self.state, self.sentence)
        return f"{task}: {done:,} of {total:,}" if total else f"{task}: {done:,}" if done else task

    def stop(self) -> None:
        """Ask it to end, and make it end where it does not within some seconds."""
        process = self.process
        if process is None or not self.runs:
            return
        _send(process, signal.SIGINT)

        def insist() -> None:
            if not self.done.wait(_PATIENCE):
                _send(process, signal.SIGKILL)

        threading.Thread(target=insist, daemon=True).start()


class Jobs:
    """All jobs of a window. folder: where they run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._jobs: dict[int, Job] = {}
        self._lock = threading.Lock()

    def command(self, kind: str, arguments: Sequence[str], then: Callable[[Job], None] | None = None) -> Job:
        """Start a command of this project with --json. then: is called with the job when it is done."""
        return self._start(kind, _shown(arguments), [*_RUN, *arguments, "--json"], then)

    def command_in_words(self, kind: str, arguments: Sequence[str]) -> Job:
        """Start a command of this project whose answer is wanted as it prints it for people."""
        return self._start(kind, _shown(arguments), [*_RUN, *arguments], None)

    def python(self, kind: str, program: str, shown: str) -> Job:
        """Start a Python program that prints one JSON object. shown: its part that is worth showing."""
        return self._start(kind, shown, [sys.executable, "-P", "-c", program], None)

    def program(self, kind: str, arguments: Sequence[str]) -> Job:
        """Start another program."""
        return self._start(kind, shlex.join(arguments), list(arguments), None)

    def _start(self, kind: str, shown: str, command: list[str], then: Callable[[Job], None] | None) -> Job:
        name, value = PROGRESS_IN_LINES
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=os.environ | {name: value, "PYTHONUTF8": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        job = self._kept(kind, shown, process)
        threading.Thread(target=_watch, args=(job, process, then), daemon=True).start()
        return job

    def at_once(self, kind: str, arguments: Sequence[str], work: Callable[[], dict[str, Any]]) -> Job:
        """Do what a command of this project would do, without it. work: its answer; raises MarginalsError where it fails."""
        job = self._kept(kind, _shown(arguments), None)
        try:
            job.answer, job.status = work(), 0
        except MarginalsError as error:
            job.sentence, job.status = str(error), 1
        job.seconds = time.monotonic() - job.begun
        job.done.set()
        return job

    def _kept(self, kind: str, shown: str, process: "subprocess.Popen[bytes] | None") -> Job:
        with self._lock:
            job = Job(len(self._jobs) + 1, kind, shown, process)
            self._jobs[job.number] = job
        return job

    def get(self, number: int) -> Job | None:
        """The job of this number, if there is one."""
        return self._jobs.get(number)

    def latest(self, kind: str) -> Job | None:
        """The job of a kind that was started last."""
        return next((job for job in reversed(list(self._jobs.values())) if job.kind == kind), None)

    def running(self) -> list[Job]:
        """All that are still at work."""
        return [job for job in list(self._jobs.values()) if job.runs]

    def stop(self) -> None:
        """End all, and wait until they have ended."""
        running = self.running()
        for job in running:
            job.stop()
        for job in running:
            job.done.wait(_PATIENCE + 1)


def _shown(arguments: Sequence[str]) -> str:
    """A command as somebody would type it."""
    return shlex.join(["marginals", *arguments])


def _send(process: "subprocess.Popen[bytes]", number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _watch(job: Job, process: "subprocess.Popen[bytes]", then: Callable[[Job], None] | None) -> None:
    """Read what a process says until it has ended."""
    printed: list[bytes] = []
    reader = threading.Thread(target=lambda: printed.append(_read(process.stdout)), daemon=True)
    reader.start()
    said = ""
    for line in process.stderr or ():
        text = line.decode("utf-8", "replace").strip()
        try:
            told = json.loads(text)
            job.progress = (str(told["task"]), int(told["done"]), int(told["total"]))
        except (ValueError, KeyError, TypeError):
            said = text or said
    reader.join()
    job.status = process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    job.seconds = time.monotonic() - job.begun
    try:
        answer = json.loads(b"".join(printed) or b"{}")
        job.answer = answer if isinstance(answer, dict) else {}
    except ValueError:
        job.printed = b"".join(printed).decode("utf-8", "replace")
    if job.status:
        job.sentence = str(
            job.answer.get("error") or said.removeprefix("Error: ") or f"it ended with status {job.status}"
        )
    try:
        if then is not None:
            then(job)
    finally:
        job.done.set()


def _read(stream: Any) -> bytes:
    text: bytes = stream.read(_MOST_TEXT)
    return text
