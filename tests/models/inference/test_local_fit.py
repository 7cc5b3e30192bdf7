"""Answers beside a junction tree are the fit of its marginal to the tables that bear on them: a dense fit is the oracle."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import Array, dense_marginal, iterative_proportional_fitting, joint_array, places
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, MarginalModel, Mask, TooManyCellsError
from models.inference.local_fit import Kind, LocalFit
from strategies import Core, cores, further_masks, margins

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
    joint, shown = joint_array(model.everything.cube.table(_whole(model.domain))) / model.total, Fitted.of(model, asked)
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


def _whole(domain: Domain) -> Mask:
    return sum(domain.attribute_masks)


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
        dense = dense_marginal(
            joint_array(core.collection.cube.table(_whole(core.collection.domain))),
            core.collection.domain,
            table.margin,
        )
        assert np.array_equal(answer.counts, _in_order(dense, core.collection.domain, table.margin)), mask
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
