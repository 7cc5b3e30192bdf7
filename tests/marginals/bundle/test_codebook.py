"""What a steward says of attributes in words reaches readers: in the bundle, the report, and beside answers of queries."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import marginals
from command_line import main
from html_pages import Page
from marginals import BundleError, InputError
from marginals.tables.attribute import Codebook
from models import Domain, Hierarchy

WORDS = """
[attributes.smokes.values]
"0" = "no"
"1" = "yes, daily"
"9" = "two people only"
[attributes.secret]
role = "identifier"
description = "who it is"
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def release(folder: Path, words: bool, description: str = "Smoked last month") -> Path:
    """Of 402 people, two of whom have a value that is too rare to be published."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "smokes": [*rng.choice(["0", "1"], 400), "9", "9"],
            "age": rng.choice(["20-39", "40-59"], 402),
            "ill": rng.choice(["a", "b"], 402),
            "secret": [str(n) for n in range(402)],
        }
    )
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "groups.csv").write_text("0;0;*\n1;1;*\n9;1;*\n")
    said = f"description = {json.dumps(description)}\n" if words else ""
    (folder / "release.toml").write_text(
        "data.path = 'people.csv'\nbase.table = 'none'\nprivacy = {k_link = 10, diversity = 'distinct:2'}\n"
        "[attributes.age]\nrole = 'quasi-identifier'\n[attributes.ill]\nrole = 'sensitive'\n"
        f"[attributes.smokes]\nrole = 'quasi-identifier'\nhierarchy = 'groups.csv'\n{said}{WORDS if words else ''}"
    )
    assert run("publish", folder / "release.toml", "--out", folder / "out").exit_code == 0
    return folder / "out"


def described(folder: Path) -> dict[str, Any]:
    attributes = json.loads((folder / "datapackage.json").read_text())["release"]["attributes"]
    assert isinstance(attributes, dict)
    return attributes


def test_words_stand_in_the_bundle_the_report_and_beside_an_answer(tmp_path: Path) -> None:
    folder = release(tmp_path, words=True)
    said = {"description": "Smoked last month", "values": {"0": "no", "1": "yes, daily"}}
    assert described(folder)["smokes"] == {"role": "quasi-identifier", "label_form": "names", **said}
    assert "two people only" not in "".join(file.read_text() for file in folder.rglob("*") if file.is_file())
    verified = marginals.verify(folder)
    assert verified.ok
    assert not verified.warnings
    told = " ".join(Page((folder / "report.html").read_bytes()).text)
    assert "Smoked last month" in told
    assert "1 (yes, daily)" in told
    answer = run("query", folder, "smokes=1")
    assert "smokes: Smoked last month; 0 is no, 1 is yes, daily" in answer.output
    assert "smokes:" not in run("query", folder, "age=20-39").output
    assert marginals.open_release(folder).published.codebook.description("smokes") == "Smoked last month"


def test_a_config_without_words_gives_the_bundle_that_it_always_gave(tmp_path: Path) -> None:
    assert described(release(tmp_path, words=False)) == {
        "smokes": {"role": "quasi-identifier", "label_form": "names"},  # 1 stands for 9 as well
        "age": {"role": "quasi-identifier"},
        "ill": {"role": "sensitive"},
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        {"description": "two\nlines"},
        {"description": 7},
        {"description": "x" * 201},
        {"values": ["yes"]},
        {"values": {"0": 1}},
        {"values": {"9": "of a value that the release does not have"}},
    ],
)
def test_a_bundle_whose_words_are_none_or_of_other_labels_is_refused(tmp_path: Path, said: dict[str, Any]) -> None:
    folder = release(tmp_path, words=False)
    package = json.loads((folder / "datapackage.json").read_text())
    package["release"]["attributes"]["smokes"] |= said
    (folder / "datapackage.json").write_text(json.dumps(package))
    with pytest.raises(BundleError, match=r"release\.attributes"):
        marginals.open_release(folder)


@pytest.mark.parametrize("line", ["description = 3", 'description = "a\\nb"', "values = 3", 'values = { "0" = 1 }'])
def test_a_config_with_other_things_than_words_is_refused_by_its_key(tmp_path: Path, line: str) -> None:
    (tmp_path / "release.toml").write_text(f"data.path='x.csv'\n[attributes.a]\nrole='quasi-identifier'\n{line}\n")
    with pytest.raises(InputError, match=r"the key attributes\.a\.(description|values)"):
        marginals.read_config(tmp_path / "release.toml")


def test_of_labels_that_a_domain_lacks_nothing_is_told() -> None:
    book = Codebook({"a": "one", "b": "other"}, {"a": {"x": "X", "young": "up to 30", "*": "all"}})
    domain = Domain.of({"a": Hierarchy.from_rows([("y", "young", "*")])})
    assert book.of_labels(domain) == Codebook({"a": "one"}, {"a": {"young": "up to 30"}})
