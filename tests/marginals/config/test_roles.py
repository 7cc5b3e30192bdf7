"""Names, keys and files about people are identifiers; scales, amounts and weights are no people; what is open is asked."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from command_line import run
from first_configs import FirstConfig, init
from marginals import Role
from word_guesses import PEOPLE, Guessed, visits

SEX = ["f", "m"]


def test_days_of_birth_long_zip_codes_and_places_are_coarsened(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    days = pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 40, 3000), unit="D")
    zips = zip(rng.choice([2138, 2139, 2140], 3000), rng.integers(1000, 1015, 3000))
    frame = pd.DataFrame(
        {
            "birth_date": days.strftime("%Y-%m-%d"),
            "zip": [f"{a:05d}-{b:04d}" for a, b in zips],
            "latitude": rng.choice([42.35, 42.36, 42.37], 3000),
            "sex": rng.choice(SEX, 3000),
        }
    )
    config = init(frame, tmp_path).config()
    assert config.policy.must_not_publish == [{"birth_date": 0}, {"zip": 0}]
    assert config.source.attributes["latitude"].role is Role.IGNORED
    answer = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output
    shown = marginals.open_release(tmp_path / "out").domain
    for name in {"birth_date", "zip"} & {*shown.attributes}:
        assert not set(shown.hierarchy(name).labels[0]) & set(frame[name])


def test_what_is_open_is_asked_first_and_named_until_somebody_says_that_it_is_reviewed(tmp_path: Path) -> None:
    first = init(visits().rename(columns={"ward": ""}), tmp_path, "--sensitive", ",")
    text, config, path = first.text, first.config(), first.path
    assert text.index("# Questions") < text.index("[data]")
    assert "reviewed = false" in text
    assert set(config.unconfirmed) == set(config.source.attributes)
    assert {name for name, own in config.unconfirmed.items() if own.question} >= {"result", "q9"}
    told = run("publish", path, "--out", tmp_path / "out").stderr
    assert "result (sensitive)" in told
    assert "q9 (quasi-identifier)" in told
    path.write_text(text.replace("reviewed = false", "reviewed = true"))
    assert not marginals.read_config(path).unconfirmed
    assert "result (sensitive)" not in run("publish", path, "--out", tmp_path / "out").output


def test_a_config_that_nobody_guessed_has_nothing_to_confirm(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a b,c\nx,y\n")
    (tmp_path / "release.toml").write_text(
        'data = { path = "t.csv", reviewed = false }\n[attributes."a b"]\n# Guessed: ages, in bands\n#   that hold.\n'
        '# Asked: why.\nrole = "ignored"\n[attributes.c]\n#\nrole = "quasi-identifier"\n[privacy]\nk_link = 2\n'
    )
    found = marginals.read_config(tmp_path / "release.toml").unconfirmed
    assert {name: (own.why, own.question) for name, own in found.items()} == {
        "a b": ("ages, in bands that hold", "why")
    }


def test_categories_without_an_order_are_merged_by_likeness(tmp_path: Path) -> None:
    """By size alone the least and the best educated, of whom there are fewest, would be one group."""
    rng = np.random.default_rng(4)
    names = np.array(["no school", "primary", "lower secondary", "vocational", "upper secondary", "degree"])
    level = rng.choice(6, 1200, p=[0.06, 0.22, 0.25, 0.24, 0.17, 0.06])
    columns = {"education": names[level], "band": np.array(["0-9", "10-19", "20-29"])[level // 2], "rank": level}
    frame = pd.DataFrame({**columns, "theatre": np.where(rng.random(1200) < 0.02 + 0.15 * level, "yes", "no")})
    first = init(frame.assign(town=rng.choice(list("nesw"), 1200)), tmp_path, "--quasi-identifiers", "rank")
    assert {name: own.get("ladder") for name, own in first.columns.items()} == {
        "education": "alike", "band": "fitted", "rank": "fitted", "theatre": None, "town": "alike"
    }  # fmt: skip
    ladder = first.config().read_table().domain.hierarchy("education")
    for at in range(1, ladder.height):
        lifted = ladder.lift(0, at)
        assert lifted[ladder.code("no school", 0)] != lifted[ladder.code("degree", 0)]


def test_opinions_about_spending_are_no_income(tmp_path: Path) -> None:
    frame = pd.DataFrame({"c86": np.repeat([1, 2, 3], [80, 60, 60]), "sex": ["f", "m"] * 100})
    labels = {"c86": {1: "too little", 2: "about right", 3: "too much"}}
    said = {"c86": "spending on improving the conditions of poor people"}
    frame.to_stata(tmp_path / "t.dta", write_index=False, value_labels=labels, variable_labels=said)
    found = init(tmp_path / "t.dta", tmp_path).columns["c86"]
    assert (found["role"], "opinions" in found["why"]) == ("sensitive", True)


def test_sensitive_texts_of_many_values_are_merged_and_free_text_is_not_published(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rare = [f"rarity {n}" for n in range(150)]
    often = rng.choice([f"illness {letter}" for letter in "abcdefgh"], 2850)
    frame = pd.DataFrame({"sex": rng.choice(SEX, 3000), "diagnosis": [*rare, *often]})
    frame["symptoms"] = [f"since {n} days he is not well at all, he says, and sleeps badly" for n in range(3000)]
    first = init(frame, tmp_path)
    assert (first.roles["diagnosis"], first.roles["symptoms"]) == (Role.SENSITIVE, Role.IGNORED)
    assert "158" in first.columns["diagnosis"]["why"]
    assert run("publish", first.path, "--out", tmp_path / "out").exit_code == 0
    files = [path for path in (tmp_path / "out").rglob("*") if path.suffix in (".csv", ".json", ".html")]
    told = "".join(path.read_text() for path in files)
    assert "illness a" in told
    assert not any(text in told for text in rare)


def test_of_a_panel_a_row_of_each_person_at_random_counts(tmp_path: Path) -> None:
    """With six rows of each nobody could be kept from being sure; 120 people, though 720 rows, bear k = 5 only."""
    rng = np.random.default_rng(4)
    people, each = 120, 6
    frame = pd.DataFrame(
        {
            "patient": np.repeat(np.arange(people) * 7 + 1000, each),
            "year": np.tile(np.arange(2000, 2000 + each), people),
            "sex": np.repeat(rng.choice(SEX, people), each),
            "smoker": rng.choice(["yes", "no"], people * each),
        }
    )
    first = init(frame, tmp_path)
    config = first.config()
    assert (first.person, config.policy.k_link) == ("patient", 5)
    table = config.read_table()
    assert table.rows == people
    years = table.cube.table(table.domain.mask({"year": 0})).counts
    assert (years > 0).sum() > 1, "not the first year of everybody alone"


def described(folder: Path, label: str) -> FirstConfig:
    """The config of a statistics file whose column has a description."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c86": rng.choice([1.0, 2.0, 3.0, 4.0], 200), "sex": rng.choice([1.0, 2.0], 200)})
    frame.to_stata(folder / "t.dta", write_index=False, variable_labels={"c86": label})
    return init(folder / "t.dta", folder)


def test_what_a_question_mentions_does_not_say_that_people_are_recognized_by_its_answer(tmp_path: Path) -> None:
    asked = "does caregiving cause difficulties in your relationship with your family?"
    found = [described(tmp_path, label).columns["c86"] for label in (asked, "Size of the family", "Result of it")]
    assert ["question" in own for own in found] == [True, False, True]
    assert "result" in found[2]["question"]


def test_values_that_look_harmless_count_as_harmful_until_somebody_confirms(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": np.random.default_rng(0).choice(SEX, 500), "hiv": np.repeat(["no", "yes"], [450, 50])})
    first = init(frame, tmp_path)
    assert first.config().source.attributes["hiv"].harm.harmless == ()
    assert "write confirmed = true" in json.dumps(first.questions)
    assert "All values of hiv count as harmful" in run("publish", first.path, "--out", tmp_path / "out").stderr
    first.path.write_text(first.text.replace("confirmed = false", "confirmed = true"))
    (claim,) = first.config().policy.requirements_of(first.config().read_table()).diversity_claims
    assert claim.diversity.may_disclose == ("no",)


def pensions(rows: int = 900) -> pd.DataFrame:
    """Who is retired has a year of retirement, and nobody else; the pay goes with it."""
    rng = np.random.default_rng(4)
    retired = rng.choice(["no", "yes"], rows)
    year = np.where(retired == "yes", rng.integers(2010, 2016, rows).astype(str), "")
    return pd.DataFrame({"retired": retired, "retirement_year": year, "region": rng.choice(list("nesw"), rows)})


def test_nobody_is_retired_without_a_year_and_the_steward_reads_why_a_column_is_left_out(tmp_path: Path) -> None:
    frame = pensions().assign(pid=np.arange(900).astype(str), same="x")
    first = init(frame, tmp_path)
    assert first.columns["retirement_year"]["missing"] == "as a value"
    assert [own["attributes"] for own in first.toml["search"]["wanted"]] == [["retired", "retirement_year"]]
    out = tmp_path / "out"
    printed = run("publish", first.path, "--out", out)
    assert printed.exit_code == 0, printed.output
    release = marginals.open_release(out)
    both = release.table({"retired": 0, "retirement_year": 0}).value
    years = [year for year in both.index.get_level_values("retirement_year").unique() if year != "missing"]
    assert years
    assert all(both.get(("no", year), 0) == 0 for year in years)
    assert both.get(("yes", "missing"), 0) == 0
    page = (tmp_path / "out-steward.html").read_text(encoding="utf-8")
    left_out = set(frame) - {name for margin in release.published.everything.margins for name in margin}
    assert {"pid", "same"} <= left_out
    assert all(f"<dt>{name}</dt><dd>" in page for name in left_out)


def test_of_more_columns_than_a_search_gets_through_the_first_stay(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.choice(["no", "yes"], (600, 84)), columns=[f"n{i}" for i in range(84)])
    frame[["wished", "diagnosis", "age"]] = rng.choice(["no", "yes"], (600, 3))
    left = init(frame, tmp_path, "--wanted", "wished").with_role("ignored")
    assert left == {f"n{i}" for i in range(77, 84)}


@pytest.mark.parametrize("table", [table for heading in list(PEOPLE)[:2] for table in PEOPLE[heading]])
def test_the_order_of_rows_makes_no_key(table: Guessed, tmp_path: Path) -> None:
    frame = pd.DataFrame(table.texts(), dtype=object)
    first, second = (init(rows, tmp_path) for rows in (frame, frame.sample(frac=1, random_state=1)))
    assert (first.person, first.roles) == (second.person, second.roles)


@pytest.mark.parametrize(("second", "is_asked"), [("{}.0", False), ("0{}", True), ("P-{}", False)])
def test_keys_in_two_spellings_are_one_or_asked_about_by_their_form(
    second: str, is_asked: bool, tmp_path: Path
) -> None:
    for part, spelling in enumerate(("{}" if second[0] != "P" else "P-{} ", second)):
        frame = pd.DataFrame({"patient_id": [spelling.format(1000 + i) for i in range(60)], "sex": ["f", "m"] * 30})
        frame.to_csv(tmp_path / f"visits{part}.csv", index=False)
    first = init(tmp_path / "visits*.csv", tmp_path)
    assert first.person == (None if is_asked else "patient_id")
    assert any("'9999'" in question["reason"] for question in first.questions) is is_asked
    assert "1059" not in first.text
    if not is_asked:
        assert "60 values in 120 rows" in first.columns["patient_id"]["why"]


@pytest.mark.parametrize(("times", "is_asked"), [(1, False), (2, True), (3, True)])
def test_rows_that_were_entered_several_times_are_asked_about(times: int, is_asked: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 300), "town": rng.choice(list("abc"), 300)})
    first = init(pd.concat([frame] * times), tmp_path)
    assert [f"Each row stands {times} times" in question["reason"] for question in first.questions] == [True] * is_asked
    assert first.toml["data"].get("rows_per_person") == ("any" if is_asked else None)
    assert first.config().read_table().copies == times


@pytest.mark.parametrize("chosen", [(), ("--sensitive", "therapy"), ("--outcome", "therapy")])
def test_what_publishing_refuses_beside_another_sensitive_column_is_left_out(
    tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    """A cell is empty where another column says that there is nothing to say, so both were published, and refused."""
    rng = np.random.default_rng(3)
    treatment = rng.choice(["none", "medication", "surgery"], 1500, p=[0.75, 0.15, 0.1])
    frame = pd.DataFrame({"sex": rng.choice(SEX, 1500), "region": rng.choice([*"abcd"], 1500), "treatment": treatment})
    frame["therapy"] = frame.treatment.map({"none": "", "medication": "M", "surgery": "S"})
    first = init(frame, tmp_path, *chosen)
    left_out = "treatment" if chosen else "therapy"
    assert first.with_role(Role.IGNORED) == {left_out}
    assert any(left_out in question["columns"] for question in first.questions)
    answer = run("publish", first.path, "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output
