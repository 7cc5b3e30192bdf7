"""What was found, in words: sentences for people who decide about a release, and lines for a terminal."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import ceil, floor, inf, isfinite
from typing import TYPE_CHECKING, Any

from checks.finding import Finding
from marginals.messages import first_few
from marginals.names import column_name, margin_in_words, number_of, shown_at
from marginals.tables.attribute import Role
from marginals.tables.people import RowsPerPerson
from models.tables.hierarchy import Domain

if TYPE_CHECKING:
    from checks.attacks.algorithm import Addition, CertainRange, FittedLevelDisclosure, Refusals
    from checks.attacks.guesses import LikelySmall, Top
    from checks.attacks.knowledge import Counts, PublishedCounts, SensitiveCounts
    from checks.changes import CellDifference, ChangedPeople, OneValue
    from checks.classes import Assessment, Eligibility, KnowledgeNeeded, StrongestRequirements
    from checks.diversity.implications import WeakestImplying
    from checks.reidentification import Reidentification, Risk, Uniqueness
    from checks.requirements import Requirements
    from marginals.accuracy import Comparison
    from marginals.attacks import Attacked, Attacks, Composition, Minimality, NonsensitiveSmall, TableChange, Threshold
    from marginals.bundle.content import Verification
    from marginals.estimates import Estimate
    from marginals.recoding.lattice import LatticeResult
    from marginals.recoding.local_recoding import LocalRecoding
    from marginals.recoding.thinning import ThinnedTable
    from marginals.steward import BaseChoice, FurtherBeside, StewardReport, WantedTable
    from marginals.tables.attribute import Codebook
    from models.search.problem import SearchResult

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checks.attacks.algorithm import Outcome, Refinement
from checks.attacks.knowledge import CertainCell, CertainCells, Reconstruction
from checks.claims import AttributeClaim, Claim, CountClaim, listing
from checks.finding import Algorithm, Verdict
from marginals.attacks import DisclosureMeasures, Threshold
from marginals.claims_in_words import (
    claim_clause,
    claim_meaning,
    claim_reached,
    claim_reason,
    claim_sentence,
    claim_title,
    counted_in_words,
    counts_below,
)
from marginals.estimates import assumption, listed
from marginals.named_rules import JudgedDemand, JudgedRule, rule_names
from marginals.register_readers import ATTESTED, RegisterReaders
from marginals.tables.people import ANY
from models.graphs.basis import Basis, Kind

if TYPE_CHECKING:
    from marginals.tables.table import Table


def rows_in_words(rows: int, rows_per_person: RowsPerPerson) -> str:
    """So many rows, or people where each has one row.

    >>> rows_in_words(1, None), rows_in_words(4800, 1), rows_in_words(48, 3)
    ('1 row', '4,800 people', '48 rows (at most 3 of a person)')
    """
    if rows_per_person == 1:
        return number_of(rows, "person", "people")
    of_a_person = f" (at most {rows_per_person:,} of a person)" if isinstance(rows_per_person, int) else ""
    return f"{number_of(rows, 'row')}{of_a_person}"


def unit_in_words(rows_per_person: RowsPerPerson) -> str:
    """Of whom a release speaks, as a sentence; empty where it does not say.

    >>> unit_in_words(1)
    'Each row is a person of its own, so whatever is counted and claimed is of people.'
    """
    if rows_per_person is None:
        return ""
    if rows_per_person == ANY:
        return "A person can have any number of these rows: claims are of rows, and k rows may be fewer than k people."
    if rows_per_person == 1:
        return "Each row is a person of its own, so whatever is counted and claimed is of people."
    few = f"No person has more than {rows_per_person:,} of these rows."
    return f"{few} Counts are of rows, claims are of people."


def part_in_words(where: str) -> str:
    """Which part of a table a release counts, as a sentence; empty where it counts all.

    >>> part_in_words("age >= 21")
    'It is of a part of a table: whoever is counted meets the condition age >= 21, and of all others it says nothing.'
    """
    if not where:
        return ""
    return f"It is of a part of a table: whoever is counted meets the condition {where}, and of all others it says nothing."


def part_lines(table: "Table", ledger: Path | None) -> Iterator[str]:
    """What a steward must know who publishes a part of a table. ledger: beside which that is."""
    if table.part is None:
        return
    are = "is" if table.rows == 1 else "are"
    yield f"Of {number_of(table.part.whole.rows, 'row')} {table.rows:,} {are} in the part {table.part.where.text}."
    if ledger is None:
        yield (
            "It is judged by itself, without a ledger. So publish nothing else of this table beside it, neither the whole "
            "nor another part: who is in the one and not in the other could be few. With --ledger DIR both can be published."
        )
    elif table.rows_per_person not in (None, 1):
        yield "A person can have rows in the part and others outside of it: it is a part of the rows, not of the people."


def claimed_of(rows_per_person: object) -> str:
    """Of whom a claim speaks, beside what it demands.

    >>> claimed_of(1), claimed_of(3)
    ('of people', 'of people with at most 3 rows each')
    """
    return "of people" if rows_per_person == 1 else f"of people with at most {rows_per_person} rows each"


def another_release_line(page: Path, release: Path) -> str:
    """That a steward's page is not that of the release beside it."""
    return (
        f"{page} is not the page of the release in {release}, which is another one, or is gone: a run was interrupted while "
        "it wrote, or the release was changed. Do not rely on that page; it is replaced when this run writes its release."
    )


def kept_out_by_role(roles: Mapping[str, Role], config: str) -> dict[str, str]:
    """Why each column is not published whose role keeps it out. config: the name of the file that says so.

    >>> from marginals.tables.attribute import Role
    >>> kept_out_by_role({"age": Role.QUASI_IDENTIFIER, "pid": Role.IDENTIFIER}, "release.toml")
    {'pid': 'its role in release.toml is "identifier", so it is never read'}
    """
    why = {
        Role.IDENTIFIER: "so it is never read",
        Role.IGNORED: "so it is left out; if init wrote that, it says there why",
    }
    return {name: f'its role in {config} is "{role.value}", {why[role]}' for name, role in roles.items() if role in why}


def left_out_lines(table: "Table") -> Iterator[str]:
    """What was left out of people with more rows than count, of whom the release will speak, and how numbers are read."""
    if table.left_out:
        count = "one row of each person counts" if table.rows_per_person == 1 else "more of a person do not count"
        yield f"Left out {number_of(table.left_out, 'more row')}, since {count}."
    if sentence := unit_in_words(table.rows_per_person):
        yield sentence
    for name, numbers in table.numbers.items():
        if numbers.format.is_grouped:
            yield f"The numbers of {name} are read with {numbers.format}."
        if numbers.unreadable:
            has = "has a value" if numbers.unreadable == 1 else "have a value"
            yield (
                f"{number_of(numbers.unreadable, 'row')} {has} of {name} that is no number: ranges cannot be judged of it; "
                "list what stands for no value under data.missing."
            )


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


_LISTED = 3
"""Tables that a line names at most."""


def basis_line(basis: Basis, domain: Domain) -> str:
    """The kind of an answer, and what that means for it.

    >>> from marginals.example import release
    >>> basis_line(release.supports(["age", "sex"]), release.domain)
    'assumed: no published table shows what is asked of age and sex together, so the model takes them to be independent, \
given what its tables share; that is no finding about the data'
    >>> basis_line(release.supports({"age": 0, "diagnosis": 0}), release.domain)
    'supported: coarser than asked, a published table shows age in 10-year bands, diagnosis; within its groups the model \
takes what is asked to be independent'
    """
    match basis.kind:
        case Kind.PUBLISHED:
            return "published: it follows from published counts"
        case Kind.SUPPORTED:
            tables = shown_in_words(basis, domain)
            return (
                f"supported: coarser than asked, a published table shows {tables}; within its groups the model takes "
                "what is asked to be independent"
            )
        case Kind.ASSUMED:
            return f"assumed: {assumption(basis.assumed)}; that is no finding about the data"


def shown_in_words(basis: Basis, domain: Domain) -> str:
    """The finest tables that show what is asked about, with the names of their levels."""
    margins = [margin_in_words(margin, domain) for margin in basis.shown]
    rest = len(margins) - _LISTED
    return "; or ".join(margins[:_LISTED] + ([f"{rest} more"] if rest > 0 else []))


def pair_rows(pairs: Iterable[tuple[tuple[str, str], Basis]], domain: Domain) -> Iterator[Mapping[str, str]]:
    """Of each pair of columns which kind what they say of each other is, and why, as rows of a table."""
    for (first, second), basis in pairs:
        alone = [group[0] for group in basis.assumed if len(group) == 1]
        why = f"nothing of use is published of {' and '.join(alone)}" if alone else "no published table shows both"
        because = shown_in_words(basis, domain) if basis else why
        yield {"first": first, "second": second, "kind": basis.kind.value, "because": because}


def synthetic_lines(assumed: Sequence[Sequence[str]]) -> Iterator[str]:
    """What somebody must know who uses synthetic rows: which of their columns say nothing of each other.

    >>> print(*synthetic_lines([("age", "sex")]))
    note: no published table shows these columns together, so in the rows they are independent, given the others: age and sex
    """
    alone = [group[0] for group in assumed if len(group) == 1]
    together = [" and ".join(group) for group in assumed if len(group) > 1]
    if alone:
        yield f"note: nothing of use is published of these columns, so their values are equally likely: {listed(alone)}"
    if together:
        yield (
            "note: no published table shows these columns together, so in the rows they are independent, given the others: "
            f"{listed(together, '; ')}"
        )


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


_MANY = 0.05
"""Share of dropped rows from which on they are warned of."""

_NAMED = 5
"""Columns that a line names."""


def dropped_lines(
    complete: int, dropped: int, dropped_in: Mapping[str, int], least: int | None = None, person: str | None = None
) -> Iterator[str]:
    """How many rows were dropped, by column, and warnings where they are many, or few enough to be a small count.

    complete: rows that lack nothing, also those beyond what counts of a person. least: the smallest count that may be
    published or derived; None where there is none. person: the column that says whose row it is, if there is one.

    >>> list(dropped_lines(7000, 300, {"cause": 200, "age": 110}))
    ['Dropped 300 of 7,300 rows with missing values: 200 lack cause, 110 age.']
    """
    if not dropped:
        yield f"None of the {number_of(complete, 'row')} lacks a value."
        return
    lacking = [f"{rows:,} {column}" for column, rows in dropped_in.items()]
    if lacking:
        lacking[0] = lacking[0].replace(" ", " lacks " if next(iter(dropped_in.values())) == 1 else " lack ", 1)
    others = len(lacking) - _NAMED
    named = [*lacking[:_NAMED], *([f"fewer in {others} other column{'s' if others > 1 else ''}"] if others > 0 else [])]
    yield (
        f"Dropped {dropped:,} of {complete + dropped:,} rows with missing values{': ' if named else ''}{', '.join(named)}."
    )
    many = dropped_warning(complete, dropped, dropped_in, person)
    for warning in (many, few_dropped_warning(dropped, dropped_in, least, person)):
        if warning:
            yield f"Warning: {warning}"


def few_dropped_warning(
    dropped: int, dropped_in: Mapping[str, int], least: int | None, person: str | None = None
) -> str:
    """What readers who know how many rows there were can compute, where fewer rows were dropped than a count may have."""
    if least is None or not 0 < dropped < least or not dropped_in:
        return ""
    column = next(iter(dropped_in))
    return (
        f"fewer than {least:,} rows are dropped. A reader who knows how many rows the table has can compute how many lack a "
        f"value; the release does not say it, and no check covers it. "
        + (_NOBODY if column == person else f'Count missing values: attributes.{column}.missing = "as a value".')
    )


_NOBODY = (
    "Find out whose rows these are: rows of nobody can be more rows of the people who count, so no setting counts them."
)
"""What to do about rows without a person."""


def dropped_warning(complete: int, dropped: int, dropped_in: Mapping[str, int], person: str | None = None) -> str:
    """What is wrong with a release of the rows that are left, and what to do, where more than a twentieth was dropped.

    complete: rows that lack nothing, also those beyond what counts of a person.
    """
    if dropped <= _MANY * (complete + dropped) or not dropped_in:
        return ""
    column = next(iter(dropped_in))
    advice = f'Ignore that column, or count its missing values: attributes.{column}.missing = "as a value".'
    return (
        f"{100 * dropped / (complete + dropped):.1f} percent of the rows are dropped, and those that are left may be of "
        f"another kind. Most lack {column}. {_NOBODY if column == person else advice}"
    )


def determined_in_words(measures: DisclosureMeasures) -> str:
    """How many combinations of which attributes have a count that readers can determine."""
    known = measures.reconstruction
    result = f"{known.determined:,}" if known.determined else "none"
    has = "has a count" if known.determined < 2 else "have counts"
    sure = "" if known.sharp else ", as far as the bounds tell"
    combinations = "combination" if known.cells == 1 else "combinations"
    return (
        f"Of the {known.cells:,} possible {combinations} of {listing(measures.shown)}, {result} {has} that readers can "
        f"determine{sure}."
    )


def reconstruction_in_words(known: Reconstruction) -> str:
    """What it means that some cells of the table of all that is shown with a sensitive attribute are determined."""
    if not known.determined:
        return (
            "Counts of fewer attributes are published, and more of them can be determined: marginals attack looks at those "
            "of up to three."
        )
    these, hold = ("this count", "it holds") if known.determined == 1 else ("these counts", "they hold")
    beyond = "" if known.sharp else " More may be, since the bounds are not proven to be the best."
    return (
        f"Somebody who puts the tables together knows {these} without any doubt; {hold} {known.rows:,} of {known.total:,} "
        f"rows. A certain count is harmful where it is small or leaves one sensitive value only.{beyond}"
    )


def certain_in_words(certain: CertainCells) -> str:
    """How many cells are certain."""
    least = "" if certain.is_complete else "at least "
    sentence = (
        f"in the tables of up to {certain.attributes} attributes with it that readers can work out, each attribute at its "
        f"finest published level, {least}{number_of(certain.determined, 'count')} "
        f"{'is' if certain.determined == 1 else 'are'} determined exactly, {least}{certain.small:,} of them below the "
        f"largest k claimed; {least}{number_of(certain.exists, 'cell')} {'has' if certain.exists == 1 else 'have'} a row "
        "for certain"
    )
    one = f"in {least}{number_of(certain.one_value, 'class', 'classes')} everybody has the same value of it for certain"
    sentence += f"; {one}" if certain.one_value or not certain.is_complete else ""
    if certain.is_complete:
        return sentence
    undecided = f"{number_of(certain.undecided, 'cell')} and {number_of(certain.unread, 'table')}"
    return f"{sentence}; undecided in the time given: {undecided}"


def worst_in_words(cell: CertainCell) -> str:
    """The smallest count that is determined."""
    values = ", ".join(f"{attribute}={label}" for attribute, label in cell.values.items())
    return f"the smallest of these counts: {values}: exactly {number_of(cell.rows, 'row')}"


def shared_in_words(cell: CertainCell) -> str:
    """A class in which everybody has the same sensitive value."""
    values = ", ".join(f"{attribute}={label}" for attribute, label in cell.values.items())
    return f"one of these classes, with its value: {values}: at least {number_of(cell.rows, 'row')}"


def skewness_in_words(measures: DisclosureMeasures) -> str:
    """What the distance of a class from everybody means."""
    return (
        f"For a reader who uses the maximum-entropy model, learning that a person is in this class changes the probability "
        f"of a set of values of {measures.sensitive} by up to {100 * measures.skewness:.1f} percentage points, the largest "
        "change of any class."
    )


_TINY = 1e-12
"""Smaller probabilities are lost in rounding, and are told as this."""


def threshold_in_words(threshold: Threshold) -> str:
    """What follows from how close a threshold is."""
    if threshold.is_missed:
        return "The claim is not met."
    if threshold.smallest is None:
        return "How near the tables come to it together is not known."
    if threshold.binding:
        return (
            "Met without a row to spare. A reader who knows that the release was refined until a claim failed can infer "
            "that this claim stopped it."
        )
    spare = threshold.smallest - threshold.k
    return (
        f"Met with {number_of(spare, 'row')} to spare. A finer table can still have missed it, if it "
        "splits some class unevenly."
    )


def step_in_words(step: Refinement, in_words: Callable[[str, int], str]) -> str:
    """The step that was refused: `age in 10-year bands in place of age in 20-year bands, beside sex`.

    in_words: says an attribute at a level.
    """
    published = in_words(step.attribute, step.margin[step.attribute])
    others = ", ".join(in_words(name, level) for name, level in step.margin.items() if name != step.attribute)
    return f"{in_words(step.attribute, step.finer)} in place of {published}{f', beside {others}' if others else ''}"


def refusal_in_words(step: Refinement) -> str:
    """What somebody concludes who knows that a step was refused."""
    if step.possible_claims is None:
        return f"not examined: {step.note}"
    if not step.possible_claims:
        return "no claim can have refused it, so it was left out for another reason"
    if step.is_certain:
        return "refused whatever the data, so by itself it excludes no table"
    whose = (
        "one class"
        if step.candidate_classes == 1
        else f"at least one of {step.candidate_classes:,} classes (of {step.classes:,})"
    )
    if step.candidate_classes == step.classes:
        whose = "the only class" if step.classes == 1 else f"at least one of the {step.classes:,} classes"
    remainders = " or ".join(map(_left_by, step.possible_claims))
    sentence = f"in {whose} the finer value would leave {remainders}"
    if step.candidate_class is not None and step.candidate_classes != step.classes:
        sentence += f" ({', '.join(f'{a}={label}' for a, label in step.candidate_class.items())})"
    if step.acceptance_probability is not None:
        expected = 1 - step.acceptance_probability
        change = f"{step.acceptance_probability:.3g}" if step.acceptance_probability >= _TINY else f"{_TINY:g}"
        sentence += (
            f"; by maximum entropy its probability was {expected:.3g}, so no belief changes by more than {change}"
        )
    if (largest := step.largest_posterior_change) is not None:
        cell = ", ".join(f"{a}={label}" for a, label in largest.cell.items())
        sentence += f"; most in {cell}: {largest.value} from {largest.before:.3g} to {largest.after:.3g}"
    return sentence + (f"; {step.note}" if step.note else "")


def _left_by(claim: Claim) -> str:
    """The group that a claim refuses: "a group of 1 to 9 rows"."""
    if isinstance(claim, CountClaim):
        return few_rows(claim.least_count)
    return f"a group with {claim_reason(claim)}" if isinstance(claim, AttributeClaim) else "a group that it refuses"


def few_rows(least: int) -> str:
    """A group that is too small.

    >>> few_rows(2), few_rows(10)
    ('a group of 1 row', 'a group of 1 to 9 rows')
    """
    return f"a group of {counts_below(max(least, 2)).removeprefix('from ')} {'row' if least <= 2 else 'rows'}"


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


def assessment_lines(assessment: "Assessment", rows_per_person: RowsPerPerson = None) -> Iterator[str]:
    """What one table reaches of each criterion, by sensitive attribute, and its homogeneous classes."""
    counted = rows_in_words(assessment.rows, 1 if rows_per_person == 1 else None)
    classes = number_of(assessment.classes, "class", "classes")
    yield f"{counted} in {classes}, the smallest of {assessment.k_anonymity:,}."
    if rows_per_person != 1:
        yield from filter(None, [unit_in_words(rows_per_person)])
    for attribute, reached in assessment.diversity.items():
        yield f"{attribute}: {reached.distinct} distinct, simple {reached.simple:.3g}, entropy {reached.entropy:.3g}"
        yield from _recursive_lines(reached)
    homogeneous = {"Homogeneous": assessment.homogeneous, "Nearly homogeneous": assessment.nearly_homogeneous}
    for name, affected in homogeneous.items():
        yield f"{name}: {number_of(affected.classes, 'class', 'classes')} with {number_of(affected.rows, 'row')}."
    for attribute, needed in assessment.knowledge.items():
        yield from _knowledge_lines(attribute, needed)


def _knowledge_lines(attribute: str, needed: "KnowledgeNeeded") -> Iterator[str]:
    """How many values of a person somebody must rule out to learn the sensitive one."""
    if needed.least:
        values = number_of(needed.least, "value")
        yield f"Background knowledge: who rules out {values} of {attribute} for a person can be left with a single one."
    for ruled_out, fallen in needed.fallen.items():
        if fallen.classes and ruled_out >= needed.least:
            held = f"{number_of(fallen.classes, 'class', 'classes')} with {number_of(fallen.rows, 'row')}"
            yield f"  {number_of(ruled_out, 'value')} ruled out leave a single one in up to {held}"


def eligibility_lines(eligible: Mapping[str, "Eligibility"]) -> Iterator[str]:
    """The strongest requirements that any generalization of a table satisfies, and how far beyond need it is protected."""
    yield "Eligible, however far quasi-identifiers are generalized:"
    for attribute, eligibility in eligible.items():
        reached = eligibility.reached
        yield f"{attribute}: {reached.distinct} distinct, simple {reached.simple:.3g}, entropy {reached.entropy:.3g}"
        yield from _recursive_lines(reached)
        yield from _tau_lines(eligibility)


def _tau_lines(eligibility: "Eligibility") -> Iterator[str]:
    """The eligible tau by l, and the excessive protection."""
    from checks.classes import rounded_up

    for l, tau in enumerate(eligibility.tau, 2):
        if tau < 1:
            yield f"  functional (tau, {l}): tau of {rounded_up(tau):g} or more"
    beyond = [l for l, tau in enumerate(eligibility.tau, 2) if tau == 1]
    if beyond:
        yield f"  functional (tau, {beyond[0]}){f' to (tau, {beyond[-1]})' if len(beyond) > 1 else ''}: no tau will do"
    if eligibility.values > 1:
        least = rounded_up(eligibility.generalized)
        swept = "with sensitive values generalized too (anonymize --method sweep)"
        yield f"  {swept}: tau of {least:g} or more at every l up to {eligibility.values}"
    for requirement, weakest in eligibility.implying.items():
        yield from _implied_lines(requirement, weakest)
    for requirement, excess in eligibility.excess.items():
        yield (
            f"  excessive protection beyond {requirement}: {excess:.4g}"
            if excess is not None
            else f"  excessive protection beyond {requirement}: none, since this table does not satisfy it"
        )


def _implied_lines(requirement: str, weakest: "WeakestImplying") -> Iterator[str]:
    """Which simple and recursive diversities imply a functional one, over the values that occur."""
    from checks.diversity.text import spelled

    if weakest.simple is not None:
        yield f"  {requirement} is implied by simple:l with l of {spelled(weakest.simple)} or more"
    for l, c in weakest.recursive.items():
        yield f"  {requirement} is implied by recursive:c,{l} with c of at most {spelled(c)}"


def _recursive_lines(reached: "StrongestRequirements") -> Iterator[str]:
    finite = [c for c in reached.recursive_c if isfinite(c)]
    for l, c in enumerate(finite, 2):
        yield f"  recursive (c, {l}): c above {c:.3g}"
    if len(finite) < len(reached.recursive_c):
        first, last = len(finite) + 2, len(reached.recursive_c) + 1
        others = f"(c, {first})" if first == last else f"(c, {first}) to (c, {last})"
        yield f"  recursive {others}: no c will do"


def single_table_lines(result: "LatticeResult", domain: "Domain", most: int | None = None) -> Iterator[str]:
    """Minimal single tables with their measures of utility, the best first. most: so many of them; None for all."""
    listed = result.minimal[:most]
    if result.nodes > 1:
        minimal = number_of(len(result.minimal), "minimal table")
        yield f"{minimal} among {result.nodes:,}, {'the best:' if most == 1 else 'best first:'}"
    for table in listed:
        levels = ",".join(f"{attribute}={level}" for attribute, level in table.levels.items())
        shown_levels = {a: level for a, level in table.levels.items() if level < domain.hierarchy(a).height}
        yield f"  {margin_in_words(shown_levels, domain) if shown_levels else 'every quasi-identifier suppressed'}"
        yield (
            f"    KL divergence {table.kl_divergence:.4f}, {number_of(table.classes, 'class', 'classes')} of "
            f"{table.average_class_size:,.1f} rows on average, height {table.height}, discernibility "
            f"{table.discernibility:,}"
        )
        if table.suppressed:
            yield f"    {suppressed_rows(table.suppressed)}"
        yield f"    --levels {levels}"
    if len(listed) < len(result.minimal) and most != 1:
        yield f"And {len(result.minimal) - len(listed):,} more: --all lists them, --json too."


def thinned_table_lines(tables: "Sequence[ThinnedTable]", domain: "Domain", most: int | None = None) -> Iterator[str]:
    """Minimal tables of which rows are left out, the best first, and whom that does not protect from."""
    listed = tables[:most]
    yield f"{number_of(len(tables), 'minimal table')}, {'the best:' if most == 1 else 'best first:'}"
    for table in listed:
        shown_levels = {a: level for a, level in table.levels.items() if level < domain.hierarchy(a).height}
        yield f"  {margin_in_words(shown_levels, domain) if shown_levels else 'every quasi-identifier suppressed'}"
        yield (
            f"    KL divergence {table.kl_divergence:.4f}, {number_of(len(table.recoding), 'class', 'classes')}, "
            f"{number_of(table.left_out, 'row')} left out: of {number_of(table.thinned, 'class', 'classes')} some, of "
            f"{number_of(table.dropped, 'class', 'classes')} all"
        )
    if len(listed) < len(tables) and most != 1:
        yield f"And {len(tables) - len(listed):,} more: --all lists them, --json too."
    if any(table.left_out for table in listed):
        yield (
            "The demands hold of the rows that are shown. A reader who knows that somebody is in the table, and how many "
            "rows share those values, counts the rows left out too, and knows that they have frequent values; do not "
            "publish how many were left out."
        )


def written_table_lines(
    path: str, recoded: "LocalRecoding", requirements: "Requirements", suppressed: int = 0
) -> Iterator[str]:
    """What a single table holds that was just written, and what is known of its privacy. requirements: that it satisfies."""
    smallest = int(recoded.sizes.min()) if len(recoded) else 0
    yield (
        f"Wrote {number_of(recoded.rows, 'row')} to {path}, in {number_of(len(recoded.cells), 'line')}: combinations of "
        f"values with their count. The smallest of its {number_of(len(recoded), 'class', 'classes')} has "
        f"{number_of(smallest, 'row')}."
    )
    if suppressed:
        yield f"{suppressed_rows(suppressed)}."
    diversities = _demanded_diversities(requirements)
    parts = [f"has at least {counted_in_words(requirements.class_size, None)}"] if requirements.class_size else []
    parts += [f"satisfies {' and '.join(diversities)}"] if diversities else []
    if parts:
        yield f"Every class {' and '.join(parts)}."
    if requirements.cell_size:
        yield f"Every count in it is at least {requirements.cell_size:,}."
    if parts:
        yield "Nothing else was checked of it, such as other tables about the same people."
    if not diversities and recoded.sensitive:
        yield f"Warning: no diversity is demanded of what is sensitive: {', '.join(recoded.sensitive)}."


def _demanded_diversities(requirements: "Requirements") -> list[str]:
    """The diversities that every class satisfies, in words; each once where it is one for all sensitive attributes."""
    claims = requirements.diversity_claims
    texts = {str(claim.class_diversity) for claim in claims}
    if len(texts) == 1 and len(claims) == len(requirements.sensitive):
        return [*texts]
    return [f"{claim.class_diversity} in {claim.sensitive}" for claim in claims]


def suppressed_rows(rows: int) -> str:
    """What is said of the rows of a table that are suppressed."""
    they = (
        "it has * in every quasi-identifier, and is a class"
        if rows == 1
        else ("they have * in every quasi-identifier, and are one class together")
    )
    return f"{number_of(rows, 'row')} suppressed: {they}"


def wanted_lines(wanted: Iterable["WantedTable"], domain: "Domain") -> Iterator[str]:
    """What became of the analyses that a release is wanted for. domain: of the release."""
    for table in wanted:
        yield wanted_line(table, domain)


def wanted_line(table: "WantedTable", domain: "Domain") -> str:
    """What became of one analysis: whether it has a published table, and what it could have beside, or why not."""
    names = ", ".join(table.attributes)
    if table.margin is None and len(table.attributes) == 1:
        said = f"Wanted {names}: no published table shows it, so its values are assumed to be equally frequent."
    elif table.margin is None:
        said = f"Wanted {names}: no published table shows them together, so what they say of each other is assumed."
    else:
        together = "shown" if len(table.attributes) == 1 else "shown together"
        said = f"Wanted {names}: {together}, {margin_in_words(table.margin, domain)}."
    if table.obstacle is None or table.would_pass is None:
        return said if table.obstacle is None else f"{said} {table.obstacle[:1].upper()}{table.obstacle[1:]}."
    return (
        f"{said} By itself it would pass as {table.passing_in_words}, but {table.obstacle}. To have it, raise its weight, "
        f"or demand it: search.must_publish = [{table.demand}]."
    )


def steward_lines(report: "StewardReport") -> Iterator[str]:
    """For the steward alone: how near a release comes to the data, beside what is coarser, and how it was searched."""
    yield f"KL divergence to the data: {report.kl_divergence:.3f} nats (0 would be the data itself)."
    if priced := chance_in_words(report, 3):
        yield f"  {priced}"
    yield f"  {report.kl_suppressed:.3f} with all quasi-identifiers suppressed{_all_sensitive(report)}."
    if report.kl_best_table is not None:
        yield f"  {report.kl_best_table:.3f} for the best single table."
    if removed := removed_in_words(report):
        yield removed
    yield from _comparison_lines(report.comparison)
    if poor := worse_than_one_way(report):
        yield poor
    yield search_line(report.search, report.base)
    if said := str(report.base):
        yield said


def chance_in_words(report: "StewardReport", decimals: int) -> str:
    """What the search looked for the least of, where that is not the KL divergence alone; empty where it is."""
    search, price = report.search, report.price
    if search.value is None:
        return ""
    if not price:
        from models.search.problem import CliqueScore  # slow to import, and few need it

        by_score = isinstance(report.objective, CliqueScore)
        return (
            f"{search.value:.{decimals}f} by {report.objective}: the search looked for the least of this."
            if by_score
            else ""
        )
    gained = search.value - search.kl_divergence
    counted = ", wanted analyses counted" if search.wanted else ""
    return (
        f"{search.value:.{decimals}f} with {gained:.{decimals}f} for what chance gains, 1/{1 / price:,.0f} nats each free "
        f"parameter{counted}: the search looked for the least of this."
    )


_FURTHEST = 3
"""Attributes that are named, at most."""


def worse_than_one_way(report: "StewardReport") -> str:
    """That exact tables of single attributes would come nearer to pairs, and what helps; empty where they would not."""
    mean, alone = report.two_way.mean, report.comparison.independent_mean
    if alone is None or not report.two_way.by_table or mean <= alone:
        return ""
    without = 'leave the base table out (base.table = "none"), ' if report.base.contained else ""
    errors = sorted(((error, name) for (name,), error in report.one_way.by_table.items()), reverse=True)
    coarse = [f"{name} ({error:.2f} by itself)" for error, name in errors[:_FURTHEST] if error >= alone / 2]
    furthest = f" Furthest from the table: {', '.join(coarse)}." if coarse else ""
    return (
        f"Worse than one-way tables: with exact tables of single attributes, taken as independent, pairs would be off by "
        f"{alone:.4f} on average, not by {mean:.4f}.{furthest} {without[:1].upper()}{without[1:]}"
        f'{"let" if without else "Let"} levels be fitted to the counts where they are not (ladder = "fitted"), demand fewer '
        "rows (k_link, k_combinatorial, min_cell), or leave columns out that need coarse levels."
    )


def removed_in_words(report: "StewardReport") -> str:
    """Which share of the divergence a release removes, beside the best single table; empty where there is none to remove.

    Empty for several sensitive attributes, too: the table that is compared with shows them all together, which tells more of
    them than any release may.
    """
    release, best = report.removed, report.removed_by_best_table
    if release is None or _all_sensitive(report):
        return ""
    beside = "" if best is None else f"; the best single table {_removes(best)}"
    return (
        f"Relative to suppressing all quasi-identifiers, the release {_removes(release)} of the KL divergence{beside}."
    )


def _all_sensitive(report: "StewardReport") -> str:
    """What else the table shows that is compared with, where several attributes are sensitive."""
    return ", and all sensitive columns in one table" if len(report.published.sensitive) > 1 else ""


def _removes(share: float) -> str:
    return f"{'removes' if share >= 0 else 'adds'} {100 * abs(share):.0f} percent"


def _comparison_lines(comparison: "Comparison") -> Iterator[str]:
    """How far tables and counts are off, and the pair of attributes whose association is lost most."""
    release, others = comparison.release, comparison.yardsticks
    if release.two_way.by_table:
        beside = "; ".join(f"{other.two_way.mean:.4f} for {name}" for name, other in others.items())
        of_some = f", of {release.two_way.sample}" if release.two_way.sample else ""
        yield f"Two-way tables at base values: mean total variation {release.two_way.mean:.4f} ({beside}){of_some}."
    if release.counts.number:
        beside = "; ".join(f"{100 * other.counts.median:.1f} for {name}" for name, other in others.items())
        yield f"Random counts: median relative error {100 * release.counts.median:.1f} percent ({beside})."
    lost = next(iter(comparison.most_lost()), None)
    if lost is not None and lost.is_lost:
        yield (
            f"Association that is lost most: {' and '.join(lost.attributes)}, {lost.kind}; Cramer's V "
            f"{lost.cramers_v:.2f} in the table, {lost.cramers_v_released:.2f} in the release."
        )


def search_line(search: "SearchResult", base: "BaseChoice | None" = None) -> str:
    """How it was searched, and how much better another release can be at most, of those with the base table if demanded."""
    proven = proven_in_words(search, base, 3)
    collections = number_of(search.evaluated, "collection")
    line = f"Search: {search.strategy}, {collections} looked at{f'; {proven}' if proven else ''}."
    return f"{line} {ENDED_BY_TIME}" if search.stopped else line


ENDED_BY_TIME = (
    "The time limit ended it, so another run of the same config can end with other tables: give it more time_limit."
)
"""What the steward is told of a search that a clock ended."""


def proven_in_words(search: "SearchResult", base: "BaseChoice | None", decimals: int) -> str:
    """What is proven of other collections; empty for nothing. Bounds are rounded down, so that they hold as they stand.

    The proof is about decomposable collections at the levels of the table: others can be better. A bound below half of what
    was found says nothing that would help anybody.
    """
    those = " that contains the base table," if base and base.demanded else ""
    none = f"no decomposable collection{those} within the policy and search limits"
    if search.optimal:
        return f"{none} is better"
    if search.bound is None or search.value is None or search.bound < search.value / 2:
        return ""
    counted = ", wanted analyses counted" if search.wanted else ""
    if search.value - search.kl_divergence > 0 and not search.wanted:
        counted = " with what chance gains"
    bound = floor(search.bound * 10**decimals) / 10**decimals
    above = ceil(max(search.value - bound, 0.0) * 10**decimals) / 10**decimals
    return f"{none} gets below {bound:.{decimals}f} nats{counted}; this one is at most {above:.{decimals}f} above that"


def beside_lines(beside: "FurtherBeside | None", domain: Domain, most: int | None = None) -> Iterator[str]:
    """What the steward is told of further tables: which there are, what each gained, and which were left out again.

    domain: that of the table. most: tables that are named; None for all. Nothing is said where none were wanted.
    """
    if beside is None:
        return
    if not beside.tables and not beside.left_out:
        yield "No further table is published: none within the policy adds enough information about its attributes."
    elif beside.tables:
        gains = [
            f"{margin_in_words(domain.margin(table.mask), domain)} ({100 * table.gain:.2g} points)"
            for table in beside.tables[:most]
        ]
        rest = len(beside.tables) - len(gains)
        gains += [f"and {rest:,} more"] if rest else []
        yield (
            f"{number_of(len(beside.tables), 'further table')}, in the order in which they were chosen, each with what it "
            f"took off the total variation of its attributes: {'; '.join(gains)}."
        )
    if beside.note:
        yield f"No further table is published, since rare combinations beside them could not be looked at: {beside.note}."
        return
    if beside.left_out:
        names = "; ".join(
            margin_in_words(domain.margin(further_table.mask), domain) for further_table in beside.left_out
        )
        yield (
            f"Left out again: {names}. Beside them combinations of nonsensitive values stayed open, of which readers might "
            f"be certain that they have {counts_below(beside.least)} rows."
            + (" The time limit ended the search for other rows beside them: more time may keep more." * beside.is_late)
        )
    if beside.least > 1 and beside.tables:
        yield (
            f"{number_of(beside.small, 'combination')} of nonsensitive values with {counts_below(beside.least)} rows "
            f"{'was' if beside.small == 1 else 'were'} looked at. For each another table of people with the same published "
            f"counts was found, in {number_of(beside.rounds, 'round')} of exchanges between rows, in which it has none, or "
            f"at least {beside.least:,}."
        )


def codebook_lines(codebook: "Codebook", conditions: Iterable[str]) -> Iterator[str]:
    """What the attributes that conditions name are, and what their values mean, where the steward says it.

    >>> from marginals.tables.attribute import Codebook
    >>> book = Codebook({"smokes": "in the last month"}, {"smokes": {"0": "no", "1": "yes"}})
    >>> list(codebook_lines(book, ["smokes=1"]))
    ['smokes: in the last month; 0 is no, 1 is yes']
    """
    asked = " ".join(conditions)
    for name in dict.fromkeys([*codebook.descriptions, *codebook.values]):
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", asked):
            meanings = ", ".join(f"{label} is {meaning}" for label, meaning in codebook.values.get(name, {}).items())
            yield f"{name}: {'; '.join(filter(None, [codebook.description(name), meanings]))}"


def estimate_lines(estimate: "Estimate", domain: "Domain", rows_per_person: RowsPerPerson = None) -> Iterator[str]:
    """A number of rows as the maximum-entropy model estimates it, or of people, its bounds, and what it rests on."""
    counted = "people" if rows_per_person == 1 else "rows"
    if estimate.exact:
        exactly = rows_in_words(estimate.lower, 1 if rows_per_person == 1 else None)
        yield f"{exactly}, exactly: the published marginals leave no other number."
        yield basis_line(estimate.basis, domain)
        return
    best = "no closer bounds are possible" if estimate.sharp else "closer bounds may be possible"
    if estimate.unjudged:
        yield "no estimate: it would leave out rows that the condition may hold for"
    elif estimate.expected is None:
        yield "no estimate: the time was over before the maximum-entropy distribution was fitted"
    else:
        yield f"about {estimate.expected:,.6g} {counted} expected (maximum entropy; not published as such)"
    yield f"between {estimate.lower:,} and {estimate.upper:,} for certain; {best}"
    for attribute, values, rows in estimate.unjudged:
        yield (
            f"not judged: up to {rows:,} {counted}, whose value of {attribute} cannot be read as a number "
            f"({first_few(list(map(repr, values)))}); they are in the upper bound only. To leave these values out or "
            "count them in, name them with | between"
        )
    if estimate.cut:
        yield (
            f"cut through by a range: {first_few(estimate.cut)}; their {counted} are in the upper bound and not in the "
            "lower one"
        )
    if estimate.expected is not None:
        yield basis_line(estimate.basis, domain)


def attack_lines(attacks: "Attacks") -> Iterator[str]:
    """All measures of one release, or of several together: what is published, what is certain, and what readers can do
    who know the algorithm, have a register, or learn across classes; the plainest first.
    """
    if attacks.published is not None:
        yield from published_lines(attacks.published)
    yield from _certain_lines(attacks)
    yield from map(_threshold_line, attacks.thresholds)
    for composition in attacks.compositions:
        yield from _composition_lines(composition)
    yield from _minimality_lines(attacks.minimality)
    yield from map(register_in_words, attacks.register)
    if attacks.published is not None:
        for attacked in attacks.attacked:
            yield from _guessing_lines(attacked)
        for attribute, reason in attacks.left_out.items():
            yield f"Readers who learn across classes, of {attribute}: not examined; {reason}."
        if attacks.likely is not None or not attacks.unmeasured:
            yield f"Readers who rank small counts by the model: {likely_in_words(attacks.likely)}"
    yield from unmeasured_lines(attacks)


def unmeasured_lines(attacks: "Attacks") -> Iterator[str]:
    """What was not measured because the time was over."""
    if attacks.unmeasured:
        yield f"Stopped, since the time was over. Not measured: {', '.join(attacks.unmeasured)}. Give --seconds more."


def register_in_words(readers: RegisterReaders) -> str:
    """What somebody concludes about a sensitive attribute who knows the nonsensitive values of everybody.

    >>> from marginals.register_readers import FROM_FILES, NOT_EXAMINED, RegisterReaders
    >>> print(register_in_words(RegisterReaders("job", FROM_FILES, 220, 1.0, 20, {"A": "a1"}, "cook")))
    Readers with a register, who know the nonsensitive values of everybody, know job for certain of 20 of 220 rows.
    >>> print(register_in_words(RegisterReaders("job", NOT_EXAMINED, 220, note="it takes too long")))
    Readers with a register, who know the nonsensitive values of everybody: of job not examined; it takes too long.
    """
    who = "Readers with a register, who know the nonsensitive values of everybody"
    if readers.largest_share is None and readers.basis == ATTESTED:
        return (
            f"{who}: attested by the publisher that {readers.sensitive} stays as diverse for them as claimed; the files "
            "cannot show it, and the attestation itself excludes some tables that could have been published so."
        )
    if readers.largest_share is None:
        return f"{who}: of {readers.sensitive} not examined; {readers.note}."
    if readers.certain:
        return f"{who}, know {readers.sensitive} for certain of {readers.certain:,} of {readers.people:,} rows."
    cell = ", ".join(f"{attribute}={label}" for attribute, label in readers.labels.items()) or "all"
    return (
        f"{who}, give no value of {readers.sensitive} of anybody a probability above "
        f"{100 * readers.largest_share:.1f} percent ({readers.value} in {cell}), unless they assume how it varies within "
        "classes or reason from why these tables were chosen."
    )


def published_lines(published: "PublishedCounts") -> Iterator[str]:
    """The small counts that anybody can read off, those with a sensitive value apart."""
    counts = published.counts
    yield (
        f"Published as they are: {_small_in_words(counts)} below {published.least:,}; {_smallest_in_words(counts.smallest)}"
    )
    for attribute, counts_of in published.sensitive.items():
        yield (
            f"  with {attribute}: {_small_in_words(counts_of.counts)} below {published.least:,}; "
            f"{_smallest_in_words(counts_of.counts.smallest)}"
        )
        yield f"  {one_value_in_words(attribute, counts_of)}"


def _small_in_words(counts: "Counts") -> str:
    """How many of some counts are small: "1 of 95 counts is"."""
    return f"{counts.small:,} of {number_of(counts.number, 'count')} {'is' if counts.small == 1 else 'are'}"


def _smallest_in_words(cells: "Sequence[CertainCell]") -> str:
    listed_cells = (f"{_cell(cell.values)}: {cell.rows:,}" for cell in cells)
    return f"the smallest: {'; '.join(listed_cells)}" if cells else "there are none"


def one_value_in_words(attribute: str, sensitive_counts: "SensitiveCounts") -> str:
    """How many published classes share one sensitive value."""
    classes = number_of(sensitive_counts.classes, "published class", "published classes")
    if not sensitive_counts.one_value or sensitive_counts.shared is None:
        return f"none of {classes} has a single value of {attribute} only"
    has = "has" if sensitive_counts.one_value == 1 else "have"
    return (
        f"{sensitive_counts.one_value:,} of {classes} {has} a single value of {attribute} only; the largest, with "
        f"{number_of(sensitive_counts.rows, 'row')}: {_cell(sensitive_counts.shared)}"
    )


def nonsensitive_in_words(result: "NonsensitiveSmall") -> str:
    """Whether a combination of nonsensitive attributes certainly has few rows."""
    few = few_rows(result.below).removeprefix("a group of ")
    lead = "Nonsensitive attributes alone, from the tables alone"
    if result.proven_by:
        return f"{lead}: no combination certainly has {few}, since {result.proven_by} holds."
    if result.cell is not None:
        most = number_of(result.cell.rows, "row")
        return f"{lead}: {_cell(result.cell.values)}: certainly 1 row at least, and {most} at most; there may be more such."
    if not result.is_complete:
        return f"{lead}: not all examined; the time was over before a small count was found."
    return f"{lead}: no combination of up to three was found that certainly has {few}; of more: not examined."


def _certain_lines(attacks: "Attacks") -> Iterator[str]:
    if attacks.nonsensitive is not None:
        yield nonsensitive_in_words(attacks.nonsensitive)
    for attacked in attacks.attacked:
        measures = attacked.measures
        known = measures.reconstruction
        hold = "It holds" if known.determined == 1 else "They hold"
        rows = f" {hold} {known.rows:,} of {known.total:,} rows." if known.determined else ""
        yield f"{measures.sensitive}: {determined_in_words(measures)}{rows}"
    for attribute, certain in attacks.certain.items():
        yield f"{attribute}: {certain_in_words(certain)}"
        if certain.worst is not None:
            yield f"  {worst_in_words(certain.worst)}"
        if certain.shared is not None:
            yield f"  {shared_in_words(certain.shared)}"
    for attribute, reason in attacks.left_out.items():
        yield f"{attribute}: not examined all together; {reason}"
    if attacks.published is not None and not attacks.certain and not attacks.unmeasured:
        yield "What follows for certain of a sensitive attribute: not examined, since no table shows one."


def _guessing_lines(attacked: "Attacked") -> Iterator[str]:
    """What readers guess who use the model, and who learn across classes."""
    measures, guessing = attacked.measures, attacked.guessing
    skewed_class = ", ".join(f"{attribute}={label}" for attribute, label in measures.skewed_class.items())
    yield f"Readers who use the model, of {measures.sensitive}, in the class {skewed_class or 'of all'}:"
    yield f"  {skewness_in_words(measures)}"
    yield f"Readers who learn across classes, of {measures.sensitive}:"
    if guessing is None:
        yield f"  {expected_in_words(measures)}"
        return
    yield (
        f"  guessed right: {guessing.definetti:.1%} by learning until nothing changes (deFinetti), "
        f"{guessing.naive_bayes:.1%} by one round of naive Bayes, {guessing.maxent:.1%} by the shares of each class, "
        f"{guessing.base_rate:.1%} without the release"
    )
    sure = guessing.confident
    yield (
        f"  of the {guessing.people:,} guesses that each is surest of: {sure['definetti']:.1%} by deFinetti, "
        f"{sure['naive_bayes']:.1%} by one round of naive Bayes, {sure['maxent']:.1%} by the shares of each class"
    )


def expected_in_words(measures: DisclosureMeasures) -> str:
    """How often guesses are right in the model, where the truth is not given, and that this is no limit."""
    expected = measures.expected
    return (
        "one round of naive Bayes, and deFinetti: not examined without the table (--truth CONFIG). If everybody were as the "
        f"maximum-entropy model says, guesses by the shares of each class would be right for {expected.class_shares:.1%}, "
        f"and for {expected.confident:.1%} of the {expected.people:,} surest. That is no limit: in real data readers who "
        "learn across classes can be right more often."
    )


def likely_in_words(likely: "LikelySmall | None") -> str:
    """How often a reader is right who takes the combinations for small that the model does."""
    if likely is None:
        return "not examined; the tables form no junction tree."
    if not likely.tops and likely.unread:
        many = "is too large" if likely.unread == 1 else "are too many or too large"
        return f"not examined; {number_of(likely.unread, 'table')} {many} for the time given."
    if not likely.tops:
        return "not examined; there is no combination of two or three nonsensitive attributes to rank."
    known = all(top.right is not None for top in likely.tops)
    told = " and ".join(f"{_told_of(top)} of the first {top.number:,}" for top in likely.tops)
    less = "".join(
        f" Ranked by {name}, {' and '.join(map(_told_of, tops))} are." for name, tops in likely.beside.items()
    )
    are = "are small" if known else "are small by the model itself (--truth CONFIG counts how many are)"
    unread = f" Not looked at: {number_of(likely.unread, 'table')}." if likely.unread else ""
    what = f"of {number_of(likely.combinations, 'combination')} of two or three attributes that no table shows, {told}"
    return f"{what} {are}, that is, have {few_rows(likely.least).removeprefix('a group of ')}.{less}{unread}"


def _told_of(top: "Top") -> str:
    """The share that is small, by the truth where it is known, else by the model."""
    return f"{top.expected if top.right is None else top.right:.0%}"


def _threshold_line(threshold: "Threshold") -> str:
    claim = f"{threshold.criterion} {threshold.claimed}"
    if threshold.rows_per_person is not None:
        claim += f" {claimed_of(threshold.rows_per_person)}"
    if threshold.is_missed:
        return f"{claim}: the claim is not met"
    if threshold.smallest is None:
        return f"{claim}: the smallest count is not known"
    spare = "binding: met without a row to spare" if threshold.binding else "not binding"
    return f"{claim}: the smallest count is {threshold.smallest:,}; {spare}"


def _composition_lines(composition: "Composition") -> Iterator[str]:
    yield f"Composition, of what bears on {composition.sensitive}:"
    for view in (composition.together, *composition.each):
        cells = view.reconstruction
        releases = "all together" if view is composition.together else view.releases[0]
        skewness = "" if view.skewness is None else f", total variation {view.skewness:.3f}"
        yield (
            f"  {releases}: {cells.determined:,} of {number_of(cells.cells, 'possible cell')} determined "
            f"({cells.share:.1%}), smallest possible class at most {view.smallest:,}{skewness}"
        )
    for name, reason in composition.unknown.items():
        yield f"  {name}: not known; {reason}"


def _minimality_lines(minimality: "Minimality") -> Iterator[str]:
    if minimality.domain is None:
        yield f"Readers who know the algorithm: not examined; {minimality.note}."
        return
    domain = minimality.domain

    @cache
    def shown(attribute: str, level: int) -> str:
        return shown_at(attribute, domain.hierarchy(attribute), level)

    has_truth = minimality.readers_knowing_quasi_identifiers is not None
    if minimality.refusals is not None:
        yield f"{ALGORITHM_KNOWN}:"
        yield from (f"  {line}" for line in refusal_lines(minimality.refusals, shown, has_truth))
    if minimality.readers:
        yield from _step_lines("  Finer values in place of published ones:", minimality.readers, shown)
    if minimality.readers_knowing_quasi_identifiers:
        yield from _step_lines(
            "  The same, for those who know all nonsensitive values:",
            minimality.readers_knowing_quasi_identifiers,
            shown,
        )
    yield from _ladder_lines(minimality.ladders or (), shown)


ALGORITHM_KNOWN = (
    "Readers who know the algorithm, and assume that every table is published that the claims allow and that tells "
    "more than chance would, conclude"
)

_CERTAIN_LISTED = 5
"""Certain counts that are listed at most."""


def refusal_lines(told: "Refusals", in_words: Callable[[str, int], str], has_truth: bool) -> Iterator[str]:
    """What additions tell that a release lacks, the certain first; then what was not examined.

    in_words: says an attribute at a level. has_truth: whether the hierarchies of the table itself were looked at.
    """
    if told.contradict:
        yield "no table explains the release by its claims alone, so something else limited it; that was not examined"
    for cell in told.small[:_CERTAIN_LISTED]:
        yield f"certain, though no table shows it: {_range_in_words(cell)}"
    if len(told.small) > _CERTAIN_LISTED:
        more = number_of(len(told.small) - _CERTAIN_LISTED, "more count")
        yield f"certain in the same way: {more} below {told.least:,}"
    for value in told.values[:_CERTAIN_LISTED]:
        rows = f"{number_of(value.rows, 'row')} at least"
        yield f"certain: everybody with {_cell(value.values)} ({rows}) has {value.sensitive}={value.value}"
    if len(told.values) > _CERTAIN_LISTED:
        more = number_of(len(told.values) - _CERTAIN_LISTED, "more class", "more classes")
        yield f"certain in the same way: the value of {more}"
    if told.tables is not None and told.additions and not told.contradict:
        yield (
            f"{number_of(told.tables, 'table has', 'tables have')} the published counts; in {told.left:,} "
            "of them none of what is missing would have been published"
        )
    for outcome in (Outcome.SOME, Outcome.PROVES, Outcome.OPEN, Outcome.UNEXPLAINED, Outcome.ALWAYS):
        by_reason: dict[str, list[str]] = {}
        for addition in told.of(outcome):
            by_reason.setdefault(_outcome_in_words(addition, told.least), []).append(_missing(addition, in_words))
        for reason, same in by_reason.items():
            yield f"{_first_of(same)}: {reason}"
    by_note: dict[str, list[str]] = {}
    for addition in told.of(Outcome.NOT_EXAMINED):
        by_note.setdefault(addition.note, []).append(_missing(addition, in_words))
    for note, same in by_note.items():
        yield f"not examined: {_first_of(same)}: {note}"
    if told.unnamed:
        yield f"not examined: {listing(told.unnamed)}, of which the release names no values"
    if told.margins_not_examined:
        more = number_of(told.margins_not_examined, "more margin")
        yield f"not examined: what is certain in {more} of what is missing"
    several = "" if told.together else "what several of these refusals prove together, and "
    yield f"not examined: {several}what somebody concludes who runs the search itself on every possible table"
    if not has_truth:
        yield (
            "not examined: levels that the release does not name, finer than any published or between, and attributes that "
            "no table shows; --truth CONFIG examines these, and says what steps tell that are fitted to the table"
        )


_ADDITIONS_LISTED = 8
"""Additions with the same outcome that are named at most; JSON has all."""


def _first_of(additions: Sequence[str]) -> str:
    rest = len(additions) - _ADDITIONS_LISTED
    return "; ".join([*additions[:_ADDITIONS_LISTED], *([f"and {rest:,} more"] if rest > 0 else [])])


def _missing(addition: "Addition", in_words: Callable[[str, int], str]) -> str:
    """What is missing: "age with ill, beside sex"."""
    names = " with ".join(in_words(attribute, level) for attribute, level in addition.added)
    added = dict(addition.added)
    others = listing([in_words(a, level) for a, level in addition.margin.items() if a not in added])
    return f"{names} in one table{f', beside {others}' if others else ''}" if len(added) > 1 else f"{names} by itself"


def _outcome_in_words(addition: "Addition", least: int) -> str:
    """What one addition tells by itself."""
    match addition.outcome:
        case Outcome.PROVES:
            count, classes = len(addition.small), len(addition.values)
            proven = [number_of(count, "small count")] if count else []
            proven += [f"the sensitive value of {number_of(classes, 'class', 'classes')}"] if classes else []
            return f"that it is missing makes {' and '.join(proven)} certain"
        case Outcome.SOME:
            nothing = ", or tell too little" if addition.may_gain_nothing else ""
            if not addition.classes:
                return f"it would show {few_rows(least)}{nothing}"
            whose = f"at least one of {addition.candidate_classes:,} classes (of {addition.classes:,})"
            if addition.candidate_classes == addition.classes:
                whose = (
                    f"at least one of the {addition.classes:,} classes" if addition.classes > 1 else "the only class"
                )
            elif addition.candidate_classes == 1:
                whose = f"one class (of {addition.classes:,})"
            return f"in {whose} it would show {few_rows(least)}{nothing}"
        case Outcome.OPEN:
            return "what is left possible has no small count and no sensitive value in common, as far as this one tells"
        case Outcome.UNEXPLAINED:
            return "no claim can have refused it, so it was left out for another reason"
        case Outcome.ALWAYS if addition.counts_only:
            return f"it would show {few_rows(least)} whatever the data, so that it is missing excludes no table"
        case Outcome.ALWAYS:
            return "refused whatever the data, so by itself it excludes no table"
    return "not examined"


def _range_in_words(cell: "CertainRange") -> str:
    number = f"{cell.lower:,}" if cell.lower == cell.upper else f"{cell.lower:,} to {cell.upper:,}"
    return f"{_cell(cell.values)}: {number} {'row' if cell.upper == 1 else 'rows'}"


def _ladder_lines(told: "Sequence[FittedLevelDisclosure]", in_words: Callable[[str, int], str]) -> Iterator[str]:
    """What the finest published level of each attribute tells whose levels are fitted."""
    finest = {level.attribute: level for level in reversed(told)}
    if finest:
        yield "  Steps that are fitted to the table:"
    for level in reversed(finest.values()):
        groups = "its merged group" if level.merged == 1 else f"each of its {level.merged:,} merged groups"
        published = in_words(level.attribute, level.level)
        yield f"    {published}: {groups} holds a value with fewer than {level.fewer_than:,} rows"


def _step_lines(lead: str, steps: "Sequence[Refinement]", in_words: Callable[[str, int], str]) -> Iterator[str]:
    """The steps that tell something one by one, then the others, those with the same reason on one line."""
    yield lead
    steps_by_reason: dict[str, list[str]] = {}
    for step in steps:
        if step.possible_claims is None or step.is_certain:
            steps_by_reason.setdefault(refusal_in_words(step), []).append(step_in_words(step, in_words))
        else:
            yield f"    {step_in_words(step, in_words)}: {refusal_in_words(step)}"
    for reason, same in steps_by_reason.items():
        yield f"    {'; '.join(same)}: {reason}"


def change_lines(change: "TableChange") -> Iterator[str]:
    """What two tables tell of the change between them."""
    before, after = change.rows
    tables = f"From {change.earlier} ({number_of(before, 'row')}) to {change.later} ({number_of(after, 'row')})"
    yield f"{tables}, who holds both knows:"
    if change.parts:
        yield f"  But {change.parts}."
    for told in change.told:
        yield from _told_lines(told, change.least)
    if change.unclear:
        yield (
            f"  Labels do not tell how the values of {', '.join(map(repr, change.unclear))} overlap; what they stand for "
            "together was compared."
        )
    if change.assumption and any(told.small for told in change.told):
        yield f"  Of a small difference: {change.assumption}."
    yield f"  What these differences do not tell: {change.beyond}."


def _told_lines(told: "ChangedPeople", least: int | None) -> Iterator[str]:
    cells = f"{number_of(told.cells, 'cell')} that both tell"
    if not told.smallest:
        yield f"  No difference in any of {cells}."
        return
    if told.small:
        yield f"  {number_of(told.small, 'difference')} of fewer than {least:,} rows in {cells}, the smallest first:"
    else:
        small = "" if least is None else f" of fewer than {least:,} rows"
        yield f"  No difference{small} in {cells}. The smallest:" if small else f"  Of {cells} the smallest difference:"
    for difference in told.smallest:
        yield f"    {_difference_in_words(difference)}"
    if told.small > len(told.smallest):
        yield f"    and {told.small - len(told.smallest):,} more"
    if told.one_value:
        yield f"  Classes in which one sensitive value alone rose or fell ({told.classes:,}), the smallest first:"
        yield from (f"    {_one_value_in_words(told_value)}" for told_value in told.one_value)
        if told.classes > len(told.one_value):
            yield f"    and {told.classes - len(told.one_value):,} more"


def _difference_in_words(change: "CellDifference") -> str:
    who = f"{_people(change.difference)} {'came' if change.difference > 0 else 'left'}"
    return f"{_cell(change.cell)}: {change.before:,} before, {change.after:,} after: at least {who}"


def _one_value_in_words(rise: "OneValue") -> str:
    who = "came" if rise.difference > 0 else "left"
    return (
        f"{_cell(rise.cell)}: {_people(rise.difference)} more {who} than {'left' if who == 'came' else 'came'} with "
        f"{rise.sensitive}={rise.value}, and of no other value did more"
    )


def _people(rows: int) -> str:
    return number_of(abs(rows), "row")


def _cell(cell: Mapping[str, str]) -> str:
    return ", ".join(f"{column_name(attribute)}={label}" for attribute, label in cell.items()) or "all"


def reidentification_lines(risk: "Reidentification | None", unique: "Uniqueness | None") -> Iterator[str]:
    """What a prosecutor, a marketer and a journalist can do, and which columns make rows unique. No value is named."""
    if risk is not None:
        yield from _risk_lines(risk)
    if unique is not None:
        yield from _unique_lines(unique)


def _risk_lines(risk: "Reidentification") -> Iterator[str]:
    yield "Risk that somebody finds a person's row:"
    yield f"  prosecutor, who knows that the person is in the table: {_in_words(risk.prosecutor)}"
    if risk.journalist is not None:
        about = ", estimated from the sampling fraction" if risk.is_estimated else ""
        yield f"  journalist, who knows the population only{about}: {_in_words(risk.journalist)}"
        unique = f"{'about ' if risk.is_estimated else ''}{risk.population_unique:,.4g}"
        yield f"    unique in the population too: {unique} {'row' if risk.population_unique == 1 else 'rows'}"
    yield f"  marketer, who links all rows at random: right for {100 * risk.marketer:.3g} % of them on average"


def _in_words(risk: "Risk") -> str:
    above = ", ".join(f"{100 * share:.3g} % above {bound}" for bound, share in risk.above.items())
    return f"{risk.highest:.3g} at most, {risk.average:.3g} on average; of the rows {above}"


def _unique_lines(uniqueness: "Uniqueness") -> Iterator[str]:
    yield f"Unique by all quasi-identifiers together: {number_of(uniqueness.records, 'row')}."
    telling = sorted(((share, name) for name, share in uniqueness.columns.items() if share), reverse=True)
    if telling:
        shares = ", ".join(f"{name} {100 * share:.3g} %" for share, name in telling)
        columns = "one column" if uniqueness.most == 1 else f"{uniqueness.most} columns or fewer"
        yield f"  Of those unique by {columns}, how many need this column: {shares}."
