"""Columns seen together: none gives a sensitive one away, and columns that identify together are kept back."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from command_line import run
from first_configs import init, init_columns
from marginals import Role

QUASI, SENSITIVE, IDENTIFIER, IGNORED = Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.IDENTIFIER, Role.IGNORED
ROWS = range(400)
TOWNS = [f"town {n % 7}" for n in ROWS]
SEX = np.random.default_rng(0).choice(["f", "m"], 400).tolist()


def people(rows: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    income = rng.lognormal(10, 0.6, rows).round()
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(18, 90, rows),
            "income": income.astype(int),
            "q1": np.log(income).round(6),
            "q2": np.where(income > 30_000, "high", "low"),
            "q3": rng.integers(0, 50, rows),
        }
    )


def alone(toml: dict[str, Any]) -> list[str]:
    names: list[str] = toml["search"].get("alone", [])
    return names


def test_what_follows_from_an_income_is_left_out_and_what_follows_from_an_age_stays(tmp_path: Path) -> None:
    rows = people()
    age = rows["age"]
    first = init(rows.assign(agesq=age**2), tmp_path)
    expected = dict.fromkeys(("sex", "age", "q3", "agesq"), QUASI) | {
        "income": SENSITIVE,
        "q1": IGNORED,
        "q2": IGNORED,
    }
    assert first.roles == expected
    assert alone(first.toml) == []
    for name, told in (("q1", "income"), ("q2", "income")):
        assert told in first.columns[name]["why"]
    asked = [name for question in first.questions for name in question["columns"]]
    assert {"q1", "q2", "q3"} <= {*asked}, "of the last nothing known tells it"
    known = init(rows.assign(pension=np.where(age >= 65, "yes", "no")), tmp_path).roles
    assert (known["age"], known["pension"]) == (QUASI, IGNORED)


def test_what_is_coarser_than_a_sensitive_column_is_left_out_since_no_promise_about_it_would_hold(
    tmp_path: Path,
) -> None:
    """Each score keeps its bound among the people of a race; whoever knows the rule adds three of them up."""
    rng = np.random.default_rng(1)
    race = rng.choice(["A", "B"], 3000, p=[0.3, 0.7])
    by_race = {"A": [0.04] * 7 + [0.24] * 3, "B": [0.12] * 7 + [0.16 / 3] * 3}
    score = np.array([rng.choice(10, p=by_race[own]) for own in race]) + 1
    frame = pd.DataFrame({"race": race, "score": score, "score_text": np.where(score > 7, "high", "low")})
    bound = 3 * (high := (score > 7).mean()) / (1 + 2 * high)
    assert (score[race == "A"] > 7).mean() > bound
    first = init(frame, tmp_path)
    assert first.roles == {"race": QUASI, "score": SENSITIVE, "score_text": IGNORED}
    assert alone(first.toml) == []
    assert "score is published, so no promise about score_text would hold" in first.columns["score_text"]["question"]


def test_a_code_beside_its_name_is_left_out_and_asked_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    diagnosis = rng.integers(0, 6, 600)
    frame = pd.DataFrame(
        {"town": rng.choice(["a", "b", "c"], 600), "code": [f"x{d}" for d in diagnosis], "diagnosis": diagnosis}
    )
    first = init(frame, tmp_path)
    assert first.roles == {"town": QUASI, "code": IGNORED, "diagnosis": SENSITIVE}
    assert "it says the same as diagnosis" in first.columns["code"]["question"]
    asked = init(frame, tmp_path, "--wanted", "code", "--quasi-identifiers", "code").roles
    assert asked["code"] is QUASI, "what somebody says is not guessed otherwise"
    assert asked["diagnosis"] is IGNORED, "what others may know tells it"


def test_the_parts_of_a_sum_are_as_sensitive_as_the_sum(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    parts = {name: rng.integers(0, 2000, 600) for name in ("base", "extra", "bonus")}
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 600), **parts, "z": rng.integers(0, 2000, 600)})
    frame["salary"] = frame["base"] + frame["extra"] - frame["bonus"]
    first = init(frame, tmp_path)
    assert first.with_role("sensitive") == {*parts, "salary"}
    assert first.with_role("quasi-identifier") == {"sex", "z"}


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


def test_a_block_that_the_same_people_skip_is_no_secret_and_no_wish(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    skips, fond = rng.random(1200) < 0.3, rng.random(1200)
    answers = {
        name: np.where(skips, "", np.where(rng.random(1200) < low + 0.5 * fond, "Yes", "No"))
        for name, low in (("window", 0.2), ("aisle", 0.1), ("smoked_on_board", 0.1), ("drinks_on_board", 0.2))
    }
    first = init(pd.DataFrame({"age": rng.integers(18, 80, 1200), **answers}), tmp_path, "--outcome", "age")
    assert first.with_role("sensitive") == {"smoked_on_board", "drinks_on_board"}
    assert all("age" in own["attributes"] for own in first.toml["search"]["wanted"])
    assert alone(first.toml) == []


def test_what_would_give_a_sensitive_column_away_has_a_table_of_its_own(tmp_path: Path) -> None:
    """A missing date of the diagnosis says who is not ill, which no demand on the dates keeps uncertain."""
    rng = np.random.default_rng(4)
    ill = rng.choice(["no", "yes"], 900)
    frame = pd.DataFrame({"hiv": ill, "since": np.where(ill == "yes", rng.integers(2000, 2016, 900).astype(str), "")})
    first = init(frame.assign(region=rng.choice(list("nesw"), 900)), tmp_path)
    assert first.with_role("sensitive") == {"hiv", "since"}
    assert first.columns["since"]["missing"] == "as a value"
    assert alone(first.toml) == ["since"]


def test_what_is_sensitive_only_as_most_others_are_is_asked_and_not_left_out(tmp_path: Path) -> None:
    """No release claims that it stays uncertain whether x is, beside the y that only those with x have."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.choice(["a", "b"], 900) for name in ("diagnosis", "religion", "hiv_status")})
    frame["x7"] = rng.choice(["no", "yes"], 900)
    frame["y7"] = np.where(frame["x7"] == "yes", rng.choice(["p", "q", "r"], 900), "")
    first = init(frame, tmp_path, "--outcome", "religion")
    assert first.roles["x7"] is QUASI
    assert "y7" in first.columns["x7"]["question"]
    assert first.columns["y7"]["missing"] == "as a value"
    wanted = [own["attributes"] for own in first.toml["search"]["wanted"]]
    assert [pair for pair in wanted if "religion" not in pair] == [["x7", "y7"]]


def test_of_more_columns_than_a_search_gets_through_the_first_stay(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.choice(["no", "yes"], (600, 84)), columns=[f"n{i}" for i in range(84)])
    frame[["wished", "diagnosis", "age"]] = rng.choice(["no", "yes"], (600, 3))
    left = init(frame, tmp_path, "--wanted", "wished").with_role("ignored")
    assert left == {f"n{i}" for i in range(77, 84)}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        *(
            (
                {a: [f"44.{9000 + n}" for n in ROWS], b: [93200 + n % 250 for n in ROWS], "town": TOWNS},
                {a: IGNORED, b: IGNORED, "town": QUASI},
            )
            for a, b in [("lat", "long"), ("latitude", "longitude"), ("x_coord", "y_coord"), ("easting", "northing")]
        ),
        ({"long": [n % 150 for n in ROWS], "town": TOWNS}, {"long": QUASI, "town": QUASI}),
        ({"x_coord": [n % 9 for n in ROWS], "y_coord": [n % 13 for n in ROWS]}, {"x_coord": QUASI, "y_coord": QUASI}),
    ],
)
def test_exact_coordinates_are_left_out_together_whether_or_not_one_of_them_has_decimals(
    columns: dict[str, list[object]], expected: dict[str, Role]
) -> None:
    assert init_columns({**columns, "sex": SEX}).roles == {**expected, "sex": QUASI}


@pytest.mark.parametrize(
    "names",
    [
        ("birth_day", "birth_month", "birth_year"), ("dob_d", "dob_m", "dob_y"),
        ("Geburtstag_Tag", "Geburtsmonat", "Geburtsjahr"), ("dayborn", "mnthborn", "age"),
    ],
)  # fmt: skip
def test_of_a_day_of_birth_in_three_columns_the_day_is_left_out(names: tuple[str, str, str]) -> None:
    day, month, year = names
    born = {day: [n % 28 + 1 for n in ROWS], month: [n % 12 + 1 for n in ROWS], year: [20 + n % 37 for n in ROWS]}
    assert init_columns(born).roles == {day: IGNORED, month: QUASI, year: QUASI}
    assert init_columns({day: born[day], year: born[year]}).roles[day] is QUASI
    assert init_columns(born, "--quasi-identifiers", day).roles[day] is QUASI


def letters(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in str(number))


def test_names_and_addresses_that_are_split_identify() -> None:
    firsts, lasts = [letters(n % 40) for n in ROWS], [letters(1000 + n % 50) for n in ROWS]
    streets, houses = [f"{letters(n % 30)} street" for n in ROWS], [n % 60 + 1 for n in ROWS]
    for names, one, other in ((("first", "last"), firsts, lasts), (("street", "house_number"), streets, houses)):
        both = init_columns({names[0]: one, names[1]: other, "town": TOWNS}).roles
        assert both == {names[0]: IDENTIFIER, names[1]: IDENTIFIER, "town": QUASI}
        assert init_columns({names[0]: one, "town": TOWNS}).roles[names[0]] is QUASI
