"""Deadlines: when work must end, passed down to all work that may take long. Only the floor above knows the time."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from models.errors import TimeOverError


def _standing_still() -> float:
    return 0.0


@dataclass(frozen=True)
class Deadline:
    """When work must end: `at` in seconds of the clock. As a function, it says whether no time is left.

    >>> ten = Deadline(10.0, lambda: 7.0)
    >>> ten.left, ten.is_over, ten(), ten.share(3).left, ten.later(1).left
    (3.0, False, False, 1.0, 4.0)
    """

    at: float = inf
    clock: Callable[[], float] = _standing_still

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float]) -> "Deadline":
        """So many seconds from now by a clock."""
        return cls(clock() + seconds, clock)

    def __call__(self) -> bool:
        """Whether no time is left."""
        return self.is_over

    @property
    def left(self) -> float:
        """Seconds that are left; 0 when it is over."""
        return max(self.at - self.clock(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.clock() >= self.at

    def check(self) -> None:
        """Raise TimeOverError when no time is left."""
        if self.is_over:
            raise TimeOverError("the time was over before this was decided")

    def share(self, parts: float) -> "Deadline":
        """The end of the first of so many parts that have as much time each."""
        now = self.clock()
        return Deadline(now + max(self.at - now, 0.0) / parts, self.clock)

    def earlier(self, seconds: float) -> "Deadline":
        """So many seconds from now, or this deadline where it comes before."""
        return Deadline(min(self.at, self.clock() + seconds), self.clock)

    def later(self, seconds: float) -> "Deadline":
        """So many seconds after this deadline."""
        return Deadline(self.at + seconds, self.clock)


NEVER = Deadline()
"""No deadline."""
