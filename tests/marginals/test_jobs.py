"""Work in several processes gives what one process gives; what goes wrong in one of them is told, and none is left."""

import multiprocessing
import os
import signal

import pytest

from marginals import InputError, WorkerLostError
from marginals.jobs import Jobs

forks = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no forks on this system")


def squared(number: int) -> int:
    return number * number


def refused(number: int) -> int:
    if number == 2:
        raise InputError("two is refused")
    if number > 2:  # others are at work until they are ended
        signal.pause()
    return number


def killed(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("count", [1, 2, 3])
def test_answers_come_in_the_order_of_the_parts(count: int) -> None:
    assert Jobs(count)(squared, range(7)) == [0, 1, 4, 9, 16, 25, 36]
    assert Jobs(count)(squared, []) == []


@forks
def test_an_error_in_one_process_is_raised_at_once_and_no_process_is_left() -> None:
    with pytest.raises(InputError, match="two is refused"):
        Jobs(2)(refused, range(9))
    assert not multiprocessing.active_children()


@forks
def test_a_process_that_is_killed_is_told_in_one_sentence() -> None:
    with pytest.raises(WorkerLostError, match="killed, most likely for want of memory; use jobs = 1"):
        Jobs(2)(killed, range(4))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "2"])
def test_less_than_one_process_is_refused(count: object) -> None:
    with pytest.raises(InputError, match="jobs must be a whole number of at least 1"):
        Jobs(count)  # type: ignore[arg-type]
