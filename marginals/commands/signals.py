"""Signals that ask the program to end: it ends in order, so that nothing half-written stays behind.

Only the program listens to them; the library leaves signals to whoever imports it.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C; the wish of another program, or of a machine that is shut down; a terminal that was closed."""


class EndingError(KeyboardInterrupt):
    """A signal asked the program to end; what takes care of Ctrl-C takes care of it."""


@dataclass
class Ending:
    """Which signal asked the program to end, if one did; libraries may have made another exception of EndingError."""

    number: int | None = None

    @property
    def exit_status(self) -> int:
        """The status that shells give a program that a signal ended; of Ctrl-C if none is known."""
        return 128 + (signal.SIGINT if self.number is None else self.number)


@contextmanager
def heeded() -> Iterator[Ending]:
    """Meanwhile signals that ask the program to end raise EndingError, SIGINT among them.

    Those that are ignored stay so (nohup, a job in the background). Threads but the main one cannot listen to signals.
    """
    ending = Ending()

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as Python calls it
        ending.number = number
        raise EndingError

    if threading.current_thread() is not threading.main_thread():
        yield ending
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    heard = [number for number, handler in before.items() if handler in (signal.SIG_DFL, signal.default_int_handler)]
    try:
        for number in heard:
            signal.signal(number, end)
        yield ending
    finally:
        for number in heard:
            signal.signal(number, before[number])
