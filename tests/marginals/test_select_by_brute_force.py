"""`select` against all decomposable models of drawn tables: no model has a better score than the one it gives."""

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, combinations
from math import lgamma, log, prod

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import marginals

pytestmark = [pytest.mark.filterwarnings("ignore::marginals.errors.DataWarning")]


def table(seed: int) -> pd.DataFrame:
    """Return three to five columns, each of which depends on an earlier one.

    Every third table has categories that no row has, and every third one structural zeros: its last column follows from
    its first.
    """
    rng = np.random.default_rng(seed)
    rows, number = int(rng.choice([32, 200, 900])), int(rng.integers(3, 6))
    codes = [rng.integers(0, 3, rows)]
    for _ in range(number - 1):
        size, earlier = int(rng.integers(2, 5)), codes[rng.integers(len(codes))]
        codes.append(np.where(rng.random(rows) < rng.uniform(0, 0.8), earlier % size, rng.integers(0, size, rows)))
    if seed % 3 == 1:
        codes[-1] = (codes[0] == 0).astype(int)
    categories = range(7 if seed % 3 == 0 else 4)
    return pd.DataFrame({f"c{place}": pd.Categorical(own, categories) for place, own in enumerate(codes)})


def score_of(frame: pd.DataFrame, score: str) -> Callable[[tuple[str, ...]], float]:
    """The score of a set of attributes, from a count of the frame's rows; more is better."""
    rows = len(frame)

    @cache
    def of(attributes: tuple[str, ...]) -> float:
        if not attributes:
            return 0.0
        counts = frame.groupby(list(attributes), observed=True).size().to_numpy()
        cells = prod(frame[name].nunique() for name in attributes)
        likelihood = float((counts * np.log(counts / rows)).sum())
        if score == "bdeu":
            each = [lgamma(1 / cells + count) - lgamma(1 / cells) for count in counts.tolist()]
            return lgamma(1) - lgamma(1 + rows) + sum(each)
        return likelihood - (cells - 1) * (log(rows) / 2 if score == "bic" else 1.0)

    return of


def decomposable_models(names: list[str]) -> Iterator[tuple[list[tuple[str, ...]], list[tuple[str, ...]]]]:
    edges = list(combinations(names, 2))
    for chosen in chain.from_iterable(combinations(edges, number) for number in range(len(edges) + 1)):
        graph = nx.Graph(chosen)
        graph.add_nodes_from(names)
        if not nx.is_chordal(graph):
            continue
        cliques = [tuple(sorted(clique, key=names.index)) for clique in nx.chordal_graph_cliques(graph)]
        crossing = nx.Graph()
        crossing.add_nodes_from(cliques)
        for one, other in combinations(cliques, 2):
            crossing.add_edge(one, other, weight=len({*one} & {*other}))
        tree = nx.maximum_spanning_tree(crossing)
        yield cliques, [tuple(sorted({*one} & {*other}, key=names.index)) for one, other in tree.edges]


@pytest.mark.parametrize("seed", range(30))
def test_no_decomposable_model_has_a_better_score(seed: int) -> None:
    frame = table(seed)
    names = list(frame.columns)
    models = list(decomposable_models(names))
    for criterion in ("bic", "aic", "bdeu"):
        of = score_of(frame, criterion)
        best = max(sum(map(of, cliques)) - sum(map(of, separators)) for cliques, separators in models)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            selected = marginals.select(frame, criterion)
        chosen = set(selected.cliques)
        cliques, separators = next(model for model in models if set(model[0]) == chosen)
        assert sum(map(of, cliques)) - sum(map(of, separators)) == pytest.approx(best, rel=1e-10)
        assert selected.gap == pytest.approx(0.0, abs=1e-6)
