"""Strategies and objectives: looked up by name, passed as objects or functions, or declared by installed packages."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from models.errors import ExtensionError, SelectionError
from models.graphs.junction_tree import Collection, maximal_masks
from models.installed import OBJECTIVES as OBJECTIVE_GROUP
from models.installed import STRATEGIES as STRATEGY_GROUP
from models.installed import installed, name_of, refusal
from models.search.greedy import result_of
from models.search.problem import (
    KL,
    BDeu,
    CliqueScore,
    LikelihoodRatio,
    Objective,
    PenalizedDivergence,
    Problem,
    SearchResult,
    Stop,
    Strategy,
    additive,
    aic,
    bic,
)
from models.tables.data_cube import CHANCE, Score
from models.tables.hierarchy import Mask

OBJECTIVES: Mapping[str, Callable[[float], Objective]] = {
    "bic": bic,
    "aic": aic,
    "likelihood-ratio": LikelihoodRatio,
    "kl": lambda _rows: KL,
    "corrected": lambda rows: PenalizedDivergence(CHANCE / max(rows, 1)),
    "corrected:1": lambda rows: PenalizedDivergence(2 * CHANCE / max(rows, 1)),
    "bdeu": lambda _rows: CliqueScore(BDeu()),
}
"""Objectives by name, for a number of rows. With "kl" every addition gains, so only a limit on the margins ends the
search."""

GivenObjective = str | Objective | Score
"""Name, object with `gain`, or function of a clique's counts."""

GivenStrategy = str | Strategy
"""Name or function."""


def objective_of(objective: GivenObjective, rows: float) -> Objective:
    """Return the objective that a name, an object or a function stands for, for a table with so many rows.

    A name is one of `OBJECTIVES`, or declared by an installed package (entry points `marginals.objectives`). Otherwise
    the objective is an object with `gain` (`Objective`) or a function of a clique's counts (`Score`). It may also be a
    class of such objects, which takes the number of rows. Raises SelectionError for an unknown name, ExtensionError
    for anything else.

    >>> objective_of("aic", 100), objective_of(BDeu(2.0), 100)
    (PenalizedDivergence(price=0.01), CliqueScore(BDeu(sample_size=2.0)))
    """
    thing = named(objective, OBJECTIVES, "objective", OBJECTIVE_GROUP)
    if isinstance(objective, str) and objective in OBJECTIVES:
        return OBJECTIVES[objective](rows)
    if isinstance(thing, type):
        try:
            thing = thing(rows)
        except TypeError as error:
            raise ExtensionError(f"the objective {name_of(thing)} is not made of a number of rows: {error}") from None
    if callable(getattr(thing, "gain", None)):
        return additive(thing)
    if callable(thing):
        return CliqueScore(thing)
    with_gain = "an object with gain(divergence, parameters)"
    if isinstance(objective, str):
        raise refusal(OBJECTIVE_GROUP, objective, f"{with_gain}, a class of these, or a function of a clique's counts")
    raise ExtensionError(
        f"an objective is a name, {with_gain}, or a function of a clique's counts; not {type(objective).__name__}"
    )


_RENAMED = {
    "greedy": "forward",
    "greedy-backward": "backward",
    "greedy-both": "both",
    **dict.fromkeys(("look-ahead", "rebuild", "anneal", "genetic"), "local"),
}
"""Older names of strategies, with the names of strategies that do the same or better."""


def strategy_of(choice: GivenStrategy, strategies: Mapping[str, Strategy]) -> Strategy:
    """Return the strategy that a name or a function stands for. strategies: those of the program, by name.

    A name is one of these, or declared by an installed package (entry points `marginals.strategies`). The result of a
    foreign strategy is checked: it must be decomposable, allowed and show the required margins, and its value is
    recomputed. Otherwise ExtensionError is raised, or NothingAllowedError. Raises SelectionError for an unknown name,
    ExtensionError for no function.
    """
    strategy = named(choice, strategies, "search strategy", STRATEGY_GROUP)
    expected = "a function (problem, stop) -> SearchResult"
    if callable(strategy):
        return strategy if strategy in strategies.values() else partial(_checked_result, strategy, name_of(choice))
    if isinstance(choice, str):
        raise refusal(STRATEGY_GROUP, choice, expected)
    raise ExtensionError(f"a search strategy is a name or {expected}, not {type(choice).__name__}")


def named(entry: object, entries: Mapping[str, Any], what: str, group: str = "") -> Any:
    """Return the entry of a name, or the installed object of that name in a group; anything but text is returned
    unchanged.

    Raises SelectionError for an unknown name.
    """
    if not isinstance(entry, str):
        return entry
    if entry in entries:
        return entries[entry]
    if group and (declared := installed(group, entry)) is not None:
        return declared
    if (renamed := _RENAMED.get(entry)) in entries:
        raise SelectionError(f"the {what} {entry!r} is called {renamed!r} now")
    raise SelectionError(f"there is no {what} {entry!r}; there is {', '.join(entries)}")


def _checked_result(
    strategy: Callable[[Problem, Stop], object], name: str, problem: Problem, stop: Stop
) -> SearchResult:
    """Return the result of a foreign strategy; its value is recomputed, and its claim to be optimal is dropped."""
    result = strategy(problem, stop)
    if not isinstance(result, SearchResult):
        raise ExtensionError(
            f"the search strategy {name} gives back no SearchResult: make it of a position, by "
            f"models.search.result_of, not {type(result).__name__}"
        )
    cliques = maximal_masks(result.cliques)
    if not _is_decomposable(problem, cliques):
        raise ExtensionError(f"the search strategy {name} gives back a collection that is not decomposable")
    if not problem.is_kept(cliques):
        raise ExtensionError(f"the search strategy {name} gives back a collection that lacks what must be shown")
    return result_of(name, problem, problem.position(cliques), result.evaluated, result.steps)


def _is_decomposable(problem: Problem, cliques: Sequence[Mask]) -> bool:
    attribute_masks = problem.cube.domain.attribute_masks
    step_bits = [(clique & mask) // (mask & -mask) for clique in cliques for mask in attribute_masks if mask]
    if any(steps & steps + 1 for steps in step_bits) or any(clique & ~sum(attribute_masks) for clique in cliques):
        return False
    return Collection.of(problem.cube, cliques).is_decomposable
