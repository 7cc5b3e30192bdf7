"""The page of `marginals risk --report`: it stands alone, warns its reader, and shows the numbers but no row's value."""

import html
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import LeastRisk
from command_line import run
from html_pages import CONTRAST, Page, assert_headings_in_order, assert_self_contained


def config_of(town: str, risk: str) -> str:
    """The config of a table of people with an age, a town, and an illness."""
    return f"""
data.path = "table.csv"
attributes.id.role = "identifier"
attributes.age = {{ role = "quasi-identifier", intervals = [10, 20] }}
attributes."{town}".role = "quasi-identifier"
attributes.illness.role = "sensitive"
privacy.k_link = 2
[risk]
prior = [0.25, 0.75]
{risk}"""


CONFIG = config_of(
    "<b>town</b>",
    """dictionaries = ["<i>voters.csv", "club.csv"]
weights = { illness = 2.0, age = 0.5, car = 1.0 }
interactions = [{ attributes = ["age", "illness"], weight = 0.25 }]
rules = [{ attribute = "age", level = 1, condition = "id == 'Quincy'" }]
linkage = { table = "public.csv", columns = ["car"] }
""",
)

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
    run(*["risk", config, *arguments, "--report", target, "--force"], status=0)
    return target.read_bytes()


def text_of(content: bytes) -> str:
    return " ".join(" ".join(Page(content).text).split())


def test_it_stands_alone_warns_and_shows_no_value_of_a_row(config: Path) -> None:
    content = written(config, "--utility", 3)
    page, text = Page(content), text_of(content)
    assert_self_contained(page)
    assert "Not for publication" in text
    for value in ("Quincy", "Amherst", "Buffalo", "flu", "measles", "Trabant"):
        assert value not in content.decode()
    assert "<i>voters" not in content.decode()
    assert html.escape("<i>voters.csv") in content.decode()
    names = [picture["aria-labelledby"] for picture in page.all("svg") if picture.get("role") == "img"]
    assert names == ["loss-title loss-told", "edge-title edge-told"]
    assert_headings_in_order(page)
    assert written(config, "--utility", 3) == content
    assert "marginals attack" in run("risk", config, "a release", status=2).stderr


WORKED = config_of(
    "town",
    """dictionaries = ["voters.csv", "club.csv"]
weights = { town = 1.0, illness = 2.0 }
rules = [{ attribute = "age", level = 2 }, { attribute = "illness", condition = "age < 30" }]
""",
)

PEOPLE = pd.DataFrame(
    {
        "id": [f"p{i}" for i in range(8)],
        "age": [21, 22, 35, 36, 47, 48, 51, 53],
        "town": ["A", "A", "A", "B", "B", "B", "B", "B"],
        "illness": ["flu", "cold", "flu", "cold", "flu", "flu", "cold", "flu"],
    }
)


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    """People p0 .. p7, disclosed as 20-39 in A (three), 20-39 in B (p3) and 40-59 in B (four); voters are all of them.

    The club has an entry of town A and two of B. A town is a harm of 1, an illness one of 2, p0's and p1's are hidden.
    """
    PEOPLE.to_csv(tmp_path / "table.csv", index=False)
    PEOPLE[["id", "age", "town"]].to_csv(tmp_path / "voters.csv", index=False)
    PEOPLE[["town"]].iloc[[0, 4, 5]].to_csv(tmp_path / "club.csv", index=False)
    (tmp_path / "release.toml").write_text(WORKED)
    return tmp_path / "release.toml"


def test_the_page_of_a_table_worked_by_hand(worked: Path) -> None:
    """Losses before the voters: 1/3, 1/3, 3/3, 3/1 and 3/4 four times; before the club: 1, 1, 3 and 3/2 five times."""
    page = Page(written(worked))
    voters, club = (2 / 3 + 1 + 3 + 4 * 3 / 4) / 8, (1 + 1 + 3 + 5 * 3 / 2) / 8
    assert page.texts("li", class_="tile") == [
        f"{0.25 * voters + 0.75 * club:.4g} risk (mean loss)",
        f"{club:.4g} risk if attackers hold the worst dictionary",
        "3 of 8 people fit exactly one entry",
        "2.75 of 5 steps of utility",
    ]
    assert page.rows("The dictionaries: what attackers know") == [
        ["voters.csv", "8", "age, town", "0.25"],
        ["club.csv", "3", "town", "0.75"],
    ]
    assert page.rows("Weights of values") == [["town", "2 values: 1 *: 0"], ["illness", "2 values: 2 *: 0"]]
    assert page.header("The risk by dictionary") == [
        *("Dictionary", "Risk", "Largest loss", "Found, mean", "One entry", "Their own", "Fewest that fit", "Bound")
    ]
    assert page.rows("The risk by dictionary") == [
        ["voters.csv", f"{voters:.4g}", "3", "37.50 %", "1", "1", "1", "yes"],
        ["club.csv", f"{club:.4g}", "3", "68.75 %", "3", "\N{EN DASH}", "1", "no"],
    ]
    # Expected: 5/6 twice, 21/16 four times, 15/8, 5/2.
    assert page.rows("The largest loss among") == [["90 %", "2.5"], ["99 %", "2.5"], ["everybody", "2.5"]]
    assert page.header("The largest loss among") == ["half of the people", "1.312"]
    empty = [[name, "0", ""] for name in ("5-9", "10-19", "20-99", "100 or more")]
    fit = "People by the number of entries of "
    assert page.rows(fit + "voters.csv") == [["none", "0", ""], ["1", "1", ""], ["2-4", "7", ""], *empty]
    assert page.rows(fit + "club.csv") == [["none", "0", ""], ["1", "3", ""], ["2-4", "5", ""], *empty]
    assert page.rows("The rules of the config, without") == [["age", "20-year bands", "8"], ["illness", "hidden", "2"]]
    assert page.rows("age") == [
        ["single years", "0", ""], ["10-year bands", "0", ""], ["20-year bands", "8", ""], ["*", "0", ""],
    ]  # fmt: skip
    assert page.rows("illness") == [["2 values", "6", ""], ["*", "2", ""]]
    assert "linkage" not in text_of((worked.parent / "risk.html").read_bytes())


def test_with_a_choice_the_page_is_about_the_choice(worked: Path) -> None:
    """Everything on it follows from the file of what is disclosed, counted here person by person."""
    out = worked.parent / "out.csv"
    page, unchosen = Page(written(worked, "--utility", 4, "--out", out)), Page(written(worked))
    shown = pd.read_csv(out, dtype=str)
    ages = {"20-29": (20, 29), "30-39": (30, 39), "40-49": (40, 49), "50-59": (50, 59), "20-39": (20, 39)}
    ages |= {"40-59": (40, 59), "*": (0, 99)} | {str(age): (age, age) for age in PEOPLE["age"]}
    harm = (shown["town"] != "*") + 2.0 * (shown["illness"] != "*")
    low, high = np.array([ages[age] for age in shown["age"]]).T
    towns = shown["town"].to_numpy()[:, None]
    in_age = (low[:, None] <= PEOPLE["age"].to_numpy()) & (PEOPLE["age"].to_numpy() <= high[:, None])
    in_town = (towns == "*") | (towns == PEOPLE["town"].to_numpy())
    counts = np.stack([(in_age & in_town).sum(axis=1), in_town[:, [0, 4, 5]].sum(axis=1)])
    losses = harm.to_numpy() / counts
    risk = [0.25, 0.75] @ losses.mean(axis=1)
    assert 0 < risk < 1.4
    widths = np.array([{0: 3, 9: 2, 19: 1, 99: 0}[width] for width in high - low])
    utility = (widths + (shown["town"] != "*") + (shown["illness"] != "*")).mean()
    assert page.texts("li", class_="tile") == [
        f"{risk:.4g} risk (mean loss)",
        f"{losses.mean(axis=1).max():.4g} risk if attackers hold the worst dictionary",
        f"{(counts == 1).sum(axis=1).max()} of 8 people fit exactly one entry",
        f"{utility:.4g} of 5 steps of utility",
    ]
    found = 100 * (1 / counts).mean(axis=1)
    assert [[row[i] for i in (0, 1, 2, 3, 4, 6, 7)] for row in page.rows("The risk by dictionary")] == [
        [
            name, f"{losses[i].mean():.4g}", f"{losses[i].max():.4g}", f"{found[i]:.2f} %",
            str((counts[i] == 1).sum()), str(counts[i].min()), bound,
        ]
        for i, (name, bound) in enumerate((("voters.csv", "yes"), ("club.csv", "no")))
    ]  # fmt: skip
    for i, name in enumerate(("voters.csv", "club.csv")):
        numbers = [int(row[1]) for row in page.rows(f"People by the number of entries of {name}")]
        assert numbers[:4] == [np.isin(counts[i], fits).sum() for fits in ([0], [1], [2, 3, 4], range(5, 10))]
    assert [int(row[1]) for row in page.rows("age")] == [(widths == steps).sum() for steps in (3, 2, 1, 0)]
    for name in ("town", "illness"):
        hidden = int((shown[name] == "*").sum())
        assert [row[1] for row in page.rows(name)] == [str(8 - hidden), str(hidden)]
    assert page.rows("illness") != unchosen.rows("illness")
    assert page.rows("The rules of the config (the choice above does not use them), without") == unchosen.rows(
        "The rules of the config"
    )
    assert any("1.411 at a mean utility of 2.75" in p for p in page.texts("p")), "if nothing is chosen"


def test_who_cannot_be_disclosed_so_is_counted(worked: Path) -> None:
    """Suppressed, a person is one of 8 voters and of 3 in the club: found with 0.25/8 + 0.75/3 = 0.28."""
    worked.write_text(WORKED.replace("weights =", "# weights ="))
    page = Page(written(worked, "--loss", 0.25))
    assert "8 records have no levels" in " ".join(page.text)
    assert page.texts("li", class_="tile")[0] == "0.2812 risk (mean loss)"
    assert [line[1] for line in page.rows("age")] == ["0", "0", "0", "8"]
    assert "have no levels" not in text_of(written(worked, "--loss", 0.3))


def test_the_weights_of_a_level_are_from_the_least_to_the_most(worked: Path) -> None:
    """The harmonic mean: of 0.6 for each of three towns that begin with A a third is left, of that with B all."""
    towns = ["A1", "A2", "A3", "B1"] * 2
    for name, frame in (("table", PEOPLE), ("voters", PEOPLE[["id", "age", "town"]]), ("club", PEOPLE[["town"]])):
        frame.assign(town=towns).to_csv(worked.parent / f"{name}.csv", index=False)
    changed = WORKED.replace("town = 1.0", "town = 0.6").replace(
        'attributes."town"', "attributes.town.prefixes = [1]\nattributes.town"
    )
    worked.write_text(changed)
    weights = Page(written(worked)).rows("Weights of values")[0]
    assert weights == ["town", "4 values: 0.6 first 1 character: 0.2\N{EN DASH}0.6 *: 0"]


def test_weights_that_each_person_has_of_their_own_are_told(worked: Path) -> None:
    PEOPLE[["id"]].assign(town=1.0, w=2.0).to_csv(worked.parent / "own.csv", index=False)
    own = 'personal_weights = "own.csv"\nmissed = "w"\ninteractions = [{ attributes = ["town", "illness"], weight = "w" }]'
    worked.write_text(WORKED.replace("rules =", f"{own}\nrules ="))
    text = text_of(written(worked))
    assert "The harm to a person who is not found is the person's own" in text
    assert "the person's own, times the share" in text


def test_the_risk_with_linkage_stands_first_and_what_leaves_it_aside_says_so(config: Path) -> None:
    described = marginals.risk.disclosure_risk(marginals.read_config(config))
    for arguments, disclosed in (((), None), (("--utility", 3), described.optimum(LeastRisk(3)).disclosure.records)):
        page, table = Page(written(config, *arguments)), described.of_table(disclosed)
        alone, linked = (
            np.array([getattr(of, name).mean() for of in table.dictionaries]) for name in ("losses", "linked")
        )
        assert page.texts("li", class_="tile")[:3] == [
            f"{linked @ [0.25, 0.75]:.4g} risk with linkage (mean loss)",
            f"{linked.max():.4g} risk with linkage, if attackers hold the worst dictionary",
            f"{alone @ [0.25, 0.75]:.4g} risk without linkage",
        ]
        assert [row[1:3] for row in page.rows("The risk by dictionary")] == [
            [f"{without:.4g}", f"{after:.4g}"] for without, after in zip(alone, linked)
        ]
        assert page.header("The risk by dictionary")[-1] == "Bound without linkage"
        assert ("does not consider linkage" in " ".join(page.text)) is bool(arguments)


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
