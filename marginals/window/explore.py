"""Explore a release: tables of any attributes at any level, each with its kind of answer and bounds."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from werkzeug.wrappers import Request, Response

from marginals.cross_tables import table
from marginals.errors import InputError
from marginals.names import level_names, shown_at
from marginals.pages.release_page import lengths
from marginals.release.release import Release, open_release
from marginals.say.answers import basis_line
from marginals.tables.attribute import Codebook
from marginals.tables.values import number_in
from marginals.window.project import releases_in
from marginals.window.window import Window
from models.errors import MarginalsError

if TYPE_CHECKING:
    import pandas as pd

MOST_CELLS = 20_000
"""Cells of a table that is worked out, at most."""

_SHOWN = 300
"""Rows of a table that a page shows; the file has all."""


@dataclass(frozen=True)
class CrossTabAnswer:
    """The attributes of a table with their levels, and what the release says of them.

    meaning: what the answer rests on. sentence: why there is no table; empty where there is one.
    """

    margin: Mapping[str, int]
    frame: "pd.DataFrame | None" = None
    kind: str = ""
    meaning: str = ""
    sentence: str = ""


def show(window: Window, request: Request) -> Response:
    """The page."""
    there = releases_in(window.project)
    if not there:
        said = "There is no release in this folder yet. Publish one, then explore it here."
        return window.page("sentence.html", "explore", frameless=False, name="Explore a release", sentence=said)
    name, release = _release(window, request)
    finest, domain = _published_levels(release), release.domain
    margin = _margin(request, release, finest) or _first(release)
    asked = answered(release, margin)
    return window.page(
        "explore.html",
        "explore",
        releases=there,
        name=name,
        release=release,
        attributes=[
            {
                "name": a,
                "levels": list(enumerate(level_names(a, domain.hierarchy(a))))[least : domain.hierarchy(a).height],
                "chosen": margin.get(a),
                "is_sensitive": a in release.published.sensitive,
            }
            for a, least in finest.items()
        ],
        unpublished=list(release.published.unpublished),
        asked=asked,
        title=_words(release, margin),
        cells=cells(asked, release.published.codebook),
        more=max(0, (0 if asked.frame is None else len(asked.frame)) - _SHOWN),
        python=python(name, margin),
        query=_query(name, margin),
        tables=[(_query(name, m), _words(release, m)) for m in release.published.everything.margins],
    )


def _release(window: Window, request: Request) -> tuple[str, Release]:
    there = releases_in(window.project)
    name = request.args.get("release", there[0] if there else "")
    if name not in there:
        raise InputError("there is no such release in the folder")
    return name, opened(window, name)


def _query(name: str, margin: Mapping[str, int]) -> str:
    return urlencode([("release", name), *((f"level:{a}", level) for a, level in margin.items())])


def opened(window: Window, name: str) -> Release:
    """A release of the folder; kept until its files change."""
    folder = window.project.release or window.project.inside(name)
    return _opened(folder, (folder / "datapackage.json").stat().st_mtime_ns)


@lru_cache(4)
def _opened(folder: Path, _changed: int) -> Release:
    return open_release(folder)


def _published_levels(release: Release) -> dict[str, int]:
    return {a: level for a, level in release.model.finest_levels.items() if level < release.domain.hierarchy(a).height}


def _margin(request: Request, release: Release, finest: Mapping[str, int]) -> dict[str, int]:
    margin = {}
    for key, text in request.args.items():
        if not key.startswith("level:") or not text:
            continue
        name = key.removeprefix("level:")
        if name not in finest or not text.isdecimal() or not int(text[:4]) < release.domain.hierarchy(name).height:
            raise InputError("there is no such attribute at such a level in the release")
        margin[name] = max(int(text[:4]), finest[name])
    return {name: margin[name] for name in finest if name in margin}


def _first(release: Release) -> dict[str, int]:
    margins = release.published.everything.margins
    two = next((margin for margin in margins if len(margin) == 2), None)
    return dict(two or next(iter(margins), {}))


def _words(release: Release, margin: Mapping[str, int]) -> str:
    return ", ".join(shown_at(a, release.domain.hierarchy(a), level) for a, level in margin.items())


def answered(release: Release, margin: Mapping[str, int]) -> CrossTabAnswer:
    """Answer a margin from a release."""
    domain = release.domain
    if not margin:
        return CrossTabAnswer(margin, sentence="Nothing but the number of rows is published.")
    if math.prod(domain.hierarchy(name).size(level) for name, level in margin.items()) > MOST_CELLS:
        return CrossTabAnswer(
            margin,
            sentence=f"That is more than {MOST_CELLS:,} cells. Choose coarser levels, or fewer attributes; or use Python.",
        )
    try:
        basis = release.supports(dict(margin))
        frame = table(release.model, dict(margin), (), (), None, bounds=True)
    except MarginalsError as error:
        return CrossTabAnswer(margin, sentence=f"{error}.")
    return CrossTabAnswer(margin, frame, basis.kind.value, basis_line(basis, domain))


def cells(asked: CrossTabAnswer, words: Codebook) -> list[tuple[list[str], float, int, int, bool, float]]:
    """The rows of the table that a page shows: labels, estimate, bounds, whether it is exact, and the length of a bar."""
    if asked.frame is None:
        return []
    listed = asked.frame.head(_SHOWN)
    longest = lengths([float(asked.frame["value"].max()) if len(listed) else 0.0, *listed["value"].tolist()])[1:]
    exact = (listed["lower"] == listed["upper"]).tolist()
    columns = (*(listed[column].tolist() for column in ("value", "lower", "upper")), exact)
    rows = (row if isinstance(row, tuple) else (row,) for row in listed.index)
    labels = ([words.word(name, label) for name, label in zip(asked.margin, row)] for row in rows)
    return list(zip(labels, *columns, longest))


def python(name: str, margin: Mapping[str, int]) -> str:
    """The same question in Python."""
    opening = f"import marginals\n\nrelease = marginals.open_release({json.dumps(name)})"
    return f"{opening}\nrelease.table({dict(margin)!r}, bounds=True)"


def download(window: Window, request: Request) -> Response:
    """The whole table, as CSV."""
    _, release = _release(window, request)
    margin = _margin(request, release, _published_levels(release))
    asked = answered(release, margin)
    if asked.frame is None:
        raise InputError(asked.sentence.rstrip("."))
    frame = asked.frame.reset_index()
    for attribute in asked.margin:
        frame[attribute] = frame[attribute].astype(str).map(harmless)
    text = frame.rename(columns=harmless).to_csv(index=False, lineterminator="\n")
    headers = {"Content-Disposition": 'attachment; filename="table.csv"'}
    return Response(text.encode(), mimetype="text/csv", headers=headers)


def harmless(text: str) -> str:
    """A label as a spreadsheet may read it: with an apostrophe before what it would take for a formula to work out.

    >>> harmless("=1+1"), harmless("-5"), harmless("20-29")
    ("'=1+1", '-5', '20-29')
    """
    is_formula = text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") and number_in(text) is None
    return f"'{text}" if is_formula else text


ROUTES = (("GET", "/explore", show), ("GET", "/explore/table.csv", download))
