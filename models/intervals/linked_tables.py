"""Linked tables: the counts of several published tables as unknowns, each with its range, and the equations between them.

A count that two tables show, or that both add up to, is one unknown. Joint tables are tables too, of which nothing is
published: their cells are what the tables tell together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray
from models.errors import DomainMismatchError, TooManyCellsError
from models.intervals.classification import Classification, Members
from models.intervals.families import (
    Family,
    TableFamilies,
    published_families,
    shared_family,
)
from models.intervals.interval_table import IntervalTable
from models.intervals.joint_tables import JOINT_LIMITS, JointLimits, JointTables, joint_tables
from models.programs.equations import UNBOUNDED, Equations


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """Which unknowns are published where, with what range: shape (published cells,) each."""

    cells: IndexArray
    tables: IndexArray
    lower: CountArray
    upper: CountArray


class Sums(NamedTuple):
    """Totals of a table. cells: their numbers. places: of each finest cell of the table the total it is part of, or -1."""

    cells: IndexArray
    places: IndexArray


@dataclass(frozen=True, eq=False)
class LinkedTables:
    """Unknown counts, the ranges that are published of them, and the equations between them.

    keys: the set of base values of each cell for each attribute, as a place in `sets`; shape (cells, attributes). names: of
    the tables, the `table_count` published ones first. finest: for each table its finest cells, in C order, and
    shapes the numbers of values of each attribute that they are laid out by; sums: its totals. covered: whether each cell
    has, in some population, whatever count it has in whole numbers that fit all ranges and equations; shape (cells,).
    left_out: joint tables that have too many cells.
    """

    classifications: tuple[Classification, ...]
    sets: tuple[tuple[Members, ...], ...]
    keys: IndexArray
    names: tuple[str, ...]
    table_count: int
    published: PublishedCells
    finest: tuple[IndexArray, ...]
    shapes: tuple[tuple[int, ...], ...]
    sums: tuple[tuple[Sums, ...], ...]
    equations: Equations
    covered: BoolArray
    left_out: tuple[tuple[str, ...], ...] = ()

    def __len__(self) -> int:
        """Number of unknowns."""
        return len(self.keys)

    @cached_property
    def lower(self) -> CountArray:
        """What is published of each cell at least: shape (cells,)."""
        lower = np.zeros(len(self), dtype=np.int64)
        np.maximum.at(lower, self.published.cells, self.published.lower)
        return lower

    @cached_property
    def upper(self) -> CountArray:
        """What is published of each cell at most: shape (cells,)."""
        upper = np.full(len(self), UNBOUNDED, dtype=np.int64)
        np.minimum.at(upper, self.published.cells, self.published.upper)
        return upper

    @cached_property
    def is_published(self) -> BoolArray:
        """Whether a table shows each cell: shape (cells,)."""
        shown: BoolArray = np.zeros(len(self), dtype=np.bool_)
        shown[self.published.cells] = True
        return shown

    def named(self, cell: int) -> dict[str, str]:
        """The values of a cell by attribute; those that it is summed over are left out."""
        return {
            c.name: c.named(self.sets[number][code])
            for number, (c, code) in enumerate(zip(self.classifications, self.keys[cell].tolist()))
            if self.sets[number][code] != c.everything
        }


def linked_tables(
    tables: Sequence[IntervalTable], classifications: Sequence[Classification], limits: JointLimits = JOINT_LIMITS
) -> LinkedTables:
    """The unknowns of some tables and, where there are several, of their joint tables.

    Raises DomainMismatchError for an attribute without classification, TooManyCellsError for more than `limits.cells` cells;
    joint tables that would lead beyond it are left out.
    """
    known = {c.name for c in classifications}
    for table in tables:
        if unknown := [name for name in table.values if name not in known]:
            raise DomainMismatchError(f"{table.name}: the attribute {unknown[0]!r} has no classification")
    published = [published_families(table, classifications) for table in tables]
    size = sum(family.size for each in published for family in each.families)
    if size > limits.cells:
        raise TooManyCellsError(f"the tables have {size:,} cells and totals, more than {limits.cells:,}")
    joints = joint_tables(published, classifications, limits)
    linked = _with_shared(published, joints.tables, classifications)
    names = (*(table.name for table in tables), *(" by ".join(each.attributes) for each in joints.tables))
    return _unknowns(_Registry(classifications), tables, linked, names, joints)


def _with_shared(
    published: Sequence[TableFamilies], joints: Sequence[TableFamilies], classifications: Sequence[Classification]
) -> list[TableFamilies]:
    """All tables with the families that they share."""
    every = [*published, *joints]
    more: list[list[Family]] = [[] for _ in every]
    for one, other in combinations(range(len(every)), 2):
        shared = shared_family(every[one], every[other], classifications)
        if shared is not None:
            more[one].append(shared)
            more[other].append(shared)
    for number, own in enumerate(joints, start=len(published)):
        for table in published:  # totals and subtotals of other tables, where they are sums here, too
            more[number].extend(f for f in table.families if own.finest.parts_of(f) is not None)
    return [table.with_more(families) for table, families in zip(every, more)]


class _Registry:
    """Numbers for sets of base values, and for combinations of them."""

    def __init__(self, classifications: Sequence[Classification]) -> None:
        self.classifications = tuple(classifications)
        self.places: list[dict[Members, int]] = [{c.everything: 0} for c in classifications]
        self.families: dict[Family, IndexArray] = {}

    def learn(self, family: Family) -> None:
        for known, values in zip(self.places, family.values):
            for members in values:
                known.setdefault(members, len(known))

    def codes(self, values: Sequence[IndexArray]) -> IndexArray:
        """One number for each combination of places: shape like the places."""
        code = np.zeros(1, dtype=np.int64)
        for known, places in zip(self.places, values):
            code = code * len(known) + places
        return np.asarray(code)

    def family_codes(self, family: Family) -> IndexArray:
        if family not in self.families:
            axes = [
                np.array([known[members] for members in values], dtype=np.int64)
                for known, values in zip(self.places, family.values)
            ]
            grid = np.meshgrid(*axes, indexing="ij") if axes else [np.zeros(1, dtype=np.int64)]
            self.families[family] = self.codes([axis.ravel() for axis in grid]) if axes else np.zeros(1, dtype=np.intp)
        return self.families[family]


def _unknowns(
    registry: _Registry,
    tables: Sequence[IntervalTable],
    linked: Sequence[TableFamilies],
    names: tuple[str, ...],
    joints: JointTables,
) -> LinkedTables:
    for each in linked:
        for family in each.families:
            registry.learn(family)
    if np.prod([float(len(known)) for known in registry.places]) > 2.0**62:
        raise TooManyCellsError("the tables have too many attributes and values to number their combinations")
    shown = [_published_codes(registry, table) for table in tables]
    codes = [*shown, *(registry.family_codes(family) for each in linked for family in each.families)]
    unique = np.unique(np.concatenate(codes))
    published = PublishedCells(
        np.searchsorted(unique, np.concatenate(shown)),
        np.repeat(np.arange(len(tables)), [len(table) for table in tables]),
        np.concatenate([table.lower for table in tables]),
        np.concatenate([table.upper for table in tables]),
    )
    covered: BoolArray = np.zeros(len(unique), dtype=np.bool_)
    for each, is_covered in zip(linked, joints.covered):
        for family in each.families if is_covered else ():
            covered[np.searchsorted(unique, registry.family_codes(family))] = True
    keys = np.stack(np.unravel_index(unique, [len(known) for known in registry.places]), axis=1)
    return LinkedTables(
        registry.classifications,
        tuple(tuple(known) for known in registry.places),
        keys,
        names,
        len(tables),
        published,
        tuple(np.searchsorted(unique, registry.family_codes(each.finest)) for each in linked),
        tuple(tuple(map(len, each.finest.values)) for each in linked),
        tuple(tuple(_sums(registry, each, unique)) for each in linked),
        _equations(registry, linked, unique),
        covered,
        joints.left_out,
    )


def _published_codes(registry: _Registry, table: IntervalTable) -> IndexArray:
    values: list[IndexArray] = []
    for classification, known in zip(registry.classifications, registry.places):
        shown: Mapping[str, tuple[Members, ...]] = table.values
        if classification.name in shown:
            places = np.array([known[members] for members in shown[classification.name]], dtype=np.int64)
            values.append(places[table.codes[classification.name]])
        else:
            values.append(np.zeros(len(table), dtype=np.int64))
    return np.asarray(np.broadcast_to(registry.codes(values), len(table)))


def _sums(registry: _Registry, each: TableFamilies, unique: IndexArray) -> Iterator[Sums]:
    for family in each.families[1:]:
        places = each.finest.parts_of(family)
        if places is not None:
            yield Sums(np.searchsorted(unique, registry.family_codes(family)), places)


def _equations(registry: _Registry, linked: Sequence[TableFamilies], unique: IndexArray) -> Equations:
    rows: list[IndexArray] = []
    cells: list[IndexArray] = []
    signs: list[CountArray] = []
    tables: list[IndexArray] = []
    begin = 0
    seen: set[tuple[Family, Family]] = set()
    for number, each in enumerate(linked):
        for total, fine, places in each.sums():
            if (total, fine) in seen:
                continue
            seen.add((total, fine))
            inside = np.flatnonzero(places >= 0)
            whole = np.searchsorted(unique, registry.family_codes(total))
            part = np.searchsorted(unique, registry.family_codes(fine))[inside]
            within = whole[places[inside]]
            apart = part != within  # a value that both families have is no equation
            rows += [begin + np.arange(len(whole)), begin + places[inside][apart]]
            cells += [whole, part[apart]]
            signs += [np.ones(len(whole), dtype=np.int64), np.full(int(apart.sum()), -1, dtype=np.int64)]
            tables.append(np.full(len(whole), number))
            begin += len(whole)
    if not rows:
        none = np.zeros(0, dtype=np.intp)
        return Equations(none, none, np.zeros(0, dtype=np.int64), none)
    row, cell, sign = np.concatenate(rows), np.concatenate(cells), np.concatenate(signs)
    order = np.argsort(row, kind="stable")
    made = Equations(row[order], cell[order], sign[order], np.concatenate(tables))
    return made.only(np.bincount(made.rows, minlength=len(made)) > 1)
