"""Privacy claims and what was found on them, in sentences for people who decide about a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from checks.claims.claim import Claim
from checks.finding import Algorithm, Finding, Verdict

_VERDICTS = {
    Verdict.HOLDS: ("holds", "Nearest to failing"),
    Verdict.FAILS: ("does not hold", "Worst"),
    Verdict.UNDECIDED: ("could not be decided", "Worst found"),
}


@dataclass(frozen=True)
class ClaimInWords:
    """One claim for a reader.

    verdict: "holds", "fails" or "undecided"; said: the same in words. cell: labels of the worst class by attribute,
    empty where all rows are meant, None where there is none. distribution: shares of the sensitive values in it. odds: what
    somebody may know besides while it still holds, as a sentence; empty where nothing is proven.
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
    odds: str = ""


def in_words(claim: Claim, finding: Finding, sensitive: Sequence[str]) -> ClaimInWords:
    """A claim, its meaning, and the class that comes nearest to breaking it."""
    worst = finding.worst_class
    said, lead = _VERDICTS[finding.verdict]
    return ClaimInWords(
        claim.title(),
        claim.meaning(sensitive) if Algorithm.NOT_PUBLISHED not in finding.algorithms else claim.meaning_unpublished(),
        finding.verdict.value,
        said,
        lead,
        worst.cell,
        claim.reached_in_words(worst),
        worst.distribution or {},
        claim.about or "",
        _how(finding),
        "" if finding.odds is None else odds_in_words(finding.odds),
    )


def odds_in_words(odds: float) -> str:
    """What somebody may know besides while a diversity still holds.

    >>> print(odds_in_words(1.25))
    It bears odds of 1.25: it holds while other knowledge of a person changes the odds of two values at most 1.25-fold
    """
    if not isfinite(odds):
        return (
            "It bears any odds: it holds whatever else somebody knows of a person, as long as that rules no value out"
        )
    if odds == 1:
        return "It bears no odds: other knowledge of a person, however little, can break it"
    more = f"{odds:.4g}"
    return (
        f"It bears odds of {more}: it holds while other knowledge of a person changes the odds of two values "
        f"at most {more}-fold"
    )


def _how(finding: Finding) -> str:
    ways = [algorithm.sentence for algorithm in finding.algorithms]
    return f"Decided {', then '.join(ways)}" + (f"; {finding.note}" if finding.note else "")
