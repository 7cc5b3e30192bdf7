"""The population that a table is a sample of: who could be meant by its rows, and what is demanded of that."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from checks.classes.population import delta_presence, k_map
from checks.finding import Finding
from marginals.errors import InputError
from marginals.tables.attribute import Attribute, Role
from marginals.tables.source import TableSource
from marginals.tables.table import Table
from models.arrays import CountArray
from models.tables.contingency_table import ContingencyTable

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Population:
    """Everybody, one row a person, by the quasi-identifiers of a table, and what is demanded of a sample of them.

    people: with the quasi-identifiers of the table as attributes. k_map: people who could be meant by each row, at least.
    delta_presence: between which two shares the probability of being in the table must be for everybody.

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

    @classmethod
    def read(
        cls,
        path: str | Path,
        like: TableSource,
        k_map: int | None = None,
        delta_presence: tuple[float, float] | None = None,
    ) -> "Population":
        """From a file with the columns of the quasi-identifiers of a table, read as that is. Raises InputError."""
        used = {name: a for name, a in like.attributes.items() if a.role is Role.QUASI_IDENTIFIER}
        for name, attribute in used.items():
            if attribute.is_fitted and attribute.population is None:
                raise InputError(
                    f"the levels of {name!r} are fitted to the table, so a population has others; give it a hierarchy or "
                    "intervals"
                )
        columns: Mapping[str, Attribute] = used
        source = replace(like, origin=Path(path), attributes=columns, person=None, one_row=None, rows_per_person="any")
        return cls(source.table(1), k_map, delta_presence)

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
        own = slice(len(classes))
        found = [] if self.k_map is None else [k_map(sizes[own], people[own], self.k_map)]
        if self.delta_presence is not None:
            low, high = (Fraction(str(bound)) for bound in self.delta_presence)
            found.append(delta_presence(sizes, people, (low, high)))
        return tuple(found)


def _by_labels(classes: ContingencyTable) -> dict[Labels, int]:
    """The count of each combination of labels, attributes in the order of texts."""
    names = sorted(classes.attributes)
    columns = []
    for name in names:
        labels = classes.domain.hierarchy(name).labels[classes.margin[name]]
        columns.append([labels[code] for code in classes.column(name, classes.margin[name]).tolist()])
    return dict(zip(zip(*columns) if columns else [()] * len(classes), classes.counts.tolist()))
