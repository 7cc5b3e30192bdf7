"""The whole way in a real browser, by clicks and keys alone."""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import marginals
from project import NO_DATA, data_folder
from small_release import contents, marginals_command, write_config
from window_clients import never_end, served, withhold_counts


@dataclass
class Steward:
    """Somebody at the pages of a window. actions: clicks so far; foreign: what a page asked of anybody else."""

    page: Any
    actions: int = 0
    foreign: list[str] = field(default_factory=list)

    def click(self, role: str, name: str) -> None:
        """Click on a button or link by the name that it is read out by."""
        self.actions += 1
        self.page.get_by_role(role, name=name, exact=True).first.click()

    def sees(self, text: str) -> None:
        """Wait for a text."""
        self.page.get_by_text(text).first.wait_for()


def publish_by_clicks(steward: Steward) -> None:
    """From a table without a config to its release."""
    steward.click("button", "Look at the table")
    steward.click("button", "Yes, the piles are right")
    steward.click("link", "Who may see it")
    steward.click("button", "Choose: Public file")
    steward.click("button", "Save, and look for tables")
    steward.page.get_by_role("heading", name=re.compile("Found: ")).wait_for()
    steward.click("link", "Look and sign")
    steward.click("button", "Make a key to sign with")
    steward.page.get_by_label("I have looked at what leaves the house").check()
    steward.actions += 1
    steward.page.get_by_role("button", name=re.compile("^Publish")).click()
    steward.actions += 1
    steward.sees("The release is written to the folder release")
    steward.page.get_by_role("heading", name="Verified from its files alone: all holds").wait_for()
    assert steward.actions <= 15
    steward.click("link", "Explore")
    steward.click("link", "The same in Python")
    steward.sees("release.table(")


def census(folder: Path) -> Path:
    """The demo's census of 2,000 people."""
    assert marginals_command("demo", folder / "demo", "--rows", 2000).returncode == 0
    return Path(shutil.move(folder / "demo" / "census.csv", folder))


def public(name: str) -> Callable[[Path], Path]:
    """A public table, copied to a folder of its own."""

    def copied(folder: Path) -> Path:
        source = data_folder() / name / f"{name}.csv"
        if not source.is_file():
            pytest.skip(NO_DATA)
        return Path(shutil.copy(source, folder))

    return copied


@pytest.mark.parametrize(
    ("table", "scripts"),
    [
        pytest.param(census, True, id="census"),
        pytest.param(census, False, id="census, no script", marks=pytest.mark.nightly),
        pytest.param(public("nursery"), True, id="nursery", marks=[pytest.mark.data, pytest.mark.nightly]),
        pytest.param(public("adult"), True, id="adult", marks=[pytest.mark.data, pytest.mark.nightly]),
        pytest.param(public("nursery"), False, id="nursery, no script", marks=[pytest.mark.data, pytest.mark.nightly]),
        pytest.param(public("adult"), False, id="adult, no script", marks=[pytest.mark.data, pytest.mark.nightly]),
    ],
)
def test_the_whole_way_by_clicks_gives_the_release_of_the_command_line(
    table: Callable[[Path], Path], scripts: bool, browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if table is not census and not scripts and not os.environ.get("MARGINALS_TIMES"):
        pytest.skip("nightly: the large tables without script too, where MARGINALS_TIMES is set")
    path = table(tmp_path)
    with served(path, monkeypatch) as address:
        page = browser.new_page(java_script_enabled=scripts)
        page.set_default_timeout(300_000)
        steward = Steward(page)
        own = re.match(r"http://[^/]+/[^/]+/", address)
        assert own is not None
        page.on(
            "request", lambda asked: steward.foreign.append(asked.url) if not asked.url.startswith(own[0]) else None
        )
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(address)
        publish_by_clicks(steward)
        page.close()
    assert steward.actions <= 17
    assert steward.foreign == []
    assert said == []
    marginals_command(
        "publish", tmp_path / "release.toml", "--out", tmp_path / "again", "--sign", tmp_path / "minisign.key", status=0
    )
    assert contents(tmp_path / "release") == contents(tmp_path / "again")


def test_bands_are_cut_by_clicking_and_dragging(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A click on a value cuts there, a cut is dragged to another value, and a click on a cut removes it."""
    config = write_config(tmp_path)
    with served(config, monkeypatch) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.goto(address)
        page.wait_for_url("**/table")
        page.get_by_role("link", name="Levels", exact=True).click()
        bar = page.locator("svg.ladder rect[data-value='30']")
        bar.wait_for()
        bar.click()
        page.locator("svg.ladder rect[data-value='45']").click()
        field = page.get_by_label("Numbers at which a band begins")
        assert field.input_value() == "30, 45"

        def middle(place: Any) -> tuple[float, float]:
            box = place.bounding_box()
            return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

        (x, y), (left, _) = middle(page.locator(".cut").nth(1)), middle(page.locator("rect[data-value='40']"))
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(left - 2, y, steps=5)
        page.mouse.up()
        assert field.input_value() == "30, 40"
        page.mouse.click(*middle(page.locator(".cut").first))
        assert field.input_value() == "40"
        page.get_by_role("button", name="Cut", exact=True).click()
        page.get_by_text("age has the bands that you cut").wait_for()
        page.close()
    labels = marginals.read_config(config).read_table().domain.hierarchy("age").labels
    assert labels[1] == ("under 40", "40 and over")


def test_what_is_typed_and_not_saved_is_asked_about_and_is_there_again(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A click on a step asks; whoever stays loses nothing, and whoever leaves finds the draft, until the config changes."""
    config = write_config(tmp_path)
    with served(config, monkeypatch) as address:
        page = browser.new_page()
        asked: list[str] = []
        leaves = [False]

        def answer(dialog: Any) -> None:
            asked.append(dialog.type)
            dialog.accept() if leaves[0] else dialog.dismiss()

        page.on("dialog", answer)
        page.goto(address)
        page.wait_for_url("**/table")
        page.get_by_role("link", name="Who may see it", exact=True).click()
        page.get_by_label("k_link").fill("17")
        page.get_by_role("link", name="What it is for", exact=True).click()
        assert page.get_by_label("k_link").input_value() == "17"
        leaves[0] = True
        page.get_by_role("link", name="What it is for", exact=True).click()
        page.wait_for_url("**/search")
        assert asked == ["beforeunload", "beforeunload"]
        page.get_by_role("link", name="Back: Who may see it", exact=True).click()
        page.get_by_text("What you changed here before is not saved yet.").wait_for()
        assert page.get_by_label("k_link").input_value() == "17"
        page.get_by_role("button", name="Discard it", exact=True).click()
        page.get_by_text("What you changed here before is not saved yet.").wait_for(state="detached")
        assert page.get_by_label("k_link").input_value() == "5"
        page.get_by_label("k_link").fill("18")
        page.keyboard.press("Enter")
        page.get_by_text("The policy is written.").wait_for()
        page.get_by_role("link", name="What it is for", exact=True).click()
        page.wait_for_url("**/search")
        assert len(asked) == 2
        page.close()
    assert "k_link = 18" in config.read_text()


def test_what_is_typed_before_the_script_is_there_is_a_draft_too(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a slow machine a field can be filled before the script has run."""
    with served(write_config(tmp_path), monkeypatch) as address:
        page = browser.new_page()
        asked: list[str] = []
        page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
        page.goto(address)
        page.wait_for_url("**/table")
        held: list[Any] = []
        page.route("**/window.js", lambda route: held.append(route))
        page.get_by_role("link", name="Who may see it", exact=True).click()
        page.get_by_label("k_link").fill("17")
        with page.expect_response("**/window.js"):
            held[0].continue_()
        page.unroute("**/window.js")
        page.locator("form[data-changed]").wait_for()
        assert page.locator("form[data-changed]").count() == 1
        page.get_by_role("link", name="What it is for", exact=True).click()
        assert asked == ["beforeunload"]
        assert page.get_by_label("k_link").input_value() == "17"
        page.close(run_before_unload=False)


def test_a_page_that_is_typed_in_while_its_counts_arrive_stays_as_it_is(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(write_config(tmp_path), monkeypatch) as address:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_url("**/table")
        held: list[Any] = []

        def is_fetched(route: Any) -> bool:
            return bool(route.request.resource_type == "fetch")

        with monkeypatch.context() as counting:
            withhold_counts(counting)
            page.route("**/policy", lambda route: held.append(route) if is_fetched(route) else route.continue_())
            page.get_by_role("link", name="Who may see it", exact=True).click()
            page.locator("body[data-awaited]").wait_for(state="attached")
            while not held:
                page.wait_for_timeout(10)
        page.get_by_label("k_link").fill("17")
        held[0].continue_()
        page.get_by_text("The counts are there: load the page again").wait_for()
        assert page.get_by_label("k_link").evaluate("field => field === document.activeElement")
        assert page.get_by_label("k_link").input_value() == "17"
        page.close(run_before_unload=False)


_HELD_EVENTS = """
window.held = [];
window.EventSource = class { constructor() { window.held.push(this); } close() {} };
"""

_END = """window.held[0].onmessage({ data: JSON.stringify({ said: "", seconds: 1, state: "done" }) })"""


def _attacking(browser: Any, address: str) -> Any:
    """The page of a release whose readers are being measured, until _END says that it is done."""
    page = browser.new_page()
    page.add_init_script(_HELD_EVENTS)
    page.goto(address)
    page.wait_for_url("**/table")
    page.goto(page.url.replace("/table", "/publish"))
    page.get_by_role("button", name="What can attackers conclude?").click()
    page.get_by_text("What readers can conclude is measured.").wait_for()
    while not page.evaluate("window.held.length"):  # in place of wait_for_function, which the pages forbid
        page.wait_for_timeout(20)
    return page


def test_a_job_that_ends_takes_nothing_from_who_is_at_something_else(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is loaded again by itself where nobody has typed or gone to anything; else a link is offered."""
    config = write_config(tmp_path)
    assert marginals_command("publish", config, "--out", tmp_path / "out").returncode == 0
    never_end(monkeypatch)
    with served(config, monkeypatch) as address:
        page = _attacking(browser, address)
        title = page.get_by_label("Title")
        title.fill("Health of 600 people")
        page.evaluate(_END)
        again = page.get_by_role("link", name="It is done: load the page again")
        again.wait_for()
        assert title.input_value() == "Health of 600 people"
        page.on("dialog", lambda dialog: dialog.accept())
        again.click()
        page.locator("#fresh").wait_for(state="detached")
        page.close()
        page = _attacking(browser, address)
        with page.expect_navigation():
            page.evaluate(_END)
        page.close()


def test_values_are_moved_by_keyboard_and_by_dragging(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_config(tmp_path)
    with served(config, monkeypatch) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        page.wait_for_url("**/table")
        page.goto(page.url.replace("/table", "/levels?attribute=town&level=0"))
        page.get_by_role("button", name="Move Ulm up").focus()
        page.keyboard.press("Enter")
        page.get_by_text("Ulm is at place 2 of 3").wait_for()
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Move Ulm up"
        page.keyboard.press("Enter")
        page.get_by_text("Ulm is at place 1 of 3").wait_for()
        page.locator("ol.names label", has_text="Aix").drag_to(
            page.locator("ol.names li", has_text="Ely"),
            source_position={"x": 5, "y": 5},
            target_position={"x": 5, "y": 40},
        )
        assert page.locator("ol.names label").all_inner_texts() == ["Ulm", "Ely", "Aix"]
        page.get_by_role("button", name="Save the names").click()
        page.get_by_text("The names of town are written.").wait_for()
        page.close()
    assert marginals.read_config(config).read_table().domain.hierarchy("town").labels[0] == ("Ulm", "Ely", "Aix")
