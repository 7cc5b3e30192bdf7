"""The report of a disclosure risk: one HTML page for the steward of a table. It is made from the table, so not to publish.

It holds numbers over people and what the config says, never a value of a row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from checks.risk.disclosure import Disclosure, Frontier, Optimum
from checks.risk.harm import LeastRisk, MostUtility, Multiplicative, Objective, TradeOff
from marginals.charts import Named, loss_histogram, risk_frontier
from marginals.names import level_name, name_or_star, number_of
from marginals.pages.release_page import page
from marginals.results import plain
from marginals.risk.assessment import RiskAssessment, TableRisk
from marginals.risk.rules import selected
from models.arrays import CountArray, FloatArray

_PRINTED = 11
"""Points of a frontier that are printed."""

_WRITTEN = 100
"""Points of a frontier that programs get."""


@dataclass(frozen=True, eq=False)
class RiskReport:
    """Risk of a table, and the best disclosure and the frontier where they were asked for.

    on_average: what was asked of the means, if the best disclosure is the best on average. minimax: whether it is chosen
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

    @property
    def points(self) -> dict[str, tuple[float, float]]:
        """Pairs of utility and finite risk to be drawn beside the frontier."""
        name = "as disclosed" if self.optimum is None else "without the choice"
        pairs = {name: (self.table.mean_utility, self.table.bayes_risk)}
        if self.optimum is not None:
            pairs["best"] = (self.optimum.mean_utility, self.optimum.risk)
        return {name: pair for name, pair in pairs.items() if isfinite(pair[1])}

    def as_json(self) -> dict[str, Any]:
        """Plain values; null stands for infinite, and for parts that were not computed."""
        payload: dict[str, Any] = {"table": self.table, "optimum": None, "frontier": None}
        if (best := self.optimum) is not None:
            payload["optimum"] = {
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
            points = zip(few.utility.tolist(), few.risk.tolist(), few.price.tolist())
            payload["frontier"] = [dict(zip(("utility", "risk", "price"), point)) for point in points]
        return {**plain(payload)}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        table = self.table
        yield f"{number_of(len(table.utility), 'record')} disclosed, mean utility {table.mean_utility:.3f}, against"
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
        linkage = "" if table.linked_bayes_risk is None else " without linkage"
        for of in table.dictionaries:
            if of.is_upper_bound:
                more = "no dictionary of the same people and more, in no finer values, gives a larger risk"
                yield f"  {of.name}: {more}{linkage}"
        if len(table.dictionaries) > 1:
            worst = table.worst_case_risk
            yield f"  all of these{linkage and f',{linkage}'}: Bayes risk {table.bayes_risk:.4g}, worst case {worst:.4g}"
        if self.optimum is not None:
            means = f"risk {self.optimum.risk:.4g}, mean utility {self.optimum.mean_utility:.3f}"
            yield f"Best disclosure{linkage}, {self.how}: {means}"
            yield from _optimum_lines(self.optimum, self.on_average)
        if self.frontier is not None:
            yield f"Least risk{linkage} for each mean utility:"
            few = self.frontier.thinned(_PRINTED)
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


_FITTING = ((0, 0), (1, 1), (2, 4), (5, 9), (10, 19), (20, 99), (100, None))
"""Ranges of how many entries fit a record."""


def risk_html(assessment: RiskAssessment, report: RiskReport, objective: Objective | None = None) -> bytes:
    """The page in UTF-8. report: what was found of the same risk; objective: what the best disclosure was chosen by.

    What is disclosed is the best disclosure where there is one, else the table under its rules.
    """
    optimum, unchosen = report.optimum, report.table
    table = unchosen if optimum is None else assessment.of_table(optimum.disclosure.records)
    disclosure = assessment.table.disclosure if optimum is None else optimum.disclosure
    losses = table.expected_losses
    few = None if report.frontier is None else report.frontier.thinned(11)
    points = [(name, *pair) for name, pair in report.points.items()]
    return page(
        "risk.html",
        number=_number,
        assessment=assessment,
        table=table,
        records=len(table.utility),
        linked_worst=max((of.linked_risk for of in table.dictionaries if of.linked_risk is not None), default=None),
        unchosen=unchosen,
        dictionaries=list(_dictionaries(assessment, table)),
        tells_own=any(of.identified_right is not None for of in table.dictionaries),
        own=any(dictionary.is_row_by_row for dictionary in assessment.attackers.dictionaries),
        linkage=_linkage(assessment),
        multiplicative=assessment.harm.family is Multiplicative,
        weights=None if assessment.harm.weights is None else list(_weights(assessment)),
        rules=list(_rules(assessment)),
        histogram=loss_histogram(losses),
        infinite=int(np.isinf(losses).sum()),
        quantiles=_quantiles(losses),
        how=report.how,
        objective=None if objective is None else in_words(objective),
        optimum=optimum,
        impossible=0 if optimum is None else int((~optimum.allowed).sum()),
        levels=_level_counts(disclosure),
        frontier=None if report.frontier is None else risk_frontier(report.frontier, points),
        frontier_rows=[] if few is None else list(zip(few.utility.tolist(), few.risk.tolist(), few.price.tolist())),
    )


def in_words(objective: Objective) -> str:
    """The objective for each record in words."""
    match objective:
        case LeastRisk(utility):
            return f"the least loss with a utility of at least {utility:g}"
        case MostUtility(loss):
            return f"the most utility with a loss of at most {loss:g}"
        case TradeOff(price):
            return f"the least of loss - {price:g} times utility"
    return str(objective)


def _number(value: float | None) -> str:
    return "infinite" if value is None or np.isinf(value) else f"{value:.4g}"


def _dictionaries(assessment: RiskAssessment, table: TableRisk) -> Iterator[dict[str, Any]]:
    for people, of, probability in zip(assessment.attackers.dictionaries, table.dictionaries, table.prior):
        shared = people.shared_columns(assessment.table.rows.domain.attributes)
        fitting = list(_fitting(of.counts))
        yield {"of": of, "entries": len(people), "shared": shared, "probability": probability, "fitting": fitting}


def _fitting(counts: CountArray) -> Iterator[tuple[str, int]]:
    for low, high in _FITTING:
        inside = (counts >= low) if high is None else (counts >= low) & (counts <= high)
        named = (
            f"{low} or more" if high is None else "none" if high == 0 else f"{low}" if low == high else f"{low}-{high}"
        )
        yield named, int(inside.sum())


def _linkage(assessment: RiskAssessment) -> tuple[str, int, Sequence[str]] | None:
    linkage = assessment.attackers.linkage
    return None if linkage is None else (linkage.public.name, len(linkage.public), linkage.columns)


def _weights(assessment: RiskAssessment) -> Iterator[tuple[str, list[Named]]]:
    space, harm = assessment.originals.space, assessment.harm
    for name, taxonomy in zip(space.domain.attributes, space.taxonomies):
        weight, shares = harm.weight_of(name), harm.shares_of(name, taxonomy)
        of_level = [shares[taxonomy.levels == level] for level in range(taxonomy.hierarchy.height + 1)]
        if weight:
            names = (name_or_star(name, taxonomy.hierarchy, level) for level in range(len(of_level)))
            ends = ((_times(weight, float(s.min())), _times(weight, float(s.max()))) for s in of_level)
            yield name, [(level, low, high) for level, (low, high) in zip(names, ends)]
    for name in assessment.attackers.added_columns:
        by_value = (harm.weights or {}).get(name, 0.0)
        weights = [0.0, *by_value.values()] if isinstance(by_value, Mapping) else [by_value]
        if any(weights):
            yield name, [("as it is", min(weights), max(weights)), ("*", 0.0, 0.0)]


def _times(weight: float, share: float) -> float:
    return weight * share if share else 0.0


def _rules(assessment: RiskAssessment) -> Iterator[tuple[str, str, int]]:
    for rule in assessment.rules:
        hierarchy = assessment.table.rows.domain.hierarchy(rule.attribute)
        records = int(selected(assessment.table, rule.condition).sum())
        level = hierarchy.height if rule.level is None else rule.level
        name = "hidden" if level == hierarchy.height else level_name(rule.attribute, hierarchy, level)
        yield rule.attribute, name, records


def _level_counts(disclosure: Disclosure) -> dict[str, list[tuple[str, int]]]:
    domain = disclosure.records.space.domain
    return {
        attribute: [(name_or_star(attribute, domain.hierarchy(attribute), level), n) for level, n in enumerate(counts)]
        for attribute, counts in disclosure.level_counts().items()
    }


def _quantiles(losses: FloatArray) -> list[tuple[str, float | None]]:
    ordered = np.sort(losses)
    shares = ((0.5, "half of the people"), (0.9, "90 %"), (0.99, "99 %"), (1.0, "everybody"))
    return [(name, plain(ordered[int(np.ceil(share * len(ordered))) - 1])) for share, name in shares]
