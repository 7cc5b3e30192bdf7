"""How much work something is, without a clock that another machine would read differently."""

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")


def count_calls(work: Callable[[], Result]) -> tuple[Result, int]:
    """What some work gives, and the number of functions that it calls in this thread."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(before)
    return result, count


def compare_with_sorting(work: Callable[[], Result], size: int = 1_000_000) -> tuple[Result, float]:
    """What some work gives, and its processor time, in sorts of so many numbers in the same process."""
    numbers = np.random.default_rng(0).integers(0, 1 << 40, size)

    def seconds(measured: Callable[[], object]) -> float:
        begin = time.process_time()
        measured()
        return time.process_time() - begin

    results: list[Result] = []
    taken = seconds(lambda: results.append(work()))
    return results[0], taken / min(seconds(lambda: np.argsort(numbers, kind="stable")) for _ in range(3))
