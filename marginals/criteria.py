"""Criteria in words: what holds in every class, and what the worst class reaches."""

from collections.abc import Sequence
from typing import Any

from checks.criterion_laws import check_criterion as check_criterion
from checks.diversity.criteria import Distinct, Entropy, Functional, Recursive, Simple
from checks.diversity.criterion import Diversity as Diversity
from checks.diversity.derived import LeavingOut, OfPeople
from checks.diversity.registry import register_diversity as register_diversity
from checks.diversity.registry import unregister_diversity as unregister_diversity
from checks.diversity.relative import (
    AdjustedEntropy,
    Alpha,
    AtLevel,
    AtMost,
    BayesOptimal,
    BeliefDifference,
    BetaLikeness,
    Closeness,
    NpdRecursiveByLabel,
    Odds,
    PdRecursive,
    ProtectedValues,
)
from checks.diversity.text import spelled, spelled_labels
from marginals.replaced import instead_of


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead_of(f'criteria.{name}')}")


_WORK = {
    "equal": "half the sum of the absolute differences",
    "ordered": "what must be moved how far along the order of the values",
    "hierarchical": "what must be moved how far up and down the hierarchy",
}


def criterion_clause(criterion: Diversity) -> str:
    """Say in a clause what holds in every class.

    >>> print(criterion_clause(Distinct(3)))
    at least 3 sensitive values remain possible
    """
    match criterion:
        case LeavingOut(plain=plain, labels=labels):
            return f"{criterion_clause(plain)}, counting only those whose value is known (not {spelled_labels(labels)})"
        case AtLevel(diversity=plain, level=level):
            return f"{criterion_clause(plain)}, values being those of level {level}"
        case OfPeople(diversity=plain):
            return f"however the rows are shared among people, {criterion_clause(plain)}"
        case Distinct(l=l):
            return f"at least {l} sensitive values remain possible"
        case Simple(l=l):
            return f"no sensitive value has a probability above 1 in {spelled(l)}"
        case Entropy(l=l):
            return f"the sensitive value is at least as uncertain as {spelled(l)} equally likely ones"
        case AdjustedEntropy(l=l, may_disclose=labels):
            return f"{criterion_clause(Entropy(l))}, where {spelled_labels(labels)} may be disclosed"
        case Functional(tau=tau, l=l):
            return (
                f"the most probable sensitive value has a probability of at most {spelled(tau)}, and at least {l} "
                "sensitive values remain possible"
            )
        case Recursive(l=l):
            tail = "all others" if l == 2 else f"all but the {l - 1} most probable ones"
            return f"the most probable sensitive value is {_times(criterion)} as probable as {tail} together"
        case PdRecursive(l=l, may_disclose=labels):
            spared = "" if l == 2 else f" but the {l - 2} most probable ones"
            return (
                f"the most probable sensitive value other than {spelled_labels(labels)}, which may be disclosed, is "
                f"{_times(criterion)} as probable as all the rest{spared} together"
            )
        case ProtectedValues(percent=percent, must_protect=labels):
            prefix = "each of " if len(labels) > 1 else ""
            return f"{prefix}{spelled_labels(labels)} has a probability of at least {spelled(percent)} percent"
        case NpdRecursiveByLabel(c1=c, c2=percent, l=l, must_protect=labels, may_disclose=free, strict=strict):
            positive = PdRecursive(c, l, free, strict) if free else Recursive(c, l, strict)
            return f"{criterion_clause(positive)}, and {criterion_clause(ProtectedValues(percent, labels))}"
        case Alpha(alpha=alpha, of=labels):
            prefix, verb = ("none of ", "above") if len(labels) > 1 else ("", "of at most")
            return f"{prefix}{spelled_labels(labels)} has a probability {verb} {spelled(alpha)}"
        case AtMost(percent=percent, of=labels):
            have = "has" if len(labels) == 1 else "together have"
            return f"{_few(labels, 'harmful values')} {have} a probability of at most {spelled(percent)} percent"
        case Odds(times=times, percent=percent, may_disclose=labels):
            others = f"each value but {_few(labels, 'that harm nobody')}, and all these together, have"
            limit, rounded = f"odds of at most {spelled(times)} times those", " (rounded up to a whole percent)"
            if times == 1:
                limit, rounded = "no higher probability than", ""
            return (
                f"{others if labels else 'each sensitive value has'} {limit} among all rows, or a probability of "
                f"{spelled(percent)} percent if that is more{rounded}"
            )
        case BetaLikeness(beta=beta):
            return f"no sensitive value is more than {spelled(1 + beta)} times as probable as among all rows"
        case BeliefDifference(d=d):
            return f"the probability of no sensitive value differs by more than {spelled(d)} from that among all rows"
        case BayesOptimal(rho1=low, rho2=high):
            return (
                f"no sensitive value with a probability below {spelled(low)} among all rows has one above {spelled(high)}, "
                f"and none with one above {spelled(1 - low)} has one below {spelled(1 - high)}"
            )
        case Closeness(t=t, distance=distance):
            return (
                f"the probabilities of the sensitive values are at most {spelled(t)} away from those among all rows "
                f"({_WORK[distance]})"
            )
    return criterion.meaning()


def _few(labels: Sequence[str], kind: str) -> str:
    return spelled_labels(labels) if len(labels) <= _NAMED else f"{len(labels)} {kind}"


_NAMED = 5  # labels of a clause


def _times(criterion: Recursive | PdRecursive) -> str:
    return f"{'less than' if criterion.strict else 'at most'} {spelled(criterion.c)} times"


def criterion_reached(criterion: Diversity, value: float) -> str:
    """Say what a class reaches, and what is demanded.

    >>> criterion_reached(Distinct(3), 2)
    '2 values (limit: at least 3)'
    """
    match criterion:
        case LeavingOut(plain=plain) | AtLevel(diversity=plain) | OfPeople(diversity=plain):
            return criterion_reached(plain, value)
        case Distinct(l=l):
            return f"{value:.0f} {'value' if value == 1 else 'values'} (limit: at least {l})"
        case Simple(l=l):
            return f"the most probable value has a probability of 1 in {value:.3g} (limit: at most 1 in {spelled(l)})"
        case Entropy(l=l) | AdjustedEntropy(l=l):
            return f"as uncertain as {value:.4g} equally likely values (limit: at least {spelled(l)})"
        case Recursive() | PdRecursive():
            return f"{value:.4g} times as probable (limit: {_times(criterion)})"
        case AtMost(percent=percent):
            return f"{value:.4g} percent (limit: at most {spelled(percent)})"
        case Odds():
            return f"{value:.4g} percent (limit: its bound)"
    return criterion.reached_in_words(value)
