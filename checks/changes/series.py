"""A series of releases of a table that changes: whether what all of them tell gives away who came and who left.

Let T_1, T_2, ... be the tables, each published on margins that the *envelope* E of the series shows: one collection, with
E as the most that anybody knows of any of them. Of the people, those who are in the same tables of the series form a group.
Replace one group by any other with the same margins on E: every table keeps its margins on E, so every release stays as
it is. So nothing can be proven of a group that its own margins on E do not prove, whatever readers know or suspect of who
stays: that nobody leaves, that few change, that a release is of a part of another's people. Judging who came on the
margins of the later release and who left on those of the earlier one is not enough for that. Readers who know that ten
people came, and of what kind, subtract them, and have two collections of all the others; these can close a circle.

Between two tables T_i and T_j of the series let J be the people who came and L those who left, cell by cell: no base cell
is in both. Each is judged as a table that is published on E. Every count must be 0 or at least k, sensitive values counted
too; with a junction tree, k rows of J then fit into every base cell x that J has rows in (`checks.combinatorial.min_cell`),
and since L has none there, T_i and T_j with J replaced fit both releases and have k people more in x than before. So of no
set of cells is it certain that 1 to k - 1 people came, or left. And J and L must satisfy the diversity that is claimed.
The differences of T_i and T_j on E must be 0 or at least k besides, since readers compute them, and take them for people.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from checks.budget import FULL, Budget
from checks.changes.batch import Change
from checks.changes.difference import difference
from checks.claims.maxent_diversity import MaxentDiversity
from checks.claims.min_cell import MinCell
from checks.finding import Finding
from models.graphs.collection import Collection
from models.tables.contingency_table import ContingencyTable, equal_cells
from models.tables.data_cube import DataCube
from models.tables.domain import Mask


@dataclass(frozen=True)
class Envelope:
    """What is known at most of each table of a series, and what must hold of the people by whom two of them differ.

    masks: the maximal margins. diversities: of the people who came or left, as the releases claim it. k: how many people, at
    least. rows_per_person: at most so many rows are of one person; None where rows are counted.
    """

    masks: tuple[Mask, ...]
    k: int
    diversities: tuple[MaxentDiversity, ...] = ()
    rows_per_person: int | None = None

    @property
    def least(self) -> MinCell:
        """The claim that every count of people who came or left is 0 or at least k."""
        return MinCell(self.k, rows_per_person=self.rows_per_person)

    def collection(self, table: ContingencyTable) -> Collection:
        """The margins of a table."""
        return Collection.of(DataCube([table]), self.masks)

    def findings(self, earlier: ContingencyTable, later: ContingencyTable, budget: Budget = FULL) -> Iterator[Finding]:
        """What holds of who came between two tables, of who left, and of their differences; all must, to be safe.

        Nothing is said of people where nobody came, or left.
        """
        change = Change.between(earlier, later)
        for who, people in (("joiners", change.joiners), ("leavers", change.leavers)):
            if people.total:
                collection = self.collection(people)
                for claim in (self.least, *self.diversities):
                    found = claim.check(collection, (), budget)
                    yield replace(found, parameters={"of": who, **found.parameters})
        yield difference(self.collection(earlier), self.collection(later), self.least.least_count)


def distinct_tables(tables: tuple[ContingencyTable, ...]) -> tuple[ContingencyTable, ...]:
    """The tables without those that repeat an earlier one."""
    kept: list[ContingencyTable] = []
    for table in tables:
        if not any(len(table) == len(one) and equal_cells([one, table]) for one in kept):
            kept.append(table)
    return tuple(kept)
