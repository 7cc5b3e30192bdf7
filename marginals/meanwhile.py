"""What a thread gets ready while something is waited for that leaves Python idle, such as an engine that counts rows."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Preparation = Callable[[], object]
"""What later work begins with, such as loading a module; done before, nothing is different but the time that takes."""


@contextmanager
def meanwhile(*preparations: Preparation) -> Iterator[None]:
    """Preparations are done in turn beside the block, and waited for at its end, since what follows does them otherwise.

    After an error or Ctrl-C in the block none begins any more; the one that is being done is waited for. Where one needs a
    library that is not there, that is left to the work that it is for.
    """
    is_over = threading.Event()

    def prepare() -> None:
        for preparation in preparations:
            if is_over.is_set():
                return
            with suppress(ImportError):
                preparation()

    thread = threading.Thread(target=prepare, name="meanwhile")
    thread.start()
    try:
        yield
        thread.join()
    finally:
        is_over.set()
        thread.join()
