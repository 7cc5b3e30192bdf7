"""The page of a release for the steward of its table: what does not follow from the published marginals. Not to publish."""

from dataclasses import replace
from heapq import nlargest
from itertools import islice

from checks.claims import MinCell
from marginals.accuracy import Comparison
from marginals.bundle.content import BundleContent
from marginals.bundle.writing import identity_of
from marginals.ledger import waiting_lines
from marginals.names import with_level_names
from marginals.pages.release_page import lengths, page
from marginals.say.claims import harm_tables, sensitive_lines
from marginals.say.steward import (
    ENDED_BY_TIME,
    beside_lines,
    chance_in_words,
    proven_in_words,
    wanted_line,
    worse_than_one_way,
)
from marginals.say.table import dropped_warning, few_dropped_warning, unit_in_words
from marginals.steward import MARK, StewardReport

_STEPS = 200

_FURTHEST = 10
"""Pairs that are listed, those furthest from the data first."""

_WORST = 5
"""Tables of one size that are listed, those furthest from the data first."""


def steward_html(report: StewardReport) -> bytes:
    """The page in UTF-8."""
    search = report.search
    rows = report.published.collection.cube.total
    least = max((claim.k for claim in report.published.claims if isinstance(claim, MinCell)), default=None)
    people = [name for name in report.dropped_in if name not in report.domain.attributes]
    return page(
        "steward.html",
        mark=MARK,
        identity=identity_of(report.published).removeprefix("sha256:"),
        report=report,
        rows=rows,
        whole=rows + report.left_out + report.dropped,
        sensitive_said=list(sensitive_lines(report.published.verify())),
        unit=unit_in_words(report.published.rows_per_person),
        harm=harm_tables(report.published.harmful, report.published.codebook),
        waiting_lines=list(waiting_lines(report.waiting, report.domain)) if report.waiting else [],
        warning=dropped_warning(rows + report.left_out, report.dropped, report.dropped_in, people),
        few_dropped=few_dropped_warning(report.dropped, report.dropped_in, least, people),
        unpublished={**report.unpublished, **report.by_role},
        bars=_bars(report),
        models=list(report.comparison.candidates.items()),
        pairs=len(report.comparison.release.two_way.by_table),
        lost=[*islice((pair for pair in report.comparison.most_lost() if pair.is_lost), _FURTHEST)],
        wanted=_wanted(report.comparison),
        wanted_lines=[wanted_line(table, report.published.domain) for table in report.wanted],
        proven=proven_in_words(search, 6, has_base=report.has_base),
        chance=chance_in_words(report, 6),
        poor=worse_than_one_way(report),
        beside_lines=[*beside_lines(report.further, report.domain)],
        ended=ENDED_BY_TIME if report.search.stopped else "",
        steps=[replace(s, move=with_level_names(s.move, report.domain)) for s in search.steps[:_STEPS]],
        later=max(0, len(search.steps) - _STEPS),
        errors=[
            (
                name,
                of,
                [(" and ".join(a), of.by_table[a]) for a in nlargest(_WORST, of.by_table, of.by_table.__getitem__)],
            )
            for name, of in (("one attribute", report.one_way), ("two attributes", report.two_way))
        ],
    )


def renamed(steward_page: bytes, before: BundleContent, after: BundleContent) -> bytes:
    """The page of a release as that of another one, which differs in nothing but its imprint."""
    from markupsafe import escape  # as templates do

    old, new = (identity_of(content).removeprefix("sha256:") for content in (before, after))
    text = steward_page.decode().replace(old, new).replace(f"<code>{old[:12]}</code>", f"<code>{new[:12]}</code>")
    for begin, end in (("<title>", ": for the steward"), ("<h1>", "</h1>")):
        text = text.replace(f"{begin}{escape(before.title)}{end}", f"{begin}{escape(after.title)}{end}", 1)
    return text.encode()


def _bars(report: StewardReport) -> list[tuple[str, float, float]]:
    bars = {"All quasi-identifiers suppressed": report.kl_suppressed, "This release": report.kl_divergence}
    return [(label, nats, length) for (label, nats), length in zip(bars.items(), lengths([*bars.values()]))]


def _wanted(comparison: Comparison) -> list[tuple[str, list[float | None]]]:
    candidates = comparison.candidates.values()
    tables = dict.fromkeys(table for candidate in candidates for table in candidate.wanted.by_table)
    return [
        (" and ".join(table), [candidate.wanted.by_table.get(table) for candidate in candidates]) for table in tables
    ]
