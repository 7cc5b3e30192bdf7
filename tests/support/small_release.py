"""A small table with its config, and the command line run on it as a process of its own."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

import forked

CONFIG = """
[data]
path = "people.csv"
[attributes.age]
role = "quasi-identifier"
intervals = [5, 10]
[attributes.sex]
role = "quasi-identifier"
[attributes.town]
role = "quasi-identifier"
[attributes.disease]
role = "sensitive"
[privacy]
k_link = 5
diversity = "entropy:2"
"""


def write_config(folder: Path, seed: int = 5) -> Path:
    """A config and its table of 600 people."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, 600)
    town = np.array(["Aix", "Ulm", "Ely"])[(age - 20) // 14]
    ill = np.where(rng.random(600) < age / 100, "flu", rng.choice(["cold", "none, yet", 'a "b"'], 600))
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 600), "town": town, "disease": ill})
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "release.toml").write_text(CONFIG)
    return folder / "release.toml"


def write_long_search(path: Path) -> None:
    """A config, and its table with nine columns more, whose search goes on for seconds."""
    people, rng = pd.read_csv(path.with_name("people.csv")), np.random.default_rng(2)
    more = {f"x{number}": (people["age"] + rng.integers(0, 30, len(people))) // 4 for number in range(9)}
    people.assign(**more).to_csv(path.with_name("people.csv"), index=False)
    columns = "".join(f'[attributes.{name}]\nrole = "quasi-identifier"\nladder = "fitted"\n' for name in more)
    path.write_text(f'{CONFIG}{columns}[search]\nstrategy = "local"\ntime_limit = 600.0\n')


def marginals_command(
    *arguments: object, said: str = "", status: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own. said: its standard input, no terminal. status: the one that it must end with."""
    ended = forked.run(forked.COMMAND, *arguments, said=said)
    assert status in (None, ended.returncode), ended.stderr
    return ended


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write_release(folder: Path, frame: pd.DataFrame, attributes: Mapping[str, str], more: str = "") -> Path:
    """A config of a table in a folder. attributes: of each column the role, and lines of other keys. more: sections."""
    frame.to_csv(folder / "people.csv", index=False)
    told = {name: text.partition("\n") for name, text in attributes.items()}
    sections = [f'[attributes."{name}"]\nrole = "{role}"\n{keys}\n' for name, (role, _, keys) in told.items()]
    (folder / "release.toml").write_text('data.path = "people.csv"\n' + "".join(sections) + more, encoding="utf-8")
    return folder / "release.toml"
