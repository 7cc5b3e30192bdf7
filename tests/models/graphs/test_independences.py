"""The independences of a collection hold in its distribution, and together they are all of its graph."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings

from brute_force import iterative_proportional_fitting, joint_array
from models import InteractionGraph, JunctionTree, vertices_of
from models.graphs.junction_tree import independences
from privacy_oracles import base_table
from strategies import decomposable_collections


def over_base_cells(q, domain, mask):
    """The probability of the coarser cell that each base cell lies in."""
    for axis, (hierarchy, level) in enumerate(zip(domain.hierarchies, domain.levels(mask).values())):
        lift = hierarchy.lift(0, level)
        together = (lift[:, None] == lift).astype(float)
        q = np.moveaxis(np.tensordot(together, q, (1, axis)), 0, axis)
    return q


@settings(max_examples=40)
@given(decomposable_collections(max_cells=60))
def test_each_statement_holds_in_the_maxent_distribution(collection):
    """q(all) q(S)^(m-1) = product of q(part, S), at every cell."""
    domain, p = collection.domain, joint_array(base_table(collection.cube)) / collection.cube.total
    q = iterative_proportional_fitting(p, domain, collection.margins)
    for statement in independences(collection.junction_tree):
        given_mass = over_base_cells(q, domain, statement.given)
        together = over_base_cells(q, domain, statement.given | sum(statement.parts))
        product = np.prod([over_base_cells(q, domain, statement.given | part) for part in statement.parts], axis=0)
        assert np.allclose(together * given_mass ** (len(statement.parts) - 1), product, atol=1e-9)


@given(decomposable_collections())
def test_two_are_not_adjacent_exactly_where_a_statement_parts_them(collection):
    tree = collection.junction_tree
    graph = InteractionGraph.of(tree.domain, tree.cliques)
    statements = independences(tree)
    for first, second in combinations(vertices_of(graph.vertices), 2):
        parted = any(
            any(part >> first & 1 for part in s.parts)
            and any(part >> second & 1 for part in s.parts)
            and not any(part >> first & part >> second & 1 for part in s.parts)
            for s in statements
        )
        assert parted != graph.has_edge(first, second)
    assert independences(JunctionTree.of(tree.domain, tree.cliques[::-1])) == statements
