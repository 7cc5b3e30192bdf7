"""Pages show what was measured, the command knows every script, and fits, projections and estimates are right."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import chance_gains
import kept_runs
import long_page
import numpy as np
import page_numbers
import pandas as pd
import plausible_coverage
import pytest
import similarity_foreground
import six_tables
from arx import CLONE as ARX
from growth import fitted, projected
from hypothesis import given
from hypothesis import strategies as st
from measurement import Measurement, interleaved, measurement_of
from peer_program import Clone
from real_tables import real_tables
from scipy.stats import nchypergeom_fisher
from selection_peers import CHORDALYSIS, ESS
from suite import SCRIPTS, run

from checks import equivalence_classes
from checks.attacks.minimality import Groups, kept_to_counts, published_groups
from models import ContingencyTable, Domain, Hierarchy
from project import ROOT

SIZES = (10, 100, 1_000, 10_000)


def growing(exponent: float, case: str = "case", **fixed: int) -> list[Measurement]:
    return [
        Measurement("b", case, {"rows": n, **fixed}, 2e-6 * n**exponent, 3 * n, "copy", 1e-6 * n, {"fact": "said"})
        for n in SIZES
    ]


@given(st.floats(-3, 3), st.floats(1e-6, 1e6))
def test_a_fit_finds_the_power_law_that_made_the_values(exponent: float, factor: float) -> None:
    law = fitted(SIZES, [factor * n**exponent for n in SIZES])
    assert law.exponent == pytest.approx(exponent, abs=1e-9)
    assert law.factor == pytest.approx(factor, rel=1e-6)
    assert law.spread == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("sizes", "values"), [([1, 10], [1, 2]), ([1, 10, 10], [1, 2, 3]), ([1, 10, 100], [0, 1, 2]), ([1, 2, 3], [1, 2])]
)
def test_what_cannot_be_fitted_is_refused(sizes: list[float], values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"needs|above zero"):
        fitted(sizes, values)


@given(st.floats(0, 1e3), st.floats(1e-3, 1e3))
def test_a_projection_holds_the_truth_of_fixed_and_linear_costs(fixed: float, each: float) -> None:
    found = projected([1e6, 1e7, 1e8], [fixed + each * n for n in (1, 10, 100)], 1e9)
    assert found.high == pytest.approx(fixed + each * 1_000)
    assert found.low <= found.high * (1 + 1e-9)


@given(st.floats(0.1, 3))
def test_a_projection_holds_the_truth_of_a_power_law(exponent: float) -> None:
    found = projected([1e6, 1e7, 1e8], [n**exponent for n in (1, 10, 100)], 1e9)
    assert found.low <= 1_000**exponent * (1 + 1e-9)
    assert found.high >= 1_000**exponent * (1 - 1e-9)


def test_a_measurement_survives_its_json_line() -> None:
    point = growing(1)[0]
    read = measurement_of(json.loads(json.dumps(point.line())))
    assert read.line() == point.line()
    assert measurement_of({"benchmark": "b", "target": "t", "met": True}) is None
    with pytest.raises(ValueError, match="rows, attributes, cells, margins"):
        Measurement("b", "case", {"colour": 3}, 1.0)
    with pytest.raises(ValueError, match="yardstick"):
        Measurement("b", "case", {"rows": 3}, 1.0, yardstick="copy")


def test_functions_take_turns_until_the_slowest_has_had_enough() -> None:
    now, order = [0.0], []

    def of(name: str, seconds: float) -> Callable[[], str]:
        def run() -> str:
            order.append(name)
            now[0] += seconds
            return name.upper()

        return run

    turns = interleaved({"a": of("a", 1.0), "b": of("b", 3.0)}, runs=9, enough=6.0, clock=lambda: now[0])
    assert order == ["a", "b", "b", "a"]
    assert {name: (seconds, seconds.median, result) for name, (seconds, result) in turns.items()} == {
        "a": (1.0, 1.0, "A"),
        "b": (3.0, 3.0, "B"),
    }


def test_a_peer_that_cannot_take_part_is_skipped_with_the_reason(tmp_path: Path) -> None:
    for clone in (ARX, CHORDALYSIS, ESS):
        assert clone.option in clone.missing(None)
        assert f"is no clone of {clone.repository}" in clone.missing(tmp_path)
    here = Clone("--here", "example.org/here", "file", ("no-such-program", "nor-this"))
    (tmp_path / "file").touch()
    assert here.missing(tmp_path) == "no-such-program and nor-this are not installed"
    assert Clone("--here", "example.org/here", "file", ()).missing(tmp_path) == ""


def test_the_numbers_of_written_pages_are_those_that_were_measured() -> None:
    lines = page_numbers.kept()
    assert lines
    assert all(page_numbers.is_wanted(line) for line in lines)
    pages = page_numbers.written()
    assert page_numbers.filled(pages, lines) == pages, "python benchmarks --pages puts them there"


def test_what_failed_or_has_no_commit_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    assert not kept_runs.keep(path, "counting", (), [{"case": 1}, {"failed": "why"}], {"commit": "abc"})
    assert not kept_runs.keep(path, "counting", (), [{"case": 1}], {"commit": None})
    assert not path.exists()
    path.write_text("{}\n[1]\n")
    with pytest.raises(ValueError, match="line 2"):
        kept_runs.kept(path, "counting", (), "abc")


def scripts() -> dict[str, Path]:
    """Files in the folder that run by themselves, but for the command."""
    files = {path.stem: path for path in (ROOT / "benchmarks").glob("*.py")}
    return {name: path for name, path in files.items() if "__main__" in path.read_text() and name != "__main__"}


def test_the_command_knows_every_script_and_each_has_help() -> None:
    assert scripts() == {script.name: script.path for script in SCRIPTS}
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
    paths = [ROOT / "benchmarks" / "__main__.py", *scripts().values()]
    command = [sys.executable, "-c", helped, str(ROOT / "benchmarks"), *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.count("usage: python benchmarks") == len(paths)


def test_without_data_a_benchmark_is_skipped_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARGINALS_DATA", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    (script,) = (script for script in SCRIPTS if script.name == "publish_adult")
    (line,) = run(script, ())
    assert line == {"benchmark": "publish_adult", "skipped": "the Adult table is not here"}


def test_the_page_of_the_benchmarks_shows_what_was_kept() -> None:
    for path, text in long_page.files().items():
        assert path.read_text(encoding="utf-8") == text, "python benchmarks --page makes it"
    assert len(long_page.page().split()) <= 1_000
    assert long_page.page().count("\n| ") == len(long_page.ROWS) + 2, "each row of the page is of one measurement"


def test_the_page_of_yardsticks_shows_the_kept_attacks() -> None:
    page = (ROOT / "docs" / "yardsticks.md").read_text()
    made = "<!-- made by: python benchmarks/similarity_foreground.py --page -->"
    assert f"{made}\n\n{similarity_foreground.page(similarity_foreground.KEPT)}\n\n<!-- end -->" in page
    lines = [json.loads(line) for line in similarity_foreground.KEPT.read_text().splitlines()]
    assert {line["table"] for line in lines if "way" in line} == set(similarity_foreground.TABLES)


def test_the_page_of_yardsticks_shows_what_samples_tell_of_the_whole() -> None:
    """Of tables that chose nothing: what the objective is for, in each sample or in all of them together."""
    page = (ROOT / "docs" / "yardsticks.md").read_text()
    made = "<!-- made by: python benchmarks/chance_gains.py --page -->"
    assert f"{made}\n\n{chance_gains.page(chance_gains.KEPT)}\n\n<!-- end -->" in page
    lines = [json.loads(line) for line in chance_gains.KEPT.read_text().splitlines()]
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
    page = (ROOT / "docs" / "yardsticks.md").read_text()
    made = "<!-- made by: python benchmarks/six_tables.py --page -->"
    assert f"{made}\n\n{six_tables.page(six_tables.KEPT)}\n\n<!-- end -->" in page
    lines = [json.loads(line) for line in six_tables.KEPT.read_text().splitlines()]
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
    page = (ROOT / "docs" / "yardsticks.md").read_text()
    made = "<!-- made by: python benchmarks/plausible_coverage.py --page -->"
    assert f"{made}\n\n{plausible_coverage.page(plausible_coverage.KEPT)}\n\n<!-- end -->" in page
    lines = [json.loads(line) for line in plausible_coverage.KEPT.read_text().splitlines()]
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
    group = Groups(np.array([0, 0]), np.array([[n, n]], dtype=float))
    fitted_share = kept_to_counts(weights, np.array([n, n], dtype=float), [group])[0, 0] / n
    assert fitted_share == pytest.approx(share, abs=1e-6)
    surer = nchypergeom_fisher(2 * n, n, n, (share / (1 - share)) ** 2).mean() / n - share
    assert surer > 0
    if n >= 300:
        assert surer * n == pytest.approx((share - 0.5) / 2, rel=0.02)


def test_similar_values_count_together() -> None:
    """Of the classes with 9 and 5 of 10 rows in one group the first tells the group; 10 of 20 people are in it."""
    counts = np.array([[6, 3, 1], [5, 0, 5]])
    grouped = similarity_foreground.in_groups(counts, ["v1", "v2", "v3"], lambda value: str(int(value) > 2))
    assert grouped.tolist() == [[9, 1, 0], [5, 5, 0]]
    domain = Domain.of({"a": Hierarchy.flat(["x", "y"]), "secret": Hierarchy.flat(["v1", "v2", "v3"])})
    cells = {"a": np.array([0, 0, 0, 1, 1]), "secret": np.array([0, 1, 2, 0, 2])}
    table = ContingencyTable.from_cells(domain, {"a": 0, "secret": 0}, cells, np.array([6, 3, 1, 5, 5]))
    people = equivalence_classes(table, "secret")
    groups = published_groups([table], people)

    def together(rows: np.ndarray) -> np.ndarray:
        return similarity_foreground.in_groups(rows, ["v1", "v2", "v3"], lambda value: str(int(value) > 2))

    assert similarity_foreground.alike(groups, people, together) == 0.5
    attribute, guess = similarity_foreground.foreground(people, groups)
    assert attribute == "a"
    assert guess == pytest.approx(people.counts)
