"""What levels tell that are fitted to the counts of a table: each merged group holds a value with few rows.

Values are merged for ascending sizes t_1 < t_2 < ..., and a level is noted at the first that gives it. Then each of its
groups has t rows or more, and each that was merged holds a value with 1 to t - 1 rows (`models.ladders.merging`). Who knows
that levels were fitted so, but not at which size, knows that t is at most the rows of the smallest group, which is
published: so it is at most the largest size that does not exceed these.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from models.graphs.collection import Collection
from models.ladders.thresholds import FittedLadder, thresholds


@dataclass(frozen=True)
class LevelTold:
    """What a published level tells: each of its merged groups holds a value with 1 to `fewer_than` - 1 rows.

    groups: that have rows; merged: how many of them hold several values.
    """

    attribute: str
    level: int
    groups: int
    merged: int
    fewer_than: int

    def as_json(self) -> dict[str, Any]:
        """What is told, as plain values."""
        return asdict(self)


def levels_told(collection: Collection, ladders: Mapping[str, FittedLadder]) -> tuple[LevelTold, ...]:
    """What the published levels of attributes with fitted ladders tell, the finest first, where groups were merged."""
    told = []
    for attribute, ladder in ladders.items():
        levels = {margin[attribute] for margin in collection.margins if attribute in margin}
        for level in sorted(levels):
            if (own := level_told(collection, attribute, level, ladder)) is not None:
                told.append(own)
    return tuple(told)


def level_told(collection: Collection, attribute: str, level: int, ladder: FittedLadder) -> LevelTold | None:
    """What one level tells whose counts follow from the collection; None where nothing of it was merged."""
    hierarchy = collection.domain.hierarchy(attribute)
    if not ladder.start < level < hierarchy.height:
        return None
    table = collection.cube.table(collection.domain.mask({attribute: level}))
    values = np.bincount(hierarchy.lift(ladder.start, level).astype(np.intp), minlength=hierarchy.size(level))
    merged = int(np.count_nonzero(values[table.codes[0]] > 1))
    smallest = int(table.counts.min(initial=table.total))
    sizes = [size for size in thresholds(ladder.k, table.total) if size <= smallest]
    if not merged or not sizes:
        return None
    return LevelTold(attribute, level, len(table), merged, sizes[-1])
