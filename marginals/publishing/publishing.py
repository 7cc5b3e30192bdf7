"""Publishing: the release of a table that preserves the most of its data under a policy."""

import json
from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path

from checks.claims import AttributeClaim, Claim, NoSmallCellCertain, NoSmallCertain, Register
from checks.diversity.registry import require_readable
from checks.requirements import Requirements
from marginals.arguments import require, require_function
from marginals.bundle.content import KNOWN, BundleContent
from marginals.bundle.imprint import NO_IMPRINT, TITLE, Imprint
from marginals.bundle.signature import SecretKey
from marginals.bundle.together import recoded
from marginals.bundle.writing import Entering
from marginals.deadline import SEARCH_CLOCK, VERIFYING, Seconds, within
from marginals.errors import InputError, NothingPublishableError
from marginals.ledger import Continuation, Ledger
from marginals.published_values import Part
from marginals.publishing.dependent import could_be_shown, require_independent
from marginals.publishing.further import chosen_tables, proven_tables, require_further
from marginals.publishing.impossible import narrowed, opened_pairs, released_pairs
from marginals.publishing.policy import NO_DIVERSITY, PROPOSED, Policy, leaving_out_missing, require_table
from marginals.publishing.searching import PROGRESS, Prepared, Progress, Search, no_progress, searched
from marginals.publishing.stewarding import steward_report
from marginals.release.release import Release, write_release
from marginals.steward import StewardReport
from marginals.tables.group_names import NamedLevels
from marginals.tables.table import Table
from models.deadline import Deadline
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Hierarchy, Mask


@frozen(eq=False)
class Publication:
    """Result of publishing: a release, a report for its steward, and an entry for the ledger.

    release: for everybody. steward: facts that do not follow from the published marginals, for the steward of the table
    alone. entry: the ledger's entry, made when the release is written; None without a ledger.

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
        """Write the release as a bundle, all of it or nothing, and enter it in its ledger, if it has one.

        Returns the publication with the folder of its release. sign: as for `Release.write`. The steward's report is written
        separately, to a file that is not for publication. Raises InputError.

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
    """A release of a ledger; only its publication may write it."""

    def write(self, path: str | Path, sign: str | Path | None = None) -> Release:  # noqa: ARG002 - the same parameters as any release
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
    """Publish the best release of a table that the policy's strategy finds, with a report for its steward.

    title: of report and descriptor, or an imprint. seconds: time for everything before the last verification, instead of the
    policy's `time_limit`; half of it is for the search. The last verification, from the published marginals alone, is never
    cut. ledger: private folder with the earlier releases of this table, made if it is missing. The release shows as much of
    the changes as is safe together with them.

    Raises NothingPublishableError if no collection satisfies the policy, or the claims of the best one are not proven.
    Raises InputError if the policy does not fit the table, demands no privacy, or no diversity of a sensitive attribute.
    Raises CriterionError for a diversity that no reader could read back.

    >>> from marginals.example import table
    >>> publish(table, Policy(k_link=4, diversity="distinct:2")).release
    Release(48 rows, information 0.4968 nats; age:1, diagnosis:0; diagnosis:0, sex:0)
    """
    require_table(table, policy)
    require_function(progress, "progress", PROGRESS)
    require(title, str | Imprint, "title", 'a line of text, or marginals.Imprint("A census", "City of Ulm")')
    imprint = NO_IMPRINT if isinstance(title, str) else title
    heading = Imprint(title).title if isinstance(title, str) else title.title
    deadline = within(seconds)
    choosing = deadline if deadline.at < inf else Deadline.after(policy.time_limit, SEARCH_CLOCK)
    prepared = prepare(table, policy, progress, ledger)

    def released(further: tuple[Mask, ...]) -> BundleContent:
        published = content(prepared, prepared.visible, search.result.cliques, heading, further)
        return replace(published, imprint=imprint)

    while True:
        search = searched(prepared, deadline, progress)
        further = chosen_tables(prepared, search, choosing, progress)
        masks = () if further is None else further.masks
        published = released(masks)
        collection = Collection.of(prepared.visible.cube, (*search.result.cliques, *masks))
        if not (opened := opened_pairs(prepared, collection, published)):
            break
        prepared = narrowed(prepared, search, opened)
    if further is not None:
        further, published = proven_tables(further, released, choosing, progress)
    progress(VERIFYING, 0, 0)
    unproven = {finding.criterion for finding in published.verify().unproven}
    if further is not None and unproven and unproven <= _OF_ALL_TABLES:
        further = replace(further, tables=(), left_out=(*further.left_out, *further.tables))
        published = released(())
    verify(prepared, published, search)
    steward = steward_report(prepared, published, search, further, deadline)
    if prepared.series is None:
        return Publication(Release(published), steward)
    series, cliques = prepared.series, search.result.cliques
    series.require_safe(cliques)
    waiting = series.after(cliques)
    named = released_names(prepared, prepared.visible, cliques)  # which all later releases keep
    hierarchies = {name: naming.hierarchy for name, naming in named.items()}
    entry = series.entering(cliques, datetime.now(UTC).date().isoformat(), hierarchies)
    return Publication(_LedgerRelease(published), replace(steward, waiting=waiting), entry)


_OF_ALL_TABLES = {NoSmallCertain.criterion, NoSmallCellCertain.criterion}  # further tables can leave these open


def prepare(table: Table, policy: Policy, progress: Progress, ledger: str | Path | None = None) -> Prepared:
    """Prepare a table for the search: its requirements, and its part that earlier releases leave publishable.

    Raises InputError, CriterionError and NothingPublishableError for obstacles that no search can remove.
    """
    policy = policy.of_attributes(table.domain)
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
            f'{what}. It cannot be judged if a person can have several rows; set one_row = "first" in [data], or remove '
            "the line register = true"
        )
    if ledger is not None:
        raise InputError(
            f"{what}. It cannot be judged beside a ledger, where people are in several releases; remove the line "
            "register = true, or publish without --ledger"
        )


def verify(prepared: Prepared, published: BundleContent, search: Search) -> None:
    """Raise NothingPublishableError unless readers could prove every claim of a release.

    With a part, the release of all people is verified too, because the ledger enters everybody.
    """
    contents = [published]
    if prepared.visible is not prepared.table:
        contents.append(content(prepared, prepared.table, search.result.cliques, published.title))  # of a ledger
    unproven = [finding for checked in contents for finding in checked.verify().unproven]
    for finding in [*unproven, *(finding for finding in search.register if not finding.holds)]:
        why = f" ({finding.note})" if finding.note else ""
        raise NothingPublishableError(
            f"the claims of the collection that the search found are not proven, so it is not published: {finding}{why}"
            + _base_values_hint(prepared.policy, prepared.table)
        )


def _require_publishable(policy: Policy, requirements: Requirements, ledger: str | Path | None) -> None:
    if not requirements.claims:
        raise InputError(
            "the policy demands no privacy, so the table itself would be published. Set k_link = 10, or another of "
            "k_combinatorial, min_cell, diversity and rules (in a config under [privacy])"
        )
    for claim in requirements.diversity_claims:
        require_readable(claim.diversity)
    if policy.turnover == KNOWN and ledger is None:
        raise InputError(
            f'turnover = "{KNOWN}" is about the releases of a ledger, and there is none; publish with --ledger DIR, '
            "or leave turnover out"
        )


def require_demanded(table: Table, policy: Policy) -> None:
    """Raise InputError if a release could show a sensitive attribute without a demanded diversity.

    Readers could then conclude its value for single people, and no check would notice. diversity = "none" allows it.
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
    ).about("privacy.diversity")


def _base_values_hint(policy: Policy, table: Table) -> str:
    # a criterion about base values that a release does not list is judged without them
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


def _claimed_levels(requirements: Requirements, domain: Domain) -> dict[str, set[int]]:
    # coarser levels than the finest published one: named ones, that of the claim itself, or all that define its distances
    claimed: dict[str, set[int]] = {}
    for attribute, level in domain.named_places.values():
        claimed.setdefault(attribute, set()).add(level)
    for claim in requirements.diversity_claims:
        levels = claimed.setdefault(claim.sensitive, set())
        levels |= {claim.level} if claim.level else set()
        if claim.distance == "hierarchical":
            levels |= set(range(1, domain.hierarchy(claim.sensitive).height))
    return claimed


def content(
    prepared: Prepared,
    table: Table,
    core: tuple[Mask, ...],
    title: str,
    further: tuple[Mask, ...] = (),
) -> BundleContent:
    """Content of a release of some margins, a function of these marginals alone. table: all people, or those shown.

    Raises InputError if the condition of a part would have another meaning with the published labels.
    """
    chosen, named = Collection.of(table.cube, (*core, *further)), released_names(prepared, table, (*core, *further))
    claimed = _claimed_levels(prepared.requirements, table.domain)
    levels = _published_levels(chosen, table.public, claimed, named)
    marginals = releasable(chosen, table.public, claimed, named)

    def renumbered(mask: Mask) -> Mask:
        margin = table.domain.margin(mask)
        return marginals.domain.mask({a: levels[a].index(at) if a in levels else at for a, at in margin.items()})

    def as_published(claim: Claim) -> Claim:
        claim = leaving_out_missing(claim, table.counts_missing)
        if not isinstance(claim, AttributeClaim) or claim.about not in levels:
            return claim
        published = levels[claim.about]
        return claim.stated_on(chosen, published.index(claim.level) if claim.level in published else 0)

    collection = Collection.of(marginals.cube, map(renumbered, core))
    claims = prepared.requirements.claims
    shown_claims = [claim for claim in claims if not isinstance(claim, AttributeClaim) or chosen.shows(claim.about)]
    claims = tuple(map(as_published, shown_claims or claims))
    rules = [rule.applied(tuple(filter(chosen.shows, table.sensitive))) for rule in prepared.policy.named_rules]
    result = BundleContent(
        collection,
        table.roles,
        tuple(c.based_on(collection, table.sensitive) if isinstance(c, Register) else c for c in claims),
        title,
        rows_per_person=table.rows_per_person,
        one_row=table.one_row,
        codebook=table.codebook.of_labels(marginals.domain),
        rules=tuple(rule.stating(as_published) for rule in rules),
        labels={a: dict(named[a].occurring) for a in marginals.domain.attributes if a in named and named[a].occurring},
        impossible=released_pairs(chosen, table.impossible, named, marginals.domain),
        further=tuple(map(renumbered, further)),
        turnover_known=prepared.policy.turnover == KNOWN,
        where="" if table.part is None else table.part.where.text,
    )
    for counts in result.collection.tables if result.where else ():
        if (name := Part(result.where).excluding(counts)) is not None:
            raise InputError(
                f"the condition {result.where!r} would read otherwise beside the published values of {name!r}; write labels "
                "between quotes"
            )
    return result


def released_names(prepared: Prepared, table: Table, cliques: tuple[Mask, ...]) -> dict[str, NamedLevels]:
    """The names of groups in a release, by which nobody can conclude a count below the largest one demanded."""
    collection = Collection.of(table.cube, cliques)
    finest = {name: collection.finest_level(name) for name in table.domain.attributes}
    return table.names(finest, prepared.requirements.least_count)


# A release has the marginals of a collection, and no label that none of them counts.
#
# Hierarchies could reveal which rare base values a table has. So a release lists the values with rows at the finest
# published level, and of the coarser levels those that some marginal shows. If labels are public, the complete hierarchy is
# listed, but levels that were fitted to the rows only if margins show them.


def releasable(
    collection: Collection,
    public: AnyCollection[str],
    claimed: Mapping[str, AnyCollection[int]] | None = None,
    named: Mapping[str, NamedLevels] | None = None,
) -> Collection:
    """Return the marginals over a domain that reveals nothing else; levels are renumbered.

    public: attributes with public hierarchies. claimed: coarser levels that a claim is about, which are published too.
    named: names of groups.
    """
    named = named or {}
    levels = _published_levels(collection, public, claimed or {}, named)
    hierarchies = {}
    for name, hierarchy in collection.domain.items():
        if name not in levels:
            hierarchies[name] = hierarchy
        elif name in public:
            hierarchies[name] = named[name].hierarchy.over_levels(levels[name], range(hierarchy.size(0)))
        else:
            hierarchies[name] = _counted_part(collection, name, levels[name], named.get(name))
    domain, ladders = Domain.of(hierarchies), dict(collection.domain.items())
    places: dict[str, Sequence[int] | dict[int, int]] = {name: range(of.height + 1) for name, of in ladders.items()}
    places |= {name: {level: place for place, level in enumerate(of_name)} for name, of_name in levels.items()}
    with_names = Domain.of(ladders | {name: naming.hierarchy for name, naming in named.items()})
    tables = [recoded(replace(table, domain=with_names), domain, places) for table in collection.tables]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def _published_levels(
    collection: Collection,
    public: AnyCollection[str],
    claimed: Mapping[str, AnyCollection[int]],
    named: Mapping[str, NamedLevels],
) -> dict[str, list[int]]:
    """The levels of each attribute without a public hierarchy, or with names: those of margins and coarser claimed ones."""
    levels = {}
    for name in collection.domain.attributes:
        if name not in public or name in named:
            published = {margin[name] for margin in collection.margins if name in margin}
            published |= {level for level in claimed.get(name, ()) if level > min(published, default=level)}
            levels[name] = sorted(published | {0} if name in public else published)
    return levels


def _counted_part(collection: Collection, attribute: str, levels: list[int], named: NamedLevels | None) -> Hierarchy:
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
    reordered = replace(Hierarchy.from_rows([paths[label] for label in part_labels]), has_names=part.has_names)
    return reordered if part.order is None else reordered.ordered_by([part.labels[0][code] for code in part.order])
