"""A window on a project: its state, what its pages stand on, and counts that are worked out in the background."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Generic, TypeVar

import numpy as np
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from marginals.config import RARE
from marginals.config.release_toml import Config
from marginals.errors import InputError
from marginals.publishing.single_tables import Assessed, assess
from marginals.tables.files import files_at, frame_of
from marginals.tables.table import Table
from marginals.window.candidates import Candidates
from marginals.window.gate import Gate
from marginals.window.jobs import JobList, import_ahead
from marginals.window.overview import Protection, states
from marginals.window.project import Change, ConfigFile, Edit, OlderVersionError, Project
from marginals.window.rendering import Form, rendered
from models.errors import MarginalsError

Value = TypeVar("Value")

WAIT = 0.15
"""Seconds that a page waits for counts before it is shown without them."""

NAMES_PEOPLE = "values, which name people"
"""The kind of a column of which nothing else is told."""


@dataclass(frozen=True)
class CountingResult(Generic[Value]):
    """A result, if there is one. current: of the present config; else of an older one. problem: why there is none."""

    value: Value | None = None
    current: bool = True
    problem: str = ""

    @property
    def is_awaited(self) -> bool:
        """Whether it is being worked out."""
        return not self.problem and (self.value is None or not self.current)


@dataclass(frozen=True)
class ColumnCounts:
    """A column of the table: rows without a value, how many values there are, and how many of them are rare.

    shape: the rows of up to forty values from most to fewest, or in their order where they are numbers; none of a column
    that names people.
    """

    missing: int
    distinct: int
    rare: int
    kind: str
    shape: tuple[int, ...] = ()


@dataclass
class _Kept:
    """The latest result, by the key of what it was made of, and the key of the one that is being worked out."""

    key: str = ""
    result: CountingResult[Any] = CountingResult()
    coming: str = ""
    future: "Future[None] | None" = None


class Counting:
    """Counts of the table that a config names, for the config as it is now."""

    def __init__(self, config: ConfigFile) -> None:
        self._config = config
        self._pool = ThreadPoolExecutor(1, "counting")
        self._kept: dict[str, _Kept] = {kind: _Kept() for kind in ("table", "columns", "assess")}
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Begin with all counts, before anybody asks for them."""
        for ask in (self.table, self.columns, self.assessed):
            ask(0)

    def table(self, wait: float = WAIT) -> CountingResult[Table]:
        """The table as publishing would read it."""
        return self._asked(lambda config: config.read_table(), wait, "table")

    def columns(self, wait: float = WAIT) -> CountingResult[dict[str, ColumnCounts]]:
        """The columns of the file by name."""
        return self._asked(_columns, wait, "columns")

    def assessed(self, wait: float = 0.0) -> CountingResult[Assessed]:
        """Risks of the table itself, as `marginals assess` tells them."""

        def work(config: Config) -> Assessed:
            table = self._kept["table"].result.value or config.read_table()
            return assess(table, config.policy, None, config.read_population())

        return self._asked(work, wait, "assess")

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _asked(self, work: Callable[[Config], Any], wait: float, kind: str) -> CountingResult[Any]:
        kept = self._kept[kind]
        try:
            config = self._config.read()
        except MarginalsError as error:
            return CountingResult(kept.result.value, False, str(error))
        key = _key(config, kind)
        with self._lock:
            if key not in (kept.key, kept.coming):
                kept.coming = key
                kept.future = self._pool.submit(self._work, kept, key, config, work)
            future = kept.future
        if future is not None and wait:
            with contextlib.suppress(TimeoutError):
                future.result(timeout=wait)
        return kept.result if kept.key == key else CountingResult(kept.result.value, False)

    def _work(self, kept: _Kept, key: str, config: Config, work: Callable[[Config], Any]) -> None:
        if kept.coming != key:  # the config has changed since
            return
        try:
            result = CountingResult(work(config))
        except MarginalsError as error:
            result = CountingResult(problem=str(error))
        except MemoryError:
            result = CountingResult(problem="counting the table needs more memory than there is")
        with self._lock:
            kept.result, kept.key = result, key


def _key(config: Config, kind: str) -> str:
    """Digest of the parts of the config and of the files from which the counts follow."""
    source = config.source
    parts: dict[str, tuple[object, ...]] = {
        "table": (source, config.k),
        "assess": (source, config.policy, config.population),
        "columns": (source.origin, source.form, source.missing, source.decimal),
    }
    digest = sha256(repr((kind, parts[kind])).encode())
    for file in (file for read in config.reads if read != config.path for file in files_at(read)):
        told = file.stat()
        digest.update(f"{file}:{told.st_mtime_ns}:{told.st_size};".encode())
    return digest.hexdigest()


def _columns(config: Config) -> dict[str, ColumnCounts]:
    from marginals.tables.distinct_rows import text_of
    from marginals.tables.values import NumberFormat, missing_among

    source, counts = config.source, {}
    frame = frame_of(source.files())
    for name in map(str, frame.columns):
        try:
            texts = frame[name].map(text_of, na_action="ignore")
            occurring = texts.value_counts(dropna=True)
        except (TypeError, InputError):
            counts[name] = ColumnCounts(len(frame), 0, 0, "values that cannot be counted")
            continue
        occurring = occurring[~occurring.index.isin(missing_among(occurring.index, source.missing, source.decimal))]
        rows, distinct = int(occurring.sum()), len(occurring)
        written = NumberFormat.of(list(occurring.index[:5000]), source.decimal)
        numbers = [] if written is None else list(map(written.number, occurring.index[:5000]))
        are_numbers = bool(numbers) and all(number is not None for number in numbers)
        shape = _shape(occurring, numbers if are_numbers else None) if distinct <= max(rows // 2, 1) else ()
        rare, kind = int((occurring < RARE).sum()), "numbers" if are_numbers else "texts"
        counts[name] = ColumnCounts(len(frame) - rows, distinct, rare, kind, shape)
    return counts


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
    """State that all pages of a project share."""

    def __init__(self, project: Project, gate: Gate) -> None:
        self.project, self.gate = project, gate
        self.jobs = JobList(project.folder)
        self.stopping = threading.Event()
        self._said: deque[FlashMessage] = deque(maxlen=8)
        self.done: deque[str] = deque(maxlen=200)
        self._refused: dict[str, Form] = {}
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
        """The candidates. Raises as `file` does."""
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
        version = self.file.version if self.has_config else ""
        refused, self._refused = self._refused, {}
        frame = {
            "window": self,
            "root": self.gate.root,
            "step": step,
            "steps": STEPS if self.project.config is not None else STEPS[-1:],
            **self._overview(),
            "said": said,
            "form_token": self.gate.form_token,
            "version": version,
            "form": lambda action: refused.get(action, Form(version)),
            "config_name": self.project.config.name if self.project.config else "",
            "done": list(self.done),
        }
        return Response(rendered(template, **(frame | content)), status=status, mimetype="text/html")

    def _overview(self) -> dict[str, Any]:
        """The head of each page; nothing if there is no config that can be read."""
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
        self._refused = {request.path: Form.refused(request.form.to_dict(flat=False), error, sentence)}
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
        except OlderVersionError:
            return self.conflict(request)
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

    def conflict(self, request: Request) -> Response:
        """A page that says that another edit came first, with what stands there now, and a text that was typed."""
        step, text = request.path.strip("/").partition("/")[0], request.form.get("text", "")
        return self.page(
            "conflict.html", "", 409, now=self.file.text, text=text, back=f"/{step}", last=[*self.done][-1:]
        )

    def _require_config(self) -> None:
        if self.project.config is None:
            raise InputError("this window is about a release alone; open the table or its release.toml for the rest")
