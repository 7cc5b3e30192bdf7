"""Vectors worked up a tree are those of the join, each with a combination that has it."""

import numpy as np
import pytest

from checks import SensitiveTree, sensitive_tree
from checks.maxent.hull import TooManyVectorsError, distinct_positions, work_up
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy


def path(seed: int) -> SensitiveTree:
    """Marginals {a, b, s}, {b, c, s}, {c, d, s}, so that each separator has several classes, and they have several each."""
    rng = np.random.default_rng(seed)
    sizes = {"a": 2, "b": 3, "c": 3, "d": 2, "s": 3}
    domain = Domain.of({name: Hierarchy.flat(f"{name}{i}" for i in range(size)) for name, size in sizes.items()})
    codes = dict(zip(sizes, np.indices(tuple(sizes.values())).reshape(len(sizes), -1)))
    counts = rng.choice([0, 0, 1, 2, 3], len(codes["s"]))
    table = ContingencyTable.from_cells(domain, dict.fromkeys(sizes, 0), codes, counts)
    masks = [domain.mask(dict.fromkeys(margin, 0)) for margin in ("abs", "bcs", "cds")]
    tree = sensitive_tree(Collection.of(DataCube([table]), masks), "s")
    assert tree is not None
    return tree


@pytest.mark.parametrize("seed", range(10))
def test_what_is_worked_up_is_what_the_join_has(seed: int) -> None:
    tree = path(seed)
    factors = tree.conditional_factors
    found = work_up(tree, factors, np.multiply, distinct_positions, 10**6)
    joined = np.concatenate([vectors for _, vectors in tree.combinations(factors, np.multiply)])
    assert set(map(tuple, found.vectors.round(12).tolist())) == set(map(tuple, joined.round(12).tolist()))
    of_chosen = np.prod([factor[found.chosen[:, clique]] for clique, factor in enumerate(factors)], axis=0)
    assert of_chosen == pytest.approx(found.vectors)
    for clique in range(1, len(factors)):
        parent = tree.tree.parents[clique]
        inward = tree.inward[clique][found.chosen[:, clique]]
        assert (inward == tree.outward[clique][found.chosen[:, parent]]).all()


def test_no_step_makes_more_vectors_than_allowed() -> None:
    tree = path(0)
    with pytest.raises(TooManyVectorsError):
        work_up(tree, tree.conditional_factors, np.multiply, distinct_positions, 5)
