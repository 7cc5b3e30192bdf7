"""Every command has --seconds, and answers then with what is proven, or says that it was stopped."""

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import marginals
from checks import KCombinatorial, KLink
from command_line import main
from marginals import Role
from models import Collection, ContingencyTable, DataCube, Deadline, Domain, Hierarchy
from written_bundles import bundle_content, write_bundle

OVER = Deadline(0.0)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of all pairs of four attributes, which has no junction tree and needs programs and fitting."""
    rng, names = np.random.default_rng(0), "abcs"
    columns = {name: rng.integers(3, size=200) for name in names}
    domain = Domain.of({name: Hierarchy.flat(map(str, range(3))) for name in names})
    tables = [
        ContingencyTable.from_cells(domain, dict.fromkeys(pair, 0), {a: columns[a] for a in pair}, np.ones(200, int))
        for pair in combinations(names, 2)
    ]
    collection = Collection.of(DataCube(tables), [table.mask for table in tables])
    roles = {name: Role.SENSITIVE if name == "s" else Role.QUASI_IDENTIFIER for name in names}
    folder = tmp_path_factory.mktemp("pairs") / "release"
    write_bundle(bundle_content(collection, roles, (KLink(1), KCombinatorial(1))), folder)
    return folder


@pytest.fixture
def over(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time is left when a command begins."""
    monkeypatch.setattr("marginals.commands.options.within", lambda _: OVER)


@pytest.mark.parametrize("name", sorted(set(main.commands) - {"open"}))  # a window stays open until it is closed
def test_every_command_has_seconds(name: str) -> None:
    option = next(parameter for parameter in main.commands[name].params if parameter.name == "seconds")
    assert option.default == {"verify": 60.0, "attack": 20.0, "report": 60.0, "query": 10.0, "audit": 60.0}.get(name)
    refused = run(name, "--seconds", "0")
    assert refused.exit_code == 2


@pytest.mark.usefixtures("over")
def test_what_is_not_verified_in_time_is_undecided(pairs: Path) -> None:
    result = run("verify", pairs, "--json")
    assert result.exit_code == 1
    verdicts = {check["criterion"]: check["verdict"] for check in json.loads(result.stdout)["checks"]}
    assert verdicts == {"integrity": "holds", "k-link": "holds", "k-combinatorial": "undecided"}


@pytest.mark.usefixtures("over")
def test_a_query_answers_with_the_bounds_known_by_then(pairs: Path) -> None:
    result = run("query", pairs, "a=0", "b=1", "c=2", "--json")
    assert result.exit_code == 0
    cut = json.loads(result.stdout)
    whole = marginals.open_release(pairs).count(["a=0", "b=1", "c=2"], seconds=10)
    assert cut["expected"] is None
    assert cut["lower"] <= whole.lower <= whole.upper <= cut["upper"]
    assert not cut["sharp"]
    assert "the time was over" in run("query", pairs, "a=0", "b=1", "c=2").stdout
    assert run("query", pairs).stdout.startswith("200 rows, exactly")


@pytest.mark.usefixtures("over")
def test_a_report_says_what_was_not_decided(pairs: Path, tmp_path: Path) -> None:
    result = run("report", pairs, "--out", tmp_path / "report.html")
    assert result.exit_code == 1
    assert "time was over" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("over")
def test_an_attack_leaves_out_what_is_not_measured(pairs: Path) -> None:
    result = run("attack", pairs, "--json")
    assert result.exit_code == 0
    assert "time was over" in json.loads(result.stdout)["left_out"]["s"]


def test_python_has_seconds_too(pairs: Path) -> None:
    assert marginals.verify(pairs, seconds=100).ok
    late = marginals.verify(pairs, seconds=OVER)
    assert [str(finding).split(": ")[1] for finding in late.checks] == ["holds", "holds", "undecided"]
    with pytest.raises(marginals.InputError, match="seconds"):
        marginals.verify(pairs, seconds=-1)
    with pytest.raises(marginals.TimeOverError):
        marginals.open_release(pairs, OVER).marginal({"a": 0, "b": 0, "c": 0})


@pytest.mark.parametrize(
    ("work", "arguments"),
    [("read_config", ("assess", "release.toml")), ("verify", ("verify", "release"))],
)
def test_what_does_not_end_is_stopped(
    work: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, pairs: Path
) -> None:
    def endless(*_: object, **__: object) -> None:
        while True:
            sum(range(1000))

    monkeypatch.chdir(pairs.parent)
    monkeypatch.setattr(marginals, work, endless)
    result = run(*arguments, "--seconds", "0.1", "--json")
    assert result.exit_code == 2
    said = "the 0.1 seconds of --seconds were over before this was done; give it more"
    assert json.loads(result.stdout) == {"error": said}
    assert result.stderr == f"Error: {said}\n"


@pytest.mark.parametrize("base", ["best", "none"])
def test_publish_without_time_publishes_nothing(base: str, make_looks: Callable[[int], Deadline]) -> None:
    from marginals.example import table

    policy = marginals.Policy(k_link=4, diversity="distinct:2", base=base)
    with pytest.raises(marginals.NothingPublishableError):
        marginals.publish(table, policy, seconds=make_looks(0))


@pytest.fixture
def make_looks() -> Callable[[int], Deadline]:
    """Deadlines that are over when they were looked at so often."""

    def looks(number: int) -> Deadline:
        looked = iter(range(10**9))
        return Deadline(float(number), lambda: float(next(looked)))

    return looks
