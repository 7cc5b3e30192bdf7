"""The work of other programs that `tasks.py` compares with; it runs with a Python that has them installed.

    pip install pyagrum pgmpy duckdb pycanon anjana
    python benchmarks/peers.py WORK ARGUMENT ...

Each work prints one JSON object: `seconds`, its processor time without imports and reading, and `result`.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from math import log, prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

NETWORKS = ("child", "insurance", "alarm", "hailfinder", "win95pts")


def networks(folder: str, rows: str = "10000") -> object:
    """Rows drawn from the public networks whose files come with pgmpy, a CSV file each."""
    import gzip

    import pgmpy
    from pgmpy.readwrite import BIFReader

    for name in NETWORKS:
        packed = Path(pgmpy.__file__).parent / "utils" / "example_models" / f"{name}.bif.gz"
        model = BIFReader(string=gzip.decompress(packed.read_bytes()).decode()).get_model()
        drawn = model.simulate(int(rows), seed=1, show_progress=False)
        drawn[sorted(drawn.columns)].to_csv(Path(folder) / f"{name}.csv", index=False)
    return None


class Scores:
    """Parts of the BIC of decomposable models of a table: -2 ln likelihood + ln n for each parameter."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.codes = {name: pd.factorize(frame[name])[0].astype(np.int64) for name in frame}
        self.sizes = {name: int(codes.max()) + 1 for name, codes in self.codes.items()}
        self.rows, self.known = len(frame), {frozenset[str](): 0.0}

    def of(self, names: frozenset[str]) -> float:
        """What a clique contributes, or a separator takes away."""
        if names not in self.known:
            cells = np.zeros(self.rows, dtype=np.int64)
            for name in names:
                cells = cells * self.sizes[name] + self.codes[name]
            counts = np.unique(cells, return_counts=True)[1]
            parameters = prod(self.sizes[name] for name in names) - 1
            self.known[names] = -2 * float(counts @ np.log(counts / self.rows)) + log(self.rows) * parameters
        return self.known[names]


def chordal(path: str) -> object:
    """PyAgrum's greedy DAG by BIC, made chordal by its own triangulation; then edges go as long as BIC falls."""
    import pyagrum

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    begin = time.process_time()
    learner = pyagrum.BNLearner(frame)
    learner.useGreedyHillClimbing()
    learner.useScoreBIC()
    learner.useNoPrior()
    graph, names = learner.learnDAG(), learner.names()
    network = pyagrum.BayesNet()
    for name in names:
        network.add(pyagrum.LabelizedVariable(name, name, frame[name].nunique()))
    for tail, head in graph.arcs():
        network.addArc(names[tail], names[head])
    tree = pyagrum.JunctionTreeGenerator().junctionTree(network)
    near: dict[str, set[str]] = {name: set() for name in frame}
    for node in tree.nodes():
        for one, other in combinations([network.variable(n).name() for n in tree.clique(node)], 2):
            near[one].add(other)
            near[other].add(one)
    scores = Scores(frame)

    def gain(one: str, other: str) -> float:
        """By how much BIC falls without an edge; below 0 if the graph would not be chordal."""
        shared = frozenset(near[one] & near[other])
        if any(b not in near[a] for a, b in combinations(shared, 2)):
            return -1.0
        both = shared | {one, other}
        return scores.of(both) + scores.of(shared) - scores.of(shared | {one}) - scores.of(shared | {other})

    while True:
        edges = {(a, b): gain(a, b) for a in near for b in near[a] if a < b}
        edge = max(edges, key=lambda pair: edges[pair], default=None)
        if edge is None or edges[edge] <= 1e-9:
            break
        near[edge[0]].remove(edge[1])
        near[edge[1]].remove(edge[0])
    seconds = time.process_time() - begin
    return {"seconds": seconds, "result": decomposable(near, scores)}


def decomposable(near: dict[str, set[str]], scores: Scores) -> float:
    """The BIC of a chordal graph, by eliminating attributes whose neighbours are all joined."""
    left, total = {name: set(others) for name, others in near.items()}, 0.0
    while left:
        name = next(n for n, others in left.items() if all(b in left[a] for a, b in combinations(others, 2)))
        others = frozenset(left.pop(name))
        total += scores.of(others | {name}) - scores.of(others)
        for other in others:
            left[other].remove(name)
    return total


def learnt(path: str) -> tuple[pd.DataFrame, Any]:
    """A network that pyAgrum learns of a table."""
    import pyagrum

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    learner = pyagrum.BNLearner(frame)
    learner.useGreedyHillClimbing()
    learner.useSmoothingPrior(0.01)  # cells without rows have no distribution otherwise
    return frame, learner.learnBN()


def tables(path: str, asked: str) -> object:
    """Joint distributions of sets of attributes by a network; its mean total variation from the rows over all pairs."""
    frame, network = learnt(path)
    sets = json.loads(Path(asked).read_text())
    spent, away = [], []
    for _ in range(3):
        begin = time.process_time()
        for names in sets:
            joint(network, names)
        spent.append(time.process_time() - begin)
    for pair in combinations(frame, 2):
        shares, expected = frame.value_counts(list(pair), normalize=True), joint(network, pair)
        at_rows = np.array([expected[dict(zip(pair, cell))] for cell in shares.index])
        away.append((np.abs(shares.to_numpy() - at_rows).sum() + 1 - at_rows.sum()) / 2)
    return {"seconds": sorted(spent)[1], "result": float(np.mean(away))}


def joint(network: Any, names: Sequence[str]) -> Any:
    """The joint distribution of some attributes."""
    import pyagrum

    inference = pyagrum.LazyPropagation(network)
    inference.addJointTarget(set(names))
    return inference.jointPosterior(set(names))


def sample(path: str, rows: str) -> object:
    """Rows that are drawn from a network."""
    import pyagrum

    _, network = learnt(path)
    spent = []
    for _ in range(3):
        begin = time.process_time()
        pyagrum.generateSample(network, int(rows))
        spent.append(time.process_time() - begin)
    return {"seconds": sorted(spent)[1], "result": None}


def group_by(path: str) -> object:
    """DuckDB's GROUP BY of all columns of a Parquet file."""
    import duckdb

    begin = time.process_time()
    with duckdb.connect() as connection:
        count = connection.sql(f"SELECT count(*) FROM (SELECT *, count(*) AS n FROM '{path}' GROUP BY ALL)").fetchall()
    return {"seconds": time.process_time() - begin, "result": f"{count[0][0]:,} combinations"}


def k_and_l(path: str, *keys: str) -> object:
    """Pycanon's k-anonymity and distinct l-diversity of the last column."""
    from pycanon import anonymity

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    begin = time.process_time()
    k, l = anonymity.k_anonymity(frame, list(keys)), anonymity.l_diversity(frame, list(keys), [frame.columns[-1]])
    return {"seconds": time.process_time() - begin, "result": f"k = {k}, l = {l}"}


def k_anonymous(path: str, folder: str, *keys: str) -> object:
    """The discernibility of anjana's 10-anonymous table without suppressed rows."""
    from anjana.anonymity import k_anonymity

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    files = {name: pd.read_csv(Path(folder) / f"{name}.csv", sep=";", header=None, dtype=str) for name in keys}
    begin = time.process_time()
    made = k_anonymity(frame, [], list(keys), 10, 0, {name: dict(levels.items()) for name, levels in files.items()})
    seconds = time.process_time() - begin
    return {"seconds": seconds, "result": float((made.groupby(list(keys)).size() ** 2).sum())}


WORKS: dict[str, Callable[..., object]] = {
    work.__name__: work for work in (networks, chordal, tables, sample, group_by, k_and_l, k_anonymous)
}

if __name__ == "__main__":
    if sys.argv[1] in ("chordal", "tables", "sample"):
        import pyagrum

        pyagrum.setNumberOfThreads(1)  # threads that wait for each other would count as processor time
    print(json.dumps(WORKS[sys.argv[1]](*sys.argv[2:])))
