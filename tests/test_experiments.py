"""The experiment scripts print the papers' tables, or say in one sentence why they cannot."""

import csv
from collections import Counter
from pathlib import Path

import papers_page
import pytest
from statements import STATEMENTS

import forked
from project import ROOT

SCRIPTS = (
    "sweep_tz09",
    "eligible_tz11",
    "l_diversity_mkgv07",
    "injecting_utility_kg06",
    "disclosure_risk_lsfb09",
    "reasons",
)

SCRIPT = """
import os, runpy, sys
folder, script, os.environ["MARGINALS_DATA"] = sys.argv[1:4]
del sys.argv[1:4]
sys.path.insert(0, folder)
runpy.run_path(f"{folder}/{script}.py", run_name="__main__")
"""


def run(script: str, data: Path, *arguments: object) -> str:
    done = forked.run(SCRIPT, ROOT / "experiments", script, data, *arguments, folder=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_on_the_page(script: str, folder: Path, *names: str, whole: bool = True) -> None:
    """The page of the papers shows what the script wrote, and how each statement that goes by it alone is judged.

    whole: whether the script was run as for the page, so that statements come out as there.
    """
    stated = papers_page.PAGE.read_text(encoding="utf-8")
    written = {path.stem for path in folder.glob("*.csv")}
    for statement in (one for paper in STATEMENTS.values() for one in paper if whole and one.script == script):
        if written.issuperset(statement.tables):
            assert statement.line(folder) in stated.splitlines()
    for name in names:
        header, rule, *rows = papers_page.shown(folder / f"{name}.csv").splitlines()
        begin = stated.index(f"`{script}`, {name}:")
        table = stated[begin:].split("\n\n")[1].splitlines()
        assert table[:2] == [header, rule]
        assert set(rows) <= set(table)


def assert_reasons_on_the_page(folder: Path) -> int:
    """The page has each reason that goes by tables in a folder of folders, one a script. How many were compared."""
    stated = papers_page.PAGE.read_text(encoding="utf-8").splitlines()
    compared = 0
    for statement in (one for paper in STATEMENTS.values() for one in paper if one.why is not None):
        if all((folder / script / f"{name}.csv").exists() for script, name in statement.why.tables):
            assert f"| {statement.figure} | {statement.says} | {statement.why.sentence(folder)} |" in stated
            compared += 1
    return compared


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_data_one_sentence_says_so(script: str, tmp_path: Path) -> None:
    printed = run(script, tmp_path / "nowhere")
    assert printed.count("\n") == 1
    assert "not here" in printed
    assert "MARGINALS_DATA" in printed


RUNS = {
    "MKGV07 Figs. 9 and 11": ("l_diversity_mkgv07", "--figure 9", "fig9 fig9_true fig11 text"),
    "MKGV07 Figs. 10 and 12, simulated": ("lands_end_mkgv07", "--figure 10 --rows 50000", "fig10 fig12"),
    **{f"MKGV07 Fig. {number}": ("l_diversity_mkgv07", f"--figure {number}", "") for number in (6, 15, 19, 20)},
    "KG06": ("injecting_utility_kg06", "", "fig1 fig7_incognito fig8_incognito fig9_incognito"),
    "LSFB09": ("disclosure_risk_lsfb09", "--rows 200 --plots PLACE", "fig7a fig7b fig9_correlation fig10a fig11"),
    "TZ09, one requirement of many": ("sweep_tz09", "--data nursery --requirement 0.5,3",
        "fig5_nursery fig6_nursery fig6_nursery_flat queries1_nursery"),
}  # fmt: skip
"""Of each experiment its script, the options, and the tables that the page shows as they came out; without names, all."""


@pytest.mark.data
@pytest.mark.parametrize("experiment", RUNS)
def test_what_an_experiment_writes_and_how_it_is_judged_is_on_the_page(
    experiment: str, shared_data: Path, tmp_path: Path
) -> None:
    script, options, names = RUNS[experiment]
    folder = tmp_path / script
    run(script, shared_data, *options.replace("PLACE", str(tmp_path)).split(), "--csv", folder)
    written = sorted(path.stem for path in folder.glob("*.csv"))
    assert_on_the_page(script, folder, *(names.split() or written), whole="requirement" not in options)
    if experiment == "LSFB09":
        run("reasons", shared_data, "--reason", "k-anonymous-risk", "--csv", tmp_path / "reasons")
        assert assert_reasons_on_the_page(tmp_path) == 1
        assert len([*tmp_path.glob("*.svg")]) == 8


@pytest.mark.data
@pytest.mark.parametrize(("reason", "numbers"), [("lands-end", 1), ("heights", 2)])
def test_why_figures_do_not_agree_is_said_in_the_numbers_of_an_experiment(
    shared_data: Path, tmp_path: Path, reason: str, numbers: int
) -> None:
    run("reasons", shared_data, "--reason", reason, "--csv", tmp_path / "reasons")
    assert assert_reasons_on_the_page(tmp_path) == numbers


def test_every_figure_of_a_statement_is_on_the_page_with_a_verdict() -> None:
    """Also of those that take times, or scripts that no test runs."""
    stated = papers_page.PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    assert [part.splitlines()[0] for part in stated] == list(STATEMENTS) == [p.name for p in papers_page.PAPERS]
    for part, (name, statements) in zip(stated, STATEMENTS.items()):
        judged = [line for line in part.splitlines() if line.endswith(("| yes |", "| no |")) and line.count("|") == 5]
        assert [line.split(" | ")[:2] for line in judged] == [[f"| {s.figure}", s.says] for s in statements], name


def test_what_the_page_says_without_numbers_is_what_its_script_says() -> None:
    lines = papers_page.PAGE.read_text(encoding="utf-8").splitlines()
    assert tuple(lines[: len(papers_page.BEGINNING)]) == papers_page.BEGINNING
    for paper in papers_page.PAPERS:
        assert papers_page.made_by(paper) in lines
        assert {f"| {entry.figure} | {entry.note} |" for entry in paper.entries} <= set(lines)
        folded = papers_page.folded(paper.name, sum(len(entry.tables) for entry in paper.entries))
        assert set(folded) <= set(lines)


def test_a_no_that_nothing_explains_is_an_error(tmp_path: Path) -> None:
    statement = next(one for one in STATEMENTS["TZ09"] if "some requirements only SWEEP" in one.says)
    folder = tmp_path / statement.script
    folder.mkdir()
    (folder / "fig5_adult.csv").write_text("requirement,sweep,1dld,cld\nx,0.1,0.4,0.2\n")
    assert statement.judged(folder)[1] is False
    with pytest.raises(LookupError, match="no reason is known"):
        statement.why_not(tmp_path)


@pytest.mark.data
def test_the_eligible_ranges_are_those_of_the_frequencies(shared_data: Path, tmp_path: Path) -> None:
    """TZ11 Table 1: by the most frequent values of Adult and Nursery, counted here with the standard library alone."""
    run("eligible_tz11", shared_data, "--csv", tmp_path)
    assert_on_the_page("eligible_tz11", tmp_path, "table1", "rule")
    found = {row["sensitive"]: row for row in read(tmp_path / "table1.csv")}
    for name, table, column in (
        ("Adult, occupation", "adult", "occupation"),
        ("Adult, salary", "adult", "salary-class"),
        ("Nursery, class", "nursery", "class"),
    ):
        counted = Counter(row[column] for row in read(shared_data / table / f"{table}.csv"))
        counts = sorted(counted.values(), reverse=True)
        row = found[name]
        assert int(row["values"]) == len(counts)
        assert float(row["largest simple l"]) == pytest.approx(sum(counts) / counts[0])
        for l in range(2, 6):
            whole = row[f"least whole c, l = {l}"]
            tail = sum(counts[l - 1 :])
            assert whole == (str(counts[0] // tail + 1) if tail else "")
