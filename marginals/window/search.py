"""Search: looks for releases in the background, keeps what it finds side by side, and shows what stood in the way."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from werkzeug.wrappers import Request, Response

from checks.claims import LEAST_DEMAND
from checks.diversity.registry import parse_diversity
from checks.errors import CriterionError
from checks.privacy_constraint import too_many_margins
from marginals.errors import InputError
from marginals.pages.release_page import SIGNS
from marginals.publishing.policy import Policy, base_names, strategy_names
from marginals.publishing.proposals import SENSITIVE_MARGINS, WEIGHT
from marginals.tables.attribute import FITTED, Role
from marginals.window.gate import REPORT_POLICY
from marginals.window.jobs import Candidate, Job
from marginals.window.policy import want
from marginals.window.project import OlderVersionError, put, section
from marginals.window.rendering import (
    ANALYSABLE,
    KINDS_IN_WORDS,
    NOTHING,
    TIMES,
    FieldError,
    PairsPicture,
    frontier_picture,
    pairs_picture,
    rendered,
)
from marginals.window.window import Window
from models.search.problem import too_many_attributes

_GRID = 60
"""Policies of a frontier at most."""

_COMPARED = (
    ("privacy.k_link", "k_link"),
    ("privacy.k_combinatorial", "k_combinatorial"),
    ("privacy.min_cell", "min_cell"),
    ("privacy.rules", "rules"),
    ("privacy.diversity", "diversity"),
    ("search.strategy", "strategy"),
    ("search.max_sensitive_margins", "max_sensitive_margins"),
    ("base.table", "base table"),
    ("search.wanted", "wanted"),
)
"""Keys by which candidates are told apart."""


def show(window: Window, _request: Request) -> Response:
    """The page."""
    if not window.has_config or window.file.problem() is not None:
        return window.back("/table")
    config = window.config()
    candidates = window.candidates.all()
    job = window.jobs.latest("search")
    settings = window.file.plain
    grid, rows = window.jobs.latest("frontier"), []
    if grid is not None and grid.state == "done":
        rows = grid.answer.get("rows", [])
    dots = [
        (str(c.number), int(c.settings.get("privacy", {}).get("k_link", 1)), c.answer["kl_divergence"])
        for c in candidates
        if not c.error
    ]
    least = config.policy.k_link or 10
    return window.page(
        "search.html",
        "search",
        policy=config.policy,
        job=job,
        best=None if job is None else job.best,
        best_picture=_best_picture(job),
        candidates=candidates,
        compared=compared(candidates),
        numbers=numbers(candidates),
        margins={c.number: c.tables for c in candidates},
        pictures={c.number: pairs_picture(c.pairs) for c in candidates if c.pairs is not None},
        differences={c.number: differing_pairs(c, earlier) for earlier, c in zip(candidates, candidates[1:])},
        kinds=[(kind, SIGNS[kind], told) for kind, told in KINDS_IN_WORDS.items()],
        blocked={c.number: remedies(c) for c in candidates},
        same={c.number for c in candidates if c.fits(settings)},
        grid=grid,
        rows=rows,
        frontier=frontier_picture(rows, dots) if rows else None,
        ks=", ".join(str(k) for k in sorted({2, max(least // 2, 2), least, 2 * least, 5 * least})),
        diversities=config.policy.diversity if isinstance(config.policy.diversity, str) else "",
        strategies=strategy_names(),
        bases=base_names(),
        default_strategy=Policy.strategy,
        names=list(config.source.used),
    )


def best(window: Window, _request: Request) -> Response:
    """The part of the page that shows the best so far of the search that is at work; empty where there is none."""
    job = window.jobs.latest("search")
    shown = job if job is not None and job.runs else None
    text = rendered("best.html", best=None if shown is None else shown.best, best_picture=_best_picture(shown))
    return Response(text, mimetype="text/html")


def _best_picture(job: Job | None) -> PairsPicture | None:
    return None if job is None or job.best is None else pairs_picture(job.best.pairs)


def compared(candidates: Sequence[Candidate]) -> list[tuple[str, list[str]]]:
    """The keys in which candidates differ, and each candidate's value; k_link and the diversity always."""
    table = []
    for key, said in _COMPARED:
        values = [_at(candidate.settings, key) for candidate in candidates]
        if len(set(values)) > 1 or key in ("privacy.k_link", "privacy.diversity"):
            table.append((said, values))
    return table


def differing_pairs(candidate: Candidate, earlier: Candidate) -> str:
    """How a candidate's pairs differ from those of the one before it, in a sentence; empty where either has none."""
    if candidate.pairs is None or earlier.pairs is None or not candidate.pairs.listed or not earlier.pairs.listed:
        return ""
    now, before = candidate.pairs.kinds, earlier.pairs.kinds
    pairs = [pair.names for pair in candidate.pairs.listed if pair.names in before]
    changes = [
        (
            what,
            [
                pair
                for pair in pairs
                if (now[pair] in kinds) != (before[pair] in kinds) and (now[pair] in kinds) == gained
            ],
        )
        for what, kinds, gained in (
            ("exact now", ANALYSABLE[:1], True),
            ("exact no more", ANALYSABLE[:1], False),
            ("not lost any more", ANALYSABLE, True),
            ("lost", ANALYSABLE, False),
        )
    ]
    told = [f"{what}: {', '.join(TIMES.join(pair) for pair in listed)}" for what, listed in changes if listed]
    return f"Beside candidate {earlier.number}: {'; '.join(told) or 'the same pairs'}."


def _at(settings: Mapping[str, Any], key: str) -> str:
    value: Any = settings
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None:
        return NOTHING
    if isinstance(value, list):
        return "; ".join(
            TIMES.join(entry["attributes"]) if isinstance(entry, Mapping) else str(entry) for entry in value
        )
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return str(value)


def numbers(candidates: Sequence[Candidate]) -> list[tuple[str, str, list[str]]]:
    """What was found, a row each: name, what it means, and each candidate's number."""

    def row(name: str, meaning: str, *path: str, form: str = "{:.3g}") -> tuple[str, str, list[str]]:
        values = []
        for candidate in candidates:
            value: Any = candidate.answer
            for part in path:
                value = value.get(part) if isinstance(value, Mapping) else None
            values.append(NOTHING if value is None else form.format(value))
        return name, meaning, values

    def own(name: str, meaning: str, values: Sequence[object]) -> tuple[str, str, list[str]]:
        return name, meaning, [NOTHING if v is None else f"{v:.4g}" if isinstance(v, float) else str(v) for v in values]

    result = candidates
    wanted = [c.answer.get("wanted", []) for c in result]
    rows = [
        own(
            "Tables",
            "published together",
            [len(c.answer["margins"]) if "margins" in c.answer else None for c in result],
        ),
        row("KL divergence", "nats to the data; smaller is nearer", "kl_divergence", form="{:.3f}"),
        row("Two-way tables", "mean total variation at base values", "errors", "two_way", "mean"),
        row("Random counts", "median relative error", "errors", "counts", "median"),
        own("Largest risk", "1 in the fewest rows that share a cell", [c.largest_risk for c in result]),
        own(
            "Smallest sensitive count",
            "rows of a published cell that includes what is sensitive",
            [c.smallest_sensitive_count for c in result],
        ),
        row("Left out", "rows that lack a value", "dropped", "rows", form="{:,}"),
        own("Seconds", "of the search", [round(c.seconds, 1) for c in result]),
    ]
    named: dict[tuple[str, ...], None] = {}
    for tables in wanted:
        named.update(dict.fromkeys(tuple(table["attributes"]) for table in tables))
    for attributes in named:
        errors = [
            next((t["kl_divergence"] for t in tables if tuple(t["attributes"]) == attributes), None)
            for tables in wanted
        ]
        rows.append(
            own(TIMES.join(attributes), "wanted; nats from the data", [None if e is None else float(e) for e in errors])
        )
    return rows


def remedies(candidate: Candidate) -> list[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """What stood in the way, in sentences, each with buttons: what they say, and the fields of their forms."""
    blocked: list[tuple[str, list[tuple[str, dict[str, str]]]]] = []
    settings = candidate.settings
    for name, reason in candidate.answer.get("unpublished", {}).items():
        blocked.append((f"Nothing is published of {name}: {reason}", _for_attribute(settings, name)))
    for reason, moves in list((candidate.answer.get("binding") or {}).items())[:4]:
        moved = "move that would tell more was" if moves == 1 else "moves that would tell more were"
        blocked.append((f"{moves:,} {moved} refused at the end: {reason}", _for_reason(settings, reason, {})))
    if candidate.error:
        blocked.append((candidate.error, _for_reason(settings, candidate.error, candidate.answer.get("remedies", {}))))
    for table in candidate.answer.get("wanted", []):
        if table.get("obstacle"):
            blocked.append((f"{TIMES.join(table['attributes'])} is wanted: {table['obstacle']}", []))
    for suggestion in candidate.answer.get("suggestions", []):
        first, second = suggestion["attributes"]
        if suggestion.get("weight") is None:
            continue
        said = (
            f"{first} and {second} lose what they have in common: their table is off by {suggestion['error']:.3f}. Wanted "
            f"with weight {suggestion['weight']:g} it is off by {suggestion['error_then']:.3f}, at a price of "
            f"{suggestion['price']:.3f} nats"
        )
        fields = {"remedy": "want", "first": first, "second": second, "weight": f"{suggestion['weight']:g}"}
        blocked.append((said, [(f"Want {first}{TIMES}{second}", fields)]))
    return blocked


def _for_attribute(settings: Mapping[str, Any], name: str) -> list[tuple[str, dict[str, str]]]:
    attribute_settings = settings.get("attributes", {}).get(name, {})
    buttons = []
    if attribute_settings.get("ladder") not in FITTED and attribute_settings.get("role") != Role.SENSITIVE.value:
        buttons.append((f"Fit the levels of {name} to the table", {"remedy": "fit", "attribute": name}))
    buttons.append((f"Leave {name} out", {"remedy": "ignore", "attribute": name}))
    return buttons


def _for_reason(
    settings: Mapping[str, Any], reason: str, remedies: Mapping[str, Mapping[str, str]]
) -> list[tuple[str, dict[str, str]]]:
    """Buttons for why a search went no further. None of them weakens a demand of privacy by itself.

    reason: a sentence, which may end with that of a limit. remedies: by code, those of an error.
    """
    buttons, limits = [], settings.get("search", {})
    most, more = limits.get("max_sensitive_margins", SENSITIVE_MARGINS), limits.get("max_attributes")
    if reason.endswith(too_many_margins(most)):
        buttons.append(
            (f"Allow {most + 2} tables with a sensitive attribute", {"remedy": "sensitive", "most": str(most + 2)})
        )
    if more is not None and reason.endswith(too_many_attributes(more)):
        buttons.append((f"Allow tables of {more + 1} attributes", {"remedy": "attributes", "most": str(more + 1)}))
    if proposed := remedies.get("diversity"):
        about = f" of {proposed['attribute']}" if proposed["attribute"] else ""
        buttons.append((f"Demand {proposed['demand']}{about}", {"remedy": "diversity", **proposed}))
    if "base" in remedies:
        buttons.append(("Search without a base table", {"remedy": "base"}))
    if "time" in remedies:
        seconds = 2 * float(limits.get("time_limit", 60.0))
        buttons.append((f"Search for {seconds:g} seconds", {"remedy": "time", "seconds": f"{seconds:g}"}))
    return buttons


def mend(window: Window, request: Request) -> Response:
    """Make the remedy that a button stands for."""
    form, kind = request.form, request.form.get("remedy", "")
    if kind == "want":
        pair = (form.get("first", ""), form.get("second", ""))
        if not set(pair) <= set(window.config().source.used):
            raise InputError("there is no such attribute in the config")
        return want(window, request, (), (pair, form.get("weight", WEIGHT, type=float)), "/search")
    name, most = form.get("attribute", ""), form.get("most", 3, type=int)
    seconds = form.get("seconds", 60.0, type=float)

    def change(document: tomlkit.TOMLDocument) -> None:
        attributes = section(document, "attributes")
        if kind in ("fit", "ignore") and name not in attributes:
            raise InputError("there is no such attribute in the config")
        if kind == "fit":
            put(attributes[name], "ladder", "fitted")
        elif kind == "ignore":
            put(attributes[name], "role", "ignored")
        elif kind == "sensitive":
            put(section(document, "search"), "max_sensitive_margins", most)
        elif kind == "attributes":
            put(section(document, "search"), "max_attributes", most)
        elif kind == "diversity":
            _ = parse_diversity(form.get("demand", ""))
            place = section(document, "privacy", "diversity") if name else section(document, "privacy")
            put(place, name or "diversity", form["demand"])
        elif kind == "base":
            put(section(document, "base"), "table", "none")
        elif kind == "time":
            put(section(document, "search"), "time_limit", seconds)
        else:
            raise InputError("there is no such remedy")

    return window.edit(request, change, "/search", sentence="The remedy is written. Search again to see what it does.")


def start(window: Window, request: Request) -> Response:
    """Search, with the config as it is but for what the form changes."""
    if (running := window.jobs.latest("search")) is not None and running.runs:
        raise InputError("a search is at work; stop it, or wait until it is done")
    form = request.form
    changes: dict[str, Any] = {}
    for key, name in (("k_link", "privacy.k_link"), ("k_combinatorial", "privacy.k_combinatorial")):
        if text := form.get(key, "").strip():
            if not text.isdecimal() or len(text) > 9 or int(text) < LEAST_DEMAND:
                raise FieldError(key, f"{key} is a whole number of at least {LEAST_DEMAND}, such as 10")
            changes[name] = int(text)
    if text := form.get("diversity", "").replace(" ", ""):
        _require_diversity(text)
        changes["privacy.diversity"] = text
    if form.get("strategy"):
        changes["search.strategy"] = form["strategy"]
    if form.get("base"):
        changes["base.table"] = form["base"]
    job = window.candidates.search(changes)
    window.say("The search is at work.", job.shown)
    job.done.wait(0.3)
    return window.back("/search")


def _require_diversity(text: str) -> None:
    """Raise FieldError for what is no diversity, with one to type instead."""
    try:
        parse_diversity(text)
    except CriterionError as error:
        unread = "form" in error.remedies
        raise FieldError(
            "diversity", "type a diversity such as entropy:2 or recursive:3,2" if unread else str(error)
        ) from None


def take(window: Window, request: Request, number: int) -> Response:
    """Make a candidate's config the config, which keeps its imprint."""
    document = tomlkit.parse(_candidate(window, number).text)
    document.pop("release", None)
    if (imprint := window.file.document.get("release")) is not None:
        document["release"] = imprint
    try:
        written = window.file.replace(request.form.get("version", ""), tomlkit.dumps(document))
    except OlderVersionError as error:
        return window.conflict(request, error)
    window.tell(written, f"The config of candidate {number} is the config now.")
    return window.back("/search")


def drop(window: Window, _request: Request, number: int) -> Response:
    """Forget a candidate."""
    window.candidates.drop(_candidate(window, number).number)
    return window.back("/search")


def report(window: Window, _request: Request, number: int, page: str) -> Response:
    """A candidate's report, or its page for the steward."""
    candidate = _candidate(window, number)
    file = candidate.report if page == "report" else candidate.folder / "release-steward.html"
    if page not in ("report", "steward") or not file.is_file():
        raise InputError("there is no such page of this candidate")
    return Response(file.read_bytes(), mimetype="text/html", headers={"Content-Security-Policy": REPORT_POLICY})


def _candidate(window: Window, number: int) -> Candidate:
    candidate = window.candidates.get(number)
    if candidate is None:
        raise InputError("there is no such candidate any more")
    return candidate


def grid(window: Window, request: Request) -> Response:
    """Work out the frontier over k and diversities, as `marginals.frontier` does, in a process of its own."""
    if (running := window.jobs.latest("frontier")) is not None and running.runs:
        raise InputError("a frontier is being worked out already")
    ks = sorted({int(text) for text in re.findall(r"\d{1,6}", request.form.get("k", ""))} - {0})
    diversities = [text.replace(" ", "") for text in request.form.get("diversity", "").split(";") if text.strip()]
    for text in diversities:
        _require_diversity(text)
    strategy = str(request.form.get("strategy", Policy.strategy))
    if strategy not in strategy_names():
        raise InputError("there is no such strategy")
    if not ks or len(ks) * max(len(diversities), 1) > _GRID:
        raise FieldError("k", f"type one value of k at least, such as 5, 10, and {_GRID} policies at most")
    python_text = frontier_program(window.file.path.name, ks, diversities, strategy)
    program = f"import json\n{python_text}\nprint(json.dumps({{'rows': json.loads(grid.to_json(orient='records'))}}))"
    job: Job = window.jobs.python("frontier", program, python_text)
    window.say("The frontier is being worked out.", python_text)
    job.done.wait(0.3)
    return window.back("/search")


def frontier_program(config: str, ks: Sequence[int], diversities: Sequence[str], strategy: str) -> str:
    """The Python that works out a frontier."""
    listed = json.dumps(diversities) if diversities else "None"
    return (
        "import marginals\n"
        f"config = marginals.read_config({json.dumps(config)})\n"
        f"grid = marginals.frontier(config.read_table(), config.policy, k={list(ks)}, diversity={listed}, "
        f"strategies={json.dumps([strategy])})"
    )


ROUTES = (
    ("GET", "/search", show),
    ("GET", "/search/best", best),
    ("POST", "/search", start),
    ("POST", "/search/remedy", mend),
    ("POST", "/search/frontier", grid),
    ("POST", "/search/<int:number>/take", take),
    ("POST", "/search/<int:number>/drop", drop),
    ("GET", "/search/<int:number>/<page>", report),
)
