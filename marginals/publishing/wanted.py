"""What a release is for: analyses that its search weighs beside the whole, and further tables that are wanted."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from checks.claims import is_number_of_rows, quoted_value
from marginals.errors import InputError
from marginals.keys import Settings, check_keys, is_number, is_text
from marginals.names import margin_in_words
from marginals.publishing.obstacles import as_written
from marginals.steward import WantedTable
from models.graphs.junction_tree import Collection, maximal_masks
from models.search.problem import Constraint, Refusal, RefusalScope
from models.search.wanted import WantedAnalyses, WantedMargin
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Mask

WEIGHT = 100.0
"""Of an analysis whose weight is not given: what a reader was promised comes first, and costs the whole next to nothing."""

PAIRS = "pairs"
"""Further tables of all pairs of nonsensitive attributes that tell something more."""

_KEYS = ("attributes", "weight")


@dataclass(frozen=True)
class Wanted(Settings):
    """Attributes that are wanted in one table, and how much that counts besides all else.

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
        """From one section of a config: `attributes` and maybe `weight`. Raises InputError for anything else."""
        if isinstance(entry, Wanted):
            return entry
        named = entry.get("attributes") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(named, Sequence) or isinstance(named, str):
            raise InputError('wanted is a list of analyses such as { attributes = ["dead", "age"], weight = 100.0 }')
        check_keys(entry, _KEYS, "search.wanted.")
        return cls(tuple(named), entry.get("weight", WEIGHT))


NO_FURTHER = "none"
"""No tables beside those that have a junction tree."""


@dataclass(frozen=True)
class FurtherWish:
    """Further tables that are wanted: at most so many pairs (None: no limit), or those of the attributes of each."""

    tables: int | None = None
    wanted: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, stated: object) -> "FurtherWish | None":
        """From "pairs", a number of tables, or a list of lists of attributes; None for "none". Raises InputError."""
        if isinstance(stated, str) and stated == NO_FURTHER:
            return None
        if isinstance(stated, str) and stated == PAIRS:
            return cls()
        if isinstance(stated, int) and is_number_of_rows(stated):
            return cls(tables=stated)
        if isinstance(stated, Sequence) and not isinstance(stated, str) and stated and all(map(_names_several, stated)):
            return cls(wanted=tuple(map(tuple, stated)))
        raise InputError(
            f'further_tables is "{NO_FURTHER}", "{PAIRS}", a number of tables of at least 1, or a list of the attributes of '
            f'each, such as [["age", "sex"], ["age", "town"]], not {quoted_value(stated)}'
        )


def _names_several(attributes: object) -> bool:
    is_list = isinstance(attributes, Sequence) and not isinstance(attributes, str) and all(map(is_text, attributes))
    return is_list and len({*attributes}) == len(attributes) > 1  # type: ignore[misc, arg-type]


def weighed(cube: DataCube, wanted: Sequence[Wanted]) -> WantedAnalyses | None:
    """The analyses as a search weighs them; None without any. Raises InputError for an attribute that there is not."""
    margins = [WantedMargin(_mask(cube.domain, each), each.weight) for each in wanted]
    return WantedAnalyses(cube, margins) if margins else None


def _mask(domain: Domain, analysis: Wanted) -> Mask:
    for name in analysis.attributes:
        if name not in domain.attributes:
            known = ", ".join(domain.attributes)
            raise InputError(f"wanted names {name!r}, which is no attribute that can be published; these are {known}")
    mask = domain.mask(dict.fromkeys(analysis.attributes, 0))
    if not mask:
        raise InputError(f"wanted names {' and '.join(analysis.attributes)}, whose hierarchy has no level below *")
    return mask


def finest_together(
    domain: Domain, attributes: Sequence[str], margins: Iterable[Mapping[str, int]]
) -> Mapping[str, int] | None:
    """Of some margins that which shows all attributes together in most cells, the first of equals; None where none does."""
    names = set(attributes)
    together = [margin for margin in margins if names <= set(margin)]
    return max(together, key=lambda margin: domain.size({name: margin[name] for name in attributes}), default=None)


def finest_passing(cube: DataCube, attributes: Sequence[str], allows: Constraint) -> Mask | None:
    """A margin of some attributes that passes by itself, and nothing finer does; None if none passes.

    From a coarsest one that passes it is refined step by step, each time by what tells most.
    """
    margin = _coarsest_passing(cube.domain, attributes, allows)
    while margin is not None:
        finer = (finer for finer in _refined(cube, attributes, margin) if allows([finer], 0) is None)
        if (chosen := next(finer, None)) is None:
            break
        margin = chosen
    return margin


def _coarsest_passing(domain: Domain, attributes: Sequence[str], allows: Constraint) -> Mask | None:
    """A margin that passes by itself, of as few steps as any; coarser ones can be refused where it is not."""
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
    cube: DataCube, wanted: Sequence[Wanted], cliques: Sequence[Mask], released: Collection, allows: Constraint
) -> tuple[WantedTable, ...]:
    """What became of each analysis. cliques: the published margins as masks.

    released: the same as the release tells them. allows: the constraint of the search.
    """
    domain = cube.domain
    judged = weighed(cube, wanted)
    divergences = judged.distances(cliques) if judged else ()
    tables = []
    for analysis, divergence in zip(wanted, divergences):
        passing = finest_passing(cube, analysis.attributes, allows)
        margin = finest_together(released.domain, analysis.attributes, released.margins)
        levels = words = demand = None
        if passing is None:
            obstacle: str | None = _refused_alone(cube, analysis, allows)
        else:
            is_told = margin is not None and divergence <= _EXACT
            obstacle = None if is_told else _obstacle(cube, cliques, passing, allows)
            levels = domain.margin(passing)
            words, demand = margin_in_words(levels, domain), as_written(levels)
        tables.append(
            WantedTable(analysis.attributes, analysis.weight, margin, divergence, levels, words, demand, obstacle)
        )
    return tuple(tables)


_EXACT = 1e-12
"""Nats by which a table may differ from the data and is told as it is."""


def _refused_alone(cube: DataCube, analysis: Wanted, allows: Constraint) -> str:
    masks = [cube.domain.attribute_masks[cube.domain.index(name)] for name in analysis.attributes]
    refusal = allows([sum(mask & -mask for mask in masks)], 0)
    return f"it passes at no level by itself{f': as coarse as can be, {refusal.reason}' if refusal else ''}"


def _obstacle(cube: DataCube, published: Sequence[Mask], passing: Mask, allows: Constraint) -> str | None:
    """What keeps a margin that passes by itself out, with the tables that do so only together; None where it is in."""
    if any(not passing & ~mask for mask in published):
        return None

    def closes_a_circle(masks: Sequence[Mask]) -> bool:
        return not Collection.of(cube, maximal_masks([*masks, passing])).is_decomposable

    def refusal(masks: Sequence[Mask]) -> Refusal | None:
        return None if closes_a_circle(masks) else allows(maximal_masks([*masks, passing]), 0)

    if closes_a_circle(published):
        beside = _needed(published, closes_a_circle)
        return f"beside {_in_words(cube, beside)} it would close a circle, so that they have no junction tree"
    beside = _needed(published, lambda masks: refusal(masks) is not None)
    if refused := refusal(beside):
        return f"beside {_in_words(cube, beside)} it is refused: {refused.reason}"
    return "the search did not get there, though nothing refuses it, or its weight is too small"


def _needed(published: Sequence[Mask], holds: Callable[[Sequence[Mask]], bool]) -> list[Mask]:
    needed = list(published)
    for mask in published:
        if holds(fewer := [other for other in needed if other != mask]):
            needed = fewer
    return needed


def _in_words(cube: DataCube, margins: Sequence[Mask]) -> str:
    names = [f"({margin_in_words(cube.domain.margin(mask), cube.domain)})" for mask in margins[:_NAMED]]
    others = [f"{len(margins) - len(names)} more"] if len(margins) > len(names) else []
    *first, last = [*names, *others]
    return f"{', '.join(first)} and {last}" if first else last


_NAMED = 4
"""Tables that are named as those that keep another out."""
