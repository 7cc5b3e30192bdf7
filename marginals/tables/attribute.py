"""What a user says about a column: its role, and how its values may be generalized."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from marginals.errors import InputError
from models.errors import HierarchyError
from models.tables.hierarchy import Hierarchy, check_lengths, check_widths

COUNT = "count"
"""What published tables call their column of counts; no attribute can have this name."""


class Role(Enum):
    """The part a column plays. Identifiers and ignored columns are never read any further.

    >>> Role("sensitive").is_used, Role("identifier").is_used
    (True, False)
    """

    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    IDENTIFIER = "identifier"
    IGNORED = "ignored"

    @property
    def is_used(self) -> bool:
        """Whether columns of this role can be published."""
        return self in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)


@dataclass(frozen=True)
class Attribute:
    """A role, and at most one source of generalizations; with none, a value is published or suppressed.

    hierarchy: given in full. intervals: growing widths of bins for whole numbers, counted from `start`. prefixes:
    falling lengths that strings are cut to. Raises InputError for more than one of them, widths that do not nest, lengths
    that do not fall, or the name of a hierarchy file.

    >>> Attribute("quasi-identifier", intervals=(5, 10, 20)).role.name
    'QUASI_IDENTIFIER'
    """

    role: Role
    hierarchy: Hierarchy | None = None
    intervals: tuple[int, ...] = ()
    start: int = 0
    prefixes: tuple[int, ...] = ()

    def __init__(
        self,
        role: Role | str,
        hierarchy: Hierarchy | None = None,
        intervals: Iterable[int] = (),
        start: int = 0,
        prefixes: Iterable[int] = (),
    ) -> None:
        try:
            part = Role(role)
        except ValueError:
            raise InputError(f"the role {role!r} is none of {', '.join(r.value for r in Role)}") from None
        if hierarchy is not None and not isinstance(hierarchy, Hierarchy):
            raise InputError("an attribute takes a hierarchy, not its file; marginals.read_hierarchy(file) reads one")
        for name, value in (("role", part), ("hierarchy", hierarchy), ("start", start)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "intervals", tuple(intervals))
        object.__setattr__(self, "prefixes", tuple(prefixes))
        for name, check in (("intervals", check_widths), ("prefixes", check_lengths)):
            try:
                check(getattr(self, name))
            except HierarchyError as error:
                raise InputError(f"{name}: {error}") from None
        if (hierarchy is not None) + bool(self.intervals) + bool(self.prefixes) > 1:
            raise InputError("an attribute takes one of hierarchy, intervals and prefixes, not several")

    def hierarchy_of(self, values: Iterable[str]) -> Hierarchy:
        """The hierarchy for a column that holds these distinct values. Raises HierarchyError where none fits.

        >>> Attribute("quasi-identifier", prefixes=[2]).hierarchy_of(["123", "145"]).labels
        (('123', '145'), ('12*', '14*'), ('*',))
        """
        if self.hierarchy is not None:
            return self.hierarchy
        ordered = sorted(values)
        if self.intervals:
            return Hierarchy.from_intervals(ordered, self.intervals, self.start)
        if self.prefixes:
            # Of codes of several lengths, a prefix may leave the short ones as they are, but not all.
            if ordered and all(len(value) <= self.prefixes[0] for value in ordered):
                raise HierarchyError(
                    f"no value is longer than {self.prefixes[0]} characters, so the first of the prefixes "
                    f"{list(self.prefixes)} changes nothing; leave it out"
                )
            return Hierarchy.from_prefixes(ordered, self.prefixes)
        if not ordered:
            raise HierarchyError("it has no values")
        return Hierarchy.flat(ordered)
