"""End of the program, whatever happens: one sentence, and a status that says nothing wrong about privacy.

This module is loaded first, and needs only modules that Python loads anyway. Programs that import the library get exceptions
as they are.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any

INTERNAL = 70  # exit status of an error that nobody foresaw (EX_SOFTWARE of sysexits.h)
UNWRITTEN = 74  # exit status where standard output cannot be written (EX_IOERR)
INTERRUPTED = 130  # exit status of Ctrl-C: 128 and the number of its signal
TRACEBACK = "--traceback"

INTERRUPTION = "interrupted; nothing is half written"


class LostOutputError(Exception):
    """Standard output cannot be written: it is closed, full, or nobody reads it any more.

    It is no OSError: click would make exit status 1 of a pipe that nobody reads, that of a check that failed.
    """

    def __init__(self, error: OSError) -> None:
        self.errno = error.errno
        why = error.strerror or type(error).__name__
        super().__init__(f"the output cannot be written: {why}; what the command wrote to files stands")


def is_the_program(arguments: Sequence[str] | None = None) -> bool:
    """Return True if Python runs the command line, and not a program that imports this package.

    arguments: those that Python was started with, by default.

    >>> is_the_program(["/usr/bin/marginals", "verify"]), is_the_program(["python", "analysis.py", "marginals"])
    (True, False)
    """
    words = list(sys.orig_argv if arguments is None else arguments)
    if any(pair == ("-m", "marginals") for pair in zip(words, words[1:])):
        return True
    scripts = [*words[:1], next((word for word in words[1:] if not word.startswith("-")), "")]
    return any(Path(script).stem == "marginals" for script in scripts)


def guard() -> None:
    """Report any error that ends this process in one sentence, if it is the program."""
    if is_the_program():
        sys.excepthook = _last_words


def wants_traceback(arguments: Sequence[str]) -> bool:
    """Return True if --traceback is among the arguments of a command, before "--"."""
    return TRACEBACK in takewhile(lambda argument: argument != "--", arguments)


def unforeseen(error: BaseException) -> str:
    """Sentence about an error that nobody foresaw: what it is and where, never its own words, which may be of data."""
    if isinstance(error, ImportError):  # its words are about an installation
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(error)[:1000])
    where = f" in {place}" if (place := _place(error.__traceback__)) else ""
    return (
        f"internal error ({type(error).__name__}{where}): nothing was decided; the same command with {TRACEBACK} says "
        "more, which may show values of the table"
    )


def _place(traceback: TracebackType | None) -> str:
    home = Path(__file__).absolute().parent.parent
    place = ""
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if any(file.is_relative_to(home / floor) for floor in ("models", "checks", "marginals")):
            place = f"{file.relative_to(home).as_posix()}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def _last_words(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    ignore_interrupts()
    interrupted = issubclass(kind, KeyboardInterrupt)
    if wants_traceback(sys.argv[1:]) and not interrupted:
        sys.__excepthook__(kind, error, traceback)
    else:
        say(INTERRUPTION if interrupted else unforeseen(error))
    raise SystemExit(INTERRUPTED if interrupted else INTERNAL)


def say(sentence: str) -> None:
    """Print an error on standard error, as far as there is one."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(f"Error: {sentence}\n")
            sys.stderr.flush()


def ignore_interrupts() -> None:
    """Let a second Ctrl-C change nothing, where this process is the program: it ends already."""
    if is_the_program():
        with suppress(ValueError, ImportError):  # in another thread
            import signal  # loaded here: `import marginals` needs none

            signal.signal(signal.SIGINT, signal.SIG_IGN)


# Standard streams: output that is lost is an error of its own kind, and messages that nobody can read are none.


class _Stream(io.BufferedWriter):
    """The bytes of a standard stream; what cannot be written is dropped, with an error if it is output.

    The file below is Python's own: were it ours, a signal between its writing and its return would have all written twice.
    """

    def __init__(self, number: int) -> None:
        super().__init__(io.FileIO(number, "wb", closefd=False))
        self._number, self._is_lost = number, False

    def write(self, content: Any) -> int:
        return self._tried(partial(super().write, content)) or memoryview(content).nbytes

    def flush(self) -> None:
        self._tried(super().flush)

    def _tried(self, action: Callable[[], int | None]) -> int | None:
        try:
            return None if self._is_lost else action()
        except OSError as error:
            self._is_lost = True
            if self._number == 1:  # messages need no reader
                raise LostOutputError(error) from None
            return None


@contextmanager
def streams() -> Iterator[None]:
    """Meanwhile LostOutputError comes of standard output that cannot be written, and nothing of such a standard error.

    Characters that an encoding lacks are written as escapes. Where streams are closed nothing else takes their numbers.
    Streams that are no files of the system stay as they are.
    """
    before = sys.stdout, sys.stderr
    if os.name == "posix":
        _occupy()
        sys.stdout = _stream(sys.stdout, 1)
        sys.stderr = _stream(sys.stderr, 2)
    try:
        yield
    finally:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream not in before:
                    stream.flush()
        finally:
            sys.stdout, sys.stderr = before


def _occupy() -> None:
    for number in range(3):  # so that no file that is written gets the number of a standard stream
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def _stream(stream: Any, number: int) -> Any:
    if stream is None:
        encoding, lines = "utf-8", False
    elif type(stream) is io.TextIOWrapper and not stream.closed and _number(stream) == number:
        encoding, lines = stream.encoding, stream.line_buffering
        with suppress(OSError):
            stream.flush()
    else:
        return stream
    written = _Stream(number)
    lines = lines or number == 2 or written.isatty()
    return io.TextIOWrapper(written, encoding, errors="backslashreplace", line_buffering=lines)


def _number(stream: Any) -> int | None:
    try:
        return int(stream.fileno())
    except (OSError, ValueError):
        return None
