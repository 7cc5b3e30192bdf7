"""Disclosure rules on tables: conditions are about the original rows, rules commute, nothing runs code."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from marginals.disclosing import DisclosedTable
from models.errors import MarginalsError

FRAME = pd.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "age": ["23", "41", "38", "85"],
        "marital status": ["single", "widowed", "single", "widowed"],
        "illness": ["flu", "cold", "flu", "cyst"],
    }
)
ATTRIBUTES = {
    "id": "identifier",
    "age": marginals.Attribute("quasi-identifier", intervals=[5, 20]),
    "marital status": "quasi-identifier",
    "illness": marginals.Attribute(
        "sensitive",
        marginals.Hierarchy.from_rows([("flu", "lung", "*"), ("cold", "lung", "*"), ("cyst", "skin", "*")]),
    ),
}
ROWS = marginals.read_rows(FRAME, ATTRIBUTES)


def shown(table: DisclosedTable, attribute: str) -> list[str]:
    return table.frame()[attribute].tolist()


def test_rules_hide_and_generalize_the_rows_of_their_condition() -> None:
    table = marginals.disclose(
        ROWS,
        [
            marginals.DisclosureRule("age", 1, "age < 40 and `marital status` == 'single'"),
            marginals.DisclosureRule("age", condition="age > 80"),
            marginals.DisclosureRule("illness", 1),
        ],
    )
    assert shown(table, "age") == ["20-24", "41", "35-39", "*"]
    assert shown(table, "illness") == ["lung", "lung", "lung", "skin"]
    assert shown(table, "marital status") == FRAME["marital status"].tolist()


def test_the_paper_selects_the_rows_without_privacy_requirements() -> None:
    """LSFB09 Fig. 5: hide(A2, F' and F'') with F' = (A1 != 1) and F'' = (A1 != 3) hides A2 of tuples 1 and 3."""
    start = DisclosedTable.of(ROWS)
    twice = marginals.hide(marginals.hide(start, "illness", "not id != 1"), "illness", "not id != 3")
    once = marginals.hide(start, "illness", "not (id != 1 and id != 3)")
    assert shown(twice, "illness") == shown(once, "illness") == ["*", "cold", "*", "cyst"]


def test_a_condition_sees_what_an_earlier_rule_has_hidden() -> None:
    rules = [
        marginals.DisclosureRule("age", None, "age > 40"),
        marginals.DisclosureRule("illness", 1, "age > 40"),
        marginals.DisclosureRule("age", 2, "illness == 'flu'"),
    ]
    frames = [marginals.disclose(ROWS, order).frame() for order in permutations(rules)]
    assert all(frame.equals(frames[0]) for frame in frames)
    assert frames[0]["illness"].tolist() == ["flu", "lung", "flu", "skin"]
    assert frames[0]["age"].tolist() == ["20-39", "*", "20-39", "*"]


@given(st.lists(st.booleans(), min_size=4, max_size=4))
def test_expressions_predicates_and_truth_values_say_the_same(chosen: list[bool]) -> None:
    numbers = [i for i, taken in zip(FRAME["id"].tolist(), chosen) if taken]
    start = DisclosedTable.of(ROWS)
    for condition in (
        f"id in {numbers}",
        lambda frame: frame["id"].isin(numbers),
        chosen,
        np.array(chosen),
        pd.Series(chosen),
    ):
        hidden = marginals.hide(start, "age", condition)
        assert [label == "*" for label in shown(hidden, "age")] == chosen


@pytest.mark.parametrize(
    "condition",
    [
        "age.max() > 3",
        "@pd.read_csv('x')",
        "__import__('os').system('ls') == 0",
        "age >",
        "[x for x in age]",
        "age = 3",
        "height > 3",
        "age",
        "age > 'forty'",
        "(lambda: 1)()",
        [True, False],
        "",
    ],
)
def test_what_is_no_formula_is_refused_in_one_sentence(condition: object) -> None:
    with pytest.raises(marginals.InputError) as raised:
        marginals.hide(DisclosedTable.of(ROWS), "age", condition)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)
    assert not any(value in str(raised.value) for value in ("23", "widowed", "cyst"))


def test_attributes_and_levels_that_do_not_exist_are_refused() -> None:
    for rule in (
        marginals.DisclosureRule("height"),
        marginals.DisclosureRule("age", 9),
        marginals.DisclosureRule("age", -1),
    ):
        with pytest.raises(MarginalsError):
            marginals.disclose(ROWS, [rule])
