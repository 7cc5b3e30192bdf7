"""Deadlines: the time by which work must end, passed down to all work that may take long. Only the top floor reads the
clock.
"""

from collections.abc import Callable
from math import inf

from models.errors import TimeOverError
from models.frozen import frozen


def _standing_still() -> float:
    return 0.0


@frozen
class Deadline:
    """Time by which work must end: `at`, in seconds of the clock. Called as a function, it says whether no time is
    left.

    >>> ten = Deadline(10.0, lambda: 7.0)
    >>> ten.left, ten.is_over, ten(), ten.share(3).left, ten.later(1).left
    (3.0, False, False, 1.0, 4.0)
    """

    at: float = inf
    clock: Callable[[], float] = _standing_still

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float]) -> "Deadline":
        """Return the deadline `seconds` from now."""
        return cls(clock() + seconds, clock)

    def __call__(self) -> bool:
        """Return whether no time is left."""
        return self.is_over

    @property
    def left(self) -> float:
        """Seconds left; 0 once the deadline is over."""
        return max(self.at - self.clock(), 0.0)

    @property
    def is_over(self) -> bool:
        """True if no time is left."""
        return self.clock() >= self.at

    def check(self) -> None:
        """Raise TimeOverError if no time is left."""
        if self.is_over:
            raise TimeOverError("the time was over before this was decided")

    def share(self, parts: float) -> "Deadline":
        """Return the end of the first of `parts` equal parts of the time left."""
        now = self.clock()
        return Deadline(now + max(self.at - now, 0.0) / parts, self.clock)

    def earlier(self, seconds: float) -> "Deadline":
        """Return the deadline `seconds` from now, or this one if it comes first."""
        return Deadline(min(self.at, self.clock() + seconds), self.clock)

    def later(self, seconds: float) -> "Deadline":
        """Return the deadline `seconds` after this one."""
        return Deadline(self.at + seconds, self.clock)


NEVER = Deadline()
"""The deadline that never comes."""
