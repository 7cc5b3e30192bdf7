"""Further tables are chosen one by one by what their own pair gains: trying every table of every pair is the oracle."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Deadline,
    Domain,
    Hierarchy,
    MarginalModel,
    Mask,
    NotDecomposableError,
    SelectionError,
    total_variation,
)
from models.search.further_tables import FurtherLimits, FurtherTable, further_tables, maximal_allowed
from strategies import Core, cores, domains, margins

ANY = FurtherLimits(least_gain=0.0)
CLOSE = 1e-5
"""Rows that a fit may miss, as a share: candidates that gain as much up to this are tied."""


def anything(_mask: Mask) -> bool:
    return True


def linked(core: Core, k: int) -> Callable[[Mask], bool]:
    return lambda mask: not 0 < core.collection.cube.least_count(mask) < k


def of_pair(core: Core, pair: Sequence[str]) -> Iterator[Mask]:
    domain = core.collection.domain
    for levels in product(*(range(domain.hierarchy(a).height) for a in pair)):
        yield domain.mask(dict(zip(pair, levels)))


def error(core: Core, pair: Sequence[str], published: Sequence[Mask]) -> float:
    """Of the answer about a pair, which is fitted to what all tables say of the pair alone."""
    domain, cube = core.collection.domain, core.collection.cube
    own = domain.mask(dict.fromkeys(pair, 0))
    others = domain.mask(dict.fromkeys(core.nonsensitive, 0))
    tree = MarginalModel(core.collection.within(others))
    within = [mask & own for mask in published]
    levels = Collection.of(cube, [*tree.collection.masks, *within]).finest_levels
    beliefs = np.array(tree.expected({a: levels[a] for a in pair}))
    shown = [cube.table(mask) for mask in {mask & own for mask in (*tree.collection.masks, *within)} if mask]
    for _ in range(500):
        before = beliefs.copy()
        for table in shown:
            above = [domain.hierarchy(a).lift(levels[a], table.margin.get(a, domain.hierarchy(a).height)) for a in pair]
            target = np.zeros([int(axis.max()) + 1 for axis in above])
            target[tuple(table.codes[table.attributes.index(a)] if a in table.margin else 0 for a in pair)] = (
                table.counts
            )
            now = np.zeros_like(target)
            np.add.at(now, np.ix_(*above), beliefs)
            beliefs *= np.divide(target, now, out=np.zeros_like(now), where=now > 0)[np.ix_(*above)]
        if np.abs(beliefs - before).max() < 1e-9:
            break

    class Fitted:
        domain, total, finest_levels = core.collection.domain, cube.total, levels

        def expected_of(self, margin: dict[str, int], codes: Sequence[np.ndarray]) -> np.ndarray:
            return beliefs.transpose([list(pair).index(a) for a in margin])[tuple(codes)]

    return total_variation(cube.table(own), Fitted())


@pytest.mark.slow
@settings(max_examples=40)
@given(cores(max_cells=40, max_values=3, max_levels=2), st.integers(1, 4))
def test_each_table_gains_the_most_in_its_own_pair(core: Core, k: int) -> None:
    allowed, chosen = linked(core, k), further_tables(core.collection, core.nonsensitive, linked(core, k), ANY)
    published: list[Mask] = list(core.collection.masks)
    for table in chosen:
        best = max(_gains(core, published, allowed))
        pair = tuple(core.collection.domain.margin(table.mask))
        own = error(core, pair, published) - error(core, pair, [*published, table.mask])
        assert own == pytest.approx(table.gain, abs=CLOSE)
        assert table.gain == pytest.approx(best, abs=CLOSE)
        assert allowed(table.mask)
        published.append(table.mask)
    assert max(_gains(core, published, allowed), default=0.0) <= CLOSE


def _gains(core: Core, published: Sequence[Mask], allowed: Callable[[Mask], bool]) -> Iterator[float]:
    for pair in combinations(core.nonsensitive, 2):
        before = error(core, pair, published)
        for mask in of_pair(core, pair):
            if allowed(mask) and not any(not mask & ~own for own in published):
                yield before - error(core, pair, [*published, mask])


@given(cores(max_cells=100), st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_sensitive_values_change_nothing(core: Core, k: int, random: np.random.RandomState) -> None:
    """People keep their nonsensitive values, and exchange sensitive ones."""
    domain, cube = core.collection.domain, core.collection.cube
    base = cube.table(sum(domain.attribute_masks))
    rows = {a: np.repeat(codes, base.counts) for a, codes in zip(base.attributes, base.codes)}
    exchanged = rows[core.sensitive].tolist()
    random.shuffle(exchanged)
    rows[core.sensitive] = np.array(exchanged)
    other = ContingencyTable.from_cells(domain, base.margin, rows, np.ones(cube.total, dtype=np.int64))
    beside = Core(Collection.of(DataCube([other]), core.collection.masks), core.sensitive)
    assert _plain(further_tables(core.collection, core.nonsensitive, linked(core, k))) == _plain(
        further_tables(beside.collection, core.nonsensitive, linked(beside, k))
    )


def _plain(tables: Sequence[FurtherTable]) -> list[tuple[Mask, float]]:
    return [(table.mask, table.gain) for table in tables]


@given(cores(max_cells=100), st.data())
def test_limits_hold_and_cut_the_choice_short(core: Core, data: st.DataObject) -> None:
    domain, allowed = core.collection.domain, linked(core, 2)
    everything = further_tables(core.collection, core.nonsensitive, allowed, ANY)
    few = data.draw(st.integers(0, 3))
    assert _plain(further_tables(core.collection, core.nonsensitive, allowed, FurtherLimits(few, None, 0.0))) == _plain(
        everything[:few]
    )
    cells = data.draw(st.integers(0, 30))
    bounded = further_tables(core.collection, core.nonsensitive, allowed, FurtherLimits(None, cells, 0.0))
    assert sum(domain.cell_count(table.mask) for table in bounded) <= cells
    least = data.draw(st.sampled_from([0.01, 0.1]))
    gaining = further_tables(core.collection, core.nonsensitive, allowed, FurtherLimits(None, None, least))
    assert all(table.gain >= least for table in gaining)


@given(cores(max_cells=100), st.data())
def test_what_is_wanted_comes_first_as_finely_as_it_is_allowed(core: Core, data: st.DataObject) -> None:
    domain, allowed = core.collection.domain, linked(core, 3)
    asked = data.draw(margins(domain)).items()
    wanted = domain.mask({a: level for a, level in asked if a != core.sensitive})
    if not wanted:
        return
    chosen = further_tables(core.collection, core.nonsensitive, allowed, FurtherLimits(tables=1), [wanted])
    finest = maximal_allowed(domain, wanted, allowed)
    if allowed(wanted):
        assert finest == [wanted]
    if new := [mask for mask in finest if not any(not mask & ~own for own in core.collection.masks)]:
        assert chosen[0].mask in new


@given(domains(), st.data())
def test_the_finest_allowed_margins_are_found(domain: Domain, data: st.DataObject) -> None:
    mask = domain.mask(data.draw(margins(domain)))
    most = data.draw(st.integers(1, 30))

    def allowed(margin: Mask) -> bool:
        return domain.cell_count(margin) <= most

    own = list(domain.margin(mask))
    every = [
        domain.mask(dict(zip(own, levels)))
        for levels in product(*(range(domain.margin(mask)[a], domain.hierarchy(a).height) for a in own))
    ]
    passing = [margin for margin in every if allowed(margin)] if mask else []
    finest = {m for m in passing if not any(m != o and not m & ~o for o in passing)}
    assert set(maximal_allowed(domain, mask, allowed)) == finest


def test_what_makes_no_sense_is_refused() -> None:
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abs"})
    cells = dict(zip("abs", np.indices((2, 2, 2)).reshape(3, -1)))
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abs", 0), cells, np.arange(1, 9))])
    ones = Collection.of(cube, [domain.mask({a: 0}) for a in "abs"])
    with pytest.raises(SelectionError, match="that none may show"):
        further_tables(ones, "ab", anything, ANY, [domain.mask({"a": 0, "s": 0})])
    for limits in ({"tables": -1}, {"cells": -1}, {"least_gain": -0.1}, {"least_gain": 1.5}):
        with pytest.raises(SelectionError):
            FurtherLimits(**limits)
    cycle = Collection.of(cube, [domain.mask(dict.fromkeys(pair, 0)) for pair in ("ab", "bs", "as")])
    with pytest.raises(NotDecomposableError):
        further_tables(cycle, "abs", anything)
    assert further_tables(ones, "ab", anything, ANY, deadline=Deadline(0.0)) == ()
