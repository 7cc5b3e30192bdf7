"""One table against the criteria: verdicts, worst classes, values reached, eligible ranges and the assessment."""

import csv
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from math import exp, inf, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import (
    CriterionError,
    Distinct,
    Diversity,
    DontCareEntropy,
    Entropy,
    Finding,
    Functional,
    Induction,
    Recursive,
    Simple,
)
from checks.classes import (
    AffectedClasses,
    StrongestRequirements,
    assess,
    eligible,
    reached,
    table_diversity,
    table_findings,
)
from models import ContingencyTable, Domain, Hierarchy
from privacy_strategies import dense_tables, diversities
from strategies import coarser_margins, hierarchies

criteria: st.SearchStrategy[Diversity] = diversities(4) | st.one_of(
    st.builds(Functional, st.fractions(Fraction(1, 8), Fraction(7, 8), max_denominator=8), st.integers(2, 4)),
    st.builds(DontCareEntropy, st.fractions(1, 3, max_denominator=4), st.frozensets(st.integers(0, 3), max_size=2)),
)


def table_of(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> ContingencyTable:
    """A table of these rows whose attributes can be published or suppressed."""
    values = {name: sorted({row[i] for row in rows}) for i, name in enumerate(columns)}
    domain = Domain.of({name: Hierarchy.flat(found) for name, found in values.items()})
    codes = {name: np.array([values[name].index(row[i]) for row in rows]) for i, name in enumerate(columns)}
    return ContingencyTable.from_cells(domain, dict.fromkeys(columns, 0), codes, np.ones(len(rows), dtype=np.int64))


FIG_4 = table_of(
    ("zip", "condition"),
    [
        (zip_code, condition)
        for zip_code, conditions in [
            ("1305*", ["heart", "viral", "cancer", "cancer"]),
            ("1485*", ["cancer", "heart", "viral", "viral"]),
            ("1306*", ["heart", "viral", "cancer", "cancer"]),
        ]
        for condition in conditions
    ],
)
"""The 3-diverse inpatient table, MKGV07 Fig. 4."""


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
    assert finding.worst is not None
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
    table = table_of(("q", "s", "v"), [("q*", "s1", "v1"), ("q*", "s1", "v2"), ("q*", "s2", "v3"), ("q*", "s3", "v3")])
    for attribute in ("s", "v"):
        alone = table.rolled_up({"q": 0, attribute: 0})
        assert table_diversity(alone, attribute, Distinct(3)).holds
    assert table_diversity(table.rolled_up({"q": 0, "s": 0}), "s", Recursive(Fraction(2), 3)).verdict.value == "fails"
    assert table_diversity(table.rolled_up({"q": 0, "s": 0}), "s", Recursive(Fraction(2), 2)).holds
    assert not any(finding.holds for finding in table_findings(table, ["s", "v"], [Distinct(2)]))


def test_fig_4_is_entropy_2_8_diverse() -> None:
    """MKGV07 section 4.2."""
    assert table_diversity(FIG_4, "condition", Entropy(Fraction("2.8"))).holds
    assert not table_diversity(FIG_4, "condition", Entropy(Fraction("2.83"))).holds
    assert table_diversity(FIG_4, "condition", Distinct(3)).holds


def test_a_tie_is_decided_exactly_and_a_failing_class_is_the_worst() -> None:
    """Both classes are entropy 4-diverse but for 10^-15, which floats do not see."""
    rows = [("x", str(v)) for v in (1, 2, 3, 4, 5, 5, 5, 5)] + [("y", str(v)) for v in range(1, 6)]
    table = table_of(("q", "s"), rows)
    finding = table_diversity(table, "s", Entropy(Fraction(4)))
    assert finding.holds
    assert finding.worst is not None
    assert finding.worst_class.cell == {"q": "x"}
    beyond = table_diversity(table, "s", Entropy(Fraction(4) + Fraction(1, 10**15)))
    assert not beyond.holds
    assert beyond.worst is not None
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
    assert list(found.as_json()["recursive_c"]) == [str(l) for l in range(2, len(rows[0]) + 1)]
    for c in (Fraction(1, 2), Fraction(1), Fraction(5, 2)):
        for l in range(2, len(rows[0]) + 1):
            assert (found.smallest_c(l) < c) == all(Recursive(c, l).decide(row) for row in rows)


def test_there_is_no_diversity_of_none() -> None:
    with pytest.raises(CriterionError):
        StrongestRequirements(3, 2.0, 2.0, (1.0, 1.0)).smallest_c(0)


def test_the_eligible_range_of_the_patients_of_tz09() -> None:
    """TZ09 section I, Fig. 1 (a): simple l up to 2, and c above 1 for l = 2, above 3 for l = 3."""
    diseases = ["hepatitis"] * 4 + ["phthisis", "hepatitis"] + ["phthisis"] * 3 + ["anemia", "hepatitis", "flu"]
    table = table_of(("patient", "disease"), [(str(i), disease) for i, disease in enumerate(diseases)])
    found = eligible(table, "disease")
    assert (found.distinct, found.simple, found.recursive_c) == (4, 2.0, (1.0, 3.0, 6.0))


@given(tables(["s"]), st.data())
def test_no_generalization_is_beyond_the_eligible_range(table: ContingencyTable, data: st.DataObject) -> None:
    """TZ09 section I: the distribution of the whole table limits every requirement."""
    margin = dict(data.draw(coarser_margins(table.domain, table.margin))) | {"s": table.margin["s"]}
    most = eligible(table, "s")
    some = assess(table.rolled_up(margin), ["s"]).diversity["s"]
    assert some.distinct <= most.distinct
    assert some.simple <= most.simple + 1e-12
    assert some.entropy <= most.entropy + 1e-9
    assert all(c >= least - 1e-12 for c, least in zip(some.recursive_c, most.recursive_c))


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


def test_the_assessment_as_plain_values() -> None:
    """What `assess --json` prints, null where no c will do."""
    table = table_of(("q", "s"), [("x", "1"), ("x", "1"), ("x", "2"), ("y", "1")])
    assert assess(table, ["s"]).as_json() == {
        "rows": 4,
        "classes": 2,
        "k_anonymity": 1,
        "diversity": {"s": {"distinct": 1, "simple": 1.0, "entropy": 1.0, "recursive_c": {"2": None}}},
        "background_knowledge": {"s": {"least": 0, "ruled_out": {key: {"classes": 2, "rows": 4} for key in "123"}}},
        "homogeneous": {"classes": 1, "rows": 1},
        "nearly_homogeneous": {"classes": 1, "rows": 1},
    }


def test_a_table_without_rows_or_without_a_sensitive_attribute() -> None:
    domain = Domain.of({"q": Hierarchy.flat("xy"), "s": Hierarchy.flat("12")})
    codes = {"q": np.zeros(1, dtype=int), "s": np.zeros(1, dtype=int)}
    empty = ContingencyTable.from_cells(domain, {"q": 0, "s": 0}, codes, np.array([0]))
    finding = table_diversity(empty, "s", Distinct(2))
    assert finding.holds
    assert finding.worst is None
    assert assess(empty, ["s"]).as_json()["diversity"] == {}
    assert assess(empty, ["s"]).k_anonymity == 0
    nothing_secret = assess(FIG_4, [])
    assert (nothing_secret.classes, nothing_secret.homogeneous) == (9, AffectedClasses(0, 0))


@pytest.mark.data
def test_occupation_on_adult(shared_data: Path) -> None:
    """MKGV07 section 6: entropy 10.57-diverse, and no generalization is recursive (3, 12)-diverse."""
    with (shared_data / "adult" / "adult.csv").open(newline="") as file:
        table = table_of(("sex", "occupation"), [(row["sex"], row["occupation"]) for row in csv.DictReader(file)])
    found = eligible(table, "occupation")
    assert found.distinct == 14
    assert found.entropy == pytest.approx(10.57, abs=0.005)
    assert found.smallest_c(11) < 3 <= found.smallest_c(12)
    suppressed = table.rolled_up({"occupation": 0})
    assert not table_diversity(suppressed, "occupation", Recursive(Fraction(3), 12)).holds
    assert table_diversity(suppressed, "occupation", Recursive(Fraction(3), 11)).holds


def test_what_background_knowledge_breaks_is_that_of_trying_every_choice_of_values() -> None:
    """A class falls where as many values as are ruled out, and one more, are all it has."""
    table = table_of(("q", "s"), [("x", "1"), ("x", "2"), ("x", "3"), ("y", "1"), ("y", "2"), ("y", "2")])
    needed = assess(table, ["s"]).knowledge["s"]
    assert needed.least == 1
    assert {n: (fallen.classes, fallen.rows) for n, fallen in needed.fallen.items()} == {
        1: (1, 3),
        2: (2, 6),
        3: (2, 6),
    }
