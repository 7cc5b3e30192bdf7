"""Disclosures: original records with the level at which each of their values is shown (LSFB09 section 7.1).

Whom a rule is about is decided on the original records, and where several rules meet the highest level counts. So rules
commute, and repeating one changes nothing (Proposition 3).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.risk.errors import DisclosureRuleError
from checks.risk.record import Records
from models.arrays import BoolArray, IndexArray, read_only
from models.checked_arrays import whole_numbers


@dataclass(frozen=True, eq=False)
class Disclosure:
    """What is disclosed of some records. levels: at least that of each original value, shape (records, attributes).

    Raises DomainMismatchError for levels that are no whole numbers, DisclosureRuleError for others that do not fit.
    """

    originals: Records
    levels: IndexArray

    def __post_init__(self) -> None:
        levels = whole_numbers(self.levels, "levels").astype(np.intp)
        if levels.shape != self.originals.nodes.shape or np.any(levels > self.originals.space.heights):
            raise DisclosureRuleError("a disclosure needs a level for each value of each record, none above that of *")
        object.__setattr__(self, "levels", read_only(np.maximum(levels, self.originals.levels)))

    @classmethod
    def of(cls, originals: Records) -> "Disclosure":
        """All records as they are."""
        return cls(originals, originals.levels)

    @cached_property
    def records(self) -> Records:
        """The disclosed records, the paper's delta(x)."""
        return self.originals.generalized(self.levels)

    def level_counts(self) -> dict[str, list[int]]:
        """For each attribute how many records are disclosed at each of its levels, 0 first (LSFB09 Fig. 11)."""
        space = self.originals.space
        columns = zip(space.domain.attributes, space.heights.tolist(), self.levels.T)
        return {attribute: np.bincount(column, minlength=height + 1).tolist() for attribute, height, column in columns}


@dataclass(frozen=True, eq=False)
class Rule:
    """Show an attribute of some records at no finer level. rows: whether it is about each record, shape (records,)."""

    attribute: str
    rows: BoolArray
    level: int


def generalize(disclosure: Disclosure, attribute: str, condition: BoolArray, level: int) -> Disclosure:
    """Some records with an attribute at a level, or higher where it is so already (Definition 7).

    condition: whether a record is one of them, shape (records,); the paper's formula F selects the others.
    Raises DomainMismatchError for an unknown attribute, DisclosureRuleError for a level or condition that does not fit.
    """
    axis = disclosure.originals.space.domain.index(attribute)
    height = int(disclosure.originals.space.heights[axis])
    if not 0 <= level <= height:
        raise DisclosureRuleError(f"{attribute!r} has the levels 0 to {height}, not {level}")
    rows = _checked(condition, len(disclosure.originals))
    levels = disclosure.levels.copy()
    levels[rows, axis] = np.maximum(levels[rows, axis], level)
    return replace(disclosure, levels=levels)


def hide(disclosure: Disclosure, attribute: str, condition: BoolArray) -> Disclosure:
    """Some records with an attribute suppressed (Definition 6). Arguments and errors as for `generalize`."""
    axis = disclosure.originals.space.domain.index(attribute)
    return generalize(disclosure, attribute, condition, int(disclosure.originals.space.heights[axis]))


def disclosed(originals: Records, rules: Sequence[Rule]) -> Disclosure:
    """The records under some rules, in whatever order."""
    disclosure = Disclosure.of(originals)
    for rule in rules:
        disclosure = generalize(disclosure, rule.attribute, rule.rows, rule.level)
    return disclosure


def _checked(condition: NDArray[Any], length: int) -> BoolArray:
    if condition.dtype != np.bool_ or condition.shape != (length,):
        raise DisclosureRuleError(f"a condition needs one truth value for each of {length} records")
    return condition
