"""Maxent diversity: every algorithm says what the maximum-entropy joint says, with a junction tree or not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import checks.maxent.branch_and_bound
import marginals
from brute_force import iterative_proportional_fitting, joint_array
from checks import (
    FULL,
    Algorithm,
    Budget,
    Distinct,
    Diversity,
    Entropy,
    Finding,
    Functional,
    Induction,
    MaxentDiversity,
    Question,
    Recursive,
    Simple,
    Verdict,
    by_hull,
    by_join,
    k_combinatorial,
    maxent_diversity,
    parse_diversity,
    sensitive_tree,
)
from checks.diversity.criterion import BOUNDARY
from checks.diversity.cuts import Cases, Cuts
from checks.maxent.branch_and_bound import branch_and_bound
from checks.maxent.sensitive_tree import Judge, LogTree
from filled_tables import apart, counted, filled, flat_domain, of_rows, published
from judged_classes import judged_on
from marginals import Policy
from models import (
    Collection,
    ContingencyTable,
    ContradictionError,
    Domain,
    FloatArray,
    Hierarchy,
    IndexArray,
    MaximumEntropy,
    iterative_fit,
)
from privacy_oracles import (
    base_values,
    cell_of,
    conditionals,
    finest,
    functional_excess,
    is_diverse,
    is_functional,
    is_k_combinatorial,
    largest_counts,
    on_boundary,
    places_within,
    reached,
    reached_tau,
    without,
)
from privacy_strategies import (
    criteria,
    diversities,
    functionals,
    random_star,
    sensitive_collections,
    tree_of,
    tree_of_classes,
)
from strategies import margins
from work import compare_with_sorting

Drawn = tuple[Collection, str]


@given(sensitive_collections(), st.lists(diversities(), min_size=2, max_size=4))
def test_verdict_and_worst_value_are_those_of_brute_force(drawn: Drawn, criteria: list[Diversity]) -> None:
    """KG06 Def. 4.3 at every published cell of all other attributes; 2 to 6 sensitive values, half the cells empty."""
    collection, sensitive = drawn
    if sensitive not in finest(collection.margins):
        return
    for diversity in criteria:
        vectors = list(conditionals(collection, sensitive).values())
        expected = all(is_diverse(diversity, vector) for vector in vectors)
        finding = maxent_diversity(collection, sensitive, diversity)
        assert finding.verdict is (Verdict.HOLDS if expected else Verdict.FAILS)
        values = [reached(diversity, vector) for vector in vectors]
        worst = max(values) if isinstance(diversity, Recursive) else min(values)
        assert finding.worst_class.reached == pytest.approx(worst, rel=1e-9)


def room(functional: Functional, shares: list[Fraction]) -> float:
    """The smallest psi(k) / F(k)."""
    line = functional_excess(functional, shares).values()
    return float(min((functional.tau + (1 - functional.tau) * rise) / held for held, rise in line))


@given(sensitive_collections(), functionals(), st.data())
def test_functional_diversity_is_about_base_values_at_whatever_level(
    drawn: Drawn, functional: Functional, data: st.DataObject
) -> None:
    """TZ09 Def. 4 on the maxent distribution of the base values; on its boundary too."""
    collection, sensitive = drawn
    shown = finest(collection.margins)
    if sensitive not in shown:
        return
    hierarchy = collection.domain.hierarchy(sensitive)
    vectors = [base_values(hierarchy, shown[sensitive], v) for v in conditionals(collection, sensitive).values()]
    some = data.draw(st.sampled_from(vectors))
    tight = max((held - rise) / (1 - rise) for held, rise in functional_excess(functional, some).values())
    for criterion in (functional, Functional(tight, functional.l) if 0 < tight < 1 else functional):
        finding = maxent_diversity(collection, sensitive, criterion)
        assert finding.holds is all(is_functional(criterion, vector) for vector in vectors)
        labels = hierarchy.labels[shown[sensitive]]
        worst = [Fraction(finding.worst_class.distribution.get(label, 0)) for label in labels]
        worst = base_values(hierarchy, shown[sensitive], worst)
        assert finding.worst_class.reached == pytest.approx(reached_tau(criterion, worst), abs=1e-9)
        least = min(room(criterion, vector) for vector in vectors)
        assert room(criterion, worst) == pytest.approx(least, rel=1e-9)


@settings(max_examples=60)
@given(sensitive_collections(), diversities())
def test_the_worst_class_is_shown_with_its_distribution(drawn: Drawn, diversity: Diversity) -> None:
    """Its cell is a published one, or several that say the same, and its shares are those of the maxent joint there."""
    collection, sensitive = drawn
    finding = maxent_diversity(collection, sensitive, diversity)
    if finding.worst is None:
        return
    fine = without(finest(collection.margins), [sensitive])
    part = without(finest([m for m in collection.margins if sensitive in m]), [sensitive])
    above = places_within(collection.domain, fine, part)
    shown = cell_of(collection.domain, part, finding.worst_class.cell)
    labels = collection.domain.hierarchy(sensitive).labels[finest(collection.margins)[sensitive]]
    found = 0
    for place, vector in conditionals(collection, sensitive).items():
        if tuple(int(axis.ravel()[i]) for axis, i in zip(above, place)) == shown:
            shares = {label: float(v / sum(vector)) for label, v in zip(labels, vector) if v}
            assert finding.worst_class.distribution == pytest.approx(shares, abs=1e-12)
            found += 1
    assert found
    assert sum(finding.worst_class.distribution.values()) == pytest.approx(1)


@settings(max_examples=60)
@given(sensitive_collections(), diversities())
def test_a_collection_that_does_not_show_the_attribute_passes(drawn: Drawn, diversity: Diversity) -> None:
    collection, sensitive = drawn
    hidden = Collection.of(
        collection.cube, [collection.domain.mask(without(margin, [sensitive])) for margin in collection.margins]
    )
    finding = maxent_diversity(hidden, sensitive, diversity)
    assert finding.verdict is Verdict.HOLDS
    assert finding.worst is None
    assert finding.parameters == {"diversity": str(diversity), "sensitive": sensitive}
    assert (finding.algorithms, finding.examined) == ((Algorithm.NOT_PUBLISHED,), 0)


@settings(max_examples=60)
@given(sensitive_collections(), diversities(), st.data())
def test_a_table_without_the_sensitive_attribute_tells_more_and_changes_no_verdict(
    drawn: Drawn, diversity: Diversity, data: st.DataObject
) -> None:
    """KG06 section 6.2, the simple technique: any table, and beside it any marginal of the other attributes."""
    (collection, sensitive), domain = drawn, drawn[0].domain
    table, beside = (
        {**data.draw(margins(domain)), sensitive: level} for level in (0, domain.hierarchy(sensitive).height)
    )
    alone = Collection.of(collection.cube, [domain.mask(table)])
    both = Collection.of(collection.cube, [domain.mask(table), domain.mask(beside)])
    assert MaximumEntropy(both).kl_divergence <= MaximumEntropy(alone).kl_divergence + 1e-12
    verdicts = [maxent_diversity(tables, sensitive, diversity).verdict for tables in (alone, both)]
    assert verdicts[0] is verdicts[1]


def arms(count: int) -> Collection:
    """{q0, s}, {q1, s}, ...: each shows 3 to 1 one way or the other, of 4 rows of either sensitive value."""
    domain = flat_domain(**{f"q{i}": "xy" for i in range(count)}, s="uv")
    table = counted(domain, {(*[q] * count, s): 3 if q == s else 1 for q in range(2) for s in range(2)})
    return published(table, *({f"q{i}": 0, "s": 0} for i in range(count)))


@pytest.mark.parametrize("count", [2, 5, 40])
def test_cells_that_cannot_be_enumerated_are_decided_exactly(count: int) -> None:
    """Up to 2^40 cells; the worst has 3^n to 1, which beyond n = 33 no float tells from its neighbours."""
    collection, odds = arms(count), Fraction(3**count)
    for diversity, holds in (
        (Recursive(odds, 2, strict=False), True),
        (Recursive(odds, 2), False),
        (Recursive(odds + 1, 2), True),
        (Recursive(odds - 1, 2, strict=False), False),
        (Simple((odds + 1) / odds), True),
        (Simple((odds + 2) / odds), False),
        (Distinct(2), True),
        (Distinct(3), False),
        (Entropy(Fraction(1)), True),
        (Entropy(Fraction(3, 2)), False),
    ):
        finding = maxent_diversity(collection, "s", diversity)
        assert finding.verdict is (Verdict.HOLDS if holds else Verdict.FAILS), diversity
        ways = {Distinct: Algorithm.SUPPORTS, Recursive: Algorithm.PAIRWISE_RATIOS}
        assert count < 40 or finding.algorithms == (ways.get(type(diversity), Algorithm.BRANCH_AND_BOUND),)


# All algorithms for maxent diversity agree with brute force, boundary cases included.


numbers = st.fractions(Fraction(1, 3), 4, max_denominator=4)

LARGE = {"SMALL_JOIN": 0, "MULTIPLIED": 0, "JOINED": 0}
"""A join is too large for anything but the algorithms that do not enumerate it."""

WAYS: dict[str, tuple[dict[str, int], Budget]] = {
    "join": ({}, FULL),
    "products": ({"SMALL_JOIN": 0}, FULL),
    "products of a search": ({}, replace(FULL, proof=0)),
    "large": (LARGE, FULL),
    "large, the worst not proven": (LARGE, replace(FULL, proof=3)),
    "large, then the join": ({"SMALL_JOIN": 0, "MULTIPLIED": 0, "_SCREENED": 0}, FULL),
    "large, too many cases": ({**LARGE, "MAX_CASES": 0}, FULL),
}
"""How each algorithm is forced: limits set small, and budgets."""

MODULES = dict.fromkeys(LARGE, "checks.maxent.maxent_diversity") | {
    "MAX_CASES": "checks.diversity.criteria",
    "_SCREENED": "checks.maxent.branch_and_bound",
}


def ways(
    collection: Collection, sensitive: str, diversity: Diversity, names: Iterable[str] = tuple(WAYS)
) -> Iterator[tuple[str, Finding]]:
    for name, (limits, budget) in ((name, WAYS[name]) for name in names):
        with pytest.MonkeyPatch.context() as patch:
            for limit, value in limits.items():
                patch.setattr(f"{MODULES[limit]}.{limit}", value)
            yield name, maxent_diversity(collection, sensitive, diversity, budget)


@st.composite
def inductions(draw: st.DrawFn, values: int) -> Induction:
    """Each published value stands for 1 to 3 base values; evenly for its own, or in any way."""
    width = draw(st.lists(st.integers(1, 3), min_size=values, max_size=values))
    rows = [[Fraction(s == t, width[t]) for t in range(values) for _ in range(width[t])] for s in range(values)]
    if draw(st.booleans()):
        weights = st.lists(st.integers(0, 3), min_size=len(rows[0]), max_size=len(rows[0])).filter(any)
        rows = [[Fraction(n, sum(drawn)) for n in drawn] for drawn in (draw(weights) for _ in rows)]
    return Induction(tuple(map(tuple, rows)))


@given(sensitive_collections(), st.data())
def test_every_algorithm_agrees_with_brute_force(drawn: tuple[Collection, str], data: st.DataObject) -> None:
    """Several criteria on each collection: verdict always, and the worst value to 1e-9 where it is proven."""
    collection, sensitive = drawn
    tree = tree_of(collection, sensitive)
    vectors = list(conditionals(collection, sensitive).values())
    size = len(tree.labels)
    diversity = data.draw(criteria(size))
    if isinstance(diversity, Functional) and data.draw(st.booleans()):
        diversity = replace(diversity, induction=data.draw(inductions(size)))
    diversity = judged_on(tree, diversity)
    exact = on_boundary(diversity, data.draw(st.sampled_from(vectors)))
    full = Recursive(data.draw(numbers), size)
    some = {"large", *data.draw(st.permutations(list(WAYS)))[:2]}
    for criterion in (diversity, exact, full, on_boundary(full, data.draw(st.sampled_from(vectors)))):
        expected = Verdict.HOLDS if all(criterion.decide(vector) for vector in vectors) else Verdict.FAILS
        worst = min(float(criterion.slack(np.array([[float(v) for v in vector]]))[0]) for vector in vectors)
        for outcome in (by_join(tree, criterion), by_hull(tree, criterion)):
            assert outcome.verdict is expected, criterion
        for less in (0, 1):
            joined = by_join(tree, criterion, tree.combination_count - less)
            assert (joined.verdict is Verdict.UNDECIDED) == less
            assert (not less) <= joined.examined <= tree.combination_count * (1 - less)
        for name, finding in ways(collection, sensitive, criterion, some):
            assert finding.verdict is expected, (name, criterion)
            if not finding.note and np.isfinite(worst) and finding.worst is not None:
                shares = finding.worst_class.distribution or {}
                reached = criterion.slack(np.array([[shares.get(label, 0.0) for label in tree.labels]]))[0]
                assert reached == pytest.approx(worst, rel=1e-9, abs=1e-9), (name, criterion)


@pytest.mark.parametrize("seed", range(4))
def test_what_one_cut_cannot_exclude_is_decided_near_the_bound(seed: int) -> None:
    """A hundredth below the worst of 8^4 combinations it holds, and just above it fails, by every algorithm."""
    collection = random_star("abcd", 0.12, 9, 8, seed)
    tree = sensitive_tree(collection, "s")
    worst = min(
        float(Entropy(Fraction(1)).reached(vectors).min())
        for _, vectors in tree.combinations(tree.conditional_factors, np.multiply)
    )
    for l, verdict in ((Fraction(worst * 0.99), Verdict.HOLDS), (Fraction(worst * 1.0001), Verdict.FAILS)):
        for name, finding in ways(collection, "s", Entropy(l), ("join", "products", "large")):
            assert finding.verdict is verdict, name


def test_products_too_small_for_floating_point_are_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class of two rows among 10^12, in each of 30 tables: its products are 10^-360."""
    names = "".join(map(chr, range(200, 230)))
    domain = flat_domain(**dict.fromkeys((*names, "s"), 2))
    for some in (names[:2], names):
        collection = apart(domain, {f"{name}s": [10**12, 10**12, 1, 1] for name in some})
        for criterion, holds in (
            (Entropy(Fraction(3, 2)), True),
            (Entropy(Fraction(5, 2)), False),
            (Recursive(Fraction(1), 2), False),
            (Recursive(Fraction(1), 2, strict=False), True),
        ):
            assert maxent_diversity(collection, "s", criterion).holds is holds, criterion
    # Of 2^23 combinations, the worst has 2^23 to 1, and shares of 10^-338 and 10^-345.
    collection = apart(domain, {f"{name}s": [10**15, 10**15, 1, 2] for name in names[:23]})
    monkeypatch.setattr("checks.maxent.maxent_diversity.MULTIPLIED", 2**23)
    assert maxent_diversity(collection, "s", Entropy(1 + Fraction(1, 10**6))).holds


def test_hull_pruning_hides_no_hair() -> None:
    """The last class is the sum of the others, which are on the boundary, but for one row of 10^13."""
    tree = tree_of_classes((2, 2, 1), (2, 1, 1), (4 * 10**13 + 1, 3 * 10**13, 2 * 10**13))
    assert by_hull(tree, Recursive(Fraction(2), 3, strict=False)).verdict is Verdict.FAILS
    assert by_hull(tree, Recursive(2 + Fraction(1, 10**13), 3, strict=False)).verdict is Verdict.HOLDS


# Branch and bound: nothing that could violate a criterion is dropped, whatever is looked at first.


class Blind(Judge):
    """Judges nothing."""

    def look_at(self, combinations: IndexArray, vectors: FloatArray) -> None:
        """Look away."""


@given(sensitive_collections(), st.data())
def test_the_verdict_does_not_hang_on_what_is_looked_at_first(
    drawn: tuple[Collection, str], data: st.DataObject
) -> None:
    """All minimizers unseen, only the enumeration is left to find a violation."""
    tree = tree_of(*drawn)
    diversity = data.draw(criteria(len(tree.labels)))
    vectors = list(conditionals(*drawn).values())
    if data.draw(st.booleans()):
        diversity = on_boundary(diversity, data.draw(st.sampled_from(vectors)))
    expected = Verdict.HOLDS if all(diversity.decide(vector) for vector in vectors) else Verdict.FAILS
    screen, budget = checks.maxent.branch_and_bound._screen, replace(FULL, proof=0)

    def screened_blindly(
        log_tree: LogTree, cases: Cases, worst: Judge, rounds: int, *, witness_is_enough: bool
    ) -> tuple[Cases, Cuts] | None:
        return screen(log_tree, cases, Blind(worst.tree, diversity), rounds, witness_is_enough=witness_is_enough)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks.maxent.branch_and_bound, "_screen", screened_blindly)
        patch.setattr(
            checks.maxent.branch_and_bound,
            "_first",
            lambda t: (np.zeros((0, len(t.x)), int), np.zeros((0, t.x[0].shape[1]))),
        )
        outcome = branch_and_bound(tree, diversity, budget)
        unsearched = branch_and_bound(tree, diversity, replace(budget, branches=0))
    if outcome is not None and unsearched is not None:
        assert outcome.verdict is expected
        assert unsearched.verdict in (expected, Verdict.UNDECIDED)
        assert not (unsearched.verdict is Verdict.UNDECIDED and unsearched.proven_worst)
        assert not outcome.proven_worst


@dataclass(frozen=True)
class AtTheLine(Distinct):
    """Somebody's own criterion, of which every class has this slack."""

    of_every_class: float = 0.0
    holds: bool = True

    def slack(self, vectors: FloatArray) -> FloatArray:
        return np.full(len(vectors), self.of_every_class)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:  # noqa: ARG002
        return self.holds


@pytest.mark.parametrize("near", [-BOUNDARY, -BOUNDARY / 2, 0.0, BOUNDARY / 2, BOUNDARY])
@pytest.mark.parametrize("holds", [True, False])
def test_up_to_the_line_itself_a_verdict_is_exact(near: float, holds: bool) -> None:
    tree = tree_of_classes((1, 2, 3), (3, 1, 1))
    for outcome in (by_join(tree, AtTheLine(2, near, holds)), by_hull(tree, AtTheLine(2, near, holds))):
        assert outcome.verdict is (Verdict.HOLDS if holds else Verdict.FAILS)


# Collections without a junction tree: verified against the full joint's maximum entropy and integer programming.


def random_table(sizes: Mapping[str, int], rows: int, seed: int = 0) -> ContingencyTable:
    """Rows over attributes of which pairs of values are put together above, correlated so that marginals say something."""
    rng = np.random.default_rng(seed)
    latent = rng.integers(0, 3, rows)
    columns = [np.where(rng.random(rows) < 0.4, latent % size, rng.integers(0, size, rows)) for size in sizes.values()]
    ladders = {
        name: Hierarchy.from_rows((f"{name}{code}", f"{name}{code // 2}+", "*") for code in range(size))
        for name, size in sizes.items()
    }
    return of_rows(Domain.of(ladders), np.column_stack(columns))


def finding_of(collection: Collection, sensitive: str, diversity: Diversity) -> Finding:
    return MaxentDiversity(diversity, sensitive).check(Question(collection, [sensitive]))


SHAPES: dict[str, tuple[dict[str, int], list[str | dict[str, int]]]] = {
    "several levels": ({"a": 3, "b": 3, "s": 4}, [{"a": 0, "b": 1}, {"b": 0, "s": 1}, {"a": 1, "s": 0}]),
    "four-cycle": ({"a": 3, "b": 3, "c": 3, "s": 4}, ["ab", "bc", "cs", "sa"]),
    "all three-way marginals of 2x3x4x5": (
        {"a": 2, "b": 3, "c": 4, "s": 5},
        ["".join(margin) for margin in combinations("abcs", 3)],
    ),
    "union of two decomposable": ({"a": 3, "b": 3, "s": 4}, ["ab", "bs", "as"]),
    "not graphical": ({"a": 2, "b": 2, "c": 2, "s": 3}, ["as", "bs", "cs", "ab", "bc", "ac"]),
}


@cache
def fitted_shape(shape: str, seed: int) -> tuple[ContingencyTable, NDArray[np.float64]]:
    """A random table of 400 rows and the maxent joint of its margins of a shape: the same for every criterion."""
    sizes, margins = SHAPES[shape]
    table = random_table(sizes, 400, seed)
    joint = joint_array(table)
    levels = [margin if isinstance(margin, dict) else dict.fromkeys(margin, 0) for margin in margins]
    return table, iterative_proportional_fitting(joint / 400, table.domain, levels, 3000) * 400


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "diversity",
    ["entropy:2", "entropy:3", "recursive:3,2", "recursive:1,2", "simple:2", "distinct:3", "functional:0.6,2"],
)
@pytest.mark.parametrize("seed", range(3))
def test_maxent_diversity_is_that_of_the_full_joint(shape: str, diversity: str, seed: int) -> None:
    table, fitted = fitted_shape(shape, seed)
    collection = published(table, *SHAPES[shape][1])
    assert not collection.is_decomposable
    criterion = parse_diversity(diversity)
    vectors = np.moveaxis(fitted, table.domain.index("s"), -1).reshape(-1, table.domain.hierarchy("s").size(0))
    slack = float(criterion.slack(vectors[vectors.sum(axis=1) > 1e-6]).min())
    finding = finding_of(collection, "s", criterion)
    assert finding.verdict in (Verdict.HOLDS if slack > 0 else Verdict.FAILS, Verdict.UNDECIDED)
    if abs(slack) > 1e-4:
        assert finding.verdict is not Verdict.UNDECIDED, finding.note


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [30, 90])
@pytest.mark.parametrize("seed", range(2))
def test_k_combinatorial_is_that_of_integer_programming(shape: str, rows: int, seed: int) -> None:
    sizes, margins = SHAPES[shape]
    collection = published(random_table(sizes, rows, seed), *margins)
    bounds = largest_counts(collection, ["s"])
    for k in (1, 2, 3, 4):
        finding = k_combinatorial(collection, ["s"], k)
        assert finding.verdict is (Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS)
        if finding.verdict is Verdict.FAILS:
            assert 0 < finding.worst_class.count < k


def test_a_criterion_on_its_boundary_is_undecided_not_passed() -> None:
    """A uniform table: every class is exactly entropy 2-diverse, which a fit cannot prove."""
    table = filled(flat_domain(a="xy", b="xy", s="xy"), [5] * 8)
    finding = finding_of(published(table, "ab", "bs", "as"), "s", parse_diversity("entropy:2"))
    assert finding.verdict is Verdict.UNDECIDED
    assert not finding.holds
    assert "bound" in finding.note


def test_a_budget_that_ends_is_undecided_with_the_proven_interval() -> None:
    sizes, margins = SHAPES["four-cycle"]
    collection = published(random_table(sizes, 300), *margins)
    finding = k_combinatorial(collection, ["s"], 2, replace(FULL, programs=0))
    assert finding.verdict is Verdict.UNDECIDED
    shown = collection.cube.table(collection.domain.mask({"a": 0, "b": 0}))
    together = next(count for labels, count in shown.cells() if labels == ("a0", "b0"))
    assert finding.worst_class.count_between == (0, together), "no more than a0, b0 together"
    finding = k_combinatorial(collection, ["s"], 2, replace(FULL, branches=1_500))
    assert finding.verdict is Verdict.UNDECIDED
    assert "more than 3" in finding.note


def test_a_fit_that_has_not_converged_is_undecided_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its misfit could hide more than the margin that a verdict must survive."""
    sizes, margins = SHAPES["four-cycle"]
    collection = published(random_table(sizes, 400), *margins)
    assert finding_of(collection, "s", parse_diversity("distinct:2")).holds
    monkeypatch.setattr("checks.maxent.maxent_diversity.iterative_fit", partial(iterative_fit, sweeps=2))
    finding = finding_of(collection, "s", parse_diversity("distinct:2"))
    assert finding.verdict is Verdict.UNDECIDED
    assert "misses a published count" in finding.note


# The sensitive tree: its class combinations are the published cells, and its factors the maxent distribution.


def test_combinations_are_counted_exactly_beyond_64_bits() -> None:
    names = [f"a{arm}" for arm in range(13)]
    table = of_rows(flat_domain(**dict.fromkeys(names, 60), s=1), [[code] * 13 + [0] for code in range(60)])
    tree = sensitive_tree(published(table, *({name: 0, "s": 0} for name in names)), "s")
    assert tree.combination_count == 60**13


def test_marginals_that_disagree_on_an_empty_class_are_refused() -> None:
    """Published by others: one table has rows where the other has none."""
    counts = {"abs": [3, 4, 0, 0, 0, 0, 0, 0], "acs": [0, 0, 0, 0, 3, 4, 0, 0]}
    with pytest.raises(ContradictionError):
        sensitive_tree(apart(flat_domain(a=2, b=2, c=2, s=2), counts), "s")


# Work on a class grows with the number of sensitive values, not with its square.


def test_verifying_two_thousand_sensitive_values_takes_no_longer_than_some_sorts(tmp_path: Path) -> None:
    """The sum and the greatest common divisor of all were worked out anew for each value: thirty sorts of a million."""
    rng, rows = np.random.default_rng(0), 50_000
    frame = pd.DataFrame(
        {name: rng.integers(0, size, rows).astype(str) for name, size in [("a", 4), ("b", 4), ("s", 2000)]}
    )
    frame["s"] = "d" + frame["s"]
    roles = {"a": "quasi-identifier", "b": "quasi-identifier", "s": "sensitive"}
    table = marginals.read_table(frame, roles)
    marginals.publish(table, Policy(k_link=3, diversity="distinct:2")).write(tmp_path / "release")
    verification, sorts = compare_with_sorting(lambda: marginals.verify(tmp_path / "release"))
    assert verification.ok
    assert sorts < 5
