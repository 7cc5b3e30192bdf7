"""The strategies by name."""

from collections.abc import Mapping

from models.search.anneal import anneal
from models.search.beginnings.forest import from_both, or_from_forest
from models.search.beginnings.look_ahead import look_ahead
from models.search.exact import exact
from models.search.genetic import genetic
from models.search.greedy import backward, both
from models.search.rebuild import rebuild
from models.search.result import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "greedy": from_both,
    "look-ahead": look_ahead,
    "greedy-backward": or_from_forest(backward),
    "greedy-both": or_from_forest(both),
    "anneal": or_from_forest(anneal),
    "genetic": or_from_forest(genetic),
    "rebuild": rebuild,
    "exact": exact,
}
"""The strategies by the names that a policy uses."""
