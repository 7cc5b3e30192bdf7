"""Equivalence classes: they partition the rows by nonsensitive values, and count them by sensitive value."""

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Distinct, Diversity, EquivalenceClasses, Recursive, equivalence_classes, satisfies
from models import ContingencyTable, Domain, DomainMismatchError, Hierarchy, Margin
from privacy_strategies import diversities
from strategies import coarser_margins, data_cubes, margins


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


@given(tables())
def test_columns_of_the_counts_are_the_sensitive_values_at_the_level_of_the_table(
    drawn: tuple[ContingencyTable, str],
) -> None:
    table, sensitive = drawn
    classes = equivalence_classes(table, sensitive)
    labels = table.domain.hierarchy(sensitive).labels[table.margin[sensitive]]
    assert classes.level == table.margin[sensitive]
    assert classes.counts.shape == (len(classes), len(labels))
    for position, row in enumerate(classes.counts.tolist()):
        assert classes.distribution(position) == {label: n for label, n in zip(labels, row) if n}


@given(tables())
def test_the_margin_is_the_nonsensitive_part_and_columns_follow_the_domain(drawn: tuple[ContingencyTable, str]) -> None:
    table, sensitive = drawn
    classes = equivalence_classes(table, sensitive)
    assert dict(classes.margin) == {a: level for a, level in table.margin.items() if a != sensitive}
    assert classes.attributes == tuple(a for a in table.domain.attributes if a in classes.margin)
    for position in range(len(classes)):
        codes = (table.domain.hierarchy(a).labels[classes.margin[a]] for a in classes.attributes)
        assert list(classes.labels(position).values()) == [
            labels[column[position]] for labels, column in zip(codes, classes.codes)
        ]


@given(tables())
def test_no_row_is_lost_and_no_class_is_empty(drawn: tuple[ContingencyTable, str]) -> None:
    table, sensitive = drawn
    classes = equivalence_classes(table, sensitive)
    assert classes.counts.sum() == table.total
    assert (classes.counts.sum(axis=1) > 0).all()


@given(st.data())
def test_suppressing_more_values_merges_whole_classes(data: st.DataObject) -> None:
    table, sensitive = data.draw(tables())
    coarse = {**data.draw(coarser_margins(table.domain, table.margin)), sensitive: table.margin[sensitive]}
    merged = shown(equivalence_classes(table.rolled_up(coarse), sensitive))
    expected: dict[frozenset[tuple[str, str]], Counter[str]] = defaultdict(Counter)
    for cell, values in grouped(table, sensitive).items():
        above = {
            (a, table.domain.hierarchy(a).labels[coarse[a]][parent])
            for a, label in cell
            if a in coarse and coarse[a] < table.domain.hierarchy(a).height
            for code in [table.domain.hierarchy(a).labels[table.margin[a]].index(label)]
            for parent in [table.domain.hierarchy(a).lift(table.margin[a], coarse[a])[code]]
        }
        expected[frozenset(above)] += values
    assert merged == expected


@given(st.data(), diversities())
def test_a_coarser_table_stays_diverse(data: st.DataObject, diversity: Diversity) -> None:
    """Monotonicity (MKGV07 section 5), at a criterion that the finer table just satisfies where there is one."""
    table, sensitive = data.draw(tables())
    counts = equivalence_classes(table, sensitive).counts
    bounds = diversity.reached(counts)
    if isinstance(diversity, Recursive):
        if not np.isfinite(bounds).all() or not bounds.any():
            return
        diversity = Recursive(Fraction(bounds.max()) + Fraction(1, 10**9), diversity.l, diversity.strict)
    elif isinstance(diversity, Distinct):
        diversity = Distinct(int(bounds.min()))
    else:
        diversity = type(diversity)(max(Fraction(bounds.min()) - Fraction(1, 10**9), Fraction(1)))
    assert satisfies(diversity, counts).all()
    coarse = {**data.draw(coarser_margins(table.domain, table.margin)), sensitive: table.margin[sensitive]}
    assert satisfies(diversity, equivalence_classes(table.rolled_up(coarse), sensitive).counts).all()


def test_the_4_anonymous_table_of_the_paper() -> None:
    """MKGV07 Figs. 1 and 2: the third block holds cancer alone."""
    rows = ["1305* <30 Heart"] * 2 + ["1305* <30 Viral"] * 2 + ["1485* >=40 Cancer", "1485* >=40 Heart"]
    rows += ["1485* >=40 Viral"] * 2 + ["1305* 3* Cancer"] * 4
    columns = [list(column) for column in zip(*(row.split() for row in rows))]
    domain = Domain.of(
        {name: Hierarchy.flat(dict.fromkeys(column)) for name, column in zip(("zip", "age", "condition"), columns)}
    )
    codes = {
        a: np.array([domain.hierarchy(a).labels[0].index(label) for label in column])
        for a, column in zip(domain.attributes, columns)
    }
    table = ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ones(12, dtype=np.int64))
    assert shown(equivalence_classes(table, "condition")) == {
        frozenset({("zip", "1305*"), ("age", "<30")}): {"Heart": 2, "Viral": 2},
        frozenset({("zip", "1485*"), ("age", ">=40")}): {"Cancer": 1, "Heart": 1, "Viral": 2},
        frozenset({("zip", "1305*"), ("age", "3*")}): {"Cancer": 4},
    }


def test_a_table_of_the_sensitive_attribute_alone_is_one_class() -> None:
    domain = Domain.of({"s": Hierarchy.flat(["x", "y", "z"])})
    table = ContingencyTable.from_cells(domain, {"s": 0}, {"s": np.array([2, 0])}, np.array([3, 4]))
    classes = equivalence_classes(table, "s")
    assert shown(classes) == {frozenset(): {"x": 4, "z": 3}}


@given(tables())
def test_the_arrays_cannot_be_changed(drawn: tuple[ContingencyTable, str]) -> None:
    classes = equivalence_classes(*drawn)
    for array in (*classes.codes, classes.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


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


@given(tables())
def test_what_is_grouped_is_what_the_constructor_accepts(drawn: tuple[ContingencyTable, str]) -> None:
    """`grouped` leaves out the constructor's checks."""
    classes = equivalence_classes(*drawn)
    checked = EquivalenceClasses(
        classes.domain, classes.margin, classes.codes, classes.sensitive, classes.level, classes.counts
    )
    assert np.array_equal(checked.counts, classes.counts)
    assert not any(array.flags.writeable for array in (*classes.codes, classes.counts))
