"""Tables of the publisher: roles, hierarchies, and the count of each combination of values."""

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from checks.impossible import ImpossiblePair
from marginals.errors import InputError
from marginals.later import pd
from marginals.tables.attribute import Codebook, Harm, Role
from marginals.tables.distinct_rows import Recoding
from marginals.tables.group_names import GroupNaming, KeptNames, NamedLevels
from marginals.tables.people import RepeatingKey, RowsPerPerson, unit_refusal
from marginals.tables.values import NumberFormat
from models.arrays import BoolArray, CodeArray, CountArray
from models.frozen import frozen
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube, interactions
from models.tables.fitted_levels import FittedLadder
from models.tables.hierarchy import Domain, Hierarchy, Margin, Mask

if TYPE_CHECKING:
    from marginals.tables.engines import CodedRows


@frozen(eq=False)
class OutOfCoreCounts:
    """Counts of a table whose rows an engine holds, only as fine as a release can use them.

    `recodings`: base codes of the values of each column. `finest`: the finest levels that a release can use. `limit`:
    cells that fit into memory. `complete`: whether no row lacks a value.
    """

    engine: "CodedRows"
    domain: Domain
    recodings: Mapping[str, Recoding]
    singles: tuple[ContingencyTable, ...]
    finest: Mapping[str, int]
    limit: int
    complete: bool
    _estimates: dict[Mask, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Number of rows that count."""
        return self.singles[0].total

    @property
    def fits(self) -> bool:
        """Return whether the distinct rows fit into memory at the finest levels that a release can use."""
        return self._cells(self.finest) <= self.limit

    def table(self, margin: Mapping[str, int]) -> ContingencyTable:
        """Counts of a margin, or of the widest finer one that surely fits. Raises InputError for too many cells."""
        cells = self._cells(margin)
        if cells > self.limit:
            raise InputError(
                f"{self.engine.name} has about {cells:,} combinations of {', '.join(margin)} at the levels asked for, "
                f"more than the {self.limit} that fit. Raise the setting data.memory, or coarsen the hierarchies"
            )
        wide = self._widened(margin)
        codes, counts = self.engine.count(self._recoded(wide))
        return ContingencyTable.from_cells(self.domain, wide, codes, counts)

    def counts_of_counts(self, margin: Mapping[str, int]) -> tuple[CountArray, CountArray]:
        """Rising counts of the cells that are not empty, and how many cells have each; no cell leaves the engine."""
        return self.engine.counts_of_counts(self._recoded(margin))

    def can_hold(self, margin: Mapping[str, int]) -> bool:
        """Return whether a margin has few enough cells for its table."""
        return self._cells(margin) <= self.limit

    def _cells(self, margin: Mapping[str, int]) -> int:
        """Upper bound on the number of nonempty cells of a margin, or an estimate where the bound is too large."""
        most = min(self.domain.size(margin), self.total)
        if most <= self.limit:
            return most
        mask = self.domain.mask(margin)
        if mask not in self._estimates:
            self._estimates[mask] = self.engine.estimate_recoded(self._recoded(margin))
        return self._estimates[mask]

    def _widened(self, margin: Mapping[str, int]) -> Margin:
        """Margin with more attributes and finer levels, as long as all its cells fit, the empty ones too."""
        wide = dict(self.domain.margin(self.domain.mask(margin)))
        for attribute, level in self.finest.items():
            hierarchy = self.domain.hierarchy(attribute)
            finer = wide | {attribute: min(level, wide.get(attribute, hierarchy.height))}
            if self.domain.size(finer) <= self.limit:
                wide = finer
        return self.domain.margin(self.domain.mask(wide))

    def _recoded(self, margin: Mapping[str, int]) -> dict[str, Recoding]:
        recoded = {}
        for column, base in self.recodings.items():
            if column in margin:
                lifted = self.domain.hierarchy(column).lift(0, margin[column]).astype(np.intp)
                recoded[column] = np.where(base >= 0, lifted[base], -1)
            elif not self.complete:
                recoded[column] = np.where(base >= 0, 0, -1)
        return recoded


def finest_levels(singles: Mapping[str, ContingencyTable], roles: Mapping[str, Role], k: int) -> dict[str, int]:
    """Finest level of each attribute at which all its classes have k rows, else its height; 0 of sensitive ones."""
    levels = {}
    for attribute, table in singles.items():
        hierarchy = table.domain.hierarchy(attribute)
        sizes = (table.rolled_up({attribute: level}).counts for level in range(hierarchy.height + 1))
        usable = (level for level, counts in enumerate(sizes) if counts.min() >= k)
        levels[attribute] = 0 if roles[attribute] is Role.SENSITIVE else next(usable, hierarchy.height)
    return levels


def kept_counts(engine: "CodedRows", recodings: Mapping[str, Recoding]) -> dict[str, CountArray]:
    """Frequency of each code of each column in the rows that lack no value; columns are recoded by `recodings`."""
    counted = {}
    for column, recoding in recodings.items():
        constant = {other: np.where(codes >= 0, 0, -1) for other, codes in recodings.items()}
        codes, counts = engine.count({**constant, column: recoding})
        counted[column] = np.bincount(codes[column], counts, int(recoding.max(initial=-1)) + 1).astype(np.int64)
    return counted


Values = Mapping[str, BoolArray]  # base values that tell a part from the rest: shape (size(0),)


class RowChoice(Protocol):
    """Condition on rows: a text, and the base values in a domain that it selects."""

    @property
    def text(self) -> str:
        """Text of the condition."""

    def values(self, domain: Domain) -> Values:
        """Base values that the condition selects. Raises InputError where that is not clear."""


def part_of(where: RowChoice, counts: ContingencyTable) -> ContingencyTable:
    """Cells of a part. Raises InputError for counts at levels that do not tell it from the rest."""
    values = where.values(counts.domain)
    inside = np.ones(len(counts), dtype=bool)
    for name, level in separating_levels(counts.domain, values).items():
        hierarchy = counts.domain.hierarchy(name)
        finest = counts.margin.get(name, hierarchy.height)
        if finest > level:
            raise InputError(f"{name!r} at level {finest} does not tell the part {where.text!r} from the rest")
        inside &= values_at(hierarchy, values[name], finest)[counts.column(name, finest)]
    codes = {name: column[inside] for name, column in zip(counts.attributes, counts.codes)}
    return ContingencyTable.from_cells(counts.domain, counts.margin, codes, counts.counts[inside])


def telling_margin(where: RowChoice, domain: Domain) -> Mask:
    """Margin that tells a part from the rest: its attributes at levels that are just fine enough."""
    return domain.mask(separating_levels(domain, where.values(domain)))


def separating_levels(domain: Domain, values: Values) -> dict[str, int]:
    """Coarsest level of each attribute whose values lie in a part or in the rest, none in both."""
    levels = {}
    for name, inside in values.items():
        hierarchy = domain.hierarchy(name)
        level = max(level for level in range(hierarchy.height + 1) if is_told(hierarchy, inside, level))
        if level < hierarchy.height:
            levels[name] = level
    return levels


def values_at(hierarchy: Hierarchy, inside: BoolArray, level: int) -> BoolArray:
    """Values of a level with base values in a part."""
    in_part = np.zeros(hierarchy.size(level), dtype=bool)
    in_part[hierarchy.lift(0, level)[inside]] = True
    return in_part


def is_told(hierarchy: Hierarchy, inside: BoolArray, level: int) -> bool:
    """Return whether no value of a level has base values in a part and others in the rest."""
    return not (values_at(hierarchy, inside, level) & values_at(hierarchy, ~inside, level)).any()


@frozen(eq=False)
class PartOf:
    """Relation of a table to the one that it is a part of. `where`: the part. `whole`: the other table."""

    where: RowChoice
    whole: "Table"


class NumbersRead(NamedTuple):
    """Form of the numbers of a column, and the number of rows with a value that is no number."""

    format: NumberFormat
    unreadable: int


@frozen(eq=False)
class Table:
    """Rows of a table, counted by their base values.

    `counts`: of all used attributes at level 0, or coarser if the table is too large to hold; then `out_of_core` counts the
    rest. `missing`: dropped rows. `missing_in`: dropped rows by column. `public`: attributes with a public hierarchy.
    `rows_per_person`: most rows of one person, "any", or None if not declared. `one_row`: the row of each person that
    counts, if one was chosen. `left_out`: rows beyond those. `repeating`: columns that look like keys of people. `copies`:
    least frequency of each row. `ladders`, `fitted`: levels fitted to rows. `naming`: names of groups in
    a release. `part`: the table of which these rows are a part. `counts_missing`: attributes with the value "missing".
    `harm`: confirmed harm of sensitive values. `numbers`, `respelled`: unusual numbers and spellings, for reports.
    `impossible`: pairs of labels that nobody has.

    >>> from marginals.example import table
    >>> table
    Table(48 rows, 12 distinct, 0 dropped; age (quasi-identifier), sex (quasi-identifier), diagnosis (sensitive))
    >>> table.domain.hierarchy("age").labels[2]
    ('20-39', '40-59')
    """

    counts: ContingencyTable
    roles: Mapping[str, Role]
    missing: int = 0
    out_of_core: OutOfCoreCounts | None = None
    public: frozenset[str] = frozenset()
    missing_in: Mapping[str, int] = field(default_factory=dict)
    rows_per_person: RowsPerPerson = None
    left_out: int = 0
    repeating: tuple[RepeatingKey, ...] = ()
    copies: int = 1
    codebook: Codebook = field(default_factory=Codebook)
    ladders: Mapping[str, FittedLadder] = field(default_factory=dict)
    naming: Mapping[str, GroupNaming | KeptNames] = field(default_factory=dict)
    fitted: frozenset[str] = frozenset()
    part: PartOf | None = None
    counts_missing: frozenset[str] = frozenset()
    harm: Mapping[str, Harm] = field(default_factory=dict)
    numbers: Mapping[str, NumbersRead] = field(default_factory=dict)
    respelled: Mapping[str, int] = field(default_factory=dict)
    impossible: tuple[ImpossiblePair, ...] = ()
    one_row: str | None = None

    def __repr__(self) -> str:
        attributes = ", ".join(f"{name} ({role.value})" for name, role in self.roles.items())
        left_out = f", {self.left_out} left out" if self.left_out else ""
        repeating = "".join(f"; {key}" for key in self.repeating)
        where = f" where {self.part.where.text}" if self.part else ""
        counted = f"{self.rows} rows{where}, {len(self.counts)} distinct, {self.missing} dropped{left_out}"
        return f"Table({counted}; {attributes}{repeating})"

    @property
    def whole(self) -> "Table":
        """Table of which this one is a part, which counts the same unit; itself where it is no part."""
        if self.part is None:
            return self
        of_unit = ("missing", "missing_in", "rows_per_person", "one_row", "left_out", "repeating")
        return replace(self.part.whole, **{name: getattr(self, name) for name in of_unit})

    @property
    def most_rows_of_a_person(self) -> int | None:
        """Most rows of a person, so that claims are about people; None where they are about rows.

        Raises InputError if it is not declared and a column that looks like a key repeats.
        """
        if self.rows_per_person is None and self.repeating:
            raise unit_refusal(self.repeating)
        return self.rows_per_person if isinstance(self.rows_per_person, int) else None

    @property
    def rows(self) -> int:
        """Number of rows that count."""
        return self.counts.total

    @property
    def domain(self) -> Domain:
        """Attributes with their hierarchies."""
        return self.counts.domain

    @cached_property
    def cube(self) -> DataCube:
        """Data cube of the table, in which a model has parameters for the dependence of attributes."""
        singles = self.out_of_core.singles if self.out_of_core else ()
        return DataCube([self.counts, *singles], self.out_of_core, interactions)

    @property
    def base_counts(self) -> ContingencyTable:
        """Counts at level 0. Raises InputError where there are too many."""
        if self.out_of_core is not None:
            raise InputError(
                f"{self.out_of_core.engine.name} has more distinct rows than the {self.out_of_core.limit} that fit, and "
                "this needs them all; raise the setting data.memory, or leave out columns"
            )
        return self.counts

    def names(self, finest: Mapping[str, int], least: int) -> dict[str, NamedLevels]:
        """Names of groups for the finest level of each attribute. `least`: rows below which no count may follow."""
        named = {}
        for name, naming in self.naming.items():
            hierarchy, level = self.domain.hierarchy(name), finest[name]
            if level < hierarchy.height:
                counts = self.cube.table(self.domain.mask({name: 0})).dense()
                named[name] = naming.named(hierarchy, level, counts, least)
        return named

    def with_hierarchies(self, others: Mapping[str, Hierarchy]) -> "Table":
        """Return the same table with other labels of some attributes, whose levels and values stay."""
        domain = Domain.of(dict(self.domain.items()) | dict(others))
        counts, engine = replace(self.counts, domain=domain), self.out_of_core
        if engine is not None:
            singles = tuple(replace(single, domain=domain) for single in engine.singles)
            engine = replace(engine, domain=domain, singles=singles)
        return replace(self, counts=counts, out_of_core=engine, naming={})

    def attributes(self, role: Role) -> tuple[str, ...]:
        """Attributes of a role, in the domain's order."""
        return tuple(name for name in self.domain.attributes if self.roles[name] is role)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Attributes that may be known from elsewhere."""
        return self.attributes(Role.QUASI_IDENTIFIER)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Attributes that nobody may learn about a person."""
        return self.attributes(Role.SENSITIVE)


@frozen(eq=False)
class Rows:
    """Rows of a table one by one, those with a missing value left out.

    `codes`: base codes, shape (rows,). `frame`: all columns as read. `missing`: rows left out. `no_value`: texts that
    stand for no value.
    """

    domain: Domain
    roles: Mapping[str, Role]
    codes: Mapping[str, CodeArray] = field(repr=False)
    frame: "pd.DataFrame" = field(repr=False)
    missing: int = 0
    no_value: frozenset[str] = frozenset({""})
    repeating: tuple[RepeatingKey, ...] = ()
    decimal: str = "."

    def __len__(self) -> int:
        return len(self.frame)
