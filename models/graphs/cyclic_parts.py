"""Cyclic parts: what is left of a collection without the margins that hang on a single other one.

A margin hangs on another when that holds all that it shares with the rest. Taking such margins away, one after another,
leaves nothing exactly where there is a junction tree (Graham 1979; Beeri, Fagin, Maier and Yannakakis, On the Desirability
of Acyclic Database Schemes, JACM 30(3) 1983, Theorem 3.4).
"""

from collections.abc import Sequence

from models.graphs.collection import Collection
from models.graphs.junction_tree import maximal_masks
from models.tables.domain import Mask


def cyclic_parts(collection: Collection) -> tuple[Collection, ...]:
    """The parts that share no attribute, with their supports; none where the margins form a junction tree by themselves.

    Tables with the marginals of each part, and of the margins that were taken away, can be glued to one with all of them:
    they agree on what they share, which a margin of the rest shows.
    """
    supports = [collection.domain.mask(support.cells.margin) for support in collection.supports]
    margins = maximal_masks(collection.masks)
    while hanging := next((own for own in margins if _hangs(own, margins, supports)), 0):
        margins.remove(hanging)
    parts = []
    while margins:
        held = _connected(margins[0], [*margins, *supports])
        own = [support for support, mask in zip(collection.supports, supports) if mask & held]
        parts.append(Collection.of(collection.cube, (mask for mask in margins if mask & held), own))
        margins = [mask for mask in margins if not mask & held]
    return tuple(parts)


def _hangs(margin: Mask, margins: Sequence[Mask], supports: Sequence[Mask]) -> bool:
    """Whether some other margin holds all that this one shares with the rest, or it shares nothing."""
    others = [other for other in margins if other != margin]
    shared = 0
    for other in (*others, *supports):
        shared |= margin & other
    return not shared or any(not shared & ~other for other in others)


def _connected(start: Mask, masks: Sequence[Mask]) -> Mask:
    """All induced attributes that overlapping masks link to some."""
    held, before = start, 0
    while held != before:
        before = held
        for mask in masks:
            held |= mask if mask & held else 0
    return held
