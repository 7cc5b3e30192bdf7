"""Which numbers the rows of a published value may have: `30-39` some from 30 to 39, `95 and over` some from 95, without end.

A label that names several, such as `17, 19 or missing`, stands for any of them. What no label tells, a name of a rest such
as `other age`, may be any number or none. Rows without a value have no number, and are left out of what is averaged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

import numpy as np

from marginals.arguments import kind_of
from marginals.errors import InputError
from marginals.tables.intervals import Range, are_names, named_numbers, names_missing
from models.arrays import BoolArray, FloatArray
from models.tables.hierarchy import MISSING, SUPPRESSED, Hierarchy


@dataclass(frozen=True, eq=False)
class LabelNumbers:
    """Of each base value of an attribute which numbers its rows may have. Shape (size(0),) each.

    low, high: between which numbers, infinite where there is no end. may_count: whether its rows may have a number.
    may_miss: whether its rows may have none. whole: whether the numbers are whole, from low to high.
    """

    low: FloatArray
    high: FloatArray
    may_count: BoolArray
    may_miss: BoolArray
    whole: BoolArray

    @classmethod
    def of(cls, attribute: str, hierarchy: Hierarchy) -> "LabelNumbers":
        """As the labels say. Raises InputError where no label of the attribute is a number or an interval."""
        is_named = hierarchy.height == 0 or hierarchy.has_names or are_names(hierarchy)
        told = [None if is_named else named_numbers(label) for label in hierarchy.labels[0]]
        if not any(told):
            raise InputError(
                f"the values of {attribute!r} are no numbers; give a number for each label of one level, "
                "values={label: number}"
            )
        missing = list(map(names_missing, hierarchy.labels[0]))
        ranges = [numbers or _ANY for numbers in told]
        return cls(
            np.array([float(numbers.low) for numbers in ranges]),
            np.array([float(numbers.high) for numbers in ranges]),
            np.array([label != MISSING for label in hierarchy.labels[0]]),
            np.array(missing, dtype=np.bool_),
            np.array([_is_whole(numbers) for numbers in ranges], dtype=np.bool_),
        )

    @classmethod
    def given(cls, attribute: str, hierarchy: Hierarchy, values: Mapping[str, float]) -> "LabelNumbers":
        """Those given for each label of one level. Raises InputError where a label of every level has none."""
        for level, labels in enumerate(hierarchy.labels):
            numbered = [label for label in labels if label != MISSING]
            if numbered and set(numbered) <= set(values) and labels != (SUPPRESSED,):
                numbers = [_finite(attribute, label, values.get(label, 0.0)) for label in labels]
                base_numbers = np.array(numbers)[hierarchy.lift(0, level)]
                is_missing = np.array([label == MISSING and label not in values for label in labels])
                is_missing = is_missing[hierarchy.lift(0, level)]
                return cls(base_numbers, base_numbers, ~is_missing, is_missing, np.ones_like(is_missing))
        raise InputError(f"values must give a number for each label of {attribute!r} at one level")

    def within(self, low: FloatArray | float, high: FloatArray | float) -> "LabelNumbers":
        """Those that lie between other numbers, too, where any do."""
        bottom, top = np.maximum(self.low, low), np.minimum(self.high, high)
        meets = bottom <= top
        return LabelNumbers(
            np.where(meets, bottom, self.low),
            np.where(meets, top, self.high),
            self.may_count,
            self.may_miss,
            self.whole & (np.ceil(bottom) <= np.floor(top)),
        )

    @property
    def points(self) -> FloatArray:
        """A number for each value: the middle, where there is one end that end, nan where nothing is told."""
        middle = np.where(np.isinf(self.low), self.high, self.low)
        both = np.isfinite(self.low) & np.isfinite(self.high)
        middle[both] = (self.low[both] + self.high[both]) / 2
        return np.where(np.isinf(middle) | ~self.may_count, np.nan, middle)


_ANY = Range(Decimal("-Infinity"), Decimal("Infinity"), False, False)


def _is_whole(numbers: Range) -> bool:
    ends = (numbers.low, numbers.high)
    return numbers.with_high and all(end.is_finite() and end == end.to_integral_value() for end in ends)


def _finite(attribute: str, label: str, number: object) -> float:
    if not isinstance(number, int | float | np.number) or not isfinite(number):
        raise InputError(f"values must give {label!r} of {attribute!r} a number, such as 1.0, not {kind_of(number)}")
    return float(number)
