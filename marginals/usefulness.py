"""Losses of analysts who have a release or an anonymized table instead of the rows: errors of counts and predictions.

Both are for the owner of the table, because they reveal facts about it that the release does not.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from marginals.arguments import published_of, require, require_names, require_whole_number
from marginals.bundle.content import BundleContent, Released
from marginals.bundle.together import over_table
from marginals.errors import InputError
from marginals.recoding.local_recoding import LocalRecoding
from marginals.tables.table import Table
from models.accuracy import answers, average_relative_error, random_count_queries
from models.arrays import CodeArray, FloatArray, IndexArray
from models.frozen import frozen
from models.inference.calibrated_tree import drawn_leaves
from models.inference.marginal_model import MarginalModel
from models.tables.contingency_table import ContingencyTable
from models.tables.generalized_cells import GeneralizedCells, Taxonomy
from models.tables.hierarchy import Domain


@frozen
class PredictionAccuracy:
    """Shares of a table's rows whose value of one attribute a decision tree predicts from all the others.

    learnt: by a tree that has learnt from the published data. from_rows: by one that has learnt from the rows themselves.
    commonest: by the value that most rows have.
    """

    target: str
    learnt: float
    from_rows: float
    commonest: float
    PLAIN: ClassVar = ("target", "learnt", "from_rows", "commonest", "relative")

    @property
    def relative(self) -> float:
        """Accuracy from the published data, divided by that from the rows (TZ09 section IV.C)."""
        return self.learnt / self.from_rows


def query_error(
    anonymized: BundleContent | Released | LocalRecoding,
    table: Table,
    conditions: int = 2,
    queries: int = 1000,
    seed: int = 0,
) -> float:
    """Mean relative error of random counts with so many conditions each (TZ11 section 5.3.3). Not for publication.

    anonymized: a release of the table, or an anonymized table from `sweep`, `hilbert` or `LocalRecoding.full_domain`. A
    query draws a row, some attributes and a level of each, and counts the rows with the same values there. seed: draws the
    same queries for different releases. Raises InputError for another table than the published one, or for more conditions
    than the table has attributes.

    >>> from marginals.example import release, table
    >>> round(query_error(release, table, conditions=1), 3), round(query_error(release, table, conditions=2), 3)
    (0.11, 0.241)
    """
    published = _required(anonymized, table, seed)
    require_whole_number(conditions, "conditions", 1, len(table.domain.attributes))
    require_whole_number(queries, "queries", 1, 10**6)
    rng = np.random.default_rng(seed)
    if isinstance(published, LocalRecoding):
        drawn = random_count_queries(table.base_counts, conditions, queries, rng)
        return average_relative_error(table.base_counts, published.cells, drawn)
    over, named = over_table(published, table)
    drawn = random_count_queries(named.base_counts, conditions, queries, rng)
    true = answers(GeneralizedCells.of(named.base_counts), drawn)
    estimated = _estimated(over.model, named.domain, drawn)
    return float(np.mean(np.abs(estimated - true) / true))


def prediction_accuracy(
    anonymized: BundleContent | Released | LocalRecoding, table: Table, target: str, seed: int = 0
) -> PredictionAccuracy:
    """Accuracy of a decision tree that predicts one attribute, learnt from the published data. Not for publication.

    From a release the tree learns as many rows as the table has, drawn from the maximum-entropy distribution. From an
    anonymized table it learns the rows, with values drawn evenly under generalized ones. Both are tested on the rows of the
    table. Raises InputError for an attribute that the table does not have, for another table than the published one, and
    without scikit-learn.

    >>> from marginals.example import release, table
    >>> prediction_accuracy(release, table, "sex").commonest
    0.5208333333333334
    """
    published = _required(anonymized, table, seed)
    require_names([target], "target", table.domain.attributes, "attribute")
    if isinstance(published, LocalRecoding):
        cells, rows = published.cells, table.base_counts
    else:
        over, named = over_table(published, table)
        rows = named.base_counts
        rng, model = np.random.default_rng(seed), over.model
        drawn = drawn_leaves(model.domain, model.finest_levels, model.draw(rows.total, rng), rows.total, rng)
        ones = np.ones(rows.total, dtype=np.int64)
        cells = GeneralizedCells.of(ContingencyTable.from_cells(model.domain, rows.margin, drawn, ones))
    trainings = (cells, GeneralizedCells.of(rows))
    learnt, from_rows = (tree_accuracy(one, rows, target, np.random.default_rng(seed)) for one in trainings)
    commonest = float(np.bincount(rows.column(target, 0), rows.counts).max() / rows.total)
    return PredictionAccuracy(target, learnt, from_rows, commonest)


def _required(anonymized: Any, table: object, seed: object) -> BundleContent | LocalRecoding:
    require(table, Table, "table", "what marginals.read_table(source, attributes) returns")
    require_whole_number(seed, "seed", 0)
    return anonymized if isinstance(anonymized, LocalRecoding) else published_of(anonymized, "anonymized")


def _estimated(model: MarginalModel, domain: Domain, queries: IndexArray) -> FloatArray:
    taxonomies = {name: Taxonomy(hierarchy) for name, hierarchy in domain.items()}
    estimated = np.empty(len(queries))
    for position, query in enumerate(queries.tolist()):
        nodes = dict(zip(taxonomies, query))
        limited = {name: of for name, of in taxonomies.items() if nodes[name] != of.root}
        inside = {name: of.shares_under(nodes[name])[: of.hierarchy.size(0)] > 0 for name, of in limited.items()}
        estimated[position] = model.expected_in(model.box(inside))
    return estimated


# Decision trees learn from generalized rows as from random base rows that these may be (TZ09 IV.B, TZ11 5.3.2), and may
# split on the values of all levels.

_MAX_FEATURES = 256  # values; finer levels give the tree no features
_LEAF_SHARE = 0.001  # least share of the rows: ID3 without it learns the rows by heart


def tree_accuracy(training: GeneralizedCells, test: ContingencyTable, target: str, rng: np.random.Generator) -> float:
    """Share of the rows of `test` with a target that a tree, learnt from `training`, predicts; splits by information.

    rng: draws base rows, and breaks ties between splits. Raises InputError without scikit-learn.
    """
    tree = _decision_tree(rng)
    axis = training.domain.index(target)
    learnt, tested = training.random_base_rows(rng), np.stack(test.codes, axis=1)
    tree.fit(_features(training.taxonomies, learnt, axis), learnt[:, axis])
    hits = tree.predict(_features(training.taxonomies, tested, axis)) == tested[:, axis]
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
    """Membership of base rows in each value of each attribute but the target, shape (rows, features)."""
    blocks = [np.zeros((len(codes), 1), dtype=bool)]
    for axis, taxonomy in enumerate(taxonomies):
        for level, labels in enumerate(taxonomy.hierarchy.labels):
            if axis != target and 1 < len(labels) <= _MAX_FEATURES:
                blocks.append(taxonomy.hierarchy.lift(0, level)[codes[:, axis], None] == np.arange(len(labels)))
    return np.concatenate(blocks, axis=1)
