"""What a diversity criterion is: "l well-represented sensitive values" in one class (MKGV07 section 4, KG06 Def. 2.5).

A criterion looks at vectors, one row a class, one column a sensitive value: counts, or probabilities in any scale.
`slack` is how far a class is from the boundary, relative to it; near 0 floating point cannot tell, and `decide` does,
with integers and fractions.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.diversity.violations.cases import Cases, RatioBounds
from models.arrays import BoolArray, FloatArray

BOUNDARY = 1e-9
"""Relative slack below which a verdict is left to exact arithmetic."""

Vectors = NDArray[Any]
"""Class by sensitive value, nonnegative, each row with a positive sum."""


class LargestRatio(NamedTuple):
    """The criterion holds exactly where every value is less than c times as frequent as every other.

    With `strict` False c times is allowed.
    """

    c: Fraction
    strict: bool


class ShareBound(NamedTuple):
    """The criterion holds exactly where the largest share, times a weight, plus the `top` largest ones are below a limit.

    With `strict` False they may reach it.
    """

    head_weight: Fraction
    top: int
    limit: Fraction
    strict: bool


NO_BOUND = ShareBound(Fraction(0), 0, Fraction(1), strict=True)
"""What every class satisfies."""


class Diversity(ABC):
    """A criterion on the distribution of the sensitive values in a class.

    A new criterion is a frozen dataclass with this base. It must be kept by merging: a class that is the sum of two that
    pass must pass, since searches and checks leave out what follows from that. It gives `slack`, `reached`, `decide` and
    `__str__`; with `name`, `parameters` and `parsed` it also has a text, and `marginals.register_diversity` makes that
    text known to policies, bundles and `verify`. Everything else has an answer that is right for every such criterion,
    if slower to check than need be.

    >>> import numpy as np
    >>> from checks.diversity.entropy import Entropy
    >>> Entropy(Fraction(3)).reached(np.array([[5, 5, 5], [8, 1, 1]])).round(2)
    array([3.  , 1.89])
    """

    name: ClassVar[str] = ""
    """What its text begins with, before the colon."""

    parameters: ClassVar[str] = ""
    """What its text has after the colon, for instance `c,l`."""

    about_base_values: ClassVar[bool] = False
    """Whether it judges base values, whatever level is published, so that what fails at a level fails at finer ones."""

    is_relative: ClassVar[bool] = False
    """Whether it depends on what values there are, or on the whole table, and is decided only `among` them."""

    @abstractmethod
    def slack(self, vectors: Vectors) -> FloatArray:
        """Positive where the class passes, negative where it fails, relative to the bound: shape (classes,).

        Its sign must be right wherever it is further than `BOUNDARY` from 0.
        """

    @abstractmethod
    def reached(self, vectors: Vectors) -> FloatArray:
        """The strongest parameter that the class still satisfies, as the class docstring says: shape (classes,)."""

    @abstractmethod
    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""

    @abstractmethod
    def __str__(self) -> str:
        """The text of the criterion, which reads back as itself where it has a name and parameters."""

    @classmethod
    def parsed(cls, text: str) -> Self | None:  # noqa: ARG003
        """The criterion whose parameters a text spells, for instance `3,4`; None where it spells none.

        Raises CriterionError for parameters that make no sense.
        """
        return None

    def scaled(self, factor: Fraction) -> "Diversity | None":  # noqa: ARG002
        """The criterion of the same kind that a class with the slack `factor` - 1 just satisfies; None without one.

        factor: positive.
        """
        return None

    def among(self, values: SensitiveValues) -> "Diversity":  # noqa: ARG002
        """The criterion for classes that are counted by these values.

        Raises CriterionError for a label that names none of them.
        """
        return self

    def stated_among(self, values: SensitiveValues) -> "Diversity":  # noqa: ARG002
        """The same criterion of these values, by no labels but theirs, as a release states it that shows only them."""
        return self

    def slack_of_products(self, first: Vectors, second: Vectors) -> FloatArray | None:  # noqa: ARG002
        """The slack of each product of a row of `first` and one of `second`, value by value: shape (first, second).

        Infinite where the product is 0 throughout. The least of them, and those up to `BOUNDARY`, are as `slack` says;
        others may be lower bounds, above these. None without a way that is quicker than to make the products.
        """
        return None

    def at_odds(self, odds: Fraction) -> "Diversity | None":  # noqa: ARG002
        """What a class satisfies exactly when it satisfies this whatever evidence of such odds, 1 or more, says of a person.

        None where it has no such form; then all that evidence can say is tried, among 16 values at most.
        """
        return None

    def odds_borne(self, vectors: Vectors) -> FloatArray | None:  # noqa: ARG002
        """The largest odds at which each class passes, below 1 where it fails: shape (classes,). None without a formula."""
        return None

    def least_values(self) -> int | None:
        """How many different values it demands, if it demands nothing else."""
        return None

    def largest_ratio(self, value_count: int) -> LargestRatio | None:  # noqa: ARG002
        """The bound on the ratio of any two of so many values, if it demands nothing else."""
        return None

    def share_bound(self) -> ShareBound | None:
        """The bound on the most frequent values, if it demands nothing else; then it can also be demanded of people."""
        return None

    def violations(self, bounds: RatioBounds) -> list[Cases] | None:  # noqa: ARG002
        """The ways of violating it, each with linear cuts; None where its violations have none.

        bounds: of the log-ratios over the classes in question. A head that is never positive needs no case, nor does one
        that another value that counts always exceeds: where it violates the criterion, that one does too.
        """
        return None

    @property
    def facts(self) -> int:
        """How many values an attacker may rule out by other knowledge: l - 1 of an l-diversity, at least."""
        return 1

    def meaning(self) -> str:
        """What holds in every class, as a clause: "at least 3 sensitive values remain possible"."""
        return f"the sensitive value satisfies {self}"

    def reached_in_words(self, value: float) -> str:
        """What a class reaches, beside what is demanded."""
        return f"Reaches {value:.4g}"


def loosened_to(diversity: Diversity, slack: float) -> Diversity | None:
    """The criterion of the same kind that a class with this slack (above -1) just satisfies, to rounding.

    None for a criterion without such a family, or where no parameter does it.
    """
    factor = Fraction(1 + slack) if np.isfinite(slack) else None
    return None if factor is None or factor <= 0 else diversity.scaled(factor)


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
