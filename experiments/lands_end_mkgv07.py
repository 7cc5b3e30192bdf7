"""Stand-ins for MKGV07 Figs. 10, 12 and 14, which are about Lands End, a table that was never public.

    python experiments/lands_end_mkgv07.py [--figure 10] [--rows 100000] [--csv FOLDER] [--seed 0]

The simulated table has the numbers of values and the heights of the hierarchies of Fig. 8: frequencies fall with rank,
prices go with styles, costs with prices, and the dearest articles have one cost each. It has some of the 4,591,581 rows,
all with --rows 4591581. So the figures agree in kind, not in numbers: few tables are minimal, and some have homogeneous
classes at every k.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from figures import Figure
from l_diversity_mkgv07 import CRITERIA, homogeneous_classes

from marginals import Attribute, Role, Table, read_table
from marginals.recoding.lattice import minimal_tables
from models import DataCube, IndexArray

SIZES = {"zipcode": 31_953, "date": 320, "gender": 2, "style": 1_509, "price": 346, "quantity": 1, "shipment": 2}
"""Quasi-identifiers of Fig. 8 in its order, with their numbers of values."""

ATTRIBUTES = tuple(SIZES)
COSTS = 147
DEAR = 340
"""The price from which on an article has one cost only."""

ROWS = 100_000
GENERALIZED = {
    "zipcode": Attribute(Role.QUASI_IDENTIFIER, prefixes=(4, 3, 2, 1)),
    "date": Attribute(Role.QUASI_IDENTIFIER, intervals=(7, 28)),
    "price": Attribute(Role.QUASI_IDENTIFIER, intervals=(10, 50, 100)),
}
"""Hierarchies of the heights in Fig. 8; the other attributes are shown or suppressed."""


def sales(rows: int, seed: int, other_costs: float = 0.0) -> pd.DataFrame:
    """So many simulated sales. other_costs: the share of the sales of dear articles that have another cost."""
    rng = np.random.default_rng(seed)

    def drawn(values: int, skew: float) -> IndexArray:
        weights = 1 / np.arange(1, values + 1) ** skew
        return np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random(rows))

    codes = {name: drawn(values, 0.7) for name, values in SIZES.items()}
    codes["price"] = (codes["style"] * 7 + drawn(20, 1.0)) % SIZES["price"]
    codes["cost"] = (codes["price"] // 3 + np.where(codes["price"] < DEAR, drawn(40, 0.8), 0)) % COSTS
    if other_costs:
        codes["cost"] = (codes["cost"] + (rng.random(rows) < other_costs)) % COSTS
    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(
                column, [f"{code:05}" if name == "zipcode" else str(code) for code in range(SIZES.get(name, COSTS))]
            )
            for name, column in codes.items()
        }
    )


def table_of(frame: pd.DataFrame, size: int) -> Table:
    """The first so many attributes, and the cost."""
    attributes = {name: GENERALIZED.get(name, Attribute(Role.QUASI_IDENTIFIER)) for name in ATTRIBUTES[:size]}
    return read_table(frame, {**attributes, "cost": Attribute(Role.SENSITIVE, single_values=True)}, domain="observed")


def search_times(frame: pd.DataFrame) -> Figure:
    """MKGV07 Fig. 14: processor seconds to find all minimal tables, reading excluded."""
    lines = []
    for size in range(3, len(ATTRIBUTES) + 1):
        table = table_of(frame, size)
        seconds = []
        for criterion in ("k-anonymity", "entropy"):
            begin = time.process_time()
            result = minimal_tables(DataCube([table.counts]), table.quasi_identifiers, CRITERIA[criterion](6, "cost"))
            seconds.append(time.process_time() - begin)
        lines.append([size, result.nodes, *seconds])
    title = f"Fig. 14, seconds for k = l = 6, on {len(frame)} simulated rows"
    return Figure("fig14", title, ["attributes", "nodes", "k-anonymity", "entropy"], lines)


def figures(rows: int, seed: int, wanted: int | None = None) -> Iterator[Figure]:
    """The figures, or those that come with one of them."""
    frame = sales(rows, seed)
    if wanted in (None, 10, 12):
        for figure in homogeneous_classes(table_of(frame, 5), (10, 12), "", f" on {rows} simulated rows"):
            # Whether numbers of another table agree is no question.
            yield replace(figure, header=figure.header[:-1], rows=[row[:-1] for row in figure.rows])
    if wanted in (None, 14):
        yield search_times(frame)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=int, choices=[10, 12, 14], help="only what it comes with")
    parser.add_argument("--rows", type=int, default=ROWS, help="of the simulated table (default: %(default)s)")
    parser.add_argument("--csv", type=Path, metavar="FOLDER", help="write the tables there, too")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated table")
    chosen = parser.parse_args()
    for figure in figures(chosen.rows, chosen.seed, chosen.figure):
        print(figure)
        if chosen.csv:
            figure.write(chosen.csv)


if __name__ == "__main__":
    main()
