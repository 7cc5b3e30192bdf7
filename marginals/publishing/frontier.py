"""Privacy against utility: the best release of one table under each policy of a grid."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from checks.claims import LEAST_DEMAND, MOST_ROWS
from marginals.arguments import require_whole_number
from marginals.errors import InputError, NothingPublishableError
from marginals.jobs import in_processes
from marginals.publishing.policy import GivenDiversity, Policy, require_table
from marginals.publishing.searching import Prepared, no_progress, searched
from marginals.tables.table import Table
from models.deadline import NEVER
from models.installed import name_of
from models.search.doors import GivenStrategy


def frontier(
    table: Table,
    policy: Policy,
    k: Sequence[int] | None = None,
    diversity: Sequence[GivenDiversity] | None = None,
    strategies: Sequence[GivenStrategy] | None = None,
    jobs: int = 2,
) -> pd.DataFrame:
    """Search for the best release under each policy of a grid; one row a policy, by increasing k.

    k, diversity, strategies: values that replace the policy's; by default the policy's alone. k replaces k_link, at least
    2, and k_combinatorial if the policy has one. jobs: processes that search at once, if the system can fork.

    Columns, in nats where they are measures:

    - `kl_divergence` of the data from the release; `value`, the objective of the policy, with its price of chance.
    - `gap`: another decomposable release is better by at most this; `optimal`: none is.
    - `margins`, how many.
    - `seconds` of the search; `reason`, why nothing can be published.

    These numbers come from the table and are not for publication. Only `publish` verifies a release. Raises InputError for
    values that make no sense.

    >>> from marginals.example import table
    >>> grid = frontier(table, Policy(), k=[2, 4, 100], diversity=["distinct:2"], strategies=["exact"], jobs=1)
    >>> grid[["k", "kl_divergence", "optimal", "margins"]].round(3)
         k  kl_divergence  optimal  margins
    0    2          0.398     True        2
    1    4          2.532     True        2
    2  100            NaN    False        0
    """
    require_table(table, policy)
    policy = policy.of_attributes(table.domain)
    require_whole_number(jobs, "jobs", 1)
    for name, values in (("k", k), ("diversity", diversity), ("strategies", strategies)):
        if values is not None and (isinstance(values, str | Mapping) or not isinstance(values, Sequence) or not values):
            raise InputError(f"{name} must be a list with at least one value, got {values!r}")
    for number in k or ():
        require_whole_number(number, "k", LEAST_DEMAND, MOST_ROWS)
    ks: list[int | None] = [*sorted(set(k))] if k else [policy.k_link]
    diversities, strategy_choices = diversity or [policy.diversity], strategies or [policy.strategy]
    rows = []
    for least, demanded, strategy in product(ks, diversities, strategy_choices):
        together = None if policy.k_combinatorial is None else least or policy.k_combinatorial
        row_policy = replace(policy, k_link=least, k_combinatorial=together, diversity=demanded, strategy=strategy)
        _ = row_policy.requirements_of(table)  # refuses what makes no sense
        rows.append(row_policy)
    return pd.DataFrame(in_processes(jobs, partial(_best_release, table), rows))


def _best_release(table: Table, policy: Policy) -> dict[str, Any]:
    demanded = "none" if policy.diversity is None else str(policy.diversity)
    settings = {"k": policy.k_link or 1, "diversity": demanded, "strategy": name_of(policy.strategy)}
    unknown = dict.fromkeys(("kl_divergence", "value", "gap"), np.nan)
    line: dict[str, Any] = settings | unknown | {"optimal": False, "margins": 0}
    begun = time.perf_counter()
    try:
        search = searched(Prepared(policy, policy.requirements_of(table), table, table), NEVER, no_progress)
    except NothingPublishableError as error:
        return line | {"seconds": time.perf_counter() - begun, "reason": str(error)}
    result = search.result
    return line | {
        "kl_divergence": result.kl_divergence,
        "value": result.value,
        "gap": np.nan if result.gap is None else result.gap,
        "optimal": result.optimal,
        "margins": len(result.cliques),
        "seconds": time.perf_counter() - begun,
        "reason": "",
    }
