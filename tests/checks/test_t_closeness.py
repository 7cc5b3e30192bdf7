"""t-closeness: the distance is the least work of moving rows, the verdict is exact, and merging keeps it."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from checks import CriterionError, Diversity, equivalence_classes, satisfies
from checks.classes import table_diversity
from checks.diversity.relative import (
    Closeness,
    Distance,
    EqualDistance,
    HierarchicalDistance,
    OrderedDistance,
    TCloseness,
)
from models import Domain, Hierarchy
from privacy_strategies import dense_tables
from strategies import hierarchies

Ground = Callable[[int, int], Fraction]


def generalizations_apart(hierarchy: Hierarchy, one: int, other: int) -> Fraction:
    """Levels to climb until two base values merge, as a share of the height."""
    rows = hierarchy.rows()
    meet = next(level for level in range(hierarchy.height + 1) if rows[one][level] == rows[other][level])
    return Fraction(meet, hierarchy.height)


def pairs(size: int, hierarchy: Hierarchy) -> list[tuple[Distance, Ground]]:
    """Each distance with what it says about two values."""
    return [
        (EqualDistance(), lambda i, j: Fraction(i != j)),
        (OrderedDistance(tuple(range(size))), lambda i, j: Fraction(abs(i - j), max(size - 1, 1))),
        (HierarchicalDistance(hierarchy), lambda i, j: generalizations_apart(hierarchy, i, j)),
    ]


def least_work(one: np.ndarray, other: np.ndarray, ground: Ground) -> float:
    """Earth mover's distance by linear programming over all flows."""
    size = len(one)
    cost = [float(ground(i, j)) for i, j in product(range(size), repeat=2)]
    leaving = np.kron(np.eye(size), np.ones(size))
    arriving = np.kron(np.ones(size), np.eye(size))
    found = linprog(cost, A_eq=np.vstack((leaving, arriving)), b_eq=np.concatenate((one, other)))
    assert found.status == 0, found.message
    return float(found.fun)


@given(hierarchies(max_values=5).filter(lambda h: h.size(0) > 1), st.data())
def test_the_distance_is_the_least_work_of_moving_rows(hierarchy: Hierarchy, data: st.DataObject) -> None:
    size = hierarchy.size(0)
    rows = st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any)
    vector, whole = np.array(data.draw(rows)), np.array(data.draw(rows))
    for distance, ground in pairs(size, hierarchy):
        criterion = TCloseness(Fraction(1, 2), tuple(whole.tolist()), distance)
        expected = least_work(vector / vector.sum(), whole / whole.sum(), ground)
        assert criterion.reached(vector[None])[0] == pytest.approx(expected, abs=1e-7)


def test_the_salaries_of_the_paper() -> None:
    """Li, Li, Venkatasubramanian, section 5: of nine salaries 3k to 11k, {3, 4, 5} is 0.375 away, {6, 8, 11} 0.167."""
    criterion = TCloseness(Fraction(3, 8), (1,) * 9, OrderedDistance(tuple(range(9))))
    low, spread = [1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1]
    assert criterion.reached(np.array([low, spread])) == pytest.approx([0.375, 1 / 6])


@given(st.data())
def test_at_the_distance_itself_a_class_passes_and_below_it_fails(data: st.DataObject) -> None:
    hierarchy = data.draw(hierarchies(max_values=5))
    size = hierarchy.size(0)
    rows = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    vector, whole = data.draw(rows), data.draw(rows)
    for distance, ground in pairs(size, hierarchy):
        differences = [Fraction(v, sum(vector)) - Fraction(w, sum(whole)) for v, w in zip(vector, whole)]
        if isinstance(distance, EqualDistance):
            exact = sum(d for d in differences if d > 0)
        elif isinstance(distance, OrderedDistance):
            exact = sum(abs(sum(differences[:k])) for k in range(1, size)) * ground(0, 1)
        else:
            groups = {
                (level, label): sum(d for d, row in zip(differences, hierarchy.rows()) if row[level] == label)
                for level in range(hierarchy.height)
                for label in hierarchy.labels[level]
            }
            exact = sum(map(abs, groups.values())) / (2 * hierarchy.height)
        at = TCloseness(Fraction(exact), tuple(whole), distance)
        assert at.decide(vector)
        assert satisfies(at, np.array([vector])).all()
        if exact:
            below = TCloseness(Fraction(exact) - min(exact, Fraction(1, 10**15)), tuple(whole), distance)
            assert not below.decide(vector)
            assert not satisfies(below, np.array([vector])).any()


@given(hierarchies(max_values=5), st.data())
def test_merging_two_passing_classes_passes(hierarchy: Hierarchy, data: st.DataObject) -> None:
    size = hierarchy.size(0)
    rows = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    one, other, rest = (np.array(data.draw(rows)) for _ in range(3))
    both = np.array([one, other])
    for distance, _ in pairs(size, hierarchy):
        whole = tuple((one + other + rest).tolist())
        further = TCloseness(Fraction(0), whole, distance).reached(both).max()
        criterion = TCloseness(min(Fraction(float(further)) + Fraction(1, 10**12), Fraction(1)), whole, distance)
        assert satisfies(criterion, both).all()
        assert satisfies(criterion, both.sum(axis=0)[None]).all()


@given(st.data(), st.fractions(0, 1, max_denominator=20))
def test_a_table_is_close_when_each_of_its_classes_is(data: st.DataObject, t: Fraction) -> None:
    domain = Domain.of({"a": data.draw(hierarchies(3)), "s": data.draw(hierarchies(4)), "b": data.draw(hierarchies(2))})
    table = data.draw(dense_tables(domain))
    classes = equivalence_classes(table, "s")
    distance = HierarchicalDistance(domain.hierarchy("s"))
    finding = table_diversity(table, "s", Closeness(t, "hierarchical"))
    criterion = TCloseness(t, tuple(classes.counts.sum(axis=0).tolist()), distance)
    furthest = criterion.reached(classes.counts).max()
    assert finding.holds is all(criterion.decide(row) for row in classes.counts.tolist())
    assert finding.examined == len(classes)
    assert finding.parameters == {"diversity": str(criterion), "sensitive": "s"}
    assert finding.worst is not None
    assert finding.worst_class.reached == pytest.approx(furthest, abs=1e-9)


@pytest.mark.parametrize(("t", "whole"), [("-1/2", (1, 2)), ("2", (1, 2)), ("1/2", (0, 0)), ("1/2", ())])
def test_what_makes_no_sense_is_refused(t: str, whole: tuple[int, ...]) -> None:
    with pytest.raises(CriterionError):
        TCloseness(Fraction(t), whole, EqualDistance())


def test_values_published_generalized_climb_from_their_level() -> None:
    """From level 1 of a hierarchy of height 2 one step is all there is."""
    hierarchy = Hierarchy.from_rows([("u", "uv", "*"), ("v", "uv", "*"), ("w", "w", "*")])
    criterion = TCloseness(Fraction(1, 2), (1, 1), HierarchicalDistance(hierarchy, 1))
    assert criterion.reached(np.array([[1, 0], [1, 1]])).tolist() == [0.5, 0.0]


def test_it_is_a_diversity_and_says_which() -> None:
    criterion: Diversity = TCloseness(Fraction(1, 5), (1, 2), OrderedDistance((0, 1)))
    assert str(criterion) == "t-closeness:0.2 (ordered distance)"
