"""Programs in a process of their own, which is killed when their time is over.

HiGHS looks at its time limit between steps only, and one round of cuts of an integer program with thousands of cells takes
ten seconds and more, whatever was given.
"""

import os
import pickle
import subprocess
import sys
from typing import Any, NamedTuple

from models.arrays import FloatArray

_PROGRAM = """
import pickle, sys
from scipy.optimize import milp
arguments, settings = pickle.load(sys.stdin.buffer)
found = milp(*arguments, **settings)
pickle.dump((found.status, found.x, found.fun, found.mip_dual_bound), sys.stdout.buffer)
"""


class ProgramResult(NamedTuple):
    """What `scipy.optimize.milp` tells of a program."""

    status: int
    x: FloatArray | None
    fun: float | None
    mip_dual_bound: float | None


def milp_until_killed(*arguments: Any, seconds: float, **settings: Any) -> ProgramResult | None:
    """`scipy.optimize.milp` in a process of its own; None where it did not answer within so many seconds."""
    try:
        answer = subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM],  # not what lies in the current folder, which may be of others
            input=pickle.dumps((arguments, settings)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"},
        ).stdout
    except (subprocess.SubprocessError, OSError):
        return None
    return ProgramResult(*pickle.loads(answer))
