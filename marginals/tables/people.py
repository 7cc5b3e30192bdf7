"""Whose rows these are: the person of each row, keys that look like one, and how many rows of each person count."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marginals.errors import InputError, TooLittleMemoryError
from marginals.keys import Key, check_settings, is_text, setting
from marginals.tables.attribute import Attribute, Role, words_in_order, words_of
from marginals.tables.distinct_rows import (
    DistinctRows,
    Divisible,
    Engine,
    InOrder,
    Source,
    Values,
    concatenated,
    merged,
)
from marginals.tables.values import POINT
from marginals.tables.words import people_words
from models.arrays import BoolArray, CountArray, IndexArray
from models.tables.contingency_table import pack

# Whether a table has the columns that are described, and its first line names them.
#
# The first line of a CSV file without a header is a record, and its "names" are a person's values. Such a file must
# not be read any further: names of columns are printed, written into configs and published.


_NO_PEOPLE = ("others", "strata_and_units", "sampling")
"""Keys of the words for what is no person, though it may be numbered."""

_MANY = 10
"""Different values of a column that is called after people."""

_ROWS_OF_FEW = 10
"""Rows of each value on average, at most, of a column with fewer values: a scale of a few steps is nobody's number."""


@dataclass(frozen=True)
class RepeatingKey:
    """A column that looks like a key and repeats.

    values: different ones. rows: those that have one. sign: what else says so.
    """

    column: str
    values: int
    rows: int
    sign: str = ""

    @property
    def why(self) -> str:
        """What is noticed of it."""
        beside = f", and {self.sign}" if self.sign else ""
        return f"looks like a key and repeats: {self.values:,} values in {self.rows:,} rows{beside}"

    def __str__(self) -> str:
        return f"{self.column!r} {self.why}"


def unit_refusal(repeating: Sequence[RepeatingKey]) -> InputError:
    """The sentence for a table of which nobody has said whose rows these are. repeating: its keys, one at least."""
    person = json.dumps(repeating[0].column, ensure_ascii=False)
    return InputError(
        f"{'; '.join(map(str, repeating))}. k rows may then be fewer than k people, so say in [data] whose rows these are: "
        f'person = {person} with one_row = "first", or with rows_per_person = 5 to keep so many rows of each; '
        'rows_per_person = 1 if each row is a person of its own; rows_per_person = "any" if claims shall count rows'
    )


def possible_keys(columns: Sequence[str], attributes: Mapping[str, Attribute]) -> list[str]:
    """The columns that may be keys of people: identifiers, and what is called like one. attributes: those described.

    >>> possible_keys(["patientId", "hospital_id", "age", "name", "customer_calls"], {"name": Attribute("identifier")})
    ['patientId']
    """
    identifiers = {name for name, attribute in attributes.items() if attribute.role is Role.IDENTIFIER}
    return [
        column
        for column in dict.fromkeys(columns)
        if columns.count(column) == 1
        and not is_called_otherwise(column)
        and (column in identifiers or _is_number_of_somebody(column) or _is_called_after_people(column))
    ]


def is_called_otherwise(column: str) -> bool:
    """Whether a column is called after something that is no person, as `hospital_id` or `hhid`, or what several share."""
    is_other = words_of(column) & people_words("names", *_NO_PEOPLE)
    return bool(is_other or other_numbered(column))


def other_numbered(column: str) -> str:
    """The word of a column's name that says that it numbers what is no person: `hhid`; empty for none.

    >>> other_numbered("hhid"), other_numbered("respid"), other_numbered("opioid")
    ('hhid', '', '')
    """
    return " ".join(f"{what}id" for what in _numbered_in(column) & people_words(*_NO_PEOPLE))


def _is_called_after_people(column: str) -> bool:
    """Whether a column is called after people, and not after what it tells of them: `patient`, not `patient_weight`."""
    words = words_in_order(column)
    if not people_words("people") & set(words):
        return False
    numbers_them = words[-1] in people_words("people", "keys", "numbered")
    return numbers_them or not (words[-1] in people_words("measures") or words[0] in people_words("counting"))


def _is_number_of_somebody(column: str) -> bool:
    """Whether a column is called like a number of people: `id`, `patient_id`, `respid`, and not `familyid` or `paid`."""
    return bool(words_of(column) & people_words("keys") or _numbered_in(column) - people_words(*_NO_PEOPLE))


def _numbered_in(column: str) -> set[str]:
    """What one word of a column's name says that it numbers: `hh` of `hhid`, `resp` of `respid`, nothing of `paid`."""
    ends = {word for word in words_of(column) if word.endswith("id")} - people_words("no_ids")
    return {word.removesuffix("id") for word in ends} - {""}


def repeating_keys(source: Source, keys: Sequence[str], missing: Collection[str]) -> Iterator[RepeatingKey]:
    """Those of some columns that repeat. missing: texts that stand for no value, beside null and NaN."""
    for key in keys:
        try:
            values, rows = _occurrences(source, key, missing)
        except TooLittleMemoryError:
            raise
        except InputError:  # lists and the like are no keys
            continue
        least = 2 if words_of(key) & people_words("keys") and rows <= _ROWS_OF_FEW * values else _MANY
        if least <= values < rows:
            yield RepeatingKey(key, values, rows)


def _occurrences(source: Source, column: str, missing: Collection[str]) -> tuple[int, int]:
    """How many different values a column has, and how many rows have one."""
    if isinstance(source, Engine):
        return source.occurrences(column, missing)
    rows = source.distinct_rows([column])
    texts = rows.values[column]
    counted = [(texts[code], n) for code, n in zip(rows.codes[column].tolist(), rows.counts.tolist())]
    whole = [(text, n) for text, n in counted if text is not None and text not in missing]
    return len({text for text, _ in whole}), sum(n for _, n in whole)


ONE_ROW = ("first", "last", "random")
"""Which row of a person can be the one that is counted."""

ANY = "any"
"""What is said of a table in which a person may have any number of rows, so that rows are what is counted."""

MOST_ROWS_OF_A_PERSON = 1_000_000
"""Rows of a person that anybody would count."""

RowsPerPerson = int | Literal["any"] | None
"""At most so many rows are of one person; "any" number; or nobody has said."""


@dataclass(frozen=True)
class Unit:
    """What the claims of a release count.

    person: the column that says whose row it is. one_row: which row of each person counts, "first" or "last" in the order
    of the table, or "random". rows_per_person: instead of one, so many rows of each person count at most, drawn at
    random; without `person` it is the word of whoever says it; "any" says that claims count rows, whoever they are of.
    With `person` alone no person may have several rows. With none of the three nobody has said what a row is.

    What is drawn at random depends on the texts of a person and its rows alone, not on their order or on what reads them:
    the same table always gives the same rows. Raises InputError for settings that do not go together.

    >>> Unit("patient", one_row="first").stated, Unit(rows_per_person="any").stated, Unit().stated
    (1, 'any', None)
    """

    person: str | None = setting(
        None, Key(lambda name: name is None or is_text(name), "name the column that says whose row it is")
    )
    one_row: str | None = setting(
        None, Key(lambda row: row is None or row in ONE_ROW, f"be {' or '.join(map(json.dumps, ONE_ROW))}")
    )
    rows_per_person: RowsPerPerson = setting(
        None,
        Key(
            lambda most: most in (None, ANY) or (type(most) is int and 1 <= most <= MOST_ROWS_OF_A_PERSON),
            f'be a whole number from 1 to {MOST_ROWS_OF_A_PERSON:,}, or "{ANY}" where rows are what is counted',
        ),
    )

    def __post_init__(self) -> None:
        check_settings(self)
        most = self.rows_per_person
        if self.one_row is not None and self.person is None:
            raise InputError("one_row needs person, the column that says whose row it is")
        if self.one_row is not None and most is not None:
            raise InputError("one_row and rows_per_person do not go together; keep one row of each person, or several")
        if self.person is not None and most == ANY:
            raise InputError(f'with rows_per_person = "{ANY}" claims count rows, so leave out person')

    @property
    def stated(self) -> RowsPerPerson:
        """How many rows are of one person at most, as a release states it."""
        return 1 if self.person is not None and self.rows_per_person is None else self.rows_per_person

    @property
    def most(self) -> int:
        """How many rows of each person count at most, where `person` names them."""
        return self.rows_per_person if isinstance(self.rows_per_person, int) else 1

    @property
    def needs_order(self) -> bool:
        """Whether the order of the rows decides which are counted."""
        return self.one_row in ("first", "last")

    def check(self, used: Mapping[str, "Attribute"]) -> None:
        """Raise InputError where the column of people would be published. used: the attributes that can be."""
        if self.person is not None and self.person in used:
            raise InputError(
                f"person names {self.person!r}, which is a {used[self.person].role.value}; who somebody is cannot be "
                'published, so give the column the role "identifier"'
            )


Complete = Callable[[DistinctRows], BoolArray]
"""Which rows lack no value, and say whose they are."""


Lacking = Callable[[DistinctRows], Mapping[str, int]]
"""How many rows lack a value of each column."""


@dataclass(frozen=True, eq=False)
class PeopleRows:
    """The rows that count, without the column of people.

    dropped: rows that lack a value; lacking: of each column. left_out: rows beyond those that count of their person.
    """

    rows: DistinctRows
    dropped: int
    lacking: Mapping[str, int]
    left_out: int


def people_rows(
    source: Source, columns: Sequence[str], unit: Unit, *, complete: Complete, lacking: Lacking, most: int
) -> PeopleRows:
    """Return the rows of a table that count. unit: with the column that says whose row it is.

    complete: which rows can count; the others are dropped before it is chosen which of a person count. lacking: what these
    lack. most: rows that fit into memory. Raises InputError where a person has several rows and nothing says which of them
    count, and where the order that is to decide is not known.
    """
    person = unit.person
    assert person is not None
    batches: list[DistinctRows] = []
    dropped = left_out = 0
    lacks: Counter[str] = Counter()
    for part in _parts(source, columns, unit, person, most):
        rows = part.taken(np.where(complete(part), part.counts, 0))
        dropped += int(part.counts.sum() - rows.counts.sum())
        lacks.update(lacking(part))
        if unit.needs_order and batches:
            rows = concatenated(batches.pop(), rows)
        chosen = rows.taken(kept_of_each(rows, unit, person, source.name))
        left_out += int(rows.counts.sum() - chosen.counts.sum())
        batches = [chosen] if unit.needs_order else [merged([*batches, chosen.without(person)])]
    if not batches:
        raise InputError(f"{source.name} has no row")
    only = batches[0].without(person) if unit.needs_order else batches[0]
    return PeopleRows(only, dropped, lacks, left_out)


def _parts(source: Source, columns: Sequence[str], unit: Unit, person: str, most: int) -> Iterable[DistinctRows]:
    if not unit.needs_order:
        if isinstance(source, Divisible):
            return source.rows_by(person, columns, most)
        return [source.distinct_rows([person, *columns])]
    if not isinstance(source, InOrder):
        raise InputError(
            f"the rows of {source.name} have no order, so nothing tells which is the {unit.one_row} of a person; "
            'take one_row = "random"'
        )
    return source.rows_in_order([person, *columns])


def kept_of_each(rows: DistinctRows, unit: Unit, person: str, name: str) -> CountArray:
    """How many of each of some rows count, all of which have a person: shape (rows,). name: what messages call the table.

    Raises InputError where a person has several rows and nothing says which of them count, and where two values are one
    number.
    """
    _check_spellings(rows.values[person], person, name)
    people = _ranked(rows.values[person])[rows.codes[person]]
    if unit.needs_order:
        order = np.arange(len(rows)) if unit.one_row == "first" else np.arange(len(rows))[::-1]
        _, firsts = np.unique(people[order], return_index=True)
        drawn = np.zeros(len(rows), dtype=np.int64)
        drawn[order[firsts]] = 1
        return drawn
    drawn = _drawn(rows, people, person, unit.most)
    if unit.one_row is None and unit.rows_per_person is None and drawn.sum() < rows.counts.sum():
        several = int((np.bincount(people, rows.counts) > 1).sum())
        raise InputError(
            f"{name}: {several:,} of {len(np.unique(people)):,} values of {person!r} have several rows, so k rows may be "
            'fewer than k people; say one_row = "first", "last" or "random", or how many rows of each count at most, for '
            "example rows_per_person = 5"
        )
    return drawn


def _drawn(rows: DistinctRows, people: IndexArray, person: str, most: int) -> CountArray:
    """How many of each of the rows are drawn, `most` of each person; the draw depends on texts alone.

    people: one number a row, the same for the same person. Each row of a person has a number by its texts, and by how many
    of the rows just like it came before; those with the smallest numbers are drawn.
    """
    row_of: IndexArray = np.repeat(np.arange(len(rows)), rows.counts)
    names = [person, *sorted(column for column in rows.codes if column != person)]
    ranked = [_ranked(rows.values[column])[rows.codes[column]] for column in names]
    content, _ = pack(ranked, [len(rows.values[column]) + 1 for column in names], len(rows))
    by_content = row_of[np.argsort(content[row_of], kind="stable")]
    ordered = content[by_content]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, dtype=np.intp)
    alike = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    numbers = np.zeros(len(ordered), dtype=np.uint64)
    for column in names:
        numbers = _mixed(numbers ^ _hashed(column, rows.values[column])[rows.codes[column]][by_content])
    numbers = _mixed(numbers + alike.astype(np.uint64))
    owners = people[by_content]
    order = np.lexsort((numbers, owners))
    begins = np.flatnonzero(np.r_[True, np.diff(owners[order]) != 0]) if len(order) else np.zeros(0, dtype=np.intp)
    place = np.arange(len(order)) - np.repeat(begins, np.diff(np.r_[begins, len(order)]))
    drawn: CountArray = np.bincount(by_content[order[place < most]], minlength=len(rows)).astype(np.int64)
    return drawn


def _check_spellings(texts: Values, person: str, name: str) -> None:
    """Raise InputError where two values are the same number, as 1001 and 1001.0: one person would count as two."""
    spelled: dict[str, str] = {}
    for text in texts:
        if text is None or (other := spelled.setdefault(POINT.canonical(text), text)) == text:
            continue
        raise InputError(
            f"{name}: two values of {person!r} are the same number in two spellings, of the forms {_form(other)!r} and "
            f"{_form(text)!r} (9 stands for any digit), so one person could count as two; write each person in one way"
        )


def _form(number: str) -> str:
    """A spelling of a number without its digits, but for zeros that say nothing of it.

    >>> _form("1001"), _form("0450"), _form("1001.00")
    ('9999', '0999', '9999.00')
    """
    head = len(number) - len(number.lstrip("0"))
    tail = len(number) - len(number.rstrip("0")) if "." in number else 0
    return "0" * head + re.sub("[0-9]", "9", number[head : len(number) - tail]) + "0" * tail


def _ranked(texts: Values) -> IndexArray:
    """For each text its place among the different ones in order, 0 for none; two values can have one text."""
    places: Mapping[str, int] = {text: i for i, text in enumerate(sorted({t for t in texts if t is not None}), 1)}
    return np.array([0 if text is None else places[text] for text in texts], dtype=np.intp)


def _hashed(column: str, texts: Values) -> NDArray[np.uint64]:
    """A number for each text of a column that nothing else tells, the same on every machine."""
    prefix = f"{column}\0".encode("utf-8", "surrogatepass")
    digests = (blake2b(prefix + (t or "").encode("utf-8", "surrogatepass"), digest_size=8).digest() for t in texts)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One number for each, all bits of which depend on all of it (the finalizer of SplitMix64, Steele et al. 2014)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


# How many rows of each person a first config lets count, where the rows of a table are visits of people.


_WORTH = 1.5
"""Times as many rows as one of each person, at least, for which it is worth to count several."""

_COARSER = 2.0
"""Times as few people could fill a class, at most: with r rows a person, it needs k * r rows."""

_NEARLY_ALL = 0.95
"""Share of the rows from which on it is not worth to count more of each person."""


def worth_counting(rows_of_each: CountArray) -> range:
    """How many rows of each person can be worth to count rather than one, the best number first; none where one is as good.

    rows_of_each: of each person, 1 or more, shape (people,). With r rows a person, sum(min(rows, r)) rows count and a class
    needs k * r, so the classes are as many as with sum(min(rows, r)) / r people: at least half of all, and no more of each
    than nearly all rows need.

    >>> list(worth_counting(np.array([2] * 50))), list(worth_counting(np.array([1] * 90 + [40] * 10)))
    ([2], [])
    """
    people, rows = len(rows_of_each), int(rows_of_each.sum())
    most = int(rows_of_each.max(initial=1))
    more_than = (
        people - np.cumsum(np.bincount(rows_of_each, minlength=most + 1))[:-1]
    )  # people with more than 0, 1, ...
    row_totals = np.cumsum(more_than)  # rows, with 1, 2, ... of each
    row_numbers = np.arange(1, most + 1)
    is_worth = (row_totals * _COARSER >= people * row_numbers) & (row_totals >= _WORTH * people)
    enough = int(np.searchsorted(row_totals, _NEARLY_ALL * rows) + 1)
    worth = row_numbers[is_worth & (row_numbers <= enough)]
    return range(int(worth.max()), int(worth.min()) - 1, -1) if len(worth) else range(0)
