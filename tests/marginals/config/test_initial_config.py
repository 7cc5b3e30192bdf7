"""A first config is accepted as it is, quotes no rare value outside the files to be reviewed, and replaces nothing."""

import json
import tomllib
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
from command_line import main
from marginals import InputError, Role
from marginals.config.column_guess import Guess, guess
from marginals.config.first_config import initial_config
from marginals.demo import simulate_census
from marginals.publishing.proposals import proposed_diversity
from marginals.tables.attribute import Column


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def column(name: str, values: list[str]) -> Column:
    distinct, counts = np.unique(np.array([v for v in values if v], dtype=object), return_counts=True)
    return Column(name, tuple(distinct.tolist()), counts, sum(not v for v in values))


def test_each_kind_of_column_is_guessed() -> None:
    rng = np.random.default_rng(1)
    ages = [str(v) for v in rng.integers(18, 90, 400)]
    assert (guess(column("age", ages)).intervals, guess(column("age", ages)).is_fitted) == ((), True)
    zips = [f"{v:05d}" for v in rng.integers(100, 600, 400) * 7]
    assert guess(column("zip", zips)).prefixes == (3, 2)
    assert guess(column("zip", [str(v) for v in rng.integers(10_000, 10_200, 400)])).prefixes == (4, 3)
    dates = [f"19{v % 60 + 40}-0{v % 9 + 1}-1{v % 10}" for v in range(400)]
    assert guess(column("born", dates)).dates == ("month", "quarter", "year")
    assert guess(column("sex", ["f", "m"] * 50)) == Guess(
        Role.QUASI_IDENTIFIER, "2 categories, published as they are or not at all"
    )
    assert guess(column("person_id", [str(v) for v in range(400)])).role is Role.IDENTIFIER
    assert guess(column("who", [f"somebody {v}" for v in range(400)])).role is Role.IDENTIFIER
    assert guess(column("Diagnosis", ["flu", "cold"] * 50)).role is Role.SENSITIVE
    salary = guess(column("salary", [str(v) for v in rng.integers(0, 10**6, 400)]))
    assert (salary.role, bool(salary.intervals), salary.is_fitted) == (Role.SENSITIVE, True, True)
    for name, values in (
        ("constant", ["x"] * 50),
        ("count", ["1", "2"] * 50),
        ("sparse", ["x", "y"] + [""] * 50),
        ("far", [str(v) for v in rng.integers(0, 10**9, 200)] * 2 + ["1"]),
        ("lines", ["a\nb", "c"] * 50),
        ("notes", [("a long story " * 5) + "ab"[i % 2] for i in range(50)]),
        ("word", [f"w{v}x" * (1 + v % 2) for v in range(150)] * 2 + ["w0x"]),
    ):
        assert guess(column(name, values)).role is Role.IGNORED, name


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("num_open_accounts", Role.QUASI_IDENTIFIER),  # of openintro's loans_full_schema
        ("numberOfChildren", Role.QUASI_IDENTIFIER),
        ("num_client", Role.IDENTIFIER),
        ("patient_no", Role.IDENTIFIER),
        ("number", Role.IDENTIFIER),
    ],
)
def test_how_many_there_are_of_something_is_no_number_of_somebody(name: str, role: Role) -> None:
    numbers = np.random.default_rng(1).poisson(20, 5_000).astype(str)
    assert guess(column(name, numbers.tolist())).role is role


def test_rare_categories_go_together_in_a_fitted_ladder() -> None:
    values = ["a"] * 50 + ["b"] * 12 + ["c"] * 3 + ["d"] * 2
    found = guess(column("kind", values))
    assert (found.is_fitted, found.hierarchy) == (True, ())
    assert "2 are rare" in found.why
    assert "none of them rare" in guess(column("kind", values), rare=2).why


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


@pytest.mark.slow
@given(frame=tables())
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_the_config_is_accepted_as_it_is(tmp_path_factory: pytest.TempPathFactory, frame: pd.DataFrame) -> None:
    """By read_config, assess and publish: nothing is bad input, though a small table may have nothing publishable."""
    folder = tmp_path_factory.mktemp("made")
    # With these ends of lines, fields with either of their characters are quoted.
    frame.to_csv(folder / "table.csv", index=False, encoding="utf-8", lineterminator="\r\n")
    result = run("init", folder / "table.csv", "-o", folder / "release.toml", "--json")
    if result.exit_code:
        said = ("no column of table.csv can be published", "table.csv seems to have no header line")
        assert any(sentence in result.output for sentence in said)
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
    frame.to_csv(folder / "table.csv", index=False)
    config = initial_config(folder / "table.csv", folder / "release.toml", rare)
    result = run("init", folder / "table.csv", "-o", folder / "release.toml", "--rare", rare)
    assert result.exit_code == 0
    elsewhere = config.text + result.output + json.dumps(config.as_json())
    for name in frame:
        for value, count in frame[name].value_counts().items():
            assert count >= rare or str(value) not in elsewhere
    assert set(config.hierarchies) <= {"hierarchies/town.csv"}


@pytest.mark.slow
def test_of_the_census_it_guesses_what_its_maker_says(tmp_path: Path) -> None:
    census = simulate_census(np.random.default_rng(0), 3000)
    census.to_parquet(tmp_path / "census.parquet")
    result = run("init", tmp_path / "census.parquet", "-o", tmp_path / "release.toml")
    assert result.exit_code == 0, result.output
    config = marginals.read_config(tmp_path / "release.toml")
    roles = {name: attribute.role for name, attribute in config.source.attributes.items()}
    assert roles.pop("person_id") is Role.IDENTIFIER
    assert roles.pop("diagnosis") is Role.SENSITIVE
    assert set(roles.values()) == {Role.QUASI_IDENTIFIER}
    fitted = {name for name, attribute in config.source.attributes.items() if attribute.is_fitted}
    assert fitted == {"age", "marital_status", "education", "occupation", "postcode"}
    assert config.source.attributes["postcode"].prefixes == (3, 2)
    assert config.source.missing == ("", "?")
    assert config.policy.diversity == "recursive:3,4"
    assert run("publish", tmp_path / "release.toml", "--out", tmp_path / "out").exit_code == 0


def test_nothing_is_replaced_unless_asked(tmp_path: Path) -> None:
    simulate_census(np.random.default_rng(0), 1000).to_csv(tmp_path / "t.csv", index=False)
    config = tmp_path / "release.toml"
    config.write_text("precious")
    result = run("init", tmp_path / "t.csv", "-o", config)
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert config.read_text() == "precious"
    assert not (tmp_path / "hierarchies").exists()
    assert run("init", tmp_path / "t.csv", "-o", config, "--force").exit_code == 0
    assert tomllib.loads(config.read_text())["data"]["path"] == "t.csv"
    for file in (tmp_path / "hierarchies").glob("*.csv"):
        config.unlink(missing_ok=True)
        assert run("init", tmp_path / "t.csv", "-o", config).exit_code == 2, file


def test_a_config_in_another_folder_finds_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    simulate_census(np.random.default_rng(0), 1000).to_csv(tmp_path / "data" / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    assert run("init", "data/t.csv", "-o", "configs/release.toml").exit_code == 0
    config = marginals.read_config("configs/release.toml")
    assert config.source.path.resolve() == (tmp_path / "data" / "t.csv").resolve()


@pytest.mark.parametrize("content", [None, "", "a,a\n1,2\n", "a\nx\nx\n", "a,b\n"])
def test_what_is_no_table_is_refused_in_a_sentence(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "t.csv").write_text(content)
    result = run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml")
    if content == "a,a\n1,2\n":  # pandas calls the second a.1
        assert result.exit_code in (0, 2)
        return
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert not (tmp_path / "release.toml").exists()


def test_missing_values_are_counted_rather_than_the_table_lost(tmp_path: Path) -> None:
    """Each column has a gap in a twentieth of the rows, and together the gaps are in a fifth."""
    rows = range(400)
    frame = pd.DataFrame({f"c{j}": ["" if i % 20 == j else "xy"[i // 4 % 2] for i in rows] for j in range(4)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    config = initial_config(tmp_path / "t.csv", tmp_path / "release.toml")
    assert all(found.role.is_used for found in config.guesses.values())
    assert [found.missing for found in config.guesses.values()].count("as a value") == 3
    config.write(tmp_path / "release.toml")
    assert marginals.read_config(tmp_path / "release.toml").read_table().rows == 380


def test_columns_that_cannot_be_counted_are_left_out(tmp_path: Path) -> None:
    pd.DataFrame({"lists": [[1], [2], [3]] * 10, "sex": ["f", "m", "f"] * 10}).to_parquet(tmp_path / "t.parquet")
    config = initial_config(tmp_path / "t.parquet", tmp_path / "release.toml")
    assert config.guesses["lists"].role is Role.IGNORED
    with pytest.raises(InputError, match=r"'lists' of t\.parquet holds lists"):
        marginals.read_table(tmp_path / "t.parquet", {"lists": "sensitive"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("{d:02d}/{m:02d}/{y}", ("1985-11", "1985", "*")),
        ("{m:02d}/{d:02d}/{y}", ("1985-11", "1985", "*")),
        ("{m}-{d}-{y}", ("1985-11", "1985", "*")),
    ],
)
def test_dates_that_end_with_the_year_get_months_and_years(spelled: str, expected: tuple[str, ...]) -> None:
    days = [(1 + n % 28, 1 + n % 12, 1931 + n % 70) for n in range(400)]
    found = guess(column("born", [spelled.format(d=d, m=m, y=y) for d, m, y in days]))
    assert found.role is Role.QUASI_IDENTIFIER
    rows = {row[0]: row[1:] for row in found.hierarchy}
    assert rows[spelled.format(d=24, m=11, y=1985)] == expected
    assert len(rows) == (date(2010, 1, 1) - date(1930, 1, 1)).days, (
        "every day of the decades, and so no day in particular"
    )
    for d, m, y in days:
        assert rows[spelled.format(d=d, m=m, y=y)] == (f"{y}-{m:02d}", str(y), "*")


@pytest.mark.parametrize(
    ("dates", "why"),
    [
        (["01/02/1980", "03/04/1981"], "cannot be told apart; rewrite them as YYYY-MM-DD"),
        (["01.02.80", "03.04.81"], "two digits for the year; rewrite them as YYYY-MM-DD"),
        (["31.02.1980", "30.01.1980"], "no days of the calendar; rewrite them as YYYY-MM-DD"),
        (["01/13/1980", "03/4/1980"], "spelled in another way"),
        (["01.02.1980", "31.12.9999"], "too far apart"),
        (["01.02.0000", "31.12.0001"], "no days of the calendar"),
    ],
)
def test_dates_that_cannot_be_read_are_left_out_with_the_reason(dates: list[str], why: str) -> None:
    found = guess(column("born", dates * 30))
    assert found.role is Role.IGNORED
    assert why in found.why


def test_dates_are_cut_to_units_whatever_stands_between() -> None:
    for sign in "-./":
        by_year = [f"19{10 + n}{sign}11{sign}12" for n in range(60)]
        assert guess(column("born", by_year)).dates == ("month", "quarter", "year")
    assert guess(column("seen", [f"{1 + n % 28}.{1 + n % 3}.2024" for n in range(60)])).dates[0] == "day"


@pytest.mark.slow
def test_a_german_table_is_published_as_guessed(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "Geburtsdatum": [
                f"{d:02d}.{m:02d}.{y}" for d, m, y in zip(*(rng.integers(1, n, 900) for n in (29, 13, 60)))
            ],
            "Größe": rng.integers(150, 200, 900).astype(str),
            "Diagnose": rng.choice(["Grippe", "Masern", "Gicht", "Husten"], 900),
        }
    )
    frame["Geburtsdatum"] = [f"{text[:6]}{1940 + int(text[6:])}" for text in frame["Geburtsdatum"]]
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    result = run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml")
    assert result.exit_code == 0, result.output
    assert "dates, from months on as fine as their rows allow" in result.output
    config = marginals.read_config(tmp_path / "release.toml")
    assert config.source.attributes["Diagnose"].role is Role.SENSITIVE
    assert config.source.attributes["Geburtsdatum"].dates == ("month", "quarter", "year")
    result = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    "name", ["Diagnose", "diagnóstico", "MALADIE", "Krankheit_1", "monatsGehalt", "Einkommen", "Vermögen"]
)
def test_sensitive_names_are_known_in_some_languages(name: str) -> None:
    assert guess(column(name, ["a", "b"] * 50)).role is Role.SENSITIVE


@pytest.mark.parametrize("span", [3, 50, 150, 1000, 2500, 90_000])
def test_numbers_begin_with_single_values_or_a_hundred_bands(span: int) -> None:
    found = guess(column("years", [str(17 + n // 2 * span // 200) for n in range(402)]))
    assert found.is_fitted
    assert bool(found.intervals) == (span > 200)
    for width in found.intervals:
        assert 50 <= span / width <= 200


def test_numbers_with_decimals_get_intervals_that_suit_their_range(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for scale, first in ((100, "1"), (1, "0.01"), (0.013, "0.0001")):
        found = guess(column("cost", [f"{value * scale:.5f}" for value in rng.random(400)]))
        assert found.role is Role.QUASI_IDENTIFIER
        assert found.intervals[0] == Decimal(first)
    frame = pd.DataFrame({"size": [f"{value:.1f}" for value in rng.normal(27, 4, 400)], "sex": ["f", "m"] * 200})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml").exit_code == 0
    assert 'intervals = [0.1]\nladder = "fitted"' in (tmp_path / "release.toml").read_text()
    assert marginals.read_config(tmp_path / "release.toml").read_table().rows == 400


def test_numbers_with_decimals_that_many_share_need_no_intervals() -> None:
    rng = np.random.default_rng(3)
    pounds = [f"{value * 0.4536:.2f}" for value in rng.normal(150, 15, 2000).round()]
    some = [f"{value:.4f}" for value in rng.random(1700)] + ["0.5"] * 300
    few = [f"{value:.4f}" for value in rng.random(1900)] + ["0.5"] * 100
    assert [bool(guess(column("size", values)).intervals) for values in (pounds, some, few)] == [False, False, True]
    assert all(guess(column("size", values)).is_fitted for values in (pounds, some, few))


def test_long_texts_are_categories_where_each_has_rows_enough() -> None:
    long = "a category that somebody has described with many words"
    assert guess(column("group", [long] * 100 + ["other"] * 100)).role is Role.QUASI_IDENTIFIER
    assert guess(column("group", [long] * 100 + [f"{long} {number}" for number in range(5)])).role is Role.IGNORED


@pytest.mark.data
def test_adult_is_published_as_guessed(tmp_path: Path, shared_data: Path) -> None:
    result = run("init", shared_data / "adult" / "adult.csv", "-o", tmp_path / "release.toml")
    assert result.exit_code == 0, result.output
    config = marginals.read_config(tmp_path / "release.toml")
    assert config.source.attributes["salary-class"].role is Role.SENSITIVE
    assert config.source.attributes["age"].is_fitted
    assert run("assess", tmp_path / "release.toml").exit_code == 1
    result = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.output
    assert all(check["holds"] or check["verdict"] == "attested" for check in json.loads(result.stdout)["checks"])


def test_numbers_that_stand_for_nothing_are_recognized_and_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "age": [*rng.integers(20, 80, 380).astype(str), *["-9"] * 20],
            "children": [*rng.integers(0, 7, 390).astype(str), *["99"] * 10],
            "change": rng.integers(-12, 12, 400).astype(str),
            "cause": [*["heart", "lung"] * 150, *["."] * 100],
            "sex": ["f", "m"] * 200,
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml")
    assert (
        "99 is taken for a missing value: all other numbers of children are no more than half of it." in result.output
    )
    text = (tmp_path / "release.toml").read_text()
    assert "# 99: all other numbers of children" in text
    config = marginals.read_config(tmp_path / "release.toml")
    assert config.source.missing == ("", "?", ".", "99"), "-9 is a number like others of the column change"
    assert config.source.attributes["cause"].missing == "as a value"
    frame.drop(columns="change").to_csv(tmp_path / "t.csv", index=False)
    assert run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml", "--force").exit_code == 0
    assert marginals.read_config(tmp_path / "release.toml").source.missing == ("", "?", ".", "-9", "99")


def test_wanted_columns_are_written_as_an_analysis(tmp_path: Path) -> None:
    simulate_census(np.random.default_rng(0), 1000).to_csv(tmp_path / "t.csv", index=False)
    result = run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml", "--wanted", "diagnosis, age,person_id")
    assert result.exit_code == 0, result.output
    config = marginals.read_config(tmp_path / "release.toml")
    assert [analysis.attributes for analysis in config.policy.analyses] == [("diagnosis", "age")]
    assert "# Wanted, but left out above: person_id." in (tmp_path / "release.toml").read_text()
    refused = run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml", "--force", "--wanted", "diagnose")
    assert refused.exit_code == 2
    assert "t.csv has no column 'diagnose', which is wanted; did you mean" in refused.stderr


@pytest.mark.slow
def test_sensitive_numbers_are_published_in_bands_only(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"salary": rng.integers(20_000, 90_000, 800).astype(str), "sex": rng.choice(["f", "m"], 800)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml").exit_code == 0
    result = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    shown = marginals.open_release(tmp_path / "out").domain.hierarchy("salary").labels[0]
    assert all("-" in label or label.startswith("under") or label.endswith("over") for label in shown)
    assert len(shown) < 30


@pytest.mark.slow
@pytest.mark.parametrize(("few", "published"), [(0, False), (2, False), (3, True)])
def test_everything_that_init_writes_can_be_published(tmp_path: Path, few: int, published: bool) -> None:
    """Of a sensitive column in which hardly anybody has another value nothing could be shown: it is left out."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 150, "hiv": ["yes"] * few + ["no"] * (300 - few)})
    frame.loc[290:, "hiv"] = ""
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml").exit_code == 0
    result = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    release = marginals.open_release(tmp_path / "out")
    assert ("hiv" in release.domain.attributes) == published
    if published:
        assert release.published.smallest_sensitive == {"hiv": 3}


def test_what_is_rare_is_counted_on_the_rows_that_are_kept(tmp_path: Path) -> None:
    """Of twelve people in Ely four lack an age, so eight are counted, who are fewer than ten."""
    towns = ["Ulm"] * 244 + ["Bonn"] * 233 + [f"Village {n}" for n in range(11)] + ["Ely"] * 12
    frame = pd.DataFrame({"town": towns, "age": ["20", "30", "40", "50"] * 125})
    for gaps, together in ((0, 11), (4, 12)):
        frame.loc[500 - gaps :, "age"] = ""
        frame.to_csv(tmp_path / "t.csv", index=False)
        config = initial_config(tmp_path / "t.csv", tmp_path / "release.toml")
        assert config.guesses["age"].missing == "drop"
        assert f"of which {together} are rare" in config.guesses["town"].why


@pytest.mark.slow
def test_codes_that_many_rows_share_are_not_put_into_bands(tmp_path: Path) -> None:
    """Bands over the whole range would spread each of 300 codes of occupations over numbers that nobody has."""
    rng = np.random.default_rng(0)
    codes = 10 * rng.choice(np.arange(1, 976), 300, replace=False)
    frame = pd.DataFrame({"occ": rng.choice(codes, 6000), "sex": rng.choice(["f", "m"], 6000)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    text = initial_config(tmp_path / "people.csv", tmp_path / "release.toml").text
    section = text[text.index("[attributes.occ]") : text.index("[attributes.sex]")]
    assert 'ladder = "fitted"' in section
    assert "intervals" not in section
    assert "many rows share a value" in section


def test_of_more_texts_than_a_list_has_those_are_used_that_most_rows_have() -> None:
    """Rare ones are merged, and named nowhere; where they are many, the texts are rather what somebody wrote."""
    often = [f"problem {word}" for word in map(chr, range(ord("a"), ord("z") + 1))] * 40
    rare = [f"matter {number}" for number in range(100)]
    assert guess(column("problem", often + rare)).role is Role.QUASI_IDENTIFIER
    assert guess(column("problem", often + rare)).is_fitted
    assert guess(column("problem", often[:400] + rare)).role is Role.IGNORED
    assert (
        guess(column("problem", [*often, *rare, "it began in spring, when the neighbours had gone"])).role
        is Role.IGNORED
    )
    offences = [f"offence {number}" for number in range(150)] * 20
    assert guess(column("offense", offences)).role is Role.SENSITIVE
    assert guess(column("offense", [f"offence {number}" for number in range(600)] * 20)).role is Role.IGNORED


def test_a_long_answer_that_was_chosen_from_a_list_is_no_long_text() -> None:
    long = "some college or associate degree, or a certificate of a school for a trade that takes two years"
    answers = ["none", "primary", "secondary", "college", long]
    assert guess(column("education", answers * 40)).role is Role.QUASI_IDENTIFIER
    assert guess(column("education", [*answers[:4] * 40, *[long] * 3])).role is Role.QUASI_IDENTIFIER, "a rare answer"
    remarks = [f"{long} {number}" for number in range(5)]
    assert guess(column("education", answers[:4] * 40 + remarks)).role is Role.IGNORED
    assert guess(column("education", [*answers[:4] * 40, *[long * 3] * 40])).role is Role.IGNORED


def test_codes_of_diagnoses_are_known_also_where_some_rows_say_something_else() -> None:
    codes = [f"{letter}{number}" for letter in "ACEIJ" for number in range(10, 20)]
    assert guess(column("q7", codes * 4 + ["none"] * 10)).role is Role.SENSITIVE
    assert guess(column("q7", codes * 4 + ["none"] * 200)).role is not Role.SENSITIVE


@given(st.integers(0, 10**6), st.sampled_from([30, 80, 400]), st.sampled_from([0.0, 0.03, 0.2]))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_demanded_is_what_the_table_can_bear_that_publish_reads(
    tmp_path: Path, seed: int, rows: int, gone: float
) -> None:
    """Only sensitive columns are counted, numbers by their bands; the whole table, as publish reads it, says the same."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(18, 90, rows),
            "income": np.round(np.exp(rng.normal(8, 1, rows)) * rng.integers(0, 2, rows), rng.integers(0, 3)),
            "diagnosis": rng.choice(["flu", "gout", "asthma", "cancer"], rows, p=rng.dirichlet([1, 1, 1, 1])),
            "debt": rng.integers(-50, 50, rows),
            "salary": np.where(rng.random(rows) < 0.4, rng.choice([7, 40, 1000]), rng.integers(1, 4000, rows) / 4),
        }
    )
    for name in ("age", "income"):
        frame[name] = frame[name].astype(object).where(rng.random(rows) >= gone, "")
    frame.to_csv(tmp_path / "people.csv", index=False)
    config = tmp_path / "release.toml"
    written = initial_config(tmp_path / "people.csv", config)
    config.write_text(written.text, encoding="utf-8")
    for path, content in written.files(config).items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    read = marginals.read_config(config).source.table(10)
    demands = tomllib.loads(written.text)["privacy"].get("diversity", {})
    if isinstance(demands, str):
        demands = dict.fromkeys(read.sensitive, demands)
    assert demands == {name: proposed_diversity(read, name, 3, with_room=True) for name in read.sensitive}
    complete = f"{read.rows + read.left_out:,} of {rows:,}" if rows > 1 else ""
    assert f"count as a value: {complete}" in written.text


def test_no_comment_of_a_first_config_repeats_a_number_that_somebody_may_change(tmp_path: Path) -> None:
    """The window changes the number and leaves the comment above it."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 600, "diagnosis": ["flu", "gout", "cold", "asthma"] * 300})
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = initial_config(tmp_path / "t.csv", tmp_path / "release.toml").text
    privacy = text.split("[privacy]\n")[1].split("\ndiversity")[0]
    numbers = [int(line.split(" = ")[1]) for line in privacy.splitlines() if line.split(" = ")[-1].isdigit()]
    assert sorted(numbers) == [3, 10, 10]
    above = [line for line in privacy.splitlines() if line.startswith("#")]
    assert above
    assert not any(
        character.isdigit() for line in above if "recursive" not in line for character in line.replace("but 0", "")
    )
