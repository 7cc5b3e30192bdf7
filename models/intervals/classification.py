"""Classifications: the values of an attribute that published tables show, each a set of base values.

Sets are whole numbers, a bit for each base value: tables that group an attribute in different ways can be compared by them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import or_
from typing import TypeAlias

from models.errors import DomainMismatchError

Members: TypeAlias = int
"""A set of base values: bit i stands for base value i."""

_LISTED = 3
"""Values that the name of a set lists one by one."""


@dataclass(frozen=True)
class Classification:
    """An attribute as all tables together show it.

    base: labels of values that no table divides further. groups: labels of sets of them, each with its base labels.
    others: whether there may be people with none of these values. Raises DomainMismatchError for labels that are given twice
    and for groups of unknown values.
    """

    name: str
    base: tuple[str, ...]
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    others: bool = False

    def __post_init__(self) -> None:
        labels = [*self.base, *self.groups]
        twice = [label for label in dict.fromkeys(labels) if labels.count(label) > 1] if len(labels) < 100 else []
        if twice or len(set(labels)) < len(labels):
            raise DomainMismatchError(f"{self.name!r} has a label twice: {', '.join(twice) or 'of its many'}")
        for label, members in self.groups.items():
            if unknown := sorted(members - set(self.base)):
                raise DomainMismatchError(f"{self.name!r}: the group {label!r} has the unknown value {unknown[0]!r}")

    @cached_property
    def everything(self) -> Members:
        """The set of all base values, and of others where there may be some."""
        return (1 << (len(self.base) + self.others)) - 1

    def members(self, label: str) -> Members:
        """The set that a label stands for. Raises DomainMismatchError for an unknown one."""
        if label not in self._members:
            raise DomainMismatchError(f"{self.name!r} has no value {label!r}")
        return self._members[label]

    def named(self, members: Members) -> str:
        """A set in words.

        >>> age = Classification("age", ("0-17", "18-64", "65+"), {"under 65": frozenset({"0-17", "18-64"})})
        >>> age.named(0b011), age.named(0b101), age.named(0b111)
        ('under 65', '0-17 or 65+', 'all')
        """
        if members == self.everything:
            return "all"
        if members in self._labels:
            return self._labels[members]
        labels = [label for place, label in enumerate(self.base) if members >> place & 1]
        if self.others and members >> len(self.base) & 1:
            missing = self.named(self.everything & ~members)
            return f"other than {missing}"
        return (
            " or ".join(labels)
            if len(labels) <= _LISTED
            else f"{labels[0]}, {labels[1]} or {len(labels) - 2} more values"
        )

    @cached_property
    def _members(self) -> dict[str, Members]:
        places = {label: 1 << place for place, label in enumerate(self.base)}
        return places | {
            label: reduce(or_, (places[base] for base in members), 0) for label, members in self.groups.items()
        }

    @cached_property
    def _labels(self) -> dict[Members, str]:
        return {members: label for label, members in self._members.items()}


def parts(sets: Iterable[Members]) -> tuple[Members, ...]:
    """The coarsest disjoint sets of which each given one is a union, by their first base value.

    >>> [f"{part:04b}" for part in parts([0b0011, 0b0110, 0b1111])]
    ['0001', '0010', '0100', '1000']
    """
    found: list[Members] = []
    covered = 0
    for given in sorted(set(sets), key=int.bit_count):
        if given & covered:
            divided = [piece for part in found for piece in (part & given, part & ~given) if piece]
            found = [*divided, *([given & ~covered] if given & ~covered else [])]
        elif given:
            found.append(given)
        covered |= given
    return tuple(sorted(found, key=lambda part: part & -part))


def common_unions(one: Sequence[Members], other: Sequence[Members]) -> tuple[Members, ...]:
    """The finest sets that are unions of the first disjoint sets and of the second ones, too.

    >>> common_unions([0b001, 0b010, 0b100], [0b011])
    (3,)
    """
    if tuple(one) == tuple(other):
        return tuple(one)
    known = set(one)
    same = [part for part in other if part in known]
    shared = set(same)
    united: list[Members] = []
    for part in (*(p for p in one if p not in shared), *(p for p in other if p not in shared)):
        joined, apart = part, []
        for each in united:
            if each & joined:
                joined |= each
            else:
                apart.append(each)
        united = [*apart, joined]
    within = reduce(or_, one, 0) & reduce(or_, other, 0)
    return tuple(sorted((*same, *(part for part in united if not part & ~within)), key=lambda part: part & -part))
