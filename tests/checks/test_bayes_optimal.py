"""Bayes-optimal privacy: beliefs are those of counting random worlds, and merging classes can break it."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from math import isclose

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import CriterionError
from checks.classes import (
    bayes_optimal,
    breach,
    negative_disclosure,
    positive_disclosure,
    posterior_belief,
    prior_belief,
)
from models import ContingencyTable, ContradictionError, Domain, Hierarchy
from privacy_strategies import dense_tables
from strategies import hierarchies

DOMAIN = Domain.of({"q": Hierarchy.flat(["q1", "q2"]), "s": Hierarchy.flat(["s1", "s2"])})

RHO = Fraction("0.31"), Fraction("0.58")


def table_of(domain: Domain, rows: Sequence[Sequence[int]]) -> ContingencyTable:
    """A table over q and s with these counts."""
    codes = dict(zip("qs", np.indices(np.shape(rows)).reshape(2, -1)))
    return ContingencyTable.from_cells(domain, {"q": 0, "s": 0}, codes, np.ravel(rows))


POPULATION = table_of(DOMAIN, [[15, 35], [25, 25]])
TABLE = table_of(DOMAIN, [[1, 1], [35, 15]])
"""MKGV07 Fig. 5: f(q, s) in percent, and n(q, s)."""


def test_the_beliefs_of_the_counterexample() -> None:
    """MKGV07 Theorem 5.1, Figs. 5 and 6."""
    population, rows = np.array([[0.15, 0.35], [0.25, 0.25]]), np.array([[1, 1], [35, 15]])
    np.testing.assert_allclose(prior_belief(population), [[0.3, 0.7], [0.5, 0.5]])
    np.testing.assert_allclose(posterior_belief(rows, population, population), [[0.5, 0.5], [0.7, 0.3]])
    merged = posterior_belief(np.array([[36, 16]] * 2), population, np.array([[0.4, 0.6]] * 2))
    assert merged[0, 0] > 0.59


def test_merging_two_private_classes_need_not_be_private() -> None:
    """MKGV07 Theorem 5.1: no breach before, one after generalizing q1 and q2 to q*."""
    before = bayes_optimal(TABLE, POPULATION, "s", {"q": 0}, *RHO)
    after = bayes_optimal(TABLE, POPULATION, "s", {"q": 1}, *RHO)
    assert before.holds
    assert not after.holds
    assert after.worst is not None
    assert (after.worst.cell, after.worst.value) == ({"q": "q1"}, "s1")
    assert after.worst.prior == pytest.approx(0.3)
    assert after.worst.posterior == pytest.approx(13.5 / (13.5 + 16 * 0.35 / 0.6))
    assert after.examined == 4


def arrangements(people: Sequence[tuple[int, Sequence[int]]]) -> Iterator[list[tuple[int, int]]]:
    """Every way to give sensitive values to the individuals of a population (psi of MKGV07 Theorem 3.1)."""
    groups = [sorted(set(permutations([s for s, n in enumerate(counts) for _ in range(n)]))) for _, counts in people]
    for chosen in product(*groups):
        yield [(q, s) for (q, _), values in zip(people, chosen) for s in values]


def counted_belief(people: list[tuple[int, list[int]]], published: list[int], bob: int) -> list[Fraction] | None:
    """Share of the random worlds compatible with one published class in which an individual has each value.

    people: for each q of the population its counts by sensitive value; all of them generalize to the class.
    """
    worlds = [0] * len(published)
    for world in arrangements(people):
        for sample in combinations(range(len(world)), sum(published)):
            shown = [world[individual][1] for individual in sample]
            if bob in sample and [shown.count(s) for s in range(len(published))] == published:
                worlds[world[bob][1]] += 1
    return [Fraction(n, sum(worlds)) for n in worlds] if any(worlds) else None


@given(st.data())
def test_the_posterior_belief_is_the_share_of_random_worlds(data: st.DataObject) -> None:
    """MKGV07 Theorem 3.1."""
    counts = st.lists(st.integers(0, 2), min_size=2, max_size=2).filter(any)
    alike, others = data.draw(counts), data.draw(counts)
    in_class = [a + b for a, b in zip(alike, others)]
    published = [data.draw(st.integers(0, n)) for n in in_class]
    belief = counted_belief([(0, alike), (1, others)], published, bob=0)
    arrays = [np.array([row]) for row in (published, alike, in_class)]
    if belief is None:
        with pytest.raises(ContradictionError):
            posterior_belief(*arrays)
    else:
        np.testing.assert_allclose(posterior_belief(*arrays), [[float(share) for share in belief]])


@given(st.data())
def test_scales_of_the_population_do_not_matter(data: st.DataObject) -> None:
    """f(s | q) will do for f(q, s)."""
    row = st.lists(st.integers(1, 9), min_size=3, max_size=3).map(lambda drawn: np.array([drawn]))
    published, alike, others = (data.draw(row) for _ in range(3))
    in_class = alike + others
    shares = posterior_belief(published, prior_belief(alike), prior_belief(in_class))
    np.testing.assert_allclose(posterior_belief(published, alike, in_class), shares)


def test_where_values_do_not_depend_on_the_person_the_class_says_it_all() -> None:
    """MKGV07 section 3.1, the special case: beta is the share in the class."""
    alike = np.array([[2, 3, 5], [4, 6, 10]])
    published = np.array([[1, 2, 5], [1, 2, 5]])
    np.testing.assert_allclose(posterior_belief(published, alike, alike.sum(axis=0) * [[1], [1]]), published / 8)


def exact_breach(
    table: ContingencyTable, population: ContingencyTable, level: int, rho: tuple[Fraction, Fraction]
) -> bool:
    """MKGV07 Theorem 3.1 and Def. 3.3 in fractions, read off the rows."""
    hierarchy = table.domain.hierarchy("q")
    parent = {row[0]: row[level] for row in hierarchy.rows()}
    values = table.domain.hierarchy("s").labels[0]
    f, n = dict(population.cells()), dict(table.cells())
    order = table.attributes

    def count(of: dict[tuple[str, ...], int], keep: str, s: str, merged: bool) -> int:
        return sum(
            number
            for labels, number in of.items()
            for cell in [dict(zip(order, labels))]
            if cell["s"] == s and (parent[cell["q"]] == parent[keep] if merged else cell["q"] == keep)
        )

    for q in {dict(zip(order, labels))["q"] for labels in n}:
        alike = [count(f, q, s, merged=False) for s in values]
        weights = [
            Fraction(count(n, q, s, merged=True) * a, count(f, q, s, merged=True) or 1) for a, s in zip(alike, values)
        ]
        for a, w in zip(alike, weights):
            prior, posterior = Fraction(a, sum(alike)), w / sum(weights)
            if prior < rho[0] and posterior > rho[1]:
                return True
            if prior > 1 - rho[0] and posterior < 1 - rho[1]:
                return True
    return False


@given(st.data())
def test_the_verdict_is_exact(data: st.DataObject) -> None:
    """On tables whose beliefs often lie on rho_1 or rho_2 themselves."""
    domain = Domain.of({"q": data.draw(hierarchies(3)), "s": data.draw(hierarchies(3))})
    table = data.draw(dense_tables(domain))
    more = data.draw(dense_tables(domain))
    codes = {a: np.concatenate((table.column(a, 0), more.column(a, 0))) for a in domain.attributes}
    population = ContingencyTable.from_cells(domain, table.margin, codes, np.concatenate((table.counts, more.counts)))
    level = data.draw(st.integers(0, domain.hierarchy("q").height))
    share = st.sampled_from([Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(3, 4)])
    rho = tuple(sorted(data.draw(st.lists(share, min_size=2, max_size=2, unique=True))))
    finding = bayes_optimal(table, population, "s", {"q": level}, *rho)
    assert finding.holds is not exact_breach(table, population, level, rho)
    assert finding.worst is not None
    found = breach(*(np.array([[getattr(finding.worst, name)]]) for name in ("prior", "posterior")), *rho)
    on_the_boundary = any(
        isclose(getattr(finding.worst, name), value, abs_tol=1e-9)
        for name in ("prior", "posterior")
        for rho_i in rho
        for value in (float(rho_i), 1 - float(rho_i))
    )
    assert on_the_boundary or bool(found) is not finding.holds


def test_a_belief_on_the_bound_is_no_breach() -> None:
    """A posterior of 1/3 is not below 1 - 2/3, though in floating point it is."""
    table, population = table_of(DOMAIN, [[1, 2], [1, 2]]), table_of(DOMAIN, [[9, 3], [9, 3]])
    half, bound = Fraction(1, 2), Fraction(2, 3)
    assert breach(np.array([[0.75]]), np.array([[1 / 3]]), half, bound).all()
    assert bayes_optimal(table, population, "s", {"q": 0}, half, bound).holds
    assert not bayes_optimal(table, population, "s", {"q": 0}, half, bound - Fraction(1, 10**15)).holds


def test_disclosures_are_where_beliefs_are_sure_and_right() -> None:
    """MKGV07 Defs. 3.1 and 3.2: somebody has the value, or somebody has another."""
    posterior = np.array([[0.96, 0.04], [0.96, 0.04], [1.0, 0.0]])
    rows = np.array([[3, 1], [0, 2], [5, 0]])
    assert positive_disclosure(posterior, rows, 0.05).tolist() == [[True, False], [False, False], [True, False]]
    assert negative_disclosure(posterior, rows, 0.05).tolist() == [[False, True], [False, False], [False, True]]


def test_a_belief_may_also_fall_too_far() -> None:
    """MKGV07 Def. 3.3, the second half."""
    prior, posterior = np.array([[0.8, 0.2]]), np.array([[0.3, 0.7]])
    assert breach(prior, posterior, Fraction("0.3"), Fraction("0.6")).tolist() == [[True, True]]
    assert breach(prior, posterior, Fraction("0.3"), Fraction("0.75")).tolist() == [[False, False]]


@pytest.mark.parametrize("rho", [("0", "0.5"), ("0.5", "0.5"), ("0.6", "0.5"), ("0.5", "1")])
def test_bounds_that_make_no_sense_are_refused(rho: tuple[str, str]) -> None:
    with pytest.raises(CriterionError):
        bayes_optimal(TABLE, POPULATION, "s", {"q": 0}, Fraction(rho[0]), Fraction(rho[1]))


@pytest.mark.parametrize("population", [[[0, 0], [25, 25]], [[15, 0], [25, 25]], [[15, 0], [25, 0]]])
def test_a_population_that_the_table_is_no_sample_of_is_refused(population: list[list[int]]) -> None:
    with pytest.raises(ContradictionError):
        bayes_optimal(TABLE, table_of(DOMAIN, population), "s", {"q": 0}, *RHO)
