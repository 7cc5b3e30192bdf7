"""A published table in a CSV file: generalized rows, a row a line, or a class or cell with the column `count`."""

import csv
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from marginals.errors import InputError
from marginals.regular_file import bounded_content, reading
from marginals.tables.attribute import COUNT

_MOST_BYTES = 1 << 30
"""Of a file."""

Labels = tuple[str, ...]


@dataclass(frozen=True)
class PublishedTable:
    """A table as its file has it. name: for messages. columns: without `count`. cells: rows by their labels."""

    name: str
    columns: tuple[str, ...]
    cells: Mapping[Labels, int]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.cells.values())

    def among(self, columns: Sequence[str]) -> dict[Labels, int]:
        """Rows by their labels in some columns, in this order."""
        places = [self.columns.index(column) for column in columns]
        found: Counter[Labels] = Counter()
        for labels, count in self.cells.items():
            found[tuple(labels[place] for place in places)] += count
        return dict(found)


def read_published_table(path: str | Path, attributes: Collection[str]) -> PublishedTable:
    """The table in a CSV file, whose columns must be some of these attributes. Raises InputError naming file and column."""
    path = Path(path)
    with reading("published table", path, "commas"):
        header, *lines = [*csv.reader(bounded_content(path, _MOST_BYTES).decode("utf-8-sig").splitlines())] or [[]]
    name = f"the published table {path.name}"
    lines = [[cell.strip() for cell in line] for line in lines if line]
    columns = [column.strip() for column in header]
    if len(set(columns)) < len(columns) or any(len(line) != len(columns) for line in lines):
        raise InputError(f"{name} does not have one value in each row for each of its columns, each named once")
    shown = tuple(column for column in columns if column != COUNT)
    if unknown := [column for column in shown if column not in attributes]:
        raise InputError(
            f"{name} has the column {unknown[0]!r}, which is no attribute of the table, so that what it tells cannot be "
            "judged; give it a role in the config"
        )
    cells: Counter[Labels] = Counter()
    for number, line in enumerate(lines, 2):
        named = dict(zip(columns, line))
        text = named.get(COUNT, "1")
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise InputError(f"{name}: the count in row {number} is no whole number from 0 on")
        cells[tuple(named[column] for column in shown)] += int(text)
    return PublishedTable(name, shown, dict(+cells))
