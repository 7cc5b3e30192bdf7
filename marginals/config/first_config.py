"""A first `release.toml` for a table that nobody has described yet: guesses, each with its reason, to be reviewed.

It quotes no value of the table, but for hierarchy files.
"""

import json
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import product
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from marginals.bundle.writing import release_at
from marginals.config import RARE
from marginals.config.column_choice import within_limit
from marginals.config.column_guess import (
    ALWAYS,
    POINT,
    WORDS,
    ColumnDescription,
    DecimalSign,
    Guess,
    MissingTokens,
    differs_within,
    guess,
    keys_by_content,
    likely_decimal,
    missing_tokens,
)
from marginals.config.copies import Values
from marginals.config.presets import JOINT_PROOF, PRESETS, PairsOfTable, Preset
from marginals.config.questions import NOT_REVIEWED, Question, guess_comments, questions_of, questions_text
from marginals.config.roles import NOTHING_CHOSEN, Chosen, by_counting, by_the_others, without_sampling_design
from marginals.config.split_columns import as_one
from marginals.config.structural_missing import MOST_VALUES, structurally_missing, together, with_structure
from marginals.errors import InputError, system_reason
from marginals.files import PRIVATE, csv_text, replace_file, resolved
from marginals.names import column_name, number_of
from marginals.output import keep_apart, refuse_to_replace
from marginals.publishing.proposals import NO_DIVERSITY, PAIRS, PROPOSED, WEIGHT, proposed_diversity
from marginals.tables.attribute import Attribute, Column, Role
from marginals.tables.distinct_rows import PandasFrame, factorized
from marginals.tables.files import AUTO, CsvForm, column_labels, files_of, frame_of, likely_form
from marginals.tables.people import (
    RepeatingKey,
    is_called_otherwise,
    possible_keys,
    repeating_keys,
    worth_counting,
)
from marginals.tables.sensitive_groups import last_decimal
from marginals.tables.source import read_table, refuse_record
from marginals.tables.table import Table
from marginals.tables.values import NumberFormat, in_order, missing_among
from models.arrays import BoolArray, IndexArray
from models.tables.hierarchy import Hierarchy

_K = 10
"""People who share a cell at least, where the table has rows enough."""

_MANY_DROPPED = 0.05
"""Share of the rows that may lack a value before the emptiest columns count it as one."""

_REPEATED = 4
"""Rows of each text of a column on average, at least, where each is kept once."""

_LOOKED_AT = 4_000
"""Rows by which it is told which columns go together."""


@dataclass(frozen=True)
class InitialConfig:
    """A config as text, the hierarchy files it names by their paths beside it, and the guesses it was made from.

    missing: what was taken for no value. person: the column that was taken to say whose row it is, since it looks like a
    key and repeats. decimal: the sign before the fraction of numbers. rows_of_each: how many rows of each person count.
    formats: in words how columns write numbers that have signs between thousands, or in percent.
    """

    text: str
    hierarchies: Mapping[str, bytes]
    guesses: Mapping[str, Guess]
    missing: MissingTokens
    person: RepeatingKey | None = None
    decimal: DecimalSign = POINT
    rows_of_each: int = 1
    formats: Mapping[str, str] = field(default_factory=dict)

    def files(self, path: Path) -> dict[Path, bytes]:
        """All files for a config at `path`, which comes last."""
        return {path.parent / name: content for name, content in self.hierarchies.items()} | {path: self.text.encode()}

    def refuse_to_replace(self, path: Path) -> None:
        """Raise InputError where writing to `path` would replace a file."""
        for file in self.files(path):
            refuse_to_replace(file)

    def keep_apart(self, path: Path, source: Path) -> None:
        """Raise InputError where writing to `path` would replace the table, add to it, or change a bundle."""
        for file in self.files(path):
            keep_apart(file, (source,), release_at)

    def write(self, path: Path) -> list[Path]:
        """Write the config to `path` and the hierarchies beside it; returns all files, the config last.

        Its owner alone may read them, since they name values of the table. Raises InputError for what cannot be written; the
        config is written last, so that there is none then.
        """
        files = self.files(path)
        for file, content in files.items():
            try:
                replace_file(file, content, PRIVATE)
            except OSError as error:
                raise InputError(f"{file} cannot be written: {system_reason(error)}") from None
        return list(files)

    @property
    def questions(self) -> list[Question]:
        """What only somebody who knows the table can answer."""
        return questions_of((name, guess.question, guess.role) for name, guess in self.guesses.items())

    def as_json(self) -> dict[str, Any]:
        """The guesses as plain values, without a value of the table."""
        return {name: _as_json(guessed) for name, guessed in self.guesses.items()}


def _as_json(guessed: Guess) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": guessed.role.value, "why": guessed.why}
    plain |= (
        {"intervals": [float(w) if isinstance(w, Decimal) else w for w in guessed.intervals]}
        if guessed.intervals
        else {}
    )
    plain |= {"prefixes": list(guessed.prefixes)} if guessed.prefixes else {}
    plain |= {"dates": list(guessed.dates)} if guessed.dates else {}
    plain |= {"ladder": "fitted"} if guessed.is_fitted else {}
    plain |= {"question": guessed.question} if guessed.question else {}
    plain |= {"missing": guessed.missing} if guessed.missing != "drop" else {}
    return plain | ({"hierarchy": True} if guessed.hierarchy else {})


def initial_config(
    source: Path,
    beside: Path,
    rare: int = RARE,
    wanted: Sequence[str] = (),
    chosen: Chosen = NOTHING_CHOSEN,
    preset: Preset = JOINT_PROOF,
) -> InitialConfig:
    """The guess at a config for a table in files, to be written to the file `beside`.

    rare: values that fewer rows have are named nowhere, and merged with others. wanted: columns that an analysis needs.
    chosen: what somebody says beforehand, which no guess replaces. preset: demands that fit together. Raises InputError
    where the file is no table, no column of it can be published, a column that is named is not there, or the preset
    promises nothing of the table.
    """
    chosen = replace(chosen, wanted=tuple(wanted))
    form = likely_form(source)
    table = _described(source, form, rare, chosen)
    guesses, person = _guesses(table, chosen)
    lacking = _lacking(table, guesses)
    structure = structurally_missing(lacking, _few_values(table, guesses) if lacking else {}, _K)
    guesses = with_structure(guesses, structure, table.columns, rare, chosen.roles)
    guesses = _complete(guesses, lacking, len(table.frame), table.name)
    guesses = _recounted(table, guesses, _complete_rows(table, guesses, lacking, person), person)
    guesses, counted = _publishable(table, guesses, lacking, person)
    preset.require(counted.table.rows_per_person)
    written = _hierarchy_files(guesses)
    used = [table.columns[name] for name, guessed in guesses.items() if guessed.role.is_used]
    formats = {c.name: _in_words(c, c.format) for c in used if c.format is not None and c.format.is_grouped}
    text = config_text(
        source.name,
        _data(source, beside, form, table.missing, counted.complete, len(table.frame))
        + _decimal(table.decimal)
        + _formats(formats)
        + (_each_its_own(table, guesses) if person is None else f"\n{_whose(person, counted)}"),
        guesses,
        {name: path for name, (path, _) in written.items()},
        [_privacy(counted, preset), _base(counted.generalizations), _search(counted, preset)],
        [tuple(wanted), *together(guesses, structure)],
    )
    made = dict(written.values())
    return InitialConfig(text, made, guesses, table.missing, person, table.decimal, counted.rows_of_each, formats)


@dataclass(frozen=True, eq=False)
class _DescribedTable:
    """A table of which nothing is guessed but how its cells are written, and which columns number people.

    columns: by name, of each person once, without what is missing. keys: columns that number people, the first of which
    tells whose row it is. shared: columns that look like such keys, whose rows differ in a sex or birth, by its column.
    likely: columns that may tell whose row it is, with what says so, where no key does.
    said: what the file itself says of a column. rare: values that fewer rows have are named nowhere.
    """

    name: str
    frame: pd.DataFrame
    columns: Mapping[str, Column]
    keys: Sequence[RepeatingKey]
    shared: Mapping[str, str]
    likely: Mapping[str, str]
    missing: MissingTokens
    decimal: DecimalSign
    said: Mapping[str, ColumnDescription]
    rare: int


ONE_ROW = "random"
"""Which row of a person counts under a first config: with the first ones all that changes with time would be as it began."""


@dataclass(frozen=True)
class CountedTable:
    """The sensitive columns of a table as publishing will count them. people: in it. rows_of_each: how many rows of each
    person count. complete: rows that lack no value that is needed. demands: of each sensitive column.

    in_the_way: sensitive columns that keep several rows of each from counting. several: how many of each could count without
    them. more: the rows that count then. generalizations: how many ways there are to generalize the quasi-identifiers; None
    where they are more than can be looked through. pairs: what a choice between presets is about.
    """

    table: Table
    people: int
    rows_of_each: int = 1
    in_the_way: tuple[str, ...] = ()
    several: int = 1
    more: int = 0
    complete: int = 0
    demands: Mapping[str, str | None] = field(default_factory=dict)
    generalizations: int | None = None
    pairs: PairsOfTable | None = None


def _described(source: Path, form: CsvForm, rare: int, chosen: Chosen) -> _DescribedTable:
    """The table in a file. Raises InputError for a file without a header, or where a column that is chosen is not there."""
    files = files_of(source, form)
    if len(set(files.columns)) < len(files.columns):
        raise InputError(f"{source.name} has two columns of one name, or no header line; give each column its own name")
    refuse_record(files, files.columns, (*ALWAYS, *WORDS))
    chosen.check(files.columns, source.name)
    frame, labels = _each_text_once(frame_of(files)), column_labels(source)
    cells = [_column(frame, name) for name in map(str, frame.columns)]
    read = [_without(column, ALWAYS) for column in cells]
    keys, likely = _people(frame, read) if chosen.person is None else (_said_key(read, chosen.person), {})
    keys = [key for key in keys if chosen.roles.get(key.column, Role.IDENTIFIER) is Role.IDENTIFIER]
    shared = {} if chosen.person is not None else _shared(frame, keys, read)
    keys = [key for key in keys if key.column not in shared]
    if keys:
        read = [_without(_column(_of_each(frame, c.name, keys[0]), c.name), ALWAYS) for c in read]
    decimal = likely_decimal(read)
    read = [replace(column, decimal=decimal.sign) for column in read]
    tokens = missing_tokens(read).counted_in(cells)
    said = {name: ColumnDescription(label.description, label.values) for name, label in labels.items()}
    columns = {c.name: _without(c, tokens.texts) for c in read}
    likely = {} if keys else {name: why for name, why in likely.items() if name not in shared}
    return _DescribedTable(source.name, frame, columns, keys, shared, likely, tokens, decimal, said, rare)


def _shared(frame: pd.DataFrame, keys: Sequence[RepeatingKey], columns: Sequence[Column]) -> dict[str, str]:
    """Those keys that number what several people share, each with the column that says so."""
    differing = {key.column: differs_within(frame, key.column, columns, (*ALWAYS, *WORDS)) for key in keys}
    return {key: column for key, column in differing.items() if column}


def _of_several_people(differing: str) -> Guess:
    """The guess on a column whose values repeat like those of a key, and whose rows differ in what a person has once."""
    return Guess(
        Role.IDENTIFIER,
        f"it numbers what several people share, such as a household or a physician: most of its values have rows that "
        f"differ in {column_name(differing)}",
    )


def _guesses(table: _DescribedTable, chosen: Chosen) -> tuple[dict[str, Guess], RepeatingKey | None]:
    """The guess on each column by itself, then beside the others; and the column that says whose row it is."""
    frame, columns, rare, missing = table.frame, table.columns, table.rare, table.missing.texts
    made = {
        name: guess(column, rare, table.said.get(name, ColumnDescription()), chosen.roles.get(name))
        for name, column in columns.items()
    }
    made |= {key.column: Guess(Role.IDENTIFIER, f"it {key.why}") for key in table.keys}
    # The values of an identifier tell it where its name does not.
    keys = table.keys or _keys(frame, made, missing)
    shared = {**table.shared, **({} if table.keys else _shared(frame, keys, list(columns.values())))}
    made |= {name: _of_several_people(sex) for name, sex in shared.items() if name not in chosen.roles}
    person = next((key for key in keys if key.column not in shared), None)
    if person is None and chosen.person is None:
        asked = _asked_whose(table, made, shared)
        made |= {name: guess for name, guess in asked.items() if name not in chosen.roles}
    made = as_one(by_the_others(made, columns, rare), columns, chosen.roles)
    made = without_sampling_design(made, columns, chosen)
    made = by_counting(frame, made, columns, missing, rare, chosen)
    some = frame.iloc[:: max(1, len(frame) // _LOOKED_AT)]
    preferred = [*chosen.wanted, *chosen.roles]
    return within_limit(made, lambda name: Values.of(some[name], missing, table.decimal.sign), preferred), person


def _asked_whose(table: _DescribedTable, guesses: Mapping[str, Guess], shared: Collection[str]) -> dict[str, Guess]:
    """The guesses on columns that may say whose row it is, where none does for sure: one alone, or two of them together.

    shared: columns that number what several people share.
    """
    counted = "until then promises count rows, not people"
    for name, reason in table.likely.items():
        why = f"it may say whose row it is: {reason}"
        question = f"{why}; if it does, write person = {quoted(name)} under [data]; {counted}"
        return {name: Guess(Role.IGNORED, why, question=question)}
    numbers = [name for name, guess in guesses.items() if guess.role is Role.IDENTIFIER]
    groups = [name for name in numbers if name in shared or is_called_otherwise(name)]
    for group, member in product(
        groups, [name for name in possible_keys(list(table.columns), {}) if name not in shared]
    ):
        pairs = len(table.frame[[group, member]].drop_duplicates())
        if len(table.columns[group].values) < pairs < len(table.frame):
            both = f"{column_name(group)} and {column_name(member)}"
            why = f"{both} together may say whose row it is: {pairs:,} pairs in {number_of(len(table.frame), 'row')}"
            question = f"{why}; if they do, make one column of both and name it as person under [data]; {counted}"
            return dict.fromkeys((group, member), Guess(Role.IDENTIFIER, why, question=question))
    return {}


def _lacking(table: _DescribedTable, guesses: Mapping[str, Guess]) -> dict[str, BoolArray]:
    """Which rows lack a value of each used column that some lack: shape (rows,)."""
    some = [name for name, guess in guesses.items() if guess.role.is_used and table.columns[name].missing]
    return {name: factorized(table.frame[name], table.missing.texts)[0] < 0 for name in some}


def _few_values(table: _DescribedTable, guesses: Mapping[str, Guess]) -> dict[str, IndexArray]:
    """The values of each row, -1 for none, of the used columns that may say where others lack a value."""
    few = [
        name for name, guess in guesses.items() if guess.role.is_used and len(table.columns[name].values) <= MOST_VALUES
    ]
    return {name: factorized(table.frame[name], table.missing.texts)[0].astype(np.intp) for name in few}


def _publishable(
    table: _DescribedTable, guesses: dict[str, Guess], lacking: Mapping[str, BoolArray], person: RepeatingKey | None
) -> tuple[dict[str, Guess], CountedTable]:
    """The guesses, and the sensitive columns as publishing counts them. lacking: as `_lacking` says.

    Sensitive columns of which nothing can be shown are left out. Raises InputError where nothing is left.
    """
    part = _complete_part(table, guesses, lacking, person)
    counted = _counted(part, *_that_count(part, guesses, person), person)
    # Where other rows are kept once a column is left out, another one may have too few values among them.
    while None in (demands := _demands_of(counted.table)).values():
        guesses = guesses | {name: _left_out(guesses[name]) for name, demand in demands.items() if demand is None}
        if not any(guessed.role.is_used for guessed in guesses.values()):
            raise _nothing_published(table.name, guesses)
        part = _complete_part(table, guesses, lacking, person)
        counted = _counted(part, *_that_count(part, guesses, person), person)
    ways = _generalizations(part, guesses, person)
    pairs = _pairs(part, guesses, person, _least(counted))
    return guesses, replace(counted, complete=len(part.frame), demands=demands, generalizations=ways, pairs=pairs)


def _of_one_row_each(frame: pd.DataFrame, person: RepeatingKey | None) -> pd.DataFrame:
    """The first row of each person."""
    return frame if person is None else frame[~frame.duplicated(person.column)]


def _pairs(table: _DescribedTable, guesses: Mapping[str, Guess], person: RepeatingKey | None, k: int) -> PairsOfTable:
    """What a choice between presets is about. table: its rows that lack no value, of which one of each person is counted."""
    known = [name for name, guessed in guesses.items() if guessed.role is Role.QUASI_IDENTIFIER]
    rows = _of_one_row_each(table.frame, person)
    codes = {name: factorized(rows[name], table.missing.texts)[0].astype(np.intp) + 1 for name in known}
    return PairsOfTable.of_rows({name: code for name, code in codes.items() if np.ptp(code)}, k)


def _complete_part(
    table: _DescribedTable, guesses: Mapping[str, Guess], lacking: Mapping[str, BoolArray], person: RepeatingKey | None
) -> _DescribedTable:
    """The rows of a table that lack no value that is needed."""
    complete = _complete_rows(table, guesses, lacking, person)
    return table if complete.all() else replace(table, frame=table.frame[complete])


def _that_count(
    table: _DescribedTable, guesses: Mapping[str, Guess], person: RepeatingKey | None
) -> tuple[pd.DataFrame, dict[str, Attribute]]:
    """The columns by which it is told what can be demanded of those that are sensitive, which alone are generalized.

    Numbers that are published in bands are those of their bands. Where people have several rows, all columns tell which of
    them count, and stay as they are.
    """
    used = {name: guessed for name, guessed in guesses.items() if guessed.role.is_used}
    sensitive = {name: _attribute(guessed) for name, guessed in used.items() if guessed.role is Role.SENSITIVE}
    if not sensitive or person is not None:
        plain = {name: Attribute(guessed.role, missing=guessed.missing) for name, guessed in used.items()}
        return table.frame, {name: sensitive.get(name, plain[name]) for name in used}
    banded = {name: attribute for name, attribute in sensitive.items() if attribute.intervals}
    columns = {name: _bands(table, name, banded[name]) if name in banded else table.frame[name] for name in sensitive}
    in_bands = {
        name: replace(attribute, intervals=(1,), start=0, apart=(), single_values=True)
        for name, attribute in banded.items()
    }
    return pd.DataFrame(columns, copy=False), sensitive | in_bands


_FIRST_BAND = 1_000_000
"""The number of the lowest band, beyond all numbers that stand for no value."""


def _bands(table: _DescribedTable, name: str, attribute: Attribute) -> "pd.Series[Any]":
    """The number of the first band that the number of each row lies in; none stands for no value, as 99 or -9 may."""
    codes, texts = factorized(table.frame[name], table.missing.texts)
    written = table.columns[name].format or NumberFormat()
    numbers = [number for text in texts if (number := written.number(text)) is not None]
    width, start = attribute.intervals[0], attribute.start
    unit = last_decimal([*numbers, *map(Decimal, (width, start, *attribute.apart))]) if attribute.apart else 1
    ends = (end for number in attribute.apart for end in (number, number + unit))
    cuts = sorted({Decimal(end) for end in ends if (end - start) % width})
    bands = [_floor(number - start, width) + bisect_right(cuts, number) for number in numbers]
    bands_from = min(bands)
    occurring, of_text = np.unique(bands, return_inverse=True)
    places: IndexArray = np.append(of_text, -1)[codes].astype(np.intp)
    labels = pd.Index([str(band - bands_from + _FIRST_BAND) for band in occurring.tolist()])
    return pd.Series(pd.Categorical.from_codes(places, labels), index=table.frame.index, name=name)


def _floor(offset: Decimal, width: int | Decimal) -> int:
    return int(offset // width) - (offset % width < 0)


def _generalizations(table: _DescribedTable, guesses: Mapping[str, Guess], person: RepeatingKey | None) -> int | None:
    """How many ways there are to generalize a table; None where they are more than can be looked through.

    table: its rows that lack no value. Columns of few values come first, and none has less than two levels.
    """
    known = [name for name, guessed in guesses.items() if guessed.role is Role.QUASI_IDENTIFIER]
    known.sort(key=lambda name: len(table.columns[name].values))
    ways, rows = 1, _of_one_row_each(table.frame, person)
    for place, name in enumerate(known):
        if ways << len(known) - place > _MOST_NODES:
            return None
        counted = _counted(table, rows, {name: _attribute(guesses[name])}, None)
        ways *= counted.table.domain.hierarchy(name).height + 1
    return ways if ways <= _MOST_NODES else None


def _each_text_once(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows, with texts that repeat kept once and numbered, so that they are compared once for all that follows."""
    return pd.DataFrame({name: _numbered(frame[name]) for name in frame}, copy=False)


def _numbered(column: "pd.Series[Any]") -> "pd.Series[Any]":
    if not isinstance(column.dtype, pd.StringDtype):
        return column
    codes, texts = pd.factorize(column)
    if _REPEATED * len(texts) > len(column):
        return column
    return pd.Series(pd.Categorical.from_codes(codes, texts), index=column.index, name=column.name)


def _people(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[list[RepeatingKey], Mapping[str, str]]:
    """The columns that number people who have several rows, by their names or, where these do not tell, by their values;
    and columns that may do so, with what says so.
    """
    missing = (*ALWAYS, *WORDS)
    by_content = keys_by_content(frame, columns, missing)
    by_name = [key for key in _keys(frame, {}, missing) if key.column not in by_content.numbering]
    keys = by_name or [key for key in by_content.keys if not is_called_otherwise(key.column)]
    return keys, {name: why for name, why in by_content.likely.items() if not is_called_otherwise(name)}


def _said_key(columns: Sequence[Column], person: str) -> list[RepeatingKey]:
    """The column that somebody says tells whose row it is."""
    (person_column,) = (column for column in columns if column.name == person)
    return [RepeatingKey(person, len(person_column.values), person_column.rows, "you said so")]


def _keys(frame: pd.DataFrame, guesses: Mapping[str, Guess], missing: Collection[str]) -> list[RepeatingKey]:
    """The columns that look like keys of people and repeat, the one with most values first. guesses: those made so far."""
    identifiers = {name: _attribute(guessed) for name, guessed in guesses.items() if guessed.role is Role.IDENTIFIER}
    keys = repeating_keys(PandasFrame(frame), possible_keys(list(map(str, frame.columns)), identifiers), missing)
    return sorted(keys, key=lambda key: -key.values)


def _of_each(frame: pd.DataFrame, name: str, person: RepeatingKey | None) -> pd.DataFrame:
    """A column, without the rows that repeat a value of a person, so that what is counted is people."""
    if person is None or name == person.column:
        return frame[[name]]
    both = frame[[person.column, name]]
    try:
        return both.loc[~both.duplicated(), [name]]
    except TypeError:  # lists and the like
        return frame[[name]]


def _column(frame: pd.DataFrame, name: str) -> Column:
    """The values of a column, in their order, as publishing would read them; cells without a text are missing."""
    try:
        rows = PandasFrame(frame[[name]]).distinct_rows([name])
    except (InputError, TypeError):  # none that could be counted
        return Column(name, (), np.zeros(0, dtype=np.int64), len(frame))
    counts: Counter[str] = Counter()
    for code, count in zip(rows.codes[name].tolist(), rows.counts.tolist()):
        if (text := rows.values[name][code]) is not None:
            counts[text] += count
    values = in_order(counts)
    sizes = np.array([counts[text] for text in values], dtype=np.int64)
    return Column(name, tuple(values), sizes, len(frame) - int(sizes.sum()))


def _without(column: Column, missing: Collection[str]) -> Column:
    """The column with these values counted as missing."""
    absent = missing_among(column.values, missing, column.decimal)
    places = [i for i, value in enumerate(column.values) if value not in absent]
    counts = column.counts[places]
    gone = column.rows - int(counts.sum())
    return replace(column, values=tuple(column.values[i] for i in places), counts=counts, missing=column.missing + gone)


def _attribute(guessed: Guess) -> Attribute:
    hierarchy = Hierarchy.from_rows(guessed.hierarchy) if guessed.hierarchy else None
    return Attribute(
        guessed.role,
        hierarchy,
        intervals=guessed.intervals,
        start=guessed.start,
        apart=guessed.apart,
        prefixes=guessed.prefixes,
        missing=guessed.missing,
        dates=guessed.dates,
        ladder="fitted" if guessed.is_fitted else "given",
    )


def _complete(guesses: dict[str, Guess], gone: Mapping[str, BoolArray], rows: int, name: str) -> dict[str, Guess]:
    """The guesses with which nearly all rows are counted: else the column that drops most of them counts missing values.

    gone: which of the rows lack a value of a column, for columns that some lack, shape (rows,). name: of the table.
    """
    if not any(guessed.role.is_used for guessed in guesses.values()):
        raise _nothing_published(name, guesses)
    lacking = {column: rows_lacking for column, rows_lacking in gone.items() if guesses[column].role.is_used}
    while True:
        drops = {column: rows_lacking for column, rows_lacking in lacking.items() if guesses[column].missing == "drop"}
        dropped = np.logical_or.reduce(list(drops.values())) if drops else np.zeros(rows, dtype=bool)
        if dropped.sum() <= _MANY_DROPPED * rows:
            return guesses
        emptiest = max(drops, key=lambda column: int(drops[column].sum()))
        why = f"{guesses[emptiest].why}; too many rows lack a value in one column or another, often in this one"
        guesses = guesses | {emptiest: replace(guesses[emptiest], why=why, missing="as a value")}


def _nothing_published(name: str, guesses: Mapping[str, Guess]) -> InputError:
    # Columns are not named: without a header their names are the values of a row.
    reasons = Counter(guessed.why for guessed in guesses.values())
    told = "; ".join(f"{why} ({columns} of {len(guesses)} columns)" for why, columns in reasons.most_common(3))
    return InputError(f"no column of {name} can be published as it is: {told}")


_LEAST_CELL = 3
"""The smallest count that a release shows under a first config."""


def _demand(table: Table, name: str) -> str | None:
    """The diversity to demand of a sensitive column, such that something of it can be shown; None where nothing can."""
    return proposed_diversity(table, name, _LEAST_CELL, with_room=True)


def _demands_of(table: Table) -> dict[str, str | None]:
    """The diversity to demand of each sensitive column; None of those of which nothing can be shown."""
    return {name: _demand(table, name) for name in table.sensitive}


def _left_out(guessed: Guess) -> Guess:
    """A sensitive column that nothing can be told of."""
    reason = "nobody should learn it, and nearly all rows that have a value have the same one"
    return replace(guessed, role=Role.IGNORED, why=f"{guessed.why}; {reason}", question=reason)


def _complete_rows(
    table: _DescribedTable, guesses: Mapping[str, Guess], lacking: Mapping[str, BoolArray], person: RepeatingKey | None
) -> BoolArray:
    """Which rows lack no value that is needed, and say whose they are: shape (rows,)."""
    whole = np.ones(len(table.frame), dtype=bool)
    if person is not None:
        whole &= factorized(table.frame[person.column], table.missing.texts)[0] >= 0
    for column, gone in lacking.items():
        if guesses[column].role.is_used and guesses[column].missing == "drop":
            whole &= ~gone
    return whole


def _recounted(
    table: _DescribedTable, guesses: dict[str, Guess], complete: BoolArray, person: RepeatingKey | None
) -> dict[str, Guess]:
    """The guesses with what is rare counted on the rows that publishing will count, one of each person.

    complete: which rows lack no value, shape (rows,).
    """
    is_counted = complete
    if person is not None:
        is_counted = complete.copy()
        is_counted[complete] = ~table.frame[complete].duplicated(person.column)
    if is_counted.all():
        return guesses
    result = dict(guesses)
    for column, guessed in guesses.items():
        if guessed.role is Role.QUASI_IDENTIFIER and not _of_bands(guessed):
            counted = _without(_column(table.frame[is_counted], column), ALWAYS)
            counted = _without(replace(counted, decimal=table.decimal.sign), table.missing.texts)
            again = guess(counted, table.rare, guessed.said)
            if again.role is guessed.role and not _of_bands(again):
                result[column] = replace(again, missing=guessed.missing)
    return result


def _of_bands(guessed: Guess) -> bool:
    """Whether its values are cut to something first."""
    return bool(guessed.intervals or guessed.prefixes or guessed.dates)


def _counted(
    described: _DescribedTable,
    frame: pd.DataFrame,
    attributes: Mapping[str, Attribute],
    person: RepeatingKey | None,
) -> CountedTable:
    """Some columns of a table as publishing will count them. frame: with these columns, and that of people.

    Several rows of each only count where all that is sensitive can bear a demand even so: any row of a person is looked at.
    """
    missing = described.missing.texts
    read = partial(read_table, frame, attributes, missing, decimal=described.decimal.sign, k=described.rare)
    if person is None:
        table = read(rows_per_person=1)
        return CountedTable(table, table.rows)
    single = read(person=person.column, one_row=ONE_ROW)
    one = CountedTable(single, single.rows)
    codes = factorized(frame[person.column], missing)[0]
    rows_of_each = np.bincount(codes[codes >= 0])
    in_the_way = single.sensitive
    for rows in worth_counting(rows_of_each):  # ever fewer, of which all can be shown that can be of more
        of_several = replace(single, rows_per_person=rows)
        in_the_way = tuple(name for name in in_the_way if _demand(of_several, name) is None)
        if not in_the_way:
            table = read(person=person.column, rows_per_person=rows)
            return one if None in _demands_of(table).values() else CountedTable(table, single.rows, rows)
        if not one.in_the_way or len(in_the_way) < len(one.in_the_way):
            one = replace(one, in_the_way=in_the_way, several=rows, more=int(np.minimum(rows_of_each, rows).sum()))
    return one


def _hierarchy_files(guesses: Mapping[str, Guess]) -> dict[str, tuple[str, bytes]]:
    """For each column with a guessed hierarchy the path of its file and the file."""
    files: dict[str, tuple[str, bytes]] = {}
    taken: set[str] = set()
    for name, guessed in guesses.items():
        if guessed.hierarchy:
            slug = stem = re.sub(r"[^a-z0-9._-]+", "_", name.lower()).strip("._-")[:80] or "column"
            number = 2
            while slug in taken:
                slug, number = f"{stem}_{number}", number + 1
            taken.add(slug)
            files[name] = (f"hierarchies/{slug}.csv", csv_text(guessed.hierarchy, ";").encode())
    return files


def _data(source: Path, beside: Path, form: CsvForm, missing: MissingTokens, complete: int, rows: int) -> str:
    """The first section. complete: of how many rows of all none lacks a value that is needed."""
    path = _from(beside.absolute().parent, source)
    separator_line = "" if form.separator == "," else f"separator = {quoted(form.separator)}\n"
    if form.encoding != AUTO:
        separator_line += (
            "# Guessed, for it is not in UTF-8: look whether letters with accents are right in what is written.\n"
        )
        separator_line += f"encoding = {quoted(form.encoding)}\n"
    rows_counted = f"{complete:,} of {number_of(rows, 'row')} {'is' if complete == 1 else 'are'} kept"
    cells = f"# {one_line(str(missing))}\n" if missing.cells else ""
    numbers = "".join(f"# {token}: {one_line(why)}.\n" for token, why in missing.why.items())
    return (
        f"[data]\npath = {quoted(path)}\n{NOT_REVIEWED}{separator_line}"
        "# Texts that stand for no value. A row with one is left out, unless its column says below that missing values\n"
        f"# count as a value: {rows_counted}.\n{cells}{numbers}"
        f"missing = [{', '.join(map(quoted, missing.texts))}]\n"
        '# where = "age >= 21"         # publish only the part of the table where this holds; other parts need a ledger\n'
        '# A coarse value stands for everything its hierarchy puts under it; "observed": only for what occurs.\n'
        'domain = "declared"\n'
    )


def _decimal(decimal: DecimalSign) -> str:
    return f"# Guessed, for {one_line(decimal.why)}.\ndecimal = {quoted(decimal.sign)}\n" if decimal.why else ""


def _in_words(column: Column, numbers: NumberFormat) -> str:
    """How a column is read whose numbers have signs between thousands, or in percent."""
    other = "," if numbers.decimal == "." else "."
    if numbers.thousands == other and NumberFormat.of(column.values, other) is not None:
        return f'{numbers}; if that sign stands before a fraction, write decimal = "{other}"'
    return str(numbers)


def _formats(formats: Mapping[str, str]) -> str:
    return "".join(f"# The numbers of {one_line(name)} are read with {words}.\n" for name, words in formats.items())


def _whose(person: RepeatingKey, counted: CountedTable) -> str:
    rows = counted.rows_of_each
    lines = [f"{person.column} {person.why}. So what is promised is promised of people."]
    if rows > 1:
        lines.append(
            f"Of each up to {rows:,} rows count, drawn at random, so k people are k times {rows} rows. Instead of it, "
            'one_row = "first", "last" or "random" counts one row of each.'
        )
    else:
        lines.append(
            "One row of each counts, drawn at random from those that are not left out, so that what changes with time is "
            'told of all times; "first" and "last" are those in the order of the table.'
        )
        lines.append(_several(counted))
    lines.append(
        "Instead of both lines, rows_per_person = 1 says that each row is a person of its own, and "
        'rows_per_person = "any" that promises shall count rows.'
    )
    said = f"rows_per_person = {rows}" if rows > 1 else f'one_row = "{ONE_ROW}"'
    comments = [
        part for line in lines for part in wrap(one_line(line), 118, initial_indent="# ", subsequent_indent="# ")
    ]
    return "\n".join([*comments, f"person = {quoted(person.column)}", said]) + "\n"


def _each_its_own(table: _DescribedTable, guesses: Mapping[str, Guess]) -> str:
    """That each row is a person of its own, where a key repeats that numbers no people; else nothing."""
    keys = _keys(table.frame, guesses, table.missing.texts)
    names = [key.column for key in keys if not guesses[key.column].question]
    if not names:
        return ""
    line = (
        f"{', '.join(map(column_name, names))} repeats, and numbers no people. So each row is taken for a person of its "
        'own; if a person can have several rows, write person = "COLUMN" with the column that says whose row it is.'
    )
    comments = wrap(one_line(line), 118, initial_indent="# ", subsequent_indent="# ")
    return "\n".join(["", *comments, "rows_per_person = 1"]) + "\n"


def _several(counted: CountedTable) -> str:
    """What it would take for several rows of each person to count."""
    if not counted.in_the_way:
        return "Instead of one_row, rows_per_person = 5 counts so many rows of each."
    names = ", ".join(map(column_name, counted.in_the_way))
    return (
        f"Up to {counted.several:,} rows of each could count, {counted.more:,} rows in all instead of "
        f'{counted.table.rows:,}, if {names} had the role "ignored" or were merged less: as any row of a person may be '
        f"looked at, a value that more than one of {counted.several:,} rows have could be that of everybody. Then write "
        f"rows_per_person = {counted.several} instead of one_row."
    )


def _from(folder: Path, file: Path) -> str:
    """The path of a file seen from a folder, or from the root where no other path leads there."""
    try:
        path = Path(os.path.relpath(file.absolute(), folder))
    except ValueError:  # another drive
        return file.absolute().as_posix()
    return (path if resolved(folder / path) == resolved(file) else file.absolute()).as_posix()


_MOST_NODES = 5_000
"""With more generalizations than this, looking for the best single table takes minutes."""

_COMMENT = 110
"""Characters of a line of a comment."""

_MEANINGS = {
    "recursive:3,4": "the likeliest value is less than 3 times as likely as all but the three likeliest together",
    "recursive:3,3": "the likeliest value is less than 3 times as likely as all but the two likeliest together",
    "recursive:3,2": "the likeliest value is less than 3 times as likely as all others together",
    "recursive:10,2": "the likeliest value is less than 10 times as likely as all others together",
    "recursive:30,2": "the likeliest value is less than 30 times as likely as all others together",
    "distinct:2": "two values stay possible",
}
"""What each demand of a first config means."""


def config_text(
    name: str,
    data: str,
    guesses: Mapping[str, Guess],
    files: Mapping[str, str],
    policy: Sequence[str],
    wanted: Sequence[Sequence[str]],
) -> str:
    """The whole config. name: of the table. data: its first section. files: of hierarchies. policy: the sections of privacy
    and search, the latter last. wanted: columns of analyses.
    """
    sections = (_section(column, guessed, files.get(column)) for column, guessed in guesses.items())
    coarse = [column for column, guessed in guesses.items() if guessed.is_coarse and guessed.role.is_used]
    apart = [column for column, guessed in guesses.items() if guessed.is_alone and guessed.role.is_used]
    *demands, search = policy
    search += _coarse_only(coarse) + _alone(apart) + "".join(_wanted(columns, guesses) for columns in wanted)
    parts = [_HEAD.format(name=one_line(name)) + questions_text(guesses), data, _ROLES, *sections]
    return "\n".join([*parts, *demands, search])


def _section(name: str, guessed: Guess, file: str | None) -> str:
    key = _key(name)
    lines = [f"[attributes.{key}]", *guess_comments(guessed), f'role = "{guessed.role.value}"']
    if guessed.intervals:
        lines.append(f"intervals = [{', '.join(map(_number, guessed.intervals))}]")
    if guessed.start:
        lines.append(f"start = {_number(guessed.start)}        # 0 is a group of its own")
    if guessed.apart:
        lines.append(
            f"apart = [{', '.join(map(_number, guessed.apart))}]        # groups by themselves: many rows have them"
        )
    if guessed.prefixes:
        lines.append(f"prefixes = {list(guessed.prefixes)}")
    if guessed.dates:
        lines.append(f"dates = [{', '.join(map(quoted, guessed.dates))}]")
    if guessed.is_fitted:
        lines.append('ladder = "fitted"')
    if file is not None:
        lines.append(f"# Review {file}. It names values of all rows, rare ones too, and is for you alone: of its")
        lines.append(
            '# labels a release names only those that its tables count. Never add labels = "public" to this one.'
        )
        lines.append(f"hierarchy = {quoted(file)}")
    if guessed.missing != "drop":
        lines.append(f'missing = "{guessed.missing}"        # "drop": rows without one are left out')
    lines += _words(key, guessed) if guessed.role.is_used else []
    return "\n".join(lines) + "\n"


def _number(width: int | Decimal) -> str:
    """A width as TOML spells it; one of numbers with decimals has a point."""
    if isinstance(width, int):
        return str(width)
    plain = f"{width:f}".rstrip("0").rstrip(".") if "." in f"{width:f}" else f"{width:f}"
    return plain if "." in plain else f"{plain}.0"


def _words(key: str, guessed: Guess) -> list[str]:
    """What the file of the table says of a column in words, for readers."""
    said = guessed.said
    lines = [f"description = {quoted(said.description)}"] if said.description else []
    if said.values:
        lines.append(f"[attributes.{key}.values]")
        lines += [f"{quoted(value)} = {quoted(meaning)}" for value, meaning in said.values.items()]
    return lines


def _coarse_only(columns: Sequence[str]) -> str:
    """That what tells people apart is published coarsened only."""
    withheld = ", ".join(f"{{ {quoted(column)} = 0 }}" for column in columns)
    why = "# Level 0 is the day of birth, or the whole code of a place, which tells people apart."
    return f"{why}\nmust_not_publish = [{withheld}]\n" if withheld else ""


def _alone(columns: Sequence[str]) -> str:
    """That what would give a sensitive column away has tables of its own only."""
    if not columns:
        return ""
    why = "# In one table with others these would give a sensitive column away, so each has a table of its own only."
    return f"{why}\nalone = [{', '.join(map(quoted, columns))}]\n"


def _wanted(wanted: Sequence[str], guesses: Mapping[str, Guess]) -> str:
    """The section of the analysis that a release is wanted for, of the columns that are published."""
    used = [column for column in wanted if guesses[column].role.is_used]
    out = [column for column in wanted if column not in used]
    lines = [""] if wanted else []
    if out:
        lines.append(
            f"# Wanted, but left out above: {one_line(', '.join(out))}. Give it a role there, and add it here."
        )
    if used:
        lines += ["[[search.wanted]]", f"attributes = [{', '.join(map(quoted, used))}]", f"weight = {WEIGHT}"]
    return "".join(f"{line}\n" for line in lines)


def _least(counted: CountedTable) -> int:
    """The k to demand of so many people."""
    people = counted.people
    return _K if people >= 500 else 5 if people >= 100 else min(2, people)


def _privacy(counted: CountedTable, preset: Preset) -> str:
    table, k = counted.table, _least(counted)
    lines = [
        "# Each of these can be left out; what is left out is not checked.",
        "[privacy]",
        # No comment repeats a number: the window, or a person, changes the number and leaves the comment.
        "# So many rows, or people if [data] says whose rows these are, share each published cell at least, the sensitive",
        "# column set aside;",
        f"k_link = {k}",
    ]
    if not preset.has_further:
        lines += [
            "# for each combination of nonsensitive values, the tables together either rule it out or leave room for at",
            "# least so many; in the data it can be rarer;",
            f"k_combinatorial = {k}",
            "# and no published count is below this but 0, sensitive columns counted too, and none follows:",
            f"min_cell = {_LEAST_CELL}",
        ]
    else:
        lines += [
            "# nobody can be certain that a combination of nonsensitive values has fewer rows than this and more than none,",
            "# which you attest with the release: readers can refute it, and not prove it;",
            f"no_small_certain = {k}",
            "# and no published count is below this but 0, sensitive columns counted too; one can follow:",
            f"min_published_cell = {_LEAST_CELL}",
        ]
    if not table.sensitive:
        lines += [
            "# No column looked sensitive. If nobody may learn one of them about a person, give it the role",
            '# "sensitive" above, and say how uncertain it must stay:',
            '# diversity = "recursive:3,4"',
        ]
    else:
        register = table.rows_per_person in (None, 1)
        if register:
            lines += [
                "# What is demanded below of sensitive columns also holds of somebody who knows all other columns of",
                "# everybody, from a register. Leave this out beside a ledger (publish --ledger), where people are in",
                "# several releases.",
                "register = true",
            ]
        lines += _demands({name: demand or PROPOSED for name, demand in counted.demands.items()}, register)
    return "\n".join(lines) + "\n"


def _search(counted: CountedTable, preset: Preset) -> str:
    """How it is searched, and between what the preset chooses, with what that means for this table."""
    pairs = counted.pairs or PairsOfTable(0, 1)
    lines = [f"# {line}" for line in wrap(pairs.sentence, _COMMENT)] if pairs.pairs else []
    for offered in PRESETS.values():
        state = "chosen" if offered is preset else f"not chosen: marginals init --preset {offered.name}"
        lines += [
            f"# {line}" for line in wrap(f"{offered.name} ({state}): {offered.promises} {offered.costs}", _COMMENT)
        ]
    search = _SEARCH.format(margins=preset.search["max_sensitive_margins"])
    further = (
        f'further_tables = "{PAIRS}"     # tables of pairs beside those with a junction tree; "none", or a number\n'
    )
    preset_lines = lines if pairs.pairs > 1 or preset.has_further else []
    return "\n".join([*preset_lines, search]) + (further if preset.has_further else "")


def _demands(demands: Mapping[str, str], register: bool) -> list[str]:
    """The lines that demand something of each sensitive column. register: whether a line before them needs one."""
    remove = "; then remove register = true, too" if register else ""
    lines = [
        "# What the tables together say of a sensitive column, by maximum entropy, stays as varied as this in every class.",
        f'# "{NO_DIVERSITY}" demands nothing, on purpose{remove}.',
        "# Without any of these lines nothing sensitive is published.",
    ]
    if len(demands) == 1:
        ((_, demand),) = demands.items()
        return [*lines, f"# {demand}: {_MEANINGS[demand]}.", f'diversity = "{demand}"']
    lines.append("[privacy.diversity]")
    lines += [f"# {demand}: {meaning}." for demand, meaning in _MEANINGS.items() if demand in demands.values()]
    return lines + [f'{_key(name)} = "{demand}"' for name, demand in demands.items()]


def _key(name: str) -> str:
    """A column as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def _base(generalizations: int | None) -> str:
    lines = ["# One table with all the columns, each coarsened as far as it must be, can be part of the release."]
    if generalizations is not None:
        lines += [
            "[base]",
            'table = "auto"               # if that is better; "best": always; "none": smaller tables only',
        ]
    else:
        lines += [
            f"# There are more than {_MOST_NODES:,} ways to coarsen them, so looking for the best would take long; with",
            '# fewer columns or levels, try "auto".',
            "[base]",
            'table = "none"',
        ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def one_line(text: str) -> str:
    """The text in one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


_HEAD = """\
# A first guess at how to publish {name}, made from the table alone. Review every line: only you know
# what people can be recognized by, and what nobody should learn about them. Then:
#   marginals assess THIS_FILE                        what the table itself gives away
#   marginals publish THIS_FILE --out release
"""

_ROLES = """\
# The role of a column is one of
#   "identifier"        names a person; never read any further
#   "ignored"           not wanted in the release
#   "quasi-identifier"  others may know it about a person: what people could be recognized by
#   "sensitive"         what nobody may learn about a person
#
# A quasi-identifier can be coarsened step by step, from the value as it is to "*", which says nothing. The steps are
#   intervals = [5, 10, 20]          whole numbers, in ever wider intervals; each width is a multiple of the one before
#                                    ([0.5, 2.5] or [5.0, 10.0], with a point: numbers with decimals)
#   dates = ["month", "year"]        dates and times, cut to ever longer units
#   prefixes = [3, 2]                codes, of which ever fewer characters are kept
#   hierarchy = "hierarchies/x.csv"  anything else: a file without header, separated by semicolons, with one line for
#                                    each value: the value, what it becomes first, what it becomes next, ..., *
#   ladder = "fitted"                steps that are fitted to the table, alone or with one of these: rare values are
#                                    merged with their neighbours, or with those nearest in the hierarchy, more at each
#                                    step; "given": only the steps that are given
# With none of these, the column is published as it is or not at all; if published, the release lists all its values.
# A release names the labels that its tables count, and no others. A hierarchy that everybody may know, made without looking
# at this table, can be published whole: labels = "public".
"""

_SEARCH = """\
[search]
objective = "corrected"      # what tables tell beyond chance; "kl": chance counts too
seed = 0                     # the same table, config and seed give the same release, unless time_limit ends the search
max_sensitive_margins = {margins}    # at most so many published tables hold a sensitive column
time_limit = 60.0            # seconds; then the best release found so far is taken
"""
