"""What is certain of published tables in words: cells, ranges, and the counts that a bound follows from."""

from collections.abc import Sequence

from marginals.auditing.audited import AuditedTables
from models.intervals.explanations import Explanation, Term
from models.intervals.linked_tables import LinkedTables
from models.programs.equations import UNBOUNDED

_TERMS = 12
"""Counts that an explanation lists."""


def cell_name(linked: LinkedTables, cell: int) -> str:
    """The values of a cell, such as "Aurora, under 65"; "everybody" for the count of all."""
    named = linked.named(cell)
    return ", ".join(f"{name} {value}" for name, value in named.items()) or "everybody"


def ends_in_words(ends: tuple[int, int]) -> str:
    """A range of counts.

    >>> ends_in_words((3, 3)), ends_in_words((1, 4)), ends_in_words((2, 2**60)), ends_in_words((0, 2**60))
    ('3', '1 to 4', '2 or more', 'unknown')
    """
    low, high = ends
    if high >= UNBOUNDED:
        return f"{low:,} or more" if low else "unknown"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def because(part: AuditedTables, fact: int) -> list[str]:
    """Why a fact is certain: a sentence for each of its bounds that has a reason of its own."""
    reasons = part.reasons.get(fact)
    if reasons is None:
        return []
    found = part.facts[fact]
    sentences = []
    if reasons.lower is not None:
        exactly = found.proven[0] == found.proven[1] and reasons.upper is None
        sentences.append(_sentence(part.linked, reasons.lower, found.proven[0], "" if exactly else "at least "))
    if reasons.upper is not None:
        sentences.append(_sentence(part.linked, reasons.upper, found.proven[1], "at most "))
    return sentences


def tables_of(linked: LinkedTables, explanation: Explanation) -> list[str]:
    """The published tables that an explanation takes counts from."""
    cells = {term.cell for term in explanation.terms}
    used = sorted({int(t) for c, t in zip(linked.published.cells, linked.published.tables) if int(c) in cells})
    return [linked.names[table] for table in used]


def _sentence(linked: LinkedTables, explanation: Explanation, bound: int, how: str) -> str:
    if not explanation.terms:
        return f"{how}{bound:,}, as all tables together leave it"
    used = [
        term for term in _ordered(explanation.terms) if term.is_published or (term.lower, term.upper) != (0, UNBOUNDED)
    ]
    rest = ", as no count is below 0" if len(used) < len(explanation.terms) else ""
    parts = [_term(linked, term, first=not n) for n, term in enumerate(used)]
    shown = " ".join(parts[:_TERMS]) + (f" and {len(parts) - _TERMS} more counts" if len(parts) > _TERMS else "") + rest
    if explanation.is_whole:
        return f"{how}{bound:,}: {shown}"
    return f"{how}{bound:,}, since counts are whole numbers and by more sums than these: {shown}"


def _ordered(terms: Sequence[Term]) -> Sequence[Term]:
    return sorted(terms, key=lambda term: (term.times < 0, -abs(term.times), term.cell))


def _term(linked: LinkedTables, term: Term, *, first: bool) -> str:
    sign = "minus" if term.times < 0 else "" if first else "plus"
    size = abs(term.times)
    many = "" if size == 1 else f"{size} times "
    worked_out = "" if term.is_published else ", worked out"
    text = f"{sign} {many}{cell_name(linked, term.cell)} ({ends_in_words((term.lower, term.upper))}{worked_out})"
    return text.strip()
