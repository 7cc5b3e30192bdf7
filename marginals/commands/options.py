"""Arguments and options that several commands share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from marginals.errors import InputError
from marginals.timing import stopped_after, within

if TYPE_CHECKING:
    from marginals.files.output import OutputFile

FILE = click.Path(path_type=Path, dir_okay=False)
PATH = click.Path(path_type=Path)

CONFIG = click.argument("config", type=FILE)
RELEASE = click.argument("folder", metavar="RELEASE", type=PATH)
SIGN = click.option(
    "--sign",
    metavar="KEYFILE",
    type=FILE,
    help="Sign the release with this secret key of minisign (the program must be installed).",
)
_OVER = "the {seconds:g} seconds of --seconds were over before this was done; give it more"


def ends_within(default: float | None, help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option --seconds of a command that answers with what is proven by then; it gets the time as a `deadline`.

    Should it not end by itself, it is stopped a little later, before a fifth more has passed.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_deadline(*arguments: Any, seconds: float | None, **options: Any) -> Any:
            work = partial(command, *arguments, deadline=within(seconds), **options)
            return stopped_after(None if seconds is None else 1.15 * seconds, _OVER.format(seconds=seconds or 0), work)

        return _seconds(default, help_text)(with_deadline)

    return decorate


def stops_after(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option --seconds of a command that has no answer before it is done, and is stopped as by Ctrl-C."""

    @wraps(command)
    def stopped(*arguments: Any, seconds: float | None, **options: Any) -> Any:
        return stopped_after(seconds, _OVER.format(seconds=seconds or 0), partial(command, *arguments, **options))

    return _seconds(None, "Stop with exit status 2 when it takes longer; nothing is half written. [default: no limit]")(
        stopped
    )


def _seconds(default: float | None, help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    kind = click.FloatRange(0, min_open=True, max=1e9)
    return click.option("--seconds", type=kind, default=default, show_default=default is not None, help=help_text)


JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
JOBS = click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes that work at once.")
LEVELS_METAVAR = "NAME=LEVEL,..."


class NumberRange(click.FloatRange):
    """Numbers between bounds; NaN, which lies on neither side of any, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that a text is. Raises click.BadParameter for any other text."""
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


@dataclass(frozen=True)
class Target:
    """Where a command writes, if anywhere, and whether a file that is there may be replaced."""

    path: Path | None
    force: bool

    def opened(self, reads: tuple[Path, ...] = ()) -> "OutputFile | None":
        """The file to write, None without a path. reads: what it is made from.

        Raises InputError where the file may not be written, before any work is done for it.
        """
        if self.path is None:
            return None
        from marginals.bundle.target import output_file

        file = output_file(self.path, reads)
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


def row_order(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options for the order of the rows that a command writes; the command gets both as one `order`, None without them."""

    @wraps(command)
    def with_order(*arguments: Any, seed: int | None, keep_order: bool, **options: Any) -> Any:
        from marginals.disclosure.row_order import AsRead, Shuffled

        if keep_order and seed is not None:
            raise InputError("choose one of --keep-order and --seed")
        shuffled = None if seed is None else Shuffled(seed)
        return command(*arguments, order=AsRead() if keep_order else shuffled, **options)

    seeded = click.option(
        "--seed",
        type=click.IntRange(0),
        help="Shuffle the rows repeatably, for tests: whoever knows or guesses the seed can restore their order. Without "
        "it they are shuffled so that nobody can.",
    )(with_order)
    return click.option(
        "--keep-order",
        is_flag=True,
        help="Write the rows in the order of the table, which can tell whose they are (as of a table sorted by name).",
    )(seeded)


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
