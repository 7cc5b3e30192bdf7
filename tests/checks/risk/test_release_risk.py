"""The risk of a release is what a walk over its maxent distribution says, and that of a table where it is one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import base_cells
from checks import (
    Constant,
    Dictionary,
    Harm,
    Linear,
    Multiplicative,
    Records,
    RecordSpace,
    Weights,
    consistent_counts,
    losses,
)
from checks.risk.harm import Sensitivity, release_risk
from marginals import SensitivityError
from models import Collection, DataCube, Domain, DomainMismatchError, MaximumEntropy
from risk_strategies import constant_shares, records, sensitivities
from strategies import data_cubes, decomposable_collections, margins, shape_cube


def has_closed_form(sensitivity: Sensitivity) -> bool:
    return not isinstance(sensitivity, Multiplicative) or all(len(term) == 1 for term in sensitivity.weights.terms)


def base_rows(collection: Collection, space: RecordSpace) -> Records:
    """One record for each row of the data behind a collection."""
    table = collection.cube.table(sum(collection.domain.attribute_masks))
    codes = {a: np.repeat(column, table.counts) for a, column in zip(table.attributes, table.codes)}
    return Records.from_codes(space, codes)


@settings(max_examples=60)
@given(decomposable_collections(), st.data())
def test_it_is_that_of_a_random_row_that_fits(collection: Collection, data: st.DataObject) -> None:
    space = RecordSpace(collection.domain)
    people = data.draw(records(space, max_size=5))
    phi = data.draw(sensitivities(space, len(people)).filter(has_closed_form))
    found = release_risk(collection, Dictionary(people), phi)
    finest = list(collection.finest_levels.values())
    expected = np.exp(MaximumEntropy(collection).log_probability(base_cells(space.domain))) * collection.cube.total
    rows = Records.from_codes(space, base_cells(space.domain)).generalized(finest)
    shown = people.generalized(finest)
    for person in range(len(people)):
        fits = rows.is_below(shown[np.full(len(rows), person)])
        fitting = expected[fits].sum()
        assert found.fitting[person] == pytest.approx(fitting, abs=1e-6)
        same = np.sum([shown[np.array([person])].is_consistent_with(shown[np.array([o])]) for o in range(len(people))])
        if fitting > 1e-9:
            # Full cells are what is published of a row: base cells that read alike are one.
            cells, cell = rows.distinct()
            counts = np.bincount(cell, np.where(fits, expected, 0.0))
            kept = counts > 0
            harm = phi(cells, np.full(len(cells), person))[kept]
            shares, link = counts[kept] / fitting, 1 / max(fitting, same, 1)
            assert found.identification_probability[person] == pytest.approx(min(link, shares @ shares))
            assert found.loss[person] == pytest.approx(min(harm @ shares * link, harm @ shares**2))
        else:
            assert found.loss[person] == 0


@settings(max_examples=60)
@given(data_cubes(), st.data())
def test_one_marginal_risks_what_disclosing_that_table_does(cube: DataCube, data: st.DataObject) -> None:
    """The dictionary being the table."""
    collection = Collection.of(cube, [cube.domain.mask(data.draw(margins(cube.domain)))])
    space = RecordSpace(collection.domain)
    people = base_rows(collection, space)
    phi = data.draw(sensitivities(space, len(people)).filter(has_closed_form))
    finest = list(collection.finest_levels.values())
    disclosed = people.generalized(finest)
    found = release_risk(collection, Dictionary(people), phi)
    assert found.loss == pytest.approx(losses(disclosed, Dictionary(people), Harm(phi)))
    assert found.bounds == pytest.approx((found.risk, found.risk))


@settings(max_examples=60)
@given(decomposable_collections())
def test_the_bounds_hold_for_the_rows_that_do_fit(collection: Collection) -> None:
    space = RecordSpace(collection.domain)
    people = base_rows(collection, space)
    finest = list(collection.finest_levels.values())
    true = 1 / consistent_counts(people.generalized(finest), Dictionary(people.generalized(finest)))
    found = release_risk(collection, Dictionary(people), Constant(1))
    for loss in (true, found.loss):
        assert np.all(found.least_loss <= loss + 1e-9)
        assert np.all(loss <= found.most_loss + 1e-9)
    assert found.bounds[0] <= found.risk + 1e-9 <= found.bounds[1] + 2e-9


def test_publishing_less_together_is_less_risk() -> None:
    """Two candidates compared: all attributes at once, and in two halves."""
    cube = shape_cube()
    space = RecordSpace(cube.domain)
    phi = Linear(Weights.linear(map(constant_shares, space.taxonomies), [1.0, 2.0, 0.5, 0.1]))
    candidates = [[{"a": 0, "b": 0, "c": 0, "d": 0}], [{"a": 0, "b": 0}, {"c": 0, "d": 0}]]
    together, halves = (Collection.of(cube, [cube.domain.mask(m) for m in margins]) for margins in candidates)
    people = Dictionary(base_rows(together, space))
    assert release_risk(halves, people, phi).risk < release_risk(together, people, phi).risk


def test_what_has_no_answer_is_refused() -> None:
    cube = shape_cube()
    space = RecordSpace(cube.domain)
    collection = Collection.of(cube, [cube.domain.mask({"a": 0})])
    people = Dictionary(base_rows(collection, space))
    shares = tuple(map(constant_shares, space.taxonomies))
    with pytest.raises(SensitivityError, match="interactions"):
        release_risk(collection, people, Multiplicative(Weights(shares, ((0, 1),), np.ones(1))))
    with pytest.raises(SensitivityError, match="constant, linear"):
        release_risk(collection, people, lambda records, _: np.ones(len(records)))
    other = RecordSpace(Domain.of({"a": cube.domain.hierarchy("a")}))
    with pytest.raises(DomainMismatchError):
        release_risk(collection, Dictionary(Records(other, np.array([[0]]))), Constant(1))
