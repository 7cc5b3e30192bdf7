"""Commands on large releases: hundreds of tables, hundreds of attributes, millions of cells.

Three simulated releases: all pairs of 200 attributes that are at most four apart (790 tables without a junction tree), the
chain of the 199 pairs of neighbours, and two tables of 1.4 million cells each. Each command runs in a process of its own,
as a user runs it; seconds are those of the processor, since others may use the machine, and `wall` those of the clock. The
yardstick is a process that reads all files of the release and computes the hash of each. Targets: a query of the pairs in
10 seconds, a report of the chain in 5, a verification of the cells in 10.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measurement import Measurement, options, say

from checks import KLink
from marginals import Role
from marginals.bundle.content import BundleContent
from marginals.bundle.writing import write_bundle
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy

ATTRIBUTES, VALUES, ROWS = 200, 5, 5_000
PAIRS = tuple((i, i + apart) for apart in (1, 2, 3, 4) for i in range(ATTRIBUTES - apart))
CHAIN = tuple((i, i + 1) for i in range(ATTRIBUTES - 1))
WIDE_VALUES, WIDE_ROWS = 120, 3_000_000
COMMAND = "from marginals.commands.main import main; main()"
READ = (
    "import hashlib, pathlib, sys; [hashlib.sha256(p.read_bytes()) for p in pathlib.Path(sys.argv[1]).rglob('*.csv')]"
)


@dataclass(frozen=True)
class Case:
    """A command on a release. target: seconds."""

    release: str
    arguments: tuple[str, ...]
    target: float | None = None


CASES = (
    Case("pairs", ("query",), 10.0),
    Case("pairs", ("query", "a0=1", "a100=2", "--seconds", "60")),
    Case("pairs", ("verify",)),
    Case("chain", ("verify",)),
    Case("chain", ("query", "a0=1", "a199=2")),
    Case("chain", ("report", "--out", "report.html", "--force"), 5.0),
    Case("cells", ("verify",), 10.0),
    Case("cells", ("query", "a0=1", "a4=2")),
)


def drifting(rng: np.random.Generator) -> list[np.ndarray]:
    """Columns of which each has the values of the one before, but for some rows."""
    columns = [rng.integers(VALUES, size=ROWS)]
    for _ in range(ATTRIBUTES - 1):
        columns.append(np.where(rng.random(ROWS) < 0.7, columns[-1], rng.integers(VALUES, size=ROWS)))
    return columns


def write(folder: Path, columns: Sequence[np.ndarray], values: int, margins: Sequence[Sequence[int]]) -> int:
    """Write a release that claims 1-link anonymity; its number of cells."""
    names = [f"a{i}" for i in range(len(columns))]
    domain = Domain.of({name: Hierarchy.flat(map(str, range(values))) for name in names})
    ones = np.ones(len(columns[0]), dtype=np.int64)
    tables = [
        ContingencyTable.from_cells(domain, {names[i]: 0 for i in margin}, {names[i]: columns[i] for i in margin}, ones)
        for margin in margins
    ]
    collection = Collection.of(DataCube(tables), [table.mask for table in tables])
    roles = dict.fromkeys(names, Role.QUASI_IDENTIFIER)
    write_bundle(BundleContent(collection, roles, (KLink(1),)), folder, b"<!doctype html>")
    return sum(map(len, tables))


def releases(folder: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """Write the releases; the name and sizes of each."""
    rng = np.random.default_rng(0)
    columns = drifting(rng)
    for name, margins in (("pairs", PAIRS), ("chain", CHAIN)):
        cells = write(folder / name, columns, VALUES, margins)
        yield name, {"margins": len(margins), "attributes": ATTRIBUTES, "cells": cells}
    wide = [rng.integers(WIDE_VALUES, size=WIDE_ROWS) for _ in range(5)]
    yield (
        "cells",
        {"margins": 2, "attributes": 5, "cells": write(folder / "cells", wide, WIDE_VALUES, [(0, 1, 2), (2, 3, 4)])},
    )


def processor_seconds(command: Sequence[str], folder: Path) -> tuple[float, float, int]:
    """Seconds of the processor and of the clock that a command takes, and its exit status."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    status = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.monotonic() - began, status


def main() -> None:
    options(__file__, __doc__).parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, sizes in releases(folder):
            yardstick, _, _ = processor_seconds([sys.executable, "-c", READ, name], folder)
            for case in CASES:
                if case.release != name:
                    continue
                command, *rest = case.arguments
                whole = [sys.executable, "-c", COMMAND, command, name, *rest]
                seconds, wall, status = processor_seconds(whole, folder)
                Measurement(
                    "large_releases",
                    f"{name}: {' '.join(case.arguments)}",
                    sizes,
                    seconds,
                    yardstick="reading and hashing",
                    yardstick_seconds=yardstick,
                    facts={"wall": round(wall, 2), "status": status},
                ).print()
                if case.target is not None:
                    target = f"{name}: {command} in {case.target:g} seconds"
                    say(benchmark="large_releases", target=target, met=not status and seconds <= case.target)


if __name__ == "__main__":
    main()
