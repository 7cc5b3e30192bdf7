"""Preview: what leaves the house when a release that was found is published, table by table, and what readers will lack."""

from collections.abc import Mapping
from typing import Any

from marginals.bundle.writing import identity_of
from marginals.names import margin_in_words
from marginals.pages.pairs import pairs_shown
from marginals.release.release import Release
from marginals.say.claims import claim_meaning, claim_title

_LISTED = 12
"""Pairs without a table that are named."""


def preview(release: Release, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a release from its files alone. answer: says why a column is not published, for the steward.

    tables: in words, with cells that have rows, the smallest count, and sensitive columns. guarantees: what holds, each with
    the name of its demand. lacking: columns of which nothing is published, with the reason where it is known. apart: pairs
    of published columns that no table tells of, the first of them; further: how many more.
    """
    domain, sensitive = release.domain, release.published.sensitive
    reasons = answer.get("unpublished") or {}
    lacking = {name: reasons.get(name, "") for name in release.published.unpublished}
    pairs = pairs_shown(release.everything).of_kind("assumed")
    apart = [" and ".join(pair.names) for pair in pairs if not {*pair.names} & {*lacking}]
    return {
        "identity": identity_of(release.published),
        "tables": [
            {
                "in_words": margin_in_words(table.margin, domain),
                "counted": len(table),
                "smallest": int(table.counts.min(initial=release.rows)),
                "sensitive": [name for name in table.margin if name in sensitive],
            }
            for table in release.everything.tables
        ],
        "guarantees": [(claim_title(claim), claim_meaning(claim)) for claim in release.claims],
        "lacking": lacking,
        "apart": apart[:_LISTED],
        "further": max(len(apart) - _LISTED, 0),
    }
