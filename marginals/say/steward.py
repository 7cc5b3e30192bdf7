"""The steward's report in words: how near a release comes to the data, and how it was searched."""

from collections.abc import Iterator, Mapping
from math import ceil, floor
from pathlib import Path

from marginals.accuracy import ALONE, INDEPENDENT, Comparison
from marginals.bundle.content import BundleContent
from marginals.names import column_name, margin_in_words, number_of
from marginals.say.claims import counts_below
from marginals.say.table import rows_in_words
from marginals.steward import FurtherTables, StewardReport, WantedTable
from models.search.problem import CliqueScore, SearchResult
from models.tables.hierarchy import Domain


def another_release_line(page: Path, release: Path) -> str:
    """Return that a steward's page is not that of the release in the folder."""
    return (
        f"{page} is not the page of the release in {release}: that is another one, or is gone, since a run was interrupted "
        "or the release was changed. Do not rely on that page; it is replaced when this run writes its release."
    )


def publication_lines(published: BundleContent, path: Path | None, unpublished: Mapping[str, str]) -> Iterator[str]:
    """Yield what a release publishes, and what it leaves out. unpublished: why, by attribute."""
    everything = published.everything
    counted = rows_in_words(published.collection.cube.total, published.rows_per_person)
    where = f" where {published.where}" if published.where else ""
    yield f"Published {number_of(len(everything.margins), 'marginal')} of {counted}{where} in {path}:"
    for mask, margin in zip(everything.masks, everything.margins):
        yield f"  {margin_in_words(margin, published.domain)}{' (a further table)' if mask in published.further else ''}"
    if (information := published.information) is not None:
        without = ", further tables aside" if published.further else ""
        yield f"Information: {information:.3f} nats beyond the counts of each attribute by itself{without}."
    for attribute in published.unpublished:
        why = f": {unpublished[attribute]}" if attribute in unpublished else ""
        yield f"Nothing is published of {attribute}{why}."


def wanted_line(table: WantedTable, domain: Domain) -> str:
    """Return what became of one analysis: its published table, and the finer one that it could have, or why not."""
    names, is_single = ", ".join(table.attributes), len(table.attributes) == 1
    if table.margin is not None:
        together = "shown" if is_single else "shown together"
        sentence = f"Wanted {names}: {together}, {margin_in_words(table.margin, domain)}."
    elif is_single:
        sentence = f"Wanted {names}: no published table shows it, so its values are assumed to be equally frequent."
    else:
        sentence = f"Wanted {names}: no published table shows them together, so what they say of each other is assumed."
    if table.obstacle is None:
        return sentence
    if table.would_pass is None:
        return f"{sentence} {table.obstacle[:1].upper()}{table.obstacle[1:]}."
    return (
        f"{sentence} By itself it would pass as {table.passing_in_words}, but {table.obstacle}. To have it, raise its "
        f"weight, or demand it: search.must_publish = [{table.demand}]."
    )


def steward_lines(report: StewardReport) -> Iterator[str]:
    """Yield how near a release comes to the data, compared with what is coarser, and how it was searched."""
    yield f"KL divergence to the data: {report.kl_divergence:.3f} nats (0 would be the data itself)."
    if priced := chance_in_words(report, 3):
        yield f"  {priced}"
    together = ", and all sensitive columns in one table" if len(report.published.sensitive) > 1 else ""
    yield f"  {report.kl_suppressed:.3f} with all quasi-identifiers suppressed{together}."
    yield from _comparison_lines(report.comparison)
    yield from filter(None, [worse_than_one_way(report), search_line(report.search, has_base=report.has_base)])


def chance_in_words(report: StewardReport, decimals: int) -> str:
    """Return what the search looked for the least of; empty if that is the KL divergence alone."""
    search, price = report.search, report.price
    if search.value is None:
        return ""
    if not price:
        least = f"{search.value:.{decimals}f} by {report.objective}: the search looked for the least of this."
        return least if isinstance(report.objective, CliqueScore) else ""
    gained = search.value - search.kl_divergence
    counted = ", wanted analyses counted" if search.wanted else ""
    return (
        f"{search.value:.{decimals}f} with {gained:.{decimals}f} for what chance gains, 1/{1 / price:,.0f} nats each free "
        f"parameter{counted}: the search looked for the least of this."
    )


_NAMED = 3  # columns of which the policy allows coarse tables only


def worse_than_one_way(report: StewardReport) -> str:
    """Return that tables of single attributes would come nearer to pairs, and what helps; empty if they would not.

    Those that the policy would publish are the yardstick; exact ones say what the policy takes, and of which attributes.
    """
    mean, comparison = report.two_way.mean, report.comparison
    allowed, exact = map(comparison.mean_of, (ALONE, INDEPENDENT))
    without = ', or leave the base table out (base.table = "none")' if report.has_base else ""
    if not report.two_way.by_table or exact is None:
        return ""
    if allowed is not None and mean > allowed:
        return (
            f"Worse than one-way tables: with the best tables of single attributes that the policy allows, taken as "
            f"independent, pairs would be off by {allowed:.4f} on average, not by {mean:.4f}. Give the search more time "
            f"(search.time_limit){without}."
        )
    if mean <= exact or not comparison.coarse:
        return ""
    coarse = ", ".join(map(column_name, comparison.coarse[:_NAMED]))
    return (
        f"With exact tables of single attributes, taken as independent, pairs would be off by {exact:.4f} on average, not "
        f"by {mean:.4f}, but the policy allows coarse ones only of {coarse}. Let their levels "
        f'be fitted (ladder = "fitted"), demand fewer rows (k_link, k_combinatorial, min_cell), or leave them out{without}.'
    )


def _comparison_lines(comparison: Comparison) -> Iterator[str]:
    release, others = comparison.release, comparison.yardsticks
    if release.two_way.by_table:
        compared = "; ".join(f"{other.two_way.mean:.4f} for {name}" for name, other in others.items())
        of_some = f", of {release.two_way.sample}" if release.two_way.sample else ""
        yield f"Two-way tables at base values: mean total variation {release.two_way.mean:.4f} ({compared}){of_some}."
    lost = next(iter(comparison.most_lost()), None)
    if lost is not None and lost.is_lost:
        yield (
            f"Association that is lost most: {' and '.join(lost.attributes)}, {lost.kind}; Cramer's V "
            f"{lost.cramers_v:.2f} in the table, {lost.cramers_v_released:.2f} in the release."
        )


def search_line(search: SearchResult, *, has_base: bool) -> str:
    """Return how it was searched, and how much better another release can be at most."""
    proven = proven_in_words(search, 3, has_base=has_base)
    collections = number_of(search.evaluated, "collection")
    line = f"Search: {search.strategy}, {collections} looked at{f'; {proven}' if proven else ''}."
    return f"{line} {ENDED_BY_TIME}" if search.stopped else line


ENDED_BY_TIME = (
    "The time limit ended it, so another run of the same config can end with other tables: give it more time_limit."
)


def proven_in_words(search: SearchResult, decimals: int, *, has_base: bool) -> str:
    """Return what is proven of other collections; empty for nothing. Bounds are rounded so that the sentence holds."""
    those = " that contains the base table," if has_base else ""
    none = f"no decomposable collection{those} within the policy and search limits"
    if search.optimal:
        return f"{none} is better"
    if search.bound is None or search.value is None or search.bound < search.value / 2:
        return ""
    counted = ", wanted analyses counted" if search.wanted else ""
    if search.value - search.kl_divergence > 0 and not search.wanted:
        counted = " with what chance gains"
    bound = floor(search.bound * 10**decimals) / 10**decimals
    above = ceil(max(search.value - bound, 0.0) * 10**decimals) / 10**decimals
    return f"{none} gets below {bound:.{decimals}f} nats{counted}; this one is at most {above:.{decimals}f} above that"


def beside_lines(further: "FurtherTables | None", domain: Domain, most: int | None = None) -> Iterator[str]:
    """Yield which further tables there are, what each gained, and which were left out again; at most `most` by name."""
    if further is None:
        return
    if not further.tables and not further.left_out:
        yield "No further table is published: none within the policy adds enough information about its attributes."
    elif further.tables:
        margins = [margin_in_words(domain.margin(table.mask), domain) for table in further.tables]
        gains = [f"{of} ({100 * table.gain:.2g} points)" for of, table in zip(margins, further.tables[:most])]
        rest = len(further.tables) - len(gains)
        gains += [f"and {rest:,} more"] if rest else []
        yield (
            f"{number_of(len(further.tables), 'further table')}, in the order in which they were chosen, each with what it "
            f"took off the total variation of its attributes: {'; '.join(gains)}."
        )
    if further.left_out:
        names = "; ".join(margin_in_words(domain.margin(table.mask), domain) for table in further.left_out)
        yield (
            f"Left out again: {names}. Beside them readers might be certain of combinations of values that "
            f"have {counts_below(further.least)} rows."
            + (" The time limit ended the search for a proof beside them: more time may keep more." * further.is_late)
        )
