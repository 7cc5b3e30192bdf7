"""Published single tables in CSV files: a check of their claims.

The information in a generalized sensitive value depends on which base values occur at all (TZ09 after Def. 2). The file
does not tell all of these, so a verdict is undecided unless it is the same for all possibilities.
"""

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path

import numpy as np

from checks.claims import AttributeClaim, Claim, CountClaim
from checks.diversity.criteria import Functional, Induction
from checks.diversity.criterion import Diversity, SensitiveValues, satisfies
from checks.diversity.derived import LeavingOut
from checks.finding import Algorithm, Finding, Verdict, WorstClass
from marginals.arguments import elements_of, path_of, require
from marginals.errors import InputError
from marginals.files import bounded_content, reading
from marginals.tables.attribute import COUNT, Attribute, Role
from models.frozen import frozen
from models.tables.hierarchy import SUPPRESSED, Hierarchy

Labels = tuple[str, ...]


_MOST_BYTES = 1 << 30


@frozen
class _PublishedTable:
    """A table as in its file. `name`: for messages. `columns`: without `count`. `cells`: rows by their labels."""

    name: str
    columns: tuple[str, ...]
    cells: Mapping[Labels, int]

    def among(self, columns: Sequence[str]) -> dict[Labels, int]:
        places = [self.columns.index(column) for column in columns]
        result: Counter[Labels] = Counter()
        for labels, count in self.cells.items():
            result[tuple(labels[place] for place in places)] += count
        return dict(result)


def _read_published_table(path: str | Path, attributes: Collection[str]) -> _PublishedTable:
    path = path_of(path)
    with reading("published table", path, " with commas"):
        header, *lines = [*csv.reader(bounded_content(path, _MOST_BYTES).decode("utf-8-sig").splitlines())] or [[]]
    name = f"the published table {path.name}"
    lines = [[cell.strip() for cell in line] for line in lines if line]
    columns = [column.strip() for column in header]
    if len(set(columns)) < len(columns) or any(len(line) != len(columns) for line in lines):
        raise InputError(f"{name} does not have one value in each row for each of its columns, each named once")
    shown_columns = tuple(column for column in columns if column != COUNT)
    if unknown := [column for column in shown_columns if column not in attributes]:
        raise InputError(
            f"{name} has the column {unknown[0]!r}, which is no attribute of the table, so the claims on it cannot be "
            "checked. Give it a role in the config"
        )
    cells: Counter[Labels] = Counter()
    for number, line in enumerate(lines, 2):
        named = dict(zip(columns, line))
        text = named.get(COUNT, "1")
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise InputError(f"{name}: the count in row {number} is no whole number from 0 on")
        cells[tuple(named[column] for column in shown_columns)] += int(text)
    return _PublishedTable(name, shown_columns, dict(+cells))


_MOST_UNSEEN = 10  # base values that may occur unseen; the possibilities of more are too many
_UNLISTED = "more values may occur under * than the file shows; give the hierarchy as a file"
_TOO_MANY = "more base values may occur under the generalized ones, unseen, than can be gone through"


def verify_recoded(
    path: str | Path, attributes: Mapping[str, Attribute], claims: Sequence[Claim]
) -> tuple[Finding, ...]:
    """Verify claims on the classes of the table in a CSV file: k-link as k-anonymity, diversity, least cell.

    Parameters
    ----------
    path
        CSV file.
    attributes
        Roles of the file's columns, and the hierarchies of the sensitive ones. Without a hierarchy all values must be
        published as they are.
    claims
        Claims to be verified.

    Raises
    ------
    InputError
        The file is no such table, a sensitive value is in no hierarchy, or one table does not decide a claim.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import marginals
    >>> from marginals.example import attributes, table
    >>> diagnosis = marginals.Attribute(marginals.Role.SENSITIVE, table.domain.hierarchy("diagnosis"))
    >>> claims = marginals.Policy(k_link=4, diversity="functional:0.5,2").requirements(("diagnosis",)).claims
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "swept.csv")
    ...     marginals.recoding.sweep(table, "functional:0.5,2", k=4).frame().to_csv(file, index=False)
    ...     findings = verify_recoded(file, {**attributes, "diagnosis": diagnosis}, claims)
    >>> [(finding.criterion, finding.holds) for finding in findings]
    [('k-anonymity', True), ('l-diversity', True)]
    """
    require(attributes, Mapping, "attributes", "a marginals.Attribute for each column")
    for attribute in attributes.values():
        require(attribute, Attribute, "a value of attributes", "marginals.Attribute(...)")
    claims = elements_of(claims, "claims", "a list of claims, such as Policy(...).requirements(...).claims")
    roles = {name: attribute.role for name, attribute in attributes.items() if attribute.role.is_used}
    published = _read_published_table(path, roles)
    if not published.cells:
        raise InputError(f"{published.name} has no rows")
    if not claims:
        raise InputError(f"nothing is claimed of {published.name}; demand something under [privacy], or with --check")
    public = [column for column in published.columns if roles[column] is Role.QUASI_IDENTIFIER]
    findings: list[Finding] = []
    for claim in claims:  # k-link and k-combinatorial with one k are one question here
        if (finding := _finding(published, public, attributes, claim)) not in findings:
            findings.append(finding)
    return tuple(findings)


def _finding(
    published: _PublishedTable, public: Sequence[str], attributes: Mapping[str, Attribute], claim: Claim
) -> Finding:
    if isinstance(claim, CountClaim):
        if claim.least_cell is not None:
            return _counted(published, published.columns, "min-cell", claim.least_cell)
        return _counted(published, public, "k-anonymity", claim.least_count)
    if not isinstance(claim, AttributeClaim) or claim.level or claim.class_diversity is None:
        raise InputError(
            f"{claim} is no question of one table by itself; check k-link, min-cell or a diversity of level 0"
        )
    whose = claim.class_diversity
    criterion, unknown = (whose.plain, whose.labels) if isinstance(whose, LeavingOut) else (whose, ())
    if claim.about not in published.columns:
        return Finding("l-diversity", Verdict.HOLDS, claim.parameters, None, (Algorithm.NOT_PUBLISHED,), 0)
    classes: dict[Labels, Counter[str]] = {}
    for (*labels, value), count in published.among([*public, claim.about]).items():
        if value not in unknown:  # a class of nothing but labels for unknown values tells no value
            classes.setdefault(tuple(labels), Counter())[value] = count
    verdict, worst, note = _diverse(published.name, public, classes, attributes[claim.about], claim.about, criterion)
    return Finding("l-diversity", verdict, claim.parameters, worst, (Algorithm.EVERY_CLASS,), len(classes), note)


def _counted(published: _PublishedTable, columns: Sequence[str], criterion: str, k: int) -> Finding:
    counts = published.among(columns)
    least = min(counts.items(), key=lambda item: (item[1], item[0]), default=None)
    verdict = Verdict.HOLDS if least is None or least[1] >= k else Verdict.FAILS
    worst = None if least is None else WorstClass(cell=dict(zip(columns, least[0])), count=least[1])
    return Finding(criterion, verdict, {"k": k}, worst, (Algorithm.EVERY_CLASS,), len(counts))


def _diverse(
    name: str,
    public: Sequence[str],
    classes: Mapping[Labels, Counter[str]],
    attribute: Attribute,
    sensitive: str,
    diversity: Diversity,
) -> tuple[Verdict, WorstClass | None, str]:
    labels = sorted(set().union(*classes.values()))
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        values = [label for label in labels if label != SUPPRESSED]
        if attribute.intervals or attribute.prefixes or attribute.dates or attribute.is_fitted or not values:
            raise InputError(
                f"which values of {sensitive!r} lie under the generalized ones of {name}, only the data would tell; give "
                "its hierarchy as a file"
            )
        hierarchy = Hierarchy.from_rows((label, SUPPRESSED) for label in values)
    nodes = [_node(name, hierarchy, sensitive, label) for label in labels]
    if not classes:
        return Verdict.HOLDS, None, ""
    judges = [diversity]
    if isinstance(diversity, Functional):
        judges = [replace(diversity, induction=induction) for induction in _inductions(hierarchy, nodes)]
    elif any(level for level, _ in nodes):
        raise InputError(
            f"{name} generalizes values of {sensitive!r}; what these tell is said by functional:tau,l only, not by "
            f"{diversity}"
        )
    if diversity.is_relative:  # it compares with all rows of the file, and may name values that have none
        named = {label for field in vars(diversity).values() if isinstance(field, tuple) for label in field}
        if attribute.hierarchy is None:
            hierarchy = Hierarchy.from_rows((label, SUPPRESSED) for label in sorted({*hierarchy.labels[0], *named}))
        labels = list(hierarchy.labels[0])
    counts = np.array([[rows[label] for label in labels] for rows in classes.values()], dtype=np.int64)
    if diversity.is_relative:
        judges = [diversity.among(SensitiveValues(hierarchy, 0, tuple(counts.sum(axis=0).tolist())))]
    verdicts = [satisfies(judge, counts) for judge in judges]
    is_held = {bool(passes.all()) for passes in verdicts}
    if len(is_held) != 1:
        decides = (
            f"which base values of {sensitive} occur under the generalized ones decides, and the file does not tell it"
        )
        return Verdict.UNDECIDED, None, decides if verdicts else _TOO_MANY
    if is_held == {False} and attribute.hierarchy is None and SUPPRESSED in labels:
        # Each value more under * takes shares from all others, so that what holds without one holds with any number.
        return Verdict.UNDECIDED, None, _UNLISTED
    suspects = np.flatnonzero(~verdicts[0]) if is_held == {False} else np.arange(len(counts))
    worst = int(suspects[judges[0].slack(counts)[suspects].argmin()])
    distribution = {label: int(count) for label, count in zip(labels, counts[worst].tolist()) if count}
    cell = dict(zip(public, [*classes][worst]))
    worst_class = WorstClass(cell=cell, count=int(counts[worst].sum()), distribution=distribution)
    return Verdict.HOLDS if is_held == {True} else Verdict.FAILS, worst_class, ""


def _node(name: str, hierarchy: Hierarchy, sensitive: str, label: str) -> tuple[int, int]:
    result = [(level, labels.index(label)) for level, labels in enumerate(hierarchy.labels) if label in labels]
    under = {tuple(np.flatnonzero(hierarchy.lift(0, level) == code).tolist()) for level, code in result}
    if len(under) != 1:
        problem = "no value" if not under else "several values"
        raise InputError(
            f"{name} shows in the column {sensitive!r} a label that is {problem} of its hierarchy; give the hierarchy that "
            "it was made with, as a file"
        )
    return result[0]


def _inductions(hierarchy: Hierarchy, nodes: Sequence[tuple[int, int]]) -> Iterator[Induction]:
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
