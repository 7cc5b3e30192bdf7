"""The claim of k-combinatorial anonymity, which is about all tables together (KG06 Def. 4.2)."""

from collections.abc import Collection as AnyCollection
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from checks.budget import FULL, Budget
from checks.claims.count_claim import CountClaim
from checks.combinatorial.sensitive_groups import GroupTree, SensitiveGroup, sensitive_groups
from checks.finding import Finding, Verdict
from checks.maxent.sensitive_tree import SensitiveTree
from models.graphs.collection import Collection
from models.tables.domain import Domain, Mask


@dataclass(frozen=True)
class KCombinatorial(CountClaim):
    """Every combination of nonsensitive values that the marginals leave possible could be shared by at least k rows.

    With `rows_per_person`, by at least k people.
    """

    criterion: ClassVar[str] = "k-combinatorial"
    form: ClassVar[str] = "k-combinatorial=K"

    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:
        """The finding on a collection."""
        from checks.combinatorial.k_combinatorial import k_combinatorial  # slow to import, and few need it

        return replace(k_combinatorial(collection, sensitive, self.least_count, budget), parameters=self.parameters)

    def parts(self, domain: Domain, cliques: AnyCollection[Mask], sensitive: Sequence[str]) -> list[SensitiveGroup]:
        """Attributes that cliques show together; where every class has k rows, one clique cannot break it."""
        return [group for group in sensitive_groups(domain, cliques, sensitive) if len(group.cliques) > 1]

    def on_tree(self, tree: SensitiveTree | GroupTree, budget: Budget) -> Verdict:
        """As of the whole: each part decides by itself."""
        from checks.combinatorial.k_combinatorial import of_part  # slow to import, and few need it

        return of_part(tree, self.least_count, budget).verdict

    def refuses_longer(self, level: int) -> bool:  # noqa: ARG002
        """More margins leave no more room."""
        return True

    def shows_smallest(self, finding: Finding) -> bool:
        """Where it holds and no note says otherwise; where it fails, any cell below k may be shown."""
        return finding.holds and not finding.note

    def title(self) -> str:
        """What a reader calls it."""
        return f"k-combinatorial anonymity, k = {self.k}"

    def meaning(self, sensitive: Sequence[str]) -> str:  # noqa: ARG002
        """About all tables together."""
        return (
            "Every combination of nonsensitive values that the tables together leave possible could be shared by at least "
            f"{self.least_in_words}.{self.people_in_words}"
        )
