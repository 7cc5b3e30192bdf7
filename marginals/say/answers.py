"""Answers of a release in words: estimates, bounds, and what they rest on."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from marginals.estimates import assumption, listed
from marginals.messages import first_few
from marginals.names import margin_in_words
from marginals.say.table import rows_in_words
from marginals.tables.people import RowsPerPerson
from models.graphs.basis import Basis, Kind
from models.tables.hierarchy import Domain

if TYPE_CHECKING:
    from marginals.estimates import Estimate
    from marginals.tables.attribute import Codebook

_LISTED = 3
"""Tables that a line names at most."""


def basis_line(basis: Basis, domain: Domain) -> str:
    """Return the kind of an answer, and what that means for it.

    >>> from marginals.example import release
    >>> basis_line(release.supports(["age", "sex"]), release.domain)
    'assumed: no published table shows what is asked of age and sex together, so the model takes them to be independent, \
given what its tables share; that is no finding about the data'
    """
    if basis.kind is Kind.PUBLISHED:
        return "published: it follows from published counts"
    if basis.kind is Kind.ASSUMED:
        return f"assumed: {assumption(basis.assumed)}; that is no finding about the data"
    return (
        f"supported: coarser than asked, a published table shows {_shown(basis, domain)}; within its groups the model takes "
        "what is asked to be independent"
    )


def _shown(basis: Basis, domain: Domain) -> str:
    margins = [margin_in_words(margin, domain) for margin in basis.margins]
    rest = len(margins) - _LISTED
    return "; or ".join(margins[:_LISTED] + ([f"{rest} more"] if rest > 0 else []))


def pair_rows(pairs: Iterable[tuple[tuple[str, str], Basis]], domain: Domain) -> Iterator[Mapping[str, str]]:
    """Yield of each pair of columns which kind the answers about both are, and why, as rows of a table."""
    for (first, second), basis in pairs:
        alone = [group[0] for group in basis.assumed if len(group) == 1]
        why = f"nothing of use is published of {' and '.join(alone)}" if alone else "no published table shows both"
        because = _shown(basis, domain) if basis else why
        yield {"first": first, "second": second, "kind": basis.kind.value, "because": because}


def synthetic_lines(assumed: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield which columns of synthetic rows say nothing of each other.

    >>> print(*synthetic_lines([("age", "sex")]))
    note: no published table shows these columns together, so the rows say nothing of how they go together: age and sex
    """
    if alone := [group[0] for group in assumed if len(group) == 1]:
        yield f"note: nothing of use is published of these columns, so their values are equally likely: {listed(alone)}"
    if together := [" and ".join(group) for group in assumed if len(group) > 1]:
        yield (
            "note: no published table shows these columns together, so the rows say nothing of how they go together: "
            f"{listed(together, '; ')}"
        )


def codebook_lines(codebook: "Codebook", conditions: Iterable[str]) -> Iterator[str]:
    """Yield what the attributes that conditions name are, and what their values mean, if the steward says it.

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


def estimate_lines(estimate: "Estimate", domain: Domain, rows_per_person: RowsPerPerson = None) -> Iterator[str]:
    """Yield a number of rows, or of people, as the model estimates it, its bounds, and what it rests on."""
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
            f"({first_few(list(map(repr, values)))}); they are in the upper bound only. Name these values with | to leave "
            "them out or count them in"
        )
    if estimate.cut:
        yield f"cut through by a range, and in the upper bound only: {first_few(estimate.cut)}"
    if estimate.expected is not None:
        yield basis_line(estimate.basis, domain)
