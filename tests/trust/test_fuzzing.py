"""Whatever somebody types, or a file, a config, a bundle or a request is: no traceback, only documented statuses, bounded
memory and time, nothing left on the disk, and no value of a row in a message.

MARGINALS_TRIALS sets how many command lines and how many malformed inputs are made (12 by default, and ten times as many
requests), MARGINALS_SEED the first of their seeds. `make nightly` runs 500 and 5,000.
"""

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import marginals
from bounded_command import bounded
from fuzzed_commands import CANARY, case, request
from malformed_inputs import malformed
from small_release import write_config

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "12"))
SEED = int(os.environ.get("MARGINALS_SEED", "1"))

Counted = Counter[str]
"""How often each status and each kind of case came up."""


def try_cases(
    place: Path, monkeypatch: pytest.MonkeyPatch, made: Callable[[Path, int, Counted], tuple[object, str | None]]
) -> None:
    """Make so many cases and run them. made: in a folder, from a seed, what a case is and what is wrong with it."""
    temporary = place / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    counted, wrong = Counted(), []
    for seed in range(SEED, SEED + TRIALS):
        folder = place / f"{seed}"
        folder.mkdir()
        told, found = made(folder, seed, counted)
        if not found and any(temporary.iterdir()):
            found = f"left {[path.name for path in temporary.iterdir()]} among the temporary files"
            shutil.rmtree(temporary)
            temporary.mkdir()
        if found:
            wrong.append(f"seed {seed}, {told}: {found}")
            print(wrong[-1], flush=True)
        else:
            shutil.rmtree(folder)
    print(f"\n{TRIALS} cases from seed {SEED}: {dict(counted)}")
    assert not wrong, "\n".join(wrong)


def problem(folder: Path, arguments: list[str], counted: Counted) -> str | None:
    """What a command does wrong; None where nothing. counted: gets its status."""
    run, said, left, wrong = bounded(arguments, folder, 30, counted)
    if wrong:
        return wrong
    if CANARY in said:
        return f"a value of a row in a message: {said}"
    if run.returncode == 2 and CANARY in run.stdout:
        return f"a value of a row in an error: {run.stdout}"
    if "--json" in arguments and run.returncode == 2 and "--" not in arguments and run.stdout:
        json.loads(run.stdout)
    if halves := [path for path in left if ".writing-" in path]:
        return f"left {halves}"
    if run.returncode == 2 and left:
        return f"status 2 left {sorted(left)}: {said}"
    return None


def test_command_lines_configs_and_tables_at_random(
    tmp_path: Path, small_release: marginals.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(folder: Path, seed: int, counted: Counted) -> tuple[object, str | None]:
        small_release.write(folder / "release")
        arguments = case(folder, seed)
        return [part[:80] for part in arguments], problem(folder, arguments, counted)

    try_cases(tmp_path, monkeypatch, made)


COMMANDS = {
    "config": ["assess", "risk", "anonymize", "publish", "disclose"],
    "table": ["init", "assess", "risk", "publish", "disclose", "assess", "risk"],
    "hierarchy": ["assess", "publish", "disclose", "risk"],
    "bundle": ["verify", "verify two", "attack", "report", "query", "sample", "risk of", "publish over"],
}


def arguments_of(command: str, folder: Path, whole: Path) -> list[object]:
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
        "verify two": ["verify", release, whole],
        "attack": ["attack", release],
        "report": ["verify", release, "--report", out / "page.html"],
        "query": ["query", release, "sex=f"],
        "sample": ["sample", release, "-n", "5", "-o", out / "rows.csv"],
    }[command]


def test_malformed_inputs_do_no_harm(
    tmp_path: Path, small_release: marginals.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command ends soon, in little memory, with a sentence, and leaves nothing but what it says."""
    small_release.write(tmp_path / "whole")

    def made(folder: Path, seed: int, counted: Counted) -> tuple[object, str | None]:
        (folder / "out").mkdir()
        kind = malformed(folder, tmp_path / "whole", seed)
        command = random.Random(seed).choice(COMMANDS[kind])
        counted[kind] += 1
        run, _, left, wrong = bounded(arguments_of(command, folder, tmp_path / "whole"), folder, 20, counted)
        own = ("out/", "release/report.html", "release/datapackage.json", "release-steward.html")
        own = own if run.returncode != 2 else ()
        others = {path for path in left if not path.startswith(own) or ".writing-" in path}
        if not wrong and others and (command != "publish over" or run.returncode == 2):
            wrong = f"status {run.returncode} left {sorted(others)}"
        return (kind, command), wrong

    try_cases(tmp_path, monkeypatch, made)


def test_requests_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("werkzeug", reason="werkzeug is not installed")
    pytest.importorskip("tomlkit", reason="tomlkit is not installed")
    from window_clients import BASE, PATHS, browsing, refuse_commands

    config = write_config(tmp_path)
    people = (tmp_path / "people.csv").read_text().replace("flu", f"{CANARY}flu")
    (tmp_path / "people.csv").write_text(people)
    refuse_commands(monkeypatch)
    counted: Counter[int] = Counter()
    whole = config.read_text()
    with browsing(config) as browser:
        for seed in range(SEED, SEED + 10 * TRIALS):
            rng = random.Random(seed)
            asked = request(rng, PATHS, browser.window.gate.form_token, browser.window.file.version)
            answer = browser.client.open(base_url=BASE, **asked)
            counted[answer.status_code] += 1
            said = answer.get_data(as_text=True)
            assert answer.status_code < 500, (seed, asked, said)
            assert "Traceback" not in said, (seed, asked)
            if config.read_text() != whole and rng.random() < 0.3:
                config.write_text(whole)
        names = {path.name for path in tmp_path.rglob("*")}
    assert not [name for name in names if ".writing-" in name]
    out, err = capfd.readouterr()
    assert CANARY not in out + err
    assert "failed:" not in err
    print(f"\n{10 * TRIALS} requests from seed {SEED}: {dict(counted)}")
