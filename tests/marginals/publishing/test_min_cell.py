"""min_cell from a config to a release: demanded, searched for, claimed, verified, reported, attacked."""

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from checks import MinCell
from command_line import main
from marginals import NothingPublishableError, Policy, read_table
from marginals.example import attributes, frame, table
from small_release import CONFIG, write_config


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = write_config(tmp_path)
    path.write_text(CONFIG.replace("k_link = 5", "min_cell = 11"))
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    return result.exit_code, result.output


def test_a_release_keeps_it_in_every_cell_and_everybody_can_check_that(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    status, printed = run("publish", config, "--out", out)
    assert (status, "min-cell k = 11" in printed) == (0, True), printed
    for file in (out / "marginals").glob("*.csv"):
        assert pd.read_csv(file)["count"].min() >= 11
    claims = json.loads((out / "datapackage.json").read_text())["release"]["privacy"]
    assert claims[0] == {"criterion": "min-cell", "k": 11}
    assert marginals.open_release(out).claims[0] == MinCell(11)
    assert marginals.verify(out).ok
    assert "set disease aside" not in (out / "report.html").read_text(encoding="utf-8")


def test_verify_checks_it_of_any_release_and_names_the_smallest_cell(config: Path, tmp_path: Path) -> None:
    config.write_text(CONFIG)
    out = tmp_path / "release"
    run("publish", config, "--out", out)
    smallest = min(pd.read_csv(file)["count"].min() for file in (out / "marginals").glob("*.csv"))
    assert run("verify", out, "--check", f"min-cell={smallest}")[0] == 0
    status, printed = run("verify", out, "--check", f"min-cell={smallest + 1}", "--json")
    check = json.loads(printed)["checks"][1]
    assert (status, check["verdict"], check["worst"]["count"]) == (1, "fails", smallest)


def test_attackers_find_no_small_count_and_conclude_nothing_that_is_not_known(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    run("publish", config, "--out", out)
    attacks = marginals.attack(out)
    assert attacks.certain["disease"].is_complete
    assert attacks.certain["disease"].small == 0
    assert {(t.criterion, t.k, t.is_missed) for t in attacks.thresholds} == {("min-cell", 11, False)}
    for step in attacks.minimality.readers:
        if "disease" in step.margin:
            assert step.is_certain or step.possible_claims is None


@pytest.mark.parametrize("base", ["best", "none", {"age": 2, "sex": 1}])
def test_beside_a_base_table_and_a_diversity(base: str | dict[str, int]) -> None:
    release = marginals.publish(table, Policy(min_cell=3, diversity="distinct:2", base=base)).release
    assert min(int(t.counts.min()) for t in release.published.collection.tables) >= 3


def test_what_nothing_satisfies_is_said_with_its_numbers() -> None:
    with pytest.raises(NothingPublishableError, match=r"min_cell = 14: 1 of 3 cells"):
        marginals.publish(table, Policy(min_cell=14, diversity="none"))
    joint = [{"age": 1, "diagnosis": 0}]
    with pytest.raises(NothingPublishableError, match=r"min_cell = 9: 9 of 9 cells.*smallest 2"):
        marginals.publish(table, Policy(min_cell=9, must_publish=joint, base="none", diversity="none"))


def test_a_rare_sensitive_value_is_named_as_what_keeps_the_attribute_back() -> None:
    rare = read_table(
        pd.concat([frame, frame[frame["diagnosis"] == "Gout"].head(2).assign(diagnosis="Mumps")]), attributes
    )
    release = marginals.publish(rare, Policy(min_cell=5, base="none", diversity="none"))
    assert "2 rows, fewer than 5" in release.steward.unpublished["diagnosis"]


@pytest.mark.slow
def test_single_tables_are_judged_cell_by_cell(config: Path, tmp_path: Path) -> None:
    status, printed = run("assess", config, "--json")
    checks = {check["criterion"]: check["verdict"] for check in json.loads(printed)["checks"]}
    assert (status, checks) == (1, {"min-cell": "fails", "l-diversity": "fails"})
    status, printed = run("anonymize", config, "--out", tmp_path / "one.csv")
    assert status == 0, printed
    assert pd.read_csv(tmp_path / "one.csv")["count"].min() >= 11
    status, printed = run("anonymize", config, "--method", "sweep")
    assert (status, "leave min_cell out" in printed) == (2, True)


def test_of_people_with_several_rows_each_it_takes_as_many_rows_as_they_can_have(tmp_path: Path) -> None:
    several = frame.assign(id=[f"p{number // 2}" for number in range(len(frame))])
    counted = read_table(several, attributes, person="id", rows_per_person=2)
    release = marginals.publish(counted, Policy(min_cell=3, base="none", diversity="none")).release
    assert min(int(t.counts.min()) for t in release.published.collection.tables) >= 6
    release.write(tmp_path / "release")
    assert marginals.verify(tmp_path / "release", claims=["min-cell=3"]).ok
    smallest = min(int(t.counts.min()) for t in release.published.collection.tables)
    assert not marginals.verify(tmp_path / "release", claims=[f"min-cell={smallest // 2 + 1}"]).ok
