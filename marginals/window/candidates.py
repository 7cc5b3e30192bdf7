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
from marginals.config.release_toml import Config
from marginals.errors import InputError
from marginals.files import PRIVATE, private_folder, replace_file
from marginals.names import margin_in_words
from marginals.pages.steward_page import renamed
from marginals.pairs import PairsShown, pairs_shown
from marginals.recoding.recoded_file import is_file
from marginals.release.release import Release, open_release
from marginals.say.claims import claim_meaning, claim_title
from marginals.steward import StewardFile, beside
from marginals.tables.files import files_at
from marginals.window.jobs import SEARCH, Job, JobList
from marginals.window.project import NOTES, ConfigFile, Project
from models.errors import MarginalsError

_MOST = 24
"""Candidates that are kept."""


_LISTED = 12
"""Pairs without a table that are named."""


def preview(release: Release, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a release from its files alone. answer: says why a column is not published, for the steward.

    tables: in words, with cells that have rows, the smallest count, and sensitive columns. guarantees: what holds, each with
    the name of its demand. lacking: columns of which nothing is published, with the reason where it is known. apart: pairs
    of published columns that no table tells of, the first of them; further: how many more.
    """
    domain, sensitive = release.domain, release.published.sensitive
    reasons = answer.get("unpublished") or {}
    lacking = {name: reasons.get(name, "") for name in release.published.unpublished}
    pairs = pairs_shown(release.everything).of_kind("assumed")
    apart = [" and ".join(pair.names) for pair in pairs if not {*pair.names} & {*lacking}]
    return {
        "identity": identity_of(release.published),
        "tables": [
            {
                "in_words": margin_in_words(table.margin, domain),
                "counted": len(table),
                "smallest": int(table.counts.min(initial=release.rows)),
                "sensitive": [name for name in table.margin if name in sensitive],
            }
            for table in release.everything.tables
        ],
        "guarantees": [(claim_title(claim), claim_meaning(claim)) for claim in release.claims],
        "lacking": lacking,
        "apart": apart[:_LISTED],
        "further": max(len(apart) - _LISTED, 0),
    }


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
        """The reason why nothing was found; empty if something was."""
        return str(self.answer.get("error", ""))

    @cached_property
    def _release(self) -> Release | None:
        with suppress(MarginalsError, OSError):
            return None if self.error else open_release(self.folder / "release")
        return None

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The published tables, with the names that levels have in the release itself; none where it cannot be read."""
        release = self._release
        return () if release is None else tuple(margin_in_words(margin, release.domain) for margin in release.margins)

    @cached_property
    def pairs(self) -> PairsShown | None:
        """The kinds of all pairs of attributes; None if the release cannot be read."""
        return None if self._release is None else pairs_shown(self._release.collection)

    @cached_property
    def preview(self) -> dict[str, Any] | None:
        """The preview of its release; None if the release cannot be read."""
        return None if self._release is None else preview(self._release, self.answer)

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


class Candidates:
    """The candidates of a project, in its private folder; a window that is opened again still has them."""

    def __init__(self, project: Project, config: ConfigFile, jobs: JobList) -> None:
        self._project, self._config, self._jobs = project, config, jobs
        self._kept: dict[int, Candidate] = {}
        self._numbering = threading.Lock()

    def all(self) -> list[Candidate]:
        """Return the candidates in the order of their searches."""
        folders = {n: folder for n, folder in self._folders().items() if (folder / "found.json").is_file()}
        self._kept = {number: candidate for number, candidate in self._kept.items() if number in folders}
        for number in sorted(folders.keys() - self._kept.keys()):
            found = json.loads((folders[number] / "found.json").read_text(encoding="utf-8"))
            self._kept[number] = Candidate(number, folders[number], found.pop("config"), **found)
        return [self._kept[number] for number in sorted(self._kept)]

    def get(self, number: int) -> Candidate | None:
        """The candidate of this number, if there is one."""
        return next((candidate for candidate in self.all() if candidate.number == number), None)

    def search(self) -> Job:
        """Search under the config as it is. Raises InputError where it cannot be read."""
        text, name = self._config.text, self._config.path.name
        inputs = _inputs(self._config.read(text))
        made_of = _digest(inputs)
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
            found = {"config": text, "answer": job.answer, "seconds": job.seconds, "is_early": job.is_early}
            found["made_of"] = made_of if made_of == _digest(inputs) else ""
            replace_file(folder / "found.json", json.dumps(found).encode(), PRIVATE)

        out = f"{NOTES}/candidate-{number}/release"
        job = self._jobs.command(SEARCH, ["publish", searched.name, "--out", out], keep)
        job.shown = f"marginals publish {name} --out {out}"
        return job

    def found(self) -> Candidate | None:
        """Return the candidate of the present config and files; None if there is none."""
        settings = self._config.plain
        same = [job for job in self.all() if job.fits(settings) and not job.error and job.made_of]
        made_of = _digest(_inputs(self._config.read())) if same else ""
        return next((candidate for candidate in reversed(same) if candidate.made_of == made_of), None)

    def publish(self, candidate: Candidate, approved: str, out: str, sign: str | None) -> None:
        """Write what a search found, with its page for the steward, as publishing under the same config would.

        approved: the identity of the release that was looked at; only its imprint becomes that of the config. out, sign:
        names in the folder of the project. Raises InputError as publishing does and for another release, BundleError where
        what was found is no longer whole.
        """
        folder, config = self._project.folder, self._config.read()
        key = None if sign is None else folder / sign
        reads = config.reads if key is None else (*config.reads, key)
        require_replaceable(folder / out, reads)
        page = StewardFile(beside(folder / out), folder / out, reads)
        found = open_release(candidate.folder / "release")
        if identity_of(found.published) != approved:
            raise InputError("this is not the release that you looked at; look at what leaves the house again")
        published = replace(found.published, title=config.imprint.title, imprint=config.imprint)
        steward = renamed((candidate.folder / "release-steward.html").read_bytes(), found.published, published)
        with page.around(steward):
            Release(published).write(folder / out, sign=key)

    def drop(self, number: int) -> None:
        """Forget a candidate."""
        if candidate := self.get(number):
            shutil.rmtree(candidate.folder, ignore_errors=True)

    def clear_leftovers(self) -> None:
        """Remove what searches left that were cut off, and the oldest beyond those that are kept."""
        for folder in self._folders().values():
            if not (folder / "found.json").is_file():
                shutil.rmtree(folder, ignore_errors=True)
        for searched in self._project.folder.glob(f".{self._config.path.stem}.candidate-*.toml"):
            searched.unlink(missing_ok=True)
        for candidate in self.all()[:-_MOST]:
            self.drop(candidate.number)

    def _folders(self) -> dict[int, Path]:
        named = ((re.fullmatch(r"candidate-([1-9]\d{0,5})", f.name), f) for f in self._project.private.iterdir())
        return {int(match[1]): folder for match, folder in named if match}


def _inputs(config: Config) -> tuple[Path, ...]:
    base = config.policy.base
    return (*config.reads[1:], Path(base)) if isinstance(base, str) and is_file(base) else config.reads[1:]


def _digest(reads: Sequence[Path]) -> str:
    digest = sha256(marginals.__version__.encode())
    for file in sorted({file for read in reads for file in files_at(read)}):
        digest.update(f"\0{file}\0".encode())
        with file.open("rb") as stream:
            digest.update(file_digest(stream, "sha256").digest())
    return digest.hexdigest()
