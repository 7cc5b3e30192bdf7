"""Stepwise model search: graphical models of wide tables by BIC, and the strategies on the releases of Adult.

Selection is forward, in process, reading excluded, beside the yardstick of one bincount for each pair of columns in the
same run. The wide tables are drawn from random decomposable models, whose edges the searches should find again. Rows and
columns grow by decades. The Adult parts need the real table: ../shared/data, or the folder that MARGINALS_DATA names.
Where pyAgrum is installed, its greedy hill climbing to a Bayesian network by BIC is timed on the same columns, where there
are few.

    python benchmarks/stepwise_search.py [--part adult-columns] [--quick]

One JSON line a case; the last ones compare with what was aimed at.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from marginals import Attribute, Policy, Release, Table, anonymize, publish, read_table
from marginals.config import read_hierarchy
from models.arrays import CodeArray
from models.contingency_table import ContingencyTable
from models.domain import Domain
from models.hierarchy import Hierarchy
from models.search import STRATEGIES, select

DATA = Path(os.environ.get("MARGINALS_DATA") or Path(__file__).parents[2] / "shared" / "data") / "adult"

VALUES = 3
LARGEST_SEPARATOR = 2
SHAPES = ((50_000, 100), (500, 100), (5_000, 100), (500_000, 100), (50_000, 10), (5_000, 10), (5_000, 1_000))
"""Rows and columns of the wide tables."""

BOTH_UP_TO = 100
"""Columns up to which greedy-both is measured, too."""

PEER_UP_TO = 20
"""Columns up to which the peer is measured; 100 take it more than five minutes."""

FIVE = ("race", "sex", "age", "marital-status")
EIGHT = (*FIVE, "education", "native-country", "workclass", "salary-class")

CASES = (
    (FIVE, "as it is", "declared"),
    (FIVE, "as it is", "observed"),
    (EIGHT, "as it is", "declared"),
    (EIGHT, "as it is", "observed"),
    (EIGHT, "generalized", "declared"),
)
"""Quasi-identifiers, what becomes of the occupation, and the domain of the releases."""

TIME_LIMIT = 60.0
"""Seconds for one search."""

Edges = set[frozenset[str]]
Line = dict[str, Any]
Result = TypeVar("Result")


def timed(function: Callable[[], Result], runs: int = 5, enough: float = 5.0) -> tuple[float, Result]:
    """Seconds, the least of some runs or of as many as take `enough` seconds together, and the last result."""
    seconds: list[float] = []
    while len(seconds) < runs and sum(seconds) < enough:
        begin = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - begin)
    return min(seconds), result


@dataclass(frozen=True, eq=False)
class Columns:
    """Categorical columns as codes. edges: of the graph they were drawn from, None where nobody knows."""

    codes: Mapping[str, CodeArray]
    sizes: Mapping[str, int]
    edges: Edges | None = None

    @property
    def table(self) -> ContingencyTable:
        """The counts of the rows."""
        domain = Domain.of({name: Hierarchy.flat(map(str, range(size))) for name, size in self.sizes.items()})
        rows = len(next(iter(self.codes.values())))
        return ContingencyTable.from_cells(
            domain, dict.fromkeys(self.sizes, 0), self.codes, np.ones(rows, dtype=np.int64)
        )

    def count_pairs(self) -> None:
        """The yardstick."""
        for first, second in combinations(self.codes, 2):
            size = self.sizes[second]
            np.bincount(self.codes[first] * size + self.codes[second], minlength=self.sizes[first] * size)


def draw_columns(rows: int, columns: int, rng: np.random.Generator) -> Columns:
    """Columns from a random decomposable model.

    In perfect sequence: each column joins one or more columns of an earlier clique, given which its values have
    Dirichlet(1/2) probabilities.
    """
    names = [f"v{i:03}" for i in range(columns)]
    codes: dict[str, CodeArray] = {}
    cliques: list[tuple[str, ...]] = []
    edges: Edges = set()
    for name in names:
        separator: tuple[str, ...] = ()
        if cliques:
            clique = cliques[rng.integers(len(cliques))]
            size = min(len(clique), int(rng.integers(1, LARGEST_SEPARATOR + 1)))
            separator = tuple(clique[i] for i in rng.choice(len(clique), size, replace=False))
        codes[name] = _draw_given([codes[other] for other in separator], rows, rng)
        edges |= {frozenset((name, other)) for other in separator}
        cliques.append((*separator, name))
    return Columns(codes, dict.fromkeys(names, VALUES), edges)


def _draw_given(given: Sequence[CodeArray], rows: int, rng: np.random.Generator) -> CodeArray:
    cells: CodeArray = np.zeros(rows, dtype=np.int64)
    for column in given:
        cells = cells * VALUES + column
    thresholds = rng.dirichlet(np.full(VALUES, 0.5), size=VALUES ** len(given)).cumsum(axis=1)[:, :-1]
    codes: CodeArray = (rng.random(rows)[:, None] > thresholds[cells]).sum(axis=1, dtype=np.int64)
    return codes


def adult_columns() -> Columns:
    """All columns of Adult, each distinct text a value."""
    frame = pd.read_csv(DATA / "adult.csv", dtype=str, keep_default_na=False)
    factorized = {str(name): pd.factorize(frame[name]) for name in frame.columns}
    return Columns(
        {name: np.asarray(codes, dtype=np.int64) for name, (codes, _) in factorized.items()},
        {name: len(values) for name, (_, values) in factorized.items()},
    )


def selection_lines(columns: Columns, strategies: Sequence[str]) -> Iterator[Line]:
    """How the strategies select a model, and the peer."""
    shape = {"rows": len(next(iter(columns.codes.values()))), "columns": len(columns.codes)}
    table = columns.table
    pairs, _ = timed(columns.count_pairs)
    for strategy in strategies:
        seconds, found = timed(partial(select, table, strategy=STRATEGIES[strategy]))
        yield {
            **shape,
            "strategy": strategy,
            "seconds": round(seconds, 4),
            "times_all_pairs": round(seconds / pairs, 2),
            "evaluated": found.search.evaluated,
            "bic": round(found.bic, 1),
            **recovered(columns, {frozenset(edge) for edge in found.graph.edges}),
        }
    if shape["columns"] <= PEER_UP_TO and find_spec("pyagrum"):
        seconds, edges = timed(partial(peer_edges, columns), runs=3)
        yield {**shape, "strategy": "pyAgrum", "seconds": round(seconds, 4), **recovered(columns, edges)}


def recovered(columns: Columns, found: Edges) -> Line:
    """The edges, and how many of them are wrong."""
    if columns.edges is None:
        return {"edges": len(found)}
    return {"edges": len(found), "missing": len(columns.edges - found), "extra": len(found - columns.edges)}


def peer_edges(columns: Columns) -> Edges:
    """The skeleton that pyAgrum's hill climbing arrives at; its own reading of the columns is counted."""
    import pyagrum  # type: ignore[import-not-found]

    learner = pyagrum.BNLearner(pd.DataFrame(dict(columns.codes)))
    learner.useScoreBIC()
    learner.useGreedyHillClimbing()
    return {frozenset(map(learner.nameFromId, arc)) for arc in learner.learnDAG().arcs()}


def adult(quasi_identifiers: Sequence[str], occupation: str, domain: str) -> Table:
    """Adult with the occupation as the sensitive attribute, as it is or with its hierarchy."""

    def attribute(name: str, role: str) -> Attribute:
        return Attribute(role, read_hierarchy(DATA / "hierarchies" / f"{name}.csv"))

    attributes = {name: attribute(name, "quasi-identifier") for name in quasi_identifiers}
    secret = attribute("occupation", "sensitive") if occupation == "generalized" else Attribute("sensitive")
    return read_table(DATA / "adult.csv", attributes | {"occupation": secret}, ["?", ""], domain)


def release_lines(quasi_identifiers: Sequence[str], occupation: str, domain: str) -> Iterator[Line]:
    """What the strategies publish under the policy of KG06 section 8, with the best single table in it and without.

    Seconds are those of the search with its bound, from the table's counts, the base table being known.
    """
    table = adult(quasi_identifiers, occupation, domain)
    policy = Policy(k_link=6, k_combinatorial=6, diversity="entropy:6", base="none", time_limit=TIME_LIMIT)
    single = anonymize(table, policy).minimal[0]
    bases: dict[str, str | Mapping[str, int]] = {"none": "none", "best": single.levels}
    for (base, levels), strategy in product(bases.items(), STRATEGIES):
        chosen = replace(policy, base=levels, strategy=strategy)
        seconds, release = timed(partial(_publish_anew, table, chosen))
        found = release.search
        assert found is not None
        yield {
            "attributes": len(quasi_identifiers) + 1,
            "occupation": occupation,
            "domain": domain,
            "base": base,
            "strategy": strategy,
            "kl_divergence": round(found.kl_divergence, 6),
            "times_best_single_table": round(found.kl_divergence / single.kl_divergence, 4),
            "seconds": round(seconds, 4),
            "evaluated": found.evaluated,
            "optimal": found.optimal,
            "bound": None if found.bound is None else round(found.bound, 6),
        }


def _publish_anew(table: Table, policy: Policy) -> Release:
    """The release from a table of which nothing has been counted yet."""
    return publish(replace(table), policy)


def target_lines(parts: Mapping[str, Sequence[Line]]) -> Iterator[Line]:
    """What was aimed at, for the parts that were measured."""
    for part, rows, columns, limit in (("adult-columns", None, 13, 0.06), ("wide", 50_000, 100, 1.0)):
        for line in parts.get(part, ()):
            if line["strategy"] == "greedy" and line["columns"] == columns and rows in (None, line["rows"]):
                yield {"target": f"{columns} columns in {limit} s", "met": line["seconds"] < limit}
    releases: dict[tuple[int, str, str, str], dict[str, Line]] = {}
    for line in parts.get("releases", ()):
        case = (line["attributes"], line["occupation"], line["domain"], line["base"])
        releases.setdefault(case, {})[line["strategy"]] = line
    for case, lines in releases.items():
        for target, met in (five_attributes if case[0] == 5 else nine_attributes)(lines).items():
            yield {"target": target, **dict(zip(("attributes", "occupation", "domain", "base"), case)), "met": met}


def five_attributes(lines: Mapping[str, Line]) -> dict[str, bool]:
    """Whether the optimum is proven, and met by others, in time."""
    exact = lines["exact"]
    limits = {"greedy": 2.0, "anneal": 10.0}
    return {"exact proves its optimum in 5 s": exact["optimal"] and exact["seconds"] < 5} | {
        f"{name} comes within 3 % of it in {limit:g} s": lines[name]["seconds"] < limit
        and lines[name]["kl_divergence"] <= 1.03 * exact["kl_divergence"]
        for name, limit in limits.items()
    }


def nine_attributes(lines: Mapping[str, Line]) -> dict[str, bool]:
    """Whether greedy search halves the divergence nearly, and a random one goes further."""
    greedy = lines["greedy"]
    better = [lines[name] for name in ("anneal", "genetic") if lines[name]["kl_divergence"] < greedy["kl_divergence"]]
    return {
        "greedy comes to 0.52 of the best single table in 10 s": greedy["seconds"] < 10
        and greedy["times_best_single_table"] <= 0.52,
        "anneal or genetic improves on it in 60 s": any(line["seconds"] < 60 for line in better),
    }


def wide_lines(shapes: Sequence[tuple[int, int]]) -> Iterator[Line]:
    """Selection from wide tables."""
    for rows, columns in shapes:
        strategies = ("greedy", "greedy-both") if columns <= BOTH_UP_TO else ("greedy",)
        yield from selection_lines(draw_columns(rows, columns, np.random.default_rng(0)), strategies)


def all_releases(cases: Sequence[tuple[Sequence[str], str, str]]) -> Iterator[Line]:
    """The strategies on the releases."""
    for case in cases:
        yield from release_lines(*case)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["adult-columns", "wide", "releases"], help="only this one")
    parser.add_argument("--quick", action="store_true", help="a few cases of each")
    chosen = parser.parse_args()
    parts: dict[str, Callable[[], Iterator[Line]]] = {
        "adult-columns": lambda: selection_lines(adult_columns(), ["greedy"]),
        "wide": lambda: wide_lines(SHAPES[:1] if chosen.quick else SHAPES),
        "releases": lambda: all_releases(CASES[:1] if chosen.quick else CASES),
    }
    measured: dict[str, list[Line]] = {}
    for part, lines in parts.items():
        if chosen.part not in (None, part):
            continue
        if part != "wide" and not DATA.is_dir():
            print(json.dumps({"benchmark": f"stepwise_search {part}", "skipped": "the Adult table is not here"}))
            continue
        for line in lines():
            measured.setdefault(part, []).append(line)
            print(json.dumps({"benchmark": f"stepwise_search {part}", **line}), flush=True)
    for line in target_lines(measured):
        print(json.dumps({"benchmark": "stepwise_search target", **line}))


if __name__ == "__main__":
    main()
