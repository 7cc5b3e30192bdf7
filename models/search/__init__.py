"""Model search: strategies that look for the best valid decomposable collection that a constraint allows."""

from models.search.chance import by_divergence, settled, without_chance_edges
from models.search.exact import exact
from models.search.greedy import backward, both, forward, look_ahead, polished, rebuild, rebuilt, stepwise
from models.search.lattice_bounds import with_bound
from models.search.metaheuristics import anneal, genetic
from models.search.portfolio import portfolio
from models.search.problem import (
    KL,
    Constraint,
    LikelihoodRatio,
    MarginLimits,
    Objective,
    PenalizedDivergence,
    Problem,
    PruningConstraint,
    Refusal,
    RefusalScope,
    RefusedMove,
    SearchResult,
    Step,
    Stop,
    Strategy,
    Unconstrained,
    aic,
    bic,
    from_independence,
)
from models.search.selection import NO_LIMITS, STRATEGIES, Limits, SelectedModel, fitted, select, window
from models.search.variable_depth import by_pairs
from models.search.wanted import Measure, WantedAnalyses, WantedMargin

__all__ = [
    "KL",
    "NO_LIMITS",
    "STRATEGIES",
    "Constraint",
    "LikelihoodRatio",
    "Limits",
    "MarginLimits",
    "Measure",
    "Objective",
    "PenalizedDivergence",
    "Problem",
    "PruningConstraint",
    "Refusal",
    "RefusalScope",
    "RefusedMove",
    "SearchResult",
    "SelectedModel",
    "Step",
    "Stop",
    "Strategy",
    "Unconstrained",
    "WantedAnalyses",
    "WantedMargin",
    "aic",
    "anneal",
    "backward",
    "bic",
    "both",
    "by_divergence",
    "by_pairs",
    "exact",
    "fitted",
    "forward",
    "from_independence",
    "genetic",
    "look_ahead",
    "polished",
    "portfolio",
    "rebuild",
    "rebuilt",
    "select",
    "settled",
    "stepwise",
    "window",
    "with_bound",
    "without_chance_edges",
]
