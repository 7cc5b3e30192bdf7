"""Equivalence classes: they partition the rows by nonsensitive values, and count them by sensitive value."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import EquivalenceClasses, equivalence_classes
from filled_tables import of_labels
from models import ContingencyTable, Domain, DomainMismatchError, Hierarchy, Margin
from strategies import data_cubes, margins


@st.composite
def tables(draw: st.DrawFn) -> tuple[ContingencyTable, str]:
    """A table over any margin that shows some attribute, and the name of that attribute."""
    cube = draw(data_cubes())
    sensitive = draw(st.sampled_from(cube.domain.attributes))
    level = draw(st.integers(0, cube.domain.hierarchy(sensitive).height - 1))
    margin = {**draw(margins(cube.domain)), sensitive: level}
    return cube.table(cube.domain.mask(margin)), sensitive


def grouped(table: ContingencyTable, sensitive: str) -> dict[frozenset[tuple[str, str]], Counter[str]]:
    """Sensitive labels and their counts by the labels that a class shares."""
    classes: dict[frozenset[tuple[str, str]], Counter[str]] = defaultdict(Counter)
    for labels, count in table.cells():
        cell = dict(zip(table.attributes, labels))
        value = cell.pop(sensitive)
        classes[frozenset(cell.items())][value] += count
    return classes


def shown(classes: EquivalenceClasses) -> dict[frozenset[tuple[str, str]], dict[str, int]]:
    """What the classes say of themselves, by their labels."""
    return {frozenset(classes.labels(i).items()): classes.distribution(i) for i in range(len(classes))}


@given(tables())
def test_classes_hold_the_rows_that_share_all_nonsensitive_values(drawn: tuple[ContingencyTable, str]) -> None:
    table, sensitive = drawn
    classes = equivalence_classes(table, sensitive)
    expected = grouped(table, sensitive)
    assert len(classes) == len(expected)
    assert shown(classes) == expected
    assert classes.level == table.margin[sensitive]
    assert dict(classes.margin) == {a: level for a, level in table.margin.items() if a != sensitive}
    assert classes.attributes == tuple(a for a in table.domain.attributes if a in classes.margin)
    assert (classes.counts.sum(axis=1) > 0).all()
    checked = EquivalenceClasses(
        classes.domain, classes.margin, classes.codes, classes.sensitive, classes.level, classes.counts
    )
    assert np.array_equal(checked.counts, classes.counts), "the constructor's checks accept it"
    for array in (*classes.codes, classes.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_the_4_anonymous_table_of_the_paper() -> None:
    """MKGV07 Figs. 1 and 2: the third block holds cancer alone."""
    rows = ["1305* <30 Heart"] * 2 + ["1305* <30 Viral"] * 2 + ["1485* >=40 Cancer", "1485* >=40 Heart"]
    rows += ["1485* >=40 Viral"] * 2 + ["1305* 3* Cancer"] * 4
    table = of_labels(("zip", "age", "condition"), [row.split() for row in rows])
    assert shown(equivalence_classes(table, "condition")) == {
        frozenset({("zip", "1305*"), ("age", "<30")}): {"Heart": 2, "Viral": 2},
        frozenset({("zip", "1485*"), ("age", ">=40")}): {"Cancer": 1, "Heart": 1, "Viral": 2},
        frozenset({("zip", "1305*"), ("age", "3*")}): {"Cancer": 4},
    }


QS = Domain.of({"q": Hierarchy.flat("xyz"), "s": Hierarchy.flat("uv")})


@pytest.mark.parametrize(
    ("margin", "codes", "counts", "message"),
    [
        ({"q": 0}, ([0, 0],), [[1, 2], [3, 4]], "distinct"),
        ({"q": 0}, ([0, 1],), [[1, 2], [0, 0]], "a class has no rows"),
        ({"q": 0}, ([0, 1],), [[1, 2], [-1, 4]], "none negative"),
        ({"q": 0}, ([0, 1],), [[1, 2], [np.nan, 4]], "none negative"),
        ({"q": 0}, ([0, 1],), [[1], [2]], "2 counts"),
        ({"q": 0}, ([0, 1],), [[1, 2]], "2 counts"),
        ({"q": 0}, ([0, 3],), [[1, 2], [3, 4]], "the codes of 'q' must lie in 0 .. 2"),
        ({"q": 0}, ([0, 0.5],), [[1, 2], [3, 4]], "the codes of 'q' must be whole numbers, got 0.5"),
        ({"q": 0}, (), [[1, 2]], "1 attributes came with 0 code columns"),
        ({"q": 0, "s": 0}, ([0], [0]), [[1, 2]], "'s' is sensitive"),
        ({"hat": 0}, ([0],), [[1, 2]], "'hat'"),
    ],
)
def test_what_is_no_partition_into_classes_is_refused(margin, codes, counts, message):
    with pytest.raises(DomainMismatchError, match=message):
        EquivalenceClasses(QS, Margin(margin), tuple(map(np.array, codes)), "s", 0, np.array(counts))


def test_the_arrays_of_the_caller_stay_writeable() -> None:
    codes, counts = np.array([1, 0]), np.array([[1, 2], [3, 4]])
    classes = EquivalenceClasses(QS, Margin({"q": 0}), (codes,), "s", 0, counts)
    codes[0], counts[0, 0] = 2, 9
    assert classes.labels(0) == {"q": "y"}
    assert classes.distribution(0) == {"u": 1, "v": 2}
    assert not classes.counts.flags.writeable
