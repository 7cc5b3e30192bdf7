"""Claims that somebody wants checked, as objects or as text: `k-link=6`, `k-combinatorial=3`, `diversity=entropy:6`."""

from collections.abc import Sequence

from checks.claims.claim import Claim, KCombinatorial, KLink, MaxentDiversity
from checks.diversity.l_diversity import parse_diversity
from marginals.errors import InputError

_DIGITS = 15
"""Most digits of a number of rows."""


def asked_claims(claims: Sequence[str | Claim], sensitive: Sequence[str]) -> list[Claim]:
    """The claims that objects and texts stand for, in their order.

    A diversity in text is claimed for each sensitive attribute. Raises InputError or CriterionError for text that is no
    claim.
    """
    listed = [claims] if isinstance(claims, str) else claims
    return [claim for each in listed for claim in (_parsed(each, sensitive) if isinstance(each, str) else [each])]


def _parsed(text: str, sensitive: Sequence[str]) -> list[Claim]:
    name, _, value = text.partition("=")
    if name == "diversity":
        if not sensitive:
            raise InputError("the release has no sensitive attribute whose diversity could be checked")
        return [MaxentDiversity(parse_diversity(value), attribute) for attribute in sensitive]
    if name not in ("k-link", "k-combinatorial") or not value.isdecimal() or len(value) > _DIGITS:
        raise InputError(f"a check is k-link=K, k-combinatorial=K or diversity=CRITERION, not {text!r}")
    return [KLink(int(value)) if name == "k-link" else KCombinatorial(int(value))]
