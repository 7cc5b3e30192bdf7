"""What is settled is allowed beside every earlier table, and holds no more back than it must where that is known."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from checks import Claim, KCombinatorial, KLink, MaxentDiversity, Question, parse_diversity
from checks.changes import Change, Envelope, settled
from models import ContingencyTable, Domain, Hierarchy, equal_cells
from privacy_oracles import largest_batch

SENSITIVE = ("s",)
ENVELOPES = [["xs", "ys"], ["xy", "ys"], ["xys"], ["x", "ys"], ["xs"], ["x", "y", "s"]]


def domain_of(x: int, y: int, s: int) -> Domain:
    sizes = {"x": x, "y": y, "s": s}
    return Domain.of({name: Hierarchy.flat([f"{name}{i}" for i in range(size)]) for name, size in sizes.items()})


def table_of(domain: Domain, counts: np.ndarray) -> ContingencyTable:
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    codes = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    return ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, counts.ravel())


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[ContingencyTable], Envelope, list[Claim]]:
    """A table that is changed again and again, and what must hold; the first can be published as it is."""
    domain = domain_of(draw(st.integers(2, 3)), draw(st.integers(2, 3)), 3)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    masks = tuple(domain.mask(dict.fromkeys(names, 0)) for names in draw(st.sampled_from(ENVELOPES)))
    k = draw(st.integers(2, 6))
    diverse = MaxentDiversity(parse_diversity("distinct:2"), "s")
    diversities = (diverse,) if draw(st.booleans()) else ()
    size = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    counts = rng.integers(0, 3 * k, size)
    tables = [largest_batch(table_of(domain, counts), masks, k)]
    assume(tables[0].total)
    claims: list[Claim] = [KLink(k), KCombinatorial(k), *diversities]
    envelope = Envelope(masks, k, diversities)
    assume(all(claim.check(Question(envelope.collection(tables[0]), SENSITIVE)).holds for claim in claims))
    few = draw(st.integers(1, 2 * k))
    for _ in range(draw(st.integers(1, 4))):
        came = rng.integers(0, few, size) * (rng.random(size) < draw(st.sampled_from([0, 0.3, 1])))
        left = rng.integers(0, few, size) * (rng.random(size) < draw(st.sampled_from([0, 0.3, 1])))
        counts = np.maximum(counts + came - left, 0)
        tables.append(table_of(domain, counts))
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
        between = Change.between(series[-1], shown), Change.between(series[-1], today)
        for part, whole in zip(*((change.joiners, change.leavers) for change in between)):
            cells = dict(whole.cells())
            assert all(rows <= cells.get(cell, 0) for cell, rows in part.cells()), "only what changed is shown"
        series.append(shown)


@given(stories())
def test_of_people_who_come_once_as_many_are_shown_as_can_be(
    story: tuple[list[ContingencyTable], Envelope, list[Claim]],
) -> None:
    (first, today, *_), envelope, _ = story
    came = Change.between(first, today).joiners
    cells = {name: np.concatenate([a, b]) for name, a, b in zip(first.attributes, first.codes, came.codes)}
    both = ContingencyTable.from_cells(first.domain, first.margin, cells, np.concatenate([first.counts, came.counts]))
    shown = settled([first], both, Envelope(envelope.masks, envelope.k), [], SENSITIVE)
    assert equal_cells([Change.between(first, shown).joiners, largest_batch(came, envelope.masks, envelope.k)])


def test_nobody_is_held_back_where_enough_came_and_everybody_where_too_few_did() -> None:
    domain = domain_of(2, 2, 3)
    before = np.full((2, 2, 3), 20)
    first = table_of(domain, before)
    envelope = Envelope((first.mask,), 10)
    enough, few = before.copy(), before.copy()
    enough[0, 0] += 12
    few[0, 0] -= 3
    assert equal_cells([settled([first], table_of(domain, enough), envelope, [], SENSITIVE), table_of(domain, enough)])
    assert equal_cells([settled([first], table_of(domain, few), envelope, [], SENSITIVE), first])
    assert equal_cells([settled([first], first, envelope, [], SENSITIVE), first])


def test_of_as_many_who_come_as_leave_all_are_shown_to_those_who_know_of_turnover() -> None:
    domain = domain_of(2, 2, 3)
    before = np.full((2, 2, 3), 40)
    after = before.copy()
    after[0, 0] += 13
    after[0, 1] -= 12
    first, today = table_of(domain, before), table_of(domain, after)
    masks = tuple(domain.mask(dict.fromkeys(names, 0)) for names in ("xs", "ys"))
    known = settled([first], today, Envelope(masks, 10, turnover_known=True), [], SENSITIVE, [])
    assert equal_cells([known, today])
    assert not equal_cells([settled([first], today, Envelope(masks, 10), [], SENSITIVE), today])


def test_people_of_one_sensitive_value_wait_for_others() -> None:
    domain = domain_of(2, 2, 3)
    before = np.full((2, 2, 3), 20)
    after = before.copy()
    after[0, 0, 0] += 15
    after[1, 1] += 11
    diverse = MaxentDiversity(parse_diversity("distinct:2"), "s")
    first = table_of(domain, before)
    shown = settled([first], table_of(domain, after), Envelope((first.mask,), 10, (diverse,)), [diverse], SENSITIVE)
    before[1, 1] += 11
    assert equal_cells([shown, table_of(domain, before)])
