"""All minimal full-domain tables of Adult over seven quasi-identifiers (2,160 nodes), reading excluded, in process.

The yardstick is one count of all classes at the finest node: how many such counts the whole search takes. Needs the real
table: ../shared/data, or the folder that MARGINALS_DATA names.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from checks.l_diversity import parse_diversity
from checks.requirements import Requirements
from marginals.attribute import Attribute
from marginals.config import read_hierarchy
from marginals.lattice import minimal_tables
from marginals.table import read_table
from models.data_cube import DataCube

DATA = Path(os.environ.get("MARGINALS_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
NAMES = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")
RUNS = 5


def median(function: Callable[[], object]) -> tuple[float, object]:
    """Median seconds over some runs, and the last result."""
    seconds, result = [], None
    for _ in range(RUNS):
        begin = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - begin)
    return sorted(seconds)[RUNS // 2], result


def main() -> None:
    if not DATA.is_dir():
        print(json.dumps({"benchmark": "lattice_search", "skipped": "the Adult table is not here"}))
        return
    for names in (NAMES, (*NAMES, "salary-class")):
        attributes: dict[str, Attribute | str] = {
            name: Attribute("quasi-identifier", read_hierarchy(DATA / "hierarchies" / f"{name}.csv")) for name in names
        }
        table = read_table(DATA / "adult.csv", attributes | {"occupation": "sensitive"}, missing=["?", ""])
        finest = table.domain.mask(dict.fromkeys(names, 0))
        count, _ = median(lambda t=table, f=finest: DataCube([t.counts]).counts(f))
        for privacy, requirements in (
            ("6-anonymous", Requirements(("occupation",), k_link=6)),
            ("entropy 6-diverse", Requirements(("occupation",), diversity=parse_diversity("entropy:6"))),
            ("both", Requirements(("occupation",), k_link=6, diversity=parse_diversity("entropy:6"))),
        ):
            seconds, result = median(
                lambda t=table, r=requirements, n=names: minimal_tables(DataCube([t.counts]), n, r)
            )
            print(
                json.dumps(
                    {
                        "benchmark": "lattice_search",
                        "attributes": len(names),
                        "cells": len(table.counts),
                        "privacy": privacy,
                        "nodes": result.nodes,  # type: ignore[attr-defined]
                        "evaluated": result.evaluated,  # type: ignore[attr-defined]
                        "minimal": len(result.minimal),  # type: ignore[attr-defined]
                        "seconds": round(seconds, 4),
                        "times_one_count": round(seconds / count, 1),
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
