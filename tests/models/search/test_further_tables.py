"""Further tables beside a junction tree: each gains most in its own pair, and answers are fits to what the tables say."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import Array, dense_marginal, iterative_proportional_fitting, joint_array, places
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
    TooManyCellsError,
)
from models.inference.local_fit import Kind, LocalFit
from models.search.further_tables import FurtherLimits, FurtherTable, further_tables, maximal_allowed
from strategies import Core, cores, domains, further_masks, margins

ANY = FurtherLimits(least_gain=0.0)


CLOSE = 1e-5


"""Rows that a fit may miss, as a share: candidates that gain as much up to this are tied."""


def plain(tables: Sequence[FurtherTable]) -> list[tuple[Mask, float]]:
    return [(table.mask, table.gain) for table in tables]


def linked(core: Core, k: int) -> Callable[[Mask], bool]:
    return lambda mask: not 0 < core.collection.cube.least_count(mask) < k


def of_pair(core: Core, pair: Sequence[str]) -> Iterator[Mask]:
    domain = core.collection.domain
    for levels in product(*(range(domain.hierarchy(a).height) for a in pair)):
        yield domain.mask(dict(zip(pair, levels)))


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


def error(core: Core, pair: Sequence[str], published: Sequence[Mask]) -> float:
    """Total variation of the answer about a pair, which is fitted to what all tables say of the pair alone."""
    domain, pair = core.collection.domain, sorted(pair, key=core.collection.domain.index)
    own, others = (domain.mask(dict.fromkeys(names, 0)) for names in (pair, core.nonsensitive))
    tree = MarginalModel(core.collection.within(others))
    start = tree.expected(dict.fromkeys(pair, 0)) / tree.total
    joint = joint_array(core.collection.cube.table(sum(domain.attribute_masks))) / tree.total
    p = dense_marginal(joint, domain, dict.fromkeys(pair, 0)).reshape(start.shape)
    shown = [domain.margin(mask & own) for mask in (*tree.collection.masks, *published) if mask & own]
    small = Domain.of({a: domain.hierarchy(a) for a in pair})
    return float(np.abs(iterative_proportional_fitting(p, small, shown, start=start) - p).sum()) / 2


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
    assert plain(further_tables(core.collection, core.nonsensitive, linked(core, k))) == plain(
        further_tables(beside.collection, core.nonsensitive, linked(beside, k))
    )


@given(cores(max_cells=100), st.data())
def test_limits_hold_and_cut_the_choice_short(core: Core, data: st.DataObject) -> None:
    domain, allowed = core.collection.domain, linked(core, 2)
    everything = further_tables(core.collection, core.nonsensitive, allowed, ANY)
    few = data.draw(st.integers(0, 3))
    assert plain(further_tables(core.collection, core.nonsensitive, allowed, FurtherLimits(few, None, 0.0))) == plain(
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
    with pytest.raises(SelectionError, match="show"):
        further_tables(ones, "ab", lambda _: True, ANY, [domain.mask({"a": 0, "s": 0})])
    for limits in ({"tables": -1}, {"cells": -1}, {"least_gain": -0.1}, {"least_gain": 1.5}):
        with pytest.raises(SelectionError):
            FurtherLimits(**limits)
    cycle = Collection.of(cube, [domain.mask(dict.fromkeys(pair, 0)) for pair in ("ab", "bs", "as")])
    with pytest.raises(NotDecomposableError):
        further_tables(cycle, "abs", lambda _: True)
    assert further_tables(ones, "ab", lambda _: True, ANY, deadline=Deadline(0.0)) == ()


LAID_OUT = 1 << 20


@settings(max_examples=100)
@given(cores(max_cells=100), st.data())
def test_an_answer_is_the_fit_of_the_tree_to_what_the_tables_say(core: Core, data: st.DataObject) -> None:
    further = data.draw(further_masks(core))
    model = LocalFit(MarginalModel(core.collection), further, cells=data.draw(st.sampled_from([0, LAID_OUT])))
    asked = data.draw(margins(core.collection.domain))
    answer = model.answer(asked)
    assert answer.counts.shape == tuple(model.domain.hierarchy(a).size(level) for a, level in asked.items())
    assert answer.counts.sum() == pytest.approx(model.total)
    joint = joint_array(model.everything.cube.table(sum(model.domain.attribute_masks))) / model.total
    shown = Fitted.of(model, asked)
    if answer.kind is Kind.ALL:
        fitted = iterative_proportional_fitting(joint, model.domain, model.everything.margins)
    else:
        fitted = shown.fit(joint, model.core.collection.margins)
    if shown.is_met(fitted, joint):  # a limit on the boundary is approached slowly
        expected = _in_order(dense_marginal(fitted, model.domain, asked), model.domain, asked) * model.total
        assert answer.counts == pytest.approx(expected, abs=1e-3 * model.total if answer.kind is Kind.ALL else 1e-3)


@dataclass(frozen=True)
class Fitted:
    """What an answer is fitted over: the attributes asked about, and what else a margin shows that alone shows one of them.

    margins: what all tables say of these.
    """

    domain: Domain
    own: Mask
    margins: tuple[Mapping[str, int], ...]

    @classmethod
    def of(cls, model: LocalFit, asked: Mapping[str, int]) -> "Fitted":
        domain, masks, own = model.domain, model.everything.masks, 0
        maximal = [mask for mask in masks if not any(mask != other and not mask & ~other for other in masks)]
        for a in asked:
            alone = domain.attribute_masks[domain.index(a)]
            holding = [mask for mask in maximal if mask & alone]
            shown = domain.margin(holding[0]) if len(holding) == 1 else (a,)
            own |= alone | sum(domain.attribute_masks[domain.index(b)] for b in shown if b != a)
        return cls(domain, own, tuple(domain.margin(mask & own) for mask in masks))

    def fit(self, joint: Array, core: Iterable[Mapping[str, int]]) -> Array:
        """Over the full joint, in which the other attributes are even."""
        tree = iterative_proportional_fitting(joint, self.domain, core)
        kept = self.domain.margin(self.own)
        start = dense_marginal(tree, self.domain, kept)[places(self.domain, kept)]
        return iterative_proportional_fitting(joint, self.domain, self.margins, start=start / start.sum())

    def is_met(self, fitted: Array, joint: Array) -> bool:
        return all(np.abs(dense_marginal(fitted - joint, self.domain, margin)).max() < 1e-9 for margin in self.margins)


def _in_order(dense: Array, domain: Domain, asked: Mapping[str, int]) -> Array:
    axes = [domain.index(a) for a in asked]
    dropped = tuple(axis for axis in range(dense.ndim) if axis not in axes)
    return dense.sum(axis=dropped).transpose([sorted(axes).index(axis) for axis in axes])


@given(cores(max_cells=100), st.data())
def test_published_tables_are_answered_exactly_and_no_further_tables_change_nothing(
    core: Core, data: st.DataObject
) -> None:
    further = data.draw(further_masks(core))
    tree = MarginalModel(core.collection)
    model = LocalFit(tree, further)
    for mask, table in zip(model.everything.masks, model.everything.tables):
        answer = model.answer(table.margin)
        assert answer.kind is Kind.PUBLISHED
        joint = joint_array(core.collection.cube.table(sum(model.domain.attribute_masks)))
        dense = dense_marginal(joint, model.domain, table.margin)
        assert np.array_equal(answer.counts, _in_order(dense, model.domain, table.margin)), mask
    asked = data.draw(margins(core.collection.domain))
    assert LocalFit(tree, ()).expected(asked) == pytest.approx(tree.expected(asked))


def test_two_triples_beside_each_other_meet_where_all_attributes_are_fitted() -> None:
    """Three pairs of four attributes say more of a triple than the triple's own pairs do."""
    rng = np.random.default_rng(3)
    domain = Domain.of({name: Hierarchy.flat("xyz") for name in "abcd"})
    cells = np.indices((3, 3, 3, 3)).reshape(4, -1)
    counts = rng.integers(1, 40, 81)
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), dict(zip("abcd", cells)), counts)])
    ones = Collection.of(cube, [domain.mask({a: 0}) for a in "abcd"])
    further = [domain.mask(dict.fromkeys(pair, 0)) for pair in ("ab", "bc", "cd", "ad")]
    asked = {"a": 0, "b": 0, "c": 0}
    some, every = (LocalFit(MarginalModel(ones), tuple(further), cells=cells) for cells in (0, LAID_OUT))
    assert some.answer(asked).kind is Kind.SOME
    assert every.answer(asked).kind is Kind.ALL
    assert not np.allclose(some.expected(asked), every.expected(asked), rtol=1e-3)


def test_a_margin_that_is_too_large_to_be_laid_out_is_refused() -> None:
    domain = Domain.of({name: Hierarchy.flat(map(str, range(400))) for name in "abc"})
    one = {name: np.zeros(1, dtype=np.intp) for name in "abc"}
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), one, [5])])
    model = LocalFit(MarginalModel(Collection.of(cube, [domain.mask({"a": 0, "b": 0})])), ())
    with pytest.raises(TooManyCellsError, match="64,000,000 cells is more than"):
        model.answer(dict.fromkeys("abc", 0))
