"""The claims that a bundle can state and that can be checked of one: a new one is a file and a line in the table below."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

from checks.claims.claim import Claim
from checks.diversity.spelling import numbers
from checks.errors import CriterionError

_HOMES = {
    "k-link": "checks.claims.k_link.KLink",
    "k-combinatorial": "checks.claims.k_combinatorial.KCombinatorial",
    "min-cell": "checks.claims.min_cell.MinCell",
    "maxent-diversity": "checks.claims.maxent_diversity.MaxentDiversity",
}
"""The class of each criterion in a bundle. Its module is imported when it is first needed."""


def parse_claim(stated: Mapping[str, Any]) -> Claim:
    """The claim that a bundle states. Raises CriterionError for what is not one.

    >>> parse_claim({"criterion": "k-link", "k": 6})
    KLink(k=6)
    """
    name = stated.get("criterion")
    claim = _kind(name).from_json(stated) if isinstance(name, str) and name in _HOMES else None
    if claim is None:
        raise CriterionError(f"a privacy claim is {_listed(list(_HOMES))}, not {dict(stated)!r}")
    return claim


def claims_from_text(text: str, sensitive: Sequence[str]) -> list[Claim]:
    """The claims behind `k-link=6`, `k-combinatorial=3`, `min-cell=11` or `diversity=entropy:6`.

    A diversity is claimed for each sensitive attribute. Raises CriterionError for anything else.

    >>> claims_from_text("diversity=distinct:2", ["diagnosis"])
    [MaxentDiversity(diversity=Distinct(l=2), sensitive='diagnosis', level=0)]
    """
    name, _, value = text.partition("=")
    if name in ("k-map", "delta-presence"):
        from checks.classes.population import SINGLE_TABLES  # slow to import, and few need it

        raise CriterionError(SINGLE_TABLES)
    kinds = {kind.form.partition("=")[0]: kind for kind in map(_kind, _HOMES)}
    claims = kinds[name].from_text(value, sensitive) if name in kinds else None
    if claims is None:
        raise CriterionError(f"a check is {_listed([*(kind.form for kind in kinds.values()), 'odds=G'])}, not {text!r}")
    return list(claims)


def odds_from_text(text: str) -> Fraction | None:
    """The odds behind `odds=1.5`; None for another text. Raises CriterionError for what is no number.

    >>> odds_from_text("odds=1.5"), odds_from_text("k-link=6")
    (Fraction(3, 2), None)
    """
    name, _, value = text.partition("=")
    if name != "odds":
        return None
    match numbers(value):
        case [odds]:
            return odds
    raise CriterionError(f"odds=G needs a number of at least 1, not {value!r}")


def _kind(criterion: str) -> type[Claim]:
    module, _, name = _HOMES[criterion].rpartition(".")
    kind: type[Claim] = getattr(import_module(module), name)
    return kind


def _listed(names: Sequence[str]) -> str:
    """`a, b or c`."""
    return f"{', '.join(names[:-1])} or {names[-1]}"
