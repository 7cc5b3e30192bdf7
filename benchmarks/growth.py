"""How time and memory grow: power laws fitted to measurements, and what they say about a larger size."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from measurement import SIZES, Measurement

QUANTITIES = ("seconds", "megabytes")
FEWEST = 3
"""Sizes that a fit takes at least: two would leave no residual."""


@dataclass(frozen=True)
class PowerLaw:
    """value = factor * size ** exponent. spread: the factor by which measurements lie off it, one standard deviation."""

    exponent: float
    factor: float
    spread: float

    def at(self, size: float) -> float:
        """The value at a size."""
        return float(self.factor * size**self.exponent)


def fitted(sizes: Sequence[float], values: Sequence[float]) -> PowerLaw:
    """The least-squares line through the logarithms.

    Raises ValueError for fewer than three different sizes, and for numbers that are not above zero.
    """
    if len(sizes) != len(values) or len(set(sizes)) < FEWEST:
        raise ValueError(f"a fit needs {FEWEST} different sizes with a value each, got {len(set(sizes))}")
    if min(*sizes, *values) <= 0:
        raise ValueError("a power law has sizes and values above zero")
    x, y = np.log(sizes), np.log(values)
    exponent, constant = np.polyfit(x, y, 1)
    residuals = y - constant - exponent * x
    deviation = np.sqrt(residuals @ residuals / (len(x) - 2))
    return PowerLaw(float(exponent), float(np.exp(constant)), float(np.exp(deviation)))


@dataclass(frozen=True)
class Series:
    """Measurements that differ in one size alone, in its ascending order. fixed: the other sizes."""

    benchmark: str
    case: str
    grows: str
    fixed: Mapping[str, int]
    points: tuple[Measurement, ...]

    def values(self, quantity: str) -> tuple[list[int], list[float]]:
        """Sizes, and seconds or megabytes, where they were measured above zero."""
        pairs = [(p.sizes[self.grows], getattr(p, quantity)) for p in self.points if getattr(p, quantity)]
        return [size for size, _ in pairs], [value for _, value in pairs]

    def laws(self) -> dict[str, PowerLaw]:
        """The fit of each quantity that was measured at enough sizes."""
        every = {quantity: self.values(quantity) for quantity in QUANTITIES}
        return {quantity: fitted(*pairs) for quantity, pairs in every.items() if len(set(pairs[0])) >= FEWEST}

    def line(self) -> dict[str, Any]:
        """The fits as one JSON object. last_exponent: between the two largest sizes alone, where fixed costs weigh least."""
        sizes = [point.sizes[self.grows] for point in self.points]
        line = {"benchmark": "growth", "of": self.benchmark, "case": self.case, "with": self.grows}
        line |= {"fixed": dict(self.fixed), "from": sizes[0], "to": sizes[-1]}
        for quantity, law in self.laws().items():
            line[quantity] = {
                "exponent": round(law.exponent, 3),
                "spread": round(law.spread, 3),
                "last_exponent": round(last_exponent(*self.values(quantity)), 3),
            }
        return line


def last_exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent of the power law through the last two points."""
    return float(np.log(values[-1] / values[-2]) / np.log(sizes[-1] / sizes[-2]))


def all_series(measurements: Iterable[Measurement]) -> list[Series]:
    """Every series of at least three sizes, in the order in which they begin. Where a size was measured twice, the last
    measurement counts.
    """
    groups: dict[tuple[Any, ...], dict[int, Measurement]] = {}
    for measurement in measurements:
        for grows in (name for name in SIZES if name in measurement.sizes):
            fixed = tuple((name, size) for name, size in sorted(measurement.sizes.items()) if name != grows)
            key = (measurement.benchmark, measurement.case, grows, fixed)
            groups.setdefault(key, {})[measurement.sizes[grows]] = measurement
    return [
        Series(benchmark, case, grows, dict(fixed), tuple(points[size] for size in sorted(points)))
        for (benchmark, case, grows, fixed), points in groups.items()
        if len(points) >= FEWEST
    ]


@dataclass(frozen=True)
class Projection:
    """What a size that was not measured takes: between `low`, by the power law through the two largest sizes, and `high`,
    by the straight line through them.

    Where there are fixed costs beside linear ones, the power law promises too little and the line is right; where growth is
    slower than linear for good, it is the other way round. Faster growth than linear makes the power law the higher one.
    """

    low: float
    high: float


def projected(sizes: Sequence[float], values: Sequence[float], size: float) -> Projection:
    """Where the curve through the two largest measured sizes leads."""
    (first, second), (small, large) = sizes[-2:], values[-2:]
    power = large * (size / second) ** last_exponent(sizes, values)
    straight = large + (large - small) / (second - first) * (size - second)
    return Projection(*sorted((power, straight)))
