"""The report begins for those who decide: what is published, how well protected, and what it is good for.

All of it follows from the published files; pairs of attributes are compared with what the files themselves show.
"""

import re
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import marginals
from checks import KLink
from html_pages import Page
from marginals import Attribute, Policy, Release
from marginals.pages.release_page import pairs_shown
from marginals.publishing.publishing import Publication
from models import Collection
from strategies import decomposable_collections
from written_bundles import bundle_content, report_of


@given(decomposable_collections())
@settings(max_examples=60)
def test_pairs_are_what_the_margins_show(collection: Collection) -> None:
    """Published where one margin has as many values of both as any has, supported where it has several of both at least;
    linked through others, by trying every chain.
    """
    shown = pairs_shown(collection)
    values = [{a: collection.domain.hierarchy(a).size(level) for a, level in m.items()} for m in collection.margins]
    most = {a: max((own[a] for own in values if a in own), default=0) for a in collection.domain.attributes}
    telling = [{a for a, number in own.items() if number > 1 or most[a] == 1} for own in values]

    def reached(start: str) -> set[str]:
        known = {start}
        for _ in telling:
            known |= {name for margin in telling if margin & known for name in margin}
        return known

    assert [pair.names for pair in shown.listed] == list(combinations(collection.domain.attributes, 2))
    for pair in shown.listed:
        a, b = pair.names
        assert shown.kinds[a, b] == shown.kinds[b, a] == pair.kind
        if not (most[a] and most[b]):
            assert pair.kind == "unpublished"
        elif any({a, b} <= own.keys() and (own[a], own[b]) == (most[a], most[b]) for own in values):
            assert pair.kind == "published"
        elif any({a, b} <= margin for margin in telling):
            assert pair.kind == "supported"
        else:
            assert pair.kind == "assumed"
            assert pair.is_linked == (b in reached(a))
        assert bool(pair.shown) == (pair.kind in ("published", "supported"))
    names = len(collection.domain.attributes)
    assert shown.total == names * (names - 1) // 2
    assert all(shown.numbers[kind] == len(shown.of_kind(kind)) for kind in shown.numbers)


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
MARGINS = [{"age": 1, "disease": 0}, {"town": 0, "disease": 0}, {"age": 2, "sex": 0}]


@pytest.fixture(scope="module")
def publication() -> Publication:
    policy = Policy(k_link=5, diversity="entropy:2", base="none", must_publish=MARGINS, start="nothing", time_limit=0)
    return marginals.publish(marginals.read_table(people(), ATTRIBUTES), policy)


@pytest.fixture(scope="module")
def release(publication: Publication) -> Release:
    return publication.release


@pytest.fixture(scope="module")
def page(release: Release) -> Page:
    return Page(report_of(release.published))


def test_the_report_begins_with_its_claims_what_can_be_analysed_and_what_is_published(page: Page) -> None:
    assert page.texts("h2")[0] == "Summary"
    assert page.texts("dt")[:3] == ["Protected", "Can be analysed", "Published"]
    protected, good_for, what = page.texts("dd")[:3]
    assert what == (
        "600 rows of a table, counted by age (5-year bands), sex, town, and disease; disease is sensitive, what nobody "
        "should learn about a person. Nothing is published of shoe. The table itself is not published."
    )
    assert protected.startswith("2 of 2 claims are proven, by these tables alone, for a reader who has all of them:")
    assert "Each class of a published table (disease set aside) has at least 5 rows. Closest case: " in protected
    assert good_for == (
        "Of the 10 pairs of attributes 2 are published in one table, so their cross tables are exact; 1 is supported: a "
        "table shows both, but coarser than each is published by itself; 3 are assumed: no table shows both, so what is "
        "said of how they go together is an assumption; 4 have an attribute of which nothing is published. Which pairs "
        "those are."
    )


def test_every_pair_stands_in_the_table_of_pairs(page: Page, release: Release, tmp_path: Path) -> None:
    """By the header of each published file."""
    release.write(tmp_path / "release")
    together = {
        frozenset(pair)
        for path in (tmp_path / "release" / "marginals").iterdir()
        for pair in combinations(path.read_text().splitlines()[0].split(",")[:-1], 2)
    }
    _, *numbers = page.header("How two attributes can be compared")
    rows = page.rows("How two attributes can be compared")
    names = [row[0].partition(" ")[2] for row in rows]
    assert [row[0].partition(" ")[0] for row in rows] == numbers
    assert names == list(release.domain.attributes)
    said = {name: dict(zip(names, row[1:])) for name, row in zip(names, rows)}
    for a, b in combinations(names, 2):
        assert said[a][b] == said[b][a]
        assert (said[a][b] in "\u25cf\u25d0") is (frozenset([a, b]) in together)
        assert (said[a][b] in "\u25cf\u25d0") is bool(release.supports([a, b]))
    assert said["age"]["disease"] == "\u25cf"
    assert said["age"]["sex"] == "\u25d0"
    assert said["town"]["sex"] == said["age"]["town"] == "\u25cb"
    assert said["shoe"]["age"] == "\u2013"
    listed = page.texts("li")
    assert "age in 5-year bands with disease" in listed
    assert "age in 10-year bands with sex" in listed
    assert {"age with town", "sex with town", "sex with disease"} <= set(listed)


def test_certain_counts_beside_proven_claims_are_explained(page: Page) -> None:
    (section,) = page.texts("section", aria_labelledby="attackers") or [" ".join(page.text)]
    said = " ".join(section.split())
    assert "An exact count does not break a claim." in said
    assert "2 of 2 are proven whatever is exact here" in said
    assert "so a count of a class and one of its sensitive values can be below k" in said


def test_a_release_of_very_many_attributes_counts_its_pairs_and_lists_none() -> None:
    frame = pd.DataFrame({f"q{number:02}": ["x", "y"] * 10 for number in range(30)})
    table = marginals.read_table(frame, dict.fromkeys(frame.columns, "quasi-identifier"))
    collection = Collection.of(table.cube, [table.domain.mask({name: 0}) for name in frame.columns])
    page = Page(report_of(bundle_content(collection, table.roles, (KLink(2),))))
    assert "Of the 435 pairs of attributes 0 are published in one table" in page.texts("dd")[1]
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


def test_pages_are_right_on_a_narrow_screen(publication: Publication) -> None:
    """Each table scrolls by itself, nothing has a width in pixels or must stay on one line, and long words break."""
    for content in (report_of(publication.release.published), publication.steward.page(publication.steward)):
        held = Holders(content)
        assert held.tables
        assert all("scroll" in classes for classes in held.tables)
        style = re.search(r"<style>(.*?)</style>", content.decode(), re.DOTALL)
        assert style is not None
        assert not re.search(r"(?<![-\w])(?:min-)?width:\s*[0-9.]+(?:px|rem|em)", style[1]), "no fixed width"
        assert ".scroll { overflow-x: auto;" in style[1]
        assert "overflow-wrap: anywhere" in style[1]
        assert re.search(r'<meta name="viewport" content="width=device-width', content.decode())
