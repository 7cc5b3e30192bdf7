"""What a column of an unknown table probably is: its role, and how its values may be generalized.

Guesses err on the side of publishing less. What they say of a column names no value of it.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import compress

import numpy as np
import pandas as pd

from checks.claims import listing
from marginals.config import RARE, UNKNOWN
from marginals.config.vocabulary import is_recognizable, meaning_of, meaning_of_values
from marginals.errors import InputError
from marginals.tables.attribute import COUNT, Attribute, Column, Role, words_in_order
from marginals.tables.distinct_rows import factorized
from marginals.tables.people import SAMPLING, RepeatingKey, other_numbered
from marginals.tables.sensitive_groups import (
    bands_begin,
    in_groups,
    inner_range,
    last_decimal,
    round_width,
    without_spike,
)
from marginals.tables.values import DECIMAL_SIGNS, MOST_CONSECUTIVE, NumberFormat, date_text, formats, in_order
from models.arrays import CountArray, IndexArray


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


IDENTIFYING = _set("""
    id uuid guid key name user nhs nom nombre naam nazwa via
    case chart record hospital claim policy account encounter admission specimen barcode akte dossier expediente
    """)
"""Names of columns that name or number people where most values differ."""

NAMING = _set("""
    firstname lastname forename surname fullname givenname maidenname nickname username login email mail phone telephone
    mobile cellphone fax address iban ssn nino passport license licence mrn ip url
    vorname nachname familienname adresse anschrift telefon telefonnummer handy konto kontonummer ausweis
    versichertennummer patientennummer aktenzeichen
    prenom courriel apellido apellidos direccion telefono correo dni nif cognome indirizzo codicefiscale voornaam
    achternaam adres telefoon bsn nazwisko imie pesel
    """)
"""Names of columns that name people, also where some of them have the same."""

_PARTS_OF_NAMES = _set("first last full given family middle maiden patient person contact patients personal")
"""What a name is called that is one of people: `first_name`."""

_OF_NO_PERSON = _set("""
    type types class kind category status state region county country has is any number num count product drug school
    college university hospital clinic shop store company firm brand district city town street species item test team
    """)
"""Words in the names of columns that name no person: `clinic_name`, `licence_type`."""

BIRTHS = _set("""
    birth birthday birthdate birthdays dob born geburt geburtsdatum geburtstag geboren naissance nacimiento nascita
    geboorte geboortedatum urodzenia
    """)
"""Names of columns of dates of birth."""

_WEIGHTS = _set("weight weights wt wgt wght gewicht poids peso pesos pesi waga wagi")
"""Names of columns that weigh rows, or people."""

_SURVEY_WEIGHTS = (
    "pweight", "perw", "fnlw", "finalw", "finwgt", "wtsupp", "pspw", "anweight", "dweight", "iweight", "sweight", "hweight",
    "ponder", "gewichtung", "weegf", "weighting", "pwgtp", "repw", "rwgt", "brr", "jkw", "bsrw", "bswt", "bootw",
)  # fmt: skip
"""How names of columns begin that weigh rows, also as replicates: by halves of the sample, jackknife or bootstrap."""

_STRATA = _set(SAMPLING)
"""Names of columns that say how a sample was drawn."""

NUMBERING = _set("""
    id ids idno idnr idnum nr no num number uid guid uuid pid pidnum ptid patid patno patnr patientid subjid usubjid
    personid caseid userid memberid clientid customerid mrn ssn nhs nino passport personennummer patientennummer
    versichertennummer kundennummer personnummer patient person subject participant respondent proband client customer member
    """)
"""Names of columns that number somebody, once or several times."""

_HOW_MANY = _set("nr no num number")
"""Words that number somebody, or say how many of something there are: `patient_no`, `num_children`."""

PLACES = _set("longitude latitude lon lng lat gps coordinates easting northing laengengrad breitengrad")
"""Names of columns that say exactly where somebody is."""

CATEGORIES = _set("""
    state region county country district province department canton sector industry occupation class type group category
    kind code party status race ethnicity language religion center centre hospital ward site clinic bundesland
    kreis gemeinde landkreis comune departement sector branche beruf
    """)
"""Names of columns whose numbers are names, which have no order and no distance."""

CODES = _set("zip zipcode postcode postal plz code codes icd nace isco naics soc")
"""Names of columns whose values are codes that begin with what they have in common."""

AGES = _set("age ages alter edad eta leeftijd idade alder years")
"""Names of columns of ages in years."""

TIMES = _set(
    "week month day year quarter time date wave period round visit woche monat tag jahr welle semaine mois jour"
)
"""Names of columns that count time, of which balanced tables have as many rows each."""


def says_how_many(name: str) -> bool:
    """Whether the name of a column says how many there are of what is not somebody.

    >>> says_how_many("num_open_accounts"), says_how_many("num_client"), says_how_many("number_customer_service_calls")
    (True, False, True)
    """
    first, *others = words_in_order(name) or [""]
    return first in _HOW_MANY and bool(others) and others[-1] not in NUMBERING


# Columns that number somebody, each in several rows, noticed by how their values repeat rather than by their names.
#
# A key of people who have several rows is recognized by a second column: one that numbers the rows of each person (1,
# 2, 3), or one that no two rows of a person share, as years, where the rows of a person stand together, or a third
# column says the same in all of them. Three columns that say the same in all rows of each value are a sign by themselves.


_FEWEST = 30
"""Different values of a key, at least, and those of them that repeat."""
_REPEATING = 0.8
"""Share of the values that repeat, at least, where no column numbers their rows."""
_MOST_EACH = 200
"""Rows of one value on average, at most."""
_EXCEPTIONS = 0.02
"""Share of the rows that may be otherwise where a column is asked about: rows entered twice, keys with a mistake."""
_LOOKED_AT = 50_000
"""Rows by which it is decided: all rows of the values that come first."""


@dataclass(frozen=True)
class ContentKeys:
    """keys: columns that number somebody, the one with most values first. numbering: those that number the rows of each
    value of another column, which number nobody. likely: columns that may name somebody, with what says so.
    """

    keys: tuple[RepeatingKey, ...]
    numbering: frozenset[str]
    likely: Mapping[str, str]


def keys_by_content(frame: pd.DataFrame, columns: Sequence[Column], missing: Collection[str]) -> ContentKeys:
    """The keys of a table by how their values repeat. columns: its columns. missing: texts that stand for no value.

    >>> visits = pd.DataFrame({"hid": [str(500 + 7 * (n // 3)) for n in range(120)], "no": ["1", "2", "3"] * 40})
    >>> found = keys_by_content(visits, [Column.of(name, visits[name]) for name in visits], ("",))
    >>> str(found.keys[0]), sorted(found.numbering)
    ("'hid' looks like a key and repeats: 40 values in 120 rows, and no numbers the rows of each", ['no'])
    """
    like_keys = [column for column in columns if len(column.values) > 1 and _repeats_like_key(column)]
    candidates = [column for column in like_keys if are_numbers_of_things(column)]
    if not like_keys:
        return ContentKeys((), frozenset(), {})
    coded = {column.name: factorized(frame[column.name], missing) for column in columns if len(column.values) > 1}
    codes = {name: column_codes for name, (column_codes, _) in coded.items()}
    result: dict[str, tuple[Column, str]] = {}
    numbering: set[str] = set()
    for column in candidates:
        some = _rows_of_first(codes[column.name])
        column_codes = codes[column.name][some]
        for other in columns:
            if (
                other.name in codes
                and other is not column
                and _numbers_rows(column_codes, other, frame[other.name], some)
            ):
                result[column.name] = (column, f"{other.name} numbers the rows of each")
                numbering.add(other.name)
                break
    keys = {column.name for column in candidates if _repeats(column)}
    for column in candidates:
        is_open = column.name in keys and column.name not in result and column.name not in numbering
        if is_open and (reason := _told_apart(column, codes, keys)):
            result[column.name] = (column, reason)
    for column in candidates:
        is_open = column.name not in result and column.name not in numbering
        if is_open and (reason := _agreeing(column, coded[column.name][1], codes)):
            result[column.name] = (column, reason)
    names = {column.name for column in like_keys if _repeats(column)}
    likely = {
        column.name: reason
        for column in like_keys
        if column.name in names - result.keys() - numbering and (reason := _likely(column, codes, names))
    }
    ordered = sorted(result.values(), key=lambda named: -len(named[0].values))
    return ContentKeys(
        tuple(RepeatingKey(column.name, len(column.values), column.rows, why) for column, why in ordered),
        frozenset(numbering),
        likely,
    )


_SEXES = _set("sex gender geschlecht sexe sexo genero sesso geslacht plec kon")
"""Names of columns of what hardly ever changes for a person, beside dates of birth."""
_SHARED = 0.5
"""Share of the repeated values of a key whose rows differ in that, from which on they are those of several people."""


def differs_within(frame: pd.DataFrame, key: str, columns: Sequence[Column], missing: Collection[str]) -> str:
    """The column of a sex or a birth in which the rows of most repeated values of a key differ; empty where none does.

    Such a key numbers no people, but what several people share: physicians, schools, households.

    >>> visits = pd.DataFrame({"unit": ["1", "1", "2", "2"], "sex": ["f", "m", "m", "f"]})
    >>> differs_within(visits, "unit", [Column.of(name, visits[name]) for name in visits], ("",))
    'sex'
    """
    owners = factorized(frame[key], missing)[0].astype(np.int64)
    for column in columns:
        if column.name == key or not column.words & (_SEXES | BIRTHS) or not len(column.values) >= 2:
            continue
        values = factorized(frame[column.name], missing)[0].astype(np.int64)
        known = (owners >= 0) & (values >= 0)
        repeated = np.bincount(owners[known], minlength=1) > 1
        pairs = np.unique(np.stack([owners[known], values[known]]), axis=1)[0]
        differ = np.bincount(pairs, minlength=len(repeated)) > 1
        if differ.sum() > _SHARED * repeated.sum():
            return column.name
    return ""


def _repeats_like_key(column: Column) -> bool:
    """Whether a column may be a key of somebody: many of its values repeat, a few times each."""
    distinct, repeated = len(column.values), int((column.counts > 1).sum())
    return (
        repeated >= _FEWEST
        and column.rows <= _MOST_EACH * distinct
        and not column.words & (AGES | TIMES | PLACES | CODES | CATEGORIES | _STRATA | _WEIGHTS)
        and not _is_of_something(column.name)
        and not has_decimals(column)
        and not _are_amounts(column)
    )


def _is_of_something(name: str) -> bool:
    """Whether a name surely says what its numbers are: an income, a score."""
    meaning = meaning_of(name)
    return meaning is not None and meaning.is_sure


_ROUND = 0.6
"""Share of the rows with numbers that five divides, at least, where people name amounts; of keys a fifth have such ones."""


def _are_amounts(column: Column) -> bool:
    """Whether round numbers are much more frequent than others, as amounts are and keys are not."""
    numbers = _whole_numbers(column)
    if numbers is None:
        return False
    is_round = np.array([number % 5 == 0 for number in numbers])
    return not is_round.all() and bool(column.counts[is_round].sum() > _ROUND * column.counts.sum())


def _repeats(column: Column) -> bool:
    """Whether nearly all values repeat."""
    return bool((column.counts > 1).sum() >= _REPEATING * len(column.values))


def _rows_of_first(codes: IndexArray) -> IndexArray:
    """The rows of the values that come first, up to so many rows as are looked at."""
    rows = np.cumsum(np.bincount(codes[codes >= 0]))
    most = max(_FEWEST, int(np.searchsorted(rows, _LOOKED_AT, side="right")))
    return np.flatnonzero((codes >= 0) & (codes < most))


def _numbers_rows(values_in_rows: IndexArray, other: Column, texts: pd.Series, some: IndexArray) -> bool:
    """Whether another column counts the rows of each value of this one: 1, 2, ... to their number, in whatever order.

    values_in_rows: the values of some rows. texts: of the other column, in all rows.
    """
    if not {"1", "2"} <= set(other.values) or len(other.values) > int(np.bincount(values_in_rows).max()):
        return False
    codes, values = pd.factorize(texts.iloc[some].astype(str))
    numbers = np.array([NumberFormat().real(value) for value in values])[codes]
    if np.isnan(numbers).any() or not np.array_equal(numbers, np.floor(numbers)):
        return False
    order = np.lexsort((numbers, values_in_rows))
    begins = np.flatnonzero(np.diff(values_in_rows[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order)))) + 1
    return bool(np.array_equal(numbers[order], place))


def _likely(column: Column, codes: Mapping[str, IndexArray], names: Collection[str]) -> str:
    """Why a column, of texts too, may name whose row it is, but for few rows; or nothing. names: columns that may be so."""
    if begin_with_year(column.values) or end_with_year(column.values):
        return ""
    if reason := _told_apart(column, codes, names):
        return reason
    reason = _told_apart(column, codes, names, _EXCEPTIONS)
    return reason and f"but for few rows, {reason}"


def _told_apart(column: Column, codes: Mapping[str, IndexArray], keys: Collection[str], exceptions: float = 0.0) -> str:
    """Why the rows of each value are those of one thing at several times, or nothing. exceptions: share of the rows."""
    some = _rows_of_first(codes[column.name])
    column_codes = codes[column.name][some]
    counts = np.bincount(column_codes)
    values, most = int((counts > 0).sum()), int(counts.max())
    times, constant = "", ""
    for name, all_codes in codes.items():
        other = all_codes[some].astype(np.int64) + 1
        size = int(other.max()) + 1
        is_missing = np.count_nonzero(other == 0) > exceptions * len(column_codes)
        if name == column.name or is_missing or not len(np.unique(other)) >= 2:
            continue
        pairs = len(np.unique(column_codes.astype(np.int64) * size + other))
        if (
            pairs >= (1 - exceptions) * len(column_codes)
            and len(np.unique(other)) <= 3 * most
            and name not in keys
            and not times
        ):
            times = name
        elif pairs <= values + exceptions * len(column_codes) and len(np.unique(other)) < values and not constant:
            constant = name
    whole = codes[column.name]
    in_blocks = np.count_nonzero(np.diff(whole)) + 1 <= len(np.unique(whole)) + exceptions * len(whole)
    if not times or not (in_blocks or constant):
        return ""
    beside = f", and {constant} is the same in all rows of each" if constant else ""
    return f"no two rows of one have the same {times}{beside}"


_ROWS_OF_AGREEING = 5
"""Rows of one value on average, at most, where other columns that agree in these are the only sign of a key."""
_AGREEING = 3
"""Columns that agree in all rows of each value of a key."""
_CHANCE = 14.0
"""How unlikely, in nats, it is by chance that a column agrees in all rows of each value."""


def _agreeing(column: Column, texts: Sequence[str], codes: Mapping[str, IndexArray]) -> str:
    """That several columns say the same in all rows of each value, as they do of a person or a family; or nothing.

    A function of an amount, such as its square or its class, says the same too, but its values follow those of the column.
    texts: the values that the codes of the column stand for.
    """
    if column.rows > _ROWS_OF_AGREEING * len(column.values):
        return ""
    places = {text: place for place, text in enumerate(in_order(column.values))}
    owners = np.array([*(places.get(text, -1) for text in texts), -1], dtype=np.int64)[codes[column.name]]
    agreeing = [name for name, values in codes.items() if name != column.name and _is_same_within(owners, values)]
    return f"{listing(agreeing[:_AGREEING])} are the same in all rows of each" if len(agreeing) >= _AGREEING else ""


def _is_same_within(owners: IndexArray, values: IndexArray) -> bool:
    """Whether all rows of each owner have one value, which neither chance nor the order of owners explains.

    owners, values: numbers of each, of owners in their order, -1 where missing, shape (rows,).
    """
    known = (owners >= 0) & (values >= 0)
    numbers, told = owners[known], values[known].astype(np.int64)
    repeated = np.bincount(numbers, minlength=1) > 1
    if repeated.sum() < _FEWEST:
        return False
    size = int(told.max()) + 1
    pairs = np.unique(numbers * size + told)
    pairs = pairs[repeated[pairs // size]]
    if len(pairs) > repeated.sum():
        return False
    in_order_of_owners = pairs % size
    follows = np.count_nonzero(np.diff(in_order_of_owners)) < 3 * len(np.unique(in_order_of_owners))
    by_chance = float(((np.bincount(told) / len(told)) ** 2).sum())
    return not follows and bool(-repeated.sum() * np.log(by_chance) > _CHANCE)


# How dates are spelled in a column, and the hierarchy of a column whose dates do not begin with the year.
#
# Prefixes of 2023-11-12 are its month and its year; those of 12.11.2023 would be days of all years.


_MOST_YEARS = 200
"""Dates that lie farther apart hold mistakes, or stand-ins for dates that nobody knows."""

_DAYS_BY_DAY = 200
"""Dates within so many days may be published by the day."""

_SPELLED = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})")
_SHORT_YEAR = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2}")


def begin_with_year(values: Sequence[str]) -> bool:
    """Whether all values are dates such as 2023-11-12, with or without a time of the day."""
    return all(value[:4].isdecimal() and date_text(value) is not None for value in values)


def likely_units(values: Sequence[str]) -> tuple[str, ...] | None:
    """What dates are cut to, the finest unit first: days where they lie within some months; None where some are no dates,
    or lie too far apart.

    >>> likely_units(["2023-11-12", "2001-02-03"]), likely_units(["12.11.2023", "28.12.2023"]), likely_units(["11/12/2023"])
    (('month', 'quarter', 'year'), ('day', 'month', 'quarter', 'year'), None)
    """
    days = [text[:10] for value in values if (text := date_text(value)) is not None]
    if not days or len(days) < len(values):
        return None
    span = date.fromisoformat(max(days)) - date.fromisoformat(min(days))
    if span.days > _MOST_YEARS * 366:
        return None
    units = ("month", "quarter", "year")
    return ("day", *units) if span.days <= _DAYS_BY_DAY else units


def end_with_year(values: Sequence[str]) -> bool:
    """Whether all values are spelled like 12.11.2023, 12/11/2023, 12-11-2023 or with two digits of the year."""
    return all(map(_SPELLED.fullmatch, values)) or all(map(_SHORT_YEAR.fullmatch, values))


@dataclass(frozen=True)
class Calendar:
    """How dates that end with the year are spelled.

    day: the place of the day, 0 or 1; the month has the other one. padded: with two digits each.
    """

    day: int
    sign: str
    padded: bool

    def spelled(self, when: date) -> str:
        """A date.

        >>> Calendar(0, ".", padded=True).spelled(date(2023, 11, 2))
        '02.11.2023'
        """
        parts = [when.month, when.day] if self.day else [when.day, when.month]
        return self.sign.join([f"{part:02d}" if self.padded else str(part) for part in parts] + [f"{when.year:04d}"])

    def rows(self, first: int, last: int) -> Iterator[tuple[str, str, str, str]]:
        """Rows `day, month, year, *` of a hierarchy file: every day of these years.

        >>> list(Calendar(0, ".", padded=True).rows(2023, 2023))[305]
        ('02.11.2023', '2023-11', '2023', '*')
        """
        when = date(first, 1, 1)
        while when.year <= last:
            yield self.spelled(when), f"{when:%Y-%m}", f"{when:%Y}", "*"
            if when == date.max:
                return
            when += timedelta(days=1)


def calendar_rows(values: Sequence[str]) -> tuple[tuple[str, ...], ...] | str:
    """The hierarchy of dates that end with the year, or, in words that quote none, why there is none.

    It holds all days of the decades that occur, so that it tells nothing of single days.
    """
    rewrite = "rewrite them as YYYY-MM-DD in the table, to be cut to months, then years"
    if not all(map(_SPELLED.fullmatch, values)):
        return f"dates with two digits for the year; {rewrite}"
    fields = [(int(a), int(b), int(year)) for a, _, b, year in (_fields(value) for value in values)]
    signs = {_fields(value)[1] for value in values}
    calendars = [
        calendar
        for calendar in (Calendar(day, sign, padded) for day in (0, 1) for sign in signs for padded in (True, False))
        if _agrees(calendar, values, fields)
    ]
    if "." in signs:
        calendars = [
            calendar for calendar in calendars if calendar.day == 0
        ]  # nobody writes the month first with points
    if {calendar.day for calendar in calendars} == {0, 1}:
        return f"dates of which the day and the month cannot be told apart; {rewrite}"
    if not calendars:
        return f"dates, but some are spelled in another way or are no days of the calendar; {rewrite}"
    years = [year for _, _, year in fields]
    first, last = min(years) // 10 * 10, max(years) // 10 * 10 + 9
    if last - first >= _MOST_YEARS or first < 1:
        return "dates that lie too far apart; leave those empty in the table that stand for unknown ones"
    return tuple(calendars[0].rows(first, last))


def _fields(value: str) -> tuple[str, ...]:
    match = _SPELLED.fullmatch(value)
    return match.groups() if match else ()


def _agrees(calendar: Calendar, values: Sequence[str], fields: Sequence[tuple[int, int, int]]) -> bool:
    for value, (a, b, year) in zip(values, fields):
        day, month = (b, a) if calendar.day else (a, b)
        try:
            if calendar.spelled(date(year, month, day)) != value:
                return False
        except ValueError:
            return False
    return True


_BANDS = 100
"""About so many finest bands hold most rows; a fitted ladder merges from there."""
_MOST_BANDS = 20_000
_SINGLE_VALUES = 200
"""Whole numbers that most rows lie within so many of are merged from single values on."""


def finest_width(numbers: Sequence[Decimal], counts: CountArray, are_ages: bool) -> tuple[int | Decimal, ...]:
    """The width of the bands that a fitted ladder of numbers begins with; none for single whole values.

    A round one, of which a hundred or so hold most rows; of ages with decimals whole years.

    >>> whole = list(map(Decimal, range(5001)))
    >>> each = np.ones(5001, dtype=np.int64)
    >>> finest_width(whole, each, False), finest_width(whole[:99], each[:99], True)
    ((50,), ())
    >>> finest_width([Decimal("0.4"), Decimal("0.9"), Decimal("21.6")], np.array([50, 50, 1]), False)
    (Decimal('0.1'),)
    """
    unit = last_decimal(numbers)
    numbers, counts = without_spike(numbers, counts)
    are_whole = all(number == number.to_integral_value() for number in numbers)
    low, high = inner_range(numbers, counts)
    span = max(numbers) - min(numbers)
    if are_whole and high - low <= _SINGLE_VALUES and span < MOST_CONSECUTIVE:
        return ()
    wished = max((high - low) / _BANDS, span / _MOST_BANDS, Decimal(1) if are_ages else unit)
    width = max(round_width(wished), unit)
    return (int(width),) if are_whole else (width,)


ALWAYS = ("", "?")
"""What stands for nothing in every table."""

WORDS = (
    "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "NULL", "null", "#NULL!", ".", "..", "-", "--",
)  # fmt: skip
"""What stands for nothing wherever it occurs."""

_NEGATIVE = ("-7", "-8", "-9", "-77", "-88", "-99", "-777", "-888", "-999", "-9999")
_NINES = ("98", "99", "998", "999", "9998", "9999", "99999")

_FAR = 2
"""Times that a number for nothing is as large as the largest that is one, at least."""

_FEW = 5
"""Different numbers besides, at least: of fewer nobody can say what is out of place."""


@dataclass(frozen=True)
class MissingTokens:
    """What stands for no value. texts: all of it. why: of each number among them, for people. cells: how many each has."""

    texts: tuple[str, ...]
    why: Mapping[str, str]
    cells: Mapping[str, int] = field(default_factory=dict, hash=False)

    def counted_in(self, columns: Sequence[Column]) -> "MissingTokens":
        """The same, with how many cells of some columns have each; cells without a text count as empty ones."""
        cells = dict.fromkeys(self.texts, 0)
        for column in columns:
            cells[""] += column.missing
            for text, count in zip(column.values, column.counts.tolist()):
                if text in cells:
                    cells[text] += count
        return replace(self, cells={text: count for text, count in cells.items() if count})

    def __str__(self) -> str:
        """How many cells are read as missing, and by which mark; empty where none is."""
        marks = [f"{count:,} {'empty' if not text else repr(text)}" for text, count in self.cells.items()]
        return f"Cells that are read as missing: {', '.join(marks)}." if marks else ""


def missing_tokens(columns: Sequence[Column]) -> MissingTokens:
    """What stands for no value in a table. A number only does where it does so in every column that has it.

    >>> ages = Column.of("age", ["31", "42", "53", "64", "75", "-9", "NA"])
    >>> tokens = missing_tokens([ages])
    >>> tokens.texts, tokens.why
    (('', '?', 'NA', '-9'), {'-9': 'all other numbers of age are 0 or more'})
    """
    words = [word for word in WORDS if any(word in column.values for column in columns)]
    why: dict[str, str] = {}
    numbers: dict[str, Mapping[str, Decimal]] = {}
    for token in (*_NEGATIVE, *_NINES):
        having = [column for column in columns if _spelling(token, column)]
        for column in having:
            if column.name not in numbers:
                numbers[column.name] = _numbers_by_text(column)
        reasons = [_stands_apart(Decimal(token), column, numbers[column.name]) for column in having]
        if having and all(reasons):
            others = "" if len(having) == 1 else f", and the same goes for {len(having) - 1} more columns"
            for spelling in dict.fromkeys(_spelling(token, column) for column in having):
                why[spelling] = f"{reasons[0]}{others}"
    return MissingTokens((*ALWAYS, *words, *why), why)


def _spelling(token: str, column: Column) -> str:
    """How a column spells a number, as -9 or -9.0; empty where it lacks it."""
    return next((text for text in (token, f"{token}{column.decimal}0") if text in column.values), "")


def _numbers_by_text(column: Column) -> dict[str, Decimal]:
    """The values of a column as numbers, words for missing values left out; none where another is no number."""
    texts = [value for value in column.values if value not in WORDS]
    numbers = NumberFormat.of(texts, column.decimal)
    if numbers is None:
        return {}
    number_of = {text: number for text in texts if (number := numbers.number(text)) is not None}
    return number_of if len(number_of) == len(texts) else {}


def _stands_apart(token: Decimal, column: Column, number_of: Mapping[str, Decimal]) -> str:
    """Why a number stands for nothing in a column that has it; empty where it may be a number like the others."""
    others = set(number_of.values()) - set(map(Decimal, _NEGATIVE if token < 0 else _NINES))
    if len(others) < _FEW:
        return ""
    if token < 0:
        return f"all other numbers of {column.name} are 0 or more" if min(others) >= 0 else ""
    count = int(column.counts[[number_of.get(value) == token for value in column.values]].sum())
    is_far = 0 < _FAR * max(others) <= token and min(others) >= 0
    return f"all other numbers of {column.name} are no more than half of it" if is_far and count > 1 else ""


@dataclass(frozen=True)
class DecimalSign:
    """The sign before the fraction of a number, and why, for people; nothing where it is the point, as usual."""

    sign: str = "."
    why: str = ""


POINT = DecimalSign()


def likely_decimal(columns: Sequence[Column]) -> DecimalSign:
    """The comma where some columns hold numbers with one and no column holds numbers with a point, else the point.

    1,234 and 5,678 may be whole numbers: columns in which every fraction has three digits say nothing.

    >>> likely_decimal([Column.of("bmi", ["21,5", "30", "NA"]), Column.of("age", ["31", "42", "53"])])
    DecimalSign(sign=',', why='the numbers of bmi have a comma before their fraction, and no column has a point there')
    >>> likely_decimal([Column.of("bmi", ["21,5", "30"]), Column.of("weight", ["61.5"])])
    DecimalSign(sign='.', why='')
    """
    with_comma = [column.name for column in columns if _has_fractions(column, ",")]
    if not with_comma or any(_has_fractions(column, ".") for column in columns):
        return POINT
    more = {1: "", 2: " and one more column"}.get(len(with_comma), f" and {len(with_comma) - 1} more columns")
    return DecimalSign(
        ",", f"the numbers of {with_comma[0]}{more} have a comma before their fraction, and no column has a point there"
    )


def _has_fractions(column: Column, sign: str) -> bool:
    """Whether all values are numbers, some of them with a sign that stands before a fraction for sure."""
    texts = [value for value in column.values if value not in (*ALWAYS, *WORDS)]
    number_format = NumberFormat.of(texts, sign)
    if number_format is None or not all(map(number_format.is_number, texts)) or not any(sign in text for text in texts):
        return False
    others = [other for mark in DECIMAL_SIGNS if mark != sign for other in formats(mark)]
    return not any(all(map(other.is_number, texts)) for other in others)


_MOST_LEVELS = 3
_LARGE_ENOUGH = 0.5
"""Share of the rows that are to be in groups which are not rare, at the longest prefix."""


def likely_prefixes(codes: Sequence[str], counts: CountArray, rare: int) -> tuple[int, ...]:
    """Falling lengths at which codes branch: the longest one at which half of the rows are in groups that are not rare, then
    such as halve the number of groups; none where no prefix puts some codes together and keeps others apart.

    codes: distinct, of one length. counts: rows of each, shape (codes,). rare: rows, fewer of which are rare.

    >>> import numpy as np
    >>> likely_prefixes(["PT-1480", "PT-1485", "PT-3063", "PT-3068"], np.array([9, 9, 9, 9]), 10)
    (6,)
    """
    length = len(codes[0])
    groups = {length_kept: _groups(codes, counts, length_kept) for length_kept in range(length, 0, -1)}
    branching = [
        length_kept
        for length_kept in range(length - 1, 0, -1)
        if 1 < len(groups[length_kept]) < len(groups[length_kept + 1])
    ]
    large = (
        length_kept
        for length_kept in branching
        if _rows_in_large(groups[length_kept], rare) >= _LARGE_ENOUGH * sum(counts.tolist())
    )
    first = next(large, branching[-1] if branching else 0)
    chosen = [first] if first else []
    for length_kept in branching:
        if chosen and length_kept < chosen[-1] and 2 * len(groups[length_kept]) <= len(groups[chosen[-1]]):
            chosen.append(length_kept)
    return tuple(chosen[:_MOST_LEVELS])


def _groups(codes: Sequence[str], counts: CountArray, length: int) -> Counter[str]:
    """The rows of each prefix of a length."""
    groups: Counter[str] = Counter()
    for code, rows in zip(codes, counts.tolist()):
        groups[code[:length]] += rows
    return groups


def _rows_in_large(groups: Counter[str], rare: int) -> int:
    return sum(rows for rows in groups.values() if rows >= rare)


_MOST_CATEGORIES = 100
_MOST_NAMED, _MOST_ROWS = 500, 0.9
"""So many values may be named where there are more, and so many rows have one of them where nobody chose from a list."""
_MOST_PREFIXED = 100_000
_WIDEST_RANGE = 10**8
_FEW_NUMBERS = 20
_LONG_TEXT = 40
_LONG_CATEGORY = 60
"""As long a text may be that enough rows share, and half the values of a list that was chosen from."""
_LONGEST_CATEGORY = 200
"""As long one value of such a list may be, most of whose values enough rows share."""

_HEAPED = 0.1
"""Share of the rows with numbers that enough others have, from which on single numbers are kept where they can be."""
_MANY_MISSING = 0.05
_ALMOST_UNIQUE = 0.9
_FEWEST_KEYS = 30
_ROWS_OF_A_NUMBER = 20
"""Rows of each value on average, at least, of a column that says how many there are of something; a key has fewer."""


@dataclass(frozen=True)
class ColumnDescription:
    """What a file says of a column in words: a description, and the label of each code."""

    description: str = ""
    values: Mapping[str, str] = field(default_factory=dict, hash=False)


_UNSAID = ColumnDescription()


@dataclass(frozen=True)
class Guess:
    """A role, at most one way to generalize, and why, in words that quote no value.

    hierarchy: rows `value, ..., *` of a file that is to be reviewed. is_fitted: whether its levels are fitted to how often
    values occur. missing: what becomes of rows without a value. said: what the file says. question: what only somebody who
    knows the table can answer, which leaves the role open; empty where the guess is sure. is_coarse: whether the values
    themselves are never published, since they tell people apart, but only what they are cut to. start: where intervals are
    counted from. is_alone: whether it is published in a table of its own only, since it would give a sensitive column away.
    apart: numbers that are groups by themselves.
    """

    role: Role
    why: str
    intervals: tuple[int | Decimal, ...] = ()
    prefixes: tuple[int, ...] = ()
    hierarchy: tuple[tuple[str, ...], ...] = ()
    missing: str = "drop"
    said: ColumnDescription = _UNSAID
    dates: tuple[str, ...] = ()
    is_fitted: bool = False
    question: str = ""
    is_coarse: bool = False
    start: int | Decimal = 0
    is_alone: bool = False
    apart: tuple[int | Decimal, ...] = ()


def guess(column: Column, rare: int = RARE, said: ColumnDescription = _UNSAID, role: Role | None = None) -> Guess:
    """The guess on one column by itself. rare: values that fewer rows have are put together in a hierarchy.

    role: what somebody says that it is, for which the way to generalize is guessed alone.
    """
    guessed = _of_values(column, rare, said) if role is None else _with_role(column, rare, said, role)
    if guessed.role.is_used and column.missing > _MANY_MISSING * (column.rows + column.missing):
        share = 100 * column.missing / (column.rows + column.missing)
        lacking = f"{share:.0f} percent of the rows lack a value, which counts as one of its own"
        why = f"{guessed.why}; {lacking}, as they would be left out otherwise"
        guessed = replace(guessed, why=why, missing="as a value")
    return replace(guessed, said=said)


def _with_role(column: Column, rare: int, said: ColumnDescription, role: Role) -> Guess:
    why = "you said so"
    if not role.is_used:
        return Guess(role, why)
    if reason := _not_publishable(column, rare):
        return Guess(Role.IGNORED, f"{why}, but {reason}")
    guess = protected(column, why, "", rare, said) if role is Role.SENSITIVE else _quasi_identifier(column, rare, said)
    return guess if guess.why.startswith(why) else replace(guess, why=f"{why}; {guess.why}")


def _of_values(column: Column, rare: int, said: ColumnDescription) -> Guess:
    if reason := _not_publishable(column, rare):
        return Guess(Role.IGNORED, reason)
    if reason := _identifies(column):
        return Guess(Role.IDENTIFIER, reason)
    if reason := weighs_rows(column):
        return Guess(Role.IGNORED, reason)
    if column.words & PLACES and has_decimals(column):
        return Guess(Role.IGNORED, "its numbers say exactly where somebody is; round them in the table to publish them")
    if (sensitive := _sensitive(column, rare, said)) is not None:
        return sensitive
    if _almost_unique(column):
        return Guess(Role.IDENTIFIER, f"{len(column.values):,} of {column.rows:,} values are different")
    return _asked(column, rare, said)


def _asked(column: Column, rare: int, said: ColumnDescription) -> Guess:
    """The guess on a column of which nothing is sure: what it is taken for, and the question."""
    told = {"name": meaning_of(column.name), "description": meaning_of(said.description)}
    by, maybe = next(((by, told_value) for by, told_value in told.items() if told_value is not None), ("", None))
    if maybe is not None:
        question = f"the {by} says {maybe.word}, which can be about {maybe.about}"
        if maybe.default is Role.SENSITIVE:
            return protected(column, question, question, rare, said)
        return replace(_quasi_identifier(column, rare, said), question=question)
    guess = _quasi_identifier(column, rare, said)
    if not guess.role.is_used or is_recognizable(column.name):
        return guess
    if _is_scale(column):
        question = "the numbers fill a scale such as people judge something on"
        return protected(column, question, question, rare, said)
    is_short = len(words_in_order(said.description)) <= _SHORT_DESCRIPTION
    return guess if is_short and is_recognizable(said.description) else replace(guess, question=UNKNOWN)


_SHORT_DESCRIPTION = 5
"""Words of a description, at most, that is a name; in a question whatever it is about others can be mentioned."""


_SCALES = {(low, high) for low, high in ((1, 5), (0, 10), (1, 10), (1, 7), (1, 11))}
"""The ends of the scales on which people are asked to judge, most of them."""


def _is_scale(column: Column) -> bool:
    """Whether its values are all the numbers of a scale on which people judge something."""
    numbers = _whole_numbers(column)
    if numbers is None or len(numbers) < 5:
        return False
    low, high = int(min(numbers)), int(max(numbers))
    return (low, high) in _SCALES and len(numbers) == high - low + 1 and column.rows >= 10 * len(numbers)


def weighs_rows(column: Column) -> str:
    """Why the numbers of a column say how much a row counts, and nothing about anybody; or nothing."""
    numbers = column.numbers
    if numbers is None or len(numbers) < 3:
        return ""
    sure = next((word for word in words_in_order(column.name) if word.startswith(_SURVEY_WEIGHTS)), "")
    told = sure or next((word for word in words_in_order(column.name) if word in _WEIGHTS), "")
    if not told:
        return ""
    mean = sum(number * count for number, count in zip(numbers, column.counts.tolist())) / column.rows
    decimals = any(number != number.to_integral_value() for number in numbers)
    if not sure and not (decimals and (Decimal("0.5") <= mean <= Decimal("1.5") or mean > _HEAVIEST)):
        return ""  # what somebody weighs, in kilograms, pounds or, of the newborn, grams
    return f"its name says {told}: it weighs rows, so readers need it for no table, and rare weights tell people apart"


_HEAVIEST = 500
"""Pounds that people weigh, at most."""


def _not_publishable(column: Column, rare: int) -> str:
    """Why a column cannot be published as it is, or nothing."""
    if column.name == COUNT:
        return "published tables call their counts so; rename it to publish it"
    if not column.rows:
        return "it has no values that could be counted"
    if len(column.values) == 1:
        return "all its values are the same"
    if column.missing > 2 * column.rows and column.rows < rare:
        return f"fewer than {rare:,} rows have a value"
    if not all(value.isprintable() for value in column.values):
        return "some values hold line breaks or other characters that cannot be seen"
    return ""


def _identifies(column: Column) -> str:
    """Why a column identifies people, by its name or how often its values repeat, or nothing."""
    distinct, rows = len(column.values), column.rows
    if naming := _names_people(column):
        return f"its name says {naming}, which tells people apart even where several share a value"
    if (by_name := column.words & IDENTIFYING) and 2 * distinct > rows and not (_is_of_something(column.name)):
        return f"its name says {' '.join(sorted(by_name))}, and {distinct:,} of {rows:,} values are different"
    if sum(map(_is_mail, column.values)) > distinct / 2:
        return "its values are addresses of mail"
    if distinct >= _FEWEST_NAMES and sum(map(_is_phone, column.values)) > _ALMOST_UNIQUE * distinct:
        return "its values look like numbers of telephones or of the kind of a social security number"
    if distinct == rows >= _FEWEST_NAMES and column.words & NUMBERING and are_numbers_of_things(column):
        return f"its name says {' '.join(sorted(column.words & NUMBERING))}, and all {rows:,} values are different"
    if distinct < _FEWEST_KEYS or rows < 2 * distinct or not are_numbers_of_things(column) or has_decimals(column):
        return ""
    are_numbers_of = says_how_many(column.name) and _look_counted(column)
    numbering = " ".join(sorted(column.words & NUMBERING)) or other_numbered(column.name)
    if numbering and not column.words & CATEGORIES and not are_numbers_of:
        reason = f"it seems to number who the rows are about, {rows / distinct:,.1f} rows each"
        return f"its name says {numbering}: {reason}"
    if files := _numbers_files(column):
        return f"its name says {files}: it seems to number files about people, {rows / distinct:,.1f} rows each"
    is_other = column.words & (AGES | TIMES | _STRATA) or _is_of_something(column.name) or _are_amounts(column)
    if column.counts.min() == column.counts.max() and not is_other:
        return f"each of its {distinct:,} values is in {column.counts[0]:,} rows, like a key of which each has several"
    return ""


_UNEVEN = 10
"""Times as many rows as half the values have, at least, that the most frequent of counts has; keys repeat more evenly."""


def _look_counted(column: Column) -> bool:
    """Whether numbers that may be counts repeat as counts do: often, very unevenly, or none at all among them."""
    is_frequent = column.rows >= _ROWS_OF_A_NUMBER * len(column.values)
    is_uneven = column.counts.max() >= _UNEVEN * np.median(column.counts)
    is_plural = words_in_order(column.name)[-1].endswith("s")
    return is_frequent or bool(is_uneven) or is_plural or "0" in column.values


_FEWEST_NAMES = 10
"""Different values of a column that is called `name`, at least, where they may be those of people."""

_FILES = _set(
    "case chart record file dossier expediente akte aktenzeichen hospital account claim policy fall fallnummer"
)
_NUMBERS = _set("no nr num number nummer numero id chart dossier expediente aktenzeichen fallnummer numer")


def _names_people(column: Column) -> str:
    """The words of its name that say that its values name people, or nothing."""
    words, distinct = column.words, len(column.values)
    if words & _OF_NO_PERSON or distinct < 3 or has_decimals(column):
        return ""
    if by_name := words & NAMING:
        return " ".join(sorted(by_name))
    if words & {"name", "names"} and words & _PARTS_OF_NAMES:
        return " ".join(word for word in words_in_order(column.name) if word in _PARTS_OF_NAMES | {"name", "names"})
    called = words & {"name", "names", "nom", "nombre", "naam", "nazwa"}
    if called and len(words) == 1 and distinct >= _FEWEST_NAMES and column.numbers is None:
        return " ".join(called)
    return ""


def _numbers_files(column: Column) -> str:
    """The words of its name that say that it numbers files about people, as `chart` or `hospital_number`, or nothing."""
    if not column.words & _FILES or not column.words & _NUMBERS or column.rows > _ROWS_OF_A_NUMBER * len(column.values):
        return ""
    return " ".join(word for word in words_in_order(column.name) if word in _FILES | _NUMBERS)


def _is_phone(value: str) -> bool:
    """Whether a value is spelled as a number of a telephone, or of a person, with signs between its digits."""
    is_divided = value[:1] in ("+", "(") or sum(map(value.count, " -/.")) >= 2
    if not is_divided or not re.fullmatch(r"[+(]?[0-9][0-9 ()/.-]{5,}[0-9]", value):
        return False
    return sum(c.isdigit() for c in value) >= 9 and not re.fullmatch(r"[0-9]{5}-[0-9]{4}", value)


def _is_mail(value: str) -> bool:
    return "@" in value and re.fullmatch(r"[^@\s]+@[^@\s]+\.[A-Za-z]+", value) is not None


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


def _sensitive(column: Column, rare: int, said: ColumnDescription) -> Guess | None:
    """The guess on a column that nobody should learn, by its name, its description or its values; None for any other."""
    labels = [said.values[value] for value in column.values if value in said.values]
    if (told := meaning_of(column.name)) is not None and told.is_sure:
        return protected(column, f"its name says {told.word}, which is about {told.about}", "", rare, said)
    if (told := meaning_of(said.description)) is not None and told.is_sure:
        return protected(column, f"its description says {told.word}, which is about {told.about}", "", rare, said)
    if (told := meaning_of_values(column, labels)) is not None:
        question = "" if told.is_sure else f"the values look like {told.about}"
        return protected(column, f"its values look like {told.about}", question, rare, said)
    if _are_diagnoses(column):
        why = "its values look like codes of diagnoses (ICD)"
        return Guess(Role.SENSITIVE, why, prefixes=(3, 1), is_fitted=True)
    return None


def protected(column: Column, why: str, question: str, rare: int, said: ColumnDescription) -> Guess:
    """The guess on a column that nobody should learn about anybody. question: why it is asked whether that is so; maybe "".

    rare, said: as `guess` takes them.
    """
    try:
        grouped = in_groups(Attribute(Role.SENSITIVE, values=said.values), column.values, column.counts, column.format)
    except InputError:
        return _kept_back(why, "only some of its values can be read as numbers or dates")
    if grouped.intervals or grouped.dates:
        kind = "numbers" if grouped.intervals else "dates"
        grouping = f"its {len(column.values)} different {kind} are published in groups only{_zero_apart(grouped.start)}"
        why = why if why.endswith(grouping) else f"{why}; {grouping}"
        return Guess(
            Role.SENSITIVE,
            why,
            grouped.intervals,
            dates=grouped.dates,
            is_fitted=True,
            question=question,
            start=grouped.start,
            apart=grouped.apart,
        )
    named = _named(column, rare)
    if len(column.values) > _MOST_CATEGORIES:
        if not _hold_most_rows(named, column):
            return _kept_back(why, f"it has {len(column.values):,} different values: group them in the table first")
        why = f"{why}; of its {len(column.values):,} values those that fewer than {rare} rows have are merged"
    if _holds_long_texts(_named(column, rare) if len(column.values) > _MOST_CATEGORIES else column, rare):
        return _kept_back(why, "some values are long texts, which may say anything")
    fitted = len(column.values) > 2 and len(named.values) < len(column.values)
    return Guess(Role.SENSITIVE, why, is_fitted=fitted, question=question)


def _named(column: Column, rare: int) -> Column:
    """The values that a release may name, which enough rows have; others are merged."""
    enough = column.counts >= rare
    return replace(column, values=tuple(compress(column.values, enough)), counts=column.counts[enough])


def _hold_most_rows(named: Column, column: Column, share: float = 0.5) -> bool:
    """Whether there are some values that a release may name, not too many, and most rows have one of them."""
    return 2 <= len(named.values) <= _MOST_NAMED and bool(named.counts.sum() >= share * column.counts.sum())


def set_apart(guess: Guess, column: Column, why: str, question: str, rare: int) -> Guess:
    """The guess on a column that gives a sensitive one away: it is sensitive too, and has a table of its own only.

    Such a table has everybody in one class. So whoever knows how the two columns go together, but neither value of anybody,
    concludes of a class of another table what the shares of the other column say there: each value of this one has its share
    of the rows, divided as that of the other one. What follows from the other column is then as uncertain as its values are;
    what determines it splits their shares, which leaves no criterion of shares worse. guess: until now. rare: as
    `guess` takes it.
    """
    apart = protected(column, f"{guess.why}; {why}", question, rare, guess.said)
    return replace(apart, missing=guess.missing, said=guess.said, is_alone=apart.role.is_used)


def _kept_back(why: str, reason: str) -> Guess:
    """The guess on a column that nobody should learn and that cannot be published as it is, which is asked about."""
    return Guess(
        Role.IGNORED, f"{why}; nobody should learn it, but {reason}", question=f"nobody should learn it, but {reason}"
    )


_MOST_OTHER = 0.1
"""Share of the rows, at most, whose value is no code among those of diagnoses."""


def _are_diagnoses(column: Column) -> bool:
    """Whether nearly all rows have codes of the International Classification of Diseases, of several chapters."""
    code = re.compile(r"[A-TV-Z][0-9][0-9AB](\.?[0-9A-Z]{1,4})?")
    are_codes = np.array([code.fullmatch(value) is not None for value in column.values])
    letters = {value[0] for value, is_code in zip(column.values, are_codes.tolist()) if is_code}
    return len(letters) >= 5 and bool(column.counts[~are_codes].sum() <= _MOST_OTHER * column.rows)


def _quasi_identifier(column: Column, rare: int, said: ColumnDescription) -> Guess:
    if column.rows - int(column.counts.max()) + column.missing < rare:
        return Guess(
            Role.IGNORED, f"all but fewer than {rare:,} rows have the same value, which are too few to be shown"
        )
    distinct = len(column.values)
    numbers = column.numbers
    labelled = 2 * sum(value in said.values for value in column.values) > distinct
    if numbers is not None and not labelled and not (_are_codes_by_name(column) and _whole_numbers(column) is not None):
        return _of_numbers(column, numbers, rare)
    if (units := likely_units(column.values)) is not None:
        is_birth = bool(column.words & BIRTHS)
        units = tuple(unit for unit in units if unit != "day" or not is_birth)
        why = f"dates, from {units[0]}s on as fine as their rows allow"
        why = f"{why}; the day of birth itself is never published" if is_birth else why
        return Guess(Role.QUASI_IDENTIFIER, why, dates=units, is_fitted=True, is_coarse=is_birth)
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
        is_block = bool(prefixes) and all(re.fullmatch(r"[0-9]{5}-[0-9]{4}", value) for value in column.values)
        why = f"{why}, a block of houses each, which is never published itself" if is_block else why
        return Guess(Role.QUASI_IDENTIFIER, why, prefixes=prefixes, is_fitted=not is_block, is_coarse=is_block)
    if distinct > _MOST_CATEGORIES and not _hold_most_rows(_named(column, rare), column, _MOST_ROWS):
        return Guess(
            Role.IGNORED, f"{distinct:,} different texts are too many to guess how they go together; write a hierarchy"
        )
    if _holds_long_texts(column, rare):
        return Guess(Role.IGNORED, "some values are long texts, which may say anything")
    named = "numbers that stand for names, as its labels say" if labelled and numbers else ""
    named = named or ("numbers that stand for names, as its name says" if numbers else "categories")
    return _of_categories(column, rare, named)


def _holds_long_texts(column: Column, rare: int) -> bool:
    """Whether some values may be what somebody wrote: long, and not those of a short list from which was chosen."""
    lengths = np.array([len(value) for value in column.values])
    are_rare = column.counts < rare
    are_long = lengths > np.where(are_rare, _LONG_TEXT, _LONG_CATEGORY)
    if not are_long.any():
        return False
    are_chosen = 2 * are_rare.sum() <= len(lengths) <= _MOST_CATEGORIES
    are_short = 2 * (lengths <= _LONG_CATEGORY).sum() >= len(lengths) and lengths.max() <= _LONGEST_CATEGORY
    return not (are_chosen and are_short)


def _are_codes_by_name(column: Column) -> bool:
    """Whether the name says that its numbers are names: codes of one length, or of few things."""
    if column.words & CODES and _lengths(column):
        return True
    numbering = any(word.endswith(("num", "code", "nr")) for word in column.words)
    return (numbering and _lengths(column)) or bool(column.words & CATEGORIES and len(column.values) > 2)


def _of_numbers(column: Column, numbers: Sequence[Decimal], rare: int) -> Guess:
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
    why = "ages" if are_ages else f"{distinct:,} different {kind}"
    widths = finest_width(numbers, column.counts, are_ages)
    is_heaped = column.counts[column.counts >= rare].sum() >= _HEAPED * column.counts.sum()
    if is_heaped and not (are_whole and are_ages) and (not are_whole or widths):
        why = f"{why}, in bands that hold enough rows; many rows share a value"
        return Guess(Role.QUASI_IDENTIFIER, why, is_fitted=True)
    start = bands_begin(numbers, column.counts) if widths else 0
    why = f"{why}, in bands that hold enough rows{_zero_apart(start)}"
    return Guess(Role.QUASI_IDENTIFIER, why, intervals=widths, is_fitted=True, start=start)


def _zero_apart(start: int | Decimal) -> str:
    return ", 0 by itself" if start else ""


def _of_categories(column: Column, rare: int, kind: str = "categories") -> Guess:
    distinct, uncommon = len(column.values), int((column.counts < rare).sum())
    if distinct <= 2:
        return Guess(Role.QUASI_IDENTIFIER, f"{distinct} {kind}, published as they are or not at all")
    if not uncommon:
        why = f"{distinct:,} {kind}, none of them rare; levels merge them step by step"
        return Guess(Role.QUASI_IDENTIFIER, why, is_fitted=True)
    why = f"{distinct:,} {kind}, of which {uncommon:,} {'is' if uncommon == 1 else 'are'} rare and merged with others"
    return Guess(Role.QUASI_IDENTIFIER, why, is_fitted=True)


def _whole_numbers(column: Column) -> Sequence[Decimal] | None:
    """The values as numbers, where all are whole, such as 5 or 5.0."""
    numbers = column.numbers
    return numbers if numbers and all(number == number.to_integral_value() for number in numbers) else None


def has_decimals(column: Column) -> bool:
    """Whether all values are numbers and some not whole."""
    return column.numbers is not None and _whole_numbers(column) is None


def _lengths(column: Column) -> bool:
    """Whether all values are codes of one length, with a digit each."""
    length = len(column.values[0])
    code = re.compile(r"[A-Za-z0-9./-]*[0-9][A-Za-z0-9./-]*")
    return length >= 3 and all(len(value) == length and code.fullmatch(value) for value in column.values)
