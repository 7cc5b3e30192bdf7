"""The distinct rows of one table, counted by each engine: DuckDB in the process, and Spark in a Java machine of its own.

The table is that of hundred_million.py: nine columns in Parquet files. Each engine starts, reads and counts in a process of
its own, as `publish` does before it searches; processor seconds are those of all its processes. Engines take turns at each
size, which grows by decades up to the number given as argument. What they count must be the same. An engine that is not
installed is left out, and the reason is said; Spark needs Java 17 and the extra `spark`.

    python benchmarks/engine_counting.py [ROWS]
"""

import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

from hundred_million import LARGEST, SMALLEST, config, run, write
from measurement import Measurement, options, say, skipped

ENGINES = {"duckdb": "2 GB", "spark": "12 GB"}
"""What each may take: with 1 GB of memory for its Java machine, Spark ends at 100,000,000 rows."""

COUNT = """
import sys
from marginals import read_config
table = read_config(sys.argv[1]).read_table()
print(len(table.counts), table.counts.total)
if "pyspark" in sys.modules:
    from pyspark import SparkContext
    java = SparkContext._gateway.proc
    SparkContext.getOrCreate().stop()
    java.stdin.close()
    java.wait()
"""
"""A Java machine that nobody waits for would not be counted."""


def why_not(engine: str) -> str | None:
    """Why an engine cannot count here; None where it can."""
    if engine == "duckdb":
        return None if find_spec("duckdb") else "duckdb is not installed"
    if find_spec("pyspark") is None:
        return "pyspark is not installed (the extra `spark`)"
    return None if shutil.which("java") else "Spark needs Java 17, which is not installed"


def measured(rows: int, engines: list[str]) -> list[Measurement]:
    """One table of that many rows, counted by some engines."""
    counted: dict[str, tuple[dict[str, float], str]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "table").mkdir()
        write(folder / "table", rows)
        for engine in engines:
            (folder / "release.toml").write_text(config(folder / "table", engine, ENGINES[engine]))
            counted[engine] = run(COUNT, str(folder / "release.toml"))
    if len({printed for _, printed in counted.values()}) > 1:
        raise AssertionError(f"the engines {', '.join(counted)} count different cells of the same {rows:,} rows")
    first = counted[engines[0]][0]
    lines = []
    for engine, (spent, printed) in counted.items():
        facts = {
            "cells": int(printed.split()[0]),
            "may_take": ENGINES[engine],
            "processor_seconds": round(spent["processor"], 2),
            "yardstick_processor_seconds": round(first["processor"], 2),
        }
        beside = ("", None) if engine == engines[0] else (engines[0], first["seconds"])
        sizes = {"rows": rows}
        lines.append(
            Measurement("engine_counting", engine, sizes, spent["seconds"], spent["megabytes"], *beside, facts)
        )
    return lines


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("rows", nargs="?", type=float, default=LARGEST, help=f"default: {LARGEST:,}")
    largest = int(parser.parse_args().rows)
    if find_spec("pyarrow") is None:
        skipped("engine_counting", "pyarrow is not installed")
        return
    for engine in ENGINES:
        if reason := why_not(engine):
            say(benchmark="engine_counting", engine=engine, skipped=reason)
    engines = [engine for engine in ENGINES if why_not(engine) is None]
    rows = SMALLEST
    while engines and rows <= largest:
        for measurement in measured(rows, engines):
            measurement.print()
        rows *= 10


if __name__ == "__main__":
    main()
