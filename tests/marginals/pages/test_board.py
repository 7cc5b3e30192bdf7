"""The report begins for those who decide: what is published, how well protected, and what it is good for.

All of it follows from the published files; pairs of attributes are compared with what the files themselves show.
"""

import re
from html.parser import HTMLParser
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import marginals
from checks.claims.k_link import KLink
from html_pages import Page
from marginals import Attribute, Policy, Release
from marginals.bundle.content import BundleContent
from marginals.pages.pairs import pairs_shown
from marginals.pages.release_page import report_html
from models.graphs.collection import Collection
from strategies import decomposable_collections


@given(decomposable_collections())
@settings(max_examples=60)
def test_pairs_are_what_the_margins_show(collection: Collection) -> None:
    """Exact where one margin has both, estimated where a chain of margins links them, by trying every chain."""
    pairs = pairs_shown(collection)
    margins = [set(margin) for margin in collection.margins]

    def reached(start: str) -> set[str]:
        known = {start}
        for _ in margins:
            known |= {name for margin in margins if margin & known for name in margin}
        return known

    for a, b in combinations(collection.domain.attributes, 2):
        pair = pairs.by_names[a, b]
        assert pairs.by_names[b, a] == pair
        if any({a, b} <= margin for margin in margins):
            assert pair.kind == "exact"
            assert pair.levels
        elif not all(any(name in margin for margin in margins) for name in (a, b)):
            assert pair.kind == "unpublished"
        else:
            assert pair.kind == ("estimated" if b in reached(a) else "unlinked")
    names = len(collection.domain.attributes)
    assert pairs.total == names * (names - 1) // 2


def people() -> pd.DataFrame:
    rng, rows = np.random.default_rng(5), 600
    age = rng.integers(20, 60, rows)
    ill = np.where(rng.random(rows) < age / 100, "flu", rng.choice(["cold", "gout"], rows))
    town = np.where(age < 40, "Aix", rng.choice(["Ulm", "Ely"], rows))
    return pd.DataFrame(
        {"age": age, "sex": rng.choice(["f", "m"], rows), "town": town, "disease": ill, "shoe": np.arange(rows)}
    )


ATTRIBUTES = {
    "age": Attribute("quasi-identifier", intervals=[5, 10]),
    "sex": "quasi-identifier",
    "town": "quasi-identifier",
    "shoe": "quasi-identifier",
    "disease": "sensitive",
}
MARGINS = [{"age": 1, "disease": 0}, {"town": 0, "disease": 0}, {"sex": 0}]


@pytest.fixture(scope="module")
def release() -> Release:
    policy = Policy(k_link=5, diversity="entropy:2", base="none", must_publish=MARGINS, start="nothing", time_limit=0)
    return marginals.publish(marginals.read_table(people(), ATTRIBUTES), policy)


@pytest.fixture(scope="module")
def page(release: Release) -> Page:
    return Page(report_html(release.published))


def test_the_report_begins_with_what_how_well_protected_and_what_for(page: Page) -> None:
    assert page.texts("h2")[0] == "In short"
    assert page.texts("dt")[:3] == ["What is published", "How well it is protected", "What it is good for"]
    what, protected, good_for = page.texts("dd")[:3]
    assert what == (
        "600 rows of a table, counted by age (5-year bands), sex, town, and disease; disease is sensitive, what nobody "
        "should learn about a person. Nothing is published of shoe. The table itself is not published."
    )
    assert protected.startswith("2 of 2 claims are proven, by these tables alone, for a reader who has all of them:")
    assert "Each class of a published table (disease set aside) has at least 5 rows. Nearest to failing: " in protected
    assert good_for == (
        "Of the 10 pairs of attributes 2 are counted together in a table, so their cross tables are exact at the levels of "
        "that table; 1 is linked through others and can be estimated; 3 are linked by nothing, so nothing can be said of "
        "how they go together; 4 have an attribute of which nothing is published. Which pairs those are."
    )


def test_every_pair_stands_in_the_table_of_pairs(page: Page, release: Release, tmp_path: Path) -> None:
    """By the header of each published file."""
    release.write(tmp_path / "release")
    together = {
        frozenset(pair)
        for path in (tmp_path / "release" / "marginals").iterdir()
        for pair in combinations(path.read_text().splitlines()[0].split(",")[:-1], 2)
    }
    _, *names = page.header("How two attributes can be compared")
    said = {row[0]: dict(zip(names, row[1:])) for row in page.rows("How two attributes can be compared")}
    for a, b in product(names, names):
        assert (said[a][b] == "exact") is (frozenset([a, b]) in together)
    assert said["age"]["town"] == "estimated"
    assert said["sex"]["age"] == "no link"
    assert said["shoe"]["age"] == "\u2013"
    assert "age in 5-year bands with disease" in page.texts("li")


def test_certain_counts_beside_proven_claims_are_explained(page: Page) -> None:
    (section,) = page.texts("section", aria_labelledby="attackers") or [" ".join(page.text)]
    said = " ".join(section.split())
    assert "A certain count is no broken claim." in said
    assert "2 of 2 are proven whatever is certain here" in said
    assert "so a count of a class and one of its sensitive values can be below k" in said


def test_a_release_of_very_many_attributes_counts_its_pairs_and_lists_none() -> None:
    frame = pd.DataFrame({f"q{number:02}": ["x", "y"] * 10 for number in range(30)})
    table = marginals.read_table(frame, dict.fromkeys(frame.columns, "quasi-identifier"))
    collection = Collection.of(table.cube, [table.domain.mask({name: 0}) for name in frame.columns])
    page = Page(report_html(BundleContent(collection, table.roles, (KLink(2),))))
    assert "Of the 435 pairs of attributes 0 are counted together" in page.texts("dd")[2]
    assert not any(name.startswith("How two attributes") for name, _ in page.tables)


class Holders(HTMLParser):
    """For each table the classes of the elements that it lies in."""

    VOID = frozenset(["meta", "link", "img", "br", "hr", "input"])

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.around: list[set[str]] = []
        self.tables: list[set[str]] = []
        self.feed(content.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append(set().union(*self.around))
        if tag not in self.VOID:
            self.around.append(set((dict(attrs).get("class") or "").split()))

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - as HTMLParser calls it
        self.around.pop()


def test_pages_are_right_on_a_narrow_screen(release: Release) -> None:
    """Each table scrolls by itself, nothing has a width in pixels or must stay on one line, and long words break."""
    assert release.steward is not None
    for content in (report_html(release.published), release.steward.page(release.steward)):
        held = Holders(content)
        assert held.tables
        assert all("scroll" in classes for classes in held.tables)
        style = re.search(r"<style>(.*?)</style>", content.decode(), re.DOTALL)
        assert style is not None
        assert not re.search(r"(?<![-\w])(?:min-)?width:\s*[0-9.]+(?:px|rem|em)", style[1]), "no fixed width"
        assert ".scroll { overflow-x: auto;" in style[1]
        assert "overflow-wrap: anywhere" in style[1]
        assert re.search(r'<meta name="viewport" content="width=device-width', content.decode())
