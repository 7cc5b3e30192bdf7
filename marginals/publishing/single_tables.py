"""Single tables under a policy: the minimal ones, one at chosen levels, and the risks of the table itself."""

from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial
from typing import Any

from checks.classes import Assessment, Eligibility, eligibility
from checks.classes import assess as assess_table
from checks.diversity.criterion import Diversity
from checks.finding import Finding, WorstClass
from checks.population import Reidentification, reidentification
from checks.privacy_constraint import PrivacyConstraint
from marginals.arguments import require, require_function, require_names, require_share
from marginals.errors import InputError, NothingPublishableError
from marginals.messages import few
from marginals.published_values import levels_by_attribute
from marginals.publishing.obstacles import Obstacles, as_written
from marginals.publishing.policy import Policy, require_table
from marginals.publishing.population import Population
from marginals.publishing.searching import PROGRESS, Progress, no_progress
from marginals.recoding.lattice import LatticeResult, SingleTable, minimal_tables, single_table, table_satisfies
from marginals.results import plain
from marginals.tables.table import Table
from models.arrays import CountArray
from models.frozen import frozen


def anonymize(
    table: Table, policy: Policy, progress: Progress = no_progress, suppression: float = 0.0
) -> LatticeResult:
    """Find all minimal single tables that satisfy a policy, best KL divergence first.

    suppression: share of the rows that may be shown with every quasi-identifier at `*` instead; together they form a class
    that satisfies the policy too. Raises InputError for a table without quasi-identifiers.

    >>> from marginals.example import table
    >>> [found.levels for found in anonymize(table, Policy(k_link=4, diversity="distinct:2")).minimal]
    [Margin({'age': 1, 'sex': 1}), Margin({'age': 3, 'sex': 0})]
    """
    require_table(table, policy)
    require_share(suppression, "suppression")
    require_function(progress, "progress", PROGRESS)
    if not table.quasi_identifiers:
        raise InputError(
            "no attribute is a quasi-identifier, so there is nothing to generalize; give that role to what others may know "
            "of a person"
        )
    requirements, settled = policy.requirements_of(table), partial(progress, "minimal tables")
    return minimal_tables(table.cube, table.quasi_identifiers, requirements, settled, suppression)


@frozen
class Assessed:
    """Risks of a single table, and findings on the demands of a policy.

    reidentification: the risk of finding a person's row; None without rows. eligible: by sensitive attribute the strongest
    requirements that any generalization can satisfy; empty without rows.
    """

    assessment: Assessment
    checks: tuple[Finding, ...]
    reidentification: Reidentification | None = None
    eligible: Mapping[str, Eligibility] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True if the table satisfies the policy."""
        return all(finding.holds for finding in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The assessment as plain values, and the findings."""
        risk = {} if self.reidentification is None else {"reidentification": self.reidentification}
        return {**plain(self.assessment), "checks": plain(self.checks), **plain(risk)}


def assess(
    table: Table, policy: Policy, levels: Mapping[str, int] | None = None, population: Population | float | None = None
) -> Assessed:
    """Assess a table with quasi-identifiers at these levels, other attributes as they are.

    Like k_link, k_combinatorial is about the classes of the table. population: all people from whom the table is drawn,
    with demands on a sample; or the share of them that is in the table. Raises InputError for a level of an attribute that
    is no quasi-identifier, or a population that lacks one. Raises CriterionError for a diversity if nothing is sensitive,
    and ContradictionError for a table that is no sample of the population.

    >>> from marginals.example import table
    >>> assessed = assess(table, Policy(k_link=4, diversity="distinct:2"))
    >>> assessed.ok
    False
    >>> [(check.criterion, check.holds) for check in assessed.checks]
    [('k-anonymity', False), ('l-diversity', False)]
    """
    require_table(table, policy)
    require(levels, Mapping | None, "levels", 'a level for each attribute, {"age": 1}')
    at_levels = levels_by_attribute(table.domain, levels or {})
    require_names(at_levels, "levels", table.quasi_identifiers, "quasi-identifier")
    margin = dict.fromkeys(table.domain.attributes, 0) | at_levels
    generalized = table.base_counts.rolled_up(margin)
    requirements = policy.requirements_of(table)
    findings = requirements.of_table(generalized)
    # The table is not published: its worst class is reported by its size and what it reaches, never by its values.
    worst = [f.worst and WorstClass(count=f.worst_class.count, reached=f.worst_class.reached) for f in findings]
    checks = tuple(replace(finding, worst=one) for finding, one in zip(findings, worst))
    public = {a: level for a, level in generalized.margin.items() if a in table.quasi_identifiers}
    classes = generalized.rolled_up(public)
    everybody: CountArray | float | None = None
    if isinstance(population, Population):
        everybody = population.sizes(classes)[1][: len(classes)]
        checks = (*checks, *population.findings(classes))
    elif population is not None:
        require_share(population, "population")
        everybody = float(population)
    demanded: dict[str, list[Diversity]] = {name: [] for name in table.sensitive}
    for claim in requirements.diversity_claims:
        demanded[claim.sensitive] += [claim.class_diversity] if claim.class_diversity is not None else []
    return Assessed(
        assess_table(generalized, table.sensitive),
        checks,
        reidentification(classes.counts, everybody),
        eligibility(generalized, table.base_counts, table.sensitive, demanded) if len(classes) else {},
    )


def chosen_table(table: Table, policy: Policy, levels: Mapping[str, int], suppression: float = 0.0) -> SingleTable:
    """The table at these levels, other quasi-identifiers as they are; it satisfies the policy.

    suppression: share of the rows that may be suppressed, as for `anonymize`. Raises InputError for an attribute that is no
    quasi-identifier. Raises NothingPublishableError, with the reason and coarser levels, if the table does not satisfy the
    policy.

    >>> from marginals.example import table
    >>> chosen_table(table, Policy(k_link=4), {"age": 2}).levels
    Margin({'age': 2, 'sex': 0})
    """
    require_share(suppression, "suppression")
    at_levels = levels_by_attribute(table.domain, levels)
    require_names(at_levels, "levels", table.quasi_identifiers, "quasi-identifier")
    requirements = policy.requirements_of(table)
    table_levels = {attribute: at_levels.get(attribute, 0) for attribute in table.quasi_identifiers}
    chosen = single_table(table.cube, table_levels, requirements)
    spare = int(suppression * table.rows)
    if table_satisfies(table.cube, chosen.mask, requirements, spare):
        return chosen
    name = f"the table at the levels {as_written(table_levels, table.domain)}"
    obstacles = Obstacles(table, requirements, PrivacyConstraint(table.cube, requirements))
    if not spare:
        raise obstacles.refusal(chosen.mask, name, table.sensitive)
    why = "which must be a class that satisfies the policy, and are none"
    if chosen.suppressed > spare:
        why = f"more than the {spare:,} of suppression = {suppression:g}"
    raise NothingPublishableError(
        f"{name} suppresses {few(chosen.suppressed)} rows, {why}; without any, "
        f"{obstacles.refusal(chosen.mask, 'it', table.sensitive)}"
    )
