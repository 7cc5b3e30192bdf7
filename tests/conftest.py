"""Where tests find the real tables and published vectors, and how Hypothesis runs.

MARGINALS_EXAMPLES bounds the examples of every test, makes them the same each time, and does without the smallest one
that fails: for `make mutants`.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import Phase, settings

settings.register_profile("local", deadline=None, max_examples=100)
settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def _few_examples(most: int) -> None:
    """Bound what tests ask for, too: they are imported after this, and find these settings in the place of others."""
    settings.register_profile(
        "few",
        deadline=None,
        max_examples=most,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        report_multiple_bugs=False,
    )
    settings.load_profile("few")

    class Bounded(settings):
        def __init__(self, parent: settings | None = None, *, max_examples: int = most, **others: Any) -> None:
            super().__init__(parent, max_examples=min(max_examples, most), **others)

    hypothesis.settings = Bounded


if "MARGINALS_EXAMPLES" in os.environ:
    _few_examples(int(os.environ["MARGINALS_EXAMPLES"]))

ROOT = Path(__file__).resolve().parent.parent


def _data_folder() -> Path:
    return Path(os.environ.get("MARGINALS_DATA") or ROOT / ".." / "shared" / "data").resolve()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the real tables (Adult, Nursery): MARGINALS_DATA, or ../shared/data."""
    folder = _data_folder()
    if not folder.is_dir():
        pytest.skip("the real tables are not here: neither MARGINALS_DATA nor ../shared/data is a folder")
    return folder


@pytest.fixture(scope="session")
def shared_vectors() -> Path:
    """The folder of published tables and other tools' answers: `vectors`, next to the folder of the real tables."""
    folder = _data_folder().parent / "vectors"
    if not folder.is_dir():
        pytest.skip("the published vectors are not here: there is no folder vectors next to that of the real tables")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium: playwright's own, or one that is installed on the system."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
        found = own if own.exists() else shutil.which("chromium") or shutil.which("google-chrome")
        if not found:
            pytest.skip("no Chromium is installed; `playwright install chromium` gets one")
        opened = playwright.chromium.launch(executable_path=str(found), args=["--no-sandbox"])
        yield opened
        opened.close()
