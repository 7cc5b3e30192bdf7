"""Keys of people that repeat are noticed by how their values repeat, and nothing else is taken for one.

The stand-ins have the shape of public data sets, which their comments name; what is right was written down by looking at the
data sets' descriptions.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from first_configs import init

Frame = dict[str, list[str]]


def texts(values: object) -> list[str]:
    return [str(value) for value in np.asarray(values).tolist()]


def panel(keys: int, times: int, rng: np.random.Generator, most: int = 0) -> tuple[list[int], list[int]]:
    """Keys, and the number of each of their rows from 0 on: as many for all, or up to `most`."""
    each = rng.integers(times, max(most, times) + 1, keys)
    return np.repeat(np.arange(keys), each).tolist(), [n for number in each.tolist() for n in range(number)]


def purchases(rng: np.random.Generator) -> Frame:
    """pydataset Ketchup: `id` numbers the purchases of each household `hid`."""
    hid, number = panel(400, 1, rng, 8)
    return {
        "Ketchup.hid": texts(np.array(hid) * 7 + 12),
        "Ketchup.id": texts(np.array(number) + 1),
        "choice": texts(rng.choice(["heinz", "hunts", "stb"], len(hid))),
        "price": texts(rng.integers(80, 150, len(hid))),
    }


def firms(rng: np.random.Generator) -> Frame:
    """pydataset PatentsRD: sorted by year; the sector of a firm `fi` does not change."""
    years, fi = panel(9, 181, rng)
    return {
        "year": texts(np.array(years) + 1983),
        "fi": texts(np.array(fi) + 1),
        "sector": texts(np.array(fi) % 15),
        "patent": texts(rng.integers(0, 90, len(fi))),
    }


def families(rng: np.random.Generator) -> Frame:
    """pydataset GaltonFamilies: children of families, each a person of its own."""
    family, child = panel(205, 1, rng, 9)
    return {
        "family": [f"{number:03d}" for number in family],
        "childNum": texts(np.array(child) + 1),
        "height": texts(rng.integers(56, 79, len(family))),
    }


def cigarettes(rng: np.random.Generator) -> Frame:
    """pydataset Cigar: prices by state and year; years do not number people, and states are none."""
    state, year = panel(46, 30, rng)
    return {
        "state": texts(np.array(state) + 1),
        "year": texts(np.array(year) + 63),
        "sales": texts(rng.integers(50, 300, len(state))),
    }


def doctors(rng: np.random.Generator) -> Frame:
    """Patients of physicians, each a row: the number of a physician is shared, whatever it is called."""
    caring = np.sort(rng.integers(0, 60, 900))
    return {
        "quackid": texts(caring * 7 + 1003),
        "sex": texts(rng.choice(["female", "male"], len(caring))),
        "age": texts(rng.integers(20, 90, len(caring))),
        "asthma": texts(rng.choice(["no", "yes"], len(caring))),
    }


RIGHT: list[tuple[Callable[[np.random.Generator], Frame], str | None, int | str | None]] = [
    (purchases, "Ketchup.hid", 7),
    (firms, "fi", 9),
    (families, None, None),  # each child is a person; who thinks otherwise says so in the config
    (cigarettes, None, None),
    (doctors, None, "any"),
]


@pytest.mark.parametrize(("make", "person", "rows"), RIGHT, ids=lambda right: getattr(right, "__name__", ""))
@pytest.mark.parametrize("shuffled", [False, True])
def test_keys_of_people_and_nothing_else_are_noticed(
    make: Callable[[np.random.Generator], Frame],
    person: str | None,
    rows: int | str | None,
    shuffled: bool,
    tmp_path: Path,
) -> None:
    frame = pd.DataFrame(make(np.random.default_rng(3)), dtype=object)
    first = init(frame.sample(frac=1, random_state=1) if shuffled else frame, tmp_path)
    assert (first.person, first.toml["data"].get("rows_per_person")) == (person, rows)
    shared = {doctors: {"quackid"}, cigarettes: {"state"}}
    assert first.with_role("identifier") == shared.get(make, {person} - {None})
    assert first.config().read_table().rows >= (frame[person].nunique() if person else len(frame))


def members(rng: np.random.Generator) -> Frame:
    member, year = panel(300, 2, rng, 20)
    born = rng.integers(1940, 1990, 300)
    return {
        "year": texts(np.array(year) + 2000),
        "bioguide": [f"K{number:06d}" for number in member],
        "born": texts(born[member]),
        "town": texts(rng.choice(["north", "south", "east"], len(member))),
    }


@pytest.mark.parametrize(("doubled", "letters"), [(0, False), (30, False), (0, True), (30, True)])
def test_a_key_of_texts_or_with_a_few_rows_entered_twice_is_asked_about(
    tmp_path: Path, doubled: int, letters: bool
) -> None:
    """Until somebody says whose rows these are, the column stays out, and nothing is promised of people."""
    frame = pd.DataFrame(members(np.random.default_rng(3)))
    frame = pd.concat([frame, frame.sample(doubled, random_state=1)], ignore_index=True)
    if letters:
        frame["bioguide"] = frame["bioguide"].str.translate(str.maketrans("0123456789", "abcdefghij"))
    first = init(frame, tmp_path)
    if not doubled and not letters:
        assert first.person == "bioguide"
        return
    assert (first.person, first.toml["data"].get("rows_per_person")) == (None, "any")
    assert "So many people" not in first.text
    assert first.columns["bioguide"]["role"] == "identifier"
    assert 'person = "bioguide"' in first.columns["bioguide"]["question"]
    assert first.config().read_table().rows_per_person == "any"


def test_a_number_that_is_missing_once_makes_a_key_a_question(tmp_path: Path) -> None:
    frame = pd.DataFrame(purchases(np.random.default_rng(3)), dtype=object)
    assert "Ketchup.id" in init(frame, tmp_path).columns["Ketchup.hid"]["why"]
    frame.loc[frame.index[-1], "Ketchup.id"] = ""
    first = init(frame, tmp_path)
    assert first.person is None
    assert 'person = "Ketchup.hid"' in first.columns["Ketchup.hid"]["question"]


def test_a_key_whose_rows_agree_in_sex_stays_one(tmp_path: Path) -> None:
    table = pd.DataFrame(doctors(np.random.default_rng(3)))
    table["sex"] = table["quackid"].astype(int).map(lambda number: "fm"[number % 2])
    assert init(table, tmp_path).person == "quackid"


COUNTS = {
    **dict.fromkeys(
        ["number_customer_service_calls", "customer_satisfaction", "num_patient_visits", "EmployeePerformance"],
        lambda rng: rng.integers(0, 12, 2000),
    ),
    **dict.fromkeys(["num_pending", "num_convex_points"], lambda rng: rng.geometric(0.02, 2000) - 1),
}
"""How often each of 5,000 customers called, as in modeldata mlc_churn, is nobody's number; nor are counts of things however
seldom they repeat, as in hpc_data and leaf_id_flavia: most jobs wait for none, and few for hundreds."""


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_told_of_people_or_counts_things_numbers_none(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    first = init(pd.DataFrame({name: COUNTS[name](rng), "plan": rng.choice(["a", "b", "c"], 2000)}), tmp_path)
    assert (first.person, first.with_role("identifier")) == (None, set())


@pytest.mark.parametrize("name", ["patient", "patient_number", "customer_ref", "no_patient", "personennummer"])
def test_what_numbers_people_still_does(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(100, 160, 2000), "plan": rng.choice(["a", "b", "c"], 2000)})
    assert init(frame, tmp_path).person == name


@pytest.mark.parametrize("names", [("hhid", "pid", "wave"), ("school", "student", "year")])
@pytest.mark.parametrize("several", [True, False])
def test_columns_that_number_a_group_and_a_member_of_it_are_asked_about(
    names: tuple[str, str, str], several: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    group, member = panel(150, 2, rng, 14)
    each = pd.DataFrame({names[0]: texts(np.array(group) + 1), names[1]: texts(np.array(member) + 1)})
    each["town"] = texts(rng.choice(["north", "south"], len(each)))
    each["blood"] = texts(rng.choice(["a", "b", "o"], len(each)))
    frame = pd.concat([each.assign(**{names[2]: wave}) for wave in ("1", "2")[: 1 + several]], ignore_index=True)
    first = init(frame.sample(frac=1, random_state=3), tmp_path)
    (asked,) = [question for question in first.questions if question["role"] == "identifier"]
    assert asked["columns"] == [names[0], names[1]]
    assert f'person = ["{names[0]}", "{names[1]}"]' in asked["reason"]
    assert first.with_role("identifier") == {names[0], names[1]}
    answered = init(frame, tmp_path, "--person", f"{names[0]},{names[1]}")
    assert answered.toml["data"]["person"] == [names[0], names[1]]
    assert answered.config().read_table().rows_per_person in (1, 2)


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
