"""What k-anonymity gives away and what l-diversity costs: the tables behind MKGV07 Figs. 9, 11, 13 and 15 to 20, on Adult.

    python experiments/l_diversity_mkgv07.py [--figure 9] [--csv FOLDER] [--seed 0]

Figs. 9 and 11 count homogeneous classes in all minimal k-anonymous tables, Fig. 13 times the lattice search, Figs. 15 to
18 show the cheapest minimal tables of a 5 % sample, Figs. 19 and 20 the KL divergence of the best ones, of a sample and
of all rows. The sample is ours, so Figs. 15 to 19 agree with the paper in shape only, as does Fig. 13.

Fig. 9 comes twice. With the salaries as they are the number of tables is that of the paper, but fewer classes are
homogeneous. With every row of the test part taken for "<=50K" all columns agree with the paper for k of 10 and more,
and nearly for the others: the test file of UCI spells its labels with a dot at the end.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from figures import Figure

from checks.claims.requirements import Requirements
from checks.classes.equivalence_classes import equivalence_classes
from checks.classes.homogeneity import average, homogeneity
from checks.diversity.entropy import Entropy
from checks.diversity.recursive import Recursive
from marginals.anonymizers.lattice import SingleTable, minimal_tables, single_table
from marginals.config.release_toml import read_hierarchy
from marginals.tables.attribute import Attribute, Role
from marginals.tables.source import read_table
from marginals.tables.table import Table
from models.tables.data_cube import DataCube

DATA = Path(os.environ.get("MARGINALS_DATA") or Path(__file__).parents[2] / "shared" / "data")

ATTRIBUTES = (
    "age", "sex", "race", "marital-status", "education", "native-country", "workclass", "salary-class",
)  # fmt: skip
"""The attributes in the order of MKGV07 Fig. 7; a quasi-identifier of size j is the first j of them."""

SAMPLED = {15: ATTRIBUTES[:3], 16: ATTRIBUTES[:4], 17: ATTRIBUTES[:5], 18: ATTRIBUTES[:7]}
DIVERGENCES = (("age", "sex", "race"), ATTRIBUTES[:4], ATTRIBUTES[:5])
ANONYMITY = (2, 5, 10, 15, 20, 30, 50)
DIVERSITY = (2, 4, 6, 8, 10)
SAMPLE_SHARE = 0.05
TRAINING_ROWS = 30_162
"""So many rows of Adult come from the training file of UCI; those of the test file follow."""

CRITERIA: dict[str, Callable[[int], Requirements]] = {
    "k-anonymity": lambda k: Requirements(("occupation",), k_link=k),
    "entropy": lambda l: Requirements(("occupation",), diversity=Entropy(Fraction(l))),
    "recursive (3, l)": lambda l: Requirements(("occupation",), diversity=Recursive(Fraction(3), l)),
}


def table_of(rows: pd.DataFrame, quasi_identifiers: Sequence[str], sensitive: str) -> Table:
    """The rows with the hierarchies of the paper: those of Incognito where they differ from the others."""
    attributes = {sensitive: Attribute(Role.SENSITIVE)}
    for attribute in quasi_identifiers:
        paths = [DATA / "adult" / folder / f"{attribute}.csv" for folder in ("hierarchies-incognito", "hierarchies")]
        hierarchy = read_hierarchy(next(path for path in paths if path.exists()))
        attributes[attribute] = Attribute(Role.QUASI_IDENTIFIER, hierarchy)
    return read_table(rows, attributes, ["?", ""], "observed")


def homogeneous_classes(rows: pd.DataFrame, suffix: str, what: str) -> Iterator[Figure]:
    """MKGV07 Figs. 9 and 11: salary is sensitive."""
    table = table_of(rows, ATTRIBUTES[:5], "salary-class")
    header = ["k", "tables", "affected tables", "classes", "rows"]
    minimal = {
        k: minimal_tables(table.cube, ATTRIBUTES[:5], Requirements(("salary-class",), k_link=k)).minimal
        for k in ANONYMITY
    }
    for number, share in ((9, Fraction(1)), (11, Fraction(95, 100))):
        lines: list[Sequence[str | int | float]] = []
        for k, found in minimal.items():
            classes = (equivalence_classes(table.cube.table(one.mask), "salary-class") for one in found)
            tally = average([homogeneity(held, share) for held in classes])
            lines.append([k, tally.tables, tally.affected_tables, round(tally.classes, 2), round(tally.rows, 2)])
        title = f"Fig. {number}{what}, classes in which one value has {float(share):.0%} of the rows, mean over tables"
        yield Figure(f"fig{number}{suffix}", title, header, lines)


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
            result = minimal_tables(DataCube([table.counts]), attributes, CRITERIA[criterion](6))
            seconds.append(time.perf_counter() - begin)
        lines.append([size, result.nodes, *seconds])
    return Figure("fig13", "Fig. 13, seconds for k = l = 6", ["attributes", "nodes", "k-anonymity", "entropy"], lines)


def minimal_by_criterion(table: Table) -> dict[tuple[str, int], tuple[SingleTable, ...]]:
    """All minimal tables for each criterion and each k = l."""
    return {
        (criterion, l): minimal_tables(table.cube, table.quasi_identifiers, requirements(l)).minimal
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
    yield frozenset({9, 11}), lambda: homogeneous_classes(rows, "", "")
    yield (
        frozenset({9, 11}),
        lambda: homogeneous_classes(read_with_dots(rows), "_dots", " without >50K in the test part"),
    )
    yield frozenset({13}), lambda: iter([search_times(rows)])
    yield frozenset(SAMPLED), lambda: cheapest_tables(sample)
    yield frozenset({19}), lambda: iter([divergences(19, sample, f"a sample of {len(sample)} rows")])
    yield frozenset({20}), lambda: iter([divergences(20, rows, "all rows")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=int, choices=[9, 11, 13, *range(15, 21)], help="only what it comes with")
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
