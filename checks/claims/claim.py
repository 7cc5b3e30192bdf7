"""What a claim is: a sentence of a release about its privacy that anybody can check on the published marginals."""

from abc import ABC, abstractmethod
from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from checks.budget import FULL, Budget
from checks.combinatorial.sensitive_groups import GroupTree, SensitiveGroup
from checks.diversity.criterion import Diversity
from checks.finding import Algorithm, Finding, Verdict, WorstClass
from checks.maxent.sensitive_tree import SensitiveTree
from models.errors import TimeOverError
from models.graphs.collection import Collection
from models.tables.domain import Domain, Mask


@dataclass(frozen=True)
class Claim(ABC):
    """Something that a release claims of its marginals.

    rows_per_person: how many rows a person has at most, so that the claim is about people; None where it is about rows.
    The release says so once for all its claims. A new claim is a frozen dataclass with this base in a file of its own, and
    a line in `checks.claims.registry`. What has an answer here is right for every claim, if slower to check than need be.
    """

    rows_per_person: int | None = field(default=None, kw_only=True, repr=False)

    criterion: ClassVar[str]
    """Its name in a bundle."""

    form: ClassVar[str]
    """How somebody asks for it in text: a name, `=`, and what stands behind it, for instance `k-link=K`."""

    is_about_single_margins: ClassVar[bool] = False
    """Whether it holds of margins together as soon as it holds of each by itself."""

    @classmethod
    @abstractmethod
    def from_json(cls, stated: Mapping[str, Any]) -> Self | None:
        """The claim that a bundle states under this name; None where it does not say what it must."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""

    @classmethod
    @abstractmethod
    def from_text(cls, text: str, sensitive: Sequence[str]) -> Sequence[Self] | None:
        """The claims that the text behind `=` stands for, on a release with these sensitive attributes.

        None where the text is not of the form. Raises CriterionError for what makes no sense, or none of such a release.
        """

    @abstractmethod
    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:
        """The finding on a collection. May raise TimeOverError when the budget's deadline comes."""

    def finding(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:
        """As `check`; undecided where the budget's deadline comes before."""
        try:
            return self.check(collection, sensitive, budget)
        except TimeOverError as over:
            return self.undecided(str(over))

    def undecided(self, note: str) -> Finding:
        """The finding where nothing could be said of it. note: why."""
        return Finding(self.criterion, Verdict.UNDECIDED, self.parameters, None, (Algorithm.NONE,), 0, note)

    def counting(self, rows_per_person: int | None) -> Self:
        """The same claim about people with at most so many rows each; about rows for None."""
        return replace(self, rows_per_person=rows_per_person)

    def at_odds(self, odds: Fraction) -> "Claim | None":  # noqa: ARG002
        """The same claim against attackers with evidence of such odds; None where that says nothing of it.

        Raises CriterionError for odds below 1.
        """
        return None

    def stated_on(self, collection: Collection) -> "Claim":  # noqa: ARG002
        """The same claim by no labels but those that a collection shows, as a release of it states it."""
        return self

    @property
    def parameters(self) -> dict[str, Any]:
        """What is demanded, as a finding states it."""
        stated = {name: value for name, value in self.as_json().items() if name != "criterion"}
        return stated | ({} if self.rows_per_person is None else {"rows_per_person": self.rows_per_person})

    def parts(self, domain: Domain, cliques: AnyCollection[Mask], sensitive: Sequence[str]) -> list[SensitiveGroup]:  # noqa: ARG002
        """The cliques that can break it together where none does by itself, apart where they cannot break it jointly.

        cliques: those of a junction tree that show a sensitive attribute.
        """
        return [SensitiveGroup(tuple(sensitive), tuple(cliques))]

    def on_tree(self, tree: SensitiveTree | GroupTree, budget: Budget) -> Verdict | None:  # noqa: ARG002
        """The verdict on one of its parts, each clique of which is allowed by itself; None where only `check` can say."""
        return None

    def refuses_longer(self, level: int) -> bool:  # noqa: ARG002
        """Whether margins that fail it fail with all that continues their junction tree too.

        level: the finest at which they show the attribute that the claim is about.
        """
        return False

    def joined_through(self, sensitive: Sequence[str]) -> Sequence[str]:
        """The sensitive attributes through which several margins can break it together where none does by itself."""
        return sensitive

    @property
    def least_count(self) -> int | None:
        """The rows that every class of a margin must have, sensitive attributes set aside; None where it demands none."""
        return None

    @property
    def least_cell(self) -> int | None:
        """The rows that every cell of a margin must have, sensitive attributes counted; None where it demands none."""
        return None

    @property
    def about(self) -> str | None:
        """The sensitive attribute that it is about; None where it is about none in particular."""
        return None

    @property
    def level(self) -> int:
        """Of the attribute it is about, the level whose values it judges; 0 for the finest published ones."""
        return 0

    def at_level(self, level: int) -> "Claim":  # noqa: ARG002
        """The same claim where the level it judges has another number."""
        return self

    @property
    def class_diversity(self) -> Diversity | None:
        """What it demands of every class of a margin that shows the attribute it is about; None where nothing."""
        return None

    def shows_smallest(self, finding: Finding) -> bool:  # noqa: ARG002
        """Whether the count of the worst cell of a finding is the smallest that there is."""
        return False

    @abstractmethod
    def title(self) -> str:
        """What a reader calls it."""

    @abstractmethod
    def meaning(self, sensitive: Sequence[str]) -> str:
        """What it says, as a sentence. sensitive: the attributes that are set aside."""

    def meaning_unpublished(self) -> str:
        """What it says of a release that does not show the attribute it is about, as a sentence."""
        return f"No table shows {self.about or 'it'}, so nobody learns anything about it here, whatever is demanded."

    def reached_in_words(self, worst: WorstClass) -> str:  # noqa: ARG002
        """What the worst class of a finding reaches, beside what is claimed; empty where there is nothing to say."""
        return ""

    @abstractmethod
    def reason(self) -> str:
        """What a class has that breaks it: "fewer than 5 rows"."""
