"""The table: its columns with their roles, and whose rows they are."""

from collections.abc import Mapping
from typing import Any

import tomlkit
from werkzeug.wrappers import Request, Response

from marginals.config.questions import guesses_in, questions_of, without_question
from marginals.errors import InputError
from marginals.tables.attribute import Attribute, Role
from marginals.tables.people import columns_of
from marginals.window.project import OlderVersionError, keep_diversity, put, section, sensitive_in
from marginals.window.window import Window
from models.errors import MarginalsError

PILES = {
    Role.IDENTIFIER: ("Names people", "never read"),
    Role.QUASI_IDENTIFIER: ("Others may know it", "people could be found by it"),
    Role.SENSITIVE: ("Nobody should learn it", "protected"),
    Role.IGNORED: ("Left out", "not in the release"),
}


def show(window: Window, request: Request) -> Response:
    """Return the page."""
    if not window.file.path.exists():
        job = window.jobs.latest("init")
        return window.page("begin.html", "table", table=window.project.table, job=job)
    if window.file.problem():
        return show_text(window, request)
    columns, table = window.counting.columns(), window.counting.table(0)
    config, counted = window.config(), columns.value or {}
    attributes = config.source.attributes
    reasons = guesses_in(window.file.text, attributes)
    rows = list[dict[str, Any]]()
    for name in dict.fromkeys([*counted, *attributes]):
        attribute, counts = attributes.get(name, Attribute("ignored")), counted.get(name)
        if counts is not None and attribute.role is Role.IDENTIFIER:
            counts = counts._replace(kind="values, which name people", values=())
        why = reasons[name].why if name in reasons else ""
        rows.append({"name": name, "attribute": attribute, "counts": counts, "why": why})
    return window.page(
        "table.html",
        "table",
        columns=rows,
        counts=table.value,
        roles=[role.value for role in Role],
        piles=[
            (role.value, *PILES[role], [row["name"] for row in rows if row["attribute"].role is role]) for role in PILES
        ],
        person=" + ".join(config.source.unit.columns),
        one_row=config.source.one_row or "first",
        rows_per_person=config.source.rows_per_person,
        values_of={row["name"]: row["counts"].values for row in rows if row["counts"] is not None},
        problem=columns.problem or table.problem,
        awaited=columns.is_awaited or table.is_awaited,
        asked=questions_of((name, guess.question, attributes[name].role) for name, guess in config.unconfirmed.items()),
        unconfirmed=bool(config.unconfirmed),
        missing=", ".join(f'"{token}"' for token in config.source.missing),
        repeating=[] if table.value is None else [str(key) for key in table.value.repeating],
    )


def begin(window: Window, _request: Request) -> Response:
    """Write a first config, as `marginals init` does."""
    table = window.project.table
    if table is None or window.has_config:
        raise InputError("there is a config already")
    config = window.file.path
    job = window.jobs.command("init", ["init", table.name, "--out", config.name])
    window.say("The program reads the table.", job.command)
    job.done.wait(20)
    return window.back("/table")


def save_roles(window: Window, request: Request) -> Response:
    """Give columns the roles that a form says: several the same, or each its own."""
    form, attributes = request.form, window.config().source.attributes
    moved = dict.fromkeys(form.getlist("column"), form.get("to", ""))
    roles = moved or {key.removeprefix("role:"): value for key, value in form.items() if key.startswith("role:")}
    if not set(roles.values()) <= (names_of_roles := {role.value for role in Role}):
        raise InputError(f"a role is one of {', '.join(sorted(names_of_roles))}")

    def change(document: tomlkit.TOMLDocument) -> None:
        _give_roles(document, roles)
        for name in attributes:
            missing = form.get(f"missing:{name}")
            if missing is not None:
                put(section(document, "attributes", name), "missing", missing if missing != "drop" else None)

    return window.edit(request, change, "/table", sentence="The roles are saved.")


def confirm(window: Window, request: Request) -> Response:
    """Write that somebody has looked at all roles."""
    sentence = "The piles are confirmed."
    return window.edit(request, lambda file: put(section(file, "data"), "reviewed", True), "/table", sentence=sentence)


def _give_roles(document: tomlkit.TOMLDocument, roles: Mapping[str, str]) -> None:
    attributes, before = section(document, "attributes"), sensitive_in(document)
    for name, role in roles.items():
        if name not in attributes:
            if role == Role.IGNORED.value:
                continue
            attributes[name] = tomlkit.table()
            if role != Role.SENSITIVE.value:
                attributes[name]["ladder"] = "fitted"
        put(attributes[name], "role", role)
        if role != Role.QUASI_IDENTIFIER.value:
            put(attributes[name], "level_of", None)
        if role != Role.SENSITIVE.value:
            for key in ("harmless", "at_most", "confirmed"):
                put(attributes[name], key, None)
    keep_diversity(document, before)


def answer(window: Window, request: Request) -> Response:
    """Answer a question about columns: they get a role, and are not asked about any more."""
    role, names = request.form.get("answer", ""), request.form.getlist("column")
    attributes = window.config().source.attributes
    if role not in {role.value for role in Role} or not {*names} <= {*attributes}:
        raise InputError("there is no such column, or no such answer; load the page again")
    document = tomlkit.parse(without_question(window.file.text, names))
    _give_roles(document, dict.fromkeys(names, role))
    window.tell(window.file.replace(window.file.version, tomlkit.dumps(document)), "The answer is saved.")
    return window.back("/table")


def save_unit(window: Window, request: Request) -> Response:
    """Say whose rows these are."""
    person, keep = request.form.get("person", ""), request.form.get("keep", "")
    most = request.form.get("most", "").strip()
    if keep == "most" and not most.isdecimal():
        raise InputError("say how many rows of a person are kept at most, as a whole number").about("most")

    def change(document: tomlkit.TOMLDocument) -> None:
        data = section(document, "data")
        earlier = columns_of(data.unwrap().get("person"))
        for key in ("person", "one_row", "rows_per_person"):
            data.pop(key, None)
        if keep == "rows":
            data["rows_per_person"] = "any"
        elif person:
            data["person"] = list(earlier) if " + ".join(earlier) == person != earlier[0] else person
            if keep == "most":
                data["rows_per_person"] = int(most)
            elif keep in ("first", "last", "random"):
                data["one_row"] = keep
        elif keep == "one":
            data["rows_per_person"] = 1

    return window.edit(request, change, "/table", sentence="It is saved whose rows these are.")


def show_text(window: Window, request: Request) -> Response:
    """Return the config as text; of a text that cannot be read it says the reason."""
    text = request.form.get("text") or window.file.text
    return window.page("text.html", "table", text=text, problem=window.file.problem(text))


def save_text(window: Window, request: Request) -> Response:
    """Write another text in place of the config, if it can be read."""
    text = request.form.get("text", "")
    try:
        written = window.file.replace(request.form.get("version", ""), text)
    except OlderVersionError:
        raise
    except MarginalsError:
        return show_text(window, request)
    window.tell(written, "The config is written.")
    return window.back("/table")
