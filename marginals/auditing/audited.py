"""What some tables about the same people tell together."""

from dataclasses import dataclass

from checks.audits.certain_facts import Fact
from models.arrays import FloatArray
from models.intervals.contradictions import Disagreement
from models.intervals.explanations import Explanation
from models.intervals.joint_contradictions import JointContradiction
from models.intervals.linked_tables import LinkedTables
from models.intervals.proven_bounds import ProvenBounds


@dataclass(frozen=True)
class Reasons:
    """Why a cell has at least, and at most, the counts that are proven; None where nothing was to be explained."""

    lower: Explanation | None
    upper: Explanation | None


@dataclass(frozen=True, eq=False)
class AuditedTables:
    """What tables about the same people tell together. bounds: None where they contradict each other.

    reasons: of as many facts as time was left for, by their place in `facts`. estimates: shape (cells,), NaN for none.
    together: tables that contradict each other where no two of them do.
    """

    people: str
    linked: LinkedTables
    bounds: ProvenBounds | None
    facts: tuple[Fact, ...]
    disagreements: tuple[Disagreement, ...]
    reasons: dict[int, Reasons]
    estimates: FloatArray | None
    together: JointContradiction | None = None

    @property
    def undecided(self) -> int:
        """Cells of which more may follow than was found."""
        return 0 if self.bounds is None else int((~self.bounds.decided).sum())

    @property
    def uncovered(self) -> int:
        """Cells among these of which no time would show that nothing more follows: their joint tables are too large."""
        return 0 if self.bounds is None else int((~self.bounds.decided & ~self.linked.covered).sum())
