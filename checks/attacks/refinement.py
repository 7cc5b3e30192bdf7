"""Refinements: a published margin one level finer in one attribute, and what is told by knowing that it was refused."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from checks.claims.claim import Claim
from models.tables.margin import Margin


@dataclass(frozen=True)
class Suspect:
    """A claim that can have refused a step, and the positions of the classes where it can have."""

    claim: Claim
    culprits: tuple[int, ...]


@dataclass(frozen=True)
class Shift:
    """The part of a class whose sensitive distribution is changed most by knowing that the step was refused.

    cell: its labels at the finer level. distance: total variation. value: the sensitive value that gains most; before,
    after: its probability.
    """

    cell: Mapping[str, str]
    distance: float
    value: str
    before: float
    after: float


@dataclass(frozen=True)
class Refinement:
    """A step, and what its refusal tells.

    margin: the published one. finer: the level refused for `attribute`. classes: of the margin, sensitive attributes set
    aside. suspects: None where nothing can be told, and `note` says why. culprit: labels of the one class that can be to
    blame, None where there are none or several. publishable, shift: None where they are not known. is_certain: whether
    counts that are known refuse the step in every possible world.
    """

    margin: Margin
    attribute: str
    finer: int
    classes: int
    suspects: tuple[Suspect, ...] | None
    culprit: Mapping[str, str] | None = None
    publishable: float | None = None
    shift: Shift | None = None
    note: str = ""
    is_certain: bool = False

    @property
    def culprits(self) -> int | None:
        """How many classes can be to blame."""
        if self.suspects is None:
            return None
        return len({position for suspect in self.suspects for position in suspect.culprits})

    def as_json(self) -> dict[str, Any]:
        """The step as plain values."""
        suspects = None
        if self.suspects is not None:
            suspects = [{**s.claim.as_json(), "culprits": len(s.culprits)} for s in self.suspects]
        return {
            "margin": dict(self.margin),
            "attribute": self.attribute,
            "finer": self.finer,
            "classes": self.classes,
            "suspects": suspects,
            "culprits": self.culprits,
            "culprit": None if self.culprit is None else dict(self.culprit),
            "publishable": self.publishable,
            "shift": None if self.shift is None else asdict(self.shift),
            "note": self.note,
            "certain": self.is_certain,
        }
