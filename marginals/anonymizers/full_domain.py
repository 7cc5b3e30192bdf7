"""Full-domain tables as they are published, and the one that keeps the most information under a (tau, l) requirement."""

from collections.abc import Mapping

from checks.claims.requirements import Requirements
from checks.diversity.functional import Functional
from marginals.anonymizers.lattice import cells_as_shown, minimal_tables
from marginals.anonymizers.local_recoding import LocalRecoding
from marginals.errors import NothingPublishableError
from marginals.tables.table import Table


def published_table(table: Table, levels: Mapping[str, int], requirements: Requirements) -> LocalRecoding:
    """The table with each quasi-identifier at one level, the sensitive values as they are.

    Rows of classes that fail the requirements are suppressed: all their quasi-identifiers are `*`.
    """
    mask = table.domain.mask({**levels, **dict.fromkeys(table.sensitive, 0)})
    cells = cells_as_shown(table.cube, mask, requirements)
    return LocalRecoding(cells, table.quasi_identifiers, table.sensitive)


def best_full_domain(table: Table, requirement: Functional, *, k: int | None = None) -> LocalRecoding:
    """The minimal full-domain table with the highest `um`; no coarser table can have a higher one.

    What the lattice search finds, as the baseline that TZ09 compares SWEEP with, here driven to the requirement itself
    instead of a recursive (c, l)-diversity that implies it. k: each class has at least so many rows.
    Raises NothingPublishableError when no table satisfies the requirement, not even one with everything suppressed.
    """
    requirements = Requirements(table.sensitive, k_link=k, diversity=requirement)
    found = minimal_tables(table.cube, table.quasi_identifiers, requirements).minimal
    if not found:
        raise NothingPublishableError(f"no full-domain table satisfies {requirement}")
    recoded = (LocalRecoding.full_domain(table, single.levels) for single in found)
    return max(recoded, key=lambda one: one.information_utility)
