"""Which simple or recursive l-diversity implies a functional (tau, u)-diversity (TZ11 section 3), exactly.

A requirement is *stronger* than another when every class that satisfies it satisfies the other. TZ11 proves its
theorems for the strictest line of a given u, tau = 1/u; here they are derived for every tau. Read MKGV07 and TZ11 with
u for the l of the functional requirement and m for the number of base values.

simple l: F(k) can be as large as min(k / l, 1), a line up to k = l. It stays below psi iff it does at k = 1 and at the
last k with psi(k) < 1, so iff l >= 1 / tau and l >= (u - 1) / psi(u - 1).

recursive (c, l): let p = psi(k) for some k < u. Of all classes with F(k) > p the one with the smallest f_1 / tail_l is
(nearly) level on its k most frequent values, p / k each, and on the others. Its ratio

    p (m - k) / (k (1 - p) (m - l + 1))   for k < l,       p / (k - (l - 1) p)   for k >= l,

rises with p, so the classes beyond psi all fail recursive (c, l) iff c is at most the smallest ratio over k < u.
"""

from fractions import Fraction

from checks.diversity.functional import Functional
from checks.errors import CriterionError


def weakest_simple_l(requirement: Functional) -> Fraction:
    """The smallest l, whole or not, for which simple l-diversity implies the requirement (TZ11 Corollary 21).

    Among whole numbers that is u itself where tau >= 1/u: the paper's answer.

    >>> weakest_simple_l(Functional(Fraction(1, 4), 4)), weakest_simple_l(Functional(Fraction(1, 2), 3))
    (Fraction(4, 1), Fraction(8, 3))
    """
    last = requirement.l - 1
    return max(1 / requirement.tau, last / requirement.bound(last))


def simple_implies(l: Fraction | int, requirement: Functional) -> bool:
    """Whether every class that is simple l-diverse satisfies the requirement (TZ11 Theorem 20).

    l: at most the number of base values, or there is no such class.
    """
    return l >= weakest_simple_l(requirement)


def weakest_recursive_c(requirement: Functional, l: int, value_count: int) -> Fraction:
    """The largest c for which recursive (c, l)-diversity over `value_count` base values implies the requirement
    (TZ11 Corollary 24 for a given l). Raises CriterionError when l is not in 2 .. value_count, or when no class over so
    many values satisfies the requirement.

    >>> weakest_recursive_c(Functional(Fraction(1, 4), 4), 5, 5)
    Fraction(4, 3)
    """
    m = value_count
    if requirement.l > m or requirement.tau * m < 1:
        raise CriterionError(f"no class over {m} values satisfies {requirement}")
    if not 2 <= l <= m:
        raise CriterionError(f"recursive diversity over {m} values needs l from 2 to {m}, got {l}")

    def ratio(k: int) -> Fraction:
        p = requirement.bound(k)
        return p * (m - k) / (k * (1 - p) * (m - l + 1)) if k < l else p / (k - (l - 1) * p)

    return min(map(ratio, range(1, requirement.l)))


def weakest_recursive_l(requirement: Functional, c: Fraction | int, value_count: int) -> int | None:
    """The smallest l for which recursive (c, l)-diversity implies the requirement (TZ11 Corollary 24 for a given c).

    None when none does, up to `value_count`. Raises CriterionError as `weakest_recursive_c` does.
    """
    numbers = range(2, max(value_count, 2) + 1)
    return next((number for number in numbers if recursive_implies(c, number, requirement, value_count)), None)


def recursive_implies(c: Fraction | int, l: int, requirement: Functional, value_count: int) -> bool:
    """Whether every class over `value_count` base values that is recursive (c, l)-diverse satisfies the requirement
    (TZ11 Theorem 23). Raises CriterionError as `weakest_recursive_c` does.
    """
    return c <= weakest_recursive_c(requirement, l, value_count)
