"""Model search: strategies that look for the best valid decomposable collection that a constraint allows."""

from models.search.anneal import anneal
from models.search.beginnings.look_ahead import look_ahead
from models.search.bounds.of_results import LargeLatticeStops, with_bound
from models.search.constraint import Constraint, MarginLimits, Refusal, RefusalScope, RefusedMove, Unconstrained
from models.search.exact import exact
from models.search.genetic import genetic
from models.search.greedy import backward, both, forward, stepwise
from models.search.objective import KL, LikelihoodRatio, Objective, PenalizedDivergence, aic, bic
from models.search.problem import Problem, Stop, from_independence
from models.search.rebuild import polished, rebuild, rebuilt
from models.search.result import SearchResult, Step, Strategy
from models.search.selection import NO_LIMITS, Limits, SelectedModel, fitted, select, window
from models.search.strategies import STRATEGIES
from models.search.wanted import Measure, WantedAnalyses, WantedMargin

__all__ = [
    "KL",
    "NO_LIMITS",
    "STRATEGIES",
    "Constraint",
    "LargeLatticeStops",
    "LikelihoodRatio",
    "Limits",
    "MarginLimits",
    "Measure",
    "Objective",
    "PenalizedDivergence",
    "Problem",
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
    "exact",
    "fitted",
    "forward",
    "from_independence",
    "genetic",
    "look_ahead",
    "polished",
    "rebuild",
    "rebuilt",
    "select",
    "stepwise",
    "window",
    "with_bound",
]
