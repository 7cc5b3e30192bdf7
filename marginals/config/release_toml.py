"""The config file of a release, `release.toml`: read strictly; every refusal names the file and the key."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

from marginals.anonymizers.published_base import is_file
from marginals.bundle.content import TITLE
from marginals.bundle.together.released_ladders import read_ladders
from marginals.conditions.part import EXAMPLE, Part
from marginals.config.hierarchy_file import read_hierarchy
from marginals.config.population_section import POPULATION, PopulationSection
from marginals.config.risk_section import RiskSection, risk_section
from marginals.errors import InputError
from marginals.named_rules.rule import COUNTS, rules_of
from marginals.printable import LONGEST_WORDS, is_words
from marginals.publishing.policy import Policy
from marginals.publishing.population import Population
from marginals.regular_file import bounded_content
from marginals.tables.attribute import LABELS, LADDERS, MISSING_AS, Attribute, Role
from marginals.tables.ladders.population import read_population
from marginals.tables.rows import Rows
from marginals.tables.source import DOMAINS, TableSource
from marginals.tables.sources.choice import ENGINES
from marginals.tables.sources.csv_form import SEPARATORS, is_encoding
from marginals.tables.table import Table
from marginals.tables.values.dates import UNITS, check_units
from marginals.tables.values.numbers import DECIMAL_SIGNS
from models.errors import HierarchyError, MarginalsError
from models.tables.hierarchy import check_lengths, check_widths

_SIZE = re.compile(r"([1-9][0-9]{0,17}) ?([MG]B)")

_MOST_BYTES = 1 << 20
"""Of a config."""

_LONG_KEY = re.compile(
    r"""(?m:^|[\[{,])[ \t]*+(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""",
)
"""A key of more than a hundred parts, where keys can stand."""

_SECTIONS = ("release", "data", "attributes", "privacy", "population", "base", "search", "risk")
_DATA = (
    "path",
    "separator",
    "encoding",
    "decimal",
    "missing",
    "domain",
    "engine",
    "memory",
    "person",
    "one_row",
    "rows_per_person",
    "ladders",
    "where",
)
_ATTRIBUTE = (
    "role",
    "hierarchy",
    "intervals",
    "start",
    "prefixes",
    "dates",
    "labels",
    "missing",
    "description",
    "values",
    "ladder",
    "population",
)
_PRIVACY = ("k_link", "k_combinatorial", "min_cell", "diversity", "odds", "rules", "turnover")
_SEARCH = (
    "strategy",
    "seed",
    "start",
    "max_sensitive_margins",
    "max_cells",
    "max_attributes",
    "max_waiting",
    "must_publish",
    "must_not_publish",
    "wanted",
    "time_limit",
)


@dataclass(frozen=True)
class Config:
    """A release as configured: how its table is read, what it must satisfy, and who may attack it.

    path: the file that says so. hierarchies, rules: the files that it names, those of populations among the hierarchies.
    ladders: the release whose levels it takes, if one.
    """

    path: Path
    source: TableSource
    policy: Policy
    risk: RiskSection = field(default_factory=RiskSection)
    title: str = TITLE
    hierarchies: tuple[Path, ...] = ()
    rules: tuple[Path, ...] = ()
    ladders: tuple[Path, ...] = ()
    population: PopulationSection | None = None

    @property
    def reads(self) -> tuple[Path, ...]:
        """All that is read: this file and those it names, a folder or glob as it stands there."""
        tables = () if self.source.path is None else (self.source.path,)
        everybody = () if self.population is None or self.population.path is None else (self.population.path,)
        return (self.path, *tables, *self.hierarchies, *self.rules, *self.ladders, *everybody, *self.risk.reads)

    def read_table(self) -> Table:
        """The table that the config names. Raises InputError."""
        with _named(self.path):
            return self.source.table(self.k)

    @property
    def k(self) -> int:
        """The rows that every published class will have, with which fitted ladders begin."""
        return max(self.policy.least(key) or 1 for key in COUNTS)

    def read_population(self) -> Population | float | None:
        """The population that the table is a sample of, or the sampling fraction; None without either. Raises InputError."""
        with _named(self.path):
            return None if self.population is None else self.population.read(self.source)

    def require_collections(self) -> None:
        """Raise InputError where the config demands what is decided of single tables only."""
        with _named(self.path):
            if self.population is not None:
                self.population.refuse_demands()

    def read_rows(self) -> Rows:
        """The table that the config names, row by row. Raises InputError."""
        with _named(self.path):
            return self.source.rows(self.k)


def read_config(path: str | Path) -> Config:
    r"""The config in a TOML file. Raises InputError naming the file and the key at fault.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "release.toml")
    ...     _ = file.write_text("data.path = 'people.csv'\nattributes.sex.role = 'quasi-identifier'\nprivacy.k_link = 5")
    ...     config = read_config(file)
    >>> config.source.path.name, config.policy.k_link
    ('people.csv', 5)
    """
    path = Path(path)
    try:
        text = bounded_content(path, _MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no config file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} cannot be read as UTF-8 text") from None
    return config_of(path, text)


def config_of(path: Path, text: str) -> Config:
    r"""The config that a text is, as if it stood in the file. Raises InputError as `read_config` does.

    >>> config_of(Path("release.toml"), "data.path = 'people.csv'\nattributes.sex.role = 'sensitive'").source.used.keys()
    dict_keys(['sex'])
    """
    content = _toml(path, text)
    with _named(path):
        return _config(path, content)


def _toml(path: Path, text: str) -> dict[str, Any]:
    if _LONG_KEY.search(text):  # tomllib takes the square of the number of its parts
        raise InputError(f"{path} has a key of more than a hundred parts")
    try:
        # As files are read in text mode, where all ends of lines are alike.
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be read") from None
    except ValueError:
        raise InputError(f"{path} has a number with more digits than are read") from None


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """What is refused, with the name of the config that asks for it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None
    except MarginalsError as error:
        raise InputError(f"{path.name}: {error}") from error


def _config(path: Path, content: Mapping[str, Any]) -> Config:
    _check_keys(content, _SECTIONS, "")
    data = _section(content, "data", _DATA)
    settings = _data_settings(path.parent, data)
    title = _title(_section(content, "release", ("title",)))
    privacy = _section(content, "privacy", _PRIVACY)
    base = _section(content, "base", ("table",))
    search = _section(content, "search", _SEARCH)
    table = base.get("table", "auto")
    if not isinstance(table, str | dict):
        raise InputError('the key base.table must be "auto", "best", "none", a CSV file or a table of levels')
    if isinstance(table, str) and is_file(table):
        table = str(path.parent / table)
    sections = content.get("attributes", {})
    if not isinstance(sections, dict) or not sections:
        raise InputError("there is no section [attributes.NAME], so no column has a role")
    attributes = {name: _attribute(path.parent, name, section) for name, section in sections.items()}
    if "diversity" in privacy and not any(attribute.role is Role.SENSITIVE for attribute in attributes.values()):
        raise InputError(
            'privacy.diversity needs an attribute whose role is "sensitive"; give it to one, or leave out the key'
        )
    _check_diversity(privacy.get("diversity"), attributes)
    rules = privacy.get("rules", [])
    listed = rules if isinstance(rules, list) else [rules]
    roles = {name: attribute.role for name, attribute in attributes.items() if attribute.role.is_used}
    if "where" in data and "population" in content:
        raise InputError(
            "data.where names a part of the table, and [population] everybody whom the whole could be about; leave out one"
        )
    earlier = tuple(path.parent / data[key] for key in ("ladders",) if key in data)
    return Config(
        path=path,
        source=TableSource(
            attributes=attributes, **settings, ladders=read_ladders(earlier[0], roles) if earlier else {}
        ),
        policy=Policy(**{**privacy, "rules": rules_of(rules, path.parent)}, base=table, **search),
        risk=risk_section(path.parent, content.get("risk", {})),
        title=title,
        population=PopulationSection.of(path.parent, _section(content, "population", POPULATION)),
        hierarchies=tuple(
            path.parent / section[key]
            for section in sections.values()
            for key in ("hierarchy", "population")
            if key in section
        ),
        ladders=earlier,
        rules=tuple(path.parent / rule for rule in listed if isinstance(rule, str) and rule.endswith(".toml")),
    )


def _check_diversity(demanded: object, attributes: Mapping[str, Attribute]) -> None:
    """Raise InputError for a diversity of what is not sensitive, or of levels that nobody knows beforehand."""
    if not isinstance(demanded, dict):
        return
    for name, by_level in demanded.items():
        if name not in attributes or attributes[name].role is not Role.SENSITIVE:
            sensitive = [each for each, attribute in attributes.items() if attribute.role is Role.SENSITIVE]
            raise InputError(
                f'the key privacy.diversity.{name} names no attribute whose role is "sensitive"; these are '
                f"{', '.join(sensitive)}"
            )
        if isinstance(by_level, list) and len(by_level) > 1 and attributes[name].is_fitted:
            raise InputError(
                f"the key privacy.diversity.{name} demands something of coarser levels, and those of {name} are fitted to "
                'the counts; give it a hierarchy with ladder = "given", or one text'
            )


def _data_settings(folder: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """What the section [data] says of a TableSource."""
    if not isinstance(data.get("path"), str):
        raise InputError("the key data.path must name the table")
    if data.get("separator", ",") not in SEPARATORS:
        raise InputError(f"the key data.separator must be {' or '.join(map(json.dumps, SEPARATORS))}")
    if not is_encoding(data.get("encoding", "auto")):
        raise InputError('the key data.encoding must be "auto" or an encoding such as "cp1252", "latin-1" or "utf-16"')
    if data.get("decimal", ".") not in DECIMAL_SIGNS:
        raise InputError(f"the key data.decimal must be {' or '.join(map(json.dumps, DECIMAL_SIGNS))}")
    missing = data.get("missing", [""])
    if not isinstance(missing, list) or not all(isinstance(text, str) for text in missing):
        raise InputError("the key data.missing must be a list of texts")
    if data.get("domain", "declared") not in DOMAINS:
        raise InputError(f"the key data.domain must be {' or '.join(map(json.dumps, DOMAINS))}")
    if data.get("engine", "auto") not in ENGINES:
        raise InputError(f"the key data.engine must be {' or '.join(map(repr, ENGINES))}")
    if not isinstance(data.get("ladders", ""), str):
        raise InputError("the key data.ladders must name the folder of a release")
    whose = ("person", "one_row", "rows_per_person")
    if not isinstance(data.get("where", ""), str):
        raise InputError(f"the key data.where must be a condition, {EXAMPLE}")
    settings = {
        key: data[key] for key in ("domain", "engine", "separator", "encoding", "decimal", *whose) if key in data
    }
    if "memory" in data:
        settings["memory"] = _bytes(data["memory"])
    if "where" in data:
        settings["where"] = Part(data["where"])
    return settings | {"origin": folder / data["path"], "missing": tuple(missing)}


def _title(release: Mapping[str, Any]) -> str:
    title = release.get("title", TITLE)
    if not isinstance(title, str) or not title.strip() or not is_words(title):
        raise InputError(f"the key release.title must be one line of text of at most {LONGEST_WORDS} characters")
    return title.strip()


def _bytes(text: object) -> int:
    """Bytes from text such as "3 GB". Raises InputError."""
    size = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if not size:
        raise InputError('the key data.memory must be a size such as "500 MB" or "3 GB"')
    return int(size[1]) * {"MB": 10**6, "GB": 10**9}[size[2]]


def _section(content: Mapping[str, Any], name: str, keys: Iterable[str]) -> Mapping[str, Any]:
    section = content.get(name, {})
    if not isinstance(section, dict):
        raise InputError(f"{name} must be a section [{name}]")
    _check_keys(section, keys, f"{name}.")
    return section


def _check_keys(section: Mapping[str, Any], keys: Iterable[str], prefix: str) -> None:
    """Raise InputError for a key of a section that is none of these. prefix: of the keys' names in the message."""
    for key in section:
        if key not in keys:
            raise InputError(f"unknown key {prefix}{key}; known are {', '.join(prefix + k for k in keys)}")


def _attribute(folder: Path, name: str, section: object) -> Attribute:
    where = f"attributes.{name}"
    if not isinstance(section, dict):
        raise InputError(f"{where} must be a section [{where}]")
    _check_keys(section, _ATTRIBUTE, f"{where}.")
    if "role" not in section:
        raise InputError(f"the key {where}.role is missing")
    if not _is_whole_numbers(section.get("prefixes", [])):
        raise InputError(f"the key {where}.prefixes must be a list of whole numbers")
    dates = section.get("dates", [])
    if not isinstance(dates, list) or not all(isinstance(unit, str) for unit in dates):
        raise InputError(f"the key {where}.dates must be a list of {', '.join(UNITS)}")
    if not _is_numbers(section.get("intervals", [])):
        raise InputError(f"the key {where}.intervals must be a list of numbers")
    key = "intervals"
    try:
        check_widths([Decimal(str(width)) for width in section.get(key, [])])
        key = "prefixes"
        check_lengths(section.get(key, []))
        key = "dates"
        check_units(dates)
    except HierarchyError as error:
        raise InputError(f"{where}.{key}: {error}") from None
    if not _is_numbers([section.get("start", 0)]):
        raise InputError(f"the key {where}.start must be a number")
    if section.get("labels", "private") not in LABELS:
        raise InputError(f"the key {where}.labels must be {' or '.join(map(json.dumps, LABELS))}")
    if section.get("missing", "drop") not in MISSING_AS:
        raise InputError(f"the key {where}.missing must be {' or '.join(map(json.dumps, MISSING_AS))}")
    if section.get("ladder", "given") not in LADDERS:
        raise InputError(f"the key {where}.ladder must be {' or '.join(map(json.dumps, LADDERS))}")
    _check_words(section, where)
    for key in ("hierarchy", "population"):
        if not isinstance(section.get(key, ""), str):
            raise InputError(f"the key {where}.{key} must name a file")
    files = {"hierarchy": read_hierarchy, "population": read_population}
    try:
        read = {key: reader(folder / section[key]) for key, reader in files.items() if key in section}
        return Attribute(**{**section, **read})
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _check_words(section: Mapping[str, Any], where: str) -> None:
    """Raise InputError for a description, or values, that no reader could be shown."""
    values = section.get("values", {})
    if not isinstance(values, dict):
        raise InputError(f'the key {where}.values must be a table of values and what they mean, {{ "1" = "yes" }}')
    words = {"description": section.get("description", "")} | {
        f"values.{value}": text for value, text in values.items()
    }
    for key, text in words.items():
        if not is_words(text):
            raise InputError(f"the key {where}.{key} must be one line of text of at most {LONGEST_WORDS} characters")


def _is_numbers(values: object) -> bool:
    return isinstance(values, list) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and isfinite(v) for v in values
    )


def _is_whole_numbers(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(v, int) and not isinstance(v, bool) for v in values)
