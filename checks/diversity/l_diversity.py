"""l-diversity: what "l well-represented sensitive values" can mean for one class (MKGV07 section 4, KG06 Def. 2.5).

A criterion looks at vectors, one row a class, one column a sensitive value: counts, or probabilities in any scale.
`slack` is how far a class is from the boundary, relative to it; near 0 floating point cannot tell, and `decide` does,
with integers and fractions. Every criterion here is kept by merging passing classes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from checks.diversity.exact_entropy import entropy_is_at_least
from checks.diversity.functional_diversity import Functional
from checks.diversity.spelling import spelled
from checks.errors import CriterionError
from models.arrays import BoolArray, FloatArray

BOUNDARY = 1e-9
"""Relative slack below which a verdict is left to exact arithmetic."""

SPELLINGS = "distinct:l, simple:l, entropy:l, recursive:c,l, functional:tau,l"
"""The criteria that have a text."""

_NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,12}|/[0-9]{1,12})?")
"""Numbers as a criterion may spell them; an exponent could ask for more digits than there is memory."""

Vectors = NDArray[Any]
"""Class by sensitive value, nonnegative, each row with a positive sum."""


@runtime_checkable
class Diversity(Protocol):
    """A criterion on the distribution of the sensitive values in a class."""

    def slack(self, vectors: Vectors) -> FloatArray:
        """Positive where the class passes, negative where it fails, relative to the bound: shape (classes,)."""

    def reached(self, vectors: Vectors) -> FloatArray:
        """The strongest parameter that the class still satisfies, as the class docstring says: shape (classes,)."""

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""


def _positive(value: Fraction, least: int, spelling: str) -> None:
    if value < least:
        raise CriterionError(f"{spelling} needs l of at least {least}, got {spelled(value)}")


@dataclass(frozen=True)
class Distinct:
    """At least l different sensitive values. Reached: how many there are."""

    l: int
    name: ClassVar[str] = "distinct"

    def __post_init__(self) -> None:
        _positive(Fraction(self.l), 1, "distinct:l")

    def __str__(self) -> str:
        return f"distinct:{self.l}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """Never near 0: a half is added to the whole number of values."""
        return np.asarray((self.reached(vectors) - self.l + 0.5) / self.l, dtype=np.float64)

    def reached(self, vectors: Vectors) -> FloatArray:
        """Number of values with a positive share."""
        return np.asarray(np.count_nonzero(vectors, axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return sum(v > 0 for v in vector) >= self.l


@dataclass(frozen=True)
class Simple:
    """No sensitive value has a share above 1/l. Reached: 1 / largest share."""

    l: Fraction
    name: ClassVar[str] = "simple"

    def __post_init__(self) -> None:
        _positive(self.l, 1, "simple:l")

    def __str__(self) -> str:
        return f"simple:{spelled(self.l)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to l."""
        return self.reached(vectors) / float(self.l) - 1

    def reached(self, vectors: Vectors) -> FloatArray:
        """1 / largest share."""
        return np.asarray(vectors.sum(axis=1) / vectors.max(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return max(vector) * self.l <= sum(vector)


@dataclass(frozen=True)
class Entropy:
    """The entropy of the sensitive values is at least ln l (MKGV07 Def. 4.1). Reached: exp of the entropy."""

    l: Fraction
    name: ClassVar[str] = "entropy"

    def __post_init__(self) -> None:
        _positive(self.l, 1, "entropy:l")

    def __str__(self) -> str:
        return f"entropy:{spelled(self.l)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to l."""
        return self.reached(vectors) / float(self.l) - 1

    def reached(self, vectors: Vectors) -> FloatArray:
        """Effective number of equally likely values."""
        shares = vectors / vectors.sum(axis=1, keepdims=True)
        return np.asarray(np.exp(-xlogy(shares, shares).sum(axis=1)), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return entropy_is_at_least(vector, self.l)


@dataclass(frozen=True)
class Recursive:
    """The most frequent value is less frequent than c times the tail (MKGV07 Defs. 4.2 and 4.3).

    The tail of a value is the sum over the others without the l - 2 most frequent of them. Values of the don't-care set
    Y, given by their codes, may be disclosed, so the most frequent value outside Y decides; a class without such values
    passes. With `strict` False the head may equal c times the tail (KG06 Def. 2.5). 1-diversity always holds.
    Reached: the smallest c at which the class would pass, infinite with fewer than l values.
    """

    c: Fraction
    l: int
    strict: bool = True
    dont_care: frozenset[int] = frozenset()
    name: ClassVar[str] = "recursive"

    def __post_init__(self) -> None:
        _positive(Fraction(self.l), 1, "recursive:c,l")
        if self.c <= 0:
            raise CriterionError(f"recursive:c,l needs a positive c, got {spelled(self.c)}")

    def __str__(self) -> str:
        text = f"recursive:{spelled(self.c)},{self.l}" + ("" if self.strict else " or equal")
        # Other criteria than the plain one have no text that can be read back; theirs must not be taken for its.
        return f"pd-{text} without {sorted(self.dont_care)}" if self.dont_care else text

    def compares_pairs(self, values: int) -> bool:
        """Whether it bounds the ratio of any two values, and nothing else.

        Don't-care values may hold a class alone, so that ratios of the others say nothing there.
        """
        return self.l > 1 and not self.dont_care and self.tail_size(values) == 1

    def tail_size(self, values: int) -> int:
        """How many of the `values` columns the tail adds up."""
        return max(values - self.l + 1, 0)

    def heads(self, values: int) -> list[int]:
        """The codes that may not be too frequent."""
        return [value for value in range(values) if value not in self.dont_care]

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to c."""
        with np.errstate(divide="ignore"):
            return np.asarray(float(self.c) / self.reached(vectors) - 1, dtype=np.float64)

    def reached(self, vectors: Vectors) -> FloatArray:
        """Head over tail."""
        values = vectors.shape[1]
        heads = self.heads(values)
        if self.l == 1 or not heads:
            return np.zeros(len(vectors))
        others = np.array(vectors, dtype=np.float64)
        place = np.asarray(heads)[others[:, heads].argmax(axis=1)]
        rows = np.arange(len(others))
        head = others[rows, place]
        others[rows, place] = np.inf
        tail = np.sort(others, axis=1)[:, : self.tail_size(values)].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(head > 0, head / tail, 0.0), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        heads = self.heads(len(vector))
        if self.l == 1 or not heads:
            return True
        place = max(heads, key=lambda value: vector[value])
        head = vector[place]
        others = sorted(v for value, v in enumerate(vector) if value != place)
        tail = sum(others[: self.tail_size(len(vector))])
        return head == 0 or head < self.c * tail or (not self.strict and head == self.c * tail)


@dataclass(frozen=True)
class NegativeDisclosure:
    """Every protected value has a share of at least `percent` percent (the second half of MKGV07 Def. 4.4).

    protected: codes of the values whose absence may not be learnt. Reached: the smallest of their shares, in percent.
    """

    percent: Fraction
    protected: frozenset[int]
    name: ClassVar[str] = "negative-disclosure"

    def __post_init__(self) -> None:
        if not 0 < self.percent < 100 or not self.protected:
            raise CriterionError("negative disclosure needs a percentage between 0 and 100, and values to protect")

    def __str__(self) -> str:
        return f"negative-disclosure:{spelled(self.percent)} of {sorted(self.protected)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to the percentage."""
        return self.reached(vectors) / float(self.percent) - 1

    def reached(self, vectors: Vectors) -> FloatArray:
        """The smallest share of a protected value, in percent."""
        smallest = vectors[:, sorted(self.protected)].min(axis=1)
        return np.asarray(100 * smallest / vectors.sum(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return 100 * min(vector[value] for value in self.protected) >= self.percent * sum(vector)


@dataclass(frozen=True)
class NpdRecursive:
    """Recursive (c, l)-diversity with a don't-care set, and no negative disclosure of the protected values (Def. 4.4).

    Reached: that of the half that is nearer to failing.
    """

    positive: Recursive
    negative: NegativeDisclosure
    name: ClassVar[str] = "npd-recursive"

    def __str__(self) -> str:
        return f"npd: {self.positive}, {self.negative}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """The smaller slack."""
        return np.minimum(self.positive.slack(vectors), self.negative.slack(vectors))

    def reached(self, vectors: Vectors) -> FloatArray:
        """That of the half with the smaller slack."""
        nearer = self.positive.slack(vectors) <= self.negative.slack(vectors)
        return np.where(nearer, self.positive.reached(vectors), self.negative.reached(vectors))

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return self.positive.decide(vector) and self.negative.decide(vector)


def loosened_to(diversity: Diversity, slack: float) -> Diversity | None:
    """The criterion of the same kind that a class with this slack (above -1) just satisfies, to rounding.

    None for a criterion without such a family, or where no parameter does it.
    """
    scale = Fraction(1 + slack) if np.isfinite(slack) else None
    if scale is None or scale <= 0:
        return None
    match diversity:
        case Simple(l) | Entropy(l):
            return type(diversity)(max(l * scale, Fraction(1)))
        case Recursive(c, l, strict, dont_care):
            return Recursive(c / scale, l, strict, dont_care)
        case Functional():
            return replace(diversity, scale=diversity.scale / scale)
        case NegativeDisclosure(percent, protected):
            return NegativeDisclosure(percent * scale, protected) if percent * scale < 100 else None
        case NpdRecursive(positive, negative):
            first, second = loosened_to(positive, slack), loosened_to(negative, slack)
            if isinstance(first, Recursive) and isinstance(second, NegativeDisclosure):
                return NpdRecursive(first, second)
    return None


def parse_diversity(text: str) -> Diversity:
    """The criterion that a policy or a bundle names: `entropy:l` and the others of `SPELLINGS`.

    Numbers may be whole, decimal or fractions (`2.8`, `14/5`) and are taken exactly. Raises CriterionError.
    """
    name, _, numbers = text.partition(":")
    parts = [number.strip() for number in numbers.split(",")]
    try:
        values = [Fraction(part) for part in parts if _NUMBER.fullmatch(part)]
    except ZeroDivisionError:
        values = []
    if len(values) != len(parts):
        raise CriterionError(f"the diversity {text!r} is not of the form {SPELLINGS}")
    whole = [value.denominator == 1 for value in values]
    match (name.strip(), values):
        case ("distinct", [l]) if whole[0]:
            return Distinct(int(l))
        case ("simple", [l]):
            return Simple(l)
        case ("entropy", [l]):
            return Entropy(l)
        case ("recursive", [c, l]) if whole[1]:
            return Recursive(c, int(l))
        case ("functional", [tau, l]) if whole[1]:
            return Functional(tau, int(l))
    raise CriterionError(f"the diversity {text!r} is not of the form {SPELLINGS}")


def satisfies(diversity: Diversity, counts: NDArray[np.integer[Any]]) -> BoolArray:
    """The exact verdict on each class. counts: class by sensitive value, integers, shape (classes, values)."""
    if not len(counts):
        return np.ones(0, dtype=bool)
    slack = diversity.slack(counts)
    verdicts = slack > 0
    close = np.flatnonzero(np.abs(slack) <= BOUNDARY)
    if len(close):
        distinct, place = np.unique(counts[close], axis=0, return_inverse=True)
        decided = np.array([diversity.decide(vector) for vector in distinct.tolist()])
        verdicts[close] = decided[place.reshape(-1)]
    return verdicts
