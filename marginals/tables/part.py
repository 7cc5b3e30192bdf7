"""Parts of a table: the rows that have certain values, told from the rest by levels of some attributes."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from marginals.errors import InputError
from models.arrays import BoolArray
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain, Mask
from models.tables.hierarchy import Hierarchy

Values = Mapping[str, BoolArray]
"""For each attribute that tells a part from the rest, which of its base values are those of the part: shape (size(0),)."""


class RowChoice(Protocol):
    """What says which rows are meant: a text, and the base values that it means among those of a domain."""

    @property
    def text(self) -> str:
        """As it was written."""

    def values(self, domain: Domain) -> Values:
        """Which base values are meant. Raises InputError where that cannot be said."""


def part_of(where: RowChoice, counts: ContingencyTable) -> ContingencyTable:
    """The cells of a part, of counts of the whole at levels that tell it from the rest.

    Raises InputError for levels that do not.
    """
    values = where.values(counts.domain)
    inside = np.ones(len(counts), dtype=bool)
    for name, level in separating_levels(counts.domain, values).items():
        hierarchy = counts.domain.hierarchy(name)
        finest = counts.margin.get(name, hierarchy.height)
        if finest > level:
            raise InputError(f"{name!r} at level {finest} does not tell the part {where.text!r} from the rest")
        inside &= values_at(hierarchy, values[name], finest)[counts.column(name, finest)]
    codes = {name: column[inside] for name, column in zip(counts.attributes, counts.codes)}
    return ContingencyTable.from_cells(counts.domain, counts.margin, codes, counts.counts[inside])


def telling_margin(where: RowChoice, domain: Domain) -> Mask:
    """What a margin must show to tell a part from the rest: the attributes at levels that are just fine enough."""
    return domain.mask(separating_levels(domain, where.values(domain)))


def separating_levels(domain: Domain, values: Values) -> dict[str, int]:
    """For each attribute the coarsest level whose values lie in a part or in the rest, none in both.

    An attribute all of whose values are meant has none.

    >>> from marginals.example import table
    >>> ages = table.domain.hierarchy("age").labels[0]
    >>> separating_levels(table.domain, {"age": np.array([int(age[:2]) >= 40 for age in ages])})
    {'age': 2}
    """
    levels = {}
    for name, inside in values.items():
        hierarchy = domain.hierarchy(name)
        level = max(level for level in range(hierarchy.height + 1) if is_told(hierarchy, inside, level))
        if level < hierarchy.height:
            levels[name] = level
    return levels


def values_at(hierarchy: Hierarchy, inside: BoolArray, level: int) -> BoolArray:
    """Which values of a level have base values in a part."""
    meant = np.zeros(hierarchy.size(level), dtype=bool)
    meant[hierarchy.lift(0, level)[inside]] = True
    return meant


def is_told(hierarchy: Hierarchy, inside: BoolArray, level: int) -> bool:
    """Whether no value of a level has base values in a part and others in the rest."""
    return not (values_at(hierarchy, inside, level) & values_at(hierarchy, ~inside, level)).any()
