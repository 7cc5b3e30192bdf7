"""The u-terms of a decomposable log-linear model, in closed form (KG06 section 5.2, equation 4).

    ln q(t) = sum of u_X(t_X) over the sets of attributes X that some clique holds

u_X sums to 0 over the values of each of its attributes, and q is the expected count over the published attributes, each at
its finest published level. By equation 2 ln q is the sum of ln T_E over the cliques less that of ln T_S over the separators.
What a set X takes of a function of the attributes E is nothing unless E holds X, and then the mean over the other
attributes, less the means over each attribute of X. Both are linear, so that u_X is the sum of what X takes of each ln T_E,
less what it takes of each ln T_S: no cell of the joint distribution is laid out, and no equation solved.

Where a clique shows an attribute at a coarser level, its values stand for all their finest ones, and means weigh by these.
"""

from collections.abc import Mapping
from itertools import combinations
from math import prod

import numpy as np

from models.arrays import FloatArray
from models.errors import NotFittedError, TooManyCellsError
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.contingency_table import ContingencyTable

CELL_LIMIT = 1 << 22
"""Cells of a clique that are laid out at most."""


def u_terms(model: MaximumEntropy, prior_rows: float = 0.0) -> dict[tuple[str, ...], FloatArray]:
    """The terms by attributes, in the domain's order; those of fewer attributes first.

    An array has an axis for each attribute, with its values at the finest published level. prior_rows: so many rows more
    are counted, spread evenly over all cells, as a prior that knows nothing. Raises NotFittedError where a clique has an
    empty cell, whose logarithm is infinite, and there are none of them; TooManyCellsError beyond `CELL_LIMIT`.
    """
    finest = {
        attribute: level
        for attribute, level in model.collection.finest_levels.items()
        if level < model.domain.hierarchy(attribute).height
    }
    signed = [(1.0, table) for table in model.clique_tables or [model.cube.table(0)]]
    signed += [(-1.0, table) for table in model.separator_tables[1:]]
    terms: dict[tuple[str, ...], FloatArray] = {(): np.zeros(())}
    for sign, table in signed:
        logs = _log_counts(table, finest, prior_rows)
        for size in range(len(table.attributes) + 1):
            for chosen in combinations(table.attributes, size):
                taken = sign * _taken(logs, table, finest, chosen)
                terms[chosen] = terms[chosen] + taken if chosen in terms else taken
    order = model.domain.attributes.index
    return dict(sorted(terms.items(), key=lambda term: (len(term[0]), [order(attribute) for attribute in term[0]])))


def _log_counts(table: ContingencyTable, finest: Mapping[str, int], prior_rows: float) -> FloatArray:
    """Logarithms of the counts of all cells of a margin, a share of the prior rows among them."""
    sizes = [table.domain.hierarchy(attribute).size(table.margin[attribute]) for attribute in table.attributes]
    if prod(sizes) > CELL_LIMIT:
        raise TooManyCellsError(f"the margin {table.margin} has {prod(sizes)} cells; terms are made of {CELL_LIMIT}")
    counts = np.full(sizes, 0.0 if sizes else float(table.total))
    if sizes:
        counts[table.codes] = table.counts
    share = np.full((), prior_rows)
    for attribute in table.attributes:
        share = np.multiply.outer(share, _weights(table, finest, attribute))
    counts += share
    if not counts.all():
        raise NotFittedError(
            f"the marginal {table.margin} has empty cells, and the logarithm of nothing has no terms; give prior_rows, such "
            "as 1.0, which are then spread evenly over all cells"
        )
    logs: FloatArray = np.log(counts)
    return logs


def _weights(table: ContingencyTable, finest: Mapping[str, int], attribute: str) -> FloatArray:
    """The share of the finest published values of an attribute that each value of a margin stands for."""
    hierarchy = table.domain.hierarchy(attribute)
    lifted = hierarchy.lift(finest[attribute], table.margin[attribute])
    shares: FloatArray = np.bincount(lifted, minlength=hierarchy.size(table.margin[attribute])) / len(lifted)
    return shares


def _taken(logs: FloatArray, table: ContingencyTable, finest: Mapping[str, int], chosen: tuple[str, ...]) -> FloatArray:
    """What a set of attributes takes of a function of the cells of a margin, over their finest published values."""
    for axis, attribute in reversed(list(enumerate(table.attributes))):
        mean = np.tensordot(logs, _weights(table, finest, attribute), (axis, 0))
        if attribute not in chosen:
            logs = mean
            continue
        lifted = table.domain.hierarchy(attribute).lift(finest[attribute], table.margin[attribute])
        logs = np.take(logs - np.expand_dims(mean, axis), lifted, axis)
    return logs
