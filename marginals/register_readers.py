"""Readers with a register: what somebody believes of each person who knows the nonsensitive values of everybody."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checks.claims import Register
from checks.finding import FULL, Verdict
from checks.register import FITTED, UNKNOWN, UNLINKED, is_decided_by, readers_of, register_shares
from marginals.bundle.content import BundleContent
from marginals.bundle.together import over_table
from marginals.results import plain
from models.errors import ContradictionError, TimeOverError, TooManyCellsError
from models.graphs.junction_tree import Collection

if TYPE_CHECKING:
    from marginals.tables.table import Table

FROM_FILES, FROM_TABLE, ATTESTED, NOT_EXAMINED = "files", "table", "attested", "not examined"
"""What is said of such readers rests on: the files; the table, which its steward has; the publisher's word; nothing."""


@dataclass(frozen=True)
class RegisterReaders:
    """What readers with a register believe of one sensitive attribute.

    basis: what this rests on. people: in the release. largest_share: the largest probability that they give any value of any
    person; of_harmful: any harmful one, if the claims say which harm. labels, value: of a class whose people have it, and
    the value. certain: people whose value, of these, they know. model: how their beliefs were found. note: why nothing is
    known. None and empty where that is so.
    """

    sensitive: str
    basis: str
    people: int
    largest_share: float | None = None
    certain: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    value: str = ""
    model: str = ""
    note: str = ""
    of_harmful: bool = False

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return dict(plain({("class" if name == "labels" else name): value for name, value in vars(self).items()}))


def register_readers(published: BundleContent, truth: "Table | None" = None) -> tuple[RegisterReaders, ...]:
    """For each sensitive attribute that is published what such readers believe, from the files where these decide it.

    truth: the table that was published; with it the joint classes of several tables are known. Raises InputError where it
    is another one.
    """
    collection = published.collection
    if truth is not None:
        over, truth = over_table(published, truth)
        collection = Collection.of(truth.cube, over.core.masks)
    attributes = filter(published.collection.shows, published.sensitive)
    return tuple(_readers(published, collection, sensitive) for sensitive in attributes)


def _readers(published: BundleContent, collection: Collection, sensitive: str) -> RegisterReaders:
    people = collection.cube.total
    if published.rows_per_person not in (None, 1):
        why = "a person can have several rows, so such readers can see somebody more than once"
        return RegisterReaders(sensitive, NOT_EXAMINED, people, note=why)
    readers, budget = readers_of(collection, sensitive, published.sensitive), FULL.until(published.deadline)
    try:
        result = [
            register_shares(collection.cube, tables, sensitive, budget) for tables in readers if tables is not None
        ]
    except (ContradictionError, TimeOverError, TooManyCellsError) as reason:
        return RegisterReaders(sensitive, NOT_EXAMINED, people, note=str(reason))
    if None in readers or None in result:
        if _is_attested(published, sensitive):
            return RegisterReaders(sensitive, ATTESTED, people)
        why = UNLINKED if None in readers else UNKNOWN
        return RegisterReaders(sensitive, NOT_EXAMINED, people, note=why)
    of, known = published.harmful.get(sensitive), [shares for shares in result if shares is not None]
    if of is not None:
        labels = {label for surest in of.values for label in surest.labels}
        known = [shares.of_values(labels) for shares in known]
    most = max(known, key=lambda shares: float(shares.highest.max()))
    certain, largest_share = max(shares.certain for shares in known), float(most.highest.max())
    if largest_share == 1 and not certain:
        return RegisterReaders(sensitive, NOT_EXAMINED, people, note=FITTED.format(most.margin.max()))
    place, value = divmod(int(most.highest.argmax()), most.highest.shape[1])
    return RegisterReaders(
        sensitive,
        FROM_FILES if is_decided_by(published.collection, sensitive, published.sensitive) else FROM_TABLE,
        people,
        largest_share,
        certain,
        most.cells.labels(place),
        most.values.hierarchy.labels[most.values.level][value],
        most.algorithm.value,
        of_harmful=of is not None,
    )


def _is_attested(published: BundleContent, sensitive: str) -> bool:
    result = zip(published.claims, published.verify().checks)
    attribute_findings = [
        finding for claim, finding in result if isinstance(claim, Register) and claim.about == sensitive
    ]
    return bool(attribute_findings) and all(finding.verdict is Verdict.ATTESTED for finding in attribute_findings)
