"""The command line: `marginals COMMAND`.

Exit status 0: done and private. 1: a privacy check failed, or nothing can be published. 2: bad input or usage. 128 and the
number of a signal: asked to end by it, as by Ctrl-C (130), which says nothing about privacy.
"""

import errno
import gc
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click

import marginals
from marginals.commands.analysing import query, sample
from marginals.commands.attacking import attack
from marginals.commands.auditing import audit
from marginals.commands.disclosing import disclose, risk
from marginals.commands.ledgers import ledger
from marginals.commands.printing import print_json
from marginals.commands.publishing import publish, report
from marginals.commands.signals import heeded
from marginals.commands.single_tables import anonymize, assess
from marginals.commands.starting import demo, init, open_window
from marginals.commands.verifying import FAILED, verify
from marginals.errors import NothingPublishableError
from marginals.printable import printable
from models.errors import MarginalsError

UNUSABLE = 2
"""Exit status of bad input."""

_OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""Python's 700 cost a tenth of the time of `query` and `verify`, since modules that are loaded leave nothing to collect."""

KINDS_OF_WORK: Mapping[str, tuple[click.Command, ...]] = MappingProxyType(
    {
        "Begin": (demo, open_window, init),
        "Look at a table": (assess, risk, anonymize),
        "Publish": (publish, verify, attack, report, ledger),
        "Use a release": (query, sample),
        "Disclose rows": (disclose,),
        "Audit what others published": (audit,),
    }
)
"""All commands in the order of work."""


class _FailedError(click.ClickException):
    exit_code = FAILED


class _UnusableError(click.ClickException):
    exit_code = UNUSABLE


class _InterruptedError(click.ClickException):
    """Its exit status is that of the signal."""


def _refusal(ctx: click.Context, kind: type[click.ClickException], problem: str) -> click.ClickException:
    """The error to end with; where JSON was asked for, its sentence is printed as JSON first."""
    problem = printable(problem)
    if "--json" in ctx.obj:
        print_json({"error": problem})
    return kind(problem)


class _Commands(click.Group):
    """Commands in the order of work, whose errors are one sentence on standard error, and with --json an object too."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named, until it is done or a signal asks to end."""
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        with heeded() as ending:
            try:
                return self._answer(ctx)
            except BaseException as error:
                if ending.number is None and not isinstance(error, KeyboardInterrupt):
                    raise
                interrupted = _refusal(ctx, _InterruptedError, "interrupted; nothing is half written")
                vars(interrupted)["exit_code"] = ending.exit_status
                raise interrupted from None

    def _answer(self, ctx: click.Context) -> Any:
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except NothingPublishableError as error:
            raise _refusal(ctx, _FailedError, str(error)) from None
        except MarginalsError as error:
            raise _refusal(ctx, _UnusableError, str(error)) from None
        except MemoryError:
            raise _refusal(ctx, _UnusableError, "this needs more memory than there is") from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            if error.filename is None:
                # It is the output that cannot be written; Python must not try once more when it ends.
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
            what = "the output" if error.filename is None else str(error.filename)
            problem = f"{what} cannot be read or written: {error.strerror or type(error).__name__}"
            raise _refusal(ctx, _UnusableError, problem) from None
        except click.UsageError as error:
            if "--json" in ctx.obj:
                print_json({"error": printable(error.format_message())})
            raise
        return answer

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments: only the command knows whether JSON was asked for, and it may have failed."""
        ctx.obj = tuple(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """The names of the commands in the order of work."""
        return [str(command.name) for commands in KINDS_OF_WORK.values() for command in commands]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each kind of work with its commands, their first sentences whole."""
        widest = max(map(len, self.list_commands(ctx)))
        for kind, commands in KINDS_OF_WORK.items():
            with formatter.section(kind):
                rows = [(f"{command.name:<{widest}}", command.get_short_help_str(100)) for command in commands]
                formatter.write_dl(rows)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(marginals.__version__, prog_name="marginals")
def main() -> None:
    """Publish small tables of counts about people that stay private together.

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


for _commands in KINDS_OF_WORK.values():
    for _command in _commands:
        main.add_command(_command)
