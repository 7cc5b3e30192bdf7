"""Disclosure rules commute, as LSFB09 Proposition 3 says, whatever their conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import DisclosureRuleError, Records, RecordSpace
from checks.risk.disclosure import Disclosure, Rule, disclosed, generalize, hide
from models import Domain, DomainMismatchError, Hierarchy
from risk_strategies import records, spaces


@st.composite
def rules(draw: st.DrawFn, originals: Records) -> Rule:
    axis = draw(st.integers(0, len(originals.space) - 1))
    rows = np.array(draw(st.lists(st.booleans(), min_size=len(originals), max_size=len(originals))))
    level = draw(st.integers(0, int(originals.space.heights[axis])))
    return Rule(originals.space.domain.attributes[axis], rows, level)


@given(st.data())
def test_any_order_of_any_rules_discloses_the_same(data: st.DataObject) -> None:
    originals = data.draw(records(data.draw(spaces())))
    drawn = data.draw(st.lists(rules(originals), max_size=4))
    nodes = disclosed(originals, drawn).records.nodes
    assert np.array_equal(disclosed(originals, data.draw(st.permutations(drawn))).records.nodes, nodes)
    assert np.array_equal(disclosed(originals, [*drawn, *drawn]).records.nodes, nodes)
    assert bool(originals.is_below(disclosed(originals, drawn).records).all())


@given(st.data())
def test_hiding_twice_hides_what_either_condition_is_about(data: st.DataObject) -> None:
    """hide_{hide_T(A, F')}(A, F'') = hide_T(A, F' and F''), with the paper's F the complement of our condition."""
    originals = data.draw(records(data.draw(spaces())))
    first, second = data.draw(rules(originals)), data.draw(rules(originals))
    attribute, start = first.attribute, Disclosure.of(originals)
    twice = hide(hide(start, attribute, first.rows), attribute, second.rows)
    once = hide(start, attribute, first.rows | second.rows)
    assert np.array_equal(twice.records.nodes, once.records.nodes)
    other = second.attribute
    there = hide(hide(start, attribute, first.rows), other, second.rows)
    back = hide(hide(start, other, second.rows), attribute, first.rows)
    assert np.array_equal(there.records.nodes, back.records.nodes)


@given(st.data())
def test_hiding_is_generalizing_to_the_root(data: st.DataObject) -> None:
    originals = data.draw(records(data.draw(spaces())))
    rule, start = data.draw(rules(originals)), Disclosure.of(originals)
    axis = originals.space.domain.index(rule.attribute)
    hidden = hide(start, rule.attribute, rule.rows).records.nodes
    assert np.array_equal(
        hidden[:, axis] == originals.space.roots[axis],
        rule.rows | (originals.nodes[:, axis] == originals.space.roots[axis]),
    )
    height = int(originals.space.heights[axis])
    assert np.array_equal(hidden, generalize(start, rule.attribute, rule.rows, height).records.nodes)


def test_the_example_of_figure_5() -> None:
    """Tuples 1 and 3 keep their A2 private; the others stay."""
    space = RecordSpace(Domain.of({"A2": Hierarchy.flat(["a1", "a2", "a3"]), "A3": Hierarchy.flat(["b1", "b2", "b3"])}))
    table = Records(space, np.array([[0, 0], [1, 1], [2, 2]]))
    number = np.array([1, 2, 3])
    shown = hide(hide(Disclosure.of(table), "A2", number == 1), "A2", number == 3)
    assert shown.records.nodes.tolist() == [[3, 0], [1, 1], [3, 2]]


def test_rules_that_do_not_fit_are_refused() -> None:
    start = Disclosure.of(Records(RecordSpace(Domain.of({"a": Hierarchy.flat(["x"])})), np.array([[0], [0]])))
    with pytest.raises(DomainMismatchError, match="no attribute 'b'"):
        hide(start, "b", np.array([True, False]))
    for condition in (np.array([True]), np.array([1, 0])):
        with pytest.raises(DisclosureRuleError, match="one truth value"):
            hide(start, "a", condition)
    for level in (-1, 2):
        with pytest.raises(DisclosureRuleError, match="levels 0 to 1"):
            generalize(start, "a", np.array([True, True]), level)
    with pytest.raises(DisclosureRuleError):
        Disclosure(start.originals, np.array([[2], [0]]))
    with pytest.raises(DomainMismatchError, match=r"levels must be whole numbers, got 0\.5"):
        Disclosure(start.originals, np.array([[0.5], [0]]))


@given(st.data())
def test_levels_are_counted_by_attribute(data: st.DataObject) -> None:
    originals = data.draw(records(data.draw(spaces())))
    disclosure = disclosed(originals, data.draw(st.lists(rules(originals), max_size=4)))
    counts = disclosure.level_counts()
    assert list(counts) == list(originals.space.domain.attributes)
    for axis, (name, hierarchy) in enumerate(originals.space.domain.items()):
        levels = disclosure.levels[:, axis].tolist()
        assert counts[name] == [levels.count(level) for level in range(hierarchy.height + 1)]
