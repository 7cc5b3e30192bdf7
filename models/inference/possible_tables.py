"""Possible tables: whole tables of rows with every published count, made from the published counts alone.

A possible table has so many rows as were counted, at the finest published levels, and each count that some margin shows. The
real table is one. Any margins will do, with a junction tree or without: rows exchange values of one attribute, which changes
no count of that attribute alone, until E, by how much all cells are off together, is 0.

1. *Sweeps*: rows that agree in most of what tables show beside an attribute are paired, and exchange its values by the rule
   of Metropolis, at a falling temperature. Some sweeps look at no other attribute, so that every table of rows can be
   reached from every other one.
2. *Directed exchanges*, once few cells are off: a row of a cell with too many, and of all rows nearly like it one that is
   drawn by what is then off (heat bath).
3. *Two exchanges at once* where single ones no longer help: each that begins in a cell that is off has a linear hash of what
   it changes, and two whose hashes add up to what is missing are found by sorting.

Deciding whether there is such a table is NP-complete, already for the two-way margins of three attributes, so a search can
end without one. All decisions compare whole numbers, and random bits are numpy's Philox's: the same counts and seed give the
same table everywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, localcontext
from functools import cached_property
from hashlib import blake2b
from math import prod

import numpy as np
from numpy.typing import NDArray

from models.arrays import BoolArray, CodeArray, CountArray, IndexArray, begins_of, grouped, smallest_code_dtype
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError, TooManyCellsError
from models.graphs.junction_tree import Collection, Support, maximal_masks
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Mask

_MOST_CELLS = 1 << 25
"""Cells of all margins together, empty ones included."""

_SWEEPS, _DIRECTED = tuple(map(Decimal, ("1.2", "0.9", "0.65", "0.5", "0.38", "0.32"))), Decimal("0.30")
"""Temperatures of sweeps, one after the other, and of directed exchanges. Sweeps begin at the last but one; what is stuck is
shaken from one higher each time. Eleven columns of HealthInsurance take 2 seconds so, and 4 if sweeps begin at the highest.
"""

_PATIENCE, _TRIES, _SHAKEN, _LONGEST = 6, 600, 100, 4
"""Sweeps at a temperature, and directed exchanges, that may pass without progress; how often what is stuck is shaken at
most, and by how many sweeps at a temperature."""

_FREE, _DROPPED, _ROUNDS = 20, 4, 6
"""One in so many pairings looks at no other attribute, the rest at all but so many at most; how often pairs are weighed."""

_ALIKE, _LIKE, _PARTNERS = 3, 1 << 15, 4_000
"""Attributes in which the rows of a directed exchange may differ, among how many rows partners are sought, and how many are
weighed at most. Rows stand in random order, so that any of them that stand together are a sample."""

_PAIRED, _BEGINS, _ENDS, _MATCHES = 40, 250, 400, 12
"""Counts by which cells are off from which on two exchanges are sought at once, rows that begin one, partners of each, and
exchanges with which each is tried."""

Bits = NDArray[np.uint64]


class _Random:
    """Whole numbers by the bits of Philox, which are the same everywhere."""

    def __init__(self, seed: int) -> None:
        self._philox = np.random.Philox(key=seed)

    def bits(self, size: int) -> Bits:
        """So many random words: shape (size,)."""
        return np.asarray(self._philox.random_raw(size), dtype=np.uint64)

    def below(self, end: int) -> int:
        """A number from 0 to below an end."""
        return int(self._philox.random_raw()) % end

    def order(self, size: int) -> IndexArray:
        """The numbers from 0 to below a size, in random order."""
        return np.argsort(self.bits(size), kind="stable")


def _weights(temperature: Decimal, most: int, ones: int) -> Bits:
    """exp(-d / temperature) for d = 0, 1, ..., most, times so many ones, as whole numbers that are the same everywhere."""
    with localcontext() as context:
        context.prec = 40
        return np.array([int((-Decimal(d) / temperature).exp() * ones) for d in range(most + 1)], dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class _Margin:
    """A margin as exchanges count it. steps: by place of an attribute, what each finest code adds to the number of a cell.

    sizes: values at the margin's levels, by place. begin: the number of its first cell.
    """

    steps: Mapping[int, NDArray[np.int32]]
    sizes: Mapping[int, int]
    begin: int

    def numbers(self, codes: Sequence[CodeArray]) -> NDArray[np.int32]:
        """The cell of each row: shape (rows,)."""
        numbers = np.full(len(codes[0]), self.begin, dtype=np.int32)
        for place, steps in self.steps.items():
            numbers += steps[codes[place]]
        return numbers


@dataclass(frozen=True, eq=False)
class _Counts:
    """Published counts as exchanges see them. names: attributes that are shown, in the order of their places.

    published: of each cell, empty ones included. is_free: whether any count will do, as in the margins that say which
    combinations are possible, where all other cells are to be empty.
    """

    names: tuple[str, ...]
    rows: int
    margins: tuple[_Margin, ...]
    published: NDArray[np.int32]
    is_free: BoolArray

    @classmethod
    def of(cls, collection: Collection) -> "_Counts":
        """The counts of a collection's maximal margins, and its impossible combinations. Raises TooManyCellsError."""
        domain, finest = collection.domain, collection.finest_levels
        names = tuple(name for name in domain.attributes if collection.shows(name))
        masks = maximal_masks(collection.masks)
        sizes = [domain.size(domain.margin(mask)) for mask in masks]
        if sum(sizes) > _MOST_CELLS:
            raise TooManyCellsError(
                f"{sum(sizes):,} cells are more than the {_MOST_CELLS:,} of which whole tables are made"
            )
        margins, counted, free, begin = list[_Margin](), list[NDArray[np.int32]](), list[BoolArray](), 0
        tables = [(collection.cube.table(mask), False) for mask in masks]
        for cells, is_support in [*tables, *((support.cells, True) for support in collection.supports)]:
            levels = {name: max(level, finest[name]) for name, level in cells.margin.items() if name in names}
            widths = {names.index(name): domain.hierarchy(name).size(level) for name, level in levels.items()}
            step, steps, numbers = (
                prod(widths.values()),
                dict[int, NDArray[np.int32]](),
                np.zeros(len(cells), dtype=np.int64),
            )
            counts, is_free = np.zeros(step, dtype=np.int32), np.zeros(step, dtype=np.bool_)
            for (name, level), (place, width) in zip(levels.items(), widths.items()):
                step //= width
                steps[place] = (domain.hierarchy(name).lift(finest[name], level) * np.int64(step)).astype(np.int32)
                numbers += cells.column(name, level) * np.int64(step)
            counts[numbers], is_free[numbers] = (0, True) if is_support else (cells.counts, False)
            margins.append(_Margin(steps, widths, begin))
            counted.append(counts)
            free.append(is_free)
            begin += len(counts)
        return cls(names, collection.cube.total, tuple(margins), np.concatenate(counted), np.concatenate(free))

    @property
    def digest(self) -> int:
        """A number that the counts decide, and nothing else: by it a table is drawn, whoever makes it."""
        return int.from_bytes(blake2b(self.published.astype("<i4").tobytes(), digest_size=15).digest(), "little")

    @cached_property
    def showing(self) -> tuple[tuple[int, ...], ...]:
        """The margins that show each attribute."""
        places = range(len(self.names))
        return tuple(tuple(t for t, margin in enumerate(self.margins) if place in margin.steps) for place in places)

    @cached_property
    def beside(self) -> tuple[Mapping[int, CodeArray], ...]:
        """For each attribute the others that some margin shows beside it, with the codes of their finest values there."""
        result = []
        for place, shown in enumerate(self.showing):
            others = {other for t in shown for other in self.margins[t].sizes if other != place}
            finest: dict[int, CodeArray] = {}
            for other in sorted(others):
                beside = [margin for margin in map(self.margins.__getitem__, shown) if other in margin.sizes]
                at = [margin.sizes[other] for margin in beside]
                finest[other] = _levels(beside[at.index(max(at))].steps[other])
            result.append(finest)
        return tuple(result)


def _levels(steps: NDArray[np.int32]) -> CodeArray:
    return np.unique(steps, return_inverse=True)[1].reshape(-1).astype(np.int16)


@dataclass(frozen=True, eq=False)
class _Pool:
    """Exchanges. places: of the attribute. rows: that exchange its values, shape (2, exchanges).

    cells: of the margin in which they begin, those that they leave and come to, shape (4, exchanges). hashes, own_hashes:
    linear ones of what they change in all margins, and in that one.
    """

    places: IndexArray
    rows: IndexArray
    cells: NDArray[np.int32]
    hashes: Bits
    own_hashes: Bits

    @classmethod
    def joined(cls, pools: "Sequence[_Pool]") -> "_Pool":
        """All exchanges of some pools."""
        if not pools:
            nothing = np.zeros(0, dtype=np.intp)
            return cls(nothing, np.zeros((2, 0), np.intp), np.zeros((4, 0), np.int32), *np.zeros((2, 0), np.uint64))
        return cls(*(np.concatenate([getattr(p, part.name) for p in pools], axis=-1) for part in fields(cls)))

    def matching(self, hashes: Bits, goal: int) -> IndexArray:
        """Pairs of exchanges whose hashes add up to a goal: shape (pairs, 2)."""
        order = np.argsort(hashes, kind="stable")
        wanted, ordered = np.uint64(goal) - hashes, hashes[order]
        begin, end = (np.searchsorted(ordered, wanted, side=side) for side in ("left", "right"))
        number = np.minimum(end - begin, _MATCHES)
        first = np.repeat(np.arange(len(hashes)), number)
        rank = np.arange(len(first)) - np.repeat(np.cumsum(number) - number, number)
        return np.stack([first, order[np.repeat(begin, number) + rank]], axis=1)


class _Search:
    """Rows on their way to the published counts.

    codes: of each attribute, shape (rows,). cells: of each margin the cell of each row, shape (rows,). off: counted less
    published, of each cell. fewer, more: what one row fewer or more in a cell changes of E.
    """

    def __init__(self, counts: _Counts, codes: Sequence[CodeArray], random: _Random) -> None:
        self.counts, self.random = counts, random
        self.codes = [np.array(column, dtype=np.int32) for column in codes]
        self.cells = [margin.numbers(self.codes) for margin in counts.margins]
        self.off = -counts.published
        for cells in self.cells:
            self.off += np.bincount(cells, minlength=len(self.off)).astype(np.int32)
        self.fewer, self.more = (np.zeros(len(self.off), dtype=np.int8) for _ in range(2))
        self._weigh(np.arange(len(self.off)))
        self._hashes = [
            {
                other: _Random(place * 1_000 + other + 1).bits(int(levels.max(initial=0)) + 1)[levels]
                for other, levels in beside.items()
            }
            for place, beside in enumerate(counts.beside)
        ]
        self._cell_hashes = _Random(0).bits(len(self.off)) | np.uint64(1)
        most = 4 * len(counts.margins)
        self._sweeps = [_weights(temperature, most, 2**64 - 1) for temperature in _SWEEPS]
        self._directed = _weights(_DIRECTED, 2 * most, 2**40)

    @property
    def distance(self) -> int:
        """E: by how much all cells are off together."""
        return int(np.abs(self.off).sum())

    def _weigh(self, cells: IndexArray | NDArray[np.int32]) -> None:
        is_counted = ~self.counts.is_free[cells]
        off = self.off[cells] = self.off[cells] * is_counted
        self.fewer[cells] = np.where(off > 0, -1, is_counted)
        self.more[cells] = np.where(off < 0, -1, is_counted)

    def _changes(
        self, place: int, one: IndexArray, other: IndexArray, margins: Iterable[int] | None = None
    ) -> Iterator[tuple[int, BoolArray, NDArray[np.int32]]]:
        """For each margin with an attribute whether rows that exchange its values change it, and the four cells they do.

        The cells that the two rows leave, and those that they come to: shape (4, pairs). margins: by default all of them.
        """
        mine, theirs = self.codes[place][one], self.codes[place][other]
        for t in self.counts.showing[place] if margins is None else margins:
            steps = self.counts.margins[t].steps[place]
            step = steps[theirs] - steps[mine]
            left = self.cells[t][one], self.cells[t][other]
            joined = left[0] + step, left[1] - step
            yield t, (step != 0) & (joined[0] != left[1]), np.stack([*left, *joined])

    def _cost(self, cells: NDArray[np.int32]) -> NDArray[np.int8]:
        cost: NDArray[np.int8] = self.fewer[cells[0]] + self.fewer[cells[1]]
        cost += self.more[cells[2]]
        cost += self.more[cells[3]]
        return cost

    def sweep(self, weights: Bits) -> None:
        """Offer each row an exchange of each attribute. weights: by what it changes of E."""
        for place in self.random.order(len(self.codes)).tolist():
            others = list(self.counts.beside[place])
            few = 1 + self.random.below(max(min(_DROPPED, len(others)), 1))
            number = few if self.random.below(_FREE) else len(others)
            dropped = {others[i] for i in self.random.order(len(others))[:number].tolist()}
            one, other = self._pairs(place, dropped)
            # Rows that agree in all else that a margin shows exchange two of its cells, which changes no count.
            margins = [t for t in self.counts.showing[place] if dropped & self.counts.margins[t].sizes.keys()]
            if len(one) and margins:
                self._exchange(place, one, other, weights, margins)

    def _pairs(self, place: int, dropped: set[int]) -> tuple[IndexArray, IndexArray]:
        """Rows with other values of an attribute that agree in what stands beside it, but for what is dropped."""
        rows = self.counts.rows
        key = np.full(rows, self.random.bits(1)[0])
        for other, hashes in self._hashes[place].items():
            if other not in dropped:
                key += hashes[self.codes[other]]
        order = grouped(key * np.uint64(0x9E3779B97F4A7C15), 2 * self.random.below(1 << 30) + 1)
        begin, key = self.random.below(2), key[order]
        same = key[begin:-1:2] == key[begin + 1 :: 2]
        one, other_row = order[begin:-1:2][same], order[begin + 1 :: 2][same]
        differ = self.codes[place][one] != self.codes[place][other_row]
        return one[differ], other_row[differ]

    def _exchange(self, place: int, one: IndexArray, other: IndexArray, weights: Bits, margins: Sequence[int]) -> None:
        """Metropolis on all pairs at once. No row stands in two pairs. margins: those that exchanges can change.

        Of the exchanges that are taken and enter or leave one cell only as many are made as mend it, or one, the best first;
        the others are weighed again.
        """
        for _ in range(_ROUNDS):
            cost, changes = np.zeros(len(one), dtype=np.int16), []
            for _, changed, cells in self._changes(place, one, other, margins):
                cost += np.where(changed, self._cost(cells), 0)
                changes.append((changed, cells))
            taken = np.flatnonzero(self.random.bits(len(one)) <= weights[np.maximum(cost, 0)])
            if not len(taken):
                return
            taken = taken[np.argsort(cost[taken], kind="stable")]
            crowding = np.zeros(len(taken), dtype=np.bool_)
            for changed, cells in changes:
                some = np.flatnonzero(changed[taken])
                moves = cells[:, taken[some]]
                for ends, sign in ((moves[:2].T.ravel(), 1), (moves[2:].T.ravel(), -1)):
                    order = grouped(ends)
                    ordered = ends[order]
                    rank = np.arange(len(ends)) - begins_of(ordered)
                    beyond = (rank >= np.maximum(sign * self.off[ordered], 1)) & ~self.counts.is_free[ordered]
                    crowding[some[order[beyond] // 2]] = True
            made = taken[~crowding]
            self._make(place, one[made], other[made])
            one, other = one[taken[crowding]], other[taken[crowding]]

    def _make(self, place: int, one: IndexArray, other: IndexArray) -> None:
        for t, changed, cells in self._changes(place, one, other):
            moved = cells[:, changed]
            np.add.at(self.off, moved.ravel(), np.repeat(np.array([-1, -1, 1, 1], dtype=np.int32), moved.shape[1]))
            self._weigh(moved.ravel())
            self.cells[t][one], self.cells[t][other] = cells[2:]
        column = self.codes[place]
        column[one], column[other] = column[other], column[one]

    def _like(self, place: int, row: int) -> IndexArray:
        """Some rows that differ from one in few of the attributes that stand beside an attribute, and in its value."""
        begin = self.random.below(max(self.counts.rows - _LIKE, 0) + 1)
        some = slice(begin, begin + _LIKE)
        differ = np.zeros(len(self.codes[place][some]), dtype=np.int8)
        for other, levels in self.counts.beside[place].items():
            differ += levels[self.codes[other][some]] != levels[self.codes[other][row]]
        return begin + np.flatnonzero((differ <= _ALIKE) & (self.codes[place][some] != self.codes[place][row]))

    def directed(self) -> None:
        """Exchange the value of a row of a cell with too many, or leave it: by the weights of what is then off."""
        wrong = np.flatnonzero(self.off > 0)
        cell = int(wrong[self.random.below(len(wrong))])
        t = next(t for t in reversed(range(len(self.cells))) if self.counts.margins[t].begin <= cell)
        rows = np.flatnonzero(self.cells[t] == cell)
        places = [place for place in self.counts.margins[t].steps if self.counts.beside[place]]
        if not places:
            return
        place, row = places[self.random.below(len(places))], int(rows[self.random.below(len(rows))])
        partners = self._like(place, row)
        if len(partners) > _PARTNERS:
            partners = partners[self.random.order(len(partners))[:_PARTNERS]]
        cost = np.zeros(len(partners), dtype=np.int16)
        for _, changed, cells in self._changes(place, np.full(len(partners), row), partners):
            cost += np.where(changed, self._cost(cells), 0)
        least = min(int(cost.min(initial=0)), 0)
        reached = np.cumsum(self._directed[np.append(cost, 0) - least].astype(np.int64))
        chosen = int(np.searchsorted(reached, self.random.below(int(reached[-1])), side="right"))
        if chosen < len(partners):
            self._make(place, np.array([row]), partners[chosen : chosen + 1])

    def paired(self) -> bool:
        """Make two exchanges that together lower E, if such are found.

        They mend all that is off, or all in one margin; or they undo in all other margins what they change there.
        """
        wrong = np.flatnonzero(self.off)
        owners = np.searchsorted([margin.begin for margin in self.counts.margins], wrong, side="right") - 1
        missing = self._cell_hashes[wrong] * (-self.off[wrong]).astype(np.int64).astype(np.uint64)
        goals = {
            int(missing.sum(dtype=np.uint64)),
            *(int(missing[owners == t].sum(dtype=np.uint64)) for t in set(owners)),
        }
        found = [self._beginning(t, wrong[owners == t]) for t in sorted(set(owners.tolist()))]
        pool = _Pool.joined([pool for pool in found if len(pool.hashes)])
        for goal in sorted(goals - {0}):
            if any(self._lowers(pool, pair) for pair in pool.matching(pool.hashes, goal)[:_TRIES].tolist()):
                return True
        for part in found:
            pairs = part.matching(part.hashes - part.own_hashes, 0)
            gains = self._gains(part.cells[:, pairs[:, 0]], part.cells[:, pairs[:, 1]])
            best = np.argsort(gains, kind="stable")[:_TRIES]
            if any(self._lowers(part, pair) for pair in pairs[best[gains[best] < 0]].tolist()):
                return True
        return False

    def _gains(self, one: NDArray[np.int32], other: NDArray[np.int32]) -> CountArray:
        """What two exchanges change of E in one margin. one, other: the cells they leave and come to, shape (4, pairs)."""
        cells = np.concatenate([one, other])
        order = np.argsort(cells, axis=0, kind="stable")
        cells = np.take_along_axis(cells, order, 0)
        steps = np.array([-1, -1, 1, 1] * 2)[order]
        gains, change = np.zeros(cells.shape[1], dtype=np.int64), np.zeros(cells.shape[1], dtype=np.int64)
        for place in range(8):
            change = steps[place] + (np.where(cells[place] == cells[place - 1], change, 0) if place else 0)
            is_last = cells[place] != cells[place + 1] if place < 7 else np.True_
            off = self.off[cells[place]]
            gains += np.where(is_last, np.abs(off + change) - np.abs(off), 0)
        return gains

    def _lowers(self, pool: "_Pool", pair: Sequence[int]) -> bool:
        """Make two exchanges, and take them back unless E is lower then."""
        before, rows = self.distance, pool.rows[:, pair]
        if len(np.unique(rows)) < 4:
            return False
        for which in pair:
            self._make(int(pool.places[which]), pool.rows[:1, which], pool.rows[1:, which])
        if self.distance < before:
            return True
        for which in pair:
            self._make(int(pool.places[which]), pool.rows[:1, which], pool.rows[1:, which])
        return False

    def _beginning(self, t: int, wrong: IndexArray) -> "_Pool":
        """Exchanges that begin in a cell of a margin that is off."""
        rows = np.flatnonzero(np.isin(self.cells[t], wrong))
        if len(rows) > _BEGINS:
            rows = rows[self.random.order(len(rows))[:_BEGINS]]
        pools = []
        for place in self.counts.margins[t].steps:
            for row in rows.tolist() if self.counts.beside[place] else ():
                partners = self._like(place, row)
                if len(partners) > _ENDS:
                    partners = partners[self.random.order(len(partners))[:_ENDS]]
                first = np.full(len(partners), row)
                hashes, moved = (
                    np.zeros((2, len(partners)), dtype=np.uint64),
                    np.zeros((4, len(partners)), dtype=np.int32),
                )
                for u, changed, cells in self._changes(place, first, partners):
                    z = self._cell_hashes[cells]
                    change = np.where(changed, z[2] + z[3] - z[0] - z[1], np.uint64(0))
                    hashes[0] += change
                    if u == t:
                        hashes[1], moved = change, np.where(changed, cells, cells[[0, 1, 0, 1]])
                pools.append(_Pool(np.full(len(partners), place), np.stack([first, partners]), moved, *hashes))
        return _Pool.joined(pools)

    def mend(self, deadline: Deadline) -> bool:
        """Whether E became 0 before the deadline."""
        for weights in self._sweeps[-2:]:
            best, idle = self.distance, 0
            while best and idle < _PATIENCE and not deadline.is_over:
                self.sweep(weights)
                is_better = 50 * self.distance < 49 * best
                best, idle = (self.distance, 0) if is_better else (best, idle + 1)
        best, tries, shaken = self.distance, 0, 0
        while best and shaken < _SHAKEN and not deadline.is_over:
            self.directed()
            tries += 1
            if self.distance < best:
                best, tries = self.distance, 0
            elif tries > _TRIES:
                if best > _PAIRED or not self.paired():
                    shaken += 1
                    for weights in self._sweeps[-1 - shaken :]:
                        for _ in range(min(shaken, _LONGEST)):
                            self.sweep(weights)
                best, tries = self.distance, 0
        return not best


def _start(collection: Collection, counts: _Counts, random: _Random) -> list[CodeArray]:
    """Rows with all counts of a junction tree of some margins, the largest first; then with what others show finer."""
    domain = collection.domain
    rows: dict[str, CodeArray] = {}
    levels: dict[str, int] = {}

    def order(codes: Mapping[str, CodeArray], at: Mapping[str, int], shared: Sequence[Mapping[str, int]]) -> IndexArray:
        keys = []
        for part in shared:
            keys.append(np.zeros(counts.rows, dtype=np.uint64))
            for place, (name, level) in enumerate(part.items()):
                lifted = domain.hierarchy(name).lift(at[name], level)
                keys[-1] += _Random(place + 1).bits(int(lifted.max()) + 1)[lifted][codes[name]]
        return np.lexsort(keys)

    tree, others = Collection.of(collection.cube, ()), list[Mask]()
    for mask in sorted(maximal_masks(collection.masks), key=lambda mask: (-len([*domain.places(mask)]), mask)):
        larger = Collection.of(collection.cube, (*tree.masks, mask))
        tree, others = (larger, others) if larger.is_decomposable else (tree, [*others, mask])
    for mask in (*tree.junction_tree.cliques, *others):
        if not mask & ~domain.mask(levels):
            continue
        table = collection.cube.table(mask)
        repeated = np.repeat(np.arange(len(table)), table.counts)[random.order(table.total)]
        own = {name: table.column(name, level)[repeated] for name, level in table.margin.items()}
        shared = {name: max(level, levels[name]) for name, level in table.margin.items() if name in levels}
        # What is refined keeps its counts, whether or not those of all that is shared agree.
        refined = {name: level for name, level in shared.items() if table.margin[name] < level}
        keys = {name: shared[name] for name in shared if name not in refined}, refined
        places = np.empty(counts.rows, dtype=np.intp)
        places[order(rows, levels, keys)] = order(own, table.margin, keys)
        for name, level in table.margin.items():
            if level < levels.get(name, level + 1):
                rows[name], levels[name] = own[name][places], level
    return [rows[name] for name in counts.names]


def possible_table(collection: Collection, seed: int = 0, deadline: Deadline = NEVER) -> dict[str, CodeArray] | None:
    """A table with every count that the margins show: by attribute the codes of its rows at their finest levels.

    None where none was found: there may be one, or not. The same counts and seed give the same table. What was found is
    counted again, as any other rows are, since proofs rest on it. Raises TooManyCellsError for margins of too many cells.
    """
    counts = _Counts.of(collection)
    random = _Random(counts.digest + seed)
    search = _Search(counts, _start(collection, counts, random), random)
    if not search.mend(deadline):
        return None
    rows = {
        name: codes.astype(smallest_code_dtype(int(codes.max(initial=0)) + 1))
        for name, codes in zip(counts.names, search.codes)
    }
    if not _has_every_count(collection, rows):
        raise ContradictionError("the rows that were found have other counts than the published ones")
    return rows


def _has_every_count(collection: Collection, rows: Mapping[str, CodeArray]) -> bool:
    finest = {name: collection.finest_levels[name] for name in rows}
    ones = np.ones(collection.cube.total, dtype=np.int64)
    found = DataCube([ContingencyTable.from_cells(collection.domain, finest, rows, ones)])
    pairs = ((collection.cube.table(mask), found.table(mask)) for mask in collection.masks)
    return all(
        np.array_equal(table.counts, other.counts) and all(map(np.array_equal, table.codes, other.codes))
        for table, other in pairs
    ) and all(allowed_rows(support, finest, rows).all() for support in collection.supports)


def allowed_rows(support: Support, levels: Mapping[str, int], rows: Mapping[str, CodeArray]) -> BoolArray:
    """Whether each row has a possible combination of values. levels: those of the rows' codes, by attribute."""
    cells, hierarchy = support.cells, support.cells.domain.hierarchy
    at = {name: max(level, levels[name]) for name, level in cells.margin.items() if name in levels}
    keys = [np.zeros(size, dtype=np.int64) for size in (len(cells), len(next(iter(rows.values()))))]
    for name, level in at.items():
        columns = cells.column(name, level), hierarchy(name).lift(levels[name], level)[rows[name]]
        keys = [own * hierarchy(name).size(level) + column for own, column in zip(keys, columns)]
    return np.isin(keys[1], keys[0])
