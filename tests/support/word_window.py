# ruff: noqa: E501 - lines of commands and configs are whole
"""The window: its pages in their states, and what forms that cannot be taken are answered."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from small_release import CONFIG, write_config
from window_clients import Browser, browsing
from words import Case, Stage

FORMS: Sequence[tuple[str, str, dict[str, object]]] = (
    ("/policy", "/policy", {"k_link": "-1"}),
    ("/policy", "/policy", {"k_link": "x"}),
    ("/policy", "/policy", {"number:disease": "x"}),
    ("/policy", "/policy", {"kind:disease": "recursive"}),
    ("/policy", "/policy", {"number:disease": "0.5"}),
    ("/policy", "/policy", {"odds": "0.5"}),
    ("/policy", "/policy", {"odds": "x"}),
    ("/policy", "/policy/search", {"time_limit": "x"}),
    ("/policy", "/policy/search", {"seed": "x"}),
    ("/levels?attribute=sex&level=0", "/levels", {"kind": "intervals", "intervals": "x"}),
    ("/levels?attribute=age&level=0", "/levels", {"intervals": "5, 7"}),
    ("/policy", "/policy", {"k_link": "7", "min_cell": "4", "kind:disease": "recursive", "number:disease": "3,2", "rules": ["cms-11"]}),
    ("/table", "/table/roles", {"role:disease": "ignored"}),
    ("/table", "/table/roles", {"role:disease": "sensitive"}),
)  # fmt: skip
"""A page, the address of one of its forms, and fields that are changed in it."""

POSTS: Sequence[tuple[str, dict[str, object]]] = (
    ("/table/unit", {"person": "", "keep": "one"}),
    ("/table/unit", {"person": "", "keep": "rows"}),
    ("/table/unit", {"person": "age", "keep": "first"}),
    ("/table/text", {"text": CONFIG + "[more]\n"}),
    ("/table/text", {"text": "[data"}),
    ("/table/text", {"text": CONFIG}),
    ("/levels/cuts", {"attribute": "age", "cuts": "x"}),
    ("/levels/cuts", {"attribute": "age", "cuts": "25, 40"}),
    ("/levels/cuts", {"attribute": "hat", "cuts": "25, 40"}),
    ("/levels/names", {"attribute": "town", "level": "0", "name:Aix": "", "name:Ulm": "x"}),
    ("/levels", {"attribute": "hat"}),
    ("/policy/wanted", {"pair": ['["age", "disease"]', '["sex", "town"]']}),
    ("/policy/wanted", {"pair": ["999"]}),
    ("/policy/wanted", {}),
    ("/policy/preset", {"preset": "more-pairs"}),
    ("/policy/preset", {"preset": "none"}),
    ("/policy/choice", {"choice": "99"}),
    ("/policy/demand", {"name": "hat"}),
    ("/policy", {"k_link": "9", "version": "old"}),
    ("/search/remedy", {"remedy": "none"}),
    ("/search/9/take", {}),
    ("/publish", {"out": "release"}),
    ("/publish", {"looked": "yes", "out": "../x"}),
    ("/publish/key", {"password": "x"}),
    ("/publish/replace", {"old": "nowhere"}),
    ("/publish/ledger", {"ledger": "nowhere"}),
    ("/hat", {}),
)  # fmt: skip
"""Addresses, and the fields that are sent there."""


def window(stage: Stage) -> Iterator[Case]:
    """The pages of a window on a small table, on the way from the roles to a release, and on that release."""
    with stage.entered("people") as folder, browsing(write_config(folder)) as browser:
        browser.window.counting.table(60)
        for address, said in (
            ("/table", "Prosecutor: "),
            ("/levels", ""),
            ("/policy", ""),
            ("/search", ""),
            ("/publish", ""),
        ):
            browser.until(address, said)
            yield _page(stage, address, browser.until(address, said))
        for attribute in ("age", "town", "disease"):
            yield _page(stage, f"/levels of {attribute}", browser.until(f"/levels?attribute={attribute}&level=1", ""))
        for page, action, fields in FORMS:
            sent = {**browser.fields_of(browser.until(page, action), action), **fields}
            yield _page(stage, f"{action} with {fields}", browser.post(action, sent).get_data(as_text=True))
        for action, fields in POSTS:
            yield _page(stage, f"{action} with {_shown(fields)}", browser.post(action, fields).get_data(as_text=True))
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


def _searched(stage: Stage, browser: Browser, folder: Path) -> Iterator[Case]:
    browser.post("/search", {})
    yield _page(stage, "/search with a candidate", browser.until("/search", "Candidate 1"))
    browser.post("/search", {"k_link": "5000"})
    browser.until("/search", "demands 5,000 rows")
    yield _page(stage, "/search with k_link = 5000", browser.until("/search", "Candidate 2"))
    yield _page(stage, "/search/1/take", browser.post("/search/1/take").get_data(as_text=True))
    browser.change("/publish", "/publish", {"looked": "yes"})
    yield _page(stage, "/publish of release", browser.until("/publish", "The release is written to"))
    browser.post("/publish/verify", {"out": "release"})
    yield _page(stage, "/publish/verify", browser.until("/publish", "holds"))
    assert (folder / "release").is_dir()


def _shown(fields: dict[str, object]) -> str:
    text = str(fields)
    return text if len(text) < 100 else f"{text[:60]}..."


def _page(stage: Stage, heading: str, page: str) -> Case:
    """A page without what differs from run to run: marks of forms and versions of files."""
    return stage.page("window", heading, re.sub(r"\b[0-9a-f]{12,}\b", "MARK", page).encode())
