"""The report of a disclosure risk: one HTML page for the steward of a table. It is made from the table, so not to publish.

It holds numbers over people and what the config says, never a value of a row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from checks.risk.disclosure import Disclosure
from checks.risk.objective import LeastRisk, MostUtility, Objective, TradeOff
from checks.risk.sensitivity import Multiplicative
from marginals.disclosure.rules import selected
from marginals.names.level_names import level_name, name_or_star
from marginals.pages.page import page
from marginals.pages.risk_pictures import frontier_picture, loss_histogram, releases_picture
from marginals.pages.risk_report import RiskReport
from marginals.risk.assessment import RiskAssessment
from marginals.risk.bundle_risk import are_comparable
from marginals.risk.table_risk import TableRisk, finite_or_none
from models.arrays import CountArray

_FITTING = ((0, 0), (1, 1), (2, 4), (5, 9), (10, 19), (20, 99), (100, None))
"""Ranges of how many entries fit a record."""


@dataclass(frozen=True)
class DictionaryRow:
    """A dictionary that attackers may hold, and what it does. shared: columns of it that the table has."""

    name: str
    entries: int
    shared: tuple[str, ...]
    probability: float
    risk: float
    largest: float
    identified: float
    single: int
    right: int | None
    fewest: int
    is_bound: bool
    linked: float | None
    fitting: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class WeightRow:
    """What it weighs to disclose an attribute: by level its name, and the least and the most of a value."""

    name: str
    by_level: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class RuleRow:
    """A rule of the config: the name of the finest level that it allows, and how many records it is about."""

    attribute: str
    level: str
    records: int


def risk_html(assessment: RiskAssessment, report: RiskReport, objective: Objective | None = None) -> bytes:
    """The page in UTF-8. report: what was found of the same risk; objective: what the best disclosure was chosen by.

    What is disclosed is the best disclosure where there is one, else the table under its rules.
    """
    optimum, unchosen = report.optimum, report.table
    table = unchosen if optimum is None else assessment.of_table(optimum.disclosure.records)
    disclosure = assessment.table.disclosure if optimum is None else optimum.disclosure
    losses = table.expected_losses
    few = None if report.frontier is None else report.frontier.thinned(11)
    return page(
        "risk.html",
        number=_number,
        records=len(table.utility),
        utility=table.mean_utility,
        most_utility=assessment.most_utility,
        risk=table.bayes_risk,
        worst=table.worst_case_risk,
        linked=table.linked_bayes_risk,
        linked_worst=None if table.linked_risks is None else float(table.linked_risks.max()),
        unchosen=unchosen,
        dictionaries=[
            _dictionary(assessment, table, number, probability) for number, probability in enumerate(table.prior)
        ],
        tells_own=any(right is not None for right in table.right_fits),
        own=any(dictionary.is_row_by_row for dictionary in assessment.attackers.dictionaries),
        similar=assessment.attackers.similarity.attributes,
        threshold=assessment.attackers.similarity.threshold,
        linkage=_linkage(assessment),
        multiplicative=assessment.harm.family is Multiplicative,
        weights=list(_weights(assessment)) if assessment.harm.weights is not None else None,
        personal=assessment.harm.personal is not None,
        interactions=assessment.harm.interactions,
        missed=assessment.harm.missed,
        rules=list(_rules(assessment)),
        histogram=loss_histogram(losses),
        infinite=int(np.isinf(losses).sum()),
        quantiles=_quantiles(losses),
        how=report.how,
        objective=None if objective is None else in_words(objective),
        row_weight=assessment.row_weight,
        optimum=optimum,
        impossible=0 if optimum is None else int((~optimum.allowed).sum()),
        levels=_level_counts(disclosure),
        frontier=None if report.frontier is None else frontier_picture(report.frontier, _points(report)),
        frontier_rows=[] if few is None else list(zip(few.utility.tolist(), few.risk.tolist(), few.price.tolist())),
        no_frontier=assessment.no_frontier,
        releases=report.releases,
        releases_plot=releases_picture(report.releases),
        comparable=are_comparable(report.releases),
    )


def in_words(objective: Objective) -> str:
    """What was asked of each record."""
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


def _points(report: RiskReport) -> list[tuple[str, float, float]]:
    return [(name, utility, risk) for name, (utility, risk) in report.points.items()]


def _dictionary(assessment: RiskAssessment, table: TableRisk, number: int, probability: float) -> DictionaryRow:
    dictionary, counts = assessment.attackers.dictionaries[number], table.counts[number]
    linked = table.linked_risks
    return DictionaryRow(
        dictionary.name,
        len(dictionary),
        dictionary.shared_columns(assessment.table.rows.domain.attributes),
        float(probability),
        float(table.risks[number]),
        float(table.losses[number].max()),
        float(table.mean_probabilities[number]),
        table.single_fits[number],
        table.right_fits[number],
        int(counts.min()),
        table.bounds[number],
        None if linked is None else float(linked[number]),
        tuple(_fitting(counts)),
    )


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


def _weights(assessment: RiskAssessment) -> Iterator[WeightRow]:
    space, harm = assessment.originals.space, assessment.harm
    for name, taxonomy in zip(space.domain.attributes, space.taxonomies):
        weight, shares = harm.weight_of(name), harm.shares_of(name, taxonomy)
        of_level = [shares[taxonomy.levels == level] for level in range(taxonomy.hierarchy.height + 1)]
        if weight:
            names = (name_or_star(name, taxonomy.hierarchy, level) for level in range(len(of_level)))
            ends = ((_times(weight, float(s.min())), _times(weight, float(s.max()))) for s in of_level)
            yield WeightRow(name, tuple((level, low, high) for level, (low, high) in zip(names, ends)))
    for name in assessment.attackers.added_columns:
        by_value = (harm.weights or {}).get(name, 0.0)
        own = [0.0, *by_value.values()] if isinstance(by_value, Mapping) else [by_value]
        if any(own):
            yield WeightRow(name, (("as it is", min(own), max(own)), ("*", 0.0, 0.0)))


def _times(weight: float, share: float) -> float:
    return weight * share if share else 0.0


def _rules(assessment: RiskAssessment) -> Iterator[RuleRow]:
    for rule in assessment.rules:
        hierarchy = assessment.table.rows.domain.hierarchy(rule.attribute)
        records = int(selected(assessment.table, rule.condition).sum())
        level = hierarchy.height if rule.level is None else rule.level
        name = "hidden" if level == hierarchy.height else level_name(rule.attribute, hierarchy, level)
        yield RuleRow(rule.attribute, name, records)


def _level_counts(disclosure: Disclosure) -> dict[str, list[tuple[str, int]]]:
    """For each attribute the names of its levels, the finest first, and how many records show it at each."""
    domain = disclosure.records.space.domain
    return {
        attribute: [(name_or_star(attribute, domain.hierarchy(attribute), level), n) for level, n in enumerate(counts)]
        for attribute, counts in disclosure.level_counts().items()
    }


def _quantiles(losses: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[tuple[str, float | None]]:
    """For some shares of the people, the loss that they do not exceed."""
    ordered = np.sort(losses)
    shares = ((0.5, "half of the people"), (0.9, "90 %"), (0.99, "99 %"), (1.0, "everybody"))
    return [(name, finite_or_none(ordered[int(np.ceil(share * len(ordered))) - 1])) for share, name in shares]
