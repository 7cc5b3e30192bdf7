"""Pictures for pages: places and lengths in pixels, from lists of numbers, which templates draw as SVG.

A picture is a dictionary that says its `height` and `description`. The same numbers are always drawn the same way.
"""

import math
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from math import floor, isfinite, log10
from typing import Any, TypeAlias

import numpy as np

from checks.risk.disclosure import Frontier
from marginals.names import margin_in_words, number_of, shown_at
from models.arrays import CountArray, FloatArray
from models.graphs.junction_tree import Collection
from models.tables.hierarchy import Domain, Hierarchy, Margin

WIDTH = 380.0
"""Pixels of a drawing, which stays readable on a phone."""

Point: TypeAlias = tuple[float, float]
"""A place in the drawing, or a width and a height."""

Shape: TypeAlias = dict[str, Any]
"""A picture, or a part of one, with its places and texts by name."""

_LINE = 22.0
_GAP = 14.0, 18.0
"""Between boxes, across and down."""

# The interaction graph: rounds of moving boxes apart, a tenth for so many attributes, until they are too near by no more
# than this.
_CROWD = 60
_ROUNDS = 200
_TOUCH = 0.1

_NARROW, _WIDE = frozenset("fijlrt.,:;|!'()[]-1 "), frozenset("mwMW@%")


def text_width(text: str) -> float:
    """About how wide a text is in a sans-serif font of 12 px, rather too wide than too narrow."""
    return sum(4.6 if c in _NARROW else 10.5 if c in _WIDE else 8.2 if c.isupper() else 7.4 for c in text)


def shortened(text: str, width: float) -> str:
    """The text, or its beginning with an ellipsis, so that it fits."""
    if text_width(text) <= width:
        return text
    while text and text_width(text) + 8 > width:
        text = text[:-1]
    return f"{text}…"


def colours(domain: Domain) -> dict[str, int]:
    """The number of a colour for each attribute."""
    return {attribute: number % 10 for number, attribute in enumerate(domain.attributes)}


def lengths(values: Sequence[float]) -> list[float]:
    """The length of a bar for each value, in percent of the longest."""
    longest = max(values, default=0.0) or 1.0
    return [round(max(0.0, 100 * value / longest), 2) for value in values]


def levels_shown(margins: Sequence[Margin]) -> dict[str, list[int]]:
    """For each attribute that some margin shows, the levels at which one does, finest first."""
    attributes = dict.fromkeys(attribute for margin in margins for attribute in margin)
    return {a: sorted({margin[a] for margin in margins if a in margin}) for a in attributes}


def finest_pairs(margins: Sequence[Margin]) -> list[tuple[str, int, str, int]]:
    """Levels of two attributes that some margin shows together, those left out that a finer pair implies."""
    together: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for margin in margins:
        for (a, i), (b, j) in combinations(margin.items(), 2):
            together.setdefault((a, b), set()).add((i, j))
    return [
        (a, i, b, j)
        for (a, b), pairs in sorted(together.items())
        for i, j in sorted(pairs)
        if not any((k, m) != (i, j) and k <= i and m <= j for k, m in pairs)
    ]


def interaction_picture(collection: Collection) -> Shape:
    """The interaction graph: attributes of one table are joined, at their finest levels there.

    `capsules` are attributes with a bead for each level shown. `edges` stand for those between all coarser levels, too.
    Attributes stand on an oval, in their order from the top on.
    """
    levels = levels_shown(collection.margins)
    order = [attribute for attribute in collection.domain.attributes if attribute in levels]
    if not order:
        return {"height": 60.0, "capsules": [], "edges": [], "description": "No attribute is published."}
    pairs = finest_pairs(collection.margins)
    names = {attribute: shortened(attribute, 130) for attribute in order}
    colour, of = colours(collection.domain), collection.domain.hierarchy
    sizes = [(max(text_width(names[a]), 24.0 * len(levels[a])) + 20, 50.0) for a in order]
    height = min(140.0 + 44 * len(order), 420 + 20.0 * len(order))
    sentence = "; ".join(f"{shown_at(a, of(a), i)} with {shown_at(b, of(b), j)}" for a, i, b, j in pairs)

    capsules = [
        {"name": names[a], "attribute": a, "colour": colour[a], **_capsule(centre, size, levels[a])}
        for a, centre, size in zip(order, _apart(_placed(len(order), height), sizes, height), sizes)
    ]
    beads = {(c["attribute"], bead["level"]): bead for c in capsules for bead in c["beads"]}
    ends = ((beads[a, i], beads[b, j]) for a, i, b, j in pairs)
    edges = [{"x1": one["x"], "y1": one["y"], "x2": other["x"], "y2": other["y"]} for one, other in ends]
    description = sentence or "No two attributes are published together."
    return {"height": height, "capsules": capsules, "edges": edges, "description": description}


def _capsule(centre: Point, size: Point, levels: Sequence[int]) -> Shape:
    (x, y), (width, height) = centre, size
    first = x - 12.0 * (len(levels) - 1)
    beads = [{"level": level, "x": round(first + 24 * n, 1), "y": round(y + 10, 1)} for n, level in enumerate(levels)]
    left, top = round(x - width / 2, 1), round(y - height / 2, 1)
    return {"x": left, "y": top, "width": round(width, 1), "height": height, "beads": beads}


def _placed(number: int, height: float) -> list[Point]:
    angles = [2 * math.pi * place / number for place in range(number)]
    # Rounded, so that all machines give the same bytes.
    spots = [(round(math.sin(angle), 9), round(math.cos(angle), 9)) for angle in angles]
    return [(WIDTH / 2 + (WIDTH / 2 - 65) * across, height / 2 - (height / 2 - 30) * up) for across, up in spots]


def _apart(centres: Sequence[Point], sizes: Sequence[Point], height: float) -> list[Point]:
    xs, ys = [x for x, _ in centres], [y for _, y in centres]
    wide, high = [width / 2 for width, _ in sizes], [tall / 2 for _, tall in sizes]
    for _ in range(_ROUNDS if len(xs) <= _CROWD else _ROUNDS // 10):
        moved = False
        for i, j in combinations(range(len(xs)), 2):
            across, down = xs[i] - xs[j], ys[i] - ys[j]
            beside, above = wide[i] + wide[j] + _GAP[0] - abs(across), high[i] + high[j] + _GAP[1] - abs(down)
            if beside <= _TOUCH or above <= _TOUCH:
                continue
            moved = True
            places, push = (
                (xs, math.copysign(beside / 2, across)) if beside < above else (ys, math.copysign(above / 2, down))
            )
            places[i], places[j] = places[i] + push, places[j] - push
        xs = [min(max(x, half + 2), WIDTH - half - 2) for x, half in zip(xs, wide)]
        ys = [min(max(y, half + 2), height - half - 2) for y, half in zip(ys, high)]
        if not moved:
            break
    return list(zip(xs, ys))


def tree_picture(collection: Collection) -> Shape:
    """The junction tree of a decomposable collection, from a centre of each connected part down.

    `boxes` are margins, each below the one it hangs on and indented; an `elbow` leads up from it.
    """
    tree, margins = collection.junction_tree, collection.junction_tree.margins
    words = partial(margin_in_words, domain=collection.domain)
    near = [{*children, parent} - {-1} for children, parent in zip(tree.children, tree.parents)]
    parts: list[int] = []
    for place, parent in enumerate(tree.parents):
        parts.append(parts[parent] if parent >= 0 else place)
    boxes: dict[int, Shape] = {}
    sentences: list[str] = []
    y = 4.0
    for part in dict.fromkeys(parts):
        centre = {place for place, own in enumerate(parts) if own == part}
        while len(centre) > 2:
            centre -= {place for place in centre if len(near[place] & centre) < 2}
        root = min(centre, key=lambda place: (-len(margins[place]), tuple(margins[place].items())))
        waiting, hanging = [(root, -1, 0)], list[tuple[int, int, int]]()
        while waiting:
            hanging.append(waiting.pop())
            place, parent, depth = hanging[-1]
            below = sorted(near[place] - {parent}, key=lambda child: tuple(margins[child].items()), reverse=True)
            waiting += [(child, place, depth + 1) for child in below]
        step = min(26.0, 150 / max(1, *(depth for _, _, depth in hanging)))
        for place, parent, depth in hanging:
            # of two neighbours in perfect sequence the later one has their separator
            separator = "" if parent < 0 else words(collection.domain.margin(tree.separators[max(place, parent)]))
            y += 22 * (parent >= 0)
            box = _box(margins[place], 4 + step * depth, y, collection.domain, separator, boxes.get(parent))
            boxes[place], y = box, box["y"] + box["height"] + 6
            hung = f", which shares {separator} with {words(margins[parent])}" if parent >= 0 else ""
            sentences.append(words(margins[place]) + hung)
        y += 12
    return {"height": round(y, 1), "boxes": [*boxes.values()], "description": "; ".join(sentences)}


def _box(margin: Margin, x: float, y: float, domain: Domain, separator: str, above: Shape | None) -> Shape:
    room, colour = WIDTH - x - 4, colours(domain)
    chips: list[Shape] = []
    left, top, right = x + 8, y + 6, x + 8
    for attribute, level in margin.items():
        text = shortened(shown_at(attribute, domain.hierarchy(attribute), level), room - 36)
        width = text_width(text) + 24
        if left + width > x + room - 4 and left > x + 8:
            left, top = x + 8, top + _LINE
        chips.append({"text": text, "colour": colour[attribute], "x": round(left, 1), "y": round(top, 1)})
        left += width
        right = max(right, left)
    height = top + _LINE - y + 4
    elbow = None if above is None else (above["x"] + 12, above["y"] + above["height"], y + height / 2, x)
    return {
        "x": round(x, 1),
        "y": round(y, 1),
        "width": round(min(right - x + 2, room), 1),
        "height": round(height, 1),
        "chips": chips,
        "separator": shortened(separator, room - 60),
        "elbow": elbow and tuple(round(v, 1) for v in elbow),
    }


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
        """Where a number is drawn."""
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
    line = [(x.place(u), y.place(r)) for u, r in _finite(edge.outlined(_VERTICES))]
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


# Small pictures of a table: how values are distributed, and how they merge.

_LADDER = 640.0
_BEFORE_LADDER = 30.0
_ROW, _ROW_GAP = 22.0, 3.0
_SLIVER = 0.6
"""Pixels below which a group is drawn as part of a haze."""


def ladder_picture(hierarchy: Hierarchy, counts: CountArray, least: int) -> Shape:
    """The levels of an attribute, one below the other, the widths of their values by their rows: bars that merge.

    counts: rows of each base value. least: rows that a value needs not to be small. `value` of a block: at level 0 only.
    """
    height = hierarchy.height
    lifted = [hierarchy.lift(0, level) for level in range(height + 1)]
    order = np.lexsort(lifted)  # the coarsest decides first, the values' own order last
    room, total = _LADDER - _BEFORE_LADDER, max(int(counts.sum()), 1)
    row = _ROW if height <= 9 else max(9.0, 200.0 / height)
    blocks: list[Shape] = []
    for level in range(height + 1):
        codes = lifted[level][order]
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        sizes = np.add.reduceat(counts[order], starts)
        for number, (code, size, end) in enumerate(
            zip(codes[starts].tolist(), sizes.tolist(), sizes.cumsum().tolist())
        ):
            width = room * size / total
            if size == 0 or width < _SLIVER:
                continue
            label, is_small = hierarchy.labels[level][code], size < least
            blocks.append(
                {
                    "x": round(_BEFORE_LADDER + room * (end - size) / total, 2),
                    "y": round(level * (row + _ROW_GAP), 2),
                    "width": round(max(width - 0.8, 0.5), 2),
                    "height": row,
                    "text": label if row >= 14 and len(label) * 7.2 + 8 < width else "",
                    "title": f"{label}: " + (f"fewer than {least:,} rows" if is_small else number_of(size, "row")),
                    "colour": number % 2,
                    "small": is_small,
                    "value": "" if level else label,
                }
            )
    places = [(level, round(level * (row + _ROW_GAP) + row / 2 + 4, 1)) for level in range(height + 1)]
    sizes_of = ", ".join(str(hierarchy.size(level)) for level in range(height + 1))
    description = f"Values at each level, from the finest to the coarsest: {sizes_of}."
    return {"height": (height + 1) * (row + _ROW_GAP), "blocks": blocks, "levels": places, "description": description}
