"""Findings: the answers of checks, within a budget of work."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from math import inf, isfinite
from typing import Any

from models.deadline import NEVER, Deadline
from models.frozen import frozen
from models.programs.consistent_tables import ALL_NODES


class Verdict(Enum):
    """Answer of a check. Undecided is not a pass: the allowed work proved neither answer.

    Attested is not a pass either: only the publisher, who has the table, can decide it, and says that it holds.
    """

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    ATTESTED = "attested"


class Algorithm(Enum):
    """Method that reached a verdict. Its value is its name in JSON; `sentence` describes it for a reader."""

    sentence: str

    def __new__(cls, name: str, sentence: str) -> "Algorithm":
        """Return a member with its sentence."""
        member = object.__new__(cls)
        member._value_ = name
        member.sentence = sentence
        return member

    FILES = "files", "by reading every file"
    NONE = "none", "not at all"
    NOT_PUBLISHED = "not published", "at once: no table shows it"
    MINIMUM = "minimum", "by looking at every cell"
    EVERY_CLASS = "every class", "by looking at every class"
    ARRANGEMENTS = (
        "arrangements",
        "by counting all arrangements of the values over people that the tables leave possible",
    )
    K_LINK = "k-link", "by looking at every cell, which is enough here"
    JOIN = "join", "by looking at every combination that the tables leave possible"
    SUPPORTS = "supports", "by the sets of values that can occur together"
    HULL = "hull", "by putting the tables together, keeping the most extreme combinations only (hull)"
    PAIRWISE_RATIOS = "pairwise ratios", "by the largest ratio that any two values can have (pairwise ratios)"
    BRANCH_AND_BOUND = (
        "branch and bound",
        "by branch and bound, which skips only combinations that are proven unable to break the claim",
    )
    MAXIMUM_FLOW = "maximum flow", "by the most rows that each combination in question can have (maximum flow)"
    INTEGER_PROGRAMMING = "integer programming", "by the most rows that any combination can have (integer programming)"
    POSSIBLE_TABLES = (
        "possible tables",
        "by other tables with all published counts, made from these, in which it has no rows or enough",
    )
    ITERATIVE_FITTING = "iterative fitting", "by fitting step by step what the tables say together (iterative fitting)"


@frozen
class WorstClass:
    """Class or cell nearest to failing, or furthest beyond the bound. Unknown fields are None.

    cell: published labels by attribute; empty for all rows. margin: levels of the one marginal that shows it. margins,
    counts: several marginals that combine to it, and for each its rows by sensitive value. count: its rows, or the
    most that it can have. count_between: proven bounds of that. distribution: rows or shares by sensitive value.
    values: those nearest to breaking a bound on certain values. reached: the strongest parameter of the criterion that
    it satisfies, or infinite. slack: relative distance from the limit, not part of the JSON.
    """

    cell: Mapping[str, str] | None = None
    margin: Mapping[str, int] | None = None
    margins: Sequence[Mapping[str, int]] | None = None
    counts: Sequence[Mapping[str, float]] | None = None
    count: int | None = None
    count_between: tuple[int, int] | None = None
    distribution: Mapping[str, float] | None = None
    reached: float | None = None
    slack: float | None = None
    values: Sequence[str] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the known values, null for infinite."""
        names = ("margin", "cell", "margins", "counts", "count", "count_between", "distribution", "values")
        present = {name: value for name in names if (value := getattr(self, name)) is not None}
        return present | ({} if self.reached is None else {"reached": self.reached if isfinite(self.reached) else None})


@frozen
class Finding:
    """Answer of one check.

    criterion: its name in a bundle. parameters: the demand. worst: what decided the check or came nearest to failing;
    None if there was nothing to examine. algorithms: how the verdict was reached, in the order of use. examined:
    number of cells, classes or bounds examined. basis: "verified" or "attested", for claims that can be either.
    """

    criterion: str
    verdict: Verdict
    parameters: Mapping[str, Any]
    worst: Any
    algorithms: tuple[Algorithm, ...]
    examined: int
    note: str = field(default="")
    basis: str | None = None

    @property
    def holds(self) -> bool:
        """True if the criterion is proven to hold."""
        return self.verdict is Verdict.HOLDS

    @property
    def sensitive(self) -> str:
        """Sensitive attribute that the demand is about; empty without one."""
        return str(self.parameters.get("sensitive", ""))

    @property
    def worst_class(self) -> WorstClass:
        """Worst class; if there is none, one without known values."""
        return self.worst if isinstance(self.worst, WorstClass) else WorstClass()

    @property
    def algorithm(self) -> str:
        """Names of the algorithms, as JSON has them."""
        return ", ".join(algorithm.value for algorithm in self.algorithms)

    def as_json(self) -> dict[str, Any]:
        """Return the finding as plain values; `holds` is there for readers who want a yes or no."""
        plain: dict[str, Any] = {
            "criterion": self.criterion,
            "holds": self.holds,
            "verdict": self.verdict.value,
            "parameters": dict(self.parameters),
            "worst": self.worst,
            "algorithm": self.algorithm,
            "examined": self.examined,
        }
        optional = {} if self.basis is None else {"basis": self.basis}
        return plain | optional | ({"note": self.note} if self.note else {})

    def __str__(self) -> str:
        parameters = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        return f"{self.criterion}{f' ({parameters})' if parameters else ''}: {self.verdict.value}"


def verdict_of(holds: bool) -> Verdict:
    """Return the verdict of a decided check."""
    return Verdict.HOLDS if holds else Verdict.FAILS


DECISIVE = (Verdict.FAILS, Verdict.UNDECIDED, Verdict.ATTESTED, Verdict.HOLDS)
"""Verdicts on parts that must all hold, the most decisive first."""


def verdict_of_all(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a whole that holds if each part does: that of the most decisive part, holds without parts."""
    return min(verdicts, key=DECISIVE.index, default=Verdict.HOLDS)


# Budgets: the work that a check may do before it is undecided. They are counts, so that the same question has the same
# answer on every machine. Seconds only end a hard integer program of a verification; a deadline ends all open work.


@frozen
class Budget:
    """Work that the algorithms of one check may do.

    branches: partial class combinations of branch and bound; a complete one costs as much as 28. proof: partial
    combinations for a proof of the worst one; 0 if only the verdict is needed. vectors: vectors in one step of vector
    sets, and steps of a count of arrangements. programs: integer programs. seconds: of each program; without a limit
    `nodes` end it. deadline: the end of the check, by TimeOverError or with what is proven.
    """

    branches: int
    proof: int
    vectors: int
    programs: int
    seconds: float
    deadline: Deadline = NEVER

    def __post_init__(self) -> None:
        if negative := [name for name, work in vars(self).items() if name != "deadline" and work < 0]:
            raise ValueError(f"the budget {negative[0]} must not be negative, got {getattr(self, negative[0])}")

    @property
    def nodes(self) -> int:
        """Nodes of each integer program, so that one without seconds ends after the same work on every machine."""
        return ALL_NODES if isfinite(self.seconds) else 100

    @property
    def cells(self) -> int:
        """Most cells that can be occupied for which programs are made."""
        return min(self.branches // 500, 50_000)

    def until(self, deadline: Deadline) -> "Budget":
        """Return the same work, up to a deadline."""
        return replace(self, deadline=deadline)


FULL = Budget(branches=70_000_000, proof=20_000, vectors=500_000, programs=2_000, seconds=5.0)
"""Budget of a check that a person waits for: the verification of a release."""

SEARCHING = Budget(branches=1_000_000, proof=0, vectors=5_000, programs=100, seconds=inf)
"""Budget of one check within a search, which asks for hundreds: about a second at most."""
