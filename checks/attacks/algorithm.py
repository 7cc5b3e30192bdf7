"""What readers conclude who know the algorithm: margins that a release lacks were refused, or would have told too little.

Whoever knows that a release was made by an algorithm that publishes whatever its claims allow knows more than the tables
say. The possible worlds are the tables with the published marginals; those in which a margin that is not published would
have been allowed and paid for are excluded (Wong et al., VLDB 2007). There are two kinds of such margins.

A *step* is a published margin, one level finer in one attribute and all else as it is (`refinements`):

- A *suspect* is a claim that refuses the step in some possible world, with the classes of the published margin that can
  be where it does (the *candidate classes*). A minimum count comes first, as it does for the publisher: a diversity is
  suspect where a class fails it that splits into parts that are large enough. What is not named is ruled out for
  certain; what is named may still be impossible for reasons that the bounds on the finer counts do not show.
- Where exactly one claim is suspect, it refused the step in one of its candidate classes at least. Where that is one
  class, its members learn that a part of it has few rows, or few sensitive values.
- Where counts that are known refuse the step in every possible world, nothing is excluded. So it is where levels were
  fitted to the table, and the step leads back to values that were merged since they are rare (`FittedLevelDisclosure`).
- `acceptance_probability` is the probability of the excluded worlds to somebody who takes maximum entropy: by the total
  variation between what they believe before and after, no belief changes by more. It is given where the worlds are known
  as a whole: where no table shows the attribute any finer and only counts are suspect, or where all finer counts are
  known and only diversities are. Then also the part of a class whose distribution changes most.

Nothing can be told of a step where several margins with a sensitive attribute can break a claim only together, or where
the finer collection has no junction tree.

An *addition* is one more vertex or edge of the interaction graph that leaves a junction tree (`refusals`, KG06 6.2). Two
tables with margins of 100/100 and 3/197 and a least count of 3 that are not shown together: were the counts 0 and 3, they
would be, so they are 1 and 2.

- The margin that an addition makes is that of the vertices with what separates them. What is known of its counts
  beforehand are the two margins without the one and without the other vertex, in each cell of the separator by itself
  (Lauritzen, Graphical Models, 3.1).
- Where the possible worlds are few, they are laid out, those are kept in which no addition would have been taken, and
  what these have in common is what the reader knows. Else each addition is looked at by itself; and where its own tables
  are too many, by the bounds of its counts.
- Tables are excluded only where an addition is allowed for certain and gains for certain. So more may follow for somebody
  who runs the search itself on every table. Where tables are too many to be laid out, an addition that has a price counts
  as one that may tell too little.
- Less may follow where a search stops at a level that tells nothing on the way to one that does. A release does not name
  such levels; so with the hierarchies of the table this reads the search exactly, and without them as if it looked further.

A real search also leaves out what it did not try; so this is the most that knowing it tells. All limits are numbers, so
that the same release always gets the same answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property, reduce
from itertools import combinations, islice, product
from math import comb, factorial, prod
from operator import and_, or_
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from checks.claims import AttributeClaim, Claim, CountClaim, Question
from checks.classes import EquivalenceClasses, equivalence_classes, nonsensitive_part
from checks.diversity.criterion import Diversity, satisfies
from checks.finding import SEARCHING
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray, x_log_x
from models.deadline import NEVER, Deadline
from models.errors import MarginalsError
from models.graphs.interaction_graph import AddEdge, AddVertex, InteractionGraph, allowed_moves
from models.graphs.junction_tree import Collection, maximal_masks
from models.inference.frechet_bounds import MarginBounds
from models.programs.all_tables import MOST_TABLES, all_tables
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DOUBTFUL, DataCube, interactions
from models.tables.fitted_levels import FittedLadder, thresholds
from models.tables.hierarchy import Domain, Margin, Mask

USUAL_SENSITIVE_MARGINS = 3
"""Margins that may show the same sensitive attribute where a policy says nothing of it."""

MOST_CELLS = 1 << 20
"""Cells of the finer margin of a step, empty ones included, that are laid out."""

_MOST_TERMS = 4_000_000
"""Possible numbers of rows of all parts of different classes, in one step."""

_MOST_VECTORS = 20_000
"""Ways to draw the sensitive values of a part from its class that are looked at."""

_MOST_VISITS = 200_000
"""Ways to go on from one part of a class to the next that are looked at, in one step."""

_MOST_CELLS = 1 << 18
"""Cells of the margin of an addition that are laid out."""

_MOST_CELLS_IN_ALL = 1 << 21
"""The same of all additions together."""

_MOST_LAID_OUT = 4_096
"""Cells of tables that are laid out one by one, before those are left out that must be empty."""

_MOST_CHECKS = 300
"""Tables on which claims about sensitive values are checked, for each addition."""

_MOST_CHECKS_IN_ALL = 1_500
"""The same of all additions together."""

_MOST_NUMBERS_IN_ALL = 20_000_000
"""Counts of all tables that are laid out one by one, for all additions together."""

_MOST_MARGINS = 400
"""Margins in which it is looked for what tables have in common, beside those that additions make and the finest."""

_ATTRIBUTES = 3
"""Attributes that such a margin has at most."""

_ROUNDING = 1e-9
"""Nats by which what an addition gains can be off."""


@dataclass
class _Budget:
    """Cells of margins, counts of tables, checks of claims and parts of classes that may still be looked at."""

    cells: int = _MOST_CELLS_IN_ALL
    numbers: int = _MOST_NUMBERS_IN_ALL
    checks: int = _MOST_CHECKS_IN_ALL
    visits: int = _MOST_VISITS


class _TooManyWorldsError(Exception):
    """More possible worlds than are looked at."""


@dataclass(frozen=True, eq=False)
class _Rules:
    """What the publisher judges a margin by that is not published. least: counts below are small to the reader."""

    collection: Collection
    sensitive: tuple[str, ...]
    claims: tuple[Claim, ...]
    least: int = 1
    price: float = 0.0
    budget: _Budget = field(default_factory=lambda: _Budget())

    @cached_property
    def cliques(self) -> tuple[Mask, ...]:
        return tuple(self.collection.junction_tree.cliques)

    @cached_property
    def counting(self) -> tuple[CountClaim, ...]:
        return tuple(claim for claim in self.claims if isinstance(claim, CountClaim))

    @property
    def domain(self) -> Domain:
        return self.collection.domain

    def attribute(self, name: str) -> Mask:
        return self.domain.attribute_masks[self.domain.index(name)]

    def limit(self, clique: Mask) -> str:
        """Why it cannot be judged whether an addition would be allowed; empty where it can."""
        after = maximal_masks([*self.cliques, clique])
        for attribute in self.sensitive:
            attribute_mask = self.attribute(attribute)
            claimed = any(isinstance(claim, AttributeClaim) and claim.about == attribute for claim in self.claims)
            if clique & attribute_mask and not claimed and not any(mask & attribute_mask for mask in self.cliques):
                # No release claims anything of what it does not show, whatever its publisher demanded.
                return f"the release claims nothing of {attribute}, so what would have had to hold of it is not known"
            if clique & attribute_mask and any(claim.criterion == "register" for claim in self.claims):
                return "it had to hold for readers with a register too, which the published files alone do not tell"
            if clique & attribute_mask and sum(bool(mask & attribute_mask) for mask in after) > USUAL_SENSITIVE_MARGINS:
                return f"more than {USUAL_SENSITIVE_MARGINS} tables would show {attribute}, which no search tries by default"
        return ""

    @cached_property
    def least_class(self) -> int:
        """Rows that every class must have."""
        return max((claim.least_count for claim in self.counting), default=1)

    @cached_property
    def least_cell(self) -> int:
        """Rows that every cell must have, sensitive values counted."""
        return max((claim.least_cell for claim in self.counting if claim.least_cell is not None), default=1)

    def cost(self, margin: Mask, *sides: Mask) -> float:
        """Nats that two vertices must gain in a margin: the price of its free parameters beyond those of its sides.

        sides: the margins without the one and without the other; they share what separates these.
        """
        cells = self._priced.cell_count
        first, second = sides
        return (
            self.price * (cells(margin) - cells(first) - cells(second) + cells(first & second)) if self.price else 0.0
        )

    @cached_property
    def _priced(self) -> DataCube:
        return DataCube(self.collection.tables, parameters=interactions)

    def public(self, mask: Mask) -> Mask:
        """The part of a margin without sensitive attributes."""
        return nonsensitive_part(self.domain, mask, self.sensitive)

    def is_small(self, public: CountArray, cells: CountArray) -> BoolArray:
        """Of tables: which have a class or a cell with too few rows. Shapes (tables, classes) and (tables, cells)."""
        classes = np.any((public >= 1) & (public < self.least_class), axis=1)
        return np.asarray(classes | np.any((cells >= 1) & (cells < self.least_cell), axis=1))

    def shows(self, mask: Mask) -> bool:
        """Whether a margin shows a sensitive attribute."""
        return self.public(mask) != mask

    def beyond_counts(self, clique: Mask) -> tuple[Claim, ...]:
        """The claims that an addition can break though all of its classes and cells are large enough.

        Margins without a sensitive attribute matter to counts only (KG06 Prop. 7.3, and design 4.5 for k-combinatorial).
        """
        sensitive_shown = [a for a in self.sensitive if clique & self.attribute(a)]
        return tuple(
            claim
            for claim in self.claims
            if not (isinstance(claim, CountClaim) and (claim.is_about_single_margins or not sensitive_shown))
            and not (isinstance(claim, AttributeClaim) and claim.about not in sensitive_shown)
        )

    def allows(self, clique: Mask, table: ContingencyTable, claims: Sequence[Claim]) -> bool:
        """Whether claims are proven to hold of the release with one more table, as a search proves them."""
        cube = DataCube([table, *self.collection.tables])
        collection = Collection.of(cube, maximal_masks([*self.cliques, clique]))
        question = Question(collection, self.sensitive, SEARCHING)
        return all(claim.check(question).holds for claim in claims)


def _can_be_small(lower: CountArray, upper: CountArray, least: int) -> BoolArray:
    return np.asarray(np.maximum(lower, 1) <= np.minimum(upper, least - 1))


def _must_be_small(lower: CountArray, upper: CountArray, least: int) -> BoolArray:
    return np.asarray((lower >= 1) & (upper < least))


def _grid(domain: Domain, margin: Mapping[str, int]) -> dict[str, IndexArray]:
    """The code of each attribute in each cell of a margin, the last attribute fastest."""
    shape = [domain.hierarchy(a).size(level) for a, level in margin.items()]
    return dict(zip(margin, np.unravel_index(np.arange(int(np.prod(shape))), shape))) if shape else {}


def _keys(
    domain: Domain, levels: Mapping[str, int], codes: Mapping[str, IndexArray], margin: Mask | Mapping[str, int]
) -> IndexArray:
    """The cell of a margin that each of some cells falls into. levels, codes: of these cells, no coarser."""
    shown_levels = margin if isinstance(margin, Mapping) else domain.margin(margin)
    keys: IndexArray = np.zeros(len(next(iter(codes.values()), [0])), dtype=np.intp)
    for attribute, level in shown_levels.items():
        hierarchy = domain.hierarchy(attribute)
        keys = keys * hierarchy.size(level) + hierarchy.lift(levels[attribute], level)[codes[attribute]]
    return keys


def _dense(collection: Collection, mask: Mask) -> CountArray:
    """The counts of a margin, empty cells too: shape (cells,), the last attribute fastest."""
    if not mask:
        return np.array([collection.cube.total], dtype=np.int64)
    domain, table = collection.domain, collection.cube.table(mask)
    shape = [domain.hierarchy(a).size(level) for a, level in table.margin.items()]
    counts = np.zeros(shape, dtype=np.int64)
    counts[tuple(table.column(a, level).astype(np.intp) for a, level in table.margin.items())] = table.counts
    return counts.ravel()


def _table(domain: Domain, mask: Mask, counts: CountArray) -> ContingencyTable:
    """The table of a margin with the given counts, empty cells too."""
    margin = domain.margin(mask)
    return ContingencyTable.from_cells(domain, margin, _grid(domain, margin), counts)


def _labels(domain: Domain, margin: Mapping[str, int], cell: int) -> dict[str, str]:
    """The labels of a cell of a margin, the last attribute fastest."""
    shape = [domain.hierarchy(a).size(level) for a, level in margin.items()]
    codes = np.unravel_index(cell, shape) if shape else ()
    return {a: domain.hierarchy(a).labels[level][int(code)] for (a, level), code in zip(margin.items(), codes)}


# Steps: a published margin, one level finer in one attribute.


@dataclass(frozen=True)
class PossibleClaim:
    """A claim that can have refused a step, and the positions of the classes where it can have."""

    claim: CountClaim | AttributeClaim
    candidate_classes: tuple[int, ...]


@dataclass(frozen=True)
class PosteriorChange:
    """The part of a class whose sensitive distribution is changed most by knowing that the step was refused.

    cell: its labels at the finer level. distance: total variation. value: the sensitive value that gains most; before,
    after: its probability.
    """

    cell: Mapping[str, str]
    distance: float
    value: str
    before: float
    after: float


@dataclass(frozen=True)
class Refinement:
    """A step, and what its refusal tells.

    margin: the published one. finer: the level refused for `attribute`. classes: of the margin, sensitive attributes set
    aside. possible_claims: None where nothing can be told, and `note` says why. candidate_class: labels of the one
    class that can be to blame, None where there are none or several. acceptance_probability, largest_posterior_change: None
    where they are not known. is_certain: whether counts that are known refuse the step in every possible world.
    """

    margin: Margin
    attribute: str
    finer: int
    classes: int
    possible_claims: tuple[PossibleClaim, ...] | None
    candidate_class: Mapping[str, str] | None = None
    acceptance_probability: float | None = None
    largest_posterior_change: PosteriorChange | None = None
    note: str = ""
    is_certain: bool = False

    @property
    def candidate_classes(self) -> int | None:
        """How many classes can be to blame."""
        if self.possible_claims is None:
            return None
        return len({position for suspect in self.possible_claims for position in suspect.candidate_classes})

    def as_json(self) -> dict[str, Any]:
        """The step as plain values."""
        suspects = self.possible_claims
        change = self.largest_posterior_change
        return {
            "margin": dict(self.margin),
            "attribute": self.attribute,
            "finer": self.finer,
            "classes": self.classes,
            "possible_claims": None
            if suspects is None
            else [{**s.claim.as_json(), "candidate_classes": len(s.candidate_classes)} for s in suspects],
            "candidate_classes": self.candidate_classes,
            "candidate_class": None if self.candidate_class is None else dict(self.candidate_class),
            "acceptance_probability": self.acceptance_probability,
            "largest_posterior_change": None if change is None else asdict(change),
            "note": self.note,
            "certain": self.is_certain,
        }


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
    rules = _Rules(collection, tuple(sensitive), tuple(claims))
    margins = map(collection.domain.margin, maximal_masks(rules.cliques))
    steps = (_Step(rules, margin, attribute, ladders.get(attribute)) for margin in margins for attribute in margin)
    return tuple(step.judged(sizes) for step in steps if step.level)


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


@dataclass(frozen=True, eq=False)
class _Step:
    rules: _Rules
    margin: Margin
    attribute: str
    ladder: FittedLadder | None

    @property
    def level(self) -> int:
        return self.margin[self.attribute]

    @property
    def finer(self) -> int:
        return self.level - 1

    @property
    def domain(self) -> Domain:
        return self.rules.domain

    @property
    def shown(self) -> tuple[str, ...]:
        """The sensitive attributes in the margin."""
        return tuple(a for a in self.rules.sensitive if a in self.margin)

    def judged(self, sizes: Sizes) -> Refinement:
        domain, collection = self.domain, self.rules.collection
        mask = self.rules.public(domain.mask(self.margin))
        classes = collection.cube.table(mask)
        step = Refinement(self.margin, self.attribute, self.finer, len(classes), None)
        refined = domain.mask({**self.margin, self.attribute: self.finer})
        after = Collection.of(collection.cube, maximal_masks([*collection.masks, refined]))
        if not after.is_decomposable:
            note = "with it the release would have no junction tree, so it need not have been tried"
            return replace(step, note=note)
        together = self._together(after)
        if self.attribute in self.rules.sensitive:
            # Counts of classes stay, and finer sensitive values are as diverse or more.
            return replace(step, note=together) if together else _refused(step, classes, (), 1.0)
        finer = {**domain.margin(mask), self.attribute: self.finer}
        if domain.size(finer) > MOST_CELLS:
            return replace(step, note=f"the finer margin has more than {MOST_CELLS:,} cells")
        parts = self._parts(classes, finer, sizes(finer))
        small = self._small(parts)
        if self._has_rare_values or _must_be_small(parts.lower, parts.upper, self.rules.least_class).any():
            return replace(_refused(step, classes, small, 0.0), is_certain=True)
        if together:
            return replace(step, note=together)
        suspects = tuple(s for s in (*small, *self._uniform(classes, parts)) if s.candidate_classes)
        try:
            return _refused(step, classes, suspects, *self._weighed(classes, parts, suspects))
        except _TooManyWorldsError:
            note = "there are too many possible worlds to weigh them"
            return replace(_refused(step, classes, suspects), note=note)

    @property
    def _has_rare_values(self) -> bool:
        """Whether the ladder tells that some value of the finer level has rows, but fewer than every class must have."""
        if self.ladder is None or self.finer != self.ladder.start:
            return False
        told = level_told(self.rules.collection, self.attribute, self.level, self.ladder)
        return told is not None and told.fewer_than <= self.rules.least_class

    def _together(self, after: Collection) -> str:
        """Why the margin's own classes do not decide about what comes after the step; empty where they do."""
        margin_mask = self.domain.mask(self.margin)
        for claim in self.rules.claims:
            diversity = claim.class_diversity if isinstance(claim, AttributeClaim) else None
            if not isinstance(claim, CountClaim) and diversity is None:
                return f"what {claim.criterion} demands of a class is not known"
            if isinstance(claim, CountClaim) and claim.least_cell is not None and self.shown:
                return f"{claim.criterion} is about the counts of {' and '.join(self.shown)} in each part too"
            # The sensitive attributes through which margins can break a claim together where none does by itself.
            joined_through = self.rules.sensitive if claim.about is None else (claim.about,)
            is_single = isinstance(claim, CountClaim) and claim.is_about_single_margins
            steps = [] if is_single else [self.rules.attribute(a) for a in joined_through]
            if not any(step & margin_mask for step in steps):
                continue
            if sum(any(step & mask for step in steps) for mask in after.masks) > 1:
                return f"{claim.criterion} depends on several margins together"
            if diversity is None:
                continue
            if len(self.shown) > 1:
                return "the margin shows several sensitive attributes"
            if diversity.is_relative:
                return f"{diversity.name} is about certain values or compares with the whole table"
            if diversity.about_base_values:
                return f"{diversity.name} diversity weighs base values"
        return ""

    def _parts(self, classes: ContingencyTable, finer: Mapping[str, int], bounds: MarginBounds) -> _Parts:
        codes, hierarchy = _grid(self.domain, finer), self.domain.hierarchy(self.attribute)
        number = np.full(self.domain.size(classes.margin), -1, dtype=np.intp)
        columns = {a: classes.column(a, level).astype(np.intp) for a, level in classes.margin.items()}
        number[_keys(self.domain, classes.margin, columns, classes.margin)] = np.arange(len(classes))
        class_of = number[_keys(self.domain, finer, codes, classes.margin)]
        cells = np.argsort(class_of, kind="stable")[np.count_nonzero(class_of < 0) :]
        class_of, code = class_of[cells], codes[self.attribute][cells]
        rows, alone = classes.counts[class_of], np.bincount(class_of)[class_of] == 1
        lower = np.where(alone, rows, bounds.lower.ravel()[cells])
        upper = np.minimum(bounds.upper.ravel()[cells], rows)
        coarser = hierarchy.lift(self.finer, self.level)[code]
        weight = hierarchy.leaf_counts(self.finer)[code] / hierarchy.leaf_counts(self.level)[coarser]
        return _Parts(class_of, code, lower, upper, weight)

    def _small(self, parts: _Parts) -> tuple[PossibleClaim, ...]:
        """The claim of a minimum count that some part can miss; where several can, that of the largest."""
        if not self.rules.counting:
            return ()
        # Of several with the same count that which is about classes alone, and about nothing else.
        strictest = max(
            self.rules.counting,
            key=lambda claim: (claim.least_count, claim.is_about_single_margins and claim.least_cell is None),
        )
        can_be = _can_be_small(parts.lower, parts.upper, self.rules.least_class)
        return (PossibleClaim(strictest, _positions(parts, can_be)),)

    def _diversities(self) -> list[tuple[AttributeClaim, Diversity]]:
        """The claims about a sensitive attribute of the margin, with what they demand of its classes."""
        attribute_claims = [
            claim for claim in self.rules.claims if isinstance(claim, AttributeClaim) and claim.about in self.shown
        ]
        return [(claim, claim.class_diversity) for claim in attribute_claims if claim.class_diversity is not None]

    def _uniform(self, classes: ContingencyTable, parts: _Parts) -> Iterator[PossibleClaim]:
        """Diversities that a part can miss though all parts are large enough.

        Of all draws of a number of rows from a class, the one that takes the most frequent values first is majorized by
        none; and the fewer it takes, the less even it is. So one draw a part decides.
        """
        if not (claims := self._diversities()):
            return
        by_value = self._held(classes).counts[parts.class_of]
        rows = by_value.sum(axis=1)
        drawn = np.maximum(parts.lower, self.rules.least_class)
        feasible = (drawn <= np.minimum(parts.upper, rows - self.rules.least_class)) | (
            (drawn == rows) & (parts.upper == rows)
        )
        ordered = -np.sort(-by_value, axis=1)
        before = np.cumsum(ordered, axis=1) - ordered
        vectors = np.clip(drawn[:, None] - before, 0, ordered)[feasible]
        for claim, diversity in claims:
            suspected = feasible.copy()
            suspected[feasible] = ~satisfies(diversity, vectors)
            yield PossibleClaim(claim, _positions(parts, suspected))

    def _held(self, classes: ContingencyTable) -> EquivalenceClasses:
        """The sensitive values of each class, in the order of the classes."""
        sensitive = self.shown[0]
        table = self.rules.collection.cube.table(self.domain.mask(self.margin))
        by_class = equivalence_classes(table, sensitive)
        place = np.empty(len(classes), dtype=np.intp)
        place[_sorted(classes.codes, len(classes))] = _sorted(by_class.codes, len(by_class))
        codes = tuple(column[place] for column in by_class.codes)
        return replace(by_class, codes=codes, counts=by_class.counts[place])

    def _weighed(
        self, classes: ContingencyTable, parts: _Parts, possible_claims: tuple[PossibleClaim, ...]
    ) -> tuple[float | None, PosteriorChange | None]:
        if not possible_claims:
            return 1.0, None
        counted = all(isinstance(suspect.claim, CountClaim) for suspect in possible_claims)
        if counted and self.rules.collection.finest_level(self.attribute) == self.level:
            return self._all_large(classes, parts), None
        if not counted and np.array_equal(parts.lower, parts.upper):
            return self._all_diverse(classes, parts, possible_claims)
        return None, None

    def _all_large(self, classes: ContingencyTable, parts: _Parts) -> float:
        """The probability that no part has 1 .. k-1 rows when each row takes any base value below its own alike."""
        begin = np.searchsorted(parts.class_of, np.arange(len(classes) + 1))
        kinds: dict[tuple[int, tuple[float, ...]], int] = {}
        for rows, first, last in zip(classes.counts.tolist(), begin, begin[1:]):
            kind = rows, tuple(np.sort(parts.weight[first:last]).tolist())
            kinds[kind] = kinds.get(kind, 0) + 1
        if sum(rows * len(weights) for rows, weights in kinds) > _MOST_TERMS:
            raise _TooManyWorldsError
        probability = 1.0
        for (rows, weights), number in kinds.items():
            probability *= _large_parts_probability(rows, weights, self.rules.least_class) ** number
        return probability

    def _all_diverse(
        self, classes: ContingencyTable, parts: _Parts, possible_claims: tuple[PossibleClaim, ...]
    ) -> tuple[float, PosteriorChange | None]:
        """With known counts: the same for diversity when each row of a class is as likely to have each of its values."""
        by_class = self._held(classes)
        diversities = [diversity for _, diversity in self._diversities()]
        budget = _Budget()
        passing: dict[int, Fraction] = {}
        shares: dict[tuple[int, int], tuple[Fraction, ...]] = {}
        for position in sorted({position for suspect in possible_claims for position in suspect.candidate_classes}):
            occupied = np.flatnonzero((parts.class_of == position) & (parts.lower > 0))
            sizes = parts.lower[occupied]
            passing[position], of_parts = _diverse_draws(by_class.counts[position], sizes, diversities, budget)
            shares |= {(position, part): own for part, own in zip(occupied.tolist(), of_parts)}
        accepted = prod(passing.values(), start=Fraction(1))
        shifts = []
        for (position, part), own in shares.items():
            others = prod((p for at, p in passing.items() if at != position), start=Fraction(1))
            vector = by_class.counts[position].tolist()
            before = [Fraction(count, sum(vector)) for count in vector]
            after = [(b - share * others) / (1 - accepted) for b, share in zip(before, own)]
            gains = [a - b for a, b in zip(after, before)]
            shifts.append((sum(map(abs, gains)) / 2, position, part, gains.index(max(gains)), before, after))
        distance, position, part, value, before, after = max(shifts, key=lambda shift: shift[0])
        label = self.domain.hierarchy(self.attribute).labels[self.finer][int(parts.code[part])]
        return float(accepted), PosteriorChange(
            {**classes.labels(position), self.attribute: label},
            float(distance),
            by_class.domain.hierarchy(by_class.sensitive).labels[by_class.level][value],
            float(before[value]),
            float(after[value]),
        )


def _sorted(codes: Sequence[CodeArray], length: int) -> IndexArray:
    """The order that sorts cells by their codes."""
    return np.lexsort(codes) if codes else np.arange(length)


def _refused(
    step: Refinement,
    classes: ContingencyTable,
    suspects: tuple[PossibleClaim, ...],
    acceptance_probability: float | None = None,
    change: PosteriorChange | None = None,
) -> Refinement:
    """The step with the claims that can have refused it, and the candidate class if there is one alone."""
    positions = {position for suspect in suspects for position in suspect.candidate_classes}
    return replace(
        step,
        possible_claims=suspects,
        candidate_class=classes.labels(next(iter(positions))) if len(positions) == 1 else None,
        acceptance_probability=acceptance_probability,
        largest_posterior_change=change,
    )


def _positions(parts: _Parts, which: BoolArray) -> tuple[int, ...]:
    return tuple(np.unique(parts.class_of[which]).tolist())


def _large_parts_probability(rows: int, weights: Sequence[float], least: int) -> float:
    """P(no part has 1 .. least-1 rows) for a multinomial with these weights.

    Parts with Poisson numbers of rows are independent, and multinomial given their sum: so the small numbers are left
    out of each, and the sum is that of all parts by convolution.
    """
    from scipy.special import gammaln, xlogy  # slow to import, and few need it

    numbers = np.arange(rows + 1)

    def poisson(mean: float) -> FloatArray:
        return np.asarray(np.exp(xlogy(numbers, mean) - gammaln(numbers + 1) - mean))

    length = 2 * len(numbers)
    sums = np.zeros(rows + 1)
    sums[0] = 1.0
    for weight in weights:
        chances = poisson(rows * weight)
        chances[1:least] = 0
        sums = np.fft.irfft(np.fft.rfft(sums, length) * np.fft.rfft(chances, length), length)[: rows + 1]
    return float(np.clip(sums[rows] / poisson(rows)[rows], 0.0, 1.0))


_Shares = tuple[tuple[Fraction, ...], ...]


def _diverse_draws(
    vector: CountArray, sizes: CountArray, diversities: Sequence[Diversity], budget: _Budget
) -> tuple[Fraction, _Shares]:
    """The probability that all parts of a class are diverse, and for each part and value the expected share of its rows.

    Over all ways to give the values of the class to parts of known sizes, each row as likely to have each of them. The share
    counts as 0 where not all parts are diverse: it is the expectation of their product.
    """
    whole, part_sizes = tuple(vector.tolist()), tuple(sizes.tolist())

    @cache
    def diverse(size: int) -> tuple[tuple[int, ...], ...]:
        vectors = list(islice(_below(whole, size), _MOST_VECTORS + 1))
        if len(vectors) > _MOST_VECTORS:
            raise _TooManyWorldsError
        keep = np.ones(len(vectors), dtype=bool)
        for diversity in diversities:
            keep &= satisfies(diversity, np.array(vectors, dtype=np.int64))
        return tuple(v for v, is_diverse in zip(vectors, keep) if is_diverse)

    @cache
    def ways(parts: tuple[int, ...], remaining: tuple[int, ...]) -> int:
        if not parts:
            return 1
        return sum(number * ways(parts[1:], rest) for _, number, rest in choices(parts[0], remaining))

    def choices(size: int, remaining: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int, tuple[int, ...]]]:
        candidates = diverse(size)
        budget.visits -= len(candidates)
        if budget.visits < 0:
            raise _TooManyWorldsError
        for drawn in candidates:
            if all(d <= n for d, n in zip(drawn, remaining)):
                number = prod(comb(n, d) for n, d in zip(remaining, drawn))
                yield drawn, number, tuple(n - d for n, d in zip(remaining, drawn))

    every = factorial(sum(part_sizes)) // prod(map(factorial, part_sizes))
    shares = []
    for position, size in enumerate(part_sizes):
        others = tuple(sorted(part_sizes[:position] + part_sizes[position + 1 :]))
        sums = [0] * len(whole)
        for drawn, number, rest in choices(size, whole):
            together = number * ways(others, rest)
            sums = [total + together * d for total, d in zip(sums, drawn)]
        shares.append(tuple(Fraction(total, every * size) for total in sums))
    return sum(shares[0], start=Fraction(0)), tuple(shares)


def _below(whole: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """All vectors below a given one with a given sum."""
    if not whole:
        if size == 0:
            yield ()
        return
    for first in range(max(0, size - sum(whole[1:])), min(whole[0], size) + 1):
        for rest in _below(whole[1:], size - first):
            yield (first, *rest)


# What levels tell that are fitted to the counts of a table: each merged group holds a value with few rows.
#
# Values are merged for ascending sizes t_1 < t_2 < ..., and a level is noted at the first that gives it. Then each of
# its groups has t rows or more, and each that was merged holds a value with 1 to t - 1 rows
# (`models.tables.fitted_levels`). Who knows that levels were fitted so, but not at which size, knows that t is at most
# the rows of the smallest group, which is published: so it is at most the largest size that does not exceed these.


@dataclass(frozen=True)
class FittedLevelDisclosure:
    """What a published level tells: each of its merged groups holds a value with 1 to `fewer_than` - 1 rows.

    groups: that have rows; merged: how many of them hold several values.
    """

    attribute: str
    level: int
    groups: int
    merged: int
    fewer_than: int

    def as_json(self) -> dict[str, Any]:
        """What is told, as plain values."""
        return asdict(self)


def levels_told(collection: Collection, ladders: Mapping[str, FittedLadder]) -> tuple[FittedLevelDisclosure, ...]:
    """What the published levels of attributes with fitted ladders tell, the finest first, where groups were merged."""
    told = []
    for attribute, ladder in ladders.items():
        levels = {margin[attribute] for margin in collection.margins if attribute in margin}
        for level in sorted(levels):
            if (level_fact := level_told(collection, attribute, level, ladder)) is not None:
                told.append(level_fact)
    return tuple(told)


def level_told(
    collection: Collection, attribute: str, level: int, ladder: FittedLadder
) -> FittedLevelDisclosure | None:
    """What one level tells whose counts follow from the collection; None where nothing of it was merged."""
    hierarchy = collection.domain.hierarchy(attribute)
    if not ladder.start < level < hierarchy.height:
        return None
    table = collection.cube.table(collection.domain.mask({attribute: level}))
    values = np.bincount(hierarchy.lift(ladder.start, level).astype(np.intp), minlength=hierarchy.size(level))
    merged = int(np.count_nonzero(values[table.codes[0]] > 1))
    smallest = int(table.counts.min(initial=table.total))
    sizes = [size for size in thresholds(ladder.k, table.total) if size <= smallest]
    if not merged or not sizes:
        return None
    return FittedLevelDisclosure(attribute, level, len(table), merged, sizes[-1])


# Additions: one more vertex or edge of the interaction graph.


class Outcome(Enum):
    """What the refusal of one addition tells. The value is its name in JSON."""

    PROVES = "proves"
    """A count or a sensitive value that the tables leave open is certain."""
    SOME = "some"
    """Some combination of several has a small count, or the addition would tell too little; it is not certain which."""
    OPEN = "open"
    """Tables are excluded, or may be, but those that are left have no small count and no sensitive value in common."""
    ALWAYS = "always"
    """It would have been refused whatever the data, so that it was tells nothing."""
    UNEXPLAINED = "unexplained"
    """No claim can have refused it: it was left out for another reason."""
    NOT_EXAMINED = "not examined"
    """There are too many tables or cells, or the time was over."""


@dataclass(frozen=True)
class CertainRange:
    """A cell whose count is small for certain. values: label by attribute; levels: of these; lower, upper: its bounds."""

    values: Mapping[str, str]
    levels: Mapping[str, int]
    lower: int
    upper: int


@dataclass(frozen=True)
class CertainValue:
    """A class all of whose people have one sensitive value for certain, and that has some.

    values: of the class, label by attribute. rows: at least.
    """

    values: Mapping[str, str]
    sensitive: str
    value: str
    rows: int


@dataclass(frozen=True)
class Addition:
    """An addition that a release lacks, and what follows from that.

    margin: what it would have made. added: attribute and level: one of which finer values would be shown by themselves,
    or two that would be shown together. candidate_classes, classes: of the classes that both share, how many can have
    refused it, and how many there are; 0 where the tables were laid out. counts_only: whether a small count is the only
    reason that there can be, for what tells enough. may_gain_nothing: whether it can also have been left out since it
    tells too little. unexamined: margins in which it was not looked for what is certain. note: why it was not examined.
    """

    margin: Margin
    added: tuple[tuple[str, int], ...]
    outcome: Outcome
    candidate_classes: int = 0
    classes: int = 0
    counts_only: bool = True
    may_gain_nothing: bool = False
    small: tuple[CertainRange, ...] = ()
    values: tuple[CertainValue, ...] = ()
    unexamined: int = 0
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "margin": dict(self.margin),
            "added": dict(self.added),
            "outcome": self.outcome.value,
            "candidate_classes": self.candidate_classes,
            "classes": self.classes,
            "counts_only": self.counts_only,
            "may_gain_nothing": self.may_gain_nothing,
            "small": [asdict(cell) for cell in self.small],
            "values": [asdict(value) for value in self.values],
            "margins_not_examined": self.unexamined,
            "note": self.note,
        }


@dataclass(frozen=True)
class Refusals:
    """What all additions together tell that a release lacks.

    least: counts from 1 to least - 1 are small. additions: each by itself. tables, left: how many tables have the published
    marginals, and in how many of them no addition would have been taken; None where they are too many to be laid out, and
    what several additions prove together was not examined. small, values: what is certain, of all additions. unnamed:
    attributes that no table shows and whose values are not known, which were not examined. unexamined: margins in which it
    was not looked for what is certain: of all additions, or where these were not judged together of each, one by one.
    """

    least: int
    additions: tuple[Addition, ...] = ()
    tables: int | None = None
    left: int | None = None
    small: tuple[CertainRange, ...] = ()
    values: tuple[CertainValue, ...] = ()
    unnamed: tuple[str, ...] = ()
    unexamined: int = 0

    def of(self, outcome: Outcome) -> tuple[Addition, ...]:
        """The additions with an outcome."""
        return tuple(addition for addition in self.additions if addition.outcome is outcome)

    @property
    def together(self) -> bool:
        """Whether all additions were judged together."""
        return self.tables is not None

    @property
    def contradict(self) -> bool:
        """Whether no table explains the release: the claims alone did not limit the search."""
        return self.left == 0

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "least": self.least,
            "tables": self.tables,
            "left": self.left,
            "small": [asdict(cell) for cell in self.small],
            "values": [asdict(value) for value in self.values],
            "additions": [addition.as_json() for addition in self.additions],
            "unnamed": list(self.unnamed),
            "margins_not_examined": self.unexamined,
        }


def refusals(
    collection: Collection,
    sensitive: AnyCollection[str],
    claims: Sequence[Claim],
    least: int,
    deadline: Deadline = NEVER,
    most: int = MOST_TABLES,
    price: float = 0.0,
) -> Refusals:
    """What the additions tell that a decomposable collection lacks whose claims hold.

    least: counts from 1 to least - 1 are small. deadline: what is not looked at by then is not examined. most: tables that
    are laid out. price: nats that each free parameter of an addition must gain: what gains less may have been left out, and
    what gains less than DOUBTFUL times as much where its two attributes by themselves do not gain that either. So the
    parameters are a release, what is small, and what limits the reader: time, tables, what an addition had to gain.

    Raises NotDecomposableError.
    """
    rules = _Rules(collection, tuple(sensitive), tuple(claims), least, price, _Budget())
    graph = InteractionGraph.of(collection.domain, rules.cliques)
    possible = [_Possible.of(move, graph) for move in allowed_moves(graph) if isinstance(move, AddVertex | AddEdge)]
    unnamed = tuple(a for a, hierarchy in collection.domain.items() if hierarchy.height == 0)
    if (told := _together(rules, possible, deadline, most)) is not None:
        return replace(told, unnamed=unnamed)
    additions = tuple(_judged(rules, one, deadline, most) for one in possible)
    small = _distinct(cell for addition in additions for cell in addition.small)
    values = tuple({str(value): value for addition in additions for value in addition.values}.values())
    unexamined = sum(addition.unexamined for addition in additions)
    return Refusals(least, additions, None, None, small, values, unnamed, unexamined)


def _distinct(cells: Iterable[CertainRange]) -> tuple[CertainRange, ...]:
    """Each cell once, few attributes first."""
    ranges: dict[tuple[tuple[str, str], ...], CertainRange] = {}
    for cell in cells:
        old = ranges.setdefault(tuple(cell.values.items()), cell)
        narrow = replace(cell, lower=max(old.lower, cell.lower), upper=min(old.upper, cell.upper))
        ranges[tuple(cell.values.items())] = narrow
    return tuple(sorted(ranges.values(), key=lambda cell: (len(cell.values), cell.upper, cell.lower)))


@dataclass(frozen=True)
class _Possible:
    """An addition. clique: the margin it makes; first, second: vertices that it joins, second -1 for a vertex alone."""

    clique: Mask
    first: int
    second: int

    @classmethod
    def of(cls, move: AddVertex | AddEdge, graph: InteractionGraph) -> "_Possible":
        if isinstance(move, AddVertex):
            return cls(graph.domain.coarser_steps(move.vertex) | 1 << move.vertex, move.vertex, -1)
        return cls(move.clique(graph), move.first, move.second)

    @property
    def separator(self) -> Mask:
        """What is shared."""
        return self.clique & ~(1 << self.first) & ~(1 << self.second if self.second >= 0 else 0)

    @property
    def sides(self) -> tuple[Mask, ...]:
        """The published margins with the one vertex and with the other."""
        if self.second < 0:
            return (self.separator,)
        return self.separator | 1 << self.first, self.separator | 1 << self.second

    def added(self, domain: Domain) -> tuple[tuple[str, int], ...]:
        """The vertices by attribute and level."""
        names = domain.induced_attributes
        return tuple((names[v].attribute, names[v].level) for v in (self.first, self.second) if v >= 0)


class _Kept(NamedTuple):
    """Of tables, each of shape (tables,): in which an addition is not taken, has a small count, would tell too little.

    is_decided: whether claims were checked on all of them; where not, those that were not are kept.
    """

    kept: BoolArray
    small: BoolArray
    nothing: BoolArray
    is_decided: bool = True


class _Scope:
    """Some attributes at some levels, and all tables over them that have the published marginals.

    tables: shape (tables, cells), of the cells that can have rows.
    """

    def __init__(self, rules: _Rules, mask: Mask, tables: CountArray, codes: Mapping[str, IndexArray]) -> None:
        self.rules, self.mask, self.tables, self._codes = rules, mask, tables, codes

    @classmethod
    def of(cls, rules: _Rules, mask: Mask, most: int) -> "_Scope | None":
        """None where the cells or tables are too many."""
        domain = rules.domain
        levels = domain.margin(mask)
        if domain.size(levels) > _MOST_LAID_OUT or rules.budget.numbers < 0:
            return None
        codes = _grid(domain, levels)
        margins = list(dict.fromkeys([*maximal_masks([clique & mask for clique in rules.cliques]), 0]))
        counts = [_dense(rules.collection, margin)[_keys(domain, levels, codes, margin)] for margin in margins]
        occupied = np.all(np.stack(counts) > 0, axis=0)
        scope = cls.of_cells(rules, mask, {a: code[occupied] for a, code in codes.items()}, margins, most)
        rules.budget.numbers -= 4 * most if scope is None else scope.tables.size
        return scope

    @classmethod
    def of_cells(
        cls, rules: _Rules, mask: Mask, codes: Mapping[str, IndexArray], margins: Sequence[Mask], most: int
    ) -> "_Scope | None":
        """The tables that have rows in some cells only, of which these margins are known; None where they are too many."""
        keys, totals = [], []
        for margin in margins:
            places, key = np.unique(_keys(rules.domain, rules.domain.margin(mask), codes, margin), return_inverse=True)
            keys.append(key.ravel())
            totals.append(_dense(rules.collection, margin)[places])
        tables = all_tables(keys, totals, most)
        return None if tables is None else cls(rules, mask, tables, codes)

    @property
    def domain(self) -> Domain:
        return self.rules.domain

    def rows(self, margin: Mask | Mapping[str, int]) -> CountArray:
        """The counts of a margin in each table: shape (tables, cells of the margin)."""
        levels = margin if isinstance(margin, Mapping) else self.domain.margin(margin)
        keys = _keys(self.domain, self.domain.margin(self.mask), self._codes, levels)
        counts = np.zeros((len(self.tables), self.domain.size(levels)), dtype=np.int64)
        if len(keys):
            order = np.argsort(keys, kind="stable")
            places, starts = np.unique(keys[order], return_index=True)
            counts[:, places] = np.add.reduceat(self.tables[:, order], starts, axis=1)
        return counts

    def judged(self, one: _Possible) -> "_Kept":
        """The tables in which an addition is not taken."""
        rules, cells = self.rules, self.rows(one.clique)
        small, nothing = rules.is_small(self.rows(rules.public(one.clique)), cells), self._gains_nothing(one, cells)
        refused_tables = small | nothing
        claims = rules.beyond_counts(one.clique)
        if rules.limit(one.clique):
            return _Kept(np.ones_like(refused_tables), small, nothing)
        if not claims or refused_tables.all():
            return _Kept(refused_tables, small, nothing)
        open_tables = np.flatnonzero(~refused_tables)
        distinct, which = np.unique(cells[open_tables], axis=0, return_inverse=True)
        rules.budget.checks -= min(len(distinct), _MOST_CHECKS)
        if len(distinct) > _MOST_CHECKS or rules.budget.checks < 0:
            refused_tables[open_tables] = True  # nothing is excluded that was not looked at
            return _Kept(refused_tables, small, nothing, is_decided=False)
        refused = np.array(
            [
                not rules.allows(one.clique, _table(self.domain, one.clique, table_counts), claims)
                for table_counts in distinct
            ]
        )
        refused_tables[open_tables] = refused[which.ravel()]
        return _Kept(refused_tables, small, nothing)

    def _gains_nothing(self, one: _Possible, cells: CountArray) -> BoolArray:
        """Tables in which an addition would gain no more than it costs: shape (tables,).

        cells: of its margin, shape (tables, cells).
        """
        domain, margin = self.domain, self.domain.margin(one.clique)
        codes = _grid(domain, margin)

        def published(mask: Mask) -> CountArray:
            return _dense(self.rules.collection, mask)[_keys(domain, margin, codes, mask)]

        if one.second < 0:
            leaf, parent = _leaves(domain, one, codes)
            return np.asarray(np.all(cells * parent == published(one.separator) * leaf, axis=1))
        first, second = map(published, one.sides)
        nothing = np.asarray(np.all(cells * published(one.separator) == first * second, axis=1))
        if not (cost := self.rules.cost(one.clique, *one.sides)):
            return nothing
        # As a search settles: what does not pay, and what does not pay twice the price where its pair does not either.
        gain = self._gain(one.clique, *one.sides)
        alone = [domain.coarser_steps(vertex) | 1 << vertex for vertex in (one.first, one.second)]
        pair = alone[0] | alone[1]
        doubtful = self._gain(pair, *alone) <= DOUBTFUL * self.rules.cost(pair, *alone) + _ROUNDING
        little = (gain <= cost + _ROUNDING) | (gain <= DOUBTFUL * cost + _ROUNDING) & doubtful
        return np.asarray(nothing | little)

    def _gain(self, margin: Mask, first: Mask, second: Mask) -> FloatArray:
        """What a margin tells of two vertices beyond its sides, in nats: of each table, shape (tables,)."""

        def entropy(mask: Mask) -> FloatArray:
            return np.asarray(-x_log_x(self.rows(mask)).sum(axis=1))

        saved = entropy(first) + entropy(second) - entropy(first & second) - entropy(margin)
        return np.asarray(saved / self.rules.collection.cube.total)

    def in_common(self, sets: Sequence[BoolArray], whole: Sequence[Mask] = ()) -> list["_Common"]:
        """For each set of tables the small counts and sensitive values that all of these share, and not all tables do.

        whole: margins that are looked at however many attributes they have, as is that of all attributes.
        """
        levels = self.domain.margin(self.mask)
        examined: dict[Mask, Mapping[str, int]] = {mask: self.domain.margin(mask) for mask in (*whole, self.mask)}
        examined |= {self.domain.mask(margin): margin for margin in islice(self._margins(), _MOST_MARGINS)}
        number = prod(self.domain.hierarchy(a).height - level + 1 for a, level in levels.items()) - 1
        # Of all tables, or of none, nothing more is in common.
        unexamined = [number - len(examined) if explaining.any() and not explaining.all() else 0 for explaining in sets]
        result = [_Common([], [], cut) for cut in unexamined]
        for margin in examined.values():
            rows = self.rows(margin)
            for explaining, common in zip(sets, result):
                if explaining.any():
                    common.small.extend(_certain_ranges(self.domain, margin, rows, explaining, self.rules.least))
                    common.values.extend(self._values(margin, rows, explaining))
        return result

    def _margins(self) -> Iterator[dict[str, int]]:
        finest = self.domain.margin(self.mask)
        for number in range(1, min(_ATTRIBUTES, len(finest)) + 1):
            for chosen in combinations(finest, number):
                for levels in product(*(range(finest[a], self.domain.hierarchy(a).height) for a in chosen)):
                    yield dict(zip(chosen, levels))

    def _values(self, margin: Mapping[str, int], rows: CountArray, explaining: BoolArray) -> Iterator[CertainValue]:
        for axis, attribute in enumerate(margin):
            if attribute not in self.rules.sensitive:
                continue
            shape = [self.domain.hierarchy(a).size(level) for a, level in margin.items()]
            by_value = np.moveaxis(rows.reshape(len(rows), *shape), axis + 1, -1)
            by_value = by_value.reshape(len(rows), -1, shape[axis])
            before, after = _one_value(by_value), _one_value(by_value[explaining])
            others = {a: level for a, level in margin.items() if a != attribute}
            for place, value in np.argwhere(after & ~before).tolist():
                label = self.domain.hierarchy(attribute).labels[margin[attribute]][value]
                least = int(by_value[explaining, place].sum(axis=1).min())
                yield CertainValue(_labels(self.domain, others, place), attribute, label, least)


class _Common(NamedTuple):
    """What some tables have in common, and not all have. unexamined: margins that were not looked at."""

    small: list[CertainRange]
    values: list[CertainValue]
    unexamined: int


def _together(rules: _Rules, possible: Sequence[_Possible], deadline: Deadline, most: int) -> Refusals | None:
    """What all additions together tell, from all tables over all attributes; None where these are too many."""
    scope = _Scope.of(rules, reduce(or_, [*rules.cliques, *(one.clique for one in possible)], 0), most)
    judged: list[_Kept] = []
    for one in possible:
        if scope is None or deadline.is_over:
            return None
        try:
            judged.append(scope.judged(one))
        except MarginalsError:
            return None
    if scope is None:
        return None
    # What no claim can have refused was left out for another reason, and excludes nothing.
    explained = [verdict.kept for verdict in judged if verdict.kept.any()]
    everything: BoolArray = np.ones(len(scope.tables), dtype=np.bool_)
    remaining = reduce(and_, explained, everything)
    sets = [remaining, *(verdict.kept for verdict in judged)]
    of_all, *of_each = scope.in_common(sets, [one.clique for one in possible])
    additions = tuple(_laid_out(scope, *each) for each in zip(possible, judged, of_each))
    unexamined = max(of_all.unexamined, *(addition.unexamined for addition in additions), 0)
    small, left = _distinct(of_all.small), int(np.count_nonzero(remaining))
    return Refusals(rules.least, additions, len(scope.tables), left, small, tuple(of_all.values), (), unexamined)


def _laid_out(scope: _Scope, one: _Possible, judged: _Kept, common: _Common) -> Addition:
    """What an addition tells by itself, of tables that are laid out. common: to those in which it is not taken."""
    domain, explaining = scope.domain, judged.kept
    telling = explaining & ~judged.nothing
    counts_only, nothing = bool(np.all(judged.small[telling])), bool(np.any(judged.nothing & ~judged.small))
    addition = Addition(
        domain.margin(one.clique),
        one.added(domain),
        Outcome.OPEN,
        counts_only=counts_only,
        may_gain_nothing=nothing,
        small=_distinct(common.small),
        values=tuple(common.values),
        unexamined=common.unexamined,
    )
    if limit := scope.rules.limit(one.clique):
        return replace(addition, outcome=Outcome.NOT_EXAMINED, note=limit)
    if not judged.is_decided:
        note = "claims would have to be checked on too many tables"
        return replace(addition, outcome=Outcome.NOT_EXAMINED, note=note)
    if not explaining.any():
        return replace(addition, outcome=Outcome.UNEXPLAINED)
    if explaining.all():
        return replace(addition, outcome=Outcome.ALWAYS, counts_only=bool(judged.small.all()))
    if addition.small or addition.values:
        return replace(addition, outcome=Outcome.PROVES)
    return replace(addition, outcome=Outcome.SOME if counts_only and telling.any() else Outcome.OPEN)


def _judged(rules: _Rules, one: _Possible, deadline: Deadline, most: int) -> Addition:
    """What an addition tells by itself."""
    domain = rules.domain
    margin, added = domain.margin(one.clique), one.added(domain)
    cells = domain.size(margin)
    if limit := rules.limit(one.clique):
        return Addition(margin, added, Outcome.NOT_EXAMINED, note=limit)
    rules.budget.cells -= min(cells, _MOST_CELLS)
    if cells > _MOST_CELLS or rules.budget.cells < 0:
        note = f"its margin has {cells:,} cells, too many to be laid out"
        return Addition(margin, added, Outcome.NOT_EXAMINED, note=note)
    if deadline.is_over:
        return Addition(margin, added, Outcome.NOT_EXAMINED, note="the time was over")
    scope = _Scope.of(rules, one.clique, most)
    try:
        if scope is not None:
            judged = scope.judged(one)
            (common,) = scope.in_common([judged.kept])
            return _laid_out(scope, one, judged, common)
    except MarginalsError as error:
        return Addition(margin, added, Outcome.NOT_EXAMINED, note=str(error))
    if rules.beyond_counts(one.clique) or rules.shows(one.separator):
        note = f"more than {most:,} tables are possible, and not only counts of the margin decide"
        return Addition(margin, added, Outcome.NOT_EXAMINED, counts_only=False, note=note)
    return _by_bounds(rules, one, most)


def _by_bounds(rules: _Rules, one: _Possible, most: int) -> Addition:
    """The same where only counts decide, from what each count can be, in each class of the separator by itself."""
    domain, collection = rules.domain, rules.collection
    margin = domain.margin(one.clique)
    codes = _grid(domain, margin)
    shared = _keys(domain, margin, codes, one.separator)
    total = _dense(collection, one.separator)[shared]
    sides = [_dense(collection, side)[_keys(domain, margin, codes, side)] for side in one.sides]
    upper = np.min(sides, axis=0)
    if len(sides) == 2:
        lower = np.maximum(sides[0] + sides[1] - total, 0)
    else:
        lower = np.where(np.bincount(shared)[shared] == 1, total, 0)
    # Beside a sensitive attribute that is added classes are published ones, so only the counts of cells can be too small.
    least = rules.least_cell if rules.shows(one.clique) else max(rules.least_class, rules.least_cell)
    candidate_classes = np.unique(shared[_can_be_small(lower, upper, least)])
    nothing = (rules.price > 0 and one.second >= 0) or _may_gain_nothing(collection, one, total, sides, codes)
    addition = Addition(
        margin,
        one.added(domain),
        Outcome.SOME,
        len(candidate_classes),
        len(np.unique(shared[total > 0])),
        may_gain_nothing=nothing,
        unexamined=prod(domain.hierarchy(a).height - level + 1 for a, level in margin.items()) - 2,
    )
    if _must_be_small(lower, upper, least).any():
        return replace(addition, outcome=Outcome.ALWAYS, unexamined=0)
    if not len(candidate_classes):
        return replace(addition, outcome=Outcome.UNEXPLAINED, unexamined=0)
    if len(candidate_classes) > 1 or nothing:
        return addition
    cells = np.flatnonzero((shared == candidate_classes[0]) & (upper > 0))
    known = {one.separator, *one.sides}
    scope = _Scope.of_cells(rules, one.clique, {a: code[cells] for a, code in codes.items()}, sorted(known), most)
    if scope is None:
        return addition
    kept = np.any((scope.tables >= 1) & (scope.tables < least), axis=1)
    small = tuple(_certain_ranges(domain, margin, scope.rows(one.clique), kept, rules.least))
    return replace(addition, outcome=Outcome.PROVES if small else Outcome.SOME, small=small)


def _certain_ranges(
    domain: Domain, margin: Mapping[str, int], rows: CountArray, kept: BoolArray, least: int
) -> Iterator[CertainRange]:
    """The cells of a margin that are small in all tables that are kept, and not in all tables."""
    if kept.any():
        left = rows[kept]
        for cell in np.flatnonzero(_small(left, least) & ~_small(rows, least)).tolist():
            bounds = int(left[:, cell].min()), int(left[:, cell].max())
            yield CertainRange(_labels(domain, margin, cell), dict(margin), *bounds)


def _small(rows: CountArray, least: int) -> BoolArray:
    """Cells whose counts are from 1 to least - 1 in all tables: shape (cells,)."""
    return _must_be_small(rows.min(axis=0), rows.max(axis=0), least)


def _one_value(by_value: CountArray) -> BoolArray:
    """Classes and values that all of the class certainly have: shape (classes, values), of (tables, classes, values)."""
    most, least = by_value.max(axis=0), by_value.min(axis=0)
    alone = (most > 0).sum(axis=1, keepdims=True) == 1
    return np.asarray(alone & (least >= 1))


def _may_gain_nothing(
    collection: Collection,
    one: _Possible,
    total: CountArray,
    sides: Sequence[CountArray],
    codes: Mapping[str, IndexArray],
) -> bool:
    """Whether there are whole numbers of which an addition tells nothing."""
    if len(sides) == 2:
        return bool(np.all(sides[0] * sides[1] % np.maximum(total, 1) == 0))
    leaf, parent = _leaves(collection.domain, one, codes)
    return bool(np.all(total * leaf % parent == 0))


def _leaves(domain: Domain, one: _Possible, codes: Mapping[str, IndexArray]) -> tuple[CountArray, CountArray]:
    """Base values under each value of a vertex that stands alone, and under the value one step coarser."""
    attribute, level = domain.induced_attributes[one.first]
    hierarchy = domain.hierarchy(attribute)
    coarser = hierarchy.lift(level, level + 1)[codes[attribute]]
    return hierarchy.leaf_counts(level)[codes[attribute]], hierarchy.leaf_counts(level + 1)[coarser]
