"""Oracle for small combinations: all tables of whole numbers with the published marginals, one after another."""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from models import Collection, Domain, Mask, all_tables

MOST_TABLES = 20_000


class Combination(NamedTuple):
    """A cell of a margin, with the least and the largest count that it has in any consistent table.

    others: an attribute of which any value but the cell's is counted.
    """

    margin: Mask
    cell: tuple[int, ...]
    least: int
    most: int
    others: str | None = None


def combinations_of(collection: Collection, nonsensitive: tuple[str, ...]) -> list[Combination] | None:
    """Every cell of every margin of up to three nonsensitive attributes at levels that tables show, and of more at their
    finest ones, and of up to three the others; None where there are too many tables to try them all.
    """
    domain = collection.domain
    own = domain.mask(dict.fromkeys(nonsensitive, 0))
    shown = sorted({mask & own for mask in collection.masks} - {0})
    fine = {a: level for a, level in collection.within(own).finest_levels.items() if a in nonsensitive}
    names = [a for a in nonsensitive if fine[a] < domain.hierarchy(a).height]
    sizes = [domain.hierarchy(a).size(fine[a]) for a in names]
    codes = dict(zip(names, np.indices(sizes).reshape(len(sizes), -1)))

    def keys_of(mask: Mask) -> np.ndarray:
        keys = np.zeros(int(np.prod(sizes)), dtype=np.intp)
        for a, level in domain.margin(mask).items():
            keys = keys * domain.hierarchy(a).size(level) + domain.hierarchy(a).lift(fine[a], level)[codes[a]]
        return keys

    keys, totals = [], []
    for mask in shown:
        table, levels = collection.cube.table(mask), domain.margin(mask)
        dense = np.zeros([domain.hierarchy(a).size(level) for a, level in levels.items()], dtype=np.int64)
        dense[tuple(table.column(a, level) for a, level in levels.items())] = table.counts
        keys.append(keys_of(mask))
        totals.append(dense.ravel())
    tables = all_tables(keys, totals, MOST_TABLES) if keys else None
    return None if tables is None else list(_ranges(collection, names, fine, shown, tables, keys_of))


def _ranges(collection, names, fine, shown, tables, keys_of) -> Iterator[Combination]:
    domain = collection.domain
    for number in range(1, len(names) + 1):
        for some in combinations(names, number):
            levels = [_levels(collection, a, shown) if number <= 3 else [fine[a]] for a in some]
            for chosen in product(*levels):
                margin = dict(sorted(zip(some, chosen)))
                keys = keys_of(domain.mask(margin))
                shape = [domain.hierarchy(a).size(level) for a, level in margin.items()]
                counts = np.zeros((int(np.prod(shape)), len(tables)), dtype=np.int64)
                np.add.at(counts, keys, tables.T)
                dense = counts.reshape(*shape, len(tables))
                several = [a for a in margin if 1 < number <= 3 and domain.hierarchy(a).size(margin[a]) > 2]
                for others in (None, *several):
                    axis = None if others is None else list(margin).index(others)
                    counted = dense if axis is None else dense.sum(axis=axis, keepdims=True) - dense
                    for cell in np.ndindex(*shape):
                        least, most = int(counted[cell].min()), int(counted[cell].max())
                        yield Combination(domain.mask(margin), cell, least, most, others)


def _levels(collection: Collection, attribute: str, shown: list[Mask]) -> list[int]:
    margins = map(collection.domain.margin, shown)
    return sorted({margin[attribute] for margin in margins if attribute in margin})


class OpenCombination(NamedTuple):
    """A combination that no witness has cleared; of `others` its rows have any other value."""

    margin: Mask
    codes: dict[str, int]
    count: int
    others: str | None


def open_combinations(domain: Domain, found: Any) -> list[OpenCombination]:
    """Those that are left, one by one."""
    left = []
    for some in found.waiting:
        axes = [
            [(a, level, code) for level in levels for code in range(domain.hierarchy(a).size(level))]
            for a, levels in some.levels.items()
        ]
        places = np.stack(np.unravel_index(some.keys.astype(int), list(map(len, axes))), axis=1)
        for cell, count in zip(places.tolist(), some.counts.tolist()):
            values = [axis[place] for axis, place in zip(axes, cell)]
            margin = domain.mask({a: level for a, level, _ in values})
            left.append(OpenCombination(margin, {a: code for a, _, code in values}, count, some.others))
    return left
