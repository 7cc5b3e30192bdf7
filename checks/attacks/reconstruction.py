"""Reconstruction: the cells whose count the published marginals leave no choice (Dobra and Fienberg 2000)."""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from models.inference.frechet_bounds import FrechetBounds


@dataclass(frozen=True)
class Reconstruction:
    """How much of a margin that need not be published follows from those that are.

    cells: that can be occupied. determined: of these, those with one possible count. rows: in the determined cells, of
    `total`. sharp: whether the bounds are proven to be the best; where not, more may be determined than was found.
    """

    cells: int
    determined: int
    rows: int
    total: int
    sharp: bool

    @property
    def share(self) -> float:
        """Share of the cells that are determined; 0 where there is none."""
        return self.determined / self.cells if self.cells else 0.0


def reconstruction(bounds: FrechetBounds, margin: Mapping[str, int]) -> Reconstruction:
    """What of a margin is determined. Raises TooManyCellsError for a margin too large to be laid out."""
    margin_bounds = bounds.of_margin(margin)
    determined = (margin_bounds.lower == margin_bounds.upper) & (margin_bounds.upper > 0)
    return Reconstruction(
        int(np.count_nonzero(margin_bounds.upper)),
        int(np.count_nonzero(determined)),
        int(margin_bounds.lower[determined].sum()),
        bounds.collection.cube.total,
        margin_bounds.sharp,
    )


def smallest_class(bounds: FrechetBounds, margin: Mapping[str, int], sensitive: AnyCollection[str]) -> int:
    """The least number of rows that any class of a margin that can have rows can have at most (KG06 Def. 4.2).

    The bounds of the class itself, and of its sensitive values one by one. Where a decomposable collection shows one
    sensitive attribute, at one level, with all that is shown with it in the margin, this is what k-combinatorial
    anonymity asks of these classes; elsewhere the true number may be smaller. Raises TooManyCellsError for a margin too
    large to be laid out.
    """
    axes = tuple(axis for axis, attribute in enumerate(margin) if attribute in sensitive)
    public = {attribute: level for attribute, level in margin.items() if attribute not in sensitive}
    most = np.minimum(bounds.of_margin(margin).upper.sum(axis=axes), bounds.of_margin(public).upper)
    return int(most[most > 0].min())
