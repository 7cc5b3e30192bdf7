"""The best so far: told of while a search goes on, allowed, better each time, and without any effect on what is found."""

import itertools
import json
from collections.abc import Collection as AnyCollection
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import Attribute, Policy, Table
from marginals.commands.options import ProgressBars
from marginals.deadline import PROGRESS_IN_LINES
from marginals.publishing import best_so_far
from marginals.publishing.best_so_far import BestSoFar, Watching
from marginals.publishing.searching import no_progress
from models import Collection, Mask, Problem, Refusal, forward

PRIVACY: dict[str, Any] = {"k_link": 4, "k_combinatorial": 4}


class Watcher:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Collection, float]] = []

    def __call__(self, task: str, done: int, total: int) -> None:
        """Told how far it is."""

    def found(self, collection: Collection, divergence: float) -> None:
        """Told of something better."""
        self.told.append((collection, divergence))


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(5)
    age, sex = rng.integers(20, 60, 500), rng.choice(["f", "m"], 500)
    town = np.where(rng.random(500) < age / 80, rng.choice(["a1", "a2"], 500), rng.choice(["b1", "b2"], 500))
    paid = np.where(rng.random(500) < age / 100, "much", rng.choice(["some", "little"], 500))
    frame = pd.DataFrame({"age": age, "sex": sex, "town": town, "paid": paid})
    attributes = {
        "age": Attribute("quasi-identifier", intervals=[5, 10]),
        "town": Attribute("quasi-identifier", prefixes=[1]),
    }
    return marginals.read_table(frame, attributes | dict.fromkeys(("sex", "paid"), "quasi-identifier"))


@pytest.mark.parametrize("objective", ["kl", "bic"])
@pytest.mark.parametrize("strategy", ["greedy", "look-ahead", "exact"])
def test_it_changes_nothing_and_ends_with_what_is_found(
    table: Table, strategy: str, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(best_so_far, "_PAUSE", 0.0)
    monkeypatch.setattr(best_so_far, "_SHARE", float("inf"))
    policy = Policy(**PRIVACY, strategy=strategy, objective=objective, base="none")
    watcher = Watcher()
    watched, alone = marginals.publish(table, policy, watcher), marginals.publish(table, policy)
    assert watched.release.collection.margins == alone.release.collection.margins
    assert watcher.told
    if objective == "kl":
        divergences = [divergence for _, divergence in watcher.told]
        assert all(later < earlier for earlier, later in itertools.pairwise(divergences))
        assert divergences[-1] == pytest.approx(alone.steward.kl_divergence, abs=1e-9)


def test_what_is_refused_is_not_told_of(table: Table) -> None:
    told: list[Collection] = []

    def none_of_three(cliques: AnyCollection[Mask], _new: Mask) -> Refusal | None:
        return Refusal("too many") if len(cliques) > 2 else None

    problem = Problem(table.cube, none_of_three)
    best = BestSoFar(problem, table.cube, lambda collection, _: told.append(collection), itertools.count().__next__)
    free = Problem(table.cube, seen=best)
    _ = forward(free, lambda: False)
    assert all(len(collection.margins) <= 2 for collection in told)


def test_a_look_waits_for_its_time(table: Table) -> None:
    told: list[float] = []
    now = 0.0
    problem = Problem(table.cube)
    best = BestSoFar(problem, table.cube, lambda _, divergence: told.append(divergence), lambda: now)
    names = table.domain.attribute_masks
    coarse, fine = problem.position(names[:1]), problem.position(names[:2])
    best(coarse)
    best(fine)
    assert told == [coarse.divergence]
    now = 1.0
    best.look()
    best(coarse)
    assert told == [coarse.divergence, fine.divergence]


def test_only_those_who_watch_are_told() -> None:
    assert isinstance(Watcher(), Watching)
    assert not isinstance(no_progress, Watching)


def test_a_line_tells_measure_tables_and_pairs(
    table: Table, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(*PROGRESS_IN_LINES)
    with ProgressBars(wanted=False) as progress:
        assert isinstance(progress, Watching)
        progress.found(Collection.of(table.cube, [sum(table.domain.attribute_masks[1:3])]), 0.25)
    told = json.loads(capsys.readouterr().err)["best"]
    assert told["kl_divergence"] == 0.25
    assert len(told["tables"]) == 1
    assert sorted(kind for *_, kind in told["pairs"]).count("published") == 1 == told["numbers"]["published"]
