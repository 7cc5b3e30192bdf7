"""A first config is accepted as it is, quotes no rare value outside the files to be reviewed, and replaces nothing."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
from command_line import run
from first_configs import guessed, init, init_columns
from marginals import InputError, Role
from simulated_census import census_people

SEX = ["f", "m"]


def numbers(most: int, least: int = 0, rows: int = 400) -> list[str]:
    return [str(v) for v in np.random.default_rng(1).integers(least, most, rows)]


OCCUPATIONS = [f"{major}{minor}{unit}0" for major in range(1, 10) for minor in range(1, 5) for unit in range(1, 4)]


RNG = np.random.default_rng(0)
SHARED_CODES = RNG.choice(10 * RNG.choice(np.arange(1, 976), 300, replace=False), 6000)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("age", numbers(90, 18), {"ladder": "fitted", "intervals": None}),
        ("zip", [f"{int(v) * 7:05d}" for v in numbers(600, 100)], {"prefixes": [3, 2]}),
        ("zip", numbers(10_200, 10_000), {"prefixes": [4, 3]}),
        ("isco code", np.repeat(OCCUPATIONS, 20 + np.arange(len(OCCUPATIONS)) % 3), {"prefixes": [2, 1]}),
        (
            "born",
            [f"19{v % 60 + 40}-0{v % 9 + 1}-1{v % 10}" for v in range(400)],
            {"dates": ["month", "quarter", "year"]},
        ),
        ("seen", [f"{1 + n % 28}.{1 + n % 3}.2024" for n in range(60)], {"dates": ["day", "month", "quarter", "year"]}),
        *(
            ("born", [f"19{10 + n}{sign}11{sign}12" for n in range(60)], {"dates": ["month", "quarter", "year"]})
            for sign in "-./"
        ),
        ("gender", ["a", "b"] * 50, {"ladder": None}),
        # Bands over the whole range would spread each code over numbers that nobody has.
        ("occ", SHARED_CODES, {"ladder": "fitted", "intervals": None}),
        ("person_id", range(400), {"role": "identifier"}),
        ("who", [f"somebody {v}" for v in range(400)], {"role": "identifier"}),
        ("constant", ["x"] * 50, {"role": "ignored"}),
        ("count", ["1", "2"] * 50, {"role": "ignored"}),
        ("sparse", ["x", "y"] + [""] * 50, {"role": "ignored"}),
        ("far", [*numbers(10**9, rows=200) * 2, "1"], {"role": "ignored"}),
        ("lines", ["a\nb", "c"] * 50, {"role": "ignored"}),
        ("notes", [("a long story " * 5) + "ab"[i % 2] for i in range(50)], {"role": "ignored"}),
        ("word", [f"w{v}x" * (1 + v % 2) for v in range(150)] * 2 + ["w0x"], {"role": "ignored"}),
        ("kind", ["a"] * 50 + ["b"] * 12 + ["c"] * 3 + ["d"] * 2, {"ladder": "alike", "hierarchy": None}),
    ],
)
def test_each_kind_of_column_is_guessed(name: str, values: Sequence[object], expected: dict[str, object]) -> None:
    found = guessed(name, values)
    assert {key: found.get(key) for key in expected} == expected
    assert found["role"] == expected.get("role", "quasi-identifier")


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
        allowed = ("can be published", "no header line", "seems not to be", "NUL character", "swallows the next lines")
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


def test_of_the_census_it_guesses_what_its_maker_says(tmp_path: Path) -> None:
    census_people(3000).to_parquet(tmp_path / "census.parquet")
    first = init(tmp_path / "census.parquet", tmp_path)
    roles = first.roles
    assert roles.pop("person_id") is Role.IDENTIFIER
    assert roles.pop("diagnosis") is Role.SENSITIVE
    assert set(roles.values()) == {Role.QUASI_IDENTIFIER}
    config = first.config()
    fitted = {name for name, attribute in config.source.attributes.items() if attribute.is_fitted}
    assert fitted == {"age", "marital_status", "education", "occupation", "postcode"}
    assert config.source.attributes["postcode"].prefixes == (3, 2)
    assert config.source.missing == ("", "?")
    assert config.policy.diversity == "public"
    assert run("publish", first.path, "--out", tmp_path / "out").exit_code == 0


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


def test_missing_values_are_counted_rather_than_the_table_lost(tmp_path: Path) -> None:
    """Each column has a gap in a twentieth of the rows, and together the gaps are in a fifth."""
    rows = range(400)
    first = init(
        pd.DataFrame({f"c{j}": ["" if i % 20 == j else "xy"[i // 4 % 2] for i in rows] for j in range(4)}), tmp_path
    )
    assert all(role.is_used for role in first.roles.values())
    assert [found.get("missing") for found in first.columns.values()].count("as a value") == 3
    assert first.config().read_table().rows == 380


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


@pytest.mark.parametrize(
    "dates",
    [
        ["01/02/1980", "03/04/1981"], ["01.02.80", "03.04.81"], ["31.02.1980", "30.01.1980"],
        ["01.02.1980", "31.12.9999"], ["01.02.0000", "31.12.0001"], ["13/31/1980", "03/4/1980"],
    ],
)  # fmt: skip
def test_dates_that_cannot_be_read_are_left_out_with_the_reason(dates: list[str]) -> None:
    found = guessed("born", dates * 30)
    assert found["role"] == "ignored"
    assert "dates that cannot be read for sure" in found["why"]


@pytest.mark.parametrize(
    ("columns", "sign"),
    [
        ({"bmi": ["21,5", "30,25", "18"]}, ","),
        ({"bmi": ["21,5", "30", "NA", "."], "age": ["31", "42"], "name": ["a.b", "c,d"]}, ","),
        ({"change": ["-0,5", "+1,5"]}, ","),
        ({"share": ["0,125", "0,250"]}, ","),  # no whole number begins with 0
        ({"bmi": ["21.5", "30"]}, "."),
        ({"bmi": ["21,5", "30"], "weight": ["61.5", "80"]}, "."),  # two signs: one of them is something else
        ({"income": ["1,234", "23,456", "800"]}, "."),  # thousands, perhaps
        ({"income": ["1,234", "23,456", "800"], "bmi": ["21,5"]}, ","),
        ({"income": ["1.234", "23.456"], "bmi": ["21,5"]}, ","),  # thousands as in German
        ({"income": ["1,234,567", "21,5"]}, "."),
        ({"place": ["52,5 N", "13,4 E"]}, "."),
        ({"age": ["31", "42"]}, "."),
    ],
)
def test_the_decimal_sign_is_guessed_where_nothing_speaks_against_it(columns: dict[str, list[str]], sign: str) -> None:
    assert init_columns({**columns, "sex": SEX * 100}).toml["data"].get("decimal", ".") == sign


@pytest.mark.parametrize("span", [3, 50, 150, 1000, 2500, 90_000])
def test_numbers_begin_with_single_values_or_a_hundred_bands(span: int) -> None:
    found = guessed("years", [str(17 + n // 2 * span // 200) for n in range(402)])
    assert found["ladder"] == "fitted"
    assert bool(found.get("intervals")) == (span > 200)
    for width in found.get("intervals", ()):
        assert 50 <= span / width <= 200


@pytest.mark.parametrize(("scale", "first"), [(100, 1), (1, 0.01), (0.013, 0.0001)])
def test_numbers_with_decimals_get_intervals_that_suit_their_range(scale: float, first: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    config = init(pd.DataFrame({"cost": [f"{v * scale:.5f}" for v in rng.random(400)], "sex": SEX * 200}), tmp_path)
    assert config.roles["cost"] is Role.QUASI_IDENTIFIER
    assert config.columns["cost"]["intervals"][0] == first
    assert config.config().read_table().rows == 400


def test_numbers_with_decimals_that_many_share_need_no_intervals() -> None:
    rng = np.random.default_rng(3)
    pounds = [f"{value * 0.4536:.2f}" for value in rng.normal(150, 15, 2000).round()]
    some, few = ([f"{value:.4f}" for value in rng.random(2000 - rows)] + ["0.5"] * rows for rows in (300, 100))
    found = [guessed("size", values) for values in (pounds, some, few)]
    assert [("intervals" in own, own["ladder"]) for own in found] == [(n == 2, "fitted") for n in range(3)]


def test_numbers_that_stand_for_nothing_are_recognized(tmp_path: Path) -> None:
    """-9 is a number like others in a column of changes alone; beside a decimal comma -9,0 is none either."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "age": [*rng.integers(20, 80, 380).astype(str), *["-9"] * 20],
            "children": [*rng.integers(0, 7, 390).astype(str), *["99"] * 10],
            "change": rng.integers(-12, 12, 400).astype(str),
            "cause": [*["heart", "lung"] * 150, *["."] * 100],
            "sex": SEX * 200,
        }
    )
    first = init(frame, tmp_path)
    source = first.config().source
    assert source.missing == ("", "?", ".")
    marks = {name: attribute.marks for name, attribute in source.attributes.items()}
    assert marks == {"age": ("-9",), "children": ("99",), "change": None, "cause": None, "sex": None}
    assert first.columns["cause"]["missing"] == "as a value"
    values = [f"{n},5" for n in range(20)]
    for spelled in ("-9", "-9,0"):
        assert init_columns({"x": [*values, spelled], "sex": SEX * 210}).columns["x"]["marks"] == [spelled]


def test_wanted_columns_are_written_as_an_analysis(tmp_path: Path) -> None:
    first = init(census_people(1000), tmp_path, "--wanted", "diagnosis, age,person_id")
    analyses = first.config().policy.analyses
    assert [analysis.attributes for analysis in analyses] == [("diagnosis", "age")]
    unweighed = marginals.Policy(wanted=[{"attributes": ["diagnosis", "age"]}])
    assert analyses == unweighed.analyses, "it weighs as it would if nothing was said"
    refused = run("init", tmp_path / "t.csv", "-o", tmp_path / "r.toml", "--wanted", "diagnose")
    assert refused.exit_code == 2
    assert "'diagnose'" in refused.stderr


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


OFTEN = [f"problem {word}" for word in map(chr, range(ord("a"), ord("z") + 1))] * 40
RARE = [f"matter {number}" for number in range(100)]
LONG = "some college or associate degree, or a certificate of a school for a trade that takes two years"
ANSWERS = ["none", "primary", "secondary", "college"] * 40


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("group", [LONG] * 100 + ["other"] * 100, "quasi-identifier"),
        ("group", [LONG] * 100 + [f"{LONG} {number}" for number in range(5)], "ignored"),
        ("problem", OFTEN + RARE, "quasi-identifier"),  # rare ones are merged
        ("problem", OFTEN[:400] + RARE, "ignored"),  # rather what somebody wrote
        ("problem", [*OFTEN, *RARE, "it began in spring, when the neighbours had gone"], "ignored"),
        ("offense", [f"offence {number}" for number in range(150)] * 20, "sensitive"),
        ("offense", [f"offence {number}" for number in range(600)] * 20, "ignored"),
        ("education", [*ANSWERS, *[LONG] * 40], "quasi-identifier"),
        ("education", [*ANSWERS, *[LONG] * 3], "quasi-identifier"),  # a rare answer
        ("education", [*ANSWERS, *(f"{LONG} {number}" for number in range(5))], "ignored"),
        ("education", [*ANSWERS, *[LONG * 3] * 40], "ignored"),
    ],
)
def test_texts_are_categories_where_they_were_chosen_from_a_list(name: str, values: list[str], role: str) -> None:
    found = guessed(name, values)
    assert found["role"] == role
    assert name != "problem" or role == "ignored" or found["ladder"] == "alike"


@pytest.mark.parametrize(
    ("bands", "dates"),
    [
        (["0-4", "5-Sep", "10-14"], 1),
        (["0-4", "5. Sep", "10-14", "15-19"], 1),
        (["0-4", "Sep-05", "Oct-14", "15-19", "20-24"], 2),
        (["0-4", "2024-09-05 00:00:00", "10-14", "15-19"], 1),
        (["0-4", "5-9", "Mar-a-Lago"], 0),
        (["5-Sep", "6-Sep", "7-Sep"], 0),
    ],
)
def test_bands_that_a_spreadsheet_turned_into_dates_are_asked_about(bands: list[str], dates: int) -> None:
    question = guessed("age", bands * 30).get("values_question", "")
    assert question.startswith(
        f"{dates} of its texts may be bands that a spreadsheet turned into dates" if dates else ""
    )
    assert bool(dates) == bool(question)


def test_what_a_table_is_for_is_guessed_asked_and_wanted(tmp_path: Path) -> None:
    frame = census_people(1000).assign(arm=lambda people: np.where(people.index % 2, "new", "usual"))
    first = init(frame, tmp_path)
    asked = [question for question in first.questions if "what the table is for" in question["reason"]]
    assert [question["columns"] for question in asked] == [["arm", "diagnosis"]]
    assert asked[0]["role"] is None, "what somebody answers changes no role"
    used = [name for name, role in first.roles.items() if role.is_used]
    assert {"arm", "diagnosis"} < {*used}
    pairs = [frozenset(analysis.attributes) for analysis in first.config().policy.analyses]
    expected = {frozenset((one, other)) for one in ("arm", "diagnosis") for other in used if other != one}
    assert len(pairs) == len({*pairs}), "no pair is wanted twice"
    assert {*pairs} == expected
    assert {analysis.weight for analysis in first.config().policy.analyses} == {1.0}, "nobody has answered"


def test_outcomes_that_somebody_names_are_asked_about_no_longer_and_weigh_more(tmp_path: Path) -> None:
    people = census_people(1000)
    first = init(people, tmp_path, "--outcome", "age")
    assert not any(
        "table for" in question["reason"] or "table is for" in question["reason"] for question in first.questions
    )
    analyses = first.config().policy.analyses
    used = [name for name, role in first.roles.items() if role.is_used]
    assert [analysis.attributes for analysis in analyses] == [("age", name) for name in used if name != "age"]
    assert min(analysis.weight for analysis in analyses) > 1
    both = {
        analysis.attributes: analysis.weight
        for analysis in init(people, tmp_path, "--outcome", "age,sex").config().policy.analyses
    }
    assert max(both, key=both.__getitem__) == ("age", "sex"), "what somebody compares is the question"
    wanted = init(people, tmp_path, "--wanted", "sex,age")
    assert [analysis.attributes for analysis in wanted.config().policy.analyses] == [("sex", "age")]
    refused = run("init", tmp_path / "t.csv", "-o", tmp_path / "r.toml", "--outcome", "agee")
    assert refused.exit_code == 2
    assert "'agee'" in refused.stderr


def test_outcomes_are_those_named_so_first_and_never_what_stands_alone() -> None:
    def outcomes(columns: dict[str, Sequence[object]]) -> list[str]:
        asked = [q for q in init_columns(columns).questions if "the table is for" in q["reason"]]
        return asked[0]["columns"] if asked else []

    rng = np.random.default_rng(3)
    codes = {name: rng.integers(0, 3, 400) for name in ("town", "kids", "income", "religion", "relapse", "treat")}
    assert outcomes({name: codes[name] for name in ("town", "kids", "religion")}) == ["religion"]
    assert outcomes({name: codes[name] for name in ("town", "kids", "religion", "income")}) == ["income", "religion"]
    assert outcomes(codes) == ["relapse", "treat"]
    assert outcomes({name: codes[name] for name in ("town", "kids")}) == [], "of two columns there is nothing to choose"
    nothing = init_columns({name: codes[name] for name in ("town", "kids")} | {"size": rng.integers(0, 3, 400)})
    assert any(not q["columns"] and "What is the table for?" in q["reason"] for q in nothing.questions)


def test_the_reason_of_a_column_with_one_rare_value_tells_no_count_and_advises_to_publish_none() -> None:
    column = init_columns({"veteran": ["no"] * 595 + ["yes"] * 5, "sex": SEX * 300}).columns["veteran"]
    assert column["role"] == "ignored"
    assert re.findall(r"\d+", column["why"]) == ["10"], "the least number of rows"
