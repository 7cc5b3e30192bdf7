"""How criteria write and read their numbers: reading the text back gives the same number."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from checks.errors import CriterionError

_NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,12}|/[0-9]{1,12})?")
"""Numbers as a criterion may spell them; an exponent could ask for more digits than there is memory."""


def numbers(text: str) -> list[Fraction]:
    """The numbers between commas, exactly: whole, decimal or fractions; none where a part is no number.

    >>> numbers("2.8, 4"), numbers("1e9"), numbers("")
    ([Fraction(14, 5), Fraction(4, 1)], [], [])
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(map(_NUMBER.fullmatch, parts)):
        return []
    try:
        return [Fraction(part) for part in parts]
    except ZeroDivisionError:
        return []


OR_EQUAL, MAY_DISCLOSE, MUST_PROTECT, OF = "or equal", "may disclose", "must protect", "of"
"""What a criterion may say after its numbers; all but the first are followed by labels of sensitive values."""

AT_ODDS = "at odds"
"""What stands at the end of any criterion, before odds."""

_CLAUSE = re.compile(rf"(?<!\S)({OR_EQUAL}|{MAY_DISCLOSE}|{MUST_PROTECT}|{OF}|{AT_ODDS})(?!\S)")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BARE = re.compile(r"[\w-]+( [\w-]+)*")


@dataclass(frozen=True)
class Phrase:
    """The parameters of a criterion with the clauses after them: `3,4 or equal may disclose healthy, "not known"`.

    clauses: what stands behind each; nothing behind `or equal`.
    """

    numbers: list[Fraction]
    clauses: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str, known: Iterable[str]) -> "Phrase | None":
        """From text; None where it has another clause than the known ones, one twice, or labels that are none.

        >>> Phrase.read('2,3 may disclose healthy, "of age"', [MAY_DISCLOSE]).clauses
        {'may disclose': ('healthy', 'of age')}
        """
        # Within quotes nothing is a clause, nor a comma between labels.
        masked = _QUOTED.sub(lambda quoted: "\0" * len(quoted[0]), text)
        marks = list(_CLAUSE.finditer(masked))
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        clauses: dict[str, tuple[str, ...]] = {}
        for mark, end in zip(marks, ends):
            behind = text[mark.end() : end]
            named = _labels(behind, masked[mark.end() : end])
            is_whole = not behind.strip() if mark[1] == OR_EQUAL else bool(named)
            if mark[1] not in known or mark[1] in clauses or not is_whole:
                return None
            clauses[mark[1]] = named
        return cls(numbers(text[: marks[0].start()] if marks else text), clauses)


def split_odds(text: str) -> tuple[str, Fraction | None]:
    """A criterion's text without `at odds G` at its end, and G; None where it does not end so.

    >>> split_odds("entropy:6 at odds 1.2"), split_odds("entropy:6")
    (('entropy:6', Fraction(6, 5)), ('entropy:6', None))
    """
    plain, mark, odds = text.rpartition(f" {AT_ODDS} ")
    match numbers(odds) if mark else []:
        case [number]:
            return plain, number
    return text, None


def _labels(text: str, masked: str) -> tuple[str, ...]:
    """The labels between commas, each once, in the order of texts; none where a part is no label."""
    labels, start = set(), 0
    for part in masked.split(","):
        spelling = text[start : start + len(part)].strip()
        start += len(part) + 1
        quoted = _QUOTED.fullmatch(spelling)
        label = spelling[1:-1].replace('""', '"') if quoted else spelling
        if not label or (not quoted and '"' in label) or _SURROGATE.search(label):
            return ()
        labels.add(label)
    return tuple(sorted(labels))


def spelled_labels(labels: Sequence[str]) -> str:
    """Labels with commas between them, those in quotes that could be read otherwise; a quote in one of these is doubled.

    >>> print(spelled_labels(["healthy", "of age", "flu, cold"]))
    healthy, "of age", "flu, cold"
    """
    plain = (_BARE.fullmatch(label) and not _CLAUSE.search(label) for label in labels)
    return ", ".join(
        label if is_plain else '"{}"'.format(label.replace('"', '""')) for label, is_plain in zip(labels, plain)
    )


def check_l(spelling: str, l: Fraction | int, least: int = 1) -> None:
    """Raise CriterionError for an l that is too small. spelling: of the criterion."""
    if l < least:
        raise CriterionError(f"{spelling} needs l of at least {least}, got {spelled(l)}")


def check_odds(odds: Fraction) -> None:
    """Raise CriterionError for odds below 1."""
    if odds < 1:
        raise CriterionError(f"odds are at least 1, got {spelled(odds)}")


def spelled(value: Fraction | int) -> str:
    """A whole number or a decimal where one says it exactly, else a fraction.

    >>> spelled(Fraction(4)), spelled(Fraction(14, 5)), spelled(Fraction(10, 3))
    ('4', '2.8', '10/3')
    """
    value = Fraction(value)
    digits, rest = 0, value.denominator
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        digits = max(digits, power)
    if rest > 1:
        return str(value)
    if not digits:
        return str(value.numerator)
    shifted = str(abs(int(value * 10**digits))).zfill(digits + 1)
    return f"{'-' if value < 0 else ''}{shifted[:-digits]}.{shifted[-digits:]}"
