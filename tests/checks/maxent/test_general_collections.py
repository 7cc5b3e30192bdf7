"""Collections without a junction tree: verified against the full joint's maximum entropy and integer programming."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from checks import FULL, Diversity, MaxentDiversity, Question, Verdict, k_combinatorial, parse_diversity
from checks.combinatorial import by_programming
from checks.maxent.maxent_diversity import fitted_diversity
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, iterative_fit
from privacy_oracles import is_k_combinatorial, largest_counts


def random_table(sizes: Mapping[str, int], rows: int, seed: int = 0) -> ContingencyTable:
    """Rows over flat attributes, correlated so that marginals say something."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({name: Hierarchy.flat([f"{name}{i}" for i in range(size)]) for name, size in sizes.items()})
    latent = rng.integers(0, 3, rows)
    codes = {
        name: np.where(rng.random(rows) < 0.4, latent % size, rng.integers(0, size, rows))
        for name, size in sizes.items()
    }
    return ContingencyTable.from_cells(domain, dict.fromkeys(sizes, 0), codes, np.ones(rows, dtype=np.int64))


def collection_of(table: ContingencyTable, margins: list[str]) -> Collection:
    masks = [table.domain.mask(dict.fromkeys(margin, 0)) for margin in margins]
    return Collection.of(DataCube([table]), masks)


def full_joint_fit(table: ContingencyTable, margins: list[str]) -> NDArray[np.float64]:
    """The maxent joint by iterative proportional fitting on a dense array, until nothing changes or 3,000 times."""
    names = table.domain.attributes
    others = [tuple(i for i, name in enumerate(names) if name not in margin) for margin in margins]
    joint = np.zeros([h.size(0) for h in table.domain.hierarchies])
    joint[table.codes] = table.counts
    fitted = np.full(joint.shape, joint.sum() / joint.size)
    targets = [joint.sum(axis=summed, keepdims=True) for summed in others]
    for _ in range(3000):
        before = fitted
        for summed, target in zip(others, targets):
            held = fitted.sum(axis=summed, keepdims=True)
            fitted = fitted * target / np.where(held > 0, held, 1)
        if np.array_equal(fitted, before):
            break
    return fitted


def smallest_slack(fitted: NDArray[np.float64], sensitive_axis: int, diversity: Diversity) -> float:
    vectors = np.moveaxis(fitted, sensitive_axis, -1).reshape(-1, fitted.shape[sensitive_axis])
    return float(diversity.slack(vectors[vectors.sum(axis=1) > 1e-6]).min())


SHAPES = {
    "four-cycle": ({"a": 3, "b": 3, "c": 3, "s": 4}, ["ab", "bc", "cs", "sa"]),
    "all three-way marginals of 2x3x4x5": (
        {"a": 2, "b": 3, "c": 4, "s": 5},
        ["".join(margin) for margin in combinations("abcs", 3)],
    ),
    "union of two decomposable": ({"a": 3, "b": 3, "s": 4}, ["ab", "bs", "as"]),
    "not graphical": ({"a": 2, "b": 2, "c": 2, "s": 3}, ["as", "bs", "cs", "ab", "bc", "ac"]),
}


@cache
def fitted_shape(shape: str, seed: int) -> tuple[ContingencyTable, NDArray[np.float64]]:
    """A random table of 400 rows and the maxent joint of its margins of a shape: the same for every criterion."""
    sizes, margins = SHAPES[shape]
    table = random_table(sizes, 400, seed)
    return table, full_joint_fit(table, margins)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "diversity",
    ["entropy:2", "entropy:3", "recursive:3,2", "recursive:1,2", "simple:2", "distinct:3", "functional:0.6,2"],
)
@pytest.mark.parametrize("seed", range(3))
def test_maxent_diversity_is_that_of_the_full_joint(shape: str, diversity: str, seed: int) -> None:
    table, fitted = fitted_shape(shape, seed)
    collection = collection_of(table, SHAPES[shape][1])
    assert not collection.is_decomposable
    criterion = parse_diversity(diversity)
    slack = smallest_slack(fitted, table.domain.index("s"), criterion)
    finding = fitted_diversity(collection, "s", criterion)
    assert finding.verdict in (Verdict.HOLDS if slack > 0 else Verdict.FAILS, Verdict.UNDECIDED)
    if abs(slack) > 1e-4:
        assert finding.verdict is not Verdict.UNDECIDED, finding.note
    assert MaxentDiversity(criterion, "s").check(Question(collection, ["s"])).verdict is finding.verdict


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [30, 90])
@pytest.mark.parametrize("seed", range(2))
def test_k_combinatorial_is_that_of_integer_programming(shape: str, rows: int, seed: int) -> None:
    sizes, margins = SHAPES[shape]
    collection = collection_of(random_table(sizes, rows, seed), margins)
    bounds = largest_counts(collection, ["s"])
    for k in (1, 2, 3, 4):
        finding = by_programming(collection, ["s"], k)
        assert finding.verdict is (Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS)
        if finding.verdict is Verdict.FAILS:
            assert finding.worst is not None
            assert 0 < finding.worst_class.count < k


def test_sensitive_attributes_that_are_published_apart_are_decided_as_by_integer_programming() -> None:
    """A decomposable collection with two sensitive attributes in different margins."""
    for seed in range(6):
        table = random_table({"a": 2, "b": 3, "s": 3, "t": 2}, 40, seed)
        collection = collection_of(table, ["as", "ab", "bt"])
        assert collection.is_decomposable
        bounds = largest_counts(collection, ["s", "t"])
        for k in (2, 4, 8):
            expected = Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS
            assert k_combinatorial(collection, ["s", "t"], k).verdict is expected


def test_a_criterion_on_its_boundary_is_undecided_not_passed() -> None:
    """A uniform table: every class is exactly entropy 2-diverse, which a fit cannot prove."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abs"})
    codes = {name: axis.ravel() for name, axis in zip("abs", np.indices((2, 2, 2)))}
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abs", 0), codes, np.full(8, 5, dtype=np.int64))
    finding = fitted_diversity(collection_of(table, ["ab", "bs", "as"]), "s", parse_diversity("entropy:2"))
    assert finding.verdict is Verdict.UNDECIDED
    assert not finding.holds
    assert "bound" in finding.note


def test_a_budget_that_ends_is_undecided_with_the_proven_interval() -> None:
    sizes, margins = SHAPES["four-cycle"]
    collection = collection_of(random_table(sizes, 300), margins)
    finding = by_programming(collection, ["s"], 2, replace(FULL, cell_programs=0))
    assert finding.verdict is Verdict.UNDECIDED
    assert finding.worst is not None
    assert finding.worst_class.count_between == (0, 300)
    finding = by_programming(collection, ["s"], 2, replace(FULL, cells=3))
    assert finding.verdict is Verdict.UNDECIDED
    assert "more than 3" in finding.note


def test_a_fit_that_has_not_converged_is_undecided_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its misfit could hide more than the margin that a verdict must survive."""
    sizes, margins = SHAPES["four-cycle"]
    collection = collection_of(random_table(sizes, 400), margins)
    assert fitted_diversity(collection, "s", parse_diversity("distinct:2")).holds
    monkeypatch.setattr("checks.maxent.maxent_diversity.iterative_fit", partial(iterative_fit, sweeps=2))
    finding = fitted_diversity(collection, "s", parse_diversity("distinct:2"))
    assert finding.verdict is Verdict.UNDECIDED
    assert "misses a published count" in finding.note
