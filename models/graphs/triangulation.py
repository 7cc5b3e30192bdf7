"""Triangulation: cliques of attributes that cover any collection and have a junction tree (minimum fill-in)."""

from models.graphs.collection import Collection
from models.graphs.elimination import elimination_cliques
from models.graphs.junction_tree import JunctionTree


def triangulated_tree(collection: Collection) -> JunctionTree:
    """A junction tree whose cliques cover every margin and support, each attribute at its finest published level throughout.

    Attributes are eliminated in the order that adds the fewest edges, ties by name. O(attributes^4).
    """
    margins = [
        set(margin) for margin in (*collection.margins, *(support.cells.margin for support in collection.supports))
    ]
    levels = collection.finest_levels
    cliques = elimination_cliques(margins) or []
    domain = collection.domain
    return JunctionTree.of(domain, [domain.mask({a: levels[a] for a in clique}) for clique in cliques])
