"""Keys of people that repeat are noticed by how their values repeat, and nothing else is taken for one.

The stand-ins have the shape of public data sets, which their comments name; what is right was written down by looking at the
data sets' descriptions.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from command_line import main
from marginals.config.column_guess import keys_by_content
from marginals.config.first_config import initial_config
from marginals.tables.attribute import Column

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


def trees(rng: np.random.Generator) -> Frame:
    """pydataset Sitka: the days 152, 174, ... of each tree, one tree after the other."""
    tree, visit = panel(79, 5, rng)
    return {
        "size": texts(rng.integers(300, 700, len(tree))),
        "Time": texts(np.array(visit) * 22 + 152),
        "tree": texts(tree),
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


def computers(rng: np.random.Generator) -> Frame:
    """pydataset Computers: offers month by month, `trend`, with the number of advertisements of the month, `ads`."""
    trend = np.sort(rng.integers(1, 36, 3000))
    return {"price": texts(rng.integers(900, 5000, 3000)), "trend": texts(trend), "ads": texts(trend * 37 % 61 + 90)}


def survey(rng: np.random.Generator) -> Frame:
    """pydataset mdvis: ages, with their group, of which each person has one."""
    age = np.sort(rng.integers(20, 61, 800))
    return {"alter_j": texts(age), "group": texts(age // 10), "visits": texts(rng.integers(0, 30, 800))}


def households(rng: np.random.Generator) -> Frame:
    """pydataset VietNamH: people of communes, each with a region."""
    commune = np.sort(rng.integers(0, 100, 1500))
    return {
        "expenses": texts(rng.integers(100, 9000, 1500)),
        "commune": texts(commune),
        "urban": texts(commune % 7 < 2),
        "age": texts(rng.integers(18, 90, 1500)),
    }


def grid(rng: np.random.Generator) -> Frame:
    """pydataset radarImage: two coordinates, of which each point has a pair of its own."""
    x, y = panel(49, 60, rng)
    return {"X": texts(x), "Y": texts(y), "band": texts(rng.integers(0, 9, len(x)))}


def siblings(rng: np.random.Generator) -> Frame:
    """mlmRev guPrenat: children, most of them alone with their `mom`, of whom three columns tell."""
    mom = np.repeat(np.arange(900), rng.integers(1, 4, 900))
    told = rng.integers(0, 3, (3, 900))
    return {
        "mom": texts(mom + 2),
        "momEd": texts(told[0][mom]),
        "husEd": texts(told[1][mom]),
        "indig": texts(told[2][mom]),
        "birthOrd": texts(rng.integers(1, 5, len(mom))),
    }


def amounts(rng: np.random.Generator) -> Frame:
    """An amount with its class, its third and its size: functions of it are the same wherever it is, and say nothing."""
    total = rng.integers(1000, 3000, 2500)
    return {
        "total": texts(total),
        "class": texts(total // 400),
        "third": texts(total // 700),
        "size": np.where(total > 2000, "large", "small").tolist(),
        "age": texts(rng.integers(18, 90, 2500)),
    }


RIGHT: list[tuple[Callable[[np.random.Generator], Frame], list[str], set[str]]] = [
    (purchases, ["Ketchup.hid"], {"Ketchup.id"}),
    (firms, ["fi"], set()),
    (trees, ["tree"], set()),
    (families, ["family"], {"childNum"}),
    (cigarettes, [], set()),
    (computers, [], set()),
    (survey, [], set()),
    (households, [], set()),
    (grid, [], set()),
    (siblings, ["mom"], set()),
    (amounts, [], set()),
]


@pytest.mark.parametrize(("make", "keys", "numbering"), RIGHT, ids=lambda right: getattr(right, "__name__", ""))
@pytest.mark.parametrize("shuffled", [False, True])
def test_keys_and_nothing_else_are_noticed(
    make: Callable[[np.random.Generator], Frame], keys: list[str], numbering: set[str], shuffled: bool
) -> None:
    """In whatever order the rows stand; only keys of which nothing else stays the same need theirs side by side."""
    frame = pd.DataFrame(make(np.random.default_rng(3)), dtype=object)
    if shuffled:
        frame = frame.sample(frac=1, random_state=1)
        keys = [] if make is trees else keys
    found = keys_by_content(frame, [Column.of(name, frame[name]) for name in frame], ("",))
    assert [key.column for key in found.keys] == keys
    assert found.numbering == numbering
    for key in found.keys:
        assert (key.values, key.rows) == (frame[key.column].nunique(), len(frame))
        assert key.sign


def test_a_number_that_is_missing_once_tells_nothing() -> None:
    frame = pd.DataFrame(purchases(np.random.default_rng(3)), dtype=object)
    frame.loc[frame.index[-1], "Ketchup.id"] = ""
    assert not keys_by_content(frame, [Column.of(name, frame[name]) for name in frame], ("",)).keys


def test_init_counts_households_and_says_why_and_not_numbers_of_purchases(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    pd.DataFrame(purchases(rng)).to_csv(tmp_path / "ketchup.csv", index=False)
    answer = CliRunner().invoke(main, ["init", str(tmp_path / "ketchup.csv"), "-o", str(tmp_path / "release.toml")])
    assert answer.exit_code == 0, answer.output
    assert "'Ketchup.hid' looks like a key and repeats: 400 values in" in answer.output
    text = (tmp_path / "release.toml").read_text()
    assert "Ketchup.id numbers the rows of each. So what is promised" in " ".join(text.replace("\n# ", " ").split())
    assert 'person = "Ketchup.hid"' in text
    config = marginals.read_config(tmp_path / "release.toml")
    assert config.source.attributes["Ketchup.hid"].role is marginals.Role.IDENTIFIER
    assert config.source.rows_per_person == 7
    assert config.read_table().rows > 1.5 * 400


def test_init_takes_families_for_no_person(tmp_path: Path) -> None:
    """Each child is a person; who thinks otherwise says so in the config."""
    pd.DataFrame(families(np.random.default_rng(3))).to_csv(tmp_path / "t.csv", index=False)
    assert initial_config(tmp_path / "t.csv", tmp_path / "release.toml").person is None


def doctors(rng: np.random.Generator) -> Frame:
    """Patients of physicians, each a row: the number of a physician is shared, whatever it is called."""
    caring = np.sort(rng.integers(0, 60, 900))
    return {
        "quackid": texts(caring * 7 + 1003),
        "sex": texts(rng.choice(["female", "male"], len(caring))),
        "age": texts(rng.integers(20, 90, len(caring))),
        "asthma": texts(rng.choice(["no", "yes"], len(caring))),
    }


def test_init_takes_what_people_of_both_sexes_share_for_no_person(tmp_path: Path) -> None:
    """Each row is one then, and the config says so, since publishing would ask."""
    pd.DataFrame(doctors(np.random.default_rng(3))).to_csv(tmp_path / "t.csv", index=False)
    first = initial_config(tmp_path / "t.csv", tmp_path / "release.toml")
    assert first.person is None
    assert first.guesses["quackid"].role is marginals.Role.IDENTIFIER
    assert "what several people share" in first.guesses["quackid"].why
    assert "rows_per_person = 1\n" in first.text
    (tmp_path / "release.toml").write_text(first.text)
    assert marginals.read_config(tmp_path / "release.toml").read_table().rows == 900


def test_a_key_whose_rows_agree_in_sex_stays_one(tmp_path: Path) -> None:
    table = pd.DataFrame(doctors(np.random.default_rng(3)))
    table["sex"] = table["quackid"].astype(int).map(lambda number: "fm"[number % 2])
    table.to_csv(tmp_path / "t.csv", index=False)
    person = initial_config(tmp_path / "t.csv", tmp_path / "release.toml").person
    assert person is not None
    assert person.column == "quackid"


@pytest.mark.parametrize(
    "name", ["number_customer_service_calls", "customer_satisfaction", "num_patient_visits", "EmployeePerformance"]
)
def test_what_is_told_of_people_numbers_none(name: str, tmp_path: Path) -> None:
    """modeldata mlc_churn: how often each of 5,000 customers called, from 0 to 9, is nobody's number."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(0, 12, 2000), "plan": rng.choice(["a", "b", "c"], 2000)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    first = initial_config(tmp_path / "t.csv", tmp_path / "release.toml")
    assert first.person is None
    assert first.guesses[name].role is not marginals.Role.IDENTIFIER


@pytest.mark.parametrize("name", ["patient", "patient_number", "customer_ref", "no_patient", "personennummer"])
def test_what_numbers_people_still_does(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(100, 160, 2000), "plan": rng.choice(["a", "b", "c"], 2000)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    person = initial_config(tmp_path / "t.csv", tmp_path / "release.toml").person
    assert person is not None
    assert person.column == name


@pytest.mark.parametrize("name", ["num_pending", "num_convex_points"])
def test_counts_of_things_number_nobody_however_seldom_they_repeat(name: str, tmp_path: Path) -> None:
    """modeldata hpc_data, leaf_id_flavia: most jobs wait for none, and few for hundreds."""
    counts = np.random.default_rng(3).geometric(0.02, 2000) - 1
    pd.DataFrame({name: counts, "kind": np.arange(2000) % 3}).to_csv(tmp_path / "t.csv", index=False)
    first = initial_config(tmp_path / "t.csv", tmp_path / "release.toml")
    assert first.person is None
    assert first.guesses[name].role is not marginals.Role.IDENTIFIER
