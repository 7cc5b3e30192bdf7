"""Counts that are balanced are ones that may be shown, by looking at all earlier ones; nobody waits without a reason."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checks.changes import Grid, balanced


def may_be_shown(count: int, before: list[int], least: int) -> bool:
    return count in before or all(abs(count - earlier) >= least for earlier in before)


@st.composite
def grids(draw: st.DrawFn) -> tuple[list[Grid], np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, least = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    last = rng.integers(0, 20, size)
    came, left = (
        rng.integers(0, 9, size) * (rng.random(size) < 0.6),
        rng.integers(0, 9, size) * (rng.random(size) < 0.6),
    )
    left = np.where(came > 0, 0, np.minimum(left, last))
    made = []
    for _ in range(draw(st.integers(1, 3))):
        place = np.unique(rng.integers(0, draw(st.integers(1, 4)), size), return_inverse=True)[1]
        own = np.bincount(place, last)
        before = [own, *(own + least * rng.integers(-2, 3, len(own)) for _ in range(draw(st.integers(0, 2))))]
        made.append(Grid(place, np.stack(before).astype(np.int64), least))
    return made, last, came, left


@given(grids())
def test_every_count_is_one_that_may_be_shown(case: tuple[list[Grid], np.ndarray, np.ndarray, np.ndarray]) -> None:
    made, last, came, left = case
    new_came, new_left = balanced(made, last, came, left)
    assert (new_came >= 0).all()
    assert (new_came <= came).all()
    assert (new_left >= 0).all()
    assert (new_left <= left).all()
    for grid in made:
        counts = np.bincount(grid.place, last + new_came - new_left).astype(int)
        for cell, count in enumerate(counts.tolist()):
            assert may_be_shown(count, grid.before[:, cell].tolist(), grid.least)


def test_one_of_eleven_who_came_waits_where_ten_left() -> None:
    grid = Grid(np.array([0, 0, 1]), np.array([[50, 40]]), 5)
    came, left = balanced([grid], np.array([20, 30, 40]), np.array([11, 0, 6]), np.array([0, 10, 0]))
    assert (came.tolist(), left.tolist()) == ([10, 0, 6], [0, 10, 0])
