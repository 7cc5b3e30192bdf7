"""Model search: strategies that look for the best valid decomposable collection that a constraint allows."""

from collections.abc import Mapping

from models.search.constraint import Constraint, Refusal, Unconstrained
from models.search.greedy import greedy
from models.search.result import SearchResult, Step, Strategy

STRATEGIES: Mapping[str, Strategy] = {"greedy": greedy}
"""The strategies by the names a policy uses."""

__all__ = ["STRATEGIES", "Constraint", "Refusal", "SearchResult", "Step", "Strategy", "Unconstrained", "greedy"]
