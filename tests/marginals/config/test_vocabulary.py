"""The table of words tells what a column is about in seven languages, by words and parts of words, and asks otherwise."""

import numpy as np
import pytest

from first_configs import guessed, init_columns

SURE = {
    "health or treatment": "death_cause Krankheitstage maladie_chronique enfermedades malattia ziekte choroba"
    " sick_absences Grunderkrankung lowbirthweight",
    "income, wealth, benefits or debt": "faminc Haushaltseinkommen revenu_fiscal ingresosHogar reddito inkomen"
    " płaca_miesięczna dochód Gesamtvermögen",
    "religion or belief": "religionszugehoerigkeit",
    "politics": "votedFor",
    "membership in a trade union": "gewerkschaftsmitglied",
    "crime, force or custody": "rearrested",
    "test scores or grades": "exam_score cumgpa",
    "performance, discipline or dismissal": "dismissal",
    "drugs, alcohol or tobacco": "cigarettes_per_day",
    "opinions or judgements": "trust_in_police",
    "sexual life": "abortions",
}
ABBREVIATED = {
    "health or treatment": "badhlth bl_diab Prev.preg numvisit prevHyper",
    "income, wealth, benefits or debt": "rincom16 realrinc totexp meddol lfaminc hrwage annearn nettoeink revmensuel pensja",
    "drugs, alcohol or tobacco": "BL.Cig.Day smkyrs", "religion or belief": "parcath",
    "membership in a trade union": "husunion", "crime, force or custody": "antecedentes_penales incarcerated",
    "opinions or judgements": "trustMostPeople szczescie",
}  # fmt: skip
LANGUAGES = ["Diagnose", "diagnóstico", "MALADIE", "Krankheit_1", "monatsGehalt", "Einkommen", "Vermögen"]


def of_names(names: list[str]) -> dict[str, dict[str, str]]:
    """Return the guesses of columns with these names, each with two values of its own."""
    rng = np.random.default_rng(0)
    return init_columns({n: rng.choice([f"{i}x", f"{i}y"], 300) for i, n in enumerate([*names, "sex"])}).columns


@pytest.mark.parametrize(("named", "is_sure"), [(SURE, True), (ABBREVIATED, False)])
def test_names_say_what_a_column_is_about(named: dict[str, str], is_sure: bool) -> None:
    found = of_names([name for names in named.values() for name in names.split()])
    for about, names in named.items():
        for name in names.split():
            assert (found[name]["role"], about in found[name]["why"]) == ("sensitive", True), name
            assert not is_sure or "question" not in found[name], name


def test_sensitive_names_are_known_in_some_languages() -> None:
    assert {own["role"] for name, own in of_names(LANGUAGES).items() if name != "sex"} == {"sensitive"}


NOTHING = ["psphinc", "zinc", "province", "metropolitan", "learning", "inches", "skeleton", "idol"]
"""Parts of other words: `psphinc` is an operation, a sphincterotomy, and ends as incomes do."""

BY_CHANCE = ["fact", "hill", "frank", "reunion", "tenant", "retail_sales", "hospital", "trustees", "skill"]
"""Words that hold an abbreviation."""

CUT_SHORT = ["inter", "percent", "current", "first", "occup", "depen", "labor", "created"]
"""Beginnings of other words."""


@pytest.mark.parametrize("names", [NOTHING, BY_CHANCE, CUT_SHORT])
def test_words_that_hold_others_by_chance_say_nothing(names: list[str]) -> None:
    found = of_names(names)
    assert {found[name]["role"] for name in names} == {"quasi-identifier"}
    assert not any("which can be about" in found[name].get("question", "") for name in names)


@pytest.mark.parametrize(
    ("name", "role", "about"),
    [
        ("result", "sensitive", "health or treatment"), ("race", "quasi-identifier", "race or ethnic origin"),
        ("denomina", "sensitive", "religion or belief"), ("q17b", "quasi-identifier", "says nothing"),
    ],
)  # fmt: skip
def test_words_that_can_mean_something_else_are_asked_about(name: str, role: str, about: str) -> None:
    found = guessed(name, ["a", "b", "c"] * 50)
    assert (found["role"], about in found["question"]) == (role, True)


def test_what_people_are_recognized_by_is_not_asked_about() -> None:
    known = ["age", "Geschlecht", "statut_matrimonial", "estado civil", "beroep", "miasto"]
    known += ["motheduc", "husage", "agegrp", "occup", "maritalcat"]
    found = of_names([*known, "storage", "percent", "q17"])
    assert [name for name in known if "question" in found[name]] == []
    assert all("question" in found[name] for name in ("storage", "percent", "q17"))


def test_scales_are_taken_for_judgements_and_other_small_numbers_are_not() -> None:
    scale = guessed("q17b", [1 + n % 7 for n in range(700)])
    assert (scale["role"], "scale" in scale["question"]) == ("sensitive", True)
    assert guessed("q17b", [1 + n % 7 for n in range(700) if n % 7 != 3])["role"] == "quasi-identifier"
    assert guessed("children", [1 + n % 7 for n in range(700)])["role"] == "quasi-identifier"


CODES = [f"{letter}{number}" for letter in "ACEIJ" for number in range(10, 20)]


@pytest.mark.parametrize(
    ("values", "about"),
    [
        (["Robbery", "Theft"], "crime, force or custody"),
        (["strongly agree", "disagree"], "opinions or judgements"),
        (["katholisch", "evangelisch"], "religion or belief"),
        (["gesund", "krank"], "health or treatment"),
        ([*CODES * 4, *["none"] * 10], "codes of diagnoses"),
        ([*CODES * 4, *["none"] * 200], None),
        (["red", "blue"], None),
        (["$ 1,200", "$ 900", "$ 3,400"], "amounts of money"),
        (["1200 €", "900 €", "n/a"], "amounts of money"),
        (["$0 to $999", "$1,000 to $4,999", "$5,000+"], "amounts of money"),
        (["1200", "900", "3400"], None),
    ],
)
def test_values_say_what_a_column_is_about(values: list[str], about: str | None) -> None:
    found = guessed("q", values * 20)
    assert (found["role"] == "sensitive") is (about is not None)
    assert about is None or about in found["why"]
    assert ("question" in found) is (about in (None, "amounts of money"))
