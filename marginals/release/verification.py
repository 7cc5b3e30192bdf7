"""Verifying a bundle: whether its files can be trusted, and whether its claims hold on them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from checks.changes import CRITERION as DIFFERENCE
from checks.claims import (
    Claim,
    MaxentDiversity,
    Register,
    claims_from_text,
    number_of_rows,
)
from checks.errors import CriterionError
from checks.finding import Algorithm, Finding, Verdict
from marginals.arguments import elements_of, path_of, require
from marginals.bundle.content import DESCRIPTOR, INFORMATION_DECIMALS, BundleContent, Verification
from marginals.bundle.reading import content_of, unjudged
from marginals.bundle.signature import PublicKey, public_key
from marginals.bundle.snapshot import Descriptor, Snapshot
from marginals.bundle.together import (
    Bundles,
    OneTable,
    by_table,
    differences,
    pairs_of_tables,
)
from marginals.deadline import Seconds, within
from marginals.errors import BundleError, InputError
from marginals.messages import first_few, printable
from marginals.named_rules import AppliedRule, NamedRule, rules_of
from marginals.tables.intervals import misplaced
from marginals.tables.people import ANY
from models.deadline import Deadline
from models.errors import MarginalsError
from models.frozen import frozen
from models.tables.hierarchy import MISSING, Domain

_UNSEALED = "the descriptor has no seal, so what it claims may have been changed unnoticed"
_UNCHECKED = (
    "it is signed, but the signature was not checked, so anybody may have made it; "
    "verify it with the public key of its publisher: --key PUBLICKEY (in Python key=)"
)
_NOBODY = (
    "an attestation without a checked signature names nobody; whoever made these files can have written it. Verify with the "
    "public key of the publisher: --key PUBLICKEY (in Python key=)"
)
_UNLIKE = (
    "it is not the page that this version of the program makes of these files, so nobody judged what it says. Another "
    "version or program made it, its time was short, or somebody changed it. To make the page of these files: "
    "marginals verify RELEASE --report report.html"
)
_NOT_REMADE = "the time was over before it was made again and compared, so nobody judged what it says"
_OTHER_PAGE = "it is a page, and no part of a release, so nobody judged what it says; judge the release without it"
_UNCLAIMED = "nothing is claimed of its privacy, so none was checked; --check (in Python claims=) checks some"


@frozen
class BadFile:
    """A file of a bundle that cannot be trusted, and why."""

    file: str
    problem: str


def integrity(problem: BundleError | None, notes: Sequence[str] = (), key: PublicKey | None = None) -> Finding:
    """The finding on a bundle's files: they can be trusted, or which one cannot and why. key: what they are signed with."""
    signed = {} if key is None else {"key": key.text}
    if problem is None:
        return Finding("integrity", Verdict.HOLDS, signed, None, (Algorithm.FILES,), 0, "; ".join(notes))
    return Finding("integrity", Verdict.FAILS, signed, BadFile(problem.file, problem.problem), (Algorithm.FILES,), 0)


def verify(
    *folders: str | Path,
    claims: Sequence[str | Claim] = (),
    key: str | Path | None = None,
    seconds: Seconds = None,
    rules: Sequence[str | NamedRule] = (),
) -> Verification:
    """Check one bundle, or several as somebody sees them who holds them all, from their files alone.

    Integrity comes first, then the claims of all bundles, or those given, as text or as objects. Undecided is no pass.

    - Bundles that count different rows are of a table that changed, and each table is judged by itself. Of each two it is
      checked that the differences which both show are 0, or at least the largest k claimed, or K of `difference=K`.
    - If bundles generalize an attribute differently, or only one calls an attribute sensitive, the joint check is undecided.
      Then each is checked separately, its name among the parameters.
    - A report that its files do not give is undecided.

    key: the public key of minisign, or its file, with which each bundle must be signed. seconds: what is not decided by then
    is undecided; each claim has an equal share of what is left after reading. rules: named ones, whose demands are checked
    beside the claims given. Raises InputError if there is no bundle, and for a claim or key that cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> from marginals.example import release
    >>> with TemporaryDirectory() as folder:
    ...     _ = release.write(f"{folder}/release")
    ...     verify(f"{folder}/release").ok, verify(f"{folder}/release", claims=["k-link=20"]).ok
    (True, False)
    """
    if not folders:
        raise InputError("name the folder of a release to verify")
    deadline = within(seconds)
    signer = None if key is None else public_key(key)
    others, least_difference = _asked_difference([claims] if isinstance(claims, str) else claims)
    if least_difference is not None and len(folders) == 1:
        raise InputError("difference=K is about releases of a table that changed; name at least two releases")
    demands = _Asked(others, rules_of(rules), least_difference)
    warnings: list[str] = []
    try:
        snapshots = [Snapshot.of(path_of(folder)) for folder in folders]
        contents = _contents([str(folder) for folder in folders], snapshots, deadline, warnings)
        bundles = [(folder, published.as_one()) for folder, published in contents] if len(contents) > 1 else contents
        notes = _notes_on_trust(snapshots, signer)
        demands.require_attributes(bundles)
        verification = _verified(bundles, demands)
        reports = [*_unlike_reports(snapshots, contents)]
    except BundleError as problem:
        return Verification((integrity(problem, key=signer),), tuple(warnings))
    notes += [] if verification.checks else [_UNCLAIMED]
    if verification.attested and signer is None:
        warnings.append(_NOBODY)
    checks = (integrity(None, notes, signer), *verification.checks, *reports)
    single = bundles[0][1] if len(bundles) == 1 else None
    crossings = (crossing for _, published in bundles for crossing in published.everything.crossings)
    crossing = verification.crossing or tuple(dict.fromkeys(crossings))
    counts = [item for _, published in bundles for item in published.smallest_sensitive.items()]
    smallest = {name: min(count for other, count in counts if other == name) for name, _ in counts}
    return Verification(checks, tuple(warnings), verification.rules, smallest, single, crossing)


def _contents(
    folders: Sequence[str], snapshots: Sequence[Snapshot], deadline: Deadline, warnings: list[str]
) -> list[tuple[str, BundleContent]]:
    # warnings are added as they come up, so that those before a BundleError stand
    bundles = [(folder, content_of(snapshot, deadline)) for folder, snapshot in zip(folders, snapshots)]
    for snapshot, (folder, published) in zip(snapshots, bundles):
        warnings += _check_information(folder, snapshot.descriptor, published)
        warnings += _misread(folder, published)
        if keys := list(unjudged(snapshot.descriptor.package)):
            look = f"{folder}: nothing of this was judged, so look at it yourself: {first_few(keys, 5)}"
            warnings.append(printable(look))
        if published.rows_per_person == ANY:
            warnings.append(
                f"{folder}: a person can have any number of its rows, so its claims count rows; k rows may be fewer "
                "than k people"
            )
        snapshot.report_content()
        snapshot.check_undeclared()
    return bundles


def _unlike_reports(snapshots: Sequence[Snapshot], bundles: Bundles) -> Iterator[Finding]:
    for snapshot, (folder, published) in zip(snapshots, bundles):
        of_release = {"release": folder} if len(bundles) > 1 else {}
        reasons = [({**of_release, "file": page}, _OTHER_PAGE) for page in snapshot.descriptor.other_pages]
        if (page := snapshot.report_content()) is not None:
            from marginals.pages.release_page import report_html  # slow to import, and bundles of others have no report

            try:
                is_alike = report_html(published) == page
            except MarginalsError:
                is_alike = False
            if not is_alike:
                reasons.append((of_release, _NOT_REMADE if published.deadline.is_over else _UNLIKE))
        for parameters, why in reasons:
            yield Finding("report", Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, why)


def _notes_on_trust(snapshots: Sequence[Snapshot], signer: PublicKey | None) -> list[str]:
    """Return notes on seals and signatures. Raises BundleError where one is wrong, or is not the signer's."""
    seals = [snapshot.is_sealed for snapshot in snapshots]
    signatures = [snapshot.is_signed for snapshot in snapshots]
    if signer is not None:
        for snapshot in snapshots:
            snapshot.check_signature(signer)
        return []
    return [*([] if all(seals) else [_UNSEALED]), *([_UNCHECKED] if any(signatures) else [])]


def _check_information(folder: str, descriptor: Descriptor, published: BundleContent) -> Iterator[str]:
    """Raise BundleError unless the stated information, if any, is that of the marginals; warn if nobody can tell."""
    if "information" not in descriptor.release:
        return
    number, information = descriptor.release["information"], published.information
    if not isinstance(number, int | float) or isinstance(number, bool):
        raise BundleError(DESCRIPTOR, "release.information must be a number of nats")
    if information is None:
        yield f"{folder}: release.information was not checked, since the marginals form no junction tree; nothing reads it"
    elif abs(Decimal(repr(number)) - Decimal(repr(information))) > _rounding(number):
        raise BundleError(DESCRIPTOR, f"release.information is not {information} nats, which follow from the marginals")


def _misread(folder: str, published: BundleContent) -> Iterator[str]:
    for name, hierarchy in published.domain.items():
        if rows := misplaced(hierarchy):
            row, level, label = rows[0]
            more = f" (and {len(rows) - 1:,} more)" if len(rows) > 1 else ""
            yield printable(
                f"{folder}: the hierarchy of {name!r} puts the value of row {row + 1} under {label!r} at level {level}, an "
                f"interval that does not hold it{more}; the labels of {name!r} are read as names, and no range is answered "
                "from them"
            )


def _rounding(number: float) -> Decimal:
    exponent = Decimal(repr(number)).as_tuple().exponent
    decimals = max(0, -exponent) if isinstance(exponent, int) else 0
    resolution = Decimal(10) ** -INFORMATION_DECIMALS
    return resolution if decimals >= INFORMATION_DECIMALS else Decimal(10) ** -decimals / 2 + resolution / 2


@frozen
class _Asked:
    """Claims to check instead of those of the bundles, if any."""

    claims: tuple[str | Claim, ...]
    rules: tuple[NamedRule, ...]
    difference: int | None = None

    def require_attributes(self, bundles: Bundles) -> None:
        names = dict.fromkeys(name for _, published in bundles for name in published.domain.attributes)
        for claim in self.claims:
            if isinstance(claim, Claim) and claim.about is not None and claim.about not in names:
                raise InputError(
                    f"{claim.criterion} is asked of {claim.about!r}, which is no attribute of the release; it has "
                    f"{first_few([*map(repr, names)], 5)}"
                )

    def claims_on(self, published: BundleContent, sensitive: Sequence[str]) -> list[Claim] | None:
        if not self.claims and not self.rules and self.difference is None:
            return None
        of_rules = [claim for rule in self.rules for claim in rule.applied(sensitive).claims]
        claims = [*asked_claims(self.claims, sensitive), *of_rules]
        about = [claim for claim in claims if claim.about is None or claim.about in published.domain.attributes]
        return [_of_known(claim, published.domain) for claim in about]


def _of_known(claim: Claim, domain: Domain) -> Claim:
    # What rows without a value are called is no value. The bundle has no say in that; a coarser label of that name is
    # only what it calls the values under it.
    if not isinstance(claim, MaxentDiversity | Register) or MISSING not in domain.hierarchy(claim.about).labels[0]:
        return claim
    return claim.leaving_out(MISSING)


def _noted(claim: Claim, finding: Finding, bundle_claims: Sequence[Claim]) -> Finding:
    if not isinstance(claim, MaxentDiversity | Register):
        return finding
    others = [other for other in bundle_claims if isinstance(other, MaxentDiversity | Register)]
    left_out = dict.fromkeys(label for other in others if other.about == claim.about for label in other.left_out)
    labels = [repr(label) for label in left_out if label not in (*claim.left_out, MISSING)]
    if not labels:
        return finding
    note = f"all values count here, also {first_few(labels, 5)}, which the release leaves out of what it claims"
    return replace(finding, note="; ".join(filter(None, (finding.note, note))))


def _verified(bundles: Bundles, demands: _Asked) -> Verification:
    tables = by_table(bundles)
    if len(tables) == 1:
        of_one = _judged_together(tables[0], demands)
        if demands.difference is None:
            return of_one
        note = tables[0].problem or "the releases can be of one table: what several of them count they count alike"
        verdict = Verdict.HOLDS if tables[0].together else Verdict.UNDECIDED
        same = Finding(DIFFERENCE, verdict, {"k": demands.difference}, None, (Algorithm.FILES,), 0, note)
        return replace(of_one, checks=(*of_one.checks, same))
    findings: list[Finding] = []
    rules: list[AppliedRule] = []
    for number, table in enumerate(tables):
        of_table = _judged_together(table.sharing_time(len(tables) - number), demands)
        others = [bundle for other in tables if other is not table for bundle in other.bundles]
        checks = (_unless_seen(check, others) for check in of_table.checks)
        findings += (replace(finding, parameters={"release": table.name, **finding.parameters}) for finding in checks)
        rules += (replace(rule, release=table.name) for rule in of_table.rules)
    findings += differences(list(pairs_of_tables(tables, demands.difference)))
    return Verification(tuple(findings), rules=tuple(rules))


def _judged_together(table: OneTable, demands: _Asked) -> Verification:
    published = table.together
    if published is None:
        return Verification(tuple(_findings_apart(table, demands)))
    return _checked(published, demands.claims_on(published, published.sensitive), demands.rules)


def demanded(published: BundleContent, claims: Sequence[str | Claim], rules: Sequence[NamedRule] = ()) -> Verification:
    """Check the demands of a reader, with rules, instead of the claims of a release.

    Raises InputError or CriterionError for text that is no claim, and where the release lacks what a claim is about.
    """
    demands = _Asked(tuple([claims] if isinstance(claims, str) else claims), tuple(rules))
    demands.require_attributes([("", published)])
    return _checked(published, demands.claims_on(published, published.sensitive) or [], demands.rules)


def _checked(published: BundleContent, claims: Sequence[Claim] | None, rules: Sequence[NamedRule] = ()) -> Verification:
    if claims is None:
        return published.verify()

    def of_known(claim: Claim) -> Claim:
        return _of_known(claim, published.domain)

    content = published.claiming(claims, [rule.applied(published.sensitive).stating(of_known) for rule in rules])
    result = content.verify()
    noted = (_noted(*pair, published.claims) for pair in zip(content.claims, result.checks))
    return replace(result, checks=tuple(noted))


def _findings_apart(table: OneTable, demands: _Asked) -> Iterator[Finding]:
    yield Finding("composition", Verdict.UNDECIDED, {}, None, (Algorithm.NONE,), 0, table.problem)
    bundles = table.bundles
    sensitive = tuple(dict.fromkeys(name for _, published in bundles for name in published.sensitive))
    for number, (folder, single) in enumerate(bundles):
        published = replace(single, deadline=single.deadline.share(len(bundles) - number))
        for verdict in _checked(published, demands.claims_on(published, sensitive)).checks:
            finding = _unless_seen(verdict, bundles, 2)
            yield replace(finding, parameters={"release": folder, **finding.parameters})


def _unless_seen(finding: Finding, bundles: Bundles, most: int = 1) -> Finding:
    """Return the finding; of readers with a register it is undecided if so many bundles show an attribute that it needs.

    What these tell of somebody together was not judged.
    """
    is_settled = finding.verdict is Verdict.FAILS or Algorithm.NOT_PUBLISHED in finding.algorithms
    if finding.criterion != Register.criterion or is_settled:
        return finding
    attribute = finding.parameters["sensitive"]
    by_files = finding.algorithms == (Algorithm.EVERY_CLASS,)

    def shows(bundle: BundleContent) -> bool:
        needed = (other for other in bundle.sensitive if not by_files or other == attribute)
        return any(map(bundle.collection.shows, needed))

    if sum(shows(bundle) for _, bundle in bundles) < most:
        return finding
    why = f"more than one release shows {attribute}, and what they tell together to readers with a register was not judged"
    return Finding(finding.criterion, Verdict.UNDECIDED, finding.parameters, None, (Algorithm.NONE,), 0, why)


def asked_claims(claims: Sequence[str | Claim], sensitive: Sequence[str]) -> list[Claim]:
    """The claims that objects and texts such as `k-link=6` stand for, in their order. Raises InputError for other text.

    A diversity in text is claimed for each sensitive attribute.
    """
    try:
        parsed = ([text] if isinstance(text, Claim) else claims_from_text(text, sensitive) for text in claims)
        return [claim for of_text in parsed for claim in of_text]
    except CriterionError as error:
        raise InputError(str(error)) from None


_CLAIMS = 'a list of claims such as ["k-link=10"]'


def _asked_difference(claims: Sequence[str | Claim]) -> tuple[tuple[str | Claim, ...], int | None]:
    others: list[str | Claim] = []
    demands: list[int] = []
    for claim in elements_of(claims, "claims", _CLAIMS):
        require(claim, str | Claim, "one of the claims", _CLAIMS)
        name, _, text = claim.partition("=") if isinstance(claim, str) else ("", "", "")
        if name != DIFFERENCE:
            others.append(claim)
        elif k := number_of_rows(text):
            demands.append(k)
        else:
            raise InputError(f"a check of differences is difference=K, K a whole number of at least 1, not {claim!r}")
    return tuple(others), max(demands, default=None)
