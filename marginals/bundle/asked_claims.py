"""Claims that somebody wants checked, as objects or as text: `k-link=6`, `diversity=entropy:6`, `odds=1.5`.

A diversity of single attributes, or of levels, is written as in a config:
`diversity={ diagnosis = ["entropy:6", "distinct:3"] }`.
"""

from collections.abc import Mapping, Sequence

from checks.changes.difference import CRITERION
from checks.claims.by_attribute import diversities_by_attribute
from checks.claims.claim import Claim
from checks.claims.count_claim import number_of_rows
from checks.claims.registry import claims_from_text, odds_from_text
from checks.errors import CriterionError
from marginals.errors import InputError


def asked_claims(claims: Sequence[str | Claim], sensitive: Sequence[str], own: Sequence[Claim] = ()) -> list[Claim]:
    """The claims that objects and texts stand for, in their order.

    A diversity in text is claimed for each sensitive attribute, or for those it names. `odds=G` is about the diversities
    among them, or where there are none about those of `own`, the claims of the release, which are then claimed at these
    odds. Raises InputError for text that is no claim, and for odds without a diversity.
    """
    listed = [claims] if isinstance(claims, str) else claims
    try:
        odds = [number for each in listed if isinstance(each, str) and (number := odds_from_text(each)) is not None]
        parsed = [claim for each in listed for claim in _parsed(each, sensitive)]
        if not odds:
            return parsed
        at_odds = [claim.at_odds(max(odds)) for claim in parsed]
        if any(at_odds):
            return [claim or plain for plain, claim in zip(parsed, at_odds)]
        of_release = [claim for each in own if (claim := each.at_odds(max(odds))) is not None]
    except CriterionError as error:
        raise InputError(str(error)) from None
    if not of_release:
        raise InputError("odds are about a diversity, and the release claims none; check one: diversity=CRITERION")
    return [*parsed, *of_release]


def asked_difference(claims: Sequence[str | Claim]) -> tuple[tuple[str | Claim, ...], int | None]:
    """What else is asked than the least difference of releases, `difference=K`, and the largest K; None where it is not.

    Raises InputError for a K that is no whole number of at least 1.
    """
    others: list[str | Claim] = []
    asked: list[int] = []
    for each in claims:
        name, _, text = each.partition("=") if isinstance(each, str) else ("", "", "")
        if name != CRITERION:
            others.append(each)
        elif k := number_of_rows(text):
            asked.append(k)
        else:
            raise InputError(f"a check of differences is difference=K, K a whole number of at least 1, not {each!r}")
    return tuple(others), max(asked, default=None)


def _parsed(asked: str | Claim, sensitive: Sequence[str]) -> Sequence[Claim]:
    if not isinstance(asked, str):
        return [asked]
    name, _, value = asked.partition("=")
    if name == "diversity" and value.lstrip().startswith("{"):
        return _by_attribute(value, sensitive)
    return [] if odds_from_text(asked) is not None else claims_from_text(asked, sensitive)


def _by_attribute(value: str, sensitive: Sequence[str]) -> list[Claim]:
    """The claims of a table of attributes. Raises InputError, CriterionError."""
    import tomllib  # loaded here: most name no claims of their own

    try:
        table = tomllib.loads(f"diversity = {value}")["diversity"] if "\n" not in value else None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        table = None
    if not isinstance(table, Mapping) or not table:
        raise InputError(f"a diversity of single attributes is written {_EXAMPLE}, not {value!r}")
    return [*diversities_by_attribute(table, sensitive)]


_EXAMPLE = 'diversity={ diagnosis = ["entropy:6", "distinct:3"] }'
