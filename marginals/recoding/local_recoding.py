"""Local recoding: one anonymized table whose classes are generalized each in its own way (TZ09 section III).

SWEEP and the Hilbert mapping publish such tables. Full-domain tables fit in too, so that all have the same measures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from checks.classes import equivalence_classes
from checks.diversity.criteria import Functional, Induction
from checks.diversity.criterion import Diversity, satisfies
from checks.diversity.registry import parse_diversity
from marginals.arguments import require
from marginals.errors import InputError, NothingPublishableError
from marginals.later import pd
from marginals.tables.attribute import COUNT
from marginals.tables.table import Table
from models.arrays import CountArray, IndexArray
from models.errors import DomainMismatchError
from models.frozen import frozen
from models.tables.contingency_table import group, pack
from models.tables.generalized_cells import GeneralizedCells, Taxonomy
from models.tables.hierarchy import Domain

Weights = Mapping[str, Sequence[Fraction | int]]  # what an adversary may know of frequencies of sensitive values


def requirement_of(table: Table, requirement: Diversity | str | None) -> Diversity | None:
    """Return the requirement on the sensitive values of a table that is recoded locally, also from a text."""
    require(table, Table, "table", "what marginals.read_table(source, attributes) returns")
    criterion = parse_diversity(requirement) if isinstance(requirement, str) else requirement
    require(criterion, Diversity | None, "requirement", 'a diversity such as "functional:0.5,2"')
    if criterion is None:
        return None
    if not table.sensitive:
        raise InputError("a diversity needs an attribute whose role is sensitive")
    name = table.sensitive[0]
    everybody = equivalence_classes(table.cube.table(table.domain.mask({name: 0})), name)
    return criterion.among(everybody.values) if criterion.is_relative else criterion


@frozen(eq=False)
class LocalRecoding:
    """A table as it can be published. `weights`: an attribute without an entry has weight 1 everywhere."""

    cells: GeneralizedCells
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    weights: Weights = field(default_factory=dict)
    PLAIN: ClassVar = ("classes", "smallest_class", "average_class_size", "discernibility", "information_utility")

    def __post_init__(self) -> None:
        if sorted((*self.quasi_identifiers, *self.sensitive)) != sorted(self.domain.attributes):
            raise DomainMismatchError("each attribute of a recoded table is a quasi-identifier or sensitive")

    @classmethod
    def full_domain(cls, table: Table, levels: Mapping[str, int]) -> "LocalRecoding":
        """Return the table with each quasi-identifier at one level throughout, the sensitive values as they are."""
        margin = {**levels, **dict.fromkeys(table.sensitive, 0)}
        return cls.of(table, GeneralizedCells.of(table.base_counts.rolled_up(margin)))

    @classmethod
    def of(cls, table: Table, cells: GeneralizedCells) -> "LocalRecoding":
        """Return a table with these cells, of whose sensitive values readers know which occur."""
        return cls(cells, table.quasi_identifiers, table.sensitive, occurrence_weights(table, table.sensitive))

    @property
    def domain(self) -> Domain:
        """Attributes with their hierarchies."""
        return self.cells.domain

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.cells.total

    def __len__(self) -> int:
        return len(self._classes[0])

    def __repr__(self) -> str:
        return f"LocalRecoding({self.rows} rows in {len(self)} classes)"

    def _column(self, attribute: str) -> IndexArray:
        return self.cells.nodes[:, self.domain.index(attribute)]

    def _taxonomy(self, attribute: str) -> Taxonomy:
        return self.cells.taxonomies[self.domain.index(attribute)]

    @cached_property
    def _classes(self) -> tuple[IndexArray, IndexArray]:
        columns = [self._column(attribute) for attribute in self.quasi_identifiers]
        sizes = [self._taxonomy(attribute).size for attribute in self.quasi_identifiers]
        return group(*pack(columns, sizes, len(self.cells)))

    @property
    def class_of(self) -> IndexArray:
        """Class of each cell: shape (cells,)."""
        return self._classes[1]

    @cached_property
    def sizes(self) -> CountArray:
        """Rows of each class: shape (classes,)."""
        return np.bincount(self.class_of, self.cells.counts, minlength=len(self)).astype(np.int64)

    def class_counts(self, sensitive: str) -> CountArray:
        """Return rows by published sensitive value, the finer ones first: shape (classes, values)."""
        nodes, place = np.unique(self._column(sensitive), return_inverse=True)
        cells = self.class_of * len(nodes) + place
        counts = np.bincount(cells, self.cells.counts, minlength=len(self) * len(nodes))
        return counts.reshape(len(self), len(nodes)).astype(np.int64)

    def requirement_on(self, sensitive: str, requirement: Functional) -> Functional:
        """Return a (tau, l) requirement that reads `class_counts`, with the induction of the published values."""
        nodes = np.unique(self._column(sensitive))
        return with_induction(requirement, self._taxonomy(sensitive), nodes, self.weights.get(sensitive))

    def satisfies(self, requirement: Diversity) -> bool:
        """Return whether every class is diverse in each sensitive attribute by itself (TZ09 Def. 4), exactly."""
        for attribute in self.sensitive:
            judge = self.requirement_on(attribute, requirement) if isinstance(requirement, Functional) else requirement
            if not satisfies(judge, self.class_counts(attribute)).all():
                return False
        return True

    @property
    def information_utility(self) -> float:
        """`um`: the share of the information of the original table that is retained (TZ09 Def. 5)."""
        return self.cells.information_utility

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self)

    @property
    def smallest_class(self) -> int:
        """Fewest rows of a class."""
        return int(self.sizes.min(initial=self.rows))

    @property
    def average_class_size(self) -> float:
        """Mean number of rows in a class."""
        return average_class_size(self.sizes)

    @property
    def discernibility(self) -> int:
        """Sum over the rows of how many rows are in the same class."""
        return discernibility(self.sizes)

    def kl_divergence(self, table: Table) -> float:
        """KL divergence in nats from the original table to the distribution that this one describes."""
        return self.cells.kl_divergence(table.base_counts)

    def frame(self) -> "pd.DataFrame":
        """Return one row a cell: the published labels, in the domain's order, and `count`."""
        labels = {name: np.array(self._taxonomy(name).labels, dtype=object) for name in self.domain.attributes}
        columns: dict[str, Any] = {name: texts[self._column(name)] for name, texts in labels.items()}
        return pd.DataFrame({**columns, COUNT: self.cells.counts})


def with_induction(
    requirement: Functional, taxonomy: Taxonomy, nodes: IndexArray, weights: Sequence[Fraction | int] | None
) -> Functional:
    """Return a (tau, l) requirement with the induction of published values, which are nodes of their taxonomy."""
    levels = taxonomy.levels[nodes]
    values = zip(levels.tolist(), (nodes - np.array(taxonomy.offsets)[levels]).tolist())
    return Functional(requirement.tau, requirement.l, Induction.of_values(taxonomy.hierarchy, [*values], weights))


def occurrence_weights(table: Table, attributes: Sequence[str]) -> Weights:
    """Return weight 1 for the base values of attributes that occur in a table, 0 for the others (TZ09 after Def. 2)."""
    sizes = {a: table.domain.hierarchy(a).size(0) for a in attributes}
    rows = {a: np.bincount(table.base_counts.column(a, 0), minlength=size) for a, size in sizes.items()}
    return {attribute: (counts > 0).astype(int).tolist() for attribute, counts in rows.items()}


def average_class_size(sizes: CountArray) -> float:
    """Mean number of rows in a class; 0 when there is none."""
    return float(sizes.sum() / len(sizes)) if len(sizes) else 0.0


def discernibility(sizes: CountArray, suppressed: int = 0) -> int:
    """Sum over the rows of how many rows look the same; each suppressed row costs as many as there are in all."""
    squares: int = sum(size * size for size in sizes.tolist())  # exact for any count
    return squares + suppressed * (int(sizes.sum()) + suppressed)


def classification_metric(counts: NDArray[Any]) -> int:
    """Rows whose label is not the most frequent one of their class. counts: class by label, shape (classes, labels)."""
    return int(counts.sum() - counts.max(axis=1, initial=0).sum())


def require_rows(rows: int, k: int) -> None:
    """Raise NothingPublishableError unless a table has as many rows as each class must have."""
    if rows < k:
        raise NothingPublishableError(f"the table has {rows:,} rows, fewer than the {k:,} that each class must have")
