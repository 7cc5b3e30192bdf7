"""Rows without a value: dropped and told by column, or counted under a value of their own; the same by every engine."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginals import Attribute, InputError, Table, read_rows, read_table
from models import Hierarchy
from table_readers import CELL, handed_over

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis 12 on DuckDB 2

AGES = Hierarchy.from_intervals(["20", "39"], [10])


def attribute(kind: str, missing: str, role: str = "quasi-identifier") -> Attribute:
    if kind == "hierarchy":
        return Attribute(role, AGES, missing=missing)
    if kind == "intervals":
        return Attribute(role, intervals=[10], missing=missing)
    return Attribute(role, prefixes=[1], missing=missing) if kind == "prefixes" else Attribute(role, missing=missing)


def counted_by_hand(
    rows: list[tuple[str | None, ...]], missing: dict[str, str], tokens: list[str]
) -> tuple[Counter, dict]:
    """The rows that count, by their values, and for each column how many rows it drops."""
    cells: Counter[tuple[str, ...]] = Counter()
    lacking = dict.fromkeys(missing, 0)
    for row in rows:
        gone = False
        cell = []
        for (column, what), text in zip(missing.items(), row):
            if text is None or text in tokens:
                if what == "drop":
                    lacking[column] += 1
                    gone = True
                text = "missing"
            cell.append(text)
        if not gone:
            cells[tuple(cell)] += 1
    return cells, {column: count for column, count in lacking.items() if count}


texts = st.sampled_from(["20", "21", "33", "", "-9", "missing", None])
numbers = st.sampled_from(["20", "21", "33", "", "-9", None])
what = st.sampled_from(["drop", "as a value"])


@given(
    rows=st.lists(st.tuples(numbers, texts, texts), min_size=1, max_size=12),
    kinds=st.tuples(
        st.sampled_from(["hierarchy", "intervals"]), st.sampled_from(["flat", "prefixes"]), st.just("flat")
    ),
    missing=st.tuples(what, what, what),
    domain=st.sampled_from(["declared", "observed"]),
    tokens=st.sampled_from([[""], ["", "-9"]]),
)
def test_what_is_counted_and_dropped_is_what_a_person_would_count(
    rows: list[tuple[str | None, ...]],
    kinds: tuple[str, str, str],
    missing: tuple[str, str, str],
    domain: str,
    tokens: list[str],
) -> None:
    rows = [row for row in rows if row[0] != "-9" or "-9" in tokens]  # it is no age
    rows = [row for row in rows if any(row)]  # the others are nobody
    names = ["a", "b", "c"]
    by_name = dict(zip(names, missing))
    cells, lacking = counted_by_hand(rows, by_name, tokens)
    frame = pd.DataFrame(rows, columns=names, dtype=object)
    attributes = {name: attribute(kind, by_name[name]) for name, kind in zip(names, kinds)}
    if not cells:
        with pytest.raises(InputError, match="no row without a missing value"):
            read_table(frame, attributes, tokens, domain=domain)
        return
    if kinds[1] == "prefixes" and not any(len(cell[1]) > 1 for cell in cells if cell[1] != "missing"):
        return
    table = read_table(frame, attributes, tokens, domain=domain)
    assert dict(table.counts.cells()) == cells
    assert table.missing == len(rows) - sum(cells.values())
    assert dict(table.missing_in) == lacking


def test_the_value_missing_stays_alone_until_all_is_suppressed() -> None:
    for kind in ("hierarchy", "intervals", "prefixes", "flat"):
        found = attribute(kind, "as a value").hierarchy_of({"20", "33", "missing"})
        for level in range(found.height):
            code = found.code("missing", 0)
            assert code is not None
            assert found.labels[level][found.lift(0, level)[code]] == "missing"
            assert found.leaf_counts(level)[found.lift(0, level)[code]] == 1
        others = attribute(kind, "drop").hierarchy_of({"20", "33"})
        assert found.restricted_to(range(others.size(0))) == others


def test_a_hierarchy_that_says_what_missing_is_generalized_to_is_obeyed() -> None:
    given_by_steward = Hierarchy.from_rows([("20", "young", "*"), ("missing", "young", "*"), ("80", "old", "*")])
    assert Attribute("quasi-identifier", given_by_steward, missing="as a value").hierarchy_of([]) == given_by_steward
    above = Hierarchy.from_rows([("20", "20", "known", "*"), ("?", "missing", "unknown", "*")]).with_value_apart(
        "missing"
    )
    assert above.rows()[-1] == ("missing", "missing", "unknown", "*")


def people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "row": np.arange(rows),
            "age": rng.choice([*map(str, range(20, 40)), "", "-9"], rows),
            "cause": rng.choice(["heart", "lung", "", ".", "NA"], rows),
            "sex": rng.choice(["f", "m", ""], rows, p=[0.5, 0.4, 0.1]),
        }
    )


def read(source: object, memory: int | None = None) -> Table:
    attributes = {
        "age": Attribute("quasi-identifier", intervals=[5, 20], missing="as a value"),
        "cause": Attribute("sensitive", missing="as a value"),
        "sex": Attribute("quasi-identifier"),
    }
    return read_table(source, attributes, ["", "-9", ".", "NA"], memory=memory, k=5)


@pytest.mark.parametrize("way", ["csv", "parquet"])
def test_tables_out_of_core_count_missing_values_too(way: str, tmp_path: Path) -> None:
    frame = people()
    source = handed_over(frame.where(~frame.isin(["-9", "."]), None), way, tmp_path)
    pushed, plain = read(source, memory=40 * CELL), read(frame)
    assert pushed.out_of_core is not None
    for margin in ({"age": 1}, {"age": 1, "sex": 0}, {"cause": 0}):
        assert dict(pushed.cube.table(pushed.domain.mask(margin)).cells()) == dict(
            plain.counts.rolled_up(margin).cells()
        )
    assert (pushed.missing, pushed.missing_in) == (plain.missing, plain.missing_in)


def test_rows_one_by_one_are_refused_where_missing_values_are_to_be_counted() -> None:
    with pytest.raises(InputError, match=r"attributes\.age\.missing .* is for tables of counts"):
        read_rows(people(), {"age": Attribute("quasi-identifier", missing="as a value")})


def test_dates_none_of_which_is_known_are_one_value() -> None:
    dates = Attribute("sensitive", dates=["month"], ladder="fitted", missing="as a value")
    frame = pd.DataFrame({"date": [""] * 12, "cause": [*"pqr"] * 4})
    table = read_table(frame, {"date": dates, "cause": "sensitive"}, k=2)
    assert dict(table.counts.cells()) == {("missing", cause): 4 for cause in "pqr"}
