"""Diversity criteria: "l well-represented sensitive values" in one class (MKGV07 section 4, KG06 Def. 2.5).

A criterion judges vectors, one row per class, one column per sensitive value: counts, or probabilities in any scale.
`slack` is the distance of a class from the boundary, relative to it; near 0 only `decide` is exact, with fractions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil, fsum, gcd, lcm, log
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from checks.diversity.cuts import Cases, RatioBounds, light_others
from checks.diversity.text import LABELS_MAY_DISCLOSE, LABELS_MUST_PROTECT, Grammar, numbers
from checks.errors import CriterionError
from models.arrays import BoolArray, FloatArray
from models.frozen import frozen
from models.tables.hierarchy import Hierarchy

BOUNDARY = 1e-9
"""Relative slack below which exact arithmetic decides."""

Vectors = NDArray[Any]
"""Class by sensitive value, nonnegative, each row with a positive sum."""


@frozen
class SensitiveValues:
    """Values at a level of a hierarchy, in the order of their codes.

    rows: in the whole table, not in one class, shape (values,).
    """

    hierarchy: Hierarchy
    level: int
    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.rows) != self.hierarchy.size(self.level):
            raise ValueError(f"{self.hierarchy.size(self.level)} values came with {len(self.rows)} counts")

    def coarsened(self, level: int) -> "SensitiveValues":
        """Return the values of a level that is not below this one. Raises CriterionError for no such level."""
        if level == self.level:
            return self
        if not self.level < level < self.hierarchy.height:
            raise CriterionError(
                f"the sensitive attribute has no values of level {level}; its levels below * are 0 to "
                f"{self.hierarchy.height - 1}"
            )
        rows = [0] * self.hierarchy.size(level)
        for count, above in zip(self.rows, self.hierarchy.lift(self.level, level).tolist()):
            rows[above] += count
        return SensitiveValues(self.hierarchy, level, tuple(rows))

    def within(self, labels: Iterable[str]) -> frozenset[int]:
        """Return codes of values whose base values are all named by labels. Raises CriterionError for an unknown label."""
        above = self.hierarchy.lift(0, self.level)
        return frozenset(above.tolist()) - frozenset(above[~self._is_named(labels)].tolist())

    def touching(self, labels: Iterable[str]) -> frozenset[int]:
        """Return the codes of values with a base value named by labels. Raises CriterionError for an unknown label."""
        return frozenset(self.hierarchy.lift(0, self.level)[self._is_named(labels)].tolist())

    def labels_of(self, codes: Iterable[int]) -> tuple[str, ...]:
        """Return the labels of values, sorted."""
        return tuple(sorted(self.hierarchy.labels[self.level][code] for code in codes))

    def occurring(self, codes: Iterable[int]) -> tuple[str, ...]:
        """Return the labels of the values that have rows, sorted; a release names no others."""
        return self.labels_of(code for code in codes if self.rows[code])

    @property
    def order(self) -> tuple[int, ...] | None:
        """Codes of the values that have rows, lowest first; None if these have no order."""
        return self.hierarchy.order_among(self.level, [code for code, count in enumerate(self.rows) if count])

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Share of each value in the whole table. Raises CriterionError if the table has no rows."""
        if not any(self.rows):
            raise CriterionError("a criterion that compares with the whole table needs a table with rows")
        total = sum(self.rows)
        return tuple(Fraction(count, total) for count in self.rows)

    def _is_named(self, labels: Iterable[str]) -> BoolArray:
        """Return whether labels name each base value, directly or by a general value above it. Shape (base values,)."""
        named, levels = np.zeros(self.hierarchy.size(0), dtype=bool), range(self.hierarchy.height + 1)
        for label in labels:
            level = next((level for level in levels if self.hierarchy.code(label, level) is not None), None)
            if level is None:
                raise CriterionError(f"the criterion names {label!r}, which is no value of the sensitive attribute")
            named |= self.hierarchy.lift(0, level) == self.hierarchy.code(label, level)
        return named


class ShareBound(NamedTuple):
    """Bound on shares: the largest share, times a weight, plus the sum of the `top` largest ones is below a limit.

    If `strict` is False, they may reach it.
    """

    head_weight: Fraction
    top: int
    limit: Fraction
    strict: bool

    @property
    def least_values(self) -> int | None:
        """Number of different values demanded, if nothing else is; None otherwise."""
        return self.top + 1 if self.strict and self.limit == 1 and not self.head_weight else None

    def largest_ratio(self, value_count: int) -> Fraction | None:
        """Return the bound on the ratio of any two of so many values, if nothing else is demanded; None otherwise."""
        is_pairwise = self.head_weight > 0 and self.limit == 1 and self.top == value_count - 1
        return 1 / self.head_weight if is_pairwise else None

    def allows(self, vector: Sequence[Fraction | int]) -> bool:
        """Return whether one class satisfies the bound, exactly."""
        ordered = sorted(vector, reverse=True)
        bounded = self.head_weight * ordered[0] + sum(ordered[: self.top])
        limit = self.limit * sum(ordered)
        return bounded < limit or (not self.strict and bounded == limit)


class Diversity:
    """Criterion on the distribution of the sensitive values in a class.

    A new criterion is a frozen dataclass with this base. Merging must keep it: the sum of two passing classes must
    pass, because searches and checks rely on that. It has `slack`, `reached` and `decide`; a criterion that names
    values, or compares a class with the whole table, has `among` instead. Its text comes from `name` and `grammar`, or
    from `__str__`, `parameters` and `parsed`. `marginals.criteria.register_diversity` makes it known. Every other method
    has a default that is right for any criterion.

    Labels name values of any level, the finest first. A general value may be disclosed if all values under it may be.

    >>> import numpy as np
    >>> from checks.diversity.criteria import Entropy
    >>> Entropy(Fraction(3)).reached(np.array([[5, 5, 5], [8, 1, 1]])).round(2)
    array([3.  , 1.89])
    """

    name: ClassVar[str] = ""
    """Beginning of the text, before the colon."""

    grammar: ClassVar[Grammar | None] = None
    """Grammar of the text after the colon, if `parsed`, `__str__` and `parameters` come from it."""

    parameters: ClassVar[str] = ""
    """Form of the text after the colon, for instance `c,l`."""

    def __init_subclass__(cls) -> None:
        if cls.__dict__.get("grammar") is not None:
            cls.parameters = str(cls.grammar)

    def __post_init__(self) -> None:
        if self.grammar is not None:
            self.grammar.check(self.name, self)

    def __str__(self) -> str:
        if self.grammar is not None:
            return f"{self.name}:{self.grammar.spelled(self)}"
        if (plain := self._plain()) is None:
            raise NotImplementedError(f"{type(self).__name__} needs a text: let it have a method __str__")
        return str(plain)

    def _plain(self) -> "Diversity | None":
        """Return the criterion that this one wraps; None if there is none."""
        return next((part for part in vars(self).values() if isinstance(part, Diversity)), None)

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """Read the criterion from its parameters, for instance `3,4`; None for a text of another form.

        Without a grammar, `parameters` are numbers, and the fields in their order. Raises CriterionError.
        """
        if cls.grammar is not None:
            read = cls.grammar.read(text)
            return None if read is None else cls(**read)
        result, expected = numbers(text), cls.parameters.count(",") + 1 if cls.parameters else 0
        return cls(*result) if len(result) == expected and (result or not text) else None

    def slack(self, vectors: Vectors) -> FloatArray:  # noqa: ARG002
        """Return a number per class: positive if it passes, negative if it fails, relative to the bound: shape
        (classes,).

        Its sign must be right beyond `BOUNDARY`. Raises CriterionError, as `reached` and `decide`, if it needs
        `among`.
        """
        raise CriterionError(self.lacking())

    def reached(self, vectors: Vectors) -> FloatArray:  # noqa: ARG002
        """Return the strongest parameter that each class still satisfies, as the class docstring says: shape (classes,)."""
        raise CriterionError(self.lacking())

    def nearest(self, vectors: Vectors) -> frozenset[int]:  # noqa: ARG002 - few bound certain values
        """Return the values that come nearest to breaking the criterion in the first class; empty if it names no values."""
        return frozenset()

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class; by default that of the `share_bound`."""
        if (bound := self.share_bound()) is None:
            raise CriterionError(self.lacking())
        return bound.allows(vector)

    @property
    def is_relative(self) -> bool:
        """True if the criterion depends on the values, or on the whole table, and is decided only `among` them."""
        return type(self).slack is Diversity.slack

    def lacking(self) -> str:
        """Return what is missing for a verdict, in words."""
        return f"{self} depends on the values and the whole table, so no counts by themselves satisfy it"

    @property
    def about_base_values(self) -> bool:
        """True if base values are judged, whatever level is published, so that a failure at a level lasts at finer ones."""
        return (plain := self._plain()) is not None and plain.about_base_values

    @property
    def facts(self) -> int:
        """Number of values that an attacker may rule out by other knowledge: l - 1 of an l-diversity, else none."""
        if (plain := self._plain()) is not None:
            return plain.facts
        return ceil(getattr(self, "l", 1)) - 1

    def meaning(self) -> str:
        """Return what holds in every class, as a clause; `marginals.criteria` has those of the project's own criteria."""
        return f"the sensitive value satisfies {self}"

    def reached_in_words(self, value: float) -> str:
        """Return what a class reaches, in words; `marginals.criteria` has the words of the project's own criteria."""
        return f"reaches {value:.4g}"

    def among(self, values: SensitiveValues) -> "Diversity":  # noqa: ARG002 - it judges any values alike
        """Return the criterion for classes that are counted by these values.

        Raises CriterionError for a label that names none of them.
        """
        return self

    def stated_among(self, values: SensitiveValues) -> "Diversity":
        """Return the criterion with labels of these values only, as a release states it that shows only them."""
        clauses = [clause for clause in (self.grammar.clauses if self.grammar else ()) if clause.value is None]
        if not clauses:
            return self
        labels = {}
        for name in (clause.name for clause in clauses):
            named = getattr(self, name)
            codes = values.within(named) if name == LABELS_MAY_DISCLOSE.name else values.touching(named)
            labels[name] = values.labels_of(codes) if name == LABELS_MUST_PROTECT.name else values.occurring(codes)
        is_complete = all(labels[clause.name] or clause.is_optional for clause in clauses)
        return replace(self, **labels) if is_complete else self.of_all_values()  # type: ignore[type-var]

    def of_all_values(self) -> "Diversity":
        """Return the criterion for a table where none of the named values has rows, with a text of its own."""
        return self

    def share_bound(self) -> ShareBound | None:
        """Return the bound on the most frequent values, if it demands nothing else; then people can be counted, too."""
        return None

    def of_rows(self, rows_per_person: int) -> "Diversity | None":  # noqa: ARG002 - few criteria bound certain values
        """Return the criterion of rows that holds exactly if this one certainly holds of people, so many rows each at
        most.

        None if there is none, or if a `share_bound` gives it.
        """
        return None

    def slack_of_products(self, first: Vectors, second: Vectors) -> FloatArray | None:  # noqa: ARG002
        """Return the slack of each product of a row of `first` and one of `second`, value by value: shape (first,
        second).

        It is infinite if the product is 0. The least entries, and those up to `BOUNDARY`, equal `slack`; others may be
        lower bounds above these. None if no way is faster than making the products.
        """
        return None

    def violations(self, bounds: RatioBounds) -> list[Cases] | None:
        """Return the ways of violating the criterion, each with linear cuts; None if its violations have none.

        bounds: of the log-ratios over the classes in question. A head that is never positive needs no case. The same
        holds for a head that another counted value always exceeds: if it violates the criterion, the other value does
        too. The default covers a `share_bound` on the most frequent value only: all others together are too light.
        """
        bound = self.share_bound()
        if bound is None or bound.top > 1:
            return None
        if not bound.top:
            return []
        heads = bounds.leading()
        return [light_others(bounds, heads, [(1 + bound.head_weight) / bound.limit - 1] * len(heads))]

    def scaled(self, factor: Fraction) -> "Diversity | None":  # noqa: ARG002 - no family is known
        """Return the criterion of the same kind that a class with the slack `factor` - 1 just satisfies; None if there
        is none.

        factor: positive.
        """
        return None

    def loosened_to(self, slack: float) -> "Diversity | None":
        """Return the criterion of the same kind that a class with this slack just satisfies; None if there is none."""
        factor = Fraction(1 + slack) if np.isfinite(slack) else None
        return None if factor is None or factor <= 0 else self.scaled(factor)


def satisfies(diversity: Diversity, counts: NDArray[np.integer[Any]]) -> BoolArray:
    """Return the exact verdict on each class.

    Parameters
    ----------
    diversity
        The criterion, decided `among` its values if it is relative.
    counts
        Class by sensitive value, integers, shape (classes, values).
    """
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


# Entropy against a logarithm, decided exactly if floating point cannot decide.
#
# A class with weights w_1 .. w_m, W their sum, is entropy l-diverse iff W^W >= l^W * prod w_i^w_i. With large weights
# the powers are beyond reach. If the two sides differ by far more than the floating-point error, that decides. Otherwise
# equality is decided on the exponents of a coprime base (Bernstein 2005). An inequality, then known to be strict, is
# decided by decimal logarithms of growing precision.


_CLEARLY = 1e-12
"""Part of the sum of all terms' sizes that a difference must exceed to decide. The error is below 1e-14 of that sum.
Each term is a product of a rounded number and one to three logarithms, all within a few units of 2^-53."""

_MOST_BITS = 1000
"""Most bits of whole numbers that floats hold without overflow, including their products with logarithms."""


def entropy_is_at_least(weights: Sequence[Fraction | int], effective: Fraction) -> bool:
    """Decide exactly whether the entropy of a distribution is at least ln(effective).

    weights: nonnegative, not all zero, in any scale. effective: positive.
    """
    scale = lcm(*(Fraction(w).denominator for w in weights))
    integers = [int(w * scale) for w in weights if w > 0]
    divisor = gcd(*integers)
    integers = [w // divisor for w in integers]
    total, upper, lower = sum(integers), effective.numerator, effective.denominator
    if max(total, upper, lower).bit_length() <= _MOST_BITS:
        terms = [-w * log(w) for w in integers] + [total * log(total), total * log(lower), -total * log(upper)]
        difference = fsum(terms)
        if abs(difference) > _CLEARLY * fsum(map(abs, terms)):
            return difference > 0
    powers = [*((w, -w) for w in integers), (total, total), (lower, total), (upper, -total)]
    base = _coprime_base([number for number, _ in powers])
    if not any(sum(times * _exponent(number, factor) for number, times in powers) for factor in base):
        return True
    digits = 50
    while True:
        with localcontext() as context:
            context.prec = digits + len(str(total))
            exactly = sum((times * Decimal(number).ln() for number, times in powers), Decimal(0))
            if abs(exactly) > Decimal(total) * Decimal(10) ** (10 - digits):
                return exactly > 0
        digits *= 4


def _coprime_base(numbers: Sequence[int]) -> list[int]:
    """Return pairwise coprime integers above 1 of which every given positive integer is a product of powers."""
    base: list[int] = []
    pending = [n for n in set(numbers) if n > 1]
    while pending:
        number = pending.pop()
        for position, factor in enumerate(base):
            common = gcd(number, factor)
            if common > 1:
                del base[position]
                pending += [part for part in (common, factor // common, number // common) if part > 1]
                break
        else:
            base.append(number)
    return base


def _exponent(number: int, factor: int) -> int:
    exponent = 0
    while number % factor == 0:
        number, exponent = number // factor, exponent + 1
    return exponent
