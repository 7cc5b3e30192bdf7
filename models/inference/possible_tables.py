"""Possible tables: tables of rows with every published count, made from the published counts only.

A possible table has all rows, at the finest published levels, and each count that some margin shows. The real table is
one. The margins need no junction tree. Rows exchange values of one attribute, which changes no count of that attribute.
The search ends if E is 0, the sum of the absolute errors of all cells.

1. *Sweeps* pair rows that agree in most attributes that tables show with one. The pairs exchange its values by the rule of
   Metropolis, at a falling temperature. Some sweeps ignore all other attributes, so that every table can be reached. If E
   falls slowly, large errors weigh more, so that no small ones of other tables stand in their way.
2. *Directed exchanges* follow if few cells are wrong. They take a row from a cell with too many to one with too few. A heat
   bath draws the partner among the most similar rows. If they no longer help, sweeps at a higher temperature shake the
   table.

Deciding whether there is such a table is NP-complete for the two-way margins of three attributes. So a search can end
without one. All decisions compare whole numbers, and Philox gives the random bits. So the same counts and seed give the
same table on every platform.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from functools import cached_property
from hashlib import blake2b
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from models.arrays import BoolArray, CodeArray, IndexArray, begins_of, grouped, smallest_code_dtype
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, JunctionTree, Support, decomposable_part, maximal_masks
from models.tables.contingency_table import ContingencyTable, equal_cells
from models.tables.data_cube import DataCube

_MOST_CELLS, _MOST_ROWS = 1 << 25, 1 << 24
"""Most cells of all margins together, empty ones included, and most rows."""

_SWEEPS = tuple(map(Decimal, ("1.2", "0.9", "0.65", "0.5", "0.38", "0.32", "0.27", "0.23", "0.2", "0.17", "0.14")))
_FIRST, _LAST, _WRONG, _DIRECTED = 4, 5, 50, Decimal("0.38")
"""Temperatures of sweeps, in turn: places of the first and of the earliest last one. Temperature of directed exchanges.

At a temperature about the same share of all cells becomes wrong. The last one is the highest that makes less than `_WRONG`
cells wrong. Each shake of a stuck search begins one higher. Of 61,182 rows in 8,688 cells E is 300 after 28 s so. If
`_LAST` is always the last, it is 1,458 after 18 s.
"""

_STEEPEST = 20
"""Most that one more row in a cell weighs. If `_PATIENCE` sweeps do not halve E, it weighs as much as the error it makes.

Large errors then do not wait for small ones of other tables. Searches that begin near their end take longer so.
"""

_PATIENCE, _TRIES, _LONGEST = 6, 600, 4
"""Sweeps at a temperature and directed exchanges without progress, and sweeps at each temperature of a shake, at most."""

SHAKES, _STUCK = 100, 400
"""Default limit of the shakes of a stuck search, which ends earlier if their number times E is above `_STUCK`."""

_EMPTY = 8
"""Weight of a cell that must be empty. A search that lets rows return to it would not leave the table it begins with."""

_FREE, _DROPPED, _ROUNDS, _CROWDED = 20, 4, 6, 8
"""Pairings: one in `_FREE` ignores all other attributes, the rest at most `_DROPPED`. Pairs are weighed `_ROUNDS` times.
Exchanges that crowd a cell are sought at most `_CROWDED` times.
"""

_LIKE, _PARTNERS = 1 << 13, 1_000
"""Rows among which partners of a directed exchange are sought, and most partners, which agree with it in most attributes.

Rows stand in random order, so that neighbours are a sample.
"""

Bits = NDArray[np.uint64]


class _Random:
    """Random whole numbers, the same on every platform."""

    def __init__(self, seed: int) -> None:
        self._philox = np.random.Philox(key=seed)

    def bits(self, size: int) -> Bits:
        return np.asarray(self._philox.random_raw(size), dtype=np.uint64)

    def below(self, end: int) -> int:
        return int(self._philox.random_raw()) % end

    def order(self, size: int) -> IndexArray:
        return np.argsort(self.bits(size), kind="stable")


def _weights(temperature: Decimal, most: int, ones: int) -> Bits:
    """Return ones * exp(-d / temperature) for d = 0, 1, ..., most, as whole numbers."""
    with localcontext() as context:
        context.prec = 40
        positive = [*takewhile(bool, (int((-Decimal(d) / temperature).exp() * ones) for d in range(most + 1)))]
    return np.array(positive + [0] * (most + 1 - len(positive)), dtype=np.uint64)


@frozen(eq=False)
class _Margin:
    """Margin with numbered cells.

    steps: by place of an attribute, the contribution of each finest code to the number of a cell. sizes: values at the
    margin's levels, by place. begin: the number of its first cell.
    """

    steps: Mapping[int, NDArray[np.int32]]
    sizes: Mapping[int, int]
    begin: int

    def numbers(self, codes: Sequence[CodeArray]) -> NDArray[np.int32]:
        """Return the cell of each row: shape (rows,)."""
        numbers = np.full(len(codes[0]), self.begin, dtype=np.int32)
        for place, steps in self.steps.items():
            numbers += steps[codes[place]]
        return numbers


@frozen(eq=False)
class _Counts:
    """Published counts by numbered cells.

    names: published attributes; an attribute's place is its place here. published: the count of each cell, empty ones
    included. weights: of the errors of each cell. A support has cells that must be empty, and others that may have any
    count, of weight 0.
    """

    names: tuple[str, ...]
    rows: int
    margins: tuple[_Margin, ...]
    published: NDArray[np.int32]
    weights: NDArray[np.int8]

    @classmethod
    def of(cls, collection: Collection) -> "_Counts":
        """Return the counts of a collection's maximal margins, and its supports. Raises TooManyCellsError."""
        domain, finest = collection.domain, collection.finest_levels
        names = tuple(name for name in domain.attributes if collection.shows(name))
        masks = maximal_masks(collection.masks)
        sizes = [domain.size(domain.margin(mask)) for mask in masks]
        for number, most, things in ((sum(sizes), _MOST_CELLS, "cells"), (collection.cube.total, _MOST_ROWS, "rows")):
            if number > most:
                raise TooManyCellsError(
                    f"{number:,} {things} are more than the {most:,} of which possible tables are made"
                )
        margins, counted, weights, begin = list[_Margin](), list[NDArray[np.int32]](), list[NDArray[np.int8]](), 0
        tables = [(collection.cube.table(mask), False) for mask in masks]
        for cells, is_support in [*tables, *((support.cells, True) for support in collection.supports)]:
            levels = {name: max(level, finest[name]) for name, level in cells.margin.items() if name in names}
            widths = {names.index(name): domain.hierarchy(name).size(level) for name, level in levels.items()}
            dense = cells.rolled_up(levels).dense(levels).ravel().astype(np.int32)
            step, steps = len(dense), dict[int, NDArray[np.int32]]()
            for (name, level), (place, width) in zip(levels.items(), widths.items()):
                step //= width
                steps[place] = (domain.hierarchy(name).lift(finest[name], level) * np.int64(step)).astype(np.int32)
            margins.append(_Margin(steps, widths, begin))
            counted.append(dense * (not is_support))
            weights.append(
                np.where(dense > 0, 0, _EMPTY).astype(np.int8) if is_support else np.ones(len(dense), np.int8)
            )
            begin += len(dense)
        return cls(names, collection.cube.total, tuple(margins), np.concatenate(counted), np.concatenate(weights))

    @property
    def digest(self) -> int:
        """Number that depends on the counts only; it seeds the search."""
        return int.from_bytes(blake2b(self.published.astype("<i4").tobytes(), digest_size=15).digest(), "little")

    @cached_property
    def showing(self) -> tuple[tuple[int, ...], ...]:
        """Margins that show each attribute."""
        places = range(len(self.names))
        return tuple(tuple(t for t, margin in enumerate(self.margins) if place in margin.steps) for place in places)

    @cached_property
    def neighbours(self) -> tuple[Mapping[int, CodeArray], ...]:
        """Attributes that margins show together with each attribute, with the codes of their finest values there."""
        result = []
        for place, showing in enumerate(self.showing):
            others = {other for t in showing for other in self.margins[t].sizes if other != place}
            finest: dict[int, CodeArray] = {}
            for other in sorted(others):
                both = [margin for margin in map(self.margins.__getitem__, showing) if other in margin.sizes]
                steps = max(both, key=lambda margin: margin.sizes[other]).steps[other]
                finest[other] = np.unique(steps, return_inverse=True)[1].reshape(-1).astype(np.int16)
            result.append(finest)
        return tuple(result)


class _Search:
    """Search for rows with the published counts.

    codes: of each attribute, shape (rows,). cells: for each margin the cell of each row, shape (rows,). off: the error of
    each cell, its rows less the published count. fewer, more: the change of E by one row less or more in a cell.
    """

    def __init__(self, counts: _Counts, codes: Sequence[CodeArray], random: _Random) -> None:
        self.counts, self.random = counts, random
        self.codes = [np.array(column, dtype=np.int32) for column in codes]
        self.cells = [margin.numbers(self.codes) for margin in counts.margins]
        self.off = -counts.published
        for cells in self.cells:
            self.off += np.bincount(cells, minlength=len(self.off)).astype(np.int32)
        self.fewer, self.more = (np.zeros(len(self.off), dtype=np.int8) for _ in range(2))
        self._is_steep = False
        self._weigh(np.arange(len(self.off)))
        self._hashes = [
            {
                other: _Random(place * 1_000 + other + 1).bits(int(levels.max(initial=0)) + 1)[levels]
                for other, levels in neighbours.items()
            }
            for place, neighbours in enumerate(counts.neighbours)
        ]
        most = 4 * max(_EMPTY, _STEEPEST) * len(counts.margins)
        sweeps = [_weights(temperature, most, 2**64 - 1) for temperature in _SWEEPS]
        warm = sum(int(weights[1]) * len(self.off) >> 64 >= _WRONG for weights in sweeps)
        self._sweeps = sweeps[: max(warm, _LAST) + 1]
        self._directed = _weights(_DIRECTED, 2 * most, 2**40)

    @property
    def distance(self) -> int:
        """Weighted sum of the absolute errors of all cells."""
        return int((np.abs(self.off) * self.counts.weights).sum())

    def _weigh(self, cells: IndexArray | NDArray[np.int32]) -> None:
        weights = self.counts.weights[cells]
        off = self.off[cells] = self.off[cells] * (weights > 0)
        error, most = np.abs(off), _STEEPEST if self._is_steep else 1
        gain, loss = (np.where(weights == 1, one.clip(1, most), weights).astype(np.int8) for one in (error, error + 1))
        self.fewer[cells] = np.where(off > 0, -gain, loss)
        self.more[cells] = np.where(off < 0, -gain, loss)

    def _changes(
        self, place: int, one: IndexArray, other: IndexArray, margins: Iterable[int] | None = None
    ) -> Iterator[tuple[int, BoolArray, NDArray[np.int32]]]:
        """Yield each margin with an attribute, whether exchanges change it, and the four cells left and entered."""
        mine, theirs = self.codes[place][one], self.codes[place][other]
        for t in self.counts.showing[place] if margins is None else margins:
            steps = self.counts.margins[t].steps[place]
            step = steps[theirs] - steps[mine]
            cells = np.empty((4, len(one)), dtype=np.int32)
            cells[0], cells[1] = self.cells[t][one], self.cells[t][other]
            np.add(cells[0], step, out=cells[2])
            np.subtract(cells[1], step, out=cells[3])
            yield t, (step != 0) & (cells[2] != cells[1]), cells

    def _cost(self, cells: NDArray[np.int32]) -> NDArray[np.int8]:
        cost: NDArray[np.int8] = self.fewer[cells[0]] + self.fewer[cells[1]]
        cost += self.more[cells[2]]
        cost += self.more[cells[3]]
        return cost

    def sweep(self, weights: Bits) -> None:
        """Offer each row an exchange of each attribute. weights: by the change of E."""
        for place in self.random.order(len(self.codes)).tolist():
            others = list(self.counts.neighbours[place])
            few = 1 + self.random.below(max(min(_DROPPED, len(others)), 1))
            number = few if self.random.below(_FREE) else len(others)
            dropped = {others[i] for i in self.random.order(len(others))[:number].tolist()}
            one, other = self._pairs(place, dropped)
            # If two rows differ in one attribute of a margin, their exchange does not change its counts.
            margins = [t for t in self.counts.showing[place] if dropped & self.counts.margins[t].sizes.keys()]
            if len(one) and margins:
                self._exchange(place, one, other, weights, margins)

    def _pairs(self, place: int, dropped: set[int]) -> tuple[IndexArray, IndexArray]:
        """Return pairs of rows that differ in an attribute, and agree in its neighbours that are not dropped."""
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
        """Make exchanges of disjoint pairs by the rule of Metropolis: of those that crowd a cell the best ones, others are
        weighed again.
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
            crowding = self._crowding([(changed[taken], cells[:, taken]) for changed, cells in changes], len(taken))
            chosen = taken[~crowding]
            self._make(place, one[chosen], other[chosen])
            one, other = one[taken[crowding]], other[taken[crowding]]

    def _crowding(self, changes: Sequence[tuple[BoolArray, NDArray[np.int32]]], size: int) -> BoolArray:
        """Return which exchanges crowd a cell: shape (size,). Rows that leave a cell make room for as many that enter it."""
        some = [np.flatnonzero(changed) for changed, _ in changes]
        exchanges = np.repeat(np.concatenate(some), 2)
        ends = [
            cells[:, moved].reshape(2, 2, -1).swapaxes(1, 2).reshape(2, -1) for (_, cells), moved in zip(changes, some)
        ]
        sides = []
        for sign, left_or_entered in zip((1, -1), np.concatenate(ends, axis=1)):
            order = grouped(left_or_entered)
            ordered = left_or_entered[order]
            sides.append((sign, exchanges[order], ordered, begins_of(ordered)))
        room = 1 + self._is_steep * self.distance // len(self.off)
        crowding = np.zeros(size, dtype=np.bool_)
        for _ in range(_CROWDED):
            is_made = ~crowding
            rows = {sign: np.bincount(cells[is_made[who]], minlength=len(self.off)) for sign, who, cells, _ in sides}
            for sign, who, cells, begins in sides:
                makes = is_made[who]
                reached = np.cumsum(makes)
                rank = reached - reached[begins] + makes[begins]
                most = self._is_steep * rows[-sign][cells] + np.maximum(sign * self.off[cells], room)
                crowding[who[makes & (rank > most) & (self.counts.weights[cells] > 0)]] = True
            if np.array_equal(crowding, ~is_made):
                break
        return crowding

    def _make(self, place: int, one: IndexArray, other: IndexArray) -> None:
        for t, changed, cells in self._changes(place, one, other):
            moved = cells[:, changed]
            np.add.at(self.off, moved.ravel(), np.repeat(np.array([-1, -1, 1, 1], dtype=np.int32), moved.shape[1]))
            self._weigh(moved.ravel())
            self.cells[t][one], self.cells[t][other] = cells[2:]
        column = self.codes[place]
        column[one], column[other] = column[other], column[one]

    def directed(self) -> None:
        """Exchange a value of a row of a cell with too many, or none, weighted by E."""
        wrong = np.flatnonzero(self.off > 0)
        cell = int(wrong[self.random.below(len(wrong))])
        t = next(t for t in reversed(range(len(self.cells))) if self.counts.margins[t].begin <= cell)
        margin, rows = self.counts.margins[t], np.flatnonzero(self.cells[t] == cell)
        places = [place for place in margin.steps if self.counts.neighbours[place]]
        if not places:
            return
        place, row = places[self.random.below(len(places))], int(rows[self.random.below(len(rows))])
        steps = margin.steps[place] - margin.steps[place][self.codes[place][row]]
        fits = self.off[cell + steps] < 0
        partners = np.flatnonzero((fits if fits.any() else steps != 0)[self.codes[place]])
        begin = self.random.below(max(len(partners) - _LIKE, 0) + 1)
        partners = partners[begin : begin + _LIKE]
        differ = np.zeros(len(partners), dtype=np.int8)
        for other, levels in self.counts.neighbours[place].items():
            differ += levels[self.codes[other][partners]] != levels[self.codes[other][row]]
        partners = partners[np.argsort(differ, kind="stable")[:_PARTNERS]]
        cost = np.zeros(len(partners), dtype=np.int16)
        for _, changed, cells in self._changes(place, np.full(len(partners), row), partners):
            cost += np.where(changed, self._cost(cells), 0)
        least = min(int(cost.min(initial=0)), 0)
        reached = np.cumsum(self._directed[np.append(cost, 0) - least].astype(np.int64))
        chosen = int(np.searchsorted(reached, self.random.below(int(reached[-1])), side="right"))
        if chosen < len(partners):
            self._make(place, np.array([row]), partners[chosen : chosen + 1])

    def mend(self, shakes: int, deadline: Deadline) -> bool:
        """Return whether E became 0 before the deadline. shakes: at most."""
        for weights in self._sweeps[_FIRST:]:
            begin = best = self.distance
            idle = swept = 0
            while best and idle < _PATIENCE and not deadline.is_over:
                self.sweep(weights)
                is_better = 50 * self.distance < 49 * best
                best, idle, swept = (self.distance, 0, swept + 1) if is_better else (best, idle + 1, swept + 1)
                if swept == _PATIENCE and 2 * self.distance > max(begin, 2 * len(self.off)):
                    self._is_steep = True
                    self._weigh(np.arange(len(self.off)))
        best, tries, shaken = self.distance, 0, 0
        while best and shaken < shakes and not deadline.is_over:
            self.directed()
            tries += 1
            if self.distance < best:
                best, tries = self.distance, 0
            elif tries > _TRIES:
                if best * shaken > _STUCK:
                    break
                shaken += 1
                for weights in self._sweeps[-1 - shaken :]:
                    for _ in range(min(shaken, _LONGEST)):
                        self.sweep(weights)
                best, tries = self.distance, 0
        return not best


def _start(collection: Collection, counts: _Counts, random: _Random) -> list[CodeArray]:
    """Return rows with all counts of a junction tree of margins, the largest first, refined by the other margins."""
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

    masks = sorted(maximal_masks(collection.masks), key=lambda mask: (-len([*domain.places(mask)]), mask))
    part = decomposable_part(masks)
    for mask in (*JunctionTree.of(domain, part).cliques, *(mask for mask in masks if mask not in part)):
        if not mask & ~domain.mask(levels):
            continue
        table = collection.cube.table(mask)
        repeated = np.repeat(np.arange(len(table)), table.counts)[random.order(table.total)]
        codes = {name: table.column(name, level)[repeated] for name, level in table.margin.items()}
        shared = {name: max(level, levels[name]) for name, level in table.margin.items() if name in levels}
        # Refined attributes keep their counts, even if the counts of other shared attributes do not agree.
        refined = {name: level for name, level in shared.items() if table.margin[name] < level}
        keys = {name: shared[name] for name in shared if name not in refined}, refined
        places = np.empty(counts.rows, dtype=np.intp)
        places[order(rows, levels, keys)] = order(codes, table.margin, keys)
        for name, level in table.margin.items():
            if level < levels.get(name, level + 1):
                rows[name], levels[name] = codes[name][places], level
    return [rows[name] for name in counts.names]


def possible_table(
    collection: Collection,
    seed: int = 0,
    deadline: Deadline = NEVER,
    begin: Mapping[str, CodeArray] | None = None,
    shakes: int = SHAKES,
) -> dict[str, CodeArray] | None:
    """Return a table with every published count, or None if none was found; there may be one all the same.

    The same counts, seed and begin give the same table. It is counted again before it is returned, because proofs use it.

    Parameters
    ----------
    collection
        The published margins, and supports outside of which no row may be.
    seed
        Seed of the search.
    deadline
        Time at which the search ends.
    begin
        Codes of rows at the finest published levels, by attribute, with which the search begins.
    shakes
        Most shakes of a stuck search.

    Returns
    -------
    dict or None
        By attribute the codes of the rows at its finest published level, shape (rows,).

    Raises
    ------
    TooManyCellsError
        If the margins have too many cells, or too many rows.
    """
    counts = _Counts.of(collection)
    random = _Random(counts.digest + seed)
    start = _start(collection, counts, random) if begin is None else [begin[name] for name in counts.names]
    search = _Search(counts, start, random)
    if not search.mend(shakes, deadline):
        return None
    rows = {
        name: codes.astype(smallest_code_dtype(int(codes.max(initial=0)) + 1))
        for name, codes in zip(counts.names, search.codes)
    }
    if not _has_every_count(collection, rows):
        raise ContradictionError("a possible table has other counts than the published ones")
    return rows


def _has_every_count(collection: Collection, rows: Mapping[str, CodeArray]) -> bool:
    finest = {name: collection.finest_levels[name] for name in rows}
    ones = np.ones(collection.cube.total, dtype=np.int64)
    cube = DataCube([ContingencyTable.from_cells(collection.domain, finest, rows, ones)])
    are_equal = (equal_cells([collection.cube.table(mask), cube.table(mask)]) for mask in collection.masks)
    return all(are_equal) and all(allowed_rows(support, finest, rows).all() for support in collection.supports)


def allowed_rows(support: Support, levels: Mapping[str, int], rows: Mapping[str, CodeArray]) -> BoolArray:
    """Return whether each row is in a cell of a support: shape (rows,). levels: of the rows' codes, by attribute."""
    cells, hierarchy = support.cells, support.cells.domain.hierarchy
    at = {name: max(level, levels[name]) for name, level in cells.margin.items() if name in levels}
    keys = [np.zeros(size, dtype=np.int64) for size in (len(cells), len(next(iter(rows.values()))))]
    for name, level in at.items():
        columns = cells.column(name, level), hierarchy(name).lift(levels[name], level)[rows[name]]
        keys = [key * hierarchy(name).size(level) + column for key, column in zip(keys, columns)]
    return np.isin(keys[1], keys[0])
