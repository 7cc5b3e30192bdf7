"""Columns that follow from other columns: readers who know the rule learn more than separate tables of them say."""

from typing import NamedTuple

import numpy as np

from marginals.errors import InputError
from marginals.publishing.policy import Policy
from marginals.tables.attribute import MISSING
from marginals.tables.relations import Values, follows
from marginals.tables.table import Table
from models.tables.contingency_table import ContingencyTable


def could_be_shown(table: Table, policy: Policy, attribute: str) -> bool:
    """False if the policy keeps a sensitive attribute out of every release of the table."""
    coarsest = table.domain.hierarchy(attribute).height - 1
    if coarsest < 0 or policy.max_sensitive_margins == 0:
        return False
    return not any(set(margin) == {attribute} and margin[attribute] >= coarsest for margin in policy.must_not_publish)


class Dependence(NamedTuple):
    """A column without a promise that holds beside tables of another; one of the two follows from the other."""

    name: str
    other: str
    follower: str


def require_independent(table: Table, policy: Policy) -> None:
    """Raise InputError if no promise about a sensitive column holds for readers who know how it follows from another."""
    if (dependent := dependence(table, policy)) is not None:
        name, other, follower = dependent
        source = other if follower == name else name
        raise InputError(
            f"{follower!r} follows from {source!r} in all rows, so tables of {other!r} would tell readers who know the rule "
            f'more of {name!r} than is promised. Leave one of the two out (role = "ignored"), or make {follower!r} a level '
            f"in the hierarchy of {source!r}"
        )


def dependence(table: Table, policy: Policy) -> Dependence | None:
    """Return the first promise about a sensitive column that would not hold beside tables of another one.

    A reader who knows that B follows from A adds up counts of A, or divides those of B. A claim about
    one of them is safe if the other has a table by itself, or is constant where the one has a value. Rules between
    nonsensitive columns are left aside, because readers may know both anyway.
    """
    possible = [name for name in table.sensitive if could_be_shown(table, policy, name)]
    undemanded = policy.undemanded(table.sensitive)
    for name in (name for name in possible if name not in undemanded):
        for other in (other for other in possible if other not in (name, *policy.alone)):
            if (follower := _follower(table, name, other)) is not None:
                return Dependence(name, other, follower)
    return None


def _follower(table: Table, name: str, other: str) -> str | None:
    """The one of two columns that follows from the other; None if neither does, or if one has a single value."""
    margin = {name: 0, other: 0}
    if table.out_of_core is not None and not table.out_of_core.can_hold(margin):
        return None  # a function has no more cells than the finer column has values
    cells = table.cube.table(table.domain.mask(margin))
    present = _values(table, cells, name), _values(table, cells, other)
    if len(np.unique(present[1].codes[present[0].codes >= 0])) < 2:
        return None
    as_values = _values(table, cells, name, missing=True), _values(table, cells, other, missing=True)
    ways = (present, as_values) if table.counts_missing & {name, other} else (present,)
    if any(follows(two, one, cells.counts) for one, two in ways):
        return other
    return name if any(follows(one, two, cells.counts) for one, two in ways) else None


def _values(table: Table, cells: ContingencyTable, name: str, *, missing: bool = False) -> Values:
    """The values of a column in each cell, numbered by their place if they are ordered. missing: counts as a value."""
    hierarchy, codes = table.domain.hierarchy(name), cells.column(name, 0).astype(np.intp)
    places = np.full(hierarchy.size(0), np.nan)
    places[list(hierarchy.order or ())] = range(len(hierarchy.order or ()))
    if name in table.counts_missing and (code := hierarchy.code(MISSING, 0)) is not None:
        if missing:
            places[code] = -1
        else:
            codes[codes == code] = -1
    numbers = np.append(places, np.nan)[codes]
    return Values(codes, numbers if not np.isnan(numbers[codes >= 0]).any() else None)
