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
from checks.diversity.relative.at_level import AtLevel
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.errors import CriterionError
from checks.finding import Finding, Verdict, WorstClass
from checks.maxent.sensitive_tree import SensitiveTree, sensitive_tree
from models.graphs.collection import Collection
from models.tables.domain import Domain, Mask


@dataclass(frozen=True)
class MaxentDiversity(Claim):
    """The maximum-entropy distribution given the marginals is diverse in one sensitive attribute.

    level: of the attribute's hierarchy, whose values are judged; the finest published ones where these are coarser.
    """

    diversity: Diversity
    sensitive: str
    level: int = 0
    criterion: ClassVar[str] = "maxent-diversity"
    form: ClassVar[str] = "diversity=CRITERION"

    def __post_init__(self) -> None:
        if isinstance(self.level, bool) or not isinstance(self.level, int) or self.level < 0:
            raise CriterionError(f"a diversity is judged at a level of at least 0, not {self.level!r}")
        if self.level and self.diversity.about_base_values:
            raise CriterionError(
                f"{self.diversity} is about base values, so it is demanded at level 0, not {self.level}"
            )

    @classmethod
    def from_json(cls, stated: Mapping[str, Any]) -> Self | None:
        """From the text of its `diversity`, the name of the `sensitive` attribute, and the `level` where it is not 0."""
        match stated:
            case {"diversity": str(diversity), "sensitive": str(sensitive)}:
                return cls(parse_diversity(diversity), sensitive, stated.get("level", 0))
        return None

    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""
        stated = {"criterion": self.criterion, "diversity": str(self.diversity), "sensitive": self.sensitive}
        return stated | ({"level": self.level} if self.level else {})

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
                from checks.maxent.maxent_diversity import maxent_diversity  # slow to import, and few need it

                found = maxent_diversity(collection, self.sensitive, diversity, budget)
            else:
                from checks.maxent.fitted_diversity import fitted_diversity  # slow to import, and few need it

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
        from checks.maxent.largest_odds import largest_odds  # slow to import, and few need it

        plain = _without_odds(self.diversity).among(tree.values)
        return replace(found, odds=largest_odds(tree, plain, SEARCHING.until(budget.deadline)))

    def at_odds(self, odds: Fraction) -> "MaxentDiversity":
        """With the odds beside the criterion, instead of those that it has."""
        return replace(self, diversity=AtOdds(_without_odds(self.diversity), odds))

    def at_level(self, level: int) -> "MaxentDiversity":
        """The same claim where the level it judges has another number."""
        return replace(self, level=level)

    def stated_on(self, collection: Collection) -> "MaxentDiversity":
        """With the labels of the values that it judges; the finest ones that the collection shows, or coarser ones.

        Raises CriterionError for a level that the attribute's hierarchy does not have below `*`.
        """
        hierarchy = collection.domain.hierarchy(self.sensitive)
        level = collection.finest_level(self.sensitive)
        if level == hierarchy.height:
            return self._stated_among(SensitiveValues(hierarchy, level, (collection.cube.total,)))
        rows = [0] * hierarchy.size(level)
        counted = collection.cube.table(collection.domain.mask({self.sensitive: level}))
        for code, count in zip(counted.column(self.sensitive, level).tolist(), counted.counts.tolist()):
            rows[code] += count
        values = SensitiveValues(hierarchy, level, tuple(rows))
        return self._stated_among(values.coarsened(max(level, self.level)))

    def _stated_among(self, values: SensitiveValues) -> "MaxentDiversity":
        return replace(self, diversity=self.diversity.stated_among(values))

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
        from checks.maxent.maxent_diversity import decided  # slow to import, and few need it

        return decided(tree, diversity.among(tree.values), budget)[1].verdict

    def refuses_longer(self, level: int) -> bool:
        """A failing part of a junction tree fails the whole: a table with the part's marginals can be glued to one with
        all of them, and the distributions of the part are means of those of the whole (KG06 Prop. 7.2). But what
        continues from the part may show finer sensitive values, and of these there can be enough where there were not of
        the coarse ones; unless the criterion judges base values whatever is shown, which finer ones only concentrate.
        """
        return level <= self.level or self.diversity.about_base_values

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
        whose = self.diversity if self.rows_per_person is None else of_people(self.diversity, self.rows_per_person)
        return AtLevel(whose, self.level) if whose is not None and self.level else whose

    def title(self) -> str:
        """What a reader calls it."""
        return f"Maximum-entropy diversity of {self.sensitive}{self._at_level}, {self.diversity}"

    @property
    def _at_level(self) -> str:
        return f" at level {self.level}" if self.level else ""

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
        return f"a distribution of {self.sensitive}{self._at_level} that is not {self.diversity}{people}"


def _without_odds(diversity: Diversity) -> Diversity:
    return diversity.plain if isinstance(diversity, AtOdds) else diversity
