"""Estimates from a model as pandas objects: what the published marginals say of a margin, and how surely."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar
from warnings import warn

import numpy as np

from marginals.arguments import elements_of
from marginals.conditions import Meaning, Where
from marginals.errors import AssumptionWarning, InputError
from marginals.published_values import known_attribute, meanings, values_meant
from marginals.tables.intervals import Range as Numbers
from marginals.tables.intervals import numbers_of
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray
from models.errors import TimeOverError, TooManyCellsError
from models.graphs.basis import CERTAIN, NO_LEVEL, NOT_ASKED, Basis, Distinction, Kind, bases_of_pairs, basis_of
from models.inference.calibrated_tree import CELL_LIMIT, drawn_leaves, expected_marginal
from models.inference.frechet_bounds import Box
from models.inference.marginal_model import MarginalModel, Range, mutual_information, odds_ratio, odds_ratio_range
from models.programs.cell_bounds import CountBounds
from models.tables.hierarchy import Margin

if TYPE_CHECKING:
    import pandas as pd


# Which kind an answer is: made of published counts, backed by coarser ones, or resting on an assumption of the model.
#
# `models.graphs.basis` defines the kinds. Numbers and objects carry theirs as `basis`, frames and series of pandas in
# `attrs`, under "kind", "assumed" and "shown"; analyses that rest on an assumption warn of it.


_NAMED = 5
"""Groups of attributes that a warning names at most."""

_MODEL, _INDEPENDENT = "so the model takes", "to be independent, given what its tables share"

Frame = TypeVar("Frame", bound="pd.DataFrame | pd.Series[Any]")


class HasBasis(Protocol):
    """What says of itself what it rests on."""

    @property
    def basis(self) -> Basis:
        """What it rests on."""


Answer = TypeVar("Answer", bound="pd.DataFrame | pd.Series[Any] | HasBasis")


class Quantity(float):
    """A number that says which kind of answer it is: `kind`, and the whole of what it rests on, `basis`.

    >>> from marginals.example import release
    >>> release.mean("age", where="diagnosis=Gout").kind
    'supported'
    """

    basis: Basis

    def __new__(cls, value: float, basis: Basis) -> "Quantity":
        """The number with its basis."""
        quantity = super().__new__(cls, value)
        quantity.basis = basis
        return quantity

    def __getnewargs__(self) -> tuple[float, Basis]:  # type: ignore[override]
        return float(self), self.basis

    @property
    def kind(self) -> Kind:
        """How far published tables back it."""
        return self.basis.kind


def distinctions(
    model: MarginalModel, levels: Mapping[str, int], meant: Mapping[str, BoolArray] | None = None
) -> dict[str, Distinction]:
    """What an answer tells apart: the values of some levels, among the rows whose base values are meant.

    An attribute that is asked for and that no table shows is told apart by none, at whatever level. Without any row that is
    meant, nothing is asked: the answer is 0 in any table.
    """
    meant = meant or {}
    if not all(inside.any() for inside in meant.values()):
        return {}
    made: dict[str, Distinction | None] = {}
    for attribute in {**levels, **meant}:
        hierarchy, finest = model.domain.hierarchy(attribute), model.finest_levels[attribute]
        if attribute in levels and finest == hierarchy.height:
            made[attribute] = Distinction(NO_LEVEL, NO_LEVEL)
        elif attribute not in meant:
            made[attribute] = Distinction.of_level(hierarchy, levels[attribute])
        else:
            values = hierarchy.lift(0, levels.get(attribute, hierarchy.height)).astype(np.intp)
            made[attribute] = Distinction.of_groups(hierarchy, finest, np.where(meant[attribute], values, NOT_ASKED))
    return {attribute: distinction for attribute, distinction in made.items() if distinction is not None}


def basis_in(model: MarginalModel, asked: Mapping[str, Distinction]) -> Basis:
    """What an answer rests on among the published margins of a model."""
    return basis_of(model.collection.margins, {a: asked[a] for a in model.domain.attributes if a in asked})


def pairs_in(model: MarginalModel, levels: Mapping[str, int]) -> Iterator[tuple[tuple[str, str], Basis]]:
    """For each two attributes that levels are given of what a cross table of them rests on."""
    return bases_of_pairs(model.collection.margins, distinctions(model, levels))


def weakest(bases: Sequence[Basis]) -> Basis:
    """What an answer rests on that is made of several: on all that one of them takes for granted, else on the weakest.

    >>> weakest([Basis(Kind.PUBLISHED), Basis(Kind.ASSUMED, (), (("a", "b"),)), Basis(Kind.ASSUMED, (), (("a", "b"),))])
    Basis(assumed; a and b)
    >>> weakest([Basis(Kind.PUBLISHED), Basis(Kind.SUPPORTED)]).kind
    'supported'
    """
    assumed = tuple(dict.fromkeys(group for basis in bases for group in basis.assumed))
    if assumed:
        return Basis(Kind.ASSUMED, (), assumed)
    return next((basis for basis in bases if basis.kind is Kind.SUPPORTED), bases[0])


def marked(frame: Frame, basis: Basis) -> Frame:
    """The same frame or series, which now says in `attrs` which kind of answer it is."""
    frame.attrs.update(basis.as_json())
    return frame


def assumption(assumed: tuple[tuple[str, ...], ...]) -> str:
    """What an answer takes for granted, as a sentence without its full stop.

    >>> assumption((("age", "sex"),))
    'no published table shows what is asked of age and sex together, so the model takes them to be independent, given what \
its tables share'
    >>> assumption((("shoe",),))
    'no published table tells the values of shoe apart as asked, so the model takes them to be equally likely'
    """
    alone = [group[0] for group in assumed if len(group) == 1]
    together = [group for group in assumed if len(group) == 2]
    larger = [group for group in assumed if len(group) > 2]
    parts = []
    if alone:
        parts.append(
            f"no published table tells the values of {listed(alone)} apart as asked, so the model takes them to be equally "
            "likely"
        )
    names = [f"{', '.join(group[:-1])} and {group[-1]}" for group in together]
    if len(names) == 1:
        parts.append(f"no published table shows what is asked of {names[0]} together, {_MODEL} them {_INDEPENDENT}")
    elif names:
        parts.append(
            f"no published table shows together what is asked of each of these: {listed(names, '; ')}; {_MODEL} each "
            f"{_INDEPENDENT}"
        )
    for group in larger:
        parts.append(
            f"no published table shows what is asked of {', '.join(group[:-1])} and {group[-1]} together, {_MODEL} them to "
            "have no more in common than tables of fewer of them tell"
        )
    return "; and ".join(parts)


def listed(names: Sequence[str], between: str = ", ") -> str:
    """The first names, and how many more there are."""
    rest = len(names) - _NAMED
    return between.join(names[:_NAMED]) + (f"{between}{rest} more" if rest > 0 else "")


def told(answer: Answer) -> Answer:
    """The same answer; of one that rests on an assumption, the line is warned that asked the method which calls this."""
    import pandas as pd

    assumed = answer.attrs["assumed"] if isinstance(answer, pd.DataFrame | pd.Series) else answer.basis.assumed
    if assumed:
        warn(f"{assumption(assumed)}: that is no finding about the data", AssumptionWarning, stacklevel=3)
    return answer


_LISTED = 1 << 20
"""Numbers that are laid out at most for the intervals that stand for them."""

Attributes: TypeAlias = str | Sequence[str] | Mapping[str, int]
"""One attribute or several at their finest published levels, or with a level for each: `{"age": 1, "sex": 0}`."""


class Unjudged(NamedTuple):
    """Values of an attribute that are no numbers, of which a range cannot be judged; rows: how many have one at most."""

    attribute: str
    values: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class Estimate:
    """A number of rows: its expectation in the maxent distribution, and lower <= number <= upper for certain.

    expected: None where the time was over before the distribution was fitted.
    sharp: whether both bounds are proven to be attained by tables with the published marginals.
    basis: what the expectation rests on. unjudged: values that the condition cannot be judged of; the bounds hold with their
    rows and without, the expectation is without.
    """

    expected: float | None
    lower: int
    upper: int
    sharp: bool
    basis: Basis
    unjudged: tuple[Unjudged, ...] = field(default=(), repr=False)

    @property
    def kind(self) -> Kind:
        """How far published tables back the expectation; the bounds hold whatever it is."""
        return self.basis.kind

    @property
    def exact(self) -> bool:
        """Whether the published marginals leave one number only."""
        return self.lower == self.upper


@dataclass(frozen=True)
class OddsRatio:
    """An odds ratio: of the expected counts, and lower <= ratio <= upper for certain. basis: what the former rests on."""

    expected: float
    lower: float
    upper: float
    basis: Basis

    @property
    def kind(self) -> Kind:
        """How far published tables back the ratio of the expected counts."""
        return self.basis.kind


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a margin: codes by attribute, and counts that are whole numbers where the margin is published."""

    margin: Margin
    codes: Mapping[str, CodeArray]
    counts: CountArray | FloatArray

    @property
    def are_counted(self) -> bool:
        """Whether the margin is published, by itself or as sums of a finer one."""
        return self.counts.dtype.kind != "f"


def as_margin(model: MarginalModel, attributes: Attributes) -> dict[str, int]:
    """Levels by attribute, in the order given. Raises InputError for an unknown or repeated attribute."""
    if isinstance(attributes, Mapping):
        return {known_attribute(model.domain, a): level for a, level in attributes.items()}
    instead = 'names, such as "age" or ["age", "sex"], or a level for each, such as {"age": 1}'
    named = [attributes] if isinstance(attributes, str) else elements_of(attributes, "attributes", instead)
    margin = {known_attribute(model.domain, a): model.finest_levels[a] for a in named}
    if len(margin) != len(named):
        raise InputError("an attribute is named twice")
    return margin


def box_of(model: MarginalModel, where: Where) -> Box:
    """The rows that a condition means."""
    return model.box(values_meant(model.domain, model.finest_levels, where))


def cells_of(model: MarginalModel, margin: Mapping[str, int]) -> Cells:
    """The cells that can be occupied, counted where the margin is published and expected where not."""
    domain = model.domain
    mask = domain.mask(margin)
    published = domain.margin(mask)
    cube = model.collection.cube
    if cube.holds(mask):
        table = cube.table(mask)
        return Cells(published, dict(zip(table.attributes, table.codes)), table.counts)
    if domain.size(published) > CELL_LIMIT and model.collection.is_decomposable:
        if model.tree.cell_count > CELL_LIMIT:
            raise TooManyCellsError(
                "these attributes have too many cells to be laid out; ask for fewer or coarser ones, or draw a sample"
            )
        sparse = expected_marginal(model.closed_form, published)
        return Cells(published, sparse.codes, sparse.expected)
    order = [a for a in domain.attributes if a in published]
    dense = model.expected({a: published[a] for a in order})
    places = np.nonzero(dense)
    return Cells(published, dict(zip(order, places)), dense[places])


def labelled(model: MarginalModel, cells: Cells, order: Iterable[str], values: Mapping[str, Any]) -> "pd.DataFrame":
    """Values of cells by their labels, in the order of the hierarchies; an index level for each attribute in `order`."""
    import pandas as pd

    named = [a for a in order if a in cells.codes]
    if not named:
        return pd.DataFrame(values)
    ranks = np.lexsort([cells.codes[a] for a in reversed(named)])
    labels = [model.domain.hierarchy(a).labels[cells.margin[a]] for a in named]
    columns = [np.array(known, dtype=object)[cells.codes[a][ranks]] for a, known in zip(named, labels)]
    many = len(named) > 1
    index = pd.MultiIndex.from_arrays(columns, names=named) if many else pd.Index(columns[0], name=named[0])
    return pd.DataFrame({name: np.asarray(value)[ranks] for name, value in values.items()}, index=index)


def marginal(model: MarginalModel, margin: Mapping[str, int]) -> "pd.Series[Any]":
    """Counts of the cells of a margin, or expected counts."""
    cells = cells_of(model, margin)
    name = "count" if cells.are_counted else "expected_count"
    basis = CERTAIN if cells.are_counted else _basis(model, margin)
    return marked(labelled(model, cells, margin, {name: cells.counts})[name], basis)


def weighted_cells(model: MarginalModel, attributes: Attributes | None) -> "pd.DataFrame":
    """Cells as columns of labels, with their counts as `weight`; of all published attributes where none are named."""
    published = [a for a, level in model.finest_levels.items() if level < model.domain.hierarchy(a).height]
    margin = as_margin(model, published if attributes is None else attributes)
    cells = cells_of(model, margin)
    frame = labelled(model, cells, margin, {"weight": cells.counts}).reset_index(drop=not cells.codes)
    return marked(frame, CERTAIN if cells.are_counted else _basis(model, margin))


def counts(model: MarginalModel, attributes: Attributes) -> "pd.DataFrame":
    """The cells of a margin with the columns expected, lower, upper, exact; `attrs["sharp"]` as in Estimate.

    Where all are exact, their kind is published, whatever table they follow from.
    """
    margin = as_margin(model, attributes)
    sharp = True
    cells = cells_of(model, margin)
    expected: CountArray | FloatArray = cells.counts
    lower: CountArray | FloatArray = expected
    upper: CountArray | FloatArray = expected
    if expected.dtype.kind == "f":
        order = list(cells.codes)
        bounds = model.frechet_bounds.of_margin({a: cells.margin[a] for a in order})
        places = tuple(cells.codes[a] for a in order)
        lower, upper, sharp = bounds.lower[places], bounds.upper[places], bounds.sharp
        expected = (
            lower if np.array_equal(lower, upper) else np.where(lower == upper, lower, expected).astype(np.float64)
        )
    exact = np.asarray(lower == upper)
    frame = labelled(model, cells, margin, {"expected": expected, "lower": lower, "upper": upper, "exact": exact})
    frame.attrs["sharp"] = sharp
    return marked(frame, CERTAIN if exact.all() else _basis(model, margin))


def count(model: MarginalModel, where: Where, seconds: float) -> Estimate:
    """The number of rows that a condition means.

    Of values that it cannot be judged of no row is expected; the bounds hold with all of their rows and without.
    """
    judged = meanings(model.domain, model.finest_levels, where)
    meant = {attribute: meaning.surely for attribute, meaning in judged.items()}
    box = model.box(meant)
    bounds = box.bounds(seconds)
    unjudged = tuple(_unjudged(model, judged))
    if unjudged:
        most = model.box({attribute: meaning.possibly for attribute, meaning in judged.items()}).bounds(seconds)
        bounds = replace(bounds, upper=most.upper, sharp=bounds.sharp and most.sharp)
    basis = CERTAIN if bounds.lower == bounds.upper else basis_in(model, distinctions(model, {}, meant))
    return Estimate(_expected(model, box, bounds), bounds.lower, bounds.upper, bounds.sharp, basis, unjudged)


def _unjudged(model: MarginalModel, judged: Mapping[str, Meaning]) -> Iterator[Unjudged]:
    """The values that a condition cannot be judged of, and how many rows have them that all else may hold for."""
    possible = {attribute: meaning.possibly for attribute, meaning in judged.items()}
    for attribute, meaning in judged.items():
        if meaning.unjudged.any():
            labels = np.array(model.domain.hierarchy(attribute).labels[0], dtype=object)[meaning.unjudged]
            rows = model.box({**possible, attribute: meaning.unjudged}).bounds().upper
            yield Unjudged(attribute, tuple(labels.tolist()), rows)


def expected_count(model: MarginalModel, where: Where) -> Quantity:
    """The expected number of rows that a condition means."""
    meant = values_meant(model.domain, model.finest_levels, where)
    return Quantity(model.expected_in(model.box(meant)), basis_in(model, distinctions(model, {}, meant)))


def _basis(model: MarginalModel, margin: Mapping[str, int], where: Where = ()) -> Basis:
    """What an answer about a margin of some rows rests on."""
    return basis_in(model, distinctions(model, margin, values_meant(model.domain, model.finest_levels, where)))


def _expected(model: MarginalModel, box: Box, bounds: CountBounds) -> float | None:
    if bounds.lower == bounds.upper:
        return float(bounds.lower)
    try:
        return model.expected_in(box)
    except TimeOverError:
        return None


def crosstab(model: MarginalModel, rows: Attributes, columns: Attributes, where: Where) -> "pd.DataFrame":
    """Expected counts of all combinations, empty ones included, of the rows that a condition means."""
    import pandas as pd

    down, across = as_margin(model, rows), as_margin(model, columns)
    if not down or not across:
        raise InputError(
            'a cross table has attributes in its rows and in its columns; name them: crosstab("age", "sex")'
        )
    if shared := [a for a in down if a in across]:
        raise InputError(f"{shared[0]!r} cannot stand in the rows and in the columns")
    dense = model.expected_within({**down, **across}, box_of(model, where))
    axes = [_axis(model, margin) for margin in (down, across)]
    frame = pd.DataFrame(dense.reshape([len(axis) for axis in axes]), index=axes[0], columns=axes[1])
    return marked(frame, _basis(model, {**down, **across}, where))


def _axis(model: MarginalModel, margin: Mapping[str, int]) -> "pd.Index[Any]":
    import pandas as pd

    labels = [model.domain.hierarchy(a).labels[level] for a, level in margin.items()]
    if len(labels) == 1:
        return pd.Index(labels[0], name=next(iter(margin)))
    return pd.MultiIndex.from_product(labels, names=list(margin))


class Distribution(NamedTuple):
    """Distinct numbers, ascending, their probabilities, and what these rest on."""

    values: FloatArray
    probabilities: FloatArray
    basis: Basis


def distribution(
    model: MarginalModel, attribute: str, where: Where, values: Mapping[str, float] | None
) -> Distribution:
    """The numbers that an attribute takes among the rows that are meant.

    values: the number of each label of one level; by default base labels are numbers, or intervals of whole numbers, each of
    them as likely, or of all numbers, whose middle is taken; no table is as fine as these. Raises InputError where they are
    not, or where no such row is expected.
    """
    numbers = _numbers(model, known_attribute(model.domain, attribute), values)
    expected = model.expected_within({attribute: numbers.level}, box_of(model, where))
    total = float(expected.sum())
    if total <= 0:
        raise InputError("no row with these values is possible, so there is nothing to average")
    evenly = expected / np.bincount(numbers.codes, minlength=len(expected))
    distinct, place = np.unique(numbers.values, return_inverse=True)
    meant = values_meant(model.domain, model.finest_levels, where)
    asked = distinctions(model, {attribute: numbers.level}, meant)
    if numbers.are_spread:
        told_at = asked[attribute].told_at if attribute in asked else NO_LEVEL
        asked[attribute] = Distinction(NO_LEVEL, told_at)
    return Distribution(distinct, np.bincount(place, evenly[numbers.codes]) / total, basis_in(model, asked))


class _Numbers(NamedTuple):
    """Numbers, and for each the code of the value of a level that stands for it; one that stands for several, alike.

    are_spread: whether some value stands for an interval.
    """

    level: int
    codes: IndexArray
    values: FloatArray
    are_spread: bool


def _numbers(model: MarginalModel, attribute: str, values: Mapping[str, float] | None) -> _Numbers:
    hierarchy = model.domain.hierarchy(attribute)
    if values is None:
        named = numbers_of(hierarchy)
        spread = list(map(_listed, named))
        sizes = [numbers.stop - numbers.start if isinstance(numbers, range) else 1 for numbers in spread]
        if None in spread or sum(sizes) > _LISTED:
            raise InputError(
                f"the base values of {attribute!r} are neither numbers nor intervals of whole numbers; "
                "give values={label: number}"
            )
        laid_out = np.concatenate([np.atleast_1d(np.array(numbers, dtype=np.float64)) for numbers in spread])
        are_spread = any(own.low != own.high for own in named if own is not None)
        return _Numbers(0, np.repeat(np.arange(len(spread)), sizes), laid_out, are_spread)
    for level, labels in enumerate(hierarchy.labels):
        if set(labels) <= set(values):
            return _Numbers(
                level, np.arange(len(labels)), np.array([float(values[label]) for label in labels]), are_spread=False
            )
    raise InputError(f"values must give a number for each label of {attribute!r} at one level")


def _listed(own: Numbers | None) -> float | range | None:
    """The number that a label is, the whole numbers of an interval, or the middle of one of all numbers; else None."""
    if own is None or not (own.low.is_finite() and own.high.is_finite()):
        return None
    if own.low == own.high or not own.with_high:
        return float((own.low + own.high) / 2)
    whole = own.low == own.low.to_integral_value() and own.high == own.high.to_integral_value()
    return range(int(own.low), int(own.high) + 1) if whole else None


def association(model: MarginalModel, first: Attributes, second: Attributes, given: Attributes) -> Quantity:
    """Mutual information in nats of two groups of attributes, given a third."""
    groups = [as_margin(model, group) for group in (first, second, given)]
    margin = {a: level for group in groups for a, level in group.items()}
    if len(margin) < sum(map(len, groups)):
        raise InputError("an attribute is named twice")
    shared = mutual_information(model.expected(margin).reshape([model.domain.size(group) for group in groups]))
    return Quantity(shared, _basis(model, margin))


def odds(model: MarginalModel, first: Where, second: Where, where: Where) -> OddsRatio:
    """The odds ratio of two conditions, each on one attribute, among the rows that are meant."""
    conditions = []
    for condition in (first, second):
        meant = values_meant(model.domain, model.finest_levels, condition)
        if len(meant) != 1:
            raise InputError("an odds ratio is about two conditions, each on one attribute")
        conditions.append(next(iter(meant.items())))
    (one, is_first), (other, is_second) = conditions
    if one == other:
        raise InputError(f"an odds ratio is about two attributes, not {one!r} twice")
    meant = values_meant(model.domain, model.finest_levels, where)

    def part(first_part: Any, second_part: Any) -> Box:
        inside = {**meant}
        for attribute, held in ((one, first_part), (other, second_part)):
            inside[attribute] = inside.get(attribute, np.ones_like(held)) & held
        return model.box(inside)

    boxes = [[part(f, s) for s in (is_second, ~is_second)] for f in (is_first, ~is_first)]
    anything = np.ones_like(is_first), np.ones_like(is_second)
    parts = [part(is_first, anything[1]), part(anything[0], is_second), part(*anything)]
    rows, columns, total = (_range(box) for box in parts)
    lower, upper = odds_ratio_range([[_range(box) for box in row] for row in boxes], rows, columns, total)
    expected = odds_ratio(np.array([[model.expected_in(box) for box in row] for row in boxes]))
    if lower == upper:
        return OddsRatio(expected, lower, upper, CERTAIN)
    asked = distinctions(model, {}, meant)
    for attribute, is_one in ((one, is_first), (other, is_second)):
        kept = meant.get(attribute, np.ones_like(is_one))
        groups = np.where(kept, is_one.astype(np.intp), NOT_ASKED)
        finest, own = model.finest_levels[attribute], model.domain.hierarchy(attribute)
        asked[attribute] = Distinction.of_groups(own, finest, groups) or Distinction(NO_LEVEL, NO_LEVEL)
    return OddsRatio(expected, lower, upper, basis_in(model, asked))


def _range(box: Box) -> Range:
    bounds = box.bounds()
    return Range(bounds.lower, bounds.upper)


def _rows_frame(model: MarginalModel, levels: Mapping[str, int], codes: Mapping[str, CodeArray]) -> "pd.DataFrame":
    """Rows of labels, as categories in the order of the hierarchies."""
    import pandas as pd

    columns = {
        a: pd.Categorical.from_codes(codes[a], categories=pd.Index(model.domain.hierarchy(a).labels[levels[a]]))
        for a in model.domain.attributes
        if a in codes
    }
    return pd.DataFrame(columns, copy=False)


MOST_ROWS = 100_000_000
"""That are drawn at once, in memory."""


def drawn(model: MarginalModel, rows: int, rng: "np.random.Generator") -> "pd.DataFrame":
    """Independent synthetic rows of the published attributes at their finest levels."""
    codes = _codes(model, rows, rng)
    levels = {a: model.finest_levels[a] for a in model.domain.attributes if a in codes}
    return marked(_rows_frame(model, levels, codes), _basis(model, levels))


def drawn_base_values(model: MarginalModel, rows: int, rng: "np.random.Generator") -> "pd.DataFrame":
    """The same of all attributes at base values, drawn evenly among those under the published value."""
    levels = dict.fromkeys(model.domain.attributes, 0)
    leaves = drawn_leaves(model.domain, model.finest_levels, _codes(model, rows, rng), rows, rng)
    return marked(_rows_frame(model, levels, leaves), _basis(model, levels))


def _codes(model: MarginalModel, rows: int, rng: "np.random.Generator") -> dict[str, CodeArray]:
    if rows < 0:
        raise InputError(f"a sample has 0 rows or more, not {rows}")
    return model.sampler.draw(rows, rng)


def supported(model: MarginalModel, attributes: Attributes) -> Basis:
    """What a cross table of some attributes rests on."""
    return _basis(model, as_margin(model, attributes))
