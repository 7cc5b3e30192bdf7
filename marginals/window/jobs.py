"""Commands that run beside the window, and what their searches have found."""

import json
import os
import re
import shlex
import shutil
import signal
import threading
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import tomlkit

import marginals
from marginals.bundle.writing import identity_of, require_replaceable
from marginals.config.release_toml import Config
from marginals.deadline import ENOUGH, PROGRESS_IN_LINES
from marginals.errors import InputError
from marginals.files import PRIVATE, private_folder, replace_file
from marginals.names import margin_in_words
from marginals.pages.release_page import Pair, PairsShown, pairs_shown
from marginals.pages.steward_page import renamed
from marginals.recoding.recoded_file import is_file
from marginals.release.release import Release, open_release
from marginals.steward import StewardFile, beside
from marginals.tables.files import files_at
from marginals.window.preview import Preview
from marginals.window.project import NOTES, ConfigFile, Project, difference, put, section
from marginals.window.starter import Process, PythonCall, start_program, start_python
from models.errors import MarginalsError

# Commands that run in processes of their own, so that pages stay quick, and each can be watched and stopped.
#
# What takes no time is done at once, and is told of in the same way.


_COMMAND = "from marginals.commands.main import main; main(prog_name='marginals')"
"""The program that runs a command of this project."""

PUBLISH = "publish"
"""The kind of job whose files are for others, too."""

SEARCH = "search"
"""The kind of job that looks for a release."""

_SEARCHING = "collections"
"""The task that ends when it is asked to, with the best that was found so far."""

_PATIENCE = 5.0
"""Seconds that a process has to end in order after it was asked to."""

_MOST_TEXT = 64_000_000

INTERRUPTED = 130
"""Exit status of a command that was stopped."""


@dataclass(frozen=True)
class BestFound:
    """The best that a search has found so far, as it says itself; nothing of it is verified.

    number: how many it has told of. seconds: after which it told of this one. tables: in words.
    """

    number: int
    seconds: float
    kl_divergence: float
    tables: tuple[str, ...]
    pairs: PairsShown

    @classmethod
    def of(cls, told: Mapping[str, Any], number: int, seconds: float) -> "BestFound":
        """What a line of progress tells. Raises KeyError, TypeError and ValueError for what is none."""
        pairs = tuple(Pair((str(a), str(b)), str(kind)) for a, b, kind in told["pairs"])
        numbers = {str(kind): int(count) for kind, count in told["numbers"].items()}
        shown = PairsShown(tuple(map(str, told["attributes"])), pairs, numbers)
        return cls(number, seconds, float(told["kl_divergence"]), tuple(map(str, told["tables"])), shown)


@dataclass
class Job:
    """A process at work, or done.

    shown: what does the same in a terminal, or in Python. progress: the task, how much of it is done and how much there is
    (0: unknown). status: of the exit; None while it runs. answer: the JSON object that it printed; printed: the text,
    where it printed none. sentence: why it failed. process: None of what was done at once. best: of a search, None until
    it has told of one.
    """

    number: int
    kind: str
    shown: str
    process: Process | None = field(default=None, repr=False)
    begun: float = field(default_factory=time.monotonic)
    progress: tuple[str, int, int] = ("starting", 0, 0)
    best: BestFound | None = field(default=None, repr=False)
    status: int | None = None
    seconds: float = 0.0
    answer: dict[str, Any] = field(default_factory=dict, repr=False)
    printed: str = field(default="", repr=False)
    sentence: str = ""
    is_early: bool = False
    done: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def runs(self) -> bool:
        """Whether it is still at work."""
        return not self.done.is_set()

    @property
    def elapsed(self) -> float:
        """Seconds of its work, so far or in all."""
        return time.monotonic() - self.begun if self.runs else self.seconds

    @property
    def state(self) -> str:
        """Whether it runs, is done, failed or was stopped."""
        if self.status is None:
            return "runs"
        return "done" if self.status == 0 else "stopped" if self.status in (INTERRUPTED, -2, -9, -15, 143) else "failed"

    @property
    def said(self) -> str:
        """What it is at, for people."""
        task, done, total = self.progress
        if not self.runs:
            return {"done": "done", "stopped": "stopped; nothing was written"}.get(self.state, self.sentence)
        return f"{task}: {done:,} of {total:,}" if total else f"{task}: {done:,}" if done else task

    @property
    def offers_best(self) -> bool:
        """Whether it is a search that can be asked for the best that it found so far, once it has begun to look."""
        return self.kind == SEARCH and self.process is not None and ENOUGH is not None

    @property
    def can_keep(self) -> bool:
        """Whether it can be asked for that now."""
        return self.runs and self.offers_best and self.progress[0] == _SEARCHING

    def keep(self) -> None:
        """Ask a search for the best that it found so far, if it has begun to look."""
        if self.can_keep and self.process is not None and ENOUGH is not None:
            self.is_early = True
            self.process.send_signal(ENOUGH)

    def stop(self) -> None:
        """Ask it to end, and make it end where it does not within some seconds."""
        process = self.process
        if process is None or not self.runs:
            return
        _send(process, signal.SIGINT)

        def insist() -> None:
            if not self.done.wait(_PATIENCE):
                _send(process, signal.SIGKILL)

        threading.Thread(target=insist, daemon=True).start()


class Jobs:
    """All jobs of a window. folder: where they run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._jobs: dict[int, Job] = {}
        self._lock = threading.Lock()

    def command(self, kind: str, arguments: Sequence[str], then: Callable[[Job], None] | None = None) -> Job:
        """Start a command of this project with --json. then: is called with the job when it is done."""
        return self._start_python(kind, _shown(arguments), (_COMMAND, *arguments, "--json"), then)

    def command_in_words(self, kind: str, arguments: Sequence[str]) -> Job:
        """Start a command of this project whose answer is wanted as it prints it for people."""
        return self._start_python(kind, _shown(arguments), (_COMMAND, *arguments))

    def python(self, kind: str, program: str, command_shown: str) -> Job:
        """Start a Python program that prints one JSON object. command_shown: its part that is worth showing."""
        return self._start_python(kind, command_shown, (program,))

    def program(self, kind: str, arguments: Sequence[str]) -> Job:
        """Start another program."""
        process = start_program(list(arguments), self.folder, _environment(), _umask(kind))
        return self._follow(self._kept(kind, shlex.join(arguments), process), None)

    def _start_python(
        self, kind: str, command_shown: str, program: Sequence[str], then: Callable[[Job], None] | None = None
    ) -> Job:
        """Start a Python program with its arguments."""
        text, *arguments = program
        call = PythonCall(text, tuple(arguments), self.folder, _environment(), _umask(kind))
        return self._follow(self._kept(kind, command_shown, start_python(call)), then)

    def _follow(self, job: Job, then: Callable[[Job], None] | None) -> Job:
        threading.Thread(target=_watch, args=(job, job.process, then), daemon=True).start()
        return job

    def at_once(self, kind: str, arguments: Sequence[str], work: Callable[[], dict[str, Any]]) -> Job:
        """Do what a command of this project would do, without it. work: its answer; raises MarginalsError where it fails."""
        job = self._kept(kind, _shown(arguments), None)
        try:
            job.answer, job.status = work(), 0
        except MarginalsError as error:
            job.sentence, job.status = str(error), 1
        job.seconds = time.monotonic() - job.begun
        job.done.set()
        return job

    def _kept(self, kind: str, command_shown: str, process: Process | None) -> Job:
        with self._lock:
            job = Job(len(self._jobs) + 1, kind, command_shown, process)
            self._jobs[job.number] = job
        return job

    def get(self, number: int) -> Job | None:
        """The job of this number, if there is one."""
        return self._jobs.get(number)

    def latest(self, kind: str) -> Job | None:
        """The job of a kind that was started last."""
        return next((job for job in reversed(list(self._jobs.values())) if job.kind == kind), None)

    def running(self) -> list[Job]:
        """All that are still at work."""
        return [job for job in list(self._jobs.values()) if job.runs]

    def stop(self) -> None:
        """End all, and wait until they have ended."""
        running = self.running()
        for job in running:
            job.stop()
        for job in running:
            job.done.wait(_PATIENCE + 1)


def _environment() -> dict[str, str]:
    """The variables of a command."""
    name, value = PROGRESS_IN_LINES
    return os.environ | {name: value, "PYTHONUTF8": "1"}


def _umask(kind: str) -> int:
    """The mask of the files of a job: all but a release is for the steward alone."""
    return -1 if kind == PUBLISH else 0o077


def _shown(arguments: Sequence[str]) -> str:
    """A command as somebody would type it."""
    return shlex.join(["marginals", *arguments])


def _send(process: Process, number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _watch(job: Job, process: Process, then: Callable[[Job], None] | None) -> None:
    """Read what a process says until it has ended."""
    printed: list[bytes] = []
    reader = threading.Thread(target=lambda: printed.append(_read(process.stdout)), daemon=True)
    reader.start()
    said = ""
    for line in process.stderr or ():
        text = line.decode("utf-8", "replace").strip()
        try:
            told = json.loads(text)
            if "best" in told:
                number = 1 if job.best is None else job.best.number + 1
                job.best = BestFound.of(told["best"], number, job.elapsed)
                continue
            job.progress = (str(told["task"]), int(told["done"]), int(told["total"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            said = text or said
    reader.join()
    job.status = process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    job.seconds = time.monotonic() - job.begun
    try:
        answer = json.loads(b"".join(printed) or b"{}")
        job.answer = answer if isinstance(answer, dict) else {}
    except ValueError:
        job.printed = b"".join(printed).decode("utf-8", "replace")
    if job.status:
        job.sentence = str(
            job.answer.get("error") or said.removeprefix("Error: ") or f"it ended with status {job.status}"
        )
    try:
        if then is not None:
            then(job)
    finally:
        job.done.set()


def _read(stream: Any) -> bytes:
    text: bytes = stream.read(_MOST_TEXT)
    return text


MOST = 24
"""Candidates that are kept."""


@dataclass(frozen=True)
class Candidate:
    """A config, and what a search with it found.

    text: of the config. answer: what `marginals publish --json` printed; of a search that failed, its `error`. made_of: the
    digest of the files that it was made from and of this program; empty where they changed meanwhile. is_early: whether the
    search was ended by a button, so that another one can find other tables.
    """

    number: int
    folder: Path
    text: str
    answer: Mapping[str, Any] = field(repr=False)
    seconds: float
    made_of: str = ""
    is_early: bool = False

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The config's keys."""
        return tomllib.loads(self.text)

    def fits(self, settings: Mapping[str, Any]) -> bool:
        """Whether a config with these keys is searched in the same way. Its imprint is only words on a release."""
        mine, other = (
            {key: part for key, part in keys.items() if key != "release"} for keys in (self.settings, settings)
        )
        return mine == other

    @property
    def error(self) -> str:
        """Why nothing was found; empty where something was."""
        return str(self.answer.get("error", ""))

    @property
    def tables(self) -> tuple[str, ...]:
        """The published tables, with the names that levels have in the release itself; none where it cannot be read."""
        return self._contents[0]

    @property
    def pairs(self) -> PairsShown | None:
        """What each pair of attributes can be analysed by; None where the release cannot be read."""
        return self._contents[1]

    @cached_property
    def _contents(self) -> tuple[tuple[str, ...], PairsShown | None]:
        if self.error:
            return (), None
        try:
            release = open_release(self.folder / "release")
        except (MarginalsError, OSError):
            return (), None
        named = tuple(margin_in_words(margin, release.domain) for margin in release.margins)
        return named, pairs_shown(release.collection)

    @cached_property
    def preview(self) -> Preview | None:
        """What its release shows; None where it cannot be read."""
        try:
            return Preview.of(open_release(self.folder / "release"), self.answer.get("unpublished") or {})
        except (MarginalsError, OSError):
            return None

    @property
    def largest_risk(self) -> float | None:
        """The probability that the person is found who shares a published cell with the fewest others."""
        smallest = [
            check["worst"]["count"]
            for check in self.answer.get("checks", [])
            if check.get("worst") and check["worst"].get("count") and check["criterion"] in ("k-link", "min-cell")
        ]
        return 1 / min(smallest) if smallest else None

    @property
    def smallest_sensitive_count(self) -> int | None:
        """The smallest count of a published cell that includes something sensitive; None where none does."""
        return min((self.answer.get("smallest_sensitive_counts") or {}).values(), default=None)

    @property
    def report(self) -> Path:
        """The report of the release that was found."""
        return self.folder / "release" / "report.html"


class Candidates:
    """The candidates of a project, in its private folder; a window that is opened again still has them."""

    def __init__(self, project: Project, config: ConfigFile, jobs: Jobs) -> None:
        self._project, self._config, self._jobs = project, config, jobs
        self._kept: dict[int, Candidate] = {}
        self._numbering = threading.Lock()

    def all(self) -> list[Candidate]:
        """All that are there, in the order in which they were looked for."""
        folders = {
            int(match[1]): folder
            for folder in self._project.private.iterdir()
            if (match := re.fullmatch(r"candidate-([1-9]\d{0,5})", folder.name)) and (folder / "found.json").is_file()
        }
        for number in [number for number in self._kept if number not in folders]:
            del self._kept[number]
        for number, folder in folders.items():
            if number not in self._kept:
                result = json.loads((folder / "found.json").read_text(encoding="utf-8"))
                told = (result["config"], result["answer"], result["seconds"], result.get("made_of", ""))
                self._kept[number] = Candidate(number, folder, *told, result.get("is_early", False))
        return [self._kept[number] for number in sorted(self._kept)]

    def get(self, number: int) -> Candidate | None:
        """The candidate of this number, if there is one."""
        return next((candidate for candidate in self.all() if candidate.number == number), None)

    def search(self, changes: Mapping[str, Any]) -> Job:
        """Search under the config as it is, but for some keys: `privacy.k_link`, for example. None: without the key.

        Raises InputError for what makes no config that can be read.
        """
        document = self._config.document
        for name, value in changes.items():
            above, _, key = name.rpartition(".")
            put(section(document, above), key, value)
        text = tomlkit.dumps(document)
        inputs = _inputs(self._config.read(text))
        made_of = _digest(inputs)
        with self._numbering:
            taken = [candidate.number for candidate in self.all()]
            number = max([*taken, *self._begun()], default=0) + 1
            folder = self._project.private / f"candidate-{number}"
            private_folder(folder)
        candidate_path = self._project.folder / f".{self._config.path.stem}.candidate-{number}.toml"
        replace_file(candidate_path, text.encode(), PRIVATE)

        def keep(job: Job) -> None:
            candidate_path.unlink(missing_ok=True)
            if job.state == "stopped" or (job.status and not job.answer):
                shutil.rmtree(folder, ignore_errors=True)
                return
            result = {"config": text, "answer": job.answer, "seconds": job.seconds, "is_early": job.is_early}
            result["made_of"] = made_of if made_of == _digest(inputs) else ""
            replace_file(folder / "found.json", json.dumps(result).encode(), PRIVATE)

        out = f"{NOTES}/candidate-{number}/release"
        job = self._jobs.command(SEARCH, ["publish", candidate_path.name, "--out", out], keep)
        job.shown = f"marginals publish {self._config.path.name} --out {out}"
        if changed := difference(self._config.text, text, self._config.path.name):
            job.shown += f"   # with\n{changed}"
        return job

    def found(self) -> Candidate | None:
        """What a search under the config as it is found in the files as they are; None where none did."""
        settings = self._config.plain
        same = [job for job in self.all() if job.fits(settings) and not job.error and job.made_of]
        made_of = _digest(_inputs(self._config.read())) if same else ""
        return next((candidate for candidate in reversed(same) if candidate.made_of == made_of), None)

    def publish(self, candidate: Candidate, approved: str, out: str, sign: str | None) -> dict[str, Any]:
        """Write what a search found, with its page for the steward, as publishing under the same config would.

        approved: the identity of the release that was looked at; only its imprint becomes that of the config. out, sign:
        names in the folder of the project. Returns what `marginals publish --json` prints. Raises InputError as that does
        and for another release, BundleError where what was found is no longer whole.
        """
        folder, config = self._project.folder, self._config.read()
        reads = config.reads
        key = None if sign is None else folder / sign
        reads = reads if key is None else (*reads, key)
        require_replaceable(folder / out, reads)
        page = StewardFile(beside(folder / out), folder / out, reads)
        found = open_release(candidate.folder / "release")
        if identity_of(found.published) != approved:
            raise InputError("this is not the release that you looked at; look at what leaves the house again")
        published = replace(found.published, title=config.imprint.title, imprint=config.imprint)
        steward = renamed((candidate.folder / "release-steward.html").read_bytes(), found.published, published)
        with page.around(steward):
            Release(published).write(folder / out, sign=key)
        return {**candidate.answer, "out": out, "steward": page.path.name}

    def _begun(self) -> list[int]:
        names = [folder.name for folder in self._project.private.iterdir()]
        return [int(match[1]) for name in names if (match := re.fullmatch(r"candidate-(\d{1,6})", name))]

    def drop(self, number: int) -> None:
        """Forget a candidate."""
        if candidate := self.get(number):
            shutil.rmtree(candidate.folder, ignore_errors=True)

    def clear_leftovers(self) -> None:
        """Remove what searches left that were cut off, and the oldest beyond those that are kept."""
        for folder in self._project.private.glob("candidate-*"):
            if not (folder / "found.json").is_file():
                shutil.rmtree(folder, ignore_errors=True)
        for candidate_path in self._project.folder.glob(f".{self._config.path.stem}.candidate-*.toml"):
            candidate_path.unlink(missing_ok=True)
        for candidate in self.all()[:-MOST]:
            self.drop(candidate.number)


def _inputs(config: Config) -> tuple[Path, ...]:
    """The files that a release is made from, besides the config."""
    base = config.policy.base
    return (*config.reads[1:], Path(base)) if isinstance(base, str) and is_file(base) else config.reads[1:]


def _digest(reads: Sequence[Path]) -> str:
    """What changes when files do, or this program."""
    digest = sha256(marginals.__version__.encode())
    for file in sorted({file for read in reads for file in files_at(read)}):
        digest.update(f"\0{file}\0".encode())
        with file.open("rb") as stream:
            digest.update(file_digest(stream, "sha256").digest())
    return digest.hexdigest()
