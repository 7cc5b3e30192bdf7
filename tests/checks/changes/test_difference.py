"""What two releases of a changing table tell of the change is what their meets tell, by linear algebra and by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.changes.difference import CellDifference, difference, meets
from checks.finding import Verdict
from models.arrays import FloatArray
from models.errors import DomainMismatchError
from models.graphs.collection import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain, Mask
from models.tables.hierarchy import Hierarchy
from strategies import contingency_tables, domains, margins


def collection(base: ContingencyTable, masks: list[Mask]) -> Collection:
    return Collection.of(DataCube([base]), masks)


def equations(domain: Domain, masks: tuple[Mask, ...] | list[Mask]) -> FloatArray:
    """For each cell of some margins the base cells in it: shape (margin cells, base cells)."""
    base = list(product(*(range(hierarchy.size(0)) for hierarchy in domain.hierarchies)))
    rows = []
    for mask in masks or [0]:
        margin = domain.margin(mask)
        above = [
            tuple(domain.hierarchy(name).lift(0, margin[name])[cell[domain.index(name)]] for name in margin)
            for cell in base
        ]
        rows += [[float(own == cell) for own in above] for cell in dict.fromkeys(above)]
    return np.array(rows)


def rank(matrix: FloatArray) -> int:
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0


@st.composite
def two_collections(draw: st.DrawFn) -> tuple[Collection, Collection]:
    domain = draw(domains(min_attributes=1, max_attributes=3, max_cells=30))
    tables = [draw(contingency_tables(domain, 12)) for _ in range(2)]
    drawn = [draw(st.lists(margins(domain), min_size=1, max_size=4)) for _ in tables]
    first, second = (collection(table, [domain.mask(m) for m in own]) for table, own in zip(tables, drawn))
    return first, second


@given(two_collections())
def test_the_meets_span_what_both_collections_have_equations_for(both: tuple[Collection, Collection]) -> None:
    """The dimension of an intersection is the sum of the dimensions less that of the sum."""
    first, second = both
    one, other = equations(first.domain, first.masks), equations(first.domain, second.masks)
    common = equations(first.domain, meets(first, second))
    assert rank(np.vstack([one, common])) == rank(one)
    assert rank(np.vstack([other, common])) == rank(other)
    assert rank(common) == rank(one) + rank(other) - rank(np.vstack([one, other]))


@given(two_collections(), st.integers(1, 6))
def test_the_smallest_difference_is_that_of_counting_by_hand(both: tuple[Collection, Collection], least: int) -> None:
    first, second = both
    changes = {}
    for mask in meets(first, second):
        before, after = (dict(each.cube.table(mask).cells()) if mask else {(): each.cube.total} for each in both)
        for labels in before.keys() | after.keys():
            changes[mask, labels] = after.get(labels, 0) - before.get(labels, 0)
    changed = [change for change in changes.values() if change]
    finding = difference(first, second, least)
    assert finding.verdict is (Verdict.HOLDS if all(abs(change) >= least for change in changed) else Verdict.FAILS)
    if not changed:
        assert finding.worst is None
        return
    worst = finding.worst
    assert isinstance(worst, CellDifference)
    assert abs(worst.difference) == min(map(abs, changed))
    assert list(worst.cell) == [name for name in first.domain.attributes if name in worst.margin]
    assert changes[first.domain.mask(worst.margin), tuple(worst.cell.values())] == worst.difference


def test_three_people_who_leave_are_a_difference() -> None:
    domain = Domain.of({"sex": Hierarchy.flat(["f", "m"]), "job": Hierarchy.flat(["clerk", "cook"])})
    cells = {"sex": np.array([0, 0, 1, 1]), "job": np.array([0, 1, 0, 1])}
    tables = [
        ContingencyTable.from_cells(domain, {"sex": 0, "job": 0}, cells, np.array(counts))
        for counts in ([20, 30, 40, 50], [20, 28, 39, 50])
    ]
    both = domain.mask({"sex": 0, "job": 0})
    finding = difference(*(collection(table, [both]) for table in tables), 10)
    assert finding.worst == CellDifference({"sex": "m", "job": "clerk"}, {"sex": 0, "job": 0}, -1)
    assert not finding.holds
    apart = [collection(tables[0], [both]), collection(tables[1], [domain.mask({"sex": 0})])]
    finding = difference(*apart, 1)
    assert finding.worst == CellDifference({"sex": "m"}, {"sex": 0}, -1)
    assert finding.holds
    assert "no count is negative" in finding.note
    nothing = difference(collection(tables[0], []), collection(tables[1], [both]), 5)
    assert nothing.worst == CellDifference({}, {}, -3)


def test_a_difference_can_be_large_everywhere_and_somebody_known_to_have_come() -> None:
    """The 2 x 2 case by which an earlier rule was broken: it is why a finding that holds is not called safe by itself."""
    domain = Domain.of({"a": Hierarchy.flat(["0", "1"]), "b": Hierarchy.flat(["0", "1"])})
    cells = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0, 1])}
    levels = {"a": 0, "b": 0}
    first = ContingencyTable.from_cells(domain, levels, cells, np.array([0, 0, 0, 4]))
    second = ContingencyTable.from_cells(domain, levels, cells, np.array([0, 2, 3, 5]))
    one_way = [domain.mask({"a": 0}), domain.mask({"b": 0})]
    assert difference(collection(first, one_way), collection(second, [domain.mask(levels)]), 2).holds
    fitting = [
        before
        for before in product(range(5), repeat=4)
        if sum(before) == 4 and before[0] + before[1] == 0 and before[0] + before[2] == 0
    ]
    assert [5 - before[3] for before in fitting] == [1], "exactly one came to (1, 1)"


def test_other_hierarchies_have_no_difference() -> None:
    one, other = (Domain.of({"a": Hierarchy.flat(values)}) for values in (["x", "y"], ["x", "z"]))
    tables = [ContingencyTable.from_cells(d, {"a": 0}, {"a": np.array([0])}, np.array([4])) for d in (one, other)]
    with pytest.raises(DomainMismatchError, match="same hierarchies"):
        meets(*(collection(table, [table.mask]) for table in tables))
