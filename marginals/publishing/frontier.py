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
from marginals.jobs import in_processes, require_jobs
from marginals.publishing.policy import GivenDiversity, Policy, require_table
from marginals.publishing.searching import Prepared, no_progress, searched
from marginals.tables.table import Table
from models.deadline import NEVER
from models.installed import name_of
from models.search.doors import GivenStrategy

COLUMNS = (
    *("k", "diversity", "strategy", "kl_divergence", "value", "gap"),
    *("optimal", "margins", "base", "least", "seconds", "reason"),
)


def frontier(
    table: Table,
    policy: Policy,
    k: Sequence[int] | None = None,
    diversity: Sequence[GivenDiversity] | None = None,
    strategies: Sequence[GivenStrategy] | None = None,
    jobs: int = 2,
) -> pd.DataFrame:
    """How near to the data a release can come under each policy of a grid, a row each, by increasing k.

    k, diversity, strategies: what takes the place of the policy's own; those of the policy where nothing is given. Each is
    what a policy takes: strategies are names or functions, and so are the policy's objective and base. k is that of k_link,
    at least 2, and of k_combinatorial too where the policy has one. jobs: processes that search at once, where the system
    can fork; counts of the table are shared among the policies of each.

    Columns: `kl_divergence` of the data from the release, nats; `value`, the objective of the policy, with what chance gains
    if that has a price, nats; `gap`, by how many at most another decomposable release is better, and `optimal`, whether none
    is; `margins`, how many; `base`, whether it contains the best single table; `least`, the smallest value of the frame with
    at least this k and the same diversity, which this policy allows too: where it is smaller than `value`, the search missed
    it; `seconds` of the search; `reason`, why nothing can be published.
    These numbers come of the table and are not for publication; a release is verified when `publish` makes it. Raises
    InputError for values that make no sense.

    >>> from marginals.example import table
    >>> grid = frontier(table, Policy(), k=[2, 4, 100], diversity=["distinct:2"], strategies=["exact"], jobs=1)
    >>> grid[["k", "kl_divergence", "optimal", "margins"]].round(3)
         k  kl_divergence  optimal  margins
    0    2          0.398     True        2
    1    4          2.532     True        2
    2  100            NaN    False        0
    """
    require_table(table, policy)
    require_jobs(jobs)
    for name, values in (("k", k), ("diversity", diversity), ("strategies", strategies)):
        if values is not None and (isinstance(values, str | Mapping) or not isinstance(values, Sequence) or not values):
            raise InputError(f"{name} must be a list with at least one value, got {values!r}")
    for number in k or ():
        require_whole_number(number, "k", LEAST_DEMAND, MOST_ROWS)
    each_k: list[int | None] = [*sorted(set(k))] if k else [policy.k_link]
    each_diversity, each_strategy = diversity or [policy.diversity], strategies or [policy.strategy]
    rows = []
    for least, demanded, strategy in product(each_k, each_diversity, each_strategy):
        together = None if policy.k_combinatorial is None else least or policy.k_combinatorial
        row_policy = replace(policy, k_link=least, k_combinatorial=together, diversity=demanded, strategy=strategy)
        _ = row_policy.requirements_of(table)  # refuses what makes no sense
        rows.append(row_policy)
    frame = pd.DataFrame(in_processes(jobs, partial(_found, table), rows))
    frame["least"] = [
        np.fmin.reduce(frame.value[(frame.k >= line.k) & (frame.diversity == line.diversity)].to_numpy())
        for line in frame.itertuples()
    ]
    return frame[list(COLUMNS)]


def _found(table: Table, policy: Policy) -> dict[str, Any]:
    demanded = "none" if policy.diversity is None else str(policy.diversity)
    settings = {"k": policy.k_link or 1, "diversity": demanded, "strategy": name_of(policy.strategy)}
    requirements = policy.requirements_of(table)
    begun = time.perf_counter()
    try:
        search = searched(Prepared(policy, requirements, table, table), NEVER, no_progress)
    except NothingPublishableError as error:
        nothing = dict.fromkeys(("kl_divergence", "value", "gap"), np.nan)
        nothing |= {"optimal": False, "margins": 0, "base": False}
        return settings | nothing | {"seconds": time.perf_counter() - begun, "reason": str(error)}
    result = search.result
    return settings | {
        "kl_divergence": result.kl_divergence,
        "value": result.value,
        "gap": np.nan if result.gap is None else result.gap,
        "optimal": result.optimal,
        "margins": len(result.cliques),
        "base": search.base is not None and all(any(not m & ~c for c in result.cliques) for m in search.base),
        "seconds": time.perf_counter() - begun,
        "reason": "",
    }
