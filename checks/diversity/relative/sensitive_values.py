"""The values that a sensitive attribute is published by, and how many rows of the whole table have each of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from checks.errors import CriterionError
from models.tables.hierarchy import Hierarchy


@dataclass(frozen=True)
class SensitiveValues:
    """The values at a level of a hierarchy, in the order of their codes.

    rows: of the whole table, not of one class, shape (values,).
    """

    hierarchy: Hierarchy
    level: int
    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.rows) != self.hierarchy.size(self.level):
            raise ValueError(f"{self.hierarchy.size(self.level)} values came with {len(self.rows)} counts")

    def coarsened(self, level: int) -> "SensitiveValues":
        """The values of a level that is not below this one. Raises CriterionError where the hierarchy has none such."""
        if level == self.level:
            return self
        if not self.level < level < self.hierarchy.height:
            raise CriterionError(
                f"the sensitive attribute has no values of level {level}; its levels below * are 0 to "
                f"{self.hierarchy.height - 1}"
            )
        rows = [0] * self.hierarchy.size(level)
        for count, above in zip(self.rows, self.hierarchy.lift(self.level, level).tolist()):
            rows[above] += count
        return SensitiveValues(self.hierarchy, level, tuple(rows))

    def within(self, labels: Iterable[str]) -> frozenset[int]:
        """The codes of the values under which there is nothing but what the labels name. Raises CriterionError."""
        named = self._base_codes(labels)
        under = self.hierarchy.lift(0, self.level).tolist()
        return frozenset(under) - {code for base, code in enumerate(under) if base not in named}

    def touching(self, labels: Iterable[str]) -> frozenset[int]:
        """The codes of the values under which there is something that the labels name. Raises CriterionError."""
        named = self._base_codes(labels)
        return frozenset(code for base, code in enumerate(self.hierarchy.lift(0, self.level).tolist()) if base in named)

    def labels_of(self, codes: Iterable[int]) -> tuple[str, ...]:
        """The labels of values, in the order of texts."""
        return tuple(sorted(self.hierarchy.labels[self.level][code] for code in codes))

    def occurring(self, codes: Iterable[int]) -> tuple[str, ...]:
        """The labels of those that have rows; a release names no others."""
        return self.labels_of(code for code in codes if self.rows[code])

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of each in the whole table. Raises CriterionError for a table without rows."""
        if not any(self.rows):
            raise CriterionError("a criterion that compares with the whole table needs a table with rows")
        return tuple(Fraction(count, sum(self.rows)) for count in self.rows)

    def _base_codes(self, labels: Iterable[str]) -> set[int]:
        """The base values that labels name: by themselves, or all that are under a general one."""
        named: set[int] = set()
        for label in labels:
            places = (
                (level, code)
                for level in range(self.hierarchy.height + 1)
                if (code := self.hierarchy.code(label, level)) is not None
            )
            place = next(places, None)
            if place is None:
                raise CriterionError(f"the criterion names {label!r}, which is no value of the sensitive attribute")
            level, code = place
            named.update(i for i, above in enumerate(self.hierarchy.lift(0, level).tolist()) if above == code)
        return named
