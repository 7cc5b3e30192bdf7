"""A column of an unknown table: its distinct values as texts, and how often each occurs."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from models.arrays import CountArray

_SWAPPED = str.maketrans(",.", ".,")


@dataclass(frozen=True)
class Column:
    """The values of a column as text, those that stand for nothing left out.

    values: distinct. counts: rows of each. missing: rows without a value. decimal: the sign before the fraction of a number.
    """

    name: str
    values: tuple[str, ...]
    counts: CountArray
    missing: int
    decimal: str = "."

    @classmethod
    def of(cls, name: str, texts: Iterable[str], missing: Collection[str] = ("",)) -> "Column":
        """Of texts, one a row; those that are missing stand for nothing."""
        occurring = Counter(texts)
        gone = sum(occurring.pop(text, 0) for text in set(missing))
        return cls(name, tuple(occurring), np.array(list(occurring.values()), dtype=np.int64), gone)

    @property
    def rows(self) -> int:
        """Rows with a value."""
        return int(self.counts.sum())

    @property
    def numerals(self) -> tuple[str, ...]:
        """The values, those that are numbers with a point before their fraction.

        >>> Column("bmi", ("21,5", "30", "1.234"), np.array([2, 1, 1]), 0, ",").numerals
        ('21.5', '30', '1,234')
        """
        if self.decimal == ".":
            return self.values
        return tuple(value.translate(_SWAPPED) for value in self.values)

    @property
    def words(self) -> frozenset[str]:
        """The words of the name, without accents: of `person_id`, `personId` and `Person-ID` the same two."""
        return words_of(self.name)


def words_of(name: str) -> frozenset[str]:
    """The words of the name of a column, without accents.

    >>> sorted(words_of("personId"))
    ['id', 'person']
    """
    return frozenset(words_in_order(name))


def words_in_order(name: str) -> list[str]:
    """The words of the name of a column as they follow each other, without accents.

    >>> words_in_order("num_openAccounts")
    ['num', 'open', 'accounts']
    """
    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("ß", "ss")
    plain = "".join(c for c in unicodedata.normalize("NFKD", split) if not unicodedata.combining(c))
    return re.findall(r"[a-z]+", plain.lower())
