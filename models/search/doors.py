"""Strategies and objectives by name, as objects or functions, and of installed packages: one door for all who search.

Wherever a person says one, the same is understood.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

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
"""Objectives by name, for a number of rows. With "kl" more is always better: only a limit on the margins ends it."""

GivenObjective = str | Objective | Score
"""A name, an object with `gain`, or a function of a clique's counts."""

GivenStrategy = str | Strategy
"""A name, or a function."""

Named = TypeVar("Named")


def objective_of(given: GivenObjective, rows: float) -> Objective:
    """The objective that a name, an object or a function stands for, of a table with so many rows.

    A name is one of `OBJECTIVES`, or of an installed package (entry points `marginals.objectives`). What is given, or
    declared there, is an object with `gain` (`Objective`), a class of these, which is called with the number of rows, or a
    function of a clique's counts (`Score`). Raises SelectionError for an unknown name, ExtensionError for anything else.

    >>> objective_of("aic", 100), objective_of(BDeu(2.0), 100)
    (PenalizedDivergence(price=0.01), CliqueScore(BDeu(sample_size=2.0)))
    """
    if not isinstance(given, str):
        return _made(given, rows)
    if given in OBJECTIVES:
        return OBJECTIVES[given](rows)
    declared = installed(OBJECTIVE_GROUP, given)
    if declared is None:
        raise SelectionError(_unknown("objective", given, OBJECTIVES))
    try:
        return _made(declared, rows)
    except ExtensionError:
        expected = "an object with gain(divergence, parameters), a class of these, or a function of a clique's counts"
        raise refusal(OBJECTIVE_GROUP, given, expected) from None


def _made(given: object, rows: float) -> Objective:
    thing = given(rows) if isinstance(given, type) else given
    if callable(getattr(thing, "gain", None)):
        return additive(thing)  # type: ignore[arg-type]
    if callable(thing):
        return CliqueScore(thing)
    raise ExtensionError(
        f"an objective is a name, an object with gain(divergence, parameters), or a function of a clique's counts; not "
        f"{type(given).__name__}"
    )


def has_best_model(objective: Objective) -> bool:
    """Whether models can be compared by an objective, so that one is the best; a test of significance stops a search only.

    >>> has_best_model(LikelihoodRatio(100)), has_best_model(KL)
    (False, True)
    """
    return isinstance(additive(objective), PenalizedDivergence)


def strategy_of(given: GivenStrategy, known: Mapping[str, Strategy]) -> Strategy:
    """The strategy that a name or a function stands for. known: those of the program, by name.

    A name is one of these, or of an installed package (entry points `marginals.strategies`). What comes of somebody's own
    strategy is looked at: a collection that is decomposable, allowed and shows what is kept, with a true account of its
    value; else ExtensionError is raised, or NothingAllowedError. Raises SelectionError for an unknown name, ExtensionError
    for what is no function.
    """
    if not isinstance(given, str):
        if not callable(given):
            raise ExtensionError(
                f"a search strategy is a name or a function (problem, stop) -> SearchResult, not {type(given).__name__}"
            )
        return given if given in known.values() else _Checked(given, name_of(given))
    if given in known:
        return known[given]
    declared = installed(STRATEGY_GROUP, given)
    if declared is None:
        raise SelectionError(_unknown("search strategy", given, known))
    if not callable(declared):
        raise refusal(STRATEGY_GROUP, given, "a function (problem, stop) -> SearchResult")
    return _Checked(declared, given)


def named(name: str, known: Mapping[str, Named], what: str) -> Named:
    """What has a name. Raises SelectionError for an unknown one."""
    if name not in known:
        raise SelectionError(_unknown(what, name, known))
    return known[name]


def _unknown(what: str, name: str, known: Mapping[str, object]) -> str:
    return f"there is no {what} {name!r}; there is {', '.join(known)}"


@dataclass(frozen=True)
class _Checked:
    """Somebody's own strategy, whose result is looked at."""

    strategy: Callable[[Problem, Stop], object]
    name: str

    def __call__(self, problem: Problem, stop: Stop) -> SearchResult:
        """What it finds, with its own steps, and its value computed anew; that it is the best is proven by others only."""
        search_result = self.strategy(problem, stop)
        if not isinstance(search_result, SearchResult):
            raise ExtensionError(
                f"the search strategy {self.name} gives back no SearchResult: make it of a position, by "
                f"models.search.result_of, not {type(search_result).__name__}"
            )
        cliques = maximal_masks(search_result.cliques)
        if not self._is_valid(problem, cliques):
            raise ExtensionError(f"the search strategy {self.name} gives back a collection that is not decomposable")
        if not problem.is_kept(cliques):
            raise ExtensionError(
                f"the search strategy {self.name} gives back a collection that lacks what must be shown"
            )
        return result_of(self.name, problem, problem.position(cliques), search_result.evaluated, search_result.steps)

    def _is_valid(self, problem: Problem, cliques: Sequence[Mask]) -> bool:
        """Whether margins are decomposable, each showing of every attribute its coarsest steps and no others."""
        attribute_masks = problem.cube.domain.attribute_masks
        step_bits = [(clique & mask) // (mask & -mask) for clique in cliques for mask in attribute_masks if mask]
        if any(steps & steps + 1 for steps in step_bits) or any(clique & ~sum(attribute_masks) for clique in cliques):
            return False
        return Collection.of(problem.cube, cliques).is_decomposable
