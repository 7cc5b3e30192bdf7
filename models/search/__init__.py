"""Model search: strategies that look for the best valid decomposable collection that a constraint allows."""

from models.search.constraint import Constraint, Refusal, Unconstrained
from models.search.greedy import greedy
from models.search.result import SearchResult, Step, Strategy

__all__ = ["Constraint", "Refusal", "SearchResult", "Step", "Strategy", "Unconstrained", "greedy"]
