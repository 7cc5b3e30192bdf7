"""The risk under a specific dictionary bounds that under every more general one (LSFB09 Proposition 1)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Constant, Dictionary, Harm, Records, RecordSpace, losses
from checks.errors import IncomparableError
from checks.risk.disclosure import contains, precedes, upper_bound
from checks.risk.harm import risk
from models import Domain, Hierarchy
from risk_strategies import dictionaries, generalizations, records, sensitivities, spaces


@st.composite
def more_general(draw: st.DrawFn, dictionary: Dictionary) -> Dictionary:
    """All the people of a dictionary at higher levels, in another order, with some others among them."""
    identifiers = dictionary.identifiers
    assert identifiers is not None
    others = draw(dictionaries(dictionary.space))
    nodes = np.concatenate([draw(generalizations(dictionary.entries)).nodes, others.entries.nodes])
    numbers = np.concatenate([identifiers, 1000 + np.arange(len(others))])
    order = np.array(draw(st.permutations(range(len(numbers)))))
    return Dictionary(Records(dictionary.space, nodes[order]), numbers[order])


@given(st.data())
def test_the_estimated_risk_is_never_below_the_true_one(data: st.DataObject) -> None:
    space = data.draw(spaces())
    originals = data.draw(records(space))
    disclosed = data.draw(generalizations(originals))
    identifiers, others = np.arange(100, 100 + len(originals)), data.draw(dictionaries(space))
    known = np.concatenate([data.draw(generalizations(originals)).nodes, others.entries.nodes])
    assert others.identifiers is not None
    estimated = Dictionary(Records(space, known), np.concatenate([identifiers, others.identifiers]))
    true = data.draw(more_general(Dictionary(estimated.entries, estimated.identifiers)))
    harm = Harm(data.draw(sensitivities(space, len(originals))))
    assert precedes(estimated, true)
    assert contains(estimated, originals, identifiers)
    bound = upper_bound(disclosed, originals, identifiers, estimated, harm)
    assert bound == risk(disclosed, estimated, harm)
    assert risk(disclosed, true, harm) <= bound
    assert np.all(losses(disclosed, true, harm) <= losses(disclosed, estimated, harm))


@given(st.data())
def test_the_order_is_a_partial_order(data: st.DataObject) -> None:
    """Reflexive, transitive, and antisymmetric up to the order of entries; decided person by person (Definition 5)."""
    first = data.draw(dictionaries(data.draw(spaces())))
    second = data.draw(dictionaries(first.space))
    assert first.identifiers is not None
    assert second.identifiers is not None
    entry_of = dict(zip(second.identifiers.tolist(), range(len(second))))
    expected = all(
        person in entry_of
        and bool(first.entries[np.array([row])].is_below(second.entries[np.array([entry_of[person]])])[0])
        for row, person in enumerate(first.identifiers.tolist())
    )
    assert precedes(first, second) == expected
    assert precedes(first, first)
    third = data.draw(more_general(first))
    assert precedes(first, third)
    if precedes(third, first):
        assert len(third) == len(first)
        assert np.array_equal(
            third.entries.nodes[np.argsort(third.identifiers)], first.entries.nodes[np.argsort(first.identifiers)]
        )


def test_where_the_proposition_says_nothing_neither_do_we() -> None:
    space = RecordSpace(Domain.of({"name": Hierarchy.flat(["Ann", "Bob"])}))
    originals = Records(space, np.array([[0], [1]]))
    numbers = np.array([1, 2])
    known, harm = Dictionary(originals, numbers), Harm(Constant(1))
    assert upper_bound(originals, originals, numbers, known, harm) == 1
    with pytest.raises(IncomparableError, match="lacks the person"):
        upper_bound(originals, originals, np.array([1, 3]), known, harm)
    with pytest.raises(IncomparableError, match="no generalization"):
        upper_bound(originals[np.array([1, 0])], originals, numbers, known, harm)
    with pytest.raises(IncomparableError, match="not found"):
        upper_bound(originals, originals, numbers, known, Harm(Constant(1), Constant(2)))
    with pytest.raises(IncomparableError, match="identifiers"):
        precedes(Dictionary(originals), known)
    with pytest.raises(IncomparableError, match="identifier"):
        upper_bound(originals, originals, numbers, Dictionary(originals), harm)
    assert not precedes(known, Dictionary(originals[np.array([0])], np.array([1])))
    assert not precedes(known, Dictionary(Records(space, np.zeros((0, 1), dtype=np.intp)), np.zeros(0, dtype=np.int64)))
