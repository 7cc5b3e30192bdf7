"""Whether a published table by itself keeps what it promises: read from its CSV file, no row of the data needed.

For tables of local recoding (SWEEP, the Hilbert mapping), whose classes are generalized each in its own way; full-domain
tables fit in too. A class is what shares the published values of all quasi-identifiers. Readers who cannot tell in which of
several classes a person is know no more than of the worst of them: shares of the k commonest values are convex.

What a generalized sensitive value tells depends on which base values occur at all (TZ09 after Def. 2: weight 1 for those
that do). The file shows those that it has as base values. Of the others under a published value either may be true, so that
a verdict is given only where it is the same for all of these possibilities, and is undecided otherwise.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path

import numpy as np

from checks.claims.claim import Claim
from checks.claims.count_claim import CountClaim
from checks.claims.maxent_diversity import MaxentDiversity
from checks.diversity.criterion import Diversity, satisfies
from checks.diversity.functional import Functional, Induction
from checks.finding import Algorithm, Finding, Verdict, WorstClass
from marginals.anonymizers.published_table import Labels, PublishedTable, read_published_table
from marginals.errors import InputError
from marginals.tables.attribute import Attribute, Role
from models.arrays import CountArray
from models.tables.hierarchy import SUPPRESSED, Hierarchy

_MOST_UNSEEN = 10
"""So many base values may occur unseen before their possibilities are too many to go through."""


def verify_recoded(
    path: str | Path, attributes: Mapping[str, Attribute], claims: Sequence[Claim]
) -> tuple[Finding, ...]:
    """What is found of each claim on the classes of the table in a CSV file: k-link as k-anonymity, diversity, least cell.

    attributes: roles of the file's columns, and the hierarchies of the sensitive ones; without one all values must be
    published as they are. claims: for example those of `Policy(...).requirements(("diagnosis",)).claims`. Raises InputError
    for a file that is no such table, for a sensitive value in no hierarchy, and for claims that one table does not decide.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import marginals
    >>> from marginals.example import attributes, table
    >>> known = marginals.Attribute(marginals.Role.SENSITIVE, table.domain.hierarchy("diagnosis"))
    >>> claims = marginals.Policy(k_link=4, diversity="functional:0.5,2").requirements(("diagnosis",)).claims
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "swept.csv")
    ...     marginals.sweep(table, "functional:0.5,2", k=4).frame().to_csv(file, index=False)
    ...     findings = verify_recoded(file, {**attributes, "diagnosis": known}, claims)
    >>> [(finding.criterion, finding.holds) for finding in findings]
    [('k-anonymity', True), ('l-diversity', True)]
    """
    roles = {name: attribute.role for name, attribute in attributes.items() if attribute.role.is_used}
    published = read_published_table(path, roles)
    if not published.rows:
        raise InputError(f"{published.name} has no rows")
    if not claims:
        raise InputError(f"nothing is claimed of {published.name}; demand something under [privacy], or with --check")
    classes = _Classes(
        published, tuple(column for column in published.columns if roles[column] is Role.QUASI_IDENTIFIER)
    )
    findings: list[Finding] = []
    for claim in claims:  # k-link and k-combinatorial with one k are one question here
        if (found := _finding(classes, attributes, claim)) not in findings:
            findings.append(found)
    return tuple(findings)


@dataclass(frozen=True)
class _Classes:
    """A published table, and its columns that are quasi-identifiers."""

    table: PublishedTable
    quasi_identifiers: tuple[str, ...]

    def held(self, sensitive: str) -> dict[Labels, Counter[str]]:
        """For each class its rows by the published value of a sensitive attribute."""
        found: dict[Labels, Counter[str]] = {}
        for (*labels, value), count in self.table.among([*self.quasi_identifiers, sensitive]).items():
            found.setdefault(tuple(labels), Counter())[value] = count
        return found


def _finding(published: _Classes, attributes: Mapping[str, Attribute], claim: Claim) -> Finding:
    if isinstance(claim, CountClaim):
        if claim.least_cell is not None:
            return _counted(published, published.table.columns, "min-cell", claim.least_cell)
        return _counted(published, published.quasi_identifiers, "k-anonymity", claim.least_count)
    if not isinstance(claim, MaxentDiversity) or claim.level or claim.class_diversity is None:
        raise InputError(
            f"{claim} is no question of one table by itself; check k-link, min-cell or a diversity of level 0"
        )
    if claim.class_diversity.is_relative:
        raise InputError(
            f"{claim.diversity} compares with the whole table, which a table of local recoding does not show"
        )
    if claim.sensitive not in published.table.columns:
        return Finding("l-diversity", Verdict.HOLDS, claim.parameters, None, (Algorithm.NOT_PUBLISHED,), 0)
    found = _diverse(published, attributes[claim.sensitive], claim.sensitive, claim.class_diversity)
    return replace(found, parameters=claim.parameters)


def _counted(published: _Classes, columns: Sequence[str], criterion: str, k: int) -> Finding:
    """Whether so many rows share each combination of labels in some columns."""
    counts = published.table.among(columns)
    least = min(counts.items(), key=lambda item: (item[1], item[0]), default=None)
    verdict = Verdict.HOLDS if least is None or least[1] >= k else Verdict.FAILS
    worst = None if least is None else WorstClass(cell=dict(zip(columns, least[0])), count=least[1])
    return Finding(criterion, verdict, {"k": k}, worst, (Algorithm.EVERY_CLASS,), len(counts))


def _diverse(published: _Classes, attribute: Attribute, sensitive: str, diversity: Diversity) -> Finding:
    held = published.held(sensitive)
    labels = sorted(set().union(*held.values()))
    counts = np.array([[rows[label] for label in labels] for rows in held.values()], dtype=np.int64)
    counts = counts.reshape(len(held), len(labels))
    hierarchy = _hierarchy(published, attribute, sensitive, labels)
    nodes = [_node(published, hierarchy, sensitive, label) for label in labels]
    algorithms = (Algorithm.EVERY_CLASS,)
    if not len(counts):
        return Finding("l-diversity", Verdict.HOLDS, {}, None, algorithms, 0)
    if isinstance(diversity, Functional):
        judges: list[Diversity] = [replace(diversity, induction=each) for each in _inductions(hierarchy, nodes)]
    elif any(level for level, _ in nodes):
        raise InputError(
            f"{published.table.name} generalizes values of {sensitive!r}; what these tell is said by functional:tau,l only, "
            f"not by {diversity}"
        )
    else:
        judges = [diversity]
    verdicts = [bool(satisfies(judge, counts).all()) for judge in judges]
    if len(set(verdicts)) != 1:
        note = (
            f"which base values of {sensitive} occur under the generalized ones decides, and the file does not tell it"
        )
        return Finding(
            "l-diversity", Verdict.UNDECIDED, {}, None, algorithms, len(counts), note if verdicts else _TOO_MANY
        )
    if not verdicts[0] and attribute.hierarchy is None and SUPPRESSED in labels:
        # Each value more under * takes shares from all others, so that what holds without one holds with any number.
        return Finding("l-diversity", Verdict.UNDECIDED, {}, None, algorithms, len(counts), _UNLISTED)
    worst = _worst(published, [*held], labels, counts, judges[verdicts.index(verdicts[0])])
    return Finding("l-diversity", Verdict.HOLDS if verdicts[0] else Verdict.FAILS, {}, worst, algorithms, len(counts))


def _hierarchy(published: _Classes, attribute: Attribute, sensitive: str, labels: Sequence[str]) -> Hierarchy:
    """That which is given, or none above the values. Raises InputError where the file alone does not tell what is below."""
    if attribute.hierarchy is not None:
        return attribute.hierarchy
    generalized = attribute.intervals or attribute.prefixes or attribute.dates or attribute.is_fitted
    values = [label for label in labels if label != SUPPRESSED]
    if generalized or not values:
        raise InputError(
            f"which values of {sensitive!r} lie under the generalized ones of {published.table.name}, only the data would "
            "tell; give its hierarchy as a file"
        )
    return Hierarchy.from_rows((label, SUPPRESSED) for label in values)


_UNLISTED = "more values may occur under * than the file shows; give the hierarchy as a file"
_TOO_MANY = "more base values may occur under the generalized ones, unseen, than can be gone through"


def _worst(
    published: _Classes, classes: Sequence[Labels], labels: Sequence[str], counts: CountArray, judge: Diversity
) -> WorstClass:
    """The class furthest beyond the bound or else nearest to it."""
    passes, slack = satisfies(judge, counts), judge.slack(counts)
    suspects = np.flatnonzero(~passes) if not passes.all() else np.arange(len(counts))
    worst = int(suspects[slack[suspects].argmin()])
    distribution = {label: int(count) for label, count in zip(labels, counts[worst].tolist()) if count}
    return WorstClass(
        cell=dict(zip(published.quasi_identifiers, classes[worst])),
        count=int(counts[worst].sum()),
        distribution=distribution,
    )


def _node(published: _Classes, hierarchy: Hierarchy, sensitive: str, label: str) -> tuple[int, int]:
    """The finest level of a hierarchy that has a label, and its code there. A level that merges nothing repeats labels."""
    found = [(level, labels.index(label)) for level, labels in enumerate(hierarchy.labels) if label in labels]
    under = {tuple(np.flatnonzero(hierarchy.lift(0, level) == code).tolist()) for level, code in found}
    if len(under) != 1:
        problem = "no value" if not under else "several values"
        raise InputError(
            f"{published.table.name} shows in the column {sensitive!r} a label that is {problem} of its hierarchy; give the "
            "hierarchy that it was made with, as a file"
        )
    return found[0]


def _inductions(hierarchy: Hierarchy, nodes: Sequence[tuple[int, int]]) -> Iterator[Induction]:
    """What the published values induce, for each set of base values that may occur; none where these are too many."""
    under = [set(np.flatnonzero(hierarchy.lift(0, level) == code).tolist()) for level, code in nodes]
    seen = {code for level, code in nodes if not level}.union(*(leaves for leaves in under if len(leaves) == 1))
    unseen = sorted(set().union(*under) - seen)
    if len(unseen) > _MOST_UNSEEN:
        return
    for some in chain.from_iterable(combinations(unseen, number) for number in range(len(unseen) + 1)):
        occurring = seen | set(some)
        if all(occurring & leaves for leaves in under):
            weights = [int(value in occurring) for value in range(hierarchy.size(0))]
            yield Induction.of_values(hierarchy, nodes, weights)
