"""Prefixes of codes (postcodes, occupations, diagnoses), found by looking at how the codes branch."""

from collections import Counter
from collections.abc import Sequence

from models.arrays import CountArray

_MOST_LEVELS = 3
_LARGE_ENOUGH = 0.5
"""Share of the rows that are to be in groups which are not rare, at the longest prefix."""


def likely_prefixes(codes: Sequence[str], counts: CountArray, rare: int) -> tuple[int, ...]:
    """Falling lengths at which codes branch: the longest one at which half of the rows are in groups that are not rare, then
    such as halve the number of groups; none where no prefix puts some codes together and keeps others apart.

    codes: distinct, of one length. counts: rows of each, shape (codes,). rare: rows, fewer of which are rare.

    >>> import numpy as np
    >>> likely_prefixes(["PT-1480", "PT-1485", "PT-3063", "PT-3068"], np.array([9, 9, 9, 9]), 10)
    (6,)
    """
    length = len(codes[0])
    groups = {kept: _groups(codes, counts, kept) for kept in range(length, 0, -1)}
    branching = [kept for kept in range(length - 1, 0, -1) if 1 < len(groups[kept]) < len(groups[kept + 1])]
    large = (kept for kept in branching if _rows_in_large(groups[kept], rare) >= _LARGE_ENOUGH * sum(counts.tolist()))
    first = next(large, branching[-1] if branching else 0)
    chosen = [first] if first else []
    for kept in branching:
        if chosen and kept < chosen[-1] and 2 * len(groups[kept]) <= len(groups[chosen[-1]]):
            chosen.append(kept)
    return tuple(chosen[:_MOST_LEVELS])


def _groups(codes: Sequence[str], counts: CountArray, kept: int) -> Counter[str]:
    """The rows of each prefix of a length."""
    groups: Counter[str] = Counter()
    for code, rows in zip(codes, counts.tolist()):
        groups[code[:kept]] += rows
    return groups


def _rows_in_large(groups: Counter[str], rare: int) -> int:
    return sum(rows for rows in groups.values() if rows >= rare)
