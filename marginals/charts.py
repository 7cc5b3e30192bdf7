"""Pictures for pages: places and lengths in pixels, from lists of numbers, which templates draw as SVG.

A picture is a dictionary that says its `height` and `description`. The same numbers are always drawn the same way.
"""

from collections.abc import Sequence
from math import floor, isfinite, log10
from typing import Any, TypeAlias

import numpy as np

from checks.risk.disclosure import Frontier
from models.arrays import FloatArray
from models.tables.hierarchy import Domain, Margin

WIDTH = 380.0
"""Pixels of a drawing, which stays readable on a phone."""

Point: TypeAlias = tuple[float, float]
"""A place in the drawing, or a width and a height."""

Shape: TypeAlias = dict[str, Any]
"""A picture, or a part of one, with its places and texts by name."""

_NARROW, _WIDE = frozenset("fijlrt.,:;|!'()[]-1 "), frozenset("mwMW@%")


def text_width(text: str) -> float:
    """Estimated width in pixels of a text in a sans-serif font of 12 px, rather too wide than too narrow."""
    return sum(4.6 if c in _NARROW else 10.5 if c in _WIDE else 8.2 if c.isupper() else 7.4 for c in text)


def colours(domain: Domain) -> dict[str, int]:
    """The number of a colour for each attribute."""
    return {attribute: number % 10 for number, attribute in enumerate(domain.attributes)}


def lengths(values: Sequence[float]) -> list[float]:
    """The length of a bar for each value, in percent of the longest."""
    longest = max(values, default=0.0) or 1.0
    return [round(max(0.0, 100 * value / longest), 2) for value in values]


def levels_shown(margins: Sequence[Margin]) -> dict[str, list[int]]:
    """Levels at which margins show each attribute, finest first."""
    attributes = dict.fromkeys(attribute for margin in margins for attribute in margin)
    return {a: sorted({margin[a] for margin in margins if a in margin}) for a in attributes}


# Plots: columns, lines and dots between two axes.

_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, WIDTH - 12, 14.0, 210.0
"""The field inside the axes."""

_COLUMNS = 24
_TICKS = 5

_VERTICES = 1000
"""Points that the line of a frontier is drawn with; one with more is drawn a little below itself, never above."""

Named: TypeAlias = tuple[str, float, float]
"""A point with its name."""


class Axis:
    """Numbers from low to high along the pixels from begin to end; the higher one first where they fall."""

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self.low, self.high, self.begin, self.end = low, high, begin, end

    def place(self, value: float) -> float:
        """Pixel at which a number is drawn."""
        return round(self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin), 2)

    def ticks(self) -> list[Shape]:
        """Round numbers inside the axis, about `_TICKS` of them."""
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** floor(log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
        first, last = int(np.ceil(self.low / step - 1e-9)), int(np.floor(self.high / step + 1e-9))
        return [{"place": self.place(n * step), "text": f"{n * step:.6g}"} for n in range(first, last + 1)]


def _plot(name: str, description: str, titles: tuple[str, str], x: Axis, y: Axis, **content: Any) -> Shape:
    field = {"left": _LEFT, "right": _RIGHT, "top": _TOP, "bottom": _BOTTOM, "height": _BOTTOM + 42}
    axes = {"x_title": titles[0], "y_title": titles[1], "x_ticks": x.ticks(), "y_ticks": y.ticks()}
    nothing: Shape = {"columns": [], "line": [], "dots": []}
    return {"name": name, "description": description, **field, **axes, **nothing, **content}


def loss_histogram(losses: FloatArray) -> Shape | None:
    """Histogram of people by expected loss; None if nobody has a finite one above 0. losses: shape (people,)."""
    finite = losses[np.isfinite(losses)]
    if not len(finite) or not finite.max() > 0:
        return None
    top = float(finite.max())
    counts, edges = np.histogram(finite, bins=_COLUMNS, range=(0.0, top))
    x, y = Axis(0.0, top, _LEFT, _RIGHT), Axis(0.0, float(counts.max()), _BOTTOM, _TOP)
    columns = [
        {
            "x": x.place(low),
            "y": y.place(count),
            "width": round(x.place(high) - x.place(low) - 1, 2),
            "height": round(_BOTTOM - y.place(count), 2),
            "description": f"{count:,} people with a loss from {low:.3g} to {high:.3g}",
        }
        for low, high, count in zip(edges, edges[1:], counts.tolist())
        if count
    ]
    description = (
        f"{len(finite):,} people by their loss, from 0 to {top:.3g}; half of them have {np.median(finite):.3g} or less"
    )
    titles = "loss (harm expected over guesses)", "people"
    ticks = [tick for tick in y.ticks() if float(tick["text"]).is_integer()]
    return _plot("People by loss", description, titles, x, y, columns=columns, y_ticks=ticks)


def risk_frontier(edge: Frontier, points: Sequence[Named]) -> Shape | None:
    """The frontier, and points of a name, a utility and a risk beside it; None where no risk is finite."""
    edge_points, finite = _finite(edge), [point for point in points if isfinite(point[2])]
    if not edge_points:
        return None
    utilities = [u for u, _ in edge_points] + [u for _, u, _ in finite]
    low, high = min(utilities), max(utilities)
    x = Axis(low, high, _LEFT, _RIGHT) if high > low else Axis(low - 0.5, high + 0.5, _LEFT, _RIGHT)
    highest = max([r for _, r in edge_points] + [r for _, _, r in finite])
    y = Axis(0.0, highest * 1.05 or 1.0, _BOTTOM, _TOP)
    description = "least risk by mean utility: " + "; ".join(
        f"{u:.3g} with {r:.3g}" for u, r in edge_points[:: len(edge_points) // 8 + 1]
    )
    description += "".join(f"; {name}: utility {u:.3g}, risk {r:.3g}" for name, u, r in finite)
    line = [(x.place(u), y.place(r)) for u, r in _finite(edge.thinned(_VERTICES))]
    titles = "mean utility (steps down from *)", "risk (mean loss)"
    name = "Frontier of risk against utility"
    return _plot(name, description, titles, x, y, line=line, dots=_dots(finite, x, y))


def _finite(edge: Frontier) -> list[Point]:
    return [(u, r) for u, r in zip(edge.utility.tolist(), edge.risk.tolist()) if isfinite(r)]


def _dots(points: Sequence[Named], x: Axis, y: Axis) -> list[Shape]:
    dots: list[Shape] = []
    for number, (name, across, up) in enumerate(points):
        place = x.place(across), y.place(up)
        fits = place[0] + 12 + text_width(name) < _RIGHT
        name_y = place[1] - 6
        while any(abs(name_y - d["name_y"]) < 13 and abs(place[0] - d["x"]) < 24 + text_width(name) for d in dots):
            name_y += 14
        text = {"name_x": round(place[0] + (8 if fits else -8), 2), "name_y": round(name_y, 2)}
        anchor = "start" if fits else "end"
        dots.append({"x": place[0], "y": place[1], "name": name, "anchor": anchor, "colour": number % 10, **text})
    return dots
