"""Preview: what leaves the house when a release that was found is published, table by table, and what readers will lack."""

from collections.abc import Mapping
from dataclasses import dataclass

from marginals.bundle.writing import identity_of
from marginals.names import margin_in_words
from marginals.pages.release_page import pairs_shown
from marginals.release.release import Release
from marginals.say.claims import claim_meaning, claim_title

_LISTED = 12
"""Pairs without a table that are named."""

_ASSUMED = ("assumed", "unpublished")
"""Kinds of pairs that no table tells of."""


@dataclass(frozen=True)
class PreviewedTable:
    """A table that is published. counted: its cells with rows. sensitive: those of its columns that are."""

    in_words: str
    counted: int
    smallest: int
    sensitive: tuple[str, ...]


@dataclass(frozen=True)
class Preview:
    """What a release shows.

    identity: of the release. guarantees: what holds of it, a sentence each, with the name of its demand. lacking: columns
    of which nothing is published, with the reason where it is known. apart: pairs of published columns that no table tells
    of, the first of them; further: how many more.
    """

    identity: str
    tables: tuple[PreviewedTable, ...]
    guarantees: tuple[tuple[str, str], ...]
    lacking: Mapping[str, str]
    apart: tuple[str, ...]
    further: int

    @classmethod
    def of(cls, release: Release, reasons: Mapping[str, str]) -> "Preview":
        """Of a release, from its files alone. reasons: why a column is not published, for the steward."""
        domain, sensitive = release.domain, set(release.published.sensitive)
        tables = tuple(
            PreviewedTable(
                margin_in_words(table.margin, domain),
                len(table),
                int(table.counts.min(initial=release.rows)),
                tuple(name for name in table.margin if name in sensitive),
            )
            for table in release.everything.tables
        )
        lacking = {name: reasons.get(name, "") for name in release.published.unpublished}
        pairs = [
            " and ".join(pair.names)
            for pair in pairs_shown(release.everything).listed
            if pair.kind in _ASSUMED and not set(pair.names) & set(lacking)
        ]
        claims = tuple((claim_title(claim), claim_meaning(claim)) for claim in release.claims)
        return cls(
            identity_of(release.published),
            tables,
            claims,
            lacking,
            tuple(pairs[:_LISTED]),
            max(len(pairs) - _LISTED, 0),
        )
