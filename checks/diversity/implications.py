"""Diversities that imply a functional one: every class that satisfies them satisfies it (TZ11 section 3)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from checks.diversity.criteria import Functional
from checks.diversity.text import spelled

# Which simple or recursive l-diversity implies a functional (tau, u)-diversity, exactly.
#
# A requirement is *stronger* than another when every class that satisfies it satisfies the other. TZ11 proves its
# theorems for the strictest line of a given u, tau = 1/u; here they are derived for every tau. Read MKGV07 and TZ11
# with u for the l of the functional requirement and m for the number of base values.
#
# simple l: F(k) can be as large as min(k / l, 1), a line up to k = l. It stays below psi iff it does at k = 1 and at
# the last k with psi(k) < 1, so iff l >= 1 / tau and l >= (u - 1) / psi(u - 1).
#
# recursive (c, l): let p = psi(k) for some k < u. Of all classes with F(k) > p the one with the smallest f_1 / tail_l
# is (nearly) level on its k most frequent values, p / k each, and on the others. Its ratio
#
#     p (m - k) / (k (1 - p) (m - l + 1))   for k < l,       p / (k - (l - 1) p)   for k >= l,
#
# rises with p, so the classes beyond psi all fail recursive (c, l) iff c is at most the smallest ratio over k < u.


class WeakestImplying(NamedTuple):
    """Weakest simple and recursive diversities that imply a functional one, over so many base values.

    simple: the smallest l; None if no class has simple l-diversity with so many values. recursive: the largest c by l.
    """

    simple: Fraction | None
    recursive: Mapping[int, Fraction]

    def as_json(self) -> dict[str, Any]:
        """Return the diversities as plain values, numbers as a criterion spells them."""
        simple = None if self.simple is None else spelled(self.simple)
        return {"simple": simple, "recursive": {str(l): spelled(c) for l, c in self.recursive.items()}}


LARGEST_L = 20
"""Largest l for which recursive diversities are given."""


def weakest_implying(requirement: Functional, value_count: int) -> WeakestImplying:
    """Return the weakest diversities that imply a requirement over so many base values; none if no class satisfies it.

    Of whole numbers l is u itself if tau >= 1/u, as the paper says (TZ11 Theorem 20, Corollary 21). For c see Theorem
    23 and Corollary 24.

    Parameters
    ----------
    requirement
        The functional diversity.
    value_count
        Number of base values.

    >>> weakest_implying(Functional(Fraction(1, 4), 4), 5).as_json()
    {'simple': '4', 'recursive': {'2': '1/3', '3': '4/9', '4': '2/3', '5': '4/3'}}
    """
    u, m = requirement.l, value_count
    if u > m or requirement.tau * m < 1:
        return WeakestImplying(None, {})

    def ratio(k: int, l: int) -> Fraction:
        p = requirement.bound(k)
        return p * (m - k) / (k * (1 - p) * (m - l + 1)) if k < l else p / (k - (l - 1) * p)

    simple = max(1 / requirement.tau, (u - 1) / requirement.bound(u - 1))
    recursive = {l: min(ratio(k, l) for k in range(1, u)) for l in range(2, min(m, LARGEST_L) + 1)}
    return WeakestImplying(simple if simple <= m else None, recursive)
