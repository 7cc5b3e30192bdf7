"""Candidates: what searches found under several policies, side by side until one of them is published."""

import json
import re
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import tomlkit

from marginals.files.atomic_file import PRIVATE, replace_file
from marginals.window.config_edits import ConfigFile, difference, put, section
from marginals.window.jobs import Job, Jobs
from marginals.window.project import PRIVATE as FOLDER
from marginals.window.project import Project

MOST = 24
"""Candidates that are kept."""


@dataclass(frozen=True)
class Candidate:
    """A config, and what a search with it found.

    text: of the config. answer: what `marginals publish --json` printed; of a search that failed, its `error`.
    """

    number: int
    folder: Path
    text: str
    answer: Mapping[str, Any] = field(repr=False)
    seconds: float

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The config's keys."""
        return tomllib.loads(self.text)

    @property
    def error(self) -> str:
        """Why nothing was found; empty where something was."""
        return str(self.answer.get("error", ""))

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
                self._kept[number] = Candidate(number, folder, found["config"], found["answer"], found["seconds"])
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
        self._config.read(text)
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
            replace_file(folder / "found.json", json.dumps(found).encode(), PRIVATE)

        out = f"{FOLDER}/candidate-{number}/release"
        job = self._jobs.command("search", ["publish", own.name, "--out", out], keep)
        job.shown = f"marginals publish {self._config.path.name} --out {out}"
        if changed := difference(self._config.text, text, self._config.path.name):
            job.shown += f"   # with\n{changed}"
        return job

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
