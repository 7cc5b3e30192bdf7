import tomllib

import numpy as np
import pandas as pd
import pytest

from marginals import demo as simulation
from marginals.demo import CENSUS_CONFIG, MISSING, census_hierarchies, simulate_census
from models import Hierarchy

COLUMNS = ["person_id", "age", "postcode", "sex", "education", "marital_status", "occupation", "diagnosis"]


@pytest.fixture(scope="module")
def census() -> pd.DataFrame:
    return simulate_census(np.random.default_rng(0))


def mutual_information(first: pd.Series, second: pd.Series) -> float:
    joint = pd.crosstab(first, second, normalize=True).to_numpy()
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / independent[seen])).sum())


def test_same_seed_same_table(census: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(census, simulate_census(np.random.default_rng(0)))
    assert not census.equals(simulate_census(np.random.default_rng(1)))


@pytest.mark.parametrize("rows", [0, 1, 500])
def test_row_count_is_the_one_asked_for(rows: int) -> None:
    table = simulate_census(np.random.default_rng(0), rows)
    assert list(table.columns) == COLUMNS
    assert len(table) == rows


def test_values_look_like_those_of_a_csv_file(census: pd.DataFrame) -> None:
    assert len(census) == 24_000
    assert all(isinstance(value, str) for column in COLUMNS for value in census[column].unique())
    assert census["person_id"].is_unique
    assert census["age"].astype(int).between(17, 90).all()
    assert census["postcode"].str.fullmatch(r"\d{5}").all()
    assert 60 <= census["postcode"].nunique() <= 100
    assert census["postcode"].str[:2].value_counts(normalize=True).max() > 0.2, "regions should differ in size"


def test_missing_answers_are_rare_and_only_in_two_columns(census: pd.DataFrame) -> None:
    missing = (census == MISSING).sum()
    assert set(missing.index[missing > 0]) == {"education", "occupation"}
    assert 0.003 < missing.sum() / len(census) < 0.007


def test_hierarchies_are_nested_and_cover_exactly_the_values(census: pd.DataFrame) -> None:
    for attribute, rows in census_hierarchies().items():
        hierarchy = Hierarchy.from_rows(rows)
        assert hierarchy.height >= 2
        assert set(hierarchy.labels[0]) == set(census[attribute]) - {MISSING}


def test_tables_of_weights_list_values_in_the_order_of_the_hierarchy() -> None:
    occupations = [row[0] for row in census_hierarchies()["occupation"]]
    assert list(simulation._OCCUPATION_ODDS) == occupations
    assert [*simulation._JOB_BY_EDUCATION, *simulation._NOT_EMPLOYED_BY_AGE] == occupations
    assert list(simulation._MARITAL_STATUS_OF_WOMEN_BY_AGE) == list(simulation._MARITAL_STATUS_OF_MEN_BY_AGE)
    assert list(simulation._DIAGNOSIS_BY_AGE) == list(simulation._DIAGNOSIS_ODDS) == list(simulation._DIAGNOSIS_BY_WORK)


@pytest.mark.parametrize(
    ("first", "second", "at_least"),
    [
        ("age", "marital_status", 0.15),
        ("age", "education", 0.05),
        ("age", "occupation", 0.2),
        ("education", "occupation", 0.1),
        ("sex", "occupation", 0.03),
        ("sex", "diagnosis", 0.01),
        ("age", "diagnosis", 0.05),
        ("occupation", "diagnosis", 0.03),
    ],
)
def test_attributes_depend_on_each_other(census: pd.DataFrame, first: str, second: str, at_least: float) -> None:
    assert mutual_information(census[first], census[second]) > at_least


@pytest.mark.parametrize("seed", range(3))
def test_diagnosis_is_recursively_diverse_within_age_group_and_sex(seed: int) -> None:
    """The release that the configuration asks for exists: no coarse class violates recursive (3, 4)-diversity."""
    census = simulate_census(np.random.default_rng(seed))
    decade = census["age"].astype(int) // 10
    counts = pd.crosstab([decade, census["sex"]], census["diagnosis"]).to_numpy()
    descending = -np.sort(-counts, axis=1)
    assert (descending[:, 0] < 3 * descending[:, 3:].sum(axis=1)).all()
    assert census["diagnosis"].value_counts(normalize=True).max() < 0.2


def test_config_parses_and_names_every_column() -> None:
    config = tomllib.loads(CENSUS_CONFIG)
    attributes = config["attributes"]
    assert list(config) == ["release", "data", "attributes", "privacy", "base", "search", "risk"]
    assert list(attributes) == COLUMNS
    assert attributes["person_id"]["role"] == "identifier"
    assert [name for name in COLUMNS if attributes[name]["role"] == "sensitive"] == ["diagnosis"]
    assert MISSING in config["data"]["missing"]
    files = {name: keys["hierarchy"] for name, keys in attributes.items() if "hierarchy" in keys}
    assert files == {name: f"hierarchies/{name}.csv" for name in census_hierarchies()}


def test_config_coarsens_what_the_census_holds(census: pd.DataFrame) -> None:
    attributes = tomllib.loads(CENSUS_CONFIG)["attributes"]
    assert Hierarchy.from_intervals(census["age"], attributes["age"]["intervals"]).height == 4
    assert Hierarchy.from_prefixes(sorted(set(census["postcode"])), attributes["postcode"]["prefixes"]).size(2) == 8
