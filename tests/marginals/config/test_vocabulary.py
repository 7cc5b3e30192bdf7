"""The table of words tells what a column is about in seven languages, by words and parts of words, and asks otherwise."""

import tomllib
from pathlib import Path

import pytest

import marginals.config.vocabulary
from marginals import Role
from marginals.config.column_guess import guess
from marginals.config.vocabulary import is_recognizable, kinds, meaning_of, meaning_of_values
from marginals.tables.attribute import Column

SURE = {
    "death_cause": "health or treatment",
    "Krankheitstage": "health or treatment",
    "maladie_chronique": "health or treatment",
    "enfermedades": "health or treatment",
    "malattia": "health or treatment",
    "ziekte": "health or treatment",
    "choroba": "health or treatment",
    "faminc": "income, wealth, benefits or debt",
    "Haushaltseinkommen": "income, wealth, benefits or debt",
    "revenu_fiscal": "income, wealth, benefits or debt",
    "ingresosHogar": "income, wealth, benefits or debt",
    "reddito": "income, wealth, benefits or debt",
    "inkomen": "income, wealth, benefits or debt",
    "płaca_miesięczna": "income, wealth, benefits or debt",
    "dochód": "income, wealth, benefits or debt",
    "religionszugehoerigkeit": "religion or belief",
    "votedFor": "politics",
    "gewerkschaftsmitglied": "membership in a trade union",
    "rearrested": "crime, force or custody",
    "exam_score": "test scores or grades",
    "sick_absences": "health or treatment",
    "dismissal": "performance, discipline or dismissal",
    "cigarettes_per_day": "drugs, alcohol or tobacco",
    "trust_in_police": "opinions or judgements",
    "abortions": "sexual life",
    "Grunderkrankung": "health or treatment",
    "lowbirthweight": "health or treatment",
    "cumgpa": "test scores or grades",
    "Gesamtverm\u00f6gen": "income, wealth, benefits or debt",
}


@pytest.mark.parametrize(("name", "about"), SURE.items())
def test_names_say_what_a_column_is_about(name: str, about: str) -> None:
    found = meaning_of(name)
    assert found is not None
    assert (found.about, found.is_sure) == (about, True)


@pytest.mark.parametrize(
    "name", ["psphinc", "zinc", "province", "metropolitan", "learning", "marital_status", "inches", "skeleton"]
)
def test_parts_of_other_words_say_nothing(name: str) -> None:
    """`psphinc` is an operation, a sphincterotomy, and ends as incomes do."""
    assert meaning_of(name) is None


def test_words_that_can_mean_something_else_are_asked_about() -> None:
    found = guess(Column.of("result", ["a", "b"] * 50))
    assert (found.role, found.question) == (
        Role.SENSITIVE,
        "the name says result, which can be about health or treatment",
    )
    race = guess(Column.of("race", ["a", "b", "c"] * 50))
    assert (race.role, bool(race.question)) == (Role.QUASI_IDENTIFIER, True)


def test_what_people_are_recognized_by_is_not_asked_about_and_what_nobody_knows_is() -> None:
    assert all(map(is_recognizable, ("age", "Geschlecht", "statut_matrimonial", "estado civil", "beroep", "miasto")))
    assert not guess(Column.of("sex", ["f", "m"] * 50)).question
    assert "says nothing" in guess(Column.of("q17b", ["f", "m"] * 50)).question


def test_scales_are_taken_for_judgements_and_other_small_numbers_are_not() -> None:
    scale = guess(Column.of("q17b", [str(1 + n % 7) for n in range(700)]))
    assert (scale.role, "scale" in scale.question) == (Role.SENSITIVE, True)
    gap = guess(Column.of("q17b", [str(1 + n % 7) for n in range(700) if n % 7 != 3]))
    assert gap.role is Role.QUASI_IDENTIFIER
    assert guess(Column.of("children", [str(1 + n % 7) for n in range(700)])).role is Role.QUASI_IDENTIFIER


@pytest.mark.parametrize(
    ("values", "about"),
    [
        (["Robbery", "Theft"], "crime, force or custody"),
        (["strongly agree", "disagree"], "opinions or judgements"),
        (["katholisch", "evangelisch"], "religion or belief"),
        (["gesund", "krank"], "health or treatment"),
        (["red", "blue"], None),
        (["1", "2"], None),
    ],
)
def test_values_say_what_a_column_is_about(values: list[str], about: str | None) -> None:
    found = meaning_of_values(Column.of("q", values * 20))
    assert (found.about if found else None) == about


def test_the_table_of_words_is_well_kept() -> None:
    """Words are as the words of names are: in lower case, without accents; none twice in a list; each kind has some."""
    table = Path(marginals.config.vocabulary.__file__).with_name("special_categories.toml")
    content = tomllib.loads(table.read_text(encoding="utf-8"))
    assert len(kinds()) == len(content["kinds"]) >= 12
    for name, kind in [*content["kinds"].items(), ("recognizable", content["recognizable"])]:
        for key, listed in kind.items():
            words = listed.split()
            if key not in ("about", "default"):
                assert len(set(words)) == len(words), (name, key)
                assert all(part.isascii() and part.isalpha() and part.islower() for w in words for part in w.split("+"))
        assert all(len(word) >= 4 for word in kind.get("begins", "").split()), name


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("badhlth", "health or treatment"),
        ("bl_diab", "health or treatment"),
        ("Prev.preg", "health or treatment"),
        ("numvisit", "health or treatment"),
        ("prevHyper", "health or treatment"),
        ("lfaminc", "income, wealth, benefits or debt"),
        ("hrwage", "income, wealth, benefits or debt"),
        ("annearn", "income, wealth, benefits or debt"),
        ("nettoeink", "income, wealth, benefits or debt"),
        ("revmensuel", "income, wealth, benefits or debt"),
        ("pensja", "income, wealth, benefits or debt"),
        ("BL.Cig.Day", "drugs, alcohol or tobacco"),
        ("smkyrs", "drugs, alcohol or tobacco"),
        ("parcath", "religion or belief"),
        ("husunion", "membership in a trade union"),
        ("antecedentes_penales", "crime, force or custody"),
        ("incarcerated", "crime, force or custody"),
        ("trustMostPeople", "opinions or judgements"),
        ("szczescie", "opinions or judgements"),
    ],
)
def test_abbreviations_say_it_with_what_stands_around_them(name: str, about: str) -> None:
    found = meaning_of(name)
    assert found is not None
    assert found.about == about


def test_a_word_that_is_cut_short_is_asked_about_unless_it_may_be_another() -> None:
    cut = meaning_of("denomina")
    assert cut is not None
    assert (cut.about, cut.is_sure) == ("religion or belief", False)
    for name in ("inter", "percent", "current", "first", "occup", "depen", "labor", "created"):
        assert meaning_of(name) is None, name


@pytest.mark.parametrize(
    "name", ["fact", "hill", "frank", "reunion", "learning", "tenant", "retail_sales", "hospital", "trustees", "skill"]
)
def test_words_that_hold_an_abbreviation_by_chance_say_nothing(name: str) -> None:
    assert meaning_of(name) is None


def test_what_says_whose_it_is_leaves_what_people_are_recognized_by() -> None:
    assert all(map(is_recognizable, ["motheduc", "husage", "agegrp", "occup", "maritalcat"]))
    assert not any(map(is_recognizable, ["storage", "percent", "q17"]))


def test_amounts_with_the_sign_of_a_currency_are_asked_about_whatever_their_name() -> None:
    for texts in (
        ["$ 1,200", "$ 900", "$ 3,400"],
        ["1200 €", "900 €", "n/a"],
        ["$0 to $999", "$1,000 to $4,999", "$5,000+"],
    ):
        found = meaning_of_values(Column.of("q17", texts * 20))
        assert found is not None
        assert (found.about, found.is_sure) == ("amounts of money", False)
    assert meaning_of_values(Column.of("q17", ["1200", "900", "3400"] * 20)) is None
