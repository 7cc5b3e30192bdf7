"""Predictions of one attribute from the others, by a decomposable model."""

import numpy as np
import pandas as pd

from marginals.errors import InputError
from marginals.selection.counted import Counted
from models.arrays import CodeArray
from models.graphs.collection import Collection
from models.inference.maximum_entropy import MaximumEntropy
from models.search.selection import SelectedModel


def predicted(found: SelectedModel, counted: Counted, rows: pd.DataFrame, target: str) -> pd.DataFrame:
    """The distribution of an attribute given its neighbours, for each row.

    It is proportional to the product of the cliques that hold the attribute over their separators, which are the
    cliques of a subtree. Shape (rows, values of the target).
    """
    domain = counted.domain
    own = domain.mask({target: 0})
    subtree = found.tree.containing(own)
    around = MaximumEntropy(Collection.of(found.collection.cube, subtree.cliques))
    neighbours = [a for a, mask in zip(domain.attributes, domain.attribute_masks) if subtree.vertices & mask & ~own]
    missing = [name for name in neighbours if name not in rows.columns]
    if missing:
        raise InputError(f"to predict {target!r} the rows need the columns {', '.join(map(repr, missing))}")
    if rows[neighbours].isna().any(axis=None):
        raise InputError(f"to predict {target!r} the columns {', '.join(neighbours)} must have no missing value")
    length = len(rows)
    codes: dict[str, CodeArray] = {a: np.zeros(length, dtype=np.intp) for a in domain.attributes}
    codes |= {a: counted.codes(a, rows[a]) for a in neighbours}
    values = range(domain.hierarchy(target).size(0))
    logs = np.stack([around.log_probability({**codes, target: np.full(length, v)}) for v in values], axis=1)
    highest = logs.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        weights = np.exp(logs - highest)
    shares = weights / weights.sum(axis=1, keepdims=True)
    columns = counted.categories.get(target, pd.Index(counted.labels(target)))
    return pd.DataFrame(shares, index=rows.index, columns=pd.Index(columns, name=target))
