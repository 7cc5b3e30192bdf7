"""Which diversity implies which: every class that satisfies the one satisfies the other (TZ11 section 3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from checks.diversity.criteria import Distinct, Functional, Recursive, Simple
from checks.diversity.criterion import Diversity, spelled
from checks.diversity.registry import parse_diversity
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


@dataclass(frozen=True)
class WeakestImplying:
    """The weakest simple and recursive diversities that imply a functional one, over so many base values.

    simple: the smallest l; None where no class has simple l-diversity with so many values. recursive: by l, from 2 up to
    `LARGEST_L`, the largest c, at which (c, l) implies it still.
    """

    simple: Fraction | None
    recursive: Mapping[int, Fraction]

    def as_json(self) -> dict[str, Any]:
        """As plain values, numbers as a criterion spells them."""
        return {
            "simple": None if self.simple is None else spelled(self.simple),
            "recursive": {str(l): spelled(c) for l, c in self.recursive.items()},
        }


LARGEST_L = 20
"""Recursive diversities are told up to this l."""


def weakest_implying(requirement: Functional, value_count: int) -> WeakestImplying:
    """What implies a requirement over so many base values; nothing where no class over them satisfies it.

    >>> weakest_implying(Functional(Fraction(1, 4), 4), 5).as_json()
    {'simple': '4', 'recursive': {'2': '1/3', '3': '4/9', '4': '2/3', '5': '4/3'}}
    """
    if requirement.l > value_count or requirement.tau * value_count < 1:
        return WeakestImplying(None, {})
    simple = weakest_simple_l(requirement)
    numbers = range(2, min(value_count, LARGEST_L) + 1)
    return WeakestImplying(
        simple if simple <= value_count else None,
        {l: weakest_recursive_c(requirement, l, value_count) for l in numbers},
    )


def implies(stronger: Diversity | str, weaker: Diversity | str, values: int) -> Verdict:
    """Whether every class over so many base values that satisfies one diversity satisfies the other, exactly.

    Decided of simple, recursive and functional diversity where both are of one kind, and where one of the first two is to
    imply a functional one (TZ11 Lemma 19, Theorems 20 and 23); for `distinct:l` as the weaker one, too. Undecided of other
    pairs. values: base values that a class can have, at least 1. Raises CriterionError for a text that is no diversity.

    >>> implies("recursive:4/3,5", "functional:0.25,4", 5).value, implies("simple:3", "functional:0.25,4", 5).value
    ('holds', 'fails')
    >>> implies("entropy:4", "functional:0.25,4", 5).value
    'undecided'
    """
    one, other = (parse_diversity(given) if isinstance(given, str) else given for given in (stronger, weaker))
    if values < 1:
        raise CriterionError(f"a class has at least 1 base value, not {values}")
    if one == other or _is_satisfied_by_none(one, values):
        return Verdict.HOLDS
    match one, other:
        case Simple(l=l), Simple(l=least):
            return verdict_of(l >= least)
        case Simple(l=l), Functional(induction=None, scale=1, odds=1) as functional:
            return verdict_of(not _is_satisfied_by_none(functional, values) and simple_implies(l, functional))
        case Recursive() as first, Functional(induction=None, scale=1, odds=1) as functional if not first.dont_care:
            if first.l > values or _is_satisfied_by_none(functional, values):
                return Verdict.UNDECIDED
            return verdict_of(recursive_implies(first.c, first.l, functional, values))
        case Functional(induction=None, scale=1, odds=1) as tighter, Functional(
            induction=None, scale=1, odds=1
        ) as looser:
            if all(tighter.bound(k) <= looser.bound(k) for k in range(1, values + 1)):
                return Verdict.HOLDS
        case ((Simple(l=l) | Functional(l=l, scale=1, odds=1)), Distinct(l=least)):
            if ceil(l) >= least:
                return Verdict.HOLDS
        case Recursive() as first, Recursive() as second if not first.dont_care and not second.dont_care:
            equal_will_do = first.strict or not second.strict
            if first.l >= second.l and (first.c < second.c or (first.c == second.c and equal_will_do)):
                return Verdict.HOLDS
    return Verdict.UNDECIDED


def _is_satisfied_by_none(diversity: Diversity, values: int) -> bool:
    """Whether it is plain that no class over so many values satisfies it."""
    match diversity:
        case Simple(l=l) | Distinct(l=l):
            return l > values
        case Functional(induction=None, scale=1, odds=1) as functional:
            return functional.l > values or functional.tau * values < 1
    return False
