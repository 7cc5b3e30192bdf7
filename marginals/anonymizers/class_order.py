"""The order in which SWEEP goes through the classes (TZ09 Defs. 6 and 7), and how much of it can be gone through."""

from collections.abc import Sequence
from math import prod

import numpy as np

from marginals.errors import InputError
from marginals.tables.table import Table
from models.tables.information import sweep_chains, sweep_order

MAX_LEVELS = 20_000
"""So many combinations of levels are all gone through; of more, only those on the chains of `sweep_chains`."""

MAX_LOOKS = 60_000_000
"""So many times a distinct row is looked at, once at each combination; with more, fewer chains: some ten seconds."""

MOST_LOOKS = 1_000_000_000
"""With more than so many looks on a single chain SWEEP is refused: it would take minutes, without a word."""


def class_order(table: Table, axes: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The levels of the quasi-identifiers in the order in which their classes are swept (TZ09 Def. 6).

    axes: the quasi-identifiers, the most important first. Base values that occur have weight 1. Levels that merge
    nothing are taken for the finest that they equal. As all base values lie equally deep, each of these levels has a class
    for every row, so the next class of a row that is swept out is the one at the next levels (Def. 7). Of more than
    `MAX_LEVELS` combinations, or `MAX_LOOKS` looks at rows, only those on some chains are in the order.
    Raises InputError where one chain alone takes more than `MOST_LOOKS`.
    """
    hierarchies = [table.domain.hierarchy(attribute) for attribute in axes]
    rows = max(len(table.base_counts), 1)
    steps = 1 + sum(hierarchy.height for hierarchy in hierarchies)
    if steps * rows > MOST_LOOKS:
        raise InputError(
            f"SWEEP goes through {rows:,} different rows at {steps:,} combinations of levels or more, which takes minutes: "
            f'{MOST_LOOKS // rows:,} combinations are the most for so many rows; give the role "ignored" to some columns, '
            "or fewer levels, or use the method lattice"
        )
    occurring = [
        (np.bincount(table.base_counts.column(attribute, 0), minlength=hierarchy.size(0)) > 0).astype(int).tolist()
        for attribute, hierarchy in zip(axes, hierarchies)
    ]
    finest = [[min(l for l in range(h.height + 1) if h.size(l) == h.size(level)) for level in range(h.height + 1)]
              for h in hierarchies]  # fmt: skip
    if sweeps_all(table):
        order = sweep_order(hierarchies, occurring)
    else:
        order = sweep_chains(hierarchies, occurring, MAX_LOOKS // rows)
    return tuple(dict.fromkeys(tuple(own[level] for own, level in zip(finest, levels)) for levels in order))


def sweeps_all(table: Table) -> bool:
    """Whether SWEEP goes through all combinations of levels, and not only through those on some chains."""
    return level_combinations(table) <= min(MAX_LEVELS, MAX_LOOKS // max(len(table.base_counts), 1))


def level_combinations(table: Table) -> int:
    """How many combinations of levels the quasi-identifiers have, as a whole number of any size."""
    return prod(table.domain.hierarchy(attribute).height + 1 for attribute in table.quasi_identifiers)
