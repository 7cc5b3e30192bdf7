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

import numpy as np

from models.arrays import BoolArray, CodeArray, IndexArray
from models.tables.contingency_table import pack
from models.tables.hierarchy import Domain


@dataclass(frozen=True)
class Move:
    """Values of one attribute change places.

    within: rows agree on it at this level. against: the one other attribute in which rows may differ, so that two exchanges
    are needed; None where any order of the values will do.
    """

    attribute: str
    within: int
    against: str | None = None


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
        lift = self._domain.hierarchy(attribute).lift(self._levels[attribute], level)
        return lift[self.codes[attribute]]

    def make(self, move: Move, rng: np.random.Generator) -> int:
        """Make a move at random; how many rows got another value."""
        if move.against is None:
            return self._permute(move, rng)
        return self._exchange(move, move.against, rng)

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

    def _alike(self, keys: CodeArray, rng: np.random.Generator) -> IndexArray:
        """The rows in the order of their keys, those of one key at random."""
        order = rng.permutation(self._rows)
        return order[np.argsort(keys[order], kind="stable")]

    def _permute(self, move: Move, rng: np.random.Generator) -> int:
        keys = self._keys({**self._finest(move), move.attribute: move.within})
        values = self.codes[move.attribute]
        here, there = np.argsort(keys, kind="stable"), self._alike(keys, rng)
        before = values[here]
        values[here] = values[there]
        return int(np.count_nonzero(before != values[here]))

    def _exchange(self, move: Move, other: str, rng: np.random.Generator) -> int:
        context = self._finest(move)
        context.pop(other, None)
        keys = self._keys({**context, move.attribute: move.within})
        order = self._alike(keys, rng)
        one, two = _pairs(order, keys)
        both = self._finest(move, beside=other)
        codes = self.column(move.attribute, both[move.attribute])
        beside = self.column(other, both[other])
        changes = (beside[one] != beside[two]) & (codes[one] != codes[two])
        one, two = np.where(beside[one] <= beside[two], one, two), np.where(beside[one] <= beside[two], two, one)
        pairs = one[changes], two[changes]
        rest = self._keys({a: level for a, level in both.items() if a not in (move.attribute, other)})[pairs[0]]
        up = codes[pairs[0]] < codes[pairs[1]]
        low, high = np.minimum(codes[pairs[0]], codes[pairs[1]]), np.maximum(codes[pairs[0]], codes[pairs[1]])
        columns = [beside[pairs[0]], beside[pairs[1]], low, high, rest]
        kind, _ = pack(columns, [int(column.max(initial=0)) + 1 for column in columns], len(rest))
        opposite = _matched(kind, up)
        made = ~changes
        made[np.flatnonzero(changes)[opposite]] = True
        values = self.codes[move.attribute]
        first, second = values[one[made]], values[two[made]]
        values[one[made]], values[two[made]] = second, first
        return 2 * int(np.count_nonzero(first != second))


def _pairs(order: IndexArray, keys: CodeArray) -> tuple[IndexArray, IndexArray]:
    """Neighbours in an order, each row in one pair at most, that have one key."""
    ordered = keys[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, dtype=np.intp)
    lengths = np.diff(np.r_[begins, len(ordered)])
    place = np.arange(len(ordered)) - np.repeat(begins, lengths)
    last = place == np.repeat(lengths, lengths) - 1
    first = np.flatnonzero((place % 2 == 0) & ~last)
    return order[first], order[first + 1]


def _matched(kinds: CodeArray, up: BoolArray) -> BoolArray:
    """As many of each kind that go up as go down, the first of them: shape (len(kinds),)."""
    if not len(kinds):
        return np.zeros(0, dtype=np.bool_)
    _, number = np.unique(kinds, return_inverse=True)
    ups = np.bincount(number, up)
    downs = np.bincount(number, ~up)
    both = np.minimum(ups, downs)
    order = np.lexsort((up, number))
    same = number[order] * 2 + up[order]
    begins = np.flatnonzero(np.r_[True, same[1:] != same[:-1]])
    rank = np.arange(len(same)) - np.repeat(begins, np.diff(np.r_[begins, len(same)]))
    matched = np.zeros(len(kinds), dtype=np.bool_)
    matched[order] = rank < both[number[order]]
    return matched
