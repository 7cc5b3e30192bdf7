"""Pages show what was measured, each script has help, and estimates are right."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import chance_gains
import numpy as np
import pandas as pd
import plausible_coverage
import pytest
import similarity_foreground
import six_tables
import tasks
from hypothesis import given
from hypothesis import strategies as st
from real_tables import real_tables
from scipy.stats import nchypergeom_fisher

from checks.attacks.guesses import kept_to_counts
from models.inference.class_shares import SummedTable
from project import ROOT


def scripts() -> list[Path]:
    return [path for path in (ROOT / "benchmarks").glob("*.py") if "options(__file__" in path.read_text()]


def test_each_script_has_help() -> None:
    helped = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
for path in sys.argv[2:]:
    sys.argv = [path, "--help"]
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as stop:
        assert not stop.code, path
"""
    command = [sys.executable, "-c", helped, str(ROOT / "benchmarks"), *map(str, scripts())]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.count("usage: python benchmarks") == len(scripts())


def test_without_data_the_tasks_are_skipped_with_the_reason(tmp_path: Path) -> None:
    environment = os.environ | {"MARGINALS_DATA": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "benchmarks" / "tasks.py")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert json.loads(done.stdout) == {"benchmark": "tasks", "skipped": "the Adult table is not here"}


def test_the_page_of_the_benchmarks_shows_what_was_kept() -> None:
    """Each row is of a task that its command measures."""
    lines = tasks.kept()
    assert tasks.PAGE.read_text(encoding="utf-8") == tasks.page(lines), "python benchmarks/tasks.py --page makes it"
    assert {line["task"] for line in lines[1:]} == set(tasks.TASKS)


def kept_lines(script: ModuleType) -> list[dict[str, Any]]:
    made = f"<!-- made by: python benchmarks/{script.__name__}.py --page -->"
    shown = f"{made}\n\n{script.page(script.KEPT)}\n\n<!-- end -->"
    assert shown in (ROOT / "docs" / "yardsticks.md").read_text()
    return [json.loads(line) for line in script.KEPT.read_text().splitlines()]


def test_the_page_of_yardsticks_shows_the_kept_attacks() -> None:
    lines = kept_lines(similarity_foreground)
    assert {line["table"] for line in lines if "way" in line} == set(similarity_foreground.TABLES)


def test_the_page_of_yardsticks_shows_what_samples_tell_of_the_whole() -> None:
    """Of tables that chose nothing: what the objective is for, in each sample or in all of them together."""
    lines = kept_lines(chance_gains)
    measured = {(line["table"], line["rows"], line["seed"], line["objective"]) for line in lines}
    tables = chance_gains.TABLES
    assert measured == set(product(tables, chance_gains.SIZES, chance_gains.SEEDS, chance_gains.OBJECTIVES))
    kl, corrected = (
        pd.DataFrame(
            [line for line in lines if line["objective"] == own and line["table"] not in chance_gains.BUILDING]
        )
        for own in chance_gains.OBJECTIVES
    )
    assert kl["table"].nunique() >= 7
    assert (kl["whole"] > 25_000).all()
    assert kl[["table", "rows", "seed"]].equals(corrected[["table", "rows", "seed"]])
    loss, two_way = (corrected[column] / kl[column] - 1 for column in ("loss", "two_way"))
    assert (loss > chance_gains.SAME).mean() <= 1 / 20
    assert (loss < -chance_gains.SAME).mean() >= 2 / 3
    assert (two_way > chance_gains.SAME).mean() <= 1 / 10
    assert corrected["visible"].sum() >= kl["visible"].sum() - 0.01 * kl["associated"].sum()
    assert corrected["false"].sum() < kl["false"].sum()


def test_the_page_of_yardsticks_shows_fifteen_ways_on_six_tables() -> None:
    """Each way on each table with three seeds, or the reason why not."""
    lines = kept_lines(six_tables)
    measured = {(line["way"], line["table"], line["seed"]) for line in lines if "way" in line}
    ways = [*six_tables.WAYS, "AIM, epsilon 1", "AIM, epsilon 3"]
    assert measured == {(way, table, seed) for way in ways for table in six_tables.TABLES for seed in six_tables.SEEDS}


def test_published_tables_are_as_near_as_their_groups() -> None:
    """Mixtures of groups against listing every row, Mondrian's classes, and shares that add up to 1 of every way."""
    (real,) = (own for own in real_tables(10**6) if own.name == "anes96")
    sample = six_tables.Sample.drawn(real, six_tables.TABLES["anes96"], 0)
    mixture = six_tables.anatomy(sample)
    names = ("age", "vote", six_tables.SECRET)
    listed = np.zeros([sample.sizes[name] for name in names])
    for row, (age, vote) in enumerate(zip(sample.codes["age"], sample.codes["vote"])):
        listed[age, vote] += mixture.spread[six_tables.SECRET][row]
    assert np.allclose(mixture(names), listed / len(sample.codes))
    classes = six_tables.classes_of_mondrian(sample, six_tables.L)
    assert np.bincount(classes).min() >= six_tables.K
    assert sample.codes.groupby(classes)[six_tables.SECRET].nunique().min() >= six_tables.L
    for way in ("SWEEP", "Hilbert", "slicing", "angelization", "sequential trees", "noisy pairs, epsilon 3"):
        shares = six_tables.WAYS[way](sample)(names)
        assert shares.sum() == pytest.approx(1)
        assert shares.min() >= 0


def test_noise_is_as_little_as_the_promise_allows() -> None:
    """The deviation of Balle and Wang's analytic mechanism is below the classic one, and falls with epsilon."""
    sigma = six_tables.deviation(1.0)
    assert 1 < sigma < np.sqrt(2 * np.log(1.25 / six_tables.DELTA))
    assert six_tables.deviation(3.0) < sigma


def test_the_page_of_yardsticks_shows_how_often_intervals_held_the_truth() -> None:
    """Of tables the method was not made with, nine of ten intervals of each kind hold the truth, over at least eight."""
    lines = kept_lines(plausible_coverage)
    held_out = [line for line in lines if line.get("held_out")]
    assert len(held_out) >= 8
    for kind in plausible_coverage.KINDS:
        assert sum(line["held"][kind] * line["questions"] for line in held_out) >= 0.9 * sum(
            line["questions"] for line in held_out
        )


@given(st.integers(1, 1_000), st.floats(0.55, 0.95))
def test_what_keeps_to_the_counts_is_the_limit_of_all_ways_to_deal_values_to_people(n: int, share: float) -> None:
    """Two kinds of n people, n rows of each value: over all ways, by the noncentral hypergeometric distribution.

    The sum is surer of itself, by (share - 1/2) / 2n where the class is large.
    """
    weights = np.array([[share, 1 - share], [1 - share, share]])
    group = SummedTable(np.array([0, 0]), np.arange(2), np.array([[n, n]], dtype=float))
    fitted_share = kept_to_counts(weights, np.array([n, n], dtype=float), [group])[0, 0] / n
    assert fitted_share == pytest.approx(share, abs=1e-6)
    surer = nchypergeom_fisher(2 * n, n, n, (share / (1 - share)) ** 2).mean() / n - share
    assert surer > 0
    if n >= 300:
        assert surer * n == pytest.approx((share - 0.5) / 2, rel=0.02)
