"""Columns that number somebody, each in several rows, noticed by how their values repeat rather than by their names.

A key of people who have several rows is recognized by a second column, which numbers the rows of each person (1, 2, 3).
Or no two rows of a person share it, as a year, and they stand together or agree in a third column.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from marginals.config.facts import Facts
from marginals.messages import few
from marginals.tables.distinct_rows import factorized
from marginals.tables.people import RepeatingKey, places
from marginals.tables.values import NumberFormat
from models.arrays import IndexArray
from models.tables.contingency_table import pack

FEWEST = 30  # different values of a key, and those of them that repeat
_SHARE_THAT_REPEATS = 0.8
_MOST_ROWS_OF_EACH = 200
_EXCEPTIONS = 0.02  # share of the rows: entered twice, or with a mistake in the key
_MOST_ROWS_EXAMINED = 50_000
MOST_MEMBERS = 60
_SHARE_THAT_DIFFERS_IN_SEX = 0.5


def keys_by_content(
    frame: pd.DataFrame, columns: Sequence[Facts], missing: Collection[str]
) -> tuple[list[RepeatingKey], set[str], dict[str, str]]:
    """Return the keys of a table by how their values repeat, the one with most values first.

    Also columns that number the rows of each value of another one, and columns that may name somebody, with the reasons.
    """
    varied = {column.name: column for column in columns if column.distinct > 1}
    lasting = [column for column in varied.values() if _may_be_key(column)]
    codes = {name: factorized(frame[name], missing)[0] for name in varied} if lasting else {}
    names = {column.name for column in lasting if (column.counts > 1).sum() >= _SHARE_THAT_REPEATS * column.distinct}
    candidates = [column.name for column in lasting if column.are_numbers_of_things]
    signs: dict[str, str] = {}
    numbering: set[str] = set()
    for name in candidates:
        some = _rows_of_first(codes[name])
        others = (other for other in varied.values() if other.name != name)
        counting = (o.name for o in others if _numbers_rows(codes[name][some], o, frame[o.name].iloc[some]))
        if counter := next(counting, ""):
            signs[name] = f"{counter} numbers the rows of each"
            numbering.add(counter)
    likely: dict[str, str] = {}
    for name in (column.name for column in lasting):
        if name not in names or name in signs or name in numbering:
            continue
        rest = {other: code for other, code in codes.items() if other != name}
        if name in candidates and (sign := _told_apart(codes[name], rest, names.intersection(candidates))):
            signs[name] = sign
        elif not (varied[name].begin_with_year or varied[name].end_with_year):
            for exceptions, but in ((0.0, ""), (_EXCEPTIONS, "but for few rows, ")):
                if name not in likely and (sign := _told_apart(codes[name], rest, names, exceptions)):
                    likely[name] = f"{but}{sign}"
    keys = [RepeatingKey((name,), varied[name].distinct, varied[name].rows, sign) for name, sign in signs.items()]
    return sorted(keys, key=lambda key: -key.values), numbering, likely


def owners(frame: pd.DataFrame, columns: Sequence[str], missing: Collection[str]) -> IndexArray:
    """Return a number of whoever each row is of by some columns together, -1 if one lacks a value; shape (rows,)."""
    codes = [factorized(frame[column], missing)[0] for column in columns]
    packed, _ = pack([code + 1 for code in codes], [int(code.max(initial=0)) + 2 for code in codes], len(frame))
    is_known = np.logical_and.reduce([code >= 0 for code in codes])
    numbers = np.full(len(packed), -1, dtype=np.intp)
    numbers[is_known] = pd.factorize(packed[is_known])[0]
    return numbers


def likely_pair(
    frame: pd.DataFrame,
    columns: Sequence[Facts],
    groups: Sequence[str],
    members: Sequence[str],
    missing: Collection[str],
) -> dict[tuple[str, ...], str]:
    """Two columns, of groups and members, that may say together whose row it is, as household and person do, and why."""
    varied = {column.name: column for column in columns if column.distinct > 1}
    keys = [name for name, column in varied.items() if column.are_numbers_of_things and name in groups]
    for group, member in product(keys, (name for name in members if name in varied)):
        number = int(owners(frame, (group, member), missing).max()) + 1
        if group != member and number > max(varied[group].distinct, varied[member].distinct):
            return {(group, member): f"{few(number, len(frame))} pairs in {len(frame):,} rows"}
    return {}


def differs_within(frame: pd.DataFrame, key: str, columns: Sequence[Facts], missing: Collection[str]) -> str:
    """The sex or birth in which the rows of most values of a key differ, which several people share; empty for none."""
    owners = factorized(frame[key], missing)[0].astype(np.int64)
    for column in columns:
        if column.name == key or column.distinct < 2 or not column.says("sexes", "births"):
            continue
        values = factorized(frame[column.name], missing)[0].astype(np.int64)
        filled = (owners >= 0) & (values >= 0)
        repeated = np.bincount(owners[filled], minlength=1) > 1
        pairs = np.unique(np.stack([owners[filled], values[filled]]), axis=1)[0]
        if (np.bincount(pairs, minlength=len(repeated)) > 1).sum() > _SHARE_THAT_DIFFERS_IN_SEX * repeated.sum():
            return column.name
    return ""


def _may_be_key(column: Facts) -> bool:
    if (column.counts > 1).sum() < FEWEST or column.rows > _MOST_ROWS_OF_EACH * column.distinct:
        return False
    is_called_otherwise = column.says("ages", "times", "places", "codes", "categories", "weights") or column.sampling
    return not (is_called_otherwise or column.has_decimals or column.is_of_something or column.are_amounts)


def _rows_of_first(codes: IndexArray) -> IndexArray:
    rows = np.cumsum(np.bincount(codes[codes >= 0]))
    most = max(FEWEST, int(np.searchsorted(rows, _MOST_ROWS_EXAMINED, side="right")))
    return np.flatnonzero((codes >= 0) & (codes < most))


def _numbers_rows(owners: IndexArray, other: Facts, texts: "pd.Series[str]") -> bool:
    if not {"1", "2"} <= set(other.values) or other.distinct > int(np.bincount(owners).max()):
        return False
    codes, values = pd.factorize(texts.astype(str))
    numbers = np.array([NumberFormat().real(value) for value in values])[codes]
    order = np.lexsort((numbers, owners))
    return bool(np.array_equal(numbers[order], places(owners[order]) + 1))


def _told_apart(
    owners: IndexArray, others: Mapping[str, IndexArray], keys: Collection[str], exceptions: float = 0.0
) -> str:
    some = _rows_of_first(owners)
    numbers = owners[some].astype(np.int64)
    most, spared = int(np.bincount(numbers).max(initial=0)), exceptions * len(numbers)
    values = len(np.unique(numbers))
    times, constant = "", ""
    for name, all_codes in others.items():
        other = all_codes[some].astype(np.int64) + 1
        distinct = len(np.unique(other))
        if np.count_nonzero(other == 0) > spared or distinct < 2:
            continue
        pairs = len(np.unique(numbers * (int(other.max()) + 1) + other))
        differs = pairs >= (1 - exceptions) * len(numbers)
        if differs and distinct <= 3 * most and name not in keys and not times:
            times = name
        elif pairs <= values + spared and distinct < values and not constant:
            constant = name
    in_blocks = np.count_nonzero(np.diff(owners)) + 1 <= len(np.unique(owners)) + exceptions * len(owners)
    if not times or not (in_blocks or constant):
        return ""
    agreement = f", and {constant} is the same in all rows of each" if constant else ""
    return f"no two rows of one have the same {times}{agreement}"
