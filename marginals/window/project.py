"""The folder that a window is about: what may be read and written in it, and that it has one window at a time."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marginals.bundle.target import holds_bundle
from marginals.errors import InputError
from marginals.files.lock import held
from marginals.tables.sources.files import files_at

CONFIG = "release.toml"

PRIVATE = ".marginals-window"
"""The folder, in that of the project, where a window keeps its lock and what its searches found."""

_WORDS = frozenset({"description", "values", "missing"})
"""Keys of an attribute whose texts are words, never files."""

_TABLES = (".csv", ".parquet", ".xlsx", ".sav", ".dta", ".sas7bdat")


@dataclass(frozen=True)
class Project:
    """A folder with what is worked on: a config, a table that has none yet, or a release alone.

    folder: resolved. config: where the config is, or will be; None where there is a release only. table: the table that the
    config is to be about, while there is none. release: a release to explore, without its table.
    """

    folder: Path
    config: Path | None
    table: Path | None = None
    release: Path | None = None

    @classmethod
    def at(cls, path: Path) -> "Project":
        """The project that a path stands for: a table, a config, a release, or a folder with one of these.

        Raises InputError, in a sentence, for anything else.
        """
        if not path.exists():
            raise InputError(f"there is no {path}; name a table, a release.toml or a release")
        place = path.resolve()
        if place.is_dir():
            return cls._in_folder(path, place)
        if place.suffix == ".toml":
            return cls(place.parent, place)
        return cls._of_table(place)

    @classmethod
    def _in_folder(cls, path: Path, folder: Path) -> "Project":
        if holds_bundle(folder):
            return cls(folder.parent, None, release=folder)
        if (folder / CONFIG).is_file():
            return cls(folder, folder / CONFIG)
        tables = sorted(file for file in folder.iterdir() if file.suffix in _TABLES and file.is_file())
        if len(tables) == 1:
            return cls._of_table(tables[0])
        several = f"{len(tables)} tables; name one of them" if tables else f"neither a table nor a {CONFIG}"
        raise InputError(f"{path} holds {several}")

    @classmethod
    def _of_table(cls, table: Path) -> "Project":
        """A table, with the config that names it; its config is called after it where release.toml is about another."""
        for name in (CONFIG, f"{table.stem}.toml"):
            config = table.parent / name
            if not config.exists() or _names(config, table):
                return cls(table.parent, config, table)
        raise InputError(f"{CONFIG} and {table.stem}.toml are about other tables; open one of them, or move it away")

    def inside(self, name: str) -> Path:
        """The path of a file in the folder, named as it stands there. Raises InputError for any other."""
        path = Path(name)
        if not name or "\0" in name or path.is_absolute() or ".." in path.parts:
            raise InputError("files are named by their path in the project's folder")
        place = (self.folder / path).resolve()
        if not place.is_relative_to(self.folder):
            raise InputError(f"{path} leads out of the project's folder, and the window stays in it")
        return place

    def require_inside(self, text: str) -> None:
        """Raise InputError where a config, given as text, names a file outside of the folder."""
        try:
            content = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            return  # which is said when it is read
        for key, value in _texts(content):
            if _leads_out(self.folder, value):
                raise InputError(
                    f"{key} names a file outside of {self.folder.name}, and the window reads nothing else; "
                    "move the file there, or use the command line"
                )

    @property
    def private(self) -> Path:
        """The window's own folder, which its owner alone may enter; made when missing.

        Raises InputError where something else has its name, such as a link to another folder.
        """
        folder = self.folder / PRIVATE
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be written, and a window keeps its notes there: {error.strerror}"
            ) from None
        if folder.is_symlink():
            raise InputError(
                f"{PRIVATE} leads out of the project's folder, and the window stays in it; remove the link"
            )
        return folder

    def held(self) -> AbstractContextManager[None]:
        """While this lasts no other window has the project. Raises InputError where one does.

        A release alone is only read, by as many as want to.
        """
        if self.config is None:
            return nullcontext()
        return held(self.private / "lock", f"another window is open on {self.folder}; use that one, or stop it first")


def _names(config: Path, table: Path) -> bool:
    """Whether a config is about this table, or cannot be read, so that it is to be mended."""
    try:
        path = tomllib.loads(config.read_text(encoding="utf-8"))["data"]["path"]
        return bool((config.parent / path).resolve() == table.resolve())
    except (OSError, ValueError, KeyError, TypeError):
        return config.name == CONFIG


def _texts(content: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """The texts of a config that may be files, each with its key."""
    for key, value in content.items():
        name = (*above, key)
        if name in (("release", "title"), ("data", "missing")):
            continue
        if len(name) == 3 and name[0] == "attributes" and key in _WORDS:
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str):
                yield ".".join(name), each
            elif isinstance(each, dict):
                yield from _texts(each, name)


def _leads_out(folder: Path, text: str) -> bool:
    """Whether a text, taken for a file, a folder or a glob, means anything outside of a folder."""
    if "\0" in text or len(text) > 4096:
        return False
    path = folder / text
    if not _is_within(folder, path):
        return True
    try:
        return not all(_is_within(folder, file) for file in files_at(path))
    except (OSError, InputError, ValueError):
        return False


def _is_within(folder: Path, file: Path) -> bool:
    try:
        return file.resolve().is_relative_to(folder)
    except (OSError, RuntimeError):
        return False
