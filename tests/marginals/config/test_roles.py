"""Names, keys and files about people are identifiers; scales, amounts and weights are no people; what is open is asked."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from command_line import run
from first_configs import FirstConfig, guessed, init, init_columns
from marginals import Role

SEX = ["f", "m"]


def visits(people: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    each = rng.integers(1, 4, people)
    rows = int(each.sum())
    return pd.DataFrame(
        {
            "patient": np.repeat(np.arange(people) * 7 + 1000, each),
            "sex": np.repeat(rng.choice(SEX, people), each),
            "ward": rng.choice(list("abc"), rows),
            "diagnosis": rng.choice(["flu", "cold", "gout", "cough", "burn", "cut"], rows),
            "result": rng.choice(["x", "y", "z"], rows),
            "q9": rng.choice(["k", "l"], rows),
        }
    )


RNG = np.random.default_rng(1)
NAMES_AND_KEYS = {
    "email": "p{0}@example.org", "full_name": "Ann Lee {0}", "first_name": "Ann{0}", "surname": "Lee{0}",
    "name": "Ann Lee {0}", "phone": "0171 {0:07d}", "hospital_number": "{0}", "case_no": "{0}", "chart": "{0}",
    "licence": "B{0}", "contact": "(030) 44 {0:06d}",
}  # fmt: skip
"""Also where they repeat."""


def repeated(text: str) -> list[str]:
    return [text.format(100 + 7 * n) for n in range(150) for _ in range(1 + n % 3)]


@pytest.mark.parametrize(
    ("name", "values", "role", "about"),
    [
        *((name, repeated(text), "identifier", "") for name, text in NAMES_AND_KEYS.items()),
        *((name, [*"abc"] * 100, None, "") for name in ("clinic_name", "licence_type", "has_email", "name_of_drug")),
        ("weight", RNG.lognormal(0, 0.3, 400).round(3), "ignored", ""),
        ("pweight", RNG.integers(900, 9000, 400), "ignored", ""),
        ("gewicht", RNG.uniform(2000, 9000, 400).round(2), "ignored", ""),
        *(
            (name, RNG.integers(0, 9000, 400), "ignored", "")
            for name in ("bsrw12", "brr_3", "jkw_1", "PWGTP80", "repwgt5")
        ),
        ("weight", RNG.normal(70, 9, 400).round(1), "sensitive", "health or treatment"),
        ("weight_kg", RNG.integers(45, 120, 400), "sensitive", "health or treatment"),
        ("gewicht", RNG.integers(2000, 4500, 400), "sensitive", "health or treatment"),
        ("wt", RNG.normal(160, 20, 400).round(), "sensitive", "health or treatment"),
        # With k = 10 no table could show fewer rows with another value; rows that lack a value can be shown as those.
        ("boats", ["0"] * 400 + ["1"] * 8 + ["2"], "ignored", ""),
        ("boats", ["0"] * 400 + ["1"] * 9 + ["2"], "quasi-identifier", ""),
        ("boats", ["0"] * 400 + ["1"] * 3 + ["2"] + [""] * 6, "quasi-identifier", ""),
        ("boats", ["0"] * 400 + ["1"] * 3 + ["2"] + [""] * 5, "ignored", ""),
    ],
)
def test_roles_of_names_keys_weights_and_rare_values(
    name: str, values: Sequence[object], role: str | None, about: str
) -> None:
    """Weights of rows are left out, those of people are sensitive and published in groups only."""
    found = guessed(name, values)
    assert found["role"] == role or (role is None and found["role"] != "identifier")
    assert about in found.get("question", "")
    assert not about or found["intervals"]


@pytest.mark.parametrize("name", ["imie", "first_name", "cognome", "voornaam", "apellidos"])
def test_names_that_several_people_share_number_nobody(name: str) -> None:
    rng = np.random.default_rng(4)
    first = init_columns({name: rng.choice([f"A{n}" for n in range(60)], 600), "sex": SEX})
    assert (first.person, first.roles[name]) == (None, Role.IDENTIFIER)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("pid7", range(1, 8)), ("stratum", range(40)), ("income", range(1000, 1040)), ("year", range(1960, 2000))],
)
def test_a_scale_a_stratum_an_amount_and_a_year_are_no_people(tmp_path: Path, name: str, numbers: range) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: np.repeat(list(numbers), 40), "sex": rng.choice(SEX, 40 * len(numbers))})
    first = init(frame, tmp_path)
    assert first.person is None
    assert first.roles[name] is not Role.IDENTIFIER
    assert not marginals.read_table(tmp_path / "t.csv", {"sex": "quasi-identifier"}).repeating


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


def test_what_somebody_says_is_not_guessed(tmp_path: Path) -> None:
    options = ["--sensitive", "ward,q9", "--quasi-identifiers", "result", "--ignore", "diagnosis"]
    first = init(visits(), tmp_path, *options, "--person", "patient", "--outcome", "result")
    assert {name: role.value for name, role in first.roles.items()} == {
        "patient": "identifier", "sex": "quasi-identifier", "ward": "sensitive", "diagnosis": "ignored",
        "result": "quasi-identifier", "q9": "sensitive",
    }  # fmt: skip
    assert first.questions == []


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


def test_rows_of_visits_count_where_nothing_sensitive_forbids_it(tmp_path: Path) -> None:
    frame = visits()
    config = init(frame.drop(columns=["diagnosis", "result"]), tmp_path).config()
    assert config.source.person == "patient"
    assert config.source.rows_per_person > 1
    assert config.read_table().rows > 1.5 * frame["patient"].nunique()


def drawn(values: Sequence[str], names: Sequence[str], rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame({name: rng.choice(values, rows) for name in names})


def test_what_is_rare_to_init_is_rare_in_columns_too_that_the_others_make_sensitive(tmp_path: Path) -> None:
    """A value of 15 rows, where fewer than 10 or fewer than 20 are rare."""
    frame = drawn(["a", "b"], ("diagnosis", "religion", "hiv_status"))
    frame["q7"] = np.random.default_rng(4).permutation(np.repeat(["x", "y", "z"], [200, 185, 15]))
    for rare, is_fitted in ((10, False), (20, True)):
        found = init(frame, tmp_path, "--rare", rare).columns["q7"]
        assert "most other columns" in found["question"]
        assert (found["role"], "ladder" in found) == ("sensitive", is_fitted)


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


def test_columns_that_are_called_alike_are_treated_alike(tmp_path: Path) -> None:
    names = ["sex", "region", "score1", "score2", "scorek", "scores_of", "room1", "roomk"]
    first = init(drawn(["u", "v", "w"], names), tmp_path)
    assert first.with_role("sensitive") == {"score1", "score2", "scorek", "scores_of"}
    assert "score1" in first.columns["scorek"]["question"]
    assert first.roles["roomk"] is Role.QUASI_IDENTIFIER


def test_what_is_spent_is_told_by_the_names_of_goods_beside_an_income(tmp_path: Path) -> None:
    frame = drawn(["1.5", "2.5", "7"], ("wfood", "ehous", "pfood", "income"))
    first = init(frame, tmp_path)
    assert first.with_role("sensitive") == {"wfood", "ehous", "income"}
    assert "income" in first.columns["wfood"]["question"]
    assert init(frame.drop(columns="income"), tmp_path).with_role("sensitive") == set()


def test_columns_whose_names_begin_alike_and_that_have_the_same_few_answers_are_asked_about_six_at_once(
    tmp_path: Path,
) -> None:
    names = ["natrace", "natfare", "natspac", "natsoc", "natsci", "natmass", "natpark"]
    first = init(drawn(["1", "2", "3"], [*names, "naming"]).assign(natural=["1", "2"] * 200), tmp_path)
    assert first.with_role("sensitive") == {*names}
    asked = [own["columns"] for own in first.questions if "begin alike" in own["reason"]]
    assert asked == [names[:6], names[6:]]
    assert init(drawn(["1", "2", "3"], names[:4]), tmp_path).with_role("sensitive") == set()


def test_how_often_somebody_was_in_hospital_is_asked_about_and_which_hospital_is_not() -> None:
    assert guessed("hospital", [0, 0, 0, 1, 2, 0, 0, 1] * 40)["question"]
    assert "question" not in guessed("hospital", ["north", "south", "west", "east"] * 80)


def test_opinions_about_spending_are_no_income(tmp_path: Path) -> None:
    frame = pd.DataFrame({"c86": np.repeat([1, 2, 3], [80, 60, 60]), "sex": ["f", "m"] * 100})
    labels = {"c86": {1: "too little", 2: "about right", 3: "too much"}}
    said = {"c86": "spending on improving the conditions of poor people"}
    frame.to_stata(tmp_path / "t.dta", write_index=False, value_labels=labels, variable_labels=said)
    found = init(tmp_path / "t.dta", tmp_path).columns["c86"]
    assert (found["role"], "opinions" in found["why"]) == ("sensitive", True)


def test_questions_with_the_same_answers_are_those_of_a_survey(tmp_path: Path) -> None:
    answers = ["never", "sometimes", "often", "always"]
    rng = np.random.default_rng(5)
    frame = drawn(answers, ("c82", "c83", "c84"), 500)
    frame["d1"] = rng.choice([*answers[:3], "no"], 500)
    frame["letters"] = rng.choice(list("abcd"), 500)
    for name in ("e1", "e2"):
        frame[name] = rng.choice(["north", "east", "south", "west"], 500)
    first = init(frame, tmp_path)
    assert first.with_role("sensitive") == {"c82", "c83", "c84"}
    assert all("the same answers" in first.columns[name]["question"] for name in ("c82", "c83", "c84"))


def test_what_nothing_is_known_of_is_one_question_and_the_last_of_columns(tmp_path: Path) -> None:
    asked = init(drawn(["u", "v", "w"], ["v1x", "result", "v2y", "v3z"]), tmp_path, "--outcome", "v1x").questions
    *of_columns, of_all = [question["columns"] for question in asked]
    assert (of_columns, of_all) == ([["result"], ["v1x", "v2y", "v3z"]], [])


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


def test_one_word_in_many_names_says_one_thing_of_a_table(tmp_path: Path) -> None:
    """modeldata mlc_churn: what four kinds of calls were charged makes neither the plan nor the calls sensitive."""
    rng = np.random.default_rng(3)
    parts = ("day", "eve", "night", "intl")
    charges = {f"total_{part}_salary": rng.integers(100, 900, 600) for part in parts}
    others = {f"total_{part}_blips": rng.integers(0, 40, 600) for part in parts}
    first = init(pd.DataFrame(charges | others | {"voice_plan": rng.choice(["no", "yes"], 600)}), tmp_path)
    assert first.with_role("sensitive") == {*charges}
    assert first.with_role("quasi-identifier") == {*others, "voice_plan"}


@pytest.mark.parametrize(
    ("name", "values", "harmless"),
    [
        ("hiv", {"negative": 90, "positive": 10}, ["negative"]),
        ("test_result", {"Negative": 80, "Positive": 15, "unclear": 5}, ["Negative"]),
        ("diagnostic", {"aucun": 70, "grippe": 20, "asthme": 10}, ["aucun"]),
        ("smoker", {"never": 60, "former": 25, "no, but formerly": 15}, ["never"]),
        ("comorbidity", {"no heart disease": 60, "heart disease": 40}, ["no heart disease"]),
        ("diabetes", {"0": 80, "1": 20}, ["0"]),
        ("arrests", {"0": 70, "1": 18, "2": 12}, ["0"]),
        # absence harms, or may
        ("health_insurance", {"none": 10, "private": 90}, None),
        ("consent_to_treatment", {"no": 10, "yes": 90}, None),
        ("symptom_free", {"no": 10, "yes": 90}, None),
        ("no_disease", {"no": 50, "yes": 50}, None),
        ("disease", {"not cured": 50, "cured": 50}, None),
        ("religion", {"none": 50, "catholic": 50}, None),
        ("income", {"0": 60, "1": 40}, None),
        ("test_score", {"0": 60, "1": 40}, None),
        ("tumor_markers", {"0": 20, "1": 40, "2": 40}, None),  # perhaps the end of a scale
    ],
)
def test_values_of_absence_are_proposed_as_harmless_where_absence_is(
    tmp_path: Path, name: str, values: dict[str, int], harmless: list[str] | None
) -> None:
    """Unanswered they count as harmful, and once confirmed the config can be read."""
    rows = [value for value, percent in values.items() for _ in range(5 * percent)]
    frame = pd.DataFrame({"sex": np.random.default_rng(0).choice(SEX, 500), name: rows})
    first = init(frame, tmp_path, "--sensitive", name)
    assert first.config().source.attributes[name].harm.harmless == ()
    if harmless is None:
        assert "harmless" not in first.toml["attributes"][name]
        return
    assert first.toml["attributes"][name]["harmless"] == harmless
    assert "write confirmed = true" in json.dumps(first.questions)
    assert f"All values of {name} count as harmful" in run("publish", first.path, "--out", tmp_path / "out").stderr
    first.path.write_text(first.text.replace("confirmed = false", "confirmed = true"))
    (claim,) = first.config().policy.requirements_of(first.config().read_table()).diversity_claims
    assert claim.diversity.may_disclose == tuple(harmless)


def test_numbers_with_a_spike_at_nothing_keep_one_exception(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(900) < 0.8, 0, rng.integers(1, 40_000, 900))
    first = init(pd.DataFrame({"sex": rng.choice(SEX, 900), "capital_gain": gain}), tmp_path)
    assert first.toml["attributes"]["capital_gain"]["harmless"] == ["0"]
