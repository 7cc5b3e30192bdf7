"""k-anonymity and k-link anonymity: no class of a published table is smaller than k (KG06 Defs. 2.3 and 4.1)."""

from collections.abc import Collection as AnyCollection
from collections.abc import Iterable
from typing import Any

from checks.finding import Finding, verdict_of
from models.graphs.collection import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain, Mask


def nonsensitive_part(domain: Domain, mask: Mask, sensitive: Iterable[str]) -> Mask:
    """A margin without its sensitive attributes."""
    for attribute in sensitive:
        mask &= ~domain.attribute_masks[domain.index(attribute)]
    return mask


def smallest_class(classes: ContingencyTable) -> dict[str, Any] | None:
    """The smallest class of a table over nonsensitive attributes, or None when it has no cell."""
    if not len(classes):
        return None
    cell = int(classes.counts.argmin())
    return {"margin": dict(classes.margin), "cell": classes.labels(cell), "count": int(classes.counts[cell])}


def k_link(collection: Collection, sensitive: AnyCollection[str], k: int) -> Finding:
    """Whether every marginal, summed over the sensitive attributes, has no count in 1 .. k-1 (KG06 Def. 4.1).

    Inherited by every coarser collection. Holds for any collection, decomposable or not. The empty margin counts too:
    fewer than k rows in all fail.
    """
    worst, examined = None, 0
    for mask in collection.masks:
        classes = collection.cube.table(nonsensitive_part(collection.domain, mask, sensitive))
        examined += len(classes)
        found = smallest_class(classes)
        if found and (worst is None or found["count"] < worst["count"]):
            worst = found
    return Finding("k-link", verdict_of(worst is None or worst["count"] >= k), {"k": k}, worst, "minimum", examined)


def k_anonymity(table: ContingencyTable, sensitive: AnyCollection[str], k: int) -> Finding:
    """Whether every class of one table has k rows or more (KG06 Def. 2.3)."""
    mask = nonsensitive_part(table.domain, table.mask, sensitive)
    classes = table.rolled_up(table.domain.margin(mask))
    worst = smallest_class(classes)
    holds = worst is None or worst["count"] >= k
    return Finding("k-anonymity", verdict_of(holds), {"k": k}, worst, "minimum", len(classes))
