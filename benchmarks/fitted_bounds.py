"""How much better than what each strategy finds a release could be at most: 25 attributes with fitted ladders.

A survey of neighbourhoods, as insurers buy them: a few households in each, described by what their neighbourhood is like, in
ten classes or fewer an attribute. Four things that are not measured make the attributes go together; the type of a
neighbourhood and its main type depend on them too. The policy demands k-link and k-combinatorial anonymity with k = 10, no
base table. Each strategy publishes once, in a process of its own. `--table` takes a CSV file with columns of whole numbers
instead, all of them quasi-identifiers, such as 25 columns of the Caravan data of An Introduction to Statistical Learning.

    python benchmarks/fitted_bounds.py [--strategy greedy ...] [--limit SECONDS] [--table FILE]
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hundred_million import PUBLISH, run
from measurement import Measurement, options, say

from models import STRATEGIES

PLACES, HOUSEHOLDS, ATTRIBUTES, FACTORS = 1_300, 5_800, 25, 4
STRATEGIES_COMPARED = ("look-ahead", "greedy", "anneal", "genetic", "rebuild")
LIMIT = 60.0
MOST_GAP, MOST_APART = 0.15, 0.02
"""Of the best KL divergence: how far below it the bound may be, and how far above it any strategy."""


def drawn(rng: np.random.Generator) -> pd.DataFrame:
    """A survey: a type of 40, a main type of 10, a rare event, and attributes of four to ten classes."""
    factors = rng.normal(size=(PLACES, FACTORS))
    nearest = rng.normal(size=(40, FACTORS))
    kind = ((factors[:, None] - nearest) ** 2).sum(axis=2).argmin(axis=1)
    columns = {"type": kind, "main_type": kind // 4}
    for number in range(ATTRIBUTES - 3):
        classes = int(rng.integers(4, 11))
        loads = rng.normal(size=FACTORS) * (rng.random(FACTORS) < 0.5)
        score = factors @ loads + rng.normal(size=PLACES)
        cuts = np.sort(rng.normal(size=classes - 1)) * max(float(score.std()), 1e-9)
        columns[f"x{number:02}"] = np.searchsorted(cuts, score)
    households = rng.integers(0, PLACES, HOUSEHOLDS)
    bought = rng.random(HOUSEHOLDS) < 0.06 * np.exp(0.3 * factors[households, 0])
    return pd.DataFrame({name: column[households] for name, column in columns.items()} | {"bought": bought.astype(int)})


def config(table: Path, names: Sequence[str], strategy: str, limit: float) -> str:
    """A policy without a sensitive attribute, all levels fitted."""
    sections = [f"[data]\npath = '{table}'\nrows_per_person = 1"]
    sections += [f"[attributes.{name}]\nrole = 'quasi-identifier'\nladder = 'fitted'" for name in names]
    sections.append("[privacy]\nk_link = 10\nk_combinatorial = 10\n[base]\ntable = 'none'")
    sections.append(f"[search]\nstrategy = '{strategy}'\ntime_limit = {limit}")
    return "\n".join(sections)


def measured(folder: Path, table: Path, strategy: str, limit: float) -> dict[str, Any]:
    """One release, as a line."""
    frame = pd.read_csv(table)
    (folder / "release.toml").write_text(config(table, list(frame), strategy, limit))
    spent, printed = run(PUBLISH, "publish", str(folder / "release.toml"), "--out", str(folder / strategy), "--json")
    answer = json.loads(printed.splitlines()[0])
    facts = {
        "strategy": strategy,
        "kl_divergence": round(answer["kl_divergence"], 4),
        "bound": round(answer["search"]["lower_bound"] or 0.0, 4),
        "margins": len(answer["margins"]),
        "evaluated": answer["search"]["evaluated"],
        "processor_seconds": round(spent["processor"], 2),
    }
    sizes = {"rows": len(frame), "attributes": frame.shape[1]}
    return Measurement(
        "fitted_bounds", f"fitted ladders, {strategy}", sizes, spent["seconds"], spent["megabytes"], facts=facts
    ).line()


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--strategy", nargs="+", choices=list(STRATEGIES), default=STRATEGIES_COMPARED)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of each search")
    parser.add_argument("--table", type=Path, help="a CSV file with columns of whole numbers, instead of the survey")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, table = Path(name), arguments.table
        if table is None:
            table = folder / "survey.csv"
            drawn(np.random.default_rng(0)).to_csv(table, index=False)
        lines = []
        for strategy in arguments.strategy:
            lines.append(measured(folder, table.resolve(), strategy, arguments.limit))
            say(**lines[-1])
    for target, (met, nats) in targets(lines).items():
        say(benchmark="fitted_bounds", target=target, met=met, nats=nats)


def targets(lines: Sequence[Mapping[str, Any]]) -> dict[str, tuple[bool, str]]:
    """What was aimed at: whether it was met, and the numbers of it."""
    found = [line["kl_divergence"] for line in lines]
    bound = max(line["bound"] for line in lines)
    told = {
        f"the bound within {MOST_GAP:.0%} of the best KL divergence found": (
            bound >= (1 - MOST_GAP) * min(found),
            f"{bound:.2f} of {min(found):.2f} nats",
        )
    }
    if len(found) > 1:
        is_met = max(found) <= (1 + MOST_APART) * min(found)
        told[f"the strategies within {MOST_APART:.0%} of each other"] = (
            is_met,
            f"{min(found):.2f} to {max(found):.2f} nats",
        )
    return told


if __name__ == "__main__":
    main()
