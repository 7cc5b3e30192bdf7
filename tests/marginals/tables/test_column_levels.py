"""Columns that follow from others by a public rule: the same release as with a declared hierarchy, asked by both names."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from marginals import Attribute, InputError, Policy, open_release, publish, read_table
from marginals.config.first_config import initial_config
from marginals.errors import BundleError
from marginals.tables.attribute import NAMELESS
from marginals.tables.relations import Values, finer_columns
from models.tables.hierarchy import Hierarchy

QUASI, POLICY = "quasi-identifier", Policy(k_link=5, diversity="none")


def people(seed: int) -> pd.DataFrame:
    """Towns with their codes, regions and numbers of regions, and a column that follows from none."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 6, 400)
    region = np.array(["north", "south", "north", "west", "south", "west"])[town]
    frame = pd.DataFrame({"code": town + 100, "town": [f"town {t}" for t in town], "region": region})
    frame["number"] = frame.region.map({"north": 3, "south": 20, "west": 90})
    frame["ill"] = np.where(rng.random(400) < 0.2 + 0.1 * town, "yes", "no")
    return frame.astype(str)


def described(role: str = QUASI, **other: Attribute) -> dict[str, Attribute]:
    levels = {name: Attribute(role, level_of="code") for name in ("town", "region", "number")}
    return {"code": Attribute(role), **levels, "ill": Attribute(QUASI), **other}


@pytest.mark.parametrize("seed", range(5))
def test_the_release_is_that_of_a_declared_hierarchy(seed: int) -> None:
    frame = people(seed)
    rows = sorted({(code, region, "*") for code, region in zip(frame.code, frame.region)})
    declared = read_table(frame, {"code": Attribute(QUASI, hierarchy=Hierarchy.from_rows(rows)), "ill": QUASI}, k=5)
    levels = {name: attribute for name, attribute in described().items() if name not in ("town", "number")}
    once = read_table(frame, levels, k=5)
    assert [*once.domain.items()] == [*declared.domain.items()]
    assert all(map(np.array_equal, once.counts.codes, declared.counts.codes))
    one, other = publish(once, POLICY).release, publish(declared, POLICY).release
    assert {name: table.to_csv() for name, table in one.tables.items()} == {
        name: table.to_csv() for name, table in other.tables.items()
    }


@pytest.mark.parametrize("seed", range(5))
def test_conditions_know_both_names(seed: int, tmp_path: Path) -> None:
    frame = people(seed)
    publish(read_table(frame, described(), k=5), POLICY).write(tmp_path / "release")
    release = open_release(tmp_path / "release")
    assert "town is its level 0; number is its level 1; region is its level 1" in release.attributes.description["code"]
    for name in ("town", "region", "number"):
        for label in frame[name].unique():
            assert release.count(f"{name}={label}").value == (frame[name] == label).sum(), (name, label)
            assert release.count(f"not {name}={label}").value == (frame[name] != label).sum(), (name, label)
    both = release.count("number in 20|90 and code in 100|101|103").value
    assert both == (frame.number.isin(["20", "90"]) & frame.code.isin(["100", "101", "103"])).sum()
    assert release.count("region=north or region=west").value == (frame.region != "south").sum()
    counted = release.table("region", "ill").value
    assert counted.to_dict() == frame.groupby(["number", "ill"]).size().to_dict()
    assert release.supports("region", "ill")
    for wrong in ("region=east", "region > 3", "number > 3"):
        with pytest.raises(InputError, match=wrong.split()[0].split("=")[0]):
            release.count(wrong)
    with pytest.raises(InputError, match="twice"):
        release.supports("region", "code")


def test_rows_that_contradict_the_rule_are_refused_without_their_values() -> None:
    frame = people(0)
    frame.loc[frame.index[frame.code == "103"][0], "region"] = "elsewhere"
    with pytest.raises(InputError, match=r"'\w+' of .* does not follow from '(town|number|region)'") as refused:
        read_table(frame, described())
    assert not {"elsewhere", "103"} & {*str(refused.value).split()}


def test_a_row_without_the_coarser_value_counts_if_another_row_says_it() -> None:
    frame = people(0)
    frame.loc[frame.index[frame.code == "103"][1:], "region"] = ""
    assert read_table(frame, described()).rows == len(frame)
    frame.loc[frame.code == "103", "region"] = ""
    with pytest.raises(InputError, match=r"no row .* says which of .* follows from 1 of the values of 'code'"):
        read_table(frame, described())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"town": Attribute(QUASI, level_of="twon")}, "the name of another used column"),
        ({"town": Attribute(QUASI, level_of="town")}, "the name of another used column"),
        ({"ill": Attribute(QUASI, level_of="town")}, "has no level_of itself"),
        ({"town": Attribute("sensitive", level_of="code")}, "both have the same role"),
        ({"code": Attribute(QUASI, intervals=[2])}, "leave out its hierarchy, intervals"),
        ({"code": Attribute(QUASI, ladder="fitted")}, "'number' is coarser than 'code'"),
    ],
)
def test_impossible_levels_are_refused(changed: dict[str, Attribute], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_table(people(0), described(**changed), k=5)


def test_levels_of_another_column_have_none_of_their_own() -> None:
    with pytest.raises(InputError, match="level_of says that another column decides"):
        Attribute(QUASI, level_of="code", ladder="fitted")


def test_a_copy_beside_a_fitted_ladder_is_no_column_of_the_release() -> None:
    frame = people(0)
    town = Attribute(QUASI, level_of="code")
    table = read_table(frame, {"code": Attribute(QUASI, ladder="fitted"), "town": town, "ill": QUASI}, k=5)
    assert (table.codebook.levels, table.domain.attributes) == ({"town": ("code", NAMELESS)}, ("code", "ill"))
    policy = Policy(k_link=5, diversity="none", wanted=[{"attributes": ["town", "ill"]}])
    release = publish(table, policy).release
    assert not release.published.codebook.levels
    with pytest.raises(InputError, match="there is no attribute 'town'"):
        release.count("town=town 1")


@pytest.mark.parametrize(
    ("levels", "words"), [({"ill": 1}, "is taken"), ({"town": 9}, "there is not"), ({"town": "1"}, "number of a level")]
)
def test_damaged_names_of_levels_are_refused(levels: dict[str, object], words: str, tmp_path: Path) -> None:
    publish(read_table(people(0), described(), k=5), POLICY).write(tmp_path / "release")
    descriptor = tmp_path / "release" / "datapackage.json"
    content = json.loads(descriptor.read_text())
    content["release"]["attributes"]["code"]["levels"] = levels
    descriptor.write_text(json.dumps(content))
    with pytest.raises(BundleError, match=words):
        open_release(tmp_path / "release")


def test_init_proposes_levels_that_nest_and_no_accident(tmp_path: Path) -> None:
    frame = people(1)
    frame["north"] = np.where(frame.region == "north", "1", "0")
    frame["south"] = np.where(frame.region == "south", "1", "0")
    frame.to_csv(tmp_path / "people.csv", index=False)
    config = initial_config(tmp_path / "people.csv", tmp_path / "release.toml")
    asked = [question for question in map(str, config.questions) if "level_of" in question]
    assert any("town, region, number, north" in question and 'level_of = "code"' in question for question in asked), (
        asked
    )
    assert not any("south" in question for question in asked)
    rng = np.random.default_rng(3)
    accidents = {name: Values(rng.integers(0, 12, 14)) for name in "abcdefgh"}
    assert not finer_columns(accidents)
