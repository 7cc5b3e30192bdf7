"""What there is to say of a disclosure risk: for people as text, for programs as plain values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from checks.risk.choosing.means import MeanOptimum
from checks.risk.frontier import Frontier
from checks.risk.objective import LeastRisk, MostUtility
from checks.risk.optimal_disclosure import Optimum
from marginals.names.level_names import name_or_star
from marginals.risk.bundle_risk import BundleRisk, are_comparable
from marginals.risk.table_risk import TableRisk, finite_or_none

_PRINTED = 11
"""Points of a frontier that are printed."""

_WRITTEN = 100
"""Points of a frontier that programs get."""


@dataclass(frozen=True, eq=False)
class RiskReport:
    """The risk of a table, the best disclosure and the frontier where they were asked for, and the risks of releases.

    warnings: of what the config says, if it cannot be meant. on_average: where the best disclosure is the best on average,
    how far it is from what no disclosure can beat. minimax: whether the loss of a row is the largest over the
    dictionaries in the best disclosure and the frontier. attributes: where the best disclosure shows so many attributes of
    each row, how many.
    """

    table: TableRisk
    optimum: Optimum | None = None
    frontier: Frontier | None = None
    releases: Sequence[BundleRisk] = field(default_factory=tuple)
    warnings: Sequence[str] = ()
    on_average: MeanOptimum | None = None
    minimax: bool = False
    attributes: int | None = None

    @property
    def how(self) -> str:
        """How the best disclosure was chosen."""
        worst = ", against the worst dictionary for each" if self.minimax else ""
        if self.attributes is not None:
            return f"row by row, {self.attributes} attributes of each as if they were independent"
        return f"{'row by row' if self.on_average is None else 'on average over the rows'}{worst}"

    @property
    def points(self) -> dict[str, tuple[float, float]]:
        """Pairs of utility and finite risk to be drawn beside the frontier."""
        name = "as disclosed" if self.optimum is None else "without the choice"
        risk = self.table.mean_worst_loss if self.minimax else self.table.bayes_risk
        pairs = {name: (self.table.mean_utility, risk)}
        if self.optimum is not None:
            pairs["best"] = (self.optimum.mean_utility, self.optimum.risk)
        return {name: pair for name, pair in pairs.items() if finite_or_none(pair[1]) is not None}

    def as_json(self) -> dict[str, Any]:
        """As plain values; null stands for infinite, and for what was not asked for."""
        return {
            "table": self.table.as_json(),
            "optimum": None
            if self.optimum is None
            else _optimum(self.optimum) | {"bound": self._bound, "how": self.how},
            "frontier": None if self.frontier is None else _frontier(self.frontier),
            "releases": [release.as_json() for release in self.releases],
            "warnings": list(self.warnings),
        }

    @property
    def _bound(self) -> float | None:
        return None if self.on_average is None else self.on_average.bound

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        table = self.table
        yield f"{len(table.utility)} records disclosed, mean utility {table.mean_utility:.3f}, against"
        probabilities = table.mean_probabilities
        numbers = (table.names, table.risks, table.losses, probabilities, table.single_fits, table.right_fits)
        for name, risk, loss, probability, single, right in zip(*numbers):
            whose = "" if right is None else f", their own for {right}"
            yield (
                f"  {name}: risk {risk:.4g}, largest loss {loss.max():.4g}, "
                f"identified {100 * probability:.2f}% on average if they are in it, one entry fits {single}{whose}"
            )
        if table.linked_risks is not None:
            for name, risk in zip(table.names, table.linked_risks):
                yield f"  {name}, after linkage with public records: risk {risk:.4g}"
        linkage = "" if table.linked is None else " without linkage"
        for name, bound in zip(table.names, table.bounds):
            if bound:
                more = "no dictionary of the same people and more, in no finer values, gives a larger risk"
                yield f"  {name}: {more}{linkage}"
        if len(table.names) > 1:
            worst = table.worst_case_risk
            yield f"  all of these{linkage and f',{linkage}'}: Bayes risk {table.bayes_risk:.4g}, worst case {worst:.4g}"
        if self.optimum is not None:
            means = f"risk {self.optimum.risk:.4g}, mean utility {self.optimum.mean_utility:.3f}"
            yield f"Best disclosure{linkage}, {self.how}: {means}"
            yield from _optimum_lines(self.optimum, self.on_average)
        if self.frontier is not None:
            against = ", against the worst dictionary for each row" if self.minimax else ""
            yield f"Least risk{linkage} for each mean utility{against}:"
            few = self.frontier.thinned(_PRINTED)
            yield "   utility  risk        price of more"
            for utility, risk, price in zip(few.utility, few.risk, few.price):
                yield f"  {utility:8.3f}  {risk:<10.4g}  {f'{price:.4g}' if np.isfinite(price) else '-'}"
            yield "  The price is the risk that one more step of utility costs: what --price takes."
        if self.releases:
            yield "Releases, the least risk first:"
        if not are_comparable(self.releases):
            yield "  (their information does not compare, since they have different base values)"
        for release in self.releases:
            told = release.total_information
            informs = "" if told is None else f", information {told:.4f} nats"
            yield (
                f"  {release.name}: risk {release.risk:.4g}, at least {release.bounds[0]:.4g} and at most "
                f"{release.bounds[1]:.4g}, identified {100 * release.identification_probability:.2f}% on average{informs}"
            )


def _optimum(optimum: Optimum) -> dict[str, Any]:
    return {
        "risk": finite_or_none(optimum.risk),
        "utility": optimum.mean_utility,
        "impossible": int((~optimum.allowed).sum()),
        "levels": optimum.disclosure.level_counts(),
        "evaluated": optimum.evaluated,
    }


def _optimum_lines(optimum: Optimum, on_average: MeanOptimum | None) -> Iterator[str]:
    match on_average:
        case MeanOptimum(objective=LeastRisk(utility), bound=bound):
            yield f"  no disclosure with a mean utility of {utility:g} or more has a risk below {bound:.4g}"
        case MeanOptimum(objective=MostUtility(loss), bound=bound):
            yield f"  no disclosure with a risk of {loss:g} or less has a mean utility above {bound:.3f}"
    domain = optimum.disclosure.records.space.domain
    for attribute, counts in optimum.disclosure.level_counts().items():
        hierarchy = domain.hierarchy(attribute)
        named = ((name_or_star(attribute, hierarchy, level), count) for level, count in enumerate(counts) if count)
        yield f"  {attribute}: " + ", ".join(f"{name} {count:,}" for name, count in named)
    if not optimum.allowed.all():
        yield f"  {int((~optimum.allowed).sum())} records cannot be disclosed so; they are suppressed."


def _frontier(frontier: Frontier) -> list[dict[str, float | None]]:
    few = frontier.thinned(_WRITTEN)
    points = zip(few.utility.tolist(), few.risk.tolist(), few.price.tolist())
    return [
        {"utility": utility, "risk": finite_or_none(risk), "price": finite_or_none(price)}
        for utility, risk, price in points
    ]
