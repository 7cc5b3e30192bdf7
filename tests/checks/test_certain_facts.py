"""Facts are those of all populations that fit, which are listed one by one."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import FactCriteria, FactKind, certain_facts
from interval_oracles import Published, random_published
from models import CountArray, DomainMismatchError, LinkedTables, linked_tables, proven_bounds
from models.intervals.proofs import BoundScope


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 2]))
def test_facts_are_those_of_all_populations_that_fit(seed: int, small: int | None) -> None:
    published = random_published(np.random.default_rng(seed))
    linked = linked_tables(published.tables, published.classifications)
    bounds = proven_bounds(linked, BoundScope(small))
    assert bounds.decided.all()
    fitting = published.fitting()
    counts = np.stack(
        [published.count(fitting, [s[c] for s, c in zip(linked.sets, key)]) for key in linked.keys.tolist()]
    )
    facts = certain_facts(linked, bounds, FactCriteria(small=2, sensitive=("a",)))
    told = {kind: {fact.cell for fact in facts if fact.kind is kind} for kind in FactKind}
    low, high, was_open = counts.min(axis=1), counts.max(axis=1), linked.lower < linked.upper
    recovered = linked.is_published & was_open & (low == high)
    assert told[FactKind.RECOVERED] == set(np.flatnonzero(recovered).tolist())
    implied = linked.is_published & (linked.lower >= 1) & (linked.upper <= 2)
    small_ones = was_open & (low >= 1) & (high <= 2) & ~recovered & ~implied
    assert told[FactKind.SMALL] == set(np.flatnonzero(small_ones).tolist())
    exists = was_open & (low >= 1) & (linked.lower < 1) & ~recovered & ~small_ones
    assert told[FactKind.EXISTS] == set(np.flatnonzero(exists).tolist())
    assert told[FactKind.SENSITIVE] == set(_alone(published, linked, fitting, counts))


def _alone(published: Published, linked: LinkedTables, fitting: CountArray, counts: CountArray) -> Iterator[int]:
    """The narrowest values of the first attribute that everybody of a group has in every population."""
    values = published.classifications[0]
    alone = []
    for cell, key in enumerate(linked.keys.tolist()):
        value, *group = (known[code] for known, code in zip(linked.sets, key))
        everybody = published.count(fitting, [values.everything, *group])
        is_value = value != values.everything and value in map(values.members, (*values.base, *values.groups))
        if is_value and counts[cell].min() >= 1 and np.array_equal(counts[cell], everybody):
            alone.append((value, group, cell))
    for value, group, cell in alone:
        if not any(other == group and narrower != value and not narrower & ~value for narrower, other, _ in alone):
            yield cell


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(DomainMismatchError, match="at least 1"):
        FactCriteria(small=0)
