"""The claim of k-combinatorial anonymity, which is about all tables together (KG06 Def. 4.2)."""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from checks.budget import FULL, Budget
from checks.claims.claim import Claim, check_k, counted_in_words, k_from_text, people_in_words, rows_in_words
from checks.combinatorial.k_combinatorial import k_combinatorial, of_tree
from checks.finding import Finding, Verdict, WorstClass
from checks.maxent.sensitive_tree import SensitiveTree
from models.graphs.collection import Collection


@dataclass(frozen=True)
class KCombinatorial(Claim):
    """Every combination of nonsensitive values that the marginals leave possible could be shared by at least k rows.

    With `rows_per_person`, by at least k people.
    """

    k: int
    criterion: ClassVar[str] = "k-combinatorial"
    form: ClassVar[str] = "k-combinatorial=K"

    def __post_init__(self) -> None:
        check_k(self.criterion, self.k)

    @classmethod
    def from_json(cls, stated: Mapping[str, Any]) -> Self | None:
        """From its `k`."""
        return cls(stated["k"]) if "k" in stated else None

    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""
        return {"criterion": self.criterion, "k": self.k}

    @classmethod
    def from_text(cls, text: str, sensitive: Sequence[str]) -> list[Self] | None:  # noqa: ARG003
        """From `k`."""
        k = k_from_text(text)
        return None if k is None else [cls(k)]

    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:
        """The finding on a collection."""
        return replace(k_combinatorial(collection, sensitive, self.least_count, budget), parameters=self.parameters)

    def on_tree(self, tree: SensitiveTree, budget: Budget) -> Verdict:
        """Where every class has k rows, one clique cannot break it."""
        return Verdict.HOLDS if len(tree.classes) == 1 else of_tree(tree, self.least_count, budget).verdict

    def refuses_longer(self, level: int) -> bool:  # noqa: ARG002
        """More margins leave no more room."""
        return True

    @property
    def least_count(self) -> int:
        """As of k-link, since a class is a combination that its margin leaves possible."""
        return self.k * (self.rows_per_person or 1)

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
            f"{counted_in_words(self.k, self.rows_per_person)}.{people_in_words(self.rows_per_person)}"
        )

    def reached_in_words(self, worst: WorstClass) -> str:
        """The most rows that the worst combination can have."""
        return rows_in_words(worst, self.k, self.rows_per_person)

    def reason(self) -> str:
        """Too few rows."""
        return f"fewer than {self.least_count} rows"
