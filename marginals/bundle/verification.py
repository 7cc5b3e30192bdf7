"""Verifying a bundle: whether its files can be trusted, and whether its claims hold on them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from checks.claims.claim import Claim, MaxentDiversity
from checks.finding import Finding, Verdict
from marginals.bundle.asked_claims import asked_claims
from marginals.bundle.bundle_files import check_agreement, check_report, check_undeclared, read_bundle
from marginals.bundle.content import BundleContent, Verification
from marginals.bundle.seal import is_sealed
from marginals.bundle.signature import PublicKey, check_signature, is_signed, public_key
from marginals.errors import BundleError, IncompatibleReleasesError
from marginals.tables.attribute import Role
from models.arrays import CodeArray
from models.graphs.collection import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy

_UNSEALED = "the descriptor has no seal, so what it claims may have been changed unnoticed"
_UNCHECKED = (
    "it is signed, but the signature was not checked, so anybody may have made it; "
    "verify it with the public key of its publisher: --key PUBLICKEY (in Python key=)"
)
_UNCLAIMED = "nothing is claimed of its privacy, so none was checked; --check (in Python claims=) checks some"


def integrity(problem: BundleError | None, notes: Sequence[str] = (), key: PublicKey | None = None) -> Finding:
    """The finding on a bundle's files: they can be trusted, or which one cannot and why. key: what they are signed with."""
    signed = {} if key is None else {"key": key.text}
    if problem is None:
        return Finding("integrity", Verdict.HOLDS, signed, None, "files", 0, "; ".join(notes))
    worst = {"file": problem.file, "problem": problem.problem}
    return Finding("integrity", Verdict.FAILS, signed, worst, "files", 0)


def verify(*folders: str | Path, claims: Sequence[str | Claim] = (), key: str | Path | None = None) -> Verification:
    """Check one bundle, or several as somebody sees them who holds them all, from their files alone.

    Integrity first, then the claims of all bundles, or instead of them those given, as text or as objects. What cannot be
    decided within the budgets of the checks is undecided, which is no pass; so is what bundles say together that
    generalize an attribute differently, or of which only one calls it sensitive. Each is then checked by itself, its name
    among the parameters. key: the public key of minisign, or its file, with which each bundle must be signed. Raises
    InputError where there is no bundle, for a claim or key that cannot be read, or where signatures cannot be checked
    because minisign is not installed.

    >>> from tempfile import TemporaryDirectory
    >>> from marginals.example import release
    >>> with TemporaryDirectory() as folder:
    ...     _ = release.write(f"{folder}/release")
    ...     verify(f"{folder}/release").ok, verify(f"{folder}/release", claims=["k-link=20"]).ok
    (True, False)
    """
    signer = None if key is None else public_key(key)
    try:
        bundles = [(str(folder), read_bundle(Path(folder))) for folder in folders]
        for folder in folders:
            check_report(Path(folder))
            check_undeclared(Path(folder))
        seals = [is_sealed(Path(folder)) for folder in folders]
        signatures = [is_signed(Path(folder)) for folder in folders]
        if signer is not None:
            for folder in folders:
                check_signature(Path(folder), signer)
        findings = tuple(_findings(bundles, claims))
    except BundleError as problem:
        return Verification((integrity(problem, key=signer),))
    notes = [] if all(seals) or signer is not None else [_UNSEALED]
    notes += [_UNCHECKED] if any(signatures) and signer is None else []
    notes += [] if findings else [_UNCLAIMED]
    return Verification((integrity(None, notes, signer), *findings))


def _findings(bundles: Sequence[tuple[str, BundleContent]], asked: Sequence[str | Claim]) -> Iterator[Finding]:
    """On the claims of all bundles together, or on those of each and that together they are not judged."""
    try:
        published = bundles[0][1] if len(bundles) == 1 else union(bundles)
    except IncompatibleReleasesError as problem:
        yield Finding("composition", Verdict.UNDECIDED, {}, None, "none", 0, str(problem))
        sensitive = tuple(dict.fromkeys(name for _, published in bundles for name in published.sensitive))
        for folder, published in bundles:
            for finding in published.verify(_asked_of(published, asked, sensitive)).checks:
                yield replace(finding, parameters={"release": folder, **finding.parameters})
        return
    yield from published.verify(_asked_of(published, asked, published.sensitive)).checks


def _asked_of(published: BundleContent, asked: Sequence[str | Claim], sensitive: Sequence[str]) -> list[Claim] | None:
    """What is asked as claims, those about a sensitive attribute that the bundle lacks left out; None where nothing is."""
    if not asked:
        return None
    claims = asked_claims(asked, sensitive)
    return [c for c in claims if not isinstance(c, MaxentDiversity) or c.sensitive in published.sensitive]


def union(bundles: Sequence[tuple[str, BundleContent]]) -> BundleContent:
    """All marginals of several bundles as one collection, with all their claims.

    Raises IncompatibleReleasesError naming both bundles when they generalize an attribute differently or give it
    different roles, BundleError when they count different numbers of rows, or contradict each other.
    """
    hierarchies: dict[str, tuple[str, Hierarchy, int]] = {}
    roles: dict[str, Role] = {}
    tables: dict[str, ContingencyTable] = {}
    for name, published in bundles:
        for attribute, hierarchy in published.domain.items():
            finest = published.collection.finest_level(attribute)
            first, known, shown = hierarchies.setdefault(attribute, (name, hierarchy, finest))
            if not _agree(known, hierarchy, max(shown, finest)):
                raise IncompatibleReleasesError(first, name, f"generalize {attribute!r} differently", "the hierarchies")
            if finest < shown:
                hierarchies[attribute] = (name, hierarchy, finest)
            if roles.setdefault(attribute, published.roles[attribute]) is not published.roles[attribute]:
                # What one sets aside as sensitive another counts on, so no claim of both can be checked at once.
                raise IncompatibleReleasesError(first, name, f"only one calls {attribute!r} sensitive", "the roles")
    domain = Domain.of({attribute: hierarchy for attribute, (_, hierarchy, _) in hierarchies.items()})
    for name, published in bundles:
        for table in published.collection.tables:
            tables[f"{name}: the marginal ({table.margin})"] = recoded(table, domain)
    rows = next(iter(tables.values())).total
    for place, table in tables.items():
        if table.total != rows:
            raise BundleError(place, f"it counts {table.total} rows where {next(iter(tables))} counts {rows}")
    check_agreement(tables)
    claims = tuple(dict.fromkeys(claim for _, published in bundles for claim in published.claims))
    collection = Collection.of(DataCube(list(tables.values())), [table.mask for table in tables.values()])
    return BundleContent(collection, roles, claims)


def _agree(one: Hierarchy, other: Hierarchy, level: int) -> bool:
    """Whether two hierarchies are the same from a level on, each value with as many base values.

    What lies below the levels that a release publishes may be hidden in it.
    """
    if one.height != other.height:
        return False
    paths = (Counter(row[level:] for row in hierarchy.rows()) for hierarchy in (one, other))
    return next(paths) == next(paths)


def recoded(table: ContingencyTable, domain: Domain) -> ContingencyTable:
    """The same table in a domain whose hierarchies may number their values otherwise."""
    codes: dict[str, CodeArray] = {}
    for attribute, column in zip(table.attributes, table.codes):
        level = table.margin[attribute]
        places = {label: code for code, label in enumerate(domain.hierarchy(attribute).labels[level])}
        labels = table.domain.hierarchy(attribute).labels[level]
        codes[attribute] = np.array([places[label] for label in labels], dtype=np.int64)[column]
    return ContingencyTable.from_cells(domain, table.margin, codes, table.counts)
