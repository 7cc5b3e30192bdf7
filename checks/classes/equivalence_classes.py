"""Equivalence classes: the rows of a table that share all nonsensitive values, counted by sensitive value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.diversity.relative.sensitive_values import SensitiveValues
from models.arrays import CodeArray, read_only, read_only_copy
from models.checked_arrays import value_codes
from models.errors import DomainMismatchError
from models.tables.coded_cells import CodedCells
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.margin import Margin
from models.tables.mixed_radix import group, pack


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The classes of a table and what they hold.

    margin: the nonsensitive part of the table's margin. codes: for each of its attributes, in the domain's order, shape
    (classes,). counts: shape (classes, values), rows by sensitive value at `level`, int64; expected rows, float64, where
    the classes are those of a model. Classes are distinct and have rows. Arrays are copied in. Raises DomainMismatchError
    where this is not so.
    """

    domain: Domain
    margin: Margin
    codes: tuple[CodeArray, ...]
    sensitive: str
    level: int
    counts: NDArray[Any]

    def __post_init__(self) -> None:
        self.domain.mask({**self.margin, self.sensitive: self.level})
        if self.sensitive in self.margin:
            raise DomainMismatchError(f"classes share their nonsensitive values; {self.sensitive!r} is sensitive")
        if len(self.codes) != len(self.attributes):
            raise DomainMismatchError(f"{len(self.attributes)} attributes came with {len(self.codes)} code columns")
        radices = [self.domain.hierarchy(attribute).size(self.margin[attribute]) for attribute in self.attributes]
        columns = list(map(value_codes, self.codes, self.attributes, radices))
        counts = np.asarray(self.counts)
        values = self.domain.hierarchy(self.sensitive).size(self.level)
        if counts.ndim != 2 or counts.shape[1] != values or any(len(column) != len(counts) for column in columns):
            raise DomainMismatchError(f"classes need {values} counts and a code of each attribute")
        if counts.dtype.kind not in "iuf" or not np.all((counts >= 0) & np.isfinite(counts)):
            raise DomainMismatchError("counts of classes must be numbers, none negative")
        if not counts.any(axis=1).all():
            raise DomainMismatchError("a class has no rows")
        if len(group(*pack(columns, radices, len(counts)))[0]) < len(counts):
            raise DomainMismatchError("classes must be distinct")
        object.__setattr__(self, "codes", tuple(map(read_only_copy, columns)))
        object.__setattr__(self, "counts", read_only_copy(counts))

    @classmethod
    def _of_grouped(
        cls, margin: Margin, table: tuple[Domain, str, int], codes: Sequence[CodeArray], counts: NDArray[Any]
    ) -> "EquivalenceClasses":
        """From classes that were just grouped, so that they are what the constructor demands: it would group them again.

        table: its domain, and the sensitive attribute with its level.
        """
        domain, sensitive, level = table
        classes = object.__new__(cls)
        vars(classes).update(domain=domain, margin=margin, codes=tuple(map(read_only, codes)), sensitive=sensitive)
        vars(classes).update(level=level, counts=read_only(counts))
        return classes

    def __len__(self) -> int:
        """Number of classes."""
        return len(self.counts)

    @property
    def values(self) -> SensitiveValues:
        """The sensitive values, and the rows that all classes together have of each; expected rows are rounded."""
        rows = self.counts.sum(axis=0)
        return SensitiveValues(
            self.domain.hierarchy(self.sensitive), self.level, tuple(np.rint(rows).astype(int).tolist())
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the margin in the domain's order."""
        return tuple(attribute for attribute in self.domain.attributes if attribute in self.margin)

    @property
    def coded_cells(self) -> CodedCells:
        """What the classes share, by codes."""
        return CodedCells(self.domain, self.margin, dict(zip(self.attributes, self.codes)), len(self))

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
    return EquivalenceClasses._of_grouped(
        Margin({a: margin[a] for a in shared}),
        (domain, sensitive, level),
        [codes[a][rows] for a in shared],
        counts.astype(weights.dtype),
    )
