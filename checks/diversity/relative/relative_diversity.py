"""Criteria that say which values they are about, or compare a class with the whole table.

What they demand of a class is known only with the values that are published: `among` gives the criterion for these, which
can be decided. Labels name values of any level; a label that names several levels means the finest. Where values are
published generalized, a general one may be disclosed when all under it may be, and is looked after when one under it is.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn

from checks.diversity.criterion import Diversity, Vectors
from checks.errors import CriterionError


class RelativeDiversity(Diversity):
    """A criterion that must be asked for what it is `among` some values, before any class can be judged.

    A new one gives `among`, `stated_among` where it names values, `__str__`, and what is said of it in words.
    """

    is_relative = True

    def slack(self, vectors: Vectors) -> NoReturn:  # noqa: ARG002
        """Raises CriterionError: it depends on the values."""
        raise self._unknown()

    def reached(self, vectors: Vectors) -> NoReturn:  # noqa: ARG002
        """Raises CriterionError: it depends on the values."""
        raise self._unknown()

    def decide(self, vector: Sequence[Fraction | int]) -> NoReturn:  # noqa: ARG002
        """Raises CriterionError: it depends on the values."""
        raise self._unknown()

    def _unknown(self) -> CriterionError:
        return CriterionError(
            f"{self} depends on the values and the whole table, so no counts by themselves satisfy it"
        )
