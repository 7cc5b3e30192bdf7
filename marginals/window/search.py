"""Search: looks for releases in the background, keeps what it finds side by side, and shows what stood in the way."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import tomlkit
from werkzeug.wrappers import Request, Response

from checks.diversity.registry import parse_diversity
from checks.privacy_constraint import too_many_margins
from marginals.config.presets import PRESETS, preset_of
from marginals.errors import InputError
from marginals.publishing.policy import SENSITIVE_MARGINS
from marginals.tables.attribute import FITTED, Role
from marginals.window.candidates import Candidate
from marginals.window.gate import REPORT_POLICY
from marginals.window.policy import QUESTIONS
from marginals.window.project import attribute_in, put, section
from marginals.window.rendering import NOTHING, TIMES
from marginals.window.window import Window
from models.search.problem import too_many_attributes

_COMPARED = (
    "privacy.k_link",
    "privacy.k_combinatorial",
    "privacy.min_cell",
    "privacy.rules",
    "privacy.diversity",
    "search.strategy",
    "search.max_sensitive_margins",
    "base.table",
    "search.wanted",
)
"""Keys by which candidates are told apart."""


def show(window: Window, _request: Request) -> Response:
    """The page."""
    candidates, settings = window.candidates.all(), window.file.plain
    config, found = window.config(), window.candidates.found()
    kinds = {} if found is None or found.pairs is None else found.pairs.kinds
    pairs = [each.attributes for each in config.policy.analyses if len(each.attributes) == 2]
    asked = [(first, second, kinds.get((first, second), "unpublished" if found else "")) for first, second in pairs]
    preset = preset_of(config.policy)
    return window.page(
        "search.html",
        "search",
        job=window.jobs.latest("search"),
        candidates=candidates,
        compared=compared(candidates),
        numbers=numbers(candidates),
        blocked={c.number: remedies(c) for c in candidates},
        same={c.number for c in candidates if c.fits(settings)},
        found=found,
        failed=candidates[-1] if candidates and candidates[-1].error and candidates[-1].fits(settings) else None,
        names=list(config.source.used),
        questions=[*asked, *[("", "", "")] * max(QUESTIONS - len(asked), 1)],
        larger=[each for each in config.policy.analyses if len(each.attributes) != 2],
        presets=list(PRESETS.values()),
        preset=preset,
    )


def compared(candidates: Sequence[Candidate]) -> list[tuple[str, list[str]]]:
    """The keys in which candidates differ, and each candidate's value; k_link and the diversity always."""
    values = {key: [_at(candidate.settings, key) for candidate in candidates] for key in _COMPARED}
    always = ("privacy.k_link", "privacy.diversity")
    return [(key, stated) for key, stated in values.items() if len({*stated}) > 1 or key in always]


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
    """Rows of results: name, meaning, and each candidate's number."""

    def row(
        name: str, meaning: str, value: Callable[[Candidate], Any], form: str = ".4g"
    ) -> tuple[str, str, list[str]]:
        values = (None if c.error else value(c) for c in candidates)
        return name, meaning, [NOTHING if v is None else format(v, form) for v in values]

    def wanted_error(attributes: tuple[str, ...]) -> Callable[[Candidate], float | None]:
        return lambda c: next((t["kl_divergence"] for t in _wanted(c) if tuple(t["attributes"]) == attributes), None)

    wanted = dict.fromkeys(tuple(table["attributes"]) for c in candidates for table in _wanted(c))
    return [
        row("Tables", "published together", lambda c: len(c.answer["margins"])),
        row("KL divergence", "nats to the data; smaller is nearer", lambda c: c.answer["kl_divergence"], ".3f"),
        row("Two-way tables", "mean total variation at base values", _error("two_way", "mean"), ".3g"),
        row("Random counts", "median relative error", _error("counts", "median"), ".3g"),
        row("Largest risk", "1 in the fewest rows that share a cell", lambda c: c.largest_risk),
        row(
            "Smallest sensitive count",
            "rows of a published cell that includes what is sensitive",
            lambda c: c.smallest_sensitive_count,
            "",
        ),
        row("Left out", "rows that lack a value", lambda c: (c.answer.get("dropped") or {}).get("rows"), ","),
        row("Seconds", "of the search", lambda c: round(c.seconds, 1)),
        *(row(TIMES.join(names), "wanted; nats from the data", wanted_error(names)) for names in wanted),
    ]


def _error(kind: str, part: str) -> Callable[[Candidate], float | None]:
    return lambda candidate: candidate.answer.get("errors", {}).get(kind, {}).get(part)


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
        blocked.append((f"{moves:,} {moved} refused at the end: {reason}", _for_limit(settings, reason)))
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


def _for_limit(settings: Mapping[str, Any], reason: str) -> list[Button]:
    limits = settings.get("search", {})
    most, more = limits.get("max_sensitive_margins", SENSITIVE_MARGINS), limits.get("max_attributes")
    if reason == too_many_margins(most):
        fields = {"remedy": "sensitive", "most": str(most + 2)}
        return [(f"Allow {most + 2} tables with a sensitive attribute", fields)]
    if more is not None and reason == too_many_attributes(more):
        return [(f"Allow tables of {more + 1} attributes", {"remedy": "attributes", "most": str(more + 1)})]
    return []


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
    name, demand, most = form.get("attribute", ""), form.get("demand", ""), form.get("most", 3, type=int)
    settings: dict[str, tuple[tuple[str, ...], object]] = {
        "fit": (("attributes", name, "ladder"), "fitted"),
        "ignore": (("attributes", name, "role"), "ignored"),
        "diversity": (("privacy", "diversity", name) if name else ("privacy", "diversity"), demand),
        "sensitive": (("search", "max_sensitive_margins"), most),
        "attributes": (("search", "max_attributes"), most),
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
