"""The report of a release: one HTML page for whoever decides about it, made from what is published and nothing else.

It needs no network and no script, and the same release always gives the same bytes.
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np

from checks.claims import AttributeClaim, MinCell
from marginals.attacks import published_attacks
from marginals.bundle.content import BundleContent
from marginals.bundle.writing import identity_of
from marginals.decision import Decision
from marginals.messages import installing
from marginals.names import assumed_independences, beside_name, level_name, margin_in_words
from marginals.pairs import SIGNS, pairs_shown
from marginals.register_readers import NOT_EXAMINED
from marginals.say.attacks import attack_sentences
from marginals.say.claims import (
    claim_words,
    counts_below,
    harm_tables,
    rule_words,
    sensitive_lines,
    together,
)
from marginals.say.decision import decision_words
from marginals.say.sentences import by_readers
from marginals.say.table import turnover_in_words, unit_in_words
from marginals.tables.attribute import Role
from models.errors import NotDecomposableError
from models.inference.marginal_model import MarginalModel
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Hierarchy

if TYPE_CHECKING:
    import jinja2

_DRAWN = 120
"""Values of an attribute that are listed, if need be at a coarser level."""

_LISTED = 16
"""The most frequent of more values, if no level has few enough."""

_LAID_OUT = 1 << 18
"""Cells, empty ones included, for which it is worked out what attackers could conclude; more take too long to wait for."""

_FITTED = 1 << 14
"""Cells if the tables form no junction tree, so that they are fitted step by step."""


def report_html(published: BundleContent) -> bytes:
    """The report of what is published, as HTML in UTF-8. It checks the claims first."""
    margins = published.everything.margins
    findings = published.verify()
    levels = {a: sorted({margin[a] for margin in margins if a in margin}) for a in published.domain.attributes}
    checks = published.codebook.worded(findings.checks)
    claims = [claim_words(*pair, published.sensitive) for pair in zip(published.claims, checks)]
    about = [claim for claim in published.claims if isinstance(claim, AttributeClaim)]
    demanded = {claim for rule in published.rules for claim in rule.claims}
    holding = [claim for claim, finding in zip(published.claims, findings.checks) if finding.holds]
    least = max((claim.least_count for claim in holding if isinstance(claim, MinCell)), default=1)
    attacks = published_attacks(published, _LAID_OUT if published.collection.is_decomposable else _FITTED)
    return page(
        "report.html",
        published=published,
        decision=decision_words(Decision.of(published)),
        identity=identity_of(published).removeprefix("sha256:")[:8],
        install=installing(),
        rows=published.collection.cube.total,
        unit=unit_in_words(published.rows_per_person),
        part=f"This release covers only rows with {published.where}." if published.where else "",
        turnover=turnover_in_words(published),
        attributes=[_attribute(published, name, numbers) for name, numbers in levels.items()],
        marginals=_marginals(published),
        claims=claims,
        rules=[rule_words(rule, published.sensitive) for rule in published.codebook.worded(findings.rules)],
        beside_rules=[words for claim, words in zip(published.claims, claims) if claim not in demanded],
        attackers=by_readers(attack_sentences(attacks)),
        not_for_register=together([reader.sensitive for reader in attacks.register if reader.basis == NOT_EXAMINED]),
        ruled_out=counts_below(least) if least > 1 else "",
        sensitive_together=together(published.sensitive),
        harm=harm_tables(published.harmful, published.codebook),
        sensitive_said=list(sensitive_lines(findings)),
        pairs=pairs_shown(published.everything),
        information=_information(published),
        times=exp(min(published.information or 0.0, 700.0)),
        tree=_tree(published),
        independences=assumed_independences(published.everything),
        further=len(published.further),
        facts=min((claim.class_diversity.facts for claim in about if claim.class_diversity), default=None),
        example=str(published.domain.by_names(min(margins, key=lambda margin: len(margin) != 2, default={}))),
        analysed=_analysed(published),
    )


def _attribute(published: BundleContent, name: str, levels: list[int]) -> dict[str, Any]:
    """An attribute: how its values may be generalized, and how they are distributed at the finest published level."""
    hierarchy, words = published.domain.hierarchy(name), published.codebook
    content: dict[str, Any] = {
        "name": name,
        "description": words.description(name),
        "is_sensitive": published.roles[name] is Role.SENSITIVE,
        "colour": published.domain.attributes.index(name) % 10,
        "shown": [beside_name(name, hierarchy, level) for level in levels],
    }
    if not levels:
        return {**content, "steps": _steps(hierarchy, 0, levels), "finest": None, "level": None, "bars": []}
    table = published.collection.cube.table(published.domain.mask({name: levels[0]}))
    level = next((n for n in range(levels[0], hierarchy.height) if hierarchy.size(n) <= _DRAWN), levels[0])
    steps = _steps(hierarchy, _telling_value(hierarchy, table), levels)
    bars = _bars(table, hierarchy, level)
    for bar in bars:
        bar["label"] = words.in_words(name, bar["label"])
    drawn = bars if len(bars) <= _DRAWN else sorted(bars, key=lambda bar: -bar["rows"])[:_LISTED]
    return {
        **content,
        "steps": [(number, words.in_words(name, example), is_shown) for number, example, is_shown in steps],
        "finest": level_name(name, hierarchy, levels[0]),
        "level": level_name(name, hierarchy, level),
        "bars": drawn,
        "left_out": len(bars) - len(drawn),
        "left_out_rows": table.total - sum(bar["rows"] for bar in drawn),
    }


def _telling_value(hierarchy: Hierarchy, table: ContingencyTable) -> int:
    rows = table.counts_of({table.attributes[0]: hierarchy.lift(0, table.margin[table.attributes[0]])})
    changes = np.zeros(hierarchy.size(0), dtype=np.int64)
    for below, above in pairwise(range(hierarchy.height + 1)):
        lower, upper = (np.array(hierarchy.labels[k], dtype=object)[hierarchy.lift(0, k)] for k in (below, above))
        changes += lower != upper
    return int(np.lexsort([-rows, -changes, rows == 0])[0])


def _steps(hierarchy: Hierarchy, base: int, published: list[int]) -> list[tuple[int, str, bool]]:
    path = [hierarchy.labels[level][int(hierarchy.lift(0, level)[base])] for level in range(hierarchy.height + 1)]
    return [(level, label, level in published) for level, label in enumerate(path)]


def _bars(table: ContingencyTable, hierarchy: Hierarchy, level: int) -> list[dict[str, Any]]:
    codes = table.column(table.attributes[0], level)
    rows = np.bincount(codes, table.counts, minlength=hierarchy.size(level)).astype(np.int64).tolist()
    total = max(table.total, 1)  # a bundle of other programs may count no row
    return [
        {"label": label, "rows": count, "percent": round(100 * count / total, 2), "length": length}
        for label, count, length in zip(hierarchy.labels[level], rows, lengths(rows))
    ]


def _marginals(published: BundleContent) -> list[dict[str, Any]]:
    colour, reports = {name: number % 10 for number, name in enumerate(published.domain.attributes)}, []
    for table in published.everything.tables:
        public = {a: level for a, level in table.margin.items() if a not in published.sensitive}
        smallest = int(table.rolled_up(public).counts.min()) if public and len(table) else None
        labels = [
            (a, beside_name(a, published.domain.hierarchy(a), table.margin[a]), colour[a]) for a in table.attributes
        ]
        is_further = table.mask in published.further
        reports.append({"shown": labels, "cells": len(table), "smallest": smallest, "is_further": is_further})
    return reports


def _information(published: BundleContent) -> list[tuple[str, float, float]]:
    """Nats of the attributes by themselves, and of the tables beyond, with bars; empty without a junction tree."""
    together = published.information
    if together is None:
        return []
    single = max(MarginalModel(published.collection).total_information - together, 0.0)
    beyond = ", further tables aside" if published.further else ""
    labels = "Each attribute by itself", f"How attributes go together{beyond}"
    return list(zip(labels, (single, together), lengths((single, together))))


def _tree(published: BundleContent) -> list[tuple[int, str, str]] | None:
    """The tables of the junction tree, each below its parent: depth, table, and what it shares with its parent."""
    try:
        tree = published.collection.junction_tree
    except NotDecomposableError:
        return None
    rows = list[tuple[int, str, str]]()
    waiting = [(0, place) for place, parent in enumerate(tree.parents) if parent < 0]
    while waiting:
        depth, place = waiting.pop()
        shared = margin_in_words(published.domain.margin(tree.separators[place]), published.domain)
        rows.append((depth, margin_in_words(tree.margins[place], published.domain), shared if depth else ""))
        waiting += [(depth + 1, child) for child in tree.children[place]]
    return rows


def _analysed(published: BundleContent) -> dict[str, Any] | None:
    """The columns and the outcome in the recipe for R, found by attributes so that no table is named by its place."""
    by_attributes: dict[tuple[str, ...], list[ContingencyTable]] = {}
    for table in published.everything.tables:
        by_attributes.setdefault(table.attributes, []).append(table)
    candidates = []
    for attributes, tables in by_attributes.items():
        if len(attributes) > 1 and all(
            np.count_nonzero(np.bincount(codes)) > 1 for table in tables for codes in table.codes
        ):
            outcome = next((a for a in attributes if a in published.sensitive), attributes[-1])
            candidates.append((outcome not in published.sensitive, max(map(len, tables)), attributes, outcome))
    if not candidates:
        return None
    *_, attributes, outcome = min(candidates)
    return {"columns": [_r_text(a) for a in attributes], "outcome": _r_text(outcome)}


def _r_text(text: str) -> str:
    plain = (c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\U{{{ord(c):x}}}" for c in text)
    return f'"{"".join(plain)}"'


def lengths(values: Sequence[float]) -> list[float]:
    """Return the length of a bar for each value, in percent of the longest."""
    longest = max(values, default=0.0) or 1.0
    return [round(max(0.0, 100 * value / longest), 2) for value in values]


def page(name: str, **content: Any) -> bytes:
    """Return the page of a template, filled in, in UTF-8."""
    return filled(name, content, "marginals.pages")


def filled(name: str, content: dict[str, Any], *packages: str) -> bytes:
    """Return a template of packages, filled in, in UTF-8; of one name the first."""
    # A name from somebody else's file may hold half a surrogate pair, which no file can hold.
    return _environment(*packages).get_template(name).render(content).encode("utf-8", "replace")


@cache
def _environment(*packages: str) -> "jinja2.Environment":
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in packages]),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        optimized=False,  # each template is rendered once, so that finding what is constant takes longer than it saves
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["thousands"] = "{:,}".format
    templates.globals.update(signs=SIGNS)
    return templates
