"""Looking up cells: each falls into the cell of a coarser table that the hierarchies put it under, as found by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import CodedCells, ContradictionError, Domain, DomainMismatchError, Hierarchy
from models.tables.contingency_table import look_up, match
from strategies import coarser_margins, contingency_tables, domains, margins

DOMAIN = Domain.of({"a": Hierarchy.flat("xyz"), "b": Hierarchy.flat("uv")})


def cells(**codes: list[int]) -> CodedCells:
    columns = {attribute: np.array(column) for attribute, column in codes.items()}
    return CodedCells(DOMAIN, dict.fromkeys(codes, 0), columns, len(next(iter(columns.values()))))


@given(st.data())
def test_places_are_those_of_the_lifted_cells(data: st.DataObject) -> None:
    """Also where the coarser table lacks some of them."""
    table = data.draw(contingency_tables(data.draw(domains())))
    whole = table.rolled_up(data.draw(coarser_margins(table.domain, table.margin)))
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole))), dtype=bool)
    codes = {a: column[kept] for a, column in whole.coded_cells.codes.items()}
    coarse = CodedCells(whole.domain, whole.margin, codes, int(kept.sum()))
    lifted = [table.column(a, whole.margin[a]) for a in whole.attributes]
    known = [tuple(int(codes[a][place]) for a in whole.attributes) for place in range(len(coarse))]
    places, found = table.coded_cells.look_up(coarse)
    for cell in range(len(table)):
        above = tuple(int(column[cell]) for column in lifted)
        assert found[cell] == (above in known)
        if found[cell]:
            assert known[places[cell]] == above
    if found.all():
        assert table.coded_cells.positions_in(coarse).tolist() == places.tolist()
    else:
        with pytest.raises(ContradictionError):
            table.coded_cells.positions_in(coarse)


@given(st.data())
def test_keys_match_where_cells_agree_at_the_coarser_level(data: st.DataObject) -> None:
    table = data.draw(contingency_tables(data.draw(domains())))
    one, other = (table.rolled_up(data.draw(margins(table.domain))) for _ in range(2))
    pairs = set(zip(*(rows.tolist() for rows in match(*one.coded_cells.keys_with(other.coded_cells)))))
    shared = {a: max(level, other.margin[a]) for a, level in one.margin.items() if a in other.margin}
    for i in range(len(one)):
        for j in range(len(other)):
            agree = all(one.column(a, level)[i] == other.column(a, level)[j] for a, level in shared.items())
            assert ((i, j) in pairs) == agree


def test_nothing_is_found_among_no_keys() -> None:
    places, found = look_up(np.array([3, 4]), np.array([], dtype=np.int64))
    assert places.tolist() == [0, 0]
    assert not found.any()


def test_cells_without_codes_and_of_different_lengths_are_refused() -> None:
    with pytest.raises(DomainMismatchError, match="'b'"):
        CodedCells(DOMAIN, {"a": 0, "b": 0}, {"a": np.array([0])}, 1)
    with pytest.raises(DomainMismatchError, match="'b' and the cells differ in length"):
        cells(a=[0, 1], b=[0])
    with pytest.raises(DomainMismatchError, match="does not show 'b'"):
        cells(a=[0]).look_up(cells(b=[0]))
