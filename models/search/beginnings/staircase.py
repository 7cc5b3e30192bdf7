"""The staircase of two attributes: their margins that are allowed, of which none that is finer is."""

from collections.abc import Callable, Iterator, Sequence

from models.tables.domain import Mask


def staircase(
    ones: Sequence[Mask], others: Sequence[Mask], is_allowed: Callable[[Mask], bool]
) -> Iterator[tuple[Mask, Mask]]:
    """For margins of one attribute, the coarsest first, the finest of another attribute that is allowed beside each.

    others: of the other attribute, the coarsest first. Whatever is coarser than an allowed margin is taken to be allowed. A
    margin is looked at only where the next coarser one is allowed, since others may have too many cells to be counted. It
    ends where nothing is allowed beside one.

    >>> list(staircase([0b1, 0b11], [0b100, 0b1100], lambda margin: margin != 0b1111))
    [(1, 12), (3, 4)]
    """
    fine = -1
    for one in ones:
        if not is_allowed(one):
            return
        if fine < 0:
            while fine + 1 < len(others) and is_allowed(others[fine + 1]) and is_allowed(one | others[fine + 1]):
                fine += 1
        else:
            while fine >= 0 and not is_allowed(one | others[fine]):
                fine -= 1
        if fine < 0:
            return
        yield one, others[fine]
