"""Publish: what to look at before, the release itself, signed if wanted, its report, and what attackers can conclude."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tomlkit
from werkzeug.wrappers import Request, Response

from marginals.bundle.content import REPORT
from marginals.bundle.replacement import Replacement, replacement_of
from marginals.bundle.signature import SIGNATURE, secret_key_at
from marginals.bundle.snapshot import Snapshot
from marginals.errors import InputError
from marginals.files import PUBLIC, allowed
from marginals.named_rules import rules_of
from marginals.names import number_of
from marginals.say.claims import counts_below
from marginals.say.sentences import Sentence, by_readers, sentences_of
from marginals.say.table import dropped_lines, left_out_lines
from marginals.tables.attribute import Role
from marginals.tables.source import TableSource
from marginals.tables.table import Table
from marginals.window.checklist import LOOKED, CheckedItem, Checklist, keep, kept_at
from marginals.window.gate import REPORT_POLICY
from marginals.window.jobs import Job
from marginals.window.project import OlderVersionError, changed_since, put, releases_in, section
from marginals.window.window import Window
from models.errors import MarginalsError

_LEDGER = "publish at a terminal, with --ledger"
_SECRET, _PUBLIC = "minisign.key", "minisign.pub"


def show(window: Window, request: Request) -> Response:
    """The page."""
    if not window.has_config or window.file.problem() is not None:
        return window.back("/table")
    config, counted = window.config(), window.counting.table()
    there = releases_in(window.project)
    chosen = request.args.get("release", there[0] if there else "")
    if chosen not in there:
        chosen = there[0] if there else ""
    folder = window.project.folder
    job, verifying, attacking = (window.jobs.latest(kind) for kind in ("publish", "verify", "attack"))
    changing = window.jobs.latest("ledger")
    result = window.candidates.found()
    return window.page(
        "publish.html",
        "publish",
        counted=counted,
        config=config,
        checklist=_checklist(window),
        looked=LOOKED,
        result=result,
        preview=None if result is None else result.preview,
        job=job,
        verifying=verifying,
        attacking=attacking,
        told={"verify": by_readers(_sentences(verifying)), "attack": by_readers(_sentences(attacking))},
        changing=changing,
        releases=there,
        chosen=chosen,
        replaced=_replacement(window, chosen) if chosen else "",
        changed=changed_since(window.project, window.config(), chosen) if chosen else [],
        is_signed=bool(chosen) and (folder / chosen / SIGNATURE).is_file(),
        steward=bool(chosen) and (folder / f"{chosen}-steward.html").is_file(),
        has_key=(folder / _SECRET).is_file(),
        password=_password(window),
        has_public_key=(folder / _PUBLIC).is_file(),
        ledgers=sorted(head_file.parent.name for head_file in folder.glob("*/head.json")),
    )


def _checklist(window: Window) -> Checklist:
    """What the program itself knows of the list, under the config and the counts as they are now."""
    config, table = window.config(), window.counting.table().value
    policy, source, folder = config.policy, config.source, window.project.folder
    sensitive = [name for name, attribute in source.attributes.items() if attribute.role is Role.SENSITIVE]
    names, least = ", ".join(sensitive), max(policy.least("min_cell") or 1, policy.min_published_cell or 1)
    must = []
    if silent := policy.silent_on(list(sensitive)):
        said = f"Nothing is demanded of {', '.join(silent)}, so it cannot be published."
        must.append(CheckedItem(said, False, "/policy", "A demand is proposed"))
    elif sensitive:
        must.append(CheckedItem("Each sensitive column has a demand, or none on purpose."))
    if (found := window.candidates.found()) is None:
        said = f"Nothing was searched under {window.file.path.name} as it is now, so nothing can be looked at."
        must.append(CheckedItem(said, False, "/search", "Search"))
    ledgers = ", ".join(sorted(head_file.parent.name for head_file in folder.glob("*/head.json")))
    if ledgers:
        said = f"Beside a ledger ({ledgers}) other tables would be published than this page can show: {_LEDGER}."
        must.append(CheckedItem(said, False))
    should = [_rows(table, policy.least("min_cell"), config.source.person), _whose(config.source, table)]
    if undemanded := policy.undemanded(sensitive):
        are = "is" if len(undemanded) == 1 else "are"
        whose = f"{', '.join(undemanded)} {are} among people who agree in other columns"
        said = f"Nothing is demanded, on purpose, of how varied {whose}."
        should.append(CheckedItem(said, False, "/policy", "Demand something"))
    if sensitive:
        smallest = None if found is None else found.smallest_sensitive_count
        said = (
            f"The smallest count with a sensitive value is {smallest:,}, in what was found under this config."
            if smallest
            else f"No count with a sensitive value will be {counts_below(least)}."
            if least > 1
            else f"A count of {names} may be as small as 1, since k holds for the other columns."
        )
        if least <= 1:
            said += " A rare value may be seen to be one person's: min_cell forbids small counts of any kind."
        should.append(CheckedItem(said, least > 1, "" if least > 1 else "/policy", "" if least > 1 else "Demand it"))
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


def _rows(table: Table | None, least: int | None, person: str | None) -> CheckedItem:
    """Which rows count."""
    if table is None:
        return CheckedItem("The rows are being counted.", False)
    left_out = "".join(f" {line}" for line in left_out_lines(table))
    if not table.missing:
        return CheckedItem(f"All {table.rows:,} rows count; none lacks a value.{left_out}")
    dropped = dropped_lines(table.whole.rows + table.left_out, table.missing, table.missing_in, least, person)
    return CheckedItem(" ".join(dropped) + left_out, False)


def _whose(source: TableSource, table: Table | None) -> CheckedItem:
    """Whose rows these are."""
    is_said = source.unit.stated is not None
    if table is not None and not is_said and table.repeating:
        said = f"{'; '.join(map(str, table.repeating))}."
        return CheckedItem(said, False, "/table", "Say whose rows these are")
    return CheckedItem(_unit(source.person, source.rows_per_person, source.one_row), is_said)


def _sentences(job: Job | None) -> list[Sentence]:
    """Those of a job that has ended."""
    return [] if job is None or job.runs else sentences_of(job.answer)


def _unit(person: str | None, most: Any, one_row: str | None) -> str:
    """What the claims count, in words."""
    if person is not None:
        rows_counted = (
            f"at most {number_of(most, 'row')}"
            if isinstance(most, int)
            else f"the {one_row} row"
            if one_row
            else "one row"
        )
        return f"People, told apart by {person}; {rows_counted} of each count."
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
    result = window.candidates.found()
    if result is None or result.preview is None or form.get("approved") != result.preview.identity:
        raise InputError("what leaves the house is not what you looked at any more; look at it again, then publish")
    command = ["publish", config, "--out", out]
    sign = _SECRET if form.get("sign") else None
    if sign is not None:
        if not (window.project.folder / _SECRET).is_file():
            raise InputError(f"there is no key {_SECRET} in the folder; make one first, or publish without a signature")
        if problem := _password(window):
            raise InputError(problem)
        command += ["--sign", sign]
    stated = asdict(window.config().imprint)
    typed = {name: form.get(name, text).strip() for name, text in stated.items()}
    if typed != stated:
        try:
            written = window.file.edit(form.get("version", ""), partial(_entitle, typed=typed))
        except OlderVersionError as error:
            return window.conflict(request, error)
        window.tell(written, "Title and imprint are written.")
    window.config().require_collections()
    approved, told = result.preview.identity, checklist.text(out, config)
    job = window.jobs.at_once("publish", command, lambda: window.candidates.publish(result, approved, out, sign))
    if job.status == 0:
        keep(told, place)
        window.say(f"Candidate {result.number} is written as you looked at it.", job.shown)
    return window.back("/publish")


def _entitle(document: tomlkit.TOMLDocument, typed: Mapping[str, str]) -> None:
    for name, text in typed.items():
        put(section(document, "release"), name, text or None)


def _password(window: Window) -> str:
    """Why the key cannot sign here, and what to do, if it has a password; else empty.

    A password that is typed into a page would pass through a browser, which may keep it: minisign asks for it itself.
    """
    try:
        has_password = secret_key_at(window.project.folder / _SECRET).has_password
    except InputError:
        return ""  # which is said when it is to sign
    if not has_password:
        return ""
    return (
        f"{_SECRET} has a password, which minisign asks for at a terminal alone, never a page; publish there with --sign "
        f"{_SECRET}, or here without a signature"
    )


def verify(window: Window, request: Request) -> Response:
    """Check a release from its files alone, as `marginals verify` does; with the public key where there is one."""
    name = _chosen(window, request)
    folder = window.project.folder
    with_key = (folder / name / SIGNATURE).is_file() and (folder / _PUBLIC).is_file()
    job = window.jobs.command("verify", ["verify", name, *(["--key", _PUBLIC] if with_key else [])])
    window.say("The release is checked from its files alone.", job.shown)
    job.done.wait(8)
    return window.back(f"/publish?release={quote(name)}")


def replaced(window: Window, request: Request) -> Response:
    """Note beside a release that another one of the folder replaces it, as `marginals verify --replaces` does."""
    name, by = _chosen(window, request), request.form.get("by", "")
    if by not in releases_in(window.project):
        raise InputError("there is no such release in the folder")
    job = window.jobs.command("replace", ["verify", by, "--replaces", name])
    job.done.wait(20)
    if job.state != "done":
        raise InputError(job.sentence.rstrip(".") or "the note is not written")
    window.say(f"It is noted beside {name} that {by} replaces it.", job.shown)
    return window.back(f"/publish?release={quote(name)}")


def _replacement(window: Window, name: str) -> str:
    """By what a release of the folder is replaced, in words; empty where no note says that."""
    folder = window.project.folder / name
    try:
        said = replacement_of(folder, Snapshot.of(folder).descriptor.identity)
    except MarginalsError:
        return ""
    return str(said) if isinstance(said, Replacement) else ""


def attack(window: Window, request: Request) -> Response:
    """Measure what readers can conclude, as `marginals attack` does."""
    name = _chosen(window, request)
    job = window.jobs.command("attack", ["attack", name, "--seconds", "60"])
    window.say("What readers can conclude is measured.", job.shown)
    job.done.wait(0.3)
    return window.back(f"/publish?release={quote(name)}")


def told_by_ledger(window: Window, request: Request) -> Response:
    """Say what is out of a table that changes, and what waits, as `marginals ledger` does."""
    job = window.jobs.command_in_words("ledger", ["ledger", _folder_name(window, request.form.get("ledger", ""))])
    window.say("The ledger is read.", job.shown)
    job.done.wait(8)
    return window.back("/publish")


def make_key(window: Window, _request: Request) -> Response:
    """Make a pair of keys that have no password, as `minisign -G -W` does."""
    folder = window.project.folder
    if (folder / _SECRET).exists() or (folder / _PUBLIC).exists():
        raise InputError("there is a key already, and it is not replaced")
    try:
        job = window.jobs.program("key", ["minisign", "-G", "-W", "-p", _PUBLIC, "-s", _SECRET])
    except FileNotFoundError:
        raise InputError("minisign is not installed, which makes keys and signs") from None
    job.done.wait(20)
    if job.state != "done":
        raise InputError("minisign made no key")
    (folder / _SECRET).chmod(0o600)
    (folder / _PUBLIC).chmod(allowed(PUBLIC))
    window.say(
        f"{_SECRET} signs your releases: keep it to yourself, and keep a copy. {_PUBLIC} is for your readers.",
        job.shown,
    )
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
    """The name of a folder right in that of the project. Raises InputError for any other."""
    place = window.project.inside(name)
    if place.parent != window.project.folder or name.startswith((".", "-")) or Path(name).name != name:
        raise InputError("name a folder in that of the project, such as release")
    return name


ROUTES = (
    ("GET", "/publish", show),
    ("POST", "/publish", publish),
    ("POST", "/publish/key", make_key),
    ("POST", "/publish/verify", verify),
    ("POST", "/publish/replace", replaced),
    ("POST", "/publish/attack", attack),
    ("POST", "/publish/ledger", told_by_ledger),
    ("GET", "/publish/<name>/<page>", report),
)
