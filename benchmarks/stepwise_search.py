"""Stepwise model search: graphical models of wide tables by BIC, and the strategies on the releases of Adult.

Selection is forward, in process, reading excluded, beside the yardstick of one bincount for each pair of columns in the
same run. The wide tables are drawn from random decomposable models, whose edges the searches should find again. Rows and
columns grow by decades. The Adult parts need the real table: ../shared/data, or the folder that MARGINALS_DATA names.
Where pyAgrum is installed, its greedy hill climbing to a Bayesian network by BIC takes turns on the same columns, where
there are few. So do Chordalysis and ess, which select decomposable models as we do, where clones of them are named.

    python benchmarks/stepwise_search.py [--part adult-columns] [--quick] [--chordalysis FOLDER] [--ess FOLDER]

One JSON line a case; the last ones compare with what was aimed at. `--quick` leaves out the slower strategies and the
largest tables.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import combinations, product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from measurement import Measurement, fastest, interleaved, options, peak_megabytes, say, skipped
from peer_program import PeerProgram
from selection_peers import CHORDALYSIS, ESS, chordalysis, ess

from marginals import Attribute, Policy, Table, anonymize, publish, read_hierarchy, read_table
from marginals.publishing.publishing import Publication
from models import STRATEGIES, CodeArray, ContingencyTable, Domain, Hierarchy, NotDecomposableError, select
from models.search import SelectedModel, fitted

DATA = Path(os.environ.get("MARGINALS_DATA") or Path(__file__).parents[2] / "shared" / "data") / "adult"

VALUES = 3
LARGEST_SEPARATOR = 2
LONG_ROWS, LONG_COLUMNS = (5_000, 50_000, 500_000, 5_000_000), 10
"""Of tables with few columns."""

WIDE_ROWS, WIDE_COLUMNS = (500, 5_000, 50_000, 500_000), 100
"""Of tables with many columns."""

COLUMNS, ROWS = (10, 30, 100, 200, 400, 1_000), 5_000
"""Of tables whose columns grow."""

QUICK_CELLS, QUICK_COLUMNS = 5_000_000, 400
"""Rows times columns, and columns, of the largest tables of a quick run."""

BOTH_UP_TO = 100
"""Columns up to which greedy-both is measured, too."""

PEER_COLUMNS = {"pyAgrum": 100, "Chordalysis": 400, "ess": 30}
"""Columns up to which each peer is measured; 100 columns of 5,000 rows take pyAgrum some ten seconds of processor time."""

PEER_ROWS = 50_000
"""Rows up to which the peers are measured."""

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

BASES = ("none", "best")

TIME_LIMIT = 60.0
"""Seconds for one search."""

Edges = set[frozenset[str]]
Line = dict[str, Any]
Peer = Callable[[Mapping[str, CodeArray], Mapping[str, int]], AbstractContextManager[PeerProgram]]
"""Starts the program of a peer on codes and sizes of columns."""


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


def selection_lines(
    case: str, columns: Columns, strategies: Sequence[str], peers: Mapping[str, Peer]
) -> Iterator[Line]:
    """How the strategies select a model, and the peers."""
    sizes = {"rows": len(next(iter(columns.codes.values()))), "attributes": len(columns.codes)}
    names, table = list(columns.codes), columns.table
    pairs, _ = fastest(columns.count_pairs)

    def line(name: str, seconds: float, yardstick: str, beside: float, memory: float | None, facts: Line) -> Line:
        name = f"{case}, {name}"
        return Measurement("stepwise_search", name, sizes, seconds, memory, yardstick, beside, facts).line()

    def is_measured(peer: str) -> bool:
        return sizes["attributes"] <= PEER_COLUMNS[peer] and sizes["rows"] <= PEER_ROWS

    runs: dict[str, Callable[[], Any]] = {
        strategy: partial(select, table, strategy=STRATEGIES[strategy]) for strategy in strategies
    }
    if is_measured("pyAgrum") and find_spec("pyagrum"):
        runs["pyAgrum"] = partial(peer_edges, columns)
    with ExitStack() as stack:
        programs = {
            name: stack.enter_context(start(columns.codes, columns.sizes))
            for name, start in peers.items()
            if is_measured(name)
        }
        turns = interleaved(runs | {name: program.run for name, program in programs.items()})
    edges_of = {strategy: {frozenset(edge) for edge in turns[strategy][1].graph.edges} for strategy in strategies}
    if "pyAgrum" in turns:
        edges_of["pyAgrum"] = turns["pyAgrum"][1]
    for name, program in programs.items():
        edges_of[name] = {frozenset(names[place] for place in edge) for edge in program.told[-1]["edges"]}
    quality = qualities(columns, table, edges_of)
    for strategy in strategies:
        seconds, found = turns[strategy]
        facts = {"strategy": strategy, "evaluated": found.search.evaluated, "bic": round(found.bic, 1)}
        facts |= quality[strategy]
        memory = peak_megabytes(runs[strategy]) if strategy == "greedy" else None
        yield line(strategy, seconds, "a bincount of each pair", pairs, memory, facts)
    ours = turns["greedy"]
    if "pyAgrum" in turns:
        seconds, _ = turns["pyAgrum"]
        yield line("pyAgrum", seconds, "marginals, greedy", ours[0], None, quality["pyAgrum"])
    for name, program in programs.items():
        facts = quality[name] | {"same_edges": edges_of[name] == edges_of["greedy"]}
        yield line(name, program.seconds, "marginals, greedy", ours[0], None, facts)


def qualities(columns: Columns, table: ContingencyTable, edges_of: Mapping[str, Edges]) -> dict[str, Line]:
    """How good each model is: its KL divergence, and its BIC above that of the best of these, where it is decomposable."""
    models = {name: _decomposable(table, edges) for name, edges in edges_of.items()}
    best = min(model.bic for model in models.values() if model is not None)
    told: dict[str, Line] = {}
    for name, model in models.items():
        facts = recovered(columns, edges_of[name])
        wrong = f"{facts['missing']} edges missing, {facts['extra']} too many" if "missing" in facts else ""
        if model is None:
            told[name] = facts | {"quality": "; ".join(filter(None, ("not decomposable", wrong)))}
            continue
        facts |= {"bic_above_best": round(model.bic - best, 1), "kl_divergence": round(model.search.kl_divergence, 4)}
        told[name] = facts | {"quality": "; ".join(filter(None, (f"BIC +{model.bic - best:.1f}", wrong)))}
    return told


def _decomposable(table: ContingencyTable, edges: Edges) -> SelectedModel | None:
    """The model of a graph; None where it has a circle without a chord."""
    try:
        return fitted(table, nx.find_cliques(nx.Graph([tuple(edge) for edge in edges])))
    except NotDecomposableError:
        return None


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
        return Attribute(
            role,
            read_hierarchy(DATA / "hierarchies" / f"{name}.csv"),
            label_form="names" if name == "age" else "numbers",
        )

    attributes = {name: attribute(name, "quasi-identifier") for name in quasi_identifiers}
    secret = attribute("occupation", "sensitive") if occupation == "generalized" else Attribute("sensitive")
    return read_table(DATA / "adult.csv", attributes | {"occupation": secret}, ["?", ""], domain)


def release_lines(
    quasi_identifiers: Sequence[str], occupation: str, domain: str, wanted: Sequence[str]
) -> Iterator[Line]:
    """What the strategies publish under the policy of KG06 section 8, with the best single table in it or without.

    Seconds are those of the search with its bound, from the table's counts, the base table being known.
    """
    table = adult(quasi_identifiers, occupation, domain)
    policy = Policy(k_link=6, k_combinatorial=6, diversity="entropy:6", base="none", time_limit=TIME_LIMIT)
    single = anonymize(table, policy).minimal[0]
    keys = np.arange(len(table.counts))
    count, _ = fastest(lambda: np.bincount(keys, table.counts.counts), runs=20)
    bases: dict[str, str | Mapping[str, int]] = {"none": "none", "best": single.levels}
    for (base, levels), strategy in product([each for each in bases.items() if each[0] in wanted], STRATEGIES):
        chosen = replace(policy, base=levels, strategy=strategy)
        seconds, publication = fastest(partial(_publish_anew, table, chosen))
        found = publication.steward.search
        facts = {
            "attributes": len(quasi_identifiers) + 1,
            "occupation": occupation,
            "domain": domain,
            "base": base,
            "strategy": strategy,
            "kl_divergence": round(found.kl_divergence, 6),
            "times_best_single_table": round(found.kl_divergence / single.kl_divergence, 4),
            "evaluated": found.evaluated,
            "optimal": found.optimal,
            "bound": None if found.bound is None else round(found.bound, 6),
            "objective": None if found.value is None else round(found.value, 6),
            "gap": None if found.gap is None else round(found.gap, 6),
            "quality": f"KL {found.kl_divergence:.4f}"
            + ("" if found.gap is None else f"; gap at most {found.gap:.4f}"),
        }
        case = f"release of Adult, {len(quasi_identifiers) + 1} attributes, {domain}, "
        case += f"occupation {occupation}, base {base}, {strategy}"
        sizes = {"rows": table.counts.total}
        yield Measurement("stepwise_search", case, sizes, seconds, None, "a count of the cells", count, facts).line()


def _publish_anew(table: Table, policy: Policy) -> Publication:
    """The publication from a table of which nothing has been counted yet."""
    return publish(replace(table), policy)


def target_lines(parts: Mapping[str, Sequence[Line]]) -> Iterator[Line]:
    """What was aimed at, for the parts that were measured."""
    for part, rows, columns, limit in (("adult-columns", None, 13, 0.06), ("wide", 50_000, 100, 1.0)):
        for line in parts.get(part, ()):
            sizes = line["sizes"]
            if line.get("strategy") == "greedy" and sizes["attributes"] == columns and rows in (None, sizes["rows"]):
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


def wide_lines(quick: bool, peers: Mapping[str, Peer]) -> Iterator[Line]:
    """Selection from tables that are long, wide, and wider."""
    shapes = [(rows, LONG_COLUMNS) for rows in LONG_ROWS] + [(rows, WIDE_COLUMNS) for rows in WIDE_ROWS]
    shapes += [(ROWS, columns) for columns in COLUMNS]
    for rows, columns in dict.fromkeys(shapes):
        if quick and (rows * columns > QUICK_CELLS or columns > QUICK_COLUMNS):
            continue
        strategies = ("greedy",) if quick or columns > BOTH_UP_TO else ("greedy", "greedy-both")
        yield from selection_lines("drawn", draw_columns(rows, columns, np.random.default_rng(0)), strategies, peers)


def all_releases(cases: Sequence[tuple[Sequence[str], str, str]], bases: Sequence[str]) -> Iterator[Line]:
    """The strategies on the releases."""
    for case in cases:
        yield from release_lines(*case, bases)


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--part", choices=["adult-columns", "wide", "releases"], help="only this one")
    parser.add_argument("--quick", action="store_true", help="a few cases of each")
    numbers = range(1, len(CASES) + 1)
    parser.add_argument("--case", action="append", type=int, choices=numbers, help="of the releases; default: all")
    parser.add_argument("--base", action="append", choices=BASES, help="of the releases; default: both")
    for clone in (CHORDALYSIS, ESS):
        clone.add_to(parser)
    chosen = parser.parse_args()
    if find_spec("pyagrum") is None:
        skipped("stepwise_search pyAgrum", "it is not installed")
    peers: dict[str, Peer] = {}
    for name, clone, folder, start in (
        ("Chordalysis", CHORDALYSIS, chosen.chordalysis, chordalysis),
        ("ess", ESS, chosen.ess, ess),
    ):
        if reason := clone.missing(folder):
            skipped(f"stepwise_search {name}", reason)
        else:
            peers[name] = partial(start, folder)
    cases = chosen.case or ([1] if chosen.quick else list(numbers))
    parts: dict[str, Callable[[], Iterator[Line]]] = {
        "adult-columns": lambda: selection_lines("Adult", adult_columns(), ["greedy"], peers),
        "wide": lambda: wide_lines(chosen.quick, peers),
        "releases": lambda: all_releases([CASES[n - 1] for n in cases], chosen.base or BASES),
    }
    measured: dict[str, list[Line]] = {}
    for part, lines in parts.items():
        if chosen.part not in (None, part):
            continue
        if part != "wide" and not DATA.is_dir():
            skipped(f"stepwise_search {part}", "the Adult table is not here")
            continue
        for line in lines():
            measured.setdefault(part, []).append(line)
            say(**line)
    for line in target_lines(measured):
        say(benchmark="stepwise_search", **line)


if __name__ == "__main__":
    main()
