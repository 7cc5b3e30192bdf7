"""A table of 100,000,000 rows, nine attributes in the shape of Adult, published end to end: seconds, memory, growth.

Sizes grow by decades from a million rows (or to the number given as argument); the table is made in a temporary folder
and removed. The yardstick of each size is DuckDB alone: one GROUP BY of all nine columns, as text, in its own process.
Processor seconds stand beside the wall's, for the machine may be shared. Needs duckdb and pyarrow.
"""

import json
import subprocess
import sys
import tempfile
import time
from math import log
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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
TARGET_SECONDS, TARGET_GIGABYTES = 90, 3


def drawn(rng: np.random.Generator, rows: int, values: int, skew: float) -> np.ndarray:
    """Codes whose frequencies fall as a power of their rank."""
    weights = 1 / np.arange(1, values + 1) ** skew
    bounds = np.cumsum(weights / weights.sum())[:-1].astype(np.float32)
    return np.searchsorted(bounds, rng.random(rows, dtype=np.float32)).astype(np.uint8)


def part(rng: np.random.Generator, rows: int) -> pa.Table:
    """Rows in which everything depends on the age band."""
    age = drawn(rng, rows, VALUES["age"], 0.6)
    columns = {"age": pa.DictionaryArray.from_arrays(age, [str(YOUNGEST + i) for i in range(VALUES["age"])])}
    for name, values in list(VALUES.items())[1:]:
        shift = age // BAND * (3 if values > 5 else 0)
        codes = ((drawn(rng, rows, values, SKEW) + shift) % values).astype(np.uint8)
        columns[name] = pa.DictionaryArray.from_arrays(codes, [f"{name} {i:02}" for i in range(values)])
    return pa.table(columns)


def write(folder: Path, rows: int) -> float:
    """Write Parquet files of at most PART rows; gigabytes that they take."""
    rng = np.random.default_rng(0)
    for number, begin in enumerate(range(0, rows, PART)):
        table = part(rng, min(PART, rows - begin))
        pq.write_table(table, folder / f"part-{number:04}.parquet", compression="zstd", row_group_size=500_000)
    return sum(file.stat().st_size for file in folder.glob("*.parquet")) / 1e9


def config(folder: Path, engine: str = "duckdb") -> str:
    sections = [f"[data]\npath = '{folder}'\nengine = '{engine}'\nmemory = '{MEMORY}'"]
    for name, values in list(VALUES.items())[:-1]:
        coarser = "intervals = [5, 10, 20, 40]\n" if name == "age" else ""
        if values > 10 and name != "age":
            coarser = f"prefixes = [{len(name) + 2}]\n"
        sections.append(f"[attributes.{name}]\nrole = 'quasi-identifier'\n{coarser}")
    sections.append("[attributes.occupation]\nrole = 'sensitive'")
    sections.append("[privacy]\nk_link = 50\nk_combinatorial = 50\ndiversity = 'entropy:1.2'")
    sections.append("[search]\ntime_limit = 20.0")
    return "\n".join(sections)


def run(code: str, *arguments: str) -> tuple[dict[str, float], str]:
    """Wall and processor seconds and peak gigabytes of Python code in a process of its own, and what it prints."""
    measured = (
        f"{code}\nimport os, resource, sys\nused = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)"
    )
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", measured, *arguments], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    processor, peak = map(float, done.stderr.strip().splitlines()[-1].split()) if done.stderr else (0.0, 0.0)
    return {
        "seconds": round(seconds, 2),
        "processor": round(processor, 2),
        "gigabytes": round(peak / 1e6, 2),
    }, done.stdout


PUBLISH = """
import sys
from marginals.command_line import main
main(sys.argv[1:], standalone_mode=False)
"""
YARDSTICK = """
import sys, duckdb
connection = duckdb.connect(config={"memory_limit": "2GB", "temp_directory": sys.argv[2]})
connection.execute(f"SELECT *, count(*) FROM read_parquet('{sys.argv[1]}/*.parquet') GROUP BY ALL").fetchmany(1)
"""


def measured(rows: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "table").mkdir()
        size = write(folder / "table", rows)
        (folder / "release.toml").write_text(config(folder / "table"))
        yardstick, _ = run(YARDSTICK, str(folder / "table"), name)
        out = str(folder / "out")
        published, printed = run(PUBLISH, "publish", str(folder / "release.toml"), "--out", out, "--json")
    answer = json.loads(printed.splitlines()[0])
    return {
        "benchmark": "hundred_million",
        "rows": rows,
        "parquet_gigabytes": round(size, 3),
        **published,
        "yardstick_seconds": yardstick["seconds"],
        "yardstick_processor": yardstick["processor"],
        "margins": len(answer["margins"]),
        "evaluated": answer["search"]["evaluated"],
        "within_target": published["seconds"] <= TARGET_SECONDS and published["gigabytes"] <= TARGET_GIGABYTES,
    }


def projected(small: dict[str, object], large: dict[str, object], key: str) -> float:
    """A further decade, by the power law through two sizes."""
    first, second = float(small[key]), float(large[key])  # type: ignore[arg-type]
    power = log(second / first) / log(large["rows"] / small["rows"])  # type: ignore[operator]
    return round(second * 10**power, 1)


def main() -> None:
    largest = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000_000
    results = []
    rows = 1_000_000
    while rows <= largest:
        results.append(measured(rows))
        print(json.dumps(results[-1]), flush=True)
        rows *= 10
    if len(results) > 1:
        keys = ("seconds", "processor", "gigabytes")
        further = {key: projected(*results[-2:], key) for key in keys}
        print(json.dumps({"benchmark": "hundred_million", "rows": rows, "projected": True, **further}))


if __name__ == "__main__":
    main()
