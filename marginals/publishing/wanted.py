"""Wanted analyses, which a search weighs in addition to the complete data, and wanted further tables."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from math import inf
from typing import ClassVar

from checks.claims import is_number_of_rows, quoted_value
from marginals.arguments import require_names
from marginals.errors import InputError
from marginals.keys import Settings, check_keys, is_number, is_text
from marginals.names import margin_in_words
from marginals.publishing.obstacles import as_written
from marginals.steward import WantedTable
from models.deadline import NEVER
from models.errors import TimeOverError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, maximal_masks
from models.search.problem import Constraint, Refusal, RefusalScope, Stop
from models.search.wanted import WantedAnalyses, WantedMargin
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Mask

WEIGHT = 100.0
"""Default weight of an analysis, so large that the analysis comes first; the rest of the data loses hardly anything."""

PAIRS = "pairs"
"""Value of `further_tables`: all pairs of nonsensitive attributes that add something."""

_KEYS = ("attributes", "weight")


@frozen
class Wanted(Settings):
    """Attributes that are wanted in one table, and the weight of this wish.

    Raises InputError for no attribute, one that is named twice, or a weight that is not above 0.

    >>> Wanted(("dead", "age")).weight
    100.0
    """

    section: ClassVar = "search.wanted"

    attributes: tuple[str, ...]
    weight: float = WEIGHT

    def __post_init__(self) -> None:
        names = self.attributes
        if not names or not all(map(is_text, names)) or len(set(names)) < len(names):
            raise InputError("the attributes of a wanted analysis are a list of different names")
        if not is_number(self.weight) or not 0 < self.weight < inf:
            raise InputError("the weight of a wanted analysis is a number above 0")

    @classmethod
    def of(cls, entry: object) -> "Wanted":
        """Read one section of a config, `attributes` and maybe `weight`. Raises InputError for anything else."""
        if isinstance(entry, Wanted):
            return entry
        named = entry.get("attributes") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(named, Sequence) or isinstance(named, str):
            raise InputError('wanted is a list of analyses such as { attributes = ["dead", "age"], weight = 100.0 }')
        check_keys(entry, _KEYS, "search.wanted.")
        return cls(tuple(named), entry.get("weight", WEIGHT))


NO_FURTHER = "none"
"""Value of `further_tables`: only tables with a junction tree."""


@frozen
class FurtherWish:
    """Wanted further tables: at most so many pairs (None: no limit), or tables of these attributes."""

    tables: int | None = None
    wanted: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, value: object) -> "FurtherWish | None":
        """Read "pairs", a number of tables, or a list of lists of attributes; None for "none". Raises InputError."""
        if isinstance(value, str) and value in (NO_FURTHER, PAIRS):
            return cls() if value == PAIRS else None
        if isinstance(value, int) and is_number_of_rows(value):
            return cls(tables=value)
        if isinstance(value, Sequence) and not isinstance(value, str) and value and all(map(_names_several, value)):
            return cls(wanted=tuple(map(tuple, value)))
        raise InputError(
            f'further_tables is "{NO_FURTHER}", "{PAIRS}", a number of tables of at least 1, or a list of attributes for '
            f'each, such as [["age", "sex"]], not {quoted_value(value)}'
        )


def _names_several(attributes: object) -> bool:
    is_list = isinstance(attributes, Sequence) and not isinstance(attributes, str) and all(map(is_text, attributes))
    return is_list and len({*attributes}) == len(attributes) > 1  # type: ignore[misc, arg-type]


def weighed(cube: DataCube, wanted: Sequence[Wanted]) -> WantedAnalyses | None:
    """The analyses as a search weighs them; None without any. Raises InputError for an unknown attribute."""
    margins = [WantedMargin(_mask(cube.domain, analysis), analysis.weight) for analysis in wanted]
    return WantedAnalyses(cube, margins) if margins else None


def _mask(domain: Domain, analysis: Wanted) -> Mask:
    require_names(analysis.attributes, "wanted", domain.attributes, "publishable attribute")
    mask = domain.mask(dict.fromkeys(analysis.attributes, 0))
    if not mask:
        raise InputError(f"wanted names {' and '.join(analysis.attributes)}, whose hierarchy has no level below *")
    return mask


def finest_together(
    domain: Domain, attributes: Sequence[str], margins: Iterable[Mapping[str, int]]
) -> Mapping[str, int] | None:
    """The margin that shows all attributes together in most cells, the first of equals; None if no margin does."""
    names = set(attributes)
    together = [margin for margin in margins if names <= set(margin)]
    return max(together, key=lambda margin: domain.size({name: margin[name] for name in attributes}), default=None)


def finest_passing(cube: DataCube, attributes: Sequence[str], allows: Constraint) -> Mask | None:
    """A margin of some attributes that passes by itself while no finer one does; None if none passes.

    The search begins at a coarsest margin that passes, and refines it by the step with the largest gain.
    """
    margin = _coarsest_passing(cube.domain, attributes, allows)
    while margin is not None:
        finer = (finer for finer in _refined(cube, attributes, margin) if allows([finer], 0) is None)
        if (chosen := next(finer, None)) is None:
            break
        margin = chosen
    return margin


def _coarsest_passing(domain: Domain, attributes: Sequence[str], allows: Constraint) -> Mask | None:
    """A margin with the fewest steps that passes by itself; coarser ones may be refused."""
    attribute_masks = [domain.attribute_masks[domain.index(name)] for name in attributes]
    waiting = deque([sum(mask & -mask for mask in attribute_masks)])
    met = set(waiting)
    while waiting:
        margin = waiting.popleft()
        refusal = allows([margin], 0)
        if refusal is None:
            return margin
        if refusal.scope is RefusalScope.FINER:
            continue
        finer = [margin | _next_step(mask, margin) for mask in attribute_masks if mask & ~margin]
        waiting.extend(other for other in finer if other not in met)
        met.update(finer)
    return None


def _next_step(attribute_mask: Mask, margin: Mask) -> Mask:
    hidden = attribute_mask & ~margin
    return hidden & -hidden


def _refined(cube: DataCube, attributes: Sequence[str], margin: Mask) -> list[Mask]:
    domain = cube.domain
    gains: list[tuple[float, int, Mask]] = []
    for place, name in enumerate(attributes):
        if step := _next_step(domain.attribute_masks[domain.index(name)], margin):
            level = domain.levels(margin)[name]
            leaves = cube.log_leaves(name, level) - cube.log_leaves(name, level - 1)
            gains.append((cube.entropy(margin | step) - cube.entropy(margin) - leaves, place, margin | step))
    return [finer for _, _, finer in sorted(gains)]


def wanted_tables(
    cube: DataCube,
    wanted: Sequence[Wanted],
    cliques: Sequence[Mask],
    released: Collection,
    allows: Constraint,
    stop: Stop = NEVER,
) -> tuple[WantedTable, ...]:
    """The result for each analysis. cliques: masks of the published margins; released: the published tables.

    allows: the constraint of the search. stop: leaves open the obstacles that were not found before it.
    """
    domain = cube.domain

    def in_time(masks: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        if stop():
            raise TimeOverError("the time was over before all obstacles were found")
        return allows(masks, new)

    analyses = weighed(cube, wanted)
    divergences = analyses.distances(cliques) if analyses else ()
    tables = []
    for analysis, divergence in zip(wanted, divergences):
        margin = finest_together(released.domain, analysis.attributes, released.margins)
        passing = obstacle = levels = words = demand = None
        try:
            passing = finest_passing(cube, analysis.attributes, in_time)
            if passing is None:
                obstacle = _refused_by_itself(cube, analysis, in_time)
            elif margin is None or divergence > _EXACT:
                obstacle = _obstacle(cube, cliques, passing, in_time)
        except TimeOverError:
            obstacle = None if margin is not None and divergence <= _EXACT else _NOT_LOOKED_FOR
        if passing is not None:
            levels = domain.margin(passing)
            words, demand = margin_in_words(levels, domain), as_written(levels, domain)
        tables.append(
            WantedTable(analysis.attributes, analysis.weight, margin, divergence, levels, words, demand, obstacle)
        )
    return tuple(tables)


_EXACT = 1e-12
"""Nats by which an exact table may differ from the data, because of rounding."""

_NOT_LOOKED_FOR = "why it is not published was not looked for: the time limit was reached"


def _refused_by_itself(cube: DataCube, analysis: Wanted, allows: Constraint) -> str:
    masks = [cube.domain.attribute_masks[cube.domain.index(name)] for name in analysis.attributes]
    refusal = allows([sum(mask & -mask for mask in masks)], 0)
    return f"it passes at no level by itself{f': as coarse as can be, {refusal.reason}' if refusal else ''}"


def _obstacle(cube: DataCube, published: Sequence[Mask], passing: Mask, allows: Constraint) -> str | None:
    """The reason why a margin that passes by itself is not published, with the tables that exclude it; None if it is."""
    if any(not passing & ~mask for mask in published):
        return None

    def closes_a_circle(masks: Sequence[Mask]) -> bool:
        return not Collection.of(cube, [*masks, passing]).is_decomposable

    def refusal(masks: Sequence[Mask]) -> Refusal | None:
        return allows(maximal_masks([*masks, passing]), 0)

    if closes_a_circle(published):
        excluding = needed(published, closes_a_circle)
        return f"beside {_in_words(cube, excluding)} it would close a circle, so that they have no junction tree"
    if refusal(published) is None:
        return "the search did not get there, though nothing refuses it, or its weight is too small"
    excluding = needed(published, lambda masks: not closes_a_circle(masks) and refusal(masks) is not None)
    refused = refusal(excluding)
    return f"beside {_in_words(cube, excluding)} it is refused: {refused and refused.reason}"


def needed(masks: Sequence[Mask], holds: Callable[[Sequence[Mask]], bool]) -> list[Mask]:
    """Masks of which a condition holds, as of all, and of which none can be left out alone; large parts are tried first."""
    subset, size = list(masks), len(masks)
    while size:
        start, before = 0, len(subset)
        while start < len(subset):
            fewer = subset[:start] + subset[start + size :]
            if holds(fewer):
                subset = fewer
            else:
                start += size
        size = size // 2 or int(len(subset) < before)  # once more, as a condition can hold of fewer and not of more
    return subset


def _in_words(cube: DataCube, margins: Sequence[Mask]) -> str:
    names = [f"({margin_in_words(cube.domain.margin(mask), cube.domain)})" for mask in margins[:_NAMED]]
    others = [f"{len(margins) - len(names)} more"] if len(margins) > len(names) else []
    *first, last = [*names, *others]
    return f"{', '.join(first)} and {last}" if first else last


_NAMED = 4
"""Tables that are named as obstacles."""
