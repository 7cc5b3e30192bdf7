"""Questions to a model: which rows a condition means, what an answer about them rests on, cells, and synthetic rows."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from marginals.arguments import elements_of
from marginals.conditions import Meaning, Where
from marginals.errors import InputError
from marginals.later import pd
from marginals.messages import first_few
from marginals.published_values import known_place, levels_by_attribute, meanings, unjudged_error
from marginals.tables.intervals import numbers_at
from models.arrays import BoolArray, CodeArray
from models.deadline import Deadline
from models.errors import TimeOverError
from models.frozen import frozen
from models.graphs import junction_tree
from models.graphs.basis import NO_LEVEL, NOT_ASKED, Basis, Distinction, bases_of_pairs, basis_of
from models.inference.calibrated_tree import CELL_LIMIT, drawn_leaves
from models.inference.frechet_bounds import Box, MarginBounds
from models.inference.marginal_model import MarginalModel
from models.inference.possible_tables import possible_table
from models.programs.cell_bounds import CountBounds
from models.tables.contingency_table import Cells
from models.tables.hierarchy import Domain

_NAMED = 5
Frame = TypeVar("Frame", bound="pd.DataFrame | pd.Series[Any]")


def distinctions(
    model: MarginalModel, levels: Mapping[str, int], base_values: Mapping[str, BoolArray] | None = None
) -> dict[str, Distinction]:
    """Return the values of some levels that an answer about rows with some base values distinguishes, by attribute."""
    base_values = base_values or {}
    if not all(inside.any() for inside in base_values.values()):
        return {}
    by_attribute: dict[str, Distinction | None] = {}
    for attribute in {**levels, **base_values}:
        hierarchy, finest = model.domain.hierarchy(attribute), model.finest_levels[attribute]
        if attribute in levels and finest == hierarchy.height:  # no table shows it
            by_attribute[attribute] = Distinction(NO_LEVEL, NO_LEVEL)
        elif attribute in base_values:
            values = hierarchy.lift(0, levels.get(attribute, hierarchy.height)).astype(np.intp)
            groups = np.where(base_values[attribute], values, NOT_ASKED)
            by_attribute[attribute] = Distinction.of_groups(hierarchy, finest, groups)
        else:
            by_attribute[attribute] = Distinction.of_level(hierarchy, levels[attribute])
    return {attribute: distinction for attribute, distinction in by_attribute.items() if distinction}


def basis_in(model: MarginalModel, wanted: Mapping[str, Distinction]) -> Basis:
    """Basis of an answer among the published margins of a model."""
    return basis_of(model.collection.margins, {a: wanted[a] for a in model.domain.attributes if a in wanted})


def basis_by(model: MarginalModel, margin: Mapping[str, int]) -> Basis:
    """Basis of an answer by the values of a margin."""
    return basis_in(model, distinctions(model, margin))


def pairs_in(model: MarginalModel, levels: Mapping[str, int]) -> Iterator[tuple[tuple[str, str], Basis]]:
    """Bases of the cross tables of all pairs of attributes, at these levels."""
    return bases_of_pairs(model.collection.margins, distinctions(model, levels))


def marked(frame: Frame, basis: Basis) -> Frame:
    """Add the basis to the `attrs` of a frame or series."""
    frame.attrs.update(basis.as_json())
    return frame


def assumption(assumed: tuple[tuple[str, ...], ...]) -> str:
    """Sentence, without its full stop, that states the assumptions of an answer."""
    model, independent = "so the model takes", "to be independent, given what its tables share"
    singles = [group[0] for group in assumed if len(group) == 1]
    pairs = [" and ".join(group) for group in assumed if len(group) == 2]
    parts = []
    if singles:
        names = first_few(singles, _NAMED)
        parts.append(f"tells the values of {names} apart as asked, {model} them to be equally likely")
    if len(pairs) == 1:
        parts.append(f"shows what is asked of {pairs[0]} together, {model} them {independent}")
    elif pairs:
        several = first_few(pairs, _NAMED, ";")
        parts.append(f"shows together what is asked of each of these: {several}; {model} each {independent}")
    larger = [f"{', '.join(group[:-1])} and {group[-1]}" for group in assumed if len(group) > 2]
    no_more = "to have no more in common than tables of fewer of them tell"
    parts += [f"shows what is asked of {names} together, {model} them {no_more}" for names in larger]
    return "; and ".join(f"no published table {part}" for part in parts)


Attributes: TypeAlias = str | Sequence[str] | Mapping[str, int]  # the finest published levels, or a level for each


class Unjudged(NamedTuple):
    """Values of an attribute that are no numbers, so that a range is undecided; at most this many rows have them."""

    attribute: str
    values: tuple[str, ...]
    rows: int


def as_margin(model: MarginalModel, attributes: Attributes) -> dict[str, int]:
    """Levels by attribute, in the order given. Raises InputError for an unknown or repeated attribute."""
    if isinstance(attributes, Mapping):
        return levels_by_attribute(model.domain, attributes)
    instead = 'names, such as "age" or ["age", "sex"], or a level for each, such as {"age": 1}'
    named = [attributes] if isinstance(attributes, str) else elements_of(attributes, "attributes", instead)
    margin = {of: max(first, model.finest_levels[of]) for of, first in (known_place(model.domain, a) for a in named)}
    if len(margin) != len(named):
        raise InputError("an attribute is named twice")
    return margin


@frozen(eq=False)
class MeantRows:
    """Rows that a condition means: surely, and possibly if it is not decided for some published values."""

    model: MarginalModel
    meanings: Mapping[str, Meaning]

    @classmethod
    def of(cls, model: MarginalModel, where: Where) -> "MeantRows":
        """Read a condition. Raises InputError for anything else."""
        return cls(model, meanings(model.domain, model.finest_levels, where))

    def and_of(self, others: Mapping[str, Meaning]) -> "MeantRows":
        """Narrow the condition to rows that also satisfy `others`."""
        both = {a: self.meanings[a] & meaning if a in self.meanings else meaning for a, meaning in others.items()}
        return MeantRows(self.model, {**self.meanings, **both})

    @cached_property
    def surely(self) -> Box:
        """Box of cells whose rows satisfy the condition in any data."""
        return self.model.box({attribute: meaning.surely for attribute, meaning in self.meanings.items()})

    @cached_property
    def possibly(self) -> Box:
        """Box of cells whose rows may satisfy the condition."""
        return self.model.box({attribute: meaning.possibly for attribute, meaning in self.meanings.items()})

    @cached_property
    def estimated(self) -> Box:
        """Box weighted by estimated shares of each value. Raises UnjudgedError if rows may have unjudged values."""
        for attribute, values, _ in self.unjudged:
            raise unjudged_error(attribute, values)
        return self.model.weighted({attribute: meaning.shares for attribute, meaning in self.meanings.items()})

    def bounds(self, seconds: float = 0.0) -> CountBounds:
        """Certain bounds of the number of rows. seconds: budget of programs, if the bounds are not proven to be sharp."""
        least = self.surely.bounds(seconds)
        most = self.possibly.bounds(seconds) if self.is_in_doubt else least
        return CountBounds(least.lower, most.upper, least.sharp and most.sharp)

    @cached_property
    def is_in_doubt(self) -> bool:
        """True if the condition is not decided for some published value."""
        return not all(np.array_equal(meaning.possibly, meaning.surely) for meaning in self.meanings.values())

    def by(self, margin: Mapping[str, int]) -> MarginBounds:
        """Certain bounds of the counts of a margin's cells, with axes in its order."""
        least = self.surely.by(margin)
        most = self.possibly.by(margin) if self.is_in_doubt else least
        return MarginBounds(least.lower, most.upper, least.sharp and most.sharp)

    @property
    def base_values(self) -> dict[str, BoolArray]:
        """Base values that are meant, cut ones included, by attribute."""
        return {attribute: meaning.surely | meaning.cut for attribute, meaning in self.meanings.items()}

    @cached_property
    def unjudged(self) -> "tuple[Unjudged, ...]":
        """Values without a decision that rows may have that meet all other conditions."""
        result = []
        for attribute, meaning in self.meanings.items() if self.is_in_doubt else ():
            rows = MeantRows(self.model, {**self.meanings, attribute: Meaning.certain(meaning.unjudged)}).possibly
            if meaning.unjudged.any() and (most := rows.bounds().upper):
                labels = self.model.domain.hierarchy(attribute).labels[0]
                values = tuple(labels[code] for code in np.flatnonzero(meaning.unjudged))
                result.append(Unjudged(attribute, values, most))
        return tuple(result)

    @property
    def cut(self) -> tuple[str, ...]:
        """Labels that a range cuts, after their attributes: `age 30-39`."""
        cuts = ((a, code) for a, meaning in self.meanings.items() for code in np.flatnonzero(meaning.cut).tolist())
        return tuple(f"{a} {self.model.domain.hierarchy(a).labels[0][code]}" for a, code in cuts)

    def distinctions(self, levels: Mapping[str, int]) -> dict[str, Distinction]:
        """Return the values of some levels, and the rows meant, that an answer distinguishes."""
        by_attribute = distinctions(self.model, levels, self.base_values)
        for attribute, meaning in self.meanings.items():
            if meaning.cut.any():
                uncut = by_attribute.get(attribute, Distinction(NO_LEVEL, self.model.finest_levels[attribute]))
                by_attribute[attribute] = replace(uncut, constant_level=NO_LEVEL)
        return by_attribute

    def basis(self, levels: Mapping[str, int]) -> Basis:
        """Basis of an answer about these rows by the values of some levels."""
        return basis_in(self.model, self.distinctions(levels))


def cells_of(model: MarginalModel, margin: Mapping[str, int], rows: "MeantRows") -> Cells:
    """Cells of a margin that some rows can be in: counted if a table shows them, otherwise expected."""
    domain, cube = model.domain, model.collection.cube
    published = domain.margin(mask := domain.mask(margin))
    if not rows.meanings:
        if cube.holds(mask):
            return cube.table(mask)
        if domain.size(published) > CELL_LIMIT and model.collection.is_decomposable:
            return model.expected_cells(published, CELL_LIMIT)
    order = {a: published[a] for a in domain.attributes if a in published}
    dense = model.expected_within(order, rows.estimated) if rows.meanings else model.expected(order)
    places = np.nonzero(dense) if order else ()
    return Cells.of(domain, order, dict(zip(order, places)), np.atleast_1d(dense[places]))


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name of a further column, with a _ for each time that an attribute has it."""
    while name in taken:
        name += "_"
    return name


def categories(domain: Domain, attribute: str, level: int, codes: CodeArray) -> "pd.Categorical[str]":
    """Return labels of a level as categories, which are ordered if they are numbers."""
    hierarchy = domain.hierarchy(attribute)
    labels = pd.Index(hierarchy.labels[level])
    return pd.Categorical.from_codes(codes, labels, ordered=numbers_at(hierarchy, level) is not None)


def rows_frame(domain: Domain, levels: Mapping[str, int], codes: Mapping[str, CodeArray]) -> "pd.DataFrame":
    """Return rows of labels as categories in the order of the hierarchies."""
    columns = {a: categories(domain, a, levels[a], codes[a]) for a in domain.attributes if a in codes}
    return pd.DataFrame(columns, copy=False)


MOST_ROWS = 100_000_000


def drawn(model: MarginalModel, rows: int, rng: "np.random.Generator", *, base_values: bool = False) -> "pd.DataFrame":
    """Independent synthetic rows at the finest published levels, or uniformly among the base values under them."""
    return _rows(model, model.draw(rows, rng), rows, rng, base_values)


def exact_rows(
    model: MarginalModel,
    published: junction_tree.Collection,
    seed: int,
    deadline: Deadline,
    *,
    base_values: bool = False,
) -> "pd.DataFrame":
    """Synthetic rows with every published count, made from these counts only. Raises TimeOverError or TooManyCellsError."""
    codes = possible_table(published, seed, deadline)
    if codes is None:
        raise TimeOverError(
            "no rows with every published count were found in time. Another seed or more seconds may find some; independent "
            "rows have counts near the published ones"
        )
    return _rows(model, codes, published.cube.total, np.random.default_rng(seed), base_values)


def _rows(
    model: MarginalModel, codes: Mapping[str, CodeArray], rows: int, rng: "np.random.Generator", base_values: bool
) -> "pd.DataFrame":
    levels = {a: model.finest_levels[a] for a in model.domain.attributes if a in codes}
    if base_values:
        levels = dict.fromkeys(model.domain.attributes, 0)
        codes = drawn_leaves(model.domain, model.finest_levels, codes, rows, rng)
    return marked(rows_frame(model.domain, levels, codes), basis_by(model, levels))
