"""What releases of a changing table tell of who came and left: by linear algebra, by enumeration of tables, by counting."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brute_force import joint_array
from checks import Claim, KCombinatorial, KLink, MaxentDiversity, Question, Verdict, parse_diversity
from checks.changes import (
    SHOWN,
    CellDifference,
    ChangedPeople,
    Envelope,
    Meet,
    OneValue,
    cells_of,
    changed_people,
    difference,
    distinct_tables,
    joiners_and_leavers,
    meets,
    settled,
    settled_rows,
)
from dice import Dice, Thrown
from filled_tables import filled, flat_domain, of_rows, published
from marginals import plain
from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    FloatArray,
    Hierarchy,
    Mask,
    equal_cells,
)
from privacy_oracles import largest_batch
from strategies import contingency_tables, domains, hierarchies, margins
from table_enumeration import Counts, tables_with
from work import compare_with_sorting


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
        releases.append(Collection.of(DataCube([contingency_tables.of(dice, own, 12)]), masks))
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
    cells = product(*(range(hierarchy.size(0)) for hierarchy in domain.hierarchies))
    return [cell for cell in cells if all(own[code] for own, code in zip(counted, cell))]


def places(meet: Meet, domain: Domain, release: int, cell: tuple[int, ...]) -> tuple[int, ...]:
    found = []
    for name, values in meet.values.items():
        hierarchy = domain.hierarchy(name)
        level = hierarchy.labels.index(values.labels[release])
        own = values.numbers[release]
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
                    values.labels[1 - release] == ("*",) and values.numbers[1 - release][0] != code
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


# What differences tell of the people who came and left.


TOWNS = Domain.of({"town": Hierarchy.flat("abc"), "illness": Hierarchy.flat("xyz")})
TOWN_CELLS = list(product("abc", "xyz"))


def told(before: list[int], after: list[int], least: int = 5) -> ChangedPeople:
    """Of tables with so many rows of each town and illness, all cells published."""
    releases = (published(filled(TOWNS, counts), {"town": 0, "illness": 0}) for counts in (before, after))
    return changed_people(*releases, ["illness"], least)


COUNTS = st.lists(st.integers(1, 8), min_size=9, max_size=9)


@given(COUNTS, COUNTS)
def test_classes_in_which_one_value_alone_rose_or_fell_are_those_of_counting(
    before: list[int], after: list[int]
) -> None:
    found = told(before, after)
    changes = {cell: new - old for cell, old, new in zip(TOWN_CELLS, before, after)}
    expected = []
    for town, sign in product("abc", (1, -1)):
        moved = [(illness, changes[town, illness]) for illness in "xyz" if sign * changes[town, illness] > 0]
        if len(moved) == 1:
            expected.append((town, *moved[0]))
    assert found.classes == len(expected)
    assert Counter((each.cell["town"], each.value, each.difference) for each in found.one_value) == Counter(expected)
    assert found.small == sum(0 < abs(change) < 5 for change in changes.values())
    assert len(found.smallest) == (min(found.small, SHOWN) or min(1, sum(change != 0 for change in changes.values())))


def test_one_who_left_is_named_with_the_value() -> None:
    found = told([9] * 9, [8] + [9] * 8)
    assert found.smallest == (CellDifference({"town": "a", "illness": "x"}, {"town": 0, "illness": 0}, 9, 8),)
    assert found.one_value == (OneValue("illness", "x", {"town": "a"}, -1),)
    assert plain(found)["one_value"]["smallest"][0]["value"] == "x"
    assert not told([9, 0, 0] * 3, [8, 0, 0] + [9, 0, 0] * 2).classes, (
        "a class that has one value only tells nothing new"
    )


# A series: what it allows gives nobody away who came or left.


MOST_PAIRS = 1_000_000
"""Pairs of tables that the oracle looks at, at most: of totals alone there are 10**8, which fill the memory."""


def fitting(table: ContingencyTable, masks: tuple[Mask, ...]) -> Counts:
    """All tables with the published margins: shape (tables, base cells)."""
    domain = table.domain
    return np.array([*tables_with(domain, map(domain.margin, masks), joint_array(table).ravel().astype(np.int64))])


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
        tables.append(filled(domain, counts))
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
    domain = flat_domain(a="01", b="01")
    earlier, later = filled(domain, [0, 0, 0, 4]), filled(domain, [0, 2, 3, 5])
    one_way = (domain.mask({"a": 0}), domain.mask({"b": 0}))
    found = certain_changes(fitting(earlier, one_way), fitting(later, (later.mask,)), [2, 2])
    assert (1, 1) in found
    findings = list(Envelope((later.mask,), 2).findings(earlier, later))
    assert {finding.parameters["of"]: finding.holds for finding in findings[:-1]} == {"joiners": False}
    assert not findings[-1].holds
    worst = difference(published(earlier, "a", "b"), published(later, "ab"), 2)
    assert (worst.verdict, worst.worst) == (Verdict.FAILS, CellDifference({"a": "1", "b": "1"}, {"a": 0, "b": 0}, 4, 5))


@pytest.mark.parametrize("turnover_known", [False, True])
def test_readers_who_know_that_people_come_and_go_may_see_that_one_more_came(turnover_known: bool) -> None:
    """11 came and 10 left: one more, which is nobody. Where nobody left it is somebody, whatever readers know."""
    domain = flat_domain(a="01", b="01")
    earlier, both, came = (filled(domain, counts) for counts in ([20] * 4, [31, 10, 20, 20], [21, 20, 20, 20]))
    envelope = Envelope((domain.mask({"a": 0}),), 10, turnover_known=turnover_known)
    *people, change = envelope.findings(earlier, both)
    assert len(people) == 2
    assert all(finding.holds for finding in people)
    assert change.holds is turnover_known
    assert isinstance(change.worst, CellDifference)
    assert change.worst.difference == 1
    assert not next(iter(envelope.findings(earlier, came))).holds


def test_people_who_all_have_one_sensitive_value_are_refused() -> None:
    domain = Domain.of({"a": Hierarchy.flat(["0", "1"]), "s": Hierarchy.flat(["flu", "gout", "none"])})
    earlier, later = filled(domain, [20, 20, 20, 20, 20, 20]), filled(domain, [30, 20, 20, 20, 20, 20])
    diverse = MaxentDiversity(parse_diversity("distinct:2"), "s")
    findings = list(Envelope((earlier.mask,), 10, (diverse,)).findings(earlier, later))
    assert [finding.verdict for finding in findings] == [Verdict.HOLDS, Verdict.FAILS, Verdict.HOLDS]
    other_way = list(Envelope((earlier.mask,), 10, (diverse,)).findings(later, earlier))
    assert [finding.parameters.get("of") for finding in other_way] == ["leavers", "leavers", None]
    assert not other_way[1].holds


@pytest.mark.parametrize(("rows_per_person", "holds"), [(None, True), (2, False)])
def test_rows_of_people_are_counted_as_people(rows_per_person: int | None, holds: bool) -> None:
    domain = flat_domain(a="01")
    earlier, later = filled(domain, [20, 20]), filled(domain, [26, 20])
    envelope = Envelope((earlier.mask,), 5, (), rows_per_person)
    assert all(finding.holds for finding in envelope.findings(earlier, later)) is holds
    (change,) = Envelope((earlier.mask,), 2).findings(earlier, earlier)
    assert change.holds, "nothing is said of people where nobody came or left"
    assert distinct_tables((earlier, later, earlier)) == (earlier, later)


# Batches: the largest of all subsets of people that can be shown, and what is settled beside every earlier table.


def is_shown(table: ContingencyTable, masks: list[int], least: int) -> bool:
    return all((table.rolled_up(table.domain.margin(mask)).counts >= least).all() for mask in masks)


def settled_batch(people: ContingencyTable, masks: list[int], least: int) -> ContingencyTable:
    kept = settled_rows(people.counts, [cells_of(people, mask) for mask in masks], least)
    codes = {name: column[kept] for name, column in zip(people.attributes, people.codes)}
    return ContingencyTable.from_cells(people.domain, people.margin, codes, people.counts[kept])


@given(st.data())
def test_it_is_the_largest_of_all_subsets(data: st.DataObject) -> None:
    domain = data.draw(domains(min_attributes=1, max_attributes=3, max_cells=12))
    people = data.draw(contingency_tables(domain, 6))
    masks = [domain.mask(margin) for margin in data.draw(st.lists(margins(domain), min_size=1, max_size=3))]
    least = data.draw(st.integers(1, 5))
    found = settled_batch(people, masks, least)
    assert is_shown(found, masks, least)
    codes = dict(zip(people.attributes, people.codes))
    largest = max(
        sum(chosen)
        for chosen in product(*(range(count + 1) for count in people.counts.tolist()))
        if is_shown(ContingencyTable.from_cells(domain, people.margin, codes, np.array(chosen)), masks, least)
    )
    assert found.total == largest


@given(st.data())
def test_joiners_and_leavers_lead_from_the_one_table_to_the_other(data: st.DataObject) -> None:
    domain = data.draw(domains(min_attributes=1, max_attributes=3, max_cells=20))
    earlier, later = data.draw(contingency_tables(domain, 12)), data.draw(contingency_tables(domain, 12))
    change = joiners_and_leavers(earlier, later)
    parts = (dict(each.cells()) for each in (earlier, later, *change))
    before, after, joiners, leavers = parts
    assert not joiners.keys() & leavers.keys()
    for cell in before.keys() | after.keys():
        assert after.get(cell, 0) == before.get(cell, 0) + joiners.get(cell, 0) - leavers.get(cell, 0)
    with pytest.raises(DomainMismatchError, match="same cells"):
        joiners_and_leavers(*(filled(flat_domain(a=values), [4, 0]) for values in ("xy", "xz")))
    with pytest.raises(DomainMismatchError, match="other base values"):
        list(meets(*(published(filled(flat_domain(a=values), [4, 0]), "a") for values in ("xy", "xz"))))
    back = joiners_and_leavers(later, earlier)
    assert all(equal_cells(pair) for pair in zip(back, change[::-1]))


SENSITIVE = ("s",)
ENVELOPES = [["xs", "ys"], ["xy", "ys"], ["xys"], ["x", "ys"], ["xs"], ["x", "y", "s"]]


def test_a_million_changes_take_as_long_as_some_sorts_of_them() -> None:
    rng, sizes = np.random.default_rng(0), dict(zip("abcdef", (8, 50, 30, 12, 6, 40)))
    rows = np.column_stack([(rng.beta(0.6, 2.0, 1_000_000) * size).astype(int) for size in sizes.values()])
    people = of_rows(flat_domain(**sizes), rows)
    masks = [people.domain.mask(dict.fromkeys(pair, 0)) for pair in [*combinations("abcdef", 2)][:11]]
    batch, sorts = compare_with_sorting(lambda: settled_batch(people, masks, 10))
    assert sorts < 14
    assert 0 < batch.total < people.total
    assert is_shown(batch, masks, 10)


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[ContingencyTable], Envelope, list[Claim]]:
    """A table that is changed again and again, and what must hold; the first can be published as it is."""
    domain = flat_domain(x=draw(st.integers(2, 3)), y=draw(st.integers(2, 3)), s=3)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    masks = tuple(domain.mask(dict.fromkeys(names, 0)) for names in draw(st.sampled_from(ENVELOPES)))
    k = draw(st.integers(2, 6))
    diverse = MaxentDiversity(parse_diversity("distinct:2"), "s")
    diversities = (diverse,) if draw(st.booleans()) else ()
    size = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    counts = rng.integers(0, 3 * k, size)
    tables = [largest_batch(filled(domain, counts), masks, k)]
    assume(tables[0].total)
    claims: list[Claim] = [KLink(k), KCombinatorial(k), *diversities]
    envelope = Envelope(masks, k, diversities)
    assume(all(claim.check(Question(envelope.collection(tables[0]), SENSITIVE)).holds for claim in claims))
    few = draw(st.integers(1, 2 * k))
    for _ in range(draw(st.integers(1, 4))):
        came = rng.integers(0, few, size) * (rng.random(size) < draw(st.sampled_from([0, 0.3, 1])))
        left = rng.integers(0, few, size) * (rng.random(size) < draw(st.sampled_from([0, 0.3, 1])))
        counts = np.maximum(counts + came - left, 0)
        tables.append(filled(domain, counts))
    return tables, envelope, claims


@given(stories(), st.integers(0, 5))
def test_what_is_settled_is_allowed_beside_all_that_is_out(
    story: tuple[list[ContingencyTable], Envelope, list[Claim]], strict: int
) -> None:
    """So many of the tables are published for readers who may not know that people come and go."""
    (first, *others), envelope, claims = story
    series = [first]
    for today in others:
        shown = settled(series, today, envelope, claims, SENSITIVE, series[:strict])
        for number, earlier in enumerate(series):
            judged = replace(envelope, turnover_known=number >= strict)
            assert all(finding.holds for finding in judged.findings(earlier, shown))
        assert all(claim.check(Question(envelope.collection(shown), SENSITIVE)).holds for claim in claims)
        for part, whole in zip(joiners_and_leavers(series[-1], shown), joiners_and_leavers(series[-1], today)):
            cells = dict(whole.cells())
            assert all(rows <= cells.get(cell, 0) for cell, rows in part.cells()), "only what changed is shown"
        series.append(shown)


@given(stories())
def test_of_people_who_come_once_as_many_are_shown_as_can_be(
    story: tuple[list[ContingencyTable], Envelope, list[Claim]],
) -> None:
    (first, today, *_), envelope, _ = story
    came, _ = joiners_and_leavers(first, today)
    cells = {name: np.concatenate([a, b]) for name, a, b in zip(first.attributes, first.codes, came.codes)}
    both = ContingencyTable.from_cells(first.domain, first.margin, cells, np.concatenate([first.counts, came.counts]))
    shown = settled([first], both, Envelope(envelope.masks, envelope.k), [], SENSITIVE)
    assert equal_cells([joiners_and_leavers(first, shown)[0], largest_batch(came, envelope.masks, envelope.k)])


def test_of_as_many_who_come_as_leave_all_are_shown_to_those_who_know_of_turnover() -> None:
    domain = flat_domain(x=2, y=2, s=3)
    before = np.full((2, 2, 3), 40)
    after = before.copy()
    after[0, 0] += 13
    after[0, 1] -= 12
    first, today = filled(domain, before), filled(domain, after)
    masks = tuple(domain.mask(dict.fromkeys(names, 0)) for names in ("xs", "ys"))
    known = settled([first], today, Envelope(masks, 10, turnover_known=True), [], SENSITIVE, [])
    assert equal_cells([known, today])
    assert not equal_cells([settled([first], today, Envelope(masks, 10), [], SENSITIVE), today])


@pytest.mark.parametrize(("level", "waits"), [(0, True), (1, False), (2, True)])
def test_a_diversity_at_a_level_is_asked_of_no_coarser_table(level: int, waits: bool) -> None:
    """All who came have one value of the table's level 2, of two at level 1."""
    ladder = Hierarchy.from_rows([(*"prA", "*"), (*"qrA", "*"), (*"tsA", "*"), (*"uvB", "*")])
    domain = Domain.of({"x": Hierarchy.flat("xy"), "s": ladder})
    before = np.full((2, 4), 20)
    after = np.add(before, [[11, 0, 11, 0], [0] * 4])
    diverse = MaxentDiversity(parse_diversity("distinct:2"), "s", level)
    envelope = Envelope(tuple(domain.mask({"x": 0, "s": shown}) for shown in (1, 2)), 10, (diverse,))
    shown = settled([filled(domain, before)], filled(domain, after), envelope, [], SENSITIVE)
    assert equal_cells([shown, filled(domain, before if waits else after)])
