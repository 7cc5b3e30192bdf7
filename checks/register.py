"""Readers with a register: a reader who knows the nonsensitive values of everybody in the table.

For such a reader the tables of a sensitive attribute S leave arrangements of its values over people, all equally
likely. People of the same joint class, the class in all tables with S together, are alike. Tables without S tell
nothing more.

*Only files decide* if the tables with S form a chain: coarser classes show S finer, as a single table does. Then the
share of a value is a product over the tables. Each factor is its share, in the class there, of the coarser value of
the table before. Other tables make no difference. Nor does it matter whether the reader knows everybody's other
sensitive attributes, which count as part of the class (MKGV07 Def. 4.6; design 4.18). Otherwise the sizes of the joint
classes must be known. Then arrangements are counted if these are few, else fitted, which decides a criterion only with
a margin that is measured.

*Links* of a chain need neither. A link shows S finer than all other tables, in classes that one of the next finest tables
splits. Every arrangement of the coarser values then has the same number of refinements.
"""

from collections.abc import Callable, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import field, replace
from fractions import Fraction
from functools import reduce
from operator import or_

import numpy as np

from checks.classes import EquivalenceClasses, equivalence_classes
from checks.combinatorial import sensitive_groups
from checks.diversity.criterion import BOUNDARY, Diversity, SensitiveValues, satisfies
from checks.diversity.derived import standing_for_none
from checks.errors import CriterionError
from checks.finding import DECISIVE, FULL, Algorithm, Budget, Finding, Verdict, WorstClass, verdict_of
from checks.maxent.maxent_diversity import JOINED
from models.arrays import FloatArray, IndexArray
from models.errors import DomainMismatchError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, maximal_masks
from models.inference.class_shares import ClassSums, SummedTable, counted_shares, fitted_shares
from models.tables.contingency_table import Cells
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Mask

CRITERION = "register"


@frozen(eq=False)
class RegisterShares:
    """Beliefs of a reader with a register about the sensitive value of the people of each joint class.

    cells: the joint classes, other sensitive attributes included. people: shape (classes,). values: of the finest
    published level. shares: shape (classes, values). exact: the shares of one class as fractions in any scale; None if
    they are fitted. margin: how much of the fitted shares of a class may belong to other values, shape (classes,); 0
    if exact.
    """

    cells: Cells
    people: IndexArray
    values: SensitiveValues
    shares: FloatArray
    algorithm: Algorithm
    exact: Callable[[int], Sequence[Fraction]] | None = None
    margin: FloatArray = field(default_factory=lambda: np.zeros(1))

    @property
    def known_shares(self) -> FloatArray:
        """Shares of values, 0 for values that say that none is known; shape (classes, values)."""
        unknown = standing_for_none(self.values)
        return np.where([code in unknown for code in range(self.shares.shape[1])], 0.0, self.shares)

    def of_values(self, labels: AnyCollection[str]) -> "RegisterShares":
        """Return the shares with 0 for all values but those that labels name."""
        named = self.values.touching(labels)
        return replace(self, shares=np.where([code in named for code in range(self.shares.shape[1])], self.shares, 0.0))

    @property
    def highest(self) -> FloatArray:
        """Upper bound of the known shares, shape (classes, values)."""
        return np.where(self.known_shares > 0, np.minimum(self.known_shares + self.margin[:, None], 1.0), 0.0)

    @property
    def certain(self) -> int:
        """Number of people whose value is certain; for fitted shares, almost certain."""
        return int(self.people[self.known_shares.max(axis=1, initial=0.0) > 1 - 1e-9].sum())

    def worst(self, position: int, criterion: Diversity) -> WorstClass:
        """Return a joint class as that of a finding."""
        shares = self.shares[[position]]
        reached, values = float(criterion.reached(shares)[0]), self.values.occurring(criterion.nearest(shares))
        labels = self.values.hierarchy.labels[self.values.level]
        distribution = {label: share for label, share in zip(labels, self.shares[position].tolist()) if share}
        return WorstClass(
            self.cells.labels(position), distribution=distribution, values=values or None, reached=reached
        )


# The tables of one sensitive attribute: the maximal ones, and whether they form a chain.


def _attribute_mask(domain: Domain, attribute: str) -> Mask:
    return domain.attribute_masks[domain.index(attribute)]


def showing(domain: Domain, masks: AnyCollection[Mask], sensitive: str) -> list[Mask]:
    """Return the maximal margins that show a sensitive attribute: the others follow from them."""
    return maximal_masks([mask for mask in masks if mask & _attribute_mask(domain, sensitive)])


def links(domain: Domain, masks: AnyCollection[Mask], sensitive: str) -> tuple[Sequence[Mask], Sequence[Mask]]:
    """Return the links of a chain among maximal margins, that which shows the attribute finest first, and the others."""
    attribute_mask = _attribute_mask(domain, sensitive)
    linked, others = list[Mask](), sorted(masks, key=lambda mask: -(mask & attribute_mask).bit_count())
    while len(others) > 1:
        finest, *coarser = others
        coarse_values = coarser[0] & attribute_mask
        if all(finest & ~attribute_mask & ~mask for mask in coarser if mask & attribute_mask == coarse_values):
            break
        linked.append(finest)
        others = coarser
    return linked, others


def is_chain(domain: Domain, masks: AnyCollection[Mask], sensitive: str) -> bool:
    """Return whether coarser classes of some maximal margins show the sensitive attribute finer, one after the other."""
    return len(links(domain, masks, sensitive)[1]) <= 1


def joint_classes(domain: Domain, masks: AnyCollection[Mask], sensitive: str) -> Mask:
    """Return the margin of the joint classes: all that some margins show but the sensitive attribute."""
    return reduce(or_, masks, 0) & ~_attribute_mask(domain, sensitive)


def without_others(
    domain: Domain, masks: AnyCollection[Mask], sensitive: AnyCollection[str], attribute: str
) -> list[Mask] | None:
    """Return the tables of an attribute for a reader who knows no other sensitive attribute: these are summed out.

    The tables of each other attribute must form a chain, because then it has the same number of arrangements in any
    case. None without a chain.
    """
    linked = next(group for group in sensitive_groups(domain, masks, sensitive) if attribute in group.attributes)
    remaining, others = maximal_masks(linked.cliques), [name for name in linked.attributes if name != attribute]
    while others:
        chain = next((name for name in others if is_chain(domain, showing(domain, remaining, name), name)), None)
        if chain is None:
            return None
        others.remove(chain)
        remaining = maximal_masks([mask & ~_attribute_mask(domain, chain) for mask in remaining])
    return showing(domain, remaining, attribute)


def readers_of(
    collection: Collection, attribute: str, sensitive: AnyCollection[str]
) -> tuple[Sequence[Mask] | None, ...]:
    """Return the tables of an attribute for readers who know all other sensitive values, and for those who know none.

    There is one entry if both are the same; None for tables whose arrangements cannot be calculated.
    """
    masks = showing(collection.domain, collection.masks, attribute)
    if is_chain(collection.domain, masks, attribute):
        return (masks,)
    without_other_values = without_others(collection.domain, collection.masks, sensitive, attribute)
    return (masks,) if without_other_values == masks else (masks, without_other_values)


# The shares, from the files or from the joint classes.


def register_shares(
    cube: DataCube, masks: Sequence[Mask], sensitive: str, budget: Budget = FULL
) -> RegisterShares | None:
    """Return the shares that the tables of a sensitive attribute leave; None if they need unknown sizes of joint
    classes.

    cube: of the margins, and of the joint classes if their sizes are known. masks: maximal, as `showing` gives them,
    at least one. Raises TimeOverError at the budget's deadline, TooManyCellsError for too many joint classes times
    values.
    """
    linked, others = links(cube.domain, masks, sensitive)
    classes = [equivalence_classes(cube.table(mask), sensitive) for mask in others]
    shares = _of_one(classes[0]) if len(classes) == 1 else _of_several(cube, masks, classes, budget)
    if shares is None:
        return None
    return reduce(_with_link, (equivalence_classes(cube.table(mask), sensitive) for mask in reversed(linked)), shares)


def _of_one(classes: EquivalenceClasses) -> RegisterShares:
    people = classes.counts.sum(axis=1)

    def exact(position: int) -> Sequence[Fraction]:
        return list(map(Fraction, classes.counts[position].tolist()))

    return RegisterShares(
        classes, people, classes.values, classes.counts / people[:, None], Algorithm.EVERY_CLASS, exact
    )


def _of_several(
    cube: DataCube, masks: Sequence[Mask], classes: Sequence[EquivalenceClasses], budget: Budget
) -> RegisterShares | None:
    """Return the shares of joint classes, of the values of the table of classes that shows the finest ones."""
    sensitive = classes[0].sensitive
    try:
        joint = cube.table(joint_classes(cube.domain, masks, sensitive))
    except DomainMismatchError:
        return None
    finest = min(classes, key=lambda class_shares: class_shares.level)
    hierarchy = cube.domain.hierarchy(sensitive)
    if (cells := len(joint) * hierarchy.size(finest.level)) > (most := int(JOINED * budget.branches)):
        raise TooManyCellsError(f"{cells:,} joint classes and values are more than the {most:,} that are fitted")
    tables = [
        SummedTable(
            joint.positions_in(class_),
            hierarchy.lift(finest.level, class_.level).astype(np.intp),
            class_.counts.astype(np.float64),
        )
        for class_ in classes
    ]
    sums = ClassSums(joint.counts, tuple(tables))
    joint_values = joint, joint.counts, finest.values
    if (counted := counted_shares(sums, budget.vectors, budget.deadline)) is not None:
        return RegisterShares(*joint_values, counted.shares, Algorithm.ARRANGEMENTS, counted.exact.__getitem__)
    shares, distance = fitted_shares(sums, budget.deadline)
    return RegisterShares(
        *joint_values, shares, Algorithm.ITERATIVE_FITTING, margin=_margin(joint.counts, len(tables), distance)
    )


def _with_link(coarser: RegisterShares, link: EquivalenceClasses) -> RegisterShares:
    """Return shares of the values of a link, by those of their coarser values; the margin of these is theirs, too."""
    lift = link.values.hierarchy.lift(link.level, coarser.values.level).astype(np.intp)
    of_class = coarser.cells.positions_in(link)
    totals = link.counts @ np.eye(coarser.shares.shape[1], dtype=np.int64)[lift]
    shares = coarser.shares[:, lift] * (link.counts / np.maximum(totals[:, lift], 1))[of_class]

    def exact(position: int) -> Sequence[Fraction]:
        assert coarser.exact is not None
        of_coarser, place = coarser.exact(position), of_class[position]
        rows = zip(lift.tolist(), link.counts[place].tolist(), totals[place, lift].tolist())
        return [of_coarser[value] * Fraction(count, max(total, 1)) for value, count, total in rows]

    is_exact = coarser.exact is not None
    return replace(coarser, values=link.values, shares=shares, exact=exact if is_exact else None)


def _margin(people: IndexArray, tables: int, distance: FloatArray) -> FloatArray:
    """Return how much of the fitted shares of each class may belong to other values if arrangements are equally likely.

    Two tables: one person of the class, 1/n. This is measured, not proven, so that neither is a verdict that rests on
    it: `FITTED` says so. Enumeration of about 40,000 cases, many found by climbing, gave at most .43/n, in classes of 1
    to 40 people. No function of n is a bound by itself, because any system of whole numbers is one of two tables (De
    Loera, Onn 2006). Three tables: 1, because a fit gave .999 to values of nobody.
    """
    return np.minimum(1.0, distance / 2 + (1 / people if tables == 2 else 1.0))


# The verdict.


def verdict_on(reader_shares: RegisterShares, diversity: Diversity) -> tuple[Verdict, int]:
    """Return whether the shares of every class satisfy a criterion, and the worst class. Raises CriterionError."""
    criterion = diversity.among(reader_shares.values)
    slack = criterion.slack(reader_shares.shares)
    worst = int(slack.argmin())
    if reader_shares.exact is not None:
        close = np.flatnonzero(slack <= BOUNDARY).tolist() if slack[worst] >= -BOUNDARY else []
        failing = next((place for place in close if not criterion.decide(reader_shares.exact(place))), None)
        if failing is None:
            return verdict_of(bool(slack[worst] >= -BOUNDARY)), worst
        return Verdict.FAILS, failing
    if slack[worst] < -_GUARD:
        return Verdict.FAILS, worst
    return Verdict.HOLDS if _holds_nearby(criterion, reader_shares) else Verdict.UNDECIDED, worst


_GUARD = 1e-6
"""Slack below which fitted shares fail; between it and 0 they are undecided."""

_BLOCK = 1 << 15
"""Vectors that are judged together."""


def _holds_nearby(criterion: Diversity, reader_shares: RegisterShares) -> bool:
    """Return whether all shares within the margin satisfy the criterion. Shares of 0 stay 0.

    Passing shares are convex, because merging classes keeps a criterion, so it is enough that the corners of a set
    around them pass. At a corner, values with a share within the margin are absent. Their shares and the margin, or no
    part of it, move to any one value.
    """
    shares, values = reader_shares.shares, reader_shares.shares.shape[1]
    smallest_first = np.argsort(reader_shares.people, kind="stable")
    for chosen in np.array_split(smallest_first, 1 + shares.size * values // _BLOCK):
        nearby, margin = shares[chosen], reader_shares.margin[chosen, None]
        lasting = np.where(nearby > margin, nearby, 0.0)
        left = lasting[:, None] - np.eye(values) * np.where(lasting > 0, margin, 0.0)[:, None]
        corners = left[:, None] + np.eye(values)[:, None] * (1 - left.sum(axis=2))[:, None, :, None]
        if not (criterion.slack(corners[nearby > 0].reshape(-1, values)) > BOUNDARY).all():
            return False
    return True


UNKNOWN = "several tables show it, and how many people are in each of their joint classes is not published"
FITTED = (
    "shares are fitted: by measurement, not proof, up to {:.3g} of them in the smallest class belong to other values"
)
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
    """Return the finding whether a criterion holds for the beliefs of a reader with a register about everybody.

    collection: over the published marginals, or the table itself. sensitive: all sensitive attributes, this one
    included. Undecided if the joint classes are not known, or if it fails within the margin of fitted shares. Raises
    TimeOverError.
    """
    parameters = {"diversity": str(diversity), "sensitive": attribute}
    if not showing(collection.domain, collection.masks, attribute):
        return Finding(CRITERION, Verdict.HOLDS, parameters, None, (Algorithm.NOT_PUBLISHED,), 0)
    findings: list[Finding] = []
    for tables in readers_of(collection, attribute, sensitive):
        findings.append(replace(_of_reader(collection, tables, attribute, diversity, budget), parameters=parameters))
        if findings[-1].verdict is Verdict.FAILS:
            break
    # The publisher may know what the files lack, so a verdict that is undecided for another reason comes first.
    decisive = min(findings, key=lambda finding: (DECISIVE.index(finding.verdict), finding.note in (UNKNOWN, UNLINKED)))
    if decisive.verdict is Verdict.UNDECIDED:
        return decisive
    algorithms = dict.fromkeys(algorithm for finding in findings for algorithm in finding.algorithms)
    return replace(decisive, algorithms=tuple(algorithms), examined=sum(finding.examined for finding in findings))


def _of_reader(
    collection: Collection, tables: Sequence[Mask] | None, attribute: str, diversity: Diversity, budget: Budget
) -> Finding:
    unknown = Finding(CRITERION, Verdict.UNDECIDED, {}, None, (Algorithm.NONE,), 0)
    if tables is None:
        return replace(unknown, note=UNLINKED)
    try:
        reader_shares = register_shares(collection.cube, tables, attribute, budget)
        if reader_shares is None:
            return replace(unknown, note=UNKNOWN)
        verdict, position = verdict_on(reader_shares, diversity)
        worst = reader_shares.worst(position, diversity.among(reader_shares.values))
    except TooManyCellsError as error:
        return replace(unknown, note=str(error))
    except CriterionError as error:
        return replace(unknown, note=f"{attribute}: {error}")
    note = "" if reader_shares.exact is not None else FITTED.format(reader_shares.margin.max())
    return Finding(CRITERION, verdict, {}, worst, (reader_shares.algorithm,), len(reader_shares.shares), note)


def is_decided_by(collection: Collection, attribute: str, sensitive: AnyCollection[str]) -> bool:
    """Return whether the marginals of a collection alone decide the beliefs of a reader with a register."""
    domain, readers = collection.domain, readers_of(collection, attribute, sensitive)
    if None in readers:
        return False
    masks = showing(domain, collection.masks, attribute)
    joint = joint_classes(domain, masks, attribute)
    return is_chain(domain, masks, attribute) or any(not joint & ~mask for mask in collection.masks)


def failing_class(collection: Collection, attribute: str, diversity: Diversity) -> WorstClass | None:
    """Return a class of one table at the finest published level that fails a criterion; None if all pass.

    Its people fail too: its shares are means over joint classes, and passing classes can be merged. Raises
    CriterionError.
    """
    finest = collection.finest_level(attribute)
    for table in collection.tables:
        if table.margin.get(attribute) == finest:
            classes = equivalence_classes(table, attribute)
            for place in np.flatnonzero(~satisfies(diversity.among(classes.values), classes.counts)).tolist():
                return WorstClass(classes.labels(place), classes.margin, distribution=classes.distribution(place))
    return None
