"""People and their rows: the person of each row, keys that look like one, and how many rows of each person count."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from math import inf
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marginals.errors import InputError, TooLittleMemoryError
from marginals.keys import Key, are, check_settings, is_text, one_of, setting
from marginals.messages import few
from marginals.tables.attribute import Attribute, Role, words_in_order, words_of
from marginals.tables.distinct_rows import (
    DistinctRows,
    InOrder,
    Source,
    Values,
    concatenated,
)
from marginals.tables.spellings import cell_text, folded
from marginals.tables.values import POINT
from marginals.tables.words import people_words
from models.arrays import BoolArray, CodeArray, CountArray, IndexArray
from models.frozen import frozen
from models.tables.contingency_table import pack

_NO_PEOPLE = ("others", "strata_and_units", "sampling")  # things that may be numbered, too
_MANY = 10  # different values of a column that is called after people
_ROWS_OF_FEW = 10  # rows of a value on average: a scale of a few steps is nobody's number


Person = str | tuple[str, ...] | None  # column that says whose row it is, or several together


def columns_of(person: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns that say whose row it is."""
    return () if person is None else (person,) if isinstance(person, str) else tuple(person)


@frozen
class RepeatingKey:
    """Columns that look like a key and repeat. values: different ones. rows: those with one. sign: other evidence."""

    columns: tuple[str, ...]
    values: int
    rows: int
    sign: str = ""

    @property
    def person(self) -> str | tuple[str, ...]:
        """Value of the config key person."""
        return self.columns[0] if len(self.columns) == 1 else self.columns

    @property
    def why(self) -> str:
        """Evidence in words."""
        sign = f", and {self.sign}" if self.sign else ""
        return f"looks like a key and repeats: {few(self.values, self.rows)} values in {self.rows:,} rows{sign}"

    def __str__(self) -> str:
        return f"{' with '.join(map(repr, self.columns))} {self.why}"


def unit_refusal(repeating: Sequence[RepeatingKey]) -> InputError:
    """Return the refusal of a table whose unit nobody has declared. repeating: its keys, one at least."""
    person = json.dumps(repeating[0].person, ensure_ascii=False)
    return InputError(
        f"{'; '.join(map(str, repeating))}. k rows may then be fewer than k people, so say in [data] whose rows these are: "
        f'person = {person} with one_row = "first", or with rows_per_person = 5 to keep so many '
        'rows of each; rows_per_person = 1 if each row is a person of its own; rows_per_person = "any" if claims shall '
        "count rows"
    )


def possible_keys(columns: Sequence[str], attributes: Mapping[str, Attribute]) -> list[str]:
    """Return the columns that may be keys of people: identifiers, and columns with such a name."""
    identifiers = {name for name, attribute in attributes.items() if attribute.role is Role.IDENTIFIER}
    once = [name for name in dict.fromkeys(columns) if columns.count(name) == 1 and not is_called_otherwise(name)]
    numbered_people = {name for name in once if _numbered_in(name) - people_words(*_NO_PEOPLE)}
    keys = identifiers | numbered_people | {name for name in once if words_of(name) & people_words("keys")}
    return [name for name in once if name in keys or _is_called_after_people(name)]


def is_called_otherwise(column: str) -> bool:
    """Return whether a column is named after something that is no person, as `hospital_id` or `hhid`."""
    return bool(words_of(column) & people_words("names", *_NO_PEOPLE) or other_numbered(column))


def other_numbered(column: str) -> str:
    """Return the word of a column's name for a number of something that is no person: `hhid`; empty for none."""
    return " ".join(f"{what}id" for what in _numbered_in(column) & people_words(*_NO_PEOPLE))


def _is_called_after_people(column: str) -> bool:
    words = words_in_order(column)
    if not people_words("people").intersection(words):
        return False
    tells = words[-1] in people_words("measures") or words[0] in people_words("counting")
    return words[-1] in people_words("people", "keys", "numbered") or not tells


def _numbered_in(column: str) -> set[str]:
    ends = {word for word in words_of(column) if word.endswith("id")} - people_words("no_ids")
    return {word.removesuffix("id") for word in ends} - {""}


def repeating_keys(
    source: Source, keys: Sequence[str], missing: Collection[str], most: float = inf
) -> Iterator[RepeatingKey]:
    """Yield the columns that repeat. missing: texts that stand for no value. most: values that fit into memory."""
    for key in keys:
        try:
            rows_of_key = _distinct_rows(source, [key], most)
        except TooLittleMemoryError:
            raise TooLittleMemoryError(
                f"column {key!r} of {source.name}, a possible key of people,",
                "say rows_per_person = 1 if each row is of another person",
            ) from None
        except InputError:  # lists and the like are no keys
            continue
        texts, _ = spelled_keys([None if text in missing else text for text in rows_of_key.values[key]])
        counts = np.bincount(_ranked(texts)[rows_of_key.codes[key]], rows_of_key.counts)[1:]
        values, rows = int((counts > 0).sum()), int(counts.sum())
        least = 2 if words_of(key) & people_words("keys") and rows <= _ROWS_OF_FEW * values else _MANY
        if least <= values < rows:
            yield RepeatingKey((key,), values, rows)


def _distinct_rows(source: Source, columns: Sequence[str], most: float) -> DistinctRows:
    rows = source.distinct_rows(columns, most) if isinstance(source, InOrder) else source.distinct_rows(columns)
    if len(rows) > most:
        raise TooLittleMemoryError(source.name)
    return rows


ONE_ROW = ("first", "last", "random")
ANY = "any"
MOST_ROWS_OF_A_PERSON = 1_000_000

RowsPerPerson = int | Literal["any"] | None  # most rows of one person; None if nobody has declared it


@frozen
class Unit:
    """Unit that the claims of a release count, by three keys of the section [data].

    A random choice depends on the texts of a person and its rows alone, so the same table always gives the same rows.
    Raises InputError for settings that do not go together.
    """

    person: Person = setting(
        None,
        Key(
            lambda names: is_text(names) or (are(is_text)(names) and 0 < len(set(names)) == len(names)),
            'name the column that says whose row it is, or several as in ["household", "member"]',
        ),
    )
    one_row: str | None = setting(None, one_of(ONE_ROW))
    rows_per_person: RowsPerPerson = setting(
        None,
        Key(
            lambda most: most == ANY if is_text(most) else type(most) is int and 1 <= most <= MOST_ROWS_OF_A_PERSON,
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
    def columns(self) -> tuple[str, ...]:
        """Columns that say whose row it is."""
        return columns_of(self.person)

    @property
    def declared(self) -> RowsPerPerson:
        """Most rows of one person, as a release states it."""
        return 1 if self.person is not None and self.rows_per_person is None else self.rows_per_person

    def check(self, used: Mapping[str, "Attribute"]) -> None:
        """Raise InputError where a column of people would be published. used: the attributes that can be."""
        for column in self.columns:
            if column in used:
                raise InputError(
                    f"person names {column!r}, which is a {used[column].role.value}; who somebody is cannot be "
                    'published, so give the column the role "identifier"'
                )


def people_rows(
    source: Source,
    columns: Sequence[str],
    unit: Unit,
    present: Callable[[DistinctRows], Mapping[str, BoolArray]],
    most: float,
) -> tuple[DistinctRows, int, Mapping[str, int], int]:
    """Return the rows that count; the numbers of rows that lack a value, in all and by column; and of those left out.

    most: rows that fit into memory. present: says which rows have a value of each column. Raises InputError where a
    person has several rows and nothing says which count, or their order is not known.
    """
    needed = [*unit.columns, *columns]
    if unit.one_row in (None, "random"):
        every = _distinct_rows(source, needed, most)
    elif isinstance(source, InOrder):
        every = concatenated([rows for _, rows in source.parts(needed)])
    else:
        raise InputError(
            f"the rows of {source.name} have no order, so nothing tells which is the {unit.one_row} of a person; "
            'take one_row = "random"'
        )
    every = with_keys(every, unit.columns, source.name)
    has_value = present(every)
    rows = every.taken(np.where(np.logical_and.reduce([*has_value.values()]), every.counts, 0))
    chosen = rows.taken(kept_of_each(rows, unit, source.name))
    dropped, left_out = (int(more.counts.sum() - less.counts.sum()) for more, less in ((every, rows), (rows, chosen)))
    lacking = {column: int(every.counts[~has].sum()) for column, has in has_value.items()}
    return chosen.without(unit.columns), dropped, lacking, left_out


def kept_of_each(rows: DistinctRows, unit: Unit, name: str) -> CountArray:
    """Return how many of each row count: shape (rows,). Raises InputError where nothing says which of a person do."""
    people = numbered(rows, unit.columns)
    if unit.one_row in ("first", "last"):
        order = np.arange(len(rows))[:: 1 if unit.one_row == "first" else -1]
        firsts = order[np.unique(people[order], return_index=True)[1]]
        return np.isin(np.arange(len(rows)), firsts).astype(np.int64)
    drawn = _drawn(rows, people, unit)
    if unit.one_row is None and unit.rows_per_person is None and drawn.sum() < rows.counts.sum():
        several = int((np.bincount(people, rows.counts) > 1).sum())
        raise InputError(
            f"{name}: {several:,} of {len(np.unique(people)):,} values of {' with '.join(map(repr, unit.columns))} have "
            "several rows, so k rows may be "
            'fewer than k people. Say one_row = "first", "last" or "random", or how many rows of each count at most, for '
            "example rows_per_person = 5"
        )
    return drawn


def numbered(rows: DistinctRows, columns: Sequence[str]) -> CodeArray:
    """Return one number a row, the same where all of some columns have the same text: shape (rows,)."""
    packed = _packed(rows, columns)
    return packed if len(columns) == 1 else np.unique(packed, return_inverse=True)[1]


def _packed(rows: DistinctRows, columns: Sequence[str]) -> CodeArray:
    ranked = [_ranked(rows.values[column])[rows.codes[column]] for column in columns]
    return ranked[0] if len(columns) == 1 else pack(ranked, [len(rows.values[c]) + 1 for c in columns], len(rows))[0]


def _drawn(rows: DistinctRows, people: CodeArray, unit: Unit) -> CountArray:
    # Of each person those with the smallest numbers, which depend on texts alone.
    row_of: IndexArray = np.repeat(np.arange(len(rows)), rows.counts)
    names = [*unit.columns, *sorted(rows.codes.keys() - set(unit.columns))]
    content = _packed(rows, names)
    by_content = row_of[np.argsort(content[row_of], kind="stable")]
    numbers = np.zeros(len(by_content), dtype=np.uint64)
    for column in names:
        numbers = _mixed(numbers ^ _hashed(column, rows.values[column])[rows.codes[column]][by_content])
    numbers = _mixed(numbers + places(content[by_content]).astype(np.uint64))
    order = np.lexsort((numbers, people[by_content]))
    most = unit.rows_per_person if isinstance(unit.rows_per_person, int) else 1
    chosen = by_content[order[places(people[by_content][order]) < most]]
    drawn: CountArray = np.bincount(chosen, minlength=len(rows)).astype(np.int64)
    return drawn


def places(groups: CodeArray) -> IndexArray:
    """Return the place of each row among those of its group, from 0 on. groups: rising numbers, shape (rows,)."""
    begins = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])[: len(groups)])
    return np.arange(len(groups)) - np.repeat(begins, np.diff(np.append(begins, len(groups))))


# Keys are values: a person is one key, however a program or a hand spells it.

# Parts of keys with several spellings: signs, a leading zero, an exponent.
_UNCLEAR_KEY = re.compile(r"[^0-9A-Za-z\n]|(?<![0-9])0[0-9]|^[0-9]+[Ee][0-9]+$", re.MULTILINE)
_WHOLE = re.compile(r"\+?([1-9][0-9]{0,2}(?:[,'\u2019 ][0-9]{3})+|[1-9][0-9]*|0)(?:[.,]0{0,2}|\.0+)?")
_ROUNDED = re.compile(r"([1-9])(?:\.([0-9]+))?[eE]\+([0-9]{1,2})")  # as R writes 100000: 1e+05
_GUID = re.compile(r"[({]?(?:urn:uuid:)?((?:[0-9a-f]-?){31}[0-9a-f])[)}]?", re.IGNORECASE)
_GROUPED_BY_POINTS = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+")
_ONE_FORM = str.maketrans(digits + ascii_uppercase + ascii_lowercase, "9" * 10 + "X" * 26 + "x" * 26)


def key_of(text: str) -> str:
    """Return the one spelling of a key: of a number or a GUID without signs that say nothing."""
    text = cell_text(text)
    if match := _WHOLE.fullmatch(text):
        return re.sub("[^0-9]", "", match[1])
    if (match := _ROUNDED.fullmatch(text)) and len(match[2] or "") <= int(match[3]):
        return match[1] + (match[2] or "").ljust(int(match[3]), "0")
    guid = _GUID.fullmatch(text)
    return guid[1].replace("-", "").lower() if guid else text


def spelled_keys(texts: Values) -> tuple[list[str | None], tuple[str, str] | None]:
    """Return the key of each text, None for blanks, and the forms of two keys that may be one person."""
    keys = [key_of(text or "") or None for text in texts]
    joined = "\n".join(key for key in dict.fromkeys(keys) if key)
    are_clear = _UNCLEAR_KEY.search(joined) is None and joined in (joined.upper(), joined.lower())
    have_one_form = joined.isascii() and len(set(joined.translate(_ONE_FORM).split("\n"))) == 1
    return keys, None if are_clear or have_one_form else _doubtful(joined.split("\n"))


def _doubtful(keys: Iterable[str]) -> tuple[str, str] | None:
    seen: dict[str, str] = {}
    for key in keys:
        loose = _loose(key)
        bare = loose.replace("-", "")
        # 12-3 and 1-23 are two keys, but 123 beside one of them may be the same.
        apart = f"{bare} apart"
        for place in (loose, apart if loose == bare else bare):
            if place in seen:
                one, other = sorted((_form(seen[place]), _form(key)))
                return one, other
        seen[loose] = key
        if loose != bare:
            seen[apart] = key
    return None


def _loose(key: str) -> str:
    text = folded(key)
    if _GROUPED_BY_POINTS.fullmatch(text):
        return text.replace(".", "")
    number = POINT.canonical(text.replace(",", "."))
    if POINT.is_number(number):
        return number.replace("-", "minus").replace(".", "-")
    text = re.sub(r"[\W_]+", "-", text.removeprefix("0x")).strip("-")
    text = re.sub(r"(?<=[^\W\d_])-|-(?=[^\W\d_])", "", text)
    return re.sub("(?<![0-9])0+(?=[0-9])", "", text)


def _form(key: str) -> str:
    form = re.sub(r"((?<![\d.,])0+(?=\d))|\d", lambda match: match[1] or "9", key)
    return "".join("X" if c.isupper() else "x" if c.isalpha() else c for c in form)


def with_keys(rows: DistinctRows, columns: Sequence[str], name: str) -> DistinctRows:
    """Spell the columns of people in one way. Raises InputError, quoting no key, where two keys may be one person."""
    values = dict(rows.values)
    for column in columns:
        values[column], doubt = spelled_keys(rows.values[column])
        if doubt is not None:
            raise InputError(
                f"{name}: {spelling_doubt(column, doubt)}, so one person could count as two; write each in one way"
            )
    return replace(rows, values=values)


def spelling_doubt(column: str, forms: tuple[str, str]) -> str:
    """Return the doubt about two keys of a column in words, by their forms."""
    return (
        f"two values of {column!r} may be one person in two spellings, of the forms {forms[0]!r} and {forms[1]!r} (9 stands "
        "for any digit, x for any letter)"
    )


def _ranked(texts: Values) -> IndexArray:
    """Place of each text among the different ones in order, 0 for none; two values can have one text."""
    places: Mapping[str, int] = {text: i for i, text in enumerate(sorted({t for t in texts if t is not None}), 1)}
    return np.array([0 if text is None else places[text] for text in texts], dtype=np.intp)


def _hashed(column: str, texts: Values) -> NDArray[np.uint64]:
    prefix = f"{column}\0".encode("utf-8", "surrogatepass")
    digests = (blake2b(prefix + (t or "").encode("utf-8", "surrogatepass"), digest_size=8).digest() for t in texts)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix all bits of each number (the finalizer of SplitMix64, Steele et al. 2014)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


_FEWEST_ROWS = 20  # different ones, to show that each stands several times


def row_multiple(counts: CountArray) -> int:
    """Return how often each row of a table stands in it; 1 where one stands alone."""
    return int(np.gcd.reduce(counts)) if len(counts) >= _FEWEST_ROWS else 1


_WORTH = 1.5  # least ratio of rows to people for which several rows of each count
_COARSER = 2.0  # limit on the rows that a class needs: k * r with r rows a person
_NEARLY_ALL = 0.95  # share of the rows from which on no more of each person are worth it


def worth_counting(rows_of_each: CountArray) -> range:
    """Return how many rows of each person are worth counting, the best number first; empty if one is as good.

    With r rows a person the classes are as many as with sum(min(rows, r)) / r people.
    """
    people, most = len(rows_of_each), int(rows_of_each.max(initial=1))
    # people with more than 0, 1, ... rows, and the rows that count with 1, 2, ... of each
    more_than = people - np.cumsum(np.bincount(rows_of_each, minlength=most + 1))[:-1]
    row_totals, row_numbers = np.cumsum(more_than), np.arange(1, most + 1)
    is_worth = (row_totals * _COARSER >= people * row_numbers) & (row_totals >= _WORTH * people)
    enough = int(np.searchsorted(row_totals, _NEARLY_ALL * rows_of_each.sum()) + 1)
    worth = row_numbers[is_worth & (row_numbers <= enough)]
    return range(int(worth.max()), int(worth.min()) - 1, -1) if len(worth) else range(0)
