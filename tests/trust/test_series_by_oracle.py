"""Series of three to six snapshots give nobody away, to an oracle that knows all tables that fit each of the releases.

Releases of several tables leave open every combination of a table that fits the first, one that fits the second, and so on.
The oracle asks of people who are in some of the tables and not in others, of every pattern of this kind, and of every set of
base cells at once: is it certain that there are 1 to k - 1 of them? It is not where each base cell in which such people are
can have k of them, in tables that fit. Where that is not so it lists the combinations. A reader who knows, rightly, that
nobody left, or that each table is a part of the one before, sees only combinations in which that is so; so do those who know
everybody who stayed, or who left. MARGINALS_TRIALS sets how many series are tried (12 by default).
"""

import os
from collections import Counter
from itertools import combinations, islice, permutations, product

import numpy as np
import pytest

from checks.changes.series import Envelope
from checks.changes.settling import settled
from checks.claims.k_link import KLink
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain, Mask
from models.tables.hierarchy import Hierarchy
from table_enumeration import Counts, all_tables

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "12"))
SEED = 20261123
MOST_TABLES, MOST_COMBINATIONS = 400, 60_000

SHAPES = [(2, 2), (2, 3), (2, 2, 2)]
ENVELOPES = {2: [["a", "b"], ["ab"]], 3: [["a", "b", "c"], ["ab", "c"], ["ab", "bc"], ["abc"]]}

Pattern = tuple[tuple[int, ...], tuple[int, ...]]
"""The tables that people are in, and those that they are not in."""


def domain_of(shape: tuple[int, ...]) -> Domain:
    return Domain.of({name: Hierarchy.flat([f"{name}{i}" for i in range(size)]) for name, size in zip("abc", shape)})


def table_of(domain: Domain, counts: Counts) -> ContingencyTable:
    codes = dict(zip(domain.attributes, np.indices(counts.shape).reshape(counts.ndim, -1)))
    return ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, counts.ravel())


def counts_of(table: ContingencyTable, shape: tuple[int, ...]) -> Counts:
    counts = np.zeros(shape, dtype=np.int64)
    counts[table.codes] = table.counts
    return counts


def fitting(counts: Counts, masks: tuple[Mask, ...], domain: Domain) -> Counts | None:
    """All tables with the same margins, shape (tables, cells); None where they are too many."""
    places = np.arange(counts.size).reshape(counts.shape)
    members, sums = [list(range(counts.size))], [int(counts.sum())]
    for mask in masks:
        shown = [domain.attributes.index(name) for name, level in domain.margin(mask).items() if level == 0]
        for cell in np.ndindex(*(counts.shape[axis] for axis in shown)):
            index: list[int | slice] = [slice(None)] * counts.ndim
            for axis, code in zip(shown, cell):
                index[axis] = code
            members.append(places[tuple(index)].ravel().tolist())
            sums.append(int(counts[tuple(index)].sum()))
    tables = list(islice(all_tables(members, sums, counts.size), MOST_TABLES + 1))
    return None if len(tables) > MOST_TABLES else np.array(tables)


def patterns(length: int) -> list[Pattern]:
    """Every choice of tables that somebody is in and of tables that somebody is not in."""
    sides = product((0, 1, 2), repeat=length)
    split = [tuple(tuple(i for i, own in enumerate(side) if own == kind) for kind in (1, 2)) for side in sides]
    return [(inside, outside) for inside, outside in split if inside and outside]


def given_away(fits: list[Counts], truth: Counts, k: int) -> list[Pattern]:
    """The patterns of which 1 to k - 1 people are in some set of cells for certain. truth: shape (releases, cells)."""
    most, least = np.array([own.max(axis=0) for own in fits]), np.array([own.min(axis=0) for own in fits])
    found = []
    for inside, outside in patterns(len(fits)):
        here = truth[list(inside)].min(axis=0) > truth[list(outside)].max(axis=0)
        possible = most[list(inside)].min(axis=0) - least[list(outside)].max(axis=0)
        if (here & (possible < k)).any() and _is_certain(fits, (inside, outside), possible, k):
            found.append((inside, outside))
    return found


def _is_certain(fits: list[Counts], pattern: Pattern, possible: Counts, k: int) -> bool:
    """Whether a set of the cells that alone can have few has 1 to k - 1 in every combination; True if these are too many."""
    tables = [fits[number] for side in pattern for number in side]
    if np.prod([len(own) for own in tables]) > MOST_COMBINATIONS:
        return True
    few = np.flatnonzero(possible < k)
    rows = []
    for combined in product(*tables):
        inside, outside = combined[: len(pattern[0])], combined[len(pattern[0]) :]
        rows.append(np.maximum(np.min(inside, axis=0) - np.max(outside, axis=0), 0)[few])
    return any_certain(np.unique(np.array(rows), axis=0), k)


def any_certain(people: Counts, k: int) -> bool:
    """Whether some set of cells has 1 to k - 1 people in every row. Shape (combinations, cells)."""
    sets = np.array(list(product((0, 1), repeat=people.shape[1]))).T
    totals = people @ sets
    return bool(((totals.min(axis=0) >= 1) & (totals.max(axis=0) < k)).any())


def given_away_in_order(fits: list[Counts], k: int) -> bool:
    """Whether few came for certain to those who know that each table contains the one before."""
    follows = [(one[:, None, :] <= other[None, :, :]).all(axis=2) for one, other in zip(fits, fits[1:])]
    before = [np.ones(len(fits[0]), dtype=bool)]
    for link in follows:
        before.append((before[-1][:, None] & link).any(axis=0))
    after = [np.ones(len(fits[-1]), dtype=bool)]
    for link in reversed(follows):
        after.insert(0, (link & after[0][None, :]).any(axis=1))
    for i, j in combinations(range(len(fits)), 2):
        linked = np.eye(len(fits[i]), dtype=bool)
        for link in follows[i:j]:
            linked = (linked.astype(np.int64) @ link.astype(np.int64)) > 0
        one, other = np.nonzero(linked & before[i][:, None] & after[j][None, :])
        if len(one) > MOST_COMBINATIONS:
            continue
        if any_certain(np.unique(fits[j][other] - fits[i][one], axis=0), k):
            return True
    return False


def given_away_to_knowing(fits: list[Counts], truth: Counts, k: int) -> bool:
    """Whether few came or left for certain to those who know everybody who stayed, or everybody on the other side."""
    for i, j in permutations(range(len(fits)), 2):
        stayed, left = np.minimum(truth[i], truth[j]), np.maximum(truth[i] - truth[j], 0)
        if any_certain(fits[j][(fits[j] >= stayed).all(axis=1)] - stayed, k):
            return True
        before = fits[i][(fits[i] >= left).all(axis=1)] - left
        if len(before) * len(fits[j]) <= MOST_COMBINATIONS:
            came = (fits[j][None, :, :] - before[:, None, :]).reshape(-1, truth.shape[1])
            if any_certain(np.unique(came[(came >= 0).all(axis=1)], axis=0), k):
                return True
    return False


def story(rng: np.random.Generator, shape: tuple[int, ...], k: int) -> tuple[str, list[Counts]]:
    """Three to six snapshots: people come, leave, both, are corrected; or each is a part of the one before."""
    kind = str(rng.choice(["come", "leave", "both", "corrected", "part", "turnover"]))
    tables = [rng.integers(0, 2 * k + 1, shape) * (rng.random(shape) < 0.9)]
    for _ in range(rng.integers(2, 6)):
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


def tried(trials: int, seed: int) -> Counter[str]:
    """What the oracle found in so many series, with and without the assumption that turnover is known."""
    rng = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    for _ in range(trials):
        shape = SHAPES[rng.integers(len(SHAPES))]
        domain = domain_of(shape)
        k = int(rng.integers(2, 4))
        choices = ENVELOPES[len(shape)]
        masks = tuple(domain.mask(dict.fromkeys(names, 0)) for names in choices[rng.integers(len(choices))])
        kind, tables = story(rng, shape, k)
        turnover_known = bool(rng.random() < 0.6)
        envelope = Envelope(masks, k, turnover_known=turnover_known)
        series = [table_of(domain, tables[0])]
        for today in tables[1:]:
            strict = [] if turnover_known else None
            series.append(settled(series, table_of(domain, today), envelope, [KLink(1)], (), strict))
        shown = [counts_of(table, shape) for table in series]
        fits = [fitting(each, masks, domain) for each in shown]
        known = [each for each in fits if each is not None]
        if len(known) < len(fits):
            found["too many tables"] += 1
            continue
        found[f"series with turnover {'known' if turnover_known else 'unknown'}"] += 1
        found[f"series of {kind}"] += 1
        truth = np.array([each.ravel() for each in shown])
        found["snapshots"] += len(shown)
        found["that differ from the one before"] += int((truth[1:] != truth[:-1]).any(axis=1).sum())
        differences = truth[:, None, :] - truth[None, :, :]
        found["pairs that differ"] += int((differences != 0).any(axis=2).sum()) // 2
        away = given_away(known, truth, k)
        assert not away, (kind, turnover_known, k, shape, masks, truth.tolist(), away)
        assert not given_away_to_knowing(known, truth, k), (kind, turnover_known, k, shape, masks, truth.tolist())
        for ordered, tables_in_order in ((truth, known), (truth[::-1], known[::-1])):
            if (ordered[1:] >= ordered[:-1]).all() and (truth != truth[0]).any():
                found["read in order"] += 1
                assert not given_away_in_order(tables_in_order, k), (kind, k, masks, ordered.tolist())
        raw = np.array([each.ravel() for each in tables])
        loose = [fitting(each, masks, domain) for each in tables]
        if all(each is not None for each in loose):
            found["without a ledger"] += 1
            pairs = combinations([each for each in loose if each is not None], 2)
            changes = ((b[None, :, :] - a[:, None, :]).reshape(-1, raw.shape[1]) for a, b in pairs)
            found["given away without"] += any(
                any_certain(np.maximum(sign * own, 0), k)
                for own in changes
                if len(own) <= MOST_COMBINATIONS
                for sign in (1, -1)
            )
    return found


@pytest.mark.slow
def test_no_pattern_of_few_people_is_certain_in_a_whole_series() -> None:
    found = tried(TRIALS, SEED)
    print(f"\nseed {SEED}: {dict(found)}")
    assert found["that differ from the one before"] > found["snapshots"] / 10
    assert found["given away without"] > found["without a ledger"] / 4


ENVELOPES_BY_FIRST = {2: [["ab"]], 3: [["ab", "ac"], ["abc"]]}
"""Collections of which each margin shows the first attribute, by whose values a part is told from the rest."""

MANY = 1_000


def fitting_part(counts: Counts, masks: tuple[Mask, ...], domain: Domain, inside: Counts) -> Counts | None:
    """Tables with the counts of a part: of the rest nobody knows anything, so it may be empty, or large, or as it is."""
    found = fitting(counts * inside, masks, domain)
    outside = 1 - inside.ravel()
    return None if found is None else np.concatenate([found + rest * outside for rest in (0, MANY, counts.ravel())])


def tried_with_parts(trials: int, seed: int) -> Counter[str]:
    """What the oracle found in so many series of releases of everybody and of parts, all settled as if of everybody.

    The oracle has of a release of a part the cells of that part alone.
    """
    rng = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    for _ in range(trials):
        shape = SHAPES[rng.integers(len(SHAPES))]
        domain = domain_of(shape)
        k = int(rng.integers(2, 4))
        choices = ENVELOPES_BY_FIRST[len(shape)]
        masks = tuple(domain.mask(dict.fromkeys(names, 0)) for names in choices[rng.integers(len(choices))])
        kind, tables = story(rng, shape, k)
        turnover_known = bool(rng.random() < 0.6)
        envelope = Envelope(masks, k, turnover_known=turnover_known)
        axis = np.indices(shape)[0]
        series: list[ContingencyTable] = []
        raw: list[Counts] = []
        parts: list[Counts] = []
        for today in tables[:4]:
            for _ in range(rng.integers(1, 3)):  # of one day everybody and a part, or two parts, may be published
                strict = [] if turnover_known else None
                now = table_of(domain, today)
                series.append(settled(series, now, envelope, [KLink(1)], (), strict) if series else now)
                raw.append(today)
                parts.append(
                    np.ones(shape, dtype=np.int64) if rng.random() < 0.4 else 1 * (axis == rng.integers(shape[0]))
                )
        shown = [counts_of(table, shape) for table in series]
        fits = [fitting_part(each, masks, domain, part) for each, part in zip(shown, parts)]
        known = [each for each in fits if each is not None]
        if len(known) < len(fits):
            found["too many tables"] += 1
            continue
        truth = np.array([each.ravel() for each in shown])
        found["series with parts"] += 1
        found["parts"] += sum(not part.all() for part in parts)
        found["releases"] += len(parts)
        found["series that change"] += bool((truth != truth[0]).any())
        away = given_away(known, truth, k)
        assert not away, (kind, turnover_known, k, shape, masks, truth.tolist(), parts, away)
        assert not given_away_to_knowing(known, truth, k), (kind, k, shape, masks, truth.tolist(), parts)
        loose = [fitting_part(each, masks, domain, part) for each, part in zip(raw, parts)]
        every = [each for each in loose if each is not None]
        if len(every) == len(loose):
            found["without a ledger"] += 1
            found["given away without"] += bool(given_away(every, np.array([each.ravel() for each in raw]), k))
    return found


@pytest.mark.slow
def test_releases_of_parts_that_are_settled_as_if_of_everybody_give_nobody_away() -> None:
    """What a part shows follows from a release of everybody on margins that tell the part from the rest."""
    found = tried_with_parts(TRIALS, SEED)
    print(f"\nseed {SEED}: {dict(found)}")
    assert found["parts"] > found["releases"] / 4
    assert found["series that change"] > 0
    assert found["given away without"] > found["without a ledger"] / 8
