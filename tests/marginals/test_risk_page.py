"""The page of `marginals risk --report`: it stands alone, warns its reader, and shows the numbers but no row's value."""

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import marginals
from checks.risk.frontier import Frontier
from checks.risk.objective import LeastRisk, MostUtility, TradeOff
from html_pages import CONTRAST, Page, assert_self_contained
from marginals.command_line import main
from marginals.risk import BundleRisk, are_comparable
from marginals.risk_page import in_words, risk_html
from marginals.risk_pictures import Plot, frontier_picture, loss_histogram, releases_picture
from marginals.risk_report import RiskReport

CONFIG = """
[data]
path = "table.csv"
[attributes.id]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
intervals = [10, 20]
[attributes."<b>town</b>"]
role = "quasi-identifier"
[attributes.illness]
role = "sensitive"
[privacy]
k_link = 2
[risk]
dictionaries = ["<i>voters.csv", "club.csv"]
prior = [0.25, 0.75]
weights = { illness = 2.0, age = 0.5, car = 1.0 }
[[risk.interactions]]
attributes = ["age", "illness"]
weight = 0.25
[[risk.rules]]
attribute = "age"
level = 1
condition = "id == 'Quincy'"
[risk.linkage]
table = "public.csv"
columns = ["car"]
"""

TOWNS = ["Amherst"] * 20 + ["Buffalo"] * 20
TABLE = pd.DataFrame(
    {
        "id": ["Quincy", *(f"p{i}" for i in range(1, 40))],
        "age": [20 + i for i in range(40)],
        "<b>town</b>": TOWNS,
        "illness": ["flu", "measles"] * 20,
    }
)
"""Letters only in values of the rows, so that they can be looked for on the page."""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    TABLE[["age", "<b>town</b>"]].to_csv(tmp_path / "<i>voters.csv", index=False)
    TABLE[["<b>town</b>"]].to_csv(tmp_path / "club.csv", index=False)
    TABLE[["<b>town</b>"]].iloc[::7].assign(car="Trabant").to_csv(tmp_path / "public.csv", index=False)
    (tmp_path / "release.toml").write_text(CONFIG)
    return tmp_path / "release.toml"


def written(config: Path, *arguments: object) -> bytes:
    target = config.parent / "risk.html"
    result = CliRunner().invoke(main, [*map(str, ["risk", config, *arguments, "--report", target, "--force"])])
    assert result.exit_code == 0, result.output
    assert "keep it to yourself" in result.output
    return target.read_bytes()


def text_of(content: bytes) -> str:
    return " ".join(" ".join(Page(content).text).split())


def test_it_stands_alone_warns_and_shows_no_value_of_a_row(config: Path) -> None:
    table = marginals.read_config(config).read_table()
    for name, k in (("loose", 1), ("strict", 8)):
        marginals.publish(table, marginals.Policy(k_link=k)).write(config.parent / name)
    content = written(config, config.parent / "loose", config.parent / "strict", "--utility", 3)
    page, text = Page(content), text_of(content)
    assert_self_contained(page)
    assert "Not for publication" in text
    for value in ("Quincy", "Amherst", "Buffalo", "flu", "measles", "Trabant"):
        assert value not in content.decode()
    assert "<i>voters" not in content.decode()
    assert html.escape("<i>voters.csv") in content.decode()
    names = [picture["aria-labelledby"] for picture in page.all("svg") if picture.get("role") == "img"]
    assert names == ["loss-title loss-told", "edge-title edge-told", "compared-title compared-told"]
    for said in ("nats", "steps down from *", "mean loss", "linkage", "age and illness together", "at least 3"):
        assert said in text
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:]))
    assert written(config, config.parent / "loose", config.parent / "strict", "--utility", 3) == content


def test_its_numbers_are_those_of_the_risk(config: Path) -> None:
    described = marginals.disclosure_risk(marginals.read_config(config))
    table = described.of_table()
    optimum = described.optimum(LeastRisk(3))
    text = text_of(risk_html(described, RiskReport(table, optimum, described.frontier()), LeastRisk(3)))
    linked = table.linked_risks
    assert linked is not None
    for number in (table.bayes_risk, table.worst_case_risk, *table.risks, *linked, optimum.risk):
        assert f"{number:.4g}" in text
    assert f"{int((table.counts == 1).sum(axis=1).max())} of 40 found for certain" in text
    assert np.average(table.losses, axis=0, weights=[0.25, 0.75]) == pytest.approx(table.expected_losses)


def test_what_there_is_not_is_said(config: Path) -> None:
    content = CONFIG.replace("[[risk.interactions]]", 'similar = ["<b>town</b>"]\n[[risk.interactions]]')
    config.write_text(content.replace("illness = 2.0", "illness = inf"))
    text = text_of(written(config))
    assert "There is no frontier: risk.similar" in text
    assert "40 people have an infinite loss" in text
    assert "None was compared" in text
    assert "Nothing was chosen" in text


def test_a_report_that_cannot_be_written_leaves_nothing(config: Path) -> None:
    (config.parent / "file").write_text("")
    arguments = ["risk", str(config), "--report", str(config.parent / "file" / "risk.html")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
    assert (config.parent / "file").read_text() == ""


def inside(plot: Plot) -> bool:
    places = [(d.x, d.y) for d in plot.dots] + list(plot.line)
    places += [(c.x, c.y) for c in plot.columns] + [(c.x + c.width, c.y + c.height) for c in plot.columns]
    places += [(t.place, plot.bottom) for t in plot.x_ticks] + [(plot.left, t.place) for t in plot.y_ticks]
    return all(plot.left - 1 <= x <= plot.right + 1 and plot.top - 1 <= y <= plot.bottom + 1 for x, y in places)


AMOUNTS = st.one_of(st.sampled_from([0.0, np.inf, 1.0]), st.floats(1e-6, 1e6))


@given(st.lists(AMOUNTS, min_size=1, max_size=50))
def test_a_histogram_counts_everybody_with_a_finite_loss(losses: list[float]) -> None:
    plot = loss_histogram(np.array(losses))
    finite = [loss for loss in losses if np.isfinite(loss)]
    assert (plot is None) is not any(loss > 0 for loss in finite)
    if plot is not None:
        assert inside(plot)
        assert sum(int(column.told.split()[0].replace(",", "")) for column in plot.columns) == len(finite)


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=2, max_size=6))
def test_points_and_lines_lie_inside_their_axes(pairs: list[tuple[float, float]]) -> None:
    kls, risks = zip(*pairs)
    releases = [BundleRisk(str(i), 1, risk, (0, 1), 0.5, kl) for i, (kl, risk) in enumerate(pairs)]
    plot = releases_picture(releases)
    finite = [pair for pair in pairs if np.isfinite(pair).all()]
    assert (plot is None) is (len(finite) < 2)
    if plot is not None:
        assert inside(plot)
        across = [dot.x for dot in plot.dots]
        assert np.all(np.diff(np.array(across)[np.argsort([kl for kl, _ in finite], kind="stable")]) <= 0)
    finite_kls = [kl for kl in kls if np.isfinite(kl)]
    edge = Frontier(np.sort(finite_kls), np.sort(risks)[: len(finite_kls)], np.zeros(len(finite_kls)))
    line = frontier_picture(edge, [("best", 1.0, 1.0)])
    assert line is None or inside(line)


def test_releases_over_different_base_values_are_not_drawn_together() -> None:
    """Ages up to 149 instead of 119 add ln(150 / 120) to what is suppressed, which says nothing about usefulness."""
    stated = [(8.0, 10.510), (8.1, 10.733)]
    releases = [BundleRisk(str(i), 1, 0.1 * i, (0, 1), 0.5, *kls) for i, kls in enumerate(stated)]
    assert not are_comparable(releases)
    assert releases_picture(releases) is None
    assert are_comparable(releases[:1] * 2)
    assert releases_picture(releases[:1] * 2) is not None


def test_dots_of_releases_are_spread_over_the_picture() -> None:
    releases = [BundleRisk(str(i), 1, 0.33 + i / 100, (0, 1), 0.5, 6 + i / 10, 8.0) for i in range(3)]
    plot = releases_picture(releases)
    assert plot is not None
    for places, room in (([d.x for d in plot.dots], plot.right - plot.left), ([d.y for d in plot.dots], plot.bottom)):
        assert max(places) - min(places) > room / 2


def test_objectives_are_said_in_words() -> None:
    assert in_words(LeastRisk(8)) == "the least loss with a utility of at least 8"
    assert in_words(MostUtility(0.5)) == "the most utility with a loss of at most 0.5"
    assert "0.25 times utility" in in_words(TradeOff(0.25))


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_it_fits_and_reads_well(browser: Any, config: Path, width: int, scheme: str) -> None:
    written(config, "--utility", 3)
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto((config.parent / "risk.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    right = "Math.max(...[...document.querySelectorAll('caption')].map(c => c.getBoundingClientRect().right))"
    assert page.evaluate(right) <= width, "a caption is read without scrolling sideways"
    assert page.evaluate("document.scripts.length") == 0
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where
    page.close()
