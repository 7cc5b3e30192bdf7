"""Publishing: from a table and a policy to the release that keeps the most of the data."""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from checks.claims import AttributeClaim, Claim
from checks.classes import (
    Assessment,
    Eligibility,
    Reidentification,
    Uniqueness,
    eligibility,
    reidentification,
    uniqueness,
)
from checks.classes import assess as assess_table
from checks.diversity.criterion import Diversity
from checks.diversity.registry import require_readable
from checks.finding import Finding, WorstClass
from checks.requirements import Requirements
from marginals.anonymizers.lattice import LatticeResult, minimal_tables
from marginals.bundle.content import KNOWN, TITLE, BundleContent
from marginals.deadline import Seconds, within
from marginals.errors import InputError, NothingPublishableError
from marginals.ledger import Continuation, Ledger
from marginals.pages.release_page import report_html
from marginals.published_values import Part
from marginals.publishing.policy import Policy, Population
from marginals.publishing.searching import Progress, no_progress, searched, steward_report
from marginals.release.release import Release
from marginals.tables.table import Table
from models.arrays import CountArray
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Hierarchy, Mask


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
        if not isinstance(claim, AttributeClaim) or claim.about in table.public:
            return claim
        levels = released_levels(chosen, claim.about, judged.get(claim.about, ()))
        return claim.stated_on(chosen).at_level(levels.index(claim.level) if claim.level in levels else 0)

    words = table.codebook.of_labels(marginals.domain)
    rules = tuple(rule.applied(table.sensitive).stating(stated) for rule in policy.named_rules)
    claims = tuple(map(stated, requirements.claims))
    unit = table.rows_per_person
    return BundleContent(marginals, table.roles, claims, title, rows_per_person=unit, codebook=words, rules=rules)


@dataclass(frozen=True)
class Assessed:
    """What a table reaches, and the findings on what is asked of a single table.

    reidentification: the risk of finding a person's row; None without rows. uniqueness: which columns make rows unique.
    eligible: by sensitive attribute the strongest requirements that any generalization can satisfy; empty without rows.
    """

    assessment: Assessment
    checks: tuple[Finding, ...]
    reidentification: Reidentification | None = None
    uniqueness: Uniqueness | None = None
    eligible: Mapping[str, Eligibility] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the table satisfies the policy."""
        return all(finding.holds for finding in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The assessment as plain values, and the findings."""
        plain = self.assessment.as_json() | {"checks": [finding.as_json() for finding in self.checks]}
        plain |= {} if self.reidentification is None else {"reidentification": self.reidentification.as_json()}
        return plain | ({} if self.uniqueness is None else {"uniqueness": self.uniqueness.as_json()})


def assess(
    table: Table, policy: Policy, levels: Mapping[str, int] | None = None, population: Population | float | None = None
) -> Assessed:
    """What a table gives away with quasi-identifiers at these levels, the others as they are.

    k_combinatorial is about its classes as k_link is. population: everybody whom the rows could be about, with what is
    demanded of a sample; or the share of them that is in the table. Raises InputError for a level of anything but a
    quasi-identifier, or a population that lacks one, CriterionError for a diversity where nothing is sensitive,
    ContradictionError for a table that is no sample.

    >>> from marginals.example import table
    >>> assessed = assess(table, Policy(k_link=4, diversity="distinct:2"))
    >>> assessed.ok
    False
    >>> [(check.criterion, check.holds) for check in assessed.checks]
    [('k-anonymity', False), ('l-diversity', False)]
    """
    chosen = dict(levels or {})
    for attribute in chosen:
        if attribute not in table.quasi_identifiers:
            known = ", ".join(table.quasi_identifiers)
            raise InputError(f"{attribute!r} is no quasi-identifier of the table; these are {known}")
    margin = dict.fromkeys(table.domain.attributes, 0) | chosen
    generalized = table.base_counts.rolled_up(margin)
    requirements = policy.requirements(table.sensitive, table.most_rows_of_a_person)
    findings = requirements.of_table(generalized)
    # The table is not published: its worst class is reported by its size and what it reaches, never by its values.
    checks = tuple(
        replace(finding, worst=finding.worst and _without_values(finding.worst_class)) for finding in findings
    )
    public = {a: level for a, level in generalized.margin.items() if a in table.quasi_identifiers}
    classes = generalized.rolled_up(public)
    everybody: CountArray | float | None = None
    if isinstance(population, Population):
        everybody = population.sizes(classes)[1][: len(classes)]
        checks = (*checks, *population.findings(classes))
    elif population is not None:
        everybody = float(population)
    return Assessed(
        assess_table(generalized, table.sensitive),
        checks,
        reidentification(classes.counts, everybody),
        uniqueness(classes) if len(classes) else None,
        _eligible(generalized, table, requirements) if len(classes) else {},
    )


def _eligible(generalized: ContingencyTable, table: Table, requirements: Requirements) -> dict[str, Eligibility]:
    """What is eligible for a table, and the excessive protection of what was made of it."""
    demanded: dict[str, list[Diversity]] = {attribute: [] for attribute in table.sensitive}
    for claim in requirements.diversity_claims:
        if claim.class_diversity is not None:
            demanded[claim.sensitive].append(claim.class_diversity)
    return eligibility(generalized, table.base_counts, table.sensitive, demanded)


def _without_values(worst: WorstClass) -> WorstClass:
    return WorstClass(count=worst.count, reached=worst.reached)


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
