"""Which nodes verdicts settle, and which node is asked next, by looking at every pair of nodes."""

from itertools import product

from hypothesis import event, given
from hypothesis import strategies as st

from marginals.anonymizers.lattice import SettledNodes


def is_finer(one, other):
    return all(a <= b for a, b in zip(one, other))


@given(st.data())
def test_the_next_node_settles_most_in_the_worse_case(data):
    """Up to 256 nodes, so that axes are summed over in one group and in several."""
    heights = tuple(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4), label="heights"))
    nodes = list(product(*(range(height + 1) for height in heights)))
    settled = SettledNodes(heights)
    passed, failed = [], []
    for node in data.draw(st.lists(st.sampled_from(nodes), max_size=4), label="verdicts"):
        passes = data.draw(st.booleans())
        if any(is_finer(node, other) for other in failed) if passes else any(is_finer(other, node) for other in passed):
            continue  # no monotone requirement says so
        (passed if passes else failed).append(node)
        settled.settle(node, passes)
    still_open = [
        node
        for node in nodes
        if not any(is_finer(other, node) for other in passed) and not any(is_finer(node, other) for other in failed)
    ]
    assert [node for node in nodes if settled.open[node]] == still_open
    worth = {
        node: min(
            sum(is_finer(other, node) for other in still_open), sum(is_finer(node, other) for other in still_open)
        )
        for node in still_open
    }
    # Of equals the first one.
    assert settled.most_telling() == max(worth, key=worth.__getitem__, default=None)
    lowest = [node for node in nodes if any(is_finer(p, node) for p in passed)]
    assert settled.minimal() == [n for n in lowest if not any(m != n and is_finer(m, n) for m in lowest)]
    event("settled" if not still_open else "open")
