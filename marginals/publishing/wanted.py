"""Analyses that a release is wanted for: attributes that readers look at together, and what becomes of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from marginals.errors import InputError
from marginals.names.level_names import margin_in_words
from marginals.publishing.obstacles import as_written
from marginals.release.wanted_table import WantedTable
from models.graphs.collection import Collection
from models.graphs.junction_tree import maximal_masks
from models.search import Constraint, Measure, WantedAnalyses, WantedMargin
from models.tables.data_cube import DataCube
from models.tables.domain import Domain, Mask

WEIGHT = 100.0
"""Of an analysis whose weight is not given: what a reader was promised comes first, and costs the whole next to nothing."""

MEASURES = tuple(measure.value for measure in Measure)
"""By which an analysis can be judged."""

_KEYS = ("attributes", "weight", "measure")


@dataclass(frozen=True)
class Wanted:
    """Attributes that are wanted in one table, how much that counts besides all else, and how their table is judged.

    Raises InputError for no attribute, one that is named twice, a weight that is not above 0, or an unknown measure.

    >>> Wanted(("dead", "age")).weight
    100.0
    """

    attributes: tuple[str, ...]
    weight: float = WEIGHT
    measure: str = Measure.DIVERGENCE.value

    def __post_init__(self) -> None:
        names = self.attributes
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise InputError("the attributes of a wanted analysis are a list of different names")
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float) or not 0 < self.weight < inf:
            raise InputError("the weight of a wanted analysis is a number above 0")
        if self.measure not in MEASURES:
            raise InputError(f"the measure of a wanted analysis is {' or '.join(map(repr, MEASURES))}")

    @classmethod
    def of(cls, entry: object) -> "Wanted":
        """From one section of a config: `attributes`, maybe `weight` and `measure`. Raises InputError for anything else."""
        if isinstance(entry, Wanted):
            return entry
        named = entry.get("attributes") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(named, Sequence) or isinstance(named, str):
            raise InputError('wanted is a list of analyses such as { attributes = ["dead", "age"], weight = 100.0 }')
        if others := [key for key in entry if key not in _KEYS]:
            known = ", ".join(f"search.wanted.{key}" for key in _KEYS)
            raise InputError(f"unknown key search.wanted.{others[0]}; known are {known}")
        return cls(tuple(named), *(entry.get(key, getattr(cls, key)) for key in _KEYS[1:]))


def weighed(cube: DataCube, wanted: Sequence[Wanted]) -> WantedAnalyses | None:
    """The analyses as a search weighs them; None without any. Raises InputError for an attribute that there is not."""
    if not wanted:
        return None
    margins = [WantedMargin(_mask(cube.domain, own), own.weight, Measure(own.measure)) for own in wanted]
    return WantedAnalyses(cube, margins)


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
    """The margin of some attributes, each shown, to which nothing can be added that passes by itself; None if none passes.

    It is refined step by step, each time by the one that tells most of these attributes.
    """
    domain = cube.domain
    own = {name: domain.attribute_masks[domain.index(name)] for name in attributes}
    margin = sum(mask & -mask for mask in own.values())
    if allows([margin], 0) is not None:
        return None
    open_attributes = list(attributes)
    while open_attributes:
        gains: list[tuple[float, int, str]] = []
        for place, name in enumerate(open_attributes):
            step = own[name] & ~margin & -(own[name] & ~margin)
            if step:
                level = domain.levels(margin)[name]
                leaves = cube.log_leaves(name, level) - cube.log_leaves(name, level - 1)
                gains.append((cube.entropy(margin | step) - cube.entropy(margin) - leaves, place, name))
        open_attributes = [name for _, _, name in sorted(gains)]
        for name in list(open_attributes):
            finer = margin | (own[name] & ~margin & -(own[name] & ~margin))
            if allows([finer], 0) is None:
                margin = finer
                break
            open_attributes.remove(name)
    return margin


def wanted_tables(
    cube: DataCube,
    wanted: Sequence[Wanted],
    cliques: Sequence[Mask],
    released: Collection,
    allows: Constraint,
) -> tuple[WantedTable, ...]:
    """What became of each analysis. cliques: the published margins as masks.

    released: the same as the release tells them. allows: the constraint of the search.
    """
    domain = cube.domain
    judged = weighed(cube, [replace(analysis, measure=Measure.DIVERGENCE.value) for analysis in wanted])
    divergences = judged.distances(cliques) if judged else ()
    tables = []
    for analysis, divergence in zip(wanted, divergences):
        passing = finest_passing(cube, analysis.attributes, allows)
        margin = finest_together(released.domain, analysis.attributes, released.margins)
        obstacle = "it passes at no level by itself" if passing is None else _obstacle(cube, cliques, passing, allows)
        levels = words = demand = None
        if passing is not None:
            levels = domain.margin(passing)
            words, demand = margin_in_words(levels, domain), as_written(levels)
        tables.append(
            WantedTable(analysis.attributes, analysis.weight, margin, divergence, levels, words, demand, obstacle)
        )
    return tuple(tables)


def _obstacle(cube: DataCube, published: Sequence[Mask], passing: Mask, allows: Constraint) -> str | None:
    """What keeps a margin that passes by itself out of a collection; None where it is in it."""
    if any(not passing & ~mask for mask in published):
        return None
    together = maximal_masks([*published, passing])
    if not Collection.of(cube, together).is_decomposable:
        return "beside the published tables it would close a circle, so that they have no junction tree"
    if refusal := allows(together, 0):
        return f"beside the published tables it is refused: {refusal.reason}"
    return "it could be published too, but the search did not get there, or its weight is too small"
