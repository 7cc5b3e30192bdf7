"""A first `release.toml` for a table that nobody has described yet: guesses, each with its reason, to be reviewed.

It quotes no value of the table, but for hierarchy files.
"""

import csv
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from checks.diversity.registry import parse_diversity
from marginals.bundle.target import release_at
from marginals.config.guessing.column_guess import Guess, guess, settled
from marginals.config.guessing.rarity import RARE
from marginals.errors import InputError
from marginals.files.atomic_file import replace_file
from marginals.files.output import keep_apart, refuse_to_replace
from marginals.tables.attribute import Attribute, Role
from marginals.tables.column import Column
from marginals.tables.header import refuse_record
from marginals.tables.keys import RepeatingKey, possible_keys, repeating_keys
from marginals.tables.source import read_table
from marginals.tables.sources.csv_form import AUTO, CsvForm
from marginals.tables.sources.files import files_of, frame_of, likely_form
from marginals.tables.sources.pandas_frame import PandasFrame
from marginals.tables.table import Table
from models.tables.hierarchy import Hierarchy

_MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", ".", "-")
"""What stands for nothing in many tables; the first two always do."""

_MOST_QUASI_IDENTIFIERS = 12
_MOST_NODES = 5_000
"""With more generalizations than this, looking for the best single table takes minutes."""

_DIVERSITIES = ("recursive:3,4", "recursive:3,3", "recursive:3,2", "recursive:10,2", "distinct:2")


@dataclass(frozen=True)
class InitialConfig:
    """A config as text, the hierarchy files it names by their paths beside it, and the guesses it was made from.

    person: the column that was taken to say whose row it is, since it looks like a key and repeats.
    """

    text: str
    hierarchies: Mapping[str, bytes]
    guesses: Mapping[str, Guess]
    person: RepeatingKey | None = None

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

        Raises InputError for what cannot be written; the config is written last, so that there is none then.
        """
        files = self.files(path)
        for file, content in files.items():
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                replace_file(file, content)
            except OSError as error:
                raise InputError(f"{file} cannot be written: {error.strerror or type(error).__name__}") from None
        return list(files)

    def as_json(self) -> dict[str, Any]:
        """The guesses as plain values, without a value of the table."""
        return {name: _as_json(guessed) for name, guessed in self.guesses.items()}


def _as_json(guessed: Guess) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": guessed.role.value, "why": guessed.why}
    plain |= {"intervals": list(guessed.intervals)} if guessed.intervals else {}
    plain |= {"prefixes": list(guessed.prefixes)} if guessed.prefixes else {}
    return plain | ({"hierarchy": True} if guessed.hierarchy else {})


def initial_config(source: Path, beside: Path, rare: int = RARE) -> InitialConfig:
    """The guess at a config for a CSV or Parquet file, to be written to the file `beside`.

    rare: values that fewer rows have are named in hierarchy files only. Raises InputError where the file is no table,
    or no column of it can be published.
    """
    form = likely_form(source)
    files = files_of(source, form)
    if len(set(files.columns)) < len(files.columns):
        raise InputError(f"{source.name} has two columns of one name, or no header line; give each column its own name")
    refuse_record(files, files.columns, _MISSING)
    frame = frame_of(files)
    names = list(map(str, frame.columns))
    by_name = _keys(frame, {}, _MISSING)
    person = by_name[0] if by_name else None
    read = [_column(_of_each(frame, name, person), name) for name in names]
    missing = [token for token in _MISSING if token in _MISSING[:2] or any(token in column.values for column in read)]
    columns = [_without(column, missing) for column in read]
    guesses = {column.name: guess(column, rare) for column in columns}
    guesses |= {key.column: Guess(Role.IDENTIFIER, f"it {key.why}") for key in by_name}
    if person is None:  # the values of an identifier tell it where its name does not
        person = next(iter(_keys(frame, guesses, missing)), None)
    guesses, table = _readable(frame, settled(guesses, _MOST_QUASI_IDENTIFIERS), missing, source.name, columns, person)
    written = _hierarchy_files(guesses)
    parts = [
        _HEAD.format(name=_comment(source.name)),
        _data(source, beside, form, missing, table, len(frame)),
        *([] if person is None else [_whose(person)]),
        _ROLES,
        *(_section(name, guessed, written[name][0] if name in written else None) for name, guessed in guesses.items()),
        _privacy(table),
        _base(table),
        _SEARCH,
    ]
    return InitialConfig("\n".join(parts), dict(written.values()), guesses, person)


def _keys(frame: pd.DataFrame, guesses: Mapping[str, Guess], missing: Sequence[str]) -> list[RepeatingKey]:
    """The columns that look like keys of people and repeat, the one with most values first. guesses: those made so far."""
    identifiers = {name: _attribute(guessed) for name, guessed in guesses.items() if guessed.role is Role.IDENTIFIER}
    keys = repeating_keys(PandasFrame(frame), possible_keys(list(map(str, frame.columns)), identifiers), missing)
    return sorted(keys, key=lambda key: -key.values)


def _of_each(frame: pd.DataFrame, name: str, person: RepeatingKey | None) -> pd.DataFrame:
    """The rows, without those that repeat a value of a person, so that what is counted is people."""
    if person is None or name == person.column:
        return frame
    try:
        return frame[~frame.duplicated([person.column, name])]
    except TypeError:  # lists and the like
        return frame


def _column(frame: pd.DataFrame, name: str) -> Column:
    """The values of a column as publishing would read them."""
    try:
        table = read_table(frame[[name]], {name: "quasi-identifier"}, _MISSING[:2])
    except (InputError, TypeError):  # no value at all, or none that could be counted
        return Column(name, (), np.zeros(0, dtype=np.int64), len(frame))
    cells = list(table.counts.cells())
    return Column(name, tuple(label for (label,), _ in cells), np.array([n for _, n in cells]), table.missing)


def _without(column: Column, missing: Sequence[str]) -> Column:
    """The column with these values counted as missing."""
    kept = [i for i, value in enumerate(column.values) if value not in missing]
    counts = column.counts[kept]
    gone = column.rows - int(counts.sum())
    return Column(column.name, tuple(column.values[i] for i in kept), counts, column.missing + gone)


def _attribute(guessed: Guess) -> Attribute:
    hierarchy = Hierarchy.from_rows(guessed.hierarchy) if guessed.hierarchy else None
    return Attribute(guessed.role, hierarchy, intervals=guessed.intervals, prefixes=guessed.prefixes)


def _readable(
    frame: pd.DataFrame,
    guesses: dict[str, Guess],
    missing: Sequence[str],
    name: str,
    columns: Sequence[Column],
    person: RepeatingKey | None,
) -> tuple[dict[str, Guess], Table]:
    """The guesses with which most rows of the table can be read, and the table so read, of the first row of each person.

    While fewer than half the rows have a value in every column that is used, the emptiest such column is left out.
    """
    gaps = {column.name: column.missing for column in columns}
    while used := [column for column, guessed in guesses.items() if guessed.role.is_used]:
        emptiest = max(used, key=lambda column: gaps[column])
        try:
            attributes = {column: _attribute(guessed) for column, guessed in guesses.items()}
            table = read_table(frame, attributes, missing, **_unit(person))
        except InputError:
            if not gaps[emptiest]:
                raise
        else:
            if 2 * (table.rows + table.left_out) >= len(frame) or not gaps[emptiest]:
                return guesses, table
        why = "too many rows lack a value in one column or another, most often in this one"
        guesses = guesses | {emptiest: Guess(Role.IGNORED, why)}
    reasons = "; ".join(f"{column}: {guessed.why}" for column, guessed in guesses.items())
    raise InputError(f"no column of {name} can be published as it is ({reasons})")


def _unit(person: RepeatingKey | None) -> dict[str, Any]:
    """How it is said of whom the rows are; of people, where nothing repeats."""
    return {"rows_per_person": 1} if person is None else {"person": person.column, "one_row": "first"}


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
            content = io.StringIO()
            csv.writer(content, delimiter=";", lineterminator="\n").writerows(guessed.hierarchy)
            files[name] = (f"hierarchies/{slug}.csv", content.getvalue().encode())
    return files


def _data(source: Path, beside: Path, form: CsvForm, missing: Sequence[str], table: Table, rows: int) -> str:
    path = _from(beside.absolute().parent, source)
    separator_line = "" if form.separator == "," else f"separator = {_quoted(form.separator)}\n"
    if form.encoding != AUTO:
        separator_line += (
            "# Guessed, for it is not in UTF-8: look whether letters with accents are right in what is written.\n"
        )
        separator_line += f"encoding = {_quoted(form.encoding)}\n"
    kept = f"{table.rows + table.left_out} of {rows} rows have a value in every column"
    return (
        f"[data]\npath = {_quoted(path)}\n{separator_line}"
        f"# Rows with one of these in a used column are left out; {kept}\n# that is used below.\n"
        f"missing = [{', '.join(map(_quoted, missing))}]\n"
        '# A coarse value stands for everything its hierarchy puts under it; "observed": only for what occurs.\n'
        'domain = "declared"\n'
    )


def _whose(person: RepeatingKey) -> str:
    lines = [
        f"# {_comment(person.column)} {person.why}. So one row",
        "# of each is counted, and what is promised is promised of people. It is the first in the order of the table, of",
        '# those that are not left out; or "last", or "random". Instead of one_row, rows_per_person = 5 counts so many rows',
        "# of each. Instead of both lines, rows_per_person = 1 says that each row is a person of its own, and",
        '# rows_per_person = "any" that promises shall count rows.',
        f"person = {_quoted(person.column)}",
        'one_row = "first"',
    ]
    return "\n".join(lines) + "\n"


def _from(folder: Path, file: Path) -> str:
    """The path of a file seen from a folder, or from the root where no other path leads there."""
    try:
        path = Path(os.path.relpath(file.absolute(), folder))
    except ValueError:  # another drive
        return file.absolute().as_posix()
    return (path if (folder / path).resolve() == file.resolve() else file.absolute()).as_posix()


def _section(name: str, guessed: Guess, file: str | None) -> str:
    key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)
    why = wrap(f"Guessed: {_comment(guessed.why)}.", 118, initial_indent="# ", subsequent_indent="# ")
    lines = [f"[attributes.{key}]", *why, f'role = "{guessed.role.value}"']
    if guessed.intervals:
        lines.append(f"intervals = {list(guessed.intervals)}")
    if guessed.prefixes:
        lines.append(f"prefixes = {list(guessed.prefixes)}")
    if file is not None:
        lines.append(f"# Review {file}. It names values of all rows, rare ones too, and is for you alone: of its")
        lines.append(
            '# labels a release names only those that its tables count. Never add labels = "public" to this one.'
        )
        lines.append(f"hierarchy = {_quoted(file)}")
    return "\n".join(lines) + "\n"


def _privacy(table: Table) -> str:
    k = 10 if table.rows >= 500 else 5 if table.rows >= 100 else min(2, table.rows)
    lines = [
        "# Each of the three can be left out; what is left out is not checked.",
        "[privacy]",
        f"# Whoever is counted shares a cell with at least {k - 1} others, the sensitive column set aside,",
        f"k_link = {k}",
        "# also when somebody puts all published tables together;",
        f"k_combinatorial = {k}",
    ]
    if not table.sensitive:
        lines += [
            "# No column looked sensitive. If nobody may learn one of them about a person, give it the role",
            '# "sensitive" above, and say how uncertain it must stay:',
            '# diversity = "recursive:3,4"',
        ]
    elif (diversity := _diversity(table)) is None:
        lines.append("# The sensitive column as a whole satisfies no diversity that could be demanded here.")
    else:
        lines += [
            "# and what the tables together say about the sensitive column stays as uncertain as this. It is the",
            "# strongest of some that the column as a whole satisfies; recursive:c,l: the likeliest value is less than",
            "# c times as likely as the l-th, (l+1)-th, ... likeliest together; distinct:l: l values stay possible.",
            f'diversity = "{diversity}"',
        ]
    return "\n".join(lines) + "\n"


def _diversity(table: Table) -> str | None:
    """The strongest diversity, of some, that the sensitive column satisfies over all rows."""
    counts = table.counts.rolled_up({table.sensitive[0]: 0}).counts.tolist()
    return next((text for text in _DIVERSITIES if parse_diversity(text).decide(counts)), None)


def _base(table: Table) -> str:
    nodes = prod(table.domain.hierarchy(name).height + 1 for name in table.quasi_identifiers)
    lines = ["# One table with all the columns, each coarsened as far as it must be, can be part of the release."]
    if nodes <= _MOST_NODES:
        lines += ["[base]", 'table = "best"               # found by the program; "none": smaller tables only']
    else:
        lines += [
            f"# There are {nodes:,} ways to coarsen them, so looking for the best would take long; with fewer columns or",
            '# levels, try "best".',
            "[base]",
            'table = "none"',
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
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
#   prefixes = [3, 2]                codes, of which ever fewer characters are kept
#   hierarchy = "hierarchies/x.csv"  anything else: a file without header, separated by semicolons, with one line for
#                                    each value: the value, what it becomes first, what it becomes next, ..., *
# With none of these, the column is published as it is or not at all; if published, the release lists all its values.
# A release names the labels that its tables count, and no others. A hierarchy that everybody may know, made without looking
# at this table, can be published whole: labels = "public".
"""

_SEARCH = """\
[search]
strategy = "greedy"          # or "greedy-both", "anneal", "genetic": slower, often better
seed = 0                     # the same seed gives the same release
max_sensitive_margins = 3    # at most so many published tables hold the sensitive column
time_limit = 60.0            # seconds; then the best release found so far is taken
"""
