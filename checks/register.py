"""Readers with a register: somebody who knows the nonsensitive values of everybody in the table.

For such a reader the tables of a sensitive attribute S leave arrangements of its values over people, all equally likely.
People of the same joint class, the class in all tables with S together, are alike. Tables without S tell them nothing.

*Files alone decide* where the tables with S form a chain: coarser classes show S finer, as one table by itself does. Then
the share of a value is the product over the tables of its share, in the class there, of the coarser value of the table
before; it makes no difference what other tables there are, nor whether the reader knows the other sensitive attributes of
everybody, which count as part of the class here (MKGV07 Def. 4.6; design 4.18). Otherwise the sizes of the joint classes
must be known: then arrangements are counted where these are few, else fitted.
"""

from collections.abc import Callable, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np

from checks.classes import EquivalenceClasses, equivalence_classes
from checks.combinatorial import sensitive_groups
from checks.diversity.criterion import BOUNDARY, Diversity, SensitiveValues, among, satisfies
from checks.errors import CriterionError
from checks.finding import FULL, Algorithm, Budget, Finding, Verdict, WorstClass
from checks.maxent.sensitive_tree import SensitiveTree, class_source
from models.arrays import BoolArray, FloatArray, IndexArray
from models.deadline import Deadline
from models.errors import DomainMismatchError, TooManyCellsError
from models.graphs.junction_tree import Collection, JunctionTree, maximal_masks
from models.inference.class_shares import ClassSums, SummedTable, counted_shares, fitted_shares
from models.tables.contingency_table import CodedCells
from models.tables.data_cube import DataCube
from models.tables.hierarchy import MISSING, Domain, Mask

CRITERION = "register"


class Model(Enum):
    """How the shares that a reader with a register reaches were found; its value says so in a finding."""

    CLASSES = Algorithm.EVERY_CLASS
    COUNTED = Algorithm.ARRANGEMENTS
    FITTED = Algorithm.ITERATIVE_FITTING


@dataclass(frozen=True, eq=False)
class RegisterShares:
    """What a reader with a register believes of the sensitive value of the people of each joint class.

    cells: the joint classes, other sensitive attributes among what they share. people: of each, shape (classes,). values:
    those of the finest published level. shares: shape (classes, values). exact: the shares of one class, as fractions in any
    scale; None where they are fitted. distance: how far the exact ones can be from the fitted ones, sum of absolute
    differences, shape (classes,).
    """

    cells: CodedCells
    people: IndexArray
    values: SensitiveValues
    shares: FloatArray
    model: Model
    exact: Callable[[int], Sequence[Fraction]] | None = None
    distance: FloatArray | None = None

    @property
    def known(self) -> FloatArray:
        """The shares of values, 0 for that which says that none is known; shape (classes, values)."""
        labels = self.values.hierarchy.labels[self.values.level]
        return np.where([label != MISSING for label in labels], self.shares, 0.0)

    @property
    def certain(self) -> int:
        """People whose value is known for certain; of fitted shares, all but certain."""
        return int(self.people[self.known.max(axis=1, initial=0.0) > 1 - 1e-9].sum())

    def labels(self, position: int) -> dict[str, str]:
        """The published labels of a joint class."""
        return {
            name: self.cells.domain.hierarchy(name).labels[level][int(self.cells.codes[name][position])]
            for name, level in self.cells.margin.items()
        }

    def worst(self, position: int, reached: float | None = None) -> WorstClass:
        """A joint class for a reader: its labels, and the shares of its values."""
        labels = self.values.hierarchy.labels[self.values.level]
        shares = dict(zip(labels, self.shares[position].tolist()))
        return WorstClass(
            self.labels(position), distribution={a: share for a, share in shares.items() if share}, reached=reached
        )


# The tables of one sensitive attribute: which of them count, and whether they form a chain.


def _own(domain: Domain, attribute: str) -> Mask:
    return domain.attribute_masks[domain.index(attribute)]


def showing(domain: Domain, masks: AnyCollection[Mask], sensitive: str) -> list[Mask]:
    """The maximal ones of the margins that show a sensitive attribute: the others follow from them."""
    own = _own(domain, sensitive)
    return maximal_masks([mask for mask in masks if mask & own])


def is_chain(domain: Domain, masks: AnyCollection[Mask], sensitive: str) -> bool:
    """Whether of some maximal margins coarser classes show the sensitive attribute finer, one after the other."""
    own = _own(domain, sensitive)
    ordered = sorted(masks, key=lambda mask: (mask & own).bit_count())
    return all(not finer & ~own & ~coarser for coarser, finer in zip(ordered, ordered[1:]))


def joint_classes(domain: Domain, masks: AnyCollection[Mask], sensitive: str) -> Mask:
    """What the people of a joint class share."""
    joint = 0
    for mask in masks:
        joint |= mask & ~_own(domain, sensitive)
    return joint


def without_others(
    domain: Domain, masks: AnyCollection[Mask], sensitive: AnyCollection[str], attribute: str
) -> list[Mask] | None:
    """The tables of an attribute for somebody who knows no other sensitive attribute of anybody, which are summed out.

    An attribute whose tables form a chain can be: given all others it has as many arrangements, whatever these are. None
    where some attribute linked to this one has no chain.
    """
    linked = next(group for group in sensitive_groups(domain, masks, sensitive) if attribute in group.attributes)
    left, others = maximal_masks(linked.cliques), [name for name in linked.attributes if name != attribute]
    while others:
        chain = next((name for name in others if is_chain(domain, showing(domain, left, name), name)), None)
        if chain is None:
            return None
        others.remove(chain)
        left = maximal_masks([mask & ~_own(domain, chain) for mask in left])
    return showing(domain, left, attribute)


# The shares, from the files or from the joint classes.


def register_shares(
    cube: DataCube, masks: Sequence[Mask], sensitive: str, budget: Budget = FULL
) -> RegisterShares | None:
    """The shares that the tables of a sensitive attribute leave; None where the sizes of joint classes are needed, unknown.

    cube: it counts the margins, and knows the joint classes where it can count these. masks: maximal, as `showing` gives
    them, at least one. Raises TimeOverError when the budget's deadline comes, TooManyCellsError where the joint
    classes times the values are more than it joins.
    """
    if is_chain(cube.domain, masks, sensitive):
        return _of_chain(cube, masks, sensitive, budget.deadline)
    try:
        joint = cube.table(joint_classes(cube.domain, masks, sensitive))
    except DomainMismatchError:
        return None
    classes = [equivalence_classes(cube.table(mask), sensitive) for mask in masks]
    finest = min(classes, key=lambda own: own.level)
    hierarchy = cube.domain.hierarchy(sensitive)
    if (cells := len(joint) * hierarchy.size(finest.level)) > budget.joined:
        raise TooManyCellsError(
            f"{cells:,} joint classes and values are more than the {budget.joined:,} that are fitted"
        )
    tables = tuple(
        SummedTable(
            joint.coded_cells.positions_in(own.coded_cells),
            hierarchy.lift(finest.level, own.level).astype(np.intp),
            own.counts.astype(np.float64),
        )
        for own in classes
    )
    sums = ClassSums(joint.counts, tables)
    counted = counted_shares(sums, budget.arrangements, budget.deadline)
    if counted is not None:
        shares = np.array([[float(share) for share in own] for own in counted])
        return RegisterShares(
            joint.coded_cells, joint.counts, finest.values, shares, Model.COUNTED, counted.__getitem__
        )
    fit = fitted_shares(sums, budget.deadline)
    return RegisterShares(
        joint.coded_cells, joint.counts, finest.values, fit.shares, Model.FITTED, distance=fit.distance
    )


def _of_chain(cube: DataCube, masks: Sequence[Mask], sensitive: str, deadline: Deadline) -> RegisterShares:
    """The product of the shares of all tables, class by class of the one with the finest classes."""
    junction = JunctionTree.of(cube.domain, masks)
    tree = SensitiveTree.of(junction, sensitive, class_source(cube.table, sensitive)).until(deadline)
    own = _own(cube.domain, sensitive)
    finest = min(range(len(tree.tree.cliques)), key=lambda place: (tree.tree.cliques[place] & own).bit_count())
    found = list(tree.combinations(tree.conditional_factors, np.multiply))
    combinations = np.concatenate([each for each, _ in found])
    vectors = np.concatenate([each for _, each in found])
    classes = tree.classes[finest]
    place_of = np.argsort(combinations[:, finest], kind="stable")
    combinations, vectors = combinations[place_of], vectors[place_of]

    def exact(position: int) -> Sequence[Fraction]:
        """The product of a class."""
        return tree.exact_vector(combinations[position].tolist())

    shares = vectors / vectors.sum(axis=1, keepdims=True)
    people = classes.counts.sum(axis=1)
    return RegisterShares(classes.coded_cells, people, tree.values, shares, Model.CLASSES, exact)


# The verdict. A value that says that none is known must not make a class diverse: it is judged with that and without.


def judged(found: RegisterShares, diversity: Diversity) -> tuple[Verdict, int]:
    """Whether the shares of every class satisfy a criterion, and the class that is worst. Raises CriterionError."""
    labels = found.values.hierarchy.labels[found.values.level]
    kept = np.array([label != MISSING for label in labels])
    answers = [_judged(found, diversity, np.ones(len(labels), dtype=bool))]
    if not kept.all() and found.shares[:, kept].any():
        answers.append(_judged(found, diversity, kept))
    return next((own for own in answers if own[0] is Verdict.FAILS), min(answers, key=lambda own: own[2]))[:2]


def _judged(found: RegisterShares, diversity: Diversity, kept: BoolArray) -> tuple[Verdict, int, float]:
    rows = tuple(count if own else 0 for count, own in zip(found.values.rows, kept.tolist()))
    criterion = among(diversity, replace(found.values, rows=rows))
    vectors = np.where(kept, found.shares, 0.0)
    filled = np.flatnonzero(vectors.any(axis=1))
    slack = criterion.slack(vectors[filled])
    worst = int(slack.argmin())
    verdict = Verdict.HOLDS
    if found.exact is not None:
        failing = bool(np.any(slack < -BOUNDARY))
        for place in np.flatnonzero(np.abs(slack) <= BOUNDARY) if not failing else []:
            exact = [share if own else Fraction(0) for share, own in zip(found.exact(int(filled[place])), kept)]
            if not criterion.decide(exact):
                failing, worst = True, int(place)
                break
        verdict = Verdict.FAILS if failing else Verdict.HOLDS
    elif slack[worst] < -_GUARD:
        verdict = Verdict.FAILS
    elif not _holds_nearby(
        criterion, vectors[filled], slack, found.distance[filled] if found.distance is not None else 0
    ):
        verdict = Verdict.UNDECIDED
    return verdict, int(filled[worst]), float(slack[worst])


_GUARD = 1e-6
"""Slack of fitted shares that fail; what is nearer to the bound is undecided."""

_FARTHEST = 1e-3
"""Distance of the exact shares, at most, where fitted ones can prove anything."""

_SURE, _TINY = 0.05, 1e-7
"""Slack that no change of the shares by so little uses up."""

_BLOCK = 1 << 15
"""Vectors that are judged together."""


def _holds_nearby(criterion: Diversity, shares: FloatArray, slack: FloatArray, distance: FloatArray | float) -> bool:
    """Whether all shares satisfy the criterion that can be the exact ones.

    Those that pass are convex, since merging classes that pass gives one that does (`Diversity`). So it is enough that the
    corners pass of what is so near: some share moved from one value to another, with all values that could be absent and
    without them. Shares of exactly 0 are: the sums prove that.
    """
    reach = np.broadcast_to(np.asarray(distance) + 2 * _GUARD**2, slack.shape)
    if not (reach <= _FARTHEST).all() or not (slack > _GUARD).all():
        return False
    close = np.flatnonzero((slack < _SURE) | (reach > _TINY))
    values = shares.shape[1]
    step = max(_BLOCK // (2 * values * values), 1)
    for begin in range(0, len(close), step):
        chosen = close[begin : begin + step]
        own, half = shares[chosen], reach[chosen, None] / 2
        absent = np.where(own < 2 * half, 0.0, own)
        for start in (own, absent):
            moved = np.repeat(start[:, None, None, :], values, axis=1).repeat(values, axis=2)
            present = (own > 0)[:, :, None] & (own > 0)[:, None, :]
            gained, lost = np.arange(values)[:, None], np.arange(values)[None, :]
            moved[:, gained, lost, gained] += half[:, :, None]
            moved[:, gained, lost, lost] -= half[:, :, None]
            corners = np.maximum(moved[present], 0.0)
            corners = corners[corners.any(axis=1)]
            if not (criterion.slack(corners) > BOUNDARY).all():
                return False
    return True


def _reached(found: RegisterShares, diversity: Diversity, position: int) -> float:
    """The strongest parameter of the criterion that a class satisfies."""
    return float(among(diversity, found.values).reached(found.shares[[position]])[0])


UNKNOWN = "several tables show it, and how many people are in each of their joint classes is not published"
UNLINKED = (
    "several tables show it, and sensitive attributes that stand in one of them beside it do so in others too; what that "
    "leaves a reader with a register is not worked out"
)


def register_diversity(
    collection: Collection,
    attribute: str,
    sensitive: AnyCollection[str],
    diversity: Diversity,
    budget: Budget = FULL,
) -> Finding:
    """Whether a criterion holds of what a reader with a register believes of everybody's sensitive value.

    collection: over the published marginals, or the table itself. sensitive: all sensitive attributes, this one included.
    Undecided where the joint classes are not known or fitted shares are too near to the bound. Raises TimeOverError when
    the budget's deadline comes before the verdict.
    """
    parameters = {"diversity": str(diversity), "sensitive": attribute}
    domain, cube = collection.domain, collection.cube
    masks = showing(domain, collection.masks, attribute)
    if not masks:
        return Finding(CRITERION, Verdict.HOLDS, parameters, None, (Algorithm.NOT_PUBLISHED,), 0)
    readers = [masks]
    if not is_chain(domain, masks, attribute):
        alone = without_others(domain, collection.masks, sensitive, attribute)
        if alone is None:
            return Finding(CRITERION, Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, UNLINKED)
        readers += [] if alone == masks else [alone]
    worst, algorithms, examined, verdict = None, [], 0, Verdict.HOLDS
    for tables in readers:
        try:
            found = register_shares(cube, tables, attribute, budget)
        except TooManyCellsError as error:
            return Finding(CRITERION, Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, str(error))
        if found is None:
            return Finding(CRITERION, Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, UNKNOWN)
        try:
            answer, position = judged(found, diversity)
        except CriterionError as error:
            note = f"{attribute}: {error}"
            return Finding(CRITERION, Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, note)
        algorithms.append(found.model.value)
        examined += len(found.shares)
        if worst is None or answer is not Verdict.HOLDS:
            worst, verdict = found.worst(position, _reached(found, diversity, position)), answer
        if answer is not Verdict.HOLDS:
            break
    note = "" if verdict is not Verdict.UNDECIDED else "the shares are within the fit's error of the bound"
    return Finding(CRITERION, verdict, parameters, worst, tuple(dict.fromkeys(algorithms)), examined, note)


def is_decided_by(collection: Collection, attribute: str, sensitive: AnyCollection[str]) -> bool:
    """Whether the marginals of a collection over nothing else decide what a reader with a register believes."""
    domain = collection.domain
    masks = showing(domain, collection.masks, attribute)
    if is_chain(domain, masks, attribute):
        return True
    alone = without_others(domain, collection.masks, sensitive, attribute)
    joint = joint_classes(domain, masks, attribute)
    return alone is not None and any(not joint & ~mask for mask in collection.masks)


def failing_class(collection: Collection, attribute: str, diversity: Diversity) -> WorstClass | None:
    """A class of one table at the finest published level that fails a criterion; None where all pass.

    Where such a class fails, so do people in it: its shares are means of those of the joint classes, and what passes can be
    merged. Raises CriterionError.
    """
    finest = collection.finest_level(attribute)
    for table in collection.tables:
        if table.margin.get(attribute) == finest:
            classes = equivalence_classes(table, attribute)
            failing = np.flatnonzero(~passing_classes(classes, diversity))
            if len(failing):
                place = int(failing[0])
                return WorstClass(classes.labels(place), classes.margin, distribution=classes.distribution(place))
    return None


def passing_classes(classes: EquivalenceClasses, diversity: Diversity) -> BoolArray:
    """Which classes satisfy a criterion, also without those whose value is none: shape (classes,). Raises CriterionError."""
    labels = classes.values.hierarchy.labels[classes.level]
    kept = np.array([label != MISSING for label in labels])
    passing = satisfies(among(diversity, classes.values), classes.counts)
    if kept.all():
        return passing
    counts = np.where(kept, classes.counts, 0)
    filled = counts.any(axis=1)
    if filled.any():
        rows = tuple(np.where(kept, classes.values.rows, 0).tolist())
        passing[filled] &= satisfies(among(diversity, replace(classes.values, rows=rows)), counts[filled])
    return passing
