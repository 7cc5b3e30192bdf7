"""Plausible tables of a release, and intervals by them for numbers that no published table decides.

Bounds hold for certain, and are often wide. An interval says between which numbers one would expect the truth if what no
table shows is as strong as what is shown (`models.inference.plausible_tables`). How often this holds: page of yardsticks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from marginals.arguments import require, require_whole_number
from marginals.conditions import Where
from marginals.errors import InputError
from marginals.estimates import rows_frame
from marginals.published_values import values_meant
from models.arrays import CodeArray, FloatArray
from models.inference.marginal_model import MarginalModel
from models.inference.plausible_tables import PlausibleTables

if TYPE_CHECKING:
    import pandas as pd

_WIDENED = 1.5
"""By how much an interval reaches further from the median than the quantiles of the drawn tables do, which by
themselves hold the truth in too few cases where all attributes follow one trait."""

_MOST_TABLES = 10_000

Statistic = Callable[["pd.DataFrame"], float]
"""A number of a table, a frame with a row for each person and a column for each published attribute."""


@dataclass(frozen=True)
class PlausibleInterval:
    """Between which numbers one would expect the truth, by tables with the published counts.

    level: the share of cases in which the truth is meant to lie inside. middle: the median over the tables. tables: how many
    were drawn.
    """

    lower: float
    middle: float
    upper: float
    level: float
    tables: int

    def __str__(self) -> str:
        return (
            f"{self.lower:,.4g} to {self.upper:,.4g} (about {self.middle:,.4g}; {self.level:.0%}, by {self.tables} tables "
            "in which what no table shows is as strong as what is shown)"
        )


def drawn_tables(model: MarginalModel, count: int, seed: int) -> Iterator["pd.DataFrame"]:
    """So many plausible tables, one after the other, each with the seed and its number in `attrs`.

    Raises InputError where the published tables have no junction tree, since exchanges along one make the draws.
    """
    require_whole_number(count, "count", 1, _MOST_TABLES)
    return _frames(model, _drawn(model, count, seed), seed)  # refuses at once: a generator would when it is first read


def _frames(model: MarginalModel, drawn: Iterator[dict[str, CodeArray]], seed: int) -> Iterator["pd.DataFrame"]:
    from marginals import __version__  # known once the package is imported

    for number, codes in enumerate(drawn):
        levels = {name: model.finest_levels[name] for name in codes}
        frame = rows_frame(model, levels, codes)
        frame.attrs |= {"plausible_table": number, "seed": seed, "version": __version__}
        yield frame


def plausible_interval(
    model: MarginalModel, statistic: Statistic | Where, level: float, count: int, seed: int
) -> PlausibleInterval:
    """The interval of a number of a table, or of the rows that a condition means: then within their certain bounds.

    Raises InputError where the tables have no junction tree, for what is no level between 0 and 1, and for a statistic that
    is no finite number of each table.
    """
    require(level, float, "level", "a share such as 0.95")
    if not 0 < level < 1:
        raise InputError(f"level is a share between 0 and 1, such as 0.95, not {level:g}")
    require_whole_number(count, "count", 2, _MOST_TABLES)
    if callable(statistic):
        numbers = [float(statistic(table)) for table in drawn_tables(model, count, seed)]
        if undefined := sum(not np.isfinite(number) for number in numbers):
            raise InputError(
                f"the statistic is no finite number of {undefined:,} of {count:,} plausible tables, so it has no interval; "
                "a mean over rows is none where a table has no such row"
            )
        return interval_of(numbers, level)
    box = model.box(values_meant(model.domain, model.finest_levels, statistic))
    shares = {name: box.share(name, model.finest_levels[name]) for name in box.inside}
    bounds = box.bounds()
    interval = interval_of([_rows_inside(codes, shares, model.total) for codes in _drawn(model, count, seed)], level)
    return replace(interval, lower=max(interval.lower, bounds.lower), upper=min(interval.upper, bounds.upper))


def interval_of(numbers: Sequence[float], level: float) -> PlausibleInterval:
    """The interval of a number of drawn tables. level: the share of cases that it is meant to hold in."""
    outside = (1 - level) / 2
    lower, middle, upper = np.quantile(np.array(numbers), [outside, 0.5, 1 - outside]).tolist()
    lower, upper = middle - _WIDENED * (middle - lower), middle + _WIDENED * (upper - middle)
    return PlausibleInterval(lower, middle, upper, level, len(numbers))


def _drawn(model: MarginalModel, count: int, seed: int) -> Iterator[dict[str, CodeArray]]:
    require_whole_number(seed, "seed", 0)
    if not model.collection.is_decomposable:
        raise InputError(
            "plausible tables are drawn along a junction tree, and the tables of this release have none; "
            "bounds hold all the same: release.count(...)"
        )
    return islice(PlausibleTables(model.collection).drawn(np.random.default_rng(seed)), count)


def _rows_inside(codes: Mapping[str, CodeArray], shares: Mapping[str, FloatArray], total: int) -> float:
    inside = np.ones(total)
    for name, share in shares.items():
        inside *= share[codes[name]] if name in codes else share[0]
    return float(inside.sum())
