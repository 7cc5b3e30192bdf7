"""Progress bars on standard error."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

    from marginals.publishing.searching import Progress


class ProgressBars:
    """One bar a task, shown only while standard error is a terminal and the output is not read by a program."""

    def __init__(self, wanted: bool) -> None:
        self._are_shown = wanted and sys.stderr.isatty()
        self._bar: "tqdm[Any] | None" = None

    def __enter__(self) -> "Progress":
        from marginals.publishing.searching import no_progress

        return self._advance if self._are_shown else no_progress

    def __exit__(self, *_: object) -> None:
        self._close()

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
