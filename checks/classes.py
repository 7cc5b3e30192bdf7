"""Privacy criteria of one table, class by class: which it satisfies, the strongest it reaches, and attacks on it."""

from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criteria import Entropy, Functional, Simple, excessive_protection
from checks.diversity.criterion import Diversity, SensitiveValues, satisfies
from checks.diversity.derived import Projected
from checks.diversity.implications import WeakestImplying, weakest_implying
from checks.errors import CriterionError
from checks.finding import Algorithm, Finding, WorstClass, verdict_of
from models.arrays import BoolArray, IndexArray, read_only, read_only_copy, value_codes
from models.errors import DomainMismatchError
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import Cells, ContingencyTable, group, pack
from models.tables.hierarchy import Domain, Margin, Mask


@frozen(eq=False)
class EquivalenceClasses(Cells):
    """Classes of a table and their sensitive values. Arrays are copied in.

    margin: the nonsensitive part of the table's margin. codes: for each of its attributes, in the domain's order,
    shape (classes,). counts: rows by sensitive value at `level`, int64, shape (classes, values); expected rows,
    float64, for classes of a model. Classes are distinct and have rows; else DomainMismatchError.
    """

    sensitive: str
    level: int

    def __post_init__(self) -> None:
        self.domain.mask({**self.margin, self.sensitive: self.level})
        if self.sensitive in self.margin:
            raise DomainMismatchError(f"classes share their nonsensitive values; {self.sensitive!r} is sensitive")
        counts, values = np.asarray(self.counts), self.domain.hierarchy(self.sensitive).size(self.level)
        if counts.ndim != 2 or counts.shape[1] != values or any(len(column) != len(counts) for column in self.codes):
            raise DomainMismatchError(f"classes need {values} counts and a code of each attribute")
        if counts.dtype.kind not in "iuf":
            raise DomainMismatchError("counts of cells must be numbers, none negative")
        super().__post_init__()
        radices = [self.domain.hierarchy(attribute).size(self.margin[attribute]) for attribute in self.attributes]
        columns = list(map(value_codes, self.codes, self.attributes, radices))
        if not counts.any(axis=1).all():
            raise DomainMismatchError("a class has no rows")
        if len(group(*pack(columns, radices, len(counts)))[0]) < len(counts):
            raise DomainMismatchError("classes must be distinct")
        vars(self).update(codes=tuple(map(read_only_copy, columns)), counts=read_only_copy(counts))

    @property
    def values(self) -> SensitiveValues:
        """Sensitive values, with the rows of each in all classes together; expected rows are rounded."""
        rows = self.counts.sum(axis=0)
        return SensitiveValues(
            self.domain.hierarchy(self.sensitive), self.level, tuple(np.rint(rows).astype(int).tolist())
        )

    def distribution(self, position: int) -> dict[str, float]:
        """Return the rows of a class by the label of their sensitive value, without absent values."""
        labels = self.domain.hierarchy(self.sensitive).labels[self.level]
        return {label: count for label, count in zip(labels, self.counts[position].tolist()) if count}


def equivalence_classes(cells: Cells, sensitive: str) -> EquivalenceClasses:
    """Return the classes of cells that show a sensitive attribute; a class shares all other attributes.

    Parameters
    ----------
    cells
        Counts or expected counts of a margin with the attribute.
    sensitive
        The attribute.
    """
    domain, level = cells.domain, cells.margin[sensitive]
    margin = Margin({a: cells.margin[a] for a in cells.attributes if a != sensitive})
    columns, radices = cells.columns(margin)
    rows, class_of = group(*pack(columns, radices, len(cells)))
    shape = len(rows), domain.hierarchy(sensitive).size(level)
    counts = np.bincount(class_of * shape[1] + cells.column(sensitive), cells.counts, minlength=prod(shape))
    return EquivalenceClasses._unchecked(
        domain=domain,
        margin=margin,
        codes=tuple(read_only(column[rows]) for column in columns),
        counts=read_only(counts.reshape(shape).astype(cells.counts.dtype)),
        sensitive=sensitive,
        level=level,
    )


def nonsensitive_part(domain: Domain, mask: Mask, sensitive: Iterable[str]) -> Mask:
    """Return a margin without its sensitive attributes."""
    for attribute in sensitive:
        mask &= ~domain.attribute_masks[domain.index(attribute)]
    return mask


def k_link(collection: Collection, sensitive: AnyCollection[str], k: int) -> Finding:
    """Decide whether every marginal, summed over the sensitive attributes, has no count in 1 .. k-1 (KG06 Def. 4.1).

    The verdict is exact for any collection, and every coarser collection inherits it. The empty margin counts too.

    Parameters
    ----------
    collection
        The published marginals.
    sensitive
        Attributes that are set aside.
    k
        Least number of rows.
    """
    masks = [nonsensitive_part(collection.domain, mask, sensitive) for mask in collection.masks]
    return _least_count("k-link", list(map(collection.cube.table, masks)), k)


def k_anonymity(table: ContingencyTable, sensitive: AnyCollection[str], k: int) -> Finding:
    """Decide whether every class of one table has k rows or more (KG06 Def. 2.3).

    Parameters
    ----------
    table
        Counts of a margin.
    sensitive
        Attributes that are set aside.
    k
        Least number of rows.
    """
    classes = table.rolled_up_to(nonsensitive_part(table.domain, table.mask, sensitive))
    return _least_count("k-anonymity", [classes], k)


def _least_count(criterion: str, tables: Sequence[ContingencyTable], k: int) -> Finding:
    smallest = min(filter(len, tables), key=lambda table: int(table.counts.min()), default=None)
    worst, holds = None, smallest is None
    if smallest is not None:
        cell = int(smallest.counts.argmin())
        worst = WorstClass(smallest.labels(cell), smallest.margin, count=int(smallest.counts[cell]))
        holds = int(smallest.counts[cell]) >= k
    return Finding(criterion, verdict_of(holds), {"k": k}, worst, (Algorithm.MINIMUM,), sum(map(len, tables)))


# One table against the criteria. Sensitive attributes are checked in turn, the others being shared (MKGV07 Def. 4.6).


def has_bare_value(classes: EquivalenceClasses, diversity: Diversity) -> bool:
    """Return whether a class has one value alone, and a criterion does not allow that."""
    criterion = diversity.among(classes.values)
    counts = criterion.sums(classes.counts) if isinstance(criterion, Projected) else classes.counts
    single = np.asarray((counts > 0).sum(axis=1) == 1)
    return bool(single.any()) and not satisfies(criterion, classes.counts[single]).all()


def table_diversity(table: ContingencyTable, sensitive: str, diversity: Diversity) -> Finding:
    """Decide exactly whether a table is l-diverse in one sensitive attribute; a class shares all its other attributes.

    The class shown is the furthest beyond the bound, or else the nearest to it. A criterion about base values takes
    those under a general value to be equally likely. Time O(classes * values), ties apart.
    """
    classes = equivalence_classes(table, sensitive)
    diversity = diversity.among(classes.values)
    parameters = {"diversity": str(diversity), "sensitive": sensitive}
    worst, passes = None, satisfies(diversity, classes.counts)
    if len(classes):
        slack = diversity.slack(classes.counts)
        place = int(np.where(passes & ~passes.all(), np.inf, slack).argmin())
        worst = WorstClass(
            classes.labels(place),
            classes.margin,
            count=int(classes.counts[place].sum()),
            distribution=classes.distribution(place),
            reached=float(diversity.reached(classes.counts[[place]])[0]),
        )
    holds = bool(passes.all())
    return Finding("l-diversity", verdict_of(holds), parameters, worst, (Algorithm.EVERY_CLASS,), len(classes))


def table_findings(
    table: ContingencyTable,
    sensitive: Sequence[str],
    diversities: Sequence[Diversity],
    k: int | None = None,
    least_cell: int | None = None,
) -> tuple[Finding, ...]:
    """Return findings on k-anonymity and the least cell, if asked for, then on each diversity by attribute."""
    findings = [] if k is None else [k_anonymity(table, sensitive, k)]
    findings += [] if least_cell is None else [_least_count("min-cell", [table], least_cell)]
    findings += [table_diversity(table, attribute, diversity) for diversity in diversities for attribute in sensitive]
    return tuple(findings)


@frozen
class StrongestRequirements:
    """Strongest requirement of each kind that all classes of a table still satisfy in one sensitive attribute.

    distinct: least number of values. simple: 1 / largest share. entropy: exp of the smallest entropy. recursive_c: for
    l = 2, 3, ... the value that c must exceed, because recursive diversity is strict. It is infinite if a class has
    fewer than l values.
    """

    distinct: int
    simple: float
    entropy: float
    recursive_c: tuple[float, ...]

    def smallest_c(self, l: int) -> float:
        """Return the value that c of recursive (c, l)-diversity must exceed: 0 for l = 1, infinite if no c is enough."""
        if l < 1:
            raise CriterionError(f"recursive:c,l needs l of at least 1, got {l}")
        return 0.0 if l == 1 else self.recursive_c[l - 2] if l - 2 < len(self.recursive_c) else np.inf

    def as_json(self) -> dict[str, Any]:
        """Return the requirements as plain values; null if no c is enough."""
        return vars(self) | {"recursive_c": dict(enumerate(self.recursive_c, 2))}


def reached(counts: NDArray[np.integer[Any]]) -> StrongestRequirements:
    """Return the strongest requirements that classes satisfy together. counts: shape (classes, values), not empty."""
    ordered = np.sort(counts, axis=1)
    tails = np.cumsum(ordered, axis=1)[:, :-1]
    with np.errstate(divide="ignore"):
        ratios = ordered[:, -1:] / tails
    return StrongestRequirements(
        distinct=int(np.count_nonzero(counts, axis=1).min()),
        simple=float(Simple(Fraction(1)).reached(counts).min()),
        entropy=float(Entropy(Fraction(1)).reached(counts).min()),
        recursive_c=tuple(ratios.max(axis=0)[::-1].tolist()),
    )


# Two attacks on one table (MKGV07 section 1.1): classes that agree on a sensitive value, or do once values are ruled out.


NEARLY = Fraction(19, 20)
"""Share from which MKGV07 calls a class nearly homogeneous."""


class AffectedClasses(NamedTuple):
    """Number of classes of a table that an attack affects, and of the rows in them."""

    classes: int
    rows: int


def affected(sizes: NDArray[np.integer[Any]], which: BoolArray) -> AffectedClasses:
    """Return the tally of some classes. sizes: rows of every class, shape (classes,). which: the affected ones."""
    return AffectedClasses(int(np.count_nonzero(which)), int(sizes[which].sum()))


def knowledge_needed(classes: EquivalenceClasses, share: Fraction = Fraction(1)) -> IndexArray:
    """Return for each class how many values of a person a reader must rule out so that it falls, exactly: shape
    (classes,).

    A class falls if one value holds at least a share of the remaining rows. This is the most frequent value, and the
    next most frequent ones are those to rule out; 0 if the class falls from the start.
    """
    if not 0 < share <= 1:
        raise CriterionError(f"an attack reaches a share in (0, 1], got {share}")
    ordered = np.sort(classes.counts, axis=1)
    head = ordered[:, -1:]
    remaining = head + np.cumsum(ordered[:, :-1], axis=1)
    exact = np.int64 if share.denominator * int(remaining.max(initial=0)) < 2**62 else object
    lasting = head.astype(exact) * share.denominator < remaining.astype(exact) * share.numerator
    return np.asarray(lasting.sum(axis=1), dtype=np.intp)


def background_knowledge(
    classes: EquivalenceClasses, ruled_out: Iterable[int], share: Fraction = Fraction(1)
) -> dict[int, AffectedClasses]:
    """Return the tally of classes that fall to a reader who can rule out so many values, for each number of values."""
    needed, sizes = knowledge_needed(classes, share), classes.counts.sum(axis=1)
    return {number: affected(sizes, needed <= number) for number in ruled_out}


def homogeneity(classes: EquivalenceClasses, share: Fraction = NEARLY) -> AffectedClasses:
    """Return the tally of the classes in which one sensitive value holds at least a share of the rows."""
    return background_knowledge(classes, [0], share)[0]


MOST_RULED_OUT = 3
"""Most values of a person that a reader is taken to rule out in an assessment."""


@frozen
class KnowledgeNeeded:
    """Background knowledge that breaks a table, in one sensitive attribute (MKGV07 section 1.1).

    least: how many values of a person a reader must rule out until a single value is left in some class. ruled_out:
    classes and rows that fall to a reader who rules out 1, 2, ... `MOST_RULED_OUT` values.
    """

    least: int
    ruled_out: Mapping[int, AffectedClasses]


@frozen
class Assessment:
    """Assessment of the disclosures by one table.

    k_anonymity: rows of the smallest class. homogeneous, nearly_homogeneous: classes and rows in which one value of
    some sensitive attribute holds all rows, or nearly all. diversity, background_knowledge: by sensitive attribute.
    """

    rows: int
    classes: int
    k_anonymity: int
    diversity: Mapping[str, StrongestRequirements]
    homogeneous: AffectedClasses
    nearly_homogeneous: AffectedClasses
    background_knowledge: Mapping[str, KnowledgeNeeded] = field(default_factory=dict)


def assess(table: ContingencyTable, sensitive: Sequence[str], share: Fraction = NEARLY) -> Assessment:
    """Assess what a table reaches of every criterion, and its homogeneous classes. share: of nearly homogeneous ones.

    Diversity is that of MKGV07 Def. 4.6. Homogeneity is what a reader sees who only knows the quasi-identifier.
    """
    public = table.domain.margin(nonsensitive_part(table.domain, table.mask, sensitive))
    sizes = table.rolled_up(public).counts
    by_attribute = [equivalence_classes(table.rolled_up({**public, a: table.margin[a]}), a) for a in sensitive]
    needed = [[knowledge_needed(c, least) for c in by_attribute] for least in (Fraction(1), share)]
    homogeneous, nearly = (affected(sizes, np.min([np.ones(len(sizes)), *of_each], axis=0) == 0) for of_each in needed)
    return Assessment(
        rows=table.total,
        classes=len(sizes),
        k_anonymity=int(sizes.min()) if len(sizes) else 0,
        diversity={a: reached(equivalence_classes(table, a).counts) for a in sensitive if len(table)},
        homogeneous=homogeneous,
        nearly_homogeneous=nearly,
        background_knowledge={
            c.sensitive: KnowledgeNeeded(int(least.min()), background_knowledge(c, range(1, MOST_RULED_OUT + 1)))
            for c, least in zip(by_attribute, needed[0])
            if len(c)
        },
    )


# Eligible requirements: requirements that some generalization of the given table can satisfy (TZ09 section I).
#
# With every quasi-identifier suppressed all rows are one class, and no generalization of the quasi-identifiers
# satisfies more: the k most frequent values never hold more of a union of classes than of one of them.


LARGEST_L = 20
"""Largest l for which the smallest tau is computed."""

DECIMALS = 6
"""Decimals of a tau in an answer; it is rounded up, so that it can be demanded."""


@frozen
class Eligibility:
    """Strongest requirements that any generalization of one table satisfies in one sensitive attribute.

    tau: for l = 2, 3, ..., `LARGEST_L` the smallest tau of (tau, l)-diversity; 1 if no tau is enough. generalized: the
    smallest tau if sensitive values are generalized too, as SWEEP does: 1 / values. excess: by requirement the
    excessive protection of the table, None if the table does not satisfy it. implying: by requirement the diversities
    that imply it.
    """

    reached: StrongestRequirements
    tau: tuple[Fraction, ...]
    generalized: Fraction
    excess: Mapping[str, float | None]
    implying: Mapping[str, WeakestImplying] = field(default_factory=dict)

    @property
    def values(self) -> int:
        """Number of different values that occur."""
        return self.generalized.denominator

    def as_json(self) -> dict[str, Any]:
        """Return the eligibility as plain values; null if no c or tau is enough."""
        return self.reached.as_json() | {
            "functional_tau": {str(l): rounded_up(tau) if tau < 1 else None for l, tau in enumerate(self.tau, 2)},
            "values": self.values,
            "functional_tau_generalized": rounded_up(self.generalized) if self.values > 1 else None,
            "excessive_protection": self.excess,
            "implied_by": self.implying,
        }


def eligibility(
    table: ContingencyTable,
    base: ContingencyTable,
    sensitive: Sequence[str],
    demanded: Mapping[str, Sequence[Diversity]],
) -> dict[str, Eligibility]:
    """Return the eligible requirements of a table, by sensitive attribute, and its excessive protection.

    base: the table with base values of its sensitive attributes. The other sensitive attributes stay as they are
    (MKGV07 Def. 4.6). demanded: requirements by sensitive attribute. Both tables must have rows.
    """
    result = {}
    for attribute in sensitive:
        suppressed = equivalence_classes(base.rolled_up({name: base.margin[name] for name in sensitive}), attribute)
        occurring = int((suppressed.counts.sum(axis=0) > 0).sum())
        classes = np.unique(-np.sort(-suppressed.counts, axis=1), axis=0).tolist()
        ls = range(2, min(occurring, LARGEST_L) + 1)
        tau = tuple(max(smallest_tau(counts, l) for counts in classes) for l in ls)
        functional = [one for one in demanded.get(attribute, ()) if isinstance(one, Functional)]
        published = equivalence_classes(table, attribute)
        excess, implying = {}, {str(one): weakest_implying(one, occurring) for one in functional}
        for one in functional:
            criterion = one.among(published.values)
            satisfied = bool(satisfies(criterion, published.counts).all())
            excess[str(one)] = excessive_protection(criterion, published.counts) if satisfied else None
        result[attribute] = Eligibility(reached(suppressed.counts), tau, Fraction(1, occurring), excess, implying)
    return result


def smallest_tau(counts: Sequence[int], l: int) -> Fraction:
    """Return the exact smallest tau with which one class is (tau, l)-diverse; 1 if no smaller one is enough.

    counts: of its values, the largest first. psi(k) = tau + (1 - tau) (k - 1) / (l - 1) must be at least F(k) for all
    k < l.
    """
    total, held, smallest = sum(counts), 0, Fraction(0)
    for k, count in enumerate(counts[: l - 1], 1):
        held += count
        step = Fraction(k - 1, l - 1)
        smallest = max(smallest, (Fraction(held, total) - step) / (1 - step))
    return smallest


def rounded_up(tau: Fraction) -> float:
    """Return a tau with `DECIMALS` decimals, never below it."""
    return float(Fraction(ceil(tau * 10**DECIMALS), 10**DECIMALS))
