"""Skewness: how far a class's sensitive values are from everybody's (Li, Li and Venkatasubramanian 2007)."""

from dataclasses import dataclass

from checks.attacks.class_table import ClassTable

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Skewness:
    """The class whose posterior is furthest from the overall distribution, in total variation (0 to 1).

    Half the sum of absolute differences: the largest change of the probability of any set of sensitive values.
    """

    distance: float
    position: int


def skewness(classes: ClassTable) -> Skewness:
    """Over the classes that anybody is expected in. Raises ValueError where there is none."""
    occupied = classes.rows.sum(axis=1) > 0
    overall = classes.rows.sum(axis=0)
    distances = abs(classes.posterior() - overall / max(overall.sum(), 1)).sum(axis=1) / 2 * occupied
    # The first of those that rounding alone tells apart, so that the same release always gives the same class.
    worst = int((distances >= distances.max() * (1 - _ROUNDING)).argmax())
    return Skewness(float(distances[worst]), worst)
