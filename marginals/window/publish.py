"""Publish: what to look at before, the release itself, signed if wanted, its report, and what attackers can conclude."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tomlkit
from werkzeug.wrappers import Request, Response

from checks.claims import counts_below
from marginals.bundle.content import REPORT
from marginals.bundle.signature import SIGNATURE, secret_key_at
from marginals.errors import InputError
from marginals.files import PUBLIC, allowed
from marginals.names import number_of
from marginals.tables.attribute import Role
from marginals.window.gate import REPORT_POLICY
from marginals.window.project import changed_since, put, releases_in, section
from marginals.window.window import Window
from marginals.wording import dropped_lines, left_out_lines

_SECRET, _PUBLIC = "minisign.key", "minisign.pub"


def show(window: Window, request: Request) -> Response:
    """The page."""
    if not window.has_config or window.file.problem() is not None:
        return window.back("/table")
    config, counted = window.config(), window.counting.table()
    table = counted.value
    there = releases_in(window.project)
    chosen = request.args.get("release", there[0] if there else "")
    if chosen not in there:
        chosen = there[0] if there else ""
    folder = window.project.folder
    job, verifying, attacking = (window.jobs.latest(kind) for kind in ("publish", "verify", "attack"))
    changing = window.jobs.latest("ledger")
    sensitive = [name for name, attribute in config.source.attributes.items() if attribute.role is Role.SENSITIVE]
    result = window.candidates.found()
    least = max(config.policy.least("min_cell") or 1, config.policy.min_published_cell or 1)
    return window.page(
        "publish.html",
        "publish",
        counted=counted,
        config=config,
        policy=config.policy,
        sensitive=sensitive,
        silent=config.policy.silent_on(list(sensitive)),
        undemanded=config.policy.undemanded(sensitive),
        smallest=None if result is None else result.smallest_sensitive_count,
        small=counts_below(least) if least > 1 else "",
        table=table,
        dropped=[]
        if table is None
        else list(
            dropped_lines(
                table.whole.rows + table.left_out, table.missing, table.missing_in, config.policy.least("min_cell")
            )
        ),
        left_out=[] if table is None else list(left_out_lines(table)),
        unit=_unit(config.source.person, config.source.rows_per_person, config.source.one_row),
        is_said=config.source.unit.stated is not None,
        repeating=[]
        if table is None or config.source.unit.stated is not None
        else [str(key) for key in table.repeating],
        job=job,
        verifying=verifying,
        attacking=attacking,
        changing=changing,
        releases=there,
        chosen=chosen,
        changed=changed_since(window.project, window.config(), chosen) if chosen else [],
        is_signed=bool(chosen) and (folder / chosen / SIGNATURE).is_file(),
        steward=bool(chosen) and (folder / f"{chosen}-steward.html").is_file(),
        has_key=(folder / _SECRET).is_file(),
        password=_password(window),
        has_public_key=(folder / _PUBLIC).is_file(),
        ledgers=sorted(head_file.parent.name for head_file in folder.glob("*/head.json")),
    )


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
    """Write the release, as `marginals publish` does."""
    if (running := window.jobs.latest("publish")) is not None and running.runs:
        raise InputError("a release is being written already")
    form, config = request.form, window.file.path.name
    out = _folder_name(window, form.get("out", "release").strip() or "release")
    command = ["publish", config, "--out", out]
    if ledger := form.get("ledger", "").strip():
        command += ["--ledger", _folder_name(window, ledger)]
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
        change = partial(_entitle, typed=typed)
        window.tell(window.file.edit(form.get("version", ""), change), "Title and imprint are written.")
    window.config().require_collections()
    if not ledger and (result := window.candidates.found()) is not None:
        job = window.jobs.at_once("publish", command, lambda: window.candidates.publish(result, out, sign))
        window.say(f"Candidate {result.number} was searched under this config, so it is not searched again.", job.shown)
    else:
        job = window.jobs.command("publish", command)
        window.say("The release is being made.", job.shown)
    job.done.wait(0.3)
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
    job = window.jobs.command_in_words("verify", ["verify", name, *(["--key", _PUBLIC] if with_key else [])])
    window.say("The release is checked from its files alone.", job.shown)
    job.done.wait(8)
    return window.back(f"/publish?release={quote(name)}")


def attack(window: Window, request: Request) -> Response:
    """Measure what readers can conclude, as `marginals attack` does."""
    name = _chosen(window, request)
    job = window.jobs.command_in_words("attack", ["attack", name, "--seconds", "60"])
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
    ("POST", "/publish/attack", attack),
    ("POST", "/publish/ledger", told_by_ledger),
    ("GET", "/publish/<name>/<page>", report),
)
