"""Where tests find the real tables and published vectors, how Hypothesis runs, and what the end of a run says.

Hypothesis draws new examples in every run; with CI in the environment it draws the same ones each time. Two numbers change
how many a test tries:
- MARGINALS_EXAMPLES bounds them for every test, makes them the same each time, and does without the smallest one that
  fails: for `make quick` and `make mutants`;
- MARGINALS_TIMES multiplies them: for `make nightly`.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from click.testing import CliRunner
from hypothesis import Phase, settings

import marginals
from command_line import main
from project import NO_DATA, data_folder
from small_release import write_config

SLOW = 1.0
"""Seconds from which on a test that is not marked slow is named: with all its cases and few examples. It should be marked
from 0.4 on; what it takes varies with the machine and with which test makes what they share."""

settings.register_profile("local", deadline=None, max_examples=100)
settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def _as_many_examples(most: int | None, times: int) -> None:
    """Change what tests ask for, too: they are imported after this, and find these settings in the place of others."""
    if most is not None:
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
    else:
        settings.register_profile("many", deadline=None, max_examples=100 * times)
        settings.load_profile("many")

    class Changed(settings):
        def __init__(self, parent: settings | None = None, *, max_examples: int = 100, **others: Any) -> None:
            number = max_examples * times if most is None else min(max_examples, most)
            super().__init__(parent, max_examples=number, **others)

    hypothesis.settings = Changed


if "MARGINALS_EXAMPLES" in os.environ:
    _as_many_examples(int(os.environ["MARGINALS_EXAMPLES"]), 1)
elif "MARGINALS_TIMES" in os.environ:
    _as_many_examples(None, int(os.environ["MARGINALS_TIMES"]))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the real tables (Adult, Nursery): MARGINALS_DATA, or ../shared/data."""
    folder = data_folder()
    if not folder.is_dir():
        pytest.skip(NO_DATA)
    return folder


@pytest.fixture(scope="session")
def shared_vectors() -> Path:
    """The folder of published tables and other tools' answers: `vectors`, next to the folder of the real tables."""
    folder = data_folder().parent / "vectors"
    if not folder.is_dir():
        pytest.skip("the published vectors are not here: there is no folder vectors next to that of the real tables")
    return folder


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `marginals demo` fills, of 6,000 people; a test that changes something in it puts it back."""
    folder = tmp_path_factory.mktemp("work") / "demo"
    result = CliRunner().invoke(main, ["demo", str(folder), "--rows", "6000"])
    assert result.exit_code == 0, result.output
    assert "Published" in result.output
    assert "Relative to suppressing all quasi-identifiers, the release removes" in result.output
    return folder


@pytest.fixture(scope="session")
def small_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The config of 600 people, with their table beside it."""
    return write_config(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="session")
def small_release(small_config: Path) -> marginals.Release:
    """What the policy of that config publishes."""
    config = marginals.read_config(small_config)
    return marginals.publish(config.read_table(), config.policy).release


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium: playwright's own, or one that is installed on the system."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
        found = own if own.exists() else shutil.which("chromium") or shutil.which("google-chrome")
        if not found:
            pytest.skip("no Chromium is installed: apt install chromium, or playwright install chromium")
        opened = playwright.chromium.launch(executable_path=str(found), args=["--no-sandbox"])
        yield opened
        opened.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was skipped, by reason: nothing is left out unseen. And in a quick run, what it should not have run."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        _, _, reason = report.longrepr if isinstance(report.longrepr, tuple | list) else ("", 0, str(report.longrepr))
        reasons[reason.removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section(f"skipped: {reasons.total()}")
        for reason, number in sorted(reasons.items()):
            terminalreporter.write_line(f"{number:5}  {reason}")
    if "not slow" in terminalreporter.config.option.markexpr:
        seconds: Counter[str] = Counter()
        for report in (*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())):
            seconds[report.nodeid.partition("[")[0]] += report.duration
        slow = [(name, total) for name, total in seconds.most_common(10) if total > SLOW]
        if slow:
            terminalreporter.section(f"took more than {SLOW:g} s with all its cases, and is not marked slow")
            for name, total in slow:
                terminalreporter.write_line(f"{total:5.1f}  {name}")
