"""What k-anonymity gives away and what l-diversity costs: the tables behind MKGV07 Figs. 6, 9, 11, 13 and 15 to 20.

    python experiments/l_diversity_mkgv07.py [--figure 9] [--csv FOLDER] [--seed 0]

Fig. 6 merges two classes of its own; all others are about Adult. Figs. 9 and 11 count homogeneous classes in all minimal
k-anonymous tables, Fig. 13 times the lattice search, Figs. 15 to 18 show the cheapest minimal tables of a 5 % sample,
Figs. 19 and 20 the KL divergence of the best ones, of a sample and of all rows. The sample is ours, so Figs. 15 to 19 agree
with the paper in shape only, as does Fig. 13.

Figs. 9 and 11 agree with the paper in every number, if two things are as its authors seem to have had them. Every row of
the test part counts as "<=50K": the test file of UCI spells its labels with a dot at the end. And the taxonomy of
education puts Bachelors with Some-college and the two Assoc values at level 1, which Incognito's does not. What the true
salaries give is printed too.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd
from figures import Figure

from checks import Entropy, Recursive, Requirements, equivalence_classes
from checks.classes import homogeneity
from marginals import Attribute, Role, Table, read_hierarchy, read_table
from marginals.recoding.lattice import SingleTable, minimal_tables, single_table
from models import DataCube, Hierarchy

DATA = Path(os.environ.get("MARGINALS_DATA") or Path(__file__).parents[2] / "shared" / "data")

ATTRIBUTES = (
    "age", "sex", "race", "marital-status", "education", "native-country", "workclass", "salary-class",
)  # fmt: skip
"""The attributes in the order of MKGV07 Fig. 7; a quasi-identifier of size j is the first j of them."""

EDUCATION = {
    ("Elementary", "No post-secondary"): ("Preschool", "1st-4th", "5th-6th", "7th-8th"),
    ("Secondary", "No post-secondary"): ("9th", "10th", "11th", "12th", "HS-grad"),
    ("Undergraduate", "Post-secondary"): ("Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors"),
    ("Graduate", "Post-secondary"): ("Masters", "Prof-school", "Doctorate"),
}
"""The taxonomy of the authors, as Figs. 9 and 11 tell: names of levels 1 and 2, and the values below them."""

PRINTED = {
    9: (
        ("8/8", 7.38, 558.00), ("11/12", 3.58, 381.58), ("10/12", 1.75, 300.42), ("7/8", 2.12, 317.25),
        ("8/10", 1.20, 228.20), ("7/10", 0.90, 215.40), ("5/5", 1.00, 202.80),
    ),
    11: (
        ("8/8", 20.50, 13574.5), ("12/12", 12.67, 13328.3), ("12/12", 7.83, 10796.5), ("8/8", 8.88, 12009.4),
        ("10/10", 7.10, 11041.0), ("10/10", 5.50, 11177.0), ("5/5", 5.80, 8002.0),
    ),
    10: (
        ("2/3", 12.3, 2537.6), ("2/3", 12.3, 2537.6), ("2/2", 18.5, 3806.5), ("2/2", 18.5, 3806.5),
        ("1/2", 2.5, 1750), ("1/2", 2.5, 1750), ("1/3", 0.6, 1156),
    ),
    12: (
        ("2/3", 13.0, 2825.33), ("2/3", 13.0, 2825.33), ("2/2", 19.5, 4238.00), ("2/2", 19.5, 4238.00),
        ("1/2", 3.0, 2119.00), ("1/2", 3.0, 2119.00), ("1/3", 1.0, 1412.66),
    ),
}  # fmt: skip
"""The numbers of the paper: for each k affected and all tables, mean numbers of classes and of rows."""

SAMPLED = {15: ATTRIBUTES[:3], 16: ATTRIBUTES[:4], 17: ATTRIBUTES[:5], 18: ATTRIBUTES[:7]}
DIVERGENCES = (("age", "sex", "race"), ATTRIBUTES[:4], ATTRIBUTES[:5])
ANONYMITY = (2, 5, 10, 15, 20, 30, 50)
DIVERSITY = (2, 4, 6, 8, 10)
SAMPLE_SHARE = 0.05
TRAINING_ROWS = 30_162
"""So many rows of Adult come from the training file of UCI; those of the test file follow."""

CRITERIA: dict[str, Callable[[int, str], Requirements]] = {
    "k-anonymity": lambda k, sensitive: Requirements((sensitive,), k_link=k),
    "entropy": lambda l, sensitive: Requirements((sensitive,), diversity=Entropy(Fraction(l))),
    "recursive (3, l)": lambda l, sensitive: Requirements((sensitive,), diversity=Recursive(Fraction(3), l)),
}


def table_of(rows: pd.DataFrame, quasi_identifiers: Sequence[str], sensitive: str) -> Table:
    """The rows with the hierarchies of the paper: those of Incognito where they differ from the others."""
    attributes = {sensitive: Attribute(Role.SENSITIVE)}
    for attribute in quasi_identifiers:
        attributes[attribute] = Attribute(Role.QUASI_IDENTIFIER, hierarchy_of(attribute))
    return read_table(rows, attributes, ["?", ""], domain="observed")


def hierarchy_of(attribute: str) -> Hierarchy:
    """That of the paper, as far as it is known."""
    if attribute == "education":
        return Hierarchy.from_rows((value, *above, "*") for above, values in EDUCATION.items() for value in values)
    paths = [DATA / "adult" / folder / f"{attribute}.csv" for folder in ("hierarchies-incognito", "hierarchies")]
    return read_hierarchy(next(path for path in paths if path.exists()))


def homogeneous_classes(table: Table, numbers: tuple[int, int], suffix: str, what: str) -> Iterator[Figure]:
    """Two figures with these numbers: classes of one sensitive value, and classes in which one has 95 percent.

    Beside each number stands that of the paper, and at the end whether all agree as far as the paper prints them.
    """
    (sensitive,) = table.sensitive
    minimal = {
        k: minimal_tables(table.cube, table.quasi_identifiers, Requirements(table.sensitive, k_link=k)).minimal
        for k in ANONYMITY
    }
    header = ["k", "tables", "(paper's tables)", "classes", "(paper's classes)", "rows", "(paper's rows)", "agree"]
    for number, share in zip(numbers, (Fraction(1), Fraction(95, 100))):
        lines: list[Sequence[str | int | float]] = []
        for (k, found), (tables, classes, rows) in zip(minimal.items(), PRINTED[number]):
            held = (equivalence_classes(table.cube.table(one.mask), sensitive) for one in found)
            tallies = [homogeneity(classes_of_one, share) for classes_of_one in held]
            affected = f"{sum(tally.classes > 0 for tally in tallies)}/{len(tallies)}"
            mean_classes, mean_rows = (fmean(numbers) for numbers in zip(*tallies))
            agree = affected == tables and is_printed(mean_classes, classes) and is_printed(mean_rows, rows)
            ours = (affected, tables, round(mean_classes, 2), classes, round(mean_rows, 2), rows)
            lines.append([k, *ours, "yes" if agree else "no"])
        title = f"Fig. {number}{what}, classes in which one value has {float(share):.0%} of the rows, mean over tables"
        yield Figure(f"fig{number}{suffix}", title, header, lines)


def is_printed(number: float, printed: float) -> bool:
    """Whether the paper prints a number so, rounded or cut to one or two decimals."""
    decimals = 2 if round(printed, 1) != printed else 1
    return abs(number - printed) < 10.0**-decimals


def statements(rows: pd.DataFrame) -> Figure:
    """What MKGV07 section 6 says in its text."""
    age = pd.to_numeric(rows["age"])
    shares = rows["occupation"].value_counts(normalize=True)
    table = table_of(rows, ATTRIBUTES[:5], "occupation")
    found = minimal_tables(table.cube, table.quasi_identifiers, Requirements(table.sensitive, k_link=4)).minimal
    diverse = Recursive(Fraction(3), 12).decide(rows["occupation"].value_counts().tolist())
    return Figure(
        "text",
        "Section 6, what the text says of Adult",
        ["statement", "ours", "in the paper"],
        [
            ["rows", len(rows), "45222"],
            ["rows of an age from 81 to 90", int(age.between(81, 90).sum()), "114"],
            ["rows of an age from 31 to 40", int(age.between(31, 40).sum()), "12291"],
            ["entropy diversity of all rows", float(np.exp(-(shares * np.log(shares)).sum())), "10.57"],
            ["all rows are recursively (3, 12)-diverse", "yes" if diverse else "no", "no"],
            [
                "largest mean class of a minimal 4-anonymous table",
                max(o.average_class_size for o in found),
                "over 1000",
            ],
        ],
    )


def merged_classes() -> Figure:
    """MKGV07 Figs. 5 and 6: a table and its population, and what somebody of class q1 or q2 has to fear of merging both."""
    population, rows = np.array([[0.15, 0.35], [0.25, 0.25]]), np.array([[1, 1], [35, 15]])
    together, in_class = np.array([rows.sum(axis=0)] * 2), np.array([population.sum(axis=0)] * 2)
    weights = together * population / in_class  # Theorem 3.1; in a class by itself the population cancels
    before, apart, merged = (own / own.sum(axis=1, keepdims=True) for own in (population, rows, weights))
    beliefs = [
        [f"belief in s{s + 1} of {q}, {when}", float(belief[place, s]), paper[place][s]]
        for place, q in enumerate(("q1", "q2"))
        for s in range(2)
        for when, belief, paper in (
            ("before", before, (("0.3", "0.7"), ("0.5", "0.5"))),
            ("from T", apart, (("0.5", "0.5"), ("0.7", "0.3"))),
        )
    ]
    return Figure(
        "fig6",
        "Figs. 5 and 6, Theorem 5.1: beliefs before and after both classes are merged",
        ["statement", "ours", "in the paper"],
        [
            *beliefs,
            ["weight of s1 for q1 in T*", float(weights[0, 0]), "13.5"],
            ["weight of s2 for q1 in T*", float(weights[0, 1]), "under 9.34"],
            ["belief in s1 of q1, from T*", float(merged[0, 0]), "over 0.59"],
        ],
    )


def read_with_dots(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows as somebody reads them who takes ">50K." for "<=50K": so the test file of UCI spells ">50K"."""
    read = rows.copy()
    read.loc[read.index >= TRAINING_ROWS, "salary-class"] = "<=50K"
    return read


def search_times(rows: pd.DataFrame) -> Figure:
    """MKGV07 Fig. 13: seconds to find all minimal tables, reading excluded."""
    lines = []
    for size in range(3, len(ATTRIBUTES) + 1):
        attributes = ATTRIBUTES[:size]
        table = table_of(rows, attributes, "occupation")
        seconds = []
        for criterion in ("k-anonymity", "entropy"):
            begin = time.perf_counter()
            result = minimal_tables(DataCube([table.counts]), attributes, CRITERIA[criterion](6, "occupation"))
            seconds.append(time.perf_counter() - begin)
        lines.append([size, result.nodes, *seconds])
    return Figure("fig13", "Fig. 13, seconds for k = l = 6", ["attributes", "nodes", "k-anonymity", "entropy"], lines)


def minimal_by_criterion(table: Table) -> dict[tuple[str, int], tuple[SingleTable, ...]]:
    """All minimal tables for each criterion and each k = l."""
    return {
        (criterion, l): minimal_tables(table.cube, table.quasi_identifiers, requirements(l, "occupation")).minimal
        for criterion, requirements in CRITERIA.items()
        for l in DIVERSITY
    }


def cheapest_tables(sample: pd.DataFrame) -> Iterator[Figure]:
    """MKGV07 Figs. 15 to 18: the least height, average class size and discernibility of any minimal table."""
    measures: dict[str, Callable[[SingleTable], float]] = {
        "height": lambda one: one.height,
        "average class size": lambda one: one.average_class_size,
        "discernibility": lambda one: one.discernibility,
    }
    for number, attributes in SAMPLED.items():
        minimal = minimal_by_criterion(table_of(sample, attributes, "occupation"))
        lines = [
            [name, l, *(min(map(measure, minimal[criterion, l]), default=None) for criterion in CRITERIA)]
            for name, measure in measures.items()
            for l in DIVERSITY
        ]
        title = f"Fig. {number}, minimal tables of a sample over {', '.join(attributes)}"
        yield Figure(f"fig{number}", title, ["least", "k = l", *CRITERIA], lines)


def divergences(number: int, rows: pd.DataFrame, what: str) -> Figure:
    """MKGV07 Figs. 19 and 20: the KL divergence of the best tables in nats. Base: all but the occupation suppressed."""
    lines = []
    for attributes in DIVERGENCES:
        table = table_of(rows, attributes, "occupation")
        suppressed = {attribute: table.domain.hierarchy(attribute).height for attribute in attributes}
        base = single_table(table.cube, suppressed, Requirements(table.sensitive)).kl_divergence
        minimal = minimal_by_criterion(table)
        for l in DIVERSITY:
            best = (min((one.kl_divergence for one in minimal[criterion, l]), default=None) for criterion in CRITERIA)
            lines.append([len(attributes), l, base, *best])
    return Figure(f"fig{number}", f"Fig. {number}, KL divergence of the best table of {what}",
                  ["attributes", "k = l", "base", *CRITERIA], lines)  # fmt: skip


def figures(seed: int) -> Iterator[tuple[frozenset[int], Callable[[], Iterator[Figure]]]]:
    """What makes which figures."""
    rows = pd.read_csv(DATA / "adult" / "adult.csv", dtype=str, keep_default_na=False)
    sample = rows[np.random.default_rng(seed).random(len(rows)) < SAMPLE_SHARE]
    numbers = (9, 11)
    by_salary = partial(table_of, quasi_identifiers=ATTRIBUTES[:5], sensitive="salary-class")
    yield frozenset(numbers), lambda: homogeneous_classes(by_salary(read_with_dots(rows)), numbers, "", "")
    true = "_true", " with the true salaries of the test part"
    yield frozenset(numbers), lambda: homogeneous_classes(by_salary(rows), numbers, *true)
    yield frozenset(numbers), lambda: iter([statements(rows)])
    yield frozenset({6}), lambda: iter([merged_classes()])
    yield frozenset({13}), lambda: iter([search_times(rows)])
    yield frozenset(SAMPLED), lambda: cheapest_tables(sample)
    yield frozenset({19}), lambda: iter([divergences(19, sample, f"a sample of {len(sample)} rows")])
    yield frozenset({20}), lambda: iter([divergences(20, rows, "all rows")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=int, choices=[6, 9, 11, 13, *range(15, 21)], help="only what it comes with")
    parser.add_argument("--csv", type=Path, metavar="FOLDER", help="write the tables there, too")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    chosen = parser.parse_args()
    if not (DATA / "adult").is_dir():
        print(f"The table Adult is not here: {DATA} has no folder adult; set MARGINALS_DATA to the one that has it.")
        return
    for numbers, make in figures(chosen.seed):
        if chosen.figure is None or chosen.figure in numbers:
            for figure in make():
                print(figure)
                if chosen.csv:
                    figure.write(chosen.csv)


if __name__ == "__main__":
    main()
