"""What follows from published tables, in lines for a terminal."""

from collections.abc import Iterator

from checks.audits.certain_facts import FactKind
from marginals.auditing.audited import AuditedTables
from marginals.auditing.auditing import Audit
from marginals.auditing.in_words import because, cell_name, ends_in_words

KINDS = {
    FactKind.RECOVERED: "suppressed or rounded counts that can be computed",
    FactKind.SMALL: "small counts that are certain",
    FactKind.SENSITIVE: "groups of which everybody has one sensitive value",
    FactKind.NARROW: "suppressed counts with a range narrower than the protection",
    FactKind.EXISTS: "combinations that certainly have people, not shown by any table or suppressed",
}
"""What facts of a kind are together, in the order in which they are listed."""

_LISTED = 10
"""Facts of each kind that are listed."""

_EXISTING = 3
"""Combinations that certainly have people of which so many are listed: there are many, and most tell little."""


def audit_lines(audit: Audit) -> Iterator[str]:
    """Contradictions or facts of all tables, and what is not decided."""
    for part in audit.parts:
        linked = part.linked
        tables = ", ".join(linked.names[: linked.table_count])
        of_whom = "" if len(audit.parts) == 1 else f" (people: {part.people})"
        yield f"{tables}{of_whom}: {len(linked):,} counts, of which {int(linked.is_published.sum()):,} are published"
        if part.bounds is None:
            yield from contradiction_lines(part)
            continue
        yield from _facts(part)
        yield from undecided_lines(part)
        for names in linked.left_out:
            yield f"Not looked at, for too many cells: the joint table of {', '.join(names)}"
    if audit.ok:
        yield "No suppressed or small count and no sensitive value is certain."


def undecided_lines(part: AuditedTables) -> Iterator[str]:
    """How many counts are not decided, and why."""
    if late := part.undecided - part.uncovered:
        yield f"Not decided in time: {late:,} counts; more may follow from the tables. Give --seconds more."
    if part.uncovered:
        yield (
            f"Not decided: {part.uncovered:,} counts of attributes that are linked by more of them than joint tables have; "
            "what is said of them is true, and more may follow. Audit fewer tables at once."
        )


def contradiction_lines(part: AuditedTables) -> Iterator[str]:
    """Which tables contradict each other."""
    yield "The tables contradict each other, so nothing follows from them."
    for each in part.disagreements:
        one, other = (part.linked.names[table] for table in each.tables)
        whose = cell_name(part.linked, each.cell)
        first, second = map(ends_in_words, each.ranges)
        if each.tables[0] == each.tables[1]:
            yield f"  {one} contradicts itself on {whose}: {first}, but its parts add up to {second}; a gap of {each.gap:,}"
        else:
            yield f"  {one} and {other} disagree on {whose}: {first} and {second}; a gap of {each.gap:,}"
    if part.together is not None:
        names = ", ".join(part.linked.names[table] for table in part.together.tables)
        change = f"{part.together.correction:,.4g}"
        yield f"  Not two of them, but these together: {names}. Their counts must be changed by {change} in all, at least."
    elif not part.disagreements:
        yield "  No two of them do; only several together. Check rounding, markers and totals in the spec."


def _facts(part: AuditedTables) -> Iterator[str]:
    for kind, words in KINDS.items():
        numbers = [number for number, fact in enumerate(part.facts) if fact.kind is kind]
        if not numbers:
            continue
        yield f"{len(numbers):,} {words}:"
        listed = _EXISTING if kind is FactKind.EXISTS else _LISTED
        for number in numbers[:listed]:
            yield fact_line(part, number)
            for reason in because(part, number):
                yield f"      {reason}"
        if len(numbers) > listed:
            yield f"  and {len(numbers) - listed:,} more (--json and --report list all)"


def fact_line(part: AuditedTables, number: int) -> str:
    """A fact: whose count, what was published of it, and what is certain."""
    fact = part.facts[number]
    before = f"published as {ends_in_words(fact.published)}" if fact.is_published else "not published"
    return f"  {cell_name(part.linked, fact.cell)}: {ends_in_words(fact.proven)} ({before})"
