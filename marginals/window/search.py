"""Search: looks for a release in the background, and shows what was found and the obstacles."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from werkzeug.wrappers import Request, Response

from marginals.bundle.content import REPORT
from marginals.config.presets import PRESETS, preset_of
from marginals.errors import InputError
from marginals.estimates import as_margin, basis_by
from marginals.say.decision import useful_line
from marginals.steward import AS_THE_REST
from marginals.window.jobs import SEARCH, Job
from marginals.window.policy import QUESTIONS
from marginals.window.project import NOTES
from marginals.window.rendering import TIMES
from marginals.window.window import Window
from models.inference.marginal_model import MarginalModel


def show(window: Window, _request: Request) -> Response:
    """Return the page."""
    config, candidate, job = window.config(), window.candidates.current(), window.jobs.latest(SEARCH)
    wishes, failed = config.policy.analyses, job.answer if job is not None and job.state == "failed" else {}
    pairs = [wish.attributes for wish in wishes if len(wish.attributes) == 2 and wish.weight > AS_THE_REST]
    decision = candidate and candidate.decision
    model = decision.content.model if decision else None
    questions = [(*pair, _state_of(pair, config.source.bases(pair), job, model)) for pair in pairs]
    return window.page(
        "search.html",
        "search",
        job=job,
        decision=decision,
        useful=useful_line(decision) if decision else "",
        obstacles=_obstacles(candidate.answer if candidate else failed),
        names=list(config.source.used),
        questions=[*questions, *[("", "", "")] * max(QUESTIONS - len(questions), 1)],
        others=[TIMES.join(wish.attributes) for wish in wishes if wish.attributes not in pairs],
        presets=list(PRESETS.values()),
        preset=preset_of(config.policy),
    )


def _state_of(pair: tuple[str, ...], question: frozenset[str], job: Job | None, model: MarginalModel | None) -> str:
    """Return the kind of a question in what was found, or whether the search that runs has answered it so far."""
    if job is not None and job.runs:
        if job.answered is None or question not in job.questions:
            return ""
        return "ahead" if job.answered >> job.questions.index(question) & 1 else "behind"
    try:
        return "" if model is None else basis_by(model, as_margin(model, pair)).kind.value
    except InputError:  # no columns of the release, or twice the same
        return "unpublished"


def _obstacles(answer: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return obstacles in sentences, each with the page where it can be moved and the text of the link, if there is one."""
    obstacles = [
        (f"Nothing is published of {name}: {reason}", f"/levels?{urlencode({'attribute': name})}", f"Levels of {name}")
        for name, reason in answer.get("unpublished", {}).items()
    ]
    for reason, moves in list((answer.get("binding") or {}).items())[:4]:
        refused = "move that would tell more was" if moves == 1 else "moves that would tell more were"
        obstacles.append((f"{moves:,} {refused} refused at the end: {reason}", "", ""))
    if key := answer.get("key", ""):
        is_diversity = key.startswith("privacy.diversity")
        place = ("/policy", "Choose a policy") if is_diversity else ("/table/text", "Edit the config")
        obstacles.append((answer["error"], *place))
    for table in answer.get("wanted", []):
        if table.get("obstacle"):
            obstacles.append((f"{TIMES.join(table['attributes'])} is wanted: {table['obstacle']}", "", ""))
    return obstacles


def start(window: Window, _request: Request) -> Response:
    """Search, with the config as it is."""
    window.search()
    return window.back("/search")


def report(window: Window, _request: Request, page: str) -> Response:
    """The report of what was found, or its page for the steward. Raises InputError if nothing was found."""
    if (candidate := window.candidates.latest) is None:
        raise InputError("there is no such page")
    folder = f"{NOTES}/{candidate.folder.name}"
    return window.own_page({"report": f"{folder}/release/{REPORT}", "steward": f"{folder}/release-steward.html"}, page)
