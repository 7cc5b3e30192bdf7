"""A simulated hospital whose table is published every month beside a ledger: how many wait, and what that costs.

    python experiments/hospital.py [--people 50000] [--months 36] [--seed 0] [--turnover known] [--max-waiting 0.1]
                                   [--out hospital.jsonl]

Two percent of the patients change each month: .9 percent come, .9 percent leave, .2 percent are corrected. The policy is
that of the demo. A line of the output is one month: seconds of the processor for the release (the table is read already),
patients, how many of those who came and left wait, and for the release and one that is made of the same table without a
ledger the information and the mean total variation of all two-way tables to the true table of that month.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import marginals
from marginals import Policy
from marginals.accuracy import comparison
from marginals.demo import CENSUS_CONFIG, census_hierarchies, simulate_hospital
from marginals.ledger import Ledger, recoded
from models import Collection, DataCube, MarginalModel


def published(months: Iterator[pd.DataFrame], policy: Policy, folder: Path) -> Iterator[dict[str, Any]]:
    """Publish each month, and say what came of it. folder: with a config of the table."""
    for number, patients in enumerate(months, 1):
        patients.to_csv(folder / "census.csv", index=False)
        table = marginals.read_config(folder / "release.toml").read_table()
        began = time.process_time()
        made = marginals.publish(table, policy, ledger=folder / "ledger").write(folder / f"release-{number}")
        seconds, rows = time.process_time() - began, table.base_counts.total
        plain = marginals.publish(table, replace(policy, turnover="unknown"))
        waiting = made.steward.waiting
        if waiting is None:
            raise ValueError("the steward of a ledger is told who waits")
        yield {
            "month": number,
            "seconds": round(seconds, 1),
            "patients": rows,
            "came": waiting.came,
            "left": waiting.left,
            "waiting": round((waiting.came + waiting.left) / rows, 4),
            "information": round(made.release.information, 4),
            "without_information": round(plain.release.information, 4),
            "variation": round(variation(Ledger.read(folder / "ledger"), table), 4),
            "without_variation": round(plain.steward.two_way.mean, 4),
        }


def variation(ledger: Ledger, table: marginals.Table) -> float:
    """The mean total variation of all two-way tables of the last release of a ledger to those of the table of today."""
    shown = ledger.entries[-1]
    masks = [shown.table.domain.mask(margin) for margin in shown.margins]
    model = MarginalModel(Collection.of(DataCube([shown.table]), masks))
    truth, _ = recoded(ledger, table)
    return comparison(DataCube([truth]), model, {}).release.two_way.mean


def main() -> None:
    """Publish month after month, and write each line when it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=50_000)
    parser.add_argument("--months", type=int, default=36)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--turnover", choices=["known", "unknown"], default="known")
    parser.add_argument("--max-waiting", type=float, default=0.1)
    parser.add_argument("--out", type=Path, default=Path("hospital.jsonl"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, asked.out.open("w", encoding="utf-8") as out:
        folder = Path(place)
        (folder / "hierarchies").mkdir()
        (folder / "release.toml").write_text(CENSUS_CONFIG, encoding="utf-8")
        for attribute, values in census_hierarchies().items():
            (folder / f"hierarchies/{attribute}.csv").write_text("".join(";".join(row) + "\n" for row in values))
        months = simulate_hospital(np.random.default_rng(asked.seed), asked.people, asked.months)
        (folder / "census.csv").write_text("\n")
        policy = marginals.read_config(folder / "release.toml").policy
        policy = replace(policy, register=False)  # people are in several releases
        policy = replace(policy, turnover=asked.turnover, max_waiting=asked.max_waiting)
        for line in published(months, policy, folder):
            print(json.dumps(line), file=out, flush=True)
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
