"""Relations between columns: guesses rest on those of nearly all rows, refusals of promises on those of all rows."""

from collections.abc import Collection, Mapping
from math import log

import numpy as np
import numpy.typing as npt

from marginals.later import pd
from marginals.tables.distinct_rows import factorized
from marginals.tables.values import NumberFormat
from models.arrays import BoolArray, CountArray, IndexArray
from models.frozen import frozen
from models.search.selection import p_value

Numbers = npt.NDArray[np.float64]

_SHARE_DETERMINED = 0.9
_FEWEST_ROWS_WITH_BOTH = 50
_ROWS_OF_CELLS = 100_000
_LEAST_SHARE_WITH_BOTH = 0.3

FINE, COARSE = 50, 5  # groups of about equal size that numbers are cut into: those that tell, and those that are told
_MOST_NUMBERS_ONE_BY_ONE = 20
_MOST_PARTS_OF_SUMS = 8
_SHARE_THAT_ADDS_UP = 0.95
_ROUNDING = 1e-7
_BY_CHANCE = 3e-7
MOST_REASONS = 12


@frozen(eq=False)
class Values:
    """The values of a column in some rows.

    codes: of each row, -1 for none. numbers: of each row, NaN for none; None where they are no numbers.
    """

    codes: IndexArray
    numbers: Numbers | None = None

    @classmethod
    def of(cls, texts: "pd.Series", missing: Collection[str], decimal: str) -> "Values":
        """Read a column of texts. missing: what stands for no value. decimal: the sign before a fraction."""
        codes, values = factorized(texts, missing)
        written = NumberFormat.of(values, decimal)
        if written is None or not all(map(written.is_number, values)):
            return cls(codes)
        numbers = np.array([*map(written.real, values), np.nan])
        return cls(codes, numbers[codes])

    def of_rows(self, rows: IndexArray) -> "Values":
        """Values of some rows, by their numbers."""
        return Values(self.codes[rows], None if self.numbers is None else self.numbers[rows])

    def groups(self, number: int) -> IndexArray:
        """Values in groups of about equal size, -1 for no value: `FINE` that tell, or `COARSE` that are told."""
        if self.numbers is None or len(np.unique(self.codes)) <= _MOST_NUMBERS_ONE_BY_ONE + 1:
            return self.codes
        present = ~np.isnan(self.numbers)
        cuts = np.unique(np.quantile(self.numbers[present], np.arange(1, number) / number))
        result = np.full(len(self.codes), -1, dtype=np.intp)
        result[present] = np.searchsorted(cuts, self.numbers[present], side="left")
        return result


@frozen
class Copy:
    """A column that gives another one away: it tells the other (`tells`), or follows from it."""

    column: str
    of: str
    tells: bool
    follows: bool

    @property
    def why(self) -> str:
        """The relation in words."""
        if self.tells:
            return f"in nearly all rows it {'says the same as' if self.follows else 'tells'} {self.of}"
        return f"in nearly all rows {self.of} tells it, so it would tell much of that"


def copies(columns: Mapping[str, Values], sensitive: Collection[str]) -> list[Copy]:
    """Return which columns give which sensitive ones away, in the order of the sensitive ones, then of the columns."""
    fine = {name: values.groups(FINE) for name, values in columns.items()}
    coarse = {name: values.groups(COARSE) for name, values in columns.items()}
    pairs = [
        Copy(name, secret, determines(fine[name], coarse[secret]), determines(fine[secret], coarse[name]))
        for secret in sensitive
        for name in columns
        if name != secret
    ]
    return [pair for pair in pairs if pair.tells or pair.follows]


def levels_of_others(columns: Mapping[str, Values]) -> list[Copy]:
    """Return columns that others tell in all rows that have both: the same, or coarser words; levels nest."""
    discrete = {n: v for n, v in columns.items() if v.numbers is None or not (np.nan_to_num(v.numbers) % 1).any()}
    sizes = {name: len(np.unique(values.codes[values.codes >= 0])) for name, values in discrete.items()}
    coarsest: dict[str, str] = {}
    result = list[Copy]()
    for name in sorted(discrete, key=lambda name: -sizes[name]):
        for base, finer in coarsest.items():
            if not _is_function(discrete[finer], discrete[name]):
                continue
            is_copy, has_words = _is_function(discrete[name], discrete[finer]), discrete[name].numbers is None
            if is_copy or (has_words and _is_function(discrete[base], discrete[name])):
                result.append(Copy(name, finer if is_copy else base, tells=is_copy, follows=True))
                coarsest[base] = finer if is_copy else name
                break
        else:
            coarsest[name] = name
    return result


def _is_function(one: Values, other: Values) -> bool:
    both = (one.codes >= 0) & (other.codes >= 0)
    pairs = np.unique(one.codes[both].astype(np.int64) << 32 | other.codes[both])
    return len(np.unique(pairs >> 32)) == len(pairs) and determines(one.codes, other.codes)


def determines(one: IndexArray, other: IndexArray) -> bool:
    """True if the value of one column tells that of another in nearly all rows, beyond what chance and frequency tell.

    one, other: the values of each row, -1 for none; shape (rows,). In each group with one value of the first, the most
    frequent value of the other is guessed. One row of each group is taken off, and chi-squared must exclude chance.
    """
    both = (one >= 0) & (other >= 0)
    rows = int(both.sum())
    if rows < _FEWEST_ROWS_WITH_BOTH or rows < _LEAST_SHARE_WITH_BOTH * len(one):
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
    if right - without < _SHARE_DETERMINED * (1 - without):
        return False
    others, times = int(np.count_nonzero(np.bincount(second))) - 1, rows / (groups - 1)
    # Chernoff's bound on the p-value of chi-squared, times its degrees of freedom, mostly saves a slow import.
    is_sure = (groups - 1) * others / 2 * (times - 1 - log(times)) > -log(_BY_CHANCE)
    return is_sure or p_value(float(rows * others), (groups - 1) * others) < _BY_CHANCE


def follows(other: Values, one: Values, counts: CountArray) -> bool:
    """True if the value of a column follows from that of one in all rows that have both, and not by chance.

    one, other: their values in each occupied cell of both. counts: rows of each cell, shape (cells,).
    """
    clear = (one.codes >= 0) & (other.codes >= 0)
    if one.numbers is not None:
        clear[clear] = ~_are_cut(one.numbers[clear], other.codes[clear])
    if not clear.any() or np.bincount(one.codes[clear]).max() > 1:
        return False
    ends = np.cumsum(np.where(clear, counts, 0))
    rows = np.searchsorted(ends, np.linspace(0, ends[-1], min(ends[-1], _ROWS_OF_CELLS), endpoint=False), side="right")
    return determines(one.codes[rows], other.of_rows(rows).groups(COARSE))


def _are_cut(numbers: Numbers, codes: IndexArray) -> BoolArray:
    """Cells of bands in which a rule changes: they hold the value of the band below, and that of the band above."""
    _, bands, cells = np.unique(numbers, return_inverse=True, return_counts=True)
    low, high = np.full(len(cells), len(codes) + codes.max(initial=0)), np.full(len(cells), -1)
    np.minimum.at(low, bands, codes)
    np.maximum.at(high, bands, codes)
    below, above = np.arange(len(cells))[:-2], np.arange(len(cells))[2:]
    inner = (cells[1:-1] == 2) & (cells[below] == 1) & (cells[above] == 1)
    inner &= (np.minimum(low[below], low[above]) == low[1:-1]) & (np.maximum(low[below], low[above]) == high[1:-1])
    is_cut = np.zeros(len(cells), dtype=bool)
    is_cut[1:-1] = inner
    return np.asarray(is_cut[bands])


def sums(columns: Mapping[str, Values]) -> dict[str, tuple[str, ...]]:
    """The columns that are in nearly all rows the sum of two or more others, some taken off, with these parts."""
    varied = {name: values.numbers for name, values in columns.items() if len(np.unique(values.codes)) > 2}
    numbers = {name: column for name, column in varied.items() if column is not None}
    if len(numbers) < 2:
        return {}
    names, matrix = list(numbers), np.array(list(numbers.values()))
    of_rows: dict[bytes, _Products] = {}
    results = {}
    for total, name in enumerate(names):
        present = ~np.isnan(matrix[total])
        rows = present.tobytes()
        if rows not in of_rows:
            of_rows[rows] = _Products(np.nan_to_num(matrix[:, present]))
        if parts := of_rows[rows].parts(total):
            results[name] = tuple(names[part] for part in parts)
    return results


class _Products:
    """Numbers, shape (columns, rows), and the products of the columns, each less its mean and of length 1."""

    def __init__(self, numbers: Numbers) -> None:
        centred = numbers - numbers.mean(axis=1, keepdims=True) if numbers.size else numbers
        self.numbers, self.lengths = numbers, np.sqrt((centred**2).sum(axis=1))
        unit = centred / np.where(self.lengths > 0, self.lengths, 1)[:, None]
        self.inner: Numbers = unit @ unit.T  # 0 for a column that does not vary

    def parts(self, total: int) -> tuple[int, ...]:
        """The parts of a sum: one after the other that which explains most of what is left (orthogonal matching pursuit)."""
        if self.numbers.shape[1] < _FEWEST_ROWS_WITH_BOTH or not self.lengths[total] > 0:
            return ()
        chosen: list[int] = []
        explained: Numbers = np.zeros(0)
        for _ in range(min(_MOST_PARTS_OF_SUMS, len(self.numbers) - 1)):
            unexplained = np.abs(self.inner[:, total] - self.inner[:, chosen] @ explained)
            unexplained[[total, *chosen]] = 0
            if not unexplained.max() > _ROUNDING:
                return ()
            chosen.append(int(unexplained.argmax()))
            inner = self.inner[np.ix_(chosen, chosen)]
            explained = np.asarray(np.linalg.lstsq(inner, self.inner[chosen, total], rcond=None)[0], dtype=np.float64)
            signs = np.round(explained * self.lengths[total] / self.lengths[chosen])
            if len(chosen) >= 2 and (np.abs(signs) == 1).all():
                target = self.numbers[total]
                close = np.abs(target - signs @ self.numbers[chosen]) <= 1e-6 * np.maximum(1.0, np.abs(target))
                if close.mean() >= _SHARE_THAT_ADDS_UP:
                    return tuple(sorted(chosen))
        return ()


def structurally_missing(
    lacking: Mapping[str, BoolArray], codes: Mapping[str, IndexArray], least: int
) -> dict[str, str]:
    """Return columns that lack a value exactly where another one says so, each with that of the fewest values.

    lacking: rows that lack a value. codes: the values of each row, -1 for none. least: rows that lack one, and that have
    one, at least. Only rows where the other column has a value count, for the same people may skip several questions.
    """
    distinct = {name: len(np.unique(code)) for name, code in codes.items()}
    few = sorted((name for name in codes if 2 <= distinct[name] <= MOST_REASONS), key=distinct.__getitem__)

    def says(code: IndexArray, gone: BoolArray) -> bool:
        rows, without = np.bincount(code + 1)[1:], np.bincount(code[gone] + 1, minlength=int(code.max()) + 2)[1:]
        is_function = ((without == 0) | (without == rows)).all() and rows.sum() >= _LEAST_SHARE_WITH_BOTH * len(code)
        return bool(is_function and min(without.sum(), (rows - without).sum()) >= least)

    reasons = {
        name: next((by for by in few if by != name and says(codes[by], gone)), "") for name, gone in lacking.items()
    }
    return {name: by for name, by in reasons.items() if by}
