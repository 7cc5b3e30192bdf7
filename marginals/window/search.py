"""Search: looks for releases in the background, keeps results side by side, and shows the obstacles."""

from collections.abc import Mapping
from urllib.parse import urlencode

import tomlkit
from werkzeug.wrappers import Request, Response

from marginals.bundle.content import REPORT
from marginals.config.presets import PRESETS, preset_of
from marginals.errors import InputError
from marginals.pairs import pairs_shown
from marginals.say.decision import decision_lines, useful_line
from marginals.steward import AS_THE_REST
from marginals.window.candidates import Candidate
from marginals.window.jobs import SEARCH, Job
from marginals.window.policy import QUESTIONS
from marginals.window.project import NOTES
from marginals.window.rendering import TIMES
from marginals.window.window import Window


def show(window: Window, _request: Request) -> Response:
    """Return the page."""
    candidates, settings, config = window.candidates.all(), window.file.plain, window.config()
    current, wishes, job = window.candidates.current(), config.policy.analyses, window.jobs.latest(SEARCH)
    pairs = [wish.attributes for wish in wishes if len(wish.attributes) == 2 and wish.weight > AS_THE_REST]
    decision = current and current.decision
    kinds = pairs_shown(decision.content.collection).kinds if decision else None
    questions = [(*pair, _state_of(pair, job, kinds)) for pair in pairs]
    return window.page(
        "search.html",
        "search",
        job=job,
        candidates=[(c, window.candidates.changes(c), _obstacles(c), _lines(c)) for c in reversed(candidates)],
        found=current,
        useful=useful_line(decision) if decision else "",
        failed=candidates[-1] if candidates and candidates[-1].error and candidates[-1].fits(settings) else None,
        names=list(config.source.used),
        questions=[*questions, *[("", "", "")] * max(QUESTIONS - len(questions), 1)],
        others=[TIMES.join(wish.attributes) for wish in wishes if wish.attributes not in pairs],
        presets=list(PRESETS.values()),
        preset=preset_of(config.policy),
    )


def _state_of(pair: tuple[str, ...], job: Job | None, kinds: Mapping[tuple[str, str], str] | None) -> str:
    """Return the kind of a question in what was found, or whether the search that runs has answered it so far."""
    if job is not None and job.runs:
        if job.answered is None or frozenset(pair) not in job.questions:
            return ""
        return "ahead" if job.answered >> job.questions.index(frozenset(pair)) & 1 else "behind"
    return "" if kinds is None else kinds.get((pair[0], pair[1]), "unpublished")


def _lines(candidate: Candidate) -> list[str]:
    decision = candidate.decision
    return [*decision_lines(decision, f"Candidate {candidate.number}")] if decision else []


def _obstacles(candidate: Candidate) -> list[tuple[str, str, str]]:
    """Return obstacles in sentences, each with the page where it can be moved and the text of the link, if there is one."""
    answer, key = candidate.answer, candidate.answer.get("key", "")
    obstacles = [
        (f"Nothing is published of {name}: {reason}", f"/levels?{urlencode({'attribute': name})}", f"Levels of {name}")
        for name, reason in answer.get("unpublished", {}).items()
    ]
    for reason, moves in list((answer.get("binding") or {}).items())[:4]:
        refused = "move that would tell more was" if moves == 1 else "moves that would tell more were"
        obstacles.append((f"{moves:,} {refused} refused at the end: {reason}", "", ""))
    if candidate.error:
        place = (
            ("/policy", "Choose a policy")
            if key.startswith("privacy.diversity")
            else ("/table/text", "Edit the config")
        )
        obstacles.append((candidate.error, *(place if key else ("", ""))))
    for table in answer.get("wanted", []):
        if table.get("obstacle"):
            obstacles.append((f"{TIMES.join(table['attributes'])} is wanted: {table['obstacle']}", "", ""))
    return obstacles


def start(window: Window, _request: Request) -> Response:
    """Search, with the config as it is."""
    window.search()
    return window.back("/search")


def take(window: Window, request: Request, number: int) -> Response:
    """Make a candidate's config the config, which keeps its imprint."""
    candidate = next((candidate for candidate in window.candidates.all() if candidate.number == number), None)
    if candidate is None:
        raise InputError("there is no such candidate any more")
    document = tomlkit.parse(candidate.text)
    document.pop("release", None)
    if (imprint := window.file.document.get("release")) is not None:
        document["release"] = imprint
    written = window.file.replace(request.form.get("version", ""), tomlkit.dumps(document))
    window.tell(written, f"The config of candidate {number} is the config now.")
    return window.back("/search")


def report(window: Window, _request: Request, number: int, page: str) -> Response:
    """A candidate's report, or its page for the steward."""
    folder = f"{NOTES}/candidate-{number}"
    return window.own_page({"report": f"{folder}/release/{REPORT}", "steward": f"{folder}/release-steward.html"}, page)


ROUTES = (
    ("GET", "/search", show),
    ("POST", "/search", start),
    ("POST", "/search/<int:number>/take", take),
    ("GET", "/search/<int:number>/<page>", report),
)
