"""What an installed package adds is taken wherever a name is: by policies, `select`, `frontier`, commands and the window."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import forked
import marginals
from marginals import InputError
from marginals.errors import ExtensionError
from marginals.example import table
from models import SelectionError, forward
from models.installed import _entries, installed
from small_release import write_config

MODULE = '''
"""Each kind of thing that an installed package can add."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import marginals
from checks.diversity.text import spelled
from models.search import BDeu, forward


@dataclass(frozen=True)
class Capped(marginals.criteria.Diversity):
    """No sensitive value has a share above `share`. Reached: the largest share."""

    share: Fraction
    name, parameters = "toy-capped", "share"

    def __str__(self):
        return f"toy-capped:{spelled(self.share)}"

    def slack(self, vectors):
        return float(self.share) / self.reached(vectors) - 1

    def reached(self, vectors):
        return vectors.max(axis=1) / vectors.sum(axis=1)

    def decide(self, vector):
        return max(vector) <= self.share * sum(vector)


def search(problem, stop):
    """Forward search."""
    return forward(problem, stop)


def score(counts, cells):
    """The marginal likelihood by a prior worth two rows."""
    return BDeu(2.0)(counts, cells)


not_a_criterion = 7
'''

ENTRY_POINTS = """
[marginals.criteria]
toy-capped = toy_extension:Capped
toy-number = toy_extension:not_a_criterion
toy-missing = toy_extension:nothing

[marginals.strategies]
toy-search = toy_extension:search
toy-broken = toy_raising:search
toy-number = toy_extension:not_a_criterion

[marginals.objectives]
toy-score = toy_extension:score
toy-number = toy_extension:not_a_criterion
"""


def install(folder: Path) -> Path:
    """The package in a folder, which is to stand on the path of modules."""
    folder.mkdir()
    (folder / "toy_extension.py").write_text(MODULE)
    (folder / "toy_raising.py").write_text("raise RuntimeError('no luck today')\n")
    metadata = folder / "toy_extension-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-extension\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def forget() -> None:
    """Forget which packages are installed and which are not, as a new process does."""
    _entries.cache_clear()
    installed.cache_clear()
    sys.modules.pop("toy_extension", None)


POLICY = """
[search]
strategy = "toy-search"
objective = "toy-score"
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return install(tmp_path / "site")


@pytest.fixture
def installed_here(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(package)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")]))
    forget()
    yield
    forget()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = write_config(tmp_path)
    path.write_text(path.read_text().replace("entropy:2", "toy-capped:3/4") + POLICY)
    return path


def command(*arguments: object, path: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own. path: of the package, where it is installed."""
    program = f"import sys; sys.path[:0] = {[str(path)] if path else []!r}; {forked.COMMAND}"
    return forked.run(program, *arguments)


def test_commands_publish_verify_assess_and_attack_with_what_is_installed(package: Path, config: Path) -> None:
    """And where it is not installed, the claim of its criterion is undecided, never a pass, and what to install is said."""
    release = config.parent / "release"
    published = command("publish", config, "--out", release, "--json", path=package)
    assert published.returncode == 0, published.stderr
    assert json.loads(published.stdout)["search"]["strategy"] == "toy-search"
    assert "toy-capped:0.75" in (release / "datapackage.json").read_text()
    verified = command("verify", release, path=package)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "toy-capped:0.75" in verified.stdout
    assert command("verify", release, "--check", "diversity=toy-capped:1/5", path=package).returncode == 1
    assessed = command("assess", config, "--levels", "age=1", path=package)
    assert "toy-capped:0.75" in assessed.stdout, assessed.stderr
    attacked = command("attack", release, path=package)
    assert attacked.returncode == 0, attacked.stderr

    alone = command("verify", release, "--json")
    assert alone.returncode != 0
    checks = {check["criterion"]: check for check in json.loads(alone.stdout)["checks"]}
    assert checks["maxent-diversity"]["verdict"] == "undecided"
    assert "install the package" in checks["maxent-diversity"]["note"]
    assert "Traceback" not in (ended := command("attack", release)).stderr, ended.stderr
    for refused in (command("publish", config, "--out", config.parent / "other"), command("assess", config)):
        assert refused.returncode == 2
        assert refused.stderr.startswith("Error")
        assert refused.stderr.count("\n") == 1, refused.stderr


@pytest.mark.usefixtures("installed_here")
def test_python_takes_the_same_names() -> None:
    policy = marginals.Policy(k_link=4, diversity="toy-capped:3/4", strategy="toy-search", objective="toy-score")
    publication = marginals.publish(table, policy)
    assert publication.steward.search.strategy == "toy-search"
    assert str(publication.steward.objective) == "CliqueScore(score)"
    assert publication.release.verify().ok
    grid = marginals.frontier(table, policy, k=[2, 4], strategies=["toy-search", "exact"], jobs=1)
    assert grid["strategy"].tolist() == ["toy-search", "exact"] * 2
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 200)})
    frame = frame.assign(b=frame.a ^ (rng.random(200) < 0.1), c=rng.integers(0, 2, 200))
    chosen = marginals.select(frame, "toy-score", "toy-search")
    assert chosen.cliques == marginals.select(frame, "bdeu").cliques == (("a", "b"), ("c",))


@pytest.mark.usefixtures("installed_here")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"strategy": "toy-broken"}, r"the package toy-extension declares .* cannot be loaded \(RuntimeError\)"),
        ({"strategy": "toy-number"}, r"not a function \(problem, stop\)"),
        ({"objective": "toy-number"}, "not an object with gain"),
        ({"diversity": "toy-number:3"}, "not a class with the base marginals.criteria.Diversity"),
        ({"diversity": "toy-missing:3"}, r"cannot be loaded \(AttributeError\)"),
        ({"strategy": "toy-unknown"}, "there is no search strategy"),
        ({"objective": "toy-unknown"}, "there is no objective"),
        ({"diversity": "toy-unknown:3"}, "not of the form"),
    ],
)
def test_what_is_installed_wrongly_or_not_at_all_is_one_sentence(given: dict[str, str], words: str) -> None:
    with pytest.raises((InputError, ExtensionError, marginals.errors.CriterionError), match=words) as caught:
        marginals.Policy(k_link=4, **given)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert "no luck" not in str(caught.value)


def test_nothing_is_looked_up_for_what_is_built_in() -> None:
    lines = (
        "import importlib.metadata, marginals",
        "importlib.metadata.entry_points = None",
        "marginals.Policy(k_link=3, diversity='entropy:2', strategy='exact', objective='kl')",
    )
    ran = forked.run("\n".join(lines))
    assert (ran.returncode, ran.stderr) == (0, "")


def give_nothing(_problem, _stop):  # type: ignore[no-untyped-def]
    return None


def show_nothing(problem, stop):  # type: ignore[no-untyped-def]
    return replace(forward(problem, stop), cliques=())


def draw_a_circle(problem, stop):  # type: ignore[no-untyped-def]
    a, b, c = problem.cube.domain.attribute_masks
    return replace(forward(problem, stop), cliques=(a | b, b | c, a | c))


XY = pd.DataFrame({"a": list("xyxy"), "b": list("uuvv"), "c": list("ijji")})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"strategy": give_nothing}, "no SearchResult"),
        ({"strategy": show_nothing}, "lacks what must be shown"),
        ({"strategy": draw_a_circle}, "not decomposable"),
        ({"criterion": lambda _counts, _cells: float("nan")}, "a finite number of nats"),
        *(({kind: wrong}, "is a name") for kind in ("criterion", "strategy") for wrong in (3, None, object())),
    ],
)
def test_what_is_no_objective_or_strategy_is_told_so(given: dict[str, object], words: str) -> None:
    with pytest.raises((ExtensionError, SelectionError), match=words):
        marginals.select(XY, **given)  # type: ignore[arg-type]
