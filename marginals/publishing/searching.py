"""Searching: from a table and a policy to the collection of margins that keeps the most of the data."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from checks.claims.requirements import PrivacyConstraint, Requirements
from marginals.errors import InputError, NothingPublishableError
from marginals.publishing.base_tables import BaseTables, best_base, chosen_base
from marginals.publishing.obstacles import Obstacles, as_written, suppressed, unmet_demands
from marginals.publishing.policy import Policy
from marginals.publishing.wanted import weighed
from marginals.tables.table import Table
from models.deadline import Deadline
from models.errors import DomainMismatchError, TimeOverError
from models.graphs.collection import Collection
from models.graphs.junction_tree import maximal_masks
from models.search import STRATEGIES, MarginLimits, Problem, SearchResult, from_independence, rebuilt, with_bound
from models.tables.domain import Domain, Mask

_FOR_THE_BOUND = 0.5
"""Seconds beyond the time limit, to say how good a result is that used up its time."""

_ROUNDS = 25
"""Rounds of rebuilding in a row without a better collection, after which one with fitted ladders is taken as it is."""

_SHARE = 16
"""Collections for each one that the strategy has looked at, after which no more rounds begin: no clock decides that."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is (0: unknown)."""


def no_progress(task: str, done: int, total: int) -> None:
    """Ignores progress."""


@dataclass(frozen=True, eq=False)
class Search:
    """A search that is over.

    problem: what was searched for. base: the tables that the collection had to contain. first: what the strategy found;
    result: what became of it, with its bound.
    """

    problem: Problem
    base: BaseTables | None
    first: SearchResult
    result: SearchResult


def searched(
    table: Table,
    policy: Policy,
    requirements: Requirements,
    deadline: Deadline,
    progress: Progress,
    envelope: tuple[Mask, ...] | None = None,
) -> tuple[Obstacles, Search]:
    """The search that a policy asks for, and what stands in the way of the table's margins.

    deadline: when everything ends; half of what the base table leaves is for the search. envelope: margins beyond which
    nothing may be shown, and all of which are where the policy allows that; then no base table is looked for. Raises
    NothingPublishableError where nothing satisfies the policy, InputError where it does not fit the table.
    """
    _ = weighed(table.cube, policy.analyses)  # what makes no sense is refused before what takes time
    searching = Deadline(time.monotonic() + policy.time_limit, time.monotonic)
    try:
        base = None if envelope else _base(table, policy, requirements, _until(deadline, progress))
    except TimeOverError:
        raise NothingPublishableError(
            "the time was over before the base table was found; give more seconds, or look for a release without one "
            '(base "none")'
        ) from None
    if deadline.at < inf:
        searching = deadline.share(2)
    problem = _problem(table, policy, requirements, base, envelope)
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        progress("collections", calls, 0)
        return searching.is_over

    strategy = "greedy" if problem.kept == envelope else policy.strategy
    first = result = STRATEGIES[strategy](problem, stop)
    if (table.fitted or policy.analyses) and not result.optimal:
        result = rebuilt(first, problem, stop, _ROUNDS, _SHARE * first.evaluated)
    for_the_bound = Deadline(searching.at + _FOR_THE_BOUND, searching.clock)
    bounded = with_bound(result, problem, lambda: for_the_bound.is_over)
    obstacles = Obstacles(table, requirements, problem.constraint)
    if not bounded.cliques:
        raise NothingPublishableError(f"no marginal of the table satisfies the policy: {_why_nothing(obstacles)}")
    return obstacles, Search(problem, base, first, bounded)


def _base(table: Table, policy: Policy, requirements: Requirements, progress: Progress) -> BaseTables | None:
    """The tables that the collection must contain."""
    if policy.base == "none":
        return None
    if not isinstance(policy.base, str):
        return chosen_base(table, policy.base, requirements)
    return best_base(table, requirements, lambda done, nodes: progress("minimal tables", done, nodes))


def _problem(
    table: Table,
    policy: Policy,
    requirements: Requirements,
    base: BaseTables | None,
    envelope: tuple[Mask, ...] | None,
) -> Problem:
    """The search that a policy asks for; what must stay is allowed by itself, or NothingPublishableError is raised."""
    domain = table.domain
    kept = [*base.masks] if base else []
    kept += [_mask(domain, "must_publish", margin) for margin in policy.must_publish]
    kept = maximal_masks(kept)
    constraint = MarginLimits(
        domain,
        policy.max_cells,
        policy.max_attributes,
        tuple(_mask(domain, "must_not_publish", margin) for margin in policy.must_not_publish),
        PrivacyConstraint(table.cube, requirements, policy.max_sensitive_margins),
        envelope,
    )
    wanted = weighed(table.cube, policy.analyses)
    if envelope and not constraint(envelope, 0) and all(any(not m & ~own for own in envelope) for m in kept):
        return Problem(table.cube, constraint, kept=envelope, seed=policy.seed, wanted=wanted)
    if not Collection.of(table.cube, kept).is_decomposable:
        raise InputError("what must be published, with the base table, is not decomposable; name larger margins")
    if refusal := constraint(kept, 0):
        obstacles = Obstacles(table, requirements, constraint)
        for margin in policy.must_publish:
            mask = domain.mask(margin)
            if constraint([mask], 0):
                raise obstacles.refusal(mask, f"must_publish {as_written(margin)}")
        what = "what must be published" if policy.must_publish else "the base table"
        together = ", though each margin by itself can" if len(kept) > 1 else ""
        raise NothingPublishableError(f"{what} cannot be published{together}: {refusal.reason}")
    problem = Problem(table.cube, constraint, kept=tuple(kept), seed=policy.seed, wanted=wanted)
    return from_independence(problem) if policy.start == "independence" else problem


def _mask(domain: Domain, key: str, margin: Mapping[str, int]) -> Mask:
    try:
        mask = domain.mask(margin)
    except DomainMismatchError as error:
        raise InputError(f"{key}: {error}") from None
    if not mask:
        raise InputError(f"{key}: a margin with every attribute at the level of * shows nothing")
    return mask


_NAMED = 3
"""Attributes of which it is said why they are not published, where nothing is."""


def _why_nothing(obstacles: Obstacles) -> str:
    """What all rows together fail of the policy, or else what the first attributes do."""
    table = obstacles.table
    if unmet := unmet_demands(suppressed(table), obstacles.requirements):
        return "; ".join(unmet)
    names = table.domain.attributes
    reasons = [f"{name}: {obstacles.of_attribute(name, (), naming=False)}" for name in names[:_NAMED]]
    return ". ".join(reasons) + (f". And {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _until(deadline: Deadline, progress: Progress) -> Progress:
    """The same progress, which raises TimeOverError when it is told of work after a deadline."""

    def told(task: str, done: int, total: int) -> None:
        deadline.check()
        progress(task, done, total)

    return told
