"""Elimination finds the cliques that it finds step by step on plain sets, and a chordal graph of them."""

from collections.abc import Callable, Set
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from models.graphs.interaction_graph import elimination_cliques

Sets = list[frozenset[str]]

sets = st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=4), max_size=9)


def step_by_step(given_sets: Sets, allowed: Callable[[Set[str]], bool]) -> Sets | None:
    """Of the vertices whose clique is allowed, the one that adds the fewest edges is taken out, ties by name."""
    edges = {frozenset(pair) for each in given_sets for pair in combinations(each, 2)}
    left, cliques = set().union(*given_sets), []
    while left:
        around = {vertex: {other for other in left if frozenset((vertex, other)) in edges} for vertex in left}
        missing = {
            vertex: [pair for pair in combinations(around[vertex], 2) if frozenset(pair) not in edges]
            for vertex in left
            if allowed(around[vertex] | {vertex})
        }
        if not missing:
            return None
        chosen = min(missing, key=lambda vertex: (len(missing[vertex]), vertex))
        edges |= set(map(frozenset, missing[chosen]))
        cliques.append(frozenset(around[chosen] | {chosen}))
        left.remove(chosen)
    return cliques


def maximal(cliques: Sets | None) -> set[frozenset[str]] | None:
    return None if cliques is None else {own for own in cliques if not any(own < other for other in cliques)}


@given(sets)
def test_the_maximal_cliques_are_those_of_elimination_step_by_step(given_sets: Sets) -> None:
    found = elimination_cliques(given_sets)
    assert maximal(found) == maximal(step_by_step(given_sets, lambda _: True))
    assert len(found or []) == len(set(found or []))


@given(sets, st.lists(st.frozensets(st.sampled_from("abcdefgh")), max_size=3))
def test_only_allowed_cliques_are_taken(given_sets: Sets, complete: Sets) -> None:
    def allowed(clique: Set[str]) -> bool:
        return any(clique <= own for own in complete)

    found = elimination_cliques(given_sets, allowed)
    assert maximal(found) == maximal(step_by_step(given_sets, allowed))
    assert all(map(allowed, found or []))
