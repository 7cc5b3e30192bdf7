"""Information retained by generalized values: the numbers of TZ09, and that generalizing never adds any."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import ContingencyTable, Domain, Hierarchy, information_utility
from models.tables.generalized_cells import information, level_information, sweep_chains, sweep_order
from strategies import coarser_margins, contingency_tables, domains, hierarchies

TWO = Hierarchy.from_rows([("1", "*"), ("2", "*")])


def test_example_4_of_tz09() -> None:
    """Tuple 1 of Fig. 2 (a): ages 20-29, zip codes 1000*, one of two hemal diseases."""
    assert information(np.array([[10, 10, 2]]), np.array([1])) == pytest.approx(0.7)


def test_the_utility_of_the_table_of_tz09() -> None:
    """Fig. 2 (a), whose 12 rows retain 12.84 of 36 (TZ11 Example 15 rounds this to 13)."""
    leaves = np.array([[10, 10, 2], [20, 100, 1], [10, 10, 1]])
    counts = np.array([2, 4, 6])
    assert information(leaves, counts) == pytest.approx(12.84)


@given(st.data())
def test_the_utility_of_a_table_is_the_mean_of_what_its_values_retain(data: st.DataObject) -> None:
    domain = data.draw(domains())
    base: ContingencyTable = data.draw(contingency_tables(domain))
    margin = data.draw(coarser_margins(domain, base.margin))
    table = base.rolled_up(margin)
    retained = 0.0
    for labels, count in table.cells():
        shown = dict(zip(table.attributes, labels))
        for attribute, hierarchy in domain.items():
            level = margin.get(attribute, hierarchy.height)
            rows = [row for row in hierarchy.rows() if attribute not in shown or row[level] == shown[attribute]]
            retained += count / len(rows)
    expected = retained / (base.total * len(domain.attributes))
    assert information_utility(table) == pytest.approx(expected)
    assert information_utility(table, row_count=2 * base.total) == pytest.approx(expected / 2)
    assert information_utility(base) == 1.0
    assert information_utility(table) <= 1.0


def test_attributes_may_be_chosen_and_an_empty_table_has_none() -> None:
    domain = Domain.of({"a": TWO, "b": TWO})
    codes = {"a": np.array([0]), "b": np.array([1])}
    one = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, np.array([3]))
    assert information_utility(one.rolled_up({"a": 0}), ["a"]) == 1.0
    assert information_utility(one.rolled_up({"a": 0})) == 0.75
    none = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, np.array([0]))
    assert information_utility(none) == 0.0


def test_examples_5_and_7_of_tz09() -> None:
    """Fig. 3: of a0b1 and a1b0, which retain 0.75 each, the one that is finer in A comes first; after it the other."""
    assert level_information(TWO, 0) == 1
    assert level_information(TWO, 1) == Fraction(1, 2)
    order = sweep_order([TWO, TWO])
    assert order == ((0, 0), (0, 1), (1, 0), (1, 1))
    domain = Domain.of({"a": TWO, "b": TWO})
    after = order[order.index((0, 1)) + 1]
    for own in (0, 1):
        codes = {"a": np.array([0]), "b": np.array([own])}
        table = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, np.array([1]))
        assert list(table.rolled_up(dict(zip("ab", after))).cells()) == [((str(own + 1),), 1)]


def test_weights_say_which_base_values_matter() -> None:
    """Values that nobody has need not be kept apart: {x, y} stands for 2, z for itself."""
    hierarchy = Hierarchy.from_rows([("x", "xy", "*"), ("y", "xy", "*"), ("z", "z", "*")])
    assert level_information(hierarchy, 1) == Fraction(2, 3)
    assert level_information(hierarchy, 1, [0, 0, 1]) == 1
    assert level_information(hierarchy, 1, [3, 0, 1]) == Fraction(5, 8)


@given(st.lists(hierarchies(), min_size=1, max_size=4))
def test_chains_are_a_part_of_the_order_with_both_ends(chosen: list[Hierarchy]) -> None:
    order, chains = sweep_order(chosen), sweep_chains(chosen)
    assert (chains[0], chains[-1]) == (order[0], order[-1])
    assert list(chains) == [levels for levels in order if levels in set(chains)]
    assert len(chains) <= (1 + len(chosen)) * (1 + sum(h.height for h in chosen))


@given(st.lists(hierarchies(), min_size=1, max_size=4), st.integers(0, 40))
def test_fewer_chains_are_whole_chains_and_the_first_always_stays(chosen: list[Hierarchy], most: int) -> None:
    steps = 1 + sum(hierarchy.height for hierarchy in chosen)
    whole, fewer, first = sweep_chains(chosen), sweep_chains(chosen, most=most), sweep_chains(chosen, most=0)
    assert len(first) == steps
    assert set(first) <= set(fewer) <= set(whole)
    assert len(fewer) <= max(most, steps)
    assert fewer == whole or most < len(whole)


@given(st.lists(hierarchies(), min_size=1, max_size=3), st.data())
def test_the_order_is_that_of_the_fractions_themselves(chosen: list[Hierarchy], data: st.DataObject) -> None:
    weights = [
        data.draw(st.none() | st.lists(st.integers(1, 5), min_size=h.size(0), max_size=h.size(0))) for h in chosen
    ]

    def rank(levels: tuple[int, ...]) -> tuple[Fraction, tuple[int, ...]]:
        return -sum((level_information(h, l, w) for h, l, w in zip(chosen, levels, weights)), Fraction(0)), levels

    assert list(sweep_order(chosen, weights)) == sorted(sweep_order(chosen, weights), key=rank)


@given(st.lists(hierarchies(), min_size=1, max_size=3))
def test_generalizations_come_later_and_information_falls(chosen: list[Hierarchy]) -> None:
    order = sweep_order(chosen)
    place = {levels: position for position, levels in enumerate(order)}
    assert order[0] == (0,) * len(chosen)
    assert order[-1] == tuple(hierarchy.height for hierarchy in chosen)
    for levels in order:
        for axis, hierarchy in enumerate(chosen):
            if levels[axis] < hierarchy.height:
                coarser = (*levels[:axis], levels[axis] + 1, *levels[axis + 1 :])
                assert place[coarser] > place[levels]
    means = [sum(level_information(h, level) for h, level in zip(chosen, levels)) for levels in order]
    assert all(one >= other for one, other in pairwise(means))
