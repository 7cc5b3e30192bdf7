"""The claim of a least count in every cell, sensitive values counted, as agencies demand it."""

from collections.abc import Collection as AnyCollection
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from checks.budget import FULL, Budget
from checks.claims.count_claim import CountClaim
from checks.combinatorial.min_cell import min_cell
from checks.combinatorial.sensitive_groups import SensitiveGroup
from checks.finding import Finding
from models.graphs.collection import Collection
from models.tables.domain import Domain, Mask


@dataclass(frozen=True)
class MinCell(CountClaim):
    """No count from 1 to k - 1 is published, and the marginals together bound none to be at most that without being 0.

    With `rows_per_person`, no count of people: so many rows are needed in every cell that they are those of k people, who
    can then be k at least in whatever set of cells somebody works out.
    """

    criterion: ClassVar[str] = "min-cell"
    form: ClassVar[str] = "min-cell=K"

    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:  # noqa: ARG002
        """The finding on a collection."""
        return replace(min_cell(collection, self.least_count, budget), parameters=self.parameters)

    def parts(self, domain: Domain, cliques: AnyCollection[Mask], sensitive: Sequence[str]) -> list[SensitiveGroup]:  # noqa: ARG002
        """None: with a junction tree it is about each margin by itself."""
        return []

    def refuses_longer(self, level: int) -> bool:  # noqa: ARG002
        """More margins leave no more room."""
        return True

    def joined_through(self, sensitive: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """None, with a junction tree."""
        return ()

    @property
    def least_cell(self) -> int:
        """As every class of a margin: a class is a union of cells."""
        return self.least_count

    def shows_smallest(self, finding: Finding) -> bool:
        """Where it holds every published count was looked at; where it fails, any cell below k may be shown."""
        return finding.holds

    def title(self) -> str:
        """What a reader calls it."""
        return f"Least count of a cell, {self.k:,}"

    def meaning(self, sensitive: Sequence[str]) -> str:
        """About every cell, and what follows from all of them."""
        if self.k == 1:
            return "Any count may be published."
        counted = f", {' and '.join(sensitive)} counted like the others" if sensitive else ""
        whose = "" if self.rows_per_person is None else " of people"
        none = f"No count{whose} from 1 to {self.k - 1:,}" if self.k > 2 else f"No count{whose} of {self.k - 1:,}"
        return (
            f"{none} is published{counted}, and none can be worked out from the tables by differences or otherwise: each "
            f"combination of values that they together leave possible could be shared by at least {self.least_in_words}."
            f"{self.people_in_words}"
        )
