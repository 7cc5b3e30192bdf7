"""Meets: the margins that two releases of a table that changed have in common, and how many rows more the later one has.

With T_1 and T_2 the tables, a sum of cells of T_2 - T_1 follows from the equations of both releases when it is a sum of
published counts of the one, and of the other. In each release the levels of an attribute nest. So the functions of its
values that are constant on the values of a level form a chain of spaces for each release, and two chains of spaces always
have one basis parts of which span all of them. The products of such bases are a basis of the functions on all cells, parts
of which span what the margins of both releases tell. So what both releases tell is the sum of what each two margins, one of
each release, have in common: for each attribute the functions that are constant on the values of the one and of the other,
that is on the values that hang together by overlapping. This holds whether the levels of the two releases nest in each other
or not. (Of the levels of three releases it does not: three chains need have no common basis.)

That no count is negative tells more; of it is used here that a value without rows has none in any cell: the above is said of
the cells that are not empty for that reason in either release; of the others zeros are known.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from checks.changes.common_values import CommonValues, Overlaps, SharedAttribute
from models.arrays import BoolArray, CodeArray, CountArray
from models.errors import DomainMismatchError
from models.graphs.collection import Collection
from models.tables.domain import Mask
from models.tables.mixed_radix import group, pack


@dataclass(frozen=True, eq=False)
class Meet:
    """What a margin of each release have in common: the rows of its cells before and after.

    values: by attribute, in the order of the codes' rows. levels: of the release whose values they are; None where they are
    of neither. codes: shape (attributes, cells). before, after: shape (cells,). overlapping: the attributes of which values
    of one release and of the other overlap, so that neither nest.
    """

    values: Mapping[str, CommonValues]
    levels: Mapping[str, int | None]
    codes: CodeArray
    before: CountArray
    after: CountArray
    overlapping: tuple[str, ...]

    @property
    def changes(self) -> CountArray:
        """How many rows more the later table has in each cell: shape (cells,)."""
        return self.after - self.before

    def among(self, cells: BoolArray) -> "Meet":
        """The same of some of the cells: shape (cells,)."""
        return replace(self, codes=self.codes[:, cells], before=self.before[cells], after=self.after[cells])

    def cell(self, number: int) -> dict[str, str]:
        """The labels of a cell."""
        return {name: own.name(int(code)) for (name, own), code in zip(self.values.items(), self.codes[:, number])}


Narrowing = Callable[[Meet], Meet]
"""What leaves out cells of a meet that say nothing of who came and left, such as those outside of a part of a table."""


def every_cell(meet: Meet) -> Meet:
    """Leaves out none."""
    return meet


def meets(earlier: Collection, later: Collection, overlaps: Overlaps | None = None) -> Iterator[Meet]:
    """The meets of two collections, those aside that are coarser than another one.

    overlaps: of attributes that the two generalize differently. Raises DomainMismatchError where others are.
    """
    pair = _Pair(earlier, later, overlaps or {})
    distinct: dict[tuple[int, ...], tuple[Mask, Mask]] = {}
    for one in earlier.masks or (0,):
        for other in later.masks or (0,):
            distinct.setdefault(pair.partitions(one, other), (one, other))
    for partitions, (one, other) in distinct.items():
        if not any(other_ is not partitions and pair.is_finer(other_, partitions) for other_ in distinct):
            yield pair.meet(one, other)


class _Pair:
    """Two collections, and what is known of the common values of their attributes."""

    def __init__(self, earlier: Collection, later: Collection, overlaps: Overlaps) -> None:
        self._releases = (earlier, later)
        names = dict.fromkeys([*earlier.domain.attributes, *later.domain.attributes])
        for name in names:
            own = [release.domain for release in self._releases if name in release.domain.attributes]
            if name not in overlaps and len({domain.hierarchy(name).labels[0] for domain in own}) > 1:
                raise DomainMismatchError(f"two tables with other base values of {name!r} have no difference")
        self._attributes = {name: SharedAttribute.of(name, self._releases, overlaps) for name in names}
        self._numbers: dict[tuple[str, bytes], int] = {}
        self._partition_of_levels: dict[tuple[str, int, int], int] = {}
        self._partitions: list[CodeArray] = []
        self._finer: dict[tuple[int, int], bool] = {}

    def partitions(self, one: Mask, other: Mask) -> tuple[int, ...]:
        """For each attribute the number of the partition into common values, at the levels of two margins."""
        return tuple(self._partition(name, *levels) for name, levels in self._levels(one, other).items())

    def _levels(self, one: Mask, other: Mask) -> dict[str, tuple[int, int]]:
        shown = [release.domain.levels(mask) for release, mask in zip(self._releases, (one, other))]
        return {name: (shown[0].get(name, 0), shown[1].get(name, 0)) for name in self._attributes}

    def _partition(self, name: str, earlier: int, later: int) -> int:
        key = (name, earlier, later)
        if key not in self._partition_of_levels:
            if self._is_shown(name, earlier, later):
                number = self._attributes[name].partition(earlier, later)
            else:
                number = np.zeros(sum(int(rows.sum()) for rows in self._attributes[name].rows), dtype=np.intp)
            _, first, number = np.unique(number, return_index=True, return_inverse=True)
            canonical = np.argsort(np.argsort(first))[number]
            place = self._numbers.setdefault((name, canonical.tobytes()), len(self._partitions))
            if place == len(self._partitions):
                self._partitions.append(canonical)
            self._partition_of_levels[key] = place
        return self._partition_of_levels[key]

    def _is_shown(self, name: str, earlier: int, later: int) -> bool:
        return not all(self._attributes[name].is_all(release, level) for release, level in enumerate((earlier, later)))

    def is_finer(self, fine: tuple[int, ...], coarse: tuple[int, ...]) -> bool:
        """Whether all partitions of the first are as fine as those of the second."""
        return all(map(self._is_as_fine, fine, coarse))

    def _is_as_fine(self, fine: int, coarse: int) -> bool:
        if fine == coarse:
            return True
        if (fine, coarse) not in self._finer:
            one, other = self._partitions[fine], self._partitions[coarse]
            pairs = np.unique(one * (other.max(initial=0) + 1) + other)
            self._finer[fine, coarse] = len(pairs) == len(np.unique(one))
        return self._finer[fine, coarse]

    def meet(self, one: Mask, other: Mask) -> Meet:
        """What two margins, one of each collection, have in common."""
        levels = {name: own for name, own in self._levels(one, other).items() if self._is_shown(name, *own)}
        values = {name: self._attributes[name].common(*own) for name, own in levels.items()}
        columns, counts = [], []
        for release, mask in enumerate((one, other)):
            own_columns, own_counts = self._cells(release, mask, values)
            inside = np.ones(len(own_counts), dtype=np.bool_)
            for name, column in own_columns.items():
                for side, level in enumerate(levels[name]):
                    if self._attributes[name].is_all(side, level):
                        # Only one margin shows it: of the other all is in the values that it has rows in.
                        inside &= column == (values[name].later if side else values[name].earlier)[0]
            columns.append([column[inside] for column in own_columns.values()])
            counts.append(own_counts[inside])
        codes = [np.concatenate(pair) for pair in zip(*columns)]
        length = sum(map(len, counts))
        sizes = [common.count for common in values.values()]
        first, number = group(*pack(codes, sizes, length)) if length else (np.zeros(0, np.intp), np.zeros(0, np.intp))
        places = number[: len(counts[0])], number[len(counts[0]) :]
        before, after = (_totals(place, own, len(first)) for place, own in zip(places, counts))
        named = [name for name, common in values.items() if common.parts.any(axis=0).sum() > 1]
        kept = [position for position, name in enumerate(values) if name in named]
        stacked = np.array([codes[position][first] for position in kept], dtype=np.int64).reshape(len(kept), len(first))
        coarser = {name: values[name].coarser for name in named}
        return Meet(
            {name: values[name] for name in named},
            {name: None if side is None else levels[name][side] for name, side in coarser.items()},
            stacked,
            before,
            after,
            tuple(name for name, common in values.items() if not common.is_nested),
        )

    def _cells(
        self, release: int, mask: Mask, values: Mapping[str, CommonValues]
    ) -> tuple[dict[str, CodeArray], CountArray]:
        """The common values of the cells of a margin by attribute, and their rows."""
        collection = self._releases[release]
        if mask:
            table = collection.cube.table(mask)
            shown, counts = dict(zip(table.attributes, table.codes)), table.counts
        else:
            shown, counts = {}, np.array([collection.cube.total], dtype=np.int64)
        columns = {}
        for name, common in values.items():
            own = common.later if release else common.earlier
            columns[name] = own[shown[name]] if name in shown else np.full(len(counts), own[0])
        return columns, counts


def _totals(places: CodeArray, counts: CountArray, length: int) -> CountArray:
    totals = np.zeros(length, dtype=np.int64)
    np.add.at(totals, places, counts)
    return totals
