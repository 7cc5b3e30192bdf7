"""What marginals add to an anonymized table: KG06 Fig. 1, and the bars of its Figs. 7, 8 and 9, on Adult.

    python experiments/injecting_utility_kg06.py [--hierarchies hierarchies-incognito] [--csv FOLDER] [--plot FOLDER]

Fig. 7 compares the minimal tables A, B and C with all quasi-identifiers suppressed (0) and with the best collection of
marginals (opt), Fig. 8 the best collections that hold one of the tables (A+, B+, C+), Fig. 9 adds single attributes to C.
The exact search finds and proves the best ones. KG06 prints its bars without numbers, but says that there are three
minimal tables, that the best collection with B is the best of all, that C gains from race, marital status, sex and age in
this order, that age then comes in ranges of 5 years, and that the best collections are still noticeably better.

All of that is so with the hierarchies of Incognito, which the paper names. With the others C shows ages in ranges of 5
years already, so that the last addition is missing; the rest is the same. What the paper says of B and C fits one table
each; A is what is left.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from math import inf
from pathlib import Path
from string import ascii_uppercase

import pandas as pd
from bars import draw
from figures import Figure

from checks import PrivacyConstraint, Recursive
from marginals import Attribute, Policy, Table, anonymize, publish, read_hierarchy, read_table
from models import Collection, Hierarchy, Margin, Mask, MaximumEntropy

DATA = Path(os.environ.get("MARGINALS_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")

QUASI_IDENTIFIERS = ("race", "sex", "age", "marital-status")
SENSITIVE = "occupation"
HIERARCHIES = {"hierarchies": "the hierarchies of ARX", "hierarchies-incognito": "the hierarchies of Incognito"}


def adult(hierarchies: str) -> Table:
    """Adult as KG06 section 8 has it; the occupation is never generalized."""
    folder = DATA / "adult" / hierarchies
    attributes: dict[str, Attribute | str] = {
        name: Attribute(
            "quasi-identifier",
            read_hierarchy(folder / f"{name}.csv"),
            label_form="names" if name == "age" else "numbers",
        )
        for name in QUASI_IDENTIFIERS
    }
    return read_table(DATA / "adult" / "adult.csv", attributes | {SENSITIVE: "sensitive"}, ["?", ""], domain="observed")


def policy(base: str | Mapping[str, int]) -> Policy:
    """6-anonymous and entropy 6-diverse, searched exactly; the paper lets levels cross."""
    return Policy(
        k_link=6,
        k_combinatorial=6,
        diversity="entropy:6",
        base=base,
        strategy="exact",
        max_sensitive_margins=None,
        crossing_levels=True,
    )


def minimal_by_letter(table: Table) -> dict[str, Margin]:
    """The levels of the minimal tables, of Adult A, B and C.

    C shows ages: a marginal of each other attribute adds to it. B shows the races: the best collection holds it.
    """

    def shows(levels: Margin) -> tuple[bool, bool]:
        shown = {a for a, level in levels.items() if level < table.domain.hierarchy(a).height}
        return "age" in shown, "race" in shown

    return dict(
        zip(ascii_uppercase, sorted((one.levels for one in anonymize(table, policy("none")).minimal), key=shows))
    )


PATIENTS = (
    ("14850", "Measles", 33), ("14853", "Allergy", 26), ("14853", "Gout", 22), ("14853", "Cancer", 32),
    ("14850", "Flu", 48), ("14850", "Heart", 47), ("14850", "Flu", 46), ("14853", "Cancer", 53), ("14853", "Heart", 51),
    ("13063", "Flu", 24), ("13063", "Cancer", 38), ("13068", "Cancer", 38), ("13068", "Heart", 30),
)  # fmt: skip
"""KG06 Fig. 1 (a): zip code, condition and age."""

AGES = {"21-25": 2, "26-30": 2, "31-35": 2, "36-40": 2, "46-50": 3, "51-55": 2}
"""KG06 Fig. 1 (c). Nobody is from 41 to 45."""

CONDITIONS = {
    "14850": {"Flu": 2, "Heart": 1, "Measles": 1},
    "14853": {"Cancer": 2, "Heart": 1, "Allergy": 1, "Gout": 1},
    "13063": {"Flu": 1, "Cancer": 1},
    "13068": {"Cancer": 1, "Heart": 1},
}
"""KG06 Fig. 1 (d)."""

DECADES = {
    "14850": {"41-50": 3, "31-40": 1},
    "14853": {"51-60": 2, "21-30": 2, "31-40": 1},
    "13063": {"21-30": 1, "31-40": 1},
    "13068": {"31-40": 1, "21-30": 1},
}
"""KG06 Fig. 1 (e)."""


def patients() -> Table:
    """The 13 tuples with the levels of the figure."""
    ages = [str(age) for age in sorted({age for *_, age in PATIENTS})]

    def band(age: str, width: int) -> str:
        low = (int(age) - 1) // width * width + 1
        return f"{low}-{low + width - 1}"

    paths = [(age, band(age, 5), band(age, 10), "up to 40" if int(age) <= 40 else "above 40", "*") for age in ages]
    codes = [(code, f"{code[:-1]}*" if code > "14" else "1306*", "*") for code in CONDITIONS]
    return read_table(
        pd.DataFrame(PATIENTS, columns=["zip code", "condition", "age"]).astype(str),
        {
            "zip code": Attribute("quasi-identifier", Hierarchy.from_rows(codes)),
            "age": Attribute("quasi-identifier", Hierarchy.from_rows(paths), label_form="names"),
            "condition": "sensitive",
        },
    )


def first_figure() -> Figure:
    """KG06 Fig. 1: the counts of its marginals, and what sections 1 to 3 say of them."""
    table = patients()
    domain = table.domain

    def counted(levels: Margin) -> dict[tuple[str, ...], int]:
        found = table.base_counts.rolled_up(levels)
        columns = [
            [domain.hierarchy(name).labels[level][code] for code in found.column(name, level)]
            for name, level in levels.items()
        ]
        return dict(zip(zip(*columns), found.counts.tolist()))

    ages, conditions, decades = (
        counted(levels) for levels in ({"age": 1}, {"zip code": 0, "condition": 0}, {"zip code": 0, "age": 2})
    )
    diverse = counted({"zip code": 1, "age": 3, "condition": 0})
    classes: dict[tuple[str, str], dict[str, int]] = {}
    for (code, age, condition), count in diverse.items():
        classes.setdefault((code, age), {})[condition] = count
    rows = table.rows
    is_diverse = all(Recursive(Fraction(2), 3, strict=False).decide(list(own.values())) for own in classes.values())
    known = [{c for code, c in conditions if code == "14850"}, set(classes["1485*", "up to 40"])]
    text = [
        ("rows of the least class of (b)", min(sum(own.values()) for own in classes.values()), "4"),
        ("(b) is (2, 3)-diverse", "yes" if is_diverse else "no", "yes"),
        ("ages from 46 to 50, percent", 100 * ages["46-50",] / rows, "23"),
        (
            "zip code 14853, percent",
            100 * sum(n for (code, _), n in conditions.items() if code == "14853") / rows,
            "38.5",
        ),
        ("1306*, cancer, up to 40, percent", 100 * diverse["1306*", "up to 40", "Cancer"] / rows, "15.4"),
        ("what (b) and (d) leave in 14850 up to 40", ", ".join(sorted(set.intersection(*known))), "Measles"),
    ]
    return Figure(
        "fig1",
        "Fig. 1, its marginals and what the text says of them",
        ["statement", "ours", "in the paper"],
        [
            *([f"(c), {age}", ages.get((age,), 0), str(count)] for age, count in AGES.items()),
            *(
                [f"{letter}, {code}, {value}", found.get((code, value), 0), str(count)]
                for letter, found, paper in (("(d)", conditions, CONDITIONS), ("(e)", decades, DECADES))
                for code, counts in paper.items()
                for value, count in counts.items()
            ),
            *map(list, text),
        ],
    )


@dataclass(frozen=True)
class Bar:
    """A collection with its KL divergence in nats.

    margins: with the levels of the table, 0 being the value as it is. gap: by how many nats at most another is better, if it
    was searched for.
    """

    label: str
    kind: str
    margins: tuple[Margin, ...]
    kl_divergence: float
    gap: float | None = None


def given(label: str, kind: str, collection: Collection) -> Bar:
    """The bar of a collection that nobody searched for."""
    return Bar(label, kind, collection.margins, round(MaximumEntropy(collection).kl_divergence, 9))


def best(label: str, table: Table, base: str | Mapping[str, int]) -> Bar:
    """The bar of the best collection that holds a base table, with the levels of the table as those of all bars.

    A release numbers its levels anew, from the finest that it publishes.
    """
    search = publish(table, policy(base)).steward.search
    margins = tuple(table.domain.margin(clique) for clique in search.cliques)
    return Bar(label, "best collection", margins, round(search.kl_divergence, 9), search.gap)


def single_additions(table: Table, letter: str, base: Mask) -> Iterator[Bar]:
    """A table with marginals of one attribute added, each time the one that gains most of those that may be published."""
    domain, constraint = table.domain, PrivacyConstraint(table.cube, policy("none").requirements(table.sensitive))
    heights = {a: domain.hierarchy(a).height for a in table.quasi_identifiers}
    singles = [(a, domain.mask({a: level})) for a, height in heights.items() for level in range(height)]
    chosen, before = [base], inf
    while True:
        allowed = [(a, [*chosen, single]) for a, single in singles if constraint([*chosen, single], 0) is None]
        bars = [
            (
                given(f"{letter}{len(chosen)} {a}", "table and single attributes", Collection.of(table.cube, masks)),
                masks,
            )
            for a, masks in allowed
        ]
        bar, chosen = min(bars, key=lambda one: one[0].kl_divergence)
        if bar.kl_divergence >= before:
            return
        yield bar
        before = bar.kl_divergence


def figures(table: Table, suffix: str) -> Iterator[Figure]:
    """Figs. 7, 8 and 9, with a suffix to their names."""
    secret = table.domain.mask(dict.fromkeys(table.sensitive, 0))
    letters = minimal_by_letter(table)
    masks = {letter: secret | table.domain.mask(levels) for letter, levels in letters.items()}
    suppressed = given("0", "all suppressed", Collection.of(table.cube, [secret]))
    tables = [given(letter, "table", Collection.of(table.cube, [mask])) for letter, mask in masks.items()]
    with_table = [best(f"{letter}+", table, levels) for letter, levels in letters.items()]
    opt = best("opt", table, "none")
    last = list(letters)[-1]
    additions = list(single_additions(table, last, masks[last]))
    yield figure(7, suffix, "anonymized tables", [suppressed, *tables, opt])
    yield figure(8, suffix, "best with each table", [*tables, *with_table, opt])
    yield figure(9, suffix, f"single attributes added to {last}", [tables[-1], *additions, with_table[-1], opt])


def figure(number: int, suffix: str, what: str, bars: Sequence[Bar]) -> Figure:
    """One figure. A margin is written with the level of each attribute in the table, those at `*` left out."""
    header = ["bar", "kind", "KL divergence", "gap", "margins"]
    rows = [[b.label, b.kind, b.kl_divergence, b.gap, "; ".join(map(str, b.margins))] for b in bars]
    return Figure(f"fig{number}{suffix}", f"Fig. {number}, {what}", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hierarchies", choices=HIERARCHIES, help="only with these")
    parser.add_argument("--csv", type=Path, metavar="FOLDER", help="write the tables there, too")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="draw the bars there; needs matplotlib")
    chosen = parser.parse_args()
    if not (DATA / "adult").is_dir():
        print(f"The table Adult is not here: {DATA} has no folder adult; set MARGINALS_DATA to the one that has it.")
        return
    if chosen.plot and not find_spec("matplotlib"):
        parser.error("--plot needs matplotlib: pip install matplotlib")
    example = first_figure()
    print(example)
    if chosen.csv:
        example.write(chosen.csv)
    for hierarchies in HIERARCHIES:
        if chosen.hierarchies in (None, hierarchies):
            suffix = hierarchies.removeprefix("hierarchies").replace("-", "_")
            made = list(figures(adult(hierarchies), suffix))
            print(f"With {HIERARCHIES[hierarchies]}\n", *made, sep="\n")
            if chosen.csv:
                for one in made:
                    one.write(chosen.csv)
            if chosen.plot:
                chosen.plot.mkdir(parents=True, exist_ok=True)
                title = f"Adult, 6-anonymous and entropy 6-diverse, with {HIERARCHIES[hierarchies]}"
                draw(made, title, "KL divergence to the data (nats)").savefig(chosen.plot / f"kg06_{hierarchies}.png")


if __name__ == "__main__":
    main()
