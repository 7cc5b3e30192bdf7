"""One generalized table to publish: the best of the minimal ones, or one at levels that somebody chose."""

from collections.abc import Mapping

from checks.claims.privacy_constraint import PrivacyConstraint
from marginals.anonymizers.lattice import SingleTable, single_table, table_satisfies
from marginals.errors import InputError, NothingPublishableError
from marginals.publishing.obstacles import Obstacles, as_written
from marginals.publishing.policy import Policy
from marginals.tables.table import Table


def chosen_table(table: Table, policy: Policy, levels: Mapping[str, int], suppression: float = 0.0) -> SingleTable:
    """The table at these levels, other quasi-identifiers as they are; it satisfies the policy.

    suppression: share of the rows that may be suppressed, as of `anonymize`. Raises InputError for an attribute that is no
    quasi-identifier, and NothingPublishableError, which says why and which coarser levels would do, where the table does
    not satisfy the policy.

    >>> from marginals.example import table
    >>> chosen_table(table, Policy(k_link=4), {"age": 2}).levels
    Margin({'age': 2, 'sex': 0})
    """
    for attribute in levels:
        if attribute not in table.quasi_identifiers:
            raise InputError(f"levels name {attribute!r}, which is no quasi-identifier of the table")
    requirements = policy.requirements(table.sensitive, table.most_rows_of_a_person)
    shown = {attribute: levels.get(attribute, 0) for attribute in table.quasi_identifiers}
    chosen = single_table(table.cube, shown, requirements)
    spare = int(suppression * table.rows)
    if table_satisfies(table.cube, chosen.mask, requirements, spare):
        return chosen
    name = f"the table at the levels {as_written(shown)}"
    obstacles = Obstacles(table, requirements, PrivacyConstraint(table.cube, requirements))
    if not spare:
        raise obstacles.refusal(chosen.mask, name, table.sensitive)
    if chosen.suppressed > spare:
        raise NothingPublishableError(
            f"{name} suppresses {chosen.suppressed:,} rows, more than the {spare:,} of suppression = {suppression:g}; "
            f"without any, {obstacles.refusal(chosen.mask, 'it', table.sensitive)}"
        )
    raise NothingPublishableError(
        f"{name} suppresses {chosen.suppressed:,} {'row' if chosen.suppressed == 1 else 'rows'}, which must be a class that "
        f"satisfies the policy, and are none; without any, {obstacles.refusal(chosen.mask, 'it', table.sensitive)}"
    )
