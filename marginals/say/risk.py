"""Risks of rows in words: attackers, the best disclosure, and the frontier of risk and utility."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from checks.risk.disclosure import Frontier, Optimum
from checks.risk.harm import LeastRisk, MostUtility
from marginals.names import name_or_star, number_of
from marginals.risk.assessment import TableRisk

_PRINTED = 11  # points of a frontier that are printed
_WRITTEN = 100  # points of a frontier that programs get


class RiskReport(NamedTuple):
    """Risk of a table, with the best disclosure and the frontier if they were asked for.

    on_average: the objective for the means, if the best disclosure is the best on average. minimax: true if it is chosen
    against the worst dictionary.
    """

    table: TableRisk
    optimum: Optimum | None = None
    frontier: Frontier | None = None
    on_average: LeastRisk | MostUtility | None = None
    minimax: bool = False

    @property
    def how(self) -> str:
        """The method by which the best disclosure was chosen."""
        worst = ", against the worst dictionary" if self.minimax else ""
        return f"{'row by row' if self.on_average is None else 'on average over the rows'}{worst}"

    def as_json(self) -> dict[str, Any]:
        """Return plain values; null stands for infinite, and for parts that were not computed."""
        optimum = frontier = None
        if (best := self.optimum) is not None:
            optimum = {
                "risk": best.risk,
                "utility": best.mean_utility,
                "impossible": (~best.allowed).sum(),
                "levels": best.disclosure.level_counts(),
                "evaluated": best.evaluated,
                "bound": best.bound,
                "how": self.how,
            }
        if self.frontier is not None:
            few = self.frontier.thinned(_WRITTEN)
            points = zip(few.utility, few.risk, few.price)
            frontier = [dict(zip(("utility", "risk", "price"), point)) for point in points]
        return {"table": self.table, "optimum": optimum, "frontier": frontier}


def risk_lines(report: RiskReport) -> Iterator[str]:
    """Yield the risk under each dictionary, the best disclosure, and the frontier."""
    table, best = report.table, report.optimum
    yield f"{number_of(table.records, 'record')} disclosed, mean utility {table.mean_utility:.3f}, against"
    for of in table.dictionaries:
        whose = "" if of.identified_right is None else f", their own for {of.identified_right:,}"
        yield (
            f"  {of.name}: risk {of.risk:.4g}, largest loss {of.largest_loss:.4g}, identified "
            f"{100 * of.identification_probability:.2f}% on average if they are in it, one entry fits "
            f"{of.identified:,}{whose}"
        )
    for of in table.dictionaries:
        if of.linked_risk is not None:
            yield f"  {of.name}, after linkage with public records: risk {of.linked_risk:.4g}"
    linkage = "" if table.dictionaries[0].linked_risk is None else " without linkage"
    for of in table.dictionaries:
        if of.is_upper_bound:
            more = "no dictionary of the same people and more, in no finer values, gives a larger risk"
            yield f"  {of.name}: {more}{linkage}"
    if len(table.dictionaries) > 1:
        worst = table.worst_case_risk
        yield f"  all of these{linkage and f',{linkage}'}: Bayes risk {table.bayes_risk:.4g}, worst case {worst:.4g}"
    if best is not None:
        means = f"risk {best.risk:.4g}, mean utility {best.mean_utility:.3f}"
        yield f"Best disclosure{linkage}, {report.how}: {means}"
        yield from _optimum_lines(best, report.on_average)
    if report.frontier is not None:
        yield f"Least risk{linkage} for each mean utility:"
        few = report.frontier.thinned(_PRINTED)
        yield "   utility  risk        price of more"
        for utility, risk, price in zip(few.utility, few.risk, few.price):
            yield f"  {utility:8.3f}  {risk:<10.4g}  {f'{price:.4g}' if np.isfinite(price) else '-'}"
        yield "  The price is the risk that one more step of utility costs: what --price takes."


def _optimum_lines(optimum: Optimum, on_average: LeastRisk | MostUtility | None) -> Iterator[str]:
    match on_average:
        case LeastRisk(utility):
            yield f"  no disclosure with a mean utility of {utility:g} or more has a risk below {optimum.bound:.4g}"
        case MostUtility(loss):
            yield f"  no disclosure with a risk of {loss:g} or less has a mean utility above {optimum.bound:.3f}"
        case None if optimum.bound is not None:
            yield f"  it may not be the best: what is minimized cannot be below {optimum.bound:.4g}"
    domain = optimum.disclosure.records.space.domain
    for attribute, counts in optimum.disclosure.level_counts().items():
        hierarchy = domain.hierarchy(attribute)
        named = ((name_or_star(attribute, hierarchy, level), count) for level, count in enumerate(counts) if count)
        yield f"  {attribute}: " + ", ".join(f"{name} {count:,}" for name, count in named)
    if not optimum.allowed.all():
        suppressed = int((~optimum.allowed).sum())
        they = "it is" if suppressed == 1 else "they are"
        yield f"  {number_of(suppressed, 'record')} cannot be disclosed so; {they} suppressed."
