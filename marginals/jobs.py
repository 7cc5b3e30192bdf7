"""Jobs: independent parts of one piece of work, in several processes at once."""

import multiprocessing
import signal
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from marginals.errors import WorkerLostError

Part = TypeVar("Part")
Answer = TypeVar("Answer")


def in_processes(
    jobs: int, work: Callable[[Part], Answer], parts: Sequence[Part], done: Callable[[int], None] | None = None
) -> list[Answer]:
    """Return the result of the work for each part, in their order, by so many processes at once.

    They are forks of this process; without forks, as on Windows, this process does the parts one after the other. Parts and
    answers must be picklable. done: called with the number of parts that are done, if all before them are. No process is
    left. Raises the error of the first part that has one, and WorkerLostError if a process was killed.
    """
    count = min(jobs, len(parts)) if "fork" in multiprocessing.get_all_start_methods() else 1
    if count < 2:
        return _collected(map(work, parts), done)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork", category=DeprecationWarning)
        pool = ProcessPoolExecutor(count, multiprocessing.get_context("fork"), _take, (work,))
        try:
            futures = [pool.submit(_do, part) for part in parts]  # `map` cancels on errors; Python 3.11 fails on both
            return _collected((future.result() for future in futures), done)
        except BaseException as error:
            for process in dict(getattr(pool, "_processes", None) or {}).values():
                process.kill()  # nobody waits for the others
            if isinstance(error, BrokenProcessPool):
                raise WorkerLostError from None
            raise
        finally:
            pool.shutdown()


def _collected(answers: Iterable[Answer], done: Callable[[int], None] | None) -> list[Answer]:
    collected: list[Answer] = []
    for answer in answers:
        collected.append(answer)
        if done is not None:
            done(len(collected))
    return collected


_taken: list[Callable[[Any], Any]] = []  # work of a process that was forked for it, so it need not be pickled


def _take(work: Callable[[Any], Any]) -> None:
    _taken[:] = [work]
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)  # a terminal's


def _do(part: Any) -> Any:
    return _taken[0](part)
