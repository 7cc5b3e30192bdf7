"""Implications between diversities: every class that satisfies the one satisfies the other (TZ11 section 3)."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

from checks.diversity.criteria import Distinct, Entropy, Functional, Recursive, Simple
from checks.diversity.criterion import Diversity
from checks.diversity.registry import parse_diversity
from checks.diversity.text import spelled
from checks.errors import CriterionError
from checks.finding import Verdict, verdict_of

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


def weakest_simple_l(requirement: Functional) -> Fraction:
    """Return the smallest l, whole or not, for which simple l-diversity implies the requirement.

    Among whole numbers it is u itself if tau >= 1/u: the paper's answer (TZ11 Theorem 20, Corollary 21).

    >>> weakest_simple_l(Functional(Fraction(1, 4), 4)), weakest_simple_l(Functional(Fraction(1, 2), 3))
    (Fraction(4, 1), Fraction(8, 3))
    """
    last = requirement.l - 1
    return max(1 / requirement.tau, last / requirement.bound(last))


def weakest_recursive_c(requirement: Functional, l: int, value_count: int) -> Fraction:
    """Return the largest c for which recursive (c, l)-diversity over `value_count` base values implies the requirement.

    TZ11 Theorem 23, and Corollary 24 for a given l. Raises CriterionError unless l is in 2 .. value_count and some
    class over so many values satisfies the requirement.

    >>> weakest_recursive_c(Functional(Fraction(1, 4), 4), 5, 5)
    Fraction(4, 3)
    """
    m = value_count
    if _is_satisfied_by_none(requirement, m):
        raise CriterionError(f"no class over {m} values satisfies {requirement}")
    if not 2 <= l <= m:
        raise CriterionError(f"recursive diversity over {m} values needs l from 2 to {m}, got {l}")

    def ratio(k: int) -> Fraction:
        p = requirement.bound(k)
        return p * (m - k) / (k * (1 - p) * (m - l + 1)) if k < l else p / (k - (l - 1) * p)

    return min(map(ratio, range(1, requirement.l)))


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

    >>> weakest_implying(Functional(Fraction(1, 4), 4), 5).as_json()
    {'simple': '4', 'recursive': {'2': '1/3', '3': '4/9', '4': '2/3', '5': '4/3'}}
    """
    if _is_satisfied_by_none(requirement, value_count):
        return WeakestImplying(None, {})
    simple, ls = weakest_simple_l(requirement), range(2, min(value_count, LARGEST_L) + 1)
    recursive = {l: weakest_recursive_c(requirement, l, value_count) for l in ls}
    return WeakestImplying(simple if simple <= value_count else None, recursive)


def implies(stronger: Diversity | str, weaker: Diversity | str, values: int) -> Verdict:
    """Decide exactly whether every class over so many base values that satisfies one diversity satisfies the other.

    Pairs of simple, recursive and functional diversity are decided by TZ11 Lemma 19, Theorems 20 and 23. The
    implications of simple diversity are decided by its most uneven class. `distinct:l` and entropy are compared among
    themselves, and recursive diversity with `distinct:l` and simple. Other pairs are undecided. values: base values
    that a class can have, at least 1. Raises CriterionError for a text that is no diversity.

    >>> implies("recursive:4/3,5", "functional:0.25,4", 5).value, implies("simple:3", "functional:0.25,4", 5).value
    ('holds', 'fails')
    >>> implies("entropy:4", "functional:0.25,4", 5).value, implies("entropy:5/2", "distinct:3", 9).value
    ('undecided', 'holds')
    """
    one, other = (parse_diversity(choice) if isinstance(choice, str) else choice for choice in (stronger, weaker))
    for diversity in (one, other):
        if not isinstance(diversity, Diversity):
            raise CriterionError(
                f'a diversity is a text such as "entropy:6", or a criterion, not {type(diversity).__name__}'
            )
    if isinstance(values, bool) or not isinstance(values, int) or values < 1:
        raise CriterionError(f"a class has at least 1 base value, a whole number, not {values!r}")
    if one == other or _is_satisfied_by_none(one, values):
        return Verdict.HOLDS
    if any(isinstance(diversity, Recursive) and diversity.dont_care for diversity in (one, other)):
        return Verdict.UNDECIDED
    match one, other:
        case Simple(l=l), Simple() | Distinct() | Entropy() | Recursive():
            return verdict_of(other.decide(_most_uneven(l)))
        case (Entropy(l=l), Entropy(l=least)) | (Distinct(l=l), Distinct(l=least)):
            return verdict_of(l >= least)
        case Entropy(l=l), Distinct(l=least):
            return verdict_of(ceil(l) >= least)
        # All rows but a few can have one value.
        case Distinct(), Simple(l=l) | Entropy(l=l) | Recursive(l=l):
            return verdict_of(l == 1)
        case Recursive() as first, (Distinct() | Simple()) as second:
            return _recursive_implies_values(first, second, values)
        case Simple(l=l), Functional(induction=None, scale=1) as functional:
            return verdict_of(not _is_satisfied_by_none(functional, values) and l >= weakest_simple_l(functional))
        case Recursive() as first, Functional(induction=None, scale=1) as functional:
            if first.l == 1:  # a class of one value passes, which no functional diversity lets
                return Verdict.FAILS
            if first.l > values or _is_satisfied_by_none(functional, values):
                return Verdict.UNDECIDED
            return verdict_of(first.c <= weakest_recursive_c(functional, first.l, values))
        case Functional(induction=None, scale=1) as tighter, Functional(induction=None, scale=1) as looser:
            if all(tighter.bound(k) <= looser.bound(k) for k in range(1, values + 1)):
                return Verdict.HOLDS
        case Functional(l=l, scale=1), Distinct(l=least):
            if ceil(l) >= least:
                return Verdict.HOLDS
        case Recursive() as first, Recursive() as second:
            equal_will_do = first.strict or not second.strict
            if first.l >= second.l and (first.c < second.c or (first.c == second.c and equal_will_do)):
                return Verdict.HOLDS
    return Verdict.UNDECIDED


def _most_uneven(l: Fraction) -> list[int]:
    """Return the rows of the most uneven class with shares of at most 1/l.

    As many values as fit have 1/l, and the last one has the rest. A criterion of shares that this class satisfies,
    like all more even classes, is satisfied by all of them.
    """
    full, rest = divmod(l.numerator, l.denominator)
    return [l.denominator] * full + ([rest] if rest else [])


def _recursive_implies_values(first: Recursive, second: Distinct | Simple, values: int) -> Verdict:
    """Decide whether recursive diversity excludes classes with few values, or with a frequent one.

    Among classes with d values the even one has the largest tail for its most frequent value, d - l + 1 times as
    large. If that is too small, none passes. With n values, all others equally frequent, f_1 is largest, and n - l + 1
    others are its tail.
    """
    if first.l == 1:
        return verdict_of(second.l == 1)
    fewest = next((number for number in range(first.l, values + 1) if first.decide([1] * number)), None)
    if fewest is None:
        return Verdict.HOLDS
    if isinstance(second, Distinct):
        return verdict_of(fewest >= second.l)
    ratio = first.c * Fraction(values - first.l + 1, values - 1)
    return verdict_of(ratio / (1 + ratio) <= 1 / second.l)


def _is_satisfied_by_none(diversity: Diversity, values: int) -> bool:
    match diversity:
        case Simple(l=l) | Distinct(l=l) | Entropy(l=l):
            return l > values
        case Functional(tau=tau, l=l, induction=None, scale=1):
            return l > values or tau * values < 1
    return False
