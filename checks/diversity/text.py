"""Spelling of criteria: numbers, labels and clauses, read and written by one grammar."""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from checks.errors import CriterionError
from models.frozen import frozen

_NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,30}|/[0-9]{1,12})?")
"""Number in a text, wide enough for all digits of a float. An exponent could ask for more digits than fit in memory."""


def numbers(text: str) -> list[Fraction]:
    """Read whole, decimal or fractional numbers between commas exactly; empty if a part is no number."""
    parts = [part.strip() for part in text.split(",")]
    try:
        return [Fraction(part) for part in parts] if all(map(_NUMBER.fullmatch, parts)) else []
    except ZeroDivisionError:
        return []


def spelled(value: Fraction | int) -> str:
    """Spell a number as a whole number or a decimal if one is exact, else as a fraction.

    >>> spelled(Fraction(4)), spelled(Fraction(14, 5)), spelled(Fraction(10, 3))
    ('4', '2.8', '10/3')
    """
    value = Fraction(value)
    # A decimal of d digits has a denominator that divides 10^d, so at most 2^d.
    digits = next((d for d in range(value.denominator.bit_length()) if 10**d % value.denominator == 0), None)
    if not digits:
        return str(value)
    shifted = str(abs(int(value * 10**digits))).zfill(digits + 1)
    return f"{'-' if value < 0 else ''}{shifted[:-digits]}.{shifted[-digits:]}"


LEAVING_OUT = "leaving out"
"""Last clause of any criterion, followed by labels that stand for no value."""


class Clause(NamedTuple):
    """Words after the numbers of a criterion, which set a field.

    value: of the field if the words occur; None for the labels behind them. is_silent: read, but never written.
    """

    words: str
    name: str
    value: object = None
    is_optional: bool = False
    is_silent: bool = False


MAY_EQUAL = Clause("or equal", "strict", value=False, is_optional=True)
LABELS_MAY_DISCLOSE = Clause("may disclose", "may_disclose")
LABELS_MUST_PROTECT = Clause("must protect", "must_protect")
LABELS_OF = Clause("of", "of")

_WORDS = "|".join(clause.words for clause in (MAY_EQUAL, LABELS_MAY_DISCLOSE, LABELS_MUST_PROTECT, LABELS_OF))
_CLAUSE = re.compile(rf"(?<!\S)({_WORDS}|{LEAVING_OUT}|at odds)(?!\S)")
"""Words that a bare label must not hold. `at odds` belonged to the grammar once, and such labels stay in quotes."""

_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BARE = re.compile(r"[\w-]+( [\w-]+)*")


def spelled_labels(labels: Sequence[str]) -> str:
    """Join labels by commas, with quotes where a label could be misread; a quote within quotes is doubled."""
    plain = (_BARE.fullmatch(label) and not _CLAUSE.search(label) for label in labels)
    return ", ".join(
        label if is_plain else '"{}"'.format(label.replace('"', '""')) for label, is_plain in zip(labels, plain)
    )


def _masked(text: str) -> str:
    """Return the text with quoted parts blotted out, so that clauses and commas in them do not count."""
    return _QUOTED.sub(lambda quoted: "\0" * len(quoted[0]), text)


def _labels(text: str) -> tuple[str, ...]:
    labels, start = set(), 0
    for part in _masked(text).split(","):
        spelling = text[start : start + len(part)].strip()
        start += len(part) + 1
        quoted = _QUOTED.fullmatch(spelling)
        label = spelling[1:-1].replace('""', '"') if quoted else spelling
        if not label or _SURROGATE.search(label) or (not quoted and ('"' in label or _CLAUSE.search(label))):
            return ()
        labels.add(label)
    return tuple(sorted(labels))


def split_left_out(text: str) -> tuple[str, tuple[str, ...]]:
    """Split `leaving out LABELS` from the end of a criterion's text; no labels if it does not end so."""
    plain, mark, behind = _masked(text).rpartition(f" {LEAVING_OUT} ")
    labels = _labels(text[len(text) - len(behind) :]) if mark else ()
    return (text[: len(plain)], labels) if labels else (text, ())


class Number(NamedTuple):
    """Number in the text of a criterion, between two ends that it may reach if the interval is closed.

    name: of the field that holds it. high: None for no upper end.
    """

    name: str
    low: int
    high: int | None = None
    is_closed: bool = False
    is_whole: bool = False

    def allows(self, value: Fraction | int) -> bool:
        """Return whether the value lies in the interval."""
        is_inside = self.low < value and (self.high is None or value < self.high)
        return is_inside or (self.is_closed and value in (self.low, self.high))

    @property
    def range(self) -> str:
        """Interval in words, for a message."""
        if self.high is None:
            return f"{self.name} {'of at least' if self.is_closed else 'above'} {self.low}"
        first, last = ("from", "to") if self.is_closed else ("between", "and")
        return f"{self.name} {first} {self.low} {last} {self.high}"


@frozen
class Grammar:
    """Form of the text of a criterion after its name: numbers, and clauses in any order."""

    numbers: tuple[Number, ...] = ()
    clauses: tuple[Clause, ...] = ()

    def __str__(self) -> str:
        """Return the form, for instance `c,l [or equal] may disclose LABELS`."""
        parts = [",".join(number.name for number in self.numbers)]
        spoken = (clause for clause in self.clauses if not clause.is_silent)
        for _, group in groupby(spoken, key=attrgetter("name")):
            ways = list(group)
            text = " or ".join(f"{way.words} LABELS" if way.value is None else way.words for way in ways)
            parts.append(f"[{text}]" if ways[0].is_optional else text)
        return " ".join(parts)

    def read(self, text: str) -> dict[str, Any] | None:
        """Read the fields that numbers and clauses set; None for a text of another form.

        Raises CriterionError for recursive diversity in the form of KG06 with l = 1 and a c below 1.
        """
        clause_of = {clause.words: clause for clause in self.clauses}
        clause_words = "|".join(words for words, clause in clause_of.items() if clause.value is not None)
        words = re.compile(rf"{_CLAUSE.pattern}|(?<!\S)({clause_words})(?!\S)" if clause_words else _CLAUSE)
        marks = list(words.finditer(_masked(text)))
        before = text[: marks[0].start()] if marks else text
        fields: dict[str, Any] = {}
        read_numbers = numbers(before)
        if len(read_numbers) != len(self.numbers) or (before.strip() and not read_numbers):
            return None
        for number, value in zip(self.numbers, read_numbers):
            if number.is_whole and value.denominator > 1:
                return None
            fields[number.name] = int(value) if number.is_whole else value
        for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)]):
            clause, behind = clause_of.get(mark[0]), text[mark.end() : end]
            if clause is None or clause.name in fields or (clause.value is not None and behind.strip()):
                return None
            fields[clause.name] = _labels(behind) if clause.value is None else clause.value
            if fields[clause.name] == ():
                return None
        if not all(clause.is_optional or clause.name in fields for clause in self.clauses):
            return None
        # KG06 Def. 2.5 makes no exception for l = 1.
        if MAY_EQUAL.name in fields and fields["l"] == 1 and 0 < read_numbers[0] < 1:
            c = spelled(read_numbers[0])
            raise CriterionError(
                f"c,1 {MAY_EQUAL.words} needs a c of at least 1, got {c}. To bound the share of each value by {c}, "
                f"write simple:{spelled(1 / read_numbers[0])}"
            )
        return fields

    def spelled(self, criterion: object) -> str:
        """Write the text that `read` reads back as the fields of a criterion."""
        text = ",".join(spelled(getattr(criterion, number.name)) for number in self.numbers)
        for words, name, value, _, is_silent in self.clauses:
            field = getattr(criterion, name)
            if value is None and field:
                text += f" {words} {spelled_labels(field)}"
            elif value == field and not is_silent:
                text += f" {words}"
        return text

    def check(self, name: str, criterion: object) -> None:
        """Raise CriterionError for a number beyond its interval. name: of the criterion."""
        values = [getattr(criterion, number.name) for number in self.numbers]
        if not all(number.allows(value) for number, value in zip(self.numbers, values)):
            form = ",".join(number.name for number in self.numbers)
            ranges = " and ".join(number.range for number in self.numbers)
            raise CriterionError(f"{name}:{form} needs {ranges}, got {' and '.join(map(spelled, values))}")
