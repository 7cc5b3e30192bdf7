"""The minimality attack: what follows from knowing that nothing finer could be published (Wong et al., VLDB 2007).

Who knows that a release was made by an algorithm that goes as fine as its claims allow knows more than the tables say:
each published margin, one level finer in one attribute and all else as it is, was refused. The possible worlds, tables
with the published marginals, in which it would not have been are excluded. This module says what is left, step by step:

- A *step* is a maximal published margin and an attribute that it shows above level 0.
- A *suspect* is a claim that refuses the step in some possible world, with the classes of the published margin that can
  be where it does (the *culprits*). A minimum count comes first, as it does for the publisher: a diversity is suspect
  where a class fails it that splits into parts that are large enough. What is not named is ruled out for certain; what
  is named may still be impossible for reasons that the bounds on the finer counts do not show.
- Where exactly one claim is suspect, it is what refused the step, in one of its culprits at least. Where that is one
  class, its members learn it of their own class: that a part of it has few rows, or few sensitive values.
- Where counts that are known refuse the step in every possible world, nothing is excluded, and that it was refused tells
  nothing more. So it is where levels were fitted to the table, as the attacker knows, and the step leads back to values
  that were merged since they are rare (`checks.attacks.fitted_levels`).
- `publishable` is the probability of the excluded worlds to somebody who takes maximum entropy: by the total variation
  between what they believe before and after, no belief changes by more. It is given where the worlds are known as a
  whole: where no table shows the attribute any finer and only counts are suspect, or where all finer counts are known
  and only diversities are. Then also the part of a class whose distribution changes most.

Nothing can be told where several margins with a sensitive attribute can break a claim only together, or where the finer
collection has no junction tree, which the search asks for. A real search also leaves steps out that it did not try or
that gained nothing; so this is the most that knowing it tells.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from types import MappingProxyType

import numpy as np

from checks.attacks.fitted_levels import level_told
from checks.attacks.possible_worlds import TooManyWorldsError, Visits, diverse_draws, large_parts_probability
from checks.attacks.refinement import Refinement, Shift, Suspect
from checks.claims.claim import Claim
from checks.classes.equivalence_classes import EquivalenceClasses, equivalence_classes
from checks.classes.k_anonymity import nonsensitive_part
from checks.diversity.criterion import Diversity, satisfies
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray
from models.graphs.collection import Collection
from models.graphs.junction_tree import maximal_masks
from models.inference.frechet_bounds import MarginBounds
from models.ladders.thresholds import FittedLadder
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Hierarchy
from models.tables.margin import Margin

MOST_CELLS = 1 << 20
"""Cells of a finer margin, empty ones included, that are laid out."""

_MOST_TERMS = 4_000_000
"""Possible numbers of rows of all parts of different classes, in one step."""

Sizes = Callable[[Mapping[str, int]], MarginBounds]
"""What is known for certain of the counts of a nonsensitive margin, axes in the order given."""


def refinements(
    collection: Collection,
    sensitive: AnyCollection[str],
    claims: Sequence[Claim],
    sizes: Sizes,
    ladders: Mapping[str, FittedLadder] = MappingProxyType({}),
) -> tuple[Refinement, ...]:
    """Every step of a decomposable collection whose claims hold.

    sizes: what the attacker knows of finer counts: bounds from the release, or the counts themselves where everybody's
    nonsensitive values are known. ladders: of attributes whose levels were fitted to the table, as the attacker knows.
    Raises NotDecomposableError.
    """
    steps = []
    for mask in maximal_masks(collection.junction_tree.cliques):
        margin = collection.domain.margin(mask)
        for attribute, level in margin.items():
            if level:
                ladder = ladders.get(attribute)
                step = _Step(collection, tuple(sensitive), tuple(claims), margin, attribute, ladder)
                steps.append(step.judged(sizes))
    return tuple(steps)


@dataclass(frozen=True, eq=False)
class _Parts:
    """The parts that the classes of a margin split into: for each its class, its code, and bounds on its rows.

    All of shape (parts,). weight: share of the class's base values.
    """

    class_of: IndexArray
    code: IndexArray
    lower: CountArray
    upper: CountArray
    weight: FloatArray

    @property
    def are_known(self) -> bool:
        """Whether every part has one possible count."""
        return bool(np.array_equal(self.lower, self.upper))


@dataclass(frozen=True, eq=False)
class _Step:
    collection: Collection
    sensitive: tuple[str, ...]
    claims: tuple[Claim, ...]
    margin: Margin
    attribute: str
    ladder: FittedLadder | None

    @property
    def finer(self) -> int:
        return self.margin[self.attribute] - 1

    @property
    def hierarchy(self) -> Hierarchy:
        return self.collection.domain.hierarchy(self.attribute)

    @property
    def shown(self) -> tuple[str, ...]:
        """The sensitive attributes in the margin."""
        return tuple(a for a in self.sensitive if a in self.margin)

    @property
    def least(self) -> int:
        """The largest count claimed of every class, at least 1."""
        return max([1, *(claim.least_count for claim in self.claims if claim.least_count is not None)])

    def judged(self, sizes: Sizes) -> Refinement:
        domain = self.collection.domain
        mask = nonsensitive_part(domain, domain.mask(self.margin), self.sensitive)
        classes = self.collection.cube.table(mask)

        def refinement(
            suspects: tuple[Suspect, ...] | None,
            publishable: float | None = None,
            shift: Shift | None = None,
            note: str = "",
        ) -> Refinement:
            positions = {position for suspect in suspects or () for position in suspect.culprits}
            culprit = classes.labels(next(iter(positions))) if len(positions) == 1 else None
            return Refinement(
                self.margin, self.attribute, self.finer, len(classes), suspects, culprit, publishable, shift, note
            )

        refined = domain.mask({**self.margin, self.attribute: self.finer})
        after = Collection.of(self.collection.cube, maximal_masks([*self.collection.masks, refined]))
        if not after.is_decomposable:
            return refinement(
                None, note="with it the release would have no junction tree, so it need not have been tried"
            )
        together = self._together(after)
        if self.attribute in self.sensitive:
            # Counts of classes stay, and finer sensitive values are as diverse or more.
            return refinement(None, note=together) if together else refinement((), 1.0)
        finer = {**domain.margin(mask), self.attribute: self.finer}
        if prod(domain.hierarchy(a).size(level) for a, level in finer.items()) > MOST_CELLS:
            return refinement(None, note=f"the finer margin has more than {MOST_CELLS} cells")
        parts = self._parts(classes, sizes(finer))
        if self._has_rare_values or np.any((parts.lower >= 1) & (parts.upper < self.least)):
            return replace(refinement(tuple(self._small(parts)), 0.0), is_certain=True)
        if together:
            return refinement(None, note=together)
        suspects = tuple(s for s in (*self._small(parts), *self._uniform(classes, parts)) if s.culprits)
        try:
            publishable, shift = self._weighed(classes, parts, suspects)
        except TooManyWorldsError:
            return refinement(suspects, note="there are too many possible worlds to weigh them")
        return refinement(suspects, publishable, shift)

    @property
    def _has_rare_values(self) -> bool:
        """Whether the ladder tells that some value of the finer level has rows, but fewer than every class must have."""
        if self.ladder is None or self.finer != self.ladder.start:
            return False
        told = level_told(self.collection, self.attribute, self.margin[self.attribute], self.ladder)
        return told is not None and told.fewer_than <= self.least

    def _together(self, after: Collection) -> str:
        """Why the margin's own classes do not decide about what comes after the step; empty where they do."""
        domain, own = self.collection.domain, self.collection.domain.mask(self.margin)
        for claim in self.claims:
            if claim.least_count is None and claim.class_diversity is None:
                return f"what {claim.criterion} demands of a class is not known"
            if claim.least_cell is not None and self.shown:
                return f"{claim.criterion} is about the counts of {' and '.join(self.shown)} in each part too"
            steps = [domain.attribute_masks[domain.index(a)] for a in claim.joined_through(self.sensitive)]
            if not any(step & own for step in steps):
                continue
            if sum(any(step & mask for step in steps) for mask in after.masks) > 1:
                return f"{claim.criterion} depends on several margins together"
            if claim.class_diversity is not None and len(self.shown) > 1:
                return "the margin shows several sensitive attributes"
            if claim.class_diversity is not None and claim.class_diversity.is_relative:
                return f"{claim.class_diversity.name} is about certain values or compares with the whole table"
            if claim.class_diversity is not None and claim.class_diversity.about_base_values:
                return f"{claim.class_diversity.name} diversity weighs base values"
        return ""

    def _parts(self, classes: ContingencyTable, bounds: MarginBounds) -> _Parts:
        level = self.margin[self.attribute]
        parent_of = self.hierarchy.lift(self.finer, level).astype(np.intp)
        by_parent = np.argsort(parent_of, kind="stable")
        width = np.bincount(parent_of, minlength=self.hierarchy.size(level))
        begin = np.concatenate([[0], np.cumsum(width)[:-1]])
        own = classes.column(self.attribute, level).astype(np.intp)
        class_of = np.repeat(np.arange(len(classes)), width[own])
        place = np.arange(len(class_of)) - np.repeat(np.cumsum(width[own]) - width[own], width[own])
        code = by_parent[begin[own[class_of]] + place]
        at = tuple(
            code if a == self.attribute else classes.column(a, classes.margin[a]).astype(np.intp)[class_of]
            for a in classes.margin
        )
        rows = classes.counts[class_of]
        alone = width[own[class_of]] == 1
        lower, upper = np.where(alone, rows, bounds.lower[at]), np.minimum(bounds.upper[at], rows)
        leaves = self.hierarchy.leaf_counts(self.finer)[code]
        weight = leaves / self.hierarchy.leaf_counts(level)[own[class_of]]
        return _Parts(class_of, code, lower, upper, weight)

    def _small(self, parts: _Parts) -> Iterator[Suspect]:
        """Claims of a minimum count that some part can miss; where several can, that of the largest."""
        counting = [claim for claim in self.claims if claim.least_count is not None]
        if counting:
            strictest = max(counting, key=lambda claim: (claim.least_count, claim.is_about_single_margins))
            yield Suspect(strictest, _positions(parts, self._can_be_small(parts)))

    def _can_be_small(self, parts: _Parts) -> BoolArray:
        return np.asarray(np.maximum(parts.lower, 1) <= np.minimum(parts.upper, self.least - 1))

    def _diversities(self) -> list[tuple[Claim, Diversity]]:
        """The claims about a sensitive attribute of the margin, with what they demand of its classes."""
        own = [claim for claim in self.claims if claim.about in self.shown]
        return [(claim, claim.class_diversity) for claim in own if claim.class_diversity is not None]

    def _uniform(self, classes: ContingencyTable, parts: _Parts) -> Iterator[Suspect]:
        """Diversities that a part can miss though all parts are large enough.

        Of all draws of a number of rows from a class, the one that takes the most frequent values first is majorized by
        none; and the fewer it takes, the less even it is. So one draw a part decides.
        """
        if not (claims := self._diversities()):
            return
        by_value = self._held(classes).counts[parts.class_of]
        rows = by_value.sum(axis=1)
        drawn = np.maximum(parts.lower, self.least)
        feasible = (drawn <= np.minimum(parts.upper, rows - self.least)) | ((drawn == rows) & (parts.upper == rows))
        ordered = -np.sort(-by_value, axis=1)
        before = np.cumsum(ordered, axis=1) - ordered
        vectors = np.clip(drawn[:, None] - before, 0, ordered)[feasible]
        for claim, diversity in claims:
            suspected = feasible.copy()
            suspected[feasible] = ~satisfies(diversity, vectors)
            yield Suspect(claim, _positions(parts, suspected))

    def _held(self, classes: ContingencyTable) -> EquivalenceClasses:
        """The sensitive values of each class, in the order of the classes."""
        sensitive = self.shown[0]
        table = self.collection.cube.table(self.collection.domain.mask(self.margin))
        by_class = equivalence_classes(table, sensitive)
        place = np.empty(len(classes), dtype=np.intp)
        place[_sorted(classes.codes, len(classes))] = _sorted(by_class.codes, len(by_class))
        codes = tuple(column[place] for column in by_class.codes)
        return replace(by_class, codes=codes, counts=by_class.counts[place])

    def _weighed(
        self, classes: ContingencyTable, parts: _Parts, suspects: tuple[Suspect, ...]
    ) -> tuple[float | None, Shift | None]:
        if not suspects:
            return 1.0, None
        counted = all(suspect.claim.least_count is not None for suspect in suspects)
        level = self.margin[self.attribute]
        if counted and self.collection.finest_level(self.attribute) == level:
            return self._all_large(classes, parts), None
        if parts.are_known and not counted:
            return self._all_diverse(classes, parts, suspects)
        return None, None

    def _all_large(self, classes: ContingencyTable, parts: _Parts) -> float:
        """The probability that no part has 1 .. k-1 rows when each row takes any base value below its own alike."""
        begin = np.searchsorted(parts.class_of, np.arange(len(classes) + 1))
        kinds: dict[tuple[int, tuple[float, ...]], int] = {}
        for rows, first, last in zip(classes.counts.tolist(), begin, begin[1:]):
            kind = rows, tuple(np.sort(parts.weight[first:last]).tolist())
            kinds[kind] = kinds.get(kind, 0) + 1
        if sum(rows * len(weights) for rows, weights in kinds) > _MOST_TERMS:
            raise TooManyWorldsError
        probability = 1.0
        for (rows, weights), number in kinds.items():
            probability *= large_parts_probability(rows, weights, self.least) ** number
        return probability

    def _all_diverse(
        self, classes: ContingencyTable, parts: _Parts, suspects: tuple[Suspect, ...]
    ) -> tuple[float, Shift | None]:
        """With known counts: the same for diversity when each row of a class is as likely to have each of its values."""
        by_class = self._held(classes)
        diversities = [diversity for _, diversity in self._diversities()]
        draws, visits = [], Visits()
        for position in sorted({position for suspect in suspects for position in suspect.culprits}):
            own = np.flatnonzero((parts.class_of == position) & (parts.lower > 0))
            draws.append(
                (position, own, diverse_draws(by_class.counts[position], parts.lower[own], diversities, visits))
            )
        publishable = prod((draw.passing for _, _, draw in draws), start=Fraction(1))
        shifts = []
        for position, own, draw in draws:
            others = prod((other.passing for at, _, other in draws if at != position), start=Fraction(1))
            vector = by_class.counts[position]
            before = [Fraction(int(count), int(vector.sum())) for count in vector]
            for part, shares in zip(own, draw.shares):
                after = [(b - share * others) / (1 - publishable) for b, share in zip(before, shares)]
                gains = [a - b for a, b in zip(after, before)]
                shifts.append((sum(map(abs, gains)) / 2, position, part, gains.index(max(gains)), before, after))
        distance, position, part, value, before, after = max(shifts, key=lambda shift: shift[0])
        label = self.hierarchy.labels[self.finer][int(parts.code[part])]
        return float(publishable), Shift(
            {**classes.labels(position), self.attribute: label},
            float(distance),
            by_class.domain.hierarchy(by_class.sensitive).labels[by_class.level][value],
            float(before[value]),
            float(after[value]),
        )


def _sorted(codes: Sequence[CodeArray], length: int) -> IndexArray:
    """The order that sorts cells by their codes."""
    return np.lexsort(codes) if codes else np.arange(length)


def _positions(parts: _Parts, which: BoolArray) -> tuple[int, ...]:
    return tuple(np.unique(parts.class_of[which]).tolist())
