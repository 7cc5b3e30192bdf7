"""Which of several collections tells most of people whose rows it does not count: two-fold cross-validation (Stone 1974).

The rows are divided at random into two halves. The margins of each half make a model, which is compared
with the tables of two attributes of the other half. What a margin owes to chance does not come again there, so no price of
parameters is needed; and what is compared is what most people read, where the divergence is of all attributes together.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from models.accuracy import total_variation
from models.arrays import FloatArray
from models.errors import TooManyCellsError
from models.graphs.junction_tree import Collection
from models.inference.marginal_model import MarginalModel
from models.search.problem import Stop
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Mask

_DIVISIONS = 2
"""Divisions of the rows; of one division alone, chance decides more often."""

_PAIRS = 400
"""Tables of two attributes that are compared, drawn at random if there are more."""

_CELLS = 1 << 20
"""Cells of a table that is compared, at most."""


def errors_of_pairs(
    collections: Sequence[AnyCollection[Mask]], rows: ContingencyTable, seed: int, stop: Stop
) -> FloatArray | None:
    """Return the mean total variation between tables of two attributes by each collection and those of other rows.

    collections: each with a junction tree, over the attributes of the table. rows: of all attributes at base values. Tables
    are at the finest level at which any collection shows an attribute. The result has shape (collections,), 0 without any
    table; tables of models that are too large to be laid out are left out. None if stopped.
    """
    domain, rng = rows.domain, np.random.default_rng(seed)
    levels = _finest_levels(collections, rows)
    sizes = {name: domain.hierarchy(name).size(level) for name, level in levels.items()}
    pairs = [pair for pair in combinations(levels, 2) if prod(sizes[name] for name in pair) <= _CELLS]
    chosen = [pairs[place] for place in rng.permutation(len(pairs))[:_PAIRS]]
    masks = [domain.mask({name: levels[name] for name in pair}) for pair in chosen]
    errors = np.zeros(len(collections))
    for _ in range(_DIVISIONS):
        halves = _halves(rows, rng)
        if not all(half.total for half in halves):
            continue
        for counted, judging in (halves, halves[::-1]):
            models = [MarginalModel(Collection.of(counted, collection)) for collection in collections]
            for mask in masks:
                if stop():
                    return None
                try:
                    errors += [total_variation(judging.table(mask), model) for model in models]
                except TooManyCellsError:
                    continue
    return errors / max(2 * _DIVISIONS * len(masks), 1)


def _finest_levels(collections: Sequence[AnyCollection[Mask]], rows: ContingencyTable) -> dict[str, int]:
    """Return the finest level of each attribute at which some collection shows it."""
    cube = DataCube([rows])
    shown = [MarginalModel(Collection.of(cube, collection)).finest_levels for collection in collections]
    levels = {name: min(levels[name] for levels in shown) for name in rows.attributes}
    return {name: level for name, level in levels.items() if level < rows.domain.hierarchy(name).height}


def _halves(rows: ContingencyTable, rng: np.random.Generator) -> tuple[DataCube, DataCube]:
    """Divide the rows at random into two halves."""
    drawn, codes = rng.binomial(rows.counts, 1 / 2), dict(zip(rows.attributes, rows.codes))
    first, second = (
        DataCube([ContingencyTable.from_cells(rows.domain, rows.margin, codes, counts)])
        for counts in (drawn, rows.counts - drawn)
    )
    return first, second
