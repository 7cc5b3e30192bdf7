"""Why some figures come out otherwise than their papers say: an experiment for each "no" of docs/papers.md.

    python experiments/reasons.py [--reason heights] [--samples 10] [--csv FOLDER] [--seed 0]

Each reason is a table that shows what the difference hangs on: the sample, the stand-in for a table that was never public,
the hierarchies, or what the paper itself says elsewhere. `explanations.py` puts it into the words of the page.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pandas as pd
import sweep_tz09
from disclosure_risk_lsfb09 import ANONYMITY, RULES, adult, random_k_anonymous
from figures import Figure
from l_diversity_mkgv07 import CRITERIA, DATA, DIVERSITY, SAMPLE_SHARE, SAMPLED, homogeneous_classes
from l_diversity_mkgv07 import table_of as of_adult
from lands_end_mkgv07 import sales
from lands_end_mkgv07 import table_of as of_sales
from sweep_tz09 import REQUIREMENTS, least_excessive, mapped_tables, nursery, recursive_tables, requirement, spelled_out

from checks import Functional, Records, consistent_counts
from checks.diversity.criteria import excessive_protections
from checks.risk.harm import risk
from marginals import Table
from marginals.recoding import sweep
from marginals.recoding.lattice import minimal_tables
from marginals.recoding.local_recoding import LocalRecoding
from marginals.usefulness import tree_accuracy
from models import GeneralizedCells

SALES = 50_000
OTHER_COSTS = (0.0, 0.02)
DISCLOSED = 200
"""As for the page."""

DIVERSE = ("entropy", "recursive (3, l)")

Levels = tuple[int, ...]


def lands_end(seed: int) -> Iterator[Figure]:
    """MKGV07 Fig. 12: whether the dear articles of the simulation have one cost each, or nearly."""
    rows = []
    for other in OTHER_COSTS:
        table = of_sales(sales(SALES, seed, other), 5)
        wholly, nearly = homogeneous_classes(table, (10, 12), "", "")
        rows += [[other, one[0], one[3], two[3]] for one, two in zip(wholly.rows, nearly.rows)]
    header = ["share of dear articles with another cost", "k", "homogeneous", "nearly homogeneous"]
    yield Figure("why_fig12", f"Fig. 12, mean numbers of classes, of {SALES:,} simulated rows", header, rows)


def least_levels(table: Table, criterion: str, l: int) -> list[Levels]:
    """The levels of the minimal tables, in the order of the quasi-identifiers."""
    found = minimal_tables(table.cube, table.quasi_identifiers, CRITERIA[criterion](l, "occupation"))
    return [tuple(one.levels[attribute] for attribute in table.quasi_identifiers) for one in found.minimal]


def satisfying(table: Table, minimal: Sequence[Levels]) -> set[Levels]:
    """All levels at which the table satisfies what it does at these: the criteria are monotone."""
    heights = [range(table.domain.hierarchy(attribute).height + 1) for attribute in table.quasi_identifiers]
    return {node for node in product(*heights) if any(all(a >= b for a, b in zip(node, least)) for least in minimal)}


def heights(samples: int, seed: int) -> Iterator[Figure]:
    """MKGV07 Figs. 15 to 19: in how many cases of several samples, and of all rows, the least heights are the same, and
    in how many some table satisfies recursive diversity and not entropy diversity.
    """
    everybody = pd.read_csv(DATA / "adult" / "adult.csv", dtype=str, keep_default_na=False)
    drawn = [everybody[np.random.default_rng(seed + n).random(len(everybody)) < SAMPLE_SHARE] for n in range(samples)]
    lines: list[Sequence[str | int | float | None]] = []
    for name, kept in ((f"{samples} samples", drawn), ("all rows", [everybody])):
        for l in DIVERSITY:
            cases = [_least_heights(of_adult(rows, a, "occupation"), l) for rows in kept for a in SAMPLED.values()]
            same = [sum(one == anonymous for anonymous, *others in cases for one in [others[n]]) for n in range(2)]
            lines.append([name, l, len(cases), *same])
    title = "Figs. 15 to 18, cases in which the least height is that of k-anonymity"
    yield Figure("why_fig15", title, ["rows", "k = l", "cases", "entropy", "recursive (3, l)"], lines)
    between: list[Sequence[str | int | float | None]] = []
    for attributes, l in product(list(SAMPLED.values())[:3], DIVERSITY):
        only = []
        for rows in drawn:
            table = of_adult(rows, attributes, "occupation")
            entropy, recursive = (satisfying(table, least_levels(table, c, l)) for c in DIVERSE)
            only.append((bool(recursive - entropy), bool(entropy - recursive)))
        between.append([len(attributes), l, len(only), *map(sum, zip(*only))])
    title = "Fig. 19, samples in which some table satisfies one diversity and not the other"
    yield Figure("why_fig19", title, ["attributes", "k = l", "samples", "recursive only", "entropy only"], between)


def _least_heights(table: Table, l: int) -> list[int | None]:
    """Of k-anonymity, entropy and recursive diversity."""
    return [min(map(sum, least_levels(table, criterion, l)), default=None) for criterion in CRITERIA]


def k_anonymous_risk(seed: int) -> Iterator[Figure]:
    """LSFB09 Fig. 7(b): the risk of random k-anonymous rules, and what it can be at most: the mean harm divided by k.

    As in the figure, k people of the dictionary at least agree with each disclosed record, so that each loss is at most
    its harm divided by k.
    """
    experiment = adult(DISCLOSED, seed)
    rng = np.random.default_rng(seed)
    dictionary = experiment.dictionary(len(experiment.people))
    vectors = experiment.people.space.level_vectors()
    rules = [experiment.originals.generalized(levels) for levels in vectors]
    counts = np.stack([consistent_counts(rule, dictionary) for rule in rules])
    people = np.arange(DISCLOSED)
    lines = []
    for k in ANONYMITY:
        found = []
        for _ in range(RULES):
            rule: Records = experiment.originals.generalized(vectors[random_k_anonymous(counts, k, rng)])
            harm = experiment.multiplicative.identified(rule, people)
            found.append((risk(rule, dictionary, experiment.multiplicative), float(harm.mean()) / k))
        lines.append([k, *np.mean(found, axis=0).tolist()])
    title = "Fig. 7(b), mean risk of the random k-anonymous rules, and the mean harm divided by k"
    yield Figure("why_fig7b", title, ["k", "risk", "harm / k"], lines)


def recoded(samples: int, seed: int) -> Iterator[Figure]:
    """TZ09 Figs. 5 and 7 on Nursery: ties, means over rows, and trees against guesses."""
    asked = list(map(requirement, REQUIREMENTS["nursery"].split()))
    table = nursery()
    (secret,) = table.sensitive
    pools = {"1dld": list(mapped_tables(table)), "cld": recursive_tables(table)}
    served = [r for r in asked if all(any(one.satisfies(r) for one in pool) for pool in pools.values())]
    answers: list[dict[str, LocalRecoding]] = []
    for each in served:
        chosen = {name: least_excessive(pool, each) for name, pool in pools.items()}
        answers.append({"sweep": sweep(table, each), **{name: one for name, one in chosen.items() if one is not None}})
    header = ["requirement", "sweep", "1dld", "cld"]

    def tabulated(name: str, title: str, measure: Callable[[LocalRecoding, Functional], float | str]) -> Figure:
        rows = [[spelled_out(r), *(measure(found[m], r) for m in header[1:])] for r, found in zip(served, answers)]
        return Figure(name, title, header, rows)

    def excesses(one: LocalRecoding, asked_for: Functional) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return excessive_protections(one.requirement_on(secret, asked_for), one.class_counts(secret))

    def least_class(one: LocalRecoding, asked_for: Functional) -> str:
        counts = one.class_counts(secret)[excesses(one, asked_for).argmin()]
        return " + ".join(str(count) for count in sorted(counts.tolist(), reverse=True) if count)

    def mean_excess(one: LocalRecoding, asked_for: Functional) -> float:
        return round(float(excesses(one, asked_for) @ one.sizes) / one.rows, 9)

    yield tabulated("why_fig5", "Fig. 5, excessive protection, mean over rows (nursery)", mean_excess)
    yield tabulated("why_fig5_class", "Fig. 5, rows by value of the class with the least (nursery)", least_class)
    original = GeneralizedCells.of(table.counts)
    commonest = int(np.bincount(table.counts.column(secret, 0), table.counts.counts).max()) / table.rows

    def accuracies(cells: GeneralizedCells) -> list[float]:
        return [tree_accuracy(cells, table.counts, secret, np.random.default_rng(seed + n)) for n in range(samples)]

    known = float(np.mean(accuracies(original)))
    rows: list[Sequence[str | int | float | None]] = []
    for each, found in zip(served, answers):
        means = [float(np.mean(accuracies(found[m].cells))) / known for m in header[1:]]
        rows.append([spelled_out(each), *means, commonest / known])
    title = f"Fig. 7, relative accuracy, mean of {samples} trees; that of the commonest value for everybody (nursery)"
    yield Figure("why_fig7", title, [*header, "commonest value"], rows)


def steps() -> Iterator[Figure]:
    """TZ09 Fig. 8 with one step from each value to `*`, in processor seconds; beside the numbers of level combinations."""
    for name, ours, flat in (
        ("adult", sweep_tz09.adult(), sweep_tz09.adult(one_step=True)),
        ("nursery", nursery(), nursery(steps=1)),
    ):
        asked = list(map(requirement, REQUIREMENTS[name].split()))
        combinations = [level_combinations(table) for table in (ours, flat)]
        rows: list[Sequence[str | int | float | None]] = []
        both = zip(asked, sweep_tz09.answers_of(flat, asked), sweep_tz09.answers_of(ours, asked))
        for each, found, of_fig8 in both:
            seconds = [
                None if answers[m].recoding is None else answers[m].seconds
                for answers in (found, of_fig8)
                for m in ("sweep", "1dld", "cld")
            ]
            rows.append([spelled_out(each), *seconds, *combinations])
        title = f"Fig. 8, processor seconds with hierarchies of one step ({name})"
        of_ours = [f"{method} as in Fig. 8" for method in ("sweep", "1dld", "cld")]
        levels = ["combinations of levels as in Fig. 8", "with one step"]
        header = ["requirement", "sweep", "1dld", "cld", *of_ours, *levels]
        yield Figure(f"why_fig8_{name}", title, header, rows)


def level_combinations(table: Table) -> int:
    """Through how many combinations of the quasi-identifiers' levels SWEEP goes."""
    return prod(table.domain.hierarchy(attribute).height + 1 for attribute in table.quasi_identifiers)


REASONS: Mapping[str, Callable[[argparse.Namespace], Iterator[Figure]]] = {
    "lands-end": lambda chosen: lands_end(chosen.seed),
    "heights": lambda chosen: heights(chosen.samples, chosen.seed),
    "k-anonymous-risk": lambda chosen: k_anonymous_risk(chosen.seed),
    "recoded": lambda chosen: recoded(chosen.samples, chosen.seed),
    "steps": lambda _: steps(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reason", choices=sorted(REASONS), help="this one only")
    parser.add_argument("--samples", type=int, default=10, help="of Adult, and trees")
    parser.add_argument("--csv", type=Path, metavar="FOLDER", help="write the tables there, too")
    parser.add_argument("--seed", type=int, default=0, help="of the first sample, the rules and trees")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        print(f"The tables Adult and Nursery are not here: {DATA} is no folder; set MARGINALS_DATA to theirs.")
        return
    for name in [chosen.reason] if chosen.reason else REASONS:
        for figure in REASONS[name](chosen):
            print(figure)
            if chosen.csv:
                figure.write(chosen.csv)


if __name__ == "__main__":
    main()
