"""Two attacks of the literature on six real tables, beside maximum entropy with the same knowledge.

All attackers know the nonsensitive values of everybody, and hold what is published: the marginals of a release, or one
full-domain table, both under k_link 10 and distinct:3. They guess each person's sensitive value, or in which group of
similar values it is, and `right` is the share of people of whom the likeliest is true:
- maxent: the maximum-entropy guess from what is published and known;
- foreground: who mines from that guess how often each value of one attribute goes with each sensitive value, and weighs
  with it who of a class has what (Wong, Fu, Wang, Yu and Pei, TKDD 2011); the attribute is that of which the mined table
  tells most (mutual information). The paper sums over all ways to deal the values of a class to its people. This takes the
  limit of that in large classes (`kept_to_counts`), which is a little weaker: where it says .75, the sum over a class of
  ten says up to .78;
- definetti: who learns from all attributes and across classes until nothing changes (Kifer, SIGMOD 2009);
- nobody: the commonest value, or group.

Similarity (Li, Li and Venkatasubramanian, ICDE 2007): different values can be alike, so that a diverse class tells what
kind of value somebody has. `alike` is the share of the people in whose class, as it is published, one group has nine
tenths or more. The groups are those of TABLES.

What is not here is skipped. `--page` prints the table of docs/yardsticks.md from the kept run:

    python benchmarks/similarity_foreground.py > benchmarks/results/similarity_foreground.jsonl
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measurement import circumstances, options, say, skipped
from real_tables import RealTable, real_tables

from checks import EquivalenceClasses, equivalence_classes
from checks.attacks.guesses import definetti, kept_to_counts, published_groups
from marginals import Attribute, Policy, Table, anonymize, publish, read_table
from models import Collection, ContingencyTable
from models.inference.class_shares import SummedTable

KEPT = Path(__file__).parent / "results" / "similarity_foreground.jsonl"
SECONDS = 20.0
MOST_ROWS = 5_000
"""Of a table; larger ones are sampled, since the fits of who learns take long."""

POLICY = Policy(k_link=10, diversity="distinct:3", base="none", time_limit=SECONDS)
DOMINANT = 0.9
"""Share of a class from which on a group of similar values counts as told."""


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column. known: quasi-identifiers. bounds: lower ends of intervals that a number is cut into, if it is.

    group: the group of similar values that a value belongs to; of a number, of an interval's position.
    """

    name: str
    known: tuple[str, ...]
    group: Callable[[str], str]
    bounds: tuple[float, ...] = ()

    def texts(self, column: pd.Series) -> pd.Series:
        """The values as labels that are no numbers, which would be published in groups only."""
        places = np.searchsorted(self.bounds, column, side="right") - 1 if self.bounds else column
        return "v" + pd.Series(places, index=column.index).astype(str)


_OFFICE = ("Adm-clerical", "Exec-managerial", "Prof-specialty", "Sales", "Tech-support")
_SERVICE = ("Other-service", "Priv-house-serv", "Protective-serv", "Armed-Forces")


def accuracy(guess: np.ndarray, people: EquivalenceClasses) -> float:
    """Return the share of the rows whose sensitive value is the likeliest one of their class; ties count in part."""
    likeliest = guess >= guess.max(axis=1, keepdims=True) * (1 - 1e-9)
    return float(((people.counts * likeliest).sum(axis=1) / likeliest.sum(axis=1)).sum() / people.counts.sum())


def _work(value: str) -> str:
    return "office" if value in _OFFICE else "service" if value in _SERVICE else "manual"


def _in_three(*ends: float) -> Callable[[str], str]:
    """Below the first end, below the second, or neither."""
    return lambda value: str(np.searchsorted(ends, float(value), side="right"))


TABLES: Mapping[str, Sensitive] = {
    "Adult": Sensitive("occupation", ("age", "workclass", "education", "marital-status", "race", "sex"), _work),
    "Nursery": Sensitive(
        "class",
        ("parents", "has_nurs", "form", "children", "housing", "health"),
        lambda value: value if value in ("not_recom", "spec_prior") else "recommended",
    ),
    "fair": Sensitive(
        "rate_marriage", ("age", "yrs_married", "children", "religious", "educ", "occupation"), _in_three(3, 4)
    ),
    "randhie": Sensitive(
        "mdvis", ("idp", "lpi", "physlm", "disea", "hlthf", "hlthp"), _in_three(1, 3), (0, 1, 2, 4, 7, 13)
    ),
    "anes96": Sensitive("PID", ("TVnews", "selfLR", "age", "educ", "income", "vote"), _in_three(3, 4)),
    "diabetes": Sensitive(
        "target", ("age", "sex", "bmi", "bp", "s5", "s6"), _in_three(2, 4), (0, 50, 100, 150, 200, 250, 300)
    ),
}


def read(real: RealTable, sensitive: Sensitive) -> Table:
    """The table as a publisher reads it."""
    frame = real.frame[list(sensitive.known)].astype(str).assign(secret=sensitive.texts(real.frame[sensitive.name]))
    columns = {name: Attribute("quasi-identifier", ladder="fitted") for name in sensitive.known}
    return read_table(frame, columns | {"secret": Attribute("sensitive")}, k=POLICY.k_link, rows_per_person=1)


def foreground(people: EquivalenceClasses, groups: Sequence[SummedTable]) -> tuple[str, np.ndarray]:
    """The attribute of which the mined table tells most, and the guess that it leads to, shape (classes, values)."""
    guess = definetti(people, groups, rounds=0)
    mined = {}
    for attribute, codes in zip(people.attributes, people.codes):
        table = np.zeros((people.domain.hierarchy(attribute).size(people.margin[attribute]), guess.shape[1]))
        np.add.at(table, codes, guess)
        mined[attribute] = information(table), table[codes]
    attribute = max(mined, key=lambda name: mined[name][0])
    weights = mined[attribute][1]
    rows = people.counts.sum(axis=1).astype(float)
    return attribute, kept_to_counts(weights / weights.sum(axis=1, keepdims=True), rows, groups)


def information(table: np.ndarray) -> float:
    """The mutual information of a table's rows and columns, in nats."""
    shares = table / table.sum()
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    held = shares > 0
    return float((shares[held] * np.log(shares[held] / independent[held])).sum())


def in_groups(counts: np.ndarray, labels: Sequence[str], group: Callable[[str], str]) -> np.ndarray:
    """Counts by class and group of similar values, shape (classes, values): as many columns as before, the last ones 0."""
    names = [group(label.removeprefix("v")) for label in labels]
    _, places = np.unique(names, return_inverse=True)
    sums = np.zeros_like(counts)
    np.add.at(sums.T, places, counts.T)
    return sums


def alike(
    groups: Sequence[SummedTable], people: EquivalenceClasses, grouped: Callable[[np.ndarray], np.ndarray]
) -> float:
    """Share of the people for whom in some published class one group of similar values has DOMINANT of the rows."""
    told = np.zeros(len(people), dtype=bool)
    for published in groups:
        rows = grouped(published.counts)
        told |= (rows.max(axis=1) >= DOMINANT * rows.sum(axis=1))[published.class_of]
    return float(people.counts.sum(axis=1)[told].sum() / people.counts.sum())


def judged(table: Table, published: Sequence[ContingencyTable], sensitive: Sensitive) -> dict[str, Any]:
    """What attackers conclude from published tables."""
    levels = dict.fromkeys((*table.quasi_identifiers, "secret"), 0)
    people = equivalence_classes(table.cube.table(table.domain.mask(levels)), "secret")
    groups = published_groups(published, people)
    labels = table.domain.hierarchy("secret").labels[0]

    def grouped(counts: np.ndarray) -> np.ndarray:
        return in_groups(counts, labels, sensitive.group)

    attribute, mined = foreground(people, groups)
    guesses = {
        "maxent": definetti(people, groups, rounds=0),
        "foreground": mined,
        "definetti": definetti(people, groups),
        "nobody": np.tile(people.counts.sum(axis=0).astype(float), (len(people), 1)),
    }
    kinds = replace(people, counts=grouped(people.counts))
    return {
        "attribute": attribute,
        "right": {name: round(accuracy(guess, people), 4) for name, guess in guesses.items()},
        "right_group": {name: round(accuracy(grouped(guess), kinds), 4) for name, guess in guesses.items()},
        "alike": round(alike(groups, people, grouped), 4),
    }


def measured() -> Iterator[dict[str, Any]]:
    """A line for each table and way to publish it."""
    here = {real.name: real for real in real_tables(MOST_ROWS)}
    for name, sensitive in TABLES.items():
        if name not in here:
            skipped("similarity_foreground", f"the table {name} is not here")
            continue
        table = read(here[name], sensitive)
        search = publish(table, POLICY).steward.search
        ways = {"marginals": Collection.of(table.cube, search.cliques).tables}
        if minimal := anonymize(table, POLICY).minimal:
            ways["one full-domain table"] = (table.cube.table(table.domain.mask({**minimal[0].levels, "secret": 0})),)
        for way, published in ways.items():
            yield {"table": name, "people": table.rows, "sensitive": sensitive.name, "way": way} | judged(
                table, published, sensitive
            )


def page(kept: Path) -> str:
    """The kept run in Markdown. Raises OSError where there is no such file."""
    header = ["table", "way", "value: maxent", "foreground", "deFinetti", "nobody"]
    header += ["group: maxent", "foreground", "deFinetti", "nobody", "alike"]
    rows = [header, ["---"] * len(header)]
    for line in map(json.loads, kept.read_text(encoding="utf-8").splitlines()):
        if "way" in line:
            shares = [*line["right"].values(), *line["right_group"].values(), line["alike"]]
            rows.append([f"{line['table']}, {line['sensitive']}", line["way"], *(f"{share:.3f}" for share in shares)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--page", action="store_true", help="print the table of the kept run instead")
    if parser.parse_args().page:
        sys.stdout.write(page(KEPT) + "\n")
        return
    say(benchmark="similarity_foreground", **circumstances())
    for line in measured():
        say(benchmark="similarity_foreground", **line)


if __name__ == "__main__":
    main()
