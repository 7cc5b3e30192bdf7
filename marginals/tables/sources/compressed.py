"""The bytes of a CSV file, decompressed as its name says, and what goes wrong in reading any file of a table."""

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, cast

from marginals.errors import InputError, TooLittleMemoryError
from marginals.regular_file import open_regular

LONGEST_HEADER = 1 << 20
"""Bytes of the first line of a CSV file; a longer one names no columns of people."""

MOST_COLUMNS = 10_000

PARQUET = (".parquet", ".pq")


def require_files(paths: Sequence[Path]) -> None:
    """Raise InputError for a folder, pipe or device among the files of a table."""
    for path in paths:
        with reading(path):
            open_regular(path).close()


@contextmanager
def decompressed(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file to read, decompressed as its name says.

    Raises InputError where what decompresses it is not installed, and what its library raises for damaged bytes.
    """
    with open_regular(path) as stream:
        match path.suffix.lower():
            case ".gz":
                with gzip.open(stream) as raw:
                    yield cast("BinaryIO", raw)
            case ".bz2":
                with bz2.open(stream) as raw:
                    yield cast("BinaryIO", raw)
            case ".xz":
                with lzma.open(stream) as raw:
                    yield cast("BinaryIO", raw)
            case ".zst":
                yield _zstandard(path, stream)
            case ".zip":
                with zipfile.ZipFile(stream) as archive:
                    if len(archive.namelist()) != 1:
                        raise InputError(f"{path.name} must hold one file, a CSV file")
                    with archive.open(archive.namelist()[0]) as only:
                        yield cast("BinaryIO", only)
            case _:
                yield stream


def _zstandard(path: Path, stream: BinaryIO) -> BinaryIO:
    if not find_spec("zstandard"):
        raise InputError(
            f"{path.name} is compressed by Zstandard, which needs zstandard: pip install zstandard, or decompress it first"
        )
    return cast("BinaryIO", import_module("zstandard").open(stream, "rb"))


_DAMAGED: tuple[type[Exception], ...] = (
    ValueError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    NotImplementedError,  # a kind of compression that nobody here knows
    RuntimeError,  # an archive with a password
    ArithmeticError,  # numbers, dates or sizes that no type holds
    LookupError,
)


_LIBRARIES = ("zstandard", "pyreadstat", "openpyxl")
"""Of which no error is a ValueError or the like."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What goes wrong in reading a file, as InputErrors."""
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise TooLittleMemoryError(path.name) from None
    except UnicodeDecodeError:
        raise not_in_utf8(path.name) from None
    except FileNotFoundError:
        raise InputError(f"there is no table at {path}") from None
    except OSError as error:
        if error.strerror is None:  # of a library that reads the content, not of the system
            raise _unreadable(path, error) from None
        raise InputError(f"{path.name} cannot be read: {error.strerror}") from None
    except _DAMAGED as error:
        raise _unreadable(path, error) from None
    except Exception as error:
        if type(error).__module__.startswith(_LIBRARIES):
            raise _unreadable(path, error) from None
        raise


def not_in_utf8(name: str) -> InputError:
    """What is said of a CSV file, by its name, that was read as UTF-8 and is in another encoding."""
    return InputError(
        f'{name} is not in UTF-8; name its encoding, data.encoding = "cp1252" for most files of Windows, or convert it'
    )


def _unreadable(path: Path, error: Exception) -> InputError:
    if path.suffix.lower() in PARQUET:
        problem = "its Parquet footer or pages are damaged; write it again"
    elif path.suffix.lower() in (".gz", ".bz2", ".xz", ".zip", ".zst"):
        problem = "it is damaged or cut off, or no CSV with a header is compressed in it"
    elif path.suffix.lower() in (".csv", ".tsv", ".txt") or not path.suffixes:
        problem = "it must be CSV with a header, or Parquet"
    else:
        problem = "it is damaged, or not of the kind that its name says; a table is CSV with a header, or Parquet"
    return InputError(f"{path.name} cannot be read as a table ({type(error).__name__}); {problem}")
