"""Eligible ranges of Adult and Nursery: what the distribution of a sensitive attribute allows at all (TZ11 Table 1).

    python experiments/eligible_tz11.py [--csv FOLDER]

No table of generalized quasi-identifiers satisfies more than all rows together do: the largest l of simple diversity, the
whole number that c of recursive (c, l)-diversity must at least be, and the smallest tau for each l. With sensitive values
generalized too, as SWEEP does, tau may be as small as 1 / values at every l up to the number of values.
The numbers of the table itself are lost in our copy of the paper; its text keeps one of them, and the number of tuples that
a rule covers.
"""

import argparse
from collections.abc import Iterator
from math import floor, inf
from pathlib import Path

from figures import Figure
from sweep_tz09 import DATA, nursery

from checks.classes import Eligibility, eligibility, rounded_up
from marginals import Attribute, Role, Table, read_table

LARGEST = 5
"""c and tau are told for l up to this, to which Nursery has values."""


def adult(sensitive: str) -> Table:
    """Adult with one attribute only, the sensitive one."""
    return read_table(
        DATA / "adult" / "adult.csv", {sensitive: Attribute(Role.SENSITIVE)}, ["?", ""], domain="observed"
    )


def of(table: Table) -> Eligibility:
    """What is eligible for a table in its sensitive attribute."""
    (sensitive,) = table.sensitive
    base = table.base_counts.rolled_up({sensitive: 0})
    return eligibility(base, base, [sensitive], {})[sensitive]


def smallest_whole(above: float) -> int | None:
    """The smallest whole number above a number, since recursive diversity is strict; None where no number is."""
    return None if above == inf else floor(above) + 1


def table_1() -> Iterator[Figure]:
    """What is eligible, a row for each table and sensitive attribute."""
    rows: list[list[str | int | float | None]] = []
    for name, table in (
        ("Adult, occupation", adult("occupation")),
        ("Adult, salary", adult("salary-class")),
        ("Nursery, class", nursery()),
    ):
        found = of(table)
        ls = range(2, LARGEST + 1)
        c = [smallest_whole(found.reached.smallest_c(l)) for l in ls]
        tau = [rounded_up(found.tau[l - 2]) if l - 2 < len(found.tau) else None for l in ls]
        rows.append([name, found.values, found.reached.simple, *c, *tau, rounded_up(found.generalized)])
    columns = [f"{what}, l = {l}" for what in ("least whole c", "least tau") for l in range(2, LARGEST + 1)]
    header = ["sensitive", "values", "largest simple l", *columns, "least tau, values generalized"]
    yield Figure("table1", "Table 1, eligible ranges", header, rows)


def rule() -> Figure:
    """What one rule of a decision tree on Nursery covers: who is not healthy enough is not recommended."""
    table = nursery()
    counts = table.base_counts.rolled_up({"health": 0, "class": 0})
    codes = {name: table.domain.hierarchy(name).code("not_recom", 0) for name in ("health", "class")}
    covered = counts.counts[counts.column("health", 0) == codes["health"]].sum()
    right = counts.counts[
        (counts.column("health", 0) == codes["health"]) & (counts.column("class", 0) == codes["class"])
    ].sum()
    rows = [
        ["tuples that the rule covers: health is not_recom", int(covered), "4320"],
        ["of them not recommended", int(right), "4320"],
    ]
    return Figure("rule", "Section 5.3.2, what a rule on Nursery covers", ["statement", "ours", "in the paper"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, metavar="FOLDER", help="write the table there, too")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        print(f"The tables Adult and Nursery are not here: {DATA} is no folder; set MARGINALS_DATA to theirs.")
        return
    for figure in (*table_1(), rule()):
        print(figure)
        if chosen.csv:
            figure.write(chosen.csv)


if __name__ == "__main__":
    main()
