"""Claims of a least count: of rows, or of people where the release says how many rows each of them has at most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from checks.claims.claim import Claim
from checks.errors import CriterionError
from checks.finding import WorstClass


@dataclass(frozen=True)
class CountClaim(Claim):
    """A claim that some counts are 0, or at least k. Raises CriterionError for a k that is no whole number of at least 1.

    With `rows_per_person` it is about people: a count of rows must then be what k people have if each has as many rows as
    can be. Fewer can be enough for k people; then one of them can have more than 1/k of the rows of a class.
    """

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise CriterionError(f"{self.criterion} needs a whole number of at least 1, got {self.k!r}")

    @classmethod
    def from_json(cls, stated: Mapping[str, Any]) -> Self | None:
        """From its `k`."""
        return cls(stated["k"]) if "k" in stated else None

    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""
        return {"criterion": self.criterion, "k": self.k}

    @classmethod
    def from_text(cls, text: str, sensitive: Sequence[str]) -> list[Self] | None:  # noqa: ARG003
        """From `k`."""
        k = number_of_rows(text)
        return None if k is None else [cls(k)]

    @property
    def least_count(self) -> int:
        """K rows, or those that k people have if each has as many as can be."""
        return self.k * (self.rows_per_person or 1)

    @property
    def least_in_words(self) -> str:
        """So many rows or people."""
        return counted_in_words(self.k, self.rows_per_person)

    @property
    def people_in_words(self) -> str:
        """What follows for the rows of so many people; empty where there is nothing to say."""
        if self.rows_per_person is None or self.rows_per_person == 1:
            return ""
        return f" A person has at most {self.rows_per_person:,} rows, so as many rows are needed for each."

    def reached_in_words(self, worst: WorstClass) -> str:
        """The rows of the worst class, or its people, beside those claimed."""
        if worst.count is None:
            return ""
        if self.rows_per_person is None or self.rows_per_person == 1:
            unit = "rows" if self.rows_per_person is None else "people"
            return f"{worst.count:,.6g} {unit}; at least {self.k:,} are claimed"
        return (
            f"{worst.count:,.6g} rows, at most {self.rows_per_person:,} of a person; at least {self.least_count:,} rows are "
            f"claimed, so that they are those of {self.least_in_words}"
        )

    def reason(self) -> str:
        """Too few rows."""
        return f"fewer than {self.least_count} rows"


def counted_in_words(k: int, rows_per_person: int | None) -> str:
    """So many rows or people.

    >>> counted_in_words(1, None), counted_in_words(1000, 3)
    ('1 row', '1,000 people')
    """
    one, many = ("row", "rows") if rows_per_person is None else ("person", "people")
    return f"{k:,} {one if k == 1 else many}"


def number_of_rows(text: str) -> int | None:
    """The number that a text states, None for what is no whole number of at most fifteen digits.

    >>> number_of_rows("10"), number_of_rows("ten")
    (10, None)
    """
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


_DIGITS = 15
"""Most digits of a number of rows in text."""
