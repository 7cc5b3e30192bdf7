"""However a command ends that reads rows, afterwards no row is on disk but in its source.

Each signal is sent once in each case, at a moment that is drawn; fifty times where MARGINALS_TIMES is set (`make nightly`).
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import forked
from project import environment

TIMES = 50 if "MARGINALS_TIMES" in os.environ else 1
SEED = 20260102
ROWS = 8_000

PROGRAM = f"import tempfile; tempfile.tempdir = None; {forked.COMMAND}"
"""The command, with the folder for temporary files that the environment names."""

CONFIG = """
data = { path = "people.csv", memory = "MEMORY" }
attributes.name.role = "identifier"
attributes.age = { role = "quasi-identifier", intervals = [5, 10] }
attributes.sex.role = "quasi-identifier"
attributes.job.role = "quasi-identifier"
attributes.disease.role = "sensitive"
privacy = { k_link = 5, diversity = "entropy:2" }
risk.rules = [{ attribute = "job" }]
"""
TOKEN = b"planted"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A table with something of its own in each row: who it is, a job that nobody shares, and a column that is not used."""
    folder = tmp_path / "source"
    folder.mkdir()
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "name": [f"planted-name-{i:07}" for i in range(ROWS)],
            "age": rng.integers(20, 60, ROWS).astype(str),
            "sex": rng.choice(["f", "m"], ROWS),
            "job": [f"planted-job-{i:07}" for i in rng.permutation(ROWS)],
            "disease": rng.choice(["flu", "cold", "gout"], ROWS),
            "note": [f"planted-note-{i:07}" for i in range(ROWS)],
        }
    )
    frame.loc[:50, "age"] = ""  # rows that are dropped
    frame.to_csv(folder / "people.csv", index=False)
    return folder


def configured(source: Path, memory: str) -> Path:
    config = source / "release.toml"
    config.write_text(CONFIG.replace("MEMORY", memory))
    return config


def files_with_rows(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and TOKEN in path.read_bytes()]


@pytest.mark.parametrize(("command", "memory"), [("publish", "1 GB"), ("publish", "1 MB"), ("disclose", "1 MB")])
def test_no_row_is_left_on_disk_whenever_a_signal_comes(
    command: str, memory: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory is short, rows wait in files without a name, which are gone with the process, SIGKILL included."""
    pytest.importorskip("duckdb")
    rng = random.Random(SEED)
    place, temporary = tmp_path / "place", tmp_path / "temporary"
    place.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    arguments = (command, configured(source, memory), "--out", place / "out", "--json")
    forked.run("pass")  # what all processes are forked from has started
    begin = time.monotonic()
    assert forked.run(PROGRAM, *arguments, folder=place).returncode == 0
    whole = time.monotonic() - begin
    assert not files_with_rows(place), "the test would be about nothing"
    written = {path.name for path in place.iterdir()}
    assert written == ({"out", "out-steward.html"} if command == "publish" else {"out"})
    more = ("--force",) if command == "disclose" else ()
    ended = 0
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL):
        for _ in range(TIMES):
            process = forked.Forked(PROGRAM, *arguments, *more, folder=place)
            time.sleep(rng.uniform(0, whole))
            process.send_signal(number)
            status = process.wait()
            ended += status != 0
            assert not files_with_rows(place) + files_with_rows(temporary), number
            assert not list(temporary.iterdir()), number
            left = sorted(path.name for path in place.iterdir())
            assert set(left) <= written or status in (-signal.SIGKILL, -signal.SIGABRT), (number, left)
            # Before the command listens, and after it, a signal ends the process itself. DuckDB aborted once in 800 runs.
            ends = {0, 1, -number, 128 + number} | {-signal.SIGABRT}
            assert status in ({0, -number} if number is signal.SIGKILL else ends), (number, status)
    print(f"\n{ended} of {4 * TIMES} runs were ended by a signal")
    assert forked.run(PROGRAM, *arguments, *more, folder=place).returncode == 0
    assert {path.name for path in place.iterdir()} == written, "the next run removes what SIGKILL has left"


@pytest.mark.parametrize("ignored", [False, True])
def test_a_closed_terminal_ends_a_command_with_a_sentence_unless_that_is_ignored(source: Path, ignored: bool) -> None:
    """As nohup ignores it."""
    command = [sys.executable, "-c", forked.COMMAND, "publish", str(configured(source, "1 GB"))]
    process = subprocess.Popen(
        [*command, "--out", str(source.parent / "release")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL),
    )
    assert process.stderr.readline().startswith("Dropped 51 of 8,000 rows")
    process.send_signal(signal.SIGHUP)
    said = process.communicate(timeout=60)[1]
    assert ignored or said == "Error: interrupted; nothing is half written\n"
    assert process.returncode == (0 if ignored else 128 + signal.SIGHUP)


def test_the_library_leaves_signals_alone() -> None:
    """A program that imports it and uses it ends by signals as it did before."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    from click.testing import CliRunner

    from command_line import main

    assert CliRunner().invoke(main, ["--help"]).exit_code == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
