"""Odds as a demand of a config, as a check of any release, and as a number of what verifies and reports."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import marginals
from command_line import main
from small_release import CONFIG, write_config


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that must bear odds of 1.25."""
    folder = tmp_path_factory.mktemp("odds")
    config = write_config(folder)
    config.write_text(CONFIG.replace('"entropy:2"', '"entropy:2"\nodds = 1.25') + "[base]\ntable = 'none'\n")
    published = run("publish", config, "--out", folder / "release")
    assert published.exit_code == 0, published.output
    return folder


def test_odds_are_claimed_beside_the_criterion(folder: Path) -> None:
    claims = json.loads((folder / "release" / "datapackage.json").read_text())["release"]["privacy"]
    assert claims[1]["diversity"] == "entropy:2 at odds 1.25"


def test_verify_says_the_largest_odds_and_holds_up_to_them(folder: Path) -> None:
    verified = json.loads(run("verify", folder / "release", "--json").stdout)
    assert verified["ok"]
    largest = verified["checks"][2]["odds"]
    assert largest >= 1.25
    assert verified["checks"][2]["worst"]["reached"] >= 1.25
    assert run("verify", folder / "release", "--check", f"odds={largest}").exit_code == 0
    beyond = run("verify", folder / "release", "--check", f"odds={largest + 0.002:.3f}")
    assert beyond.exit_code == 1
    asked = run("verify", folder / "release", "--check", "diversity=simple:1.5", "--check", "odds=1.1")
    assert "diversity = simple:1.5 at odds 1.1" in asked.output
    assert "entropy" not in asked.output
    assert marginals.open_release(folder / "release").verify(["odds=1.25"]).ok


def test_the_report_says_the_largest_odds(folder: Path) -> None:
    assert (
        "It still holds for a reader whose other knowledge about a person"
        in (folder / "release" / "report.html").read_text()
    )


def test_odds_that_make_no_sense_are_refused(folder: Path) -> None:
    config = folder / "other.toml"
    for text, expected in (
        ('"entropy:2"\nodds = 0.5', "odds must be a number of at least 1, got 0.5"),
        ('"entropy:2"\nodds = "2"', "odds must be a number of at least 1"),
        ('"entropy:2 at odds 0.5"', "odds are at least 1, got 0.5"),
    ):
        config.write_text(CONFIG.replace('"entropy:2"', text))
        refused = run("publish", config, "--out", folder / "none")
        assert (refused.exit_code, expected in refused.output) == (2, True), refused.output
    config.write_text(CONFIG.replace('diversity = "entropy:2"', "odds = 2"))
    assert "odds are about a diversity" in run("publish", config, "--out", folder / "none").output
    for check, expected in (("odds=x", "odds=G needs a number"), ("odds=0.5", "odds are at least 1")):
        refused = run("verify", folder / "release", "--check", check)
        assert (refused.exit_code, expected in refused.output) == (2, True), refused.output


def test_a_release_without_a_diversity_has_none_whose_odds_could_be_checked(tmp_path: Path) -> None:
    from marginals.example import table

    marginals.publish(table, marginals.Policy(k_link=4, diversity="none")).write(tmp_path / "release")
    refused = run("verify", tmp_path / "release", "--check", "odds=1.5")
    assert refused.exit_code == 2
    assert "the release claims none" in refused.output


def test_distinct_values_bear_any_odds() -> None:
    from marginals.example import table

    release = marginals.publish(table, marginals.Policy(k_link=4, diversity="distinct:2")).release
    finding = release.verify().checks[1]
    assert finding.odds == float("inf")
    assert finding.as_json()["odds"] is None
