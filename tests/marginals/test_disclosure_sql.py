"""Rows that DuckDB reads block by block are disclosed as rows in memory are, rule by rule."""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
from command_line import run
from marginals import DisclosureRule, disclose

pytest.importorskip("duckdb")

ATTRIBUTES = {
    "age": marginals.Attribute("quasi-identifier", intervals=[5, 20]),
    "marital status": marginals.Attribute("quasi-identifier"),
    "code": marginals.Attribute("quasi-identifier", prefixes=[2, 1]),
}
ROLES = {"age": "intervals = [5, 20]", "marital status": "", "code": "prefixes = [2, 1]"}
"""The same as keys of a config."""

_RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": _RNG.integers(20, 60, 40).astype(str),
        "marital status": _RNG.choice(["single", 'it\'s "over"', "widowed", ""], 40),
        "code": _RNG.choice(["101", "102", "117", "201"], 40),
        "note": _RNG.choice(["3", "", "12", "-0", " 7 ", "1e1"], 40),
        "nurse": _RNG.choice(["Ann", "", "é", "Z`b", "?"], 40),
        'a"b': _RNG.choice(["it's", 'a"b'], 40),
    }
)

CONDITIONS = (
    None, "age > 35", "25 <= age < 40 and `marital status` != 'single'", "code in [101, 201]", "note != 3", "not note > 3",
    "not (age == 30 or `marital status` == 'it\\'s \"over\"')", "(age < 30) | (code == 117) & ~(note == 3)",
    "age not in [20, 21] and code >= -5", "note not in [3, 12]", "note in [0, 7, 10]", "nurse not in ['Ann', 'Z`b']",
    "not nurse in ['Ann']", "nurse != 'Ann' or nurse > 'a'", "nurse <= 'Z`b'", "note == age or not note < age",
    "note != note", "nurse == `marital status`", "nurse in [] or age > 30.5", "code == 0101.0", "code == '101'",
    "nurse == 3", "nurse == ''", "index > 3", "True", "1 == 1", "age < nurse", "age < 30 & age > 20", "age in 20-39",
    "(age=20-24) | (nurse=Ann|é)", "not (marital status=single or code=10*)", "note in 3-12", "nurse='absent'",
    "marital status=widowed and age > 30", '`a"b` == "it\'s"', "`a\"b` != 'a\"b'", "height > 3", "age > 'forty'", "age",
)  # fmt: skip

MISSING = ("?", "")

RULES = st.builds(
    DisclosureRule, st.sampled_from(list(ROLES)), st.sampled_from([None, 0, 1]), st.sampled_from(CONDITIONS)
)


@cache
def rows_of(source: Path, missing: tuple[str, ...]) -> marginals.Rows:
    """The rows of a table, read once for all rules."""
    return marginals.read_rows(source, ATTRIBUTES, missing)


def by_pandas(source: Path, rules: list[DisclosureRule], missing: tuple[str, ...]) -> list[tuple[str, ...]] | str:
    try:
        return sorted(map(tuple, disclose(rows_of(source, missing), rules).frame().to_numpy()))
    except marginals.InputError:
        return "refused"


def write_config(
    source: Path, rules: Sequence[DisclosureRule], roles: dict[str, str], data: str = "", engine: str = "duckdb"
) -> Path:
    """A config beside a table. data: more of its section [data]."""
    text = f'[data]\npath = "{source.name}"\nengine = "{engine}"\n{data}\n'
    for name, keys in roles.items():
        text += f'[attributes.{json.dumps(name)}]\nrole = "quasi-identifier"\n{keys}\n'
    text += "[privacy]\nk_link = 2\n"
    for rule in rules:
        keys = {"attribute": rule.attribute, "level": rule.level, "condition": rule.condition}
        told = [f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value is not None]
        text += "".join(["[[risk.rules]]\n", *told])
    config = source.with_name("release.toml")
    config.write_text(text, encoding="utf-8")
    return config


def disclosed(config: Path, *more: object) -> list[tuple[str, ...]] | str:
    """What the command writes, in the order of the rows."""
    out = config.with_name("disclosed.csv")
    result = run("disclose", config, "--out", out, "--force", "--keep-order", "--json", *more)
    if result.exit_code == 2:
        return "refused"
    assert result.exit_code == 0, result.output
    found = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert json.loads(result.stdout)["rows"] == len(found)
    return list(map(tuple, found.to_numpy()))


def by_duckdb(source: Path, rules: list[DisclosureRule], missing: tuple[str, ...]) -> list[tuple[str, ...]] | str:
    found = disclosed(write_config(source, rules, ROLES, f"missing = {json.dumps(missing)}"))
    return found if isinstance(found, str) else sorted(found)


@pytest.mark.parametrize("missing", [("",), MISSING])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rules=st.lists(RULES, min_size=1, max_size=3))
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


NUMBERS = st.sampled_from(["{:f}", "{:,f}", "{:.1e}", "{:+.2f}", " {:.0f} ", "{:.2f} %"]).flatmap(
    lambda form: st.lists(st.decimals(-(10**6), 10**6, places=1).map(form.format), min_size=1, max_size=20)
)
SPELLED = st.lists(st.text("0123456789+-.,'%eE_xinfa \u2212\u2019\u00a0\u202f", max_size=9), min_size=1, max_size=20)
MARKS = ["", "NA", "-9", "99", "x"]
MARKED = ["-9", "-9.0", "99,0", "099", " NA\u00a0", " ", "9.9e1"]


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=NUMBERS | SPELLED, marked=st.booleans(), decimal=st.sampled_from(".,"))
def test_both_engines_read_the_same_numbers_and_take_the_same_texts_for_missing(
    texts: list[str], marked: bool, decimal: str, tmp_path: Path
) -> None:
    swapped = [text.translate({ord(","): ".", ord("."): ","}) if decimal == "," else text for text in texts]
    source = tmp_path / "table.csv"
    values = [*swapped, *(MARKED if marked else []), "3"]
    pd.DataFrame({"n": [f"n{number}" for number in range(len(values))], "x": values}).to_csv(source, index=False)
    data = f'missing = {json.dumps(MARKS)}\ndecimal = "{decimal}"'
    for condition in ("x > 2", None):  # which needs numbers, and all rows that lack nothing
        rules = [DisclosureRule("n", None, condition)]
        roles = {"n": "", "x": ""} if condition is None else {"n": ""}
        found = [disclosed(write_config(source, rules, roles, data, engine)) for engine in ("pandas", "duckdb")]
        assert found[0] == found[1]


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
    roles = {"age": "intervals = [5]", "smokes": "", "day": ""}
    for condition in ("dose > 0.05", "dose == 0.1", "dose != 2", "smokes == 'True'", "day == '2020-01-01'", "age < 23"):
        rules = [DisclosureRule("smokes", None, condition), DisclosureRule("age", 1, f"not ({condition})")]
        found = [disclosed(write_config(source, rules, roles, engine=engine)) for engine in ("pandas", "duckdb")]
        assert found[0] == found[1]
        assert "*" in {row[1] for row in found[0]}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_that_differ_by_case_are_told_apart_or_refused(ending: str, tmp_path: Path) -> None:
    """DuckDB's names ignore case: the rule would be about the other column."""
    source = tmp_path / f"table.{ending}"
    frame = pd.DataFrame({"Age": ["1", "2", "3"], "age": ["9", "8", "1"]})
    frame.to_csv(source, index=False) if ending == "csv" else frame.to_parquet(source)
    for roles in ({"Age": ""}, {"Age": "", "age": ""}):
        for engine in ("auto", "duckdb"):
            found = disclosed(write_config(source, [DisclosureRule("Age", None, "age > 4")], roles, engine=engine))
            assert found == "refused" if engine == "duckdb" else [row[0] for row in found] == ["*", "*", "3"]


def test_only_the_target_is_touched(tmp_path: Path) -> None:
    source, target = tmp_path / "table.csv", tmp_path / "new" / "out.csv"
    FRAME.to_csv(source, index=False)
    target.parent.mkdir()
    own = target.with_name("out.csv.partial")
    own.write_text("mine")
    kept = tmp_path / "kept.csv"
    target.symlink_to(kept)
    config = write_config(source, [DisclosureRule("age")], ROLES)
    assert run("disclose", config, "--out", target, "--force").exit_code == 0
    assert target.is_symlink()
    assert kept.read_text().startswith("age,")
    assert own.read_text() == "mine"
    assert {path.name for path in target.parent.iterdir()} == {"out.csv", "out.csv.partial"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    source, pipe = tmp_path / "table.csv", tmp_path / "pipe"
    FRAME.to_csv(source, index=False)
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        assert run("disclose", write_config(source, [DisclosureRule("age")], ROLES), "--out", pipe).exit_code == 0
        assert read.result(timeout=60).startswith("age,")
    assert pipe.is_fifo()


def test_too_little_memory_names_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the machine's memory is the limit where the config names none."""
    import duckdb

    limits = []

    def full(*arguments: object) -> object:
        limits.append(arguments[0])
        raise duckdb.OutOfMemoryException("could not allocate")

    monkeypatch.setattr("marginals.risk.rules.connected", full)
    monkeypatch.setattr("marginals.tables.source.machine_memory", lambda: 1 << 30)
    FRAME.to_csv(tmp_path / "table.csv", index=False)
    result = run(
        "disclose", write_config(tmp_path / "table.csv", [DisclosureRule("age")], ROLES), "--out", tmp_path / "o.csv"
    )
    assert (result.exit_code, "data.memory" in result.stderr) == (2, True)
    assert limits == [1 << 28], "the other half is for shuffling"
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_gives_the_same_by_either_engine(ending: str, tmp_path: Path) -> None:
    """Of a folder of files, where an empty text is a value because the config does not call it missing."""
    (tmp_path / "tables").mkdir()
    for number, part in enumerate((FRAME[:25], FRAME[25:])):
        path = tmp_path / "tables" / f"{number}.{ending}"
        part.to_csv(path, index=False) if ending == "csv" else part.to_parquet(path)
    rules = [
        DisclosureRule("age", 1, "age > 35 and note > 3"),
        DisclosureRule("marital status", None, "`marital status` == ''"),
    ]
    roles = {name: ROLES[name] for name in ("age", "marital status")}
    found = []
    for engine in ("pandas", "duckdb", "auto"):
        config = write_config(tmp_path / "tables", rules, roles, 'missing = ["?"]', engine)
        result = run("disclose", config, "--out", tmp_path / f"{engine}.csv", "--keep-order", "--json")
        assert result.exit_code == 0, result.output
        used = "pandas" if engine == "pandas" else "duckdb"
        assert json.loads(result.stdout) == {"out": str(tmp_path / f"{engine}.csv"), "rows": 40, "engine": used}
        found.append((tmp_path / f"{engine}.csv").read_text())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("age > 35", "height > 35"), "names 'height', a name that no column"),
        (("attributes.\"code\"", "attributes.town"), "no column 'town'"),
    ],
)  # fmt: skip
def test_what_cannot_be_disclosed_is_one_sentence(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "table.csv", index=False)
    config = write_config(tmp_path / "table.csv", [DisclosureRule("age", 1, "age > 35")], ROLES)
    assert change[0] in config.read_text()
    config.write_text(config.read_text().replace(*change))
    result = run("disclose", config, "--out", tmp_path / "out.csv")
    assert (result.exit_code, said in result.stderr) == (2, True), result.output
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "release.toml"}
    config.write_text(config.read_text().partition("[[risk")[0])
    assert run("disclose", config, "--out", tmp_path / "out.csv").exit_code == 2, "without rules"
