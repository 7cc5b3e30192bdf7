"""The command line keeps its contract: JSON alone on standard output, exit status 0, 1 or 2, one sentence of error."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import marginals
from marginals.command_line import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work") / "demo"
    result = run("demo", folder, "--rows", 6000)
    assert result.exit_code == 0, result.output
    assert "Published" in result.output
    assert "times as much" in result.output
    return folder


def test_the_demo_publishes_a_release_that_verifies(demo: Path) -> None:
    assert {path.name for path in demo.iterdir()} == {"census.csv", "hierarchies", "release", "release.toml"}
    result = run("verify", demo / "release", "--json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 0
    assert answer["ok"] is True
    assert [check["criterion"] for check in answer["checks"]] == [
        "integrity",
        "k-link",
        "k-combinatorial",
        "maxent-diversity",
    ]
    assert all(set(check) >= {"criterion", "holds", "parameters", "worst"} for check in answer["checks"])


def test_the_demo_refuses_a_folder_with_things_in_it(demo: Path) -> None:
    result = run("demo", demo)
    assert result.exit_code == 2
    assert "not empty" in result.stderr


def test_publish_says_what_the_contract_says(demo: Path, tmp_path: Path) -> None:
    result = run("publish", demo / "release.toml", "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert set(answer) == {"out", "kl_divergence", "kl_suppressed", "margins", "checks", "search"}
    assert set(answer["search"]) == {"strategy", "evaluated", "optimal"}
    assert answer["kl_divergence"] < answer["kl_suppressed"]
    release = marginals.open_release(tmp_path / "out")
    assert [dict(margin) for margin in release.margins] == answer["margins"]


def test_anonymize_says_what_the_contract_says(demo: Path) -> None:
    result = run("anonymize", demo / "release.toml", "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert set(answer) == {"nodes", "minimal"}
    assert set(answer["minimal"][0]) == {
        "levels",
        "height",
        "classes",
        "average_class_size",
        "discernibility",
        "kl_divergence",
    }


def test_the_release_contains_the_best_single_table(demo: Path) -> None:
    best = json.loads(run("anonymize", demo / "release.toml", "--json").stdout)["minimal"][0]["levels"]
    release = marginals.open_release(demo / "release")
    domain = release.domain
    wanted = domain.mask(best | {"diagnosis": 0})
    assert any(wanted & ~domain.mask(margin) == 0 for margin in release.margins)


def test_a_demand_that_fails_exits_1_and_shows_the_worst_cell(demo: Path) -> None:
    result = run("verify", demo / "release", "--check", "k-link=10000", "--json")
    assert result.exit_code == 1
    check = json.loads(result.stdout)["checks"][1]
    assert check["holds"] is False
    assert check["worst"]["count"] < 10000
    assert check["worst"]["cell"]


@pytest.mark.parametrize("demand", ["k-link", "k-link=x", "diversity=entropie:3", "privacy=1"])
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
def test_every_command_is_in_the_readme(name: str) -> None:
    readme = Path(__file__).parents[2] / "README.md"
    assert f"marginals {name}" in readme.read_text(encoding="utf-8")


def test_version_is_told() -> None:
    assert marginals.__version__ in run("--version").output
    assert isinstance(main, click.Group)
