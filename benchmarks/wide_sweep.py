"""SWEEP on tables with many quasi-identifiers, by processor time: 30 seconds are asked for 15 of them.

Simulated tables of 15 and 30 attributes with four levels each, and public tables in CSV files, if any are named, each as
`marginals init` guesses it, every row counted. The yardstick is what SWEEP cannot do without: the class of each distinct
row at each combination of levels that it goes through.

    python benchmarks/wide_sweep.py [--tables TABLE.csv...] [--keep FILE]
"""

import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from measurement import Lines, Measurement, circumstances, options

import marginals
from checks import parse_diversity
from marginals import Attribute, Table, read_table
from marginals.anonymizers.local_recoding import class_order, level_combinations
from marginals.config.first_config import initial_config

ROWS, VALUES, K = 20_000, 16, 10


def simulated(attributes: int) -> Table:
    """Numbers from 0 to 15 that lean on one hidden one, in bands of 2, 4 and 8; the sensitive attribute does too."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, VALUES, ROWS)
    names = [f"q{number:02}" for number in range(attributes)]
    columns = {name: (hidden + rng.binomial(6, 0.5, ROWS)) % VALUES for name in [*names, "s"]}
    known: dict[str, Attribute | str] = {n: Attribute("quasi-identifier", intervals=[2, 4, 8]) for n in names}
    return read_table(pd.DataFrame(columns), known | {"s": "sensitive"})


def guessed(path: Path) -> Table:
    """A public table as `marginals init` guesses it, each row a person of its own."""
    with TemporaryDirectory() as folder:
        beside = Path(folder) / "release.toml"
        initial_config(path.resolve(), beside).write(beside)
        text = re.sub(r"^(person|one_row) = .*$", "", beside.read_text(encoding="utf-8"), flags=re.MULTILINE)
        beside.write_text(text.replace("[data]", '[data]\nrows_per_person = "any"', 1), encoding="utf-8")
        return marginals.read_config(beside).read_table()


def measure(lines: Lines, case: str, table: Table) -> None:
    """One sweep, with k = 10 and, where the table has one sensitive attribute, recursive (3, 2)-diversity."""
    diversity = parse_diversity("recursive:3,2") if len(table.sensitive) == 1 else None
    begin = time.process_time()
    swept = marginals.sweep(table, diversity, k=K)
    seconds = time.process_time() - begin
    order = class_order(table, table.quasi_identifiers)
    codes, numbers = np.arange(len(table.base_counts)), len(table.quasi_identifiers)
    begin = time.process_time()
    for _ in order:
        pd.factorize(codes)
    yardstick = time.process_time() - begin
    facts = {"combinations": level_combinations(table), "swept": len(order), "classes": len(swept)}
    facts |= {"information": round(swept.information_utility, 4)}
    sizes = {"rows": table.rows, "attributes": numbers}
    lines.say(
        **Measurement("wide_sweep", case, sizes, seconds, None, "a factorize a combination", yardstick, facts).line()
    )


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--tables", nargs="+", type=Path, default=[], help="CSV files of public tables")
    parser.add_argument("--keep", type=Path, help="file that all lines are written to in the end")
    given = parser.parse_args()
    lines = Lines()
    lines.say(benchmark="wide_sweep", clock="processor time", **circumstances())
    for attributes in (15, 30):
        measure(lines, f"simulated, {attributes} attributes", simulated(attributes))
    for path in given.tables:
        measure(lines, path.stem, guessed(path))
    if given.keep:
        lines.write(given.keep)


if __name__ == "__main__":
    main()
