"""A forest of pairs: where a search may begin, so that attributes are together which tell most of each other.

Chow and Liu (IEEE Transactions on Information Theory 14, 1968), with levels: of each pair of attributes the margin that is
allowed and tells most, the pairs that tell most first, each where it joins two parts that were apart. One pair is made at
once, where a stepwise search makes it step by step, and gives up at a step that by itself tells nothing: two columns that
are the same, say, of which a finer step of one beside a coarser of the other tells nothing more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import wraps
from itertools import combinations

from models.errors import NothingAllowedError
from models.graphs.junction_tree import maximal_masks
from models.search.beginnings.staircase import staircase
from models.search.bounds.lower_bound import LARGEST_LATTICE, lattice_size
from models.search.constraint import is_refused_in_all
from models.search.greedy import forward
from models.search.objective import LEAST_GAIN
from models.search.problem import Problem, Stop
from models.search.result import SearchResult, Step, Strategy
from models.tables.domain import Mask, vertices_of

_WORK = 1 << 28
"""Pairs of attributes times the cells of the table that they are counted from, at most."""


def or_from_forest(search: Strategy) -> Strategy:
    """A search that of a large lattice gives nothing worse than forward search from a forest of pairs.

    Where all attributes have one step each, a stepwise search makes a pair at once by itself.
    """

    @wraps(search)
    def strategy(problem: Problem, stop: Stop) -> SearchResult:
        if not _is_large(problem) or all(own.bit_count() == 1 for own in problem.cube.domain.attribute_masks):
            return search(problem, stop)
        other = from_forest(problem, stop)
        return _better(search(problem, stop), other)

    return strategy


def from_forest(problem: Problem, stop: Stop) -> SearchResult | None:
    """What forward search finds from a forest of pairs; None where it is not allowed, or takes too long to be made."""
    attributes, base = len(problem.cube.domain.attributes), sum(problem.cube.domain.attribute_masks)
    cells = len(problem.cube.table(base)) if problem.cube.holds(base) else problem.cube.total
    if attributes * (attributes - 1) // 2 * cells > _WORK:
        return None
    start = forest(problem, stop)
    try:
        found = forward(replace(problem, start=start), stop)
    except NothingAllowedError:
        return None
    begun, at = problem.position(problem.initial), problem.position(start)
    step = Step("begin with pairs of attributes that tell most of each other", begun.divergence, at.divergence)
    return replace(found, steps=(step, *found.steps))


from_both: Strategy = or_from_forest(forward)
"""What forward search finds; of a large lattice the better of that and of what it finds from a forest of pairs."""


def _is_large(problem: Problem) -> bool:
    return lattice_size(problem) > LARGEST_LATTICE


def _better(result: SearchResult, other: SearchResult | None) -> SearchResult:
    """The better of two results of a strategy, with what both looked at; the first where that cannot be said."""
    if other is None:
        return result
    evaluated = result.evaluated + other.evaluated
    is_better = None not in (result.value, other.value) and (other.value or 0.0) < (result.value or 0.0) - LEAST_GAIN
    best = replace(other, strategy=result.strategy) if is_better else result
    return replace(best, evaluated=evaluated)


def forest(problem: Problem, stop: Stop) -> tuple[Mask, ...]:
    """A collection that is allowed: the initial one of a problem, pairs of attributes that were apart in it, single ones.

    Decomposable, since two parts that are apart are joined by one attribute of each, which some clique of its part shows
    as finely as the part shows it at all.
    """
    own = problem.cube.domain.attribute_masks
    part = {place: place for place in range(len(own))}
    for clique in problem.initial:
        shown = [place for place, mask in enumerate(own) if mask & clique]
        _join(part, shown)
    cliques = tuple(maximal_masks(problem.initial))
    if problem.constraint(cliques, 0):
        return cliques
    for _, margin, pair in sorted(_pairs(problem, stop), key=lambda each: (-each[0], each[2])):
        if stop():
            break
        if part[pair[0]] == part[pair[1]]:
            continue
        extended = tuple(maximal_masks((*cliques, margin)))
        if problem.constraint(extended, margin) is None:
            cliques = extended
            _join(part, pair)
    for place in range(len(own)):
        if not stop() and (margin := _alone(problem, cliques, place)):
            extended = tuple(maximal_masks((*cliques, margin)))
            if problem.constraint(extended, margin) is None:
                cliques = extended
    return cliques


def _alone(problem: Problem, cliques: Iterable[Mask], place: int) -> Mask:
    """The margin of one attribute by which a collection gains most; 0 where it gains by none."""
    cube, domain = problem.cube, problem.cube.domain
    attribute, hierarchy, own = domain.attributes[place], domain.hierarchies[place], domain.attribute_masks[place]
    shown = max((clique & own for clique in cliques), default=0)
    leaves = cube.log_leaves(attribute, hierarchy.height - shown.bit_count())
    best, margin = LEAST_GAIN, 0
    for step in vertices_of(own & ~shown):
        finer = own & ((2 << step) - 1)
        if is_refused_in_all(problem.constraint, finer):
            break
        saved = leaves - cube.log_leaves(attribute, hierarchy.height - finer.bit_count())
        parameters = cube.cell_count(finer) - cube.cell_count(shown)
        gain = problem.objective.gain(saved - cube.entropy(finer) + cube.entropy(shown), parameters)
        if gain > best:
            best, margin = gain, finer
    return margin


def _join(part: dict[int, int], places: Iterable[int]) -> None:
    """Let the parts of some attributes be one."""
    joined = {part[place] for place in places}
    part.update((place, min(joined)) for place, number in part.items() if number in joined)


def _pairs(problem: Problem, stop: Stop) -> Iterator[tuple[float, Mask, tuple[int, int]]]:
    """The gain, the margin and the attributes of each pair that gains, the margin being the allowed one that gains most."""
    entropy, cells = problem.cube.entropy, problem.cube.cell_count
    for pair in combinations(range(len(problem.cube.domain.attributes)), 2):
        best, margin = LEAST_GAIN, 0
        for first, second in _finest(problem, pair):
            if stop():
                return
            both = first | second
            parameters = cells(both) - cells(first) - cells(second) + 1
            gain = problem.objective.gain(entropy(first) + entropy(second) - entropy(both), parameters)
            if gain > best:
                best, margin = gain, both
        if margin:
            yield best, margin, pair


def _finest(problem: Problem, pair: tuple[int, int]) -> Iterator[tuple[Mask, Mask]]:
    """The finest allowed margins of two attributes."""
    first, second = (_shown(problem, place) for place in pair)
    return staircase(first, second, lambda margin: not is_refused_in_all(problem.constraint, margin))


def _shown(problem: Problem, place: int) -> list[Mask]:
    """The margins of an attribute by itself, the coarsest first."""
    domain = problem.cube.domain
    return [((1 << shown) - 1) << domain.offsets[place] for shown in range(1, domain.hierarchies[place].height + 1)]
