"""Linked tables: the counts of several published tables as unknowns, each with its range, and the equations between
them.

A count that two tables show, or add up to, is one unknown. Joint tables are tables of which nothing is published.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, reduce
from itertools import chain, combinations, product
from math import prod
from operator import ne, or_
from typing import TypeAlias

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray, read_only_copy
from models.errors import DomainMismatchError, TooManyCellsError
from models.frozen import frozen
from models.graphs.interaction_graph import elimination_cliques
from models.programs.consistent_tables import UNBOUNDED, Equations

# Classifications: the values of an attribute that published tables show, each a set of base values.
#
# Sets are whole numbers, a bit for each base value, so that different groups of an attribute can be compared.


Members: TypeAlias = int
"""Set of base values: bit i stands for base value i."""

Interval: TypeAlias = tuple[int, int]
"""Least and largest possible count."""

Family: TypeAlias = tuple[tuple[Members, ...], ...]
"""Cells of all combinations of one value of each attribute: disjoint sets, for each classification."""

Attributes: TypeAlias = frozenset[str]
"""Attributes of a table."""

_LISTED = 3
"""Values that a name or an error lists one by one."""


@frozen
class Classification:
    """Values of an attribute, as all tables together show them.

    name: the attribute. base: labels of values that no table divides further. groups: labels of sets of them, each
    with its base labels. others: whether there may be people with none of these values. Raises DomainMismatchError if
    a label is repeated, or if a group has an unknown value.
    """

    name: str
    base: tuple[str, ...]
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    others: bool = False

    def __post_init__(self) -> None:
        if twice := [label for label, times in Counter((*self.base, *self.groups)).items() if times > 1]:
            raise DomainMismatchError(f"{self.name!r} has a label twice: {', '.join(twice[:_LISTED])}")
        for label, members in self.groups.items():
            if unknown := sorted(members - set(self.base)):
                raise DomainMismatchError(f"{self.name!r}: the group {label!r} has the unknown value {unknown[0]!r}")

    @cached_property
    def everything(self) -> Members:
        """Set of all base values, including other ones if there may be some."""
        return (1 << (len(self.base) + self.others)) - 1

    def members(self, label: str) -> Members:
        """Return the set that a label stands for. Raises DomainMismatchError for an unknown label."""
        if label not in self._members:
            raise DomainMismatchError(f"{self.name!r} has no value {label!r}")
        return self._members[label]

    def named(self, members: Members) -> str:
        """Return a set in words.

        >>> age = Classification("age", ("0-17", "18-64", "65+"), {"under 65": frozenset({"0-17", "18-64"})})
        >>> age.named(0b011), age.named(0b101), age.named(0b111)
        ('under 65', '0-17 or 65+', 'all')
        """
        if members == self.everything:
            return "all"
        if members in self._labels:
            return self._labels[members]
        if self.others and members >> len(self.base) & 1:
            return f"other than {self.named(self.everything & ~members)}"
        labels = [label for place, label in enumerate(self.base) if members >> place & 1]
        if len(labels) <= _LISTED:
            return " or ".join(labels)
        return f"{labels[0]}, {labels[1]} or {len(labels) - 2} more values"

    @cached_property
    def _members(self) -> dict[str, Members]:
        places = {label: 1 << place for place, label in enumerate(self.base)}
        return places | {label: sum(places[base] for base in members) for label, members in self.groups.items()}

    @cached_property
    def _labels(self) -> dict[Members, str]:
        return {members: label for label, members in self._members.items()}


def parts(sets: Iterable[Members]) -> tuple[Members, ...]:
    """Return the coarsest disjoint sets of which each given set is a union, by their first base value."""
    pieces: list[Members] = []
    covered = 0
    for members in sorted(set(sets), key=int.bit_count):
        if members & covered:
            pieces = [piece for part in pieces for piece in (part & members, part & ~members) if piece]
        if members & ~covered:
            pieces.append(members & ~covered)
        covered |= members
    return _in_order(pieces)


def _in_order(disjoint: Iterable[Members]) -> tuple[Members, ...]:
    return tuple(sorted(disjoint, key=lambda part: part & -part))


def _common_unions(one: Sequence[Members], other: Sequence[Members]) -> tuple[Members, ...]:
    """Return the finest sets that are unions of the first disjoint sets and also of the second ones."""
    shared = set(one) & set(other)
    united: list[Members] = []
    for part in chain(one, other):
        if part not in shared:
            union = reduce(or_, (members for members in united if members & part), part)
            united = [*(members for members in united if not members & part), union]
    within = reduce(or_, one, 0) & reduce(or_, other, 0)
    return _in_order((*shared, *(part for part in united if not part & ~within)))


def _layers(member_sets: Iterable[Members]) -> list[tuple[Members, ...]]:
    """Return layers of disjoint sets of values of an attribute, the finest first, each as far as the table goes."""
    finest = parts(member_sets)
    coarser: list[list[Members]] = []
    for members in sorted(set(member_sets) - set(finest), key=int.bit_count):
        layer = next((layer for layer in coarser if not any(members & other for other in layer)), [])
        if not layer:
            coarser.append(layer)
        layer.append(members)
    result = [finest]
    for layer in coarser:
        inside = reduce(or_, layer)
        result.append(_in_order((*layer, *(part for part in finest if not part & inside))))
    return result


_MOST = 2**40
"""Upper limit of counts, so that sums and multiples of them are exact."""


@frozen(eq=False)
class IntervalTable:
    """Published table: cells with a range each. Attributes that it does not have are summed over.

    name: name for messages. values: for each attribute the sets of base values that it shows, totals and subtotals
    among them. codes: for each attribute the place of each cell's set in `values`, shape (cells,). lower, upper: range
    of each count, both ends possible, shape (cells,); UNBOUNDED if there is no upper end. Raises DomainMismatchError
    if shapes differ, a range is empty or negative, or a count is above 2^40.
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
        """Return the table of some cells, each given by a set of base values for each attribute."""
        values, codes = {}, {}
        for axis, attribute in enumerate(attributes):
            places: dict[Members, int] = {}
            column = [places.setdefault(key[axis], len(places)) for key in cells]
            values[attribute], codes[attribute] = tuple(places), np.array(column, dtype=np.intp)
        ranges = np.array([*cells.values()], dtype=np.int64).reshape(-1, 2)
        return cls(name, values, codes, ranges[:, 0], ranges[:, 1])

    def __len__(self) -> int:
        return len(self.lower)


@frozen(eq=False)
class LinkedTables:
    """Unknown counts, their published ranges, and the equations between them.

    sets: for each classification the sets of base values of cells. keys: places of each cell in `sets`, shape (cells,
    attributes). tables: the published tables. published: for each published table the unknown of each of its cells.
    names: names of all tables, joint ones last. finest: the unknowns of the finest cells of each table.
    equation_tables: the table of each equation. covered: whether any count of each cell that fits all ranges and
    equations in whole numbers is a count of some population, shape (cells,). left_out: attributes of joint tables that
    have too many cells.
    """

    classifications: tuple[Classification, ...]
    sets: tuple[tuple[Members, ...], ...]
    keys: IndexArray
    tables: tuple[IntervalTable, ...]
    published: tuple[IndexArray, ...]
    names: tuple[str, ...]
    finest: tuple[IndexArray, ...]
    equations: Equations
    equation_tables: IndexArray
    covered: BoolArray
    left_out: tuple[tuple[str, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def table_count(self) -> int:
        """Number of published tables."""
        return len(self.tables)

    def ranges(self, tables: Iterable[int]) -> tuple[CountArray, CountArray]:
        """Return the least and the largest count of each cell that some tables publish: shape (cells,) each."""
        lower = np.zeros(len(self), dtype=np.int64)
        upper = np.full(len(self), UNBOUNDED, dtype=np.int64)
        for table in tables:
            np.maximum.at(lower, self.published[table], self.tables[table].lower)
            np.minimum.at(upper, self.published[table], self.tables[table].upper)
        return lower, upper

    @cached_property
    def lower(self) -> CountArray:
        """Least count of each cell that all tables publish: shape (cells,)."""
        return self.ranges(range(self.table_count))[0]

    @cached_property
    def upper(self) -> CountArray:
        """Largest count of each cell that all tables publish: shape (cells,)."""
        return self.ranges(range(self.table_count))[1]

    @cached_property
    def is_published(self) -> BoolArray:
        """True if a table shows each cell: shape (cells,)."""
        return np.isin(np.arange(len(self)), np.concatenate(self.published))

    def named(self, cell: int) -> dict[str, str]:
        """Return the values of a cell by attribute, without attributes that it is summed over."""
        values = zip(self.classifications, self.sets, self.keys[cell].tolist())
        return {c.name: c.named(sets[code]) for c, sets, code in values if sets[code] != c.everything}


def linked_tables(
    tables: Sequence[IntervalTable],
    classifications: Sequence[Classification],
    *,
    joint_attributes: int = 3,
    most_cells: int = 2_000_000,
    wide: int = 2_000,
) -> LinkedTables:
    """Return the unknowns of some tables and, if there are several tables, of their joint tables.

    Parameters
    ----------
    tables, classifications
        Published tables, and the values of their attributes.
    joint_attributes
        Attributes of each joint table, besides those that all tables have. Joint tables have more only if nothing
        smaller proves that counts which fit belong to a population.
    most_cells
        Most cells of published tables; joint tables beyond it are left out.
    wide
        Most cells of a joint table with more attributes, for each cell of the attributes that all tables have.

    Raises
    ------
    DomainMismatchError
        If an attribute has no classification.
    TooManyCellsError
        If the published tables have more than `most_cells` cells.
    """
    classified = {c.name for c in classifications}
    for table in tables:
        if unknown := [name for name in table.values if name not in classified]:
            raise DomainMismatchError(f"{table.name}: the attribute {unknown[0]!r} has no classification")
    families = [_published_families(table, classifications) for table in tables]
    size = sum(prod(map(len, family)) for family in chain.from_iterable(families))
    if size > most_cells:
        raise TooManyCellsError(f"the tables have {size:,} cells and totals, more than {most_cells:,}")
    attributes = [frozenset(table.values) for table in tables]
    finest = _finest_values(attributes, families, classifications)

    def joint_family(names: Attributes) -> Family:
        return _family({name: finest[name] for name in names}, classifications)

    complete = [names for names, of_table in zip(attributes, families) if of_table[0] == joint_family(names)]
    joints: list[Attributes] = []
    left_out: list[Attributes] = []
    if len(tables) > 1:
        cells = {name: len(values) for name, values in finest.items()}
        joints, left_out = _joint_tables(attributes, complete, cells, (joint_attributes, most_cells - size, wide))
    # A single table needs no joint ones; several are covered together, then each joint table with them.
    are_covered = len(tables) == 1 or _is_covered(attributes, [*complete, *joints])
    covered = [are_covered] * len(tables)
    covered += [are_covered and _is_covered([*attributes, joint], [*complete, *joints]) for joint in joints]
    families = _with_shared(families, [joint_family(joint) for joint in joints])
    in_order = [tuple(c.name for c in classifications if c.name in joint) for joint in (*joints, *left_out)]
    names = (*(table.name for table in tables), *map(" by ".join, in_order[: len(joints)]))
    return _numbered(tables, classifications, names, families, covered, tuple(in_order[len(joints) :]))


# Families of a table: its finest cells, then its totals, then its sums that other tables show, too.


def _family(axes: Mapping[str, tuple[Members, ...]], classifications: Sequence[Classification]) -> Family:
    return tuple(axes.get(c.name, (c.everything,)) for c in classifications)


def _published_families(table: IntervalTable, classifications: Sequence[Classification]) -> list[Family]:
    layers_of = {name: _layers(values) for name, values in table.values.items()}
    homes = []
    for name, values in table.values.items():
        home = {members: number for number, layer in reversed([*enumerate(layers_of[name])]) for members in layer}
        homes.append(np.array([home[members] for members in values], dtype=np.intp)[table.codes[name]])
    chosen = set(zip(*(home.tolist() for home in homes)))
    if len(homes) <= 4:  # a sum over two attributes is a sum of sums over one: they are families too, published or not
        chosen = {numbers for row in chosen for numbers in product(*({0, number} for number in row))}
    rows = sorted({(0,) * len(homes), *chosen})
    axes = ({name: of_name[n] for (name, of_name), n in zip(layers_of.items(), numbers)} for numbers in rows)
    return list(dict.fromkeys(_family(family_axes, classifications) for family_axes in axes))


def _finest_values(
    attributes: Sequence[Attributes], families: Sequence[Sequence[Family]], classifications: Sequence[Classification]
) -> dict[str, tuple[Members, ...]]:
    """Return for each attribute its values as finely as the tables show them together, including others."""
    finest = {}
    for axis, c in enumerate(classifications):
        axes = [of_table[0][axis] for names, of_table in zip(attributes, families) if c.name in names]
        finest[c.name] = parts([c.everything, *chain.from_iterable(axes)])
    return finest


def _with_shared(published: Sequence[Sequence[Family]], joints: Sequence[Family]) -> list[list[Family]]:
    """Return for each table its families, and the finest family that it shares with each other table."""
    more: list[list[Family]] = [*map(list, published), *([joint] for joint in joints)]
    for (one, first), (other, second) in combinations(enumerate([families[0] for families in more]), 2):
        shared = tuple(map(_common_unions, first, second))
        if all(shared):
            more[one].append(shared)
            more[other].append(shared)
    for families, joint in zip(more[len(published) :], joints):
        for of_table in published:  # totals and subtotals of other tables, where they are sums here, too
            families += [family for family in of_table if _places_in(family, joint) is not None]
    return [list(dict.fromkeys(families)) for families in more]


def _places_in(total: Family, fine: Family) -> IndexArray | None:
    """Return for each fine cell, in C order, the place of its total, -1 for none; None unless totals are unions of cells."""
    axes = [places for places in map(_axis_places, total, fine) if places is not None]
    if len(axes) < len(fine):
        return None
    result: IndexArray = np.zeros(1, dtype=np.intp)
    for wholes, places in zip(total, axes):
        both = result[:, None] * len(wholes) + places
        result = np.where((result[:, None] < 0) | (places < 0), -1, both).ravel()
    return result


def _axis_places(wholes: tuple[Members, ...], values: tuple[Members, ...]) -> IndexArray | None:
    place_of = {members: place for place, members in enumerate(wholes)}
    result, united = [], [0] * len(wholes)
    for part in values:
        if (place := place_of.get(part, -1)) < 0:
            place = next((number for number, union in enumerate(wholes) if not part & ~union), -1)
        if place >= 0:
            united[place] |= part
        result.append(place)
    return np.array(result, dtype=np.intp) if united == [*wholes] else None


def _sums(families: Sequence[Family]) -> Iterator[tuple[Family, Family, IndexArray]]:
    """Yield totals, the families that they are sums of, and for each cell of the latter the place of its total."""
    for total in families:
        near = [fine for fine in families if sum(map(ne, fine, total)) == 1]
        pairs = [(fine, places) for fine in near if (places := _places_in(total, fine)) is not None]
        if not pairs and total != families[0] and (places := _places_in(total, families[0])) is not None:
            pairs = [(families[0], places)]
        for fine, places in pairs:
            yield total, fine, places


# Coverage: whether tables that agree on the counts they share are tables of one population.
#
# Tables of whole numbers that agree in pairs need not have a population: three tables of two attributes each may agree
# where no table of the three attributes has them. They have one where subsets of them stand in a junction tree: along
# it two tables at a time are joined (Lauritzen 1996, 3.1; Dobra and Fienberg 2000).


def _is_covered(attribute_sets: Iterable[Attributes], complete: Sequence[Attributes]) -> bool:
    """Return whether a junction tree was found that covers all attribute sets, each clique within a complete table."""
    return elimination_cliques(attribute_sets, lambda clique: any(clique <= table for table in complete)) is not None


def _missing(attribute_sets: Iterable[Attributes], complete: Sequence[Attributes]) -> list[Attributes]:
    """Return attributes of tables that must be complete for the shown tables to be covered, as few as were found."""
    wanted: list[Attributes] = []
    for clique in sorted(elimination_cliques(attribute_sets) or [], key=lambda clique: (-len(clique), sorted(clique))):
        if not any(map(clique.issubset, (*complete, *wanted))):
            wanted.append(clique)
    return wanted


def _joint_tables(
    attributes: Sequence[Attributes],
    complete: Sequence[Attributes],
    sizes: Mapping[str, int],
    limits: tuple[int, int, int],
) -> tuple[list[Attributes], list[Attributes]]:
    """Return joint tables of a few attributes, wider ones if coverage is open, and those of too many cells."""
    most_attributes, room, wide = limits
    every: Attributes = frozenset().union(*attributes)
    common = every.intersection(*(table for table in attributes if table))
    others = sorted(every - common)
    joints: list[Attributes] = []
    left_out: list[Attributes] = []

    def cells(table: Attributes) -> int:
        return prod(sizes[name] for name in table)

    def add(wanted: Iterable[Attributes]) -> None:
        nonlocal room
        for table in wanted:
            if table not in complete and table not in joints:
                is_large = 2 * cells(table) > room
                room -= 0 if is_large else 2 * cells(table)
                (left_out if is_large else joints).append(table)

    if most_attributes and every:
        add(common | {*chosen} for chosen in combinations(others, min(most_attributes, len(others))))
    complete_tables = [*complete, *joints]
    if not all(_is_covered([*attributes, joint], complete_tables) for joint in (attributes[0], *joints)):
        largest = wide * cells(common)
        add(
            table
            for table in ([every] if cells(every) <= largest else _missing(attributes, complete_tables))
            if cells(table | common) <= largest
        )
    return joints, left_out


# Unknowns: the cells of all families, each numbered once by the sets of base values that it has.


def _numbered(
    tables: Sequence[IntervalTable],
    classifications: Sequence[Classification],
    names: tuple[str, ...],
    families: Sequence[Sequence[Family]],
    covered_tables: Sequence[bool],
    left_out: tuple[tuple[str, ...], ...],
) -> LinkedTables:
    every = list(dict.fromkeys(chain.from_iterable(families)))
    sets = [tuple(dict.fromkeys((c.everything, *chain(*axes)))) for c, axes in zip(classifications, zip(*every))]
    shape = tuple(map(len, sets))
    if prod(shape) > 2**62:
        raise TooManyCellsError("the tables have too many attributes and values to number their combinations")
    place_of = [{members: place for place, members in enumerate(values)} for values in sets]

    def numbers(axis: int, members: Iterable[Members]) -> IndexArray:
        return np.array([place_of[axis][value_set] for value_set in members], dtype=np.intp)

    codes = [np.ravel_multi_index(np.ix_(*map(numbers, range(len(shape)), family)), shape).ravel() for family in every]
    published = []
    for table in tables:
        columns = [
            numbers(axis, table.values[c.name])[table.codes[c.name]] if c.name in table.values else np.intp(0)
            for axis, c in enumerate(classifications)
        ]
        published.append(np.broadcast_to(np.ravel_multi_index(tuple(columns), shape), len(table)))
    unique = np.unique(np.concatenate([*published, *codes]))
    cells = {family: np.searchsorted(unique, code) for family, code in zip(every, codes)}
    of_covered = chain.from_iterable(of_table for of_table, is_covered in zip(families, covered_tables) if is_covered)
    covered = np.isin(np.arange(len(unique)), np.concatenate([[], *(cells[family] for family in of_covered)]))
    equations, equation_tables = _equations(families, cells, len(unique))
    return LinkedTables(
        tuple(classifications),
        tuple(sets),
        np.stack(np.unravel_index(unique, shape), axis=1),
        tuple(tables),
        tuple(np.searchsorted(unique, code) for code in published),
        names,
        tuple(cells[of_table[0]] for of_table in families),
        equations,
        equation_tables,
        covered,
        left_out,
    )


def _equations(
    families: Sequence[Sequence[Family]], cells: Mapping[Family, IndexArray], size: int
) -> tuple[Equations, IndexArray]:
    from scipy.sparse import csr_array  # slow to import, and few need it

    distinct: dict[tuple[Family, Family], tuple[int, IndexArray]] = {}
    for number, of_table in enumerate(families):
        for total, fine, places in _sums(of_table):
            distinct.setdefault((total, fine), (number, places))
    entries = [np.zeros((3, 0), dtype=np.int64)]
    tables = [np.zeros(0, dtype=np.int64)]
    begin = 0
    for (total, fine), (number, places) in distinct.items():
        inside, count = np.flatnonzero(places >= 0), len(cells[total])
        entries.append(np.stack([begin + np.arange(count), cells[total], np.ones(count, dtype=np.int64)]))
        entries.append(np.stack([begin + places[inside], cells[fine][inside], np.full(len(inside), -1)]))
        tables.append(np.full(count, number))
        begin += count
    rows, columns, signs = np.concatenate(entries, axis=1)
    equations = csr_array((signs, (rows, columns)), shape=(begin, size))
    equations.eliminate_zeros()  # a value that both families have is no equation
    has_parts = np.diff(equations.indptr) > 0
    return equations[has_parts], np.concatenate(tables)[has_parts]
