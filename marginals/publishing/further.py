"""Further tables: tables of nonsensitive attributes that a release has beside its core, the tables with a junction tree.

They are chosen after the core, one by one by their gain over it, from counts of nonsensitive attributes alone. The proof
then builds a possible table from the published counts and examines the combinations that are small in it. For each one it
seeks another possible table, in which the combination has no row, or many. If it finds none, readers might be certain of the
combination, so a further table that contributes to it is left out (design 4.22). With `min_published_cell` the same is done
for combinations that include sensitive values. Anybody who verifies the release repeats the proof from its files.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import inf
from pathlib import Path

from checks.claims import KCombinatorial, MinCell, NoSmallCertain
from checks.combinatorial import sensitive_groups
from checks.small_combinations import Witnesses, Witnessing
from marginals.arguments import require_names
from marginals.bundle.content import BundleContent
from marginals.errors import InputError
from marginals.publishing.policy import Policy
from marginals.publishing.searching import Prepared, Progress, Search, best_further
from marginals.publishing.wanted import NO_FURTHER
from marginals.steward import FurtherTables
from marginals.tables.table import Table
from models.deadline import Deadline
from models.errors import TimeOverError, TooManyCellsError
from models.graphs.junction_tree import Collection
from models.tables.hierarchy import Mask

_ROUNDS_MORE = 3
"""Rounds of the proof after a table was left out."""


def require_further(policy: Policy, table: Table, ledger: str | Path | None) -> None:
    """Raise InputError if further tables are wanted and cannot be judged for this table, policy or ledger."""
    wish = policy.further
    if wish is None:
        return
    without = f'or set further_tables = "{NO_FURTHER}"'
    if table.rows_per_person not in (None, 1):
        raise InputError(
            "further_tables cannot be judged where a person can have several rows, or nobody says how many: set "
            f'one_row = "first" in [data], {without}'
        )
    if ledger is not None:
        raise InputError(
            f"further_tables cannot be judged beside the other releases of a ledger: publish without --ledger, {without}"
        )
    nonsensitive = [name for name in table.domain.attributes if name not in table.sensitive]
    require_names(chain(*wish.wanted), "further_tables", nonsensitive, "nonsensitive attribute")


def chosen_tables(prepared: Prepared, search: Search, deadline: Deadline, progress: Progress) -> FurtherTables | None:
    """Choose further tables by their gain over the core that a search found; None if none are wanted.

    Wanted pairs of nonsensitive attributes come first. No table changes what the core says of a sensitive attribute. A third
    of the time is for the choice, the rest for proofs.
    """
    policy, table = prepared.policy, prepared.table
    if policy.further is None:
        return None
    core = Collection.of(table.cube, search.result.cliques)
    undisturbed = tuple(group.cliques for group in sensitive_groups(table.domain, core.masks, table.sensitive))
    show = partial(progress, "further tables")
    chosen = best_further(prepared, core, search.problem.constraint, deadline.share(3), show, undisturbed)
    least = max(policy.least_certain, policy.min_published_cell or 1, policy.least("min_cell") or 1)
    return FurtherTables(chosen, least=least)


def proven_tables(
    further: FurtherTables,
    released: Callable[[tuple[Mask, ...]], BundleContent],
    deadline: Deadline,
    progress: Progress,
) -> tuple[FurtherTables, BundleContent]:
    """Keep as many further tables as are proven, from the published marginals alone, to make nothing certain.

    After a table is left out, possible tables are made anew from what is published then. Two thirds of the time left are
    for a proof; without one, the half of the tables that gains most is tried.
    """
    while True:
        content = released(further.masks)
        if not further.tables:
            return further, content
        progress("witnesses", len(further.left_out), len(further.left_out) + len(further.tables))
        trying = deadline.share(1.5)
        places, witnesses = _provable(content, further, trying)
        if len(places) == len(further.tables):
            return further, replace(content, witnesses=witnesses)
        left_out = [table for place, table in enumerate(further.tables) if place not in places]
        further = replace(
            further,
            tables=tuple(further.tables[place] for place in places),
            left_out=(*further.left_out, *left_out),
            is_late=further.is_late or trying.is_over,
        )


def _provable(
    content: BundleContent, chosen: FurtherTables, deadline: Deadline
) -> tuple[Sequence[int], tuple[Witnesses, ...]]:
    """The places of further tables beside which nothing stays open, with the witnesses of all; or half of the places."""
    further, witnesses = content.further, list[Witnesses]()
    claims = [claim for claim in content.claims if isinstance(claim, NoSmallCertain)]
    half, places = range(len(chosen.tables) // 2), list(range(len(further)))
    for claim in claims:
        published = content.without_impossible(claim)
        try:
            aside = claim.set_aside(content.sensitive)
            witnessing = Witnessing(published, aside, claim.least_count, deadline, witnesses)
        except (TooManyCellsError, TimeOverError):
            return half, ()
        result = witnessing.look(inf, deadline)
        if deadline.is_over and not result.clear_all:
            return half, ()
        witnesses.append(result)
        # one after another the table is left out that has a part in most open combinations for what it gains
        while places and not result.clear_all and (len(places) == len(further) or not deadline.is_over):
            blamed = result.blamed(published.domain, {further[place]: chosen.tables[place].gain for place in places})
            places = [place for place in places if blamed not in (further[place], None)]
            try:
                witnessing.keep([*content.collection.masks, *(further[place] for place in places)], deadline)
            except TimeOverError:
                break
            result = witnessing.look(_ROUNDS_MORE, deadline)
        if len(places) < len(further):
            return places, ()
    by_programs = content.claiming([claim for claim in content.claims if isinstance(claim, MinCell | KCombinatorial)])
    are_proven = all(finding.holds for finding in replace(by_programs, deadline=deadline).verify().checks)
    return (places, tuple(witnesses)) if are_proven else (half, ())
