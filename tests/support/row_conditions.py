"""Random conditions on rows, each as a text and as a function that says for which rows it holds."""

import operator
from collections.abc import Callable

from hypothesis import strategies as st

Row = dict[str, float | str | None]
Said = tuple[str, Callable[[Row], bool]]
"""A condition as text, and what it says of a row."""

ROWS: list[Row] = [
    {"a": a, "b c": b, "t": t} for a in (None, -1, 2, 2.5) for b in (None, 2, 10) for t in (None, "", "it's `x`", "é")
]
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}


def compared(left: str, sign: str, right: object) -> Said:
    """Compare a column with a constant, or with the column of a name between backticks."""
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
