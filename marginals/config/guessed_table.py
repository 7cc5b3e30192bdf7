"""The table of a first config, how its cells are written and whose its rows are, and with a guess on each column."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from checks.claims import listing
from marginals.config.facts import ALWAYS, UNSAID, Facts, decimal_comma, marks_of, missing_tokens
from marginals.config.person_keys import (
    MOST_MEMBERS,
    differs_within,
    keys_by_content,
    likely_pair,
    owners,
)
from marginals.config.questions import Inquiry
from marginals.config.rules import Guess, protected
from marginals.errors import InputError
from marginals.messages import did_you_mean
from marginals.names import column_name
from marginals.tables.attribute import Attribute, Role
from marginals.tables.counts import likely_counts, refuse_subtotals, repeated_rows
from marginals.tables.csv_text import FileForm
from marginals.tables.distinct_rows import PandasFrame, factorized
from marginals.tables.files import column_labels, files_of, frame_of
from marginals.tables.layout import Header
from marginals.tables.people import (
    RepeatingKey,
    is_called_otherwise,
    possible_keys,
    repeating_keys,
    row_multiple,
    spelled_keys,
    spelling_doubt,
)
from marginals.tables.relations import Values
from marginals.tables.source import refuse_record
from models.arrays import BoolArray, IndexArray
from models.frozen import frozen
from models.tables.contingency_table import pack

_ROWS_OF_REPEATED_TEXTS = 4
_ROWS_TO_RELATE_COLUMNS = 4_000
_MOST_PEOPLE_OF_COUNTS = 2_000_000

_NO_VALUES = (*ALWAYS, "NA", "N/A", "n/a", "NULL", "NaN", "nan", ".", "-")


@frozen
class Choices:
    """Decisions before anything is guessed. wanted: columns of an analysis. outcomes: those studied by the others."""

    roles: Mapping[str, Role] = field(default_factory=dict, hash=False)
    person: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    header: Header = None
    sheet: str | None = None

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that somebody needs, whatever their roles."""
        return *self.wanted, *self.outcomes

    def check(self, columns: Sequence[str], table: str) -> None:
        """Raise InputError for a column that the table lacks. table: what messages call it."""
        for name, named in [*((name, "wanted") for name in self.needed), *((name, "named") for name in self.roles)]:
            if name not in columns:
                similar = did_you_mean(name, list(columns)) or f"it has {len(columns)} others"
                raise InputError(f"{table} has no column {name!r}, which is {named}; {similar}")


NOTHING_CHOSEN = Choices()


@frozen(eq=False)
class DescribedTable:
    """A table of which nothing is guessed but how its cells are written, and which columns number people.

    columns: of each person once. keys: of people; the first tells whose row it is. shared: keys of several people, by the
    sex or birth in which their rows differ. questions: about other columns that may tell whose row it is. counts: the
    column of how many people a row stands for, by which rows are repeated here.
    """

    name: str
    frame: pd.DataFrame
    columns: Mapping[str, Facts]
    keys: Sequence[RepeatingKey]
    shared: Mapping[str, str]
    questions: Mapping[tuple[str, ...], str]
    missing_cells: Mapping[str, int]
    decimal_why: str
    rare: int
    counts: str | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """Texts that stand for no value in all columns."""
        return tuple(self.missing_cells)

    @property
    def decimal(self) -> str:
        """The sign before a fraction."""
        return "," if self.decimal_why else "."

    @cached_property
    def gone(self) -> Callable[[str], BoolArray]:
        """Rows that lack a value of a column: shape (rows,)."""
        return cache(lambda name: self.codes(str(name))[0] < 0)

    @cached_property
    def values_of(self) -> Callable[[str], Values]:
        """The values of a column in some rows."""
        some = self.frame.iloc[:: max(1, len(self.frame) // _ROWS_TO_RELATE_COLUMNS)]
        return cache(lambda name: Values.of(some[str(name)], self.no_values(str(name)), self.columns[name].decimal))

    def codes(self, name: str) -> tuple[IndexArray, Sequence[str]]:
        """The values of a column: of each row the place of its text, -1 for none, and the texts."""
        return factorized(self.frame[name], self.no_values(name))

    def no_values(self, name: str) -> tuple[str, ...]:
        """The texts that stand for no value in a column."""
        return (*self.missing, *self.columns[name].marks.texts)

    @classmethod
    def read(cls, source: Path, form: FileForm, rare: int, chosen: Choices) -> "DescribedTable":
        """The table in a file. Raises InputError for one without a header, or where a column that is chosen is not there."""
        files = files_of(source, form)
        if len(set(files.columns)) < len(files.columns):
            raise InputError(
                f"{source.name} has two columns of one name, or no header line; give each column its own name"
            )
        refuse_record(files, files.columns, _NO_VALUES)
        refuse_subtotals(files)
        chosen.check(files.columns, source.name)
        frame = frame_of(files)
        counts = likely_counts(PandasFrame(frame)) if not chosen.person else None
        if counts in chosen.roles:
            counts = None
        rows = frame
        frame = frame if counts is None else repeated_rows(frame, counts, _MOST_PEOPLE_OF_COUNTS)
        frame = pd.DataFrame({name: _each_text_once(frame[name]) for name in frame}, copy=False)
        cells = [Facts.read(frame, name) for name in map(str, frame.columns)]
        nothing = missing_tokens(cells if counts is None else [Facts.read(rows, str(name)) for name in frame])
        read = [column.without(nothing) for column in cells]
        named = possible_keys(files.columns, {})
        by_content, numbering, likely = keys_by_content(frame, read, _NO_VALUES)
        shared: dict[str, str] = {}
        if chosen.person:
            owned = owners(frame, chosen.person, _NO_VALUES)
            valid = owned[owned >= 0]
            keys = [RepeatingKey(chosen.person, len(np.unique(valid)), len(valid), "you said so")]
        else:
            by_name = [key for key in keys_among(frame, {}, _NO_VALUES) if key.columns[0] not in numbering]
            keys = by_name or [key for key in by_content if not is_called_otherwise(key.columns[0])]
            keys = [key for key in keys if chosen.roles.get(key.columns[0], Role.IDENTIFIER) is Role.IDENTIFIER]
            shared = shared_keys(frame, keys, read)
            keys = [key for key in keys if key.columns[0] not in shared]
        questions = _doubt(frame, keys[0].columns if keys else [name for name in named if name not in chosen.roles])
        is_sure = keys and keys[0].columns[0] in named and keys[0].values > MOST_MEMBERS
        if not (questions or chosen.person or is_sure):
            questions = _likely_keys(frame, read, {} if keys else likely, shared)
        keys = [] if questions else keys
        if keys:
            read = [Facts.read(_of_each(frame, c.name, keys[0]), c.name).without(nothing) for c in read]
        decimal_why = decimal_comma(read)
        labels, decimal = column_labels(source), "," if decimal_why else "."
        read = [c.described(decimal=decimal, rare=rare, labels=labels.get(c.name, UNSAID)) for c in read]
        columns = {c.name: c.marked(marks_of(c, c.labels.values)) for c in read}
        return cls(source.name, frame, columns, keys, shared, questions, nothing, decimal_why, rare, counts)


def _each_text_once(column: "pd.Series[Any]") -> "pd.Series[Any]":
    if pd.api.types.infer_dtype(column) != "string":
        return column
    codes, texts = pd.factorize(column)
    if _ROWS_OF_REPEATED_TEXTS * len(texts) > len(column):
        return column
    return pd.Series(pd.Categorical.from_codes(codes, texts), index=column.index, name=column.name)


# Whose rows these are.


def _doubt(frame: pd.DataFrame, columns: Sequence[str]) -> dict[tuple[str, ...], str]:
    for name in columns:
        if forms := spelled_keys(factorized(frame[name], _NO_VALUES)[1])[1]:
            return {tuple(columns): f"{spelling_doubt(name, forms)}. Write each person in one way, and run init again."}
    return {}


def _likely_keys(
    frame: pd.DataFrame, columns: Sequence[Facts], likely: Mapping[str, str], shared: Collection[str]
) -> dict[tuple[str, ...], str]:
    members = possible_keys([column.name for column in columns], {})
    others = (c for c in columns if is_called_otherwise(c.name) and c.are_numbers_of_things)
    groups = [*shared, *(c.name for c in others if not c.says("ages", "times", "sexes"))]
    likely_keys = likely_pair(frame, columns, groups, members, _NO_VALUES)
    likely_keys |= {(name,): why for name, why in likely.items() if not (name in shared or is_called_otherwise(name))}
    for key, why in likely_keys.items():
        person = json.dumps(key if len(key) > 1 else key[0], ensure_ascii=False)
        names = f"column{'s' if len(key) > 1 else ''} {listing(list(map(column_name, key)))}"
        return {
            key: f"Perhaps the {names} tell{'' if len(key) > 1 else 's'} it: {why}. If so, write person = {person}."
        }
    return {}


def keys_among(frame: pd.DataFrame, guesses: Mapping[str, Guess], missing: Collection[str]) -> list[RepeatingKey]:
    """The columns that look like keys of people by their names or guesses, and repeat."""
    identifiers = {name: Attribute(Role.IDENTIFIER) for name, guess in guesses.items() if guess.role is Role.IDENTIFIER}
    keys = repeating_keys(PandasFrame(frame), possible_keys(list(map(str, frame.columns)), identifiers), missing)
    return sorted(keys, key=lambda key: -key.values)


def shared_keys(frame: pd.DataFrame, keys: Sequence[RepeatingKey], columns: Sequence[Facts]) -> dict[str, str]:
    """Return keys that number what several people share, with the column that says so."""
    differing = {key.columns[0]: differs_within(frame, key.columns[0], columns, _NO_VALUES) for key in keys}
    return {key: column for key, column in differing.items() if column}


def _of_each(frame: pd.DataFrame, name: str, person: RepeatingKey) -> pd.DataFrame:
    if name in person.columns:
        return frame[[name]]
    both = frame[[*person.columns, name]]
    try:
        return both.loc[~both.duplicated(), [name]]
    except TypeError:  # lists and the like
        return frame[[name]]


@frozen(eq=False)
class GuessedTable:
    """A table with a guess on each column. belong: pairs of which one lacks a value where the other says so."""

    table: DescribedTable
    chosen: Choices
    guesses: Mapping[str, Guess]
    person: RepeatingKey | None
    belong: tuple[tuple[str, str], ...] = ()

    @cached_property
    def used(self) -> dict[str, Guess]:
        """The guesses on the columns that are published."""
        return {name: guess for name, guess in self.guesses.items() if guess.role.is_used}

    @property
    def facts(self) -> Mapping[str, Facts]:
        """The facts of each column."""
        return self.table.columns

    @property
    def filled(self) -> dict[str, Facts]:
        """The facts of the columns that have a value."""
        return {name: facts for name, facts in self.facts.items() if facts.values}

    def columns_that(self, condition: Callable[[Facts], object]) -> list[str]:
        """Return the columns with a value that meet a condition."""
        return [name for name, facts in self.filled.items() if condition(facts)]

    def protected(self, name: str, why: str, question: str) -> Guess:
        """Return the guess on a column that is sensitive for some reason."""
        guess, result = self.guesses[name], protected(self.facts[name], why, question)
        settings = {**result.settings, **guess.missing_settings}
        return replace(result, settings=settings, labels=guess.labels, doubt=guess.doubt)

    def of_role(self, role: Role) -> list[str]:
        """The columns of a role."""
        return [name for name, guess in self.guesses.items() if guess.role is role]

    def changed(self, guesses: Mapping[str, Guess]) -> "GuessedTable":
        """Change some guesses."""
        return replace(self, guesses={**self.guesses, **guesses})

    @cached_property
    def lacking(self) -> dict[str, BoolArray]:
        """Rows that lack a value of each used column that some lack: shape (rows,)."""
        return {name: self.table.gone(name) for name in self.used if self.table.columns[name].missing}

    @cached_property
    def drops(self) -> dict[str, BoolArray]:
        """Rows that are left out since they lack a value of a column: shape (rows,)."""
        return {name: gone for name, gone in self.lacking.items() if not self.guesses[name].counts_missing}

    @cached_property
    def complete(self) -> BoolArray:
        """Rows that lack no value that is needed, and say whose they are: shape (rows,)."""
        of_nobody = map(self.table.gone, self.person.columns if self.person is not None else ())
        lacks = [np.zeros(len(self.table.frame), dtype=bool), *of_nobody, *self.drops.values()]
        return ~np.asarray(np.logical_or.reduce(lacks), dtype=np.bool_)

    @property
    def nothing_published(self) -> InputError:
        """The refusal of a table of which nothing can be published."""
        # Columns are not named: without a header their names are the values of a row.
        reasons = Counter(guess.why for guess in self.guesses.values()).most_common(3)
        texts = "; ".join(f"{why} ({columns} of {len(self.guesses)} columns)" for why, columns in reasons)
        return InputError(f"no column of {self.table.name} can be published as it is: {texts}")

    @property
    def complete_rows(self) -> pd.DataFrame:
        """The first row of each person of those that lack no value that is needed."""
        frame = self.table.frame[self.complete] if not self.complete.all() else self.table.frame
        return frame if self.person is None else frame[~frame.duplicated(list(self.person.columns))]

    @cached_property
    def unclear(self) -> list[Inquiry]:
        """Questions about whose rows these are: until they are answered, promises count rows."""
        if self.person is not None:
            return []
        questions = dict(self.table.questions)
        if not questions and (keys := keys_among(self.table.frame, self.guesses, self.table.missing)):
            names = listing([column_name(key.columns[0]) for key in keys])
            questions[tuple(key.columns[0] for key in keys)] = (
                f"{names} repeats, and numbers no people. If a person can have several rows, write person = "
                '"COLUMN" under [data] with the column that says whose row it is.'
            )
        if self.table.counts is None and (times := self._times) > 1:
            questions[()] = (
                f"Each row stands {times} times in the table, or a multiple of it. If rows were entered {times} times, take "
                "them out of the table."
            )
        return [Inquiry(columns, why, Role.IDENTIFIER) for columns, why in questions.items()]

    @property
    def _times(self) -> int:
        reasons = [facts for name, facts in self.filled.items() if self.guesses[name].role is not Role.IDENTIFIER]
        if any(np.gcd.reduce([*facts.counts.tolist(), facts.missing]) == 1 for facts in reasons):
            return 1
        codes = [self.table.codes(facts.name)[0] + 1 for facts in reasons]
        keys, _ = pack(codes, [facts.distinct + 1 for facts in reasons], len(self.table.frame))
        return row_multiple(np.unique(keys, return_counts=True)[1])
