"""Answering and sampling from an eight-clique model of Adult, beside other programs; queries of chains that grow.

A query is a table of two or three of ten attributes, 1,000 of them drawn at random; rows are sampled by decades. Ours
is measured with nothing kept from earlier queries, with the cliques of its tree linked before, since mbi compiles each
query before (its answers are waited for: JAX returns before they are there), and with everything kept. The sketch is
what one would write in plain NumPy: it multiplies dense clique tables from the leaves between the attributes to the
root, and samples by looking up uniform numbers in cumulated conditionals. All programs must agree on the answers.
pgmpy, pyAgrum and mbi take part where they are installed, with a million rows. Needs the real table for this:
../shared/data, or the folder that MARGINALS_DATA names. The chains are simulated; their margins grow by decades, and
each is asked for the table of its two ends, with one bincount of the cells of all margins as the yardstick.
"""

import importlib.util
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measurement import Measurement, Seconds, fastest, interleaved, options, peak_megabytes, skipped

from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    Hierarchy,
    MaximumEntropy,
)
from models.inference.calibrated_tree import CalibratedTree, Sampler, expected_counts, proportional

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
QUERIES, ROWS = 1000, 1_000_000
FEW = 20
"""Queries that mbi is asked, which compiles each for half a second."""

LEAST_LOGARITHM = -700.0
"""Of a probability of nothing, where a program cannot count with minus infinity."""
DECADES = (10_000, 100_000, ROWS, 10_000_000)
TASK = f"{QUERIES:,} queries"
CHAINS = (10, 30, 100, 1_000)
CHAIN_VALUES, CHAIN_ROWS = 10, 100_000

Runs = tuple[Callable[[], Any], Callable[[], Any]]


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


def report(program: str, task: str, seconds: float, yardstick: str, beside: float, **more: Any) -> None:
    sizes = {"rows": more.pop("rows")} if "rows" in more else {}
    memory = more.pop("memory", None)
    case = f"{task}, {program}"
    Measurement("release_queries", case, sizes, seconds, memory, yardstick, beside, more).print()


def pgmpy_runs(sketch: Sketch, queries: list[tuple[str, ...]], answers: list[np.ndarray]) -> Runs:
    """What asks the queries, and what draws the rows."""
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
    sampler = BayesianModelSampling(network)
    return ask, lambda: sampler.forward_sample(size=ROWS, show_progress=False)


def pyagrum_runs(sketch: Sketch, queries: list[tuple[str, ...]], answers: list[np.ndarray]) -> Runs:
    """What asks the queries, and what draws the rows."""
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
    generator = gum.BNDatabaseGenerator(network)
    return ask, lambda: generator.drawSamples(ROWS)


def mbi_runs(sketch: Sketch, queries: list[tuple[str, ...]], answers: list[np.ndarray]) -> tuple[Runs, Seconds]:
    """What asks the queries, each of which is compiled by then, and what draws the rows; how long compiling took."""
    warnings.simplefilter("ignore")
    import jax

    jax.config.update("jax_enable_x64", True)
    import mbi

    domain = mbi.Domain(ATTRIBUTES, [sketch.sizes[a] for a in ATTRIBUTES])
    with np.errstate(divide="ignore"):
        factors = {
            scope: mbi.Factor(domain.project(scope), jax.numpy.asarray(np.maximum(np.log(table), LEAST_LOGARITHM)))
            for scope, table in zip(sketch.scopes, sketch.tables)
        }
    potentials = mbi.CliqueVector(domain, list(factors), factors)
    marginals = mbi.marginal_oracles.message_passing_shafer_shenoy(potentials, 1.0)
    field = mbi.MarkovRandomField(potentials=potentials, marginals=marginals, total=1.0)

    def ask() -> Any:
        return jax.block_until_ready(mbi.marginal_oracles.bulk_variable_elimination(potentials, queries, total=1.0))

    compiled, found = fastest(ask, runs=1)
    for asked, answer in zip(queries, answers):
        assert np.allclose(found[asked].values, answer, atol=1e-9)
    return (ask, lambda: field.synthetic_data(ROWS, method="sample")), compiled


def chain(margins: int) -> MaximumEntropy:
    """Pairs of neighbours in a row of attributes, each of which copies the one before it half of the time."""
    rng = np.random.default_rng(0)
    names = [f"a{i:04}" for i in range(margins + 1)]
    domain = Domain.of({name: Hierarchy.flat(map(str, range(CHAIN_VALUES))) for name in names})
    ones = np.ones(CHAIN_ROWS, dtype=np.int64)
    before = rng.integers(0, CHAIN_VALUES, CHAIN_ROWS)
    tables = []
    for first, second in zip(names, names[1:]):
        fresh = rng.random(CHAIN_ROWS) < 0.5
        after = np.where(fresh, rng.integers(0, CHAIN_VALUES, CHAIN_ROWS), before)
        margin = {first: 0, second: 0}
        tables.append(ContingencyTable.from_cells(domain, margin, {first: before, second: after}, ones))
        before = after
    return MaximumEntropy(Collection.of(DataCube(tables), [table.mask for table in tables]))


def ends_of_chains() -> None:
    for margins in CHAINS:
        model = chain(margins)
        tables = [(np.arange(len(table)), table.counts) for table in model.clique_tables]
        ends = dict.fromkeys((model.domain.attributes[0], model.domain.attributes[-1]), 0)
        bincount, _ = fastest(lambda pairs=tables: [np.bincount(*pair) for pair in pairs], runs=20)  # type: ignore[misc]

        def ask(asked: MaximumEntropy = model, margin: dict[str, int] = ends) -> object:
            return expected_counts(proportional(CalibratedTree.of(asked)), margin)

        seconds, _ = fastest(ask)
        Measurement(
            "release_queries",
            "ends of a chain, marginals",
            {"margins": margins},
            seconds,
            peak_megabytes(ask),
            "a bincount of each marginal",
            bincount,
        ).print()


def adult() -> None:
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

    sampler = Sampler(CalibratedTree.of(model))
    asking: dict[str, Callable[[], Any]] = {
        "NumPy sketch": lambda: [sketch.query(asked) for asked in queries],
        "nothing kept": cold,
        "all kept": lambda: [expected_counts(kept, margin) for margin in margins],
    }
    drawing: dict[str, Callable[[], Any]] = {
        "NumPy sketch": lambda: sketch.sample(ROWS, np.random.default_rng(0)),
        "marginals": lambda: sampler.draw(ROWS, np.random.default_rng(0)),
    }
    peers = []
    for package, run in (("pgmpy", pgmpy_runs), ("pyagrum", pyagrum_runs)):
        if importlib.util.find_spec(package) is None:
            skipped(f"release_queries {package}", "it is not installed")
        else:
            peers.append(package)
            asking[package], drawing[package] = run(sketch, queries, answers)
    if importlib.util.find_spec("mbi") is None:
        skipped("release_queries mbi", "it is not installed")
    else:
        few = list(dict.fromkeys(queries))[:FEW]
        (asks, drawing["mbi"]), compiled = mbi_runs(sketch, few, [sketch.query(asked) for asked in few])

        def ask(tree: CalibratedTree) -> None:
            fresh = proportional(tree)
            for asked in few:
                expected_counts(fresh, dict.fromkeys(asked, 0))

        linked = CalibratedTree.of(model)
        ask(linked)
        runs = {
            "mbi": asks,
            "marginals, tree linked before": lambda: ask(linked),
            "marginals, nothing kept": lambda: ask(CalibratedTree.of(model)),
        }
        taken = {name: seconds for name, (seconds, _) in interleaved(runs, runs=20).items()}
        task = f"{FEW} queries"
        for ours in list(runs)[1:]:
            report("mbi, compiled before", task, taken["mbi"], ours, taken[ours], same_answers=FEW)
        report("mbi, compiling", task, compiled, ours, taken[ours])
    asked_in = {name: seconds for name, (seconds, _) in interleaved(asking).items()}
    drawn_in = {name: seconds for name, (seconds, _) in interleaved(drawing).items()}
    for name, memory in (("nothing kept", peak_megabytes(cold)), ("all kept", None)):
        report(f"marginals, {name}", TASK, asked_in[name], "NumPy sketch", asked_in["NumPy sketch"], memory=memory)
    report("NumPy sketch", "sample", drawn_in["NumPy sketch"], "marginals", drawn_in["marginals"], rows=ROWS)
    for package in peers:
        beside = asked_in["nothing kept"]
        report(package, TASK, asked_in[package], "marginals, nothing kept", beside, same_answers=len(queries))
    for package in drawing.keys() - {"NumPy sketch", "marginals"}:
        report(package, "sample", drawn_in[package], "marginals", drawn_in["marginals"], rows=ROWS)
    for rows in DECADES:
        seconds, drawn = fastest(lambda n=rows: sampler.draw(n, np.random.default_rng(0)))  # type: ignore[misc]
        memory = peak_megabytes(lambda n=rows: sampler.draw(n, np.random.default_rng(0)))  # type: ignore[misc]
        copy, _ = fastest(lambda columns=drawn: [column.copy() for column in columns.values()])  # type: ignore[misc]
        report("marginals", "sample", seconds, "copy of the codes", copy, rows=rows, memory=memory)


def main() -> None:
    options(__file__, __doc__).parse_args()
    ends_of_chains()
    if DATA.is_file():
        adult()
    else:
        skipped("release_queries", "the Adult table is not here")


if __name__ == "__main__":
    main()
