"""The command line: `marginals COMMAND`.

Exit status 0: finished, and every claim that the command checks holds (`attack`, `risk`, `query`, `sample`, `disclose`,
`init` and `open` check none). 1: a check failed or is undecided, or nothing can be published. 2: bad input or usage. 70: an
error that nobody foresaw. 74: standard output cannot be written. 128 and the number of a signal: asked to end by it, as by
Ctrl-C (130). Those from 70 on say nothing about privacy.
"""

import atexit
import errno
import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast

import click

import marginals
from marginals.commands.options import Ending, heeded, print_json
from marginals.commands.releases import FAILED
from marginals.ending import (
    INTERNAL,
    INTERRUPTED,
    INTERRUPTION,
    TRACEBACK,
    UNWRITTEN,
    LostOutputError,
    ignore_interrupts,
    say,
    streams,
    unforeseen,
    wants_traceback,
)
from marginals.errors import NothingPublishableError, system_reason
from marginals.messages import printable
from marginals.replaced import REPLACED
from models.errors import MarginalsError

UNUSABLE = 2

# Python's 700 cost a tenth of the time of `query` and `verify`, since modules that are loaded leave nothing to collect. Of
# 100,000 `publish` has so many that it spends a fifth of a second on looking at them.
_OBJECTS_BETWEEN_COLLECTIONS = 500_000

# By module, in the order of work: what nobody asks for is not imported.
_KINDS_OF_WORK: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Begin": ("tables.demo", "tables.open", "tables.init"),
        "Look at a table": ("tables.assess", "risk.risk", "tables.anonymize"),
        "Publish": ("releases.publish", "releases.verify", "releases.attack", "releases.ledger"),
        "Use a release": ("releases.query", "releases.sample"),
        "Disclose rows": ("risk.disclose",),
        "Audit what others published": ("risk.audit",),
    }
)

_HOMES = {home.partition(".")[2]: home.partition(".")[0] for homes in _KINDS_OF_WORK.values() for home in homes}


class _ImportedCommands(Mapping[str, click.Command]):
    """Commands by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        command = "open_window" if name == "open" else name
        return getattr(import_module(f"marginals.commands.{_HOMES[name]}"), command)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


class _Commands(click.Group):
    """Commands in the order of work, whose errors are one sentence on standard error, and with --json an object too."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line, with click's parameters, and end with its status."""
        arguments = list(sys.argv[1:] if args is None else args)
        if not standalone_mode or "_MARGINALS_COMPLETE" in os.environ:
            return super().main(arguments, prog_name, complete_var, standalone_mode, **extra)
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        # A program that ends need not look for what to collect, which takes a quarter of a second.
        atexit.unregister(gc.freeze)
        atexit.register(gc.freeze)
        try:
            status = self._status(arguments, prog_name or "marginals", extra)
            ignore_interrupts()
        except KeyboardInterrupt:  # while it was ending already
            ignore_interrupts()
            say(INTERRUPTION)
            status = INTERRUPTED
        sys.exit(status)

    def _status(self, arguments: Sequence[str], name: str, extra: Mapping[str, Any]) -> int:
        rest = [*arguments]
        while wants_traceback(rest):  # it may stand anywhere, as at the end of the command that is typed once more
            rest.remove(TRACEBACK)
        try:
            with streams(), heeded() as ending:
                try:
                    with self.make_context(name, rest, **extra) as ctx:
                        answer = self.invoke(ctx)
                    sys.stdout.flush()
                except (Exception, KeyboardInterrupt) as error:
                    return _failed(error, arguments, ending)
                return answer if isinstance(answer, int) else 0
        except LostOutputError as error:
            if error.errno != errno.EPIPE:  # whoever reads no more, as `head`, needs no sentence
                say(str(error))
            return UNWRITTEN

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if instead := REPLACED.get(f"marginals {args[0]}"):
            raise click.UsageError(f"there is no command {args[0]!r} any more: {instead}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return list(_HOMES)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as click calls it
        widest = max(map(len, _HOMES))
        for kind, homes in _KINDS_OF_WORK.items():
            with formatter.section(kind):
                names = [home.partition(".")[2] for home in homes]
                formatter.write_dl([(f"{n:<{widest}}", self.commands[n].get_short_help_str(100)) for n in names])


def _failed(error: BaseException, arguments: Sequence[str], ending: Ending) -> int:
    """Say why a command did not finish, with --json as an object too, and return the exit status."""
    status, text, key = UNUSABLE, str(error), getattr(error, "key", "")
    usage: click.ClickException | None = None
    if ending.number is not None or isinstance(error, KeyboardInterrupt):
        status, text = 128 + (ending.number or signal.SIGINT), INTERRUPTION
    elif isinstance(error, click.exceptions.Exit):
        return error.exit_code
    elif isinstance(error, LostOutputError):
        raise error
    elif isinstance(error, NothingPublishableError):
        status = FAILED
    elif isinstance(error, MemoryError):
        text = "this needs more memory than there is"
    elif isinstance(error, OSError):
        if error.filename is None and error.errno == errno.EPIPE:
            raise LostOutputError(error) from None
        what = "a file" if error.filename is None else str(error.filename)
        text = f"{what} cannot be read or written: {system_reason(error)}"
    elif isinstance(error, click.ClickException):
        usage = _usage(error)
        status, text = usage.exit_code, usage.format_message()
    elif not isinstance(error, MarginalsError):
        status, text = INTERNAL, unforeseen(error)
    if "--json" in arguments:
        print_json({"error": printable(text)} | ({"key": key} if key else {}))
    if status == INTERNAL and wants_traceback(arguments):
        sys.__excepthook__(type(error), error, error.__traceback__)
    elif usage is not None:
        usage.show()
    else:
        say(printable(text))
    return status


def _usage(error: click.ClickException) -> click.ClickException:
    if isinstance(error, click.NoSuchOption):
        option, command = error.option_name, error.ctx.command.name if error.ctx else ""
        if instead := REPLACED.get(f"{command} {option}", REPLACED.get(option)):
            return click.UsageError(f"there is no {option} here any more: {instead}", error.ctx)
    vars(error)["message"] = printable(error.message)  # it may quote an argument
    return error


@click.group(
    cls=_Commands, commands=cast(Any, _ImportedCommands()), context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(marginals.__version__, prog_name="marginals")
@click.option(
    TRACEBACK,
    is_flag=True,
    expose_value=False,
    help="Of an internal error (exit status 70) show where it comes from; it may show values of the table.",
)
def main() -> None:
    """Publish small tables of counts about people that meet privacy criteria jointly.

    \b
    Examples:
      marginals demo demo                    simulate a table and publish it
      marginals init people.csv              write a first release.toml for a table of your own
      marginals assess release.toml          what the table itself gives away
      marginals publish release.toml --out release
      marginals verify release               check its claims from its files alone
      marginals query release age=30-34 sex=Female

    \b
    Completion of commands and options, for bash (zsh and fish likewise):
      eval "$(_MARGINALS_COMPLETE=bash_source marginals)"
    """
