"""A rule on one release: its demands as claims, as a bundle states them, and what is found of each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checks.claims.claim import Claim
from checks.claims.registry import parse_claim
from checks.errors import CriterionError
from checks.finding import Finding, Verdict
from marginals.printable import LONGEST_WORDS, is_words


@dataclass(frozen=True)
class AppliedDemand:
    """What a rule says, and the claims of a release that keep it."""

    says: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class AppliedRule:
    """A rule with its demands as claims of one release. unchecked: what no check here does."""

    name: str
    title: str
    source: str
    demands: tuple[AppliedDemand, ...]
    unchecked: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, stated: object) -> "AppliedRule":
        """The rule that a bundle states. Raises CriterionError for what is none."""
        match stated:
            case {"name": str(name), "title": str(title), "source": str(source), "demands": list(demands), **others}:
                unchecked = others.get("unchecked", [])
                says = [demand.get("says") if isinstance(demand, dict) else None for demand in demands]
                if isinstance(unchecked, list) and all(map(is_words, [name, title, source, *unchecked, *says])):
                    return cls(name, title, source, tuple(map(_demand, demands)), tuple(unchecked))
        raise CriterionError(
            "a rule has a name, a title, a source and demands, each a line of text "
            f"of at most {LONGEST_WORDS} characters with claims"
        )

    def as_json(self) -> dict[str, Any]:
        """The rule as a bundle states it."""
        demands = [{"says": d.says, "claims": [claim.as_json() for claim in d.claims]} for d in self.demands]
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "demands": demands,
            **({"unchecked": list(self.unchecked)} if self.unchecked else {}),
        }

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of all demands."""
        return tuple(claim for demand in self.demands for claim in demand.claims)

    def counting(self, rows_per_person: int | None) -> "AppliedRule":
        """The same rule about people with at most so many rows each; about rows for None."""
        return self.stating(lambda claim: claim.counting(rows_per_person))

    def stating(self, stated: Callable[[Claim], Claim]) -> "AppliedRule":
        """The same rule with each claim put in another way."""
        demands = (AppliedDemand(d.says, tuple(map(stated, d.claims))) for d in self.demands)
        return replace(self, demands=tuple(demands))

    def judged(self, claims: Sequence[Claim], findings: Sequence[Finding]) -> "JudgedRule":
        """The rule with what was found of its claims, all of which are among those given."""
        found = list(zip(claims, findings))
        demands = (
            JudgedDemand(d.says, tuple((c, next(f for claim, f in found if claim == c)) for c in d.claims))
            for d in self.demands
        )
        return JudgedRule(self, tuple(demands))


@dataclass(frozen=True)
class JudgedDemand:
    """What a rule says, with the finding on each claim that keeps it."""

    says: str
    found: tuple[tuple[Claim, Finding], ...]

    @property
    def verdict(self) -> Verdict:
        """Whether it is proven to be kept."""
        return _together(finding.verdict for _, finding in self.found)


@dataclass(frozen=True)
class JudgedRule:
    """A rule, and what was found of its demands. release: which one was judged, where several are, each by itself."""

    rule: AppliedRule
    demands: tuple[JudgedDemand, ...]
    release: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether all demands are proven to be kept."""
        return _together(demand.verdict for demand in self.demands)

    def as_json(self) -> dict[str, Any]:
        """The rule as plain values, without the findings themselves."""
        demands = [
            {"says": d.says, "verdict": d.verdict.value, "claims": [claim.as_json() for claim, _ in d.found]}
            for d in self.demands
        ]
        release = {"release": self.release} if self.release else {}
        return {**self.rule.as_json(), **release, "verdict": self.verdict.value, "demands": demands}


def _demand(stated: Mapping[str, Any]) -> AppliedDemand:
    claims = stated.get("claims")
    if not isinstance(claims, list) or not claims or not all(isinstance(claim, dict) for claim in claims):
        raise CriterionError("a demand of a rule has a list of claims")
    return AppliedDemand(stated["says"], tuple(map(parse_claim, claims)))


def _together(verdicts: Iterable[Verdict]) -> Verdict:
    """Fails where one does; holds where all do."""
    several = set(verdicts)
    return next((v for v in (Verdict.FAILS, Verdict.UNDECIDED) if v in several), Verdict.HOLDS)
