"""What a terminal shows: findings, tables, releases, attacks, audits and ledgers in lines of plain text."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from checks.finding import Finding
from marginals.names import margin_in_words, shown_at
from marginals.tables.people import RowsPerPerson
from marginals.wording import (
    basis_line,
    certain_in_words,
    claimed_of,
    odds_in_words,
    refusal_in_words,
    step_in_words,
    unit_in_words,
    worst_in_words,
)
from models.tables.hierarchy import Domain

if TYPE_CHECKING:
    from checks.attacks.minimality import LevelTold, Refinement
    from checks.changes import CellDifference, ChangedPeople, OneValue
    from checks.classes import Assessment, Eligibility, Reached, Reidentification, Risk, Uniqueness
    from marginals.accuracy import Comparison
    from marginals.anonymizers.lattice import LatticeResult
    from marginals.anonymizers.local_recoding import LocalRecoding
    from marginals.attacks import Attacked, Attacks, Composition, Minimality, TableChange, Threshold
    from marginals.estimates import Estimate
    from marginals.steward import BaseChoice, StewardReport, WantedTable
    from marginals.tables.attribute import Codebook
    from models.search import SearchResult


_TOO_LONG = ("margin", "margins", "counts", "distribution")
"""Keys of a worst class that only JSON and the report show; its levels can be seen in its labels."""


def finding_lines(finding: Finding) -> Iterator[str]:
    """What was checked; then a note, where there is one, and the class nearest to failing."""
    stated = dict(finding.parameters)
    of_whom = f", {claimed_of(stated.pop('rows_per_person'))}" if "rows_per_person" in stated else ""
    parameters = ", ".join(f"{name} = {value}" for name, value in stated.items())
    yield f"{finding.criterion} {parameters}".rstrip() + of_whom
    if finding.note:
        yield finding.note
    if finding.worst is not None:
        worst = {k: value for k, value in finding.worst.as_json().items() if k not in _TOO_LONG and value is not None}
        lead = "nearest to failing" if finding.holds else "worst"
        yield f"{lead}: {'; '.join(f'{key} {_plain(value)}' for key, value in worst.items())}"
    if finding.odds is not None:
        words = odds_in_words(finding.odds)
        yield words[:1].lower() + words[1:]


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={entry}" for key, entry in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def assessment_lines(assessment: "Assessment", rows_per_person: RowsPerPerson = None) -> Iterator[str]:
    """What one table reaches of each criterion, by sensitive attribute, and its homogeneous classes."""
    counted = f"{assessment.rows} {'people' if rows_per_person == 1 else 'rows'}"
    yield f"{counted} in {assessment.classes} classes, the smallest of {assessment.k_anonymity}."
    if rows_per_person != 1:
        yield from filter(None, [unit_in_words(rows_per_person)])
    for attribute, reached in assessment.diversity.items():
        yield f"{attribute}: {reached.distinct} distinct, simple {reached.simple:.3g}, entropy {reached.entropy:.3g}"
        yield from _recursive_lines(reached)
    homogeneous = {"Homogeneous": assessment.homogeneous, "Nearly homogeneous": assessment.nearly_homogeneous}
    for name, affected in homogeneous.items():
        yield f"{name}: {affected.classes} classes with {affected.rows} rows."


def eligibility_lines(eligible: Mapping[str, "Eligibility"]) -> Iterator[str]:
    """The strongest requirements that any generalization of a table satisfies, and how far beyond need it is protected."""
    yield "Eligible, however far quasi-identifiers are generalized:"
    for attribute, found in eligible.items():
        reached = found.reached
        yield f"{attribute}: {reached.distinct} distinct, simple {reached.simple:.3g}, entropy {reached.entropy:.3g}"
        yield from _recursive_lines(reached)
        yield from _tau_lines(found)


def _tau_lines(found: "Eligibility") -> Iterator[str]:
    """The eligible tau by l, and the excessive protection."""
    from checks.classes import rounded_up

    for l, tau in enumerate(found.tau, 2):
        if tau < 1:
            yield f"  functional (tau, {l}): tau of {rounded_up(tau):g} or more"
    beyond = [l for l, tau in enumerate(found.tau, 2) if tau == 1]
    if beyond:
        yield f"  functional (tau, {beyond[0]}){f' to (tau, {beyond[-1]})' if len(beyond) > 1 else ''}: no tau will do"
    if found.values > 1:
        least = rounded_up(found.generalized)
        swept = "with sensitive values generalized too (anonymize --method sweep)"
        yield f"  {swept}: tau of {least:g} or more at every l up to {found.values}"
    for requirement, excess in found.excess.items():
        yield (
            f"  excessive protection beyond {requirement}: {excess:.4g}"
            if excess is not None
            else f"  excessive protection beyond {requirement}: none, since this table does not satisfy it"
        )


def _recursive_lines(reached: "Reached") -> Iterator[str]:
    finite = [c for c in reached.recursive_c if isfinite(c)]
    for l, c in enumerate(finite, 2):
        yield f"  recursive (c, {l}): c above {c:.3g}"
    if len(finite) < len(reached.recursive_c):
        first, last = len(finite) + 2, len(reached.recursive_c) + 1
        others = f"(c, {first})" if first == last else f"(c, {first}) to (c, {last})"
        yield f"  recursive {others}: no c will do"


def single_table_lines(result: "LatticeResult", domain: "Domain", most: int | None = None) -> Iterator[str]:
    """Minimal single tables with their measures of utility, the best first. most: so many of them; None for all."""
    listed = result.minimal[:most]
    if result.nodes > 1:
        yield f"{len(result.minimal):,} minimal tables among {result.nodes:,}, {'the best:' if most == 1 else 'best first:'}"
    for table in listed:
        levels = ",".join(f"{attribute}={level}" for attribute, level in table.levels.items())
        shown = {a: level for a, level in table.levels.items() if level < domain.hierarchy(a).height}
        yield f"  {margin_in_words(shown, domain) if shown else 'every quasi-identifier suppressed'}"
        yield (
            f"    KL divergence {table.kl_divergence:.4f}, {table.classes:,} classes of "
            f"{table.average_class_size:.1f} rows on average, height {table.height}, discernibility {table.discernibility:,}"
        )
        if table.suppressed:
            yield f"    {suppressed_rows(table.suppressed)}"
        yield f"    --levels {levels}"
    if len(listed) < len(result.minimal) and most != 1:
        yield f"And {len(result.minimal) - len(listed):,} more: --all lists them, --json too."


def written_table_lines(
    path: str, recoded: "LocalRecoding", diversities: Sequence[str], suppressed: int = 0
) -> Iterator[str]:
    """What a single table holds that was just written, and what is known of its privacy. diversities: that it satisfies."""
    smallest = int(recoded.sizes.min()) if len(recoded) else 0
    yield (
        f"Wrote {recoded.rows:,} rows to {path}, in {len(recoded.cells):,} lines: combinations of values with their count. "
        f"The smallest of its {len(recoded):,} classes has {smallest:,} rows."
    )
    if suppressed:
        yield f"{suppressed_rows(suppressed)}."
    if diversities:
        yield f"Every class satisfies {' and '.join(diversities)}; no other privacy of it was checked."
    elif recoded.sensitive:
        yield f"Warning: no diversity is demanded of what is sensitive: {', '.join(recoded.sensitive)}."


def suppressed_rows(rows: int) -> str:
    """What is said of the rows of a table that are suppressed."""
    return f"{rows:,} rows suppressed: they have * in every quasi-identifier, and are one class together"


def wanted_lines(wanted: Iterable["WantedTable"], domain: "Domain") -> Iterator[str]:
    """What became of the analyses that a release is wanted for. domain: of the release."""
    for table in wanted:
        yield wanted_line(table, domain)


def wanted_line(table: "WantedTable", domain: "Domain") -> str:
    """What became of one analysis: whether it has a published table, and what it could have beside, or why not."""
    names = ", ".join(table.attributes)
    if table.margin is None and len(table.attributes) == 1:
        said = f"Wanted {names}: no published table shows it, so its values are assumed to be equally frequent."
    elif table.margin is None:
        said = f"Wanted {names}: no published table shows them together, so what they say of each other is assumed."
    else:
        together = "shown" if len(table.attributes) == 1 else "shown together"
        said = f"Wanted {names}: {together}, {margin_in_words(table.margin, domain)}."
    if table.obstacle is None or table.passing is None:
        return said if table.obstacle is None else f"{said} {table.obstacle[:1].upper()}{table.obstacle[1:]}."
    return (
        f"{said} By itself it would pass as {table.passing_in_words}, but {table.obstacle}. To have it, raise its weight, "
        f"or demand it: search.must_publish = [{table.demand}]."
    )


def steward_lines(report: "StewardReport") -> Iterator[str]:
    """For the steward alone: how near a release comes to the data, beside what is coarser, and how it was searched."""
    yield f"KL divergence to the data: {report.kl_divergence:.3f} nats (0 would be the data itself)."
    yield f"  {report.kl_suppressed:.3f} with all quasi-identifiers suppressed."
    if report.kl_best_table is not None:
        yield f"  {report.kl_best_table:.3f} for the best single table."
        if report.gain is not None:
            yield f"So the release tells {report.gain:.1f} times as much as the best single table."
    yield from _comparison_lines(report.comparison)
    yield search_line(report.search, report.base)
    if said := str(report.base):
        yield said


def _comparison_lines(comparison: "Comparison") -> Iterator[str]:
    """How far tables and counts are off, and the pair of attributes whose association is lost most."""
    own, others = comparison.release, comparison.yardsticks
    if own.two_way.by_table:
        beside = "; ".join(f"{other.two_way.mean:.4f} for {name}" for name, other in others.items())
        yield f"Two-way tables at base values: mean total variation {own.two_way.mean:.4f} ({beside})."
    if own.counts.number:
        beside = "; ".join(f"{100 * other.counts.median:.1f} for {name}" for name, other in others.items())
        yield f"Random counts: median relative error {100 * own.counts.median:.1f} percent ({beside})."
    lost = next(iter(comparison.most_lost()), None)
    if lost is not None and lost.is_lost:
        yield (
            f"Association that is lost most: {' and '.join(lost.attributes)}, {lost.kind}; Cramer's V "
            f"{lost.cramers_v:.2f} in the table, {lost.cramers_v_released:.2f} in the release."
        )


def search_line(search: "SearchResult", base: "BaseChoice | None" = None) -> str:
    """How it was searched, and how much better another release can be at most, of those with the base table if demanded."""
    those = "that contains the base table and " if base and base.demanded else ""
    searched = f"Search: {search.strategy}, {search.evaluated} collections looked at"
    if search.optimal:
        return f"{searched}; none {those}that the policy allows is better."
    if search.bound is None or search.gap is None:
        return f"{searched}."
    counted = ", wanted analyses counted" if search.wanted else ""
    return (
        f"{searched}; every release {those}that the policy allows loses at least {search.bound:.3f} nats{counted}, so none "
        f"is better by more than {search.gap:.3f}."
    )


def codebook_lines(codebook: "Codebook", conditions: Iterable[str]) -> Iterator[str]:
    """What the attributes that conditions name are, and what their values mean, where the steward says it.

    >>> from marginals.tables.attribute import Codebook
    >>> book = Codebook({"smokes": "in the last month"}, {"smokes": {"0": "no", "1": "yes"}})
    >>> list(codebook_lines(book, ["smokes=1"]))
    ['smokes: in the last month; 0 is no, 1 is yes']
    """
    asked = " ".join(conditions)
    for name in dict.fromkeys([*codebook.descriptions, *codebook.values]):
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", asked):
            meanings = ", ".join(f"{label} is {meaning}" for label, meaning in codebook.values.get(name, {}).items())
            yield f"{name}: {'; '.join(filter(None, [codebook.description(name), meanings]))}"


def estimate_lines(estimate: "Estimate", domain: "Domain", rows_per_person: RowsPerPerson = None) -> Iterator[str]:
    """A number of rows as the maximum-entropy model estimates it, or of people, its bounds, and what it rests on."""
    counted = "people" if rows_per_person == 1 else "rows"
    if estimate.exact:
        yield f"{estimate.lower} {counted}, exactly: the published marginals leave no other number."
        yield basis_line(estimate.basis, domain)
        return
    best = "no closer bounds are possible" if estimate.sharp else "closer bounds may be possible"
    if estimate.expected is None:
        yield "no estimate: the time was over before the maximum-entropy distribution was fitted"
    else:
        yield f"about {estimate.expected:.6g} {counted} expected (maximum entropy; not published as such)"
    yield f"between {estimate.lower} and {estimate.upper} for certain; {best}"
    if estimate.expected is not None:
        yield basis_line(estimate.basis, domain)


def attack_lines(attacks: "Attacks") -> Iterator[str]:
    """All measures of one release, or of several together."""
    for attacked in attacks.attacked:
        yield from _attribute_lines(attacked)
    for attribute, certain in attacks.certain.items():
        yield f"{attribute}: {certain_in_words(certain)}"
        if certain.worst is not None:
            yield f"  {worst_in_words(certain.worst)}"
    for attribute, reason in attacks.left_out.items():
        yield f"{attribute}: not attacked; {reason}"
    yield from map(_threshold_line, attacks.thresholds)
    for composition in attacks.compositions:
        yield from _composition_lines(composition)
    yield from _minimality_lines(attacks.minimality)


def _attribute_lines(attacked: "Attacked") -> Iterator[str]:
    measures = attacked.measures
    cells = measures.reconstruction
    skewed_class = ", ".join(f"{attribute}={label}" for attribute, label in measures.skewed_class.items())
    yield (
        f"{measures.sensitive}: put together with all that bears on it, {cells.determined} of {cells.cells} possible cells "
        f"are determined exactly, with {cells.rows} of {cells.total} rows" + ("" if cells.sharp else "; more may be")
    )
    yield f"  the class furthest from everybody ({skewed_class or 'all'}): total variation {measures.skewness:.3f}"
    if guessing := attacked.guessing:
        yield (
            f"  guessed right: {guessing.definetti:.1%} by learning across classes (deFinetti), "
            f"{guessing.maxent:.1%} by maximum entropy, {guessing.base_rate:.1%} without the release"
        )


def _threshold_line(threshold: "Threshold") -> str:
    claim = f"{threshold.criterion} {threshold.claimed}"
    if threshold.rows_per_person is not None:
        claim += f" {claimed_of(threshold.rows_per_person)}"
    if threshold.is_missed:
        return f"{claim}: the claim is not met"
    if threshold.smallest is None:
        return f"{claim}: the smallest count is not known"
    spare = "binding: met without a row to spare" if threshold.binding else "not binding"
    return f"{claim}: the smallest count is {threshold.smallest}; {spare}"


def _composition_lines(composition: "Composition") -> Iterator[str]:
    yield f"Composition, of what bears on {composition.sensitive}:"
    for view in (composition.together, *composition.each):
        cells = view.reconstruction
        releases = "all together" if view is composition.together else view.releases[0]
        skewness = "" if view.skewness is None else f", total variation {view.skewness:.3f}"
        yield (
            f"  {releases}: {cells.determined} of {cells.cells} possible cells determined ({cells.share:.1%}), "
            f"smallest possible class at most {view.smallest}{skewness}"
        )
    for name, reason in composition.unknown.items():
        yield f"  {name}: not known; {reason}"


def _minimality_lines(minimality: "Minimality") -> Iterator[str]:
    if minimality.domain is None:
        yield f"Minimality: {minimality.note}."
        return
    domain = minimality.domain

    @cache
    def shown(attribute: str, level: int) -> str:
        return shown_at(attribute, domain.hierarchy(attribute), level)

    lead = "Minimality: who knows that these were refused for the claims concludes"
    yield from _step_lines(lead, minimality.holders, shown)
    if minimality.insiders is not None:
        lead = "Minimality, for those who know everybody's nonsensitive values"
        yield from _step_lines(lead, minimality.insiders, shown)
    else:
        yield (
            "  Finer values than any published are known to the publisher: --truth CONFIG judges steps to these too, and "
            "says what steps tell that are fitted to the table."
        )
    yield from _ladder_lines(minimality.ladders or (), shown)


def _ladder_lines(told: "Sequence[LevelTold]", shown: Callable[[str, int], str]) -> Iterator[str]:
    """What the finest published level of each attribute tells whose levels are fitted."""
    finest = {level.attribute: level for level in reversed(told)}
    if finest:
        yield "Fitted steps: who knows that they are fitted to the table concludes:"
    for level in reversed(finest.values()):
        groups = "its merged group" if level.merged == 1 else f"each of its {level.merged} merged groups"
        yield f"  {shown(level.attribute, level.level)}: {groups} holds a value with fewer than {level.fewer_than} rows"


def _step_lines(lead: str, steps: "Sequence[Refinement]", shown: Callable[[str, int], str]) -> Iterator[str]:
    """The steps that tell something one by one, then the others, those with the same reason on one line."""
    if not steps:
        yield f"{lead}: nothing, since the release names no finer values than it publishes."
        return
    yield f"{lead}:"
    steps_by_reason: dict[str, list[str]] = {}
    for step in steps:
        if step.suspects is None:
            steps_by_reason.setdefault(refusal_in_words(step), []).append(step_in_words(step, shown))
        else:
            yield f"  {step_in_words(step, shown)}: {refusal_in_words(step)}"
    for reason, same in steps_by_reason.items():
        yield f"  {'; '.join(same)}: {reason}"


def change_lines(change: "TableChange") -> Iterator[str]:
    """What two tables tell of the change between them."""
    before, after = change.rows
    yield f"From {change.earlier} ({before:,} rows) to {change.later} ({after:,} rows), who holds both knows:"
    if change.parts:
        yield f"  But {change.parts}."
    for told in change.told:
        yield from _told_lines(told, change.least)
    if change.unclear:
        yield (
            f"  Labels do not tell how the values of {', '.join(map(repr, change.unclear))} overlap; what they stand for "
            "together was compared."
        )
    if change.assumption and any(told.small for told in change.told):
        yield f"  Of a small difference: {change.assumption}."
    yield f"  What these differences do not tell: {change.beyond}."


def _told_lines(told: "ChangedPeople", least: int | None) -> Iterator[str]:
    cells = f"{told.cells:,} {'cell' if told.cells == 1 else 'cells'} that both tell"
    if not told.smallest:
        yield f"  No difference in any of {cells}."
        return
    if told.small:
        yield f"  {told.small:,} differences of fewer than {least:,} rows in {cells}, the smallest first:"
    else:
        small = "" if least is None else f" of fewer than {least:,} rows"
        yield f"  No difference{small} in {cells}. The smallest:" if small else f"  Of {cells} the smallest difference:"
    for difference in told.smallest:
        yield f"    {_difference_in_words(difference)}"
    if told.small > len(told.smallest):
        yield f"    and {told.small - len(told.smallest):,} more"
    if told.one_value:
        yield f"  Classes in which one sensitive value alone rose or fell ({told.classes:,}), the smallest first:"
        yield from (f"    {_one_value_in_words(each)}" for each in told.one_value)
        if told.classes > len(told.one_value):
            yield f"    and {told.classes - len(told.one_value):,} more"


def _difference_in_words(found: "CellDifference") -> str:
    who = f"{_people(found.difference)} {'came' if found.difference > 0 else 'left'}"
    return f"{_cell(found.cell)}: {found.before:,} before, {found.after:,} after: at least {who}"


def _one_value_in_words(found: "OneValue") -> str:
    who = "came" if found.difference > 0 else "left"
    return (
        f"{_cell(found.cell)}: {_people(found.difference)} more {who} than {'left' if who == 'came' else 'came'} with "
        f"{found.sensitive}={found.value}, and of no other value did more"
    )


def _people(rows: int) -> str:
    return f"{abs(rows):,} {'row' if abs(rows) == 1 else 'rows'}"


def _cell(cell: Mapping[str, str]) -> str:
    return ", ".join(f"{attribute}={label}" for attribute, label in cell.items()) or "all"


def reidentification_lines(risk: "Reidentification | None", unique: "Uniqueness | None") -> Iterator[str]:
    """What a prosecutor, a marketer and a journalist can do, and which columns make rows unique. No value is named."""
    if risk is not None:
        yield from _risk_lines(risk)
    if unique is not None:
        yield from _unique_lines(unique)


def _risk_lines(found: "Reidentification") -> Iterator[str]:
    yield "Risk that somebody finds a person's row:"
    yield f"  prosecutor, who knows that the person is in the table: {_in_words(found.prosecutor)}"
    if found.journalist is not None:
        about = ", estimated from the sampling fraction" if found.is_estimated else ""
        yield f"  journalist, who knows the population only{about}: {_in_words(found.journalist)}"
        yield f"    unique in the population too: {'about ' if found.is_estimated else ''}{found.population_unique:.4g} rows"
    yield f"  marketer, who links all rows at random: right for {100 * found.marketer:.3g} % of them on average"


def _in_words(risk: "Risk") -> str:
    above = ", ".join(f"{100 * share:.3g} % above {bound}" for bound, share in risk.above.items())
    return f"{risk.highest:.3g} at most, {risk.average:.3g} on average; of the rows {above}"


def _unique_lines(found: "Uniqueness") -> Iterator[str]:
    yield f"Unique by all quasi-identifiers together: {found.records:,} {'row' if found.records == 1 else 'rows'}."
    telling = sorted(((share, name) for name, share in found.columns.items() if share), reverse=True)
    if telling:
        shares = ", ".join(f"{name} {100 * share:.3g} %" for share, name in telling)
        columns = "one column" if found.most == 1 else f"{found.most} columns or fewer"
        yield f"  Of those unique by {columns}, how many need this column: {shares}."
