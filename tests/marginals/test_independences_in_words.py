"""Independences read as sentences, with the names of levels where an attribute has several."""

import numpy as np
import pytest

from marginals.names import assumed_independences, independences_in_words
from models import Collection, Domain, Hierarchy, JunctionTree, MarginalModel, mutual_information
from models.graphs.junction_tree import independences, triangulated_tree
from strategies import NOT_DECOMPOSABLE, SHAPE_DOMAIN, SHAPES, shape_cube


def test_an_attribute_can_be_independent_of_others_given_its_own_coarser_level():
    domain = Domain.of({"age": Hierarchy.from_intervals(["20", "39"], [10]), "sex": Hierarchy.flat(["f", "m"])})
    masks = [domain.mask({"age": 0}), domain.mask({"age": 1, "sex": 0})]
    assert independences_in_words(JunctionTree.of(domain, masks)) == (
        "Given age in 10-year bands, age in single years is independent of sex.",
    )


def test_two_parts_of_several_attributes():
    domain = Domain.of({name: Hierarchy.flat(["no", "yes"]) for name in "abcde"})
    tree = JunctionTree.of(domain, [0b00111, 0b11100])
    assert independences_in_words(tree) == ("Given c, a and b are jointly independent of d and e.",)
    assert independences_in_words(JunctionTree.of(domain, [0b11111])) == ()


@pytest.mark.parametrize("shape", sorted(NOT_DECOMPOSABLE))
def test_what_is_said_without_a_junction_tree_is_true_of_the_fitted_distribution(shape):
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    tree = triangulated_tree(collection)
    assert assumed_independences(collection) == independences_in_words(tree)
    model, domain = MarginalModel(collection), collection.domain
    for statement in independences(tree):
        given = domain.margin(statement.given)
        first, second = (domain.margin(part) for part in statement.parts[:2])
        joint = model.expected({**given, **first, **second})
        shape_of = [int(np.prod([domain.hierarchy(a).size(m[a]) for a in m])) for m in (given, first, second)]
        slices = joint.reshape(shape_of)
        assert sum(part.sum() * mutual_information(part) for part in slices if part.sum()) == pytest.approx(0, abs=1e-4)
