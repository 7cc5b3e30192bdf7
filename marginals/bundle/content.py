"""What a release publishes: the marginals, who the attributes are about, what is claimed of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from checks.claims import (
    AttributeClaim,
    Claim,
    CountClaim,
    KLink,
    MaxentDiversity,
    MinCell,
    NoSmallCertain,
    Question,
    answer,
    listing,
    undecided,
)
from checks.combinatorial import ToldByLabels, crowded, label_counts
from checks.diversity.criterion import Diversity
from checks.finding import FULL, Finding, Verdict
from checks.impossible import ImpossiblePair, given_pairs
from marginals.bundle.imprint import NO_IMPRINT, TITLE, Imprint
from marginals.errors import InputError
from marginals.named_rules import AppliedRule
from marginals.results import plain
from marginals.tables.attribute import COUNT, Codebook, Role
from marginals.tables.group_names import seemingly_listed
from marginals.tables.people import RowsPerPerson
from models.deadline import NEVER, Deadline
from models.errors import MarginalsError, TimeOverError
from models.graphs.junction_tree import Collection, Crossing, maximal_masks
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.hierarchy import Domain, Mask

if TYPE_CHECKING:
    from checks.maxent.surest import HarmfulValues
    from checks.small_combinations import Witnesses

INFORMATION_DECIMALS = 6
"""Decimals to which a bundle states its information."""


@dataclass(frozen=True)
class Verification:
    """The findings on some claims, those that only the publisher can know as attested.

    warnings: what else somebody should know who verifies. smallest_sensitive: of each sensitive attribute that is published,
    the smallest published count that includes it; both decide nothing. rules: those that demand some of the claims.
    published: the content of the one bundle whose files can be trusted, if there is one.
    """

    checks: tuple[Finding, ...]
    warnings: tuple[str, ...] = ()
    rules: tuple[AppliedRule, ...] = ()
    smallest_sensitive: Mapping[str, int] = field(default_factory=dict)
    published: "BundleContent | None" = field(default=None, compare=False, repr=False)
    crossing: tuple[Crossing, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every check is proven to hold that is not attested: an attestation neither passes nor fails."""
        return all(finding.holds for finding in self.checks if finding.verdict is not Verdict.ATTESTED)

    @property
    def attested(self) -> tuple[Finding, ...]:
        """The findings that say no more than what the publisher attests."""
        return tuple(finding for finding in self.checks if finding.verdict is Verdict.ATTESTED)

    def as_json(self) -> dict[str, Any]:
        """The verification as plain values."""
        told = {
            "rules": self.rules,
            "harmful_values": [*self.published.harmful.values()] if self.published else [],
            "smallest_sensitive_counts": self.smallest_sensitive,
            "warnings": self.warnings,
            "crossing_levels": self.crossing,
        }
        checks = {"ok": self.ok, "checks": plain(self.checks)}
        return checks | {name: plain(each) for name, each in told.items() if each}

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), *(f"warning: {warning}" for warning in self.warnings)])


@dataclass(frozen=True, eq=False)
class BundleContent:
    """The content of a bundle.

    collection: over a cube of the published marginals alone; with further tables the core, beside which they stand. further:
    the margins of these, of nonsensitive attributes, each a table of the same cube. deadline: what is not proven by then is
    undecided. rows_per_person: at most so many rows are of one person, and then the claims are about people; "any" number;
    None where nothing is said. rules: what they demand is among the claims. turnover_known: whether readers know that people
    come and go between releases. where: the part of the table whose rows are counted. labels: what labels tell readers of
    the values that they stand for; None where the release does not say that. impossible: pairs of labels that everybody
    knows nobody to have. witnesses: what possible tables of these marginals have shown already. Raises InputError for
    further tables of which it is not known what they tell (`further_fault`).
    """

    collection: Collection
    roles: Mapping[str, Role]
    claims: tuple[Claim, ...] = ()
    title: str = TITLE
    deadline: Deadline = NEVER
    rows_per_person: RowsPerPerson = None
    codebook: Codebook = field(default_factory=Codebook)
    rules: tuple[AppliedRule, ...] = ()
    turnover_known: bool = False
    where: str = ""
    labels: ToldByLabels | None = None
    further: tuple[Mask, ...] = ()
    imprint: Imprint = NO_IMPRINT
    impossible: tuple[ImpossiblePair, ...] = ()
    witnesses: "Witnesses | None" = None

    def __post_init__(self) -> None:
        if fault := further_fault(self):
            raise InputError(fault)
        rules = tuple(rule.stating(partial(replace, rows_per_person=self.most_rows_of_a_person)) for rule in self.rules)
        claims = [replace(claim, rows_per_person=self.most_rows_of_a_person) for claim in self.claims]
        for rule in rules:
            claims += [claim for claim in rule.claims if claim not in claims]
        object.__setattr__(self, "claims", tuple(claims))
        object.__setattr__(self, "rules", rules)

    @cached_property
    def everything(self) -> Collection:
        """All published marginals: the core, and the further tables beside it."""
        if not self.further:
            return self.collection
        return Collection.of(self.collection.cube, [*self.collection.masks, *self.further], self.collection.supports)

    def given(
        self, claim: Claim | None = None, pairs: Sequence[ImpossiblePair] = (), collection: Collection | None = None
    ) -> Collection:
        """All published marginals, or a collection, given the impossible pairs, or others. May raise CriterionError."""
        told = {name for name, numbers in self.known_labels.items() if max(numbers.values()) > 1}
        listed = [name for name in self.domain.attributes if self.labels is None or name in told]
        if not isinstance(claim, MinCell):  # which is about values behind labels, too
            listed = []
        least = claim.least_count if isinstance(claim, CountClaim) else 1
        return given_pairs(collection or self.everything, pairs or self.impossible, listed, least)

    @cached_property
    def model(self) -> MarginalModel:
        """What the published marginals let expect, what is certain by them, and rows like theirs."""
        return model_of(self.everything, self.collection, self.deadline)

    @property
    def most_rows_of_a_person(self) -> int | None:
        """How many rows a person has at most, so that claims are about people; None where they are about rows."""
        return self.rows_per_person if isinstance(self.rows_per_person, int) else None

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.collection.domain

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive attributes, in the domain's order."""
        return tuple(a for a in self.domain.attributes if self.roles[a] is Role.SENSITIVE)

    @property
    def unpublished(self) -> tuple[str, ...]:
        """The attributes that no marginal shows, in the domain's order."""
        return tuple(a for a in self.domain.attributes if not self.everything.shows(a))

    @cached_property
    def smallest_sensitive(self) -> dict[str, int]:
        """Of each sensitive attribute that is published the smallest count, but 0, of a cell of a table that shows it."""
        smallest: dict[str, int] = {}
        for table in self.collection.tables:
            for attribute in (name for name in self.sensitive if name in table.margin and len(table)):
                smallest[attribute] = min(int(table.counts.min()), smallest.get(attribute, table.total))
        return {name: smallest[name] for name in self.sensitive if name in smallest}

    @cached_property
    def known_labels(self) -> ToldByLabels:
        """What the release says that labels tell of the values behind them, by attribute and label."""
        return {name: told for name, told in (self.labels or {}).items() if told}

    @property
    def least_count(self) -> int:
        """The largest count of rows that is claimed of anything; 1 where none is."""
        return max((claim.least_count for claim in self.claims if isinstance(claim, CountClaim)), default=1)

    @cached_property
    def information(self) -> float | None:
        """Nats by which the maximum-entropy distribution of the core differs from independence, rounded as in a bundle.

        With further tables it is the least that all tell. None where the core has no junction tree.
        """
        if not self.collection.is_decomposable:
            return None
        return round(MaximumEntropy(self.collection).information, INFORMATION_DECIMALS) + 0.0  # never -0.0

    def verify(self, claims: Sequence[Claim] | None = None) -> Verification:
        """Check the claims made, and with them the rules, or other claims, on the marginals alone."""
        return self._verified if claims is None else self._checked(claims)

    def as_one(self) -> "BundleContent":
        """The same with all tables alike, none of them further: as they are judged beside tables of other releases."""
        return replace(self, collection=self.everything, further=()) if self.further else self

    def claiming(self, claims: Sequence[Claim], rules: Sequence[AppliedRule] = ()) -> "BundleContent":
        """The same content with other claims and rules."""
        return replace(self, claims=tuple(claims), rules=tuple(rules))

    @cached_property
    def harmful(self) -> Mapping[str, "HarmfulValues"]:
        """How sure a reader can be of each value that the claims bound, by sensitive attribute."""
        from checks.maxent.surest import harmful_values  # slow to import, and few need it

        criteria: dict[str, list[Diversity]] = {}
        for claim in self.claims:
            if isinstance(claim, MaxentDiversity) and claim.class_diversity is not None:
                criteria.setdefault(claim.about, []).append(claim.class_diversity)
        people = self.most_rows_of_a_person or 1
        try:
            found = (harmful_values(self.collection, a, own, people, self.deadline) for a, own in criteria.items())
            return {each.sensitive: each for each in found if each is not None}
        except TimeOverError:
            return {}

    @cached_property
    def _verified(self) -> Verification:
        verified = self._checked(self.claims)
        return replace(verified, rules=tuple(rule.judged(self.claims, verified.checks) for rule in self.rules))

    def _checked(self, claims: Sequence[Claim]) -> Verification:
        findings = dict[Claim, Finding]()
        slow_last = sorted(claims, key=lambda claim: isinstance(claim, NoSmallCertain))
        for number, claim in enumerate(slow_last):
            budget = FULL.until(self.deadline.share(len(claims) - number))
            counted = replace(claim, rows_per_person=self.most_rows_of_a_person)
            try:
                judged = self._deciding(counted)
            except MarginalsError as error:
                findings[claim] = undecided(counted, str(error))
                continue
            result = answer(counted, Question(judged, self.sensitive, budget, self.known_labels, self.witnesses))
            findings[claim] = self._as_far_as_said(counted, result)
        checks, crossing = tuple(map(findings.__getitem__, claims)), self.everything.crossings
        return Verification(checks, smallest_sensitive=self.smallest_sensitive, crossing=crossing)

    def _deciding(self, claim: Claim) -> Collection:
        # a claim on a sensitive attribute is decided by its one table, whatever tables of others stand beside it (4.18)
        if isinstance(claim, AttributeClaim):
            return self.collection
        # published counts are what they are, whatever is impossible
        return self.everything if isinstance(claim, KLink) else self.given(claim)

    def _as_far_as_said(self, claim: Claim, finding: Finding) -> Finding:
        # undecided if the release says nothing of values behind labels, and small counts follow if all seem to occur
        if not finding.holds or not isinstance(claim, MinCell):
            return finding
        if self.labels is None:
            listed = label_counts(self.everything, self._seemingly_listed, claim.least_count)
            if not listed.holds:
                note = f"the release does not say which of these values occur (release.occurring); if all do, {listed.note}"
                return replace(finding, verdict=Verdict.UNDECIDED, worst=listed.worst, note=note)
            names = crowded(self.everything, claim.least_count)
            note = (
                "values below the published ones of {} may have no rows as far as the release says; whoever knows that all "
                "of them occur can conclude smaller counts"
            )
        else:
            resting = (name for name, listed in self._seemingly_listed.items() if listed or name in self.known_labels)
            names = tuple(filter(self.everything.shows, resting))
            note = "that no smaller count follows from labels of {} rests on what the release says of them"
        if not names:
            return finding
        note = note.format(listing([*map(repr, names)]))
        return replace(finding, note="; ".join(filter(None, [finding.note, note])))

    @property
    def _seemingly_listed(self) -> ToldByLabels:
        return {
            name: {label: n for label in chain(*h.labels[:-1]) if (n := seemingly_listed(label)) > 1}
            for name, h in self.domain.items()
        }


def model_of(everything: Collection, core: Collection, deadline: Deadline = NEVER) -> MarginalModel:
    """The model of published marginals, of which the core has a junction tree where there are others beside it."""
    if everything is core or everything.masks == core.masks:
        return MarginalModel(core, deadline)
    from models.inference.beside_core import ModelBesideCore  # few need it

    return ModelBesideCore(everything, deadline, core=core)


def further_fault(published: BundleContent) -> str:
    """Why nothing is known of what the further tables of a release tell, as a sentence without its full stop; else empty.

    What is judged of a sensitive attribute holds beside any tables over nonsensitive attributes if one table shows it, and
    each person has one row (design 4.18).
    """
    if not published.further:
        return ""
    domain, sensitive = published.domain, published.sensitive
    attribute_masks = {name: domain.attribute_masks[domain.index(name)] for name in sensitive}
    for name, mask in attribute_masks.items():
        if any(mask & further for further in published.further):
            return f"a further table shows {name!r}, which is sensitive; further tables are of nonsensitive attributes alone"
        if len(maximal_masks(clique for clique in published.collection.masks if clique & mask)) > 1:
            return f"several tables show {name!r}, which is sensitive; beside further tables one may"
    if published.rows_per_person not in (None, 1):
        return "a person can have several rows, and beside further tables each has one"
    return ""


DESCRIPTOR = "datapackage.json"
REPORT = "report.html"
FORMAT = 1
"""Version of the format."""
FURTHER = "further"
"""What the marginal of a further table says of itself."""
KNOWN = "known"
"""What a release says of turnover whose readers are taken to know that people come and go."""
PACKAGE = {
    "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
    "name": "anonymized-marginals",
    "title": TITLE,
    "description": "Generalized tables of counts from one table about people. Privacy claims: see release.privacy.",
}
"""What each descriptor says of itself; the title is a publisher's own."""
TABLE = {"type": "table", "format": "csv", "mediatype": "text/csv", "encoding": "utf-8"}
"""What the resource of each marginal and hierarchy says of its file."""


def schema_of(header: Sequence[str]) -> dict[str, Any]:
    """The Table Schema of a file with this header: the column `count` has whole numbers from 1 on, all others have texts."""
    count = {"name": COUNT, "type": "integer", "constraints": {"required": True, "minimum": 1}}
    key = [name for name in header if name != COUNT] if COUNT in header else header[:1]
    fields = [count if name == COUNT else {"name": name, "type": "string"} for name in header]
    return {"fields": fields, "primaryKey": key, "missingValues": []}


MAX_DESCRIPTOR_BYTES = 16 << 20
MAX_SIGNATURE_BYTES = 1 << 14
"""Of a seal, a signature or a key."""
MAX_FILE_BYTES = 128 << 20
MAX_BYTES = 256 << 20
"""Of all resources."""
MAX_RESOURCES = 1000
MAX_ATTRIBUTES = 200
MAX_LEVELS = 100
MAX_CLAIMS = 1_000
MAX_RULES = 20
MAX_PAIRS = 1000
"""Of impossible pairs."""
MAX_ROWS = 10**15


class Published(Protocol):
    """What is public of a release: its marginals."""

    @property
    def collection(self) -> Collection:
        """The published marginals; beside further tables the core."""

    @property
    def everything(self) -> Collection:
        """All published marginals, further tables too."""

    @property
    def least_count(self) -> int:
        """The largest count of rows that is claimed of anything; 1 where none is."""


class Released(Protocol):
    """What has published marginals: a release."""

    @property
    def published(self) -> BundleContent:
        """The content of its bundle."""
