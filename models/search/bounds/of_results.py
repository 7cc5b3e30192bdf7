"""Results of any strategy with a bound on how much better some allowed collection can be."""

from dataclasses import dataclass, replace
from math import inf

from models.search.bounds.block_bound import of_blocks
from models.search.bounds.lower_bound import (
    LARGEST_LATTICE,
    allowed_margins,
    coarse_grid,
    finest_alone,
    lattice_size,
    lower_bound,
    of_finest_levels,
)
from models.search.objective import KL, PenalizedDivergence
from models.search.problem import Problem, Stop
from models.search.result import SearchResult

LARGEST_GRID = 1 << 13
"""Margins that are told apart in a domain with a larger lattice, at most."""

_WORK = 1 << 27
"""These margins times the cells of the table that they are counted from, at most."""

_WORK_BY_BLOCKS = 1 << 31
"""The margins that are looked at in each grid for the bound by blocks, times those cells, at most: half a minute or so."""

_NEAR = 0.95
"""Share of what a search has found from which on a bound is not made better: for no more than that, nobody waits."""

_FIRST = 1 / 2
"""Share of what a search has found from which on a bound is a first one."""

_LOOKS = 1 << 20
"""Margins that are looked at in each grid, at most, however small the table."""


@dataclass(frozen=True)
class LargeLatticeStops:
    """When to end in a large lattice, of which more and more margins can be told apart for ever better bounds.

    sets: asked while all allowed margins are counted, which gives the best bound, where each attribute has one level.
    ladders: asked instead where some attribute has several levels: other bounds are tried afterwards. first: asked in these
    while no bound has reached half of what was found. better: asked once one has.
    """

    sets: Stop
    ladders: Stop
    first: Stop
    better: Stop


def with_bound(
    result: SearchResult, problem: Problem, stop: Stop, in_large_lattices: LargeLatticeStops | None = None
) -> SearchResult:
    """A result that also says how far from the best allowed collection it can be, where that can be bounded in time.

    in_large_lattices: asked instead of `stop` where there are too many margins to look at all of them.
    """
    if result.bound is not None or not isinstance(problem.objective, PenalizedDivergence):
        return result
    if lattice_size(problem) > LARGEST_LATTICE:
        stops = in_large_lattices or LargeLatticeStops(stop, stop, stop, stop)
        if stops.sets():
            return result
        found = inf if result.value is None else result.value
        return replace(result, bound=_of_large_lattice(replace(problem, objective=KL), stops, found))
    allowed = allowed_margins(problem, stop)
    return result if allowed is None else replace(result, bound=lower_bound(problem, allowed).value)


def _of_large_lattice(problem: Problem, stops: LargeLatticeStops, found: float) -> float:
    """The largest of the bounds that are found in time until one is near what was found, in nats of KL divergence."""
    finest, base = finest_alone(problem), sum(problem.cube.domain.attribute_masks)
    least = of_finest_levels(problem, finest)
    if not problem.cube.holds(base):
        return least

    def stop() -> bool:
        return stops.better() if least > _FIRST * found else stops.first()

    cells = max(len(problem.cube.table(base)), 1)
    grid = coarse_grid(problem, finest, min(LARGEST_GRID, _WORK // cells))
    if grid is not None and (allowed := allowed_margins(problem, stop, grid)) is not None:
        least = max(lower_bound(problem, allowed, grid).value, least)
    if least >= _NEAR * found:
        return least
    counting = stops.ladders if max(finest, default=0) > 1 else stops.sets
    for bound in of_blocks(problem, finest, min(_WORK_BY_BLOCKS // cells, _LOOKS), stop, counting):
        least = max(bound, least)
        if least >= _NEAR * found:
            break
    return least
