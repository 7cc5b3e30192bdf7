"""Named rules: what they demand is demanded, claimed, named in the release, and judged demand by demand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import marginals
from checks import ATTESTED, Distinct, MinCell, Register, Verdict
from command_line import main
from marginals import Policy
from marginals.example import table
from small_release import CONFIG, write_config
from written_bundles import change_descriptor


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    return result.exit_code, result.output


NOT_CHECKED = {"cms-11": (11, 5), "tre-10": (10, 5), "abs-10": (10, 5), "all-of-us-21": (21, 5)}
"""The least cell that a rule demands, and how many sentences say what no check covers, at least."""


@pytest.mark.parametrize("name", NOT_CHECKED)
def test_what_a_rule_says_and_no_check_covers_stands_in_bundle_report_and_terminal(tmp_path: Path, name: str) -> None:
    least, sentences = NOT_CHECKED[name]
    release = marginals.publish(table, Policy(rules=name, diversity="none", base="none")).release
    assert MinCell(least) in release.claims
    release.write(tmp_path / "release")
    (stated,) = json.loads((tmp_path / "release" / "datapackage.json").read_text())["release"]["rules"]
    assert (stated["name"], stated["source"][:8]) == (name, "https://")
    assert len(stated["unchecked"]) >= sentences
    report = (tmp_path / "release" / "report.html").read_text(encoding="utf-8")
    status, printed = run("verify", tmp_path / "release")
    assert (status, f"Rule {name}, all that was checked holds: " in printed) == (0, True)
    for each in stated["unchecked"]:
        assert f"  not checked: {each}" in printed
        assert each.partition("(")[0] in report


def test_the_strictest_of_policy_and_rules_is_demanded_and_all_are_claimed() -> None:
    policy = Policy(k_link=3, min_cell=12, rules=["cms-11", "tre-10"], base="none", diversity="none")
    assert policy.requirements(("diagnosis",)).min_cell == 12
    release = marginals.publish(table, policy).release
    assert [claim for claim in release.claims if isinstance(claim, MinCell)] == [MinCell(12), MinCell(11), MinCell(10)]
    assert [(rule.name, rule.verdict) for rule in release.verify().rules] == [
        ("cms-11", Verdict.HOLDS),
        ("tre-10", Verdict.HOLDS),
    ]


def test_a_config_names_rules_and_everybody_reads_what_was_found(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    config.write_text(CONFIG.replace("k_link = 5", 'rules = ["cms-11", "tre-10"]').replace("entropy:2", "distinct:2"))
    out = tmp_path / "release"
    status, printed = run("publish", config, "--out", out)
    assert status == 0, printed
    stated = json.loads((out / "datapackage.json").read_text())["release"]["rules"]
    assert [rule["name"] for rule in stated] == ["cms-11", "tre-10"]
    assert stated[1]["demands"][0]["says"] in (out / "report.html").read_text(encoding="utf-8")
    verification = marginals.verify(out)
    assert verification.ok
    assert not verification.warnings
    plain = json.loads(run("verify", out, "--json")[1])
    assert [(rule["name"], rule["verdict"]) for rule in plain["rules"]] == [("cms-11", "holds"), ("tre-10", "holds")]
    assert [demand["verdict"] for demand in plain["rules"][1]["demands"]] == ["holds"]
    written = marginals.open_release(out).write(tmp_path / "again")
    assert (tmp_path / "again" / "datapackage.json").read_bytes() == (out / "datapackage.json").read_bytes()
    assert written.published.rules == marginals.open_release(out).published.rules


def test_any_release_can_be_checked_by_a_rule(tmp_path: Path) -> None:
    release = marginals.publish(table, Policy(min_cell=10, base="none", diversity="none")).release
    release.write(tmp_path / "release")
    assert marginals.verify(tmp_path / "release", rules="all-of-us-21").rules[0].verdict is Verdict.FAILS
    for rule, status, verdict in (("tre-10", 0, "holds"), ("all-of-us-21", 1, "fails")):
        exit_code, printed = run("verify", tmp_path / "release", "--rule", rule, "--check", "k-link=2", "--json")
        found = json.loads(printed)
        assert (exit_code, found["rules"][0]["verdict"]) == (status, verdict)
        assert "k-link" in {check["criterion"] for check in found["checks"]}


Change = Callable[[dict[str, Any]], object]


A_RULE = "a rule has a name, a title, a source"
CHANGES: dict[str, tuple[Change, str]] = {
    "fewer": (lambda release: release["rules"][0]["demands"][0]["claims"][0].update(k=3), "not as that rule is"),
    "title": (lambda release: release["rules"][0].update(title="A rule"), "not as that rule is"),
    "unclaimed": (lambda release: release["privacy"].pop(), "demands what release.privacy does not claim"),
    "object": (lambda release: release.update(rules={}), "a list of at most 20 rules"),
    "many": (lambda release: release.update(rules=release["rules"] * 21), "a list of at most 20 rules"),
    "source": (lambda release: release["rules"][0].pop("source"), A_RULE),
    "lines": (lambda release: release["rules"][0].update(unchecked=["two\nlines"]), A_RULE),
    "demands": (lambda release: release["rules"][0].update(demands=["no"]), A_RULE),
    "claims": (lambda release: release["rules"][0]["demands"][0].update(claims=[]), "has a list of claims"),
    "claim": (lambda release: release["rules"][0]["demands"][0].update(claims=[{"k": 3}]), "a privacy claim is"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_bundle_cannot_borrow_the_name_of_a_rule(tmp_path: Path, name: str) -> None:
    change, problem = CHANGES[name]
    marginals.publish(table, Policy(rules="cms-11", base="none", diversity="none")).write(tmp_path / "release")
    change_descriptor(tmp_path / "release", change)
    verification = marginals.verify(tmp_path / "release")
    assert not verification.ok
    assert verification.checks[0].worst is not None
    assert problem in verification.checks[0].worst.problem


def test_what_a_rule_of_a_bundle_says_beside_its_keys_is_named_as_unjudged(tmp_path: Path) -> None:
    marginals.publish(table, Policy(rules="cms-11", base="none", diversity="none")).write(tmp_path / "release")
    change_descriptor(tmp_path / "release", lambda release: release["rules"][0].update(rows=["hidden"]))
    assert any("release.rules[0].rows" in warning for warning in marginals.verify(tmp_path / "release").warnings)


def test_a_demand_that_its_publisher_attests_is_never_said_to_hold(tmp_path: Path) -> None:
    apart = [{"age": 2, "diagnosis": 0}, {"sex": 0, "diagnosis": 0}]
    policy = Policy(min_cell=2, base="none", diversity="distinct:2", must_publish=apart, max_attributes=2)
    marginals.publish(table, policy).write(tmp_path / "release")
    attested = Register(Distinct(2), "diagnosis", basis=ATTESTED).as_json()

    def attest(release: dict[str, Any]) -> None:
        least, diversity = release["privacy"]
        demands = [{"says": "no small cell", "claims": [least, attested]}, {"says": "varied", "claims": [diversity]}]
        release["rules"] = [{"name": "house-4", "title": "Of the house", "source": "Handbook", "demands": demands}]
        release["privacy"].append(attested)

    change_descriptor(tmp_path / "release", attest)
    (rule,) = marginals.verify(tmp_path / "release").rules
    assert [demand.verdict for demand in rule.demands] == [Verdict.ATTESTED, Verdict.HOLDS]
    assert rule.verdict is Verdict.ATTESTED
    change_descriptor(tmp_path / "release", lambda release: [
        where[0].update(k=1000) for where in (release["privacy"], release["rules"][0]["demands"][0]["claims"])
    ])  # fmt: skip
    assert marginals.verify(tmp_path / "release").rules[0].verdict is Verdict.FAILS
