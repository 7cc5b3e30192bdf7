"""Privacy requirements as the constraint of a search."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Collection as AnyCollection
from copy import copy
from functools import reduce
from operator import or_

from checks.claims import AttributeClaim, Claim, CountClaim, Question, Register
from checks.classes import EquivalenceClasses, has_bare_value, nonsensitive_part
from checks.combinatorial import GroupTree, Part, SensitiveGroup, sensitive_groups
from checks.diversity.criterion import satisfies
from checks.finding import SEARCHING, Verdict
from checks.maxent.sensitive_tree import ClassSource, SensitiveTree
from checks.requirements import Requirements
from models.errors import NotDecomposableError, TooManyCellsError
from models.graphs.junction_tree import Collection, JunctionTree
from models.search.problem import PruningConstraint, Refusal, RefusalScope
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Mask


class PrivacyConstraint(PruningConstraint):
    """Requirements as the constraint of a search over one cube.

    Single margins are judged first: k-link, the least cell, and their own diversity (KG06 Prop. 7.2). The rest depends
    only on the cliques with a sensitive attribute (Prop. 7.3). Verdicts are cached by margin, by collection of
    sensitive cliques, and by part of a claim. Each check has the budget `SEARCHING`; an undecided one refuses only its
    collection.
    """

    def __init__(self, cube: DataCube, requirements: Requirements, max_sensitive_margins: int | None = None) -> None:
        self._cube, self._requirements = cube, requirements
        self._max_sensitive_margins = max_sensitive_margins
        self._classes: dict[str, Callable[[Mask], EquivalenceClasses]] = {
            attribute: ClassSource(cube.table, attribute) for attribute in requirements.sensitive
        }
        about_attributes = [claim for claim in requirements.claims if isinstance(claim, AttributeClaim)]
        for claim in about_attributes:
            # Raises CriterionError for an unknown label or level before the search.
            claim.stated_on(Collection.of(cube, [cube.domain.mask({claim.about: 0})]))
        counting = (claim for claim in requirements.claims if isinstance(claim, CountClaim))
        self._least_class = max((claim.least_count for claim in counting), default=1)
        self._least_cell = requirements.cell_size
        attribute_masks = (cube.domain.attribute_masks[cube.domain.index(name)] for name in requirements.sensitive)
        self._steps = [mask & -mask for mask in attribute_masks]
        self._steps_of_sensitive = reduce(or_, self._steps, 0)
        self._of_classes = [
            (claim.about, cube.domain.mask({claim.about: claim.level}), claim.class_diversity)
            for claim in about_attributes
            if claim.class_diversity is not None
        ]
        """Attribute, values and criterion of each claim about single classes."""
        self._of_collections = [
            claim
            for claim in requirements.claims
            if not (isinstance(claim, CountClaim) and claim.is_about_single_margins)
        ]
        self._margins: dict[Mask, Refusal | None] = {}
        self._shared: dict[Mask, frozenset[str]] = {}
        self._collections: dict[frozenset[Mask], Refusal | None] = {}
        self._verdicts: dict[tuple[Claim, SensitiveGroup], Verdict] = {}

    def with_at_most(self, sensitive_margins: int) -> "PrivacyConstraint":
        """Return the constraint with fewer margins of each sensitive attribute; both share the cached verdicts."""
        fewer = copy(self)
        fewer._max_sensitive_margins, fewer._collections = sensitive_margins, {}
        return fewer

    @property
    def jointly_judged(self) -> Mask:
        """First step of each sensitive attribute: joint verdicts depend only on the margins with one."""
        return self._steps_of_sensitive

    def __call__(self, cliques: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        """Return None if the collection with these cliques satisfies the requirements, else the refusal."""
        for clique in [new] if new else cliques:
            if refusal := self.of_margin(clique):
                return refusal
        sensitive = frozenset(clique for clique in cliques if clique & self._steps_of_sensitive)
        if sensitive not in self._collections:
            self._collections[sensitive] = self._too_many(sensitive) or self._collection_refusal(sensitive)
        return self._collections[sensitive]

    def _too_many(self, sensitive: frozenset[Mask]) -> Refusal | None:
        limit = self._max_sensitive_margins
        if limit is None or all(sum(bool(clique & step) for clique in sensitive) <= limit for step in self._steps):
            return None
        return Refusal(f"more than {limit} margins with a sensitive attribute", RefusalScope.LONGER)

    def of_margin(self, clique: Mask) -> Refusal | None:
        """Return the refusal of a margin by itself, which refuses everything that shows it."""
        if clique not in self._margins:
            self._margins[clique] = self._judge_margin(clique)
        return self._margins[clique]

    def _judge_margin(self, clique: Mask) -> Refusal | None:
        k, least = self._least_class, self._least_cell
        public = nonsensitive_part(self._cube.domain, clique, self._requirements.sensitive)
        if public != clique:
            if refusal := self.of_margin(public):
                return refusal
        elif 0 < self._cube.least_count(public) < k:
            return Refusal(f"a class of fewer than {k:,} rows", RefusalScope.FINER)
        if least is not None and public != clique and self._cube.counts(clique).min(initial=least) < least:
            return Refusal(f"a cell of fewer than {least:,} rows", RefusalScope.FINER)
        for about, level, diversity in self._of_classes:
            if not level & ~clique:
                classes = self._classes[about](clique)
                if not satisfies(diversity.among(classes.values), classes.counts).all():
                    # A refinement splits these classes, and merging classes that pass would pass (KG06 Prop. 7.2).
                    return Refusal(f"a class that is not {diversity} in {about}", RefusalScope.FINER)
        return None

    def _with_one_value(self, clique: Mask) -> frozenset[str]:
        """Return the attributes of an allowed margin, coarser than judged, with a class of only one value.

        Finer values in other margins can make the class diverse, but everybody in it has the one coarse value.
        """
        if clique not in self._shared:
            levels, criteria = self._cube.domain.margin(clique), self._of_classes
            self._shared[clique] = frozenset(
                about
                for about, level, diversity in (criteria if self._requirements.at_every_level else ())
                if about in levels and level & ~clique and has_bare_value(self._classes[about](clique), diversity)
            )
        return self._shared[clique]

    def _collection_refusal(self, cliques: frozenset[Mask]) -> Refusal | None:
        """Return the refusal of cliques with a sensitive attribute, all of which are allowed by themselves."""
        shared = {name for clique in cliques for name in self._with_one_value(clique)}
        for name in self._requirements.sensitive:
            if name in shared:
                # The refusal is only for this collection: a refinement may show several finer values of the class.
                return Refusal(f"a class with one value of {name} alone, as coarse as they are shown")
        trees: dict[SensitiveGroup, Part] = {}
        groups = sensitive_groups(self._cube.domain, sorted(cliques), self._requirements.sensitive)
        for claim in self._of_collections:
            for part in self._parts(claim, cliques, groups):
                if (claim, part) not in self._verdicts:
                    self._verdicts[claim, part] = self._verdict(claim, part, trees)
                if (verdict := self._verdicts[claim, part]) is not Verdict.HOLDS:
                    # An undecided verdict says nothing about other collections.
                    level = self._finest_level(part.cliques, claim.about)
                    reaches = verdict is Verdict.FAILS and level <= claim.failure_lasts_to
                    reason = f"{claim.criterion} {verdict.value} for the margins together"
                    return Refusal(reason, RefusalScope.LONGER if reaches else RefusalScope.ITSELF)
        return None

    def _parts(
        self, claim: Claim, cliques: frozenset[Mask], groups: Sequence[SensitiveGroup]
    ) -> Iterable[SensitiveGroup]:
        """Return the cliques that can break a claim only together, separated if they cannot do so jointly."""
        if isinstance(claim, Register):
            return (group for group in groups if claim.about in group.attributes)
        if not claim.is_part_by_part:
            return [SensitiveGroup(self._requirements.sensitive, tuple(sorted(cliques)))]
        return (part for group in groups for part in claim.parts(group, self._cube.domain))

    def _verdict(self, claim: Claim, part: SensitiveGroup, trees: dict[SensitiveGroup, Part]) -> Verdict:
        if claim.is_part_by_part:
            try:
                tree = trees[part] = trees.get(part) or self._tree(part)
                return claim.on_tree(tree, SEARCHING)
            except TooManyCellsError:
                return Verdict.UNDECIDED
            except NotDecomposableError:  # a claim about margins that lie apart
                pass
        collection = Collection.of(self._cube, part.cliques)
        return claim.check(Question(collection, self._requirements.sensitive, SEARCHING)).verdict

    def _finest_level(self, cliques: AnyCollection[Mask], attribute: str | None) -> int:
        if attribute is None:
            return 0
        domain = self._cube.domain
        return min(domain.margin(clique).get(attribute, domain.hierarchy(attribute).height) for clique in cliques)

    def _tree(self, part: SensitiveGroup) -> Part:
        """Return the tree of a part; for one sensitive attribute, it shares the classes of neighbouring collections."""
        if len(part.attributes) > 1:
            return GroupTree.of(self._cube, part)
        (sensitive,) = part.attributes
        tree = JunctionTree.of(self._cube.domain, part.cliques)
        return SensitiveTree.of(tree, sensitive, self._classes[sensitive])
