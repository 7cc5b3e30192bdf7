"""What a release says about a sensitive attribute, laid out: expected rows by class and sensitive value."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from models.arrays import CodeArray, FloatArray, read_only_copy
from models.errors import DomainMismatchError
from models.inference.marginal_model import MarginalModel
from models.tables.domain import Domain
from models.tables.margin import Margin


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Rows of all classes, empty ones included, by sensitive value.

    margin: the nonsensitive attributes with their levels, in the order of the classes' numbering, last one fastest.
    rows: shape (classes, values), expected or counted; copied in. Raises DomainMismatchError for another shape, and for
    negative numbers of rows.
    """

    domain: Domain
    margin: Margin
    sensitive: str
    level: int
    rows: FloatArray

    def __post_init__(self) -> None:
        shape = (prod(self.shape), self.domain.hierarchy(self.sensitive).size(self.level))
        if self.rows.shape != shape:
            raise DomainMismatchError(f"classes by sensitive value have the shape {shape}, not {self.rows.shape}")
        if not np.all((self.rows >= 0) & np.isfinite(self.rows)):
            raise DomainMismatchError("rows of classes must be numbers, none negative")
        object.__setattr__(self, "rows", read_only_copy(self.rows))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each attribute of the margin."""
        return tuple(self.domain.hierarchy(a).size(level) for a, level in self.margin.items())

    def codes(self) -> dict[str, CodeArray]:
        """For each attribute the code in each class: shape (classes,)."""
        places = np.unravel_index(np.arange(len(self.rows)), self.shape) if self.margin else ()
        return dict(zip(self.margin, places))

    def labels(self, position: int) -> dict[str, str]:
        """The published labels of a class."""
        return {
            attribute: self.domain.hierarchy(attribute).labels[level][int(self.codes()[attribute][position])]
            for attribute, level in self.margin.items()
        }

    def posterior(self) -> FloatArray:
        """The distribution of the sensitive value in each class, shape (classes, values); zeros in empty classes."""
        sums = self.rows.sum(axis=1, keepdims=True)
        return np.asarray(self.rows / np.where(sums > 0, sums, 1))


def sensitive_levels(model: MarginalModel, sensitive: str) -> dict[str, int]:
    """The finest levels of what a release shows together with a sensitive attribute, that attribute last.

    Nothing else tells of it where the release is decomposable (KG06 Prop. 7.3); otherwise it is all that is published.
    Empty where no margin shows the attribute.
    """
    collection, domain = model.collection, model.domain
    first_step = 1 << domain.offsets[domain.index(sensitive)]
    masks = [mask for mask in collection.masks if mask & first_step]
    if masks and not collection.is_decomposable:
        masks = list(collection.masks)
    levels: dict[str, int] = {}
    for mask in masks:
        for attribute, level in domain.margin(mask).items():
            levels[attribute] = min(level, levels.get(attribute, level))
    return {a: levels[a] for a in [*(a for a in domain.attributes if a != sensitive), sensitive] if a in levels}


def class_table(model: MarginalModel, levels: Mapping[str, int]) -> ClassTable:
    """The maxent distribution over a margin whose last attribute is sensitive.

    Raises TooManyCellsError for a margin too large to be laid out.
    """
    *shared, sensitive = levels
    margin = Margin({a: levels[a] for a in shared})
    expected = model.expected({**margin, sensitive: levels[sensitive]})
    rows = expected.reshape(-1, model.domain.hierarchy(sensitive).size(levels[sensitive]))
    return ClassTable(model.domain, margin, sensitive, levels[sensitive], rows)
