"""One table by itself: classes, values reached, eligible ranges, attacks, and re-identification."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, groupby
from math import exp, inf, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import (
    Distinct,
    Diversity,
    DontCareEntropy,
    Entropy,
    EquivalenceClasses,
    Finding,
    Functional,
    Induction,
    Recursive,
    Simple,
    WorstClass,
    equivalence_classes,
)
from checks.classes import (
    AffectedClasses,
    assess,
    background_knowledge,
    eligibility,
    homogeneity,
    knowledge_needed,
    reached,
    rounded_up,
    smallest_tau,
    table_diversity,
    table_findings,
)
from checks.population import THRESHOLDS, delta_presence, estimated_risks, k_map, reidentification
from filled_tables import filled, flat_domain, of_labels
from marginals import Table
from models import ContingencyTable, Domain
from privacy_strategies import classes as rows_of_a_class
from privacy_strategies import dense_tables, diversities
from recoding_oracles import tables as people_tables
from strategies import coarser_margins, hierarchies

criteria: st.SearchStrategy[Diversity] = diversities(4) | st.one_of(
    st.builds(Functional, st.fractions(Fraction(1, 8), Fraction(7, 8), max_denominator=8), st.integers(2, 4)),
    st.builds(DontCareEntropy, st.fractions(1, 3, max_denominator=4), st.frozensets(st.integers(0, 3), max_size=2)),
)


@st.composite
def tables(draw: st.DrawFn, sensitive: Sequence[str]) -> ContingencyTable:
    """A well filled table over a, b and the sensitive attributes, rolled up at random but still showing these."""
    chosen = {"a": draw(hierarchies(3, 2)), "b": draw(hierarchies(2, 2))}
    chosen |= {name: draw(hierarchies(4, 2)) for name in sensitive}
    domain = Domain.of({name: chosen[name] for name in draw(st.permutations(list(chosen)))})
    base = draw(dense_tables(domain))
    margin = dict(draw(coarser_margins(domain, base.margin)))
    shown = {name: draw(st.integers(0, domain.hierarchy(name).height - 1)) for name in sensitive}
    return base.rolled_up(margin | shown)


def rows_by_class(table: ContingencyTable, sensitive: str) -> dict[tuple[str, ...], dict[str, int]]:
    """For each class, by the labels that its rows share, its rows by sensitive value."""
    at = table.attributes.index(sensitive)
    found: dict[tuple[str, ...], dict[str, int]] = {}
    for labels, count in table.cells():
        own = found.setdefault(labels[:at] + labels[at + 1 :], {})
        own[labels[at]] = own.get(labels[at], 0) + count
    return found


def vector(table: ContingencyTable, sensitive: str, own: dict[str, int]) -> list[int]:
    return [own.get(label, 0) for label in table.domain.hierarchy(sensitive).labels[table.margin[sensitive]]]


def is_a_class(finding: Finding, table: ContingencyTable, sensitive: str) -> list[int]:
    """The counts of the worst class, after checking that it is described as the table has it."""
    worst: Any = finding.worst_class
    own = rows_by_class(table, sensitive)[tuple(worst.cell[a] for a in table.attributes if a != sensitive)]
    assert worst.distribution == own
    assert worst.count == sum(own.values())
    assert worst.margin == {a: level for a, level in table.margin.items() if a != sensitive}
    return vector(table, sensitive, own)


@given(tables(["s"]), criteria)
def test_the_verdict_is_that_of_every_class(table: ContingencyTable, diversity: Diversity) -> None:
    finding = table_diversity(table, "s", diversity)
    if isinstance(diversity, Functional):
        induction = Induction.at_level(table.domain.hierarchy("s"), table.margin["s"])
        diversity = Functional(diversity.tau, diversity.l, induction)
    classes = [vector(table, "s", own) for own in rows_by_class(table, "s").values()]
    assert finding.holds is all(map(diversity.decide, classes))
    assert finding.examined == len(classes)
    assert finding.parameters == {"diversity": str(diversity), "sensitive": "s"}
    worst = is_a_class(finding, table, "s")
    assert diversity.decide(worst) is finding.holds
    slack = diversity.slack(np.array([worst, *classes]))
    assert finding.holds <= (slack[0] <= slack.min() + 1e-12)
    value = float(diversity.reached(np.array([worst]))[0])
    assert finding.worst_class.reached == value


@given(tables(["s", "t"]), diversities(3), st.integers(1, 3))
def test_each_sensitive_attribute_in_turn_the_others_joining_the_quasi_identifier(
    table: ContingencyTable, diversity: Diversity, k: int
) -> None:
    """MKGV07 Def. 4.6."""
    anonymity, *found = table_findings(table, ["s", "t"], [diversity], k)
    public = sorted(
        (tuple(label for a, label in zip(table.attributes, labels) if a in "ab"), n) for labels, n in table.cells()
    )
    sizes = [sum(n for _, n in rows) for _, rows in groupby(public, key=lambda row: row[0])]
    assert (anonymity.criterion, anonymity.holds) == ("k-anonymity", min(sizes) >= k)
    for attribute, finding in zip(("s", "t"), found):
        classes = [vector(table, attribute, own) for own in rows_by_class(table, attribute).values()]
        assert finding.holds is all(map(diversity.decide, classes))
        is_a_class(finding, table, attribute)


def test_diverse_in_each_attribute_alone_is_not_enough() -> None:
    """MKGV07 section 4.3: one piece of information about S gives away V."""
    table = of_labels(("q", "s", "v"), [("q*", "s1", "v1"), ("q*", "s1", "v2"), ("q*", "s2", "v3"), ("q*", "s3", "v3")])
    for attribute in ("s", "v"):
        alone = table.rolled_up({"q": 0, attribute: 0})
        assert table_diversity(alone, attribute, Distinct(3)).holds
    assert table_diversity(table.rolled_up({"q": 0, "s": 0}), "s", Recursive(Fraction(2), 3)).verdict.value == "fails"
    assert table_diversity(table.rolled_up({"q": 0, "s": 0}), "s", Recursive(Fraction(2), 2)).holds
    assert not any(finding.holds for finding in table_findings(table, ["s", "v"], [Distinct(2)]))


def test_a_tie_is_decided_exactly_and_a_failing_class_is_the_worst() -> None:
    """Both classes are entropy 4-diverse but for 10^-15, which floats do not see."""
    rows = [("x", str(v)) for v in (1, 2, 3, 4, 5, 5, 5, 5)] + [("y", str(v)) for v in range(1, 6)]
    table = of_labels(("q", "s"), rows)
    finding = table_diversity(table, "s", Entropy(Fraction(4)))
    assert finding.holds
    assert finding.worst_class.cell == {"q": "x"}
    beyond = table_diversity(table, "s", Entropy(Fraction(4) + Fraction(1, 10**15)))
    assert not beyond.holds
    assert beyond.worst_class.cell == {"q": "x"}


@given(
    st.integers(1, 5).flatmap(
        lambda m: st.lists(st.lists(st.integers(0, 9), min_size=m, max_size=m).filter(any), min_size=1)
    )
)
def test_what_classes_reach_together(rows: list[list[int]]) -> None:
    found = reached(np.array(rows))
    ordered = [sorted(row, reverse=True) for row in rows]
    assert found.distinct == min(sum(n > 0 for n in row) for row in rows)
    assert found.simple == pytest.approx(min(sum(row) / max(row) for row in rows))
    entropies = [-sum(n / sum(row) * log(n / sum(row)) for n in row if n) for row in rows]
    assert found.entropy == pytest.approx(exp(min(entropies)))
    for l in range(2, len(rows[0]) + 3):
        tails = [(row[0], sum(row[l - 1 :])) for row in ordered]
        assert found.smallest_c(l) == max(head / tail if tail else inf for head, tail in tails)
    assert found.smallest_c(1) == 0
    assert list(found.as_json()["recursive_c"]) == list(range(2, len(rows[0]) + 1))
    for c in (Fraction(1, 2), Fraction(1), Fraction(5, 2)):
        for l in range(2, len(rows[0]) + 1):
            assert (found.smallest_c(l) < c) == all(Recursive(c, l).decide(row) for row in rows)


@given(tables(["s", "t"]), st.fractions(Fraction(1, 2), 1, max_denominator=20))
def test_the_assessment_counts_classes_and_rows(table: ContingencyTable, share: Fraction) -> None:
    found = assess(table, ["s", "t"], share)
    public: dict[tuple[str, ...], list[tuple[dict[str, str], int]]] = {}
    for labels, count in table.cells():
        named = dict(zip(table.attributes, labels))
        public.setdefault(tuple(named[a] for a in table.attributes if a in "ab"), []).append((named, count))
    sizes = [sum(count for _, count in rows) for rows in public.values()]
    assert (found.rows, found.classes, found.k_anonymity) == (table.total, len(sizes), min(sizes))
    for least, tally in ((Fraction(1), found.homogeneous), (share, found.nearly_homogeneous)):
        affected = [
            size
            for rows, size in zip(public.values(), sizes)
            if any(
                sum(count for named, count in rows if named[a] == value) >= least * size
                for a in ("s", "t")
                for value in {named[a] for named, _ in rows}
            )
        ]
        assert tally == AffectedClasses(len(affected), sum(affected))
    for attribute in ("s", "t"):
        classes = [vector(table, attribute, own) for own in rows_by_class(table, attribute).values()]
        assert found.diversity[attribute] == reached(np.array(classes))
        simple = Simple(Fraction(found.diversity[attribute].simple).limit_denominator(1000))
        assert table_diversity(table, attribute, simple).holds


def test_a_table_without_rows_or_without_a_sensitive_attribute() -> None:
    empty = filled(flat_domain(q="xy", s="12"), [0] * 4)
    finding = table_diversity(empty, "s", Distinct(2))
    assert finding.holds
    assert finding.worst is None
    assert assess(empty, ["s"]).diversity == {}
    assert assess(empty, ["s"]).k_anonymity == 0
    nothing_secret = assess(filled(flat_domain(q="xy", s="12"), [1, 2, 0, 3]), [])
    assert (nothing_secret.classes, nothing_secret.homogeneous) == (3, AffectedClasses(0, 0))


@pytest.mark.data
def test_occupation_on_adult(shared_data: Path) -> None:
    """MKGV07 section 6: entropy 10.57-diverse, and no generalization is recursive (3, 12)-diverse."""
    with (shared_data / "adult" / "adult.csv").open(newline="") as file:
        table = of_labels(("sex", "occupation"), [(row["sex"], row["occupation"]) for row in csv.DictReader(file)])
    found = eligibility(table, table, ["occupation"], {})["occupation"].reached
    assert found.distinct == 14
    assert found.entropy == pytest.approx(10.57, abs=0.005)
    assert found.smallest_c(11) < 3 <= found.smallest_c(12)
    suppressed = table.rolled_up({"occupation": 0})
    assert not table_diversity(suppressed, "occupation", Recursive(Fraction(3), 12)).holds
    assert table_diversity(suppressed, "occupation", Recursive(Fraction(3), 11)).holds


# What is eligible: a requirement that some generalization satisfies, and none beyond.


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any), st.integers(2, 7))
def test_the_smallest_tau_is_the_one_at_which_the_verdict_turns(counts: list[int], l: int) -> None:
    """The exact verdict of the criterion holds at it, and just below it does not."""
    tau = smallest_tau(sorted(counts, reverse=True), l)
    for other in (tau - Fraction(1, 10**9), tau, tau + Fraction(1, 10**9)):
        if 0 < other < 1:
            assert Functional(other, l).decide(counts) == (other >= tau)
    if tau == 1:
        assert not Functional(Fraction(999, 1000), l).decide(counts)


def partitions(rows: list[int]) -> Iterator[list[list[int]]]:
    """All ways to put some rows into classes, which is more than quasi-identifiers and their generalizations allow."""
    if not rows:
        yield []
        return
    for size in range(len(rows)):
        for others in combinations(rows[1:], size):
            left = [row for row in rows[1:] if row not in others]
            yield from ([[rows[0], *others], *rest] for rest in partitions(left))


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=6))
def test_no_way_to_put_rows_into_classes_satisfies_more(diseases: list[str]) -> None:
    """Brute force over all partitions of the rows; one of them, all rows together, satisfies what is told."""
    values = sorted(set(diseases))
    table = of_labels(("row", "disease"), [(str(i), disease) for i, disease in enumerate(diseases)])
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


@given(st.lists(st.integers(0, 5), min_size=12, max_size=12).filter(any))
def test_beside_another_sensitive_attribute_its_values_are_told_apart(counts: list[int]) -> None:
    """MKGV07 Def. 4.6: a class for each value of the other one, whatever the quasi-identifier."""
    laid_out = np.reshape(counts, (2, 2, 3))
    table = filled(flat_domain(q=2, s=2, t=3), laid_out)
    found = eligibility(table, table, ["s", "t"], {})
    by_other = laid_out.sum(axis=0)
    for name, classes in (("s", by_other.T), ("t", by_other)):
        held = [sorted(own, reverse=True) for own in classes.tolist() if any(own)]
        assert found[name].tau == tuple(
            max(smallest_tau(own, l) for own in held) for l in range(2, found[name].values + 1)
        )
        assert found[name].reached.distinct == min(sum(map(bool, own)) for own in held)


@given(people_tables(), st.fractions(0, 1, max_denominator=9).filter(lambda tau: 0 < tau < 1), st.integers(2, 4))
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
    table = of_labels(("patient", "disease"), [(str(i), disease) for i, disease in enumerate(diseases)])
    assert [rounded_up(tau) for tau in (Fraction(1, 3), Fraction(1, 4))] == [0.333334, 0.25]
    half, most = Functional(Fraction(1, 2), 3), Functional(Fraction(2, 5), 3)
    whole = table.rolled_up({"disease": 0})
    found = eligibility(whole, table, ["disease"], {"disease": [half, most]})["disease"]
    range_ = found.reached  # simple l up to 2, and c above 1 for l = 2, above 3 for l = 3
    assert (range_.distinct, range_.simple, range_.recursive_c) == (4, 2.0, (1.0, 3.0, 6.0))
    # F = 6/12, 10/12, 11/12: at l = 3 the second binds, (10/12 - 1/2) / (1/2) = 2/3; at l = 4 (11/12 - 2/3) * 3 = 3/4.
    assert found.tau == (Fraction(1, 2), Fraction(2, 3), Fraction(3, 4))
    assert (found.values, found.generalized) == (4, Fraction(1, 4))
    assert found.excess == {"functional:0.5,3": None, "functional:0.4,3": None}
    loose = Functional(Fraction(7, 10), 3)
    excess = eligibility(whole, table, ["disease"], {"disease": [loose]})["disease"].excess["functional:0.7,3"]
    # psi = 0.7, 0.85, 1, 1.
    assert excess == pytest.approx(np.abs(np.array([0.7, 0.85, 1, 1]) - np.array([6, 10, 11, 12]) / 12).sum())
    assert found.as_json()["functional_tau"] == {"2": 0.5, "3": rounded_up(Fraction(2, 3)), "4": 0.75}
    assert set(found.implying) == {"functional:0.5,3", "functional:0.4,3"}


# The homogeneity and the background-knowledge attack, against trying every choice of values to rule out.


certainties = st.sampled_from(
    [Fraction(1), Fraction(19, 20), Fraction(3, 4), Fraction(1, 2), Fraction(2, 3)]
) | st.fractions(Fraction(1, 100), 1)


def classes_with(rows: list[list[int]]) -> EquivalenceClasses:
    width = max(map(len, rows))
    counts = [row + [0] * (width - len(row)) for row in rows]
    return equivalence_classes(filled(flat_domain(q=len(rows), s=width), counts), "s")


INPATIENTS = classes_with([[2, 2, 0], [1, 1, 2], [0, 0, 4]])
"""MKGV07 Fig. 2: heart disease, viral infection and cancer in three classes of four."""


def falls(row: list[int], ruled_out: int, share: Fraction) -> bool:
    """Whether some choice of values to rule out leaves one with at least this share of what is left."""
    values = range(len(row))
    for gone in combinations(values, min(ruled_out, len(row) - 1)):
        left = [row[value] for value in values if value not in gone]
        if sum(left) and max(left) >= share * sum(left):
            return True
    return False


@given(st.lists(rows_of_a_class(5), min_size=1, max_size=6), certainties)
def test_knowledge_needed_is_the_least_that_suffices(rows: list[list[int]], share: Fraction) -> None:
    classes = classes_with(rows)
    expected = [next(n for n in range(9) if falls(row, n, share)) for row in classes.counts.tolist()]
    assert knowledge_needed(classes, share).tolist() == expected
    assert knowledge_needed(classes).tolist() == (np.count_nonzero(classes.counts, axis=1) - 1).tolist()
    sizes = classes.counts.sum(axis=1)
    for number, found in background_knowledge(classes, range(4), share).items():
        which = [needed <= number for needed in expected]
        assert found == AffectedClasses(sum(which), int(sizes[which].sum()))


def test_bob_and_umeko() -> None:
    """MKGV07 section 1.1: Bob's class is homogeneous; Umeko's falls to somebody who can rule out heart disease."""
    assert homogeneity(INPATIENTS) == AffectedClasses(1, 4)
    assert knowledge_needed(INPATIENTS).tolist() == [1, 2, 0]
    assert background_knowledge(INPATIENTS, [1, 2]) == {1: AffectedClasses(2, 8), 2: AffectedClasses(3, 12)}


def test_nearly_homogeneous_is_95_percent_and_no_less() -> None:
    """MKGV07 section 6: the most frequent value appears in at least 95% of the rows."""
    classes = classes_with([[19, 1], [189, 11], [20, 0], [950_000_000, 50_000_001]])
    assert (knowledge_needed(classes, Fraction(19, 20)) == 0).tolist() == [True, False, True, False]
    assert homogeneity(classes) == AffectedClasses(2, 40)
    assert homogeneity(classes, Fraction(1)) == AffectedClasses(1, 20)
    tiny = Fraction(1, 10**30)  # shares of any precision are exact
    assert (knowledge_needed(classes, Fraction(19, 20) - tiny) == 0).tolist() == [True, False, True, False]
    assert (knowledge_needed(classes, Fraction(19, 20) + tiny) == 0).tolist() == [False, False, True, False]


# Prosecutor, journalist and marketer risk, and what makes rows unique, against counting row by row.


pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=6)


@given(pairs)
def test_the_risks_are_those_of_every_row(drawn: list[tuple[int, int]]) -> None:
    """1 / f, or 1 / F with a population of f and some more, row by row."""
    rows = [(f, f + more) for f, more in drawn for _ in range(f)]
    sizes, people = np.array([f for f, _ in drawn]), np.array([f + more for f, more in drawn])
    found = reidentification(sizes, people)
    assert found.journalist is not None
    for risk, of_row in ((found.prosecutor, [1 / f for f, _ in rows]), (found.journalist, [1 / n for _, n in rows])):
        assert risk.highest == pytest.approx(max(of_row))
        assert risk.average == pytest.approx(sum(of_row) / len(rows))
    exact = [Fraction(1, n) for _, n in rows]
    for bound in THRESHOLDS:
        assert found.journalist.above[bound] == pytest.approx(sum(risk > bound for risk in exact) / len(rows))
    assert found.marketer == found.journalist.average
    assert found.population_unique == sum(pair == (1, 0) for pair in drawn)
    alone = reidentification(sizes)
    assert alone.marketer == pytest.approx(len(drawn) / len(rows))


@given(st.integers(1, 40), st.floats(0.05, 1))
def test_estimated_risks_are_means_over_the_population(f: int, fraction: float) -> None:
    """1 / F summed over negative binomial F, which has F - f people who were passed over."""
    probability, mean = fraction**f, 0.0
    for n in range(f, 20_000):
        mean += probability / n
        probability *= (1 - fraction) * n / (n - f + 1)
    assert estimated_risks(np.array([f]), fraction)[0] == pytest.approx(mean, rel=1e-6)


def test_a_sampling_fraction_tells_how_many_are_unique_in_the_population() -> None:
    found = reidentification(np.array([1, 1, 3]), 0.25)
    assert (found.population_unique, found.is_estimated) == (0.5, True)
    assert found.as_json()["estimated"] is True
    assert reidentification(np.array([], dtype=int)) is None


@given(pairs, st.integers(1, 12), st.fractions(0, 1, max_denominator=6), st.fractions(0, 1, max_denominator=6))
def test_k_map_and_delta_presence_are_those_of_every_person(
    drawn: list[tuple[int, int]], k: int, one: Fraction, other: Fraction
) -> None:
    sizes, people = np.array([f for f, _ in drawn]), np.array([f + more for f, more in drawn])
    mapped = k_map(sizes, people, k)
    assert mapped.holds == all(f + more >= k for f, more in drawn)
    assert mapped.worst == (WorstClass(count=min(f + more for f, more in drawn)) if drawn else None)
    assert (dict(mapped.parameters), mapped.examined) == ({"k": k}, len(drawn))
    low, high = sorted((one, other))
    expected = all(low <= Fraction(f, f + more) <= high for f, more in drawn)
    found = delta_presence(sizes, people, (low, high))
    assert found.holds == expected
    assert 0 <= found.worst.presence <= 1
    # Nobody of a class being in the table tells as much as everybody.
    assert not delta_presence(np.append(sizes, 0), np.append(people, 4), (Fraction(1, 100), Fraction(1))).holds
