"""Privacy requirements: what a release must satisfy, as checks of a collection or as the constraint of a search."""

from collections.abc import Callable, Mapping
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from checks.budget import SEARCHING
from checks.claims.claim import Claim
from checks.claims.count_claim import CountClaim
from checks.claims.k_combinatorial import KCombinatorial
from checks.claims.k_link import KLink
from checks.claims.maxent_diversity import MaxentDiversity
from checks.claims.min_cell import MinCell
from checks.classes.assessment import table_diversity, table_findings
from checks.classes.equivalence_classes import EquivalenceClasses
from checks.classes.k_anonymity import nonsensitive_part
from checks.combinatorial.sensitive_groups import GroupTree, SensitiveGroup
from checks.diversity.criterion import Diversity, satisfies
from checks.errors import CriterionError
from checks.finding import Finding, Verdict
from checks.maxent.sensitive_tree import SensitiveTree, class_source
from models.errors import NotDecomposableError, TooManyCellsError
from models.graphs.collection import Collection
from models.graphs.junction_tree import JunctionTree
from models.search.constraint import Refusal, RefusalScope
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Mask


@dataclass(frozen=True)
class Requirements:
    """k-link, k-combinatorial, maxent diversity and a least cell, each optional.

    diversity: of every sensitive attribute. diversities: of single ones, or of values of a coarser level, beside that.
    rows_per_person: how many rows a person has at most, so that all is demanded of people; None where it is of rows.
    Raises CriterionError for k below 1, a diversity without a sensitive attribute, or one that cannot be decided of people.
    """

    sensitive: tuple[str, ...] = ()
    k_link: int | None = None
    k_combinatorial: int | None = None
    diversity: Diversity | None = None
    rows_per_person: int | None = None
    min_cell: int | None = None
    diversities: tuple[MaxentDiversity, ...] = ()

    def __post_init__(self) -> None:
        for name in ("k_link", "k_combinatorial", "min_cell"):
            k = getattr(self, name)
            if k is not None and k < 1:
                raise CriterionError(f"{name} must be at least 1, got {k}")
        if (self.diversity is not None or self.diversities) and not self.sensitive:
            raise CriterionError("a diversity needs an attribute whose role is sensitive")
        for claim in self.diversity_claims:
            if claim.sensitive not in self.sensitive:
                listed = ", ".join(self.sensitive)
                raise CriterionError(
                    f"a diversity is demanded of {claim.sensitive!r}, which is no sensitive attribute; these are {listed}"
                )
            if claim.class_diversity is None:
                raise CriterionError(
                    f"the diversity {claim.diversity} cannot be promised of people of up to {self.rows_per_person} rows "
                    "each; demand distinct:l, simple:l or recursive:c,l, or keep one row of each person (one_row)"
                )

    def about(self, attribute: str) -> "Requirements":
        """What is required of a table that shows one of the sensitive attributes and none of the others."""
        own = tuple(claim for claim in self.diversities if claim.sensitive == attribute)
        return replace(self, sensitive=(attribute,), diversities=own)

    @property
    def class_size(self) -> int | None:
        """Rows that every class of a table by itself must have; None where no count is demanded.

        A combination of nonsensitive values can have no more rows there than its class has, and no cell has more, so
        k-link, k-combinatorial and the least cell are all about classes.
        """
        return max((claim.least_count for claim in self._count_claims), default=None)

    @property
    def cell_size(self) -> int | None:
        """Rows that every cell of a table must have, sensitive values counted; None where it is not demanded."""
        return max((claim.least_cell for claim in self._count_claims if claim.least_cell is not None), default=None)

    @cached_property
    def diversity_claims(self) -> tuple[MaxentDiversity, ...]:
        """What is demanded of each sensitive attribute, one after another."""
        of_each = [] if self.diversity is None else [MaxentDiversity(self.diversity, a) for a in self.sensitive]
        demanded = dict.fromkeys([*of_each, *self.diversities])
        return tuple(claim.counting(self.rows_per_person) for claim in demanded)

    @property
    def common_diversity(self) -> Diversity | None:
        """What every class of a table by itself must satisfy in each sensitive attribute; None where nothing.

        Raises CriterionError where that differs among attributes or levels, or is more than one thing.
        """
        demanded = {(claim.diversity, claim.level) for claim in self.diversity_claims}
        of_all = len(self.diversity_claims) in (0, len(self.sensitive))
        if len(demanded) > 1 or not of_all or any(level for _, level in demanded):
            raise CriterionError("this needs one diversity for all sensitive attributes, at level 0")
        return next((claim.class_diversity for claim in self.diversity_claims), None)

    def of_table(self, table: ContingencyTable) -> tuple[Finding, ...]:
        """On one table by itself: k-anonymity, the least cell, the diversity in each sensitive attribute that it shows."""
        shown = tuple(attribute for attribute in self.sensitive if attribute in table.margin)
        sizes = [claim.least_count for claim in self._count_claims if claim.least_cell is None]
        findings = [*table_findings(table, shown, [], max(sizes, default=None), self.cell_size)]
        for claim in self.diversity_claims:
            if claim.sensitive in shown and claim.class_diversity is not None:
                finding = table_diversity(table, claim.sensitive, claim.class_diversity)
                findings.append(replace(finding, parameters=claim.parameters))
        if self.rows_per_person is None:
            return tuple(findings)
        return tuple(replace(finding, parameters=self._of_people(finding.parameters)) for finding in findings)

    def _of_people(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What was demanded of rows as it is demanded of people."""
        rows = self.rows_per_person or 1
        return {**parameters, **({"k": parameters["k"] // rows} if "k" in parameters else {}), "rows_per_person": rows}

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The requirements one by one, as a release claims them: k-link, k-combinatorial, least cell, diversity."""
        return (*self._count_claims, *self.diversity_claims)

    @property
    def _count_claims(self) -> tuple[CountClaim, ...]:
        demanded = ((KLink, self.k_link), (KCombinatorial, self.k_combinatorial), (MinCell, self.min_cell))
        return tuple(kind(k, rows_per_person=self.rows_per_person) for kind, k in demanded if k is not None)


class PrivacyConstraint:
    """Requirements as the constraint of a search over one cube.

    What a margin alone decides is decided first and remembered: k-link, the least cell, and whether a clique is diverse
    on its own (KG06 Prop. 7.2). The rest depends on the cliques with a sensitive attribute only (Prop. 7.3) and is
    remembered for them. No check may do more than `SEARCHING` says; one that ends undecided refuses its collection alone.
    """

    def __init__(self, cube: DataCube, requirements: Requirements, max_sensitive_margins: int | None = None) -> None:
        self._cube = cube
        self._requirements = requirements
        self._claims = requirements.claims
        self._max_sensitive_margins = max_sensitive_margins
        self._first_steps = {
            attribute: 1 << cube.domain.offsets[cube.domain.index(attribute)] for attribute in requirements.sensitive
        }
        self._classes: dict[str, Callable[[Mask], EquivalenceClasses]] = {
            attribute: class_source(cube.table, attribute) for attribute in requirements.sensitive
        }
        for claim in self._claims:
            if claim.about is not None:
                # Raises CriterionError for a label or a level that there is not, before anything is searched.
                claim.stated_on(Collection.of(cube, [cube.domain.mask({claim.about: 0})]))
        self._least_class = max((claim.least_count or 1 for claim in self._claims), default=1)
        self._least_cell = requirements.cell_size
        self._is_too_small: dict[Mask, bool] = {}
        """Whether a margin without sensitive attributes has a class of too few rows: with and without them it is asked."""
        self._margins: dict[Mask, Refusal | None] = {}
        self._collections: dict[frozenset[Mask], Refusal | None] = {}
        self._verdicts: dict[tuple[int, SensitiveGroup], Verdict] = {}

    @property
    def pivot(self) -> Mask:
        """The first step of the sensitive attribute; everything where there are several, whose margins may lie apart."""
        if len(self._first_steps) > 1:
            return sum(self._cube.domain.attribute_masks)
        return sum(self._first_steps.values())

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:
        """None when the collection with these cliques satisfies the requirements."""
        for clique in [new] if new else cliques:
            if refusal := self.of_margin(clique):
                return refusal
        sensitive = frozenset(c for c in cliques if any(step & c for step in self._first_steps.values()))
        limit = self._max_sensitive_margins
        if limit is not None and any(sum(bool(s & c) for c in sensitive) > limit for s in self._first_steps.values()):
            return Refusal(f"more than {limit} margins with a sensitive attribute", RefusalScope.LONGER)
        if sensitive not in self._collections:
            self._collections[sensitive] = self._collection_refusal(sensitive)
        return self._collections[sensitive]

    def of_margin(self, clique: Mask) -> Refusal | None:
        """What a margin is refused for by itself, and with it everything that shows it."""
        if clique not in self._margins:
            self._margins[clique] = self._judge_margin(clique)
        return self._margins[clique]

    def _judge_margin(self, clique: Mask) -> Refusal | None:
        k, least = self._least_class, self._least_cell
        public = nonsensitive_part(self._cube.domain, clique, self._requirements.sensitive)
        if public not in self._is_too_small:
            self._is_too_small[public] = bool(self._cube.counts(public).min(initial=k) < k)
        if self._is_too_small[public]:
            return Refusal(f"a class of fewer than {k} rows", RefusalScope.FINER)
        if least is not None and public != clique and self._cube.counts(clique).min(initial=least) < least:
            return Refusal(f"a cell of fewer than {least} rows", RefusalScope.FINER)
        for claim in self._claims:
            if claim.class_diversity is None or claim.about is None:
                continue
            judged = self._cube.domain.mask({claim.about: claim.level})
            if not judged & ~clique:
                classes = self._classes[claim.about](clique)
                if not satisfies(claim.class_diversity.among(classes.values), classes.counts).all():
                    # A refinement splits these classes, and merging classes that pass would pass (KG06 Prop. 7.2).
                    return Refusal(f"a class that is not {claim.class_diversity} in {claim.about}", RefusalScope.FINER)
        return None

    def _collection_refusal(self, cliques: frozenset[Mask]) -> Refusal | None:
        """The verdict on the cliques with a sensitive attribute, all of whose margins are allowed by themselves."""
        trees: dict[SensitiveGroup, SensitiveTree | GroupTree] = {}
        for number, claim in enumerate(self._claims):
            for part in claim.parts(self._cube.domain, sorted(cliques), self._requirements.sensitive):
                if (number, part) not in self._verdicts:
                    self._verdicts[number, part] = self._verdict(claim, part, trees)
                verdict = self._verdicts[number, part]
                if verdict is not Verdict.HOLDS:
                    return _together(claim, verdict, self._finest_level(part.cliques, claim.about))
        return None

    def _verdict(
        self, claim: Claim, part: SensitiveGroup, trees: dict[SensitiveGroup, SensitiveTree | GroupTree]
    ) -> Verdict:
        """The verdict on one part of a claim. trees: those that are known of parts."""
        try:
            tree = trees[part] = trees[part] if part in trees else self._tree(part)
            verdict = claim.on_tree(tree, SEARCHING)
        except TooManyCellsError:
            return Verdict.UNDECIDED
        except NotDecomposableError:  # a claim that is about margins which lie apart
            verdict = None
        if verdict is None:
            collection = Collection.of(self._cube, part.cliques)
            verdict = claim.check(collection, self._requirements.sensitive, SEARCHING).verdict
        return verdict

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
    reaches = verdict is Verdict.FAILS and claim.refuses_longer(level)
    reason = f"{claim.criterion} {verdict.value} for the margins together"
    return Refusal(reason, RefusalScope.LONGER if reaches else RefusalScope.ITSELF)
