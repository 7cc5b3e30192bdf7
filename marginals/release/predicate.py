"""Predicates: which values an analyst means by labels, sets of labels and ranges.

A condition on one attribute is a label of any level (`30-34`), labels with `|` between them (`White|Black`), a range of
numbers (`20-39`, `20..39`, `>=65`), or several of these with `|` between them. A text that is a label is that label.
Where a label stands for different sets of values at different levels, the finest published one is meant;
`label@level` names another.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import TypeAlias

import numpy as np

from marginals.errors import InputError
from marginals.suggestions import suggested
from models.arrays import BoolArray
from models.tables.domain import Domain
from models.tables.hierarchy import SUPPRESSED, Hierarchy

Condition: TypeAlias = str | float | Iterable[str | float]
"""A label or a range of numbers, a number, or several of these."""

Where: TypeAlias = Mapping[str, Condition] | Sequence[str]
"""`{"age": "20-39", "race": ["White", "Black"]}`, or `["age in 20-39", "race=White|Black"]`, or one such text."""

_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*(?:-|\.\.)\s*({_NUMBER})\s*")
_BEYOND = re.compile(rf"\s*(<=|>=|<|>)\s*({_NUMBER})\s*")
_OPEN = re.compile(rf"\s*({_NUMBER})\s*\+\s*")
_SHOWN = 12
"""Labels or attributes that a message lists."""


def values_meant(domain: Domain, finest_levels: Mapping[str, int], where: Where) -> dict[str, BoolArray]:
    """For each attribute of a predicate whether each base value is meant, shape (size(0),).

    Conditions on the same attribute must all hold. Raises InputError, naming the attribute, for an attribute or label
    that there is not, for a range that no value lies in or that cuts through one, and for conditions that exclude each
    other.
    """
    meant: dict[str, BoolArray] = {}
    for attribute, condition in _conditions(domain, where):
        hierarchy = domain.hierarchies[_index(domain, attribute)]
        level = finest_levels[attribute]
        inside = np.zeros(hierarchy.size(0), dtype=np.bool_)
        for text in _texts(attribute, condition):
            inside |= _meant(attribute, hierarchy, level, text)
        before = meant.get(attribute, inside)
        meant[attribute] = before & inside
        if before.any() and inside.any() and not meant[attribute].any():
            raise InputError(
                f"no value of {attribute!r} meets all conditions on it, of which each must hold; for one or the other, "
                f"put | between: {attribute}=LABEL|LABEL"
            )
    return meant


def _texts(attribute: str, condition: Condition) -> list[str]:
    """The labels and ranges of a condition, any of which will do."""
    if isinstance(condition, str):
        return [condition]
    if isinstance(condition, float | int | np.number):
        return [str(int(condition)) if condition == condition // 1 else str(condition)]
    if isinstance(condition, tuple) or not isinstance(condition, Iterable):
        # A pair could be the ends of a range as well as two values.
        raise InputError(f"{attribute!r} is asked for by a label, a range such as '20-39', or a list of labels")
    return [text for part in condition for text in _texts(attribute, part)]


def known_attribute(domain: Domain, attribute: str) -> str:
    """The attribute, if there is one of that name. Raises InputError, with close matches, where there is none."""
    _index(domain, attribute)
    return attribute


def _index(domain: Domain, attribute: str) -> int:
    if attribute not in domain.attributes:
        raise InputError(f"there is no attribute {attribute!r}; {suggested(attribute, domain.attributes, 'there are')}")
    return domain.attributes.index(attribute)


def _conditions(domain: Domain, where: Where) -> list[tuple[str, Condition]]:
    if isinstance(where, Mapping):
        return list(where.items())
    return [_condition(domain, text) for text in ([where] if isinstance(where, str) else where)]


def _condition(domain: Domain, text: str) -> tuple[str, str]:
    """Attribute and condition of `age=20-39`, `age in 20-39` or `age>=65`; names may hold any of these signs."""
    for attribute in sorted(domain.attributes, key=len, reverse=True):
        rest = text.strip().removeprefix(attribute)
        if rest != text.strip():
            rest = rest.lstrip()
            if rest.startswith("="):
                return attribute, rest[1:].strip()
            if rest.startswith("in ") and text.strip()[len(attribute)] == " ":
                return attribute, rest[3:].strip()
            if rest.startswith(("<", ">")):
                return attribute, rest
            if rest.startswith(("!=", "not in ")):
                raise InputError(
                    f"a condition says which values are meant, not which are not; instead of {text!r} give the others, "
                    f"{attribute}=LABEL|LABEL, or a range"
                )
    name, sign, condition = re.match(r"\s*(.*?)\s*(=|<|>|\sin\s|$)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    if not sign:
        raise InputError(f"a condition is NAME=LABEL, NAME=LABEL|LABEL or NAME=LOW-HIGH, not {text!r}")
    return name, condition


def _meant(attribute: str, hierarchy: Hierarchy, published: int, text: str) -> BoolArray:
    """The base values under one condition."""
    found = _labelled(hierarchy, published, text)
    if found is None and "|" in text:
        parts = [_meant(attribute, hierarchy, published, part.strip()) for part in text.split("|")]
        return np.asarray(np.logical_or.reduce(parts))
    if found is None and (bounds := _range(text)) is not None and any(map(interval, hierarchy.labels[0])):
        found = _between(attribute, hierarchy, text, *bounds)
    if found is None and text.lstrip().startswith(("<", ">")):
        raise InputError(
            f"{attribute!r} cannot be asked for {text!r}: ranges are of numbers; name the values, with | between"
        )
    if found is None:
        labels = [label for level in hierarchy.labels[published:] for label in level if label != SUPPRESSED]
        suggestion = suggested(text, list(dict.fromkeys(labels or hierarchy.labels[0])), "its published values are")
        raise InputError(f"{attribute!r} has no value {text!r} at any level; {suggestion}")
    return found


def _labelled(hierarchy: Hierarchy, published: int, text: str) -> BoolArray | None:
    """The base values under a label, at its finest published level where it has several meanings."""
    levels = [level for level in range(hierarchy.height + 1) if hierarchy.code(text, level) is not None]
    if levels:
        level = min(levels, key=lambda level: (level < published, level))
        return np.asarray(hierarchy.lift(0, level) == hierarchy.code(text, level))
    label, _, chosen = text.rpartition("@")
    if label and chosen.isdecimal() and int(chosen) <= hierarchy.height:
        code = hierarchy.code(label, int(chosen))
        return None if code is None else np.asarray(hierarchy.lift(0, int(chosen)) == code)
    return None


def _range(text: str) -> tuple[float, float, bool, bool] | None:
    """Ends of a range of numbers, and whether each belongs to it."""
    if match := _RANGE.fullmatch(text):
        return float(match[1]), float(match[2]), True, True
    if match := _BEYOND.fullmatch(text):
        closed = match[1].endswith("=")
        end = float(match[2])
        return (-inf, end, True, closed) if match[1].startswith("<") else (end, inf, closed, True)
    return None


def interval(label: str) -> tuple[float, float] | None:
    """The least and the largest number that a label stands for (`37`, `20-24`, `90+`), or None if it is no number."""
    if re.fullmatch(_NUMBER, label.strip()):
        return float(label), float(label)
    if match := _RANGE.fullmatch(label):
        return float(match[1]), float(match[2])
    return (float(match[1]), inf) if (match := _OPEN.fullmatch(label)) else None


def _between(
    attribute: str, hierarchy: Hierarchy, text: str, low: float, high: float, with_low: bool, with_high: bool
) -> BoolArray:
    def above(number: float) -> bool:
        return number > low or (with_low and number == low)

    def below(number: float) -> bool:
        return number < high or (with_high and number == high)

    inside = np.zeros(hierarchy.size(0), dtype=np.bool_)
    for code, label in enumerate(hierarchy.labels[0] if low <= high else ()):
        if (ends := interval(label)) is None or not above(ends[1]) or not below(ends[0]):
            continue
        if not above(ends[0]) or not below(ends[1]):
            raise InputError(f"the range {text!r} cuts through the value {label!r} of {attribute!r}")
        inside[code] = True
    if not inside.any():
        raise InputError(f"no value of {attribute!r} lies in the range {text!r}")
    return inside
