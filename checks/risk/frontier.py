"""The frontier of risk against utility: no disclosure of the records has less risk at as much utility (LSFB09 Fig. 4).

Means over the records separate: at a price for utility each record takes its own best trade-off (eq. 9). As the price
rises, records step along the lower convex hull of their own pairs of loss and utility, the cheapest step of all first.
"""

from dataclasses import dataclass

import numpy as np

from checks.risk.choosing.ladder import Ladder
from checks.risk.optimal_disclosure import DecisionProblem, Progress, unwatched
from models.arrays import FloatArray, read_only


@dataclass(frozen=True, eq=False)
class Frontier:
    """Optimal pairs of mean utility and risk, both rising: shape (points,) each.

    price: for each point the least loss per step of utility at which the next step is taken; infinite at the last.
    At each point the risk is the least for that mean utility; between points the line is a lower bound, and steps of
    single records come within their own size of it.
    """

    utility: FloatArray
    risk: FloatArray
    price: FloatArray

    def __len__(self) -> int:
        """Number of points."""
        return len(self.utility)

    def least_risk(self, utility: float) -> float:
        """A lower bound on the risk of any disclosure with at least this mean utility; infinite where there is none."""
        if utility > self.utility[-1]:
            return float("inf")
        return float(np.interp(utility, self.utility, self.risk))

    def thinned(self, points: int) -> "Frontier":
        """Some of its points, evenly spread over utility, with both ends. points: their largest number, 2 or more."""
        if len(self) <= points:
            return self
        nearest = np.searchsorted(self.utility, np.linspace(self.utility[0], self.utility[-1], points))
        kept = np.unique(np.minimum(nearest, len(self) - 1))
        return Frontier(self.utility[kept], self.risk[kept], self.price[kept])

    def outlined(self, points: int) -> "Frontier":
        """A line with the same ends that nowhere lies above this one. points: their largest number, 3 or more.

        The frontier is convex, so that it lies above the lines through any of its edges; where these meet are the points.
        """
        if len(self) <= points:
            return self
        spread = np.linspace(self.utility[0], self.utility[-1], points - 1)
        edges = np.searchsorted(self.utility, spread, side="right") - 1
        edges = np.unique(np.clip(edges, 0, len(self) - 2))
        slope = self.price[edges]
        left, right = edges[:-1] + 1, edges[1:]
        start, end = self.utility[left], self.utility[right]
        rise = self.risk[right] - self.risk[left]
        met = start + (slope[1:] * (end - start) - rise) / (slope[1:] - slope[:-1])
        met = np.clip(met, start, end)
        low = np.minimum(self.risk[left] + slope[:-1] * (met - start), self.risk[right] - slope[1:] * (end - met))
        return Frontier(
            np.r_[self.utility[0], met, self.utility[-1]], np.r_[self.risk[0], low, self.risk[-1]], np.r_[slope, np.inf]
        )


def frontier(problem: DecisionProblem, progress: Progress = unwatched) -> Frontier:
    """The frontier over all level vectors for each record. Records that have only infinite losses make it infinite.

    progress: told of the level vectors that are looked at, and of all.
    """
    ladder = Ladder.of(problem, progress)
    start_utility, start_risk = ladder.means(ladder.place)
    steps, share = ladder.steps, ladder.shares[ladder.steps.row]
    # Records that count for nothing move no mean.
    distinct, at = np.unique(steps.price[share > 0], return_inverse=True)
    by_price = np.bincount(at, (steps.gain * share)[share > 0], minlength=len(distinct))
    rising_utility = start_utility + np.r_[0.0, np.cumsum(by_price)]
    rising_risk = start_risk + np.r_[0.0, np.cumsum(by_price * distinct)]
    if len(distinct):
        # Exactly what everybody's last step reaches, without the rounding of the sums.
        rising_utility[-1], rising_risk[-1] = ladder.means(ladder.after(len(steps.price)))
    return Frontier(read_only(rising_utility), read_only(rising_risk), read_only(np.r_[distinct, np.inf]))
