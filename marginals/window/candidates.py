"""Candidates: results of searches, kept side by side in the window's own folder."""

import json
import re
import shutil
import threading
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import marginals
from marginals.bundle.writing import identity_of, require_replaceable
from marginals.decision import Decision
from marginals.errors import InputError
from marginals.files import PRIVATE, private_folder, replace_file
from marginals.names import margin_in_words
from marginals.pages.steward_page import renamed
from marginals.release.release import Release, open_release
from marginals.steward import StewardFile, steward_page_path
from marginals.tables.files import files_at
from marginals.window.jobs import SEARCH, Job, JobList
from marginals.window.project import NOTES, ConfigFile, Project, flat
from models.errors import MarginalsError

_MOST = 24
"""Candidates that are kept."""


@dataclass(frozen=True)
class Candidate:
    """A config, and what a search with it found.

    text: of the config. answer: the JSON of `marginals publish`; of a search that failed, its `error`. made_of: digests of
    the files that it was made from, and this program; empty if they changed meanwhile.
    """

    number: int
    folder: Path
    text: str
    answer: Mapping[str, Any] = field(repr=False)
    made_of: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The config's keys."""
        return tomllib.loads(self.text)

    def fits(self, settings: Mapping[str, Any]) -> bool:
        """Return whether a config with these keys is searched in the same way."""
        return searched_by(self.settings) == searched_by(settings)

    @property
    def error(self) -> str:
        """Reason why nothing was found; empty if something was."""
        return str(self.answer.get("error", ""))

    @cached_property
    def decision(self) -> Decision | None:
        """The decision that publishing it would carry out; None if its release cannot be read."""
        with suppress(MarginalsError, OSError):
            return None if self.error else Decision.of(open_release(self.folder / "release").published)
        return None

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The published tables, with the names that levels have in the release itself."""
        content = self.decision and self.decision.content
        return tuple(margin_in_words(m, content.domain) for m in content.everything.margins) if content else ()

    @cached_property
    def identity(self) -> str:
        """The identity of its release; empty if the release cannot be read."""
        return "" if self.decision is None else identity_of(self.decision.content)

    @property
    def digest(self) -> str:
        """Digest of all that decides the bytes of its release: settings, rows, other files and this program."""
        made_of = sorted((Path(name).name, digest) for name, digest in self.made_of.items())
        decided_by = json.dumps([searched_by(self.settings), made_of], sort_keys=True, default=str)
        return f"sha256:{sha256(decided_by.encode()).hexdigest()}"


class Candidates:
    """The candidates of a project, in its private folder; a window that is opened again still has them."""

    def __init__(self, project: Project, config: ConfigFile, jobs: JobList) -> None:
        self._project, self._config, self._jobs = project, config, jobs
        self._cache: dict[int, Candidate] = {}
        self._numbering = threading.Lock()

    def all(self) -> list[Candidate]:
        """Return the candidates in the order of their searches."""
        folders = {n: folder for n, folder in self._folders().items() if (folder / "found.json").is_file()}
        for number in folders.keys() - self._cache.keys():
            content = json.loads((folders[number] / "found.json").read_text(encoding="utf-8"))
            made_of = content.get("made_of", {})
            self._cache[number] = Candidate(number, folders[number], content["config"], content["answer"], made_of)
        return [self._cache[number] for number in sorted(folders)]

    def search(self) -> Job:
        """Search under the config as it is. Raises InputError where it cannot be read."""
        text, name = self._config.text, self._config.path.name
        config = self._config.read(text)
        inputs = config.reads[1:]
        made_of = _digests(inputs)
        with self._numbering:
            number = max(self._folders(), default=0) + 1
            folder = self._project.private / f"candidate-{number}"
            private_folder(folder)
        searched = self._project.folder / f".{self._config.path.stem}.candidate-{number}.toml"
        replace_file(searched, text.encode(), PRIVATE)

        def keep(job: Job) -> None:
            searched.unlink(missing_ok=True)
            if job.state == "stopped" or (job.status and not job.answer):
                shutil.rmtree(folder, ignore_errors=True)
                return
            content = {"config": text, "answer": job.answer, "made_of": made_of if made_of == _digests(inputs) else {}}
            replace_file(folder / "found.json", json.dumps(content).encode(), PRIVATE)

        out = f"{NOTES}/candidate-{number}/release"
        job = self._jobs.command(SEARCH, ["publish", searched.name, "--out", out], keep)
        job.command = f"marginals publish {name} --out {out}"
        job.questions = tuple(frozenset(analysis.attributes) for analysis in config.policy.analyses)
        return job

    def current(self) -> Candidate | None:
        """Return the candidate of the present config and files; None if there is none."""
        there = [candidate for candidate in self.all() if not candidate.error and candidate.made_of]
        return next((candidate for candidate in reversed(there) if not self.changes(candidate)), None)

    def changes(self, candidate: Candidate) -> list[str]:
        """Return what changed since a candidate was searched: keys of the config, or files, or the program."""
        was, is_now = searched_by(candidate.settings), searched_by(self._config.plain)
        if keys := [key for key in dict.fromkeys([*was, *is_now]) if was.get(key) != is_now.get(key)]:
            return keys
        before, now = candidate.made_of, _digests(self._config.read().reads[1:])
        return [Path(name).name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name)]

    def publish(self, candidate: Candidate, approved: str, out: str, sign: str | None) -> None:
        """Write the release of a search, with its page for the steward, as publishing under the same config would.

        approved: the identity of the release that was looked at; only its imprint becomes that of the config. out, sign:
        names in the folder of the project. Raises InputError as publishing does and for another release, BundleError if the
        release is no longer whole.
        """
        folder, config = self._project.folder, self._config.read()
        key = None if sign is None else folder / sign
        reads = config.reads if key is None else (*config.reads, key)
        require_replaceable(folder / out, reads)
        page = StewardFile(steward_page_path(folder / out), folder / out, reads)
        content = open_release(candidate.folder / "release")
        if identity_of(content.published) != approved:
            raise InputError("this is not the release that you looked at; look at what leaves the house again")
        published = replace(content.published, title=config.imprint.title, imprint=config.imprint)
        steward = renamed((candidate.folder / "release-steward.html").read_bytes(), content.published, published)
        with page.around(steward):
            Release(published).write(folder / out, sign=key)

    def clear_leftovers(self) -> None:
        """Remove the files of searches that were cut off, and the oldest candidates beyond the number that is kept."""
        for folder in self._folders().values():
            if not (folder / "found.json").is_file():
                shutil.rmtree(folder, ignore_errors=True)
        for searched in self._project.folder.glob(f".{self._config.path.stem}.candidate-*.toml"):
            searched.unlink(missing_ok=True)
        for candidate in self.all()[:-_MOST]:
            shutil.rmtree(candidate.folder, ignore_errors=True)

    def _folders(self) -> dict[int, Path]:
        named = ((re.fullmatch(r"candidate-([1-9]\d{0,5})", f.name), f) for f in self._project.private.iterdir())
        return {int(match[1]): folder for match, folder in named if match}


def _digests(reads: Sequence[Path]) -> dict[str, str]:
    digests = {"marginals": marginals.__version__}
    for file in sorted({file for read in reads for file in files_at(read)}):
        with file.open("rb") as stream:
            digests[str(file)] = file_digest(stream, "sha256").hexdigest()
    return digests


def searched_by(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a config that decide what a search finds, by their dotted keys."""
    dotted = {".".join(key): value for key, value in flat(settings) if key[0] != "release"}
    return {key: value for key, value in dotted.items() if key != "data.reviewed"}
