"""Answers of a release in words: estimates, bounds, and what they rest on."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from marginals.estimates import assumption
from marginals.messages import first_few
from marginals.names import margin_in_words
from marginals.say.table import rows_in_words
from marginals.tables.attribute import Codebook
from marginals.tables.people import RowsPerPerson
from models.graphs.basis import Basis, BasisKind
from models.tables.hierarchy import Domain

_LISTED, _NAMED = 3, 5  # tables of a line


def basis_line(basis: Basis, domain: Domain | None) -> str:
    """Return the kind of an answer, and what that means for it."""
    if basis.kind is BasisKind.PUBLISHED:
        return "published: it follows from published counts"
    if basis.kind is BasisKind.ASSUMED:
        return f"assumed: {assumption(basis.assumed)}; that is no finding about the data"
    return (
        f"supported: coarser than asked, a published table shows {_margins_shown(basis, domain)}; within its groups the "
        "model takes what is asked to be independent"
    )


def _margins_shown(basis: Basis, domain: Domain | None) -> str:
    margins = [margin_in_words(margin, domain) if domain else str(margin) for margin in basis.margins]
    rest = len(margins) - _LISTED
    return "; or ".join(margins[:_LISTED] + ([f"{rest} more"] if rest > 0 else []))


def pair_rows(pairs: Iterable[tuple[tuple[str, str], Basis]], domain: Domain) -> Iterator[Mapping[str, str]]:
    """Yield of each pair of columns which kind the answers about both are, and why, as rows of a table."""
    for (first, second), basis in pairs:
        single = [group[0] for group in basis.assumed if len(group) == 1]
        why = f"nothing of use is published of {' and '.join(single)}" if single else "no published table shows both"
        because = _margins_shown(basis, domain) if basis else why
        yield {"first": first, "second": second, "kind": basis.kind.value, "because": because}


def synthetic_lines(assumed: Sequence[Sequence[str]], *, are_exact: bool) -> Iterator[str]:
    """Yield what synthetic rows are, and which columns say nothing of each other."""
    if are_exact:
        yield "every published count is exact in these rows; many look like real ones, which is coincidence"
        yield "they are for programs that need rows; the release itself answers more accurately"
    if single := [group[0] for group in assumed if len(group) == 1]:
        names = first_few(single, _NAMED)
        yield f"nothing of use is published of these columns, so their values are equally likely: {names}"
    if together := [" and ".join(group) for group in assumed if len(group) > 1]:
        yield (
            "no published table shows these columns together, so the rows say nothing of how they go together: "
            f"{first_few(together, _NAMED, ';')}"
        )


def codebook_lines(codebook: Codebook, conditions: Iterable[str]) -> Iterator[str]:
    """Yield what the attributes that conditions name are, and what their values mean, if the steward says it."""
    text = " ".join(conditions)
    for name in dict.fromkeys([*codebook.descriptions, *codebook.values]):
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            meanings = ", ".join(f"{label} is {meaning}" for label, meaning in codebook.values.get(name, {}).items())
            yield f"{name}: {'; '.join(filter(None, [codebook.description(name), meanings]))}"


def answer_lines(answer: Any, domain: Domain | None, rows_per_person: RowsPerPerson = None) -> Iterator[str]:
    """Yield a number, its bounds, and what it rests on. answer: a `marginals.answers.Answer`, which imports this file.

    domain: names the levels of tables.
    """
    counted = answer.unit and ("people" if rows_per_person == 1 else answer.unit)
    if answer.exact:
        exactly = f"{answer.lower:,.6g}"
        if counted:
            exactly = rows_in_words(int(answer.lower), 1 if rows_per_person == 1 else None)
        yield f"{exactly}, exactly: the published marginals leave no other number."
    else:
        best = "no closer bounds are possible" if answer.sharp else "closer bounds may be possible"
        if answer.unjudged:
            yield "no estimate: it would leave out rows that the condition may hold for"
        elif answer.kind is BasisKind.NONE and counted:
            yield "no estimate: the time was over before the maximum-entropy distribution was fitted"
        elif answer.kind is BasisKind.NONE:
            yield "no estimate: rows that it would be of are not expected"
        else:
            yield f"about {answer.value:,.6g}{counted and f' {counted}'} expected (maximum entropy; not published as such)"
        certain = f" if these labels mean what the publisher says: {'; '.join(answer.stated)}" if answer.stated else ""
        yield f"between {answer.lower:,.6g} and {answer.upper:,.6g} for certain{certain}; {best}"
    if answer.of is not None and answer.of.missing >= 0.5:
        every = answer.of.rows + answer.of.missing
        yield f"of {answer.of.rows:,.6g} rows; {100 * answer.of.missing / every:.3g} percent of {every:,.6g} lack a value"
    for attribute, values, rows in answer.unjudged:
        yield (
            f"not judged: up to {rows:,} {counted}, whose value of {attribute} cannot be read as a number "
            f"({first_few(list(map(repr, values)))}); they are in the upper bound only. Name these values with | to leave "
            "them out or count them in"
        )
    if answer.cut:
        yield f"cut through by a range, and in the upper bound only: {first_few(answer.cut)}"
    if answer.kind is not BasisKind.NONE:
        yield basis_line(answer.basis, domain)
