"""The claim of k-link anonymity: each class of a published table has at least k rows (KG06 Def. 4.1)."""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from checks.budget import FULL, Budget
from checks.claims.claim import Claim, check_k, k_from_text, rows_in_words
from checks.classes.k_anonymity import k_link
from checks.finding import Finding, Verdict, WorstClass
from checks.maxent.sensitive_tree import SensitiveTree
from models.graphs.collection import Collection


@dataclass(frozen=True)
class KLink(Claim):
    """Each class of a marginal has at least k rows."""

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
        return k_link(collection, sensitive, self.k)

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
        """K."""
        return self.k

    def shows_smallest(self, finding: Finding) -> bool:  # noqa: ARG002
        """Every count is looked at."""
        return True

    def title(self) -> str:
        """What a reader calls it."""
        return f"k-link anonymity, k = {self.k}"

    def meaning(self, sensitive: Sequence[str]) -> str:
        """About one table at a time."""
        aside = f" ({' and '.join(sensitive)} set aside)" if sensitive else ""
        return f"Each class of a published table{aside} has at least {self.k:,} {'row' if self.k == 1 else 'rows'}."

    def reached_in_words(self, worst: WorstClass) -> str:
        """The rows of the smallest class."""
        return rows_in_words(worst, self.k)

    def reason(self) -> str:
        """Too few rows."""
        return f"fewer than {self.k} rows"
