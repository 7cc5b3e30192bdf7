"""The report shows what is published and nothing more, the same bytes each time, safely, in a real browser too."""

import html
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings

import marginals
from checks import Algorithm, Finding, KLink, Verdict
from command_line import main
from html_pages import CONTRAST, Page, assert_self_contained
from marginals import Attribute, InputError, Policy, Release, Role, open_release
from marginals.pages.release_page import finest_pairs, interaction_picture, tree_picture
from marginals.wording import in_words
from models import Collection, Domain, Margin
from small_release import write_config
from strategies import NOT_DECOMPOSABLE, SHAPE_DOMAIN, SHAPES, decomposable_collections, shape_cube
from written_bundles import bundle_content, report_of, write_bundle

SCRIPT = "<script>alert(1)</script>"
NASTY = (SCRIPT, "</title><img src=x onerror=alert(1)>", 'a "b" & c', "{{ 7 * 7 }}", "' onload='alert(1)")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def people(rows: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(20, 60, rows)
    town = rng.choice([SCRIPT, "Anytown", "</style>", "</svg>"], rows)
    ill = np.where(rng.random(rows) < age / 100, "flu", rng.choice(NASTY, rows))
    return pd.DataFrame({"age": age, "<b>town</b>": town, "disease": ill})


def published(objective: str) -> Release:
    attributes = {
        "age": Attribute("quasi-identifier", intervals=[5, 10]),
        "<b>town</b>": "quasi-identifier",
        "disease": "sensitive",
    }
    policy = Policy(k_link=5, k_combinatorial=5, diversity="entropy:2", objective=objective)
    return marginals.publish(marginals.read_table(people(), attributes), policy).release


@pytest.fixture(scope="module")
def release() -> Release:
    """Several tables show the disease, also with the town, which chance explains."""
    return published("kl")


@pytest.fixture
def bundle(release: Release, tmp_path: Path) -> Path:
    release.write(tmp_path / "release")
    return tmp_path / "release"


def test_the_examples_are_published_labels() -> None:
    """Where the tables show ages by their first digit only, no age stands on the page."""
    frame = people().assign(age=lambda frame: frame["age"].map("{}years".format))
    attributes = {"age": Attribute("quasi-identifier", prefixes=[1]), "disease": "sensitive"}
    release = marginals.publish(marginals.read_table(frame, attributes), Policy(k_link=100, diversity="none")).release
    assert release.domain.hierarchy("age").labels == (("2******", "3******", "4******", "5******"), ("*",))
    page = report_of(release.published).decode()
    assert "2******" in page
    assert "years" not in page


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
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:]))
    for picture in page.all("svg"):
        assert picture.get("aria-hidden") == "true" or picture["role"] == "img"
    assert page.all("html")[0]["lang"] == "en"
    assert all("scope" in head for head in page.all("th"))
    text = " ".join(" ".join(page.text).split())
    for finding in release.verify().checks:
        assert finding.holds
        assert finding.worst is not None
        for label in finding.worst_class.cell.values():
            assert label in text
    assert f"{release.rows:,}" in text
    assert all(html.escape(sentence) in report_of(release.published).decode() for sentence in release.independences())
    for said in ("differential privacy", "deFinetti", "composition attack", "open_release", "read.csv", "no fact more"):
        assert said in text


def test_every_number_comes_from_the_published_files(release: Release, bundle: Path) -> None:
    """A report of the files alone is the one that was written with them, to the byte; twice, too."""
    written = (bundle / "report.html").read_bytes()
    assert written == report_of(open_release(bundle).published)
    assert written == report_of(open_release(bundle).published)
    assert written == report_of(release.published)


def test_the_distributions_are_the_published_counts(bundle: Path) -> None:
    opened = marginals.open_release(bundle)
    cells = re.findall(
        r'<th scope="row">([^<]*)</th><td class="num">([\d,]+)</td>', (bundle / "report.html").read_text()
    )
    shown = {(html.unescape(label), int(count.replace(",", ""))) for label, count in cells}
    for attribute in ("<b>town</b>", "disease"):
        for label, count in opened.marginal({attribute: 0}).items():
            assert (label, count) in shown


def test_the_descriptor_lists_the_report_and_verify_notices_a_changed_one(bundle: Path) -> None:
    listed = json.loads((bundle / "datapackage.json").read_text())["release"]["report"]
    assert listed["path"] == "report.html"
    assert listed["bytes"] == len((bundle / "report.html").read_bytes())
    assert marginals.verify(bundle).ok
    (bundle / "report.html").write_bytes((bundle / "report.html").read_bytes().replace(b"holds", b"HOLDS", 1))
    found = marginals.verify(bundle).checks
    assert [finding.holds for finding in found] == [False]
    assert found[0].worst is not None
    assert found[0].worst.file == "report.html"
    assert marginals.open_release(bundle).verify().ok, "no number is read from the page"
    assert run("report", bundle).exit_code == 0
    assert marginals.verify(bundle).ok


@pytest.mark.parametrize(
    "listed",
    [1, {}, {"path": 7}, {"path": "../x"}, {"path": "none.html", "bytes": 1, "hash": ""}, {"path": "report.html"}],
)
def test_a_report_that_is_listed_badly_is_a_matter_of_integrity(bundle: Path, listed: object) -> None:
    package = json.loads((bundle / "datapackage.json").read_text())
    package["release"]["report"] = listed
    (bundle / "datapackage.json").write_text(json.dumps(package))
    (bundle / "datapackage.json.sha256").unlink()
    assert marginals.verify(bundle).checks[0].holds is False
    assert run("report", bundle).exit_code == 0
    assert marginals.verify(bundle).ok


def test_a_bundle_without_a_report_is_as_good_and_can_get_one(bundle: Path, tmp_path: Path) -> None:
    """Everything else in the bundle stays, whoever wrote it; with -o all of it does."""
    package = json.loads((bundle / "datapackage.json").read_text())
    del package["release"]["report"]
    package["description"], package["release"]["theirs"] = "Somebody's", [1, {"a": None}]
    package["resources"].append({"name": "notes", "path": "notes.txt"})
    (bundle / "datapackage.json.sha256").unlink()
    (bundle / "datapackage.json").write_text(json.dumps(package))
    (bundle / "notes.txt").write_text("ours")
    written = (bundle / "report.html").read_bytes()
    (bundle / "report.html").unlink()
    assert marginals.verify(bundle).ok
    result = run("report", bundle, "-o", tmp_path / "page.html", "--json")
    assert json.loads(result.stdout)["out"] == str(tmp_path / "page.html")
    assert json.loads(result.stdout)["ok"] is True
    assert (tmp_path / "page.html").read_bytes() == written
    assert not (bundle / "report.html").exists()
    assert run("report", bundle).exit_code == 0
    assert (bundle / "report.html").read_bytes() == written
    assert (bundle / "notes.txt").read_text() == "ours"
    after = json.loads((bundle / "datapackage.json").read_text())
    assert after["release"].pop("report")["hash"].startswith("sha256:")
    assert after == package
    assert marginals.verify(bundle).ok


def test_putting_a_report_that_fails_midway_leaves_a_bundle_that_verifies(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bundle / "report.html").write_text("old")
    release = marginals.open_release(bundle)
    original = Path.replace
    for allowed in (0, 1, 2):
        done = iter(range(allowed))

        def failing(self: Path, target: Path, done: Iterator[int] = done) -> Path:
            if next(done, None) is None:
                raise OSError(28, "No space left on device")
            return original(self, target)

        monkeypatch.setattr(Path, "replace", failing)
        with pytest.raises(InputError, match="No space left"):
            release.write_report()
        monkeypatch.undo()
        assert marginals.verify(bundle).ok is (allowed > 0)
        assert {path.name for path in bundle.iterdir()} <= {
            "datapackage.json",
            "hierarchies",
            "marginals",
            "report.html",
        }


def test_a_claim_that_fails_is_said_loudly_and_exits_1(release: Release, tmp_path: Path) -> None:
    package_with_more = Policy(k_link=400).requirements(("disease",)).claims
    published = bundle_content(release.collection, release.published.roles, package_with_more)
    write_bundle(published, tmp_path / "release")
    result = run("report", tmp_path / "release")
    assert result.exit_code == 1
    page = (tmp_path / "release" / "report.html").read_text()
    assert "fails</span>" in page
    assert "0 of 1" in page
    assert "What analysts can use" in page


def test_a_release_in_no_folder_needs_a_file_for_its_report(release: Release, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        release.write_report()
    release.write_report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes().startswith(b"<!doctype html>")
    with pytest.raises(InputError, match="cannot be written"):
        release.write_report(tmp_path / "page.html" / "page.html")
    assert run("report", tmp_path).exit_code == 2


def test_a_report_is_not_written_into_another_release_that_took_the_place_of_its_own(
    release: Release, tmp_path: Path
) -> None:
    opened = release.write(tmp_path / "release")
    opened.write_report()
    read = marginals.open_release(tmp_path / "release")
    other = bundle_content(
        release.collection, release.published.roles, Policy(k_link=2).requirements(("disease",)).claims
    )
    write_bundle(other, tmp_path / "release")
    before = {path: path.read_bytes() for path in (tmp_path / "release").rglob("*") if path.is_file()}
    for of_the_old in (opened, read):
        with pytest.raises(InputError, match="holds another release"):
            of_the_old.write_report()
    assert {path: path.read_bytes() for path in (tmp_path / "release").rglob("*") if path.is_file()} == before


def roles(domain: Domain) -> dict[str, Role]:
    names = domain.attributes
    return dict.fromkeys(names[:-1], Role.QUASI_IDENTIFIER) | {names[-1]: Role.SENSITIVE}


@pytest.mark.parametrize("shape", sorted(set(SHAPES) - {"empty"}))
def test_collections_of_every_shape_are_drawn(shape: str) -> None:
    collection = Collection.of(shape_cube(), [SHAPE_DOMAIN.mask(margin) for margin in SHAPES[shape]])
    claims = Policy(k_link=2, k_combinatorial=2, diversity="distinct:2").requirements(("b",)).claims
    page = Page(report_of(bundle_content(collection, roles(SHAPE_DOMAIN), claims)))
    assert_self_contained(page)
    assert ("form no junction tree" in " ".join(page.text)) is (shape in NOT_DECOMPOSABLE)


@given(decomposable_collections())
@settings(max_examples=40)
def test_pictures_show_what_the_collection_says(collection: Collection) -> None:
    """Capsules hold the levels shown, edges the pairs with all coarser ones make the graph, boxes are the tree's."""
    if not collection.masks:
        return
    picture = interaction_picture(collection)
    beads = {(capsule.attribute, bead.level) for capsule in picture.capsules for bead in capsule.beads}
    assert beads == {item for margin in collection.margins for item in margin.items()}
    graph = collection.interaction_graph.to_networkx()
    coarser = {
        frozenset([(a, k), (b, m)])
        for a, i, b, j in finest_pairs(collection.margins)
        for k in range(i, collection.domain.hierarchy(a).height)
        for m in range(j, collection.domain.hierarchy(b).height)
    }
    assert coarser == {frozenset([tuple(u), tuple(v)]) for u, v in graph.edges if u.attribute != v.attribute}
    assert len(picture.edges) == len(finest_pairs(collection.margins))
    for one in picture.capsules:
        assert one.x >= 0
        assert one.x + one.width <= 380
        for other in picture.capsules:
            apart = abs(one.x - other.x) >= min(one.width, other.width) or abs(one.y - other.y) >= one.height
            assert one is other or apart
    tree = tree_picture(collection)
    assert len(tree.boxes) == len(collection.junction_tree.cliques)
    assert sum(box.elbow is not None for box in tree.boxes) == collection.junction_tree.graph().number_of_edges()
    assert all(box.x + box.width <= 380 for box in tree.boxes)


def test_many_values_are_drawn_coarser_or_the_most_frequent_only() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"year": rng.integers(1000, 2000, 5000), "word": [f"w{v}" for v in rng.geometric(0.01, 5000)]})
    table = marginals.read_table(
        frame, {"year": Attribute("quasi-identifier", intervals=[10, 50]), "word": "quasi-identifier"}
    )
    collection = Collection.of(table.cube, [table.domain.mask({name: 0}) for name in ("year", "word")])
    text = " ".join(Page(report_of(bundle_content(collection, table.roles))).text)
    assert "are published, and too fine to draw" in text
    assert "other values" in text
    assert "No diversity is claimed" in text


def test_finest_pairs_leave_out_what_finer_ones_imply() -> None:
    margins = [Margin({"a": 1, "b": 0}), Margin({"a": 0, "b": 1}), Margin({"a": 1, "b": 1}), Margin({"c": 0})]
    assert finest_pairs(margins) == [("a", 0, "b", 1), ("a", 1, "b", 0)]


def test_the_templates_are_package_data() -> None:
    folder = files("marginals.pages") / "templates"
    assert {file.name for file in folder.iterdir()} >= {"report.html", "report.css"}


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_it_fits_reads_well_and_runs_nothing(
    browser: Any, bundle: Path, tmp_path: Path, width: int, scheme: str
) -> None:
    """WCAG 2 asks for a contrast of 4.5 to 1. The screenshot must not be one colour. Unfolded, too."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto((bundle / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").inner_text() == "Anonymized marginals"
    assert page.locator("th", has_text=SCRIPT).count() > 0
    assert page.evaluate("document.scripts.length") == 0
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where
    small = "Math.min(...[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height))"
    assert page.evaluate(small) >= 11
    assert len(page.screenshot(path=tmp_path / "page.png", full_page=True)) > 50_000
    assert [url for url in asked if not url.startswith("file:")] == []
    assert said == []
    context.close()


@pytest.mark.parametrize("objective", ["corrected", "kl"])
def test_it_prints_in_light_colours_on_a_few_pages(browser: Any, objective: str, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_bytes(report_of(published(objective).published))
    page = browser.new_page(color_scheme="dark")
    page.goto((tmp_path / "report.html").as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    assert page.locator("footer").is_hidden(), "it would stand on a page of its own"
    printed = page.pdf(format="A4")
    assert 2 <= len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 8
    page.close()


def test_the_page_calls_a_release_as_its_config_does(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    config.write_text('[release]\ntitle = "Falls on ward <5>, 2025"\n' + config.read_text())
    assert run("publish", config, "--out", tmp_path / "release").exit_code == 0
    assert json.loads((tmp_path / "release" / "datapackage.json").read_text())["title"] == "Falls on ward <5>, 2025"
    written = (tmp_path / "release" / "report.html").read_bytes()
    assert b"<h1>Falls on ward &lt;5&gt;, 2025</h1>" in written
    assert written == report_of(open_release(tmp_path / "release").published)


@pytest.mark.parametrize("title", ["7", '""', r'"a\nb"', f'"{"x" * 201}"'])
def test_a_title_that_is_none_is_refused(tmp_path: Path, title: str) -> None:
    config = write_config(tmp_path)
    config.write_text(f"[release]\ntitle = {title}\n" + config.read_text())
    with pytest.raises(InputError, match=r"release\.title must be one line of text"):
        marginals.read_config(config)


def test_a_single_table_is_spoken_of_in_the_singular(release: Release) -> None:
    single = Collection.of(release.collection.cube, release.collection.masks[:1])
    text = " ".join(" ".join(Page(report_of(bundle_content(single, release.published.roles))).text).split())
    assert "1 table of counts, made from" in text
    assert "It shows some of the attributes" in text


@pytest.mark.parametrize("algorithm", Algorithm)
def test_how_a_claim_was_decided_is_said_in_plain_words(algorithm: Algorithm) -> None:
    finding = Finding("k-link", Verdict.HOLDS, {"k": 2}, None, (Algorithm.ITERATIVE_FITTING, algorithm), 1)
    how = in_words(KLink(2), finding, ()).how
    plain, sentence = (re.sub(r" \(.*?\)", "", text) for text in (how, algorithm.sentence))
    assert plain.startswith("Decided by ")
    assert f", then {sentence}" in plain
    assert not re.search(r"hull|k-link|fitting,|supports|vector", plain)
