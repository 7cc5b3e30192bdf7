"""The section [risk] of a config: what a steward says about attackers, harm and what is disclosed.

[risk]
dictionaries = ["voters.csv"]       # what attackers hold; without it, the table's own quasi-identifiers
prior = [1.0]                       # the probability of each dictionary; without it, the same for each
sensitivity = "multiplicative"      # or "linear": how the weights of what is disclosed make up the harm
weights = { age = 0.1, diagnosis = 2.0 }   # of a base value; less up its hierarchy; inf: never; 0 if not named;
                                    # or by value, diagnosis = { HIV = 5.0, "*" = 1.0 }: "*" is all others, else 0
personal_weights = "weights.csv"    # own weights, one row a person, by the column whose role is identifier
missed = 0.0                        # harm to somebody whom the attacker does not find, or a column of personal_weights
row_weight = "households"           # a column of the table: how often each row counts in the risk; once without it
clusters = [["age", "job"]]         # for --attributes: those that depend on each other; all others are taken as independent
step_utility = { age = 2.0 }        # what a step below `*` is worth to analysts, by attribute; 1 if not named
similar = ["name"]                  # columns whose values agree when they are similar, as misspelled ones are
threshold = 0.8                     # Jaro similarity from which on two values are similar

[risk.linkage]                      # a public table that attackers join with what is disclosed before they look for people
table = "members.csv"               # rows that fit are equally likely; identifiers, if both have them, say which is right
columns = ["car"]                   # its columns that the table lacks, and that dictionaries may have: what linking adds

[[risk.interactions]]
attributes = ["age", "diagnosis"]
weight = 0.5                        # or a column of personal_weights

[[risk.rules]]                      # what the table is disclosed as; without a level, hidden
attribute = "age"
level = 2
condition = "age > 80"
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, isnan
from pathlib import Path
from typing import Any

from checks.risk.sensitivity import Linear, Multiplicative
from marginals.disclosure.rules import DisclosureRule
from marginals.errors import InputError
from marginals.risk.harm_model import HarmModel
from marginals.risk.similarity import THRESHOLD, Similarity

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
    if personal is not None and not isinstance(personal, str):
        raise InputError("the key risk.personal_weights must name a table")
    interactions = tuple(_interaction(entry) for entry in _list(section, "interactions", dict))
    weights = _weights(section["weights"]) if "weights" in section else None
    missed = _weight_or_column(section.get("missed", 0.0), "risk.missed")
    if weights is None and isinstance(missed, str):
        raise InputError("the key risk.missed names a column of personal weights, which need risk.weights too")
    if weights is None and (personal is not None or interactions):
        weights = {}
    return HarmModel(_FAMILIES[family], weights, interactions, missed)


def _row_weight(section: Mapping[str, Any]) -> str | None:
    column = section.get("row_weight")
    if column is not None and not isinstance(column, str):
        raise InputError("the key risk.row_weight must name a column of the table")
    return column


def _clusters(section: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    clusters = section.get("clusters", [])
    if not isinstance(clusters, list) or not all(isinstance(c, list) and c and _are_texts(c) for c in clusters):
        raise InputError("the key risk.clusters must be a list of lists of attributes")
    named = [name for cluster in clusters for name in cluster]
    if len(set(named)) < len(named):
        raise InputError("the key risk.clusters must name each attribute once")
    return tuple(map(tuple, clusters))


def _threshold(section: Mapping[str, Any]) -> float:
    if "threshold" not in section:
        return THRESHOLD
    if not section.get("similar"):
        raise InputError("the key risk.threshold goes with risk.similar, which names the columns to compare by it")
    value = section["threshold"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InputError("the key risk.threshold must be a number above 0 and at most 1")
    return float(value)


def _linkage(folder: Path, content: object) -> LinkageSection:
    entry = _table(content, "risk.linkage", ("table", "columns"))
    if not isinstance(entry.get("table"), str):
        raise InputError("the key risk.linkage.table must name a table")
    columns = entry.get("columns", [])
    if not isinstance(columns, list) or not _are_texts(columns):
        raise InputError("the key risk.linkage.columns must be a list of texts")
    return LinkageSection(folder / entry["table"], tuple(dict.fromkeys(columns)))


def _table(content: object, name: str, keys: Iterable[str]) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise InputError(f"{name} must be a section [{name}]")
    for key in content:
        if key not in keys:
            raise InputError(f"unknown key {name}.{key}; known are {', '.join(f'{name}.{k}' for k in keys)}")
    return content


def _list(section: Mapping[str, Any], key: str, kind: type) -> list[Any]:
    values = section.get(key, [])
    accepted = (int, float) if kind is float else kind
    if not isinstance(values, list) or any(isinstance(v, bool) or not isinstance(v, accepted) for v in values):
        plural = {str: "texts", float: "numbers", dict: "tables"}[kind]
        raise InputError(f"the key risk.{key} must be a list of {plural}")
    return values


def _weight(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or isnan(value):
        raise InputError(f"the key {where} must be a number of 0 or more, or inf")
    return float(value)


def _weight_or_column(value: object, where: str) -> float | str:
    if isinstance(value, str):
        return value
    try:
        return _weight(value, where)
    except InputError as error:
        raise InputError(f"{error}, or the name of a column of risk.personal_weights") from None


def _weights(content: object) -> dict[str, float | dict[str, float]]:
    if not isinstance(content, dict):
        raise InputError("the key risk.weights must be a table of attributes and weights")
    return {name: _weight_or_weights(value, f"risk.weights.{name}") for name, value in content.items()}


def _weight_or_weights(content: object, where: str) -> float | dict[str, float]:
    if not isinstance(content, dict):
        return _weight(content, where)
    if not content:
        raise InputError(f"the key {where} must be a weight, or a table of values and weights")
    return {value: _weight(weight, f"{where}.{value}") for value, weight in content.items()}


def _step_utility(content: object) -> dict[str, float]:
    if not isinstance(content, dict):
        raise InputError("the key risk.step_utility must be a table of attributes and numbers")
    steps = {name: _weight(value, f"risk.step_utility.{name}") for name, value in content.items()}
    for name, worth in steps.items():
        if worth == inf:
            raise InputError(f"the key risk.step_utility.{name} must be a finite number of 0 or more")
    return steps


def _interaction(content: Mapping[str, Any]) -> tuple[tuple[str, ...], float | str]:
    entry = _table(content, "risk.interactions", ("attributes", "weight"))
    attributes = entry.get("attributes")
    if not isinstance(attributes, list) or len(set(map(str, attributes))) < 2 or not _are_texts(attributes):
        raise InputError("the key risk.interactions.attributes must be a list of two or more attributes")
    return tuple(dict.fromkeys(attributes)), _weight_or_column(entry.get("weight"), "risk.interactions.weight")


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _rule(content: Mapping[str, Any]) -> DisclosureRule:
    entry = _table(content, "risk.rules", ("attribute", "level", "condition"))
    attribute, level, condition = (entry.get(key) for key in ("attribute", "level", "condition"))
    if not isinstance(attribute, str):
        raise InputError("the key risk.rules.attribute must name an attribute")
    if level is not None and (isinstance(level, bool) or not isinstance(level, int)):
        raise InputError("the key risk.rules.level must be a whole number")
    if condition is not None and not isinstance(condition, str):
        raise InputError("the key risk.rules.condition must be text")
    return DisclosureRule(attribute, level, condition)
