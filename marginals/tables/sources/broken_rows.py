"""Rows of CSV files that are no rows: with fewer or more fields than the header, or in a quoted field as the file ends.

Such a file was most likely cut off on its way. Some engines fill such a row up and some refuse it, so it is refused here,
with one sentence for all.
"""

import csv
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path

from marginals.errors import InputError
from marginals.tables.sources.compressed import reading
from marginals.tables.sources.csv_form import CsvForm

_OPEN_QUOTE = "has a quoted field that does not end"


def broken_row(path: Path, form: CsvForm) -> InputError | None:
    r"""The sentence for the first broken row of a CSV file, which names its line and quotes nothing.

    None where there is no such row, or the file cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("age,sex\n31,f\n4")
    ...     print(broken_row(path, CsvForm()))
    line 3 of people.csv has fewer fields than the header; the file may be cut off: get it whole, or mend the line
    """
    try:
        with (
            reading(path),
            form.opened(path) as stream,
            TextIOWrapper(stream, encoding="utf-8-sig", newline="") as lines,
        ):
            problem = _problem(lines, form.separator)
    except InputError:
        return None
    if problem is None:
        return None
    line, what = problem
    return InputError(f"line {line} of {path.name} {what}; the file may be cut off: get it whole, or mend the line")


def _problem(lines: Iterable[str], separator: str) -> tuple[int, str] | None:
    """The line where the first broken row begins, and what is wrong with it."""
    row: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines:
            row.append(line)
            yield line

    reader = csv.reader(noted(), delimiter=separator)
    width = begin = end = 0
    try:
        for fields in reader:
            begin, end = end + 1, reader.line_num
            width = width or len(fields)
            if len(fields) != width and "".join(fields).strip():
                less = f"has {'fewer' if len(fields) < width else 'more'} fields than the header"
                return begin, _OPEN_QUOTE if _ends_in_quotes(row, separator) else less
            last = row[:]
            row.clear()
    except csv.Error:  # a field longer than any: nothing closes its quote
        return end + 1, _OPEN_QUOTE
    return (begin, _OPEN_QUOTE) if width and _ends_in_quotes(last, separator) else None


def _ends_in_quotes(row: list[str], separator: str) -> bool:
    """Whether the lines of a row end before a quoted field of it does."""
    try:
        list(csv.reader(row, delimiter=separator, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False
