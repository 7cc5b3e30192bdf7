"""Levels: how each attribute's values merge step by step, and how these steps are changed."""

import re
from bisect import bisect_right
from decimal import Decimal
from itertools import count
from urllib.parse import urlencode

import numpy as np
import tomlkit
from werkzeug.wrappers import Request, Response

from marginals.errors import InputError
from marginals.files import csv_text
from marginals.names import level_names, number_of
from marginals.tables.attribute import MISSING, Attribute
from marginals.tables.values import POINT, number_text
from marginals.window.project import put, section
from marginals.window.window import Window
from models.tables.hierarchy import SUPPRESSED, Hierarchy

_MOST_NAMED = 300


def show(window: Window, request: Request) -> Response:
    """The page of one attribute at one level."""
    counted = window.counting.table()
    table, config = counted.value, window.config()
    if table is None:
        return window.page("waiting.html", "levels", counted=counted, what="The rows are being counted.")
    names = [name for name in table.domain.attributes if name in config.source.used] or list(table.domain.attributes)
    name = request.args.get("attribute", names[0])
    if name not in names:
        raise InputError("there is no such attribute among those that are published")
    hierarchy = table.domain.hierarchy(name)
    level = min(max(request.args.get("level", 0, type=int), 0), hierarchy.height)
    base = table.cube.table(table.domain.mask({name: 0})).dense()
    counts = np.bincount(hierarchy.lift(0, level), base, minlength=hierarchy.size(level)).astype(np.int64).tolist()
    sizes = [f"fewer than {config.k:,} rows" if rows < config.k else number_of(rows, "row") for rows in counts]
    values = list(zip(hierarchy.labels[level], sizes))
    attribute = config.source.attributes.get(name, Attribute("ignored"))
    return window.page(
        "levels.html",
        "levels",
        counted=counted,
        names=names,
        name=name,
        level=level,
        hierarchy=hierarchy,
        level_labels=level_names(name, hierarchy),
        values=values[:_MOST_NAMED],
        word=table.codebook.in_words,
        editable=0 < hierarchy.size(level) <= _MOST_NAMED and level < hierarchy.height,
        are_numbers=bool(attribute.intervals) or all(map(POINT.is_number, hierarchy.labels[0][:50])),
    )


def save_cuts(window: Window, request: Request) -> Response:
    """Write a hierarchy file with bands between the numbers that somebody typed."""
    name = request.form.get("attribute", "")
    hierarchy = _hierarchy(window, name)
    numbers = [POINT.number(text) for text in re.split(r"[,;\s]+", request.form.get("cuts", "").strip()) if text]
    cuts = sorted({number for number in numbers if number is not None})
    if not cuts or None in numbers:
        raise InputError("type the numbers at which bands begin, such as 18, 65").about("cuts")
    values = {value: POINT.number(value) for value in hierarchy.labels[0] if value != MISSING}
    named = {value: _band(number, cuts) for value, number in values.items()}
    bands = [[value, named.get(value, value), SUPPRESSED] for value in hierarchy.labels[0]]
    return _write(window, request, name, bands, 1, f"{name} has the bands that you cut.")


def save_group(window: Window, request: Request) -> Response:
    """Put several values of a level into one group, which has a name; at level 0 the groups become a level of their own."""
    form, name, level = request.form, request.form.get("attribute", ""), request.form.get("level", 0, type=int)
    hierarchy, chosen = _hierarchy(window, name), set(form.getlist("value"))
    if not 0 <= level < hierarchy.height or not chosen <= set(hierarchy.labels[level]):
        raise InputError("the levels have changed since this page was loaded; load it again")
    group = " ".join(form.get("group", "").split())
    if group in ("", SUPPRESSED) or not chosen:
        raise InputError(f'tick the values that become one group, and give it a name other than "{SUPPRESSED}"').about(
            "group"
        )
    rows = [list(row) for row in hierarchy.rows()]
    for row in rows:
        grouped = group if row[level] in chosen else row[level]
        row[max(level, 1) : level + 1] = [grouped]
    return _write(window, request, name, rows, max(level, 1), f"The group {group} of {name} is written.")


def _write(window: Window, request: Request, name: str, rows: list[list[str]], level: int, sentence: str) -> Response:
    attribute = window.config().source.attributes.get(name)
    if attribute is not None and attribute.counts_missing:
        rows = [row for row in rows if row[0] != MISSING]  # it stays apart, whatever the file says
    _ = Hierarchy.from_rows(rows)
    stem = re.sub(r"[^a-z0-9._-]+", "_", name.lower()).strip("._-") or "column"
    free = (f"hierarchies/{stem}{f'_{number}' if number > 1 else ''}.csv" for number in count(1))
    path_now = window.file.plain.get("attributes", {}).get(name, {}).get("hierarchy")
    path = path_now or next(path for path in free if not window.project.inside(path).exists())

    def change(document: tomlkit.TOMLDocument) -> None:
        attribute_toml = section(document, "attributes", name)
        for key in ("intervals", "start", "prefixes", "dates", "ladder"):
            attribute_toml.pop(key, None)
        put(attribute_toml, "hierarchy", path)

    address = f"/levels?{urlencode({'attribute': name, 'level': level})}"
    return window.edit(request, change, address, {path: csv_text(rows, ";").encode()}, sentence)


def _hierarchy(window: Window, name: str) -> Hierarchy:
    counted = window.counting.table(5)
    if counted.value is None or not counted.current:
        raise InputError(counted.problem or "the rows are still being counted; try again in a moment")
    if name not in counted.value.domain.attributes:
        raise InputError("there is no such attribute among those that are published")
    return counted.value.domain.hierarchy(name)


def _band(value: Decimal | None, cuts: list[Decimal]) -> str:
    """Return the name of the band that a number is in: "under 18", "18-29", "65 and over"."""
    if value is None:
        raise InputError("bands are cut between numbers, and there is something else")
    place = bisect_right(cuts, value)
    if not place:
        return f"under {number_text(cuts[0])}"
    if place == len(cuts):
        return f"{number_text(cuts[-1])} and over"
    low, high = cuts[place - 1], cuts[place]
    if any(number % 1 for number in (value, *cuts)):
        return f"{number_text(low)}-<{number_text(high)}"
    return number_text(low) if high - low == 1 else f"{number_text(low)}-{number_text(high - 1)}"
