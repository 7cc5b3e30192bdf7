"""The closed form is the maximum-entropy joint, and each of its figures equals brute force over that joint."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brute_force import (
    base_cells,
    dense_marginal,
    entropy,
    free_parameter_count,
    independent,
    iterative_proportional_fitting,
    joint_array,
    kl_divergence,
)
from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    Hierarchy,
    MarginalModel,
    MaximumEntropy,
    NotDecomposableError,
)
from strategies import (
    NOT_DECOMPOSABLE,
    SHAPE_DOMAIN,
    SHAPES,
    decomposable_collections,
    shape_cube,
)


def _base(cube):
    return cube.table(sum(cube.domain.attribute_masks))


def _of_shape(shape):
    return Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))


def _joint(collection):
    """The closed form laid out over all base cells."""
    shape = [hierarchy.size(0) for hierarchy in collection.domain.hierarchies]
    return np.exp(MaximumEntropy(collection).log_probability(base_cells(collection.domain))).reshape(shape)


def _assert_is_maximum_entropy(collection):
    p = joint_array(_base(collection.cube)) / collection.cube.total
    q = _joint(collection)
    fitted = iterative_proportional_fitting(p, collection.domain, collection.margins)
    np.testing.assert_allclose(q, fitted, atol=1e-10)
    for margin in collection.margins:
        np.testing.assert_allclose(*(dense_marginal(joint, collection.domain, margin) for joint in (q, p)), atol=1e-12)


def _assert_figures_equal_brute_force(collection):
    domain, rows = collection.domain, collection.cube.total
    p, q, model = joint_array(_base(collection.cube)) / rows, _joint(collection), MaximumEntropy(collection)
    log_likelihood = sum(rows * p[p > 0] * np.log(q[p > 0]))
    parameters = free_parameter_count(domain, collection.margins)
    assert model.kl_divergence == pytest.approx(kl_divergence(p, q), abs=1e-9)
    assert model.cross_entropy == pytest.approx(-log_likelihood / rows, abs=1e-9)
    assert model.entropy == pytest.approx(entropy(q), abs=1e-9)
    assert model.information == pytest.approx(kl_divergence(q, independent(q)), abs=1e-9)
    assert model.total_information == pytest.approx(kl_divergence(q, np.full(q.shape, 1 / q.size)), abs=1e-9)
    assert model.log_likelihood == pytest.approx(log_likelihood, abs=1e-7)
    assert model.deviance == pytest.approx(2 * rows * kl_divergence(p, q), abs=1e-7)
    assert model.parameter_count == parameters
    assert model.degrees_of_freedom == p.size - 1 - parameters
    assert model.aic == pytest.approx(2 * parameters - 2 * log_likelihood, abs=1e-6)
    assert model.bic == pytest.approx(np.log(rows) * parameters - 2 * log_likelihood, abs=1e-6)


@given(decomposable_collections(max_cells=100))
def test_the_closed_form_and_its_figures_equal_brute_force(collection):
    """KG06 Theorem 6.1 against iterative proportional fitting."""
    _assert_is_maximum_entropy(collection)
    _assert_figures_equal_brute_force(collection)
    everything = Collection.of(collection.cube, [sum(collection.domain.attribute_masks)])
    assert MaximumEntropy(everything).kl_divergence == pytest.approx(0, abs=1e-12)
    assert MaximumEntropy(everything).degrees_of_freedom == 0
    for whole in (everything, Collection.of(collection.cube, [])):
        _assert_is_maximum_entropy(whole)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_decomposable_shape_has_the_closed_form_and_others_are_refused(shape):
    if shape in NOT_DECOMPOSABLE:
        with pytest.raises(NotDecomposableError):
            MaximumEntropy(_of_shape(shape))
    else:
        _assert_is_maximum_entropy(_of_shape(shape))
        _assert_figures_equal_brute_force(_of_shape(shape))


@given(decomposable_collections(), st.randoms())
def test_information_is_the_same_to_the_bit_in_whatever_order_the_marginals_and_their_cells_stand(collection, random):
    """From the marginals alone, over another order of attributes and values, as another program might write them."""
    hierarchies = list(collection.domain.items())
    random.shuffle(hierarchies)
    domain = Domain.of({a: Hierarchy.from_rows(random.sample(rows := h.rows(), len(rows))) for a, h in hierarchies})
    tables = []
    for table in random.sample(collection.tables, len(collection.tables)):
        codes = {
            a: [domain.hierarchy(a).code(table.domain.hierarchy(a).labels[level][code], level) for code in column]
            for (a, level), column in zip(((a, table.margin[a]) for a in table.attributes), table.codes)
        }
        arrays = {a: np.array(column, dtype=np.int64) for a, column in codes.items()}
        tables.append(ContingencyTable.from_cells(domain, table.margin, arrays, table.counts))
    if tables:
        shuffled = Collection.of(DataCube(tables), [table.mask for table in tables])
        assert MaximumEntropy(shuffled).information == MaximumEntropy(collection).information


@given(decomposable_collections())
def test_publishing_more_never_raises_the_divergence(collection):
    """KG06 Theorem 6.3, one clique after the other in perfect sequence and then joined with its parent."""
    cliques, parents = collection.junction_tree.cliques, collection.junction_tree.parents
    sequence = [cliques[:n] for n in range(len(cliques) + 1)]
    sequence += [[*cliques[:-1], cliques[-1] | cliques[parents[-1]]]] if cliques and parents[-1] >= 0 else []
    divergences = [MaximumEntropy(Collection.of(collection.cube, masks)).kl_divergence for masks in sequence]
    assert all(finer <= coarser + 1e-12 for coarser, finer in pairwise(divergences))
    assert min(divergences) >= 0
    again = MaximumEntropy(Collection.of(collection.cube, [*reversed(collection.masks), *cliques[:1], 0]))
    assert again.kl_divergence == MaximumEntropy(collection).kl_divergence, "order and repeats change nothing"
    np.testing.assert_array_equal(_joint(again.collection), _joint(collection))


@given(decomposable_collections())
def test_the_published_marginals_alone_give_the_same_distribution(collection):
    """An analyst has no base table: all but the divergence from it must come from the marginals."""
    assume(collection.masks)
    analyst = Collection.of(DataCube(collection.tables), collection.masks)
    np.testing.assert_array_equal(_joint(analyst), _joint(collection))
    assert MaximumEntropy(analyst).cross_entropy == MaximumEntropy(collection).cross_entropy
    if sum(collection.domain.attribute_masks) not in collection.masks:
        with pytest.raises(DomainMismatchError, match="no table shows the margin"):
            _ = MaximumEntropy(analyst).kl_divergence


def test_figures_in_a_domain_too_large_to_lay_out_are_those_of_the_rows():
    """10^28 cells: the divergence is the mean log ratio over the rows."""
    rng = np.random.default_rng(0)
    rows = [(str(value), f"{value // 10}x", "*") for value in range(100)]
    domain = Domain.of({f"q{i}": Hierarchy.from_rows(rows) for i in range(14)})
    base = dict.fromkeys(domain.attributes, 0)
    codes = dict(zip(domain.attributes, rng.integers(0, 100, (14, 200)) // 30 * 30))
    table = ContingencyTable.from_cells(domain, base, codes, rng.integers(1, 9, 200))
    chain = [{f"q{i}": 0, f"q{i + 1}": 1} | ({f"q{i + 1}": 0} if i % 3 else {}) for i in range(12)]
    model = MaximumEntropy(Collection.of(DataCube([table]), map(domain.mask, chain)))
    p = table.counts / table.total
    log_q = model.log_probability(dict(zip(table.attributes, table.codes)))
    assert model.kl_divergence == pytest.approx(p @ (np.log(p) - log_q), abs=1e-9)
    assert model.degrees_of_freedom == 100**14 - 1 - model.parameter_count


def _r_table(example):
    """One of R's tables: values without generalizations, the first variable fastest."""
    domain = Domain.of({name: Hierarchy.flat(labels) for name, labels in zip(example["vars"], example["levels"])})
    shape = [len(labels) for labels in example["levels"]]
    codes = dict(zip(domain.attributes, np.unravel_index(np.arange(np.prod(shape)), shape, order="F")))
    table = ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, np.array(example["counts"]))
    return domain, codes, DataCube([table])


@pytest.mark.data
@pytest.mark.parametrize(("name", "fitted_count"), [("HairEyeColor", 4), ("UCBAdmissions", 3), ("Titanic", 4)])
def test_deviance_degrees_of_freedom_and_fit_are_those_of_r_loglin(shared_vectors, name, fitted_count):
    """Every decomposable model among R's; the others, which loglin iterates for until it misses 0.1, are fitted."""
    example = json.loads((shared_vectors / "loglin.json").read_text())[name]
    domain, codes, cube = _r_table(example)
    assert cube.total == example["n"]
    fitted = 0
    for model in example["models"]:
        groups = [[names] if isinstance(names, str) else names for names in model["generators"]]
        collection = Collection.of(cube, [domain.mask(dict.fromkeys(names, 0)) for names in groups])
        expected = MarginalModel(collection).expected(dict.fromkeys(domain.attributes, 0))
        np.testing.assert_allclose(expected.ravel(order="F"), model["fit"], rtol=1e-6, atol=0.1)
        if not collection.is_decomposable:
            with pytest.raises(NotDecomposableError):
                MaximumEntropy(collection)
            continue
        q, fitted = MaximumEntropy(collection), fitted + 1
        assert q.deviance == pytest.approx(model["lrt"], abs=1e-8)
        assert q.degrees_of_freedom == model["df"]
        np.testing.assert_allclose(cube.total * np.exp(q.log_probability(codes)), model["fit"], rtol=1e-9, atol=1e-9)
    assert fitted == fitted_count


@pytest.mark.data
def test_cliques_and_separators_give_the_published_bounds_of_the_czech_autoworkers(shared_vectors):
    """Dobra and Fienberg: min over the cliques, and sum over cliques less sum over separators, around the estimate."""
    example = json.loads((shared_vectors / "autoworkers.json").read_text())
    names = example["variables"]
    domain = Domain.of({name: Hierarchy.flat(["0", "1"]) for name in names})
    codes = dict(zip(names, np.unravel_index(np.arange(64), [2] * 6, order="F")))
    table = ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), codes, np.array(example["counts"]))
    masks = [domain.mask(dict.fromkeys(clique, 0)) for clique in example["cliques"]]
    q = MaximumEntropy(Collection.of(DataCube([table]), masks))
    cliques, separators = ([t.counts_of(codes) for t in tables] for tables in (q.clique_tables, q.separator_tables[1:]))
    assert np.minimum.reduce(cliques).tolist() == example["upper"]
    assert np.maximum(np.sum(cliques, axis=0) - np.sum(separators, axis=0), 0).tolist() == example["lower"]
    expected = table.total * np.exp(q.log_probability(codes))
    assert (np.array(example["lower"]) <= expected).all()
    assert (expected <= np.array(example["upper"])).all()
    assert q.degrees_of_freedom == 63 - (3 + 15 + 7 - 1 - 3)
