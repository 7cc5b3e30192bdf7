"""DuckDB discloses what pandas does, rule by rule."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
from marginals.command_line import main
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


CONFIG = """
[data]
path = "tables"
engine = "ENGINE"
missing = ["?"]
[attributes.age]
role = "quasi-identifier"
intervals = [5, 20]
[attributes."marital status"]
role = "quasi-identifier"
[privacy]
k_link = 2
[[risk.rules]]
attribute = "age"
level = 1
condition = "age > 35 and note > 3"
[[risk.rules]]
attribute = "marital status"
condition = "`marital status` == ''"
"""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_gives_the_same_by_either_engine(ending: str, tmp_path: Path) -> None:
    """Of a folder of files, where an empty text is a value because the config does not call it missing."""
    (tmp_path / "tables").mkdir()
    for number, part in enumerate((FRAME[:25], FRAME[25:])):
        path = tmp_path / "tables" / f"{number}.{ending}"
        part.to_csv(path, index=False) if ending == "csv" else part.to_parquet(path)
    found = {}
    for engine in ("pandas", "duckdb", "auto"):
        (tmp_path / "release.toml").write_text(CONFIG.replace("ENGINE", engine))
        out = tmp_path / f"{engine}.csv"
        result = CliRunner().invoke(main, ["disclose", str(tmp_path / "release.toml"), "--out", str(out), "--json"])
        assert result.exit_code == 0, result.output
        used = "pandas" if engine == "pandas" else "duckdb"
        assert json.loads(result.stdout) == {"out": str(out), "rows": 40, "engine": used}
        frame = pd.read_csv(out, dtype=str, keep_default_na=False)
        assert list(frame.columns) == ["age", "marital status"]
        found[engine] = sorted(map(tuple, frame.to_numpy()))
    assert found["pandas"] == found["duckdb"] == found["auto"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("ENGINE", "spark"), "data.engine"),
        (('attribute = "age"', 'attribute = "height"'), "'height', which is no attribute"),
        (("age > 35", "height > 35"), "'height', which is no column"),
        (("level = 1", "level = 9"), "not 9"),
        (("[[risk.rules]]", "[[risk.interactions]]"), "risk.interactions"),
        ((CONFIG[CONFIG.index("[[risk.rules]]") :], ""), "has no [[risk.rules]]"),
    ],
)
def test_what_cannot_be_disclosed_is_one_sentence(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    FRAME.to_csv(tmp_path / "tables" / "0.csv", index=False)
    (tmp_path / "release.toml").write_text(CONFIG.replace(*change).replace("ENGINE", "duckdb"))
    out = tmp_path / "out.csv"
    result = CliRunner().invoke(main, ["disclose", str(tmp_path / "release.toml"), "--out", str(out)])
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert not list(tmp_path.glob("out*"))
