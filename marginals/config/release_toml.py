"""The config file of a release, `release.toml`: read strictly; every refusal names the file and the key."""

import csv
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from io import TextIOWrapper
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Any

from checks.diversity.registry import demands_nothing, parse_diversity
from checks.errors import CriterionError
from checks.population import SINGLE_TABLES
from checks.risk.harm import Linear, Multiplicative
from marginals.anonymizers.recoded_file import is_file
from marginals.arguments import path_of, require
from marginals.bundle.imprint import NAMES, NO_IMPRINT, Imprint
from marginals.bundle.together import read_ladders
from marginals.config.questions import Unconfirmed, guesses_in
from marginals.disclosure import (
    DisclosedFile,
    DisclosureRule,
    RowOrder,
    Shuffled,
    disclose_file,
    disclose_rows,
    disclosing_engine,
)
from marginals.errors import InputError, system_reason
from marginals.files import bounded_content, open_regular, reading
from marginals.messages import LONGEST_WORDS, is_words
from marginals.named_rules import COUNTS, rules_of
from marginals.output import OutputFile
from marginals.published_values import EXAMPLE, Part
from marginals.publishing.policy import Policy, Population
from marginals.publishing.proposals import NO_DIVERSITY, PROPOSED
from marginals.risk import (
    THRESHOLD,
    Attackers,
    HarmModel,
    Linkage,
    PeopleTable,
    RiskAssessment,
    Similarity,
    with_values_of,
)
from marginals.tables.attribute import LABEL_FORMS, LABELS, LADDERS, MISSING_AS, Attribute, Role
from marginals.tables.engines import ENGINES
from marginals.tables.files import SEPARATORS, is_encoding, read_frame
from marginals.tables.levels import read_population
from marginals.tables.people import unit_refusal
from marginals.tables.source import DOMAINS, TableSource
from marginals.tables.table import Rows, Table
from marginals.tables.values import DECIMAL_SIGNS, UNITS, check_units
from models.errors import HierarchyError, MarginalsError
from models.tables.hierarchy import Hierarchy, check_lengths, check_widths

# The section [risk] of a config: what a steward says about attackers, harm and what is disclosed.
#
# [risk]
# dictionaries = ["voters.csv"]       # what attackers hold; without it, the table's own quasi-identifiers
# prior = [1.0]                       # the probability of each dictionary; without it, the same for each
# sensitivity = "multiplicative"      # or "linear": how the weights of what is disclosed make up the harm
# weights = { age = 0.1, diagnosis = 2.0 }   # of a base value; less up its hierarchy; inf: never; 0 if not named;
#                                     # or by value, diagnosis = { HIV = 5.0, "*" = 1.0 }: "*" is all others, else 0
# personal_weights = "weights.csv"    # own weights, one row a person, by the column whose role is identifier
# missed = 0.0                        # harm to somebody whom the attacker does not find, or a column of personal_weights
# row_weight = "households"           # a column of the table: how often each row counts in the risk; once without it
# clusters = [["age", "job"]]         # for --attributes: those that depend on each other; all others are independent
# step_utility = { age = 2.0 }        # what a step below `*` is worth to analysts, by attribute; 1 if not named
# similar = ["name"]                  # columns whose values agree when they are similar, as misspelled ones are
# threshold = 0.8                     # Jaro similarity from which on two values are similar
#
# [risk.linkage]                      # a public table that attackers join with what is disclosed before they look for people
# table = "members.csv"               # rows that fit are equally likely; identifiers, if both have them, say which is right
# columns = ["car"]                   # its columns that the table lacks, and that dictionaries may have: what linking adds
#
# [[risk.interactions]]
# attributes = ["age", "diagnosis"]
# weight = 0.5                        # or a column of personal_weights
#
# [[risk.rules]]                      # what the table is disclosed as; without a level, hidden
# attribute = "age"
# level = 2
# condition = "age > 80"


_FAMILIES: Mapping[str, type[Linear] | type[Multiplicative]] = {"linear": Linear, "multiplicative": Multiplicative}

_KEYS = (
    "dictionaries", "prior", "sensitivity", "weights", "personal_weights", "similar", "threshold", "missed", "linkage",
    "interactions", "rules", "step_utility", "row_weight", "clusters",
)  # fmt: skip


@dataclass(frozen=True)
class LinkageSection:
    """What attackers link with what is disclosed. columns: of that table, those that enlarge the records."""

    table: Path
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class RiskSection:
    """The section [risk], its tables not yet read.

    harm: all of the harm but the personal weights, whose table is named by `personal_weights`. row_weight: the column of
    how often each row counts. clusters: attributes that depend on each other, where others are taken to be independent.
    """

    dictionaries: tuple[Path, ...] = ()
    prior: tuple[float, ...] = (1.0,)
    harm: HarmModel = field(default_factory=HarmModel)
    personal_weights: Path | None = None
    similarity: Similarity = field(default_factory=Similarity)
    linkage: LinkageSection | None = None
    rules: tuple[DisclosureRule, ...] = ()
    step_utility: Mapping[str, float] = field(default_factory=dict)
    row_weight: str | None = None
    clusters: tuple[tuple[str, ...], ...] = ()

    @property
    def reads(self) -> tuple[Path, ...]:
        """The tables that are read beside the one that is disclosed."""
        others = (self.personal_weights, self.linkage.table if self.linkage else None)
        return self.dictionaries + tuple(table for table in others if table is not None)


def risk_section(folder: Path, content: object) -> RiskSection:
    """The section as TOML has it; paths are relative to a folder. Raises InputError naming the key."""
    section = _table(content, "risk", _KEYS)
    paths = _list(section, "dictionaries", str)
    dictionary_count = max(len(paths), 1)
    prior = _list(section, "prior", float) if "prior" in section else [1 / dictionary_count] * dictionary_count
    if len(prior) != dictionary_count or not (min(prior) >= 0 and abs(sum(prior) - 1) <= 1e-9):
        raise InputError("the key risk.prior needs a probability for each dictionary, 1 in all")
    personal = section.get("personal_weights")
    harm = _harm(section, personal)
    return RiskSection(
        tuple(folder / path for path in paths),
        tuple(prior),
        harm,
        None if personal is None else folder / personal,
        rules=tuple(_rule(entry) for entry in _list(section, "rules", dict)),
        similarity=Similarity(tuple(_list(section, "similar", str)), _threshold(section)),
        linkage=_linkage(folder, section["linkage"]) if "linkage" in section else None,
        step_utility=_step_utility(section.get("step_utility", {})),
        row_weight=_row_weight(section),
        clusters=_clusters(section),
    )


def _harm(section: Mapping[str, Any], personal: object) -> HarmModel:
    """The harm without the table of personal weights, whose name is checked here."""
    family = section.get("sensitivity", "linear")
    if not isinstance(family, str) or family not in _FAMILIES:
        raise InputError(f"the key risk.sensitivity is {' or '.join(map(repr, _FAMILIES))}, not {family!r}")
    _require(personal is None or isinstance(personal, str), "risk.personal_weights", "name a table")
    interactions = tuple(_interaction(entry) for entry in _list(section, "interactions", dict))
    weights = _weights(section["weights"]) if "weights" in section else None
    missed = _weight_or_column(section.get("missed", 0.0), "risk.missed")
    if weights is None and isinstance(missed, str):
        raise InputError("the key risk.missed names a column of personal weights, which need risk.weights too")
    if weights is None and (personal is not None or interactions):
        weights = {}
    return HarmModel(_FAMILIES[family], weights, interactions, missed)


def _row_weight(section: Mapping[str, Any]) -> str | None:
    column: str | None = section.get("row_weight")
    _require(column is None or isinstance(column, str), "risk.row_weight", "name a column of the table")
    return column


def _clusters(section: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    clusters = section.get("clusters", [])
    are_lists = isinstance(clusters, list) and all(cluster and _is_texts(cluster) for cluster in clusters)
    _require(are_lists, "risk.clusters", "be a list of lists of attributes")
    named = [name for cluster in clusters for name in cluster]
    _require(len(set(named)) == len(named), "risk.clusters", "name each attribute once")
    return tuple(map(tuple, clusters))


def _threshold(section: Mapping[str, Any]) -> float:
    if "threshold" not in section:
        return THRESHOLD
    if not section.get("similar"):
        raise InputError("the key risk.threshold goes with risk.similar, which names the columns to compare by it")
    value = section["threshold"]
    _require(_is_number(value) and 0 < value <= 1, "risk.threshold", "be a number above 0 and at most 1")
    return float(value)


def _linkage(folder: Path, content: object) -> LinkageSection:
    entry = _table(content, "risk.linkage", ("table", "columns"))
    _require(isinstance(entry.get("table"), str), "risk.linkage.table", "name a table")
    columns = entry.get("columns", [])
    _require(_is_texts(columns), "risk.linkage.columns", "be a list of texts")
    return LinkageSection(folder / entry["table"], tuple(dict.fromkeys(columns)))


def _list(section: Mapping[str, Any], key: str, kind: type) -> list[Any]:
    values = section.get(key, [])
    accepted = (int, float) if kind is float else kind
    plural = {str: "texts", float: "numbers", dict: "tables"}[kind]
    are_such = isinstance(values, list) and all(isinstance(v, accepted) and not isinstance(v, bool) for v in values)
    _require(are_such, f"risk.{key}", f"be a list of {plural}")
    return list(values)


def _weight(value: Any, where: str) -> float:
    _require(_is_number(value) and not (value < 0 or isnan(value)), where, "be a number of 0 or more, or inf")
    return float(value)


def _weight_or_column(value: object, where: str) -> float | str:
    if isinstance(value, str):
        return value
    try:
        return _weight(value, where)
    except InputError as error:
        raise InputError(f"{error}, or the name of a column of risk.personal_weights") from None


def _weights(content: Any) -> dict[str, float | dict[str, float]]:
    _require(isinstance(content, dict), "risk.weights", "be a table of attributes and weights")
    return {name: _weight_or_weights(value, f"risk.weights.{name}") for name, value in content.items()}


def _weight_or_weights(content: object, where: str) -> float | dict[str, float]:
    if not isinstance(content, dict):
        return _weight(content, where)
    _require(bool(content), where, "be a weight, or a table of values and weights")
    return {value: _weight(weight, f"{where}.{value}") for value, weight in content.items()}


def _step_utility(content: Any) -> dict[str, float]:
    _require(isinstance(content, dict), "risk.step_utility", "be a table of attributes and numbers")
    steps = {name: _weight(value, f"risk.step_utility.{name}") for name, value in content.items()}
    for name, worth in steps.items():
        _require(worth < inf, f"risk.step_utility.{name}", "be a finite number of 0 or more")
    return steps


def _interaction(content: Mapping[str, Any]) -> tuple[tuple[str, ...], float | str]:
    entry = _table(content, "risk.interactions", ("attributes", "weight"))
    attributes = entry.get("attributes", [])
    are_several = _is_texts(attributes) and len(set(attributes)) >= 2
    _require(are_several, "risk.interactions.attributes", "be a list of two or more attributes")
    return tuple(dict.fromkeys(attributes)), _weight_or_column(entry.get("weight"), "risk.interactions.weight")


def _rule(content: Mapping[str, Any]) -> DisclosureRule:
    entry = _table(content, "risk.rules", ("attribute", "level", "condition"))
    level, condition = entry.get("level"), entry.get("condition")
    _require(isinstance(entry.get("attribute"), str), "risk.rules.attribute", "name an attribute")
    _require(level is None or _is_whole_number(level), "risk.rules.level", "be a whole number")
    _require(condition is None or isinstance(condition, str), "risk.rules.condition", "be text")
    return DisclosureRule(entry["attribute"], level, condition)


# The section [population] of a config: everybody whom the rows could be about, and what is demanded of a single table.
#
# [population]
# path = "everybody.csv"          # one row a person, with the columns of the quasi-identifiers
# k_map = 5                       # people who could be meant by each row, at least
# delta_presence = [0.0, 0.2]     # the probability of being in the table, of everybody: between these
# bayes_optimal = [0.2, 0.6]      # no belief of who knows the population may come from below the first to above the second
#
# Instead of all this, where nobody has such a table:
#
# sampling_fraction = 0.05        # the share of the population that is in the table, drawn at random


POPULATION = ("path", "k_map", "delta_presence", "bayes_optimal", "sampling_fraction")


@dataclass(frozen=True)
class PopulationSection:
    """The section, its table not yet read."""

    path: Path | None
    k_map: int | None = None
    delta_presence: tuple[float, float] | None = None
    bayes_optimal: tuple[float, float] | None = None
    sampling_fraction: float | None = None

    @classmethod
    def of(cls, folder: Path, section: Mapping[str, Any]) -> "PopulationSection | None":
        """The section as TOML has it; None without keys. Raises InputError naming the key."""
        if not section:
            return None
        k, bounds, fraction = (section.get(key) for key in ("k_map", "delta_presence", "sampling_fraction"))
        if fraction is not None:
            if len(section) > 1:
                raise InputError(
                    "the key population.sampling_fraction stands alone; leave out the others of [population]"
                )
            is_share = _is_number(fraction) and 0 < fraction <= 1
            must = f"be a number above 0 and at most 1, got {fraction!r}"
            _require(is_share, "population.sampling_fraction", must)
            return cls(None, sampling_fraction=float(fraction))
        _require(isinstance(section.get("path"), str), "population.path", "name a table")
        is_count = k is None or (_is_whole_number(k) and k >= 1)
        _require(is_count, "population.k_map", f"be a whole number of at least 1, got {k!r}")
        are_bounds = bounds is None or (_is_numbers(bounds) and len(bounds) == 2 and 0 <= bounds[0] <= bounds[1] <= 1)
        _require(are_bounds, "population.delta_presence", "be two shares from 0 to 1, the lower first")
        rhos = section.get("bayes_optimal")
        are_rhos = rhos is None or (_is_numbers(rhos) and len(rhos) == 2 and 0 < rhos[0] < rhos[1] < 1)
        _require(are_rhos, "population.bayes_optimal", "be two beliefs between 0 and 1, the lower first")
        presence, beliefs = (None if pair is None else (pair[0], pair[1]) for pair in (bounds, rhos))
        return cls(folder / section["path"], k, presence, beliefs)

    def read(self, like: TableSource) -> Population | float:
        """The population, read as a table is that it has the quasi-identifiers of, or the sampling fraction.

        Raises InputError.
        """
        if self.path is None:
            assert self.sampling_fraction is not None
            return self.sampling_fraction
        return Population.read(self.path, like, self.k_map, self.delta_presence, self.bayes_optimal)

    def refuse_demands(self) -> None:
        """Raise InputError where it demands what only single tables can be checked for."""
        if any(demand is not None for demand in (self.k_map, self.delta_presence, self.bayes_optimal)):
            raise InputError(f"{SINGLE_TABLES}; leave their keys out of [population] for this command")


_SIZE = re.compile(r"([1-9][0-9]{0,17}) ?([MG]B)")

_MOST_BYTES = 1 << 20
"""Of a config."""

_LONG_KEY = re.compile(r"""(?m:^|[\[{,])[ \t]*+(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")
"""A key of more than a hundred parts, where keys can stand."""

_SECTIONS = ("release", "data", "attributes", "privacy", "population", "base", "search", "risk", "sweep")
_DATA = (
    "path", "reviewed", "separator", "encoding", "decimal", "missing", "domain", "engine", "memory", "person", "one_row",
    "rows_per_person", "ladders", "where",
)  # fmt: skip
_ATTRIBUTE = (
    "role", "hierarchy", "intervals", "start", "prefixes", "dates", "labels", "missing", "description", "values",
    "ladder", "population", "single_values", "order", "label_form", "apart",
)  # fmt: skip
_PRIVACY = (
    "k_link", "k_combinatorial", "min_cell", "diversity", "register", "rules", "turnover",
    "no_small_certain", "min_published_cell",
)  # fmt: skip
_SEARCH = (
    "strategy", "seed", "start", "max_sensitive_margins", "max_cells", "max_attributes", "max_waiting",
    "must_publish", "must_not_publish", "alone", "wanted", "time_limit", "objective", "further_tables",
)  # fmt: skip


# The section [sweep] of a config: what SWEEP takes beside the demands of [privacy].
#
# [sweep]
# importance = ["age", "sex"]                       # quasi-identifiers, the most important first
# weights = { diagnosis = { Flu = 10, Cancer = 1 } } # how frequent a reader may know base values to be (TZ09 Def. 2)


SWEEP = ("importance", "weights")


@dataclass(frozen=True)
class SweepSection:
    """The order in which quasi-identifiers matter, and weights of sensitive base values by their labels."""

    importance: tuple[str, ...] | None = None
    weights: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)

    @classmethod
    def of(cls, section: Mapping[str, Any], attributes: Mapping[str, Attribute]) -> "SweepSection":
        """The section as TOML has it. Raises InputError naming the key."""
        importance, weights = section.get("importance"), section.get("weights", {})
        _require(importance is None or _is_texts(importance), "sweep.importance", "be a list of quasi-identifiers")
        _require(isinstance(weights, dict), "sweep.weights", "be a table of sensitive attributes")
        for name, by_label in weights.items():
            if name not in attributes or attributes[name].role is not Role.SENSITIVE:
                raise InputError(f'the key sweep.weights.{name} names no attribute whose role is "sensitive"')
            _require(isinstance(by_label, dict), f"sweep.weights.{name}", "be a table of a number for each value")
            are_weights = _is_numbers(list(by_label.values())) and all(weight >= 0 for weight in by_label.values())
            _require(are_weights, f"sweep.weights.{name}", "be numbers of at least 0")
        return cls(
            None if importance is None else tuple(importance),
            {
                name: {label: Fraction(str(weight)) for label, weight in by_label.items()}
                for name, by_label in weights.items()
            },
        )


@dataclass(frozen=True)
class Config:
    """A release as configured: how its table is read, what it must satisfy, and who may attack it.

    path: the file that says so. hierarchies, rules: the files that it names, those of populations among the hierarchies.
    ladders: the release whose levels it takes, if one. unconfirmed: the roles that `init` guessed, by attribute, while
    nobody has said that they are reviewed.
    """

    path: Path
    source: TableSource
    policy: Policy
    risk: RiskSection = field(default_factory=RiskSection)
    imprint: Imprint = NO_IMPRINT
    hierarchies: tuple[Path, ...] = ()
    rules: tuple[Path, ...] = ()
    ladders: tuple[Path, ...] = ()
    population: PopulationSection | None = None
    sweep: SweepSection = field(default_factory=SweepSection)
    unconfirmed: Mapping[str, Unconfirmed] = field(default_factory=dict)

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

    def single_values(self) -> Table:
        """The table with sensitive numbers and dates one by one, for rules that say how each row is disclosed."""
        with _named(self.path):
            return self.source.one_by_one.table(self.k)

    @property
    def k(self) -> int:
        """The rows that every published class will have, with which fitted ladders begin."""
        policy = self.policy
        return max(policy.least_certain, policy.min_published_cell or 1, *(policy.least(key) or 1 for key in COUNTS))

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
    path = path_of(path)
    try:
        text = bounded_content(path, _MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no config file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {system_reason(error)}") from None
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
        config = _config(path, content)
        reviewed = content["data"].get("reviewed", False)
        _require(isinstance(reviewed, bool), "data.reviewed", "be true or false")
    return config if reviewed else replace(config, unconfirmed=guesses_in(text, config.source.attributes))


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
    imprint = Imprint.of(_section(content, "release", NAMES))
    privacy = _section(content, "privacy", _PRIVACY)
    base = _section(content, "base", ("table",))
    search = _section(content, "search", _SEARCH)
    table = base.get("table", "auto")
    must = 'be "auto", "best", "none", a CSV file or a table of levels'
    _require(isinstance(table, str | dict), "base.table", must)
    if isinstance(table, str) and is_file(table):
        table = str(path.parent / table)
    sections = content.get("attributes", {})
    if not isinstance(sections, dict) or not sections:
        raise InputError("there is no section [attributes.NAME], so no column has a role")
    attributes = {name: _attribute(path.parent, name, section) for name, section in sections.items()}
    is_demanded = privacy.get("diversity", NO_DIVERSITY) != NO_DIVERSITY
    if is_demanded and not any(attribute.role is Role.SENSITIVE for attribute in attributes.values()):
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
        imprint=imprint,
        population=PopulationSection.of(path.parent, _section(content, "population", POPULATION)),
        sweep=SweepSection.of(_section(content, "sweep", SWEEP), attributes),
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
    """Raise InputError for a diversity that demands nothing, or one of what is not sensitive, or of levels fitted later."""
    of_each = demanded if isinstance(demanded, dict) else {"": demanded}
    for name, texts in of_each.items():
        if text := next(filter(_demands_nothing, texts if isinstance(texts, list) else [texts]), None):
            key = f"privacy.diversity.{name}" if name else "privacy.diversity"
            raise InputError(
                f"the key {key} = {json.dumps(text)} demands nothing, as every table satisfies it; write"
                f' "{PROPOSED}", or {json.dumps(NO_DIVERSITY)} to publish without a demand, on purpose'
            )
    if not isinstance(demanded, dict):
        return
    for name, by_level in demanded.items():
        if name not in attributes or attributes[name].role is not Role.SENSITIVE:
            sensitive = [column for column, attribute in attributes.items() if attribute.role is Role.SENSITIVE]
            raise InputError(
                f'the key privacy.diversity.{name} names no attribute whose role is "sensitive"; these are '
                f"{', '.join(sensitive)}"
            )
        if isinstance(by_level, list) and len(by_level) > 1 and attributes[name].is_fitted:
            raise InputError(
                f"the key privacy.diversity.{name} demands something of coarser levels, and those of {name} are fitted to "
                'the counts; give it a hierarchy with ladder = "given", or one text'
            )


def _demands_nothing(text: object) -> bool:
    """Whether a diversity holds of every class, so that it would stand in a release as a demand and be none."""
    if not isinstance(text, str) or text == NO_DIVERSITY:
        return False
    try:
        criterion = parse_diversity(text)
    except CriterionError:
        return False  # which is said when the policy is made
    return demands_nothing(criterion)


def _data_settings(folder: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """What the section [data] says of a TableSource."""
    _require(isinstance(data.get("path"), str), "data.path", "name the table")
    _require_one_of(SEPARATORS, data, "data", "separator")
    must = 'be "auto" or an encoding such as "cp1252", "latin-1" or "utf-16"'
    _require(is_encoding(data.get("encoding", "auto")), "data.encoding", must)
    _require_one_of(DECIMAL_SIGNS, data, "data", "decimal")
    missing = data.get("missing", [""])
    _require(_is_texts(missing), "data.missing", "be a list of texts")
    _require_one_of(DOMAINS, data, "data", "domain")
    _require(data.get("engine", "auto") in ENGINES, "data.engine", f"be {' or '.join(map(repr, ENGINES))}")
    _require(isinstance(data.get("ladders", ""), str), "data.ladders", "name the folder of a release")
    _require(isinstance(data.get("where", ""), str), "data.where", f"be a condition, {EXAMPLE}")
    whose = ("person", "one_row", "rows_per_person")
    settings = {
        key: data[key] for key in ("domain", "engine", "separator", "encoding", "decimal", *whose) if key in data
    }
    if "memory" in data:
        settings["memory"] = _bytes(data["memory"])
    if "where" in data:
        settings["where"] = Part(data["where"])
    return settings | {"origin": folder / data["path"], "missing": tuple(missing)}


def _bytes(text: object) -> int:
    """Bytes from text such as "3 GB". Raises InputError."""
    size = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if not size:
        raise InputError('the key data.memory must be a size such as "500 MB" or "3 GB"')
    return int(size[1]) * {"MB": 10**6, "GB": 10**9}[size[2]]


def _section(content: Mapping[str, Any], name: str, keys: Iterable[str]) -> Mapping[str, Any]:
    return _table(content.get(name, {}), name, keys)


def _table(content: object, name: str, keys: Iterable[str]) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise InputError(f"{name} must be a section [{name}]")
    _check_keys(content, keys, f"{name}.")
    return content


def _check_keys(section: Mapping[str, Any], keys: Iterable[str], prefix: str) -> None:
    """Raise InputError for a key of a section that is none of these. prefix: of the keys' names in the message."""
    for key in section:
        if key not in keys:
            raise InputError(f"unknown key {prefix}{key}; known are {', '.join(prefix + k for k in keys)}")


def _attribute(folder: Path, name: str, content: object) -> Attribute:
    where = f"attributes.{name}"
    section = _table(content, where, _ATTRIBUTE)
    if "role" not in section:
        raise InputError(f"the key {where}.role is missing")
    prefixes, dates, intervals = (section.get(key, []) for key in ("prefixes", "dates", "intervals"))
    are_whole = isinstance(prefixes, list) and all(map(_is_whole_number, prefixes))
    _require(are_whole, f"{where}.prefixes", "be a list of whole numbers")
    _require(_is_texts(dates), f"{where}.dates", f"be a list of {', '.join(UNITS)}")
    _require(_is_numbers(intervals), f"{where}.intervals", "be a list of numbers")
    key = "intervals"
    try:
        check_widths([Decimal(str(width)) for width in intervals])
        key = "prefixes"
        check_lengths(prefixes)
        key = "dates"
        check_units(dates)
    except HierarchyError as error:
        raise InputError(f"{where}.{key}: {error}") from None
    _require(_is_numbers([section.get("start", 0)]), f"{where}.start", "be a number")
    _require(_is_numbers(section.get("apart", [])), f"{where}.apart", "be a list of numbers")
    _require_one_of(LABELS, section, where, "labels")
    _require_one_of(MISSING_AS, section, where, "missing")
    _require_one_of(LADDERS, section, where, "ladder")
    _require_one_of(LABEL_FORMS, section, where, "label_form")
    _require(_is_texts(section.get("order", [])), f"{where}.order", "be a list of the values as texts, lowest first")
    _check_words(section, where)
    files = {"hierarchy": read_hierarchy, "population": read_population}
    for key in files:
        _require(isinstance(section.get(key, ""), str), f"{where}.{key}", "name a file")
    try:
        read = {key: reader(folder / section[key]) for key, reader in files.items() if key in section}
        return Attribute(**{**section, **read})
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _check_words(section: Mapping[str, Any], where: str) -> None:
    """Raise InputError for a description, or values, that no reader could be shown."""
    values = section.get("values", {})
    must = 'be a table of values and what they mean, { "1" = "yes" }'
    _require(isinstance(values, dict), f"{where}.values", must)
    words = {"description": section.get("description", "")} | {
        f"values.{value}": text for value, text in values.items()
    }
    for key, text in words.items():
        _require(is_words(text), f"{where}.{key}", f"be one line of text of at most {LONGEST_WORDS} characters")


def _require(is_so: bool, key: str, must: str) -> None:
    """Raise InputError unless something is so. must: what the value of the key must be, or do."""
    if not is_so:
        raise InputError(f"the key {key} must {must}")


def _require_one_of(choices: Sequence[str], section: Mapping[str, Any], name: str, key: str) -> None:
    """Raise InputError where a section has another value of a key than one of the choices."""
    _require(section.get(key, choices[0]) in choices, f"{name}.{key}", f"be {' or '.join(map(json.dumps, choices))}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_numbers(values: object) -> bool:
    return isinstance(values, list) and all(
        _is_number(value) and (isinstance(value, int) or isfinite(value)) for value in values
    )


def _is_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def disclosure_risk(config: Config, levels: Mapping[str, int] | None = None) -> RiskAssessment:
    """The risk that a config describes: its table under its rules, with some attributes at levels throughout.

    Raises InputError for files, columns or conditions that cannot be used, DomainMismatchError or DisclosureRuleError
    for attributes and levels that do not exist, and InputError where a column looks like a key of people and repeats,
    and nobody has said whose rows these are.

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
    rows, section = config.read_rows(), config.risk
    if rows.repeating:
        raise unit_refusal(rows.repeating)
    attackers = _attackers(config, rows)
    rows = with_values_of(config.source, config.k, rows, attackers.tables)
    personal = None if section.personal_weights is None else _people_table(config, section.personal_weights)
    harm = section.harm.with_personal(personal)
    assessment = RiskAssessment.of(rows, attackers, harm, section.rules, levels, section.step_utility)
    return replace(assessment, row_weight=section.row_weight, clusters=section.clusters)


def _attackers(config: Config, rows: Rows) -> Attackers:
    """The attackers that a config describes; without dictionaries they know the quasi-identifiers of the rows."""
    section = config.risk
    dictionaries = tuple(_people_table(config, path) for path in section.dictionaries)
    linkage = None
    if section.linkage is not None:
        linkage = Linkage(_people_table(config, section.linkage.table), section.linkage.columns)
    assumed = dictionaries or (PeopleTable.of_quasi_identifiers(rows),)
    return Attackers(assumed, section.prior, linkage, section.similarity)


def _people_table(config: Config, path: Path) -> PeopleTable:
    """The table of people in a file. Raises InputError where it cannot be read or has no rows."""
    frame = read_frame(path, config.source.form)
    if not len(frame):
        raise InputError(f"{path.name} has no rows")
    attributes = config.source.attributes.items()
    identifier = next((name for name, attribute in attributes if attribute.role is Role.IDENTIFIER), None)
    own_identifier = identifier if identifier in frame.columns else None
    return PeopleTable(
        path.name, frame, own_identifier, frozenset(config.source.missing), decimal=config.source.decimal
    )


def disclose_table(
    config: Config,
    target: OutputFile,
    order: RowOrder = Shuffled(),  # noqa: B008 - it is frozen
) -> DisclosedFile:
    """Write the table of a config as its rules disclose it, as CSV; shuffled, or in the order of the source.

    By DuckDB, file to file, where the config asks for it or "auto" finds it; else by pandas, in memory. Raises InputError
    for a config without rules, or what cannot be read, evaluated or written; then nothing is written.
    """
    rules = config.risk.rules
    if not rules:
        raise InputError(f"{config.path.name} has no [[risk.rules]], which say what is hidden or generalized")
    for rule in rules:
        if rule.attribute not in config.source.used:
            names = ", ".join(config.source.used)
            raise InputError(f"risk.rules names {rule.attribute!r}, which is no attribute; these are {names}")
    engine = disclosing_engine(config.source)
    if engine == "pandas":
        return DisclosedFile(disclose_rows(config.read_rows(), rules, target, order), engine)
    return DisclosedFile(disclose_file(config.source, target.path, config.single_values().domain, rules, order), engine)


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
        with reading("hierarchy file", path, "semicolons"), open_regular(path) as stream:
            lines = TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            return Hierarchy.from_rows(row for row in csv.reader(_bounded(lines), delimiter=";") if row)
    except HierarchyError as error:
        raise InputError(f"the hierarchy file {path.name}: {error}") from None


def _bounded(lines: TextIOWrapper) -> Iterator[str]:
    """The lines of a file. Raises csv.Error for one that may never end."""
    while line := lines.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise csv.Error("a line is too long")
        yield line


_LONGEST_LINE = 1 << 20
"""Characters."""
