"""The clock: when work that was given so many seconds must end, and what stops work that does not end by itself."""

import signal
import threading
import time
from collections.abc import Callable
from math import inf, isnan
from types import FrameType
from typing import TypeAlias, TypeVar

from marginals.arguments import kind_of
from marginals.errors import InputError
from models.deadline import NEVER, Deadline
from models.errors import MarginalsError, TimeOverError

Result = TypeVar("Result")

PROGRESS_IN_LINES = ("MARGINALS_PROGRESS", "lines")  # asks commands for progress in lines of JSON
Seconds: TypeAlias = float | Deadline | None  # None: as long as it takes


def within(seconds: Seconds) -> Deadline:
    """The deadline after so many seconds. Raises InputError for what is no number of seconds above 0."""
    if isinstance(seconds, Deadline):
        return seconds
    if seconds is None:
        return NEVER
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or isnan(seconds) or seconds <= 0:
        raise InputError(f"seconds must be a number above 0, got {kind_of(seconds)}")
    return NEVER if seconds == inf else Deadline.after(seconds, time.monotonic)


SEARCH_CLOCK = time.monotonic  # the wall clock, for the time limit of a policy: other programs use it up, too


class Phases:
    """The phase in which the program is, and the seconds that each one took, by name."""

    def __init__(self) -> None:
        self.name, self._begun = "", time.monotonic()
        self.seconds: dict[str, float] = {}

    def begin(self, name: str, *, anew: bool = False) -> None:
        """End the phase so far, if any, and begin another one. anew: forget all phases before."""
        if anew:
            self.name, self.seconds = "", {}
        now = time.monotonic()
        if self.name:
            self.seconds[self.name] = round(self.seconds.get(self.name, 0.0) + now - self._begun, 3)
        self.name, self._begun = name, now


PHASES = Phases()  # of the command that runs
ANSWERED = "answered questions"  # a search has found tables; the number's bits are the named questions
VERIFYING = "verifying"  # all claims of the release to be written


def stopped_after(seconds: float | None, answer: str, work: Callable[[], Result]) -> Result:
    """Return the result of work in the main thread, or stop it by TimeOverError after so many seconds.

    answer: the sentence of the error, with {phase} for the phase that was stopped. The error comes again after a tenth of
    the time if the work has caught it. If an engine turns it into another error, it is turned back. Nothing is stopped
    without seconds, beyond what a timer counts, in another thread, or on Windows, which has no such timer.
    """
    has_timer = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or seconds > threading.TIMEOUT_MAX or not has_timer:
        return work()

    is_over = False

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as the system calls it
        nonlocal is_over
        is_over = True
        raise TimeOverError(answer.format(phase=PHASES.name))

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, max(seconds / 10, 0.1))
        return work()
    except RuntimeError as error:
        if not is_over or not signal.getitimer(signal.ITIMER_REAL)[0] or isinstance(error, MarginalsError):
            raise
        raise TimeOverError(answer.format(phase=PHASES.name)) from None
    finally:
        try:
            end_timer()
        finally:  # should the time be over between these lines, once more
            end_timer()
            signal.signal(signal.SIGALRM, before)


def end_timer() -> None:
    """Let the work of `stopped_after` go on to its end, to report its result."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
