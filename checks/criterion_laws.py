"""Laws of a diversity criterion, tested on small classes by brute force; its author runs this before others rely on it.

Checks and searches leave out what follows from these laws, so a criterion that breaks one is judged wrongly somewhere.
Every law is tested on all classes of a few rows, or on small tables with all combinations laid out.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations_with_replacement, islice, product
from typing import NamedTuple

import numpy as np

from checks.diversity import registry
from checks.diversity.criterion import BOUNDARY, Diversity, SensitiveValues
from checks.diversity.cuts import ZERO_LOG, Cases, RatioBounds, cuts
from checks.diversity.derived import LeavingOut
from checks.errors import CriterionError
from checks.finding import Verdict, verdict_of
from checks.maxent.branch_and_bound import branch_and_bound
from checks.maxent.hull import by_hull
from checks.maxent.maxent_diversity import by_products, decided
from checks.maxent.sensitive_tree import LogTree, SensitiveTree, sensitive_tree
from models.arrays import BoolArray, FloatArray
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Hierarchy

_LABELS, _ROWS = ("a", "b", "c"), 6
"""Sensitive values, if a criterion names none of its own, and most rows of a class."""

_NUMBERS, _EXAMPLES = ("2", "3", "1", "1/2", "3/4", "1/4", "3/2"), 4
"""Parameters that are tried if the author gives no example, and the most criteria of one kind."""

_NEAR = (10**4, 10**5, 10**6, 10**30)
"""Multiples of a class on the boundary to which one row is added; all of them must get the same verdict."""

_TABLES, _MEANS = 30, (0.3, 1.0, 3.0, 6.0, 9.0)
"""Number of small tables on which algorithms are compared with brute force, and the mean counts of their cells."""


def check_criterion(kind: type[Diversity], *examples: str, labels: Sequence[str] = _LABELS) -> None:
    """Raise CriterionError, with a class or a table as proof, if a criterion breaks one of the laws it must keep.

    The laws: its text reads back as itself. The sign of `slack` agrees with `decide`, except on the boundary, and
    there `decide` is exact for counts of any size. Merging two passing classes gives a passing one. Every algorithm
    that leaves out classes by these laws agrees with brute force on small tables.

    Parameters
    ----------
    kind
        The class, registered or not.
    examples
        Parameters as texts, such as "3,4"; by default some small numbers that `parsed` takes.
    labels
        Sensitive values for the test, if the criterion names some.

    >>> from checks.diversity.criteria import Entropy
    >>> check_criterion(Entropy, "2")
    >>> class Upside(Entropy):
    ...     name = "upside"
    ...     def __str__(self):
    ...         return f"upside:{self.l}"
    ...     def slack(self, vectors):
    ...         return -super().slack(vectors)
    >>> check_criterion(Upside, "2")
    Traceback (most recent call last):
        ...
    checks.errors.CriterionError: upside:2: slack is 0.5 for the counts of (0, 0, 1), which fails by decide; let it ...
    """
    registry.require_kind(kind)
    if not isinstance(labels, list | tuple) or not all(isinstance(text, str) for text in (*examples, *labels)):
        raise CriterionError("examples and labels are texts, of labels a list such as ['a', 'b', 'c']")
    criteria = list(islice(_criteria(kind, examples), max(_EXAMPLES, len(examples))))
    if not criteria:
        raise CriterionError(f"{kind.__name__}.parsed takes none of some small numbers: give an example")
    for criterion in criteria:
        _check_spelling(kind, criterion)
        trial = _Judged(criterion, labels)
        _check_signs(trial)
        _check_ties(trial)
        _check_merging(trial)
        _check_algorithms(trial)


def _criteria(kind: type[Diversity], examples: Sequence[str]) -> Iterator[Diversity]:
    number = kind.parameters.count(",") + 1 if kind.parameters else 0
    seen: list[Diversity] = []
    for text in examples or map(",".join, product(_NUMBERS, repeat=number)):
        try:
            criterion = kind.parsed(text)
        except CriterionError:
            criterion = None
        if criterion is None and examples:
            raise CriterionError(f"{kind.__name__}.parsed does not take the example {text!r}")
        if criterion is not None and criterion not in seen:
            seen.append(criterion)
            yield criterion


def _check_spelling(kind: type[Diversity], criterion: Diversity) -> None:
    try:
        is_known = type(registry.parse_diversity(str(criterion))) is kind
    except CriterionError:
        is_known = False
    if not is_known:
        _ = registry.register_diversity(kind)
    try:
        registry.require_readable(criterion)
        registry.require_readable(LeavingOut(criterion, ("unknown",)))
    finally:
        if not is_known:
            registry.unregister_diversity(kind.name)


class _Judged:
    """Criterion with the verdicts of `decide` on small classes, which define its meaning."""

    def __init__(self, criterion: Diversity, labels: Sequence[str]) -> None:
        self.name, self.criterion, self.hierarchy = str(criterion), criterion, Hierarchy.flat(labels)
        self.among_labels = self.among(tuple(_ROWS + place for place in range(len(labels))))
        classes = product(range(_ROWS + 1), repeat=len(labels))
        self.classes: list[tuple[int, ...]] = [counts for counts in classes if 0 < sum(counts) <= _ROWS]
        self.passing = {counts: self.decide(counts) for counts in self.classes}
        self.slack = dict(zip(self.classes, self.among_labels.slack(np.array(self.classes)).tolist()))

    def among(self, rows: tuple[int, ...]) -> Diversity:
        """Return the criterion for classes of a table with so many rows of each value."""
        return self.criterion.among(SensitiveValues(self.hierarchy, 0, rows))

    def decide(self, counts: Sequence[int | Fraction]) -> bool:
        """Return the exact verdict. Raises CriterionError if the answer is no verdict."""
        answer = self.among_labels.decide(counts)
        if answer is not True and answer is not False and not isinstance(answer, np.bool_):
            raise CriterionError(f"{self.name}: decide answers True or False, not {type(answer).__name__}")
        return bool(answer)


def _check_signs(trial: _Judged) -> None:
    """Check that `slack` is positive if `decide` passes, in counts and in shares."""
    for counts, slack in trial.slack.items():
        shares = [Fraction(count, sum(counts)) for count in counts]
        if trial.decide(shares) != trial.passing[counts]:
            raise CriterionError(
                f"{trial.name}: decide says of the counts {counts} something else than of their shares"
            )
        of_shares = float(trial.among_labels.slack(np.array([list(map(float, shares))]))[0])
        for value, what in ((slack, "counts"), (of_shares, "shares")):
            if np.isnan(value) or (abs(value) > BOUNDARY and (value > 0) != trial.passing[counts]):
                verdict = "passes" if trial.passing[counts] else "fails"
                raise CriterionError(
                    f"{trial.name}: slack is {value:g} for the {what} of {counts}, which {verdict} by decide; let it be "
                    "positive where a class passes, negative where it fails"
                )


def _check_ties(trial: _Judged) -> None:
    """Check that `decide` is exact on the boundary: one row in a huge class counts as it does in a large one."""
    for counts in (counts for counts, slack in trial.slack.items() if abs(slack) <= BOUNDARY):
        for place, row in product(range(len(counts)), (1, -1)):
            if row < 0 and not counts[place]:
                continue
            rows = np.array([row * (other == place) for other in range(len(counts))], dtype=object)
            *near, nearest = (trial.decide((times * np.array(counts, dtype=object) + rows).tolist()) for times in _NEAR)
            exact = near[0]
            if len({*near}) == 1 and nearest != exact:
                more = "one row more" if row > 0 else "one row less"
                raise CriterionError(
                    f"{trial.name} is not exact on the boundary: of 10^30 times {counts} with {more} of value {place + 1} "
                    f"decide says {'fails' if exact else 'passes'}, of 10^6 times {'passes' if exact else 'fails'}. Decide "
                    "with integers or fractions, without division or rounding"
                )
        if len({trial.decide([times * count for count in counts]) for times in (1, *_NEAR)}) > 1:
            raise CriterionError(f"{trial.name}: decide depends on the scale of {counts}, which is on the boundary")


def _check_merging(trial: _Judged) -> None:
    passing = [counts for counts, passes in trial.passing.items() if passes]
    for (one, other), times in product(combinations_with_replacement(passing, 2), (1, _ROWS)):
        merged = tuple(count + times * more for count, more in zip(one, other))
        if not trial.decide(merged):
            raise CriterionError(
                f"{trial.name} is not monotone: {one} and {other} pass, and {merged}, which is made of them, fails"
            )


def _check_algorithms(trial: _Judged) -> None:
    for small in _small_trees(trial.hierarchy.labels[0]):
        tree, criterion = small.tree, trial.among(small.tree.values.rows)
        failing = [vector for vector in small.combinations if not criterion.decide(vector)]
        _check_cuts(trial.name, criterion, small.bounds, failing)
        expected = verdict_of(not failing)
        for how, outcome in (
            ("the check", decided(tree, criterion)[1]),
            ("hull pruning", by_hull(tree, criterion)),
            ("branch and bound", branch_and_bound(tree, criterion)),
            ("the join by products", by_products(tree, criterion)),
        ):
            if outcome is not None and outcome.verdict not in (expected, Verdict.UNDECIDED):
                raise CriterionError(
                    f"{trial.name} is not pruned soundly: {how} says {outcome.verdict.value} where all combinations say "
                    f"{expected.value}; look at its methods beside slack, reached and decide"
                )


class _SmallTree(NamedTuple):
    """Small tree, with the sensitive counts of every combination of published nonsensitive values, in some scale."""

    tree: SensitiveTree
    combinations: list[list[Fraction]]
    bounds: RatioBounds


@cache
def _small_trees(labels: tuple[str, ...]) -> list[_SmallTree]:
    rng = np.random.default_rng(0)
    drawn = (sensitive_tree(_drawn(Hierarchy.flat(labels), rng), "value") for _ in range(_TABLES))
    trees = [tree for tree in drawn if tree is not None]
    joined = [tree.combinations(tree.conditional_factors, np.multiply) for tree in trees]
    return [
        _SmallTree(
            tree,
            [tree.exact_vector(combination) for block, _ in blocks for combination in block.tolist()],
            LogTree(tree).ratio_bounds(),
        )
        for tree, blocks in zip(trees, joined)
    ]


def _check_cuts(name: str, criterion: Diversity, bounds: RatioBounds, failing: Sequence[Sequence[Fraction]]) -> None:
    """Check that every failing combination lies within the cuts of a case, so that branch and bound can see it."""
    kinds = criterion.violations(bounds)
    if kinds is None or not failing:
        return
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(np.array(failing, dtype=np.float64)), ZERO_LOG)
    within = (_are_within(cases, logs) for cases in kinds if len(cases.heads))
    seen = reduce(np.logical_or, within, np.zeros(len(failing), dtype=bool))
    if not seen.all():
        vector = failing[int(seen.argmin())]
        raise CriterionError(
            f"{name} is not pruned soundly: {tuple(map(str, vector))} fails, and no case of violations() has cuts "
            "that let it; branch and bound would not see it"
        )


def _are_within(cases: Cases, logs: FloatArray) -> BoolArray:
    """Return whether each class lies within all cuts of one case, with equal, falling and rising weights."""
    within = np.ones((len(logs), len(cases.heads)), dtype=bool)
    support = cases.support & (np.arange(logs.shape[1])[:, None] != cases.heads)
    order = np.arange(1.0, logs.shape[1] + 1)[:, None]
    for weights in (support * 1.0, support * order, support / order):
        totals = weights.sum(axis=0)
        cut = cuts(cases, weights / np.where(totals > 0, totals, 1.0))
        within &= (logs @ cut.coefficients <= cut.bounds) | (totals == 0)
    return np.asarray(within.any(axis=1))


def _drawn(values: Hierarchy, rng: "np.random.Generator") -> Collection:
    """Draw a chain of two or three tables, each of the sensitive value and one or two of three attributes.

    The tables have few rows, or some, so that combinations of passing tables can fail.
    """
    domain = Domain.of({**{name: Hierarchy.flat("xyz") for name in "pqr"}, "value": values})
    cells = np.indices([hierarchy.size(0) for hierarchy in domain.hierarchies]).reshape(4, -1)
    counts = rng.poisson(rng.choice(_MEANS), cells.shape[1])
    counts[rng.integers(len(counts))] += 1
    base = ContingencyTable.from_cells(
        domain, dict.fromkeys(domain.attributes, 0), dict(zip(domain.attributes, cells)), counts
    )
    shapes = (["p", "q"], ["p", "q", "r"], ["pq", "r"], ["pq", "qr"])
    shape = shapes[rng.integers(len(shapes))]
    masks = [domain.mask(dict.fromkeys([*names, "value"], 0)) for names in shape]
    return Collection.of(DataCube([base]), masks)
