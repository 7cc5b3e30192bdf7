"""A command in a process of its own, within bounds of time and memory, and what no command may do, whatever it is given."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import forked

MEGABYTES = 1000

DOCUMENTED = (0, 1, 2)
"""70 is an error that nobody foresaw, which there must not be; nothing here closes the output (74) or interrupts (130)."""

_COMMAND = """
import atexit, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
from command_line import main
try:
    main()
finally:
    atexit._run_exitfuncs()  # as the end of Python does, which a fork passes over
    sys.stdout.flush()
    print("\\nused", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, file=sys.stderr)
"""


class Ended(NamedTuple):
    """A command that has ended. said: on stderr. left: files that were not in its folder before. problem: see below."""

    run: CompletedProcess[str]
    said: str
    left: set[str]
    problem: str | None


def bounded(arguments: Sequence[object], folder: Path, seconds: int, counted: Counter[str]) -> Ended:
    """Run a command in a folder for so many seconds of the processor at most. counted: gets its status.

    problem: a signal that ended it, a traceback or a warning of Python, too much memory, or a refusal without a sentence;
    None where it did nothing of that.
    """
    before = _files(folder)
    run = forked.run(_COMMAND.format(seconds=seconds), *arguments, folder=folder)
    counted[f"status {run.returncode}"] += 1
    said, _, used = run.stderr.rpartition("\nused ")
    return Ended(run, said, _files(folder) - before, _problem(run, said, used))


def _problem(run: CompletedProcess[str], said: str, used: str) -> str | None:
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
    return None


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_symlink()}
