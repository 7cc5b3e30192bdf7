"""Disclosure rules on tables: conditions are about the original rows, rules commute, nothing runs code."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from marginals.disclosure import AsRead, DisclosedTable
from models import MarginalsError

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
    return table.frame(AsRead())[attribute].tolist()


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
    frames = [marginals.disclose(ROWS, order).frame(AsRead()) for order in permutations(rules)]
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
        "age == '41'",
        "illness == 3",
        "illness in ['flu', 3]",
        "index > 3",
        "1 == 1",
        "True",
        "age == True",
        "age < 50 & age > 10",
        "age < `marital status`",
        "age == [41]",
        "age > 9007199254740992",
        "age > 1e999",
        "age is 41",
        "'flu' in [illness]",
        "age > 3 # or age < 2",
        "illness == ''",
        r"illness == '\d'",
        "not " * 3000 + "age > 3",
        "not " * 500 + "age > 3",
        "(" * 500 + "age > 3" + ")" * 500,
    ],
)
def test_what_is_no_formula_is_refused_in_one_sentence(condition: object) -> None:
    with pytest.raises(marginals.InputError) as raised:
        marginals.hide(DisclosedTable.of(ROWS), "age", condition)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)
    assert not any(value in str(raised.value) for value in ("23", "widowed", "cyst"))


def test_backticks_in_texts_quote_no_column() -> None:
    frame = FRAME.assign(**{"marital status": ["a`b", "c`d", "a", "b"], "_column_0": "other"})
    start = DisclosedTable.of(marginals.read_rows(frame, ATTRIBUTES))
    hidden = marginals.hide(start, "age", "`marital status` == 'a`b' or `marital status` == \"c`d\"")
    assert [label == "*" for label in shown(hidden, "age")] == [True, True, False, False]
    hidden = marginals.hide(start, "age", "_column_0 == 'a' or `marital status` == 'a'")
    assert [label == "*" for label in shown(hidden, "age")] == [False, False, True, False]


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ("ward not in [1, 2]", [False, False, True, True, True]),
        ("ward != 1", [False, True, True, True, True]),
        ("not ward > 1", [True, False, True, False, True]),
        ("ward in [1, 3]", [True, False, False, True, False]),
        ("ward <= 1 or ward >= 3", [True, False, False, True, False]),
        ("not ward in []", [True] * 5),
        ("ward == ward", [True, True, False, True, False]),
        ("name < 'b'", [True, False, False, True, False]),
        ("not name == 'a'", [False, True, True, False, True]),
    ],
)
def test_what_is_missing_equals_nothing(condition: str, held: list[bool]) -> None:
    """A rule for all but some is about those whose value nobody knows."""
    frame = pd.DataFrame({"ward": ["1", "2", "", "3", "?"], "name": ["a", "b", "?", "a", None], "sex": list("fmfmf")})
    rows = marginals.read_rows(frame, {"sex": "quasi-identifier"}, missing=["?"])
    hidden = marginals.hide(DisclosedTable.of(rows), "sex", condition)
    assert [label == "*" for label in shown(hidden, "sex")] == held


def test_a_number_that_stands_for_no_value_is_no_number() -> None:
    frame = pd.DataFrame({"income": [-9, 4, -1], "sex": list("fmf")})
    start = DisclosedTable.of(marginals.read_rows(frame, {"sex": "quasi-identifier"}, missing=["-9"]))
    assert shown(marginals.hide(start, "sex", "income < 0"), "sex") == ["f", "m", "*"]
    with pytest.raises(marginals.InputError, match=r"'income' that data\.missing says"):
        marginals.hide(start, "sex", "income == -9")


def test_attributes_and_levels_that_do_not_exist_are_refused() -> None:
    for rule in (
        marginals.DisclosureRule("height"),
        marginals.DisclosureRule("age", 9),
        marginals.DisclosureRule("age", -1),
    ):
        with pytest.raises(MarginalsError):
            marginals.disclose(ROWS, [rule])
