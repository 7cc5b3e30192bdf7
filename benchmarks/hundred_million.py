"""A table of 100,000,000 rows, nine attributes in the shape of Adult, published end to end: seconds, memory, growth.

Sizes grow by decades from a hundred thousand rows (or to the number given as argument); the table is made in a temporary
folder and removed. The yardstick of each size is DuckDB alone: one GROUP BY of all nine columns, as text, in its own
process. Both take turns, and the least of each counts. Processor seconds stand beside the wall's, for the machine may be
shared. Needs duckdb and pyarrow.

1,000,000,000 rows are projected from the growth curve: between the power law through the two largest sizes and the straight
line through them. It is said from how many rows; each decade further makes it less certain. Memory must not go beyond the
limit of the config for the counts (2 GB) and what the rest needs; the projection does not know of that limit.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from growth import fitted, last_exponent, projected
from measurement import Measurement, interleaved, of_children, options, say, skipped

if TYPE_CHECKING:
    import pyarrow as pa

VALUES = {
    "age": 74,
    "workclass": 7,
    "education": 16,
    "marital-status": 7,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "native-country": 41,
    "occupation": 14,
}
YOUNGEST, BAND = 17, 15
SKEW = 2.5
PART = 2_500_000
MEMORY = "2 GB"
SMALLEST, LARGEST, PROJECTED = 100_000, 100_000_000, 1_000_000_000
TARGET_SECONDS, TARGET_MEGABYTES = 90, 3_000
TURNS, ENOUGH = 3, 60.0
"""Turns of both, or as many as take the slower one so many seconds."""

MOST_TIMES = {10_000_000: 3.0, 100_000_000: 1.6}
"""How many times the yardstick's time these sizes may take, by the processor and by the clock."""


def drawn(rng: np.random.Generator, rows: int, values: int, skew: float) -> np.ndarray:
    """Codes whose frequencies fall as a power of their rank."""
    weights = 1 / np.arange(1, values + 1) ** skew
    bounds = np.cumsum(weights / weights.sum())[:-1].astype(np.float32)
    return np.searchsorted(bounds, rng.random(rows, dtype=np.float32)).astype(np.uint8)


def part(rng: np.random.Generator, rows: int) -> "pa.Table":
    """Rows in which everything depends on the age band."""
    import pyarrow as pa

    age = drawn(rng, rows, VALUES["age"], 0.6)
    columns = {"age": pa.DictionaryArray.from_arrays(age, [str(YOUNGEST + i) for i in range(VALUES["age"])])}
    for name, values in list(VALUES.items())[1:]:
        shift = age // BAND * (3 if values > 5 else 0)
        codes = ((drawn(rng, rows, values, SKEW) + shift) % values).astype(np.uint8)
        columns[name] = pa.DictionaryArray.from_arrays(codes, [f"{name} {i:02}" for i in range(values)])
    return pa.table(columns)


def write(folder: Path, rows: int) -> float:
    """Write Parquet files of at most PART rows; gigabytes that they take."""
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    for number, begin in enumerate(range(0, rows, PART)):
        table = part(rng, min(PART, rows - begin))
        pq.write_table(table, folder / f"part-{number:04}.parquet", compression="zstd", row_group_size=500_000)
    return sum(file.stat().st_size for file in folder.glob("*.parquet")) / 1e9


def config(folder: Path) -> str:
    sections = [f"[data]\npath = '{folder}'\nengine = 'duckdb'\nmemory = '{MEMORY}'"]
    for name, values in list(VALUES.items())[:-1]:
        coarser = "intervals = [5, 10, 20, 40]\n" if name == "age" else ""
        if values > 10 and name != "age":
            coarser = f"prefixes = [{len(name) + 2}]\n"
        sections.append(f"[attributes.{name}]\nrole = 'quasi-identifier'\n{coarser}")
    sections.append("[attributes.occupation]\nrole = 'sensitive'")
    sections.append("[privacy]\nk_link = 50\nk_combinatorial = 50\ndiversity = 'entropy:1.2'")
    sections.append("[search]\ntime_limit = 20.0")
    return "\n".join(sections)


Ran = tuple[dict[str, float], str]
"""Seconds, processor seconds and megabytes of a process, and what it printed."""


def run(code: str, *arguments: str) -> Ran:
    """Wall and processor seconds and peak megabytes of Python code in a process of its own, and what it prints.

    The processes that it starts and waits for count; the peak is that of the largest.
    """
    measured = (
        f"{code}\nimport resource, sys\n"
        "all = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]\n"
        "print(sum(u.ru_utime + u.ru_stime for u in all), max(u.ru_maxrss for u in all), file=sys.stderr)"
    )
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", measured, *arguments], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    processor, peak = map(float, done.stderr.strip().splitlines()[-1].split()) if done.stderr else (0.0, 0.0)
    return {"seconds": seconds, "processor": processor, "megabytes": peak / 1e3}, done.stdout


PUBLISH = """
import sys
from marginals.commands.main import main
main(sys.argv[1:], standalone_mode=False)
"""
YARDSTICK = """
import sys, duckdb
connection = duckdb.connect(config={"memory_limit": "2GB", "temp_directory": sys.argv[2]})
connection.execute(f"SELECT *, count(*) FROM read_parquet('{sys.argv[1]}/*.parquet') GROUP BY ALL").fetchmany(1)
"""


def published(
    benchmark: str, sizes: dict[str, int], folder: Path, yardstick: str, beside: Callable[[], Ran], turns: int = 1
) -> Measurement:
    """The command that publishes by the `release.toml` of a folder, into it, in turns with a yardstick."""
    places = map(str, (folder / f"out{turn}" for turn in range(turns)))

    def ours() -> Ran:
        return run(PUBLISH, "publish", str(folder / "release.toml"), "--out", next(places), "--json")

    timed = interleaved({"yardstick": beside, "ours": ours}, turns, ENOUGH, worked=of_children)
    seconds, (spent, printed) = timed["ours"]
    other = timed["yardstick"][0]
    answer = json.loads(printed.splitlines()[0])
    facts = {
        "yardstick_processor_seconds": round(other.processor, 2),
        "margins": len(answer["margins"]),
        "evaluated": answer["search"]["evaluated"],
        "kl_divergence": round(answer["kl_divergence"], 4),
        "bound": answer["search"]["lower_bound"],
    }
    return Measurement(benchmark, "publish", sizes, seconds, spent["megabytes"], yardstick, other, facts)


def measured(rows: int) -> Measurement:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "table").mkdir()
        size = write(folder / "table", rows)
        (folder / "release.toml").write_text(config(folder / "table"))
        group_by = partial(run, YARDSTICK, str(folder / "table"), name)
        sizes = {"rows": rows}
        measurement = published("hundred_million", sizes, folder, "GROUP BY of DuckDB", group_by, TURNS)
    return replace(measurement, facts={**measurement.facts, "parquet_gigabytes": round(size, 4)})


def say_targets(measurement: Measurement) -> None:
    """Whether one size meets what is wanted of it."""
    rows, megabytes = measurement.sizes["rows"], measurement.megabytes or 0
    if rows in MOST_TIMES:
        times = {"processor time": measurement.processor_ratio, "time by the clock": measurement.ratio}
        for time_of, ratio in times.items():
            target = f"{rows:,} rows in {MOST_TIMES[rows]} times the {time_of} of one GROUP BY"
            say(benchmark="hundred_million", target=target, met=(ratio or inf) <= MOST_TIMES[rows])
    if rows == LARGEST:
        met = measurement.seconds <= TARGET_SECONDS and megabytes <= TARGET_MEGABYTES
        say(benchmark="hundred_million", target=f"{TARGET_SECONDS} s and {TARGET_MEGABYTES:,} MB", met=met)


def projection_lines(results: list[Measurement]) -> list[dict[str, object]]:
    """What the projected size takes, by each quantity: a range, and the growth from which it follows."""
    rows = [result.sizes["rows"] for result in results]
    quantities = {
        "seconds": [result.seconds for result in results],
        "processor_seconds": [result.processor_seconds or 0.0 for result in results],
        "megabytes": [float(result.megabytes or 0) for result in results],
    }
    lines = []
    for name, values in quantities.items():
        further = projected(rows, values, PROJECTED)
        line: dict[str, object] = {"benchmark": "hundred_million", "projected": PROJECTED, "quantity": name}
        line |= {"low": round(further.low, 1), "high": round(further.high, 1), "measured_up_to": rows[-1]}
        line |= {"last_exponent": round(last_exponent(rows, values), 3)}
        if len(rows) > 2:
            law = fitted(rows, values)
            line |= {"exponent": round(law.exponent, 3), "spread": round(law.spread, 3)}
        lines.append(line)
    return lines


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("rows", nargs="?", type=float, default=LARGEST, help=f"default: {LARGEST:,}")
    largest = int(parser.parse_args().rows)
    if find_spec("duckdb") is None or find_spec("pyarrow") is None:
        skipped("hundred_million", "duckdb and pyarrow are not both installed")
        return
    results = []
    rows = SMALLEST
    while rows <= largest:
        results.append(measured(rows))
        results[-1].print()
        say_targets(results[-1])
        rows *= 10
    if len(results) > 1:
        for line in projection_lines(results):
            say(**line)


if __name__ == "__main__":
    main()
