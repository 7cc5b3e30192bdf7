"""Series of three to six snapshots give nobody away, to an oracle that knows all tables that fit each of the releases.

Releases of several tables leave open every combination of a table that fits the first, one that fits the second, and so on.
The oracle asks of people who are in some of the tables and not in others, of every pattern of this kind, and of every set of
base cells at once: is it certain that there are 1 to k - 1 of them? It is not where each base cell in which such people are
can have k of them, in tables that fit. Where that is not so it lists the combinations. A reader who knows, rightly, that
nobody left, or that each table is a part of the one before, sees only combinations in which that is so; so do those who know
everybody who stayed, or who left. And with a diversity it asks of every class of such people, and of every union of classes
that leaves out attributes: are there some for certain, and all of one sensitive value? A release of a part shows it the
cells of the part alone: the rest may be empty, as it is, or large. MARGINALS_TRIALS sets how many series are tried (12 by
default; 1,000 of them, and 10,000 pairs, take some ten minutes).
"""

import os
from collections import Counter
from dataclasses import dataclass
from itertools import combinations, islice, permutations, product

import numpy as np

from checks import KLink, MaxentDiversity, Verdict, parse_diversity
from checks.changes import Envelope, difference, settled
from filled_tables import filled, flat_domain
from models import ContingencyTable, Domain, Mask
from table_enumeration import Counts, story, tables_with

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "12"))
SEED = 20261123
MOST_TABLES, MOST_COMBINATIONS = 400, 60_000
SHAPES = [(2, 2), (2, 3), (2, 2, 2)]
ENVELOPES = {2: [["a", "b"], ["ab"]], 3: [["a", "b", "c"], ["ab", "c"], ["ab", "bc"], ["abc"]]}
BY_FIRST = {2: [["ab"]], 3: [["ab", "ac"], ["abc"]]}
"""Collections of which each margin shows the first attribute, by whose values a part is told from the rest."""

MANY = 1_000
SAMPLED = 64

Pattern = tuple[tuple[int, ...], tuple[int, ...]]
"""The tables that people are in, and those that they are not in."""


def counts_of(table: ContingencyTable, shape: tuple[int, ...]) -> Counts:
    counts = np.zeros(shape, dtype=np.int64)
    counts[table.codes] = table.counts
    return counts


def fitting(counts: Counts, masks: tuple[Mask, ...], domain: Domain) -> Counts | None:
    """All tables with the same margins, shape (tables, cells); None where they are too many."""
    tables = list(islice(tables_with(domain, map(domain.margin, masks), counts.ravel()), MOST_TABLES + 1))
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


def alike_for_certain(
    fits: list[Counts], truth: Counts, shape: tuple[int, ...], rng: np.random.Generator
) -> tuple[int, int]:
    """Patterns with a class of people who are there for certain and all have one sensitive value, the last attribute's.

    It is the same value in every combination: of one more of a class it is not told which value it has. And patterns that
    are too many to be listed, and of which no sample of combinations shows that it is not so.
    """
    found = undecided = 0
    for inside, outside in patterns(len(fits)):
        own = _people([truth[[number]] for number in (*inside, *outside)], len(inside))
        if not _are_alike(own, shape):
            continue
        tables = [fits[number] for number in (*inside, *outside)]
        sample = [each[rng.integers(len(each), size=SAMPLED)] for each in tables]
        if not _are_alike(np.vstack([own, _people(sample, len(inside))]), shape):
            continue
        sizes = [len(each) for each in tables]
        if np.prod(sizes, dtype=float) > MOST_COMBINATIONS:
            undecided += 1
            continue
        places = np.unravel_index(np.arange(np.prod(sizes)), sizes)
        found += _are_alike(_people([each[place] for each, place in zip(tables, places)], len(inside)), shape)
    return found, undecided


def _people(tables: list[Counts], inside: int) -> Counts:
    """Those who are in all of the first tables and in none of the others: shape (combinations, cells)."""
    return np.maximum(np.min(tables[:inside], axis=0) - np.max(tables[inside:], axis=0), 0)


def _are_alike(people: Counts, shape: tuple[int, ...]) -> bool:
    """Whether a class has people in every combination, all of one value; also of classes that leave out attributes."""
    cells, axes = people.reshape(-1, *shape), range(1, len(shape))
    for out in (own for size in range(len(axes) + 1) for own in combinations(axes, size)):
        values = cells.sum(axis=out) > 0
        if (values.any(axis=-1).all(axis=0) & (values.any(axis=0).sum(axis=-1) == 1)).any():
            return True
    return False


@dataclass(frozen=True, eq=False)
class Case:
    """A random series: its tables as they are, and of each release the cells that it shows.

    parts: 1 in the cells of the part that a release is of, all where it is of everybody.
    """

    shape: tuple[int, ...]
    masks: tuple[Mask, ...]
    kind: str
    tables: list[Counts]
    parts: list[Counts]
    envelope: Envelope

    @classmethod
    def drawn(
        cls, rng: np.random.Generator, choices: dict[int, list[list[str]]], changes: tuple[int, int], *, parts: bool
    ) -> "Case":
        """One whose margins are among some; with parts, one or two releases of each of the first four tables."""
        shape = SHAPES[rng.integers(len(SHAPES))]
        domain = flat_domain(**dict(zip("abc", shape)))
        k = int(rng.integers(2, 4))
        chosen = choices[len(shape)][rng.integers(len(choices[len(shape)]))]
        masks = tuple(domain.mask(dict.fromkeys(names, 0)) for names in chosen)
        kind, tables = story(rng, shape, k, changes)
        whole = np.ones(shape, dtype=np.int64)
        shown = [whole] * len(tables)
        if parts:
            axis = np.indices(shape)[0]
            tables = [table for table in tables[:4] for _ in range(rng.integers(1, 3))]
            shown = [whole if rng.random() < 0.4 else 1 * (axis == rng.integers(shape[0])) for _ in tables]
        claim = MaxentDiversity(parse_diversity("distinct:2"), domain.attributes[-1])
        diversities = (claim,) if rng.random() < 0.5 else ()
        envelope = Envelope(masks, k, diversities, turnover_known=bool(rng.random() < 0.6))
        return cls(shape, masks, kind, tables, shown, envelope)

    @property
    def domain(self) -> Domain:
        return flat_domain(**dict(zip("abc", self.shape)))

    def settled(self) -> list[Counts]:
        series = [filled(self.domain, self.tables[0])]
        strict: list[ContingencyTable] | None = [] if self.envelope.turnover_known else None
        for today in self.tables[1:]:
            now = filled(self.domain, today)
            series.append(settled(series, now, self.envelope, [KLink(1)], (self.domain.attributes[-1],), strict))
        return [counts_of(table, self.shape) for table in series]

    def fitting(self, tables: list[Counts]) -> list[Counts] | None:
        """What fits each release; None where that is too much."""
        fits = []
        for table, part in zip(tables, self.parts):
            fit = fitting(table * part, self.masks, self.domain)
            if fit is None:
                return None
            outside = 1 - part.ravel()
            rests = (0, MANY, table.ravel()) if outside.any() else (0,)
            fits.append(np.concatenate([fit + rest * outside for rest in rests]))
        return fits

    def is_named(self, tables: list[Counts]) -> bool:
        """Whether `verify` names a small difference of two of the releases, by what they show."""
        shown = [self.envelope.collection(filled(self.domain, own * part)) for own, part in zip(tables, self.parts)]
        return any(difference(*pair, self.envelope.k).verdict is Verdict.FAILS for pair in combinations(shown, 2))


def tried(
    trials: int,
    seed: int,
    choices: dict[int, list[list[str]]] = ENVELOPES,
    changes: tuple[int, int] = (2, 6),
    *,
    parts: bool = False,
) -> Counter[str]:
    """What the oracle found in so many series, with a ledger and without."""
    rng = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    while found["tried"] < trials:
        case = Case.drawn(rng, choices, changes, parts=parts)
        k, shown = case.envelope.k, case.settled()
        known = case.fitting(shown)
        if known is None:
            found["too many tables"] += 1
            continue
        truth = np.array([each.ravel() for each in shown])
        told = (case, truth.tolist())
        found["tried"] += 1
        found[f"turnover {'known' if case.envelope.turnover_known else 'unknown'}"] += 1
        found[f"of {case.kind}"] += 1
        found["parts"] += sum(not part.all() for part in case.parts)
        found["snapshots"] += len(shown)
        found["that differ from the one before"] += int((truth[1:] != truth[:-1]).any(axis=1).sum())
        found["pairs"] += len(shown) * (len(shown) - 1) // 2
        found["pairs that differ"] += int((truth[:, None, :] != truth[None, :, :]).any(axis=2).sum()) // 2
        assert not given_away(known, truth, k), told
        assert not given_away_to_knowing(known, truth, k), told
        if case.envelope.diversities:
            found["with a diversity"] += 1
            alike, undecided = alike_for_certain(known, truth, case.shape, rng)
            found["patterns that are too many"] += undecided
            assert not alike, told
        for ordered, tables_in_order in ((truth, known), (truth[::-1], known[::-1])):
            if not parts and (ordered[1:] >= ordered[:-1]).all() and (truth != truth[0]).any():
                found["read in order"] += 1
                assert not given_away_in_order(tables_in_order, k), told
        found.update(_without_a_ledger(case, rng))
    return found


def _without_a_ledger(case: Case, rng: np.random.Generator) -> Counter[str]:
    """What the oracle, and `verify`, find where every table is published as it is."""
    found: Counter[str] = Counter()
    loose, raw = case.fitting(case.tables), np.array([each.ravel() for each in case.tables])
    if loose is None or not (raw != raw[0]).any():
        return found
    found["without a ledger"] = 1
    few = bool(given_away(loose, raw, case.envelope.k))
    alike = bool(case.envelope.diversities) and alike_for_certain(loose, raw, case.shape, rng)[0] > 0
    found["given away without"] = few or alike
    found["named by verify without"] = case.is_named(case.tables)
    return found


def test_no_pattern_of_few_people_is_certain_in_a_whole_series() -> None:
    found = tried(TRIALS, SEED)
    print(f"\nseries, seed {SEED}: {dict(found)}")
    assert found["that differ from the one before"] > found["snapshots"] / 10
    assert found["given away without"] > found["without a ledger"] / 3
    assert found["named by verify without"] > found["without a ledger"] / 2


def test_nobody_is_given_away_by_two_releases() -> None:
    found = tried(10 * TRIALS, SEED, changes=(1, 2))
    print(f"\npairs, seed {SEED}: {dict(found)}")
    assert found["pairs that differ"] > found["pairs"] / 10
    assert found["given away without"] > found["without a ledger"] / 3
    assert found["named by verify without"] > found["without a ledger"] / 2


def test_releases_of_parts_that_are_settled_as_if_of_everybody_give_nobody_away() -> None:
    """What a part shows follows from a release of everybody on margins that tell the part from the rest."""
    found = tried(TRIALS, SEED, BY_FIRST, parts=True)
    print(f"\nseries with parts, seed {SEED}: {dict(found)}")
    assert found["parts"] > found["snapshots"] / 4
    assert found["that differ from the one before"] > 0
    assert found["given away without"] > found["without a ledger"] / 8
