"""What a column of an unknown table probably is: its role, and how its values may be generalized.

Guesses err on the side of publishing less. What they say of a column names no value of it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, log

import numpy as np

from marginals.config.guessing.calendar_guess import begin_with_year, calendar_rows, end_with_year
from marginals.config.guessing.code_prefixes import likely_prefixes
from marginals.config.guessing.rarity import RARE
from marginals.tables.attribute import COUNT, Role
from marginals.tables.column import Column

_MOST_CATEGORIES = 100
_MOST_PREFIXED = 100_000
_WIDEST_RANGE = 200_000
_FARTHEST = 1e15
_LONG_TEXT = 40
_MOSTLY_MISSING = 0.3
_ALMOST_UNIQUE = 0.9

_IDENTIFYING = """
    id uuid guid key ssn nino passport name firstname lastname forename surname email mail phone telephone mobile fax
    address street iban account licence license username login user ip url mrn nhs
    vorname nachname familienname adresse strasse telefon handy konto ausweis versichertennummer patientennummer
    nom prenom rue telephone courriel nombre apellido apellidos direccion calle telefono correo dni nif
    cognome indirizzo via codicefiscale naam voornaam achternaam adres straat
"""
_SENSITIVE = """
    diagnosis diagnoses diagnose diagnosen diagnostic diagnostico diagnosi diagnostique disease krankheit erkrankung
    maladie enfermedad malattia ziekte doenca illness condition disorder hiv aids icd medication medikament medikation
    medicament medicacion medicamento farmaco drug therapy therapie terapia treatment behandlung traitement tratamiento
    disability behinderung handicap discapacidad health gesundheit sante salud salute religion religione konfession
    glaube faith orientation sexuality party partei parti partido partito vote conviction vorstrafe offence offense crime
    union gewerkschaft syndicat sindicato salary gehalt lohn salaire salario stipendio sueldo income einkommen revenu
    ingreso ingresos reddito inkomen wage wages earnings verdienst debt schulden dette deuda wealth vermogen patrimoine
    credit kredit score grade
"""
"""Words, in some languages, in the names of columns that nobody should learn about a person, the most telling first."""
_CODES = "zip zipcode postcode postal plz code icd nace isco naics soc"


@dataclass(frozen=True)
class Guess:
    """A role, at most one way to generalize, and why, in words that quote no value.

    hierarchy: rows `value, ..., *` of a file that is to be reviewed. likely_sensitive: the name says that nobody should
    learn it, the lower the rank the more so; None where it does not.
    """

    role: Role
    why: str
    intervals: tuple[int, ...] = ()
    prefixes: tuple[int, ...] = ()
    hierarchy: tuple[tuple[str, ...], ...] = ()
    likely_sensitive: int | None = None


def guess(column: Column, rare: int = RARE) -> Guess:
    """The guess on one column by itself. rare: values that fewer rows have are put together in a hierarchy."""
    if reason := _not_publishable(column):
        return Guess(Role.IGNORED, reason)
    if reason := _named_identifier(column):
        return Guess(Role.IDENTIFIER, reason)
    rank = next((rank for rank, word in enumerate(_SENSITIVE.split()) if word in column.words), None)
    if rank is not None:
        return _sensitive(column, rank)
    if _almost_unique(column):
        return Guess(Role.IDENTIFIER, f"{len(column.values)} of {column.rows} values are different")
    return _quasi_identifier(column, rare)


def _not_publishable(column: Column) -> str:
    """Why a column cannot be published as it is, or nothing."""
    if column.name == COUNT:
        return "published tables call their counts so; rename it to publish it"
    if not column.rows:
        return "it has no values that could be counted"
    if len(column.values) == 1:
        return "all its values are the same"
    if column.missing > _MOSTLY_MISSING * (column.rows + column.missing):
        return "too many of its values are missing; every row without one would be left out"
    if not all(value.isprintable() for value in column.values):
        return "some values hold line breaks or other characters that cannot be seen"
    return ""


def _named_identifier(column: Column) -> str:
    """Why the name of a column says that it identifies people, or nothing; names of few things do not."""
    by_name = column.words & set(_IDENTIFYING.split())
    if not by_name or 2 * len(column.values) <= column.rows:
        return ""
    return f"its name says {' '.join(sorted(by_name))}, and {len(column.values)} of {column.rows} values are different"


def _almost_unique(column: Column) -> bool:
    """Whether hardly any value occurs twice, where that tells more than that the table is small or values are measured."""
    if _decimals(column) or begin_with_year(column.values) or end_with_year(column.values):
        return False
    if _whole_numbers(column) is not None:
        return len(column.values) == column.rows >= 100
    return column.rows >= 20 and len(column.values) > _ALMOST_UNIQUE * column.rows


def _sensitive(column: Column, rank: int) -> Guess:
    word = _SENSITIVE.split()[rank]
    if len(column.values) > _MOST_CATEGORIES:
        why = (
            f"its name says {word}, which nobody should learn, but it has {len(column.values)} different values; "
            "group them in the table first"
        )
        return Guess(Role.IGNORED, why)
    return Guess(Role.SENSITIVE, f"its name says {word}", likely_sensitive=rank)


def _quasi_identifier(column: Column, rare: int) -> Guess:
    distinct = len(column.values)
    by_code = bool(column.words & set(_CODES.split()))
    if (whole := _whole_numbers(column)) is not None and not (by_code and _lengths(column)):
        return _of_numbers(column, whole)
    if _decimals(column) and distinct > 20:
        return Guess(Role.IGNORED, _how_to_round(column))
    if begin_with_year(column.values):
        return Guess(Role.QUASI_IDENTIFIER, "dates, cut to months, then years", prefixes=(7, 4))
    if end_with_year(column.values):
        rows = calendar_rows(column.values)
        if isinstance(rows, str):
            return Guess(Role.IGNORED, rows)
        why = "dates, cut to months, then years; the file holds every day of their decades, whether it occurs or not"
        return Guess(Role.QUASI_IDENTIFIER, why, hierarchy=rows)
    if distinct > 20 and _lengths(column) and distinct <= _MOST_PREFIXED:
        length = len(column.values[0])
        prefixes = likely_prefixes(column.values, column.counts, rare)
        return Guess(Role.QUASI_IDENTIFIER, f"all values are codes of {length} characters", prefixes=prefixes)
    if distinct > _MOST_CATEGORIES:
        return Guess(
            Role.IGNORED, f"{distinct} different texts are too many to guess how they go together; write a hierarchy"
        )
    if any(len(value) > _LONG_TEXT for value in column.values):
        return Guess(Role.IGNORED, "some values are long texts, which may say anything")
    return _of_categories(column, rare)


def _of_numbers(column: Column, numbers: list[int]) -> Guess:
    distinct, span = len(numbers), max(numbers) - min(numbers)
    if distinct == 2:
        return Guess(Role.QUASI_IDENTIFIER, "it has 2 values, published as they are or not at all")
    if span > _WIDEST_RANGE:
        return Guess(Role.IGNORED, "its numbers lie too far apart; round them, to thousands for example")
    # Where most rows are decides, not how far a few of them stray.
    order = np.argsort(numbers)
    below = np.cumsum(column.counts[order]) / column.rows
    low, high = (numbers[int(order[min(int(np.searchsorted(below, q)), distinct - 1)])] for q in (0.05, 0.95))
    widths = tuple(width for width in _widths(max(high - low, span // 20)) if 2 * width <= span + 1)
    if not widths:
        return Guess(Role.QUASI_IDENTIFIER, "few whole numbers, published as they are or not at all")
    return Guess(Role.QUASI_IDENTIFIER, f"{distinct} different whole numbers", intervals=widths)


def _how_to_round(column: Column) -> str:
    """What to do with numbers that have decimals, and the intervals that would fit then."""
    within = [max(-_FARTHEST, min(_FARTHEST, float(value))) for value in column.values]
    rounded = _of_numbers(column, list(map(floor, within)))
    how = "its numbers have decimals, and intervals take whole numbers; in the table, round each down (INT or FLOOR)"
    if rounded.role is Role.IGNORED:
        return f"{how} to thousands or more, for they lie far apart"
    if not rounded.intervals:
        return f"{how} after multiplying it by 100 or so, for they lie close together, and run init again"
    return f'{how}, then set role = "quasi-identifier" and intervals = {list(rounded.intervals)}'


def _widths(span: int) -> tuple[int, ...]:
    """Three widths of intervals, each twice the one before; the first is a round number, about a thirteenth of the span.

    So the widest still makes two to five intervals of it.

    >>> _widths(80), _widths(20), _widths(2500)
    ((5, 10, 20), (2, 4, 8), (200, 400, 800))
    """
    power, wished = 1, max(span / 13, 2.0)
    while wished > 10 * power:
        power *= 10
    first = power * min((1, 2, 5, 10), key=lambda digit: abs(log(digit * power / wished)))
    return first, 2 * first, 4 * first


def _of_categories(column: Column, rare: int) -> Guess:
    distinct, uncommon = len(column.values), int((column.counts < rare).sum())
    if not uncommon or distinct <= 2:
        why = f"{distinct} categories, published as they are or not at all"
        return Guess(Role.QUASI_IDENTIFIER, why)
    # The rare ones go together, and with them the next ones until their group is rare no more.
    order = np.argsort(column.counts, kind="stable")
    needed = int(np.searchsorted(np.cumsum(column.counts[order]), rare)) + 1
    together = {column.values[i] for i in order[: max(uncommon, needed)].tolist()}
    if len(together) == distinct:
        return Guess(Role.QUASI_IDENTIFIER, f"{distinct} categories, all rare, published as they are or not at all")
    other = "Other values"
    while other in column.values:
        other = f"({other})"
    # By what is published of them first, so that the place of a rare value tells nothing.
    rows = sorted(
        ((value, other if value in together else value, "*") for value in column.values),
        key=lambda row: (row[1], row[0]),
    )
    why = f"{distinct} categories; those that fewer than {rare} rows have go together in the file, which names them all"
    return Guess(Role.QUASI_IDENTIFIER, why, hierarchy=tuple(rows))


def _whole_numbers(column: Column) -> list[int] | None:
    """The values as whole numbers, where all are spelled as numbers are."""
    if not all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", value) for value in column.values):
        return None
    return [int(value) for value in column.values]


def _decimals(column: Column) -> bool:
    """Whether all values are numbers and some not whole."""
    number = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
    return _whole_numbers(column) is None and all(number.fullmatch(value) for value in column.values)


def _lengths(column: Column) -> bool:
    """Whether all values are codes of one length, with a digit each."""
    length = len(column.values[0])
    code = re.compile(r"[A-Za-z0-9./-]*[0-9][A-Za-z0-9./-]*")
    return length >= 3 and all(len(value) == length and code.fullmatch(value) for value in column.values)


def settled(guesses: Mapping[str, Guess], most: int) -> dict[str, Guess]:
    """The guesses on all columns together: one sensitive column, at most `most` quasi-identifiers.

    What looks sensitive too is left out rather than published.
    """
    candidates = [name for name, guessed in guesses.items() if guessed.likely_sensitive is not None]
    chosen = min(candidates, key=lambda name: guesses[name].likely_sensitive or 0, default=None)
    result, public = {}, 0
    for name, guessed in guesses.items():
        if guessed.role is Role.SENSITIVE and name != chosen:
            guessed = Guess(Role.IGNORED, f"{guessed.why}, but another column was taken as the sensitive one")
        if guessed.role is Role.QUASI_IDENTIFIER:
            public += 1
            if public > most:
                guessed = Guess(
                    Role.IGNORED, f"{guessed.why}; left out, as {most} quasi-identifiers make long work already"
                )
        result[name] = guessed
    return result
