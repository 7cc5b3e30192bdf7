"""Facts are those of all populations that fit, which are listed one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.attacks.knowledge import Asked, FactKind, certain_facts
from interval_oracles import random_published
from models.errors import DomainMismatchError
from models.intervals.linked_tables import linked_tables
from models.intervals.proofs import Reach, proven_bounds


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 2]))
def test_facts_are_those_of_all_populations_that_fit(seed: int, small: int | None) -> None:
    published = random_published(np.random.default_rng(seed))
    linked = linked_tables(published.tables, published.classifications)
    bounds = proven_bounds(linked, Reach(small))
    assert bounds.decided.all()
    fitting = published.fitting()
    counts = np.stack(
        [published.count(fitting, [s[c] for s, c in zip(linked.sets, key)]) for key in linked.keys.tolist()]
    )
    facts = certain_facts(linked, bounds, Asked(small=2, sensitive=("a",)))
    told = {kind: {fact.cell for fact in facts if fact.kind is kind} for kind in FactKind}
    low, high, was_open = counts.min(axis=1), counts.max(axis=1), linked.lower < linked.upper
    recovered = linked.is_published & was_open & (low == high)
    assert told[FactKind.RECOVERED] == set(np.flatnonzero(recovered).tolist())
    implied = linked.is_published & (linked.lower >= 1) & (linked.upper <= 2)
    small_ones = was_open & (low >= 1) & (high <= 2) & ~recovered & ~implied
    assert told[FactKind.SMALL] == set(np.flatnonzero(small_ones).tolist())
    exists = was_open & (low >= 1) & (linked.lower < 1) & ~recovered & ~small_ones
    assert told[FactKind.EXISTS] == set(np.flatnonzero(exists).tolist())
    for cell in told[FactKind.SENSITIVE]:
        group = [s[c] for s, c in zip(linked.sets, linked.keys[cell].tolist())]
        group[0] = published.classifications[0].everything
        assert np.array_equal(published.count(fitting, group), counts[cell])
        assert low[cell] >= 1


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(DomainMismatchError, match="at least 1"):
        Asked(small=0)
