"""What somebody who holds releases of a table that changed concludes about the people who came and left in between."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from checks.changes.difference import UNSEEN
from checks.changes.people import ChangedPeople, changed_people
from marginals.bundle.together.changed_table import OneTable, TablePair, pairs_of_tables


@dataclass(frozen=True)
class TableChange:
    """Two tables and what their releases tell of the change, for each two releases that cannot be put together.

    least: of how many rows a difference is no longer small; None where no release claims a least count. unclear: attributes
    whose labels do not tell how the values of the releases overlap. assumption: why a small difference may prove nobody,
    as all releases state it; empty where one does not. parts: that they are of different parts of a table.
    """

    earlier: str
    later: str
    rows: tuple[int, int]
    least: int | None
    told: tuple[ChangedPeople, ...]
    unclear: tuple[str, ...] = ()
    beyond: str = UNSEEN
    assumption: str = ""
    parts: str = ""

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "earlier": self.earlier,
            "later": self.later,
            "rows": {"before": self.rows[0], "after": self.rows[1]},
            "least": self.least,
            "told": [each.as_json() for each in self.told],
            "unclear": list(self.unclear),
            "beyond": self.beyond,
        } | {key: said for key, said in (("assumption", self.assumption), ("parts", self.parts)) if said}


def table_changes(tables: Sequence[OneTable]) -> Iterator[TableChange]:
    """For each two tables, in their order, what their releases tell of those who came and left."""
    for pair in pairs_of_tables(tables):
        yield _change(pair)


def _change(pair: TablePair) -> TableChange:
    tables = (pair.earlier, pair.later)
    sensitive = list(dict.fromkeys(name for table in tables for _, own in table.bundles for name in own.sensitive))
    told = []
    unclear: dict[str, None] = {}
    for before, after, overlaps in pair.overlapping():
        told.append(changed_people(before, after, sensitive, pair.least_rows or 1, overlaps.pairs, pair.narrowed))
        unclear |= dict.fromkeys(overlaps.unclear)
    before_rows, after_rows = (table.collections[0].cube.total for table in tables)
    rows = before_rows, after_rows
    return TableChange(
        pair.earlier.name,
        pair.later.name,
        rows,
        pair.least_rows,
        tuple(told),
        tuple(unclear),
        assumption=pair.assumption,
        parts=pair.parts,
    )
