"""Verifying a bundle: whether its files can be trusted, and whether its claims hold on them."""

from collections.abc import Sequence
from pathlib import Path

from checks.claims import Claim, KCombinatorial, KLink, MaxentDiversity
from checks.finding import Finding, Verdict
from checks.l_diversity import parse_diversity
from marginals.bundle import read_bundle
from marginals.errors import BundleError, InputError
from marginals.published import Published, Verification


def integrity(problem: BundleError | None) -> Finding:
    """The finding on a bundle's files: they can be trusted, or which one cannot and why."""
    if problem is None:
        return Finding("integrity", Verdict.HOLDS, {}, None, "files", 0)
    worst = {"file": problem.file, "problem": problem.problem}
    return Finding("integrity", Verdict.FAILS, {}, worst, "files", 0)


def parse_demand(text: str, sensitive: Sequence[str]) -> list[Claim]:
    """The claims behind `k-link=6`, `k-combinatorial=3` or `diversity=entropy:6`.

    A diversity is claimed for each sensitive attribute. Raises InputError or CriterionError for anything else.
    """
    name, _, value = text.partition("=")
    if name == "diversity":
        if not sensitive:
            raise InputError("the release has no sensitive attribute whose diversity could be checked")
        return [MaxentDiversity(parse_diversity(value), attribute) for attribute in sensitive]
    if name not in ("k-link", "k-combinatorial") or not value.isdecimal():
        raise InputError(f"a check is k-link=K, k-combinatorial=K or diversity=CRITERION, not {text!r}")
    return [KLink(int(value)) if name == "k-link" else KCombinatorial(int(value))]


def verify(folder: str | Path, demands: Sequence[str] = ()) -> Verification:
    """Check a bundle from its files alone: integrity first, then its claims, or the demands instead of them.

    Raises InputError where there is no bundle, or for a demand that cannot be read.
    """
    try:
        published = read_bundle(Path(folder))
    except BundleError as problem:
        return Verification((integrity(problem),))
    return Verification((integrity(None), *published.verify(_demanded(published, demands)).checks))


def _demanded(published: Published, demands: Sequence[str]) -> list[Claim] | None:
    if not demands:
        return None
    return [claim for demand in demands for claim in parse_demand(demand, published.sensitive)]
