"""Sayings of a publisher, in the bundle, the report and beside answers: words of attributes, and the imprint."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from command_line import run
from html_pages import Page
from marginals import Imprint
from marginals.errors import BundleError
from marginals.example import table
from written_bundles import DESCRIPTOR, change_package


def release_part(folder: Path) -> dict[str, Any]:
    part: dict[str, Any] = json.loads((folder / DESCRIPTOR).read_text())["release"]
    return part


WORDS = """description = "Smoked last month"
[attributes.smokes.values]
"0" = "no"
"1" = "yes, daily"
"9" = "two people only"
[attributes.secret]
role = "identifier"
description = "who it is"
"""


def release(folder: Path) -> Path:
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
    (folder / "release.toml").write_text(
        "data.path = 'people.csv'\nbase.table = 'none'\nprivacy = {k_link = 10, diversity = 'distinct:2'}\n"
        "[attributes.age]\nrole = 'quasi-identifier'\n[attributes.ill]\nrole = 'sensitive'\n"
        f"[attributes.smokes]\nrole = 'quasi-identifier'\nhierarchy = 'groups.csv'\nlabel_form = 'names'\n{WORDS}"
    )
    assert run("publish", folder / "release.toml", "--out", folder / "out").exit_code == 0
    return folder / "out"


def test_words_are_in_the_bundle_the_report_and_beside_an_answer(tmp_path: Path) -> None:
    folder = release(tmp_path)
    said = {"description": "Smoked last month", "values": {"0": "no", "1": "yes, daily"}}
    assert release_part(folder)["attributes"]["smokes"] == {"role": "quasi-identifier", "label_form": "names", **said}
    assert release_part(folder)["attributes"]["age"] == {"role": "quasi-identifier"}
    text = "".join(file.read_text() for file in folder.rglob("*") if file.is_file())
    assert "two people only" not in text
    assert "who it is" not in text
    verified = marginals.verify(folder)
    assert (verified.ok, verified.warnings) == (True, ())
    told = " ".join(Page((folder / "report.html").read_bytes()).text)
    assert "Smoked last month" in told
    assert "1 (yes, daily)" in told
    assert "Smoked last month" in run("query", folder, "smokes=1").output
    assert "smokes:" not in run("query", folder, "age=20-39").output
    assert marginals.open_release(folder).published.codebook.description("smokes") == "Smoked last month"


TOLD = Imprint("A <census>", "City of <Ulm>", "2026-11-26", "data@ulm.example", "CC-BY-4.0")


def test_an_imprint_is_in_the_bundle_the_report_and_the_citation(tmp_path: Path) -> None:
    """Without one nothing is said, no date either: the same tables give the same bundle on any day."""
    for name, title in (("told", TOLD), ("bare", Imprint())):
        policy = marginals.Policy(k_link=4, diversity="distinct:2")
        marginals.publish(table, policy, title=title).write(tmp_path / name)
    assert "imprint" not in release_part(tmp_path / "bare")
    folder = tmp_path / "told"
    opened = marginals.open_release(folder)
    assert opened.published.imprint == TOLD
    assert json.loads((folder / DESCRIPTOR).read_text())["title"] == "A <census>"
    assert release_part(folder)["imprint"] == TOLD.entries
    page = (folder / "report.html").read_text()
    assert "<h1>A &lt;census&gt;</h1>" in page
    assert all(text in page for text in ("City of &lt;Ulm&gt;", "2026-11-26", "data@ulm.example", "CC-BY-4.0"))
    verification = opened.verify()
    assert (verification.ok, verification.warnings) == (True, ())
    change_package(folder, lambda package: package["release"].update(imprint={"publisher": ["Ulm"]}))
    with pytest.raises(BundleError, match=r"release\.imprint: release\.publisher"):
        marginals.open_release(folder)
