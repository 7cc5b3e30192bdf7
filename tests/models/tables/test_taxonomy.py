"""A taxonomy numbers all values of a hierarchy, and knows what each covers."""

from hypothesis import given

from brute_force import covered
from models import Hierarchy, Taxonomy
from strategies import hierarchies


@given(hierarchies())
def test_nodes_say_what_the_hierarchy_says(hierarchy: Hierarchy) -> None:
    taxonomy = Taxonomy(hierarchy)
    values = [(level, code) for level in range(hierarchy.height + 1) for code in range(hierarchy.size(level))]
    assert taxonomy.size == len(values)
    assert taxonomy.root == taxonomy.size - 1
    for node, (level, code) in enumerate(values):
        under = [leaf for leaf, value in enumerate(hierarchy.lift(0, level).tolist()) if value == code]
        assert taxonomy.levels[node] == level
        assert taxonomy.labels[node] == hierarchy.labels[level][code]
        assert taxonomy.leaf_counts[node] == len(under)
        assert [leaf for leaf, held in enumerate(covered(taxonomy)[node]) if held] == under
        assert [leaf for leaf, above in enumerate(taxonomy.at_level(level)) if above == node] == under
        above = values[taxonomy.parents[node]]
        assert above == ((level + 1, hierarchy.parents[level][code]) if level < hierarchy.height else (level, code))


@given(hierarchies())
def test_shares_are_those_of_the_covered_leaves(hierarchy: Hierarchy) -> None:
    taxonomy = Taxonomy(hierarchy)
    leaves = [{leaf for leaf, held in enumerate(row) if held} for row in covered(taxonomy)]
    for node in range(taxonomy.size):
        expected = [len(leaves[node] & other) / len(other) for other in leaves]
        assert taxonomy.shares_under(node).tolist() == expected


@given(hierarchies())
def test_nodes_that_read_alike_have_one_plainest_node(hierarchy: Hierarchy) -> None:
    taxonomy = Taxonomy(hierarchy)
    seen: dict[tuple[str, bytes], int] = {}
    for node in range(taxonomy.size):
        first = seen.setdefault((taxonomy.labels[node], covered(taxonomy)[node].tobytes()), node)
        assert taxonomy.plainest[node] == first
