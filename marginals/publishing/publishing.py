"""Publishing: from a table and a policy to the release that keeps the most of the data."""

import json
from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path

import numpy as np

from checks.claims import AttributeClaim, Claim, MaxentDiversity, MinCell, NoSmallCellCertain, NoSmallCertain, Register
from checks.diversity.registry import require_readable
from checks.finding import Finding, Verdict
from checks.requirements import Requirements
from marginals.arguments import require, require_function
from marginals.bundle.content import KNOWN, BundleContent
from marginals.bundle.imprint import NO_IMPRINT, TITLE, Imprint
from marginals.bundle.signature import SecretKey
from marginals.bundle.writing import Entering
from marginals.deadline import SEARCH_CLOCK, VERIFYING, Seconds, within
from marginals.errors import InputError, NothingPublishableError
from marginals.ledger import Continuation, Ledger
from marginals.published_values import Part
from marginals.publishing.dependent import could_be_shown, require_independent
from marginals.publishing.further import further_tables_beside, proven_beside, require_further
from marginals.publishing.impossible import narrowed, opened_pairs, released_pairs
from marginals.publishing.policy import NO_DIVERSITY, PROPOSED, Policy, require_table
from marginals.publishing.searching import PROGRESS, Prepared, Progress, Search, no_progress, searched
from marginals.publishing.stewarding import steward_report
from marginals.publishing.wanted import NO_FURTHER
from marginals.release.release import Release, write_release
from marginals.steward import StewardReport
from marginals.tables.attribute import MISSING
from marginals.tables.group_names import NamedLevels
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

    def write(self, path: str | Path, sign: str | Path | SecretKey | None = None) -> "Publication":
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
        raise InputError(
            "a release of a ledger is written by its publication, which enters it: publication.write(path)"
        )


def publish(
    table: Table,
    policy: Policy,
    progress: Progress = no_progress,
    title: str | Imprint = TITLE,
    seconds: Seconds = None,
    ledger: str | Path | None = None,
) -> Publication:
    """The best release of a table that the policy's strategy finds, and beside it what its steward alone may know.

    title: what its report and its descriptor call it, or its imprint. The release is verified by its marginals alone before
    it is given back, whatever time that takes. seconds: until then, instead of the policy's `time_limit`; half of it is for
    the search. ledger:
    private folder of what is out of this table, made when it is missing; the release shows as much of what changed since
    the last one as is safe beside all of them. Raises NothingPublishableError when no collection satisfies the policy or the
    one found is not proven to, InputError when the policy does not fit the table, or demands no privacy, or no diversity of
    what is sensitive, CriterionError for a diversity that no reader could read back.

    >>> from marginals.example import table
    >>> publish(table, Policy(k_link=4, diversity="distinct:2")).release
    Release(48 rows, information 0.4968 nats; age:1, diagnosis:0; diagnosis:0, sex:0)
    """
    require_table(table, policy)
    require_function(progress, "progress", PROGRESS)
    require(title, str | Imprint, "title", 'a line of text, or marginals.Imprint("A census", "City of Ulm")')
    imprint = NO_IMPRINT if isinstance(title, str) else title
    called = Imprint(title).title if isinstance(title, str) else title.title
    deadline = within(seconds)
    choosing = deadline if deadline.at < inf else Deadline.after(policy.time_limit, SEARCH_CLOCK)
    prepared = prepare(table, policy, progress, ledger)

    def released(further: tuple[Mask, ...]) -> BundleContent:
        cliques = search.result.cliques
        named = released_names(prepared, prepared.shown, (*cliques, *further))
        return replace(content(prepared, cliques, named, called, further), imprint=imprint)

    while True:
        search = searched(prepared, deadline, progress)
        beside = further_tables_beside(prepared, search, choosing, progress)
        further = () if beside is None else beside.masks
        published = released(further)
        collection = Collection.of(prepared.shown.cube, (*search.result.cliques, *further))
        if not (opened := opened_pairs(prepared, collection, published)):
            break
        prepared = narrowed(prepared, search, opened)
    if beside is not None:
        beside, published = proven_beside(beside, released, choosing, progress)
    progress(VERIFYING, 0, 0)
    if beside is not None and set() < _open_claims(published) <= _OF_ALL_TABLES:
        beside = replace(beside, tables=(), left_out=(*beside.left_out, *beside.tables))
        published = released(())
    verify(prepared, published, search)
    steward = steward_report(prepared, published, search, beside, deadline)
    if prepared.series is None:
        return Publication(Release(published), steward)
    series, cliques = prepared.series, search.result.cliques
    series.require_safe(cliques)
    waiting = series.after(cliques, policy.seed)
    named = released_names(prepared, prepared.shown, cliques)  # which all later releases keep
    hierarchies = {name: naming.hierarchy for name, naming in named.items()}
    entry = series.entering(cliques, datetime.now(UTC).date().isoformat(), hierarchies)
    return Publication(_LedgerRelease(published), replace(steward, waiting=waiting), entry)


_OF_ALL_TABLES = {NoSmallCertain.criterion, NoSmallCellCertain.criterion}
"""Claims that further tables can leave open."""


def _open_claims(published: BundleContent) -> set[str]:
    checks = published.verify().checks
    return {finding.criterion for finding in checks if not finding.holds and finding.verdict is not Verdict.ATTESTED}


def prepare(table: Table, policy: Policy, progress: Progress, ledger: str | Path | None = None) -> Prepared:
    """A table with what the policy demands of its release, and what earlier releases leave of it.

    Raises InputError, CriterionError and NothingPublishableError for what no search can mend.
    """
    if policy.register:
        _require_one_look(table, ledger)
    require_further(policy, table, ledger)
    requirements = policy.requirements_of(table)
    _require_publishable(policy, requirements, ledger)
    require_demanded(table, policy)
    require_independent(table, policy)
    if ledger is None:
        return Prepared(policy, requirements, table, table)
    if table.impossible:
        raise InputError(
            "data.impossible cannot be judged beside the other releases of a ledger: publish without --ledger, or leave "
            "the entries unconfirmed"
        )
    turnover_known = policy.turnover == KNOWN
    series = Continuation.of(Ledger.read(ledger), table, requirements, turnover_known=turnover_known)
    progress("settling", 0, 0)
    return Prepared(policy, requirements, series.table, series.published, series)


def _require_one_look(table: Table, ledger: str | Path | None) -> None:
    what = "register = true is about readers who know the nonsensitive values of everybody"
    if table.rows_per_person not in (None, 1):
        raise InputError(
            f'{what}, and these cannot be judged where a person can have several rows; set one_row = "first" in [data], or '
            "remove the line register = true"
        )
    if ledger is not None:
        raise InputError(
            f"{what}, and these cannot be judged beside a ledger, where people are in several releases; remove the line "
            "register = true, or publish without --ledger"
        )


def content(
    prepared: Prepared,
    core: Sequence[Mask],
    named: Mapping[str, NamedLevels],
    title: str,
    further: Sequence[Mask] = (),
) -> BundleContent:
    """What a release of some margins tells: a function of the marginals of those who are shown. named: as released.

    No deadline ends its verification. Raises InputError where the condition of a part would read otherwise beside the
    published labels.
    """
    part = "" if prepared.shown.part is None else prepared.shown.part.where.text
    published = _content(prepared, prepared.shown, core, named, title, further)
    published = replace(published, turnover_known=prepared.policy.turnover == KNOWN, where=part)
    for table in published.collection.tables if part else ():
        if (name := Part(part).excluding(table)) is not None:
            raise InputError(
                f"the condition {part!r} would read otherwise beside the published values of {name!r}; write labels "
                "between quotes"
            )
    return published


def verify(prepared: Prepared, published: BundleContent, search: Search) -> None:
    """Raise NothingPublishableError unless every claim of a release is proven, as its readers would.

    Of a part everybody is judged too: in the ledger they are entered as if all were shown.
    """
    judged = [published]
    if prepared.shown is not prepared.table:
        cliques = search.result.cliques  # beside a ledger there are no further tables
        named = released_names(prepared, prepared.table, cliques)
        judged.append(_content(prepared, prepared.table, cliques, named, published.title))
    findings = [finding for judgement in judged for finding in judgement.verify().checks]
    findings = [finding for finding in findings if finding.verdict is not Verdict.ATTESTED]
    for finding in [*findings, *search.register]:
        if not finding.holds:
            why = f" ({finding.note})" if finding.note else ""
            raise NothingPublishableError(
                f"the claims of the collection that the search found are not proven, so it is not published: {finding}{why}"
                + _base_values_hint(prepared.policy, prepared.table)
                + _derived_hint(published, finding)
            )


def _require_publishable(policy: Policy, requirements: Requirements, ledger: str | Path | None) -> None:
    if not requirements.claims:
        raise InputError(
            "the policy demands no privacy, so the table itself would be published; set k_link, k_combinatorial, "
            "min_cell, diversity or rules (in a config under [privacy]), such as k_link = 10"
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
    """
    silent = [name for name in policy.silent_on(table.sensitive) if could_be_shown(table, policy, name)]
    if not silent:
        return
    by_attribute = isinstance(policy.diversity, Mapping)
    key, where = (silent[0], "to diversity") if by_attribute else ("diversity", "under [privacy]")
    raise InputError(
        f"{' and '.join(map(repr, silent))} {'is' if len(silent) == 1 else 'are'} sensitive, and no diversity is demanded, "
        f"so readers could learn the value of single people: add {key} = {json.dumps(PROPOSED)} {where}, "
        f"or {key} = {json.dumps(NO_DIVERSITY)} to publish without, on purpose"
    ).helped_by(diversity={"attribute": silent[0] if by_attribute else "", "demand": PROPOSED})


def _base_values_hint(policy: Policy, table: Table) -> str:
    # a criterion about base values that a release keeps to itself is judged without them
    hidden = [name for name in table.sensitive if name not in table.public]
    private = [repr(name) for name in hidden if table.domain.hierarchy(name).height > 1]
    demanded = policy.diversities(table.sensitive)
    criterion = next((claim.diversity for claim in demanded if claim.diversity.about_base_values), None)
    if criterion is None or not private:
        return ""
    return (
        f"; readers do not know the values below the published ones of {' and '.join(private)}, over which "
        f'{criterion.name} diversity could spread the rows; if everybody may know them, set labels = "public" there'
    )


def _derived_hint(published: BundleContent, finding: Finding) -> str:
    if not published.further or finding.criterion != MinCell.criterion:
        return ""
    return (
        "; beside further tables it takes programs to decide what counts can be worked out: demand min_published_cell "
        f'instead of min_cell and of rules, which promises less, or set further_tables = "{NO_FURTHER}"'
    )


def _judged_levels(requirements: Requirements, domain: Domain) -> dict[str, set[int]]:
    # besides the finest published ones; of values that are as far apart as they must be generalized to merge, all
    judged: dict[str, set[int]] = {}
    for claim in requirements.diversity_claims:
        levels = judged.setdefault(claim.sensitive, set())
        levels |= {claim.level} if claim.level else set()
        if claim.distance == "hierarchical":
            levels |= set(range(1, domain.hierarchy(claim.sensitive).height))
    return judged


def _content(
    prepared: Prepared,
    table: Table,
    margins: Sequence[Mask],
    named: Mapping[str, NamedLevels],
    title: str,
    further: Sequence[Mask] = (),
) -> BundleContent:
    chosen = Collection.of(table.cube, (*margins, *further))
    judged = _judged_levels(prepared.requirements, table.domain)
    marginals = releasable(chosen, table.public, judged, named)
    told = _levels_told(chosen, table.public, judged, named)

    def anew(mask: Mask) -> Mask:
        margin = table.domain.margin(mask)
        return marginals.domain.mask({a: told[a].index(level) if a in told else level for a, level in margin.items()})

    core = Collection.of(marginals.cube, map(anew, margins))
    in_order = [(name, named[name]) for name in marginals.domain.attributes if name in named]

    def known(claim: Claim) -> Claim:
        if isinstance(claim, MaxentDiversity) and claim.sensitive in table.counts_missing:
            return claim.leaving_out(MISSING)
        return claim

    def stated(claim: Claim) -> Claim:
        if not isinstance(claim, AttributeClaim) or (claim.about in table.public and claim.about not in named):
            return claim
        levels = released_levels(chosen, claim.about, judged.get(claim.about, ()))
        if claim.about in table.public:
            levels = whole_levels(levels)
        return claim.stated_on(chosen, levels.index(claim.level) if claim.level in levels else 0)

    def based(claim: Claim) -> Claim:
        return claim.based_on(core, table.sensitive) if isinstance(claim, Register) else claim

    return BundleContent(
        core,
        table.roles,
        tuple(based(stated(claim)) for claim in _about_what_is_shown(prepared.requirements.claims, chosen)),
        title,
        rows_per_person=table.rows_per_person,
        one_row=table.one_row,
        codebook=table.codebook.of_labels(marginals.domain),
        rules=tuple(
            rule.applied(tuple(filter(chosen.shows, table.sensitive))).stating(known).stating(stated)
            for rule in prepared.policy.named_rules
        ),
        labels={name: dict(naming.occurring) for name, naming in in_order if naming.occurring},
        impossible=released_pairs(chosen, table.impossible, named, marginals.domain),
        further=tuple(map(anew, further)),
    )


def _about_what_is_shown(claims: Sequence[Claim], chosen: Collection) -> Sequence[Claim]:
    shown_claims = [claim for claim in claims if not isinstance(claim, AttributeClaim) or chosen.shows(claim.about)]
    return shown_claims or claims


def released_names(prepared: Prepared, table: Table, cliques: tuple[Mask, ...]) -> dict[str, NamedLevels]:
    """The names of groups in a release, by which nobody can conclude a count below the largest one demanded."""
    collection = Collection.of(table.cube, cliques)
    finest = {name: collection.finest_level(name) for name in table.domain.attributes}
    return table.names(finest, prepared.requirements.least_count)


# What a release may tell of a collection: its marginals, and no label that none of them counts.
#
# Hierarchies could tell which rare base values a table has. So a release has the values at the finest published level that
# have rows, and of the levels above those that some marginal shows. Where labels are public, all of a hierarchy is told, but
# of levels that were fitted to the rows those alone that margins show.


def releasable(
    collection: Collection,
    public: AnyCollection[str],
    judged: Mapping[str, AnyCollection[int]] | None = None,
    named: Mapping[str, NamedLevels] | None = None,
) -> Collection:
    """The same marginals over a domain that tells nothing else. public: attributes whose whole hierarchies may be told.

    judged: coarser levels that a claim is about, which are told too. named: names of groups. Levels are numbered anew.
    """
    named = named or {}
    levels = _levels_told(collection, public, judged or {}, named)
    hierarchies = {}
    for name, hierarchy in collection.domain.items():
        if name in public and name in levels:
            hierarchies[name] = named[name].hierarchy.over_levels(levels[name], range(hierarchy.size(0)))
        else:
            told = named.get(name)
            hierarchies[name] = _counted_part(collection, name, levels[name], told) if name in levels else hierarchy
    domain = Domain.of(hierarchies)
    labels = {name: told.hierarchy for name, told in named.items()}
    tables = [_renumbered(table, domain, levels, labels) for table in collection.tables]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def _levels_told(
    collection: Collection,
    public: AnyCollection[str],
    judged: Mapping[str, AnyCollection[int]],
    named: Mapping[str, NamedLevels],
) -> dict[str, list[int]]:
    levels = {
        name: released_levels(collection, name, judged.get(name, ()))
        for name in collection.domain.attributes
        if name not in public or name in named
    }
    return {name: whole_levels(told) if name in public else told for name, told in levels.items()}


def released_levels(collection: Collection, attribute: str, judged: AnyCollection[int] = ()) -> list[int]:
    """The levels below `*` at which some margin shows an attribute, and coarser ones that are judged; ascending."""
    published_levels = {margin[attribute] for margin in collection.margins if attribute in margin}
    return sorted(published_levels | {level for level in judged if level > min(published_levels, default=level)})


def whole_levels(levels: list[int]) -> list[int]:
    """These levels, and the base values."""
    return sorted({0, *levels})


def _counted_part(
    collection: Collection, attribute: str, levels: list[int], named: NamedLevels | None = None
) -> Hierarchy:
    # named: their names, and the order of those at the finest level, where they are named anew
    hierarchy = collection.domain.hierarchy(attribute)
    if not levels:
        return hierarchy.over_levels([], [])
    counted = collection.cube.table(collection.domain.mask({attribute: levels[0]})).codes[0].tolist()
    if named is None:
        return hierarchy.over_levels(levels, counted)
    has_rows = frozenset(counted)
    part_labels = [named.hierarchy.labels[levels[0]][code] for code in named.order if code in has_rows]
    part = named.hierarchy.over_levels(levels, counted)
    paths = {path[0]: path for path in part.rows()}
    listed = replace(Hierarchy.from_rows([paths[label] for label in part_labels]), has_names=part.has_names)
    return listed if part.order is None else listed.ordered_by([part.labels[0][code] for code in part.order])


def _renumbered(
    table: ContingencyTable, domain: Domain, levels: Mapping[str, list[int]], labels: Mapping[str, Hierarchy]
) -> ContingencyTable:
    # levels: of each attribute that has new ones, the old ones in order; labels: hierarchies with new names
    margin, codes = {}, {}
    for attribute, column in zip(table.attributes, table.codes):
        old = table.margin[attribute]
        margin[attribute] = levels[attribute].index(old) if attribute in levels else old
        named = labels.get(attribute, table.domain.hierarchy(attribute)).labels[old]
        new = [domain.hierarchy(attribute).code(label, margin[attribute]) for label in named]
        codes[attribute] = np.array([-1 if code is None else code for code in new])[column]
    return ContingencyTable.from_cells(domain, margin, codes, table.counts)
