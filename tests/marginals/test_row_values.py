"""Conditions hold for the rows that brute force says, by pandas and by DuckDB."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginals import InputError
from marginals.conditions import CodedColumn as Coded
from marginals.conditions import Column, Comparison, Kind, columns_of, holds, kind_of_texts, parsed

Row = dict[str, float | str | None]
Said = tuple[str, Callable[[Row], bool]]
"""A condition as text, and what it says of a row."""

ROWS: list[Row] = [
    {"a": a, "b c": b, "t": t} for a in (None, -1, 2, 2.5) for b in (None, 2, 10) for t in (None, "", "it's `x`", "é")
]
SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


def compared(left: str, sign: str, right: object) -> Said:
    """Of a column with a constant, or the column of a name between backticks."""
    other = right[1:-1] if isinstance(right, str) and right.startswith("`") else None

    def said(row: Row) -> bool:
        first, second = row[left], row[other] if other else right
        if sign == "!=":
            return first is None or second is None or first != second
        return first is not None and second is not None and bool(SIGNS[sign](first, second))

    return f"`{left}` {sign} {right if other else repr(right)}", said


def among(column: str, values: list[object]) -> Said:
    return f"`{column}` in {values!r}", lambda row: row[column] is not None and row[column] in values


def negated(said: Said) -> Said:
    return f"not ({said[0]})", lambda row: not said[1](row)


def joined(first: Said, word: str, second: Said) -> Said:
    either = {"and": all, "&": all, "or": any, "|": any}[word]
    return f"({first[0]}) {word} ({second[0]})", lambda row: either((first[1](row), second[1](row)))


NUMBERS = st.sampled_from([-1, 0, 2, 2.5, 10])
TEXTS = st.sampled_from(["it's `x`", "e", "é", "", "2"])
ANY_SIGN = st.sampled_from([*SIGNS, "!="])
ATOMS = st.one_of(
    st.builds(compared, st.sampled_from(["a", "b c"]), ANY_SIGN, NUMBERS | st.sampled_from(["`a`", "`b c`"])),
    st.builds(compared, st.just("t"), ANY_SIGN, TEXTS),
    st.builds(among, st.sampled_from(["a", "b c"]), st.lists(NUMBERS, max_size=3)),
    st.builds(among, st.just("t"), st.lists(TEXTS, max_size=3)),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda parts: st.builds(negated, parts) | st.builds(joined, parts, st.sampled_from(["and", "or", "&", "|"]), parts),
    max_leaves=6,
)


def coded(name: str) -> Coded:
    codes, texts = pd.factorize(pd.Series([None if row[name] is None else str(row[name]) for row in ROWS]))
    return Coded(codes, tuple(texts))


@given(CONDITIONS)
def test_a_formula_holds_for_the_rows_of_brute_force(said: Said) -> None:
    formula, columns = parsed(said[0]), {name: coded(name) for name in ROWS[0]}
    kinds = {name: kind_of_texts(column.texts) for name, column in columns.items()}
    assert set(columns_of(formula)) <= set(columns)
    assert holds(formula, columns, kinds).tolist() == [said[1](row) for row in ROWS]


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    """A connection to DuckDB; to open one takes longer than to ask it something."""
    with pytest.importorskip("duckdb").connect() as connection:
        yield connection


@settings(max_examples=60, deadline=None)
@given(conditions=st.lists(CONDITIONS, min_size=5, max_size=5))
def test_its_sql_holds_for_the_rows_of_brute_force(database: Any, conditions: list[Said]) -> None:
    from marginals.disclosure import formula_sql

    kinds = {"a": Kind.NUMBERS, "b c": Kind.NUMBERS, "t": Kind.TEXTS}
    values = ", ".join("(" + ", ".join(["?::VARCHAR"] * 3) + ")" for _ in ROWS)
    shown = ", ".join(formula_sql(parsed(text), kinds) for text, _ in conditions)
    texts = [None if value is None else str(value) for row in ROWS for value in row.values()]
    found = database.execute(f'SELECT {shown} FROM (VALUES {values}) original("a", "b c", "t")', texts).fetchall()
    assert found == [tuple(said(row) for _, said in conditions) for row in ROWS]


def test_kinds_need_every_value_to_be_a_number() -> None:
    assert kind_of_texts(["1", " 2.5e3 ", "", "-.5"]) is Kind.NUMBERS
    assert kind_of_texts(["", ""]) is kind_of_texts([]) is Kind.NOTHING
    for text in ("1_000", "0x1", "inf", "nan", "1e999", "1,5", "٣", "one", "1\n"):
        assert kind_of_texts(["1", text]) is Kind.TEXTS


@pytest.mark.slow
def test_long_alternatives_are_no_deep_ones() -> None:
    for word in (" or ", " | "):
        condition = word.join(f"(a == {number})" for number in range(900))
        texts = tuple(map(str, range(0, 1800, 2)))
        column = Coded(np.arange(900), texts)
        assert holds(parsed(condition), {"a": column}, {"a": Kind.NUMBERS}).sum() == 450


def test_names_are_as_they_are_written() -> None:
    """Python takes some characters for others in names."""
    assert parsed("ª == 1") == Comparison(Column("ª"), "==", 1)
    assert parsed("`#` == '#'") == Comparison(Column("#"), "==", "#")
    with pytest.raises(InputError, match="outside quotes"):
        parsed("a == 1 # or a == 2")
