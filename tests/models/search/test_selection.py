"""Model selection: the graph the rows were drawn from is found again, and published figures of known tables hold."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filled_tables import filled, flat_domain, of_rows, of_vectors
from models import (
    KL,
    STRATEGIES,
    Collection,
    DataCube,
    Deadline,
    LikelihoodRatio,
    Limits,
    MaximumEntropy,
    exact,
    select,
)
from strategies import contingency_tables, domains

local = STRATEGIES["local"]


def drawn_from_a_model(seed, attributes=7, rows=40_000):
    """A table of rows from a random decomposable model, and its graph.

    Each attribute depends on some of a clique of those before it, by random conditional distributions.
    """
    rng = np.random.default_rng(seed)
    names, columns, cliques, sizes = "abcdefg"[:attributes], [], [()], []
    graph = nx.Graph()
    for name in range(attributes):
        clique = cliques[rng.integers(len(cliques) // 2, len(cliques))]
        parents = tuple(sorted(rng.permutation(clique)[: rng.choice([0, 1, 2, 2])].astype(int).tolist()))
        size = int(rng.integers(2, 4))
        conditionals = rng.dirichlet([0.6] * size, [sizes[p] for p in parents])
        cumulative = conditionals.cumsum(axis=-1)[tuple(columns[p] for p in parents)]
        columns.append((rng.random(rows)[:, None] > np.broadcast_to(cumulative, (rows, size))[:, :-1]).sum(axis=1))
        sizes.append(size)
        cliques.append((*parents, name))
        graph.add_node(names[name])
        graph.add_edges_from((names[p], names[name]) for p in parents)
    return of_rows(flat_domain(**dict(zip(names, sizes))), np.column_stack(columns)), graph


@pytest.mark.parametrize("seed", range(1, 6))
def test_bic_finds_the_graph_that_the_rows_were_drawn_from(seed):
    """Schwarz's criterion is consistent, and 40,000 rows are many."""
    table, graph = drawn_from_a_model(seed)
    assert nx.is_chordal(graph)
    selected = select(table)
    assert nx.utils.graphs_equal(selected.graph, graph)
    assert {frozenset(clique) for clique in selected.cliques} == set(map(frozenset, nx.find_cliques(graph)))


@settings(max_examples=30)
@given(st.data())
def test_every_attribute_is_in_the_model_and_its_figures_are_those_of_the_closed_form(data):
    """Of a table at any levels, one attribute left out or not; the level is what counts as a value."""
    domain = data.draw(domains(max_cells=60))
    base = data.draw(contingency_tables(domain))
    levels = {a: data.draw(st.integers(0, h.height - 1)) for a, h in domain.items()}
    table = base.rolled_up(dict(list(levels.items())[: data.draw(st.integers(1, len(levels)))]))
    selected = select(table, data.draw(st.sampled_from(["bic", "aic", "likelihood-ratio"])))
    assert set(selected.graph) == set(table.attributes) == {a for clique in selected.cliques for a in clique}
    cube = DataCube([table])
    masks = [domain.mask({a: table.margin[a] for a in clique}) for clique in selected.cliques]
    entropies = sum(map(cube.entropy, Collection.of(cube, masks).junction_tree.cliques))
    entropies -= sum(map(cube.entropy, Collection.of(cube, masks).junction_tree.separators))
    deviance = 2 * table.total * (entropies - cube.entropy(table.mask))
    assert selected.deviance == pytest.approx(deviance, abs=1e-7)
    assert selected.degrees_of_freedom == selected.model.closed_form.degrees_of_freedom
    assert (selected.aic, selected.bic) == (selected.model.closed_form.aic, selected.model.closed_form.bic)


def modelled(table, graph):
    """The model of some edges and cliques: what is required of it, where all other pairs are forbidden."""
    forbidden = [p for p in combinations(table.attributes, 2) if not any(set(p) <= set(clique) for clique in graph)]
    return select(table, "kl", limits=Limits(required=tuple(graph), forbidden=tuple(forbidden)))


def test_criteria_limits_and_time_say_how_large_a_model_is():
    table, _ = drawn_from_a_model(0, attributes=4, rows=500)
    assert select(table, KL).cliques == (table.attributes,), "with the divergence alone more is always better"
    assert select(table, "kl").deviance == pytest.approx(0, abs=1e-6)
    at_once = select(table, deadline=Deadline(0.0, lambda: 1.0))
    assert at_once.cliques == tuple((name,) for name in table.attributes)
    assert at_once.graph.number_of_edges() == 0
    table, _ = drawn_from_a_model(2, rows=400)
    edges = [select(table, LikelihoodRatio(400, alpha)).graph.number_of_edges() for alpha in (0.9, 0.05, 1e-9)]
    assert edges == sorted(edges, reverse=True)
    assert edges[0] > edges[-1]


def test_one_attribute_can_limit_the_cliques():
    table, graph = drawn_from_a_model(3)
    assert max(map(len, nx.find_cliques(graph))) > 2
    limited = select(table, limits=Limits(max_attributes=2))
    assert max(map(len, limited.cliques)) == 2
    assert nx.is_forest(limited.graph)
    assert max(map(len, select(table, "kl", limits=Limits(max_attributes=3)).cliques)) == 3


@pytest.mark.data
@pytest.mark.parametrize("strategy", [local, exact])
@pytest.mark.parametrize(
    ("name", "criterion", "cliques"),
    [
        ("HairEyeColor", "bic", [("Hair", "Eye"), ("Sex",)]),
        ("HairEyeColor", "aic", [("Hair", "Eye"), ("Hair", "Sex")]),
        ("UCBAdmissions", "bic", [("Admit", "Dept"), ("Gender", "Dept")]),
    ],
)
def test_deviance_and_degrees_of_freedom_of_the_selected_model_are_those_of_r_loglin(
    shared_vectors, strategy, name, criterion, cliques
):
    """The selected model is one of those that were fitted by R's stats::loglin."""
    example, table = of_vectors(shared_vectors, "loglin.json", name)
    selected = select(table, criterion, strategy)
    assert set(map(frozenset, selected.cliques)) == set(map(frozenset, cliques))
    (model,) = (
        model
        for model in example["models"]
        if {frozenset([g] if isinstance(g, str) else g) for g in model["generators"]} == set(map(frozenset, cliques))
    )
    assert selected.deviance == pytest.approx(model["lrt"], abs=1e-8)
    assert selected.degrees_of_freedom == model["df"]


@pytest.mark.data
def test_the_model_of_the_czech_autoworkers_is_the_best_of_all_decomposable_ones(shared_vectors):
    """Local search finds what the exact search proves: ACE, ADE, BC, F; deviance by the closed form."""
    _, table = of_vectors(shared_vectors, "autoworkers.json")
    best = select(table, "bic", exact)
    assert best.search.optimal
    assert best.cliques == (("A", "C", "E"), ("A", "D", "E"), ("B", "C"), ("F",))
    assert best.degrees_of_freedom == 63 - (7 + 7 - 3) - (3 - 1) - 1
    assert select(table, "bic", local).cliques == best.cliques
    model = MaximumEntropy(Collection.of(DataCube([table]), best.collection.masks))
    assert best.bic == pytest.approx(model.bic)
    assert select(table).cliques == best.cliques
    assert (round(best.bic, 1), round(best.p_value, 3), best.gap) == (13453.6, 0.099, 0)


def test_required_and_forbidden_attributes():
    table, _ = drawn_from_a_model(0, attributes=4, rows=50)
    selected = select(table, limits=Limits(required=(("a", "d"),), forbidden=(("a", "b"),)))
    assert selected.graph.has_edge("a", "d")
    assert not selected.graph.has_edge("a", "b")


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from(["bic", "aic"]))
def test_adjusted_criteria_are_those_of_the_parameters_that_can_be_estimated(seed, criterion):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.8, 36)
    counts[0] += 1
    table = filled(flat_domain(a=3, b=4, c=3), counts)
    price = np.log(table.total) if criterion == "bic" else 2
    graphs = [(("a", "b"), ("b", "c")), (("a", "c"), ("b", "c")), (("a", "b"), ("a", "c"))]
    graphs += [(("a", "b"),), (("a", "c"),), (("b", "c"),), (), (("a", "b", "c"),)]
    models = [modelled(table, graph) for graph in graphs]
    best = min(price * model.adjusted_parameters - 2 * model.log_likelihood for model in models)
    found = select(table, criterion, parameters="adjusted")
    assert found.search.optimal
    assert price * found.adjusted_parameters - 2 * found.log_likelihood == pytest.approx(best, abs=1e-6)
