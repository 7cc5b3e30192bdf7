"""A series of releases of a table that changes: whether what all of them tell gives away who came and who left.

Let T_1, T_2, ... be the tables, each published on margins that the *envelope* E of the series shows: one collection, with
E as the most that anybody knows of any of them. Of the people, those who are in the same tables of the series form a group.
Replace one group by any other with the same margins on E: every table keeps its margins on E, so every release stays as
it is. So nothing can be proven of a group that its own margins on E do not prove, whatever readers know or suspect of who
stays: that nobody leaves, that few change. Judging who came on the margins of the later release and who left on those of
the earlier one is not enough for that. Readers who know that ten people came, and of what kind, subtract them, and have two
collections of all the others; these can close a circle.

Between two tables T_i and T_j of the series let J be the people who came and L those who left, cell by cell: no base cell
is in both. Each is judged as a table that is published on E. Every count must be 0 or at least k, sensitive values counted
too; with a junction tree, k rows of J then fit into every base cell x that J has rows in (`checks.combinatorial.min_cell`),
and since L has none there, T_i and T_j with J replaced fit both releases and have k people more in x than before. So of no
set of cells is it certain that 1 to k - 1 people came, or left. And J and L must satisfy the diversity that is claimed.
The differences of T_i and T_j on E must be 0 or at least k besides: readers compute them, and may take them for people.

That last condition has no part in the proof. A difference of 1 on E means that at least k came there and at least k left,
and it misleads only readers who believe, wrongly, that nobody left, or came. Where it is given that readers know that people
come and go, *turnover*, it is dropped. Without further knowledge the tables that fit one release do not depend on those that
fit another, so that of three and more releases the same follows for whoever is in some of their tables and not in others:
in x the count of each of the former exceeds the largest of the latter, T_j, so each can exceed T_j by k at once. Who knows
those who left is not helped with those who came, and the reverse. True knowledge of J itself can help, with that condition
and without: that nobody came to some base cells, say. That none came to a published cell is known anyway.

Pairs are judged, not groups, and a group of three or more tables can be smaller than k. Who knows how the tables hang
together can single one out: with two releases of everybody and two of a known part of them, who came outside of the part is
the difference of two differences, each of them k or more. So a series is of one population, not of it and its parts.

There is one way to publish a part beside them: as a release of everybody of which only some cells are shown. Where each
margin shows the attributes by which the part is told from the rest, at levels that separate it (age >= 20 by ages in tens,
age >= 21 by single years alone), the cells of the part are cells of these margins. So if the series allows everybody to be
published on them, the part may be: what is shown is computed from what was allowed, and nothing is certain by it that would
not be certain by the whole. The series must count the release as one of everybody, with all cells, also those that are not
shown: judged by what was shown alone it would again be pairs of a whole and a part.
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
    least. rows_per_person: at most so many rows are of one person; None where rows are counted. turnover_known: whether it
    is given that readers know that people come and go, so that differences of who came and who left may be small.
    """

    masks: tuple[Mask, ...]
    k: int
    diversities: tuple[MaxentDiversity, ...] = ()
    rows_per_person: int | None = None
    turnover_known: bool = False

    @property
    def least(self) -> MinCell:
        """The claim that every count of people who came or left is 0 or at least k."""
        return MinCell(self.k, rows_per_person=self.rows_per_person)

    def collection(self, table: ContingencyTable) -> Collection:
        """The margins of a table."""
        return Collection.of(DataCube([table]), self.masks)

    def findings(self, earlier: ContingencyTable, later: ContingencyTable, budget: Budget = FULL) -> Iterator[Finding]:
        """What holds of who came between two tables, of who left, and of their differences; all must, to be safe.

        Where turnover is known every difference may be 1 or more. Nothing is said of people where nobody came, or left.
        """
        change = Change.between(earlier, later)
        for who, people in (("joiners", change.joiners), ("leavers", change.leavers)):
            if people.total:
                collection = self.collection(people)
                for claim in (self.least, *self.diversities):
                    found = claim.check(collection, (), budget)
                    yield replace(found, parameters={"of": who, **found.parameters})
        least = 1 if self.turnover_known else self.least.least_count
        yield difference(self.collection(earlier), self.collection(later), least)


def distinct_tables(tables: tuple[ContingencyTable, ...]) -> tuple[ContingencyTable, ...]:
    """The tables without those that repeat an earlier one."""
    kept: list[ContingencyTable] = []
    for table in tables:
        if not any(len(table) == len(one) and equal_cells([one, table]) for one in kept):
            kept.append(table)
    return tuple(kept)
