"""All tables of whole numbers with given sums, the oracle of what marginals determine; and tables that change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from models import Domain

Counts = NDArray[np.int64]
Levels = Mapping[str, Sequence[int]]


def all_tables(members: Sequence[Sequence[int]], sums: Sequence[int], cells: int) -> Iterator[Counts]:
    """Tables over some cells, shape (cells,). members: for each sum the cells that it is of."""
    of_cell: list[list[int]] = [[] for _ in range(cells)]
    for number, inside in enumerate(members):
        for cell in inside:
            of_cell[cell].append(number)
    last = [max(inside, default=-1) for inside in members]
    left, table = list(sums), [0] * cells
    if any(inside == -1 and rows for inside, rows in zip(last, left)):
        return

    def filled(cell: int) -> Iterator[Counts]:
        if cell == cells:
            yield np.array(table, dtype=np.int64)
            return
        most = min(left[number] for number in of_cell[cell])
        must = {left[number] for number in of_cell[cell] if last[number] == cell}
        for rows in range(most + 1) if not must else must if len(must) == 1 and min(must) <= most else ():
            table[cell] = rows
            for number in of_cell[cell]:
                left[number] -= rows
            yield from filled(cell + 1)
            for number in of_cell[cell]:
                left[number] += rows
        table[cell] = 0

    yield from filled(0)


def tables_with(domain: Domain, margins: Iterable[Mapping[str, int]], truth: Counts) -> Iterator[Counts]:
    """Tables over all base cells with the margins that one of them has, and its total. truth: shape (base cells,)."""
    codes = np.indices([hierarchy.size(0) for hierarchy in domain.hierarchies]).reshape(len(domain.attributes), -1)
    members, sums = [list(range(truth.size))], [int(truth.sum())]
    for margin in margins:
        place = np.zeros(truth.size, dtype=np.int64)
        for name, level in margin.items():
            hierarchy = domain.hierarchy(name)
            place = place * hierarchy.size(level) + hierarchy.lift(0, level)[codes[domain.index(name)]]
        for cell in np.unique(place):
            members.append(np.flatnonzero(place == cell).tolist())
            sums.append(int(truth[members[-1]].sum()))
    return all_tables(members, sums, truth.size)


def ranges(tables: Iterator[Counts], keys: Mapping[str, NDArray[np.intp]]) -> dict[str, tuple[Counts, Counts]]:
    """Least and largest count of the cells of some margins. keys: by margin, the cell that each cell of a table is in."""
    found: dict[str, tuple[Counts, Counts]] = {}
    for table in tables:
        for name, places in keys.items():
            counts = np.bincount(places, table, minlength=places.max() + 1).astype(np.int64)
            low, high = found.get(name, (counts, counts))
            found[name] = np.minimum(low, counts), np.maximum(high, counts)
    return found


def margins_with(sensitive: str, levels: Levels) -> Iterator[dict[str, int]]:
    """All margins of the sensitive attribute and up to two others, at any of the levels."""
    others = [a for a in levels if a != sensitive]
    for number in range(3):
        for chosen in combinations(others, number):
            for each in product(*(levels[a] for a in (*chosen, sensitive))):
                yield dict(zip((*chosen, sensitive), each))


def story(
    rng: np.random.Generator, shape: tuple[int, ...], k: int, changes: tuple[int, int] = (2, 6)
) -> tuple[str, list[Counts]]:
    """Snapshots, by default three to six: people come, leave, both, are corrected; or each is a part of the one before."""
    kind = str(rng.choice(["come", "leave", "both", "corrected", "part", "turnover"]))
    tables = [rng.integers(0, 2 * k + 1, shape) * (rng.random(shape) < 0.9)]
    for _ in range(rng.integers(*changes)):
        last = tables[-1]
        size = int(rng.choice([1, k, 2 * k]))
        came = rng.integers(0, size + 1, shape) * (rng.random(shape) < rng.choice([0.3, 1]))
        left = np.minimum(rng.integers(0, size + 1, shape) * (rng.random(shape) < rng.choice([0.3, 1])), last)
        if kind == "come":
            left = np.zeros_like(left)
        if kind == "leave":
            came = np.zeros_like(came)
        if kind == "corrected":
            came = np.roll(left, 1, axis=-1)
        if kind == "turnover":
            came = np.roll(left, int(rng.integers(1, left.size)), axis=None)
            came = np.where(came, came + rng.integers(0, 2, shape), 0)
        if kind == "part":
            axis = int(rng.integers(len(shape)))
            came, left = np.zeros_like(came), last * (np.indices(shape)[axis] == rng.integers(shape[axis]))
        tables.append(last + came - left)
    return kind, tables
