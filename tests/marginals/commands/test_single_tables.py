"""`anonymize` writes one generalized table by every method; what it writes keeps the policy, counted on the file itself."""

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result

import marginals
from command_line import run
from small_release import write_config

QUASI = ["age", "sex", "town"]
K_ALONE, DISTINCT, ENTROPY = (
    'k_link = 5\ndiversity = "none"\n',
    'k_link = 5\ndiversity = "distinct:2"\n',
    'k_link = 5\ndiversity = "entropy:2"\n',
)
FUNCTIONAL = 'k_link = 5\ndiversity = "functional:0.8,2"\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def with_policy(config: Path, policy: str) -> Path:
    text = config.read_text()
    config.write_text(text[: text.index("k_link")] + policy)
    return config


def anonymized(config: Path, *options: object) -> Result:
    return run("anonymize", config, *options)


def classes(out: Path) -> "dict[tuple[str, ...], dict[str, int]]":
    """For each class of a written table its rows by sensitive value."""
    frame = pd.read_csv(out, dtype={**dict.fromkeys([*QUASI, "disease"], str), "count": int}, keep_default_na=False)
    counted: dict[tuple[str, ...], dict[str, int]] = {}
    for *quasi, disease, count in frame[[*QUASI, "disease", "count"]].itertuples(index=False):
        held = counted.setdefault(tuple(quasi), {})
        assert disease not in held, "each combination has one line"
        held[disease] = count
    return counted


@pytest.mark.parametrize("method", ["lattice", "sweep", "hilbert"])
@pytest.mark.parametrize("policy", [K_ALONE, DISTINCT, ENTROPY, FUNCTIONAL])
def test_every_method_writes_a_table_that_keeps_the_policy(
    config: Path, tmp_path: Path, method: str, policy: str
) -> None:
    out = tmp_path / "table.csv"
    result = anonymized(with_policy(config, policy), "--method", method, "--out", out)
    if method == "sweep" and policy is not FUNCTIONAL:
        assert (result.exit_code, "hilbert keeps any" in result.output) == (2, True)
        return
    assert result.exit_code == 0, result.output
    written = classes(out)
    people = pd.read_csv(tmp_path / "people.csv", dtype=str)
    assert sum(sum(held.values()) for held in written.values()) == len(people)
    assert min(sum(held.values()) for held in written.values()) >= 5
    if policy is not K_ALONE:
        assert min(map(len, written.values())) >= 2
    if policy is FUNCTIONAL:
        assert all(max(held.values()) <= 0.8 * sum(held.values()) for held in written.values())
    totals = sum(map(Counter, written.values()), Counter())
    assert totals == people["disease"].value_counts().to_dict()
    (tmp_path / "people.csv").unlink()  # the table is verified from its file, without the data
    verify = ["verify", str(out), "--config", str(config)]
    found = run(*verify, "--json", status=0)
    checks = json.loads(found.output)["checks"]
    assert [check["criterion"] for check in checks] == ["k-anonymity", "l-diversity"][: 1 if policy is K_ALONE else 2]
    least = min(sum(held.values()) for held in written.values())
    assert checks[0]["worst"]["count"] == least
    assert run(*verify, "--check", f"k-link={least + 1}").exit_code == 1
    assert run(*verify, "--rule", "cms-11").exit_code == 2


def test_suppressed_rows_are_counted_and_are_a_class_of_k_rows_themselves(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    options = ["--levels", "age=0,town=0", "--suppression", "0.9", "--out", out]
    result = anonymized(with_policy(config, DISTINCT), *options, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    groups = pd.read_csv(tmp_path / "people.csv").groupby(QUASI)["disease"]
    failing = int(groups.size()[(groups.size() < 5) | (groups.nunique() < 2)].sum())
    assert answer["written"]["suppressed"] == failing > 0
    assert answer["out"] == str(out)
    written = classes(out)
    suppressed = written.pop(("*", "*", "*"))
    assert sum(suppressed.values()) == failing >= 5
    assert len(suppressed) >= 2
    assert len(written) == answer["written"]["classes"]
    assert all(age.isdecimal() for age, _, _ in written)


def test_levels_that_do_not_satisfy_the_policy_are_refused_with_what_would(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    with_policy(config, 'k_link = 40\ndiversity = "distinct:2"\n')
    result = anonymized(config, "--levels", "age=0", "--out", out)
    assert result.exit_code == 1
    better = result.stderr.partition("it would pass as ")[2].partition("{ ")[2].partition(" }")[0].replace(" ", "")
    assert anonymized(config, "--levels", better, "--out", out).exit_code == 0
    assert min(sum(held.values()) for held in classes(out).values()) >= 40
    out.unlink()
    for suppression, said in ((0.01, "suppression = 0.01"), (1e-9, "k_link")):
        result = anonymized(config, "--levels", "age=0", "--suppression", suppression, "--out", out)
        assert (result.exit_code, said in result.stderr, out.exists()) == (1, True, False)


def test_no_table_is_written_without_privacy_or_where_none_satisfies_the_policy(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    for method in ("lattice", "sweep", "hilbert"):
        diversity = FUNCTIONAL.partition("\n")[2] if method == "sweep" else 'diversity = "none"\n'
        impossible = with_policy(config, f"k_link = 700\n{diversity}")
        result = anonymized(impossible, "--method", method, "--out", out, "--json")
        assert result.exit_code == 1
        assert set(json.loads(result.stdout)) == {"error"}
        assert "700" in result.stderr
        text = config.read_text()
        config.write_text(text.replace(f"[privacy]\nk_link = 700\n{diversity}", ""))
        result = anonymized(config, "--method", method, "--out", out)
        config.write_text(text)
        assert (result.exit_code, "no privacy" in result.stderr, out.exists()) == (2, True, False)


def test_assess_tells_what_is_eligible(tmp_path: Path) -> None:
    """Half of the rows have flu, a third a cold: tau at l = 2, 3; with illnesses generalized too, one in three."""
    (tmp_path / "t.csv").write_text("age,illness\n" + "20,flu\n30,flu\n40,flu\n50,cold\n60,cold\n70,gout\n")
    columns = '[attributes.age]\nrole = "quasi-identifier"\n[attributes.illness]\nrole = "sensitive"\n'
    config = tmp_path / "release.toml"
    config.write_text(f'[data]\npath = "t.csv"\n{columns}[privacy]\ndiversity = "functional:0.7,3"\n')
    assess = ["assess", str(config), "--json"]
    answer = json.loads(run(*assess, "--eligible", "--levels", "age=1").stdout)
    found = answer["eligible"]["illness"]
    assert found["functional_tau"] == {"2": 0.5, "3": 0.666667}
    assert (found["values"], found["functional_tau_generalized"]) == (3, 0.333334)
    assert found["excessive_protection"]["functional:0.7,3"] == pytest.approx(0.7 - 0.5 + 0.85 - 5 / 6)
    assert "eligible" not in json.loads(run(*assess).stdout)


def test_a_check_of_a_single_table_counts_no_missing_value_as_one(tmp_path: Path) -> None:
    """All women who have a diagnosis have the flu: what is asked of that is judged as what the config demands."""
    rows = ["f,flu", "f,missing", "m,flu", "m,gout"] * 10
    (tmp_path / "table.csv").write_text("sex,ill\n" + "\n".join(rows) + "\n")
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "table.csv"\n[attributes.sex]\nrole = "quasi-identifier"\n[attributes.ill]\nrole = "sensitive"\n'
        'missing = "as a value"\n[privacy]\nk_link = 5\ndiversity = "distinct:2"\n'
    )
    verify = ["verify", str(tmp_path / "table.csv"), "--config", str(tmp_path / "release.toml")]
    for asked in ([], ["--check", "diversity=distinct:2"]):
        result = run(*verify, *asked, status=1)
        assert "distinct:2 leaving out missing" in result.output


def test_sweep_takes_its_order_from_the_attributes_of_the_config(config: Path) -> None:
    plain = with_policy(config, FUNCTIONAL).read_text()
    told = json.loads(anonymized(config, "--method", "sweep", "--json").stdout)
    table = marginals.read_config(config).read_table()
    swept = marginals.recoding.sweep(table, "functional:0.8,2", table.quasi_identifiers, k=5)
    assert told["information_utility"] == swept.information_utility
    config.write_text(plain + '[sweep]\nimportance = ["town", "sex", "age"]\n')
    refused = anonymized(config, "--method", "sweep")
    assert (refused.exit_code, "in the order of [attributes]" in refused.output) == (2, True), refused.output
