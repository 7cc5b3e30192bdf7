"""The claim of maximum-entropy diversity in one sensitive attribute (KG06 Def. 4.3)."""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any, ClassVar, Self

from checks.budget import FULL, SEARCHING, Budget
from checks.claims.claim import Claim
from checks.combinatorial.sensitive_groups import GroupTree, SensitiveGroup
from checks.diversity.criterion import Diversity
from checks.diversity.odds.at_odds import AtOdds
from checks.diversity.of_people import of_people
from checks.diversity.registry import parse_diversity
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.errors import CriterionError
from checks.finding import Finding, Verdict, WorstClass
from checks.maxent.fitted_diversity import fitted_diversity
from checks.maxent.largest_odds import largest_odds
from checks.maxent.maxent_diversity import decided, maxent_diversity
from checks.maxent.sensitive_tree import SensitiveTree, sensitive_tree
from models.graphs.collection import Collection
from models.tables.domain import Domain, Mask


@dataclass(frozen=True)
class MaxentDiversity(Claim):
    """The maximum-entropy distribution given the marginals is diverse in one sensitive attribute."""

    diversity: Diversity
    sensitive: str
    criterion: ClassVar[str] = "maxent-diversity"
    form: ClassVar[str] = "diversity=CRITERION"

    @classmethod
    def from_json(cls, stated: Mapping[str, Any]) -> Self | None:
        """From the text of its `diversity` and the name of the `sensitive` attribute."""
        match stated:
            case {"diversity": str(diversity), "sensitive": str(sensitive)}:
                return cls(parse_diversity(diversity), sensitive)
        return None

    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""
        return {"criterion": self.criterion, "diversity": str(self.diversity), "sensitive": self.sensitive}

    @classmethod
    def from_text(cls, text: str, sensitive: Sequence[str]) -> list[Self]:
        """A claim for each sensitive attribute, from the text of a diversity."""
        if not sensitive:
            raise CriterionError("the release has no sensitive attribute whose diversity could be checked")
        return [cls(parse_diversity(text), attribute) for attribute in sensitive]

    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:  # noqa: ARG002
        """The finding on a collection; the other sensitive attributes count as nonsensitive here (MKGV07 Def. 4.6)."""
        if (diversity := self.class_diversity) is None:
            return self.undecided(
                f"whether people of up to {self.rows_per_person} rows each are {self.diversity} cannot be decided"
            )
        try:
            if collection.is_decomposable:
                found = maxent_diversity(collection, self.sensitive, diversity, budget)
            else:
                found = fitted_diversity(collection, self.sensitive, diversity, FULL.until(budget.deadline))
        except CriterionError as error:
            return self.undecided(f"{self.sensitive}: {error}")
        return replace(found, parameters=self.parameters)

    def finding(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:
        """With the largest odds that a collection with a junction tree bears, as far as a quick check proves them."""
        found = super().finding(collection, sensitive, budget)
        tree = sensitive_tree(collection, self.sensitive) if found.holds and collection.is_decomposable else None
        # What evidence says of somebody who has several rows in a class is another question.
        if tree is None or self.class_diversity is not self.diversity:
            return found
        plain = _without_odds(self.diversity).among(tree.values)
        return replace(found, odds=largest_odds(tree, plain, SEARCHING.until(budget.deadline)))

    def at_odds(self, odds: Fraction) -> "MaxentDiversity":
        """With the odds beside the criterion, instead of those that it has."""
        return replace(self, diversity=AtOdds(_without_odds(self.diversity), odds))

    def stated_on(self, collection: Collection) -> "MaxentDiversity":
        """With the labels of the values at the finest level of the attribute that the collection shows."""
        levels = [margin[self.sensitive] for margin in collection.margins if self.sensitive in margin]
        hierarchy = collection.domain.hierarchy(self.sensitive)
        level = min(levels, default=hierarchy.height)
        rows = [0] * hierarchy.size(level)
        counted = collection.cube.table(collection.domain.mask({self.sensitive: level}))
        for code, count in zip(counted.column(self.sensitive, level).tolist(), counted.counts.tolist()):
            rows[code] += count
        return replace(self, diversity=self.diversity.stated_among(SensitiveValues(hierarchy, level, tuple(rows))))

    def parts(self, domain: Domain, cliques: AnyCollection[Mask], sensitive: Sequence[str]) -> list[SensitiveGroup]:  # noqa: ARG002
        """The cliques with the attribute, as far as there are any: these decide it (KG06 Prop. 7.3)."""
        own = domain.attribute_masks[domain.index(self.sensitive)]
        showing = tuple(clique for clique in cliques if clique & own)
        return [SensitiveGroup((self.sensitive,), showing)] if showing else []

    def on_tree(self, tree: SensitiveTree | GroupTree, budget: Budget) -> Verdict | None:
        """That of all cliques with the attribute."""
        if not isinstance(tree, SensitiveTree):
            return None
        if (diversity := self.class_diversity) is None:
            return Verdict.UNDECIDED
        return decided(tree, diversity.among(tree.values), budget)[1].verdict

    def refuses_longer(self, level: int) -> bool:
        """A failing part of a junction tree fails the whole: a table with the part's marginals can be glued to one with
        all of them, and the distributions of the part are means of those of the whole (KG06 Prop. 7.2). But what
        continues from the part may show finer sensitive values, and of these there can be enough where there were not of
        the coarse ones; unless the criterion judges base values whatever is shown, which finer ones only concentrate.
        """
        return level == 0 or self.diversity.about_base_values

    def joined_through(self, sensitive: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """The attribute that it is about."""
        return (self.sensitive,)

    @property
    def about(self) -> str:
        """The attribute."""
        return self.sensitive

    @property
    def class_diversity(self) -> Diversity | None:
        """The criterion itself, or that of people: a single clique that fails it already decides (KG06 Prop. 7.2).

        None where it cannot be decided of people.
        """
        return self.diversity if self.rows_per_person is None else of_people(self.diversity, self.rows_per_person)

    def title(self) -> str:
        """What a reader calls it."""
        return f"Maximum-entropy diversity of {self.sensitive}, {self.diversity}"

    def meaning(self, sensitive: Sequence[str]) -> str:  # noqa: ARG002
        """About a reader of all tables together."""
        return (
            "For somebody who puts all tables together and assumes nothing else: whatever published values they know of a "
            f"person, {(self.class_diversity or self.diversity).meaning()}.{self._of_whom()}"
        )

    def _of_whom(self) -> str:
        """What is looked at of people who have several rows; empty where there is nothing to say."""
        if self.rows_per_person is None or self.rows_per_person == 1:
            return ""
        return (
            f" A person has at most {self.rows_per_person:,} rows, of which any one is looked at. It holds of one class at "
            "a time: somebody known to be in two classes by several rows, with a value that is the same in all, can be "
            "exposed by both."
        )

    def reached_in_words(self, worst: WorstClass) -> str:
        """What the criterion says of the worst class."""
        if worst.reached is None or not isfinite(worst.reached):
            return ""
        return self.diversity.reached_in_words(worst.reached)

    def reason(self) -> str:
        """The wrong distribution."""
        people = "" if self.rows_per_person is None else " of people"
        return f"a distribution of {self.sensitive} that is not {self.diversity}{people}"


def _without_odds(diversity: Diversity) -> Diversity:
    return diversity.plain if isinstance(diversity, AtOdds) else diversity
