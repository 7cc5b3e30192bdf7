"""Certainty of a reader about each harmful value: the largest share that it has in any class, with its bound.

Shares are those of the maximum-entropy distribution. For people with up to r rows each they are at most r times as
large.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from checks.diversity.criterion import Diversity, SensitiveValues
from checks.diversity.derived import Projected
from checks.diversity.relative import SumsAtMost
from checks.errors import CriterionError
from checks.finding import FULL, Budget
from checks.maxent.maxent_diversity import SMALL_JOIN, decided
from checks.maxent.sensitive_tree import SensitiveTree, sensitive_tree
from models.deadline import Deadline
from models.frozen import frozen
from models.graphs.junction_tree import Collection

_MOST_SETS = 30
"""Most sets of values whose largest share is searched for one by one, if all classes are too many to enumerate."""

_BUDGET = replace(FULL, branches=1_000_000)


@frozen
class Surest:
    """Class (`cell`) in which some values together have their largest share, None if it was not found.

    overall: their share of everybody. bound: the largest share that is claimed to be possible, None if any is.
    """

    labels: tuple[str, ...]
    overall: float
    largest: float | None
    cell: Mapping[str, str]
    bound: float | None

    @property
    def nearness(self) -> tuple[float, float]:
        """Sort key: how near the share comes to its bound; without a bound, how far it is from everybody's share."""
        reached = (self.bound or 1.0) if self.largest is None else self.largest
        return reached / self.bound if self.bound else 0.0, reached - self.overall


@frozen
class HarmfulValues:
    """Certainty of a reader about the values of one sensitive attribute.

    values: harmful ones, nearest to their bounds first. together: all of them; None for one value, or if every value
    harms.
    """

    sensitive: str
    values: tuple[Surest, ...]
    together: Surest | None
    harmless: tuple[str, ...]

    @property
    def by_name(self) -> dict[str, Surest]:
        """Rows of a table: each value by its label, and all together at the end."""
        together = {} if self.together is None else {"all harmful values together": self.together}
        return {", ".join(of.labels): of for of in self.values} | together


def harmful_values(
    collection: Collection, sensitive: str, criteria: Sequence[Diversity], rows_per_person: int, deadline: Deadline
) -> HarmfulValues | None:
    """Return the certainty of a reader about the values that criteria on the rows of classes bound.

    rows_per_person: at most. None without a bound on certain values, a junction tree, or a table that shows the
    attribute. Raises TimeOverError.
    """
    if not collection.is_decomposable or (tree := sensitive_tree(collection, sensitive)) is None:
        return None
    try:
        bounds, places = _bounds(criteria, tree.values)
    except CriterionError:
        return None
    rows = [tree.values.rows[place] for place in places]
    if not bounds or not any(rows):
        return None
    budget = _BUDGET.until(deadline)
    tree = replace(tree.until(deadline), columns=np.array(places, dtype=np.intp))
    every = frozenset[int]().union(*bounds)
    single = [codes for codes in bounds if any(rows[code] for code in codes) and not any(o < codes for o in bounds)]
    wanted = [*single, every] if len(single) > 1 and len(every) < len(rows) else single
    people = Fraction(rows_per_person)

    @cache  # many values are surest in one class
    def vector_of(place: tuple[int, ...]) -> tuple[list[Fraction], Fraction]:
        vector = tree.exact_vector(place)
        return vector, sum(vector, Fraction(0))

    def share(place: tuple[int, ...], codes: frozenset[int]) -> Fraction:
        vector, total = vector_of(place)
        return sum((vector[code] for code in codes), Fraction(0)) / total

    result = [
        Surest(
            _labels(tree.values, places, codes),
            float(min(people * sum(rows[code] for code in codes) / sum(rows), Fraction(1))),
            None if place is None else float(min(people * share(place, codes), Fraction(1))),
            {} if place is None else tree.cell(place),
            None if (bound := bounds.get(codes)) is None else float(people * bound),
        )
        for codes, place in zip(wanted, _places(tree, wanted, bounds, budget))
    ]
    together = result.pop() if len(wanted) > len(single) else None
    harmless = tuple(tree.labels[code] for code, held in enumerate(rows) if held and code not in every)
    return HarmfulValues(sensitive, tuple(sorted(result, key=lambda of: of.nearness, reverse=True)), together, harmless)


def _bounds(
    criteria: Sequence[Diversity], values: SensitiveValues
) -> tuple[dict[frozenset[int], Fraction | None], tuple[int, ...]]:
    """Return the least bound of each set of values, and the values that are known; sets are of places among these."""
    bounds, known_places = dict[frozenset[int], Fraction | None](), tuple[int, ...]()
    for relative in criteria:
        criterion, places = relative.among(values), tuple(range(len(values.rows)))
        if isinstance(criterion, Projected):
            places, criterion = tuple(criterion.places.tolist()), criterion.diversity
        if not isinstance(criterion, SumsAtMost) or (bounds and places != known_places):
            continue
        known_places = places
        bounds |= dict.fromkeys(codes for codes in criterion.unbounded if codes not in bounds)
        for share, codes in criterion.bounds:
            bounds[codes] = min(share, bounds.get(codes) or share)
    return bounds, known_places


def _labels(values: SensitiveValues, places: Sequence[int], codes: frozenset[int]) -> tuple[str, ...]:
    published_codes = frozenset(places[code] for code in codes)
    for level in range(values.level, values.hierarchy.height):
        above = values.hierarchy.lift(values.level, level)
        for code in np.unique(above[sorted(published_codes)]).tolist():
            if published_codes == frozenset(np.flatnonzero(above == code).tolist()) & frozenset(places):
                return (values.hierarchy.labels[level][code],)
    return values.occurring(published_codes)


def _places(
    tree: SensitiveTree,
    sets: Sequence[frozenset[int]],
    bounds: Mapping[frozenset[int], Fraction | None],
    budget: Budget,
) -> Iterator[tuple[int, ...] | None]:
    """Yield the class of each clique where each set of values has its largest share; None if that is not proven."""
    if tree.combination_count <= SMALL_JOIN:
        yield from _of_all_classes(tree, sets)
        return
    for number, codes in enumerate(sets):
        outcome = None
        if number < _MOST_SETS:
            bound = bounds.get(codes) or _NEARLY_ALL
            outcome = decided(tree, SumsAtMost(((bound, codes),)), budget)[1]
        yield outcome.combination if outcome and outcome.proven_worst else None


_NEARLY_ALL = Fraction(999_999, 1_000_000)


def _of_all_classes(tree: SensitiveTree, sets: Sequence[frozenset[int]]) -> list[tuple[int, ...]]:
    members = np.array([[code in codes for codes in sets] for code in range(len(tree.labels))], dtype=np.float64)
    largest, places = np.full(len(sets), -1.0), [(0,) * len(tree.classes)] * len(sets)
    for combinations, vectors in tree.combinations(tree.conditional_factors, np.multiply):
        shares = vectors @ members / vectors.sum(axis=1, keepdims=True)
        for number, place in enumerate(shares.argmax(axis=0).tolist()):
            if shares[place, number] > largest[number]:
                largest[number], places[number] = shares[place, number], tuple(combinations[place].tolist())
    return places
