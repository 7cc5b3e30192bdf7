"""The claim of k-link anonymity: each class of a published table has at least k rows, or people (KG06 Def. 4.1)."""

from collections.abc import Collection as AnyCollection
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from checks.budget import FULL, Budget
from checks.claims.count_claim import CountClaim
from checks.classes.k_anonymity import k_link
from checks.combinatorial.sensitive_groups import SensitiveGroup
from checks.finding import Finding
from models.graphs.collection import Collection
from models.tables.domain import Domain, Mask


@dataclass(frozen=True)
class KLink(CountClaim):
    """Each class of a marginal has at least k rows, or people."""

    criterion: ClassVar[str] = "k-link"
    form: ClassVar[str] = "k-link=K"
    is_about_single_margins: ClassVar[bool] = True

    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:  # noqa: ARG002
        """The finding on a collection."""
        return replace(k_link(collection, sensitive, self.least_count), parameters=self.parameters)

    def parts(self, domain: Domain, cliques: AnyCollection[Mask], sensitive: Sequence[str]) -> list[SensitiveGroup]:  # noqa: ARG002
        """None: it is about each margin by itself."""
        return []

    def refuses_longer(self, level: int) -> bool:  # noqa: ARG002
        """A margin that fails it fails beside any others."""
        return True

    def joined_through(self, sensitive: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """None."""
        return ()

    def shows_smallest(self, finding: Finding) -> bool:  # noqa: ARG002
        """Every count is looked at."""
        return True

    def title(self) -> str:
        """What a reader calls it."""
        return f"k-link anonymity, k = {self.k}"

    def meaning(self, sensitive: Sequence[str]) -> str:
        """About one table at a time."""
        aside = f" ({' and '.join(sensitive)} set aside)" if sensitive else ""
        return f"Each class of a published table{aside} has at least {self.least_in_words}.{self.people_in_words}"
