"""Propagated bounds are those of every equation by itself, applied until nothing changes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models import UNBOUNDED
from models.programs.consistent_tables import Equations, propagated


def one_by_one(sums: list[tuple[int, list[int]]], low: list[float], high: list[float]) -> None:
    """Total and parts by their numbers; ends are narrowed in place."""
    for _ in range(100):
        for total, parts in sums:
            low[total] = max(low[total], sum(low[part] for part in parts))
            high[total] = min(high[total], sum(high[part] for part in parts))
            for part in parts:
                others = [each for each in parts if each != part]
                low[part] = max(low[part], low[total] - sum(high[other] for other in others))
                high[part] = min(high[part], high[total] - sum(low[other] for other in others))


@given(st.integers(0, 2**32 - 1))
def test_bounds_are_those_of_equations_one_by_one(seed: int) -> None:
    """Tables of rows by columns with their totals, of which some cells have a range or no upper end."""
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 5, size=2).tolist()
    counts = rng.integers(0, 9, size=(height, width))
    whole = np.zeros((height + 1, width + 1), dtype=np.int64)
    whole[:-1, :-1] = counts
    whole[-1] = whole.sum(axis=0)
    whole[:, -1] = whole[:, :-1].sum(axis=1)
    numbers = np.arange(whole.size).reshape(whole.shape)
    sums = [(int(row[-1]), row[:-1].tolist()) for row in numbers]
    sums += [(int(column[-1]), column[:-1].tolist()) for column in numbers.T]
    spread = rng.integers(0, 3, size=(2, whole.size)) * (rng.random(whole.size) < 0.6)
    lower = np.maximum(whole.ravel() - spread[0], 0)
    upper = np.where(rng.random(whole.size) < 0.2, UNBOUNDED, whole.ravel() + spread[1])
    rows = np.repeat(np.arange(len(sums)), [1 + len(parts) for _, parts in sums])
    cells = np.concatenate([[total, *parts] for total, parts in sums])
    signs = np.concatenate([[1, *([-1] * len(parts))] for _, parts in sums])
    found = propagated(Equations(rows, cells, signs, np.zeros(len(sums), dtype=np.intp)), lower, upper)
    low = [float(each) for each in lower]
    high = [float("inf") if each == UNBOUNDED else float(each) for each in upper]
    one_by_one(sums, low, high)
    assert found[0].tolist() == low
    assert [float("inf") if each >= UNBOUNDED else float(each) for each in found[1]] == high
    assert (found[0] <= whole.ravel()).all()
    assert (found[1] >= whole.ravel()).all()
