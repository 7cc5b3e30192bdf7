"""The strategies by name."""

from collections.abc import Mapping

from models.search.anneal import anneal
from models.search.exact import exact
from models.search.genetic import genetic
from models.search.greedy import backward, both, forward
from models.search.rebuild import rebuild
from models.search.result import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "greedy": forward,
    "greedy-backward": backward,
    "greedy-both": both,
    "anneal": anneal,
    "genetic": genetic,
    "rebuild": rebuild,
    "exact": exact,
}
"""The strategies by the names that a policy uses."""
