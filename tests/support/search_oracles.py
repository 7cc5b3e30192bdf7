"""Oracles for model search: all valid decomposable collections of a small domain, each looked at."""

from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, reduce
from itertools import combinations, product
from operator import or_

import numpy as np
import pytest

from filled_tables import of_rows
from models import (
    Collection,
    DataCube,
    Domain,
    Hierarchy,
    InteractionGraph,
    JunctionTree,
    Mask,
    MaximumEntropy,
    Problem,
    SearchResult,
    allowed_moves,
)
from models.search import result_of
from strategies import maximal_cliques

Cliques = frozenset[Mask]


def never() -> bool:
    """A stop that never comes."""
    return False


def required_only(problem: Problem, _stop: object) -> SearchResult:
    """A strategy that publishes what it must, and nothing else."""
    return result_of("required", problem, problem.position(problem.required), 0, [])


class Countdown:
    """Says stop from the turn after `left` on; counts how often it was asked."""

    def __init__(self, left: int) -> None:
        self.left, self.asked = left, 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.asked > self.left


@contextmanager
def short_walks(patience: int) -> Iterator[None]:
    """Iterated local searches that end after so many rounds without a better collection, for each induced attribute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.search.local_search.PATIENCE", patience)
        yield


def of_heights(heights: Iterable[int]) -> Domain:
    """A domain of one base value each; masks and moves depend on the heights alone."""
    return Domain.of({f"x{i}": Hierarchy.from_rows([("v",) + ("*",) * h]) for i, h in enumerate(heights)})


def heights_of(domain: Domain) -> tuple[int, ...]:
    return tuple(hierarchy.height for hierarchy in domain.hierarchies)


def has_junction_tree(domain: Domain, cliques: AnyCollection[Mask]) -> bool:
    try:
        JunctionTree.of(domain, cliques)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)
def by_antichains(heights: tuple[int, ...]) -> frozenset[Cliques]:
    domain = of_heights(heights)
    margins = [
        sum(((1 << r) - 1) << offset for r, offset in zip(node, domain.offsets))
        for node in product(*(range(h + 1) for h in heights))
        if any(node)
    ]

    def extended(chosen: Cliques, left: list[Mask]) -> Iterator[Cliques]:
        yield chosen
        for i, margin in enumerate(left):
            apart = [m for m in left[i + 1 :] if m & ~margin and margin & ~m]
            yield from extended(chosen | {margin}, apart)

    return frozenset(cliques for cliques in extended(frozenset(), margins) if has_junction_tree(domain, cliques))


@lru_cache(maxsize=256)
def by_moves(heights: tuple[int, ...], *, crossing: bool = True) -> frozenset[Cliques]:
    """Everything that allowed moves lead to from nothing, where levels may cross, and where they never do on the way."""
    frontier = [InteractionGraph.of(domain := of_heights(heights), [], crossing=crossing)]
    found = {frozenset[Mask]()}
    while frontier:
        graph = frontier.pop()
        for move in allowed_moves(graph):
            reached = move.apply(graph)
            cliques = frozenset(maximal_cliques(reached))
            assert crossing or not cross(domain, cliques)
            if cliques not in found:
                found.add(cliques)
                frontier.append(reached)
    return frozenset(found)


def cross(domain: Domain, cliques: Iterable[Mask]) -> bool:
    """Whether of some two attributes no margin shows both as finely as the margins that show both show each."""
    margins = [domain.margin(clique) for clique in cliques]
    for one, other in combinations(domain.attributes, 2):
        levels = {(margin[one], margin[other]) for margin in margins if one in margin and other in margin}
        if levels and tuple(map(min, zip(*levels))) not in levels:
            return True
    return False


def all_collections(domain: Domain) -> frozenset[Cliques]:
    return by_antichains(heights_of(domain))


def shows(cliques: Iterable[Mask], mask: Mask) -> bool:
    return any(not mask & ~clique for clique in cliques)


def is_finer(finer: Iterable[Mask], coarser: Iterable[Mask]) -> bool:
    """Whether one collection shows all that another does."""
    finer = list(finer)
    return all(shows(finer, mask) for mask in coarser)


def goes_on_from(longer: Cliques, part: Cliques) -> bool:
    """Whether a perfect sequence of the longer collection begins with the margins of the part.

    Prim's algorithm from the part on: a junction tree is a spanning tree of greatest overlap (Jensen and Jensen 1994).
    """
    if not part <= longer:
        return False
    shown, rest = set(part), set(longer - part)
    while rest:
        vertices = reduce(or_, shown, 0)
        new = max(rest, key=lambda m: max(((m & clique).bit_count() for clique in shown), default=0))
        if new & vertices and not shows(shown, new & vertices):
            return False
        shown.add(new)
        rest.remove(new)
    return True


def value(cube: DataCube, cliques: Iterable[Mask], price: float = 0.0) -> float:
    """KL divergence plus the price of the parameters, nats."""
    model = MaximumEntropy(Collection.of(cube, cliques))
    return model.kl_divergence + price * model.parameter_count


def allowed_values(problem: Problem) -> dict[Cliques, float]:
    wanted = problem.wanted.value if problem.wanted else lambda _: 0.0
    return {
        cliques: value(problem.cube, cliques, problem.price) + wanted(cliques)
        for cliques in all_collections(problem.cube.domain)
        if problem.is_kept(cliques) and problem.constraint(cliques, 0) is None
    }


def equal_pairs(number: int) -> DataCube:
    """So many independent pairs of equal attributes with four values, each of 256 rows drawn evenly."""
    rng = np.random.default_rng(0)
    fours = Hierarchy.from_rows([(str(v), str(v // 2), "*") for v in range(4)])
    names = [f"x{i:02}" for i in range(2 * number)]
    columns = np.repeat(rng.integers(0, 4, (number, 256)), 2, axis=0)
    return DataCube([of_rows(Domain.of(dict.fromkeys(names, fours)), columns.T)])
