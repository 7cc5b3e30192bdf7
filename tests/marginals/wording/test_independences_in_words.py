"""Independences read as sentences, with the names of levels where an attribute has several."""

from marginals.wording.independences_in_words import independences_in_words
from models.graphs.junction_tree import JunctionTree
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy


def test_an_attribute_can_be_independent_of_others_given_its_own_coarser_level():
    domain = Domain.of({"age": Hierarchy.from_intervals(["20", "39"], [10]), "sex": Hierarchy.flat(["f", "m"])})
    masks = [domain.mask({"age": 0}), domain.mask({"age": 1, "sex": 0})]
    assert independences_in_words(JunctionTree.of(domain, masks)) == (
        "Given age in 10-year bands, age in single years is independent of sex.",
    )


def test_two_parts_of_several_attributes():
    domain = Domain.of({name: Hierarchy.flat(["no", "yes"]) for name in "abcde"})
    tree = JunctionTree.of(domain, [0b00111, 0b11100])
    assert independences_in_words(tree) == ("Given c, a and b are independent of d and e.",)
    assert independences_in_words(JunctionTree.of(domain, [0b11111])) == ()
