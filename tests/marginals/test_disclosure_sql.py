"""DuckDB discloses what pandas does, rule by rule."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
import row_conditions
from command_line import main
from marginals import DisclosureRule, disclose
from marginals.conditions import Kind, parsed
from marginals.disclosure import disclose_file, disclosure_query, formula_sql, is_missing_sql, is_number_sql, number_sql
from marginals.tables.values import NumberFormat, formats, missing_among
from models import Domain, Hierarchy

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
        "note": _RNG.choice(["3", "", "12", "-0", " 7 ", "1e1"], 40),
        "nurse": _RNG.choice(["Ann", "", "é", "Z`b", "?"], 40),
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
    "note not in [3, 12]",
    "note in [0, 7, 10]",
    "nurse not in ['Ann', 'Z`b']",
    "not nurse in ['Ann']",
    "nurse != 'Ann' or nurse > 'a'",
    "nurse <= 'Z`b'",
    "note == age or not note < age",
    "note != note",
    "nurse == `marital status`",
    "nurse in [] or age > 30.5",
    "code == 0101.0",
    "code == '101'",
    "nurse == 3",
    "nurse == ''",
    "index > 3",
    "True",
    "1 == 1",
    "age < nurse",
    "age < 30 & age > 20",
    "age in 20-39",
    "(age=20-24) | (nurse=Ann|é)",
    "not (marital status=single or code=10*)",
    "note in 3-12",
    "nurse='absent'",
    {"age": ["20-24", 31], "code": "101"},
    ["age in 20-39", "nurse=é"],
    "marital status=widowed and age > 30",
)

MISSING = ("?", "")

RULES = st.builds(
    DisclosureRule,
    st.sampled_from(list(ATTRIBUTES)),
    st.sampled_from([None, 0, 1]),
    st.sampled_from(CONDITIONS),
)


def described(source: Path, missing: tuple[str, ...] = ("",)) -> marginals.TableSource:
    attributes = {
        name: a if isinstance(a, marginals.Attribute) else marginals.Attribute(a) for name, a in ATTRIBUTES.items()
    }
    return marginals.TableSource(origin=source, attributes=attributes, missing=missing)


@cache
def rows_of(source: Path, missing: tuple[str, ...]) -> marginals.Rows:
    """The rows of a table, read once for all rules."""
    return marginals.read_rows(source, ATTRIBUTES, missing)


def by_pandas(source: Path, rules: list[DisclosureRule], missing: tuple[str, ...]) -> list[tuple[str, ...]] | str:
    try:
        return sorted(map(tuple, disclose(rows_of(source, missing), rules).frame().to_numpy()))
    except marginals.InputError:
        return "refused"


def by_duckdb(source: Path, rules: list[DisclosureRule], missing: tuple[str, ...]) -> list[tuple[str, ...]] | str:
    target = source.with_name("disclosed.csv")
    domain = rows_of(source, missing).domain
    try:
        count = disclose_file(described(source, missing), target, domain, rules)
    except marginals.InputError:
        return "refused"
    found = pd.read_csv(target, dtype=str, keep_default_na=False)
    assert list(found.columns) == list(domain.attributes)
    assert len(found) == count
    return sorted(map(tuple, found.to_numpy()))


@pytest.mark.parametrize("missing", [("",), MISSING])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rules=st.lists(RULES, max_size=3))
def test_both_engines_disclose_the_same(
    ending: str, missing: tuple[str, ...], rules: list[DisclosureRule], tmp_path: Path
) -> None:
    """What one refuses the other refuses."""
    source = tmp_path / f"table.{ending}"
    if ending == "csv" and not source.exists():
        FRAME.to_csv(source, index=False)
    elif not source.exists():
        FRAME.replace({"note": "", "nurse": ""}, None).to_parquet(source)
    assert by_duckdb(source, rules, missing) == by_pandas(source, rules, missing)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_condition_by_both_engines(condition: Any, tmp_path: Path) -> None:
    source, rules = tmp_path / "table.csv", [DisclosureRule("age", None, condition)]
    FRAME.to_csv(source, index=False)
    assert by_duckdb(source, rules, MISSING) == by_pandas(source, rules, MISSING)


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    """A connection to DuckDB; to open one takes longer than to ask it something."""
    import duckdb

    with duckdb.connect() as connection:
        yield connection


@settings(max_examples=60, deadline=None)
@given(conditions=st.lists(row_conditions.CONDITIONS, min_size=5, max_size=5))
def test_the_sql_of_a_formula_holds_for_the_rows_of_brute_force(
    database: Any, conditions: list[row_conditions.Said]
) -> None:
    rows = row_conditions.ROWS
    kinds = {"a": Kind.NUMBERS, "b c": Kind.NUMBERS, "t": Kind.TEXTS}
    values = ", ".join("(" + ", ".join(["?::VARCHAR"] * 3) + ")" for _ in rows)
    shown = ", ".join(formula_sql(parsed(text), kinds) for text, _ in conditions)
    texts = [None if value is None else str(value) for row in rows for value in row.values()]
    found = database.execute(f'SELECT {shown} FROM (VALUES {values}) original("a", "b c", "t")', texts).fetchall()
    assert found == [tuple(said(row) for _, said in conditions) for row in rows]


SPELLED_MARKS = ("-9", "-9.0", "99,0", "099", " NA\u00a0", " ", "9.9e1")
SPELLED = st.text("0123456789+-.,'%eE_xinfa \u2212\u2019\u00a0\u202f", max_size=9)


@given(own=st.sampled_from([*formats("."), *formats(",")]), data=st.data())
@settings(deadline=None)
def test_both_engines_read_the_same_numbers(database: Any, own: NumberFormat, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(own.pattern, fullmatch=True) | SPELLED)
    query = f"SELECT {is_number_sql('t', own)}, {number_sql('t', own)} FROM (SELECT CAST(? AS VARCHAR) AS t)"
    [(is_number, value)] = database.execute(query, [text]).fetchall()
    assert bool(is_number) == own.is_number(text)
    if is_number:
        assert value == own.real(text)


@given(text=SPELLED, decimal=st.sampled_from(".,"))
@settings(deadline=None)
def test_both_engines_take_the_same_texts_for_missing(database: Any, text: str, decimal: str) -> None:
    marks = ["", "NA", "-9", "99", "x"]
    texts = [text, f" {text}", *SPELLED_MARKS]
    query = f"SELECT t, {is_missing_sql('t', marks, decimal)} FROM (SELECT unnest(CAST(? AS VARCHAR[])) AS t)"
    found = database.execute(query, [texts]).fetchall()
    assert len(found) == len(texts)
    for spelled, is_missing in found:
        assert bool(is_missing) == (spelled in missing_among([spelled], marks, decimal)), repr(spelled)


def test_values_of_any_type_are_spelled_as_every_source_spells_them(tmp_path: Path) -> None:
    """Whole numbers with a gap are floats to pandas, and truth values and days have a spelling of their own."""
    source = tmp_path / "table.parquet"
    frame = pd.DataFrame(
        {
            "age": [20.0, 21.0, None, 23.0],
            "smokes": [True, False, True, True],
            "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01", "2020-01-03 10:00"], format="ISO8601"),
            "dose": np.array([0.1, 2, 1e-7, np.nan], dtype=np.float32),
        }
    )
    frame.to_parquet(source)
    attributes = {"age": marginals.Attribute("quasi-identifier", intervals=[5])} | dict.fromkeys(
        ("smokes", "day"), "quasi-identifier"
    )
    rows = marginals.read_rows(source, attributes)
    for condition in ("dose > 0.05", "dose == 0.1", "dose != 2", "smokes == 'True'", "day == '2020-01-01'", "age < 23"):
        rules = [DisclosureRule("smokes", None, condition), DisclosureRule("age", 1, f"not {condition}")]
        disclose_file(described(source), tmp_path / "out.csv", rows.domain, rules)
        found = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
        wanted = disclose(rows, rules).frame()
        assert sorted(map(tuple, found.to_numpy())) == sorted(map(tuple, wanted.to_numpy()))
        assert "*" in set(wanted["smokes"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_that_differ_by_case_are_told_apart_or_refused(ending: str, tmp_path: Path) -> None:
    """DuckDB's names ignore case: the rule would be about the other column."""
    source, out = tmp_path / f"table.{ending}", tmp_path / "out.csv"
    frame = pd.DataFrame({"Age": ["1", "2", "3"], "age": ["9", "8", "1"]})
    frame.to_csv(source, index=False) if ending == "csv" else frame.to_parquet(source)
    for attributes in ("Age",), ("Age", "age"):
        roles = "".join(f'[attributes.{name}]\nrole = "quasi-identifier"\n' for name in attributes)
        rule = '[[risk.rules]]\nattribute = "Age"\ncondition = "age > 4"\n'
        for engine in ("auto", "duckdb"):
            config = tmp_path / "release.toml"
            data = f'[data]\npath = "{source.name}"\nengine = "{engine}"\n'
            config.write_text(f"{data}{roles}[privacy]\nk_link = 2\n{rule}")
            result = CliRunner().invoke(main, ["disclose", str(config), "--out", str(out), "--force", "--keep-order"])
            if engine == "auto":
                assert result.exit_code == 0, result.output
                assert list(pd.read_csv(out)["Age"]) == ["*", "*", "3"]
            else:
                assert result.exit_code == 2, result.output
                assert "differ by case only" in result.stderr


def test_only_the_target_is_touched(tmp_path: Path) -> None:
    source, target = tmp_path / "table.csv", tmp_path / "new" / "out.csv"
    FRAME.to_csv(source, index=False)
    domain = marginals.read_rows(source, ATTRIBUTES).domain
    target.parent.mkdir()
    own = target.with_name("out.csv.partial")
    own.write_text("mine")
    with pytest.raises(marginals.InputError):
        disclose_file(described(source), target, domain, [DisclosureRule("age", None, "height > 3")])
    kept = tmp_path / "kept.csv"
    target.symlink_to(kept)
    disclose_file(described(source), target, domain, [DisclosureRule("age")])
    assert target.is_symlink()
    assert kept.read_text().startswith("age,")
    assert own.read_text() == "mine"
    assert {path.name for path in target.parent.iterdir()} == {"out.csv", "out.csv.partial"}
    with pytest.raises(marginals.InputError, match="there is no folder"):
        disclose_file(described(source), tmp_path / "not" / "there" / "out.csv", domain, [DisclosureRule("age")])
    assert not (tmp_path / "not").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    source, pipe = tmp_path / "table.csv", tmp_path / "pipe"
    FRAME.to_csv(source, index=False)
    domain = marginals.read_rows(source, ATTRIBUTES).domain
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        disclose_file(described(source), pipe, domain, [DisclosureRule("age")])
        assert read.result(timeout=60).startswith("age,")
    assert pipe.is_fifo()


def test_too_little_memory_names_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the machine's memory is the limit where the config names none."""
    import duckdb

    limits = []

    def full(*arguments: object) -> object:
        limits.append(arguments[0])
        raise duckdb.OutOfMemoryException("could not allocate")

    monkeypatch.setattr("marginals.disclosure.connected", full)
    monkeypatch.setattr("marginals.tables.source.machine_memory", lambda: 1 << 30)
    source, target = tmp_path / "table.csv", tmp_path / "out.csv"
    FRAME.to_csv(source, index=False)
    domain = marginals.read_rows(source, ATTRIBUTES).domain
    with pytest.raises(marginals.InputError, match=r"data\.memory"):
        disclose_file(described(source), target, domain, [DisclosureRule("age")])
    assert limits == [1 << 28], "the other half is for shuffling"
    assert not target.exists()


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
            disclose_file(described(source), target, domain, [hidden, *rules])
    with pytest.raises(marginals.InputError, match="no table"):
        disclose_file(described(tmp_path / "nowhere.csv"), target, domain, [hidden])
    FRAME.drop(columns="code").to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(marginals.InputError, match="no column 'code'"):
        disclose_file(described(tmp_path / "less.csv"), target, domain, [hidden])
    FRAME.assign(code="999").to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(marginals.InputError, match="not among the base values") as raised:
        disclose_file(described(tmp_path / "other.csv"), target, domain, [hidden])
    assert "999" not in str(raised.value).replace(str(tmp_path), "")
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "less.csv", "other.csv"}


def test_conditions_quote_what_they_name() -> None:
    sql = formula_sql(parsed('`a"b` == "it\'s"'), {'a"b': Kind.TEXTS})
    assert sql == "coalesce(original.\"a\"\"b\" = 'it''s', FALSE)"
    domain = Domain.of({"sex": Hierarchy.flat(["f", "m"])})
    assert "CASE WHEN TRUE THEN 1 ELSE 0 END" in disclosure_query(domain, [DisclosureRule("sex")], {})


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
        (("age > 35", "height > 35"), "names 'height', a name that no column"),
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
