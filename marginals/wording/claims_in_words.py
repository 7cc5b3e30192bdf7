"""Privacy claims and what was found on them, in sentences for people who decide about a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checks.claims.claim import Claim
from checks.finding import Finding, Verdict

_VERDICTS = {
    Verdict.HOLDS: ("holds", "Nearest to failing"),
    Verdict.FAILS: ("does not hold", "Worst"),
    Verdict.UNDECIDED: ("could not be decided", "Worst found"),
}
_HOW = {
    "not published": "at once: no table shows it",
    "minimum": "by looking at every cell",
    "k-link": "by looking at every cell, which is enough here",
    "join": "by looking at every combination that the tables leave possible",
    "hull": "by putting the tables together, keeping the most extreme combinations only (hull)",
    "pairwise ratios": "by the largest ratio that any two values can have (pairwise ratios)",
    "vector sets": "by putting the tables together, keeping what could still break it only (vector sets)",
    "branch and bound": "by a search that leaves out what provably cannot break it (branch and bound)",
    "integer programming": "by the most rows that any combination can have (integer programming)",
    "iterative fitting": "by fitting what the tables say together step by step (iterative fitting)",
}
"""How each algorithm comes to its verdict."""


@dataclass(frozen=True)
class ClaimInWords:
    """One claim for a reader.

    verdict: "holds", "fails" or "undecided"; said: the same in words. cell: labels of the worst class by attribute,
    empty where all rows are meant, None where there is none. distribution: shares of the sensitive values in it.
    """

    name: str
    meaning: str
    verdict: str
    said: str
    lead: str
    cell: Mapping[str, str] | None
    reached: str
    distribution: Mapping[str, float]
    sensitive: str
    how: str


def in_words(claim: Claim, finding: Finding, sensitive: Sequence[str]) -> ClaimInWords:
    """A claim, its meaning, and the class that comes nearest to breaking it."""
    worst: Mapping[str, Any] = finding.worst or {}
    said, lead = _VERDICTS[finding.verdict]
    return ClaimInWords(
        claim.title(),
        claim.meaning(sensitive) if finding.algorithm != "not published" else claim.meaning_unpublished(),
        finding.verdict.value,
        said,
        lead,
        worst.get("cell"),
        claim.reached_in_words(worst),
        worst.get("distribution", {}),
        claim.about or "",
        _how(finding),
    )


def _how(finding: Finding) -> str:
    ways = [_HOW.get(way, f"by {way}") for way in finding.algorithm.split(", ")]
    return f"Decided {', then '.join(ways)}" + (f"; {finding.note}" if finding.note else "")
