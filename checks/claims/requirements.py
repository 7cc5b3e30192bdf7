"""Privacy requirements: what a release must satisfy, as checks of a collection or as the constraint of a search."""

from collections.abc import Callable
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass

from checks.budget import SEARCHING
from checks.claims.claim import Claim, KCombinatorial, KLink, MaxentDiversity
from checks.classes.equivalence_classes import EquivalenceClasses
from checks.classes.k_anonymity import nonsensitive_part
from checks.combinatorial.k_combinatorial import of_tree
from checks.diversity.functional_diversity import Functional
from checks.diversity.l_diversity import Diversity, satisfies
from checks.errors import CriterionError
from checks.finding import Verdict
from checks.maxent.maxent_diversity import at_base_values, decided
from checks.maxent.sensitive_tree import SensitiveTree, class_source
from models.graphs.collection import Collection
from models.graphs.junction_tree import JunctionTree
from models.search.constraint import Refusal, RefusalScope
from models.tables.data_cube import DataCube
from models.tables.domain import Mask


@dataclass(frozen=True)
class Requirements:
    """k-link, k-combinatorial and maxent diversity, each optional; diversity holds for every sensitive attribute.

    Raises CriterionError for k below 1, or a diversity without a sensitive attribute.
    """

    sensitive: tuple[str, ...] = ()
    k_link: int | None = None
    k_combinatorial: int | None = None
    diversity: Diversity | None = None

    def __post_init__(self) -> None:
        for name, k in (("k_link", self.k_link), ("k_combinatorial", self.k_combinatorial)):
            if k is not None and k < 1:
                raise CriterionError(f"{name} must be at least 1, got {k}")
        if self.diversity is not None and not self.sensitive:
            raise CriterionError("a diversity needs an attribute whose role is sensitive")

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The requirements one by one, as a release claims them: k-link, k-combinatorial, diversity."""
        claims: list[Claim] = []
        if self.k_link is not None:
            claims.append(KLink(self.k_link))
        if self.k_combinatorial is not None:
            claims.append(KCombinatorial(self.k_combinatorial))
        if self.diversity is not None:
            claims += [MaxentDiversity(self.diversity, attribute) for attribute in self.sensitive]
        return tuple(claims)


class PrivacyConstraint:
    """Requirements as the constraint of a search over one cube.

    What a margin alone decides is decided first and remembered: k-link, and whether a clique is diverse on its own
    (KG06 Prop. 7.2). The rest depends on the cliques with a sensitive attribute only (Prop. 7.3) and is remembered for
    them. No check may do more than `SEARCHING` says; one that ends undecided refuses its collection alone.
    """

    def __init__(self, cube: DataCube, requirements: Requirements, max_sensitive_margins: int | None = None) -> None:
        self._cube = cube
        self._requirements = requirements
        self._max_sensitive_margins = max_sensitive_margins
        self._first_steps = {
            attribute: 1 << cube.domain.offsets[cube.domain.index(attribute)] for attribute in requirements.sensitive
        }
        self._base_values = {a: cube.domain.mask({a: 0}) for a in requirements.sensitive}
        self._classes: dict[str, Callable[[Mask], EquivalenceClasses]] = {
            attribute: class_source(cube.table, attribute) for attribute in requirements.sensitive
        }
        self._margins: dict[Mask, Refusal | None] = {}
        self._collections: dict[frozenset[Mask], Refusal | None] = {}

    @property
    def pivot(self) -> Mask:
        """The first step of the sensitive attribute; everything where there are several, whose margins may lie apart."""
        if len(self._first_steps) > 1:
            return sum(self._cube.domain.attribute_masks)
        return sum(self._first_steps.values())

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:
        """None when the collection with these cliques satisfies the requirements."""
        for clique in [new] if new else cliques:
            if refusal := self._margin_refusal(clique):
                return refusal
        sensitive = frozenset(c for c in cliques if any(step & c for step in self._first_steps.values()))
        if self._max_sensitive_margins is not None and len(sensitive) > self._max_sensitive_margins:
            limit = self._max_sensitive_margins
            return Refusal(f"more than {limit} margins with a sensitive attribute", RefusalScope.LONGER)
        if sensitive not in self._collections:
            self._collections[sensitive] = self._collection_refusal(sensitive)
        return self._collections[sensitive]

    def _margin_refusal(self, clique: Mask) -> Refusal | None:
        if clique not in self._margins:
            self._margins[clique] = self._judge_margin(clique)
        return self._margins[clique]

    def _judge_margin(self, clique: Mask) -> Refusal | None:
        wanted = self._requirements
        k = max(wanted.k_link or 1, wanted.k_combinatorial or 1)
        public = nonsensitive_part(self._cube.domain, clique, wanted.sensitive)
        counts = self._cube.counts(public)
        if len(counts) and counts.min() < k:
            return Refusal(f"a class of fewer than {k} rows", RefusalScope.FINER)
        if wanted.diversity is not None:
            for attribute, base in self._base_values.items():
                if clique & base != base:
                    continue
                if not satisfies(wanted.diversity, self._classes[attribute](clique).counts).all():
                    # A refinement splits these classes, and merging classes that pass would pass (KG06 Prop. 7.2).
                    return Refusal(f"a class that is not {wanted.diversity} in {attribute}", RefusalScope.FINER)
        return None

    def _collection_refusal(self, cliques: frozenset[Mask]) -> Refusal | None:
        """The verdict on the cliques with a sensitive attribute, all of whose margins are allowed by themselves.

        With one sensitive attribute the classes of each clique are those that neighbouring models were judged by.
        """
        if not cliques:
            return None
        wanted = self._requirements
        if len(wanted.sensitive) > 1:
            collection = Collection.of(self._cube, cliques)
            for claim in wanted.claims:
                if not (finding := claim.check(collection, wanted.sensitive, SEARCHING)).holds:
                    level = _level_of(claim, collection)
                    return _together(finding.criterion, finding.verdict, _scope(wanted.diversity, level))
            return None
        tree = self._tree(cliques, wanted.sensitive[0])
        if wanted.k_combinatorial is not None and len(cliques) > 1:
            verdict = of_tree(tree, wanted.k_combinatorial, SEARCHING).verdict
            if verdict is not Verdict.HOLDS:
                return _together("k-combinatorial", verdict, RefusalScope.LONGER)
        if wanted.diversity is not None:
            verdict = decided(tree, at_base_values(wanted.diversity, tree), SEARCHING)[1].verdict
            if verdict is not Verdict.HOLDS:
                return _together("maxent-diversity", verdict, _scope(wanted.diversity, tree.level))
        return None

    def _tree(self, cliques: frozenset[Mask], sensitive: str) -> SensitiveTree:
        return SensitiveTree.of(JunctionTree.of(self._cube.domain, cliques), sensitive, self._classes[sensitive])


def _level_of(claim: Claim, collection: Collection) -> int:
    """The finest level at which a collection shows the attribute that a claim is about; 0 if it is about none."""
    if not isinstance(claim, MaxentDiversity):
        return 0
    return collection.finest_level(claim.sensitive)


def _scope(diversity: Diversity | None, level: int) -> RefusalScope:
    """What else a failure refuses when the sensitive attribute is shown at a level.

    A failing part of a junction tree fails the whole: a table with the part's marginals can be glued to one with all of
    them, and the distributions of the part are means of those of the whole (KG06 Prop. 7.2). But what goes on from the
    part may show finer sensitive values, and of these there can be enough where there were not of the coarse ones.
    Functional diversity looks at base values whatever is shown, which finer values can only concentrate.
    """
    return RefusalScope.LONGER if level == 0 or isinstance(diversity, Functional) else RefusalScope.ITSELF


def _together(criterion: str, verdict: Verdict, scope: RefusalScope) -> Refusal:
    # What is undecided says nothing of other collections.
    proven = scope if verdict is Verdict.FAILS else RefusalScope.ITSELF
    return Refusal(f"{criterion} {verdict.value} for the margins together", proven)
