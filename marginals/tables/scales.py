"""Scales: values that stand in an order, and what stretches of them are called."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from itertools import pairwise

import numpy as np

from marginals.tables.values import PLAIN, in_natural_order, number_in, number_text
from models.arrays import IndexArray

_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(?:\.0+)?")
_BAND = re.compile(r"(-?[0-9]+)-(-?[0-9]+)")
_EXACT = Context(prec=200)
_FAR = 3
"""Times as many whole numbers as values between the lowest and the highest, from which on they are far apart."""

_DECIMAL_BAND = re.compile(rf"({PLAIN})-<({PLAIN})")


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

    wording: None where stretches are called after the values in them. is_gapless: whether which values there are was fixed
    without the rows, at least between the ends, so that the name of a stretch tells of no value that it occurs.

    >>> ages = whole_numbers(["30", "9"])
    >>> ages.order.tolist(), ages.stretch(0, 0), ages.stretch(0, 1)
    ([1, 0], 'under 30', None)
    """

    order: IndexArray
    ends: Sequence[tuple[str, str]] = ()
    wording: Wording | None = None
    is_gapless: bool = False

    @property
    def has_no_gap(self) -> bool:
        """Whether each value begins where the one below it ends, by its ends."""
        step = 1 if self.wording is WHOLE_NUMBERS else 0
        ends = [(Decimal(low), Decimal(high)) for low, high in self.ends]
        return all(low == high + step for (_, high), (low, _) in pairwise(ends))

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
    ascending = sorted((int(low), int(high)) for low, high in ends)
    if any(low > high for low, high in ascending) or any(one[1] > two[0] for one, two in pairwise(ascending)):
        return None  # codes such as 98102-5783
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


def decimals(labels: Sequence[str]) -> Scale | None:
    """The scale of numbers of which some have decimals; None where some label is no number, or two are the same one.

    A stretch is called after the roundest numbers between its values and those beside it, so that its name tells little of
    single values, and is one that a person would give.

    >>> scale = decimals(["61.24", "58.97", "63.5", "70.31"])
    >>> scale.stretch(0, 1), scale.stretch(1, 2), scale.stretch(2, 3)
    ('under 63', '60-<70', '63 and over')
    >>> decimals(["1", "2"]), decimals(["0.5", ".5"]), decimals(["0.5", "half"])
    (None, None, None)
    """
    numbers = [number for label in labels if (number := number_in(label)) is not None]
    if len(set(numbers)) < len(labels) or all(number == number.to_integral_value() for number in numbers):
        return None
    return _between_round_numbers(numbers)


def far_numbers(labels: Sequence[str]) -> Scale | None:
    """The scale of whole numbers of which most between the lowest and the highest are no values; None for any other labels.

    A stretch is called as one of numbers with decimals is, and tells as little of single values.

    >>> far_numbers(["310", "10", "9750", "4720"]).stretch(1, 2), far_numbers(["1", "2", "4"])
    ('300-<9000', None)
    """
    numbers = [number for label in labels if (number := number_in(label)) is not None]
    if len(set(numbers)) < len(labels) or any(number != number.to_integral_value() for number in numbers):
        return None
    is_far = bool(numbers) and max(numbers) - min(numbers) + 1 > _FAR * len(numbers)
    return _between_round_numbers(numbers) if is_far else None


def _between_round_numbers(numbers: Sequence[Decimal]) -> Scale:
    order = sorted(range(len(numbers)), key=lambda value: numbers[value])
    cuts = [number_text(_roundest(numbers[low], numbers[high])) for low, high in pairwise(order)]
    return Scale(np.array(order, dtype=np.intp), list(zip(["", *cuts], [*cuts, ""])), DECIMALS)


def _roundest(low: Decimal, high: Decimal) -> Decimal:
    """The number with the fewest digits above one and at most another, of equals the highest.

    >>> [str(_roundest(Decimal(low), Decimal(high))) for low, high in (("8.97", "9.4"), ("9.4", "9.41"), ("-12", "13"))]
    ['9', '9.41', '0']
    """
    if low < 0 <= high:
        return Decimal(0)
    place = max(low.adjusted(), high.adjusted()) + 1
    while True:
        rounded = high.quantize(Decimal(1).scaleb(place), ROUND_FLOOR, _EXACT)
        if rounded > low:
            return rounded
        place -= 1


def dates(labels: Sequence[str]) -> Scale:
    """The scale of days, months or other units, earliest first.

    >>> dates(["2023-11", "2023-12", "2024-01"]).stretch(0, 1)
    'before 2024-01'
    """
    return Scale(np.arange(len(labels)), [(label, label) for label in labels], DATES)


def in_given_order(labels: Sequence[str], order: Sequence[str]) -> Scale:
    """The scale of values in an order that is given for them.

    >>> in_given_order(["severe", "mild"], ["mild", "severe"]).order.tolist()
    [1, 0]
    """
    place = {label: number for number, label in enumerate(order)}
    return Scale(np.array(sorted(range(len(labels)), key=lambda code: place[labels[code]]), dtype=np.intp))


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
