"""Ledgers in sentences, for the steward alone: what is out, what each pair of releases tells, and who waits."""

from collections.abc import Iterator

from checks.finding import Finding
from marginals.bundle.content import BundleContent
from marginals.ledger.continuing import Waiting
from marginals.ledger.entry import Entry
from marginals.ledger.few_waiting import CHANGED
from marginals.ledger.telling import Pair
from marginals.names.level_names import margin_in_words
from models.tables.domain import Domain

ENOUGH = 0.9
"""Share of what could be shown from which on nothing is said of the rest."""


def turnover_in_words(published: BundleContent) -> str:
    """What a release takes for granted of its readers, as a sentence for them; empty where it does not say."""
    if not published.turnover_known:
        return ""
    return (
        "It is one of several, of a table that changes, and made for readers who know that people come and go: a count that "
        "differs a little from that of another release is of many who came and nearly as many who left, not of a few people."
    )


def waiting_lines(waiting: Waiting, domain: Domain) -> Iterator[str]:
    """Whom a release does not show yet, and which margins of the earlier ones. domain: of the table.

    >>> from marginals.example import table
    >>> list(waiting_lines(Waiting(3, 1, 0, 2), table.domain))[0]
    'Beside the 2 releases of the ledger 3 rows that were added and 1 that were removed cannot be shown yet: they wait.'
    """
    if not waiting.releases:
        yield "It is the first release of the ledger: whatever changes from now on is shown when that is safe beside it."
        if waiting.foreseen is not None:
            yield (
                f"If {100 * CHANGED:g} percent of the people change between two releases, about "
                f"{100 * waiting.foreseen:.0f} percent of all will wait; a smaller max_waiting gives coarser margins, "
                "beside which fewer do."
            )
        if waiting.kept is not None and waiting.kept < ENOUGH:
            yield (
                f"For that it is coarse: beyond single attributes it shows {100 * max(waiting.kept, 0):.0f} percent of what "
                "it would if everybody might wait, and all later releases keep to its margins. If that is too little, "
                "start the ledger again before anything is out, with a larger max_waiting, a smaller k, or fewer releases."
            )
        return
    beside = f"Beside the {waiting.releases} releases" if waiting.releases > 1 else "Beside the release"
    if waiting.came or waiting.left:
        yield (
            f"{beside} of the ledger {waiting.came:,} rows that were added and {waiting.left:,} that were removed cannot be "
            "shown yet: they wait."
        )
    else:
        yield f"{beside} of the ledger everything that changed can be shown: nobody waits."
    if waiting.unknown:
        yield (
            f"{waiting.unknown:,} rows have a value that the first release of the ledger did not know, and are not counted."
        )
    if waiting.coarsened:
        listed = "; ".join(margin_in_words(margin, domain) for margin in waiting.coarsened)
        yield f"Of margins that the earlier releases show, these are coarser now, or left out: {listed}."


def entry_line(entry: Entry) -> str:
    """A release of a ledger."""
    state = "out" if entry.is_out else "perhaps out: its writing was interrupted, so it counts"
    retracted = f"; retracted on {entry.retracted}, which makes nothing unknown: it counts" if entry.retracted else ""
    came, left = entry.waiting
    waiting = f"; {came:,} that came and {left:,} that left waited" if came or left else ""
    turnover = "; turnover known" if entry.turnover_known else ""
    part = f"; part: {entry.where}, of {entry.table.total:,} rows that are judged" if entry.where else ""
    return f"{entry.number}  {entry.date}  {entry.rows:,} rows  {state}{part}{turnover}{waiting}{retracted}  {entry.folder}"


def pair_lines(pair: Pair) -> Iterator[str]:
    """What two releases tell together."""
    verdict = "safe together" if pair.ok else "not proven to be safe together"
    yield (
        f"{pair.earlier} and {pair.later}: {pair.came:,} rows came and {pair.left:,} left, {verdict}"
        + (f"; the smallest difference is {pair.smallest:+,}" if pair.smallest is not None else "")
        + ("; it may be of any size, since both say that turnover is known" if pair.turnover_known else "")
    )
    for finding in pair.findings:
        if not finding.holds:
            yield f"   {_said(finding)}"


def _said(finding: Finding) -> str:
    of_whom = f" of the {finding.parameters['of']}" if "of" in finding.parameters else ""
    return f"{finding.verdict.value}: {finding.criterion}{of_whom}"
