"""Measures of one generalized table, against counting the rows one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.tables.generalized_cells import average_class_size, classification_metric, discernibility

counts = st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any), max_size=5)


@given(counts, st.integers(0, 4))
def test_measures_are_those_of_the_rows(drawn: list[list[int]], suppressed: int) -> None:
    table = np.array(drawn, dtype=np.int64).reshape(len(drawn), 3)
    class_of = [number for number, row in enumerate(drawn) for _ in range(sum(row))]
    everybody = len(class_of) + suppressed
    alike = sum(class_of.count(number) for number in class_of)
    assert discernibility(table.sum(axis=1), suppressed) == alike + suppressed * everybody
    assert average_class_size(table.sum(axis=1)) == (len(class_of) / len(drawn) if drawn else 0)
    assert classification_metric(table) == sum(sum(row) - max(row) for row in drawn)
