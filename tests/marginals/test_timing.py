"""Seconds become a deadline, and work that does not end by itself is stopped."""

import signal
import threading
import time
from math import inf, nan

import pytest

from marginals import InputError
from marginals.deadline import SearchClock, stopped_after, within
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
