"""The whole way in a real browser, by clicks and keys alone."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from project import NO_DATA, data_folder
from small_release import contents, marginals_command, write_config
from window_clients import never_end, served, serving
from window_pictures import walk


def census(folder: Path) -> Path:
    """The demo's census of 2,000 people."""
    assert marginals_command("demo", folder / "demo", "--rows", 2000).returncode == 0
    return Path(shutil.move(folder / "demo" / "census.csv", folder))


def public(name: str) -> Callable[[Path], Path]:
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
        own = re.match(r"http://[^/]+/[^/]+/", address)
        assert own is not None
        foreign: list[str] = []
        page.on("request", lambda asked: foreign.append(asked.url) if not asked.url.startswith(own[0]) else None)
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(address)
        assert walk(page) <= 15
        page.get_by_role("link", name="Explore", exact=True).first.click()
        page.get_by_text("The same in Python").click()
        page.get_by_text("release.table(").first.wait_for()
        page.close()
    assert (foreign, said) == ([], [])
    marginals_command(
        "publish", tmp_path / "release.toml", "--out", tmp_path / "again", "--sign", tmp_path / "minisign.key", status=0
    )
    assert contents(tmp_path / "release") == contents(tmp_path / "again")


def test_what_is_typed_and_not_saved_is_asked_about_and_kept_nowhere(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A click on a step asks; whoever stays loses nothing, and of whoever leaves nothing is kept."""
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
        assert page.get_by_label("k_link").input_value() == "5"
        assert page.evaluate("localStorage.length") == 0  # another server at this port could read it later
        page.get_by_label("k_link").fill("18")
        page.keyboard.press("Enter")
        page.get_by_text("The policy is written.").wait_for()
        page.get_by_role("link", name="What it is for", exact=True).click()
        page.wait_for_url("**/search")
        assert len(asked) == 2
        page.close()
    assert "k_link = 18" in config.read_text()


def test_a_job_that_ends_takes_nothing_from_who_is_at_something_else(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page shows by itself that a job ended if nobody has typed or gone to anything; else a link is offered."""
    config = write_config(tmp_path)
    assert marginals_command("publish", config, "--out", tmp_path / "out").returncode == 0
    never_end(monkeypatch)
    with serving(config, monkeypatch) as (address, window):
        for is_used in (True, False):
            page = browser.new_page()
            page.goto(address)
            page.wait_for_url("**/table")
            page.goto(page.url.replace("/table", "/publish"))
            page.get_by_role("button", name="What can attackers conclude?").click()
            page.get_by_text("What readers can conclude is measured.").wait_for()
            title = page.get_by_label("Title")
            if is_used:
                title.fill("Health of 600 people")
            window.jobs.latest("attack").stop()
            if is_used:
                page.get_by_role("link", name="It is done: load the page again").wait_for()
                assert title.input_value() == "Health of 600 people"
            page.get_by_role("heading", name="What readers can conclude").wait_for() if not is_used else None
            page.close(run_before_unload=False)
