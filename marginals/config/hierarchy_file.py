"""Hierarchy files: the levels of one attribute, as ARX writes them."""

import csv
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path

from marginals.errors import InputError
from marginals.regular_file import open_regular, reading
from models.errors import HierarchyError
from models.tables.hierarchy import Hierarchy


def read_hierarchy(path: str | Path) -> Hierarchy:
    r"""A hierarchy file as ARX writes it: semicolons, no header, one row a base value, `value;level1;...;*`.

    Raises InputError naming the file and the row at fault.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "town.csv").write_text("oak;west;*\nelm;west;*\nash;east;*\n", encoding="utf-8")
    ...     read_hierarchy(f"{folder}/town.csv").labels
    (('oak', 'elm', 'ash'), ('west', 'east'), ('*',))
    """
    path = Path(path)
    try:
        with reading("hierarchy file", path, "semicolons"), open_regular(path) as stream:
            lines = TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            return Hierarchy.from_rows(row for row in csv.reader(_bounded(lines), delimiter=";") if row)
    except HierarchyError as error:
        raise InputError(f"the hierarchy file {path.name}: {error}") from None


def _bounded(lines: TextIOWrapper) -> Iterator[str]:
    """The lines of a file. Raises csv.Error for one that may never end."""
    while line := lines.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise csv.Error("a line is too long")
        yield line


_LONGEST_LINE = 1 << 20
"""Characters."""
