"""Classification utility: how well a decision tree does that was learnt from an anonymized table (TZ09 IV.B, TZ11 5.3.2).

The learner reads a generalized row as a random base row that it may be, and so takes original and anonymized tables
alike. It may split on the values of all levels of the hierarchies. Both trees are tested on original rows.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginals.errors import InputError
from models.arrays import CodeArray
from models.tables.contingency_table import ContingencyTable
from models.tables.generalized_cells import GeneralizedCells
from models.tables.taxonomy import Taxonomy

_MAX_FEATURES = 256
"""A level with more values than this gives the tree no features; the coarser levels do."""

_LEAF_SHARE = 0.001
"""A leaf holds at least this share of the rows: ID3 without it learns the rows by heart."""


def relative_accuracy(
    anonymized: GeneralizedCells,
    original: ContingencyTable,
    test: ContingencyTable,
    target: str,
    rng: np.random.Generator,
) -> float:
    """Accuracy of the tree learnt from the anonymized table over that of the tree learnt from the original, on `test`.

    target: the attribute to predict from all others. test: base rows of the same domain, best not those learnt from.
    Raises InputError without scikit-learn.
    """
    seed = int(rng.integers(2**31))
    learnt = [
        tree_accuracy(cells, test, target, np.random.default_rng(seed))
        for cells in (anonymized, GeneralizedCells.of(original))
    ]
    return learnt[0] / learnt[1]


def tree_accuracy(training: GeneralizedCells, test: ContingencyTable, target: str, rng: np.random.Generator) -> float:
    """Share of the rows of `test` whose target a tree predicts that has learnt from `training`; splits by information.

    rng: draws base rows, and breaks ties between splits. Raises InputError without scikit-learn.
    """
    tree = _decision_tree(rng)
    axis = training.domain.index(target)
    learnt, asked = training.random_base_rows(rng), np.stack(test.codes, axis=1)
    tree.fit(_features(training.taxonomies, learnt, axis), learnt[:, axis])
    hits = tree.predict(_features(training.taxonomies, asked, axis)) == asked[:, axis]
    return float(test.counts @ hits / test.total)


def _decision_tree(rng: np.random.Generator) -> Any:
    try:
        learner = import_module("sklearn.tree")
    except ImportError:
        raise InputError("classification accuracy needs scikit-learn: pip install scikit-learn") from None
    return learner.DecisionTreeClassifier(
        criterion="entropy", min_weight_fraction_leaf=_LEAF_SHARE, random_state=int(rng.integers(2**31))
    )


def _features(taxonomies: Sequence[Taxonomy], codes: CodeArray, target: int) -> NDArray[np.bool_]:
    """Whether base rows are under each value of each attribute but the target: shape (rows, features)."""
    blocks = [np.zeros((len(codes), 1), dtype=bool)]
    for axis, taxonomy in enumerate(taxonomies):
        for level, labels in enumerate(taxonomy.hierarchy.labels):
            if axis != target and 1 < len(labels) <= _MAX_FEATURES:
                blocks.append(taxonomy.hierarchy.lift(0, level)[codes[:, axis], None] == np.arange(len(labels)))
    return np.concatenate(blocks, axis=1)
