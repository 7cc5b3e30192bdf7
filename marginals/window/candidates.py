"""The candidate: the result of the last search that found something, in the window's own folder."""

import json
import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import marginals
from marginals.bundle.writing import identity_of, require_replaceable
from marginals.decision import Decision
from marginals.errors import InputError
from marginals.files import PRIVATE, private_folder, replace_file
from marginals.pages.steward_page import renamed
from marginals.release.release import Release, open_release
from marginals.steward import StewardFile, steward_page_path
from marginals.tables.opening import files_at
from marginals.window.jobs import SEARCH, Job, JobList
from marginals.window.project import NOTES, ConfigFile, Project, flat
from models.errors import MarginalsError
from models.frozen import frozen


@frozen
class Candidate:
    """A config, and what a search with it found.

    text: of the config. answer: the JSON of `marginals publish`. made_of: digests of the files that it was made from, and
    this program; empty if they changed meanwhile.
    """

    folder: Path
    text: str
    answer: Mapping[str, Any] = field(repr=False)
    made_of: Mapping[str, str]

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The config's keys."""
        return tomllib.loads(self.text)

    @cached_property
    def decision(self) -> Decision | None:
        """The decision that publishing it would carry out; None if its release cannot be read."""
        with suppress(MarginalsError, OSError):
            return Decision.of(open_release(self.folder / "release").published)
        return None

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
    """The candidate of a project, in its private folder; a window that is opened again still has it."""

    def __init__(self, project: Project, config: ConfigFile, jobs: JobList) -> None:
        self._project, self._config, self._jobs = project, config, jobs
        self._latest: Candidate | None = None

    @property
    def latest(self) -> Candidate | None:
        """The candidate of the last search that found something; None before that."""
        complete = [folder for _, folder in sorted(self._folders().items()) if (folder / "found.json").is_file()]
        if not complete:
            self._latest = None
        elif self._latest is None or self._latest.folder != complete[-1]:
            content = json.loads((complete[-1] / "found.json").read_text(encoding="utf-8"))
            self._latest = Candidate(complete[-1], content["config"], content["answer"], content["made_of"])
        return self._latest

    def search(self) -> Job:
        """Search under the config as it is, while no other search is at work. Raises InputError where it cannot be read."""
        text, name = self._config.text, self._config.path.name
        config = self._config.read(text)
        inputs = config.reads[1:]
        made_of = _digests(inputs)
        number = max(self._folders(), default=0) + 1
        folder = self._project.private / f"candidate-{number}"
        private_folder(folder)
        searched = self._project.folder / f".{self._config.path.stem}.candidate-{number}.toml"
        replace_file(searched, text.encode(), PRIVATE)

        def keep(job: Job) -> None:
            searched.unlink(missing_ok=True)
            if not job.status:
                unchanged = made_of if made_of == _digests(inputs) else {}
                content = {"config": text, "answer": job.answer, "made_of": unchanged}
                replace_file(folder / "found.json", json.dumps(content).encode(), PRIVATE)
            self.clear_leftovers()

        out = f"{NOTES}/candidate-{number}/release"
        job = self._jobs.command(SEARCH, ["publish", searched.name, "--out", out], keep)
        job.command = f"marginals publish {name} --out {out}"
        questions = [config.source.bases(analysis.attributes) for analysis in config.policy.analyses]
        has_levels = any(attribute.level_of for attribute in config.source.used.values())  # which make wishes equal
        job.questions = tuple(dict.fromkeys(questions) if has_levels else questions)
        return job

    def current(self) -> Candidate | None:
        """Return the candidate of the present config and files; None if there is none."""
        candidate = self.latest
        return candidate if candidate and candidate.made_of and not self.changes(candidate) else None

    def changes(self, candidate: Candidate) -> list[str]:
        """Return what changed since a candidate was searched: keys of the config, or files, or the program."""
        was, is_now = searched_by(candidate.settings), searched_by(self._config.plain)
        if keys := [key for key in dict.fromkeys([*was, *is_now]) if was.get(key) != is_now.get(key)]:
            return keys
        before, now = candidate.made_of, _digests(self._config.read().reads[1:])
        return [Path(name).name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name)]

    def publish(self, candidate: Candidate, out: str, sign: str | None) -> None:
        """Write the release of a search, with its page for the steward, as publishing under the same config would.

        Only its imprint becomes that of the config. out, sign: names in the folder of the project. Raises InputError as
        publishing does and for a release that has changed, BundleError for one that is no longer whole.
        """
        folder, config = self._project.folder, self._config.read()
        key = None if sign is None else folder / sign
        reads = config.reads if key is None else (*config.reads, key)
        require_replaceable(folder / out, reads)
        page = StewardFile(steward_page_path(folder / out), folder / out, reads)
        content = open_release(candidate.folder / "release")
        if identity_of(content.published) != candidate.identity:
            raise InputError("this is not the release that you looked at; look at what leaves the house again")
        published = replace(content.published, title=config.imprint.title, imprint=config.imprint)
        steward = renamed((candidate.folder / "release-steward.html").read_bytes(), content.published, published)
        with page.around(steward):
            Release(published).write(folder / out, sign=key)

    def clear_leftovers(self) -> None:
        """Remove the files of searches that were cut off, and of earlier candidates."""
        latest = self.latest
        for folder in {*self._folders().values()} - {latest and latest.folder}:
            shutil.rmtree(folder, ignore_errors=True)
        for searched in self._project.folder.glob(f".{self._config.path.stem}.candidate-*.toml"):
            searched.unlink(missing_ok=True)

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
