"""Linked tables: the counts of several published tables as unknowns, each with its range, and the equations between them.

A count that two tables show, or that both add up to, is one unknown. Joint tables are tables too, of which nothing is
published: their cells are what the tables tell together.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import combinations, product
from math import prod
from operator import or_
from typing import NamedTuple, TypeAlias

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray, read_only_copy
from models.errors import DomainMismatchError, TooManyCellsError
from models.graphs.interaction_graph import elimination_cliques
from models.programs.consistent_tables import UNBOUNDED, Equations

# Classifications: the values of an attribute that published tables show, each a set of base values.
#
# Sets are whole numbers, a bit for each base value: tables that group an attribute in different ways can be compared
# by them.


Members: TypeAlias = int
"""A set of base values: bit i stands for base value i."""

_LISTED = 3
"""Values that the name of a set lists one by one."""


@dataclass(frozen=True)
class Classification:
    """An attribute as all tables together show it.

    base: labels of values that no table divides further. groups: labels of sets of them, each with its base labels.
    others: whether there may be people with none of these values. Raises DomainMismatchError for labels that are given twice
    and for groups of unknown values.
    """

    name: str
    base: tuple[str, ...]
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    others: bool = False

    def __post_init__(self) -> None:
        labels = [*self.base, *self.groups]
        twice = [label for label in dict.fromkeys(labels) if labels.count(label) > 1] if len(labels) < 100 else []
        if twice or len(set(labels)) < len(labels):
            raise DomainMismatchError(f"{self.name!r} has a label twice: {', '.join(twice) or 'of its many'}")
        for label, members in self.groups.items():
            if unknown := sorted(members - set(self.base)):
                raise DomainMismatchError(f"{self.name!r}: the group {label!r} has the unknown value {unknown[0]!r}")

    @cached_property
    def everything(self) -> Members:
        """The set of all base values, and of others where there may be some."""
        return (1 << (len(self.base) + self.others)) - 1

    def members(self, label: str) -> Members:
        """The set that a label stands for. Raises DomainMismatchError for an unknown one."""
        if label not in self._members:
            raise DomainMismatchError(f"{self.name!r} has no value {label!r}")
        return self._members[label]

    def named(self, members: Members) -> str:
        """A set in words.

        >>> age = Classification("age", ("0-17", "18-64", "65+"), {"under 65": frozenset({"0-17", "18-64"})})
        >>> age.named(0b011), age.named(0b101), age.named(0b111)
        ('under 65', '0-17 or 65+', 'all')
        """
        if members == self.everything:
            return "all"
        if members in self._labels:
            return self._labels[members]
        labels = [label for place, label in enumerate(self.base) if members >> place & 1]
        if self.others and members >> len(self.base) & 1:
            missing = self.named(self.everything & ~members)
            return f"other than {missing}"
        return (
            " or ".join(labels)
            if len(labels) <= _LISTED
            else f"{labels[0]}, {labels[1]} or {len(labels) - 2} more values"
        )

    @cached_property
    def _members(self) -> dict[str, Members]:
        places = {label: 1 << place for place, label in enumerate(self.base)}
        return places | {
            label: reduce(or_, (places[base] for base in members), 0) for label, members in self.groups.items()
        }

    @cached_property
    def _labels(self) -> dict[Members, str]:
        return {members: label for label, members in self._members.items()}


def parts(sets: Iterable[Members]) -> tuple[Members, ...]:
    """The coarsest disjoint sets of which each given one is a union, by their first base value.

    >>> [f"{part:04b}" for part in parts([0b0011, 0b0110, 0b1111])]
    ['0001', '0010', '0100', '1000']
    """
    pieces: list[Members] = []
    covered = 0
    for given in sorted(set(sets), key=int.bit_count):
        if given & covered:
            divided = [piece for part in pieces for piece in (part & given, part & ~given) if piece]
            pieces = [*divided, *([given & ~covered] if given & ~covered else [])]
        elif given:
            pieces.append(given)
        covered |= given
    return tuple(sorted(pieces, key=lambda part: part & -part))


def common_unions(one: Sequence[Members], other: Sequence[Members]) -> tuple[Members, ...]:
    """The finest sets that are unions of the first disjoint sets and of the second ones, too.

    >>> common_unions([0b001, 0b010, 0b100], [0b011])
    (3,)
    """
    if tuple(one) == tuple(other):
        return tuple(one)
    known = set(one)
    same = [part for part in other if part in known]
    shared = set(same)
    united: list[Members] = []
    for part in (*(p for p in one if p not in shared), *(p for p in other if p not in shared)):
        joined, apart = part, []
        for union in united:
            if union & joined:
                joined |= union
            else:
                apart.append(union)
        united = [*apart, joined]
    within = reduce(or_, one, 0) & reduce(or_, other, 0)
    return tuple(sorted((*same, *(part for part in united if not part & ~within)), key=lambda part: part & -part))


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of which propagation leaves a range, and the equations between them.

    cells: their numbers among all. equations: about cells by their place in `cells`. known: what the counts that are known
    add to each equation, shape (equations,).
    """

    cells: IndexArray
    equations: Equations
    known: CountArray

    def __len__(self) -> int:
        """Number of cells."""
        return len(self.cells)


def blocks(equations: Equations, lower: CountArray, upper: CountArray) -> list[Block]:
    """The blocks, the smallest first. lower, upper: propagated, shape (cells,)."""
    from scipy.sparse import coo_array  # slow to import, and few need it
    from scipy.sparse.csgraph import connected_components

    size = len(lower)
    open_cells: BoolArray = lower < upper
    entries = open_cells[equations.cells]
    rows, cells, signs = equations.rows[entries], equations.cells[entries], equations.signs[entries]
    known = np.zeros(len(equations), dtype=np.int64)
    fixed = ~entries
    np.add.at(known, equations.rows[fixed], equations.signs[fixed] * lower[equations.cells[fixed]])
    # A graph of cells and equations.
    links = coo_array((np.ones(len(rows)), (cells, size + rows)), shape=(size + len(equations),) * 2)
    _, part = connected_components(links, directed=False)
    return _apart(part.astype(np.intp), np.flatnonzero(open_cells), (rows, cells, signs), equations, known)


def _apart(
    part: IndexArray,
    open_cells: IndexArray,
    entries: tuple[IndexArray, IndexArray, CountArray],
    equations: Equations,
    known: CountArray,
) -> list[Block]:
    rows, cells, signs = entries
    place = np.zeros(len(part), dtype=np.intp)
    by_cell = np.argsort(part[open_cells], kind="stable")
    by_entry = np.argsort(part[cells], kind="stable")
    cell_groups = _groups(part[open_cells][by_cell])
    entry_groups = dict(_groups(part[cells][by_entry]))
    made = []
    for number, span in cell_groups:
        block_cells = open_cells[by_cell[span]]
        place[block_cells] = np.arange(len(block_cells))
        inside = by_entry[entry_groups[number]] if number in entry_groups else np.zeros(0, dtype=np.intp)
        used, row = np.unique(rows[inside], return_inverse=True)
        order = np.argsort(row, kind="stable")
        own_equations = Equations(row[order], place[cells[inside]][order], signs[inside][order], equations.tables[used])
        made.append(_without_doubles(Block(block_cells, own_equations, known[used])))
    return sorted(made, key=len)


def _groups(sorted_parts: IndexArray) -> Sequence[tuple[int, slice]]:
    values, begins = np.unique(sorted_parts, return_index=True)
    ends = [*begins[1:].tolist(), len(sorted_parts)]
    return [(int(value), slice(int(begin), end)) for value, begin, end in zip(values, begins, ends)]


def _without_doubles(block: Block) -> Block:
    """The same block with equations that say the same kept once."""
    equations = block.equations
    if not len(equations):
        return block
    # A random number for each cell tells sums apart; an equation that was left out wrongly would only loosen bounds.
    rng = np.random.default_rng(0)
    marks = rng.integers(1, 2**61, size=len(block))
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(equations.signs * marks[equations.cells], equations.begins)
    first = np.zeros(len(equations), dtype=np.bool_)
    sides = np.where(sums < 0, -1, 1)
    said = np.stack([sums * sides, block.known * sides], axis=1)
    first[np.unique(said, axis=0, return_index=True)[1]] = True
    return Block(block.cells, equations.only(first), block.known[first])


_MOST = 2**40
"""Counts are less, so that sums and multiples of them are exact."""

Interval: TypeAlias = tuple[int, int]
"""The least and the largest count that is possible."""


@dataclass(frozen=True, eq=False)
class IntervalTable:
    """A published table: cells with a range each.

    values: for each attribute the sets of base values that it shows, totals and subtotals among them. codes: of each cell
    the place of its set among them, shape (cells,) each. lower, upper: the range of its count, both ends possible; UNBOUNDED
    for no upper end. Attributes that a table does not have are summed over. Raises DomainMismatchError for other shapes,
    empty ranges and counts below 0 or above 2^40.
    """

    name: str
    values: Mapping[str, tuple[Members, ...]]
    codes: Mapping[str, IndexArray]
    lower: CountArray
    upper: CountArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", read_only_copy(self.lower, np.int64))
        object.__setattr__(self, "upper", read_only_copy(self.upper, np.int64))
        shapes = {np.shape(codes) for codes in self.codes.values()} | {self.lower.shape, self.upper.shape}
        if shapes != {(len(self.lower),)} or self.values.keys() != self.codes.keys():
            raise DomainMismatchError(
                f"{self.name}: every cell needs a value of each attribute and both ends of a range"
            )
        if np.any(self.lower < 0) or np.any(self.lower > self.upper):
            raise DomainMismatchError(f"{self.name}: a range of counts is empty or begins below 0")
        if np.any(self.lower > _MOST) or np.any((self.upper > _MOST) & (self.upper != UNBOUNDED)):
            raise DomainMismatchError(f"{self.name}: a count is larger than 2^40")

    @classmethod
    def of(cls, name: str, attributes: Sequence[str], cells: Mapping[tuple[Members, ...], Interval]) -> "IntervalTable":
        """The table of some cells, each given by a set of base values for each attribute."""
        values = {a: tuple(dict.fromkeys(key[place] for key in cells)) for place, a in enumerate(attributes)}
        places = {a: {members: code for code, members in enumerate(value)} for a, value in values.items()}
        codes = {
            a: np.array([places[a][key[place]] for key in cells], dtype=np.intp) for place, a in enumerate(attributes)
        }
        ranges = np.array([*cells.values()], dtype=np.int64).reshape(-1, 2)
        return cls(name, values, codes, ranges[:, 0], ranges[:, 1])

    def __len__(self) -> int:
        """Number of published cells."""
        return len(self.lower)


@dataclass(frozen=True)
class Family:
    """The cells of all combinations of one value of each attribute. values: disjoint sets, for each attribute."""

    values: tuple[tuple[Members, ...], ...]

    @property
    def size(self) -> int:
        """Number of cells."""
        return prod(map(len, self.values))

    def parts_of(self, total: "Family") -> IndexArray | None:
        """For each cell here, in C order, the cell of the other family that it is a part of, -1 for none: shape (size,).

        None unless every cell of the other family is a union of cells of this one.
        """
        places = []
        for fine, coarse in zip(self.values, total.values):
            inside = _places(fine, coarse)
            if inside is None:
                return None
            places.append(inside)
        part_numbers = np.zeros(1, dtype=np.intp)
        for place, coarse in zip(places, total.values):
            both = part_numbers[:, None] * len(coarse) + place
            part_numbers = np.where((part_numbers[:, None] < 0) | (place < 0), -1, both).ravel()
        return part_numbers

    def differs_in(self, other: "Family") -> int:
        """In how many attributes the values are others."""
        return sum(one != another for one, another in zip(self.values, other.values))


def _places(fine: Sequence[Members], coarse: Sequence[Members]) -> IndexArray | None:
    if tuple(fine) == tuple(coarse):
        return np.arange(len(fine))
    known = {members: place for place, members in enumerate(coarse)}
    result, covered = [], [0] * len(coarse)
    for part in fine:
        place = known.get(part, -1)
        if place < 0:
            place = next((number for number, whole in enumerate(coarse) if not part & ~whole), -1)
        result.append(place)
        if place >= 0:
            covered[place] |= part
    return np.array(result, dtype=np.intp) if covered == list(coarse) else None


def layers(member_sets: Sequence[Members]) -> list[tuple[Members, ...]]:
    """The values of an attribute of one table in layers of disjoint sets, the finest first, each as far as the table goes.

    >>> layers([0b001, 0b010, 0b100, 0b011, 0b111])
    [(1, 2, 4), (3, 4), (7,)]
    """
    finest = parts(member_sets)
    result: list[list[Members]] = []
    for members in sorted(set(member_sets) - set(finest), key=int.bit_count):
        free = (layer for layer in result if not any(members & other for other in layer))
        layer = next(free, None)
        if layer is None:
            result.append([members])
        else:
            layer.append(members)
    completed = []
    for layer in result:
        covered = reduce(or_, layer)
        completed.append(
            tuple(sorted((*layer, *(p for p in finest if not p & covered)), key=lambda part: part & -part))
        )
    return [finest, *completed]


@dataclass(frozen=True, eq=False)
class TableFamilies:
    """The families of one table: the finest first, then those that it publishes, then those that it shares with others.

    attributes: of the table, in the order of all classifications; families list values of all of them, everything for
    those that the table does not have.
    """

    attributes: tuple[str, ...]
    families: tuple[Family, ...]

    @property
    def finest(self) -> Family:
        """The family that all others add up."""
        return self.families[0]

    def with_more(self, families: Sequence[Family]) -> "TableFamilies":
        """With other families, each once."""
        return TableFamilies(self.attributes, tuple(dict.fromkeys((*self.families, *families))))

    def sums(self) -> Iterator[tuple[Family, Family, IndexArray]]:
        """Families, others that they are sums of, and for each cell of the latter the one that it is a part of.

        All pairs that differ in one attribute, and for families without such parts the finest cells.
        """
        for total in self.families:
            result = False
            for fine in self.families:
                if fine is not total and fine.differs_in(total) == 1:
                    places = fine.parts_of(total)
                    if places is not None:
                        result = True
                        yield total, fine, places
            if not result and total != self.finest:
                places = self.finest.parts_of(total)
                if places is not None:
                    yield total, self.finest, places


def published_families(table: IntervalTable, classifications: Sequence[Classification]) -> TableFamilies:
    """The finest family of a table, and those of its totals and subtotals that it publishes."""
    by_attribute = {name: layers(value) for name, value in table.values.items()}
    homes: dict[str, IndexArray] = {}
    for name, value in table.values.items():
        home = {members: number for number, layer in reversed([*enumerate(by_attribute[name])]) for members in layer}
        homes[name] = np.array([home[members] for members in value], dtype=np.intp)[table.codes[name]]
    used = np.unique(np.stack([*homes.values()], axis=1), axis=0) if homes else np.zeros((0, 0), dtype=np.intp)
    names = [*table.values]
    chosen = {tuple(map(int, row)) for row in used}
    everything = {c.name: (c.everything,) for c in classifications}

    def family(layer_of: Mapping[str, int]) -> Family:
        return Family(
            tuple(
                by_attribute[c.name][layer_of[c.name]] if c.name in layer_of else everything[c.name]
                for c in classifications
            )
        )

    finest = family(dict.fromkeys(names, 0))
    # A sum over two attributes is a sum of sums over one: they are families too, published or not.
    steps = (
        {row for numbers_chosen in chosen for row in product(*({0, number} for number in numbers_chosen))}
        if len(names) <= 4
        else chosen
    )
    others = [family(dict(zip(names, row))) for row in sorted(steps)]
    attributes = tuple(c.name for c in classifications if c.name in table.values)
    return TableFamilies(attributes, (finest,)).with_more(others)


def shared_family(one: TableFamilies, other: TableFamilies, classifications: Sequence[Classification]) -> Family | None:
    """The finest family of cells that both tables sum up to; None where there is none."""
    values = []
    for number, classification in enumerate(classifications):
        first, second = one.finest.values[number], other.finest.values[number]
        unions = common_unions(first, second)
        if not unions:
            return None
        is_in = [classification.name in table.attributes for table in (one, other)]
        if not all(is_in) and any(is_in) and unions != (classification.everything,):
            return None
        values.append(unions)
    return Family(tuple(values))


def finest_values(
    tables: Sequence[TableFamilies], classifications: Sequence[Classification]
) -> tuple[tuple[Members, ...], ...]:
    """For each attribute its values as finely as the tables show them together, others among them."""
    values: list[tuple[Members, ...]] = []
    for number, classification in enumerate(classifications):
        published_values = [
            part for t in tables if classification.name in t.attributes for part in t.finest.values[number]
        ]
        values.append(parts([*published_values, classification.everything]))
    return tuple(values)


def joint_families(
    values: Sequence[tuple[Members, ...]], classifications: Sequence[Classification], attributes: Collection[str]
) -> TableFamilies:
    """The cells of some attributes together. values: the finest of each attribute."""
    names = tuple(c.name for c in classifications if c.name in attributes)
    axes = tuple(finest if c.name in names else (c.everything,) for c, finest in zip(classifications, values))
    return TableFamilies(names, (Family(axes),))


# Coverage: whether tables that agree on the counts they share are tables of one population.
#
# Tables of whole numbers that agree in pairs need not have a population: three tables of two attributes each may agree
# where no table of the three attributes has them. They have one where subsets of them stand in a junction tree: along
# it two tables at a time are joined, people of each shared cell in any order (Lauritzen 1996, 3.1; Dobra and Fienberg
# 2000).


Attributes: TypeAlias = frozenset[str]


def is_covered(attribute_sets: Iterable[Attributes], complete: Sequence[Attributes]) -> bool:
    """Whether a junction tree, each of its cliques a part of a complete table, covers the attributes of all shown tables.

    complete: tables that show each of their attributes as finely as any table does. False where no tree was found, which
    need not mean that there is none.

    >>> ring = [frozenset("ab"), frozenset("bc"), frozenset("cd"), frozenset("ad")]
    >>> is_covered(ring, ring), is_covered(ring, [frozenset("abd"), frozenset("bcd")])
    (False, True)
    """

    def inside(clique: Set[str]) -> bool:
        return any(clique <= table for table in complete)

    return elimination_cliques(attribute_sets, inside) is not None


def missing(attribute_sets: Iterable[Attributes], complete: Sequence[Attributes]) -> list[Attributes]:
    """Attributes of tables that would have to be complete for the shown tables to be covered; the fewest that were found.

    >>> pairs = [frozenset(pair) for pair in ("ab", "ac", "ad", "bc", "bd", "cd")]
    >>> [sorted(each) for each in missing(pairs, [frozenset("abc")])]
    [['a', 'b', 'c', 'd']]
    """
    cliques = sorted(set(elimination_cliques(attribute_sets) or []), key=lambda clique: (-len(clique), sorted(clique)))
    wanted: list[Attributes] = []
    for clique in cliques:
        if not any(clique <= table for table in (*complete, *wanted)):
            wanted.append(clique)
    return wanted


@dataclass(frozen=True)
class JointLimits:
    """How many joint tables are made. attributes: that each has, besides those that all tables have. cells: of all tables
    together. wide: cells that a table of more attributes may have, for each cell of those that all tables have; it is made
    where nothing less shows that counts which fit are those of a population.
    """

    attributes: int = 3
    cells: int = 2_000_000
    wide: int = 2_000


JOINT_LIMITS = JointLimits()


@dataclass(frozen=True)
class JointTables:
    """tables: the joint ones. covered: of each published table, then of each joint one, whether whatever counts it has in
    whole numbers that fit all ranges and equations it has in some population. left_out: attributes of those with too many
    cells.
    """

    tables: tuple[TableFamilies, ...]
    covered: tuple[bool, ...]
    left_out: tuple[tuple[str, ...], ...]


def joint_tables(
    published: Sequence[TableFamilies], classifications: Sequence[Classification], limits: JointLimits = JOINT_LIMITS
) -> JointTables:
    """The joint tables of all combinations of a few attributes, and wider ones where these leave it open what is possible.

    One table alone needs none.
    """
    if len(published) == 1:
        return JointTables((), (True,), ())
    drawn = _Draft(published, classifications, limits)
    for attributes in drawn.narrow():
        drawn.add(frozenset(attributes))
    attribute_sets = [frozenset(table.attributes) for table in published]
    if not all(drawn.covered(attribute_sets)):
        drawn.widen(attribute_sets)
    return JointTables(tuple(drawn.made), tuple(drawn.covered(attribute_sets)), tuple(drawn.left_out))


class _Draft:
    """Joint tables that are being chosen."""

    def __init__(
        self, published: Sequence[TableFamilies], classifications: Sequence[Classification], limits: JointLimits
    ) -> None:
        self.published, self.classifications, self.limits = published, classifications, limits
        self.values = finest_values(published, classifications)
        self.size = sum(family.size for families_of_table in published for family in families_of_table.families)
        self.made: list[TableFamilies] = []
        self.left_out: list[tuple[str, ...]] = []
        self.names = sorted({name for table in published for name in table.attributes})
        self.common = frozenset(
            name for name in self.names if all(name in table.attributes or not table.attributes for table in published)
        )
        self.complete: list[Attributes] = [
            frozenset(table.attributes)
            for table in published
            if table.finest == joint_families(self.values, classifications, table.attributes).finest
        ]

    def narrow(self) -> Iterator[tuple[str, ...]]:
        """The attributes of joint tables: those that all tables have, such as a geography, and as many others as may be."""
        others = [name for name in self.names if name not in self.common]
        if self.limits.attributes and self.names:
            for chosen in combinations(others, min(self.limits.attributes, len(others))):
                yield (*self.common, *chosen)

    def add(self, attributes: Attributes) -> None:
        """Make the table of some attributes, unless it has too many cells or is published."""
        joint = joint_families(self.values, self.classifications, attributes)
        if attributes in self.complete:
            return
        if self.size + 2 * joint.finest.size > self.limits.cells:
            self.left_out.append(joint.attributes)
            return
        self.size += 2 * joint.finest.size
        self.made.append(joint)
        self.complete.append(attributes)

    def widen(self, attribute_sets: Sequence[Attributes]) -> None:
        """Make the table of all attributes, or of those whose joint tables are missing, where it is not too large."""
        every = frozenset(self.names)
        wanted = [every] if self._is_small(every) else missing(attribute_sets, self.complete)
        for attributes in wanted:
            if self._is_small(attributes):
                self.add(attributes)

    def covered(self, attribute_sets: Sequence[Attributes]) -> list[bool]:
        """Of each published table, then of each joint one, whether a junction tree covers it with all published ones."""
        whole = is_covered(attribute_sets, self.complete)
        return [
            *(whole for _ in self.published),
            *(
                whole and is_covered([*attribute_sets, frozenset(joint.attributes)], self.complete)
                for joint in self.made
            ),
        ]

    def _is_small(self, attributes: Attributes) -> bool:
        """Whether a table has few cells for each cell of the attributes that all tables have."""
        return self._cells(attributes | self.common).size <= self.limits.wide * self._cells(self.common).size

    def _cells(self, attributes: Attributes) -> Family:
        return joint_families(self.values, self.classifications, attributes).finest


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
    the tables, the `table_count` published ones first. finest: for each table its finest cells, in C order; sums: its
    totals. covered: whether each cell has, in some population, whatever count it has in whole numbers that fit all ranges
    and equations; shape (cells,). left_out: joint tables that have too many cells.
    """

    classifications: tuple[Classification, ...]
    sets: tuple[tuple[Members, ...], ...]
    keys: IndexArray
    names: tuple[str, ...]
    table_count: int
    published: PublishedCells
    finest: tuple[IndexArray, ...]
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
        is_published: BoolArray = np.zeros(len(self), dtype=np.bool_)
        is_published[self.published.cells] = True
        return is_published

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
    size = sum(family.size for families_of_table in published for family in families_of_table.families)
    if size > limits.cells:
        raise TooManyCellsError(f"the tables have {size:,} cells and totals, more than {limits.cells:,}")
    joints = joint_tables(published, classifications, limits)
    linked = _with_shared(published, joints.tables, classifications)
    names = (*(table.name for table in tables), *(" by ".join(table.attributes) for table in joints.tables))
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
    for number, joint_table in enumerate(joints, start=len(published)):
        for table in published:  # totals and subtotals of other tables, where they are sums here, too
            more[number].extend(f for f in table.families if joint_table.finest.parts_of(f) is not None)
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
    for table_families in linked:
        for family in table_families.families:
            registry.learn(family)
    if np.prod([float(len(known)) for known in registry.places]) > 2.0**62:
        raise TooManyCellsError("the tables have too many attributes and values to number their combinations")
    published_codes = [_published_codes(registry, table) for table in tables]
    codes = [
        *published_codes,
        *(registry.family_codes(family) for table_set in linked for family in table_set.families),
    ]
    unique = np.unique(np.concatenate(codes))
    published = PublishedCells(
        np.searchsorted(unique, np.concatenate(published_codes)),
        np.repeat(np.arange(len(tables)), [len(table) for table in tables]),
        np.concatenate([table.lower for table in tables]),
        np.concatenate([table.upper for table in tables]),
    )
    covered: BoolArray = np.zeros(len(unique), dtype=np.bool_)
    for table_families, is_covered in zip(linked, joints.covered):
        for family in table_families.families if is_covered else ():
            covered[np.searchsorted(unique, registry.family_codes(family))] = True
    keys = np.stack(np.unravel_index(unique, [len(known) for known in registry.places]), axis=1)
    return LinkedTables(
        registry.classifications,
        tuple(tuple(known) for known in registry.places),
        keys,
        names,
        len(tables),
        published,
        tuple(np.searchsorted(unique, registry.family_codes(table_set.finest)) for table_set in linked),
        tuple(tuple(_sums(registry, table_set, unique)) for table_set in linked),
        _equations(registry, linked, unique),
        covered,
        joints.left_out,
    )


def _published_codes(registry: _Registry, table: IntervalTable) -> IndexArray:
    values: list[IndexArray] = []
    for classification, known in zip(registry.classifications, registry.places):
        values_of: Mapping[str, tuple[Members, ...]] = table.values
        if classification.name in values_of:
            places = np.array([known[members] for members in values_of[classification.name]], dtype=np.int64)
            values.append(places[table.codes[classification.name]])
        else:
            values.append(np.zeros(len(table), dtype=np.int64))
    return np.asarray(np.broadcast_to(registry.codes(values), len(table)))


def _sums(registry: _Registry, table_families: TableFamilies, unique: IndexArray) -> Iterator[Sums]:
    for family in table_families.families[1:]:
        places = table_families.finest.parts_of(family)
        if places is not None:
            yield Sums(np.searchsorted(unique, registry.family_codes(family)), places)


def _equations(registry: _Registry, linked: Sequence[TableFamilies], unique: IndexArray) -> Equations:
    rows: list[IndexArray] = []
    cells: list[IndexArray] = []
    signs: list[CountArray] = []
    tables: list[IndexArray] = []
    begin = 0
    seen: set[tuple[Family, Family]] = set()
    for number, table_families in enumerate(linked):
        for total, fine, places in table_families.sums():
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
