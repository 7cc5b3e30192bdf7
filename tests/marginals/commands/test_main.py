"""The command line keeps its contract: JSON alone on standard output, exit status 0, 1 or 2, one sentence of error."""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import marginals
from command_line import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.slow
def test_the_demo_publishes_a_release_that_verifies(demo: Path) -> None:
    of_the_steward = {"census.csv", "hierarchies", "release.toml", "release-steward.html"}
    assert {path.name for path in demo.iterdir()} == of_the_steward | {"release"}
    result = run("verify", demo / "release", "--json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 0
    assert answer["ok"] is True
    assert [check["criterion"] for check in answer["checks"]] == [
        "integrity",
        "k-link",
        "k-combinatorial",
        "min-cell",
        "maxent-diversity",
        "register",
    ]
    assert answer["smallest_sensitive_counts"]["diagnosis"] >= 3
    assert all(set(check) >= {"criterion", "holds", "parameters", "worst"} for check in answer["checks"])


@pytest.mark.slow
def test_the_demo_refuses_a_folder_with_things_in_it(demo: Path) -> None:
    result = run("demo", demo)
    assert result.exit_code == 2
    assert "not empty" in result.stderr


@pytest.mark.slow
def test_publish_says_what_the_contract_says(demo: Path, tmp_path: Path) -> None:
    result = run("publish", demo / "release.toml", "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    contract = {"out", "kl_divergence", "kl_suppressed", "margins", "checks", "search"}
    further = {"steward", "information", "dropped", "errors", "suggestions", "unpublished", "binding"}
    further |= {"smallest_sensitive_counts"}
    assert set(answer) == contract | further
    assert set(answer["search"]) == {
        "strategy",
        "evaluated",
        "optimal",
        "lower_bound",
        "base",
        "value",
        "price",
        "objective",
    }
    assert answer["kl_divergence"] < answer["kl_suppressed"]
    release = marginals.open_release(tmp_path / "out")
    assert [dict(margin) for margin in release.margins] == answer["margins"]


@pytest.mark.slow
def test_anonymize_says_what_the_contract_says(demo: Path) -> None:
    result = run("anonymize", demo / "release.toml", "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert set(answer) == {"nodes", "minimal"}
    assert set(answer["minimal"][0]) >= {
        "levels",
        "height",
        "classes",
        "average_class_size",
        "discernibility",
        "kl_divergence",
    }


@pytest.mark.slow
def test_assess_says_what_the_contract_says(demo: Path) -> None:
    result = run("assess", demo / "release.toml", "--json")
    assert result.exit_code == 1, "the raw table does not satisfy the policy"
    answer = json.loads(result.stdout)
    assert set(answer) >= {"rows", "classes", "k_anonymity", "diversity", "homogeneous", "nearly_homogeneous"}
    assert set(answer["diversity"]["diagnosis"]) == {"distinct", "simple", "entropy", "recursive_c"}
    assert set(answer["homogeneous"]) == {"classes", "rows"}
    assert answer["k_anonymity"] == 1
    best = json.loads(run("anonymize", demo / "release.toml", "--json").stdout)["minimal"][0]["levels"]
    levels = ",".join(f"{name}={level}" for name, level in best.items())
    result = run("assess", demo / "release.toml", "--levels", levels, "--json")
    assert result.exit_code == 0, result.stdout
    assert json.loads(result.stdout)["k_anonymity"] >= 10


@pytest.mark.slow
def test_assess_never_shows_a_value_of_the_table(demo: Path) -> None:
    """The table is not published, so not even its worst class may be shown by its values."""
    text = run("assess", demo / "release.toml").stdout + run("assess", demo / "release.toml", "--json").stdout
    for line in (demo / "census.csv").read_text().splitlines()[1:200]:
        for value in line.split(",")[2:3] + line.split(",")[4:]:
            assert value not in text or value == "?"


@pytest.mark.slow
@pytest.mark.parametrize("levels", ["age", "age=x", "=1", "diagnosis=0", "age=9"])
def test_assess_refuses_levels_it_cannot_read(demo: Path, levels: str) -> None:
    result = run("assess", demo / "release.toml", "--levels", levels)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sweep", "hilbert"])
def test_anonymize_recodes_locally(demo: Path, tmp_path: Path, method: str) -> None:
    config = (demo / "release.toml").read_text().replace("recursive:3,4", "functional:0.4,4")
    config = config.replace("min_cell = 3", "# none")  # which these methods cannot keep
    (demo / "functional.toml").write_text(config)
    out = tmp_path / "table.csv"
    result = run("anonymize", demo / "functional.toml", "--method", method, "--out", out, "--json")
    (demo / "functional.toml").unlink()
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["method"] == method
    assert 0 < answer["information_utility"] <= 1
    assert out.read_text().splitlines()[0].endswith(",count")


@pytest.mark.parametrize("option", [("--suppression", "0.1"), ("--levels", "age=1"), ("--all",)])
def test_options_about_minimal_tables_go_with_the_lattice_only(demo: Path, option: tuple[str, ...]) -> None:
    result = run("anonymize", demo / "release.toml", "--method", "hilbert", *option)
    assert result.exit_code == 2
    assert f"{option[0]} goes with the method lattice only" in result.stderr


@pytest.mark.slow
def test_suppression_finds_finer_tables(demo: Path) -> None:
    def best(*more: str) -> dict[str, float]:
        minimal = json.loads(run("anonymize", demo / "k.toml", "--json", *more).stdout)["minimal"]
        return min(minimal, key=lambda table: table["height"])  # type: ignore[no-any-return]

    lines = (demo / "release.toml").read_text().splitlines()
    (demo / "k.toml").write_text("\n".join(line for line in lines if not line.startswith(("diversity", "register"))))
    strict, lax = best(), best("--suppression", "0.1")
    (demo / "k.toml").unlink()
    assert strict["suppressed"] == 0
    assert 0 < lax["suppressed"] <= 0.1 * 6000
    assert lax["height"] < strict["height"]


@pytest.mark.slow
def test_a_release_with_base_best_contains_the_best_single_table(demo: Path) -> None:
    best = json.loads(run("anonymize", demo / "release.toml", "--json").stdout)["minimal"][0]["levels"]
    config = marginals.read_config(demo / "release.toml")
    table = config.read_table()
    steward = marginals.publish(table, replace(config.policy, base="best")).steward
    assert steward is not None
    wanted = table.domain.mask(best | {"diagnosis": 0})
    assert any(wanted & ~mask == 0 for mask in steward.search.cliques)


def test_a_demand_that_fails_exits_1_and_shows_the_worst_cell(demo: Path) -> None:
    result = run("verify", demo / "release", "--check", "k-link=10000", "--json")
    assert result.exit_code == 1
    check = json.loads(result.stdout)["checks"][1]
    assert check["holds"] is False
    assert check["worst"]["count"] < 10000
    assert check["worst"]["cell"]


@pytest.mark.parametrize("demand", ["k-link", "k-link=x", "k-link=" + "9" * 5000, "diversity=entropie:3", "privacy=1"])
def test_a_demand_that_cannot_be_read_exits_2(demo: Path, demand: str) -> None:
    result = run("verify", demo / "release", "--check", demand)
    assert result.exit_code == 2
    assert "Error" in result.stderr


def test_a_changed_count_exits_1_and_names_the_file(demo: Path, tmp_path: Path) -> None:
    marginals.open_release(demo / "release").write(tmp_path / "copy")
    file = sorted((tmp_path / "copy" / "marginals").glob("*.csv"))[0]
    file.write_text(file.read_text().replace(",1", ",2", 1))
    result = run("verify", tmp_path / "copy")
    assert result.exit_code == 1
    assert file.name in result.stdout


def test_bad_input_is_one_sentence_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "release.toml").write_text('[data]\npath = "none.csv"\n[attributes.a]\nrole = "sensitive"\n')
    result = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out", "--json")
    assert result.exit_code == 2
    assert set(json.loads(result.stdout)) == {"error"}
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert run("verify", tmp_path).exit_code == 2


@pytest.mark.parametrize(
    "arguments", [("verify", "x" * 300, "--json"), ("verify", "--json"), ("query", "--json", "--wrong")]
)
def test_whoever_asks_for_json_gets_an_object_whatever_goes_wrong(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert set(json.loads(result.stdout)) == {"error"}
    assert result.stderr


def test_an_attribute_has_one_level(demo: Path) -> None:
    result = run("assess", demo / "release.toml", "--levels", "age=1,age=2")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'age' is given two levels" in result.stderr


def test_nothing_publishable_exits_1_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},x\n" for i in range(9)))
    for base in ("best", "none"):
        (tmp_path / "release.toml").write_text(
            '[data]\npath = "t.csv"\n[attributes.a]\nrole = "quasi-identifier"\n[attributes.b]\nrole = "sensitive"\n'
            f'[privacy]\nk_link = 5\ndiversity = "distinct:2"\n[base]\ntable = "{base}"\n'
        )
        result = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
        assert result.exit_code == 1, base
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"marginals {name}" in result.output


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_is_in_the_overview(name: str) -> None:
    overview = Path(__file__).parents[3] / "docs" / "command_line.md"
    assert f"| `marginals {name}" in overview.read_text(encoding="utf-8")


def test_version_is_told() -> None:
    assert marginals.__version__ in run("--version").output
    assert isinstance(main, click.Group)


def test_query_says_what_the_contract_says(demo: Path) -> None:
    result = run("query", demo / "release", "age=20-39", "sex=Female", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert set(answer) == {"expected", "lower", "upper", "exact", "sharp", "kind", "assumed", "shown"}
    assert [type(answer[key]) for key in ("expected", "lower", "upper")] == [float, int, int]
    rows = (line.split(",") for line in (demo / "census.csv").read_text().splitlines()[1:])
    header = (demo / "census.csv").read_text().splitlines()[0].split(",")
    age, sex = header.index("age"), header.index("sex")
    complete = [row for row in rows if "?" not in row and "" not in row]
    true = sum(20 <= int(row[age]) <= 39 and row[sex] == "Female" for row in complete)
    assert answer["lower"] <= true <= answer["upper"]
    assert answer["lower"] <= answer["expected"] <= answer["upper"]
    assert answer["exact"] is False
    known = json.loads(run("query", demo / "release", "sex=Female", "--json").stdout)
    assert (known["exact"], known["sharp"]) == (True, True)


def test_query_says_in_words_how_sure_it_is(demo: Path) -> None:
    shown = run("query", demo / "release", "age=20-39", "sex=Female").stdout
    assert "expected" in shown
    assert "for certain" in shown
    assert "exactly" in run("query", demo / "release", "sex=Female").stdout


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("agee=20-24", "no attribute 'agee'; did you mean 'age'"),
        ("sex=Femal", "'sex' has no published value 'Femal'; did you mean 'Female'"),
        ("sex=1", "'sex' has no published value '1'; the finest that are published, at level 0, are Female, Male"),
        ("sex", "NAME=LABEL"),
    ],
)
def test_query_refuses_what_is_not_there_in_one_sentence(demo: Path, condition: str, message: str) -> None:
    result = run("query", demo / "release", condition)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_sample_writes_the_same_rows_for_the_same_seed(demo: Path, tmp_path: Path) -> None:
    shown = run("sample", demo / "release", "-n", 20, "--seed", 3)
    assert shown.exit_code == 0, shown.output
    assert len(shown.stdout.splitlines()) == 21
    result = run("sample", demo / "release", "-n", 20, "--seed", 3, "-o", tmp_path / "rows.csv", "--json")
    assert json.loads(result.stdout)["rows"] == 20
    assert (tmp_path / "rows.csv").read_text() == shown.stdout
    assert run("sample", demo / "release", "-n", 20, "--seed", 4).stdout != shown.stdout
    base = run("sample", demo / "release", "-n", 20, "--base-values", "-o", tmp_path / "rows.parquet")
    assert base.exit_code == 0, base.output
    assert (tmp_path / "rows.parquet").stat().st_size > 0


@pytest.mark.parametrize("arguments", [("-o", "rows.xlsx"), ("-n", "-1"), ("--json",), ("--seed", "x")])
def test_sample_refuses_what_it_cannot_do(demo: Path, arguments: tuple[str, ...]) -> None:
    result = run("sample", demo / "release", *arguments)
    assert result.exit_code == 2
    assert "Error: " in result.stderr


def test_no_release_is_no_query_and_no_sample(tmp_path: Path) -> None:
    for command in (("query", tmp_path, "a=b"), ("sample", tmp_path)):
        assert run(*command).exit_code == 2


@pytest.mark.slow
def test_attack_measures_and_gives_no_verdict(demo: Path) -> None:
    result = run("attack", demo / "release", "--truth", demo / "release.toml", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    keys = {"published", "nonsensitive", "attacks", "thresholds", "left_out", "minimality", "composition", "likely"}
    assert set(answer) == keys | {"register"}
    attacked = answer["attacks"][0]
    assert attacked["sensitive"] == "diagnosis"
    assert 0 <= attacked["reconstruction"]["share"] <= 1
    assert 0 < attacked["skewness"]["distance"] < 1
    assert attacked["guessing"]["base_rate"] < attacked["guessing"]["maxent"] < 1
    assert {threshold["criterion"] for threshold in answer["thresholds"]} == {"k-link", "k-combinatorial", "min-cell"}
    assert all(threshold["smallest"] >= threshold["k"] for threshold in answer["thresholds"])
    words = run("attack", demo / "release", demo / "release").output
    assert "determined exactly" in words
    assert "all together" in words
    assert "guessed" not in words


@pytest.mark.slow
def test_attack_wraps_its_lines_on_a_terminal_only(small_release: marginals.Release, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    small_release.write(tmp_path / "release")
    plain = run("attack", tmp_path / "release").output
    assert max(map(len, plain.splitlines())) > 150
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-c",
        "from marginals.commands.main import main; main()",
        "attack",
        str(tmp_path / "release"),
    ]
    environment = os.environ | {"COLUMNS": "70", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # which is how a terminal ends on Linux
            while piece := os.read(ours, 1 << 16):
                shown += piece
    os.close(ours)
    assert process.returncode == 0
    lines = shown.decode().splitlines()
    assert max(map(len, lines)) <= 70
    assert " ".join(lines).split() == plain.split()


@pytest.mark.slow
def test_assess_says_once_from_where_on_no_c_will_do(demo: Path) -> None:
    shown = run("assess", demo / "release.toml").stdout
    assert shown.count("no c will do") == 1
    assert "recursive (c, 2) to (c, " in shown
    assert "only its size is shown" in shown
    coarse = "age=4,postcode=3,sex=1,education=2,marital_status=2,occupation=2"
    assert "no c will do" not in run("assess", demo / "release.toml", "--levels", coarse).stdout


@pytest.mark.slow
def test_attack_refuses_the_truth_of_another_table(demo: Path, tmp_path: Path) -> None:
    assert run("demo", tmp_path / "other", "--rows", 6000, "--seed", 1).exit_code == 0
    result = run("attack", demo / "release", "--truth", tmp_path / "other" / "release.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: the truth is another table")


@pytest.mark.parametrize(
    "arguments",
    [
        ("anonymize", "--suppression", "nan"),
        ("risk", "--utility", "nan"),
        ("risk", "--loss", "nan"),
        ("risk", "--price", "nan"),
        ("sample", "-n", "10000000000000000000"),
        ("sample", "-n", "1000000000"),
    ],
)
def test_numbers_that_no_command_can_take_are_refused(demo: Path, arguments: tuple[str, ...]) -> None:
    command, *options = arguments
    result = run(command, demo / ("release" if command == "sample" else "release.toml"), *options)
    assert result.exit_code == 2
    assert "Error: Invalid value for" in result.stderr
