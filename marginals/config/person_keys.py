"""Columns that number somebody, each in several rows, noticed by how their values repeat rather than by their names.

A key of people who have several rows is recognized by a second column: one that numbers the rows of each person (1, 2,
3), or one that no two rows of a person share, as years, where the rows of a person stand together, or a third column says
the same in all of them. Three columns that say the same in all rows of each value are a sign by themselves.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from checks.claims import listing
from marginals.config.facts import Facts
from marginals.tables.distinct_rows import factorized
from marginals.tables.people import RepeatingKey
from marginals.tables.scales import in_order
from marginals.tables.values import NumberFormat
from marginals.tables.words import column_words
from models.arrays import IndexArray

_FEWEST = 30
"""Different values of a key, at least, and those of them that repeat."""
_REPEATING = 0.8
"""Share of the values that repeat, at least, where no column numbers their rows."""
_MOST_EACH = 200
"""Rows of one value on average, at most."""
_EXCEPTIONS = 0.02
"""Share of the rows that may be otherwise where a column is asked about: rows entered twice, keys with a mistake."""
_LOOKED_AT = 50_000
"""Rows by which it is decided: all rows of the values that come first."""
_ROWS_OF_AGREEING = 5
"""Rows of one value on average, at most, where other columns that agree in these are the only sign of a key."""
_AGREEING = 3
"""Columns that agree in all rows of each value of a key."""
_CHANCE = 14.0
"""How unlikely, in nats, it is by chance that a column agrees in all rows of each value."""
_SHARED = 0.5
"""Share of the repeated values of a key whose rows differ in a sex or birth, from which on several people share it."""


@dataclass(frozen=True)
class ContentKeys:
    """keys: columns that number somebody, the one with most values first. numbering: those that number the rows of each
    value of another column, which number nobody. likely: columns that may name somebody, with what says so.
    """

    keys: tuple[RepeatingKey, ...]
    numbering: frozenset[str]
    likely: Mapping[str, str]


def keys_by_content(frame: pd.DataFrame, columns: Sequence[Facts], missing: Collection[str]) -> ContentKeys:
    """The keys of a table by how their values repeat. columns: its columns. missing: texts that stand for no value.

    >>> visits = pd.DataFrame({"hid": [str(500 + 7 * (n // 3)) for n in range(120)], "no": ["1", "2", "3"] * 40})
    >>> found = keys_by_content(visits, [Facts.of(name, visits[name]) for name in visits], ("",))
    >>> str(found.keys[0]), sorted(found.numbering)
    ("'hid' looks like a key and repeats: 40 values in 120 rows, and no numbers the rows of each", ['no'])
    """
    varied = {column.name: column for column in columns if column.distinct > 1}
    like_keys = [column for column in varied.values() if _repeats_like_key(column)]
    if not like_keys:
        return ContentKeys((), frozenset(), {})
    coded = {name: factorized(frame[name], missing) for name in varied}
    codes = {name: column_codes for name, (column_codes, _) in coded.items()}
    candidates = [column for column in like_keys if column.are_numbers_of_things]
    signs: dict[str, str] = {}
    numbering: set[str] = set()
    for column in candidates:
        some = _rows_of_first(codes[column.name])
        owners = codes[column.name][some]
        others = (other for other in varied.values() if other is not column)
        counting = next((o.name for o in others if _numbers_rows(owners, o, frame[o.name].iloc[some])), "")
        if counting:
            signs[column.name] = f"{counting} numbers the rows of each"
            numbering.add(counting)
    keys = {column.name for column in candidates if _repeats(column)}
    for is_agreeing, column in product((False, True), candidates):
        if column.name in signs or column.name in numbering or not (is_agreeing or column.name in keys):
            continue
        texts = coded[column.name][1]
        if sign := _agreeing(column, texts, codes) if is_agreeing else _told_apart(column.name, codes, keys):
            signs[column.name] = sign
    names = {column.name for column in like_keys if _repeats(column)}
    unsure = [varied[name] for name in varied if name in names - signs.keys() - numbering]
    likely = {column.name: _likely(column, codes, names) for column in unsure}
    found = sorted((varied[name] for name in signs), key=lambda column: -column.distinct)
    return ContentKeys(
        tuple(RepeatingKey(column.name, column.distinct, column.rows, signs[column.name]) for column in found),
        frozenset(numbering),
        {name: sign for name, sign in likely.items() if sign},
    )


def differs_within(frame: pd.DataFrame, key: str, columns: Sequence[Facts], missing: Collection[str]) -> str:
    """The column of a sex or a birth in which the rows of most repeated values of a key differ; empty where none does.

    Such a key numbers no people, but what several people share: physicians, schools, households.

    >>> visits = pd.DataFrame({"unit": ["1", "1", "2", "2"], "sex": ["f", "m", "m", "f"]})
    >>> differs_within(visits, "unit", [Facts.of(name, visits[name]) for name in visits], ("",))
    'sex'
    """
    owners = factorized(frame[key], missing)[0].astype(np.int64)
    for column in columns:
        if column.name == key or not column.words & column_words("sexes", "births") or not column.distinct >= 2:
            continue
        values = factorized(frame[column.name], missing)[0].astype(np.int64)
        known = (owners >= 0) & (values >= 0)
        repeated = np.bincount(owners[known], minlength=1) > 1
        pairs = np.unique(np.stack([owners[known], values[known]]), axis=1)[0]
        differ = np.bincount(pairs, minlength=len(repeated)) > 1
        if differ.sum() > _SHARED * repeated.sum():
            return column.name
    return ""


def _repeats_like_key(column: Facts) -> bool:
    """Whether a column may be a key of somebody: many of its values repeat, a few times each."""
    is_other = column.says("ages", "times", "places", "codes", "categories", "weights") or column.sampling
    return (
        int((column.counts > 1).sum()) >= _FEWEST
        and column.rows <= _MOST_EACH * column.distinct
        and not (is_other or column.is_of_something or column.has_decimals or column.are_amounts)
    )


def _repeats(column: Facts) -> bool:
    return bool((column.counts > 1).sum() >= _REPEATING * column.distinct)


def _rows_of_first(codes: IndexArray) -> IndexArray:
    """The rows of the values that come first, up to so many rows as are looked at."""
    rows = np.cumsum(np.bincount(codes[codes >= 0]))
    most = max(_FEWEST, int(np.searchsorted(rows, _LOOKED_AT, side="right")))
    return np.flatnonzero((codes >= 0) & (codes < most))


def _numbers_rows(owners: IndexArray, other: Facts, texts: "pd.Series[str]") -> bool:
    """Whether another column counts the rows of each owner: 1, 2, ... to their number. texts: of some rows."""
    if not {"1", "2"} <= set(other.values) or other.distinct > int(np.bincount(owners).max()):
        return False
    codes, values = pd.factorize(texts.astype(str))
    numbers = np.array([NumberFormat().real(value) for value in values])[codes]
    if np.isnan(numbers).any() or not np.array_equal(numbers, np.floor(numbers)):
        return False
    order = np.lexsort((numbers, owners))
    begins = np.flatnonzero(np.diff(owners[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order)))) + 1
    return bool(np.array_equal(numbers[order], place))


def _likely(column: Facts, codes: Mapping[str, IndexArray], names: Collection[str]) -> str:
    """Why a column, of texts too, may name whose row it is, but for few rows; or nothing. names: columns that may be so."""
    if column.begin_with_year or column.end_with_year:
        return ""
    for exceptions, but in ((0.0, ""), (_EXCEPTIONS, "but for few rows, ")):
        if reason := _told_apart(column.name, codes, names, exceptions):
            return f"{but}{reason}"
    return ""


def _told_apart(key: str, codes: Mapping[str, IndexArray], keys: Collection[str], exceptions: float = 0.0) -> str:
    """Why the rows of each value are those of one thing at several times, or nothing. exceptions: share of the rows."""
    owners = codes[key]
    some = _rows_of_first(owners)
    numbers = owners[some].astype(np.int64)
    rows_of_each = np.bincount(numbers)
    values, most, few = int((rows_of_each > 0).sum()), int(rows_of_each.max()), exceptions * len(numbers)
    times, constant = "", ""
    for name, all_codes in codes.items():
        other = all_codes[some].astype(np.int64) + 1
        distinct = len(np.unique(other))
        if name == key or np.count_nonzero(other == 0) > few or distinct < 2:
            continue
        pairs = len(np.unique(numbers * (int(other.max()) + 1) + other))
        differs = pairs >= (1 - exceptions) * len(numbers)
        if differs and distinct <= 3 * most and name not in keys and not times:
            times = name
        elif pairs <= values + few and distinct < values and not constant:
            constant = name
    in_blocks = np.count_nonzero(np.diff(owners)) + 1 <= len(np.unique(owners)) + exceptions * len(owners)
    if not times or not (in_blocks or constant):
        return ""
    beside = f", and {constant} is the same in all rows of each" if constant else ""
    return f"no two rows of one have the same {times}{beside}"


def _agreeing(column: Facts, texts: Sequence[str], codes: Mapping[str, IndexArray]) -> str:
    """That several columns say the same in all rows of each value, as they do of a person or a family; or nothing.

    A function of an amount, such as its square or its class, says the same too, but its values follow those of the column.
    texts: the values that the codes of the column stand for.
    """
    if column.rows > _ROWS_OF_AGREEING * column.distinct:
        return ""
    places = {text: place for place, text in enumerate(in_order(column.values))}
    owners = np.array([*(places.get(text, -1) for text in texts), -1], dtype=np.int64)[codes[column.name]]
    agreeing = [name for name, values in codes.items() if name != column.name and _is_same_within(owners, values)]
    return f"{listing(agreeing[:_AGREEING])} are the same in all rows of each" if len(agreeing) >= _AGREEING else ""


def _is_same_within(owners: IndexArray, values: IndexArray) -> bool:
    """Whether all rows of each owner have one value, which neither chance nor the order of owners explains.

    owners, values: numbers of each, of owners in their order, -1 where missing, shape (rows,).
    """
    known = (owners >= 0) & (values >= 0)
    numbers, others = owners[known], values[known].astype(np.int64)
    repeated = np.bincount(numbers, minlength=1) > 1
    if repeated.sum() < _FEWEST:
        return False
    size = int(others.max()) + 1
    pairs = np.unique(numbers * size + others)
    pairs = pairs[repeated[pairs // size]]
    if len(pairs) > repeated.sum():
        return False
    in_order_of_owners = pairs % size
    follows = np.count_nonzero(np.diff(in_order_of_owners)) < 3 * len(np.unique(in_order_of_owners))
    by_chance = float(((np.bincount(others) / len(others)) ** 2).sum())
    return not follows and bool(-repeated.sum() * np.log(by_chance) > _CHANCE)
