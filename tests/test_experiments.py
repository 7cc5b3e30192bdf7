"""The experiment scripts print the papers' tables, or say in one sentence why they cannot."""

import csv
import re
from collections import Counter
from pathlib import Path

import papers_page
import pytest
from statements import STATEMENTS, TIMINGS

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


@pytest.mark.data
def test_homogeneous_classes_are_those_of_the_paper(shared_data: Path, tmp_path: Path) -> None:
    """MKGV07 Figs. 9 and 11, all columns, all k; and not with the true salaries of the test part."""
    printed = run("l_diversity_mkgv07", shared_data, "--figure", 9, "--csv", tmp_path)
    assert printed.startswith("Fig. 9")
    for number, rows in (
        (9, ["558.0", "381.58", "300.42", "317.25", "228.2", "215.4", "202.8"]),
        (11, ["13574.5", "13328.33", "10796.5", "12009.38", "11041.0", "11177.0", "8002.0"]),
    ):
        found = read(tmp_path / f"fig{number}.csv")
        assert [row["k"] for row in found] == ["2", "5", "10", "15", "20", "30", "50"]
        assert [row["rows"] for row in found] == rows
        assert {row["agree"] for row in found} == {"yes"}
        assert {row["agree"] for row in read(tmp_path / f"fig{number}_true.csv")} == {"no"}
    assert_on_the_page("l_diversity_mkgv07", tmp_path, "fig9", "fig9_true", "fig11", "text")


def test_every_figure_of_a_statement_is_on_the_page_with_a_verdict() -> None:
    """Also of those that take times, or scripts that no test runs."""
    stated = papers_page.PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    assert [part.splitlines()[0] for part in stated] == list(STATEMENTS) == [p.name for p in papers_page.PAPERS]
    for part, (name, statements) in zip(stated, STATEMENTS.items()):
        judged = [line for line in part.splitlines() if line.endswith(("| yes |", "| no |")) and line.count("|") == 5]
        assert [line.split(" | ")[:2] for line in judged] == [[f"| {s.figure}", s.says] for s in statements], name


@pytest.mark.data
@pytest.mark.parametrize(("reason", "numbers"), [("lands-end", 1), ("heights", 2)])
def test_why_figures_do_not_agree_is_said_in_the_numbers_of_an_experiment(
    shared_data: Path, tmp_path: Path, reason: str, numbers: int
) -> None:
    run("reasons", shared_data, "--reason", reason, "--csv", tmp_path / "reasons")
    assert assert_reasons_on_the_page(tmp_path) == numbers


def test_times_are_on_the_page_without_a_verdict() -> None:
    """A time is another on each machine and in each version: a verdict on it is stale before somebody reads it."""
    stated = papers_page.PAGE.read_text(encoding="utf-8")
    lines = stated.splitlines()
    for paper, timings in TIMINGS.items():
        assert paper in STATEMENTS
        for timing in timings:
            (line,) = (line for line in lines if line.startswith(f"| {timing.figure} | {timing.says} | "))
            assert line.endswith(". |")
            assert timing.figure not in {statement.figure for statement in STATEMENTS[paper]}
    judged = [line for line in lines if line.endswith(("| yes |", "| no |")) and line.count("|") == 5]
    assert not [line for line in judged if re.search(r"\b(long|times|seconds)\b", line.split(" | ")[2])]


def test_what_the_page_says_without_numbers_is_what_its_script_says() -> None:
    lines = papers_page.PAGE.read_text(encoding="utf-8").splitlines()
    assert tuple(lines[: len(papers_page.BEGINNING)]) == papers_page.BEGINNING
    for paper in papers_page.PAPERS:
        assert papers_page.made_by(paper) in lines
        assert {f"| {entry.figure} | {entry.note} |" for entry in paper.entries} <= set(lines)
        folded = papers_page.folded(paper.name, sum(len(entry.tables) for entry in paper.entries))
        assert set(folded.splitlines()) <= set(lines)


def test_a_no_that_nothing_explains_is_an_error(tmp_path: Path) -> None:
    statement = next(one for one in STATEMENTS["TZ09"] if "some requirements only SWEEP" in one.says)
    folder = tmp_path / statement.script
    folder.mkdir()
    (folder / "fig5_adult.csv").write_text("requirement,sweep,1dld,cld\nx,0.1,0.4,0.2\n")
    assert statement.judged(folder)[1] is False
    with pytest.raises(LookupError, match="no reason is known"):
        statement.why_not(tmp_path)


def test_a_simulated_lands_end_stands_in_for_the_one_of_the_paper(tmp_path: Path) -> None:
    """MKGV07 Figs. 10 and 12: few minimal tables, some of them affected; more classes at 95 percent than at all."""
    run("lands_end_mkgv07", tmp_path, "--figure", 10, "--rows", 50_000, "--csv", tmp_path)
    wholly, nearly = (read(tmp_path / f"fig{number}.csv") for number in (10, 12))
    assert any(float(row["classes"]) > 0 for row in wholly)
    assert all(float(one["classes"]) <= float(other["classes"]) for one, other in zip(wholly, nearly))
    assert_on_the_page("lands_end_mkgv07", tmp_path, "fig10", "fig12")


@pytest.mark.data
@pytest.mark.parametrize("figure", [15, 19, 20])
def test_what_diverse_tables_cost_is_judged_as_on_the_page(shared_data: Path, tmp_path: Path, figure: int) -> None:
    run("l_diversity_mkgv07", shared_data, "--figure", figure, "--csv", tmp_path)
    assert_on_the_page("l_diversity_mkgv07", tmp_path, *sorted(path.stem for path in tmp_path.iterdir()))


@pytest.mark.data
def test_the_figures_of_sweep_have_a_column_for_each_method(shared_data: Path, tmp_path: Path) -> None:
    run("sweep_tz09", shared_data, "--data", "nursery", "--requirement", "0.5,3", "--csv", tmp_path)
    (utility,) = read(tmp_path / "fig6_nursery.csv")
    assert utility.pop("requirement") == "(0.5, 3)"
    assert list(utility) == ["sweep", "1dld", "cld", "lattice"]
    assert max(utility, key=lambda method: float(utility[method])) == "sweep"
    (protection,) = read(tmp_path / "fig5_nursery.csv")
    assert float(protection["sweep"]) == min(float(protection[method]) for method in utility)
    assert {path.stem for path in tmp_path.iterdir()} >= {"fig8_nursery", "queries1_nursery", "queries3_nursery"}
    assert_on_the_page(
        "sweep_tz09", tmp_path, "fig5_nursery", "fig6_nursery", "fig6_nursery_flat", "queries1_nursery", whole=False
    )


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


def heights(path: Path) -> dict[str, float]:
    return {row["bar"]: float(row["KL divergence"]) for row in read(path)}


def assert_levels_are_those_of_one_numbering(bars: list[dict[str, str]]) -> None:
    """The best collection with a table has the table as one of its margins, at the same levels."""
    margins = {row["bar"]: row["margins"].split("; ") for row in bars}
    with_table = [bar for bar in margins if bar in ("A+", "B+", "C+")]
    assert with_table
    for bar in with_table:
        (table,) = margins[bar[0]]
        assert table in margins[bar], bar


def test_the_merged_classes_are_those_of_the_paper(shared_data: Path, tmp_path: Path) -> None:
    """MKGV07 Theorem 5.1, Figs. 5 and 6."""
    run("l_diversity_mkgv07", shared_data, "--figure", 6, "--csv", tmp_path)
    ours = {row["statement"]: float(row["ours"]) for row in read(tmp_path / "fig6.csv")}
    assert ours["belief in s1 of q1, from T*"] == pytest.approx(36 * 0.15 / 0.4 / (36 * 0.15 / 0.4 + 16 * 0.35 / 0.6))
    assert_on_the_page("l_diversity_mkgv07", tmp_path, "fig6")


@pytest.mark.data
def test_marginals_add_to_tables_what_the_paper_says(shared_data: Path, tmp_path: Path) -> None:
    """KG06 section 8: B+ is opt; race, marital status, sex and age in ranges of 5 years are added to C in this order."""
    run("injecting_utility_kg06", shared_data, "--csv", tmp_path)
    for suffix in ("", "_incognito"):
        tables, best, added = (heights(tmp_path / f"fig{number}{suffix}.csv") for number in (7, 8, 9))
        assert tables["0"] == pytest.approx(2.954, abs=1e-3)
        assert max(tables, key=tables.__getitem__) == "0"
        assert best["B+"] == best["opt"] == tables["opt"] < min(best["A+"], best["C+"])
        assert best["opt"] * 3 < min(tables[letter] for letter in "ABC")
        assert list(added.values()) == sorted(added.values(), reverse=True)
        assert {row["gap"] for row in read(tmp_path / f"fig8{suffix}.csv")} == {"", "0.0"}
        for number in (8, 9):
            assert_levels_are_those_of_one_numbering(read(tmp_path / f"fig{number}{suffix}.csv"))
    assert list(added) == ["C", "C1 race", "C2 marital-status", "C3 sex", "C4 age", "C+", "opt"]
    (last,) = (row["margins"] for row in read(tmp_path / "fig9_incognito.csv") if row["bar"] == "C4 age")
    assert set(last.split("; ")) == {
        "race:0", "sex:0", "marital-status:0", "age:1", "age:2, marital-status:1, occupation:0"
    }  # fmt: skip
    assert {row["statement"] for row in read(tmp_path / "fig1.csv")} >= {"(b) is (2, 3)-diverse", "(d), 14850, Measles"}
    assert_on_the_page("injecting_utility_kg06", tmp_path, "fig1", "fig7_incognito", "fig8_incognito", "fig9_incognito")


@pytest.mark.data
def test_disclosure_risk_behaves_as_in_the_paper(shared_data: Path, tmp_path: Path) -> None:
    """LSFB09 Figs. 7 and 9 to 12 on Adult: what the paper concludes from each."""
    whole, tmp_path = tmp_path, tmp_path / "disclosure_risk_lsfb09"
    run("disclosure_risk_lsfb09", shared_data, "--rows", 200, "--csv", tmp_path, "--plots", tmp_path)
    run("reasons", shared_data, "--reason", "k-anonymous-risk", "--csv", whole / "reasons")
    assert assert_reasons_on_the_page(whole) == 1

    def numbers(name: str) -> list[dict[str, float]]:
        return [{key: float(value) for key, value in row.items()} for row in read(tmp_path / f"{name}.csv")]

    by_dictionary: dict[str, list[list[float]]] = {"linear": [], "multiplicative": []}
    for row in read(tmp_path / "fig7a.csv"):
        by_dictionary[row["sensitivity"]].append([float(row[str(c)]) for c in range(11)])
    for risks in by_dictionary.values():
        assert all(row == sorted(row) for row in risks)
        assert [row[8] for row in risks] == sorted((row[8] for row in risks), reverse=True)
    for linear, multiplicative in zip(*by_dictionary.values()):
        assert all(low <= high for low, high in zip(linear, multiplicative))
    rules = numbers("fig7b_rules")
    assert all(rule["optimal_utility"] >= rule["utility"] for rule in rules)
    assert all(rule["optimal_risk"] < rule["risk"] for rule in rules)
    assert all(point["true"] <= point["estimated"] for point in numbers("fig7c"))
    correlation = {row["correlation"]: float(row["value"]) for row in read(tmp_path / "fig9_correlation.csv")}
    assert correlation["of risk and utility"] > 0.7
    for name in ("fig10a", "fig10b"):
        for column in ("on average", "for each record"):
            values = [row[column] for row in numbers(name)]
            assert values == sorted(values)
    assert all(row["on average"] <= row["for each record"] * (1 + 1e-9) for row in numbers("fig10a"))
    for row in numbers("fig12"):
        assert row["risk walk"] == row["risk brute force"]
        assert row["losses walk"] <= row["losses brute force"]
    assert_on_the_page("disclosure_risk_lsfb09", tmp_path, "fig7a", "fig7b", "fig9_correlation", "fig10a", "fig11")
    drawn = {path.stem for path in tmp_path.glob("*.svg")}
    assert drawn == {"fig7a", "fig7b", "fig7c", "fig9", "fig10a", "fig10b", "fig11", "fig12"}
