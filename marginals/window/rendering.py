"""Pages of the window: filled templates, pictures, and forms that keep what was typed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape, unescape
from html.parser import HTMLParser
from importlib.resources import files
from math import isfinite, log
from typing import TYPE_CHECKING, Any

import numpy as np

from marginals.errors import InputError
from marginals.names import level_name, margin_in_words, number_of, shown_at
from marginals.pages.release_page import SIGNS, UNPUBLISHED, PairsShown
from models.arrays import CountArray
from models.errors import MarginalsError
from models.graphs.basis import Kind
from models.tables.hierarchy import Hierarchy

if TYPE_CHECKING:
    import jinja2


def rendered(name: str, /, **content: Any) -> bytes:
    """A template, filled in, in UTF-8."""
    return _environment().get_template(name).render(content).encode("utf-8", "replace")


NOTHING = "\N{EN DASH}"
"""What stands in a table where there is no number."""

TIMES = " \N{MULTIPLICATION SIGN} "
"""What stands between attributes that are in one table."""


@cache
def style_sheet() -> bytes:
    """The style of reports, and what the window adds to it."""
    return rendered("style.css")


@cache
def script() -> bytes:
    """What makes pages quicker where scripts run."""
    return files("marginals.window.templates").joinpath("window.js").read_bytes()


def prepare() -> None:
    """Compile all templates, before the first page asks for one."""
    for name in _environment().list_templates(extensions=["html"]):
        if (files("marginals.window.templates") / name).is_file():
            _environment().get_template(name)
    style_sheet()


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    places = [jinja2.PackageLoader("marginals.window"), jinja2.PackageLoader("marginals.pages", "templates")]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(places),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["percent"] = lambda share: f"{100 * share:.3g} %"
    environment.filters["short"] = lambda number: NOTHING if number is None else f"{number:.3g}"
    environment.globals.update(shown_at=shown_at, level_name=level_name, margin_in_words=margin_in_words)
    return environment


WIDTH = 640.0
_ROW, _GAP = 22.0, 3.0
_LEFT_MARGIN = 30.0
_SLIVER = 0.6
"""Pixels below which a group is drawn as part of a haze."""


@dataclass(frozen=True)
class Block:
    """A rectangle. text: inside of it where it fits, else empty. title: what it is. colour: of two. small: of few rows.

    value: the value that it stands for at level 0; empty for other levels.
    """

    x: float
    y: float
    width: float
    height: float
    text: str
    title: str
    colour: int
    small: bool = False
    value: str = ""


@dataclass(frozen=True)
class LadderPicture:
    """The levels of an attribute, one below the other, the widths of their values by their rows: bars that merge."""

    height: float
    blocks: tuple[Block, ...]
    levels: tuple[tuple[int, float], ...]
    description: str


@dataclass(frozen=True)
class Bar:
    """A value of a level. length: in percent of the longest."""

    label: str
    count: int
    length: float


def columns_picture(shape: Sequence[int]) -> tuple[tuple[float, float, float, float], ...]:
    """Columns of a small picture 100 wide and 24 high: x, y, width and height of each."""
    if not shape:
        return ()
    highest, wide = max(shape) or 1, 100 / len(shape)
    return tuple(
        (
            round(n * wide, 2),
            round(24 - 24 * count / highest, 2),
            round(max(wide * 0.86, 0.5), 2),
            round(24 * count / highest, 2),
        )
        for n, count in enumerate(shape)
    )


def ladder_picture(hierarchy: Hierarchy, counts: CountArray, least: int) -> LadderPicture:
    """How an attribute's values merge from level to level.

    counts: rows of each base value, shape (size of level 0,). least: rows that a value needs not to be small.
    """
    height = hierarchy.height
    lifted = [hierarchy.lift(0, level) for level in range(height + 1)]
    order = np.lexsort(lifted)  # the coarsest decides first, the values' own order last
    total = max(int(counts.sum()), 1)
    room = WIDTH - _LEFT_MARGIN
    row = _ROW if height <= 9 else max(9.0, 200.0 / height)
    blocks: list[Block] = []
    for level in range(height + 1):
        codes = lifted[level][order]
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        sizes = np.add.reduceat(counts[order], starts)
        ends = np.cumsum(sizes)
        y = level * (row + _GAP)
        for number, (code, size, end) in enumerate(zip(codes[starts].tolist(), sizes.tolist(), ends.tolist())):
            width = room * size / total
            if size == 0 or width < _SLIVER:
                continue
            label = hierarchy.labels[level][code]
            fits = row >= 14 and len(label) * 7.2 + 8 < width
            is_small = size < least
            title = f"{label}: fewer than {least:,} rows" if is_small else f"{label}: {number_of(size, 'row')}"
            x = _LEFT_MARGIN + room * (end - size) / total
            blocks.append(
                Block(
                    round(x, 2),
                    round(y, 2),
                    round(max(width - 0.8, 0.5), 2),
                    row,
                    label if fits else "",
                    title,
                    number % 2,
                    is_small,
                    label if level == 0 else "",
                )
            )
    places = tuple((level, round(level * (row + _GAP) + row / 2 + 4, 1)) for level in range(height + 1))
    sizes_of = ", ".join(str(hierarchy.size(level)) for level in range(height + 1))
    return LadderPicture(
        (height + 1) * (row + _GAP),
        tuple(blocks),
        places,
        f"Values at each level, from the finest to the coarsest: {sizes_of}.",
    )


def bars(labels: Sequence[str], counts: CountArray, most: int) -> list[Bar]:
    """A bar for each value that has rows, of the first so many."""
    highest = max(int(counts.max(initial=0)), 1)
    with_rows = np.flatnonzero(counts)[:most].tolist()
    return [Bar(labels[code], int(counts[code]), round(100 * int(counts[code]) / highest, 2)) for code in with_rows]


@dataclass(frozen=True)
class PairCell:
    """A pair of attributes in a picture. kind: as of `Pair`; sign: how the report draws it."""

    x: int
    y: int
    kind: str
    sign: str
    title: str


@dataclass(frozen=True)
class PairsPicture:
    """Which pairs of attributes a release shows: half of a square, a cell each. names: of its rows, and where they end."""

    width: int
    height: int
    cells: tuple[PairCell, ...]
    names: tuple[tuple[int, int, str], ...]
    description: str


_CELL, _NAME = 16, 104
"""Width of a cell of a picture of pairs, and of the names before it."""

KINDS_IN_WORDS = {
    Kind.PUBLISHED.value: "exact, in one table",
    Kind.SUPPORTED.value: "supported by several tables",
    Kind.ASSUMED.value: "lost: taken for independent, given what tables share",
    UNPUBLISHED: "lost: nothing is published of one",
}
"""What a pair of each kind can be analysed by."""

ANALYSABLE = (Kind.PUBLISHED.value, Kind.SUPPORTED.value)
"""Kinds of pairs that tables tell something of."""


def pairs_picture(pairs: PairsShown) -> PairsPicture:
    """The picture of all pairs; without cells where there are too many attributes."""
    attributes, kinds = pairs.attributes, pairs.kinds
    cells = tuple(
        PairCell(
            _NAME + column * _CELL,
            row * _CELL,
            kinds[a, b],
            SIGNS[kinds[a, b]],
            f"{a}, {b}: {KINDS_IN_WORDS[kinds[a, b]]}",
        )
        for row, a in enumerate(attributes)
        for column, b in enumerate(attributes[:row])
        if pairs.listed
    )
    short = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}" for name in attributes]
    names = tuple((_NAME - 6, row * _CELL + 12, name) for row, name in enumerate(short) if pairs.listed)
    lost = pairs.total - sum(pairs.numbers[kind] for kind in ANALYSABLE)
    exact, supported = (pairs.numbers[kind] for kind in ANALYSABLE)
    description = f"Of {number_of(pairs.total, 'pair')}: {exact:,} exact, {supported:,} supported, {lost:,} lost."
    return PairsPicture(_NAME + len(attributes) * _CELL, len(attributes) * _CELL, cells, names, description)


_LONGEST = 15
"""Letters of a name in a picture of pairs."""


@dataclass(frozen=True)
class Dot:
    """A release in the picture of a frontier."""

    x: float
    y: float
    series: int
    title: str
    name: str = ""


@dataclass(frozen=True)
class FrontierPicture:
    """k against the divergence from the data: a line for each diversity, and a dot for each candidate."""

    height: float
    lines: tuple[tuple[int, str], ...]
    dots: tuple[Dot, ...]
    candidates: tuple[Dot, ...]
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]
    legend: tuple[tuple[int, str], ...]


def frontier_picture(
    rows: Sequence[Mapping[str, Any]], candidates: Sequence[tuple[str, int, float]]
) -> FrontierPicture | None:
    """The picture of a grid of policies; None where nothing of it can be published.

    rows: of `marginals.frontier`, without what it found nothing for. candidates: name, k and divergence of each.
    """
    shown_rows = [row for row in rows if row["kl_divergence"] is not None and isfinite(row["kl_divergence"])]
    if not shown_rows:
        return None
    ks = sorted({int(row["k"]) for row in shown_rows} | {max(k, 1) for _, k, _ in candidates})
    values = [row["kl_divergence"] for row in shown_rows] + [value for *_, value in candidates]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    left, right, top, bottom = 56.0, WIDTH - 16, 12.0, 268.0

    def x(k: int) -> float:
        return left + (right - left) * (log(max(k, 1) / ks[0]) / log(ks[-1] / ks[0]) if ks[-1] > ks[0] else 0.5)

    def y(value: float) -> float:
        return float(bottom - (bottom - top) * (value - low) / span)

    series = list(dict.fromkeys(row["diversity"] for row in shown_rows))
    lines, dots = [], []
    for number, diversity in enumerate(series):
        diversity_rows = sorted((row for row in shown_rows if row["diversity"] == diversity), key=lambda row: row["k"])
        lines.append(
            (number % 10, " ".join(f"{x(row['k']):.1f},{y(row['kl_divergence']):.1f}" for row in diversity_rows))
        )
        dots += [
            Dot(
                round(x(row["k"]), 1), round(y(row["kl_divergence"]), 1), number % 10,
                f"k = {row['k']}, {diversity}: {row['kl_divergence']:.3f} nats, {row['margins']} tables",
            )
            for row in diversity_rows
        ]  # fmt: skip
    placed = tuple(
        Dot(round(x(k), 1), round(y(value), 1), 0, f"candidate {name}: {value:.3f} nats", name)
        for name, k, value in candidates
    )
    steps = [low + span * n / 4 for n in range(5)]
    return FrontierPicture(
        300.0,
        tuple(lines),
        tuple(dots),
        placed,
        tuple((round(x(k), 1), str(k)) for k in ks),
        tuple((round(y(value), 1), f"{value:.2f}") for value in steps),
        tuple((number % 10, diversity) for number, diversity in enumerate(series)),
    )


_REFUSED = "refused"
"""The id of the sentence that says what is wrong with a field."""

_UNMARKED = frozenset({"hidden", "checkbox", "radio"})
"""Inputs into which nothing is typed."""

_NEVER_REFILLED = frozenset({"hidden", "submit", "button", "file", "password"})
"""Inputs that are what the page says, or that no page may repeat."""


class FieldError(InputError):
    """What was typed into a field of a form makes no sense. field: its name; place: which of several of that name."""

    def __init__(self, field: str, sentence: str, place: int = 0) -> None:
        super().__init__(sentence)
        self.field, self.place = field, place


def refusal_at(error: MarginalsError | None, sentence: str, fields: Sequence[str]) -> FieldError | None:
    """A refusal with the field that it is about: the error says so, or its sentence names one of the fields as a key.

    >>> refusal_at(None, "privacy.k_link must be at least 2, got 1", ["k_link", "min_cell"]).field
    'k_link'
    """
    if isinstance(error, FieldError):
        return FieldError(error.field, sentence, error.place)
    keys = {*re.findall(r"\.(\w+)", sentence), *re.findall(r"\w+_\w+|(?:^|(?<=: ))\w+", sentence)}
    named = next((field for field in fields if field in keys), None)
    return None if named is None else FieldError(named, sentence)


def refilled(page: str, action: str, typed: Mapping[str, Sequence[str]], refusal: FieldError | None = None) -> str:
    """A page whose form with this action holds what was typed; any other page as it is.

    typed: the texts of each field, as a browser sends them: a box that is not ticked is not among them. refusal: its
    sentence stands behind its field, which is marked, and what the form is folded into is unfolded.

    >>> refilled('<form action="/save"><input name="k" value="10"></form>', "/save", {"k": ["ten"]})
    '<form action="/save"><input name="k" value="ten"></form>'
    """
    form = _Form(action, typed, refusal)
    form.feed(page)
    form.close()
    return "".join(form.parts)


class _Form(HTMLParser):
    """Copies a page, but for the fields of one form."""

    def __init__(self, action: str, typed: Mapping[str, Sequence[str]], refusal: FieldError | None = None) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[str] = []
        self._action = action
        self._typed = {name: list(texts) for name, texts in typed.items()}
        self._is_inside = False
        self._is_replaced = False
        self._chosen: Sequence[str] | None = None
        self._option: tuple[int, dict[str, str | None]] | None = None
        self._refusal, self._of_name = refusal, 0
        self._folded: list[tuple[int, dict[str, str | None]]] = []
        self._said_after = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Copy a tag, or what was typed instead."""
        attributes = dict(attrs)
        if tag == "details":
            self._folded.append((len(self.parts), attributes))
        if tag == "form":
            self._is_inside = attributes.get("action") == self._action
            if self._is_inside and self._refusal is not None:
                self._unfold()
        if not self._is_inside or tag not in ("input", "select", "textarea", "option"):
            self._copy(self.get_starttag_text() or "")
            return
        typed = self._typed.get(attributes.get("name") or "")
        is_refused = tag != "option" and self._is_refused(attributes)
        if tag == "select":
            self._chosen = typed
        elif tag == "option" and self._chosen is not None:
            self._option = len(self.parts), attributes
        elif tag == "input" and attributes.get("type") in ("checkbox", "radio"):
            _mark(attributes, "checked", (attributes.get("value") or "on") in (typed or ()))
        elif (
            tag == "input"
            and typed
            and (attributes.get("type") not in _NEVER_REFILLED or attributes["name"] == "version")
        ):
            attributes["value"] = typed.pop(0)
        self._copy(_tag(tag, attributes))
        if is_refused and tag == "input":
            self._say()
        elif is_refused:
            self._said_after = tag
        if tag == "textarea" and typed:
            self._copy(f"\n{escape(typed.pop(0))}")
            self._is_replaced = True

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        """Copy the end of an element; an option's text is its value where it has no other."""
        if tag == "option" and self._option is not None:
            place, option_attributes = self._option
            value = option_attributes.get("value")
            text = unescape("".join(self.parts[place + 1 :])).strip() if value is None else value
            _mark(option_attributes, "selected", text in (self._chosen or ()))
            self.parts[place], self._option = _tag(tag, option_attributes), None
        if tag == "textarea":
            self._is_replaced = False
        self._copy(f"</{tag}>")
        if tag == "details" and self._folded:
            self._folded.pop()
        if tag == self._said_after:
            self._said_after = ""
            self._say()
        self._is_inside = self._is_inside and tag != "form"
        self._chosen = None if tag == "select" else self._chosen

    def handle_data(self, data: str) -> None:
        """Copy a text, unless another was typed in its place."""
        self._copy(data)

    def handle_entityref(self, name: str) -> None:
        """Copy a character that is written as a name."""
        self._copy(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Copy a character that is written as a number."""
        self._copy(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        """Copy what says that this is a page."""
        self._copy(f"<!{decl}>")

    def handle_comment(self, data: str) -> None:
        """Copy a comment."""
        self._copy(f"<!--{data}-->")

    def _is_refused(self, attributes: dict[str, str | None]) -> bool:
        """Whether a field is the one that was refused, which is then marked."""
        refusal = self._refusal
        if refusal is None or attributes.get("type") in _UNMARKED or attributes.get("name") != refusal.field:
            return False
        self._of_name += 1
        if self._of_name != refusal.place + 1:
            return False
        described = attributes.get("aria-describedby")
        attributes["aria-invalid"] = "true"
        attributes["aria-describedby"] = f"{described} {_REFUSED}" if described else _REFUSED
        self._unfold()
        return True

    def _say(self) -> None:
        """The sentence, in an element that may stand wherever a field may."""
        self._copy(f'<span class="wrong" id="{_REFUSED}">{escape(str(self._refusal))}</span>')

    def _unfold(self) -> None:
        for place, attributes in self._folded:
            _mark(attributes, "open", is_set=True)
            self.parts[place] = _tag("details", attributes)

    def _copy(self, text: str) -> None:
        if not self._is_replaced:
            self.parts.append(text)


def _mark(attributes: dict[str, str | None], name: str, is_set: bool) -> None:
    if is_set:
        attributes[name] = None
    else:
        attributes.pop(name, None)


def _tag(name: str, attributes_given: Mapping[str, str | None]) -> str:
    attributes = (
        f" {key}" if value is None else f' {key}="{escape(value)}"' for key, value in attributes_given.items()
    )
    return f"<{name}{''.join(attributes)}>"
