"""The command of the benchmarks knows every script, and tables, fits, projections and pictures are right."""

import argparse
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
from growth import PowerLaw, Series, all_series, fitted, projected
from growth_plots import draw
from hypothesis import given
from hypothesis import strategies as st
from measurement import BUSY, Machine, Measurement, Seconds, interleaved, measurement_of, peak_megabytes
from peer_program import Clone, started
from real_tables import real_tables
from scipy.stats import nchypergeom_fisher
from selection_peers import CHORDALYSIS, ESS
from suite import SCRIPTS, Script, growth_table, remarks, run, table

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


def test_a_fit_is_the_least_squares_line_and_its_spread_the_standard_deviation() -> None:
    """By the normal equations; one value is off by a factor of two."""
    values = [1.0, 10, 200, 1_000]
    x, y = np.log10(SIZES), np.log10(values)
    slope = ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()
    residuals = y - y.mean() - slope * (x - x.mean())
    law = fitted(SIZES, values)
    assert law.exponent == pytest.approx(slope)
    assert law.spread == pytest.approx(10 ** np.sqrt((residuals**2).sum() / 2))


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


def test_series_differ_in_one_size_alone() -> None:
    points = growing(1, attributes=7) + growing(2, attributes=70) + growing(1, "other")
    assert [(s.case, s.grows, dict(s.fixed)) for s in all_series(points)] == [
        ("case", "rows", {"attributes": 7}),
        ("case", "rows", {"attributes": 70}),
        ("other", "rows", {}),
    ]
    (series, *_) = all_series(reversed(points))
    assert series.values("seconds")[0] == list(SIZES)
    assert all_series(points[:2]) == []


def test_a_measurement_survives_its_json_line() -> None:
    point = growing(1)[0]
    read = measurement_of(json.loads(json.dumps(point.line())))
    assert read is not None
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


def test_a_line_tells_median_and_processor_time_and_the_ratio_of_these() -> None:
    ours, theirs = Seconds.of([2.0, 1.0, 6.0], [0.5, 0.6, 0.5]), Seconds.of([4.0], [2.0])
    line = Measurement("b", "case", {"rows": 3}, ours, None, "peer", theirs).line()
    told = {name: line[name] for name in ("seconds", "median_seconds", "processor_seconds", "ratio", "processor_ratio")}
    assert told == {
        "seconds": 1.0,
        "median_seconds": 2.0,
        "processor_seconds": 0.5,
        "ratio": 0.25,
        "processor_ratio": 0.25,
    }


def test_what_others_took_is_all_cores_but_this_process() -> None:
    before, after = Machine(100.0, 10.0, 1000.0), Machine(116.0, 18.0, 1010.0)
    assert after.others(before) == pytest.approx(0.8)
    assert before.others(before) == 0


@pytest.mark.skipif(Machine.now() is None, reason="the system does not tell how busy it is")
def test_a_printed_measurement_says_how_busy_the_machine_was(capsys: pytest.CaptureFixture[str]) -> None:
    growing(1)[0].print()
    line = json.loads(capsys.readouterr().out)
    assert line["load"] >= 0
    assert line["others"] >= 0
    assert line["busy"] is (line["others"] > BUSY) or abs(line["others"] - BUSY) < 0.01


def test_a_peer_that_cannot_take_part_is_skipped_with_the_reason(tmp_path: Path) -> None:
    for clone in (ARX, CHORDALYSIS, ESS):
        assert clone.option in clone.missing(None)
        assert f"is no clone of {clone.repository}" in clone.missing(tmp_path)
    here = Clone("--here", "example.org/here", "file", ("no-such-program", "nor-this"))
    (tmp_path / "file").touch()
    assert here.missing(tmp_path) == "no-such-program and nor-this are not installed"
    assert Clone("--here", "example.org/here", "file", ()).missing(tmp_path) == ""


def test_a_peer_program_answers_each_time_it_is_asked() -> None:
    told = "import sys; print('ready', flush=True)\nfor number, _ in enumerate(sys.stdin): "
    told += 'print(\'{"seconds": %d, "processor": 1}\' % (3 - number), flush=True)'
    with started([sys.executable, "-c", told], warm_up=1) as program:
        assert [program.run()["seconds"] for _ in range(2)] == [2, 1]
        assert (program.seconds, program.seconds.median, program.seconds.processor) == (1, 1.5, 1)
    with (
        started([sys.executable, "-c", "print('ready')"]) as program,
        pytest.raises(RuntimeError, match="ended before"),
    ):
        program.run()


def test_a_script_takes_over_the_options_that_are_its_own() -> None:
    chosen = argparse.Namespace(long=False, only=None, arx=Path("clone"), ess=None, chordalysis=None)
    (lattice,) = (script for script in SCRIPTS if script.name == "lattice_search")
    (stepwise,) = (script for script in SCRIPTS if script.name == "stepwise_search")
    assert lattice.arguments(chosen) == ("--arx", "clone")
    assert stepwise.arguments(chosen) == ("--quick",)
    switch = Script("any", options=("--make-peer-environment",))
    assert switch.arguments(argparse.Namespace(long=False, only=None, make_peer_environment=True)) == switch.options
    assert Script("none", quick=None).arguments(chosen) is None
    assert Script("none", quick=None).arguments(argparse.Namespace(long=False, only=["none"])) == ()
    assert Script("none", quick=None).arguments(argparse.Namespace(long=True, only=["other"])) is None


def test_the_numbers_of_written_pages_are_those_that_were_measured() -> None:
    lines = page_numbers.kept()
    assert lines
    assert all(page_numbers.is_wanted(line) for line in lines)
    pages = page_numbers.written()
    assert page_numbers.filled(pages, lines) == pages, "python benchmarks --pages puts them there"


def test_a_target_is_no_number_of_a_page() -> None:
    target = {"benchmark": "stepwise_search", "target": "t", "attributes": 5, "domain": "declared", "base": "none"}
    assert not page_numbers.is_wanted({**target, "occupation": "as it is", "met": True})


def test_a_number_that_was_measured_anew_is_put_in_its_place() -> None:
    old = {"benchmark": "publish_adult", "case": "whole command", "megabytes": 199.4, "ratio": 3.449}
    first, second = Path("first.md"), Path("second.md")
    pages = {first: "Before.", second: "Then it takes 1 MB, and 2 times as long as pandas takes. 1 MB after."}
    (new,) = page_numbers.replaced([old], [{**old, "ratio": 12.3}])
    assert page_numbers.filled(pages, [new]) == {
        first: "Before.",
        second: "Then it takes 200 MB, and 12 times as long as pandas takes. 1 MB after.",
    }
    with pytest.raises(ValueError, match="0 sentences"):
        page_numbers.filled({first: "No such sentence."}, [new])
    with pytest.raises(ValueError, match="2 sentences"):
        page_numbers.filled({first: pages[second], second: pages[second]}, [new])


def test_an_interrupted_run_goes_on_after_its_last_script(tmp_path: Path) -> None:
    path, told = tmp_path / "long.jsonl", {"commit": "abc", "date": "2026-01-01"}
    assert kept_runs.kept(path, "counting", (), "abc") is None
    assert kept_runs.keep(path, "counting", (), [{"case": 1}, {"case": 2}], told)
    assert kept_runs.keep(path, "growing", ("--quick",), [{"case": 3}], told)
    assert kept_runs.kept(path, "counting", (), "abc") == [{"case": 1}, {"case": 2}]
    assert kept_runs.kept(path, "growing", ("--quick",), "abc") == [{"case": 3}]
    others = [("growing", (), "abc"), ("growing", ("--quick",), "abd"), ("other", (), "abc"), ("counting", (), None)]
    assert [kept_runs.kept(path, *other) for other in others] == [None] * 4


def test_what_failed_or_has_no_commit_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    assert not kept_runs.keep(path, "counting", (), [{"case": 1}, {"failed": "why"}], {"commit": "abc"})
    assert not kept_runs.keep(path, "counting", (), [{"case": 1}], {"commit": None})
    assert not path.exists()
    path.write_text("{}\n[1]\n")
    with pytest.raises(ValueError, match="line 2"):
        kept_runs.kept(path, "counting", (), "abc")


def test_the_memory_of_a_run_is_what_it_allocates() -> None:
    assert peak_megabytes(lambda: np.ones(1_000_000).sum()) == pytest.approx(8, rel=0.05)


def test_tables_have_a_row_for_each_measurement_and_each_series() -> None:
    points = growing(2)
    header, *rows = table(points).splitlines()
    assert header.split() == [
        "benchmark",
        "case",
        "size",
        "seconds",
        "yardstick",
        "its",
        "seconds",
        "ratio",
        "MB",
        "quality",
    ]
    assert rows[1].split() == ["b", "case", "100", "rows", "0.02", "copy", "0.0001", "200", "300"]
    _, row = growth_table(all_series(points)).splitlines()
    assert row.split() == ["b", "case", "rows", "10", "10,000", "2", "1", "2", "1", "1", "1"]
    assert table([]) == growth_table([]) == ""


def test_how_good_a_search_is_stands_beside_its_seconds() -> None:
    good, fast = (
        Measurement("b", name, {"rows": 10}, 1.0, None, "", None, facts)
        for name, facts in (("good", {"quality": "BIC +0.0"}), ("fast", {"quality": "BIC +7.5"}))
    )
    assert [row.rstrip().endswith(end) for row, end in zip(table([good, fast]).splitlines()[1:], ("+0.0", "+7.5"))] == [
        True
    ] * 2


def test_what_is_no_measurement_is_remarked() -> None:
    lines = [
        growing(1)[0].line(),
        {"benchmark": "b", "target": "5 s", "met": False},
        {"benchmark": "b", "target": "6 s", "met": True, "seconds": 5.5},
        {"benchmark": "b", "skipped": "why"},
        {"benchmark": "b", "said": "41"},
    ]
    assert remarks(lines) == ["b MISSED: 5 s", "b met: 6 s (5.5)", "b skipped: why", "b said: 41"]


def test_what_a_script_prints_besides_measurements_is_passed_on(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.with_suffix(".py").write_text("import sys\nprint(41)\nsys.stdout.buffer.write(b'\\xff!\\n')\nsys.exit(3)\n")
    lines = list(run(Script(str(odd)), ()))
    assert [line["said"] for line in lines[:-1]] == ["41", "\ufffd!"]
    assert remarks(lines)[-1] == f"{odd} FAILED: it ended with status 3"


@pytest.mark.slow
def test_growth_is_drawn_once_for_each_benchmark_and_size(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (path,) = draw(all_series(growing(1) + growing(2, "other")), tmp_path / "pictures")
    assert path.name == "b-rows.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def scripts() -> dict[str, Path]:
    """Files in the folder that run by themselves, but for the command."""
    files = {path.stem: path for path in (ROOT / "benchmarks").glob("*.py")}
    return {name: path for name, path in files.items() if "__main__" in path.read_text() and name != "__main__"}


@pytest.mark.slow
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


def test_a_benchmark_that_fails_says_so() -> None:
    (script,) = (script for script in SCRIPTS if script.name == "publish_adult")
    *_, line = run(script, ("--no-such-option",))
    assert remarks([line]) == ["publish_adult FAILED: it ended with status 2"]


def test_laws_are_those_of_time_and_memory() -> None:
    series = Series("b", "case", "rows", {}, tuple(growing(1.5)))
    laws = series.laws()
    assert laws["seconds"] == PowerLaw(pytest.approx(1.5), pytest.approx(2e-6), pytest.approx(1))
    assert laws["megabytes"].exponent == pytest.approx(1)


def test_the_page_of_the_benchmarks_shows_what_was_kept(tmp_path: Path) -> None:
    for path, text in long_page.files().items():
        assert path.read_text(encoding="utf-8") == text, "python benchmarks --page makes it"
    assert len(long_page.page().split()) <= 1_000
    assert long_page.page().count("\n| ") == len(long_page.ROWS) + 2, "each row of the page is of one measurement"
    kept = tmp_path / "long.jsonl"
    told = {"date": "2026-01-01", "commit": "abc", "cores": 2, "processor": "Processor"}
    lines = [one.line() for one in growing(1)]
    case = "census 6-anonymous beside ARX, whole processes"
    ours = Measurement("lattice_search", case, {"rows": 1_000_000}, 1.0, None, "ARX", 2.0)
    lines.append(ours.line() | {"busy": True, "processor_seconds": 0.5})
    other = Measurement("stepwise_search", "Adult, pyAgrum", {"rows": 45_222}, 3.0, None, "marginals, greedy", 1.5)
    assert kept_runs.keep(kept, "stepwise_search", (), [other.line()], told)
    assert kept_runs.keep(kept, "lattice_search", (), [{"benchmark": "lattice_search", "skipped": "old"}], told)
    assert kept_runs.keep(kept, "lattice_search", ("--arx", str(tmp_path / "clone")), lines, told)
    assert str(tmp_path) not in kept.read_text()
    text, measurements, growth = long_page.files(kept).values()
    assert "Measured on 2026-01-01 at commit abc, on 2 cores (Processor)." in text
    assert "| The same of a census \\* | 1,000,000 rows | 1 | ARX | 2 | 2 |  |" in text
    assert "| A decomposable model of Adult | 45,222 rows | 1.5 | pyAgrum | 3 | 2 |  |" in text, (
        "a line of another program"
    )
    assert f'lattice_search,"{case}",,,,1000000,1.0,,ARX,2.0,0.5,0.5,,,True,2026-01-01,abc\n' in measurements
    assert "b,case,,rows,10,10000,1.0,1.0,1.0,1.0\n" in growth
    assert "old" not in text + measurements


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
