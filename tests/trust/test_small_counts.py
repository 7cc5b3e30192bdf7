"""Releases under min_cell: no count from 1 to m - 1 is in them, and none is the difference of two unions of their cells.

MARGINALS_TRIALS sets how many releases (40 by default), MARGINALS_SEED which ones; 10,000 take half an hour.
"""

import os
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import marginals
from marginals import Attribute, Policy, read_table
from marginals.errors import NothingPublishableError
from models import Collection, Hierarchy

Bits = NDArray[np.object_]
Rows = NDArray[np.int64]
TRIALS = int(os.environ.get("MARGINALS_TRIALS", "40"))
SEED = int(os.environ.get("MARGINALS_SEED", "2026"))

MOST = 6
"""Cells of a margin of which all unions are made."""


def random_table(rng: np.random.Generator) -> marginals.Table:
    """Twenty to two hundred people with three or four attributes, the last of them sensitive."""
    names = list("abcs" if rng.random() < 0.5 else "abs")
    shape = [int(rng.integers(2, 5)) for _ in names]
    shares = rng.dirichlet(np.full(int(np.prod(shape)), rng.choice([0.1, 0.5, 2.0])))
    rows = rng.choice(len(shares), int(rng.integers(20, 200)), p=shares)
    codes = np.unravel_index(rows, shape)
    frame = pd.DataFrame({name: [f"{code}" for code in own] for name, own in zip(names, codes)})
    attributes = {name: Attribute("quasi-identifier") for name in names[:-1]} | {"s": Attribute("sensitive")}
    if rng.random() < 0.7:
        values = sorted(set(frame["a"]))
        merged = Hierarchy.from_rows([(value, "low" if value < "2" else "high", "*") for value in values])
        attributes["a"] = Attribute("quasi-identifier", merged)
    return read_table(frame, attributes)


def unions(collection: Collection, rng: np.random.Generator) -> list[tuple[Bits, Rows]]:
    """For each margin the unions of its cells: the cells of all attributes that are possible in them, as bits, and rows."""
    domain, fine = collection.domain, collection.finest_levels
    shape = [hierarchy.size(fine[name]) for name, hierarchy in domain.items()]
    codes = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    tables = []
    for table in collection.tables:
        levels = [domain.hierarchy(a).size(level) for a, level in table.margin.items()]
        own = [domain.hierarchy(a).lift(fine[a], level)[codes[a]] for a, level in table.margin.items()]
        counts = np.zeros(levels, dtype=np.int64)
        counts[tuple(table.column(a, level) for a, level in table.margin.items())] = table.counts
        tables.append((counts.ravel(), np.ravel_multi_index(own, levels)))
    possible = np.flatnonzero(np.logical_and.reduce([counts[where] > 0 for counts, where in tables]))
    result = []
    for counts, where in tables:
        filled = rng.permutation(np.flatnonzero(counts))[:MOST]
        bits = [sum(1 << int(at) for at in np.flatnonzero(where[possible] == place)) for place in filled]
        chosen = np.arange(1 << len(filled))[:, None] >> np.arange(len(filled)) & 1
        result.append((chosen.astype(object) @ np.array(bits, dtype=object), chosen @ counts[filled]))
    return result


def test_no_difference_of_two_published_unions_is_small() -> None:
    published = 0
    for trial in range(TRIALS):
        rng = np.random.default_rng((SEED, trial))
        table, m = random_table(rng), int(rng.integers(2, 8))
        diversity = ["none", "distinct:2", "entropy:3/2"][rng.integers(3)]
        policy = Policy(min_cell=m, diversity=diversity, base=["none", "best"][rng.integers(2)])
        try:
            release = marginals.publish(table, policy).release
        except NothingPublishableError:
            continue
        published += 1
        collection = release.published.collection
        assert min(int(counted.counts.min()) for counted in collection.tables) >= m
        for (cells, rows), (others, less) in combinations_with_replacement(unions(collection, rng), 2):
            for (one, more), (other, fewer) in (((cells, rows), (others, less)), ((others, less), (cells, rows))):
                within = (one[:, None] & other[None, :]) == other[None, :]
                difference = (more[:, None] - fewer[None, :])[within.astype(bool)]
                assert not ((difference > 0) & (difference < m)).any(), (SEED, trial)
                assert (difference >= 0).all()
    assert published >= TRIALS // 4, published
