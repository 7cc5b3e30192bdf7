"""Which tests a run takes, by what they were measured to cost: MARGINALS_TIER is quick, test or ci; without it, all of them.

`tests/costs.csv` has the processor seconds of each test's dearest case, or of each case above half a second,
with the processes that it starts and the examples of the tier `ci`. `make costs` measures again, and fails if a case takes
more than twice what its tier allows.
"""

import csv
import os
import re
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import forked

COSTS = Path(__file__).parent.parent / "costs.csv"
LISTED = 0.04
"""Seconds from which on a test is listed: those of most are far below."""


class Tier(NamedTuple):
    """Examples of Hypothesis for each test, and the most processor seconds of a case."""

    examples: int
    seconds: float


TIERS = {"quick": Tier(3, 0.04), "test": Tier(20, 0.5), "ci": Tier(40, 5.0)}
ALWAYS = ("tests/trust/", "tests/test_words.py")
NAME = os.environ.get("MARGINALS_TIER", "")
TIER = TIERS[NAME] if NAME else None


def read_costs() -> dict[str, float]:
    """The seconds of each test or case that is listed, by its name."""
    with COSTS.open(encoding="utf-8", newline="") as file:
        return {row["test"]: float(row["seconds"]) for row in csv.DictReader(file)}


def tier_of(test: str, seconds: float) -> str:
    """The first tier that takes a test; trust and golden words belong to `ci`, whatever they cost."""
    fitting = (name for name, tier in TIERS.items() if seconds <= tier.seconds)
    return next(fitting, "ci" if test.startswith(ALWAYS) else "nightly")


def cost_of(node: str, costs: Mapping[str, float]) -> float:
    """The seconds of a case: its own if it is listed, else those of its test."""
    return costs.get(node, costs.get(without_case(node), 0.0))


def listed(seconds: Mapping[str, float]) -> dict[str, float]:
    """What the list keeps of the seconds of cases: the dearest of each test, or each one of a dear test."""
    dearest: dict[str, float] = {}
    for node, cost in seconds.items():
        dearest[without_case(node)] = max(cost, dearest.get(without_case(node), 0.0))
    dear = {test for test, cost in dearest.items() if cost > TIERS["test"].seconds}
    kept = {node: cost for node, cost in seconds.items() if without_case(node) in dear}
    return {test: cost for test, cost in dearest.items() if cost >= LISTED} | kept


def without_case(node: str) -> str:
    return node.partition("[")[0]


def is_defined(test: str) -> bool:
    """Whether a test of the list is still there, even if a run left it out."""
    file, _, name = without_case(test).partition("::")
    path = COSTS.parent.parent / file
    defined = re.compile(rf"^ *(def|class) {name.rpartition('::')[2].rpartition('.')[2]}\b", re.MULTILINE)
    return path.is_file() and (file.endswith(".md") or defined.search(path.read_text()) is not None)


class Costs:
    """A plugin of pytest that leaves out what a tier does not take and, if asked to, measures each case."""

    def __init__(self, measured: bool) -> None:
        self.measured = measured
        self.shared = 0.0
        self.seconds: dict[str, float] = {}

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if TIER is None:
            return
        costs, taken = read_costs(), list(TIERS)[: list(TIERS).index(NAME) + 1]
        kept: list[pytest.Item] = []
        left_out: list[pytest.Item] = []
        for item in items:
            tier = tier_of(item.nodeid, cost_of(item.nodeid, costs))
            fits = tier in taken and not item.get_closest_marker("nightly")
            (kept if fits else left_out).append(item)
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        before = _processor_seconds()
        result = yield
        if fixturedef.scope != "function":
            self.shared += _processor_seconds() - before
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Hand the cost of a case to the process that collects the reports."""
        before, self.shared = _processor_seconds(), 0.0
        item.user_properties.append(("cost", lambda: _processor_seconds() - before - self.shared))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        """Replace the clock that started with a case by what it shows when the case is done."""
        report: Any = yield
        report.user_properties = [(key, value() if key == "cost" else value) for key, value in report.user_properties]
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "teardown":
            self.seconds[report.nodeid] = dict(report.user_properties)["cost"]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.measured:
            return
        old = read_costs() if COSTS.exists() else {}
        for node, seconds in self.seconds.items():
            tier = TIERS.get(tier_of(node, cost_of(node, old)))
            if old and tier and seconds > 2 * tier.seconds and not node.startswith(ALWAYS):
                terminalreporter.write_line(f"{seconds:.1f} s of {tier.seconds} s that its tier allows: {node}")
                terminalreporter._session.exitstatus = pytest.ExitCode.TESTS_FAILED
        measured = {without_case(node) for node in self.seconds}
        kept = {node: cost for node, cost in old.items() if without_case(node) not in measured and is_defined(node)}
        costs = kept | listed(self.seconds)
        with COSTS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["test", "seconds"])
            writer.writerows((node, f"{cost:.2f}") for node, cost in sorted(costs.items()))


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system + forked.used[0]
