"""What is got ready meanwhile is ready at the end of the block, and nothing goes on after an error."""

import threading

import pytest

from marginals.meanwhile import meanwhile


def running() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "meanwhile"]


def test_all_is_ready_at_the_end_of_the_block_and_was_done_beside_it() -> None:
    begun, done = threading.Event(), list[str]()
    with meanwhile(begun.set, lambda: done.append("first"), lambda: done.append("second")):
        assert begun.wait(60), "the block need not end for it"
    assert done == ["first", "second"]
    assert not running()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_nothing_new_begins_and_what_had_begun_is_waited_for(error: type[BaseException]) -> None:
    begun, may_end, done = threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        begun.set()
        may_end.wait(60)
        done.append("first")

    def block() -> None:
        with meanwhile(first, lambda: done.append("second")):
            assert begun.wait(60)
            threading.Timer(0.1, may_end.set).start()
            raise error

    with pytest.raises(error):
        block()
    assert done == ["first"]
    assert not running()


def test_a_library_that_is_missing_is_left_to_those_who_need_it() -> None:
    done = list[str]()

    def missing() -> None:
        raise ImportError("no such library")

    with meanwhile(missing, lambda: done.append("next")):
        pass
    assert done == ["next"]
