"""Seconds become a deadline, work that does not end is stopped, and several processes give what one gives."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from math import inf, nan

import pytest

from marginals import InputError, WorkerLostError
from marginals.deadline import SearchClock, stopped_after, within
from marginals.jobs import Jobs
from models import NEVER, Deadline, TimeOverError


def test_a_deadline_is_so_many_seconds_away() -> None:
    deadline = within(1000.0)
    assert 990 < deadline.left <= 1000
    assert not deadline.is_over
    deadline.check()
    assert within(deadline) is deadline
    assert within(None) is within(inf) is NEVER
    assert NEVER.left == inf


@pytest.mark.parametrize("seconds", [0, -1, nan, True, "1"])
def test_other_seconds_are_refused(seconds: object) -> None:
    with pytest.raises(InputError, match="seconds must be a number above 0"):
        within(seconds)  # type: ignore[arg-type]


def test_a_deadline_is_shared() -> None:
    now = [0.0]
    whole = Deadline(12.0, lambda: now[0])
    assert whole.share(3).left == 4
    now[0] = 1.0
    assert whole.share(2).at == 1 + 5.5
    assert whole.earlier(2).at == 3
    assert whole.earlier(20).at == 12
    assert whole.later(2).at == 14
    assert Deadline.after(2, whole.clock).at == 3
    assert not whole()
    now[0] = 12.0
    assert whole.left == 0
    assert whole.share(2).is_over
    assert whole()
    with pytest.raises(TimeOverError):
        whole.check()


def test_an_engine_that_makes_an_error_of_its_own_of_the_end_is_understood() -> None:
    """DuckDB says "Query interrupted" whatever interrupted it."""

    def engine() -> None:
        try:
            while True:
                sum(range(100))
        except TimeOverError:
            raise RuntimeError("Query interrupted") from None

    with pytest.raises(TimeOverError, match="it took too long"):
        stopped_after(0.05, "it took too long", engine)

    def broken() -> None:
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        stopped_after(60, "it took too long", broken)


def test_work_is_stopped_again_where_it_goes_on() -> None:
    """Whoever catches the first error does not keep the command from ending."""
    before = signal.getsignal(signal.SIGALRM)
    caught = 0

    def stubborn() -> None:
        nonlocal caught
        while True:
            try:
                while True:
                    sum(range(100))
            except TimeOverError:
                caught += 1
                if caught == 2:
                    raise

    with pytest.raises(TimeOverError, match="over"):
        stopped_after(0.05, "over", stubborn)
    assert caught == 2
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_nothing_is_stopped_in_another_thread_or_without_seconds() -> None:
    ended = []

    def work() -> None:
        ended.append(signal.getitimer(signal.ITIMER_REAL))

    thread = threading.Thread(target=stopped_after, args=(0.001, "over", work))
    thread.start()
    thread.join()
    stopped_after(None, "over", work)
    assert ended == [(0.0, 0.0)] * 2


def test_the_clock_of_searches_ends_what_has_a_limit_and_goes_on() -> None:
    """Also a search that begins after it was ended, which has a deadline by the same clock."""
    clock = SearchClock()
    first = Deadline.after(60.0, clock)
    assert not first.is_over
    clock.end()
    time.sleep(0.001)
    assert first.is_over
    later = Deadline.after(60.0, clock)
    time.sleep(0.001)
    assert later.is_over
    before = clock()
    clock.end()
    assert clock() >= before


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


@pytest.fixture
def none_is_left() -> Iterator[None]:
    """Of the processes that a test starts; another test may have left some that wait for work."""
    before = set(multiprocessing.active_children())
    yield
    assert set(multiprocessing.active_children()) <= before


@forks
@pytest.mark.usefixtures("none_is_left")
def test_an_error_in_one_process_is_raised_at_once_and_no_process_is_left() -> None:
    with pytest.raises(InputError, match="two is refused"):
        Jobs(2)(refused, range(9))


@forks
@pytest.mark.usefixtures("none_is_left")
def test_a_process_that_is_killed_is_told_in_one_sentence() -> None:
    with pytest.raises(WorkerLostError, match="killed, most likely for want of memory; use jobs = 1"):
        Jobs(2)(killed, range(4))


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "2"])
def test_less_than_one_process_is_refused(count: object) -> None:
    with pytest.raises(InputError, match="jobs must be a whole number of at least 1"):
        Jobs(count)  # type: ignore[arg-type]
