"""Explore a release: tables of any attributes at any level, each with its kind of answer and bounds."""

import json
import math
import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlencode

from werkzeug.wrappers import Request, Response

from marginals.cross_tables import table
from marginals.errors import InputError
from marginals.interchange import is_formula
from marginals.later import pd
from marginals.names import level_names, shown_at
from marginals.pages.release_page import lengths
from marginals.release.release import Release, open_release
from marginals.say.answers import basis_line, synthetic_lines
from marginals.tables.attribute import Codebook
from marginals.window.project import releases_in
from marginals.window.window import Window
from models.errors import MarginalsError

_MOST_CELLS = 20_000

_SHOWN = 300  # rows of a page; the file has all


def show(window: Window, request: Request) -> Response:
    """Return the page."""
    there = releases_in(window.project)
    if not there:
        sentence = "There is no release in this folder yet. Publish one, then explore it here."
        return window.page("sentence.html", "explore", frameless=False, name="Explore a release", sentence=sentence)
    name, release, file = _release(window, request)
    finest, domain, margins = _published_levels(release), release.domain, release.published.everything.margins
    margin = _margin(request, release, finest)
    if not margin:
        margin = dict(next((margin for margin in margins if len(margin) == 2), next(iter(margins), {})))
    kind, meaning, sentence, cells, more = "", "", "", [], 0
    making = window.jobs.latest(file.name)
    try:
        frame, kind, meaning = _answer(release, margin)
        cells, more = _cells(frame, list(margin), release.published.codebook), max(0, len(frame) - _SHOWN)
    except MarginalsError as error:
        sentence = f"{error}."
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
        asked={"kind": kind, "meaning": meaning, "sentence": sentence},
        margin=margin,
        title=_words(release, margin),
        cells=cells,
        more=more,
        python=f"import marginals\n\nrelease = marginals.open_release({json.dumps(name)})\n"
        f"release.table({domain.by_names(margin)!r}, bounds=True)",
        query=_query(name, margin),
        tables=[(_query(name, m), _words(release, m)) for m in margins],
        making=making,
        has_formulas=any(is_formula(t) for a, level in finest.items() for t in domain.hierarchy(a).labels[level]),
        notes=[*synthetic_lines([] if making is None else making.answer.get("assumed", []), are_exact=True)],
    )


def _release(window: Window, request: Request) -> tuple[str, Release, Path]:
    """Return a release, its name, and where a job named after this file makes its rows, as long as it does not change."""
    there = releases_in(window.project)
    name = request.values.get("release", there[0] if there else "")
    folder = window.release_named(name)
    changed = (folder / "datapackage.json").stat().st_mtime_ns
    return name, _opened(folder, changed), Path(window.scratch.name) / f"{name}-{changed}.csv"


@lru_cache(4)
def _opened(folder: Path, _changed: int) -> Release:
    return open_release(folder)


def _query(name: str, margin: Mapping[str, int]) -> str:
    return urlencode([("release", name), *((f"level:{a}", level) for a, level in margin.items())])


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


def _words(release: Release, margin: Mapping[str, int]) -> str:
    return ", ".join(shown_at(a, release.domain.hierarchy(a), level) for a, level in margin.items())


def _answer(release: Release, margin: dict[str, int]) -> "tuple[pd.DataFrame, str, str]":
    """Return a table of a release, its kind, and the reason for that. Raises InputError where there is none."""
    domain = release.domain
    if not margin:
        raise InputError("Nothing but the number of rows is published")
    if math.prod(domain.hierarchy(name).size(level) for name, level in margin.items()) > _MOST_CELLS:
        fewer = "Choose coarser levels, or fewer attributes; or use Python"
        raise InputError(f"That is more than {_MOST_CELLS:,} cells. {fewer}")
    basis = release.supports(margin)
    return table(release.model, margin, (), (), None, bounds=True), basis.kind.value, basis_line(basis, domain)


def _cells(
    frame: "pd.DataFrame", names: list[str], words: Codebook
) -> list[tuple[list[str], float, int, int, bool, float]]:
    """Return the rows that a page shows: labels, estimate, bounds, whether it is exact, and the length of a bar."""
    first = frame.head(_SHOWN)
    longest = lengths([float(frame["value"].max()) if len(first) else 0.0, *first["value"].tolist()])[1:]
    exact = (first["lower"] == first["upper"]).tolist()
    columns = (*(first[column].tolist() for column in ("value", "lower", "upper")), exact)
    rows = (row if isinstance(row, tuple) else (row,) for row in first.index)
    labels = ([words.word(name, label) for name, label in zip(names, row)] for row in rows)
    return list(zip(labels, *columns, longest))


def download(window: Window, request: Request) -> Response:
    """Return the whole table, as CSV."""
    _, release, _ = _release(window, request)
    margin = _margin(request, release, _published_levels(release))
    frame = _answer(release, margin)[0].reset_index()
    for attribute in margin:
        frame[attribute] = frame[attribute].astype(str).map(_harmless)
    text = frame.rename(columns=_harmless).to_csv(index=False, lineterminator="\n")
    return _csv(text.encode(), "table.csv")


def _csv(content: bytes, name: str) -> Response:
    return Response(content, mimetype="text/csv", headers={"Content-Disposition": f'attachment; filename="{name}"'})


def rows(window: Window, request: Request) -> Response:
    """Return rows with every published count, as the command makes them; the page if that takes longer, or none is found."""
    name, _, file = _release(window, request)
    folder = window.release_named(name)
    job = window.jobs.latest(file.name)
    if job is None or job.status:
        job = window.jobs.command(file.name, ["sample", str(folder), "-n", "exact", "-o", str(file), "--force"])
        job.command = f"marginals sample {shlex.quote(name)} -n exact -o rows.csv"
        window.say("Synthetic rows are made.", job.command)
    job.done.wait(8)
    return _csv(file.read_bytes(), "rows.csv") if job.status == 0 else window.back(f"/explore?{_query(name, {})}#rows")


def _harmless(text: str) -> str:
    return f"'{text}" if is_formula(text) else text
