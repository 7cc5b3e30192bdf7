"""Many small random choices from a few draws of Hypothesis.

A collection over a random table takes a hundred small choices. Hypothesis remembers each draw, which takes ten times as
long as making the choice; so a strategy here draws bytes, a block at a time, and each choice uses up one of them.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Concatenate, Generic, ParamSpec, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
P = ParamSpec("P")
_BLOCK = 64
_BLOCKS = st.binary(min_size=_BLOCK, max_size=_BLOCK)


class Dice:
    """Choices that a failing example shrinks towards 0, the lowest number, and the first of the options."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._bytes = iter(b"")

    def _byte(self) -> int:
        for byte in self._bytes:
            return byte
        self._bytes = iter(self._draw(_BLOCKS))
        return next(self._bytes)

    def below(self, bound: int) -> int:
        """A number of 0 .. bound - 1, each about as likely as the others; bound: at most 60,000."""
        if bound <= 1:
            return 0
        return (self._byte() if bound <= 32 else self._byte() << 8 | self._byte()) % bound

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options, which may have some twice to have them more often."""
        return options[self.below(len(options))]

    def yes(self) -> bool:
        return bool(self.below(2))

    def some(self, number: int, items: Iterable[T]) -> list[T]:
        """So many of the items, none of them twice, in any order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(number)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All the items, in any order."""
        return self.some(len(items), items)


class Thrown(Generic[P, T]):
    """What a function makes of dice: called without them it is a strategy, and `of` makes one with dice at hand."""

    def __init__(self, of: Callable[Concatenate[Dice, P], T]) -> None:
        @st.composite
        def strategy(draw: st.DrawFn, *args: P.args, **kwargs: P.kwargs) -> T:
            return of(Dice(draw), *args, **kwargs)

        self.of, self._strategy = of, strategy
        wraps(of)(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> st.SearchStrategy[T]:
        return self._strategy(*args, **kwargs)
