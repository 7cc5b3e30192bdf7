"""Maxent diversity: verdict and worst value are those of the maximum-entropy joint, laid out in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import (
    Algorithm,
    Distinct,
    Diversity,
    Entropy,
    Functional,
    Recursive,
    Simple,
    Verdict,
    maxent_diversity,
    satisfies,
    sensitive_tree,
)
from filled_tables import apart, counted, filled, flat_domain, published
from models import Collection
from privacy_oracles import (
    base_values,
    cell_of,
    conditionals,
    finest,
    functional_excess,
    is_diverse,
    is_functional,
    places_within,
    reached,
    reached_tau,
    without,
)
from privacy_strategies import diversities, functionals, sensitive_collections

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
        assert finding.worst is not None
        labels = hierarchy.labels[shown[sensitive]]
        worst = [Fraction(finding.worst_class.distribution.get(label, 0)) for label in labels]
        worst = base_values(hierarchy, shown[sensitive], worst)
        assert finding.worst_class.reached == pytest.approx(reached_tau(criterion, worst), abs=1e-9)
        least = min(room(criterion, vector) for vector in vectors)
        assert room(criterion, worst) == pytest.approx(least, rel=1e-9)


@given(sensitive_collections(), st.data())
def test_a_cell_exactly_on_the_boundary_is_decided_exactly(drawn: Drawn, data: st.DataObject) -> None:
    """At bounds that some cell of the maxent distribution meets, and as near beside them as no float can tell."""
    collection, sensitive = drawn
    if sensitive not in finest(collection.margins):
        return
    vector = data.draw(st.sampled_from(list(conditionals(collection, sensitive).values())))
    ordered = sorted(vector, reverse=True)
    positive = sum(v > 0 for v in vector)
    hair = data.draw(st.sampled_from([-1, 0, 0, 1])) * Fraction(1, 10**13)
    criteria: list[Diversity] = [
        Simple(max(sum(vector) / max(vector) + hair, Fraction(1))),
        Entropy(max(positive + hair, Fraction(1))),
        Distinct(positive),
    ]
    if positive > 1:
        l = data.draw(st.integers(2, positive))
        c = ordered[0] / sum(ordered[l - 1 :]) + hair
        criteria += [Recursive(c, l), Recursive(c, l, strict=False)]
    vectors = list(conditionals(collection, sensitive).values())
    for diversity in criteria:
        finding = maxent_diversity(collection, sensitive, diversity)
        assert finding.holds is all(is_diverse(diversity, v) for v in vectors), diversity


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
@given(sensitive_collections(), diversities())
def test_one_margin_is_diverse_where_its_classes_are_and_decides_where_it_is_not(
    drawn: Drawn, diversity: Diversity
) -> None:
    """KG06 Def. 4.3 on a single table is l-diversity."""
    collection, sensitive = drawn
    tree = sensitive_tree(collection, sensitive)
    for classes, clique in zip(tree.classes, tree.tree.cliques) if tree else ():
        finding = maxent_diversity(Collection.of(collection.cube, [clique]), sensitive, diversity)
        assert finding.holds is bool(satisfies(diversity, classes.counts).all())
        assert finding.examined == len(classes)
        if classes.level == tree.level and not finding.holds:  # a clique that fails alone decides, KG06 Prop. 7.2
            assert maxent_diversity(collection, sensitive, diversity).verdict is Verdict.FAILS


def test_two_diverse_margins_need_not_be_diverse_together() -> None:
    """T(a, s) T(b, s) / T(s) = 3 * 3 / 4 : 1 * 1 / 4 in the cell x, x: nine to one, from three to one in each."""
    collection = apart(flat_domain(a="xy", b="xy", s="uv"), {"as": [[3, 1], [1, 3]], "bs": [[3, 1], [1, 3]]})
    three, nine = Recursive(Fraction(3), 2, strict=False), Recursive(Fraction(9), 2, strict=False)
    for mask in collection.masks:
        assert maxent_diversity(Collection.of(collection.cube, [mask]), "s", three).holds
    finding = maxent_diversity(collection, "s", three)
    assert finding.verdict is Verdict.FAILS
    assert finding.worst is not None
    assert finding.worst_class.reached == pytest.approx(9)
    assert sorted(finding.worst_class.distribution.values()) == pytest.approx([0.1, 0.9])
    assert maxent_diversity(collection, "s", nine).holds
    assert not maxent_diversity(collection, "s", Recursive(Fraction(9), 2)).holds


def test_a_value_ruled_out_by_each_margin_leaves_one() -> None:
    """u is not in x of a, v not in x of b: whoever is in both has w."""
    counts = {"as": [[0, 2, 2], [4, 2, 2]], "bs": [[2, 0, 2], [2, 4, 2]]}
    collection = apart(flat_domain(a="xy", b="xy", s="uvw"), counts)
    finding = maxent_diversity(collection, "s", Distinct(2))
    assert finding.verdict is Verdict.FAILS
    assert finding.worst is not None
    assert finding.worst_class.cell == {"a": "x", "b": "x"}
    assert finding.worst_class.distribution == {"w": 1.0}
    assert finding.worst_class.reached == 1
    undefined = maxent_diversity(collection, "s", Recursive(Fraction(100), 2))
    assert undefined.worst is not None
    assert undefined.worst_class.reached == np.inf


def test_a_finer_collection_may_pass_where_a_coarser_one_fails() -> None:
    """KG06 section 7: not monotone in the model. Where a and b always agree, the whole table tells no more than each."""
    table = filled(flat_domain(a="xy", b="xy", s="xy"), [3, 1, 0, 0, 0, 0, 1, 3])
    apart, together = published(table, "as", "bs"), published(table, "abs")
    criterion = Recursive(Fraction(3), 2, strict=False)
    assert maxent_diversity(together, "s", criterion).holds
    assert not maxent_diversity(apart, "s", criterion).holds


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
