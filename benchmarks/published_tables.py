"""Audits of published tables: a census of 300 blocks against integer programming, growth with blocks, and one large table.

The census is simulated: people of a block by sex, age group, ethnicity and household. Published of each block are the tables
of sex by age, of ethnicity by household and of sex by ethnicity, with counts from 1 to 4 suppressed. For some blocks every
claim is compared with integer programming (HiGHS), two programs for each count.

    python benchmarks/published_tables.py [--blocks 75 150 300] [--programs 6]
"""

import time
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from measurement import Measurement, options, say

from checks.audits.certain_facts import Asked, FactKind, certain_facts
from models.intervals.classification import Classification
from models.intervals.interval_table import Interval, IntervalTable
from models.intervals.linked_tables import LinkedTables, linked_tables
from models.intervals.proven_bounds import ProvenBounds, Reach, proven_bounds
from models.programs.equations import UNBOUNDED

SMALL = 4
PEOPLE = (("sex", 2), ("age", 6), ("ethnicity", 4), ("household", 4))
TABLES = (("sex", "age"), ("ethnicity", "household"), ("sex", "ethnicity"))


def census(blocks: int, seed: int = 0) -> np.ndarray:
    """People by block, sex, age group, ethnicity and household."""
    rng = np.random.default_rng(seed)
    shape = tuple(size for _, size in PEOPLE)
    counts = np.zeros((blocks, *shape), dtype=np.int64)
    for block in range(blocks):
        shares = [rng.dirichlet(np.full(size, 0.7)) for size in shape]
        joint = np.einsum("a,b,c,d->abcd", *shares) * rng.gamma(0.5, size=shape)
        counts[block] = rng.multinomial(rng.integers(15, 60), (joint / joint.sum()).ravel()).reshape(shape)
    return counts


def published(counts: np.ndarray) -> tuple[list[IntervalTable], list[Classification]]:
    """The tables of all blocks, with small counts suppressed, and their totals."""
    blocks = len(counts)
    classifications = [Classification("block", tuple(f"b{number}" for number in range(blocks)), others=blocks == 1)]
    classifications += [Classification(name, tuple(f"{name}{v}" for v in range(size))) for name, size in PEOPLE]
    names = ["block", *(name for name, _ in PEOPLE)]
    tables = []
    for shown in TABLES:
        kept = [0, *(names.index(name) for name in shown)]
        margin = counts.sum(axis=tuple(axis for axis in range(5) if axis not in kept))
        cells: dict[tuple[int, ...], Interval] = {}
        for key in np.ndindex(*margin.shape):
            cells[tuple(1 << value for value in key)] = suppressed(int(margin[key]))
        for block in range(blocks):
            everything = [classifications[names.index(name)].everything for name in shown]
            total = int(margin[block].sum())
            cells[1 << block, *everything] = (total, total)
        tables.append(IntervalTable.of(" by ".join(shown), ["block", *shown], cells))
    return tables, classifications


def suppressed(count: int) -> Interval:
    return (1, SMALL) if 1 <= count <= SMALL else (count, count)


def audited(counts: np.ndarray) -> tuple[float, LinkedTables, ProvenBounds]:
    """Seconds of the processor, the unknowns and their bounds."""
    tables, classifications = published(counts)
    begin = time.process_time()
    linked = linked_tables(tables, classifications)
    bounds = proven_bounds(linked, Reach(SMALL))
    certain_facts(linked, bounds, Asked(SMALL))
    return time.process_time() - begin, linked, bounds


def claims(low: int, high: int) -> tuple[bool, bool, bool, bool]:
    """Whether a count is certainly not 0, certainly 0, certainly small, and known."""
    return low >= 1, high == 0, low >= 1 and high <= SMALL, low == high


def programmed(counts: np.ndarray, wanted: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """The least and the largest count of cells of one block, by integer programs over all combinations of its people.

    wanted: for each cell a set of values, as bits, of sex, age, ethnicity and household.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    tables, _ = published(counts[None])
    shape = counts.shape
    every = list(product(*map(range, shape)))
    names = [name for name, _ in PEOPLE]
    rows, lows, highs = [], [], []
    for table in tables:
        for cell in range(len(table)):
            sets = {a: table.values[a][table.codes[a][cell]] for a in table.values if a != "block"}
            rows.append([all(sets[a] >> key[names.index(a)] & 1 for a in sets) for key in every])
            lows.append(table.lower[cell])
            highs.append(table.upper[cell])
    constraint = LinearConstraint(np.array(rows, dtype=float), lows, highs)
    whole = np.ones(len(every))
    for sets_of_cell in wanted:
        inside = np.array([all(m >> v & 1 for m, v in zip(sets_of_cell, key)) for key in every], dtype=float)
        ends = []
        for sign in (1, -1):
            found = milp(sign * inside, constraints=[constraint], bounds=Bounds(0, np.inf), integrality=whole)
            ends.append(round(sign * found.fun) if found.status == 0 else -1)
        yield ends[0], ends[1]


def compared(counts: np.ndarray, linked: LinkedTables, bounds: ProvenBounds, blocks: int) -> tuple[int, int, float]:
    """Cells that were compared, those with other claims, and seconds of the processor that integer programming took."""
    cells = wrong = 0
    begin = time.process_time()
    for block in range(blocks):
        numbers, wanted = [], []
        for cell, key in enumerate(linked.keys.tolist()):
            sets = [members[code] for members, code in zip(linked.sets, key)]
            if sets[0] == 1 << block:
                numbers.append(cell)
                wanted.append(sets[1:])
        for cell, ends in zip(numbers, programmed(counts[block], wanted)):
            cells += 1
            wrong += claims(*ends) != claims(int(bounds.lower[cell]), int(bounds.upper[cell]))
    return cells, wrong, time.process_time() - begin


def large_table(seed: int = 0) -> tuple[list[IntervalTable], list[Classification]]:
    """2,107 cells with subtotals: 42 rows by 36 columns in 6 groups each, 15 percent of the cells suppressed."""
    rng = np.random.default_rng(seed)
    sizes, groups = (42, 36), (6, 6)
    counts = rng.poisson(rng.gamma(0.7, 12, size=sizes))
    classifications, values = [], []
    for name, size, number in zip(("row", "column"), sizes, groups):
        base = tuple(f"{name}{value}" for value in range(size))
        by_group = {
            f"{name}s {g}": frozenset(base[g * size // number : (g + 1) * size // number]) for g in range(number)
        }
        classifications.append(Classification(name, base, by_group))
        values.append(
            [classifications[-1].members(label) for label in (*base, *by_group)] + [classifications[-1].everything]
        )
    cells: dict[tuple[int, ...], Interval] = {}
    for key in product(*values):
        inside = [[members >> place & 1 for place in range(size)] for members, size in zip(key, sizes)]
        count = int(np.array(inside[0]) @ counts @ np.array(inside[1]))
        cells[key] = (count, count)
    small = sorted((key for key in cells if 1 <= cells[key][0] <= SMALL), key=lambda _: rng.random())
    others = sorted((key for key in cells if key not in set(small)), key=lambda key: cells[key][0] + 30 * rng.random())
    for number, key in enumerate([*small, *others][: round(0.15 * len(cells))]):
        cells[key] = (1, SMALL) if number < len(small) else (0, UNBOUNDED)
    return [IntervalTable.of("large", ["row", "column"], cells)], classifications


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--blocks", nargs="+", type=int, default=[75, 150, 300])
    parser.add_argument("--programs", type=int, default=2, help="blocks that are compared with integer programming")
    given = parser.parse_args()
    for blocks in given.blocks:
        counts = census(blocks)
        seconds, linked, bounds = audited(counts)
        facts = certain_facts(linked, bounds, Asked(SMALL))
        told = {kind.value: sum(fact.kind is kind for fact in facts) for kind in FactKind}
        more = {"unknowns": len(linked), "undecided": int((~bounds.decided).sum()), "facts": told}
        Measurement("published tables", f"{blocks} blocks", {"cells": len(linked)}, seconds, facts=more).print()
    cells, wrong, programs = compared(counts, linked, bounds, given.programs)
    per_block = programs / given.programs
    say(
        benchmark="published tables",
        case="claims against integer programming",
        blocks=given.programs,
        cells=cells,
        other_claims=wrong,
        seconds_per_block=round(seconds / given.blocks[-1], 4),
        programs_per_block=round(per_block, 4),
        times_faster=round(per_block / (seconds / given.blocks[-1]), 1),
    )
    tables, classifications = large_table()
    begin = time.process_time()
    linked = linked_tables(tables, classifications)
    bounds = proven_bounds(linked)
    open_cells = int((linked.lower < linked.upper).sum())
    more = {"suppressed": open_cells, "sharp": bool(bounds.sharp.all()), "exact": int(bounds.exact.sum())}
    seconds = time.process_time() - begin
    Measurement("published tables", "one table with subtotals", {"cells": len(tables[0])}, seconds, facts=more).print()


if __name__ == "__main__":
    main()
