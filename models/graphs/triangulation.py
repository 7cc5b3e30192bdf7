"""Triangulation: cliques of attributes that cover any collection and have a junction tree (minimum fill-in)."""

from itertools import combinations

from models.graphs.collection import Collection
from models.graphs.junction_tree import JunctionTree


def triangulated_tree(collection: Collection) -> JunctionTree:
    """A junction tree whose cliques cover every margin and support, each attribute at its finest published level throughout.

    Attributes are eliminated in the order that adds the fewest edges, ties by name. O(attributes^4).
    """
    domain = collection.domain
    margins = [
        set(margin) for margin in (*collection.margins, *(support.cells.margin for support in collection.supports))
    ]
    neighbours: dict[str, set[str]] = {a: set() for margin in margins for a in margin}
    for margin in margins:
        for attribute in margin:
            neighbours[attribute] |= margin - {attribute}
    cliques = []
    while neighbours:

        def fill(attribute: str) -> int:
            pairs = combinations(sorted(neighbours[attribute]), 2)
            return sum(second not in neighbours[first] for first, second in pairs)

        chosen = min(sorted(neighbours), key=fill)
        around = neighbours.pop(chosen)
        cliques.append(domain.mask({a: collection.finest_levels[a] for a in (chosen, *around)}))
        for attribute in around:
            neighbours[attribute] |= around
            neighbours[attribute] -= {attribute, chosen}
    return JunctionTree.of(domain, cliques)
