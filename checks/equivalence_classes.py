"""Equivalence classes: the rows of a table that share all nonsensitive values, counted by sensitive value."""

from dataclasses import dataclass

import numpy as np

from models.arrays import CodeArray, CountArray, read_only
from models.contingency_table import ContingencyTable
from models.domain import Domain
from models.margin import Margin
from models.mixed_radix import group, pack


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The classes of a table and what they hold.

    margin: the nonsensitive part of the table's margin. codes: for each of its attributes, in the domain's order, shape
    (classes,). counts: shape (classes, values), rows by sensitive value at `level`; each row has a positive sum.
    """

    domain: Domain
    margin: Margin
    codes: tuple[CodeArray, ...]
    sensitive: str
    level: int
    counts: CountArray

    def __post_init__(self) -> None:
        for array in (*self.codes, self.counts):
            read_only(array)

    def __len__(self) -> int:
        """Number of classes."""
        return len(self.counts)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the margin in the domain's order."""
        return tuple(attribute for attribute in self.domain.attributes if attribute in self.margin)

    def labels(self, position: int) -> dict[str, str]:
        """The published labels of a class."""
        return {
            attribute: self.domain.hierarchy(attribute).labels[self.margin[attribute]][int(codes[position])]
            for attribute, codes in zip(self.attributes, self.codes)
        }

    def distribution(self, position: int) -> dict[str, int]:
        """The rows of a class by the label of their sensitive value, absent values left out."""
        labels = self.domain.hierarchy(self.sensitive).labels[self.level]
        return {label: count for label, count in zip(labels, self.counts[position].tolist()) if count}


def equivalence_classes(table: ContingencyTable, sensitive: str) -> EquivalenceClasses:
    """The classes of a table that shows the sensitive attribute; its other attributes are what classes share."""
    level = table.margin[sensitive]
    margin = Margin({a: table.margin[a] for a in table.attributes if a != sensitive})
    columns, radices = table.columns(margin)
    keys, space = pack(columns, radices, len(table))
    rows, class_of = group(keys, space)
    values = table.domain.hierarchy(sensitive).size(level)
    cells = class_of * values + table.column(sensitive, level)
    counts = np.bincount(cells, table.counts, minlength=len(rows) * values)
    return EquivalenceClasses(
        table.domain,
        margin,
        tuple(column[rows] for column in columns),
        sensitive,
        level,
        counts.reshape(len(rows), values).astype(np.int64),
    )
