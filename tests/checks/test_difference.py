"""What two releases of a changing table tell of the change is what their meets tell, by linear algebra and by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Verdict
from checks.changes import SHOWN, CellDifference, Meet, changed_people, difference, meets
from dice import Dice, Thrown
from models import (
    NEVER,
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    FloatArray,
    FrechetBounds,
    Hierarchy,
    Mask,
)
from strategies import contingency_tables, domains, hierarchies, margins


def collection(base: ContingencyTable, masks: list[Mask]) -> Collection:
    return Collection.of(DataCube([base]), masks)


def base_cells(domain: Domain) -> list[tuple[int, ...]]:
    return list(product(*(range(hierarchy.size(0)) for hierarchy in domain.hierarchies)))


def equations(domain: Domain, masks: tuple[Mask, ...], cells: list[tuple[int, ...]]) -> FloatArray:
    """For each cell of some margins which of some base cells are in it: shape (margin cells, base cells)."""
    rows = []
    for mask in masks or (0,):
        margin = domain.margin(mask)
        above = [
            tuple(domain.hierarchy(name).lift(0, margin[name])[cell[domain.index(name)]] for name in margin)
            for cell in cells
        ]
        rows += [[float(own == cell) for own in above] for cell in dict.fromkeys(above)]
    return np.array(rows)


def rank(matrix: FloatArray) -> int:
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0


def other_ladders(dice: Dice, domain: Domain) -> Domain:
    """The same base values in the same order, generalized otherwise."""
    ladders = {}
    for name, hierarchy in domain.items():
        other = hierarchies.of(dice, hierarchy.size(0), 3, hierarchy.size(0))
        paths = {row[0]: row[1:] for row in other.rows()}
        ladders[name] = Hierarchy.from_rows([(v, *paths[f"v{n}"]) for n, v in enumerate(hierarchy.labels[0])])
    return Domain.of(ladders)


@Thrown
def two_collections(dice: Dice) -> tuple[Collection, Collection]:
    """Two tables of the same base values; the levels of the second are those of the first, or others."""
    domain = domains.of(dice, 1, 3, 5, 3, 30)
    releases = []
    for own in (domain, other_ladders(dice, domain) if dice.yes() else domain):
        masks = [own.mask(margins.of(dice, own)) for _ in range(dice.between(1, 4))]
        releases.append(collection(contingency_tables.of(dice, own, 12), masks))
    return releases[0], releases[1]


def occupied(release: Collection) -> list[tuple[int, ...]]:
    """The base cells that no published value without rows makes empty."""
    domain = release.domain
    counted = []
    for name in domain.attributes:
        level = release.finest_level(name)
        table = release.cube.table(domain.mask({name: level}))
        codes = set(table.codes[0].tolist()) if level < domain.hierarchy(name).height else {0}
        counted.append([int(code) in codes for code in domain.hierarchy(name).lift(0, level)])
    return [cell for cell in base_cells(domain) if all(own[code] for own, code in zip(counted, cell))]


def places(meet: Meet, domain: Domain, release: int, cell: tuple[int, ...]) -> tuple[int, ...]:
    """The common values of a base cell of a release."""
    found = []
    for name, values in meet.values.items():
        hierarchy = domain.hierarchy(name)
        level = hierarchy.labels.index(values.labels[release])
        own = values.later if release else values.earlier
        found.append(int(own[hierarchy.lift(0, level)[cell[domain.index(name)]]]))
    return tuple(found)


@given(two_collections())
def test_the_meets_span_what_both_collections_have_equations_for(both: tuple[Collection, Collection]) -> None:
    """Of the cells that may have rows: the dimension of an intersection is the sum of both less that of the sum."""
    first, second = both
    cells = [cell for cell in occupied(first) if cell in occupied(second)]
    if not cells:
        return
    one, other = (equations(each.domain, each.masks, cells) for each in both)
    common = []
    for meet in meets(first, second):
        above = [places(meet, first.domain, 0, cell) for cell in cells]
        assert above == [places(meet, second.domain, 1, cell) for cell in cells], "both agree what is in a cell"
        common += [[float(own == cell) for own in above] for cell in dict.fromkeys(above)]
    spanned = np.array(common)
    assert rank(np.vstack([one, spanned])) == rank(one)
    assert rank(np.vstack([other, spanned])) == rank(other)
    assert rank(spanned) == rank(one) + rank(other) - rank(np.vstack([one, other]))


@given(two_collections(), st.integers(1, 6))
def test_the_smallest_difference_is_that_of_counting_by_hand(both: tuple[Collection, Collection], least: int) -> None:
    changes: dict[tuple[int, tuple[int, ...]], int] = {}
    shown = list(meets(*both))
    for number, meet in enumerate(shown):
        for release, each in enumerate(both):
            table = each.cube.table(each.domain.mask(dict.fromkeys(each.domain.attributes, 0)))
            for cell, count in zip(zip(*map(np.ndarray.tolist, table.codes)), table.counts.tolist()):
                place = places(meet, each.domain, release, cell)
                if any(
                    values.labels[1 - release] == ("*",) and (values.earlier if release else values.later)[0] != code
                    for values, code in zip(meet.values.values(), place)
                ):
                    continue  # counted by one release alone, which shows the attribute
                changes[number, place] = changes.get((number, place), 0) + (count if release else -count)
    changed = [change for change in changes.values() if change]
    finding = difference(*both, least)
    small = [change for change in changed if abs(change) < least]
    clear = not any(meet.overlapping for meet in shown)
    fine = Verdict.HOLDS if clear else Verdict.UNDECIDED
    assert finding.verdict is (Verdict.FAILS if small else fine)
    told = changed_people(*both, (), least)
    assert told.small == len(small)
    expected = sorted(map(abs, small))[:SHOWN] or sorted(map(abs, changed))[:1]
    assert [abs(each.difference) for each in told.smallest] == expected
    if not changed:
        assert finding.worst is None
        return
    worst = finding.worst
    assert isinstance(worst, CellDifference)
    assert abs(worst.difference) == min(map(abs, changed))


def test_three_people_who_leave_are_a_difference() -> None:
    domain = Domain.of({"sex": Hierarchy.flat(["f", "m"]), "job": Hierarchy.flat(["clerk", "cook"])})
    cells = {"sex": np.array([0, 0, 1, 1]), "job": np.array([0, 1, 0, 1])}
    tables = [
        ContingencyTable.from_cells(domain, {"sex": 0, "job": 0}, cells, np.array(counts))
        for counts in ([20, 30, 40, 50], [20, 28, 39, 50])
    ]
    both = domain.mask({"sex": 0, "job": 0})
    finding = difference(*(collection(table, [both]) for table in tables), 10)
    assert finding.worst == CellDifference({"sex": "m", "job": "clerk"}, {"sex": 0, "job": 0}, 40, 39)
    assert not finding.holds
    apart = [collection(tables[0], [both]), collection(tables[1], [domain.mask({"sex": 0})])]
    finding = difference(*apart, 1)
    assert finding.worst == CellDifference({"sex": "m"}, {"sex": 0}, 90, 89)
    assert finding.holds
    assert "no count is negative" in finding.note
    nothing = difference(collection(tables[0], []), collection(tables[1], [both]), 5)
    assert nothing.worst == CellDifference({}, {}, 140, 137)


def two_by_two(counts: list[int], margins: list[dict[str, int]]) -> Collection:
    domain = Domain.of({"a": Hierarchy.flat(["0", "1"]), "b": Hierarchy.flat(["0", "1"])})
    cells = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0, 1])}
    table = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, cells, np.array(counts))
    return collection(table, [domain.mask(margin) for margin in margins])


def test_nobody_was_there_before_so_whoever_is_there_now_came() -> None:
    """The 2 x 2 case by which an earlier rule was broken: both one-way tables leave one cell."""
    first = two_by_two([0, 0, 0, 4], [{"a": 0}, {"b": 0}])
    second = two_by_two([0, 2, 3, 5], [{"a": 0, "b": 0}])
    finding = difference(first, second, 2)
    assert finding.worst == CellDifference({"a": "1", "b": "1"}, {"a": 0, "b": 0}, 4, 5)
    assert finding.verdict is Verdict.FAILS


def test_a_difference_can_be_large_everywhere_and_somebody_known_to_have_come() -> None:
    """Why a finding that holds is not called safe by itself: with nobody at (1, 0) before, who is at b = 0 was at a = 0."""
    domain = Domain.of({name: Hierarchy.flat(["0", "1"]) for name in "abc"})
    cells = {name: np.array([cell[place] for cell in product((0, 1), repeat=3)]) for place, name in enumerate("abc")}
    levels = dict.fromkeys("abc", 0)
    tables = [
        ContingencyTable.from_cells(domain, levels, cells, np.array(counts))
        for counts in ([8, 8, 5, 5, 0, 0, 5, 5], [9, 30, 5, 5, 10, 10, 5, 5])
    ]
    first = collection(tables[0], [domain.mask({"a": 0, "b": 0}), domain.mask({"b": 0, "c": 0})])
    second = collection(tables[1], [domain.mask(levels)])
    assert difference(first, second, 5).holds
    bounds = FrechetBounds.of(first, NEVER).of_margin(levels)
    assert bounds.lower[0, 0, 0] == bounds.upper[0, 0, 0] == 8, "exactly one more, of 9, is at (0, 0, 0)"


def test_other_hierarchies_have_no_difference() -> None:
    one, other = (Domain.of({"a": Hierarchy.flat(values)}) for values in (["x", "y"], ["x", "z"]))
    tables = [ContingencyTable.from_cells(d, {"a": 0}, {"a": np.array([0])}, np.array([4])) for d in (one, other)]
    with pytest.raises(DomainMismatchError, match=r"other base values of .a."):
        list(meets(*(collection(table, [table.mask]) for table in tables)))
