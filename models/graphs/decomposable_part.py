"""A decomposable part of a collection: margins taken one after the other, as long as they have a junction tree together."""

from collections.abc import Iterable

from models.tables.domain import Mask


def decomposable_part(margins: Iterable[Mask]) -> tuple[Mask, ...]:
    """Each of the margins that has a junction tree together with those taken before it, in their order, without repeats."""
    part = _Growing()
    return tuple(mask for mask in dict.fromkeys(margins) if part.takes(mask))


class _Growing:
    """Maximal cliques that have a junction tree, which is known as its edges, and grows by one margin at a time.

    Margins have a junction tree exactly when a maximum spanning tree of the maximal ones, weighted by the size of their
    intersections, weighs `sum |clique| - |union|`. One more clique changes such a tree by its own edges only: of the others
    none comes in that was not there, since the path of the tree between its ends is at least as heavy as before.
    """

    def __init__(self) -> None:
        self._cliques: list[Mask] = []
        self._edges: list[tuple[Mask, Mask]] = []
        self._components: list[Mask] = []

    def takes(self, margin: Mask) -> bool:
        """Take a margin in, unless there would be no junction tree any more; whether it was."""
        if not self._may_join(margin):
            return False
        if any(not margin & ~clique for clique in self._cliques):
            return True
        kept = [clique for clique in self._cliques if clique & ~margin]
        edges = {(margin if not a & ~margin else a, margin if not b & ~margin else b) for a, b in self._edges}
        edges |= {(margin, clique) for clique in kept if clique & margin}
        tree, weight = _heaviest(edge for edge in edges if edge[0] != edge[1])
        cliques = [*kept, margin]
        if sum(map(int.bit_count, cliques)) - weight != _united(cliques).bit_count():
            return False
        self._cliques, self._edges = cliques, tree
        joined = [component for component in self._components if component & margin]
        self._components = [component for component in self._components if not component & margin]
        self._components.append(margin | _united(joined))
        return True

    def _may_join(self, margin: Mask) -> bool:
        """Whether it is worth looking closer: two vertices of a connected part that are not adjacent cannot be joined alone,
        since what connects them makes a cycle with their edge, or a triangle that no margin shows.
        """
        for component in self._components:
            shared = margin & component
            if shared.bit_count() == 2 and not any(not shared & ~clique for clique in self._cliques):
                return False
        return True


def _united(masks: Iterable[Mask]) -> Mask:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _heaviest(edges: Iterable[tuple[Mask, Mask]]) -> tuple[list[tuple[Mask, Mask]], int]:
    """The edges of a maximum spanning forest, weighted by the size of the intersections, and what it weighs (Kruskal)."""
    root: dict[Mask, Mask] = {}

    def root_of(clique: Mask) -> Mask:
        while (above := root.setdefault(clique, clique)) != clique:
            root[clique] = root[above]
            clique = above
        return clique

    kept, weight = [], 0
    for a, b in sorted(edges, key=lambda edge: (-(edge[0] & edge[1]).bit_count(), edge)):
        first, second = root_of(a), root_of(b)
        if first != second:
            root[first] = second
            kept.append((a, b))
            weight += (a & b).bit_count()
    return kept, weight
