"""Collections without a junction tree: verified against the full joint's maximum entropy and integer programming."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from brute_force import iterative_proportional_fitting, joint_array
from checks import FULL, Diversity, Finding, MaxentDiversity, Question, Verdict, k_combinatorial, parse_diversity
from filled_tables import filled, flat_domain, of_rows, published
from models import Collection, ContingencyTable, iterative_fit
from privacy_oracles import is_k_combinatorial, largest_counts


def random_table(sizes: Mapping[str, int], rows: int, seed: int = 0) -> ContingencyTable:
    """Rows over flat attributes, correlated so that marginals say something."""
    rng = np.random.default_rng(seed)
    latent = rng.integers(0, 3, rows)
    columns = [np.where(rng.random(rows) < 0.4, latent % size, rng.integers(0, size, rows)) for size in sizes.values()]
    return of_rows(flat_domain(**sizes), np.column_stack(columns))


def finding_of(collection: Collection, sensitive: str, diversity: Diversity) -> Finding:
    """The finding of a claim on a collection without a junction tree."""
    return MaxentDiversity(diversity, sensitive).check(Question(collection, [sensitive]))


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
    joint = joint_array(table)
    levels = [dict.fromkeys(margin, 0) for margin in margins]
    return table, iterative_proportional_fitting(joint / 400, table.domain, levels, 3000) * 400


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "diversity",
    ["entropy:2", "entropy:3", "recursive:3,2", "recursive:1,2", "simple:2", "distinct:3", "functional:0.6,2"],
)
@pytest.mark.parametrize("seed", range(3))
def test_maxent_diversity_is_that_of_the_full_joint(shape: str, diversity: str, seed: int) -> None:
    table, fitted = fitted_shape(shape, seed)
    collection = published(table, *SHAPES[shape][1])
    assert not collection.is_decomposable
    criterion = parse_diversity(diversity)
    slack = smallest_slack(fitted, table.domain.index("s"), criterion)
    finding = finding_of(collection, "s", criterion)
    assert finding.verdict in (Verdict.HOLDS if slack > 0 else Verdict.FAILS, Verdict.UNDECIDED)
    if abs(slack) > 1e-4:
        assert finding.verdict is not Verdict.UNDECIDED, finding.note


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [30, 90])
@pytest.mark.parametrize("seed", range(2))
def test_k_combinatorial_is_that_of_integer_programming(shape: str, rows: int, seed: int) -> None:
    sizes, margins = SHAPES[shape]
    collection = published(random_table(sizes, rows, seed), *margins)
    bounds = largest_counts(collection, ["s"])
    for k in (1, 2, 3, 4):
        finding = k_combinatorial(collection, ["s"], k)
        assert finding.verdict is (Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS)
        if finding.verdict is Verdict.FAILS:
            assert finding.worst is not None
            assert 0 < finding.worst_class.count < k


def test_a_criterion_on_its_boundary_is_undecided_not_passed() -> None:
    """A uniform table: every class is exactly entropy 2-diverse, which a fit cannot prove."""
    table = filled(flat_domain(a="xy", b="xy", s="xy"), [5] * 8)
    finding = finding_of(published(table, "ab", "bs", "as"), "s", parse_diversity("entropy:2"))
    assert finding.verdict is Verdict.UNDECIDED
    assert not finding.holds
    assert "bound" in finding.note


def test_a_budget_that_ends_is_undecided_with_the_proven_interval() -> None:
    sizes, margins = SHAPES["four-cycle"]
    collection = published(random_table(sizes, 300), *margins)
    finding = k_combinatorial(collection, ["s"], 2, replace(FULL, cell_programs=0))
    assert finding.verdict is Verdict.UNDECIDED
    assert finding.worst is not None
    assert finding.worst_class.count_between == (0, 300)
    finding = k_combinatorial(collection, ["s"], 2, replace(FULL, cells=3))
    assert finding.verdict is Verdict.UNDECIDED
    assert "more than 3" in finding.note


def test_a_fit_that_has_not_converged_is_undecided_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its misfit could hide more than the margin that a verdict must survive."""
    sizes, margins = SHAPES["four-cycle"]
    collection = published(random_table(sizes, 400), *margins)
    assert finding_of(collection, "s", parse_diversity("distinct:2")).holds
    monkeypatch.setattr("checks.maxent.maxent_diversity.iterative_fit", partial(iterative_fit, sweeps=2))
    finding = finding_of(collection, "s", parse_diversity("distinct:2"))
    assert finding.verdict is Verdict.UNDECIDED
    assert "misses a published count" in finding.note
