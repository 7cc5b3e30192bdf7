"""The simulated census and hospital: values that depend on each other, and a table that changes by 2 percent a month."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import marginals
from command_line import run
from models import Hierarchy

COLUMNS = ["person_id", "age", "postcode", "sex", "education", "marital_status", "occupation", "diagnosis"]
CORRECTABLE = {"education", "marital_status", "occupation", "diagnosis"}


def simulate(folder: Path, *options: object) -> dict[str, Any]:
    answer = run("demo", folder, *options, "--json", status=0)
    return dict(json.loads(answer.stdout))


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


def test_two_percent_of_the_patients_change_each_month_beside_a_ledger(tmp_path: Path) -> None:
    folder, other = tmp_path / "hospital", tmp_path / "other"
    told = simulate(folder, "--months", 3, "--rows", 3000)["months"]
    assert [month["out"] for month in told] == [str(folder / f"release-0{number}") for number in (1, 2, 3)]
    assert 0 < told[1]["waiting"]["came"] < 40
    months = [read(folder / f"census-0{number}.csv") for number in (1, 2, 3)]
    seen: set[str] = set()
    for before, after in zip(months, months[1:]):
        seen |= set(before["person_id"])
        assert after["person_id"].is_unique
        both = before.merge(after, on="person_id", suffixes=("", "_now"))
        admitted = after[~after["person_id"].isin(before["person_id"])]
        assert len(before) - len(both) == len(admitted) == 27
        assert not seen & set(admitted["person_id"]), "nobody gets the number of somebody who was discharged"
        names = [name for name in before.columns if name != "person_id"]
        changed = pd.DataFrame({name: both[name] != both[f"{name}_now"] for name in names})
        assert changed.sum(axis=1).max() == 1
        assert changed.to_numpy().sum() <= 6, "whose record is corrected to the same value does not change"
        assert set(changed.columns[changed.any()]) <= CORRECTABLE
    config = tomllib.loads((folder / "release-02.toml").read_text())
    assert (config["privacy"]["turnover"], config["data"]["path"]) == ("known", "census-02.csv")
    listed = run("ledger", folder / "ledger", "--json")
    assert [release["is_out"] for release in json.loads(listed.output)["releases"]] == [True] * 3
    simulate(other, "--months", 2, "--rows", 3000)
    assert (other / "census-02.csv").read_bytes() == (folder / "census-02.csv").read_bytes(), "the same seed"
