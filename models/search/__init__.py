"""Model search: strategies that look for the best decomposable collection that a constraint allows.

Names for own strategies and objectives; `models` offers the others.
"""

from models.search.doors import objective_of, strategy_of
from models.search.greedy import forward, result_of
from models.search.problem import (
    BDeu,
    CliqueScore,
    LikelihoodRatio,
    PenalizedDivergence,
    Position,
    Problem,
    Refusal,
    SearchResult,
    Step,
)
from models.search.selection import select

__all__ = [
    "BDeu",
    "CliqueScore",
    "LikelihoodRatio",
    "PenalizedDivergence",
    "Position",
    "Problem",
    "Refusal",
    "SearchResult",
    "Step",
    "forward",
    "objective_of",
    "result_of",
    "select",
    "strategy_of",
]
