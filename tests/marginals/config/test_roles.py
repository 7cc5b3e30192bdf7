"""Names, keys and files about people are identifiers; scales, amounts and weights are no people; what is open is asked."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import marginals
from command_line import main
from marginals import InputError, Role
from marginals.config.column_guess import ColumnDescription, guess
from marginals.config.first_config import initial_config
from marginals.config.questions import Unconfirmed, guesses_in, unconfirmed_lines
from marginals.config.roles import Chosen
from marginals.publishing.proposals import proposed_diversity
from marginals.tables.attribute import Column


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def visits(people: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    each = rng.integers(1, 4, people)
    rows = int(each.sum())
    return pd.DataFrame(
        {
            "patient": np.repeat(np.arange(people) * 7 + 1000, each),
            "sex": np.repeat(rng.choice(["f", "m"], people), each),
            "ward": rng.choice(list("abc"), rows),
            "diagnosis": rng.choice(["flu", "cold", "gout", "cough", "burn", "cut"], rows),
            "result": rng.choice(["x", "y", "z"], rows),
            "q9": rng.choice(["k", "l"], rows),
        }
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("email", ["p{0}@example.org"]),
        ("full_name", ["Ann Lee {0}"]),
        ("first_name", ["Ann{0}"]),
        ("surname", ["Lee{0}"]),
        ("name", ["Ann Lee {0}"]),
        ("phone", ["0171 {0:07d}"]),
        ("hospital_number", ["{0}"]),
        ("case_no", ["{0}"]),
        ("chart", ["{0}"]),
        ("licence", ["B{0}"]),
        ("contact", ["(030) 44 {0:06d}"]),
    ],
)
def test_names_and_keys_of_people_are_identifiers_also_where_they_repeat(name: str, values: list[str]) -> None:
    distinct = [values[0].format(100 + 7 * n) for n in range(150)]
    assert (
        guess(Column.of(name, [text for n, text in enumerate(distinct) for _ in range(1 + n % 3)])).role
        is Role.IDENTIFIER
    )


@pytest.mark.parametrize("name", ["clinic_name", "licence_type", "has_email", "name_of_drug"])
def test_names_of_other_things_are_none(name: str) -> None:
    assert guess(Column.of(name, ["a", "b", "c"] * 100)).role is not Role.IDENTIFIER


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("pid7", range(1, 8)), ("stratum", range(40)), ("income", range(1000, 1040)), ("year", range(1960, 2000))],
)
def test_a_scale_a_stratum_an_amount_and_a_year_are_no_people(tmp_path: Path, name: str, numbers: range) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: np.repeat(list(numbers), 40), "sex": rng.choice(["f", "m"], 40 * len(numbers))})
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = initial_config(tmp_path / "t.csv", tmp_path / "release.toml")
    assert found.person is None
    assert found.guesses[name].role is not Role.IDENTIFIER
    assert not marginals.read_table(tmp_path / "t.csv", {"sex": "quasi-identifier"}).repeating


def test_strata_and_sampling_units_are_left_out_together_with_the_weights_they_belong_to(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    design = ["psu", "stratid", "VSTRAT", "sdmvpsu", "sample_strata"]
    others = [
        "strategy",
        "region",
        "risk_stratum",
        "income_strata",
        "cluster_headache",
        "hiv_stratum",
        "cluster",
        "schicht",
    ]
    frame = pd.DataFrame({name: rng.integers(1, 9, 800) for name in [*design, *others]})
    frame["sex"] = rng.choice(["f", "m"], 800)
    frame["finalwgt"] = rng.integers(900, 9000, 800)
    frame.to_csv(tmp_path / "survey.csv", index=False)
    frame.drop(columns="finalwgt").to_csv(tmp_path / "trial.csv", index=False)
    config = tmp_path / "release.toml"

    def left_out(table: str, wanted: tuple[str, ...] = (), known: tuple[str, ...] = ()) -> set[str]:
        made = initial_config(tmp_path / table, config, wanted=wanted, chosen=Chosen(quasi_identifiers=known))
        return {name for name, guessed in made.guesses.items() if guessed.role is Role.IGNORED}

    assert left_out("survey.csv") == {*design, "finalwgt"}
    assert "together with finalwgt" in initial_config(tmp_path / "survey.csv", config).guesses["psu"].why
    assert left_out("survey.csv", wanted=("psu",), known=("stratid",)) == {*design[2:], "finalwgt"}
    assert left_out("trial.csv") == set()


def test_weights_of_rows_are_left_out_and_weights_of_people_are_sensitive_unless_somebody_says_otherwise() -> None:
    rng = np.random.default_rng(1)
    for name, numbers in (
        ("weight", rng.lognormal(0, 0.3, 400).round(3)),
        ("pweight", rng.integers(900, 9000, 400)),
        ("gewicht", rng.uniform(2000, 9000, 400).round(2)),
        *((name, rng.integers(0, 9000, 400)) for name in ("bsrw12", "brr_3", "jkw_1", "PWGTP80", "repwgt5")),
    ):
        assert guess(Column.of(name, map(str, numbers))).role is Role.IGNORED, name
    for name, numbers in (
        ("weight", rng.normal(70, 9, 400).round(1)),
        ("weight_kg", rng.integers(45, 120, 400)),
        ("gewicht", rng.integers(2000, 4500, 400)),
        ("wt", rng.normal(160, 20, 400).round()),
    ):
        guessed = guess(Column.of(name, map(str, numbers)))
        assert guessed.role is Role.SENSITIVE, name
        assert guessed.question.endswith("which can be about health or treatment"), name
        assert bool(guessed.intervals), "published in groups only"


@pytest.mark.parametrize(("others", "missing", "is_used"), [(9, 0, False), (10, 0, True), (4, 6, True), (4, 5, False)])
def test_a_column_is_left_out_of_which_too_few_rows_have_another_value(
    others: int, missing: int, is_used: bool
) -> None:
    """With k = 10 no table could show them; rows that lack a value can be shown as those."""
    column = Column("boats", ("0", "1", "2"), np.array([400, others - 1, 1]), missing)
    guessed = guess(column, 10)
    assert guessed.role is (Role.QUASI_IDENTIFIER if is_used else Role.IGNORED)
    if not is_used:
        assert guessed.why == "all but fewer than 10 rows have the same value, which are too few to be shown"


def test_days_of_birth_long_zip_codes_and_places_are_coarsened(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    days = pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 40, 3000), unit="D")
    frame = pd.DataFrame(
        {
            "birth_date": days.strftime("%Y-%m-%d"),
            "zip": [
                f"{a:05d}-{b:04d}" for a, b in zip(rng.choice([2138, 2139, 2140], 3000), rng.integers(1000, 1015, 3000))
            ],
            "latitude": rng.choice([42.35, 42.36, 42.37], 3000),
            "sex": rng.choice(["f", "m"], 3000),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml").exit_code == 0
    config = marginals.read_config(tmp_path / "release.toml")
    assert config.policy.must_not_publish == [{"birth_date": 0}, {"zip": 0}]
    assert config.source.attributes["latitude"].role is Role.IGNORED
    answer = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output
    shown = marginals.open_release(tmp_path / "out").domain
    for name in ("birth_date", "zip"):
        if name in shown.attributes:
            assert not set(shown.hierarchy(name).labels[0]) & set(frame[name])


def test_several_columns_are_sensitive_each_with_a_demand_that_all_rows_together_bear(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 900),
            "diagnosis": rng.choice(list("abcdef"), 900),
            "convicted": rng.choice(["y", "n"], 900, p=[0.15, 0.85]),
            "salary": rng.integers(20_000, 90_000, 900),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml").exit_code == 0
    config = marginals.read_config(tmp_path / "release.toml")
    assert dict(config.policy.diversity) == {
        "diagnosis": "recursive:3,4",
        "convicted": "recursive:30,2",
        "salary": "recursive:3,4",
    }
    answer = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output


def test_what_somebody_says_is_not_guessed(tmp_path: Path) -> None:
    visits().to_csv(tmp_path / "t.csv", index=False)
    answer = run(
        "init", tmp_path / "t.csv", "-o", tmp_path / "release.toml", "--sensitive", "ward,q9", "--quasi-identifiers",
        "result", "--ignore", "diagnosis", "--person", "patient", "--json",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    roles = {name: own["role"] for name, own in json.loads(answer.stdout)["attributes"].items()}
    assert roles == {
        "patient": "identifier",
        "sex": "quasi-identifier",
        "ward": "sensitive",
        "diagnosis": "ignored",
        "result": "quasi-identifier",
        "q9": "sensitive",
    }
    assert not json.loads(answer.stdout)["questions"]
    refused = run("init", tmp_path / "t.csv", "-o", tmp_path / "r.toml", "--sensitive", "wards")
    assert refused.exit_code == 2
    assert "t.csv has no column 'wards', which is named; did you mean" in refused.stderr
    with pytest.raises(InputError, match="'ward' is given two roles"):
        Chosen(sensitive=("ward",), ignored=("ward",))


def test_what_is_open_is_asked_first_and_named_until_somebody_says_that_it_is_reviewed(tmp_path: Path) -> None:
    visits().to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "release.toml"
    answer = run("init", tmp_path / "t.csv", "-o", path)
    assert answer.exit_code == 0, answer.output
    first = answer.stdout.splitlines()[0]
    assert first.startswith("? result: is that something that nobody should learn about a person?")
    text = path.read_text()
    assert text.index("# Questions that only you can answer") < text.index("[data]")
    assert "reviewed = false" in text
    config = marginals.read_config(path)
    assert set(config.unconfirmed) == set(config.source.attributes)
    assert {name for name, own in config.unconfirmed.items() if own.question} == {"result", "q9"}
    told = run("publish", path, "--out", tmp_path / "out").stderr
    assert "It was not sure of: result (sensitive).\n  It knows nothing of: q9 (quasi-identifier)." in told
    path.write_text(text.replace("reviewed = false", "reviewed = true"))
    assert not marginals.read_config(path).unconfirmed
    assert "confirmed" not in run("publish", path, "--out", tmp_path / "out").output
    path.write_text(text.replace("reviewed = false", 'reviewed = "yes"'))
    with pytest.raises(InputError, match=r"data\.reviewed must be true or false"):
        marginals.read_config(path)


def test_a_config_that_nobody_guessed_has_nothing_to_confirm() -> None:
    text = (
        '[attributes."a b"]\n# Guessed: ages, in bands\n#   that hold.\n# Asked: why.\nrole = "x"\n[attributes.c]\n#\n'
    )
    found = guesses_in(text, tomllib.loads(text)["attributes"])
    assert list(found) == ["a b"]
    assert (found["a b"].why, found["a b"].question) == ("ages, in bands that hold", "why")


def test_rows_of_visits_count_where_nothing_sensitive_forbids_it(tmp_path: Path) -> None:
    frame = visits()
    frame.drop(columns=["diagnosis", "result"]).to_csv(tmp_path / "t.csv", index=False)
    found = initial_config(tmp_path / "t.csv", tmp_path / "release.toml")
    assert found.rows_of_each > 1
    found.write(tmp_path / "release.toml")
    config = marginals.read_config(tmp_path / "release.toml")
    assert (config.source.person, config.source.rows_per_person) == ("patient", found.rows_of_each)
    assert config.read_table().rows > 1.5 * frame["patient"].nunique()


def test_the_share_of_dropped_rows_is_one_of_rows(tmp_path: Path) -> None:
    """Rows beyond those that count of a person are no rows that lack a value."""
    frame = pd.DataFrame({"patient": np.repeat(np.arange(100), 10), "town": ["a", "b"] * 500})
    frame.loc[:79, "town"] = ""
    frame.to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "release.toml"
    path.write_text(
        'data.path = "t.csv"\ndata.person = "patient"\ndata.one_row = "first"\nattributes.town.role = "quasi-identifier"\n'
        "privacy.k_link = 5\n"
    )
    told = run("publish", path, "--out", tmp_path / "out").stderr
    assert "Dropped 80 of 1,000 rows with missing values" in told
    assert "8.0 percent of the rows are dropped" in told


def test_rare_sensitive_values_forbid_a_base_table_and_no_release(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    illnesses = np.repeat(["flu", "cold", "gout", "cough", "burn", "cut"], [400, 300, 150, 40, 2, 1])
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 893), "diagnosis": rng.permutation(illnesses)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run("init", tmp_path / "t.csv", "-o", tmp_path / "release.toml").exit_code == 0
    answer = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output
    release = marginals.open_release(tmp_path / "out")
    assert "diagnosis" in release.domain.attributes
    assert release.marginal({"diagnosis": 0}).min() >= 3


def test_what_is_rare_to_init_is_rare_in_columns_too_that_the_others_make_sensitive(tmp_path: Path) -> None:
    """A value of 15 rows, where fewer than 10 or fewer than 20 are rare."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.choice(["a", "b"], 400) for name in ("diagnosis", "religion", "hiv_status")})
    frame["q7"] = rng.permutation(np.repeat(["x", "y", "z"], [200, 185, 15]))
    frame.to_csv(tmp_path / "t.csv", index=False)
    for rare, is_fitted in ((10, False), (20, True)):
        found = initial_config(tmp_path / "t.csv", tmp_path / "release.toml", rare).guesses["q7"]
        assert "most other columns are sensitive by their names" in found.question
        assert (found.role, found.is_fitted) == (Role.SENSITIVE, is_fitted)


def test_a_column_without_a_name_is_shown_as_the_config_writes_it() -> None:
    roles = {"": Role.SENSITIVE, "age": Role.QUASI_IDENTIFIER}
    unsure = {"": Unconfirmed("codes", "nothing is known"), "age": Unconfirmed("ages")}
    _, *told = unconfirmed_lines(unsure, roles, "release.toml")
    assert told == ['  It was not sure of: "" (sensitive).', "  It guessed: age (quasi-identifier)."]


def test_what_to_remove_beside_no_diversity_is_said_where_it_is_there_and_done_it_publishes(tmp_path: Path) -> None:
    """publish refuses register = true without a diversity; the config says so, and only where it has that line."""
    visits().drop(columns="patient").to_csv(tmp_path / "visits.csv", index=False)
    assert run("init", tmp_path / "visits.csv", "--out", tmp_path / "release.toml").exit_code == 0
    text = (tmp_path / "release.toml").read_text()
    assert '# "none" demands nothing, on purpose; then remove register = true, too.' in text
    privacy = tomllib.loads(text)["privacy"]
    assert privacy["register"] is True
    head, _, rest = text.partition("[privacy.diversity]\n") if "[privacy.diversity]" in text else ("", "", text)
    none = "\n".join(re.sub(r'= "recursive.*"|= "distinct.*"', '= "none"', line) for line in rest.splitlines())
    (tmp_path / "release.toml").write_text(f"{head}{_}{none}\n")
    refused = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    assert (
        refused.exit_code,
        'add one, such as diversity = "entropy:4", or remove the line register' in refused.stderr,
    ) == (2, True)
    (tmp_path / "release.toml").write_text(f"{head}{_}{none}\n".replace("\nregister = true\n", "\n"))
    assert run("publish", tmp_path / "release.toml", "--out", tmp_path / "out").exit_code == 0


def found_in(frame: pd.DataFrame, folder: Path) -> marginals.config.first_config.InitialConfig:
    frame.to_csv(folder / "t.csv", index=False)
    return initial_config(folder / "t.csv", folder / "release.toml")


def test_columns_that_are_called_alike_are_treated_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    names = ["sex", "region", "score1", "score2", "scorek", "scores_of", "room1", "roomk"]
    found = found_in(pd.DataFrame({name: rng.choice(["u", "v", "w"], 400) for name in names}), tmp_path).guesses
    assert {name for name, own in found.items() if own.role is Role.SENSITIVE} == {
        "score1", "score2", "scorek", "scores_of",
    }  # fmt: skip
    assert found["scorek"].question == "it is called like score1, which is sensitive"
    assert found["roomk"].role is Role.QUASI_IDENTIFIER


def test_questions_with_the_same_answers_are_those_of_a_survey(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    answers = ["never", "sometimes", "often", "always"]
    frame = pd.DataFrame({name: rng.choice(answers, 500) for name in ("c82", "c83", "c84")})
    frame["d1"] = rng.choice([*answers[:3], "no"], 500)
    frame["letters"] = rng.choice(list("abcd"), 500)
    for name in ("e1", "e2"):
        frame[name] = rng.choice(["north", "east", "south", "west"], 500)
    found = found_in(frame, tmp_path).guesses
    assert {name for name, own in found.items() if own.role is Role.SENSITIVE} == {"c82", "c83", "c84"}
    assert all("the same answers as other columns" in found[name].question for name in ("c82", "c83", "c84"))


def test_what_nothing_is_known_of_is_one_question_and_the_last(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    names = ["v1x", "result", "v2y", "v3z"]
    config = found_in(pd.DataFrame({name: rng.choice(["u", "v", "w"], 400) for name in names}), tmp_path)
    first, last = config.questions
    assert (first.columns, last.columns) == (("result",), ("v1x", "v2y", "v3z"))
    assert (
        "is one of these, whose names say nothing that this program knows, something that nobody should learn"
        in str(last)
    )


def test_sensitive_texts_of_many_values_are_merged_and_free_text_is_not_published(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frequent = [f"illness {letter}" for letter in "abcdefgh"]
    rare = [f"rarity {n}" for n in range(150)]
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 3000), "diagnosis": rng.choice(frequent, 3000)})
    frame.loc[:149, "diagnosis"] = rare
    frame["symptoms"] = [f"since {n} days he is not well at all, he says, and sleeps badly" for n in range(3000)]
    config = found_in(frame, tmp_path)
    assert config.guesses["diagnosis"].role is Role.SENSITIVE
    assert "of its 158 values those that fewer than 10 rows have are merged" in config.guesses["diagnosis"].why
    assert config.guesses["symptoms"].role is Role.IGNORED
    config.write(tmp_path / "release.toml")
    assert run("publish", tmp_path / "release.toml", "--out", tmp_path / "out").exit_code == 0
    told = "".join(
        path.read_text() for path in (tmp_path / "out").rglob("*") if path.suffix in (".csv", ".json", ".html")
    )
    assert "illness a" in told
    assert not any(text in told for text in rare)


def test_more_than_a_dozen_columns_are_sensitive(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    names = [f"diagnosis{letter}" for letter in "abcdefghijklmnop"]
    found = found_in(pd.DataFrame({name: rng.choice(["u", "v", "w"], 400) for name in names}), tmp_path).guesses
    assert [own.role for own in found.values()] == [Role.SENSITIVE] * len(names)


def test_of_a_panel_a_row_of_each_person_at_random_counts_and_what_keeps_more_from_counting_is_said(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(4)
    people, each = 120, 6
    frame = pd.DataFrame(
        {
            "patient": np.repeat(np.arange(people) * 7 + 1000, each),
            "year": np.tile(np.arange(2000, 2000 + each), people),
            "sex": np.repeat(rng.choice(["f", "m"], people), each),
            "smoker": rng.choice(["yes", "no"], people * each),
        }
    )
    config = found_in(frame, tmp_path)
    assert (config.person is not None and config.person.column, config.rows_of_each) == ("patient", 1)
    assert "k_link = 5" in config.text, "120 people, though 720 rows"
    said = " ".join(config.text.replace("\n# ", " ").split())
    assert "Up to 6 rows of each could count, 720 rows in all instead of 120, if smoker had the role" in said
    config.write(tmp_path / "release.toml")
    table = marginals.read_config(tmp_path / "release.toml").read_table()
    assert table.rows == people
    years = table.cube.table(table.domain.mask({"year": 0})).counts
    assert (years > 0).sum() > 1, "not the first year of everybody alone"


@pytest.mark.parametrize("name", ["imie", "first_name", "cognome", "voornaam", "apellidos"])
def test_names_that_several_people_share_number_nobody(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(4)
    config = found_in(
        pd.DataFrame({name: rng.choice([f"A{n}" for n in range(60)], 600), "sex": ["f", "m"] * 300}), tmp_path
    )
    assert (config.person, config.guesses[name].role) == (None, Role.IDENTIFIER)


def test_what_a_question_mentions_does_not_say_that_people_are_recognized_by_its_answer() -> None:
    column = Column.of("c86", ["1", "2", "3", "4"] * 50)
    asked = "does caregiving cause difficulties in your relationship with your family?"
    assert guess(column, said=ColumnDescription(asked)).question
    assert not guess(column, said=ColumnDescription("Size of the family")).question
    assert guess(column, said=ColumnDescription("Result of it")).question.startswith("the description says result")


@pytest.mark.parametrize("seed", [1, 7, 10])
def test_whatever_is_left_out_all_rows_that_count_then_satisfy_what_is_demanded(tmp_path: Path, seed: int) -> None:
    """Without a column that lacks values other rows of each person are drawn, of which another column can have too few."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"patient_id": np.arange(600) % 12, "sex": rng.choice(["f", "m"], 600)})
    for name in ("diagnosis", "religion", "convicted", "hiv"):
        frame[name] = rng.choice(["n", "y"], 600, p=[0.75, 0.25])
    frame.loc[rng.random(600) < 0.08, "diagnosis"] = ""
    frame.loc[rng.random(600) < 0.08, "religion"] = ""
    frame.to_csv(tmp_path / "t.csv", index=False)
    initial_config(tmp_path / "t.csv", tmp_path / "release.toml").write(tmp_path / "release.toml")
    config = marginals.read_config(tmp_path / "release.toml")
    table = config.read_table()
    assert all(proposed_diversity(table, name, config.policy.min_cell) is not None for name in table.sensitive)


def test_one_word_in_many_names_says_one_thing_of_a_table(tmp_path: Path) -> None:
    """modeldata mlc_churn: what four kinds of calls were charged makes neither the plan nor the calls sensitive."""
    rng = np.random.default_rng(3)
    parts = ("day", "eve", "night", "intl")
    charges = {f"total_{part}_salary": rng.integers(100, 900, 600) for part in parts}
    others = {f"total_{part}_blips": rng.integers(0, 40, 600) for part in parts}
    pd.DataFrame(charges | others | {"voice_plan": rng.choice(["no", "yes"], 600)}).to_csv(
        tmp_path / "t.csv", index=False
    )
    guesses = initial_config(tmp_path / "t.csv", tmp_path / "release.toml").guesses
    assert {guesses[name].role for name in charges} == {marginals.Role.SENSITIVE}
    assert {guesses[name].role for name in (*others, "voice_plan")} == {marginals.Role.QUASI_IDENTIFIER}
