"""Factors: the maxent distribution of a release as a Markov network over its published attributes.

A variable is an attribute at its finest published level. The product of the factors is the probability of a cell.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np

from models.arrays import FloatArray
from models.errors import TooManyCellsError
from models.inference.calibrated_tree import CalibratedTree
from models.inference.marginal_model import MarginalModel
from models.inference.tree_margins import CELL_LIMIT
from models.tables.domain import Domain


class Modelled(Protocol):
    """What has a distribution: a release, or a model that was selected."""

    @property
    def model(self) -> MarginalModel:
        """The distribution."""

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""


@dataclass(frozen=True, eq=False)
class Factor:
    """Nonnegative values, one axis a variable, in the order of `variables`."""

    variables: tuple[str, ...]
    values: FloatArray


@dataclass(frozen=True, eq=False)
class LabelledFactors:
    """Factors, and for each variable the labels of its states, in order."""

    labels: Mapping[str, tuple[str, ...]]
    factors: tuple[Factor, ...]


def factors(release: Modelled) -> LabelledFactors:
    """One factor a clique: its probabilities given the separator to its parent.

    Raises TooManyCellsError for a clique that has too many cells, empty ones included, to be laid out.
    """
    tree = release.model.tree
    labels = {
        a: hierarchy.labels[level]
        for (a, hierarchy), level in zip(release.domain.items(), tree.finest_levels)
        if level < hierarchy.height
    }
    return LabelledFactors(labels, tuple(_factor(tree, labels, clique) for clique in range(len(tree.cliques))))


def _factor(tree: CalibratedTree, labels: Mapping[str, tuple[str, ...]], clique: int) -> Factor:
    cells = tree.cliques[clique]
    rows = np.full(len(cells.expected), tree.total)
    if clique:
        link = tree.links[clique - 1]
        rows = link.rows[0][link.positions[0]]
    variables = tuple(a for a in labels if a in cells.margin)
    shape = [tree.domain.hierarchy(a).size(cells.margin[a]) for a in variables]
    if max(prod(shape), prod(len(labels[a]) for a in variables)) > CELL_LIMIT:
        raise TooManyCellsError(f"a clique has more than the {CELL_LIMIT} cells that are laid out")
    values = np.zeros(shape)
    values[tuple(cells.codes[a] for a in variables)] = cells.expected / rows
    finest = dict(zip(tree.domain.attributes, tree.finest_levels))
    lifts = [tree.domain.hierarchy(a).lift(finest[a], cells.margin[a]) for a in variables]
    return Factor(variables, values[np.ix_(*lifts)])
