"""Claims: what a release says about its privacy, each of which anybody can check on the published marginals."""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from checks.budget import FULL, Budget
from checks.classes.k_anonymity import k_link
from checks.combinatorial.k_combinatorial import k_combinatorial
from checks.diversity.l_diversity import Diversity, parse_diversity
from checks.errors import CriterionError
from checks.finding import Finding
from checks.maxent.fitted_diversity import fitted_diversity
from checks.maxent.maxent_diversity import maxent_diversity
from models.graphs.collection import Collection


def _at_least_one(criterion: str, k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise CriterionError(f"{criterion} needs a whole number of at least 1, got {k!r}")


@dataclass(frozen=True)
class KLink:
    """No marginal has a class of fewer than k rows."""

    k: int

    def __post_init__(self) -> None:
        _at_least_one("k-link", self.k)

    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:  # noqa: ARG002
        """The finding on a collection."""
        return k_link(collection, sensitive, self.k)

    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""
        return {"criterion": "k-link", "k": self.k}


@dataclass(frozen=True)
class KCombinatorial:
    """No cell that can be filled must hold fewer than k rows, given all marginals."""

    k: int

    def __post_init__(self) -> None:
        _at_least_one("k-combinatorial", self.k)

    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:
        """The finding on a collection."""
        return k_combinatorial(collection, sensitive, self.k, budget)

    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""
        return {"criterion": "k-combinatorial", "k": self.k}


@dataclass(frozen=True)
class MaxentDiversity:
    """The maxent distribution is l-diverse in one sensitive attribute."""

    diversity: Diversity
    sensitive: str

    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:  # noqa: ARG002
        """The finding on a collection; the other sensitive attributes count as nonsensitive here."""
        if collection.is_decomposable:
            return maxent_diversity(collection, self.sensitive, self.diversity, budget)
        return fitted_diversity(collection, self.sensitive, self.diversity)

    def as_json(self) -> dict[str, Any]:
        """The claim as a bundle states it."""
        return {"criterion": "maxent-diversity", "diversity": str(self.diversity), "sensitive": self.sensitive}


Claim: TypeAlias = KLink | KCombinatorial | MaxentDiversity


def parse_claim(stated: Mapping[str, Any]) -> Claim:
    """The claim that a bundle states. Raises CriterionError for what is not one."""
    match stated:
        case {"criterion": "k-link", "k": k}:
            return KLink(k)
        case {"criterion": "k-combinatorial", "k": k}:
            return KCombinatorial(k)
        case {"criterion": "maxent-diversity", "diversity": str(diversity), "sensitive": str(sensitive)}:
            return MaxentDiversity(parse_diversity(diversity), sensitive)
    raise CriterionError(f"a privacy claim is k-link, k-combinatorial or maxent-diversity, not {dict(stated)!r}")
