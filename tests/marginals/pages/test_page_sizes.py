"""How long pages are: that of the steward, and the sheet of paper for a board."""

import re
from pathlib import Path
from typing import Any

import pytest

from small_release import marginals_command
from wide_table import write_wide

SCREEN = {"width": 1440, "height": 900}


@pytest.fixture(scope="module", params=["demo", 20, 24])
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release, of the demo or of a table of so many columns, and of its page for the steward."""
    folder = tmp_path_factory.mktemp("published") / "project"
    if request.param == "demo":
        assert marginals_command("demo", folder, "--rows", "5000").returncode == 0
    else:
        config = write_wide(folder, request.param)
        assert marginals_command("publish", config, "--out", folder / "release").returncode == 0
    return folder


@pytest.mark.slow
def test_the_steward_reads_five_screens_at_most(browser: Any, published: Path) -> None:
    page = browser.new_page(viewport=SCREEN)
    page.goto((published / "release-steward.html").as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") <= 5 * SCREEN["height"]
    folded = page.locator("details:not([open]) > summary").all_inner_texts()
    assert any("of the search" in summary for summary in folded)
    page.close()


@pytest.mark.slow
def test_what_a_board_reads_prints_on_one_sheet_and_whole(browser: Any, published: Path) -> None:
    page = browser.new_page(viewport={"width": 703, "height": 1032})  # A4 less its margins
    page.goto((published / "release" / "report.html").as_uri())
    page.add_style_tag(content="main > section:not([aria-labelledby=short]) { display: none; }")
    page.emulate_media(media="print")
    assert len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4"))) == 1
    cut = "[...document.querySelectorAll('.scroll')].filter(part => part.scrollWidth > part.clientWidth + 1).length"
    assert page.evaluate(cut) == 0
    page.close()
