"""A window on a project: its state, the frame of its pages, and counts that are worked out in the background."""

import contextlib
import json
import shutil
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, NamedTuple, TypeVar

from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from marginals.config.release_toml import Config
from marginals.errors import InputError
from marginals.files import PRIVATE, replace_file
from marginals.tables.attribute import Codebook, Role
from marginals.tables.files import frame_of
from marginals.tables.opening import files_at
from marginals.tables.table import Table
from marginals.window.candidates import Candidates, searched_by
from marginals.window.gate import REPORT_POLICY, Gate
from marginals.window.jobs import SEARCH, JobList
from marginals.window.project import Change, ConfigFile, OlderVersionError, Project, changed_since, releases_in
from marginals.window.rendering import Form, rendered
from models.errors import MarginalsError
from models.frozen import frozen

Value = TypeVar("Value")

WAIT = 0.15  # seconds for counts, before a page is shown without them


@frozen
class CountingResult(Generic[Value]):
    """A result, if there is one. current: of the present config; else of an older one. problem: why there is none."""

    value: Value | None = None
    current: bool = True
    problem: str = ""

    @property
    def is_awaited(self) -> bool:
        """True while it is being worked out."""
        return not self.problem and (self.value is None or not self.current)


_FEW_VALUES = 8  # values that a question names


class ColumnCounts(NamedTuple):
    """Rows without a value, distinct and rare values of a column; values: few frequent ones in words, none rare."""

    missing: int
    distinct: int
    rare: int
    kind: str
    values: tuple[str, ...] = ()


class Counting:
    """Counts of the table that a config names, for the config as it is now."""

    def __init__(self, config: ConfigFile) -> None:
        self._config = config
        self._pool = ThreadPoolExecutor(1, "counting")
        self._latest: dict[str, tuple[str, Future[CountingResult[Any]]]] = {}
        self._values: dict[str, Any] = {}
        self._lock = threading.Lock()

    def table(self, wait: float = WAIT) -> CountingResult[Table]:
        """Return the table as publishing would read it."""
        return self._result("table", wait)

    def columns(self, wait: float = WAIT) -> CountingResult[dict[str, ColumnCounts]]:
        """Return the columns of the file by name."""
        return self._result("columns", wait)

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _result(self, kind: str, wait: float) -> CountingResult[Any]:
        earlier = self._values.get(kind)
        try:
            config = self._config.read()
        except MarginalsError as error:
            return CountingResult(earlier, False, str(error))
        key = _key(config, kind)
        with self._lock:
            key_before, future = self._latest.get(kind, ("", None))
            if future is None or key_before != key:
                if future is not None:
                    future.cancel()
                future = self._pool.submit(self._count, kind, config)
                self._latest[kind] = key, future
        with contextlib.suppress(TimeoutError, CancelledError):
            return future.result(timeout=wait)
        return CountingResult(earlier, False)

    def _count(self, kind: str, config: Config) -> CountingResult[Any]:
        try:
            self._values[kind] = value = config.read_table() if kind == "table" else _columns(config)
        except MarginalsError as error:
            return CountingResult(problem=str(error))
        except MemoryError:
            return CountingResult(problem="counting the table needs more memory than there is")
        return CountingResult(value)


def _key(config: Config, kind: str) -> str:
    source = config.source
    of_columns = (source.origin, source.form, source.missing, source.decimal, Codebook.of(source.attributes))
    digest = sha256(repr((source, config.k) if kind == "table" else of_columns).encode())
    for file in (file for read in config.reads if read != config.path for file in files_at(read)):
        status = file.stat()
        digest.update(f"{file}:{status.st_mtime_ns}:{status.st_size};".encode())
    return digest.hexdigest()


def _columns(config: Config) -> dict[str, ColumnCounts]:
    from marginals.config.facts import Facts

    source, counts, words = config.source, {}, Codebook.of(config.source.attributes)
    frame = frame_of(source.files())
    for name in map(str, frame.columns):
        facts = Facts.read(frame, name)
        if not facts.values and frame[name].notna().any():
            counts[name] = ColumnCounts(len(frame), 0, 0, "values that cannot be counted")
            continue
        facts = replace(facts, decimal=source.decimal).without(source.missing)
        kind = "texts" if facts.numbers is None else "numbers"
        often = sorted((-count, value) for value, count in facts.rows_of.items() if count >= facts.rare)
        few = [words.word(name, value) for _, value in often] if facts.distinct <= _FEW_VALUES else []
        counts[name] = ColumnCounts(facts.missing, facts.distinct, facts.uncommon, kind, tuple(few))
    return counts


def sensitive_of(config: Config) -> list[str]:
    """Return the sensitive columns that are used."""
    return [name for name, attribute in config.source.used.items() if attribute.role is Role.SENSITIVE]


def _undemanded(config: Config) -> dict[str, list[str]]:
    sensitive = sensitive_of(config)
    silent = [*config.policy.silent_on(sensitive)]
    return {"silent": silent, "exposed": [name for name in config.policy.undemanded(sensitive) if name not in silent]}


STEPS = (
    ("table", "Your table"),
    ("policy", "Who may see it"),
    ("search", "What it is for"),
    ("publish", "Look and sign"),
)

BEHIND = (("levels", "Levels"), ("explore", "Explore"))


class Window:
    """State that all pages of a project share. scratch: files that go with the window, in a folder that browsers reach."""

    scratch: TemporaryDirectory[str]

    def __init__(self, project: Project, gate: Gate) -> None:
        self.project, self.gate = project, gate
        self.jobs = JobList(project.folder)
        self.stopping = threading.Event()
        self._messages: deque[dict[str, Any]] = deque(maxlen=8)
        self.done: deque[str] = deque(maxlen=200)
        self._refused: dict[str, Form] = {}
        self._searching = threading.Lock()
        if project.config is not None:
            self.file = ConfigFile(project, project.config)
            self.counting = Counting(self.file)
            self.candidates = Candidates(project, self.file, self.jobs)

    @property
    def has_config(self) -> bool:
        """True if there is a config, be it one with errors."""
        return self.project.config is not None and self.project.config.exists()

    @property
    def readable(self) -> Config | None:
        """The config as it is now; None if there is none that can be read."""
        with contextlib.suppress(MarginalsError):
            return self.file.read() if self.has_config else None
        return None

    def config(self) -> Config:
        """Return the config as it is now. Raises InputError if it cannot be read."""
        return self.file.read()

    def begin(self) -> None:
        """Begin all counts for the first page while the browser opens."""
        private = self.project.private if self.project.config else None
        for left in private.glob("open-*") if private else ():  # by a window that was killed
            shutil.rmtree(left, ignore_errors=True)
        self.scratch = TemporaryDirectory(prefix="open-", dir=private)
        if self.has_config:
            self.candidates.clear_leftovers()
            self.counting.table(0)
            self.counting.columns(0)

    def close(self) -> None:
        """End all work."""
        self.jobs.stop()
        self.scratch.cleanup()
        if self.project.config is not None:
            self.counting.close()

    def release_named(self, name: str) -> Path:
        """Return the folder of a release of the project. Raises InputError if there is none of this name."""
        if name not in releases_in(self.project):
            raise InputError("there is no such release in the folder")
        return self.project.release or self.project.inside(name)

    def own_page(self, pages: Mapping[str, str], page: str) -> Response:
        """Return a page about a release, which runs nothing. pages: their paths in the folder. Raises InputError."""
        file = self.project.inside(pages.get(page, "none"))
        if not file.is_file():
            raise InputError("there is no such page")
        return Response(file.read_bytes(), mimetype="text/html", headers={"Content-Security-Policy": REPORT_POLICY})

    def say(self, sentence: str, command: str = "", is_problem: bool = False) -> None:
        """Have the next page say something; a command or an edit is kept in the list of what was done."""
        self._messages.append({"sentence": sentence, "command": command, "is_problem": is_problem})
        if command and not is_problem:
            self.done.append(command)

    def page(self, template: str, step: str, status: int = 200, /, **content: Any) -> Response:
        """Return a page of the window."""
        messages = [self._messages.popleft() for _ in range(len(self._messages))]
        version, config = self.file.version if self.has_config else "", self.readable
        refused, self._refused = self._refused, {}
        frame = {
            "window": self,
            "root": self.gate.root,
            "step": step,
            "steps": STEPS if self.project.config is not None else BEHIND[-1:],
            "behind": BEHIND if self.has_config else (),
            "states": {} if config is None else self._states(config),
            "protection": None if config is None else _undemanded(config),
            "said": messages,
            "form_token": self.gate.form_token,
            "version": version,
            "form": lambda action: refused.get(action, Form(version)),
            "config_name": self.project.config.name if self.project.config else "",
            "done": list(self.done),
        }
        return Response(rendered(template, **(frame | content)), status=status, mimetype="text/html")

    def _states(self, config: Config) -> dict[str, str]:
        """Return the state of each step by its key: done, open, or stale, as something has changed since it was done."""
        settings, chosen = self.file.plain, self.project.private / "chosen"
        is_chosen = chosen.is_file() and chosen.read_text() == _digest(settings.get("privacy"))
        written, candidate, policy = releases_in(self.project), self.candidates.latest, config.policy
        fits = candidate is not None and searched_by(candidate.settings) == searched_by(settings)
        has_demand = policy.diversity or any(map(policy.least, ("k_link", "k_combinatorial", "min_cell")))
        is_ready = is_chosen and has_demand and not policy.silent_on(sensitive_of(config))
        changed = written and changed_since(self.project, config, written[0])
        return {
            "table": "open" if config.unconfirmed else "done",
            "policy": "done" if is_ready else "open",
            "search": "open" if candidate is None else "done" if fits else "stale",
            "publish": "open" if not written else "stale" if changed else "done",
        }

    def search(self) -> None:
        """Begin to search under the config as it is. Raises InputError if a search is at work."""
        with self._searching:
            if (running := self.jobs.latest(SEARCH)) is not None and running.runs:
                raise InputError("a search is at work; stop it, or wait until it is done")
            job = self.candidates.search()
        self.say("The search is at work.", job.command)
        job.done.wait(0.3)

    @property
    def is_refused(self) -> bool:
        """True if a form comes back to whoever sent it."""
        return bool(self._refused)

    def choose(self) -> None:
        """Note that somebody chose the policy that stands there now, by its digest."""
        replace_file(self.project.private / "chosen", _digest(self.file.plain.get("privacy")).encode(), PRIVATE)

    def refuse(self, request: Request, sentence: str, back: str, error: MarginalsError | None = None) -> Response:
        """Go back to the page of a form, with what was typed, and the reason at the field that an error names."""
        self._refused = {request.path: Form.refused(request.form.to_dict(flat=False), error, sentence)}
        self.say(sentence, is_problem=True)
        return self.back(back)

    def back(self, address: str) -> Response:
        """Redirect after a form, so that loading a page again does nothing twice. address: below the root."""
        return redirect(self.gate.root + address, code=303)

    def edit(
        self,
        request: Request,
        change: Change,
        back: str,
        files: Mapping[str, bytes] | None = None,
        sentence: str = "Written.",
    ) -> Response:
        """Edit the config as a form says, and go back to a page, which shows the edit or why there is none."""
        try:
            written = self.file.edit(request.form.get("version", ""), change, files)
        except OlderVersionError:
            raise
        except MarginalsError as error:
            return self.refuse(request, f"Nothing was written: {error}.", back, error)
        self.tell(written, sentence)
        return self.back(back)

    def tell(self, written: str, sentence: str) -> None:
        """Say what an edit changed."""
        self.say(sentence if written else "Nothing changed.", written)

    def conflict(self, request: Request, error: OlderVersionError) -> Response:
        """Return a page that says that another edit came first, with the config as it is now and the text that was typed."""
        step, text = request.path.strip("/").partition("/")[0], request.form.get("text", "")
        last, now = [*self.done][-1:], self.file.text
        return self.page("conflict.html", "", 409, now=now, text=text, back=f"/{step}", last=last, both=error.both)


def _digest(settings: object) -> str:
    return sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()
