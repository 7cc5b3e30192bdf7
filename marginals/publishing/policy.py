"""The policy of a release: what privacy it must keep, where the search starts, and how long it may take."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

from checks.claims.by_attribute import diversities_by_attribute
from checks.claims.maxent_diversity import MaxentDiversity
from checks.claims.requirements import Requirements
from checks.diversity.odds.at_odds import AtOdds
from checks.diversity.registry import parse_diversity
from checks.errors import CriterionError
from marginals.anonymizers.published_base import is_file
from marginals.bundle.format import KNOWN
from marginals.errors import InputError
from marginals.named_rules.rule import COUNTS, Demand, NamedRule, rules_of
from marginals.publishing.wanted import Wanted
from models.search import STRATEGIES

BASES = ("auto", "best", "none")
"""What a base can be called that is neither a file nor levels."""

_LEAST = {
    "k_link": 1,
    "k_combinatorial": 1,
    "min_cell": 1,
    "max_sensitive_margins": 0,
    "max_cells": 1,
    "max_attributes": 1,
    "seed": 0,
}
"""The smallest value of each number in a policy."""


@dataclass(frozen=True)
class Policy:
    """What a release must satisfy, and how it is searched for.

    k_link, k_combinatorial, min_cell: rows, or people where the table says how many rows a person has; min_cell is about
    every cell, sensitive values counted. diversity: for example "entropy:6" or "recursive:3,4", of every sensitive
    attribute; or for single ones, {"job": "entropy:6", "diagnosis": ["entropy:6", "distinct:3"]}, where a list has one for
    each level of the attribute from 0, "none" for a level of which nothing is demanded. base: the anonymized table
    that the collection must contain: "best" (the minimal one closest to the data), "none", or a level for each attribute; of
    several sensitive attributes each has such a table. Or a CSV file, "published.csv", of a table of the same rows that is
    published already, generalized to levels of the hierarchies. "auto" looks for a release with the best one and for one
    without, and takes the better. start: where a stepwise search begins besides that table, with
    "independence" (every attribute by itself)
    or "nothing". max_sensitive_margins: maximum number of margins that contain the same sensitive attribute. max_cells,
    max_attributes: maximum of each margin, empty cells counted. must_publish: margins that must be derivable from a
    published one. must_not_publish: margins that no published one may reveal. wanted: analyses that the release is for, a
    `Wanted` each: the search weighs how far their tables are from the data beside the whole. time_limit: seconds. rules:
    named ones, such as "cms-11", or paths to TOML files with one; what they demand is demanded beside the rest. odds: how
    much likelier one sensitive value may be beside another, by other knowledge of a person than the release, while the
    diversity still holds. turnover: "known" where readers can be taken to know that people come and go, for the releases of
    a ledger: their counts may then differ by fewer than k rows where at least k came and at least k left. "unknown": they
    may take every difference for people. max_waiting: of the first release of a ledger, the share of the people who are
    foreseen to wait for a later one at most, since too few like them came or left; 1 for any.
    Raises InputError or CriterionError for values that make no sense.

    >>> Policy(k_link=10, diversity="recursive:3,4", must_publish=[{"age": 1, "sex": 0}]).strategy
    'look-ahead'
    """

    k_link: int | None = None
    k_combinatorial: int | None = None
    diversity: str | Mapping[str, str | Sequence[str]] | None = None
    base: str | Mapping[str, int] = "auto"
    strategy: str = "look-ahead"
    seed: int = 0
    start: str = "independence"
    max_sensitive_margins: int | None = field(default=3)
    time_limit: float = 60.0
    max_cells: int | None = None
    max_attributes: int | None = None
    must_publish: Sequence[Mapping[str, int]] = ()
    must_not_publish: Sequence[Mapping[str, int]] = ()
    wanted: Sequence[Wanted | Mapping[str, Any]] = ()
    min_cell: int | None = None
    rules: str | NamedRule | Sequence[str | NamedRule] = ()
    odds: float | Fraction | None = None
    turnover: str = "unknown"
    max_waiting: float = 0.1

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
        limit = self.time_limit
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 0:
            raise InputError(f"time_limit must be a number of seconds, got {self.time_limit!r}")
        waiting = self.max_waiting
        if isinstance(waiting, bool) or not isinstance(waiting, int | float) or not 0 < waiting <= 1:
            raise InputError(f"max_waiting must be a share above 0 and up to 1, got {waiting!r}")
        if isinstance(self.base, str) and self.base not in BASES and not is_file(self.base):
            raise InputError(
                f'base is "auto", "best", "none", a CSV file or a level for each attribute, not {self.base!r}'
            )
        if self.start not in ("independence", "nothing"):
            raise InputError(f'start is "independence" or "nothing", not {self.start!r}')
        if self.turnover not in (KNOWN, "unknown"):
            raise InputError(f'turnover is "{KNOWN}" or "unknown", not {self.turnover!r}')
        for name in ("must_publish", "must_not_publish"):
            if not _are_margins(getattr(self, name)):
                raise InputError(f"{name} is a list of margins such as {{ age = 1, sex = 0 }}")
        if not isinstance(self.wanted, Sequence) or isinstance(self.wanted, str):
            raise InputError("wanted is a list of analyses")
        object.__setattr__(self, "wanted", tuple(map(Wanted.of, self.wanted)))
        if not isinstance(self.strategy, str) or self.strategy not in STRATEGIES:
            raise InputError(f"there is no search strategy {self.strategy!r}; there is {', '.join(STRATEGIES)}")
        object.__setattr__(self, "rules", rules_of(self.rules))
        odds = self.odds
        if odds is not None and (
            isinstance(odds, bool) or not isinstance(odds, int | float | Fraction) or not 1 <= odds < inf
        ):
            raise InputError(f"odds must be a number of at least 1, got {odds!r}")
        demanded = self.diversities(
            [*self.diversity] if self.diversity and isinstance(self.diversity, Mapping) else ["any"]
        )
        if odds is not None and not demanded:
            raise InputError("odds are about a diversity; demand one beside them")

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
        if isinstance(self.diversity, str):
            of_each.insert(0, parse_diversity(self.diversity))
        if not sensitive and (of_each or self.diversity is not None):
            raise CriterionError("a diversity needs an attribute whose role is sensitive")
        of_single: list[MaxentDiversity] = []
        if self.diversity is not None and not isinstance(self.diversity, str):
            of_single = diversities_by_attribute(self.diversity, sensitive)
        demanded = [MaxentDiversity(diversity, attribute) for diversity in of_each for attribute in sensitive]
        return tuple(dict.fromkeys(map(self._with_odds, [*demanded, *of_single])))

    def _with_odds(self, claim: MaxentDiversity) -> MaxentDiversity:
        """A diversity that must bear the odds, unless it names odds itself."""
        if self.odds is None or isinstance(claim.diversity, AtOdds):
            return claim
        return claim.at_odds(Fraction(str(self.odds)))

    @property
    def _demands(self) -> Iterator[Demand]:
        return (demand for rule in self.named_rules for demand in rule.demands)

    def least(self, key: str) -> int | None:
        """The largest count that the policy or one of its rules demands under a key, such as "min_cell"; None for none.

        >>> Policy(min_cell=5, rules="cms-11").least("min_cell")
        11
        """
        own = getattr(self, key)
        ruled = [demand.value for demand in self._demands if demand.key == key and isinstance(demand.value, int)]
        return max([*ruled, *([] if own is None else [own])], default=None)

    def requirements(self, sensitive: tuple[str, ...], rows_per_person: int | None = None) -> Requirements:
        """What a collection must satisfy, for a table with these sensitive attributes.

        rows_per_person: how many rows a person has at most, so that it is about people; None where it is about rows.

        >>> Policy(k_link=10).requirements(("diagnosis",)).k_link
        10
        """
        k_link, k_combinatorial, min_cell = (self.least(key) for key in COUNTS)
        demanded = self.diversities(sensitive)
        return Requirements(
            sensitive, k_link, k_combinatorial, None, rows_per_person, min_cell=min_cell, diversities=demanded
        )


def _are_margins(given: object) -> bool:
    """Whether this is a list of mappings from attribute to level."""
    return (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and all(isinstance(margin, Mapping) and margin for margin in given)
        and all(isinstance(attribute, str) for margin in given for attribute in margin)
    )
