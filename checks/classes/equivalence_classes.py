"""Equivalence classes: the rows of a table that share all nonsensitive values, counted by sensitive value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.arrays import CodeArray, read_only
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.margin import Margin
from models.tables.mixed_radix import group, pack


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The classes of a table and what they hold.

    margin: the nonsensitive part of the table's margin. codes: for each of its attributes, in the domain's order, shape
    (classes,). counts: shape (classes, values), rows by sensitive value at `level`, int64; expected rows, float64, where
    the classes are those of a model. Each row has a positive sum.
    """

    domain: Domain
    margin: Margin
    codes: tuple[CodeArray, ...]
    sensitive: str
    level: int
    counts: NDArray[Any]

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

    def distribution(self, position: int) -> dict[str, float]:
        """The rows of a class by the label of their sensitive value, absent values left out."""
        labels = self.domain.hierarchy(self.sensitive).labels[self.level]
        return {label: count for label, count in zip(labels, self.counts[position].tolist()) if count}


def equivalence_classes(table: ContingencyTable, sensitive: str) -> EquivalenceClasses:
    """The classes of a table that shows the sensitive attribute; its other attributes are what classes share."""
    codes = dict(zip(table.attributes, table.codes))
    return grouped(table.domain, table.margin, codes, table.counts, sensitive)


def grouped(
    domain: Domain, margin: Margin, codes: Mapping[str, CodeArray], weights: NDArray[Any], sensitive: str
) -> EquivalenceClasses:
    """The classes of weighted cells: counts of rows, or expected counts. weights: shape (cells,)."""
    level = margin[sensitive]
    shared = [a for a in domain.attributes if a in margin and a != sensitive]
    radices = [domain.hierarchy(a).size(margin[a]) for a in shared]
    keys, space = pack([codes[a] for a in shared], radices, len(weights))
    rows, class_of = group(keys, space)
    values = domain.hierarchy(sensitive).size(level)
    cells = class_of * values + codes[sensitive]
    counts = np.bincount(cells, weights, minlength=len(rows) * values).reshape(len(rows), values)
    return EquivalenceClasses(
        domain,
        Margin({a: margin[a] for a in shared}),
        tuple(codes[a][rows] for a in shared),
        sensitive,
        level,
        counts.astype(weights.dtype),
    )
