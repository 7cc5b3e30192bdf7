"""The window: its pages in their states, and what forms that cannot be taken are answered."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from small_release import CONFIG, write_config
from window_clients import Browser, browsing
from words import Case, Stage, typed


def window(stage: Stage) -> Iterator[Case]:
    """The pages of a window on a small table, on the way from the roles to a release, and on that release."""
    with stage.entered("people") as folder, browsing(write_config(folder)) as browser:
        result = browser.window.counting._result
        with pytest.MonkeyPatch.context() as patch:  # pages say what was counted, not that it is being counted
            patch.setattr(browser.window.counting, "_result", lambda kind, _wait: result(kind, 60.0))
            yield from _answered(stage, browser)
        browser.post("/table/text", {"text": CONFIG})
        browser.window.counting.table(60)
        yield from _searched(stage, browser, folder)
    with stage.entered("reader") as place:
        (folder / "release").rename(place / "release")
        with browsing(place / "release") as browser:
            for question in (
                "",
                "?first=age&second=disease",
                "?first=age&second=age",
                "?first=hat&second=age",
                "?where=age%3D20-29",
            ):
                yield _page(
                    stage, f"a reader at /explore{question}", browser.get(f"/explore{question}").get_data(as_text=True)
                )


def _answered(stage: Stage, browser: Browser) -> Iterator[Case]:
    for address in ("/table", "/levels", "/policy", "/search", "/publish"):
        yield _page(stage, address, browser.until(address, "600 rows count" if address == "/table" else ""))
    for attribute in ("age", "town", "disease"):
        yield _page(stage, f"/levels of {attribute}", browser.until(f"/levels?attribute={attribute}&level=1", ""))

    def form(page: str, action: str, fields: dict[str, object]) -> str:
        return post(action, {**browser.fields_of(browser.until(page, action), action), **fields})

    def post(action: str, fields: dict[str, object]) -> str:
        return browser.post(action, fields).get_data(as_text=True)

    for source in typed("window", "window", ">>> "):
        yield _page(stage, f">>> {source}", eval(source, {"form": form, "post": post, "CONFIG": CONFIG}))


def _searched(stage: Stage, browser: Browser, folder: Path) -> Iterator[Case]:
    browser.post("/search", {})
    yield _page(stage, "/search with a candidate", browser.until("/search", "Found: "))
    browser.search(k_link=5000)
    yield _page(stage, "/search with k_link = 5000", browser.until("/search", 'role="alert"'))
    browser.search(k_link=5)
    yield _page(stage, "/publish of release", browser.change("/publish", "/publish", {"looked": "yes"}))
    browser.post("/publish/verify", {"out": "release"})
    yield _page(stage, "/publish/verify", browser.until("/publish", "Verified from its files alone: "))
    assert (folder / "release").is_dir()


def _page(stage: Stage, heading: str, page: str) -> Case:
    """A page without what differs from run to run: marks of forms, versions of files, and the key that was made."""
    return stage.page("window", heading, re.sub(r"\b[0-9a-f]{12,}\b|\bRW[\w+/]{54}", "MARK", page).encode())
