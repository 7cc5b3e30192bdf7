"""The page docs/papers.md: every figure and table of the five papers, what is reproduced of it, and how well.

    python experiments/papers_page.py FOLDER

FOLDER holds what the scripts printed, as CSV, in one folder a script: each is run with --csv FOLDER/NAME, as the page says,
and `reasons` without other options.
Numbers and verdicts on the page come from there and nowhere else; tests run the quick scripts and compare.
"""

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from statements import KG06, LANDS_END, LSFB09, MKGV07, STATEMENTS, TIMINGS, TZ09, TZ11

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"


@dataclass(frozen=True)
class Entry:
    """A figure of a paper. note: how it was made, or why not. script, tables: whose CSV files of these names are shown."""

    figure: str
    note: str
    script: str = ""
    tables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper, by its short name and its title, with its figures. scripts: how each is run for this page."""

    name: str
    title: str
    scripts: tuple[str, ...]
    entries: tuple[Entry, ...]


EXPLAINED = "Examples and drawings, without an experiment."
TIMES = "Times of another machine, printed as a graph."

PAPERS = (
    Paper(
        "MKGV07",
        "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: l-Diversity. TKDD 2007",
        (*(f"{MKGV07} --figure {number}" for number in (6, 9, 15, 19, 20)), f"{LANDS_END} --figure 10 --rows 50000"),
        (
            Entry("Figs. 1 to 4", EXPLAINED),
            Entry("Figs. 5 and 6", "Two classes that are merged, as Theorem 5.1 has them.", MKGV07, ("fig6",)),
            Entry("Figs. 7 and 8", "Descriptions of the tables; our hierarchies of Adult have the heights of Fig. 7."),
            Entry(
                "Figs. 9 and 11",
                "With the authors' taxonomy of education, and every row of UCI's test part read as "
                '"<=50K", since its labels end with a dot. With the true salaries (`fig9_true`) no row comes out.',
                MKGV07,
                ("fig9", "fig9_true", "fig11"),
            ),
            Entry("Section 6, text", "Numbers of the table Adult.", MKGV07, ("text",)),
            Entry(
                "Figs. 10 and 12",
                "Lands End was never public. A simulated table of 50,000 rows stands in for its 4,591,581.",
                LANDS_END,
                ("fig10", "fig12"),
            ),
            Entry("Figs. 13 and 14", f"{TIMES} `{MKGV07} --figure 13` and `{LANDS_END}` measure ours."),
            Entry(
                "Figs. 15 to 19",
                "Printed as bars without numbers, of a random twentieth of Adult that is not public; ours is another.",
                MKGV07,
                ("fig15", "fig16", "fig17", "fig18", "fig19"),
            ),
            Entry("Fig. 20", "Printed as bars without numbers.", MKGV07, ("fig20",)),
        ),
    ),
    Paper(
        "KG06",
        "Kifer, Gehrke: Injecting utility into anonymized datasets. SIGMOD 2006",
        (KG06,),
        (
            Entry("Fig. 1", "The marginals of its 13 tuples, and what sections 1 to 3 say of them.", KG06, ("fig1",)),
            Entry("Figs. 2 to 6", EXPLAINED),
            Entry(
                "Figs. 7 to 9",
                "Printed as bars without numbers. The paper says 6-diverse without the c of its Def. 2.5; here it is the "
                "entropy form.",
                KG06,
                ("fig7_incognito", "fig8_incognito", "fig9_incognito"),
            ),
            Entry(
                "Section 7, injection",
                "`table = { age = 2, sex = 0 }` under `[base]` names the levels of the table beside the marginals.",
            ),
            Entry(
                "Section 10",
                "One sentence names sets of models as future work, without a method. Several releases are "
                "judged by all their marginals together; their expected counts can be averaged.",
            ),
        ),
    ),
    Paper(
        "LSFB09",
        "Lebanon, Scannapieco, Fouad, Bertino: Beyond k-anonymity. TDP 2009",
        (f"{LSFB09} --rows 200",),
        (
            Entry("Figs. 1 to 6, 8", EXPLAINED),
            Entry(
                "Fig. 7",
                "The table of Wal-Mart was never public; Adult stands in, with dictionaries drawn from it.",
                LSFB09,
                ("fig7a", "fig7b"),
            ),
            Entry("Fig. 9", "Random rules on Adult.", LSFB09, ("fig9_correlation",)),
            Entry(
                "Fig. 10",
                "With both rules, by record and of means; `marginals risk --on-average` chooses by the second.",
                LSFB09,
                ("fig10a",),
            ),
            Entry(
                "Fig. 11",
                "Its bars are frequencies of levels in a table that was never public, without numbers. Ours is the share of "
                "records that show an attribute as it is. `marginals risk --utility 8` prints all levels for any table.",
                LSFB09,
                ("fig11",),
            ),
            Entry("Fig. 12", "Its table holds times, and is printed by the script alone."),
        ),
    ),
    Paper(
        "TZ09",
        "Tian, Zhang: Extending l-diversity for better data anonymization. ITNG 2009",
        (TZ09,),
        (
            Entry("Figs. 1 to 4", EXPLAINED),
            Entry(
                "Fig. 5",
                "Printed as curves without numbers; the paper names neither attributes nor hierarchies, so those are ours.",
                TZ09,
                ("fig5_adult", "fig5_nursery"),
            ),
            Entry(
                "Fig. 6",
                "At the weakest requirements SWEEP comes near the full-domain tables (cld) of Nursery with one step from "
                "each value to `*` (`fig6_nursery_flat`). Our two-step hierarchies cost it the rest.",
                TZ09,
                ("fig6_adult", "fig6_nursery", "fig6_nursery_flat"),
            ),
            Entry("Fig. 7", "Trees and splits are ours.", TZ09, ("fig7_adult", "fig7_nursery")),
            Entry(
                "Fig. 8",
                "SWEEP goes through all combinations of levels, as its complexity in the paper says; our 1dld sorts the "
                "rows once. The paper names no hierarchies, on which the times hang; `reasons` measures them with two.",
            ),
        ),
    ),
    Paper(
        "TZ11",
        "Tian, Zhang: Extending l-diversity to generalize sensitive data. DKE 2011",
        (TZ09, TZ11),
        (
            Entry("All", "Our copy of the text is damaged: captions and most numbers are missing."),
            Entry("Figs. 1 to 8", EXPLAINED),
            Entry(
                "Table 1",
                "Eligible ranges. Its numbers are missing in our copy but for the c of the text; ours are those of all rows "
                "together, which no generalization exceeds. `marginals assess --eligible` tells them of any table.",
                TZ11,
                ("table1",),
            ),
            Entry(
                "Figs. 9 and 10",
                "Not reproduced: which l and c serve each requirement best with the paper's hierarchies, which it does not "
                "name, as points of a plane. The tables that they lead to are those of 1dld and cld in Fig. 5 of TZ09.",
            ),
            Entry("Figs. 11 to 15", "Excessive protection and information, as in Figs. 5 and 6 of TZ09."),
            Entry("Figs. 16 to 18", "Accuracy, as in Fig. 7 of TZ09. Numbers of classification rules: not reproduced."),
            Entry(
                "Section 5.3.2, text",
                "The rule with the 4320 tuples is lost in our copy; as many are in the classes of Nursery's first rule.",
                TZ11,
                ("rule",),
            ),
            Entry(
                "Figs. 19 and 20",
                "Nursery's counts are all alike: cld has no error there.",
                TZ09,
                ("queries1_adult", "queries1_nursery", "queries3_adult", "queries3_nursery"),
            ),
            Entry("Figs. 21 and 22", f"{TIMES} See Fig. 8 of TZ09."),
        ),
    ),
)


BEGINNING = (
    "# The papers, figure by figure",
    "",
    "This page is made by `python experiments/papers_page.py FOLDER` from what the scripts of `experiments/`",
    "print on the tables Adult and Nursery of UCI. What a paper says is judged by these numbers: no verdict is typed.",
    "Where one does not agree, the reason is in numbers too, those of `python experiments/reasons.py`.",
    "Times are not judged. A dash stands for no answer. Levels are those of the table's hierarchies everywhere: 0 is the",
    "value as it is, and each further level is coarser. A release numbers its levels anew, from the finest that it",
    "publishes.",
)
"""The first lines of the page."""


def made_by(paper: Paper) -> str:
    """The paper's title, and how the scripts were run."""
    runs = ", ".join(f"`{script}`" for script in paper.scripts)
    return f"{paper.title}. Made by {runs}."


def shown(path: Path) -> str:
    """A CSV file as a table in Markdown, numbers with four significant digits."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    lines = [header, ["---"] * len(header), *([_rounded(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _rounded(cell: str) -> str:
    try:
        number = float(cell)
    except ValueError:
        return cell or "-"
    return cell if number.is_integer() else f"{number:.4g}" if abs(number) < 10 else f"{number:.2f}"


def page(folder: Path) -> str:
    """The page from what the scripts wrote into a folder."""
    return "\n".join(_lines(folder)) + "\n"


def _lines(folder: Path) -> Iterator[str]:
    yield from BEGINNING
    for paper in PAPERS:
        yield from ("", f"## {paper.name}", "", made_by(paper), "")
        yield from ("| figure | the paper says | here | agrees |", "|---|---|---|---|")
        yield from (statement.line(folder / statement.script) for statement in STATEMENTS[paper.name])
        reasons = [line for statement in STATEMENTS[paper.name] if (line := statement.why_not(folder))]
        if reasons:
            yield from ("", "| figure | the paper says | why it does not agree |", "|---|---|---|", *reasons)
        if timings := TIMINGS.get(paper.name):
            yield from ("", "| figure | the paper says of times | processor seconds of one run, not judged |")
            yield "|---|---|---|"
            yield from (timing.line(folder) for timing in timings)
        yield from ("", "| figure | how |", "|---|---|")
        yield from (f"| {entry.figure} | {entry.note} |" for entry in paper.entries)
        tables = [(entry, name) for entry in paper.entries for name in entry.tables]
        yield from folded(paper.name, len(tables))
        for entry, name in tables:
            csv_file = folder / entry.script / f"{name}.csv"
            yield from ("", f"**{entry.figure}**, `{entry.script}`, {name}:", "", shown(csv_file))
        yield from ("", "</details>")


def folded(paper: str, tables: int) -> tuple[str, ...]:
    """How the numbers of a paper begin, which unfold."""
    return "", "<details>", f"<summary>The numbers of {paper}: {tables} tables</summary>"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="with a folder of CSV files for each script")
    PAGE.write_text(page(parser.parse_args().folder), encoding="utf-8")


if __name__ == "__main__":
    main()
