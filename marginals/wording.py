"""Findings, claims, rules and attacks in sentences, for people who decide about a release."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from checks.attacks.knowledge import CertainCell, CertainCells, Reconstruction
from checks.attacks.minimality import Refinement
from checks.claims import Claim, meaning_beside
from checks.finding import Algorithm, Finding, Verdict
from marginals.attacks import DisclosureMeasures, Threshold
from marginals.estimates import assumption, listed
from marginals.named_rules import JudgedDemand, JudgedRule
from marginals.names import margin_in_words
from marginals.tables.people import ANY, RowsPerPerson
from models.graphs.basis import Basis, Kind
from models.tables.hierarchy import Domain

if TYPE_CHECKING:
    from marginals.tables.table import Table


def rows_in_words(rows: int, rows_per_person: RowsPerPerson) -> str:
    """So many rows, or people where each has one row.

    >>> rows_in_words(1, None), rows_in_words(4800, 1), rows_in_words(48, 3)
    ('1 row', '4,800 people', '48 rows (at most 3 of a person)')
    """
    if rows_per_person == 1:
        return f"{rows:,} {'person' if rows == 1 else 'people'}"
    of_a_person = f" (at most {rows_per_person:,} of a person)" if isinstance(rows_per_person, int) else ""
    return f"{rows:,} {'row' if rows == 1 else 'rows'}{of_a_person}"


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
    yield f"Of {table.part.whole.rows} rows {table.rows} are in the part {table.part.where.text}."
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


def left_out_lines(table: "Table") -> Iterator[str]:
    """What was left out of people who have more rows than count, and of whom the release will speak."""
    if table.left_out:
        count = "one row of each person counts" if table.rows_per_person == 1 else "more of a person do not count"
        yield f"Left out {table.left_out} more rows, since {count}."
    if sentence := unit_in_words(table.rows_per_person):
        yield sentence


_VERDICTS = {
    Verdict.HOLDS: ("holds", "Nearest to failing"),
    Verdict.FAILS: ("does not hold", "Worst"),
    Verdict.UNDECIDED: ("could not be decided", "Worst found"),
}


@dataclass(frozen=True)
class ClaimInWords:
    """One claim for a reader.

    verdict: "holds", "fails" or "undecided"; said: the same in words. cell: labels of the worst class by attribute,
    empty where all rows are meant, None where there is none. distribution: shares of the sensitive values in it. odds: what
    somebody may know besides while it still holds, as a sentence; empty where nothing is proven.
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
    odds: str = ""


def in_words(claim: Claim, finding: Finding, sensitive: Sequence[str]) -> ClaimInWords:
    """A claim, its meaning, and the class that comes nearest to breaking it."""
    worst = finding.worst_class
    said, lead = _VERDICTS[finding.verdict]
    return ClaimInWords(
        claim.title(),
        _unpublished(claim) if Algorithm.NOT_PUBLISHED in finding.algorithms else meaning_beside(claim, sensitive),
        finding.verdict.value,
        said,
        lead,
        worst.cell,
        claim.reached_in_words(worst),
        worst.distribution or {},
        claim.about or "",
        _how(finding),
        "" if finding.odds is None else odds_in_words(finding.odds),
    )


def _unpublished(claim: Claim) -> str:
    """What a claim says of a release that does not show the attribute it is about, as a sentence."""
    return f"No table shows {claim.about or 'it'}, so nobody learns anything about it here, whatever is demanded."


def odds_in_words(odds: float) -> str:
    """What somebody may know besides while a diversity still holds.

    >>> print(odds_in_words(1.25))
    It bears odds of 1.25: it holds while other knowledge of a person changes the odds of two values at most 1.25-fold
    """
    if not isfinite(odds):
        return (
            "It bears any odds: it holds whatever else somebody knows of a person, as long as that rules no value out"
        )
    if odds == 1:
        return "It bears no odds: other knowledge of a person, however little, can break it"
    more = f"{odds:.4g}"
    return (
        f"It bears odds of {more}: it holds while other knowledge of a person changes the odds of two values "
        f"at most {more}-fold"
    )


def _how(finding: Finding) -> str:
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
    'supported: coarser than asked, a published table shows age in 10-year bands, diagnosis; the model fills in the rest'
    """
    match basis.kind:
        case Kind.PUBLISHED:
            return "published: it follows from published counts"
        case Kind.SUPPORTED:
            tables = shown_in_words(basis, domain)
            return f"supported: coarser than asked, a published table shows {tables}; the model fills in the rest"
        case Kind.ASSUMED:
            return f"assumed: {assumption(basis.assumed)}; that is no finding about the data"


def shown_in_words(basis: Basis, domain: Domain) -> str:
    """The finest tables that show what is asked about, with the names of their levels."""
    shown = [margin_in_words(margin, domain) for margin in basis.shown]
    rest = len(shown) - _LISTED
    return "; or ".join(shown[:_LISTED] + ([f"{rest} more"] if rest > 0 else []))


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


_MANY = 0.05
"""Share of dropped rows from which on they are warned of."""

_NAMED = 5
"""Columns that a line names."""


def dropped_lines(kept: int, dropped: int, dropped_in: Mapping[str, int]) -> Iterator[str]:
    """How many rows were read and dropped, by column, and a warning where they are many.

    >>> list(dropped_lines(7000, 300, {"cause": 200, "age": 110}))
    ['Read 7000 rows, dropped 300 with missing values: 200 lack cause, 110 age.']
    """
    lacking = [f"{rows} {column}" for column, rows in dropped_in.items()]
    if lacking:
        lacking[0] = lacking[0].replace(" ", " lack ", 1)
    others = len(lacking) - _NAMED
    named = [*lacking[:_NAMED], *([f"fewer in {others} other column{'s' if others > 1 else ''}"] if others > 0 else [])]
    yield f"Read {kept} rows, dropped {dropped} with missing values{': ' if named else ''}{', '.join(named)}."
    if warning := dropped_warning(kept, dropped, dropped_in):
        yield f"Warning: {warning}"


def dropped_warning(kept: int, dropped: int, dropped_in: Mapping[str, int]) -> str:
    """What is wrong with a release of the rows that are left, and what to do, where more than a twentieth was dropped."""
    if dropped <= _MANY * (kept + dropped) or not dropped_in:
        return ""
    column = next(iter(dropped_in))
    return (
        f"{100 * dropped / (kept + dropped):.1f} percent of the rows are dropped, and those that are left may be of another "
        f"kind. Most lack {column}: ignore that column, or count its missing values: "
        f'attributes.{column}.missing = "as a value".'
    )


def reconstruction_in_words(known: Reconstruction) -> str:
    """What it means that some cells of the table of all attributes are determined."""
    if not known.determined:
        certain = "No count" if known.sharp else "As far as the bounds tell, no count"
        return (
            f"{certain} of a combination of values of all attributes is certain. Counts of fewer attributes can still be: "
            "marginals attack looks at those of up to three."
        )
    beyond = "" if known.sharp else " More may be, since the bounds are not proven to be the best."
    return (
        f"Somebody who puts the tables together knows these counts without any doubt; they hold {known.rows:,} of "
        f"{known.total:,} rows. A certain count is harmful where it is small or leaves one sensitive value only.{beyond}"
    )


def certain_in_words(certain: CertainCells) -> str:
    """How many cells are certain."""
    least = "" if certain.is_complete else "at least "
    sentence = (
        f"in the tables of up to {certain.attributes} attributes with it that readers can work out, {least}"
        f"{certain.determined:,} counts are determined exactly, {least}{certain.small:,} of them below the largest k "
        f"claimed; {least}{certain.exists:,} cells have a row for certain"
    )
    if certain.is_complete:
        return sentence
    return f"{sentence}; {certain.undecided:,} cells and {certain.unread:,} tables were not decided in the time given"


def worst_in_words(cell: CertainCell) -> str:
    """The smallest count that is determined."""
    values = ", ".join(f"{attribute}={label}" for attribute, label in cell.values.items())
    return f"the smallest of these counts: {values}: exactly {cell.rows:,} {'row' if cell.rows == 1 else 'rows'}"


def skewness_in_words(measures: DisclosureMeasures) -> str:
    """What the distance of a class from everybody means."""
    return (
        f"Knowing that somebody is in this class changes the probability of any set of values of {measures.sensitive} by "
        f"at most {100 * measures.skewness:.1f} percentage points from what is true of everybody; "
        "in every other class it changes by no more."
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
        f"Met with {spare:,} {'row' if spare == 1 else 'rows'} to spare. A finer table can still have missed it, if it "
        "splits some class unevenly."
    )


def step_in_words(step: Refinement, shown: Callable[[str, int], str]) -> str:
    """The step that was refused: `age in 10-year bands in place of age in 20-year bands, beside sex`.

    shown: an attribute at a level, in words.
    """
    published = shown(step.attribute, step.margin[step.attribute])
    others = ", ".join(shown(name, level) for name, level in step.margin.items() if name != step.attribute)
    return f"{shown(step.attribute, step.finer)} in place of {published}{f', beside {others}' if others else ''}"


def refusal_in_words(step: Refinement) -> str:
    """What somebody concludes who knows that a step was refused."""
    if step.suspects is None:
        return f"nothing can be inferred; {step.note}"
    if not step.suspects:
        return "no claim can have refused it, so it was left out for another reason"
    if step.is_certain:
        return "refused whatever the data, so the refusal reveals nothing"
    whose = "one class" if step.culprits == 1 else f"{step.culprits} of {step.classes} classes"
    if step.culprits == step.classes:
        whose = "the only class" if step.classes == 1 else f"any of the {step.classes} classes"
    reasons = " or ".join(suspect.claim.reason() for suspect in step.suspects)
    sentence = f"a part of {whose} has {reasons}"
    if step.culprit is not None and step.culprits != step.classes:
        sentence += f" ({', '.join(f'{a}={label}' for a, label in step.culprit.items())})"
    if step.publishable is not None:
        expected = 1 - step.publishable
        change = f"{step.publishable:.3g}" if step.publishable >= _TINY else f"{_TINY:g}"
        sentence += (
            f"; by maximum entropy its probability was {expected:.3g}, so no belief changes by more than {change}"
        )
    if step.shift is not None:
        cell = ", ".join(f"{a}={label}" for a, label in step.shift.cell.items())
        sentence += f"; most in {cell}: {step.shift.value} from {step.shift.before:.3g} to {step.shift.after:.3g}"
    return sentence + (f"; {step.note}" if step.note else "")
