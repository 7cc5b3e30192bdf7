"""Hypothesis strategies for model search: problems so small that every collection can be looked at.

Constraints come in every reach that a refusal can have.
"""

from collections.abc import Callable
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass
from math import prod
from random import Random

from hypothesis import strategies as st

from checks import PrivacyConstraint, Requirements
from dice import Dice, Thrown
from models import (
    DataCube,
    Domain,
    MarginLimits,
    Mask,
    PenalizedDivergence,
    Problem,
    Refusal,
    RefusalScope,
    Unconstrained,
    bic,
)
from privacy_strategies import dense_tables, diversities, functionals, sensitive_domains
from search_oracles import Cliques, all_collections, heights_of, is_finer
from strategies import contingency_tables, domains, margins

MAX_COLLECTIONS = 130
Constraint = Callable[[AnyCollection[Mask], Mask], Refusal | None]


@dataclass(frozen=True)
class AtMost:
    """So many margins, and so many cells in all margins together: what a longer collection cannot undo."""

    domain: Domain
    margins: int
    cells: int

    def __call__(self, cliques: AnyCollection[Mask], _new: Mask) -> Refusal | None:
        if len(cliques) > self.margins:
            return Refusal("too many margins", RefusalScope.LONGER)
        if sum(map(self.domain.cell_count, cliques)) > self.cells:
            return Refusal("too many cells in all", RefusalScope.LONGER)
        return None


@dataclass(frozen=True)
class Refused:
    """Certain collections, from which nothing follows."""

    collections: frozenset[Cliques]

    def __call__(self, cliques: AnyCollection[Mask], _new: Mask) -> Refusal | None:
        return Refusal("one of those refused", RefusalScope.ITSELF) if frozenset(cliques) in self.collections else None


def is_small(domain: Domain) -> bool:
    heights = heights_of(domain)
    return prod(h + 1 for h in heights) <= 18 and len(all_collections(domain)) <= MAX_COLLECTIONS


def small_domains() -> st.SearchStrategy[Domain]:
    """Domains of 2 .. 4 attributes with at most 130 valid decomposable collections.

    Domain(a: 2 values, 2 levels, c: 4 values, 2 levels, b: 3 values, 1 levels)
    """
    return domains(max_values=4, max_levels=3, max_cells=64).filter(is_small)


@Thrown
def limits(dice: Dice, domain: Domain, then: Constraint | None = None) -> MarginLimits:
    """Bounds on each margin, of which some let nothing but the empty collection pass."""
    most = domain.cell_count(sum(domain.attribute_masks))
    return MarginLimits(
        domain,
        dice.between(1, most) if dice.yes() else None,
        dice.between(1, len(domain.attributes)) if dice.yes() else None,
        tuple(mask for mask in (domain.mask(margins.of(dice, domain)) for _ in range(dice.below(3))) if mask),
        then or Unconstrained(),
        crossing_levels=dice.yes(),
    )


@Thrown
def constraints(dice: Dice, domain: Domain) -> Constraint:
    """None at all; limits; what only a whole collection can break; and limits before that."""
    kind = dice.one_of(["none", "finer", "longer", "itself", "all"])
    if kind == "none":
        return Unconstrained()
    if kind == "finer":
        return limits.of(dice, domain)
    cells = domain.cell_count(sum(domain.attribute_masks))
    longer = AtMost(domain, dice.between(1, 4), dice.between(1, 3 * cells))
    if kind == "longer":
        return longer
    collections = sorted(all_collections(domain) - {frozenset()}, key=sorted)
    share, random = dice.one_of([0.2, 0.5, 0.9]), Random(dice.below(50_000))
    itself = Refused(frozenset(c for c in collections if random.random() < share))
    return itself if kind == "itself" else limits.of(dice, domain, dice.one_of([itself, longer]))


@Thrown
def problems_of(dice: Dice, cube: DataCube, constraint: Constraint) -> Problem:
    """A problem under a constraint that allows the empty collection: what is kept, where it starts, what it costs."""
    allowed = sorted((c for c in all_collections(cube.domain) if constraint(c, 0) is None), key=sorted)
    kept = dice.one_of([c for c in allowed if len(c) <= 2]) if dice.yes() else frozenset[Mask]()
    start = dice.one_of([c for c in allowed if is_finer(c, kept)]) if dice.yes() else None
    none = PenalizedDivergence()
    prices = [
        none,
        none,
        bic(cube.total),
        PenalizedDivergence(1 / cube.total),
        PenalizedDivergence(0.001),
        PenalizedDivergence(0.05),
    ]
    return Problem(
        cube,
        constraint,
        dice.one_of(prices),
        required=tuple(sorted(kept)),
        start=None if start is None else tuple(sorted(start)),
        seed=dice.below(4),
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    domain = draw(small_domains())
    dice = Dice(draw)
    cube = DataCube([contingency_tables.of(dice, domain)])
    return problems_of.of(dice, cube, constraints.of(dice, domain))


@st.composite
def private_problems(draw: st.DrawFn) -> Problem:
    """Any small problem under the constraint of a release, one or two attributes being sensitive."""
    domain, sensitive = draw(sensitive_domains(36, 4).filter(lambda drawn: is_small(drawn[0])))
    dice = Dice(draw)
    cube = DataCube([dense_tables.of(dice, domain)])
    others = [a for a in domain.attributes if a != sensitive]
    names = dice.one_of([(sensitive,), (sensitive,), (sensitive, others[0])])
    k_link, k_combinatorial = (dice.between(1, 4) if dice.yes() else None for _ in range(2))
    kind = dice.one_of([None, diversities, functionals])
    requirements = Requirements(names, k_link, k_combinatorial, kind.of(dice, 3) if kind else None)
    private = PrivacyConstraint(cube, requirements, dice.between(0, 3) if dice.yes() else None)
    return problems_of.of(dice, cube, limits.of(dice, domain, private) if dice.yes() else private)
