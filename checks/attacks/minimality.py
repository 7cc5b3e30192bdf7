"""The minimality attack: what follows from knowing that nothing finer could be published (Wong et al., VLDB 2007).

Who knows that a release was made by an algorithm that goes as fine as its claims allow knows more than the tables say:
each published margin, one level finer in one attribute and all else as it is, was refused. The possible worlds, tables
with the published marginals, in which it would not have been are excluded. This module says what is left, step by step:

- A *step* is a maximal published margin and an attribute that it shows above level 0.
- A *suspect* is a claim that refuses the step in some possible world, with the classes of the published margin that can
  be where it does (the *candidate classes*). A minimum count comes first, as it does for the publisher: a diversity is
  suspect where a class fails it that splits into parts that are large enough. What is not named is ruled out for
  certain; what is named may still be impossible for reasons that the bounds on the finer counts do not show.
- Where exactly one claim is suspect, it is what refused the step, in one of its candidate classes at least. Where that is
  one class, its members learn it of their own class: that a part of it has few rows, or few sensitive values.
- Where counts that are known refuse the step in every possible world, nothing is excluded, and that it was refused tells
  nothing more. So it is where levels were fitted to the table, as the attacker knows, and the step leads back to values
  that were merged since they are rare (`FittedLevelDisclosure`).
- `acceptance_probability` is the probability of the excluded worlds to somebody who takes maximum entropy: by the total
  variation between what they believe before and after, no belief changes by more. It is given where the worlds are known
  as a whole: where no table shows the attribute any finer and only counts are suspect, or where all finer counts are
  known and only diversities are. Then also the part of a class whose distribution changes most.

Nothing can be told where several margins with a sensitive attribute can break a claim only together, or where the finer
collection has no junction tree, which the search asks for. A real search also leaves steps out that it did not try or
that gained nothing; so this is the most that knowing it tells.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cache
from math import comb, factorial, prod
from types import MappingProxyType
from typing import Any

import numpy as np

from checks.claims import AttributeClaim, Claim, CountClaim
from checks.classes import EquivalenceClasses, equivalence_classes, nonsensitive_part
from checks.diversity.criterion import Diversity, satisfies
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray
from models.graphs.junction_tree import Collection, maximal_masks
from models.inference.frechet_bounds import MarginBounds
from models.programs.fitting import Sums, Target, fit, missed_rows
from models.tables.contingency_table import ContingencyTable
from models.tables.fitted_levels import FittedLadder, thresholds
from models.tables.hierarchy import Hierarchy, Margin

_MOST_VECTORS = 20_000
"""Ways to draw the sensitive values of a part from its class that are looked at."""

_MOST_VISITS = 200_000
"""Ways to go on from one part of a class to the next that are looked at, in one step."""


class TooManyWorldsError(Exception):
    """More possible worlds than are looked at."""


def large_parts_probability(rows: int, weights: Sequence[float], least: int) -> float:
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


class Visits:
    """Counts down what may still be looked at."""

    def __init__(self) -> None:
        self._left = _MOST_VISITS

    def spend(self, number: int) -> None:
        """Look at so many more. Raises TooManyWorldsError where there are more than may be looked at."""
        self._left -= number
        if self._left < 0:
            raise TooManyWorldsError


@dataclass(frozen=True)
class Draws:
    """passing: probability that all parts are diverse. shares: for each part and value the expected share of its rows
    where all are, and 0 where not all are: the expectation of their product.
    """

    passing: Fraction
    shares: tuple[tuple[Fraction, ...], ...]


def diverse_draws(vector: CountArray, sizes: CountArray, diversities: Sequence[Diversity], visits: Visits) -> Draws:
    """Over all ways to give the values of a class to parts of known sizes, each row as likely to have each of them."""
    whole, part_sizes = tuple(vector.tolist()), tuple(sizes.tolist())

    @cache
    def diverse(size: int) -> tuple[tuple[int, ...], ...]:
        vectors = list(_drawn(whole, size))
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
        visits.spend(len(candidates))
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
    return Draws(sum(shares[0], start=Fraction(0)), tuple(shares))


def _drawn(whole: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """All vectors below a given one with a given sum. Raises TooManyWorldsError where there are very many."""
    polynomial = [1]
    for count in whole:
        polynomial = [
            sum(polynomial[i - taken] for taken in range(min(count, i) + 1) if i - taken < len(polynomial))
            for i in range(min(len(polynomial) + count, size + 1))
        ]
        if max(polynomial) > _MOST_VECTORS:
            raise TooManyWorldsError
    return _below(whole, size)


def _below(whole: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    if not whole:
        if size == 0:
            yield ()
        return
    for first in range(max(0, size - sum(whole[1:])), min(whole[0], size) + 1):
        for rest in _below(whole[1:], size - first):
            yield (first, *rest)


# The deFinetti attack: learning from a release who is likely to have what, across its classes (Kifer, SIGMOD 2009).
#
# Classes are not independent of each other: that classes with many smokers have more cancer tells of each smoker in a
# mixed class. The attacker knows everybody's nonsensitive values, guesses the sensitive ones, learns a naive Bayes
# model from the guesses, guesses anew with the model so that every published count is kept, and so on.
#
# What the attributes tell that are published together with the sensitive one is in the published counts already; there
# is something to learn only where they are published coarser than they are known, or not with it.


ROUNDS = 10
_SWEEPS = 1000
_CHANGE = 1e-6


@dataclass(frozen=True, eq=False)
class Groups:
    """A published marginal with the sensitive attribute: the group of each class, and its rows by sensitive value.

    group_of: shape (classes,). rows: shape (groups, values).
    """

    group_of: IndexArray
    rows: FloatArray


def published_groups(tables: Iterable[ContingencyTable], people: EquivalenceClasses) -> tuple[Groups, ...]:
    """The marginals that show the sensitive attribute at the level of `people`, and otherwise what these show too."""
    domain, code_columns = people.domain, dict(zip(people.attributes, people.codes))
    values = people.counts.shape[1]
    groups = []
    for table in tables:
        if table.margin.get(people.sensitive) != people.level:
            continue
        levels = {a: level for a, level in table.margin.items() if a != people.sensitive}
        shape = [domain.hierarchy(a).size(level) for a, level in levels.items()]
        lifted = [domain.hierarchy(a).lift(people.margin[a], level)[code_columns[a]] for a, level in levels.items()]
        keys = np.ravel_multi_index(lifted, shape) if levels else np.zeros(len(people), dtype=np.intp)
        known, group_of = np.unique(keys, return_inverse=True)
        columns = [table.column(a, level) for a, level in levels.items()]
        sought = np.ravel_multi_index(columns, shape) if levels else np.zeros(len(table), dtype=np.intp)
        rows = np.zeros((len(known), values))
        np.add.at(rows, (np.searchsorted(known, sought), table.column(people.sensitive, people.level)), table.counts)
        groups.append(Groups(group_of, rows))
    return tuple(groups)


def definetti(people: EquivalenceClasses, groups: Sequence[Groups], rounds: int = ROUNDS) -> FloatArray:
    """What the attacker guesses: expected rows by class and sensitive value, shape (classes, values).

    people: only how many rows each class has is used of its counts: nonsensitive values are known. groups: what is
    published of these people. With no rounds it is maximum entropy given what is published and known.
    """
    rows = np.asarray(people.counts.sum(axis=1), dtype=np.float64)
    guess = kept_to_counts(np.ones(people.counts.shape), rows, groups)
    for _ in range(rounds):
        fresh = kept_to_counts(_naive_bayes(people, guess), rows, groups)
        change = np.abs(fresh - guess).sum() / max(rows.sum(), 1)
        guess = fresh
        if change < _CHANGE:
            break
    return guess


def _naive_bayes(people: EquivalenceClasses, guess: FloatArray) -> FloatArray:
    """P(s | class) where the attributes are independent given s, estimated from a guess with add-one smoothing."""
    values = guess.sum(axis=0)
    log_odds = np.tile(np.log(values + 1), (len(guess), 1))
    for attribute, codes in zip(people.attributes, people.codes):
        size = people.domain.hierarchy(attribute).size(people.margin[attribute])
        counted = np.zeros((size, len(values)))
        np.add.at(counted, codes, guess)
        log_odds += np.log((counted + 1) / (values + size))[codes]
    odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def kept_to_counts(guess: FloatArray, rows: FloatArray, groups: Sequence[Groups]) -> FloatArray:
    """The guess nearest to one that keeps to all published counts, and to the people in each class.

    guess: expected rows by class and sensitive value, or weights, shape (classes, values). rows: of each class. Iterative
    proportional fitting, which ends after a fixed number of sweeps.
    """
    guess = np.array(guess, dtype=np.float64)
    by_class = Sums(len(guess), None, (1,))
    targets: list[Target] = []
    for group in groups:
        places = group.group_of[:, None] * guess.shape[1] + np.arange(guess.shape[1])
        targets.append((Sums(group.rows.size, places.ravel()), group.rows.ravel()))
    for _ in range(_SWEEPS):
        fit(guess, targets, sweeps=1)
        if missed_rows(by_class.of(guess), rows) <= _CHANGE * rows.sum():
            break
        by_class.bring_to(guess, rows)
    return guess


def confident(guess: FloatArray, people: EquivalenceClasses, number: int) -> float:
    """Share of right guesses among those rows of which a guess is most confident; of equals all count in part.

    number: of rows, at most all.
    """
    sums = guess.sum(axis=1)
    shares = np.divide(guess.max(axis=1), sums, out=np.zeros(len(guess)), where=sums > 0)
    likeliest = guess >= guess.max(axis=1, keepdims=True) * (1 - _SAME)
    right = (people.counts * likeliest).sum(axis=1) / likeliest.sum(axis=1)
    order = np.argsort(-shares, kind="stable")
    sorted_shares = shares[order]
    # Rows that rounding alone tells apart are equally sure, whatever the order of their classes.
    group = np.concatenate([[0], np.cumsum(sorted_shares[:-1] - sorted_shares[1:] > _SAME)])
    rows = np.bincount(group, people.counts.sum(axis=1)[order])
    hits = np.bincount(group, right[order])
    before = np.cumsum(rows) - rows
    taken = np.clip(number - before, 0, rows)
    return float((hits * np.divide(taken, rows, out=np.zeros(len(rows)), where=rows > 0)).sum() / max(taken.sum(), 1))


_SAME = 1e-9
"""Relative difference that is one of rounding."""


def accuracy(guess: FloatArray, people: EquivalenceClasses) -> float:
    """Share of the rows whose sensitive value is the likeliest one of their class; ties count in part."""
    likeliest = guess >= guess.max(axis=1, keepdims=True) * (1 - 1e-9)
    right = (people.counts * likeliest).sum(axis=1) / likeliest.sum(axis=1)
    return float(right.sum() / people.counts.sum())


def base_rate(people: EquivalenceClasses) -> float:
    """Share of the rows that have the value that most have: what somebody guesses without any release."""
    overall = people.counts.sum(axis=0)
    return float(overall.max() / overall.sum())


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
        possible_claims = None
        if self.possible_claims is not None:
            possible_claims = [
                {**s.claim.as_json(), "candidate_classes": len(s.candidate_classes)} for s in self.possible_claims
            ]
        return {
            "margin": dict(self.margin),
            "attribute": self.attribute,
            "finer": self.finer,
            "classes": self.classes,
            "possible_claims": possible_claims,
            "candidate_classes": self.candidate_classes,
            "candidate_class": None if self.candidate_class is None else dict(self.candidate_class),
            "acceptance_probability": self.acceptance_probability,
            "largest_posterior_change": None
            if self.largest_posterior_change is None
            else asdict(self.largest_posterior_change),
            "note": self.note,
            "certain": self.is_certain,
        }


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
        return max([1, *(claim.least_count for claim in self._counting)])

    @property
    def _counting(self) -> list[CountClaim]:
        return [claim for claim in self.claims if isinstance(claim, CountClaim)]

    def judged(self, sizes: Sizes) -> Refinement:
        domain = self.collection.domain
        mask = nonsensitive_part(domain, domain.mask(self.margin), self.sensitive)
        classes = self.collection.cube.table(mask)

        def refinement(
            possible_claims: tuple[PossibleClaim, ...] | None,
            acceptance_probability: float | None = None,
            largest_posterior_change: PosteriorChange | None = None,
            note: str = "",
        ) -> Refinement:
            positions = {position for suspect in possible_claims or () for position in suspect.candidate_classes}
            candidate_class = classes.labels(next(iter(positions))) if len(positions) == 1 else None
            return Refinement(
                self.margin,
                self.attribute,
                self.finer,
                len(classes),
                possible_claims,
                candidate_class,
                acceptance_probability,
                largest_posterior_change,
                note,
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
            return refinement(None, note=f"the finer margin has more than {MOST_CELLS:,} cells")
        parts = self._parts(classes, sizes(finer))
        if self._has_rare_values or np.any((parts.lower >= 1) & (parts.upper < self.least)):
            return replace(refinement(tuple(self._small(parts)), 0.0), is_certain=True)
        if together:
            return refinement(None, note=together)
        possible_claims = tuple(s for s in (*self._small(parts), *self._uniform(classes, parts)) if s.candidate_classes)
        try:
            acceptance_probability, largest_posterior_change = self._weighed(classes, parts, possible_claims)
        except TooManyWorldsError:
            return refinement(possible_claims, note="there are too many possible worlds to weigh them")
        return refinement(possible_claims, acceptance_probability, largest_posterior_change)

    @property
    def _has_rare_values(self) -> bool:
        """Whether the ladder tells that some value of the finer level has rows, but fewer than every class must have."""
        if self.ladder is None or self.finer != self.ladder.start:
            return False
        told = level_told(self.collection, self.attribute, self.margin[self.attribute], self.ladder)
        return told is not None and told.fewer_than <= self.least

    def _together(self, after: Collection) -> str:
        """Why the margin's own classes do not decide about what comes after the step; empty where they do."""
        domain, margin_mask = self.collection.domain, self.collection.domain.mask(self.margin)
        for claim in self.claims:
            diversity = claim.class_diversity if isinstance(claim, AttributeClaim) else None
            if not isinstance(claim, CountClaim) and diversity is None:
                return f"what {claim.criterion} demands of a class is not known"
            if isinstance(claim, CountClaim) and claim.least_cell is not None and self.shown:
                return f"{claim.criterion} is about the counts of {' and '.join(self.shown)} in each part too"
            steps = [domain.attribute_masks[domain.index(a)] for a in self._joined_through(claim)]
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

    def _joined_through(self, claim: Claim) -> Sequence[str]:
        """The sensitive attributes through which several margins can break a claim together where none does by itself."""
        if isinstance(claim, CountClaim) and claim.is_about_single_margins:
            return ()
        return self.sensitive if claim.about is None else (claim.about,)

    def _parts(self, classes: ContingencyTable, bounds: MarginBounds) -> _Parts:
        level = self.margin[self.attribute]
        parent_of = self.hierarchy.lift(self.finer, level).astype(np.intp)
        by_parent = np.argsort(parent_of, kind="stable")
        width = np.bincount(parent_of, minlength=self.hierarchy.size(level))
        begin = np.concatenate([[0], np.cumsum(width)[:-1]])
        column = classes.column(self.attribute, level).astype(np.intp)
        class_of = np.repeat(np.arange(len(classes)), width[column])
        place = np.arange(len(class_of)) - np.repeat(np.cumsum(width[column]) - width[column], width[column])
        code = by_parent[begin[column[class_of]] + place]
        at = tuple(
            code if a == self.attribute else classes.column(a, classes.margin[a]).astype(np.intp)[class_of]
            for a in classes.margin
        )
        rows = classes.counts[class_of]
        alone = width[column[class_of]] == 1
        lower, upper = np.where(alone, rows, bounds.lower[at]), np.minimum(bounds.upper[at], rows)
        leaves = self.hierarchy.leaf_counts(self.finer)[code]
        weight = leaves / self.hierarchy.leaf_counts(level)[column[class_of]]
        return _Parts(class_of, code, lower, upper, weight)

    def _small(self, parts: _Parts) -> Iterator[PossibleClaim]:
        """Claims of a minimum count that some part can miss; where several can, that of the largest."""
        if self._counting:
            # Of several with the same count that which is about classes alone, and about nothing else.
            strictest = max(
                self._counting,
                key=lambda claim: (claim.least_count, claim.is_about_single_margins and claim.least_cell is None),
            )
            yield PossibleClaim(strictest, _positions(parts, self._can_be_small(parts)))

    def _can_be_small(self, parts: _Parts) -> BoolArray:
        return np.asarray(np.maximum(parts.lower, 1) <= np.minimum(parts.upper, self.least - 1))

    def _diversities(self) -> list[tuple[AttributeClaim, Diversity]]:
        """The claims about a sensitive attribute of the margin, with what they demand of its classes."""
        attribute_claims = [
            claim for claim in self.claims if isinstance(claim, AttributeClaim) and claim.about in self.shown
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
        drawn = np.maximum(parts.lower, self.least)
        feasible = (drawn <= np.minimum(parts.upper, rows - self.least)) | ((drawn == rows) & (parts.upper == rows))
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
        table = self.collection.cube.table(self.collection.domain.mask(self.margin))
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
        level = self.margin[self.attribute]
        if counted and self.collection.finest_level(self.attribute) == level:
            return self._all_large(classes, parts), None
        if parts.are_known and not counted:
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
            raise TooManyWorldsError
        probability = 1.0
        for (rows, weights), number in kinds.items():
            probability *= large_parts_probability(rows, weights, self.least) ** number
        return probability

    def _all_diverse(
        self, classes: ContingencyTable, parts: _Parts, possible_claims: tuple[PossibleClaim, ...]
    ) -> tuple[float, PosteriorChange | None]:
        """With known counts: the same for diversity when each row of a class is as likely to have each of its values."""
        by_class = self._held(classes)
        diversities = [diversity for _, diversity in self._diversities()]
        draws, visits = [], Visits()
        for position in sorted({position for suspect in possible_claims for position in suspect.candidate_classes}):
            occupied = np.flatnonzero((parts.class_of == position) & (parts.lower > 0))
            draws.append(
                (
                    position,
                    occupied,
                    diverse_draws(by_class.counts[position], parts.lower[occupied], diversities, visits),
                )
            )
        acceptance_probability = prod((draw.passing for _, _, draw in draws), start=Fraction(1))
        shifts = []
        for position, occupied, draw in draws:
            others = prod((other.passing for at, _, other in draws if at != position), start=Fraction(1))
            vector = by_class.counts[position]
            before = [Fraction(int(count), int(vector.sum())) for count in vector]
            for part, shares in zip(occupied, draw.shares):
                after = [(b - share * others) / (1 - acceptance_probability) for b, share in zip(before, shares)]
                gains = [a - b for a, b in zip(after, before)]
                shifts.append((sum(map(abs, gains)) / 2, position, part, gains.index(max(gains)), before, after))
        distance, position, part, value, before, after = max(
            shifts, key=lambda largest_posterior_change: largest_posterior_change[0]
        )
        label = self.hierarchy.labels[self.finer][int(parts.code[part])]
        return float(acceptance_probability), PosteriorChange(
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
