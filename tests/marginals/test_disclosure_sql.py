"""DuckDB discloses what pandas does, rule by rule."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
from marginals.disclosing import DisclosureRule, disclose
from marginals.disclosure_sql import condition_sql, disclose_file

pytest.importorskip("duckdb")

ATTRIBUTES = {
    "age": marginals.Attribute("quasi-identifier", intervals=[5, 20]),
    "marital status": "quasi-identifier",
    "code": marginals.Attribute("quasi-identifier", prefixes=[2, 1]),
}

_RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": _RNG.integers(20, 60, 40).astype(str),
        "marital status": _RNG.choice(["single", 'it\'s "over"', "widowed", ""], 40),
        "code": _RNG.choice(["101", "102", "117", "201"], 40),
        "note": _RNG.choice(["3", "", "12"], 40),
    }
)

CONDITIONS = (
    None,
    "age > 35",
    "25 <= age < 40 and `marital status` != 'single'",
    "not (age == 30 or `marital status` == 'it\\'s \"over\"')",
    "code in [101, 201]",
    "(age < 30) | (code == 117) & ~(note == 3)",
    "note != 3",
    "not note > 3",
    "age not in [20, 21] and code >= -5",
)

RULES = st.builds(
    DisclosureRule,
    st.sampled_from(list(ATTRIBUTES)),
    st.sampled_from([None, 0, 1]),
    st.sampled_from(CONDITIONS),
)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rules=st.lists(RULES, max_size=4))
def test_both_engines_disclose_the_same(ending: str, rules: list[DisclosureRule], tmp_path: Path) -> None:
    source, target = tmp_path / f"table.{ending}", tmp_path / "disclosed.csv"
    if ending == "csv":
        FRAME.to_csv(source, index=False)
    else:
        FRAME.to_parquet(source)
    rows = marginals.read_rows(source, ATTRIBUTES)
    wanted = disclose(rows, rules).frame()
    assert disclose_file(source, target, rows.domain, rules) == len(wanted)
    found = pd.read_csv(target, dtype=str, keep_default_na=False)
    assert list(found.columns) == list(wanted.columns)
    assert sorted(map(tuple, found.to_numpy())) == sorted(map(tuple, wanted.to_numpy()))


def test_bad_input_leaves_nothing_behind(tmp_path: Path) -> None:
    source, target = tmp_path / "table.csv", tmp_path / "out.csv"
    FRAME.to_csv(source, index=False)
    domain = marginals.read_rows(source, ATTRIBUTES).domain
    hidden = DisclosureRule("age")
    for rules in (
        [DisclosureRule("age", 1, "height > 3")],
        [DisclosureRule("age", 1, "age > 'forty'")],
        [DisclosureRule("age", 7)],
        [DisclosureRule("age", 1, "age")],
        [DisclosureRule("age", 1, lambda frame: frame["age"] == "3")],
    ):
        with pytest.raises(marginals.InputError):
            disclose_file(source, target, domain, [hidden, *rules])
    with pytest.raises(marginals.InputError, match="no table"):
        disclose_file(tmp_path / "nowhere.csv", target, domain, [hidden])
    FRAME.drop(columns="code").to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(marginals.InputError, match="no column 'code'"):
        disclose_file(tmp_path / "less.csv", target, domain, [hidden])
    FRAME.assign(code="999").to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(marginals.InputError, match="not among the base values") as raised:
        disclose_file(tmp_path / "other.csv", target, domain, [hidden])
    assert "999" not in str(raised.value)
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "less.csv", "other.csv"}


def test_conditions_quote_what_they_name() -> None:
    assert condition_sql('`a"b` == "it\'s"') == "(coalesce(original.\"a\"\"b\" = 'it''s', FALSE))"
    assert condition_sql(None) == "TRUE"
    assert condition_sql("True and x > -1") == '(TRUE AND (coalesce(original."x" > (-1), FALSE)))'
