"""The anonymized table that a collection must contain, and from which its search starts.

A table that shows several sensitive attributes together can seldom be diverse: each is then judged within every value of the
others (MKGV07 Def. 4.6). So with several of them the base is one table for each, with the same quasi-identifiers at the same
levels. Next to one another the tables are as private as each by itself: what the quasi-identifiers tell of one attribute the
others do not change (KG06 Prop. 7.3), and a combination of values has as many rows in each of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from checks.claims.privacy_constraint import PrivacyConstraint
from checks.claims.requirements import Requirements
from marginals.anonymizers.lattice import Progress as Settled
from marginals.anonymizers.lattice import lattice_nodes, minimal_levels, table_satisfies
from marginals.errors import InputError, NothingPublishableError
from marginals.publishing.obstacles import Obstacles, as_written, unmet_demands
from marginals.tables.table import Table
from models.graphs.collection import Collection
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.domain import Mask


@dataclass(frozen=True)
class BaseTables:
    """The quasi-identifiers at some levels: with the sensitive attribute, or with each of several in a table of its own.

    kl_divergence: of the data from the maximum-entropy distribution of these tables, nats.
    """

    masks: tuple[Mask, ...]
    kl_divergence: float

    @classmethod
    def of(cls, table: Table, levels: Mapping[str, int]) -> "BaseTables":
        """Of a table, with quasi-identifiers at these levels."""
        masks = _masks(table, levels)
        return cls(masks, MaximumEntropy(Collection.of(table.cube, masks)).kl_divergence)


def chosen_base(table: Table, levels: Mapping[str, int], requirements: Requirements) -> BaseTables:
    """The base at levels that somebody chose; quasi-identifiers that are not named are suppressed.

    Raises InputError for what is no quasi-identifier, NothingPublishableError where a table fails the requirements.
    """
    for attribute in levels:
        if attribute not in table.quasi_identifiers:
            raise InputError(f"base names {attribute!r}, which is no quasi-identifier of the table")
    whole = {a: levels.get(a, table.domain.hierarchy(a).height) for a in table.quasi_identifiers}
    for mask, part in zip(_masks(table, whole), _parts(table, requirements)):
        if not table_satisfies(table.cube, mask, part):
            constraint = PrivacyConstraint(table.cube, part)
            shown = f" with {part.sensitive[0]}" if len(table.sensitive) > 1 else ""
            name = f"the base table {as_written(whole)}{shown}"
            raise Obstacles(table, part, constraint).refusal(mask, name, part.sensitive)
    return BaseTables.of(table, whole)


_NODES_A_SECOND = 200_000
"""Of a lattice, at most, where it must be gone through in so many seconds: a rule that no clock decides."""

_FEW_NODES = 10_000
"""Of a lattice that is tried all the same."""


def too_many(table: Table, seconds: float) -> str | None:
    """Why the best base is not looked for in so many seconds; None where it is."""
    nodes = lattice_nodes(table.cube, table.quasi_identifiers)
    if nodes <= max(_FEW_NODES, seconds * _NODES_A_SECOND):
        return None
    return f"there are {nodes:,} ways to generalize the quasi-identifiers, too many to look at in a quarter of the time"


def require_any_base(table: Table, requirements: Requirements) -> None:
    """Raise NothingPublishableError where not even all quasi-identifiers suppressed make a table that may be published."""
    parts, masks = _parts(table, requirements), _masks(table, _suppressing(table))
    if not all(table_satisfies(table.cube, mask, part) for mask, part in zip(masks, parts)):
        raise NothingPublishableError(
            f'{_nothing(table, parts)}; weaken it, or look for a release without a base table (base "none")'
        )


def best_base(table: Table, requirements: Requirements, settled: Settled) -> BaseTables:
    """The minimal base whose distribution is closest to the data.

    Raises NothingPublishableError where there is none, InputError for more ways to generalize than can be looked at.
    """
    parts = _parts(table, requirements)

    def passes(levels: Mapping[str, int]) -> bool:
        return all(table_satisfies(table.cube, mask, part) for mask, part in zip(_masks(table, levels), parts))

    require_any_base(table, requirements)
    minimal = minimal_levels(table.cube, table.quasi_identifiers, passes, settled)
    bases = [(BaseTables.of(table, levels), tuple(levels.values())) for levels in minimal]
    return min(bases, key=lambda base: (base[0].kl_divergence, base[1]))[0]


def _parts(table: Table, requirements: Requirements) -> list[Requirements]:
    """What is required of each table."""
    return [requirements.about(attribute) for attribute in table.sensitive] or [requirements]


def _masks(table: Table, levels: Mapping[str, int]) -> tuple[Mask, ...]:
    """The margin of each table."""
    public = table.domain.mask(levels)
    return tuple(public | table.domain.mask({attribute: 0}) for attribute in table.sensitive) or (public,)


def _nothing(table: Table, parts: list[Requirements]) -> str:
    """That no base satisfies the requirements, and what all rows together fail of them, by how much."""
    unmet = [
        unmet_demands(table.cube.table(mask), part) for mask, part in zip(_masks(table, _suppressing(table)), parts)
    ]
    told = "no single table satisfies the policy, not even one with all quasi-identifiers suppressed"
    listed = list(dict.fromkeys(each for demands in unmet for each in demands))
    return told + (f" ({'; '.join(listed)})" if listed else "")


def _suppressing(table: Table) -> dict[str, int]:
    return {attribute: table.domain.hierarchy(attribute).height for attribute in table.quasi_identifiers}
