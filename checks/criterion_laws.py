"""The laws of a diversity criterion, tried on small classes by brute force: what its author runs before others rely on it.

Checks and searches leave out what follows from these laws, so a criterion that breaks one is judged wrongly somewhere. Every
law is tried on all classes of a few rows, or on small tables whose combinations are all laid out.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import islice, product

import numpy as np

from checks.diversity.criterion import (
    BOUNDARY,
    ZERO_LOG,
    Cases,
    Diversity,
    RatioBounds,
    SensitiveValues,
    among,
    cuts,
    violations,
)
from checks.diversity.registry import parse_diversity, register_diversity, require_kind, unregister_diversity
from checks.errors import CriterionError
from checks.finding import Verdict
from checks.maxent.branch_and_bound import branch_and_bound
from checks.maxent.hull import VectorSet, extreme_vectors, judge_extremes
from checks.maxent.maxent_diversity import by_products, decided
from checks.maxent.sensitive_tree import LogTree, SensitiveTree, sensitive_tree
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Hierarchy

_LABELS = ("a", "b", "c")
"""Of sensitive values, where a criterion names none of its own."""

_ROWS = 6
"""Of a class, at most."""

_NUMBERS = ("2", "3", "1", "1/2", "3/4", "1/4", "3/2")
"""Tried as parameters, where the author gives no example."""

_EXAMPLES = 4
"""Criteria of one kind that are tried."""

_NEAR, _NEARER = (10**4, 10**5, 10**6), 10**30
"""Times a class on the boundary is taken before one row is added: what is true of all of the first is true of the last."""

_TABLES, _MEANS = 30, (0.3, 1.0, 3.0, 6.0, 9.0)
"""Small tables on which the algorithms are compared with brute force, and the mean count of a cell of one."""

Class = tuple[int, ...]


def check_criterion(kind: type[Diversity], *examples: str, labels: Sequence[str] = _LABELS) -> None:
    """Raise CriterionError, with a class or a table that shows it, where a criterion breaks one of the laws it must keep.

    The laws: its text reads back as itself. The sign of `slack` is what `decide` says, but for classes on the boundary, and
    `decide` is exact there, whatever the size of the counts. Merging two classes that pass gives one that passes. And every
    algorithm that leaves out classes by these laws comes to the verdict of brute force over all combinations of a small
    table. That none is broken here is no proof.

    kind: the class, registered or not. examples: parameters as texts, such as "3,4"; by default some small numbers that
    `parsed` takes. labels: sensitive values by which it is tried, where it names some.

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
    require_kind(kind)
    criteria = list(islice(_criteria(kind, examples), max(_EXAMPLES, len(examples))))
    if not criteria:
        raise CriterionError(
            f"{kind.__name__}.parsed takes none of some small numbers: give an example of its parameters"
        )
    for criterion in criteria:
        _spelling(kind, criterion)
        judged = _Judged(criterion, labels)
        _signs(judged)
        _ties(judged)
        _merging(judged)
        _algorithms(judged)


def _criteria(kind: type[Diversity], examples: Sequence[str]) -> Iterator[Diversity]:
    """Criteria of a kind: the author's examples, or what small numbers give."""
    number = kind.parameters.count(",") + 1 if kind.parameters else 0
    texts: Iterable[str] = examples or map(",".join, product(_NUMBERS, repeat=number))
    seen: list[Diversity] = []
    for text in texts:
        try:
            criterion = kind.parsed(text)
        except CriterionError:
            criterion = None
        if criterion is None and examples:
            raise CriterionError(f"{kind.__name__}.parsed does not take the example {text!r}")
        if criterion is not None and criterion not in seen:
            seen.append(criterion)
            yield criterion


def _spelling(kind: type[Diversity], criterion: Diversity) -> None:
    """Its text reads back as itself: alone, at odds, and leaving out a label."""
    try:
        known = type(parse_diversity(str(criterion))) is kind
    except CriterionError:
        known = False
    if not known:
        _ = register_diversity(kind)
    try:
        for text in (str(criterion), f"{criterion} leaving out unknown"):
            read = parse_diversity(text)
            plain = getattr(read, "plain", read)
            if str(read) != text or plain != criterion or hash(plain) != hash(criterion):
                raise CriterionError(
                    f"the text {text!r} is read back as {str(read)!r}, which is not the same: let __str__ be "
                    "name:parameters, parsed() the way back, and equal ones be equal (a frozen dataclass)"
                )
    finally:
        if not known:
            unregister_diversity(kind.name)


class _Judged:
    """A criterion with the verdicts of `decide` on small classes, which are what it means."""

    def __init__(self, criterion: Diversity, labels: Sequence[str]) -> None:
        self.name = str(criterion)
        self.hierarchy = Hierarchy.flat(labels)
        self.criterion = criterion
        self.rows = tuple(_ROWS + place for place in range(len(labels)))
        self.alone = self.among(self.rows)
        classes = product(range(_ROWS + 1), repeat=len(labels))
        self.classes: list[Class] = [counts for counts in classes if 0 < sum(counts) <= _ROWS]
        self.passing = {counts: self.decide(counts) for counts in self.classes}
        self.slack = dict(zip(self.classes, self.alone.slack(np.array(self.classes)).tolist()))

    def among(self, rows: Sequence[int]) -> Diversity:
        """The criterion for classes of a table with so many rows of each value."""
        return among(self.criterion, SensitiveValues(self.hierarchy, 0, tuple(rows)))

    def decide(self, counts: Sequence[int | Fraction]) -> bool:
        """The exact verdict. Raises CriterionError for an answer that is none."""
        answer = self.alone.decide(counts)
        if answer is not True and answer is not False and not isinstance(answer, np.bool_):
            raise CriterionError(f"{self.name}: decide answers True or False, not {type(answer).__name__}")
        return bool(answer)


def _signs(judged: _Judged) -> None:
    """`slack` is positive where `decide` passes, in counts and in shares."""
    for counts, slack in judged.slack.items():
        total = sum(counts)
        shares = [Fraction(count, total) for count in counts]
        if judged.decide(shares) != judged.passing[counts]:
            raise CriterionError(
                f"{judged.name}: decide says of the counts {counts} something else than of their shares"
            )
        of_shares = float(judged.alone.slack(np.array([[count / total for count in counts]]))[0])
        for value, what in ((slack, "counts"), (of_shares, "shares")):
            if np.isnan(value) or (abs(value) > BOUNDARY and (value > 0) != judged.passing[counts]):
                verdict = "passes" if judged.passing[counts] else "fails"
                raise CriterionError(
                    f"{judged.name}: slack is {value:g} for the {what} of {counts}, which {verdict} by decide; let it be "
                    "positive where a class passes, negative where it fails"
                )


def _ties(judged: _Judged) -> None:
    """`decide` is exact where floating point cannot tell: one row beside a huge class on the boundary counts as it does
    beside a large one.
    """
    for counts in (counts for counts, slack in judged.slack.items() if abs(slack) <= BOUNDARY):
        for place, row in product(range(len(counts)), (1, -1)):

            def beside(times: int, place: int = place, row: int = row, counts: Class = counts) -> bool:
                return judged.decide([times * count + row * (other == place) for other, count in enumerate(counts)])

            if row < 0 and not counts[place]:
                continue
            near = {beside(times) for times in _NEAR}
            if len(near) == 1 and (exact := near.pop()) != beside(_NEARER):
                more = "one row more" if row > 0 else "one row less"
                raise CriterionError(
                    f"{judged.name} is not exact on the boundary: of 10^30 times {counts} with {more} of value {place + 1} "
                    f"decide says {'fails' if exact else 'passes'}, of 10^6 times {'passes' if exact else 'fails'}; decide "
                    "with integers or fractions, without division or rounding"
                )
        if len({judged.decide([times * count for count in counts]) for times in (1, *_NEAR, _NEARER)}) > 1:
            raise CriterionError(f"{judged.name}: decide depends on the scale of {counts}, which is on the boundary")


def _merging(judged: _Judged) -> None:
    """Two classes that pass, merged, pass; one of them may be taken many times."""
    passing = [counts for counts, passes in judged.passing.items() if passes]
    for number, one in enumerate(passing):
        for other in passing[number:]:
            for times in (1, _ROWS):
                merged = tuple(count + times * its for count, its in zip(one, other))
                if not judged.decide(merged):
                    raise CriterionError(
                        f"{judged.name} is not monotone: {one} and {other} pass, and {merged}, which is made of them, fails"
                    )


def _algorithms(judged: _Judged) -> None:
    """Every algorithm that leaves classes out comes to the verdict of all combinations of small tables."""
    for trial in _trials(judged.hierarchy.labels[0]):
        criterion = judged.among(trial.rows)
        failing = [vector for vector in trial.combinations if not criterion.decide(vector)]
        passes = not failing
        _require_cuts(judged, criterion, trial, failing)
        for algorithm, verdict in _verdicts(trial, criterion):
            if verdict is not Verdict.UNDECIDED and (verdict is Verdict.HOLDS) != passes:
                failing_class = f", of which one is {tuple(map(str, failing[0]))}" if failing else ""
                raise CriterionError(
                    f"{judged.name} is not pruned soundly: {algorithm} says {verdict.value} where all combinations say "
                    f"{'holds' if passes else 'fails'}{failing_class}; look at its methods beside slack, reached and decide"
                )


@dataclass(frozen=True)
class _Trial:
    """A small collection of tables, with all that algorithms know of it before there is a criterion.

    rows: of each sensitive value. combinations: the sensitive counts of each combination of the other values.
    """

    rows: tuple[int, ...]
    tree: SensitiveTree
    combinations: "list[list[Fraction]]"
    extremes: VectorSet | None
    bounds: RatioBounds


@cache
def _trials(labels: tuple[str, ...]) -> tuple[_Trial, ...]:
    """The small tables of some sensitive values, the same for all criteria."""
    rng = np.random.default_rng(0)
    trials = []
    for _ in range(_TABLES):
        collection = _drawn(Hierarchy.flat(labels), rng)
        tree = sensitive_tree(collection, "value")
        if tree is not None:
            rows = tuple(np.bincount(*_values(collection)).astype(int).tolist())
            bounds = LogTree(tree).ratio_bounds()
            trials.append(_Trial(rows, tree, _combinations(collection), extreme_vectors(tree), bounds))
    return tuple(trials)


def _require_cuts(judged: _Judged, criterion: Diversity, trial: _Trial, failing: Sequence[Sequence[Fraction]]) -> None:
    """Every combination that fails lies within the cuts of some case, whatever their weights; else it would go unseen."""
    kinds = violations(criterion, trial.bounds)
    if kinds is None or not failing:
        return
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(np.array(failing, dtype=np.float64)), ZERO_LOG)
    seen = np.zeros(len(failing), dtype=bool)
    for cases in kinds:
        if len(cases.heads):
            seen |= _are_within(cases, logs)
    if not seen.all():
        vector = failing[int(seen.argmin())]
        raise CriterionError(
            f"{judged.name} is not pruned soundly: {tuple(map(str, vector))} fails, and no case of "
            "violations() has cuts that let it; branch and bound would not see it"
        )


def _are_within(cases: Cases, logs: FloatArray) -> BoolArray:
    """Whether each class lies within all cuts of one case: those with equal weights, and with falling and rising ones."""
    within = np.ones((len(logs), len(cases.heads)), dtype=bool)
    support = cases.support & (np.arange(logs.shape[1])[:, None] != cases.heads)
    order = np.arange(1.0, logs.shape[1] + 1)[:, None]
    for weights in (support * 1.0, support * order, support / order):
        totals = weights.sum(axis=0)
        cut = cuts(cases, weights / np.where(totals > 0, totals, 1.0))
        within &= (logs @ cut.coefficients <= cut.bounds) | (totals == 0)
    return np.asarray(within.any(axis=1))


def _verdicts(trial: _Trial, criterion: Diversity) -> Iterator[tuple[str, Verdict]]:
    """What each algorithm says that takes the criterion."""
    tree = trial.tree
    yield "the check", decided(tree, criterion)[1].verdict
    yield "hull pruning", judge_extremes(trial.extremes, tree, criterion).verdict
    for name, algorithm in (("branch and bound", branch_and_bound), ("the join by products", by_products)):
        taken: Callable[[SensitiveTree, Diversity], object] = algorithm
        outcome = taken(tree, criterion)
        if outcome is not None:
            yield name, outcome.verdict  # type: ignore[attr-defined]


def _drawn(values: Hierarchy, rng: np.random.Generator) -> Collection:
    """A chain of two or three tables, each of the sensitive value and one or two of three attributes; of few rows or of
    some, where single combinations of tables that each pass can fail.
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


def _values(collection: Collection) -> tuple[CodeArray, CountArray, int]:
    """Codes, weights and number of the sensitive values of all rows."""
    table = collection.cube.table(collection.domain.mask({"value": 0}))
    return table.codes[0], table.counts, collection.domain.hierarchy("value").size(0)


def _combinations(collection: Collection) -> list[list[Fraction]]:
    """Of every combination of published nonsensitive values what the tables together say of the sensitive one: the product
    over the cliques with it, divided by that over their separators (KG06 section 7).
    """
    tree, domain = collection.junction_tree, collection.domain
    names = [name for name in domain.attributes if name != "value"]
    size = domain.hierarchy("value").size(0)

    def factors(masks: Iterable[int]) -> list[tuple[list[int], dict[tuple[int, ...], int]]]:
        tables = [collection.cube.table(mask) for mask in masks]
        places = [[names.index(a) if a != "value" else len(names) for a in table.attributes] for table in tables]
        cells = [dict(zip(zip(*(codes.tolist() for codes in t.codes)), t.counts.tolist())) for t in tables]
        return list(zip(places, cells))

    above, below = factors(tree.cliques), factors(mask for mask in tree.separators if mask)
    vectors = []
    for cell in product(*(range(domain.hierarchy(name).size(0)) for name in names)):
        vector = []
        for value in range(size):
            whole, counted = (*cell, value), Fraction(1)
            for places, counts in above:
                counted *= counts.get(tuple(whole[place] for place in places), 0)
            for places, counts in below:
                counted /= counts.get(tuple(whole[place] for place in places), 0) if counted else 1
            vector.append(counted)
        if any(vector):
            vectors.append(vector)
    return vectors
