"""The report shows what is published and nothing more, the same bytes each time, safely, in a real browser too.

It begins for those who decide: what is published, how well protected, and what it is good for.
"""

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import KLink
from command_line import run
from html_pages import Page, assert_headings_in_order, assert_self_contained
from marginals import Attribute, Policy, Release, Role, open_release
from models import Collection
from search_oracles import required_only
from small_release import contents, marginals_command
from strategies import NOT_DECOMPOSABLE, SHAPE_DOMAIN, SHAPES, shape_cube
from wide_table import write_wide
from written_bundles import bundle_content, change_package, report_of

SCRIPT = "<script>alert(1)</script>"
NASTY = (SCRIPT, "</title><img src=x onerror=alert(1)>", 'a "b" & c', "{{ 7 * 7 }}", "' onload='alert(1)")


def people() -> pd.DataFrame:
    rng, rows = np.random.default_rng(5), 600
    age = rng.integers(20, 60, rows)
    ill = np.where(rng.random(rows) < age / 100, "flu", rng.choice(NASTY, rows))
    town = np.where(age < 40, SCRIPT, rng.choice(["Anytown", "</style>", "</svg>"], rows))
    return pd.DataFrame(
        {"age": age, "sex": rng.choice(["f", "m"], rows), "<b>town</b>": town, "disease": ill, "shoe": np.arange(rows)}
    )


MARGINS = [{"age": 1, "disease": 0}, {"<b>town</b>": 0, "disease": 0}, {"age": 2, "sex": 0}]


@pytest.fixture(scope="module")
def publication() -> Any:
    roles = dict.fromkeys(("sex", "<b>town</b>", "shoe"), "quasi-identifier") | {"disease": "sensitive"}
    attributes = {"age": Attribute("quasi-identifier", intervals=[5, 10]), **roles}
    policy = Policy(k_link=5, diversity="entropy:2", base="none", must_publish=MARGINS, strategy=required_only)
    return marginals.publish(marginals.read_table(people(), attributes), policy)


@pytest.fixture(scope="module")
def release(publication: Any) -> Release:
    return publication.release  # type: ignore[no-any-return]


@pytest.fixture
def bundle(release: Release, tmp_path: Path) -> Path:
    release.write(tmp_path / "release")
    return tmp_path / "release"


def test_labels_stay_text_and_nothing_is_loaded(release: Release) -> None:
    content = report_of(release.published)
    page = Page(content)
    assert_self_contained(page)
    assert SCRIPT not in content.decode()
    assert html.escape(SCRIPT) in content.decode()
    assert SCRIPT in [text.strip() for text in page.text]
    style = next(text for text in page.text if ":root" in text)
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_has_headings_in_order_alternatives_for_pictures_and_what_the_claims_say(release: Release) -> None:
    page = Page(report_of(release.published))
    assert_headings_in_order(page)
    for picture in page.all("svg"):
        assert picture.get("aria-hidden") == "true" or picture["role"] == "img"
    assert page.all("html")[0]["lang"] == "en"
    assert all("scope" in head for head in page.all("th"))
    text = " ".join(" ".join(page.text).split())
    assert all(label in text for finding in release.verify().checks for label in finding.worst_class.cell.values())
    assert f"{release.model.total:,}" in text
    assert f"Assumed independences: {len(release.model.independences())} statement" in text


def test_every_number_comes_from_the_published_files(release: Release, bundle: Path) -> None:
    """A report of the files alone is the one that was written with them, to the byte; twice, too."""
    written = (bundle / "report.html").read_bytes()
    opened = open_release(bundle)
    assert written == report_of(opened.published) == report_of(opened.published) == report_of(release.published)


@pytest.mark.parametrize(
    "listed",
    [1, {}, {"path": 7}, {"path": "../x"}, {"path": "none.html", "bytes": 1, "hash": ""}, {"path": "report.html"}],
)
def test_a_report_that_is_listed_badly_is_a_matter_of_integrity(bundle: Path, listed: object) -> None:
    change_package(bundle, lambda package: package["release"].update(report=listed))
    assert marginals.verify(bundle).checks[0].holds is False


def test_of_a_bundle_without_a_report_one_can_be_written(bundle: Path, tmp_path: Path) -> None:

    def change(package: dict[str, Any]) -> None:
        del package["release"]["report"]
        package["description"], package["release"]["theirs"] = "Somebody's", [1, {"a": None}]
        package["resources"].append({"name": "notes", "path": "notes.txt"})

    change_package(bundle, change)
    (bundle / "notes.txt").write_text("ours")
    written = (bundle / "report.html").read_bytes()
    (bundle / "report.html").unlink()
    before = contents(bundle)
    assert marginals.verify(bundle).ok
    answer = json.loads(run("verify", bundle, "--report", tmp_path / "page.html", "--json").stdout)
    assert (answer["report"], answer["ok"]) == (str(tmp_path / "page.html"), True)
    assert (tmp_path / "page.html").read_bytes() == written
    assert contents(bundle) == before
    for arguments in ((bundle, "--report", tmp_path / "page.html"), (bundle, "--report", bundle / "page.html")):
        assert run("verify", *arguments).exit_code == 2, "it is there already; the files of a bundle belong together"
    assert run("verify", bundle, bundle, "--report", tmp_path / "two.html").exit_code == 2
    assert "marginals verify RELEASE --report FILE" in run("report", bundle).stderr


@pytest.mark.parametrize("shape", sorted(set(SHAPES) - {"empty"}))
def test_collections_of_every_shape_are_drawn(shape: str) -> None:
    collection = Collection.of(shape_cube(), [SHAPE_DOMAIN.mask(margin) for margin in SHAPES[shape]])
    roles = {name: Role.SENSITIVE if name == "b" else Role.QUASI_IDENTIFIER for name in SHAPE_DOMAIN.attributes}
    claims = Policy(k_link=2, k_combinatorial=2, diversity="distinct:2").requirements(("b",)).claims
    page = Page(report_of(bundle_content(collection, roles, claims)))
    assert_self_contained(page)
    assert ("form no junction tree" in " ".join(page.text)) is (shape in NOT_DECOMPOSABLE)


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_it_fits_reads_well_and_runs_nothing(
    browser: Any, bundle: Path, publication: Any, width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto((bundle / "report.html").as_uri())
    assert page.locator("h1").inner_text() == "Anonymized marginals"
    assert page.locator("th", has_text=SCRIPT).count() > 0
    assert page.evaluate("document.scripts.length") == 0
    for fold in ("", "document.querySelectorAll('details').forEach(fold => fold.open = true)"):
        page.evaluate(fold)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert len(page.screenshot(full_page=True)) > 50_000
    (bundle.parent / "steward.html").write_bytes(publication.steward.page(publication.steward))
    page.goto((bundle.parent / "steward.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [url for url in asked if not url.startswith("file:")] == []
    assert said == []
    context.close()


def test_it_prints_in_light_colours_on_a_few_pages(browser: Any, bundle: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto((bundle / "report.html").as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    assert page.locator("footer").is_hidden(), "it would stand on a page of its own"
    printed = page.pdf(format="A4")
    assert 2 <= len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 8
    page.close()


def test_a_release_of_very_many_attributes_counts_its_pairs_and_lists_none() -> None:
    frame = pd.DataFrame({f"q{number:02}": ["x", "y"] * 10 for number in range(30)})
    table = marginals.read_table(frame, dict.fromkeys(frame.columns, "quasi-identifier"))
    collection = Collection.of(table.cube, [table.domain.mask({name: 0}) for name in frame.columns])
    page = Page(report_of(bundle_content(collection, table.roles, (KLink(2),))))
    assert any("of 435 pairs of columns" in text for text in page.texts("p"))
    assert not any(name.startswith("How two attributes") for name, _ in page.tables)


@pytest.mark.parametrize("columns", [20, 24])
def test_the_steward_reads_five_screens_at_most_and_a_board_one_whole_sheet(
    browser: Any, tmp_path: Path, columns: int
) -> None:
    config = write_wide(tmp_path / "project", columns)
    assert marginals_command("publish", config, "--out", config.parent / "release").returncode == 0
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto((config.parent / "release-steward.html").as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") <= 5 * 900
    folded = page.locator("details:not([open]) > summary").all_inner_texts()
    assert any("of the search" in summary for summary in folded)
    page.close()
    page = browser.new_page(viewport={"width": 703, "height": 1032})  # A4 less its margins
    page.goto((config.parent / "release" / "report.html").as_uri())
    page.add_style_tag(content="main > section:not([aria-labelledby=short]) { display: none; }")
    page.emulate_media(media="print")
    assert len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4"))) == 1
    cut = "[...document.querySelectorAll('.scroll')].filter(part => part.scrollWidth > part.clientWidth + 1).length"
    assert page.evaluate(cut) == 0
    page.close()
