"""Margins: mappings that are equal, and hash alike, whatever order they were written in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Margin

LEVELS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3))


@given(LEVELS, st.randoms())
def test_a_margin_equals_the_mapping_in_any_order(levels, random):
    shuffled = list(levels.items())
    random.shuffle(shuffled)
    margin, other = Margin(levels), Margin(dict(shuffled))
    assert margin == levels
    assert margin == other
    assert hash(margin) == hash(other)
    assert list(margin) == sorted(levels)
    assert str(margin) == str(other)


@given(LEVELS, LEVELS)
def test_margins_differ_where_the_mappings_do(levels, others):
    assert (Margin(levels) == Margin(others)) == (levels == others)
    assert len({Margin(levels), Margin(others)}) == len({tuple(sorted(m.items())) for m in (levels, others)})


def test_a_margin_keeps_no_hold_on_the_mapping_it_came_from():
    levels = {"a": 1}
    margin = Margin(levels)
    levels["a"] = 2
    assert margin["a"] == 1
    with pytest.raises(TypeError):
        margin["a"] = 2


def test_a_margin_reads_as_attribute_and_level():
    assert str(Margin({"sex": 0, "age": 1})) == "age:1, sex:0"
    assert str(Margin({})) == "(empty)"
    assert repr(Margin({"b": 1, "a": 0})) == "Margin({'a': 0, 'b': 1})"
