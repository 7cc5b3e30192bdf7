"""k-anonymity and k-link anonymity: no class of a published table is smaller than k (KG06 Defs. 2.3 and 4.1)."""

from collections.abc import Collection as AnyCollection
from collections.abc import Iterable
from dataclasses import replace
from math import inf

from checks.finding import Algorithm, Finding, WorstClass, verdict_of
from models.graphs.collection import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain, Mask


def nonsensitive_part(domain: Domain, mask: Mask, sensitive: Iterable[str]) -> Mask:
    """A margin without its sensitive attributes."""
    for attribute in sensitive:
        mask &= ~domain.attribute_masks[domain.index(attribute)]
    return mask


def smallest_class(classes: ContingencyTable) -> WorstClass | None:
    """The smallest class of a table over nonsensitive attributes, or None when it has no cell."""
    if not len(classes):
        return None
    cell = int(classes.counts.argmin())
    return WorstClass(classes.labels(cell), classes.margin, count=int(classes.counts[cell]))


def k_link(collection: Collection, sensitive: AnyCollection[str], k: int) -> Finding:
    """Whether every marginal, summed over the sensitive attributes, has no count in 1 .. k-1 (KG06 Def. 4.1).

    Inherited by every coarser collection. Holds for any collection, decomposable or not. The empty margin counts too:
    fewer than k rows in all fail.
    """
    smallest, least, examined = None, inf, 0
    for mask in collection.masks:
        classes = collection.cube.table(nonsensitive_part(collection.domain, mask, sensitive))
        examined += len(classes)
        if len(classes) and classes.counts.min() < least:
            smallest, least = smallest_class(classes), int(classes.counts.min())
    return Finding("k-link", verdict_of(least >= k), {"k": k}, smallest, (Algorithm.MINIMUM,), examined)


def k_anonymity(table: ContingencyTable, sensitive: AnyCollection[str], k: int) -> Finding:
    """Whether every class of one table has k rows or more (KG06 Def. 2.3)."""
    mask = nonsensitive_part(table.domain, table.mask, sensitive)
    classes = table.rolled_up(table.domain.margin(mask))
    holds = not len(classes) or int(classes.counts.min()) >= k
    smallest = smallest_class(classes)
    return Finding("k-anonymity", verdict_of(holds), {"k": k}, smallest, (Algorithm.MINIMUM,), len(classes))


def smallest_cell(table: ContingencyTable, least: int) -> Finding:
    """Whether every cell of one table, sensitive attributes counted, has so many rows or none."""
    return replace(k_anonymity(table, (), least), criterion="min-cell")
