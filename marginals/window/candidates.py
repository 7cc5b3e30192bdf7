"""Candidates: what searches found under several policies, side by side until one of them is published."""

import json
import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import tomlkit

import marginals
from marginals.anonymizers.published_base import is_file
from marginals.bundle.target import require_replaceable
from marginals.config.release_toml import Config
from marginals.files.atomic_file import PRIVATE, replace_file
from marginals.names.level_names import margin_in_words
from marginals.publishing.opening import open_release
from marginals.release.steward_file import StewardFile, beside
from marginals.tables.sources.files import files_at
from marginals.window.config_edits import ConfigFile, difference, put, section
from marginals.window.jobs import Job, Jobs
from marginals.window.project import PRIVATE as FOLDER
from marginals.window.project import Project
from models.errors import MarginalsError

MOST = 24
"""Candidates that are kept."""


@dataclass(frozen=True)
class Candidate:
    """A config, and what a search with it found.

    text: of the config. answer: what `marginals publish --json` printed; of a search that failed, its `error`. made_of: the
    digest of the files that it was made from and of this program; empty where they changed meanwhile.
    """

    number: int
    folder: Path
    text: str
    answer: Mapping[str, Any] = field(repr=False)
    seconds: float
    made_of: str = ""

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The config's keys."""
        return tomllib.loads(self.text)

    @property
    def error(self) -> str:
        """Why nothing was found; empty where something was."""
        return str(self.answer.get("error", ""))

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The published tables, with the names that levels have in the release itself; none where it cannot be read."""
        if self.error:
            return ()
        try:
            release = open_release(self.folder / "release")
        except (MarginalsError, OSError):
            return ()
        return tuple(margin_in_words(margin, release.domain) for margin in release.margins)

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
    def odds(self) -> float | None:
        """The odds that all diversities bear."""
        borne = [check["odds"] for check in self.answer.get("checks", []) if check.get("odds")]
        return min(borne, default=None)

    @property
    def report(self) -> Path:
        """The report of the release that was found."""
        return self.folder / "release" / "report.html"


class Candidates:
    """The candidates of a project, in its private folder; a window that is opened again still has them."""

    def __init__(self, project: Project, config: ConfigFile, jobs: Jobs) -> None:
        self._project, self._config, self._jobs = project, config, jobs
        self._kept: dict[int, Candidate] = {}

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
                found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
                self._kept[number] = Candidate(
                    number, folder, found["config"], found["answer"], found["seconds"], found.get("made_of", "")
                )
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
        taken = [candidate.number for candidate in self.all()]
        number = max([*taken, *self._begun()], default=0) + 1
        folder = self._project.private / f"candidate-{number}"
        folder.mkdir(mode=0o700)
        own = self._project.folder / f".{self._config.path.stem}.candidate-{number}.toml"
        replace_file(own, text.encode(), PRIVATE)

        def keep(job: Job) -> None:
            own.unlink(missing_ok=True)
            if job.state == "stopped" or (job.status and not job.answer):
                shutil.rmtree(folder, ignore_errors=True)
                return
            found = {"config": text, "answer": job.answer, "seconds": job.seconds}
            found["made_of"] = made_of if made_of == _digest(inputs) else ""
            replace_file(folder / "found.json", json.dumps(found).encode(), PRIVATE)

        out = f"{FOLDER}/candidate-{number}/release"
        job = self._jobs.command("search", ["publish", own.name, "--out", out], keep)
        job.shown = f"marginals publish {self._config.path.name} --out {out}"
        if changed := difference(self._config.text, text, self._config.path.name):
            job.shown += f"   # with\n{changed}"
        return job

    def found(self) -> Candidate | None:
        """What a search under the config as it is found in the files as they are; None where none did."""
        text = self._config.text
        same = [each for each in self.all() if each.text == text and not each.error and each.made_of]
        made_of = _digest(_inputs(self._config.read())) if same else ""
        return next((each for each in reversed(same) if each.made_of == made_of), None)

    def publish(self, candidate: Candidate, out: str, sign: str | None) -> dict[str, Any]:
        """Write what a search found, with its page for the steward, as publishing under the same config would.

        out, sign: names in the folder of the project. Returns what `marginals publish --json` prints. Raises InputError as
        that does, BundleError where what was found is no longer whole.
        """
        folder, reads = self._project.folder, self._config.read().reads
        key = None if sign is None else folder / sign
        reads = reads if key is None else (*reads, key)
        require_replaceable(folder / out, reads)
        page = StewardFile(beside(folder / out), folder / out, reads)
        with page.around((candidate.folder / "release-steward.html").read_bytes()):
            open_release(candidate.folder / "release").write(folder / out, sign=key)
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
        for own in self._project.folder.glob(f".{self._config.path.stem}.candidate-*.toml"):
            own.unlink(missing_ok=True)
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
