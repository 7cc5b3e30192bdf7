"""One table, class by class: the privacy criteria that it satisfies, and the risk that somebody finds a person in it."""

from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criteria import Entropy, Functional, Simple, excessive_protection
from checks.diversity.criterion import BOUNDARY, Diversity, SensitiveValues, satisfies
from checks.diversity.implications import WeakestImplying, weakest_implying
from checks.diversity.text import spelled
from checks.errors import CriterionError
from checks.finding import Algorithm, Finding, WorstClass, verdict_of
from models.arrays import (
    BoolArray,
    CodeArray,
    CountArray,
    FloatArray,
    IndexArray,
    read_only,
    read_only_copy,
    value_codes,
)
from models.errors import ContradictionError, DomainMismatchError
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import CodedCells, ContingencyTable, group, pack
from models.tables.hierarchy import Domain, Margin, Mask

# The risk that somebody finds a person's row, as the field counts it: prosecutor, journalist and marketer.
#
# A *prosecutor* knows that a person is in the table and sees a class of f rows: 1 / f. A *journalist* does not know
# who is in the table, and finds F people of the population who could be meant: 1 / F. A *marketer* links all rows at
# random and is right for so many of them on average. Without a population the table is its own. (El Emam, Dankar:
# Protecting Privacy Using k-Anonymity, JAMIA 15(5) 2008; Dankar, El Emam: A Method for Evaluating Marketer
# Re-identification Risk, EDBT 2010.)


THRESHOLDS = (Fraction(1, 3), Fraction(1, 5), Fraction(1, 11), Fraction(1, 20))
"""Risks above which records are counted: those of classes of fewer than 3, 5, 11 and 20."""

_MOST_COLUMNS = 3
"""Columns of the largest sets that are looked at for making records unique."""

_MOST_WORK = 20_000_000
"""Classes times sets of columns that are looked at; where there are more, the sets are smaller."""


@dataclass(frozen=True)
class Risk:
    """The risk of finding a record's person. above: the share of records with more risk than each threshold."""

    highest: float
    average: float
    above: Mapping[Fraction, float]

    @classmethod
    def of(cls, sizes: CountArray, risks: FloatArray) -> "Risk":
        """sizes: rows of each class, one at least. risks: of each of its rows, shape (classes,)."""
        rows = sizes.sum()
        # A risk of 1/n is not above 1/n, whatever rounding says.
        above = {bound: float(sizes[risks > float(bound) * (1 + 1e-12)].sum() / rows) for bound in THRESHOLDS}
        return cls(float(risks.max()), float((sizes * risks).sum() / rows), above)

    def as_json(self) -> dict[str, Any]:
        """As plain values; thresholds as texts such as "1/5"."""
        above = {str(bound): share for bound, share in self.above.items()}
        return {"highest": self.highest, "average": self.average, "above": above}


@dataclass(frozen=True)
class Reidentification:
    """The risks of one table. journalist: None where nothing is known of a population. Its average is the marketer's.

    population_unique: how many rows are the only ones with their values in the population too, None likewise.
    is_estimated: whether both are estimated from a sampling fraction.
    """

    prosecutor: Risk
    journalist: Risk | None = None
    population_unique: float | None = None
    is_estimated: bool = False

    @property
    def marketer(self) -> float:
        """The share of rows that somebody links rightly on average who links all at random."""
        return (self.journalist or self.prosecutor).average

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        plain: dict[str, Any] = {"prosecutor": self.prosecutor.as_json(), "marketer": self.marketer}
        if self.journalist is None:
            return {**plain, "journalist": None}
        known = {"population_unique": self.population_unique, "estimated": self.is_estimated}
        return {**plain, "journalist": self.journalist.as_json(), **known}


def reidentification(sizes: CountArray, population: CountArray | float | None = None) -> Reidentification | None:
    """The risks of a table with classes of these sizes; None without rows.

    population: for each class how many people of the population have its values; or the sampling fraction, from which
    journalist risk is estimated (`estimated_risks`). Raises ContradictionError where there are fewer people than rows, so
    that the table is no sample of the population, CriterionError for a fraction that is none.

    >>> found = reidentification(np.array([1, 4]), np.array([10, 4]))
    >>> found.prosecutor.highest, found.prosecutor.average, round(found.marketer, 3)
    (1.0, 0.4, 0.22)
    """
    if not len(sizes):
        return None
    prosecutor, single = Risk.of(sizes, 1 / sizes), sizes == 1
    if population is None:
        return Reidentification(prosecutor)
    if isinstance(population, float):
        estimated = Risk.of(sizes, estimated_risks(sizes, population))
        return Reidentification(prosecutor, estimated, population * float(single.sum()), is_estimated=True)
    require_sample(sizes, population)
    alone = float((single & (population == 1)).sum())
    return Reidentification(prosecutor, Risk.of(sizes, 1 / population), alone)


def estimated_risks(sizes: CountArray, fraction: float) -> FloatArray:
    """The expected 1 / F of classes with f rows, where the table is a random sample of so large a share of a population.

    F given f is negative binomial, which is what a sample tells where nothing is known of F before: F - f people were
    passed over (Benedetti, Franconi: Statistical and Technological Solutions for Controlled Data Dissemination, NTTS 1998).
    So a row that is unique in the table is unique in the population with the probability `fraction`. The expectation is
    fraction / f times the hypergeometric function 2F1(1, 1; f + 1; 1 - fraction).

    >>> estimated_risks(np.array([1, 5]), 1.0)
    array([1. , 0.2])
    """
    if not 0 < fraction <= 1:
        raise CriterionError(f"a sampling fraction is above 0 and at most 1, got {fraction:g}")
    from scipy.special import hyp2f1  # slow to import, and few need it

    return np.asarray(fraction / sizes * hyp2f1(1, 1, sizes + 1, 1 - fraction), dtype=np.float64)


def require_sample(sizes: CountArray, population: CountArray) -> None:
    """Raise ContradictionError where a class has more rows than there are people with its values."""
    if beyond := int((sizes > population).sum()):
        raise ContradictionError(
            f"{beyond:,} of {len(sizes):,} classes have more rows than the population has people with their values, so the "
            "table is no sample of it"
        )


@dataclass(frozen=True)
class Uniqueness:
    """What makes records unique.

    records: how many are unique by all columns together. most: columns of the largest sets that were looked at. columns: of
    the records that are unique by a set of up to so many columns, no smaller set of which makes them unique, the share with
    such a set that the column belongs to.
    """

    records: int
    most: int
    columns: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"records": self.records, "most": self.most, "columns": dict(self.columns)}


def uniqueness(classes: ContingencyTable) -> Uniqueness:
    """Which columns make records unique, by minimal sample uniques as SUDA2 looks for them.

    (Manning, Haglin, Keane: A Recursive Search Algorithm for Statistical Disclosure Assessment, Data Mining and Knowledge
    Discovery 16(2) 2008.) classes: a table of nonsensitive values. Time: a pass over it for each set of up to three columns,
    of up to two or one where that is too much.
    """
    single = np.flatnonzero(classes.counts == 1)
    names = list(classes.attributes)
    sets = np.cumsum([comb(len(names), size) for size in range(1, min(len(names), _MOST_COLUMNS) + 1)])
    most = max(int((sets * len(classes) <= _MOST_WORK).sum()), 1)
    minimal: dict[frozenset[str], BoolArray] = {}
    by_column = {name: np.zeros(len(single), dtype=bool) for name in names}
    for size in range(1, min(len(names), most) + 1):
        for chosen in combinations(names, size):
            part = classes.rolled_up({name: classes.margin[name] for name in chosen})
            unique = part.counts[classes.positions_in(part)[single]] == 1
            for smaller, known in minimal.items():
                if smaller < frozenset(chosen):
                    unique &= ~known
            if unique.any():
                minimal[frozenset(chosen)] = unique
                for name in chosen:
                    by_column[name] |= unique
    result = max(int(np.logical_or.reduce(list(by_column.values())).sum()), 1) if names else 1
    return Uniqueness(len(single), most, {name: int(unique.sum()) / result for name, unique in by_column.items()})


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The classes of a table and what they hold.

    margin: the nonsensitive part of the table's margin. codes: for each of its attributes, in the domain's order, shape
    (classes,). counts: shape (classes, values), rows by sensitive value at `level`, int64; expected rows, float64, where
    the classes are those of a model. Classes are distinct and have rows. Arrays are copied in. Raises DomainMismatchError
    where this is not so.
    """

    domain: Domain
    margin: Margin
    codes: tuple[CodeArray, ...]
    sensitive: str
    level: int
    counts: NDArray[Any]

    def __post_init__(self) -> None:
        self.domain.mask({**self.margin, self.sensitive: self.level})
        if self.sensitive in self.margin:
            raise DomainMismatchError(f"classes share their nonsensitive values; {self.sensitive!r} is sensitive")
        if len(self.codes) != len(self.attributes):
            raise DomainMismatchError(f"{len(self.attributes)} attributes came with {len(self.codes)} code columns")
        radices = [self.domain.hierarchy(attribute).size(self.margin[attribute]) for attribute in self.attributes]
        columns = list(map(value_codes, self.codes, self.attributes, radices))
        counts = np.asarray(self.counts)
        values = self.domain.hierarchy(self.sensitive).size(self.level)
        if counts.ndim != 2 or counts.shape[1] != values or any(len(column) != len(counts) for column in columns):
            raise DomainMismatchError(f"classes need {values} counts and a code of each attribute")
        if counts.dtype.kind not in "iuf" or not np.all((counts >= 0) & np.isfinite(counts)):
            raise DomainMismatchError("counts of classes must be numbers, none negative")
        if not counts.any(axis=1).all():
            raise DomainMismatchError("a class has no rows")
        if len(group(*pack(columns, radices, len(counts)))[0]) < len(counts):
            raise DomainMismatchError("classes must be distinct")
        object.__setattr__(self, "codes", tuple(map(read_only_copy, columns)))
        object.__setattr__(self, "counts", read_only_copy(counts))

    @classmethod
    def _of_grouped(
        cls, margin: Margin, table: tuple[Domain, str, int], codes: Sequence[CodeArray], counts: NDArray[Any]
    ) -> "EquivalenceClasses":
        """From classes that were just grouped, so that they are what the constructor demands: it would group them again.

        table: its domain, and the sensitive attribute with its level.
        """
        domain, sensitive, level = table
        classes = object.__new__(cls)
        vars(classes).update(domain=domain, margin=margin, codes=tuple(map(read_only, codes)), sensitive=sensitive)
        vars(classes).update(level=level, counts=read_only(counts))
        return classes

    def __len__(self) -> int:
        """Number of classes."""
        return len(self.counts)

    @property
    def values(self) -> SensitiveValues:
        """The sensitive values, and the rows that all classes together have of each; expected rows are rounded."""
        rows = self.counts.sum(axis=0)
        return SensitiveValues(
            self.domain.hierarchy(self.sensitive), self.level, tuple(np.rint(rows).astype(int).tolist())
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the margin in the domain's order."""
        return tuple(attribute for attribute in self.domain.attributes if attribute in self.margin)

    @property
    def coded_cells(self) -> CodedCells:
        """What the classes share, by codes."""
        return CodedCells(self.domain, self.margin, dict(zip(self.attributes, self.codes)), len(self))

    def labels(self, position: int) -> dict[str, str]:
        """The published labels of a class."""
        return {
            attribute: self.domain.hierarchy(attribute).labels[self.margin[attribute]][int(codes[position])]
            for attribute, codes in zip(self.attributes, self.codes)
        }

    def distribution(self, position: int) -> dict[str, float]:
        """The rows of a class by the label of their sensitive value, absent values left out."""
        labels = self.domain.hierarchy(self.sensitive).labels[self.level]
        return {label: count for label, count in zip(labels, self.counts[position].tolist()) if count}


def equivalence_classes(table: ContingencyTable, sensitive: str) -> EquivalenceClasses:
    """The classes of a table that shows the sensitive attribute; its other attributes are what classes share."""
    codes = dict(zip(table.attributes, table.codes))
    return grouped(table.domain, table.margin, codes, table.counts, sensitive)


def grouped(
    domain: Domain, margin: Margin, codes: Mapping[str, CodeArray], weights: NDArray[Any], sensitive: str
) -> EquivalenceClasses:
    """The classes of weighted cells: counts of rows, or expected counts. weights: shape (cells,)."""
    level = margin[sensitive]
    shared = [a for a in domain.attributes if a in margin and a != sensitive]
    radices = [domain.hierarchy(a).size(margin[a]) for a in shared]
    keys, space = pack([codes[a] for a in shared], radices, len(weights))
    rows, class_of = group(keys, space)
    values = domain.hierarchy(sensitive).size(level)
    cells = class_of * values + codes[sensitive]
    counts = np.bincount(cells, weights, minlength=len(rows) * values).reshape(len(rows), values)
    return EquivalenceClasses._of_grouped(
        Margin({a: margin[a] for a in shared}),
        (domain, sensitive, level),
        [codes[a][rows] for a in shared],
        counts.astype(weights.dtype),
    )


# Bayes-optimal privacy: what somebody learns who knows how sensitive values are distributed in the population.
#
# MKGV07 section 3. Alice knows, for people like Bob (q), how often each sensitive value s occurs in the population;
# that is her prior belief. The published class that Bob is in changes it to a posterior belief (Theorem 3.1). Merging
# classes can break this criterion (Theorem 5.1), so no search may prune with it.


@dataclass(frozen=True)
class ChangeOfBelief:
    """What somebody believes of a person before and after a table is published: the probability of a sensitive value.

    cell: the person's nonsensitive values.
    """

    cell: Mapping[str, str]
    value: str
    prior: float
    posterior: float

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def prior_belief(alike: NDArray[Any]) -> FloatArray:
    """The belief alpha = f(s | q), before anything is published: shape (people, values).

    alike: how often each sensitive value occurs in the population among those with the same nonsensitive values, in any
    scale. Raises ContradictionError where there is nobody.
    """
    totals = np.asarray(alike, dtype=np.float64).sum(axis=1, keepdims=True)
    if not (totals > 0).all():
        raise ContradictionError("the population has nobody with the nonsensitive values of somebody in the table")
    return np.asarray(alike / totals, dtype=np.float64)


def posterior_belief(published: NDArray[Any], alike: NDArray[Any], in_class: NDArray[Any]) -> FloatArray:
    """The belief beta, after the table is published (MKGV07 Theorem 3.1): shape (people, values).

    For each person: published, the counts n(q*, s) of his class; alike, f(q, s) or f(s | q), how often each value occurs
    in the population among those like him; in_class, f(q*, s) or f(s | q*), among all who would be in his class. Each
    row in any scale, all of shape (people, values). Raises ContradictionError where the population rules out a published
    value, or that the person is in the table at all.

    >>> posterior_belief(np.array([[36, 16]]), np.array([[15, 35]]), np.array([[40, 60]])).round(3)
    array([[0.591, 0.409]])
    """
    occurs = np.asarray(published) > 0
    if np.any(occurs & ~(np.asarray(in_class) > 0)):
        raise ContradictionError("a class shows a sensitive value that nobody of the population who would be in it has")
    weights = np.divide(
        published * np.asarray(alike, dtype=np.float64), in_class, out=np.zeros(occurs.shape), where=occurs
    )
    totals = weights.sum(axis=1, keepdims=True)
    if not (totals > 0).all():
        raise ContradictionError("a class shows none of the sensitive values that somebody in it can have")
    return np.asarray(weights / totals, dtype=np.float64)


def positive_disclosure(posterior: FloatArray, rows: CountArray, delta: float) -> BoolArray:
    """Where a belief exceeds 1 - delta and is right for somebody (MKGV07 Def. 3.1): shape (people, values).

    rows: of the original table, n(q, s).
    """
    return np.asarray((posterior > 1 - delta) & (rows > 0))


def negative_disclosure(posterior: FloatArray, rows: CountArray, epsilon: float) -> BoolArray:
    """Where a belief is below epsilon and somebody has indeed another value (MKGV07 Def. 3.2): shape (people, values).

    rows: of the original table, n(q, s).
    """
    return np.asarray((posterior < epsilon) & (rows.sum(axis=1, keepdims=True) > rows))


def breach(prior: FloatArray, posterior: FloatArray, rho_1: Fraction, rho_2: Fraction) -> BoolArray:
    """Where a belief below rho_1 rose above rho_2, or one above 1 - rho_1 fell below 1 - rho_2 (MKGV07 Def. 3.3)."""
    return _excess(prior, posterior, float(rho_1), float(rho_2)) > 0


def bayes_optimal(
    table: ContingencyTable,
    population: ContingencyTable,
    sensitive: str,
    levels: Mapping[str, int],
    rho_1: Fraction,
    rho_2: Fraction,
) -> Finding:
    """Whether publishing a table generalized to `levels` leaves it without a (rho_1, rho_2)-breach, decided exactly.

    table: the rows, with nonsensitive values as an adversary knows them. population: what she knows of everybody, at
    the levels of the table or finer. levels: of the nonsensitive attributes; those left out are suppressed. Raises
    ContradictionError where the table cannot be a sample of the population.
    """
    if not 0 < rho_1 < rho_2 < 1:
        raise CriterionError(f"0 < rho_1 < rho_2 < 1 does not hold for {spelled(rho_1)} and {spelled(rho_2)}")
    people = equivalence_classes(table, sensitive)
    coarse = {a: level for a, level in levels.items() if a != sensitive}
    published = equivalence_classes(table.rolled_up({**coarse, sensitive: people.level}), sensitive)
    class_of = table.rolled_up(people.margin).positions_in(table.rolled_up(coarse))
    counts = published.counts[class_of]
    alike = _in_population(population, people)
    in_class = _in_population(population, published)[class_of]
    prior, posterior = prior_belief(alike), posterior_belief(counts, alike, in_class)
    excess = _excess(prior, posterior, float(rho_1), float(rho_2))
    breached = excess > 0
    for person, value in np.argwhere(np.abs(excess) <= BOUNDARY).tolist():
        before = Fraction(int(alike[person, value]), int(alike[person].sum()))
        after = _exact_posterior(*(array[person].tolist() for array in (counts, alike, in_class)))[value]
        breached[person, value] = _exact_breach(before, after, rho_1, rho_2)
    worst = None
    if breached.size:
        suspects = np.where(breached | ~breached.any(), excess, -np.inf)
        at, suspect = divmod(int(suspects.argmax()), excess.shape[1])
        worst = ChangeOfBelief(
            people.labels(at),
            table.domain.hierarchy(sensitive).labels[people.level][suspect],
            float(prior[at, suspect]),
            float(posterior[at, suspect]),
        )
    parameters = {"rho_1": float(rho_1), "rho_2": float(rho_2), "sensitive": sensitive}
    verdict = verdict_of(not breached.any())
    return Finding("bayes-optimal", verdict, parameters, worst, (Algorithm.EVERY_BELIEF,), breached.size)


def _excess(prior: FloatArray, posterior: FloatArray, rho_1: float, rho_2: float) -> FloatArray:
    """Positive where there is a breach, negative where there is none: by how much the weaker condition is met."""
    rise = np.minimum(rho_1 - prior, posterior - rho_2)
    fall = np.minimum(prior - (1 - rho_1), (1 - rho_2) - posterior)
    return np.maximum(rise, fall)


def _exact_posterior(published: Sequence[int], alike: Sequence[int], in_class: Sequence[int]) -> list[Fraction]:
    weights = [Fraction(n * f, g) if n else Fraction(0) for n, f, g in zip(published, alike, in_class)]
    total = sum(weights)
    return [weight / total for weight in weights]


def _exact_breach(prior: Fraction, posterior: Fraction, rho_1: Fraction, rho_2: Fraction) -> bool:
    rises = prior < rho_1 and posterior > rho_2
    return rises or (prior > 1 - rho_1 and posterior < 1 - rho_2)


def _in_population(population: ContingencyTable, classes: EquivalenceClasses) -> CountArray:
    """Rows of the population with the nonsensitive values of each class, by value: shape (classes, values)."""
    values = classes.counts.shape[1]
    codes = {a: np.repeat(column, values) for a, column in zip(classes.attributes, classes.codes)}
    codes[classes.sensitive] = np.tile(np.arange(values), len(classes))
    table = population.rolled_up({**classes.margin, classes.sensitive: classes.level})
    return table.counts_of(codes).reshape(len(classes), values)


# Two attacks on one table: classes that agree on a sensitive value, and classes that do once values are ruled out.
#
# MKGV07 section 1.1 describes them, Figs. 9 to 12 count what the first of them affects.


NEARLY = Fraction(19, 20)
"""The share from which on MKGV07 calls a class nearly homogeneous."""


@dataclass(frozen=True)
class AffectedClasses:
    """How many classes of a table an attack affects, and how many rows they hold."""

    classes: int
    rows: int

    def as_json(self) -> dict[str, int]:
        """As plain values."""
        return {"classes": self.classes, "rows": self.rows}


@dataclass(frozen=True)
class AverageAffectedClasses:
    """An attack on several tables: how many have an affected class, and mean classes and rows over all of them."""

    tables: int
    affected_tables: int
    classes: float
    rows: float


def affected(sizes: NDArray[np.integer[Any]], which: BoolArray) -> AffectedClasses:
    """The tally of some classes. sizes: rows of every class, shape (classes,). which: the affected ones."""
    return AffectedClasses(int(np.count_nonzero(which)), int(sizes[which].sum()))


def average(tables: Sequence[AffectedClasses]) -> AverageAffectedClasses:
    """The tally of an attack on each table of a list, as a row of MKGV07 Figs. 9 to 12 gives it."""
    number = len(tables)
    return AverageAffectedClasses(
        tables=number,
        affected_tables=sum(table.classes > 0 for table in tables),
        classes=sum(table.classes for table in tables) / number if number else 0.0,
        rows=sum(table.rows for table in tables) / number if number else 0.0,
    )


def nearly_homogeneous(classes: EquivalenceClasses, share: Fraction = NEARLY) -> BoolArray:
    """The classes in which one sensitive value holds at least a share of the rows, exactly: shape (classes,).

    A share of 1 asks for homogeneous classes.
    """
    return falls_to(classes, 0, share)


def homogeneity(classes: EquivalenceClasses, share: Fraction = NEARLY) -> AffectedClasses:
    """The tally of the classes in which one sensitive value holds at least a share of the rows."""
    return affected(classes.counts.sum(axis=1), nearly_homogeneous(classes, share))


def falls_to(classes: EquivalenceClasses, ruled_out: int, share: Fraction = Fraction(1)) -> BoolArray:
    """The classes that fall to somebody who can rule out some sensitive values of a person, exactly: shape (classes,).

    A class falls when, with the most telling `ruled_out` values gone, one value holds at least a share of the rows that
    are left; this is the most frequent value, and the next most frequent are those to rule out. With a share of 1 the
    classes that fall are those with at most ruled_out + 1 values.
    """
    if ruled_out < 0 or not 0 < share <= 1:
        raise CriterionError(
            f"an attack rules out 0 values or more to reach a share in (0, 1], got {ruled_out}, {share}"
        )
    ordered = np.sort(classes.counts, axis=1)
    head = ordered[:, -1]
    remaining = head + ordered[:, : max(ordered.shape[1] - 1 - ruled_out, 0)].sum(axis=1)
    exact = np.int64 if share.denominator * int(remaining.max(initial=0)) < 2**62 else object
    return np.asarray(head.astype(exact) * share.denominator >= remaining.astype(exact) * share.numerator, dtype=bool)


def knowledge_needed(classes: EquivalenceClasses, share: Fraction = Fraction(1)) -> IndexArray:
    """For each class how many values one must rule out for it to fall, 0 where it is homogeneous: shape (classes,)."""
    needed = np.zeros(len(classes), dtype=np.intp)
    for ruled_out in range(classes.counts.shape[1]):
        needed += ~falls_to(classes, ruled_out, share)
    return needed


def background_knowledge(
    classes: EquivalenceClasses, ruled_out: Sequence[int], share: Fraction = Fraction(1)
) -> dict[int, AffectedClasses]:
    """The tally of the classes that fall to somebody who can rule out 1, 2, ... values."""
    needed, sizes = knowledge_needed(classes, share), classes.counts.sum(axis=1)
    return {number: affected(sizes, needed <= number) for number in ruled_out}


MOST_RULED_OUT = 3
"""Values that somebody is taken to rule out of a person, at most, where a table is assessed."""


@dataclass(frozen=True)
class KnowledgeNeeded:
    """What background knowledge breaks of a table, in one sensitive attribute (MKGV07 section 1.1).

    least: how many values of a person one must rule out, so that a single value is left in some class; 0 where a class has
    only one. fallen: classes and rows that fall to somebody who rules out 1, 2, ... `MOST_RULED_OUT` values.
    """

    least: int
    fallen: Mapping[int, AffectedClasses]

    @classmethod
    def of(cls, classes: EquivalenceClasses) -> "KnowledgeNeeded":
        """That of some classes, at least one."""
        least = int(knowledge_needed(classes).min())
        return cls(least, background_knowledge(classes, range(1, MOST_RULED_OUT + 1)))

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"least": self.least, "ruled_out": {str(n): fallen.as_json() for n, fallen in self.fallen.items()}}


# Criteria on one table as a sample of a population, whose nonsensitive values are known of everybody.
#
# They are about single tables: which people of a population a collection of marginals could be about is no matter of
# its maximum-entropy distribution, so there is no exact check of several tables together.


SINGLE_TABLES = (
    "k-map, delta-presence and bayes-optimal privacy against a population are decided of single tables only, by marginals "
    "assess"
)
"""What is said where they are asked of a release."""


@dataclass(frozen=True)
class PresenceClass:
    """A class of people of the population, and how many of them are in the table."""

    rows: int
    population: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"count": self.rows, "population": self.population, "presence": self.rows / self.population}


def k_map(sizes: CountArray, population: CountArray, k: int) -> Finding:
    """Whether each class of a table has the values of at least k people of the population.

    (Sweeney: k-Anonymity, 2002, section 5, k-map protection.) sizes, population: of each class its rows, and the people with
    its values. Raises CriterionError for k below 1, ContradictionError where the table is no sample.
    """
    if k < 1:
        raise CriterionError(f"k_map needs a whole number of at least 1, got {k}")
    require_sample(sizes, population)
    holds = not len(sizes) or int(population.min()) >= k
    worst = WorstClass(count=int(population.min())) if len(sizes) else None
    return Finding("k-map", verdict_of(holds), {"k": k}, worst, (Algorithm.EVERY_CLASS,), len(sizes))


def delta_presence(sizes: CountArray, population: CountArray, bounds: tuple[Fraction, Fraction]) -> Finding:
    """Whether the probability that a person of the population is in the table lies between two bounds for everybody.

    (Nergiz, Atzori, Clifton: Hiding the Presence of Individuals from Shared Databases, SIGMOD 2007, Def. 2.) sizes,
    population: for each combination of values that anybody has, the rows with it, maybe none, and the people. Raises
    CriterionError unless 0 <= lower <= upper <= 1, ContradictionError where the table is no sample.
    """
    low, high = bounds
    if not 0 <= low <= high <= 1:
        raise CriterionError(
            f"delta_presence needs two shares from 0 to 1, the lower first, got {spelled(low)} and {spelled(high)}"
        )
    require_sample(sizes, population)
    pairs = list(zip(sizes.tolist(), population.tolist()))
    fails = [low * people > rows or rows > high * people for rows, people in pairs]
    worst = None
    if pairs:
        shares = sizes / population
        excess = np.maximum(shares - float(high), float(low) - shares)
        suspects = np.where(np.array(fails) | ~np.any(fails), excess, -np.inf)
        worst = PresenceClass(*pairs[int(suspects.argmax())])
    parameters: Mapping[str, Any] = {"lower": float(low), "upper": float(high)}
    return Finding(
        "delta-presence", verdict_of(not any(fails)), parameters, worst, (Algorithm.EVERY_CLASS,), len(pairs)
    )


def nonsensitive_part(domain: Domain, mask: Mask, sensitive: Iterable[str]) -> Mask:
    """A margin without its sensitive attributes."""
    for attribute in sensitive:
        mask &= ~domain.attribute_masks[domain.index(attribute)]
    return mask


def smallest_class(classes: ContingencyTable) -> WorstClass | None:
    """The smallest class of a table over nonsensitive attributes, or None when it has no cell."""
    if not len(classes):
        return None
    cell = int(classes.counts.argmin())
    return WorstClass(classes.labels(cell), classes.margin, count=int(classes.counts[cell]))


def k_link(collection: Collection, sensitive: AnyCollection[str], k: int) -> Finding:
    """Whether every marginal, summed over the sensitive attributes, has no count in 1 .. k-1 (KG06 Def. 4.1).

    Inherited by every coarser collection. Holds for any collection, decomposable or not. The empty margin counts too:
    fewer than k rows in all fail.
    """
    smallest, least, examined = None, inf, 0
    for mask in collection.masks:
        classes = collection.cube.table(nonsensitive_part(collection.domain, mask, sensitive))
        examined += len(classes)
        if len(classes) and classes.counts.min() < least:
            smallest, least = smallest_class(classes), int(classes.counts.min())
    return Finding("k-link", verdict_of(least >= k), {"k": k}, smallest, (Algorithm.MINIMUM,), examined)


def k_anonymity(table: ContingencyTable, sensitive: AnyCollection[str], k: int) -> Finding:
    """Whether every class of one table has k rows or more (KG06 Def. 2.3)."""
    mask = nonsensitive_part(table.domain, table.mask, sensitive)
    classes = table.rolled_up(table.domain.margin(mask))
    holds = not len(classes) or int(classes.counts.min()) >= k
    smallest = smallest_class(classes)
    return Finding("k-anonymity", verdict_of(holds), {"k": k}, smallest, (Algorithm.MINIMUM,), len(classes))


def smallest_cell(table: ContingencyTable, least: int) -> Finding:
    """Whether every cell of one table, sensitive attributes counted, has so many rows or none."""
    return replace(k_anonymity(table, (), least), criterion="min-cell")


# One table against the privacy criteria: the verdict on each, the worst class, and what the table reaches.
#
# Where a table has several sensitive attributes each is checked in turn, and the others then belong to what classes
# share (MKGV07 Def. 4.6).


def check_classes(classes: EquivalenceClasses, diversity: Diversity) -> Finding:
    """Whether every class passes, exactly, with the class furthest beyond the bound or else nearest to it.

    Columns are the published values of the sensitive attribute. Time O(classes * values), ties apart.
    """
    parameters = {"diversity": str(diversity), "sensitive": classes.sensitive}
    if not len(classes):
        return Finding("l-diversity", verdict_of(True), parameters, None, (Algorithm.EVERY_CLASS,), 0)
    passes = satisfies(diversity, classes.counts)
    slack = diversity.slack(classes.counts)
    suspects = np.flatnonzero(~passes) if not passes.all() else np.arange(len(classes))
    worst = int(suspects[slack[suspects].argmin()])
    described = replace(_class(classes, worst), reached=float(diversity.reached(classes.counts[worst : worst + 1])[0]))
    return Finding(
        "l-diversity", verdict_of(bool(passes.all())), parameters, described, (Algorithm.EVERY_CLASS,), len(classes)
    )


def table_diversity(table: ContingencyTable, sensitive: str, diversity: Diversity) -> Finding:
    """Whether a table is l-diverse in one sensitive attribute that it shows; all its other attributes are what classes
    share. A criterion about base values takes those under a general value to be equally likely.
    """
    classes = equivalence_classes(table, sensitive)
    return check_classes(classes, diversity.among(classes.values))


def table_findings(
    table: ContingencyTable,
    sensitive: Sequence[str],
    diversities: Sequence[Diversity],
    k: int | None = None,
    least_cell: int | None = None,
) -> tuple[Finding, ...]:
    """k-anonymity where k is given, the least cell where it is, then each diversity in each sensitive attribute in turn
    (MKGV07 Def. 4.6).
    """
    findings = [] if k is None else [k_anonymity(table, sensitive, k)]
    findings += [] if least_cell is None else [smallest_cell(table, least_cell)]
    findings += [table_diversity(table, attribute, diversity) for diversity in diversities for attribute in sensitive]
    return tuple(findings)


@dataclass(frozen=True)
class StrongestRequirements:
    """The strongest requirement of each kind that all classes of a table still satisfy in one sensitive attribute.

    distinct: least number of values. simple: 1 / largest share. entropy: exp of the smallest entropy. recursive_c: for
    l = 2, 3, ... what c must exceed, recursive diversity being strict; infinite where a class has fewer than l values.
    """

    distinct: int
    simple: float
    entropy: float
    recursive_c: tuple[float, ...]

    def smallest_c(self, l: int) -> float:
        """The c that recursive (c, l)-diversity must exceed: 0 for l = 1, infinite when no c will do."""
        if l < 1:
            raise CriterionError(f"recursive:c,l needs l of at least 1, got {l}")
        return 0.0 if l == 1 else self.recursive_c[l - 2] if l - 2 < len(self.recursive_c) else np.inf

    def as_json(self) -> dict[str, Any]:
        """As plain values; null where no c will do."""
        return {
            "distinct": self.distinct,
            "simple": self.simple,
            "entropy": self.entropy,
            "recursive_c": {str(number): _finite(c) for number, c in enumerate(self.recursive_c, 2)},
        }


def reached(counts: NDArray[np.integer[Any]]) -> StrongestRequirements:
    """What classes reach together. counts: class by sensitive value, shape (classes, values), at least one class."""
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


def eligible(table: ContingencyTable, sensitive: str, others: Sequence[str] = ()) -> StrongestRequirements:
    """The eligible range of each kind of requirement: what the table satisfies with everything suppressed but its
    sensitive attributes, and so the strongest that any generalization can (TZ09 section I).

    others: the other sensitive attributes, which stay as they are (MKGV07 Def. 4.6). The table must have rows.
    """
    levels = {attribute: table.margin[attribute] for attribute in (sensitive, *others)}
    return reached(equivalence_classes(table.rolled_up(levels), sensitive).counts)


@dataclass(frozen=True)
class Assessment:
    """What one table gives away.

    k_anonymity: rows of the smallest class. diversity: by sensitive attribute. homogeneous, nearly_homogeneous: classes
    and rows in which one value of some sensitive attribute holds all rows, or nearly all. knowledge: by sensitive attribute
    what somebody achieves who can rule out values of a person.
    """

    rows: int
    classes: int
    k_anonymity: int
    diversity: Mapping[str, StrongestRequirements]
    homogeneous: AffectedClasses
    nearly_homogeneous: AffectedClasses
    knowledge: Mapping[str, "KnowledgeNeeded"] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The assessment as plain values."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            "k_anonymity": self.k_anonymity,
            "diversity": {attribute: reached.as_json() for attribute, reached in self.diversity.items()},
            "homogeneous": self.homogeneous.as_json(),
            "nearly_homogeneous": self.nearly_homogeneous.as_json(),
            "background_knowledge": {attribute: needed.as_json() for attribute, needed in self.knowledge.items()},
        }


def assess(table: ContingencyTable, sensitive: Sequence[str], share: Fraction = NEARLY) -> Assessment:
    """What a table reaches of every criterion, and its homogeneous classes; `share` says what nearly homogeneous means.

    Diversity is that of MKGV07 Def. 4.6. Homogeneity is what somebody sees who knows the quasi-identifier alone.
    """
    public = table.domain.margin(nonsensitive_part(table.domain, table.mask, sensitive))
    sizes = table.rolled_up(public).counts
    by_attribute = [equivalence_classes(table.rolled_up({**public, a: table.margin[a]}), a) for a in sensitive]
    nobody = np.zeros(len(sizes), dtype=bool)
    return Assessment(
        rows=table.total,
        classes=len(sizes),
        k_anonymity=int(sizes.min()) if len(sizes) else 0,
        diversity={a: reached(equivalence_classes(table, a).counts) for a in sensitive if len(table)},
        homogeneous=affected(
            sizes, np.logical_or.reduce([nobody, *(nearly_homogeneous(c, Fraction(1)) for c in by_attribute)])
        ),
        nearly_homogeneous=affected(
            sizes, np.logical_or.reduce([nobody, *(nearly_homogeneous(c, share) for c in by_attribute)])
        ),
        knowledge={c.sensitive: KnowledgeNeeded.of(c) for c in by_attribute if len(c)},
    )


def _class(classes: EquivalenceClasses, position: int) -> WorstClass:
    return WorstClass(
        classes.labels(position),
        classes.margin,
        count=int(classes.counts[position].sum()),
        distribution=classes.distribution(position),
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


# Eligible requirements: those that some table made of the given one can satisfy, by generalizing it (TZ09 section I).
#
# With every quasi-identifier suppressed all rows are one class, and no generalization of the quasi-identifiers
# satisfies more: the k most frequent values of a union of classes never hold more of it than of the class in which
# they hold most.


LARGEST_L = 20
"""The smallest tau is told for l up to this."""

DECIMALS = 6
"""To so many decimals a tau is told, rounded up, so that it can be asked for."""


@dataclass(frozen=True)
class Eligibility:
    """The strongest requirements that any generalization of one table satisfies in one sensitive attribute.

    reached: of each kind but the functional one. tau: for l = 2, 3, ..., `LARGEST_L` the smallest tau of (tau, l)-diversity;
    1 where no tau will do. generalized: the smallest tau where sensitive values are generalized too, as SWEEP does, at
    every l up to the number of values: 1 / values. excess: by requirement the excessive protection of the table that was
    looked at, None where it does not satisfy it. implying: by requirement what simple and recursive diversities imply it.
    """

    reached: StrongestRequirements
    tau: tuple[Fraction, ...]
    generalized: Fraction
    excess: Mapping[str, float | None]
    implying: Mapping[str, WeakestImplying] = field(default_factory=dict)

    @property
    def values(self) -> int:
        """How many different values occur."""
        return self.generalized.denominator

    def as_json(self) -> dict[str, Any]:
        """As plain values; null where no c or tau will do."""
        return self.reached.as_json() | {
            "functional_tau": {str(l): rounded_up(tau) if tau < 1 else None for l, tau in enumerate(self.tau, 2)},
            "values": self.values,
            "functional_tau_generalized": rounded_up(self.generalized) if self.values > 1 else None,
            "excessive_protection": dict(self.excess),
            "implied_by": {requirement: weakest.as_json() for requirement, weakest in self.implying.items()},
        }


def eligibility(
    table: ContingencyTable,
    base: ContingencyTable,
    sensitive: Sequence[str],
    demanded: Mapping[str, Sequence[Diversity]],
) -> dict[str, Eligibility]:
    """What is eligible for a table, by sensitive attribute, and how far beyond need its classes are protected.

    table: as it is to be judged. base: the same with base values of its sensitive attributes, of which its quasi-identifiers
    do not matter. The other sensitive attributes stay as they are (MKGV07 Def. 4.6). demanded: of which functional ones the
    excess is told, by sensitive attribute. Both tables must have rows.
    """
    result = {}
    for attribute in sensitive:
        others = [other for other in sensitive if other != attribute]
        levels = {name: base.margin[name] for name in (attribute, *others)}
        suppressed = equivalence_classes(base.rolled_up(levels), attribute)
        occurring = int((suppressed.counts.sum(axis=0) > 0).sum())
        classes = np.unique(-np.sort(-suppressed.counts, axis=1), axis=0).tolist()
        largest = min(occurring, LARGEST_L)
        tau = tuple(max(smallest_tau(counts, l) for counts in classes) for l in range(2, largest + 1))
        functional = [one for one in demanded.get(attribute, ()) if isinstance(one, Functional)]
        excess = {str(one): _protection_left(table, attribute, one) for one in functional}
        implying = {str(one): weakest_implying(one, occurring) for one in functional}
        result[attribute] = Eligibility(
            eligible(base, attribute, others), tau, Fraction(1, occurring), excess, implying
        )
    return result


def smallest_tau(counts: Sequence[int], l: int) -> Fraction:
    """The smallest tau with which one class is (tau, l)-diverse, exactly; 1 where none below will do.

    counts: of its values, the largest first. psi(k) = tau + (1 - tau) (k - 1) / (l - 1) must be at least F(k) for all k < l.
    """
    total, held, smallest = sum(counts), 0, Fraction(0)
    for k, count in enumerate(counts[: l - 1], 1):
        held += count
        step = Fraction(k - 1, l - 1)
        smallest = max(smallest, (Fraction(held, total) - step) / (1 - step))
    return smallest


def rounded_up(tau: Fraction) -> float:
    """A tau to `DECIMALS` decimals, never below it."""
    return float(Fraction(ceil(tau * 10**DECIMALS), 10**DECIMALS))


def _protection_left(table: ContingencyTable, sensitive: str, requirement: Functional) -> float | None:
    classes = equivalence_classes(table, sensitive)
    judged = requirement.among(classes.values)
    return excessive_protection(judged, classes.counts) if satisfies(judged, classes.counts).all() else None
