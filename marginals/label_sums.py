"""What printed counts say of labels: totals and groups of others, and labels that may be either."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from models.intervals.linked_tables import Interval
from models.programs.consistent_tables import UNBOUNDED

Line = Mapping[str, Interval]
"""Ranges of counts that differ in one attribute only, by its label."""

TOTALS = frozenset(
    {
        *("", "total", "totals", "all", "sum", "overall", "everyone", "everybody", "both", "both sexes", "persons"),
        *("all ages", "all persons", "all sexes", "all areas", "grand total", "insgesamt", "gesamt", "ensemble"),
    }
)
"""Labels that are taken for a total where no spec says which ones are."""

_LIKE_TOTAL = re.compile(
    r"(?i)_?t|i alt|(?:.*[\W_])?(?:tot|total[set]?|totaal|sum|summ[ae]|alle?(?! other))(?:[\W_].*)?"
)
_NEXT_CODE = re.compile(r"[\W_]?[0-9]{1,3}\b")
_PART_OF = re.compile(r"[\W_].*|[A-Z]{1,3}")
_ROMAN = re.compile("[IVXLC]+")
_EVIDENCE = 40
"""Product of sums from which they are no coincidence, for each label."""


@dataclass(frozen=True)
class LabelReading:
    """Totals and groups among the labels of an attribute in one table. doubts: other labels that may be some, and why.

    exceeds: whether a total is surely larger than what is listed beside it. unshown: lines whose total is the sum of the
    counts that are shown, though others are not; none if the total of another line with such counts is larger.
    """

    labels: Sequence[str]
    totals: Sequence[str]
    groups: Mapping[str, tuple[str, ...]]
    doubts: Mapping[str, str]
    exceeds: bool
    unshown: int


def read_labels(lines: Sequence[Line]) -> LabelReading:
    """Totals and groups of some labels."""
    order = list(dict.fromkeys(label for line in lines for label in line))
    doubts: dict[str, str] = {}
    totals = [label for label in order if label.strip().lower() in TOTALS] or _unnamed_totals(lines, order, {})
    groups = _subtotals(lines, [label for label in order if label not in totals], doubts)
    inner = {part for parts in groups.values() for part in parts}
    totals = totals or _unnamed_totals(lines, [label for label in order if label not in inner], doubts)
    others = [label for label in order if label not in totals and label not in groups]
    doubts |= {label: "it is called like a total" for label in others if _LIKE_TOTAL.fullmatch(label.strip())}
    doubts |= _codes_of_groups(lines, others)
    exceeds, unshown = False, []
    for line in lines:
        whole = [line[label] for label in totals if label in line]
        parts = [line[label] for label in others if label in line]
        least, most = sum(low for low, _ in parts), sum(high for _, high in parts)
        exceeds |= len(parts) > 1 and most < max((low for low, _ in whole), default=0)
        if most >= UNBOUNDED and any(low == high > 0 for low, high in whole):
            unshown.append((least, least) in whole)
    return LabelReading(order, totals, groups, doubts, exceeds, len(unshown) if all(unshown) else 0)


def _sums(lines: Sequence[Line], label: str, parts: Sequence[str]) -> list[int] | None:
    """Counts of a label in the lines that print it as the sum of its parts; None if some line says that it is another."""
    found = []
    for line in lines:
        if label not in line:
            continue
        ranges = [line[part] for part in parts if part in line]
        least, most = sum(low for low, _ in ranges), sum(high for _, high in ranges)
        if line[label][1] < least or (line[label][0] > most and len(ranges) == len(parts)):
            return None
        if line[label] == (least, most) and len(ranges) == len(parts) and least:
            found.append(least)
    return found


def _unnamed_totals(lines: Sequence[Line], order: Sequence[str], doubts: dict[str, str]) -> list[str]:
    """A label that is the sum of all others, or is called like a total and not below it."""
    least = [sum(line[label][0] for label in order if label in line) for line in lines]
    for label in order:
        printed = [
            (line[label][0], low) for line, low in zip(lines, least) if label in line and len({*line[label]}) == 1
        ]
        if all(count == low for count, low in printed) or any(2 * count < low for count, low in printed):
            continue
        others = [other for other in order if other != label]
        found = _sums(lines, label, others)
        is_sum = found and len(others) > 1
        if _LIKE_TOTAL.fullmatch(label.strip()) or (is_sum and len(found or ()) > 1 and prod(found or ()) >= _EVIDENCE):
            return [label]
        seen = sum(len({*given}) == 1 for line in lines if len({*line.get(label, ())}) == 1 for given in line.values())
        is_end = label in (order[0], order[-1]) and 3 * sum(low for _, low in printed) >= 5 * sum(n for n, _ in printed)
        if found is not None and (is_sum or (is_end and seen > 3)):
            doubts[label] = "it may be the total of the others"
    return []


def _subtotals(lines: Sequence[Line], order: Sequence[str], doubts: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Labels that are the sum of those that stand right after them in three or more lines, and never another.

    Such sums in fewer lines, or of labels that stand right before, are doubts.
    """
    groups: dict[str, tuple[str, ...]] = {}
    for labels in (order, order[::-1]):
        for place, label in enumerate(labels):
            for end in range(place + 3, min(len(labels), place + 30) + 1 if label not in groups else 0):
                parts = labels[place + 1 : end]
                found = _sums(lines, label, parts)
                if found and len(found) > 2 and labels is order:
                    groups[label] = tuple(parts)
                    break
                if found and prod(found) >= _EVIDENCE * len(order):
                    doubts[label] = f"it may be the sum of {parts[0]!r} to {parts[-1]!r}"
                if any(
                    label in line and line[label][1] < sum(line[part][0] for part in parts if part in line)
                    for line in lines
                ):
                    break  # more parts are no less
    return groups


def _codes_of_groups(lines: Sequence[Line], order: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Labels that others begin with, as codes of groups do (DE, DE1, DE11), and whose counts are no less than theirs."""
    known = dict.fromkeys(order)
    longer: dict[str, list[str]] = {}
    for label in order:
        for begin in (label[:end] for end in range(1, len(label))):
            if begin in known and label[len(begin) :].strip("0"):
                longer.setdefault(begin, []).append(label)
    for label, others in longer.items():
        codes = [other for other in others if _NEXT_CODE.match(other[len(label) :])]
        parts = [other for other in others if _PART_OF.fullmatch(other[len(label) :])]
        parts = codes if len(parts) < 2 or _ROMAN.fullmatch(label) else [*dict.fromkeys([*codes, *parts])]
        parts = [part for part in parts if not any(part != other and part.startswith(other) for other in parts)]
        stem = label.rstrip("0123456789")
        numbers = sorted(int(rest) for other in order if (rest := other.removeprefix(stem)).isdecimal())
        if label != stem and numbers == list(range(numbers[0], numbers[0] + len(numbers))):  # 1 to 12 are no codes
            parts = [part for part in parts if not part.removeprefix(stem).isdecimal()]
        pairs = [
            (sum(line[part][0] for part in parts if part in line), line[label][1]) for line in lines if label in line
        ]
        if parts and any(most for _, most in pairs) and all(low <= most for low, most in pairs):
            yield label, f"it may be a group that {parts[0]!r} is in"
