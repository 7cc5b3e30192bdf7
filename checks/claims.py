"""Claims: what a release says of its privacy, and anybody can check on the published marginals.

A new claim is a class with the base `CountClaim` or `AttributeClaim` and a place in `_CLAIMS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from checks.classes import k_link
from checks.combinatorial import (
    GroupTree,
    SensitiveGroup,
    ToldByLabels,
    k_combinatorial,
    label_counts,
    min_cell,
    of_part,
)
from checks.diversity.criterion import Diversity, SensitiveValues
from checks.diversity.derived import LeavingOut, leaving_out, of_people
from checks.diversity.registry import demands_nothing, parse_diversity, stated_diversity, uninstalled_in
from checks.diversity.relative import AtLevel, Closeness
from checks.errors import CriterionError
from checks.finding import FULL, Algorithm, Budget, Finding, Verdict
from checks.maxent.sensitive_tree import SensitiveTree
from checks.population import SINGLE_TABLES
from models.errors import TimeOverError
from models.graphs.junction_tree import Collection
from models.tables.hierarchy import MISSING, Domain

if TYPE_CHECKING:
    from checks.small_combinations import Witnesses


@dataclass(frozen=True, eq=False)
class Question:
    """The question whether a claim holds of a collection.

    sensitive: the attributes that are set aside. budget: of work for the answer. labels: counts that labels tell readers.
    witnesses: what possible tables have shown already; used only if they are of this very collection.
    """

    collection: Collection
    sensitive: AnyCollection[str] = ()
    budget: Budget = FULL
    labels: ToldByLabels = field(default_factory=dict)
    witnesses: "Witnesses | None" = None


@dataclass(frozen=True)
class Claim(ABC):
    """Something that a release claims of its marginals.

    rows_per_person: how many rows a person has at most, so that the claim is about people; None where it is about rows.
    Its words are in `marginals.say.claims`. `CountClaim` and `AttributeClaim` have more methods.
    """

    rows_per_person: int | None = field(default=None, kw_only=True, repr=False)

    criterion: ClassVar[str]
    """Its name in a bundle."""

    form: ClassVar[str]
    """How somebody asks for it in text: a name, `=`, and what stands behind it, for instance `k-link=K`."""

    is_part_by_part: ClassVar[bool] = False
    """Whether a search can judge it by its `parts`, each `on_tree`; others are right without, but slower to search for."""

    @classmethod
    @abstractmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self | None:
        """The claim that a bundle states under this name; None where it does not say what it must."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The demand as a finding states it: without what the claim rests on."""
        demand = {name: value for name, value in self.as_json().items() if name not in ("criterion", "basis")}
        return demand | ({} if self.rows_per_person is None else {"rows_per_person": self.rows_per_person})

    @property
    def about(self) -> str | None:
        """The sensitive attribute that it is about; None where it is about none in particular."""
        return None

    @property
    def failure_lasts_to(self) -> float:
        """The coarsest level of its attribute at which a failure lasts, whatever continues the junction tree."""
        return -inf

    def parts(self, group: SensitiveGroup, domain: Domain) -> list[SensitiveGroup]:
        """The cliques of one of `sensitive_groups` that can break it together where none does alone, if there are any."""
        raise NotImplementedError

    def on_tree(self, tree: SensitiveTree | GroupTree, budget: Budget) -> Verdict:
        """The verdict on one of its parts, each clique of which is allowed by itself."""
        raise NotImplementedError

    def check(self, question: Question) -> Finding:
        """The finding on a collection. May raise TimeOverError when the budget's deadline comes."""
        return replace(self.decide(question), parameters=self.parameters)

    @abstractmethod
    def decide(self, question: Question) -> Finding:
        """The finding on a collection, whose parameters `check` puts right."""


def answer(claim: Claim, question: Question) -> Finding:
    """The finding of its check; undecided if the deadline comes before."""
    try:
        return claim.check(question)
    except TimeOverError as over:
        return undecided(claim, str(over))


def undecided(claim: Claim, note: str) -> Finding:
    """The finding where nothing could be said of a claim. note: why."""
    return Finding(claim.criterion, Verdict.UNDECIDED, claim.parameters, None, (Algorithm.NONE,), 0, note)


def listing(names: Sequence[str], conjunction: str = "and") -> str:
    """Names in a sentence.

    >>> listing(["job"]), listing(["job", "pay", "age"]), listing(["job", "pay"], "or")
    ('job', 'job, pay and age', 'job or pay')
    """
    return f" {conjunction} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


class AttributeClaim(Claim):
    """A claim about the values of one sensitive attribute, whose name a bundle states as `sensitive`."""

    @property
    @abstractmethod
    def about(self) -> str:
        """The sensitive attribute that it is about."""

    @property
    @abstractmethod
    def level(self) -> int:
        """Of that attribute, the level whose values it judges; 0 for the finest published ones."""

    @property
    @abstractmethod
    def class_diversity(self) -> Diversity | None:
        """What it demands of every class of a margin that shows the attribute; None where that cannot be decided."""

    @abstractmethod
    def stated_on(self, collection: Collection, level: int | None = None) -> Self:
        """Return the claim by no labels but those that a collection shows, as a release of it states it.

        level: the number that the judged level has in the release, if it is another one.
        """


@dataclass(frozen=True)
class MaxentDiversity(AttributeClaim):
    """The maximum-entropy distribution given the marginals is diverse in one sensitive attribute.

    level: of the attribute's hierarchy, whose values are judged; the finest published ones where these are coarser.
    """

    diversity: Diversity
    sensitive: str
    level: int = 0
    criterion: ClassVar[str] = "maxent-diversity"
    form: ClassVar[str] = "diversity=CRITERION"
    is_part_by_part: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.level, bool) or not isinstance(self.level, int) or self.level < 0:
            raise CriterionError(f"a diversity is judged at a level of at least 0, not {self.level!r}")
        if self.level and self.diversity.about_base_values:
            raise CriterionError(
                f"{self.diversity} is about base values, so it is demanded at level 0, not {self.level}"
            )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self | None:
        """From the text of its `diversity`, the name of the `sensitive` attribute, and the `level` where it is not 0."""
        match content:
            case {"diversity": str(diversity), "sensitive": str(sensitive)}:
                return cls(stated_diversity(diversity), sensitive, content.get("level", 0))
        return None

    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""
        content = {"criterion": self.criterion, "diversity": str(self.diversity), "sensitive": self.sensitive}
        return content | ({"level": self.level} if self.level else {})

    def decide(self, question: Question) -> Finding:
        """The finding on a collection; the other sensitive attributes count as nonsensitive here (MKGV07 Def. 4.6)."""
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

    @property
    def distance(self) -> str:
        """How far apart it takes values to be: "ordered" or "hierarchical"; "equal" where it does not compare them."""
        plain = self.diversity.plain if isinstance(self.diversity, LeavingOut) else self.diversity
        return plain.distance if isinstance(plain, Closeness) else "equal"

    @property
    def left_out(self) -> tuple[str, ...]:
        """The labels that stand for no value, where it is about those whose value is known alone."""
        return self.diversity.labels if isinstance(self.diversity, LeavingOut) else ()

    def leaving_out(self, *labels: str) -> Self:
        """Of those whose value is known alone. labels: what stands for no value; none changes nothing."""
        return replace(self, diversity=leaving_out(self.diversity, labels))

    def stated_on(self, collection: Collection, level: int | None = None) -> Self:
        """Return the claim with the labels of the values that it judges: the finest that are shown, or coarser ones.

        Raises CriterionError for a level that the attribute's hierarchy does not have below `*`.
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

    def parts(self, group: SensitiveGroup, domain: Domain) -> list[SensitiveGroup]:
        """The cliques with the attribute, as far as there are any: these decide it (KG06 Prop. 7.3)."""
        attribute_mask = domain.attribute_masks[domain.index(self.sensitive)]
        showing = tuple(clique for clique in group.cliques if clique & attribute_mask)
        return [SensitiveGroup((self.sensitive,), showing)] if showing else []

    def on_tree(self, tree: SensitiveTree | GroupTree, budget: Budget) -> Verdict:
        """The verdict on all cliques with the attribute."""
        assert isinstance(tree, SensitiveTree)  # a part is about one attribute
        if (diversity := self.class_diversity) is None:
            return Verdict.UNDECIDED
        from checks.maxent.maxent_diversity import decided  # slow to import, and few need it

        return decided(tree, diversity.among(tree.values), budget)[1].verdict

    @property
    def failure_lasts_to(self) -> float:
        """A failing part of a junction tree fails the whole (KG06 Prop. 7.2), unless what continues from it shows finer
        sensitive values, of which there can be enough; of base values there never are.
        """
        return inf if self.diversity.about_base_values else self.level

    @property
    def about(self) -> str:
        """The attribute."""
        return self.sensitive

    @property
    def class_diversity(self) -> Diversity | None:
        """The criterion itself, or that of people: a single clique that fails it already decides (KG06 Prop. 7.2).

        None where it cannot be decided of people.
        """
        plain = self.diversity.plain if isinstance(self.diversity, LeavingOut) else self.diversity
        people = of_people(plain, self.rows_per_person or 1)
        if people is None:
            return None
        whose = replace(self.diversity, plain=people) if isinstance(self.diversity, LeavingOut) else people
        return AtLevel(whose, self.level) if self.level else whose


VERIFIED, ATTESTED = "verified", "attested"
"""What a claim can rest on: the files, which anybody can check, or the word of the publisher, who has the table."""


@dataclass(frozen=True)
class Register(AttributeClaim):
    """A diversity also holds of somebody who knows the nonsensitive values of everybody in the table.

    basis: "verified" where the files decide it, else "attested": then a bundle holds no more of it than that it is claimed,
    since what the worst class reaches could tell of the table what its marginals do not.
    """

    of: MaxentDiversity
    basis: str = VERIFIED
    criterion: ClassVar[str] = "register"
    form: ClassVar[str] = "register=CRITERION"

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self | None:
        """The claim of a diversity and its basis."""
        of, basis = MaxentDiversity.from_json(content), content.get("basis", VERIFIED)
        return None if of is None or basis not in (VERIFIED, ATTESTED) else cls(of, basis)

    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""
        return {**self.of.as_json(), "criterion": self.criterion, "basis": self.basis}

    def decide(self, question: Question) -> Finding:
        """Attested where counts do not decide it, no single class refutes it and the publisher says that it holds."""
        from checks.register import UNKNOWN, UNLINKED, failing_class, register_diversity  # slow to import, few need it

        if (lacking := uninstalled_in(self.of.diversity)) is not None:
            return undecided(self, lacking.lacking())
        if (self.rows_per_person or 1) > 1:
            return undecided(self, SEVERAL_ROWS)
        if (diversity := self.class_diversity) is None:
            return undecided(self, f"whether people are {self.of.diversity} cannot be decided")
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
        """The same claim with the basis that it has where these marginals are published."""
        from checks.register import is_decided_by  # slow to import, and few need it

        return replace(self, basis=VERIFIED if is_decided_by(collection, self.about, sensitive) else ATTESTED)

    def stated_on(self, collection: Collection, level: int | None = None) -> Self:
        """Return the claim by no labels but those that a collection shows."""
        return replace(self, of=self.of.stated_on(collection, level))

    @property
    def about(self) -> str:
        """The attribute."""
        return self.of.sensitive

    @property
    def level(self) -> int:
        """The level of the diversity."""
        return self.of.level

    @property
    def left_out(self) -> tuple[str, ...]:
        """The labels that the diversity leaves out."""
        return self.of.left_out

    def leaving_out(self, *labels: str) -> Self:
        """The claim of the diversity that leaves labels out."""
        return replace(self, of=self.of.leaving_out(*labels))

    @property
    def class_diversity(self) -> Diversity | None:
        """That of the diversity, of those who have a value: that somebody has none is none that a reader could learn."""
        return replace(self.of.leaving_out(MISSING), rows_per_person=self.rows_per_person).class_diversity


BY_THE_PUBLISHER = "attested by the publisher, who has the table; the files cannot show it"
SEVERAL_ROWS = "readers with a register are not considered where a person can have several rows"


@dataclass(frozen=True)
class CountClaim(Claim):
    """A claim that some counts are 0, or at least k. Raises CriterionError for a k that is no whole number of at least 1.

    With `rows_per_person` it is about people: a count must be what k people have if each has as many rows as can be.
    """

    k: int

    is_about_single_margins: ClassVar[bool] = False
    """Whether margins with a junction tree keep it together as soon as each does by itself."""

    is_about_cells: ClassVar[bool] = False
    """Whether it counts sensitive attributes like the others."""

    def __post_init__(self) -> None:
        if not is_number_of_rows(self.k):
            raise CriterionError(f"{self.criterion} needs a whole number from 1 to {MOST_ROWS:,}, got {quoted_value(self.k)}")

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self | None:
        """The claim of a `k`."""
        return cls(content["k"]) if "k" in content else None

    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""
        return {"criterion": self.criterion, "k": self.k}

    @property
    def least_count(self) -> int:
        """The rows that every class of a margin must have, sensitive attributes set aside."""
        return self.k * (self.rows_per_person or 1)

    @property
    def least_cell(self) -> int | None:
        """The rows that every cell of a margin must have, sensitive attributes counted; None if it demands none."""
        return self.least_count if self.is_about_cells else None

    def shows_smallest(self, finding: Finding) -> bool:
        """Return whether the count of the worst cell of a finding is certainly the smallest."""
        return finding.holds and not finding.note


def number_of_rows(text: str) -> int | None:
    """The number that a text states, None for what is no whole number of at most twelve digits.

    >>> number_of_rows("10"), number_of_rows("ten")
    (10, None)
    """
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


_DIGITS = 12
"""Most digits of a number of rows in text."""

MOST_ROWS = 10**_DIGITS - 1
"""Rows or people that anybody would demand; times the rows of a person they are still a number of 64 bits."""


LEAST_DEMAND = 2
"""The smallest count that can be demanded: every class and every cell that there is has one row."""


def why_no_demand(number: object) -> str:
    """Why 1 is no demand, as the end of a message, with what to write instead; empty for any other number.

    >>> why_no_demand(1), why_no_demand(0)
    ('; 1 demands nothing, so write a larger number, such as 10, or leave it out', '')
    """
    is_one = number == 1 and number is not True
    return "; 1 demands nothing, so write a larger number, such as 10, or leave it out" if is_one else ""


def is_number_of_rows(number: object, least: int = 1) -> bool:
    """Whether something is a whole number of rows that can be demanded.

    >>> is_number_of_rows(10), is_number_of_rows(2**63), is_number_of_rows(True)
    (True, False, False)
    """
    return isinstance(number, int) and not isinstance(number, bool) and least <= number <= MOST_ROWS


def quoted_value(value: object) -> str:
    """What somebody gave in the place of a number, in a message.

    >>> quoted_value(-1), quoted_value("x"), quoted_value(10**5000)
    ('-1', "'x'", 'a number of more digits')
    """
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a number of more digits"
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


@dataclass(frozen=True)
class MinCell(CountClaim):
    """No count from 1 to k - 1 is published, or bounded by the marginals together, or of a value that a label tells of."""

    criterion: ClassVar[str] = "min-cell"
    form: ClassVar[str] = "min-cell=K"
    is_about_single_margins: ClassVar[bool] = True
    is_about_cells: ClassVar[bool] = True

    def decide(self, question: Question) -> Finding:
        """The finding on a collection."""
        finding = min_cell(question.collection, self.least_count, question.budget)
        by_labels = label_counts(question.collection, question.labels, self.least_count)
        if finding.verdict is Verdict.FAILS or by_labels.holds:
            return finding
        examined = finding.examined + (0 if finding.holds else by_labels.examined)
        return replace(by_labels, criterion=finding.criterion, examined=examined)

    def shows_smallest(self, finding: Finding) -> bool:
        """If it holds, every published count was looked at; if it fails, any cell below k may be shown."""
        return finding.holds


@dataclass(frozen=True)
class KCombinatorial(CountClaim):
    """Every combination of nonsensitive values that the marginals leave possible could be shared by at least k rows."""

    criterion: ClassVar[str] = "k-combinatorial"
    form: ClassVar[str] = "k-combinatorial=K"
    is_part_by_part: ClassVar[bool] = True

    def decide(self, question: Question) -> Finding:
        """The finding on a collection."""
        return k_combinatorial(question.collection, question.sensitive, self.least_count, question.budget)

    def parts(self, group: SensitiveGroup, domain: Domain) -> list[SensitiveGroup]:  # noqa: ARG002
        """The group; where every class has k rows, one clique cannot break it."""
        return [group] if len(group.cliques) > 1 else []

    def on_tree(self, tree: SensitiveTree | GroupTree, budget: Budget) -> Verdict:
        """The verdict on the whole, since each part decides by itself."""
        return of_part(tree, self.least_count, budget).verdict

    @property
    def failure_lasts_to(self) -> float:
        """More margins leave no more room."""
        return inf


@dataclass(frozen=True)
class KLink(CountClaim):
    """Each class of a marginal has at least k rows, or people."""

    criterion: ClassVar[str] = "k-link"
    form: ClassVar[str] = "k-link=K"
    is_about_single_margins: ClassVar[bool] = True

    def decide(self, question: Question) -> Finding:
        """The finding on a collection."""
        return k_link(question.collection, question.sensitive, self.least_count)

    def shows_smallest(self, finding: Finding) -> bool:
        """Every count is looked at, so any that is shown is."""
        return finding.worst is not None


@dataclass(frozen=True)
class MinPublishedCell(KLink):
    """No published count is from 1 to k - 1, sensitive attributes counted. What several tables tell is not meant."""

    criterion: ClassVar[str] = "min-published-cell"
    form: ClassVar[str] = "min-published-cell=K"
    is_about_cells: ClassVar[bool] = True

    def decide(self, question: Question) -> Finding:
        """The finding on a collection: every published count is looked at."""
        return replace(k_link(question.collection, (), self.least_count), criterion=self.criterion)


@dataclass(frozen=True)
class NoSmallCertain(CountClaim):
    """No combination of nonsensitive values is certain to have from 1 to k - 1 rows.

    With a junction tree it is about every set of people, else about the combinations of `checks.small_combinations`.
    """

    criterion: ClassVar[str] = "no-small-certain"
    form: ClassVar[str] = "no-small-certain=K"

    def decide(self, question: Question) -> Finding:
        """The finding on a collection, from its counts alone."""
        from checks.small_combinations import no_small_certain  # slow to import, and few need it

        return no_small_certain(
            question.collection, question.sensitive, self.least_count, question.budget, question.witnesses
        )


# Claims in bundles and in texts.


_CLAIMS = (KLink, KCombinatorial, NoSmallCertain, MinCell, MinPublishedCell, MaxentDiversity, Register)
_KINDS: dict[str, type[CountClaim | AttributeClaim]] = {kind.criterion: kind for kind in _CLAIMS}
"""The class of each criterion in a bundle."""


def parse_claim(claim_json: Mapping[str, Any]) -> Claim:
    """The claim that a bundle states. Raises CriterionError for what is not one.

    >>> parse_claim({"criterion": "k-link", "k": 6})
    KLink(k=6)
    """
    if not isinstance(claim_json, Mapping):
        raise CriterionError(f'a claim is stated as {{"criterion": "k-link", "k": 6}}, not as {quoted_value(claim_json)}')
    name = claim_json.get("criterion")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    claim = None if kind is None else kind.from_json(claim_json)
    if claim is None:
        raise CriterionError(f"a privacy claim is {listing(list(_KINDS), 'or')}, not {dict(claim_json)!r}")
    return claim


def claims_from_text(text: str, sensitive: Sequence[str]) -> list[Claim]:
    """The claims behind `k-link=6`, `k-combinatorial=3`, `min-cell=11`, `diversity=entropy:6` or `register=entropy:6`.

    A diversity is claimed for each sensitive attribute. Raises CriterionError for anything else.

    >>> claims_from_text("diversity=distinct:2", ["diagnosis"])
    [MaxentDiversity(diversity=Distinct(l=2), sensitive='diagnosis', level=0)]
    """
    name, _, value = text.partition("=")
    if name in ("k-map", "delta-presence"):
        raise CriterionError(SINGLE_TABLES)
    kind = next((kind for kind in _KINDS.values() if kind.form.partition("=")[0] == name), None)
    k = number_of_rows(value)
    if kind is None or (k is None and issubclass(kind, CountClaim)):
        raise CriterionError(f"a check is {listing([kind.form for kind in _KINDS.values()], 'or')}, not {text!r}")
    if issubclass(kind, CountClaim):
        if k == 1:
            raise CriterionError(f"{text!r} is no check{why_no_demand(1)}")
        return [parse_claim({"criterion": kind.criterion, "k": k})]
    if demands_nothing(parse_diversity(value)):  # what is asked for must be known here
        raise CriterionError(f"{text!r} demands nothing, as every table satisfies it; write {name}=distinct:2 or more")
    if not sensitive:
        raise CriterionError(f"the release has no sensitive attribute whose {name} could be checked")
    return [parse_claim({"criterion": kind.criterion, "diversity": value, "sensitive": a}) for a in sensitive]
