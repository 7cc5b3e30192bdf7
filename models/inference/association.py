"""Association: how two attributes depend on each other in a table of expected counts."""

from typing import NamedTuple

import numpy as np

from models.arrays import FloatArray
from models.x_log_x import x_log_x


def mutual_information(counts: FloatArray) -> float:
    """I(A; B | C) in nats, of counts with the axes A, B, C; without an axis C, or with one of length 1, I(A; B).

    H(A, C) + H(B, C) - H(A, B, C) - H(C), of the distribution in proportion to the counts. 0 for no counts at all.
    """
    counts = counts.reshape(*counts.shape[:2], -1)
    total = float(counts.sum())
    if total <= 0:
        return 0.0
    shares = counts / total
    margins = (shares.sum(axis=1), shares.sum(axis=0), shares, shares.sum(axis=(0, 1)))
    information = sum(sign * float(x_log_x(p).sum()) for sign, p in zip((-1, -1, 1, 1), margins))
    return max(information, 0.0)


def phi_squared(shares: FloatArray) -> float:
    """Pearson's mean square contingency of a table of shares or counts: chi-squared over the number of rows.

    shares: shape (values of one attribute, values of the other). 0 for no rows at all.
    """
    total = float(shares.sum())
    if total <= 0:
        return 0.0
    product = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    ratio = np.divide(shares * shares, product, out=np.zeros_like(product), where=product > 0)
    return max(float(ratio.sum()) - 1.0, 0.0)


def cramers_v(phi_squared: float, rows: int, values: tuple[int, int], counted: tuple[int, int] | None = None) -> float:
    """Cramer's V, from 0 to 1, less what chance alone shows in a table of so many rows (Bergsma 2013).

    values: how many values of each of the two attributes have rows. counted: how many groups of them the table has that
    phi squared comes from, if fewer; (1, 1) where chance adds nothing to it. 0 where an attribute has one value.

    >>> round(cramers_v(0.25, 400, (2, 2)), 3)
    0.498
    """
    own = counted or values
    if rows < 2 or min(values) < 2:
        return 0.0
    beyond = max(phi_squared - (own[0] - 1) * (own[1] - 1) / (rows - 1), 0.0)
    most = min(number - (number - 1) ** 2 / (rows - 1) for number in values) - 1
    return min(float(np.sqrt(beyond / most)), 1.0) if most > 0 else 0.0


class Range(NamedTuple):
    """lower <= value <= upper for certain."""

    lower: float
    upper: float


def odds_ratio(counts: FloatArray) -> float:
    """The ratio ad / bc of [[a, b], [c, d]]; infinite where only bc is 0, and nan where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(counts[0, 0] * counts[1, 1], counts[0, 1] * counts[1, 0]))


def odds_ratio_range(cells: list[list[Range]], rows: Range, columns: Range, total: Range) -> Range:
    """Between which values the odds ratio of a table of two by two lies.

    cells: bounds of a, b, c, d; rows, columns, total: of a + b, a + c, and all. Where those three are known, a decides the
    table and the ratio grows with it; elsewhere each count is taken at its worst.
    """
    (a, b), (c, d) = cells
    if all(known.lower == known.upper for known in (rows, columns, total)):
        least = max(a.lower, rows.lower + columns.lower - total.lower, 0)
        most = min(a.upper, rows.lower, columns.lower)
        ends = [
            np.array([[at, rows.lower - at], [columns.lower - at, total.lower - rows.lower - columns.lower + at]])
            for at in (least, most)
        ]
    else:
        ends = [
            np.array([[a.lower, b.upper], [c.upper, d.lower]], dtype=np.float64),
            np.array([[a.upper, b.lower], [c.lower, d.upper]], dtype=np.float64),
        ]
    lower, upper = map(odds_ratio, ends)
    return Range(0.0 if np.isnan(lower) else lower, np.inf if np.isnan(upper) else upper)
