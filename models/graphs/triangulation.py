"""Triangulation: cliques of attributes that cover any collection and have a junction tree (minimum fill-in)."""

from functools import reduce
from operator import or_

from models.graphs.collection import Collection
from models.graphs.elimination import eliminated
from models.graphs.junction_tree import JunctionTree
from models.tables.domain import vertices_of


def triangulated_tree(collection: Collection) -> JunctionTree:
    """A junction tree whose cliques cover every margin and support, each attribute at its finest published level throughout.

    Attributes are eliminated in the order that adds the fewest edges, ties by name. O(attributes^4).
    """
    domain = collection.domain
    by_name = sorted(range(len(domain.attributes)), key=domain.attributes.__getitem__)
    number = {place: number for number, place in enumerate(by_name)}
    masks = [*collection.masks, *(domain.mask(support.cells.margin) for support in collection.supports)]
    cliques = eliminated(sum([1 << number[place] for place in domain.places(mask)]) for mask in masks) or []
    finest = reduce(or_, collection.masks, 0)
    own = [domain.attribute_masks[place] & finest for place in by_name]
    return JunctionTree.of(domain, [sum([own[vertex] for vertex in vertices_of(clique)]) for clique in cliques])
