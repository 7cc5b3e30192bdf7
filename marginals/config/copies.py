"""Columns that give a sensitive one away: copies, codes, what determines it or follows from it, and parts of a sum.

All is found by counting on some rows, so it is said of nearly all rows, never of all.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from marginals.tables.distinct_rows import factorized
from marginals.tables.values import NumberFormat
from models.arrays import IndexArray

Numbers = npt.NDArray[np.float64]

_DETERMINED = 0.9
"""Share of what is wrong in guesses without a column that is right with it, from which on it gives the other away."""

_FEWEST = 50
"""Rows that have both values, at least, and as a share of the rows:"""
_FEWEST_SHARE = 0.3

_FINE, _COARSE = 50, 5
"""Groups of about equal size that numbers are cut into: those that tell, and those that are told."""

_FEW_NUMBERS = 20
"""As many different numbers, or fewer, are taken one by one."""

_PARTS = 8
"""Parts of a sum, at most."""

_IN_SUM = 0.95
"""Share of the rows, at least, in which the parts add up."""


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a column in some rows.

    codes: of each row, -1 for none. numbers: of each row, NaN for none; None where they are no numbers.
    """

    codes: IndexArray
    numbers: Numbers | None = None

    @classmethod
    def of(cls, texts: pd.Series, missing: Collection[str], decimal: str) -> "Values":
        """Of a column of texts. missing: what stands for no value. decimal: the sign before the fraction of a number."""
        codes, values = factorized(texts, missing)
        written = NumberFormat.of(values, decimal)
        if written is None or not all(map(written.is_number, values)):
            return cls(codes)
        numbers = np.array([*map(written.real, values), np.nan])
        return cls(codes, numbers[codes])

    @property
    def fine(self) -> IndexArray:
        """Groups of values from which another column may be guessed, -1 for no value."""
        return self._cut(_FINE)

    @property
    def coarse(self) -> IndexArray:
        """Groups of values that may be guessed, -1 for no value."""
        return self._cut(_COARSE)

    def _cut(self, groups: int) -> IndexArray:
        if self.numbers is None or len(np.unique(self.codes)) <= _FEW_NUMBERS + 1:
            return self.codes
        present = ~np.isnan(self.numbers)
        cuts = np.unique(np.quantile(self.numbers[present], np.arange(1, groups) / groups))
        result = np.full(len(self.codes), -1, dtype=np.intp)
        result[present] = np.searchsorted(cuts, self.numbers[present], side="left")
        return result


@dataclass(frozen=True)
class Copy:
    """That one column gives another one away. tells: whether the other one can be told from it; follows: whether it can be
    told from the other one.
    """

    column: str
    of: str
    tells: bool
    follows: bool

    @property
    def why(self) -> str:
        """In words."""
        if self.tells and self.follows:
            return f"in nearly all rows it says the same as {self.of}"
        if self.tells:
            return f"in nearly all rows it tells {self.of}"
        return f"in nearly all rows {self.of} tells it, so it would tell much of that"


def copies(columns: Mapping[str, Values], sensitive: Collection[str]) -> list[Copy]:
    """Which columns give which sensitive ones away, in the order of the sensitive ones, then of the columns.

    >>> score = np.arange(500) % 97
    >>> values = {"score": Values(score, score.astype(float)), "passed": Values((score > 40).astype(int))}
    >>> [(copy.column, copy.why) for copy in copies(values, ["score"])]
    [('passed', 'in nearly all rows score tells it, so it would tell much of that')]
    """
    fine = {name: values.fine for name, values in columns.items()}
    coarse = {name: values.coarse for name, values in columns.items()}
    results = []
    for secret in sensitive:
        for name in columns:
            if name != secret:
                tells, follows = determines(fine[name], coarse[secret]), determines(fine[secret], coarse[name])
                if tells or follows:
                    results.append(Copy(name, secret, tells, follows))
    return results


def determines(one: IndexArray, other: IndexArray) -> bool:
    """Whether the value of one column tells that of another in nearly all rows, beyond what chance and frequency tell.

    one, other: the values of each row, -1 for none; shape (rows,). Of each group with one value of the first, the most
    frequent value of the other is guessed, in all rows of the group but one, which stands for what was learnt from it.
    """
    both = (one >= 0) & (other >= 0)
    rows = int(both.sum())
    if rows < _FEWEST or rows < _FEWEST_SHARE * len(one):
        return False
    first, second = one[both], other[both]
    width = int(second.max()) + 1
    pairs, counts = np.unique(first.astype(np.int64) * width + second, return_counts=True)
    most = np.zeros(int(first.max()) + 1, dtype=np.int64)
    np.maximum.at(most, pairs // width, counts)
    groups = int((most > 0).sum())
    frequent = int(np.bincount(second).max())
    if groups < 2 or frequent == rows or rows == groups:
        return False
    right, without = (int(most.sum()) - groups) / (rows - groups), frequent / rows
    return right - without >= _DETERMINED * (1 - without)


@dataclass(frozen=True)
class Sum:
    """That numbers add up in nearly all rows. total: of the columns `parts`, some of which may be taken off."""

    total: str
    parts: tuple[str, ...]


def sums(columns: Mapping[str, Values]) -> list[Sum]:
    """The columns of numbers that are the sum of two or more others, some of them taken off, in nearly all rows.

    >>> pay, rent = np.arange(300.0) * 7 % 101, np.arange(300.0) * 11 % 89
    >>> drawn = {"pay": pay, "rent": rent, "all": pay + rent}
    >>> [found.parts for found in sums({name: Values(numbers.astype(int), numbers) for name, numbers in drawn.items()})]
    [('rent', 'all'), ('pay', 'all'), ('pay', 'rent')]
    """
    numbers = {
        name: values.numbers
        for name, values in columns.items()
        if values.numbers is not None and len(np.unique(values.codes)) > 2
    }
    if len(numbers) < 2:
        return []
    names, matrix = list(numbers), np.array(list(numbers.values()))
    of_rows: dict[bytes, _Products] = {}
    results = []
    for total, name in enumerate(names):
        present = ~np.isnan(matrix[total])
        rows = present.tobytes()
        if rows not in of_rows:
            of_rows[rows] = _Products.of(np.nan_to_num(matrix[:, present]))
        if parts := of_rows[rows].parts(total):
            results.append(Sum(name, tuple(names[part] for part in parts)))
    return results


_NEARLY_NONE = 1e-7
"""Share of the spread of a column, below which what is left of it is rounding."""


@dataclass(frozen=True, eq=False)
class _Products:
    """Numbers of some rows, and what is needed of them to explain one column by others.

    numbers: shape (columns, rows). inner: the products of the columns, each less its mean and of length 1; shape (columns,
    columns), 0 for a column that does not vary. lengths: of the columns less their means, shape (columns,).
    """

    numbers: Numbers
    inner: Numbers
    lengths: Numbers

    @classmethod
    def of(cls, numbers: Numbers) -> "_Products":
        """Of some rows."""
        centred = numbers - numbers.mean(axis=1, keepdims=True) if numbers.size else numbers
        lengths = np.sqrt((centred**2).sum(axis=1))
        unit = centred / np.where(lengths > 0, lengths, 1)[:, None]
        return cls(numbers, unit @ unit.T, lengths)

    def parts(self, total: int) -> tuple[int, ...]:
        """The parts of a sum: one after the other that which explains most of what is left (orthogonal matching pursuit)."""
        if self.numbers.shape[1] < _FEWEST or not self.lengths[total] > 0:
            return ()
        chosen: list[int] = []
        explained: Numbers = np.zeros(0)
        for _ in range(min(_PARTS, len(self.numbers) - 1)):
            unexplained = np.abs(self.inner[:, total] - self.inner[:, chosen] @ explained)
            unexplained[[total, *chosen]] = 0
            if not unexplained.max() > _NEARLY_NONE:
                return ()
            chosen.append(int(unexplained.argmax()))
            inner = self.inner[np.ix_(chosen, chosen)]
            explained = np.asarray(np.linalg.lstsq(inner, self.inner[chosen, total], rcond=None)[0], dtype=np.float64)
            signs = np.round(explained * self.lengths[total] / self.lengths[chosen])
            are_parts = len(chosen) >= 2 and bool((np.abs(signs) == 1).all())
            if are_parts and _adds_up(self.numbers[total], self.numbers[chosen], signs):
                return tuple(sorted(chosen))
        return ()


def _adds_up(target: Numbers, parts: Numbers, signs: Numbers) -> bool:
    close = np.abs(target - signs @ parts) <= 1e-6 * np.maximum(1.0, np.abs(target))
    return bool(close.mean() >= _IN_SUM)


def kept_of(pairs: Sequence[Copy], order: Sequence[str]) -> dict[str, Copy]:
    """The columns to leave out so that none is left that gives a sensitive one away, each with one that it gives away.

    order: of the columns, those first that are to stay rather than the others.
    """
    place = {name: i for i, name in enumerate(order)}
    copy_of: dict[str, Copy] = {}
    for pair in sorted(pairs, key=lambda pair: (place[pair.of], place[pair.column])):
        if pair.of not in copy_of and pair.column not in copy_of:
            copy_of[pair.column] = pair
    return copy_of
