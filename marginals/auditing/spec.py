"""The spec of an audit, `audit.toml`: how published tables are to be read, and what counts as a fact."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marginals.auditing.cell_text import UNKNOWN, Rounding
from marginals.errors import InputError
from marginals.regular_file import bounded_content
from marginals.suggestions import suggested
from models.intervals.interval_table import Interval
from models.programs.equations import UNBOUNDED

SPEC_KEYS = ("small", "protection", "sensitive", "markers", "attributes", "tables")
TABLE_KEYS = ("attributes", "count", "across", "ignore", "scope", "rounding", "percent_of", "absent", "people")
ATTRIBUTE_KEYS = ("totals", "groups", "others")


@dataclass(frozen=True)
class AttributeSpec:
    """totals: labels of all values together. groups: labels of several values, with these. others: whether people
    may have none of the values that the tables list.
    """

    totals: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    others: bool = False


@dataclass(frozen=True)
class TableSpec:
    """How a table is read.

    attributes: columns with values. count: the column of counts, of a long table. across: what the header's values are
    values of, in a crossed one. ignore: columns to leave out. scope: values that all of the table's people have. base,
    rounding: of counts. percent_of: the total, or the column with it, whose percentages the cells are. absent: the range of
    counts of cells that the table does not list. people: whom it counts; tables of other people are not combined.
    """

    attributes: tuple[str, ...]
    count: str = ""
    across: str = ""
    ignore: tuple[str, ...] = ()
    scope: Mapping[str, str] = field(default_factory=dict)
    base: int = 1
    rounding: Rounding = Rounding.NEAREST
    percent_of: int | str | None = None
    absent: Interval = UNKNOWN
    people: str = "everybody"

    @property
    def every_attribute(self) -> tuple[str, ...]:
        """All attributes of the table, those of its columns first."""
        crossed = (self.across,) if self.across else ()
        return tuple(dict.fromkeys((*self.attributes, *crossed, *self.scope)))


@dataclass(frozen=True)
class AuditSpec:
    """How all tables are read. tables: by their file, as given. markers: texts of suppressed cells, and what they mean."""

    tables: Mapping[Path, TableSpec]
    attributes: Mapping[str, AttributeSpec]
    markers: Mapping[str, Interval]
    small: int = 4
    protection: int = 0
    sensitive: tuple[str, ...] = ()

    def check_attributes(self) -> None:
        """Raise InputError for an attribute that no table has."""
        used = {name for table in self.tables.values() for name in table.every_attribute}
        for name in (*self.attributes, *self.sensitive):
            if name not in used:
                raise InputError(f"no table has the attribute {name!r}; {suggested(name, sorted(used), 'there is')}")


def read_spec(path: Path) -> AuditSpec:
    """The spec in a TOML file. Raises InputError naming the file and the key at fault."""
    try:
        content = tomllib.loads(bounded_content(path, 1 << 22).decode("utf-8").replace("\r\n", "\n"))
    except FileNotFoundError:
        raise InputError(f"there is no spec {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{path.name} is not valid TOML: {error}") from None
    try:
        return _spec(path.parent, content)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def _spec(folder: Path, content: Mapping[str, Any]) -> AuditSpec:
    _check_keys(content, SPEC_KEYS, "")
    tables = _section(content, "tables")
    if not tables:
        raise InputError("it needs a section [tables.FILE] for each table")
    attributes = _section(content, "attributes")
    return AuditSpec(
        {folder / name: _table(f"tables.{name}", section) for name, section in tables.items()},
        {name: _attribute(f"attributes.{name}", section) for name, section in attributes.items()},
        {text: _range(f"markers.{text}", given) for text, given in _section(content, "markers").items()},
        _number(content, "small", 4, 1),
        _number(content, "protection", 0, 0),
        _texts(content.get("sensitive", []), "sensitive"),
    )


def _check_keys(section: Mapping[str, Any], known: Iterable[str], prefix: str) -> None:
    for key in section:
        if key not in known:
            hint = suggested(key, list(known), "known are")
            raise InputError(f"unknown key {prefix}{key}; {hint}")


def _section(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = content.get(name, {})
    if not isinstance(section, dict):
        raise InputError(f"{name} must be a section [{name}]")
    return section


def _table(where: str, section: object) -> TableSpec:
    if not isinstance(section, dict):
        raise InputError(f"{where} must be a section")
    _check_keys(section, TABLE_KEYS, f"{where}.")
    given: dict[str, Any] = {
        "attributes": _texts(section.get("attributes", []), f"{where}.attributes"),
        "ignore": _texts(section.get("ignore", []), f"{where}.ignore"),
    }
    for key in ("count", "across", "people"):
        if key in section:
            given[key] = _text(section[key], f"{where}.{key}")
    if bool(given.get("count")) == bool(given.get("across")):
        raise InputError(f"{where} needs one of the keys count (a column of counts) and across (what the header shows)")
    scope = section.get("scope", {})
    if not isinstance(scope, dict):
        raise InputError(f'{where}.scope must give values of attributes, as {{ sex = "female" }}')
    given["scope"] = {name: _text(value, f"{where}.scope.{name}") for name, value in scope.items()}
    if "rounding" in section:
        given["base"], given["rounding"] = _rounding(section["rounding"], f"{where}.rounding")
    if "percent_of" in section:
        of = section["percent_of"]
        if isinstance(of, bool) or not isinstance(of, int | str) or (isinstance(of, int) and of < 1):
            raise InputError(f"{where}.percent_of must be a number of people, or the column that has it")
        given["percent_of"] = of
    if "absent" in section:
        given["absent"] = _range(f"{where}.absent", section["absent"])
    return TableSpec(**given)


def _rounding(given: object, where: str) -> tuple[int, Rounding]:
    section = {"base": given} if isinstance(given, int) else given
    ways = [way.value for way in Rounding]
    if isinstance(section, dict):
        _check_keys(section, ("base", "how"), f"{where}.")
        base, how = section.get("base"), section.get("how", "nearest")
        if isinstance(base, int) and not isinstance(base, bool) and 1 <= base <= 10**6 and how in ways:
            return base, Rounding(how)
    raise InputError(f'{where} must be a base, or {{ base = 5, how = "nearest" }}; how is one of {", ".join(ways)}')


def _attribute(where: str, section: object) -> AttributeSpec:
    if not isinstance(section, dict):
        raise InputError(f"{where} must be a section")
    _check_keys(section, ATTRIBUTE_KEYS, f"{where}.")
    groups = section.get("groups", {})
    if not isinstance(groups, dict):
        raise InputError(f'{where}.groups must give the values of each group, as {{ "under 65" = ["0-17", "18-64"] }}')
    others = section.get("others", False)
    if not isinstance(others, bool):
        raise InputError(f"{where}.others must be true or false")
    return AttributeSpec(
        _texts(section.get("totals", []), f"{where}.totals"),
        {label: _texts(members, f"{where}.groups.{label}") for label, members in groups.items()},
        others,
    )


def _range(where: str, given: object) -> Interval:
    if given == "unknown":
        return UNKNOWN
    if given == "zero":
        return 0, 0
    ends = [given, given] if isinstance(given, int) else given
    if isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, int) and end >= 0 for end in ends):
        low, high = int(ends[0]), int(ends[1])
        if low <= high < UNBOUNDED:
            return low, high
    raise InputError(f'{where} must be the least and the largest count, as [1, 4], or "unknown" or "zero"')


def _number(content: Mapping[str, Any], key: str, default: int, least: int) -> int:
    value = content.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{key} must be a whole number of at least {least}")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{where} must be a text")
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise InputError(f"{where} must be a list of texts")
    return tuple(value)
