"""Claims, findings and rules in words: what is claimed, what was found, and the class that decided it."""

from collections.abc import Collection as AnyCollection
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from checks.claims import (
    BY_THE_PUBLISHER,
    VERIFIED,
    AttributeClaim,
    Claim,
    CountClaim,
    KCombinatorial,
    MaxentDiversity,
    MinCell,
    NoSmallCellCertain,
    NoSmallCertain,
    Register,
    listing,
)
from checks.diversity.registry import stated_diversity
from checks.finding import Algorithm, Finding, Verdict, WorstClass
from marginals.criteria import criterion_clause, criterion_reached
from marginals.named_rules import AppliedRule, rule_names
from marginals.names import column_name, number_of
from marginals.results import plain
from marginals.say.sentences import HOLDS, LOOK, WARNING, Sentence
from marginals.tables.attribute import Codebook
from models.graphs.junction_tree import Crossing

if TYPE_CHECKING:
    from checks.maxent.surest import HarmfulValues, Surest
    from marginals.bundle.content import Verification

UNTOLD = Codebook()  # of a release that says of no label what it means
# The condition of claims about what tables together tell (design 4.24), and these claims.
CONDITION = "This holds for readers who know no impossible combination of values, or only those that the release lists."

CONDITIONAL = tuple(kind.criterion for kind in (KCombinatorial, MinCell, NoSmallCertain, NoSmallCellCertain))
_MOST_NAMED = 3  # sensitive attributes of a sentence


def together(sensitive: Sequence[str], noun: str = "sensitive attributes") -> str:
    """Return sensitive attributes in a sentence: by name while they are few."""
    return listing(sensitive) if len(sensitive) <= _MOST_NAMED else f"all {len(sensitive)} {noun}"


def counts_below(least: int) -> str:
    """Return the counts below one that is demanded, 0 left out, as they stand behind "is". least: at least 2."""
    return {2: "1", 3: "1 or 2"}.get(least, f"from 1 to {least - 1:,}")


def few_rows(least: int) -> str:
    """Return the sizes of a group that is too small."""
    return f"{counts_below(max(least, 2)).removeprefix('from ')} {'row' if least <= 2 else 'rows'}"


_NOT_CERTAIN = (
    "No combination of {values} that is looked at is proven by the tables together to have only {few}. If the tables have a "
    "junction tree, all combinations are looked at. Else those of up to three values at any published level, also with any "
    "other value in place of one, and of all attributes at the finest published levels; others only if at most ten "
    "attributes are published. A model can still say that one is likely to, and be right.{people} {condition}"
)
# Meanings of claims of least counts, by criterion.
_COUNTED = {
    "min-cell": "No published count{whose} is {below}{counted}, and no such count can be worked out from the tables by "
    "differences or otherwise: each combination of values that they together leave possible could be shared by at least "
    "{least}.{people} {condition}",
    "min-published-cell": "No published count{whose} is {below}{counted}. Whether such a count can be worked out from "
    "several tables is not said.{people}",
    "no-small-certain": _NOT_CERTAIN,
    "no-small-cell-certain": _NOT_CERTAIN,
    "k-combinatorial": "Every combination of nonsensitive values that the tables together leave possible could be shared by "
    "at least {least}. So nobody can prove from the tables alone that a combination has only {few}. It does not mean that "
    "{least} have it.{people} {condition}",
    "k-link": "Each class of a published table{aside} has at least {least}.{people}",
}


def claim_term(criterion: str, parameters: Mapping[str, Any]) -> str:
    """Return a claim in short: `k-link k = 5, of people`."""
    rows = parameters.get("rows_per_person")
    of_whom = "" if rows is None else ", of people" if rows == 1 else f", of people with at most {rows} rows each"
    values = ", ".join(f"{name} = {value}" for name, value in parameters.items() if name != "rows_per_person")
    return f"{criterion} {values}".rstrip() + of_whom


def claim_meaning(claim: Claim, sensitive: Sequence[str] = ()) -> str:
    """Return what a claim says of a release with these sensitive attributes, as a sentence."""
    return _meaning_of_counts(claim, sensitive) if isinstance(claim, CountClaim) else _meaning_for_readers(claim)


def _meaning_for_readers(claim: Claim) -> str:
    assert isinstance(claim, AttributeClaim)
    people = claim.rows_per_person
    of = MaxentDiversity(claim.diversity, claim.sensitive, claim.level, rows_per_person=people)
    clause = criterion_clause(of.class_diversity or of.diversity)
    if isinstance(claim, Register):
        sentence = (
            "Somebody who knows all nonsensitive values of everybody still has for each person the shares of that person's "
            f"class, unless they assume how {claim.about} varies within classes or reason from why these tables were "
            f"chosen. In these shares, {clause}."
        )
        if claim.basis == VERIFIED:
            return sentence
        return f"{sentence} A class is that of all tables with {claim.about} together. {BY_THE_PUBLISHER.capitalize()}."
    sentence = (
        f"For a reader who combines all tables by maximum entropy: given any published values of a person, {clause}."
    )
    if people in (None, 1):
        return sentence
    return (
        f"{sentence} A person has at most {people:,} rows; the claim is about any one of them. A person known to be in two "
        "classes, with a value that is the same in all rows, can be exposed by both."
    )


def _meaning_of_counts(claim: CountClaim, sensitive: Sequence[str]) -> str:
    if claim.k == 1:
        return "Nothing is demanded: any count is at least 1 row."
    below, most = counts_below(claim.k), claim.rows_per_person
    one, many = ("row", "rows") if most is None else ("person", "people")
    counted = f", {together(sensitive)} counted like the others" if sensitive else ""
    values = f"values{counted}{',' * bool(counted)}" if claim.is_about_cells else "nonsensitive values"
    several = "" if most in (None, 1) else f" A person has at most {most:,} rows, so as many rows are needed for each."
    return _COUNTED[claim.criterion].format(
        least=number_of(claim.k, one, many),
        few=f"{below.removeprefix('from ')} {one if claim.k == 2 else many}",
        below=below,
        counted=counted,
        values=values,
        whose="" if most is None else " of people",
        aside=f" ({together(sensitive)} set aside)" if sensitive else "",
        people=several,
        condition=CONDITION,
    )


# How sure a reader can be of each harmful value.


def harm_tables(harmful: Mapping[str, "HarmfulValues"], words: Codebook = UNTOLD) -> list[dict[str, Any]]:
    """Return a table for each sensitive attribute: rows of values, shares, group and bound in words; what is harmless."""
    tables = list[dict[str, Any]]()
    for sensitive, of in harmful.items():
        harmless = "every value counts as harmful, so all together have no bound"
        if of.harmless:
            harmless = f"counted as harmless: {', '.join([words.word(sensitive, label) for label in of.harmless])}"
        rows = [_harm_row(words.word(sensitive, name), surest, words) for name, surest in of.by_name.items()]
        tables.append({"sensitive": sensitive, "rows": rows, "harmless": harmless})
    return tables


def _harm_row(values: str, surest: "Surest", words: Codebook) -> dict[str, str]:
    shares = (surest.overall, surest.largest, surest.bound)
    overall, largest, bound = ("" if share is None else f"{100 * share:.4g} percent" for share in shares)
    cell = {name: words.word(name, label) for name, label in surest.cell.items()}
    group = _plain(cell) if largest else "not examined"
    return {"values": values, "overall": overall, "largest": largest, "bound": bound or "none", "group": group}


def harm_sentences(harmful: Mapping[str, "HarmfulValues"], words: Codebook = UNTOLD) -> Iterator[Sentence]:
    """Yield how sure a reader can be of each sensitive attribute."""
    for table in harm_tables(harmful, words):
        lines = [
            f"{row['values']}: {row['largest']} ({row['group']}); everybody: {row['overall']}; bound: {row['bound']}"
            for row in table["rows"]
        ]
        about = f"How sure a reader of all tables can be of each harmful value of {table['sensitive']}:"
        yield Sentence(LOOK, about, (*lines, table["harmless"]))


# Claims of a page: each with its verdict and the class that comes nearest to breaking it.


def claim_words(claim: Claim, finding: Finding, sensitive: Sequence[str]) -> dict[str, Any]:
    """Return a claim for a page: its sentence, what it means, and its worst class."""
    meaning = claim_meaning(claim, sensitive)
    if Algorithm.NOT_PUBLISHED in finding.algorithms:
        meaning = (
            f"No table shows {claim.about or 'it'}, so nobody learns anything about it here, whatever is demanded."
        )
    how = f"Decided {', then '.join(algorithm.sentence for algorithm in finding.algorithms)}"
    return {
        "sentence": _sentence_on(finding, ()),
        "meaning": meaning,
        "verdict": finding.verdict.value,
        "worst": _worst(finding),
        "how": "Not decided by these tables"
        if finding.verdict is Verdict.ATTESTED
        else "; ".join(filter(None, [how, finding.note])),
    }


def _slack(finding: Finding) -> float:
    slack = finding.worst_class.slack
    return inf if slack is None else slack


def rule_words(rule: AppliedRule, sensitive: Sequence[str]) -> dict[str, Any]:
    """Return a rule for a page: its demands with the claims that each was checked as."""
    checked = [(demand.says, zip(demand.claims, demand.findings or ())) for demand in rule.demands]
    demands = [{"says": says, "claims": [claim_words(*pair, sensitive) for pair in pairs]} for says, pairs in checked]
    return {
        "name": rule.name,
        "title": rule.title,
        "source": rule.source,
        "verdict": rule.verdict.value,
        "said": _rule_said(rule),
        "demands": demands,
        "unchecked": rule.unchecked,
    }


def _rule_said(rule: AppliedRule) -> str:
    if rule.verdict is Verdict.HOLDS and (rule.unchecked or rule.name not in rule_names()):
        return "all that was checked holds"
    return rule.verdict.value


# Sentences on a verification, for the terminal, the window and programs.

# Meanings of the verdicts, by criterion.
MEANINGS = {
    "integrity": "The files are as they were written",
    "report": "The report is the page that the other files give",
    "k-link": "Each class of a published table, sensitive columns aside, is as large as claimed",
    "k-combinatorial": "Nobody can prove by the tables alone that rows alike in nonsensitive columns are fewer than claimed",
    "min-cell": "No count smaller than claimed is published, and none can be worked out",
    "min-published-cell": "No count smaller than claimed is published",
    "no-small-certain": "No combination of nonsensitive values is certain to be smaller than claimed",
    "no-small-cell-certain": "No combination of values, sensitive ones included, is certain to be smaller than claimed",
    "maxent-diversity": "Readers who combine all tables by maximum entropy are no surer of {} than claimed",
    "register": "Readers with a register of all nonsensitive values are no surer of {} than claimed",
    "difference": "Two releases tell of no smaller change than claimed",
    "composition": "What the releases tell together was judged",
}


def verification_sentences(verification: "Verification", *, is_asked: bool = False) -> Iterator[Sentence]:
    """Yield the findings, the rules, what is left open of sensitive attributes, and the warnings.

    is_asked: true if somebody asked for these claims, which then say nothing of what the release claims.
    """
    harmful = verification.published.harmful if verification.published and not is_asked else {}
    words = verification.published.codebook if verification.published else UNTOLD
    yield from finding_sentences(words.worded(verification.checks), harmful)
    yield from harm_sentences(harmful, words)
    yield from rule_sentences(words.worded(verification.rules))
    lines = filter(None, [smallest_line(verification)]) if is_asked else sensitive_lines(verification)
    yield from (Sentence(LOOK, line) for line in lines)
    warnings = (*verification.warnings, *map(crossing_line, verification.crossing))
    yield from (Sentence(WARNING, warning) for warning in warnings)


def crossing_line(crossing: Crossing) -> str:
    """Return what readers can do with two tables at crossing levels."""
    first, second = map(column_name, crossing[:2])
    (a, b), (c, d) = ([margin[name] for name in crossing[:2]] for margin in crossing[2:])
    return (
        f"One table shows {first} at level {a} with {second} at level {b}, another one at levels {c} and {d}: these cross. "
        "Readers who know impossible combinations of their values can subtract one from the other."
    )


def finding_sentences(findings: Sequence[Finding], harmful: AnyCollection[str] = (), apart: int = 2) -> list[Sentence]:
    """Return a sentence for each finding, the attested last; of a criterion that many attributes keep there is one.

    harmful: attributes of which `harm_sentences` name the closest case. apart: most findings with a sentence each; with one,
    findings that differ only by their notes share a sentence, too.
    """
    groups: dict[Hashable, list[Finding]] = {}
    for number, finding in enumerate(findings):
        likeness = _likeness(finding)
        groups.setdefault((likeness, finding.note * (apart > 1)) if likeness else number, []).append(finding)
    sentences = list[Sentence]()
    for group in groups.values():
        joint = len(group) > apart
        sentences += [_joint_sentence(group, harmful)] if joint else [_sentence_on(one, harmful) for one in group]
    return sorted(sentences, key=lambda sentence: sentence.mark == Verdict.ATTESTED.value)


_BY_ATTRIBUTE = ("diversity", "sensitive")
_KEPT = (Verdict.HOLDS, Verdict.ATTESTED)


def _likeness(finding: Finding) -> Hashable:
    parameters = {name: value for name, value in finding.parameters.items() if name not in _BY_ATTRIBUTE}
    if finding.verdict not in _KEPT or len(parameters) + 2 != len(finding.parameters):
        return None
    return (finding.criterion, finding.verdict, *map(str, parameters.items()))


def _sentence_on(finding: Finding, harmful: AnyCollection[str]) -> Sentence:
    condition = CONDITION if finding.criterion in CONDITIONAL and finding.verdict in _KEPT else ""
    detail = [finding.note, _worst(finding, harmful), condition]
    return _sentence(finding, claim_term(finding.criterion, finding.parameters), finding.sensitive, detail)


def _joint_sentence(findings: Sequence[Finding], harmful: AnyCollection[str]) -> Sentence:
    attributes: dict[str, list[str]] = {}
    for finding in findings:
        attributes.setdefault(str(finding.parameters["diversity"]), []).append(str(finding.parameters["sensitive"]))
    weakest = min(findings, key=_slack)
    detail = [f"{diversity}: {', '.join(names)}" for diversity, names in attributes.items()] + [weakest.note]
    if _slack(weakest) < inf and (worst := _worst(weakest, harmful)):
        detail.append(f"of {weakest.parameters['sensitive']}, {worst}")
    about = {str(finding.parameters["sensitive"]) for finding in findings}
    several = listing(sorted(about)) if len(about) <= 2 else f"{len(about)} sensitive attributes"
    return _sentence(weakest, f"{weakest.criterion} of {several}", several, detail)


def _sentence(finding: Finding, term: str, about: str, detail: Sequence[str]) -> Sentence:
    meaning = MEANINGS.get(finding.criterion, finding.criterion).format(about)
    return Sentence(finding.verdict.value, f"{meaning}.", tuple(filter(None, detail)), term=term)


def _worst(finding: Finding, harmful: AnyCollection[str] = ()) -> str:
    worst, lead = finding.worst, "closest case" if finding.holds else "worst case"
    if worst is None or finding.sensitive in harmful:
        return ""
    if isinstance(worst, WorstClass):
        cell = "" if worst.cell is None else _plain(worst.cell)
        facts = ": ".join(filter(None, [cell, _reached(worst, finding.parameters)]))
    else:
        facts = "; ".join(f"{key} {_plain(value)}" for key, value in plain(worst).items() if key != "margin")
    return f"{lead}: {facts}" if facts else ""


def _reached(worst: WorstClass, demand: Mapping[str, Any]) -> str:
    counts, most = worst.count_between if worst.count is None else (worst.count,), demand.get("rows_per_person")
    unit = ("person", "people") if most == 1 else ("row", "rows")
    number = f"{f'{counts[0]:,} to ' if len(counts) > 1 else ''}{number_of(counts[-1], *unit)}" if counts else ""
    if "k" in demand:
        of_a_person = "" if most in (None, 1) else f" for {demand['k']:,} people"
        return number and f"{number} (limit: at least {demand['k'] * (most or 1):,}{of_a_person})"
    if worst.reached is None or not isfinite(worst.reached):
        return number
    whose = f"{together(worst.values, 'values')}: " if worst.values else ""
    return f"{whose}{criterion_reached(stated_diversity(demand['diversity']), worst.reached)}"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{column_name(key)}={entry}" for key, entry in value.items()) or "all rows"
    if isinstance(value, list) and all(isinstance(label, str) for label in value):
        return together(value, "values")
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def rule_sentences(rules: Iterable[AppliedRule]) -> Iterator[Sentence]:
    """Yield each rule, with the verdict on each of its demands and what nobody checked."""
    for rule in rules:
        release, verdict = f" on {rule.release}" if rule.release else "", _rule_said(rule)
        demands = (f"{d.verdict.value}: {d.says} [{'; '.join(map(str, d.findings or ()))}]" for d in rule.demands)
        yield Sentence(
            LOOK if rule.verdict is Verdict.HOLDS and verdict != HOLDS else rule.verdict.value,
            f"Rule {rule.name}{release}, {verdict}: {rule.title} ({rule.source})",
            (*demands, *(f"not checked: {text}" for text in rule.unchecked)),
        )


def sensitive_lines(verification: "Verification") -> Iterator[str]:
    """Yield what a release leaves open of the sensitive attributes that it shows: diversity, and how small counts are."""
    smallest = verification.smallest_sensitive
    if not smallest:
        return
    diverse = {finding.parameters.get("sensitive") for finding in verification.checks}
    if bare := [name for name in smallest if name not in diverse]:
        yield (
            f"Nothing is demanded of how varied {' and '.join(bare)} {'is' if len(bare) == 1 else 'are'} among people who "
            "agree in other published columns. If it is the same for all of them, whoever knows that somebody is one of "
            "them then knows it."
        )
    held = {finding.criterion: finding.holds for finding in verification.checks}
    least = min(smallest.values())
    if (held.get("min-cell") or held.get("min-published-cell")) and least > 1:
        yield smallest_line(verification)
        return
    names = " and ".join(smallest)
    aside = [criterion for criterion in ("k-link", "k-combinatorial") if criterion in held]
    set_aside = f"{' and '.join(aside)} {'set' if len(aside) > 1 else 'sets'} {names} aside: counts that include "
    them = "it" if len(smallest) == 1 else "them"
    yield (
        f"{set_aside + them if aside else f'Counts that include {names}'} are as small as {least:,}. `min_cell = m` forbids "
        "counts from 1 to m - 1, published or derivable from the tables."
    )


def smallest_line(verification: "Verification") -> str:
    """Return the smallest count with a sensitive value; empty where no table shows one."""
    smallest = verification.smallest_sensitive
    return f"The smallest count with a sensitive value is {min(smallest.values()):,}." if smallest else ""
