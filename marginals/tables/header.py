"""Whether a table has the columns that are described, and its first line names them.

The first line of a CSV file without a header is a record, and its "names" are a person's values. Such a file must not be
read any further: names of columns are printed, written into configs and published.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

from marginals.errors import InputError
from marginals.suggestions import did_you_mean
from marginals.tables.attribute import Attribute, Role
from marginals.tables.column import Column
from marginals.tables.sources.distinct_rows import Source
from marginals.tables.sources.files import Files, ParquetFiles
from marginals.tables.sources.program_file import ProgramFile

_ROWS = 10_000
"""Rows that are looked at."""

_NUMBER = re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]{1,18})?")
_DATE = re.compile(r"([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4})([ T][0-9:.]+)?")


def check_header(files: Files, attributes: Mapping[str, Attribute], missing: Collection[str]) -> None:
    """Raise InputError for files that lack a column which is described, or whose first line looks like a record.

    missing: texts that stand for no value. Where a column is lacking, the whole first line may be a record.
    """
    lacking = [
        c for c, attribute in attributes.items() if attribute.role is not Role.IGNORED and c not in files.columns
    ]
    used = [column for column, attribute in attributes.items() if attribute.role.is_used]
    refuse_record(files, files.columns if lacking else used, missing)
    check_columns(files, attributes)


def check_columns(source: Source, attributes: Mapping[str, Attribute]) -> None:
    """Raise InputError for a source that lacks a column which is described and not ignored, or has it twice."""
    columns = list(source.columns)
    for column, attribute in attributes.items():
        if attribute.role is Role.IGNORED:
            continue
        if column not in columns:
            # The columns are not listed: without a header they are the values of a row.
            suggestion = did_you_mean(column, columns) or f"it has {len(columns)} others"
            raise InputError(f"{source.name} has no column {column!r}; {suggestion}")
        if columns.count(column) > 1:
            raise InputError(f"{source.name} has two columns of the name {column!r}")


def refuse_record(files: Files, columns: Iterable[str], missing: Collection[str]) -> None:
    """Raise InputError, quoting no name, where the first line of CSV files or of a spreadsheet looks like a record.

    columns: those that are looked at, in the first rows of the first file; those that it lacks are passed over. missing:
    values that stand for nothing.
    """
    if isinstance(files, ParquetFiles) or (isinstance(files, ProgramFile) and not files.has_header):
        return
    try:
        frame = files.first_rows(_ROWS)
    except InputError:  # whoever reads the rows says better what is wrong with them
        return
    frame = frame.loc[:, ~frame.columns.duplicated()]
    looked_at = [Column.of(name, map(str, frame[name]), missing) for name in dict.fromkeys(columns) if name in frame]
    if looks_like_record(looked_at, missing):
        raise InputError(
            f"{files.name} seems to have no header line: its first line looks like a record, or stands among the records "
            "once more; write one line with a name for each column before them, names that are words"
        )


def looks_like_record(columns: Sequence[Column], missing: Collection[str] = ()) -> bool:
    """Whether the names of columns are a record, by the evidence of more columns than speak against it.

    For a record speaks a column
    - whose name is a date, as all its values are;
    - whose name is a number, as all its values are, unless all such names together can well be names: years, or numbers
      from column to column by equal steps, or five or more that rise or fall;
    - whose name is a code with a digit, letters and digits in the same places as in all its values;
    - whose name is another text and also one of its values, of which there are three or more; with two, the value may
      repeat the name as answers to check boxes do (`Asthma`: `Asthma`, `no`).
    Against it speaks a column whose name is a text that is not among its values, where these are all numbers or dates, or
    where there are few and none of them is rare: a record would most likely hold one of them.

    >>> import pandas as pd
    >>> from_file = pd.DataFrame({"51": ["40", "62"], "1972-11-02": ["1961-05-01", "1983-01-20"]})
    >>> looks_like_record([Column.of(name, from_file[name]) for name in from_file])
    True
    >>> counted = pd.DataFrame({"country": ["Peru", "Chad"], "2019": ["5", "8"], "2020": ["6", "7"]})
    >>> looks_like_record([Column.of(name, counted[name]) for name in counted])
    False
    """
    named = [column for column in columns if column.values and column.name not in missing]
    numbers = [column.name for column in named if _all(_NUMBER, [column.name, *column.values])]
    by_number = 0 if _can_be_names(numbers) else len(numbers)
    return by_number + sum(map(_is_value, named)) > sum(map(_is_name, named))


def _can_be_names(numbers: Sequence[str]) -> bool:
    """Whether names that are numbers say no more than that: as years do, or places in a row."""
    if any(re.fullmatch(r"[-+]?0[0-9].*", number) for number in numbers):
        return False
    values = list(map(Decimal, numbers))
    steps = [after - before for before, after in pairwise(values)]
    if not (all(step > 0 for step in steps) or all(step < 0 for step in steps)):
        return False
    if all(value == int(value) and 1800 <= value <= 2200 for value in values):
        return True
    if len(values) < 3:
        return values[:1] in ([], [Decimal(0)], [Decimal(1)]) and all(step == 1 for step in steps)
    return len(values) >= 5 or len(set(steps)) == 1


def _is_value(column: Column) -> bool:
    """Whether a name, not a number, can hardly be anything but a value of its column."""
    if _all(_NUMBER, [column.name]):
        return False
    if _all(_DATE, [column.name]):
        return _all(_DATE, column.values)
    if len(column.values) < 3:
        return False
    coded = re.search("[0-9]", column.name) and all(_shape(value) == _shape(column.name) for value in column.values)
    return bool(coded) or column.name in column.values


def _is_name(column: Column) -> bool:
    """Whether a name can hardly be a value of its column."""
    if column.name in column.values or _all(_NUMBER, [column.name]) or _all(_DATE, [column.name]):
        return False
    if _all(_NUMBER, column.values) or _all(_DATE, column.values):
        return True
    return not _is_value(column) and len(column.values) <= 20 and int(column.counts.min()) >= 10


def _all(pattern: re.Pattern[str], texts: Iterable[str]) -> bool:
    return all(pattern.fullmatch(text.strip()) for text in texts)


def _shape(text: str) -> str:
    """The text with one sign for all letters and one for all digits."""
    return re.sub("[0-9]", "0", re.sub(r"[^\W\d_]", "x", text))
