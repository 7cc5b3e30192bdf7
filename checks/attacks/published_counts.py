"""The counts that a release publishes, as they are: how many are small, and which classes share a sensitive value.

Nobody needs to work anything out to read them, so whatever else is said of a release comes after them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checks.attacks.knowledge import CertainCell
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import ContingencyTable

USUAL_BOUND = 10
"""Counts below are called small where no claim says what is."""

_SHOWN = 3
"""Of the smallest counts as many are given."""


@dataclass(frozen=True)
class Counts:
    """Some published counts. number: that are not 0; small: of these; smallest: the first few, the smallest first."""

    number: int
    small: int
    smallest: tuple[CertainCell, ...]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        smallest = [
            {"values": dict(cell.values), "levels": dict(cell.levels), "rows": cell.rows} for cell in self.smallest
        ]
        return {"number": self.number, "small": self.small, "smallest": smallest}


@dataclass(frozen=True)
class SensitiveCounts:
    """The published counts of combinations that include a sensitive attribute.

    counts: these. classes: of the tables that show it. one_value: classes all of whose rows have the same value of it;
    rows: of the largest of them; shared: its labels with that value, None where there is none.
    """

    counts: Counts
    classes: int
    one_value: int
    rows: int
    shared: Mapping[str, str] | None

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        shared = None if self.shared is None else dict(self.shared)
        classes = {"number": self.classes, "one_value": self.one_value, "rows": self.rows, "shared": shared}
        return {**self.counts.as_json(), "classes": classes}


@dataclass(frozen=True)
class PublishedCounts:
    """All published counts, and those that include a sensitive attribute, by attribute. least: counts below are small."""

    least: int
    counts: Counts
    sensitive: Mapping[str, SensitiveCounts]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        by_attribute = {attribute: counts.as_json() for attribute, counts in self.sensitive.items()}
        return {"below": self.least, **self.counts.as_json(), "sensitive": by_attribute}


def published_counts(collection: Collection, sensitive: Sequence[str], least: int) -> PublishedCounts:
    """What the published tables show by themselves. least: counts below are small.

    A sensitive attribute that no table shows is left out.
    """
    tables = collection.tables
    showing = {a: [table for table in tables if a in table.margin] for a in sensitive}
    by_attribute = {a: _with(tables_with, a, least) for a, tables_with in showing.items() if tables_with}
    return PublishedCounts(least, _counts(tables, least), by_attribute)


def _counts(tables: Sequence[ContingencyTable], least: int) -> Counts:
    number = sum(len(table) for table in tables)
    small = sum(int(np.count_nonzero(table.counts < least)) for table in tables)
    first = [
        (int(table.counts[cell]), place, int(cell))
        for place, table in enumerate(tables)
        for cell in np.argsort(table.counts, kind="stable")[:_SHOWN]
    ]
    smallest = (
        CertainCell(tables[place].labels(cell), dict(tables[place].margin), rows)
        for rows, place, cell in sorted(first)[:_SHOWN]
    )
    return Counts(number, small, tuple(smallest))


def _with(tables: Sequence[ContingencyTable], sensitive: str, least: int) -> SensitiveCounts:
    classes = one_value = rows = 0
    shared = None
    for table in tables:
        by_class = table.rolled_up({name: level for name, level in table.margin.items() if name != sensitive})
        class_of = table.positions_in(by_class)
        is_alone = np.bincount(class_of)[class_of] == 1
        classes += len(by_class)
        one_value += int(np.count_nonzero(is_alone))
        if is_alone.any():
            largest = int(np.lexsort((class_of, np.where(is_alone, -table.counts, 0)))[0])
            if table.counts[largest] > rows:
                rows, shared = int(table.counts[largest]), table.labels(largest)
    return SensitiveCounts(_counts(tables, least), classes, one_value, rows, shared)
