"""The policy of a release: what privacy it must keep, where the search starts, and how long it may take."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any, cast

import numpy as np

from checks.claims import LEAST_DEMAND, MOST_ROWS, MaxentDiversity, is_number_of_rows, shown, why_no_demand
from checks.diversity.criterion import Diversity
from checks.diversity.registry import demands_nothing, parse_diversity, require_readable
from checks.errors import CriterionError
from checks.finding import Finding, WorstClass
from checks.population import bayes_optimal, delta_presence, k_map
from checks.requirements import Requirements, diversities_by_attribute
from marginals.arguments import elements_of, require, require_share, require_whole_number
from marginals.bundle.content import KNOWN
from marginals.errors import InputError
from marginals.named_rules import COUNTS, Demand, NamedRule, rules_of
from marginals.names import margin_in_words
from marginals.publishing.obstacles import as_written
from marginals.publishing.proposals import NO_DIVERSITY, PAIRS, PROPOSED, SENSITIVE_MARGINS, WEIGHT
from marginals.recoding.recoded_file import is_file
from marginals.steward import WantedTable
from marginals.tables.attribute import MISSING, Attribute, Role
from marginals.tables.source import TableSource
from marginals.tables.table import Table
from models.arrays import CountArray
from models.errors import ExtensionError, HierarchyError, SelectionError
from models.graphs.junction_tree import Collection, maximal_masks
from models.installed import BASES as BASE_GROUP
from models.installed import STRATEGIES as STRATEGY_GROUP
from models.installed import installed, installed_names, name_of, refusal
from models.search.doors import GivenObjective, GivenStrategy, objective_of, strategy_of
from models.search.problem import Constraint, PenalizedDivergence, Refusal, RefusalScope, Strategy, additive
from models.search.selection import STRATEGIES
from models.search.wanted import Measure, WantedAnalyses, WantedMargin
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Hierarchy, Mask

MEASURES = tuple(measure.value for measure in Measure)
"""By which an analysis can be judged."""

_KEYS = ("attributes", "weight", "measure")


@dataclass(frozen=True)
class Wanted:
    """Attributes that are wanted in one table, how much that counts besides all else, and how their table is judged.

    Raises InputError for no attribute, one that is named twice, a weight that is not above 0, or an unknown measure.

    >>> Wanted(("dead", "age")).weight
    100.0
    """

    attributes: tuple[str, ...]
    weight: float = WEIGHT
    measure: str = Measure.DIVERGENCE.value

    def __post_init__(self) -> None:
        names = self.attributes
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise InputError("the attributes of a wanted analysis are a list of different names")
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float) or not 0 < self.weight < inf:
            raise InputError("the weight of a wanted analysis is a number above 0")
        if self.measure not in MEASURES:
            raise InputError(f"the measure of a wanted analysis is {' or '.join(map(repr, MEASURES))}")

    @classmethod
    def of(cls, entry: object) -> "Wanted":
        """From one section of a config: `attributes`, maybe `weight` and `measure`. Raises InputError for anything else."""
        if isinstance(entry, Wanted):
            return entry
        named = entry.get("attributes") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(named, Sequence) or isinstance(named, str):
            raise InputError('wanted is a list of analyses such as { attributes = ["dead", "age"], weight = 100.0 }')
        if others := [key for key in entry if key not in _KEYS]:
            known = ", ".join(f"search.wanted.{key}" for key in _KEYS)
            raise InputError(f"unknown key search.wanted.{others[0]}; known are {known}")
        return cls(tuple(named), *(entry.get(key, getattr(cls, key)) for key in _KEYS[1:]))


NO_FURTHER = "none"
"""No tables beside those that have a junction tree."""


@dataclass(frozen=True)
class FurtherWish:
    """Which further tables a release is to have, beside those that have a junction tree: tables of nonsensitive attributes.

    tables: at most so many; None for no limit. wanted: the attributes of those that are wanted; empty where any pair may
    be taken.
    """

    tables: int | None = None
    wanted: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, stated: object) -> "FurtherWish | None":
        """From "pairs", a number of tables, or a list of lists of attributes; None for "none". Raises InputError.

        >>> FurtherWish.of("pairs"), FurtherWish.of(12).tables, FurtherWish.of([["age", "sex"]]).wanted
        (FurtherWish(tables=None, wanted=()), 12, (('age', 'sex'),))
        """
        if stated == NO_FURTHER:
            return None
        if stated == PAIRS:
            return cls()
        if isinstance(stated, int) and is_number_of_rows(stated):
            return cls(tables=stated)
        if isinstance(stated, Sequence) and not isinstance(stated, str) and stated and all(map(_names_several, stated)):
            return cls(wanted=tuple(map(tuple, stated)))
        raise InputError(
            f'further_tables is "{NO_FURTHER}", "{PAIRS}", a number of tables of at least 1, or a list of the attributes of '
            f'each, such as [["age", "sex"], ["age", "town"]], not {shown(stated)}'
        )


def _names_several(attributes: object) -> bool:
    """Whether this is a list of two or more different names."""
    if not isinstance(attributes, Sequence) or isinstance(attributes, str):
        return False
    return (
        len(attributes) > 1 and all(isinstance(n, str) for n in attributes) and len(set(attributes)) == len(attributes)
    )


def weighed(cube: DataCube, wanted: Sequence[Wanted]) -> WantedAnalyses | None:
    """The analyses as a search weighs them; None without any. Raises InputError for an attribute that there is not."""
    if not wanted:
        return None
    margins = [
        WantedMargin(_mask(cube.domain, analysis), analysis.weight, Measure(analysis.measure)) for analysis in wanted
    ]
    return WantedAnalyses(cube, margins)


def _mask(domain: Domain, analysis: Wanted) -> Mask:
    for name in analysis.attributes:
        if name not in domain.attributes:
            known = ", ".join(domain.attributes)
            raise InputError(f"wanted names {name!r}, which is no attribute that can be published; these are {known}")
    mask = domain.mask(dict.fromkeys(analysis.attributes, 0))
    if not mask:
        raise InputError(f"wanted names {' and '.join(analysis.attributes)}, whose hierarchy has no level below *")
    return mask


def finest_together(
    domain: Domain, attributes: Sequence[str], margins: Iterable[Mapping[str, int]]
) -> Mapping[str, int] | None:
    """Of some margins that which shows all attributes together in most cells, the first of equals; None where none does."""
    names = set(attributes)
    together = [margin for margin in margins if names <= set(margin)]
    return max(together, key=lambda margin: domain.size({name: margin[name] for name in attributes}), default=None)


def finest_passing(cube: DataCube, attributes: Sequence[str], allows: Constraint) -> Mask | None:
    """The margin of some attributes, each shown, to which nothing can be added that passes by itself; None if none passes.

    It is refined step by step, each time by the one that tells most of these attributes, from a coarsest one that passes.
    """
    margin = _coarsest_passing(cube.domain, attributes, allows)
    while margin is not None:
        finer = (finer for finer in _refined(cube, attributes, margin) if allows([finer], 0) is None)
        if (chosen := next(finer, None)) is None:
            break
        margin = chosen
    return margin


def _coarsest_passing(domain: Domain, attributes: Sequence[str], allows: Constraint) -> Mask | None:
    """A margin that passes by itself, of as few steps as any; coarser ones can be refused where it is not.

    A class can have one value of a sensitive attribute alone as long as that is shown coarsely, and several finer ones.
    """
    attribute_masks = [domain.attribute_masks[domain.index(name)] for name in attributes]
    waiting = deque([sum(mask & -mask for mask in attribute_masks)])
    met = set(waiting)
    while waiting:
        margin = waiting.popleft()
        refusal = allows([margin], 0)
        if refusal is None:
            return margin
        if refusal.scope is RefusalScope.FINER:
            continue
        finer = [margin | _next_step(mask, margin) for mask in attribute_masks if mask & ~margin]
        waiting.extend(other for other in finer if other not in met)
        met.update(finer)
    return None


def _next_step(attribute_mask: Mask, margin: Mask) -> Mask:
    """The first step of an attribute that a margin does not show; 0 where it shows all."""
    hidden = attribute_mask & ~margin
    return hidden & -hidden


def _refined(cube: DataCube, attributes: Sequence[str], margin: Mask) -> list[Mask]:
    """A margin with one more step of one of its attributes, the one first that tells most of them."""
    domain = cube.domain
    gains: list[tuple[float, int, Mask]] = []
    for place, name in enumerate(attributes):
        if step := _next_step(domain.attribute_masks[domain.index(name)], margin):
            level = domain.levels(margin)[name]
            leaves = cube.log_leaves(name, level) - cube.log_leaves(name, level - 1)
            gains.append((cube.entropy(margin | step) - cube.entropy(margin) - leaves, place, margin | step))
    return [finer for _, _, finer in sorted(gains)]


def wanted_tables(
    cube: DataCube, wanted: Sequence[Wanted], cliques: Sequence[Mask], released: Collection, allows: Constraint
) -> tuple[WantedTable, ...]:
    """What became of each analysis. cliques: the published margins as masks.

    released: the same as the release tells them. allows: the constraint of the search.
    """
    domain = cube.domain
    judged = weighed(cube, [replace(analysis, measure=Measure.DIVERGENCE.value) for analysis in wanted])
    divergences = judged.distances(cliques) if judged else ()
    tables = []
    for analysis, divergence in zip(wanted, divergences):
        passing = finest_passing(cube, analysis.attributes, allows)
        margin = finest_together(released.domain, analysis.attributes, released.margins)
        if passing is None:
            obstacle: str | None = _refused_alone(cube, analysis, allows)
        else:
            is_told = margin is not None and divergence <= _EXACT
            obstacle = None if is_told else _obstacle(cube, cliques, passing, allows)
        levels = words = demand = None
        if passing is not None:
            levels = domain.margin(passing)
            words, demand = margin_in_words(levels, domain), as_written(levels)
        tables.append(
            WantedTable(analysis.attributes, analysis.weight, margin, divergence, levels, words, demand, obstacle)
        )
    return tuple(tables)


_EXACT = 1e-12
"""Nats by which a table may differ from the data and is told as it is."""


def _refused_alone(cube: DataCube, analysis: Wanted, allows: Constraint) -> str:
    """Why some attributes may stand together at no level: what their coarsest table is refused for."""
    masks = [cube.domain.attribute_masks[cube.domain.index(name)] for name in analysis.attributes]
    refusal = allows([sum(mask & -mask for mask in masks)], 0)
    return f"it passes at no level by itself{f': as coarse as can be, {refusal.reason}' if refusal else ''}"


def _obstacle(cube: DataCube, published: Sequence[Mask], passing: Mask, allows: Constraint) -> str | None:
    """What keeps a margin that passes by itself out of a collection; None where it is in it.

    Tables are named that keep it out together, and would not without one of them.
    """
    if any(not passing & ~mask for mask in published):
        return None

    def closes_a_circle(masks: Sequence[Mask]) -> bool:
        return not Collection.of(cube, maximal_masks([*masks, passing])).is_decomposable

    def refusal(masks: Sequence[Mask]) -> Refusal | None:
        return None if closes_a_circle(masks) else allows(maximal_masks([*masks, passing]), 0)

    if closes_a_circle(published):
        beside = _needed(published, closes_a_circle)
        return f"beside {_in_words(cube, beside)} it would close a circle, so that they have no junction tree"
    beside = _needed(published, lambda masks: refusal(masks) is not None)
    if refused := refusal(beside):
        return f"beside {_in_words(cube, beside)} it is refused: {refused.reason}"
    return "the search did not get there, though nothing refuses it, or its weight is too small"


def _needed(published: Sequence[Mask], holds: Callable[[Sequence[Mask]], bool]) -> list[Mask]:
    """Some of the margins, so few that what holds of all would not hold without any of these."""
    needed = list(published)
    for mask in published:
        if holds(fewer := [other for other in needed if other != mask]):
            needed = fewer
    return needed


def _in_words(cube: DataCube, margins: Sequence[Mask]) -> str:
    """The tables, each in brackets, the first of many."""
    names = [f"({margin_in_words(cube.domain.margin(mask), cube.domain)})" for mask in margins[:_NAMED]]
    others = [f"{len(margins) - len(names)} more"] if len(margins) > len(names) else []
    *first, last = [*names, *others]
    return f"{', '.join(first)} and {last}" if first else last


_NAMED = 4
"""Tables that are named as those that keep another out."""


_NO_PROOF = (
    "where tables have no junction tree, nobody can prove that k rows could share every combination that they allow"
)

CORRECTED = "corrected"
"""The objective less what chance gains."""

BaseAnonymizer = Callable[[Table, Requirements], Mapping[str, int]]
"""Of a table and what it must satisfy, the level of each quasi-identifier of a table that a release then contains.

One that is not named is suppressed. The table is judged before it is taken: one that fails the requirements is refused.
"""

BASES = ("auto", "best", "none")
"""What a base can be called that is neither a file nor levels."""

_LEAST = {
    "k_link": LEAST_DEMAND,
    "k_combinatorial": LEAST_DEMAND,
    "min_cell": LEAST_DEMAND,
    "min_published_cell": LEAST_DEMAND,
    "no_small_certain": 1,
    "max_sensitive_margins": 0,
    "max_cells": 1,
    "max_attributes": 1,
    "seed": 0,
}
"""The smallest value of each number in a policy."""


GivenDiversity = str | Diversity | Mapping[str, str | Diversity | Sequence[str | Diversity]] | None
"""What a policy demands of sensitive attributes: texts, or criteria, of all, or of each."""


def _as_texts(demanded: GivenDiversity) -> str | Mapping[str, Any] | None:
    """The same as texts. Raises CriterionError for a criterion that no reader could read back."""
    if isinstance(demanded, Diversity):
        require_readable(demanded)
        return str(demanded)
    if isinstance(demanded, Mapping):
        return {
            name: [_as_texts(criterion) for criterion in demand]
            if isinstance(demand, list | tuple)
            else _as_texts(demand)  # type: ignore[arg-type]
            for name, demand in demanded.items()
        }
    return demanded


@dataclass(frozen=True)
class Policy:
    """What a release must satisfy, and how it is searched for.

    k_link, k_combinatorial, min_cell: rows, or people where the table says how many rows a person has; min_cell is about
    every cell, sensitive values counted. diversity: for example "entropy:6" or "recursive:3,4", of every sensitive
    attribute; or for single ones, {"job": "entropy:6", "diagnosis": ["entropy:6", "distinct:3"]}, where a list has one for
    each level of the attribute from 0, "none" for a level of which nothing is demanded; a criterion itself stands for its
    text, one of one's own where it is registered or installed. "none", of all sensitive attributes or of one, says that
    none is demanded on purpose; where nothing is said, nothing that is sensitive is published. base: the anonymized table
    that the collection must contain: "best" (the minimal one closest to the data), "none", or a level for each attribute;
    of several sensitive attributes each has such a table. Or a CSV file, "published.csv", of a table of the same rows that
    is published already, generalized to levels of the hierarchies. Or a function of the table and its requirements that
    gives a level for each quasi-identifier, or the name of one that is installed (`BaseAnonymizer`). "auto" looks for a
    release with the best one and for one without, and takes the better. start: where a stepwise search begins besides that
    table, with "independence" (every attribute by itself) or "nothing". max_sensitive_margins: maximum number of margins
    that contain the same sensitive attribute. max_cells, max_attributes: maximum of each margin, empty cells counted.
    must_publish: margins that must be derivable from a published one. must_not_publish: margins that no published one may
    reveal. alone: sensitive attributes that are published in a table of their own only, since they would give another one
    away. wanted: analyses that the release is for, a `Wanted` each: the search weighs how far their tables are from the
    data beside the whole. time_limit: seconds. rules: named ones, such as "cms-11", or paths to TOML files with one; what
    they demand is demanded beside the rest. turnover: "known" where readers can be taken to
    know that people come and go, for the releases of a ledger: their counts may then differ by fewer than k rows where at
    least k came and at least k left. "unknown": they may take every difference for people. max_waiting: of the first
    release of a ledger, the share of the people who are foreseen to wait for a later one at most, since too few like them
    came or left; 1 for any. register: every diversity also holds of readers who know the nonsensitive values of everybody
    in the table, by a register; not of people with several rows, nor beside a ledger. objective: what the search looks for
    the least of: "corrected", the KL divergence and half a nat, divided by the people, for each free parameter, which is
    what chance gains, and then no edge that chance explains; "corrected:1", twice that price, for whoever fears false
    associations; "kl", the KL divergence alone; or whatever else `models.search.objective_of` takes whose gains add up,
    such as "bic", "bdeu", a function of a clique's counts, or the name of one that is installed. strategy: a name, a
    function (problem, stop) -> SearchResult, or the name of one that is installed (`models.search.strategy_of`).
    further_tables: tables of nonsensitive attributes beside those that have a junction tree: "pairs", at most so many, or a
    list of the attributes of each; "none". They need k_link, max_sensitive_margins = 1, and no k_combinatorial.
    no_small_certain: with them no combination of nonsensitive values is certain to belong to fewer than so many rows, as its
    publisher attests; k_link where it is not given, and 1 demands nothing. min_published_cell: as min_cell of what is
    published, without what can be worked out. Raises InputError or CriterionError for values that make no sense.

    >>> Policy(k_link=10, diversity="recursive:3,4", must_publish=[{"age": 1, "sex": 0}]).strategy
    'auto'
    """

    k_link: int | None = None
    k_combinatorial: int | None = None
    diversity: GivenDiversity = None
    base: str | Mapping[str, int] | BaseAnonymizer = "auto"
    strategy: GivenStrategy = "auto"
    seed: int = 0
    start: str = "independence"
    max_sensitive_margins: int | None = field(default=SENSITIVE_MARGINS)
    time_limit: float = 60.0
    max_cells: int | None = None
    max_attributes: int | None = None
    must_publish: Sequence[Mapping[str, int]] = ()
    must_not_publish: Sequence[Mapping[str, int]] = ()
    alone: Sequence[str] = ()
    wanted: Sequence[Wanted | Mapping[str, Any]] = ()
    min_cell: int | None = None
    rules: str | NamedRule | Sequence[str | NamedRule] = ()
    turnover: str = "unknown"
    max_waiting: float = 0.1
    register: bool = False
    objective: GivenObjective = CORRECTED
    further_tables: str | int | Sequence[Sequence[str]] = NO_FURTHER
    no_small_certain: int | None = None
    min_published_cell: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "diversity", _as_texts(self.diversity))
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not is_number_of_rows(value, least):
                nothing = why_no_demand(value) if least == LEAST_DEMAND else ""
                raise InputError(
                    f"{name} must be a whole number from {least} to {MOST_ROWS:,}, got {shown(value)}{nothing}"
                ).about(name)
        limit = self.time_limit
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 0:
            raise InputError(f"time_limit must be a number of seconds, got {self.time_limit!r}")
        waiting = self.max_waiting
        if isinstance(waiting, bool) or not isinstance(waiting, int | float) or not 0 < waiting <= 1:
            raise InputError(f"max_waiting must be a share above 0 and up to 1, got {waiting!r}")
        if not isinstance(self.base, str | Mapping) and not callable(self.base):
            raise InputError(
                'base is "auto", "best", "none", a CSV file, a level for each attribute, such as {"age": 1}, or a function'
            )
        if isinstance(self.base, str) and self.base not in BASES and not is_file(self.base):
            _ = base_anonymizer(self.base)
        if self.start not in ("independence", "nothing"):
            raise InputError(f'start is "independence" or "nothing", not {self.start!r}')
        if self.turnover not in (KNOWN, "unknown"):
            raise InputError(f'turnover is "{KNOWN}" or "unknown", not {self.turnover!r}')
        for name in ("must_publish", "must_not_publish"):
            if not _are_margins(getattr(self, name)):
                raise InputError(f"{name} is a list of margins such as {{ age = 1, sex = 0 }}")
        alone = elements_of(self.alone, "alone", 'a list of sensitive attributes, ["grade"]')
        if not all(isinstance(name, str) for name in alone):
            raise InputError("alone is a list of sensitive attributes")
        object.__setattr__(self, "alone", tuple(alone))
        if not isinstance(self.wanted, Sequence) or isinstance(self.wanted, str):
            raise InputError("wanted is a list of analyses")
        object.__setattr__(self, "wanted", tuple(map(Wanted.of, self.wanted)))
        try:
            _ = strategy_of(self.strategy, STRATEGIES)
            objective = objective_of(self.objective, 1)
        except (SelectionError, ExtensionError) as error:
            raise InputError(str(error)) from None
        if not isinstance(objective, PenalizedDivergence):
            raise InputError(
                f"the objective {name_of(self.objective)} is a rule for stopping a search, by which no release is the best; "
                "take one whose gains add up, or a score of cliques"
            )
        object.__setattr__(self, "rules", rules_of(self.rules))
        self._require_further()
        demanded = self.diversities(
            [*self.diversity] if self.diversity and isinstance(self.diversity, Mapping) else ["any"]
        )
        if idle := next((claim for claim in demanded if demands_nothing(claim.diversity)), None):
            raise InputError(
                f'the diversity "{idle.diversity}" demands nothing, as every table satisfies it; write "{PROPOSED}", or '
                f'"{NO_DIVERSITY}" to publish without a demand, on purpose'
            )
        if not isinstance(self.register, bool):
            raise InputError(f"register is true or false, not {self.register!r}")
        if self.register and not demanded:
            raise InputError(
                'register = true needs a diversity, and none is demanded: add one, such as diversity = "entropy:4", or '
                "remove the line register = true"
            )

    def _require_further(self) -> None:
        """Raise InputError where further tables go with nothing else that is demanded, or something goes with them alone."""
        if self.further is None:
            if self.no_small_certain is not None:
                raise InputError(
                    "no_small_certain is about further tables, and there are none: demand k_combinatorial instead, which "
                    f'promises more, or add further_tables = "{PAIRS}" (in a config under [search])'
                )
            return
        if self.least("k_combinatorial") is not None:
            raise InputError(
                f"k_combinatorial and further_tables do not go together: {_NO_PROOF}; for a proof set further_tables = "
                f'"{NO_FURTHER}", for more pairs remove k_combinatorial and rules that demand it, and no_small_certain '
                "takes its place"
            )
        if self.least("k_link") is None:
            raise InputError(
                "further_tables needs k_link, which every class of them satisfies: add k_link = 10 (in a config under "
                f'[privacy]), or set further_tables = "{NO_FURTHER}"'
            )

    @property
    def further(self) -> FurtherWish | None:
        """The further tables that are wanted; None for none.

        >>> Policy(k_link=10, max_sensitive_margins=1, further_tables=5).further
        FurtherWish(tables=5, wanted=())
        """
        return FurtherWish.of(self.further_tables)

    @property
    def least_certain(self) -> int:
        """The rows that a combination of nonsensitive values has at least, or may have for all that is certain; 1 where
        nothing is demanded. As k_link demands of each class, where nobody said otherwise.

        >>> Policy(k_link=10, further_tables="pairs").least_certain, Policy(k_link=10).least_certain
        (10, 1)
        """
        if self.further is None:
            return 1
        return self.no_small_certain or self.least("k_link") or 1

    def objective_for(self, table: Table) -> PenalizedDivergence:
        """What the search minimizes, of people, where these can have several rows each.

        >>> from marginals.example import table
        >>> Policy(k_link=4).objective_for(table), Policy(k_link=4, objective="kl").objective_for(table)
        (PenalizedDivergence(price=0.010416666666666666), PenalizedDivergence(price=0.0))
        """
        people = table.rows / (table.most_rows_of_a_person or 1)
        objective = additive(objective_of(self.objective, max(people, 1.0)))
        assert isinstance(objective, PenalizedDivergence)  # looked at when the policy was made
        return objective

    @property
    def search(self) -> Strategy:
        """The search strategy."""
        return strategy_of(self.strategy, STRATEGIES)

    @property
    def named_rules(self) -> tuple[NamedRule, ...]:
        """The named rules that the release must keep.

        >>> [rule.name for rule in Policy(rules=["cms-11", "abs-10"]).named_rules]
        ['cms-11', 'abs-10']
        """
        return rules_of(self.rules)

    @property
    def analyses(self) -> tuple[Wanted, ...]:
        """The analyses that the release is wanted for."""
        return tuple(map(Wanted.of, self.wanted))

    def diversities(self, sensitive: Sequence[str]) -> tuple[MaxentDiversity, ...]:
        """What the policy and its rules demand of these sensitive attributes. Raises CriterionError for another one.

        >>> [str(claim.diversity) for claim in Policy(diversity="entropy:3").diversities(["job"])]
        ['entropy:3']
        """
        of_each = [demand.diversity for demand in self._demands if demand.diversity is not None]
        if isinstance(self.diversity, str) and self.diversity != NO_DIVERSITY:
            of_each.insert(0, parse_diversity(self.diversity))
        if not sensitive and (of_each or self.diversity not in (None, NO_DIVERSITY)):
            raise CriterionError("a diversity needs an attribute whose role is sensitive")
        of_single: list[MaxentDiversity] = []
        if self.diversity is not None and not isinstance(self.diversity, str):
            of_single = diversities_by_attribute(self.diversity, sensitive)
        demanded = [MaxentDiversity(diversity, attribute) for diversity in of_each for attribute in sensitive]
        return tuple(dict.fromkeys([*demanded, *of_single]))

    def silent_on(self, sensitive: Sequence[str]) -> tuple[str, ...]:
        """Those sensitive attributes of which no diversity is demanded, and of which it is not said either that none is.

        >>> Policy(k_link=10, diversity={"job": "none"}).silent_on(["job", "diagnosis"])
        ('diagnosis',)
        """
        if self.diversity == NO_DIVERSITY:
            return ()
        named = self.diversity if isinstance(self.diversity, Mapping) else ()
        return tuple(attribute for attribute in self.undemanded(sensitive) if attribute not in named)

    def undemanded(self, sensitive: Sequence[str]) -> tuple[str, ...]:
        """Those sensitive attributes of which no diversity is demanded, on purpose or not.

        >>> Policy(k_link=10, diversity={"job": "none"}).undemanded(["job", "diagnosis"])
        ('job', 'diagnosis')
        """
        demanded = {claim.sensitive for claim in self.diversities(sensitive)} if sensitive else ()
        return tuple(attribute for attribute in sensitive if attribute not in demanded)

    @property
    def _demands(self) -> Iterator[Demand]:
        return (demand for rule in self.named_rules for demand in rule.demands)

    def least(self, key: str) -> int | None:
        """The largest count that the policy or one of its rules demands under a key, such as "min_cell"; None for none.

        >>> Policy(min_cell=5, rules="cms-11").least("min_cell")
        11
        """
        setting = getattr(self, key)
        ruled = [demand.value for demand in self._demands if demand.key == key and isinstance(demand.value, int)]
        return max([*ruled, *([] if setting is None else [setting])], default=None)

    def requirements_of(self, table: Table) -> Requirements:
        """What a collection of a table's margins must satisfy.

        Raises as `requirements` does, and InputError for a distance that the values of the table do not have.

        >>> from marginals.example import table
        >>> Policy(diversity="entropy:2").requirements_of(table).diversity_claims[0].sensitive
        'diagnosis'
        """
        requirements = self.requirements(table.sensitive, table.most_rows_of_a_person, table.counts_missing)
        for claim in requirements.diversity_claims:
            _require_distance(table, claim)
        return requirements

    def requirements(
        self,
        sensitive: tuple[str, ...],
        rows_per_person: int | None = None,
        counts_missing: AnyCollection[str] = (),
    ) -> Requirements:
        """What a collection must satisfy, for a table with these sensitive attributes.

        rows_per_person: how many rows a person has at most, so that it is about people; None where it is about rows.
        counts_missing: attributes with the value "missing", which is no sensitive value: diversity is then demanded of those
        whose value is known.

        >>> Policy(k_link=10).requirements(("diagnosis",)).k_link
        10
        """
        k_link, k_combinatorial, min_cell = (self.least(key) for key in COUNTS)
        demanded = tuple(
            claim.leaving_out(MISSING) if claim.sensitive in counts_missing else claim
            for claim in self.diversities(sensitive)
        )
        return Requirements(
            sensitive,
            k_link,
            k_combinatorial,
            None,
            rows_per_person,
            min_cell=min_cell,
            diversities=demanded,
            register=self.register,
            at_every_level=True,
            no_small_certain=None if self.least_certain < LEAST_DEMAND else self.least_certain,
            min_published_cell=self.min_published_cell,
        )


def _require_distance(table: Table, claim: MaxentDiversity) -> None:
    """Raise InputError where values lie in no order though a criterion is about it, or readers do not know their levels."""
    if claim.sensitive not in table.domain.attributes or claim.distance == "equal":
        return
    name, hierarchy = claim.sensitive, table.domain.hierarchy(claim.sensitive)
    where = f"the diversity {str(claim.diversity)!r} of {name!r}"
    if claim.distance == "hierarchical" and name in table.fitted:
        raise InputError(
            f"{where} is about the levels of its hierarchy, and those are fitted to the counts: give it a hierarchy or "
            f'intervals with ladder = "given", or write t-closeness without "hierarchical"'
        )
    if claim.distance != "ordered":
        return
    known = [code for code, label in enumerate(hierarchy.labels[0]) if label not in claim.left_out]
    judged = hierarchy.restricted_to(known) if known else hierarchy
    if judged.order_among(0, range(judged.size(0))) is None:
        raise InputError(
            f"{where} needs values that lie in an order, and these are not all numbers, dates or bands of numbers: list "
            f'them under [attributes.{name}], lowest first, order = ["mild", "severe"] (in a frame an ordered category), or '
            'write t-closeness without "ordered"'
        )
    crossed = (level for level in range(judged.height) if judged.order_among(level, range(judged.size(level))) is None)
    if (level := next(crossed, None)) is not None:
        raise InputError(
            f"{where} needs levels that keep the order of the values, and level {level} puts values together that others "
            f'lie between: change the hierarchy of {name!r}, or write t-closeness without "ordered"'
        )


def strategy_names() -> tuple[str, ...]:
    """The names of strategies: those of the program, and those that installed packages declare.

    >>> strategy_names()[:2]
    ('auto', 'local')
    """
    return tuple(dict.fromkeys([*STRATEGIES, *installed_names(STRATEGY_GROUP)]))


def base_names() -> tuple[str, ...]:
    """The names of bases, likewise.

    >>> base_names()[:3]
    ('auto', 'best', 'none')
    """
    return tuple(dict.fromkeys([*BASES, *installed_names(BASE_GROUP)]))


def base_anonymizer(name: str) -> BaseAnonymizer:
    """The base anonymizer that an installed package declares (entry points `marginals.bases`). Raises InputError."""
    declared = installed(BASE_GROUP, name)
    if declared is None:
        raise InputError(
            f'base is "auto", "best", "none", a CSV file, levels by attribute or an installed anonymizer, not {name!r}'
        )
    if not callable(declared):
        raise refusal(BASE_GROUP, name, "a function (table, requirements) -> a level for each quasi-identifier")
    return cast(BaseAnonymizer, declared)


def _are_margins(given: object) -> bool:
    """Whether this is a list of mappings from attribute to level."""
    return (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and all(isinstance(margin, Mapping) and margin for margin in given)
        and all(isinstance(attribute, str) for margin in given for attribute in margin)
    )


Labels = tuple[str, ...]


@dataclass(frozen=True)
class Population:
    """Everybody, one row a person, by the quasi-identifiers of a table, and what is demanded of a sample of them.

    people: with the quasi-identifiers of the table as attributes. k_map: people who could be meant by each row, at least.
    delta_presence: between which two shares the probability of being in the table must be for everybody. bayes_optimal:
    rho1 and rho2, where people have the sensitive attributes too: somebody who knows how often each sensitive value occurs
    among people with the same nonsensitive values must not come from a belief below rho1 to one above rho2, nor the other
    way round (MKGV07 section 3).

    >>> import marginals
    >>> from marginals.example import table
    >>> everybody = Population(table, k_map=4, delta_presence=(0.0, 0.5))  # all of them are in the table
    >>> assessed = marginals.assess(table, marginals.Policy(), {"age": 2}, everybody)
    >>> [(check.criterion, check.holds) for check in assessed.checks]
    [('k-map', True), ('delta-presence', False)]
    """

    people: Table
    k_map: int | None = None
    delta_presence: tuple[float, float] | None = field(default=None)
    bayes_optimal: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        require(self.people, Table, "people", "what marginals.read_table(source, attributes) returns")
        if self.k_map is not None:
            require_whole_number(self.k_map, "k_map", 1, MOST_ROWS)
        for name in ("delta_presence", "bayes_optimal"):
            bounds = getattr(self, name)
            if bounds is None:
                continue
            if len(elements_of(bounds, name, "two shares, (0.1, 0.5)")) != 2:
                raise InputError(f"{name} needs two shares, such as (0.1, 0.5)")
            for bound in bounds:
                require_share(bound, name)

    @classmethod
    def read(
        cls,
        path: str | Path,
        like: TableSource,
        k_map: int | None = None,
        delta_presence: tuple[float, float] | None = None,
        bayes_optimal: tuple[float, float] | None = None,
    ) -> "Population":
        """From a file with the columns of the quasi-identifiers of a table, read as that is. Raises InputError.

        With bayes_optimal it has the columns of the sensitive attributes, too.
        """
        roles = [Role.QUASI_IDENTIFIER, *([Role.SENSITIVE] if bayes_optimal is not None else [])]
        used = {name: a for name, a in like.attributes.items() if a.role in roles}
        for name, attribute in used.items():
            if attribute.is_fitted and attribute.population is None:
                raise InputError(
                    f"the levels of {name!r} are fitted to the table, so a population has others; give it a hierarchy or "
                    "intervals"
                )
        columns: Mapping[str, Attribute] = used
        source = replace(like, origin=Path(path), attributes=columns, person=None, one_row=None, rows_per_person="any")
        return cls(source.table(1), k_map, delta_presence, bayes_optimal)

    def sizes(self, classes: ContingencyTable) -> tuple[CountArray, CountArray]:
        """For each combination of values that is in a table or the population, the rows of the table and the people.

        classes: of the quasi-identifiers alone; those of the table come first. Raises InputError for an attribute that the
        population lacks, or a level that its hierarchy does not have.
        """
        for name, level in classes.margin.items():
            if name not in self.people.domain.attributes:
                raise InputError(f"the population has no column {name!r}, which is a quasi-identifier of the table")
            if self.people.domain.hierarchy(name).height < level:
                raise InputError(f"the hierarchy of {name!r} has no level {level} in the population")
        everybody = self.people.base_counts.rolled_up(dict(classes.margin))
        rows, people = _by_labels(classes), _by_labels(everybody)
        keys = list(dict.fromkeys([*rows, *people]))
        return (
            np.array([rows.get(key, 0) for key in keys], dtype=np.int64),
            np.array([people.get(key, 0) for key in keys], dtype=np.int64),
        )

    def findings(self, classes: ContingencyTable) -> tuple[Finding, ...]:
        """On what is demanded of the classes of a table."""
        sizes, people = self.sizes(classes)
        span = slice(len(classes))
        result = [] if self.k_map is None else [k_map(sizes[span], people[span], self.k_map)]
        if self.delta_presence is not None:
            low, high = (Fraction(str(bound)) for bound in self.delta_presence)
            result.append(delta_presence(sizes, people, (low, high)))
        return tuple(result)

    def beliefs(self, table: Table, levels: Mapping[str, int]) -> tuple[Finding, ...]:
        """On what people learn who know the population, of each sensitive attribute; of no person's values a word.

        levels: at which the quasi-identifiers are published. Raises InputError where the population lacks an attribute, or
        has other levels; ContradictionError where the table is no sample of it.
        """
        if self.bayes_optimal is None:
            return ()
        low, high = (Fraction(str(rho)) for rho in self.bayes_optimal)
        result = []
        for sensitive in table.sensitive:
            columns = [*table.quasi_identifiers, sensitive]
            rows, people = _in_one_domain(table, self.people, columns)
            finding = bayes_optimal(rows, people, sensitive, levels, low, high)
            belief = None if finding.worst is None else WorstClass(reached=float(finding.worst.as_json()["posterior"]))
            result.append(replace(finding, worst=belief))
        return tuple(result)


def _in_one_domain(table: Table, population: Table, names: Sequence[str]) -> tuple[ContingencyTable, ContingencyTable]:
    """The counts of both by some attributes, over base values that either has. Raises InputError where levels differ."""
    for name in names:
        if name not in population.domain.attributes:
            raise InputError(
                f"the population has no column {name!r}, which an adversary would know the distribution of"
            )
    domains = [table.domain, population.domain]
    hierarchies = {}
    for name in names:
        rows = [row for domain in domains for row in domain.hierarchy(name).rows()]
        try:
            hierarchies[name] = Hierarchy.from_rows(dict.fromkeys(rows))
        except HierarchyError:
            raise InputError(
                f"the population has other levels of {name!r} than the table; give both one hierarchy file, or intervals"
            ) from None
    together = Domain.of(hierarchies)
    return _over(together, table), _over(together, population)


def _over(domain: Domain, table: Table) -> ContingencyTable:
    """The base counts of a table by the attributes of another domain, which has its base values."""
    base = dict.fromkeys(domain.attributes, 0)
    counts = table.base_counts.rolled_up(base)
    codes = {}
    for name in domain.attributes:
        place = {label: code for code, label in enumerate(domain.hierarchy(name).labels[0])}
        codes_of = np.array([place[label] for label in table.domain.hierarchy(name).labels[0]], dtype=np.intp)
        codes[name] = codes_of[counts.column(name, 0)]
    return ContingencyTable.from_cells(domain, base, codes, counts.counts)


def _by_labels(classes: ContingencyTable) -> dict[Labels, int]:
    """The count of each combination of labels, attributes in the order of texts."""
    names = sorted(classes.attributes)
    columns = []
    for name in names:
        labels = classes.domain.hierarchy(name).labels[classes.margin[name]]
        columns.append([labels[code] for code in classes.column(name, classes.margin[name]).tolist()])
    return dict(zip(zip(*columns) if columns else [()] * len(classes), classes.counts.tolist()))
