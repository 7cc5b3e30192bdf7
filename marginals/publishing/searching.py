"""Searching: the collection of margins that preserves the most of a table's data under a policy."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import replace
from math import inf

from checks.claims import Question, answer, undecided
from checks.finding import FULL, Finding
from checks.privacy_constraint import PrivacyConstraint
from checks.register import is_chain, showing
from checks.requirements import Requirements
from marginals.arguments import require_names
from marginals.deadline import ANSWERED, SEARCH_CLOCK
from marginals.errors import InputError, NothingPublishableError
from marginals.ledger import Continuation
from marginals.publishing.obstacles import Obstacles, as_written, no_single_table, suppressed, unmet_demands
from marginals.publishing.policy import CORRECTED, Policy
from marginals.publishing.wanted import FurtherWish, weighed
from marginals.recoding.lattice import finest_level, minimal_levels, table_satisfies
from marginals.tables.table import Table
from models.deadline import Deadline
from models.errors import DomainMismatchError, TimeOverError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, maximal_masks
from models.search.doors import strategy_of
from models.search.further_tables import FurtherLimits, FurtherTable, further_tables
from models.search.greedy import without_chance_edges
from models.search.lower_bound import LARGEST_LATTICE, lattice_size, with_bound
from models.search.problem import (
    Constraint,
    MarginLimits,
    Problem,
    PruningConstraint,
    SearchResult,
    from_independence,
)
from models.search.selection import STRATEGIES
from models.tables.hierarchy import Domain, Mask

# The anonymized table that a collection must contain, and from which its search starts.
#
# A table of several sensitive attributes can seldom be diverse, because each must be diverse within every value of the
# others (MKGV07 Def. 4.6). So each sensitive attribute gets a separate base table, with the same quasi-identifiers at the
# same levels. Together these are as private as one of them (KG06 Prop. 7.3). The sensitive attribute stands there at the
# finest level that all rows allow.

_BASE = "base.table"


def _chosen_base(prepared: "Prepared", levels: Mapping[str, int]) -> tuple[Mask, ...]:
    table, requirements = prepared.table, prepared.requirements
    require_names(levels, "base", table.quasi_identifiers, "quasi-identifier")
    levels = {a: levels.get(a, table.domain.hierarchy(a).height) for a in table.quasi_identifiers}
    masks = _masks(table, levels, sensitive_levels(table, requirements), prepared.policy.alone)
    for mask, part in zip(masks, _parts(table, requirements)):
        if not table_satisfies(table.cube, mask, part):
            constraint = PrivacyConstraint(table.cube, part)
            with_sensitive = f" with {part.sensitive[0]}" if len(table.sensitive) > 1 else ""
            name = f"the base table {as_written(levels, table.domain)}{with_sensitive}"
            raise Obstacles(table, part, constraint).refusal(mask, name, part.sensitive).about(_BASE)
    return masks


def sensitive_levels(table: Table, requirements: Requirements, *, needs_all: bool = True) -> dict[str, int]:
    """The finest level of each sensitive attribute at which all rows together may be shown.

    needs_all: whether each attribute needs such a level; else one of them does. Raises NothingPublishableError if not even
    tables with all quasi-identifiers suppressed may be published.
    """
    parts = _parts(table, requirements)
    levels = {name: finest_level(table.cube, name, part) for name, part in zip(table.sensitive, parts)}
    possible = {name: level for name, level in levels.items() if level is not None}
    has_enough = len(possible) == len(levels) if needs_all or not levels else bool(possible)
    if has_enough and (levels or table_satisfies(table.cube, 0, requirements)):
        return possible
    why = no_single_table(map(table.cube.table, _masks(table, {}, dict.fromkeys(table.sensitive, 0))), parts)
    if any((part.class_size or 0) > table.rows for part in parts):
        raise NothingPublishableError(
            f"{why}; demand at most {table.rows:,} rows of a class (k_link, k_combinatorial, min_cell, rules)"
        )
    raise NothingPublishableError(
        f'{why}; lower the requirement, or set base.table = "none" to publish smaller tables only'
    ).about(_BASE)


def _best_base(prepared: "Prepared", problem: Problem, deadline: Deadline, progress: "Progress") -> tuple[Mask, ...]:
    table, requirements = prepared.table, prepared.requirements
    parts, levels_of_sensitive = _parts(table, requirements), sensitive_levels(table, requirements)

    def base(levels: Mapping[str, int]) -> tuple[Mask, ...]:
        return _masks(table, levels, levels_of_sensitive, prepared.policy.alone)

    def passes(levels: Mapping[str, int]) -> bool:
        return all(table_satisfies(table.cube, mask, part) for mask, part in zip(base(levels), parts))

    def show(done: int, nodes: int) -> None:
        deadline.check()
        progress("minimal tables", done, nodes)

    minimal = minimal_levels(table.cube, table.quasi_identifiers, passes, show)
    return base(
        min(minimal, key=lambda levels: (problem.value(problem.position(base(levels))), tuple(levels.values())))
    )


def _parts(table: Table, requirements: Requirements) -> list[Requirements]:
    return [requirements.about(attribute) for attribute in table.sensitive] or [requirements]


def _masks(
    table: Table, levels: Mapping[str, int], of_sensitive: Mapping[str, int], separate: AnyCollection[str] = ()
) -> tuple[Mask, ...]:
    public = table.domain.mask(levels)
    level_masks = {name: table.domain.mask({name: level}) for name, level in of_sensitive.items()}
    return tuple(mask if name in separate else public | mask for name, mask in level_masks.items()) or (public,)


_OF_THE_SEARCH, _FOR_THE_BOUND = 1 / 10, 0.5
"""Time of a bound beyond the time limit: this share of the time of the search, or these seconds if they are more. If the
lattice is too large to be laid out, this is also the most that a bound may take in any case."""

Progress = Callable[[str, int, int], None]
"""Function of a task, its units done, and its units in all (0: unknown)."""

PROGRESS = "a function of a task, how much is done and how much there is: lambda task, done, total: None"
"""Right argument for `progress`, as errors name it."""


def no_progress(task: str, done: int, total: int) -> None:
    """Ignore progress."""


@frozen(eq=False)
class Prepared:
    """A table that is ready to be searched. visible: its part that the release shows. series: of a ledger, if any."""

    policy: Policy
    requirements: Requirements
    table: Table
    visible: Table
    series: Continuation | None = None

    @property
    def common(self) -> Mask:
        """Attributes that define a part beside earlier releases, so that each margin must show them."""
        return 0 if self.series is None else self.series.common

    @property
    def envelope(self) -> tuple[Mask, ...] | None:
        """Margins of earlier releases, one of which must show each published one; None without any."""
        return None if self.series is None else self.series.masks


@frozen(eq=False)
class Search:
    """Result of a search, with its problem and the base tables that it had to contain.

    register: findings of the table itself about readers with a register.
    """

    problem: Problem
    base: tuple[Mask, ...] | None
    result: SearchResult
    register: tuple[Finding, ...] = ()


def attested(prepared: Prepared, cliques: Sequence[Mask], deadline: Deadline) -> list[Finding]:
    """Findings of the tables themselves about readers with a register; claims on base values need a chain of margins."""
    tables = [prepared.table] if prepared.visible is prepared.table else [prepared.table, prepared.visible]
    findings = []
    for table in tables:
        question = Question(Collection.of(table.cube, cliques), table.sensitive, FULL.until(deadline))
        for claim in prepared.requirements.register_claims:
            name = claim.about
            has_hidden_values = name not in table.public and table.domain.hierarchy(name).height > 1
            forms_chain = is_chain(table.domain, showing(table.domain, cliques, name), name)
            if claim.diversity.about_base_values and has_hidden_values and not forms_chain:
                findings.append(undecided(claim, f"{claim.diversity} is about base values, which are not published"))
            else:
                findings.append(answer(claim, question))
    return findings


def searched(prepared: Prepared, deadline: Deadline, progress: Progress) -> Search:
    """Search as a policy demands, also for safety from readers with a register if it demands that.

    If counts refuse a result that a fit allowed, the search is repeated in half of the time, with fewer tables for each
    sensitive attribute. With a single table the published files decide. Raises NothingPublishableError if nothing satisfies
    the policy, InputError if it does not fit the table.
    """
    domain, policy = prepared.table.domain, prepared.policy
    allowed = PrivacyConstraint(prepared.table.cube, _of_core(prepared.requirements), policy.max_sensitive_margins)
    base = None
    while True:
        search = _searched(prepared, allowed, base, deadline, progress)
        masks, findings = search.result.cliques, attested(prepared, search.result.cliques, deadline)
        level_masks = [domain.mask({name: 0}) for name in prepared.requirements.sensitive]
        most = max((sum(bool(mask & level_mask) for mask in masks) for level_mask in level_masks), default=0)
        if most <= 1 or all(finding.holds for finding in findings):
            return replace(search, register=tuple(findings))
        base, policy = search.base, replace(policy, max_sensitive_margins=most - 1, time_limit=policy.time_limit / 2)
        prepared, allowed = replace(prepared, policy=policy), allowed.with_at_most(most - 1)


def _of_core(requirements: Requirements) -> Requirements:
    """Requirements on a collection with a junction tree: no class is certain to be small there if no class is small."""
    least, k_link = requirements.no_small_certain, requirements.k_link
    if least is not None:
        k_link = max(k_link or least, least)
    return replace(requirements, no_small_certain=None, no_small_cell_certain=None, k_link=k_link)


def _searched(
    prepared: Prepared,
    allowed: PrivacyConstraint,
    base: tuple[Mask, ...] | None,
    deadline: Deadline,
    progress: Progress,
) -> Search:
    """Search once, in half of the time left. base: base tables of an earlier search for more tables."""
    table, policy = prepared.table, prepared.policy
    wanted = weighed(table.cube, policy.analyses)
    is_for_all = deadline.at < inf
    # beside further tables a third of the limit, since it bounds their choice and their proof, too
    limit = policy.time_limit if policy.further is None else policy.time_limit / 3
    searching = deadline.share(2) if is_for_all else Deadline.after(limit, SEARCH_CLOCK)
    begun = searching.clock()
    constraint = _constraint(prepared, allowed)
    free = Problem(table.cube, constraint, policy.objective_for(table), seed=policy.seed, wanted=wanted)
    base = None if prepared.envelope else base or _demanded_base(prepared, free, deadline, progress)
    searching = deadline.share(2) if is_for_all else searching
    problem = _leaving_room(prepared, _problem(prepared, free, base), searching)
    search = Search(problem, base, _result(prepared, problem, searching, progress))
    search = replace(search, result=_with_bound(search, begun, searching, is_for_all))
    if not search.result.cliques and search.result.stopped:
        raise NothingPublishableError(
            "the time, which runs by the wall clock, was over during the search, before it found a table that satisfies "
            "the policy; give it more (search.time_limit, or --seconds), or run it on a machine that is less busy"
        ).about("search.time_limit")
    if not search.result.cliques:
        obstacles = Obstacles(table, prepared.requirements, constraint)
        raise NothingPublishableError(f"no marginal of the table satisfies the policy: {_why_nothing(obstacles)}")
    return search


def _result(prepared: Prepared, problem: Problem, searching: Deadline, progress: Progress) -> SearchResult:
    policy, calls, stopped = prepared.policy, 0, False

    def stop() -> bool:
        nonlocal calls, stopped
        calls, stopped = calls + 1, searching.is_over
        progress("collections", calls, 0)
        return stopped

    strategy = strategy_of("forward" if problem.required == prepared.envelope else policy.strategy, STRATEGIES)
    result = strategy(problem, stop)
    if policy.objective == CORRECTED:
        result = without_chance_edges(result, problem, stop)
    margins, analyses = [problem.cube.domain.margin(mask) for mask in result.cliques], policy.analyses
    are_shown = (any({*analysis.attributes} <= margin.keys() for margin in margins) for analysis in analyses)
    progress(ANSWERED, sum(is_shown << bit for bit, is_shown in enumerate(are_shown)), len(analyses))
    return replace(result, stopped=stopped and not result.optimal)


def _with_bound(search: Search, begun: float, searching: Deadline, is_for_all: bool) -> SearchResult:
    seconds = max(_OF_THE_SEARCH * (searching.clock() - begun), _FOR_THE_BOUND)
    deadline = searching.later(_FOR_THE_BOUND if is_for_all else seconds)
    if lattice_size(search.problem) > LARGEST_LATTICE:
        deadline = deadline.earlier(seconds)
    return with_bound(search.result, search.problem, deadline)


def _demanded_base(
    prepared: Prepared, problem: Problem, deadline: Deadline, progress: Progress
) -> tuple[Mask, ...] | None:
    demanded = prepared.policy.base
    if demanded == "auto" and not prepared.common:
        _ = sensitive_levels(prepared.table, prepared.requirements, needs_all=False)  # or it shows nothing sensitive
    if demanded in ("auto", "none"):
        return None
    if isinstance(demanded, Mapping):
        return _chosen_base(prepared, demanded)
    try:
        return _best_base(prepared, problem, deadline, progress)
    except TimeOverError:
        raise NothingPublishableError(
            "the time was over before the base table was found; give more seconds, or look for a release without one "
            '(base "none")'
        ).about(_BASE) from None


def _constraint(prepared: Prepared, allowed: PruningConstraint) -> MarginLimits:
    table, policy, series = prepared.table, prepared.policy, prepared.series
    require_names(policy.alone, "alone", table.sensitive, "sensitive attribute")
    return MarginLimits(
        table.domain,
        max_attributes=policy.max_attributes,
        withheld=tuple(_mask(table.domain, "must_not_publish", margin) for margin in policy.must_not_publish),
        then=allowed if series is None else series.limited(allowed, policy.max_waiting, policy.seed),
        envelope=prepared.envelope,
        common=prepared.common,
        isolated=tuple(table.domain.attribute_masks[table.domain.index(name)] for name in policy.alone),
        crossing_levels=policy.crossing_levels,
    )


def _problem(prepared: Prepared, free: Problem, base: tuple[Mask, ...] | None) -> Problem:
    table, policy, constraint = prepared.table, prepared.policy, free.constraint
    domain, envelope = table.domain, prepared.envelope
    required = [*base] if base else [*([prepared.common] if prepared.common else [])]
    required += [_mask(domain, "must_publish", margin) for margin in policy.must_publish]
    required = maximal_masks(required)
    is_whole = envelope and Collection.of(table.cube, envelope).is_decomposable and not constraint(envelope, 0)
    if envelope and is_whole and all(any(not m & ~envelope_margin for envelope_margin in envelope) for m in required):
        return replace(free, required=envelope)
    if not Collection.of(table.cube, required).is_decomposable:
        named = "what must be published, with the base table, is not decomposable; name larger margins"
        raise InputError(named).about(_BASE if base else "search.must_publish")
    if refusal := constraint(required, 0):
        obstacles = Obstacles(table, prepared.requirements, constraint)
        for margin in policy.must_publish:
            mask = domain.mask(margin)
            if constraint([mask], 0):
                raise obstacles.refusal(mask, f"must_publish {as_written(margin, domain)}")
        what = "what must be published" if policy.must_publish else "the base table" if base else "what tells the part"
        together = ", though each margin by itself can" if len(required) > 1 else ""
        error = NothingPublishableError(f"{what} cannot be published{together}: {refusal.reason}")
        raise error.about(_BASE if base else "search.must_publish")
    return from_independence(replace(free, required=tuple(required)), prepared.common)


def _leaving_room(prepared: Prepared, problem: Problem, searching: Deadline) -> Problem:
    """Let the core show no pair more finely than the further table that is best beside tables of single attributes.

    Otherwise the core may take levels that cross those of the best table, which then cannot be published. What is best is
    decided by counts of nonsensitive attributes alone.
    """
    policy, limits = prepared.policy, problem.constraint
    if policy.further is None or policy.crossing_levels or not isinstance(limits, MarginLimits):
        return problem
    begun = Collection.of(problem.cube, problem.initial)
    best = best_further(prepared, begun, limits, searching.share(4), lambda _done, _pairs: None)
    return replace(problem, constraint=replace(limits, finest=tuple(table.mask for table in best)))


def best_further(
    prepared: Prepared,
    core: Collection,
    allows: Constraint,
    deadline: Deadline,
    progress: Callable[[int, int], None],
    undisturbed: tuple[tuple[Mask, ...], ...] = (),
) -> tuple[FurtherTable, ...]:
    """The further tables that a policy wants, by their gain over a core; wanted pairs come first."""
    policy, table = prepared.policy, prepared.table
    wish = policy.further or FurtherWish()
    nonsensitive = [name for name in table.domain.attributes if name not in table.sensitive]
    pairs = [analysis.attributes for analysis in policy.analyses if len(analysis.attributes) == 2]
    wanted = wish.wanted or [names for names in pairs if {*names} <= {*nonsensitive}]
    masks = [table.domain.mask(dict.fromkeys(names, 0)) for names in wanted]
    limits = FurtherLimits(
        len(wish.wanted) or wish.tables, crossing_levels=policy.crossing_levels, undisturbed=undisturbed
    )
    return further_tables(core, nonsensitive, lambda mask: allows([mask], 0) is None, limits, masks, deadline, progress)


def _mask(domain: Domain, key: str, margin: Mapping[str, int]) -> Mask:
    try:
        mask = domain.mask(margin)
    except DomainMismatchError as error:
        raise InputError(f"{key}: {error}") from None
    if not mask:
        raise InputError(f"{key}: a margin with every attribute at the level of * shows nothing")
    return mask


_NAMED = 3
"""Attributes with a reason, if nothing can be published."""


def _why_nothing(obstacles: Obstacles) -> str:
    table = obstacles.table
    if unmet := unmet_demands(suppressed(table), obstacles.requirements):
        return "; ".join(unmet)
    names = table.domain.attributes
    reasons = [f"{name}: {obstacles.of_attribute(name, ())}" for name in names[:_NAMED]]
    return ". ".join(reasons) + (f". And {len(names) - _NAMED} more" if len(names) > _NAMED else "")
