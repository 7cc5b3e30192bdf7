"""Which kind answers are, in words: published, supported by a coarser table, or assumed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from marginals.names.level_names import margin_in_words
from marginals.release.kinds import assumption, listed
from models.graphs.basis import Basis, Kind
from models.tables.domain import Domain

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
