"""A window on a project: its state, what its pages stand on, and counts that are worked out in the background."""

import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Generic, TypeVar, cast

import numpy as np
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from marginals.config import RARE
from marginals.config.release_toml import Config
from marginals.errors import InputError
from marginals.publishing.single_tables import Assessed, assess
from marginals.tables.attribute import Role
from marginals.tables.files import files_at, frame_of
from marginals.tables.table import Table
from marginals.window.gate import Gate
from marginals.window.jobs import Candidates, Jobs
from marginals.window.overview import Protection, states
from marginals.window.project import Change, ConfigFile, Edit, Keys, OlderVersionError, Project
from marginals.window.rendering import FieldError, refilled, refusal_at, rendered
from marginals.window.starter import import_ahead
from models.errors import MarginalsError

Value = TypeVar("Value")

WAIT = 0.15
"""Seconds that a page waits for counts before it is shown without them."""

NAMES_PEOPLE = "values, which name people"
"""The kind of a column of which nothing else is told."""

_SHOWN = 12
"""Values of a column that are shown by name."""


@dataclass(frozen=True)
class CountingResult(Generic[Value]):
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

    def table(self, wait: float = WAIT) -> CountingResult[Table]:
        """The table as publishing would read it."""
        return cast("CountingResult[Table]", self._asked(self._table, lambda config: config.read_table(), wait, ""))

    def columns(self, wait: float = WAIT) -> CountingResult[tuple[ColumnCounts, ...]]:
        """All columns that the file has."""
        answer = self._asked(self._columns, _columns, wait, "columns")
        return cast("CountingResult[tuple[ColumnCounts, ...]]", answer)

    def assessed(self, wait: float = 0.0) -> CountingResult[Assessed]:
        """What the table itself gives away, as `marginals assess` says it."""

        def work(config: Config) -> Assessed:
            table = config.read_table() if self._table.value is None else self._table.value
            return assess(table, config.policy, None, config.read_population())

        return cast("CountingResult[Assessed]", self._asked(self._assessed, work, wait, "assess"))

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _asked(self, slot: _Kept, work: Callable[[Config], Any], wait: float, kind: str) -> CountingResult[Any]:
        try:
            config = self._config.read()
        except MarginalsError as error:
            return CountingResult(slot.value, False, str(error))
        key = _key(config, self._config.text, kind)
        with slot.lock:
            if slot.key != key and slot.coming != key:
                slot.coming = key
                slot.future = self._pool.submit(self._work, slot, key, config, work)
            future = slot.future
        if future is not None and wait:
            with contextlib.suppress(TimeoutError):
                future.result(timeout=wait)
        if slot.key == key:
            return CountingResult(slot.value if not slot.problem else None, True, slot.problem)
        return CountingResult(slot.value, False)

    @staticmethod
    def _work(slot: _Kept, key: str, config: Config, work: Callable[[Config], Any]) -> None:
        if slot.coming != key:  # the config has changed since
            return
        value, problem = slot.value, ""
        try:
            value = work(config)
        except MarginalsError as error:
            problem = str(error)
        except MemoryError:
            problem = "counting the table needs more memory than there is"
        with slot.lock:
            slot.value, slot.problem, slot.key = value, problem, key


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
    lines_left, keeping = [], True
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("["):
            keeping = not bare.lstrip("[").startswith(tuple(header.lstrip("[") for header in headers))
        if keeping and bare and not bare.startswith("#"):
            lines_left.append(bare)
    return "\n".join(lines_left)


def _columns(config: Config) -> tuple[ColumnCounts, ...]:

    from marginals.tables.values import NumberFormat, missing_among

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
        occurring = occurring[~occurring.index.isin(missing_among(occurring.index, source.missing, source.decimal))]
        rows, distinct = int(occurring.sum()), len(occurring)
        role = source.attributes[name].role if name in source.attributes else Role.IGNORED
        written = NumberFormat.of(list(occurring.index[:5000]), source.decimal)
        numbers = [] if written is None else list(map(written.number, occurring.index[:5000]))
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


STEPS = (
    ("table", "Table"),
    ("levels", "Levels"),
    ("policy", "Policy"),
    ("search", "Search"),
    ("publish", "Publish"),
    ("explore", "Explore"),
)
"""The pages in the order of work."""


@dataclass(frozen=True)
class FlashMessage:
    """A sentence for the next page. shown: the command or edit that it is about. is_problem: whether something failed."""

    sentence: str
    shown: str = ""
    is_problem: bool = False


class Window:
    """What all pages of a project share."""

    def __init__(self, project: Project, gate: Gate) -> None:
        self.project, self.gate = project, gate
        self.jobs = Jobs(project.folder)
        self.stopping = threading.Event()
        self._said: deque[FlashMessage] = deque(maxlen=8)
        self.done: deque[str] = deque(maxlen=200)
        self._refused: tuple[str, dict[str, list[str]], FieldError | None] | None = None
        if project.config is not None:
            self._file = ConfigFile(project, project.config)
            self._counting = Counting(self._file)
            self._candidates = Candidates(project, self._file, self.jobs)

    @property
    def has_config(self) -> bool:
        """Whether there is a config, be it one with errors."""
        return self.project.config is not None and self.project.config.exists()

    @property
    def file(self) -> ConfigFile:
        """The config. Raises InputError where the window is about a release alone."""
        self._require_config()
        return self._file

    @property
    def counting(self) -> Counting:
        """The counts of the table. Raises as `file` does."""
        self._require_config()
        return self._counting

    @property
    def candidates(self) -> Candidates:
        """What searches found. Raises as `file` does."""
        self._require_config()
        return self._candidates

    def config(self) -> Config:
        """The config as it is now. Raises InputError where it cannot be read."""
        return self.file.read()

    def begin(self) -> None:
        """Prepare for the first page and the first click: both are worked at while the browser opens."""
        import_ahead()
        if self.has_config:
            self.candidates.clear_leftovers()
            self.counting.warm()

    def close(self) -> None:
        """End all that is at work."""
        self.jobs.stop()
        if self.project.config is not None:
            self._counting.close()

    def say(self, sentence: str, command: str = "", is_problem: bool = False) -> None:
        """Have the next page say something; a command or an edit is kept in the list of what was done."""
        self._said.append(FlashMessage(sentence, command, is_problem))
        if command and not is_problem:
            self.done.append(command)

    def page(self, template: str, step: str, status: int = 200, /, **content: Any) -> Response:
        """A page of the window."""
        said = [self._said.popleft() for _ in range(len(self._said))]
        frame = {
            "window": self,
            "root": self.gate.root,
            "step": step,
            "steps": STEPS if self.project.config is not None else STEPS[-1:],
            **self._overview(),
            "said": said,
            "form_token": self.gate.form_token,
            "version": self.file.version if self.has_config else "",
            "config_name": self.project.config.name if self.project.config else "",
            "done": list(self.done),
            "running": self.jobs.running(),
        }
        text = rendered(template, **(frame | content))
        if self._refused is not None:
            action, typed, refusal = self._refused
            self._refused, text = None, refilled(text.decode(), self.gate.root + action, typed, refusal).encode()
        return Response(text, status=status, mimetype="text/html")

    def _overview(self) -> dict[str, Any]:
        """What stands at the top of each page; nothing where there is no config that can be read."""
        nothing: dict[str, Any] = {"states": {}, "protection": None}
        if not self.has_config:
            return nothing
        try:
            config = self.config()
        except MarginalsError:
            return nothing
        step_states = states(self.project, config, self.file.plain, self.candidates.all())
        return {"states": step_states, "protection": Protection.of(config)}

    def refuse(self, request: Request, sentence: str, back: str, error: MarginalsError | None = None) -> Response:
        """Go back to the page of a form, which says why it was refused and still holds what was typed.

        error: what it was refused for, which may name a field; the sentence stands there too.
        """
        typed = request.form.to_dict(flat=False)
        self._refused = request.path, typed, refusal_at(error, sentence, list(typed))
        self.say(sentence, is_problem=True)
        return self.back(back)

    def back(self, address: str) -> Response:
        """Where to go after a form, so that loading a page again does nothing twice. address: below the root."""
        return redirect(self.gate.root + address, code=303)

    def edit(
        self,
        request: Request,
        change: Change,
        back: str,
        files: Mapping[str, bytes] | None = None,
        sentence: str = "Written.",
    ) -> Response:
        """Edit the config as a form says, and go back to a page, which shows the edit and says a sentence.

        What cannot be done is said there; what another edit came before is shown beside it.
        """
        try:
            written = self.file.edit(request.form.get("version", ""), change, dict(files or {}))
        except OlderVersionError as error:
            return self.conflict(request, error)
        except MarginalsError as error:
            return self.refuse(request, f"Nothing was written: {error}.", back, error)
        self.tell(written, sentence)
        return self.back(back)

    def tell(self, written: Edit, sentence: str) -> None:
        """Say what an edit changed."""
        if not written.difference and not written.files:
            self.say("Nothing changed.")
            return
        files = "".join(f"\nwritten: {name}" for name in written.files)
        self.say(sentence, f"{written.name}\n{written.difference}{files}")

    def conflict(self, request: Request, error: OlderVersionError) -> Response:
        """A page with both edits; where both can stand it offers to write the keys that this one changes, and no others."""
        step = request.path.strip("/").partition("/")[0]
        return self.page(
            "conflict.html",
            "",
            409,
            mine=_in_lines(error.mine),
            theirs=_in_lines(error.theirs),
            keys=json.dumps([*(error.mine or {}).items()], default=str) if error.can_both_stand else "",
            now=error.now,
            text=request.form.get("text", ""),
            back=f"/{step}",
            last=list(self.done)[-1:],
        )

    def _require_config(self) -> None:
        if self.project.config is None:
            raise InputError("this window is about a release alone; open the table or its release.toml for the rest")


def _in_lines(keys: Keys | None) -> list[str]:
    """The keys that an edit changes, a line each."""
    changes = {
        ".".join(path): "removed" if v is None else json.dumps(v, default=str) for path, v in (keys or {}).items()
    }
    return [f"{path}: {value}" for path, value in changes.items()]
