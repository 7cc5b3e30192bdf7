"""Hypothesis strategies for model search: problems so small that every collection can be looked at.

Constraints come in every reach that a refusal can have.
"""

from collections.abc import Collection as AnyCollection
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from hypothesis import strategies as st

from checks.claims.requirements import PrivacyConstraint, Requirements
from models.search import (
    Constraint,
    MarginLimits,
    PenalizedDivergence,
    Problem,
    Refusal,
    RefusalScope,
    Unconstrained,
    aic,
    bic,
)
from models.tables.data_cube import DataCube
from models.tables.domain import Domain, Mask
from privacy_strategies import dense_tables, diversities, functionals, sensitive_domains
from search_oracles import Cliques, all_collections, heights_of, is_finer
from strategies import contingency_tables, domains, margins

MAX_COLLECTIONS = 130


@dataclass(frozen=True)
class AtMost:
    """So many margins, and so many cells in all margins together: what a longer collection cannot undo."""

    pivot: ClassVar[Mask] = -1
    domain: Domain
    margins: int
    cells: int

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:  # noqa: ARG002
        if len(cliques) > self.margins:
            return Refusal("too many margins", RefusalScope.LONGER)
        if sum(map(self.domain.cell_count, cliques)) > self.cells:
            return Refusal("too many cells in all", RefusalScope.LONGER)
        return None


@dataclass(frozen=True)
class Refused:
    """Certain collections, from which nothing follows."""

    pivot: ClassVar[Mask] = -1
    collections: frozenset[Cliques]

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:  # noqa: ARG002
        return Refusal("one of those refused", RefusalScope.ITSELF) if frozenset(cliques) in self.collections else None


def is_small(domain: Domain) -> bool:
    """Whether the collections are few enough to look at each."""
    heights = heights_of(domain)
    return prod(h + 1 for h in heights) <= 18 and len(all_collections(domain)) <= MAX_COLLECTIONS


def small_domains() -> st.SearchStrategy[Domain]:
    """Domains of 2 .. 4 attributes with at most 130 valid decomposable collections.

    Domain(a: 2 values, 2 levels, c: 4 values, 2 levels, b: 3 values, 1 levels)
    """
    return domains(max_values=4, max_levels=3, max_cells=64).filter(is_small)


@st.composite
def limits(draw: st.DrawFn, domain: Domain, then: Constraint | None = None) -> MarginLimits:
    """Bounds on each margin, of which some let nothing but the empty collection pass."""
    most = domain.cell_count(sum(domain.attribute_masks))
    return MarginLimits(
        domain,
        draw(st.none() | st.integers(1, most)),
        draw(st.none() | st.integers(1, len(domain.attributes))),
        tuple(mask for mask in map(domain.mask, draw(st.lists(margins(domain), max_size=2))) if mask),
        then or Unconstrained(),
    )


@st.composite
def constraints(draw: st.DrawFn, domain: Domain) -> Constraint:
    """None at all; limits; what only a whole collection can break; and limits before that."""
    kind = draw(st.sampled_from(["none", "finer", "longer", "itself", "all"]))
    if kind == "none":
        return Unconstrained()
    if kind == "finer":
        return draw(limits(domain))
    cells = domain.cell_count(sum(domain.attribute_masks))
    longer = AtMost(domain, draw(st.integers(1, 4)), draw(st.integers(1, 3 * cells)))
    if kind == "longer":
        return longer
    collections = sorted(all_collections(domain) - {frozenset()}, key=sorted)
    share, random = draw(st.sampled_from([0.2, 0.5, 0.9])), draw(st.randoms(use_true_random=False))
    itself = Refused(frozenset(c for c in collections if random.random() < share))
    return itself if kind == "itself" else draw(limits(domain, draw(st.sampled_from([itself, longer]))))


@st.composite
def problems_of(draw: st.DrawFn, cube: DataCube, constraint: Constraint) -> Problem:
    """A problem under a constraint that allows the empty collection: what is kept, where it starts, what it costs."""
    allowed = sorted((c for c in all_collections(cube.domain) if constraint(c, 0) is None), key=sorted)
    few = [c for c in allowed if len(c) <= 2]
    kept = draw(st.just(frozenset[Mask]()) | st.sampled_from(few))
    finer = [c for c in allowed if is_finer(c, kept)]
    start = draw(st.none() | st.sampled_from(finer))
    price = draw(
        st.sampled_from(
            [
                PenalizedDivergence(),
                PenalizedDivergence(),
                bic(cube.total),
                aic(cube.total),
                PenalizedDivergence(0.001),
                PenalizedDivergence(0.05),
            ]
        )
    )
    return Problem(
        cube,
        constraint,
        price,
        kept=tuple(sorted(kept)),
        start=None if start is None else tuple(sorted(start)),
        seed=draw(st.integers(0, 3)),
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any small problem without privacy."""
    domain = draw(small_domains())
    cube = DataCube([draw(contingency_tables(domain))])
    return draw(problems_of(cube, draw(constraints(domain))))


@st.composite
def private_problems(draw: st.DrawFn) -> Problem:
    """Any small problem under the constraint of a release, one or two attributes being sensitive."""
    domain, sensitive = draw(sensitive_domains(36, 4).filter(lambda drawn: is_small(drawn[0])))
    cube = DataCube([draw(dense_tables(domain))])
    others = [a for a in domain.attributes if a != sensitive]
    names = draw(st.sampled_from([(sensitive,), (sensitive,), (sensitive, others[0])]))
    k = st.none() | st.integers(1, 4)
    diversity = draw(st.none() | diversities(3) | functionals(3))
    private = PrivacyConstraint(
        cube, Requirements(names, draw(k), draw(k), diversity), draw(st.none() | st.integers(0, 3))
    )
    return draw(problems_of(cube, draw(st.just(private) | limits(domain, private))))
