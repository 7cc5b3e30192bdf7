"""An audit in sentences, for the terminal and its page."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from checks.attacks.knowledge import FactKind
from marginals.names import number_of
from models.intervals.linked_tables import LinkedTables
from models.intervals.proofs import Explanation, Term
from models.programs.consistent_tables import UNBOUNDED

if TYPE_CHECKING:
    from marginals.auditing.audits import Audit, AuditedTables

_TERMS = 12
"""Counts that an explanation lists."""

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
"""What a fact of a kind is, several are, and the rest of the words, in the order in which they are listed."""

_LISTED = {kind: 3 if kind is FactKind.EXISTS else 10 for kind in FactKind}
"""Facts of each kind that are listed; of people who exist there are many, and most tell little."""

NO_ALL_CLEAR = (
    "Not all of the tables was understood, so this is no all-clear, and what follows rests on a guess. "
    "Write it down with --init and review it."
)


def cell_name(linked: LinkedTables, cell: int) -> str:
    """The values of a cell, such as "Aurora, under 65"; "everybody" for the count of all."""
    return ", ".join(f"{name} {value}" for name, value in linked.named(cell).items()) or "everybody"


def ends_in_words(ends: tuple[int, int]) -> str:
    """A range of counts.

    >>> ends_in_words((3, 3)), ends_in_words((1, 4)), ends_in_words((2, 2**60)), ends_in_words((0, 2**60))
    ('3', '1 to 4', '2 or more', 'unknown')
    """
    low, high = ends
    if high >= UNBOUNDED:
        return f"{low:,} or more" if low else "unknown"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def because_sentence(linked: LinkedTables, explanation: Explanation, bound: int, how: str) -> str:
    """Why a count has a bound. how: words before it."""
    if not explanation.terms:
        return f"{how}{bound:,}, as all tables together leave it"
    terms = sorted(explanation.terms, key=lambda term: (term.times < 0, -abs(term.times), term.cell))
    used = [term for term in terms if term.is_published or (term.lower, term.upper) != (0, UNBOUNDED)]
    words = " ".join(_term(linked, term, is_first=not n) for n, term in enumerate(used[:_TERMS]))
    words += f" and {len(used) - _TERMS} more counts" if len(used) > _TERMS else ""
    words += ", as no count is below 0" if len(used) < len(terms) else ""
    whole = "" if explanation.is_whole else ", since counts are whole numbers and by more sums than these"
    return f"{how}{bound:,}{whole}: {words}"


def _term(linked: LinkedTables, term: Term, *, is_first: bool) -> str:
    sign = "minus" if term.times < 0 else "" if is_first else "plus"
    many = "" if abs(term.times) == 1 else f"{abs(term.times)} times "
    worked_out = "" if term.is_published else ", worked out"
    ends = ends_in_words((term.lower, term.upper))
    return f"{sign} {many}{cell_name(linked, term.cell)} ({ends}{worked_out})".strip()


def not_listed(name: str, unlisted: int) -> str:
    """That nothing is known of what a table does not list."""
    return (
        f"{name} does not list {number_of(unlisted, 'combination')} of its values, taken for unknown. If nobody has one of "
        "these, more may follow: write complete = true into its section of the spec."
    )


def audit_lines(audit: "Audit") -> Iterator[str]:
    """Contradictions or facts of all tables, and what is undecided."""
    if audit.spec.doubts:
        yield NO_ALL_CLEAR
    for part in audit.parts:
        linked = part.linked
        tables = ", ".join(linked.names[: linked.table_count])
        of_whom = "" if len(audit.parts) == 1 else f" (people: {part.people})"
        yield f"{tables}{of_whom}: {number_of(len(linked), 'count')}, {int(part.is_printed.sum()):,} of them printed"
        if part.bounds is None:
            yield from contradiction_lines(part)
            continue
        for kind in KINDS:
            yield from _fact_lines(part, kind, [n for n, fact in enumerate(part.facts) if fact.kind is kind])
        yield from undecided_lines(part)
    if audit.ok:
        yield from _nothing_certain(audit)
    if printed := sum(map(audit.printed_small, audit.parts)):
        yield f"The tables themselves print {number_of(printed, 'count')} from 1 to {audit.spec.small:,}."
    yield from (each.sentence for each in audit.not_examined)


def _fact_lines(part: "AuditedTables", kind: FactKind, numbers: Sequence[int]) -> Iterator[str]:
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


def _nothing_certain(audit: "Audit") -> Iterator[str]:
    spec = audit.spec
    yield (
        "Of the counts examined, no suppressed or rounded one can be computed, and none that no table prints is certainly "
        f"from 1 to {spec.small:,}."
    )
    if spec.protection:
        yield f"No suppressed or rounded count is left a range of less than {spec.protection:,}."
    if spec.sensitive:
        yield f"No group examined certainly has one value only of {' or of '.join(spec.sensitive)}."


def undecided_lines(part: "AuditedTables") -> Iterator[str]:
    """How many counts are undecided, and why."""
    if late := part.undecided - part.uncovered:
        yield f"Undecided in time: {number_of(late, 'count')}; more may follow from the tables. Give --seconds more."
    if part.uncovered:
        yield (
            f"Undecided: {number_of(part.uncovered, 'count')} of attributes that are linked by more of them than "
            "joint tables have; what is said of them is true, and more may follow. Audit fewer tables at once."
        )


def contradiction_lines(part: "AuditedTables") -> Iterator[str]:
    """Which tables contradict each other."""
    yield "The tables contradict each other as they are read here, so nothing follows from them."
    for disagreement in part.disagreements:
        one, other = (part.linked.names[table] for table in disagreement.tables)
        whose = cell_name(part.linked, disagreement.cell)
        first, second = map(ends_in_words, disagreement.ranges)
        if disagreement.tables[0] == disagreement.tables[1]:
            said = f"{one} contradicts itself on {whose}: {first}, but its parts add up to {second}"
        else:
            said = f"{one} and {other} disagree on {whose}: {first} and {second}"
        yield f"  {said}; a gap of {disagreement.gap:,}"
    if part.together is not None:
        names = ", ".join(part.linked.names[table] for table in part.together.tables)
        change = f"{part.together.correction:,.4g}"
        yield f"  Not two of them, but these together: {names}. Their counts must be changed by {change} in all, at least."
    elif not part.disagreements:
        yield "  No two of them do; only several together. Check rounding, markers and totals in the spec."
