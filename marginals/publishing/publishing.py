"""Publishing: from a table and a policy to the release that keeps the most of the data."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from checks.claims.claim import Claim
from checks.claims.requirements import Requirements
from checks.diversity.registry import require_readable
from marginals.anonymizers.lattice import LatticeResult, minimal_tables
from marginals.bundle.content import TITLE, BundleContent
from marginals.bundle.format import KNOWN
from marginals.conditions.part import Part
from marginals.errors import InputError, NothingPublishableError
from marginals.ledger.continuing import Continuation
from marginals.ledger.ledger import Ledger
from marginals.pages.release_page import report_html
from marginals.publishing.policy import Policy
from marginals.publishing.releasable import releasable, released_levels
from marginals.publishing.searching import Progress, no_progress, searched
from marginals.publishing.stewarding import steward_report
from marginals.release.release import Release
from marginals.tables.table import Table
from marginals.timing import Seconds, within
from models.graphs.collection import Collection
from models.tables.domain import Mask


def anonymize(
    table: Table, policy: Policy, progress: Progress = no_progress, suppression: float = 0.0
) -> LatticeResult:
    """All minimal single tables that satisfy a policy, best KL divergence first.

    suppression: share of the rows that may be shown with every quasi-identifier at `*` instead; together they are a class,
    which satisfies the policy too.

    >>> from marginals.example import table
    >>> [found.levels for found in anonymize(table, Policy(k_link=4, diversity="distinct:2")).minimal]
    [Margin({'age': 1, 'sex': 1}), Margin({'age': 3, 'sex': 0})]
    """
    return minimal_tables(
        table.cube,
        table.quasi_identifiers,
        policy.requirements(table.sensitive, table.most_rows_of_a_person),
        lambda done, nodes: progress("minimal tables", done, nodes),
        suppression,
    )


def publish(
    table: Table,
    policy: Policy,
    progress: Progress = no_progress,
    title: str = TITLE,
    seconds: Seconds = None,
    ledger: str | Path | None = None,
) -> Release:
    """The best release of a table that the policy's strategy finds; it holds published marginals, not the table.

    title: what its report and its descriptor call it. What is found is verified, by the marginals alone and with the whole
    budget of each check, before it is given back. `steward` of the release tells what does not follow from the marginals
    and so is not published, such as how near it comes to the data. seconds: for all of it, instead of the policy's
    `time_limit`; half of it, or of what a base table that is demanded leaves, is for the search. ledger: private folder of
    what is out of this table, made when it is missing. The release then shows as much of what changed since the last one as
    is safe beside all of them, of margins that they show; when it is written it is entered there. Raises
    NothingPublishableError when no collection satisfies the policy or the one found is not proven to, InputError when the
    policy does not fit the table, or demands no privacy, CriterionError for a diversity that no reader could read back.

    >>> from marginals.example import table
    >>> publish(table, Policy(k_link=4, diversity="distinct:2"))
    Release(48 rows, information 0.4968 nats; age:1, diagnosis:0; diagnosis:0, sex:0)
    """
    requirements = policy.requirements(table.sensitive, table.most_rows_of_a_person)
    _require_publishable(policy, requirements, ledger)
    turnover_known = policy.turnover == KNOWN
    deadline = within(seconds)
    series = None
    if ledger is not None:
        series = Continuation.of(Ledger.read(ledger), table, requirements, turnover_known=turnover_known)
    where = "" if table.part is None else table.part.where.text
    if series is not None:
        progress("settling", 0, 0)
        table = series.table
    obstacles, search = searched(table, policy, requirements, deadline, progress, series)
    shown = table if series is None else series.shown
    published = _content(shown, policy, requirements, search.result.cliques, title)
    published = replace(published, deadline=deadline, turnover_known=turnover_known, where=where)
    if where:
        _require_readable_part(where, published)
    progress("verifying", 0, 0)
    judged = [published]
    if shown is not table:  # of a part everybody is entered in the ledger, as if all were shown
        judged.append(replace(_content(table, policy, requirements, search.result.cliques, title), deadline=deadline))
    for finding in (finding for each in judged for finding in each.verify().checks):
        if not finding.holds:
            raise NothingPublishableError(
                f"the collection that the search found is not proven to be private, so it is not published: {finding}"
                + _base_values_hint(policy, table)
            )
    steward = steward_report(obstacles, published, search, policy, deadline, shown)
    if series is None:
        return Release(published, report_html, steward=steward)
    cliques = search.result.cliques
    series.require_safe(cliques)
    steward = replace(steward, waiting=replace(series.after(cliques, policy.seed), kept=search.kept))
    entering = series.entering(cliques, datetime.now(UTC).date().isoformat())
    return Release(published, report_html, steward=steward, entering=entering)


def _require_publishable(policy: Policy, requirements: Requirements, ledger: str | Path | None) -> None:
    """Refuse what no search can mend: no privacy, a criterion that no reader has, turnover without a ledger."""
    if not requirements.claims:
        raise InputError(
            "the policy demands no privacy, so the table itself would be published; set k_link, k_combinatorial, "
            "min_cell, diversity or rules (in a config under [privacy]). k_link = 1 publishes without any"
        )
    for claim in requirements.diversity_claims:
        require_readable(claim.diversity)
    if policy.turnover == KNOWN and ledger is None:
        raise InputError(
            f'turnover = "{KNOWN}" is about the releases of a ledger, and there is none; publish with --ledger DIR, '
            "or leave turnover out"
        )


def _require_readable_part(where: str, published: BundleContent) -> None:
    """Refuse a condition that readers of the release could not compare with what it counts, as it is written."""
    part = Part(where)
    for table in published.collection.tables:
        if (excluding := part.excluding(table)) is not None:
            raise InputError(
                f"the condition {where!r} would read otherwise beside the published values of {excluding!r}; write labels "
                "between quotes"
            )


def _base_values_hint(policy: Policy, table: Table) -> str:
    """What helps where a criterion is about base values that a release keeps to itself; it is then judged without them."""
    private = [
        repr(name) for name in table.sensitive if name not in table.public and table.domain.hierarchy(name).height > 1
    ]
    demanded = policy.diversities(table.sensitive)
    criterion = next((claim.diversity for claim in demanded if claim.diversity.about_base_values), None)
    if criterion is None or not private:
        return ""
    return (
        f"; readers do not know the values below the published ones of {' and '.join(private)}, over which "
        f'{criterion.name} diversity could spread the rows; if everybody may know them, set labels = "public" there'
    )


def _judged_levels(requirements: Requirements) -> dict[str, set[int]]:
    """The levels of each sensitive attribute whose values something is demanded of, besides the finest published ones."""
    judged: dict[str, set[int]] = {}
    for claim in requirements.diversity_claims:
        if claim.level:
            judged.setdefault(claim.sensitive, set()).add(claim.level)
    return judged


def _content(
    table: Table, policy: Policy, requirements: Requirements, cliques: tuple[Mask, ...], title: str
) -> BundleContent:
    """What a release of some margins of a table tells, and claims of it."""
    chosen = Collection.of(table.cube, cliques)
    judged = _judged_levels(requirements)
    marginals = releasable(chosen, table.public, judged)

    def stated(claim: Claim) -> Claim:
        if claim.about is None or claim.about in table.public:
            return claim
        levels = released_levels(chosen, claim.about, judged.get(claim.about, ()))
        return claim.stated_on(chosen).at_level(levels.index(claim.level) if claim.level in levels else 0)

    words = table.codebook.of_labels(marginals.domain)
    rules = tuple(rule.applied(table.sensitive).stating(stated) for rule in policy.named_rules)
    claims = tuple(map(stated, requirements.claims))
    unit = table.rows_per_person
    return BundleContent(marginals, table.roles, claims, title, rows_per_person=unit, codebook=words, rules=rules)
