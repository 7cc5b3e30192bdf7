"""What a check says: its verdict, and the worst that it found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Verdict(Enum):
    """Undecided is not a pass: it says that the work allowed did not prove either answer."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Finding:
    """The answer of one check.

    criterion: its name in a bundle. parameters: what was demanded. worst: the cell or class nearest to failing, or
    furthest beyond, with its published labels and the value it reaches; None where there is nothing to look at.
    algorithm: how the verdict was reached. examined: how many cells, classes or bounds were looked at.
    """

    criterion: str
    verdict: Verdict
    parameters: Mapping[str, Any]
    worst: Mapping[str, Any] | None
    algorithm: str
    examined: int
    note: str = field(default="")

    @property
    def holds(self) -> bool:
        """Whether the criterion is proven to hold."""
        return self.verdict is Verdict.HOLDS

    def as_json(self) -> dict[str, Any]:
        """The finding as plain values, `holds` first among them for readers who want a yes or no."""
        plain: dict[str, Any] = {
            "criterion": self.criterion,
            "holds": self.holds,
            "verdict": self.verdict.value,
            "parameters": dict(self.parameters),
            "worst": dict(self.worst) if self.worst is not None else None,
            "algorithm": self.algorithm,
            "examined": self.examined,
        }
        return plain | ({"note": self.note} if self.note else {})

    def __str__(self) -> str:
        demanded = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        return f"{self.criterion}{f' ({demanded})' if demanded else ''}: {self.verdict.value}"


def verdict_of(holds: bool) -> Verdict:
    """The verdict of a decided check."""
    return Verdict.HOLDS if holds else Verdict.FAILS
