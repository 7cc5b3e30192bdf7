"""`marginals audit` says what is certain, and which tables contradict each other; exit status 1 for both."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import marginals
from command_line import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["audit", *map(str, arguments)])


def test_tables_of_other_people_are_not_combined(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("area,count\nUlm,9\nLinz,8\n")
    (tmp_path / "two.csv").write_text("area,count\nUlm,3\nLinz,*\n")
    names = ("one", "two")
    spec = [f'[tables."{n}.csv"]\nattributes = ["area"]\ncount = "count"\npeople = "{n}"\n' for n in names]
    (tmp_path / "audit.toml").write_text("".join(['[markers]\n"*" = "unknown"\n', *spec]))
    result = run("--spec", tmp_path / "audit.toml", "--json")
    assert result.exit_code == 0, result.output
    assert [part["facts"] for part in json.loads(result.output)["audited"]] == [[], []]


def blocks(folder: Path, number: int) -> list[Path]:
    """Two tables of a random census of some areas, with small counts suppressed."""
    rng = np.random.default_rng(5)
    counts = rng.poisson(1.5, size=(number, 3, 4, 3))
    lines = {"age.csv": ["area,sex,age,count"], "home.csv": ["area,age,home,count"]}
    for area in range(number):
        for (file, names), margin in zip(
            (("age.csv", "st"), ("home.csv", "th")), (counts[area].sum(axis=2), counts[area].sum(axis=0))
        ):
            for key, count in np.ndenumerate(margin):
                labels = ",".join(f"{name}{value}" for name, value in zip(names, key))
                lines[file].append(f"a{area},{labels},{'<5' if 1 <= count <= 4 else count}")
            lines[file].append(f"a{area},Total,Total,{(margin).sum()}")
    for file, rows in lines.items():
        (folder / file).write_text("\n".join([*rows, ""]))
    return [folder / file for file in lines]


def test_two_processes_say_what_one_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.intervals.proofs._AT_ONCE", 100)  # several parts of few blocks
    files = blocks(tmp_path, 8)
    one, two = (marginals.plain(marginals.audit(*files, seconds=600, jobs=jobs)) for jobs in (1, 2))
    assert one == two
    assert one["audited"][0]["facts"]
    assert "jobs=1" in run(*files, "--jobs", 1).output


def test_processes_do_not_answer_to_signals_as_the_program_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(*_: object, **__: object) -> None:
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        (tmp_path / "handlers").write_text(" ".join(str(signal.getsignal(number)) for number in numbers))
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("models.intervals.proofs._AT_ONCE", 100)
    monkeypatch.setattr("models.intervals.proofs.tightened", told)
    result = run(*blocks(tmp_path, 8))
    assert (result.exit_code, "was killed" in result.output, "Traceback" in result.output) == (2, True, False)
    assert (tmp_path / "handlers").read_text() == "1 0 0", "ignored, and as the system has it"
