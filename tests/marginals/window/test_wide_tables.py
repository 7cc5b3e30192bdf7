"""Pages of a table of many columns: none is large, and none is much work."""

from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("werkzeug", reason="werkzeug is not installed")
pytest.importorskip("tomlkit", reason="tomlkit is not installed")

from small_release import marginals_command
from wide_table import write_wide
from window_clients import browsing
from work import count_calls

PAGES = (
    "/table",
    "/table/text",
    "/levels",
    "/levels?attribute=question_3&level=1",
    "/policy",
    "/search",
    "/search/best",
    "/publish",
    "/explore",
)
LARGEST, MOST_CALLS = 500_000, 600_000


@pytest.mark.slow
def test_pages_of_sixty_columns_are_small_and_little_work(tmp_path: Path) -> None:
    config = write_wide(tmp_path, 60)
    assert marginals_command("publish", config, "--out", tmp_path / "release").returncode == 0
    with browsing(config) as browser:
        browser.window.counting.table(120)
        browser.post("/search")
        job = browser.window.jobs.latest("search")
        assert job is not None
        assert job.done.wait(120)
        assert job.state == "done"
        for address in PAGES:
            _ = browser.get(address)
            answer, calls = count_calls(partial(browser.get, address))
            assert calls <= MOST_CALLS, address
            assert answer.status_code == 200
            assert len(answer.get_data()) <= LARGEST, address
