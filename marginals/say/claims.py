"""Claims, findings and rules in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from checks.claims import (
    BY_THE_PUBLISHER,
    VERIFIED,
    AttributeClaim,
    Claim,
    CountClaim,
    KCombinatorial,
    KLink,
    MaxentDiversity,
    MinCell,
    MinPublishedCell,
    NoSmallCertain,
    Register,
    listing,
)
from checks.finding import Algorithm, Finding, Verdict, WorstClass
from marginals.criteria import criterion_clause, criterion_reached
from marginals.named_rules import JudgedDemand, JudgedRule, rule_names
from marginals.names import column_name

if TYPE_CHECKING:
    from marginals.bundle.content import Verification


_MOST_NAMED = 3
"""Sensitive attributes that a sentence names, at most."""

_ATTESTED = f"{BY_THE_PUBLISHER[0].upper()}{BY_THE_PUBLISHER[1:]}."


def together(sensitive: Sequence[str]) -> str:
    """Return sensitive attributes in a sentence: by name while they are few.

    >>> together(["job", "pay", "age"]), together(["job", "pay", "age", "sex"])
    ('job, pay and age', 'all 4 sensitive attributes')
    """
    return listing(sensitive) if len(sensitive) <= _MOST_NAMED else f"all {len(sensitive)} sensitive attributes"


def counted_in_words(k: int, rows_per_person: int | None) -> str:
    """Return a number of rows or people.

    >>> counted_in_words(1, None), counted_in_words(1000, 3)
    ('1 row', '1,000 people')
    """
    one, many = ("row", "rows") if rows_per_person is None else ("person", "people")
    return f"{k:,} {one if k == 1 else many}"


def counts_below(least: int) -> str:
    """Return the counts below one that is demanded, 0 left out, as they stand behind "is". least: at least 2.

    >>> counts_below(2), counts_below(3), counts_below(11)
    ('1', '1 or 2', 'from 1 to 10')
    """
    return {2: "1", 3: "1 or 2"}.get(least, f"from 1 to {least - 1:,}")


def claim_title(claim: Claim) -> str:
    """Return the name of a claim for readers."""
    match claim:
        case MaxentDiversity():
            return f"Maximum-entropy diversity of {_attribute(claim)}, {claim.diversity}"
        case Register():
            return f"Diversity of {_attribute(claim)} for readers with a register, {claim.of.diversity}"
        case MinCell():
            return f"Least count of a cell, {claim.k:,}"
        case MinPublishedCell():
            return f"Least published count, {claim.k:,}"
        case NoSmallCertain():
            return f"No combination is certain to be small, k = {claim.k}"
        case KCombinatorial():
            return f"k-combinatorial anonymity, k = {claim.k}"
    assert isinstance(claim, KLink)
    return f"k-link anonymity, k = {claim.k}"


def _attribute(claim: AttributeClaim) -> str:
    return f"{claim.about} at level {claim.level}" if claim.level else claim.about


def claim_meaning(claim: Claim, sensitive: Sequence[str] = ()) -> str:
    """Return what a claim says of a release with these sensitive attributes, as a sentence."""
    if isinstance(claim, AttributeClaim):
        return claim_sentence(claim, claim.about, claim_clause(claim))
    assert isinstance(claim, CountClaim)
    return _meaning_of_counts(claim, sensitive)


def claim_clause(claim: AttributeClaim) -> str:
    """Return what holds of the attribute in every class: "at least 3 sensitive values remain possible"."""
    of = replace(claim.of, rows_per_person=claim.rows_per_person) if isinstance(claim, Register) else claim
    assert isinstance(of, MaxentDiversity)
    return criterion_clause(of.class_diversity or of.diversity)


def claim_sentence(claim: AttributeClaim, attribute: str, clause: str) -> str:
    """Return to whom a clause applies, as a sentence. attribute: the words for the attribute, or for several of them."""
    if isinstance(claim, MaxentDiversity):
        several = "" if claim.rows_per_person in (None, 1) else (
            f" A person has at most {claim.rows_per_person:,} rows; the claim is about any one. It holds of one class at "
            "a time: a person known to be in two classes by several rows, with a value that is the same in all, can be "
            "exposed by both."
        )  # fmt: skip
        return (
            "For a reader who combines all tables by maximum entropy: given any published values of a person, "
            f"{clause}.{several}"
        )
    assert isinstance(claim, Register)
    sentence = (
        "Somebody who knows all nonsensitive values of everybody still has for each person the shares of that person's "
        f"class, unless they assume how {attribute} varies within classes or reason from why these tables were chosen. "
        f"In these shares, {clause}."
    )
    if claim.basis == VERIFIED:
        return sentence
    return (
        f"{sentence} Several tables show {attribute}: a class is then that of all of them together, and its "
        "shares are those over all arrangements of the values, equally likely, counted where they are few, else of the "
        f"maximum-entropy fit. {_ATTESTED}"
    )


def _meaning_of_counts(claim: CountClaim, sensitive: Sequence[str]) -> str:
    least = counted_in_words(claim.k, claim.rows_per_person)
    one, many = ("row", "rows") if claim.rows_per_person is None else ("person", "people")
    below = counts_below(claim.k) if claim.k > 1 else ""
    few = f"{below.removeprefix('from ')} {one if claim.k == 2 else many}"
    counted = f", {together(sensitive)} counted like the others" if sensitive else ""
    whose = "" if claim.rows_per_person is None else " of people"
    people = "" if claim.rows_per_person in (None, 1) else (
        f" A person has at most {claim.rows_per_person:,} rows, so as many rows are needed for each."
    )  # fmt: skip
    match claim:
        case MinCell() | MinPublishedCell() if claim.k == 1:
            return "Any count may be published."
        case NoSmallCertain() if claim.k == 1:
            return "Any combination of nonsensitive values may be certain to have any number of rows."
        case MinCell():
            return (
                f"No published count{whose} is {below}{counted}, and no such count can be worked out from the "
                "tables by differences or otherwise: each combination of values that they together leave possible could "
                f"be shared by at least {least}.{people}"
            )
        case MinPublishedCell():
            return (
                f"No published count{whose} is {below}{counted}. Whether such a count can be worked out from "
                f"several tables is not said.{people}"
            )
        case NoSmallCertain():
            return (
                f"No combination of nonsensitive values that is looked at is proven by the tables together to have only "
                f"{few}. Where the tables have a junction tree that is any. Else those of up to three values are looked "
                "at, at any level that a table shows, also with any other value in place of one, and of all attributes at "
                "the finest published levels; others of more than three only where at most ten attributes are published. "
                f"A model can still say that one is likely to, and be right.{people}"
                f"{'' if claim.basis == VERIFIED else f' {_ATTESTED}'}"
            )
        case KCombinatorial():
            not_meant = (
                f" So nobody can prove from the tables alone that a combination has only {few}. It does not mean that "
                f"{least} have it."
            )
            return (
                "Every combination of nonsensitive values that the tables together leave possible could be shared by at "
                f"least {least}.{not_meant if claim.k > 1 else ''}{people}"
            )
    aside = f" ({together(sensitive)} set aside)" if sensitive else ""
    return f"Each class of a published table{aside} has at least {least}.{people}"


def claim_reached(claim: Claim, worst: WorstClass) -> str:
    """Return what the worst class of a finding reaches, beside what is claimed; empty if that is unknown."""
    if isinstance(claim, CountClaim):
        if worst.count is None:
            return ""
        if claim.rows_per_person in (None, 1):
            unit = "rows" if claim.rows_per_person is None else "people"
            return f"{worst.count:,.6g} {unit} (limit: at least {claim.k:,})"
        return (
            f"{worst.count:,.6g} rows, at most {claim.rows_per_person:,} of a person; at least {claim.least_count:,} rows "
            f"are claimed, so that they are those of {counted_in_words(claim.k, claim.rows_per_person)}"
        )
    if worst.reached is None or not isfinite(worst.reached):
        return ""
    if isinstance(claim, MaxentDiversity | Register):
        return criterion_reached((claim.of if isinstance(claim, Register) else claim).diversity, worst.reached)
    return f"Reaches {worst.reached:.4g}"


def claim_reason(claim: AttributeClaim) -> str:
    """Return what a class has that breaks a claim: "a distribution of job that is not entropy:6"."""
    of = claim.of if isinstance(claim, Register) else claim
    assert isinstance(of, MaxentDiversity)
    people = "" if of.rows_per_person is None else " of people"
    return f"a distribution of {_attribute(of)} that is not {of.diversity}{people}"


def claimed_of(rows_per_person: object) -> str:
    """Of whom a claim speaks, beside what it demands.

    >>> claimed_of(1), claimed_of(3)
    ('of people', 'of people with at most 3 rows each')
    """
    return "of people" if rows_per_person == 1 else f"of people with at most {rows_per_person} rows each"


_VERDICTS = {
    Verdict.HOLDS: ("holds", "Closest case"),
    Verdict.FAILS: ("fails", "Worst case"),
    Verdict.UNDECIDED: ("undecided", "Worst case so far"),
    Verdict.ATTESTED: ("attested by the publisher", ""),
}


@dataclass(frozen=True)
class ClaimInWords:
    """One claim for a reader.

    verdict: "holds", "fails", "undecided" or "attested"; said: the same in words. cell: labels of the worst class by
    attribute, empty where all rows are meant, None where there is none. distribution: shares of the sensitive values in it.
    slack: how far the worst class is from the limit, relative to it; infinity where that is unknown. clause, readers: of a
    claim about the values of one attribute, what holds of it, and whom that applies to where it is said of several
    attributes; else empty.
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
    slack: float = inf
    clause: str = ""
    readers: str = ""


@dataclass(frozen=True)
class ClaimsInWords:
    """Claims that say the same to the same readers, of several sensitive attributes, with the same verdict.

    clauses: attributes by what holds of them. least: the claim that is closest to its limit; None where that is unknown.
    """

    claims: tuple[ClaimInWords, ...]

    @property
    def verdict(self) -> str:
        """That of each."""
        return self.claims[0].verdict

    @property
    def said(self) -> str:
        """The verdict of each in words."""
        return self.claims[0].said

    @property
    def meaning(self) -> str:
        """To whom the clauses apply, as a sentence; that of the one claim, if it is one."""
        return self.claims[0].readers if len(self.claims) > 1 else self.claims[0].meaning

    @property
    def clauses(self) -> Mapping[str, Sequence[str]]:
        """The attributes by clause; empty where it is one claim, whose meaning says it."""
        attributes: dict[str, list[str]] = {}
        for claim in self.claims[len(self.claims) == 1 :]:
            attributes.setdefault(claim.clause, []).append(claim.sensitive)
        return attributes

    @property
    def least(self) -> ClaimInWords | None:
        """The claim closest to its limit, where that can be said."""
        weakest = min(self.claims, key=lambda claim: claim.slack)
        return weakest if weakest.reached and (len(self.claims) == 1 or weakest.slack < inf) else None


def told_together(claims: Iterable[ClaimInWords]) -> list[ClaimsInWords]:
    """Claims in their order, those together that differ in their attribute and in its demand alone."""
    groups: dict[object, list[ClaimInWords]] = {}
    for number, claim in enumerate(claims):
        groups.setdefault((claim.verdict, claim.readers) if claim.readers else number, []).append(claim)
    return [ClaimsInWords(tuple(group)) for group in groups.values()]


def in_words(claim: Claim, finding: Finding, sensitive: Sequence[str]) -> ClaimInWords:
    """A claim, its meaning, and the class that comes nearest to breaking it."""
    worst = finding.worst_class
    said, lead = _VERDICTS[finding.verdict]
    return ClaimInWords(
        claim_title(claim),
        _unpublished(claim) if Algorithm.NOT_PUBLISHED in finding.algorithms else claim_meaning(claim, sensitive),
        finding.verdict.value,
        said,
        lead,
        worst.cell,
        claim_reached(claim, worst),
        worst.distribution or {},
        claim.about or "",
        _how(finding),
        _slack(finding),
        *_clause_and_readers(claim, finding),
    )


def _clause_and_readers(claim: Claim, finding: Finding) -> tuple[str, str]:
    """Both empty where a claim is told alone: it is about no attribute, is not kept, or its attribute is not published."""
    tells_alone = (
        finding.verdict not in (Verdict.HOLDS, Verdict.ATTESTED) or Algorithm.NOT_PUBLISHED in finding.algorithms
    )
    if tells_alone or not isinstance(claim, AttributeClaim):
        return "", ""
    return claim_clause(claim), claim_sentence(claim, "each of these attributes", "the following holds")


def _unpublished(claim: Claim) -> str:
    """What a claim says of a release that does not show the attribute it is about, as a sentence."""
    return f"No table shows {claim.about or 'it'}, so nobody learns anything about it here, whatever is demanded."


def _how(finding: Finding) -> str:
    if finding.verdict is Verdict.ATTESTED:
        return "Not decided by these tables"
    ways = [algorithm.sentence for algorithm in finding.algorithms]
    return f"Decided {', then '.join(ways)}" + (f"; {finding.note}" if finding.note else "")


def _said(judged: JudgedRule) -> str:
    """The verdict on what was checked; a rule holds if nothing of it is unchecked and its texts are known."""
    if judged.verdict is Verdict.HOLDS and (judged.rule.unchecked or judged.rule.name not in rule_names()):
        return "all that was checked holds"
    return judged.verdict.value


@dataclass(frozen=True)
class DemandInWords:
    """What a rule says, whether it holds, and the claims that it was checked as."""

    says: str
    verdict: str
    claims: tuple[ClaimInWords, ...]


@dataclass(frozen=True)
class RuleInWords:
    """A rule for a reader. verdict: "holds", "fails" or "undecided", of what was checked; said: the same in words."""

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
    said = _said(judged)
    return RuleInWords(rule.name, rule.title, rule.source, judged.verdict.value, said, demands, rule.unchecked)


def _demand(demand: JudgedDemand, sensitive: Sequence[str]) -> DemandInWords:
    claims = tuple(in_words(claim, finding, sensitive) for claim, finding in demand.findings)
    return DemandInWords(demand.says, demand.verdict.value, claims)


def sensitive_lines(verification: "Verification") -> Iterator[str]:
    """What a release leaves open of the sensitive attributes that it shows: no diversity, and how small their counts are.

    >>> from marginals.example import release
    >>> print(*sensitive_lines(release.verify()))
    k-link sets diagnosis aside: counts that include it are as small as 2. `min_cell = m` forbids counts from 1 to m - 1, \
published or derivable from the tables.
    """
    smallest = verification.smallest_sensitive
    if not smallest:
        return
    diverse = {finding.parameters.get("sensitive") for finding in verification.checks}
    if bare := [name for name in smallest if name not in diverse]:
        yield (
            f"Nothing is demanded of how varied {' and '.join(bare)} {'is' if len(bare) == 1 else 'are'} among people who "
            "agree in other published columns. It may be the same for all of them, and whoever knows that somebody is one "
            "of them then knows it."
        )
    held = {finding.criterion: finding.holds for finding in verification.checks}
    least = min(smallest.values())
    if (held.get("min-cell") or held.get("min-published-cell")) and least > 1:
        yield smallest_line(verification)
        return
    names = " and ".join(smallest)
    them = "it" if len(smallest) == 1 else "them"
    aside = [criterion for criterion in ("k-link", "k-combinatorial") if criterion in held]
    yield (
        (f"{' and '.join(aside)} {'set' if len(aside) > 1 else 'sets'} {names} aside: counts" if aside else "Counts")
        + f" that include {them if aside else names} are as small as {least:,}. `min_cell = m` forbids counts from 1 to "
        "m - 1, published or derivable from the tables."
    )


def smallest_line(verification: "Verification") -> str:
    """The smallest count with a sensitive value, beside whatever was checked; empty where no table shows one.

    >>> from marginals.example import release
    >>> smallest_line(release.verify())
    'The smallest count with a sensitive value is 2.'
    """
    smallest = verification.smallest_sensitive
    return f"The smallest count with a sensitive value is {min(smallest.values()):,}." if smallest else ""


def rule_lines(rules: Sequence[JudgedRule]) -> Iterator[str]:
    """For a terminal: each rule, each of its demands with the verdict, and what nobody checked."""
    for judged in rules:
        release = f" on {judged.release}" if judged.release else ""
        yield f"Rule {judged.rule.name}{release}, {_said(judged)}: {judged.rule.title} ({judged.rule.source})"
        for demand in judged.demands:
            checked = "; ".join(str(finding) for _, finding in demand.findings)
            yield f"  {demand.verdict.value}: {demand.says} [{checked}]"
        yield from (f"  not checked: {text}" for text in judged.rule.unchecked)


_TOO_LONG = ("margin", "margins", "counts", "distribution")
"""Keys of a worst class that only JSON and the report show; its levels can be seen in its labels."""


def told_findings(findings: Sequence[Finding]) -> list[tuple[Verdict, list[str]]]:
    """The lines of each finding with its verdict; a criterion that many sensitive attributes keep is told once.

    Then attributes stand by what is demanded of them, with the class of them all that the least knowledge makes fail.
    """
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        stated = {name: value for name, value in finding.parameters.items() if name not in _BY_ATTRIBUTE}
        is_alike = finding.verdict in (Verdict.HOLDS, Verdict.ATTESTED) and len(stated) + 2 == len(finding.parameters)
        alike = finding.criterion, finding.verdict, finding.note, *map(str, stated.items())
        groups.setdefault(alike if is_alike else number, []).append(finding)
    return [
        (group[0].verdict, lines)
        for group in groups.values()
        for lines in ([_lines_together(group)] if len(group) >= _TOGETHER else map(list, map(finding_lines, group)))
    ]


_BY_ATTRIBUTE = ("diversity", "sensitive")

_TOGETHER = 3


def _lines_together(findings: Sequence[Finding]) -> list[str]:
    """Those of findings that differ in the attribute and in what is demanded of it."""
    attributes: dict[str, list[str]] = {}
    for finding in findings:
        attributes.setdefault(str(finding.parameters["diversity"]), []).append(str(finding.parameters["sensitive"]))
    weakest = min(findings, key=_slack)
    lines = [f"{weakest.criterion} of {len(findings)} sensitive attributes"]
    lines += [f"{diversity}: {', '.join(names)}" for diversity, names in attributes.items()]
    if _slack(weakest) == inf:
        return [*lines, *filter(None, [weakest.note])]
    _, *of_weakest = finding_lines(weakest)
    name = weakest.parameters["sensitive"]
    return [*lines, *(f"of {name}, {line[0].lower()}{line[1:]}" for line in of_weakest)]


def _slack(finding: Finding) -> float:
    """How far the worst class is from the limit, relative to it; infinity where that is unknown."""
    slack = finding.worst_class.slack
    return inf if slack is None else slack


def finding_lines(finding: Finding) -> Iterator[str]:
    """What was checked; then a note, where there is one, and the class closest to the limit."""
    stated = dict(finding.parameters)
    of_whom = f", {claimed_of(stated.pop('rows_per_person'))}" if "rows_per_person" in stated else ""
    parameters = ", ".join(f"{name} = {value}" for name, value in stated.items())
    yield f"{finding.criterion} {parameters}".rstrip() + of_whom
    if finding.note:
        yield finding.note
    if finding.worst is not None:
        worst = {k: value for k, value in finding.worst.as_json().items() if k not in _TOO_LONG and value is not None}
        lead = "closest case" if finding.holds else "worst case"
        yield f"{lead}: {'; '.join(f'{key} {_plain(value)}' for key, value in worst.items())}"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{column_name(key)}={entry}" for key, entry in value.items())
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
