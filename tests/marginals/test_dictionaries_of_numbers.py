"""What an attacker's table says is found in the disclosed one, however either spells a number or a date."""

import numpy as np
import pandas as pd

from checks import RecordSpace
from marginals import Attribute, TableSource, read_rows
from marginals.risk import PeopleTable, with_values_of

ATTRIBUTES = {
    "pay": Attribute("quasi-identifier"),
    "age": Attribute("quasi-identifier", intervals=[5, 10]),
    "born": Attribute("quasi-identifier", dates=["month", "year"]),
}


def test_a_dictionary_finds_the_values_of_the_table() -> None:
    own = pd.DataFrame({"pay": ["1e+05", "75000"], "age": ["31.0", "42.0"], "born": ["1999-12-31", "2000-01-01"]})
    known = pd.DataFrame({"pay": ["100000", "75,000"], "age": [31, 42], "born": ["31.12.1999", "2000-01-01T00:00Z"]})
    rows = read_rows(own, ATTRIBUTES)
    table = PeopleTable("known.csv", known)
    wider = with_values_of(TableSource(origin=own, attributes=ATTRIBUTES), 1, rows, [table])
    assert wider.domain == rows.domain

    space = RecordSpace(rows.domain)
    assert np.array_equal(table.records(space).nodes, PeopleTable.of_rows(rows).records(space).nodes)


def test_a_value_that_no_row_has_is_one_more_however_it_is_spelled() -> None:
    own = pd.DataFrame({"pay": ["1e+05", "75000"]})
    rows = read_rows(own, {"pay": ATTRIBUTES["pay"]})
    source = TableSource(origin=own, attributes={"pay": ATTRIBUTES["pay"]})
    others = [PeopleTable("a.csv", pd.DataFrame({"pay": ["2e+05", "200000.0", "1,00,000"]}))]
    assert with_values_of(source, 1, rows, others).domain.hierarchy("pay").labels[0] == ("75000", "100000", "200000")
