"""Tables of growing size, published end to end from Parquet: seconds, memory, and the growth of both.

    python benchmarks/large_tables.py            1e5, 1e6 and 1e7 rows
    python benchmarks/large_tables.py 1e8        up to so many rows (needs 1.5 GB of disk for 1e8)

Nine attributes in the shape of Adult, drawn by DuckDB with a hidden class that makes them depend on each other; each
size is published in a process of its own. Beside it stands the yardstick of the same run: DuckDB's own count of the
distinct rows. The largest size is also the base of the projection to 1e9 rows.
"""

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = {
    "age": 74,
    "workclass": 7,
    "education": 16,
    "marital": 7,
    "race": 5,
    "sex": 2,
    "country": 41,
    "salary": 2,
    "occupation": 14,
}
CLASSES = 12


def generate(path: Path, rows: int) -> None:
    """A Parquet file of so many rows: values near a hidden class, with a long tail."""
    import duckdb

    columns = ", ".join(
        f"'{name}' || lpad(((hidden * {7 + i} + floor({size} * pow(random(), {3 + i % 3})))::INT % {size})::VARCHAR, 2, '0')"
        f" AS {name}"
        for i, (name, size) in enumerate(SIZES.items())
        if name != "age"
    )
    age = f"(17 + (hidden * 5 + floor({SIZES['age']} * pow(random(), 2)))::INT % {SIZES['age']})::INT AS age"
    hidden = f"SELECT floor({CLASSES} * random() * random())::INT AS hidden FROM range({rows})"
    duckdb.execute("SELECT setseed(0.5)")
    duckdb.execute(f"COPY (SELECT {age}, {columns} FROM ({hidden})) TO '{path}' (FORMAT parquet)")


def publish(path: Path) -> None:
    """Publish a generated table and print one line of JSON."""
    import marginals

    roles: dict[str, marginals.Attribute | str] = dict.fromkeys(SIZES, "quasi-identifier")
    roles |= {"age": marginals.Attribute("quasi-identifier", intervals=[5, 10, 20]), "occupation": "sensitive"}
    begin = time.perf_counter()
    table = marginals.read_table(path, roles, engine="duckdb")
    read = time.perf_counter()
    policy = marginals.Policy(k_link=20, k_combinatorial=20, diversity="entropy:4")
    release = marginals.publish(table, policy)
    with tempfile.TemporaryDirectory() as folder:
        release.write(Path(folder) / "release")
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        json.dumps(
            {
                "rows": table.rows,
                "distinct": len(table.counts),
                "read_seconds": round(read - begin, 2),
                "publish_seconds": round(end - read, 2),
                "seconds": round(end - begin, 2),
                "peak_gigabytes": round(peak, 2),
                "margins": len(release.margins),
            }
        )
    )


def yardstick(path: Path) -> float:
    """Seconds that DuckDB takes for the distinct rows with their counts, and nothing else."""
    import duckdb

    begin = time.perf_counter()
    duckdb.execute(f"SELECT count(*) FROM (SELECT count(*) FROM read_parquet('{path}') GROUP BY {', '.join(SIZES)})")
    return time.perf_counter() - begin


def exponent(lines: list[dict[str, float]], what: str) -> float:
    """The slope between the two largest sizes on logarithmic scales."""
    first, second = lines[-2:]
    return math.log(second[what] / first[what]) / math.log(second["rows"] / first["rows"])


def main(largest: float) -> None:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in [10**power for power in range(5, 12) if 10**power <= largest]:
            path = Path(folder) / f"{rows}.parquet"
            generate(path, rows)
            child = subprocess.run(
                [sys.executable, __file__, "--publish", path], capture_output=True, text=True, check=True
            )
            line = json.loads(child.stdout) | {
                "file_gigabytes": round(path.stat().st_size / 1e9, 2),
                "duckdb_count_seconds": round(yardstick(path), 2),
            }
            path.unlink()
            lines.append(line)
            print(json.dumps({"benchmark": "large_tables", **line}), flush=True)
    growth = {what: round(exponent(lines, what), 2) for what in ("seconds", "peak_gigabytes", "distinct")}
    factor = 1e9 / lines[-1]["rows"]
    projected = {
        what: round(lines[-1][what] * factor ** max(growth[what], 0), 1) for what in ("seconds", "peak_gigabytes")
    }
    print(json.dumps({"benchmark": "large_tables", "growth_exponents": growth, "projected_for_1e9_rows": projected}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--publish"]:
        publish(Path(sys.argv[2]))
    else:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e7)
