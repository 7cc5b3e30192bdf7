"""Parts that commands share: options, progress, what they print, and how they end."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from math import isnan
from pathlib import Path
from shutil import get_terminal_size
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from marginals.deadline import (
    ANSWERED,
    PHASES,
    PROGRESS_IN_LINES,
    VERIFYING,
    end_timer,
    stopped_after,
    within,
)
from marginals.errors import InputError
from marginals.files import PUBLIC
from marginals.later import pd
from marginals.messages import printable, wrapped
from marginals.results import plain
from marginals.say.sentences import ATTESTED, FAILS, HOLDS, WARNING, Sentence
from models.frozen import frozen

if TYPE_CHECKING:
    from tqdm import tqdm

    from marginals.output import OutputFile
    from marginals.publishing.searching import Progress


FILE = click.Path(path_type=Path, dir_okay=False)
PATH = click.Path(path_type=Path)

CONFIG = click.argument("config", type=FILE)
RELEASE = click.argument("folder", metavar="RELEASE", type=PATH)
_OVER = "the {seconds:g} seconds of --seconds were over before this was done; give it more"
_OVER_IN_PHASE = (
    "the {seconds:g} seconds of --seconds were over during the {{phase}}, so nothing was written; give it more"
)


def ends_within(
    default: float | None, help_text: str, *, in_phases: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option --seconds of a command that answers with what is proven by then; it gets the time as a `deadline`.

    Should it not end by itself, it is stopped a little later, before a fifth more has passed. in_phases: whether it tells
    `PHASES` what it does.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_deadline(*arguments: Any, seconds: float | None, **options: Any) -> Any:
            work = partial(command, *arguments, deadline=within(seconds), **options)
            answer = (_OVER_IN_PHASE if in_phases else _OVER).format(seconds=seconds or 0)
            return stopped_after(None if seconds is None else 1.15 * seconds, answer, work)

        kind = NumberRange(0, min_open=True, max=1e9)
        settings: dict[str, Any] = {"default": default, "show_default": default is not None}
        return click.option("--seconds", type=kind, help=help_text, **settings)(with_deadline)

    return decorate


JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
VERBOSE = click.option("--verbose", is_flag=True, help="Print all that was found, not its summary.")
LEVELS_METAVAR = "NAME=LEVEL,..."


class NumberRange(click.FloatRange):
    """Numbers between bounds; NaN, which lies on neither side of any, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that a text is. Raises click.BadParameter for any other text."""
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


class LineNumber(click.IntRange):
    """The number of a line, from 1."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that a text is. Raises click.BadParameter for any other text, such as several numbers."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            from marginals.tables.layout import ONE_LINE  # slow to import, and few need it

            self.fail(f"{value!r} is not {ONE_LINE}.", param, ctx)


@frozen
class Target:
    """Path that a command writes, if any, and whether a file that is there may be replaced."""

    path: Path | None
    force: bool

    def opened(self, reads: tuple[Path, ...] = (), mode: int = PUBLIC) -> "OutputFile | None":
        """The file to write, None without a path. reads: its sources. Raises InputError if it may not be written."""
        if self.path is None:
            return None
        from marginals.output import OutputFile

        file = OutputFile(self.path, reads, mode)
        if not self.force:
            file.refuse_to_replace()
        return file


def output(*names: str, **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option for the file that a command writes, together with --force; the command gets both as one `target`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_target(*arguments: Any, target: Path | None, force: bool, **options: Any) -> Any:
            return command(*arguments, target=Target(target, force), **options)

        forced = click.option("--force", is_flag=True, help="Replace files that already exist.")(with_target)
        return click.option(*names, "target", type=FILE, **settings)(forced)

    return decorate


def parse_levels(text: str | None) -> dict[str, int]:
    """Levels from `age=1,sex=0`. Raises InputError for anything else."""
    levels: dict[str, int] = {}
    for part in (text or "").split(",") if text else []:
        name, _, level = part.strip().rpartition("=")
        if not name or not level.isdecimal() or len(level) > 9:
            raise InputError(f"levels are NAME=LEVEL,..., not {text!r}")
        if name in levels:
            raise InputError(f"{name!r} is given two levels")
        levels[name] = int(level)
    return levels


# By the tasks that progress names; other tasks are phases themselves.
_PHASES = {
    "collections": "search",
    "minimal tables": "search for a base table",
    "settling": "comparison with earlier releases",
    "further tables": "choice of further tables",
    "witnesses": "proof of further tables",
    VERIFYING: "verification",
    ANSWERED: "search",
}

_PAUSE = 0.1  # seconds between lines about one task


@contextmanager
def progress_bars(wanted: bool) -> Iterator["Progress"]:
    """Bars, one a task, shown only while standard error is a terminal and the output is not read by a program.

    If the variable MARGINALS_PROGRESS is "lines", JSON lines take their place, ten a second at most, such as
    {"task": "collections", "done": 120, "total": 0}.
    """
    in_lines = os.environ.get(PROGRESS_IN_LINES[0]) == PROGRESS_IN_LINES[1]
    are_shown = wanted and sys.stderr.isatty()
    bar: "tqdm[Any] | None" = None
    last = "", 0.0

    def tell(task: str, done: int, total: int) -> None:
        nonlocal bar, last
        ENDING.heed()
        if task == ANSWERED and not in_lines:
            return
        if (phase := _PHASES.get(task, task)) != PHASES.name:
            PHASES.begin(phase)
        if task == VERIFYING:  # the last verification is never cut
            end_timer()
        now = time.monotonic()
        if in_lines and (last[0] != task or now >= last[1] + _PAUSE):
            last = task, now
            print(json.dumps({"task": task, "done": done, "total": total}), file=sys.stderr, flush=True)
        elif are_shown and not in_lines:
            from tqdm import tqdm

            if bar is None or bar.desc != task:
                if bar is not None:
                    bar.close()
                bar = tqdm(desc=task, total=total or None, leave=False, file=sys.stderr)
                bar.desc = task
            bar.update(done - bar.n)

    PHASES.begin("", anew=True)
    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()
    ENDING.heed()


# Signals that ask the program to end: it ends in order. The library leaves signals to whoever imports it.

_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class EndingError(KeyboardInterrupt):
    """A signal asked the program to end; what takes care of Ctrl-C takes care of it."""


@dataclass
class Ending:
    """The signal that asked the program to end, if any; libraries may have made another exception of EndingError."""

    number: int | None = None

    def heed(self) -> None:
        """Raise EndingError if a signal's exception was dropped by a callback or code in C, as numpy's import does."""
        if self.number is not None and threading.current_thread() is threading.main_thread():
            raise EndingError


ENDING = Ending()  # one main thread alone listens to signals


@contextmanager
def heeded() -> Iterator[Ending]:
    """Meanwhile signals to end raise EndingError in the main thread; those that are ignored stay so (nohup)."""
    if threading.current_thread() is not threading.main_thread():
        yield Ending()
        return

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as Python calls it
        ENDING.number = number
        raise EndingError

    def drop(error: "sys.UnraisableHookArgs") -> None:
        if error.exc_type is not EndingError:  # of a callback, which cannot raise; `heed` raises it again
            hook(error)

    hook = sys.unraisablehook
    before = {number: signal.getsignal(number) for number in _ENDING}
    heard = [number for number, handler in before.items() if handler in (signal.SIG_DFL, signal.default_int_handler)]
    try:
        for number in heard:
            signal.signal(number, end)
        sys.unraisablehook = drop
        yield ENDING
    finally:
        sys.unraisablehook = hook
        for number in heard:
            signal.signal(number, before[number])
        ENDING.number = None


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object, in ASCII where standard output is not UTF-8."""
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(plain(content), ensure_ascii=not is_utf8, allow_nan=False))


def print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print lines; on a terminal those that are longer than it is wide are wrapped. err: to standard error."""
    width = get_terminal_size().columns if not err and sys.stdout.isatty() else None
    for line in map(printable, lines):
        click.echo(line if width is None else wrapped(line, width), err=err)


_COLOURS = {HOLDS: "green", FAILS: "red", ATTESTED: "cyan"}


def print_sentences(sentences: Iterable[Sentence]) -> None:
    """Print sentences: of a claim the verdict in its colour and the term, of anything else its lines."""
    marks: list[str] = []
    for sentence in sentences:
        if not sentence.term and sentence.mark != WARNING:
            print_lines(sentence.lines)
            continue
        if sentence.mark == ATTESTED and ATTESTED not in marks:
            click.echo("Attested by the publisher, and not verified:")
        marks.append(sentence.mark)
        mark = click.style(f"{sentence.mark:>9}", fg=_COLOURS.get(sentence.mark, "yellow"))
        click.echo(f"{mark}  {printable(sentence.term or sentence.text)}")
        for line in sentence.detail:
            click.echo(f"           {printable(line)}")


def csv_bytes(frame: "pd.DataFrame") -> bytes:
    """A data frame as the bytes of a CSV file."""
    return frame.to_csv(index=False, lineterminator="\n").encode()
