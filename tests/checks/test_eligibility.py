"""What is eligible: a requirement that some generalization satisfies, and none beyond."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Functional, equivalence_classes
from checks.classes import eligibility, rounded_up, smallest_tau
from marginals import Table
from models import ContingencyTable, Domain, Hierarchy
from recoding_oracles import tables
from strategies import coarser_margins


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any), st.integers(2, 7))
def test_the_smallest_tau_is_the_one_at_which_the_verdict_turns(counts: list[int], l: int) -> None:
    """The exact verdict of the criterion holds at it, and just below it does not."""
    tau = smallest_tau(sorted(counts, reverse=True), l)
    for other in (tau - Fraction(1, 10**9), tau, tau + Fraction(1, 10**9)):
        if 0 < other < 1:
            assert Functional(other, l).decide(counts) == (other >= tau)
    if tau == 1:
        assert not Functional(Fraction(999, 1000), l).decide(counts)


@given(tables(), st.data())
def test_no_generalization_has_a_smaller_tau(people: Table, data: st.DataObject) -> None:
    table, secret = people.base_counts, people.sensitive[0]
    margin = dict(data.draw(coarser_margins(table.domain, table.margin))) | {secret: 0}
    found = eligibility(table, table, [secret], {})[secret]
    classes = equivalence_classes(table.rolled_up(margin), secret).counts
    for l, least in enumerate(found.tau, 2):
        assert max(smallest_tau(sorted(map(int, counts), reverse=True), l) for counts in classes) >= least
    assert len(found.tau) == found.values - 1


def partitions(rows: list[int]) -> Iterator[list[list[int]]]:
    """All ways to put some rows into classes, which is more than quasi-identifiers and their generalizations allow."""
    if not rows:
        yield []
        return
    for size in range(len(rows)):
        for others in combinations(rows[1:], size):
            left = [row for row in rows[1:] if row not in others]
            yield from ([[rows[0], *others], *rest] for rest in partitions(left))


@pytest.mark.slow
@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=6))
def test_no_way_to_put_rows_into_classes_satisfies_more(diseases: list[str]) -> None:
    """Brute force over all partitions of the rows; one of them, all rows together, satisfies what is told."""
    values = sorted(set(diseases))
    domain = Domain.of({"row": Hierarchy.flat(map(str, range(len(diseases)))), "disease": Hierarchy.flat(values)})
    codes = {"row": np.arange(len(diseases)), "disease": np.array([values.index(one) for one in diseases])}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ones(len(diseases), dtype=np.int64))
    found = eligibility(table, table, ["disease"], {})["disease"]
    tau = [Fraction(1)] * len(found.tau)
    distinct, simple, entropy = 0, Fraction(0), 0.0
    for classes in partitions(list(range(len(diseases)))):
        held = [sorted(Counter(diseases[row] for row in rows).values(), reverse=True) for rows in classes]
        reached = [max(smallest_tau(counts, l) for counts in held) for l in range(2, len(values) + 1)]
        tau = [min(pair) for pair in zip(tau, reached)]
        distinct = max(distinct, min(map(len, held)))
        simple = max(simple, min(Fraction(sum(counts), counts[0]) for counts in held))
        shares = [[count / sum(counts) for count in counts] for counts in held]
        entropy = max(entropy, min(exp(-sum(p * log(p) for p in own)) for own in shares))
    assert list(found.tau) == tau
    assert found.reached.distinct == distinct
    assert found.reached.simple == pytest.approx(float(simple))
    assert found.reached.entropy == pytest.approx(entropy)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=6))
def test_with_generalized_values_the_smallest_tau_is_that_of_equal_shares(counts: list[int]) -> None:
    """All values generalized to `*` stand for all that occur alike; a smaller share of the largest is impossible."""
    number = len(counts)
    domain = Domain.of({"disease": Hierarchy.flat(map(str, range(number)))})
    table = ContingencyTable.from_cells(domain, {"disease": 0}, {"disease": np.arange(number)}, np.array(counts))
    found = eligibility(table, table, ["disease"], {})["disease"]
    assert found.generalized == Fraction(1, number)
    for l in range(2, number + 1):
        assert Functional(found.generalized, l).decide([1] * number)
        assert not Functional(found.generalized - Fraction(1, 10**6), l).decide([1] * number)
        assert found.generalized <= found.tau[l - 2]


@pytest.mark.slow
@given(tables(), st.fractions(0, 1, max_denominator=9).filter(lambda tau: 0 < tau < 1), st.integers(2, 4))
def test_the_excess_that_is_told_is_that_of_the_class_nearest_to_the_line(people: Table, tau: Fraction, l: int) -> None:
    """TZ09 Def. 8, summed by hand over the values of each class; None where a class lies above the line."""
    table, secret = people.base_counts, people.sensitive[0]
    requirement = Functional(tau, l)
    told = eligibility(table, table, [secret], {secret: [requirement]})[secret].excess[str(requirement)]
    distances, is_met = [], True
    for counts in equivalence_classes(table, secret).counts.tolist():
        held, distance = Fraction(0), Fraction(0)
        for k, count in enumerate(sorted(counts, reverse=True), 1):
            held += Fraction(count, sum(counts))
            psi = min(tau + (1 - tau) * Fraction(k - 1, l - 1), Fraction(1))
            is_met &= held <= psi
            distance += abs(psi - held)
        distances.append(distance)
    assert told == (pytest.approx(float(min(distances))) if is_met else None)


def test_the_patients_of_tz09_and_their_excess() -> None:
    """TZ09 Fig. 1 (a): half of 12 patients have hepatitis, a third phthisis, of the others one each."""
    diseases = ["hepatitis"] * 6 + ["phthisis"] * 4 + ["anemia", "flu"]
    domain = Domain.of(
        {"patient": Hierarchy.flat(map(str, range(12))), "disease": Hierarchy.flat(sorted(set(diseases)))}
    )
    codes = {"patient": np.arange(12), "disease": np.unique(diseases, return_inverse=True)[1]}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ones(12, dtype=np.int64))
    half, most = Functional(Fraction(1, 2), 3), Functional(Fraction(2, 5), 3)
    whole = table.rolled_up({"disease": 0})
    found = eligibility(whole, table, ["disease"], {"disease": [half, most]})["disease"]
    # F = 6/12, 10/12, 11/12: at l = 3 the second binds, (10/12 - 1/2) / (1/2) = 2/3; at l = 4 (11/12 - 2/3) * 3 = 3/4.
    assert found.tau == (Fraction(1, 2), Fraction(2, 3), Fraction(3, 4))
    assert (found.values, found.generalized) == (4, Fraction(1, 4))
    assert found.excess == {"functional:0.5,3": None, "functional:0.4,3": None}
    loose = Functional(Fraction(7, 10), 3)
    excess = eligibility(whole, table, ["disease"], {"disease": [loose]})["disease"].excess["functional:0.7,3"]
    # psi = 0.7, 0.85, 1, 1.
    assert excess == pytest.approx(np.abs(np.array([0.7, 0.85, 1, 1]) - np.array([6, 10, 11, 12]) / 12).sum())
    assert found.as_json()["functional_tau"] == {"2": 0.5, "3": rounded_up(Fraction(2, 3)), "4": 0.75}


def test_a_tau_that_is_told_can_be_asked_for() -> None:
    assert rounded_up(Fraction(1, 3)) == 0.333334
    assert rounded_up(Fraction(1, 4)) == 0.25
