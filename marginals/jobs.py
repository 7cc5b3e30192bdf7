"""Jobs: independent parts of one piece of work, in several processes at once."""

import multiprocessing
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TypeVar

from marginals.errors import InputError, WorkerLostError

Part = TypeVar("Part")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Jobs:
    """How many processes work at once. Raises InputError for less than one.

    They are forks of this process; where there are none, as on Windows, this process does the parts one after the other.
    """

    count: int = 2

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise InputError(f"jobs must be a whole number of at least 1, got {self.count!r}")

    def __call__(self, work: Callable[[Part], Answer], parts: Sequence[Part]) -> list[Answer]:
        """What the work gives for each part, in their order. work, parts and answers: what can be pickled.

        Raises what the work raises for the first part, and WorkerLostError when a process was killed. No process is left.
        """
        count = min(self.count, len(parts))
        if count < 2 or "fork" not in multiprocessing.get_all_start_methods():
            return [work(part) for part in parts]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork", category=DeprecationWarning)
            pool = ProcessPoolExecutor(count, multiprocessing.get_context("fork"))
            try:
                return list(pool.map(work, parts))
            except BrokenProcessPool:
                raise WorkerLostError from None
            except BaseException:
                for process in dict(getattr(pool, "_processes", None) or {}).values():
                    process.kill()  # nobody waits for what the others find
                raise
            finally:
                pool.shutdown(cancel_futures=True)
