"""Reading files with few rows and many columns, by the engine that is taken where none is chosen, by pandas, and by DuckDB.

The columns are drawn from random decomposable models, three values each; the yardstick is pandas alone, which reads the same
CSV file into strings. All engines take turns, and must count the same table.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measurement import Measurement, interleaved, options, skipped
from stepwise_search import draw_columns

from marginals import read_table

ROWS = 5_822
"""Of Caravan, in whose shape the tables are."""

COLUMNS = (20, 40, 56, 72)
ENGINES = ("auto", "pandas", "duckdb")


def measure(columns: int, engines: list[str]) -> None:
    """All engines on a file of so many columns."""
    drawn = draw_columns(ROWS, columns, np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        pd.DataFrame(dict(drawn.codes)).to_csv(path, index=False)
        roles = dict.fromkeys(drawn.codes, "quasi-identifier")
        runs: dict[str, Callable[[], Any]] = {
            engine: partial(read_table, path, roles, domain="observed", engine=engine) for engine in engines
        }
        turns = interleaved(runs | {"alone": partial(pd.read_csv, path, dtype=str)}, runs=3, enough=60)
    tables = [turns[engine][1].counts for engine in engines]
    same = all(np.array_equal(table.counts, tables[0].counts) for table in tables)
    for engine in engines:
        Measurement(
            "reading_columns",
            engine,
            {"rows": ROWS, "attributes": columns},
            turns[engine][0],
            yardstick="pandas alone",
            yardstick_seconds=turns["alone"][0],
            facts={"same_counts": same},
        ).print()


def main() -> None:
    options(__file__, __doc__).parse_args()
    engines = [engine for engine in ENGINES if engine != "duckdb" or find_spec("duckdb")]
    if "duckdb" not in engines:
        skipped("reading_columns duckdb", "it is not installed")
    for columns in COLUMNS:
        measure(columns, engines)


if __name__ == "__main__":
    main()
