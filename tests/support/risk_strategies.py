"""Hypothesis strategies for disclosure risk: records at levels of their own, dictionaries and sensitivities."""

import numpy as np

from checks import Constant, Dictionary, Linear, Multiplicative, Records, RecordSpace, Weights
from dice import Dice, Thrown
from models import FloatArray, Taxonomy
from strategies import domains


@Thrown
def spaces(dice: Dice) -> RecordSpace:
    """Records over 1 .. 4 small attributes."""
    return RecordSpace(domains.of(dice, min_attributes=1))


@Thrown
def records(dice: Dice, space: RecordSpace, min_size: int = 1, max_size: int = 8) -> Records:
    """Some records, each value at any level, alike ones included."""
    size = dice.between(min_size, max_size)
    columns = [[dice.between(0, root) for _ in range(size)] for root in space.roots.tolist()]
    return Records(space, np.array(columns, dtype=np.intp).reshape(len(space), size).T)


@Thrown
def generalizations(dice: Dice, originals: Records) -> Records:
    """The records with each value at the same or a higher level."""
    levels = np.array([dice.below(4) for _ in range(originals.nodes.size)], dtype=np.intp)
    return originals.generalized(np.minimum(levels.reshape(originals.nodes.shape), originals.space.heights))


@Thrown
def dictionaries(dice: Dice, space: RecordSpace, max_size: int = 12) -> Dictionary:
    """Entries at any levels, for people with any numbers."""
    entries = records.of(dice, space, 1, max_size)
    return Dictionary(entries, np.array(dice.some(len(entries), range(51))))


def constant_shares(taxonomy: Taxonomy) -> FloatArray:
    """A value weighs the same however general, nothing when suppressed (LSFB09 eq. 2): shape (nodes,)."""
    return np.array([float(node != taxonomy.root) for node in range(taxonomy.size)])


def harmonic_means(taxonomy: Taxonomy, base: FloatArray) -> FloatArray:
    """w_p = 1 / sum(1 / w_i) over the children of each node themselves, the root 0; infinite and zero weights included."""
    shares = np.concatenate([base, np.zeros(taxonomy.size - len(base))])
    with np.errstate(divide="ignore"):
        for node in range(len(base), taxonomy.root):
            shares[node] = 1 / np.sum(1 / shares[np.flatnonzero(taxonomy.parents[:-1] == node)])
    shares[taxonomy.root] = 0
    return shares


def entries_consistent_with(dictionary: Dictionary, record: Records) -> int:
    """How many entries are consistent with one record."""
    repeated = Records(dictionary.space, np.broadcast_to(record.nodes, dictionary.entries.nodes.shape))
    return int(dictionary.entries.is_consistent_with(repeated).sum())


_AMOUNTS = (0.0, 0.25, 1.0, 3.0, np.inf)


@Thrown
def sensitivities(dice: Dice, space: RecordSpace, people: int) -> Linear | Multiplicative:
    """Each parametric family, personal or not, with interactions or not, infinite weights included."""
    if dice.below(4) == 3:
        return Constant(dice.one_of([0.0, 1.0, 2.5]))
    shares = []
    for taxonomy in space.taxonomies:
        base = [dice.one_of(_AMOUNTS) for _ in range(taxonomy.hierarchy.size(0))]
        shares.append(harmonic_means(taxonomy, np.array(base)))
    terms = [(axis,) for axis in range(len(space))]
    if dice.yes():
        terms += [(axis, other) for axis in range(len(space)) for other in range(axis)]
    count = len(terms) * (people if dice.yes() else 1)
    of_terms = np.array([dice.one_of(_AMOUNTS) for _ in range(count)])
    weights = Weights(tuple(shares), tuple(terms), of_terms if count == len(terms) else of_terms.reshape(people, -1))
    return dice.one_of([Linear, Multiplicative])(weights)
