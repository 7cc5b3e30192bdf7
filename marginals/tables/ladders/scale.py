"""Which values of an attribute stand in an order, and what a stretch of them is called."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marginals.tables.values.order import in_natural_order
from models.arrays import IndexArray

_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(?:\.0+)?")
_BAND = re.compile(r"(-?[0-9]+)-(-?[0-9]+)")
_DECIMAL_BAND = re.compile(r"(-?[0-9.]+)-<(-?[0-9.]+)")


@dataclass(frozen=True)
class Wording:
    """What stretches are called: one with both ends, those below a value, and those from a value on.

    >>> WHOLE_NUMBERS.between.format("17", "19"), WHOLE_NUMBERS.above.format("85")
    ('17-19', '85 and over')
    """

    between: str
    below: str
    above: str


WHOLE_NUMBERS = Wording("{}-{}", "under {}", "{} and over")
DECIMALS = Wording("{}-<{}", "under {}", "{} and over")
DATES = Wording("{} to {}", "before {}", "{} and later")


@dataclass(frozen=True, eq=False)
class Scale:
    """Values in their order. order: their numbers, lowest first. ends: of each in that order the lower and the upper end.

    wording: None where stretches are called after the values in them.

    >>> ages = whole_numbers(["30", "9"])
    >>> ages.order.tolist(), ages.stretch(0, 0), ages.stretch(0, 1)
    ([1, 0], 'under 30', None)
    """

    order: IndexArray
    ends: Sequence[tuple[str, str]] = ()
    wording: Wording | None = None

    def stretch(self, first: int, last: int) -> str | None:
        """What the values from one place to another are called, those beyond the ends of the scale included.

        None for all values, and where stretches are called after the values in them.
        """
        is_lowest, is_highest = first == 0, last == len(self.order) - 1
        if self.wording is None or (is_lowest and is_highest):
            return None
        if is_lowest:
            return self.wording.below.format(self.ends[last + 1][0])
        if is_highest:
            return self.wording.above.format(self.ends[first][0])
        return self.wording.between.format(self.ends[first][0], self.ends[last][1])


def whole_numbers(labels: Sequence[str]) -> Scale | None:
    """The scale of whole numbers or bands of them (`37`, `37.0`, `20-24`); None where some label is neither.

    Programs that keep a missing value among whole numbers write them as `37.0`; stretches of them are called as of others.

    >>> whole_numbers(["20-24", "25-29", "30-34"]).stretch(1, 2), whole_numbers(["20", "x"])
    ('25 and over', None)
    >>> whole_numbers(["18.0", "20.0", "35.0", "36.0"]).stretch(1, 2), whole_numbers(["20", "20.0"])
    ('20-35', None)
    """
    ends = []
    for label in labels:
        if band := _BAND.fullmatch(label):
            ends.append((band[1], band[2]))
        elif number := _WHOLE.fullmatch(label):
            ends.append((number[1], number[1]))
        else:
            return None
    if len(set(ends)) < len(ends):
        return None  # one number under two labels
    order = np.array(sorted(range(len(ends)), key=lambda value: int(ends[value][0])), dtype=np.intp)
    return Scale(order, [ends[value] for value in order.tolist()], WHOLE_NUMBERS)


def decimal_bands(labels: Sequence[str]) -> Scale:
    """The scale of bands of numbers with decimals, lowest first.

    >>> decimal_bands(["0-<0.5", "0.5-<1", "1-<1.5"]).stretch(0, 1)
    'under 1'
    """
    matches = [_DECIMAL_BAND.fullmatch(label) for label in labels]
    ends = [(match[1], match[2]) for match in matches if match]
    assert len(ends) == len(labels), "bands are named by their ends"
    return Scale(np.arange(len(labels)), ends, DECIMALS)


def dates(labels: Sequence[str]) -> Scale:
    """The scale of days, months or other units, earliest first.

    >>> dates(["2023-11", "2023-12", "2024-01"]).stretch(0, 1)
    'before 2024-01'
    """
    return Scale(np.arange(len(labels)), [(label, label) for label in labels], DATES)


def texts(labels: Sequence[str]) -> Scale | None:
    """The scale of texts that have an order, such as bands as people write them; None where they have none.

    >>> texts(["65+", "18-64"]).order.tolist(), texts(["cook", "clerk"])
    ([1, 0], None)
    """
    ordered = in_natural_order(labels)
    if ordered is None:
        return None
    place = {label: number for number, label in enumerate(labels)}
    return Scale(np.array([place[label] for label in ordered], dtype=np.intp))
