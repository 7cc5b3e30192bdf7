"""Every page of the window in every state, as axe-core and a pair of weak eyes see it: light and dark, at three widths."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from small_release import CONFIG, marginals_command, write_config
from window_clients import never_end, served, withhold_counts
from window_pages import Visitor

PAGES = ("/table", "/table/text", "/levels", "/policy", "/search", "/publish", "/explore")

SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of 600 people with its config, and nothing published."""
    return write_config(tmp_path).parent


@pytest.fixture
def visitor(browser: Any, scheme: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visitor]:
    with served(folder / "release.toml", monkeypatch) as address:
        page = browser.new_page(color_scheme=scheme, bypass_csp=True)
        yield Visitor.entering(page, address)
        page.close()


@SCHEMES
def test_a_table_that_the_program_does_not_know_yet(
    scheme: str, browser: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page before there is a config; then all pages with open questions and a sensitive column without demand."""
    (folder / "release.toml").unlink()
    with served(folder / "people.csv", monkeypatch) as address:
        page = browser.new_page(color_scheme=scheme, bypass_csp=True)
        visitor = Visitor.entering(page, address)
        visitor.inspect("begin")
        visitor.send("/table/begin")
        visitor.until("600 rows count")
        visitor.send("/table/roles", {"role:disease": "sensitive"})
        visitor.until("600 rows count")
        visitor.inspect("roles are written")
        for path in PAGES:
            visitor.goto(path)
            visitor.inspect(f"{path} without a demand")
        page.close()
    assert visitor.found == {}


@SCHEMES
def test_pages_while_the_table_is_counted(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    withhold_counts(monkeypatch)
    for path in PAGES:
        visitor.goto(path)
        visitor.inspect(f"{path} while counts are awaited")
    assert visitor.found == {}


@SCHEMES
def test_pages_while_something_is_at_work(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    never_end(monkeypatch)
    visitor.goto("/search")
    visitor.send("/search")
    visitor.inspect("the search is at work")
    visitor.send("/stop", which={"back": "/search"})
    visitor.inspect("the search was stopped")
    assert visitor.found == {}


@SCHEMES
def test_forms_that_are_refused(visitor: Visitor, folder: Path) -> None:
    """A number that is none, an edit after another one, a search that finds nothing, a config that cannot be read."""
    config = folder / "release.toml"
    visitor.goto("/policy")
    visitor.send("/policy", {"k_link": "0"})
    visitor.inspect("a policy is refused")
    visitor.goto("/policy")
    config.write_text(CONFIG.replace("k_link = 5", "k_link = 6"))
    visitor.send("/policy", {"k_link": "7"})
    visitor.inspect("two edits")
    config.write_text(CONFIG.replace("k_link = 5", "k_link = 601"))
    visitor.goto("/search")
    visitor.send("/search")
    visitor.page.get_by_role("button", name="Stop").wait_for(state="detached")
    for path in ("/search", "/publish"):
        visitor.goto(path)
        visitor.inspect(f"{path} where nothing was found")
    config.write_text(CONFIG.replace('diversity = "entropy:2"', ""))
    visitor.goto("/search")
    visitor.send("/search")
    visitor.page.get_by_role("button", name="Stop").wait_for(state="detached")
    visitor.inspect("a search refused, as nothing is demanded")
    config.write_text(CONFIG.replace('"entropy:2"', '"none"'))
    for path in PAGES:
        visitor.goto(path)
        visitor.inspect(f"{path} with nothing demanded, on purpose")
    config.write_text(CONFIG.replace('role = "sensitive"', 'role = "secret"'))
    visitor.goto("/table")
    visitor.inspect("a config that cannot be read")
    visitor.goto("/nowhere")
    visitor.inspect("no such page")
    assert visitor.found == {}


@SCHEMES
def test_pages_after_searching_and_publishing(visitor: Visitor, folder: Path) -> None:
    """What was found, a release that is signed, verified and attacked, and explored."""
    visitor.goto("/search")
    visitor.send("/search")
    visitor.page.get_by_text("Found: ").first.wait_for(state="attached")
    visitor.inspect("what was found")
    visitor.goto("/publish")
    visitor.inspect("what is signed")
    visitor.send("/publish", {"title": "People and what they have", "publisher": "Ulm", "looked": "yes"})
    visitor.until("The release is written to the folder release")
    visitor.inspect("published")
    for action, said in (
        ("/publish/verify", "Verified from its files alone"),
        ("/publish/attack", "What readers can conclude"),
    ):
        visitor.send(action)
        visitor.page.get_by_role("heading", name=said).wait_for()
    visitor.inspect("verified and attacked")
    (folder / "people.csv").touch()
    for path in PAGES:
        visitor.goto(path)
        visitor.inspect(f"{path} with a release")
    for query in ("level:age=1&level:sex=0", "level:age=0&level:sex=0&level:town=0", "level:disease=0"):
        visitor.goto(f"/explore?release=release&{query}")
        visitor.inspect(f"/explore {query}")
    for path in (
        "/levels?attribute=disease",
        "/levels?attribute=age&level=1",
        "/search/report",
        "/search/steward",
        "/publish/release/report",
        "/publish/release/steward",
    ):
        visitor.goto(path)
        visitor.inspect(path)
    visitor.goto("/publish")
    visitor.send("/stop")
    visitor.inspect("closed")
    assert visitor.found == {}


@SCHEMES
def test_pages_of_releases_and_audits_as_files(scheme: str, browser: Any, folder: Path) -> None:
    """The report, which a board reads, that for the steward, and those of an audit and of the risk of rows."""
    assert marginals_command("publish", folder / "release.toml", "--out", folder / "release").returncode == 0
    crossed = folder / "crossed.csv"
    crossed.write_text("age,f,m,total\nyoung,<5,12,15\nold,9,<5,11\ntotal,12,14,26\n")
    assert marginals_command("audit", crossed, "--report", folder / "audit.html").returncode in (0, 1)
    page = browser.new_page(color_scheme=scheme)
    visitor = Visitor(page, folder.as_uri())
    for name in ("release/report.html", "release-steward.html", "audit.html"):
        visitor.goto(f"/{name}")
        visitor.inspect(name)
    page.close()
    assert visitor.found == {}
