"""Where tests find the real tables and published vectors, which tests run and how, and what the end of a run says.

Hypothesis draws new examples in every run; with CI in the environment it draws the same ones each time. Three numbers change
which tests run and how many examples each tries:
- MARGINALS_TIER names a tier of `tiers.py`: its tests, each with at most the examples of the tier, the same each time, and
  without looking for the smallest example that fails; tests/trust has its own numbers in the tier `ci`;
- MARGINALS_EXAMPLES bounds the examples of every test, as a tier does: for `make mutants`;
- MARGINALS_TIMES multiplies them: for `make nightly`.
"""

import os
import shutil
import sys
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
from shared_folder import copy_shared
from small_release import write_config
from tiers import NAME, TIER, Costs

TRUST = Path(__file__).parent / "trust"

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
            trusted = NAME == "ci" and TRUST in Path(sys._getframe(1).f_code.co_filename).parents
            number = max_examples * times if most is None or trusted else min(max_examples, most)
            super().__init__(parent, max_examples=number, **others)

    hypothesis.settings = Changed


if "MARGINALS_EXAMPLES" in os.environ:
    _as_many_examples(int(os.environ["MARGINALS_EXAMPLES"]), 1)
elif TIER is not None:
    _as_many_examples(TIER.examples, 1)
elif "MARGINALS_TIMES" in os.environ:
    _as_many_examples(None, int(os.environ["MARGINALS_TIMES"]))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="measure what each test costs, and write tests/costs.csv")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs(config.getoption("--costs")))


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

    def make(folder: Path) -> None:
        result = CliRunner().invoke(main, ["demo", str(folder / "demo"), "--rows", "6000"])
        assert result.exit_code == 0, result.output
        assert "Published" in result.output
        assert "All 5 promises hold" in result.output

    return copy_shared(tmp_path_factory, "work", make) / "demo"


@pytest.fixture(scope="session")
def small_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The config of 600 people, with their table beside it."""
    return write_config(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="session")
def small_release(small_config: Path) -> marginals.Release:
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
    """What was skipped, by reason: nothing is left out unseen."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        _, _, reason = report.longrepr if isinstance(report.longrepr, tuple | list) else ("", 0, str(report.longrepr))
        reasons[reason.removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section(f"skipped: {reasons.total()}")
        for reason, number in sorted(reasons.items()):
            terminalreporter.write_line(f"{number:5}  {reason}")
