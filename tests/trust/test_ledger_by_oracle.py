"""Releases with a ledger give nobody away who came or left, to an oracle that has their CSV files and enumerates tables.

The oracle knows every base value there can be. Of two releases it lists all tables that have the counts of the one, and
all that have those of the other; who came between two tables is counted by base cell. It finds a change where in every pair
of tables 1 to k - 1 people came to some cell of some margin, or left it; where for certain the people who came into some
class, or left it, are so many of each sensitive value that they are not diverse; or where a count that both tell differs by
1 to k - 1. MARGINALS_TRIALS sets how many series are tried (25 by default).
"""

import csv
import os
from collections import Counter
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pandas as pd

import marginals
from table_enumeration import Counts, all_tables, story

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "25"))
SEED = 20261122
MOST_TABLES, MOST_PAIRS, MANY = 4_000, 40_000, 1_000
VALUES = {"x": ["x0", "x1", "x2"], "y": ["y0", "y1"], "s": ["s0", "s1", "s2"]}
SHAPE = tuple(map(len, VALUES.values()))
NAMES = list(VALUES)
ATTRIBUTES = {
    name: marginals.Attribute(role, hierarchy=marginals.Hierarchy.flat(VALUES[name]))
    for name, role in {"x": "quasi-identifier", "y": "quasi-identifier", "s": "sensitive"}.items()
}
CODES = np.indices(SHAPE).reshape(len(SHAPE), -1)

Told = dict[tuple[str, ...], dict[tuple[str, ...], int]]
"""Counts of cells by margin."""


def told(folder: Path) -> Told:
    found: Told = {}
    for file in sorted((folder / "marginals").glob("*.csv")):
        with file.open(newline="") as stream:
            header, *rows = csv.reader(stream)
        assert header[-1] == "count"
        found[tuple(header[:-1])] = {tuple(row[:-1]): int(row[-1]) for row in rows}
    return found


def fitting(counts: Told, inside: Counts | None = None) -> Counts | None:
    """All tables with these counts, shape (tables, cells); None where they are too many.

    inside: 1 in the cells of the part that is counted; of the others, where there are some, there may be none, or many.
    """
    if inside is not None and not inside.all():
        part = {names: dict(cells) for names, cells in counts.items()}
        found = _fitting(part, inside.ravel())
        return None if found is None else np.concatenate([found + rest * (1 - inside.ravel()) for rest in (0, MANY)])
    return _fitting(counts, np.ones(int(np.prod(SHAPE)), dtype=np.int64))


def _fitting(counts: Told, may_be: Counts) -> Counts | None:
    total = sum(next(iter(counts.values())).values())
    members, sums = [list(range(int(np.prod(SHAPE))))], [total]
    for names, cells in counts.items():
        for cell in np.ndindex(*(len(VALUES[name]) for name in names)):
            holding = np.logical_and.reduce([CODES[NAMES.index(n)] == c for n, c in zip(names, cell)])
            members.append(np.flatnonzero(holding).tolist())
            sums.append(cells.get(tuple(VALUES[n][c] for n, c in zip(names, cell)), 0))
    members, sums = [*members, np.flatnonzero(may_be == 0).tolist()], [*sums, 0]
    tables = list(islice(all_tables(members, sums, int(np.prod(SHAPE))), MOST_TABLES + 1))
    assert tables, "the counts of a release contradict each other"
    return None if len(tables) > MOST_TABLES else np.array(tables)


def only(counts: Told, inside: Counts) -> Told:
    """The counts of margins that show the cells of a part, of these cells alone."""
    kept: Told = {}
    for names, cells in counts.items():
        places = {cell: [VALUES[n].index(label) for n, label in zip(names, cell)] for cell in cells}
        index = {
            cell: tuple(at[names.index(n)] if n in names else slice(None) for n in NAMES) for cell, at in places.items()
        }
        if not any(0 < inside[own].sum() < inside[own].size for own in index.values()):
            kept[names] = {cell: count for cell, count in cells.items() if inside[index[cell]].any()}
    return kept


def small_differences(one: Told, other: Told, k: int) -> bool:
    """Whether a count that both tell differs by 1 to k - 1, of those that are no sums of finer ones which both tell.

    A sum may: 12 more here and 11 fewer there are nobody's secret, and together one more.
    """
    pairs = [(a, b, frozenset(a[0]) & frozenset(b[0])) for a in one.items() for b in other.items()]
    for (names, cells), (others, other_cells), both in pairs:
        if any(both < finer for _, _, finer in pairs):
            continue
        common = sorted(both)
        change: Counter[tuple[str, ...]] = Counter()
        for sign, own, rows in ((-1, names, cells), (1, others, other_cells)):
            for cell, count in rows.items():
                change[tuple(cell[own.index(name)] for name in common)] += sign * count
        if any(0 < abs(count) < k for count in change.values()):
            return True
    return False


def certain(earlier: Counts, later: Counts, k: int, is_diverse_of: int) -> bool:
    """Whether few people came or left for certain, or people who are not diverse."""
    low, high = later.min(axis=0) - earlier.max(axis=0), later.max(axis=0) - earlier.min(axis=0)
    every = None
    if len(earlier) * len(later) <= MOST_PAIRS:
        every = (later[:, None, :] - earlier[None, :, :]).reshape(-1, *SHAPE)
    for sign in (1, -1):
        least = np.maximum(low if sign == 1 else -high, 0).reshape(SHAPE)
        most = np.maximum(high if sign == 1 else -low, 0).reshape(SHAPE)
        if ((least >= 1) & (most < k)).any():
            return True
        is_known = (least == most).all(axis=2) & (least.sum(axis=2) > 0)
        if (is_known & ((least > 0).sum(axis=2) < is_diverse_of)).any():
            return True
        if every is None:
            continue
        people = np.maximum(sign * every, 0)
        for kept in (axes for size in range(3) for axes in combinations(range(3), size)):
            rows = people.sum(axis=tuple(axis + 1 for axis in range(3) if axis not in kept)).reshape(len(people), -1)
            if ((rows.min(axis=0) >= 1) & (rows.max(axis=0) < k)).any():
                return True
    return False


def frame_of(counts: Counts) -> pd.DataFrame:
    repeated = np.repeat(np.arange(counts.size), counts.ravel())
    return pd.DataFrame({n: np.array(VALUES[n])[CODES[i][repeated]] for i, n in enumerate(NAMES)})


PARTS = {"": (), "x == 'x0'": (0, [0]), "x != 'x1'": (0, [0, 2]), "x in x1|x2": (0, [1, 2]), "y == 'y1'": (1, [1])}
"""Conditions, with the attribute that they are about and the values that they mean."""


def inside_of(where: str) -> Counts:
    """1 in the cells of a part."""
    if not where:
        return np.ones(SHAPE, dtype=np.int64)
    axis, values = PARTS[where]
    return 1 * np.isin(np.indices(SHAPE)[axis], values)


def released(seed: int, place: Path, ledger: Path | None) -> tuple[int, bool, list[tuple[str, Told]]]:
    """k, whether turnover is known, and one or two releases of each state of a table; of parts for every other seed."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    turnover = str(rng.choice(["known", "unknown"])) if ledger else "unknown"
    diversity = str(rng.choice(["distinct:2", "entropy:1.5"]))
    policy = marginals.Policy(
        k_link=k, k_combinatorial=k, diversity=diversity, base="none", max_waiting=1, turnover=turnover
    )
    found: list[tuple[str, Told]] = []
    for number, counts in enumerate(story(rng, SHAPE, k, (1, 5))[1]):
        for again in range(rng.integers(1, 3)):
            where = str(rng.choice(list(PARTS))) if seed % 2 else ""
            folder = place / f"{seed}-{number}-{again}-{ledger is None}"
            try:
                part = marginals.Part(where) if where else None
                table = marginals.read_table(frame_of(counts), ATTRIBUTES, where=part)
                marginals.publish(table, policy, ledger=ledger).write(folder)
            except (marginals.errors.NothingPublishableError, marginals.InputError):
                continue
            assert marginals.verify(folder).ok
            found.append((where, told(folder)))
    return k, turnover == "known", found


def test_an_oracle_finds_nobody_in_releases_of_everybody_and_of_parts(tmp_path: Path) -> None:
    """Overlapping parts, a part and the rest, a part before and after the whole, as they were published."""
    found: Counter[str] = Counter()
    for trial in range(SEED, SEED + TRIALS):
        k, is_known, releases = released(trial, tmp_path, tmp_path / f"{trial}-ledger")
        found["releases"] += len(releases)
        found["of parts"] += sum(where != "" for where, _ in releases)
        fits = [fitting(counts, inside_of(where)) for where, counts in releases]
        for (i, (where, one)), (j, (other_where, other)) in combinations(enumerate(releases), 2):
            found["pairs"] += 1
            common = inside_of(where) * inside_of(other_where)
            own, others = only(one, common), only(other, common)
            found["pairs that differ"] += own != others
            if not is_known and not where and not other_where:
                found["pairs of everybody"] += 1
                assert not small_differences(own, others, k), (trial, i, j)
            first, second = fits[i], fits[j]
            if first is not None and second is not None:
                found["pairs enumerated"] += 1
                assert not certain(first, second, k, 2), (trial, i, j)
        *_, loose = released(trial, tmp_path, None)
        for (where, one), (other_where, other) in combinations(loose, 2):
            if one != other and not where and not other_where:
                found["pairs without"] += 1
                found["given away without"] += small_differences(one, other, k)
    print(f"\nparts, seed {SEED}: {dict(found)}")
    assert found["of parts"] > found["releases"] / 5
    assert found["pairs that differ"] > 0
    assert found["pairs of everybody"] > 0
    assert found["pairs enumerated"] > found["pairs"] / 4
    assert found["given away without"] > found["pairs without"] / 8
