"""Does the program still answer as it did? `make same` compares its answers to made inputs with digests that are checked in.

    python tests/same/same.py                      # compare; where something differs, show how
    python tests/same/same.py --renew              # write the digests anew, once the differences are wanted
    python tests/same/same.py --against main       # show the differences from another revision
    python tests/same/same.py --record OUT NAME... # write the answers of some items, a JSON line each

`tests/support/answered_items.py` has the items. The old texts are made from the commit that last changed the digests, by its
own copy of this script. The clock stands nearly still meanwhile: searches end by work. Floats of JSON have seven digits.
"""

import argparse
import difflib
import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from itertools import count
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from answered_items import ADULT, Session, Texts, list_items
from project import data_folder

DIGESTS = Path(__file__).with_name("digests.txt")
DIFFERENCES = ROOT / "build" / "same" / "differences.diff"
PROCESSES = 2
TICK = 1e-4
"""Seconds that pass whenever somebody looks at the clock: work without an end ends, on every machine at the same place."""

SHOWN, LINES, WIDTH = 8, 30, 160
"""Texts whose differences are printed, lines of each, and characters of a line; the file of differences has all."""

Digests = dict[str, dict[str, str]]


def prepare_process() -> None:
    """Make answers depend on work alone: no time passes but a tick whenever somebody looks at the clock."""
    os.environ["COLUMNS"] = "120"
    warnings.simplefilter("ignore")
    ticks = count()
    for name in ("monotonic", "perf_counter", "process_time"):
        setattr(time, name, lambda: next(ticks) * TICK)


def answer_item(name: str) -> tuple[str, Texts, float]:
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        session = Session(Path(folder))
        try:
            list_items()[name](session)
        except Exception as error:
            session.note("error", f"{type(error).__name__}: {error}")
        os.chdir(ROOT)
    after = os.times()
    return name, session.texts, sum(after[:4]) - sum(before[:4])


def answer_items(names: Sequence[str]) -> Iterable[tuple[str, Texts, float]]:
    with ProcessPoolExecutor(PROCESSES, get_context("fork"), prepare_process) as pool:
        yield from pool.map(answer_item, names)


def digest_texts(texts: Mapping[str, str]) -> dict[str, str]:
    return {step: hashlib.sha256(text.encode()).hexdigest()[:12] for step, text in texts.items()}


def name_versions() -> str:
    libraries = (f"{name} {version(name)}" for name in ("numpy", "pandas", "scipy", "duckdb"))
    return ", ".join([f"Python {platform.python_version()}", *libraries])


def write_digests(digests: Digests) -> str:
    """A line with versions, then a line for each item: its name, and the digest of each step."""
    lines = [f"{name}: {', '.join(map(' '.join, steps.items()))}\n" for name, steps in sorted(digests.items())]
    return "".join([f"# {name_versions()}\n", *lines])


def read_digests(text: str) -> Digests:
    lines = (line.split(": ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: dict(part.rsplit(" ", 1) for part in rest.split(", ")) for name, rest in lines}


def list_changes(old: Digests, new: Digests) -> dict[str, list[str]]:
    """The steps of each item whose digest is not the same, or that only one of both has."""
    changes = {}
    for name in sorted({*old, *new}):
        before, after = old.get(name, {}), new.get(name, {})
        if steps := [step for step in dict.fromkeys([*before, *after]) if before.get(step) != after.get(step)]:
            changes[name] = steps
    return changes


def diff_texts(name: str, step: str, old: str, new: str) -> list[str]:
    where = [f"{when} {name}, {step}" for when in ("before:", "now:")]
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), *where, lineterm="", n=2))


def answer_of_revision(revision: str, names: Sequence[str]) -> dict[str, Texts]:
    """The texts of items as a revision makes them, by its own copy of this script."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tree:
            tree.extractall(folder, filter="data")
        script, out = Path(folder, Path(__file__).relative_to(ROOT)), Path(folder, "record.jsonl")
        if not script.is_file():
            sys.exit(f"{revision} has no {Path(__file__).relative_to(ROOT)}, so its answers are not known")
        environment = {**os.environ, "PYTHONPATH": folder, "MARGINALS_DATA": str(data_folder())}
        subprocess.run([sys.executable, script, "--record", out, *names], cwd=folder, env=environment, check=True)
        return dict(json.loads(line) for line in out.read_text().splitlines())


def show_differences(changes: Mapping[str, Sequence[str]], new: Mapping[str, Texts], revision: str) -> None:
    """Print the first differences from a revision, and write all of them to a file."""
    print(f"Differences from {revision}:", flush=True)
    old = answer_of_revision(revision, [name for name in changes if name in new])
    DIFFERENCES.parent.mkdir(parents=True, exist_ok=True)
    shown = 0
    with DIFFERENCES.open("w") as file:
        for name, steps in changes.items():
            for step in steps:
                lines = diff_texts(name, step, old.get(name, {}).get(step, ""), new.get(name, {}).get(step, ""))
                file.writelines(f"{line}\n" for line in lines)
                if lines and (shown := shown + 1) <= SHOWN:
                    print(*(line[:WIDTH] for line in lines[:LINES]), "", sep="\n")
    print(f"Texts that differ: {shown}; the differences stand in {DIFFERENCES.relative_to(ROOT)}")


def print_summary(seconds: Mapping[str, float], changes: Mapping[str, Sequence[str]]) -> None:
    """Print the items of each set, those that differ, and what takes longest."""
    for part in ("search", "fixed"):
        own = [name for name in seconds if name.startswith(part)]
        differ = [name for name in own if name in changes]
        spent = sum(seconds[name] for name in own)
        print(f"{part}: {len(own)} items, {spent:.0f} s of the processor, {len(differ)} differ")
        for name in differ:
            print(f"  {name}: {', '.join(changes[name])}")
    longest = sorted(seconds, key=seconds.__getitem__, reverse=True)[:3]
    print(f"longest: {', '.join(f'{name} {seconds[name]:.1f} s' for name in longest)}")


def last_renewal() -> str:
    """The commit that last changed the digests; empty if they are not checked in."""
    git = ["git", "log", "-1", "--format=%H", "--", str(DIGESTS)]
    return subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true", help="write the digests anew")
    parser.add_argument("--against", metavar="REVISION", help="of which differences are shown")
    parser.add_argument("--record", metavar="OUT", type=Path, help="write texts and compare nothing")
    parser.add_argument("names", nargs="*", help="items; all of them by default")
    options = parser.parse_args()
    names = [name for name in list_items() if not options.names or name in options.names]
    seconds: dict[str, float] = {}
    new: dict[str, Texts] = {}
    for name, texts, spent in answer_items(names):
        new[name], seconds[name] = texts, spent
    if options.record:
        options.record.write_text("".join(f"{json.dumps([name, texts])}\n" for name, texts in new.items()))
        return 0
    digests = {name: digest_texts(texts) for name, texts in new.items()}
    checked_in = DIGESTS.read_text() if DIGESTS.is_file() else ""
    known = read_digests(checked_in)
    if options.renew:
        kept = {name: known[name] for name in known if name in (*list_items(), ADULT)}
        DIGESTS.write_text(write_digests(kept | digests))
    changes = list_changes({name: known[name] for name in known if name in names}, digests)
    print_summary(seconds, changes)
    if options.renew or not changes:
        return 0
    if not checked_in.startswith(f"# {name_versions()}\n"):
        print(f"The digests are of other versions ({checked_in.partition(chr(10))[0]}), not of {name_versions()}.")
    if revision := options.against or last_renewal():
        show_differences(changes, new, revision)
    return 1


if __name__ == "__main__":
    sys.exit(main())
