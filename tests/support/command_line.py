"""The command `marginals`, run in this process."""

from click.testing import CliRunner, Result

from marginals.commands.main import main

__all__ = ["main", "output", "run"]


def run(*arguments: object, status: int | None = None) -> Result:
    """The command with these arguments, run to its end. status: the one that it must end with."""
    ended = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert status in (None, ended.exit_code), ended.output
    return ended


def output(*arguments: object, status: int = 0) -> str:
    return run(*arguments, status=status).output
