"""Which part of a table is meant, in the grammar of queries: `age >= 21`, `sex == 'Female' and ward in 1|2`."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from checks.changes.meets import Meet, Narrowing
from marginals.conditions.labels import NoValueError
from marginals.conditions.published_values import values_meant, values_told
from marginals.errors import InputError
from marginals.printable import LONGEST_WORDS, is_words
from marginals.tables.part import values_at
from models.arrays import BoolArray
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy

EXAMPLE = 'such as "age >= 21" or "sex == \'Female\'"'
"""What a condition looks like."""


@dataclass(frozen=True)
class Part:
    """The rows whose values a condition means. text: says of each attribute by itself which values.

    Raises InputError for a text that a release could not state.

    >>> from marginals.example import table
    >>> int(Part("age >= 40").values(table.domain)["age"].sum())
    20
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip() or not is_words(self.text):
            raise InputError(f"a part is said in one line of at most {LONGEST_WORDS} characters, {EXAMPLE}")

    def __str__(self) -> str:
        return self.text

    def values(self, domain: Domain) -> Mapping[str, BoolArray]:
        """For each attribute that is named, whether each base value is meant: shape (size(0),).

        Raises InputError, naming the attribute, for one that there is not, for a value that it does not have, for a range
        that cuts through a value, and for a condition that says nothing of each attribute by itself.
        """
        try:
            return values_meant(domain, dict.fromkeys(domain.attributes, 0), self.text)
        except NoValueError as error:  # whose message lists values, and of these the rows may decide which there are
            raise InputError(
                f"{self.text!r} names a value that {error.attribute!r} does not have; write it as the column or its "
                "hierarchy does, numbers as a range"
            ) from None

    def excluding(self, counted: ContingencyTable) -> str | None:
        """The attribute of which a table counts a value that the condition excludes; None where none is known to.

        Labels of a release may be too coarse to tell, or not tell the attribute at all. Raises InputError for a text that
        is no condition on its attributes.

        >>> from marginals.example import table
        >>> Part("age >= 40").excluding(table.counts), Part("age < 90").excluding(table.counts)
        ('age', None)
        """
        for name, inside in values_told(counted.domain, self.text).items():
            level = counted.margin.get(name)
            if level is not None:
                meant = values_at(counted.domain.hierarchy(name), inside, level)
                if not meant[counted.column(name, level)].all():
                    return name
        return None

    def _told(self, meet: Meet) -> Iterator[tuple[BoolArray, int]]:
        """For each attribute by which cells of a meet are known to be in the part, or not: which values are, and its place.

        A label can stand for two values: with rows in the one release, and in the other.
        """
        labels = [list(map(own.name, range(own.count))) for own in meet.values.values()]
        domain = Domain.of({name: Hierarchy.flat(dict.fromkeys(own)) for name, own in zip(meet.values, labels)})
        try:
            told = values_told(domain, self.text)
        except InputError:  # an attribute that the meet does not show
            return
        for name, inside in told.items():
            place, hierarchy = list(meet.values).index(name), domain.hierarchy(name)
            yield inside[[hierarchy.labels[0].index(label) for label in labels[place]]], place


def inside_all(parts: Collection[Part]) -> Narrowing:
    """Leaves out the cells of a meet that lie outside of one of the parts whose releases have it.

    There only one of the two releases counts anybody: the difference is its count, and of who came and left it says nothing.
    Cells stay that may lie in all of the parts, and those with people inside and others outside.
    """

    def narrowed(meet: Meet) -> Meet:
        stays = np.ones(len(meet.changes), dtype=bool)
        for part in parts:
            for inside, place in part._told(meet):
                stays &= inside[meet.codes[place]]
        return meet.among(stays)

    return narrowed
