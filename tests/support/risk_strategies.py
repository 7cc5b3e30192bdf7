"""Hypothesis strategies for disclosure risk: records at levels of their own, dictionaries and sensitivities."""

import numpy as np
from hypothesis import strategies as st

from checks.risk.dictionary import Dictionary
from checks.risk.record import Records, RecordSpace
from checks.risk.sensitivity import Constant, Linear, Multiplicative, Sensitivity, Weights, harmonic_shares
from strategies import domains


@st.composite
def spaces(draw: st.DrawFn) -> RecordSpace:
    """Records over 1 .. 4 small attributes."""
    return RecordSpace(draw(domains(min_attributes=1)))


@st.composite
def records(draw: st.DrawFn, space: RecordSpace, min_size: int = 1, max_size: int = 8) -> Records:
    """Some records, each value at any level, alike ones included."""
    size = draw(st.integers(min_size, max_size))
    columns = [draw(st.lists(st.integers(0, root), min_size=size, max_size=size)) for root in space.roots.tolist()]
    return Records(space, np.array(columns, dtype=np.intp).reshape(len(space), size).T)


@st.composite
def generalizations(draw: st.DrawFn, originals: Records) -> Records:
    """The records with each value at the same or a higher level."""
    cells = originals.nodes.size
    levels = draw(st.lists(st.integers(0, 3), min_size=cells, max_size=cells))
    wanted = np.minimum(np.array(levels, dtype=np.intp).reshape(originals.nodes.shape), originals.space.heights)
    return originals.generalized(wanted)


@st.composite
def dictionaries(draw: st.DrawFn, space: RecordSpace, max_size: int = 12) -> Dictionary:
    """Entries at any levels, for people with any numbers."""
    entries = draw(records(space, 1, max_size))
    people = draw(st.lists(st.integers(0, 50), min_size=len(entries), max_size=len(entries), unique=True))
    return Dictionary(entries, np.array(people))


_AMOUNTS = st.sampled_from([0.0, 0.25, 1.0, 3.0, np.inf])


@st.composite
def sensitivities(draw: st.DrawFn, space: RecordSpace, people: int) -> Sensitivity:
    """Each parametric family, personal or not, with interactions or not, infinite weights included."""
    if draw(st.booleans()) and draw(st.booleans()):
        return Constant(draw(st.sampled_from([0.0, 1.0, 2.5])))
    shares = []
    for taxonomy in space.taxonomies:
        leaves = taxonomy.hierarchy.size(0)
        base = draw(st.lists(_AMOUNTS, min_size=leaves, max_size=leaves))
        shares.append(harmonic_shares(taxonomy, np.array(base)))
    terms = [(axis,) for axis in range(len(space))]
    if draw(st.booleans()):
        terms += [(axis, other) for axis in range(len(space)) for other in range(axis)]
    count = len(terms) * (people if draw(st.booleans()) else 1)
    of_terms = np.array(draw(st.lists(_AMOUNTS, min_size=count, max_size=count)))
    weights = Weights(tuple(shares), tuple(terms), of_terms if count == len(terms) else of_terms.reshape(people, -1))
    return draw(st.sampled_from([Linear, Multiplicative]))(weights)
