"""What a text means among the labels of an attribute: a label of any level, several of them, or a range of numbers.

A text that is a label is that label. Where it stands for different sets of values at different levels, the finest published
one is meant; `label@level` names another. A range (`20-39`, `20..39`, `18.5..<25`, `>=65`) means the base values that
lie in it, which are numbers or intervals of numbers; both ends belong to it, but for one behind a <.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from marginals.conditions.choices import QUOTED
from marginals.errors import InputError
from marginals.suggestions import suggested
from models.arrays import BoolArray
from models.tables.hierarchy import SUPPRESSED, Hierarchy

_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*(?:-|\.\.)(<?)\s*({_NUMBER})\s*")
_BEYOND = re.compile(rf"\s*(<=|>=|<|>)\s*({_NUMBER})\s*")
_OPEN = re.compile(rf"\s*({_NUMBER})\s*(?:\+| and over)\s*")
_UNDER = re.compile(rf"\s*under ({_NUMBER})\s*")
_INFINITY = Decimal("Infinity")
_PART = re.compile(rf"\s*(?:{QUOTED})\s*(?=\||$)|[^|]*", re.DOTALL)


class NoValueError(InputError):
    """A text that means none of the values of an attribute."""

    def __init__(self, attribute: str, message: str) -> None:
        super().__init__(message)
        self.attribute = attribute


class NothingInRangeError(NoValueError):
    """A range in which none of the values of an attribute lies, though they are numbers."""


class Range(NamedTuple):
    """Ends of a range of numbers, exactly, and whether each belongs to it."""

    low: Decimal
    high: Decimal
    with_low: bool = True
    with_high: bool = True

    @classmethod
    def of(cls, text: str) -> "Range | None":
        """The range that a text is: two numbers, of which a < leaves out the second, or one behind a sign.

        >>> Range.of("20-39")
        Range(low=Decimal('20'), high=Decimal('39'), with_low=True, with_high=True)
        >>> Range.of("18.5-<25") == Range.of("18.5..<25"), Range.of("young")
        (True, None)
        """
        if match := _RANGE.fullmatch(text):
            return cls(Decimal(match[1]), Decimal(match[3]), True, not match[2])
        if match := _BEYOND.fullmatch(text):
            closed = match[1].endswith("=")
            end = Decimal(match[2])
            return (
                cls(-_INFINITY, end, False, closed) if match[1].startswith("<") else cls(end, _INFINITY, closed, False)
            )
        return None

    @property
    def is_empty(self) -> bool:
        """Whether no number lies in it."""
        return self.low > self.high or (self.low == self.high and not (self.with_low and self.with_high))

    def meets(self, other: "Range") -> bool:
        """Whether some number lies in both."""
        low = max((self.low, not self.with_low), (other.low, not other.with_low))
        high = min((self.high, self.with_high), (other.high, other.with_high))
        return not Range(low[0], high[0], not low[1], high[1]).is_empty

    def holds(self, other: "Range") -> bool:
        """Whether all of another one lies in it."""
        low = max((self.low, not self.with_low), (other.low, not other.with_low))
        high = min((self.high, self.with_high), (other.high, other.with_high))
        return (low, high) == ((other.low, not other.with_low), (other.high, other.with_high))


def interval(label: str) -> Range | None:
    """The numbers that a label stands for, or None if it is no number.

    Such labels are `37`, `20-24`, `18.5-<25`, `90+`, `90 and over`, `<30`, `under 30`.
    """
    if re.fullmatch(_NUMBER, label.strip()):
        return Range(Decimal(label.strip()), Decimal(label.strip()))
    if match := _OPEN.fullmatch(label):
        return Range(Decimal(match[1]), _INFINITY, True, False)
    if match := _UNDER.fullmatch(label):
        return Range(-_INFINITY, Decimal(match[1]), False, False)
    return Range.of(label)


def unquoted(text: str) -> str | None:
    """The characters between the quotes of a text; None for one without quotes around it."""
    if not re.fullmatch(QUOTED, text.strip(), re.DOTALL):
        return None
    try:
        return str(ast.literal_eval(text.strip()))
    except (SyntaxError, ValueError):
        return None


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels that an attribute has. finest: its finest published level."""

    attribute: str
    hierarchy: Hierarchy
    finest: int = 0

    def meant(self, text: str) -> BoolArray:
        """For each base value whether a text means it: shape (size(0),).

        Raises InputError, naming the attribute, for a label that there is not, and for a range that no value lies in or that
        cuts through one.
        """
        inside = self.labelled(text)
        if inside is None and len(parts := self.parts(text)) > 1:
            return np.asarray(np.logical_or.reduce([self.meant(part) for part in parts]))
        if inside is None and (between := Range.of(text)) is not None and self._has_numbers:
            return self.between(between, text)
        if inside is None and text.lstrip().startswith(("<", ">")):
            raise InputError(
                f"{self.attribute!r} cannot be asked for {text!r}: ranges are of numbers; name the values, with | between"
            )
        if inside is None and (exact := unquoted(text)) is not None:
            inside = self.labelled(exact)
        if inside is None:
            raise self.no_value(text)
        return inside

    def is_value(self, text: str) -> bool:
        """Whether a text means values that there may be: every part of it is a label, or a range of what are numbers."""
        if self.labelled(text) is not None:
            return True
        parts = self.parts(text)
        if len(parts) > 1:
            return all(map(self.is_value, parts))
        return Range.of(text) is not None and self._has_numbers

    def labelled(self, text: str) -> BoolArray | None:
        """The base values under a label, at its finest published level where it has several meanings; None for none."""
        hierarchy = self.hierarchy
        levels = [level for level in range(hierarchy.height + 1) if hierarchy.code(text, level) is not None]
        if levels:
            level = min(levels, key=lambda level: (level < self.finest, level))
            return np.asarray(hierarchy.lift(0, level) == hierarchy.code(text, level))
        label, _, chosen = text.rpartition("@")
        if label and chosen.isdecimal() and int(chosen) <= hierarchy.height:
            code = hierarchy.code(label, int(chosen))
            return None if code is None else np.asarray(hierarchy.lift(0, int(chosen)) == code)
        return None

    def parts(self, text: str) -> Sequence[str]:
        """The texts with | between them; a | within quotes divides nothing, unless what it divides are labels."""
        divided = [part.strip() for part in text.split("|")]
        if all(self.labelled(part) is not None for part in divided):
            return divided
        return parts(text)

    def between(self, numbers: Range, text: str) -> BoolArray:
        """The base values that lie in a range, which messages call as the text does. Raises InputError as `meant` does."""
        inside = np.zeros(self.hierarchy.size(0), dtype=np.bool_)
        for code, label in enumerate(() if numbers.is_empty else self.hierarchy.labels[0]):
            own = interval(label)
            if own is None or not numbers.meets(own):
                continue
            if not numbers.holds(own):
                without = f"; to leave {own.low} out, write ..<{own.low}" if own.low == numbers.high else ""
                raise InputError(f"the range {text!r} cuts through the value {label!r} of {self.attribute!r}{without}")
            inside[code] = True
        if not inside.any():
            raise NothingInRangeError(self.attribute, f"no value of {self.attribute!r} lies in the range {text!r}")
        return inside

    def no_value(self, text: str) -> InputError:
        """What is said of a text that means none of the values; not whether some row has it below the published levels."""
        if self.hierarchy.labels[self.finest] == (SUPPRESSED,):
            return NoValueError(
                self.attribute, f"no marginal shows {self.attribute!r}, so the release tells nothing of its values"
            )
        published = [label for level in self.hierarchy.labels[self.finest :] for label in level if label != SUPPRESSED]
        suggestion = suggested(
            text, list(dict.fromkeys(published)), f"the finest that are published, at level {self.finest}, are"
        )
        return NoValueError(self.attribute, f"{self.attribute!r} has no published value {text!r}; {suggestion}")

    @property
    def _has_numbers(self) -> bool:
        return any(map(interval, self.hierarchy.labels[0]))


def parts(text: str) -> list[str]:
    """The texts with | between them; one within quotes divides nothing."""
    divided, place = [], 0
    while True:
        match = _PART.match(text, place)
        assert match is not None
        divided.append(match[0].strip())
        place = match.end() + 1
        if place > len(text):
            return divided
