"""The population of a single table, and demands on a sample of it."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from checks.claims import MOST_ROWS
from checks.finding import Finding
from checks.population import delta_presence, k_map
from marginals.errors import InputError
from marginals.keys import Key, Settings, check_settings, is_number, is_whole, setting
from marginals.tables.attribute import Role
from marginals.tables.source import TableSource
from marginals.tables.table import Table
from models.arrays import CountArray
from models.frozen import frozen
from models.tables.contingency_table import ContingencyTable


def _are_shares(pair: object) -> bool:
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(map(is_number, pair)):
        return pair is None
    return bool(0 <= pair[0] <= pair[1] <= 1)


K_MAP = Key(lambda k: k is None or (is_whole(k) and 1 <= k <= MOST_ROWS), "be a whole number of at least 1")
SHARES = Key(_are_shares, "be two shares from 0 to 1, the lower first, such as [0.1, 0.5]")


@frozen
class Population(Settings):
    """A population, one row a person, and demands on a sample of it.

    people: a table with the quasi-identifiers of the sample as attributes. k_map: people who may belong to each row, at
    least. delta_presence: the least and the largest probability of being in the sample, for everybody.

    >>> import marginals
    >>> from marginals.example import table
    >>> everybody = Population(table, k_map=4, delta_presence=(0.0, 0.5))  # all of them are in the table
    >>> assessed = marginals.recoding.assess(table, marginals.Policy(), {"age": 2}, everybody)
    >>> [(check.criterion, check.holds) for check in assessed.checks]
    [('k-map', True), ('delta-presence', False)]
    """

    section: ClassVar = "population"

    people: Table = setting(None, Key(lambda t: isinstance(t, Table), "be what marginals.read_table(...) returns"))
    k_map: int | None = setting(None, K_MAP)
    delta_presence: tuple[float, float] | None = setting(None, SHARES)

    def __post_init__(self) -> None:
        check_settings(self)

    @classmethod
    def read(cls, path: str | Path, like: TableSource, **demands: Any) -> "Population":
        """Read a file with the quasi-identifiers of a table as its columns. Raises InputError.

        demands: k_map and delta_presence.
        """
        used = {name: a for name, a in like.attributes.items() if a.role is Role.QUASI_IDENTIFIER}
        for name, attribute in used.items():
            if attribute.is_fitted:
                raise InputError(
                    f"the levels of {name!r} are fitted to the table, so a population has others; give it a hierarchy or "
                    "intervals"
                )
        bases = {name: attribute for name, attribute in used.items() if not attribute.level_of}
        source = replace(like, origin=Path(path), attributes=bases, person=None, one_row=None, impossible=())
        source = replace(source, rows_per_person="any")
        described = like.with_levels(source).attributes
        return cls(replace(source, attributes={name: described[name] for name in bases}).table(1), **demands)

    def sizes(self, classes: ContingencyTable) -> tuple[CountArray, CountArray]:
        """Rows and people of each combination in the classes of a table or in the population, classes first.

        Raises InputError for an attribute that the population lacks, or a level that its hierarchy does not have or gives
        to other values.
        """
        for name, level in classes.margin.items():
            if name not in self.people.domain.attributes:
                raise InputError(f"the population has no column {name!r}, which is a quasi-identifier of the table")
            if self.people.domain.hierarchy(name).height < level:
                raise InputError(f"the hierarchy of {name!r} has no level {level} in the population")
            hierarchies = (domain.hierarchy(name) for domain in (classes.domain, self.people.domain))
            sample, others = (dict(zip(h.labels[0], np.array(h.labels[level])[h.lift(0, level)])) for h in hierarchies)
            if any(others.get(value, label) != label for value, label in sample.items()):
                raise InputError(f"the hierarchies of {name!r} differ: the population puts a value under another label")
        everybody = self.people.base_counts.rolled_up(dict(classes.margin))
        rows, people = _by_labels(classes), _by_labels(everybody)
        numbers = [(rows.get(key, 0), people.get(key, 0)) for key in rows | people]
        sizes, persons = np.array(numbers, dtype=np.int64).reshape(-1, 2).T
        return sizes, persons

    def findings(self, classes: ContingencyTable) -> tuple[Finding, ...]:
        """Judge the classes of a table by the demands."""
        sizes, people = self.sizes(classes)
        span = slice(len(classes))
        result = [] if self.k_map is None else [k_map(sizes[span], people[span], self.k_map)]
        if self.delta_presence is not None:
            low, high = (Fraction(str(bound)) for bound in self.delta_presence)
            result.append(delta_presence(sizes, people, (low, high)))
        return tuple(result)


def _by_labels(classes: ContingencyTable) -> dict[tuple[str, ...], int]:
    names = sorted(classes.attributes)
    columns = []
    for name in names:
        labels = classes.domain.hierarchy(name).labels[classes.margin[name]]
        columns.append([labels[code] for code in classes.column(name, classes.margin[name]).tolist()])
    return dict(zip(zip(*columns) if columns else [()] * len(classes), classes.counts.tolist()))
