"""Tables about people, one row a person: what attackers hold, public records, and weights of each person's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from checks.risk.dictionary import Dictionary
from checks.risk.record import Records, RecordSpace
from marginals.errors import InputError
from marginals.tables.attribute import Role
from marginals.tables.rows import Rows
from marginals.tables.sources.pandas_frame import factorized
from models.arrays import IndexArray
from models.tables.hierarchy import SUPPRESSED
from models.tables.taxonomy import Taxonomy

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class PeopleTable:
    """A named table with one row a person.

    identifier: its column that names people, None where there is none. missing: texts that stand for no value.
    is_row_by_row: whether its rows are about the people of the disclosed table, in the same order.
    """

    name: str
    frame: "pd.DataFrame"
    identifier: str | None = None
    missing: frozenset[str] = frozenset({""})
    is_row_by_row: bool = False

    @classmethod
    def of_rows(cls, rows: Rows) -> "PeopleTable":
        """All columns of the table that is disclosed."""
        identifier = next((name for name, role in rows.roles.items() if role is Role.IDENTIFIER), None)
        return cls("the table", rows.frame, identifier, rows.no_value, is_row_by_row=True)

    @classmethod
    def of_quasi_identifiers(cls, rows: Rows) -> "PeopleTable":
        """What somebody knows who knows the quasi-identifiers of everybody in the table that is disclosed."""
        columns = [name for name, role in rows.roles.items() if role in (Role.QUASI_IDENTIFIER, Role.IDENTIFIER)]
        whole = cls.of_rows(rows)
        return cls("the table's quasi-identifiers", rows.frame[columns], whole.identifier, rows.no_value, True)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def shared_columns(self, attributes: Sequence[str]) -> tuple[str, ...]:
        """Those of some attributes that it has a column for."""
        return tuple(name for name in attributes if name in self.frame.columns)

    def values(self, column: str) -> tuple[str, ...]:
        """The different values of a column; none where there is no such column."""
        if column not in self.frame.columns:
            return ()
        return tuple(factorized(self.frame[column], {*self.missing, SUPPRESSED})[1])

    def records(self, space: RecordSpace) -> Records:
        """Its rows as records. A label may be of any level; where several levels have it, the lowest is meant.

        Missing values are suppressed, and so are attributes that the table has no column for. Raises InputError for a
        label that no level has, naming the column and the row (from 1), never the value.
        """
        nodes = np.tile(space.roots, (len(self), 1))
        for axis, (attribute, taxonomy) in enumerate(zip(space.domain.attributes, space.taxonomies)):
            if attribute in self.frame.columns:
                codes, labels = factorized(self.frame[attribute], {*self.missing, SUPPRESSED})
                column = np.append(_nodes(taxonomy, labels), taxonomy.root)[codes]
                if np.any(column < 0):
                    row = int(np.argmax(column < 0)) + 1
                    raise InputError(
                        f"column {attribute!r} of {self.name}: the value in row {row} is in no level of its hierarchy"
                    )
                nodes[:, axis] = column
        return Records(space, nodes)

    def dictionary(self, space: RecordSpace) -> Dictionary:
        """Its rows as entries of a dictionary. Raises InputError as `records` does."""
        return Dictionary(self.records(space))

    def rows_about(self, people: "PeopleTable") -> IndexArray:
        """For each row of another table the row here that is about the same person, -1 for none: shape (len(people),).

        People are matched by identifier, or by their order where both tables are row by row. Raises InputError where
        the other table has no column of identifiers, this one lacks it, or one of them names a person twice.
        """
        import pandas as pd

        if self.is_row_by_row and people.is_row_by_row:
            return np.arange(len(people))
        if people.identifier is None:
            raise InputError(f"{people.name} has no column that identifies people")
        sought = people._identifiers(people.identifier)
        return np.asarray(pd.Index(self._identifiers(people.identifier)).get_indexer(pd.Index(sought)))

    def _identifiers(self, column: str) -> NDArray[np.object_]:
        """The identifier in each row: shape (rows,)."""
        if column not in self.frame.columns:
            raise InputError(f"{self.name} has no column {column!r}, which identifies people")
        codes, labels = factorized(self.frame[column], set())
        if np.any(codes < 0) or len(labels) < len(codes):
            raise InputError(f"the column {column!r} of {self.name} must name each person once")
        return np.array(labels, dtype=object)[codes]


def _nodes(taxonomy: Taxonomy, labels: Sequence[str]) -> IndexArray:
    """The lowest node of each label, -1 where there is none: shape (labels,)."""
    # Read from the top down, so that the lowest of equal labels stays.
    node_of = {label: node for node, label in reversed(list(enumerate(taxonomy.labels)))}
    return np.array([node_of.get(label, -1) for label in labels], dtype=np.intp)
