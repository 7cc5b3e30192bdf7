"""Publish: what to look at before, the release itself, signed if wanted, its report, and what attackers can conclude."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tomlkit
from werkzeug.wrappers import Request, Response

from marginals.bundle.content import REPORT
from marginals.bundle.replacement import replacement_beside
from marginals.bundle.signature import SIGNATURE, has_password
from marginals.bundle.writing import write_keys
from marginals.errors import InputError
from marginals.files import PRIVATE, replace_file
from marginals.named_rules import rules_of
from marginals.names import number_of
from marginals.publishing.policy import Policy
from marginals.say.claims import counts_below
from marginals.say.decision import decision_words, verdict_line
from marginals.say.sentences import by_readers, sentences_of
from marginals.say.table import dropped_lines, left_out_lines, whose_lines
from marginals.tables.source import TableSource
from marginals.tables.table import Table
from marginals.window.gate import REPORT_POLICY
from marginals.window.project import changed_since, put, releases_in, section
from marginals.window.window import Window, sensitive_of

_JOBS = {"verify": "Verified from its files alone", "attack": "What readers can conclude"}
"""Questions to a release, with the titles of the answers."""

_LEDGER = "publish at a terminal, with --ledger"
_SECRET, _PUBLIC = "minisign.key", "minisign.pub"


LOOKED = "I have looked at what leaves the house, its labels too, and it may."
"""The sentence that a person must tick."""

_TITLE = "What was looked at before a release was published"


@dataclass(frozen=True)
class CheckedItem:
    """A finding as a sentence. is_right: whether nothing need be done. page, link: where it is changed."""

    sentence: str
    is_right: bool = True
    page: str = ""
    link: str = ""


@dataclass(frozen=True)
class Checklist:
    """must: what no release may lack; should: what is worth a second look."""

    must: Sequence[CheckedItem]
    should: Sequence[CheckedItem]

    def require(self, looked: bool) -> None:
        """Raises InputError where something is missing that must be."""
        if wrong := next((item for item in self.must if not item.is_right), None):
            raise InputError(wrong.sentence.rstrip("."))
        if not looked:
            raise InputError(f'look at what leaves the house, then tick "{LOOKED}"')

    def text(self, release: str, config: str) -> str:
        """Return the text of the file. release, config: their names."""
        parts = [f"{_TITLE}: {release}, from {config}", ""]
        for tier, items in (("Must", (*self.must, CheckedItem(LOOKED))), ("Should", self.should)):
            parts += [tier, *(f"[{'x' if item.is_right else ' '}] {item.sentence}" for item in items), ""]
        return "\n".join(parts)


def kept_at(release: Path) -> Path:
    """Where the list of a release is kept. Raises InputError where another file is there."""
    place = release.parent / f"{release.name}-checklist.txt"
    if place.exists() and not (place.is_file() and place.read_bytes().startswith(_TITLE.encode())):
        raise InputError(f"{place.name} is there already, and is no list of this kind; move it, or name another folder")
    return place


def show(window: Window, request: Request) -> Response:
    """The page."""
    there, folder, found = releases_in(window.project), window.project.folder, window.candidates.found()
    chosen = request.args.get("release", "")
    chosen = chosen if chosen in there else there[0] if there else ""
    jobs = [(title, window.jobs.latest(kind)) for kind, title in _JOBS.items()]
    return window.page(
        "publish.html",
        "publish",
        counted=window.counting.table(),
        imprint=window.config().imprint,
        checklist=_checklist(window),
        looked=LOOKED,
        found=found,
        decision=None if found is None or found.decision is None else decision_words(found.decision),
        unpublished={} if found is None else found.answer.get("unpublished") or {},
        jobs=[(title, job, [] if job.runs else by_readers(sentences_of(job.answer))) for title, job in jobs if job],
        releases=there,
        chosen=chosen,
        replaced=replacement_beside(folder / chosen) if chosen else None,
        changed=changed_since(window.project, window.config(), chosen) if chosen else [],
        is_signed=bool(chosen) and (folder / chosen / SIGNATURE).is_file(),
        steward=bool(chosen) and (folder / f"{chosen}-steward.html").is_file(),
        has_key=(folder / _SECRET).is_file(),
        password=_password(window),
    )


def _checklist(window: Window) -> Checklist:
    config, table = window.config(), window.counting.table().value
    policy, ledgers = config.policy, ", ".join(sorted(f.parent.name for f in window.project.folder.glob("*/head.json")))
    must, found, sensitive = [], window.candidates.found(), sensitive_of(config)
    if silent := policy.silent_on(sensitive):
        said = f"Nothing is demanded of {', '.join(silent)}, so it cannot be published."
        must.append(CheckedItem(said, False, "/policy", "A demand is proposed"))
    elif sensitive:
        must.append(CheckedItem("Each sensitive column has a demand, or none on purpose."))
    if found is None:
        said = f"Nothing was searched under {window.file.path.name} as it is now, so nothing can be looked at."
        if (candidates := window.candidates.all()) and (changes := window.candidates.changes(candidates[-1])):
            said += f" Changed since candidate {candidates[-1].number}: {', '.join(changes)}."
        must.append(CheckedItem(said, False, "/search", "Search"))
    if ledgers:
        said = f"Beside a ledger ({ledgers}) other tables would be published than this page can show: {_LEDGER}."
        must.append(CheckedItem(said, False))
    should = [_rows(table, policy.least("min_cell"), config.source.unit.columns), _whose(config.source, table)]
    if undemanded := policy.undemanded(sensitive):
        are = "is" if len(undemanded) == 1 else "are"
        said = (
            f"Nothing is demanded, on purpose, of how varied {', '.join(undemanded)} {are} among people who agree in other "
            "columns."
        )
        should.append(CheckedItem(said, False, "/policy", "Demand something"))
    if sensitive:
        should.append(_smallest(policy, sensitive, None if found is None else found.smallest_sensitive_count))
    if rules := rules_of(policy.rules):
        should.append(CheckedItem(f"The rules {', '.join(rule.name for rule in rules)} are demanded."))
    else:
        should.append(CheckedItem("No agency's rule is demanded.", False, "/policy", "Name one if your house has one"))
    if not ledgers:
        said = (
            "There is no ledger. If this table changes and is published again, the changes could tell of single people: a "
            f"ledger, begun with the first release, keeps account of them. To begin one, {_LEDGER}."
        )
        should.append(CheckedItem(said, False))
    return Checklist(must, should)


def _smallest(policy: Policy, sensitive: Sequence[str], smallest: int | None) -> CheckedItem:
    """The item on small counts with a sensitive value. smallest: in the candidate."""
    least = max(policy.least("min_cell") or 1, policy.min_published_cell or 1)
    if smallest:
        said = f"The smallest count with a sensitive value is {smallest:,}, in what was found under this config."
    elif least > 1:
        said = f"No count with a sensitive value will be {counts_below(least)}."
    else:
        said = f"A count of {', '.join(sensitive)} may be as small as 1, since k holds for the other columns."
    if least > 1:
        return CheckedItem(said)
    said += " A rare value may be seen to be one person's: min_cell forbids small counts of any kind."
    return CheckedItem(said, False, "/policy", "Demand it")


def _rows(table: Table | None, least: int | None, people: Sequence[str]) -> CheckedItem:
    if table is None:
        return CheckedItem("The rows are being counted.", False)
    left_out = "".join(f" {line}" for line in left_out_lines(table))
    if not table.missing:
        return CheckedItem(f"All {table.rows:,} rows count; none lacks a value.{left_out}")
    dropped = dropped_lines(table.whole.rows + table.left_out, table.missing, table.missing_in, least, people)
    return CheckedItem(" ".join(dropped) + left_out, False)


def _whose(source: TableSource, table: Table | None) -> CheckedItem:
    is_said = source.unit.declared is not None
    if table is not None and not is_said and table.repeating:
        said = f"{'; '.join(map(str, table.repeating))}."
        return CheckedItem(said, False, "/table", "Say whose rows these are")
    if table is not None and table.copies > 1:
        return CheckedItem(" ".join(whose_lines(table)), False, "/table", "Say whose rows these are")
    return CheckedItem(_unit(source.unit.columns, source.rows_per_person, source.one_row), is_said)


def _unit(people: Sequence[str], most: Any, one_row: str | None) -> str:
    if people:
        rows_counted = (
            f"at most {number_of(most, 'row')}"
            if isinstance(most, int)
            else f"the {one_row} row"
            if one_row
            else "one row"
        )
        return f"People, told apart by {' and '.join(people)}; {rows_counted} of each count."
    if most == "any":
        return "Rows; a person may have several."
    if isinstance(most, int):
        return "Each row is a person." if most == 1 else f"Rows, of which a person has at most {most:,}."
    return "Nobody has said whose rows these are; no column looks as if people had several rows."


def publish(window: Window, request: Request) -> Response:
    """Write the release that was looked at; a form that was filled in beside another one is refused."""
    form, config = request.form, window.file.path.name
    out = _folder_name(window, form.get("out", "release").strip() or "release")
    checklist, place = _checklist(window), kept_at(window.project.folder / out)
    checklist.require("looked" in form)
    found, sign = window.candidates.found(), _SECRET if form.get("sign") else None
    if found is None or not found.identity or form.get("approved") != found.identity:
        raise InputError("what leaves the house is not what you looked at any more; look at it again, then publish")
    if sign is not None and not (window.project.folder / _SECRET).is_file():
        raise InputError(f"there is no key {_SECRET} in the folder; make one first, or publish without a signature")
    if sign is not None and (problem := _password(window)):
        raise InputError(problem)
    stated = asdict(window.config().imprint)
    typed = {name: form.get(name, text).strip() for name, text in stated.items()}
    if typed != stated:

        def entitle(document: tomlkit.TOMLDocument) -> None:
            for name, text in typed.items():
                put(section(document, "release"), name, text or None)

        window.tell(window.file.edit(form.get("version", ""), entitle), "Title and imprint are written.")
    window.config().require_collections()
    listed = checklist.text(out, config)
    window.candidates.publish(found, found.identity, out, sign)
    replace_file(place, listed.encode(), PRIVATE)  # for the steward alone: it names columns, and counts of the table
    told = "" if found.decision is None else verdict_line(found.decision)
    command = ["marginals", "publish", config, "--out", out, *(["--sign", sign] if sign else [])]
    said = f"The release is written to the folder {out}, as you looked at it: {number_of(len(found.tables), 'table')}."
    window.say(f"{said} {told}", shlex.join(command))
    return _verified(window, out)


def _password(window: Window) -> str:
    """Return why the key cannot sign here, and what to do, if it has a password; else nothing.

    A password that is typed into a page would pass through a browser, which may keep it.
    """
    try:
        if not has_password(window.project.folder / _SECRET):
            return ""
    except InputError:
        return ""  # which is said when it is to sign
    return (
        f"{_SECRET} has a password, which is asked for at a terminal alone, never by a page; publish there with --sign "
        f"{_SECRET}, or here without a signature"
    )


def verify(window: Window, request: Request) -> Response:
    """Check a release from its files alone, as `marginals verify` does; with the public key where there is one."""
    return _verified(window, _chosen(window, request))


def _verified(window: Window, name: str) -> Response:
    folder = window.project.folder
    with_key = (folder / name / SIGNATURE).is_file() and (folder / _PUBLIC).is_file()
    job = window.jobs.command("verify", ["verify", name, *(["--key", _PUBLIC] if with_key else [])])
    window.say("The release is checked from its files alone.", job.shown)
    job.done.wait(8)
    return window.back(f"/publish?release={quote(name)}")


def attack(window: Window, request: Request) -> Response:
    """Measure what readers can conclude, as `marginals attack` does."""
    name = _chosen(window, request)
    job = window.jobs.command("attack", ["attack", name, "--seconds", "60"])
    window.say("What readers can conclude is measured.", job.shown)
    job.done.wait(0.3)
    return window.back(f"/publish?release={quote(name)}")


def make_key(window: Window, _request: Request) -> Response:
    """Make a pair of keys that have no password."""
    write_keys(window.project.folder / _SECRET)
    window.say(f"{_SECRET} signs your releases: keep it to yourself, and keep a copy. {_PUBLIC} is for your readers.")
    return window.back("/publish")


def report(window: Window, _request: Request, name: str, page: str) -> Response:
    """The report of a release, or its page for the steward."""
    if name not in releases_in(window.project) or page not in ("report", "steward"):
        raise InputError("there is no such release in the folder")
    folder = window.project.folder
    file = folder / name / REPORT if page == "report" else folder / f"{name}-steward.html"
    file = window.project.inside(str(file.relative_to(folder)))
    if not file.is_file():
        raise InputError(f"{name} has no such page")
    return Response(file.read_bytes(), mimetype="text/html", headers={"Content-Security-Policy": REPORT_POLICY})


def _chosen(window: Window, request: Request) -> str:
    name = request.form.get("release", "")
    if name not in releases_in(window.project):
        raise InputError("there is no such release in the folder")
    return name


def _folder_name(window: Window, name: str) -> str:
    place = window.project.inside(name)
    if place.parent != window.project.folder or name.startswith((".", "-")) or Path(name).name != name:
        raise InputError("name a folder in that of the project, such as release")
    return name


ROUTES = (
    ("GET", "/publish", show),
    ("POST", "/publish", publish),
    ("POST", "/publish/key", make_key),
    ("POST", "/publish/verify", verify),
    ("POST", "/publish/attack", attack),
    ("GET", "/publish/<name>/<page>", report),
)
