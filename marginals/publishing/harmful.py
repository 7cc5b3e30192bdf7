"""Harmful values: bounds on how sure anybody can be of them, as claims about sensitive attributes.

Presets such as "public" bound each harmful value, and all of them together, by the share of all rows that has it
(`checks.diversity.relative.Odds`). A bound that somebody typed under at_most replaces that of the values it names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np

from checks.claims import MaxentDiversity
from checks.diversity.criterion import SensitiveValues
from checks.diversity.relative import AtMost, Odds
from checks.diversity.text import spelled
from checks.errors import CriterionError
from checks.requirements import Requirements
from marginals.errors import InputError
from marginals.recoding.lattice import finest_level
from marginals.tables.attribute import MISSING, Harm
from marginals.tables.sensitive_groups import CATEGORIES
from marginals.tables.table import Table
from models.tables.hierarchy import SUPPRESSED

_GROUPS = 5  # of numbers or dates, about; finer ones could hardly be published


def known_values(table: Table, attribute: str) -> SensitiveValues:
    """The base values of an attribute with their rows, without the value that marks missing ones."""
    hierarchy, rows = table.domain.hierarchy(attribute), table.cube.table(table.domain.mask({attribute: 0})).dense()
    missing = hierarchy.code(MISSING, 0) if attribute in table.counts_missing else None
    if missing is not None and len(rows) > 1:
        hierarchy = hierarchy.restricted_to(np.delete(np.arange(len(rows)), missing))
        rows = np.delete(rows, missing)
    return SensitiveValues(hierarchy, 0, tuple(rows.tolist()))


def bounded_values(table: Table, attribute: str) -> SensitiveValues:
    """The values of an attribute that are bounded one by one: all of them, or about five groups of numbers or dates."""
    values = known_values(table, attribute)
    hierarchy, size = values.hierarchy, values.hierarchy.size
    if size(0) <= CATEGORIES or hierarchy.order_among(0, range(size(0))) is None:
        return values
    return values.coarsened(min(range(hierarchy.height), key=lambda level: abs(np.log(size(level) / _GROUPS))))


def about_harm(
    claims: Iterable[MaxentDiversity], harm: Mapping[str, Harm], table: Table | None = None
) -> list[MaxentDiversity]:
    """Add the harmful values and the typed bounds to claims about diversity. harm: by attribute.

    table: gives the share of each value and the levels of numbers; without one, claims that depend on these are left out.
    Raises InputError for a typed bound that names no value, is below the share of all rows, or has no effect. Raises it
    also for harmless values that no bound refers to.
    """
    demands, odds = list[MaxentDiversity](), dict[str, Odds]()
    for claim in claims:
        if not isinstance(claim.diversity, Odds) or claim.diversity.may_disclose or claim.level:
            demands.append(claim)
            continue
        odds[claim.sensitive], of = claim.diversity, harm.get(claim.sensitive, Harm())
        spared = tuple(sorted({*of.harmless, *of.at_most} - {SUPPRESSED})) if of.harmless else ()
        values = None if table is None else bounded_values(table, claim.sensitive)
        diversity = replace(claim.diversity, may_disclose=spared)
        if not spared or values is None or any(values.rows[code] for code in _harmful(claim.sensitive, values, spared)):
            demands.append(replace(claim, diversity=diversity, level=0 if values is None else values.level))
    for name, of in harm.items():
        if of.harmless and name not in odds and SUPPRESSED not in of.at_most:
            where = f"attributes.{name}.harmless"
            raise InputError(
                f'the key {where} has no effect beside the diversity of {name!r}: write {name} = "public" under '
                "[privacy.diversity], or leave the key out"
            ).about(where)
        for value, most in of.at_most.items():
            together = Odds(Fraction(1), most, of.harmless)
            demands.append(MaxentDiversity(together if value == SUPPRESSED else AtMost(most, (value,)), name))
        if table is not None and name in table.roles:
            demands += _of_typed(name, of, odds.get(name), table)
    return demands


def _of_typed(name: str, harm: Harm, odds: Odds | None, table: Table) -> Iterator[MaxentDiversity]:
    values, people = known_values(table, name), table.most_rows_of_a_person or 1
    if not any(values.rows):
        return
    harmful = [code for code in _harmful(name, values, harm.harmless) if values.rows[code]]
    together = sum((values.shares[code] for code in harmful), Fraction(0))
    for value, most in harm.at_most.items():
        where = f"attributes.{name}.at_most"
        named = harmful if value == SUPPRESSED else _codes(where, values.touching, (value,))
        share = sum((values.shares[code] for code in named), Fraction(0))
        if 100 * people * share > most:
            least = ceil(100 * people * share)
            raise InputError(
                f"the key {where} bounds {value!r} by {spelled(most)} percent, and {min(least, 100)} percent of all have it "
                f"(rounded up); {f'raise it to {least}' if least < 100 else 'leave it out'}"
            ).about(where)
        bound = odds and not harm.harmless and 100 * replace(odds, rows_per_person=people).bound(share) * people
        if bound and most > bound:
            raise InputError(
                f"the key {where} would loosen the bound of {spelled(bound)} percent on {value!r}; list what harms nobody "
                f"under attributes.{name}.harmless, with confirmed = true, or demand less by diversity"
            ).about(where)
    if odds is not None and harm.harmless and harm.at_most and SUPPRESSED not in harm.at_most and len(harmful) > 1:
        bound = 100 * people * replace(odds, rows_per_person=people).bound(together)
        most = max(bound, *harm.at_most.values())
        if most < 100:
            yield MaxentDiversity(Odds(Fraction(1), most, harm.harmless), name)


def _harmful(name: str, values: SensitiveValues, harmless: Iterable[str]) -> frozenset[int]:
    return frozenset(range(len(values.rows))) - _codes(f"attributes.{name}.harmless", values.within, harmless)


def _codes(where: str, named: Callable[[Iterable[str]], frozenset[int]], labels: Iterable[str]) -> frozenset[int]:
    try:
        return named(labels)
    except CriterionError as error:
        raise InputError(f"the key {where}: {error}").about(where) from None


def can_be_shown(table: Table, attribute: str, requirements: Requirements) -> bool:
    """Return True if all rows together may be shown at some level, and some value keeps a bound below certainty."""
    demanded = requirements.about(attribute)
    if finest_level(table.cube, attribute, demanded) is None:
        return False
    values = known_values(table, attribute)
    certain = np.eye(len(values.rows), dtype=np.int64)
    criteria = (claim.class_diversity for claim in demanded.diversity_claims)
    return any(bool((kind.among(values).slack(certain) < 0).any()) for kind in criteria if kind and any(values.rows))
