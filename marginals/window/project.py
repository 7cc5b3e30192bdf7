"""The folder that a window is about, and the edits of the config in it."""

import difflib
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Comment, Null

from marginals.config.release_toml import Config, config_of, config_text
from marginals.errors import InputError, system_reason
from marginals.files import PRIVATE, held, private_folder, replace_file, resolved, toml_content
from marginals.output import holds_bundle
from marginals.publishing.policy import NO_DIVERSITY
from marginals.tables.attribute import Role
from marginals.tables.opening import files_at
from models.errors import MarginalsError
from models.frozen import frozen

CONFIG = "release.toml"

NOTES = ".marginals-window"  # the lock of a window, and what its searches found
_WORDS = frozenset({"description", "values", "missing", "harmless", "at_most"})  # words, never files


@frozen
class Project:
    """A folder with a config, with a table that has none yet, or with a release alone.

    folder: resolved. config: where it is, or will be. table: that of a config that is to be written.
    """

    folder: Path
    config: Path | None
    table: Path | None = None
    release: Path | None = None

    def __post_init__(self) -> None:
        if self.config is not None and resolved(self.config).parent != self.folder:
            raise InputError(
                f"{self.config.name} is a link that leads out of {self.folder}, and the window writes nowhere else; remove "
                "the link, or open the config where it is"
            )

    @classmethod
    def at(cls, path: Path) -> "Project":
        """Return the project of a table, a config, a release or the folder of a config. Raises InputError for others."""
        if not path.exists():
            raise InputError(f"there is no {path}; name a table, a release.toml or a release")
        place = path.resolve()
        if holds_bundle(place):
            return cls(place.parent, None, release=place)
        if (place / CONFIG).is_file():
            return cls(place, place / CONFIG)
        if place.is_dir():
            raise InputError(f"{path} holds neither a release nor a {CONFIG}; name a table")
        if not place.is_file():
            raise InputError(f"{path} is a device or pipe; name a table, a release.toml or a release")
        if place.parent != resolved(path.absolute().parent):
            raise InputError(
                f"{path} is a link into {place.parent}, where the window would write then; name {place} itself if that is "
                "meant"
            )
        if place.suffix == ".toml":
            return cls(place.parent, place)
        config = place.parent / CONFIG
        if config.exists() and not _names(config, place):
            raise InputError(f"{CONFIG} is about another table; open it, or move it away")
        return cls(place.parent, config, place)

    def inside(self, name: str) -> Path:
        """Return the path of a file in the folder. Raises InputError for any other."""
        path = Path(name)
        if not name or "\0" in name or path.is_absolute() or ".." in path.parts:
            raise InputError("files are named by their path in the project's folder")
        place = (self.folder / path).resolve()
        if not place.is_relative_to(self.folder):
            raise InputError(f"{path} leads out of the project's folder, and the window stays in it")
        return place

    def require_inside(self, text: str) -> None:
        """Raise InputError where a config, given as text, names a file outside of the folder."""
        name = CONFIG if self.config is None else self.config.name
        for key, value in _texts(toml_content(text, name)):
            if _leads_out(self.folder, value):
                raise InputError(
                    f"{key} names a file outside of {self.folder.name}, and the window reads nothing else; "
                    "move the file there, or use the command line"
                ).about(key)

    @property
    def private(self) -> Path:
        """The window's own folder, for its owner alone; made when missing. Raises InputError if it is a link."""
        folder = self.folder / NOTES
        if folder.is_symlink():
            raise InputError(f"{NOTES} leads out of the project's folder, and the window stays in it; remove the link")
        try:
            private_folder(folder)
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be written, and a window keeps its notes there: {system_reason(error)}"
            ) from None
        return folder

    def held(self) -> AbstractContextManager[None]:
        """Return a context in which no other window has the project. Raises InputError if one has."""
        if self.config is None:
            return nullcontext()  # a release alone is only read
        return held(self.private / "lock", f"another window is open on {self.folder}; use that one, or stop it first")


def _names(config: Path, table: Path) -> bool:
    try:
        path = toml_content(config_text(config, config.name), CONFIG)["data"]["path"]
        return bool((config.parent / path).resolve() == table.resolve())
    except (InputError, OSError, ValueError, KeyError, TypeError, RecursionError, RuntimeError):
        return True  # the page of the config says what is wrong


def _texts(content: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for key, value in content.items():
        name = (*above, key)
        if name[0] == "release" or name == ("data", "missing"):
            continue
        if len(name) == 3 and name[0] == "attributes" and key in _WORDS:
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, str):
                yield ".".join(name), part
            elif isinstance(part, dict):
                yield from _texts(part, name)


def _leads_out(folder: Path, text: str) -> bool:
    """Return whether a text, taken for a file, a folder or a glob, means anything outside of a folder."""
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


Change = Callable[[tomlkit.TOMLDocument], None]

_MOST_BASES = 50  # texts of a config that pages were made of


def releases_in(project: Project) -> list[str]:
    """Return the releases in the folder of a project by name, the latest first."""
    if project.release is not None:
        return [project.release.name]
    visible = (path for path in project.folder.iterdir() if not path.name.startswith(".") and not path.is_symlink())
    folders = filter(holds_bundle, visible)
    return [path.name for path in sorted(folders, key=lambda path: (-path.stat().st_mtime, path.name))]


def changed_since(project: Project, config: Config, release: str) -> list[str]:
    """Return the names of the config and the files of its table that were changed after a release was written."""
    written, origin = (project.folder / release).stat().st_mtime, config.source.origin
    files = [*([project.config] if project.config else []), *(files_at(origin) if isinstance(origin, Path) else [])]
    return [file.name for file in files if file.stat().st_mtime > written]


class OlderVersionError(InputError):
    """An edit was based on an older version of the config. both: keys that both edits change, with both values."""

    def __init__(self, both: Mapping[str, tuple[object, object]] | None = None) -> None:
        super().__init__("the config was changed since this page was loaded, so nothing was written")
        self.both = both or {}


def flat(settings: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the keys of a config that hold no section, each with its value."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, (*above, key))
        else:
            yield (*above, key), value


class ConfigFile:
    """The config of a project, as it stands on the disk now."""

    def __init__(self, project: Project, path: Path) -> None:
        self.project, self.path = project, path
        self._lock = threading.RLock()
        self._cache: tuple[str, Config] | None = None
        self._bases: dict[str, str] = {}  # by version

    @property
    def text(self) -> str:
        """The text. Raises InputError if there is none."""
        return config_text(self.path, self.path.name).replace("\r\n", "\n")

    def read(self, text: str | None = None) -> Config:
        """Return the config, or that of another text. Raises InputError."""
        content = self.text if text is None else text
        stamp = self._version_of(content)
        cached = self._cache
        if cached is not None and cached[0] == stamp:
            return cached[1]
        self.project.require_inside(content)
        config = config_of(self.path, content)
        if not (config.population or config.source.ladders):
            self._cache = (stamp, config)  # it follows from the text and the hierarchy files alone
        return config

    def problem(self, text: str | None = None) -> str:
        """Return the reason why it cannot be read, empty if it can."""
        try:
            self.read(text)
        except MarginalsError as error:
            return str(error)
        return ""

    @property
    def plain(self) -> dict[str, Any]:
        """The config's keys as they stand there. Raises InputError."""
        return toml_content(self.text, self.path.name)

    @property
    def version(self) -> str:
        """Digest of the config and the hierarchy files that it names."""
        text = self.text
        version = self._version_of(text)
        self._bases = {**dict(list(self._bases.items())[-_MOST_BASES:]), version: text}
        return version

    def _version_of(self, text: str) -> str:
        digest = sha256(text.encode())
        for name in sorted(re.findall(r"""hierarchy["']?\s*=\s*["']([^"'\n]+)["']""", text)):
            try:
                digest.update(self.project.inside(name).read_bytes())
            except (OSError, InputError):
                digest.update(b"?")
        return digest.hexdigest()[:24]

    def edit(self, version: str, change: Change, files: Mapping[str, bytes] | None = None) -> str:
        """Change the config, and return its difference as `diff -u` shows it; empty without one.

        version: of the config that the change is based on; if another version stands there now, only the keys that the
        change concerns are written. files: written before it, by their paths in the folder. Raises OlderVersionError if
        both concern one key, InputError if the change would make a config that cannot be read; then nothing is written.
        """
        with self._lock:
            now = self.version
            if version != now:
                change = self._merging(version, change, is_alone=not files)
            try:
                document = tomlkit.parse(self.text)
            except TOMLKitError as error:
                raise InputError(f"the config is not valid TOML: {error}") from None
            change(document)
            return self.replace(now, tomlkit.dumps(document), files)

    def _merging(self, version: str, change: Change, *, is_alone: bool) -> Change:
        """Return a change of those keys alone that another one changes in the config of an older version."""
        base = self._bases.get(version)
        if base is None or not is_alone or base == self.text:
            raise OlderVersionError
        document = tomlkit.parse(base)
        change(document)
        before, mine, now = map(dict, map(flat, (toml_content(base, CONFIG), document.unwrap(), self.plain)))
        edited = {key: mine.get(key) for key in {**before, **mine} if before.get(key) != mine.get(key)}
        values = {key: (value, now.get(key)) for key, value in edited.items()}
        both = {key: pair for key, pair in values.items() if pair[1] not in (before.get(key), pair[0])}
        if both:
            raise OlderVersionError({": ".join(key[1:]): values for key, values in both.items()})

        def merged(document: tomlkit.TOMLDocument) -> None:
            sensitive = sensitive_in(document)
            for (*above, key), value in edited.items():
                put(section(document, *above), key, value)
            keep_diversity(document, sensitive)

        return merged

    def replace(self, version: str, text: str, files: Mapping[str, bytes] | None = None) -> str:
        """Write another text in its place, as `edit` does. Raises as that does."""
        with self._lock:
            if version != self.version:
                raise OlderVersionError
            now, text = self.text, text.replace("\r\n", "\n")
            places = {self.project.inside(name): content for name, content in (files or {}).items()}
            before = {place: place.read_bytes() if place.exists() else None for place in places}
            try:
                for place, content in places.items():
                    replace_file(place, content, PRIVATE)
                self.read(text)
            except (MarginalsError, OSError):
                for place, earlier in before.items():
                    if earlier is None:
                        place.unlink(missing_ok=True)
                    else:
                        replace_file(place, earlier, PRIVATE)
                raise
            if text != now:
                replace_file(self.path, text.encode(), PRIVATE)
            name = self.path.name
            lines = difflib.unified_diff(now.splitlines(), text.splitlines(), name, name, lineterm="", n=1)
            difference = "\n".join([*list(lines)[2:], *(f"written: {place}" for place in files or {})])
            return f"{name}\n{difference}" if difference else ""


def section(document: Any, *names: str) -> Any:
    """The section of a config with this name; made when missing, at the end. Raises InputError where it is none."""
    inner = document
    for name in names:
        if name not in inner:
            inner[name] = tomlkit.table(is_super_table=len(names) > 1 and name != names[-1])
        inner = inner[name]
        if not isinstance(inner, Mapping):
            raise InputError(f"{name} is no section of the config")
    return inner


def sensitive_in(document: Mapping[str, object]) -> list[str]:
    """The columns that a config gives the role "sensitive"."""
    attributes: Mapping[str, Mapping[str, object]] = document.get("attributes", {})  # type: ignore[assignment]
    return [name for name, attribute in attributes.items() if attribute.get("role") == Role.SENSITIVE.value]


def keep_diversity(document: tomlkit.TOMLDocument, before: Sequence[str]) -> None:
    """Leave out the diversity of columns that are not sensitive; "none", said on purpose, is of the columns before only."""
    privacy, sensitive = document.get("privacy", {}), sensitive_in(document)
    demanded = privacy.get("diversity")
    if isinstance(demanded, dict):
        for name in [name for name in demanded if name not in sensitive]:
            del demanded[name]
    elif demanded == NO_DIVERSITY and not set(sensitive) <= set(before):
        put(privacy, "diversity", {name: NO_DIVERSITY for name in sensitive if name in before})
    if not sensitive or privacy.get("diversity") == {}:
        privacy.pop("diversity", None)


def put(table: Any, key: str, value: object) -> None:
    """Set a key, keeping the comment behind it; None, or an empty list, removes it. A mapping stands on one line."""
    if value is None or value in ([], {}):
        table.pop(key, None)
    elif isinstance(value, Mapping) and table.get(key) != value:
        table[key] = tomlkit.inline_table()
        table[key].update(value)
    elif key not in table or table[key] != value or type(table[key]) is bool:
        table[key] = value


def drop(table: Any, key: str) -> None:
    """Remove a key, and the lines of comment right above it, which are about it."""
    if key not in table:
        return
    body = table.value.body
    place = next(number for number, (name, _) in enumerate(body) if name is not None and name.key == key)
    while place and isinstance(body[place - 1][1], Comment):
        place -= 1
        body[place] = (None, Null())
    table.pop(key)
