"""Whatever somebody types, or a file or a request is: no traceback, only documented statuses, bounded memory and time,
nothing left on the disk, and no value of a row in a message.

MARGINALS_TRIALS sets how many command lines are made (12 by default, and ten times as many requests), MARGINALS_SEED the
first of their seeds. `make nightly` runs 500 and 5,000.
"""

import json
import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

import marginals
from bounded_command import bounded
from fuzzed_commands import CANARY, case, request
from small_release import write_config

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "12"))
SEED = int(os.environ.get("MARGINALS_SEED", "1"))
SECONDS = 30


def problem(folder: Path, arguments: list[str], counted: Counter[str]) -> str | None:
    """What a command does wrong; None where nothing. counted: gets its status."""
    run, said, left, wrong = bounded(arguments, folder, SECONDS, counted)
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
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    counted: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(SEED, SEED + TRIALS):
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        small_release.write(folder / "release")
        arguments = case(folder, seed)
        found = problem(folder, arguments, counted)
        if not found and any(temporary.iterdir()):
            found = f"left {[path.name for path in temporary.iterdir()]} among the temporary files"
            shutil.rmtree(temporary)
            temporary.mkdir()
        if found:
            wrong.append(f"seed {seed}, {[part[:80] for part in arguments]}: {found}")
            print(wrong[-1], flush=True)
        else:
            shutil.rmtree(folder)
    print(f"\n{TRIALS} command lines from seed {SEED}: {dict(counted)}")
    assert not wrong, "\n".join(wrong)


def test_requests_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("werkzeug", reason="werkzeug is not installed")
    pytest.importorskip("tomlkit", reason="tomlkit is not installed")
    from marginals import InputError
    from marginals.window.jobs import Jobs
    from marginals.window.server import ROUTES
    from window_clients import BASE, browsing

    def refuse(*_: object, **__: object) -> None:
        raise InputError("no command is run here")

    config = write_config(tmp_path)
    people = (tmp_path / "people.csv").read_text().replace("flu", f"{CANARY}flu")
    (tmp_path / "people.csv").write_text(people)
    monkeypatch.setattr(Jobs, "command", refuse)
    paths = sorted({path for _, path, _ in ROUTES} | {"/", "/style.css", "/window.js", "/jobs/1/stop"})
    counted: Counter[int] = Counter()
    whole = config.read_text()
    with browsing(config) as browser:
        for seed in range(SEED, SEED + 10 * TRIALS):
            rng = random.Random(seed)
            asked = request(rng, paths, browser.window.gate.form_token, browser.window.file.version)
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
