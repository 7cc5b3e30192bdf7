"""Claims: statements of a release about its privacy that anybody can check on the published marginals.

A new claim is a class with the base `CountClaim` or `AttributeClaim` and a place in `_CLAIMS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from checks.classes import k_link
from checks.combinatorial import (
    GroupTree,
    SensitiveGroup,
    ToldByLabels,
    by_search,
    k_combinatorial,
    label_counts,
    min_cell,
)
from checks.diversity.criterion import Diversity, SensitiveValues
from checks.diversity.derived import LeavingOut, leaving_out, of_people
from checks.diversity.registry import demands_nothing, parse_diversity, stated_diversity, uninstalled_in
from checks.diversity.relative import AtLevel, Closeness
from checks.errors import CriterionError
from checks.finding import FULL, Algorithm, Budget, Finding, Verdict
from checks.maxent.sensitive_tree import SensitiveTree
from checks.population import SINGLE_TABLES
from models.errors import ContradictionError, TimeOverError
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.tables.hierarchy import MISSING, Domain

if TYPE_CHECKING:
    from checks.small_combinations import Witnesses


@frozen(eq=False)
class Question:
    """Question whether a claim holds of a collection.

    sensitive: the attributes that are set aside. budget: of work for the answer. labels: counts that labels tell
    readers. witnesses: results of searches for possible tables, to which new ones are added.
    """

    collection: Collection
    sensitive: AnyCollection[str] = ()
    budget: Budget = FULL
    labels: ToldByLabels = field(default_factory=dict)
    witnesses: "list[Witnesses]" = field(default_factory=list)


@frozen
class Claim(ABC):
    """Statement of a release about its marginals.

    rows_per_person: most rows of a person, so that the claim is about people; None if it is about rows. The words are
    in `marginals.say.claims`. `CountClaim` and `AttributeClaim` have more methods.
    """

    rows_per_person: int | None = field(default=None, kw_only=True, repr=False)

    criterion: ClassVar[str]
    """Name in a bundle."""

    is_part_by_part: ClassVar[bool] = False
    """True if a search can judge the claim by its `parts`, each `on_tree`; other claims are right, too, but slower to
    search for."""

    @classmethod
    @abstractmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self | None:
        """Return the claim that a bundle states under this name; None if the statement is incomplete."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Return the claim as a bundle states it."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Demand as a finding states it, without the basis of the claim."""
        demand = {name: value for name, value in self.as_json().items() if name not in ("criterion", "basis")}
        return demand | ({} if self.rows_per_person is None else {"rows_per_person": self.rows_per_person})

    @property
    def about(self) -> str | None:
        """Sensitive attribute that the claim is about; None if there is no particular one."""
        return None

    @property
    def failure_lasts_to(self) -> float:
        """Coarsest level of the attribute at which a failure lasts, however the junction tree continues."""
        return -inf

    def parts(self, group: SensitiveGroup, domain: Domain) -> list[SensitiveGroup]:
        """Return the cliques of a `sensitive_groups` entry that can break the claim only together, if any."""
        raise NotImplementedError

    def on_tree(self, tree: SensitiveTree | GroupTree, budget: Budget) -> Verdict:
        """Return the verdict on one of its parts, each clique of which is allowed by itself."""
        raise NotImplementedError

    def check(self, question: Question) -> Finding:
        """Return the finding on a collection. May raise TimeOverError when the budget's deadline comes."""
        return replace(self.decide(question), parameters=self.parameters)

    @abstractmethod
    def decide(self, question: Question) -> Finding:
        """Return the finding on a collection; `check` sets its parameters."""


def answer(claim: Claim, question: Question) -> Finding:
    """Return the finding of a claim's check; undecided if the deadline comes first, or if no table has the marginals."""
    try:
        return claim.check(question)
    except (ContradictionError, TimeOverError) as reason:
        return undecided(claim, str(reason))


def undecided(claim: Claim, note: str) -> Finding:
    """Return the undecided finding of a claim. note: why."""
    return Finding(claim.criterion, Verdict.UNDECIDED, claim.parameters, None, (Algorithm.NONE,), 0, note)


def _of_some_table(finding: Finding, question: Question) -> Finding:
    """Return a finding on what tables tell together. Raises ContradictionError if it holds, but of no table."""
    if finding.holds and not question.collection.is_decomposable:
        from checks.small_combinations import require_some_table  # slow to import, and few need it

        require_some_table(question.collection, question.budget)
    return finding


def listing(names: Sequence[str], conjunction: str = "and") -> str:
    """Return names as a list in a sentence."""
    return f" {conjunction} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


@frozen
class AttributeClaim(Claim):
    """Claim that a criterion holds of one sensitive attribute.

    level: of the attribute's hierarchy, whose values are judged; the finest published ones if these are coarser.
    """

    diversity: Diversity
    sensitive: str
    level: int = 0

    def __new__(cls, diversity: Any = None, *_: Any, **__: Any) -> Self:
        """Raise CriterionError for what is no criterion, such as another claim."""
        if diversity is not None and not isinstance(diversity, Diversity):
            form = f'{cls.__name__}(parse_diversity("entropy:6"), "diagnosis")'
            raise CriterionError(f"a claim takes a criterion and the sensitive attribute, such as {form}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if isinstance(self.level, bool) or not isinstance(self.level, int) or self.level < 0:
            raise CriterionError(f"a diversity is judged at a level of at least 0, not {self.level!r}")
        if self.level and self.diversity.about_base_values:
            raise CriterionError(
                f"{self.diversity} is about base values, so it is demanded at level 0, not {self.level}"
            )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self | None:
        """Return the claim from its `diversity`, the `sensitive` attribute, and the `level` if it is not 0."""
        match content:
            case {"diversity": str(diversity), "sensitive": str(sensitive)}:
                return cls(stated_diversity(diversity), sensitive, content.get("level", 0))
        return None

    def as_json(self) -> dict[str, Any]:
        """Return the claim as a bundle states it."""
        content = {"criterion": self.criterion, "diversity": str(self.diversity), "sensitive": self.sensitive}
        return content | ({"level": self.level} if self.level else {})

    @property
    def about(self) -> str:
        """The attribute."""
        return self.sensitive

    @property
    def distance(self) -> str:
        """Distance between values: "ordered" or "hierarchical"; "equal" if the criterion does not compare them."""
        plain = self.diversity.plain if isinstance(self.diversity, LeavingOut) else self.diversity
        return plain.distance if isinstance(plain, Closeness) else "equal"

    @property
    def left_out(self) -> tuple[str, ...]:
        """Labels that stand for no value, if the claim is only about rows whose value is known."""
        return self.diversity.labels if isinstance(self.diversity, LeavingOut) else ()

    def leaving_out(self, *labels: str) -> Self:
        """Return the claim about rows whose value is known. labels: those that stand for no value; none changes nothing."""
        return replace(self, diversity=leaving_out(self.diversity, labels))

    def stated_on(self, collection: Collection, level: int | None = None) -> Self:
        """Return the claim with no labels but those that a collection shows, as its release states it.

        The labels are of the values that it judges: the finest shown ones, or coarser ones. level: the number of the
        judged level in the release, if it differs. Raises CriterionError if the attribute's hierarchy does not have the
        level below `*`.
        """
        hierarchy, finest = collection.domain.hierarchy(self.sensitive), collection.finest_level(self.sensitive)
        counted = collection.cube.table(collection.domain.mask({self.sensitive: finest}))
        codes = counted.codes[0] if finest < hierarchy.height else np.zeros(len(counted), dtype=np.intp)
        rows = np.bincount(codes, counted.counts, minlength=hierarchy.size(finest)).astype(np.int64)
        values = SensitiveValues(hierarchy, finest, tuple(rows.tolist()))
        if finest < hierarchy.height:
            values = values.coarsened(max(finest, self.level))
        diversity = self.diversity.stated_among(values)
        return replace(self, diversity=diversity, level=self.level if level is None else level)

    @property
    def class_diversity(self) -> Diversity | None:
        """Criterion that every class of a margin with the attribute must satisfy; None if it cannot be decided for people.

        It is the criterion itself, or its form for people; a single clique that fails it already decides (KG06 Prop. 7.2).
        """
        return self._criterion_of_people(self.diversity)

    def _criterion_of_people(self, diversity: Diversity) -> Diversity | None:
        plain = diversity.plain if isinstance(diversity, LeavingOut) else diversity
        people = of_people(plain, self.rows_per_person or 1)
        if people is None:
            return None
        whose = replace(diversity, plain=people) if isinstance(diversity, LeavingOut) else people
        return AtLevel(whose, self.level) if self.level else whose


@frozen
class MaxentDiversity(AttributeClaim):
    """Claim that the maximum-entropy distribution given the marginals is diverse in one sensitive attribute."""

    criterion: ClassVar[str] = "maxent-diversity"
    is_part_by_part: ClassVar[bool] = True

    def decide(self, question: Question) -> Finding:
        """Return the finding on a collection; the other sensitive attributes count as nonsensitive (MKGV07 Def. 4.6)."""
        collection, budget = question.collection, question.budget
        if (lacking := uninstalled_in(self.diversity)) is not None:
            return undecided(self, lacking.lacking())
        if (diversity := self.class_diversity) is None:
            whom = f"people of up to {self.rows_per_person} rows each"
            return undecided(self, f"whether {whom} are {self.diversity} cannot be decided")
        from checks.maxent.maxent_diversity import fitted_diversity, maxent_diversity  # slow to import, and few need it

        try:
            if collection.is_decomposable:
                return maxent_diversity(collection, self.sensitive, diversity, budget)
            return fitted_diversity(collection, self.sensitive, diversity, FULL.until(budget.deadline))
        except CriterionError as error:
            return undecided(self, f"{self.sensitive}: {error}")

    def parts(self, group: SensitiveGroup, domain: Domain) -> list[SensitiveGroup]:
        """Return the cliques with the attribute, if there are any: these decide the claim (KG06 Prop. 7.3)."""
        attribute_mask = domain.attribute_masks[domain.index(self.sensitive)]
        showing = tuple(clique for clique in group.cliques if clique & attribute_mask)
        return [SensitiveGroup((self.sensitive,), showing)] if showing else []

    def on_tree(self, tree: SensitiveTree | GroupTree, budget: Budget) -> Verdict:
        """Return the verdict on all cliques with the attribute."""
        assert isinstance(tree, SensitiveTree)  # a part is about one attribute
        if (diversity := self.class_diversity) is None:
            return Verdict.UNDECIDED
        from checks.maxent.maxent_diversity import decided  # slow to import, and few need it

        return decided(tree, diversity.among(tree.values), budget)[1].verdict

    @property
    def failure_lasts_to(self) -> float:
        """The judged level: a failing part of a junction tree fails the whole (KG06 Prop. 7.2), unless finer sensitive
        values follow.

        Such values can be diverse enough. Base values never are, so a failure of these lasts in any case.
        """
        return inf if self.diversity.about_base_values else self.level


VERIFIED, ATTESTED = "verified", "attested"
"""Bases of a claim: the files, which anybody can check, or the word of the publisher, who has the table."""


@frozen
class Register(AttributeClaim):
    """Claim that a diversity also holds for a reader who knows the nonsensitive values of everybody in the table.

    basis: "verified" if the files decide it, else "attested". Then a bundle holds only the claim, because the value
    that the worst class reaches could tell more of the table than its marginals do.
    """

    basis: str = VERIFIED
    criterion: ClassVar[str] = "register"

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self | None:
        """Return the claim of a diversity and its basis."""
        claim, basis = super().from_json(content), content.get("basis", VERIFIED)
        return None if claim is None or basis not in (VERIFIED, ATTESTED) else replace(claim, basis=basis)

    def as_json(self) -> dict[str, Any]:
        """Return the claim as a bundle states it."""
        return super().as_json() | {"basis": self.basis}

    def decide(self, question: Question) -> Finding:
        """Return the finding: attested if counts do not decide it, no class refutes it and the publisher attests it."""
        from checks.register import UNKNOWN, UNLINKED, failing_class, register_diversity  # slow to import, few need it

        if (lacking := uninstalled_in(self.diversity)) is not None:
            return undecided(self, lacking.lacking())
        if (self.rows_per_person or 1) > 1:
            return undecided(self, SEVERAL_ROWS)
        if (diversity := self.class_diversity) is None:
            return undecided(self, f"whether people are {self.diversity} cannot be decided")
        collection = question.collection
        finding = register_diversity(collection, self.about, question.sensitive, diversity, question.budget)
        if finding.verdict is Verdict.UNDECIDED:
            try:
                failing = failing_class(collection, self.about, diversity)
            except CriterionError as error:
                return undecided(self, f"{self.about}: {error}")
            if failing is not None:
                by = (Algorithm.EVERY_CLASS,)
                finding = replace(finding, verdict=Verdict.FAILS, worst=failing, algorithms=by, note="")
            elif self.basis == ATTESTED and finding.note in (UNKNOWN, UNLINKED):
                finding = replace(finding, verdict=Verdict.ATTESTED, note=BY_THE_PUBLISHER)
        basis = ATTESTED if finding.verdict is Verdict.ATTESTED else VERIFIED
        return replace(finding, basis=basis)

    def based_on(self, collection: Collection, sensitive: Sequence[str]) -> Self:
        """Return the claim with its basis if these marginals are published."""
        from checks.register import is_decided_by  # slow to import, and few need it

        return replace(self, basis=VERIFIED if is_decided_by(collection, self.about, sensitive) else ATTESTED)

    @property
    def class_diversity(self) -> Diversity | None:
        """Criterion of the diversity among people who have a value; a missing value is nothing that a reader could learn."""
        return self._criterion_of_people(leaving_out(self.diversity, (MISSING,)))


BY_THE_PUBLISHER = "attested by the publisher, who has the table; the files cannot show it"
SEVERAL_ROWS = "readers with a register are not considered where a person can have several rows"


@frozen
class CountClaim(Claim):
    """Claim that some counts are 0, or at least k. Raises CriterionError unless k is a whole number of at least 1.

    With `rows_per_person` it is about people: a count must be that of k people with the most possible rows each.
    """

    k: int

    is_about_single_margins: ClassVar[bool] = False
    """True if margins with a junction tree satisfy the claim together if each does by itself."""

    is_about_cells: ClassVar[bool] = False
    """True if the claim counts sensitive attributes like the others."""

    def __post_init__(self) -> None:
        if not is_number_of_rows(self.k):
            raise CriterionError(
                f"{self.criterion} needs a whole number from 1 to {MOST_ROWS:,}, got {quoted_value(self.k)}"
            )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self | None:
        """Return the claim of a `k`."""
        return cls(content["k"]) if "k" in content else None

    def as_json(self) -> dict[str, Any]:
        """Return the claim as a bundle states it."""
        return {"criterion": self.criterion, "k": self.k}

    @property
    def least_count(self) -> int:
        """Rows that every class of a margin must have, sensitive attributes set aside."""
        return self.k * (self.rows_per_person or 1)

    @property
    def least_cell(self) -> int | None:
        """Rows that every cell of a margin must have, sensitive attributes counted; None if it demands none."""
        return self.least_count if self.is_about_cells else None


def number_of_rows(text: str) -> int | None:
    """Return the number in a text; None unless it is a whole number of at most twelve digits."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


_DIGITS = 12
"""Most digits of a number of rows in text."""

MOST_ROWS = 10**_DIGITS - 1
"""Largest number of rows or people in a demand; times the rows of a person it still fits in 64 bits."""


LEAST_DEMAND = 2
"""Smallest count that can be demanded, because every existing class and cell has one row."""


def why_no_demand(number: object) -> str:
    """Return why 1 is no demand, as the end of a message with the remedy; empty for any other number."""
    is_one = number == 1 and number is not True
    return "; 1 demands nothing, so write a larger number, such as 10, or leave it out" if is_one else ""


def is_number_of_rows(number: object, least: int = 1) -> bool:
    """Return whether something is a whole number of rows that can be demanded.

    >>> is_number_of_rows(10), is_number_of_rows(2**63), is_number_of_rows(True)
    (True, False, False)
    """
    return isinstance(number, int) and not isinstance(number, bool) and least <= number <= MOST_ROWS


def quoted_value(value: object) -> str:
    """Return a value that was given instead of a number, for a message.

    >>> quoted_value(-1), quoted_value("x"), quoted_value(10**5000)
    ('-1', "'x'", 'a number of more digits')
    """
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a number of more digits"
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


@frozen
class MinCell(CountClaim):
    """Claim that no count from 1 to k - 1 is published, bounded by the marginals together, or told by a label."""

    criterion: ClassVar[str] = "min-cell"
    is_about_single_margins: ClassVar[bool] = True
    is_about_cells: ClassVar[bool] = True

    def decide(self, question: Question) -> Finding:
        """Return the finding on a collection."""
        finding = _of_some_table(min_cell(question.collection, self.least_count, question.budget), question)
        by_labels = label_counts(question.collection, question.labels, self.least_count)
        if finding.verdict is Verdict.FAILS or by_labels.holds:
            return finding
        examined = finding.examined + (0 if finding.holds else by_labels.examined)
        return replace(by_labels, criterion=finding.criterion, examined=examined)


@frozen
class KCombinatorial(CountClaim):
    """Claim that every possible combination of nonsensitive values could be shared by at least k rows."""

    criterion: ClassVar[str] = "k-combinatorial"
    is_part_by_part: ClassVar[bool] = True

    def decide(self, question: Question) -> Finding:
        """Return the finding on a collection."""
        finding = k_combinatorial(question.collection, question.sensitive, self.least_count, question.budget)
        return _of_some_table(finding, question)

    def parts(self, group: SensitiveGroup, domain: Domain) -> list[SensitiveGroup]:  # noqa: ARG002
        """Return the group; one clique cannot break the claim, if every class has k rows."""
        return [group] if len(group.cliques) > 1 else []

    def on_tree(self, tree: SensitiveTree | GroupTree, budget: Budget) -> Verdict:
        """Return the verdict on the whole tree, because each part decides by itself."""
        return by_search(tree.until(budget.deadline), self.least_count, budget).verdict

    @property
    def failure_lasts_to(self) -> float:
        """Infinite: more margins leave no more room."""
        return inf


@frozen
class KLink(CountClaim):
    """Claim that each class of a marginal has at least k rows, or people."""

    criterion: ClassVar[str] = "k-link"
    is_about_single_margins: ClassVar[bool] = True

    def decide(self, question: Question) -> Finding:
        """Return the finding on a collection."""
        return k_link(question.collection, question.sensitive, self.least_count)


@frozen
class MinPublishedCell(KLink):
    """Claim that no published count is from 1 to k - 1, sensitive attributes counted; combinations do not count."""

    criterion: ClassVar[str] = "min-published-cell"
    is_about_cells: ClassVar[bool] = True

    def decide(self, question: Question) -> Finding:
        """Return the finding on a collection: every published count is examined."""
        return replace(k_link(question.collection, (), self.least_count), criterion=self.criterion)


@frozen
class NoSmallCertain(CountClaim):
    """Claim that no combination of nonsensitive values certainly has from 1 to k - 1 rows.

    With a junction tree it is about every set of people, else about the combinations of `checks.small_combinations`.
    """

    criterion: ClassVar[str] = "no-small-certain"

    def decide(self, question: Question) -> Finding:
        """Return the finding on a collection, from its counts only."""
        from checks.small_combinations import no_small_certain  # slow to import, and few need it

        aside, k = self.set_aside(question.sensitive), self.least_count
        return no_small_certain(question.collection, aside, k, question.budget, question.witnesses, self.criterion)

    def set_aside(self, sensitive: AnyCollection[str]) -> AnyCollection[str]:
        """Return the attributes that combinations do not include."""
        return () if self.is_about_cells else sensitive


@frozen
class NoSmallCellCertain(NoSmallCertain):
    """Claim that no combination of values, sensitive ones included, certainly has from 1 to k - 1 rows."""

    criterion: ClassVar[str] = "no-small-cell-certain"
    is_about_cells: ClassVar[bool] = True


# Claims in bundles and in texts.


_CLAIMS: dict[str, type[CountClaim | AttributeClaim]] = {
    "k-link": KLink,
    "k-combinatorial": KCombinatorial,
    "no-small-certain": NoSmallCertain,
    "min-cell": MinCell,
    "min-published-cell": MinPublishedCell,
    "no-small-cell-certain": NoSmallCellCertain,
    "diversity": MaxentDiversity,
    "register": Register,
}
"""Class of each name in a request in text; a bundle has the `criterion` of the class."""

_KINDS = {kind.criterion: kind for kind in _CLAIMS.values()}


def parse_claim(claim_json: Mapping[str, Any]) -> Claim:
    """Return the claim that a bundle states. Raises CriterionError for anything else.

    Parameters
    ----------
    claim_json
        Object with the key `criterion` and its parameters.

    >>> parse_claim({"criterion": "k-link", "k": 6})
    KLink(k=6)
    """
    if not isinstance(claim_json, Mapping):
        raise CriterionError(
            f'a claim is stated as {{"criterion": "k-link", "k": 6}}, not as {quoted_value(claim_json)}'
        )
    name = claim_json.get("criterion")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    claim = None if kind is None else kind.from_json(claim_json)
    if claim is None:
        raise CriterionError(f"a privacy claim is {listing(list(_KINDS), 'or')}, not {dict(claim_json)!r}")
    return claim


def claims_from_text(text: str, sensitive: Sequence[str]) -> list[Claim]:
    """Return the claims of `k-link=6`, `k-combinatorial=3`, `min-cell=11`, `diversity=entropy:6` or
    `register=entropy:6`.

    A diversity is claimed for each sensitive attribute. Raises CriterionError for anything else.
    """
    name, _, value = text.partition("=")
    if name in ("k-map", "delta-presence"):
        raise CriterionError(SINGLE_TABLES)
    kind, k = _CLAIMS.get(name), number_of_rows(value)
    if kind is None or (k is None and issubclass(kind, CountClaim)):
        forms = [f"{name}={'K' if issubclass(kind, CountClaim) else 'CRITERION'}" for name, kind in _CLAIMS.items()]
        raise CriterionError(f"a check is {listing(forms, 'or')}, not {text!r}")
    if issubclass(kind, CountClaim):
        if k == 1:
            raise CriterionError(f"{text!r} is no check{why_no_demand(1)}")
        return [parse_claim({"criterion": kind.criterion, "k": k})]
    if demands_nothing(parse_diversity(value)):  # the criterion must be installed here
        raise CriterionError(f"{text!r} demands nothing, as every table satisfies it; write {name}=distinct:2 or more")
    if not sensitive:
        raise CriterionError(f"the release has no sensitive attribute whose {name} could be checked")
    return [parse_claim({"criterion": kind.criterion, "diversity": value, "sensitive": a}) for a in sensitive]
