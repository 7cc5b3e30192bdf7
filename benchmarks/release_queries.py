"""Answering and sampling from an eight-clique model of Adult: seconds as JSON lines, beside other programs.

A query is a table of two or three of ten attributes, 1,000 of them drawn at random; rows are sampled by the million.
Ours is measured `cold`, with nothing kept from earlier queries, and `warm`, with everything kept. The sketch is what one
would write in plain NumPy: it multiplies dense clique tables from the leaves between the attributes to the root, and
samples by looking up uniform numbers in cumulated conditionals. All programs must agree on the answers. pgmpy and pyAgrum
take part where they are installed. Needs the real table: ../shared/data, or the folder that MARGINALS_DATA names.
"""

import importlib.util
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from models.calibrated_tree import CalibratedTree
from models.collection import Collection
from models.contingency_table import ContingencyTable
from models.data_cube import DataCube
from models.domain import Domain
from models.hierarchy import Hierarchy
from models.maximum_entropy import MaximumEntropy
from models.sampling import Sampler
from models.tree_margins import expected_counts, proportional

DATA = Path(os.environ.get("MARGINALS_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult" / "adult.csv"
CLIQUES = (
    ("marital-status", "occupation", "sex"),
    ("age", "marital-status", "sex"),
    ("occupation", "salary-class", "sex"),
    ("education", "occupation", "salary-class"),
    ("occupation", "workclass"),
    ("marital-status", "race", "sex"),
    ("native-country", "race"),
    ("marital-status", "relationship", "sex"),
)
ATTRIBUTES = tuple(sorted({a for clique in CLIQUES for a in clique}))
QUERIES, ROWS, RUNS = 1000, 1_000_000, 5


def adult_model() -> MaximumEntropy:
    """The maxent distribution of the eight marginals, at base values."""
    frame = pd.read_csv(DATA, dtype=str)
    columns = {a: pd.Categorical(frame[a]) for a in ATTRIBUTES}
    domain = Domain.of({a: Hierarchy.flat(column.categories) for a, column in columns.items()})
    base = dict.fromkeys(ATTRIBUTES, 0)
    codes = {a: column.codes for a, column in columns.items()}
    table = ContingencyTable.from_cells(domain, base, codes, np.ones(len(frame), dtype=np.int64))
    masks = [domain.mask(dict.fromkeys(clique, 0)) for clique in CLIQUES]
    return MaximumEntropy(Collection.of(DataCube([table]), masks))


def random_queries() -> list[tuple[str, ...]]:
    rng = np.random.default_rng(1)
    return [tuple(rng.choice(ATTRIBUTES, rng.integers(2, 4), replace=False).tolist()) for _ in range(QUERIES)]


class Sketch:
    """Plain NumPy over dense clique tables."""

    def __init__(self, model: MaximumEntropy) -> None:
        self.parents = model.tree.parents
        self.scopes = [table.attributes for table in model.clique_tables]
        self.letters = {a: chr(ord("a") + i) for i, a in enumerate(ATTRIBUTES)}
        self.sizes = {a: h.size(0) for a, h in model.domain.items()}
        self.separators = [table.attributes for table in model.separator_tables]
        self.tables = []
        for table, separator in zip(model.clique_tables, self.separators):
            dense = np.zeros([self.sizes[a] for a in table.attributes])
            dense[table.codes] = table.counts
            summed = tuple(i for i, a in enumerate(table.attributes) if a not in separator)
            given = dense.sum(axis=summed, keepdims=True)
            self.tables.append(dense / np.where(given > 0, given, 1))

    def _spell(self, attributes: tuple[str, ...]) -> str:
        return "".join(self.letters[a] for a in attributes)

    def query(self, asked: tuple[str, ...]) -> np.ndarray:
        """Probabilities, one axis an attribute in the order asked."""
        messages: dict[int, list[tuple[tuple[str, ...], np.ndarray]]] = {}
        answer: tuple[tuple[str, ...], np.ndarray] = ((), np.ones(()))
        for clique in reversed(range(len(self.tables))):
            scope, separator, beyond = self.scopes[clique], self.separators[clique], messages.get(clique, [])
            held = {a for names, _ in beyond for a in names}
            if clique and not (set(asked) - set(separator)) & ({*scope} | held):
                continue  # what is asked of this branch its separator knows already
            kept = tuple(a for a in dict.fromkeys((*separator, *asked)) if a in scope or a in held)
            names, values = scope, self.tables[clique]
            for left, (other, message) in enumerate(beyond, 1 - len(beyond)):
                joined = tuple(dict.fromkeys((*names, *other))) if left else kept
                values = np.einsum(
                    f"{self._spell(names)},{self._spell(other)}->{self._spell(joined)}", values, message, optimize=True
                )
                names = joined
            if not beyond:
                values = np.einsum(f"{self._spell(names)}->{self._spell(kept)}", values)
            if clique:
                messages.setdefault(self.parents[clique], []).append((kept, values))
            else:
                answer = kept, values
        return answer[1].transpose([answer[0].index(a) for a in asked])

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Codes of independent rows."""
        drawn: dict[str, np.ndarray] = {}
        for scope, separator, table in zip(self.scopes, self.separators, self.tables):
            new = tuple(a for a in scope if a not in separator)
            order = [scope.index(a) for a in (*separator, *new)]
            given = int(np.prod([self.sizes[a] for a in separator], dtype=int))
            shares = table.transpose(order).reshape(given, -1)
            cumulated = (np.cumsum(shares, axis=1) + np.arange(given)[:, None]).ravel()
            places = np.zeros(rows, dtype=np.intp)
            for attribute in separator:
                places = places * self.sizes[attribute] + drawn[attribute]
            cells = np.searchsorted(cumulated, places + rng.random(rows), side="right") - places * shares.shape[1]
            cells = np.minimum(cells, shares.shape[1] - 1)
            for attribute, codes in zip(new, np.unravel_index(cells, [self.sizes[a] for a in new])):
                drawn[attribute] = codes
        return drawn


def conditionals(sketch: Sketch) -> Iterator[tuple[str, tuple[str, ...], np.ndarray]]:
    """The same distribution as a Bayesian network: variable, parents, probabilities with the variable's axis last."""
    for scope, separator, table in zip(sketch.scopes, sketch.separators, sketch.tables):
        given = list(separator)
        for new in (a for a in scope if a not in separator):
            names = (*given, new)
            summed = np.einsum(f"{sketch._spell(scope)}->{sketch._spell(names)}", table)
            total = summed.sum(axis=-1, keepdims=True)
            yield new, tuple(given), np.where(total > 0, summed / np.where(total > 0, total, 1), 1 / summed.shape[-1])
            given.append(new)


def fastest(run: Callable[[], object], runs: int = RUNS) -> float:
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def report(program: str, task: str, seconds: float, **more: Any) -> None:
    line = {"benchmark": "release_queries", "program": program, "task": task, "seconds": round(seconds, 4)}
    print(json.dumps(line | more), flush=True)


def pgmpy_runs(sketch: Sketch, queries: list[tuple[str, ...]], answers: list[np.ndarray]) -> None:
    warnings.simplefilter("ignore")
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import BeliefPropagation
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.sampling import BayesianModelSampling

    network = DiscreteBayesianNetwork()
    network.add_nodes_from(ATTRIBUTES)
    for variable, parents, table in conditionals(sketch):
        network.add_edges_from((parent, variable) for parent in parents)
        size = table.shape[-1]
        sizes = [sketch.sizes[p] for p in parents] or None
        network.add_cpds(TabularCPD(variable, size, table.reshape(-1, size).T, list(parents) or None, sizes))
    propagation = BeliefPropagation(network)
    propagation.calibrate()

    def ask() -> list[Any]:
        return [propagation.query(list(asked), show_progress=False) for asked in queries]

    for asked, found, answer in zip(queries, ask(), answers):
        order = [found.variables.index(a) for a in asked]
        assert np.allclose(found.values.transpose(order), answer, atol=1e-9)
    report("pgmpy", "queries", fastest(ask, 1))
    sampler = BayesianModelSampling(network)
    report("pgmpy", "rows", fastest(lambda: sampler.forward_sample(size=ROWS, show_progress=False), 1))


def pyagrum_runs(sketch: Sketch, queries: list[tuple[str, ...]], answers: list[np.ndarray]) -> None:
    import pyagrum as gum

    network = gum.BayesNet()
    for variable, parents, table in conditionals(sketch):
        network.add(gum.LabelizedVariable(variable, variable, table.shape[-1]))
        for parent in parents:
            network.addArc(parent, variable)
        axes = [(*parents, variable).index(name) for name in reversed(network.cpt(variable).names)]
        network.cpt(variable)[:] = np.ascontiguousarray(table.transpose(axes))

    def ask() -> list[Any]:
        propagation = gum.LazyPropagation(network)
        return [propagation.evidenceJointImpact(list(asked), []) for asked in queries]

    for asked, found, answer in zip(queries, ask(), answers):
        order = [list(reversed(found.names)).index(a) for a in asked]
        assert np.allclose(found.toarray().transpose(order), answer, atol=1e-9)
    report("pyagrum", "queries", fastest(ask, 2))
    generator = gum.BNDatabaseGenerator(network)
    report("pyagrum", "rows", fastest(lambda: generator.drawSamples(ROWS), 1))


def main() -> None:
    if not DATA.is_file():
        print(json.dumps({"benchmark": "release_queries", "skipped": "the Adult table is not here"}))
        return
    model, queries = adult_model(), random_queries()
    sketch, margins = Sketch(model), [dict.fromkeys(asked, 0) for asked in queries]
    answers = [sketch.query(asked) for asked in queries]
    kept = proportional(CalibratedTree.of(model))
    for margin, answer in zip(margins, answers):
        assert np.allclose(expected_counts(kept, margin) / model.cube.total, answer, atol=1e-9)

    def cold() -> None:
        fresh = proportional(CalibratedTree.of(model))
        for margin in margins:
            expected_counts(fresh, margin)

    ask_sketch = fastest(lambda: [sketch.query(asked) for asked in queries])
    ask_cold = fastest(cold)
    ask_warm = fastest(lambda: [expected_counts(kept, margin) for margin in margins])
    report("sketch", "queries", ask_sketch)
    report("marginals", "queries", ask_cold, kept="nothing", faster_than_the_sketch=round(ask_sketch / ask_cold, 1))
    report("marginals", "queries", ask_warm, kept="all", faster_than_the_sketch=round(ask_sketch / ask_warm, 1))
    draw_sketch = fastest(lambda: sketch.sample(ROWS, np.random.default_rng(0)))
    sampler = Sampler(CalibratedTree.of(model))
    draw = fastest(lambda: sampler.draw(ROWS, np.random.default_rng(0)))
    report("sketch", "rows", draw_sketch)
    report("marginals", "rows", draw, faster_than_the_sketch=round(draw_sketch / draw, 1))
    for package, run in (("pgmpy", pgmpy_runs), ("pyagrum", pyagrum_runs)):
        if importlib.util.find_spec(package) is None:
            print(json.dumps({"benchmark": "release_queries", "program": package, "skipped": "it is not installed"}))
        else:
            run(sketch, queries, answers)


if __name__ == "__main__":
    main()
