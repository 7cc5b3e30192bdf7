"""The u-terms of a model as a table to read."""

from typing import TYPE_CHECKING

import numpy as np

from models.inference.marginal_model import MarginalModel
from models.inference.u_terms import u_terms

if TYPE_CHECKING:
    import pandas as pd


def terms_of(model: MarginalModel, prior_rows: float = 0.0) -> "pd.DataFrame":
    """One row a value of a term: its name, the labels of its attributes, "" for all others, and `u`. Raises as `u_terms`."""
    import pandas as pd

    parts = []
    for attributes, terms in u_terms(model.closed_form, prior_rows).items():
        codes = np.indices(terms.shape).reshape(len(attributes), terms.size)
        labels = {
            attribute: np.array(model.domain.hierarchy(attribute).labels[model.finest_levels[attribute]])[column]
            for attribute, column in zip(attributes, codes)
        }
        parts.append(
            pd.DataFrame({"term": ", ".join(attributes), **labels, "u": terms.ravel()}, index=range(terms.size))
        )
    shown = [a for a in model.domain.attributes if model.finest_levels[a] < model.domain.hierarchy(a).height]
    table = pd.concat(parts, ignore_index=True).reindex(columns=["term", *shown, "u"])
    return table.fillna(dict.fromkeys(shown, ""))
