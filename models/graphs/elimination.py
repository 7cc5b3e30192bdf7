"""Elimination: a chordal graph that covers given sets of vertices, by taking out vertices one by one (minimum fill-in)."""

from collections.abc import Callable, Iterable, Mapping, Set
from heapq import heappop, heappush

from models.tables.domain import Mask, vertices_of


def elimination_cliques(
    sets: Iterable[Set[str]], allowed: Callable[[Set[str]], bool] | None = None
) -> list[frozenset[str]] | None:
    """Cliques of a chordal graph in which each given set is a clique, each an allowed one; None where none was found.

    Of the vertices whose clique is allowed the one that adds the fewest edges is taken out, ties by name. All maximal
    cliques of the graph are among the answer, and perhaps subsets of them. O(vertices^4). Where not all cliques are
    allowed, None proves nothing: another order may do.

    >>> [sorted(clique) for clique in elimination_cliques([{"a", "b"}, {"b", "c"}, {"c", "d"}, {"a", "d"}])]
    [['a', 'b', 'd'], ['b', 'c', 'd']]
    >>> elimination_cliques([{"a", "b"}, {"b", "c"}, {"a", "c"}], lambda clique: len(clique) < 3) is None
    True
    """
    given = list(sets)
    names = sorted(set().union(*given))
    place = {name: i for i, name in enumerate(names)}
    masks = [sum(1 << place[name] for name in each) for each in given]

    def named(mask: Mask) -> frozenset[str]:
        return frozenset([names[i] for i in vertices_of(mask)])

    cliques = eliminated(masks, allowed and (lambda mask: allowed(named(mask))))
    return None if cliques is None else list(map(named, cliques))


def eliminated(sets: Iterable[Mask], allowed: Callable[[Mask], bool] | None = None) -> list[Mask] | None:
    """The same of sets of numbers, each as a mask with a bit for each number; ties by number.

    >>> [bin(clique) for clique in eliminated([0b0011, 0b0110, 0b1100, 0b1001])]
    ['0b1011', '0b1110']
    """
    closed: dict[int, Mask] = {}  # each vertex and its neighbours
    left = 0
    for each in sets:
        left |= each
        for vertex in vertices_of(each):
            closed[vertex] = closed.get(vertex, 0) | each
    if allowed is None and set(closed.values()) == {left}:  # small collections often are such
        return [left]
    fill = {vertex: _fill(closed, vertex) for vertex in vertices_of(left)}
    waiting = sorted((edges, vertex) for vertex, edges in fill.items())  # a heap, since it ascends
    cliques = []
    while left:
        chosen, passed = None, []
        while chosen is None and waiting:
            edges, vertex = entry = heappop(waiting)
            if not left >> vertex & 1 or edges != fill[vertex]:  # of a vertex's entries that counts which is true
                continue
            if allowed is None or allowed(closed[vertex]):
                chosen = vertex
            else:
                passed.append(entry)
        if chosen is None:
            return None
        for entry in passed:
            heappush(waiting, entry)
        clique = closed[chosen]
        cliques.append(clique)
        if clique == left:  # what would follow are its subsets
            break
        left ^= 1 << chosen
        changed = 0
        for vertex in vertices_of(clique ^ 1 << chosen):
            # What gets new neighbours has them in common with each of its own.
            changed |= closed[vertex] if clique & ~closed[vertex] else 1 << vertex
            closed[vertex] = (closed[vertex] | clique) ^ 1 << chosen
        for vertex in vertices_of(changed & left):
            fill[vertex] = _fill(closed, vertex)
            heappush(waiting, (fill[vertex], vertex))
    return cliques


def _fill(closed: Mapping[int, Mask], vertex: int) -> int:
    """Twice the edges that neighbours of a vertex lack among each other."""
    clique = closed[vertex]
    return sum([(clique & ~closed[neighbour]).bit_count() for neighbour in vertices_of(clique)])
