"""Readers with a register: what somebody believes of each person who knows the nonsensitive values of everybody."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checks.claims import Register
from checks.finding import FULL, Verdict
from checks.register import UNKNOWN, UNLINKED, RegisterShares, is_chain, register_shares, showing, without_others
from marginals.bundle.content import BundleContent
from marginals.bundle.reading import over_table
from models.errors import TimeOverError, TooManyCellsError
from models.graphs.junction_tree import Collection
from models.tables.hierarchy import Mask

if TYPE_CHECKING:
    from marginals.tables.table import Table

FROM_FILES, FROM_TABLE, ATTESTED, NOT_EXAMINED = "files", "table", "attested", "not examined"
"""What is said of such readers rests on: the files; the table, which its steward has; the publisher's word; nothing."""


@dataclass(frozen=True)
class RegisterReaders:
    """What readers with a register believe of one sensitive attribute.

    basis: what this rests on. people: in the release. largest: the largest probability that they give any value of any
    person. labels, value: of a class whose people have it, and the value. certain: people whose value they know. model: how
    their beliefs were found. note: why nothing is known. None and empty where that is so.
    """

    sensitive: str
    basis: str
    people: int
    largest: float | None = None
    certain: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    value: str = ""
    model: str = ""
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "sensitive": self.sensitive,
            "basis": self.basis,
            "people": self.people,
            "largest_share": self.largest,
            "certain": self.certain,
            "class": dict(self.labels),
            "value": self.value,
            "model": self.model,
            "note": self.note,
        }


def register_readers(published: BundleContent, truth: "Table | None" = None) -> tuple[RegisterReaders, ...]:
    """For each sensitive attribute that is published what such readers believe, from the files where these decide it.

    truth: the table that was published; with it the joint classes of several tables are known. Raises InputError where it
    is another one.
    """
    collection = published.collection
    if truth is not None:
        over, truth = over_table(published, truth)
        collection = Collection.of(truth.cube, over.masks)
    shown = filter(published.collection.shows, published.sensitive)
    return tuple(_readers(published, collection, sensitive, truth is not None) for sensitive in shown)


def _readers(published: BundleContent, collection: Collection, sensitive: str, is_table: bool) -> RegisterReaders:
    people = collection.cube.total
    if published.rows_per_person not in (None, 1):
        why = "a person can have several rows, so such readers can see somebody more than once"
        return RegisterReaders(sensitive, NOT_EXAMINED, people, note=why)
    masks = showing(collection.domain, collection.masks, sensitive)
    try:
        found = list(_shares(collection, sensitive, published.sensitive, masks, published))
    except (TimeOverError, TooManyCellsError) as reason:
        return RegisterReaders(sensitive, NOT_EXAMINED, people, note=str(reason))
    if not found or None in found:
        if _is_attested(published, sensitive):
            return RegisterReaders(sensitive, ATTESTED, people)
        why = UNKNOWN if found else UNLINKED
        return RegisterReaders(sensitive, NOT_EXAMINED, people, note=why)
    known = [shares for shares in found if shares is not None]
    most = max(known, key=lambda shares: float(shares.known.max()))
    place, value = divmod(int(most.known.argmax()), most.known.shape[1])
    return RegisterReaders(
        sensitive,
        FROM_TABLE if is_table and not is_chain(collection.domain, masks, sensitive) else FROM_FILES,
        people,
        min(float(most.known.max()), 1.0),
        max(shares.certain for shares in known),
        most.labels(place),
        most.values.hierarchy.labels[most.values.level][value],
        most.model.value.value,
    )


def _shares(
    collection: Collection, sensitive: str, others: Sequence[str], masks: Sequence[Mask], published: BundleContent
) -> Iterator[RegisterShares | None]:
    """What they believe who know all other sensitive values too, and who know none; nothing where that is not worked out."""
    readers = [masks]
    if not is_chain(collection.domain, masks, sensitive):
        alone = without_others(collection.domain, collection.masks, others, sensitive)
        if alone is None:
            return
        readers += [] if alone == masks else [alone]
    for tables in readers:
        yield register_shares(collection.cube, tables, sensitive, FULL.until(published.deadline))


def _is_attested(published: BundleContent, sensitive: str) -> bool:
    """Whether the publisher says that a diversity holds of such readers, and nothing refutes it."""
    found = zip(published.claims, published.verify().checks)
    own = [finding for claim, finding in found if isinstance(claim, Register) and claim.about == sensitive]
    return bool(own) and all(finding.verdict is Verdict.ATTESTED for finding in own)
