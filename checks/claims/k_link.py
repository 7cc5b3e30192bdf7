"""The claim of k-link anonymity: each class of a published table has at least k rows, or people (KG06 Def. 4.1)."""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from checks.budget import FULL, Budget
from checks.claims.claim import Claim, check_k, counted_in_words, k_from_text, people_in_words, rows_in_words
from checks.classes.k_anonymity import k_link
from checks.finding import Finding, Verdict, WorstClass
from checks.maxent.sensitive_tree import SensitiveTree
from models.graphs.collection import Collection


@dataclass(frozen=True)
class KLink(Claim):
    """Each class of a marginal has at least k rows, or people."""

    k: int
    criterion: ClassVar[str] = "k-link"
    form: ClassVar[str] = "k-link=K"
    is_about_single_margins: ClassVar[bool] = True

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

    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:  # noqa: ARG002
        """The finding on a collection."""
        return replace(k_link(collection, sensitive, self.least_count), parameters=self.parameters)

    def on_tree(self, tree: SensitiveTree, budget: Budget) -> Verdict:  # noqa: ARG002
        """It is about each margin by itself."""
        return Verdict.HOLDS

    def refuses_longer(self, level: int) -> bool:  # noqa: ARG002
        """A margin that fails it fails beside any others."""
        return True

    def joined_through(self, sensitive: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """None."""
        return ()

    @property
    def least_count(self) -> int:
        """K rows, or those that k people have if each has as many as can be.

        Fewer can be enough for k people; then one of them can have more than 1/k of the rows of a class.
        """
        return self.k * (self.rows_per_person or 1)

    def shows_smallest(self, finding: Finding) -> bool:  # noqa: ARG002
        """Every count is looked at."""
        return True

    def title(self) -> str:
        """What a reader calls it."""
        return f"k-link anonymity, k = {self.k}"

    def meaning(self, sensitive: Sequence[str]) -> str:
        """About one table at a time."""
        aside = f" ({' and '.join(sensitive)} set aside)" if sensitive else ""
        least = counted_in_words(self.k, self.rows_per_person)
        return f"Each class of a published table{aside} has at least {least}.{people_in_words(self.rows_per_person)}"

    def reached_in_words(self, worst: WorstClass) -> str:
        """The rows of the smallest class."""
        return rows_in_words(worst, self.k, self.rows_per_person)

    def reason(self) -> str:
        """Too few rows."""
        return f"fewer than {self.least_count} rows"
