"""Claims that somebody wants checked, as objects or as text: `k-link=6`, `min-cell=11`, `diversity=entropy:6`."""

from collections.abc import Sequence

from checks.claims.claim import Claim
from checks.claims.registry import claims_from_text
from checks.errors import CriterionError
from marginals.errors import InputError


def asked_claims(claims: Sequence[str | Claim], sensitive: Sequence[str]) -> list[Claim]:
    """The claims that objects and texts stand for, in their order.

    A diversity in text is claimed for each sensitive attribute. Raises InputError for text that is no claim.
    """
    listed = [claims] if isinstance(claims, str) else claims
    return [claim for each in listed for claim in (_parsed(each, sensitive) if isinstance(each, str) else [each])]


def _parsed(text: str, sensitive: Sequence[str]) -> list[Claim]:
    try:
        return claims_from_text(text, sensitive)
    except CriterionError as error:
        raise InputError(str(error)) from None
