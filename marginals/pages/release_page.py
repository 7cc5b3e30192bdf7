"""The report of a release: one HTML page for whoever decides about it, made from what is published and nothing else.

It needs no network and no script, and the same release always gives the same bytes.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations, pairwise
from math import exp
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from checks.claims import AttributeClaim, CountClaim, listing
from marginals.attacks import published_attacks, small_below
from marginals.bundle.content import BundleContent
from marginals.ledger import turnover_in_words
from marginals.messages import installing
from marginals.names import assumed_independences, beside_name, level_name, margin_in_words, shown_at
from marginals.register_readers import NOT_EXAMINED
from marginals.say.attacks import attack_sentences
from marginals.say.claims import (
    claim_words,
    counts_below,
    finding_sentences,
    rule_words,
    sensitive_lines,
    together,
)
from marginals.say.sentences import by_readers
from marginals.say.table import part_in_words, unit_in_words
from marginals.tables.attribute import Role
from models.arrays import FloatArray
from models.errors import NotDecomposableError
from models.graphs.basis import Basis, Distinction, Kind, bases_of_pairs
from models.graphs.junction_tree import Collection
from models.inference.marginal_model import MarginalModel
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Domain, Hierarchy, Margin

if TYPE_CHECKING:
    import jinja2
    import networkx as nx


# Geometry of the two pictures of a collection: its interaction graph and its junction tree.
#
# Positions are in the pixels of a drawing `WIDTH` wide, which stays readable on a phone; the same collection is always
# drawn the same way.


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
    levels_of: dict[str, set[int]] = {}
    for margin in margins:
        for attribute, level in margin.items():
            levels_of.setdefault(attribute, set()).add(level)
    return {attribute: sorted(levels) for attribute, levels in levels_of.items()}


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
            if beside < above:
                push = math.copysign(beside / 2, across)
                xs[i], xs[j] = xs[i] + push, xs[j] - push
            else:
                push = math.copysign(above / 2, down)
                ys[i], ys[j] = ys[i] + push, ys[j] - push
        xs = [min(max(x, half + 2), WIDTH - half - 2) for x, half in zip(xs, wide)]
        ys = [min(max(y, half + 2), height - half - 2) for y, half in zip(ys, high)]
        if not moved:
            break
    return list(zip(xs, ys))


_GAP = 14.0, 18.0
"""Between boxes, across and down."""

_TOUCH = 0.1
"""By how much boxes may be too near."""


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
    start, top, right, bottom = capsule.x, capsule.y, capsule.x + capsule.width, capsule.y + capsule.height
    return Line(start, top, right, bottom), Line(start, bottom, right, top)


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


_LISTED = 16
"""Attributes with more values than this get a histogram instead of a bar for each."""

_DRAWN = 120
"""Histograms with more columns than this are drawn at a coarser level."""

_LAID_OUT = 1 << 18
"""Cells, empty ones included, for which it is worked out what attackers could conclude; more take too long to wait for."""

_FITTED = 1 << 14
"""The same where the tables form no junction tree, so that the cells are fitted step by step."""


@dataclass(frozen=True)
class Step:
    """One level of an attribute: an example of what a value becomes there, and whether some table shows it."""

    level: int
    example: str
    is_published: bool


@dataclass(frozen=True)
class Bar:
    """A value with its rows, its share of all rows, and its length in percent of the most frequent value's."""

    label: str
    rows: int
    percent: float
    length: float


@dataclass(frozen=True)
class AttributeReport:
    """An attribute: how its values may be generalized, and how they are distributed at the finest published level.

    description: in the steward's words.
    shown: the names of the published levels, finest first; empty for an attribute whose name says all. level: the name of
    that of the bars, None where nothing is published; finest: of the finest published. left_out: values beyond those that
    fit on the page.
    """

    name: str
    description: str
    is_sensitive: bool
    colour: int
    steps: tuple[Step, ...]
    shown: tuple[str, ...]
    finest: str | None
    level: str | None
    bars: tuple[Bar, ...]
    left_out: int
    left_out_rows: int

    @property
    def is_listed(self) -> bool:
        """Whether there are few enough values for a line each."""
        return len(self.bars) <= _LISTED

    @property
    def tallest(self) -> Bar:
        """The first of the most frequent values."""
        return max(self.bars, key=lambda bar: bar.rows)

    @property
    def empty(self) -> int:
        """How many of the values have no rows."""
        return sum(bar.rows == 0 for bar in self.bars)


@dataclass(frozen=True)
class MarginalReport:
    """A published table: its attributes with the name of the level and a colour, its cells, and its smallest class.

    is_further: whether it stands beside the core.
    """

    shown: tuple[tuple[str, str, int], ...]
    cells: int
    smallest: int | None
    is_further: bool = False


@dataclass(frozen=True)
class InformationBar:
    """What is told by some tables, in nats, and its length in percent of the longest bar."""

    label: str
    nats: float
    length: float


@dataclass(frozen=True)
class Analysed:
    """What the recipe for R analyses: the columns of a table and its outcome, as R writes their names."""

    columns: tuple[str, ...]
    outcome: str


def report_html(published: BundleContent) -> bytes:
    """The report of what is published, as HTML in UTF-8. It checks the claims first."""
    claims, attributes = _claims(published), _attributes(published)
    attacks = published_attacks(published, _LAID_OUT if published.collection.is_decomposable else _FITTED)
    return page(
        "report.html",
        title=published.title,
        imprint=published.imprint,
        install=installing(),
        rows=published.collection.cube.total,
        unit=unit_in_words(published.rows_per_person),
        part=part_in_words(published.where),
        turnover=turnover_in_words(published),
        people=published.most_rows_of_a_person,
        attributes=attributes,
        marginals=_marginals(published),
        claims=claims,
        rules=[rule_words(rule, published.sensitive) for rule in published.verify().rules],
        beside_rules=[claims[number] for number in beside_rules(published)],
        attackers=by_readers(attack_sentences(attacks)),
        not_for_register=together([reader.sensitive for reader in attacks.register if reader.basis == NOT_EXAMINED]),
        ruled_out=_ruled_out(published),
        overall=_overall(published),
        sensitive=published.sensitive,
        sensitive_together=together(published.sensitive),
        sensitive_names=listing(published.sensitive),
        summary=finding_sentences(published.verify().checks),
        sensitive_said=list(sensitive_lines(published.verify())),
        smallest=min(published.smallest_sensitive.values(), default=None),
        below=small_below(published),
        pairs=pairs_shown(published.everything),
        signs=SIGNS,
        information=_information(published),
        times=exp(min(published.information or 0.0, 700.0)),
        interaction=interaction_picture(published.everything),
        tree=_tree(published),
        independences=assumed_independences(published.everything),
        facts=_facts(published),
        further=len(published.further),
        example=_example(published),
        analysed=_analysed(published),
    )


def beside_rules(published: BundleContent) -> list[int]:
    """The positions of the claims that no named rule demands."""
    demanded = {claim for rule in published.rules for claim in rule.claims}
    return [number for number, claim in enumerate(published.claims) if claim not in demanded]


def _claims(published: BundleContent) -> list[dict[str, Any]]:
    findings = published.verify().checks
    return [claim_words(claim, finding, published.sensitive) for claim, finding in zip(published.claims, findings)]


def _attributes(published: BundleContent) -> list[AttributeReport]:
    levels = levels_shown(published.everything.margins)
    return [_attribute(published, name, levels.get(name, [])) for name in published.domain.attributes]


def _attribute(published: BundleContent, name: str, levels: list[int]) -> AttributeReport:
    hierarchy, words = published.domain.hierarchy(name), published.codebook
    description = words.description(name)
    sensitive, colour = published.roles[name] is Role.SENSITIVE, colours(published.domain)[name]
    if not levels:
        steps = _steps(hierarchy, 0, levels)
        return AttributeReport(name, description, sensitive, colour, steps, (), None, None, (), 0, 0)
    table = published.collection.cube.table(published.domain.mask({name: levels[0]}))
    level = _drawn_level(hierarchy, levels[0])
    steps = _steps(hierarchy, _telling_value(hierarchy, table), levels)
    steps = tuple(replace(step, example=words.in_words(name, step.example)) for step in steps)
    bars = [replace(bar, label=words.in_words(name, bar.label)) for bar in _bars(table, hierarchy, level)]
    drawn = bars if len(bars) <= _DRAWN else sorted(bars, key=lambda bar: -bar.rows)[:_LISTED]
    left_out_rows = table.total - sum(bar.rows for bar in drawn)
    names = [level_name(name, hierarchy, level) for level in levels]
    return AttributeReport(
        name,
        description,
        sensitive,
        colour,
        steps,
        tuple(beside_name(name, hierarchy, level) for level in levels),
        names[0],
        level_name(name, hierarchy, level),
        tuple(drawn),
        len(bars) - len(drawn),
        left_out_rows,
    )


def _telling_value(hierarchy: Hierarchy, table: ContingencyTable) -> int:
    """The base value that changes most often on its way to `*`, a frequent one at the finest published level."""
    rows = table.counts_of({table.attributes[0]: hierarchy.lift(0, table.margin[table.attributes[0]])})
    changes = np.zeros(hierarchy.size(0), dtype=np.int64)
    for below, above in pairwise(range(hierarchy.height + 1)):
        lower, upper = (np.array(hierarchy.labels[k], dtype=object)[hierarchy.lift(0, k)] for k in (below, above))
        changes += lower != upper
    return int(np.lexsort([-rows, -changes, rows == 0])[0])


def _steps(hierarchy: Hierarchy, base: int, published: list[int]) -> tuple[Step, ...]:
    path = [hierarchy.labels[level][int(hierarchy.lift(0, level)[base])] for level in range(hierarchy.height + 1)]
    return tuple(Step(level, label, level in published) for level, label in enumerate(path))


def _drawn_level(hierarchy: Hierarchy, finest: int) -> int:
    """The finest published level, or the first above it with few enough values that it still says something."""
    levels = range(finest, hierarchy.height)
    return next((level for level in levels if hierarchy.size(level) <= _DRAWN), finest)


def _bars(table: ContingencyTable, hierarchy: Hierarchy, level: int) -> list[Bar]:
    """A bar for each value of the level in the hierarchy's order, those without rows too."""
    codes = table.column(table.attributes[0], level)
    rows = np.bincount(codes, table.counts, minlength=hierarchy.size(level)).astype(np.int64)
    total, highest = max(table.total, 1), max(int(rows.max()), 1)  # a bundle of other programs may count no row
    return [
        Bar(label, count, round(100 * count / total, 2), round(100 * count / highest, 2))
        for label, count in zip(hierarchy.labels[level], rows.tolist())
    ]


def _marginals(published: BundleContent) -> list[MarginalReport]:
    colour = colours(published.domain)
    reports = []
    for table in published.everything.tables:
        public = {a: level for a, level in table.margin.items() if a not in published.sensitive}
        smallest = int(table.rolled_up(public).counts.min()) if public and len(table) else None
        columns = tuple(
            (a, beside_name(a, published.domain.hierarchy(a), table.margin[a]), colour[a]) for a in table.attributes
        )
        reports.append(MarginalReport(columns, len(table), smallest, table.mask in published.further))
    return reports


def _overall(published: BundleContent) -> Mapping[str, Mapping[str, float]]:
    """For each sensitive attribute the shares of its values among all rows, at the finest published level."""
    shares = {}
    for name in published.sensitive:
        levels = levels_shown(published.collection.margins).get(name)
        if levels:
            table = published.collection.cube.table(published.domain.mask({name: levels[0]}))
            shares[name] = {label: count / table.total for (label,), count in table.cells()}
    return shares


def _information(published: BundleContent) -> list[InformationBar]:
    """What the counts of each attribute by itself tell, and what the tables tell beyond; empty without a junction tree."""
    together = published.information
    if together is None:
        return []
    alone = max(MarginalModel(published.collection).total_information - together, 0.0)
    longest = max(alone, together, 1e-12)
    beyond = ", further tables aside" if published.further else ""
    bars = (("Each attribute by itself", alone), (f"How attributes go together{beyond}", together))
    return [InformationBar(label, nats, round(100 * nats / longest, 2)) for label, nats in bars]


def _tree(published: BundleContent) -> TreePicture | None:
    try:
        return tree_picture(published.collection)
    except NotDecomposableError:
        return None


def _facts(published: BundleContent) -> int | None:
    """The l - 1 of the weakest diversity that is claimed; None where none is claimed."""
    about = (claim for claim in published.claims if isinstance(claim, AttributeClaim))
    return min((claim.class_diversity.facts for claim in about if claim.class_diversity), default=None)


def _ruled_out(published: BundleContent) -> str:
    """The counts that certainly none has, in words; empty where no least count above 1 is claimed, or it is not proven."""
    judged = zip(published.claims, published.verify().checks)
    proven = [claim.least_cell for claim, finding in judged if isinstance(claim, CountClaim) and finding.holds]
    least = max((least for least in proven if least), default=1)
    return counts_below(least) if least > 1 else ""


def _example(published: BundleContent) -> str:
    """A margin to ask for, as Python: the first that a reader can cross-tabulate; of a release of no attribute, none."""
    margins = published.everything.margins
    return str(dict(next((margin for margin in margins if len(margin) == 2), margins[0] if margins else {})))


def _analysed(published: BundleContent) -> Analysed | None:
    """The smallest table with two attributes or more, one of them sensitive if possible, that all have several values.

    It is found by its attributes, so no table of the same ones may have one value only of any.
    """
    by_attributes: dict[tuple[str, ...], list[ContingencyTable]] = {}
    for table in published.everything.tables:
        by_attributes.setdefault(table.attributes, []).append(table)
    candidates = []
    for attributes, tables in by_attributes.items():
        if len(attributes) > 1 and all(np.unique(codes).size > 1 for table in tables for codes in table.codes):
            outcome = next((a for a in attributes if a in published.sensitive), attributes[-1])
            candidates.append((outcome not in published.sensitive, max(map(len, tables)), attributes, outcome))
    if not candidates:
        return None
    *_, attributes, outcome = min(candidates)
    return Analysed(tuple(map(_r_text, attributes)), _r_text(outcome))


def _r_text(text: str) -> str:
    """A text as R writes it, in characters that mean the same in every encoding."""
    plain = (c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\U{{{ord(c):x}}}" for c in text)
    return f'"{"".join(plain)}"'


_MATRIX = 24
"""Attributes beyond which pairs are counted and not drawn up as a table."""

UNPUBLISHED = "unpublished"
"""Of a pair with an attribute of which nothing is published."""

SIGNS: Mapping[str, str] = MappingProxyType(
    {Kind.PUBLISHED: "\u25cf", Kind.SUPPORTED: "\u25d0", Kind.ASSUMED: "\u25cb", UNPUBLISHED: "\u2013"}
)
"""How each kind is drawn: a full, a half and an empty circle, and a dash."""


@dataclass(frozen=True)
class Pair:
    """Two attributes, each at its finest published level.

    kind: one of `models.graphs.basis.Kind`, or `UNPUBLISHED`. shown: both in words, with the finest levels at which one
    table shows them, where one does. is_linked: whether other tables link two that are assumed.
    """

    names: tuple[str, str]
    kind: str
    shown: str = ""
    is_linked: bool = False


@dataclass(frozen=True)
class PairsShown:
    """All pairs of the attributes of a release. listed: none where there are too many to list."""

    attributes: tuple[str, ...]
    listed: tuple[Pair, ...]
    numbers: Mapping[str, int]

    @property
    def total(self) -> int:
        """How many pairs there are."""
        return sum(self.numbers.values())

    @property
    def kinds(self) -> Mapping[tuple[str, str], str]:
        """The kinds of the pairs that are listed, both ways round."""
        return {names: pair.kind for pair in self.listed for names in (pair.names, pair.names[::-1])}

    def of_kind(self, kind: str) -> tuple[Pair, ...]:
        """The pairs of a kind that are listed."""
        return tuple(pair for pair in self.listed if pair.kind == kind)


def pairs_shown(collection: Collection) -> PairsShown:
    """What each pair of attributes of the domain can be analysed by; it follows from the margins and their labels."""
    import networkx as nx

    domain = collection.domain
    finest = {a: level for a, level in collection.finest_levels.items() if level < domain.hierarchy(a).height}
    asked = {a: _distinction(domain.hierarchy(a), level) for a, level in finest.items()}
    bases = dict(bases_of_pairs(collection.margins, asked))
    names = [(a, b) for number, a in enumerate(domain.attributes) for b in domain.attributes[number + 1 :]]
    kinds = {pair: bases[pair].kind.value if pair in bases else UNPUBLISHED for pair in names}
    numbers = {kind: sum(pair_kind == kind for pair_kind in kinds.values()) for kind in SIGNS}
    if len(domain.attributes) > _MATRIX:
        return PairsShown(domain.attributes, (), numbers)
    linked: nx.Graph[str] = nx.Graph([pair for pair, basis in bases.items() if basis])
    linked.add_nodes_from(asked)
    part = {name: number for number, names in enumerate(nx.connected_components(linked)) for name in names}
    listed = tuple(
        Pair(pair, kind, _in_words(bases[pair], pair, domain), part[pair[0]] == part[pair[1]])
        if pair in bases
        else Pair(pair, kind)
        for pair, kind in kinds.items()
    )
    return PairsShown(domain.attributes, listed, numbers)


def _distinction(hierarchy: Hierarchy, level: int) -> Distinction:
    """Between the values of a level; one with a single value is told of by every table that holds it."""
    coarsest = hierarchy.height - 1
    return Distinction.of_level(hierarchy, level) or Distinction(coarsest, coarsest)


def _in_words(basis: Basis, pair: tuple[str, str], domain: Domain) -> str:
    tables = (" with ".join(shown_at(a, domain.hierarchy(a), margin[a]) for a in pair) for margin in basis.shown)
    return "; or ".join(tables)


def page(name: str, **content: Any) -> bytes:
    """The page of a template, filled in, in UTF-8."""
    # A name from somebody else's file may hold half a surrogate pair, which no file can hold.
    return _environment().get_template(name).render(content).encode("utf-8", "replace")


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("marginals.pages", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
