"""Counting kernels: distinct cells and all three-way marginals of seven columns, from a fresh table in memory.

Each size beside its yardstick: for distinct cells a copy of the codes, for marginals one bincount each of as many random
keys into as many bins as the finest of the marginals has. Sizes grow by decades; the first is the real Adult table where it
is here (../shared/data, or the folder that MARGINALS_DATA names), the others are drawn with its numbers of values: rows as
they come, and a million rows among a chosen number of cells. Least of some runs, in processor seconds.
"""

import os
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from measurement import Measurement, fastest, options, peak_megabytes, say, skipped

from marginals import read_table
from models import ContingencyTable, DataCube, Domain, Hierarchy

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
CELLS = (1_000, 10_000, 100_000, 1_000_000)
ROWS_ON_CELLS = 1_000_000
QUESTIONS = ("table", "counts", "entropy")
TARGETS = {"distinct cells": 0.003, "three-way table": 0.01}
"""Seconds for Adult."""


def least(function: Any) -> float:
    """Processor seconds: these kernels have one thread, and the machine may be shared."""
    seconds, _ = fastest(function, runs=9, clock=time.process_time)
    return seconds


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


def on_cells(cells: int) -> tuple[Domain, dict[str, np.ndarray]]:
    """Rows spread evenly over cells that are drawn anywhere, so that nearly all are met."""
    rng = np.random.default_rng(0)
    domain = Domain.of({name: Hierarchy.flat(map(str, range(size))) for name, size in SIZES.items()})
    places = rng.integers(0, np.prod(list(SIZES.values())), cells)[np.arange(ROWS_ON_CELLS) % cells]
    codes = np.unravel_index(places, list(SIZES.values()))
    return domain, {name: column.astype(np.uint8) for name, column in zip(SIZES, codes)}


def measured(
    name: str, domain: Domain, codes: dict[str, np.ndarray], sizes: dict[str, int] | None = None
) -> list[Measurement]:
    rows = len(next(iter(codes.values())))
    ones = np.ones(rows, dtype=np.int64)
    base = dict.fromkeys(SIZES, 0)
    sizes = sizes or {"rows": rows}

    def distinct() -> ContingencyTable:
        return ContingencyTable.from_cells(domain, base, codes, ones)

    cells = distinct()
    masks = [domain.mask(dict.fromkeys(three, 0)) for three in combinations(SIZES, 3)]

    def all_of(question: str) -> None:
        cube = DataCube([cells])
        for mask in masks:
            getattr(cube, question)(mask)

    rng = np.random.default_rng(1)
    bins = max(domain.size(domain.margin(mask)) for mask in masks)
    keys = rng.integers(0, bins, len(cells))
    copied = least(lambda: [column.copy() for column in codes.values()])
    bincounts = len(masks) * least(lambda: np.bincount(keys, cells.counts, minlength=bins))
    facts = {"cells": len(cells)}
    cases = [("distinct cells", distinct, "copy of the codes", copied)]
    cases += [
        (f"three-way {question}", lambda q=question: all_of(q), f"{len(masks)} bincounts", bincounts)
        for question in QUESTIONS
    ]
    return [
        Measurement(
            "counting", f"{case}, {name}", sizes, least(run), peak_megabytes(run), yardstick, seconds, facts=facts
        )
        for case, run, yardstick, seconds in cases
    ]


def main() -> None:
    options(__file__, __doc__).parse_args()
    if DATA.is_dir():
        for measurement in measured("Adult", *adult()):
            measurement.print()
            for case, limit in TARGETS.items():
                if measurement.case.startswith(f"{case},"):
                    met = measurement.seconds < limit
                    say(benchmark="counting", target=f"{case} of Adult in {limit} s", met=met)
    else:
        skipped("counting", "the Adult table is not here")
    for rows in DECADES:
        for measurement in measured("drawn", *drawn(rows)):
            measurement.print()
    for cells in CELLS:
        sizes = {"rows": ROWS_ON_CELLS, "cells": cells}
        for measurement in measured("even", *on_cells(cells), sizes):
            measurement.print()


if __name__ == "__main__":
    main()
