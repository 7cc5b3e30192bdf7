"""Occupied cells: the possible cells that some nonnegative table with the given marginals does not leave empty.

A cell can be empty in all of them though each marginal leaves room for it. The maximum-entropy distribution has no mass
there, and iterative fitting would come near that only slowly, so it is better to leave such cells out.
"""

import numpy as np

from models.arrays import BoolArray
from models.errors import ContradictionError
from models.programs.possible_cells import PossibleCells

_MASS = 1e-6
"""Rows from which on a cell counts as occupied: far above what a solver rounds, far below what an optimal vertex has."""


def occupied_cells(cells: PossibleCells) -> BoolArray:
    """Whether each cell can be occupied, by real numbers: shape (len(cells),). Raises ContradictionError for no table.

    Each program fills as many of the cells as it can that none before it has filled (Fukuda, Lectures on polyhedral
    computation, 8.3: implicit equalities).
    """
    # Slow to import, and few need them.
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    number = len(cells)
    occupied = np.zeros(number, dtype=np.bool_)
    identity = eye_array(number, format="csr")
    within = hstack([-identity, identity], format="csr")
    marginals = hstack([cells.constraints, csr_array((cells.constraints.shape[0], number))], format="csr")
    while not occupied.all():
        gain = np.concatenate([np.zeros(number), np.where(occupied, 0.0, -1.0)])
        limits = [(0, None)] * number + [(0, 1)] * number
        found = linprog(gain, within, np.zeros(number), marginals, cells.counts, limits, method="highs")
        if found.x is None:
            raise ContradictionError("no table has these marginals")
        filled = (found.x[:number] > _MASS) & ~occupied
        if not filled.any():
            break
        occupied |= filled
    return occupied
