"""Files of tables, found by a path and opened to be read: decompressed by their suffix, and errors in words.

The message of a library or an engine is never quoted: it may quote rows.
"""

import gzip
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from marginals.errors import InputError, TooLittleMemoryError
from marginals.files import open_regular, refusals, resolved
from marginals.messages import installing

PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".csv.gz", ".csv.zip")


@contextmanager
def decompressed(path: Path) -> Iterator[BinaryIO]:
    """Bytes of a file to read, decompressed by its suffix. Raises InputError for a kind of compression that is not read."""
    suffix = path.suffix.lower()
    with ExitStack() as held:
        stream: Any = held.enter_context(open_regular(path))
        if suffix == ".zip":
            archive = held.enter_context(zipfile.ZipFile(stream))
            if len(archive.namelist()) != 1:
                raise InputError(f"{path.name} must hold one file, a CSV file")
            stream = held.enter_context(archive.open(archive.namelist()[0]))
        elif suffix == ".gz":
            stream = held.enter_context(gzip.open(stream))
        elif suffix in (".bz2", ".xz", ".zst"):
            raise InputError(f"{path.name} is compressed in a way that is not read; decompress it, or take gzip or zip")
        yield stream


_DAMAGED: tuple[type[Exception], ...] = (
    ValueError,
    EOFError,
    OSError,
    zlib.error,
    zipfile.BadZipFile,
    NotImplementedError,  # a kind of compression that nobody here knows
    RuntimeError,  # an archive with a password
    ArithmeticError,  # numbers, dates or sizes that no type holds
    LookupError,
)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of reading a file into InputErrors."""
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise TooLittleMemoryError(path.name) from None
    except UnicodeDecodeError:
        raise InputError(
            f"{path.name} is not in UTF-8; name its encoding under data.encoding, such as cp1252, cp1250 or shift_jis, or "
            "convert it to UTF-8"
        ) from None
    except FileNotFoundError:
        raise InputError(f"there is no table at {path}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.strerror is not None:  # of the system, not of a library
            raise InputError(f"{path.name} cannot be read: {error.strerror}") from None
        if not isinstance(error, _DAMAGED) and not type(error).__module__.startswith("pyreadstat"):
            raise
        raise InputError(
            f"{path.name} cannot be read as a table ({type(error).__name__}). It is damaged, cut off, or not of the kind "
            "that its name says. A table is CSV with a header, or Parquet"
        ) from None


_ENGINES = ("duckdb", "_duckdb", "pyspark", "py4j", "ibis", "pyarrow")


def require(library: str, extra: str, purpose: str) -> Any:
    """Return a module. Raises InputError naming the extra to install if it cannot be imported."""
    try:
        return import_module(library)
    except ImportError:
        raise InputError(f"{purpose} needs {library.partition('.')[0]}: {installing(extra)}") from None


@contextmanager
def engine_refusals(name: str) -> Iterator[None]:
    """Turn failures of engines into InputErrors; `name`: of the table in messages."""
    try:
        yield
    except MemoryError:
        raise TooLittleMemoryError(name) from None
    except Exception as error:
        if "pyspark" in sys.modules and isinstance(error, ConnectionError):
            raise InputError(
                f"{name} was not counted: Spark ended, as it does when memory is short; raise spark.driver.memory"
            ) from None
        if type(error).__module__.split(".")[0] not in _ENGINES:
            raise
        if "OutOfMemory" in type(error).__name__ or "OutOfMemory" in str(error):
            raise TooLittleMemoryError(name) from None
        raise InputError(f"{name} cannot be counted by its engine ({type(error).__name__})") from None


def files_at(path: Path) -> list[Path]:
    """Return the files of a path, sorted; none where there is none."""
    return [file for file in found_files(path) if file.exists()]


def _is_table(file: Path) -> bool:
    return file.name.lower().endswith((*PARQUET, *_CSV)) and not file.name.startswith((".", "_"))


def found_files(path: Path) -> list[Path]:
    """Return the files of a path: itself, all tables in a folder, or those that a glob finds."""
    if path.is_dir():
        with refusals(f"the folder {path}", "read"):  # one in it that nobody may read, or that goes meanwhile
            return sorted(file for file in path.rglob("*") if _is_table(file))
    if path.exists():
        return [path]
    return (
        sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor)))) if any(c in str(path) for c in "*?[") else []
    )


def is_part(path: Path, file: Path) -> bool:
    """Return whether a file is one of those of a path, by whatever link, or would be once it is written."""
    if path.is_dir():
        joins = _is_table(file) and resolved(file).is_relative_to(resolved(path))
    else:
        joins = resolved(file) == resolved(path) or (not path.exists() and resolved(file).match(str(resolved(path))))
    return joins or (file.exists() and any(file.samefile(part) for part in files_at(path)))
