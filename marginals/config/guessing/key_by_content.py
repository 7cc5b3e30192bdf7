"""Columns that number somebody, each in several rows, noticed by how their values repeat rather than by their names.

A key of people who have several rows is recognized by a second column: one that numbers the rows of each person (1, 2, 3),
or one that no two rows of a person share, as years, where the rows of a person stand together, or a third column says the
same in all of them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from marginals.config.guessing.column_guess import are_numbers_of_things, has_decimals
from marginals.config.guessing.vocabulary import AGES, CATEGORIES, CODES, PLACES, TIMES
from marginals.tables.column import Column
from marginals.tables.keys import RepeatingKey
from marginals.tables.sources.pandas_frame import factorized
from models.arrays import IndexArray

_FEWEST = 30
"""Different values of a key, at least, and those of them that repeat."""
_REPEATING = 0.8
"""Share of the values that repeat, at least, where no column numbers their rows."""
_MOST_EACH = 200
"""Rows of one value on average, at most."""
_LOOKED_AT = 50_000
"""Rows by which it is decided: all rows of the values that come first."""


@dataclass(frozen=True)
class ContentKeys:
    """keys: columns that number somebody, the one with most values first. numbering: those that number the rows of each
    value of another column, which number nobody.
    """

    keys: tuple[RepeatingKey, ...]
    numbering: frozenset[str]


def keys_by_content(frame: pd.DataFrame, columns: Sequence[Column], missing: Collection[str]) -> ContentKeys:
    """The keys of a table by how their values repeat. columns: its columns. missing: texts that stand for no value.

    >>> visits = pd.DataFrame({"hid": [str(500 + 7 * (n // 3)) for n in range(120)], "no": ["1", "2", "3"] * 40})
    >>> found = keys_by_content(visits, [Column.of(name, visits[name]) for name in visits], ("",))
    >>> str(found.keys[0]), sorted(found.numbering)
    ("'hid' looks like a key and repeats: 40 values in 120 rows, and no numbers the rows of each", ['no'])
    """
    codes = {column.name: factorized(frame[column.name], missing)[0] for column in columns if len(column.values) > 1}
    candidates = [column for column in columns if column.name in codes and _may_be_key(column)]
    found: dict[str, tuple[Column, str]] = {}
    numbering: set[str] = set()
    for column in candidates:
        some = _rows_of_first(codes[column.name])
        own = codes[column.name][some]
        for other in columns:
            if other.name in codes and other is not column and _numbers_rows(own, other, frame[other.name], some):
                found[column.name] = (column, f"{other.name} numbers the rows of each")
                numbering.add(other.name)
                break
    keys = {column.name for column in candidates if _repeats(column)}
    for column in candidates:
        is_open = column.name in keys and column.name not in found and column.name not in numbering
        if is_open and (reason := _told_apart(column, codes, keys)):
            found[column.name] = (column, reason)
    ordered = sorted(found.values(), key=lambda named: -len(named[0].values))
    return ContentKeys(
        tuple(RepeatingKey(column.name, len(column.values), column.rows, why) for column, why in ordered),
        frozenset(numbering),
    )


def _may_be_key(column: Column) -> bool:
    """Whether a column may number somebody: whole numbers or codes, many of which repeat, a few times each."""
    distinct, repeated = len(column.values), int((column.counts > 1).sum())
    return (
        repeated >= _FEWEST
        and column.rows <= _MOST_EACH * distinct
        and not column.words & (AGES | TIMES | PLACES | CODES | CATEGORIES)
        and are_numbers_of_things(column)
        and not has_decimals(column)
    )


def _repeats(column: Column) -> bool:
    """Whether nearly all values repeat."""
    return bool((column.counts > 1).sum() >= _REPEATING * len(column.values))


def _rows_of_first(codes: IndexArray) -> IndexArray:
    """The rows of the values that come first, up to so many rows as are looked at."""
    rows = np.cumsum(np.bincount(codes[codes >= 0]))
    most = max(_FEWEST, int(np.searchsorted(rows, _LOOKED_AT, side="right")))
    return np.flatnonzero((codes >= 0) & (codes < most))


def _numbers_rows(own: IndexArray, other: Column, texts: pd.Series, some: IndexArray) -> bool:
    """Whether another column counts the rows of each value of this one: 1, 2, ... to their number, in whatever order.

    own: the values of some rows. texts: of the other column, in all rows.
    """
    if not {"1", "2"} <= set(other.values) or len(other.values) > int(np.bincount(own).max()):
        return False
    numbers = pd.to_numeric(texts.iloc[some], errors="coerce").to_numpy(dtype=np.float64)
    if np.isnan(numbers).any() or not np.array_equal(numbers, np.floor(numbers)):
        return False
    order = np.lexsort((numbers, own))
    begins = np.flatnonzero(np.diff(own[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order)))) + 1
    return bool(np.array_equal(numbers[order], place))


def _told_apart(column: Column, codes: Mapping[str, IndexArray], keys: Collection[str]) -> str:
    """Why the rows of each value are those of one thing at several times, or nothing."""
    some = _rows_of_first(codes[column.name])
    own = codes[column.name][some]
    counts = np.bincount(own)
    values, most = int((counts > 0).sum()), int(counts.max())
    times, constant = "", ""
    for name, all_codes in codes.items():
        other = all_codes[some]
        size = int(other.max()) + 1
        if name == column.name or (other < 0).any() or not len(np.unique(other)) >= 2:
            continue
        pairs = len(np.unique(own.astype(np.int64) * size + other))
        if pairs == len(own) and len(np.unique(other)) <= 3 * most and name not in keys and not times:
            times = name
        elif pairs == values and len(np.unique(other)) < values and not constant:
            constant = name
    whole = codes[column.name]
    in_blocks = np.count_nonzero(np.diff(whole)) + 1 == len(np.unique(whole))
    if not times or not (in_blocks or constant):
        return ""
    beside = f", and {constant} is the same in all rows of each" if constant else ""
    return f"no two rows of one have the same {times}{beside}"
