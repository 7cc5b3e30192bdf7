"""Junction trees: how the cliques of a decomposable collection hang together, in perfect sequence.

A collection is decomposable when its interaction graph is chordal and every maximal clique is one of its margins. That
holds exactly when a maximum-weight spanning tree of its maximal margins, weighted by the size of their intersections,
satisfies `sum |clique| - sum |separator| = |union|` (Lauritzen, Graphical Models, 2.1.3; Jensen and Jensen 1994).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from models.errors import NotDecomposableError
from models.tables.domain import Domain, Mask, vertices_of
from models.tables.margin import Margin

if TYPE_CHECKING:
    import networkx as nx


def maximal_masks(masks: Iterable[Mask]) -> list[Mask]:
    """The nonempty masks that no other contains: larger first, then by value, so that the order is reproducible."""
    distinct = set(masks) - {0}
    if len(distinct) < 2:
        return list(distinct)
    maximal: list[Mask] = []
    holding: defaultdict[Mask, list[Mask]] = defaultdict(list)  # by one vertex, as a bit, the maximal masks with it
    for mask in sorted(distinct, key=lambda m: (-m.bit_count(), m)):
        for larger in holding[mask & -mask]:
            if not mask & ~larger:
                break
        else:
            maximal.append(mask)
            for vertex in vertices_of(mask):
                holding[1 << vertex].append(mask)
    return maximal


def _spanning_tree(cliques: Sequence[Mask]) -> tuple[list[int], list[int]]:
    """Prim's algorithm from the first clique: the order in which cliques join, and whom each one joins (-1: none).

    Of equal overlaps the earlier clique joins, and it joins the one that joined first.
    """
    holding: defaultdict[int, set[int]] = defaultdict(set)  # by vertex, the cliques with it that have not joined
    for i, clique in enumerate(cliques):
        for vertex in vertices_of(clique):
            holding[vertex].add(i)
    best = [0] * len(cliques)
    parent_of = [-1] * len(cliques)
    place: dict[int, int] = {}
    # A heap, since it ascends: minus the overlap, and the clique; of a clique's entries the one with most overlap counts.
    waiting = [(0, i) for i in range(len(cliques))]
    while waiting:
        _, chosen = heappop(waiting)
        if chosen in place:
            continue
        place[chosen] = len(place)
        near: set[int] = set()
        for vertex in vertices_of(cliques[chosen]):
            holding[vertex].discard(chosen)
            near |= holding[vertex]
        for i in near:
            overlap = (cliques[i] & cliques[chosen]).bit_count()
            if overlap > best[i]:
                best[i], parent_of[i] = overlap, chosen
                heappush(waiting, (-overlap, i))
    return list(place), [place.get(parent_of[chosen], -1) for chosen in place]


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques in perfect sequence, each with its parent and the separator between them.

    `parents[i] < i`, or -1 where the separator is empty: the first clique of each connected part.
    """

    domain: Domain
    cliques: tuple[Mask, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, domain: Domain, masks: Iterable[Mask]) -> "JunctionTree":
        """The junction tree of a generating class. Raises NotDecomposableError when there is none. O(cliques^2)."""
        maximal = maximal_masks(masks)
        if len(maximal) == 1:
            return cls(domain, (maximal[0],), (-1,))
        order, parents = _spanning_tree(maximal)
        tree = cls(domain, tuple(maximal[i] for i in order), tuple(parents))
        excess = sum(c.bit_count() for c in tree.cliques) - sum(s.bit_count() for s in tree.separators)
        if excess != tree.vertices.bit_count():
            raise NotDecomposableError(
                "the interaction graph has a chordless cycle, or a clique that is in none of the margins"
            )
        return tree

    @cached_property
    def separators(self) -> tuple[Mask, ...]:
        """For each clique what it shares with its parent, and so with all before it."""
        return tuple(
            clique & self.cliques[parent] if parent >= 0 else 0 for clique, parent in zip(self.cliques, self.parents)
        )

    @cached_property
    def vertices(self) -> Mask:
        """All induced attributes that some clique holds."""
        union = 0
        for clique in self.cliques:
            union |= clique
        return union

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each clique the positions of its children."""
        below: list[list[int]] = [[] for _ in self.cliques]
        for child, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(child)
        return tuple(map(tuple, below))

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The maximal margins, in perfect sequence."""
        return tuple(map(self.domain.margin, self.cliques))

    def containing(self, vertices: Mask) -> "JunctionTree":
        """The subtree of the cliques that hold all the given vertices (KG06 Prop. 7.3); connected by construction."""
        kept = [i for i, clique in enumerate(self.cliques) if vertices & ~clique == 0]
        place = {clique: position for position, clique in enumerate(kept)}
        return JunctionTree(
            self.domain,
            tuple(self.cliques[i] for i in kept),
            tuple(place.get(self.parents[i], -1) for i in kept),
        )

    def graph(self) -> "nx.Graph[Margin]":
        """The tree as networkx: nodes are margins; an edge carries `separator`, a margin. A forest if disconnected."""
        import networkx as nx

        graph: nx.Graph[Margin] = nx.Graph()
        margins = self.margins
        graph.add_nodes_from(margins)
        for child, (parent, separator) in enumerate(zip(self.parents, self.separators)):
            if parent >= 0:
                graph.add_edge(margins[parent], margins[child], separator=self.domain.margin(separator))
        return graph
