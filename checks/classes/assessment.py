"""One table against the privacy criteria: the verdict on each, the worst class, and what the table reaches.

Where a table has several sensitive attributes each is checked in turn, and the others then belong to what classes share
(MKGV07 Def. 4.6).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.classes.equivalence_classes import EquivalenceClasses, equivalence_classes
from checks.classes.homogeneity import NEARLY, Affected, affected, nearly_homogeneous
from checks.classes.k_anonymity import k_anonymity, nonsensitive_part, smallest_cell
from checks.diversity.criterion import Diversity, satisfies
from checks.diversity.entropy import Entropy
from checks.diversity.simple import Simple
from checks.errors import CriterionError
from checks.finding import Algorithm, Finding, WorstClass, verdict_of
from models.tables.contingency_table import ContingencyTable


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
class Reached:
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

    def largest_l(self, c: Fraction | float) -> int:
        """The largest l at which recursive (c, l)-diversity holds; 1 when none above does."""
        return 1 + sum(smallest < c for smallest in self.recursive_c)

    def as_json(self) -> dict[str, Any]:
        """As plain values; null where no c will do."""
        return {
            "distinct": self.distinct,
            "simple": self.simple,
            "entropy": self.entropy,
            "recursive_c": {str(number): _finite(c) for number, c in enumerate(self.recursive_c, 2)},
        }


def reached(counts: NDArray[np.integer[Any]]) -> Reached:
    """What classes reach together. counts: class by sensitive value, shape (classes, values), at least one class."""
    ordered = np.sort(counts, axis=1)
    tails = np.cumsum(ordered, axis=1)[:, :-1]
    with np.errstate(divide="ignore"):
        ratios = ordered[:, -1:] / tails
    return Reached(
        distinct=int(np.count_nonzero(counts, axis=1).min()),
        simple=float(Simple(Fraction(1)).reached(counts).min()),
        entropy=float(Entropy(Fraction(1)).reached(counts).min()),
        recursive_c=tuple(ratios.max(axis=0)[::-1].tolist()),
    )


def eligible(table: ContingencyTable, sensitive: str, others: Sequence[str] = ()) -> Reached:
    """The eligible range of each kind of requirement: what the table satisfies with everything suppressed but its
    sensitive attributes, and so the strongest that any generalization can (TZ09 section I).

    others: the other sensitive attributes, which stay as they are (MKGV07 Def. 4.6). The table must have rows.
    """
    kept = {attribute: table.margin[attribute] for attribute in (sensitive, *others)}
    return reached(equivalence_classes(table.rolled_up(kept), sensitive).counts)


@dataclass(frozen=True)
class Assessment:
    """What one table gives away.

    k_anonymity: rows of the smallest class. diversity: by sensitive attribute. homogeneous, nearly_homogeneous: classes
    and rows in which one value of some sensitive attribute holds all rows, or nearly all.
    """

    rows: int
    classes: int
    k_anonymity: int
    diversity: Mapping[str, Reached]
    homogeneous: Affected
    nearly_homogeneous: Affected

    def as_json(self) -> dict[str, Any]:
        """The assessment as plain values."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            "k_anonymity": self.k_anonymity,
            "diversity": {attribute: reached.as_json() for attribute, reached in self.diversity.items()},
            "homogeneous": self.homogeneous.as_json(),
            "nearly_homogeneous": self.nearly_homogeneous.as_json(),
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
