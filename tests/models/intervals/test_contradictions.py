"""Contradictory tables are named, with the count of which they say different things, and by how much."""

import numpy as np
import pytest

from interval_oracles import random_published
from models import (
    UNBOUNDED,
    Classification,
    ContradictionError,
    IntervalTable,
    disagreements,
    joint_contradiction,
    linked_tables,
    proven_bounds,
)

SEX = Classification("sex", ("f", "m"))
AGE = Classification("age", ("young", "old"))


def test_two_tables_that_disagree_on_a_count_they_both_add_up_to() -> None:
    by_sex = IntervalTable.of("by sex", ["sex"], {(1,): (10, 10), (2,): (20, 20)})
    both = IntervalTable.of(
        "both", ["sex", "age"], {(1, 1): (1, 4), (1, 2): (2, 2), (2, 1): (5, 5), (2, 2): (0, UNBOUNDED)}
    )
    fits = IntervalTable.of("by age", ["age"], {(1,): (6, 9), (2,): (0, UNBOUNDED)})
    linked = linked_tables([by_sex, both, fits], [SEX, AGE])
    (found,) = disagreements(linked)
    assert found.tables == (0, 1)
    assert linked.named(found.cell) == {"sex": "f"}
    assert found.ranges == ((10, 10), (3, 6))
    assert found.gap == 4
    with pytest.raises(ContradictionError):
        proven_bounds(linked)


def test_a_table_whose_total_is_not_the_sum_of_its_cells() -> None:
    everything = SEX.everything
    table = IntervalTable.of("alone", ["sex"], {(1,): (10, 10), (2,): (1, 4), (everything,): (20, 21)})
    (found,) = disagreements(linked_tables([table], [SEX]))
    assert found.tables == (0, 0)
    assert found.gap == 6


def test_a_total_that_is_two_steps_above_the_cells_is_found_too() -> None:
    cells = {(1, 1): (1, 1), (1, 2): (2, 2), (2, 1): (3, 3), (2, 2): (4, 4), (3, 3): (12, 12)}
    (found,) = disagreements(linked_tables([IntervalTable.of("t", ["sex", "age"], cells)], [SEX, AGE]))
    assert found.gap == 2


def test_tables_of_one_population_do_not_disagree() -> None:
    for seed in range(5):
        published = random_published(np.random.default_rng(seed))
        assert disagreements(linked_tables(published.tables, published.classifications)) == []


def test_three_tables_of_which_no_two_disagree() -> None:
    """No 2 x 2 x 2 table has these margins: whoever is equal in the first two pairs is equal in the third."""
    home = Classification("home", ("town", "country"))
    equal = {(1, 1): (5, 5), (1, 2): (0, 0), (2, 1): (0, 0), (2, 2): (5, 5)}
    unequal = {(1, 1): (1, 1), (1, 2): (4, 4), (2, 1): (4, 4), (2, 2): (1, 1)}
    tables = [
        IntervalTable.of("sex by age", ["sex", "age"], equal),
        IntervalTable.of("total", [], {(): (10, 10)}),
        IntervalTable.of("age by home", ["age", "home"], equal),
        IntervalTable.of("sex by home", ["sex", "home"], unequal),
    ]
    linked = linked_tables(tables, [SEX, AGE, home])
    assert disagreements(linked) == []
    with pytest.raises(ContradictionError):
        proven_bounds(linked)
    found = joint_contradiction(linked)
    assert found is not None
    assert found.tables == (0, 2, 3)
    # With 14 people: 2 more off the diagonal in each of the first two tables, 2 more on it twice in the third.
    assert found.correction == pytest.approx(12)
    fitting = linked_tables(tables[:3], [SEX, AGE, home])
    assert joint_contradiction(fitting) is None
