"""Pages of a table of many columns: none is large, and none is slow."""

import statistics
import time
from pathlib import Path

import pytest

pytest.importorskip("werkzeug", reason="werkzeug is not installed")
pytest.importorskip("tomlkit", reason="tomlkit is not installed")

from small_release import marginals_command
from wide_table import write_wide
from window_clients import browsing

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
LARGEST, SLOWEST = 500_000, 0.2


@pytest.mark.slow
def test_pages_of_sixty_columns_are_small_and_quick(tmp_path: Path) -> None:
    """Of processor time, which other programs do not take; the median of three, twice as much beside other tests."""
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
            seconds = []
            for _ in range(3):
                begun = time.process_time()
                answer = browser.get(address)
                seconds.append(time.process_time() - begun)
            assert answer.status_code == 200
            assert len(answer.get_data()) <= LARGEST, address
            assert statistics.median(seconds) <= 2 * SLOWEST, address
