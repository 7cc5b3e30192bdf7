"""What is called sharp is attained by a population: an oracle that knows the labels of the published tables only."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from label_oracles import LabelledTables, random_labelled_tables
from linked_labels import linked_labels
from models import proven_bounds
from models.intervals.linked_tables import JOINT_LIMITS, JointLimits

NOTHING_WIDE = JointLimits(wide=0)


def compare(published: LabelledTables, limits: JointLimits) -> tuple[int, int]:
    """Whether bounds hold, and are attained where they are called sharp; how many cells are, and how many are not."""
    found = linked_labels(published, limits)
    bounds = proven_bounds(found)
    populations = published.populations()
    assert len(populations)
    for cell in range(len(found)):
        counts = populations @ published.inside(found.named(cell))
        ends, proven = (counts.min(), counts.max()), (bounds.lower[cell], bounds.upper[cell])
        assert proven[0] <= ends[0]
        assert ends[1] <= proven[1]
        if bounds.sharp[cell]:
            assert proven == ends
        else:
            assert not bounds.decided[cell]
    sharp = int(bounds.sharp.sum())
    return sharp, len(found) - sharp


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_of_four_and_five_attributes_all_bounds_are_sharp_by_a_wider_joint_table(seed: int) -> None:
    published = random_labelled_tables(np.random.default_rng(seed))
    assert compare(published, JOINT_LIMITS)[1] == 0


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_without_wider_joint_tables_what_is_called_sharp_is_attained(seed: int) -> None:
    compare(random_labelled_tables(np.random.default_rng(seed)), NOTHING_WIDE)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [898, 991, 1067, 1407])
def test_bounds_that_the_linked_tables_attain_and_no_population_does_are_not_called_sharp(seed: int) -> None:
    """Joint tables of three attributes each agree with all others here, and yet no population has them all."""
    published = random_labelled_tables(np.random.default_rng(seed))
    assert compare(published, NOTHING_WIDE)[1] > 0
    found = linked_labels(published, NOTHING_WIDE)
    believed = proven_bounds(replace(found, covered=np.ones(len(found), dtype=np.bool_)))
    counts = np.array([published.populations() @ published.inside(found.named(cell)) for cell in range(len(found))])
    assert (believed.sharp & ((believed.lower < counts.min(axis=1)) | (believed.upper > counts.max(axis=1)))).any()


@pytest.mark.skipif("MARGINALS_TIMES" not in os.environ, reason="many random tables are compared by `make nightly`")
@pytest.mark.parametrize("limits", [JOINT_LIMITS, NOTHING_WIDE])
def test_many_random_tables_of_up_to_five_attributes(limits: JointLimits) -> None:
    open_cells = 0
    for seed in range(10_000):
        open_cells += compare(random_labelled_tables(np.random.default_rng(seed)), limits)[1]
    assert (open_cells == 0) == (limits == JOINT_LIMITS)
