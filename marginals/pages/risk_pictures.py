"""Geometry of the pictures of a risk: a histogram of people by loss, and points and a line of risk against utility.

Positions are in the pixels of a drawing `WIDTH` wide; the same numbers are always drawn the same way.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10

import numpy as np

from checks.risk.frontier import Frontier
from marginals.pages.pictures import WIDTH, text_width
from marginals.risk.bundle_risk import BundleRisk, are_comparable
from models.arrays import FloatArray

_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, WIDTH - 12, 14.0, 210.0
"""The field inside the axes."""

_COLUMNS = 24
_TICKS = 5

_VERTICES = 1000
"""Points that the line of a frontier is drawn with; one with more is drawn a little below itself, never above."""


@dataclass(frozen=True)
class Tick:
    """A number on an axis."""

    place: float
    text: str


@dataclass(frozen=True)
class Dot:
    """A named point; its name stands where the anchor says."""

    x: float
    y: float
    name: str
    name_x: float
    name_y: float
    anchor: str
    colour: int


@dataclass(frozen=True)
class Column:
    """A column of a histogram, and what it says."""

    x: float
    y: float
    width: float
    height: float
    description: str


@dataclass(frozen=True)
class Plot:
    """Columns, a line and dots between two axes. x_title, y_title: what is on the axes, with its unit."""

    name: str
    description: str
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    columns: tuple[Column, ...] = ()
    line: tuple[tuple[float, float], ...] = ()
    dots: tuple[Dot, ...] = ()
    left: float = _LEFT
    right: float = _RIGHT
    top: float = _TOP
    bottom: float = _BOTTOM
    height: float = _BOTTOM + 42


@dataclass(frozen=True)
class Axis:
    """Numbers from low to high along the pixels from begin to end; the higher one first where they fall."""

    low: float
    high: float
    begin: float
    end: float

    def place(self, value: float) -> float:
        """Where a number is drawn."""
        return round(self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin), 2)

    def ticks(self) -> tuple[Tick, ...]:
        """Round numbers inside the axis, about `_TICKS` of them."""
        low, high = sorted((self.low, self.high))
        rough = (high - low) / _TICKS
        power = 10.0 ** floor(log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
        first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
        return tuple(Tick(self.place(n * step), f"{n * step:.6g}") for n in range(first, last + 1))


def loss_histogram(losses: FloatArray) -> Plot | None:
    """How many people have which expected loss; None where nobody has a finite one above 0. losses: shape (people,)."""
    finite = losses[np.isfinite(losses)]
    if not len(finite) or not finite.max() > 0:
        return None
    top = float(finite.max())
    counts, edges = np.histogram(finite, bins=_COLUMNS, range=(0.0, top))
    x = Axis(0.0, top, _LEFT, _RIGHT)
    y = Axis(0.0, float(counts.max()), _BOTTOM, _TOP)
    columns = tuple(
        Column(
            x.place(low),
            y.place(count),
            round(x.place(high) - x.place(low) - 1, 2),
            round(_BOTTOM - y.place(count), 2),
            f"{count:,} people with a loss from {low:.3g} to {high:.3g}",
        )
        for low, high, count in zip(edges, edges[1:], counts.tolist())
        if count
    )
    description = (
        f"{len(finite):,} people by their loss, from 0 to {top:.3g}; half of them have {np.median(finite):.3g} or less"
    )
    y_ticks = tuple(tick for tick in y.ticks() if float(tick.text).is_integer())
    return Plot(
        "People by loss", description, "loss (harm expected over guesses)", "people", x.ticks(), y_ticks, columns
    )


def frontier_picture(edge: Frontier, points: Sequence[tuple[str, float, float]]) -> Plot | None:
    """The frontier, and points of a name, a utility and a risk beside it; None where no risk is finite."""
    kept = _finite(edge)
    finite = [(name, u, r) for name, u, r in points if isfinite(r)]
    if not kept:
        return None
    x = Axis(*_ends([u for u, _ in kept] + [u for _, u, _ in finite]), _LEFT, _RIGHT)
    y = Axis(0.0, _top([r for _, r in kept] + [r for _, _, r in finite]), _BOTTOM, _TOP)
    dots = _dots(finite, x, y)
    description = "least risk by mean utility: " + "; ".join(
        f"{u:.3g} with {r:.3g}" for u, r in kept[:: len(kept) // 8 + 1]
    )
    description += "".join(f"; {name}: utility {u:.3g}, risk {r:.3g}" for name, u, r in finite)
    line = tuple((x.place(u), y.place(r)) for u, r in _finite(edge.outlined(_VERTICES)))
    titles = "mean utility (steps down from *)", "risk (mean loss)"
    return Plot("Frontier of risk against utility", description, *titles, x.ticks(), y.ticks(), line=line, dots=dots)


def _finite(edge: Frontier) -> list[tuple[float, float]]:
    return [(u, r) for u, r in zip(edge.utility.tolist(), edge.risk.tolist()) if isfinite(r)]


def releases_picture(releases: Sequence[BundleRisk]) -> Plot | None:
    """Releases by number, the more useful to the right.

    None where it is known of fewer than two how much they tell, or where their base values differ.
    """
    comparable = [
        (str(number), release.total_information, release.risk)
        for number, release in enumerate(releases, 1)
        if release.total_information is not None and isfinite(release.risk)
    ]
    if len(comparable) < 2 or not are_comparable(releases):
        return None
    x, y = (
        Axis(*_around([told for _, told, _ in comparable]), _LEFT, _RIGHT),
        Axis(*_around([r for _, _, r in comparable]), _BOTTOM, _TOP),
    )
    description = "; ".join(f"release {name}: {told:.3g} nats, risk {r:.3g}" for name, told, r in comparable)
    titles = "information (nats); right: tells more", "risk (mean loss)"
    return Plot(
        "Releases by risk and utility", description, *titles, x.ticks(), y.ticks(), dots=_dots(comparable, x, y)
    )


def _dots(points: Sequence[tuple[str, float, float]], x: Axis, y: Axis) -> tuple[Dot, ...]:
    """Points with their names beside them, inside the picture and not on each other."""
    dots: list[Dot] = []
    for number, (name, across, up) in enumerate(points):
        place = x.place(across), y.place(up)
        fits = place[0] + 12 + text_width(name) < _RIGHT
        name_y = place[1] - 6
        while any(abs(name_y - d.name_y) < 13 and abs(place[0] - d.x) < 24 + text_width(name) for d in dots):
            name_y += 14
        beside = place[0] + 8 if fits else place[0] - 8
        dots.append(Dot(*place, name, round(beside, 2), round(name_y, 2), "start" if fits else "end", number % 10))
    return tuple(dots)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    numbers = list(values)
    low, high = min(numbers), max(numbers)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _around(values: Iterable[float]) -> tuple[float, float]:
    """From a little below the least of some numbers to a little above the largest, but not below 0."""
    low, high = _ends(values)
    return max(0.0, low - (high - low) / 8), high + (high - low) / 8


def _top(values: Iterable[float]) -> float:
    return max(values) * 1.05 or 1.0
