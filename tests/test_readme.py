"""The README is short, its Python runs as written after its first command, and it shows what that command says."""

import contextlib
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import axe_core
import report_picture
import shown_outputs
from command_line import main
from project import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = ROOT / "docs" / "report.png"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def printed(work: Path) -> str:
    """What the demo says, in whose folder the README's reader then is."""
    with contextlib.chdir(work):
        result = CliRunner().invoke(main, ["demo", "demo"])
    assert result.exit_code == 0
    return result.stdout


def test_the_notebook_example_runs_after_the_demo(work: Path, printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed
    monkeypatch.chdir(work)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(block, names)
    assert (work / "release" / "datapackage.json").is_file()


def test_the_demo_prints_what_the_readme_shows(printed: str) -> None:
    (lines,) = shown_outputs.SHOWN.findall(README)
    assert shown_outputs.is_shown(lines, printed), lines
    assert printed.startswith(lines.splitlines()[0])
    assert 10 <= sum(line != "..." for line in lines.splitlines()) <= 14


def test_the_readme_is_short() -> None:
    """Links count by their words alone, and so do tables and code."""
    words = re.sub(r"\]\([^)]*\)", "]", README)
    assert len(re.findall(r"\w[\w'.,:-]*", words)) <= 900


def test_the_report_of_the_demo_folds_into_seven_screens(browser: Any, work: Path, printed: str) -> None:
    assert printed
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((work / "demo" / "release" / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") <= 7 * 800
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["release/report.html", "release-steward.html"])
def test_axe_finds_nothing_in_the_pages_of_the_demo(
    browser: Any, work: Path, printed: str, name: str, width: int, scheme: str
) -> None:
    assert printed
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto((work / "demo" / name).as_uri())
    assert axe_core.violations(page) == {}
    page.close()


def test_what_a_board_reads_of_the_demo_prints_on_one_sheet(browser: Any, work: Path, printed: str) -> None:
    """A4 with the margins of the page, at 96 dots an inch: what the summary says, and the limits, before a new sheet."""
    assert printed
    page = browser.new_page(viewport={"width": 703, "height": 1032})
    page.emulate_media(media="print")
    page.goto((work / "demo" / "release" / "report.html").as_uri())
    summary = page.locator("section[aria-labelledby=short]")
    assert "Not promised: differential privacy" in summary.inner_text()
    assert summary.evaluate("part => part.getBoundingClientRect().bottom") <= 1032
    assert summary.evaluate("part => getComputedStyle(part).breakAfter") == "page"
    page.close()


def test_the_picture_is_of_the_report_that_the_demo_writes(work: Path, printed: str) -> None:
    assert printed
    pytest.importorskip("PIL")
    report = (work / "demo" / "release" / "report.html").read_bytes()
    assert report_picture.named_by(PICTURE) == sha256(report).hexdigest(), report_picture.__doc__
