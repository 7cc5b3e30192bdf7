"""Columns that say one thing together, and so are treated as one: the coordinates of a place, the day of a birth, a name and
an address that are split.

What is left of them when one is left out can be as exact as all: one coordinate is a line across a town.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from marginals.config.column_guess import AGES, BIRTHS, PLACES, Guess
from marginals.names import column_name
from marginals.tables.attribute import Column, Role, words_in_order


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WHOLE_AXES = _set("utmx utmy xcoord ycoord coordx coordy")
_AXES = _WHOLE_AXES | _set("x y lat lon long lng latitude longitude")
_OF_AXES = _set("coord coords coordinate coordinates koordinate utm gps geo position map")
_EXACT = 100
"""Different numbers of a coordinate, from which on it says where somebody is more exactly than a district does."""

_DAYS = _set("d day dd tag jour dia giorno dag dzien")
_MONTHS = _set("m month mm mnth mth monat mois mes mese maand miesiac")
_YEARS = _set("y year yy yyyy yr jahr annee ano anno jaar rok")
_BORN = re.compile(r"birth|born|geburts?|naissance|nacimiento|nascita|geboorte|urodzenia|dob|geb")

_FIRST = _set("first given forename vorname prenom nome imie voornaam")
_LAST = _set("last family surname nachname nom cognome apellido nazwisko achternaam")
_FEWEST_NAMES = 10

_STREETS = re.compile(r"street|road|avenue|strasse|rue|calle|via|straat|ulica")
_HOUSES = _set("house building flat apartment door haus huis domu lokalu street")
_NUMBERS = _set("no nr num number nummer numero numer")
_HOUSE_NUMBERS = _set("housenumber houseno hausnummer hausnr huisnummer huisnr civico streetnumber")


@dataclass(frozen=True)
class Together:
    """That columns say one thing. columns: those that are left out. others: those that stay. what: they say together."""

    columns: tuple[str, ...]
    what: str
    role: Role
    others: tuple[str, ...] = ()

    def why(self, name: str) -> str:
        """In words, of one of the columns."""
        beside = [column_name(other) for other in (*self.columns, *self.others) if other != name]
        return f"together with {' and '.join(beside)} it says {self.what}"


def as_one(
    guesses: Mapping[str, Guess], columns: Mapping[str, Column], chosen: Collection[str] = ()
) -> dict[str, Guess]:
    """The guesses, where what several columns say together is kept back in all of them, or in that which makes it exact.

    columns: by name, without what is missing. chosen: columns whose roles somebody has named, which keep them.
    """
    result = dict(guesses)
    for date_columns in _together(guesses, columns):
        for name in date_columns.columns:
            if name not in chosen and result[name].role.is_used:
                result[name] = replace(
                    result[name], role=date_columns.role, why=date_columns.why(name), question="", is_coarse=False
                )
    return result


def _together(guesses: Mapping[str, Guess], columns: Mapping[str, Column]) -> Iterator[Together]:
    present = {name: column for name, column in columns.items() if column.values}
    places = _coordinates(present)
    if len(places) >= 2:
        yield Together(places, "exactly where somebody is", Role.IGNORED)
    yield from _births({name: column for name, column in present.items() if guesses[name].role.is_used})
    yield from _names(present)
    yield from _addresses(present)


def _coordinates(columns: Mapping[str, Column]) -> tuple[str, ...]:
    """The coordinates of a place, where some are exact."""
    named = [name for name, column in columns.items() if column.words & PLACES or _is_axis(column)]
    if any(column.words & PLACES for column in columns.values()):
        named = [name for name in columns if name in named or columns[name].words & {"long"}]
    numbers = [name for name in named if columns[name].numbers is not None]
    return tuple(numbers) if any(len(columns[name].values) > _EXACT for name in numbers) else ()


def _is_axis(column: Column) -> bool:
    words = column.words
    return bool(words & _AXES) and (bool(words & _OF_AXES) or bool(words & _WHOLE_AXES))


def _births(columns: Mapping[str, Column]) -> Iterator[Together]:
    """The day of a birth, where its month is told too, and its year or an age."""
    parts: dict[str, list[str]] = {"day": [], "month": [], "year": []}
    for name in columns:
        words = words_in_order(name)
        if any(word in BIRTHS or _BORN.search(word) for word in words):
            words_left = {part for word in words for part in (word, _BORN.sub("", word))}
            for part, called in (("day", _DAYS), ("month", _MONTHS), ("year", _YEARS)):
                parts[part] += [name] if words_left & called else []
    years = [*parts["year"], *(name for name, column in columns.items() if column.words & AGES)]
    if parts["day"] and parts["month"] and years:
        what = "on which day somebody was born"
        yield Together(tuple(parts["day"]), what, Role.IGNORED, (parts["month"][0], years[0]))


def _names(columns: Mapping[str, Column]) -> Iterator[Together]:
    """A name that is split into two columns which are called by nothing but their place in it."""
    texts = {n: c for n, c in columns.items() if c.numbers is None and len(c.values) >= _FEWEST_NAMES}
    first = [name for name, column in texts.items() if column.words and column.words <= _FIRST]
    last = [name for name, column in texts.items() if column.words and column.words <= _LAST]
    if first and last:
        yield Together((*first, *last), "what somebody is called", Role.IDENTIFIER)


def _addresses(columns: Mapping[str, Column]) -> Iterator[Together]:
    """A street and the number of a house in it."""
    houses = [name for name, column in columns.items() if _numbers_houses(column)]
    streets = [
        name
        for name, column in columns.items()
        if name not in houses and column.numbers is None and any(map(_STREETS.search, column.words))
    ]
    if houses and streets:
        yield Together((*streets, *houses), "where somebody lives", Role.IDENTIFIER)


def _numbers_houses(column: Column) -> bool:
    words = column.words
    return bool(words & _HOUSE_NUMBERS) or (bool(words & _HOUSES) and bool(words & _NUMBERS))
