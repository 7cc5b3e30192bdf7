"""All tables of whole numbers with given sums, one after another: the oracle of what marginals determine."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

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
