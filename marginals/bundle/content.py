"""Content of a release: its marginals, the people or rows that they count, and the claims on them."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
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
    Register,
    answer,
    listing,
    undecided,
)
from checks.combinatorial import ToldByLabels, crowded, label_counts, sensitive_groups
from checks.diversity.criterion import Diversity
from checks.errors import CriterionError
from checks.finding import FULL, Finding, Verdict
from checks.impossible import ImpossiblePair, given_pairs
from marginals.bundle.imprint import NO_IMPRINT, TITLE, Imprint
from marginals.errors import InputError
from marginals.files import DESCRIPTOR as DESCRIPTOR
from marginals.files import MAX_DESCRIPTOR_BYTES as MAX_DESCRIPTOR_BYTES
from marginals.named_rules import AppliedRule
from marginals.results import plain
from marginals.tables.attribute import COUNT, Codebook, Role
from marginals.tables.group_names import seemingly_listed
from marginals.tables.people import RowsPerPerson
from models.deadline import NEVER, Deadline
from models.errors import MarginalsError, TimeOverError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, Crossing, is_collapsible
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.hierarchy import Domain, Mask

if TYPE_CHECKING:
    from checks.maxent.surest import HarmfulValues
    from checks.small_combinations import Witnesses

INFORMATION_DECIMALS = 6


@frozen
class Verification:
    """Findings on some claims; claims that only the publisher can check are attested.

    `warnings`: other facts for a verifier. `smallest_sensitive`: of each published sensitive attribute, the smallest
    published count that includes it. Both decide nothing. `rules`: those that demand some of the claims. `published`:
    the content of the one bundle whose files can be trusted, if there is one.
    """

    checks: tuple[Finding, ...]
    warnings: tuple[str, ...] = ()
    rules: tuple[AppliedRule, ...] = ()
    smallest_sensitive: Mapping[str, int] = field(default_factory=dict)
    published: "BundleContent | None" = field(default=None, compare=False, repr=False)
    crossing: tuple[Crossing, ...] = ()

    @property
    def unproven(self) -> tuple[Finding, ...]:
        """Findings that do not hold, and are not attested: an attestation neither passes nor fails."""
        return tuple(one for one in self.checks if not one.holds and one.verdict is not Verdict.ATTESTED)

    @property
    def ok(self) -> bool:
        """Return whether every check is proven to hold that is not attested."""
        return not self.unproven

    @property
    def attested(self) -> tuple[Finding, ...]:
        """Findings that rest on an attestation of the publisher."""
        return tuple(finding for finding in self.checks if finding.verdict is Verdict.ATTESTED)

    def as_json(self) -> dict[str, Any]:
        """Return the verification as plain values."""
        facts = {
            "rules": self.rules,
            "harmful_values": [*self.published.harmful.values()] if self.published else [],
            "smallest_sensitive_counts": self.smallest_sensitive,
            "warnings": self.warnings,
            "crossing_levels": self.crossing,
        }
        checks = {"ok": self.ok, "checks": plain(self.checks)}
        return checks | {name: plain(value) for name, value in facts.items() if value}

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), *(f"warning: {warning}" for warning in self.warnings)])


@frozen(eq=False)
class BundleContent:
    """Content of a bundle.

    `collection`: over a cube of only the published marginals; with further tables the core. `further`: the margins of
    further tables, of nonsensitive attributes, each a table of the same cube. `deadline`: claims that are not proven by
    then are undecided. `rows_per_person`: most rows of one person, so that the claims are about people; "any" number; None
    where the release does not say. `one_row`: the row of each person that counts, if one was chosen. `rules`: the claims
    include their demands. `turnover_known`: whether readers know that people come and go between releases. `where`: the
    part of the table whose rows are counted. `labels`: numbers of values behind labels that readers learn; None where the
    release does not say. `impossible`: pairs of labels that nobody has, as everybody knows. `witnesses`: facts that
    possible tables of these marginals have proven already. Raises InputError for further tables of unknown effect.
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
    witnesses: "tuple[Witnesses, ...]" = ()
    one_row: str | None = None

    def __post_init__(self) -> None:
        if fault := _further_fault(self):
            raise InputError(fault)
        rules = tuple(rule.stating(partial(replace, rows_per_person=self.most_rows_of_a_person)) for rule in self.rules)
        claims = [replace(claim, rows_per_person=self.most_rows_of_a_person) for claim in self.claims]
        for rule in rules:
            claims += [claim for claim in rule.claims if claim not in claims]
        object.__setattr__(self, "claims", tuple(claims))
        object.__setattr__(self, "rules", rules)

    @cached_property
    def everything(self) -> Collection:
        """Published marginals: the core, and the further tables beside it."""
        if not self.further:
            return self.collection
        return Collection.of(self.collection.cube, [*self.collection.masks, *self.further], self.collection.supports)

    def without_impossible(
        self, claim: Claim | None = None, pairs: Sequence[ImpossiblePair] = (), collection: Collection | None = None
    ) -> Collection:
        """Published marginals, or a collection, without the cells of impossible pairs where these matter for a claim.

        May raise CriterionError.
        """
        published = collection or self.everything
        # Published counts do not depend on pairs, nor does a reader who knows who has which nonsensitive values.
        if isinstance(claim, KLink | Register):
            return published
        counted = {name for name, numbers in self.known_labels.items() if max(numbers.values()) > 1}
        occurring = [name for name in self.domain.attributes if self.labels is None or name in counted]
        if not isinstance(claim, MinCell):  # which is about values behind labels, too
            occurring = []
        least = claim.least_count if isinstance(claim, CountClaim) else 1
        remaining = given_pairs(published, pairs or self.impossible, occurring, least)
        if isinstance(claim, MaxentDiversity) and all(
            is_collapsible(
                group.cliques, [*remaining.masks, *(remaining.domain.mask(s.cells.margin) for s in remaining.supports)]
            )
            for group in sensitive_groups(remaining.domain, remaining.masks, [claim.sensitive])
        ):
            return published
        return remaining

    @cached_property
    def model(self) -> MarginalModel:
        """Model of the published marginals: expected counts, certain counts, and similar rows."""
        return model_of(self.everything, self.collection, self.deadline)

    @property
    def most_rows_of_a_person(self) -> int | None:
        """Most rows of a person, so that claims are about people; None where they are about rows."""
        return self.rows_per_person if isinstance(self.rows_per_person, int) else None

    @property
    def domain(self) -> Domain:
        """Attributes with their hierarchies."""
        return self.collection.domain

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Sensitive attributes, in the domain's order."""
        return tuple(a for a in self.domain.attributes if self.roles[a] is Role.SENSITIVE)

    @property
    def unpublished(self) -> tuple[str, ...]:
        """Attributes that no marginal shows, in the domain's order."""
        return tuple(a for a in self.domain.attributes if not self.everything.shows(a))

    @cached_property
    def smallest_sensitive(self) -> dict[str, int]:
        """Smallest count above 0 of a table with the attribute, for each published sensitive attribute."""
        tables = [table for table in self.collection.tables if len(table)]
        smallest = {name: [int(of.counts.min()) for of in tables if name in of.margin] for name in self.sensitive}
        return {name: min(counts) for name, counts in smallest.items() if counts}

    @cached_property
    def known_labels(self) -> ToldByLabels:
        """Numbers of values behind labels that the release declares, by attribute and label."""
        return {name: numbers for name, numbers in (self.labels or {}).items() if numbers}

    @property
    def least_count(self) -> int:
        """Largest count of rows that some claim guarantees; 1 where none does."""
        return max((claim.least_count for claim in self.claims if isinstance(claim, CountClaim)), default=1)

    @cached_property
    def information(self) -> float | None:
        """Nats of the core beyond independence, rounded as in a bundle; None without a junction tree."""
        if not self.collection.is_decomposable:
            return None
        return round(MaximumEntropy(self.collection).information, INFORMATION_DECIMALS) + 0.0  # never -0.0

    def verify(self) -> Verification:
        """Check the claims, and with them the rules, on the marginals alone."""
        return self._verified

    def as_one(self) -> "BundleContent":
        """Return the same content with all tables alike, none of them further: for checks with tables of other releases."""
        return replace(self, collection=self.everything, further=()) if self.further else self

    def claiming(self, claims: Sequence[Claim], rules: Sequence[AppliedRule] = ()) -> "BundleContent":
        """Return the same content with other claims and rules."""
        return replace(self, claims=tuple(claims), rules=tuple(rules))

    @cached_property
    def harmful(self) -> Mapping[str, "HarmfulValues"]:
        """Certainty of a reader about each value that the claims bound, by sensitive attribute."""
        from checks.maxent.surest import harmful_values  # slow to import, and few need it

        criteria: dict[str, list[Diversity]] = {}
        for claim in self.claims:
            if isinstance(claim, MaxentDiversity) and claim.class_diversity is not None:
                criteria.setdefault(claim.about, []).append(claim.class_diversity)
        people = self.most_rows_of_a_person or 1
        try:
            results = (harmful_values(self.collection, a, of, people, self.deadline) for a, of in criteria.items())
            return {values.sensitive: values for values in results if values is not None}
        except TimeOverError:
            return {}

    @cached_property
    def _verified(self) -> Verification:
        findings, witnesses = dict[Claim, Finding](), [*self.witnesses]
        # The slow ones last, and of these the one with the most combinations: it has all the time that is left.
        slow_last = sorted(self.claims, key=lambda claim: claim.k if isinstance(claim, NoSmallCertain) else 0)
        for number, claim in enumerate(slow_last):
            budget = FULL.until(self.deadline.share(len(slow_last) - number))
            try:
                deciding = self._deciding(claim)
            except MarginalsError as error:
                findings[claim] = undecided(claim, str(error))
                continue
            result = answer(claim, Question(deciding, self.sensitive, budget, self.known_labels, witnesses))
            findings[claim] = self._as_far_as_said(claim, result)
        checks = tuple(map(findings.__getitem__, self.claims))
        rules = tuple(rule.with_findings(self.claims, checks) for rule in self.rules)
        return Verification(checks, (), rules, self.smallest_sensitive, crossing=self.everything.crossings)

    def _deciding(self, claim: Claim) -> Collection:
        remaining = self.without_impossible(claim)
        if not isinstance(claim, AttributeClaim):
            return remaining
        if remaining is not self.everything:
            raise CriterionError(f"impossible pairs change what the tables say of {claim.sensitive!r}")
        return self.collection  # which tables of other attributes leave as it is (design 4.18)

    def _as_far_as_said(self, claim: Claim, finding: Finding) -> Finding:
        # undecided if the release does not count values behind labels, and small counts follow if all occur
        if not finding.holds or not isinstance(claim, MinCell):
            return finding
        if self.labels is None:
            counted = label_counts(self.everything, self._seemingly_listed, claim.least_count)
            if not counted.holds:
                note = f"the release does not say which of these values occur (release.occurring); if all do, {counted.note}"
                return replace(finding, verdict=Verdict.UNDECIDED, worst=counted.worst, note=note)
            names = crowded(self.everything, claim.least_count)
            note = (
                "values below the published ones of {} may have no rows as far as the release says; whoever knows that all "
                "of them occur can conclude smaller counts"
            )
        else:
            resting = (name for name, numbers in self._seemingly_listed.items() if numbers or name in self.known_labels)
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
    """Model of published marginals, of which the core has a junction tree where there are others beside it."""
    if everything is core or everything.masks == core.masks:
        return MarginalModel(core, deadline)
    from models.inference.beside_core import ModelBesideCore  # few need it

    return ModelBesideCore(everything, deadline, core=core)


def _further_fault(published: BundleContent) -> str:
    # Proofs about a sensitive attribute hold beside tables over nonsensitive attributes that leave the distribution of its
    # own tables as it is, as any do that stand beside one table (design 4.18), and if each person has one row.
    if not published.further:
        return ""
    domain, masks = published.domain, [*published.collection.masks, *published.further]
    for name in published.sensitive:
        if any(domain.attribute_masks[domain.index(name)] & further for further in published.further):
            return f"a further table shows {name!r}, which is sensitive; further tables are of nonsensitive attributes alone"
    for group in sensitive_groups(domain, published.collection.masks, published.sensitive):
        if not is_collapsible(group.cliques, masks):
            return f"further tables change what the core says of {group.attributes[0]!r}, which is sensitive"
    if published.rows_per_person not in (None, 1):
        return "a person can have several rows, and beside further tables each has one"
    return ""


REPORT = "report.html"
FORMAT = 1  # version of the format
FURTHER = "further"  # key of the marginal of a further table
KNOWN = "known"  # value of turnover: readers know that people come and go
# Entries of each descriptor, without the title of a publisher.
PACKAGE = {
    "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
    "name": "anonymized-marginals",
    "title": TITLE,
    "description": "Generalized tables of counts from one table about people. Privacy claims: see release.privacy.",
}
# The resource of each marginal and hierarchy.
TABLE = {"type": "table", "format": "csv", "mediatype": "text/csv", "encoding": "utf-8"}


def schema_of(header: Sequence[str]) -> dict[str, Any]:
    """Table Schema of a file with this header: the column `count` has whole numbers from 1 on, all others have texts."""
    count = {"name": COUNT, "type": "integer", "constraints": {"required": True, "minimum": 1}}
    key = [name for name in header if name != COUNT] if COUNT in header else header[:1]
    fields = [count if name == COUNT else {"name": name, "type": "string"} for name in header]
    return {"fields": fields, "primaryKey": key, "missingValues": []}


MAX_SIGNATURE_BYTES = 1 << 14  # of a seal, a signature or a key
MAX_FILE_BYTES = 128 << 20
MAX_BYTES = 256 << 20  # all resources together
MAX_RESOURCES = 1000
MAX_ATTRIBUTES = 200
MAX_LEVELS = 100
MAX_CLAIMS = 1_000
MAX_RULES = 20
MAX_PAIRS = 1000  # impossible pairs
MAX_ROWS = 10**15


class Released(Protocol):
    """A release: published marginals with the content of its bundle."""

    @property
    def published(self) -> BundleContent:
        """The content of its bundle."""
