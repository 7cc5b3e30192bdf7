"""The report of a release: one HTML page for whoever decides about it, made from what is published and nothing else.

It needs no network and no script, and the same release always gives the same bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp

import numpy as np

from marginals.attacks.disclosure_measures import disclosure_measures
from marginals.bundle.content import BundleContent
from marginals.installing import installing
from marginals.names.independences_in_words import assumed_independences
from marginals.names.level_names import beside_name, level_name
from marginals.pages.page import page
from marginals.pages.pairs import SIGNS, pairs_shown
from marginals.pages.pictures import TreePicture, colours, interaction_picture, levels_shown, tree_picture
from marginals.tables.attribute import Role
from marginals.wording.attacks_in_words import reconstruction_in_words, skewness_in_words, threshold_in_words
from marginals.wording.claims_in_words import ClaimInWords, in_words
from marginals.wording.ledger_lines import turnover_in_words
from marginals.wording.rules_in_words import rule_in_words
from marginals.wording.units_in_words import part_in_words, unit_in_words
from models.errors import NotDecomposableError
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Hierarchy

_LISTED = 16
"""Attributes with more values than this get a histogram instead of a bar for each."""

_DRAWN = 120
"""Histograms with more columns than this are drawn at a coarser level."""

_LAID_OUT = 1 << 18
"""Cells, empty ones included, for which it is worked out what attackers could conclude; more take too long to wait for."""

_FITTED = 1 << 14
"""The same where the tables form no junction tree, so that the cells are fitted step by step."""


@dataclass(frozen=True)
class Step:
    """One level of an attribute: an example of what a value becomes there, and whether some table shows it."""

    level: int
    example: str
    is_published: bool


@dataclass(frozen=True)
class Bar:
    """A value with its rows, its share of all rows, and its length in percent of the most frequent value's."""

    label: str
    rows: int
    percent: float
    length: float


@dataclass(frozen=True)
class AttributeReport:
    """An attribute: how its values may be generalized, and how they are distributed at the finest published level.

    description: in the steward's words.
    shown: the names of the published levels, finest first; empty for an attribute whose name says all. level: the name of
    that of the bars, None where nothing is published; finest: of the finest published. left_out: values beyond those that
    fit on the page.
    """

    name: str
    description: str
    is_sensitive: bool
    colour: int
    steps: tuple[Step, ...]
    shown: tuple[str, ...]
    finest: str | None
    level: str | None
    bars: tuple[Bar, ...]
    left_out: int
    left_out_rows: int

    @property
    def is_listed(self) -> bool:
        """Whether there are few enough values for a line each."""
        return len(self.bars) <= _LISTED

    @property
    def tallest(self) -> Bar:
        """The first of the most frequent values."""
        return max(self.bars, key=lambda bar: bar.rows)

    @property
    def empty(self) -> int:
        """How many of the values have no rows."""
        return sum(bar.rows == 0 for bar in self.bars)


@dataclass(frozen=True)
class MarginalReport:
    """A published table: its attributes with the name of the level and a colour, its cells, and its smallest class."""

    shown: tuple[tuple[str, str, int], ...]
    cells: int
    smallest: int | None


@dataclass(frozen=True)
class InformationBar:
    """What is told by some tables, in nats, and its length in percent of the longest bar."""

    label: str
    nats: float
    length: float


@dataclass(frozen=True)
class Analysed:
    """What the recipe for R analyses: the columns of a table and its outcome, as R writes their names."""

    columns: tuple[str, ...]
    outcome: str


def report_html(published: BundleContent) -> bytes:
    """The report of what is published, as HTML in UTF-8. It checks the claims first."""
    claims, attributes = _claims(published), _attributes(published)
    most_cells = _LAID_OUT if published.collection.is_decomposable else _FITTED
    attackers = disclosure_measures(published, MarginalModel(published.collection, published.deadline), most_cells)
    return page(
        "report.html",
        title=published.title,
        install=installing(),
        rows=published.collection.cube.total,
        unit=unit_in_words(published.rows_per_person),
        part=part_in_words(published.where),
        turnover=turnover_in_words(published),
        people=published.most_rows_of_a_person,
        attributes=attributes,
        marginals=_marginals(published),
        claims=claims,
        rules=[rule_in_words(rule, published.sensitive) for rule in published.verify().rules],
        beside_rules=[claims[number] for number in beside_rules(published)],
        measures=[(c, reconstruction_in_words(c.reconstruction), skewness_in_words(c)) for c in attackers.measures],
        thresholds=[(threshold, threshold_in_words(threshold)) for threshold in attackers.thresholds],
        not_attacked=attackers.left_out,
        least_cell=_least_cell(published),
        overall=_overall(published),
        sensitive=published.sensitive,
        pairs=pairs_shown(published.collection),
        signs=SIGNS,
        information=_information(published),
        times=exp(min(published.information or 0.0, 700.0)),
        interaction=interaction_picture(published.collection),
        tree=_tree(published),
        independences=assumed_independences(published.collection),
        facts=_facts(published),
        example=_example(published),
        analysed=_analysed(published),
    )


def beside_rules(published: BundleContent) -> list[int]:
    """The positions of the claims that no named rule demands."""
    demanded = {claim for rule in published.rules for claim in rule.claims}
    return [number for number, claim in enumerate(published.claims) if claim not in demanded]


def _claims(published: BundleContent) -> list[ClaimInWords]:
    findings = published.verify().checks
    return [in_words(claim, finding, published.sensitive) for claim, finding in zip(published.claims, findings)]


def _attributes(published: BundleContent) -> list[AttributeReport]:
    levels = levels_shown(published.collection.margins)
    return [_attribute(published, name, levels.get(name, [])) for name in published.domain.attributes]


def _attribute(published: BundleContent, name: str, levels: list[int]) -> AttributeReport:
    hierarchy, words = published.domain.hierarchy(name), published.codebook
    description = words.description(name)
    sensitive, colour = published.roles[name] is Role.SENSITIVE, colours(published.domain)[name]
    if not levels:
        steps = _steps(hierarchy, 0, levels)
        return AttributeReport(name, description, sensitive, colour, steps, (), None, None, (), 0, 0)
    table = published.collection.cube.table(published.domain.mask({name: levels[0]}))
    level = _drawn_level(hierarchy, levels[0])
    steps = _steps(hierarchy, _telling_value(hierarchy, table), levels)
    steps = tuple(replace(step, example=words.in_words(name, step.example)) for step in steps)
    bars = [replace(bar, label=words.in_words(name, bar.label)) for bar in _bars(table, hierarchy, level)]
    kept = bars if len(bars) <= _DRAWN else sorted(bars, key=lambda bar: -bar.rows)[:_LISTED]
    left_out_rows = table.total - sum(bar.rows for bar in kept)
    names = [level_name(name, hierarchy, each) for each in levels]
    return AttributeReport(
        name,
        description,
        sensitive,
        colour,
        steps,
        tuple(beside_name(name, hierarchy, each) for each in levels),
        names[0],
        level_name(name, hierarchy, level),
        tuple(kept),
        len(bars) - len(kept),
        left_out_rows,
    )


def _telling_value(hierarchy: Hierarchy, table: ContingencyTable) -> int:
    """The base value that changes most often on its way to `*`, a frequent one at the finest published level."""
    rows = table.counts_of({table.attributes[0]: hierarchy.lift(0, table.margin[table.attributes[0]])})
    changes = np.zeros(hierarchy.size(0), dtype=np.int64)
    for below, above in pairwise(range(hierarchy.height + 1)):
        lower, upper = (np.array(hierarchy.labels[k], dtype=object)[hierarchy.lift(0, k)] for k in (below, above))
        changes += lower != upper
    return int(np.lexsort([-rows, -changes, rows == 0])[0])


def _steps(hierarchy: Hierarchy, base: int, published: list[int]) -> tuple[Step, ...]:
    path = [hierarchy.labels[level][int(hierarchy.lift(0, level)[base])] for level in range(hierarchy.height + 1)]
    return tuple(Step(level, label, level in published) for level, label in enumerate(path))


def _drawn_level(hierarchy: Hierarchy, finest: int) -> int:
    """The finest published level, or the first above it with few enough values that it still says something."""
    levels = range(finest, hierarchy.height)
    return next((level for level in levels if hierarchy.size(level) <= _DRAWN), finest)


def _bars(table: ContingencyTable, hierarchy: Hierarchy, level: int) -> list[Bar]:
    """A bar for each value of the level in the hierarchy's order, those without rows too."""
    codes = table.column(table.attributes[0], level)
    rows = np.bincount(codes, table.counts, minlength=hierarchy.size(level)).astype(np.int64)
    total, highest = max(table.total, 1), max(int(rows.max()), 1)  # a bundle of other programs may count no row
    return [
        Bar(label, count, round(100 * count / total, 2), round(100 * count / highest, 2))
        for label, count in zip(hierarchy.labels[level], rows.tolist())
    ]


def _marginals(published: BundleContent) -> list[MarginalReport]:
    colour = colours(published.domain)
    reports = []
    for table in published.collection.tables:
        public = {a: level for a, level in table.margin.items() if a not in published.sensitive}
        smallest = int(table.rolled_up(public).counts.min()) if public and len(table) else None
        columns = tuple(
            (a, beside_name(a, published.domain.hierarchy(a), table.margin[a]), colour[a]) for a in table.attributes
        )
        reports.append(MarginalReport(columns, len(table), smallest))
    return reports


def _overall(published: BundleContent) -> Mapping[str, Mapping[str, float]]:
    """For each sensitive attribute the shares of its values among all rows, at the finest published level."""
    shares = {}
    for name in published.sensitive:
        levels = levels_shown(published.collection.margins).get(name)
        if levels:
            table = published.collection.cube.table(published.domain.mask({name: levels[0]}))
            shares[name] = {label: count / table.total for (label,), count in table.cells()}
    return shares


def _information(published: BundleContent) -> list[InformationBar]:
    """What the counts of each attribute by itself tell, and what the tables tell beyond; empty without a junction tree."""
    together = published.information
    if together is None:
        return []
    alone = max(MaximumEntropy(published.collection).total_information - together, 0.0)
    longest = max(alone, together, 1e-12)
    bars = (("Each attribute by itself", alone), ("How attributes go together", together))
    return [InformationBar(label, nats, round(100 * nats / longest, 2)) for label, nats in bars]


def _tree(published: BundleContent) -> TreePicture | None:
    try:
        return tree_picture(published.collection)
    except NotDecomposableError:
        return None


def _facts(published: BundleContent) -> int | None:
    """The l - 1 of the weakest diversity that is claimed; None where none is claimed."""
    return min((claim.class_diversity.facts for claim in published.claims if claim.class_diversity), default=None)


def _least_cell(published: BundleContent) -> int | None:
    """The rows that every count certainly has that is not 0; None where fewer than two are claimed, or it is not proven."""
    proven = [claim for claim, finding in zip(published.claims, published.verify().checks) if finding.holds]
    return max((claim.least_cell for claim in proven if claim.least_cell and claim.least_cell > 1), default=None)


def _example(published: BundleContent) -> str:
    """A margin to ask for, as Python: the first that a reader can cross-tabulate; of a release of no attribute, none."""
    margins = published.collection.margins
    return str(dict(next((margin for margin in margins if len(margin) == 2), margins[0] if margins else {})))


def _analysed(published: BundleContent) -> Analysed | None:
    """The smallest table with two attributes or more, one of them sensitive if possible, that all have several values.

    It is found by its attributes, so no table of the same ones may have one value only of any.
    """
    by_attributes: dict[tuple[str, ...], list[ContingencyTable]] = {}
    for table in published.collection.tables:
        by_attributes.setdefault(table.attributes, []).append(table)
    candidates = []
    for attributes, tables in by_attributes.items():
        if len(attributes) > 1 and all(np.unique(codes).size > 1 for table in tables for codes in table.codes):
            outcome = next((a for a in attributes if a in published.sensitive), attributes[-1])
            candidates.append((outcome not in published.sensitive, max(map(len, tables)), attributes, outcome))
    if not candidates:
        return None
    *_, attributes, outcome = min(candidates)
    return Analysed(tuple(map(_r_text, attributes)), _r_text(outcome))


def _r_text(text: str) -> str:
    """A text as R writes it, in characters that mean the same in every encoding."""
    plain = (c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\U{{{ord(c):x}}}" for c in text)
    return f'"{"".join(plain)}"'
