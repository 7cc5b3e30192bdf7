"""Privacy requirements as the constraint of a search."""

from collections.abc import Callable, Sequence
from collections.abc import Collection as AnyCollection
from copy import copy
from functools import reduce
from operator import itemgetter, or_
from typing import NamedTuple

import numpy as np

from checks.claims import AttributeClaim, Claim, CountClaim, PartByPart, Question, Register, Requirements
from checks.classes import EquivalenceClasses, nonsensitive_part
from checks.combinatorial import GroupTree, SensitiveCliques, SensitiveGroup, linked_cliques, sensitive_groups
from checks.diversity.criterion import Diversity, satisfies
from checks.diversity.known import Projected
from checks.finding import SEARCHING, Verdict
from checks.maxent.sensitive_tree import ClassSource, SensitiveTree
from models.errors import NotDecomposableError, TooManyCellsError
from models.graphs.junction_tree import Collection, JunctionTree
from models.search.problem import ALL_VERTICES, ClassSize, PruningConstraint, Refusal, RefusalScope
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Mask


class _OfClasses(NamedTuple):
    """What a claim demands of single classes of an attribute, worked out once. level: the values it judges, as a margin."""

    about: str
    level: Mask
    diversity: Diversity


def too_many_margins(limit: int) -> str:
    """Why a collection with more margins of a sensitive attribute is refused."""
    return f"more than {limit} margins with a sensitive attribute"


class PrivacyConstraint(PruningConstraint):
    """Requirements as the constraint of a search over one cube.

    What a margin alone decides is decided first and remembered: k-link, the least cell, and whether a clique is diverse
    on its own (KG06 Prop. 7.2). The rest depends on the cliques with a sensitive attribute only (Prop. 7.3) and is
    remembered for them; with it, whether a clique that shows coarser values has a class with one of them alone. No check
    may do more than `SEARCHING` says; one that ends undecided refuses its collection alone.
    """

    def __init__(self, cube: DataCube, requirements: Requirements, max_sensitive_margins: int | None = None) -> None:
        self._cube = cube
        self._requirements = requirements
        self._claims = requirements.claims
        self._max_sensitive_margins = max_sensitive_margins
        self._classes: dict[str, Callable[[Mask], EquivalenceClasses]] = {
            attribute: ClassSource(cube.table, attribute) for attribute in requirements.sensitive
        }
        for claim in self._claims:
            if isinstance(claim, AttributeClaim):
                # Raises CriterionError for a label or a level that there is not, before anything is searched.
                claim.stated_on(Collection.of(cube, [cube.domain.mask({claim.about: 0})]))
        counting = (claim for claim in self._claims if isinstance(claim, CountClaim))
        self._least_class = max((claim.least_count for claim in counting), default=1)
        self._least_cell = requirements.cell_size
        self._is_too_small: dict[Mask, bool] = {}
        """Whether a margin without sensitive attributes has a class of too few rows: with and without them it is asked."""
        self._margins: dict[Mask, Refusal | None] = {}
        self._collections: dict[frozenset[Mask], Refusal | None] = {}
        self._counted: dict[frozenset[Mask], Refusal | None] = {}
        """What a collection is refused for by its number of margins, which `with_at_most` changes."""
        self._verdicts: dict[tuple[int, SensitiveGroup], Verdict] = {}
        self._shared: dict[Mask, tuple[str, ...]] = {}
        attribute_masks = (cube.domain.attribute_masks[cube.domain.index(name)] for name in requirements.sensitive)
        self._steps_of_sensitive = reduce(or_, (mask & -mask for mask in attribute_masks), 0)
        self._of_classes = tuple(
            _OfClasses(claim.about, cube.domain.mask({claim.about: claim.level}), claim.class_diversity)
            for claim in self._claims
            if isinstance(claim, AttributeClaim) and claim.class_diversity is not None
        )
        together = [
            (number, claim)
            for number, claim in enumerate(self._claims)
            if not (isinstance(claim, CountClaim) and claim.is_about_single_margins)
        ]
        self._of_groups = [(number, claim) for number, claim in together if isinstance(claim, PartByPart | Register)]
        self._of_whole = [number for number, claim in together if not isinstance(claim, PartByPart | Register)]
        self._groups: dict[tuple[Mask, ...], tuple[int, Refusal] | None] = {}

    def with_at_most(self, sensitive_margins: int) -> "PrivacyConstraint":
        """The same with fewer margins of each sensitive attribute; what one of the two has judged, the other remembers."""
        fewer = copy(self)
        fewer._max_sensitive_margins, fewer._counted = sensitive_margins, {}
        return fewer

    @property
    def pivot(self) -> Mask:
        """The first step of the sensitive attribute; everything where there are several, whose margins may lie apart."""
        return ALL_VERTICES if self._steps_of_sensitive.bit_count() > 1 else self._steps_of_sensitive

    @property
    def jointly_judged(self) -> Mask:
        """The first step of each sensitive attribute: what is judged together is a function of the margins with one."""
        return self._steps_of_sensitive

    @property
    def class_size(self) -> ClassSize:
        """Margins without sensitive attributes are judged by their classes alone."""
        domain = self._cube.domain
        judged_for_more = {*self._requirements.sensitive, *(claim.about for claim in self._claims)}
        public = (
            attribute_mask
            for name, attribute_mask in zip(domain.attributes, domain.attribute_masks)
            if name not in judged_for_more
        )
        return ClassSize(self._least_class, sum(public))

    def __call__(self, cliques: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        """None when the collection with these cliques satisfies the requirements."""
        for clique in [new] if new else cliques:
            if refusal := self.of_margin(clique):
                return refusal
        sensitive = frozenset(clique for clique in cliques if clique & self._steps_of_sensitive)
        if sensitive not in self._counted:
            self._counted[sensitive] = self._too_many(sensitive)
        if refusal := self._counted[sensitive]:
            return refusal
        if sensitive not in self._collections:
            self._collections[sensitive] = self._collection_refusal(sensitive)
        return self._collections[sensitive]

    def _too_many(self, sensitive: frozenset[Mask]) -> Refusal | None:
        """What cliques with a sensitive attribute are refused for where more than the policy allows show one of these."""
        limit = self._max_sensitive_margins
        if limit is None or len(sensitive) <= limit:
            return None
        shown = [0] * (limit + 1)  # the first steps that so many cliques and one more show
        for clique in sensitive:
            steps = clique & self._steps_of_sensitive
            for times in range(limit, 0, -1):
                shown[times] |= shown[times - 1] & steps
            shown[0] |= steps
        if not shown[limit]:
            return None
        return Refusal(too_many_margins(limit), RefusalScope.LONGER)

    def of_margin(self, clique: Mask) -> Refusal | None:
        """What a margin is refused for by itself, and with it everything that shows it."""
        if clique not in self._margins:
            self._margins[clique] = self._judge_margin(clique)
        return self._margins[clique]

    def _judge_margin(self, clique: Mask) -> Refusal | None:
        k, least = self._least_class, self._least_cell
        public = nonsensitive_part(self._cube.domain, clique, self._requirements.sensitive)
        if public not in self._is_too_small:
            self._is_too_small[public] = 0 < self._cube.least_count(public) < k
        if self._is_too_small[public]:
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

    def _shared_alone(self, clique: Mask) -> tuple[str, ...]:
        """Attributes of which a margin that shows them coarser than a claim judges them has a class with one value alone.

        Finer values in other margins can make the class diverse together; still the margin says of everybody in the class
        that they have the one coarse value. In the order of the claims.
        """
        if clique not in self._shared:
            self._shared[clique] = tuple(claim.about for claim in self._of_classes if self._judge_shared(clique, claim))
        return self._shared[clique]

    def _judge_shared(self, clique: Mask, claim: _OfClasses) -> bool:
        domain = self._cube.domain
        is_judged_alone = not claim.level & ~clique
        shows = clique & domain.attribute_masks[domain.index(claim.about)]
        if not shows or is_judged_alone:
            return False
        classes = self._classes[claim.about](clique)
        criterion = claim.diversity.among(classes.values)
        known = criterion.sums(classes.counts) if isinstance(criterion, Projected) else classes.counts
        single = np.asarray((known > 0).sum(axis=1) == 1)
        return bool(single.any()) and not satisfies(criterion, classes.counts[single]).all()

    def _collection_refusal(self, cliques: frozenset[Mask]) -> Refusal | None:
        """The verdict on the cliques with a sensitive attribute, all of whose margins are allowed by themselves."""
        judged = cliques if self._requirements.at_every_level else ()
        shared = {name for clique in judged for name in self._shared_alone(clique)}
        for name in self._requirements.sensitive:
            if name in shared:
                # Of this collection alone: a refinement may show finer values, of which the class has several.
                return Refusal(f"a class with one value of {name} alone, as coarse as they are shown")
        refused = [self._refused_whole(cliques)] if self._of_whole else []
        refused += map(self._refused_group, linked_cliques(sorted(cliques), self._steps_of_sensitive))
        first = min(filter(None, refused), key=itemgetter(0), default=None)
        return None if first is None else first[1]

    def _refused_group(self, cliques: tuple[Mask, ...]) -> tuple[int, Refusal] | None:
        """The number of the first claim that fails of linked cliques, and what they are refused for.

        Of cliques with none of the attributes that they show, directly or by way of others, these claims tell nothing.
        """
        if cliques not in self._groups:
            (group,) = sensitive_groups(self._cube.domain, cliques, self._requirements.sensitive)
            of_group = [(number, self._parts(claim, group)) for number, claim in self._of_groups]
            self._groups[cliques] = self._first_refused(of_group)
        return self._groups[cliques]

    def _refused_whole(self, cliques: frozenset[Mask]) -> tuple[int, Refusal] | None:
        """The same of claims that are about all cliques with a sensitive attribute together."""
        whole = SensitiveGroup(self._requirements.sensitive, tuple(sorted(cliques)))
        return self._first_refused([(number, (whole,)) for number in self._of_whole])

    def _first_refused(self, parts_of: Sequence[tuple[int, Sequence[SensitiveGroup]]]) -> tuple[int, Refusal] | None:
        trees: dict[SensitiveGroup, SensitiveTree | GroupTree] = {}
        for number, parts in parts_of:
            claim = self._claims[number]
            for part in parts:
                if (number, part) not in self._verdicts:
                    self._verdicts[number, part] = self._verdict(claim, part, trees)
                verdict = self._verdicts[number, part]
                if verdict is not Verdict.HOLDS:
                    return number, _together(claim, verdict, self._finest_level(part.cliques, claim.about))
        return None

    def _parts(self, claim: PartByPart | Register, group: SensitiveGroup) -> Sequence[SensitiveGroup]:
        """The cliques of a group that can break a claim together where none does by itself, apart where not jointly."""
        if isinstance(claim, Register):
            return [group] if claim.about in group.attributes else []
        return claim.parts(SensitiveCliques(self._cube.domain, group.cliques, self._requirements.sensitive))

    def _verdict(
        self, claim: Claim, part: SensitiveGroup, trees: dict[SensitiveGroup, SensitiveTree | GroupTree]
    ) -> Verdict:
        """The verdict on one part of a claim. trees: those that are known of parts."""
        if isinstance(claim, PartByPart):
            try:
                tree = trees[part] = trees[part] if part in trees else self._tree(part)
                return claim.on_tree(tree, SEARCHING)
            except TooManyCellsError:
                return Verdict.UNDECIDED
            except NotDecomposableError:  # a claim that is about margins which lie apart
                pass
        collection = Collection.of(self._cube, part.cliques)
        return claim.check(Question(collection, self._requirements.sensitive, SEARCHING)).verdict

    def _finest_level(self, cliques: AnyCollection[Mask], attribute: str | None) -> int:
        """The finest level at which a clique shows an attribute; 0 for no attribute."""
        if attribute is None:
            return 0
        domain = self._cube.domain
        return min(domain.margin(clique).get(attribute, domain.hierarchy(attribute).height) for clique in cliques)

    def _tree(self, part: SensitiveGroup) -> SensitiveTree | GroupTree:
        """With one sensitive attribute the classes of each clique are those that neighbouring models were judged by."""
        if len(part.attributes) > 1:
            return GroupTree.of(self._cube, part)
        (sensitive,) = part.attributes
        tree = JunctionTree.of(self._cube.domain, part.cliques)
        return SensitiveTree.of(tree, sensitive, self._classes[sensitive])


def _together(claim: Claim, verdict: Verdict, level: int) -> Refusal:
    # What is undecided says nothing of other collections.
    reaches = verdict is Verdict.FAILS and isinstance(claim, PartByPart) and level <= claim.failure_lasts_to
    reason = f"{claim.criterion} {verdict.value} for the margins together"
    return Refusal(reason, RefusalScope.LONGER if reaches else RefusalScope.ITSELF)
