"""Every diversity criterion by its name, through config, command line, bundle and Python."""

import json
from pathlib import Path

import pytest

import marginals
from checks import parse_diversity, spellings
from command_line import run
from marginals.example import table
from small_release import CONFIG, write_config

CRITERIA = {
    "distinct:2": "distinct:5", "simple:1.1": "simple:3.5", "entropy:1.5": "entropy:3.9",
    "recursive:9,2 or equal": "recursive:1,4 or equal", "functional:0.9,2": "functional:0.3,4",
    'pd-recursive:1,2 may disclose "a ""b""", flu': "pd-recursive:0.1,2 may disclose cold",
    'npd-recursive:9,1,2 may disclose flu must protect cold, "none, yet"': "npd-recursive:9,49,2 must protect cold",
    "negative-disclosure:1 must protect cold": "negative-disclosure:45 must protect cold",
    "adjusted-entropy:1.5 may disclose flu": "adjusted-entropy:3.95 may disclose cold",
    'alpha:0.6 of cold, "none, yet"': "alpha:0.1 of flu", "beta-likeness:2": "beta-likeness:0.001",
    "bayes-optimal:0.3,0.8": "bayes-optimal:0.3,0.301", "t-closeness:0.4": "t-closeness:0.001",
    "belief-difference:0.4": "belief-difference:0.001",
    "odds:9,60": "odds:1,1", 'odds:9,60 may disclose cold, flu': "odds:1,1 may disclose cold",
    "at-most:80 of cold, flu": "at-most:1 of flu",
    "t-closeness:0.3 ordered": "t-closeness:0.001 ordered",
    "t-closeness:0.4 hierarchical": "t-closeness:0.001 hierarchical",
}  # fmt: skip
"""A text that a release of the small table can keep, and one of the same kind that it does not."""


SMALL = (table, marginals.Policy(k_link=4, diversity="distinct:2"))
DISEASE = '[attributes.disease]\nrole = "sensitive"\n'
ORDER = """order = ['a "b"', "cold", "flu", "none, yet"]\n"""


def test_no_criterion_is_left_out() -> None:
    tried = {parse_diversity(text).name for text in CRITERIA}
    assert tried == {form.partition(":")[0] for form in spellings()}


@pytest.mark.parametrize("diversity", CRITERIA)
def test_it_is_demanded_claimed_and_verified(tmp_path: Path, diversity: str) -> None:
    config = write_config(tmp_path)
    demanded = json.dumps(diversity)
    config.write_text(
        CONFIG.replace(DISEASE, DISEASE + ORDER * ("ordered" in diversity)).replace(
            'diversity = "entropy:2"', f"diversity = {demanded}"
        )
        + "[search]\nmax_attributes = 2\n[base]\ntable = 'none'\n"
    )
    release = tmp_path / "release"
    published = run("publish", config, "--out", release, "--json", status=0)
    claims = json.loads((release / "datapackage.json").read_text())["release"]["privacy"]
    assert claims[1] == {"criterion": "maxent-diversity", "diversity": diversity, "sensitive": "disease"}
    verified = json.loads(run("verify", release, "--json").stdout)
    assert verified["ok"], verified
    assert verified["checks"][2]["parameters"]["diversity"] == diversity
    assert "worst" in verified["checks"][2]
    assert run("verify", release, "--check", f"diversity={diversity}").exit_code == 0
    too_much = run("verify", release, "--check", f"diversity={CRITERIA[diversity]}", status=1)
    assert "fails" in too_much.output
    people = marginals.read_config(config).read_table()
    policy = marginals.Policy(k_link=5, diversity=diversity, base="none", max_attributes=2)
    in_python = marginals.publish(people, policy).release
    assert in_python.verify().ok
    assert [dict(margin) for margin in in_python.published.everything.margins] == json.loads(published.stdout)[
        "margins"
    ]
    assert marginals.recoding.assess(people, policy, {"age": 3, "sex": 1, "town": 1}).ok
    assert not marginals.recoding.assess(people, marginals.Policy(diversity=CRITERIA[diversity])).ok


def test_a_label_that_the_table_lacks_is_refused_before_anything_is_searched(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    config.write_text(CONFIG.replace('"entropy:2"', '"alpha:0.5 of Flu"'))
    for command in (["publish", config, "--out", tmp_path / "release"], ["assess", config], ["anonymize", config]):
        refused = run(*command, status=2)
        assert "'Flu'" in refused.output
    assert not (tmp_path / "release").exists()


def test_labels_that_a_release_does_not_tell_are_stated_by_those_it_does(tmp_path: Path) -> None:
    """With diseases published by their kind alone, what may be disclosed of base values is said of the kinds."""
    config = write_config(tmp_path)
    (tmp_path / "disease.csv").write_text('flu;common;*\ncold;common;*\n"none, yet";other;*\n"a ""b""";other;*\n')
    said = 'diversity = "pd-recursive:9,2 may disclose flu, cold"'
    text = CONFIG.replace('diversity = "entropy:2"', said).replace(
        'role = "sensitive"', 'role = "sensitive"\nhierarchy = "disease.csv"'
    )
    config.write_text(text + "[search]\nmust_not_publish = [{ disease = 0 }]\n[base]\ntable = 'none'\n")
    release = tmp_path / "release"
    run("publish", config, "--out", release, status=0)
    claims = json.loads((release / "datapackage.json").read_text())["release"]["privacy"]
    assert claims[1]["diversity"] == "pd-recursive:9,2 may disclose common"
    assert "cold" not in (release / "datapackage.json").read_text()
    assert run("verify", release).exit_code == 0


def test_a_release_that_claims_a_label_it_does_not_tell_is_undecided(tmp_path: Path) -> None:
    release = marginals.publish(*SMALL).release
    release.write(tmp_path / "release")
    found = marginals.verify(tmp_path / "release", claims=["diversity=alpha:0.9 of nothing"]).checks[1]
    assert found.verdict.value == "undecided"
    assert "'nothing'" in found.note


@pytest.mark.parametrize("diversity", ["t-closeness:0.5", "odds:3,10", "at-most:70 of flu, cold", "beta-likeness:2"])
def test_a_single_table_keeps_what_compares_with_all_rows_or_names_values(tmp_path: Path, diversity: str) -> None:
    config, recoded = write_config(tmp_path), tmp_path / "recoded.csv"
    config.write_text(CONFIG.replace('"entropy:2"', f'"{diversity}"').replace("min_cell", "# min_cell"))
    assert run("anonymize", config, "--method", "lattice", "--out", recoded).exit_code == 0
    verified = run("verify", recoded, "--config", config, status=0)
    assert "l-diversity" in verified.stdout
