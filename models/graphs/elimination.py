"""Elimination: a chordal graph that covers given sets of vertices, by taking out vertices one by one (minimum fill-in)."""

from collections.abc import Callable, Iterable, Set
from itertools import combinations


def _any(_: Set[str]) -> bool:
    return True


def elimination_cliques(
    sets: Iterable[Set[str]], allowed: Callable[[Set[str]], bool] = _any
) -> list[frozenset[str]] | None:
    """Cliques of a chordal graph in which each given set is a clique, each an allowed one; None where none was found.

    Of the vertices whose clique is allowed the one that adds the fewest edges is taken out, ties by name. All maximal
    cliques of the graph are among the answer, and subsets of them. O(vertices^4). Where not all cliques are allowed, None
    proves nothing: another order may do.

    >>> [sorted(clique) for clique in elimination_cliques([{"a", "b"}, {"b", "c"}, {"c", "d"}, {"a", "d"}])]
    [['a', 'b', 'd'], ['b', 'c', 'd'], ['c', 'd'], ['d']]
    >>> elimination_cliques([{"a", "b"}, {"b", "c"}, {"a", "c"}], lambda clique: len(clique) < 3) is None
    True
    """
    neighbours: dict[str, set[str]] = {}
    for each in sets:
        for vertex in each:
            neighbours.setdefault(vertex, set()).update(each - {vertex})

    def fill(vertex: str) -> int:
        return sum(second not in neighbours[first] for first, second in combinations(sorted(neighbours[vertex]), 2))

    cliques = []
    while neighbours:
        possible = [vertex for vertex in sorted(neighbours) if allowed(neighbours[vertex] | {vertex})]
        if not possible:
            return None
        chosen = min(possible, key=fill)
        around = neighbours.pop(chosen)
        cliques.append(frozenset({chosen, *around}))
        for vertex in around:
            neighbours[vertex] |= around
            neighbours[vertex] -= {vertex, chosen}
    return cliques
