"""Files and folders: written whole or not at all, read within a bound, one process at a time."""

import csv
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

from marginals.errors import InputError, system_reason

PUBLIC, PRIVATE = 0o666, 0o600  # for those whom the umask lets, or the owner alone
DESCRIPTOR, MAX_DESCRIPTOR_BYTES = "datapackage.json", 16 << 20  # makes a folder a release
OTHERS = stat.S_IRWXG | stat.S_IRWXO  # bits of a mode for others than the owner


def csv_text(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """The rows as CSV. A carriage return within a field is quoted, which Python's module does from 3.13 on."""
    lines: list[str] = []
    csv.writer(SimpleNamespace(write=lines.append), delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)


def allowed(mode: int) -> int:
    """Mode on the disk: all of it for the owner alone, else as far as the umask lets."""
    if not mode & OTHERS:
        return mode & 0o700
    with _UMASK:  # the system tells it to whoever sets it
        mask = os.umask(0o077)
        os.umask(mask)
    return mode & ~mask


_UMASK = threading.Lock()


def made_folder(folder: Path, mode: int = PUBLIC) -> None:
    """Make a folder and those above it where they are missing. mode: of the files that they are for. Raises OSError."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=_folder_mode(mode), exist_ok=True)


def private_folder(folder: Path) -> None:
    """Make a folder that its owner alone may enter, and those above it; one that is there is closed to others."""
    made_folder(folder.parent, PRIVATE)
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_mode & OTHERS:
        folder.chmod(0o700)


def _folder_mode(mode: int) -> int:
    return allowed(mode | (mode & 0o444) >> 2)


@contextmanager
def refusals(place: object, how: str = "written") -> Iterator[None]:
    """Raise what goes wrong with a path, or what is called so, as InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{place} cannot be {how}: {system_reason(error)}") from None


def replace_file(path: Path, content: bytes, mode: int = PUBLIC) -> None:
    """Make `path` a file of this content; a crash leaves the old file or none.

    mode: who may read it, from the first byte on, whatever was there before; folders that are missing are made likewise.
    What a killed run leaves beside it only its owner can read, and the next writing removes it. Raises InputError,
    leaving no trace, where it cannot be written. A device or pipe is written to as it is.
    """
    with refusals(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
            return
        place = resolved(path)
        made_folder(place.parent, mode)
        remove_leftovers(place)
        _put(place, content, mode)


def _put(place: Path, content: bytes, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(prefix=prefix(place), dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        Path(name).chmod(allowed(mode))  # so far only the owner may read it
        Path(name).replace(place)
    finally:
        Path(name).unlink(missing_ok=True)
    sync_folder(place.parent)


@contextmanager
def replaced_meanwhile(path: Path, content: bytes, keep: Callable[[], bool], mode: int = PUBLIC) -> Iterator[None]:
    """Have a file of this content in its place and on the disk before what follows; as it was before if that raises.

    keep: whether it stays all the same, asked if what follows raises. What a killed run leaves of the old file beside the
    new one, the next writing removes. Raises InputError where it cannot be written, or is not what was written.
    """
    place = resolved(path)
    old, is_there = place.with_name(f"{prefix(place)}aside000.old"), True
    try:
        with refusals(path):
            made_folder(place.parent, mode)
            remove_leftovers(place)
            if is_there := place.exists():
                place.rename(old)
            _put(place, content, mode)
            require_written(place, content)
        yield
    except BaseException:
        if not keep():
            if old.exists():
                old.replace(place)
            elif not is_there:
                place.unlink(missing_ok=True)
        raise
    finally:
        with suppress(OSError):
            old.unlink(missing_ok=True)


def require_written(place: Path, content: bytes) -> None:
    """Raise OSError unless a file is on the disk as it was written."""
    if place.read_bytes() != content:
        raise OSError(errno.EIO, f"{place.name} is not what was written")


def sync_folder(folder: Path) -> None:
    """Have the disk know the names in a folder, as far as the system can do that."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def replace_folder(target: Path, files: Mapping[str, bytes], mode: int = PUBLIC) -> None:
    """Make `target` a folder of exactly these files, given by their paths in it. mode: who may read them.

    The files are written and flushed to a new folder beside the target, and read back. Then this takes its place; if the
    target is a link, the place of what it links to. A crash leaves the old folder, none, or the new one, and what it leaves
    beside them the next writing removes. Raises OSError, leaving no trace, where something cannot be written, or is not
    what was written.
    """
    target = resolved(target)
    if target.is_dir() and target.samefile(Path.cwd()):
        # It would be replaced under the feet of whoever stands in it.
        raise OSError(errno.EBUSY, "it is the current folder; name one of its own")
    made_folder(target.parent, mode)
    with only_writer(target.parent):
        remove_leftovers(target)
        fresh = Path(tempfile.mkdtemp(prefix=prefix(target), dir=target.parent))
        try:
            for path, content in files.items():
                file = fresh / path
                made_folder(file.parent, mode)
                file.write_bytes(content)
                file.chmod(allowed(mode))  # before any flush: a change after it would make the next one flush again
            for path, content in files.items():  # all are written by now: one flush is for many
                file = fresh / path
                with file.open("r+b") as stream:
                    os.fsync(stream.fileno())
                require_written(file, content)
            fresh.chmod(_folder_mode(mode))  # so far only the owner may enter it
            for folder in {file.parent for file in map(fresh.joinpath, files)} | {fresh}:
                sync_folder(folder)
            _put_folder(fresh, target)
            sync_folder(target.parent)
        finally:
            _remove(fresh)


def _put_folder(fresh: Path, target: Path) -> None:
    old = fresh.with_name(fresh.name + ".old")
    try:
        if target.exists():
            target.rename(old)
        fresh.rename(target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    finally:
        if target.exists():
            _remove(old)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except BaseException:  # a signal
        shutil.rmtree(folder, ignore_errors=True)
        raise


_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


def open_regular(path: Path, flags: int = 0) -> BinaryIO:
    """A regular file, or what a link to one leads to, open for reading. Raises OSError at once for anything else."""
    try:
        number = os.open(path, _FLAGS | flags)
    except ValueError:
        raise OSError(errno.EINVAL, "no path holds the character NUL") from None
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or device"
        raise OSError(errno.EINVAL, f"it is not a file but {kind}")
    return open(number, "rb")  # noqa: PTH123


def bounded_content(path: Path, limit: int) -> bytes:
    """Content of a regular file. Raises OSError where it cannot be read, or has more than so many bytes."""
    with open_regular(path) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than the {limit} bytes that are read")
    return content


@contextmanager
def reading(kind: str, path: Path, form: str = "") -> Iterator[None]:
    """Raise what goes wrong with a file of text as InputError. kind: what the file is. form: " with commas"."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"there is no {kind} {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {system_reason(error)}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} cannot be read as UTF-8 text{form}") from None


# A key of more than a hundred parts, where keys can stand: tomllib takes the square of their number.
_LONG_KEY = re.compile(r"""(?m:^|[\[{,])[ \t]*+(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


def toml_content(text: str, name: object) -> dict[str, Any]:
    """Content of a file of TOML by its text. Raises InputError with the name of the file."""
    if _LONG_KEY.search(text):
        raise InputError(f"{name} has a key of more than a hundred parts")
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name} is not valid TOML: {error}") from None
    except (RecursionError, ValueError):
        raise InputError(f"{name} is nested too deeply, or has a number with more digits than are read") from None


_OPEN_FILES = Path("/proc/self/fd")  # Linux opens these again, so that libraries that ask for a path can use them


@contextmanager
def on_disk() -> Iterator[Path]:
    """A file on the disk of the temporary folder, by a path that this process can open meanwhile.

    Raises OSError where there is none, or the disk has only files with names.
    """
    if sys.platform != "linux" or not _OPEN_FILES.is_dir():
        raise OSError("there are no files without a name here")
    descriptor = os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        yield _OPEN_FILES / str(descriptor)
    finally:
        os.close(descriptor)


try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None  # type: ignore[assignment]


@contextmanager
def held(file: Path, taken: str, without_locks: str | None = None) -> Iterator[None]:
    """Hold a lock, which no other process has meanwhile. The system lets go of it when the process ends, however it does.

    taken: the sentence of the InputError where another process has it. without_locks: that where the system has no locks.
    """
    if fcntl is None and without_locks is not None:
        raise InputError(without_locks)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor, taken)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, taken: str, seconds: float = 0) -> None:
    end = time.monotonic() + seconds
    while fcntl is not None:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() >= end:
            raise InputError(taken)
        time.sleep(0.02)


_WAITED = 60.0  # seconds for another run to have written
_WRITING: ContextVar[frozenset[Path]] = ContextVar("_WRITING", default=frozenset())  # by this thread alone


@contextmanager
def only_writer(*folders: Path) -> Iterator[None]:
    """Let no other run that asks for it write in these folders meanwhile: what one half wrote, another would remove.

    Another run is waited for. Raises InputError where that takes too long. A system without such locks goes on without.
    """
    wanted = sorted({*folders} - _WRITING.get())  # in one order, so that no two wait for each other
    with ExitStack() as held_folders:
        for folder in wanted:
            with suppress(OSError):
                number = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
                held_folders.callback(os.close, number)
                _lock(number, f"another run is writing in {folder}; try again when it has ended", _WAITED)
        token = _WRITING.set(_WRITING.get() | {*wanted})
        try:
            yield
        finally:
            _WRITING.reset(token)


def prefix(target: Path) -> str:
    """Beginning of the names of what is written beside a target, to take its place when it is complete."""
    return f".{target.name}.writing-"


def remove_leftovers(target: Path) -> None:
    """Remove what killed runs have left beside a target; an old folder that was already moved away is moved back."""
    name = re.compile(re.escape(prefix(target)) + r"[a-z0-9_]{8}(\.old)?")
    for leftover in sorted(path for path in target.parent.iterdir() if name.fullmatch(path.name)):
        if leftover.suffix == ".old" and not target.exists():
            leftover.rename(target)
        elif leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def resolved(path: Path) -> Path:
    """The absolute path without links. Raises OSError where a link leads to itself.

    Path.resolve raises RuntimeError for such links before Python 3.13, and from then on nothing.
    """
    place = os.path.realpath(path)
    try:
        os.stat(place)  # noqa: PTH116
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link that leads to itself", str(path)) from None
    return Path(place)
