"""The largest odds that a collection bears: what an attacker's other evidence may say before a class breaks a criterion.

The worst class found gives odds that the collection does not exceed. Whether it bears them is decided like any criterion;
where it does not, the class that fails gives smaller odds, and so on, until odds are proven.
"""

from fractions import Fraction
from math import floor, inf, isfinite

import numpy as np

from checks.budget import Budget
from checks.diversity.criterion import Diversity
from checks.diversity.odds.under_odds import UnderOdds, odds_borne
from checks.errors import CriterionError
from checks.finding import Verdict
from checks.maxent.maxent_diversity import decided
from checks.maxent.sensitive_tree import SensitiveTree
from models.errors import TimeOverError

_DECIMALS = 3
_ATTEMPTS = 40


def largest_odds(tree: SensitiveTree, diversity: Diversity, budget: Budget) -> float | None:
    """Odds at which a criterion is proven to hold, while at 0.001 more it does not; infinite where it holds at any.

    diversity: among the values of the tree, without odds; it holds. None where the budget does not prove any above 1, or
    the criterion has too many values for that.
    """
    try:
        outcome = decided(tree, diversity, budget)[1]
        odds = inf
        for _ in range(_ATTEMPTS):
            if outcome.combination is not None:
                exact = tree.exact_vector(outcome.combination)
                shares = np.array([[float(v / sum(exact)) for v in exact]])
                borne = _rounded_down(float(odds_borne(diversity, shares)[0]))
                # A class that fails at some odds bears less, whatever rounding says.
                odds = borne if borne < odds else odds - 10**-_DECIMALS
            if not isfinite(odds):
                return odds if diversity.at_odds(Fraction(2)) == diversity else None
            if odds < 1:
                return None
            outcome = decided(tree, UnderOdds(diversity, Fraction(str(odds))), budget)[1]
            if outcome.verdict is Verdict.HOLDS:
                return odds
            if outcome.verdict is Verdict.UNDECIDED or outcome.combination is None:
                return None
    except (TimeOverError, CriterionError):
        return None
    return None


def _rounded_down(odds: float) -> float:
    """To three decimals, a little below, so that rounding does not decide."""
    return floor(odds * (1 - 1e-9) * 10**_DECIMALS) / 10**_DECIMALS if isfinite(odds) else odds
