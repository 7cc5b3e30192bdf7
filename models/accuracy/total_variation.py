"""How far the tables that a model expects are from those of the data: total variation."""

import numpy as np

from models.accuracy.independent_model import TableModel
from models.tables.contingency_table import ContingencyTable


def total_variation(data: ContingencyTable, model: TableModel) -> float:
    """Half the sum of abs(p - q) over the cells of a table, from 0 to 1: the largest error in the share of a set of cells.

    data: counts, which may be finer than what the model was made from. p: their shares, q: the model's, in which values
    below a published one are equally likely. Both sum to 1, so that where p is above q makes up for where it is below,
    and only cells that have rows are looked at. 0 for no rows at all. Raises TooManyCellsError where the model's table is
    too large to be laid out, NotFittedError where it has none.
    """
    if not data.total:
        return 0.0
    hierarchies = [data.domain.hierarchy(attribute) for attribute in data.attributes]
    fine = [data.margin[attribute] for attribute in data.attributes]
    coarse = [max(level, model.finest_levels[a]) for level, a in zip(fine, data.attributes)]
    above = tuple(h.lift(f, c)[codes] for h, f, c, codes in zip(hierarchies, fine, coarse, data.codes))
    q = model.expected_of(dict(zip(data.attributes, coarse)), above) / model.total
    for h, f, c, codes, parents in zip(hierarchies, fine, coarse, data.codes, above):
        q = q * (h.leaf_counts(f)[codes] / h.leaf_counts(c)[parents])
    return float(np.maximum(data.counts / data.total - q, 0.0).sum())
