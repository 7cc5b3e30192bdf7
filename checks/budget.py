"""How much work one check may do before it says undecided.

Counts, so that the same question has the same answer on every machine; seconds only end a hard integer program of a
verification, and a deadline, if there is one, whatever is not decided by then.
"""

from dataclasses import dataclass, replace
from math import inf
from sys import maxsize

from models.deadline import NEVER, Deadline
from models.programs.consistent_tables import ALL_NODES


@dataclass(frozen=True)
class Budget:
    """Work that the algorithms of one check may do.

    joined: class combinations that the join enumerates.
    multiplied: class combinations all of which matrices judge by their products, before anything else is tried.
    screened: cases times classes that bounds are computed for, each round anew, and forms times classes that branch and
    bound prepares.
    branches: partial class combinations that branch and bound looks at; a complete one costs as much as 28.
    first_branches: the same before cases of the entropy are taken apart, which takes longer than that.
    boxes: what cases of the entropy are taken apart into.
    proof: partial combinations looked at to prove which one is the worst; 0 where only the verdict is wanted.
    vectors, programs: vectors that a step of hull pruning makes, and linear programs that a check solves for it.
    cell_branches, cell_vectors: partial combinations, and vectors of a step, for k-combinatorial anonymity.
    cells, cell_programs, nodes: for integer programming, the cells that can be occupied, the programs that a check
    solves, and the nodes and seconds of each.
    deadline: when the check must end; what would go on raises TimeOverError then, or ends with what is proven.
    """

    joined: int
    multiplied: int
    screened: int
    branches: int
    first_branches: int
    boxes: int
    proof: int
    vectors: int
    programs: int
    cell_branches: int
    cell_vectors: int
    cells: int
    cell_programs: int
    nodes: int
    seconds: float
    deadline: Deadline = NEVER

    def __post_init__(self) -> None:
        for name, work in vars(self).items():
            if name != "deadline" and work < 0:
                raise ValueError(f"the budget {name} must not be negative, got {work}")

    def until(self, deadline: Deadline) -> "Budget":
        """The same work, up to a deadline."""
        return replace(self, deadline=deadline)


FULL = Budget(
    joined=20_000_000,
    multiplied=4_000_000,
    screened=maxsize,
    branches=70_000_000,
    first_branches=2_000_000,
    boxes=600,
    proof=20_000,
    vectors=200_000,
    programs=maxsize,
    cell_branches=1_000_000,
    cell_vectors=500_000,
    cells=50_000,
    cell_programs=2_000,
    nodes=ALL_NODES,
    seconds=5.0,
)
"""Of a check that somebody waits for: the verification of a release."""

SEARCHING = Budget(
    joined=400_000,
    multiplied=4_000_000,
    screened=40_000_000,
    branches=1_000_000,
    first_branches=1_000_000,
    boxes=20,
    proof=0,
    vectors=5_000,
    programs=200,
    cell_branches=200_000,
    cell_vectors=5_000,
    cells=2_000,
    cell_programs=50,
    nodes=100,
    seconds=inf,
)
"""Of one check within a search, which asks for hundreds: about a second at most."""
