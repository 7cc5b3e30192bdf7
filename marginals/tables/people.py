"""Which rows of people who have several are counted: at most so many of each, the same whatever reads the table."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from marginals.errors import InputError
from marginals.tables.sources.distinct_rows import (
    DistinctRows,
    Divisible,
    InOrder,
    Source,
    Values,
    concatenated,
    merged,
)
from marginals.tables.unit import Unit
from models.arrays import BoolArray, CountArray, IndexArray
from models.tables.mixed_radix import pack

Complete = Callable[[DistinctRows], BoolArray]
"""Which rows lack no value, and say whose they are."""


Lacking = Callable[[DistinctRows], Mapping[str, int]]
"""How many rows lack a value of each column."""


@dataclass(frozen=True, eq=False)
class Counted:
    """The rows that count, without the column of people.

    dropped: rows that lack a value; lacking: of each column. left_out: rows beyond those that count of their person.
    """

    rows: DistinctRows
    dropped: int
    lacking: Mapping[str, int]
    left_out: int


@dataclass(frozen=True, eq=False)
class PeopleReader:
    """How the rows of people are read. person: the column of `unit` that says whose row it is.

    complete: which rows can count; the others are dropped before it is chosen which of a person count. lacking: what these
    lack. most: rows that fit into memory.
    """

    unit: Unit
    person: str
    complete: Complete
    lacking: Lacking
    most: int

    def read(self, source: Source, columns: Sequence[str]) -> Counted:
        """The rows of a table that count.

        Raises InputError where a person has several rows and nothing says which of them count, and where the order that is
        to decide is not known.
        """
        kept: list[DistinctRows] = []
        dropped = left_out = 0
        lacking: Counter[str] = Counter()
        for part in self._parts(source, [self.person, *columns]):
            rows = part.taken(np.where(self.complete(part), part.counts, 0))
            dropped += int(part.counts.sum() - rows.counts.sum())
            lacking.update(self.lacking(part))
            if self.unit.needs_order and kept:
                rows = concatenated(kept.pop(), rows)
            chosen = rows.taken(kept_of_each(rows, self.unit, self.person, source.name))
            left_out += int(rows.counts.sum() - chosen.counts.sum())
            kept = [chosen] if self.unit.needs_order else [merged([*kept, chosen.without(self.person)])]
        if not kept:
            raise InputError(f"{source.name} has no row")
        only = kept[0].without(self.person) if self.unit.needs_order else kept[0]
        return Counted(only, dropped, lacking, left_out)

    def _parts(self, source: Source, columns: Sequence[str]) -> Iterable[DistinctRows]:
        if not self.unit.needs_order:
            if isinstance(source, Divisible):
                return source.rows_by(self.person, columns[1:], self.most)
            return [source.distinct_rows(columns)]
        if not isinstance(source, InOrder):
            raise InputError(
                f"the rows of {source.name} have no order, so nothing tells which is the {self.unit.one_row} of a person; "
                'take one_row = "random"'
            )
        return source.rows_in_order(columns)


def kept_of_each(rows: DistinctRows, unit: Unit, person: str, name: str) -> CountArray:
    """How many of each of some rows count, all of which have a person: shape (rows,). name: what messages call the table.

    Raises InputError where a person has several rows and nothing says which of them count.
    """
    people = _ranked(rows.values[person])[rows.codes[person]]
    if unit.needs_order:
        order = np.arange(len(rows)) if unit.one_row == "first" else np.arange(len(rows))[::-1]
        _, firsts = np.unique(people[order], return_index=True)
        kept = np.zeros(len(rows), dtype=np.int64)
        kept[order[firsts]] = 1
        return kept
    kept = _drawn(rows, people, person, unit.most)
    if unit.one_row is None and unit.rows_per_person is None and kept.sum() < rows.counts.sum():
        several = int((np.bincount(people, rows.counts) > 1).sum())
        raise InputError(
            f"{name}: {several:,} of {len(np.unique(people)):,} values of {person!r} have several rows, so k rows may be "
            'fewer than k people; say one_row = "first", "last" or "random", or how many rows of each count at most, for '
            "example rows_per_person = 5"
        )
    return kept


def _drawn(rows: DistinctRows, people: IndexArray, person: str, most: int) -> CountArray:
    """How many of each of the rows are drawn, `most` of each person; the draw depends on texts alone.

    people: one number a row, the same for the same person. Each row of a person has a number by its texts, and by how many
    of the rows just like it came before; those with the smallest numbers are drawn.
    """
    each: IndexArray = np.repeat(np.arange(len(rows)), rows.counts)
    names = [person, *sorted(column for column in rows.codes if column != person)]
    ranked = [_ranked(rows.values[column])[rows.codes[column]] for column in names]
    content, _ = pack(ranked, [len(rows.values[column]) + 1 for column in names], len(rows))
    by_content = each[np.argsort(content[each], kind="stable")]
    ordered = content[by_content]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, dtype=np.intp)
    alike = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    numbers = np.zeros(len(ordered), dtype=np.uint64)
    for column in names:
        numbers = _mixed(numbers ^ _hashed(column, rows.values[column])[rows.codes[column]][by_content])
    numbers = _mixed(numbers + alike.astype(np.uint64))
    owners = people[by_content]
    order = np.lexsort((numbers, owners))
    begins = np.flatnonzero(np.r_[True, np.diff(owners[order]) != 0]) if len(order) else np.zeros(0, dtype=np.intp)
    place = np.arange(len(order)) - np.repeat(begins, np.diff(np.r_[begins, len(order)]))
    drawn: CountArray = np.bincount(by_content[order[place < most]], minlength=len(rows)).astype(np.int64)
    return drawn


def _ranked(texts: Values) -> IndexArray:
    """For each text its place among the different ones in order, 0 for none; two values can have one text."""
    places: Mapping[str, int] = {text: i for i, text in enumerate(sorted({t for t in texts if t is not None}), 1)}
    return np.array([0 if text is None else places[text] for text in texts], dtype=np.intp)


def _hashed(column: str, texts: Values) -> NDArray[np.uint64]:
    """A number for each text of a column that nothing else tells, the same on every machine."""
    prefix = f"{column}\0".encode("utf-8", "surrogatepass")
    digests = (blake2b(prefix + (t or "").encode("utf-8", "surrogatepass"), digest_size=8).digest() for t in texts)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One number for each, all bits of which depend on all of it (the finalizer of SplitMix64, Steele et al. 2014)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))
