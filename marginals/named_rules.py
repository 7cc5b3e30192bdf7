"""Named rules: the demands of an agency as data, and where they are stated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Any

from checks.claims import Claim, parse_claim
from checks.errors import CriterionError
from checks.finding import Finding, Verdict, verdict_of_all
from checks.requirements import Requirements
from marginals.errors import InputError
from marginals.messages import LONGEST_WORDS, is_words
from marginals.replaced import REPLACED
from models.frozen import frozen


@frozen
class AppliedDemand:
    """Demand of a rule: its text, the claims of a release that keep it, and their findings; None until they are judged."""

    says: str
    claims: tuple[Claim, ...]
    findings: tuple[Finding, ...] | None = field(default=None, repr=False)

    @property
    def verdict(self) -> Verdict:
        """Verdict on all claims together."""
        findings = self.findings
        return Verdict.UNDECIDED if findings is None else verdict_of_all(finding.verdict for finding in findings)


@frozen
class AppliedRule:
    """Rule with its demands as claims of one release, which is named if there are several."""

    name: str
    title: str
    source: str
    demands: tuple[AppliedDemand, ...]
    unchecked: tuple[str, ...] = ()
    release: str = ""

    @classmethod
    def from_json(cls, content: object) -> "AppliedRule":
        """Read the rule that a bundle states. Raises CriterionError for other content."""
        match content:
            case {"name": str(name), "title": str(title), "source": str(source), "demands": list(demands), **others}:
                unchecked = others.get("unchecked", [])
                says = [demand.get("says") if isinstance(demand, dict) else None for demand in demands]
                if isinstance(unchecked, list) and all(map(is_words, [name, title, source, *unchecked, *says])):
                    return cls(name, title, source, tuple(map(_applied_demand, demands)), tuple(unchecked))
        raise CriterionError(
            "a rule has a name, a title, a source and demands, each a line of text "
            f"of at most {LONGEST_WORDS} characters with claims"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the rule as a bundle states it, with the verdicts once it is judged, without the findings."""
        content: dict[str, Any] = {"name": self.name, "title": self.title, "source": self.source}
        content["demands"] = [
            {"says": d.says} | ({} if d.findings is None else {"verdict": d.verdict}) | {"claims": d.claims}
            for d in self.demands
        ]
        others: dict[str, Any] = {"unchecked": self.unchecked, "release": self.release}
        if any(demand.findings is not None for demand in self.demands):
            others["verdict"] = self.verdict
        return content | {name: value for name, value in others.items() if value}

    @property
    def verdict(self) -> Verdict:
        """Verdict on all demands together."""
        return verdict_of_all(demand.verdict for demand in self.demands)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims of all demands."""
        return tuple(claim for demand in self.demands for claim in demand.claims)

    def stating(self, form_of: Callable[[Claim], Claim]) -> "AppliedRule":
        """Replace each claim by the same one in another form."""
        demands = (AppliedDemand(d.says, tuple(map(form_of, d.claims))) for d in self.demands)
        return replace(self, demands=tuple(demands))

    def with_findings(self, claims: Sequence[Claim], findings: Sequence[Finding]) -> "AppliedRule":
        """Add the findings on its claims, all of which are among those that are passed."""
        of = claims.index
        demands = (replace(d, findings=tuple(findings[of(claim)] for claim in d.claims)) for d in self.demands)
        return replace(self, demands=tuple(demands))


def _applied_demand(content: Mapping[str, Any]) -> AppliedDemand:
    claims = content.get("claims")
    if not isinstance(claims, list) or not claims or not all(isinstance(claim, dict) for claim in claims):
        raise CriterionError("a demand of a rule has a list of claims")
    return AppliedDemand(content["says"], tuple(map(parse_claim, claims)))


COUNTS = ("k_link", "k_combinatorial", "min_cell")

_FOLDER = Path(__file__).parent / "rules"


@frozen
class Demand:
    """Demand as the source says it, and the key of [privacy] with its value that checks it."""

    says: str
    key: str
    value: int


@frozen
class NamedRule:
    """Rule by its name. It never changes under its name: an agency's new number is a new rule."""

    name: str
    title: str
    source: str
    demands: tuple[Demand, ...]
    unchecked: tuple[str, ...] = ()

    def applied(self, sensitive: Sequence[str]) -> AppliedRule:
        """Return the rule on a release with these sensitive attributes. Raises CriterionError where it makes no sense."""
        required = [Requirements(tuple(sensitive), **{d.key: d.value}) for d in self.demands]  # type: ignore[arg-type]
        demands = tuple(AppliedDemand(d.says, one.claims) for d, one in zip(self.demands, required))
        return AppliedRule(self.name, self.title, self.source, demands, self.unchecked)


def rule_names() -> tuple[str, ...]:
    """Return the names of the rules that come with this program."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.toml")))


@cache
def named_rule(name: str) -> NamedRule:
    """Return the rule of a name that comes with this program. Raises InputError where there is none."""
    if name not in rule_names():
        instead = REPLACED["rules of a file"] if name.endswith(".toml") else f"there is {', '.join(rule_names())}"
        raise InputError(f"there is no rule {name!r}; {instead}")
    import tomllib  # slow to import, and few commands need it

    content = tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))
    demands = tuple(Demand(demand.pop("says"), *demand.popitem()) for demand in content["demands"])
    return NamedRule(name, content["title"], content["source"], demands, tuple(content["unchecked"]))


def rules_of(chosen: object) -> tuple[NamedRule, ...]:
    """Return the rules of a name or a rule, or of several in a list. Raises InputError for none, and for two alike."""
    rules: dict[str, NamedRule] = {}
    for entry in chosen if isinstance(chosen, list | tuple) else [chosen]:
        if not isinstance(entry, NamedRule | str):
            raise InputError(f'rules is the name of a rule such as "cms-11", or a list of them, not {entry!r}')
        rule = named_rule(entry) if isinstance(entry, str) else entry
        if rule.name in rules:
            raise InputError(f"rules has the rule {rule.name!r} twice")
        rules[rule.name] = rule
    return tuple(rules.values())
