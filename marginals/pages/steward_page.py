"""The page of a release for the steward of its table: what does not follow from the published marginals. Not to publish."""

from collections import Counter
from dataclasses import dataclass, replace

from marginals.pages.page import page
from marginals.release.steward import StewardReport, TableErrors
from marginals.release.steward_file import MARK
from marginals.wording.dropped_rows import dropped_warning
from marginals.wording.level_names import margin_in_words, with_level_names
from marginals.wording.rules_in_words import rule_in_words
from marginals.wording.units_in_words import unit_in_words
from models.search.result import Step
from models.tables.domain import Domain

_STEPS = 200
"""Steps of a search that are listed."""

_FURTHEST = 10
"""Tables that are listed, those furthest from the data first."""


@dataclass(frozen=True)
class DivergenceBar:
    """A divergence in nats, and its length in percent of the longest bar."""

    label: str
    nats: float
    length: float


@dataclass(frozen=True)
class ErrorRow:
    """Errors of tables of one size: how many were compared and left out, their mean, and the furthest from the data."""

    name: str
    compared: int
    left_out: int
    mean: float
    furthest: tuple[tuple[str, float], ...]


def steward_html(report: StewardReport) -> bytes:
    """The page in UTF-8."""
    search = report.search
    refusals = Counter(reason.split(": ", 1)[-1] for step in search.steps for reason in step.refused)
    return page(
        "steward.html",
        mark=MARK,
        title=report.published.title,
        rows=report.published.collection.cube.total,
        unit=unit_in_words(report.published.rows_per_person),
        left_out=report.left_out,
        rules=[rule_in_words(rule, report.published.sensitive) for rule in report.published.verify().rules],
        dropped=report.dropped,
        dropped_in=report.dropped_in,
        warning=dropped_warning(report.published.collection.cube.total, report.dropped, report.dropped_in),
        margins=[margin_in_words(m, report.published.domain) for m in report.published.collection.margins],
        unpublished=report.unpublished,
        bars=_bars(report),
        gain=report.gain,
        search=search,
        steps=[_in_words(step, report.domain) for step in search.steps[:_STEPS]],
        later=max(0, len(search.steps) - _STEPS),
        refusals=refusals.most_common(),
        errors=[_errors("one attribute", report.one_way), _errors("two attributes", report.two_way)],
    )


def _in_words(step: Step, domain: Domain) -> Step:
    """A step with the names of its levels."""
    refused = tuple(with_level_names(reason, domain) for reason in step.refused)
    return replace(step, move=with_level_names(step.move, domain), refused=refused)


def _bars(report: StewardReport) -> list[DivergenceBar]:
    bars = [("All quasi-identifiers suppressed", report.kl_suppressed)]
    if report.kl_best_table is not None:
        bars.append(("Best single table", report.kl_best_table))
    bars.append(("This release", report.kl_divergence))
    longest = max(max(nats for _, nats in bars), 1e-12)
    return [DivergenceBar(label, nats, round(max(0.0, 100 * nats / longest), 2)) for label, nats in bars]


def _errors(name: str, errors: TableErrors) -> ErrorRow:
    furthest = sorted(errors.by_table.items(), key=lambda item: -item[1])[:_FURTHEST]
    listed = tuple((" and ".join(attributes), error) for attributes, error in furthest)
    return ErrorRow(name, len(errors.by_table), errors.left_out, errors.mean, listed)
