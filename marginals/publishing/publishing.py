"""Publishing: from a table and a policy to the release that keeps the most of the data."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from checks.claims.claim import Claim
from checks.claims.requirements import PrivacyConstraint, Requirements
from marginals.anonymizers.lattice import LatticeResult, minimal_tables
from marginals.bundle.content import TITLE, BundleContent
from marginals.errors import InputError, NothingPublishableError
from marginals.pages.release_page import report_html
from marginals.publishing.base_tables import BaseTables, best_base, chosen_base
from marginals.publishing.obstacles import Obstacles, as_written, suppressed, unmet_demands
from marginals.publishing.policy import Policy
from marginals.publishing.releasable import releasable, released_levels
from marginals.publishing.stewarding import steward_report
from marginals.publishing.suggesting import suggestions
from marginals.publishing.wanted import wanted_tables, weighed
from marginals.release.accuracy import Comparison
from marginals.release.release import Release
from marginals.release.suggestion import Suggestion
from marginals.tables.table import Table
from marginals.timing import Seconds, within
from models.deadline import Deadline
from models.errors import DomainMismatchError, TimeOverError
from models.graphs.collection import Collection
from models.graphs.junction_tree import maximal_masks
from models.search import STRATEGIES, MarginLimits, Problem, from_independence, rebuilt, with_bound
from models.tables.domain import Domain, Mask

_FOR_THE_BOUND = 0.5
"""Seconds beyond the time limit, to say how good a result is that used up its time."""

_ROUNDS = 25
"""Rounds of rebuilding in a row without a better collection, after which one with fitted ladders is taken as it is."""

_FOR_THE_STEWARD = 5.0
"""Seconds of the processor to compare the model with the data."""

_FOR_SUGGESTIONS = 2.0
"""Seconds of the processor to try what else could be wanted."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is (0: unknown)."""


def no_progress(task: str, done: int, total: int) -> None:
    """Ignores progress."""


def anonymize(
    table: Table, policy: Policy, progress: Progress = no_progress, suppression: float = 0.0
) -> LatticeResult:
    """All minimal single tables that satisfy a policy, best KL divergence first.

    suppression: share of the rows that may be shown with every quasi-identifier at `*` instead; together they are a class,
    which satisfies the policy too.

    >>> from marginals.example import table
    >>> [found.levels for found in anonymize(table, Policy(k_link=4, diversity="distinct:2")).minimal]
    [Margin({'age': 1, 'sex': 1}), Margin({'age': 3, 'sex': 0})]
    """
    return minimal_tables(
        table.cube,
        table.quasi_identifiers,
        policy.requirements(table.sensitive, table.most_rows_of_a_person),
        lambda done, nodes: progress("minimal tables", done, nodes),
        suppression,
    )


def _base(table: Table, policy: Policy, requirements: Requirements, progress: Progress) -> BaseTables | None:
    """The tables that the collection must contain."""
    if policy.base == "none":
        return None
    if not isinstance(policy.base, str):
        return chosen_base(table, policy.base, requirements)
    return best_base(table, requirements, lambda done, nodes: progress("minimal tables", done, nodes))


def _problem(table: Table, policy: Policy, requirements: Requirements, base: BaseTables | None) -> Problem:
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
    )
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
    wanted = weighed(table.cube, policy.analyses)
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


def _base_values_hint(policy: Policy, table: Table) -> str:
    """What helps where a criterion is about base values that a release keeps to itself; it is then judged without them."""
    private = [
        repr(name) for name in table.sensitive if name not in table.public and table.domain.hierarchy(name).height > 1
    ]
    demanded = policy.diversities(table.sensitive)
    criterion = next((claim.diversity for claim in demanded if claim.diversity.about_base_values), None)
    if criterion is None or not private:
        return ""
    return (
        f"; readers do not know the values below the published ones of {' and '.join(private)}, over which "
        f'{criterion.name} diversity could spread the rows; if everybody may know them, set labels = "public" there'
    )


def _judged_levels(requirements: Requirements) -> dict[str, set[int]]:
    """The levels of each sensitive attribute whose values something is demanded of, besides the finest published ones."""
    judged: dict[str, set[int]] = {}
    for claim in requirements.diversity_claims:
        if claim.level:
            judged.setdefault(claim.sensitive, set()).add(claim.level)
    return judged


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


def publish(
    table: Table, policy: Policy, progress: Progress = no_progress, title: str = TITLE, seconds: Seconds = None
) -> Release:
    """The best release of a table that the policy's strategy finds; it holds published marginals, not the table.

    title: what its report and its descriptor call it. What is found is verified, by the marginals alone and with the whole
    budget of each check, before it is given back. `steward` of the release tells what does not follow from the marginals
    and so is not published, such as how near it comes to the data. seconds: for all of it, instead of the policy's
    `time_limit`; half of what the base table leaves is for the search. Raises NothingPublishableError when no collection
    satisfies the policy or the one found is not proven to, InputError when the policy does not fit the table, or demands
    no privacy.

    >>> from marginals.example import table
    >>> publish(table, Policy(k_link=4, diversity="distinct:2"))
    Release(48 rows, information 0.4968 nats; age:1, diagnosis:0; diagnosis:0, sex:0)
    """
    requirements = policy.requirements(table.sensitive, table.most_rows_of_a_person)
    if not requirements.claims:
        raise InputError(
            "the policy demands no privacy, so the table itself would be published; set k_link, k_combinatorial, "
            "min_cell, diversity or rules (in a config under [privacy]). k_link = 1 publishes without any"
        )
    cube = table.cube
    _ = weighed(cube, policy.analyses)  # what makes no sense is refused before what takes time
    deadline = within(seconds)
    searching = Deadline(time.monotonic() + policy.time_limit, time.monotonic)
    try:
        base = _base(table, policy, requirements, _until(deadline, progress))
    except TimeOverError:
        raise NothingPublishableError(
            "the time was over before the base table was found; give more seconds, or look for a release without one "
            '(base "none")'
        ) from None
    if deadline.at < inf:
        searching = deadline.share(2)
    problem = _problem(table, policy, requirements, base)
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        progress("collections", calls, 0)
        return searching.is_over

    first = result = STRATEGIES[policy.strategy](problem, stop)
    if (table.ladders or policy.analyses) and not result.optimal:
        result = rebuilt(first, problem, stop, _ROUNDS)
    for_the_bound = Deadline(searching.at + _FOR_THE_BOUND, searching.clock)
    bounded = with_bound(result, problem, lambda: for_the_bound.is_over)
    obstacles = Obstacles(table, requirements, problem.constraint)
    if not bounded.cliques:
        raise NothingPublishableError(f"no marginal of the table satisfies the policy: {_why_nothing(obstacles)}")
    chosen = Collection.of(cube, bounded.cliques)
    judged = _judged_levels(requirements)
    marginals = releasable(chosen, table.public, judged)

    def stated(claim: Claim) -> Claim:
        if claim.about is None or claim.about in table.public:
            return claim
        levels = released_levels(chosen, claim.about, judged.get(claim.about, ()))
        return claim.stated_on(chosen).at_level(levels.index(claim.level) if claim.level in levels else 0)

    words = table.codebook.of_labels(marginals.domain)
    rules = tuple(rule.applied(table.sensitive).stating(stated) for rule in policy.named_rules)
    claims = tuple(map(stated, requirements.claims))
    published = BundleContent(marginals, table.roles, claims, title, deadline, table.rows_per_person, words, rules)
    progress("verifying", 0, 0)
    for finding in published.verify().checks:
        if not finding.holds:
            raise NothingPublishableError(
                f"the collection that the search found is not proven to be private, so it is not published: {finding}"
                + _base_values_hint(policy, table)
            )
    steward = steward_report(
        obstacles,
        published,
        bounded,
        base if policy.base == "best" else None,
        policy.analyses,
        lambda: _stop_after(_FOR_THE_STEWARD, deadline),
    )
    if policy.analyses:
        wanted = wanted_tables(
            cube, policy.analyses, (bounded.cliques, bounded.wanted), published.collection, problem.constraint
        )
        steward = replace(steward, wanted=wanted)

    def suggest(compared: Comparison) -> tuple[Suggestion, ...]:
        return suggestions(problem, compared, policy.analyses, first, _stop_after(_FOR_SUGGESTIONS, deadline))

    steward = replace(steward, suggest=suggest)
    return Release(published, report_html, steward=steward)


def _stop_after(seconds: float, deadline: Deadline) -> Callable[[], bool]:
    """Whether so many seconds of the processor are used up from now on, or the time for everything is over."""
    until = time.process_time() + seconds
    return lambda: time.process_time() > until or deadline.is_over
