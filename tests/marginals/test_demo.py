"""The simulated census: values that depend on each other."""

import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import marginals
from models import Hierarchy

COLUMNS = ["person_id", "age", "postcode", "sex", "education", "marital_status", "occupation", "diagnosis"]


def read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def census(demo: Path) -> pd.DataFrame:
    return read(demo / "census.csv")


@pytest.fixture(scope="module")
def config(demo: Path) -> dict[str, Any]:
    return tomllib.loads((demo / "release.toml").read_text())


def test_the_config_names_every_column_and_coarsens_what_the_census_holds(
    demo: Path, census: pd.DataFrame, config: dict[str, Any]
) -> None:
    attributes = config["attributes"]
    assert list(config) == ["release", "data", "attributes", "privacy", "base", "search", "risk"]
    assert list(attributes) == COLUMNS
    assert attributes["person_id"]["role"] == "identifier"
    assert [name for name in COLUMNS if attributes[name]["role"] == "sensitive"] == ["diagnosis"]
    assert Hierarchy.from_intervals(census["age"], attributes["age"]["intervals"]).height == 4
    assert Hierarchy.from_prefixes(sorted(set(census["postcode"])), attributes["postcode"]["prefixes"]).size(2) == 8
    files = {name: demo / keys["hierarchy"] for name, keys in attributes.items() if "hierarchy" in keys}
    assert set(files.values()) == set((demo / "hierarchies").iterdir())
    for attribute, file in files.items():
        hierarchy = marginals.read_hierarchy(file)
        assert hierarchy.height >= 2
        assert set(hierarchy.labels[0]) == set(census[attribute]) - set(config["data"]["missing"])
