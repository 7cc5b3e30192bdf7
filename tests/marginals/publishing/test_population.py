"""A table as a sample of a population: k-map, delta-presence and the risk of finding a row, through config and Python."""

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import marginals
from command_line import main
from marginals import Population
from small_release import CONFIG, write_config


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """600 people of 2,400; of every fourth there are more who are not in the table."""
    config = write_config(tmp_path)
    people = pd.read_csv(tmp_path / "people.csv").drop(columns="disease")
    pd.concat([people] * 4).to_csv(tmp_path / "everybody.csv", index=False)
    return config


@pytest.mark.slow
def test_k_map_counts_people_of_the_population(config: Path) -> None:
    """By sex and town, at levels of age, every row could be four times as many people as rows."""
    frame = pd.read_csv(config.parent / "people.csv")
    smallest = int(frame.groupby(["age", "sex", "town"]).size().min()) * 4
    for k, status in ((smallest, 0), (smallest + 1, 1)):
        config.write_text(
            CONFIG.replace("k_link = 5\n", "").replace('diversity = "entropy:2"', "")
            + f"[population]\npath = 'everybody.csv'\nk_map = {k}\n"
        )
        assessed = run("assess", config, "--json")
        assert assessed.exit_code == status, assessed.output
        (check,) = json.loads(assessed.stdout)["checks"]
        assert (check["criterion"], check["worst"]["count"]) == ("k-map", smallest)
    found = json.loads(assessed.stdout)["reidentification"]
    assert found["journalist"]["highest"] == pytest.approx(found["prosecutor"]["highest"] / 4)
    assert found["marketer"] == pytest.approx(found["prosecutor"]["average"] / 4)


@pytest.mark.slow
def test_delta_presence_bounds_the_probability_of_being_in_the_table(config: Path) -> None:
    for bounds, status in (("[0.25, 0.25]", 0), ("[0.0, 0.24]", 1), ("[0.26, 1.0]", 1)):
        config.write_text(
            CONFIG.replace("k_link = 5\n", "").replace('diversity = "entropy:2"', "")
            + f"[population]\npath = 'everybody.csv'\ndelta_presence = {bounds}\n"
        )
        assert run("assess", config, "--levels", "age=1").exit_code == status
    configured = marginals.read_config(config)
    population = configured.read_population()
    assert not marginals.assess(configured.read_table(), configured.policy, population=population).ok


@pytest.mark.slow
def test_a_sampling_fraction_stands_for_a_population(config: Path) -> None:
    config.write_text(CONFIG + "[population]\nsampling_fraction = 0.25\n")
    found = json.loads(run("assess", config, "--json").stdout)["reidentification"]
    assert found["estimated"]
    assert found["journalist"]["highest"] < found["prosecutor"]["highest"]
    assert run("publish", config, "--out", config.parent / "release").exit_code == 0


def test_releases_are_not_checked_for_them(config: Path) -> None:
    config.write_text(CONFIG + "[population]\npath = 'everybody.csv'\nk_map = 3\n")
    for command in (["publish", config, "--out", config.parent / "release"], ["anonymize", config]):
        refused = run(*command)
        assert refused.exit_code == 2
        assert "single tables only" in refused.output
    config.write_text(CONFIG)
    assert run("publish", config, "--out", config.parent / "release").exit_code == 0
    refused = run("verify", config.parent / "release", "--check", "k-map=5")
    assert (refused.exit_code, "decided of single tables only" in refused.output) == (2, True)


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("k_map = 3", "population.path"),
        ("path = 'everybody.csv'\nk_map = 0", "population.k_map"),
        ("path = 'everybody.csv'\ndelta_presence = [0.5]", "two shares"),
        ("path = 'everybody.csv'\ndelta_presence = [0.5, 0.1]", "two shares"),
        ("path = 'everybody.csv'\nbayes_optimal = [0.6, 0.2]", "two beliefs"),
        ("path = 'nobody.csv'", "nobody.csv"),
        ("sampling_fraction = 0.5\nk_map = 3", "population.sampling_fraction"),
        ("sampling_fraction = 2", "at most 1"),
        ("path = 'few.csv'\nk_map = 1", "no sample of it"),
    ],
)
def test_a_population_that_makes_no_sense_is_refused(config: Path, section: str, expected: str) -> None:
    pd.read_csv(config.parent / "people.csv").iloc[:300].to_csv(config.parent / "few.csv", index=False)
    config.write_text(CONFIG + f"[population]\n{section}\n")
    refused = run("assess", config)
    assert refused.exit_code == 2, refused.output
    assert expected in refused.output


def test_beliefs_of_who_knows_the_population_are_those_of_random_worlds(tmp_path: Path) -> None:
    """MKGV07 Theorem 5.1: two classes without a breach, and one when they are merged; a third is of people alone."""
    people = {("q1", "s1"): 15, ("q1", "s2"): 35, ("q2", "s1"): 25, ("q2", "s2"): 25, ("q3", "s1"): 9}
    rows = {("q1", "s1"): 1, ("q1", "s2"): 1, ("q2", "s1"): 35, ("q2", "s2"): 15}
    for name, counts in (("everybody", people), ("people", rows)):
        lines = [f"{q},{s}\n" for (q, s), count in counts.items() for _ in range(count)]
        (tmp_path / f"{name}.csv").write_text("q,s\n" + "".join(lines))
    (tmp_path / "q.csv").write_text("q1;low;*\nq2;low;*\nq3;high;*\n")
    config = tmp_path / "release.toml"
    config.write_text(
        '[data]\npath = "people.csv"\n[attributes.q]\nrole = "quasi-identifier"\nhierarchy = "q.csv"\n'
        '[attributes.s]\nrole = "sensitive"\n[population]\npath = "everybody.csv"\nbayes_optimal = [0.31, 0.58]\n'
    )
    for levels, status in (("q=0", 0), ("q=1", 1)):
        found = run("assess", config, "--levels", levels, "--json")
        (check,) = json.loads(found.stdout)["checks"]
        assert (found.exit_code, check["criterion"], check["holds"]) == (status, "bayes-optimal", not status)
        assert set(check["worst"]) == {"reached"}
    assert check["worst"]["reached"] == pytest.approx(36 * 15 / 40 / (36 * 15 / 40 + 16 * 35 / 60))
    known = marginals.read_table(tmp_path / "everybody.csv", {"q": "quasi-identifier", "s": "ignored"})
    table = marginals.read_table(tmp_path / "people.csv", {"q": "quasi-identifier", "s": "sensitive"})
    with pytest.raises(marginals.InputError, match="no column 's'"):
        Population(known, bayes_optimal=(0.31, 0.58)).beliefs(table, {"q": 0})
