"""Tables as files: one CSV or Parquet file, or several of one kind with the same columns."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path

from marginals.errors import InputError


class Format(Enum):
    """How the files are written."""

    CSV = "CSV"
    PARQUET = "Parquet"


_SUFFIXES = {".parquet": Format.PARQUET, ".pq": Format.PARQUET}


@dataclass(frozen=True)
class Files:
    """The files of one table, in the order of their names. path: as the user named them."""

    path: Path
    paths: tuple[Path, ...]
    format: Format

    @classmethod
    def at(cls, path: Path) -> "Files":
        """The file at a path, all in a folder, or all that a pattern such as `year=*/*.csv` names.

        Raises InputError where there is none, or where formats mix.
        """
        found = tuple(_found(path))
        if not found:
            raise InputError(f"there is no table at {path}")
        formats = {_SUFFIXES.get(file.suffix.lower(), Format.CSV) for file in found}
        if len(formats) > 1:
            raise InputError(f"{path} holds CSV and Parquet files; a table is of one kind")
        return cls(path, found, formats.pop())

    @property
    def name(self) -> str:
        """What messages call the table."""
        return self.path.name

    @cached_property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.paths)

    def same_columns(self, columns: Sequence[Sequence[str]]) -> Sequence[str]:
        """The columns of the first file. Raises InputError naming the file that has others."""
        first, *others = columns
        for path, names in zip(self.paths[1:], others):
            for name in first:
                if name not in names:
                    raise InputError(f"{path.name} has no column {name!r}, which {self.paths[0].name} has")
            for name in names:
                if name not in first:
                    raise InputError(f"{path.name} has a column {name!r}, which {self.paths[0].name} lacks")
        return first


def _found(path: Path) -> Sequence[Path]:
    if path.is_file():
        return [path]
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix.lower() in (".csv", *_SUFFIXES))
    parts = path.parts
    wild = next((i for i, part in enumerate(parts) if any(sign in part for sign in "*?[")), None)
    if wild is None:
        return []
    return sorted(file for file in Path(*parts[:wild]).glob(str(Path(*parts[wild:]))) if file.is_file())


def csv_header(path: Path) -> list[str]:
    """The names in the first line of a CSV file. Raises InputError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            header = next(csv.reader(lines), None)
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not in UTF-8; convert it first") from None
    except (OSError, csv.Error) as error:
        raise InputError(f"{path.name} cannot be read as a table ({type(error).__name__})") from None
    if not header:
        raise InputError(f"{path.name} is empty; it must begin with a header")
    return header
