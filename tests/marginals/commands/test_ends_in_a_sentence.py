"""What ended with an internal error ends with a result, or with one sentence that says what to do."""

import re
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import pytest

import marginals
from command_line import run
from marginals import InputError, Policy
from marginals.example import table


def test_further_tables_beside_no_publishable_nonsensitive_column_are_none(tmp_path: Path) -> None:
    """Every class of town and of job is too small, so that the sensitive column alone is published."""
    rows = pd.DataFrame(
        {name: [f"{name}{n}" for n in range(12)] for name in ("town", "job")} | {"ill": ["a", "b", "c"] * 4}
    )
    rows.to_csv(tmp_path / "p.csv", index=False)
    roles = "".join(f'[attributes.{name}]\nrole = "quasi-identifier"\n' for name in ("town", "job"))
    (tmp_path / "release.toml").write_text(
        f'[data]\npath = "p.csv"\nreviewed = true\nrows_per_person = 1\n{roles}[attributes.ill]\nrole = "sensitive"\n'
        '[privacy]\nk_link = 5\ndiversity = "distinct:2"\n'
        '[search]\nfurther_tables = "pairs"\nmax_sensitive_margins = 1\ntime_limit = 5\n'
    )
    result = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert [dict(margin) for margin in marginals.open_release(tmp_path / "out").margins] == [{"ill": 0}]


def test_a_workbook_without_a_sheet_of_cells_is_refused(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    openpyxl.Workbook().save(tmp_path / "one.xlsx")
    with ZipFile(tmp_path / "one.xlsx") as one, ZipFile(tmp_path / "none.xlsx", "w") as none:
        for name in one.namelist():
            none.writestr(name, re.sub(rb"<sheet [^>]*/>", b"", one.read(name)))
    result = run("audit", tmp_path / "none.xlsx")
    assert result.exit_code == 2
    assert "none.xlsx has no sheet with cells" in result.output


@pytest.mark.parametrize("title", ["\ud800", "two\nlines", "", "x" * 300])
def test_a_title_that_no_descriptor_can_hold_is_refused_before_anything_is_published(title: str) -> None:
    """A lone surrogate was written as a release that nothing could read."""
    with pytest.raises(InputError, match=r"release\.title must be one line of text"):
        marginals.publish(table, Policy(k_link=4, diversity="none"), title=title)


def test_the_page_of_a_risk_tells_of_weights_that_each_person_has_of_their_own(tmp_path: Path) -> None:
    people = pd.DataFrame(
        {"id": [f"i{n}" for n in range(12)], "a": [n % 3 for n in range(12)], "b": [n % 2 for n in range(12)]}
    )
    people.to_csv(tmp_path / "p.csv", index=False)
    people[["id"]].assign(a=1.0, w=2.0).to_csv(tmp_path / "own.csv", index=False)
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "p.csv"\nreviewed = true\n[attributes.id]\nrole = "identifier"\n'
        '[attributes.a]\nrole = "quasi-identifier"\n[attributes.b]\nrole = "quasi-identifier"\n'
        '[risk]\nweights = { a = 1.0, b = 1.0 }\npersonal_weights = "own.csv"\nmissed = "w"\n'
        '[[risk.interactions]]\nattributes = ["a", "b"]\nweight = "w"\n'
    )
    command = ["risk", str(tmp_path / "release.toml"), "--utility", "1", "--report", str(tmp_path / "page.html")]
    result = run(*command)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text()
    assert "The harm to a person who is not found is the person&#39;s own" in page or "is the person's own" in page
    assert "the person&#39;s own, times the share" in page
