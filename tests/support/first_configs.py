"""First configs as `marginals init` writes them in this process, read back."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import marginals
from command_line import run
from marginals import Role


@dataclass(frozen=True)
class FirstConfig:
    """The answer of the command in JSON, and the config that it wrote."""

    path: Path
    text: str
    answer: Mapping[str, Any]

    @property
    def columns(self) -> dict[str, dict[str, Any]]:
        return dict(self.answer["attributes"])

    @property
    def roles(self) -> dict[str, Role]:
        return {name: Role(column["role"]) for name, column in self.columns.items()}

    @property
    def questions(self) -> list[dict[str, Any]]:
        return list(self.answer["questions"])

    @property
    def toml(self) -> dict[str, Any]:
        return tomllib.loads(self.text)

    @property
    def person(self) -> str | None:
        person: str | None = self.toml["data"].get("person")
        return person

    def config(self) -> Any:
        return marginals.read_config(self.path)

    def with_role(self, role: Role | str) -> set[str]:
        return {name for name, own in self.roles.items() if own is Role(role)}


def init(table: pd.DataFrame | Path, folder: Path, *options: object) -> FirstConfig:
    """The config of a table, or of a file, with options of the command; written to `release.toml` in a folder."""
    if isinstance(table, pd.DataFrame):
        table.to_csv(folder / "t.csv", index=False)
        table = folder / "t.csv"
    command = ["init", table, "-o", folder / "release.toml", "--force", "--json", *options]
    answer = run(*command)
    assert answer.exit_code == 0, answer.output
    path = folder / "release.toml"
    return FirstConfig(path, path.read_text(encoding="utf-8"), json.loads(answer.stdout))


def init_columns(columns: Mapping[str, Iterable[object]], *options: object) -> FirstConfig:
    """The config of a table of these columns, as long as the longest: shorter ones begin again; its file is gone then."""
    texts = {name: [str(value) for value in values] for name, values in columns.items()}
    rows = max(map(len, texts.values()))
    frame = pd.DataFrame({name: (own * (rows // len(own) + 1))[:rows] for name, own in texts.items()}, dtype=object)
    with TemporaryDirectory() as folder:
        return init(frame, Path(folder), *options)


def guessed(name: str, values: Iterable[object], *options: object) -> dict[str, Any]:
    own = [str(value) for value in values]
    rng = np.random.default_rng(0)
    return init_columns({name: own, "sex": rng.choice(["f", "m"], len(own))}, *options).columns[name]
