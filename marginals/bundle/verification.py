"""Verifying a bundle: whether its files can be trusted, and whether its claims hold on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from checks.claims.claim import Claim
from checks.finding import Algorithm, Finding, Verdict
from marginals.bundle.agreement import union
from marginals.bundle.asked_claims import asked_claims
from marginals.bundle.content import BundleContent, Verification
from marginals.bundle.reading import content_of
from marginals.bundle.signature import PublicKey, public_key
from marginals.bundle.snapshot import Snapshot
from marginals.errors import BundleError, IncompatibleReleasesError, InputError

_UNSEALED = "the descriptor has no seal, so what it claims may have been changed unnoticed"
_UNCHECKED = (
    "it is signed, but the signature was not checked, so anybody may have made it; "
    "verify it with the public key of its publisher: --key PUBLICKEY (in Python key=)"
)
_UNCLAIMED = "nothing is claimed of its privacy, so none was checked; --check (in Python claims=) checks some"


@dataclass(frozen=True)
class BadFile:
    """A file of a bundle that cannot be trusted, and why."""

    file: str
    problem: str

    def as_json(self) -> dict[str, str]:
        """As plain values."""
        return {"file": self.file, "problem": self.problem}


def integrity(problem: BundleError | None, notes: Sequence[str] = (), key: PublicKey | None = None) -> Finding:
    """The finding on a bundle's files: they can be trusted, or which one cannot and why. key: what they are signed with."""
    signed = {} if key is None else {"key": key.text}
    if problem is None:
        return Finding("integrity", Verdict.HOLDS, signed, None, (Algorithm.FILES,), 0, "; ".join(notes))
    return Finding("integrity", Verdict.FAILS, signed, BadFile(problem.file, problem.problem), (Algorithm.FILES,), 0)


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
    if not folders:
        raise InputError("name the folder of a release to verify")
    signer = None if key is None else public_key(key)
    try:
        snapshots = [Snapshot.of(Path(folder)) for folder in folders]
        bundles = [(str(folder), content_of(snapshot)) for folder, snapshot in zip(folders, snapshots)]
        for snapshot in snapshots:
            snapshot.check_report()
            snapshot.check_undeclared()
        seals = [snapshot.is_sealed for snapshot in snapshots]
        signatures = [snapshot.is_signed for snapshot in snapshots]
        if signer is not None:
            for snapshot in snapshots:
                snapshot.check_signature(signer)
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
        yield Finding("composition", Verdict.UNDECIDED, {}, None, (Algorithm.NONE,), 0, str(problem))
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
    return [claim for claim in claims if claim.about is None or claim.about in published.sensitive]
