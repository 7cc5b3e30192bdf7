"""Estimates from a model as pandas objects: what the published marginals say of a margin, and how surely."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isclose
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar
from warnings import warn

import numpy as np

from marginals.arguments import elements_of, kind_of, require_whole_number
from marginals.conditions import Meaning, Where
from marginals.errors import AssumptionWarning, InputError
from marginals.published_values import known_attribute, meanings, unjudged_error, values_meant
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray
from models.deadline import Deadline
from models.errors import TimeOverError
from models.graphs import junction_tree
from models.graphs.basis import CERTAIN, NO_LEVEL, NOT_ASKED, Basis, Distinction, Kind, bases_of_pairs, basis_of
from models.inference.calibrated_tree import CELL_LIMIT, drawn_leaves
from models.inference.frechet_bounds import Box, MarginBounds
from models.inference.marginal_model import MarginalModel, mutual_information
from models.inference.possible_tables import possible_table
from models.programs.cell_bounds import CountBounds
from models.programs.nested_counts import UNBOUNDED, Range
from models.tables.hierarchy import Margin

if TYPE_CHECKING:
    import pandas as pd


_NAMED = 5
"""Groups of attributes that a warning names."""

Frame = TypeVar("Frame", bound="pd.DataFrame | pd.Series[Any]")
Answer = TypeVar("Answer", bound="pd.DataFrame | pd.Series[Any] | Quantity | Estimate")


class Certain(NamedTuple):
    """What is certain of a number: its bounds, whether both are attained or approached, and labels without an end."""

    bounds: Range
    sharp: bool
    open_labels: tuple[str, ...] = ()


_UNBOUNDED = Certain(UNBOUNDED, sharp=False)


class Quantity(float):
    """A number with its kind of answer, and its certain bounds: whatever the data are, lower <= number <= upper.

    Bounds are worked out when they are first asked for, because they take longer than the number; those of an expected
    count and of mutual information are infinite, because nothing is certain.

    >>> from marginals.example import release
    >>> release.mean("age", where="diagnosis=Gout"), release.mean("age", where="diagnosis=Gout").kind
    (43.39 (38.89 to 47.89; supported), 'supported')
    """

    _estimated: Basis
    _source: "Certain | Callable[[], Certain]"

    def __new__(cls, value: float, basis: Basis, certain: "Certain | Callable[[], Certain]" = _UNBOUNDED) -> "Quantity":
        """The number, what it rests on unless it is certain, and its bounds, or what works them out."""
        quantity = super().__new__(cls, value)
        quantity._estimated, quantity._source = basis, certain
        return quantity

    def __reduce__(self) -> tuple[type["Quantity"], tuple[float, Basis, Certain]]:
        return Quantity, (float(self), self._estimated, self._certain)

    @property
    def _certain(self) -> Certain:
        if not isinstance(self._source, Certain):
            self._source = self._source()
        return self._source

    @property
    def basis(self) -> Basis:
        """What it rests on: published counts alone if its bounds leave one number."""
        return CERTAIN if self.exact else self._estimated

    @property
    def kind(self) -> Kind:
        """How far published tables back it."""
        return self.basis.kind

    @property
    def lower(self) -> float:
        """The certain lower bound."""
        return self._within(self._certain.bounds.lower, min)

    @property
    def upper(self) -> float:
        """The certain upper bound."""
        return self._within(self._certain.bounds.upper, max)

    def _within(self, end: float, outer: Callable[[float, float], float]) -> float:
        passed = outer(end, float(self))
        return passed if isclose(passed, end, rel_tol=1e-9, abs_tol=1e-12) else end

    @property
    def sharp(self) -> bool:
        """Whether both bounds are proven to be attained, or approached, in tables with the published marginals."""
        return self._certain.sharp

    @property
    def open_labels(self) -> tuple[str, ...]:
        """Published values whose numbers have no end, because of which a bound is infinite or wide."""
        return self._certain.open_labels

    @property
    def exact(self) -> bool:
        """Whether the published marginals leave one number only."""
        return self._certain.bounds.is_known

    def __repr__(self) -> str:
        if self._source is _UNBOUNDED:
            return repr(float(self))
        return f"{float(self):.4g} ({self.lower:.4g} to {self.upper:.4g}; {self.kind.value})"


def distinctions(
    model: MarginalModel, levels: Mapping[str, int], meant: Mapping[str, BoolArray] | None = None
) -> dict[str, Distinction]:
    """What an answer tells apart: the values of some levels, among the rows whose base values are meant; nothing of none.

    An attribute that is asked for and that no table shows is told apart by none, at whatever level.
    """
    meant = meant or {}
    if not all(inside.any() for inside in meant.values()):
        return {}
    asked: dict[str, Distinction | None] = {}
    for attribute in {**levels, **meant}:
        hierarchy, finest = model.domain.hierarchy(attribute), model.finest_levels[attribute]
        if attribute in levels and finest == hierarchy.height:
            asked[attribute] = Distinction(NO_LEVEL, NO_LEVEL)
        elif attribute in meant:
            values = hierarchy.lift(0, levels.get(attribute, hierarchy.height)).astype(np.intp)
            asked[attribute] = Distinction.of_groups(hierarchy, finest, np.where(meant[attribute], values, NOT_ASKED))
        else:
            asked[attribute] = Distinction.of_level(hierarchy, levels[attribute])
    return {attribute: distinction for attribute, distinction in asked.items() if distinction}


def basis_in(model: MarginalModel, asked: Mapping[str, Distinction]) -> Basis:
    """What an answer rests on among the published margins of a model."""
    return basis_of(model.collection.margins, {a: asked[a] for a in model.domain.attributes if a in asked})


def pairs_in(model: MarginalModel, levels: Mapping[str, int]) -> Iterator[tuple[tuple[str, str], Basis]]:
    """For each two attributes that levels are given of what a cross table of them rests on."""
    return bases_of_pairs(model.collection.margins, distinctions(model, levels))


def weakest(bases: Sequence[Basis]) -> Basis:
    """What an answer rests on that is made of several: on all that one of them takes for granted, else on the weakest."""
    if assumed := tuple(dict.fromkeys(group for basis in bases for group in basis.assumed)):
        return Basis(Kind.ASSUMED, (), assumed)
    return next((basis for basis in bases if basis.kind is Kind.SUPPORTED), bases[0])


def marked(frame: Frame, basis: Basis) -> Frame:
    """The frame or series, which now says in `attrs` which kind of answer it is."""
    frame.attrs.update(basis.as_json())
    return frame


def assumption(assumed: tuple[tuple[str, ...], ...]) -> str:
    """What an answer takes for granted, as a sentence without its full stop.

    >>> assumption((("age", "sex"),))
    'no published table shows what is asked of age and sex together, so the model takes them to be independent, given what \
its tables share'
    """
    model, independent = "so the model takes", "to be independent, given what its tables share"
    alone = [group[0] for group in assumed if len(group) == 1]
    pairs = [" and ".join(group) for group in assumed if len(group) == 2]
    parts = []
    if alone:
        parts.append(f"tells the values of {listed(alone)} apart as asked, {model} them to be equally likely")
    if len(pairs) == 1:
        parts.append(f"shows what is asked of {pairs[0]} together, {model} them {independent}")
    elif pairs:
        several = listed(pairs, "; ")
        parts.append(f"shows together what is asked of each of these: {several}; {model} each {independent}")
    parts += [
        f"shows what is asked of {', '.join(group[:-1])} and {group[-1]} together, {model} them to have no more in common "
        "than tables of fewer of them tell"
        for group in assumed
        if len(group) > 2
    ]
    return "; and ".join(f"no published table {part}" for part in parts)


def listed(names: Sequence[str], between: str = ", ") -> str:
    """The first names, and how many more there are."""
    rest = len(names) - _NAMED
    return between.join(names[:_NAMED]) + (f"{between}{rest} more" if rest > 0 else "")


def told(answer: Answer) -> Answer:
    """The same answer; of one that rests on an assumption, the line is warned that asked the method which calls this."""
    import pandas as pd

    if isinstance(answer, Quantity) and not answer._estimated.assumed:
        return answer
    assumed = answer.attrs["assumed"] if isinstance(answer, pd.DataFrame | pd.Series) else answer.basis.assumed
    if assumed:
        warn(f"{assumption(assumed)}: that is no finding about the data", AssumptionWarning, stacklevel=3)
    return answer


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

    expected: None if the time was over, or if rows may have a value of `unjudged`, of which the condition cannot be judged.
    sharp: whether tables with the published marginals are proven to attain both bounds. cut: published values that a range
    cuts through, such as `age 30-39`. basis: what the expectation rests on.
    """

    expected: float | None
    lower: int
    upper: int
    sharp: bool
    basis: Basis
    unjudged: tuple[Unjudged, ...] = field(default=(), repr=False)
    cut: tuple[str, ...] = field(default=(), repr=False)

    @property
    def kind(self) -> Kind:
        """How far published tables back the expectation; the bounds hold whatever it is."""
        return self.basis.kind

    @property
    def exact(self) -> bool:
        """Whether the published marginals leave one number only."""
        return self.lower == self.upper


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
        for a, level in attributes.items():
            most = model.domain.hierarchy(known_attribute(model.domain, a)).height
            require_whole_number(level, f"the level of {a!r}", 0, most)
        return {a: int(level) for a, level in attributes.items()}
    instead = 'names, such as "age" or ["age", "sex"], or a level for each, such as {"age": 1}'
    named = [attributes] if isinstance(attributes, str) else elements_of(attributes, "attributes", instead)
    margin = {known_attribute(model.domain, a): model.finest_levels[a] for a in named}
    if len(margin) != len(named):
        raise InputError("an attribute is named twice")
    return margin


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that a condition means: surely, and possibly, where it cannot be judged of some published values.

    meanings: by attribute. A range that cuts through a published value means some of that value's rows.
    """

    model: MarginalModel
    meanings: Mapping[str, Meaning]

    @classmethod
    def of(cls, model: MarginalModel, where: Where) -> "Rows":
        """Of a condition on some attributes. Raises InputError for what is none."""
        return cls(model, meanings(model.domain, model.finest_levels, where))

    def and_of(self, others: Mapping[str, Meaning]) -> "Rows":
        """Those of these rows that more is meant of."""
        both = {a: self.meanings[a] & meaning if a in self.meanings else meaning for a, meaning in others.items()}
        return Rows(self.model, {**self.meanings, **both})

    @cached_property
    def surely(self) -> Box:
        """Those that the condition holds for, whatever the data."""
        return self.model.box({attribute: meaning.surely for attribute, meaning in self.meanings.items()})

    @cached_property
    def possibly(self) -> Box:
        """Those that it may hold for."""
        return self.model.box({attribute: meaning.possibly for attribute, meaning in self.meanings.items()})

    @cached_property
    def estimated(self) -> Box:
        """As many of each value as it is estimated to hold for. Raises UnjudgedError if rows may have unjudged values."""
        for attribute, values, _ in self.unjudged:
            raise unjudged_error(attribute, values)
        return self.model.weighted({attribute: meaning.shares for attribute, meaning in self.meanings.items()})

    def bounds(self, seconds: float = 0.0) -> CountBounds:
        """How many there are for certain. seconds: budget of programs where the bounds are not proven to be sharp."""
        least = most = self.surely.bounds(seconds)
        if self.is_in_doubt:
            most = self.possibly.bounds(seconds)
        return CountBounds(least.lower, most.upper, least.sharp and most.sharp)

    @property
    def is_in_doubt(self) -> bool:
        """Whether the condition cannot be judged of some published value."""
        return any(np.any(meaning.possibly & ~meaning.surely) for meaning in self.meanings.values())

    def by(self, margin: Mapping[str, int]) -> MarginBounds:
        """How many there are of each value of a margin, for certain: axes in its order."""
        least = most = self.surely.by(margin)
        if self.is_in_doubt:
            most = self.possibly.by(margin)
        return MarginBounds(least.lower, most.upper, least.sharp and most.sharp)

    @property
    def meant(self) -> dict[str, BoolArray]:
        """For each attribute which base values are meant, those that are cut through among them."""
        return {attribute: meaning.surely | meaning.cut for attribute, meaning in self.meanings.items()}

    @cached_property
    def unjudged(self) -> "tuple[Unjudged, ...]":
        """The values that the condition cannot be judged of and that rows may have which meet all other conditions."""
        found = []
        for attribute, meaning in self.meanings.items():
            rows = Rows(self.model, {**self.meanings, attribute: Meaning.certain(meaning.unjudged)}).possibly
            if meaning.unjudged.any() and (most := rows.bounds().upper):
                labels = self.model.domain.hierarchy(attribute).labels[0]
                values = tuple(labels[code] for code in np.flatnonzero(meaning.unjudged))
                found.append(Unjudged(attribute, values, most))
        return tuple(found)

    @property
    def cut(self) -> tuple[str, ...]:
        """The labels that a range cuts through, each with its attribute: `age 30-39`."""
        return tuple(
            f"{attribute} {self.model.domain.hierarchy(attribute).labels[0][code]}"
            for attribute, meaning in self.meanings.items()
            for code in np.flatnonzero(meaning.cut).tolist()
        )

    def distinctions(self, levels: Mapping[str, int]) -> dict[str, Distinction]:
        """What an answer about these rows tells apart: the values of some levels, and who is meant."""
        asked = distinctions(self.model, levels, self.meant)
        for attribute, meaning in self.meanings.items():
            if meaning.cut.any():
                known = asked.get(attribute, Distinction(NO_LEVEL, self.model.finest_levels[attribute]))
                asked[attribute] = replace(known, constant_level=NO_LEVEL)
        return asked

    def basis(self, levels: Mapping[str, int]) -> Basis:
        """What an answer about these rows by the values of some levels rests on."""
        return basis_in(self.model, self.distinctions(levels))


def cells_of(model: MarginalModel, margin: Mapping[str, int]) -> Cells:
    """The cells that can be occupied, counted where the margin is published and expected where not."""
    domain, cube = model.domain, model.collection.cube
    published = domain.margin(mask := domain.mask(margin))
    if cube.holds(mask):
        table = cube.table(mask)
        return Cells(published, dict(zip(table.attributes, table.codes)), table.counts)
    if domain.size(published) > CELL_LIMIT and model.collection.is_decomposable:
        sparse = model.expected_cells(published, CELL_LIMIT)
        return Cells(published, dict(zip(sparse.attributes, sparse.codes)), sparse.counts)
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
    index = pd.MultiIndex.from_arrays(columns, names=named)
    ordered = {name: np.asarray(value)[ranks] for name, value in values.items()}
    return pd.DataFrame(ordered, index=index if len(named) > 1 else pd.Index(columns[0], name=named[0]))


def free_name(name: str, taken: Collection[str]) -> str:
    """A name of a column of ours beside those that attributes have: with a _ for each time that one is taken."""
    while name in taken:
        name += "_"
    return name


def marginal(model: MarginalModel, margin: Mapping[str, int]) -> "pd.Series[Any]":
    """Counts of the cells of a margin, or expected counts."""
    cells = cells_of(model, margin)
    name = free_name("count" if cells.are_counted else "expected_count", margin)
    basis = CERTAIN if cells.are_counted else basis_by(model, margin)
    return marked(labelled(model, cells, margin, {name: cells.counts})[name], basis)


def weighted_cells(model: MarginalModel, attributes: Attributes | None) -> "pd.DataFrame":
    """Cells as columns of labels, with their counts as `weight`; of all published attributes where none are named."""
    if attributes is None:
        attributes = [a for a, level in model.finest_levels.items() if level < model.domain.hierarchy(a).height]
    margin = as_margin(model, attributes)
    cells = cells_of(model, margin)
    name = free_name("weight", margin)
    frame = labelled(model, cells, margin, {name: cells.counts}).reset_index(drop=not cells.codes)
    return marked(frame, CERTAIN if cells.are_counted else basis_by(model, margin))


def counts(model: MarginalModel, attributes: Attributes) -> "pd.DataFrame":
    """The cells of a margin with the columns expected, lower, upper, exact; `attrs["sharp"]` as in Estimate.

    Where all are exact, their kind is published, whatever table they follow from.
    """
    cells = cells_of(model, margin := as_margin(model, attributes))
    expected = lower = upper = cells.counts
    sharp = True
    if not cells.are_counted:
        bounds = model.frechet_bounds.of_margin({a: cells.margin[a] for a in cells.codes})
        places = tuple(cells.codes.values())
        lower, upper, sharp = bounds.lower[places], bounds.upper[places], bounds.sharp
        expected = (
            lower if np.array_equal(lower, upper) else np.where(lower == upper, lower, expected).astype(np.float64)
        )
    exact = np.asarray(lower == upper)
    frame = labelled(model, cells, margin, {"expected": expected, "lower": lower, "upper": upper, "exact": exact})
    frame.attrs["sharp"] = sharp
    return marked(frame, CERTAIN if exact.all() else basis_by(model, margin))


def count(model: MarginalModel, where: Where, seconds: float) -> Estimate:
    """The number of rows that a condition means. seconds: budget of programs where bounds are not proven to be sharp."""
    rows = Rows.of(model, where)
    bounds = rows.bounds(seconds)
    is_known = bounds.lower == bounds.upper
    expected = float(bounds.lower) if is_known else None
    if not is_known and not rows.unjudged:
        with suppress(TimeOverError):
            expected = model.expected_in(rows.estimated)
    basis = CERTAIN if is_known else rows.basis({})
    return Estimate(expected, bounds.lower, bounds.upper, bounds.sharp, basis, rows.unjudged, rows.cut)


def expected_count(model: MarginalModel, where: Where) -> Quantity:
    """The expected number of rows that a condition means."""
    box = model.box(values_meant(model.domain, model.finest_levels, where))
    return Quantity(model.expected_in(box), basis_by(model, {}, where))


def basis_by(model: MarginalModel, margin: Mapping[str, int], where: Where = ()) -> Basis:
    """What an answer by the values of a margin rests on, among the rows that a condition means."""
    return basis_in(model, distinctions(model, margin, values_meant(model.domain, model.finest_levels, where)))


def crosstab(
    model: MarginalModel,
    rows: Attributes,
    columns: Attributes,
    where: Where,
    normalize: str | None = None,
    *,
    margins: bool = False,
) -> "pd.DataFrame":
    """Expected counts of all combinations, empty ones included, of the rows that a condition means; or shares of them.

    margins: with their sums as a last row and column, called `All`.
    """
    import pandas as pd

    down, across = two_margins(model, rows, columns)
    levels = {**down, **across}
    dense = model.expected_within(levels, model.box(values_meant(model.domain, model.finest_levels, where)))
    axes = [axis(model, margin) for margin in (down, across)]
    counts = dense.reshape([len(labels) for labels in axes])
    counts = np.vstack([np.hstack([counts, counts.sum(axis=1)[:, None]]), [*counts.sum(axis=0), counts.sum()]])
    if normalize is not None:
        whole = {0: counts[-1:], 1: counts[:, -1:], None: counts[-1:, -1:]}[summed_over(normalize)]
        shares: FloatArray = np.full(counts.shape, np.nan)
        counts = np.divide(counts, whole, out=shares, where=np.broadcast_to(whole > 0, counts.shape))
    if margins:
        axes = [labels.append(_all_of(labels)).set_names(labels.names) for labels in axes]
    else:
        counts = counts[:-1, :-1]
    frame = pd.DataFrame(counts, index=axes[0], columns=axes[1])
    basis = basis_by(model, levels, where)
    if covered := covered_by(model, levels, basis):
        frame.attrs["covered_by"] = covered
    return marked(frame, basis)


def covered_by(model: MarginalModel, levels: Mapping[str, int], basis: Basis) -> dict[str, dict[str, str]]:
    """By attribute the values of a level that one published group covers with others, each with that group.

    The group is that of the finest table of all attributes together: the model says the same of all values in it.

    >>> from marginals.example import release
    >>> levels = {"age": 0, "diagnosis": 0}
    >>> covered_by(release.model, levels, release.supports(levels))["age"]["22"]
    '20-29'
    """
    covered = {}
    for attribute, level in levels.items():
        level_shown = min((margin[attribute] for margin in basis.margins if attribute in margin), default=level)
        if basis.kind is Kind.SUPPORTED and level_shown > level:
            hierarchy = model.domain.hierarchy(attribute)
            parents = hierarchy.lift(level, level_shown)
            several = np.bincount(parents, minlength=hierarchy.size(level_shown)) > 1
            covered[attribute] = {
                label: hierarchy.labels[level_shown][parent]
                for label, parent in zip(hierarchy.labels[level], parents.tolist())
                if several[parent]
            }
    return covered


def _all_of(labels: "pd.Index[Any]") -> "pd.Index[Any]":
    import pandas as pd

    if labels.nlevels == 1:
        return pd.Index(["All"], name=labels.name)
    return pd.MultiIndex.from_tuples([("All", *[""] * (labels.nlevels - 1))], names=labels.names)


NORMALIZED = {"rows": 1, "index": 1, "columns": 0, "all": None}
"""Of what the cells of a cross table are shares, with the axis that is summed over."""


def summed_over(normalize: object) -> int | None:
    """The axis that shares sum to 1 along; None for both. Raises InputError for what is none of `NORMALIZED`."""
    if not isinstance(normalize, str) or normalize not in NORMALIZED:
        raise InputError(f'normalize is "rows", "columns" or "all", not {kind_of(normalize)}')
    return NORMALIZED[normalize]


def two_margins(model: MarginalModel, rows: Attributes, columns: Attributes) -> tuple[dict[str, int], dict[str, int]]:
    """The attributes of the rows and of the columns of a cross table. Raises InputError where it has none."""
    down, across = as_margin(model, rows), as_margin(model, columns)
    if not down or not across:
        instead = 'name them: crosstab("age", "sex")'
        raise InputError(f"a cross table has attributes in its rows and in its columns; {instead}")
    if shared := [a for a in down if a in across]:
        raise InputError(f"{shared[0]!r} cannot stand in the rows and in the columns")
    return down, across


def axis(model: MarginalModel, margin: Mapping[str, int]) -> "pd.Index[Any]":
    """The labels of all cells of a margin, an index level for each attribute."""
    import pandas as pd

    labels = [model.domain.hierarchy(a).labels[level] for a, level in margin.items()]
    if len(labels) == 1:
        return pd.Index(labels[0], name=next(iter(margin)))
    return pd.MultiIndex.from_product(labels, names=list(margin))


def association(model: MarginalModel, first: Attributes, second: Attributes, given: Attributes) -> Quantity:
    """Mutual information in nats of two groups of attributes, given a third."""
    groups = [as_margin(model, group) for group in (first, second, given)]
    margin = {a: level for group in groups for a, level in group.items()}
    if len(margin) < sum(map(len, groups)):
        raise InputError("an attribute is named twice")
    shared = mutual_information(model.expected(margin).reshape([model.domain.size(group) for group in groups]))
    return Quantity(shared, basis_by(model, margin))


def rows_frame(model: MarginalModel, levels: Mapping[str, int], codes: Mapping[str, CodeArray]) -> "pd.DataFrame":
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


def drawn(model: MarginalModel, rows: int, rng: "np.random.Generator", *, base_values: bool = False) -> "pd.DataFrame":
    """Independent synthetic rows of the published attributes at their finest levels.

    base_values: of all attributes, at base values, drawn evenly among those under the published value.
    """
    if rows < 0:
        raise InputError(f"a sample has 0 rows or more, not {rows}")
    return _rows(model, model.draw(rows, rng), rows, rng, base_values)


def exact_rows(
    model: MarginalModel,
    published: junction_tree.Collection,
    seed: int,
    deadline: Deadline,
    *,
    base_values: bool = False,
) -> "pd.DataFrame":
    """Synthetic rows, as many as were counted, in which every published count is exact; made from these counts alone.

    Raises TimeOverError if none was found in time, TooManyCellsError if the margins are too large.
    """
    codes = possible_table(published, seed, deadline)
    if codes is None:
        raise TimeOverError(
            "no table of rows with every published count was found in time; give it more seconds, another seed, or take "
            "independent rows, whose counts are near the published ones"
        )
    return _rows(model, codes, published.cube.total, np.random.default_rng(seed), base_values)


def _rows(
    model: MarginalModel, codes: Mapping[str, CodeArray], rows: int, rng: np.random.Generator, base_values: bool
) -> "pd.DataFrame":
    levels = {a: model.finest_levels[a] for a in model.domain.attributes if a in codes}
    if base_values:
        levels = dict.fromkeys(model.domain.attributes, 0)
        codes = drawn_leaves(model.domain, model.finest_levels, codes, rows, rng)
    return marked(rows_frame(model, levels, codes), basis_by(model, levels))
