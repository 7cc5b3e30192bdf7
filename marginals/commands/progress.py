"""Progress on standard error: bars on a terminal, or lines for a program that started the command."""

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from marginals.timing import PROGRESS_IN_LINES

if TYPE_CHECKING:
    from tqdm import tqdm

    from marginals.publishing.searching import Progress

_PAUSE = 0.1
"""Seconds between lines about the same task."""


class ProgressBars:
    """One bar a task, shown only while standard error is a terminal and the output is not read by a program.

    Where the variable MARGINALS_PROGRESS is "lines" a JSON object a line takes their place, with JSON too:
    {"task": "collections", "done": 120, "total": 0}, ten a second at most.
    """

    def __init__(self, wanted: bool) -> None:
        self._in_lines = os.environ.get(PROGRESS_IN_LINES[0]) == PROGRESS_IN_LINES[1]
        self._are_shown = wanted and sys.stderr.isatty()
        self._bar: "tqdm[Any] | None" = None
        self._said = ("", 0.0)

    def __enter__(self) -> "Progress":
        from marginals.publishing.searching import no_progress

        if self._in_lines:
            return self._say
        return self._advance if self._are_shown else no_progress

    def __exit__(self, *_: object) -> None:
        self._close()

    def _say(self, task: str, done: int, total: int) -> None:
        now = time.monotonic()
        if self._said[0] == task and now < self._said[1] + _PAUSE:
            return
        self._said = (task, now)
        print(json.dumps({"task": task, "done": done, "total": total}), file=sys.stderr, flush=True)

    def _advance(self, task: str, done: int, total: int) -> None:
        from tqdm import tqdm

        if self._bar is None or self._bar.desc != task:
            self._close()
            self._bar = tqdm(desc=task, total=total or None, leave=False, file=sys.stderr)
            self._bar.desc = task
        self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
