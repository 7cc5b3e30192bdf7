"""Answers of a release: a number with its kind and its certain bounds, or a frame with these as columns.

An answer is one function of a model. Asked of the maximum-entropy model it is the value. Asked of drawn tables with the
published counts (`models.inference.plausible_tables`) it is an interval.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from math import inf, isclose, isfinite, isnan, nan
from typing import Any, ClassVar, NamedTuple

import numpy as np

from marginals.arguments import number, takes, whole
from marginals.conditions import Where
from marginals.errors import InputError
from marginals.estimates import MeantRows, Unjudged, marked
from marginals.later import pd
from marginals.say.answers import answer_lines
from models.errors import TimeOverError
from models.frozen import frozen
from models.graphs.basis import CERTAIN, Basis, BasisKind
from models.inference.beside_core import ModelBesideCore
from models.inference.marginal_model import DrawnTable, MarginalModel
from models.programs.cell_bounds import CountBounds

LEAST_TABLES, USUAL_TABLES = 20, 50

_WIDENED = 1.5  # factor on the quantiles of drawn tables, too narrow alone if all attributes follow one trait


class Bounds(NamedTuple):
    """lower <= number <= upper for certain. sharp: whether both are proven to be attained, or approached.

    open_labels: published values whose numbers have no end, because of which a bound is infinite or wide. stated: what
    the publisher says of the numbers of such labels, on which the bounds rest.
    """

    lower: float = -inf
    upper: float = inf
    sharp: bool = False
    open_labels: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()


class Interval(NamedTuple):
    """Numbers between which one would expect the truth; only `lower` and `upper` of an answer hold for certain."""

    low: float
    high: float


class Of(NamedTuple):
    """Rows that a share or a mean is of, as expected, and rows that are left out because they lack a value."""

    rows: float
    missing: float


Ask = Callable[[MarginalModel], float]


@frozen(eq=False)
class Answer:
    """A number that a release answers, its kind, and between which numbers it certainly lies.

    value: the maximum-entropy estimate; nan if there is none. unit: what is counted; empty for other numbers. of: the rows
    that a share or a mean is of. unjudged, cut: values of which a condition cannot be judged, and those that its range cuts
    through. BasisKind and bounds are worked out when they are first asked for.

    >>> from marginals.example import release
    >>> release.mean("age", where="diagnosis=Gout")
    43.39 (38.89 to 47.89; supported)
    >>> float(release.share("diagnosis=Flu"))
    0.3541666666666667
    >>> float(release.count("age=20-29 and sex=Female"))
    Traceback (most recent call last):
        ...
    marginals.errors.InputError: the answer is assumed, not found in the data; write .value if you know that
    """

    value: float
    _estimated: Basis | Callable[[], Basis]
    _limits: Bounds | Callable[[], Bounds]
    _model: MarginalModel | None = None
    _ask: Ask | None = None
    unit: str = ""
    of: Of | None = None
    unjudged: tuple[Unjudged, ...] = ()
    cut: tuple[str, ...] = ()
    _drawing: tuple[float, int, int] = (0.95, USUAL_TABLES, 0)
    PLAIN: ClassVar = ("value", "lower", "upper", "sharp", "exact")

    def __reduce__(self) -> tuple[type["Answer"], tuple[Any, ...]]:
        rest = (self.unit, self.of, self.unjudged, self.cut)
        return Answer, (self.value, self._basis, self._bounds, None, None, *rest)

    @cached_property
    def _basis(self) -> Basis:
        return self._estimated if isinstance(self._estimated, Basis) else self._estimated()

    @cached_property
    def _bounds(self) -> Bounds:
        bounds = self._limits if isinstance(self._limits, Bounds) else self._limits()
        lower, upper = _passed(bounds.lower, self.value, min), _passed(bounds.upper, self.value, max)
        return bounds._replace(lower=lower, upper=upper)

    @property
    def basis(self) -> Basis:
        """Basis of the value: published counts alone if its bounds leave one number."""
        return CERTAIN if self._basis.kind is not BasisKind.PUBLISHED and self.exact else self._basis

    @property
    def kind(self) -> BasisKind:
        """Kind: published, supported or assumed, as far as published tables back the value; none without a value."""
        return BasisKind.NONE if isnan(self.value) else self.basis.kind

    @property
    def lower(self) -> float:
        """The certain lower bound."""
        return self._bounds.lower

    @property
    def upper(self) -> float:
        """The certain upper bound."""
        return self._bounds.upper

    @property
    def sharp(self) -> bool:
        """True if both bounds are proven to be attained, or approached, in tables with the published marginals."""
        return self._bounds.sharp

    @property
    def open_labels(self) -> tuple[str, ...]:
        """Published values whose numbers have no end, because of which a bound is infinite or wide."""
        return self._bounds.open_labels

    @property
    def stated(self) -> tuple[str, ...]:
        """Labels without an end, with the range in which their numbers lie, as the publisher says and nobody can check."""
        return self._bounds.stated

    @property
    def exact(self) -> bool:
        """True if the published marginals leave one number only."""
        return self.lower == self.upper

    @property
    def denominator(self) -> float | None:
        """The expected number of rows that a share or a mean is of; None for another number."""
        return None if self.of is None else self.of.rows

    def __float__(self) -> float:
        if self.kind in (BasisKind.PUBLISHED, BasisKind.SUPPORTED):
            return self.value
        why = "has no estimate, only bounds" if isnan(self.value) else "is assumed, not found in the data"
        raise InputError(f"the answer {why}; write .value if you know that")

    def __repr__(self) -> str:
        of = self.of
        lacking = f"; of {of.rows:,.4g} rows, {of.missing:,.4g} lack a value" if of and of.missing >= 0.5 else ""
        return f"{self.value:,.4g} ({self.lower:,.4g} to {self.upper:,.4g}; {self.kind.value}{lacking})"

    def explain(self) -> str:
        """Return the value, its bounds, and what it rests on, in sentences.

        >>> from marginals.example import release
        >>> print(release.count("sex=Female and diagnosis=Flu").explain())
        12 rows, exactly: the published marginals leave no other number.
        published: it follows from published counts
        """
        return "\n".join(answer_lines(self, None if self._model is None else self._model.domain))

    @takes(
        "answer.interval(level=0.9)",
        level=number(0, 1, inside=True), tables=whole(LEAST_TABLES, 10_000), seed=whole(0),
    )  # fmt: skip
    def interval(self, *, level: float | None = None, tables: int | None = None, seed: int | None = None) -> Interval:
        """Return the numbers between which one would expect the truth if what no table shows is as strong as what is shown.

        level: the share of cases in which the truth is meant to lie inside, .95. tables: how many are drawn, once for each
        seed, 50. An answer of `estimate` takes those that it was asked with. Raises InputError for a release without a
        junction tree or with further tables.

        >>> from marginals.example import release
        >>> release.count("age=20-29 and sex=Female").interval()
        Interval(low=6.0, high=14.0)
        """
        if self.exact:
            return Interval(float(self.lower), float(self.upper))
        if self._model is None or self._ask is None:
            raise InputError("a copy of an answer has no interval; ask the release again")
        usual_level, usual_tables, usual_seed = self._drawing
        tables, seed = usual_tables if tables is None else tables, usual_seed if seed is None else seed
        numbers = [self._ask(table) for table in drawn(self._model, tables, seed)]
        low, _, high = interval_of(numbers, usual_level if level is None else level)
        return Interval(max(low, float(self.lower)), min(high, float(self.upper)))


def _passed(end: float, value: float, outer: Callable[[float, float], float]) -> float:
    passed = outer(end, value)
    return passed if isclose(passed, end, rel_tol=1e-9, abs_tol=1e-12) else end


def answer(
    model: MarginalModel,
    ask: Ask,
    basis: Basis,
    bounds: Callable[[], Bounds],
    *,
    of: Of | None = None,
    clips: bool = False,
) -> Answer:
    """Return the answer to what is asked of a model. clips: whether the estimate may lie outside of its bounds."""
    value = float(ask(model))
    if (clips or not model.has_closed_form) and not isnan(value):
        ends = bounds()
        return Answer(min(max(value, ends.lower), ends.upper), basis, ends, model, ask, of=of)
    return Answer(_without_rounding(value), basis, bounds, model, ask, of=of)


def _without_rounding(number: float) -> float:
    return float(round(number)) if isfinite(number) and isclose(number, round(number), rel_tol=1e-12) else number


def count(model: MarginalModel, where: Where, seconds: float) -> Answer:
    """Return the number of rows that a condition means. seconds: of programs where bounds are not proven to be sharp."""
    rows = MeantRows.of(model, where)

    def ask(table: MarginalModel) -> float:
        return table.expected_in(rows.estimated)

    def bounds() -> Bounds:
        ends: CountBounds = rows.bounds(seconds)
        return Bounds(ends.lower, ends.upper, ends.sharp)

    certain_bounds = None if model.has_closed_form and not rows.is_in_doubt else rows.bounds()
    value = nan
    if certain_bounds is not None and certain_bounds.lower == certain_bounds.upper:
        value = float(certain_bounds.lower)
    elif not rows.unjudged:
        with suppress(TimeOverError):
            value = _without_rounding(ask(model))
    cut = rows.cut if rows.is_in_doubt else ()
    return Answer(value, lambda: rows.basis({}), bounds, model, ask, "rows", None, rows.unjudged, cut)


COLUMNS = ["value", "lower", "upper", "kind", "sharp"]


def frame_of(answers: Sequence[Answer], index: "pd.Index[Any] | list[str] | None") -> "pd.DataFrame":
    """Return a frame of answers, whose `attrs` say what the weakest of them rests on."""
    rows = [(one.value, one.lower, one.upper, one.kind.value, one.sharp) for one in answers]
    frame = pd.DataFrame(rows, index, COLUMNS).astype({"value": float})
    return marked(frame, weakest([one.basis for one in answers]))


def weakest(bases: Sequence[Basis]) -> Basis:
    """Return what an answer rests on that is made of several: all that one of them takes for granted, else the weakest."""
    if assumed := tuple(dict.fromkeys(group for basis in bases for group in basis.assumed)):
        return Basis(BasisKind.ASSUMED, (), assumed)
    return next((basis for basis in bases if basis.kind is BasisKind.SUPPORTED), bases[0] if bases else CERTAIN)


def drawn(model: MarginalModel, tables: int, seed: int) -> Iterator[DrawnTable]:
    """Return drawn tables with every published count. Raises InputError where exchanges along a junction tree make none."""
    if isinstance(model, ModelBesideCore):
        raise InputError(
            "drawn tables do not keep to further tables, which this release has; ask for .lower and .upper"
        )
    if not model.collection.is_decomposable:
        raise InputError(
            "tables are drawn along a junction tree, and the tables of this release have none; ask for .lower and .upper"
        )
    return model.drawn_tables(tables, seed)


def interval_of(numbers: Sequence[float], level: float) -> tuple[float, float, float]:
    """Return the low end, the middle and the high end of an interval. Raises InputError if a number is not finite."""
    if undefined := sum(not isfinite(number) for number in numbers):
        raise InputError(
            f"there is no finite number in {undefined:,} of {len(numbers):,} drawn tables, so there is no interval; a table "
            "without such rows has no mean"
        )
    outside = (1 - level) / 2
    low, middle, high = np.quantile(np.array(numbers), [outside, 0.5, 1 - outside]).tolist()
    return middle - _WIDENED * (middle - low), middle, middle + _WIDENED * (high - middle)
