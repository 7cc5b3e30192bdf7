"""Audit in sentences, for the terminal and its page."""

from collections.abc import Iterator, Sequence

from checks.attacks.knowledge import FactKind
from marginals.auditing.audits import Audit, AuditedTables, cell_name, ends_in_words
from marginals.auditing.spec import REVEALED
from marginals.names import number_of

# One fact, several facts, and the rest of the sentence, in the order of the list.
KINDS = {
    FactKind.RECOVERED: ("suppressed or rounded count that", "suppressed or rounded counts that", "can be computed"),
    FactKind.SMALL: ("small count that is", "small counts that are", "certain"),
    FactKind.SENSITIVE: ("group", "groups", "of which everybody has one sensitive value"),
    FactKind.NARROW: ("suppressed count", "suppressed counts", "with a range narrower than the protection"),
    FactKind.EXISTS: (
        "combination that certainly has",
        "combinations that certainly have",
        "people, not shown by any table or suppressed",
    ),
}

_LISTED = {kind: 3 if kind is FactKind.EXISTS else 10 for kind in FactKind}  # many people exist, and most tell little

NO_ALL_CLEAR = (
    "Not all of the tables was understood, so this is no all-clear, and what follows rests on a guess. "
    "Write it down with --init and review it."
)


def audit_lines(audit: Audit) -> Iterator[str]:
    """Contradictions or facts of all tables, and what is undecided."""
    yield from (finding.sentence for finding in audit.spec.doubts if finding.code == REVEALED)
    if any(doubt.code != REVEALED for doubt in audit.spec.doubts):
        yield NO_ALL_CLEAR
    for part in audit.parts:
        linked = part.linked
        tables = ", ".join(linked.names[: linked.table_count])
        of_whom = "" if len(audit.parts) == 1 else f" (people: {part.people})"
        printed, withheld = int(part.is_printed.sum()), int(part.is_withheld.sum())
        yield f"{tables}{of_whom}: {number_of(len(linked), 'count')}, {printed:,} of them printed and {withheld:,} withheld"
        if part.bounds is None:
            yield from contradiction_lines(part)
            continue
        for kind in KINDS:
            yield from _fact_lines(part, kind, [n for n, fact in enumerate(part.facts) if fact.kind is kind])
        yield from undecided_lines(part)
    spec = audit.spec
    if audit.ok:
        yield (
            "Of the counts examined, no suppressed or rounded one can be computed, and none that no table prints is "
            f"certainly from 1 to {spec.small:,}."
        )
    if audit.ok and spec.protection:
        yield f"No suppressed or rounded count is left a range of less than {spec.protection:,}."
    if audit.ok and spec.sensitive:
        yield f"No group examined certainly has one value only of {' or of '.join(spec.sensitive)}."
    if printed := sum(map(audit.printed_small, audit.parts)):
        yield f"The tables themselves print {number_of(printed, 'count')} from 1 to {spec.small:,}."
    yield from (finding.sentence for finding in audit.not_examined if finding.code != REVEALED)


def _fact_lines(part: AuditedTables, kind: FactKind, numbers: Sequence[int]) -> Iterator[str]:
    one, many, rest = KINDS[kind]
    if numbers:
        yield f"{number_of(len(numbers), one, many)} {rest}:"
    for number in numbers[: _LISTED[kind]]:
        fact = part.facts[number]
        before = f"published as {ends_in_words(fact.published)}" if fact.is_published else "not published"
        yield f"  {cell_name(part.linked, fact.cell)}: {ends_in_words(fact.proven)} ({before})"
        yield from (f"      {reason}" for reason in part.because(number))
    if len(numbers) > _LISTED[kind]:
        yield f"  and {len(numbers) - _LISTED[kind]:,} more (--json and --report list all)"


def undecided_lines(part: AuditedTables) -> Iterator[str]:
    """Sentences about the number of undecided counts, and the reason."""
    late, uncovered = part.is_undecided & part.linked.covered, part.is_undecided & ~part.linked.covered
    if late.any():
        in_tables = int((late & part.linked.is_published).sum())
        yield (
            f"Undecided in time: {number_of(in_tables, 'count')} of the tables and {int(late.sum()) - in_tables:,} that no "
            "table prints; more may follow from the tables. Give --seconds more."
        )
    if uncovered.any():
        yield (
            f"Undecided: {number_of(int(uncovered.sum()), 'count')} of attributes that are linked by more of them than "
            "joint tables have; what is said of them is true, and more may follow. Audit fewer tables at once."
        )


def contradiction_lines(part: AuditedTables) -> Iterator[str]:
    """Sentences about the tables that contradict each other."""
    several = part.linked.table_count > 1
    if several:
        what = "The tables contradict each other as they are read here, so nothing was concluded from them together"
        yield f"{what}. Audit each table by itself."
    else:
        yield "The table contradicts itself as it is read here, so nothing was concluded from it."
    for disagreement in part.disagreements:
        one, other = (part.linked.names[table] for table in disagreement.tables)
        whose = cell_name(part.linked, disagreement.cell)
        first, second = map(ends_in_words, disagreement.ranges)
        if disagreement.tables[0] == disagreement.tables[1]:
            sentence = f"{one} contradicts itself on {whose}: {first}, but its parts add up to {second}"
        else:
            sentence = f"{one} and {other} disagree on {whose}: {first} and {second}"
        yield f"  {sentence}; a gap of {disagreement.gap:,}"
    if not part.disagreements:
        yield f"  {'No two of them do; only several together. ' * several}Check rounding, markers and totals in the spec."
