"""Certain facts: what follows from published tables about counts that were suppressed, rounded or not published at all.

A fact holds in every population that the tables fit, so nobody needs to guess. Whether something is no fact is certain only
where the bounds are decided.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from models.arrays import BoolArray, IndexArray
from models.errors import DomainMismatchError
from models.intervals.linked_tables import LinkedTables
from models.intervals.proven_bounds import ProvenBounds


class FactKind(Enum):
    """What is certain. The value is its name in JSON."""

    RECOVERED = "recovered"
    """A cell that was suppressed or rounded has one possible count only."""
    SMALL = "small"
    """A count from 1 to the largest small one, of a cell that no table shows exactly."""
    SENSITIVE = "sensitive"
    """All people of a group have one sensitive value, and there are some."""
    NARROW = "narrow"
    """The range that is left of a suppressed or rounded count is narrower than the protection that is asked for."""
    EXISTS = "exists"
    """There are people with a combination of values that no table shows, or whose count was suppressed."""


@dataclass(frozen=True)
class Fact:
    """Something that is certain of a cell. published, proven: its range before, and what is left of it."""

    kind: FactKind
    cell: int
    published: tuple[int, int]
    proven: tuple[int, int]
    is_published: bool


@dataclass(frozen=True)
class Asked:
    """What counts as a fact. small: the largest small count. protection: the least difference that must be left between
    the largest and the smallest possible count of a suppressed cell. sensitive: attributes.

    Raises DomainMismatchError for numbers below 0.
    """

    small: int = 4
    protection: int = 0
    sensitive: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.small < 1 or self.protection < 0:
            raise DomainMismatchError("the largest small count must be at least 1, and the protection at least 0")


def certain_facts(linked: LinkedTables, bounds: ProvenBounds, asked: Asked) -> list[Fact]:
    """All facts, by kind, those that can be the least people first; of kinds but SENSITIVE a cell has one at most."""
    was_open: BoolArray = linked.lower < linked.upper
    exact, low, high = bounds.exact, bounds.lower, bounds.upper
    shown = linked.is_published
    recovered = shown & was_open & exact
    small = was_open & (low >= 1) & (high <= asked.small) & ~recovered
    implied = small & shown & (linked.lower >= 1) & (linked.upper <= asked.small)  # as published: "1 to 4"
    small &= ~implied
    narrowed = (low > linked.lower) | (high < linked.upper)
    narrow = shown & narrowed & ~exact & (high - low < asked.protection) & ~small
    exists = was_open & (low >= 1) & (linked.lower < 1) & ~recovered & ~small & ~narrow
    found = []
    for kind, chosen in (
        (FactKind.RECOVERED, recovered),
        (FactKind.SMALL, small),
        (FactKind.SENSITIVE, _all_have_one_value(linked, bounds, asked.sensitive)),
        (FactKind.NARROW, narrow),
        (FactKind.EXISTS, exists),
    ):
        cells = np.flatnonzero(chosen)
        order = np.lexsort((cells, low[cells], high[cells]))
        found += [_fact(linked, bounds, kind, int(cell)) for cell in cells[order]]
    return found


def _fact(linked: LinkedTables, bounds: ProvenBounds, kind: FactKind, cell: int) -> Fact:
    published = int(linked.lower[cell]), int(linked.upper[cell])
    proven = int(bounds.lower[cell]), int(bounds.upper[cell])
    return Fact(kind, cell, published, proven, bool(linked.is_published[cell]))


def _all_have_one_value(linked: LinkedTables, bounds: ProvenBounds, sensitive: Sequence[str]) -> BoolArray:
    """Cells of a sensitive value whose group surely has no other one, and somebody: shape (cells,)."""
    chosen: BoolArray = np.zeros(len(linked), dtype=np.bool_)
    names = [c.name for c in linked.classifications]
    for attribute in sensitive:
        if attribute not in names:
            raise DomainMismatchError(f"no table has the sensitive attribute {attribute!r}")
        for cells in _by_group(linked, names.index(attribute)):
            possible = bounds.upper[cells] > 0
            alone = possible & (possible.sum(axis=1, keepdims=True) == 1) & (bounds.lower[cells] >= 1)
            chosen[cells[alone]] = True
    return chosen


def _by_group(linked: LinkedTables, axis: int) -> Iterator[IndexArray]:
    """Of each table with an attribute its finest cells: shape (groups, values of the attribute)."""
    for finest, shape in zip(linked.finest, linked.shapes):
        if shape[axis] > 1:
            grid = np.moveaxis(finest.reshape(shape), axis, -1)
            yield grid.reshape(-1, shape[axis])
