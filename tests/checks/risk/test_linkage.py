"""Linking a disclosed record with a public one risks what the enlarged record does (LSFB09 section 6)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Constant, Dictionary, DisclosureRuleError, Harm, Linear, Records, RecordSpace, Weights, losses
from checks.risk.harm import Links, enlarged, linkage_losses, risk, uniform_links
from models import Domain, Hierarchy
from risk_strategies import (
    constant_shares,
    dictionaries,
    entries_consistent_with,
    generalizations,
    records,
    sensitivities,
    spaces,
)


@given(st.data())
def test_losses_are_expected_over_the_links(data: st.DataObject) -> None:
    space = data.draw(spaces())
    disclosed, public = data.draw(records(space)), data.draw(records(space))
    dictionary, harm = (
        data.draw(dictionaries(space)),
        Harm(data.draw(sensitivities(space, len(disclosed))), Constant(0.25)),
    )
    links = uniform_links(disclosed, public)
    found = linkage_losses(disclosed, public, links, dictionary, harm)
    for row in range(len(disclosed)):
        own = disclosed[np.array([row])]
        fitting = [o for o in range(len(public)) if own.is_consistent_with(public[np.array([o])])[0]]
        assert sorted(links.public[links.disclosed == row].tolist()) == fitting
        person = np.array([row])
        joined = [enlarged(own, public[np.array([o])]) for o in fitting] or [own]
        each = [harm.loss(one, person, np.array([entries_consistent_with(dictionary, one)]))[0] for one in joined]
        assert found[row] == pytest.approx(np.mean(each))


@given(st.data())
def test_an_enlarged_record_refines_both(data: st.DataObject) -> None:
    space = data.draw(spaces())
    person = data.draw(records(space))
    disclosed, public = data.draw(generalizations(person)), data.draw(generalizations(person))
    joined = enlarged(disclosed, public)
    assert bool((person.is_below(joined) & joined.is_below(disclosed) & joined.is_below(public)).all())


def test_links_that_are_not_right_miss_the_person() -> None:
    space = RecordSpace(Domain.of({"name": Hierarchy.flat(["Ann", "Bob"]), "test": Hierarchy.flat(["+", "-"])}))
    disclosed, public = Records(space, np.array([[2, 0], [2, 1]])), Records(space, np.array([[0, 2], [1, 2]]))
    names = Dictionary(public)
    harm = Harm(Linear(Weights.linear(map(constant_shares, space.taxonomies), [1.0, 3.0])), Constant(0.5))
    assert risk(disclosed, names, harm) == pytest.approx(3 / 2 + 0.5 / 2)
    certain = Links(np.array([0, 1]), np.array([0, 1]), np.ones(2))
    assert linkage_losses(disclosed, public, certain, names, harm) == pytest.approx([4.0, 4.0])
    half = Links(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0.5, 0.5, 0.5]), np.array([True, False, True]))
    found = linkage_losses(disclosed, public, half, names, harm)
    alone = losses(disclosed, names, harm)
    assert found == pytest.approx([0.5 * 4 + 0.5 * 0.5, 0.5 * 4 + 0.5 * alone[1]])


def test_links_that_make_no_sense_are_refused() -> None:
    space = RecordSpace(Domain.of({"name": Hierarchy.flat(["Ann", "Bob"])}))
    names = Records(space, np.array([[0], [1]]))
    with pytest.raises(DisclosureRuleError, match="sum to at most 1"):
        Links(np.array([0, 0]), np.array([0, 1]), np.array([0.7, 0.7]))
    with pytest.raises(DisclosureRuleError, match="each"):
        Links(np.array([0]), np.array([0, 1]), np.array([0.7, 0.7]))
    with pytest.raises(DisclosureRuleError, match="contradicts"):
        linkage_losses(
            names, names, Links(np.array([0]), np.array([1]), np.ones(1)), Dictionary(names), Harm(Constant(1))
        )
