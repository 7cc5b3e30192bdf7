"""Search: looks for releases in the background, keeps what it finds side by side, and shows what stood in the way."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import tomlkit
from werkzeug.wrappers import Request, Response

from checks.diversity.registry import parse_diversity
from marginals.config.presets import PRESETS, preset_of
from marginals.errors import InputError
from marginals.say.decision import decision_lines, useful_line
from marginals.steward import AS_THE_REST
from marginals.tables.attribute import FITTED, Role
from marginals.window.candidates import Candidate
from marginals.window.gate import REPORT_POLICY
from marginals.window.jobs import SEARCH, Job
from marginals.window.policy import QUESTIONS
from marginals.window.project import attribute_in, put, section
from marginals.window.rendering import TIMES
from marginals.window.window import Window


def show(window: Window, _request: Request) -> Response:
    """The page."""
    candidates, settings = window.candidates.all(), window.file.plain
    config, found, job = window.config(), window.candidates.found(), window.jobs.latest(SEARCH)
    analyses = config.policy.analyses
    pairs = [each.attributes for each in analyses if len(each.attributes) == 2 and each.weight > AS_THE_REST]
    asked = [(first, second, _state_of((first, second), job, found)) for first, second in pairs]
    return window.page(
        "search.html",
        "search",
        job=job,
        candidates=[
            (candidate, window.candidates.changes(candidate), remedies(candidate), _lines_of(candidate))
            for candidate in reversed(candidates)
        ],
        found=found,
        useful="" if found is None or found.decision is None else useful_line(found.decision),
        failed=candidates[-1] if candidates and candidates[-1].error and candidates[-1].fits(settings) else None,
        names=list(config.source.used),
        questions=[*asked, *[("", "", "")] * max(QUESTIONS - len(asked), 1)],
        others=[TIMES.join(each.attributes) for each in analyses if each.attributes not in pairs],
        presets=list(PRESETS.values()),
        preset=preset_of(config.policy),
    )


def _state_of(pair: tuple[str, str], job: Job | None, found: Candidate | None) -> str:
    """Return what became of a question: its kind in what was found, or whether the search that runs has answered it."""
    if job is not None and job.runs:
        is_told = frozenset(pair) in job.answered
        return "" if not is_told else "ahead" if job.answered[frozenset(pair)] else "behind"
    kinds = {} if found is None or found.pairs is None else found.pairs.kinds
    return kinds.get(pair, "unpublished" if found else "")


def _lines_of(candidate: Candidate) -> list[str]:
    decision = candidate.decision
    return [] if decision is None else list(decision_lines(decision, f"Candidate {candidate.number}"))


def _wanted(candidate: Candidate) -> list[dict[str, Any]]:
    return list(candidate.answer.get("wanted", []))


Button: TypeAlias = tuple[str, dict[str, str]]
"""The text of a button, and the fields of its form."""


def remedies(candidate: Candidate) -> list[tuple[str, list[Button]]]:
    """Obstacles in sentences, each with buttons. None of them weakens a demand of privacy by itself."""
    answer, settings = candidate.answer, candidate.settings
    blocked: list[tuple[str, list[Button]]] = []
    for name, reason in answer.get("unpublished", {}).items():
        blocked.append((f"Nothing is published of {name}: {reason}", _for_attribute(settings, name)))
    for reason, moves in list((answer.get("binding") or {}).items())[:4]:
        moved = "move that would tell more was" if moves == 1 else "moves that would tell more were"
        blocked.append((f"{moves:,} {moved} refused at the end: {reason}", []))
    if candidate.error:
        blocked.append((candidate.error, _for_error(settings, answer.get("remedies", {}))))
    for table in _wanted(candidate):
        if table.get("obstacle"):
            blocked.append((f"{TIMES.join(table['attributes'])} is wanted: {table['obstacle']}", []))
    return blocked


def _for_attribute(settings: Mapping[str, Any], name: str) -> list[Button]:
    stated = settings.get("attributes", {}).get(name, {})
    leave_out = (f"Leave {name} out", {"remedy": "ignore", "attribute": name})
    if stated.get("ladder") in FITTED or stated.get("role") == Role.SENSITIVE.value:
        return [leave_out]
    return [(f"Fit the levels of {name} to the table", {"remedy": "fit", "attribute": name}), leave_out]


def _for_error(settings: Mapping[str, Any], remedies: Mapping[str, Mapping[str, str]]) -> list[Button]:
    buttons: list[Button] = []
    if proposed := remedies.get("diversity"):
        about = f" of {proposed['attribute']}" if proposed["attribute"] else ""
        buttons.append((f"Demand {proposed['demand']}{about}", {"remedy": "diversity", **proposed}))
    if "base" in remedies:
        buttons.append(("Search without a base table", {"remedy": "base"}))
    if "time" in remedies:
        seconds = 2 * float(settings.get("search", {}).get("time_limit", 60.0))
        buttons.append((f"Search for {seconds:g} seconds", {"remedy": "time", "seconds": f"{seconds:g}"}))
    return buttons


def mend(window: Window, request: Request) -> Response:
    """Make the remedy that a button stands for."""
    form, kind = request.form, request.form.get("remedy", "")
    name, demand = form.get("attribute", ""), form.get("demand", "")
    settings: dict[str, tuple[tuple[str, ...], object]] = {
        "fit": (("attributes", name, "ladder"), "fitted"),
        "ignore": (("attributes", name, "role"), "ignored"),
        "diversity": (("privacy", "diversity", name) if name else ("privacy", "diversity"), demand),
        "base": (("base", "table"), "none"),
        "time": (("search", "time_limit"), form.get("seconds", 60.0, type=float)),
    }

    def change(document: tomlkit.TOMLDocument) -> None:
        if kind not in settings:
            raise InputError("there is no such remedy")
        (*above, key), value = settings[kind]
        if kind in ("fit", "ignore"):
            attribute_in(document, name)
        elif kind == "diversity":
            _ = parse_diversity(demand)
        put(section(document, *above), key, value)

    return window.edit(request, change, "/search", sentence="The remedy is written. Search again to see what it does.")


def start(window: Window, _request: Request) -> Response:
    """Search, with the config as it is."""
    window.search()
    return window.back("/search")


def take(window: Window, request: Request, number: int) -> Response:
    """Make a candidate's config the config, which keeps its imprint."""
    document = tomlkit.parse(_candidate(window, number).text)
    document.pop("release", None)
    if (imprint := window.file.document.get("release")) is not None:
        document["release"] = imprint
    written = window.file.replace(request.form.get("version", ""), tomlkit.dumps(document))
    window.tell(written, f"The config of candidate {number} is the config now.")
    return window.back("/search")


def drop(window: Window, _request: Request, number: int) -> Response:
    """Forget a candidate."""
    window.candidates.drop(_candidate(window, number).number)
    return window.back("/search")


def report(window: Window, _request: Request, number: int, page: str) -> Response:
    """A candidate's report, or its page for the steward."""
    candidate = _candidate(window, number)
    file = candidate.folder / ("release/report.html" if page == "report" else "release-steward.html")
    if page not in ("report", "steward") or not file.is_file():
        raise InputError("there is no such page of this candidate")
    return Response(file.read_bytes(), mimetype="text/html", headers={"Content-Security-Policy": REPORT_POLICY})


def _candidate(window: Window, number: int) -> Candidate:
    candidate = window.candidates.get(number)
    if candidate is None:
        raise InputError("there is no such candidate any more")
    return candidate


ROUTES = (
    ("GET", "/search", show),
    ("POST", "/search", start),
    ("POST", "/search/remedy", mend),
    ("POST", "/search/<int:number>/take", take),
    ("POST", "/search/<int:number>/drop", drop),
    ("GET", "/search/<int:number>/<page>", report),
)
