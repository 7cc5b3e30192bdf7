"""What an algorithm for maxent diversity says, before it is described to a reader."""

from dataclasses import dataclass

from checks.finding import Verdict


@dataclass(frozen=True)
class Outcome:
    """A verdict with the worst class combination found.

    combination: a class of each clique, None where no class has rows. examined: combinations, vectors or pairs looked
    at. proven_worst: whether no combination is worse than that one.
    """

    verdict: Verdict
    combination: tuple[int, ...] | None
    examined: int
    proven_worst: bool
