"""Whatever configs, tables and bundles are: each command ends soon, in little memory, with a sentence, and leaves nothing.

MARGINALS_TRIALS sets how many inputs are made (12 by default), MARGINALS_SEED the first of their seeds.
"""

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

import marginals
from bounded_command import bounded
from malformed_inputs import malformed

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "12"))
SEED = int(os.environ.get("MARGINALS_SEED", "1"))
SECONDS = 20

COMMANDS = {
    "config": ["assess", "risk", "anonymize", "publish", "disclose"],
    "table": ["init", "assess", "risk", "publish", "disclose", "assess", "risk"],
    "hierarchy": ["assess", "publish", "disclose", "risk"],
    "bundle": ["verify", "verify two", "attack", "report", "report here", "query", "sample", "risk of", "publish over"],
}


def arguments(command: str, folder: Path) -> list[object]:
    out, release, config = folder / "out", folder / "release", folder / "release.toml"
    table = next(iter(sorted(folder.glob("people.*"))), folder / "people.csv")
    return {
        "init": ["init", table, "-o", out / "made.toml"],
        "assess": ["assess", config],
        "risk": ["risk", config],
        "risk of": ["risk", config, release],
        "anonymize": ["anonymize", config],
        "publish": ["publish", config, "--out", out / "made"],
        "publish over": ["publish", config, "--out", release],
        "disclose": ["disclose", config, "--out", out / "rows.csv"],
        "verify": ["verify", release],
        "verify two": ["verify", release, folder.parent / "whole"],
        "attack": ["attack", release],
        "report": ["report", release, "--out", out / "page.html"],
        "report here": ["report", release],
        "query": ["query", release, "sex=f"],
        "sample": ["sample", release, "-n", "5", "-o", out / "rows.csv"],
    }[command]


def problem(command: str, folder: Path, counted: Counter[str]) -> str | None:
    """What a command does wrong with the files of a folder; None where nothing. counted: gets its status."""
    run, _, left, wrong = bounded(arguments(command, folder), folder, SECONDS, counted)
    if wrong:
        return wrong
    allowed = ("out/",) if run.returncode != 2 else ()
    own = ("release/report.html", "release/datapackage.json", "release-steward.html") if run.returncode != 2 else ()
    others = {path for path in left if not path.startswith((*allowed, *own)) or ".writing-" in path}
    if others and (command != "publish over" or run.returncode == 2):
        return f"status {run.returncode} left {sorted(others)}"
    return None


def test_malformed_inputs_do_no_harm(
    tmp_path: Path, small_release: marginals.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_release.write(tmp_path / "whole")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    counted: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(SEED, SEED + TRIALS):
        folder = tmp_path / f"{seed}"
        (folder / "out").mkdir(parents=True)
        kind = malformed(folder, tmp_path / "whole", seed)
        command = random.Random(seed).choice(COMMANDS[kind])
        counted[kind] += 1
        found = problem(command, folder, counted)
        if not found and any(temporary.iterdir()):
            found = f"left {[path.name for path in temporary.iterdir()]} among the temporary files"
            shutil.rmtree(temporary)
            temporary.mkdir()
        if found:
            wrong.append(f"seed {seed}, {kind}, {command}: {found}")
            print(wrong[-1], flush=True)
    print(f"\n{TRIALS} malformed inputs from seed {SEED}: {dict(counted)}")
    assert not wrong, "\n".join(wrong)
