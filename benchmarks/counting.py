"""Counting kernels: distinct cells and all three-way marginals of seven columns, from a fresh table in memory.

Each size beside its yardstick: one bincount of as many random keys into as many bins as the finest of the marginals has,
and a copy of the codes. Sizes grow by decades; the first is the real Adult table where it is here (../shared/data, or the
folder that MARGINALS_DATA names), the others are drawn with its numbers of values. Least of some
runs, in processor milliseconds.
"""

import json
import os
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np

from marginals.table import read_table
from models.contingency_table import ContingencyTable
from models.data_cube import DataCube
from models.domain import Domain
from models.hierarchy import Hierarchy

DATA = Path(os.environ.get("MARGINALS_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
SIZES = {
    "age": 74,
    "sex": 2,
    "race": 5,
    "marital-status": 7,
    "education": 16,
    "native-country": 41,
    "workclass": 7,
}
DECADES = (10_000, 100_000, 1_000_000, 10_000_000)
RUNS = 9


def least(function: Callable[[], object]) -> float:
    """The least processor milliseconds of some runs: these kernels have one thread, and the machine may be shared."""
    milliseconds = []
    for _ in range(RUNS):
        begin = time.process_time()
        function()
        milliseconds.append((time.process_time() - begin) * 1e3)
    return round(min(milliseconds), 3)


def adult() -> tuple[Domain, dict[str, np.ndarray]]:
    """The rows of Adult as codes."""
    import pandas as pd

    table = read_table(DATA / "adult.csv", dict.fromkeys(SIZES, "quasi-identifier"), ["?", ""])
    frame = pd.read_csv(DATA / "adult.csv", dtype=str, keep_default_na=False)
    codes = {
        name: pd.Categorical(frame[name], categories=hierarchy.labels[0]).codes.astype(np.uint8)
        for name, hierarchy in table.domain.items()
    }
    return table.domain, codes


def drawn(rows: int) -> tuple[Domain, dict[str, np.ndarray]]:
    """Rows whose values fall off geometrically."""
    rng = np.random.default_rng(0)
    domain = Domain.of({name: Hierarchy.flat(map(str, range(size))) for name, size in SIZES.items()})
    draws = {name: np.minimum(rng.geometric(0.25, rows) - 1, size - 1) for name, size in SIZES.items()}
    return domain, {name: column.astype(np.uint8) for name, column in draws.items()}


def measured(name: str, domain: Domain, codes: dict[str, np.ndarray]) -> dict[str, object]:
    rows = len(next(iter(codes.values())))
    ones = np.ones(rows, dtype=np.int64)
    base = dict.fromkeys(SIZES, 0)
    cells = ContingencyTable.from_cells(domain, base, codes, ones)
    masks = [domain.mask(dict.fromkeys(three, 0)) for three in combinations(SIZES, 3)]

    def all_of(question: str) -> None:
        cube = DataCube([cells])
        for mask in masks:
            getattr(cube, question)(mask)

    rng = np.random.default_rng(1)
    bins = max(domain.size(domain.margin(mask)) for mask in masks)
    keys = rng.integers(0, bins, len(cells))
    return {
        "benchmark": "counting",
        "table": name,
        "rows": rows,
        "cells": len(cells),
        "distinct_cells": least(lambda: ContingencyTable.from_cells(domain, base, codes, ones)),
        "copy_of_codes": least(lambda: [column.copy() for column in codes.values()]),
        "three_way_tables": least(lambda: all_of("table")),
        "three_way_counts": least(lambda: all_of("counts")),
        "three_way_entropies": least(lambda: all_of("entropy")),
        "as_many_bincounts": round(len(masks) * least(lambda: np.bincount(keys, cells.counts, minlength=bins)), 3),
    }


def main() -> None:
    if DATA.is_dir():
        result = measured("Adult", *adult())
        within = float(str(result["three_way_tables"])) < 10 and float(str(result["distinct_cells"])) < 3
        print(json.dumps(result | {"within_target": within}), flush=True)
    for rows in DECADES:
        print(json.dumps(measured("drawn", *drawn(rows))), flush=True)


if __name__ == "__main__":
    main()
