"""What a series allows gives nobody away who came or left, by enumeration of all tables that fit its releases."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checks import MaxentDiversity, Question, Verdict, parse_diversity
from checks.changes import CellDifference, Envelope, difference, distinct_tables
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, Mask
from strategies import domains, margins
from table_enumeration import Counts, all_tables

MOST_PAIRS = 1_000_000
"""Pairs of tables that the oracle looks at, at most: of totals alone there are 10**8, which fill the memory."""


def table_of(domain: Domain, counts: list[int]) -> ContingencyTable:
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    codes = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    return ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, np.array(counts))


def fitting(table: ContingencyTable, masks: tuple[Mask, ...]) -> Counts:
    """All tables with the published margins: shape (tables, base cells)."""
    domain = table.domain
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    codes = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    counts = np.zeros(shape, dtype=np.int64)
    counts[table.codes] = table.counts
    members, sums = [list(range(counts.size))], [int(counts.sum())]
    for mask in masks:
        margin = domain.margin(mask)
        place = np.zeros(counts.size, dtype=np.int64)
        for name, level in margin.items():
            place = place * domain.hierarchy(name).size(level) + domain.hierarchy(name).lift(0, level)[codes[name]]
        for cell in np.unique(place):
            inside = np.flatnonzero(place == cell)
            members.append(inside.tolist())
            sums.append(int(counts.ravel()[inside].sum()))
    return np.array(list(all_tables(members, sums, counts.size)))


def certain_changes(earlier: Counts, later: Counts, shape: list[int]) -> list[tuple[int, int]]:
    """For every cell of every margin of base values how many people came at least and at most, and how many left.

    earlier, later: the tables that fit, shape (tables, base cells). Whoever came is counted by base cell.
    """
    changes = (later[:, None, :] - earlier[None, :, :]).reshape(-1, *shape)
    found = []
    for people in (np.maximum(changes, 0), np.maximum(-changes, 0)):
        for chosen in np.ndindex(*[2] * len(shape)):
            summed = people.sum(axis=tuple(axis + 1 for axis, is_out in enumerate(chosen) if is_out))
            summed = summed.reshape(len(people), -1)
            found += list(zip(summed.min(axis=0).tolist(), summed.max(axis=0).tolist()))
    return found


@st.composite
def changing_tables(draw: st.DrawFn) -> tuple[ContingencyTable, ContingencyTable, tuple[Mask, ...], tuple[Mask, ...]]:
    """Two tables, an envelope with a junction tree, and coarser margins of the later release."""
    domain = draw(domains(min_attributes=2, max_attributes=2, max_cells=6))
    size = int(np.prod([hierarchy.size(0) for hierarchy in domain.hierarchies]))
    tables = []
    for _ in range(2):
        counts = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
        assume(0 < sum(counts) <= 14)
        tables.append(table_of(domain, counts))
    envelope = tuple({domain.mask(m) for m in draw(st.lists(margins(domain), min_size=1, max_size=2))})
    assume(Collection.of(DataCube([tables[0]]), envelope).is_decomposable)
    later = tuple(mask for mask in envelope if draw(st.booleans())) or envelope
    return tables[0], tables[1], envelope, later


@given(changing_tables(), st.integers(2, 3), st.booleans())
def test_what_is_allowed_proves_of_no_few_people_that_they_came_or_left(
    case: tuple[ContingencyTable, ContingencyTable, tuple[Mask, ...], tuple[Mask, ...]], k: int, turnover_known: bool
) -> None:
    earlier, later, envelope, shown = case
    judged = Envelope(envelope, k, turnover_known=turnover_known).findings(earlier, later)
    if all(finding.holds for finding in judged):
        shape = [hierarchy.size(0) for hierarchy in earlier.domain.hierarchies]
        before, after = fitting(earlier, envelope), fitting(later, shown)
        assume(len(before) * len(after) <= MOST_PAIRS)
        found = certain_changes(before, after, shape)
        assert not any(low >= 1 and high < k for low, high in found)


def test_the_case_that_broke_an_earlier_rule_is_refused() -> None:
    """Of 0, 0, 0, 4 the one-way tables, of 0, 2, 3, 5 all cells: exactly one came to (1, 1)."""
    domain = Domain.of({"a": Hierarchy.flat(["0", "1"]), "b": Hierarchy.flat(["0", "1"])})
    earlier, later = table_of(domain, [0, 0, 0, 4]), table_of(domain, [0, 2, 3, 5])
    one_way = (domain.mask({"a": 0}), domain.mask({"b": 0}))
    found = certain_changes(fitting(earlier, one_way), fitting(later, (later.mask,)), [2, 2])
    assert (1, 1) in found
    findings = list(Envelope((later.mask,), 2).findings(earlier, later))
    assert {finding.parameters["of"]: finding.holds for finding in findings[:-1]} == {"joiners": False}
    assert not findings[-1].holds


def test_readers_who_know_that_few_came_would_see_two_collections_of_all_the_others() -> None:
    """Why the margins of all releases must lie in one envelope: judged pair by pair all is well, and one is given away.

    Twelve people of (1, 1, 1) come, as the totals tell whoever knows that nobody left. What is left of the second release
    is AC of the same people of whom the first shows AB and BC.
    """
    domain = Domain.of({name: Hierarchy.flat(["0", "1"]) for name in "abc"})
    before, came = [3, 0, 2, 3, 0, 0, 3, 0], [0, 0, 0, 0, 0, 0, 0, 12]
    earlier, later = table_of(domain, before), table_of(domain, [a + b for a, b in zip(before, came)])
    first, second = (tuple(domain.mask(dict.fromkeys(pair, 0)) for pair in pairs) for pairs in (("ab", "bc"), ("ac",)))
    for mask, table in [*((mask, earlier) for mask in first), (second[0], later)]:
        assert (table.rolled_up(domain.margin(mask)).counts >= 3).all()
    people = table_of(domain, came)
    assert Envelope(second, 3).least.check(Question(Envelope(second, 3).collection(people), ())).holds
    assert difference(*(Collection.of(DataCube([t]), m) for t, m in ((earlier, first), (later, second))), 3).holds
    of_the_others = fitting(earlier, (*first, *second))
    assert (of_the_others == before).all(), "their two collections determine every cell, one of two people among them"


@pytest.mark.parametrize("turnover_known", [False, True])
def test_readers_who_know_that_people_come_and_go_may_see_that_one_more_came(turnover_known: bool) -> None:
    """11 came and 10 left: one more, which is nobody. Where nobody left it is somebody, whatever readers know."""
    domain = Domain.of({"a": Hierarchy.flat(["0", "1"]), "b": Hierarchy.flat(["0", "1"])})
    earlier, both, came = (table_of(domain, counts) for counts in ([20] * 4, [31, 10, 20, 20], [21, 20, 20, 20]))
    envelope = Envelope((domain.mask({"a": 0}),), 10, turnover_known=turnover_known)
    *people, change = envelope.findings(earlier, both)
    assert len(people) == 2
    assert all(finding.holds for finding in people)
    assert change.holds is turnover_known
    assert isinstance(change.worst, CellDifference)
    assert change.worst.difference == 1
    assert not next(iter(envelope.findings(earlier, came))).holds


def test_two_releases_of_all_and_two_of_a_part_tell_by_two_differences_who_came_outside_of_it() -> None:
    """Why parts are not judged as tables of their own beside the whole: every pair is allowed, and one is given away."""
    domain = Domain.of({"town": Hierarchy.flat(["t"]), "age": Hierarchy.flat(["adult", "young"])})
    counts = {"all": [20, 20], "adults": [20, 0], "all later": [25, 21], "adults later": [25, 0]}
    tables = {name: table_of(domain, rows) for name, rows in counts.items()}
    envelope = Envelope((domain.mask({"town": 0}),), 5)
    for earlier, later in combinations(tables.values(), 2):
        assert all(finding.holds for finding in envelope.findings(earlier, later))
    totals = {name: table.total for name, table in tables.items()}
    assert (totals["all later"] - totals["adults later"]) - (totals["all"] - totals["adults"]) == 1


def test_people_who_all_have_one_sensitive_value_are_refused() -> None:
    domain = Domain.of({"a": Hierarchy.flat(["0", "1"]), "s": Hierarchy.flat(["flu", "gout", "none"])})
    earlier, later = table_of(domain, [20, 20, 20, 20, 20, 20]), table_of(domain, [30, 20, 20, 20, 20, 20])
    diverse = MaxentDiversity(parse_diversity("distinct:2"), "s")
    findings = list(Envelope((earlier.mask,), 10, (diverse,)).findings(earlier, later))
    assert [finding.verdict for finding in findings] == [Verdict.HOLDS, Verdict.FAILS, Verdict.HOLDS]
    other_way = list(Envelope((earlier.mask,), 10, (diverse,)).findings(later, earlier))
    assert [finding.parameters.get("of") for finding in other_way] == ["leavers", "leavers", None]
    assert not other_way[1].holds


@pytest.mark.parametrize(("rows_per_person", "holds"), [(None, True), (2, False)])
def test_rows_of_people_are_counted_as_people(rows_per_person: int | None, holds: bool) -> None:
    domain = Domain.of({"a": Hierarchy.flat(["0", "1"])})
    earlier, later = table_of(domain, [20, 20]), table_of(domain, [26, 20])
    envelope = Envelope((earlier.mask,), 5, (), rows_per_person)
    assert all(finding.holds for finding in envelope.findings(earlier, later)) is holds


def test_nothing_is_said_of_people_where_nobody_came_or_left() -> None:
    domain = Domain.of({"a": Hierarchy.flat(["0", "1"])})
    table = table_of(domain, [3, 4])
    (change,) = Envelope((table.mask,), 2).findings(table, table)
    assert change.holds
    other = table_of(domain, [3, 5])
    assert distinct_tables((table, other, table)) == (table, other)
