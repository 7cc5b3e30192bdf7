"""What a refused step tells, against all tables with the published marginals, each judged as the publisher would."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Claim, KCombinatorial, KLink, MaxentDiversity, Question, parse_diversity, satisfies
from checks.attacks.minimality import Refinement, refinements
from models import Collection, ContingencyTable, DataCube, Domain, FrechetBounds, Hierarchy
from models.inference.frechet_bounds import MarginBounds

# In no alphabetical order, so that an order taken for another one shows.
DOMAIN = Domain.of(
    {
        "z": Hierarchy.from_rows([("p", "P", "*"), ("q", "P", "*"), ("r", "P", "*"), ("t", "T", "*")]),
        "s": Hierarchy.flat("xyw"),
        "a": Hierarchy.flat("mn"),
    }
)
World = tuple[tuple[tuple[int, int, int], int], ...]
"""Cells with rows: codes of z, s and a at level 0."""

PUBLISHED: dict[str, list[dict[str, int]]] = {
    "one": [{"z": 1, "s": 0, "a": 0}],
    "no sensitive attribute": [{"z": 1, "a": 0}],
    "finer counts known": [{"z": 1, "s": 0}, {"z": 0, "a": 0}],
    "finer counts bounded": [{"z": 1, "s": 0, "a": 0}, {"z": 0}],
    "sensitive by itself": [{"z": 1, "a": 0}, {"s": 0}],
}
CLAIMS: list[list[Claim]] = [
    [KLink(2)],
    [KLink(2), KCombinatorial(3)],
    [MaxentDiversity(parse_diversity("distinct:2"), "s")],
    [KLink(2), MaxentDiversity(parse_diversity("distinct:2"), "s")],
    [KLink(2), MaxentDiversity(parse_diversity("recursive:3,2"), "s")],
    [KCombinatorial(2), MaxentDiversity(parse_diversity("simple:3/2"), "s")],
]


def cube_of(world: World) -> DataCube:
    columns = np.array([cell for cell, _ in world]).T
    codes = dict(zip(DOMAIN.attributes, columns))
    counts = np.array([rows for _, rows in world])
    return DataCube([ContingencyTable.from_cells(DOMAIN, dict.fromkeys(DOMAIN.attributes, 0), codes, counts)])


def shown(world: World, margin: Mapping[str, int]) -> Counter[tuple[int, ...]]:
    lifts = [(DOMAIN.index(a), DOMAIN.hierarchy(a).lift(0, level).tolist()) for a, level in margin.items()]
    found: Counter[tuple[int, ...]] = Counter()
    for cell, rows in world:
        found[tuple(lift[cell[axis]] for axis, lift in lifts)] += rows
    return found


def splits(rows: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (rows,)
        return
    for first in range(rows + 1):
        for rest in splits(rows - first, parts - 1):
            yield (first, *rest)


def possible_worlds(margins: Sequence[dict[str, int]], truth: World) -> Iterator[World]:
    """Every table over all three attributes that has the published marginals, whatever they leave open."""
    first, *others = margins
    pieces = []
    for codes, rows in sorted(shown(truth, first).items()):
        held = dict(zip(first, codes))
        cells = [
            cell
            for cell in product(*(range(DOMAIN.hierarchy(a).size(0)) for a in DOMAIN.attributes))
            if all(
                DOMAIN.hierarchy(a).lift(0, first[a])[code] == held[a]
                for a, code in zip(DOMAIN.attributes, cell)
                if a in first
            )
        ]
        pieces.append([tuple((c, n) for c, n in zip(cells, split) if n) for split in splits(rows, len(cells))])
    wanted = [shown(truth, margin) for margin in others]
    for chosen in product(*pieces):
        world = tuple(cell for piece in chosen for cell in piece)
        if all(shown(world, margin) == target for margin, target in zip(others, wanted)):
            yield world


@dataclass(frozen=True)
class Judged:
    """A world as the publisher judges the step in it. blamed: classes that hold too few rows or values; by claim."""

    world: World
    weight: Fraction
    broken: tuple[Claim, ...]
    blamed: dict[Claim, set[tuple[int, ...]]]


def judge(
    worlds: Iterator[World], margins: Sequence[dict[str, int]], claims: Sequence[Claim], step: Refinement
) -> list[Judged]:
    refined = [dict(m) | {step.attribute: step.finer} if m == dict(step.margin) else m for m in margins]
    finer = {**step.margin, step.attribute: step.finer}
    judged = []
    broken_by: dict[tuple[frozenset[tuple[tuple[int, ...], int]], ...], tuple[Claim, ...]] = {}
    for world in worlds:
        tables = tuple(frozenset(shown(world, margin).items()) for margin in refined)
        if tables not in broken_by:  # what is claimed of a release is claimed of its tables, which many worlds share
            collection = Collection.of(cube_of(world), map(DOMAIN.mask, refined))
            broken_by[tables] = tuple(claim for claim in claims if not claim.check(Question(collection, ["s"])).holds)
        broken = broken_by[tables]
        blamed: dict[Claim, set[tuple[int, ...]]] = {}
        public = {a: level for a, level in finer.items() if a != "s"}
        for codes, rows in shown(world, public).items():
            up = tuple(int(DOMAIN.hierarchy(a).lift(public[a], step.margin[a])[code]) for a, code in zip(public, codes))
            for claim in claims:
                if isinstance(claim, MaxentDiversity):
                    if "s" not in finer:
                        continue
                    held = shown(world, public | {"s": 0})
                    vector = np.array([[held[(*codes, s)] for s in range(3)]])
                    bad = not satisfies(claim.diversity, vector)[0]
                else:
                    bad = rows < claim.k
                if bad:
                    blamed.setdefault(claim, set()).add(up)
        weight = Fraction(1, prod(factorial(rows) for _, rows in world))
        judged.append(Judged(world, weight, broken, blamed))
    return judged


def truth_of(seed: int, margins: Sequence[dict[str, int]], claims: Sequence[Claim]) -> World:
    """A small table of few classes on which the claims hold."""
    rng = np.random.default_rng(seed)
    while True:
        kinds = [(z, a) for z in rng.integers(0, 4, 2) for a in rng.integers(0, 2, 1)]
        rows = [(*kinds[rng.integers(2)], rng.integers(3)) for _ in range(rng.integers(3, 6))]
        world = tuple(sorted(Counter((int(z), int(s), int(a)) for z, a, s in rows).items()))
        collection = Collection.of(cube_of(world), map(DOMAIN.mask, margins))
        if all(claim.check(Question(collection, ["s"])).holds for claim in claims):
            return world


def step_of(
    truth: World, margins: Sequence[dict[str, int]], claims: Sequence[Claim], known: bool = False
) -> tuple[Collection, Refinement]:
    collection = Collection.of(cube_of(truth), map(DOMAIN.mask, margins))

    def exactly(margin: Mapping[str, int]) -> MarginBounds:
        counts = np.zeros([DOMAIN.hierarchy(a).size(level) for a, level in margin.items()], dtype=np.int64)
        for codes, rows in shown(truth, margin).items():
            counts[codes] = rows
        return MarginBounds(counts, counts, True)

    sizes = exactly if known else FrechetBounds.of(collection).of_margin
    (step,) = refinements(collection, ["s"], claims, sizes)
    return collection, step


def assert_it_tells_what_all_worlds_say(
    collection: Collection, step: Refinement, claims: Sequence[Claim], judged: list[Judged]
) -> None:
    assert step.possible_claims is not None, step.note
    refused = [world for world in judged if world.broken]
    suspected = {suspect.claim for suspect in step.possible_claims}
    classes = collection.cube.table(DOMAIN.mask({a: level for a, level in step.margin.items() if a != "s"}))
    position = {
        tuple(int(classes.column(a, classes.margin[a])[i]) for a in step.margin if a != "s"): i
        for i in range(len(classes))
    }
    counting = [claim for claim in claims if not isinstance(claim, MaxentDiversity)]
    for world in refused:
        small = [claim for claim in world.blamed if claim in counting]
        # A minimum count comes first, and the strictest one stands for all.
        reasons = small or [claim for claim in world.blamed if claim not in counting]
        assert reasons, "what no class of the margin is to blame for cannot be told"
        if small:
            assert any(claim in suspected for claim in counting)
        else:
            assert set(reasons) <= suspected
        for suspect in step.possible_claims:
            if suspect.claim in reasons:
                assert {position[c] for c in world.blamed[suspect.claim]} <= set(suspect.candidate_classes)
    if not step.possible_claims:
        assert not refused
    if step.acceptance_probability is not None:
        every = sum(world.weight for world in judged)
        passing = sum(world.weight for world in judged if not world.broken)
        assert step.acceptance_probability == pytest.approx(float(passing / every), abs=1e-9)
    if step.candidate_class is not None:
        (alone,) = {
            candidate_class for suspect in step.possible_claims for candidate_class in suspect.candidate_classes
        }
        assert classes.labels(alone) == step.candidate_class


@pytest.mark.slow
@pytest.mark.parametrize("claims", CLAIMS, ids=lambda claims: ", ".join(str(claim.as_json()) for claim in claims))
@pytest.mark.parametrize("published", sorted(set(PUBLISHED) - {"finer counts known"}))
@given(seed=st.integers(0, 2**32))
@settings(max_examples=4)
def test_holders_conclude_what_all_possible_worlds_say(published: str, claims: list[Claim], seed: int) -> None:
    margins = PUBLISHED[published]
    truth = truth_of(seed, margins, claims)
    collection, step = step_of(truth, margins, claims)
    judged = judge(possible_worlds(margins, truth), margins, claims, step)
    assert_it_tells_what_all_worlds_say(collection, step, claims, judged)
    if published == "one" and step.possible_claims is not None:
        # Nothing bounds the finer counts, so every suspect is one in some world, in each of its candidate_classes.
        for suspect in step.possible_claims:
            blamed = set()
            for world in judged:
                small = any(claim in world.blamed for claim in claims if not isinstance(claim, MaxentDiversity))
                if not (isinstance(suspect.claim, MaxentDiversity) and small):
                    blamed |= world.blamed.get(suspect.claim, set())
            assert len(blamed) == len(suspect.candidate_classes)


def assert_the_shift(step: Refinement, judged: list[Judged]) -> None:
    """Of all parts of classes the one whose distribution changes most when the refused worlds alone are left."""
    refused = [world for world in judged if world.broken]
    public = {a: level for a, level in {**step.margin, step.attribute: step.finer}.items() if a != "s"}

    def shares(worlds: list[Judged], codes: tuple[int, ...]) -> list[float]:
        sums = [sum(w.weight * shown(w.world, public | {"s": 0})[(*codes, s)] for w in worlds) for s in range(3)]
        return [float(n / sum(sums)) for n in sums]

    if not refused:
        assert step.possible_claims == ()
        return
    changes = {}
    for codes in shown(judged[0].world, public):
        before, after = shares(judged, codes), shares(refused, codes)
        changes[codes] = sum(abs(a - b) for a, b in zip(after, before)) / 2, before, after
    if step.largest_posterior_change is None:
        assert not step.possible_claims or step.acceptance_probability == 0
        assert max(change[0] for change in changes.values()) == pytest.approx(0)
        return
    assert step.acceptance_probability is not None
    assert step.largest_posterior_change.distance <= step.acceptance_probability + 1e-12
    assert step.largest_posterior_change.distance == pytest.approx(max(change[0] for change in changes.values()))
    codes = tuple(
        DOMAIN.hierarchy(a).labels[level].index(step.largest_posterior_change.cell[a]) for a, level in public.items()
    )
    distance, before, after = changes[codes]
    value = DOMAIN.hierarchy("s").labels[0].index(step.largest_posterior_change.value)
    assert distance == pytest.approx(step.largest_posterior_change.distance)
    assert (before[value], after[value]) == pytest.approx(
        (step.largest_posterior_change.before, step.largest_posterior_change.after)
    )


@pytest.mark.parametrize("claims", CLAIMS[2:], ids=lambda claims: ", ".join(str(claim.as_json()) for claim in claims))
@given(seed=st.integers(0, 2**32))
@settings(max_examples=4)
def test_published_finer_counts_make_it_wongs_attack(claims: list[Claim], seed: int) -> None:
    """Another marginal shows the finer counts, so the sensitive values alone are open; beliefs are those of all worlds."""
    margins = PUBLISHED["finer counts known"]
    truth = truth_of(seed, margins, claims)
    collection, step = step_of(truth, margins, claims)
    judged = judge(possible_worlds(margins[::-1], truth), margins, claims, step)
    assert_it_tells_what_all_worlds_say(collection, step, claims, judged)
    assert step.acceptance_probability is not None
    assert_the_shift(step, judged)


@pytest.mark.parametrize("claims", CLAIMS, ids=lambda claims: ", ".join(str(claim.as_json()) for claim in claims))
@given(seed=st.integers(0, 2**32))
@settings(max_examples=4)
def test_insiders_conclude_what_the_worlds_with_their_people_say(claims: list[Claim], seed: int) -> None:
    margins = PUBLISHED["one"]
    truth = truth_of(seed, margins, claims)
    collection, step = step_of(truth, margins, claims, known=True)
    people = shown(truth, {"z": 0, "a": 0})
    worlds = (world for world in possible_worlds(margins, truth) if shown(world, {"z": 0, "a": 0}) == people)
    judged = judge(worlds, margins, claims, step)
    assert_it_tells_what_all_worlds_say(collection, step, claims, judged)
    assert step.acceptance_probability is not None
    assert_the_shift(step, judged)


def test_what_was_generalized_tells_who_has_the_same_value() -> None:
    """The attack of Wong et al. in small. Two have q1 and five q2; a table by q was refused by distinct 2-diversity.

    Five who share at most three of a value cannot be alike, so the two are: of the 1 + 1 + 3 pairs of rows with the same
    value, out of 21 pairs, three have c.
    """
    domain = Domain.of({"q": Hierarchy.from_rows([("q1", "Q", "*"), ("q2", "Q", "*")]), "s": Hierarchy.flat("abc")})
    codes = {"q": np.array([0, 1, 1]), "s": np.array([0, 1, 2])}
    table = ContingencyTable.from_cells(domain, {"q": 0, "s": 0}, codes, np.array([2, 2, 3]))
    collection = Collection.of(DataCube([table]), [domain.mask({"q": 1, "s": 0})])
    claims = [MaxentDiversity(parse_diversity("distinct:2"), "s")]
    counts = np.array([2, 5])
    (step,) = refinements(collection, ["s"], claims, lambda _: MarginBounds(counts, counts, True))
    assert [suspect.claim for suspect in step.possible_claims or ()] == claims
    assert step.candidate_class == {"q": "Q"}
    assert step.acceptance_probability == pytest.approx(16 / 21)
    assert step.largest_posterior_change is not None
    assert step.largest_posterior_change.cell == {"q": "q1"}
    assert step.largest_posterior_change.value == "c"
    assert (step.largest_posterior_change.before, step.largest_posterior_change.after) == (
        pytest.approx(3 / 7),
        pytest.approx(3 / 5),
    )
    assert step.largest_posterior_change.distance == pytest.approx(3 / 5 - 3 / 7)


def test_many_rows_and_many_worlds_are_bounded_work() -> None:
    domain = Domain.of(
        {"q": Hierarchy.from_rows([("q1", "Q", "*"), ("q2", "Q", "*")]), "s": Hierarchy.flat(map(str, range(14)))}
    )
    codes = {"q": np.repeat([0, 1], 14), "s": np.tile(np.arange(14), 2)}
    table = ContingencyTable.from_cells(domain, {"q": 0, "s": 0}, codes, np.full(28, 50))
    collection = Collection.of(DataCube([table]), [domain.mask({"q": 1, "s": 0})])
    claims = [MaxentDiversity(parse_diversity("entropy:10"), "s")]
    counts = np.array([700, 700])
    (step,) = refinements(collection, ["s"], claims, lambda _: MarginBounds(counts, counts, True))
    assert step.candidate_classes == 1
    assert (step.acceptance_probability, step.largest_posterior_change) == (None, None)
    assert "too many" in step.note
    (step,) = refinements(collection, ["s"], [KLink(5)], FrechetBounds.of(collection).of_margin)
    assert step.acceptance_probability == pytest.approx(1)


def test_what_cannot_be_told_says_why() -> None:
    world: World = (((0, 0, 0), 4), ((1, 1, 1), 4), ((3, 2, 0), 4))
    claims: list[Claim] = [KLink(2), MaxentDiversity(parse_diversity("distinct:1"), "s")]
    cube = cube_of(world)
    two = Collection.of(cube, map(DOMAIN.mask, [{"z": 1, "s": 0}, {"s": 0, "a": 0}]))
    (step,) = refinements(two, ["s"], claims, FrechetBounds.of(two).of_margin)
    assert step.possible_claims is None
    assert step.candidate_classes is None
    assert "several margins" in step.note
    functional = [MaxentDiversity(parse_diversity("functional:9/10,2"), "s")]
    one = Collection.of(cube, [DOMAIN.mask({"z": 1, "s": 0})])
    (step,) = refinements(one, ["s"], functional, FrechetBounds.of(one).of_margin)
    assert "functional" in step.note
    loop = [{"z": 1, "s": 0}, {"s": 0, "a": 0}, {"a": 0, "z": 0}]
    chain = Collection.of(cube, map(DOMAIN.mask, [*loop[:1], *loop[2:]]))
    steps = refinements(chain, [], [KLink(2)], FrechetBounds.of(chain).of_margin)
    assert [step.attribute for step in steps] == ["z"]
    assert "junction tree" not in steps[0].note
