"""Alike base values count as one; everything else goes by the hierarchy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brute_force import covered
from checks import consistent_counts
from checks.risk.attackers import AlikeValues, approximate_counts
from risk_strategies import dictionaries, records, spaces


@given(st.data())
def test_counts_are_those_of_all_pairs(data: st.DataObject) -> None:
    space = data.draw(spaces())
    sought, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    alike, matrices = {}, {}
    for axis in data.draw(st.sets(st.integers(0, len(space) - 1))):
        size = space.taxonomies[axis].hierarchy.size(0)
        drawn = data.draw(st.lists(st.booleans(), min_size=size * size, max_size=size * size))
        matrices[axis] = np.array(drawn).reshape(size, size) | np.eye(size, dtype=bool)
        alike[axis] = AlikeValues(*np.nonzero(matrices[axis]))
    counts = approximate_counts(sought, dictionary, alike)
    if not alike:
        assert counts.tolist() == consistent_counts(sought, dictionary).tolist()
    for row in range(len(sought)):
        found = 0
        for entry in range(len(dictionary)):
            agrees = True
            for axis, taxonomy in enumerate(space.taxonomies):
                y, z = int(sought.nodes[row, axis]), int(dictionary.entries.nodes[entry, axis])
                if axis in alike and taxonomy.levels[y] == taxonomy.levels[z] == 0:
                    agrees &= bool(matrices[axis][y, z])
                else:
                    one, other = covered(taxonomy)[y], covered(taxonomy)[z]
                    level = max(taxonomy.levels[y], taxonomy.levels[z])
                    agrees &= bool(np.any(one & other)) and bool(level >= 0)
            found += agrees
        assert counts[row] == found
