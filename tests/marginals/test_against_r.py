"""Classic tables: R gives every decomposable model the same figures, and by them the selected one is the best."""

import io
import shutil
import subprocess
from functools import cache
from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import marginals

TABLES = ["HairEyeColor", "Titanic", "UCBAdmissions", "housing"]

HOUSING = "xtabs(Freq ~ Sat + Infl + Type + Cont, MASS::housing)"

FIGURES = "cat(sprintf('%.9f %d\\n', f$lrt, as.integer(f$df)))"

AUTOWORKERS = np.fromstring(
    "44 40 112 67 129 145 12 23 35 12 80 33 109 67 7 9 23 32 70 66 50 80 7 13 24 25 73 57 51 63 7 16 5 7 "
    "21 9 9 17 1 4 4 3 11 8 14 17 5 2 7 3 14 14 9 16 2 3 4 0 13 11 5 14 4 4",
    dtype=int,
    sep=" ",
)
"""Edwards and Havranek 1985, A fastest; `reinis` of gRbase is the same table."""

IN_R = f"x <- array(c({', '.join(map(str, AUTOWORKERS))}), rep(2, 6), setNames(rep(list(0:1), 6), LETTERS[1:6]))"

pytestmark = [
    pytest.mark.skipif(
        shutil.which("R") is None
        or bool(subprocess.run(["R", "-s", "-e", "library(MASS)"], capture_output=True).returncode),
        reason="R with MASS is not installed (apt install r-base-core r-cran-mass)",
    )
]


def in_r(program):
    command = ["R", "--vanilla", "--no-echo"]
    return subprocess.run(command, input=program + "\n", check=True, capture_output=True, text=True).stdout


def chordal_models(attributes):
    """The cliques of every decomposable model."""
    pairs = list(combinations(attributes, 2))
    for size in range(len(pairs) + 1):
        for edges in combinations(pairs, size):
            graph = nx.Graph(edges)
            graph.add_nodes_from(attributes)
            if nx.is_chordal(graph):
                yield tuple(map(tuple, nx.find_cliques(graph)))


def r_cliques(cliques):
    """Margins as loglin takes them."""
    return f"list({', '.join(f'c({chr(44).join(map(repr, clique))})' for clique in cliques)})"


def fitted_by(name, cliques):
    """R's fit of a model: by MASS's loglm for its own table, by loglin for the others."""
    if name == "housing":
        return f"loglm(~ {' + '.join('*'.join(clique) for clique in cliques)}, housing, eps = 1e-9, iter = 99)"
    return f"loglin({name}, {r_cliques(cliques)}, print = F, eps = 1e-9, iter = 99)"


@pytest.fixture(scope="module")
def classics():
    """Each table as R prints it, and the deviance and degrees of freedom of each decomposable model by R."""
    setting = f"library(MASS); housing <- {HOUSING}\n"
    tables = f"for (x in list({', '.join(TABLES)})) {{ write.csv(as.data.frame(x), row.names = F); cat('#') }}"
    frames = {
        name: pd.read_csv(io.StringIO(text.strip())) for name, text in zip(TABLES, in_r(setting + tables).split("#"))
    }
    models = {name: list(chordal_models(list(frame.columns[:-1]))) for name, frame in frames.items()}
    fits = [f"f <- {fitted_by(name, model)}; {FIGURES}" for name in TABLES for model in models[name]]
    lines = iter(in_r(setting + "\n".join(fits)).splitlines())
    figures = {name: [(model, *map(float, next(lines).split())) for model in models[name]] for name in TABLES}
    return frames, figures


@pytest.mark.parametrize("name", TABLES)
def test_deviances_and_degrees_of_freedom_are_those_of_r(classics, name):
    frames, figures = classics
    for cliques, deviance, degrees in figures[name]:
        model = marginals.selection.fit_model(frames[name], cliques, counts="Freq")
        assert model.deviance == pytest.approx(deviance, abs=1e-6)
        assert model.degrees_of_freedom == degrees


@pytest.mark.parametrize("name", TABLES)
def test_what_tests_of_significance_select_is_fixed_under_the_tests_of_r(classics, name):
    """By R's figures no edge that can go is insignificant at 5 percent, and none that can come is significant."""
    frames, figures = classics
    selected = marginals.select(frames[name], "likelihood-ratio", counts="Freq")
    by_edges = {_edges(cliques): (deviance, degrees) for cliques, deviance, degrees in figures[name]}
    own = frozenset(map(frozenset, selected.graph.edges))
    p = {frozenset((line.first, line.second)): line.p for line in selected.tests().itertuples()}
    for edges, (deviance, degrees) in by_edges.items():
        if len(edges ^ own) != 1:
            continue
        (edge,) = edges ^ own
        difference = abs(deviance - by_edges[own][0]), abs(degrees - by_edges[own][1])
        significance = float(chi2.sf(*difference))
        assert (significance <= 0.05) == (edge in own)
        if edge in own:
            assert p[edge] == pytest.approx(significance, rel=1e-4, abs=1e-12)


def _edges(cliques):
    return frozenset(frozenset(pair) for own in cliques for pair in combinations(own, 2))


@cache
def workers():
    index = pd.MultiIndex.from_product([["0", "1"]] * 6, names=list("FEDCBA"))
    return pd.Series(AUTOWORKERS, index, name="Freq").reset_index()[[*"ABCDEF", "Freq"]]


@pytest.mark.parametrize(
    ("criterion", "parameters"),
    [("bic", "nominal"), ("aic", "nominal"), ("likelihood-ratio", "nominal"), ("bic", "adjusted")],
)
def test_models_of_the_czech_autoworkers_have_the_figures_of_loglin(criterion, parameters):
    """No cell of a clique of these is empty, so that adjusted parameters are the nominal ones."""
    selected = marginals.select(workers(), criterion, counts="Freq", parameters=parameters)
    fit = f"f <- loglin(x, {selected.to_r()}, print = F, fit = T, eps = 1e-9, iter = 99)"
    figures = "cat(sprintf('%.9f', c(f$lrt, f$df, pchisq(f$lrt, f$df, lower.tail = F), sum(x * log(f$fit / sum(x))))))"
    deviance, degrees, p, log_likelihood = map(float, in_r("\n".join([IN_R, fit, figures])).split())
    assert (selected.deviance, selected.p_value) == pytest.approx((deviance, p), abs=1e-6)
    assert selected.degrees_of_freedom == selected.adjusted_degrees_of_freedom == degrees
    assert selected.log_likelihood == pytest.approx(log_likelihood, abs=1e-5)
    if criterion == "bic":
        assert (round(selected.bic, 1), round(p, 3), selected.gap) == (13453.6, 0.099, 0)
