"""The lattice search equals looking at every node."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checks.l_diversity import Distinct, Diversity, Entropy, Recursive, Simple
from checks.requirements import Requirements
from marginals.lattice import minimal_tables, table_satisfies
from models.contingency_table import ContingencyTable
from models.data_cube import DataCube
from models.domain import Domain
from models.hierarchy import Hierarchy
from strategies import contingency_tables, domains

criteria: st.SearchStrategy[Diversity | None] = st.sampled_from(
    [None, Distinct(2), Simple(2), Entropy(2), Recursive(2, 2), Recursive(1, 2)]  # type: ignore[arg-type]
)


@given(st.data(), st.integers(1, 4), criteria)
def test_the_minimal_tables_are_those_of_the_whole_lattice(
    data: st.DataObject, k: int, diversity: Diversity | None
) -> None:
    domain = data.draw(domains())
    table: ContingencyTable = data.draw(contingency_tables(domain))
    cube = DataCube([table])
    *public, sensitive = domain.attributes
    requirements = Requirements((sensitive,), k_link=k, diversity=diversity)
    base = domain.mask({sensitive: 0})
    heights = [domain.hierarchy(attribute).height for attribute in public]
    passing = {
        node
        for node in product(*(range(height + 1) for height in heights))
        if table_satisfies(cube, domain.mask(dict(zip(public, node))) | base, requirements)
    }
    minimal = {
        node
        for node in passing
        if not any(other != node and all(a <= b for a, b in zip(other, node)) for other in passing)
    }
    result = minimal_tables(cube, tuple(public), requirements)
    assert {tuple(found.levels[attribute] for attribute in public) for found in result.minimal} == minimal
    assert result.nodes == len(list(product(*(range(height + 1) for height in heights))))
    for found in result.minimal:
        classes = cube.table(domain.mask(found.levels)).counts
        assert found.classes == len(classes)
        assert found.discernibility == int((classes**2).sum())
        assert found.height == sum(found.levels.values())


def test_what_passes_is_monotone_so_the_search_may_settle_boxes() -> None:
    """Progress never runs backwards and ends with every node settled."""
    domain = Domain.of({"a": Hierarchy.from_intervals(map(str, range(8)), [2, 4]), "s": Hierarchy.flat("xyz")})
    codes = {"a": np.arange(24) % 8, "s": np.arange(24) % 3}
    table = ContingencyTable.from_cells(domain, {"a": 0, "s": 0}, codes, np.ones(24, dtype=np.int64))
    seen: list[tuple[int, int]] = []
    minimal_tables(DataCube([table]), ("a",), Requirements(("s",), k_link=5), lambda *at: seen.append(at))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (4, 4)
