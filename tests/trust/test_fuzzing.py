"""Whatever somebody types, or a file, a config, a bundle or a request is: no traceback, only documented statuses, bounded
memory and time, nothing left on the disk, and no value of a row in a message.

MARGINALS_TRIALS (12 by default) is half the number of command lines with malformed inputs, and a tenth of that of requests;
MARGINALS_SEED is the first of their seeds. `make nightly` runs 1,000 and 5,000.
"""

import json
import os
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

import forked
import marginals
from fuzzed_commands import CANARY, case, request
from small_release import write_config

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "12"))
SEED = int(os.environ.get("MARGINALS_SEED", "1"))

MEGABYTES = 1000

DOCUMENTED = (0, 1, 2)
"""70 is an error that nobody foresaw, which there must not be; nothing here closes the output (74) or interrupts (130)."""

COMMAND = """
import atexit, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
from command_line import main
try:
    main()
finally:
    atexit._run_exitfuncs()  # as the end of Python does, which a fork passes over
    sys.stdout.flush()
    print("\\nused", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, file=sys.stderr)
"""


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_symlink()}


OWN = ("out", "release/", "release-steward.html", "books")
"""Where the usual command lines write."""


def problem(folder: Path, arguments: list[str], is_usual: bool, counted: Counter[str]) -> str | None:
    """What a command does wrong, in 30 seconds of the processor; None where nothing. counted: gets its status."""
    before = files(folder)
    run = forked.run(COMMAND, *arguments, folder=folder)
    counted[f"status {run.returncode}"] += 1
    said, _, used = run.stderr.rpartition("\nused ")
    left = files(folder) - before
    if run.returncode < 0:
        return f"ended by signal {-run.returncode}"
    if "Traceback" in run.stderr or run.returncode not in DOCUMENTED:
        return f"status {run.returncode}: {run.stderr[-1500:]}"
    if re.search(r":\d+: \w*Warning: ", run.stderr):  # sentences of our own begin with "Warning: "
        return f"a warning of Python: {run.stderr[-500:]}"
    if int(used) > MEGABYTES:
        return f"took {used.strip()} MB"
    if run.returncode == 2 and not (said.strip().splitlines() or [""])[-1].startswith("Error: "):
        return f"no sentence: {said}"
    if CANARY in said:
        return f"a value of a row in a message: {said}"
    if run.returncode == 2 and CANARY in run.stdout:
        return f"a value of a row in an error: {run.stdout}"
    if "--json" in arguments and run.returncode == 2 and "--" not in arguments and run.stdout:
        json.loads(run.stdout)
    if halves := [path for path in left if ".writing-" in path]:
        return f"left {halves}"
    if left and (run.returncode == 2 or (is_usual and not all(path.startswith(OWN) for path in left))):
        return f"status {run.returncode} left {sorted(left)}: {said}"
    return None


def test_commands_configs_tables_and_bundles_at_random(
    tmp_path: Path, small_release: marginals.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command ends soon, in little memory, with a sentence, and leaves nothing but what it says."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    counted, wrong = Counter[str](), []
    for seed in range(SEED, SEED + 2 * TRIALS):
        folder = tmp_path / f"{seed}"
        small_release.write(folder / "release")
        arguments, is_usual = case(folder, seed)
        found = problem(folder, arguments, is_usual, counted)
        if not found and any(temporary.iterdir()):
            found = f"left {[path.name for path in temporary.iterdir()]} among the temporary files"
            shutil.rmtree(temporary)
            temporary.mkdir()
        if found:
            wrong.append(f"seed {seed}, {[part[:80] for part in arguments]}: {found}")
            print(wrong[-1], flush=True)
        else:
            shutil.rmtree(folder)
    print(f"\n{2 * TRIALS} cases from seed {SEED}: {dict(counted)}")
    assert not wrong, "\n".join(wrong)


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
