"""Readers with a register: what somebody believes of each person who knows the nonsensitive values of everybody."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from checks.claims import Register
from checks.finding import FULL, Verdict
from checks.register import FITTED, UNKNOWN, UNLINKED, is_decided_by, readers_of, register_shares
from marginals.bundle.content import BundleContent
from marginals.bundle.together import over_table
from marginals.results import plain
from marginals.tables.table import Table
from models.errors import ContradictionError, TimeOverError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection

FROM_FILES, FROM_TABLE, ATTESTED, NOT_EXAMINED = "files", "table", "attested", "not examined"


@frozen
class RegisterReaders:
    """Beliefs of readers with a register about one sensitive attribute.

    basis: the evidence: the files, the steward's table, or the publisher's word. largest_share: the largest probability of
    any value of any person, or of harmful ones if of_harmful. labels, value: a class whose people have it, and the value.
    certain: number of people whose value is known. model: how the beliefs were found. note: why they were not examined.
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
        """Return plain values."""
        return dict(plain({("class" if name == "labels" else name): value for name, value in vars(self).items()}))


def register_readers(published: BundleContent, truth: "Table | None" = None) -> tuple[RegisterReaders, ...]:
    """Return the beliefs about each published sensitive attribute, from the files if these decide it."""
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
        linked = (tables for tables in readers if tables is not None)
        result = [register_shares(collection.cube, tables, sensitive, budget) for tables in linked]
    except (ContradictionError, TimeOverError, TooManyCellsError) as reason:
        return RegisterReaders(sensitive, NOT_EXAMINED, people, note=str(reason))
    if None in readers or None in result:
        if _is_attested(published, sensitive):
            return RegisterReaders(sensitive, ATTESTED, people)
        why = UNLINKED if None in readers else UNKNOWN
        return RegisterReaders(sensitive, NOT_EXAMINED, people, note=why)
    of, beliefs = published.harmful.get(sensitive), [shares for shares in result if shares is not None]
    if of is not None:
        labels = {label for surest in of.values for label in surest.labels}
        beliefs = [shares.of_values(labels) for shares in beliefs]
    most = max(beliefs, key=lambda shares: float(shares.highest.max()))
    certain, largest_share = max(shares.certain for shares in beliefs), float(most.highest.max())
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
    checked = zip(published.claims, published.verify().checks)
    about = (finding for claim, finding in checked if isinstance(claim, Register) and claim.about == sensitive)
    return {finding.verdict for finding in about} == {Verdict.ATTESTED}
