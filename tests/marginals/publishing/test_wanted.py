"""Analyses that a release is wanted for: read strictly, and told of whether a table shows them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import marginals
from marginals import InputError, Policy
from marginals.commands.main import main
from marginals.example import table
from marginals.publishing.wanted import Wanted, wanted_together
from small_release import write_config


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def config(folder: Path, section: str) -> Path:
    path = write_config(folder)
    path.write_text(path.read_text() + section)
    return path


def test_publish_says_which_wanted_analyses_have_a_table(tmp_path: Path) -> None:
    sections = "[base]\ntable = 'none'\n[search]\nmax_attributes = 2\n"
    sections += "[[search.wanted]]\nattributes = ['age', 'disease']\nweight = 2.5\n"
    sections += "[[search.wanted]]\nattributes = ['age', 'sex', 'town']\n"
    path = config(tmp_path, sections)
    printed = run("publish", path, "--out", tmp_path / "out")
    assert printed.exit_code == 0, printed.output
    assert "Wanted age, sex, town: no published table shows them together" in printed.output
    assert "The search does not weigh wanted analyses yet" in printed.output
    answer = json.loads(run("publish", path, "--out", tmp_path / "out", "--json").stdout)
    margins = marginals.open_release(tmp_path / "out").margins
    for told in answer["wanted"]:
        together = [dict(margin) for margin in margins if set(told["attributes"]) <= set(margin)]
        assert told["margin"] == (together[0] if together else None)
    assert [told["weight"] for told in answer["wanted"]] == [2.5, 1.0]


def test_without_wanted_analyses_nothing_is_said_of_them(tmp_path: Path) -> None:
    path = config(tmp_path, "")
    assert "Wanted" not in run("publish", path, "--out", tmp_path / "out").output
    assert "wanted" not in json.loads(run("publish", path, "--out", tmp_path / "out", "--json").stdout)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("[[search.wanted]]\nweight = 1.0\n", "wanted is a list of analyses such as"),
        ("[[search.wanted]]\nattributes = 'age'\n", "wanted is a list of analyses such as"),
        ("[[search.wanted]]\nattributes = []\n", "a list of different names"),
        ("[[search.wanted]]\nattributes = ['age', 'age']\n", "a list of different names"),
        ("[[search.wanted]]\nattributes = ['age']\nweight = 0\n", "a number above 0"),
        ("[[search.wanted]]\nattributes = ['age']\nlevel = 1\n", "unknown key search.wanted.level"),
        ("[search]\nwanted = 3\n", "wanted is a list of analyses"),
        ("[search]\nwanted = 'age'\n", "wanted is a list of analyses"),
    ],
)
def test_what_is_no_analysis_is_refused(tmp_path: Path, section: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        marginals.read_config(config(tmp_path, section))


def test_an_attribute_that_is_not_there_is_refused() -> None:
    with pytest.raises(
        InputError, match="wanted names 'dead', which is no attribute that can be published; these are age"
    ):
        marginals.publish(table, Policy(k_link=4, wanted=[{"attributes": ["dead", "age"]}]))


def test_the_first_margin_with_all_attributes_shows_them() -> None:
    margins = [{"a": 0, "b": 1}, {"a": 1, "b": 0, "c": 0}]
    told = list(wanted_together([Wanted(("b", "a")), Wanted(("c",)), Wanted(("c", "d"))], margins))
    assert [entry["margin"] for entry in told] == [margins[0], margins[1], None]
