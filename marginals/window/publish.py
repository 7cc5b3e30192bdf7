"""Publish: what to look at before, the release itself, signed if wanted, its report, and what attackers can conclude."""

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import tomlkit
from werkzeug.wrappers import Request, Response

from marginals.bundle.content import REPORT
from marginals.bundle.signature import SIGNATURE
from marginals.bundle.writing import require_replaceable, write_keys
from marginals.decision import Approval
from marginals.errors import InputError
from marginals.files import PRIVATE, replace_file
from marginals.names import number_of
from marginals.say.decision import approval_lines, decision_words, verdict_line
from marginals.say.sentences import Sentence, by_readers
from marginals.say.table import dropped_lines, left_out_lines, unit_in_words, whose_lines
from marginals.tables.source import TableSource
from marginals.tables.table import Table
from marginals.window.candidates import Candidate
from marginals.window.project import changed_since, put, releases_in, section
from marginals.window.window import Window

# People who sign, by the field of the form; their names stay beside the table.
OFFICES = {"signer": "Name and office", "officer": "Data protection officer"}

_JOBS = {"verify": "Verified from its files alone", "attack": "What readers can conclude"}

_LEDGER = "publish at a terminal, with --ledger"
_SECRET, _PUBLIC = "minisign.key", "minisign.pub"


# The statement that a person must tick.
LOOKED = (
    "I have looked at these tables and their labels, and they may be published. Each column has the right role. No other "
    "table about these people is published, or I named it."
)

_TITLE = "What was looked at before a release was published"


class OpenPoint(NamedTuple):
    """Sentence on a point to settle before publishing (is_must), or to look at again. page, link: where it is changed."""

    sentence: str
    page: str = ""
    link: str = ""
    is_must: bool = False
    is_usual: bool = False


def show(window: Window, request: Request) -> Response:
    """Return the page."""
    config, candidate = window.config(), window.candidates.current()
    there, folder = releases_in(window.project), window.project.folder
    chosen = request.args.get("release", "")
    chosen = chosen if chosen in there else there[0] if there else ""
    jobs = [(title, window.jobs.latest(kind)) for kind, title in _JOBS.items()]
    return window.page(
        "publish.html",
        "publish",
        counted=window.counting.table(),
        imprint=config.imprint,
        points=_open_points(window, candidate),
        whose=unit_in_words(config.source.unit.declared),
        looked=LOOKED,
        found=candidate,
        decision=None if candidate is None or candidate.decision is None else decision_words(candidate.decision),
        unpublished={} if candidate is None else candidate.answer.get("unpublished") or {},
        jobs=[
            (title, job, [] if job.runs else by_readers(Sentence(**entry) for entry in job.answer.get("sentences", ())))
            for title, job in jobs
            if job
        ],
        releases=there,
        chosen=chosen,
        changed=changed_since(window.project, config, chosen) if chosen else [],
        is_signed=bool(chosen) and (folder / chosen / SIGNATURE).is_file(),
        steward=bool(chosen) and (folder / f"{chosen}-steward.html").is_file(),
        offices=OFFICES,
        has_key=(folder / _SECRET).is_file(),
        unsigned=_why_unsigned(window),
    )


def _open_points(window: Window, candidate: Candidate | None) -> list[OpenPoint]:
    config, table, points = window.config(), window.counting.table().value, list[OpenPoint]()
    if candidate is None:
        sentence = f"Nothing was searched under {window.file.path.name} as it is now, so nothing can be looked at."
        if (latest := window.candidates.latest) and (changes := window.candidates.changes(latest)):
            sentence += f" Changed since the last search: {', '.join(changes)}."
        points.append(OpenPoint(sentence, "/search", "Search", is_must=True))
    if ledgers := ", ".join(sorted(file.parent.name for file in window.project.folder.glob("*/head.json"))):
        sentence = f"Beside a ledger ({ledgers}) other tables would be published than this page can show: {_LEDGER}."
        points.append(OpenPoint(sentence, is_must=True))
    if table is None:
        points.append(OpenPoint("The rows are being counted.", is_must=True))
    else:
        points += _points_of_rows(table, config.policy.least("min_cell"), config.source)
    if not ledgers:
        sentence = (
            "There is no ledger. If this table changes and is published again, the changes could tell of single people: a "
            f"ledger, begun with the first release, keeps account of them. To begin one, {_LEDGER}."
        )
        points.append(OpenPoint(sentence, is_usual=True))
    return points


def _points_of_rows(table: Table, least: int | None, source: TableSource) -> Iterator[OpenPoint]:
    people = source.unit.columns
    lines = [*dropped_lines(table.whole.rows + table.left_out, table.missing, table.missing_in, least, people)]
    if lines := [*(lines if table.missing else []), *left_out_lines(table)]:
        yield OpenPoint(" ".join(lines))
    if source.unit.declared is None and table.repeating:
        yield OpenPoint(f"{'; '.join(map(str, table.repeating))}.", "/table", "Say whose rows these are")
    elif table.copies > 1:
        yield OpenPoint(" ".join(whose_lines(table)), "/table", "Say whose rows these are")
    elif source.unit.declared is None:
        unsaid = "Nobody has said whose rows these are; no column looks as if people had several rows."
        yield OpenPoint(unsaid, "/table", "Say whose rows these are")


def publish(window: Window, request: Request) -> Response:
    """Write the release that was looked at; a form that was filled in beside another one is refused."""
    form, folder = request.form, window.project.folder
    out, candidate = _folder_name(window, form.get("out", "").strip() or "release"), window.candidates.current()
    place = folder / f"{out}-checklist.txt"
    if place.exists() and not (place.is_file() and place.read_bytes().startswith(_TITLE.encode())):
        raise InputError(f"{place.name} is there already, and is no list of this kind; move it, or name another folder")
    points, sign = _open_points(window, candidate), _SECRET if form.get("sign") else None
    if wrong := next((point for point in points if point.is_must), None):
        raise InputError(wrong.sentence.rstrip("."))
    if "looked" not in form:
        raise InputError(f'look at what is published, then tick "{LOOKED}"')
    if candidate is None or candidate.decision is None or form.get("approved") != candidate.identity:
        raise InputError("what leaves the house is not what you looked at any more; look at it again, then publish")
    if sign is not None and (problem := _why_unsigned(window)):
        raise InputError(problem)
    imprint = asdict(window.config().imprint)
    typed = {name: form.get(name, text).strip() for name, text in imprint.items()}
    if typed != imprint:

        def entitle(document: tomlkit.TOMLDocument) -> None:
            for name, text in typed.items():
                put(section(document, "release"), name, text or None)

        window.tell(window.file.edit(form.get("version", ""), entitle), "Title and imprint are written.")
    config = window.config()
    config.require_collections()
    approval = Approval(
        candidate.decision,
        candidate.digest,
        {name: attribute.role.value for name, attribute in config.source.attributes.items()},
        is_reviewed=not config.unconfirmed,
        names={office: " ".join(form.get(field, "").split()) for field, office in OFFICES.items()},
        statement=LOOKED,
    )
    if sign is not None and not (folder / sign).is_file():
        require_replaceable(folder / out)
        write_keys(folder / sign, reads=config.reads)
        keep = "keep it to yourself, and keep a copy"
        window.say(f"{sign} signs your releases: {keep}. {_PUBLIC} is for your readers.")
    window.candidates.publish(candidate, out, sign)
    name = config.path.name
    lines = [f"{_TITLE}: {out}, from {name}, {date.today()}", *approval_lines(approval, out), "Open:"]
    content = "\n".join([*lines, *(f"[ ] {point.sentence}" for point in points), ""])
    replace_file(place, content.encode(), PRIVATE)  # for the steward alone: it names columns, and counts of the table
    command = ["marginals", "publish", name, "--out", out, *(["--sign", sign] if sign else [])]
    tables = number_of(len(candidate.decision.tables), "table")
    written = f"The release is written to the folder {out}, as you looked at it: {tables}."
    window.say(f"{written} {verdict_line(candidate.decision)}", shlex.join(command))
    return _begun(window, "verify", out)


def _why_unsigned(window: Window) -> str:
    """Return why nothing can be signed here, and what to do; empty if the key can sign, or can be made."""
    secret, public = (window.project.folder / name for name in (_SECRET, _PUBLIC))
    is_lost = public.exists() and not secret.is_file()
    return f"{_PUBLIC} is here without {_SECRET}; put its secret key beside it to sign" if is_lost else ""


def examine(window: Window, request: Request, kind: str) -> Response:
    """Check a release from its files alone, or measure what readers can conclude, as the commands do."""
    return _begun(window, kind, window.release_named(request.form.get("release", "")).name)


def _begun(window: Window, kind: str, name: str) -> Response:
    folder = window.project.folder
    options, sentence, wait = ["--seconds", "60"], "What readers can conclude is measured.", 0.3
    if kind == "verify":
        with_key = (folder / name / SIGNATURE).is_file() and (folder / _PUBLIC).is_file()
        options, sentence, wait = ["--key", _PUBLIC] * with_key, "The release is checked from its files alone.", 8
    job = window.jobs.command(kind, [kind, name, *options])
    window.say(sentence, job.command)
    job.done.wait(wait)
    return window.back(f"/publish?release={quote(name)}")


def report(window: Window, _request: Request, name: str, page: str) -> Response:
    """The report of a release, or its page for the steward."""
    window.release_named(name)
    return window.own_page({"report": f"{name}/{REPORT}", "steward": f"{name}-steward.html"}, page)


def _folder_name(window: Window, name: str) -> str:
    place = window.project.inside(name)
    if place.parent != window.project.folder or name.startswith((".", "-")) or Path(name).name != name:
        raise InputError("name a folder in that of the project, such as release")
    return name
