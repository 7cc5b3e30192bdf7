"""Pictures of the answers of a release, by matplotlib: bars, with lines for what is certain."""

from typing import Any

import numpy as np

from marginals.conditions import Where
from marginals.cross_tables import table
from marginals.estimates import Attributes
from marginals.tables.opening import require
from models.inference.marginal_model import MarginalModel


def plot(model: MarginalModel, attribute: str, by: Attributes, where: Where) -> Any:
    """Return the axes of bars of counts, or of shares within each group, with certain bounds and the kind as title."""
    pyplot = require("matplotlib.pyplot", "plot", "a picture")
    frame = table(model, by, attribute, where, "rows" if by else None, bounds=True)
    names = ["value", "lower", "upper"]
    numbers = frame[names].unstack(list(range(frame.index.nlevels - 1)), fill_value=0) if by else frame[names]
    value, lower, upper = (np.atleast_2d(numbers[name].to_numpy(dtype=float).T) for name in names)
    _, axes = pyplot.subplots()
    numbers["value"].plot.bar(ax=axes, yerr=np.stack([value - lower, upper - value], axis=1), capsize=2)
    axes.set_ylabel("share" if by else "rows")
    axes.set_title(f"{', '.join(sorted(set(frame['kind'])))}; lines: certain bounds")
    return axes
