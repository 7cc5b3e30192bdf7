"""Work in processes beside the window, which can be watched and stopped."""

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

from marginals.deadline import ANSWERED, PROGRESS_IN_LINES

# Program of a process, which reads the arguments of its command.
WORKER = """
import json, runpy, sys
sys.path.append(sys.argv[1])
sys.argv = ["marginals", *json.loads(sys.stdin.readline())]
runpy.run_module("marginals", run_name="__main__")
"""

_ROOT = Path(__file__).parents[2]  # the folder of a project is no place for modules
SEARCH = "search"

_PATIENCE = 5.0  # seconds to end in order
_MOST_TEXT = 64_000_000


@dataclass
class Job:
    """A process at work, or done.

    command: the same for a terminal. progress: the task, how much of it is done and how much there is (0: unknown).
    status: of the exit; None while it runs. answer: the JSON object that it printed. sentence: why it failed.
    questions: those of a search. answered: a bit for each of them, in their order; None until something was found.
    """

    number: int
    kind: str
    command: str
    process: Any = field(default=None, repr=False)
    begun: float = field(default_factory=time.monotonic)
    progress: tuple[str, int, int] = ("at work", 0, 0)
    status: int | None = None
    answer: dict[str, Any] = field(default_factory=dict, repr=False)
    sentence: str = ""
    questions: tuple[frozenset[str], ...] = ()
    answered: int | None = None
    is_stopped: bool = False
    done: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def runs(self) -> bool:
        """True while it is at work."""
        return not self.done.is_set()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.begun

    @property
    def state(self) -> str:
        """State: it runs, is done, failed or was stopped."""
        if self.status is None:
            return "runs"
        return "done" if self.status == 0 else "stopped" if self.is_stopped or self.status < 0 else "failed"

    @property
    def news(self) -> str:
        """The progress in words."""
        task, done, total = self.progress
        return f"{task}: {done:,} of {total:,}" if total else f"{task}: {done:,}" if done else task

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
        """Send a signal to the processes of the job; on Windows to the first one."""
        with suppress(ProcessLookupError, PermissionError):
            getattr(os, "killpg", os.kill)(self.process.pid, number)

    def watch(self, then: Callable[["Job"], None] | None) -> None:
        """Read what the process prints until it ends, then call `then`."""
        printed: list[bytes] = []

        def read() -> None:
            with self.process.stdout as stream:
                printed.append(stream.read(_MOST_TEXT))

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reason = ""
        with self.process.stderr as stream:
            for line in stream:
                text = line.decode("utf-8", "replace").strip()
                try:
                    news = json.loads(text)
                    if news["task"] == ANSWERED:
                        self.answered = int(news["done"])
                    else:
                        self.progress = str(news["task"]), int(news["done"]), int(news["total"])
                except (ValueError, KeyError, TypeError):
                    reason = text
        reader.join()
        self.status = self.process.wait()
        with suppress(ValueError):
            answer = json.loads(b"".join(printed))
            self.answer = answer if isinstance(answer, dict) else {}
        if self.status:
            reason = self.answer.get("error") or reason.removeprefix("Error: ")
            self.sentence = str(reason or f"it ended with status {self.status}")
        try:
            if then is not None:
                then(self)
        finally:
            self.done.set()


class JobList:
    """Jobs of a window, numbered from 1. folder: where they run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._jobs: list[Job] = []
        self._lock = threading.RLock()

    def command(self, kind: str, arguments: Sequence[str], then: Callable[[Job], None] | None = None) -> Job:
        """Start a command of this project with --json. then: is called with the job when it is done."""
        name, value = PROGRESS_IN_LINES
        with self._lock:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", WORKER, str(_ROOT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.folder,
                env={**os.environ, name: value, "PYTHONIOENCODING": "utf-8"},
                start_new_session=True,  # Ctrl-C is for the window, which stops its jobs
                umask=0o077,
            )
            job = Job(len(self._jobs) + 1, kind, shlex.join(["marginals", *arguments]), process)
            self._jobs.append(job)
        with suppress(OSError), process.stdin as stream:  # type: ignore[union-attr] # it may have ended
            stream.write(json.dumps([*arguments, "--json"]).encode())
        threading.Thread(target=job.watch, args=(then,), daemon=True).start()
        return job

    def get(self, number: int) -> Job | None:
        """Return the job of this number, if there is one."""
        return next((job for job in self._jobs if job.number == number), None)

    def latest(self, kind: str) -> Job | None:
        """Return the job of a kind that was started last."""
        return next((job for job in reversed(self._jobs) if job.kind == kind), None)

    def stop(self) -> None:
        """End all, and wait until they have ended."""
        for job in self._jobs:
            job.stop()
        for job in self._jobs:
            job.done.wait(_PATIENCE + 1)
