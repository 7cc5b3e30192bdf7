"""Collapsing: the smallest part of a decomposable collection that still has the distribution of some attributes.

A vertex that lies in one maximal clique only is joined to nothing else, so that the sum over its values leaves the other
cliques of the maximum-entropy distribution as they are. Vertices that are not asked about are taken away as long as there is
such a one; what is left is the smallest set onto which the model is collapsible (Asmussen and Edwards, Biometrika 70, 1983;
Frydenberg, Biometrika 77, 1990), and so does not depend on the order.
"""

from models.graphs.interaction_graph import InteractionGraph
from models.graphs.junction_tree import JunctionTree
from models.tables.domain import Mask


def collapsed(tree: JunctionTree, onto: Mask) -> frozenset[Mask]:
    """The maximal cliques of the smallest part whose maximum-entropy distribution of `onto` is that of the whole tree.

    onto: induced attributes, of which those that no clique holds count for nothing.
    """
    left = _without_leaves(tree, onto)
    while True:
        once = twice = 0
        for clique in left:
            twice |= once & clique
            once |= clique
        alone = once & ~twice & ~onto
        if not alone:
            return frozenset(clique for clique in left if clique)
        reduced = {clique & ~alone for clique in left}
        left = [c for c in reduced if not any(c != other and not c & ~other for other in reduced)]


def _without_leaves(tree: JunctionTree, onto: Mask) -> list[Mask]:
    """The cliques without those at the ends of the tree that add nothing asked about to what they share with the rest."""
    neighbors: list[dict[int, Mask]] = [{} for _ in tree.cliques]
    for child, parent in enumerate(tree.parents):
        if parent >= 0:
            neighbors[child][parent] = neighbors[parent][child] = tree.separators[child]
    kept = [True] * len(tree.cliques)
    ends = [i for i, around in enumerate(neighbors) if len(around) <= 1]
    while ends:
        clique = ends.pop()
        if not kept[clique] or len(neighbors[clique]) > 1:
            continue
        shared = next(iter(neighbors[clique].values()), 0)
        if tree.cliques[clique] & onto & ~shared:
            continue
        kept[clique] = False
        for other in neighbors[clique]:
            del neighbors[other][clique]
            ends.append(other)
    return [clique for clique, stays in zip(tree.cliques, kept) if stays]


def concerns(graph: InteractionGraph, first: int, second: int, onto: Mask) -> bool:
    """Whether one more edge between two vertices changes the part of a decomposable graph that matters to `onto`.

    The common neighbours S of the two must separate them. It does unless S and the first separate `onto` from the second,
    or S and the second separate it from the first.
    """
    beyond_first, beyond_second = sides(graph, first, second)
    return bool(onto & beyond_first) and bool(onto & beyond_second)


def sides(graph: InteractionGraph, first: int, second: int) -> tuple[Mask, Mask]:
    """What is connected with each of two vertices once the other and their common neighbours are gone."""
    shared = graph.neighbors[first] & graph.neighbors[second]
    return graph.reached(first, shared | 1 << second), graph.reached(second, shared | 1 << first)
