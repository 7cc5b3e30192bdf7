"""Audits of published tables: a census of 300 blocks against integer programming, growth with blocks, and large tables.

The census is simulated: people of a block by sex, age group, ethnicity and household. Published of each block are the tables
of sex by age, of ethnicity by household and of sex by ethnicity, with counts from 1 to 4 suppressed. For some blocks every
claim is compared with integer programming (HiGHS), two programs for each count.

    python benchmarks/published_tables.py [--blocks 75 150 300] [--programs 8] [--seeds 101 102 103]
"""

import time
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from measurement import Measurement, circumstances, options, say

from checks import FactCriteria, FactKind, certain_facts
from models import UNBOUNDED, Classification, Interval, IntervalTable, LinkedTables, linked_tables, proven_bounds
from models.intervals.proofs import BoundScope, ProvenBounds

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
    bounds = proven_bounds(linked, BoundScope(SMALL))
    certain_facts(linked, bounds, FactCriteria(SMALL))
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


SIZES, GROUPS = (42, 36), (6, 6)
"""Rows and columns of the large table, and groups of each: 49 by 43 = 2,107 cells with all subtotals."""

SHARE = 0.15
"""Of its cells that are suppressed."""


def large_counts(seed: int = 0) -> tuple[np.ndarray, list[Classification], list[list[int]]]:
    """Counts by row and column, and for each of the two all its values, groups and total as bits."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.7, 12, size=SIZES))
    classifications, values = [], []
    for name, size, number in zip(("row", "column"), SIZES, GROUPS):
        base = tuple(f"{name}{value}" for value in range(size))
        by_group = {
            f"{name}s {g}": frozenset(base[g * size // number : (g + 1) * size // number]) for g in range(number)
        }
        classifications.append(Classification(name, base, by_group))
        labels = (*base, *by_group)
        values.append([*(classifications[-1].members(label) for label in labels), classifications[-1].everything])
    return counts, classifications, values


def cells_of(counts: np.ndarray, values: Sequence[Sequence[int]]) -> dict[tuple[int, ...], int]:
    """The count of each cell, subtotals and totals among them."""
    inside = [
        np.array([[members >> place & 1 for place in range(size)] for members in each])
        for each, size in zip(values, SIZES)
    ]
    table = inside[0] @ counts @ inside[1].T
    return {key: int(count) for key, count in zip(product(*values), table.ravel())}


def carelessly(cells: dict[tuple[int, ...], int], seed: int = 0) -> dict[tuple[int, ...], Interval]:
    """Small counts suppressed, marked as such, and small ones beside them until the share is reached; many can be undone."""
    rng = np.random.default_rng(seed)
    small = sorted((key for key in cells if 1 <= cells[key] <= SMALL), key=lambda _: rng.random())
    others = sorted((key for key in cells if key not in set(small)), key=lambda key: cells[key] + 30 * rng.random())
    ranges = {key: (count, count) for key, count in cells.items()}
    for number, key in enumerate([*small, *others][: round(SHARE * len(cells))]):
        ranges[key] = (1, SMALL) if number < len(small) else (0, UNBOUNDED)
    return ranges


def carefully(cells: dict[tuple[int, ...], int], counts: np.ndarray) -> dict[tuple[int, ...], Interval]:
    """Each suppressed small count is a corner of a rectangle of suppressed counts within its groups, none of them 0.

    The cheapest rectangle is taken (hypercube method: Repsilber 1994), one after the other until the share is reached; all
    suppressed counts look alike. Subtotals are shown.
    """
    hidden = np.zeros(counts.shape, dtype=bool)
    for row, column in zip(*np.nonzero((counts >= 1) & (counts <= SMALL))):
        if hidden.sum() >= round(SHARE * len(cells)) - 2:
            break
        sides = [
            range(own * number // size * size // number, (own * number // size + 1) * size // number)
            for own, size, number in zip((row, column), SIZES, GROUPS)
        ]
        corners = [(r, c) for r in sides[0] for c in sides[1] if r != row and c != column]
        costs = {}
        for r, c in corners:
            three = [(r, c), (row, c), (r, column)]
            if all(counts[at] for at in three):
                costs[r, c] = sum(int(counts[at]) for at in three if not hidden[at])
        if costs:
            r, c = min(costs, key=lambda corner: costs[corner])
            hidden[[row, r, row, r], [column, c, c, column]] = True
    ranges: dict[tuple[int, ...], Interval] = {key: (count, count) for key, count in cells.items()}
    for row, column in zip(*np.nonzero(hidden)):
        ranges[1 << int(row), 1 << int(column)] = (0, UNBOUNDED)
    return ranges


def large_table(seed: int = 0, *, careful: bool = False) -> tuple[list[IntervalTable], list[Classification]]:
    """2,107 cells with subtotals, 15 percent of the cells suppressed."""
    counts, classifications, values = large_counts(seed)
    cells = cells_of(counts, values)
    ranges = carefully(cells, counts) if careful else carelessly(cells, seed)
    return [IntervalTable.of("large", ["row", "column"], ranges)], classifications


def measured_growth(blocks: int, seed: int) -> None:
    """Seconds of the audit of a census."""
    seconds, linked, bounds = audited(census(blocks, seed))
    facts = certain_facts(linked, bounds, FactCriteria(SMALL))
    told = {kind.value: sum(fact.kind is kind for fact in facts) for kind in FactKind}
    more = {"blocks": blocks, "seed": seed, "undecided": int((~bounds.decided).sum()), "facts": told}
    Measurement("published tables", f"{blocks} blocks", {"cells": len(linked)}, seconds, facts=more).print()


def against_programs(blocks: int, seed: int) -> None:
    """Every claim on the first blocks of a census, beside integer programming's."""
    counts = census(blocks, seed)
    seconds, linked, bounds = audited(counts)
    cells, wrong, programs = compared(counts, linked, bounds, blocks)
    say(
        benchmark="published tables",
        case="claims against integer programming",
        seed=seed,
        blocks=blocks,
        counts=cells,
        other_claims=wrong,
        seconds_per_block=round(seconds / blocks, 4),
        programs_per_block=round(programs / blocks, 4),
        times_faster=round(programs / seconds, 1),
    )


def measured_table(case: str, *, careful: bool) -> None:
    """One large table, all bounds."""
    tables, classifications = large_table(careful=careful)
    begin = time.process_time()
    linked = linked_tables(tables, classifications)
    bounds = proven_bounds(linked)
    seconds = time.process_time() - begin
    open_cells = linked.lower < linked.upper
    more = {
        "suppressed": int(open_cells.sum()),
        "sharp": bool(bounds.sharp.all()),
        "recovered": int((bounds.exact & open_cells).sum()),
    }
    Measurement("published tables", case, {"cells": len(tables[0])}, seconds, facts=more).print()


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--blocks", nargs="+", type=int, default=[75, 150, 300])
    parser.add_argument(
        "--programs", type=int, default=2, help="blocks of each seed, compared with integer programming"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[101], help="of the simulated censuses")
    given = parser.parse_args()
    from scipy import optimize, sparse  # noqa: F401 - what all programs import is not measured

    say(benchmark="published tables", **circumstances())
    measured_table("one table with subtotals, carelessly suppressed", careful=False)
    measured_table("one table with subtotals, carefully suppressed", careful=True)
    for seed in given.seeds:
        for blocks in given.blocks:
            measured_growth(blocks, seed)
        against_programs(given.programs, seed)


if __name__ == "__main__":
    main()
