"""The marginals of a selected model as a release."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from marginals.errors import InputError
from marginals.publishing.policy import Policy
from marginals.publishing.publishing import publish
from marginals.release.release import Release
from marginals.selection.counted import Counted
from marginals.tables.attribute import Role
from marginals.tables.table import Table
from models.search.selection import SelectedModel


def released(found: SelectedModel, rows: Counted, policy: Policy, sensitive: Sequence[str]) -> Release:
    """The cliques at base values, and nothing else, under the claims and limits of a policy.

    The policy's own base table and margins are set aside. A search that must publish the cliques and no pair that is not
    adjacent has nothing left to choose.
    """
    table = _table(rows, sensitive)
    graph = found.graph
    apart = [
        {a: table.domain.hierarchy(a).height - 1, b: table.domain.hierarchy(b).height - 1}
        for a, b in combinations(graph.nodes, 2)
        if not graph.has_edge(a, b)
    ]
    cliques = [dict.fromkeys(clique, 0) for clique in found.cliques]
    return publish(
        table,
        replace(policy, base="none", start="nothing", strategy="greedy", must_publish=cliques, must_not_publish=apart),
    )


def _table(rows: Counted, sensitive: Sequence[str]) -> Table:
    if rows.table is not None:
        if sensitive:
            raise InputError("the table knows the roles of its attributes; name no sensitive ones")
        return rows.table
    for name in sensitive:
        rows.domain.index(name)
    roles = {a: Role.SENSITIVE if a in sensitive else Role.QUASI_IDENTIFIER for a in rows.domain.attributes}
    return Table(rows.counts, roles, missing=rows.dropped)
