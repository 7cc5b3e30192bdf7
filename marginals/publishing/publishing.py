"""Publishing: from a table and a policy to the release that keeps the most of the data."""

import json
from collections.abc import Collection as AnyCollection
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from checks.claims import AttributeClaim, Claim, MaxentDiversity, Requirements
from checks.diversity.registry import require_readable
from marginals.bundle.content import KNOWN, TITLE, BundleContent
from marginals.bundle.writing import Entering
from marginals.deadline import Seconds, within
from marginals.errors import InputError, NothingPublishableError
from marginals.ledger import Continuation, Ledger
from marginals.published_values import Part
from marginals.publishing.policy import NO_DIVERSITY, PROPOSED, WEAKER, Policy, proposed_diversity
from marginals.publishing.searching import Prepared, Progress, Search, no_progress, searched
from marginals.publishing.stewarding import steward_report
from marginals.release.release import Release, write_release
from marginals.steward import StewardReport
from marginals.tables.attribute import MISSING
from marginals.tables.table import Table
from models.deadline import Deadline
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Hierarchy, Mask


@dataclass(frozen=True, eq=False)
class Publication:
    """What publishing gives: what goes out, what stays in, and what the ledger keeps.

    release: for everybody. steward: what does not follow from the published marginals, for the steward of the table alone.
    entry: of a release that was made for a ledger, what enters it there when it is written.

    >>> from marginals.example import publication
    >>> publication
    Publication(Release(48 rows, information 0.4968 nats; age:1, diagnosis:0; diagnosis:0, sex:0))
    """

    release: Release
    steward: StewardReport
    entry: Entering | None = None

    def __repr__(self) -> str:
        return f"Publication({self.release})"

    def write(self, path: str | Path, sign: str | Path | None = None) -> "Publication":
        """Write the release as a bundle, all of it or nothing, and enter it in the ledger that it was made for, if any.

        Returns the publication with the folder of its release. sign: as of `Release.write`, which writes no release of a
        ledger. The steward's report is written by itself, to a file that is not for publication. Raises InputError.

        >>> from marginals.example import publication
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     written = publication.write(f"{folder}/release")
        ...     written.steward.write(f"{folder}/steward.html")
        ...     sorted(file.name for file in written.release.path.parent.iterdir())
        ['release', 'steward.html']
        """
        return replace(self, release=write_release(self.release, path, sign, self.entry))


class _LedgerRelease(Release):
    """A release that is out only when its ledger says so."""

    def write(self, path: str | Path, sign: str | Path | None = None) -> Release:  # noqa: ARG002 - as of any release
        """Refused: what is written by itself would be missing in the ledger."""
        raise InputError(
            "a release of a ledger is written by its publication, which enters it: publication.write(path)"
        )


def publish(
    table: Table,
    policy: Policy,
    progress: Progress = no_progress,
    title: str = TITLE,
    seconds: Seconds = None,
    ledger: str | Path | None = None,
) -> Publication:
    """The best release of a table that the policy's strategy finds, and beside it what its steward alone may know.

    title: what its report and its descriptor call it. The release is verified before it is given back, by its marginals
    alone and with the whole budget of each check. seconds: for all of it, instead of the policy's `time_limit`; half of it,
    or of what a base table that is demanded leaves, is for the search. ledger: private folder of what is out of this table,
    made when it is missing; the release shows as much of what changed since the last one as is safe beside all of them, of
    margins that they show. Raises NothingPublishableError when no collection satisfies the policy or the one found is not
    proven to, InputError when the policy does not fit the table, or demands no privacy, or no diversity of what is sensitive
    (`require_demanded`), CriterionError for a diversity that no reader could read back.

    >>> from marginals.example import table
    >>> publish(table, Policy(k_link=4, diversity="distinct:2")).release
    Release(48 rows, information 0.4968 nats; age:1, diagnosis:0; diagnosis:0, sex:0)
    """
    deadline = within(seconds)
    prepared = prepare(table, policy, progress, ledger)
    search = searched(prepared, deadline, progress)
    published = content(prepared, search.result.cliques, title, deadline)
    progress("verifying", 0, 0)
    verify(prepared, published, search.result.cliques)
    steward = steward_report(prepared, published, search, deadline)
    if prepared.series is None:
        return Publication(Release(published), steward)
    return _in_series(prepared.series, published, steward, search, policy)


def prepare(table: Table, policy: Policy, progress: Progress, ledger: str | Path | None = None) -> Prepared:
    """A table with what the policy demands of its release, and what earlier releases leave of it.

    Raises InputError, CriterionError and NothingPublishableError for what no search can mend.
    """
    requirements = policy.requirements_of(table)
    _require_publishable(policy, requirements, ledger)
    require_demanded(table, policy)
    if ledger is None:
        return Prepared(policy, requirements, table, table)
    turnover_known = policy.turnover == KNOWN
    series = Continuation.of(Ledger.read(ledger), table, requirements, turnover_known=turnover_known)
    progress("settling", 0, 0)
    return Prepared(policy, requirements, series.table, series.shown, series)


def content(prepared: Prepared, cliques: tuple[Mask, ...], title: str, deadline: Deadline) -> BundleContent:
    """What a release of some margins tells: a function of the marginals of those who are shown.

    Raises InputError where the condition of a part would read otherwise beside the published labels.
    """
    part = "" if prepared.shown.part is None else prepared.shown.part.where.text
    published = _content(prepared, prepared.shown, cliques, title, deadline)
    published = replace(published, turnover_known=prepared.policy.turnover == KNOWN, where=part)
    if part:
        _require_readable_part(part, published)
    return published


def verify(prepared: Prepared, published: BundleContent, cliques: tuple[Mask, ...]) -> None:
    """Raise NothingPublishableError unless every claim of a release is proven, as its readers would.

    Of a part everybody is judged too: in the ledger they are entered as if all were shown.
    """
    judged = [published]
    if prepared.shown is not prepared.table:
        judged.append(_content(prepared, prepared.table, cliques, published.title, published.deadline))
    for finding in (finding for each in judged for finding in each.verify().checks):
        if not finding.holds:
            raise NothingPublishableError(
                f"the collection that the search found is not proven to be private, so it is not published: {finding}"
                + _base_values_hint(prepared.policy, prepared.table)
            )


def _in_series(
    series: Continuation, published: BundleContent, steward: StewardReport, search: Search, policy: Policy
) -> Publication:
    """A publication that is proven to be safe beside every release of a ledger, and is entered there."""
    cliques = search.result.cliques
    series.require_safe(cliques)
    waiting = replace(series.after(cliques, policy.seed), kept=search.kept)
    entry = series.entering(cliques, datetime.now(UTC).date().isoformat())
    return Publication(_LedgerRelease(published), replace(steward, waiting=waiting), entry)


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


def require_demanded(table: Table, policy: Policy) -> None:
    """Raise InputError where a release could show a sensitive attribute of which no diversity is demanded.

    Readers could then conclude its value for single people, and nothing would be checked of that. Whoever wants it says
    so: diversity = "none".

    >>> from marginals.example import table
    >>> require_demanded(table, Policy(k_link=4, diversity="none"))
    """
    silent = [name for name in policy.silent_on(table.sensitive) if _could_be_shown(table, policy, name)]
    if not silent:
        return
    by_attribute = isinstance(policy.diversity, Mapping)
    key, where = (silent[0], "to diversity") if by_attribute else ("diversity", "under [privacy]")
    proposed = [proposed_diversity(table, name) for name in silent[: 1 if by_attribute else None]]
    demand = PROPOSED if None in proposed else max(map(str, proposed), key=WEAKER.index)
    raise InputError(
        f"{' and '.join(map(repr, silent))} {'is' if len(silent) == 1 else 'are'} sensitive, and no diversity is demanded, "
        f"so readers could learn the value of single people: add {key} = {json.dumps(demand)} {where}"
        + (", or a weaker one that all rows together satisfy" if None in proposed else "")
        + f", or {key} = {json.dumps(NO_DIVERSITY)} to publish without, on purpose"
    )


def _could_be_shown(table: Table, policy: Policy, attribute: str) -> bool:
    """Whether a release may have a margin with the attribute at any level below `*`."""
    coarsest = table.domain.hierarchy(attribute).height - 1
    if coarsest < 0 or policy.max_sensitive_margins == 0:
        return False
    return not any(set(margin) == {attribute} and margin[attribute] >= coarsest for margin in policy.must_not_publish)


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
    prepared: Prepared, table: Table, cliques: tuple[Mask, ...], title: str, deadline: Deadline
) -> BundleContent:
    """What the margins tell of a table, all who are judged or a part, and the claims that are made of that."""
    chosen = Collection.of(table.cube, cliques)
    judged = _judged_levels(prepared.requirements)
    marginals = releasable(chosen, table.public, judged)

    def known(claim: Claim) -> Claim:
        if isinstance(claim, MaxentDiversity) and claim.sensitive in table.counts_missing:
            return claim.leaving_out(MISSING)
        return claim

    def stated(claim: Claim) -> Claim:
        if not isinstance(claim, AttributeClaim) or claim.about in table.public:
            return claim
        levels = released_levels(chosen, claim.about, judged.get(claim.about, ()))
        return claim.stated_on(chosen).at_level(levels.index(claim.level) if claim.level in levels else 0)

    return BundleContent(
        marginals,
        table.roles,
        tuple(map(stated, prepared.requirements.claims)),
        title,
        rows_per_person=table.rows_per_person,
        codebook=table.codebook.of_labels(marginals.domain),
        rules=tuple(
            rule.applied(table.sensitive).stating(known).stating(stated) for rule in prepared.policy.named_rules
        ),
        deadline=deadline,
    )


# What a release may tell of a collection: its marginals, and no label that none of them counts.
#
# A reader could tell the base values of a table from its hierarchies, how many rare ones there are, and which, though
# no marginal shows one of them. So a release has hierarchies of its own: the base values of an attribute are the
# values that it has at its finest published level, as far as they have rows, and of the levels above only those that
# some marginal shows are kept. They follow from the marginals: two tables with the same marginals have them in common.
# That a value without rows is missing changes no conclusion, for its cells are known to be empty. An attribute that no
# marginal shows is only `*`.
#
# Where the labels of a hierarchy are public, it was made without the rows, and all of it is told.


def releasable(
    collection: Collection, public: AnyCollection[str], judged: Mapping[str, AnyCollection[int]] | None = None
) -> Collection:
    """The same marginals over a domain that tells nothing else. public: attributes whose whole hierarchies may be told.

    judged: levels whose values a claim is about; which of them the published values belong to is told too. Levels are
    numbered anew, from the finest that is left of each attribute.
    """
    levels = {
        name: released_levels(collection, name, (judged or {}).get(name, ()))
        for name in collection.domain.attributes
        if name not in public
    }
    hierarchies = {
        name: _counted_part(collection, name, levels[name]) if name in levels else hierarchy
        for name, hierarchy in collection.domain.items()
    }
    domain = Domain.of(hierarchies)
    tables = [_renumbered(table, domain, levels) for table in collection.tables]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def released_levels(collection: Collection, attribute: str, judged: AnyCollection[int] = ()) -> list[int]:
    """The levels below `*` at which some margin shows an attribute, and coarser ones that are judged; ascending."""
    shown = {margin[attribute] for margin in collection.margins if attribute in margin}
    return sorted(shown | {level for level in judged if level > min(shown, default=level)})


def _counted_part(collection: Collection, attribute: str, levels: list[int]) -> Hierarchy:
    """The values that have rows at the finest of some levels, and these levels of their generalizations."""
    hierarchy = collection.domain.hierarchy(attribute)
    if not levels:
        return hierarchy.over_levels([], [])
    counted = collection.cube.table(collection.domain.mask({attribute: levels[0]}))
    return hierarchy.over_levels(levels, counted.codes[0].tolist())


def _renumbered(table: ContingencyTable, domain: Domain, levels: Mapping[str, list[int]]) -> ContingencyTable:
    """A table over the new domain; levels: of each attribute that has new ones, the old ones in order."""
    margin, codes = {}, {}
    for attribute, column in zip(table.attributes, table.codes):
        old = table.margin[attribute]
        margin[attribute] = levels[attribute].index(old) if attribute in levels else old
        hierarchy = domain.hierarchy(attribute)
        new_codes = [
            hierarchy.code(label, margin[attribute]) for label in table.domain.hierarchy(attribute).labels[old]
        ]
        codes[attribute] = np.array([-1 if code is None else code for code in new_codes])[column]
    return ContingencyTable.from_cells(domain, margin, codes, table.counts)
