"""Privacy claims and what was found on them, in sentences for people who decide about a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checks.claims.claim import Claim, KCombinatorial, KLink, MaxentDiversity
from checks.diversity.functional_diversity import Functional
from checks.diversity.l_diversity import Distinct, Diversity, Entropy, Recursive, Simple
from checks.diversity.spelling import spelled
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
        _name(claim),
        _meaning(claim, sensitive) if finding.algorithm != "not published" else _tells_nothing(claim),
        finding.verdict.value,
        said,
        lead,
        worst.get("cell"),
        _reached(claim, worst),
        worst.get("distribution", {}),
        claim.sensitive if isinstance(claim, MaxentDiversity) else "",
        _how(finding),
    )


def _how(finding: Finding) -> str:
    ways = [_HOW.get(way, f"by {way}") for way in finding.algorithm.split(", ")]
    return f"Decided {', then '.join(ways)}" + (f"; {finding.note}" if finding.note else "")


def _name(claim: Claim) -> str:
    match claim:
        case KLink(k):
            return f"k-link anonymity, k = {k}"
        case KCombinatorial(k):
            return f"k-combinatorial anonymity, k = {k}"
    return f"Maximum-entropy diversity of {claim.sensitive}, {claim.diversity}"


def _meaning(claim: Claim, sensitive: Sequence[str]) -> str:
    match claim:
        case KLink(k):
            aside = f" ({' and '.join(sensitive)} set aside)" if sensitive else ""
            return f"Whoever is counted in a published table shares their cell{aside} with at least {k - 1:,} others."
        case KCombinatorial(k):
            return (
                "It stays so when somebody puts all tables together: wherever they leave room for anybody at all, "
                f"they leave room for at least {k:,}."
            )
    return (
        f"Whatever combination of published values somebody knows of a person, {_diversity(claim.diversity)} "
        f"as judged by the one who reads all tables together and assumes nothing else."
    )


def _tells_nothing(claim: Claim) -> str:
    of = claim.sensitive if isinstance(claim, MaxentDiversity) else "it"
    return f"No table shows {of}, so nobody learns anything of it here, whatever diversity is asked for."


def _diversity(diversity: Diversity) -> str:
    match diversity:
        case Distinct(l):
            return f"at least {l} sensitive values remain possible,"
        case Simple(l):
            return f"no sensitive value is likelier than 1 in {spelled(l)},"
        case Entropy(l):
            return f"the sensitive value stays as uncertain as {spelled(l)} equally likely ones,"
        case Recursive(c, l):
            tail = "all others" if l == 2 else f"all but the {l - 1} likeliest"
            return f"the likeliest sensitive value is less than {spelled(c)} times as likely as {tail} together,"
        case Functional(tau, l):
            return (
                f"the likeliest sensitive value has a share of at most {spelled(tau)}, and certainty takes "
                f"at least {l} values,"
            )
    return f"the sensitive value satisfies {diversity},"


def _reached(claim: Claim, worst: Mapping[str, Any]) -> str:
    """What the worst class reaches, beside what is demanded."""
    if isinstance(claim, MaxentDiversity):
        value = worst.get("reached")
        return "" if value is None else _diversity_reached(claim.diversity, float(value))
    if "count" not in worst:
        return ""
    return f"{worst['count']:,.6g} rows; at least {claim.k:,} are claimed"


def _diversity_reached(diversity: Diversity, value: float) -> str:
    match diversity:
        case Distinct(l):
            return f"{value:.0f} values; at least {l} are claimed"
        case Simple(l):
            return f"The likeliest is 1 in {value:.3g}; at most 1 in {spelled(l)} is claimed"
        case Entropy(l):
            return f"As uncertain as {value:.4g} values; at least {spelled(l)} are claimed"
        case Recursive(c, _):
            return f"{value:.4g} times as likely; less than {spelled(c)} times is claimed"
        case Functional(tau, _):
            return f"This class allows a share of {value:.3g}; {spelled(tau)} is claimed"
    return f"Reaches {value:.4g}"
