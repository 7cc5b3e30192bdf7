"""The conditional independences that a decomposable collection assumes, by its separators.

For a separator S of the junction tree, let C_1 .. C_m be what remains connected of the interaction graph once S is gone.
Then C_1 .. C_m are mutually independent given S (global Markov property: Lauritzen, Graphical Models, Prop. 3.19). These
statements together are the whole model: along a perfect sequence, what a clique adds is independent of what came before it
given their separator, which follows from the statement of that separator, and these make up the factorization.
"""

from dataclasses import dataclass

from models.graphs.interaction_graph import InteractionGraph
from models.graphs.junction_tree import JunctionTree
from models.tables.domain import Mask


@dataclass(frozen=True)
class Independence:
    """Sets of induced attributes that are mutually independent given others.

    parts: at least two, disjoint, ascending by their first vertex. given: 0 where they are independent outright.
    """

    parts: tuple[Mask, ...]
    given: Mask


def independences(tree: JunctionTree) -> tuple[Independence, ...]:
    """One statement for each different separator, smaller separators first; none for a single clique.

    They do not depend on which junction tree of the collection is given.

    >>> from models.tables.domain import Domain
    >>> from models.tables.hierarchy import Hierarchy
    >>> domain = Domain.of({name: Hierarchy.flat("yn") for name in "abcd"})
    >>> independences(JunctionTree.of(domain, [0b0011, 0b0110, 0b1000]))
    (Independence(parts=(7, 8), given=0), Independence(parts=(1, 4, 8), given=2))
    """
    graph = InteractionGraph.of(tree.domain, tree.cliques)
    separators = {s for parent, s in zip(tree.parents, tree.separators) if parent >= 0}
    if tree.parents.count(-1) > 1:
        separators.add(0)
    ordered = sorted(separators, key=lambda separator: (separator.bit_count(), separator))
    return tuple(Independence(_parts(graph, separator), separator) for separator in ordered)


def _parts(graph: InteractionGraph, without: Mask) -> tuple[Mask, ...]:
    """The connected parts of a graph once some vertices are gone."""
    left, parts = graph.vertices & ~without, []
    while left:
        part = graph.reached((left & -left).bit_length() - 1, without)
        parts.append(part)
        left &= ~part
    return tuple(parts)
