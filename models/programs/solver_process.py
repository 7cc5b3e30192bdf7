"""Programs in a process of their own, which is killed when their time is over.

HiGHS looks at its time limit between steps only, and one round of cuts of an integer program with thousands of cells takes
ten seconds and more, whatever was given. The process is started by the first program and answers the next ones, too:
importing SciPy takes longer than most programs.
"""

import atexit
import os
import pickle
import sys
from contextlib import suppress
from threading import TIMEOUT_MAX, Lock, Timer
from typing import IO, Any, NamedTuple, cast

from models.arrays import FloatArray

_PROGRAM = """
import pickle, sys
from scipy.optimize import milp
while True:
    try:
        arguments, settings = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    found = milp(*arguments, **settings)
    pickle.dump((found.status, found.x, found.fun, found.mip_dual_bound), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


class ProgramResult(NamedTuple):
    """What `scipy.optimize.milp` tells of a program."""

    status: int
    x: FloatArray | None
    fun: float | None
    mip_dual_bound: float | None


def milp_until_killed(*arguments: Any, seconds: float, **settings: Any) -> ProgramResult | None:
    """`scipy.optimize.milp` in a process of its own; None where it did not answer within so many seconds."""
    global _solver
    if not _one_at_a_time.acquire(timeout=min(seconds, TIMEOUT_MAX)):
        return None
    try:
        if _solver is None or not _solver.is_ready():
            _solver = _Solver()
        return _solver.answer(pickle.dumps((arguments, settings)), seconds)
    except OSError:
        return None
    finally:
        _one_at_a_time.release()


class _Solver:
    """A process that solves one program after the other."""

    def __init__(self) -> None:
        import subprocess  # loaded here: most programs are never solved

        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM],  # not what lies in the current folder, which may be of others
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,  # a folder can be removed while the process waits for the next program
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"},
        )
        self._parent = os.getpid()
        self._is_killed = False
        atexit.register(self.end)

    def is_ready(self) -> bool:
        """Whether it waits for a program: it runs, and no fork of this process asks it, too."""
        return self._parent == os.getpid() and self._process.poll() is None

    def answer(self, program: bytes, seconds: float) -> ProgramResult | None:
        """None where it did not answer in time, or failed; it has ended then."""
        questions, answers = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        clock = Timer(min(seconds, TIMEOUT_MAX), self._kill)
        clock.start()
        result = None
        try:
            questions.write(program)
            questions.flush()
            result = ProgramResult(*pickle.load(answers))
        except (OSError, EOFError, pickle.UnpicklingError):
            pass
        finally:
            clock.cancel()
            clock.join()
            if result is None or self._is_killed:
                self.end()
        return result

    def end(self) -> None:
        """Kill the process and wait for its end."""
        if self._parent == os.getpid():
            atexit.unregister(self.end)
            self._kill()
            with suppress(BrokenPipeError):
                self._process.communicate()

    def _kill(self) -> None:
        self._is_killed = True
        self._process.kill()


_one_at_a_time = Lock()
_solver: _Solver | None = None
