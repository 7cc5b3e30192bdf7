"""Small tables, and a release for each thing that a release, its report or its steward's page can speak about."""

import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from words import FOLDER, Case, Stage

ATTRIBUTES: Mapping[str, str] = {
    "age": 'role = "quasi-identifier"\nintervals = [5, 10]', "sex": 'role = "quasi-identifier"',
    "town": 'role = "quasi-identifier"', "disease": 'role = "sensitive"',
}  # fmt: skip
PRIVACY = 'k_link = 5\ndiversity = "entropy:2"'


def people(rows: int = 600, seed: int = 5) -> pd.DataFrame:
    """Rows of people: some columns that go together, a rare town, missing values, a number and a date."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, rows)
    town = np.array(["Aix", "Ulm", "Ely"])[(age - 20) // 14]
    town[:3] = "Rye"
    ill = np.where(rng.random(rows) < age / 100, "flu", rng.choice(["cold", "none, yet", 'a "b"'], rows))
    job = np.where(rng.random(rows) < 0.5, np.where(age < 40, "cook", "clerk"), rng.choice(["nurse", "smith"], rows))
    frame = pd.DataFrame({"age": age.astype(str), "sex": rng.choice(["f", "m"], rows), "town": town, "disease": ill})
    frame["job"] = job
    frame["pay"] = (1000 + 10 * (age - 20) + rng.integers(0, 900, rows)).astype(str)
    frame["grade"] = rng.choice(["mild", "severe", "dire"], rows, p=[0.5, 0.3, 0.2])
    frame["seen"] = [f"2023-{month:02}-{day:02}" for month, day in rng.integers(1, 5, (rows, 2))]
    frame["family"] = np.minimum(rng.geometric(0.45, rows), 7).astype(str)
    frame.loc[[0, 1], "family"] = "18"
    frame["name"] = [f"person {number}" for number in range(rows)]
    frame["left"] = np.where(rng.random(rows) < 0.05, "?", rng.choice(["yes", "no"], rows))
    return frame


_LONG = "[search]\ntime_limit = 3600"


class Variant(NamedTuple):
    """One release. privacy, more, data, attributes: lines of the config; table: the file of the rows."""

    title: str
    privacy: str = PRIVACY
    more: str = ""
    attributes: Mapping[str, str] = {}
    data: str = ""
    table: str = "people.csv"

    @property
    def config(self) -> str:
        sections = {**ATTRIBUTES, **self.attributes}
        lines = ["[data]", f'path = "{self.table}"', 'missing = ["", "?"]', self.data]
        if "reviewed" not in self.data:
            lines.append("reviewed = true")
        for name, section in sections.items():
            if section:
                lines += [f"[attributes.{name}]", section]
        more = self.more
        if "time_limit" not in more:  # nothing here may depend on how busy the machine is
            more = more.replace("[search]", _LONG) if "[search]" in more else f"{more}\n{_LONG}"
        return "\n".join([*lines, "[privacy]", self.privacy, more, ""])


def _variants(name: str) -> Sequence[Variant]:
    """Those of one part; they stand in tests/words/releases.toml."""
    return [Variant(**own) for own in tomllib.loads((FOLDER / "releases.toml").read_text(encoding="utf-8"))[name]]


def write_inputs(folder: Path) -> None:
    frame = people()
    frame.to_csv(folder / "people.csv", index=False)
    frame.assign(patient=np.arange(len(frame)) % 400).to_csv(folder / "visits.csv", index=False)
    (folder / "town.csv").write_text("Aix;west;*\nUlm;east;*\nEly;west;*\nRye;west;*\nBath;west;*\n", encoding="utf-8")
    (folder / "disease.csv").write_text(
        'cold;breath;*\nflu;breath;*\n"none, yet";none;*\n"a ""b""";none;*\n', encoding="utf-8"
    )


def releases(stage: Stage) -> Iterator[Case]:
    """Publish each variant: what the terminal says, the report, and the steward's page."""
    yield from _published(stage, _variants("variants"))


def criteria(stage: Stage) -> Iterator[Case]:
    yield from _published(stage, _variants("criteria"))


def _published(stage: Stage, variants: Sequence[Variant]) -> Iterator[Case]:
    with stage.entered() as folder:
        write_inputs(folder)
        for variant in variants:
            (folder / "release.toml").write_text(variant.config, encoding="utf-8")
            yield stage.shortened(stage.command("publish release.toml --out release", note=variant.title))
            report, steward = folder / "release" / "report.html", folder / "release-steward.html"
            if report.exists():
                yield stage.page("report", f"report: {variant.title}", report.read_bytes())
                yield stage.page("steward", f"steward's page: {variant.title}", steward.read_bytes())
                shutil.rmtree(folder / "release")
                steward.unlink()
