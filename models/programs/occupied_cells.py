"""Occupied cells: the possible cells that some nonnegative table with the given marginals does not leave empty.

A cell can be empty in all of them though each marginal leaves room for it. The maximum-entropy distribution has no mass
there, and iterative fitting would come near that only slowly, so it is better to leave such cells out.
"""

import numpy as np

from models.arrays import BoolArray, FloatArray
from models.deadline import NEVER, Deadline
from models.errors import TimeOverError
from models.programs.consistent_tables import RealNumbers, least_within
from models.programs.possible_cells import PossibleCells

_MASS = 1e-6
"""Rows from which on a cell counts as occupied: far above what a solver rounds, far below what an optimal vertex has."""


def occupied_cells(cells: PossibleCells, deadline: Deadline = NEVER) -> BoolArray:
    """Whether each cell can be occupied, by real numbers: shape (len(cells),). Raises ContradictionError for no table.

    Each program fills as many of the cells as it can that none before it has filled (Fukuda, Lectures on polyhedral
    computation, 8.3: implicit equalities). Raises TimeOverError when the deadline comes before all is known.
    """
    occupied = np.zeros(len(cells), dtype=np.bool_)
    while not occupied.all():
        filled = (_filled(cells, ~occupied, deadline) > _MASS) & ~occupied
        if not filled.any():
            break
        occupied |= filled
    return occupied


def _filled(cells: PossibleCells, wanted: BoolArray, deadline: Deadline) -> FloatArray:
    """A table with rows, of a row each as far as there are any, in as many of the wanted cells as can be."""
    # Slow to import, and few need them.
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array, eye_array, hstack

    number = len(cells)
    objective = np.concatenate([np.zeros(number), np.where(wanted, -1.0, 0.0)])
    identity = eye_array(number, format="csr")
    within = LinearConstraint(hstack([identity, -identity], format="csr"), 0, np.inf)
    nothing = csr_array((cells.constraints.shape[0], number))
    marginals = LinearConstraint(hstack([cells.constraints, nothing], format="csr"), cells.counts, cells.counts)
    most = np.concatenate([np.full(number, np.inf), np.ones(number)])
    found = least_within(objective, [within, marginals], RealNumbers(deadline.left), most)
    if found.table is None:
        raise TimeOverError("the time was over before it was known which cells can be occupied")
    return np.asarray(found.table[:number], dtype=np.float64)
