"""The u-terms of a decomposable log-linear model."""

from collections.abc import Mapping
from functools import reduce
from itertools import combinations
from math import prod

import numpy as np

from models.arrays import FloatArray
from models.errors import NotFittedError, TooManyCellsError
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.contingency_table import ContingencyTable

# The u-terms of a decomposable log-linear model, in closed form (KG06 section 5.2, equation 4): ln q(t) = sum of u_X(t_X)
# over the sets of attributes X that some clique holds.
#
# u_X sums to 0 over the values of each of its attributes, and q is the expected count over the published attributes,
# each at its finest published level. By equation 2 ln q is the sum of ln T_E over the cliques less that of ln T_S over
# the separators. The component of X in a function of the attributes E is 0 unless E holds X. Then it is the mean over the
# other attributes, less the means over each attribute of X. Both are linear, so u_X is the component in each ln T_E less
# that in each ln T_S: no joint cell is laid out. Means weigh coarser values by their finest ones.


CELL_LIMIT = 1 << 22
"""Most cells of a clique that are laid out."""


def u_terms(model: MaximumEntropy, prior_rows: float = 0.0) -> dict[tuple[str, ...], FloatArray]:
    """Return the u-terms of a decomposable model by their attributes, terms of fewer attributes first.

    Parameters
    ----------
    model
        Distribution in closed form.
    prior_rows
        Rows added to the counts, spread evenly over all cells, as an uninformative prior.

    Returns
    -------
    dict
        Attributes, in the domain's order, to an array with an axis for each, over its finest published values.

    Raises
    ------
    NotFittedError
        If a clique has an empty cell, whose logarithm is infinite, and there are no prior rows.
    TooManyCellsError
        If a clique has more than `CELL_LIMIT` cells.

    References
    ----------
    KG06 section 5.2, equation 4.
    """
    finest = model.domain.margin(model.tree.vertices)
    signed = [(1.0, clique) for clique in model.tree.cliques or (0,)]
    signed += [(-1.0, separator) for separator in model.tree.separators[1:]]
    terms: dict[tuple[str, ...], FloatArray] = {(): np.zeros(())}
    for sign, mask in signed:
        table = model.cube.table(mask)
        logs = _log_counts(table, finest, prior_rows)
        for size in range(len(table.attributes) + 1):
            for chosen in combinations(table.attributes, size):
                terms[chosen] = terms.get(chosen, 0.0) + sign * _taken(logs, table, finest, chosen)
    index = model.domain.index
    return dict(sorted(terms.items(), key=lambda term: (len(term[0]), list(map(index, term[0])))))


def _log_counts(table: ContingencyTable, finest: Mapping[str, int], prior_rows: float) -> FloatArray:
    shares = [_weights(table, finest, attribute) for attribute in table.attributes]
    cells = prod(map(len, shares))
    if cells > CELL_LIMIT:
        raise TooManyCellsError(f"the margin {table.margin} has {cells} cells; terms are made of {CELL_LIMIT}")
    counts: FloatArray = np.asarray(reduce(np.multiply.outer, shares, np.full((), prior_rows)))
    counts[table.codes] += table.counts if shares else table.total
    if not counts.all():
        raise NotFittedError(
            f"the marginal {table.margin} has empty cells, whose logarithms are infinite. Give prior_rows, such as 1.0, "
            "which are then spread evenly over all cells"
        )
    return np.asarray(np.log(counts))


def _weights(table: ContingencyTable, finest: Mapping[str, int], attribute: str) -> FloatArray:
    """Return the share of an attribute's finest published values that each value of a margin stands for."""
    hierarchy, level = table.domain.hierarchy(attribute), table.margin[attribute]
    lifted = hierarchy.lift(finest[attribute], level)
    return np.asarray(np.bincount(lifted, minlength=hierarchy.size(level)) / len(lifted))


def _taken(logs: FloatArray, table: ContingencyTable, finest: Mapping[str, int], chosen: tuple[str, ...]) -> FloatArray:
    """Return the component of a set of attributes in a function of a margin's cells, over finest published values."""
    for axis, attribute in reversed(list(enumerate(table.attributes))):
        mean = np.tensordot(logs, _weights(table, finest, attribute), (axis, 0))
        if attribute not in chosen:
            logs = mean
            continue
        lifted = table.domain.hierarchy(attribute).lift(finest[attribute], table.margin[attribute])
        logs = np.take(logs - np.expand_dims(mean, axis), lifted, axis)
    return logs
