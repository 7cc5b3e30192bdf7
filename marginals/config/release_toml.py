"""The config file of a release, `release.toml`: read strictly; every refusal names the file and the key."""

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from io import StringIO
from math import inf
from pathlib import Path
from typing import Any

from checks.population import SINGLE_TABLES
from checks.risk.harm import Linear, Multiplicative
from marginals.arguments import path_of, require, require_names
from marginals.bundle.imprint import NAMES, NO_IMPRINT, Imprint
from marginals.bundle.together import read_ladders
from marginals.config.questions import Unconfirmed, guesses_in
from marginals.errors import InputError
from marginals.files import bounded_content, reading, toml_content
from marginals.keys import (
    ANY,
    FLAG,
    TEXTS,
    Key,
    Keys,
    are,
    check_keys,
    is_number,
    is_table,
    is_text,
    is_whole,
    keys_of,
    one_of,
    section,
    text,
)
from marginals.named_rules import COUNTS
from marginals.output import OutputFile
from marginals.published_values import EXAMPLE, Part
from marginals.publishing.policy import NO_DIVERSITY, Policy
from marginals.publishing.population import Population
from marginals.risk.assessment import HarmModel, RiskAssessment
from marginals.risk.attackers import Attackers, Linkage, PeopleTable, with_values_of
from marginals.risk.rules import DisclosureRule, disclose
from marginals.tables.attribute import Attribute, Role
from marginals.tables.files import files_of, frame_of
from marginals.tables.people import unit_refusal
from marginals.tables.source import TableSource
from marginals.tables.spellings import cell_text
from marginals.tables.table import Rows, Table
from models.errors import HierarchyError, MarginalsError
from models.frozen import frozen
from models.tables.hierarchy import Hierarchy

_SIZE = re.compile(r"([1-9][0-9]{0,17}) ?([MG]B)")
_FAMILIES: Mapping[str, type[Linear] | type[Multiplicative]] = {"linear": Linear, "multiplicative": Multiplicative}

_WEIGHT = Key(lambda value: is_number(value) and value >= 0, "be a number of 0 or more, or inf")
_WEIGHT_OR_COLUMN = Key(
    lambda value: is_text(value) or _WEIGHT.takes(value),
    f"{_WEIGHT.must}, or the name of a column of risk.personal_weights",
)
_TABLES = Key(are(is_table), "be a list of tables", default=())

_SAME = ("missing", "domain", "separator", "encoding", "header", "sheet", "counts", "decimal", "person",
         "one_row", "rows_per_person", "impossible")  # fmt: skip
_OF_PRIVACY = ("k_link", "k_combinatorial", "min_cell", "diversity", "register", "rules", "turnover", "no_small_certain",
               "min_published_cell")  # fmt: skip
_OF_POLICY = keys_of(Policy)
# Settings of tables, attributes, policies and populations, then those of configs alone.
KEYS: Mapping[str, Keys] = {
    "release": dict.fromkeys(NAMES, ANY) | {"title": replace(ANY, default=NO_IMPRINT.title)},
    "data": {
        "path": text("name the table", required=True),
        "reviewed": replace(FLAG, default=False),
        **{name: key for name, key in keys_of(TableSource).items() if name in _SAME},
        "memory": Key(
            lambda size: is_text(size) and bool(_SIZE.fullmatch(size)), 'be a size such as "500 MB" or "3 GB"'
        ),
        "ladders": text("name the folder of a release"),
        "where": text(f"be a condition, {EXAMPLE}"),
    },
    "attributes.NAME": keys_of(Attribute)
    | {
        "role": replace(one_of([role.value for role in Role]), required=True),
        "hierarchy": text("name a file"),
    },
    "privacy": {name: _OF_POLICY[name] for name in _OF_PRIVACY},
    "population": {
        "path": text("name a table"),
        **{name: key for name, key in keys_of(Population).items() if name != "people"},
        "sampling_fraction": Key(
            lambda share: is_number(share) and 0 < share <= 1, "be a number above 0 and at most 1"
        ),
    },
    "base": {
        "table": Key(
            lambda base: isinstance(base, str | dict),
            'be "auto", "best", "none" or a table of levels; a published table is named by its levels, { age = 2 }',
            default="auto",
        )
    },
    "search": {name: key for name, key in _OF_POLICY.items() if name not in (*_OF_PRIVACY, "base")},
    "risk": {
        "dictionaries": replace(TEXTS, default=()),
        "prior": Key(are(is_number), "be a list of numbers"),
        "sensitivity": replace(one_of(_FAMILIES), default="linear"),
        "weights": Key(is_table, "be a table of attributes and weights"),
        "personal_weights": text("name a table"),
        "missed": replace(_WEIGHT_OR_COLUMN, default=0.0),
        "linkage": ANY,
        "interactions": _TABLES,
        "rules": _TABLES,
        "row_weight": text("name a column of the table"),
    },
    "risk.linkage": {"table": text("name a table", required=True), "columns": replace(TEXTS, default=())},
    "risk.interactions": {
        "attributes": Key(
            lambda names: are(is_text)(names) and len(set(names)) >= 2, "be a list of two or more attributes", True
        ),
        "weight": replace(_WEIGHT_OR_COLUMN, required=True),
    },
    "risk.rules": {
        "attribute": text("name an attribute", required=True),
        "level": Key(is_whole, "be a whole number"),
        "condition": text("be text"),
    },
}


def _section(content: object, name: str, keys: str = "") -> dict[str, Any]:
    return section(content, name, KEYS[keys or name])


@frozen
class RiskSection:
    """The section [risk], its tables not yet read, those of personal weights and of attackers (`linkage`) among them."""

    dictionaries: tuple[Path, ...] = ()
    prior: tuple[float, ...] = (1.0,)
    harm: HarmModel = field(default_factory=HarmModel)
    personal_weights: Path | None = None
    linkage: tuple[Path, tuple[str, ...]] | None = None
    rules: tuple[DisclosureRule, ...] = ()
    row_weight: str | None = None

    @classmethod
    def of(cls, folder: Path, content: object) -> "RiskSection":
        """The section as TOML has it; paths are relative to a folder. Raises InputError naming the key."""
        risk = _section(content, "risk")
        number = max(len(risk["dictionaries"]), 1)
        prior = risk.get("prior", [1 / number] * number)
        if len(prior) != number or not (min(prior) >= 0 and abs(sum(prior) - 1) <= 1e-9):
            raise InputError("the key risk.prior needs a probability for each dictionary, 1 in all")
        linkage = _section(risk["linkage"], "risk.linkage") if "linkage" in risk else None
        rules = (_section(rule, "risk.rules") for rule in risk["rules"])
        return cls(
            tuple(folder / path for path in risk["dictionaries"]),
            tuple(prior),
            _harm(risk),
            folder / risk["personal_weights"] if "personal_weights" in risk else None,
            (folder / linkage["table"], tuple(dict.fromkeys(linkage["columns"]))) if linkage else None,
            tuple(DisclosureRule(rule["attribute"], rule.get("level"), rule.get("condition")) for rule in rules),
            risk.get("row_weight"),
        )

    @property
    def files(self) -> tuple[Path, ...]:
        """Tables that it names."""
        named = (self.personal_weights, self.linkage and self.linkage[0])
        return (*self.dictionaries, *(path for path in named if path is not None))


def _harm(risk: Mapping[str, Any]) -> HarmModel:

    def weight(name: str, content: Any) -> Any:
        where = f"risk.weights.{name}"
        if not is_table(content):
            return _WEIGHT.check(where, content)
        return _WEIGHT.of_each(where, Key(bool, "be a weight, or a table of values and weights").check(where, content))

    weights = {name: weight(name, content) for name, content in risk["weights"].items()} if "weights" in risk else None
    interactions = [_section(entry, "risk.interactions") for entry in risk["interactions"]]
    missed = risk["missed"]
    if missed == inf:
        raise InputError(
            "the key risk.missed must be finite, as an attacker who can be wrong always misses somebody. What must never be "
            "disclosed has the weight inf in risk.weights"
        )
    if weights is None and is_text(missed):
        raise InputError("the key risk.missed names a column of personal weights, which need risk.weights too")
    if weights is None and ("personal_weights" in risk or interactions):
        weights = {}
    pairs = tuple((tuple(dict.fromkeys(entry["attributes"])), entry["weight"]) for entry in interactions)
    return HarmModel(_FAMILIES[risk["sensitivity"]], weights, pairs, missed)


def _population(folder: Path, content: object) -> dict[str, Any] | None:
    """Return the section [population] with the path of its table, not yet read; None without keys."""
    content = _section(content, "population")
    if "sampling_fraction" in content and len(content) > 1:
        raise InputError("the key population.sampling_fraction stands alone; leave out the others of [population]")
    if not content or "sampling_fraction" in content:
        return content or None
    KEYS["population"]["path"].check("population.path", content.get("path"))
    demands = {key: tuple(value) if are(is_number)(value) else value for key, value in content.items()}
    return {**demands, "path": folder / content["path"]}


@frozen
class Config:
    """A release as configured: how its table is read, what it must satisfy, and who may attack it.

    reads: the file itself, and all that it names. unconfirmed: roles that `init` guessed and nobody has reviewed.
    """

    path: Path
    source: TableSource
    policy: Policy
    risk: RiskSection = field(default_factory=RiskSection)
    imprint: Imprint = NO_IMPRINT
    reads: tuple[Path, ...] = ()
    population: Mapping[str, Any] | None = None
    unconfirmed: Mapping[str, Unconfirmed] = field(default_factory=dict)

    @property
    def k(self) -> int:
        """The rows that every published class will have, with which fitted ladders begin."""
        policy = self.policy
        return max(policy.least_certain, policy.min_published_cell or 1, *(policy.least(key) or 1 for key in COUNTS))

    def read_table(self) -> Table:
        """The table that the config names. Raises InputError."""
        with _named(self.path):
            return self.source.table(self.k)

    def read_rows(self) -> Rows:
        """The table that the config names, row by row. Raises InputError."""
        with _named(self.path):
            return self.source.rows(self.k)

    def read_population(self) -> Population | float | None:
        """The population that the table is a sample of, or the sampling fraction; None without either. Raises InputError."""
        people = self.population or {}
        if "path" not in people:
            fraction: float | None = people.get("sampling_fraction")
            return fraction
        with _named(self.path):
            return Population.read(like=self.source, **people)

    def require_collections(self) -> None:
        """Raise InputError if the config demands what is decided of single tables only."""
        if self.population and not {"path", "sampling_fraction"}.issuperset(self.population):
            with _named(self.path):
                raise InputError(f"{SINGLE_TABLES}; leave their keys out of [population] for this command")


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
    path = path_of(path)
    return config_of(path, config_text(path, str(path)))


def config_text(path: Path, name: str) -> str:
    """Return the text of a config file. name: what errors call it. Raises InputError."""
    with reading("config file", Path(name)):
        return bounded_content(path, _MOST_BYTES).decode("utf-8")


def config_of(path: Path, text: str) -> Config:
    r"""The config that a text is, as if it stood in the file. Raises InputError as `read_config` does."""
    content = toml_content(text, path)
    with _named(path):
        config = _config(path, content)
    if content["data"].get("reviewed", False):
        return config
    return replace(config, unconfirmed=guesses_in(text, config.source.attributes))


_MOST_BYTES, _MOST_BYTES_OF_A_HIERARCHY = 1 << 20, 1 << 26


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except MarginalsError as error:
        cause = None if isinstance(error, InputError) else error
        raise InputError(f"{path.name}: {error}").about(error.key) from cause


def _config(path: Path, content: Mapping[str, Any]) -> Config:
    folder = path.parent
    check_keys(content, dict.fromkeys(name.partition(".")[0] for name in KEYS))
    imprint, data, privacy, base, search = (
        _section(content.get(name, {}), name) for name in ("release", "data", "privacy", "base", "search")
    )
    table = base["table"]
    sections = content.get("attributes", {})
    if not isinstance(sections, dict) or not sections:
        raise InputError("there is no section [attributes.NAME], so no column has a role")
    attributes = {name: _attribute(folder, name, content) for name, content in sections.items()}
    _check_diversity(privacy.get("diversity"), attributes)
    if "where" in data and "population" in content:
        raise InputError(
            "data.where names a part of the table, and [population] everybody whom the whole could be about; leave out one"
        )
    settings = {key: data[key] for key in _SAME if key in data}
    if "memory" in data and (size := _SIZE.fullmatch(data["memory"])):
        settings["memory"] = int(size[1]) * {"MB": 10**6, "GB": 10**9}[size[2]]
    if "where" in data:
        settings["where"] = Part(data["where"])
    if "ladders" in data:
        roles = {name: attribute.role for name, attribute in attributes.items() if attribute.role.is_used}
        settings["ladders"] = read_ladders(folder / data["ladders"], roles)
    risk = RiskSection.of(folder, content.get("risk", {}))
    people = _population(folder, content.get("population", {}))
    files = [data["path"], *([data["ladders"]] if "ladders" in data else ())]
    files += [content["hierarchy"] for content in sections.values() if "hierarchy" in content]
    files += [*risk.files, *([people["path"]] if people and "path" in people else ())]
    return Config(
        path,
        TableSource(attributes=attributes, origin=folder / data["path"], **settings),
        Policy(**privacy, base=table, **search),
        risk,
        Imprint.of(imprint),
        (path, *(folder / file for file in files)),
        people,
    )


def _check_diversity(demanded: object, attributes: Mapping[str, Attribute]) -> None:
    sensitive = [name for name, attribute in attributes.items() if attribute.role is Role.SENSITIVE]
    if demanded not in (None, NO_DIVERSITY) and not sensitive:
        raise InputError(
            'privacy.diversity needs an attribute whose role is "sensitive"; give it to one, or leave out the key'
        )
    for name, texts in (demanded if isinstance(demanded, dict) else {"": demanded}).items():
        key, by_level = f"privacy.diversity.{name}".rstrip("."), texts if isinstance(texts, list) else [texts]
        if name and name not in sensitive:
            raise InputError(
                f'the key {key} names no attribute whose role is "sensitive"; these are {", ".join(sensitive)}'
            )
        if name and len(by_level) > 1 and attributes[name].is_fitted:
            raise InputError(
                f"the key {key} demands something of coarser levels, but those of {name} are fitted to the counts. "
                'Give it a hierarchy with ladder = "given", or one text'
            )


def _attribute(folder: Path, name: str, content: object) -> Attribute:
    where = f"attributes.{name}"
    content = _section(content, where, "attributes.NAME")
    try:
        files = {"hierarchy": read_hierarchy(folder / content["hierarchy"])} if "hierarchy" in content else {}
        return Attribute(**{**content, **files})
    except InputError as error:
        raise InputError(f"{where}: {error}").about(where) from None


def disclosure_risk(config: Config, levels: Mapping[str, int] | None = None) -> RiskAssessment:
    """The risk that a config describes: its table under its rules, with some attributes at levels throughout.

    Raises InputError for files, columns or conditions that cannot be used, and DomainMismatchError or DisclosureRuleError
    for attributes and levels that do not exist. Raises InputError too if a key of people repeats, and nobody has said
    whose rows these are.

    >>> from tempfile import TemporaryDirectory
    >>> from marginals.example import attributes, frame
    >>> from marginals.publishing.policy import Policy
    >>> from marginals.tables.source import TableSource
    >>> with TemporaryDirectory() as folder:
    ...     frame.to_csv(f"{folder}/people.csv", index=False)
    ...     people = TableSource(origin=f"{folder}/people.csv", attributes=attributes)
    ...     config = Config(Path(folder), people, Policy())
    ...     assessment = disclosure_risk(config, {"age": 1})
    >>> round(assessment.of_table().bayes_risk, 3)
    0.167
    """
    require(config, Config, "config", "what marginals.read_config(path) returns")
    rows, risk = config.read_rows(), config.risk
    if rows.repeating:
        raise unit_refusal(rows.repeating)
    tables = tuple(_people_table(config, path) for path in risk.dictionaries)
    linkage = risk.linkage and Linkage(_people_table(config, risk.linkage[0]), risk.linkage[1])
    attackers = Attackers(tables or (PeopleTable.of_quasi_identifiers(rows),), risk.prior, linkage)
    rows = with_values_of(config.source, config.k, rows, attackers.tables)
    personal = None if risk.personal_weights is None else _people_table(config, risk.personal_weights)
    assessment = RiskAssessment.of(rows, attackers, replace(risk.harm, personal=personal), risk.rules, levels)
    return replace(assessment, row_weight=risk.row_weight)


def _people_table(config: Config, path: Path) -> PeopleTable:
    source = config.source
    frame = frame_of(files_of(path, replace(source.form, header=None, sheet=None)))
    if not len(frame):
        raise InputError(f"{path.name} has no rows")
    names = (name for name, attribute in source.attributes.items() if attribute.role is Role.IDENTIFIER)
    identifier = next(names, None)
    identifier = identifier if identifier in frame.columns else None
    return PeopleTable(path.name, frame, identifier, frozenset(source.missing), decimal=source.decimal)


def disclose_table(config: Config, target: OutputFile) -> int:
    """Write the table of a config as its rules disclose it, as CSV; return the number of rows. Raises InputError."""
    rules, names = config.risk.rules, config.source.used
    if not rules:
        raise InputError(f"{config.path.name} has no [[risk.rules]], which say what is hidden or generalized")
    require_names((rule.attribute for rule in rules), "risk.rules", [*names], "attribute")
    table = disclose(config.read_rows(), rules)
    target.write(table.frame().to_csv(index=False, lineterminator="\n").encode())
    return len(table.rows)


def read_hierarchy(path: str | Path) -> Hierarchy:
    r"""A hierarchy file as ARX writes it: semicolons, no header, one row a base value, `value;level1;...;*`.

    Raises InputError naming the file and the row at fault.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "town.csv").write_text("oak;west;*\nelm;west;*\nash;east;*\n", encoding="utf-8")
    ...     read_hierarchy(f"{folder}/town.csv").labels
    (('oak', 'elm', 'ash'), ('west', 'east'), ('*',))
    """
    path = path_of(path)
    try:
        with reading("hierarchy file", path, " with semicolons"):
            lines = StringIO(bounded_content(path, _MOST_BYTES_OF_A_HIERARCHY).decode("utf-8-sig"), newline="")
            rows = csv.reader(lines, delimiter=";")
            return Hierarchy.from_rows([cell_text(label) for label in row] for row in rows if row)
    except HierarchyError as error:
        raise InputError(f"the hierarchy file {path.name}: {error}") from None
