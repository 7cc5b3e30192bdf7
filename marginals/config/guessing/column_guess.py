"""What a column of an unknown table probably is: its role, and how its values may be generalized.

Guesses err on the side of publishing less. What they say of a column names no value of it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from marginals.config.guessing.bands import finest_width, widths_of
from marginals.config.guessing.calendar_guess import begin_with_year, calendar_rows, end_with_year, likely_units
from marginals.config.guessing.code_prefixes import likely_prefixes
from marginals.config.guessing.rarity import RARE
from marginals.config.guessing.vocabulary import (
    AGES,
    CATEGORIES,
    CODES,
    IDENTIFYING,
    NUMBERING,
    PLACES,
    SENSITIVE,
    TIMES,
    says_how_many,
    sensitive_name,
    sensitive_values,
)
from marginals.tables.attribute import COUNT, Role
from marginals.tables.column import Column, words_of

_MOST_CATEGORIES = 100
_MOST_PREFIXED = 100_000
_WIDEST_RANGE = 10**8
_FEW_NUMBERS = 20
_LONG_TEXT = 40
_LONG_CATEGORY = 60
"""As long a text may be that enough rows share."""

_HEAPED = 0.1
"""Share of the rows with numbers that enough others have, from which on single numbers are kept where they can be."""
_MANY_MISSING = 0.05
_ALMOST_UNIQUE = 0.9
_FEWEST_KEYS = 30
_ROWS_OF_A_NUMBER = 20
"""Rows of each value on average, at least, of a column that says how many there are of something; a key has fewer."""


@dataclass(frozen=True)
class Said:
    """What a file says of a column in words: a description, and the label of each code."""

    description: str = ""
    values: Mapping[str, str] = field(default_factory=dict, hash=False)


_UNSAID = Said()


@dataclass(frozen=True)
class Guess:
    """A role, at most one way to generalize, and why, in words that quote no value.

    hierarchy: rows `value, ..., *` of a file that is to be reviewed. is_fitted: whether its levels are fitted to how often
    values occur. likely_sensitive: that nobody should learn it, the
    lower the rank the more so; None where nothing says so. missing: what becomes of rows without a value. said: what the
    file says.
    """

    role: Role
    why: str
    intervals: tuple[int | Decimal, ...] = ()
    prefixes: tuple[int, ...] = ()
    hierarchy: tuple[tuple[str, ...], ...] = ()
    likely_sensitive: int | None = None
    missing: str = "drop"
    said: Said = _UNSAID
    dates: tuple[str, ...] = ()
    is_fitted: bool = False

    @property
    def only_in_bands(self) -> bool:
        """Whether its values are sensitive numbers, of which a release shows no more than the bands that they lie in."""
        return self.role is Role.SENSITIVE and bool(self.intervals)


def guess(column: Column, rare: int = RARE, said: Said = _UNSAID) -> Guess:
    """The guess on one column by itself. rare: values that fewer rows have are put together in a hierarchy."""
    guessed = _of_values(column, rare, said)
    if guessed.role.is_used and column.missing > _MANY_MISSING * (column.rows + column.missing):
        share = 100 * column.missing / (column.rows + column.missing)
        lacking = f"{share:.0f} percent of the rows lack a value, which counts as one of its own"
        why = f"{guessed.why}; {lacking}, as they would be left out otherwise"
        guessed = replace(guessed, why=why, missing="as a value")
    return replace(guessed, said=said)


def _of_values(column: Column, rare: int, said: Said) -> Guess:
    if reason := _not_publishable(column, rare):
        return Guess(Role.IGNORED, reason)
    if reason := _identifies(column):
        return Guess(Role.IDENTIFIER, reason)
    if (sensitive := _sensitive(column, said)) is not None:
        return sensitive
    if _almost_unique(column):
        return Guess(Role.IDENTIFIER, f"{len(column.values)} of {column.rows} values are different")
    return _quasi_identifier(column, rare, said)


def _not_publishable(column: Column, rare: int) -> str:
    """Why a column cannot be published as it is, or nothing."""
    if column.name == COUNT:
        return "published tables call their counts so; rename it to publish it"
    if not column.rows:
        return "it has no values that could be counted"
    if len(column.values) == 1:
        return "all its values are the same"
    if column.missing > 2 * column.rows and column.rows < rare:
        return f"fewer than {rare} rows have a value"
    if not all(value.isprintable() for value in column.values):
        return "some values hold line breaks or other characters that cannot be seen"
    return ""


def _identifies(column: Column) -> str:
    """Why a column identifies people, by its name or how often its values repeat, or nothing."""
    distinct, rows = len(column.values), column.rows
    if (by_name := column.words & IDENTIFYING) and 2 * distinct > rows:
        return f"its name says {' '.join(sorted(by_name))}, and {distinct} of {rows} values are different"
    if (by_name := column.words & PLACES) and 2 * distinct > rows:
        return f"its name says {' '.join(sorted(by_name))}, which is where somebody is, to the decimal"
    if sum(map(_is_mail, column.values)) > distinct / 2:
        return "its values are addresses of mail"
    if distinct < _FEWEST_KEYS or rows < 2 * distinct or not are_numbers_of_things(column) or has_decimals(column):
        return ""
    are_numbers_of = says_how_many(column.name) and rows >= _ROWS_OF_A_NUMBER * distinct
    if (by_name := column.words & NUMBERING) and not column.words & CATEGORIES and not are_numbers_of:
        each = f"it seems to number who the rows are about, {rows / distinct:.1f} rows each"
        return f"its name says {' '.join(sorted(by_name))}: {each}"
    if column.counts.min() == column.counts.max() and not column.words & (AGES | TIMES):
        return (
            f"each of its {distinct} values stands in {column.counts[0]} rows, as a key does of which each has several"
        )
    return ""


def _is_mail(value: str) -> bool:
    return re.fullmatch(r"[^@\s]+@[^@\s]+\.[A-Za-z]+", value) is not None


def are_numbers_of_things(column: Column) -> bool:
    """Whether all values are whole numbers, or codes with a digit."""
    return _whole_numbers(column) is not None or all(
        re.fullmatch(r"[A-Za-z0-9._/-]*[0-9][A-Za-z0-9._/-]*", value) for value in column.values
    )


def _almost_unique(column: Column) -> bool:
    """Whether hardly any value occurs twice, where that tells more than that the table is small or values are measured."""
    if has_decimals(column) or begin_with_year(column.values) or end_with_year(column.values):
        return False
    if _whole_numbers(column) is not None:
        return len(column.values) == column.rows >= 100
    return column.rows >= 20 and len(column.values) > _ALMOST_UNIQUE * column.rows


def _sensitive(column: Column, said: Said) -> Guess | None:
    """The guess on a column that nobody should learn, by its name, its description or its values; None for any other."""
    meanings = [said.values[value] for value in column.values if value in said.values]
    by_name = sensitive_name(column.words)
    if by_name is not None:
        rank, why = by_name[0], f"its name says {by_name[1]}"
    elif (by_words := sensitive_name(words_of(said.description))) is not None:
        rank, why = by_words[0], f"its description says {by_words[1]}"
    elif (kind := sensitive_values(column, meanings)) is not None:
        rank, why = len(SENSITIVE), f"its values look like {kind}"
    elif _are_diagnoses(column):
        why = "its values look like codes of diagnoses (ICD)"
        return Guess(Role.SENSITIVE, why, prefixes=(3, 1), likely_sensitive=len(SENSITIVE))
    else:
        return None
    if (numbers := _numbers(column)) is not None and len(numbers) > _FEW_NUMBERS:
        widths = widths_of(numbers, column.counts)
        if not widths:
            return Guess(Role.IGNORED, f"{why}, which nobody should learn, but its numbers lie too close for intervals")
        why = f"{why}; of {len(numbers)} different numbers only intervals are published"
        return Guess(Role.SENSITIVE, why, intervals=widths, likely_sensitive=rank + len(SENSITIVE) + 1)
    if len(column.values) > _MOST_CATEGORIES:
        why = (
            f"{why}, which nobody should learn, but it has {len(column.values)} different values; "
            "group them in the table first"
        )
        return Guess(Role.IGNORED, why)
    return Guess(Role.SENSITIVE, why, likely_sensitive=rank)


def _are_diagnoses(column: Column) -> bool:
    code = re.compile(r"[A-TV-Z][0-9][0-9AB](\.?[0-9A-Z]{1,4})?")
    letters = {value[0] for value in column.values}
    return len(letters) >= 5 and all(code.fullmatch(value) for value in column.values)


def _quasi_identifier(column: Column, rare: int, said: Said) -> Guess:
    distinct = len(column.values)
    numbers = _numbers(column)
    labelled = 2 * sum(value in said.values for value in column.values) > distinct
    if numbers is not None and not labelled and not (_are_codes_by_name(column) and _whole_numbers(column) is not None):
        return _of_numbers(column, numbers, rare)
    if (units := likely_units(column.values)) is not None:
        why = f"dates, from {units[0]}s on as fine as their rows allow"
        return Guess(Role.QUASI_IDENTIFIER, why, dates=units, is_fitted=True)
    if end_with_year(column.values):
        rows = calendar_rows(column.values)
        if isinstance(rows, str):
            return Guess(Role.IGNORED, rows)
        why = "dates, cut to months, then years; the file holds every day of their decades, whether it occurs or not"
        return Guess(Role.QUASI_IDENTIFIER, why, hierarchy=rows)
    if distinct > 20 and _lengths(column) and distinct <= _MOST_PREFIXED:
        length = len(column.values[0])
        prefixes = likely_prefixes(column.values, column.counts, rare)
        why = f"all values are codes of {length} characters"
        return Guess(Role.QUASI_IDENTIFIER, why, prefixes=prefixes, is_fitted=True)
    if distinct > _MOST_CATEGORIES:
        return Guess(
            Role.IGNORED, f"{distinct} different texts are too many to guess how they go together; write a hierarchy"
        )
    limits = np.where(column.counts < rare, _LONG_TEXT, _LONG_CATEGORY)
    if any(len(value) > limit for value, limit in zip(column.values, limits.tolist())):
        return Guess(Role.IGNORED, "some values are long texts, which may say anything")
    named = "numbers that stand for names, as its labels say" if labelled and numbers else ""
    named = named or ("numbers that stand for names, as its name says" if numbers else "categories")
    return _of_categories(column, rare, named)


def _are_codes_by_name(column: Column) -> bool:
    """Whether the name says that its numbers are names: codes of one length, or of few things."""
    if column.words & CODES and _lengths(column):
        return True
    numbering = any(word.endswith(("num", "code", "nr")) for word in column.words)
    return (numbering and _lengths(column)) or bool(column.words & CATEGORIES and len(column.values) > 2)


def _of_numbers(column: Column, numbers: list[Decimal], rare: int) -> Guess:
    distinct, span = len(numbers), max(numbers) - min(numbers)
    are_whole = all(number == number.to_integral_value() for number in numbers)
    if distinct == 2:
        return Guess(Role.QUASI_IDENTIFIER, "it has 2 values, published as they are or not at all")
    if distinct <= _FEW_NUMBERS and not are_whole:
        return _of_categories(column, rare, "different numbers")
    if are_whole and span > _WIDEST_RANGE:
        return Guess(Role.IGNORED, "its numbers lie too far apart; round them, to thousands for example")
    are_ages = bool(column.words & AGES) and span >= 10 and min(numbers) >= 0 and max(numbers) < 130
    kind = "whole numbers" if are_whole else "numbers with decimals"
    why = "ages" if are_ages else f"{distinct} different {kind}"
    widths = finest_width(numbers, column.counts, are_ages)
    is_heaped = column.counts[column.counts >= rare].sum() >= _HEAPED * column.counts.sum()
    if is_heaped and not (are_whole and are_ages) and (not are_whole or widths):
        why = f"{why}, in bands that hold enough rows; many rows share a value"
        return Guess(Role.QUASI_IDENTIFIER, why, is_fitted=True)
    return Guess(Role.QUASI_IDENTIFIER, f"{why}, in bands that hold enough rows", intervals=widths, is_fitted=True)


def _of_categories(column: Column, rare: int, kind: str = "categories") -> Guess:
    distinct, uncommon = len(column.values), int((column.counts < rare).sum())
    if distinct <= 2:
        return Guess(Role.QUASI_IDENTIFIER, f"{distinct} {kind}, published as they are or not at all")
    if not uncommon:
        why = f"{distinct} {kind}, none of them rare; levels merge them step by step"
        return Guess(Role.QUASI_IDENTIFIER, why, is_fitted=True)
    why = f"{distinct} {kind}, of which {uncommon} are rare and go together with others"
    return Guess(Role.QUASI_IDENTIFIER, why, is_fitted=True)


_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,30})?")


def _numbers(column: Column) -> list[Decimal] | None:
    """The values as numbers, where all are spelled as numbers are."""
    numerals = column.numerals
    return list(map(Decimal, numerals)) if all(map(_NUMBER.fullmatch, numerals)) else None


def _whole_numbers(column: Column) -> list[Decimal] | None:
    """The values as numbers, where all are whole, such as 5 or 5.0."""
    numbers = _numbers(column)
    return numbers if numbers and all(number == number.to_integral_value() for number in numbers) else None


def has_decimals(column: Column) -> bool:
    """Whether all values are numbers and some not whole."""
    return _numbers(column) is not None and _whole_numbers(column) is None


def _lengths(column: Column) -> bool:
    """Whether all values are codes of one length, with a digit each."""
    length = len(column.values[0])
    code = re.compile(r"[A-Za-z0-9./-]*[0-9][A-Za-z0-9./-]*")
    return length >= 3 and all(len(value) == length and code.fullmatch(value) for value in column.values)
