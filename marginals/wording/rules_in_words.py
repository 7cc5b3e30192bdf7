"""Named rules with what was found of their demands, in words for an output checker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.finding import Verdict
from marginals.named_rules.applied import JudgedDemand, JudgedRule
from marginals.wording.claims_in_words import ClaimInWords, in_words

_SAID = {Verdict.HOLDS: "kept", Verdict.FAILS: "not kept", Verdict.UNDECIDED: "not decided"}


@dataclass(frozen=True)
class DemandInWords:
    """What a rule says, whether it is kept, and the claims that it was checked as."""

    says: str
    verdict: str
    said: str
    claims: tuple[ClaimInWords, ...]


@dataclass(frozen=True)
class RuleInWords:
    """A rule for a reader. verdict: "holds", "fails" or "undecided"; said: the same in words."""

    name: str
    title: str
    source: str
    verdict: str
    said: str
    demands: tuple[DemandInWords, ...]
    unchecked: tuple[str, ...]


def rule_in_words(judged: JudgedRule, sensitive: Sequence[str]) -> RuleInWords:
    """A rule and its demands with their verdicts. sensitive: the attributes of the release that are."""
    rule = judged.rule
    demands = tuple(_demand(demand, sensitive) for demand in judged.demands)
    said = _SAID[judged.verdict]
    return RuleInWords(rule.name, rule.title, rule.source, judged.verdict.value, said, demands, rule.unchecked)


def _demand(demand: JudgedDemand, sensitive: Sequence[str]) -> DemandInWords:
    claims = tuple(in_words(claim, finding, sensitive) for claim, finding in demand.found)
    return DemandInWords(demand.says, demand.verdict.value, _SAID[demand.verdict], claims)


def rule_lines(rules: Sequence[JudgedRule]) -> Iterator[str]:
    """For a terminal: each rule, each of its demands with the verdict, and what nobody checked."""
    for judged in rules:
        release = f" on {judged.release}" if judged.release else ""
        yield f"Rule {judged.rule.name}{release}, {_SAID[judged.verdict]}: {judged.rule.title} ({judged.rule.source})"
        for demand in judged.demands:
            checked = "; ".join(str(finding) for _, finding in demand.found)
            yield f"  {_SAID[demand.verdict]}: {demand.says} [{checked}]"
        yield from (f"  not checked: {text}" for text in judged.rule.unchecked)
