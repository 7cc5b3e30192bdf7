"""A first config is accepted as it is, quotes no rare value outside the files to be reviewed, and replaces nothing."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
from command_line import run
from first_configs import init, init_columns
from marginals import InputError, Role
from simulated_census import census_people

SEX = ["f", "m"]


CELLS = {
    "text": st.sampled_from(["north", "south", "east", "w;est", 'q"uote', "#x", "'y'", "Ünï 🙂", "*", "Other values"]),
    "number": st.integers(-30, 3000).map(str),
    "few": st.integers(0, 3).map(str),
    "padded": st.integers(0, 200).map(lambda v: f"{v:04d}"),
    "decimal": st.decimals(0, 50, places=1).map(str),
    "gappy": st.sampled_from(["", "?", "NA", "yes", "no"]),
    "anything": st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
}
NAMES = ["a b", 'q"x', "id", "diagnosis", "income", "zip", "Ä.ö", "#", "plain", "x=1", "", "[y]"]


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(1, 60))
    kinds = [draw(st.sampled_from(list(CELLS))) for _ in names]
    return pd.DataFrame(
        {n: draw(st.lists(CELLS[k], min_size=rows, max_size=rows)) for n, k in zip(names, kinds)}, dtype=object
    )


@given(frame=tables())
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_the_config_is_accepted_as_it_is(tmp_path_factory: pytest.TempPathFactory, frame: pd.DataFrame) -> None:
    """By read_config, assess and publish: nothing is bad input, though a small table may have nothing publishable."""
    folder = tmp_path_factory.mktemp("made")
    # With these ends of lines, fields with either of their characters are quoted.
    frame.to_csv(folder / "table.csv", index=False, encoding="utf-8", lineterminator="\r\n")
    result = run("init", folder / "table.csv", "-o", folder / "release.toml", "--json")
    if result.exit_code:
        allowed = (
            "can be published",
            "no header line",
            "seems not to be",
            "NUL character",
            "swallows the next lines",
            "repeats the names",
        )
        assert any(sentence in result.output for sentence in allowed), result.output
        assert not (folder / "release.toml").exists()
        return
    config = marginals.read_config(folder / "release.toml")
    assert set(json.loads(result.stdout)["attributes"]) == set(config.source.attributes)
    assert config.read_table().rows > 0
    assert run("assess", folder / "release.toml").exit_code in (0, 1)
    published = run("publish", folder / "release.toml", "--out", folder / "out")
    assert published.exit_code in (0, 1), published.output
    if published.exit_code == 0:
        assert marginals.verify(folder / "out").ok


@given(rare=st.integers(1, 30), seed=st.integers(0, 1000))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rare_values_are_written_to_hierarchy_files_only(
    tmp_path_factory: pytest.TempPathFactory, rare: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("rare")
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "town": [f"town{v}ville" for v in rng.geometric(0.2, 200)],
            "illness": [f"ill{v}ness" for v in rng.geometric(0.3, 200)],
            "age": [str(v) for v in rng.integers(100_000, 102_000, 200)],
            "code": [f"X{v}" for v in rng.integers(1000, 9999, 200)],
        }
    )
    first = init(frame, folder, "--rare", rare)
    printed = run("init", folder / "t.csv", "-o", folder / "again.toml", "--rare", rare, "--force")
    assert printed.exit_code == 0
    elsewhere = first.text + printed.output + json.dumps(first.answer)
    for name in frame:
        for value, count in frame[name].value_counts().items():
            assert count >= rare or str(value) not in elsewhere
    assert {path.name for path in folder.rglob("*.csv")} <= {"t.csv", "town.csv"}


def test_nothing_is_replaced_unless_asked(tmp_path: Path) -> None:
    census_people(1000).to_csv(tmp_path / "t.csv", index=False)
    config = tmp_path / "release.toml"
    config.write_text("precious")
    result = run("init", tmp_path / "t.csv", "-o", config)
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert config.read_text() == "precious"
    assert init(tmp_path / "t.csv", tmp_path).toml["data"]["path"] == "t.csv"


def test_a_config_in_another_folder_finds_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    pd.DataFrame({"sex": SEX * 50}).to_csv(tmp_path / "data" / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    assert run("init", "data/t.csv", "-o", "configs/release.toml").exit_code == 0
    config = marginals.read_config("configs/release.toml")
    assert config.source.path.resolve() == (tmp_path / "data" / "t.csv").resolve()


@pytest.mark.parametrize("content", [None, "", "a,a\n1,2\n", "a\nx\nx\n", "a,b\n"])
def test_what_is_no_table_is_refused_in_a_sentence(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "t.csv").write_text(content)
    result = run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml")
    assert (result.exit_code, result.stderr[:7]) == (2, "Error: ")
    assert not (tmp_path / "release.toml").exists()


def test_cells_that_are_read_as_missing_are_those_of_the_file(tmp_path: Path) -> None:
    """DK is Denmark among countries and no answer elsewhere; rows of a table of counts are not counted as people."""
    places = ["AT", "BE", "CH", "CZ", "DE", "DK", "ES", "FI", "FR", "IT", "NL", "NA"]
    rows = [(place, answer, 7) for place in places for answer in ("yes", "no", "")]
    pd.DataFrame(rows, columns=["place", "answer", "cases"]).to_csv(tmp_path / "t.csv", index=False)
    out = run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml", status=0).stdout
    assert "Cells that are read as missing: 12 empty, few 'NA'." in out
    answers = pd.DataFrame({"place": places * 4, "answer": ["yes", "no", "DK", "yes"] * 12})
    answers.to_csv(tmp_path / "t.csv", index=False)
    out = run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml", "--force", status=0).stdout
    assert "Cells that are read as missing: few 'NA'." in out, "DK is a value in one of two columns"


def test_columns_that_cannot_be_counted_are_left_out(tmp_path: Path) -> None:
    lists, stays, scans = [[1], [2], [3]] * 10, pd.to_timedelta([1, 2, 3] * 10, "D"), [b"a", b"b", b"c"] * 10
    frame = pd.DataFrame({"lists": lists, "stays": stays, "scans": scans, "sex": ["f", "m", "f"] * 10})
    frame.to_parquet(tmp_path / "t.parquet")
    assert init(tmp_path / "t.parquet", tmp_path).with_role("ignored") == {"lists", "stays", "scans"}
    with pytest.raises(InputError, match="'lists'"):
        marginals.read_table(tmp_path / "t.parquet", {"lists": "sensitive"})


@pytest.mark.parametrize("spelled", ["{d:02d}/{m:02d}/{y}", "{m:02d}/{d:02d}/{y}", "{m}-{d}-{y}"])
def test_dates_that_end_with_the_year_get_months_and_years(spelled: str, tmp_path: Path) -> None:
    days = [(1 + n % 28, 1 + n % 12, 1931 + n % 70) for n in range(400)]
    born = [spelled.format(d=d, m=m, y=y) for d, m, y in days]
    first = init(pd.DataFrame({"born": born, "sex": SEX * 200}), tmp_path)
    assert first.roles["born"] is Role.QUASI_IDENTIFIER
    assert first.toml["attributes"]["born"]["dates"] == ["month", "quarter", "year"]
    shown = first.config().read_table().domain.hierarchy("born")
    assert {f"{y}-{m:02d}-{d:02d}" for d, m, y in days} <= {*shown.labels[0]}


@pytest.mark.parametrize(("few", "published"), [(0, False), (2, False), (3, True)])
def test_everything_that_init_writes_can_be_published(tmp_path: Path, few: int, published: bool) -> None:
    """Of a sensitive column in which hardly anybody has another value nothing could be shown: it is left out."""
    frame = pd.DataFrame({"sex": SEX * 150, "hiv": ["yes"] * few + ["no"] * (300 - few)})
    frame.loc[290:, "hiv"] = ""
    result = run("publish", init(frame, tmp_path).path, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    release = marginals.open_release(tmp_path / "out")
    assert ("hiv" in release.domain.attributes) == published
    assert not published or marginals.verify(tmp_path / "out").smallest_sensitive == {"hiv": 3}


def test_the_reason_of_a_column_with_one_rare_value_tells_no_count_and_advises_to_publish_none() -> None:
    column = init_columns({"veteran": ["no"] * 595 + ["yes"] * 5, "sex": SEX * 300}).columns["veteran"]
    assert column["role"] == "ignored"
    assert re.findall(r"\d+", column["why"]) == ["10"], "the least number of rows"
