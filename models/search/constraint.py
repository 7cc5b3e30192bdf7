"""What a search may not choose, as a parameter of the search."""

from collections.abc import Collection as AnyCollection
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from models.tables.domain import Domain, Mask


class RefusalScope(Enum):
    """Which other collections are refused as well, so that a search may prune them.

    FINER: every collection that shows at least as much. LONGER: every collection whose junction tree holds this one's
    as a part, that is, which goes on from it in perfect sequence; FINER implies it. ITSELF: none.
    """

    FINER = "finer"
    LONGER = "longer"
    ITSELF = "itself"


class Refusal(NamedTuple):
    """Why a collection may not be chosen, and which others are refused with it; if nothing is said of them, none."""

    reason: str
    scope: RefusalScope = RefusalScope.ITSELF


class RefusedMove(NamedTuple):
    """A move in words that a constraint refuses, and why."""

    move: str
    reason: str

    def __str__(self) -> str:
        return f"{self.move}: {self.reason}"


class Constraint(Protocol):
    """Any function of this shape; what it says of a collection must be the same each time.

    An object with an attribute `pivot` says of which vertices the margins are judged jointly, which are connected in any
    junction tree; all other margins are judged one by one. All vertices, or one attribute's first step, or none. Without
    the attribute all margins are judged jointly, which is always right, and takes an exact search longer. An exact search
    looks whether the pivot is true of the collections that it meets; no search can look at all.
    """

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:
        """None when the collection with these maximal cliques may be chosen.

        new: the clique that the last move made; the other cliques were allowed before it. 0 where there is no such
        clique, so that all must be looked at. A refusal because of a single clique has the scope FINER; with a new clique,
        FINER means that this clique is the reason, so that a search may never try it again.
        """


def pivot_of(constraint: Constraint, domain: Domain) -> Mask:
    """The vertices whose margins a constraint judges jointly; all where it does not say.

    >>> from marginals.example import table
    >>> pivot_of(lambda cliques, new: None, table.domain) == sum(table.domain.attribute_masks)
    True
    """
    pivot: Mask = getattr(constraint, "pivot", sum(domain.attribute_masks))
    return pivot


class ClassSize(NamedTuple):
    """How a constraint judges margins of some vertices: those with a class of too few rows are refused by themselves, for
    good, and no others are. least: rows of a class.
    """

    least: int
    vertices: Mask


def class_size_of(constraint: Constraint) -> ClassSize | None:
    """How a constraint judges margins by their classes; None where it does not say, by an attribute `class_size`."""
    size: ClassSize | None = getattr(constraint, "class_size", None)
    return size


def is_refused_in_all(constraint: Constraint, margin: Mask) -> bool:
    """Whether a constraint refuses every collection that shows a margin.

    A constraint may have a method `of_margin` that says of one margin, by itself, what the constraint says for good: the
    refusal with the scope FINER, or None. Otherwise it is asked of the collection of this margin.
    """
    of_margin = getattr(constraint, "of_margin", None)
    refusal = of_margin(margin) if of_margin else constraint((margin,), margin)
    return refusal is not None and refusal.scope is RefusalScope.FINER


class Unconstrained:
    """Allows everything: plain model selection."""

    pivot: Mask = 0

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:  # noqa: ARG002
        """None."""
        return None


@dataclass(frozen=True)
class MarginLimits:
    """Bounds on each margin, looked at before another constraint.

    max_cells: cells of a margin, empty ones included. max_attributes: attributes of a margin. withheld: margins that
    nothing published may show, neither as they are nor finer. envelope: margins of which one must show
    whatever is published; None where anything may be. common: what every margin must show.
    """

    domain: Domain
    max_cells: int | None = None
    max_attributes: int | None = None
    withheld: tuple[Mask, ...] = ()
    then: Constraint = field(default_factory=Unconstrained)
    envelope: tuple[Mask, ...] | None = None
    common: Mask = 0

    @property
    def pivot(self) -> Mask:
        """That of the other constraint: limits hold for each margin by itself."""
        return pivot_of(self.then, self.domain)

    @property
    def class_size(self) -> ClassSize | None:
        """That of the other constraint, of margins that show nothing withheld; None where any may be beyond a limit."""
        size = class_size_of(self.then)
        if size is None or (self.max_cells, self.max_attributes, self.envelope) != (None, None, None):
            return None
        vertices = size.vertices
        for withheld in self.withheld:
            vertices &= ~(1 << withheld.bit_length() >> 1)  # without one of its vertices a margin cannot show it
        return size._replace(vertices=vertices)

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:
        """The refusal of a clique beyond the limits, or what the other constraint says."""
        for clique in [new] if new else cliques:
            if reason := self._excess(clique):
                return Refusal(reason, RefusalScope.FINER)
        if self.common and any(self.common & ~clique for clique in cliques):
            return Refusal(f"a margin that does not show {self.domain.margin(self.common)}, as all must")
        return self.then(cliques, new)

    def of_margin(self, margin: Mask) -> Refusal | None:
        """The refusal of everything that shows a margin."""
        if reason := self._excess(margin):
            return Refusal(reason, RefusalScope.FINER)
        return Refusal("a margin that is refused", RefusalScope.FINER) if is_refused_in_all(self.then, margin) else None

    def _excess(self, clique: Mask) -> str | None:
        if self.max_attributes is not None and len(self.domain.margin(clique)) > self.max_attributes:
            return f"a margin of more than {self.max_attributes} attributes"
        if self.max_cells is not None and self.domain.cell_count(clique) > self.max_cells:
            return f"a margin of more than {self.max_cells} cells"
        for withheld in self.withheld:
            if not withheld & ~clique:
                return f"a margin that shows {self.domain.margin(withheld)}, which is to be withheld"
        if self.envelope is not None and not any(not clique & ~mask for mask in self.envelope):
            return "a margin that shows more than the releases of the ledger"
        return None
