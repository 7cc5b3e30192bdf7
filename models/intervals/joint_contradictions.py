"""Contradictions of several tables together, where no two of them say different things of one count."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.arrays import CountArray
from models.deadline import NEVER, Deadline
from models.intervals.linked_tables import LinkedTables
from models.programs.equations import UNBOUNDED

_TOLERANCE = 1e-6
"""Rows below which a program's correction is taken for none."""


@dataclass(frozen=True)
class JointContradiction:
    """Tables that cannot all be true, though any of them can be left out. tables: their places.

    correction: by how much their counts and ranges must be changed at least, all changes added up.
    """

    tables: tuple[int, ...]
    correction: float


def joint_contradiction(linked: LinkedTables, deadline: Deadline = NEVER) -> JointContradiction | None:
    """Of tables that contradict each other as few as still do; None where real numbers fit, or time is over.

    Tables are left out one by one as long as the others contradict each other (deletion filter: Chinneck 2008, 6.2).
    """
    kept = list(range(linked.table_count))
    if not _correction(linked, kept, deadline):
        return None
    for table in tuple(kept):
        others = [each for each in kept if each != table]
        if deadline.is_over:
            return None
        if _correction(linked, others, deadline):
            kept = others
    return JointContradiction(tuple(kept), _correction(linked, kept, deadline))


def _correction(linked: LinkedTables, tables: Sequence[int], deadline: Deadline) -> float:
    """The least sum of changes after which some tables fit together in real numbers; 0 where it is not known."""
    # Slow to import, and few need them.
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    own = np.isin(linked.published.tables, tables)
    cells, lower = linked.published.cells[own], linked.published.lower[own].astype(np.float64)
    upper: CountArray = linked.published.upper[own]
    number, size = len(cells), len(linked)
    picked = csr_array((np.ones(number), (np.arange(number), cells)), shape=(number, size))
    change = eye_array(number, format="csr")
    bounded = np.flatnonzero(upper < UNBOUNDED)
    at_most = hstack([picked, -change], format="csr")[bounded]
    inequalities = vstack([hstack([-picked, -change]), at_most], format="csr")
    equations = hstack(
        [linked.equations.matrix(size).astype(np.float64), csr_array((len(linked.equations), number))], format="csr"
    )
    solve: Any = linprog  # its stubs know no sparse matrices
    found = solve(
        np.concatenate([np.zeros(size), np.ones(number)]),
        A_ub=inequalities,
        b_ub=np.concatenate([-lower, upper[bounded].astype(np.float64)]),
        A_eq=equations if len(linked.equations) else None,
        b_eq=np.zeros(len(linked.equations)) if len(linked.equations) else None,
        bounds=(0, None),
        method="highs",
        options={"time_limit": deadline.left} if np.isfinite(deadline.left) else {},
    )
    return float(found.fun) if found.status == 0 and found.fun > _TOLERANCE else 0.0
