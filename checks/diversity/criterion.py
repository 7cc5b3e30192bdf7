"""What a diversity criterion is: "l well-represented sensitive values" in one class (MKGV07 section 4, KG06 Def. 2.5).

A criterion looks at vectors, one row a class, one column a sensitive value: counts, or probabilities in any scale.
`slack` is how far a class is from the boundary, relative to it; near 0 floating point cannot tell, and `decide` does,
with integers and fractions.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from math import fsum, gcd, lcm, log
from typing import Any, ClassVar, NamedTuple, NoReturn, Protocol, Self, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from checks.errors import CriterionError
from models.arrays import BoolArray, FloatArray, IndexArray
from models.tables.hierarchy import Hierarchy

# Cuts: linear inequalities on log-ratios that every class combination violating a criterion must satisfy.
#
# Write x_s(t) = ln v_s(t) for the class vector of a combination t. A *case* is one way of violating a criterion,
# always with a *head* h whose share is positive. A cut of a case is a weight vector w >= 0 on the values, summing to 1
# and 0 at the head, with a bound M such that
#
#     t violates the criterion by this case  =>  sum_s w_s (x_s(t) - x_h(t)) <= M.
#
# The left side is a sum over the cliques, so its minimum over all t is one min-sum pass along the junction tree,
# however many combinations there are. When that minimum exceeds M the case is impossible. The bounds are weighted
# arithmetic-geometric means: sum_A u_s <= theta implies sum_A w_s ln u_s <= ln theta + sum_A w_s ln w_s. For each case
# the best weights solve a concave problem, by mirror ascent towards the shares at the minimizing t (geometric
# programming).


MAX_CASES = 40_000
"""Cases that tell the sets of values of a tail or a group apart; where there are more, the sets are left open."""

ROUNDING = 1e-7
"""Cuts are loosened by this much (in logarithms), far above what floating point can lose."""

ZERO_LOG = -1e5
"""Stands for ln 0: below any sum of logarithms of count ratios, so that heads must be positive and tails may be empty."""


@dataclass(frozen=True, eq=False)
class RatioBounds:
    """Bounds of the log-ratios x_s - x_h, `[s, h]`, over the class combinations with a positive head h.

    floor, ceiling: shape (values, values). The diagonal of the ceiling is 0 for a head that can be positive, -inf for one
    that cannot.
    """

    floor: FloatArray
    ceiling: FloatArray

    @property
    def value_count(self) -> int:
        """Number of sensitive values."""
        return len(self.floor)

    @property
    def most_cases(self) -> int:
        """Cases up to which sets of values are told apart."""
        return MAX_CASES

    def possible(self) -> BoolArray:
        """Which values can have a positive share, shape (values,)."""
        return np.asarray(self.ceiling.diagonal() == 0)

    def leading(self) -> IndexArray:
        """The values that can be a most frequent one: no other value always exceeds them."""
        return np.flatnonzero(self.possible() & ~(self.floor > ROUNDING).any(axis=0))

    def others(self, heads: IndexArray) -> BoolArray:
        """All values but the head, shape (values, heads)."""
        return np.asarray(np.arange(self.value_count)[:, None] != heads)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Linear inequalities coefficients . x <= bound. coefficients: shape (values, cuts). bounds: shape (cuts,)."""

    coefficients: FloatArray
    bounds: FloatArray


class Cases(ABC):
    """Ways of violating one criterion.

    heads: the head of each case, shape (cases,). support: the values that a cut may put weight on, shape (values, cases).
    """

    heads: IndexArray
    support: BoolArray

    @abstractmethod
    def bound(self, weights: FloatArray) -> FloatArray:
        """M of each case with these weights, shape (cases,). weights: shape (values, cases)."""

    @abstractmethod
    def kept(self, which: BoolArray) -> Self:
        """Some of the cases."""

    @abstractmethod
    def target(self, x: FloatArray) -> FloatArray:
        """Where to move the weights, having met a class for each case: nonnegative, in any scale, shape (values, cases).

        x: the log-vectors of these classes, shape (values, cases).
        """

    @property
    def targets(self) -> Sequence[Callable[[FloatArray], FloatArray]]:
        """Ways to move the weights, tried in turn: `target`, and others where that alone would not get far."""
        return (self.target,)

    def form(self, weights: FloatArray) -> FloatArray:
        """The coefficients of x in the cut of each case, shape (values, cases)."""
        coefficients = weights.copy()
        coefficients[self.heads, np.arange(len(self.heads))] -= 1
        return coefficients


def cuts(cases: Cases, weights: FloatArray) -> Cuts:
    """The cuts of all cases with these weights, loosened for rounding."""
    return Cuts(cases.form(weights), cases.bound(weights) + ROUNDING)


def shares(x: FloatArray, support: BoolArray) -> FloatArray:
    """e^x on the support, 0 elsewhere, each column scaled by its largest entry."""
    masked = np.where(support, x, -np.inf)
    top = masked.max(axis=0)
    return np.asarray(np.exp(masked - np.where(np.isfinite(top), top, 0)), dtype=np.float64)


_NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,30}|/[0-9]{1,12})?")
"""Numbers as a criterion may spell them, a float with all its digits too; an exponent could ask for more digits than there
is memory."""


def numbers(text: str) -> list[Fraction]:
    """The numbers between commas, exactly: whole, decimal or fractions; none where a part is no number.

    >>> numbers("2.8, 4"), numbers("1e9"), numbers("")
    ([Fraction(14, 5), Fraction(4, 1)], [], [])
    >>> numbers(str(1 / 3)) < numbers("1/3")  # a decimal is what it says, and this one is less than a third
    True
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(map(_NUMBER.fullmatch, parts)):
        return []
    try:
        return [Fraction(part) for part in parts]
    except ZeroDivisionError:
        return []


OR_EQUAL, MAY_DISCLOSE, MUST_PROTECT, OF = "or equal", "may disclose", "must protect", "of"
"""What a criterion may say after its numbers; all but the first are followed by labels of sensitive values."""

AT_ODDS = "at odds"
"""What stands at the end of any criterion, before odds."""

LEAVING_OUT = "leaving out"
"""What stands at the end of any criterion but for its odds, before labels that stand for no value."""

_CLAUSE = re.compile(rf"(?<!\S)({OR_EQUAL}|{MAY_DISCLOSE}|{MUST_PROTECT}|{OF}|{AT_ODDS}|{LEAVING_OUT})(?!\S)")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BARE = re.compile(r"[\w-]+( [\w-]+)*")


@dataclass(frozen=True)
class Phrase:
    """The parameters of a criterion with the clauses after them: `3,4 or equal may disclose healthy, "not known"`.

    clauses: what stands behind each; nothing behind `or equal`.
    """

    numbers: list[Fraction]
    clauses: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str, known: Iterable[str]) -> "Phrase | None":
        """From text; None where it has another clause than the known ones, one twice, or labels that are none.

        >>> Phrase.read('2,3 may disclose healthy, "of age"', [MAY_DISCLOSE]).clauses
        {'may disclose': ('healthy', 'of age')}
        """
        # Within quotes nothing is a clause, nor a comma between labels.
        masked = _QUOTED.sub(lambda quoted: "\0" * len(quoted[0]), text)
        marks = list(_CLAUSE.finditer(masked))
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        clauses: dict[str, tuple[str, ...]] = {}
        for mark, end in zip(marks, ends):
            behind = text[mark.end() : end]
            named = _labels(behind, masked[mark.end() : end])
            is_whole = not behind.strip() if mark[1] == OR_EQUAL else bool(named)
            if mark[1] not in known or mark[1] in clauses or not is_whole:
                return None
            clauses[mark[1]] = named
        return cls(numbers(text[: marks[0].start()] if marks else text), clauses)


def split_odds(text: str) -> tuple[str, Fraction | None]:
    """A criterion's text without `at odds G` at its end, and G; None where it does not end so.

    >>> split_odds("entropy:6 at odds 1.2"), split_odds("entropy:6")
    (('entropy:6', Fraction(6, 5)), ('entropy:6', None))
    """
    plain, mark, odds = text.rpartition(f" {AT_ODDS} ")
    match numbers(odds) if mark else []:
        case [number]:
            return plain, number
    return text, None


def split_left_out(text: str) -> tuple[str, tuple[str, ...]]:
    """A criterion's text without `leaving out LABELS` at its end, and the labels; none where it does not end so.

    >>> split_left_out("entropy:6 leaving out missing"), split_left_out("entropy:6")
    (('entropy:6', ('missing',)), ('entropy:6', ()))
    """
    masked = _QUOTED.sub(lambda quoted: "\0" * len(quoted[0]), text)
    plain, mark, behind = masked.rpartition(f" {LEAVING_OUT} ")
    labels = _labels(text[len(masked) - len(behind) :], behind) if mark else ()
    return (text[: len(plain)], labels) if labels else (text, ())


def _labels(text: str, masked: str) -> tuple[str, ...]:
    """The labels between commas, each once, in the order of texts; none where a part is no label."""
    labels, start = set(), 0
    for part in masked.split(","):
        spelling = text[start : start + len(part)].strip()
        start += len(part) + 1
        quoted = _QUOTED.fullmatch(spelling)
        label = spelling[1:-1].replace('""', '"') if quoted else spelling
        if not label or (not quoted and '"' in label) or _SURROGATE.search(label):
            return ()
        labels.add(label)
    return tuple(sorted(labels))


def spelled_labels(labels: Sequence[str]) -> str:
    """Labels with commas between them, those in quotes that could be read otherwise; a quote in one of these is doubled.

    >>> print(spelled_labels(["healthy", "of age", "flu, cold"]))
    healthy, "of age", "flu, cold"
    """
    plain = (_BARE.fullmatch(label) and not _CLAUSE.search(label) for label in labels)
    return ", ".join(
        label if is_plain else '"{}"'.format(label.replace('"', '""')) for label, is_plain in zip(labels, plain)
    )


def check_l(spelling: str, l: Fraction | int) -> None:
    """Raise CriterionError for an l that is too small. spelling: of the criterion."""
    if l < 1:
        raise CriterionError(f"{spelling} needs l of at least 1, got {spelled(l)}")


def check_odds(odds: Fraction) -> None:
    """Raise CriterionError for odds below 1."""
    if odds < 1:
        raise CriterionError(f"odds are at least 1, got {spelled(odds)}")


def spelled(value: Fraction | int) -> str:
    """A whole number or a decimal where one says it exactly, else a fraction.

    >>> spelled(Fraction(4)), spelled(Fraction(14, 5)), spelled(Fraction(10, 3))
    ('4', '2.8', '10/3')
    """
    value = Fraction(value)
    digits, rest = 0, value.denominator
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        digits = max(digits, power)
    if rest > 1:
        return str(value)
    if not digits:
        return str(value.numerator)
    shifted = str(abs(int(value * 10**digits))).zfill(digits + 1)
    return f"{'-' if value < 0 else ''}{shifted[:-digits]}.{shifted[-digits:]}"


# Entropy against a logarithm, decided exactly where floating point cannot tell.
#
# A class with weights w_1 .. w_m, W their sum, is entropy l-diverse iff W^W >= l^W * prod w_i^w_i. With large weights
# the powers are beyond reach. Where floating point tells the two sides apart by far more than its own error, that
# decides. Otherwise equality is decided on the exponents of a coprime base (Bernstein 2005), and an inequality, known
# to be strict after that, by decimal logarithms of growing precision.


_CLEARLY = 1e-12
"""Part of the sum of all terms' sizes that a difference must exceed to be believed. The error is below 1e-14 of that sum:
each term is a product of a rounded number and one to three logarithms, all within a few units of 2^-53."""

_MOST_BITS = 1000
"""Of whole numbers that floats hold without overflow, their products with logarithms included."""


def _coprime_base(numbers: Sequence[int]) -> list[int]:
    """Pairwise coprime integers above 1 of which every given positive integer is a product of powers."""
    base: list[int] = []
    pending = [n for n in set(numbers) if n > 1]
    while pending:
        number = pending.pop()
        for position, known in enumerate(base):
            common = gcd(number, known)
            if common > 1:
                del base[position]
                pending += [part for part in (common, known // common, number // common) if part > 1]
                break
        else:
            base.append(number)
    return base


def _exponent(number: int, factor: int) -> int:
    exponent = 0
    while number % factor == 0:
        number //= factor
        exponent += 1
    return exponent


def entropy_is_at_least(weights: Sequence[Fraction | int], effective: Fraction) -> bool:
    """Whether the entropy of a distribution is at least ln(effective), exactly.

    weights: nonnegative, not all zero, in any scale. effective: positive.

    >>> entropy_is_at_least([1, 1, 1, 1, 4], Fraction(4))
    True
    """
    positive = [Fraction(w) for w in weights if w > 0]
    scale = lcm(*(w.denominator for w in positive))
    whole = [int(w * scale) for w in positive]
    divisor = gcd(*whole)
    whole = [w // divisor for w in whole]
    total = sum(whole)
    upper, lower = effective.numerator, effective.denominator
    if max(total, upper, lower).bit_length() <= _MOST_BITS:
        terms = [-w * log(w) for w in whole] + [total * log(total), total * log(lower), -total * log(upper)]
        difference = fsum(terms)
        if abs(difference) > _CLEARLY * fsum(map(abs, terms)):
            return difference > 0
    base = _coprime_base([*whole, total, upper, lower])
    balance = (
        total * (_exponent(total, f) + _exponent(lower, f) - _exponent(upper, f))
        - sum(w * _exponent(w, f) for w in whole)
        for f in base
    )
    if not any(balance):
        return True
    for digits in (50, 200, 1000, 10_000):
        with localcontext() as context:
            context.prec = digits + len(str(total))
            logs = [Decimal(w) * Decimal(w).ln() for w in whole]
            exactly = Decimal(total) * (Decimal(total).ln() + Decimal(lower).ln() - Decimal(upper).ln()) - sum(logs)
            if abs(exactly) > Decimal(total) * Decimal(10) ** (10 - digits):
                return exactly > 0
    raise ArithmeticError("two unequal entropies agree to 10,000 digits")


@dataclass(frozen=True)
class SensitiveValues:
    """The values at a level of a hierarchy, in the order of their codes.

    rows: of the whole table, not of one class, shape (values,).
    """

    hierarchy: Hierarchy
    level: int
    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.rows) != self.hierarchy.size(self.level):
            raise ValueError(f"{self.hierarchy.size(self.level)} values came with {len(self.rows)} counts")

    def coarsened(self, level: int) -> "SensitiveValues":
        """The values of a level that is not below this one. Raises CriterionError where the hierarchy has none such."""
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
        """The codes of the values under which there is nothing but what the labels name. Raises CriterionError."""
        named = self._base_codes(labels)
        under = self.hierarchy.lift(0, self.level).tolist()
        return frozenset(under) - {code for base, code in enumerate(under) if base not in named}

    def touching(self, labels: Iterable[str]) -> frozenset[int]:
        """The codes of the values under which there is something that the labels name. Raises CriterionError."""
        named = self._base_codes(labels)
        return frozenset(code for base, code in enumerate(self.hierarchy.lift(0, self.level).tolist()) if base in named)

    def labels_of(self, codes: Iterable[int]) -> tuple[str, ...]:
        """The labels of values, in the order of texts."""
        return tuple(sorted(self.hierarchy.labels[self.level][code] for code in codes))

    def occurring(self, codes: Iterable[int]) -> tuple[str, ...]:
        """The labels of those that have rows; a release names no others."""
        return self.labels_of(code for code in codes if self.rows[code])

    @property
    def order(self) -> tuple[int, ...] | None:
        """The codes of those that have rows, lowest first; None where these have no order."""
        return self.hierarchy.order_among(self.level, [code for code, count in enumerate(self.rows) if count])

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of each in the whole table. Raises CriterionError for a table without rows."""
        if not any(self.rows):
            raise CriterionError("a criterion that compares with the whole table needs a table with rows")
        total = sum(self.rows)
        return tuple(Fraction(count, total) for count in self.rows)

    def _base_codes(self, labels: Iterable[str]) -> set[int]:
        """The base values that labels name: by themselves, or all that are under a general one."""
        named: set[int] = set()
        for label in labels:
            places = (
                (level, code)
                for level in range(self.hierarchy.height + 1)
                if (code := self.hierarchy.code(label, level)) is not None
            )
            place = next(places, None)
            if place is None:
                raise CriterionError(f"the criterion names {label!r}, which is no value of the sensitive attribute")
            level, code = place
            named.update(i for i, above in enumerate(self.hierarchy.lift(0, level).tolist()) if above == code)
        return named


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

    @property
    def least_values(self) -> int | None:
        """How many different values are demanded, if nothing else is: all but some must have any share."""
        return self.top + 1 if self.strict and self.limit == 1 and not self.head_weight else None

    def largest_ratio(self, value_count: int) -> LargestRatio | None:
        """The bound on the ratio of any two of so many values, if nothing else is demanded: the tail is one of them."""
        is_pairwise = self.head_weight > 0 and self.limit == 1 and self.top == value_count - 1
        return LargestRatio(1 / self.head_weight, self.strict) if is_pairwise else None


NO_BOUND = ShareBound(Fraction(0), 0, Fraction(1), strict=False)
"""What every class satisfies."""


class Diversity(ABC):
    """A criterion on the distribution of the sensitive values in a class.

    A new criterion is a frozen dataclass with this base. It must be kept by merging: a class that is the sum of two that
    pass must pass, since searches and checks leave out what follows from that. It gives `slack`, `reached`, `decide` and
    `__str__`; with `name`, `parameters` and `parsed` it also has a text, and `marginals.register_diversity` makes that
    text known to policies, bundles and `verify`. What else can be asked of a criterion it answers by a method more, each of
    which is a protocol in this module (`HasCuts`, `ClosedAtOdds`, ...). Without it there is an answer all the same that is
    right for every such criterion, if slower to check than need be.

    >>> import numpy as np
    >>> from checks.diversity.criteria import Entropy
    >>> Entropy(Fraction(3)).reached(np.array([[5, 5, 5], [8, 1, 1]])).round(2)
    array([3.  , 1.89])
    """

    name: ClassVar[str] = ""
    """What its text begins with, before the colon."""

    parameters: ClassVar[str] = ""
    """What its text has after the colon, for instance `c,l`."""

    is_relative: ClassVar[bool] = False
    """Whether it depends on what values there are, or on the whole table, and is decided only `among` them."""

    @property
    def about_base_values(self) -> bool:
        """Whether it judges base values, whatever level is published, so that what fails at a level fails at finer ones."""
        return False

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
    def parsed(cls, text: str) -> Self | None:
        """The criterion whose parameters a text spells, for instance `3,4`; None where it spells none.

        As it stands, `parameters` are numbers, and the fields in their order. Raises CriterionError for parameters that
        make no sense.
        """
        result, expected = numbers(text), cls.parameters.count(",") + 1 if cls.parameters else 0
        return cls(*result) if len(result) == expected and (result or not text) else None

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


# What else may be asked of a criterion: by those who count values, by searches, and by those who assume several rows of
# a person, or evidence. A criterion that has an answer has the method; the function asks whichever criterion there is.


@runtime_checkable
class DependsOnValues(Protocol):
    """A criterion that is another one once it is known what values are counted."""

    def among(self, values: SensitiveValues) -> Diversity:
        """The criterion for classes that are counted by these values.

        Raises CriterionError for a label that names none of them.
        """


def among(diversity: Diversity, values: SensitiveValues) -> Diversity:
    """The criterion for classes that are counted by these values.

    Raises CriterionError for a label that names none of them.
    """
    if not issubclass(
        type(diversity), DependsOnValues
    ):  # what is asked of a class is remembered, of an instance it is not
        return diversity
    return cast(DependsOnValues, diversity).among(values)


@runtime_checkable
class NamesValues(Protocol):
    """A criterion that names values by their labels."""

    def stated_among(self, values: SensitiveValues) -> Diversity:
        """The same criterion of these values, by no labels but theirs."""


def stated_among(diversity: Diversity, values: SensitiveValues) -> Diversity:
    """The same criterion of these values, by no labels but theirs, as a release states it that shows only them."""
    return diversity.stated_among(values) if isinstance(diversity, NamesValues) else diversity


@runtime_checkable
class BoundsShares(Protocol):
    """A criterion that bounds the most frequent values; then it can also be demanded of people."""

    def share_bound(self) -> ShareBound | None:
        """The bound on the most frequent values; None where it demands anything else."""


def share_bound(diversity: Diversity) -> ShareBound | None:
    """The bound on the most frequent values, if the criterion is nothing else."""
    return diversity.share_bound() if isinstance(diversity, BoundsShares) else None


@runtime_checkable
class QuickOfProducts(Protocol):
    """A criterion that judges products of vectors quicker than they are made."""

    def slack_of_products(self, first: Vectors, second: Vectors) -> FloatArray | None:
        """The slack of each product of a row of `first` and one of `second`, value by value: shape (first, second).

        Infinite where the product is 0 throughout. The least of them, and those up to `BOUNDARY`, are as `slack` says;
        others may be lower bounds, above these. None where there is no way that is quicker.
        """


def slack_of_products(diversity: Diversity, first: Vectors, second: Vectors) -> FloatArray | None:
    """The slack of each product of a row of `first` and one of `second`; None without a way quicker than to make them."""
    return diversity.slack_of_products(first, second) if isinstance(diversity, QuickOfProducts) else None


@runtime_checkable
class HasCuts(Protocol):
    """A criterion whose violations have linear cuts."""

    def violations(self, bounds: RatioBounds) -> list[Cases] | None:
        """The ways of violating it, each with linear cuts; None where its violations have none.

        bounds: of the log-ratios over the classes in question. A head that is never positive needs no case, nor does one
        that another value that counts always exceeds: where it violates the criterion, that one does too.
        """


def violations(diversity: Diversity, bounds: RatioBounds) -> list[Cases] | None:
    """The ways of violating a criterion, each with linear cuts; None where its violations have none."""
    return diversity.violations(bounds) if isinstance(diversity, HasCuts) else None


@runtime_checkable
class Scalable(Protocol):
    """A criterion of a family, one of each strictness."""

    def scaled(self, factor: Fraction) -> Diversity | None:
        """The criterion of the same kind that a class with the slack `factor` - 1 just satisfies; None without one.

        factor: positive.
        """


def scaled(diversity: Diversity, factor: Fraction) -> Diversity | None:
    """The criterion of the same kind that a class with the slack `factor` - 1 just satisfies; None without one."""
    return diversity.scaled(factor) if isinstance(diversity, Scalable) else None


def loosened_to(diversity: Diversity, slack: float) -> Diversity | None:
    """The criterion of the same kind that a class with this slack (above -1) just satisfies, to rounding.

    None for a criterion without such a family, or where no parameter does it.
    """
    factor = Fraction(1 + slack) if np.isfinite(slack) else None
    return None if factor is None or factor <= 0 else scaled(diversity, factor)


@runtime_checkable
class ClosedAtOdds(Protocol):
    """A criterion that is another one against attackers with evidence (`checks.diversity.odds`)."""

    def at_odds(self, odds: Fraction) -> Diversity | None:
        """What a class satisfies exactly when it satisfies this whatever evidence of such odds, 1 or more, says of a person.

        None where it has no such form.
        """


@runtime_checkable
class HasOddsFormula(Protocol):
    """A criterion with a formula for the odds that a class bears."""

    def odds_borne(self, vectors: Vectors) -> FloatArray | None:
        """The largest odds at which each class passes, below 1 where it fails: shape (classes,). None without a formula."""


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


# Criteria that say which values they are about, or compare a class with the whole table.
#
# What they demand of a class is known only with the values that are published: `among` gives the criterion for these,
# which can be decided. Labels name values of any level; a label that names several levels means the finest. Where
# values are published generalized, a general one may be disclosed when all under it may be, and is looked after when
# one under it is.


class RelativeDiversity(Diversity):
    """A criterion that must be asked for what it is `among` some values, before any class can be judged.

    A new one gives `among`, `stated_among` where it names values, `__str__`, and what is said of it in words.
    """

    is_relative = True

    @abstractmethod
    def among(self, values: SensitiveValues) -> Diversity:
        """The criterion for classes that are counted by these values, which judges them.

        Raises CriterionError for a label that names none of them.
        """

    def _refused(self, *_: object) -> NoReturn:
        """Raises CriterionError: it depends on the values."""
        raise CriterionError(f"{self} depends on the values and the whole table, so no counts by themselves satisfy it")

    slack: ClassVar[Callable[..., NoReturn]] = _refused
    reached: ClassVar[Callable[..., NoReturn]] = _refused
    decide: ClassVar[Callable[..., NoReturn]] = _refused
