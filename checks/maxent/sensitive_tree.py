"""Part of a junction tree that shows a sensitive attribute, with class-by-value counts for each clique.

Everything that a decomposable collection says about a sensitive attribute C is in the cliques that hold C (KG06 Prop.
7.3). They form a subtree, and each separator in it holds C too. A *class combination* picks one class of each clique
so that neighbours agree on their common attributes. It is a cell t of the nonsensitive attributes, as far as C is
concerned.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from checks.classes import EquivalenceClasses, equivalence_classes
from checks.diversity.criterion import BOUNDARY, Diversity, SensitiveValues
from checks.diversity.cuts import ZERO_LOG, RatioBounds
from checks.finding import Verdict, WorstClass
from models.arrays import FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.frozen import frozen
from models.graphs.junction_tree import Collection, JunctionTree
from models.tables.contingency_table import Cells, ContingencyTable
from models.tables.hierarchy import Domain, Mask

# Class combinations: built up clique by clique in perfect sequence, depth first and in blocks.


BLOCK = 1 << 14
"""Class combinations that are processed together."""

Combine = Callable[[FloatArray, FloatArray], FloatArray]
"""Combines the rows of two cliques: `np.multiply`, `np.minimum` or `np.add`."""

Screen = Callable[[IndexArray, FloatArray], IndexArray]
"""Maps partial combinations and their combined rows to the positions worth pursuing, in order."""


Classes = TypeVar("Classes", ContingencyTable, EquivalenceClasses)
"""Classes of a margin: its nonsensitive cells, with the rows of each, or with those of each sensitive value."""


@frozen(eq=False)
class FittingClasses(Generic[Classes]):
    """Cliques in perfect sequence with their classes, and the fitting classes of neighbours.

    classes, separators: for each clique its classes and those of the separator to its parent; the root's separator has
    one. inward[i]: for each class of clique i its separator class. outward[i]: the same for each class of the parent.
    deadline: when calculations with them end, by TimeOverError.
    """

    tree: JunctionTree
    classes: tuple[Classes, ...]
    separators: tuple[Classes, ...]
    inward: tuple[IndexArray, ...] = field(default=(), kw_only=True)
    outward: tuple[IndexArray, ...] = field(default=(), kw_only=True)
    deadline: Deadline = field(default=NEVER, kw_only=True)

    def __post_init__(self) -> None:
        if not self.inward:
            inward = tuple(cell.positions_in(separator) for cell, separator in zip(self.classes, self.separators))
            outward = tuple(
                self.classes[parent].positions_in(separator) if parent >= 0 else np.zeros(0, dtype=np.intp)
                for parent, separator in zip(self.tree.parents, self.separators)
            )
            vars(self).update(inward=inward, outward=outward)

    def until(self, deadline: Deadline) -> Self:
        """Return the same classes, with another deadline for calculations."""
        return self if deadline is self.deadline else replace(self, deadline=deadline)

    @cached_property
    def members(self) -> tuple[tuple[IndexArray, IndexArray], ...]:
        """Classes of each clique ordered by separator class, and where each separator class begins in that order."""
        return tuple(grouped(classes, len(separator)) for separator, classes in zip(self.separators, self.inward))

    def messages(
        self, values_of: Callable[[int], NDArray[Any]], combine: np.ufunc, reduced: np.ufunc = np.minimum
    ) -> list[NDArray[Any]]:
        """Work values up the tree: for each clique, one for each class of its separator, over its subtree.

        values_of: a clique to new rows of its classes. combine: with those of a child. reduced: of a separator class.
        """
        self.deadline.check()
        arriving: list[NDArray[Any]] = [np.zeros(0)] * len(self.classes)
        for clique in reversed(range(len(arriving))):
            values = self.with_children(clique, values_of(clique), combine, arriving)
            arriving[clique] = reduced_groups(values, *self.members[clique], reduced)
        return arriving

    def with_children(
        self, clique: int, values: NDArray[Any], combine: np.ufunc, arriving: Sequence[NDArray[Any]]
    ) -> NDArray[Any]:
        """Combine values of the classes of a clique, in place, with the messages of its children."""
        for child in self.tree.children[clique]:
            combine(values, arriving[child][self.outward[child]], out=values)
        return values

    def cell(self, combination: Sequence[int]) -> dict[str, str]:
        """Return the published labels of a class combination, each attribute at the finest level some clique shows."""
        finest: dict[str, tuple[int, str]] = {}
        for classes, position in zip(self.classes, combination):
            for attribute, label in classes.labels(position).items():
                level = classes.margin[attribute]
                if attribute not in finest or level < finest[attribute][0]:
                    finest[attribute] = (level, label)
        return {a: finest[a][1] for a in self.tree.domain.attributes if a in finest}

    def depth_first(
        self, contributions: Sequence[FloatArray], combine: Combine, screen: Screen, block: int = BLOCK
    ) -> Iterator[tuple[IndexArray, FloatArray]]:
        """Yield class combinations built up clique by clique, depth first, in blocks of about `block`.

        contributions: for each clique, or the first few of them, a row for each class; rows of a combination are
        combined. screen: which partial combinations, shape (n, cliques so far), are pursued. Yields the combinations
        of these cliques that pass, shape (n, cliques), with their combined rows.
        """

        def extended(chosen: IndexArray, combined: FloatArray) -> Iterator[tuple[IndexArray, FloatArray]]:
            clique_values = contributions[chosen.shape[1]]
            for rows, joined in _extensions(self, chosen, block):
                yield np.column_stack((chosen[rows], joined)), combine(combined[rows], clique_values[joined])

        roots = np.arange(len(self.classes[0]))[:, None]
        first = ((roots[i : i + block], contributions[0][i : i + block]) for i in range(0, len(roots), block))
        pending: list[Iterator[tuple[IndexArray, FloatArray]]] = [first]
        while pending:
            self.deadline.check()
            result = next(pending[-1], None)
            if result is None:
                pending.pop()
                continue
            chosen, combined = result
            pursued = screen(chosen, combined)
            if not len(pursued):
                continue
            chosen, combined = chosen[pursued], combined[pursued]
            if chosen.shape[1] == len(contributions):
                yield chosen, combined
            else:
                pending.append(extended(chosen, combined))


def grouped(group: IndexArray, groups: int) -> tuple[IndexArray, IndexArray]:
    """Return the order of rows by their group, and where each group begins in it, and ends."""
    order = np.argsort(group, kind="stable")
    return order, np.searchsorted(group[order], np.arange(groups + 1))


def reduced_groups(values: NDArray[Any], order: IndexArray, starts: IndexArray, reduced: np.ufunc) -> NDArray[Any]:
    """Reduce the rows of each group of `grouped` to one; a group without rows has infinity as its minimum, else 0."""
    occurring = starts[1:] > starts[:-1]
    if occurring.all():
        return np.asarray(reduced.reduceat(values[order], starts[:-1], axis=0))
    empty = np.inf if reduced is np.minimum else 0
    result = np.full((len(occurring), *values.shape[1:]), empty, dtype=values.dtype)
    result[occurring] = reduced.reduceat(values[order], starts[:-1][occurring], axis=0)
    return result


def by_last_clique(
    tree: FittingClasses[Any], combinations: Iterable[tuple[IndexArray, FloatArray]]
) -> Iterator[tuple[IndexArray, FloatArray, IndexArray]]:
    """Yield combinations of all cliques but the last, shape (n, cliques - 1), their rows, and the fitting classes of
    the last.

    In each piece every combination fits every class; it has about `BLOCK` complete combinations.
    """
    last = len(tree.classes) - 1
    order, starts = tree.members[last]
    for chosen, combined in combinations:
        separator = tree.outward[last][chosen[:, tree.tree.parents[last]]]
        places, ends = grouped(separator, len(tree.separators[last]))
        for number in np.flatnonzero(np.diff(ends)).tolist():
            fitting = order[starts[number] : starts[number + 1]]
            alike = places[ends[number] : ends[number + 1]]
            step = max(BLOCK // max(len(fitting), 1), 1)
            for piece in (alike[i : i + step] for i in range(0, len(alike), step)):
                yield chosen[piece], combined[piece], fitting


def _extensions(tree: FittingClasses[Any], chosen: IndexArray, block: int) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the classes of the next clique that fit partial combinations: pieces of (position in chosen, class)."""
    clique = chosen.shape[1]
    order, starts = tree.members[clique]
    separator = tree.outward[clique][chosen[:, tree.tree.parents[clique]]]
    ends = np.cumsum(starts[separator + 1] - starts[separator])
    begin = done = 0
    while begin < len(chosen):
        end = max(int(np.searchsorted(ends, done + block, side="right")), begin + 1)
        rows, places = paired(starts, separator[begin:end])
        yield begin + rows, order[places]
        begin, done = end, int(ends[end - 1])


def paired(starts: IndexArray, group: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Pair each row with each place of its group: return the rows, and the places. starts: where each group begins."""
    size = starts[group + 1] - starts[group]
    rows = np.repeat(np.arange(len(group)), size)
    return rows, np.arange(len(rows)) + np.repeat(starts[group] + size - np.cumsum(size), size)


@frozen(eq=False)
class SensitiveTree(FittingClasses[EquivalenceClasses]):
    """Cliques that hold a sensitive attribute, joined along their separators.

    The root's separator is only the sensitive attribute. The other sensitive attributes count as nonsensitive (MKGV07
    Def. 4.6). columns: the values, of those at `level`, that are judged; None for all.
    """

    sensitive: str
    columns: IndexArray | None = None

    @classmethod
    def of(
        cls, tree: JunctionTree, sensitive: str, classes_of: Callable[[Mask], EquivalenceClasses]
    ) -> "SensitiveTree":
        """Return the cliques of a junction tree that show `sensitive`, at least one.

        classes_of: the classes of a margin given as a mask, for instance `ClassSource(cube, sensitive)`.
        """
        first_step = 1 << tree.domain.offsets[tree.domain.index(sensitive)]
        subtree = tree.containing(first_step)
        classes = tuple(map(classes_of, subtree.cliques))
        separators = tuple(classes_of(separator or first_step) for separator in subtree.separators)
        return cls(subtree, classes, separators, sensitive)

    @property
    def domain(self) -> Domain:
        """The domain of the tree."""
        return self.tree.domain

    @cached_property
    def level(self) -> int:
        """Finest level at which a clique shows the sensitive attribute."""
        return min(classes.level for classes in self.classes)

    @cached_property
    def values(self) -> SensitiveValues:
        """Sensitive values at that level, and the rows of each in the whole table."""
        classes = next(classes for classes in self.classes if classes.level == self.level)
        return classes.values

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Sensitive values that are judged."""
        labels = self.domain.hierarchy(self.sensitive).labels[self.level]
        return labels if self.columns is None else tuple(labels[column] for column in self.columns.tolist())

    def expanded(self, classes: EquivalenceClasses, position: int | None = None) -> NDArray[Any]:
        """Return counts by finest published values: a coarser value's count stands at each of its values."""
        counts = classes.counts if position is None else classes.counts[position]
        if classes.level != self.level:
            counts = counts[..., self.domain.hierarchy(self.sensitive).lift(self.level, classes.level)]
        return counts if self.columns is None else counts[..., self.columns]

    @cached_property
    def conditional_factors(self) -> tuple[FloatArray, ...]:
        """Factors T(t, s) / T_separator(t, s) of each clique, shape (classes, values); the root has no separator.

        Their product over the cliques is proportional to the maxent distribution of the sensitive value given t.
        """
        root = self.expanded(self.classes[0])
        factors: list[FloatArray] = [root / np.where(root.any(axis=1), root.sum(axis=1), 1)[:, None]]
        for class_, separator, inward in zip(self.classes[1:], self.separators[1:], self.inward[1:]):
            below = self.expanded(separator)[inward]
            factors.append(self.expanded(class_) / np.where(below > 0, below, 1))
        return tuple(factors)

    def exact_factor(self, clique: int, position: int) -> list[Fraction]:
        """Return a row of `conditional_factors` as fractions, in some scale at the root."""
        counts = self.expanded(self.classes[clique], position).tolist()
        if not clique:
            return list(map(Fraction, counts))
        below = self.expanded(self.separators[clique], self.inward[clique][position]).tolist()
        return [Fraction(a) / Fraction(b) if a else Fraction(0) for a, b in zip(counts, below)]

    def exact_vector(self, combination: Sequence[int]) -> list[Fraction]:
        """Return the product of the `conditional_factors` of a class combination, in some scale, as fractions."""
        self.deadline.check()
        return [prod(row) for row in zip(*map(self.exact_factor, range(len(self.classes)), combination))]

    @cached_property
    def combination_count(self) -> int:
        """Exact number of class combinations, including those without a common sensitive value."""
        ones = [np.ones(len(classes), dtype=object) for classes in self.classes]
        return int(self.messages(ones.__getitem__, np.multiply, np.add)[0].sum())

    def combinations(self, factors: Sequence[FloatArray], combine: Combine) -> Iterator[tuple[IndexArray, FloatArray]]:
        """Yield all class combinations in blocks, with their combined factors, without those whose vector is all 0."""
        return self.depth_first(factors, combine, lambda _, vectors: np.flatnonzero(vectors.any(axis=1)))

    def describe(self, combination: Sequence[int]) -> WorstClass:
        """Return a class combination for a reader: its cell, and which marginals say what about it."""
        return WorstClass(
            self.cell(combination),
            margins=self.tree.margins,
            counts=[classes.distribution(int(i)) for classes, i in zip(self.classes, combination)],
        )


@frozen(eq=False)
class ClassSource:
    """Function from a mask to the classes of that margin, cached; it can be pickled.

    table_of: from a mask to the table of that margin, or to its expected cells.
    """

    table_of: Callable[[Mask], Cells]
    sensitive: str
    _classes: dict[Mask, EquivalenceClasses] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, mask: Mask) -> EquivalenceClasses:
        """Return the classes of a margin."""
        if mask not in self._classes:
            self._classes[mask] = equivalence_classes(self.table_of(mask), self.sensitive)
        return self._classes[mask]


def sensitive_tree(collection: Collection, sensitive: str) -> SensitiveTree | None:
    """Return the sensitive tree of a decomposable collection; None if no margin shows the attribute.

    Parameters
    ----------
    collection
        The published marginals.
    sensitive
        The attribute.
    """
    if not collection.shows(sensitive):
        return None
    return SensitiveTree.of(collection.junction_tree, sensitive, ClassSource(collection.cube.table, sensitive))


_CHUNK = 512
"""Linear forms that are processed together."""


class LogTree:
    """Sensitive tree in logarithms: x_s of each class of each clique, and min-sum passes over it."""

    def __init__(self, tree: SensitiveTree) -> None:
        self.tree = tree
        with np.errstate(divide="ignore"):
            self.x = [np.maximum(np.log(factor), ZERO_LOG) for factor in tree.conditional_factors]

    def messages(self, coefficients: FloatArray) -> list[FloatArray]:
        """Return for each clique the minimum of each linear form over its subtree, shape (separator classes, k)."""
        return self.tree.messages(lambda clique: self.x[clique] @ coefficients, np.add)

    def minima(self, coefficients: FloatArray) -> FloatArray:
        """Return the minimum over all combinations of each linear form in x, shape (k,). coefficients: shape (values, k)."""
        return _in_chunks(coefficients, lambda part: self.messages(part)[0].min(axis=0))

    def minimizers(self, coefficients: FloatArray) -> IndexArray:
        """Return for each linear form a combination at its minimum, shape (k, cliques)."""
        return _in_chunks(coefficients, self._minimizers)

    def _minimizers(self, coefficients: FloatArray) -> IndexArray:
        arriving, forms = self.messages(coefficients), np.arange(coefficients.shape[1])
        chosen = np.zeros((len(forms), len(self.x)), dtype=np.intp)
        for clique, parent in enumerate(self.tree.tree.parents):
            values = self.tree.with_children(clique, self.x[clique] @ coefficients, np.add, arriving)
            if parent < 0:
                chosen[:, clique] = values.argmin(axis=0)
                continue
            order, starts = self.tree.members[clique]
            is_lowest = values[order] == np.repeat(arriving[clique], np.diff(starts), axis=0)
            places = np.where(is_lowest, np.arange(len(order))[:, None], len(order))
            first = order[np.minimum.reduceat(places, starts[:-1], axis=0)]
            chosen[:, clique] = first[self.tree.outward[clique][chosen[:, parent]], forms]
        return chosen

    def vectors(self, combinations: IndexArray) -> FloatArray:
        """Return the log-vectors of complete combinations, shape (n, values); about ZERO_LOG if a value is absent."""
        return np.asarray(sum(x[combinations[:, clique]] for clique, x in enumerate(self.x)), dtype=np.float64)

    def least_ratios(self) -> FloatArray:
        """Return the least x_s - x_h over all combinations, `[s, h]`; values that no combination has count as `ZERO_LOG`."""
        values = self.x[0].shape[1]
        coefficients = (np.eye(values)[:, :, None] - np.eye(values)[:, None, :]).reshape(values, -1)
        return self.minima(coefficients).reshape(values, values)

    def ratio_bounds(self) -> RatioBounds:
        """Return bounds of x_s - x_h, `[s, h]`, over the combinations with a positive head h."""
        ceiling = np.column_stack([self._ceilings(head) for head in range(self.x[0].shape[1])])
        return RatioBounds(np.maximum(self.least_ratios(), ZERO_LOG), ceiling)

    def _ceilings(self, head: int) -> FloatArray:
        """Return the largest x_s - x_h over the combinations in which the head is positive, shape (values,)."""

        def lowest(clique: int) -> FloatArray:
            x = self.x[clique]
            return np.where(x[:, [head]] > ZERO_LOG / 2, x[:, [head]] - x, np.inf)

        return np.asarray(-self.tree.messages(lowest, np.add)[0].min(axis=0), dtype=np.float64)


def _in_chunks(coefficients: FloatArray, worked_out: Callable[[FloatArray], NDArray[Any]]) -> NDArray[Any]:
    parts = [coefficients[:, i : i + _CHUNK] for i in range(0, coefficients.shape[1], _CHUNK)]
    return np.concatenate(list(map(worked_out, parts)))


# Outcome of every algorithm: a verdict, and the worst class combination that it judged.


@frozen
class Outcome:
    """Verdict with the worst class combination found.

    combination: a class of each clique, None if no class has rows. examined: number of combinations or bounds.
    proven_worst: whether none is worse.
    """

    verdict: Verdict
    combination: tuple[int, ...] | None
    examined: int
    proven_worst: bool


_REMEMBERED = 1 << 12
"""Exact verdicts on class combinations that are cached."""


class Judge:
    """Judge of class combinations by a criterion; it records the least slack so far, and whether any violates it."""

    def __init__(self, tree: SensitiveTree, diversity: Diversity) -> None:
        self.tree, self.diversity = tree, diversity
        self.slack, self.fails, self.examined = np.inf, False, 0
        self.combination: tuple[int, ...] | None = None
        self._is_passing = lru_cache(_REMEMBERED)(lambda combination: diversity.decide(tree.exact_vector(combination)))

    def look_at(self, combinations: IndexArray, vectors: FloatArray) -> None:
        """Judge complete combinations by their vectors, shape (n, values), none of them all 0."""
        if not len(vectors):
            return
        slack = self.diversity.slack(vectors)
        self.look_at_slack(slack, lambda place: tuple(combinations[place].tolist()))
        if self.combination is None:
            self.combination = tuple(combinations[int(slack.argmin())].tolist())

    def look_at_slack(self, slack: FloatArray, combination_at: Callable[[int], tuple[int, ...]]) -> None:
        """Judge combinations by their slack, exactly if floating point cannot decide; infinite where there is none."""
        self.examined += slack.size
        lowest = int(slack.argmin())
        if (least := float(slack.flat[lowest])) < self.slack:
            self.slack, self.combination = least, combination_at(lowest)
        close = np.flatnonzero(np.abs(slack) <= BOUNDARY).tolist()
        self.fails = (
            self.fails or least < -BOUNDARY or not all(self._is_passing(combination_at(place)) for place in close)
        )

    def outcome(self, *, is_decided: bool = True, proven_worst: bool = True) -> Outcome:
        """Return the outcome; if the search was not decided, only a violation is a verdict."""
        verdict = Verdict.FAILS if self.fails else Verdict.HOLDS if is_decided else Verdict.UNDECIDED
        return Outcome(verdict, self.combination, self.examined, proven_worst)
