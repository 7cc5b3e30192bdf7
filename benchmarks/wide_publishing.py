"""Publishing tables of many attributes end to end: seconds, memory, the bound that is proven, and how both grow with width.

The columns are drawn from random decomposable models, three values each, so that there is something to find; the policy
demands k-link and k-combinatorial anonymity and leaves base table and strategy as they are without a word. Each case is the
whole command, in a process of its own; its search ends after `TIME_LIMIT` seconds at the latest. The yardstick is pandas,
which reads the same columns and counts each pair of them.

    python benchmarks/wide_publishing.py [--quick]
"""

import sys
import tempfile
from functools import partial
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd
from hundred_million import published, run
from measurement import Measurement, options, say
from stepwise_search import draw_columns

ROWS = 20_000
WIDTHS = (13, 20, 40, 80, 100, 200, 400)
"""Attributes of tables with that many rows; the first three are a quick run."""

LONG = (1_000_000, 60)
"""Rows and attributes of the table that is long and wide."""

TIME_LIMIT = 60.0
GRACE = 1.2
"""Of the time limit, within which all attributes up to the fourth width are to be published."""

MOST_SECONDS, MOST_MEGABYTES = 300, 2_000
"""Of processor time and memory, which 400 attributes may take."""

READ = """
import sys
from itertools import combinations
import numpy as np
import pandas as pd
frame = pd.read_csv(sys.argv[1], dtype="int8")
codes = [frame[name].to_numpy().astype(np.int64) for name in frame]
for one, other in combinations(codes, 2):
    np.bincount(one * 3 + other, minlength=9)
"""


def config(table: Path, names: list[str]) -> str:
    """A policy without a sensitive attribute."""
    sections = [f"[data]\npath = '{table}'\nrows_per_person = 1"]
    sections += [f"[attributes.{name}]\nrole = 'quasi-identifier'" for name in names]
    sections.append(f"[privacy]\nk_link = 10\nk_combinatorial = 10\n[search]\ntime_limit = {TIME_LIMIT}")
    return "\n".join(sections)


def measured(rows: int, attributes: int) -> Measurement:
    """The whole command on a table of that many rows and attributes."""
    columns = draw_columns(rows, attributes, np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frame = pd.DataFrame({column: codes.astype(np.int8) for column, codes in columns.codes.items()})
        frame.to_csv(folder / "people.csv", index=False)
        (folder / "release.toml").write_text(config(folder / "people.csv", list(columns.codes)))
        reading = partial(run, READ, str(folder / "people.csv"))
        sizes = {"rows": rows, "attributes": attributes}
        return published("wide_publishing", sizes, folder, "pandas reads and counts pairs", reading)


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--quick", action="store_true", help="the three narrowest tables alone")
    quick = parser.parse_args().quick
    cases = [(ROWS, width) for width in (WIDTHS[:3] if quick else WIDTHS)] + ([] if quick else [LONG])
    for rows, attributes in cases:
        found = measured(rows, attributes)
        found.print()
        sys.stdout.flush()
        if rows == ROWS and attributes <= WIDTHS[3]:
            bound, found_nats = found.facts["bound"] or 0.0, found.facts["kl_divergence"]
            met = found.seconds <= GRACE * TIME_LIMIT and bound > 0
            target = f"{attributes} attributes within {GRACE * TIME_LIMIT:.0f} s, with a bound above 0"
            nats = f"KL divergence {found_nats:.2f} nats, of any release at least {bound:.2f}"
            say(benchmark="wide_publishing", target=target, met=met, nats=nats)
        if attributes == WIDTHS[-1]:
            met = (found.processor_seconds or inf) <= MOST_SECONDS and (found.megabytes or 0) <= MOST_MEGABYTES
            target = f"{attributes} attributes in {MOST_SECONDS} s of processor time and {MOST_MEGABYTES:,} MB"
            say(benchmark="wide_publishing", target=target, met=met)


if __name__ == "__main__":
    main()
