"""Counts of the table, worked out in the background and kept; rows are read, counted and forgotten."""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Generic, TypeVar, cast

import numpy as np

from marginals.config.guessing.rarity import RARE
from marginals.config.release_toml import Config
from marginals.errors import InputError
from marginals.publishing.assessing import Assessed, assess
from marginals.tables.attribute import Role
from marginals.tables.sources.files import files_at
from marginals.tables.table import Table
from marginals.window.config_edits import ConfigFile
from models.errors import MarginalsError

Value = TypeVar("Value")

WAIT = 0.15
"""Seconds that a page waits for counts before it is shown without them."""

NAMES_PEOPLE = "values, which name people"
"""The kind of a column of which nothing else is told."""

_SHOWN = 12
"""Values of a column that are shown by name."""


@dataclass(frozen=True)
class Counted(Generic[Value]):
    """What was worked out, if it was. current: of the config as it is; else of an older one. problem: why it cannot be."""

    value: Value | None = None
    current: bool = True
    problem: str = ""

    @property
    def is_awaited(self) -> bool:
        """Whether it is being worked out."""
        return not self.problem and (self.value is None or not self.current)


@dataclass(frozen=True)
class ColumnCounts:
    """A column of the table: how many rows have a value, how many values there are, and how many of them are rare.

    common: the values with most rows and these, those alone that are not rare; none of a column that names people.
    shape: the rows of up to sixty values from most to fewest, or in their order where they are numbers.
    """

    name: str
    rows: int
    missing: int
    distinct: int
    rare: int
    kind: str
    common: tuple[tuple[str, int], ...] = ()
    shape: tuple[int, ...] = ()


@dataclass
class _Kept:
    key: str = ""
    value: Any = None
    future: "Future[Any] | None" = None
    coming: str = ""
    problem: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Counting:
    """Counts of the table that a config names, for the config as it is now."""

    def __init__(self, config: ConfigFile) -> None:
        self._config = config
        self._pool = ThreadPoolExecutor(1, "counting")
        self._table, self._columns, self._assessed = _Kept(), _Kept(), _Kept()

    def warm(self) -> None:
        """Begin with all counts, before anybody asks for them."""
        for ask in (self.table, self.columns, self.assessed):
            ask(0)

    def table(self, wait: float = WAIT) -> Counted[Table]:
        """The table as publishing would read it."""
        return cast("Counted[Table]", self._asked(self._table, lambda config: config.read_table(), wait, ""))

    def columns(self, wait: float = WAIT) -> Counted[tuple[ColumnCounts, ...]]:
        """All columns that the file has."""
        answer = self._asked(self._columns, _columns, wait, "columns")
        return cast("Counted[tuple[ColumnCounts, ...]]", answer)

    def assessed(self, wait: float = 0.0) -> Counted[Assessed]:
        """What the table itself gives away, as `marginals assess` says it."""

        def work(config: Config) -> Assessed:
            table = config.read_table() if self._table.value is None else self._table.value
            return assess(table, config.policy, None, config.read_population())

        return cast("Counted[Assessed]", self._asked(self._assessed, work, wait, "assess"))

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _asked(self, kept: _Kept, work: Callable[[Config], Any], wait: float, kind: str) -> Counted[Any]:
        try:
            config = self._config.read()
        except MarginalsError as error:
            return Counted(kept.value, False, str(error))
        key = _key(config, self._config.text, kind)
        with kept.lock:
            if kept.key != key and kept.coming != key:
                kept.coming = key
                kept.future = self._pool.submit(self._work, kept, key, config, work)
            future = kept.future
        if future is not None and wait:
            with contextlib.suppress(TimeoutError):
                future.result(timeout=wait)
        if kept.key == key:
            return Counted(kept.value if not kept.problem else None, True, kept.problem)
        return Counted(kept.value, False)

    @staticmethod
    def _work(kept: _Kept, key: str, config: Config, work: Callable[[Config], Any]) -> None:
        if kept.coming != key:  # the config has changed since
            return
        value, problem = kept.value, ""
        try:
            value = work(config)
        except MarginalsError as error:
            problem = str(error)
        except MemoryError:
            problem = "counting the table needs more memory than there is"
        with kept.lock:
            kept.value, kept.problem, kept.key = value, problem, key


def _key(config: Config, text: str, kind: str) -> str:
    """What changes when the counts may: the parts of the config that they follow from, and its files."""
    digest = sha256(kind.encode())
    if kind == "columns":
        digest.update(
            repr((config.source.origin, config.source.form, config.source.missing, config.source.decimal)).encode()
        )
        files = [] if config.source.path is None else files_at(config.source.path)
    else:
        about = ("[search", "[release]", "[base]") if kind == "assess" else ("[search", "[release]", "[base]", "[risk")
        digest.update(_without(text, about).encode())
        files = [file for read in config.reads if read != config.path for file in files_at(read)]
    for file in files:
        told = file.stat()
        digest.update(f"{file}:{told.st_mtime_ns}:{told.st_size};".encode())
    return digest.hexdigest()


def _without(text: str, headers: tuple[str, ...]) -> str:
    """The text of a config without the sections whose headers begin so, and without its comments."""
    kept, keeping = [], True
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("["):
            keeping = not bare.lstrip("[").startswith(tuple(header.lstrip("[") for header in headers))
        if keeping and bare and not bare.startswith("#"):
            kept.append(bare)
    return "\n".join(kept)


def _columns(config: Config) -> tuple[ColumnCounts, ...]:

    from marginals.tables.sources.files import frame_of
    from marginals.tables.values.numbers import number_in

    source = config.source
    frame = frame_of(source.files())
    counts = []
    for name in map(str, frame.columns):
        column = frame[name]
        try:
            texts = column.map(lambda v: v if isinstance(v, str) else str(v), na_action="ignore")
            occurring = texts.value_counts(dropna=True)
        except (TypeError, InputError):
            counts.append(ColumnCounts(name, 0, len(frame), 0, 0, "values that cannot be counted"))
            continue
        occurring = occurring[~occurring.index.isin(source.missing)]
        rows, distinct = int(occurring.sum()), len(occurring)
        role = source.attributes[name].role if name in source.attributes else Role.IGNORED
        numbers = [number_in(str(value), source.decimal) for value in occurring.index[:5000]]
        are_numbers = bool(numbers) and all(number is not None for number in numbers)
        kind = NAMES_PEOPLE if role is Role.IDENTIFIER else "numbers" if are_numbers else "texts"
        is_told = role is not Role.IDENTIFIER and distinct <= max(rows // 2, 1)
        common = [(str(v), int(n)) for v, n in occurring.items() if n >= RARE][:_SHOWN] if is_told else []
        shape = _shape(occurring, numbers if are_numbers else None) if is_told else ()
        rare = int((occurring < RARE).sum())
        counts.append(ColumnCounts(name, rows, len(frame) - rows, distinct, rare, kind, tuple(common), shape))
    del frame
    return tuple(counts)


def _shape(occurring: Any, numbers: "list[Any] | None") -> tuple[int, ...]:
    """Rows by value; of numbers in up to forty bins of one width."""
    if numbers is None or len(numbers) <= 12 or len(numbers) < len(occurring):
        return tuple(int(n) for n in occurring.iloc[:40])
    places = np.array([float(number) for number in numbers])
    bins, _ = np.histogram(places, bins=min(40, len(numbers)), weights=occurring.to_numpy())
    return tuple(int(n) for n in bins)
