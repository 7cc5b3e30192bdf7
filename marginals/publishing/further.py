"""Further tables: tables of nonsensitive attributes that a release has beside its core, the tables with a junction tree.

They are chosen when the core is known, one by one by what each tells of its attributes beyond it, from counts of
nonsensitive attributes alone. Then combinations of nonsensitive values are looked at that are small in a possible table,
which is made from the counts: for each another one is looked for, in which the combination has no row, or many. Where none
is found readers might be certain of it, so a further table that has a part in it is left out (design 4.22). When the release
is verified this is shown again from its files alone, as anybody can.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from checks.small_combinations import CHAINS, Runs, Witnessing, one_by_one
from marginals.deadline import SEARCH_CLOCK
from marginals.errors import InputError, WorkerLostError
from marginals.jobs import Workers
from marginals.publishing.policy import Policy
from marginals.publishing.searching import Prepared, Progress, Search
from marginals.publishing.wanted import NO_FURTHER
from marginals.steward import FurtherBeside
from marginals.tables.table import Table
from models.deadline import Deadline
from models.errors import TimeOverError, TooManyCellsError
from models.graphs.junction_tree import Collection
from models.search.further_tables import FurtherLimits, FurtherTable, further_tables
from models.tables.hierarchy import Mask

_ROWS_LOOKED_AT = 700_000
_FEWEST_ROUNDS, _MOST_ROUNDS = 6, 60
"""Rows of all rounds of exchanges beside all further tables, about a minute of work, and how few and how many rounds these
may be: numbers, no time, so that a seed gives one release at any speed, unless the time limit ends them.
"""

_ROUNDS_MORE = 3
"""Each time after a table was left out."""

_ROWS_WORTH_PROCESSES = 2_000
"""A round of fewer takes not much longer than processes take to begin."""


def require_further(policy: Policy, table: Table, ledger: str | Path | None) -> None:
    """Raise InputError where further tables are wanted, and it is not known of the table or ledger what they tell."""
    wish = policy.further
    if wish is None:
        return
    without = f'or set further_tables = "{NO_FURTHER}"'
    if table.sensitive and policy.max_sensitive_margins not in (0, 1):
        raise InputError(
            "further_tables needs that one table at most shows a sensitive attribute, since that table then decides its "
            f"diversity: set max_sensitive_margins = 1 (in a config under [search]), {without}"
        )
    if table.rows_per_person not in (None, 1):
        raise InputError(
            "further_tables cannot be judged where a person can have several rows, or nobody says how many: set "
            f'one_row = "first" in [data], {without}'
        )
    if ledger is not None:
        raise InputError(
            f"further_tables cannot be judged beside the other releases of a ledger: publish without --ledger, {without}"
        )
    for attributes in wish.wanted:
        for name in attributes:
            if name not in table.domain.attributes or name in table.sensitive:
                known = ", ".join(table.quasi_identifiers)
                raise InputError(
                    f"further_tables names {name!r}, which is no nonsensitive attribute of the table; these are {known}"
                )


def further_tables_beside(
    prepared: Prepared, search: Search, deadline: Deadline, progress: Progress
) -> FurtherBeside | None:
    """The further tables beside the core that a search found; None where none are wanted.

    Without a deadline the choice may take as long as the search, and so may the first look for witnesses and all later
    ones.
    """
    policy, table = prepared.policy, prepared.table
    wish = policy.further
    if wish is None:
        return None
    domain = table.domain
    core = Collection.of(table.cube, search.result.cliques)
    nonsensitive = [name for name in domain.attributes if name not in table.sensitive]
    wanted = tuple(domain.mask(dict.fromkeys(names, 0)) for names in wish.wanted)
    limits = FurtherLimits(len(wanted) if wanted else wish.tables, crossing_levels=policy.crossing_levels)

    def twice() -> Deadline:
        return deadline if deadline.at < inf else Deadline.after(2 * policy.time_limit, SEARCH_CLOCK)

    def allowed(mask: Mask) -> bool:
        return search.problem.constraint([mask], 0) is None

    def told(done: int, pairs: int) -> None:
        progress("further tables", done, pairs)

    result = further_tables(core, nonsensitive, allowed, limits, wanted, twice().share(2), told)
    with Workers(CHAINS if table.rows >= _ROWS_WORTH_PROCESSES else 1) as workers:
        return _provable(prepared, core, result, twice(), progress, partial(_side_by_side, workers))


def _provable(
    prepared: Prepared,
    core: Collection,
    chosen: Sequence[FurtherTable],
    deadline: Deadline,
    progress: Progress,
    run: Runs,
) -> FurtherBeside:
    # one after the other the table that has a part in most open combinations for what it gains is left out
    table, least = prepared.table, prepared.policy.least_certain
    if least == 1:
        return FurtherBeside(tuple(chosen))
    if not chosen and all(name in table.sensitive for margin in core.margins for name in margin):
        return FurtherBeside((), least=least)  # no table shows a nonsensitive value, so no combination of them is open
    provable, left_out = list(chosen), list[FurtherTable]()
    progress("witnesses", 0, 0)
    try:
        witnessing = Witnessing(table.cube, _beside(core, provable), table.sensitive, least, run, deadline.share(2))
    except (TooManyCellsError, TimeOverError) as error:
        return FurtherBeside((), tuple(chosen), least=least, note=str(error))
    rounds = min(max(_ROWS_LOOKED_AT // max(table.rows, 1), _FEWEST_ROUNDS), _MOST_ROUNDS)
    witnessed = witnessing.look(rounds, deadline.share(2))
    while provable and not witnessed.clear_all:
        blamed = witnessed.blamed(table.domain, {chosen_one.mask: chosen_one.gain for chosen_one in provable})
        left_out += [chosen_one for chosen_one in provable if blamed in (chosen_one.mask, None)]
        provable = [chosen_one for chosen_one in provable if chosen_one not in left_out]
        progress("witnesses", len(left_out), len(chosen))
        witnessing.keep(_beside(core, provable))
        witnessed = witnessing.look(_ROUNDS_MORE, deadline.share(2))
    is_late = bool(left_out) and deadline.is_over
    return FurtherBeside(tuple(provable), tuple(left_out), witnessed.small, witnessed.rounds, least, is_late=is_late)


def _side_by_side(workers: Workers, work: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    try:
        return workers(work, parts)
    except (WorkerLostError, OSError, ImportError, NotImplementedError):  # some systems have no semaphores
        return one_by_one(work, parts)


def _beside(core: Collection, further: Sequence[FurtherTable]) -> list[Mask]:
    return [*core.masks, *(table.mask for table in further)]
