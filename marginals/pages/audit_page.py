"""The page of an audit: what published tables tell for certain, for those who publish them."""

from typing import Any

from marginals.auditing.audits import Audit, AuditedTables, cell_name, ends_in_words
from marginals.auditing.words import (
    KINDS,
    NO_ALL_CLEAR,
    contradiction_lines,
    undecided_lines,
)
from marginals.pages.release_page import page

_ROWS = 500


def audit_html(audit: Audit) -> bytes:
    """The page in UTF-8."""
    parts = [_part(part, audit.printed_small(part)) for part in audit.parts]
    return page(
        "audit.html",
        parts=parts,
        several=len(parts) > 1,
        small=audit.spec.small,
        protection=audit.spec.protection,
        sensitive=audit.spec.sensitive,
        no_all_clear=NO_ALL_CLEAR if audit.spec.doubts else "",
        not_examined=[subject.sentence for subject in audit.not_examined],
        facts=sum(len(part.facts) for part in audit.parts),
        undecided=sum(part.undecided for part in audit.parts),
        printed=sum(int(part.is_printed.sum()) for part in audit.parts),
    )


def _part(part: AuditedTables, printed: int) -> dict[str, Any]:
    sections = []
    for kind, (_, many, rest) in KINDS.items():
        numbers = [number for number, fact in enumerate(part.facts) if fact.kind is kind]
        if numbers:
            rows = [_row(part, number) for number in numbers[:_ROWS]]
            sections.append({"title": f"{many[0].upper()}{many[1:]} {rest}", "number": len(numbers), "rows": rows})
    return {
        "people": part.people,
        "tables": part.linked.names[: part.linked.table_count],
        "cells": len(part.linked),
        "open_lines": list(undecided_lines(part)),
        "contradictions": list(contradiction_lines(part)) if part.bounds is None else [],
        "printed": printed,
        "sections": sections,
    }


def _row(part: AuditedTables, number: int) -> tuple[str, str, str, list[str]]:
    fact = part.facts[number]
    published = ends_in_words(fact.published) if fact.is_published else "not published"
    return cell_name(part.linked, fact.cell), published, ends_in_words(fact.proven), part.because(number)
