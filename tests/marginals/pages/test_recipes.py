"""The recipes on the report run as they stand, in Python and in R, and give the published counts."""

import csv
import html
import os
import re
import shutil
import subprocess
from functools import cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import Attribute, Policy
from models import Collection
from search_oracles import required_only
from written_bundles import bundle_content, report_of, write_margins

CODES = ["08001", "NA", "1e3", "007"]
"""Postcodes that begin with 0, and labels that programs take for something else."""


def recipes(folder: Path) -> list[str]:
    page = (folder / "report.html").read_text(encoding="utf-8")
    return [html.unescape(code) for code in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)]


def written(frame: pd.DataFrame, sensitive: str, margins: list[dict[str, int]], folder: Path) -> Path:
    roles = dict.fromkeys(frame.columns, "quasi-identifier") | {sensitive: "sensitive"}
    return write_margins(marginals.read_table(frame, roles, missing=()), margins, folder / "release")


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of a survey, written by `publish`."""
    rng, rows = np.random.default_rng(7), 900
    age = rng.integers(20, 70, rows)
    ill = np.where(rng.random(rows) < age / 120, "flu", rng.choice(["cold", "gout"], rows))
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], rows), "disease": ill})
    roles = {"age": Attribute("quasi-identifier", intervals=[10]), "sex": "quasi-identifier", "disease": "sensitive"}
    margins = [{"age": 1, "disease": 0}, {"sex": 0, "disease": 0}]
    policy = Policy(k_link=5, base="none", must_publish=margins, strategy=required_only, diversity="none")
    folder = tmp_path_factory.mktemp("survey") / "release"
    marginals.publish(marginals.read_table(frame, roles), policy).write(folder)
    return folder


@pytest.fixture
def awkward(tmp_path: Path) -> Path:
    """Names and labels that need care: quotes, backslashes, spaces, letters of other alphabets, and `NA`."""
    ill = ["flu", "", "na\u00efve", "None"]
    rng = np.random.default_rng(1)
    values = {'post "code\\': CODES, "\u75c5": ill, "x y": ["1", "2"]}
    frame = pd.DataFrame({name: rng.choice(labels, 40_000) for name, labels in values.items()})
    return written(frame, "\u75c5", [dict.fromkeys(values, 0)], tmp_path)


def test_the_python_on_the_page_runs(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(survey.parent)
    names: dict[str, Any] = {}
    for block in recipes(survey)[:2]:
        exec(block, names)
    assert len(names["tables"]) == len(names["release"].published.everything.margins)
    for file in (survey / "marginals").glob("*.csv"):
        with file.open(newline="") as lines:
            assert len(list(csv.reader(lines))) == len(names["tables"][file.stem]) + 1


def test_the_pandas_on_the_page_keeps_codes_and_labels_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"postcode": CODES * 5, "ill": ["flu", "cold", "None", "true"] * 5})
    folder = written(frame, "ill", [{"postcode": 0, "ill": 0}], tmp_path)
    (folder / "marginals" / "ward.0.csv").write_text("ward,count\nA,7\n")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(recipes(folder)[1], names)
    (read,) = names["tables"].values()
    assert sorted(zip(read["postcode"], read["ill"], read["count"])) == [
        ("007", "true", 5), ("08001", "flu", 5), ("1e3", "None", 5), ("NA", "cold", 5),
    ]  # fmt: skip


@cache
def without_r() -> str:
    if shutil.which("Rscript") is None:
        return "R is not installed (apt install r-base-core r-cran-jsonlite)"
    asked = subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True, check=False)
    return "R has no package jsonlite (apt install r-cran-jsonlite)" if asked.returncode else ""


def run_r(folder: Path, more: str = "", **environment: str) -> str:
    """The output of the recipe for R, run beside a release, and then more lines."""
    if reason := without_r():
        pytest.skip(reason)
    script = folder.parent / "recipe.R"
    script.write_text(f"options(warn = 1)\n{recipes(folder)[2]}\n{more}", encoding="utf-8")
    command = ["Rscript", "--vanilla", script.name]
    changed = os.environ | environment
    answer = subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, check=False, env=changed)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


COEFFICIENTS = 'cat("coefficients", format(coef(fit), digits = 12), "\\n")'


def table_in(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / "marginals" / f"{name}.csv", dtype=str, keep_default_na=False).astype({"count": int})


def test_the_r_on_the_page_makes_a_table_a_regression_and_a_plot(survey: Path) -> None:
    """The table is the published one, and a logistic regression on one attribute has the logarithms of its odds ratios."""
    printed = run_r(survey, f'cat("\\nvalue", value, "\\n"); {COEFFICIENTS}')
    published = table_in(survey, "disease.0-sex.0")
    counts = published.pivot_table(index="sex", columns="disease", values="count", aggfunc="sum")
    for sex in counts.index:
        assert re.search(rf"^ *{sex} +{' +'.join(map(str, counts.loc[sex]))}$", printed, re.MULTILINE), printed
    value = str(counts.sum().idxmax())
    assert f"value {value} " in printed
    odds = counts[value] / (counts.sum(axis=1) - counts[value])
    found = [float(number) for number in printed.split("coefficients ")[1].split()]
    first, second = list(dict.fromkeys(published["sex"]))
    assert found == pytest.approx([log(odds[first]), log(odds[second] / odds[first])], rel=1e-6)
    assert (survey.parent / "release.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("language", ["C", "C.UTF-8"])
def test_the_r_on_the_page_bears_awkward_names_and_labels(awkward: Path, language: str) -> None:
    """Whatever the encoding of R's own texts is: names are compared in the one of the files.

    With so many rows the iterations of `glm` run away if each cell is a row of its own with its count as a weight.
    """
    (name,) = (path.stem for path in (awkward / "marginals").iterdir())
    printed = run_r(awkward, f'cat("cells", nrow(table), sum(table$count), "\\n"); {COEFFICIENTS}', LC_ALL=language)
    published = table_in(awkward, name)
    assert f"cells {len(published)} {published['count'].sum()} " in printed
    found = [float(number) for number in printed.split("coefficients ")[1].split()]
    assert found == pytest.approx(logistic_regression(published, "\u75c5"), rel=1e-6)


def logistic_regression(table: pd.DataFrame, outcome: str) -> list[float]:
    """The coefficients for the most frequent value of the outcome, by Newton's method on the single cells.

    The first value of each other attribute in the file is what its other values are compared with.
    """
    value = table.groupby(outcome)["count"].sum().idxmax()
    columns = [np.ones(len(table))]
    for name in table.columns.drop([outcome, "count"]):
        columns += [(table[name] == label).to_numpy(float) for label in table[name].unique()[1:]]
    design, weight = np.stack(columns, axis=1), table["count"].to_numpy(float)
    hit = (table[outcome] == value).to_numpy(float)
    coefficients = np.zeros(design.shape[1])
    for _ in range(30):
        probability = 1 / (1 + np.exp(-design @ coefficients))
        curvature = (design * (weight * probability * (1 - probability))[:, None]).T @ design
        coefficients = coefficients + np.linalg.solve(curvature, design.T @ (weight * (hit - probability)))
    return [float(coefficient) for coefficient in coefficients]


def test_the_r_on_the_page_of_tables_of_one_attribute_only_reads_them(tmp_path: Path) -> None:
    frame = pd.DataFrame({"postcode": CODES * 5, "ill": ["flu", "cold", "gout", "mumps"] * 5, "unit": ["one"] * 20})
    folder = written(frame, "ill", [{"postcode": 0}, {"ill": 0, "unit": 0}], tmp_path)
    assert "glm" not in recipes(folder)[2], "a table in which an attribute has one value is none to compare with"
    assert "ill.0-unit.0" in run_r(folder)


def test_a_release_of_nothing_has_recipes() -> None:
    frame = pd.DataFrame({"postcode": CODES})
    table = marginals.read_table(frame, {"postcode": "quasi-identifier"})
    page = report_of(bundle_content(Collection.of(table.cube, []), table.roles)).decode()
    assert "jsonlite" in page
    assert "glm" not in page
