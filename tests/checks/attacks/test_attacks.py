"""Attacks against brute force on small releases, and one release whose classes tell of each other."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from checks import equivalence_classes
from checks.attacks.knowledge import class_table, reconstruction, sensitive_levels, skewness, smallest_class
from checks.attacks.minimality import accuracy, base_rate, confident, definetti, published_groups
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, MarginalModel

# In no alphabetical order, so that an order taken for another one shows.
DOMAIN = Domain.of({"z": Hierarchy.flat("ab"), "s": Hierarchy.flat("xyw"), "a": Hierarchy.flat("pqr")})
CHAIN = [{"z": 0, "s": 0}, {"s": 0, "a": 0}]
TRIANGLE = [*CHAIN, {"a": 0, "z": 0}]


def cube_of(counts: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> DataCube:
    cells = dict(zip(DOMAIN.attributes, np.indices(counts.shape).reshape(3, -1)))
    table = ContingencyTable.from_cells(DOMAIN, dict.fromkeys(DOMAIN.attributes, 0), cells, counts.ravel())
    return DataCube([table])


def random_counts(seed: int, rows: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    rng = np.random.default_rng(seed)
    return rng.multinomial(rows, rng.dirichlet(np.full(18, 0.5))).reshape(2, 3, 3)


def model_of(cube: DataCube, margins: list[dict[str, int]]) -> MarginalModel:
    return MarginalModel(Collection.of(cube, map(DOMAIN.mask, margins)))


@pytest.mark.parametrize("seed", range(30))
def test_reconstruction_finds_the_cells_that_are_the_same_in_every_table(seed: int) -> None:
    """Against all 2 x 3 x 3 tables of a chain with few rows, slice by slice (each slice is free given the marginals)."""
    counts = random_counts(seed, 6)
    found = reconstruction(model_of(cube_of(counts), CHAIN).frechet_bounds, {"a": 0, "z": 0, "s": 0})
    cells = determined = rows = 0
    for slice_ in np.moveaxis(counts, 1, 0):
        target = (tuple(slice_.sum(axis=0)), tuple(slice_.sum(axis=1)))
        tables = [
            np.array([first, np.subtract(target[0], first)])
            for first in product(*(range(n + 1) for n in target[0]))
            if sum(first) == target[1][0]
        ]
        low, high = np.min(tables, axis=0), np.max(tables, axis=0)
        cells += int((high > 0).sum())
        determined += int(((low == high) & (high > 0)).sum())
        rows += int(low[low == high].sum())
    assert (found.cells, found.determined, found.rows, found.total) == (cells, determined, rows, 6)
    assert found.sharp
    assert found.share == (determined / cells)


@pytest.mark.parametrize("seed", range(30))
def test_the_smallest_class_is_that_of_all_tables(seed: int) -> None:
    """The classes of a chain reach the sums of what their slices reach, since each slice is free given the marginals."""
    counts = random_counts(seed, 8)
    most = np.zeros((2, 3), dtype=np.int64)
    for slice_ in np.moveaxis(counts, 1, 0):
        across = slice_.sum(axis=0)
        firsts = (f for f in product(*(range(n + 1) for n in across)) if sum(f) == slice_[0].sum())
        most += np.max([np.array([first, across - first]) for first in firsts], axis=0)
    bounds = model_of(cube_of(counts), CHAIN).frechet_bounds
    assert smallest_class(bounds, {"a": 0, "z": 0, "s": 0}, ["s"]) == most[most > 0].min()


@pytest.mark.parametrize("seed", range(10))
def test_skewness_is_the_largest_distance_of_a_posterior(seed: int) -> None:
    counts = random_counts(seed, 40)
    model = model_of(cube_of(counts), CHAIN)
    classes = class_table(model, sensitive_levels(model, "s"))
    found = skewness(classes)
    by_z, by_a, overall = counts.sum(axis=2), counts.sum(axis=0), counts.sum(axis=(0, 2)).astype(float)
    distances = {}
    for z, a in product(range(2), range(3)):
        expected = by_z[z] * by_a[:, a] / np.where(overall > 0, overall, 1)
        if expected.sum():
            distances["ab"[z], "pqr"[a]] = abs(expected / expected.sum() - overall / 40).sum() / 2
    labels = classes.labels(found.position)
    assert found.distance == pytest.approx(max(distances.values()))
    assert distances[labels["z"], labels["a"]] == pytest.approx(found.distance)


def test_what_is_not_shown_with_the_sensitive_attribute_does_not_matter_in_a_decomposable_release() -> None:
    cube = cube_of(random_counts(0, 40))
    assert sensitive_levels(model_of(cube, [{"z": 0, "a": 0}, {"a": 0, "s": 0}]), "s") == {"a": 0, "s": 0}
    assert sensitive_levels(model_of(cube, TRIANGLE), "s") == {"z": 0, "a": 0, "s": 0}
    assert sensitive_levels(model_of(cube, [{"z": 0}]), "s") == {}


@pytest.mark.parametrize("seed", range(10))
def test_guesses_keep_every_published_count_and_every_person(seed: int) -> None:
    counts = random_counts(seed, 60)
    cube = cube_of(counts)
    people = equivalence_classes(cube.table(DOMAIN.mask({"z": 0, "s": 0, "a": 0})), "s")
    tables = Collection.of(cube, map(DOMAIN.mask, CHAIN)).tables
    for rounds in (0, 10):
        guess = definetti(people, published_groups(tables, people), rounds)
        assert guess.sum(axis=1) == pytest.approx(people.counts.sum(axis=1), abs=0.01)
        laid_out = np.zeros((2, 3, 3))
        codes = dict(zip(people.attributes, people.codes))
        np.add.at(laid_out, (codes["z"], slice(None), codes["a"]), guess)
        assert laid_out.sum(axis=2) == pytest.approx(counts.sum(axis=2), abs=0.01)
        assert laid_out.sum(axis=0) == pytest.approx(counts.sum(axis=0), abs=0.01)


def test_learning_across_classes_tells_more_than_maximum_entropy() -> None:
    """Wards have cancer as they have smokers; no marginal shows smoking with it. Only who learns sees the link.

    The example of Kifer's section 2 in small: of 10 people of a ward 2 or 8 smoke, and as many have cancer.
    """
    domain = Domain.of(
        {
            "ward": Hierarchy.flat(f"w{i}" for i in range(20)),
            "smoker": Hierarchy.flat(["no", "yes"]),
            "disease": Hierarchy.flat(["flu", "cancer"]),
        }
    )
    rows = Counter(
        (ward, smokes, smokes)
        for ward in range(20)
        for smokes in [0] * (8 - 6 * (ward % 2)) + [1] * (2 + 6 * (ward % 2))
    )
    # In every ward one smoker has flu and one of the others cancer.
    for ward in range(20):
        rows[ward, 1, 1] -= 1
        rows[ward, 1, 0] += 1
        rows[ward, 0, 0] -= 1
        rows[ward, 0, 1] += 1
    codes = dict(zip(domain.attributes, np.array(list(rows)).T))
    table = ContingencyTable.from_cells(
        domain, dict.fromkeys(domain.attributes, 0), codes, np.array(list(rows.values()))
    )
    people = equivalence_classes(table, "disease")
    groups = published_groups(
        [table.rolled_up({"ward": 0, "disease": 0}), table.rolled_up({"ward": 0, "smoker": 0})], people
    )
    assert len(groups) == 1, "a marginal without the disease says nothing new of people who are known"
    maxent, learned = definetti(people, groups, rounds=0), definetti(people, groups)
    assert base_rate(people) == pytest.approx(0.5)
    assert accuracy(maxent, people) == pytest.approx(0.8)
    smokers = np.array(people.codes[people.attributes.index("smoker")]) == 1
    posterior = learned / learned.sum(axis=1, keepdims=True)
    assert posterior[smokers, 1].mean() > (maxent / maxent.sum(axis=1, keepdims=True))[smokers, 1].mean() + 0.05
    assert accuracy(learned, people) >= 0.8 - 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_the_surest_guesses_are_right_as_often_as_picking_rows_one_by_one_says(seed: int) -> None:
    """On average over all orders of rows that are equally sure."""
    rng = np.random.default_rng(seed)
    cube = cube_of(random_counts(seed, 40))
    people = equivalence_classes(cube.table(DOMAIN.mask({"z": 0, "s": 0, "a": 0})), "s")
    guess = rng.integers(1, 4, people.counts.shape).astype(float)
    rows = []
    for own, held in zip(guess, people.counts):
        best = np.flatnonzero(own == own.max())
        right = held[best].sum() / len(best) / held.sum()
        rows += [(own.max() / own.sum(), right)] * int(held.sum())
    for number in (1, 7, 40, 1000):
        left, expected = number, 0.0
        for sure in sorted({round(sure, 9) for sure, _ in rows}, reverse=True):
            same = [right for other, right in rows if round(other, 9) == sure]
            taken = min(left, len(same))
            expected += taken * float(np.mean(same))
            left -= taken
        assert confident(guess, people, number) == pytest.approx(expected / min(number, len(rows)))
    assert confident(guess, people, 1000) == pytest.approx(accuracy(guess, people))
