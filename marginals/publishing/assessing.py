"""Assessing: what one table gives away, as it is or generalized, and whether it satisfies a policy."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from checks.claims.requirements import Requirements
from checks.classes.assessment import Assessment
from checks.classes.assessment import assess as assess_table
from checks.classes.eligibility import Eligibility, eligibility
from checks.classes.reidentification import Reidentification, Uniqueness, reidentification, uniqueness
from checks.diversity.criterion import Diversity
from checks.finding import Finding, WorstClass
from marginals.errors import InputError
from marginals.publishing.policy import Policy
from marginals.publishing.population import Population
from marginals.tables.table import Table
from models.arrays import CountArray
from models.tables.contingency_table import ContingencyTable


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
