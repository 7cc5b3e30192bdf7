"""Families of cells: all combinations of some disjoint values of each attribute, within which or of which counts add up."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from operator import or_

import numpy as np

from models.arrays import IndexArray
from models.intervals.classification import Classification, Members, common_unions, parts
from models.intervals.interval_table import IntervalTable


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
        found = np.zeros(1, dtype=np.intp)
        for place, coarse in zip(places, total.values):
            both = found[:, None] * len(coarse) + place
            found = np.where((found[:, None] < 0) | (place < 0), -1, both).ravel()
        return found

    def differs_in(self, other: "Family") -> int:
        """In how many attributes the values are others."""
        return sum(one != another for one, another in zip(self.values, other.values))


def _places(fine: Sequence[Members], coarse: Sequence[Members]) -> IndexArray | None:
    if tuple(fine) == tuple(coarse):
        return np.arange(len(fine))
    known = {members: place for place, members in enumerate(coarse)}
    found, covered = [], [0] * len(coarse)
    for part in fine:
        place = known.get(part, -1)
        if place < 0:
            place = next((number for number, whole in enumerate(coarse) if not part & ~whole), -1)
        found.append(place)
        if place >= 0:
            covered[place] |= part
    return np.array(found, dtype=np.intp) if covered == list(coarse) else None


def layers(shown: Sequence[Members]) -> list[tuple[Members, ...]]:
    """The values of an attribute of one table in layers of disjoint sets, the finest first, each as far as the table goes.

    >>> layers([0b001, 0b010, 0b100, 0b011, 0b111])
    [(1, 2, 4), (3, 4), (7,)]
    """
    finest = parts(shown)
    found: list[list[Members]] = []
    for members in sorted(set(shown) - set(finest), key=int.bit_count):
        free = (layer for layer in found if not any(members & other for other in layer))
        layer = next(free, None)
        if layer is None:
            found.append([members])
        else:
            layer.append(members)
    completed = []
    for layer in found:
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
            found = False
            for fine in self.families:
                if fine is not total and fine.differs_in(total) == 1:
                    places = fine.parts_of(total)
                    if places is not None:
                        found = True
                        yield total, fine, places
            if not found and total != self.finest:
                places = self.finest.parts_of(total)
                if places is not None:
                    yield total, self.finest, places


def published_families(table: IntervalTable, classifications: Sequence[Classification]) -> TableFamilies:
    """The finest family of a table, and those of its totals and subtotals that it publishes."""
    by_attribute = {name: layers(shown) for name, shown in table.values.items()}
    homes: dict[str, IndexArray] = {}
    for name, shown in table.values.items():
        home = {members: number for number, layer in reversed([*enumerate(by_attribute[name])]) for members in layer}
        homes[name] = np.array([home[members] for members in shown], dtype=np.intp)[table.codes[name]]
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
        {row for each in chosen for row in product(*({0, number} for number in each))} if len(names) <= 4 else chosen
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
        shown = [part for t in tables if classification.name in t.attributes for part in t.finest.values[number]]
        values.append(parts([*shown, classification.everything]))
    return tuple(values)


def joint_families(
    values: Sequence[tuple[Members, ...]], classifications: Sequence[Classification], attributes: Collection[str]
) -> TableFamilies:
    """The cells of some attributes together. values: the finest of each attribute."""
    names = tuple(c.name for c in classifications if c.name in attributes)
    shown = tuple(finest if c.name in names else (c.everything,) for c, finest in zip(classifications, values))
    return TableFamilies(names, (Family(shown),))
