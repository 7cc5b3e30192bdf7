"""Geometry of the two pictures of a collection: its interaction graph and its junction tree.

Positions are in the pixels of a drawing `WIDTH` wide, which stays readable on a phone; the same collection is always
drawn the same way.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from marginals.names.level_names import margin_in_words, shown_at
from models.arrays import FloatArray
from models.graphs.collection import Collection
from models.tables.domain import Domain
from models.tables.margin import Margin

if TYPE_CHECKING:
    import networkx as nx

WIDTH = 380.0

Point: TypeAlias = tuple[float, float]
"""A place in the drawing, or a width and a height."""

_LINE = 22.0
_CROWD = 60
"""Attributes beyond which the interaction graph is drawn in the quick way."""

_ROUNDS = 200
"""How often boxes are moved apart at most; a tenth of that where they are a crowd."""

_TURNS = 12
"""Angles tried for the interaction graph; half a turn in all, as the other half is the same upside down."""

_NARROW, _WIDE = frozenset("fijlrt.,:;|!'()[]-1 "), frozenset("mwMW@%")


@dataclass(frozen=True)
class Bead:
    """One level of an attribute that some margin shows."""

    level: int
    x: float
    y: float


@dataclass(frozen=True)
class Capsule:
    """An attribute, with a bead for each level shown."""

    attribute: str
    name: str
    colour: int
    x: float
    y: float
    width: float
    height: float
    beads: tuple[Bead, ...]


@dataclass(frozen=True)
class Line:
    """From one point to another."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class InteractionPicture:
    """The interaction graph: attributes that are published together are joined, at the finest levels they are.

    An edge between two levels stands for those between all coarser ones, which a collection always has with it.
    """

    height: float
    capsules: tuple[Capsule, ...]
    edges: tuple[Line, ...]
    description: str


@dataclass(frozen=True)
class Chip:
    """An attribute at a level, inside a box."""

    text: str
    colour: int
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Box:
    """A margin of the junction tree; `separator` is what it shares with the box that the elbow leads up to."""

    x: float
    y: float
    width: float
    height: float
    chips: tuple[Chip, ...]
    separator: str
    elbow: tuple[float, float, float, float] | None


@dataclass(frozen=True)
class TreePicture:
    """The junction tree, each margin below the one it hangs on and indented."""

    height: float
    boxes: tuple[Box, ...]
    description: str


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


def levels_shown(margins: Sequence[Margin]) -> dict[str, list[int]]:
    """For each attribute that some margin shows, the levels at which one does, finest first."""
    shown: dict[str, set[int]] = {}
    for margin in margins:
        for attribute, level in margin.items():
            shown.setdefault(attribute, set()).add(level)
    return {attribute: sorted(levels) for attribute, levels in shown.items()}


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


def interaction_picture(collection: Collection) -> InteractionPicture:
    """The interaction graph of a collection.

    Attributes are placed by the method of Kamada and Kawai (1989), turned so that edges run clear of what they do not
    join and of each other, as far as a turn can help. More than 60 attributes are placed by classical scaling
    (Torgerson 1952) and not turned: the other way takes minutes for hundreds, and helps nobody to read the picture.
    """
    import networkx as nx

    levels = levels_shown(collection.margins)
    order = [attribute for attribute in collection.domain.attributes if attribute in levels]
    if not order:
        return InteractionPicture(60.0, (), (), "No attribute is published.")
    pairs = finest_pairs(collection.margins)
    names = {attribute: shortened(attribute, 130) for attribute in order}
    colour = colours(collection.domain)
    sizes = [(max(text_width(names[a]), 24.0 * len(levels[a])) + 20, 50.0) for a in order]
    height = min(140.0 + 44 * len(order), 420 + 20.0 * len(order))

    def drawn(centres: Sequence[Point]) -> InteractionPicture:
        capsules = tuple(
            _capsule(attribute, names[attribute], colour[attribute], centre, size, levels[attribute])
            for attribute, centre, size in zip(order, centres, sizes)
        )
        beads = {(capsule.attribute, bead.level): bead for capsule in capsules for bead in capsule.beads}
        ends = [(beads[a, i], beads[b, j]) for a, i, b, j in pairs]
        lines = tuple(Line(one.x, one.y, other.x, other.y) for one, other in ends)
        return InteractionPicture(height, capsules, lines, sentence or "No two attributes are published together.")

    of = collection.domain.hierarchy
    sentence = "; ".join(f"{shown_at(a, of(a), i)} with {shown_at(b, of(b), j)}" for a, i, b, j in pairs)
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(order)
    graph.add_edges_from((a, b) for a, _, b, _ in pairs)
    spots = _placed(graph)
    turns = [math.pi * turn / _TURNS for turn in range(_TURNS if 2 < len(order) <= _CROWD else 1)]
    pictures = [drawn(_apart(_stretched(_turned(spots, angle), height), sizes, height)) for angle in turns]
    return pictures[0] if len(pictures) == 1 else min(pictures, key=lambda picture: _clutter(picture, pairs))


def _capsule(attribute: str, name: str, colour: int, centre: Point, size: Point, levels: Sequence[int]) -> Capsule:
    (x, y), (width, height) = centre, size
    first = x - 12.0 * (len(levels) - 1)
    beads = tuple(Bead(level, round(first + 24 * n, 1), round(y + 10, 1)) for n, level in enumerate(levels))
    left, top = round(x - width / 2, 1), round(y - height / 2, 1)
    return Capsule(attribute, name, colour, left, top, round(width, 1), height, beads)


def _placed(graph: "nx.Graph[str]") -> list[Point]:
    """A place for each node, in a plane without a scale."""
    import networkx as nx

    if len(graph) < 2:
        return [(0.0, 0.0)] * len(graph)
    lengths = {a: dict(row) for a, row in nx.all_pairs_shortest_path_length(graph)}
    apart = max(max(row.values()) for row in lengths.values()) + 1
    distances = {a: {b: lengths[a].get(b, apart) for b in graph} for a in graph}
    if len(graph) > _CROWD:
        return _scaled(np.array([list(row.values()) for row in distances.values()], dtype=np.float64))
    layout = nx.kamada_kawai_layout(graph, dist=distances)
    return [(float(layout[node][0]), float(layout[node][1])) for node in graph]


def _scaled(distances: FloatArray) -> list[Point]:
    """Classical scaling: the plane in which points lie farthest apart that have these distances (Torgerson 1952)."""
    squares = distances**2
    centred = -(squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    axes = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    # An axis may point either way; the point that is farthest out is always on the same side.
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return [(float(x), float(y)) for y, x in axes]


def _turned(spots: Sequence[Point], angle: float) -> list[Point]:
    sine, cosine = math.sin(angle), math.cos(angle)
    return [(x * cosine - y * sine, x * sine + y * cosine) for x, y in spots]


def _stretched(spots: Sequence[Point], height: float) -> list[Point]:
    """The places spread over the drawing, in both directions."""
    axes = []
    for axis, whole, margin in ((0, WIDTH, 65), (1, height, 30)):
        low, high = min(spot[axis] for spot in spots), max(spot[axis] for spot in spots)
        room = whole - 2 * margin
        axes.append([margin + room * ((s[axis] - low) / (high - low) if high - low > 1e-6 else 0.5) for s in spots])
    return list(zip(*axes))


def _apart(centres: Sequence[Point], sizes: Sequence[Point], height: float) -> list[Point]:
    """The boxes moved apart where they overlap, one pair after the other, and into the drawing."""
    places, boxes = np.array(centres, dtype=np.float64), np.array(sizes, dtype=np.float64)
    gap = np.array([14.0, 18.0])
    low, high = boxes / 2 + 2, np.array([WIDTH, height]) - boxes / 2 - 2
    for _ in range(_ROUNDS if len(places) <= _CROWD else _ROUNDS // 10):
        moved = False
        for i in range(len(places)):
            j = i + 1
            while j < len(places):
                overlap = (boxes[i] + boxes[j:]) / 2 + gap - np.abs(places[i] - places[j:])
                colliding = (overlap > 0.1).all(axis=1)
                first = int(colliding.argmax())
                if not colliding[first]:
                    break
                j += first
                axis = 0 if overlap[first, 0] < overlap[first, 1] else 1
                push = math.copysign(overlap[first, axis] / 2, places[i, axis] - places[j, axis])
                places[i, axis] += push
                places[j, axis] -= push
                moved = True
                j += 1
        places = np.minimum(np.maximum(places, low), high)
        if not moved:
            break
    return [(float(x), float(y)) for x, y in places]


def _clutter(picture: InteractionPicture, pairs: Sequence[tuple[str, int, str, int]]) -> int:
    """How much there is to confuse a reader: edges that run over attributes they do not join, edges that cross."""
    ends = [{a, b} for a, _, b, _ in pairs]
    over = sum(
        _crosses(edge, diagonal)
        for edge, joined in zip(picture.edges, ends)
        for capsule in picture.capsules
        if capsule.attribute not in joined
        for diagonal in _diagonals(capsule)
    )
    drawn = list(zip(picture.edges, ends))
    return 2 * over + sum(_crosses(e, f) for (e, a), (f, b) in combinations(drawn, 2) if not a & b)


def _diagonals(capsule: Capsule) -> tuple[Line, Line]:
    left, top, right, bottom = capsule.x, capsule.y, capsule.x + capsule.width, capsule.y + capsule.height
    return Line(left, top, right, bottom), Line(left, bottom, right, top)


def _crosses(one: Line, other: Line) -> bool:
    def side(line: Line, x: float, y: float) -> float:
        return (line.x2 - line.x1) * (y - line.y1) - (line.y2 - line.y1) * (x - line.x1)

    return (
        side(one, other.x1, other.y1) * side(one, other.x2, other.y2) < 0
        and side(other, one.x1, one.y1) * side(other, one.x2, one.y2) < 0
    )


def tree_picture(collection: Collection) -> TreePicture:
    """The junction tree of a decomposable collection, from a centre of each connected part down."""
    import networkx as nx

    tree = collection.junction_tree.graph()
    words = partial(margin_in_words, domain=collection.domain)
    boxes: list[Box] = []
    sentences: list[str] = []
    y = 4.0
    for part in nx.connected_components(tree):
        inside = tree.subgraph(part)
        root = min(nx.center(inside), key=lambda margin: (-len(margin), tuple(margin.items())))
        depths = nx.single_source_shortest_path_length(inside, root)
        step = min(26.0, 150 / max(1, *depths.values()))
        place: dict[Margin, Box] = {}
        parents = {child: parent for parent, child in nx.dfs_edges(inside, root, sort_neighbors=_sorted)}
        for margin in nx.dfs_preorder_nodes(inside, root, sort_neighbors=_sorted):
            parent = parents.get(margin)
            separator = "" if parent is None else words(inside.edges[parent, margin]["separator"])
            y += 22 if parent is not None else 0
            x = 4 + step * depths[margin]
            above = None if parent is None else place[parent]
            box = _box(margin, x, y, collection.domain, separator, above)
            place[margin] = box
            boxes.append(box)
            y = box.y + box.height + 6
            sentences.append(words(margin) + (f", which shares {separator} with {words(parent)}" if parent else ""))
        y += 12
    return TreePicture(round(y, 1), tuple(boxes), "; ".join(sentences))


def _sorted(margins: Iterable[Margin]) -> list[Margin]:
    return sorted(margins, key=lambda margin: tuple(margin.items()))


def _box(margin: Margin, x: float, y: float, domain: Domain, separator: str, above: Box | None) -> Box:
    room, colour = WIDTH - x - 4, colours(domain)
    chips: list[Chip] = []
    left, top, right = x + 8, y + 6, x + 8
    for attribute, level in margin.items():
        text = shortened(shown_at(attribute, domain.hierarchy(attribute), level), room - 36)
        width = text_width(text) + 24
        if left + width > x + room - 4 and left > x + 8:
            left, top = x + 8, top + _LINE
        chips.append(Chip(text, colour[attribute], round(left, 1), round(top, 1), round(width, 1)))
        left += width
        right = max(right, left)
    height = top + _LINE - y + 4
    elbow = None if above is None else (above.x + 12, above.y + above.height, y + height / 2, x)
    return Box(
        round(x, 1),
        round(y, 1),
        round(min(right - x + 2, room), 1),
        round(height, 1),
        tuple(chips),
        shortened(separator, room - 60),
        None if elbow is None else tuple(round(v, 1) for v in elbow),  # type: ignore[arg-type]
    )
