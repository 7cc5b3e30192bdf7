"""Random published tables of a small population, and all populations that fit them, one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np

from models import UNBOUNDED, Classification, CountArray, Interval, IntervalTable

Members = int
"""The base values of a set as bits."""

MOST_PEOPLE = 6


@dataclass(frozen=True, eq=False)
class Published:
    """Tables of a population. truth: people by their base values, shape of the classifications."""

    classifications: tuple[Classification, ...]
    tables: tuple[IntervalTable, ...]
    truth: CountArray

    def count(self, populations: CountArray, sets: Sequence[Members]) -> CountArray:
        """People with values in some sets, of each population: populations of shape (n, *truth.shape)."""
        counted = populations
        for members in reversed(sets):
            size = counted.shape[-1]
            inside = np.array([members >> place & 1 for place in range(size)], dtype=np.int64)
            counted = counted @ inside
        return np.asarray(counted)

    def fitting(self, most: int = MOST_PEOPLE) -> CountArray:
        """All populations that fit all tables: shape (n, *truth.shape)."""
        every = populations(self.truth.size, most).reshape(-1, *self.truth.shape)
        fits = np.ones(len(every), dtype=bool)
        for table in self.tables:
            for cell in range(len(table)):
                counts = self.count(every, self.sets(table, cell))
                fits &= (counts >= table.lower[cell]) & (counts <= table.upper[cell])
        return every[fits]

    def sets(self, table: IntervalTable, cell: int) -> list[Members]:
        """The set of base values of each attribute that a cell counts."""
        return [
            table.values[c.name][table.codes[c.name][cell]] if c.name in table.values else c.everything
            for c in self.classifications
        ]


@cache
def populations(cells: int, most: int) -> CountArray:
    """All vectors of so many counts with a sum of at most `most`."""
    found = np.zeros((1, 0), dtype=np.int64)
    for _ in range(cells):
        left = most - found.sum(axis=1)
        repeated = np.repeat(found, left + 1, axis=0)
        added = np.concatenate([np.arange(each + 1) for each in left])
        found = np.concatenate([repeated, added[:, None]], axis=1)
    return found


SHAPES = ((2, 2), (2, 3), (3, 3), (2, 2, 2), (4,), (4, 2), (2, 2, 2))


def random_published(rng: np.random.Generator, most: int = MOST_PEOPLE) -> Published:
    """Tables of a random population, with totals, groups, suppressed and rounded cells, or none of them."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    classifications = tuple(
        Classification(name, tuple(f"{name}{value}" for value in range(size))) for name, size in zip("abc", shape)
    )
    truth = np.bincount(rng.integers(0, np.prod(shape), size=rng.integers(1, most + 1)), minlength=int(np.prod(shape)))
    truth = truth.reshape(shape).astype(np.int64)
    margins = [m for size in range(1, len(shape) + 1) for m in combinations(range(len(shape)), size)]
    chosen = [margins[rng.integers(len(margins))] for _ in range(rng.integers(1, 4))]
    bare = Published(classifications, (), truth)
    tables = [_table(rng, bare, f"table {number}", margin) for number, margin in enumerate(chosen)]
    total = IntervalTable.of("everybody", (), {(): (int(truth.sum()), int(truth.sum()))})
    return Published(classifications, (*tables, total), truth)


def _table(rng: np.random.Generator, bare: Published, name: str, margin: Sequence[int]) -> IntervalTable:
    values: list[list[Members]] = []
    for place in margin:
        size, everything = bare.truth.shape[place], bare.classifications[place].everything
        shown = [1 << value for value in range(size)]
        if size > 2 and rng.random() < 0.5:
            group = int(rng.integers(1, everything))
            shown = [*shown, group] if rng.random() < 0.6 else [group, everything & ~group]
        if rng.random() < 0.6:
            shown.append(everything)
        values.append(list(dict.fromkeys(shown)))
    style = rng.integers(3)
    cells: dict[tuple[Members, ...], Interval] = {}
    for key in product(*values):
        sets = [c.everything for c in bare.classifications]
        for place, members in zip(margin, key):
            sets[place] = members
        cells[key] = _interval(rng, int(bare.count(bare.truth[None], sets)[0]), int(style))
    dropped = [key for key in cells if rng.random() < 0.05]
    return IntervalTable.of(
        name,
        [bare.classifications[place].name for place in margin],
        {key: cell for key, cell in cells.items() if key not in dropped},
    )


def _interval(rng: np.random.Generator, count: int, style: int) -> Interval:
    if style == 0:
        if 1 <= count <= 2:
            return 1, 2
        return (0, UNBOUNDED) if rng.random() < 0.15 else (count, count)
    if style == 1:
        base = 3
        return max(0, 3 * round(count / base) - 1), 3 * round(count / base) + 1
    return (0, UNBOUNDED) if rng.random() < 0.3 else (count, count)
