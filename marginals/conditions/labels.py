"""What a text means among the labels of an attribute: a label of any level, several of them, or a range of numbers.

A text that is a label is that label. Where it stands for different sets of values at different levels, the finest published
one is meant; `label@level` names another. A range (`20-39`, `20..39`, `>=65`) means the base values that lie in it, which
are numbers or intervals of numbers.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from marginals.conditions.choices import QUOTED
from marginals.errors import InputError
from marginals.suggestions import suggested
from models.arrays import BoolArray
from models.tables.hierarchy import SUPPRESSED, Hierarchy

_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*(?:-|\.\.)\s*({_NUMBER})\s*")
_BEYOND = re.compile(rf"\s*(<=|>=|<|>)\s*({_NUMBER})\s*")
_OPEN = re.compile(rf"\s*({_NUMBER})\s*\+\s*")
_PART = re.compile(rf"\s*(?:{QUOTED})\s*(?=\||$)|[^|]*", re.DOTALL)


class Range(NamedTuple):
    """Ends of a range of numbers, and whether each belongs to it."""

    low: float
    high: float
    with_low: bool = True
    with_high: bool = True

    @classmethod
    def of(cls, text: str) -> "Range | None":
        """The range that a text is: two numbers, or one behind a sign.

        >>> Range.of("20-39"), Range.of("young")
        (Range(low=20.0, high=39.0, with_low=True, with_high=True), None)
        """
        if match := _RANGE.fullmatch(text):
            return cls(float(match[1]), float(match[2]))
        if match := _BEYOND.fullmatch(text):
            closed = match[1].endswith("=")
            end = float(match[2])
            return cls(-inf, end, True, closed) if match[1].startswith("<") else cls(end, inf, closed, True)
        return None

    def holds(self, number: float) -> bool:
        """Whether a number lies in it."""
        above = number > self.low or (self.with_low and number == self.low)
        return above and (number < self.high or (self.with_high and number == self.high))

    def meets(self, low: float, high: float) -> bool:
        """Whether some number between two lies in it."""
        above = high > self.low or (self.with_low and high == self.low)
        return above and (low < self.high or (self.with_high and low == self.high))


def interval(label: str) -> tuple[float, float] | None:
    """The least and the largest number that a label stands for (`37`, `20-24`, `90+`), or None if it is no number."""
    if re.fullmatch(_NUMBER, label.strip()):
        return float(label), float(label)
    if match := _RANGE.fullmatch(label):
        return float(match[1]), float(match[2])
    return (float(match[1]), inf) if (match := _OPEN.fullmatch(label)) else None


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
        for code, label in enumerate(self.hierarchy.labels[0] if numbers.low <= numbers.high else ()):
            ends = interval(label)
            if ends is None or not numbers.meets(*ends):
                continue
            if not numbers.holds(ends[0]) or not numbers.holds(ends[1]):
                raise InputError(f"the range {text!r} cuts through the value {label!r} of {self.attribute!r}")
            inside[code] = True
        if not inside.any():
            raise InputError(f"no value of {self.attribute!r} lies in the range {text!r}")
        return inside

    def no_value(self, text: str) -> InputError:
        """What is said of a text that means none of the values; not whether some row has it below the published levels."""
        if self.hierarchy.labels[self.finest] == (SUPPRESSED,):
            return InputError(f"no marginal shows {self.attribute!r}, so the release tells nothing of its values")
        published = [label for level in self.hierarchy.labels[self.finest :] for label in level if label != SUPPRESSED]
        suggestion = suggested(
            text, list(dict.fromkeys(published)), f"the finest that are published, at level {self.finest}, are"
        )
        return InputError(f"{self.attribute!r} has no published value {text!r}; {suggestion}")

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
