"""Exchanges: other rows with the same tables of counts, found by exchanging values between rows that are alike enough.

Two rows that agree on all that tables show together with an attribute may exchange its values, and no count changes; so may
all rows that agree on it, in any order (data swapping: Dalenius and Reiss 1982). Where two rows differ in one other
attribute, the exchange changes what is shown of the two attributes, and another exchange elsewhere, of the same values the
other way round, changes it back. Of three attributes with a table of each two, nothing but these moves anything (Diaconis
and Sturmfels, Annals of Statistics 26, 1998).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from models.arrays import BoolArray, CodeArray, CountArray, IndexArray
from models.tables.contingency_table import pack
from models.tables.hierarchy import Domain

_MOST_GAIN = 2**14
"""Those that gain more are as good."""

_WORD = 64
_SCATTER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: keys that differ stay different, and go all over the place."""


@dataclass(frozen=True)
class Move:
    """Values of one attribute change places.

    within: rows agree on it at this level. against: the one other attribute in which rows may differ, so that two exchanges
    are needed; None where any order of the values will do.
    """

    attribute: str
    within: int
    against: str | None = None


@dataclass(frozen=True, eq=False)
class Exchanges:
    """Pairs of rows that exchange their values of an attribute.

    one, two: places of rows, shape (pairs,), each row in one pair at most. of_one, of_two: the codes that they have before.
    """

    attribute: str
    one: IndexArray
    two: IndexArray
    of_one: CodeArray
    of_two: CodeArray

    def some(self, chosen: IndexArray | BoolArray) -> "Exchanges":
        """Those at some places."""
        return Exchanges(self.attribute, self.one[chosen], self.two[chosen], self.of_one[chosen], self.of_two[chosen])


class Preference(Protocol):
    """Which exchanges are rather made than others. It follows the rows from the first move that is made with it."""

    def gains(self, exchanges: Exchanges) -> CountArray:
        """What is gained by each: shape (pairs,)."""
        ...

    def follow(self, exchanges: Exchanges) -> None:
        """Take note of those that are made."""
        ...


class ExchangedRows:
    """Rows whose values may be exchanged, one move after the other, so that tables of them stay the same.

    codes: by attribute at its finest level in any table, which `levels` gives, shape (rows,). tables: their margins.
    """

    def __init__(
        self,
        domain: Domain,
        levels: Mapping[str, int],
        codes: Mapping[str, CodeArray],
        tables: Sequence[Mapping[str, int]],
    ) -> None:
        self._domain = domain
        self._levels = dict(levels)
        self.codes = {a: np.array(code) for a, code in codes.items()}
        self._tables = [dict(table) for table in tables]
        self._rows = len(next(iter(self.codes.values()), ()))
        self._columns: dict[tuple[str, int], CodeArray] = {}

    @cached_property
    def moves(self) -> list[Move]:
        """All that there are: those of one attribute alone, then those against another that some table shows with it."""
        alone, against = [], []
        for a in self._levels:
            levels_told = {table[a] for table in self._tables if a in table and len(table) > 1}
            # Within a level rows agree on what coarser tables show.
            for level in sorted({*levels_told, self._domain.hierarchy(a).height} - {self._levels[a]}):
                alone.append(Move(a, level))
                others = {b for table in self._tables if table.get(a, level) < level for b in table if b != a}
                against += [Move(a, level, b) for b in sorted(others)]
        return alone + against

    def column(self, attribute: str, level: int) -> CodeArray:
        """The codes of an attribute at a level, no finer than those of the rows: shape (rows,)."""
        column = self._columns.get((attribute, level))
        if column is None:
            lift = self._domain.hierarchy(attribute).lift(self._levels[attribute], level)
            column = self._columns[attribute, level] = lift.astype(np.int32)[self.codes[attribute]]
        return column

    def make(self, move: Move, rng: np.random.Generator, preference: Preference | None = None) -> int:
        """Make a move at random; how many rows got another value.

        preference: exchanges, or two opposite ones together, that lose by it are not made.
        """
        one, two = self._partners(move, rng)
        values = self.codes[move.attribute]
        of_one, of_two = values[one], values[two]
        pairs = Exchanges(move.attribute, one, two, of_one, of_two).some(np.flatnonzero(of_one != of_two))
        gains = np.zeros(len(pairs.one), dtype=np.int64) if preference is None else preference.gains(pairs)
        made = pairs.some(
            gains >= 0 if move.against is None else self._balanced(move, move.against, pairs.one, pairs.two, gains)
        )
        if preference is not None:
            preference.follow(made)
        values[made.one], values[made.two] = made.of_two, made.of_one
        for level in range(self._domain.hierarchy(move.attribute).height + 1):
            self._columns.pop((move.attribute, level), None)
        return 2 * len(made.one)

    def _finest(self, move: Move, *, beside: str | None = None) -> dict[str, int]:
        """What tables show together with the attribute, finer than rows agree on it; of those beside another, or of all.

        By attribute at the finest level of all these tables.
        """
        finest: dict[str, int] = {}
        for table in self._tables:
            if table.get(move.attribute, move.within) < move.within and (beside is None or beside in table):
                for a, level in table.items():
                    finest[a] = min(level, finest.get(a, level))
        return finest

    def _keys(self, levels: Mapping[str, int]) -> CodeArray:
        """Equal where rows agree on some attributes at some levels."""
        columns = [self.column(a, level) for a, level in levels.items()]
        radices = [self._domain.hierarchy(a).size(level) for a, level in levels.items()]
        return pack(columns, radices, self._rows)[0]

    def _partners(self, move: Move, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
        """Pairs of rows at random, each row in one at most, that agree on all but the values that the move changes."""
        context = self._finest(move)
        if move.against is not None:
            context.pop(move.against, None)
        keys = self._keys({**context, move.attribute: move.within})
        return _pairs(_grouped(keys, 2 * int(rng.integers(1 << 30)) + 1), keys)

    def _balanced(self, move: Move, other: str, one: IndexArray, two: IndexArray, gains: CountArray) -> BoolArray:
        """Which exchanges are made: those that change no table, and two that change it in opposite ways.

        Those that gain the most of one way are made with those that gain the most of the other.
        """
        both = self._finest(move, beside=other)
        codes, beside = self.column(move.attribute, both[move.attribute]), self.column(other, both[other])
        changes = np.flatnonzero((beside[one] != beside[two]) & (codes[one] != codes[two]))
        made = gains >= 0
        made[changes] = False
        first, second = one[changes], two[changes]
        rest = self._keys({a: level for a, level in both.items() if a not in (move.attribute, other)})[first]
        columns = [codes[first], codes[second], beside[first], beside[second]]
        is_up = (columns[0] < columns[1]) == (columns[2] < columns[3])
        ends = [pick(*pair) for pair in (columns[:2], columns[2:]) for pick in (np.minimum, np.maximum)]
        kinds, _ = pack([*ends, rest], [int(column.max(initial=0)) + 1 for column in (*ends, rest)], len(rest))
        ups, downs = _opposite(kinds, is_up, gains[changes])
        gaining = gains[changes[ups]] + gains[changes[downs]] >= 0
        made[changes[ups[gaining]]] = made[changes[downs[gaining]]] = True
        return made


def _pairs(order: IndexArray, keys: CodeArray) -> tuple[IndexArray, IndexArray]:
    """Neighbours in an order, each row in one pair at most, that have one key."""
    ordered = keys[order]
    is_same = ordered[1:] == ordered[:-1]
    begins = np.r_[0, np.flatnonzero(~is_same) + 1].astype(np.int32)
    lengths = np.diff(np.r_[begins, np.int32(len(ordered))])
    place = np.arange(len(ordered), dtype=np.int32) - np.repeat(begins, lengths)
    first = np.flatnonzero((place[:-1] & 1 == 0) & is_same)
    return order[first], order[first + 1]


def _grouped(keys: CodeArray, factor: int = 1) -> IndexArray:
    """An order in which equal keys stand together: those of one key as they come, or shuffled by an odd factor.

    Numbers are sorted faster than places. Where the keys are too large to carry their places, they are scattered: those of
    different keys may then stand among one another, seldom.
    """
    bits = max(len(keys) - 1, 1).bit_length()
    size = 1 << bits
    wide = keys.astype(np.uint64)
    if int(keys.max(initial=0)).bit_length() + bits > _WORD:
        wide *= _SCATTER
        wide >>= np.uint64(bits)
    wide <<= np.uint64(bits)
    # Multiplied by an odd number, no two places below a power of two become one.
    wide |= np.arange(len(keys), dtype=np.uint64) * np.uint64(factor % size) & np.uint64(size - 1)
    wide.sort()
    return (wide * np.uint64(pow(factor, -1, size)) & np.uint64(size - 1)).astype(np.intp)


def _opposite(kinds: CodeArray, is_up: BoolArray, gains: CountArray) -> tuple[IndexArray, IndexArray]:
    """Places of exchanges that go up, and of as many of the same kinds that go down, those that gain the most first."""
    if not len(kinds):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    by_gain = np.argsort(-gains.clip(-_MOST_GAIN, _MOST_GAIN).astype(np.int16), kind="stable")
    by_gain = by_gain[np.argsort(is_up[by_gain], kind="stable")]
    order = by_gain[_grouped(kinds[by_gain])]
    ordered = kinds[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[begins, len(ordered)])
    downs = np.add.reduceat(~is_up[order], begins, dtype=np.intp)
    # Of each kind those that go down come first: the first that goes up stands so many places after the first of them.
    rank = np.arange(len(ordered)) - np.repeat(begins + downs, lengths)
    has_partner = is_up[order] & (rank < np.repeat(downs, lengths))
    up = np.flatnonzero(has_partner)
    return order[up], order[np.repeat(begins, lengths)[up] + rank[up]]
