"""Further tables: tables of nonsensitive attributes that a release has beside its core, the tables with a junction tree.

They are chosen when the core is known, one by one by what each tells of its attributes beyond it, from counts of
nonsensitive attributes alone. Then combinations are examined that are small in a possible table, which is made from the
counts. For each another table is sought, in which the combination has no row, or many. If none is found, readers might be
certain of it, so a further table that has a part in it is left out (design 4.22). With `min_published_cell` the same is
done for combinations that include sensitive values. Whoever verifies the release proves this again from its files.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from checks.claims import NoSmallCertain
from checks.small_combinations import CHAINS, Witnesses, Witnessing, one_by_one
from marginals.bundle.content import BundleContent
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
from models.search.further_tables import FurtherLimits, further_tables
from models.tables.hierarchy import Mask

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
    """The further tables by what they gain beside the core that a search found; None where none are wanted.

    Analyses of two nonsensitive attributes come first. A third of the time is for the choice, the rest for proofs.
    """
    policy, table = prepared.policy, prepared.table
    wish = policy.further
    if wish is None:
        return None
    domain = table.domain
    core = Collection.of(table.cube, search.result.cliques)
    nonsensitive = [name for name in domain.attributes if name not in table.sensitive]
    pairs = [each.attributes for each in policy.analyses if len(each.attributes) == 2]
    wanted = wish.wanted or [names for names in pairs if {*names} <= {*nonsensitive}]
    limits = FurtherLimits(len(wish.wanted) or wish.tables, crossing_levels=policy.crossing_levels)

    def allowed(mask: Mask) -> bool:
        return search.problem.constraint([mask], 0) is None

    def told(done: int, pairs: int) -> None:
        progress("further tables", done, pairs)

    masks = [domain.mask(dict.fromkeys(names, 0)) for names in wanted]
    chosen = further_tables(core, nonsensitive, allowed, limits, masks, deadline.share(3), told)
    return FurtherBeside(chosen, least=max(policy.least_certain, policy.min_published_cell or 1))


def proven_beside(
    beside: FurtherBeside, released: Callable[[tuple[Mask, ...]], BundleContent], deadline: Deadline, progress: Progress
) -> tuple[FurtherBeside, BundleContent]:
    """What is released of further tables: as many as are proven to make nothing certain, from its marginals alone.

    Each time one was left out, possible tables are made anew, of what is published then: nothing else is known of them.
    Two thirds of the time left are for a proof; without one those half of the tables are tried that gain most.
    """
    while True:
        content = released(beside.masks)
        if not beside.tables or not _claims_of(content):
            return beside, content
        progress("witnesses", len(beside.left_out), len(beside.left_out) + len(beside.tables))
        trying = deadline.share(1.5)
        places, witnesses = _provable(content, beside, trying)
        if len(places) == len(beside.tables):
            return beside, replace(content, witnesses=witnesses)
        left_out = [table for place, table in enumerate(beside.tables) if place not in places]
        beside = replace(
            beside,
            tables=tuple(beside.tables[place] for place in places),
            left_out=(*beside.left_out, *left_out),
            is_late=beside.is_late or trying.is_over,
        )


def _claims_of(content: BundleContent) -> list[NoSmallCertain]:
    return [claim for claim in content.claims if isinstance(claim, NoSmallCertain)]


def _provable(
    content: BundleContent, beside: FurtherBeside, deadline: Deadline
) -> tuple[Sequence[int], tuple[Witnesses, ...]]:
    """The places of further tables beside which nothing stays open, with the witnesses of all; or half of the places."""
    further, witnesses, claims = content.further, list[Witnesses](), _claims_of(content)
    half, places = range(len(beside.tables) // 2), list(range(len(further)))
    processes = CHAINS if content.collection.cube.total >= _ROWS_WORTH_PROCESSES else 1
    for claim in claims:
        published = content.without_impossible(claim)
        with Workers(processes) as workers:  # which do the work of one search
            run = partial(_side_by_side, workers)
            try:
                witnessing = Witnessing(published, claim.set_aside(content.sensitive), claim.least_count, run, deadline)
            except (TooManyCellsError, TimeOverError):
                return half, ()
            result = witnessing.look(inf, deadline)
            if deadline.is_over and not result.clear_all:
                return half, ()
            witnesses.append(result)
            # one after another the table is left out that has a part in most open combinations for what it gains
            while places and not result.clear_all and (len(places) == len(further) or not deadline.is_over):
                blamed = result.blamed(
                    published.domain, {further[place]: beside.tables[place].gain for place in places}
                )
                places = [place for place in places if blamed not in (further[place], None)]
                witnessing.keep([*content.collection.masks, *(further[place] for place in places)])
                result = witnessing.look(_ROUNDS_MORE, deadline)
        if len(places) < len(further):
            break
    return places, tuple(witnesses)


def _side_by_side(workers: Workers, work: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    try:
        return workers(work, parts)
    except (WorkerLostError, OSError, ImportError, NotImplementedError):  # some systems have no semaphores
        return one_by_one(work, parts)
