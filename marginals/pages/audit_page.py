"""The page of an audit: what published tables tell for certain, for those who publish them."""

from dataclasses import dataclass

from marginals.auditing import (
    KINDS,
    NO_ALL_CLEAR,
    Audit,
    AuditedTables,
    because,
    cell_name,
    contradiction_lines,
    ends_in_words,
    undecided_lines,
)
from marginals.pages.release_page import page

_ROWS = 500
"""Facts of a kind that the page lists."""


@dataclass(frozen=True)
class FactRow:
    """A fact: whose count, before and after, the estimate, and why."""

    values: str
    published: str
    proven: str
    estimate: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class FactSection:
    """All facts of a kind. rows: the first of them."""

    title: str
    number: int
    rows: tuple[FactRow, ...]


@dataclass(frozen=True)
class PartSection:
    """What tables about the same people tell."""

    people: str
    tables: tuple[str, ...]
    cells: int
    open_lines: tuple[str, ...]
    contradictions: tuple[str, ...]
    printed: int
    sections: tuple[FactSection, ...]


def audit_html(audit: Audit) -> bytes:
    """The page in UTF-8."""
    parts = [_part(part, audit.printed_small(part)) for part in audit.parts]
    return page(
        "audit.html",
        ok=audit.ok,
        parts=parts,
        several=len(parts) > 1,
        small=audit.spec.small,
        protection=audit.spec.protection,
        sensitive=audit.spec.sensitive,
        no_all_clear=NO_ALL_CLEAR if audit.spec.doubts else "",
        not_examined=[each.sentence for each in audit.not_examined],
        facts=sum(len(part.facts) for part in audit.parts),
        undecided=sum(part.undecided for part in audit.parts),
        printed=sum(int(part.is_printed.sum()) for part in audit.parts),
        contradictory=any(part.bounds is None for part in audit.parts),
    )


def _part(part: AuditedTables, printed: int) -> PartSection:
    sections = []
    for kind, (_, many, rest) in KINDS.items():
        numbers = [number for number, fact in enumerate(part.facts) if fact.kind is kind]
        if numbers:
            rows = tuple(_row(part, number) for number in numbers[:_ROWS])
            sections.append(FactSection(f"{many[0].upper()}{many[1:]} {rest}", len(numbers), rows))
    return PartSection(
        part.people,
        part.linked.names[: part.linked.table_count],
        len(part.linked),
        tuple(undecided_lines(part)),
        tuple(contradiction_lines(part)) if part.bounds is None else (),
        printed,
        tuple(sections),
    )


def _row(part: AuditedTables, number: int) -> FactRow:
    fact = part.facts[number]
    estimate = "" if part.estimates is None else f"{part.estimates[fact.cell]:,.1f}"
    return FactRow(
        cell_name(part.linked, fact.cell),
        ends_in_words(fact.published) if fact.is_published else "not published",
        ends_in_words(fact.proven),
        estimate,
        tuple(because(part, number)),
    )
